/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parameter of kvm that has the time of vCPUs accounted for, for the tests of
 * KVM's statistics files.
 */
#ifndef SELFTEST_KVM_STATS_FD_SWITCH_H
#define SELFTEST_KVM_STATS_FD_SWITCH_H

#include "stats_fd_util.h"

#define PARAMETER		"/sys/module/kvm/parameters/stats_time"

static inline bool is_on(struct __test_metadata *_metadata)
{
	FILE *file = fopen(PARAMETER, "re");
	char on;

	ASSERT_NE(NULL, file) TH_LOG(PARAMETER ": %s", strerror(errno));
	ASSERT_EQ(1, fscanf(file, "%c", &on));
	fclose(file);
	return on == 'Y';
}

/* Returns 0 or -errno. */
static inline int turn(struct __test_metadata *_metadata, const char *value)
{
	int fd = open(PARAMETER, O_WRONLY | O_CLOEXEC), r;

	ASSERT_LE(0, fd) TH_LOG(PARAMETER ": %s", strerror(errno));
	r = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static inline void turn_on(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, turn(_metadata, "1"));
}

static inline void turn_off(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, turn(_metadata, "0"));
}

#endif /* SELFTEST_KVM_STATS_FD_SWITCH_H */
