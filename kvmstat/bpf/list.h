/* SPDX-License-Identifier: GPL-2.0 */
/* Statistics that no kernel has. <linux/kvm_stats_list.h> explains the lines. */
KVM_VM_STAT(u64, bpf_since_ns, INSTANT, NANOSECONDS,
	    "Since when kvmstat's BPF programs count, on CLOCK_MONOTONIC; KVM's own statistics count longer")
KVM_VM_STAT(u64, bpf_missed, CUMULATIVE, COUNT,
	    "Calls of kvmstat's BPF programs that the kernel left out, on all of the host")
KVM_VM_STAT(u64, bpf_left_out, CUMULATIVE, COUNT,
	    "Events of vCPUs for which kvmstat's BPF programs have no room, on all of the host")
