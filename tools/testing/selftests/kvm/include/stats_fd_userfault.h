/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest memory whose missing pages a test of KVM's statistics files provides itself.
 */
#ifndef SELFTEST_KVM_STATS_FD_USERFAULT_H
#define SELFTEST_KVM_STATS_FD_USERFAULT_H

#include <linux/userfaultfd.h>

#include "stats_fd_guest.h"

/* On x86, the system call headers in tools/ have another number. */
#ifdef __x86_64__
#undef SYS_userfaultfd
#define SYS_userfaultfd		323
#endif

struct userfault {
	int fd;
	void *memory;
};

/* Report missing pages of @memory to the test instead of providing them. */
static inline void userfault_register(struct __test_metadata *_metadata,
				      struct userfault *u, void *memory, size_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = (unsigned long)memory, .len = size },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	u->memory = memory;
	u->fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	ASSERT_LE(0, u->fd) TH_LOG("userfaultfd: %s", strerror(errno));
	ASSERT_EQ(0, ioctl(u->fd, UFFDIO_API, &api));
	ASSERT_EQ(0, ioctl(u->fd, UFFDIO_REGISTER, &range));
}

/* Give the guest one such page at STATS_DATA. */
static inline void userfault_create(struct __test_metadata *_metadata,
				    struct guest *g, struct userfault *u)
{
	void *memory = mmap(NULL, g->page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, memory);
	userfault_register(_metadata, u, memory, g->page);
	guest_set_slot(_metadata, g, 1, 0, STATS_DATA, memory, g->page);
}

/* Wait until a vCPU has touched a page. */
static inline void userfault_wait(struct __test_metadata *_metadata, struct userfault *u)
{
	struct uffd_msg msg;

	ASSERT_EQ((ssize_t)sizeof(msg), read(u->fd, &msg, sizeof(msg)));
	ASSERT_EQ(UFFD_EVENT_PAGEFAULT, msg.event);
}

/* Provide the first page. */
static inline void userfault_resolve(struct __test_metadata *_metadata,
				     struct guest *g, struct userfault *u)
{
	struct uffdio_copy copy = {
		.dst = (unsigned long)u->memory,
		.src = (unsigned long)calloc(1, g->page),
		.len = g->page,
	};

	ASSERT_NE(0, copy.src);
	ASSERT_EQ(0, ioctl(u->fd, UFFDIO_COPY, &copy));
	free((void *)(unsigned long)copy.src);
}

#endif /* SELFTEST_KVM_STATS_FD_USERFAULT_H */
