/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The statistic exit_reasons on VMX: map the CPU's exit reason to a reason that SVM and
 * VMX share.
 */
#ifndef __KVM_X86_VMX_EXIT_REASON_H
#define __KVM_X86_VMX_EXIT_REASON_H

#include <linux/kvm_host.h>
#include <linux/kvm_stats_time.h>
#include <asm/vmx.h>

#include "mmu.h"
#include "vmcs.h"
#include "vmx.h"

static const u8 vmx_exit_reasons[] = {
	[0 ... EXIT_REASON_NOTIFY]	= KVM_EXIT_REASON_other,
	[EXIT_REASON_EXTERNAL_INTERRUPT] = KVM_EXIT_REASON_interrupt,
	[EXIT_REASON_TRIPLE_FAULT]	= KVM_EXIT_REASON_shutdown,
	[EXIT_REASON_INIT_SIGNAL]	= KVM_EXIT_REASON_init,
	[EXIT_REASON_INTERRUPT_WINDOW]	= KVM_EXIT_REASON_interrupt_window,
	[EXIT_REASON_NMI_WINDOW]	= KVM_EXIT_REASON_nmi_window,
	[EXIT_REASON_TASK_SWITCH]	= KVM_EXIT_REASON_task_switch,
	[EXIT_REASON_CPUID]		= KVM_EXIT_REASON_cpuid,
	[EXIT_REASON_HLT]		= KVM_EXIT_REASON_hlt,
	[EXIT_REASON_INVD]		= KVM_EXIT_REASON_wbinvd,
	[EXIT_REASON_INVLPG]		= KVM_EXIT_REASON_invlpg,
	[EXIT_REASON_RDPMC]		= KVM_EXIT_REASON_rdpmc,
	[EXIT_REASON_RDTSC]		= KVM_EXIT_REASON_rdtsc,
	[EXIT_REASON_VMCALL]		= KVM_EXIT_REASON_hypercall,
	[EXIT_REASON_VMCLEAR ... EXIT_REASON_VMON] = KVM_EXIT_REASON_vm_insn,
	[EXIT_REASON_VMLAUNCH]		= KVM_EXIT_REASON_vmrun,
	[EXIT_REASON_VMRESUME]		= KVM_EXIT_REASON_vmrun,
	[EXIT_REASON_CR_ACCESS]		= KVM_EXIT_REASON_cr_access,
	[EXIT_REASON_DR_ACCESS]		= KVM_EXIT_REASON_dr_access,
	[EXIT_REASON_IO_INSTRUCTION]	= KVM_EXIT_REASON_io,
	[EXIT_REASON_MSR_READ]		= KVM_EXIT_REASON_msr_read,
	[EXIT_REASON_MSR_WRITE]		= KVM_EXIT_REASON_msr_write,
	[EXIT_REASON_MWAIT_INSTRUCTION]	= KVM_EXIT_REASON_mwait,
	[EXIT_REASON_MONITOR_TRAP_FLAG]	= KVM_EXIT_REASON_monitor_trap,
	[EXIT_REASON_MONITOR_INSTRUCTION] = KVM_EXIT_REASON_monitor,
	[EXIT_REASON_PAUSE_INSTRUCTION]	= KVM_EXIT_REASON_pause,
	[EXIT_REASON_TPR_BELOW_THRESHOLD] = KVM_EXIT_REASON_apic_tpr,
	[EXIT_REASON_APIC_ACCESS]	= KVM_EXIT_REASON_apic_access,
	[EXIT_REASON_EOI_INDUCED]	= KVM_EXIT_REASON_apic_eoi,
	[EXIT_REASON_GDTR_IDTR]		= KVM_EXIT_REASON_descriptor_table,
	[EXIT_REASON_LDTR_TR]		= KVM_EXIT_REASON_descriptor_table,
	[EXIT_REASON_EPT_VIOLATION]	= KVM_EXIT_REASON_nested_page_fault,
	[EXIT_REASON_EPT_MISCONFIG]	= KVM_EXIT_REASON_mmio,
	[EXIT_REASON_INVEPT]		= KVM_EXIT_REASON_vm_insn,
	[EXIT_REASON_RDTSCP]		= KVM_EXIT_REASON_rdtsc,
	[EXIT_REASON_PREEMPTION_TIMER]	= KVM_EXIT_REASON_preemption_timer,
	[EXIT_REASON_INVVPID]		= KVM_EXIT_REASON_vm_insn,
	[EXIT_REASON_WBINVD]		= KVM_EXIT_REASON_wbinvd,
	[EXIT_REASON_XSETBV]		= KVM_EXIT_REASON_xsetbv,
	[EXIT_REASON_APIC_WRITE]	= KVM_EXIT_REASON_apic_write,
	[EXIT_REASON_RDRAND]		= KVM_EXIT_REASON_rdrand,
	[EXIT_REASON_INVPCID]		= KVM_EXIT_REASON_invpcid,
	[EXIT_REASON_VMFUNC]		= KVM_EXIT_REASON_vm_insn,
	[EXIT_REASON_RDSEED]		= KVM_EXIT_REASON_rdrand,
	[EXIT_REASON_PML_FULL]		= KVM_EXIT_REASON_pml_full,
	[EXIT_REASON_XSAVES]		= KVM_EXIT_REASON_xsaves,
	[EXIT_REASON_XRSTORS]		= KVM_EXIT_REASON_xsaves,
	[EXIT_REASON_BUS_LOCK]		= KVM_EXIT_REASON_bus_lock,
	[EXIT_REASON_NOTIFY]		= KVM_EXIT_REASON_notify_window,
};

/* VMX has one exit reason for NMIs and all exceptions. */
static inline enum kvm_exit_reason vmx_exception_reason(struct kvm_vcpu *vcpu)
{
	u32 intr_info = vmx_get_intr_info(vcpu);

	if (is_nmi(intr_info))
		return KVM_EXIT_REASON_nmi;
	if (!is_page_fault(intr_info))
		return KVM_EXIT_REASON_exception;

	/* With EPT, no page fault comes from an entry that KVM marked as MMIO. */
	if (enable_ept)
		return KVM_EXIT_REASON_page_fault;

	return vmcs_read32(VM_EXIT_INTR_ERROR_CODE) & PFERR_RSVD_MASK ?
		KVM_EXIT_REASON_mmio : KVM_EXIT_REASON_page_fault;
}

/* Call this after VM_EXIT_REASON was read. */
static inline enum kvm_exit_reason vmx_exit_reason(struct kvm_vcpu *vcpu)
{
	union vmx_exit_reason reason = to_vmx(vcpu)->exit_reason;

	if (reason.failed_vmentry)
		return KVM_EXIT_REASON_entry_failure;
	if (reason.basic == EXIT_REASON_EXCEPTION_NMI)
		return vmx_exception_reason(vcpu);
	if (reason.basic < ARRAY_SIZE(vmx_exit_reasons))
		return vmx_exit_reasons[reason.basic];
	return KVM_EXIT_REASON_other;
}

#endif /* __KVM_X86_VMX_EXIT_REASON_H */
