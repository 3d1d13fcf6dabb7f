/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time by state: KVM accounts for the time of each vCPU thread while its parameter
 * stats_time is on. Each change of the state takes the time once, to end the old
 * state and to begin the new one, so that the states add up.
 *
 * Only the thread that runs the vCPU calls these functions. While the parameter is
 * off, each is a jump label.
 */
#ifndef _LINUX_KVM_STATS_TIME_H
#define _LINUX_KVM_STATS_TIME_H

#include <linux/jump_label.h>
#include <linux/kvm_host.h>

#ifdef CONFIG_KVM_STATS_TIME
DECLARE_STATIC_KEY_FALSE(kvm_stats_time);

static __always_inline bool kvm_stats_time_on(void)
{
	return static_branch_unlikely(&kvm_stats_time);
}

static __always_inline void __kvm_stats_time_reason(struct kvm_vcpu *vcpu,
						    u32 reason)
{
	vcpu->time.reason = reason;
}
#else
static __always_inline bool kvm_stats_time_on(void)
{
	return false;
}

static __always_inline void __kvm_stats_time_reason(struct kvm_vcpu *vcpu,
						    u32 reason)
{
}
#endif

void __kvm_stats_time_guest_enter(struct kvm_vcpu *vcpu);
void __kvm_stats_time_guest_exit(struct kvm_vcpu *vcpu);

/* The state changes from exit to guest. Preemption is disabled. */
static __always_inline void kvm_stats_time_guest_enter(struct kvm_vcpu *vcpu)
{
	if (kvm_stats_time_on())
		__kvm_stats_time_guest_enter(vcpu);
}

/* The state changes from guest to exit. kvm_stats_count_reason() follows. */
static __always_inline void kvm_stats_time_guest_exit(struct kvm_vcpu *vcpu)
{
	if (kvm_stats_time_on())
		__kvm_stats_time_guest_exit(vcpu);
}

#ifdef CONFIG_HAVE_KVM_EXIT_REASONS
/* Count an exit, and the time that KVM takes to handle it, under its reason. */
static __always_inline void kvm_stats_count_reason(struct kvm_vcpu *vcpu,
						   enum kvm_exit_reason reason)
{
	kvm_stats_perf_exit(vcpu);
	++vcpu->stat->exit_reasons[reason];
	if (kvm_stats_time_on())
		__kvm_stats_time_reason(vcpu, reason);
}
#endif

#endif /* _LINUX_KVM_STATS_TIME_H */
