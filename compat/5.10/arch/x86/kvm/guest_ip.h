/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the guest exited, for perf's samples. Valid until KVM changes the vCPU's
 * registers.
 */
#ifndef __KVM_X86_GUEST_IP_H
#define __KVM_X86_GUEST_IP_H

#include <linux/kvm_host.h>

#include "kvm_cache_regs.h"

static inline unsigned long kvm_arch_guest_ip(struct kvm_vcpu *vcpu)
{
	return kvm_rip_read(vcpu);
}

static inline bool kvm_arch_guest_user_mode(struct kvm_vcpu *vcpu)
{
	return kvm_x86_ops.get_cpl(vcpu) != 0;
}

#endif /* __KVM_X86_GUEST_IP_H */
