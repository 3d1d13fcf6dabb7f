/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of riscv. <linux/kvm_stats_list.h> includes this file and explains
 * the lines.
 */
KVM_VCPU_STAT(u64, ecall_exit_stat, CUMULATIVE, COUNT,
	      "Exits by an ECALL instruction")
KVM_VCPU_STAT(u64, wfi_exit_stat, CUMULATIVE, COUNT,
	      "WFI instructions of the guest that KVM emulated")
KVM_VCPU_STAT(u64, wrs_exit_stat, CUMULATIVE, COUNT,
	      "WRS instructions of the guest that KVM emulated")
KVM_VCPU_STAT(u64, mmio_exit_user, CUMULATIVE, COUNT,
	      "Accesses to MMIO that KVM left to user space")
KVM_VCPU_STAT(u64, mmio_exit_kernel, CUMULATIVE, COUNT,
	      "Accesses to MMIO that KVM handled")
KVM_VCPU_STAT(u64, csr_exit_user, CUMULATIVE, COUNT,
	      "Accesses to a CSR that KVM left to user space")
KVM_VCPU_STAT(u64, csr_exit_kernel, CUMULATIVE, COUNT,
	      "Accesses to a CSR that KVM handled")
KVM_VCPU_STAT(u64, signal_exits, CUMULATIVE, COUNT,
	      "Exits to user space by a signal")
KVM_VCPU_STAT(u64, exits, CUMULATIVE, COUNT,
	      "Exits from the guest, for any reason")
