/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of KVM's statistics files know about arm64: the statistics
 * that it counts, and two guests of a few instructions each, so that the tests
 * can tell how often a vCPU exited.
 */
#ifndef SELFTEST_KVM_STATS_FD_ARCH_H
#define SELFTEST_KVM_STATS_FD_ARCH_H

#include <stddef.h>

#include "stats_fd_util.h"

/* Nothing beyond what all architectures have. */
static const struct stats_known stats_arch_vm[] = {
	{ }
};

static const struct stats_known stats_arch_vcpu[] = {
	STATS_CUMULATIVE("hvc_exit_stat"),
	STATS_CUMULATIVE("wfe_exit_stat"),
	STATS_CUMULATIVE("wfi_exit_stat"),
	STATS_CUMULATIVE("mmio_exit_user"),
	STATS_CUMULATIVE("mmio_exit_kernel"),
	STATS_CUMULATIVE("exits"),
	{ }
};

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

/* What vCPUs are to be, the same for all VMs of a host. */
static struct kvm_vcpu_init stats_vcpu_init;

static inline void stats_arch_init_vm(struct __test_metadata *_metadata, int vm)
{
	ASSERT_EQ(0, ioctl(vm, KVM_ARM_PREFERRED_TARGET, &stats_vcpu_init));
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

/* Have a vCPU start at @pc, with @count for the kernel exit guest. */
static inline void stats_arch_init_vcpu(struct __test_metadata *_metadata,
					int vcpu, __u64 pc, __u32 count)
{
	ASSERT_EQ(0, ioctl(vcpu, KVM_ARM_VCPU_INIT, &stats_vcpu_init));
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.pc), pc);
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[19]), count);
	/* There is no memory at this address. */
	stats_set_reg(_metadata, vcpu, STATS_CORE_REG(regs.regs[2]),
		      0x10000000);
}

#endif /* SELFTEST_KVM_STATS_FD_ARCH_H */
