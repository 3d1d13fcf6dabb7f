/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Activities of MIPS guests, with the statistics that count them.
 */
#ifndef SELFTEST_KVM_STATS_FD_COUNTS_H
#define SELFTEST_KVM_STATS_FD_COUNTS_H

#include "stats_fd_guest.h"

STATS_GUEST_LOOP(stats_hypercall, ".word 0x42000028");
STATS_GUEST_LOOP(stats_mmio_write, "sw $0, 0($17)");
STATS_GUEST_LOOP(stats_mmio_read, "lw $8, 0($17)");
STATS_GUEST_LOOP(stats_spin, "b 1b; nop");

/* This statistic counts the sleep guest's sleeps. */
#define STATS_SLEEPS		"wait_exits"

/* A call that unmaps pages or reads their dirty log flushes all once. */
#define STATS_UNMAP_REQUESTS	1
#define STATS_LOG_REQUESTS	1
#define STATS_FLUSHES_IDLE_VM	0

/* These statistics count only activities of the guest. */
static const char * const stats_arch_exact[] = {
	"wait_exits", "cache_exits", "signal_exits", "cop_unusable_exits",
	"addrerr_st_exits", "addrerr_ld_exits", "syscall_exits", NULL
};

static const struct stats_activity stats_arch_activities[] = {
	{ STATS_ACTIVITY(stats_hypercall), .moves = { "cop_unusable_exits" } },
	{ STATS_ACTIVITY(stats_mmio_write), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "addrerr_st_exits" } },
	{ STATS_ACTIVITY(stats_mmio_read), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "addrerr_ld_exits" } },
	{ }
};

#endif /* SELFTEST_KVM_STATS_FD_COUNTS_H */
