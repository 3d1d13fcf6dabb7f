/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KVM's parameter that turns the accounting of vCPU time on and off, for the tests of
 * KVM's statistics files.
 */
#ifndef SELFTEST_KVM_STATS_FD_SWITCH_H
#define SELFTEST_KVM_STATS_FD_SWITCH_H

#include "stats_fd_util.h"

#define STATS_PARAMETERS	"/sys/module/kvm/parameters"

static inline bool stats_time_is_on(struct __test_metadata *_metadata)
{
	char line[STATS_LINE_SIZE];

	ASSERT_TRUE(stats_read_line(STATS_PARAMETERS, "stats_time", line));
	return line[0] == 'Y';
}

/* Return 0 or a negative errno. */
static inline int stats_time_turn(struct __test_metadata *_metadata, const char *value)
{
	return stats_write_file(STATS_PARAMETERS, "stats_time", value);
}

static inline void stats_time_turn_on(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, stats_time_turn(_metadata, "1"));
}

static inline void stats_time_turn_off(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, stats_time_turn(_metadata, "0"));
}

#endif /* SELFTEST_KVM_STATS_FD_SWITCH_H */
