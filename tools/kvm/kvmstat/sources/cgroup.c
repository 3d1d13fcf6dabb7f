// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a process' cgroup.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources/cgroup.h"
#include "util/file.h"
#include "util/util.h"

/* The number behind the key in a file of such lines, or 0. */
static uint64_t read_number(const char *root, const char *cgroup, const char *file,
			    const char *key)
{
	char path[PATH_MAX], text[4096];
	const char *line;

	snprintf(path, sizeof(path), "%s%s/%s", root, cgroup, file);
	read_file(AT_FDCWD, path, text, sizeof(text));
	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, strlen(key)))
			return strtoull(line + strlen(key), NULL, 10);
	}
	return 0;
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
	state.is_frozen = read_number(root, cgroup, "cgroup.events", "frozen ");
	/* A quota limits all cgroups below. */
	while ((end = strrchr(cgroup, '/'))) {
		usec = read_number(root, cgroup, "cpu.stat", "throttled_usec ");
		if (usec * 1000 > state.throttled_ns)
			state.throttled_ns = usec * 1000;
		*end = '\0';
	}
	return state;
}
