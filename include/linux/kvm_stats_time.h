/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time by state: what the thread of a vCPU spends its time with, while the
 * parameter stats_time of kvm is on. At each change of the state one moment ends
 * the old and begins the new one, so that the states add up.
 *
 * The functions are for the thread that runs the vCPU. While the parameter is off
 * each is a jump label.
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

/* From a state of KVM to that of the guest, with preemption disabled. */
static __always_inline void kvm_stats_time_guest_enter(struct kvm_vcpu *vcpu)
{
	if (kvm_stats_time_on())
		__kvm_stats_time_guest_enter(vcpu);
}

/* And back, to an exit whose reason kvm_stats_count_reason() will say. */
static __always_inline void kvm_stats_time_guest_exit(struct kvm_vcpu *vcpu)
{
	if (kvm_stats_time_on())
		__kvm_stats_time_guest_exit(vcpu);
}

#ifdef CONFIG_HAVE_KVM_EXIT_REASONS
/* Count the reason of an exit, whose time is accounted for under it. */
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
