/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measure memory in the tests of KVM's statistics files: the charge of a cgroup, which is
 * exact to the page, and the use of the whole system, which includes uncharged memory.
 */
#ifndef SELFTEST_KVM_STATS_FD_MEMORY_H
#define SELFTEST_KVM_STATS_FD_MEMORY_H

#include <sched.h>
#include <sys/mman.h>

#include "stats_fd_util.h"

#define STATS_CGROUPS		"/sys/fs/cgroup"
#define STATS_CGROUP_SIZE	64

#ifndef SYS_membarrier
#ifdef __x86_64__
#define SYS_membarrier		324
#else
#define SYS_membarrier		283
#endif
#endif
#ifndef MEMBARRIER_CMD_GLOBAL
#define MEMBARRIER_CMD_GLOBAL	1
#endif

/*
 * The kernel frees some memory later. Wait until its use has not fallen for some rounds, or
 * until the last round.
 */
#define STATS_SETTLED_ROUNDS	8
#define STATS_SETTLE_ROUNDS	200

/* A setting of the whole system. A separate process restores it. */
struct stats_setting {
	const char *dir;
	const char *name;
	const char *value;
	char saved[STATS_LINE_SIZE];
};

struct stats_keeper {
	pid_t pid;
	int pipe;
};

/*
 * Change settings until stats_restore_settings() or the test's death. The process that
 * restores them has a process group of its own, so that it survives a timeout.
 */
static inline void stats_change_settings(struct __test_metadata *_metadata,
					 struct stats_setting *settings,
					 struct stats_keeper *keeper)
{
	struct stats_setting *s;
	int pipefd[2];
	char byte;

	for (s = settings; s->dir; s++) {
		ASSERT_TRUE(stats_read_line(s->dir, s->name, s->saved)) {
			TH_LOG("%s/%s", s->dir, s->name);
		}
	}
	ASSERT_EQ(0, pipe2(pipefd, O_CLOEXEC));
	keeper->pipe = pipefd[1];
	keeper->pid = fork();
	ASSERT_LE(0, keeper->pid);
	if (!keeper->pid) {
		setpgid(0, 0);
		close(pipefd[1]);
		if (read(pipefd[0], &byte, 1))
			_exit(1);
		for (s = settings; s->dir; s++) {
			if (stats_write_file(s->dir, s->name, s->saved))
				_exit(1);
		}
		_exit(0);
	}
	close(pipefd[0]);
	for (s = settings; s->dir; s++) {
		ASSERT_EQ(0, stats_write_file(s->dir, s->name, s->value)) {
			TH_LOG("%s/%s", s->dir, s->name);
		}
	}
}

static inline void stats_restore_settings(struct __test_metadata *_metadata,
					  struct stats_keeper *keeper)
{
	close(keeper->pipe);
	stats_wait(_metadata, keeper->pid);
}

#define STATS_FAIL_NTH		"/proc/thread-self/fail-nth"
#define STATS_FAILSLAB		"/sys/kernel/debug/failslab"
#define STATS_FAIL_PAGE		"/sys/kernel/debug/fail_page_alloc"

static inline bool stats_can_fail_allocations(void)
{
	return !access(STATS_FAIL_NTH, W_OK) && !access(STATS_FAILSLAB, X_OK) &&
	       !access(STATS_FAIL_PAGE, X_OK);
}

/* Let the allocation fail whose number a thread writes to STATS_FAIL_NTH. */
static inline void stats_fail_allocations(struct __test_metadata *_metadata,
					  struct stats_keeper *keeper)
{
	struct stats_setting settings[] = {
		{ STATS_FAILSLAB, "ignore-gfp-wait", "N" },
		{ STATS_FAILSLAB, "verbose", "0" },
		{ STATS_FAIL_PAGE, "ignore-gfp-wait", "N" },
		{ STATS_FAIL_PAGE, "min-order", "0" },
		{ STATS_FAIL_PAGE, "verbose", "0" },
		{ }
	};

	stats_change_settings(_metadata, settings, keeper);
}

/* Let the nth allocation of @call fail. Return whether there was one, and the result. */
static inline bool stats_fail_nth(struct __test_metadata *_metadata, int fail_nth, int n,
				  int (*call)(const void *arg), const void *arg, int *ret)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);
	bool failed;

	ASSERT_EQ(len, pwrite(fail_nth, text, len, 0));
	*ret = call(arg);
	ASSERT_LT(0, pread(fail_nth, text, sizeof(text), 0));
	failed = text[0] == '0';
	ASSERT_EQ(1, pwrite(fail_nth, "0", 1, 0));
	return failed;
}

/*
 * Keep the kernel's warnings of failed allocations off the console. The log has them, and
 * errors still appear.
 */
static inline void stats_quiet_console(struct __test_metadata *_metadata,
				       struct stats_keeper *keeper)
{
	struct stats_setting settings[] = {
		{ "/sys/module/printk/parameters", "ignore_loglevel", "N" },
		{ "/proc/sys/kernel", "printk", "4" },
		{ }
	};

	stats_change_settings(_metadata, settings, keeper);
}

/*
 * Create a cgroup with the memory controller. Return 0, or a negative errno if the test may
 * not or if the controller is not in cgroup2.
 */
static inline int stats_cgroup_create(char cgroup[STATS_CGROUP_SIZE])
{
	int ret;

	stats_write_file(STATS_CGROUPS, "cgroup.subtree_control", "+memory");
	snprintf(cgroup, STATS_CGROUP_SIZE, STATS_CGROUPS "/kvm-stats-%d", getpid());
	if (mkdir(cgroup, 0755))
		return -errno;
	/* Succeeds only if there is a memory controller. */
	ret = stats_write_file(cgroup, "memory.high", "max");
	if (ret)
		rmdir(cgroup);
	return ret;
}

/* Move the calling process to the cgroup. */
static inline void stats_cgroup_enter(struct __test_metadata *_metadata, const char *cgroup)
{
	ASSERT_EQ(0, stats_write_file(cgroup, "cgroup.procs", "0"));
}

/* Return the number in a file, or behind @key in one of its lines. */
static inline long stats_read_number(struct __test_metadata *_metadata,
				     const char *dir, const char *name, const char *key)
{
	char path[PATH_MAX], line[STATS_LINE_SIZE];
	long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "re");
	ASSERT_NE(NULL, file) TH_LOG("%s: %s", path, strerror(errno));
	while (value < 0 && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, strlen(key)))
			value = atol(line + strlen(key));
	}
	fclose(file);
	ASSERT_LE(0, value) TH_LOG("no %s in %s", key, path);
	return value;
}

/* Find the directory of this process's cgroup. */
static inline void stats_own_cgroup(struct __test_metadata *_metadata, char own[PATH_MAX])
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX - 64];

	ASSERT_NE(NULL, file);
	own[0] = '\0';
	while (!own[0] && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0::", 3))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(own, PATH_MAX, STATS_CGROUPS "%s", line + 3);
	}
	fclose(file);
	ASSERT_NE('\0', own[0]) TH_LOG("no cgroup2 in /proc/self/cgroup");
}

/* Open a file of a cgroup for writing. */
static inline int stats_cgroup_open(struct __test_metadata *_metadata,
				    const char *cgroup, const char *name)
{
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", cgroup, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd) TH_LOG("%s: %s", path, strerror(errno));
	return fd;
}

/*
 * The kernel uncharges freed objects in whole pages, and keeps the rest until the cgroup
 * allocates or frees another object: let it create and remove a mapping. On newer kernels,
 * pages of a process that has exited also stay charged while the CPU has not put them on an
 * LRU list: let madvise() do this.
 */
static inline void stats_settle_objects(struct __test_metadata *_metadata, const char *cgroup)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	char own[PATH_MAX];
	int enter, leave;
	void *map;

	stats_own_cgroup(_metadata, own);
	enter = stats_cgroup_open(_metadata, cgroup, "cgroup.procs");
	leave = stats_cgroup_open(_metadata, own, "cgroup.procs");
	ASSERT_EQ(1, write(enter, "0", 1));
	map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, madvise(map, size, MADV_COLD));
	ASSERT_EQ(0, munmap(map, size));
	ASSERT_EQ(1, write(leave, "0", 1));
	close(enter);
	close(leave);
}

/*
 * Let the kernel free what it keeps on this CPU: objects that wait for an RCU grace period,
 * and the cgroup's charges in advance. A lower limit also frees its caches.
 */
static inline void stats_settle_cpu(struct __test_metadata *_metadata, const char *cgroup)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0);
	stats_settle_objects(_metadata, cgroup);
	ASSERT_EQ(0, stats_write_file(cgroup, "memory.high", "0"));
	ASSERT_EQ(0, stats_write_file(cgroup, "memory.high", "max"));
}

static inline void stats_settle_cpus(struct __test_metadata *_metadata, const char *cgroup)
{
	cpu_set_t all, one;
	int cpu;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
		stats_settle_cpu(_metadata, cgroup);
	}
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
}

/* Bytes in use. */
struct stats_usage {
	long cgroup;		/* charged to the cgroup */
	long system;		/* used by the whole system */
};

/* Return the number of free pages that CPUs keep for their own use: many since Linux 6.7. */
static inline long stats_pages_of_cpus(struct __test_metadata *_metadata)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	long pages, sum = 0;
	char line[256];

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, " count: %ld", &pages) == 1)
			sum += pages;
	}
	fclose(file);
	return sum;
}

/* Return how much memory the system uses, without caches. */
static inline long stats_system_bytes(struct __test_metadata *_metadata)
{
	const char *const has[] = {
		"MemFree:", "Buffers:", "Cached:", "SReclaimable:",
	};
	long used = stats_read_number(_metadata, "/proc", "meminfo", "MemTotal:");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(has); i++)
		used -= stats_read_number(_metadata, "/proc", "meminfo", has[i]);
	return used * 1024 - stats_pages_of_cpus(_metadata) * sysconf(_SC_PAGESIZE);
}

/* Return whether freed memory comes back. KASAN keeps it to detect late users. */
static inline bool stats_memory_is_exact(void)
{
	static enum { UNKNOWN, EXACT, KEPT } memory;

	if (memory == UNKNOWN)
		memory = stats_kernel_has("kasan_report") ? KEPT : EXACT;
	return memory == EXACT;
}

static inline void stats_lower(long *value, long now, int *same)
{
	if (now < *value) {
		*value = now;
		*same = 0;
	}
}

/* Return the use of memory at rest. If freed memory does not come back, do not wait. */
static inline struct stats_usage
stats_settled(struct __test_metadata *_metadata, const char *cgroup)
{
	int rounds = stats_memory_is_exact() ? STATS_SETTLE_ROUNDS : 1;
	struct stats_usage usage = { LONG_MAX, LONG_MAX };
	int i, same = 0;

	for (i = 0; i < rounds && same < STATS_SETTLED_ROUNDS; i++) {
		same++;
		stats_settle_cpus(_metadata, cgroup);
		stats_lower(&usage.cgroup,
			    stats_read_number(_metadata, cgroup, "memory.current", ""), &same);
		stats_lower(&usage.system, stats_system_bytes(_metadata), &same);
	}
	return usage;
}

/* The use of memory varies by this much without a leak. */
#define STATS_CGROUP_NOISE	(4 * sysconf(_SC_PAGESIZE))
#define STATS_SYSTEM_NOISE	(1024L << 10)
/* Other processes may use more memory during one try. A leak shows in each. */
#define STATS_GROWTH_TRIES	3

/* The kernel frees memory in the background during these tries, except a leak. */
#define STATS_CGROUP_TRIES	30

/* Wait until the cgroup's charge is at most @most bytes, and return it. */
static inline long stats_cgroup_bytes(struct __test_metadata *_metadata,
				      const char *cgroup, long most)
{
	int tries = stats_memory_is_exact() ? STATS_CGROUP_TRIES : 1;
	long bytes = LONG_MAX;
	int try;

	for (try = 0; try < tries && bytes > most; try++)
		bytes = stats_settled(_metadata, cgroup).cgroup;
	return bytes;
}

/*
 * Call @fn, whose children are in @cgroup, and expect that it leaks nothing. The caller has
 * called it once. If memory is not exact, only call it.
 */
static inline void
stats_expect_no_growth(struct __test_metadata *_metadata, const char *cgroup,
		       void (*fn)(struct __test_metadata *_metadata, void *arg), void *arg)
{
	struct stats_usage before, after, growth;
	int try;

	after = stats_settled(_metadata, cgroup);
	for (try = 0; try < STATS_GROWTH_TRIES; try++) {
		before = after;
		fn(_metadata, arg);
		after = stats_settled(_metadata, cgroup);
		growth.cgroup = after.cgroup - before.cgroup;
		growth.system = after.system - before.system;
		TH_LOG("growth of the cgroup %ld kB, of the system %ld kB",
		       growth.cgroup / 1024, growth.system / 1024);
		if (!stats_memory_is_exact() || (growth.cgroup <= STATS_CGROUP_NOISE &&
						 growth.system <= STATS_SYSTEM_NOISE))
			return;
	}
	EXPECT_GE(STATS_CGROUP_NOISE, growth.cgroup);
	EXPECT_GE(STATS_SYSTEM_NOISE, growth.system);
}

#endif /* SELFTEST_KVM_STATS_FD_MEMORY_H */
