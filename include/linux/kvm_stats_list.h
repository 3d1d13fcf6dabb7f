/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KVM's statistics, one line each. This file has the statistics of all architectures,
 * <asm/kvm_stats_list.h> has the statistics of one.
 * Code that needs something for each statistic includes this file with its own
 * three macros, which this file undefines at its end:
 *
 *   KVM_VM_STAT(ctype, name, type, unit, help, ...)	a statistic of the VM
 *   KVM_VCPU_STAT(ctype, name, type, unit, help, ...)	a statistic of a vCPU
 *   KVM_VCPU_HIST(name, type, unit, num, help)		a histogram of a vCPU, or an array
 *
 * ctype	u64, or atomic64_t if several CPUs count without a common lock
 * name		of the field and of the statistic, unique over VM and vCPU; ABI
 * type		CUMULATIVE, INSTANT or PEAK, see <uapi/linux/kvm.h>; of a histogram
 *		LOG_HIST, of an array CUMULATIVE
 * unit		COUNT, NANOSECONDS or BOOLEAN; of a histogram the unit of its bounds
 * num		number of a histogram's buckets, or of an array's elements
 * help		one sentence: what is counted, and when
 * ...		.alias = "...", name of the debugfs file before Linux 5.14, if it
 *		differs; .mode = 0..., its mode, if not the default: 0644, 0444 for
 *		INSTANT; .no_file = true, if there is no debugfs file
 *
 * To add a statistic, add a line and the code that counts.
 */
#if !defined(KVM_VM_STAT) || !defined(KVM_VCPU_STAT) || !defined(KVM_VCPU_HIST)
#error "Define KVM_VM_STAT, KVM_VCPU_STAT and KVM_VCPU_HIST before including this file"
#endif

KVM_VM_STAT(u64, online_vcpus, INSTANT, COUNT,
	    "vCPUs of the VM; a vCPU is never removed before the VM")
KVM_VM_STAT(atomic64_t, remote_tlb_flush, CUMULATIVE, COUNT,
	    "TLB flushes for which KVM or the hardware notified other CPUs")
KVM_VM_STAT(atomic64_t, remote_tlb_flush_requests, CUMULATIVE, COUNT,
	    "Requests for TLB flushes on other CPUs, even if no CPU had to be notified")
KVM_VM_STAT(u64, ready_accounting, INSTANT, BOOLEAN,
	    "1 if the scheduler provides ready_ns, otherwise ready_ns stays 0")

KVM_VCPU_STAT(u64, halt_attempted_poll, CUMULATIVE, COUNT,
	      "Halts that polled for a wake-up event before they could block")
KVM_VCPU_STAT(u64, halt_successful_poll, CUMULATIVE, COUNT,
	      "Halts that polled and did not block, because an event came")
KVM_VCPU_STAT(u64, halt_poll_invalid, CUMULATIVE, COUNT,
	      "Halts that polled and did not block, but whose event did not wake the vCPU")
KVM_VCPU_STAT(atomic64_t, halt_wakeup, CUMULATIVE, COUNT,
	      "Wake-ups of the vCPU while it was blocked")
KVM_VCPU_STAT(u64, halt_poll_success_ns, CUMULATIVE, NANOSECONDS,
	      "Time spent polling in halts that did not block")
KVM_VCPU_STAT(u64, halt_poll_fail_ns, CUMULATIVE, NANOSECONDS,
	      "Time spent polling in halts that then blocked")
KVM_VCPU_STAT(u64, halt_wait_ns, CUMULATIVE, NANOSECONDS,
	      "Time for which halts blocked")
KVM_VCPU_STAT(u64, blocking, INSTANT, BOOLEAN,
	      "1 while the vCPU is blocked and waits for an event")
KVM_VCPU_STAT(u64, ready_ns, CUMULATIVE, NANOSECONDS,
	      "Time for which the vCPU thread was ready to run but had no CPU")

#include <asm/kvm_stats_list.h>

/* One element for each line of <asm/kvm_exit_reason_list.h>. */
#ifdef CONFIG_HAVE_KVM_EXIT_REASONS
KVM_VCPU_HIST(exit_reasons, CUMULATIVE, COUNT, KVM_EXIT_REASONS,
	      "Exits by reason; the elements add up to exits")
#endif

/* One element, or value, for each line of <linux/kvm_user_exit_list.h>. */
KVM_VCPU_STAT(u64, last_user_exit, INSTANT, COUNT,
	      "Exit reason of the last return of KVM_RUN that user_exits counts",
	      .no_file = true)
KVM_VCPU_HIST(user_exits, CUMULATIVE, COUNT, KVM_USER_EXITS,
	      "Returns of KVM_RUN to user space by exit reason, except failures without a reason")

#ifdef CONFIG_KVM_STATS_TIME
#include <linux/kvm_stats_time_list.h>
#endif

/* Histograms come last: the counters of most exits then share few cache lines. */
KVM_VCPU_HIST(halt_poll_success_hist, LOG_HIST, NANOSECONDS, 32,
	      "Halts that polled and did not block, by the time polled")
KVM_VCPU_HIST(halt_poll_fail_hist, LOG_HIST, NANOSECONDS, 32,
	      "Halts that polled and then blocked, by the time polled")
KVM_VCPU_HIST(halt_wait_hist, LOG_HIST, NANOSECONDS, 32,
	      "Halts that blocked, by the time blocked")

KVM_VCPU_HIST(ready_hist, LOG_HIST, NANOSECONDS, 32,
	      "Waits of a vCPU thread for a CPU by length; between two KVM_RUNs they count as one")

#undef KVM_VM_STAT
#undef KVM_VCPU_STAT
#undef KVM_VCPU_HIST
