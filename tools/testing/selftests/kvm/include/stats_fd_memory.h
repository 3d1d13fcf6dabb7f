/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of KVM's statistics files know about memory: what a cgroup of
 * a test's own is charged, which is exact to the page, and what the system has,
 * which includes what no cgroup is charged.
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
 * The kernel puts off the return of some memory. It is settled when it has been
 * the same for that many rounds of waiting on each CPU, or at the last of all.
 */
#define STATS_SETTLED_ROUNDS	8
#define STATS_SETTLE_ROUNDS	200

/* 0 or a negative errno. */
static inline int stats_write_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	ssize_t ret;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = result(write(fd, text, strlen(text)));
	close(fd);
	return ret < 0 ? ret : 0;
}

/* Settings of the whole system, which a process of its own puts back. */
struct stats_setting {
	const char *dir;
	const char *name;
	const char *value;
	char saved[64];
};

struct stats_keeper {
	pid_t pid;
	int pipe;
};

static inline void stats_save_settings(struct __test_metadata *_metadata,
				       struct stats_setting *settings)
{
	struct stats_setting *s;
	char path[PATH_MAX];
	ssize_t len;
	int fd;

	for (s = settings; s->dir; s++) {
		snprintf(path, sizeof(path), "%s/%s", s->dir, s->name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		ASSERT_LE(0, fd) TH_LOG("%s: %s", path, strerror(errno));
		len = read(fd, s->saved, sizeof(s->saved) - 1);
		ASSERT_LT(0, len);
		s->saved[len] = '\0';
		close(fd);
	}
}

/*
 * Change settings until stats_restore_settings(), or until the test dies in
 * whatever way: the process that puts them back has a group of its own.
 */
static inline void stats_change_settings(struct __test_metadata *_metadata,
					 struct stats_setting *settings,
					 struct stats_keeper *keeper)
{
	struct stats_setting *s;
	int pipefd[2];
	char byte;

	stats_save_settings(_metadata, settings);
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

/* Let any allocation fail that a thread names in STATS_FAIL_NTH. */
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

/*
 * Keep off the console what the kernel says with a call trace of memory that a
 * test has made scarce. Errors still get there, and the log has all of it.
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
 * Make a cgroup whose memory is counted. 0, or a negative errno where the test
 * may not, or where memory is not with cgroup2.
 */
static inline int stats_cgroup_create(char cgroup[STATS_CGROUP_SIZE])
{
	int ret;

	stats_write_file(STATS_CGROUPS, "cgroup.subtree_control", "+memory");
	snprintf(cgroup, STATS_CGROUP_SIZE, STATS_CGROUPS "/kvm-stats-%d", getpid());
	if (mkdir(cgroup, 0755))
		return -errno;
	/* No limit, to see whether there is one to set. */
	ret = stats_write_file(cgroup, "memory.high", "max");
	if (ret)
		rmdir(cgroup);
	return ret;
}

/* For children. */
static inline void stats_cgroup_enter(struct __test_metadata *_metadata, const char *cgroup)
{
	ASSERT_EQ(0, stats_write_file(cgroup, "cgroup.procs", "0"));
}

/* The number in the file, or behind the key that begins one of its lines. */
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

/* The cgroup of this process, as a directory. */
static inline void stats_own_cgroup(struct __test_metadata *_metadata, char own[PATH_MAX])
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];

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

static inline int stats_open_procs(struct __test_metadata *_metadata, const char *cgroup)
{
	char path[PATH_MAX + sizeof("/cgroup.procs")];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd) TH_LOG("%s: %s", path, strerror(errno));
	return fd;
}

/*
 * Of objects that are freed the cgroup gets whole pages back, what is over is put
 * together when it has or frees an object next: have one for a moment, that of a
 * mapping, which is freed at once and nothing else with it.
 */
static inline void stats_settle_objects(struct __test_metadata *_metadata, const char *cgroup)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	char own[PATH_MAX];
	int enter, leave;
	void *map;

	stats_own_cgroup(_metadata, own);
	enter = stats_open_procs(_metadata, cgroup);
	leave = stats_open_procs(_metadata, own);
	ASSERT_EQ(1, write(enter, "0", 1));
	map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, munmap(map, size));
	ASSERT_EQ(1, write(leave, "0", 1));
	close(enter);
	close(leave);
}

/*
 * Take back what the kernel keeps on this CPU: what waits for a grace period of
 * RCU, for the callbacks of one CPU are called in their order, and what is in
 * stock for the cgroup. Lowering the limit also frees what is cached for it.
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

/* What is in use, in bytes. */
struct stats_usage {
	long cgroup;		/* charged to the cgroup */
	long system;		/* by the whole system */
};

/* Bytes that the whole system uses and that no cache gives back. */
static inline long stats_system_bytes(struct __test_metadata *_metadata)
{
	const char *const has[] = {
		"MemFree:", "Buffers:", "Cached:", "SReclaimable:",
	};
	long used = stats_read_number(_metadata, "/proc", "meminfo", "MemTotal:");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(has); i++)
		used -= stats_read_number(_metadata, "/proc", "meminfo", has[i]);
	return used * 1024;
}

/* Does memory come back when it is freed? KASAN keeps it, to see late users. */
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

/* What is in use at rest. Where memory does not come back, nobody waits for it. */
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

/*
 * Bytes that the use of memory varies by while nothing is leaked: few pages in
 * the cgroup, and in the system what its CPUs have in stock.
 */
#define STATS_CGROUP_NOISE	(4 * sysconf(_SC_PAGESIZE))
#define STATS_SYSTEM_NOISE	(1024L << 10)
/*
 * Others may use memory meanwhile, or the machine be too busy to free it, but
 * not as often as a leak shows.
 */
#define STATS_GROWTH_TRIES	3

/* What is freed in the background is gone after some of these, a leak is not. */
#define STATS_CGROUP_TRIES	30

/* Bytes that the cgroup is charged, as soon as they are no more than @most. */
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
 * Run @fn, which has run before, in whose children @cgroup is what is charged:
 * it leaves nothing behind. If memory is not exact it only runs.
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
