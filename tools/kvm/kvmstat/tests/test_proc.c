// SPDX-License-Identifier: GPL-2.0
/*
 * Listing the file descriptors of processes that have many of them: not all at every
 * look, but all within some looks, and another process at once. The times of threads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/proc.h"
#include "tap.h"
#include "util/util.h"

#define MANY (PROC_FDS_AT_ONCE / 2)
#define PROCESSES 6

/* So many file descriptors are listed in turns of that many looks. */
#define TURNS (PROCESSES * MANY / PROC_FDS_AT_ONCE + 1)

static char *proc;
static struct proc_memory memory;

static char *path_of(pid_t pid, const char *rest)
{
	return xasprintf("%s/%d%s", proc, pid, rest);
}

static void make_dir(pid_t pid, const char *rest)
{
	char *path = path_of(pid, rest);

	if (mkdir(path, 0755))
		abort();
	free(path);
}

static void add_fd(pid_t pid, int fd)
{
	char *rest = xasprintf("/fd/%d", fd);
	char *path = path_of(pid, rest);
	char *target = xasprintf("anon_inode:kvm-vcpu:%d", fd);

	if (symlink(target, path))
		abort();
	free(target);
	free(path);
	free(rest);
}

static void add_process(pid_t pid, int fds)
{
	int i;

	make_dir(pid, "");
	make_dir(pid, "/fd");
	for (i = 0; i < fds; i++)
		add_fd(pid, i);
}

static void rename_process(pid_t from, pid_t to)
{
	char *old = path_of(from, ""), *new = path_of(to, "");

	if (rename(old, new))
		abort();
	free(old);
	free(new);
}

/* How many are listed for the process; 0 without it. */
static size_t count_fds(pid_t pid)
{
	struct proc_list list;
	size_t i, count = 0;

	if (proc_list(proc, &memory, &list))
		abort();
	for (i = 0; i < list.count; i++) {
		if (list.process[i].pid == pid)
			count = list.process[i].fds.count;
	}
	proc_list_free(&list);
	return count;
}

/* After how many looks the process has so many. */
static unsigned int looks_until(pid_t pid, size_t fds)
{
	unsigned int looks = 1;

	while (looks < 100 && count_fds(pid) != fds)
		looks++;
	return looks;
}

static void test_few(void)
{
	add_process(50, PROC_FEW_FDS + 1);
	check_number(count_fds(50), PROC_FEW_FDS + 1, "few: listed");
	add_fd(50, 5000);
	check_number(count_fds(50), PROC_FEW_FDS + 2, "few: looked at each time");
}

static void test_many(void)
{
	unsigned int looks, most = 0, i;

	for (i = 0; i < PROCESSES; i++)
		add_process(100 + i, MANY);
	check_number(count_fds(100), MANY, "many: listed at once");
	for (i = 0; i < PROCESSES; i++) {
		add_fd(100 + i, 5000);
		looks = looks_until(100 + i, MANY + 1);
		if (looks > most)
			most = looks;
	}
	check(most > 1, "many: not looked at each time");
	check(most <= TURNS, "many: within %u looks all have been", TURNS);
}

/* What is no file of KVM: how often that is looked at is seen by what becomes one. */
static void test_foreign(void)
{
	unsigned int looks, i;
	char *path;

	make_dir(400, "");
	make_dir(400, "/fd");
	for (i = 0; i <= PROC_FEW_FDS; i++) {
		path = xasprintf("%s/400/fd/%u", proc, i);
		if (symlink("/dev/null", path))
			abort();
		free(path);
	}
	for (i = 0; i < 300; i++)
		count_fds(400);
	add_fd(400, 5000);
	looks = looks_until(400, 1);
	check(looks > 1, "many of no VM: not looked at each time");
	check(looks <= 1 << PROC_MOST_LOOKS, "many of no VM: but some time");
	add_fd(400, 5001);
	check_number(looks_until(400, 2), 1, "one that has a VM then is looked at each time");
}

static void test_others(void)
{
	add_process(200, 3);
	check_number(count_fds(200), 3, "a new process is listed at once");
	add_fd(200, 3);
	check_number(count_fds(200), 4, "one with few has its turn each time");
	rename_process(105, 300);
	check_number(count_fds(105), 0, "one that has ended is not listed");
	rename_process(200, 105);
	check_number(count_fds(105), 4, "another one with its pid is not taken for it");
}

static void write_file(pid_t pid, const char *rest, const char *text)
{
	char *path = path_of(pid, rest);
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
	free(path);
}

/* As the kernel writes it, in ticks. */
static void add_thread(pid_t pid, pid_t tid, const char *name, const char *times,
		       const char *guest)
{
	char *rest = xasprintf("/task/%d", tid), *file;
	char *text = xasprintf("%d (%s) S 1 1 1 0 -1 64 9 9 9 9 %s 7 7 20 0 3 0 99 99 99%s %s 6\n",
			       tid, name, times, " 9 9 9 9 9 9 9 9 9 9 0 0 0 17 1 0 0 5", guest);

	make_dir(pid, rest);
	file = xasprintf("%s/stat", rest);
	write_file(pid, file, text);
	free(file);
	free(text);
	free(rest);
}

static void test_times(void)
{
	const uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	struct proc_times times;

	make_dir(500, "");
	check_number(proc_read_times(proc, 501, &times), -ENOENT, "times: no such process");
	make_dir(500, "/task");
	add_thread(500, 500, "qemu) R 1 (", "70 30", "0");
	check(!proc_read_times(proc, 500, &times) && !times.num_threads && !times.guest_ns &&
	      !times.user_ns, "times: a thread that runs no guest is left out");
	add_thread(500, 501, "CPU 0) 9 9 (KVM", "100 20", "90");
	write_file(500, "/task/501/schedstat", "1200000000 345 678\n");
	check(!proc_read_times(proc, 500, &times) && times.num_threads == 1 &&
	      times.guest_ns == 90 * tick_ns && times.user_ns == 10 * tick_ns &&
	      times.kernel_ns == 20 * tick_ns && times.ready_ns == 345 && times.has_ready,
	      "times: each is in its place, whatever the name of the thread is");
	add_thread(500, 502, "CPU 1/KVM", "49 1", "50");
	write_file(500, "/task/502/schedstat", "1 5 1\n");
	check(!proc_read_times(proc, 500, &times) && times.num_threads == 2 &&
	      times.guest_ns == 140 * tick_ns && times.user_ns == 10 * tick_ns &&
	      times.kernel_ns == 21 * tick_ns && times.ready_ns == 350 && times.has_ready,
	      "times: of two they are added; none is less than 0");
	add_thread(500, 503, "CPU 2/KVM", "1 1", "1");
	check(!proc_read_times(proc, 500, &times) && times.num_threads == 3 && !times.has_ready,
	      "times: a kernel that does not say how long it waited");
	write_file(500, "/task/503/stat", "503 (CPU 2/KVM) S 1 2 3\n");
	check(!proc_read_times(proc, 500, &times) && times.num_threads == 2,
	      "times: a file that is too short");
	write_file(500, "/task/503/stat", "");
	check(!proc_read_times(proc, 500, &times) && times.num_threads == 2,
	      "times: a thread that ends");
}

static void clean_up(void)
{
	char *command = xasprintf("rm -rf %s", proc);

	if (system(command))
		abort();
	free(command);
	free(proc);
	proc_memory_free(&memory);
}

int main(void)
{
	proc = xasprintf("/tmp/kvmstat-proc-XXXXXX");
	if (!mkdtemp(proc))
		abort();
	test_few();
	test_many();
	test_others();
	test_foreign();
	test_times();
	clean_up();
	return tap_end();
}
