/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time that a thread has waited for a CPU, for the tests of KVM's statistics files.
 */
#ifndef SELFTEST_KVM_STATS_FD_DELAY_H
#define SELFTEST_KVM_STATS_FD_DELAY_H

#include "stats_fd_guest.h"

/* Stays open, so that run_delay() is fast. */
static __thread int schedstat = -1;

/* Return this thread's wait time in nanoseconds, 0 if the scheduler does not count it. */
static inline __u64 run_delay(void)
{
	unsigned long long delay;
	char line[128] = "";

	if (schedstat < 0)
		schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (pread(schedstat, line, sizeof(line) - 1, 0) <= 0 ||
	    sscanf(line, "%*u %llu", &delay) != 1)
		return 0;
	return delay;
}

/* Compete for the CPU until this thread has waited for @ns. */
static inline void wait_for_cpu(struct __test_metadata *_metadata, __u64 ns)
{
	__u64 from = run_delay();
	struct busy_thread rival;

	busy_start(_metadata, &rival);
	while (run_delay() - from < ns)
		;
	busy_end(_metadata, &rival);
}

#endif /* SELFTEST_KVM_STATS_FD_DELAY_H */
