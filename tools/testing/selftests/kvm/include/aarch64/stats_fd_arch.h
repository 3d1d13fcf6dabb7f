/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * arm64 guests for the tests of KVM's statistics files. Each has a few instructions, so
 * that the tests know what a vCPU did and how often.
 */
#ifndef SELFTEST_KVM_STATS_FD_ARCH_H
#define SELFTEST_KVM_STATS_FD_ARCH_H

#include <stddef.h>

#include "stats_fd_util.h"

/* This statistic counts all exits. */
#define STATS_EXITS		"exits"

/* This statistic counts the exits of the user exit guest, and no others. */
#define STATS_USER_EXITS	"mmio_exit_user"
#define STATS_USER_EXIT_REASON	KVM_EXIT_MMIO

/* Do a given number of exits that KVM handles, then spin. */
static const __u32 stats_kernel_exits_code[] = {
	0x52b08000,		/* 1:	mov w0, #0x84000000 (PSCI_VERSION) */
	0xd4000002,		/*	hvc #0		*/
	0xf1000673,		/*	subs x19, x19, #1	*/
	0x54ffffa1,		/*	b.ne 1b		*/
	0x14000000,		/* 2:	b 2b		*/
};

/* Each KVM_RUN is one exit to user space. */
static const __u32 stats_user_exits_code[] = {
	0xb9000041,		/* 1:	str w1, [x2]	*/
	0x17ffffff,		/*	b 1b		*/
};

/* Do @action as often as x19 says, then the user exit. */
#define STATS_GUEST_LOOP(name, action)					\
	STATS_GUEST_CODE(name,						\
		"1:	" action "\n"					\
		"	subs x19, x19, #1\n"				\
		"	b.ne 1b\n"					\
		"	str w1, [x2]\n")

/* Addresses without memory or device of KVM; an ioeventfd is at the second one. */
#define STATS_MMIO_ADDR		0x10000000
#define STATS_IOEVENTFD_ADDR	0x10001000

/* In each KVM_RUN, write to as many pages as x19 says from x20 on. */
STATS_GUEST_CODE(stats_touch,
		 "1:	mov x4, x19\n"
		 "	mov x5, x20\n"
		 "	cbz x4, 3f\n"
		 "2:	str w1, [x5]\n"
		 "	add x5, x5, x21\n"
		 "	subs x4, x4, #1\n"
		 "	b.ne 2b\n"
		 "3:	str w1, [x2]\n"
		 "	b 1b\n");

/*
 * Sleep until woken, once in each KVM_RUN. A WFI may also return at once, for example
 * because the host has an interrupt; then the guest has none.
 */
STATS_GUEST_CODE(stats_sleep,
		 "1:	wfi\n"
		 "	mrs x0, isr_el1\n"
		 "	cbz x0, 1b\n"
		 "	str w1, [x2]\n"
		 "	b 1b\n");

/* Guests that read two statistics: at x22, usually exits, and at x23. */
#define STATS_GUEST_SAMPLE(name, code)					\
	STATS_GUEST_CODE(name,						\
		code							\
		"	ldr x23, [x23]\n"				\
		"	str w1, [x2]\n")

/* Read the first one x19 times, or until it changes. */
STATS_GUEST_SAMPLE(stats_sample_still,
		   "	ldr x24, [x22]\n"
		   "1:	ldr x0, [x22]\n"
		   "	cmp x0, x24\n"
		   "	b.ne 2f\n"
		   "	subs x19, x19, #1\n"
		   "	b.ne 1b\n"
		   "2:	mov x22, x0\n");

/* Read the first one until it is at least x19. */
STATS_GUEST_SAMPLE(stats_sample_until,
		   "1:	ldr x0, [x22]\n"
		   "	cmp x0, x19\n"
		   "	b.lo 1b\n"
		   "	mov x22, x0\n");

/* Write to a statistic with each size of STATS_WRITE_SIZES. */
STATS_GUEST_CODE(stats_write,
		 "	strb w1, [x22]\n"
		 "	strh w1, [x22]\n"
		 "	str w1, [x22]\n"
		 "	str x1, [x22]\n"
		 "	str w1, [x2]\n");
#define STATS_WRITE_SIZES	{ 1, 2, 4, 8 }

/* The kind of vCPU, the same for all VMs of a host. */
static struct kvm_vcpu_init stats_vcpu_init;

static inline void stats_arch_init_vm(struct __test_metadata *_metadata, int vm)
{
	ASSERT_EQ(0, ioctl(vm, KVM_ARM_PREFERRED_TARGET, &stats_vcpu_init));
}

/* A vCPU can also sleep and be woken without an interrupt controller. */
static inline void stats_arch_create_irqchip(struct __test_metadata *_metadata, int vm)
{
}

static inline void stats_irq_line(struct __test_metadata *_metadata, int vm, int level)
{
	struct kvm_irq_level line = {
		.irq = (KVM_ARM_IRQ_TYPE_CPU << KVM_ARM_IRQ_TYPE_SHIFT) |
		       KVM_ARM_IRQ_CPU_IRQ,
		.level = level,
	};

	ASSERT_EQ(0, ioctl(vm, KVM_IRQ_LINE, &line));
}

/* Wake the vCPU. Its interrupts are masked, so that it does nothing else. */
static inline void stats_arch_wake(struct __test_metadata *_metadata, int vm, int vcpu)
{
	stats_irq_line(_metadata, vm, 1);
}

static inline void stats_arch_woken(struct __test_metadata *_metadata, int vm, int vcpu)
{
	stats_irq_line(_metadata, vm, 0);
}

/*
 * A page table in the page of the code. Its pages have 1 GiB; the first one maps to itself
 * as cacheable memory.
 */
#define STATS_TABLE		0x800
#define STATS_TABLE_ENTRY	0x701	/* accessed, inner shareable, block */

/* The table's address in the guest, the same for all VMs. */
static __u64 stats_table;

static inline void stats_arch_init_page(char *page, __u64 addr)
{
	const __u64 table[2] = { STATS_TABLE_ENTRY };

	memcpy(page + STATS_TABLE, table, sizeof(table));
	stats_table = addr + STATS_TABLE;
}

#define stats_arch_put_code		memcpy

#define STATS_CORE_REG(reg)						\
	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |		\
	 KVM_REG_ARM_CORE_REG(reg))

/* Let a vCPU start at @pc again, and keep its memory mapped. */
static inline void stats_arch_restart_vcpu(struct __test_metadata *_metadata,
					   int vcpu, __u64 pc, __u32 count)
{
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.pc), pc);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[19]), count);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[2]),
		      STATS_MMIO_ADDR);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[3]),
		      STATS_IOEVENTFD_ADDR);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[20]),
		      STATS_DATA);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[21]), sysconf(_SC_PAGESIZE));
}

/*
 * Let a vCPU start at @pc with a count for the kernel exit guest. If the vCPU has run
 * before, some hosts unmap the VM's memory.
 */
static inline void stats_arch_init_vcpu(struct __test_metadata *_metadata,
					int vcpu, __u64 pc, __u32 count)
{
	ASSERT_EQ(0, ioctl(vcpu, KVM_ARM_VCPU_INIT, &stats_vcpu_init));
	stats_arch_restart_vcpu(_metadata, vcpu, pc, count);
}

/* Let the touch guest write to @data instead of STATS_DATA. */
static inline void stats_arch_set_data(struct __test_metadata *_metadata, int vcpu, __u64 data)
{
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[20]), data);
}

/*
 * Let a guest use the page table: the host's values are in caches, which a guest without
 * page tables does not read. Addresses have 31 bits.
 */
static inline void stats_arch_init_mmu(struct __test_metadata *_metadata, int vcpu)
{
	const __u64 tcr = 33		/* T0SZ: 64 - 31 */
			| 1 << 8	/* IRGN0: write-back */
			| 1 << 10	/* ORGN0: write-back */
			| 3 << 12	/* SH0: inner shareable */
			| 1 << 23;	/* EPD1: no other table */
	const __u64 sctlr = 0x30d00800	/* bits that are always set */
			  | 1 << 0	/* M */
			  | 1 << 2	/* C */
			  | 1 << 12;	/* I */

	/* MAIR_EL1, TCR_EL1, TTBR0_EL1, SCTLR_EL1 */
	stats_set_reg(_metadata, vcpu, ARM64_SYS_REG(3, 0, 10, 2, 0), 0xff);
	stats_set_reg(_metadata, vcpu, ARM64_SYS_REG(3, 0, 2, 0, 2), tcr);
	stats_set_reg(_metadata, vcpu, ARM64_SYS_REG(3, 0, 2, 0, 0), stats_table);
	stats_set_reg(_metadata, vcpu, ARM64_SYS_REG(3, 0, 1, 0, 0), sctlr);
}

static inline __u64 stats_get_core(struct __test_metadata *_metadata, int vcpu, int nr)
{
	__u64 value;
	struct kvm_one_reg reg = {
		.id = STATS_CORE_REG(regs.regs[nr]),
		.addr = (unsigned long)&value,
	};

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_ONE_REG, &reg)) TH_LOG("x%d: %s", nr, strerror(errno));
	return value;
}

/* Let a guest read two statistics, or write @value to the first one. */
static inline void stats_arch_set_sample(struct __test_metadata *_metadata,
					 int vcpu, const __u64 addr[2], __u32 value)
{
	stats_arch_init_mmu(_metadata, vcpu);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[1]), value);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[22]), addr[0]);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[23]), addr[1]);
}

static inline void stats_arch_get_sample(struct __test_metadata *_metadata,
					 int vcpu, struct stats_sample *sample)
{
	sample->before[0] = stats_get_core(_metadata, vcpu, 24);
	sample->before[1] = stats_get_core(_metadata, vcpu, 25);
	sample->after[0] = stats_get_core(_metadata, vcpu, 22);
	sample->after[1] = stats_get_core(_metadata, vcpu, 23);
	sample->left = stats_get_core(_metadata, vcpu, 19);
}

#endif /* SELFTEST_KVM_STATS_FD_ARCH_H */
