// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the thread of a vCPU was ready and had no CPU: what the scheduler says of
 * the thread, /proc/thread-self/schedstat, from the first KVM_RUN of the vCPU on.
 */
#define _GNU_SOURCE
#include "../kselftest_harness.h"
#include "stats_fd_delay.h"

#define MS			1000000ULL

/* What the threads of a case are to wait for a CPU: many slices of the scheduler. */
#define WAITED			(100 * MS)

/* A wait may come where it is not to be told to whom it belongs. */
#define ATTEMPTS		50

#define BUCKETS			32

FIXTURE(ready)
{
	struct guest guest;
	struct stats_file vm_file;
};

FIXTURE_SETUP(ready)
{
	int i;

	guest_create(_metadata, &self->guest, 2);
	stats_load(_metadata, stats_get_fd(_metadata, self->guest.vm), &self->vm_file);
	if (!stats_read(_metadata, &self->vm_file, "ready_accounting"))
		SKIP(return, "the scheduler does not count run_delay");
	for (i = 0; i < 2; i++)
		stats_arch_init_vcpu(_metadata, self->guest.vcpu[i].fd, GUEST_KERNEL_EXITS, 0);
}

FIXTURE_TEARDOWN(ready) { }

/* What a thread has waited, of itself and in KVM's words. */
struct look {
	__u64 before, after;	/* run_delay at KVM_RUN */
	__u64 ready;
};

/* A thread, on the CPU of the test, that runs a vCPU until it is told to stop. */
struct waiter {
	struct guest_vcpu *vcpu;
	pthread_t thread;
	long result;		/* of the KVM_RUN that was stopped */
	struct look first, last;
};

/* A KVM_RUN that does not enter the guest: KVM looks how long the thread waited. */
static void look(struct guest_vcpu *v, struct look *l)
{
	const struct kvm_stats_desc *desc = stats_find(&v->file, "ready_ns");

	l->before = run_delay();
	v->run->immediate_exit = 1;
	ioctl(v->fd, KVM_RUN, 0);
	v->run->immediate_exit = 0;
	l->after = run_delay();
	pread(v->file.fd, &l->ready, sizeof(l->ready),
	      v->file.header.data_offset + desc->offset);
}

/* What KVM counted between two looks is what was waited there. */
static void expect_waited(struct __test_metadata *_metadata,
			  const struct look *first, const struct look *last)
{
	EXPECT_LE(last->before - first->after, last->ready - first->ready);
	EXPECT_GE(last->after - first->before, last->ready - first->ready);
}

static bool is_exact(const struct look *l)
{
	return l->before == l->after;
}

static void *wait_in_guest(void *arg)
{
	struct waiter *w = arg;

	runner_kicked = w->vcpu->run;
	/* A thread that is new to the vCPU sleeps in its first KVM_RUN. */
	look(w->vcpu, &w->first);
	look(w->vcpu, &w->first);
	w->result = result(ioctl(w->vcpu->fd, KVM_RUN, 0));
	look(w->vcpu, &w->last);
	close(schedstat);
	return NULL;
}

static void waiter_start(struct __test_metadata *_metadata, struct waiter *w,
			 struct guest_vcpu *v)
{
	memset(w, 0, sizeof(*w));
	w->vcpu = v;
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_KERNEL_EXITS, 0x7fffffff);
	ASSERT_EQ(0, pthread_create(&w->thread, NULL, wait_in_guest, w));
}

static void waiter_stop(struct __test_metadata *_metadata, struct waiter *w)
{
	ASSERT_EQ(0, pthread_kill(w->thread, SIGUSR1));
	ASSERT_EQ(0, pthread_join(w->thread, NULL));
	ASSERT_EQ(-EINTR, w->result);
}

/* Until both have waited; each look at them gives up the CPU. */
static void run_side_by_side(struct __test_metadata *_metadata,
			     struct guest *g, struct waiter w[2])
{
	struct sigaction action = { .sa_handler = runner_kick };
	__u64 from[2];
	int i;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	stay_on_this_cpu(_metadata);
	for (i = 0; i < 2; i++)
		from[i] = vcpu_read(_metadata, &g->vcpu[i], "ready_ns");
	for (i = 0; i < 2; i++)
		waiter_start(_metadata, &w[i], &g->vcpu[i]);
	for (i = 0; i < 2; i++) {
		while (vcpu_read(_metadata, &g->vcpu[i], "ready_ns") - from[i] < WAITED)
			sched_yield();
	}
	for (i = 0; i < 2; i++)
		waiter_stop(_metadata, &w[i]);
}

/* Whether it counts at all shows within this time, on a CPU that has more to do. */
#define LONG_ENOUGH		10	/* seconds */

TEST(accounting_is_said_to_be_on_where_the_scheduler_counts)
{
	struct stats_file file;
	struct busy_thread rival;
	int vm;
	time_t end;

	busy_start(_metadata, &rival);
	end = time(NULL) + LONG_ENOUGH;
	while (!run_delay() && time(NULL) < end)
		;
	busy_end(_metadata, &rival);
	vm = stats_create_vm(_metadata);
	stats_load(_metadata, stats_get_fd(_metadata, vm), &file);
	EXPECT_EQ(!!run_delay(), (int)stats_read(_metadata, &file, "ready_accounting"));
}

TEST_F(ready, time_of_vcpus_that_share_a_cpu_is_the_run_delay_of_their_threads)
{
	bool exact[2] = {};
	struct waiter w[2];
	int i, attempt;

	for (attempt = 0; attempt < ATTEMPTS && !(exact[0] && exact[1]);
	     attempt++) {
		run_side_by_side(_metadata, &self->guest, w);
		for (i = 0; i < 2; i++) {
			expect_waited(_metadata, &w[i].first, &w[i].last);
			exact[i] |= is_exact(&w[i].first) &&
				    is_exact(&w[i].last);
		}
	}
	EXPECT_TRUE(exact[0] && exact[1]) TH_LOG("in %d attempts", attempt);
}

TEST_F(ready, histogram_has_the_waits_and_their_time)
{
	__u64 hist[BUCKETS], least = 0, most = 0, waits = 0, ready;
	struct guest_vcpu *v = &self->guest.vcpu[0];
	struct waiter w[2];
	int i;

	run_side_by_side(_metadata, &self->guest, w);
	ready = vcpu_read(_metadata, v, "ready_ns");
	stats_read_all(_metadata, &v->file, "ready_hist", hist, BUCKETS);
	EXPECT_EQ(0UL, hist[0]);
	for (i = 1; i < BUCKETS; i++) {
		waits += hist[i];
		least += hist[i] << (i - 1);
		most += (hist[i] << i) - hist[i];
	}
	EXPECT_LE(1UL, waits);
	EXPECT_LE(least, ready);
	if (!hist[BUCKETS - 1])
		EXPECT_GE(most, ready);
}

TEST_F(ready, waits_of_a_thread_before_its_first_run_of_the_vcpu_are_not_the_vcpus)
{
	struct guest_vcpu *v = &self->guest.vcpu[0];
	struct look first;

	wait_for_cpu(_metadata, WAITED);
	look(v, &first);
	EXPECT_GE(first.after - first.before, first.ready);
	EXPECT_LE(WAITED, first.before);
}

/* Waits longer than half of what is waited between two runs. */
static __u64 long_waits(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	__u64 hist[BUCKETS], waits = 0;
	int i;

	stats_read_all(_metadata, &v->file, "ready_hist", hist, BUCKETS);
	for (i = 1; i < BUCKETS; i++)
		waits += (1ULL << i) > WAITED / 2 ? hist[i] : 0;
	return waits;
}

TEST_F(ready, waits_between_two_runs_are_one)
{
	struct guest_vcpu *v = &self->guest.vcpu[0];
	struct look first, last;

	look(v, &first);
	wait_for_cpu(_metadata, WAITED);
	look(v, &last);
	expect_waited(_metadata, &first, &last);
	EXPECT_LE(WAITED, last.ready);
	EXPECT_EQ(1UL, long_waits(_metadata, v));
}

/* Of a thread that does not end with the VM. */
TEST_F(ready, waits_after_the_last_run_are_counted_when_the_vm_ends)
{
	const struct kvm_stats_desc *desc;
	struct look first, last;
	struct guest guest;
	__u64 offset;
	int file;

	guest_create(_metadata, &guest, 1);
	desc = stats_find(&guest.vcpu[0].file, "ready_ns");
	ASSERT_NE(NULL, desc);
	offset = guest.vcpu[0].file.header.data_offset + desc->offset;
	file = dup(guest.vcpu[0].file.fd);
	ASSERT_LE(0, file);
	look(&guest.vcpu[0], &first);
	wait_for_cpu(_metadata, WAITED);
	last.before = run_delay();
	guest_destroy(&guest);
	last.after = run_delay();
	ASSERT_EQ((ssize_t)sizeof(last.ready),
		  pread(file, &last.ready, sizeof(last.ready), offset));
	expect_waited(_metadata, &first, &last);
	EXPECT_LE(WAITED, last.ready);
}

/* So often, half of the time with the vCPU loaded. */
#define PREEMPTIONS		20
#define ASKS			100

/* Loads the vCPU all the time, and waits for a CPU now and then. */
static void *ask_and_wait(void *arg)
{
	__u64 from = run_delay(), last = from, now = from;
	struct guest_vcpu *v = arg;
	struct kvm_mp_state state;
	int i, preempted = 0;

	while (preempted < PREEMPTIONS || now - from < WAITED) {
		for (i = 0; i < ASKS; i++)
			ioctl(v->fd, KVM_GET_MP_STATE, &state);
		now = run_delay();
		preempted += now != last;
		last = now;
	}
	close(schedstat);
	return NULL;
}

TEST_F(ready, waits_of_a_thread_that_only_asks_are_not_the_vcpus)
{
	struct guest_vcpu *v = &self->guest.vcpu[0];
	struct busy_thread rival;
	struct look first;
	pthread_t asker;

	look(v, &first);
	busy_start(_metadata, &rival);
	ASSERT_EQ(0, pthread_create(&asker, NULL, ask_and_wait, v));
	ASSERT_EQ(0, pthread_join(asker, NULL));
	busy_end(_metadata, &rival);
	EXPECT_EQ(first.ready, vcpu_read(_metadata, v, "ready_ns"));
}

TEST_HARNESS_MAIN
