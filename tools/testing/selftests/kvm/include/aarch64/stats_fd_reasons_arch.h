/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What guests of arm64 do, and the reasons of their exits.
 */
#ifndef SELFTEST_KVM_STATS_FD_REASONS_ARCH_H
#define SELFTEST_KVM_STATS_FD_REASONS_ARCH_H

#include "stats_fd_counts.h"

STATS_GUEST_LOOP(stats_smc, "mov w0, #0x84000000; smc #0");
/* KVM says itself what the guest's CPU can do. */
STATS_GUEST_LOOP(stats_sysreg, "mrs x0, id_aa64mmfr0_el1");
/* CPACR_EL1.FPEN: the guest's kernel does not trap it either. */
STATS_GUEST_LOOP(stats_fp,
		 "mov x0, #3 << 20; msr cpacr_el1, x0; isb; fmov d0, xzr");

/* The reason of the user exit guest's exits. */
#define STATS_USER_REASON	"data_abort"

/* Of those that a guest's first access to its memory is. */
static inline const char *stats_arch_fault_reason(void)
{
	return "data_abort";
}

/* The reasons that have a statistic of their own. */
static const char * const stats_arch_same[][2] = {
	{ "hvc", "hvc_exit_stat" },
	{ "wfi", "wfi_exit_stat" },
	{ "wfe", "wfe_exit_stat" },
	{ }
};

static inline int stats_always(void)
{
	return true;
}

/* What a guest does, and the reasons of the exits that it has by that. */
static const struct stats_activity stats_arch_reasons[] = {
	{ STATS_ACTIVITY(stats_hypercall), .moves = { "hvc" } },
	{ STATS_ACTIVITY(stats_smc), .moves = { "smc" } },
	{ STATS_ACTIVITY(stats_mmio_write), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "data_abort" } },
	{ STATS_ACTIVITY(stats_mmio_read), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "data_abort" } },
	{ STATS_ACTIVITY(stats_sysreg), .moves = { "sysreg" } },
	/* KVM gives the guest its registers before it is back. */
	{ STATS_ACTIVITY(stats_fp), .moves_nothing = stats_always },
	{ }
};

#endif /* SELFTEST_KVM_STATS_FD_REASONS_ARCH_H */
