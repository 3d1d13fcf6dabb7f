// SPDX-License-Identifier: GPL-2.0
/*
 * Reads /proc. Everything there can vanish between two calls, and names come
 * from whoever started the process.
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

/* 0, or -errno if it may not be known what the file descriptor is. */
static int read_fd(int dir, const char *path, struct proc_fd *fd)
{
	char target[64];

	errno = 0;
	/* A longer one is none of KVM's. */
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

static int compare_fds(const void *a, const void *b)
{
	int left = ((const struct proc_fd *)a)->fd;
	int right = ((const struct proc_fd *)b)->fd;

	return (left > right) - (left < right);
}

void proc_fds_add(struct proc_fds *fds, const struct proc_fd *fd)
{
	fds->entry = xgrow(fds->entry, fds->count, sizeof(*fds->entry));
	fds->entry[fds->count++] = *fd;
}

const struct proc_fd *proc_find_fd(const struct proc_fds *fds, int fd)
{
	const struct proc_fd wanted = { .fd = fd, };

	if (!fds->count)
		return NULL;
	return bsearch(&wanted, fds->entry, fds->count, sizeof(wanted), compare_fds);
}

static int compare_numbers(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return (left > right) - (left < right);
}

size_t proc_sort_numbers(int *number, size_t count)
{
	size_t i, kept = 0;

	if (count)
		qsort(number, count, sizeof(*number), compare_numbers);
	for (i = 0; i < count; i++) {
		if (!kept || number[i] != number[kept - 1])
			number[kept++] = number[i];
	}
	return kept;
}

const int *proc_find_number(const int *number, size_t count, int wanted)
{
	if (!count)
		return NULL;
	return bsearch(&wanted, number, count, sizeof(*number), compare_numbers);
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
	 * Root may list them all without CAP_SYS_PTRACE, and see of none what it is. Those of a
	 * process that has died meanwhile look the same.
	 */
	if (ret) {
		free(fds->entry);
		*fds = (struct proc_fds) {};
		return dir_number(proc, pid) ? ret : -ENOENT;
	}
	/* /proc has them in order, other filesystems, with a /proc of a test, do not. */
	if (fds->count)
		qsort(fds->entry, fds->count, sizeof(*fds->entry), compare_fds);
	return 0;
}

static int compare_processes(const void *a, const void *b)
{
	pid_t left = ((const struct proc_process *)a)->pid;
	pid_t right = ((const struct proc_process *)b)->pid;

	return (left > right) - (left < right);
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

static int compare_known(const void *pid, const void *known)
{
	pid_t left = *(const pid_t *)pid, right = ((const struct proc_known *)known)->pid;

	return (left > right) - (left < right);
}

static int compare_knowns(const void *a, const void *b)
{
	return compare_known(&((const struct proc_known *)a)->pid, b);
}

/* What is known of it, if it is the same process. */
static const struct proc_known *recall(const struct proc_memory *memory, const char *proc,
				       pid_t pid)
{
	const struct proc_known *known;

	if (!memory->count)
		return NULL;
	known = bsearch(&pid, memory->known, memory->count, sizeof(*known), compare_known);
	return known && known->dir == dir_number(proc, pid) ? known : NULL;
}

/*
 * Those with file descriptors of KVM have their turn so often that one look lists no more
 * than it has room for; the others at every, every second, fourth, ... look, not all of
 * them at the same one, and from the first one on no more often than they are few.
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

/* What was listed, for the next look: only of processes with more than a few. */
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
	if (list->count)
		qsort(list->process, list->count, sizeof(*list->process), compare_processes);
	if (next.count)
		qsort(next.known, next.count, sizeof(*next.known), compare_knowns);
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
 * The fields of a thread's stat from the third on: the second is a name, which may have
 * anything in it. False if there are not that many.
 */
static bool parse_stat(const char *text, uint64_t *field, size_t count)
{
	const char *end = strrchr(text, ')');
	size_t i;

	/* Of the third, a letter, nothing is read. */
	for (i = 0; end && i < count; i++) {
		end = strchr(end + 1, ' ');
		if (end)
			field[i] = strtoull(end + 1, NULL, 10);
	}
	return end;
}

/* As in proc(5), less those that are not parsed. */
enum { STAT_USER = 14 - 3, STAT_KERNEL = 15 - 3, STAT_GUEST = 43 - 3, NUM_STAT_FIELDS, };

/*
 * The vCPU's number that VMMs give in the names of threads: QEMU's with debug-threads=on,
 * Firecracker's, cloud-hypervisor's, crosvm's. -1 of another name.
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

/* Where the thread sleeps, of which the kernel says so only if it may be traced. */
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

/* False of one that runs no guest, or is gone. */
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
	/* The time of the user has the guest's in it, but counts otherwise. */
	if (field[STAT_USER] > field[STAT_GUEST])
		times->user_ns = (field[STAT_USER] - field[STAT_GUEST]) * tick_ns;
	snprintf(path, sizeof(path), "%d/schedstat", thread->tid);
	/* Where the scheduler counts nothing of this, not even the time that it ran is there. */
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

static int compare_threads(const void *a, const void *b)
{
	const struct proc_thread *left = a, *right = b;

	return (left->tid > right->tid) - (left->tid < right->tid);
}

const struct proc_thread *proc_find_thread(const struct proc_threads *threads, pid_t tid)
{
	const struct proc_thread wanted = { .tid = tid, };

	if (!threads->count)
		return NULL;
	return bsearch(&wanted, threads->thread, threads->count, sizeof(wanted), compare_threads);
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

/* Before any of them is read: /proc counts the directories of threads as links. */
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
	if (ret)
		free(threads->thread);
	else if (threads->count)
		qsort(threads->thread, threads->count, sizeof(*threads->thread), compare_threads);
	if (!ret)
		read_whole(proc, pid, threads);
	return ret;
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
