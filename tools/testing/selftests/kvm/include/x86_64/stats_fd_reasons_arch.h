/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What guests of x86 do, and the reasons of their exits.
 */
#ifndef SELFTEST_KVM_STATS_FD_REASONS_ARCH_H
#define SELFTEST_KVM_STATS_FD_REASONS_ARCH_H

#include "stats_fd_counts.h"

STATS_GUEST_LOOP(stats_cpuid, "cpuid; mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_cr4, "xor $0x10, %eax; mov %eax, %cr4");
/* KVM gives the registers to the guest until its next exit. */
STATS_GUEST_LOOP(stats_dr, "mov %db0, %eax; cpuid; mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_wbinvd, "wbinvd");
STATS_GUEST_LOOP(stats_ud2, "ud2");

/* The reason of the user exit guest's exits. */
#define STATS_USER_REASON	"io"

/* Of those that a guest's first access to its memory is. */
static inline const char *stats_arch_fault_reason(void)
{
	return stats_arch_shadows() ? "page_fault" : "nested_page_fault";
}

/* The reasons that have a statistic of their own, unless a guest is nested. */
static const char * const stats_arch_same[][2] = {
	{ "interrupt", "irq_exits" },
	{ "interrupt_window", "irq_window_exits" },
	{ "nmi_window", "nmi_window_exits" },
	{ "io", "io_exits" },
	{ "hlt", "halt_exits" },
	{ }
};

/* What a guest does, and the reasons of the exits that it has by that. */
static const struct stats_activity stats_arch_reasons[] = {
	{ STATS_ACTIVITY(stats_cpuid), .moves = { "cpuid" } },
	{ STATS_ACTIVITY(stats_hypercall), .moves = { "hypercall" } },
	{ STATS_ACTIVITY(stats_port), .exit_reason = KVM_EXIT_IO, .moves = { "io" } },
	{ STATS_ACTIVITY(stats_mmio_write), .exit_reason = KVM_EXIT_MMIO, .moves = { "mmio" } },
	{ STATS_ACTIVITY(stats_mmio_read), .exit_reason = KVM_EXIT_MMIO, .moves = { "mmio" } },
	{ STATS_ACTIVITY(stats_hlt), .exit_reason = KVM_EXIT_HLT, .moves = { "hlt" } },
	{ STATS_ACTIVITY(stats_rdmsr), .moves = { "msr_read" } },
	{ STATS_ACTIVITY(stats_wrmsr), .moves = { "msr_write" } },
	{ STATS_ACTIVITY(stats_cr4), .moves = { "cr_access" } },
	{ STATS_ACTIVITY(stats_dr), .moves = { "dr_access", "cpuid" }, .again = "dr_access" },
	{ STATS_ACTIVITY(stats_invlpg), .moves = { "invlpg" },
	  .moves_nothing = stats_unless_shadowed },
	{ STATS_ACTIVITY(stats_wbinvd), .moves = { "wbinvd" } },
	{ STATS_ACTIVITY(stats_ud2), .moves = { "exception" } },
	{ }
};

#define stats_arch_restart_vcpu	stats_arch_init_vcpu

#endif /* SELFTEST_KVM_STATS_FD_REASONS_ARCH_H */
