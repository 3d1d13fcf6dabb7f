/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KVM_GET_STATS_FD: open a VM's or vCPU's statistics file. Returns an fd or
 * -errno. The caller holds a reference to VM or vCPU, and needs no lock.
 */
#ifndef __KVM_STATS_FD_H__
#define __KVM_STATS_FD_H__

struct kvm;
struct kvm_vcpu;

int kvm_vm_stats_get_fd(struct kvm *kvm);
int kvm_vcpu_stats_get_fd(struct kvm_vcpu *vcpu);

#endif
