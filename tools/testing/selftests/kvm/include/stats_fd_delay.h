/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a thread has waited for a CPU, for the tests of KVM's statistics files.
 */
#ifndef SELFTEST_KVM_STATS_FD_DELAY_H
#define SELFTEST_KVM_STATS_FD_DELAY_H

#include "stats_fd_guest.h"

/* Where this thread's run_delay is read: a look at it is to be short. */
static __thread int schedstat = -1;

/* Of this thread, in nanoseconds; 0 if it cannot be had. */
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

/* Work of this thread beside a rival, until it has waited so long. */
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
