// SPDX-License-Identifier: GPL-2.0
/* Threads of a process. Its owner chooses their names. */
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
#include "sources/proc_threads.h"
#include "util/file.h"
#include "util/util.h"

/*
 * Parses a thread's stat from the third field on: the second is a name that may contain anything.
 * False if there are fewer fields.
 */
static bool parse_stat(const char *text, uint64_t *field, size_t count)
{
	const char *end = strrchr(text, ')');
	size_t i;

	/* The third field is a letter: it becomes 0. */
	for (i = 0; end && i < count; i++) {
		end = strchr(end + 1, ' ');
		if (end)
			field[i] = strtoull(end + 1, NULL, 10);
	}
	return end;
}

/* Indexes into the parsed fields: the numbers in proc(5) less 3. */
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

/* Whether and where the thread sleeps. The kernel shows that to processes that may trace it. */
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
	/* Without scheduler statistics, the kernel shows 0 for both times. */
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
	return proc_find(tid, threads->thread, threads->count, sizeof(*threads->thread));
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

/* Reads no thread: the links of the directory count the threads. */
static bool has_too_many(int task, unsigned int num_vcpus)
{
	struct stat info;

	return !fstat(task, &info) && info.st_nlink > num_vcpus + PROC_OTHER_THREADS + 2;
}

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

static void read_whole(const char *proc, pid_t pid, struct proc_threads *threads)
{
	const uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	uint64_t field[NUM_STAT_FIELDS];
	char path[PATH_MAX], text[1024];

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	threads->whole.is_known = read_file(AT_FDCWD, path, text, sizeof(text)) &&
				  parse_stat(text, field, NUM_STAT_FIELDS);
	if (threads->whole.is_known)
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
	proc_sort(threads->thread, threads->count, sizeof(*threads->thread));
	read_whole(proc, pid, threads);
	return 0;
}
