/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guests count the statistics of their own vCPUs, see <uapi/linux/kvm_guest_stats.h>.
 *
 * While the host has no VM that may do this, an entry into a guest passes a jump label.
 */
#ifndef _LINUX_KVM_GUEST_STATS_H
#define _LINUX_KVM_GUEST_STATS_H

#include <linux/errno.h>
#include <linux/jump_label_ratelimit.h>
#include <linux/types.h>
#include <uapi/linux/kvm_guest_stats.h>

struct kvm;
struct kvm_vcpu;

#ifdef CONFIG_KVM_GUEST_STATS
extern struct static_key_false_deferred kvm_guest_stats_vms;

u32 kvm_guest_stats_default(void);
u32 kvm_guest_stats_bits(struct kvm *kvm);
bool kvm_guest_stats_allowed(struct kvm *kvm);
int kvm_guest_stats_allow(struct kvm *kvm, u64 bits);
void kvm_guest_stats_init_vm(struct kvm *kvm);
void kvm_guest_stats_destroy_vm(struct kvm *kvm);
void kvm_guest_stats_exit(void);

int kvm_guest_stats_set_address(struct kvm_vcpu *vcpu, u64 address);
u64 kvm_guest_stats_address(const struct kvm_vcpu *vcpu);
void kvm_guest_stats_reset(struct kvm_vcpu *vcpu);
void __kvm_guest_stats_flush(struct kvm_vcpu *vcpu);

/* The bits that the architecture can offer to this VM, or to any if @kvm is NULL. */
u32 kvm_arch_guest_stats_bits(struct kvm *kvm);
/* Interrupt the guest because a slot has overflowed. */
void kvm_arch_guest_stats_interrupt(struct kvm_vcpu *vcpu);
/* Make the vCPU flush, from any context. It may be in the guest, or about to enter it. */
void kvm_arch_guest_stats_kick(struct kvm_vcpu *vcpu);

/*
 * The vCPU has an area: KVM flushes before each entry, so there is no fast path. A macro,
 * because struct kvm_vcpu is not defined yet.
 */
#define kvm_guest_stats_active(vcpu)						\
	(static_branch_unlikely(&kvm_guest_stats_vms.key) && (vcpu)->guest_stats)

/* Show the guest what was counted since the last flush. Called with kvm->srcu held. */
#define kvm_guest_stats_flush(vcpu) do {					\
	if (kvm_guest_stats_active(vcpu))					\
		__kvm_guest_stats_flush(vcpu);					\
} while (0)
#else
static inline u32 kvm_guest_stats_default(void)
{
	return 0;
}

static inline u32 kvm_guest_stats_bits(struct kvm *kvm)
{
	return 0;
}

static inline bool kvm_guest_stats_allowed(struct kvm *kvm)
{
	return false;
}

static inline int kvm_guest_stats_allow(struct kvm *kvm, u64 bits)
{
	return -EINVAL;
}

static inline void kvm_guest_stats_init_vm(struct kvm *kvm)
{
}

static inline void kvm_guest_stats_destroy_vm(struct kvm *kvm)
{
}

static inline void kvm_guest_stats_exit(void)
{
}

static inline int kvm_guest_stats_set_address(struct kvm_vcpu *vcpu, u64 address)
{
	return -EPERM;
}

static inline u64 kvm_guest_stats_address(const struct kvm_vcpu *vcpu)
{
	return 0;
}

static inline void kvm_guest_stats_reset(struct kvm_vcpu *vcpu)
{
}

static inline bool kvm_guest_stats_active(const struct kvm_vcpu *vcpu)
{
	return false;
}

static inline void kvm_guest_stats_flush(struct kvm_vcpu *vcpu)
{
}
#endif

#endif /* _LINUX_KVM_GUEST_STATS_H */
