/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guests of arm64 for the tests of KVM's statistics files: a few instructions each, so
 * that the tests know how often a vCPU did what.
 */
#ifndef SELFTEST_KVM_STATS_FD_ARCH_H
#define SELFTEST_KVM_STATS_FD_ARCH_H

#include <stddef.h>

#include "stats_fd_util.h"

/* The statistic that counts all exits. */
#define STATS_EXITS		"exits"

/* The statistic that counts the exits of the user exit guest, and no others. */
#define STATS_USER_EXITS	"mmio_exit_user"
#define STATS_USER_EXIT_REASON	KVM_EXIT_MMIO

/* Exits that KVM handles itself, as many as the guest was given, then a spin. */
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

/* What is done, as often as x19 says, and then the user exit. */
#define STATS_GUEST_LOOP(name, action)					\
	STATS_GUEST_CODE(name,						\
		"1:	" action "\n"					\
		"	subs x19, x19, #1\n"				\
		"	b.ne 1b\n"					\
		"	str w1, [x2]\n")

/* Where no memory and no device of KVM is, and where an ioeventfd goes. */
#define STATS_MMIO_ADDR		0x10000000
#define STATS_IOEVENTFD_ADDR	0x10001000

/* Writes to as many pages as x19 says from x20 on, again in each KVM_RUN. */
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
 * Sleeps until it is woken, once in each KVM_RUN. A WFI may also do nothing,
 * for example because the host has an interrupt: then no one has woken the vCPU
 * and there is none for it.
 */
STATS_GUEST_CODE(stats_sleep,
		 "1:	wfi\n"
		 "	mrs x0, isr_el1\n"
		 "	cbz x0, 1b\n"
		 "	str w1, [x2]\n"
		 "	b 1b\n");

/*
 * Guests that look at statistics: one at x22, which mostly is exits, and another
 * one at x23.
 */
#define STATS_GUEST_LOOK(name, code)					\
	STATS_GUEST_CODE(name,						\
		code							\
		"	ldr x23, [x23]\n"				\
		"	str w1, [x2]\n")

/* As often as x19 says, as long as it does not move. */
STATS_GUEST_LOOK(stats_look_still,
		 "	ldr x24, [x22]\n"
		 "1:	ldr x0, [x22]\n"
		 "	cmp x0, x24\n"
		 "	b.ne 2f\n"
		 "	subs x19, x19, #1\n"
		 "	b.ne 1b\n"
		 "2:	mov x22, x0\n");

/* Until it is at least x19. */
STATS_GUEST_LOOK(stats_look_until,
		 "1:	ldr x0, [x22]\n"
		 "	cmp x0, x19\n"
		 "	b.lo 1b\n"
		 "	mov x22, x0\n");

/* Writes to a statistic, of all sizes: STATS_WRITE_SIZES. */
STATS_GUEST_CODE(stats_write,
		 "	strb w1, [x22]\n"
		 "	strh w1, [x22]\n"
		 "	str w1, [x22]\n"
		 "	str x1, [x22]\n"
		 "	str w1, [x2]\n");
#define STATS_WRITE_SIZES	{ 1, 2, 4, 8 }

/* What vCPUs are to be, the same for all VMs of a host. */
static struct kvm_vcpu_init stats_vcpu_init;

static inline void stats_arch_init_vm(struct __test_metadata *_metadata, int vm)
{
	ASSERT_EQ(0, ioctl(vm, KVM_ARM_PREFERRED_TARGET, &stats_vcpu_init));
}

/* A vCPU sleeps and is woken without one, too. */
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

/* Wake the vCPU. It has interrupts masked, so that nothing else happens. */
static inline void stats_arch_wake(struct __test_metadata *_metadata, int vm, int vcpu)
{
	stats_irq_line(_metadata, vm, 1);
}

static inline void stats_arch_woken(struct __test_metadata *_metadata, int vm, int vcpu)
{
	stats_irq_line(_metadata, vm, 0);
}

/*
 * In the page of the code: a page table with pages of 1 GiB, of which the first is
 * where it is, as ordinary memory that caches hold.
 */
#define STATS_TABLE		0x800
#define STATS_TABLE_ENTRY	0x701	/* accessed, inner shareable, block */

/* Where the guest finds it, the same for all VMs. */
static __u64 stats_table;

static inline void stats_arch_init_page(char *page, __u64 addr)
{
	const __u64 table[2] = { STATS_TABLE_ENTRY };

	memcpy(page + STATS_TABLE, table, sizeof(table));
	stats_table = addr + STATS_TABLE;
}

static inline void stats_arch_put_code(void *to, const char *code, size_t size)
{
	memcpy(to, code, size);
}

#define STATS_CORE_REG(reg)						\
	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |		\
	 KVM_REG_ARM_CORE_REG(reg))

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

/* Have a vCPU start at @pc again, with what it has of its memory. */
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
 * Have a vCPU start at @pc, with @count for the kernel exit guest. If it has run
 * before, some hosts take away the VM's memory, until it is touched.
 */
static inline void stats_arch_init_vcpu(struct __test_metadata *_metadata,
					int vcpu, __u64 pc, __u32 count)
{
	ASSERT_EQ(0, ioctl(vcpu, KVM_ARM_VCPU_INIT, &stats_vcpu_init));
	stats_arch_restart_vcpu(_metadata, vcpu, pc, count);
}

/* Have the touch guest write to another place than STATS_DATA. */
static inline void stats_arch_set_data(struct __test_metadata *_metadata, int vcpu, __u64 data)
{
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[20]), data);
}

/*
 * Have a guest use the table: what the host counts is in caches, which a guest
 * without page tables does not look into. Addresses have 31 bits.
 */
static inline void stats_arch_init_mmu(struct __test_metadata *_metadata, int vcpu)
{
	const __u64 tcr = 33		/* T0SZ: 64 - 31 */
			| 1 << 8	/* IRGN0: write-back */
			| 1 << 10	/* ORGN0: write-back */
			| 3 << 12	/* SH0: inner shareable */
			| 1 << 23;	/* EPD1: no other table */
	const __u64 sctlr = 0x30d00800	/* what is always set */
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

/* Have a guest look at two statistics, and write @value if it writes. */
static inline void stats_arch_set_look(struct __test_metadata *_metadata,
				       int vcpu, const __u64 addr[2], __u32 value)
{
	stats_arch_init_mmu(_metadata, vcpu);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[1]), value);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[22]), addr[0]);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[23]), addr[1]);
}

static inline void stats_arch_get_look(struct __test_metadata *_metadata,
				       int vcpu, struct stats_look *look)
{
	look->before[0] = stats_get_core(_metadata, vcpu, 24);
	look->before[1] = stats_get_core(_metadata, vcpu, 25);
	look->after[0] = stats_get_core(_metadata, vcpu, 22);
	look->after[1] = stats_get_core(_metadata, vcpu, 23);
	look->left = stats_get_core(_metadata, vcpu, 19);
}

#endif /* SELFTEST_KVM_STATS_FD_ARCH_H */
