// SPDX-License-Identifier: GPL-2.0
/*
 * Listing the file descriptors of processes that have many of them: not all at every
 * look, but all within some looks, and another process at once.
 */
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
	clean_up();
	return tap_end();
}
