/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KVM's statistics of x86, included by <linux/kvm_stats_list.h>, which says
 * what stands in a line.
 */

/* Counted under kvm->mmu_lock. */
KVM_VM_STAT(u64, mmu_shadow_zapped, CUMULATIVE, COUNT,
	    "Shadow pages that were zapped, but for those of the TDP MMU")
KVM_VM_STAT(u64, mmu_pte_write, CUMULATIVE, COUNT,
	    "Guest writes that KVM emulated while it shadowed page tables")
KVM_VM_STAT(u64, mmu_pde_zapped, CUMULATIVE, COUNT,
	    "Shadow entries above the last level that the guest wrote to, not with 0")
KVM_VM_STAT(u64, mmu_flooded, CUMULATIVE, COUNT,
	    "Shadow pages zapped because of how the guest wrote to them")
KVM_VM_STAT(u64, mmu_recycled, CUMULATIVE, COUNT,
	    "Shadow pages zapped to make room, for the host as well, not by the TDP MMU")
KVM_VM_STAT(u64, mmu_cache_miss, CUMULATIVE, COUNT,
	    "Shadow pages made because none fitted, not by the TDP MMU")
KVM_VM_STAT(u64, mmu_unsync, INSTANT, COUNT,
	    "Shadow pages out of step with the guest's page tables now")
KVM_VM_STAT(u64, nx_lpage_splits, INSTANT, COUNT,
	    "Huge pages split now because the guest may execute from them",
	    .alias = "nx_largepages_splitted")
KVM_VM_STAT(u64, max_mmu_page_hash_collisions, PEAK, COUNT,
	    "Most hash collisions met in one look-up of a shadow page")
KVM_VM_STAT(u64, mmu_shadow_pages, INSTANT, COUNT,
	    "Shadow pages that exist now, except page tables of the TDP MMU")
KVM_VM_STAT(u64, max_mmu_rmap_size, PEAK, COUNT,
	    "Most other entries that mapped a guest page when one was added, except by the TDP MMU")
/* Of any thread, one after the other. */
KVM_VM_STAT(atomic64_t, pages_4k, INSTANT, COUNT,
	    "Page table entries that map 4 KiB of guest memory now")
KVM_VM_STAT(atomic64_t, pages_2m, INSTANT, COUNT,
	    "Page table entries that map 2 MiB of guest memory now")
KVM_VM_STAT(atomic64_t, pages_1g, INSTANT, COUNT,
	    "Page table entries that map 1 GiB of guest memory now")

/*
 * A page fault that KVM takes ends as one of: fixed, spurious, emulate, guest, or
 * is retried, or is an error of KVM_RUN. The emulator's page faults are guest ones
 * as well, and so is to tell the guest of an asynchronous one.
 */
KVM_VCPU_STAT(u64, pf_taken, CUMULATIVE, COUNT,
	      "Page faults that KVM took, but for known accesses to MMIO")
KVM_VCPU_STAT(u64, pf_fixed, CUMULATIVE, COUNT,
	      "Page faults fixed by a page table entry, fast ones included")
KVM_VCPU_STAT(u64, pf_fast, CUMULATIVE, COUNT,
	      "Page faults that KVM fixed, or found fixed, without a lock")
KVM_VCPU_STAT(u64, pf_spurious, CUMULATIVE, COUNT,
	      "Page faults that were fixed already, by another vCPU for example")
KVM_VCPU_STAT(u64, pf_emulate, CUMULATIVE, COUNT,
	      "Page faults taken that call for the emulator")
KVM_VCPU_STAT(u64, pf_mmio_spte_created, CUMULATIVE, COUNT,
	      "Page table entries installed to recognize further accesses to MMIO")
KVM_VCPU_STAT(u64, pf_guest, CUMULATIVE, COUNT,
	      "Page faults passed to the guest")
KVM_VCPU_STAT(u64, tlb_flush, CUMULATIVE, COUNT,
	      "Flushes of the vCPU's TLB that it was asked for")
KVM_VCPU_STAT(u64, invlpg, CUMULATIVE, COUNT,
	      "Invalidations of one page, also for one PCID, that KVM emulated")
KVM_VCPU_STAT(u64, exits, CUMULATIVE, COUNT,
	      "Exits from the guest, for whatever reason")
KVM_VCPU_STAT(u64, io_exits, CUMULATIVE, COUNT,
	      "Exits by an access to an I/O port")
KVM_VCPU_STAT(u64, mmio_exits, CUMULATIVE, COUNT,
	      "Reads and writes of MMIO by emulated instructions, left to user space")
KVM_VCPU_STAT(u64, signal_exits, CUMULATIVE, COUNT,
	      "Exits to user space by a signal")
KVM_VCPU_STAT(u64, irq_window_exits, CUMULATIVE, COUNT,
	      "Exits because the guest became ready for an interrupt",
	      .alias = "irq_window")
KVM_VCPU_STAT(u64, nmi_window_exits, CUMULATIVE, COUNT,
	      "Exits because the guest became ready for an NMI",
	      .alias = "nmi_window")
KVM_VCPU_STAT(u64, notify_window_exits, CUMULATIVE, COUNT,
	      "Exits because the guest took no event for too long")
KVM_VCPU_STAT(u64, l1d_flush, CUMULATIVE, COUNT,
	      "Flushes of the L1 data cache before entering the guest")
KVM_VCPU_STAT(u64, halt_exits, CUMULATIVE, COUNT,
	      "HLT instructions of the guest, and entries into halted nested guests")
KVM_VCPU_STAT(u64, request_irq_exits, CUMULATIVE, COUNT,
	      "Exits to user space that had asked for an interrupt window",
	      .alias = "request_irq")
KVM_VCPU_STAT(u64, irq_exits, CUMULATIVE, COUNT,
	      "Exits by an interrupt of the host")
KVM_VCPU_STAT(u64, host_state_reload, CUMULATIVE, COUNT,
	      "Reloads of host state that is kept off while in the guest")
KVM_VCPU_STAT(u64, fpu_reload, CUMULATIVE, COUNT,
	      "Reloads of user space's FPU state after running the guest")
KVM_VCPU_STAT(u64, insn_emulation, CUMULATIVE, COUNT,
	      "Instructions of the guest that KVM decoded to emulate them")
KVM_VCPU_STAT(u64, insn_emulation_fail, CUMULATIVE, COUNT,
	      "Instructions of the guest that KVM could not emulate")
KVM_VCPU_STAT(u64, hypercalls, CUMULATIVE, COUNT,
	      "Hypercalls of the guest that KVM answered")
KVM_VCPU_STAT(u64, irq_injections, CUMULATIVE, COUNT,
	      "Injections of interrupts into the guest, repeated ones included")
KVM_VCPU_STAT(u64, nmi_injections, CUMULATIVE, COUNT,
	      "Injections of NMIs into the guest, repeated ones included")
KVM_VCPU_STAT(u64, req_event, CUMULATIVE, COUNT,
	      "Entries that looked for events to inject first")
KVM_VCPU_STAT(u64, preemption_reported, CUMULATIVE, COUNT,
	      "Preemptions of the vCPU at an instruction boundary of the guest")
KVM_VCPU_STAT(u64, preemption_other, CUMULATIVE, COUNT,
	      "Preemptions of the vCPU elsewhere, not reported to the guest")
KVM_VCPU_STAT(u64, guest_mode, INSTANT, BOOLEAN,
	      "The vCPU runs a nested guest now")
KVM_VCPU_STAT(u64, nested_run, CUMULATIVE, COUNT,
	      "Entries into nested guests, not halted ones, by VMRUN, VMLAUNCH or VMRESUME")
KVM_VCPU_STAT(u64, directed_yield_attempted, CUMULATIVE, COUNT,
	      "Attempts to yield to another vCPU, at a hypercall that asks for it")
KVM_VCPU_STAT(u64, directed_yield_successful, CUMULATIVE, COUNT,
	      "Attempts to yield to another vCPU that did yield")
