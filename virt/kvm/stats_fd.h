/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KVM_GET_STATS_FD: make a new file of a VM's or vCPU's statistics, return its
 * fd or -errno. The caller holds a reference on VM or vCPU, and nothing else.
 */
#ifndef __KVM_STATS_FD_H__
#define __KVM_STATS_FD_H__

struct kvm;
struct kvm_vcpu;

int kvm_vm_stats_get_fd(struct kvm *kvm);
int kvm_vcpu_stats_get_fd(struct kvm_vcpu *vcpu);

#endif
