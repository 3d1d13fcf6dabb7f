// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exits by reason: each activity of a guest counts in the element of its reason and in no
 * other, and the elements add up to the exits.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "stats_fd_fixture.h"
#include "stats_fd_reasons.h"
#include "stats_fd_sleep.h"

#define TIMES			1000
#define SLEEPS			10

#define DATA_SLOT		1

TEST_F(guest, exit_reasons_is_an_array_with_a_name_for_each_element)
{
	const struct stats_file *f = &self->vcpu->file;
	const struct kvm_stats_desc *desc = stats_find(f, "exit_reasons");
	unsigned int i, num = reasons_num(_metadata, f);

	EXPECT_EQ(KVM_STATS_TYPE_CUMULATIVE | KVM_STATS_UNIT_NONE |
		  KVM_STATS_BASE_POW10, desc->flags);
	EXPECT_EQ(0, desc->exponent);
	EXPECT_EQ(0U, desc->bucket_size);
	for (i = 0; i < num; i++) {
		EXPECT_EQ((int)i, reason_find(f, reason_name(f, i))) {
			TH_LOG("%s", reason_name(f, i));
		}
	}
	EXPECT_EQ((int)num - 1, reason_find(f, "other"));
}

static void run_times(struct __test_metadata *_metadata,
		      const struct stats_activity *a, struct guest_vcpu *v, int times)
{
	stats_arch_restart_vcpu(_metadata, v->fd, GUEST_CODE, times);
	vcpu_run_activity(_metadata, v, a, times);
	vcpu_complete_exit(_metadata, v);
}

/* Return the expected exits of a reason, with the user exit at the end. */
static __u64 expected_of(const struct stats_activity *a, const char *reason)
{
	__u64 times = 0;
	unsigned int i;

	if (!a->moves_nothing || !a->moves_nothing()) {
		for (i = 0; a->reasons[i]; i++)
			times += strcmp(a->reasons[i], reason) ? 0 : TIMES;
	}
	if (!a->exit_reason && !strcmp(reason, STATS_USER_REASON))
		times++;
	return times;
}

/*
 * Let the guest run first, so that its memory is mapped and KVM knows the MMIO. Its loop runs
 * an even number of times, so that toggled bits are as before.
 */
static void expect_reasons(struct __test_metadata *_metadata, const struct stats_activity *a)
{
	struct reasons before, after;
	struct guest guest = { };
	struct guest_vcpu *v;
	__u64 interrupts;
	unsigned int i;

	guest_create(_metadata, &guest, 1);
	guest_start(_metadata, &guest, a->code, a->end, 2);
	v = &guest.vcpu[0];
	run_times(_metadata, a, v, 2);
	reasons_read(_metadata, v, &before);
	run_times(_metadata, a, v, TIMES);
	reasons_read(_metadata, v, &after);
	reasons_expect(_metadata, v);
	interrupts = reason_of(_metadata, v, &after, "interrupt") -
		     reason_of(_metadata, v, &before, "interrupt");
	for (i = 0; i < reasons_num(_metadata, &v->file); i++) {
		const char *reason = reason_name(&v->file, i);
		__u64 moved = after.of[i] - before.of[i];
		__u64 expected = expected_of(a, reason);

		if (!strcmp(reason, "interrupt"))
			continue;
		EXPECT_LE(expected, moved) TH_LOG("%s: %s", a->name, reason);
		if (a->again && !strcmp(reason, a->again))
			expected += interrupts;
		EXPECT_GE(expected, moved) TH_LOG("%s: %s", a->name, reason);
	}
	guest_destroy(&guest);
}

TEST(each_activity_of_a_guest_counts_for_its_reason_and_for_no_other)
{
	const struct stats_activity *a;

	for (a = stats_arch_activities; a->name; a++) {
		if (a->reasons[0])
			expect_reasons(_metadata, a);
	}
}

/* KVM itself lets the vCPU sleep. */
TEST(each_halt_that_sleeps_counts_for_its_reason)
{
	int i;
	struct guest guest = { .irqchip = true };
	struct guest_vcpu *v;
	struct runner runner;

	guest_create(_metadata, &guest, 1);
	guest_start(_metadata, &guest, stats_sleep, stats_sleep_end, 0);
	v = &guest.vcpu[0];
	for (i = 0; i < SLEEPS; i++) {
		runner_sleep(_metadata, &runner, v);
		runner_wake(_metadata, &runner, guest.vm);
	}
	EXPECT_LE((__u64)SLEEPS, vcpu_read(_metadata, v, STATS_SLEEPS));
	vcpu_complete_exit(_metadata, v);
	reasons_expect(_metadata, v);
}

TEST_F(guest, each_first_touch_of_a_page_counts_as_fault)
{
	const char *fault = stats_arch_fault_reason();
	const size_t page = sysconf(_SC_PAGESIZE);
	struct guest_vcpu *v = self->vcpu;
	__u64 before;

	/* KVM may map pages that the host already has before the guest touches them. */
	guest_add_untouched(_metadata, &self->guest, DATA_SLOT, 0,
			    STATS_DATA, TIMES * page);
	guest_start(_metadata, &self->guest, stats_touch, stats_touch_end, 0);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	vcpu_complete_exit(_metadata, v);
	before = exits_by(_metadata, v, fault);
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_CODE, TIMES);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	vcpu_complete_exit(_metadata, v);
	/* The user exit at the end may have the same reason. */
	EXPECT_EQ((__u64)TIMES + !strcmp(fault, STATS_USER_REASON),
		  exits_by(_metadata, v, fault) - before);
}

TEST_HARNESS_MAIN
