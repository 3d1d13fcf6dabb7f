/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A minimal VM: one vCPU and 64 KiB of memory, with code that exits to user space. For
 * programs that are built without the kernel tree.
 */
#ifndef TINY_VM_H
#define TINY_VM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* A multiple of all page sizes, at the guest's address 0. */
#define TINY_VM_MEMORY 0x10000

struct tiny_vm {
	int fd;
	int vcpu;
	struct kvm_run *run;
	size_t run_size;
	char *memory;
};

static inline void __attribute__((noreturn)) bail_out(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Prints the result of a TAP case. */
static inline bool result(bool ok, const char *name)
{
	static int cases;

	printf("%sok %d %s\n", ok ? "" : "not ", ++cases, name);
	return ok;
}

static inline int checked(int value, const char *what)
{
	if (value < 0)
		bail_out(what);
	return value;
}

#if defined(__x86_64__)

#define TINY_VM_EXIT KVM_EXIT_IO

static inline void tiny_vm_prepare(const struct tiny_vm *vm)
{
	checked(ioctl(vm->fd, KVM_CREATE_IRQCHIP, 0), "KVM_CREATE_IRQCHIP");
}

static inline void tiny_vm_load(const struct tiny_vm *vm)
{
	static const unsigned char code[] = {
		0xe6, 0x80,	/* out %al, $0x80 */
		0xeb, 0xfc,	/* jmp to the instruction before */
	};
	struct kvm_regs regs = { .rip = 0, .rflags = 2 };
	struct kvm_sregs sregs;

	memcpy(vm->memory, code, sizeof(code));
	checked(ioctl(vm->vcpu, KVM_GET_SREGS, &sregs), "KVM_GET_SREGS");
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	checked(ioctl(vm->vcpu, KVM_SET_SREGS, &sregs), "KVM_SET_SREGS");
	checked(ioctl(vm->vcpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");
}

#elif defined(__aarch64__)

#define TINY_VM_EXIT KVM_EXIT_MMIO

static inline void tiny_vm_prepare(const struct tiny_vm *vm)
{
	(void)vm;
}

static inline void tiny_vm_load(const struct tiny_vm *vm)
{
	static const unsigned int code[] = {
		0xd2a20001,	/* mov x1, #0x10000000 */
		0xf9000020,	/* str x0, [x1], where there is no memory */
		0x17fffffe,	/* b to the instruction before */
	};
	struct kvm_vcpu_init init;

	memcpy(vm->memory, code, sizeof(code));
	checked(ioctl(vm->fd, KVM_ARM_PREFERRED_TARGET, &init), "KVM_ARM_PREFERRED_TARGET");
	checked(ioctl(vm->vcpu, KVM_ARM_VCPU_INIT, &init), "KVM_ARM_VCPU_INIT");
}

#endif

static inline struct tiny_vm tiny_vm_create(void)
{
	int kvm = checked(open("/dev/kvm", O_RDWR), "/dev/kvm");
	struct tiny_vm vm = { .fd = checked(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM") };
	struct kvm_userspace_memory_region region = { .memory_size = TINY_VM_MEMORY };

	vm.run_size = checked(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "KVM_GET_VCPU_MMAP_SIZE");
	close(kvm);
	vm.memory = mmap(NULL, TINY_VM_MEMORY, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (vm.memory == MAP_FAILED)
		bail_out("mmap");
	region.userspace_addr = (unsigned long)vm.memory;
	checked(ioctl(vm.fd, KVM_SET_USER_MEMORY_REGION, &region), "KVM_SET_USER_MEMORY_REGION");
	tiny_vm_prepare(&vm);
	vm.vcpu = checked(ioctl(vm.fd, KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
	vm.run = mmap(NULL, vm.run_size, PROT_READ | PROT_WRITE, MAP_SHARED, vm.vcpu, 0);
	if (vm.run == MAP_FAILED)
		bail_out("mmap of kvm_run");
	tiny_vm_load(&vm);
	return vm;
}

/* Run the guest until its next exit to user space. */
static inline bool tiny_vm_run(const struct tiny_vm *vm)
{
	return !ioctl(vm->vcpu, KVM_RUN, 0) && vm->run->exit_reason == TINY_VM_EXIT;
}

/* Close all of the VM's files. */
static inline void tiny_vm_close(struct tiny_vm *vm)
{
	munmap(vm->run, vm->run_size);
	munmap(vm->memory, TINY_VM_MEMORY);
	close(vm->vcpu);
	close(vm->fd);
}

static inline int stats_fd(int fd)
{
	return checked(ioctl(fd, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD");
}

#endif
