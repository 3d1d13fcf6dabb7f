/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the thread of a vCPU was ready to run and had no CPU: what the
 * scheduler knows of the thread, run_delay, no clock is read here.
 */
#ifndef __KVM_STATS_READY_H__
#define __KVM_STATS_READY_H__

#include <linux/kvm_host.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>

#ifdef CONFIG_SCHED_INFO
static inline u64 kvm_run_delay(void)
{
	return current->sched_info.run_delay;
}
#else
static inline u64 kvm_run_delay(void)
{
	return 0;
}
#endif

/* A thread's waits before it came to run the vCPU are not the vCPU's. */
static inline void kvm_stats_ready_new_thread(struct kvm_vcpu *vcpu)
{
	vcpu->run_delay = kvm_run_delay();
}

/*
 * Count what the vCPU's thread has waited since the last call: when KVM_RUN begins,
 * and in it when the thread is scheduled in. The scheduler adds a wait to run_delay
 * when it ends, so each is seen once, whoever preempts this. Returns it, in nanoseconds.
 */
static inline u64 kvm_stats_ready(struct kvm_vcpu *vcpu)
{
	u64 run_delay = kvm_run_delay();
	u64 ns = run_delay - vcpu->run_delay;

	if (ns) {
		vcpu->run_delay = run_delay;
		vcpu->stat->ready_ns += ns;
		kvm_stats_log_hist(vcpu->stat, ready_hist, ns);
	}
	return ns;
}

#endif
