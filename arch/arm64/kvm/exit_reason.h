/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The statistic exit_reasons on arm64: why the guest exited, for a trap by its exception
 * class.
 */
#ifndef __ARM64_KVM_EXIT_REASON_H
#define __ARM64_KVM_EXIT_REASON_H

#include <linux/kvm_host.h>
#include <linux/kvm_stats_time.h>
#include <asm/esr.h>
#include <asm/kvm_asm.h>
#include <asm/kvm_emulate.h>

static const u8 arm_exit_reasons[] = {
	[0 ... ESR_ELx_EC_MAX]	= KVM_EXIT_REASON_other,
	[ESR_ELx_EC_WFx]	= KVM_EXIT_REASON_wfi,
	[ESR_ELx_EC_CP15_32]	= KVM_EXIT_REASON_sysreg,
	[ESR_ELx_EC_CP15_64]	= KVM_EXIT_REASON_sysreg,
	[ESR_ELx_EC_CP14_MR]	= KVM_EXIT_REASON_sysreg,
	[ESR_ELx_EC_CP14_LS]	= KVM_EXIT_REASON_sysreg,
	[ESR_ELx_EC_CP14_64]	= KVM_EXIT_REASON_sysreg,
	[ESR_ELx_EC_HVC32]	= KVM_EXIT_REASON_hvc,
	[ESR_ELx_EC_SMC32]	= KVM_EXIT_REASON_smc,
	[ESR_ELx_EC_HVC64]	= KVM_EXIT_REASON_hvc,
	[ESR_ELx_EC_SMC64]	= KVM_EXIT_REASON_smc,
	[ESR_ELx_EC_SYS64]	= KVM_EXIT_REASON_sysreg,
	[ESR_ELx_EC_ERET]	= KVM_EXIT_REASON_eret,
	[ESR_ELx_EC_SVE]	= KVM_EXIT_REASON_sve,
	[ESR_ELx_EC_IABT_LOW]	= KVM_EXIT_REASON_instruction_abort,
	[ESR_ELx_EC_DABT_LOW]	= KVM_EXIT_REASON_data_abort,
	[ESR_ELx_EC_SOFTSTP_LOW] = KVM_EXIT_REASON_debug,
	[ESR_ELx_EC_WATCHPT_LOW] = KVM_EXIT_REASON_debug,
	[ESR_ELx_EC_BREAKPT_LOW] = KVM_EXIT_REASON_debug,
	[ESR_ELx_EC_BKPT32]	= KVM_EXIT_REASON_debug,
	[ESR_ELx_EC_BRK64]	= KVM_EXIT_REASON_debug,
	[ESR_ELx_EC_FP_ASIMD]	= KVM_EXIT_REASON_fp,
	[ESR_ELx_EC_PAC]	= KVM_EXIT_REASON_ptrauth,
};

static inline enum kvm_exit_reason kvm_arm_trap_reason(u32 esr)
{
	u32 ec = ESR_ELx_EC(esr);

	if (unlikely(ec == ESR_ELx_EC_WFx) && (esr & ESR_ELx_WFx_ISS_WFE))
		return KVM_EXIT_REASON_wfe;
	return arm_exit_reasons[ec];
}

static inline enum kvm_exit_reason kvm_arm_other_reason(int exit)
{
	if (exit == ARM_EXCEPTION_IRQ)
		return KVM_EXIT_REASON_interrupt;
	if (ARM_SERROR_PENDING(exit) || exit == ARM_EXCEPTION_EL1_SERROR)
		return KVM_EXIT_REASON_serror;
	if (exit == ARM_EXCEPTION_IL)
		return KVM_EXIT_REASON_illegal_state;
	return KVM_EXIT_REASON_other;
}

/* Count an exit and its reason. @exit: the result of __kvm_vcpu_run(). */
static inline void kvm_arm_count_exit(struct kvm_vcpu *vcpu, int exit)
{
	enum kvm_exit_reason reason;

	if (likely(exit == ARM_EXCEPTION_TRAP))
		reason = kvm_arm_trap_reason(kvm_vcpu_get_esr(vcpu));
	else
		reason = kvm_arm_other_reason(exit);
	kvm_stats_count_reason(vcpu, reason);
	vcpu->stat->exits++;
}

#endif /* __ARM64_KVM_EXIT_REASON_H */
