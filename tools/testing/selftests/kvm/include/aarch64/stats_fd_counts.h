/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Activities of arm64 guests, with the statistics and exit reasons that count them.
 */
#ifndef SELFTEST_KVM_STATS_FD_COUNTS_H
#define SELFTEST_KVM_STATS_FD_COUNTS_H

#include "stats_fd_guest.h"

/* PSCI_VERSION */
STATS_GUEST_LOOP(stats_hypercall, "mov w0, #0x84000000; hvc #0");
STATS_GUEST_LOOP(stats_smc, "mov w0, #0x84000000; smc #0");
STATS_GUEST_LOOP(stats_mmio_write, "str w1, [x2]");
STATS_GUEST_LOOP(stats_mmio_read, "ldr w1, [x2]");
STATS_GUEST_LOOP(stats_mmio_ioeventfd, "str w1, [x3]");
/* KVM answers itself which features the guest's CPU has. */
STATS_GUEST_LOOP(stats_sysreg, "mrs x0, id_aa64mmfr0_el1");
/* CPACR_EL1.FPEN: the guest's own kernel does not trap it. */
STATS_GUEST_LOOP(stats_fp, "mov x0, #3 << 20; msr cpacr_el1, x0; isb; fmov d0, xzr");
STATS_GUEST_LOOP(stats_spin, "b 1b");

/* This statistic counts the sleep guest's sleeps. */
#define STATS_SLEEPS		"wfi_exit_stat"

/* Interrupts of the host count, too: there may be none during a few exits. */
#define STATS_OWN_EXITS(m, v)	vcpu_read(m, v, STATS_EXITS)

/* KVM flushes single addresses of unmapped pages, which does not count. */
#define STATS_UNMAP_REQUESTS	0

/* For a dirty log, KVM flushes the addresses of the slot, which does not count either. */
#define STATS_LOG_REQUESTS	0

/* 1 if KVM also flushes when no vCPU is in the guest. */
#define STATS_FLUSHES_IDLE_VM	1

/* These statistics count only activities of the guest. */
static const char * const stats_arch_exact[] = {
	"hvc_exit_stat", "wfi_exit_stat", "mmio_exit_user", "mmio_exit_kernel",
	"signal_exits", NULL
};

static inline int stats_always(void)
{
	return true;
}

static const struct stats_activity stats_arch_activities[] = {
	{ STATS_ACTIVITY(stats_hypercall), .moves = { "hvc_exit_stat" }, .reasons = { "hvc" } },
	{ STATS_ACTIVITY(stats_smc), .reasons = { "smc" } },
	{ STATS_ACTIVITY(stats_mmio_write), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exit_user" }, .reasons = { "data_abort" } },
	{ STATS_ACTIVITY(stats_mmio_read), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exit_user" }, .reasons = { "data_abort" } },
	{ STATS_ACTIVITY(stats_mmio_ioeventfd), .moves = { "mmio_exit_kernel" } },
	{ STATS_ACTIVITY(stats_sysreg), .reasons = { "sysreg" } },
	/* EL2 gives the guest its registers and enters it again. */
	{ STATS_ACTIVITY(stats_fp), .reasons = { "fp" }, .moves_nothing = stats_always },
	{ }
};

#endif /* SELFTEST_KVM_STATS_FD_COUNTS_H */
