/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Activities of x86 guests, with the statistics and exit reasons that count them.
 */
#ifndef SELFTEST_KVM_STATS_FD_COUNTS_H
#define SELFTEST_KVM_STATS_FD_COUNTS_H

#include "stats_fd_guest.h"

/* Port and address of the ioeventfds. */
#define STATS_IOEVENTFD_PORT	0x2f8
#define STATS_IOEVENTFD_ADDR	0x3000

STATS_GUEST_LOOP(stats_cpuid, "cpuid; mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_hypercall, "vmmcall");
STATS_GUEST_LOOP(stats_port, "out %al, $0x80");
STATS_GUEST_LOOP(stats_port_ioeventfd,
		 "mov $0x2f8, %dx; out %al, (%dx); mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_mmio_write, "mov %al, 0x2000");
STATS_GUEST_LOOP(stats_mmio_read, "mov 0x2000, %al");
STATS_GUEST_LOOP(stats_mmio_ioeventfd, "mov %al, 0x3000");
STATS_GUEST_LOOP(stats_hlt, "hlt");
STATS_GUEST_LOOP(stats_invlpg, "invlpg 0x2000");
/* KVM does not emulate MMX arithmetic. */
STATS_GUEST_LOOP(stats_unknown, "paddb 0x2000, %mm0");
STATS_GUEST_LOOP(stats_spin, "jmp 1b");
/* Read the microcode's revision; KVM ignores its update. */
STATS_GUEST_LOOP(stats_rdmsr, "mov $0x8b, %ecx; rdmsr; mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_wrmsr, "mov $0x79, %ecx; wrmsr");
STATS_GUEST_LOOP(stats_cr4, "xor $0x10, %eax; mov %eax, %cr4");
/* KVM gives the debug registers to the guest until its next exit. */
STATS_GUEST_LOOP(stats_dr, "mov %db0, %eax; cpuid; mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_wbinvd, "wbinvd");
STATS_GUEST_LOOP(stats_ud2, "ud2");

/* This statistic counts the sleep guest's sleeps. */
#define STATS_SLEEPS		"halt_exits"

/* Requests to flush remote TLBs when a call unmaps guest pages, or reads a dirty log. */
#define STATS_UNMAP_REQUESTS	1
#define STATS_LOG_REQUESTS	1

/* 1 if KVM also flushes when no vCPU is in the guest. */
#define STATS_FLUSHES_IDLE_VM	0

/* This statistic counts KVM_RUNs, however they end. */
#define STATS_RUNS		"fpu_reload"

/*
 * These statistics count only activities of the guest. insn_emulation does not: KVM may
 * decode an instruction to find the next one.
 */
static const char * const stats_arch_exact[] = {
	"io_exits", "mmio_exits", "hypercalls", "halt_exits", "signal_exits",
	"insn_emulation_fail", "invlpg", "request_irq_exits", "irq_injections",
	"nmi_injections", STATS_RUNS, NULL
};

static inline bool stats_parameter_is_off(const char *module, const char *name)
{
	char dir[64], line[STATS_LINE_SIZE];

	snprintf(dir, sizeof(dir), "/sys/module/%s/parameters", module);
	return !stats_read_line(dir, name, line) || line[0] == 'N' || line[0] == '0';
}

/* Return whether KVM shadows the guest's page tables. */
static inline bool stats_arch_shadows(void)
{
	unsigned int eax, ebx, ecx, edx;

	/* kvm_amd does not clear its parameter if the CPU lacks nested paging. */
	if (stats_arch_svm()) {
		__cpuid(0x8000000a, eax, ebx, ecx, edx);
		return !(edx & 1) || stats_parameter_is_off("kvm_amd", "npt");
	}
	return stats_parameter_is_off("kvm_intel", "ept");
}

/*
 * Exits that the guest causes: without interrupts of the host, and without page faults
 * except those that end in the emulation of an MMIO access.
 */
static inline __u64 own_exits(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	return vcpu_read(_metadata, v, "exits") - vcpu_read(_metadata, v, "irq_exits") -
	       vcpu_read(_metadata, v, "pf_taken") + vcpu_read(_metadata, v, "pf_emulate");
}

#define STATS_OWN_EXITS		own_exits

/* INVLPG is no exit, unless KVM shadows the guest's page tables. */
static inline int stats_unless_shadowed(void)
{
	return !stats_arch_shadows();
}

/*
 * With EPT, KVM remembers that an address has no memory, and signals the ioeventfd
 * without decoding the instruction.
 */
static inline const char *stats_emulated_once_with_ept(void)
{
	return stats_arch_svm() || stats_arch_shadows() ? NULL :
							  "insn_emulation";
}

static const struct stats_activity stats_arch_activities[] = {
	{ STATS_ACTIVITY(stats_cpuid), .reasons = { "cpuid" } },
	{ STATS_ACTIVITY(stats_hypercall), .moves = { "hypercalls" },
	  .reasons = { "hypercall" } },
	{ STATS_ACTIVITY(stats_port), .exit_reason = KVM_EXIT_IO, .moves = { "io_exits" },
	  .reasons = { "io" } },
	{ STATS_ACTIVITY(stats_port_ioeventfd), .moves = { "io_exits" } },
	{ STATS_ACTIVITY(stats_mmio_write), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exits", "insn_emulation" }, .reasons = { "mmio" } },
	{ STATS_ACTIVITY(stats_mmio_read), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exits", "insn_emulation" }, .reasons = { "mmio" } },
	/* mmio_exits only counts exits to user space. */
	{ STATS_ACTIVITY(stats_mmio_ioeventfd), .moves = { "insn_emulation" },
	  .moves_once = stats_emulated_once_with_ept },
	/* A VM without interrupt controller halts in user space. */
	{ STATS_ACTIVITY(stats_hlt), .exit_reason = KVM_EXIT_HLT, .moves = { "halt_exits" },
	  .reasons = { "hlt" } },
	{ STATS_ACTIVITY(stats_invlpg), .moves = { "invlpg" }, .reasons = { "invlpg" },
	  .moves_nothing = stats_unless_shadowed },
	{ STATS_ACTIVITY(stats_rdmsr), .reasons = { "msr_read" } },
	{ STATS_ACTIVITY(stats_wrmsr), .reasons = { "msr_write" } },
	{ STATS_ACTIVITY(stats_cr4), .reasons = { "cr_access" } },
	{ STATS_ACTIVITY(stats_dr), .reasons = { "dr_access", "cpuid" }, .again = "dr_access" },
	{ STATS_ACTIVITY(stats_wbinvd), .reasons = { "wbinvd" } },
	{ STATS_ACTIVITY(stats_ud2), .reasons = { "exception" } },
	/* Each KVM_RUN runs into it again. */
	{ STATS_ACTIVITY(stats_unknown), .exit_reason = KVM_EXIT_INTERNAL_ERROR,
	  .moves = { "insn_emulation", "insn_emulation_fail" } },
	{ }
};

#endif /* SELFTEST_KVM_STATS_FD_COUNTS_H */
