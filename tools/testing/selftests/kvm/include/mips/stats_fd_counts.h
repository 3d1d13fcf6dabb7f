/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What guests of MIPS do, and the statistics that count it.
 */
#ifndef SELFTEST_KVM_STATS_FD_COUNTS_H
#define SELFTEST_KVM_STATS_FD_COUNTS_H

#include "stats_fd_guest.h"

STATS_GUEST_LOOP(stats_hypercall, ".word 0x42000028");
STATS_GUEST_LOOP(stats_mmio_write, "sw $0, 0($17)");
STATS_GUEST_LOOP(stats_mmio_read, "lw $8, 0($17)");
STATS_GUEST_LOOP(stats_spin, "b 1b; nop");

/* The statistic that counts the sleep guest's sleeps. */
#define STATS_SLEEPS		"wait_exits"

/* However much of a slot is unmapped, all is flushed once, also if nothing was there. */
#define STATS_UNMAP_REQUESTS(pages)	1
#define STATS_UNMAP_TABLES		0
#define STATS_UNTOUCHED_REQUESTS	1
#define STATS_REWRITE_REQUESTS		0
#define STATS_FLUSHES_IDLE_VM		0

/* Those that count what a guest does and nothing else. */
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

/* Have the touch guest write to its page. */
static inline int stats_arch_dirty(int vcpu, __u64 addr)
{
	return ioctl(vcpu, KVM_RUN, 0);
}

#endif /* SELFTEST_KVM_STATS_FD_COUNTS_H */
