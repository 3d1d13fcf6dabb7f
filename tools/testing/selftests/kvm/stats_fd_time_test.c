// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time of vCPUs by state, while KVM's parameter stats_time is on.
 */
#define _GNU_SOURCE
#include "../kselftest_harness.h"
#include "stats_fd_delay.h"
#include "stats_fd_reasons.h"
#include "stats_fd_sleep.h"
#include "stats_fd_switch.h"
#include "stats_fd_times.h"
#include "stats_fd_userfault.h"

/* Repetitions, and samples that find another state than the sample before. */
#define TIMES			1000
#define SAMPLES			(20 * TIMES)
#define SAMPLING		(5000 * MS)

/* Repetitions that take their time. */
#define SLEEPS			10
#define SLEEP			(20 * MS)

/* Read a VM's statistic. */
static __u64 vm_value(struct __test_metadata *_metadata, int vm, const char *name)
{
	struct stats_file file;
	__u64 on;

	stats_load(_metadata, stats_get_fd(_metadata, vm), &file);
	on = stats_read(_metadata, &file, name);
	stats_unload(&file);
	return on;
}

/* A guest whose first vCPU's values are mapped. */
FIXTURE(time)
{
	bool was_on;
	struct guest guest;
	struct guest_vcpu *vcpu;
	struct mapped_times mapped;
};

FIXTURE_SETUP(time)
{
	self->was_on = stats_time_is_on(_metadata);
	stats_time_turn_off(_metadata);
	self->guest.irqchip = true;
	guest_create(_metadata, &self->guest, 1);
	guest_put_code(_metadata, &self->guest, stats_sleep, stats_sleep_end);
	self->vcpu = &self->guest.vcpu[0];
	times_map(_metadata, &self->vcpu->file, &self->mapped);
	if (!vm_value(_metadata, self->guest.vm, "ready_accounting"))
		SKIP(return, "the scheduler does not count run_delay");
}

FIXTURE_TEARDOWN(time)
{
	ASSERT_EQ(0, stats_time_turn(_metadata, self->was_on ? "1" : "0"));
}

#define is_in_state(name, t)						\
	(!strcmp(name, stats_name_of(&self->vcpu->file, "state", (t)->state)))

#define EXPECT_STATE(name, t)						\
	EXPECT_STREQ(name, stats_name_of(&self->vcpu->file, "state", (t)->state))

#define SAMPLE(t)	times_sample(&self->mapped, t)

/*
 * Call this before a sample of a vCPU that has left KVM_RUN. The scheduler can count a longer
 * wait than KVM saw; KVM subtracts the excess from later time with a CPU in KVM_RUN. Run the
 * vCPU until nothing is left: without a new wait, time_exit_ns grows.
 */
static void settle_waits(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	__u64 exit, ready;

	do {
		exit = vcpu_read(_metadata, v, "time_exit_ns");
		ready = vcpu_read(_metadata, v, "ready_ns");
		vcpu_complete_exit(_metadata, v);
	} while (vcpu_read(_metadata, v, "time_exit_ns") == exit ||
		 vcpu_read(_metadata, v, "ready_ns") != ready);
}

/* Turn the accounting on and let the vCPU run once, so that its time counts. */
static void begin(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	stats_time_turn_on(_metadata);
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	settle_waits(_metadata, v);
}

TEST_F(time, parameter_refuses_invalid_values)
{
	EXPECT_EQ(-EINVAL, stats_time_turn(_metadata, "2"));
	EXPECT_EQ(-EINVAL, stats_time_turn(_metadata, "\n"));
	EXPECT_FALSE(stats_time_is_on(_metadata));
	stats_time_turn_on(_metadata);
	EXPECT_TRUE(stats_time_is_on(_metadata));
	EXPECT_EQ(-EINVAL, stats_time_turn(_metadata, "maybe"));
	EXPECT_TRUE(stats_time_is_on(_metadata));
}

TEST_F(time, time_accounting_of_old_and_new_vms_shows_the_parameter)
{
	int on, vm;

	for (on = 1; on >= 0; on--) {
		ASSERT_EQ(0, stats_time_turn(_metadata, on ? "1" : "0"));
		vm = stats_create_vm(_metadata);
		EXPECT_EQ((__u64)on, vm_value(_metadata, self->guest.vm, "time_accounting"));
		EXPECT_EQ((__u64)on, vm_value(_metadata, vm, "time_accounting"));
		close(vm);
	}
}

TEST_F(time, no_time_counts_while_the_accounting_is_off)
{
	__u64 of[REASONS_MAX];
	struct times t;

	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	SAMPLE(&t);
	EXPECT_STATE("none", &t);
	EXPECT_EQ(t.of[READY], sum_of(&t));
	EXPECT_EQ(0UL, reasons_ns(_metadata, self->vcpu, of));
	EXPECT_EQ(0UL, exits_timed(_metadata, self->vcpu));
}

TEST_F(time, time_of_a_vcpu_begins_with_its_first_KVM_RUN)
{
	struct kvm_mp_state state;
	struct times t;
	__u64 from;

	stats_time_turn_on(_metadata);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_MP_STATE, &state));
	usleep(SLEEP / 1000);
	SAMPLE(&t);
	EXPECT_STATE("none", &t);
	EXPECT_EQ(0UL, sum_of(&t));
	from = stats_now_ns();
	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	settle_waits(_metadata, self->vcpu);
	SAMPLE(&t);
	EXPECT_GE(stats_now_ns() - from, sum_of(&t));
	EXPECT_STATE("user", &t);
}

TEST_F(time, sleep_of_the_vmm_at_each_exit_counts_as_user)
{
	__u64 slept = 0, from;
	struct times t[2];
	int i;

	begin(_metadata, self->vcpu);
	SAMPLE(&t[0]);
	for (i = 0; i < SLEEPS; i++) {
		from = stats_now_ns();
		usleep(SLEEP / 1000);
		slept += stats_now_ns() - from;
		vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	}
	settle_waits(_metadata, self->vcpu);
	SAMPLE(&t[1]);
	EXPECT_STATE("user", &t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	/* After each sleep it may have waited for a CPU. */
	t[1].of[USER] += t[1].of[READY] - t[0].of[READY];
	expect_least(_metadata, &t[0], &t[1], USER, slept);
}

#define EXPECT_LAST_USER_EXIT(name)					\
	EXPECT_STREQ(name, stats_name_of(&self->vcpu->file, "last_user_exit", \
					 vcpu_read(_metadata, self->vcpu, "last_user_exit")))

/* The VMM handles an exit, and hangs. */
TEST_F(time, last_user_exit_and_state_since_ns_show_a_vmm_that_hangs)
{
	struct times t[3];
	__u64 from;

	begin(_metadata, self->vcpu);
	SAMPLE(&t[0]);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	from = stats_now_ns();
	SAMPLE(&t[1]);
	usleep(SLEEP / 1000);
	SAMPLE(&t[2]);
	EXPECT_STATE("user", &t[2]);
	EXPECT_GE(from, t[2].since);
	EXPECT_EQ(0, memcmp(&t[1], &t[2], sizeof(t[1])));
	EXPECT_LAST_USER_EXIT(stats_name_of(&self->vcpu->file, "user_exits",
					    STATS_USER_EXIT_REASON));
	settle_waits(_metadata, self->vcpu);
	SAMPLE(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	/* After the sleep it may have waited for a CPU. */
	t[1].of[USER] += t[1].of[READY] - t[0].of[READY];
	expect_least(_metadata, &t[0], &t[1], USER, SLEEP);
}

/* A signal ends KVM_RUN: the VMM has paused the VM. */
TEST_F(time, last_user_exit_of_a_paused_vcpu_is_intr)
{
	struct runner runner;
	struct times t[2];

	begin(_metadata, self->vcpu);
	vcpu_exit_to_user(_metadata, self->vcpu, 1);
	runner_start(_metadata, &runner, self->vcpu, 1, 1);
	runner_stop(_metadata, &runner);
	SAMPLE(&t[0]);
	usleep(SLEEP / 1000);
	SAMPLE(&t[1]);
	EXPECT_STATE("user", &t[1]);
	EXPECT_EQ(0, memcmp(&t[0], &t[1], sizeof(t[0])));
	EXPECT_LAST_USER_EXIT("intr");
}

TEST_F(time, exits_that_kvm_handles_count_as_guest_and_exit)
{
	__u64 of[REASONS_MAX], hist[EXIT_BUCKETS], exits, ns;
	struct runner runner;
	struct times t[2];

	begin(_metadata, self->vcpu);
	SAMPLE(&t[0]);
	exits = vcpu_read(_metadata, self->vcpu, STATS_EXITS);
	runner_start(_metadata, &runner, self->vcpu, TIMES, TIMES);
	usleep(SLEEP / 1000);
	runner_stop(_metadata, &runner);
	EXPECT_LT(t[0].of[EXIT], vcpu_read(_metadata, self->vcpu, "time_exit_ns"));
	settle_waits(_metadata, self->vcpu);
	SAMPLE(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	EXPECT_LT(t[0].of[GUEST], t[1].of[GUEST]);
	EXPECT_EQ(t[0].of[POLL], t[1].of[POLL]);
	EXPECT_EQ(t[0].of[HALT], t[1].of[HALT]);

	/* Each exit counts once in the histogram, and its time for its reason. */
	exits = vcpu_read(_metadata, self->vcpu, STATS_EXITS) - exits;
	EXPECT_EQ(exits, exits_timed(_metadata, self->vcpu));
	ns = reasons_ns(_metadata, self->vcpu, of);
	EXPECT_EQ(t[1].of[EXIT], ns);

	/* Few exits take less than 2 ns. */
	stats_read_all(_metadata, &self->vcpu->file, "exit_hist", hist, EXIT_BUCKETS);
	EXPECT_LE(hist[0] + hist[1], exits / 10);
}

TEST_F(time, time_of_user_exits_counts_for_their_reason)
{
	__u64 before[REASONS_MAX], after[REASONS_MAX], others = 0;
	int reason = reason_find(&self->vcpu->file, STATS_USER_REASON);
	unsigned int i, num = reasons_num(_metadata, &self->vcpu->file);

	ASSERT_LE(0, reason);
	begin(_metadata, self->vcpu);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	reasons_ns(_metadata, self->vcpu, before);
	vcpu_run_times(_metadata, self->vcpu, STATS_USER_EXIT_REASON, TIMES);
	reasons_ns(_metadata, self->vcpu, after);
	for (i = 0; i < num; i++)
		others += i == (unsigned int)reason ? 0 : after[i] - before[i];
	/* Interrupts of the host have another reason. */
	EXPECT_LT(others, after[reason] - before[reason]);
	vcpu_complete_exit(_metadata, self->vcpu);
}

TEST_F(time, blocked_time_counts_as_halt)
{
	struct runner runner;
	__u64 blocked = 0, from;
	struct times t[2];
	int i;

	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	SAMPLE(&t[0]);
	for (i = 0; i < SLEEPS; i++) {
		runner_sleep(_metadata, &runner, self->vcpu);
		from = stats_now_ns();
		usleep(SLEEP / 1000);
		/* KVM may have woken it for a moment. */
		do {
			SAMPLE(&t[1]);
		} while (!is_in_state("halt", &t[1]));
		blocked += stats_now_ns() - from;
		runner_wake(_metadata, &runner, self->guest.vm);
	}
	settle_waits(_metadata, self->vcpu);
	SAMPLE(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	/* "blocking" becomes 1 a moment before. */
	t[1].of[HALT] += t[1].of[READY] - t[0].of[READY] + SLEEPS * SLACK;
	expect_least(_metadata, &t[0], &t[1], HALT, blocked);
}

/* A vCPU polls longer after each halt, up to its maximum. */
static void halt_until_polling(struct __test_metadata *_metadata, struct guest *g)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_HALT_POLL,
		.args[0] = UINT_MAX,
	};
	struct guest_vcpu *v = &g->vcpu[0];
	struct runner runner;
	int i;

	ASSERT_EQ(0, ioctl(g->vm, KVM_ENABLE_CAP, &cap));
	for (i = 0; i < SLEEPS; i++) {
		runner_sleep(_metadata, &runner, v);
		runner_wake(_metadata, &runner, g->vm);
	}
	EXPECT_LE(1UL, vcpu_read(_metadata, v, "halt_attempted_poll"));
}

TEST_F(time, polling_counts_as_poll)
{
	struct times t[2];
	__u64 polled;

	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	SAMPLE(&t[0]);
	halt_until_polling(_metadata, &self->guest);
	settle_waits(_metadata, self->vcpu);
	SAMPLE(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	polled = vcpu_read(_metadata, self->vcpu, "halt_poll_success_ns") +
		 vcpu_read(_metadata, self->vcpu, "halt_poll_fail_ns");
	EXPECT_LT(0UL, t[1].of[POLL]);
	EXPECT_GE(polled + SLEEPS * SLACK, t[1].of[POLL]);
	/* The poll may have been preempted. */
	EXPECT_LE(polled, t[1].of[POLL] + t[1].of[READY] - t[0].of[READY] + SLEEPS * SLACK);
}

/*
 * Let a guest need a page that the test provides @SLEEP later. Expect that KVM sleeps for it
 * in the handler of this reason's exits.
 */
static void expect_sleep(struct __test_metadata *_metadata, FIXTURE_DATA(time) *self,
			 const char *code, const char *end, __u32 count, const char *reason)
{
	__u64 before[REASONS_MAX], after[REASONS_MAX], from, slept;
	int sleeper = reason_find(&self->vcpu->file, reason);
	struct userfault fault;
	struct runner runner;
	struct times t[2];

	ASSERT_LE(0, sleeper);
	userfault_create(_metadata, &self->guest, &fault);
	guest_put_code_at(_metadata, &self->guest, GUEST_CODE + 0x200, code, end);
	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE + 0x200, count);
	SAMPLE(&t[0]);
	reasons_sleep_ns(_metadata, self->vcpu, before);
	runner_create(_metadata, &runner, self->vcpu);
	userfault_wait(_metadata, &fault);
	/* It falls asleep a moment after it has reported the fault. */
	do {
		SAMPLE(&t[1]);
	} while (!is_in_state("sleep", &t[1]));
	from = stats_now_ns();
	usleep(SLEEP / 1000);
	slept = stats_now_ns() - from;
	userfault_resolve(_metadata, &self->guest, &fault);
	runner_join(_metadata, &runner);
	settle_waits(_metadata, self->vcpu);
	SAMPLE(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	EXPECT_EQ(0UL, t[1].of[OFF]);

	EXPECT_EQ(t[1].of[SLEPT], reasons_sleep_ns(_metadata, self->vcpu, after));
	t[1].of[SLEPT] = t[0].of[SLEPT] + after[sleeper] - before[sleeper];
	t[1].of[SLEPT] += t[1].of[READY] - t[0].of[READY];
	expect_least(_metadata, &t[0], &t[1], SLEPT, slept);
}

TEST_F(time, wait_for_a_page_from_user_space_counts_as_sleep)
{
	expect_sleep(_metadata, self, stats_touch, stats_touch_end, 1,
		     stats_arch_fault_reason());
}

#ifdef __x86_64__
/* KVM reads the byte itself: the guest exits because of the I/O, and causes no page fault. */
STATS_GUEST_CODE(stats_outs,
		 ".code16\n"
		 "	addr32 outsb\n"
		 ".code64\n");

TEST_F(time, sleep_of_an_exit_handler_counts_for_the_reason_of_the_exit)
{
	expect_sleep(_metadata, self, stats_outs, stats_outs_end, STATS_DATA, "io");
}
#endif

TEST_F(time, wait_for_a_cpu_outside_of_KVM_RUN_does_not_count_as_user)
{
	struct times t[2];

	begin(_metadata, self->vcpu);
	SAMPLE(&t[0]);
	wait_for_cpu(_metadata, 10 * SLEEP);
	settle_waits(_metadata, self->vcpu);
	SAMPLE(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	EXPECT_LE(10 * SLEEP, t[1].of[READY] - t[0].of[READY]);
}

TEST_F(time, each_sample_of_a_running_vcpu_is_consistent)
{
	struct runner runner;
	struct times t[3];
	int changed = 0;
	__u64 end;

	begin(_metadata, self->vcpu);
	runner_start(_metadata, &runner, self->vcpu, UINT_MAX, 1);
	SAMPLE(&t[0]);
	t[1] = t[0];
	end = stats_now_ns() + SAMPLING;
	while (changed < SAMPLES && stats_now_ns() < end) {
		SAMPLE(&t[2]);
		EXPECT_LE(t[2].since, stats_now_ns());
		changed += t[2].since != t[1].since;
		/* After a wait, the sum can be ahead of the clock. */
		if (t[2].of[READY] == t[1].of[READY])
			EXPECT_GE(t[2].since - t[1].since, sum_of(&t[2]) - sum_of(&t[1]));
		t[1] = t[2];
	}
	runner_stop(_metadata, &runner);
	settle_waits(_metadata, self->vcpu);
	SAMPLE(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
}

TEST_F(time, state_and_state_since_ns_complete_the_current_interval)
{
	__u64 from, to;
	struct times t[2];
	struct runner runner;

	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	SAMPLE(&t[0]);
	runner_sleep(_metadata, &runner, self->vcpu);
	/* KVM may wake it: then it halts again, later than @from. */
	do {
		from = stats_now_ns();
		usleep(SLEEP / 1000);
		SAMPLE(&t[1]);
		to = stats_now_ns();
	} while (!is_in_state("halt", &t[1]) || t[1].since > from);
	t[1].of[HALT] += to - t[1].since;
	t[1].since = to;
	expect_all(_metadata, &t[0], &t[1]);
	runner_wake(_metadata, &runner, self->guest.vm);
}

/* Turn the accounting on and off. Return bounds of the time that it was on. */
static void switch_on_and_off(struct __test_metadata *_metadata,
			      const struct mapped_times *mapped, __u64 *least, __u64 *most)
{
	__u64 before_on, on, before_off;
	struct times t;
	int i;

	*least = 0;
	*most = 0;
	for (i = 0; i < SLEEPS; i++) {
		before_on = stats_now_ns();
		stats_time_turn_on(_metadata);
		on = stats_now_ns();
		/* The vCPU shows its state as soon as it has a CPU. */
		do {
			times_sample(mapped, &t);
		} while (!t.state);
		usleep(SLEEP / 1000);
		before_off = stats_now_ns();
		stats_time_turn_off(_metadata);
		*most += stats_now_ns() - before_on;
		*least += before_off - on;
		usleep(SLEEP / 1000);
	}
}

static void expect_switched(struct __test_metadata *_metadata,
			    const struct times *from, const struct times *to,
			    __u64 least, __u64 most)
{
	/* ready_ns also counts while the accounting is off. */
	__u64 counted = sum_of(to) - to->of[READY] -
			(sum_of(from) - from->of[READY]);
	__u64 waits = to->of[READY] - from->of[READY];

	EXPECT_LE(least - least / PRECISION, counted + waits);
	EXPECT_GE(most + most / PRECISION, counted);
}

TEST_F(time, turning_on_and_off_counts_the_time_of_a_running_vcpu)
{
	struct runner runner;
	struct times t[2];
	__u64 least, most;

	runner_start(_metadata, &runner, self->vcpu, UINT_MAX, 1);
	SAMPLE(&t[0]);
	switch_on_and_off(_metadata, &self->mapped, &least, &most);
	SAMPLE(&t[1]);
	EXPECT_STATE("none", &t[1]);
	expect_switched(_metadata, &t[0], &t[1], least, most);
	EXPECT_EQ(t[0].of[HALT], t[1].of[HALT]);
	runner_stop(_metadata, &runner);
}

TEST_F(time, turning_on_and_off_counts_the_time_of_a_blocked_vcpu)
{
	struct runner runner;
	struct times t[2];
	__u64 least, most;

	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	runner_sleep(_metadata, &runner, self->vcpu);
	SAMPLE(&t[0]);
	switch_on_and_off(_metadata, &self->mapped, &least, &most);
	SAMPLE(&t[1]);
	EXPECT_STATE("none", &t[1]);
	expect_switched(_metadata, &t[0], &t[1], least, most);
	/* KVM may have woken it, but it halted again. */
	EXPECT_LE((sum_of(&t[1]) - sum_of(&t[0])) / 2, t[1].of[HALT] - t[0].of[HALT]);
	runner_wake(_metadata, &runner, self->guest.vm);
}

/*
 * The accounting is turned off while the vCPU is blocked, and on again. Waits also count
 * while it is off: KVM may wake the vCPU, to set its clock 0.1 s after a move to another CPU.
 */
TEST_F(time, turning_off_ends_the_time_of_a_blocked_vcpu)
{
	__u64 from, blocked, to, ready;
	struct runner runner;
	struct times t[3];

	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	SAMPLE(&t[0]);
	runner_sleep(_metadata, &runner, self->vcpu);
	do {
		SAMPLE(&t[1]);
	} while (!is_in_state("halt", &t[1]));
	usleep(SLEEP / 1000);
	SAMPLE(&t[1]);
	ready = t[1].of[READY];
	from = stats_now_ns();
	stats_time_turn_off(_metadata);
	SAMPLE(&t[1]);
	EXPECT_STATE("none", &t[1]);
	EXPECT_LE(from, t[1].since);
	EXPECT_GE(stats_now_ns(), t[1].since);
	expect_all_but(_metadata, &t[0], &t[1], t[1].of[READY] - ready);

	usleep(SLEEP / 1000);
	SAMPLE(&t[1]);
	blocked = stats_now_ns();
	stats_time_turn_on(_metadata);
	usleep(SLEEP / 1000);
	runner_wake(_metadata, &runner, self->guest.vm);
	settle_waits(_metadata, self->vcpu);
	to = stats_now_ns();
	SAMPLE(&t[2]);
	EXPECT_GE(to - blocked, sum_of(&t[2]) - sum_of(&t[1]));
	EXPECT_LE(SLEEP, sum_of(&t[2]) - sum_of(&t[1]));
	EXPECT_LE(SLEEP / 2, t[2].of[HALT] + t[2].of[READY] - t[1].of[HALT] - t[1].of[READY]);
}

TEST_F(time, wait_before_turning_on_is_not_subtracted_from_other_states)
{
	__u64 delay = run_delay();
	struct times t[2];

	begin(_metadata, self->vcpu);
	stats_time_turn_off(_metadata);
	SAMPLE(&t[0]);
	wait_for_cpu(_metadata, 10 * SLEEP);
	stats_time_turn_on(_metadata);
	usleep(SLEEP / 1000);
	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	SAMPLE(&t[1]);
	EXPECT_LE(10 * SLEEP, t[1].of[READY] - t[0].of[READY]);
	EXPECT_GE(run_delay() - delay, t[1].of[READY] - t[0].of[READY]);
	EXPECT_LE(SLEEP / 2, t[1].of[USER] - t[0].of[USER]);
	EXPECT_LT(t[0].of[EXIT], t[1].of[EXIT]);
}

#ifdef __aarch64__
#define GIC_VCPUS		8
#define SWITCHES		100

struct gic_reader {
	pthread_t thread;
	int gic;
	bool over;
	int reads, busy;
};

/* This ioctl takes the mutex of each vCPU, or fails with EBUSY. */
static void *read_gic(void *arg)
{
	struct gic_reader *reader = arg;
	__u64 value;
	struct kvm_device_attr ctlr = {
		.group = KVM_DEV_ARM_VGIC_GRP_DIST_REGS,
		.addr = (unsigned long)&value,
	};

	while (!__atomic_load_n(&reader->over, __ATOMIC_ACQUIRE)) {
		if (!ioctl(reader->gic, KVM_GET_DEVICE_ATTR, &ctlr))
			reader->reads++;
		else if (errno == EBUSY)
			reader->busy++;
	}
	return NULL;
}

TEST_F(time, turning_on_does_not_take_the_mutex_of_a_stopped_vcpu)
{
	struct kvm_create_device create = { .type = KVM_DEV_TYPE_ARM_VGIC_V3, };
	struct kvm_device_attr init = {
		.group = KVM_DEV_ARM_VGIC_GRP_CTRL,
		.attr = KVM_DEV_ARM_VGIC_CTRL_INIT,
	};
	struct gic_reader reader = { };
	int i;

	if (ioctl(self->guest.vm, KVM_CREATE_DEVICE, &create))
		SKIP(return, "the host has no GICv3: %s", strerror(errno));
	while (self->guest.vcpus < GIC_VCPUS)
		guest_add_vcpu(_metadata, &self->guest, self->guest.vcpus);
	ASSERT_EQ(0, ioctl(create.fd, KVM_SET_DEVICE_ATTR, &init));

	reader.gic = create.fd;
	ASSERT_EQ(0, pthread_create(&reader.thread, NULL, read_gic, &reader));
	for (i = 0; i < SWITCHES; i++) {
		stats_time_turn_on(_metadata);
		stats_time_turn_off(_metadata);
	}
	__atomic_store_n(&reader.over, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(reader.thread, NULL));
	EXPECT_LT(SWITCHES, reader.reads);
	EXPECT_EQ(0, reader.busy);
}
#endif

/*
 * state_since_ns becomes 0 and then a new value at each exit: a reader that copies single
 * bytes gets parts of both. Read until the 0 was seen often.
 */
#define MOMENT_READS		20000
#define MOMENTS_MET		200

TEST_F(time, read_of_state_since_ns_never_returns_parts_of_two_values)
{
	const struct stats_file *f = &self->vcpu->file;
	__u64 last = 0, values[8], *moment = &values[7], end;
	struct runner runner;
	int i, met = 0;
	off_t pos;

	pos = f->header.data_offset + self->mapped.since->offset - 7 * sizeof(__u64);
	begin(_metadata, self->vcpu);
	runner_start(_metadata, &runner, self->vcpu, UINT_MAX, 1);
	end = stats_now_ns() + 2 * SAMPLING;
	for (i = 0; i < MOMENT_READS || (met < MOMENTS_MET && stats_now_ns() < end); i++) {
		ASSERT_EQ((ssize_t)sizeof(values), pread(f->fd, values, sizeof(values), pos));
		/* The kernel copies a single value in another way. */
		if (i % 2)
			ASSERT_EQ(8, pread(f->fd, moment, 8, pos + 7 * sizeof(__u64)));
		met += !*moment;
		if (!*moment)
			continue;
		ASSERT_LE(last, *moment);
		last = *moment;
	}
	runner_stop(_metadata, &runner);
}

TEST_F(time, time_ends_when_the_vm_is_destroyed)
{
	struct times t[3];
	__u64 from;

	begin(_metadata, self->vcpu);
	SAMPLE(&t[0]);
	usleep(SLEEP / 1000);
	from = stats_now_ns();
	guest_kill(&self->guest);
	SAMPLE(&t[1]);
	EXPECT_STATE("none", &t[1]);
	EXPECT_LE(from, t[1].since);
	expect_all(_metadata, &t[0], &t[1]);
	usleep(SLEEP / 1000);
	SAMPLE(&t[2]);
	EXPECT_EQ(0, memcmp(&t[1], &t[2], sizeof(t[1])));
}

TEST_HARNESS_MAIN
