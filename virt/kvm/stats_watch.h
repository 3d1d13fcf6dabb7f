/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Triggers: KVM_STATS_WATCH on a statistics file.
 */
#ifndef __KVM_STATS_WATCH_H__
#define __KVM_STATS_WATCH_H__

struct kvm_stats;
struct kvm_stats_looker;

/* Make a trigger as user space has described it, return its fd or -errno. */
int kvm_stats_watch(struct kvm_stats *stats, void __user *arg);

/* For the end of an object: it has no trigger any more. */
void kvm_stats_looker_free(struct kvm_stats_looker *looker);

#endif
