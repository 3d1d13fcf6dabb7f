/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of time by state. <linux/kvm_stats_list.h> includes this file and explains
 * the lines.
 */
KVM_VM_STAT(u64, time_accounting, INSTANT, BOOLEAN,
	    "1 while KVM accounts for time by state, because its parameter stats_time is on")

/* The times and ready_ns add up to the time since the first KVM_RUN. */
KVM_VCPU_STAT(u64, state, INSTANT, COUNT,
	      "The state of the vCPU thread now, if time_accounting is 1",
	      .no_file = true)
KVM_VCPU_STAT(u64, state_since_ns, INSTANT, NANOSECONDS,
	      "Start of the state, on the initial namespace's CLOCK_MONOTONIC; 0 during a change",
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
	      "Time that the vCPU thread slept in KVM_RUN, waiting for memory or a lock")
KVM_VCPU_STAT(u64, time_off_ns, CUMULATIVE, NANOSECONDS,
	      "Time that the vCPU waited in KVM_RUN to be started, as after INIT or a power-off")
KVM_VCPU_STAT(u64, time_user_ns, CUMULATIVE, NANOSECONDS,
	      "Time that the vCPU thread spent between KVM_RUNs, without waits for a CPU")

KVM_VCPU_HIST(exit_reason_ns, CUMULATIVE, NANOSECONDS, KVM_EXIT_REASONS,
	      "time_exit_ns, split by the reason of the last exit")
KVM_VCPU_HIST(exit_reason_sleep_ns, CUMULATIVE, NANOSECONDS, KVM_EXIT_REASONS,
	      "time_sleep_ns, split by the reason of the last exit")
KVM_VCPU_HIST(exit_hist, LOG_HIST, NANOSECONDS, 32,
	      "Exits by length, from the exit to the next entry or the return to user space")
