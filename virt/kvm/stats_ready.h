/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the thread of a vCPU was ready to run and had no CPU: what the
 * scheduler knows of the thread, run_delay, no clock is read here.
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
 * A thread's waits before it came to run the vCPU are not the vCPU's. Before others can
 * see that it is another one: to wait for them takes long.
 */
static inline void kvm_stats_ready_new_thread(struct kvm_vcpu *vcpu)
{
	WRITE_ONCE(vcpu->run_delay, kvm_run_delay(current));
}

/*
 * What the vCPU's thread has waited since the last call, to be counted: when KVM_RUN
 * begins, and in it when the thread is scheduled in. The scheduler adds a wait to
 * run_delay when it ends, so each is seen once.
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
 * The same for who is not the vCPU's thread: what that has yet to take. At the moment in which
 * another one takes the vCPU over, which keeps its CPU for it, it may seem to be anything.
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
	/* Of two halves, one may be older than the other; no wait is that long. */
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

/* Nobody runs the vCPU any more: its thread has nothing to take. */
static inline void kvm_stats_ready_vcpu_end(struct kvm_vcpu *vcpu)
{
	kvm_stats_count_wait(vcpu, kvm_pending_waits(vcpu));
}

#endif
