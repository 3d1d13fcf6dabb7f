/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The statistic exit_reasons on SVM: map the CPU's exit code to a reason that SVM and
 * VMX share.
 */
#ifndef __SVM_EXIT_REASON_H
#define __SVM_EXIT_REASON_H

#include <linux/kvm_host.h>
#include <linux/kvm_stats_time.h>
#include <asm/svm.h>

#include "mmu.h"
#include "svm.h"

/* These codes need no further check, except page faults. */
static const u8 svm_exit_reasons[] = {
	[0 ... SVM_EXIT_IOIO]		= KVM_EXIT_REASON_other,
	[SVM_EXIT_READ_CR0 ... SVM_EXIT_WRITE_CR8] = KVM_EXIT_REASON_cr_access,
	[SVM_EXIT_READ_DR0 ... SVM_EXIT_WRITE_DR7] = KVM_EXIT_REASON_dr_access,
	[SVM_EXIT_EXCP_BASE ... SVM_EXIT_LAST_EXCP] = KVM_EXIT_REASON_exception,
	[SVM_EXIT_INTR]			= KVM_EXIT_REASON_interrupt,
	[SVM_EXIT_NMI]			= KVM_EXIT_REASON_nmi,
	[SVM_EXIT_SMI]			= KVM_EXIT_REASON_smi,
	[SVM_EXIT_INIT]			= KVM_EXIT_REASON_init,
	[SVM_EXIT_VINTR]		= KVM_EXIT_REASON_interrupt_window,
	[SVM_EXIT_CR0_SEL_WRITE]	= KVM_EXIT_REASON_cr_access,
	[SVM_EXIT_IDTR_READ ... SVM_EXIT_TR_WRITE] = KVM_EXIT_REASON_descriptor_table,
	[SVM_EXIT_RDTSC]		= KVM_EXIT_REASON_rdtsc,
	[SVM_EXIT_RDPMC]		= KVM_EXIT_REASON_rdpmc,
	[SVM_EXIT_CPUID]		= KVM_EXIT_REASON_cpuid,
	[SVM_EXIT_RSM]			= KVM_EXIT_REASON_rsm,
	[SVM_EXIT_IRET]			= KVM_EXIT_REASON_nmi_window,
	[SVM_EXIT_INVD]			= KVM_EXIT_REASON_wbinvd,
	[SVM_EXIT_PAUSE]		= KVM_EXIT_REASON_pause,
	[SVM_EXIT_HLT]			= KVM_EXIT_REASON_hlt,
	[SVM_EXIT_INVLPG]		= KVM_EXIT_REASON_invlpg,
	[SVM_EXIT_INVLPGA]		= KVM_EXIT_REASON_invlpg,
	[SVM_EXIT_IOIO]			= KVM_EXIT_REASON_io,
};

static inline enum kvm_exit_reason
svm_less_frequent_exit_reason(const struct vmcb_control_area *control)
{
	switch ((u32)control->exit_code) {
	case SVM_EXIT_NPF:
		return control->exit_info_1 & PFERR_RSVD_MASK ?
			KVM_EXIT_REASON_mmio : KVM_EXIT_REASON_nested_page_fault;
	case SVM_EXIT_MSR:
		return control->exit_info_1 ?
			KVM_EXIT_REASON_msr_write : KVM_EXIT_REASON_msr_read;
	case SVM_EXIT_VMMCALL:
		return KVM_EXIT_REASON_hypercall;
	case SVM_EXIT_VMRUN:
		return KVM_EXIT_REASON_vmrun;
	case SVM_EXIT_VMLOAD:
	case SVM_EXIT_VMSAVE:
	case SVM_EXIT_STGI:
	case SVM_EXIT_CLGI:
	case SVM_EXIT_SKINIT:
		return KVM_EXIT_REASON_vm_insn;
	case SVM_EXIT_TASK_SWITCH:
		return KVM_EXIT_REASON_task_switch;
	case SVM_EXIT_SHUTDOWN:
		return KVM_EXIT_REASON_shutdown;
	case SVM_EXIT_RDTSCP:
		return KVM_EXIT_REASON_rdtsc;
	case SVM_EXIT_WBINVD:
		return KVM_EXIT_REASON_wbinvd;
	case SVM_EXIT_MONITOR:
		return KVM_EXIT_REASON_monitor;
	case SVM_EXIT_MWAIT:
	case SVM_EXIT_MWAIT_COND:
		return KVM_EXIT_REASON_mwait;
	case SVM_EXIT_XSETBV:
		return KVM_EXIT_REASON_xsetbv;
	case SVM_EXIT_INVPCID:
		return KVM_EXIT_REASON_invpcid;
	case SVM_EXIT_AVIC_INCOMPLETE_IPI:
		return KVM_EXIT_REASON_apic_ipi;
	case SVM_EXIT_AVIC_UNACCELERATED_ACCESS:
		return KVM_EXIT_REASON_apic_access;
	case SVM_EXIT_EFER_WRITE_TRAP:
		return KVM_EXIT_REASON_msr_write;
	case SVM_EXIT_CR0_WRITE_TRAP ... SVM_EXIT_CR15_WRITE_TRAP:
		return KVM_EXIT_REASON_cr_access;
	case SVM_EXIT_VMGEXIT:
		return KVM_EXIT_REASON_vmgexit;
	case (u32)SVM_EXIT_ERR:
		return KVM_EXIT_REASON_entry_failure;
	default:
		return KVM_EXIT_REASON_other;
	}
}

static inline enum kvm_exit_reason
svm_exit_reason(const struct vmcb_control_area *control)
{
	u32 code = control->exit_code;

	/* With nested paging, KVM intercepts only page faults of nested guests. */
	if (code == SVM_EXIT_EXCP_BASE + PF_VECTOR)
		return !npt_enabled && control->exit_info_1 & PFERR_RSVD_MASK ?
			KVM_EXIT_REASON_mmio : KVM_EXIT_REASON_page_fault;

	if (likely(code < ARRAY_SIZE(svm_exit_reasons)))
		return svm_exit_reasons[code];

	return svm_less_frequent_exit_reason(control);
}

#endif /* __SVM_EXIT_REASON_H */
