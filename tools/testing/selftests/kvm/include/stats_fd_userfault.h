/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A page of a guest that comes when a test of KVM's statistics files says so.
 */
#ifndef SELFTEST_KVM_STATS_FD_USERFAULT_H
#define SELFTEST_KVM_STATS_FD_USERFAULT_H

#include <linux/userfaultfd.h>

#include "stats_fd_guest.h"

/* The list of system calls in tools/, which tests are built with, has another one on x86. */
#ifdef __x86_64__
#undef SYS_userfaultfd
#define SYS_userfaultfd		323
#endif

/* A page of guest memory, and the faults of it. */
struct userfault {
	int fd;
	void *memory;
};

/* Memory of the guest whose first touch waits for user space. */
static inline void userfault_create(struct __test_metadata *_metadata,
				    struct guest *g, struct userfault *u)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range.len = g->page,
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	u->fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	ASSERT_LE(0, u->fd) TH_LOG("userfaultfd: %s", strerror(errno));
	ASSERT_EQ(0, ioctl(u->fd, UFFDIO_API, &api));
	u->memory = mmap(NULL, g->page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, u->memory);
	range.range.start = (unsigned long)u->memory;
	ASSERT_EQ(0, ioctl(u->fd, UFFDIO_REGISTER, &range));
	guest_set_slot(_metadata, g, 1, 0, STATS_DATA, u->memory, g->page);
}

/* Until the guest has touched it. */
static inline void userfault_wait(struct __test_metadata *_metadata, struct userfault *u)
{
	struct uffd_msg msg;

	ASSERT_EQ((ssize_t)sizeof(msg), read(u->fd, &msg, sizeof(msg)));
	ASSERT_EQ(UFFD_EVENT_PAGEFAULT, msg.event);
}

/* Here it is. */
static inline void userfault_resolve(struct __test_metadata *_metadata,
				     struct guest *g, struct userfault *u)
{
	struct uffdio_zeropage zero = {
		.range.start = (unsigned long)u->memory,
		.range.len = g->page,
	};

	ASSERT_EQ(0, ioctl(u->fd, UFFDIO_ZEROPAGE, &zero));
}

static inline void userfault_destroy(struct guest *g, struct userfault *u)
{
	munmap(u->memory, g->page);
	close(u->fd);
}

#endif /* SELFTEST_KVM_STATS_FD_USERFAULT_H */
