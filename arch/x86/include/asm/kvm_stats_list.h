/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of x86. <linux/kvm_stats_list.h> includes this file and explains
 * the lines.
 */

/* Counted under kvm->mmu_lock. */
KVM_VM_STAT(u64, mmu_shadow_zapped, CUMULATIVE, COUNT,
	    "Shadow pages that KVM zapped, except by the TDP MMU")
KVM_VM_STAT(u64, mmu_pte_write, CUMULATIVE, COUNT,
	    "Emulated guest writes while KVM shadowed page tables")
KVM_VM_STAT(u64, mmu_pde_zapped, CUMULATIVE, COUNT,
	    "Shadow entries above the last level, zapped because the guest wrote a non-zero value")
KVM_VM_STAT(u64, mmu_flooded, CUMULATIVE, COUNT,
	    "Shadow pages zapped because guest writes to them were frequent or misaligned")
KVM_VM_STAT(u64, mmu_recycled, CUMULATIVE, COUNT,
	    "Oldest shadow pages zapped to lower their number, except by the TDP MMU")
KVM_VM_STAT(u64, mmu_cache_miss, CUMULATIVE, COUNT,
	    "Shadow pages created because none could be reused, except by the TDP MMU")
KVM_VM_STAT(u64, mmu_unsync, INSTANT, COUNT,
	    "Shadow pages that are out of sync with the guest's page tables now")
KVM_VM_STAT(u64, nx_lpage_splits, INSTANT, COUNT,
	    "Huge pages that are split now because the guest executes from them",
	    .alias = "nx_largepages_splitted")
KVM_VM_STAT(u64, max_mmu_page_hash_collisions, PEAK, COUNT,
	    "Most hash collisions in one lookup of a shadow page")
KVM_VM_STAT(u64, mmu_shadow_pages, INSTANT, COUNT,
	    "Shadow pages that exist now, except page tables of the TDP MMU")
KVM_VM_STAT(u64, max_mmu_rmap_size, PEAK, COUNT,
	    "Most entries that already mapped a page when KVM added another, except by the TDP MMU")
/* Any thread counts these. kvm_update_page_stats() needs them in this order. */
KVM_VM_STAT(atomic64_t, pages_4k, INSTANT, COUNT,
	    "Page table entries that map 4 KiB of guest memory now")
KVM_VM_STAT(atomic64_t, pages_2m, INSTANT, COUNT,
	    "Page table entries that map 2 MiB of guest memory now")
KVM_VM_STAT(atomic64_t, pages_1g, INSTANT, COUNT,
	    "Page table entries that map 1 GiB of guest memory now")

/*
 * A fault in pf_taken ends as pf_fixed, pf_spurious, pf_emulate or pf_guest, in a
 * retry, or in an error of KVM_RUN. pf_guest also counts page faults that the emulator
 * meets, and asynchronous page faults that KVM reports to the guest.
 */
KVM_VCPU_STAT(u64, pf_taken, CUMULATIVE, COUNT,
	      "Page faults that KVM handled, except accesses that a cached MMIO entry recognizes")
KVM_VCPU_STAT(u64, pf_fixed, CUMULATIVE, COUNT,
	      "Page faults that KVM fixed with a page table entry")
KVM_VCPU_STAT(u64, pf_fast, CUMULATIVE, COUNT,
	      "Page faults that KVM fixed, or found fixed, without taking a lock")
KVM_VCPU_STAT(u64, pf_spurious, CUMULATIVE, COUNT,
	      "Page faults that were already fixed, for example by another vCPU")
KVM_VCPU_STAT(u64, pf_emulate, CUMULATIVE, COUNT,
	      "Page faults that KVM handled by emulating the instruction")
KVM_VCPU_STAT(u64, pf_mmio_spte_created, CUMULATIVE, COUNT,
	      "Page table entries created to recognize later accesses to MMIO")
KVM_VCPU_STAT(u64, pf_guest, CUMULATIVE, COUNT,
	      "Page faults passed to the guest")
KVM_VCPU_STAT(u64, tlb_flush, CUMULATIVE, COUNT,
	      "TLB flushes requested for this vCPU")
KVM_VCPU_STAT(u64, invlpg, CUMULATIVE, COUNT,
	      "Invalidations of one page that KVM emulated, with or without a PCID")
KVM_VCPU_STAT(u64, exits, CUMULATIVE, COUNT,
	      "Exits from the guest, for any reason")
KVM_VCPU_STAT(u64, io_exits, CUMULATIVE, COUNT,
	      "Exits by an access to an I/O port")
KVM_VCPU_STAT(u64, mmio_exits, CUMULATIVE, COUNT,
	      "Reads and writes of MMIO by emulated instructions that KVM left to user space")
KVM_VCPU_STAT(u64, signal_exits, CUMULATIVE, COUNT,
	      "Exits to user space by a signal")
KVM_VCPU_STAT(u64, irq_window_exits, CUMULATIVE, COUNT,
	      "Exits because the guest can now take an interrupt",
	      .alias = "irq_window")
KVM_VCPU_STAT(u64, nmi_window_exits, CUMULATIVE, COUNT,
	      "Exits because the guest can now take an NMI",
	      .alias = "nmi_window")
KVM_VCPU_STAT(u64, notify_window_exits, CUMULATIVE, COUNT,
	      "Exits because the guest could not take an event for too long")
KVM_VCPU_STAT(u64, l1d_flush, CUMULATIVE, COUNT,
	      "Flushes of the L1 data cache before an entry into the guest")
KVM_VCPU_STAT(u64, halt_exits, CUMULATIVE, COUNT,
	      "HLT instructions and AP reset holds of the guest, entries into halted nested guests")
KVM_VCPU_STAT(u64, request_irq_exits, CUMULATIVE, COUNT,
	      "Exits to user space because the VMM had requested an interrupt window",
	      .alias = "request_irq")
KVM_VCPU_STAT(u64, irq_exits, CUMULATIVE, COUNT,
	      "Exits by an interrupt of the host")
KVM_VCPU_STAT(u64, host_state_reload, CUMULATIVE, COUNT,
	      "Reloads of host state that KVM leaves unloaded while the vCPU runs")
KVM_VCPU_STAT(u64, fpu_reload, CUMULATIVE, COUNT,
	      "Reloads of user space's FPU state when KVM_RUN ended")
KVM_VCPU_STAT(u64, insn_emulation, CUMULATIVE, COUNT,
	      "Guest instructions that KVM decoded to emulate them")
KVM_VCPU_STAT(u64, insn_emulation_fail, CUMULATIVE, COUNT,
	      "Guest instructions that KVM could not emulate")
KVM_VCPU_STAT(u64, hypercalls, CUMULATIVE, COUNT,
	      "Hypercalls that KVM or user space answers, except intercepted Xen calls")
KVM_VCPU_STAT(u64, irq_injections, CUMULATIVE, COUNT,
	      "Injections of interrupts into the guest, including repeated ones")
KVM_VCPU_STAT(u64, nmi_injections, CUMULATIVE, COUNT,
	      "Injections of NMIs into the guest, including repeated ones")
KVM_VCPU_STAT(u64, req_event, CUMULATIVE, COUNT,
	      "Entries before which KVM checked for events to inject")
KVM_VCPU_STAT(u64, preemption_reported, CUMULATIVE, COUNT,
	      "Preemptions of the vCPU at an instruction boundary of the guest")
KVM_VCPU_STAT(u64, preemption_other, CUMULATIVE, COUNT,
	      "Preemptions of the vCPU elsewhere, not reported to the guest")
KVM_VCPU_STAT(u64, guest_mode, INSTANT, BOOLEAN,
	      "1 while the vCPU runs a nested guest")
KVM_VCPU_STAT(u64, nested_run, CUMULATIVE, COUNT,
	      "Entries into nested guests by VMRUN, VMLAUNCH or VMRESUME, except halted ones")
KVM_VCPU_STAT(u64, directed_yield_attempted, CUMULATIVE, COUNT,
	      "Hypercalls of the guest to yield to another vCPU or to wake it")
KVM_VCPU_STAT(u64, directed_yield_successful, CUMULATIVE, COUNT,
	      "Hypercalls of the guest that did yield to another vCPU")
