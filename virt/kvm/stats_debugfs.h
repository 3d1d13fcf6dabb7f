/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KVM statistics in debugfs: the files for all VMs, which exist while KVM is
 * loaded, and the files for one VM, which exist as long as its directory.
 */
#ifndef __KVM_STATS_DEBUGFS_H__
#define __KVM_STATS_DEBUGFS_H__

struct dentry;
struct kvm;

void kvm_stats_debugfs_init(struct dentry *dir);
int kvm_stats_debugfs_create_vm(struct kvm *kvm);
void kvm_stats_debugfs_destroy_vm(struct kvm *kvm);

#endif
