/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MIPS guests for the tests of KVM's statistics files, run by trap and emulate. Each has
 * a few instructions, so that the tests know what a vCPU did and how often.
 */
#ifndef SELFTEST_KVM_STATS_FD_ARCH_H
#define SELFTEST_KVM_STATS_FD_ARCH_H

#include <stddef.h>

#include "stats_fd_util.h"

/* This statistic counts all exits. */
#define STATS_EXITS		"exits"

/* This statistic counts the exits of the user exit guest, and no others. */
#define STATS_USER_EXITS	"addrerr_st_exits"
#define STATS_USER_EXIT_REASON	KVM_EXIT_MMIO

/* An interrupt comes from user space, so a guest that it wakes exits to user space. */
#define STATS_WOKEN_EXIT_REASON	KVM_EXIT_IRQ_WINDOW_OPEN

/* Do a given number of exits that KVM handles, then spin. */
static const __u32 stats_kernel_exits_code[] = {
	0x42000028,		/* 1:	hypcall		*/
	0x2610ffff,		/*	addiu $16, $16, -1	*/
	0x1600fffd,		/*	bnez $16, 1b	*/
	0x00000000,		/*	nop		*/
	0x1000ffff,		/* 2:	b 2b		*/
	0x00000000,		/*	nop		*/
};

/* Each KVM_RUN is one exit to user space. */
static const __u32 stats_user_exits_code[] = {
	0xae200000,		/* 1:	sw $0, 0($17)	*/
	0x1000fffe,		/*	b 1b		*/
	0x00000000,		/*	nop		*/
};

/* KVM emulates instructions that trap: the assembler must not reorder them. */
#define STATS_MIPS_CODE(name, text)					\
	STATS_GUEST_CODE(name, ".set push\n.set noreorder\n"		\
			 text ".set pop\n")

/* Do @action as often as $16 says, then the user exit. */
#define STATS_GUEST_LOOP(name, action)					\
	STATS_MIPS_CODE(name,						\
		"1:	" action "\n"					\
		"	addiu $16, $16, -1\n"				\
		"	bnez $16, 1b\n"					\
		"	nop\n"						\
		"	sw $0, 0($17)\n")

/* In each KVM_RUN, write to as many pages as $16 says from $18 on. */
STATS_MIPS_CODE(stats_touch,
		"1:	move $8, $16\n"
		"	move $9, $18\n"
		"	beqz $8, 3f\n"
		"	nop\n"
		"2:	sw $0, 0($9)\n"
		"	addu $9, $9, $19\n"
		"	addiu $8, $8, -1\n"
		"	bnez $8, 2b\n"
		"	nop\n"
		"3:	sw $0, 0($17)\n"
		"	b 1b\n"
		"	nop\n");

/* Sleep until woken, once in each KVM_RUN. */
STATS_MIPS_CODE(stats_sleep,
		"1:	wait\n"
		"	b 1b\n"
		"	nop\n");

static inline void stats_arch_init_vm(struct __test_metadata *_metadata, int vm)
{
}

/* The VMM is the interrupt controller: it asserts the line to the vCPU. */
static inline void stats_arch_create_irqchip(struct __test_metadata *_metadata, int vm)
{
}

/* Assert a line, or deassert it with its negative number. */
static inline void stats_interrupt(struct __test_metadata *_metadata, int vcpu, int irq)
{
	struct kvm_mips_interrupt interrupt = { .cpu = -1, .irq = irq };

	ASSERT_EQ(0, ioctl(vcpu, KVM_INTERRUPT, &interrupt));
}

/* Wake the vCPU. Its interrupts are disabled, so that it does nothing else. */
static inline void stats_arch_wake(struct __test_metadata *_metadata, int vm, int vcpu)
{
	stats_interrupt(_metadata, vcpu, 2);
}

static inline void stats_arch_woken(struct __test_metadata *_metadata, int vm, int vcpu)
{
	stats_interrupt(_metadata, vcpu, -2);
}

static inline void stats_arch_init_page(char *page, __u64 addr)
{
}

#define stats_arch_put_code		memcpy

/* The virtual addresses of the guest's memory and of devices. */
#define STATS_KSEG0		0x40000000UL
#define STATS_MMIO_ADDR		0xb0000000UL

/* Let a vCPU start at @pc with a count for the kernel exit guest, and without timer. */
static inline void stats_arch_init_vcpu(struct __test_metadata *_metadata,
					int vcpu, __u64 pc, __u32 count)
{
	struct kvm_regs regs = {
		.pc = STATS_KSEG0 + pc,
		.gpr[16] = (__s32)count,
		.gpr[17] = (__s32)STATS_MMIO_ADDR,
		.gpr[18] = STATS_KSEG0 + STATS_DATA,
		.gpr[19] = sysconf(_SC_PAGESIZE),
	};

	stats_set_reg(_metadata, vcpu, KVM_REG_MIPS_COUNT_CTL, KVM_REG_MIPS_COUNT_CTL_DC);
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

/* Let the touch guest write to @data instead of STATS_DATA. */
static inline void stats_arch_set_data(struct __test_metadata *_metadata, int vcpu, __u64 data)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_REGS, &regs));
	regs.gpr[18] = STATS_KSEG0 + data;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

#endif /* SELFTEST_KVM_STATS_FD_ARCH_H */
