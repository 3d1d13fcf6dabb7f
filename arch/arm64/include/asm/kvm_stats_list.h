/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of arm64. <linux/kvm_stats_list.h> includes this file and explains
 * the lines.
 */

KVM_VCPU_STAT(u64, hvc_exit_stat, CUMULATIVE, COUNT,
	      "Exits by an HVC instruction")
KVM_VCPU_STAT(u64, wfe_exit_stat, CUMULATIVE, COUNT,
	      "Exits by a WFE instruction")
KVM_VCPU_STAT(u64, wfi_exit_stat, CUMULATIVE, COUNT,
	      "Exits by a WFI instruction")
KVM_VCPU_STAT(u64, mmio_exit_user, CUMULATIVE, COUNT,
	      "Accesses to MMIO that KVM left to user space, with KVM_EXIT_MMIO")
KVM_VCPU_STAT(u64, mmio_exit_kernel, CUMULATIVE, COUNT,
	      "Accesses to MMIO that KVM handled")
KVM_VCPU_STAT(u64, exits, CUMULATIVE, COUNT,
	      "Exits from the guest to the host kernel, for any reason")
KVM_VCPU_STAT(u64, signal_exits, CUMULATIVE, COUNT,
	      "Exits to user space by a signal")
