/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU's time by state, for the tests of KVM's statistics files.
 */
#ifndef SELFTEST_KVM_STATS_FD_TIMES_H
#define SELFTEST_KVM_STATS_FD_TIMES_H

#include "stats_fd_mmap.h"

#define MS			1000000ULL

/* One part in PRECISION of the time may be lost or counted twice. */
#define PRECISION		1000

/* The time between reads of two clocks, or of a state and a clock. */
#define SLACK			(1 * MS)

static const char * const times_counters[] = {
	"time_guest_ns", "time_exit_ns", "time_poll_ns", "time_halt_ns",
	"time_sleep_ns", "time_off_ns", "time_user_ns", "ready_ns",
};

enum { GUEST, EXIT, POLL, HALT, SLEPT, OFF, USER, READY, COUNTERS };

/* A vCPU's state and times at one moment. */
struct times {
	__u64 state, since;
	__u64 of[COUNTERS];
};

struct mapped_times {
	const char *block;
	const struct kvm_stats_desc *state, *since, *counter[COUNTERS];
};

static inline void times_map(struct __test_metadata *_metadata,
			     const struct stats_file *f, struct mapped_times *m)
{
	int i;

	m->block = stats_mmap(_metadata, f, sysconf(_SC_PAGESIZE));
	m->state = stats_get(_metadata, f, "state");
	m->since = stats_get(_metadata, f, "state_since_ns");
	for (i = 0; i < COUNTERS; i++)
		m->counter[i] = stats_get(_metadata, f, times_counters[i]);
}

/* Take a sample in the way that the documentation describes. */
static inline void times_sample(const struct mapped_times *m, struct times *t)
{
	int i;

	do {
		t->since = stats_mapped(m->block, m->since);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		t->state = stats_mapped(m->block, m->state);
		for (i = COUNTERS - 1; i >= 0; i--)
			t->of[i] = stats_mapped(m->block, m->counter[i]);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (!t->since || t->since != stats_mapped(m->block, m->since));
}

static inline __u64 sum_of(const struct times *t)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < COUNTERS; i++)
		sum += t->of[i];
	return sum;
}

/*
 * Expect that no time between two samples is lost or counted twice, except that @later ns of
 * waits may belong to another time.
 */
static inline void expect_all_but(struct __test_metadata *_metadata, const struct times *from,
				  const struct times *to, __u64 later)
{
	__u64 passed = to->since - from->since;
	__u64 counted = sum_of(to) - sum_of(from);
	__u64 precision = passed / PRECISION + SLACK;
	int i;

	if (counted + precision >= passed && counted <= passed + precision + later)
		return;
	EXPECT_EQ(passed, counted);
	for (i = 0; i < COUNTERS; i++) {
		TH_LOG("%s: %llu", times_counters[i],
		       (unsigned long long)(to->of[i] - from->of[i]));
	}
}

static inline void expect_all(struct __test_metadata *_metadata,
			      const struct times *from, const struct times *to)
{
	expect_all_but(_metadata, from, to, 0);
}

/* Expect at least so much time in a state. The sum shows that it is not more. */
static inline void expect_least(struct __test_metadata *_metadata,
				const struct times *from, const struct times *to,
				int counter, __u64 least)
{
	__u64 counted = to->of[counter] - from->of[counter];

	EXPECT_LE(least - least / 100, counted) TH_LOG("%s", times_counters[counter]);
}

#endif /* SELFTEST_KVM_STATS_FD_TIMES_H */
