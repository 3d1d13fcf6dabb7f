/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that sleeps until it is woken, for the tests of KVM's statistics files.
 */
#ifndef SELFTEST_KVM_STATS_FD_SLEEP_H
#define SELFTEST_KVM_STATS_FD_SLEEP_H

#include "stats_fd_counts.h"

/* Run the sleep guest and wait until it sleeps. */
static inline void runner_sleep(struct __test_metadata *_metadata,
				struct runner *r, struct guest_vcpu *v)
{
	runner_create(_metadata, r, v);
	runner_wait_for(_metadata, r, "blocking", 1);
}

/* The exit reason of the sleep guest after it was woken. */
#ifndef STATS_WOKEN_EXIT_REASON
#define STATS_WOKEN_EXIT_REASON	STATS_USER_EXIT_REASON
#endif

/* Wake the sleep guest, asleep or about to be, and wait until it has exited. */
static inline void runner_wake(struct __test_metadata *_metadata, struct runner *r, int vm)
{
	int vcpu = r->vcpu->fd;

	stats_arch_wake(_metadata, vm, vcpu);
	runner_join_exit(_metadata, r, STATS_WOKEN_EXIT_REASON);
	stats_arch_woken(_metadata, vm, vcpu);
}

#endif /* SELFTEST_KVM_STATS_FD_SLEEP_H */
