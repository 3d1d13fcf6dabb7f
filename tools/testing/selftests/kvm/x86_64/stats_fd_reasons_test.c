// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exits by reason of x86 guests in real mode, on KVM's fast path, and nested.
 */
#define _GNU_SOURCE
#include "../../kselftest_harness.h"
#include "stats_fd_fixture.h"
#include "stats_fd_nested.h"
#include "stats_fd_reasons.h"

#define TIMES			50

/* Only an unrestricted guest of VMX can have these data segments in real mode. */
static void init_real_mode(struct __test_metadata *_metadata, int vcpu)
{
	struct kvm_sregs sregs;

	stats_arch_init_vcpu(_metadata, vcpu, GUEST_USER_EXITS, 0);
	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_SREGS, &sregs));
	sregs.cr0 &= ~1ULL;
	sregs.cs.selector = sregs.cs.base >> 4;
	sregs.cs.type = 3;
	sregs.ss.selector = sregs.ss.base >> 4;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_SREGS, &sregs));
}

/* If VMX cannot run real mode, KVM emulates instead of entering the guest. */
TEST_F(guest, emulation_instead_of_an_entry_counts_for_the_reason_emulation)
{
	bool emulated = !stats_arch_svm() &&
			stats_parameter_is_off("kvm_intel", "unrestricted_guest");
	struct guest_vcpu *v = self->vcpu;
	__u64 exits;

	init_real_mode(_metadata, v->fd);
	vcpu_run_times(_metadata, v, STATS_USER_EXIT_REASON, TIMES);
	vcpu_complete_exit(_metadata, v);
	exits = exits_by(_metadata, v, "emulation");
	/* After a preemption KVM tries to enter again. */
	EXPECT_LE(emulated ? (__u64)TIMES : 0UL, exits);
	EXPECT_GE(emulated ? 2UL * TIMES : 0UL, exits);
	EXPECT_EQ(emulated ? 0UL : (__u64)TIMES, exits_by(_metadata, v, "io"));
}

FIXTURE(nested)
{
	struct nested n;
};

FIXTURE_SETUP(nested)
{
	if (nested_missing(false))
		SKIP(return, "%s", nested_missing(false));
	self->n.guest.irqchip = true;
	nested_create(_metadata, &self->n, false);
}

FIXTURE_TEARDOWN(nested) { }

/* On Intel, the fast path enters the guest again. */
TEST_F(nested, msr_writes_on_the_fast_path_count_for_msr_write)
{
	struct nested *n = &self->n;
	__u64 before = exits_by(_metadata, n->vcpu, "msr_write");

	lm_use_x2apic(_metadata, n->vcpu);
	lm_exits_of_writes(_metadata, &n->guest, TIMES, MSR_X2APIC_ICR, STATS_VECTOR,
			   APIC_ID_OF_NONE);
	lm_exits_of_writes(_metadata, &n->guest, TIMES, MSR_TSC_DEADLINE, 0, INT_MAX);
	vcpu_complete_exit(_metadata, n->vcpu);
	EXPECT_EQ(before + 2 * TIMES, exits_by(_metadata, n->vcpu, "msr_write"));
	reasons_expect(_metadata, n->vcpu);
}

TEST_F(nested, runs_and_exits_of_l2_count_for_their_reasons)
{
	struct nested *n = &self->n;

	run_l2(n, l2, TIMES);
	EXPECT_EQ((__u64)TIMES, exits_by(_metadata, n->vcpu, "vmrun"));
	EXPECT_EQ((__u64)TIMES, exits_by(_metadata, n->vcpu, "hypercall"));
	intercept_hlt(_metadata, n);
	run_l2(n, l2_halts, 1);
	EXPECT_EQ(1UL, exits_by(_metadata, n->vcpu, "hlt"));
}

/* Newer kernels refuse all states of L2 that AMD's CPUs refuse, but not those of L1. */
TEST_F(nested, runs_that_the_cpu_refuses_count_for_entry_failure)
{
	struct nested *n = &self->n;
	struct kvm_sregs sregs;
	int i;

	if (n->vmcb) {
		ASSERT_EQ(0, ioctl(n->vcpu->fd, KVM_GET_SREGS, &sregs));
		sregs.cs.db = 1;
		ASSERT_EQ(0, ioctl(n->vcpu->fd, KVM_SET_SREGS, &sregs));
		vcpu_run_times(_metadata, n->vcpu, KVM_EXIT_FAIL_ENTRY, TIMES);
		EXPECT_EQ((__u64)TIMES, exits_by(_metadata, n->vcpu, "entry_failure"));
		return;
	}
	for (i = 0; i < TIMES; i++) {
		make_l2_invalid(_metadata, n);
		run_l2(n, l2, 1);
	}
	EXPECT_EQ((__u64)TIMES, exits_by(_metadata, n->vcpu, "vmrun"));
	EXPECT_EQ((__u64)TIMES, exits_by(_metadata, n->vcpu, "entry_failure"));
}

/* An instruction that exits, and its reason. */
struct entry {
	const char *reason, *code, *end;
	int intercept;			/* of L2, which L1 sets on AMD */
	__u32 primary, secondary;	/* controls that L1 sets on Intel */
};

#define L1_ENTRY(name, text)						\
	STATS_GUEST_CODE(name, text "\n1:	outb %al, $0x44\n	jmp 1b\n")
#define ENTRY(_reason, name, ...)					\
	{ .reason = _reason, .code = name, .end = name##_end, ##__VA_ARGS__ }

L1_ENTRY(l1_vmload, "vmload %rax");
L1_ENTRY(l1_vmsave, "vmsave %rax");
L1_ENTRY(l1_invlpga, "invlpga %rax, %ecx");
L1_ENTRY(l1_invd, "invd");
L1_ENTRY(l1_rdpmc, "rdpmc");
L1_ENTRY(l1_monitor, "monitor %rax, %ecx, %edx");
L1_ENTRY(l1_mwait, "mwait %eax, %ecx");
L1_ENTRY(l1_xsetbv, "mov $1, %eax\n	xsetbv");
L1_ENTRY(l1_vmptrst, "vmptrst -8(%rsp)");
L1_ENTRY(l1_invept, "invept -16(%rsp), %rcx");
L1_ENTRY(l1_invvpid, "invvpid -16(%rsp), %rcx");

/* Newer kernels inject a #GP for RDPMC if they have no PMU for the guest. */
#define L1_GP_HANDLER		(GUEST_CODE + 0x140)
L1_ENTRY(l1_gp, "");

static const struct entry svm_entries_of_l1[] = {
	ENTRY("vm_insn", l1_vmload),
	ENTRY("vm_insn", l1_vmsave),
	ENTRY("invlpg", l1_invlpga),
	ENTRY("wbinvd", l1_invd),
	ENTRY("rdpmc", l1_rdpmc),
	{ }
};

#define CPU_BASED_INTR_WINDOW_EXITING	0x00000004
#define CPU_BASED_INVLPG_EXITING	0x00000200
#define CPU_BASED_RDPMC_EXITING		0x00000800
#define CPU_BASED_RDTSC_EXITING		0x00001000
#define CPU_BASED_MONITOR_TRAP		0x08000000
#define CPU_BASED_PAUSE_EXITING		0x40000000
#define CPU_BASED_TPR_SHADOW		0x00200000
#define SECONDARY_EXEC_APIC		0x00000101	/* its page and its registers */
#define SECONDARY_EXEC_DESC		0x00000004
#define SECONDARY_EXEC_ENABLE_RDTSCP	0x00000008
#define SECONDARY_EXEC_ENABLE_VPID	0x00000020
#define SECONDARY_EXEC_RDRAND_EXITING	0x00000800
#define SECONDARY_EXEC_ENABLE_INVPCID	0x00001000
#define SECONDARY_EXEC_ENABLE_VMFUNC	0x00002000
#define SECONDARY_EXEC_RDSEED_EXITING	0x00010000

/* INVEPT and INVVPID exist if their control does. */
static const struct entry vmx_entries_of_l1[] = {
	ENTRY("vm_insn", l1_vmptrst),
	ENTRY("vm_insn", l1_invept, .secondary = SECONDARY_EXEC_ENABLE_EPT),
	ENTRY("vm_insn", l1_invvpid, .secondary = SECONDARY_EXEC_ENABLE_VPID),
	ENTRY("wbinvd", l1_invd),
	{ }
};

/* In leaf 1, ECX. */
#define CPUID_MONITOR		0x00000008
#define CPUID_XSAVE		0x04000000

static bool cpu_has(unsigned int feature)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & feature);
}

static const struct entry monitor_entries_of_l1[] = {
	ENTRY("monitor", l1_monitor),
	ENTRY("mwait", l1_mwait),
	{ }
};

static const struct entry xsetbv_entry = ENTRY("xsetbv", l1_xsetbv);

/* L1 intercepts these. KVM itself may leave STGI and CLGI to the CPU. */
STATS_GUEST_CODE(l2_stgi, "stgi\n");
STATS_GUEST_CODE(l2_clgi, "clgi\n");
STATS_GUEST_CODE(l2_rdtsc, "rdtsc\n");
STATS_GUEST_CODE(l2_iret, "iretq\n");
STATS_GUEST_CODE(l2_pause, "pause\n");
STATS_GUEST_CODE(l2_sidt, "sidt (%rdi)\n");
STATS_GUEST_CODE(l2_sgdt, "sgdt (%rdi)\n");
STATS_GUEST_CODE(l2_sldt, "sldt (%rdi)\n");
STATS_GUEST_CODE(l2_str, "str (%rdi)\n");
STATS_GUEST_CODE(l2_lidt, "lidt (%rdi)\n");
STATS_GUEST_CODE(l2_lgdt, "lgdt (%rdi)\n");
STATS_GUEST_CODE(l2_lldt, "lldt (%rdi)\n");
STATS_GUEST_CODE(l2_ltr, "ltr (%rdi)\n");
STATS_GUEST_CODE(l2_rdtscp, "rdtscp\n");
STATS_GUEST_CODE(l2_write_protect, "mov %cr0, %rax\n	xor $0x10000, %eax\n	mov %rax, %cr0\n");
STATS_GUEST_CODE(l2_rdpmc, "rdpmc\n");
STATS_GUEST_CODE(l2_invlpg, "invlpg (%rdi)\n");
STATS_GUEST_CODE(l2_nop, "nop\n	nop\n");
STATS_GUEST_CODE(l2_rdrand, "rdrand %eax\n");
STATS_GUEST_CODE(l2_rdseed, "rdseed %eax\n");
STATS_GUEST_CODE(l2_invpcid, "invpcid (%rdi), %rax\n");
STATS_GUEST_CODE(l2_vmfunc, "xor %eax, %eax\n	vmfunc\n");

static const struct entry svm_entries_of_l2[] = {
	ENTRY("vm_insn", l2_stgi, .intercept = INTERCEPT_STGI),
	ENTRY("vm_insn", l2_clgi, .intercept = INTERCEPT_CLGI),
	ENTRY("rdtsc", l2_rdtsc, .intercept = INTERCEPT_RDTSC),
	ENTRY("nmi_window", l2_iret, .intercept = INTERCEPT_IRET),
	ENTRY("pause", l2_pause, .intercept = INTERCEPT_PAUSE),
	ENTRY("descriptor_table", l2_sidt, .intercept = INTERCEPT_STORE_IDTR),
	ENTRY("descriptor_table", l2_sgdt, .intercept = INTERCEPT_STORE_GDTR),
	ENTRY("descriptor_table", l2_sldt, .intercept = INTERCEPT_STORE_LDTR),
	ENTRY("descriptor_table", l2_str, .intercept = INTERCEPT_STORE_TR),
	ENTRY("descriptor_table", l2_lidt, .intercept = INTERCEPT_LOAD_IDTR),
	ENTRY("descriptor_table", l2_lgdt, .intercept = INTERCEPT_LOAD_GDTR),
	ENTRY("descriptor_table", l2_lldt, .intercept = INTERCEPT_LOAD_LDTR),
	ENTRY("descriptor_table", l2_ltr, .intercept = INTERCEPT_LOAD_TR),
	ENTRY("cr_access", l2_write_protect, .intercept = INTERCEPT_SELECTIVE_CR0),
	ENTRY("interrupt_window", l2_nop, .intercept = INTERCEPT_VINTR),
	{ }
};

static const struct entry vmx_entries_of_l2[] = {
	ENTRY("rdtsc", l2_rdtsc, .primary = CPU_BASED_RDTSC_EXITING),
	ENTRY("rdtsc", l2_rdtscp, .primary = CPU_BASED_RDTSC_EXITING,
	      .secondary = SECONDARY_EXEC_ENABLE_RDTSCP),
	ENTRY("rdpmc", l2_rdpmc, .primary = CPU_BASED_RDPMC_EXITING),
	ENTRY("pause", l2_pause, .primary = CPU_BASED_PAUSE_EXITING),
	ENTRY("invlpg", l2_invlpg, .primary = CPU_BASED_INVLPG_EXITING),
	ENTRY("invpcid", l2_invpcid, .primary = CPU_BASED_INVLPG_EXITING,
	      .secondary = SECONDARY_EXEC_ENABLE_INVPCID),
	ENTRY("monitor_trap", l2_nop, .primary = CPU_BASED_MONITOR_TRAP),
	ENTRY("interrupt_window", l2_nop, .primary = CPU_BASED_INTR_WINDOW_EXITING),
	ENTRY("descriptor_table", l2_sidt, .secondary = SECONDARY_EXEC_DESC),
	ENTRY("descriptor_table", l2_sldt, .secondary = SECONDARY_EXEC_DESC),
	ENTRY("rdrand", l2_rdrand, .secondary = SECONDARY_EXEC_RDRAND_EXITING),
	ENTRY("rdrand", l2_rdseed, .secondary = SECONDARY_EXEC_RDSEED_EXITING),
	ENTRY("vm_insn", l2_vmfunc, .secondary = SECONDARY_EXEC_ENABLE_VMFUNC),
	{ }
};

/* Return whether L1 may set the controls, which AMD does not have. */
static bool has_controls(struct __test_metadata *_metadata, const struct nested *n,
			 const struct entry *e)
{
	__u32 primary = e->primary | (e->secondary ? CPU_BASED_ACTIVATE_SECONDARY_CONTROLS : 0);

	return n->vmcb ||
	       (!(primary & ~(get_msr(_metadata, n->vcpu, MSR_IA32_VMX_PROCBASED_CTLS) >> 32)) &&
		!(e->secondary & ~(get_msr(_metadata, n->vcpu,
					   MSR_IA32_VMX_PROCBASED_CTLS2) >> 32)));
}

static void intercept(struct __test_metadata *_metadata, struct nested *n,
		      const struct entry *e)
{
	if (n->vmcb) {
		write_vmcb(n->vmcb, false);
		n->vmcb->control.intercept |= 1UL << e->intercept;
		/* L2 has interrupts on, for this one, too. */
		if (e->intercept == INTERCEPT_VINTR)
			n->vmcb->control.int_ctl = V_IRQ_MASK | V_IGN_TPR_MASK;
		return;
	}
	write_field(_metadata, n->vcpu, CPU_BASED_VM_EXEC_CONTROL,
		    control(_metadata, n->vcpu, MSR_IA32_VMX_PROCBASED_CTLS, e->primary |
			    (e->secondary ? CPU_BASED_ACTIVATE_SECONDARY_CONTROLS : 0)));
	write_field(_metadata, n->vcpu, SECONDARY_VM_EXEC_CONTROL,
		    control(_metadata, n->vcpu, MSR_IA32_VMX_PROCBASED_CTLS2, e->secondary));
}

/* Let L1 execute the instruction. Return its exits for the reason. */
static __u64 run_entry(struct __test_metadata *_metadata, struct nested *n,
		       const struct entry *e)
{
	__u64 before = exits_by(_metadata, n->vcpu, e->reason);

	guest_put_code(_metadata, &n->guest, e->code, e->end);
	guest_put_code_at(_metadata, &n->guest, L1_GP_HANDLER, l1_gp, l1_gp_end);
	lm_set_handler(n->tables, GP_VECTOR, L1_GP_HANDLER);
	ASSERT_EQ(PORT_L1, run_l1_at(_metadata, n->vcpu, GUEST_CODE,
				     lm_gpa(NESTED_CONTROL), 0)) {
		TH_LOG("%s", e->reason);
	}
	return exits_by(_metadata, n->vcpu, e->reason) - before;
}

static void expect_exits_of_l1(struct __test_metadata *_metadata, struct nested *n,
			       const struct entry *e)
{
	for (; e->reason; e++) {
		if (!has_controls(_metadata, n, e))
			continue;
		EXPECT_EQ(1UL, run_entry(_metadata, n, e)) TH_LOG("%s", e->reason);
	}
}

TEST_F(nested, instructions_of_l1_count_for_their_reasons)
{
	expect_exits_of_l1(_metadata, &self->n,
			   self->n.vmcb ? svm_entries_of_l1 : vmx_entries_of_l1);
}

/* On a CPU without them, L1 dies of an exception. */
TEST_F(nested, monitor_and_mwait_of_l1_count_for_their_reasons)
{
	if (!cpu_has(CPUID_MONITOR))
		SKIP(return, "the CPU has neither instruction");
	expect_exits_of_l1(_metadata, &self->n, monitor_entries_of_l1);
}

#define CR4_OSXSAVE		0x40000UL

/* KVM intercepts these on AMD, but QEMU's SVM does not. */
#define NOT_EMULATED		"this CPU is an emulator that does not intercept it"

TEST_F(nested, xsetbv_of_l1_counts_for_xsetbv)
{
	struct kvm_sregs sregs;
	__u64 exits;

	if (!cpu_has(CPUID_XSAVE))
		SKIP(return, "the CPU has no XSAVE");
	ASSERT_EQ(0, ioctl(self->n.vcpu->fd, KVM_GET_SREGS, &sregs));
	sregs.cr4 |= CR4_OSXSAVE;
	ASSERT_EQ(0, ioctl(self->n.vcpu->fd, KVM_SET_SREGS, &sregs));
	exits = run_entry(_metadata, &self->n, &xsetbv_entry);
	if (stats_arch_svm() && !exits)
		SKIP(return, NOT_EMULATED);
	EXPECT_EQ(1UL, exits);
}

static void expect_exits_of_l2(struct __test_metadata *_metadata, struct nested *n,
			       const struct entry *e)
{
	__u64 before;

	for (; e->reason; e++) {
		if (!has_controls(_metadata, n, e))
			continue;
		intercept(_metadata, n, e);
		set_l2(_metadata, n, e->code, e->end);
		before = exits_by(_metadata, n->vcpu, e->reason);
		run_l1(_metadata, n, 1);
		EXPECT_EQ(1UL, exits_by(_metadata, n->vcpu, e->reason) - before) {
			TH_LOG("%s", e->reason);
		}
	}
}

TEST_F(nested, intercepted_instructions_of_l2_count_for_their_reasons)
{
	expect_exits_of_l2(_metadata, &self->n,
			   self->n.vmcb ? svm_entries_of_l2 : vmx_entries_of_l2);
}

/* Set the logical destination. */
STATS_GUEST_CODE(l2_apic_ldr, "movl %eax, 0xd0(%rdi)\n");

static const struct entry apic_entries_of_l2[] = {
	ENTRY("apic_write", l2_apic_ldr, .primary = CPU_BASED_TPR_SHADOW,
	      .secondary = SECONDARY_EXEC_APIC),
	{ }
};

TEST_F(nested, write_of_l2_to_its_virtual_apic_counts_for_apic_write)
{
	struct nested *n = &self->n;

	if (n->vmcb || !has_controls(_metadata, n, apic_entries_of_l2))
		SKIP(return, "the CPU does not virtualize the APIC's registers");
	lm_map(n->tables, 0, lm_gpa(NESTED_PML4));
	write_field(_metadata, n->vcpu, APIC_ACCESS_ADDR, lm_gpa(NESTED_PML4));
	write_field(_metadata, n->vcpu, VIRTUAL_APIC_PAGE_ADDR, lm_gpa(NESTED_PDPT));
	expect_exits_of_l2(_metadata, n, apic_entries_of_l2);
}

STATS_GUEST_CODE(l1_skinit, "skinit %eax\n");
STATS_GUEST_CODE(l1_rsm, "rsm\n");
STATS_GUEST_CODE(l1_ud2, "ud2\n");

/* KVM injects an exception. L1 has no handler: a triple fault. */
static void expect_death(struct __test_metadata *_metadata, struct nested *n,
			 const char *reason, const char *code, const char *end)
{
	struct kvm_regs regs = { .rip = GUEST_CODE, .rflags = STATS_RFLAGS };
	struct kvm_sregs sregs;

	guest_put_code(_metadata, &n->guest, code, end);
	ASSERT_EQ(0, ioctl(n->vcpu->fd, KVM_GET_SREGS, &sregs));
	sregs.idt.limit = 0;
	ASSERT_EQ(0, ioctl(n->vcpu->fd, KVM_SET_SREGS, &sregs));
	lm_set_regs(_metadata, n->vcpu, &regs);
	vcpu_run(_metadata, n->vcpu, KVM_EXIT_SHUTDOWN);
	EXPECT_EQ(1UL, exits_by(_metadata, n->vcpu, reason));
	EXPECT_EQ(1UL, exits_by(_metadata, n->vcpu, "shutdown"));
}

TEST_F(nested, skinit_counts_for_vm_insn)
{
	if (!self->n.vmcb)
		SKIP(return, "this is AMD's instruction");
	expect_death(_metadata, &self->n, "vm_insn", l1_skinit, l1_skinit_end);
}

TEST_F(nested, rsm_counts_for_rsm)
{
	if (!self->n.vmcb)
		SKIP(return, "on Intel it is an exception");
	expect_death(_metadata, &self->n, "rsm", l1_rsm, l1_rsm_end);
}

TEST_F(nested, triple_fault_of_l1_counts_for_shutdown)
{
	expect_death(_metadata, &self->n, "shutdown", l1_ud2, l1_ud2_end);
}

/* The selector of a TSS, behind the code segment. */
#define TSS_SELECTOR_OF_GUEST	0x10
STATS_GUEST_CODE(switch_task, ".code16\n	ljmp $0x10, $0\n.code64\n");

/* The old TSS is where the guest has no memory: KVM asks user space. */
TEST_F(guest, task_switch_counts_for_task_switch)
{
	const __u64 available_tss = 0x67 | GUEST_MEMORY << 16 | 0x89ULL << 40;
	struct guest *g = &self->guest;
	struct guest_vcpu *v = self->vcpu;
	struct kvm_sregs sregs;
	__u64 *gdt;

	guest_start(_metadata, g, switch_task, switch_task_end, 0);
	gdt = g->memory + (GUEST_CODE - GUEST_MEMORY) + GUEST_CODE_SIZE;
	memcpy(gdt, g->memory + STATS_GDT, TSS_SELECTOR_OF_GUEST);
	gdt[TSS_SELECTOR_OF_GUEST / 8] = available_tss;
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_SREGS, &sregs));
	sregs.gdt.base = GUEST_CODE + GUEST_CODE_SIZE;
	sregs.gdt.limit = TSS_SELECTOR_OF_GUEST + 7;
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_SREGS, &sregs));
	ASSERT_EQ(0, ioctl(v->fd, KVM_RUN, 0));
	if (stats_arch_svm() && !exits_by(_metadata, v, "task_switch"))
		SKIP(return, NOT_EMULATED);
	EXPECT_EQ(1UL, exits_by(_metadata, v, "task_switch"));
}

TEST_HARNESS_MAIN
