// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exits of x86 by their reason, of guests that stats_fd_reasons_test does not have: in real
 * mode, on KVM's fast path, and nested.
 */
#define _GNU_SOURCE
#include "../../kselftest_harness.h"
#include "stats_fd_nested.h"
#include "stats_fd_reasons.h"

/* How often a guest does what it does. */
#define TIMES			50

static __u64 exits_by(struct __test_metadata *_metadata, const struct guest_vcpu *v,
		      const char *name)
{
	struct reasons r;

	reasons_read(_metadata, v, &r);
	return reason_of(_metadata, v, &r, name);
}

/* Data segments are as only an unrestricted guest can have them there. */
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

/* Where VMX cannot run real mode, each attempt counts as an exit. */
TEST(entries_that_are_left_out_have_the_reason_emulation)
{
	bool emulated = !stats_arch_svm() &&
			stats_parameter_is_off("kvm_intel", "unrestricted_guest");
	int i;
	struct guest guest = { };
	struct guest_vcpu *v;
	struct reasons r;

	guest_create(_metadata, &guest, 1);
	v = &guest.vcpu[0];
	init_real_mode(_metadata, v->fd);
	for (i = 0; i < TIMES; i++)
		vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	vcpu_complete_exit(_metadata, v);
	reasons_read(_metadata, v, &r);
	/* An entry that the host's scheduler interrupts is left out again. */
	EXPECT_LE(emulated ? (__u64)TIMES : 0UL, reason_of(_metadata, v, &r, "emulation"));
	EXPECT_GE(emulated ? 2UL * TIMES : 0UL, reason_of(_metadata, v, &r, "emulation"));
	EXPECT_EQ(emulated ? 0UL : (__u64)TIMES, reason_of(_metadata, v, &r, "io"));
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

/* On Intel KVM enters the guest again itself. */
TEST_F(nested, msr_writes_on_the_fast_path_have_their_reason)
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

TEST_F(nested, runs_of_l2_and_its_hypercalls_have_their_reasons)
{
	struct nested *n = &self->n;

	set_l2(_metadata, n, l2, l2_end);
	start_l1(_metadata, n, TIMES);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, n->vcpu));
	EXPECT_EQ((__u64)TIMES, exits_by(_metadata, n->vcpu, "vmrun"));
	EXPECT_EQ((__u64)TIMES, exits_by(_metadata, n->vcpu, "hypercall"));
}

TEST_F(nested, halt_that_l1_handles_has_the_reason_hlt)
{
	struct nested *n = &self->n;

	intercept_hlt(_metadata, n);
	set_l2(_metadata, n, l2_halts, l2_halts_end);
	start_l1(_metadata, n, 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, n->vcpu));
	EXPECT_EQ(1UL, exits_by(_metadata, n->vcpu, "hlt"));
}

TEST_F(nested, runs_that_the_cpu_refuses_have_the_reason_entry_failure)
{
	struct nested *n = &self->n;
	int i;

	for (i = 0; i < TIMES; i++) {
		set_l2(_metadata, n, l2, l2_end);
		make_l2_invalid(_metadata, n);
		start_l1(_metadata, n, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, n->vcpu));
	}
	EXPECT_EQ((__u64)TIMES, exits_by(_metadata, n->vcpu, "vmrun"));
	EXPECT_EQ((__u64)TIMES, exits_by(_metadata, n->vcpu, "entry_failure"));
}

/* An instruction that is an exit, and its reason. */
struct entry {
	const char *reason, *code, *end;
	int intercept;			/* that L1 sets for its L2 on AMD */
	__u32 primary, secondary;	/* the controls that it sets on Intel */
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

static const struct entry svm_entries_of_l1[] = {
	ENTRY("vm_insn", l1_vmload),
	ENTRY("vm_insn", l1_vmsave),
	ENTRY("invlpg", l1_invlpga),
	ENTRY("wbinvd", l1_invd),
	ENTRY("rdpmc", l1_rdpmc),
	{ }
};

#define CPU_BASED_INVLPG_EXITING	0x00000200
#define CPU_BASED_RDPMC_EXITING		0x00000800
#define CPU_BASED_RDTSC_EXITING		0x00001000
#define CPU_BASED_MONITOR_TRAP		0x08000000
#define CPU_BASED_PAUSE_EXITING		0x40000000
#define SECONDARY_EXEC_DESC		0x00000004
#define SECONDARY_EXEC_ENABLE_RDTSCP	0x00000008
#define SECONDARY_EXEC_ENABLE_VPID	0x00000020
#define SECONDARY_EXEC_RDRAND_EXITING	0x00000800
#define SECONDARY_EXEC_ENABLE_INVPCID	0x00001000
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
#define CPUID_MONITOR		(1U << 3)
#define CPUID_XSAVE		(1U << 26)

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

/*
 * L1 gets control at the instruction, which L2 does not execute. KVM itself may leave STGI
 * and CLGI to the CPU.
 */
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
	ENTRY("descriptor_table", l2_sidt, .secondary = SECONDARY_EXEC_DESC),
	ENTRY("descriptor_table", l2_sldt, .secondary = SECONDARY_EXEC_DESC),
	ENTRY("rdrand", l2_rdrand, .secondary = SECONDARY_EXEC_RDRAND_EXITING),
	ENTRY("rdrand", l2_rdseed, .secondary = SECONDARY_EXEC_RDSEED_EXITING),
	{ }
};

/* Whether L1 may set the controls, if it is Intel's. */
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
		return;
	}
	write_field(_metadata, n->vcpu, CPU_BASED_VM_EXEC_CONTROL,
		    control(_metadata, n->vcpu, MSR_IA32_VMX_PROCBASED_CTLS, e->primary |
			    (e->secondary ? CPU_BASED_ACTIVATE_SECONDARY_CONTROLS : 0)));
	write_field(_metadata, n->vcpu, SECONDARY_VM_EXEC_CONTROL,
		    control(_metadata, n->vcpu, MSR_IA32_VMX_PROCBASED_CTLS2, e->secondary));
}

/* Returns the exits of the reason that L1 has by the instruction. */
static __u64 run_entry(struct __test_metadata *_metadata, struct nested *n,
		       const struct entry *e)
{
	__u64 before = exits_by(_metadata, n->vcpu, e->reason);

	guest_put_code(_metadata, &n->guest, e->code, e->end);
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

TEST_F(nested, each_instruction_of_l1_is_an_exit_of_its_reason)
{
	expect_exits_of_l1(_metadata, &self->n,
			   self->n.vmcb ? svm_entries_of_l1 : vmx_entries_of_l1);
}

/* Without them in the CPU they are an exception, of which L1 dies. */
TEST_F(nested, monitor_and_mwait_are_exits_of_their_reasons)
{
	if (!cpu_has(CPUID_MONITOR))
		SKIP(return, "the CPU has neither instruction");
	expect_exits_of_l1(_metadata, &self->n, monitor_entries_of_l1);
}

#define CR4_OSXSAVE		(1UL << 18)

/* KVM has SVM intercept it, but QEMU's SVM does not. */
#define NOT_EMULATED		"an emulator, which does not intercept it"

TEST_F(nested, xsetbv_is_an_exit_of_its_reason)
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

TEST_F(nested, each_instruction_of_l2_that_l1_intercepts_is_an_exit_of_its_reason)
{
	struct nested *n = &self->n;
	const struct entry *e = n->vmcb ? svm_entries_of_l2 : vmx_entries_of_l2;
	__u64 before;

	for (; e->reason; e++) {
		if (!has_controls(_metadata, n, e))
			continue;
		intercept(_metadata, n, e);
		set_l2(_metadata, n, e->code, e->end);
		before = exits_by(_metadata, n->vcpu, e->reason);
		start_l1(_metadata, n, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, n->vcpu)) {
			TH_LOG("%s", e->reason);
		}
		EXPECT_EQ(1UL, exits_by(_metadata, n->vcpu, e->reason) - before) {
			TH_LOG("%s", e->reason);
		}
	}
}

STATS_GUEST_CODE(l1_skinit, "skinit %eax\n");
STATS_GUEST_CODE(l1_rsm, "rsm\n");
STATS_GUEST_CODE(l1_ud2, "ud2\n");

/* KVM answers with an exception, of which L1 dies without a handler. */
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

TEST_F(nested, skinit_is_an_exit_of_its_reason)
{
	struct nested *n = &self->n;

	if (!n->vmcb)
		SKIP(return, "this is AMD's instruction");
	expect_death(_metadata, n, "vm_insn", l1_skinit, l1_skinit_end);
}

TEST_F(nested, rsm_is_an_exit_of_its_reason)
{
	struct nested *n = &self->n;

	if (!n->vmcb)
		SKIP(return, "on Intel it is an exception");
	expect_death(_metadata, n, "rsm", l1_rsm, l1_rsm_end);
}

TEST_F(nested, death_of_l1_has_the_reason_shutdown)
{
	expect_death(_metadata, &self->n, "shutdown", l1_ud2, l1_ud2_end);
}

/* By a descriptor of a TSS, behind that of the code. */
#define TSS_SELECTOR_OF_GUEST	0x10
STATS_GUEST_CODE(switch_task, ".code16\n	ljmp $0x10, $0\n.code64\n");

/* The state of the guest is to go where it has no memory: KVM gives up. */
TEST(task_switch_has_its_reason)
{
	const __u64 available_tss = 0x67 | GUEST_MEMORY << 16 | 0x89ULL << 40;
	struct guest guest = { };
	struct kvm_sregs sregs;
	struct guest_vcpu *v;
	__u64 *gdt;

	guest_create(_metadata, &guest, 1);
	guest_put_code(_metadata, &guest, switch_task, switch_task_end);
	v = &guest.vcpu[0];
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_CODE, 0);
	gdt = guest.memory + (GUEST_CODE - GUEST_MEMORY) + GUEST_CODE_SIZE;
	memcpy(gdt, guest.memory + STATS_GDT, TSS_SELECTOR_OF_GUEST);
	gdt[TSS_SELECTOR_OF_GUEST / 8] = available_tss;
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_SREGS, &sregs));
	sregs.gdt.base = GUEST_CODE + GUEST_CODE_SIZE;
	sregs.gdt.limit = TSS_SELECTOR_OF_GUEST + 7;
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_SREGS, &sregs));
	ASSERT_EQ(0, ioctl(v->fd, KVM_RUN, 0));
	if (stats_arch_svm() && !exits_by(_metadata, v, "task_switch"))
		SKIP(return, NOT_EMULATED);
	EXPECT_EQ((__u32)KVM_EXIT_INTERNAL_ERROR, v->run->exit_reason);
	EXPECT_EQ(1UL, exits_by(_metadata, v, "task_switch"));
}

TEST_HARNESS_MAIN
