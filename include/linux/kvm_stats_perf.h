/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vCPU statistics as perf events.
 *
 * The functions that a running vCPU's thread calls are jump labels while the host has no
 * event that needs them.
 */
#ifndef _LINUX_KVM_STATS_PERF_H
#define _LINUX_KVM_STATS_PERF_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct kvm_vcpu;

/* A vCPU's state for perf events. */
struct kvm_stats_perf {
	struct kvm_stats_flushed *flushed;	/* each count at its last flush */
	unsigned long ip;		/* of the guest at the last exit */
	bool user_mode;			/* of the guest at the last exit */
	bool in_guest;			/* false: the sample is in the host */
	unsigned int ip_epoch;
};

#ifdef CONFIG_KVM_STATS_PERF
DECLARE_STATIC_KEY_FALSE(kvm_stats_perf_counts);
DECLARE_STATIC_KEY_FALSE(kvm_stats_perf_samples);

void kvm_stats_perf_vcpu_free(struct kvm_vcpu *vcpu);
void __kvm_stats_perf_new_thread(struct kvm_vcpu *vcpu);
void __kvm_stats_perf_put(struct kvm_vcpu *vcpu, bool sched_out);
void __kvm_stats_perf_exit(struct kvm_vcpu *vcpu);
bool __kvm_stats_perf_is_sampled(struct kvm_vcpu *vcpu);
void __kvm_stats_perf_enter(struct kvm_vcpu *vcpu);
const struct kvm_stats_perf *kvm_stats_perf_sampled(void);
void kvm_stats_perf_register(void);
void kvm_stats_perf_unregister(void);

/* Another thread begins to run the vCPU, and is in vcpu->pid. */
static inline void kvm_stats_perf_new_thread(struct kvm_vcpu *vcpu)
{
	/* Pairs with get_users(): it sees the new pid, or this sees the key. */
	smp_mb();
	if (static_branch_unlikely(&kvm_stats_perf_counts))
		__kvm_stats_perf_new_thread(vcpu);
}

/* The vCPU gets this CPU or is about to leave it, or its thread is about to leave KVM_RUN. */
static inline void kvm_stats_perf_put(struct kvm_vcpu *vcpu, bool sched_out)
{
	if (static_branch_unlikely(&kvm_stats_perf_counts))
		__kvm_stats_perf_put(vcpu, sched_out);
}

/* After an exit, before KVM counts anything except time. Interrupts are disabled. */
static __always_inline void kvm_stats_perf_exit(struct kvm_vcpu *vcpu)
{
	if (static_branch_unlikely(&kvm_stats_perf_samples))
		__kvm_stats_perf_exit(vcpu);
}

/*
 * KVM takes samples with the host's state loaded, because perf reads user space. Until then
 * a sampled vCPU does not enter the guest again, not even by a fast path.
 */
static __always_inline bool kvm_stats_perf_is_sampled(struct kvm_vcpu *vcpu)
{
	return static_branch_unlikely(&kvm_stats_perf_samples) &&
	       __kvm_stats_perf_is_sampled(vcpu);
}

/* Before KVM loads the guest's state. Preemption is disabled. */
static __always_inline void kvm_stats_perf_enter(struct kvm_vcpu *vcpu)
{
	if (static_branch_unlikely(&kvm_stats_perf_samples))
		__kvm_stats_perf_enter(vcpu);
}
#else
static inline void kvm_stats_perf_vcpu_free(struct kvm_vcpu *vcpu)
{
}

static inline void kvm_stats_perf_new_thread(struct kvm_vcpu *vcpu)
{
}

static inline void kvm_stats_perf_put(struct kvm_vcpu *vcpu, bool sched_out)
{
}

static inline void kvm_stats_perf_exit(struct kvm_vcpu *vcpu)
{
}

static inline bool kvm_stats_perf_is_sampled(struct kvm_vcpu *vcpu)
{
	return false;
}

static inline void kvm_stats_perf_enter(struct kvm_vcpu *vcpu)
{
}

static inline const struct kvm_stats_perf *kvm_stats_perf_sampled(void)
{
	return NULL;
}

static inline void kvm_stats_perf_register(void)
{
}

static inline void kvm_stats_perf_unregister(void)
{
}
#endif

#endif /* _LINUX_KVM_STATS_PERF_H */
