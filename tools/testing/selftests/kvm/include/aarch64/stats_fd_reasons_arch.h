/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exit reasons of arm64 guests.
 */
#ifndef SELFTEST_KVM_STATS_FD_REASONS_ARCH_H
#define SELFTEST_KVM_STATS_FD_REASONS_ARCH_H

#include "stats_fd_counts.h"

/* The reason of the user exit guest's exits. */
#define STATS_USER_REASON	"data_abort"

/* The reason of a guest's first access to its memory. */
static inline const char *stats_arch_fault_reason(void)
{
	return "data_abort";
}

/* Reasons with a statistic of their own. */
static const char * const stats_arch_same[][2] = {
	{ "hvc", "hvc_exit_stat" },
	{ "wfi", "wfi_exit_stat" },
	{ "wfe", "wfe_exit_stat" },
	{ }
};

#endif /* SELFTEST_KVM_STATS_FD_REASONS_ARCH_H */
