/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exit reasons of x86 guests.
 */
#ifndef SELFTEST_KVM_STATS_FD_REASONS_ARCH_H
#define SELFTEST_KVM_STATS_FD_REASONS_ARCH_H

#include "stats_fd_counts.h"

/* The reason of the user exit guest's exits. */
#define STATS_USER_REASON	"io"

/* The reason of a guest's first access to its memory. */
static inline const char *stats_arch_fault_reason(void)
{
	return stats_arch_shadows() ? "page_fault" : "nested_page_fault";
}

/* Reasons with a statistic of their own. They differ if the guest runs a nested guest. */
static const char * const stats_arch_same[][2] = {
	{ "interrupt", "irq_exits" },
	{ "interrupt_window", "irq_window_exits" },
	{ "nmi_window", "nmi_window_exits" },
	{ "io", "io_exits" },
	{ "hlt", "halt_exits" },
	{ }
};

#endif /* SELFTEST_KVM_STATS_FD_REASONS_ARCH_H */
