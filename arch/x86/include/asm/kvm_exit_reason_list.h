/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why an x86 vCPU exits from the guest, one line for each reason; SVM and VMX share
 * the reasons. Code that needs something for each includes this file with its own
 * macro, which this file undefines at its end:
 *
 *   KVM_EXIT_REASON(name, help)	an element of the statistic exit_reasons
 *
 * name		name of the element, unique; ABI, unlike the place in this list
 * help		one sentence: what the guest did, or what happened to it
 *
 * An exit of a nested guest counts under the reason for which the CPU left that guest.
 */
#ifndef KVM_EXIT_REASON
#error "Define KVM_EXIT_REASON before including this file"
#endif

/* Events, not instructions of the guest. */
KVM_EXIT_REASON(interrupt, "An interrupt of the host")
KVM_EXIT_REASON(nmi, "A non-maskable interrupt of the host")
KVM_EXIT_REASON(smi, "A system management interrupt of the host")
KVM_EXIT_REASON(init, "An INIT signal to the CPU")
KVM_EXIT_REASON(preemption_timer,
		"The VMX preemption timer: a timer of the guest, or KVM forced an immediate exit")
KVM_EXIT_REASON(interrupt_window, "The guest can now take an interrupt")
KVM_EXIT_REASON(nmi_window, "The guest can now take an NMI, on SVM after its IRET")
KVM_EXIT_REASON(pml_full, "The CPU's log of written pages is full")
KVM_EXIT_REASON(monitor_trap,
		"A single step of a nested guest by its hypervisor")

/* Memory. */
KVM_EXIT_REASON(page_fault,
		"A page fault, intercepted because KVM shadows page tables, or in a nested guest")
KVM_EXIT_REASON(nested_page_fault,
		"An access to guest memory that the nested page tables do not allow")
KVM_EXIT_REASON(mmio, "An access to memory that KVM marked as MMIO at an earlier access")
KVM_EXIT_REASON(invlpg, "INVLPG or INVLPGA: the guest drops a page from its TLB")
KVM_EXIT_REASON(invpcid, "INVPCID: the guest drops pages from its TLB")

/* The local APIC, if the hardware virtualizes a part of it. */
KVM_EXIT_REASON(apic_access, "An access to the local APIC that the hardware does not virtualize")
KVM_EXIT_REASON(apic_write, "A write to the local APIC that KVM completes (VMX)")
KVM_EXIT_REASON(apic_ipi, "An IPI that the hardware did not deliver to all targets")
KVM_EXIT_REASON(apic_eoi, "The end of an interrupt for which an I/O APIC waits")
KVM_EXIT_REASON(apic_tpr, "The task priority fell below the threshold")

/* Exceptions, and events that end a guest. */
KVM_EXIT_REASON(exception, "An exception in the guest, except a page fault")
KVM_EXIT_REASON(shutdown, "A triple fault")
KVM_EXIT_REASON(task_switch, "A task switch by hardware")

/* Instructions. */
KVM_EXIT_REASON(hlt, "HLT: the guest has nothing to do until the next interrupt")
KVM_EXIT_REASON(pause, "PAUSE in a spin loop, repeated until the CPU's limit")
KVM_EXIT_REASON(monitor, "MONITOR: the guest chooses the memory that MWAIT watches")
KVM_EXIT_REASON(mwait, "MWAIT: the guest waits for a write to memory")
KVM_EXIT_REASON(io, "An access to an I/O port")
KVM_EXIT_REASON(msr_read, "RDMSR: the guest reads a model-specific register")
KVM_EXIT_REASON(msr_write, "WRMSR: the guest writes a model-specific register")
KVM_EXIT_REASON(cpuid, "CPUID: the guest asks which features its CPU has")
KVM_EXIT_REASON(hypercall, "VMCALL or VMMCALL: the guest calls KVM")
KVM_EXIT_REASON(cr_access, "An access to a control register")
KVM_EXIT_REASON(dr_access, "An access to a debug register")
KVM_EXIT_REASON(descriptor_table, "An access to GDTR, IDTR, LDTR or TR")
KVM_EXIT_REASON(xsetbv, "XSETBV: the guest enables CPU state, for example the AVX registers")
KVM_EXIT_REASON(xsaves, "XSAVES or XRSTORS: the guest saves or restores extended states")
KVM_EXIT_REASON(rdtsc, "RDTSC or RDTSCP: the guest reads the time stamp counter")
KVM_EXIT_REASON(rdpmc, "RDPMC: the guest reads a performance counter")
KVM_EXIT_REASON(rdrand, "RDRAND or RDSEED: the guest takes a random number")
KVM_EXIT_REASON(wbinvd, "WBINVD or INVD: the guest empties the caches of the CPU")
KVM_EXIT_REASON(rsm, "RSM, the end of an SMI, on SVM; on VMX it counts as exception")
KVM_EXIT_REASON(vmrun, "VMRUN, VMLAUNCH or VMRESUME: the guest enters a nested guest")
KVM_EXIT_REASON(vm_insn, "Another virtualization instruction, such as VMLOAD or VMREAD")
KVM_EXIT_REASON(vmgexit, "VMGEXIT: an encrypted guest asks KVM for anything, for example CPUID")
KVM_EXIT_REASON(bus_lock,
		"An atomic access that locks the bus, such as one that crosses cache lines")
KVM_EXIT_REASON(notify_window, "The guest could not take an event for too long")

/* The guest did not run, but exits counts it. */
KVM_EXIT_REASON(entry_failure, "The CPU refused to enter the guest")
KVM_EXIT_REASON(emulation, "No entry: VMX cannot run the guest in its state, so KVM emulated it")

KVM_EXIT_REASON(other, "None of the other reasons")

#undef KVM_EXIT_REASON
