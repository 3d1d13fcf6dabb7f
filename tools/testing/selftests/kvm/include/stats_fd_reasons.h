/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU's exits by reason, for the tests of KVM's statistics files.
 */
#ifndef SELFTEST_KVM_STATS_FD_REASONS_H
#define SELFTEST_KVM_STATS_FD_REASONS_H

#include "stats_fd_reasons_arch.h"

#define REASONS_MAX		64

/* Exits of a vCPU, in total and by reason. */
struct reasons {
	__u64 exits;
	__u64 of[REASONS_MAX];
};

/* Return the number of exit reasons. */
static inline unsigned int reasons_num(struct __test_metadata *_metadata,
				       const struct stats_file *f)
{
	unsigned int num = stats_get(_metadata, f, "exit_reasons")->size;

	ASSERT_GE(REASONS_MAX, num);
	return num;
}

/* Return the element of a reason, or -1. */
static inline int reason_find(const struct stats_file *f, const char *name)
{
	return stats_find_value(f, "exit_reasons", name);
}

static inline const char *reason_name(const struct stats_file *f, unsigned int element)
{
	return stats_name_of(f, "exit_reasons", element);
}

/* Read an array of times by exit reason and return the sum. */
static inline __u64 reasons_time(struct __test_metadata *_metadata, const struct guest_vcpu *v,
				 const char *stat, __u64 of[REASONS_MAX])
{
	unsigned int i, num = reasons_num(_metadata, &v->file);
	__u64 sum = 0;

	stats_read_all(_metadata, &v->file, stat, of, num);
	for (i = 0; i < num; i++)
		sum += of[i];
	return sum;
}

#define reasons_ns(_metadata, v, of)		reasons_time(_metadata, v, "exit_reason_ns", of)
#define reasons_sleep_ns(_metadata, v, of)	\
	reasons_time(_metadata, v, "exit_reason_sleep_ns", of)

#define EXIT_BUCKETS		32

/*
 * Return the number of exits in the histogram of exit times. Expect that the sum of the
 * buckets' lower bounds is not more than the total time. No thread may run the vCPU.
 */
static inline __u64 exits_timed(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	__u64 hist[EXIT_BUCKETS], exits, least = 0;
	int i;

	stats_read_all(_metadata, &v->file, "exit_hist", hist, EXIT_BUCKETS);
	exits = hist[0];
	for (i = 1; i < EXIT_BUCKETS; i++) {
		exits += hist[i];
		least += hist[i] << (i - 1);
	}
	EXPECT_GE(vcpu_read(_metadata, v, "time_exit_ns"), least);
	return exits;
}

/*
 * Read the exits by reason. Expect that they add up, in number and in time, and that the
 * time of all exits or of none was accounted for. No thread may run the vCPU.
 */
static inline void reasons_read(struct __test_metadata *_metadata,
				const struct guest_vcpu *v, struct reasons *r)
{
	unsigned int i, num = reasons_num(_metadata, &v->file);
	__u64 sum = 0, timed, ns[REASONS_MAX];

	r->exits = vcpu_read(_metadata, v, "exits");
	stats_read_all(_metadata, &v->file, "exit_reasons", r->of, num);
	for (i = 0; i < num; i++)
		sum += r->of[i];
	EXPECT_EQ(r->exits, sum);
	EXPECT_EQ(vcpu_read(_metadata, v, "time_exit_ns"), reasons_ns(_metadata, v, ns));
	timed = exits_timed(_metadata, v);
	EXPECT_EQ(timed ? r->exits : 0, timed);
}

static inline __u64 reason_of(struct __test_metadata *_metadata, const struct guest_vcpu *v,
			      const struct reasons *r, const char *name)
{
	int element = reason_find(&v->file, name);

	ASSERT_LE(0, element) TH_LOG("no reason %s", name);
	return r->of[element];
}

static inline __u64 exits_by(struct __test_metadata *_metadata, const struct guest_vcpu *v,
			     const char *name)
{
	struct reasons r;

	reasons_read(_metadata, v, &r);
	return reason_of(_metadata, v, &r, name);
}

/* Also compare reasons with statistics that count the same, without a nested guest. */
static inline void reasons_expect(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	struct reasons r;
	int i;

	reasons_read(_metadata, v, &r);
	for (i = 0; stats_arch_same[i][0]; i++) {
		EXPECT_EQ(vcpu_read(_metadata, v, stats_arch_same[i][1]),
			  reason_of(_metadata, v, &r, stats_arch_same[i][0])) {
			TH_LOG("%s", stats_arch_same[i][0]);
		}
	}
}

#endif /* SELFTEST_KVM_STATS_FD_REASONS_H */
