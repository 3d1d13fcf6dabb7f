// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits of a vCPU thread for a CPU: ready_ns is the thread's run_delay in
 * /proc/thread-self/schedstat, from the first KVM_RUN of the vCPU on.
 */
#define _GNU_SOURCE
#include "../kselftest_harness.h"
#include "stats_fd_delay.h"

#define MS			1000000ULL

/* The time that a thread waits for a CPU: many time slices. */
#define WAITED			(100 * MS)

/* In one of these attempts there is no wait between the two reads of run_delay. */
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

/* A thread's wait time as the scheduler and KVM have counted it. */
struct sample {
	__u64 before, after;	/* run_delay before and after KVM_RUN */
	__u64 ready;
};

/* A thread on the test's CPU that runs a vCPU until it is stopped. */
struct waiter {
	struct guest_vcpu *vcpu;
	pthread_t thread;
	long result;		/* of the KVM_RUN that was stopped */
	struct sample first, last;
};

/* KVM_RUN reads the thread's wait time, even if it does not enter the guest. */
static void take_sample(struct guest_vcpu *v, struct sample *s)
{
	const struct kvm_stats_desc *desc = stats_find(&v->file, "ready_ns");

	s->before = run_delay();
	v->run->immediate_exit = 1;
	ioctl(v->fd, KVM_RUN, 0);
	v->run->immediate_exit = 0;
	s->after = run_delay();
	pread(v->file.fd, &s->ready, sizeof(s->ready),
	      v->file.header.data_offset + desc->offset);
}

/* KVM has counted the wait time between two samples. */
static void expect_waited(struct __test_metadata *_metadata,
			  const struct sample *first, const struct sample *last)
{
	EXPECT_LE(last->before - first->after, last->ready - first->ready);
	EXPECT_GE(last->after - first->before, last->ready - first->ready);
}

static bool is_exact(const struct sample *s)
{
	return s->before == s->after;
}

static void *wait_in_guest(void *arg)
{
	struct waiter *w = arg;

	runner_kicked = w->vcpu->run;
	/* In its first KVM_RUN of the vCPU a thread sleeps for RCU. */
	take_sample(w->vcpu, &w->first);
	take_sample(w->vcpu, &w->first);
	w->result = result(ioctl(w->vcpu->fd, KVM_RUN, 0));
	take_sample(w->vcpu, &w->last);
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

/* Run two vCPUs on one CPU until both have waited. */
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

/* Seconds of competition for a CPU, after which a scheduler that counts has counted. */
#define LONG_ENOUGH		10

TEST(ready_accounting_is_1_if_the_scheduler_counts_run_delay)
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

TEST_F(ready, ready_ns_of_vcpus_that_share_a_cpu_is_their_run_delay)
{
	bool exact[2] = {};
	struct waiter w[2];
	int i, attempt;

	for (attempt = 0; attempt < ATTEMPTS && !(exact[0] && exact[1]); attempt++) {
		run_side_by_side(_metadata, &self->guest, w);
		for (i = 0; i < 2; i++) {
			expect_waited(_metadata, &w[i].first, &w[i].last);
			exact[i] |= is_exact(&w[i].first) && is_exact(&w[i].last);
		}
	}
	EXPECT_TRUE(exact[0] && exact[1]) TH_LOG("in %d attempts", attempt);
}

TEST_F(ready, ready_hist_has_the_waits_in_buckets_of_their_time)
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

/*
 * A cgroup has a CPU for 20 ms in 100 ms. If a tick is late, a vCPU runs longer and then waits
 * longer: the share of a long time is right.
 */
#define CGROUPS			"/sys/fs/cgroup"
#define QUOTA			"20000 100000"
#define QUOTA_TIME		(2000 * MS)
#define QUOTA_LIMIT		(10000 * MS)

static __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

TEST_F(ready, a_vcpu_throttled_by_the_quota_of_its_cgroup_waits_for_a_cpu)
{
	struct sigaction action = { .sa_handler = runner_kick };
	struct guest_vcpu *v = &self->guest.vcpu[0];
	__u64 begin, from, ready, elapsed;
	struct waiter w;
	char cgroup[64];
	int i;

	stats_write_file(CGROUPS, "cgroup.subtree_control", "+cpu");
	snprintf(cgroup, sizeof(cgroup), CGROUPS "/kvm-stats-%d", getpid());
	if (mkdir(cgroup, 0755))
		SKIP(return, "no cgroup: %s", strerror(errno));
	if (stats_write_file(cgroup, "cpu.max", QUOTA)) {
		rmdir(cgroup);
		SKIP(return, "cgroups have no quota of CPU time");
	}
	ASSERT_EQ(0, stats_write_file(cgroup, "cgroup.procs", "0"));
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));

	waiter_start(_metadata, &w, v);
	begin = now_ns();
	from = vcpu_read(_metadata, v, "ready_ns");
	do {
		usleep(QUOTA_TIME / 1000);
		ready = vcpu_read(_metadata, v, "ready_ns") - from;
		elapsed = now_ns() - begin;
	} while (ready < elapsed / 10 * 7 && elapsed < QUOTA_LIMIT);
	waiter_stop(_metadata, &w);

	EXPECT_EQ(0, stats_write_file(CGROUPS, "cgroup.procs", "0"));
	/* A thread that was joined may be in the cgroup for a little longer. */
	for (i = 0; rmdir(cgroup) && errno == EBUSY && i < 1000; i++)
		usleep(1000);
	EXPECT_NE(0, access(cgroup, F_OK));
	expect_waited(_metadata, &w.first, &w.last);
	EXPECT_LE(elapsed / 10 * 7, ready);
	EXPECT_GE(elapsed, ready);
	TH_LOG("%llu of %llu ms", ready / MS, elapsed / MS);
}

TEST_F(ready, waits_before_the_first_KVM_RUN_do_not_count)
{
	struct guest_vcpu *v = &self->guest.vcpu[0];
	struct sample first;

	wait_for_cpu(_metadata, WAITED);
	take_sample(v, &first);
	EXPECT_GE(first.after - first.before, first.ready);
	EXPECT_LE(WAITED, first.before);
}

/* Return the number of waits that are longer than half of WAITED. */
static __u64 long_waits(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	__u64 hist[BUCKETS], waits = 0;
	int i;

	stats_read_all(_metadata, &v->file, "ready_hist", hist, BUCKETS);
	for (i = 1; i < BUCKETS; i++)
		waits += (1ULL << i) > WAITED / 2 ? hist[i] : 0;
	return waits;
}

TEST_F(ready, waits_between_two_runs_count_as_one)
{
	struct guest_vcpu *v = &self->guest.vcpu[0];
	struct sample first, last;

	take_sample(v, &first);
	wait_for_cpu(_metadata, WAITED);
	take_sample(v, &last);
	expect_waited(_metadata, &first, &last);
	EXPECT_LE(WAITED, last.ready);
	EXPECT_EQ(1UL, long_waits(_metadata, v));
}

/* The thread outlives the VM. */
TEST_F(ready, waits_after_the_last_KVM_RUN_count_when_the_vm_ends)
{
	struct sample first, last;
	struct guest guest;
	off_t offset;
	int file;

	guest_create(_metadata, &guest, 1);
	stats_arch_init_vcpu(_metadata, guest.vcpu[0].fd, GUEST_KERNEL_EXITS, 0);
	offset = stats_offset(_metadata, &guest.vcpu[0].file, "ready_ns");
	file = dup(guest.vcpu[0].file.fd);
	ASSERT_LE(0, file);
	take_sample(&guest.vcpu[0], &first);
	wait_for_cpu(_metadata, WAITED);
	last.before = run_delay();
	guest_destroy(&guest);
	last.after = run_delay();
	ASSERT_EQ((ssize_t)sizeof(last.ready),
		  pread(file, &last.ready, sizeof(last.ready), offset));
	expect_waited(_metadata, &first, &last);
	EXPECT_LE(WAITED, last.ready);
}

/* About half of the preemptions come while the ioctl has loaded the vCPU. */
#define PREEMPTIONS		20
#define ASKS			100

/* Load the vCPU again and again until the thread was preempted often. */
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

TEST_F(ready, waits_of_a_thread_without_KVM_RUN_do_not_count)
{
	struct guest_vcpu *v = &self->guest.vcpu[0];
	struct busy_thread rival;
	struct sample first;
	pthread_t asker;

	take_sample(v, &first);
	busy_start(_metadata, &rival);
	ASSERT_EQ(0, pthread_create(&asker, NULL, ask_and_wait, v));
	ASSERT_EQ(0, pthread_join(asker, NULL));
	busy_end(_metadata, &rival);
	EXPECT_EQ(first.ready, vcpu_read(_metadata, v, "ready_ns"));
}

TEST_HARNESS_MAIN
