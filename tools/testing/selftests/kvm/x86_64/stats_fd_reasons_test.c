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
	int intercept;			/* that L1 sets for its L2 */
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

static const struct entry svm_entries_of_l1[] = {
	ENTRY("vm_insn", l1_vmload),
	ENTRY("vm_insn", l1_vmsave),
	ENTRY("invlpg", l1_invlpga),
	ENTRY("wbinvd", l1_invd),
	ENTRY("rdpmc", l1_rdpmc),
};

#define CPUID_MONITOR		(1 << 3)	/* in leaf 1, ECX */

static const struct entry monitor_entries_of_l1[] = {
	ENTRY("monitor", l1_monitor),
	ENTRY("mwait", l1_mwait),
};

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
};

static void expect_exit_of_l1(struct __test_metadata *_metadata, struct nested *n,
			      const struct entry *e)
{
	__u64 before = exits_by(_metadata, n->vcpu, e->reason);

	guest_put_code(_metadata, &n->guest, e->code, e->end);
	ASSERT_EQ(PORT_L1, run_l1_at(_metadata, n->vcpu, GUEST_CODE,
				     lm_gpa(NESTED_CONTROL), 0)) {
		TH_LOG("%s", e->reason);
	}
	EXPECT_EQ(1UL, exits_by(_metadata, n->vcpu, e->reason) - before) {
		TH_LOG("%s", e->reason);
	}
}

TEST_F(nested, each_instruction_of_l1_is_an_exit_of_its_reason)
{
	unsigned int i;

	if (!self->n.vmcb)
		SKIP(return, "these are AMD's instructions");
	for (i = 0; i < ARRAY_SIZE(svm_entries_of_l1); i++)
		expect_exit_of_l1(_metadata, &self->n, &svm_entries_of_l1[i]);
}

/* Without them in the CPU they are an exception, of which L1 dies. */
TEST_F(nested, monitor_and_mwait_are_exits_of_their_reasons)
{
	unsigned int eax, ebx, ecx, edx, i;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & CPUID_MONITOR))
		SKIP(return, "the CPU has neither instruction");
	for (i = 0; i < ARRAY_SIZE(monitor_entries_of_l1); i++)
		expect_exit_of_l1(_metadata, &self->n, &monitor_entries_of_l1[i]);
}

TEST_F(nested, each_instruction_of_l2_that_l1_intercepts_is_an_exit_of_its_reason)
{
	struct nested *n = &self->n;
	const struct entry *e = svm_entries_of_l2;
	__u64 before;

	if (!n->vmcb)
		SKIP(return, "these are AMD's intercepts");
	for (; e < svm_entries_of_l2 + ARRAY_SIZE(svm_entries_of_l2); e++) {
		write_vmcb(n->vmcb, false);
		n->vmcb->control.intercept |= 1UL << e->intercept;
		set_l2(_metadata, n, e->code, e->end);
		before = exits_by(_metadata, n->vcpu, e->reason);
		start_l1(_metadata, n, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, n->vcpu));
		EXPECT_EQ(1UL, exits_by(_metadata, n->vcpu, e->reason) - before) {
			TH_LOG("entry %ld: %s", (long)(e - svm_entries_of_l2), e->reason);
		}
	}
}

STATS_GUEST_CODE(l1_skinit, "skinit %eax\n");
STATS_GUEST_CODE(l1_rsm, "rsm\n");

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

TEST_HARNESS_MAIN
