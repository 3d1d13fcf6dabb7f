/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a vCPU thread was runnable without a CPU. The scheduler counts it in
 * the thread's run_delay; KVM reads no clock.
 */
#ifndef __KVM_STATS_READY_H__
#define __KVM_STATS_READY_H__

#include <linux/kvm_host.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>

#ifdef CONFIG_SCHED_INFO
static inline u64 kvm_run_delay(struct task_struct *task)
{
	return READ_ONCE(task->sched_info.run_delay);
}
#else
static inline u64 kvm_run_delay(struct task_struct *task)
{
	return 0;
}
#endif

/*
 * The vCPU gets a new thread, whose earlier waits do not count. Call this before
 * vcpu->pid changes, which may take long.
 */
static inline void kvm_stats_ready_new_thread(struct kvm_vcpu *vcpu)
{
	WRITE_ONCE(vcpu->run_delay, kvm_run_delay(current));
}

/*
 * Take the vCPU thread's waits since the last call, to count them: when KVM_RUN begins
 * and whenever the thread is scheduled in during KVM_RUN. The scheduler adds a wait to
 * run_delay when the wait ends, so each is taken once.
 */
static inline u64 kvm_take_waits(struct kvm_vcpu *vcpu)
{
	u64 run_delay = kvm_run_delay(current);
	u64 ns = run_delay - vcpu->run_delay;

	if (ns)
		WRITE_ONCE(vcpu->run_delay, run_delay);
	return ns;
}

/*
 * The waits that the vCPU thread has yet to take. Other threads can call this. The result
 * is arbitrary while the vCPU gets a new thread.
 */
static inline u64 kvm_pending_waits(struct kvm_vcpu *vcpu)
{
	struct task_struct *task;
	s64 ns = 0;

	rcu_read_lock();
	task = pid_task(rcu_dereference(vcpu->pid), PIDTYPE_PID);
	if (task)
		ns = kvm_run_delay(task) - READ_ONCE(vcpu->run_delay);
	rcu_read_unlock();
	/* One half may be older than the other; no real wait is that long. */
	if (!IS_ENABLED(CONFIG_64BIT) && ns > U32_MAX)
		ns = 0;
	return ns > 0 ? ns : 0;
}

static inline void kvm_stats_count_wait(struct kvm_vcpu *vcpu, u64 ns)
{
	if (!ns)
		return;

	vcpu->stat->ready_ns += ns;
	kvm_stats_log_hist(vcpu->stat, ready_hist, ns);
}

/* The vCPU has run for the last time: count what its thread has not taken. */
static inline void kvm_stats_ready_vcpu_end(struct kvm_vcpu *vcpu)
{
	kvm_stats_count_wait(vcpu, kvm_pending_waits(vcpu));
}

#endif
