// SPDX-License-Identifier: GPL-2.0
/*
 * Says what a statistic or an exit is. Includes the lists from which KVM itself is built, so that
 * there is no second copy.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "kvmstat.h"

/* Statistics of all configurations. */
#define CONFIG_KVM_MIPS_VZ
#define CONFIG_CPU_LOONGSON64
#define CONFIG_PPC_BOOK3S
#define CONFIG_HAVE_KVM_EXIT_REASONS
#define CONFIG_KVM_STATS_TIME

#define KVM_VM_STAT(ctype, name, type, unit, help, ...) { OF_VM, #name, help, },
#define KVM_VCPU_STAT(ctype, name, type, unit, help, ...) { OF_VCPU, #name, help, },
#define KVM_VCPU_HIST(name, type, unit, num, help) { OF_VCPU, #name, help, },
#define KVM_EXIT_REASON(name, help) { REASON, #name, help, },
#define KVM_USER_EXIT(number, name, help) { USER_EXIT, #name, help, },

enum scope { OF_VM, OF_VCPU, REASON, USER_EXIT, };

/* Of several entries with one name the first one counts: the generic list is the last one. */
static const struct description {
	enum scope scope;
	const char *name, *help;
} listed[] = {
#if defined(__aarch64__)
#include "../arch/arm64/include/asm/kvm_stats_list.h"
#elif defined(__mips__)
#include "../arch/mips/include/asm/kvm_stats_list.h"
#elif defined(__powerpc__)
#include "../arch/powerpc/include/asm/kvm_stats_list.h"
#elif defined(__s390__)
#include "../arch/s390/include/asm/kvm_stats_list.h"
#endif
#include "../arch/x86/include/asm/kvm_stats_list.h"
#include "../arch/arm64/include/asm/kvm_stats_list.h"
#include "../arch/mips/include/asm/kvm_stats_list.h"
#include "../arch/powerpc/include/asm/kvm_stats_list.h"
#include "../arch/s390/include/asm/kvm_stats_list.h"
/* x86 before Linux 5.15; later kernels have pages_2m and pages_1g. */
KVM_VM_STAT(u64, lpages, INSTANT, COUNT, "Huge pages that are mapped now")
#include "bpf/list.h"
/* It includes one of the above as <asm/...>, and undefines the macros. */
#include "../include/linux/kvm_stats_list.h"
#include "../arch/x86/include/asm/kvm_exit_reason_list.h"
#define KVM_EXIT_REASON(name, help) { REASON, #name, help, },
#include "../arch/arm64/include/asm/kvm_exit_reason_list.h"
#include "../include/linux/kvm_user_exit_list.h"
};

/* Which trace event shows more about an exit: the port, the register, the address. */
static const struct {
	const char *name, *event;
} traces[] = {
	{ "io", "kvm:kvm_pio shows port and value", },
	{ "mmio", "kvm:kvm_mmio shows address and value", },
	{ "msr_read", "kvm:kvm_msr shows the register", },
	{ "msr_write", "kvm:kvm_msr shows the register", },
	{ "x86_rdmsr", "kvm:kvm_msr shows the register", },
	{ "x86_wrmsr", "kvm:kvm_msr shows the register", },
	{ "cpuid", "kvm:kvm_cpuid shows the leaf", },
	{ "hypercall", "kvm:kvm_hypercall shows its number", },
	{ "cr_access", "kvm:kvm_cr shows the register", },
	{ "page_fault", "kvm:kvm_page_fault shows the address", },
	{ "exception", "kvm:kvm_exit shows the vector", },
	{ "apic_write", "kvm:kvm_apic shows the register", },
	{ "apic_ipi", "kvm:kvm_apic_ipi shows the target", },
	{ "apic_eoi", "kvm:kvm_eoi shows the vector", },
	{ "data_abort", "kvm:kvm_guest_fault shows the address", },
	{ "instruction_abort", "kvm:kvm_guest_fault shows the address", },
	{ "hvc", "kvm:kvm_hvc_arm64 shows its number", },
	{ "sysreg", "kvm:kvm_sys_access shows the register", },
};

static const struct description *find(enum scope scope, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(listed); i++) {
		if (listed[i].scope == scope && !strcmp(listed[i].name, name))
			return &listed[i];
	}
	return NULL;
}

const char *describe_statistic(bool of_vm, const char *name)
{
	const struct description *found = find(of_vm ? OF_VM : OF_VCPU, name);

	return found ? found->help : NULL;
}

static void explain_one(const struct description *entry)
{
	static const char * const whose[] = {
		[OF_VM] = "of the VM", [OF_VCPU] = "of each vCPU", [REASON] = "reason for exits",
		[USER_EXIT] = "exit to the VMM",
	};
	char trace[160] = "", *text;
	size_t i;

	for (i = 0; entry->scope >= REASON && i < ARRAY_SIZE(traces); i++) {
		if (!strcmp(traces[i].name, entry->name))
			snprintf(trace, sizeof(trace), " Trace event %s: perf trace -e '%.*s' -p PID.",
				 traces[i].event, (int)strcspn(traces[i].event, " "), traces[i].event);
	}
	text = xasprintf("%s (%s): %s.%s", entry->name, whose[entry->scope], entry->help, trace);
	print_wrapped(stdout, text, terminal_size("COLUMNS"), 4);
	free(text);
}

bool explain(const char *pattern)
{
	bool any = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(listed); i++) {
		if (fnmatch(pattern, listed[i].name, 0) ||
		    find(listed[i].scope, listed[i].name) != &listed[i])
			continue;
		explain_one(&listed[i]);
		any = true;
	}
	if (!any)
		complain("no statistic and no exit is called '%s'", pattern);
	return any;
}
