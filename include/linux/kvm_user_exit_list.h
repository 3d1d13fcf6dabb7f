/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why KVM_RUN returns to user space: one line for each KVM_EXIT_* of <linux/kvm.h>, in
 * the order of their numbers. Code that needs something for each includes this file with
 * its own macro, which this file undefines at its end:
 *
 *   KVM_USER_EXIT(NUMBER, name, help)	an element of the statistic user_exits
 *
 * NUMBER	KVM_EXIT_NUMBER is the value of kvm_run->exit_reason
 * name		of the element; ABI
 * help		one sentence: why KVM_RUN returned
 */
#ifndef KVM_USER_EXIT
#error "Define KVM_USER_EXIT before including this file"
#endif

KVM_USER_EXIT(UNKNOWN, unknown,
	      "A hardware exit that KVM does not know, or a number that is no exit reason")
KVM_USER_EXIT(EXCEPTION, exception, "An exception in the guest")
KVM_USER_EXIT(IO, io, "An access to an I/O port")
KVM_USER_EXIT(HYPERCALL, hypercall, "A hypercall that the VMM answers")
KVM_USER_EXIT(DEBUG, debug, "A breakpoint or single step of a debugger")
KVM_USER_EXIT(HLT, hlt, "A halt, if the VMM emulates the interrupt controller")
KVM_USER_EXIT(MMIO, mmio, "An access to memory without a slot, or a write to a read-only slot")
KVM_USER_EXIT(IRQ_WINDOW_OPEN, irq_window_open,
	      "The guest can now take an interrupt that the VMM wants to inject")
KVM_USER_EXIT(SHUTDOWN, shutdown, "A triple fault or another reset of the guest")
KVM_USER_EXIT(FAIL_ENTRY, fail_entry, "The CPU refused to enter the guest")
KVM_USER_EXIT(INTR, intr, "A signal or kvm_run->immediate_exit: KVM_RUN failed with EINTR")
KVM_USER_EXIT(SET_TPR, set_tpr, "A change of the task priority, if the VMM emulates the local APIC")
KVM_USER_EXIT(TPR_ACCESS, tpr_access, "A task priority access whose instruction the VMM may patch")
KVM_USER_EXIT(S390_SIEIC, s390_sieic, "An intercepted instruction that KVM does not handle")
KVM_USER_EXIT(S390_RESET, s390_reset, "A reset of the guest")
KVM_USER_EXIT(DCR, dcr, "An access to a device control register, no longer used")
KVM_USER_EXIT(NMI, nmi, "A machine check or NMI in the guest")
KVM_USER_EXIT(INTERNAL_ERROR, internal_error,
	      "KVM cannot continue, for example after an instruction that it cannot emulate")
KVM_USER_EXIT(OSI, osi, "A hypercall of the OSI interface")
KVM_USER_EXIT(PAPR_HCALL, papr_hcall, "A PAPR hypercall that the VMM answers")
KVM_USER_EXIT(S390_UCONTROL, s390_ucontrol,
	      "A page fault of a VM whose memory the VMM maps itself")
KVM_USER_EXIT(WATCHDOG, watchdog, "The watchdog of the guest expired")
KVM_USER_EXIT(S390_TSCH, s390_tsch, "TEST SUBCHANNEL: the guest asks what a device has done")
KVM_USER_EXIT(EPR, epr, "An interrupt acknowledge, if the VMM emulates the interrupt controller")
KVM_USER_EXIT(SYSTEM_EVENT, system_event, "The guest requests power-off, reset or crash handling")
KVM_USER_EXIT(S390_STSI, s390_stsi, "STORE SYSTEM INFORMATION")
KVM_USER_EXIT(IOAPIC_EOI, ioapic_eoi,
	      "The end of a level-triggered interrupt of the VMM's I/O APIC")
KVM_USER_EXIT(HYPERV, hyperv, "A Hyper-V hypercall or register that the VMM handles")
KVM_USER_EXIT(ARM_NISV, arm_nisv, "An access to MMIO by an instruction that the CPU did not decode")
KVM_USER_EXIT(X86_RDMSR, x86_rdmsr, "RDMSR that the VMM handles")
KVM_USER_EXIT(X86_WRMSR, x86_wrmsr, "WRMSR that the VMM handles")
KVM_USER_EXIT(DIRTY_RING_FULL, dirty_ring_full, "The vCPU's dirty ring is full")
KVM_USER_EXIT(AP_RESET_HOLD, ap_reset_hold, "A vCPU of an encrypted guest waits to be started")
KVM_USER_EXIT(X86_BUS_LOCK, x86_bus_lock,
	      "An atomic access that locks the bus, such as one that crosses cache lines")
KVM_USER_EXIT(XEN, xen, "A Xen hypercall that the VMM handles")
KVM_USER_EXIT(RISCV_SBI, riscv_sbi, "An SBI call that the VMM handles")
KVM_USER_EXIT(RISCV_CSR, riscv_csr, "An access to a control and status register")
KVM_USER_EXIT(NOTIFY, notify, "The guest could not take an event for too long")
KVM_USER_EXIT(LOONGARCH_IOCSR, loongarch_iocsr,
	      "An access to an I/O control and status register")
KVM_USER_EXIT(MEMORY_FAULT, memory_fault, "A fault that KVM cannot resolve without the VMM")

#undef KVM_USER_EXIT
