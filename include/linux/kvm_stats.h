/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KVM's statistics: one field for each line of <linux/kvm_stats_list.h>.
 *
 * A u64 is incremented with a plain ++, by one thread at a time. In vcpu->stat that
 * is the thread that runs the vCPU, or a thread that acts for it while it waits. In
 * kvm->stat it is the holder of a lock. If other threads count in vcpu->stat, the
 * list names the lock. A switch of stats_time also counts, while the vCPU thread
 * cannot. Statistics that several CPUs count without a common lock are atomic64_t
 * and need atomic64_inc(): the compiler refuses ++. Readers take no lock and load
 * 64 bits at a time.
 */
#ifndef _LINUX_KVM_STATS_H
#define _LINUX_KVM_STATS_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <uapi/linux/kvm_stats.h>

#ifdef CONFIG_HAVE_KVM_EXIT_REASONS
/* The elements of exit_reasons. */
enum kvm_exit_reason {
#define KVM_EXIT_REASON(reason, ...)	KVM_EXIT_REASON_##reason,
#include <asm/kvm_exit_reason_list.h>
	KVM_EXIT_REASONS
};
#endif

/* The elements of user_exits and values of last_user_exit, numbered like KVM_EXIT_*. */
enum kvm_user_exit {
#define KVM_USER_EXIT(number, name, ...)	KVM_USER_EXIT_##name,
#include <linux/kvm_user_exit_list.h>
	KVM_USER_EXITS
};

/* last_user_exit before the first return. */
#define KVM_USER_EXIT_NONE	U32_MAX

/* The states of a vCPU thread: the values of the statistic state. */
enum kvm_vcpu_state {
#define KVM_VCPU_STATE(state, ...)	KVM_VCPU_STATE_##state,
#include <linux/kvm_vcpu_state_list.h>
};

struct kvm_vm_stat {
#define KVM_VM_STAT(ctype, stat, ...) ctype stat;
#define KVM_VCPU_STAT(...)
#define KVM_VCPU_HIST(...)
#include <linux/kvm_stats_list.h>
};

struct kvm_vcpu_stat {
#define KVM_VM_STAT(...)
#define KVM_VCPU_STAT(ctype, stat, ...) ctype stat;
#define KVM_VCPU_HIST(stat, type, unit, num, ...) u64 stat[num];
#include <linux/kvm_stats_list.h>
};

/* The bucket of a LOG_HIST: 0 for 0, i for [2^(i-1), 2^i), the last has no bound. */
static inline size_t kvm_stats_log_bucket(u64 value, size_t num)
{
	return min_t(size_t, fls64(value), num - 1);
}

/* Count a value in a histogram of vcpu->stat: same rules as for a u64 there. */
#define kvm_stats_log_hist(stats, hist, value)				\
	((stats)->hist[kvm_stats_log_bucket(value,			\
				ARRAY_SIZE((stats)->hist))]++)

/* Count a halt that polled: a success if the vCPU did not block. */
static inline void kvm_stats_halt_poll(struct kvm_vcpu_stat *stat, u64 ns,
				       bool success)
{
	if (success) {
		stat->halt_poll_success_ns += ns;
		kvm_stats_log_hist(stat, halt_poll_success_hist, ns);
	} else {
		stat->halt_poll_fail_ns += ns;
		kvm_stats_log_hist(stat, halt_poll_fail_hist, ns);
	}
}

/* Count the time for which a halt blocked. */
static inline void kvm_stats_halt_wait(struct kvm_vcpu_stat *stat, u64 ns)
{
	stat->halt_wait_ns += ns;
	kvm_stats_log_hist(stat, halt_wait_hist, ns);
}

#endif /* _LINUX_KVM_STATS_H */
