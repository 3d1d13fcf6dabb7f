/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics of time by state, included by <linux/kvm_stats_list.h>, which says
 * what stands in a line.
 */
KVM_VM_STAT(u64, time_accounting, INSTANT, BOOLEAN,
	    "1 while KVM accounts for time by state, because its parameter stats_time is on")

/* Together with ready_ns all the time since the first KVM_RUN, while it is accounted for. */
KVM_VCPU_STAT(u64, state, INSTANT, COUNT,
	      "The state of the vCPU thread now, if time_accounting is 1",
	      .no_file = true)
KVM_VCPU_STAT(u64, state_since_ns, INSTANT, NANOSECONDS,
	      "When the state began, on CLOCK_MONOTONIC of the initial time namespace; 0 while it changes",
	      .no_file = true)
KVM_VCPU_STAT(u64, time_guest_ns, CUMULATIVE, NANOSECONDS,
	      "Time that the vCPU thread spent in guest mode")
KVM_VCPU_STAT(u64, time_exit_ns, CUMULATIVE, NANOSECONDS,
	      "Time that the vCPU thread ran in KVM_RUN outside guest mode, without polling")
KVM_VCPU_STAT(u64, time_poll_ns, CUMULATIVE, NANOSECONDS,
	      "Time that the vCPU thread polled in halts")
KVM_VCPU_STAT(u64, time_halt_ns, CUMULATIVE, NANOSECONDS,
	      "Time that the vCPU thread was blocked in halts, until it was woken")
KVM_VCPU_STAT(u64, time_sleep_ns, CUMULATIVE, NANOSECONDS,
	      "Time that the vCPU thread slept in KVM_RUN for memory, a lock or its start, until woken")
KVM_VCPU_STAT(u64, time_user_ns, CUMULATIVE, NANOSECONDS,
	      "Time that the vCPU thread spent between KVM_RUNs, without waits for a CPU")

KVM_VCPU_HIST(exit_reason_ns, CUMULATIVE, NANOSECONDS, KVM_EXIT_REASONS,
	      "time_exit_ns, split by the reason of the last exit")
KVM_VCPU_HIST(exit_hist, LOG_HIST, NANOSECONDS, 32,
	      "Exits by length, from the exit to the next entry or the return to user space")
