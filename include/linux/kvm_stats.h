/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counters behind KVM's statistics, one field for each line of
 * <linux/kvm_stats_list.h>.
 *
 * vcpu->stat is counted in with a plain ++ by the thread that runs the vCPU,
 * kvm->stat by whoever holds the lock that the list names. What several CPUs
 * count without a common lock is atomic64_t and takes atomic64_inc(): the
 * compiler refuses ++ there. Readers take no lock, they load 64 bits at a time.
 */
#ifndef _LINUX_KVM_STATS_H
#define _LINUX_KVM_STATS_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <uapi/linux/kvm_stats.h>

struct kvm_vm_stat {
#define KVM_VM_STAT(ctype, stat, ...) ctype stat;
#define KVM_VCPU_STAT(...)
#include <linux/kvm_stats_list.h>
};

struct kvm_vcpu_stat {
#define KVM_VM_STAT(...)
#define KVM_VCPU_STAT(ctype, stat, ...) ctype stat;
#include <linux/kvm_stats_list.h>
};

#endif /* _LINUX_KVM_STATS_H */
