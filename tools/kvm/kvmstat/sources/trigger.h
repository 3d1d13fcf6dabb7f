/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Triggers: the kernel itself watches values of a statistics file and says when they have
 * grown by so much, KVM_STATS_WATCH in linux/kvm_stats.h. Newer than the files: where there
 * are none, model/watch.h does the same.
 */
#ifndef KVMSTAT_TRIGGER_H
#define KVMSTAT_TRIGGER_H

#include <sys/ioctl.h>
#include <sys/types.h>

#include "sources/statsfile.h"

/* See host.c on why linux/kvm.h is not included. */
#ifndef KVMIO
#define KVMIO 0xae
#endif

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

/* A file descriptor, which poll() and trigger_read() wait for; or -errno. */
int trigger_open(int stats, const struct kvm_stats_watch *watch);

/*
 * The events that have happened since, as many as there is room for: how many, without
 * waiting. 0: there will be none any more. -EAGAIN: there is none; or another -errno.
 */
ssize_t trigger_read(int trigger, struct kvm_stats_event *events, size_t max);

#endif /* KVMSTAT_TRIGGER_H */
