/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of powerpc. <linux/kvm_stats_list.h> includes this file and explains
 * the lines.
 */
/* Counted under kvm->mmu_lock. */
KVM_VM_STAT(u64, num_2M_pages, INSTANT, COUNT,
	    "Pages of 2 MiB that the radix MMU maps now",
	    .alias = "largepages_2M")
KVM_VM_STAT(u64, num_1G_pages, INSTANT, COUNT,
	    "Pages of 1 GiB that the radix MMU maps now",
	    .alias = "largepages_1G")

/*
 * On POWER8 one thread runs all vCPUs of a virtual core. It counts in them
 * while their own threads wait for it; vc->lock orders the threads.
 */
KVM_VCPU_STAT(u64, sum_exits, CUMULATIVE, COUNT,
	      "Exits from the guest, except exits that KVM-HV handles in real mode",
	      .alias = "exits")
KVM_VCPU_STAT(u64, mmio_exits, CUMULATIVE, COUNT,
	      "Accesses to MMIO",
	      .alias = "mmio")
KVM_VCPU_STAT(u64, signal_exits, CUMULATIVE, COUNT,
	      "Exits to user space by a signal",
	      .alias = "sig")
KVM_VCPU_STAT(u64, light_exits, CUMULATIVE, COUNT,
	      "Exits that KVM handled without leaving to the host; KVM does not count them today")
KVM_VCPU_STAT(u64, itlb_real_miss_exits, CUMULATIVE, COUNT,
	      "Fetches that missed the TLB and went to guest memory",
	      .alias = "itlb_r")
KVM_VCPU_STAT(u64, itlb_virt_miss_exits, CUMULATIVE, COUNT,
	      "Fetches that also missed the guest's own TLB",
	      .alias = "itlb_v")
KVM_VCPU_STAT(u64, dtlb_real_miss_exits, CUMULATIVE, COUNT,
	      "Accesses that missed the TLB and went to guest memory",
	      .alias = "dtlb_r")
KVM_VCPU_STAT(u64, dtlb_virt_miss_exits, CUMULATIVE, COUNT,
	      "Accesses that also missed the guest's own TLB",
	      .alias = "dtlb_v")
KVM_VCPU_STAT(u64, syscall_exits, CUMULATIVE, COUNT,
	      "System calls and hypercalls, except to KVM-PR or handled by KVM-HV in real mode",
	      .alias = "sysc")
KVM_VCPU_STAT(u64, isi_exits, CUMULATIVE, COUNT,
	      "Exits by a storage interrupt of an instruction fetch",
	      .alias = "isi")
KVM_VCPU_STAT(u64, dsi_exits, CUMULATIVE, COUNT,
	      "Exits by a storage interrupt of a data access",
	      .alias = "dsi")
KVM_VCPU_STAT(u64, emulated_inst_exits, CUMULATIVE, COUNT,
	      "Instructions of the guest that KVM emulated",
	      .alias = "inst_emu")
KVM_VCPU_STAT(u64, dec_exits, CUMULATIVE, COUNT,
	      "Exits by the decrementer, and entries cancelled because it had expired",
	      .alias = "dec")
KVM_VCPU_STAT(u64, ext_intr_exits, CUMULATIVE, COUNT,
	      "Exits by an external interrupt of the host",
	      .alias = "ext_intr")
KVM_VCPU_STAT(u64, halt_successful_wait, CUMULATIVE, COUNT,
	      "Halts that blocked, whatever ended them")
KVM_VCPU_STAT(u64, dbell_exits, CUMULATIVE, COUNT,
	      "Exits by a doorbell of the host",
	      .alias = "doorbell")
KVM_VCPU_STAT(u64, gdbell_exits, CUMULATIVE, COUNT,
	      "Exits by a doorbell of the guest",
	      .alias = "guest doorbell")
KVM_VCPU_STAT(u64, ld, CUMULATIVE, COUNT,
	      "Reads of guest memory by KVM, to emulate or to fetch an instruction")
KVM_VCPU_STAT(u64, st, CUMULATIVE, COUNT,
	      "Writes to guest memory by KVM, to emulate an instruction")
#ifdef CONFIG_PPC_BOOK3S
KVM_VCPU_STAT(u64, pf_storage, CUMULATIVE, COUNT,
	      "Faults of data accesses that reached KVM's MMU")
KVM_VCPU_STAT(u64, pf_instruc, CUMULATIVE, COUNT,
	      "Faults of instruction fetches that reached KVM's MMU")
KVM_VCPU_STAT(u64, sp_storage, CUMULATIVE, COUNT,
	      "Faults of data accesses within a split real mode mapping")
KVM_VCPU_STAT(u64, sp_instruc, CUMULATIVE, COUNT,
	      "Faults of fetches within a split real mode mapping")
KVM_VCPU_STAT(atomic64_t, queue_intr, CUMULATIVE, COUNT,
	      "Interrupts queued for the vCPU")
KVM_VCPU_STAT(u64, ld_slow, CUMULATIVE, COUNT,
	      "Emulated loads that took a slow path; KVM does not count them today")
KVM_VCPU_STAT(u64, st_slow, CUMULATIVE, COUNT,
	      "Emulated stores that took a slow path; KVM does not count them today")
#endif
KVM_VCPU_STAT(u64, pthru_all, CUMULATIVE, COUNT,
	      "Interrupts of passed-through devices that KVM handled")
KVM_VCPU_STAT(u64, pthru_host, CUMULATIVE, COUNT,
	      "Interrupts of passed-through devices that the host handled")
KVM_VCPU_STAT(u64, pthru_bad_aff, CUMULATIVE, COUNT,
	      "Interrupts of passed-through devices on the wrong CPU")
