/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the guest exited, for perf's samples. Valid until KVM changes the vCPU's
 * registers.
 */
#ifndef __ARM64_KVM_GUEST_IP_H
#define __ARM64_KVM_GUEST_IP_H

#include <linux/kvm_host.h>
#include <asm/kvm_emulate.h>

static inline unsigned long kvm_arch_guest_ip(struct kvm_vcpu *vcpu)
{
	return *vcpu_pc(vcpu);
}

static inline bool kvm_arch_guest_user_mode(struct kvm_vcpu *vcpu)
{
	return !vcpu_mode_priv(vcpu);
}

#endif /* __ARM64_KVM_GUEST_IP_H */
