// SPDX-License-Identifier: GPL-2.0-only
/*
 * A vCPU that waits until another vCPU starts it is blocked, but has not halted: no statistic
 * of halts counts it, and its state is off.
 */
#define _GNU_SOURCE
#include "../kselftest_harness.h"
#include "stats_fd_reasons.h"
#include "stats_fd_switch.h"
#include "stats_fd_times.h"
#include "stats_fd_userfault.h"

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

static void wait_for_state(struct __test_metadata *_metadata, struct guest_vcpu *v,
			   const char *name)
{
	const __u64 state = stats_find_value(&v->file, "state", name);
	int i;

	for (i = 0; vcpu_read(_metadata, v, "state") != state; i++) {
		ASSERT_GT(RUNNER_MAX_READS / 10, i) TH_LOG("the vCPU is never in state %s", name);
		sched_yield();
	}
}

/* Run the vCPU until it is in this state, and after a while end KVM_RUN by a signal. */
static void block(struct __test_metadata *_metadata, struct guest_vcpu *v, const char *name)
{
	struct runner runner;

	runner_create(_metadata, &runner, v);
	wait_for_state(_metadata, v, name);
	usleep(ROUND_US);
	runner_stop(_metadata, &runner);
}

TEST_F(start, wait_for_start_counts_as_off_and_not_as_halt)
{
	const __u64 least = 1000ULL * ROUNDS * ROUND_US;
	__u64 hist[HALT_BUCKETS], halts = 0, off, halted;
	struct guest_vcpu *v = self->vcpu;
	int i;

	for (i = 0; i < ROUNDS; i++)
		block(_metadata, v, variant->halted ? "halt" : "off");

	stats_read_all(_metadata, &v->file, "halt_wait_hist", hist, HALT_BUCKETS);
	for (i = 0; i < HALT_BUCKETS; i++)
		halts += hist[i];
	EXPECT_EQ(ROUNDS + 0ULL, vcpu_read(_metadata, v, "signal_exits"));
	off = vcpu_read(_metadata, v, "time_off_ns");
	halted = vcpu_read(_metadata, v, "time_halt_ns");
	TH_LOG("halt_wait_ns %llu, halt_attempted_poll %llu, time_off_ns %llu",
	       (unsigned long long)vcpu_read(_metadata, v, "halt_wait_ns"),
	       (unsigned long long)vcpu_read(_metadata, v, "halt_attempted_poll"),
	       (unsigned long long)off);
	if (variant->halted) {
		EXPECT_EQ(ROUNDS + 0ULL, halts);
		EXPECT_LE(least, vcpu_read(_metadata, v, "halt_wait_ns"));
		EXPECT_LT(0UL, vcpu_read(_metadata, v, "halt_attempted_poll"));
		EXPECT_LE(least - least / 100, halted);
		EXPECT_EQ(0UL, off);
	} else {
		EXPECT_EQ(0UL, halts);
		EXPECT_EQ(0UL, vcpu_read(_metadata, v, "halt_wait_ns"));
		EXPECT_EQ(0UL, vcpu_read(_metadata, v, "halt_attempted_poll"));
		EXPECT_EQ(0UL, halted);
		EXPECT_LE(least - least / 100, off);
	}
}

#define VCPUS		4

/* vCPU 0 runs, the others wait for their start. */
FIXTURE(boot)
{
	bool was_on;
	struct guest guest;
	struct runner runner[VCPUS];
	struct mapped_times mapped[VCPUS];
	struct times from[VCPUS], to[VCPUS];
};

#ifdef __aarch64__
#define STATE_TO_START	KVM_MP_STATE_STOPPED

/* PSCI 0.1, which a vCPU has by default. */
#define PSCI_CPU_OFF	0x95c1ba5f
#define PSCI_CPU_ON	0x95c1ba60

#define CALL_PSCI	(GUEST_CODE + 0x200)

STATS_GUEST_CODE(call_psci,
		 "	hvc #0\n"
		 "	str w1, [x4]\n");

static void set_psci_call(struct __test_metadata *_metadata, struct guest_vcpu *v,
			  __u64 function, __u64 cpu)
{
	stats_set_reg(_metadata, v->fd, STATS_CORE_REG(regs.pc), CALL_PSCI);
	stats_set_reg(_metadata, v->fd, STATS_CORE_REG(regs.regs[0]), function);
	stats_set_reg(_metadata, v->fd, STATS_CORE_REG(regs.regs[1]), cpu);
	stats_set_reg(_metadata, v->fd, STATS_CORE_REG(regs.regs[2]), GUEST_USER_EXITS);
	stats_set_reg(_metadata, v->fd, STATS_CORE_REG(regs.regs[4]), STATS_MMIO_ADDR);
}

/* vCPU 0 starts the others. They write to address 0, where no memory is. */
static void start_vcpus(struct __test_metadata *_metadata, struct guest *g)
{
	int i;

	for (i = 1; i < VCPUS; i++) {
		vcpu_complete_exit(_metadata, &g->vcpu[0]);
		set_psci_call(_metadata, &g->vcpu[0], PSCI_CPU_ON, i);
		vcpu_run(_metadata, &g->vcpu[0], STATS_USER_EXIT_REASON);
		EXPECT_EQ(0UL, stats_get_core(_metadata, g->vcpu[0].fd, 0));
	}
}

/* The vCPU powers itself off. */
static void power_off(struct __test_metadata *_metadata, struct guest *g, struct runner *r,
		      struct guest_vcpu *v)
{
	set_psci_call(_metadata, v, PSCI_CPU_OFF, 0);
	runner_create(_metadata, r, v);
}
#else
#define STATE_TO_START	KVM_MP_STATE_INIT_RECEIVED

/* Send INIT or SIPI to all vCPUs, see stats_arch_wake(). */
static void send_to_all(struct __test_metadata *_metadata, int vm, __u32 data)
{
	struct kvm_msi msi = {
		.address_lo = 0xfeeff000,
		.data = data,
	};

	ASSERT_LE(1, ioctl(vm, KVM_SIGNAL_MSI, &msi));
}

#define DELIVERY_INIT	(5 << 8)
#define DELIVERY_SIPI	(6 << 8)

/* They start with the user exits, in real mode. */
static void start_vcpus(struct __test_metadata *_metadata, struct guest *g)
{
	send_to_all(_metadata, g->vm, DELIVERY_SIPI | GUEST_USER_EXITS >> 12);
}

/* The vCPU gets INIT while it runs. */
static void power_off(struct __test_metadata *_metadata, struct guest *g, struct runner *r,
		      struct guest_vcpu *v)
{
	runner_start(_metadata, r, v, 1, 1);
	send_to_all(_metadata, g->vm, DELIVERY_INIT);
}
#endif

FIXTURE_SETUP(boot)
{
	struct kvm_mp_state state = { .mp_state = STATE_TO_START };
	struct guest *g = &self->guest;
	int i;

	self->was_on = stats_time_is_on(_metadata);
	stats_time_turn_on(_metadata);
	g->irqchip = true;
	guest_create(_metadata, g, VCPUS);
	for (i = 0; i < VCPUS; i++) {
		times_map(_metadata, &g->vcpu[i].file, &self->mapped[i]);
		stats_arch_init_vcpu(_metadata, g->vcpu[i].fd, GUEST_CODE, 1);
		if (i)
			ASSERT_EQ(0, ioctl(g->vcpu[i].fd, KVM_SET_MP_STATE, &state));
	}
}

FIXTURE_TEARDOWN(boot)
{
	ASSERT_EQ(0, stats_time_turn(_metadata, self->was_on ? "1" : "0"));
}

/* Expect that a vCPU was in this state for at least so long, and that the states add up. */
static void expect_blocked(struct __test_metadata *_metadata, const struct times *from,
			   const struct times *to, int state, __u64 least)
{
	struct times t = *to;

	expect_all(_metadata, from, to);
	t.of[state] += t.of[READY] - from->of[READY];
	expect_least(_metadata, from, &t, state, least);
}

TEST_F(boot, vcpus_are_off_until_they_are_started_while_another_waits_for_memory)
{
	struct guest *g = &self->guest;
	struct userfault fault;
	__u64 from;
	int i;

	userfault_create(_metadata, g, &fault);
	guest_put_code(_metadata, g, stats_touch, stats_touch_end);
#ifdef __aarch64__
	guest_put_code_at(_metadata, g, CALL_PSCI, call_psci, call_psci_end);
#endif
	for (i = 0; i < VCPUS; i++)
		runner_create(_metadata, &self->runner[i], &g->vcpu[i]);
	userfault_wait(_metadata, &fault);
	for (i = 0; i < VCPUS; i++) {
		wait_for_state(_metadata, &g->vcpu[i], i ? "off" : "sleep");
		times_sample(&self->mapped[i], &self->from[i]);
	}
	from = stats_now_ns();
	usleep(ROUND_US);
	from = stats_now_ns() - from;

	userfault_resolve(_metadata, g, &fault);
	runner_join(_metadata, &self->runner[0]);
	times_sample(&self->mapped[0], &self->to[0]);
	expect_blocked(_metadata, &self->from[0], &self->to[0], SLEPT, from);

	start_vcpus(_metadata, g);
	for (i = 1; i < VCPUS; i++) {
		runner_join(_metadata, &self->runner[i]);
		times_sample(&self->mapped[i], &self->to[i]);
		expect_blocked(_metadata, &self->from[i], &self->to[i], OFF, from);
	}
}

TEST_F(boot, vcpu_is_off_again_after_it_was_powered_off)
{
	struct guest *g = &self->guest;
	struct guest_vcpu *v = &g->vcpu[1];
	__u64 from;

	guest_put_code(_metadata, g, stats_touch, stats_touch_end);
#ifdef __aarch64__
	guest_put_code_at(_metadata, g, CALL_PSCI, call_psci, call_psci_end);
#endif
	stats_arch_init_vcpu(_metadata, g->vcpu[0].fd, GUEST_USER_EXITS, 0);
	vcpu_run(_metadata, &g->vcpu[0], STATS_USER_EXIT_REASON);
	runner_create(_metadata, &self->runner[1], v);
	wait_for_state(_metadata, v, "off");
	start_vcpus(_metadata, g);
	runner_join(_metadata, &self->runner[1]);
	vcpu_complete_exit(_metadata, v);

	power_off(_metadata, g, &self->runner[1], v);
	wait_for_state(_metadata, v, "off");
	times_sample(&self->mapped[1], &self->from[1]);
	from = stats_now_ns();
	usleep(ROUND_US);
	from = stats_now_ns() - from;
	runner_stop(_metadata, &self->runner[1]);
	times_sample(&self->mapped[1], &self->to[1]);
	expect_blocked(_metadata, &self->from[1], &self->to[1], OFF, from);
	EXPECT_EQ(KVM_EXIT_INTR + 0UL, vcpu_read(_metadata, v, "last_user_exit"));
}

TEST_HARNESS_MAIN
