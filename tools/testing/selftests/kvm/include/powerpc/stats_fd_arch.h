/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * powerpc guests for the tests of KVM's statistics files, run by KVM-HV. Each has a few
 * instructions, so that the tests know what a vCPU did and how often. They run in real
 * mode, with guest physical addresses.
 */
#ifndef SELFTEST_KVM_STATS_FD_ARCH_H
#define SELFTEST_KVM_STATS_FD_ARCH_H

#include <stddef.h>

#include "stats_fd_util.h"

/* This statistic counts all exits. */
#define STATS_EXITS		"sum_exits"

/* This statistic counts the exits of the user exit guest, and no others. */
#define STATS_USER_EXITS	"mmio_exits"
#define STATS_USER_EXIT_REASON	KVM_EXIT_MMIO

/* Do a given number of exits that KVM handles, then spin. */
static const __u32 stats_kernel_exits_code[] = {
	0x386000e4,		/* 1:	li 3,0xe4 (H_CONFER)	*/
	0x3880ffff,		/*	li 4,-1 (any processor)	*/
	0x44000022,		/*	sc 1		*/
	0x3673ffff,		/*	addic. 19,19,-1	*/
	0x4082fff0,		/*	bne 1b		*/
	0x48000000,		/* 2:	b 2b		*/
};

/* Each KVM_RUN is one exit to user space. */
static const __u32 stats_user_exits_code[] = {
	0x90220000,		/* 1:	stw 1,0(2)	*/
	0x4bfffffc,		/*	b 1b		*/
};

/* Do @action as often as r19 says, then the user exit. */
#define STATS_GUEST_LOOP(name, action)					\
	STATS_GUEST_CODE(name,						\
		"1:	" action "\n"					\
		"	addic. 19,19,-1\n"				\
		"	bne 1b\n"					\
		"	stw 1,0(2)\n")

/* Addresses without memory; an ioeventfd is at the second one. */
#define STATS_MMIO_ADDR		0x10000000
#define STATS_IOEVENTFD_ADDR	0x10010000

/* In each KVM_RUN, write to as many pages as r19 says from r20 on. */
STATS_GUEST_CODE(stats_touch,
		 "1:	mr 6,19\n"
		 "	mr 7,20\n"
		 "	cmpdi 6,0\n"
		 "	beq 3f\n"
		 "2:	stw 1,0(7)\n"
		 "	add 7,7,21\n"
		 "	addic. 6,6,-1\n"
		 "	bne 2b\n"
		 "3:	stw 1,0(2)\n"
		 "	b 1b\n");

/*
 * Sleep until woken, once in each KVM_RUN. H_CEDE may return without an interrupt; only
 * the interrupt handler sets r26.
 */
STATS_GUEST_CODE(stats_sleep,
		 "1:	li 3,0xe0\n"		/* H_CEDE */
		 "	sc 1\n"
		 "	cmpdi 26,0\n"
		 "	beq 1b\n"
		 "	li 26,0\n"
		 "	stw 1,0(2)\n"
		 "	b 1b\n");

/* H_CEDE has enabled interrupts. Return with interrupts disabled. */
STATS_GUEST_CODE(stats_external_interrupt,
		 "	li 26,1\n"
		 "	mfsrr1 8\n"
		 "	xori 8,8,0x8000\n"	/* MSR_EE */
		 "	mtsrr1 8\n"
		 "	rfid\n");

/* The page of interrupt handlers at address 0, shared by all VMs. */
#define STATS_VECTORS_SLOT	31
#define STATS_VECTOR_EXTERNAL	0x500

static char stats_vectors[65536] __attribute__((aligned(65536)));

static inline void stats_arch_init_vm(struct __test_metadata *_metadata, int vm)
{
	struct kvm_userspace_memory_region region = {
		.slot = STATS_VECTORS_SLOT,
		.memory_size = sizeof(stats_vectors),
		.userspace_addr = (unsigned long)stats_vectors,
	};

	memcpy(stats_vectors + STATS_VECTOR_EXTERNAL, stats_external_interrupt,
	       stats_external_interrupt_end - stats_external_interrupt);
	ASSERT_EQ(0, ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region));
}

/* The VMM is the interrupt controller: it asserts the line to the vCPU. */
static inline void stats_arch_create_irqchip(struct __test_metadata *_metadata, int vm)
{
}

static inline void stats_interrupt(struct __test_metadata *_metadata, int vcpu, __u32 irq)
{
	struct kvm_interrupt interrupt = { .irq = irq };

	ASSERT_EQ(0, ioctl(vcpu, KVM_INTERRUPT, &interrupt));
}

static inline void stats_arch_wake(struct __test_metadata *_metadata, int vm, int vcpu)
{
	stats_interrupt(_metadata, vcpu, KVM_INTERRUPT_SET);
}

static inline void stats_arch_woken(struct __test_metadata *_metadata, int vm, int vcpu)
{
	stats_interrupt(_metadata, vcpu, KVM_INTERRUPT_UNSET);
}

static inline void stats_arch_init_page(char *page, __u64 addr)
{
}

#define stats_arch_put_code		memcpy

/* A time of the clock after the end of all tests. */
static inline __u64 stats_never(void)
{
	__u64 now;

	asm volatile("mftb %0" : "=r" (now));
	return now + (1ULL << 48);
}

/*
 * Let a vCPU start at @pc with a count for the kernel exit guest. KVM-HV only runs guests
 * with hypercalls (PAPR). The guest and its interrupts are little-endian. Its decrementer
 * has more than 32 bits, so that it does not expire.
 */
static inline void stats_arch_init_vcpu(struct __test_metadata *_metadata,
					int vcpu, __u64 pc, __u32 count)
{
	const __u64 lpcr = 1ULL << 25	/* ILE */
			 | 1ULL << 17;	/* LD */
	struct kvm_regs regs = {
		.pc = pc,
		.msr = 1ULL << 63	/* SF */
		     | 1ULL << 12	/* ME */
		     | 1ULL << 0,	/* LE */
		.gpr[2] = STATS_MMIO_ADDR,
		.gpr[5] = STATS_IOEVENTFD_ADDR,
		.gpr[19] = count,
		.gpr[20] = STATS_DATA,
		.gpr[21] = sysconf(_SC_PAGESIZE),
	};
	struct kvm_enable_cap papr = { .cap = KVM_CAP_PPC_PAPR };

	ASSERT_EQ(0, ioctl(vcpu, KVM_ENABLE_CAP, &papr));
	stats_set_reg(_metadata, vcpu, KVM_REG_PPC_LPCR_64, lpcr);
	stats_set_reg(_metadata, vcpu, KVM_REG_PPC_DEC_EXPIRY, stats_never());
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

/* Let the touch guest write to @data instead of STATS_DATA. */
static inline void stats_arch_set_data(struct __test_metadata *_metadata, int vcpu, __u64 data)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_REGS, &regs));
	regs.gpr[20] = data;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

#endif /* SELFTEST_KVM_STATS_FD_ARCH_H */
