// SPDX-License-Identifier: GPL-2.0
/*
 * Reads /proc. Everything there can vanish between two calls, and the owner of a process chooses
 * its names.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kvm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/proc.h"
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

/* 0, or -errno without permission to read the link. */
static int read_fd(int dir, const char *path, struct proc_fd *fd)
{
	char target[64];

	errno = 0;
	/* KVM's links are shorter. */
	fd->link = LINK_OTHER;
	if (read_link(dir, path, target, sizeof(target)))
		fd->link = parse_kvm_link(target, &fd->is_stats);
	else if (errno == EACCES || errno == EPERM)
		return -errno;
	return 0;
}

/* A file descriptor of the process' directory or -errno. */
static int open_process(const char *proc, pid_t pid)
{
	char path[PATH_MAX];
	int dir;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : dir;
}

/* The number of the directory, 0 if there is none. */
static ino_t dir_number(const char *proc, pid_t pid)
{
	struct stat info = {};
	int dir = open_process(proc, pid);

	if (dir < 0)
		return 0;
	fstat(dir, &info);
	close(dir);
	return info.st_ino;
}

static DIR *open_fds(const char *proc, pid_t pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/fd", proc, pid);
	return opendir(path);
}

/* Of structs and arrays that begin with a number. */
static int compare(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return (left > right) - (left < right);
}

static void sort(void *array, size_t count, size_t size)
{
	if (count)
		qsort(array, count, size, compare);
}

static const void *find(int wanted, const void *array, size_t count, size_t size)
{
	return count ? bsearch(&wanted, array, count, size, compare) : NULL;
}

void proc_fds_add(struct proc_fds *fds, const struct proc_fd *fd)
{
	fds->entry = xgrow(fds->entry, fds->count, sizeof(*fds->entry));
	fds->entry[fds->count++] = *fd;
}

size_t proc_sort_numbers(int *number, size_t count)
{
	size_t i, kept = 0;

	sort(number, count, sizeof(*number));
	for (i = 0; i < count; i++) {
		if (!kept || number[i] != number[kept - 1])
			number[kept++] = number[i];
	}
	return kept;
}

const int *proc_find_number(const int *number, size_t count, int wanted)
{
	return find(wanted, number, count, sizeof(*number));
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

int proc_list_fds(const char *proc, pid_t pid, struct proc_fds *fds)
{
	struct proc_fd found = {};
	struct dirent *entry;
	uint64_t fd;
	DIR *stream;
	int ret = 0;

	*fds = (struct proc_fds) {};
	stream = open_fds(proc, pid);
	if (!stream)
		return -errno;

	/* A process that dies meanwhile has no more entries: that is no error. */
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
	 * Without CAP_SYS_PTRACE, root may list them but not read the links. The links of a
	 * process that has died meanwhile look the same.
	 */
	if (ret) {
		free(fds->entry);
		*fds = (struct proc_fds) {};
		return dir_number(proc, pid) ? ret : -ENOENT;
	}
	/* A test's /proc is on a filesystem that does not sort them. */
	sort(fds->entry, fds->count, sizeof(*fds->entry));
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

/* What is known of it, if it is the same process. */
static const struct proc_known *recall(const struct proc_memory *memory, const char *proc,
				       pid_t pid)
{
	const struct proc_known *known;

	known = find(pid, memory->known, memory->count, sizeof(*known));
	return known && known->dir == dir_number(proc, pid) ? known : NULL;
}

/*
 * Processes with KVM file descriptors take turns, so that one scan lists no more than it has room
 * for. Others are listed at every, every second, every fourth, ... scan, spread over the scans;
 * the more file descriptors they have, the more seldom, from the first time on.
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

/* Keeps what was listed of processes with more than a few file descriptors. */
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
		if (process.fds.count || (process.err && !proc_is_gone(process.err)))
			proc_list_add(list, &process);
	}
	closedir(stream);
	sort(list->process, list->count, sizeof(*list->process));
	sort(next.known, next.count, sizeof(*next.known));
	proc_memory_free(memory);
	*memory = next;
	return 0;
}

/* The number that follows @key in a file of such lines, 0 if there is none. */
static uint64_t field_number(const char *text, const char *key)
{
	size_t length = strlen(key);

	while (text && strncmp(text, key, length)) {
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return text ? strtoull(text + length, NULL, 10) : 0;
}

pid_t proc_thread_group(const char *proc, pid_t pid)
{
	char status[4096];
	int dir;

	dir = open_process(proc, pid);
	if (dir < 0)
		return 0;
	read_file(dir, "status", status, sizeof(status));
	close(dir);
	return field_number(status, "Tgid:\t");
}

/*
 * Parses a thread's stat from the third field on: the second is a name that may contain anything.
 * False if there are fewer fields.
 */
static bool parse_stat(const char *text, uint64_t *field, size_t count)
{
	const char *end = strrchr(text, ')');
	size_t i;

	/* The third, a letter, becomes 0. */
	for (i = 0; end && i < count; i++) {
		end = strchr(end + 1, ' ');
		if (end)
			field[i] = strtoull(end + 1, NULL, 10);
	}
	return end;
}

/* Numbers of proc(5), less the fields in front. */
enum { STAT_USER = 14 - 3, STAT_KERNEL = 15 - 3, STAT_GUEST = 43 - 3, NUM_STAT_FIELDS, };

/*
 * Returns the vCPU's number in a thread's name, as QEMU (debug-threads=on), Firecracker,
 * cloud-hypervisor and crosvm write it, or -1.
 */
static int parse_thread_name(const char *stat)
{
	static const struct {
		const char *begin, *end;
	} names[] = {
		{ "CPU ", "/KVM", },
		{ "fc_vcpu ", "", },
		{ "vcpu", "", },
		{ "crosvm_vcpu", "", },
	};
	const char *name = strchr(stat, '('), *end = strrchr(stat, ')');
	ssize_t first, last, length;
	char digits[16];
	uint64_t number;
	size_t i;

	for (i = 0; name && end && i < ARRAY_SIZE(names); i++) {
		first = strlen(names[i].begin);
		last = strlen(names[i].end);
		length = end - name - 1 - first - last;
		if (length < 1 || length >= (ssize_t)sizeof(digits) ||
		    strncmp(name + 1, names[i].begin, first) ||
		    strncmp(end - last, names[i].end, last))
			continue;
		snprintf(digits, sizeof(digits), "%.*s", (int)length, name + 1 + first);
		if (!parse_number(digits, 0, INT_MAX, &number))
			return number;
	}
	return -1;
}

/* Where the thread sleeps, which the kernel shows to processes that may trace it. */
static enum proc_state find_state(int task, pid_t tid, const char *stat)
{
	const char *state = strrchr(stat, ')');
	unsigned long long number, fd, request;
	char path[64], text[256];

	if (!state || strncmp(state, ") ", 2))
		return PROC_UNKNOWN;
	if (strchr("Tt", state[2]))
		return PROC_STOPPED;
	if (state[2] != 'S')
		return PROC_RUNS;
	snprintf(path, sizeof(path), "%d/syscall", tid);
	if (!read_file(task, path, text, sizeof(text)))
		return PROC_UNKNOWN;
	if (!strncmp(text, "running", strlen("running")))
		return PROC_RUNS;
	if (sscanf(text, "%llu %llx %llx", &number, &fd, &request) == 3 && request == KVM_RUN)
		return PROC_IN_KVM;
	return PROC_OUTSIDE;
}

/* Returns false if it runs no guest, or is gone. */
static bool read_thread(int task, struct proc_thread *thread)
{
	const uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	struct proc_times *times = &thread->times;
	unsigned long long run_ns, ready_ns;
	uint64_t field[NUM_STAT_FIELDS];
	char path[64], text[1024];

	snprintf(path, sizeof(path), "%d/stat", thread->tid);
	if (!read_file(task, path, text, sizeof(text)) ||
	    !parse_stat(text, field, NUM_STAT_FIELDS))
		return false;
	thread->vcpu = parse_thread_name(text);
	if (!field[STAT_GUEST] && thread->vcpu < 0)
		return false;
	thread->state = find_state(task, thread->tid, text);
	*times = (struct proc_times) {
		.guest_ns = field[STAT_GUEST] * tick_ns,
		.kernel_ns = field[STAT_KERNEL] * tick_ns,
		.num_threads = 1,
	};
	/* User time includes guest time, but is rounded differently. */
	if (field[STAT_USER] > field[STAT_GUEST])
		times->user_ns = (field[STAT_USER] - field[STAT_GUEST]) * tick_ns;
	snprintf(path, sizeof(path), "%d/schedstat", thread->tid);
	/* A kernel without scheduler statistics shows 0 as the time that it ran, too. */
	times->has_ready = read_file(task, path, text, sizeof(text)) &&
			   sscanf(text, "%llu %llu", &run_ns, &ready_ns) == 2 && run_ns;
	if (times->has_ready)
		times->ready_ns = ready_ns;
	times->run_ns = times->has_ready ? run_ns :
			(field[STAT_USER] + field[STAT_KERNEL]) * tick_ns;
	return true;
}

void proc_threads_add(struct proc_threads *threads, const struct proc_thread *thread)
{
	threads->thread = xgrow(threads->thread, threads->count, sizeof(*threads->thread));
	threads->thread[threads->count++] = *thread;
}

struct proc_times proc_sum_times(const struct proc_threads *threads,
				 const struct proc_threads *others)
{
	struct proc_times sum = { .has_ready = true, };
	const struct proc_times *times;
	size_t i;

	for (i = 0; i < threads->count; i++) {
		if (!proc_find_thread(others, threads->thread[i].tid))
			continue;
		times = &threads->thread[i].times;
		sum.guest_ns += times->guest_ns;
		sum.kernel_ns += times->kernel_ns;
		sum.user_ns += times->user_ns;
		sum.ready_ns += times->ready_ns;
		sum.run_ns += times->run_ns;
		sum.num_threads += times->num_threads;
		sum.has_ready &= times->has_ready;
	}
	return sum;
}

const struct proc_thread *proc_find_thread(const struct proc_threads *threads, pid_t tid)
{
	return find(tid, threads->thread, threads->count, sizeof(*threads->thread));
}

bool proc_threads_are_valid(const struct proc_threads *threads)
{
	const struct proc_thread *thread;
	pid_t last = 0;
	size_t i;

	for (i = 0; i < threads->count; i++) {
		thread = &threads->thread[i];
		if (thread->tid <= last || thread->vcpu < -1 || thread->state > PROC_OUTSIDE ||
		    thread->times.has_ready > 1 || thread->times.num_threads != 1)
			return false;
		last = thread->tid;
	}
	return true;
}

/* 0 or -E2BIG. */
static int read_all_threads(DIR *task, unsigned int num_vcpus, struct proc_threads *threads)
{
	unsigned int num_threads = 0, num_named = 0;
	struct proc_thread thread = {};
	const struct dirent *entry;
	uint64_t tid;

	while ((entry = readdir(task))) {
		if (parse_number(entry->d_name, 1, INT_MAX, &tid))
			continue;
		if (++num_threads > num_vcpus + PROC_OTHER_THREADS)
			return -E2BIG;
		thread.tid = tid;
		if (!read_thread(dirfd(task), &thread))
			continue;
		num_named += thread.vcpu >= 0;
		if (num_named > num_vcpus)
			return -E2BIG;
		proc_threads_add(threads, &thread);
	}
	return 0;
}

/* Without reading any of them: /proc counts the threads' directories as links. */
static bool has_too_many(int task, unsigned int num_vcpus)
{
	struct stat info;

	return !fstat(task, &info) && info.st_nlink > num_vcpus + PROC_OTHER_THREADS + 2;
}

static void read_whole(const char *proc, pid_t pid, struct proc_threads *threads)
{
	const uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	uint64_t field[NUM_STAT_FIELDS];
	char path[PATH_MAX], text[1024];

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	if (read_file(AT_FDCWD, path, text, sizeof(text)) &&
	    parse_stat(text, field, NUM_STAT_FIELDS))
		threads->whole.run_ns = (field[STAT_USER] + field[STAT_KERNEL]) * tick_ns;
	threads->whole.cgroup = cgroup_read(proc, CGROUP_ROOT, pid,
					    threads->count ? threads->thread[0].tid : pid);
}

int proc_read_threads(const char *proc, pid_t pid, unsigned int num_vcpus,
		      struct proc_threads *threads)
{
	char path[PATH_MAX];
	int ret = -E2BIG;
	DIR *task;

	*threads = (struct proc_threads) {};
	snprintf(path, sizeof(path), "%s/%d/task", proc, pid);
	task = opendir(path);
	if (!task)
		return -errno;
	if (!has_too_many(dirfd(task), num_vcpus))
		ret = read_all_threads(task, num_vcpus, threads);
	closedir(task);
	if (ret) {
		free(threads->thread);
		return ret;
	}
	sort(threads->thread, threads->count, sizeof(*threads->thread));
	read_whole(proc, pid, threads);
	return 0;
}

bool proc_is_ours(const char *proc)
{
	char path[PATH_MAX];
	char target[16];
	uint64_t pid;

	snprintf(path, sizeof(path), "%s/self", proc);
	if (!read_link(AT_FDCWD, path, target, sizeof(target)))
		return false;
	return !parse_number(target, 1, INT_MAX, &pid) && (pid_t)pid == getpid();
}

bool proc_is_hidden(const char *proc)
{
	char path[PATH_MAX];

	/* Each pid namespace has this one. */
	snprintf(path, sizeof(path), "%s/1", proc);
	return access(path, F_OK) && errno == ENOENT;
}

bool proc_is_namespace(const char *proc)
{
	/* The number of the first one is ABI: PROC_PID_INIT_INO. */
	static const char first[] = "pid:[4026531836]";
	char path[PATH_MAX];
	char target[64];

	snprintf(path, sizeof(path), "%s/self/ns/pid", proc);
	return read_link(AT_FDCWD, path, target, sizeof(target)) && strcmp(target, first);
}

uint64_t proc_vm_number(const char *proc, int fd)
{
	char path[PATH_MAX];
	char text[1024];

	snprintf(path, sizeof(path), "%s/self/fdinfo/%d", proc, fd);
	read_file(AT_FDCWD, path, text, sizeof(text));
	return field_number(text, "vm:\t");
}
