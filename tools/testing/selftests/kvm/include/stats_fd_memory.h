/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of KVM's statistics files know about memory: what a cgroup of
 * a test's own is charged, which is exact to the page, and what the system has,
 * which includes what no cgroup is charged.
 */
#ifndef SELFTEST_KVM_STATS_FD_MEMORY_H
#define SELFTEST_KVM_STATS_FD_MEMORY_H

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
 * the same for that many grace periods of RCU, or at the last of all rounds.
 */
#define STATS_SETTLED_ROUNDS	10
#define STATS_SETTLE_ROUNDS	500

/* 0 or a negative errno. */
static inline int stats_write_file(const char *dir, const char *name,
				   const char *text)
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

/*
 * Make a cgroup whose memory is counted. 0, or a negative errno where the test
 * may not, or where memory is not with cgroup2.
 */
static inline int stats_cgroup_create(char cgroup[STATS_CGROUP_SIZE])
{
	int ret;

	stats_write_file(STATS_CGROUPS, "cgroup.subtree_control", "+memory");
	snprintf(cgroup, STATS_CGROUP_SIZE, STATS_CGROUPS "/kvm-stats-%d",
		 getpid());
	if (mkdir(cgroup, 0755))
		return -errno;
	/* No limit, to see whether there is one to set. */
	ret = stats_write_file(cgroup, "memory.high", "max");
	if (ret)
		rmdir(cgroup);
	return ret;
}

/* For children. */
static inline void stats_cgroup_enter(struct __test_metadata *_metadata,
				      const char *cgroup)
{
	ASSERT_EQ(0, stats_write_file(cgroup, "cgroup.procs", "0"));
}

/* The number in the file, or behind the key that begins one of its lines. */
static inline long stats_read_number(struct __test_metadata *_metadata,
				     const char *dir, const char *name,
				     const char *key)
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

/* One grace period of RCU, so that what waits for it is freed. */
static inline void stats_wait_for_rcu(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0);
}

/*
 * Bytes that a cgroup is charged. Lowering the limit takes back what the CPUs
 * have in stock for it and the caches that the kernel can do without; what is
 * left is in use.
 */
static inline long stats_cgroup_bytes(struct __test_metadata *_metadata,
				      const char *cgroup)
{
	ASSERT_EQ(0, stats_write_file(cgroup, "memory.high", "0"));
	ASSERT_EQ(0, stats_write_file(cgroup, "memory.high", "max"));
	return stats_read_number(_metadata, cgroup, "memory.current", "");
}

/* Bytes that the whole system uses and that no cache gives back. */
static inline long stats_system_bytes(struct __test_metadata *_metadata)
{
	const char *const has[] = {
		"MemFree:", "Buffers:", "Cached:", "SReclaimable:",
	};
	long used = stats_read_number(_metadata, "/proc", "meminfo",
				      "MemTotal:");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(has); i++)
		used -= stats_read_number(_metadata, "/proc", "meminfo", has[i]);
	return used * 1024;
}

/* Does memory come back when it is freed? KASAN keeps it, to see late users. */
static inline bool stats_memory_is_exact(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[STATS_LINE_SIZE];
	bool kasan = false;

	while (symbols && !kasan && fgets(line, sizeof(line), symbols))
		kasan = strstr(line, " kasan_report\n");
	if (symbols)
		fclose(symbols);
	return !kasan;
}

/* The bytes of a cgroup, or of the system if it is NULL, at rest. */
static inline long stats_settled_bytes(struct __test_metadata *_metadata,
				       const char *cgroup)
{
	long now, bytes = LONG_MAX;
	int i, same = 0;

	for (i = 0; i < STATS_SETTLE_ROUNDS; i++) {
		stats_wait_for_rcu();
		now = cgroup ? stats_cgroup_bytes(_metadata, cgroup) :
		      stats_system_bytes(_metadata);
		if (now < bytes)
			same = 0;
		else if (++same == STATS_SETTLED_ROUNDS)
			break;
		bytes = now < bytes ? now : bytes;
	}
	return bytes;
}

/*
 * Bytes that the use of memory varies by while nothing is leaked: few pages in
 * the cgroup, and in the system what its CPUs have in stock.
 */
#define STATS_CGROUP_NOISE	(16L << 10)
#define STATS_SYSTEM_NOISE	(1024L << 10)
/* Others may use memory meanwhile, but not as often as a leak shows. */
#define STATS_SYSTEM_TRIES	3

/*
 * Run @fn, which has run before, in whose children @cgroup is what is charged:
 * it leaves nothing behind. If memory is not exact it only runs.
 */
static inline void
stats_expect_no_growth(struct __test_metadata *_metadata, const char *cgroup,
		       bool exact, void (*fn)(struct __test_metadata *_metadata,
					      void *arg), void *arg)
{
	long charged, used;
	int try;

	for (try = 0; try < STATS_SYSTEM_TRIES; try++) {
		charged = stats_settled_bytes(_metadata, cgroup);
		used = stats_settled_bytes(_metadata, NULL);
		fn(_metadata, arg);
		charged = stats_settled_bytes(_metadata, cgroup) - charged;
		used = stats_settled_bytes(_metadata, NULL) - used;
		TH_LOG("growth of the cgroup %ld kB, of the system %ld kB",
		       charged / 1024, used / 1024);
		if (!exact)
			return;
		EXPECT_GE(STATS_CGROUP_NOISE, charged);
		if (used <= STATS_SYSTEM_NOISE)
			return;
	}
	EXPECT_GE(STATS_SYSTEM_NOISE, used);
}

#endif /* SELFTEST_KVM_STATS_FD_MEMORY_H */
