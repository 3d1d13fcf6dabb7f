// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a process' cgroup.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sources/cgroup.h"
#include "util/file.h"
#include "util/util.h"

static uint64_t read_field(const char *root, const char *cgroup, const char *file,
			   const char *key)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/%s", root, cgroup, file);
	return read_number(path, key);
}

struct cgroup_state cgroup_read(const char *proc, const char *root, pid_t pid, pid_t tid)
{
	struct cgroup_state state = {};
	char path[PATH_MAX], text[PATH_MAX], *cgroup, *end;
	uint64_t usec;

	snprintf(path, sizeof(path), "%s/%d/task/%d/cgroup", proc, pid, tid);
	read_file(AT_FDCWD, path, text, sizeof(text));
	cgroup = strncmp(text, "0::/", 4) ? strstr(text, "\n0::/") : text;
	if (!cgroup)
		return state;
	cgroup = strchr(cgroup, '/');
	cgroup[strcspn(cgroup, "\n")] = '\0';
	/* The cgroup is outside of this cgroup namespace. */
	if (strstr(cgroup, "/.."))
		return state;
	state.is_frozen = read_field(root, cgroup, "cgroup.events", "frozen ");
	/* A quota limits all cgroups below. */
	while ((end = strrchr(cgroup, '/'))) {
		usec = read_field(root, cgroup, "cpu.stat", "throttled_usec ");
		if (usec * 1000 > state.throttled_ns)
			state.throttled_ns = usec * 1000;
		*end = '\0';
	}
	return state;
}
