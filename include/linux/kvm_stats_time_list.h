/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics of time by state, included by <linux/kvm_stats_list.h>, which says
 * what stands in a line.
 */
KVM_VM_STAT(u64, time_accounting, INSTANT, BOOLEAN,
	    "The time of the vCPUs is accounted for by state: kvm's parameter stats_time is on")

/* Together with ready_ns all the time since the first KVM_RUN, while it is accounted for. */
KVM_VCPU_STAT(u64, state, INSTANT, COUNT,
	      "What the vCPU's thread does, if time is accounted for",
	      .no_file = true)
KVM_VCPU_STAT(u64, state_since_ns, INSTANT, NANOSECONDS,
	      "Since when, on CLOCK_MONOTONIC of the initial time namespace, or 0 while that changes",
	      .no_file = true)
KVM_VCPU_STAT(u64, time_guest_ns, CUMULATIVE, NANOSECONDS,
	      "Time that the vCPU's thread was in guest mode")
KVM_VCPU_STAT(u64, time_exit_ns, CUMULATIVE, NANOSECONDS,
	      "Time that it was on a CPU in KVM_RUN outside guest mode, and did not poll")
KVM_VCPU_STAT(u64, time_poll_ns, CUMULATIVE, NANOSECONDS,
	      "Time that it was on a CPU and polled in halts")
KVM_VCPU_STAT(u64, time_halt_ns, CUMULATIVE, NANOSECONDS,
	      "Time that it was blocked in halts, until it was woken")
KVM_VCPU_STAT(u64, time_sleep_ns, CUMULATIVE, NANOSECONDS,
	      "Time that it slept in KVM_RUN for memory, a lock or its start, until it was woken")
KVM_VCPU_STAT(u64, time_user_ns, CUMULATIVE, NANOSECONDS,
	      "Time that it was outside KVM_RUN, after the first, without waits for a CPU")

KVM_VCPU_HIST(exit_reason_ns, CUMULATIVE, NANOSECONDS, KVM_EXIT_REASONS,
	      "The time of time_exit_ns by the reason of the last exit")
KVM_VCPU_HIST(exit_hist, LOG_HIST, NANOSECONDS, 32,
	      "Exits by their part of time_exit_ns, up to the next entry or return to user space")
