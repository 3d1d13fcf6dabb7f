/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the tests of guests that count their own statistics: VMs with an area, and what
 * their guests do with it. Guests cannot call libc.
 */
#ifndef SELFTEST_KVM_GUEST_STATS_H
#define SELFTEST_KVM_GUEST_STATS_H

#include <errno.h>
#include <linux/kvm_guest_stats.h>
#include <string.h>

#include "kselftest_harness.h"

/* Seconds for a case: in an emulator, a kernel that checks locks and memory is slow. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	300

#include "test_util.h"
#include "kvm_util.h"
#include "processor.h"
#include "ucall_common.h"

#define AREA_GPA		0xc0000000UL
#define AREA_GVA		0xc0000000UL
#define AREA_SLOT		1
#define NO_MEMORY		0xd0000000UL
#define ENABLED			KVM_GUEST_STATS_ENABLED
#define TIMES			100

/* A vCPU's area, and a page for another. */
static struct kvm_guest_stats_area *const area = (void *)AREA_GVA;
static struct kvm_guest_stats_area *const second_area =
	(void *)(AREA_GVA + KVM_GUEST_STATS_ALIGN);
#define AREA_PAGES		2

static inline u64 count(int slot)
{
	return READ_ONCE(area->slots[slot].count);
}

static inline s32 status(int slot)
{
	return READ_ONCE(area->slots[slot].status);
}

static inline void set_name(struct kvm_guest_stats_area *to, int slot, const char *name)
{
	int i;

	WRITE_ONCE(to->slots[slot].threshold, KVM_GUEST_STATS_NEVER);
	for (i = 0; i < KVM_GUEST_STATS_NAME_SIZE; i++) {
		WRITE_ONCE(to->slots[slot].name[i], *name);
		name += !!*name;
	}
}

static inline struct kvm_vcpu *add_vcpu_with_area(struct kvm_vm *vm, u64 bits, void *code)
{
	struct kvm_vcpu *vcpu;

	if (bits)
		vm_enable_cap(vm, KVM_CAP_GUEST_STATS, bits);
	vcpu = vm_vcpu_add(vm, 0, code);
	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, AREA_GPA, AREA_SLOT,
				    vm_calc_num_guest_pages(vm->mode, AREA_PAGES * getpagesize()),
				    0);
	virt_map(vm, AREA_GVA, AREA_GPA, AREA_PAGES * getpagesize() / vm->page_size);
	return vcpu;
}

static inline struct kvm_vm *create_vm(u64 bits, void *code, struct kvm_vcpu **vcpu)
{
	struct kvm_vm *vm = vm_create(2);

	*vcpu = add_vcpu_with_area(vm, bits, code);
	return vm;
}

/* Run until the guest is done, and call @on_sync at each of its GUEST_SYNC(). */
static inline void run_with(struct kvm_vcpu *vcpu, void (*on_sync)(struct kvm_vcpu *, u64))
{
	struct ucall uc;

	for (;;) {
		vcpu_run(vcpu);
		switch (get_ucall(vcpu, &uc)) {
		case UCALL_SYNC:
			on_sync(vcpu, uc.args[1]);
			break;
		case UCALL_DONE:
			return;
		case UCALL_ABORT:
			REPORT_GUEST_ASSERT(uc);
			break;
		default:
			TEST_FAIL("exit reason %u", vcpu->run->exit_reason);
		}
	}
}

static inline void ignore_sync(struct kvm_vcpu *vcpu, u64 stage)
{
}

static inline void run(struct kvm_vcpu *vcpu)
{
	run_with(vcpu, ignore_sync);
}

static inline void create_and_run(u64 bits, void *code)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(bits, code, &vcpu);

	run(vcpu);
	kvm_vm_free(vm);
}

static inline int enable(struct kvm_vm *vm, u64 bits)
{
	return __vm_enable_cap(vm, KVM_CAP_GUEST_STATS, bits) ? -errno : 0;
}

/* Skip all cases if the kernel lacks the capability. */
static void __attribute__((constructor)) need_capability(void)
{
	if (!kvm_has_cap(KVM_CAP_GUEST_STATS)) {
		ksft_print_header();
		ksft_exit_skip("this kernel lacks KVM_CAP_GUEST_STATS\n");
	}
}

#endif /* SELFTEST_KVM_GUEST_STATS_H */
