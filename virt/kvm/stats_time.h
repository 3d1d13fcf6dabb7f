/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time by state: the hooks in code for all architectures. Only the thread that runs the
 * vCPU calls them, except kvm_stats_time_vcpu_*() and kvm_stats_time_vm_init().
 */
#ifndef __KVM_STATS_TIME_H__
#define __KVM_STATS_TIME_H__

#include <linux/kvm_stats_time.h>

#include "stats_ready.h"

void __kvm_stats_time_run_begin(struct kvm_vcpu *vcpu, u64 waits);
void __kvm_stats_time_run_end(struct kvm_vcpu *vcpu);
void __kvm_stats_time_sched_out(struct kvm_vcpu *vcpu);
void __kvm_stats_time_sched_in(struct kvm_vcpu *vcpu, bool preempted,
			       u64 waits);
void __kvm_stats_time_poll(struct kvm_vcpu *vcpu, bool polling);

#ifdef CONFIG_KVM_STATS_TIME
void kvm_stats_time_first_run(struct kvm_vcpu *vcpu);
void kvm_stats_time_vcpu_init(struct kvm_vcpu *vcpu);
void kvm_stats_time_vcpu_end(struct kvm_vcpu *vcpu);
void kvm_stats_time_vm_init(struct kvm *kvm);
#else
static inline void kvm_stats_time_first_run(struct kvm_vcpu *vcpu)
{
}

static inline void kvm_stats_time_vcpu_init(struct kvm_vcpu *vcpu)
{
}

static inline void kvm_stats_time_vcpu_end(struct kvm_vcpu *vcpu)
{
}

static inline void kvm_stats_time_vm_init(struct kvm *kvm)
{
}
#endif

/* KVM_RUN begins. */
static inline void kvm_stats_run_begin(struct kvm_vcpu *vcpu)
{
	u64 waits;

	preempt_disable();
	waits = kvm_take_waits(vcpu);
	if (kvm_stats_time_on())
		__kvm_stats_time_run_begin(vcpu, waits);
	else
		kvm_stats_count_wait(vcpu, waits);
	vcpu->in_run = true;
	preempt_enable();
}

static inline void kvm_stats_run_end(struct kvm_vcpu *vcpu)
{
	preempt_disable();
	vcpu->in_run = false;
	if (kvm_stats_time_on())
		__kvm_stats_time_run_end(vcpu);
	kvm_stats_perf_put(vcpu, false);
	preempt_enable();
}

/* The thread is scheduled out in KVM_RUN: preempted or blocked. */
static inline void kvm_stats_sched_out(struct kvm_vcpu *vcpu)
{
	if (kvm_stats_time_on())
		__kvm_stats_time_sched_out(vcpu);
}

/* The thread is scheduled in. @preempted: it was not blocked. */
static inline void kvm_stats_sched_in(struct kvm_vcpu *vcpu, bool preempted)
{
	u64 waits = kvm_take_waits(vcpu);

	if (kvm_stats_time_on())
		__kvm_stats_time_sched_in(vcpu, preempted, waits);
	else
		kvm_stats_count_wait(vcpu, waits);
}

/* A halt begins to poll, or stops polling. */
static inline void kvm_stats_halt_polls(struct kvm_vcpu *vcpu, bool polling)
{
	if (!IS_ENABLED(CONFIG_KVM_STATS_TIME))
		return;

	preempt_disable();
	if (kvm_stats_time_on())
		__kvm_stats_time_poll(vcpu, polling);
	preempt_enable();
}

#endif
