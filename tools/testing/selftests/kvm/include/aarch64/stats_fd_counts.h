/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What guests of arm64 do, and the statistics that count it.
 */
#ifndef SELFTEST_KVM_STATS_FD_COUNTS_H
#define SELFTEST_KVM_STATS_FD_COUNTS_H

#include "stats_fd_guest.h"

/* PSCI_VERSION */
STATS_GUEST_LOOP(stats_hypercall, "mov w0, #0x84000000; hvc #0");
STATS_GUEST_LOOP(stats_mmio_write, "str w1, [x2]");
STATS_GUEST_LOOP(stats_mmio_read, "ldr w1, [x2]");
STATS_GUEST_LOOP(stats_mmio_ioeventfd, "str w1, [x3]");
STATS_GUEST_LOOP(stats_spin, "b 1b");

/* The statistic that counts the sleep guest's sleeps. */
#define STATS_SLEEPS		"wfi_exit_stat"

/* Flushes of single addresses, for pages that are unmapped or written, do not count. */
#define STATS_UNMAP_REQUESTS(pages)	0
#define STATS_UNMAP_TABLES		0
#define STATS_REWRITE_REQUESTS		0

/* Whether one is done even if no vCPU is in the guest. */
#define STATS_FLUSHES_IDLE_VM	1

/* Those that count what a guest does and nothing else. */
static const char * const stats_arch_exact[] = {
	"hvc_exit_stat", "wfi_exit_stat", "mmio_exit_user", "mmio_exit_kernel",
	"signal_exits", NULL
};

static const struct stats_activity stats_arch_activities[] = {
	{ STATS_ACTIVITY(stats_hypercall), .moves = { "hvc_exit_stat" } },
	{ STATS_ACTIVITY(stats_mmio_write), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exit_user" } },
	{ STATS_ACTIVITY(stats_mmio_read), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exit_user" } },
	{ STATS_ACTIVITY(stats_mmio_ioeventfd), .moves = { "mmio_exit_kernel" } },
	{ }
};

/* Have the touch guest write to its page. */
static inline int stats_arch_dirty(int vcpu, __u64 addr)
{
	return ioctl(vcpu, KVM_RUN, 0);
}

#endif /* SELFTEST_KVM_STATS_FD_COUNTS_H */
