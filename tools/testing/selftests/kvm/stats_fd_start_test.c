// SPDX-License-Identifier: GPL-2.0-only
/*
 * A vCPU that waits until another vCPU starts it is blocked, but has not halted: no statistic
 * of halts counts it, and its state is sleep.
 */
#define _GNU_SOURCE
#include "../kselftest_harness.h"
#include "stats_fd_reasons.h"
#include "stats_fd_switch.h"

#define ROUNDS		10
#define ROUND_US	20000

#define HALT_BUCKETS	32

FIXTURE(start)
{
	bool was_on;
	struct guest guest;
	struct guest_vcpu *vcpu;
};

FIXTURE_VARIANT(start)
{
	__u32 mp_state;
	bool halted;
};

#ifdef __aarch64__
FIXTURE_VARIANT_ADD(start, stopped) { .mp_state = KVM_MP_STATE_STOPPED };
#else
FIXTURE_VARIANT_ADD(start, uninitialized) { .mp_state = KVM_MP_STATE_UNINITIALIZED };
FIXTURE_VARIANT_ADD(start, init_received) { .mp_state = KVM_MP_STATE_INIT_RECEIVED };
/* For comparison, this vCPU has halted. */
FIXTURE_VARIANT_ADD(start, halted) { .mp_state = KVM_MP_STATE_HALTED, .halted = true };
#endif

FIXTURE_SETUP(start)
{
	/* With the longest polling, a halted vCPU polls after a few rounds. */
	struct kvm_enable_cap cap = { .cap = KVM_CAP_HALT_POLL, .args[0] = UINT_MAX };
	struct kvm_mp_state state = { .mp_state = variant->mp_state };

	self->was_on = stats_time_is_on(_metadata);
	stats_time_turn_on(_metadata);
	self->guest.irqchip = true;
	guest_create(_metadata, &self->guest, 2);
	ASSERT_EQ(0, ioctl(self->guest.vm, KVM_ENABLE_CAP, &cap));
	self->vcpu = &self->guest.vcpu[1];
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_SET_MP_STATE, &state));
}

FIXTURE_TEARDOWN(start)
{
	ASSERT_EQ(0, stats_time_turn(_metadata, self->was_on ? "1" : "0"));
}

/* Run the vCPU until it is in this state, and after a while end KVM_RUN by a signal. */
static void block(struct __test_metadata *_metadata, struct guest_vcpu *v, const char *name)
{
	const __u64 state = stats_find_value(&v->file, "state", name);
	struct runner runner;
	int i;

	runner_create(_metadata, &runner, v);
	for (i = 0; vcpu_read(_metadata, v, "state") != state; i++) {
		ASSERT_GT(RUNNER_MAX_READS / 10, i) TH_LOG("the vCPU is never in state %s", name);
		sched_yield();
	}
	usleep(ROUND_US);
	runner_stop(_metadata, &runner);
}

TEST_F(start, wait_for_start_counts_as_sleep_and_not_as_halt)
{
	const __u64 least = 1000ULL * ROUNDS * ROUND_US;
	__u64 hist[HALT_BUCKETS], halts = 0, slept, halted;
	struct guest_vcpu *v = self->vcpu;
	int i;

	for (i = 0; i < ROUNDS; i++)
		block(_metadata, v, variant->halted ? "halt" : "sleep");

	stats_read_all(_metadata, &v->file, "halt_wait_hist", hist, HALT_BUCKETS);
	for (i = 0; i < HALT_BUCKETS; i++)
		halts += hist[i];
	EXPECT_EQ(ROUNDS + 0ULL, vcpu_read(_metadata, v, "signal_exits"));
	slept = vcpu_read(_metadata, v, "time_sleep_ns");
	halted = vcpu_read(_metadata, v, "time_halt_ns");
	TH_LOG("halt_wait_ns %llu, halt_attempted_poll %llu, time_sleep_ns %llu",
	       (unsigned long long)vcpu_read(_metadata, v, "halt_wait_ns"),
	       (unsigned long long)vcpu_read(_metadata, v, "halt_attempted_poll"),
	       (unsigned long long)slept);
	if (variant->halted) {
		EXPECT_EQ(ROUNDS + 0ULL, halts);
		EXPECT_LE(least, vcpu_read(_metadata, v, "halt_wait_ns"));
		EXPECT_LT(0UL, vcpu_read(_metadata, v, "halt_attempted_poll"));
		EXPECT_LE(least - least / 100, halted);
	} else {
		EXPECT_EQ(0UL, halts);
		EXPECT_EQ(0UL, vcpu_read(_metadata, v, "halt_wait_ns"));
		EXPECT_EQ(0UL, vcpu_read(_metadata, v, "halt_attempted_poll"));
		EXPECT_EQ(0UL, halted);
		EXPECT_LE(least - least / 100, slept);
	}
}

TEST_HARNESS_MAIN
