/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of KVM's statistics files know about x86: the statistics that
 * it counts, and two guests of a few bytes of real-mode code each, so that the
 * tests can tell how often a vCPU exited.
 */
#ifndef SELFTEST_KVM_STATS_FD_ARCH_H
#define SELFTEST_KVM_STATS_FD_ARCH_H

#include "stats_fd_util.h"

static const struct stats_known stats_arch_vm[] = {
	STATS_CUMULATIVE("mmu_shadow_zapped"),
	STATS_CUMULATIVE("mmu_pte_write"),
	STATS_CUMULATIVE("mmu_pde_zapped"),
	STATS_CUMULATIVE("mmu_flooded"),
	STATS_CUMULATIVE("mmu_recycled"),
	STATS_CUMULATIVE("mmu_cache_miss"),
	STATS_INSTANT("mmu_unsync"),
	STATS_INSTANT("lpages"),
	STATS_INSTANT("nx_lpage_splits"),
	STATS_PEAK("max_mmu_page_hash_collisions"),
	{ }
};

static const struct stats_known stats_arch_vcpu[] = {
	STATS_CUMULATIVE("pf_fixed"),
	STATS_CUMULATIVE("pf_guest"),
	STATS_CUMULATIVE("tlb_flush"),
	STATS_CUMULATIVE("invlpg"),
	STATS_CUMULATIVE("exits"),
	STATS_CUMULATIVE("io_exits"),
	STATS_CUMULATIVE("mmio_exits"),
	STATS_CUMULATIVE("signal_exits"),
	STATS_CUMULATIVE("irq_window_exits"),
	STATS_CUMULATIVE("nmi_window_exits"),
	STATS_CUMULATIVE("l1d_flush"),
	STATS_CUMULATIVE("halt_exits"),
	STATS_CUMULATIVE("request_irq_exits"),
	STATS_CUMULATIVE("irq_exits"),
	STATS_CUMULATIVE("host_state_reload"),
	STATS_CUMULATIVE("fpu_reload"),
	STATS_CUMULATIVE("insn_emulation"),
	STATS_CUMULATIVE("insn_emulation_fail"),
	STATS_CUMULATIVE("hypercalls"),
	STATS_CUMULATIVE("irq_injections"),
	STATS_CUMULATIVE("nmi_injections"),
	STATS_CUMULATIVE("req_event"),
	STATS_CUMULATIVE("preemption_reported"),
	STATS_CUMULATIVE("preemption_other"),
	{ }
};

/* The statistic that counts the exits of the user exit guest, and no others. */
#define STATS_USER_EXITS	"io_exits"
#define STATS_USER_EXIT_REASON	KVM_EXIT_IO

/* Exits that KVM handles itself, as many as the guest was given, then a spin. */
static const __u8 stats_kernel_exits_code[] = {
	0x0f, 0xa2,		/* 1:	cpuid		*/
	0x66, 0x4e,		/*	dec %esi	*/
	0x75, 0xfa,		/*	jnz 1b		*/
	0xeb, 0xfe,		/* 2:	jmp 2b		*/
};

/* Each KVM_RUN is one exit to user space. */
static const __u8 stats_user_exits_code[] = {
	0xee,			/* 1:	out %al, (%dx)	*/
	0xeb, 0xfd,		/*	jmp 1b		*/
};

/* Intel needs a place for its TSS to run real mode without a page table. */
static inline void stats_arch_init_vm(struct __test_metadata *_metadata, int vm)
{
	ASSERT_EQ(0, ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000UL));
}

/* Have a vCPU start at @pc, with @count for the kernel exit guest. */
static inline void stats_arch_init_vcpu(struct __test_metadata *_metadata,
					int vcpu, __u64 pc, __u32 count)
{
	struct kvm_regs regs = {
		.rip = 0,
		.rsi = count,
		.rdx = 0x2f0,	/* no device of KVM is at this port */
		.rflags = 2,
	};
	struct kvm_sregs sregs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_SREGS, &sregs));
	sregs.cs.base = pc;
	sregs.cs.selector = pc >> 4;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_SREGS, &sregs));
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

#endif /* SELFTEST_KVM_STATS_FD_ARCH_H */
