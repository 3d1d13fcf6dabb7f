/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of mips. <linux/kvm_stats_list.h> includes this file and explains
 * the lines.
 */
KVM_VCPU_STAT(u64, wait_exits, CUMULATIVE, COUNT,
	      "WAIT instructions of the guest",
	      .alias = "wait")
KVM_VCPU_STAT(u64, cache_exits, CUMULATIVE, COUNT,
	      "CACHE instructions of the guest that KVM emulated",
	      .alias = "cache")
KVM_VCPU_STAT(u64, signal_exits, CUMULATIVE, COUNT,
	      "Exits to user space by a signal",
	      .alias = "signal")
KVM_VCPU_STAT(u64, int_exits, CUMULATIVE, COUNT,
	      "Exits by an interrupt of the host",
	      .alias = "interrupt")
KVM_VCPU_STAT(u64, cop_unusable_exits, CUMULATIVE, COUNT,
	      "Exits by the use of a disabled coprocessor",
	      .alias = "cop_unusable")
KVM_VCPU_STAT(u64, tlbmod_exits, CUMULATIVE, COUNT,
	      "Exits by a store to a page whose TLB entry is clean",
	      .alias = "tlbmod")
KVM_VCPU_STAT(u64, tlbmiss_ld_exits, CUMULATIVE, COUNT,
	      "Exits by a load or fetch that missed the TLB",
	      .alias = "tlbmiss_ld")
KVM_VCPU_STAT(u64, tlbmiss_st_exits, CUMULATIVE, COUNT,
	      "Exits by a store that missed the TLB",
	      .alias = "tlbmiss_st")
KVM_VCPU_STAT(u64, addrerr_st_exits, CUMULATIVE, COUNT,
	      "Exits by an address error of a store",
	      .alias = "addrerr_st")
KVM_VCPU_STAT(u64, addrerr_ld_exits, CUMULATIVE, COUNT,
	      "Exits by an address error of a load or fetch",
	      .alias = "addrerr_ld")
KVM_VCPU_STAT(u64, syscall_exits, CUMULATIVE, COUNT,
	      "Exits by a SYSCALL instruction",
	      .alias = "syscall")
KVM_VCPU_STAT(u64, resvd_inst_exits, CUMULATIVE, COUNT,
	      "Exits by a reserved instruction",
	      .alias = "resvd_inst")
KVM_VCPU_STAT(u64, break_inst_exits, CUMULATIVE, COUNT,
	      "Exits by a BREAK instruction",
	      .alias = "break_inst")
KVM_VCPU_STAT(u64, trap_inst_exits, CUMULATIVE, COUNT,
	      "Exits by a trap instruction",
	      .alias = "trap_inst")
KVM_VCPU_STAT(u64, msa_fpe_exits, CUMULATIVE, COUNT,
	      "Exits by an exception of the MSA unit",
	      .alias = "msa_fpe")
KVM_VCPU_STAT(u64, fpe_exits, CUMULATIVE, COUNT,
	      "Exits by an exception of the FPU",
	      .alias = "fpe")
KVM_VCPU_STAT(u64, msa_disabled_exits, CUMULATIVE, COUNT,
	      "Exits by the use of MSA while it is disabled",
	      .alias = "msa_disabled")
KVM_VCPU_STAT(u64, flush_dcache_exits, CUMULATIVE, COUNT,
	      "Flushes of the data cache; KVM does not count them today",
	      .alias = "flush_dcache")
KVM_VCPU_STAT(u64, vz_gpsi_exits, CUMULATIVE, COUNT,
	      "Exits by a privileged sensitive instruction",
	      .alias = "vz_gpsi")
KVM_VCPU_STAT(u64, vz_gsfc_exits, CUMULATIVE, COUNT,
	      "Exits by a write to a sensitive field of CP0",
	      .alias = "vz_gsfc")
KVM_VCPU_STAT(u64, vz_hc_exits, CUMULATIVE, COUNT,
	      "Exits by a HYPCALL instruction",
	      .alias = "vz_hc")
KVM_VCPU_STAT(u64, vz_grr_exits, CUMULATIVE, COUNT,
	      "Exits by a guest reserved instruction redirected to root",
	      .alias = "vz_grr")
KVM_VCPU_STAT(u64, vz_gva_exits, CUMULATIVE, COUNT,
	      "Exits by a fault of a guest virtual address",
	      .alias = "vz_gva")
KVM_VCPU_STAT(u64, vz_ghfc_exits, CUMULATIVE, COUNT,
	      "Exits by a change of CP0 that hardware made",
	      .alias = "vz_ghfc")
KVM_VCPU_STAT(u64, vz_gpa_exits, CUMULATIVE, COUNT,
	      "Exits by a fault of a guest physical address",
	      .alias = "vz_gpa")
KVM_VCPU_STAT(u64, vz_resvd_exits, CUMULATIVE, COUNT,
	      "Exits whose cause KVM does not know",
	      .alias = "vz_resvd")
#ifdef CONFIG_CPU_LOONGSON64
KVM_VCPU_STAT(u64, vz_cpucfg_exits, CUMULATIVE, COUNT,
	      "CPUCFG instructions of the guest that KVM emulated",
	      .alias = "vz_cpucfg")
#endif
