/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Activities of powerpc guests, with the statistics that count them.
 */
#ifndef SELFTEST_KVM_STATS_FD_COUNTS_H
#define SELFTEST_KVM_STATS_FD_COUNTS_H

#include "stats_fd_guest.h"

/* H_CONFER */
STATS_GUEST_LOOP(stats_hypercall, "li 3,0xe4; li 4,-1; sc 1");
STATS_GUEST_LOOP(stats_mmio_write, "stw 1,0(2)");
STATS_GUEST_LOOP(stats_mmio_read, "lwz 1,0(2)");
STATS_GUEST_LOOP(stats_mmio_ioeventfd, "stw 1,0(5)");
STATS_GUEST_LOOP(stats_spin, "b 1b");

/* This statistic counts the sleep guest's sleeps. */
#define STATS_SLEEPS		"syscall_exits"

/* Flushes by the radix MMU do not count. */
#define STATS_UNMAP_REQUESTS	0
#define STATS_LOG_REQUESTS	0

/* KVM also flushes when no vCPU is in the guest. */
#define STATS_FLUSHES_IDLE_VM	1

/* These statistics count only activities of the guest. */
static const char * const stats_arch_exact[] = {
	"mmio_exits", "syscall_exits", "signal_exits", NULL
};

static const struct stats_activity stats_arch_activities[] = {
	{ STATS_ACTIVITY(stats_hypercall), .moves = { "syscall_exits" } },
	{ STATS_ACTIVITY(stats_mmio_write), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exits" } },
	{ STATS_ACTIVITY(stats_mmio_read), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exits" } },
	{ STATS_ACTIVITY(stats_mmio_ioeventfd), .moves = { "mmio_exits" } },
	{ }
};

#endif /* SELFTEST_KVM_STATS_FD_COUNTS_H */
