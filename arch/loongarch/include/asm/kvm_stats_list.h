/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of loongarch. <linux/kvm_stats_list.h> includes this file and explains
 * the lines.
 */
/* Counted under kvm->mmu_lock. */
KVM_VM_STAT(u64, pages, INSTANT, COUNT,
	    "Base pages that are mapped now")
KVM_VM_STAT(u64, hugepages, INSTANT, COUNT,
	    "Huge pages that are mapped now")

KVM_VCPU_STAT(u64, int_exits, CUMULATIVE, COUNT,
	      "Exits by an interrupt of the host")
KVM_VCPU_STAT(u64, idle_exits, CUMULATIVE, COUNT,
	      "IDLE instructions of the guest")
KVM_VCPU_STAT(u64, cpucfg_exits, CUMULATIVE, COUNT,
	      "CPUCFG instructions of the guest that KVM emulated")
KVM_VCPU_STAT(u64, signal_exits, CUMULATIVE, COUNT,
	      "Exits to user space by a signal")
KVM_VCPU_STAT(u64, hypercall_exits, CUMULATIVE, COUNT,
	      "Hypercalls of the guest")
