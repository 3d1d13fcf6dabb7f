/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics of KVM, one line each, in the manner of kvm-x86-ops.h: those
 * of all architectures here, an architecture's own in <asm/kvm_stats_list.h>.
 * Counters, descriptors and debugfs files are made of these lines by including
 * this file with other definitions of two macros, which it undefines again:
 *
 *   KVM_VM_STAT(ctype, name, type, unit, help, ...)	a statistic of the VM
 *   KVM_VCPU_STAT(ctype, name, type, unit, help, ...)	a statistic of a vCPU
 *
 * ctype	u64, or atomic64_t where several CPUs count without a common lock
 * name		of the field and of the statistic, unique over VM and vCPU; ABI
 * type		CUMULATIVE, INSTANT or PEAK as in <linux/kvm_stats.h>
 * unit		COUNT or NANOSECONDS
 * help		one sentence: what is counted
 * ...		.alias = "...", a debugfs file that is not called like the
 *		statistic; .mode = 0..., a debugfs file that is not 0644, or
 *		0444 for INSTANT
 *
 * Adding a statistic is adding a line and the code that counts.
 */
#if !defined(KVM_VM_STAT) || !defined(KVM_VCPU_STAT)
#error "Define KVM_VM_STAT and KVM_VCPU_STAT before including this file"
#endif

KVM_VM_STAT(atomic64_t, remote_tlb_flush, CUMULATIVE, COUNT,
	    "Requests to flush the TLBs of other CPUs that run the VM")

KVM_VCPU_STAT(u64, halt_attempted_poll, CUMULATIVE, COUNT,
	      "Halts that polled for a wake-up event before blocking")
KVM_VCPU_STAT(u64, halt_successful_poll, CUMULATIVE, COUNT,
	      "Halts that a wake-up event ended while polling")
KVM_VCPU_STAT(u64, halt_poll_invalid, CUMULATIVE, COUNT,
	      "Polls that ended early by an event that was not worth polling for")
KVM_VCPU_STAT(atomic64_t, halt_wakeup, CUMULATIVE, COUNT,
	      "Wake-ups of the vCPU while it was blocked")
KVM_VCPU_STAT(u64, halt_poll_success_ns, CUMULATIVE, NANOSECONDS,
	      "Time spent polling in halts that did not have to block")
KVM_VCPU_STAT(u64, halt_poll_fail_ns, CUMULATIVE, NANOSECONDS,
	      "Time spent polling in halts that blocked in the end")

#include <asm/kvm_stats_list.h>

#undef KVM_VM_STAT
#undef KVM_VCPU_STAT
