/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KVM's parameter that turns the accounting of vCPU time on and off, for the tests of
 * KVM's statistics files.
 */
#ifndef SELFTEST_KVM_STATS_FD_SWITCH_H
#define SELFTEST_KVM_STATS_FD_SWITCH_H

#include "stats_fd_util.h"

#define STATS_TIME_PARAMETER	"/sys/module/kvm/parameters/stats_time"

static inline bool stats_time_is_on(struct __test_metadata *_metadata)
{
	FILE *file = fopen(STATS_TIME_PARAMETER, "re");
	char on;

	ASSERT_NE(NULL, file) TH_LOG(STATS_TIME_PARAMETER ": %s", strerror(errno));
	ASSERT_EQ(1, fscanf(file, "%c", &on));
	fclose(file);
	return on == 'Y';
}

/* Return 0 or a negative errno. */
static inline int stats_time_turn(struct __test_metadata *_metadata, const char *value)
{
	int fd = open(STATS_TIME_PARAMETER, O_WRONLY | O_CLOEXEC), r;

	ASSERT_LE(0, fd) TH_LOG(STATS_TIME_PARAMETER ": %s", strerror(errno));
	r = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return r;
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
