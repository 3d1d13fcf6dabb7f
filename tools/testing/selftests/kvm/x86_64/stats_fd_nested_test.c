// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics of nested guests: a guest (L1) runs its own guest (L2) a known number of
 * times, and each run counts. Also directed yields, which a paravirtualized guest asks for.
 */
#define _GNU_SOURCE
#include <linux/kvm_para.h>

#include "../../kselftest_harness.h"
#include "stats_fd_faults.h"
#include "stats_fd_nested.h"
#include "stats_fd_reasons.h"

#define RUNS			100UL

/* Exits of L2 that KVM handles without L1, in each run. */
#define EXITS_IN_L2		3UL

/* VMRUN or VMRESUME, and the exit to L1; at the end, the exit to user space. */
#define EXITS_PER_RUN		2UL
#define EXITS_OF_L1		1UL

FIXTURE(nested)
{
	struct nested n;
};

FIXTURE_VARIANT(nested)
{
	bool nested_paging;
};

FIXTURE_VARIANT_ADD(nested, with_shadow_paging) { .nested_paging = false };
FIXTURE_VARIANT_ADD(nested, with_nested_paging) { .nested_paging = true };

FIXTURE_SETUP(nested)
{
	if (nested_missing(variant->nested_paging))
		SKIP(return, "%s", nested_missing(variant->nested_paging));
	nested_create(_metadata, &self->n, variant->nested_paging);
}

FIXTURE_TEARDOWN(nested) { }

static void expect_nested(struct __test_metadata *_metadata,
			  const struct guest_vcpu *v, __u64 runs, __u64 inside)
{
	EXPECT_EQ(runs, vcpu_read(_metadata, v, "nested_run"));
	EXPECT_EQ(inside, vcpu_read(_metadata, v, "guest_mode"));
}

TEST_F(nested, each_run_of_l2_counts_once)
{
	struct nested *n = &self->n;
	__u64 exits;

	ASSERT_EQ(LM_PORT_DONE, lm_write(_metadata, n->vcpu, lm_gpa(LM_FREE), 1, 0));
	expect_nested(_metadata, n->vcpu, 0, 0);
	run_l2(n, l2, 1);
	expect_exit_of_l2(_metadata, n, SVM_EXIT_VMMCALL, EXIT_REASON_VMCALL);
	expect_nested(_metadata, n->vcpu, 1, 0);

	/* L2 continues at its hypercall. */
	exits = own_exits(_metadata, n->vcpu);
	run_l1(_metadata, n, RUNS - 1);
	expect_nested(_metadata, n->vcpu, RUNS, 0);
	EXPECT_EQ(EXITS_PER_RUN * (RUNS - 1) + EXITS_OF_L1,
		  own_exits(_metadata, n->vcpu) - exits);
}

TEST_F(nested, exits_of_l2_to_kvm_do_not_count_as_nested_runs)
{
	struct nested *n = &self->n;
	__u64 i, exits;

	for (i = 1; i <= RUNS; i++) {
		set_l2(_metadata, n, l2, l2_end);
		exits = own_exits(_metadata, n->vcpu);
		run_l1(_metadata, n, 1);
		expect_nested(_metadata, n->vcpu, i, 0);
		EXPECT_EQ(EXITS_IN_L2 + EXITS_PER_RUN + EXITS_OF_L1,
			  own_exits(_metadata, n->vcpu) - exits);
	}
}

TEST_F(nested, guest_mode_is_1_only_in_l2)
{
	struct nested *n = &self->n;
	__u64 i;

	for (i = 1; i <= RUNS; i++) {
		set_l2(_metadata, n, l2_out, l2_out_end);
		start_l1(_metadata, n, 1);
		ASSERT_EQ(PORT_L2, lm_run(_metadata, n->vcpu));
		expect_nested(_metadata, n->vcpu, i, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, n->vcpu));
		expect_nested(_metadata, n->vcpu, i, 0);
	}
}

TEST_F(nested, halt_of_l2_that_l1_intercepts_does_not_count_as_halt)
{
	struct nested *n = &self->n;

	intercept_hlt(_metadata, n);
	run_l2(n, l2_halts, 1);
	expect_exit_of_l2(_metadata, n, SVM_EXIT_HLT, EXIT_REASON_HLT);
	expect_nested(_metadata, n->vcpu, 1, 0);
	EXPECT_EQ(0UL, vcpu_read(_metadata, n->vcpu, "halt_exits"));
}

#define ACTIVITY_HLT		1	/* in GUEST_ACTIVITY_STATE */

/* L1 enters L2, but the CPU does not run it. */
TEST_F(nested, entry_into_a_halted_l2_counts_as_halt_and_not_as_run)
{
	struct nested *n = &self->n;

	if (n->vmcb)
		SKIP(return, "AMD's guests begin to run when they are entered");
	write_field(_metadata, n->vcpu, GUEST_ACTIVITY_STATE, ACTIVITY_HLT);
	set_l2(_metadata, n, l2, l2_end);
	start_l1(_metadata, n, 1);
	vcpu_run(_metadata, n->vcpu, KVM_EXIT_HLT);
	expect_nested(_metadata, n->vcpu, 0, 1);
	EXPECT_EQ(1UL, vcpu_read(_metadata, n->vcpu, "halt_exits"));
}

/* On Intel, L1's instruction fails without an exit of L2. */
TEST_F(nested, run_that_kvm_refuses_does_not_count)
{
	struct nested *n = &self->n;

	if (n->vmcb) {
		n->vmcb->control.asid = 0;
		run_l1(_metadata, n, RUNS);
		EXPECT_EQ((u32)SVM_EXIT_ERR, (u32)n->vmcb->control.exit_code);
	} else {
		write_field(_metadata, n->vcpu, CR3_TARGET_COUNT, 256);
		start_l1(_metadata, n, RUNS);
		ASSERT_EQ(PORT_FAILED, lm_run(_metadata, n->vcpu));
	}
	expect_nested(_metadata, n->vcpu, 0, 0);
}

TEST_F(nested, run_that_the_cpu_refuses_does_not_count)
{
	struct nested *n = &self->n;
	__u64 i;

	for (i = 0; i < RUNS; i++) {
		make_l2_invalid(_metadata, n);
		run_l2(n, l2, 1);
		expect_exit_of_l2(_metadata, n, SVM_EXIT_ERR, EXIT_REASON_INVALID_STATE |
				  VMX_EXIT_REASONS_FAILED_VMENTRY);
		expect_nested(_metadata, n->vcpu, 0, 0);
	}
}

/* On AMD, L1 does not intercept it, so that the whole VM shuts down. */
TEST_F(nested, triple_fault_of_l2_ends_guest_mode)
{
	struct nested *n = &self->n;

	set_l2(_metadata, n, l2_dies, l2_dies_end);
	start_l1(_metadata, n, 1);
	vcpu_run(_metadata, n->vcpu, n->vmcb ? KVM_EXIT_SHUTDOWN : KVM_EXIT_IO);
	expect_nested(_metadata, n->vcpu, 1, 0);
	if (!n->vmcb)
		expect_exit_of_l2(_metadata, n, 0, EXIT_REASON_TRIPLE_FAULT);
}

TEST_F(nested, restored_state_of_l2_is_guest_mode_and_does_not_count_as_run)
{
	struct nested *n = &self->n;
	union {
		struct kvm_nested_state state;
		char bytes[sizeof(struct kvm_nested_state) +
			   sizeof(struct kvm_svm_nested_state_data) +
			   sizeof(struct kvm_vmx_nested_state_data)];
	} state_of_l1, state_of_l2;

	/* Save the state before and after the entry into L2. */
	state_of_l1.state.size = sizeof(state_of_l1);
	ASSERT_EQ(0, ioctl(n->vcpu->fd, KVM_GET_NESTED_STATE, &state_of_l1));
	set_l2(_metadata, n, l2_out, l2_out_end);
	start_l1(_metadata, n, 1);
	ASSERT_EQ(PORT_L2, lm_run(_metadata, n->vcpu));
	vcpu_complete_exit(_metadata, n->vcpu);
	state_of_l2.state.size = sizeof(state_of_l2);
	ASSERT_EQ(0, ioctl(n->vcpu->fd, KVM_GET_NESTED_STATE, &state_of_l2));
	expect_nested(_metadata, n->vcpu, 1, 1);

	ASSERT_EQ(0, ioctl(n->vcpu->fd, KVM_SET_NESTED_STATE, &state_of_l1));
	expect_nested(_metadata, n->vcpu, 1, 0);
	ASSERT_EQ(0, ioctl(n->vcpu->fd, KVM_SET_NESTED_STATE, &state_of_l2));
	expect_nested(_metadata, n->vcpu, 1, 1);
}

/* L1 does not map this guest-physical address for L2. */
#define NOWHERE			0x10000000UL

TEST_F(nested, page_fault_of_l2_counts_as_pf_guest_and_nested_page_fault_as_other)
{
	struct nested *n = &self->n;
	/* If only the host uses nested paging, the CPU exits to L1 at once. */
	struct faults none = {}, of_the_guest = { .guest = RUNS },
		      of_l1s_nested_tables = { .other = RUNS };
	struct faults faults;
	__u64 page_faults;

	if (n->vmcb)
		n->vmcb->control.intercept_exceptions = 1 << 14;
	else
		write_field(_metadata, n->vcpu, EXCEPTION_BITMAP, 1 << 14);
	set_l2(_metadata, n, l2_writes, l2_writes_end);
	if (variant->nested_paging)
		lm_map(n->tables, 0, NOWHERE);
	run_l1(_metadata, n, 1);
	expect_exit_of_l2(_metadata, n, variant->nested_paging ? SVM_EXIT_NPF :
			  SVM_EXIT_EXCP_BASE + 14,
			  variant->nested_paging ? EXIT_REASON_EPT_VIOLATION :
			  EXIT_REASON_EXCEPTION_NMI);

	/* All pages of the guest are mapped now. */
	faults = faults_read(_metadata, n->vcpu);
	page_faults = exits_by(_metadata, n->vcpu, "page_fault");
	run_l1(_metadata, n, RUNS);
	EXPECT_EQ(variant->nested_paging ? 0UL : RUNS,
		  exits_by(_metadata, n->vcpu, "page_fault") - page_faults);
	expect_faults(_metadata, n->vcpu, &faults,
		      variant->nested_paging ? &of_l1s_nested_tables :
		      stats_arch_shadows() ? &of_the_guest : &none);
	expect_nested(_metadata, n->vcpu, 1 + RUNS, 0);
}

/*
 * AMD's nested page tables have the format of the guest's own. If L1 uses the same tables for
 * both, KVM shadows them. The CPU also writes to them when it walks them for L1: KVM then frees
 * their shadow and retries, but emulates nothing. In each run, it retries the upper table, and
 * frees the shadows of the tables below, too. Fixed faults are these four tables, and L2's pages,
 * most of which KVM prefetches.
 */
TEST_F(nested, faults_of_page_tables_that_l1_shares_with_l2_count_as_retried)
{
	struct nested *n = &self->n;
	bool shares = n->vmcb && variant->nested_paging;
	struct faults of_shared_tables = { .other = RUNS, .fixed = (4 + 2) * RUNS };
	struct faults none = {};
	struct faults faults;

	if (shares) {
		n->vmcb->control.nested_cr3 = lm_gpa(LM_PML4);
		n->vmcb->save.cr3 = lm_gpa(NESTED_PML4);
	}
	/* After an even number of runs, L1 faults next at its other instruction. */
	run_l2(n, l2, 2);

	faults = faults_read(_metadata, n->vcpu);
	run_l1(_metadata, n, RUNS);
	expect_faults(_metadata, n->vcpu, &faults,
		      shares ? &of_shared_tables : &none);
}

#define YIELDS			20UL

/* Hypercall %edi with two equal arguments, %esi times, in 16-bit code. */
STATS_GUEST_CODE(yield_code,
		 ".code16\n"
		 "1:	movl %edi, %eax\n"
		 "	vmmcall\n"
		 "	decl %esi\n"
		 "	jnz 1b\n"
		 "2:	outb %al, (%dx)\n"
		 "	jmp 2b\n"
		 ".code64\n");

FIXTURE(yield)
{
	struct guest guest;
	struct guest_vcpu *vcpu;	/* yields */
	struct guest_vcpu *other;
};

/* KVM finds vCPUs by APIC ID only after the state of an APIC was set. */
static void make_apic_ids_known(struct __test_metadata *_metadata, int vcpu)
{
	struct kvm_lapic_state lapic;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_LAPIC, &lapic));
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_LAPIC, &lapic));
}

FIXTURE_SETUP(yield)
{
	struct kvm_mp_state runnable = { KVM_MP_STATE_RUNNABLE };

	self->guest.irqchip = true;
	guest_create(_metadata, &self->guest, 2);
	self->vcpu = &self->guest.vcpu[0];
	self->other = &self->guest.vcpu[1];
	guest_put_code(_metadata, &self->guest, yield_code, yield_code_end);
	ASSERT_EQ(0, ioctl(self->other->fd, KVM_SET_MP_STATE, &runnable));
	make_apic_ids_known(_metadata, self->other->fd);
}

FIXTURE_TEARDOWN(yield) { }

static void yield_to(struct __test_metadata *_metadata, struct guest_vcpu *v,
		     int hypercall, __u32 apic_id)
{
	struct kvm_regs regs;

	stats_arch_init_vcpu(_metadata, v->fd, GUEST_CODE, YIELDS);
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_REGS, &regs));
	regs.rdi = hypercall;
	regs.rbx = apic_id;
	regs.rcx = apic_id;
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_REGS, &regs));
	vcpu_run(_metadata, v, KVM_EXIT_IO);
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_REGS, &regs));
	ASSERT_EQ(0U, regs.rax);
}

static void expect_yields(struct __test_metadata *_metadata,
			  const struct guest_vcpu *v, __u64 attempted, __u64 successful)
{
	EXPECT_EQ(attempted, vcpu_read(_metadata, v, "directed_yield_attempted"));
	EXPECT_EQ(successful, vcpu_read(_metadata, v, "directed_yield_successful"));
}

TEST_F(yield, yield_to_no_vcpu_or_to_an_idle_one_counts_as_attempt)
{
	yield_to(_metadata, self->vcpu, KVM_HC_SCHED_YIELD, APIC_ID_OF_NONE);
	expect_yields(_metadata, self->vcpu, YIELDS, 0);
	yield_to(_metadata, self->vcpu, KVM_HC_SCHED_YIELD, 1);
	expect_yields(_metadata, self->vcpu, 2 * YIELDS, 0);
	expect_yields(_metadata, self->other, 0, 0);
	/* Other hypercalls are no yields. */
	yield_to(_metadata, self->vcpu, KVM_HC_VAPIC_POLL_IRQ, 1);
	expect_yields(_metadata, self->vcpu, 2 * YIELDS, 0);
}

TEST_F(yield, yield_to_a_preempted_vcpu_counts_as_success)
{
	struct runner runner;

	/* On one CPU, the other vCPU is preempted whenever this one runs. */
	stay_on_this_cpu(_metadata);
	runner_start(_metadata, &runner, self->other, 1, 1);
	yield_to(_metadata, self->vcpu, KVM_HC_SCHED_YIELD, 1);
	expect_yields(_metadata, self->vcpu, YIELDS, YIELDS);
	expect_yields(_metadata, self->other, 0, 0);
	runner_stop(_metadata, &runner);
}

TEST_HARNESS_MAIN
