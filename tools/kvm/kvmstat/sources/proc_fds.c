// SPDX-License-Identifier: GPL-2.0
/* Processes and their KVM file descriptors. Any of them can vanish between two calls. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/proc.h"
#include "sources/proc_fds.h"
#include "util/file.h"
#include "util/util.h"

int parse_kvm_link(const char *target, bool *is_stats)
{
	static const struct {
		const char *target;
		bool has_number, is_stats;
	} links[] = {
		{ "anon_inode:kvm-vm", false, false, },
		{ "anon_inode:kvm-vcpu:", true, false, },
		{ "anon_inode:kvm-vm-stats", false, true, },
		{ "anon_inode:kvm-vcpu-stats:", true, true, },
	};
	uint64_t vcpu;
	size_t i, length;

	for (i = 0; i < ARRAY_SIZE(links); i++) {
		*is_stats = links[i].is_stats;
		length = strlen(links[i].target);
		if (!links[i].has_number && !strcmp(target, links[i].target))
			return LINK_VM;
		if (links[i].has_number && !strncmp(target, links[i].target, length) &&
		    !parse_number(target + length, 0, INT_MAX, &vcpu))
			return vcpu;
	}
	return LINK_OTHER;
}

/* Returns 0, or -errno if kvmstat may not read the link. */
static int read_fd(int dir, const char *path, struct proc_fd *fd)
{
	char target[64];

	errno = 0;
	/* A link that does not fit into target is not KVM's. */
	fd->link = LINK_OTHER;
	if (read_link(dir, path, target, sizeof(target)))
		fd->link = parse_kvm_link(target, &fd->is_stats);
	else if (errno == EACCES || errno == EPERM)
		return -errno;
	return 0;
}

/* The inode number of the process' directory, or 0. Opens it: the broker may not call stat(). */
static ino_t dir_number(const char *proc, pid_t pid)
{
	struct stat info = {};
	char path[PATH_MAX];
	int dir;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 0;
	fstat(dir, &info);
	close(dir);
	return info.st_ino;
}

void proc_fds_add(struct proc_fds *fds, const struct proc_fd *fd)
{
	fds->entry = xgrow(fds->entry, fds->count, sizeof(*fds->entry));
	fds->entry[fds->count++] = *fd;
}

int *proc_vcpus(const struct proc_fds *fds, size_t *count)
{
	int *number = xcalloc(fds->count, sizeof(*number));
	size_t i, found = 0;

	for (i = 0; i < fds->count; i++) {
		if (fds->entry[i].link >= 0)
			number[found++] = fds->entry[i].link;
	}
	*count = proc_sort_numbers(number, found);
	return number;
}

unsigned int proc_count_fds(const struct proc_fds *fds, bool vms)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < fds->count; i++)
		count += (fds->entry[i].link == LINK_VM) == vms && !fds->entry[i].is_stats;
	return count;
}

unsigned int proc_count_vcpus(const struct proc_fds *fds)
{
	size_t count;

	if (proc_count_fds(fds, true) > 1)
		return proc_count_fds(fds, false);
	free(proc_vcpus(fds, &count));
	return count;
}

int proc_list_fds(const char *proc, pid_t pid, struct proc_fds *fds)
{
	struct proc_fd found = {};
	struct dirent *entry;
	char path[PATH_MAX];
	uint64_t fd;
	DIR *stream;
	int ret = 0;

	*fds = (struct proc_fds) {};
	snprintf(path, sizeof(path), "%s/%d/fd", proc, pid);
	stream = opendir(path);
	if (!stream)
		return -errno;

	/* If the process dies meanwhile, the entries end: that is no error. */
	while (!ret && (entry = readdir(stream))) {
		if (parse_number(entry->d_name, 0, INT_MAX, &fd))
			continue;
		found.fd = fd;
		ret = read_fd(dirfd(stream), entry->d_name, &found);
		if (found.link != LINK_OTHER)
			proc_fds_add(fds, &found);
		else
			fds->num_others++;
	}
	closedir(stream);
	/*
	 * Without CAP_SYS_PTRACE, root may list the links but not read them. If the process has
	 * died meanwhile, the error is the same.
	 */
	if (ret) {
		free(fds->entry);
		*fds = (struct proc_fds) {};
		return dir_number(proc, pid) ? ret : -ENOENT;
	}
	/* /proc sorts them, but the filesystem of a test's /proc may not. */
	proc_sort(fds->entry, fds->count, sizeof(*fds->entry));
	return 0;
}

void proc_list_add(struct proc_list *list, const struct proc_process *process)
{
	list->process = xgrow(list->process, list->count, sizeof(*list->process));
	list->process[list->count++] = *process;
}

void proc_list_free(struct proc_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		free(list->process[i].fds.entry);
	free(list->process);
}

void proc_memory_free(struct proc_memory *memory)
{
	size_t i;

	for (i = 0; i < memory->count; i++)
		free(memory->known[i].fds.entry);
	free(memory->known);
	*memory = (struct proc_memory) {};
}

/* The entry of that process; NULL if another one has its pid now. */
static const struct proc_known *recall(const struct proc_memory *memory, const char *proc,
				       pid_t pid)
{
	const struct proc_known *known;

	known = proc_find(pid, memory->known, memory->count, sizeof(*known));
	return known && known->dir == dir_number(proc, pid) ? known : NULL;
}

/*
 * Processes with KVM file descriptors take turns, so that a scan lists at most about
 * PROC_FDS_AT_ONCE. Others are listed at every, then at every second, fourth, ... scan, not all at
 * the same one; with very many file descriptors less often from the first time on.
 */
static bool is_turn(const struct proc_memory *memory, const struct proc_known *known)
{
	unsigned int every = 1u << known->num_looks;
	size_t most_seldom = known->fds.num_others / PROC_OTHERS_AT_ONCE;

	if (known->fds.count) {
		every = memory->num_fds / PROC_FDS_AT_ONCE + 1;
		return (known - memory->known + memory->turn) % every == 0;
	}
	if (every < most_seldom)
		every = most_seldom;
	return (known->pid + memory->turn) % every == 0;
}

static struct proc_fds copy_fds(const struct proc_fds *fds)
{
	struct proc_fds copy = *fds;

	copy.entry = xreallocarray(NULL, copy.count, sizeof(*copy.entry));
	memcpy(copy.entry, fds->entry, copy.count * sizeof(*copy.entry));
	return copy;
}

/* Remembers the list of a process that has more than a few file descriptors. */
static void remember(struct proc_memory *next, const char *proc, const struct proc_known *known)
{
	const struct proc_fds *fds = &known->fds;

	if (fds->count <= PROC_FEW_FDS && fds->num_others <= PROC_FEW_FDS)
		return;
	next->known = xgrow(next->known, next->count, sizeof(*next->known));
	next->known[next->count] = *known;
	next->known[next->count].fds = fds->count ? copy_fds(fds) : *fds;
	next->known[next->count++].dir = known->dir ?: dir_number(proc, known->pid);
	next->num_fds += fds->count;
}

/* Returns 0 or -errno. */
static int look_at(const char *proc, const struct proc_memory *memory, pid_t pid,
		   struct proc_memory *next, struct proc_fds *fds)
{
	const struct proc_known *last = recall(memory, proc, pid);
	struct proc_known known = { .pid = pid, };
	int ret;

	if (last && !is_turn(memory, last)) {
		known = *last;
		*fds = last->fds.count ? copy_fds(&last->fds) : last->fds;
	} else {
		ret = proc_list_fds(proc, pid, fds);
		if (ret)
			return ret;
		known.fds = *fds;
		known.dir = last ? last->dir : 0;
		if (last && !fds->count)
			known.num_looks = last->num_looks + (last->num_looks < PROC_MOST_LOOKS);
	}
	remember(next, proc, &known);
	return 0;
}

int proc_list(const char *proc, struct proc_memory *memory, struct proc_list *list)
{
	struct proc_memory next = { .turn = memory->turn + 1, };
	struct proc_process process;
	struct dirent *entry;
	DIR *stream;
	uint64_t pid;

	*list = (struct proc_list) {};
	stream = opendir(proc);
	if (!stream)
		return -errno;
	while ((entry = readdir(stream))) {
		if (parse_number(entry->d_name, 1, INT_MAX, &pid))
			continue;
		process = (struct proc_process) { .pid = pid, };
		process.err = -look_at(proc, memory, pid, &next, &process.fds);
		if (process.fds.count ||
		    (process.err && process.err != ENOENT && process.err != ESRCH))
			proc_list_add(list, &process);
	}
	closedir(stream);
	proc_sort(list->process, list->count, sizeof(*list->process));
	proc_sort(next.known, next.count, sizeof(*next.known));
	proc_memory_free(memory);
	*memory = next;
	return 0;
}
