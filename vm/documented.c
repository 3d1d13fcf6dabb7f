// SPDX-License-Identifier: GPL-2.0-only
/*
 * documented COMMAND...: a VM whose statistics files are shown by the program of
 * Documentation/virt/kvm/stats.rst, which this file is linked with: two rounds each,
 * into /tmp/VM and /tmp/vCPU. Whenever the program reads, the vCPU has made EXITS
 * exits more. COMMAND runs while VM and files are still there.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void show(int fd, int rounds);

#define PAGE 4096
#define EXITS 1000

/* From the reset vector on, a loop that does nothing but exit to user space. */
#if defined(__x86_64__)
#define GUEST_PAGE 0xfffff000UL
#define GUEST_CODE 0xff0
static const unsigned char code[] = {
	0xe6, 0x10,			/* 1: out %al, $0x10 */
	0xeb, 0xfc,			/* jmp 1b */
};

static void init_vcpu(int vm, int vcpu)
{
	(void)vm;
	(void)vcpu;
}
#elif defined(__aarch64__)
#define GUEST_PAGE 0UL
#define GUEST_CODE 0
static const unsigned int code[] = {
	0xd2a00020,			/* mov x0, #0x10000 */
	0xb9400001,			/* 1: ldr w1, [x0] */
	0x17ffffff,			/* b 1b */
};

static void init_vcpu(int vm, int vcpu)
{
	struct kvm_vcpu_init init;

	if (ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init) || ioctl(vcpu, KVM_ARM_VCPU_INIT, &init))
		err(1, "KVM_ARM_VCPU_INIT");
}
#endif

/* Shared: of private memory a fork() takes the guest's mapping away. */
static void add_memory(int vm)
{
	char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = GUEST_PAGE,
		.memory_size = PAGE,
		.userspace_addr = (unsigned long)memory,
	};

	if (memory == MAP_FAILED || ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region))
		err(1, "memory");
	memcpy(memory + GUEST_CODE, code, sizeof(code));
}

static int vcpu;

/* Takes the place of the C library's, for the program as well. */
ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
	for (int i = 0; i < EXITS; i++) {
		if (ioctl(vcpu, KVM_RUN, 0))
			err(1, "KVM_RUN");
	}
	return pread64(fd, buf, size, offset);
}

static void show_in(const char *path, int fd)
{
	int out = dup(STDOUT_FILENO);

	if (!freopen(path, "w", stdout))
		err(1, "%s", path);
	show(fd, 2);
	fflush(stdout);
	if (dup2(out, STDOUT_FILENO) < 0)
		err(1, "stdout");
}

static int run(char **command)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(command[0], command);
		err(1, "%s", command[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "%s", command[0]);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int vm = ioctl(open("/dev/kvm", O_RDWR), KVM_CREATE_VM, 0);

	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (argc < 2 || vm < 0 || vcpu < 0)
		err(2, "usage: documented COMMAND...");
	add_memory(vm);
	init_vcpu(vm, vcpu);
	show_in("/tmp/VM", ioctl(vm, KVM_GET_STATS_FD, 0));
	show_in("/tmp/vCPU", ioctl(vcpu, KVM_GET_STATS_FD, 0));
	return run(argv + 1);
}
