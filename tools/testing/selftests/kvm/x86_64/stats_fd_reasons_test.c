// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exits by reason of x86 guests in real mode, on KVM's fast path, and nested.
 */
#define _GNU_SOURCE
#include "../../kselftest_harness.h"
#include "stats_fd_nested.h"
#include "stats_fd_reasons.h"

#define TIMES			50

static __u64 exits_by(struct __test_metadata *_metadata, const struct guest_vcpu *v,
		      const char *name)
{
	struct reasons r;

	reasons_read(_metadata, v, &r);
	return reason_of(_metadata, v, &r, name);
}

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
TEST(emulation_instead_of_an_entry_counts_for_the_reason_emulation)
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
	/* After a preemption KVM tries to enter again. */
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

TEST_F(nested, runs_that_the_cpu_refuses_count_for_entry_failure)
{
	struct nested *n = &self->n;
	int i;

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
	int intercept;			/* of L2, which L1 sets */
};

#define L1_CODE(name, text)						\
	STATS_GUEST_CODE(name, text "\n1:	outb %al, $0x44\n	jmp 1b\n")
#define L1_EXIT(_reason, name)	{ .reason = _reason, .code = name, .end = name##_end }

L1_CODE(l1_vmload, "vmload %rax");
L1_CODE(l1_vmsave, "vmsave %rax");
L1_CODE(l1_invlpga, "invlpga %rax, %ecx");
L1_CODE(l1_invd, "invd");
L1_CODE(l1_rdpmc, "rdpmc");
L1_CODE(l1_monitor, "monitor %rax, %ecx, %edx");
L1_CODE(l1_mwait, "mwait %eax, %ecx");

static const struct entry svm_entries_of_l1[] = {
	L1_EXIT("vm_insn", l1_vmload),
	L1_EXIT("vm_insn", l1_vmsave),
	L1_EXIT("invlpg", l1_invlpga),
	L1_EXIT("wbinvd", l1_invd),
	L1_EXIT("rdpmc", l1_rdpmc),
};

#define CPUID_MONITOR		0x8	/* in leaf 1, ECX */

static const struct entry monitor_entries_of_l1[] = {
	L1_EXIT("monitor", l1_monitor),
	L1_EXIT("mwait", l1_mwait),
};

/* L1 intercepts these. KVM itself may leave STGI and CLGI to the CPU. */
#define L2_EXIT(_reason, name, _intercept)				\
	{ .reason = _reason, .code = name, .end = name##_end, .intercept = INTERCEPT_##_intercept }

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
	L2_EXIT("vm_insn", l2_stgi, STGI),
	L2_EXIT("vm_insn", l2_clgi, CLGI),
	L2_EXIT("rdtsc", l2_rdtsc, RDTSC),
	L2_EXIT("nmi_window", l2_iret, IRET),
	L2_EXIT("pause", l2_pause, PAUSE),
	L2_EXIT("descriptor_table", l2_sidt, STORE_IDTR),
	L2_EXIT("descriptor_table", l2_sgdt, STORE_GDTR),
	L2_EXIT("descriptor_table", l2_sldt, STORE_LDTR),
	L2_EXIT("descriptor_table", l2_str, STORE_TR),
	L2_EXIT("descriptor_table", l2_lidt, LOAD_IDTR),
	L2_EXIT("descriptor_table", l2_lgdt, LOAD_GDTR),
	L2_EXIT("descriptor_table", l2_lldt, LOAD_LDTR),
	L2_EXIT("descriptor_table", l2_ltr, LOAD_TR),
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

TEST_F(nested, svm_instructions_of_l1_count_for_their_reasons)
{
	unsigned int i;

	if (!self->n.vmcb)
		SKIP(return, "these are AMD's instructions");
	for (i = 0; i < ARRAY_SIZE(svm_entries_of_l1); i++)
		expect_exit_of_l1(_metadata, &self->n, &svm_entries_of_l1[i]);
}

/* On a CPU without them, L1 dies of an exception. */
TEST_F(nested, monitor_and_mwait_of_l1_count_for_their_reasons)
{
	unsigned int eax, ebx, ecx, edx, i;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & CPUID_MONITOR))
		SKIP(return, "the CPU has neither instruction");
	for (i = 0; i < ARRAY_SIZE(monitor_entries_of_l1); i++)
		expect_exit_of_l1(_metadata, &self->n, &monitor_entries_of_l1[i]);
}

TEST_F(nested, intercepted_instructions_of_l2_count_for_their_reasons)
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
		run_l1(_metadata, n, 1);
		EXPECT_EQ(1UL, exits_by(_metadata, n->vcpu, e->reason) - before) {
			TH_LOG("entry %ld: %s", (long)(e - svm_entries_of_l2), e->reason);
		}
	}
}

STATS_GUEST_CODE(l1_skinit, "skinit %eax\n");
STATS_GUEST_CODE(l1_rsm, "rsm\n");

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

TEST_HARNESS_MAIN
