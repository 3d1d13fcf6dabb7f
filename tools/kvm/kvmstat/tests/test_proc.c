// SPDX-License-Identifier: GPL-2.0
/*
 * Listing processes with many file descriptors: not all at every scan, but all within some scans;
 * a new process at once. The times of threads.
 */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sources/proc.h"
#include "sources/proc_fds.h"
#include "sources/proc_threads.h"
#include "tap.h"
#include "tree.h"
#include "util/util.h"

#define MANY (PROC_FDS_AT_ONCE / 2)
#define PROCESSES 6

/* So many scans list all file descriptors. */
#define TURNS (PROCESSES * MANY / PROC_FDS_AT_ONCE + 1)

static struct proc_memory memory;
static unsigned int num_links;		/* links read so far */

static void (*before_link)(void);	/* if set, reading a link calls it and fails */

/* Replaces the C library's. */
ssize_t readlinkat(int dir, const char *path, char *text, size_t size)
{
	num_links++;
	if (before_link) {
		before_link();
		errno = EACCES;
		return -1;
	}
	return syscall(SYS_readlinkat, dir, path, text, size);
}

static void add_fd(pid_t pid, int fd)
{
	char target[32];

	snprintf(target, sizeof(target), "anon_inode:kvm-vcpu:%d", fd);
	tree_link(target, "%d/fd/%d", pid, fd);
}

static void add_process(pid_t pid, int fds)
{
	int i;

	tree_make("%d/fd/", pid);
	for (i = 0; i < fds; i++)
		add_fd(pid, i);
}

static void rename_process(pid_t from, pid_t to)
{
	char *old = tree_path("%d", from), *new = tree_path("%d", to);

	if (rename(old, new))
		abort();
	free(old);
	free(new);
}

static void remove_process(pid_t pid)
{
	tree_remove("%d", pid);
}

/* How many file descriptors a scan lists for the process; 0 without the process. */
static size_t count_fds(pid_t pid)
{
	struct proc_list list;
	size_t i, count = 0;

	if (proc_list(tree_root, &memory, &list))
		abort();
	for (i = 0; i < list.count; i++) {
		if (list.process[i].pid == pid)
			count = list.process[i].fds.count;
	}
	proc_list_free(&list);
	return count;
}

/* How many scans it takes until one lists @fds file descriptors of the process. */
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
	check_number(count_fds(50), PROC_FEW_FDS + 2, "few: listed at each scan");
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
	check(most > 1, "many: not listed at each scan");
	check(most <= TURNS, "many: all are listed within %u scans", TURNS);
}

static void add_others(pid_t pid, unsigned int count)
{
	char *first = tree_path("%d/fd/0", pid), *path;
	unsigned int i;

	tree_make("%d/fd/", pid);
	if (symlink("/dev/null", first))
		abort();
	/* Hard links: creating thousands of files takes seconds on a disk. */
	for (i = 1; i < count; i++) {
		path = tree_path("%d/fd/%u", pid, i);
		if (link(first, path))
			abort();
		free(path);
	}
	free(first);
}

/* Files that are not KVM's. One that becomes KVM's shows how often the process is listed. */
static void test_foreign(void)
{
	unsigned int looks, i;

	add_others(400, PROC_FEW_FDS + 1);
	for (i = 0; i < 300; i++)
		count_fds(400);
	add_fd(400, 5000);
	looks = looks_until(400, 1);
	check(looks > 1, "many without a VM: not listed at each scan");
	check(looks <= 1 << PROC_MOST_LOOKS, "many without a VM: listed within 64 scans");
	add_fd(400, 5001);
	check_number(looks_until(400, 2), 1, "a process that gets a VM is listed at each scan");
}

/* The cost of so many scans, in links that they read. */
static unsigned int count_links(unsigned int looks)
{
	num_links = 0;
	while (looks--)
		count_fds(600);
	return num_links;
}

static void test_cost(void)
{
	pid_t pid;

	add_others(600, 64 * 128);
	add_others(601, 33);
	add_others(602, 32);
	check_number(count_links(1), 64 * 128 + 33 + 32, "cost: the first scan reads all");
	count_links(64);
	check(num_links <= 64 * (128 + 32) + 33 * 7,
	      "cost: then on average at most 128 per process and scan: %u in 64", num_links);
	check(num_links >= 64 * (128 + 32) + 33, "cost: all are read within 64 scans");
	count_links(128);
	check_number(count_links(64), 64 * (128 + 32) + 33,
		     "cost: later each process with more than a few once in 64 scans");
	for (pid = 600; pid <= 602; pid++)
		remove_process(pid);
}

/* How many processes from 410 on have a listed file descriptor of KVM. */
static unsigned int count_found(void)
{
	struct proc_list list;
	unsigned int count = 0;
	size_t i;

	if (proc_list(tree_root, &memory, &list))
		abort();
	for (i = 0; i < list.count; i++)
		count += list.process[i].pid >= 410 && list.process[i].fds.count;
	proc_list_free(&list);
	return count;
}

/* So many that a scan cannot list all of them even at first. */
static void test_very_many(void)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		add_others(410 + i, 8 * PROC_OTHERS_AT_ONCE);
	check_number(count_found(), 0, "very many without a VM: none has one");
	for (i = 0; i < 8; i++)
		add_fd(410 + i, 5000);
	for (i = 1; i < 8 && count_found() == i; i++)
		;
	check_number(i, 8, "very many without a VM: one process has its turn at each scan");
	check_number(count_found(), 8, "very many without a VM: then all had their turn");
}

static void test_others(void)
{
	add_process(200, 3);
	check_number(count_fds(200), 3, "a new process is listed at once");
	add_fd(200, 3);
	check_number(count_fds(200), 4, "a process with few files is listed at each scan");
	rename_process(105, 300);
	check_number(count_fds(105), 0, "a process that has ended is not listed");
	rename_process(200, 105);
	check_number(count_fds(105), 4, "a new process with the same pid is listed anew");
}

/* Writes the files of a thread as the kernel does, with times in ticks. */
static void add_thread(pid_t pid, pid_t tid, const char *name, const char *times,
		       const char *guest)
{
	char *text = xasprintf("%d (%s) S 1 1 1 0 -1 64 9 9 9 9 %s 7 7 20 0 3 0 99 99 99%s %s 6\n",
			       tid, name, times, " 9 9 9 9 9 9 9 9 9 9 0 0 0 17 1 0 0 5", guest);

	tree_text(text, "%d/task/%d/stat", pid, tid);
	free(text);
}

/* Reads the threads of process 500. */
static int read_times(struct proc_threads *threads, struct proc_times *sum)
{
	int ret = proc_read_threads(tree_root, 500, 3, threads);

	*sum = proc_sum_times(threads, threads);
	free(threads->thread);
	return ret;
}

static void test_times(void)
{
	const uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	struct proc_threads threads;
	struct proc_times times;

	check_number(proc_read_threads(tree_root, 501, 3, &threads), -ENOENT,
		     "times: no such process");
	tree_make("500/task/");
	add_thread(500, 500, "qemu) R 1 (", "70 30", "0");
	check(!read_times(&threads, &times) && !times.num_threads && !times.guest_ns &&
	      !times.user_ns, "times: a thread that runs no guest is left out");
	add_thread(500, 501, "CPU 0) 9 9 (KVM", "100 20", "90");
	tree_text("1200000000 345 678\n", "500/task/501/schedstat");
	check(!read_times(&threads, &times) && times.num_threads == 1 &&
	      times.guest_ns == 90 * tick_ns && times.user_ns == 10 * tick_ns &&
	      times.kernel_ns == 20 * tick_ns && times.ready_ns == 345 && times.has_ready,
	      "times: right whatever the name of the thread is");
	add_thread(500, 502, "CPU 1/KVM", "49 1", "50");
	tree_text("1 5 1\n", "500/task/502/schedstat");
	check(!read_times(&threads, &times) && times.num_threads == 2 &&
	      times.guest_ns == 140 * tick_ns && times.user_ns == 10 * tick_ns &&
	      times.kernel_ns == 21 * tick_ns && times.ready_ns == 350 && times.has_ready,
	      "times: two threads are added; none is less than 0");
	add_thread(500, 503, "CPU 2/KVM", "1 1", "1");
	check(!read_times(&threads, &times) && times.num_threads == 3 && !times.has_ready,
	      "times: no ready time from a kernel without schedstat");
	tree_text("0 0 0\n", "500/task/503/schedstat");
	check(!read_times(&threads, &times) && times.num_threads == 3 && !times.has_ready,
	      "times: no ready time if the scheduler does not count");
	tree_text("503 (CPU 2/KVM) S 1 2 3\n", "500/task/503/stat");
	check(!read_times(&threads, &times) && times.num_threads == 2,
	      "times: a thread whose file is too short is left out");
	tree_text("", "500/task/503/stat");
	check(!read_times(&threads, &times) && times.num_threads == 2,
	      "times: a thread that ends is left out");
}

/* The vCPU of a thread with this name; -1: it has no number, -2: it is not a vCPU thread. */
static int vcpu_of(const char *name, const char *guest)
{
	struct proc_threads threads;
	int vcpu = -2;

	tree_make("600/task/");
	add_thread(600, 600, name, "1 1", guest);
	if (proc_read_threads(tree_root, 600, 1, &threads) || threads.count > 1)
		abort();
	if (threads.count)
		vcpu = threads.thread[0].tid == 600 ? threads.thread[0].vcpu : -3;
	free(threads.thread);
	remove_process(600);
	return vcpu;
}

static void test_names(void)
{
	static const struct {
		const char *name, *guest;
		int vcpu;
	} cases[] = {
		{ "CPU 0/KVM", "0", 0, },
		{ "CPU 127/KVM", "0", 127, },
		{ "CPU /KVM", "0", -2, },
		{ "CPU 1/TCG", "0", -2, },
		{ "CPU -1/KVM", "0", -2, },
		{ "CPU 1x/KVM", "1", -1, },
		{ "CPU 4294967296/KVM", "1", -1, },
		{ "fc_vcpu 3", "0", 3, },
		{ "vcpu12", "0", 12, },
		{ "vcpu", "0", -2, },
		{ "vcpu1 ", "1", -1, },
		{ "crosvm_vcpu1", "0", 1, },
		{ "x) R (vcpu1", "0", -2, },
		{ "", "1", -1, },
		{ "qemu", "1", -1, },
		{ "qemu", "0", -2, },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_number(vcpu_of(cases[i].name, cases[i].guest), cases[i].vcpu, cases[i].name);
}

static int read_700(unsigned int num_vcpus, size_t expected)
{
	struct proc_threads threads;
	int ret = proc_read_threads(tree_root, 700, num_vcpus, &threads);

	if (ret)
		return ret;
	free(threads.thread);
	return threads.count == expected ? 0 : -ENODATA;
}

/* Reading too many threads takes too long. */
static void test_too_many_threads(void)
{
	int tid;

	tree_make("700/task/");
	for (tid = 700; tid < 703; tid++)
		add_thread(700, tid, "vcpu0", "1 1", "0");
	add_thread(700, 703, "qemu", "1 1", "1");
	check_number(read_700(3, 4), 0, "as many threads named like vCPUs as vCPUs: read");
	check_number(read_700(2, 4), -E2BIG, "one more of them: refused");
	for (; tid < 703 + PROC_OTHER_THREADS; tid++) {
		if (tid > 703)
			tree_make("700/task/%d/", tid);
	}
	check_number(read_700(3, 4), 0, "1000 other threads: read");
	tree_make("700/task/9999/");
	check_number(read_700(3, 4), -E2BIG, "one more other thread: refused");
	check_number(read_700(4, 4), 0, "with one more vCPU: read");
}

static void test_find(void)
{
	struct proc_threads threads = {};
	struct proc_thread thread = {};
	size_t i, found = 0;

	check(!proc_find_thread(&threads, 0), "find: nothing in nothing");
	for (thread.tid = 1; thread.tid < 20; thread.tid += 2)
		proc_threads_add(&threads, &thread);
	for (i = 0; i < threads.count; i++)
		found += proc_find_thread(&threads, 2 * i + 1) == &threads.thread[i];
	check(found == 10 && !proc_find_thread(&threads, 4) && !proc_find_thread(&threads, 21),
	      "find: a thread");
	free(threads.thread);
}

/* Copies of a file descriptor do not count as more vCPUs. */
static void test_vcpus(void)
{
	struct proc_fds fds = {};
	struct proc_fd fd = { .link = LINK_VM, };
	size_t count;
	int *vcpu;

	free(proc_vcpus(&fds, &count));
	check_number(count, 0, "vCPUs: none");
	proc_fds_add(&fds, &fd);
	for (fd.fd = 1; fd.fd < 100; fd.fd++) {
		fd.link = 7 - fd.fd % 3;
		proc_fds_add(&fds, &fd);
	}
	vcpu = proc_vcpus(&fds, &count);
	check(count == 3 && vcpu[0] == 5 && vcpu[1] == 6 && vcpu[2] == 7, "vCPUs: each once");
	free(vcpu);
	free(fds.entry);
}

static void clean_up(void)
{
	tree_end();
	proc_memory_free(&memory);
}

/* A real process, which has the name of a vCPU thread and sleeps. */
static void test_states(void)
{
	enum proc_state state = PROC_UNKNOWN;
	struct proc_threads threads;
	unsigned int tries;
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_NAME, "vcpu0");
		for (;;)
			pause();
	}
	for (tries = 0; tries < 1000 && state != PROC_OUTSIDE; tries++) {
		usleep(10000);
		if (proc_read_threads("/proc", child, 1, &threads))
			abort();
		state = threads.count ? threads.thread[0].state : PROC_UNKNOWN;
		free(threads.thread);
	}
	check_number(state, PROC_OUTSIDE, "state: sleeps, and not in KVM_RUN");
	kill(child, SIGSTOP);
	waitpid(child, NULL, WUNTRACED);
	if (proc_read_threads("/proc", child, 1, &threads))
		abort();
	check(threads.count && threads.thread[0].state == PROC_STOPPED, "state: stopped");
	free(threads.thread);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void vanish(void)
{
	remove_process(12345);
}

static void stay(void)
{
}

/* Reading links fails: the process may have died meanwhile. */
static void test_died_meanwhile(void)
{
	struct proc_fds fds;

	add_process(12345, 1);
	before_link = vanish;
	check_number(proc_list_fds(tree_root, 12345, &fds), -ENOENT,
		     "unreadable links of a process that died: no error");
	add_process(12345, 1);
	before_link = stay;
	check_number(proc_list_fds(tree_root, 12345, &fds), -EACCES,
		     "unreadable links of a living process: EACCES");
	before_link = NULL;
	remove_process(12345);
}

static void lose_capability(unsigned int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3, };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	if (syscall(SYS_capget, &header, data))
		abort();
	data[CAP_TO_INDEX(capability)].effective &= ~CAP_TO_MASK(capability);
	if (syscall(SYS_capset, &header, data))
		abort();
}

/* As in most containers: kvmstat may list file descriptors, but not read their links. */
static void test_without_ptrace(void)
{
	struct proc_fds fds;
	int status, ends[2];
	pid_t other, reader;

	if (geteuid()) {
		skip("needs root", "root without CAP_SYS_PTRACE");
		return;
	}
	if (pipe(ends))
		abort();
	other = fork();
	if (!other) {
		/* A changed user makes it not dumpable: tracing it needs the capability. */
		if (setresuid(12345, 12345, 12345) || write(ends[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ends[0], &status, 1) != 1)
		abort();
	reader = fork();
	if (!reader) {
		lose_capability(CAP_SYS_PTRACE);
		_exit(proc_list_fds("/proc", other, &fds) == -EACCES ? 0 : 1);
	}
	waitpid(reader, &status, 0);
	check_number(status, 0, "root without CAP_SYS_PTRACE: it is denied");
	check_number(proc_list_fds("/proc", other, &fds), 0, "root with CAP_SYS_PTRACE: it may");
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	tree_begin();
	test_cost();
	test_few();
	test_many();
	test_others();
	test_foreign();
	test_very_many();
	test_times();
	test_names();
	test_states();
	test_too_many_threads();
	test_find();
	test_vcpus();
	test_died_meanwhile();
	clean_up();
	test_without_ptrace();
	return tap_end();
}
