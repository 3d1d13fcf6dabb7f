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

TEST_HARNESS_MAIN
