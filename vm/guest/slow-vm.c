// SPDX-License-Identifier: GPL-2.0-only
/*
 * slow-vm KIND [-name NAME]: runs a VM whose vCPU spends its time in one way:
 *
 *	guest	it computes
 *	exits	it makes exits that KVM handles
 *	vmm	it waits for its VMM, which takes 10 ms for each request
 *	memory	it waits 50 ms for each page of its memory, as after a postcopy migration
 *	idle	it is halted
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include "tiny-vm.h"

static const struct kind {
	const char *name;
	unsigned char code[8];
} kinds[] = {
	{ "guest", { 0xeb, 0xfe, }, },			/* jmp to itself */
	{ "exits", { 0x0f, 0xa2, 0xeb, 0xfc, }, },	/* cpuid; jmp to it */
	{ "vmm", { 0xe6, 0x80, 0xeb, 0xfc, }, },	/* out %al, $0x80; jmp to it */
	/* mov (%si), %al; add $4096, %si; jmp to the mov */
	{ "memory", { 0x8a, 0x04, 0x81, 0xc6, 0x00, 0x10, 0xeb, 0xf8, }, },
	{ "idle", { 0xf4, 0xeb, 0xfd, }, },		/* hlt; jmp to it */
};

#define PAGE 4096

/* Bring each missing page after 50 ms, and drop the page before it. */
static void *bring_pages(void *arg)
{
	const struct timespec time = { .tv_nsec = 50000000 };
	struct uffdio_zeropage zero = { .range.len = PAGE };
	const int *fd = arg;
	struct uffd_msg msg;
	void *before = NULL;

	while (read(*fd, &msg, sizeof(msg)) == sizeof(msg)) {
		nanosleep(&time, NULL);
		zero.range.start = msg.arg.pagefault.address & -PAGE;
		checked(ioctl(*fd, UFFDIO_ZEROPAGE, &zero), "UFFDIO_ZEROPAGE");
		if (before)
			madvise(before, PAGE, MADV_DONTNEED);
		before = (void *)zero.range.start;
	}
	return NULL;
}

/* Makes all pages except the first, which has the code, wait for bring_pages(). */
static void miss_pages(const struct tiny_vm *vm)
{
	static int fd;
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register missing = {
		.range.start = (unsigned long)vm->memory + PAGE,
		.range.len = TINY_VM_MEMORY - PAGE,
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	pthread_t thread;

	fd = checked(syscall(SYS_userfaultfd, O_CLOEXEC), "userfaultfd");
	checked(ioctl(fd, UFFDIO_API, &api), "UFFDIO_API");
	checked(ioctl(fd, UFFDIO_REGISTER, &missing), "UFFDIO_REGISTER");
	checked(-pthread_create(&thread, NULL, bring_pages, &fd), "thread");
}

int main(int argc, char **argv)
{
	const struct timespec time = { .tv_nsec = 10000000 };
	const struct kind *kind = kinds, *end = kinds + sizeof(kinds) / sizeof(*kinds);
	struct tiny_vm vm;

	while (argc > 1 && kind < end && strcmp(kind->name, argv[1]))
		kind++;
	if (argc < 2 || kind == end) {
		fprintf(stderr, "usage: slow-vm guest|exits|vmm|memory|idle [-name NAME]\n");
		return 2;
	}
	vm = tiny_vm_create();
	memcpy(vm.memory, kind->code, sizeof(kind->code));
	if (!strcmp(kind->name, "memory"))
		miss_pages(&vm);
	while (tiny_vm_run(&vm))
		nanosleep(&time, NULL);
	fprintf(stderr, "slow-vm %s: exit %u: %s\n", kind->name, vm.run->exit_reason,
		strerror(errno));
	return 1;
}
