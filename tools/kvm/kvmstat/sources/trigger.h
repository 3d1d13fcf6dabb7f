/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Triggers: the kernel itself watches values of a statistics file and says when they have
 * grown by so much, KVM_STATS_WATCH in linux/kvm_stats.h. Newer than the files: where there
 * are none, model/watch.h does the same.
 */
#ifndef KVMSTAT_TRIGGER_H
#define KVMSTAT_TRIGGER_H

#include <sys/types.h>

#include "sources/statsfile.h"

/* Of KVM_STATS_WATCH. See host.c on why linux/kvm.h is not included. */
#ifndef KVMIO
#define KVMIO 0xae
#endif

/* A file descriptor, which poll() and trigger_read() wait for; or -errno. */
int trigger_open(int stats, const struct kvm_stats_watch *watch);

/*
 * The events that have happened since, as many as there is room for: how many, without
 * waiting. 0: there will be none any more. -EAGAIN: there is none; or another -errno.
 */
ssize_t trigger_read(int trigger, struct kvm_stats_event *events, size_t max);

#endif /* KVMSTAT_TRIGGER_H */
