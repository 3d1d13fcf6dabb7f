/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface of triggers, for headers of kernels that do not have it.
 */
#ifndef SELFTEST_KVM_STATS_FD_WATCH_H
#define SELFTEST_KVM_STATS_FD_WATCH_H

#include <linux/kvm.h>

#ifndef KVM_STATS_WATCH
struct kvm_stats_watch {
	__u32 size;
	__u32 scope;
	__u32 desc;
	__u32 vcpu;
	__u32 first_value;
	__u32 num_values;
	__u64 threshold;
	__u64 window_ns;
};

#define KVM_STATS_WATCH		_IOW(KVMIO, 0xf0, struct kvm_stats_watch)
#define KVM_STATS_WATCH_FILE		0
#define KVM_STATS_WATCH_VCPU		1
#define KVM_STATS_WATCH_EACH_VCPU	2
#define KVM_STATS_WATCH_VCPU_SUM	3

struct kvm_stats_event {
	__u32 size;
	__u32 vcpu;
	__u64 time_ns;
	__u64 growth;
	__u64 missed;
};

#define KVM_STATS_EVENT_NO_VCPU		(~0U)
#endif

#endif /* SELFTEST_KVM_STATS_FD_WATCH_H */
