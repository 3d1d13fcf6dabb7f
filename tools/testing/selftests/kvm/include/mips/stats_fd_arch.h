/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guests of MIPS for the tests of KVM's statistics files, run by trap and emulate: a few
 * instructions each, so that the tests know how often a vCPU did what.
 */
#ifndef SELFTEST_KVM_STATS_FD_ARCH_H
#define SELFTEST_KVM_STATS_FD_ARCH_H

#include <stddef.h>

#include "stats_fd_util.h"

/* The statistic that counts all exits. */
#define STATS_EXITS		"exits"

/* The statistic that counts the exits of the user exit guest, and no others. */
#define STATS_USER_EXITS	"addrerr_st_exits"
#define STATS_USER_EXITS_FILE	"addrerr_st"
#define STATS_USER_EXIT_REASON	KVM_EXIT_MMIO

/* A guest that was asleep leaves for user space, where its interrupt comes from. */
#define STATS_WOKEN_EXIT_REASON	KVM_EXIT_IRQ_WINDOW_OPEN

/* Exits that KVM handles itself, as many as the guest was given, then a spin. */
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

/* The assembler is to leave the order as it is: KVM emulates what traps. */
#define STATS_MIPS_CODE(name, text)					\
	STATS_GUEST_CODE(name, ".set push\n.set noreorder\n"		\
			 text ".set pop\n")

/* What is done, as often as $16 says, and then the user exit. */
#define STATS_GUEST_LOOP(name, action)					\
	STATS_MIPS_CODE(name,						\
		"1:	" action "\n"					\
		"	addiu $16, $16, -1\n"				\
		"	bnez $16, 1b\n"					\
		"	nop\n"						\
		"	sw $0, 0($17)\n")

/* Writes to as many pages as $16 says from $18 on, again in each KVM_RUN. */
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

/* Sleeps until it is woken, once in each KVM_RUN. */
STATS_MIPS_CODE(stats_sleep,
		"1:	wait\n"
		"	b 1b\n"
		"	nop\n");

static inline void stats_arch_init_vm(struct __test_metadata *_metadata, int vm)
{
}

/* The VMM is one: it asserts the line to the vCPU. */
static inline void stats_arch_create_irqchip(struct __test_metadata *_metadata, int vm)
{
}

/* The number of a line, or its negative to take that back. */
static inline void stats_interrupt(struct __test_metadata *_metadata, int vcpu, int irq)
{
	struct kvm_mips_interrupt interrupt = { .cpu = -1, .irq = irq };

	ASSERT_EQ(0, ioctl(vcpu, KVM_INTERRUPT, &interrupt));
}

/* Wake the vCPU. It has interrupts disabled, so that nothing else happens. */
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

static inline void stats_arch_put_code(void *to, const char *code, size_t size)
{
	memcpy(to, code, size);
}

static inline void stats_set_reg(struct __test_metadata *_metadata, int vcpu,
				 __u64 id, __u64 value)
{
	struct kvm_one_reg reg = {
		.id = id,
		.addr = (unsigned long)&value,
	};

	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_ONE_REG, &reg)) {
		TH_LOG("register %#llx: %s", id, strerror(errno));
	}
}

/* Where the guest's kernel finds its memory, and where devices are. */
#define STATS_KSEG0		0x40000000UL
#define STATS_MMIO_ADDR		0xb0000000UL

/* Have a vCPU start at @pc, with @count for the kernel exit guest. It has no timer. */
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

/* Have the touch guest write to another place than STATS_DATA. */
static inline void stats_arch_set_data(struct __test_metadata *_metadata, int vcpu, __u64 data)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_REGS, &regs));
	regs.gpr[18] = STATS_KSEG0 + data;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

#endif /* SELFTEST_KVM_STATS_FD_ARCH_H */
