// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time of vCPUs by state, while kvm's parameter stats_time is on.
 */
#define _GNU_SOURCE
#include <time.h>

#include "../kselftest_harness.h"
#include "stats_fd_delay.h"
#include "stats_fd_mmap.h"
#include "stats_fd_reasons.h"
#include "stats_fd_sleep.h"
#include "stats_fd_switch.h"
#include "stats_fd_userfault.h"

#define MS			1000000ULL

/* Of each thing that is done, so many. */
#define TIMES			1000

/* That find another state than the one before. */
#define LOOKS			(20 * TIMES)
#define LOOKING			(5000 * MS)

/* Of each thing that takes its time. */
#define SLEEPS			10
#define SLEEP			(20 * MS)

/* What is lost or counted twice may be this part of the time. */
#define PRECISION		1000

/* The looks at two clocks, or at what tells user space of a state, are so far apart. */
#define SLACK			(1 * MS)

static const char * const counters[] = {
	"time_guest_ns", "time_exit_ns", "time_poll_ns", "time_halt_ns",
	"time_sleep_ns", "time_user_ns", "ready_ns",
};

enum { GUEST, EXIT, POLL, HALT, SLEPT, USER, READY, COUNTERS };

/* All that is known of a vCPU's time, from one moment. */
struct times {
	__u64 state, since;
	__u64 of[COUNTERS];
};

static __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Where it stands. */
struct mapped_times {
	const char *block;
	const struct kvm_stats_desc *state, *since, *counter[COUNTERS];
};

static void times_map(struct __test_metadata *_metadata,
		      const struct stats_file *f, struct mapped_times *m)
{
	int i;

	m->block = stats_mmap(_metadata, f, sysconf(_SC_PAGESIZE));
	m->state = stats_find(f, "state");
	m->since = stats_find(f, "state_since_ns");
	ASSERT_NE(NULL, m->state);
	ASSERT_NE(NULL, m->since);
	for (i = 0; i < COUNTERS; i++) {
		m->counter[i] = stats_find(f, counters[i]);
		ASSERT_NE(NULL, m->counter[i]) TH_LOG("%s", counters[i]);
	}
}

/* What a boolean of a VM is now. */
static __u64 vm_says(struct __test_metadata *_metadata, int vm, const char *name)
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
	if (!vm_says(_metadata, self->guest.vm, "ready_accounting"))
		SKIP(return, "the scheduler does not count run_delay");
}

FIXTURE_TEARDOWN(time)
{
	munmap((void *)self->mapped.block, sysconf(_SC_PAGESIZE));
	guest_destroy(&self->guest);
	ASSERT_EQ(0, stats_time_turn(_metadata, self->was_on ? "1" : "0"));
}

/* The name of a value of the statistic state. */
static const char *state_name(const struct stats_file *f, __u64 state)
{
	const struct kvm_stats_value_name *v;
	unsigned int i;

	for (i = 0; (v = stats_value_name(f, i)); i++) {
		if (stats_desc(f, v->desc) == stats_find(f, "state") && v->value == state)
			return v->name;
	}
	return "no name";
}

#define is_in_state(name, t)						\
	(!strcmp(name, state_name(&self->vcpu->file, (t)->state)))

#define EXPECT_STATE(name, t)						\
	EXPECT_STREQ(name, state_name(&self->vcpu->file, (t)->state))

/* In the way that the documentation gives. */
static void times_look(const struct mapped_times *m, struct times *t)
{
	int i;

	do {
		t->since = stats_mapped(m->block, m->since);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		t->state = stats_mapped(m->block, m->state);
		for (i = COUNTERS - 1; i >= 0; i--)
			t->of[i] = stats_mapped(m->block, m->counter[i]);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (!t->since || t->since != stats_mapped(m->block, m->since));
}

#define LOOK(t)	times_look(&self->mapped, t)

/* All the time that is accounted for. */
static __u64 sum_of(const struct times *t)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < COUNTERS; i++)
		sum += t->of[i];
	return sum;
}

/*
 * Between two moments nothing is lost, and nothing counted twice. Of @later ns of waits
 * it is not known whether they were between them, or are not of that time.
 */
static void expect_all_but(struct __test_metadata *_metadata,
			   const struct times *from, const struct times *to, __u64 later)
{
	__u64 passed = to->since - from->since;
	__u64 counted = sum_of(to) - sum_of(from);
	__u64 precision = passed / PRECISION + SLACK;
	int i;

	if (counted + precision >= passed && counted <= passed + precision + later)
		return;
	EXPECT_EQ(passed, counted);
	for (i = 0; i < COUNTERS; i++)
		TH_LOG("%s: %llu", counters[i], (unsigned long long)(to->of[i] - from->of[i]));
}

static void expect_all(struct __test_metadata *_metadata,
		       const struct times *from, const struct times *to)
{
	expect_all_but(_metadata, from, to, 0);
}

/*
 * What the scheduler's clock was ahead in a wait is taken from the time that
 * follows: let there be some.
 */
static void pay(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	usleep(SLEEP / 1000);
	vcpu_complete_exit(_metadata, v);
}

/* At least so much time in a state: the sum says that it is not more. */
static void expect_least(struct __test_metadata *_metadata,
			 const struct times *from, const struct times *to,
			 int counter, __u64 least)
{
	__u64 counted = to->of[counter] - from->of[counter];

	EXPECT_LE(least - least / 100, counted) TH_LOG("%s", counters[counter]);
}

/* The vCPU has run, is in user space, its time is accounted for and its waits are paid. */
static void begin(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	stats_time_turn_on(_metadata);
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	vcpu_complete_exit(_metadata, v);
	pay(_metadata, v);
}

TEST_F(time, switch_refuses_what_it_does_not_know)
{
	EXPECT_EQ(-EINVAL, stats_time_turn(_metadata, "2"));
	EXPECT_EQ(-EINVAL, stats_time_turn(_metadata, "\n"));
	EXPECT_FALSE(stats_time_is_on(_metadata));
	stats_time_turn_on(_metadata);
	EXPECT_TRUE(stats_time_is_on(_metadata));
	EXPECT_EQ(-EINVAL, stats_time_turn(_metadata, "maybe"));
	EXPECT_TRUE(stats_time_is_on(_metadata));
}

TEST_F(time, switch_shows_in_vms_of_before_and_after)
{
	int on;

	for (on = 1; on >= 0; on--) {
		int vm;

		ASSERT_EQ(0, stats_time_turn(_metadata, on ? "1" : "0"));
		vm = stats_create_vm(_metadata);
		EXPECT_EQ((__u64)on, vm_says(_metadata, self->guest.vm, "time_accounting"));
		EXPECT_EQ((__u64)on, vm_says(_metadata, vm, "time_accounting"));
		close(vm);
	}
}

TEST_F(time, nothing_is_counted_while_it_is_off)
{
	__u64 of[REASONS_MAX];
	struct times t;
	int i;

	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	LOOK(&t);
	EXPECT_STATE("none", &t);
	for (i = 0; i < COUNTERS; i++) {
		if (i != READY)
			EXPECT_EQ(0UL, t.of[i]) TH_LOG("%s", counters[i]);
	}
	EXPECT_EQ(0UL, reasons_ns(_metadata, self->vcpu, of));
	EXPECT_EQ(0UL, exits_timed(_metadata, self->vcpu));
}

TEST_F(time, of_a_vcpu_that_never_ran_is_not_counted)
{
	struct kvm_mp_state state;
	struct times t;

	stats_time_turn_on(_metadata);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_MP_STATE, &state));
	usleep(SLEEP / 1000);
	LOOK(&t);
	EXPECT_STATE("none", &t);
	EXPECT_EQ(0UL, sum_of(&t));
}

TEST_F(time, begins_with_the_first_run)
{
	struct times t;
	__u64 from;

	stats_time_turn_on(_metadata);
	usleep(SLEEP / 1000);
	from = now_ns();
	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	LOOK(&t);
	EXPECT_GE(now_ns() - from, sum_of(&t));
	EXPECT_STATE("user", &t);
}

/* Between user space and KVM, and what of it is whose. */
TEST_F(time, of_a_vmm_that_sleeps_at_each_exit_is_that_of_user_space)
{
	__u64 slept = 0, from;
	struct times t[2];
	int i;

	begin(_metadata, self->vcpu);
	LOOK(&t[0]);
	for (i = 0; i < SLEEPS; i++) {
		from = now_ns();
		usleep(SLEEP / 1000);
		slept += now_ns() - from;
		vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	}
	LOOK(&t[1]);
	EXPECT_STATE("user", &t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	/* It has waited for a CPU after each sleep, which is not in there. */
	t[1].of[USER] += t[1].of[READY] - t[0].of[READY];
	expect_least(_metadata, &t[0], &t[1], USER, slept);
	vcpu_complete_exit(_metadata, self->vcpu);
}

/* Exits that KVM handles: guest and exit, nothing else but who preempts it. */
TEST_F(time, of_exits_that_kvm_handles_is_of_guest_and_exit)
{
	__u64 of[REASONS_MAX], hist[EXIT_BUCKETS], exits, ns;
	struct runner runner;
	struct times t[2];

	begin(_metadata, self->vcpu);
	LOOK(&t[0]);
	exits = vcpu_read(_metadata, self->vcpu, STATS_EXITS);
	runner_start(_metadata, &runner, self->vcpu, TIMES, TIMES);
	usleep(SLEEP / 1000);
	runner_stop(_metadata, &runner);
	LOOK(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	EXPECT_LT(t[0].of[GUEST], t[1].of[GUEST]);
	EXPECT_LT(t[0].of[EXIT], t[1].of[EXIT]);
	EXPECT_EQ(t[0].of[POLL], t[1].of[POLL]);
	EXPECT_EQ(t[0].of[HALT], t[1].of[HALT]);

	/* Each is in the histogram once, its time with its reason. */
	exits = vcpu_read(_metadata, self->vcpu, STATS_EXITS) - exits;
	EXPECT_EQ(exits, exits_timed(_metadata, self->vcpu));
	ns = reasons_ns(_metadata, self->vcpu, of);
	EXPECT_EQ(t[1].of[EXIT], ns);

	/* And none takes no time, but for what makes up for a clock. */
	stats_read_all(_metadata, &self->vcpu->file, "exit_hist", hist, EXIT_BUCKETS);
	EXPECT_LE(hist[0] + hist[1], exits / 10);
}

/* The reason whose time it is, is that of the exit. */
TEST_F(time, of_user_exits_is_under_their_reason)
{
	__u64 before[REASONS_MAX], after[REASONS_MAX], others = 0;
	int reason = reason_find(&self->vcpu->file, STATS_USER_REASON);
	unsigned int i, num = reasons_num(_metadata, &self->vcpu->file);

	ASSERT_LE(0, reason);
	begin(_metadata, self->vcpu);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	reasons_ns(_metadata, self->vcpu, before);
	for (i = 0; i < TIMES; i++)
		vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	reasons_ns(_metadata, self->vcpu, after);
	for (i = 0; i < num; i++)
		others += i == (unsigned int)reason ? 0 : after[i] - before[i];
	/* The host's interrupts have theirs. */
	EXPECT_LT(others, after[reason] - before[reason]);
	vcpu_complete_exit(_metadata, self->vcpu);
}

TEST_F(time, of_halts_is_that_of_being_blocked)
{
	struct runner runner;
	__u64 blocked = 0, from;
	struct times t[2];
	int i;

	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	LOOK(&t[0]);
	for (i = 0; i < SLEEPS; i++) {
		runner_sleep(_metadata, &runner, self->vcpu);
		from = now_ns();
		usleep(SLEEP / 1000);
		/* KVM may have woken it for itself, for a moment. */
		do {
			LOOK(&t[1]);
		} while (!is_in_state("halt", &t[1]));
		blocked += now_ns() - from;
		runner_wake(_metadata, &runner, self->guest.vm);
	}
	LOOK(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	/* "blocking" is set a moment before. */
	t[1].of[HALT] += t[1].of[READY] - t[0].of[READY] + SLEEPS * SLACK;
	expect_least(_metadata, &t[0], &t[1], HALT, blocked);
}

/* A vCPU polls longer after each halt, from nothing up to as long as it may. */
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

TEST_F(time, of_halts_that_poll_is_that_of_polling)
{
	struct times t[2];
	__u64 polled;

	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	LOOK(&t[0]);
	halt_until_polling(_metadata, &self->guest);
	LOOK(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	polled = vcpu_read(_metadata, self->vcpu, "halt_poll_success_ns") +
		 vcpu_read(_metadata, self->vcpu, "halt_poll_fail_ns");
	EXPECT_LT(0UL, t[1].of[POLL]);
	EXPECT_GE(polled + SLEEPS * SLACK, t[1].of[POLL]);
	/* It may have been preempted while it polled. */
	EXPECT_LE(polled, t[1].of[POLL] + t[1].of[READY] - t[0].of[READY] + SLEEPS * SLACK);
}

TEST_F(time, of_a_page_that_user_space_brings_is_sleep)
{
	struct userfault fault;
	struct runner runner;
	struct times t[2];
	__u64 from, slept;

	userfault_create(_metadata, &self->guest, &fault);
	guest_put_code_at(_metadata, &self->guest, GUEST_CODE + 0x200,
			  stats_touch, stats_touch_end);
	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE + 0x200, 1);
	LOOK(&t[0]);
	runner_create(_metadata, &runner, self->vcpu);
	userfault_wait(_metadata, &fault);
	/* It sleeps as soon as it has told. */
	do {
		LOOK(&t[1]);
	} while (strcmp("sleep", state_name(&self->vcpu->file, t[1].state)));
	from = now_ns();
	usleep(SLEEP / 1000);
	slept = now_ns() - from;
	userfault_resolve(_metadata, &self->guest, &fault);
	runner_join(_metadata, &runner);
	LOOK(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	t[1].of[SLEPT] += t[1].of[READY] - t[0].of[READY];
	expect_least(_metadata, &t[0], &t[1], SLEPT, slept);
	userfault_destroy(&self->guest, &fault);
}

/* It is found when the vCPU runs again, and is a wait only. */
TEST_F(time, of_waits_outside_of_KVM_RUN_is_no_time_of_user_space)
{
	struct times t[2];

	begin(_metadata, self->vcpu);
	LOOK(&t[0]);
	wait_for_cpu(_metadata, 10 * SLEEP);
	pay(_metadata, self->vcpu);
	LOOK(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
	EXPECT_LE(10 * SLEEP, t[1].of[READY] - t[0].of[READY]);
}

/* What a look finds is complete, however fast the states change. */
TEST_F(time, looks_at_a_vcpu_that_runs_add_up)
{
	struct runner runner;
	struct times t[3];
	int changed = 0;
	__u64 end;

	begin(_metadata, self->vcpu);
	runner_start(_metadata, &runner, self->vcpu, UINT_MAX, 1);
	LOOK(&t[0]);
	t[1] = t[0];
	/* Two threads that share what a busy machine leaves do not meet often. */
	end = now_ns() + LOOKING;
	while (changed < LOOKS && now_ns() < end) {
		LOOK(&t[2]);
		EXPECT_LE(t[2].since, now_ns());
		changed += t[2].since != t[1].since;
		/*
		 * What the scheduler's clock is ahead after a wait is taken
		 * from the time that follows: only then it can be less.
		 */
		if (t[2].of[READY] == t[1].of[READY])
			EXPECT_GE(t[2].since - t[1].since, sum_of(&t[2]) - sum_of(&t[1]));
		t[1] = t[2];
	}
	runner_stop(_metadata, &runner);
	pay(_metadata, self->vcpu);
	LOOK(&t[1]);
	expect_all(_metadata, &t[0], &t[1]);
}

/* The interval that has not ended is what is left of the time that has passed. */
TEST_F(time, of_the_state_that_lasts_can_be_completed)
{
	__u64 from, to;
	struct times t[2];
	struct runner runner;

	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	LOOK(&t[0]);
	runner_sleep(_metadata, &runner, self->vcpu);
	/* KVM may wake it for itself, now and then: it has halted since. */
	do {
		from = now_ns();
		usleep(SLEEP / 1000);
		LOOK(&t[1]);
		to = now_ns();
	} while (!is_in_state("halt", &t[1]) || t[1].since > from);
	t[1].of[HALT] += to - t[1].since;
	t[1].since = to;
	expect_all(_metadata, &t[0], &t[1]);
	runner_wake(_metadata, &runner, self->guest.vm);
}

/* What is accounted for while the switch is on, and only then. */
static void switch_on_and_off(struct __test_metadata *_metadata,
			      const struct mapped_times *mapped, __u64 *least, __u64 *most)
{
	__u64 before_on, on, before_off;
	struct times t;
	int i;

	*least = 0;
	*most = 0;
	for (i = 0; i < SLEEPS; i++) {
		before_on = now_ns();
		stats_time_turn_on(_metadata);
		on = now_ns();
		/* It is made to show its state, when it has a CPU. */
		do {
			times_look(mapped, &t);
		} while (!t.state);
		usleep(SLEEP / 1000);
		before_off = now_ns();
		stats_time_turn_off(_metadata);
		*most += now_ns() - before_on;
		*least += before_off - on;
		usleep(SLEEP / 1000);
	}
}

static void expect_switched(struct __test_metadata *_metadata,
			    const struct times *from, const struct times *to,
			    __u64 least, __u64 most)
{
	/* ready_ns is counted all the time. */
	__u64 counted = sum_of(to) - to->of[READY] -
			(sum_of(from) - from->of[READY]);
	__u64 waits = to->of[READY] - from->of[READY];

	EXPECT_LE(least - least / PRECISION, counted + waits);
	EXPECT_GE(most + most / PRECISION, counted);
}

TEST_F(time, switching_while_a_vcpu_runs_loses_and_invents_none)
{
	struct runner runner;
	struct times t[2];
	__u64 least, most;

	runner_start(_metadata, &runner, self->vcpu, UINT_MAX, 1);
	LOOK(&t[0]);
	switch_on_and_off(_metadata, &self->mapped, &least, &most);
	LOOK(&t[1]);
	EXPECT_STATE("none", &t[1]);
	expect_switched(_metadata, &t[0], &t[1], least, most);
	EXPECT_EQ(t[0].of[HALT], t[1].of[HALT]);
	runner_stop(_metadata, &runner);
}

TEST_F(time, switching_while_a_vcpu_is_blocked_loses_and_invents_none)
{
	struct runner runner;
	struct times t[2];
	__u64 least, most;

	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	runner_sleep(_metadata, &runner, self->vcpu);
	LOOK(&t[0]);
	switch_on_and_off(_metadata, &self->mapped, &least, &most);
	LOOK(&t[1]);
	EXPECT_STATE("none", &t[1]);
	expect_switched(_metadata, &t[0], &t[1], least, most);
	/* Whatever it was woken for, it went on. */
	EXPECT_LE((sum_of(&t[1]) - sum_of(&t[0])) / 2, t[1].of[HALT] - t[0].of[HALT]);
	runner_wake(_metadata, &runner, self->guest.vm);
}

/*
 * Switched off while it is blocked, and on again: what was in between is not. But waits
 * are counted whether time is or not, and KVM may wake the vCPU meanwhile, to set its
 * clock a tenth of a second after it came to another CPU.
 */
TEST_F(time, switching_off_while_a_vcpu_is_blocked_ends_its_time)
{
	__u64 from, blocked, to, ready;
	struct runner runner;
	struct times t[3];

	begin(_metadata, self->vcpu);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	LOOK(&t[0]);
	runner_sleep(_metadata, &runner, self->vcpu);
	do {
		LOOK(&t[1]);
	} while (!is_in_state("halt", &t[1]));
	usleep(SLEEP / 1000);
	LOOK(&t[1]);
	ready = t[1].of[READY];
	from = now_ns();
	stats_time_turn_off(_metadata);
	LOOK(&t[1]);
	EXPECT_STATE("none", &t[1]);
	EXPECT_LE(from, t[1].since);
	EXPECT_GE(now_ns(), t[1].since);
	expect_all_but(_metadata, &t[0], &t[1], t[1].of[READY] - ready);

	usleep(SLEEP / 1000);
	LOOK(&t[1]);
	blocked = now_ns();
	stats_time_turn_on(_metadata);
	usleep(SLEEP / 1000);
	runner_wake(_metadata, &runner, self->guest.vm);
	to = now_ns();
	LOOK(&t[2]);
	EXPECT_GE(to - blocked, sum_of(&t[2]) - sum_of(&t[1]));
	EXPECT_LE(SLEEP, t[2].of[HALT] + t[2].of[READY] - t[1].of[HALT] - t[1].of[READY]);
}

/* What the thread has waited before is no time that is accounted for. */
TEST_F(time, of_waits_before_it_is_switched_on_is_not_taken_from_others)
{
	__u64 delay = run_delay();
	struct times t[2];

	begin(_metadata, self->vcpu);
	stats_time_turn_off(_metadata);
	LOOK(&t[0]);
	wait_for_cpu(_metadata, 10 * SLEEP);
	stats_time_turn_on(_metadata);
	usleep(SLEEP / 1000);
	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	LOOK(&t[1]);
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

/* KVM has the mutex of each vCPU for that, and does not wait for one. */
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

TEST_F(time, switching_does_not_take_vcpus_from_a_vmm_that_has_stopped_them)
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
 * state_since_ns changes twice at each exit, with 0 in between: a reader that copies less
 * than a value at a time gets a part of both. Read on until some have seen the 0.
 */
#define MOMENT_READS		20000
#define MOMENTS_MET		200

TEST_F(time, since_when_the_state_lasts_is_never_read_in_parts)
{
	const struct stats_file *f = &self->vcpu->file;
	__u64 last = 0, values[8], *moment = &values[7], end;
	struct runner runner;
	int i, met = 0;
	off_t pos;

	pos = f->header.data_offset + self->mapped.since->offset - 7 * sizeof(__u64);
	begin(_metadata, self->vcpu);
	runner_start(_metadata, &runner, self->vcpu, UINT_MAX, 1);
	end = now_ns() + 2 * LOOKING;
	for (i = 0; i < MOMENT_READS || (met < MOMENTS_MET && now_ns() < end); i++) {
		ASSERT_EQ((ssize_t)sizeof(values), pread(f->fd, values, sizeof(values), pos));
		/* A value alone is copied in another way. */
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

TEST_F(time, of_a_vm_that_is_gone_has_ended)
{
	struct times t[3];
	__u64 from;

	begin(_metadata, self->vcpu);
	LOOK(&t[0]);
	usleep(SLEEP / 1000);
	from = now_ns();
	guest_kill(&self->guest);
	LOOK(&t[1]);
	EXPECT_STATE("none", &t[1]);
	EXPECT_LE(from, t[1].since);
	expect_all(_metadata, &t[0], &t[1]);
	usleep(SLEEP / 1000);
	LOOK(&t[2]);
	EXPECT_EQ(0, memcmp(&t[1], &t[2], sizeof(t[1])));
}

TEST_HARNESS_MAIN
