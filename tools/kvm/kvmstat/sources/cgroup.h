/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a process' cgroup (v2). Both directories are parameters, so that tests bring their
 * own.
 */
#ifndef KVMSTAT_CGROUP_H
#define KVMSTAT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_state {
	uint64_t throttled_ns;		/* by its CPU quota: the most of it and those above */
	uint32_t is_frozen;
};

#define CGROUP_ROOT "/sys/fs/cgroup"

/* @tid: the process, or a thread: vCPUs may be in cgroups of their own. */
struct cgroup_state cgroup_read(const char *proc, const char *root, pid_t pid, pid_t tid);

#endif /* KVMSTAT_CGROUP_H */
