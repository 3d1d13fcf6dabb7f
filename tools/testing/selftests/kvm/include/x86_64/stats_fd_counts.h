/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What guests of x86 do, and the statistics that count it.
 */
#ifndef SELFTEST_KVM_STATS_FD_COUNTS_H
#define SELFTEST_KVM_STATS_FD_COUNTS_H

#include "stats_fd_guest.h"

/* Where an ioeventfd goes. */
#define STATS_IOEVENTFD_PORT	0x2f8
#define STATS_IOEVENTFD_ADDR	0x3000

STATS_GUEST_LOOP(stats_hypercall, "vmmcall");
STATS_GUEST_LOOP(stats_port, "out %al, $0x80");
STATS_GUEST_LOOP(stats_port_ioeventfd,
		 "mov $0x2f8, %dx; out %al, (%dx); mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_mmio_write, "mov %al, 0x2000");
STATS_GUEST_LOOP(stats_mmio_read, "mov 0x2000, %al");
STATS_GUEST_LOOP(stats_mmio_ioeventfd, "mov %al, 0x3000");
STATS_GUEST_LOOP(stats_hlt, "hlt");
STATS_GUEST_LOOP(stats_invlpg, "invlpg 0x2000");
/* KVM emulates no MMX arithmetic. */
STATS_GUEST_LOOP(stats_unknown, "paddb 0x2000, %mm0");
STATS_GUEST_LOOP(stats_spin, "jmp 1b");
/* The microcode's revision, and its update, which is ignored. */
STATS_GUEST_LOOP(stats_rdmsr, "mov $0x8b, %ecx; rdmsr; mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_wrmsr, "mov $0x79, %ecx; wrmsr");

/* The statistic that counts the sleep guest's sleeps. */
#define STATS_SLEEPS		"halt_exits"

/* Flushes of remote TLBs that a call asks for that unmaps pages of the guest. */
#define STATS_UNMAP_REQUESTS(pages)	1
#define STATS_UNMAP_TABLES		0

/* Those for the first write to a page since its log was taken. */
#define STATS_REWRITE_REQUESTS	0

/* Whether one is done even if no vCPU is in the guest. */
#define STATS_FLUSHES_IDLE_VM	0

/* The one that counts KVM_RUNs, whatever ends them. */
#define STATS_RUNS		"fpu_reload"

/*
 * Those that count what a guest does and nothing else. Not insn_emulation, for
 * KVM may decode an instruction to find the next one.
 */
static const char * const stats_arch_exact[] = {
	"io_exits", "mmio_exits", "hypercalls", "halt_exits", "signal_exits",
	"insn_emulation_fail", "invlpg", "request_irq_exits", "irq_injections",
	"nmi_injections", STATS_RUNS, NULL
};

static inline bool stats_parameter_is_off(const char *module, const char *name)
{
	char path[64], value;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &value, 1) != 1)
		value = 'N';
	close(fd);
	return value == 'N' || value == '0';
}

/* Whether KVM shadows the guest's page tables. */
static inline bool stats_arch_shadows(void)
{
	unsigned int eax, ebx, ecx, edx;

	/* AMD's module leaves its parameter alone if the CPU lacks it. */
	if (stats_arch_svm()) {
		__cpuid(0x8000000a, eax, ebx, ecx, edx);
		return !(edx & 1) || stats_parameter_is_off("kvm_amd", "npt");
	}
	return stats_parameter_is_off("kvm_intel", "ept");
}

/*
 * The exits that are a guest's own doing: not those by interrupts of the host, and
 * not page faults, but for those that end in the emulation of an access to MMIO.
 */
static inline __u64 own_exits(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	return vcpu_read(_metadata, v, "exits") - vcpu_read(_metadata, v, "irq_exits") -
	       vcpu_read(_metadata, v, "pf_taken") + vcpu_read(_metadata, v, "pf_emulate");
}

#define STATS_OWN_EXITS		own_exits

/* INVLPG is the guest's own business, unless its page tables are shadowed. */
static inline int stats_unless_shadowed(void)
{
	return !stats_arch_shadows();
}

/*
 * EPT can say that an address has no memory, and KVM then knows the ioeventfd
 * without a look at the instruction.
 */
static inline const char *stats_emulated_once_with_ept(void)
{
	return stats_arch_svm() || stats_arch_shadows() ? NULL :
							  "insn_emulation";
}

static const struct stats_activity stats_arch_activities[] = {
	{ STATS_ACTIVITY(stats_hypercall), .moves = { "hypercalls" } },
	{ STATS_ACTIVITY(stats_port), .exit_reason = KVM_EXIT_IO, .moves = { "io_exits" } },
	{ STATS_ACTIVITY(stats_port_ioeventfd), .moves = { "io_exits" } },
	{ STATS_ACTIVITY(stats_mmio_write), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exits", "insn_emulation" } },
	{ STATS_ACTIVITY(stats_mmio_read), .exit_reason = KVM_EXIT_MMIO,
	  .moves = { "mmio_exits", "insn_emulation" } },
	/* Not mmio_exits, which counts those to user space. */
	{ STATS_ACTIVITY(stats_mmio_ioeventfd), .moves = { "insn_emulation" },
	  .moves_once = stats_emulated_once_with_ept },
	/* A VM without an interrupt controller halts in user space. */
	{ STATS_ACTIVITY(stats_hlt), .exit_reason = KVM_EXIT_HLT, .moves = { "halt_exits" } },
	{ STATS_ACTIVITY(stats_invlpg), .moves = { "invlpg" },
	  .moves_nothing = stats_unless_shadowed },
	{ STATS_ACTIVITY(stats_rdmsr) },
	{ STATS_ACTIVITY(stats_wrmsr) },
	/* Each KVM_RUN meets it again. */
	{ STATS_ACTIVITY(stats_unknown), .exit_reason = KVM_EXIT_INTERNAL_ERROR,
	  .moves = { "insn_emulation", "insn_emulation_fail" } },
	{ }
};

/* Have KVM write to a page of the guest: a clock that it keeps there. */
static inline int stats_arch_dirty(int vcpu, __u64 addr)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = {
		.head.nmsrs = 1,
		.entry.index = 0x4b564d00,	/* MSR_KVM_WALL_CLOCK_NEW */
		.entry.data = addr,
	};

	return ioctl(vcpu, KVM_SET_MSRS, &msrs) == 1 ? 0 : -1;
}

#endif /* SELFTEST_KVM_STATS_FD_COUNTS_H */
