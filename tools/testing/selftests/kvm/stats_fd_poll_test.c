// SPDX-License-Identifier: GPL-2.0-only
/*
 * Poll KVM's statistics files: EPOLLHUP when the VM is destroyed. poll() and level and edge
 * triggered epoll report it exactly once or for good, and no waiter misses it. A new vCPU
 * wakes no waiter.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "stats_fd_util.h"

/* An event that does not come within this time is lost. */
#define LOST_MS			(120 * 1000)

/* Checks whether a thread sleeps, each with a sched_yield(). */
#define MAX_CHECKS		(1000 * 1000)

/* A file can always be read, and never written. */
#define READABLE		(POLLIN | POLLRDNORM)
#define ALL_EVENTS		(READABLE | POLLPRI | POLLOUT | POLLWRNORM | \
				 POLLRDBAND | POLLWRBAND | POLLRDHUP)

/* Not 0, so that a missing vCPU id is noticed. */
#define VCPU_ID			3

enum way { POLL, LEVEL, EDGE, WAYS };

struct waiter {
	enum way way;
	int fd;
	__u32 events;		/* besides POLLHUP */
	int epoll;
};

static void waiter_init(struct __test_metadata *_metadata, struct waiter *w, enum way how,
			int fd, __u32 events)
{
	struct epoll_event event = { .events = events | (how == EDGE ? EPOLLET : 0) };

	*w = (struct waiter){ how, fd, events, -1 };
	if (how == POLL)
		return;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_LE(0, w->epoll);
	ASSERT_EQ(0, epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event));
}

static void waiter_destroy(struct waiter *w)
{
	if (w->epoll >= 0)
		close(w->epoll);
}

/* Return the events, 0 after a timeout, or a negative errno. */
static long waiter_wait(const struct waiter *w, int timeout_ms)
{
	struct pollfd fd = { .fd = w->fd, .events = w->events };
	struct epoll_event event;
	long ret;

	if (w->way == POLL) {
		ret = result(poll(&fd, 1, timeout_ms));
		return ret > 0 ? fd.revents : ret;
	}
	ret = result(epoll_wait(w->epoll, &event, 1, timeout_ms));
	return ret > 0 ? event.events : ret;
}

/* Expect that a new waiter gets these events. POLLHUP is reported without being asked for. */
static void expect_events(struct __test_metadata *_metadata, int fd, long expected)
{
	struct waiter w;
	enum way way;

	for (way = 0; way < WAYS; way++) {
		waiter_init(_metadata, &w, way, fd, ALL_EVENTS);
		EXPECT_EQ(expected, waiter_wait(&w, 0)) TH_LOG("way %u", way);
		waiter_destroy(&w);
		waiter_init(_metadata, &w, way, fd, 0);
		EXPECT_EQ(expected & POLLHUP, waiter_wait(&w, 0)) TH_LOG("way %u", way);
		waiter_destroy(&w);
	}
}

/* A VM with one vCPU, and a file of each. */
FIXTURE(file)
{
	int vm, vcpu, vm_stats, vcpu_stats;
};

FIXTURE_SETUP(file)
{
	self->vm = stats_create_vm(_metadata);
	self->vcpu = stats_create_vcpu(_metadata, self->vm, VCPU_ID);
	self->vm_stats = stats_get_fd(_metadata, self->vm);
	self->vcpu_stats = stats_get_fd(_metadata, self->vcpu);
}

FIXTURE_TEARDOWN(file) { }

static void destroy_vm(int vm, int vcpu)
{
	close(vcpu);
	close(vm);
}

static void add_vcpu(struct __test_metadata *_metadata, int vm, unsigned long id)
{
	close(stats_create_vcpu(_metadata, vm, id));
}

TEST_F(file, poll_reports_readable_and_nothing_else_while_vm_lives)
{
	struct waiter w;
	enum way way;
	char byte;

	expect_events(_metadata, self->vm_stats, READABLE);
	expect_events(_metadata, self->vcpu_stats, READABLE);
	ASSERT_LE(0, lseek(self->vm_stats, 0, SEEK_END));
	EXPECT_EQ(0, read(self->vm_stats, &byte, 1));
	expect_events(_metadata, self->vm_stats, READABLE);
	for (way = 0; way < WAYS; way++) {
		waiter_init(_metadata, &w, way, self->vm_stats, POLLPRI);
		EXPECT_EQ(0, waiter_wait(&w, 1)) TH_LOG("way %u", way);
		waiter_destroy(&w);
	}
}

TEST_F(file, poll_reports_hup_for_good)
{
	int vm = stats_create_vm(_metadata), copy = dup(self->vm_stats);
	int other = stats_get_fd(_metadata, vm);
	char byte;

	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	destroy_vm(self->vm, self->vcpu);
	expect_events(_metadata, self->vm_stats, READABLE | POLLHUP);
	expect_events(_metadata, self->vcpu_stats, READABLE | POLLHUP);
	ASSERT_EQ(1, pread(self->vm_stats, &byte, 1, 0));
	expect_events(_metadata, self->vm_stats, READABLE | POLLHUP);
	expect_events(_metadata, copy, READABLE | POLLHUP);
	expect_events(_metadata, other, READABLE);
}

TEST_F(file, poll_reports_no_event_of_a_new_vcpu)
{
	struct waiter values;

	waiter_init(_metadata, &values, EDGE, self->vm_stats, ALL_EVENTS);
	EXPECT_EQ(READABLE, waiter_wait(&values, 0));
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	expect_events(_metadata, self->vm_stats, READABLE);
	EXPECT_EQ(0, waiter_wait(&values, 0));
	waiter_destroy(&values);
}

TEST_F(file, level_triggered_epoll_reports_hup_for_good)
{
	struct waiter w;
	int i;

	waiter_init(_metadata, &w, LEVEL, self->vm_stats, 0);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	destroy_vm(self->vm, self->vcpu);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(POLLHUP, waiter_wait(&w, LOST_MS));
}

TEST_F(file, edge_triggered_epoll_reports_hup_once)
{
	struct waiter vm, vcpu;

	waiter_init(_metadata, &vm, EDGE, self->vm_stats, 0);
	waiter_init(_metadata, &vcpu, EDGE, self->vcpu_stats, 0);
	EXPECT_EQ(0, waiter_wait(&vm, 0));
	EXPECT_EQ(0, waiter_wait(&vcpu, 0));
	destroy_vm(self->vm, self->vcpu);
	EXPECT_EQ(POLLHUP, waiter_wait(&vm, LOST_MS));
	EXPECT_EQ(POLLHUP, waiter_wait(&vcpu, LOST_MS));
	EXPECT_EQ(0, waiter_wait(&vm, 0));
	EXPECT_EQ(0, waiter_wait(&vcpu, 0));
}

/* A thread that waits for one event. */
struct sleeper {
	struct waiter w;
	pthread_t thread;
	int tid;
	long events;
};

static void *sleeper_thread(void *arg)
{
	struct sleeper *s = arg;

	__atomic_store_n(&s->tid, stats_tid(), __ATOMIC_RELEASE);
	s->events = waiter_wait(&s->w, LOST_MS);
	return NULL;
}

/* The state of a thread in /proc. */
static char thread_state(struct __test_metadata *_metadata, int tid)
{
	char path[64], line[STATS_LINE_SIZE], *state;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	stat = fopen(path, "re");
	ASSERT_NE(NULL, stat) TH_LOG("%s: %s", path, strerror(errno));
	ASSERT_NE(NULL, fgets(line, sizeof(line), stat));
	fclose(stat);
	state = strrchr(line, ')');
	ASSERT_NE(NULL, state);
	return state[2];
}

/* Wait until a thread sleeps, after it has stored its tid. */
static void expect_asleep(struct __test_metadata *_metadata, int tid)
{
	int i;

	for (i = 0; i < MAX_CHECKS && thread_state(_metadata, tid) != 'S'; i++)
		sched_yield();
	EXPECT_EQ('S', thread_state(_metadata, tid));
}

static void sleeper_start(struct __test_metadata *_metadata, struct sleeper *s, enum way how,
			  int fd, __u32 events)
{
	s->tid = 0;
	waiter_init(_metadata, &s->w, how, fd, events);
	ASSERT_EQ(0, pthread_create(&s->thread, NULL, sleeper_thread, s));
	while (!__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE))
		sched_yield();
	expect_asleep(_metadata, s->tid);
}

static long sleeper_join(struct __test_metadata *_metadata, struct sleeper *s)
{
	ASSERT_EQ(0, pthread_join(s->thread, NULL));
	waiter_destroy(&s->w);
	return s->events;
}

static void sleeper_signalled(int sig)
{
}

/* Fails if the sleeper was woken before. */
static void sleeper_interrupt(struct __test_metadata *_metadata, struct sleeper *s)
{
	struct sigaction action = { .sa_handler = sleeper_signalled };

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, pthread_kill(s->thread, SIGUSR1));
	EXPECT_EQ(-EINTR, sleeper_join(_metadata, s));
}

/* Pairs of sleepers share an open file. */
#define SLEEPERS		(2 * WAYS)

TEST_F(file, sleeper_is_woken_when_the_vm_is_destroyed)
{
	struct sleeper s[SLEEPERS], on_vcpu[WAYS];
	int fd[SLEEPERS], i;

	for (i = 0; i < SLEEPERS; i++) {
		fd[i] = i % 2 ? dup(fd[i - 1]) : stats_get_fd(_metadata, self->vm);
		sleeper_start(_metadata, &s[i], i / 2, fd[i], 0);
	}
	for (i = 0; i < WAYS; i++)
		sleeper_start(_metadata, &on_vcpu[i], i, self->vcpu_stats, 0);
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	close(self->vm);
	expect_asleep(_metadata, s[0].tid);
	expect_asleep(_metadata, on_vcpu[0].tid);
	close(self->vcpu);
	for (i = 0; i < SLEEPERS; i++)
		EXPECT_EQ(POLLHUP, sleeper_join(_metadata, &s[i])) TH_LOG("%d", i);
	for (i = 0; i < WAYS; i++)
		EXPECT_EQ(POLLHUP, sleeper_join(_metadata, &on_vcpu[i])) TH_LOG("way %d", i);
}

TEST_F(file, sleeper_is_not_woken_by_other_events)
{
	struct sleeper s, for_pri, on_vcpu;
	enum way way;

	for (way = 0; way < WAYS; way++) {
		sleeper_start(_metadata, &for_pri, way, self->vm_stats, POLLPRI);
		sleeper_start(_metadata, &s, way, self->vm_stats, 0);
		sleeper_start(_metadata, &on_vcpu, way, self->vcpu_stats, POLLPRI);
		EXPECT_EQ(STATS_KNOWN_VCPU_ID,
			  result(ioctl(self->vm, KVM_CREATE_VCPU, VCPU_ID)));
		add_vcpu(_metadata, self->vm, VCPU_ID + 1 + way);
		close(stats_create_vm(_metadata));
		sleeper_interrupt(_metadata, &for_pri);
		sleeper_interrupt(_metadata, &s);
		sleeper_interrupt(_metadata, &on_vcpu);
	}
}

/* Several processes create VMs and destroy them, while threads wait for each VM's end. */
struct follower {
	struct waiter w;
	pthread_t thread;
	long events;
};

#define VM_VCPUS		6
#define FOLLOWED_VMS		16
#define FOLLOWING_PROCESSES	3

static void *follower_thread(void *arg)
{
	struct follower *f = arg;

	f->events = waiter_wait(&f->w, LOST_MS);
	return NULL;
}

static void live_and_be_followed(struct __test_metadata *_metadata)
{
	int vm = stats_create_vm(_metadata), i;
	struct follower f[WAYS];

	for (i = 0; i < WAYS; i++) {
		waiter_init(_metadata, &f[i].w, i, stats_get_fd(_metadata, vm), 0);
		ASSERT_EQ(0, pthread_create(&f[i].thread, NULL, follower_thread, &f[i]));
	}
	for (i = 1; i <= VM_VCPUS; i++)
		add_vcpu(_metadata, vm, i);
	close(vm);
	for (i = 0; i < WAYS; i++) {
		ASSERT_EQ(0, pthread_join(f[i].thread, NULL));
		ASSERT_EQ(POLLHUP, f[i].events) TH_LOG("way %d", i);
		close(f[i].w.fd);
		waiter_destroy(&f[i].w);
	}
}

static void live_often(struct __test_metadata *_metadata, int nr, void *arg)
{
	int i;

	for (i = 0; i < FOLLOWED_VMS; i++)
		live_and_be_followed(_metadata);
}

TEST(followers_notice_the_end_of_the_vm)
{
	stats_in_children(_metadata, FOLLOWING_PROCESSES, live_often, NULL);
}

/* Epoll sets and files. To wake all their registrations takes longer than to create a vCPU. */
#define SETS			64
#define FILES			512

/* Compare the fastest of so many attempts: an emulated CPU is slow while the other one works. */
#define VCPUS			5
#define ATTEMPTS		100

/* With waiters, a call may take TIMES_AS_LONG times as long, plus NOISE_NS. */
#define TIMES_AS_LONG		2
#define NOISE_NS		(2 * 1000 * 1000)

static __u64 cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Note the least CPU time that it takes to create a vCPU. */
static void create_vcpus(struct __test_metadata *_metadata, __u64 *least, const int set[SETS])
{
	/* POLLPRI would be the event of a new vCPU, if there was one. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLPRI | EPOLLET };
	int vm = stats_create_vm(_metadata), vcpu[VCPUS], copy[FILES], i, j;

	copy[0] = stats_get_fd(_metadata, vm);
	for (i = 0; i < FILES && set; i++) {
		copy[i] = i ? dup(copy[0]) : copy[0];
		for (j = 0; j < SETS; j++)
			ASSERT_EQ(0, epoll_ctl(set[j], EPOLL_CTL_ADD, copy[i], &event));
	}
	for (i = 0; i < VCPUS; i++) {
		__u64 ns = cpu_time_ns();

		vcpu[i] = stats_create_vcpu(_metadata, vm, i);
		ns = cpu_time_ns() - ns;
		if (ns < *least)
			*least = ns;
	}
	for (i = 0; i < (set ? FILES : 1); i++)
		close(copy[i]);
	for (i = 0; i < VCPUS; i++)
		close(vcpu[i]);
	close(vm);
}

static bool is_no_longer(__u64 with, __u64 without)
{
	return with < ULLONG_MAX && with < without * TIMES_AS_LONG + NOISE_NS;
}

TEST(epoll_waiters_do_not_delay_vcpu_creation)
{
	__u64 without = ULLONG_MAX, with = ULLONG_MAX;
	struct rlimit files = { 4096, 4096 };
	int set[SETS], i;

	setrlimit(RLIMIT_NOFILE, &files);
	for (i = 0; i < SETS; i++) {
		set[i] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, set[i]);
	}
	for (i = 0; i < ATTEMPTS && !is_no_longer(with, without); i++) {
		create_vcpus(_metadata, &without, NULL);
		create_vcpus(_metadata, &with, set);
	}
	TH_LOG("%llu ns, %llu with waiters", without, with);
	EXPECT_TRUE(is_no_longer(with, without));
}

TEST_HARNESS_MAIN
