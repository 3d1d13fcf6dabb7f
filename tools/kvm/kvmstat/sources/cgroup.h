/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the cgroup of a process does to it: whether it is frozen, and how long it was kept from
 * running because its quota of CPU time was used up. Of cgroup v2; both directories are
 * parameters, so that tests bring their own.
 */
#ifndef KVMSTAT_CGROUP_H
#define KVMSTAT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_state {
	uint64_t throttled_ns;		/* of the cgroup or of one above it, whichever is most */
	uint32_t is_frozen;
};

#define CGROUP_ROOT "/sys/fs/cgroup"

/* @tid: a process, or a thread of it: vCPUs may be in cgroups of their own. */
struct cgroup_state cgroup_read(const char *proc, const char *root, pid_t pid, pid_t tid);

#endif /* KVMSTAT_CGROUP_H */
