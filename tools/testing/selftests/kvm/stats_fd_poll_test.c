// SPDX-License-Identifier: GPL-2.0-only
/*
 * Poll KVM's statistics files: EPOLLHUP when the VM is destroyed, EPOLLPRI when vCPUs were
 * added since the open file was last read. poll() and level and edge triggered epoll report
 * each event exactly once or as long as it lasts, and no waiter misses one.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
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

static void read_header(struct __test_metadata *_metadata, int fd)
{
	char byte;

	ASSERT_EQ(1, pread(fd, &byte, 1, 0));
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

TEST_F(file, poll_reports_hup_for_good_and_pri_until_the_header_is_read)
{
	int vm = stats_create_vm(_metadata), copy = dup(self->vm_stats);
	int other = stats_get_fd(_metadata, vm);

	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	destroy_vm(self->vm, self->vcpu);
	expect_events(_metadata, self->vm_stats, READABLE | POLLPRI | POLLHUP);
	expect_events(_metadata, self->vcpu_stats, READABLE | POLLHUP);
	read_header(_metadata, self->vm_stats);
	expect_events(_metadata, self->vm_stats, READABLE | POLLHUP);
	expect_events(_metadata, copy, READABLE | POLLHUP);
	expect_events(_metadata, other, READABLE);
}

TEST_F(file, poll_reports_pri_of_vcpus_created_after_the_file_was_opened)
{
	int stats;

	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	stats = stats_get_fd(_metadata, self->vm);
	expect_events(_metadata, stats, READABLE);
	add_vcpu(_metadata, self->vm, VCPU_ID + 2);
	expect_events(_metadata, stats, READABLE | POLLPRI);
	/* A vCPU's file never reports it. */
	expect_events(_metadata, self->vcpu_stats, READABLE);
}

TEST_F(file, poll_does_not_report_pri_when_vcpu_creation_fails)
{
	EXPECT_EQ(STATS_KNOWN_VCPU_ID, result(ioctl(self->vm, KVM_CREATE_VCPU, VCPU_ID)));
	EXPECT_EQ(-EINVAL, result(ioctl(self->vm, KVM_CREATE_VCPU, 1UL << 30)));
	expect_events(_metadata, self->vm_stats, READABLE);
}

TEST_F(file, poll_reports_pri_to_each_open_file)
{
	int other = stats_get_fd(_metadata, self->vm), copy = dup(self->vm_stats);

	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	expect_events(_metadata, copy, READABLE | POLLPRI);
	read_header(_metadata, self->vm_stats);
	expect_events(_metadata, self->vm_stats, READABLE);
	expect_events(_metadata, copy, READABLE);
	expect_events(_metadata, other, READABLE | POLLPRI);
	read_header(_metadata, other);
	expect_events(_metadata, other, READABLE);
}

/* A reader of a VM that gets a new vCPU before each read. */
FIXTURE(read)
{
	int vm;
	int fd;
	struct stats_file f;
	char *buffer;		/* followed by a page that faults */
	size_t size;
	unsigned long next_id;
};

FIXTURE_SETUP(read)
{
	const size_t page = sysconf(_SC_PAGESIZE);

	self->vm = stats_create_vm(_metadata);
	self->fd = stats_get_fd(_metadata, self->vm);
	stats_load(_metadata, dup(self->fd), &self->f);
	self->size = (self->f.size | (page - 1)) + 1;
	self->buffer = mmap(NULL, self->size + page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buffer);
	ASSERT_EQ(0, mprotect(self->buffer + self->size, page, PROT_NONE));
}

FIXTURE_TEARDOWN(read) { }

#define ALL			(~(size_t)0)

/* A read of these bytes into a buffer that faults after @room bytes: does it clear the event? */
struct read {
	size_t from, to, room;
	bool clears;
};

static void expect_read(struct __test_metadata *_metadata, FIXTURE_DATA(read) *self,
			const struct read *c)
{
	struct pollfd fd = { .fd = self->fd, .events = POLLPRI };
	size_t size = c->to - c->from, room = c->room == ALL ? size : c->room;

	add_vcpu(_metadata, self->vm, self->next_id++);
	ASSERT_EQ(1, poll(&fd, 1, 0));
	EXPECT_EQ(size && !room ? -EFAULT : (ssize_t)room,
		  result(pread(self->fd, self->buffer + self->size - room, size, c->from)));
	EXPECT_EQ(!c->clears, poll(&fd, 1, 0)) {
		TH_LOG("%zu bytes from %zu, room for %zu", size, c->from, room);
	}
	read_header(_metadata, self->fd);
	EXPECT_EQ(0, poll(&fd, 1, 0));
}

TEST_F(read, read_of_any_byte_of_header_or_vcpu_ids_clears_pri)
{
	const struct kvm_stats_header *h = &self->f.header;
	const size_t head = STATS_HEADER_SIZE, ids = self->f.ext.vcpu_id_offset;
	const size_t end = ids + self->f.ext.vcpu_max * sizeof(__u32), data = h->data_offset;
	const struct read reads[] = {
		{ 0, head, ALL, true }, { 0, 1, ALL, true }, { head - 1, head, ALL, true },
		{ head - 1, head + 1, ALL, true }, { ids, end, ALL, true },
		{ ids, ids + 1, ALL, true }, { end - 1, end, ALL, true },
		{ ids - 1, ids + 1, ALL, true }, { ids - 1, end + 1, ALL, true },
		{ head, ids, ALL }, { h->desc_offset, ids, ALL }, { ids - 1, ids, ALL },
		{ end, end + 1, ALL }, { data - 1, data + 1, ALL }, { data, self->f.size, ALL },
		{ 0, 0, ALL }, { ids, ids, ALL }, { self->f.size, self->f.size, ALL },
		/* These fail or are short. */
		{ 0, head, 0 }, { 0, head, 1, true }, { ids, ids + 4, 0 },
		{ ids, ids + 4, 1, true }, { ids - 16, ids + 16, 16 },
		{ ids - 16, ids + 16, 17, true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reads); i++)
		expect_read(_metadata, self, &reads[i]);
}

TEST_F(read, no_other_system_call_than_read_clears_pri)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct pollfd fd = { .fd = self->fd, .events = POLLPRI };
	char bytes[8], line[STATS_LINE_SIZE];
	struct iovec iov[2] = { { bytes, 1 }, { bytes, sizeof(bytes) } };
	struct stat st;
	void *data;

	add_vcpu(_metadata, self->vm, self->next_id++);
	ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
	ASSERT_EQ(0, fstat(self->fd, &st));
	ASSERT_EQ(1, stats_fdinfo(_metadata, self->fd, "id", line));
	data = mmap(NULL, page, PROT_READ, MAP_SHARED, self->fd, self->f.header.data_offset);
	ASSERT_NE(MAP_FAILED, data);
	memcpy(self->buffer, data, page);
	ASSERT_EQ(0, munmap(data, page));
	EXPECT_EQ(1, poll(&fd, 1, 0));
	/* The second buffer gets the first vCPU id. */
	EXPECT_LT(0, preadv(self->fd, iov, 2, self->f.ext.vcpu_id_offset - 1));
	EXPECT_EQ(0, poll(&fd, 1, 0));
}

TEST_F(file, level_triggered_epoll_reports_pri_until_it_is_read)
{
	struct waiter w;
	int i;

	waiter_init(_metadata, &w, LEVEL, self->vm_stats, POLLPRI);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	/* A kernel worker wakes the epoll set a moment later. */
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(POLLPRI, waiter_wait(&w, LOST_MS));
	read_header(_metadata, self->vm_stats);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	add_vcpu(_metadata, self->vm, VCPU_ID + 2);
	destroy_vm(self->vm, self->vcpu);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(POLLPRI | POLLHUP, waiter_wait(&w, LOST_MS));
	read_header(_metadata, self->vm_stats);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(POLLHUP, waiter_wait(&w, 0));
}

TEST_F(file, edge_triggered_epoll_reports_each_new_vcpu_once)
{
	struct waiter w, values;
	int i;

	waiter_init(_metadata, &w, EDGE, self->vm_stats, POLLPRI);
	waiter_init(_metadata, &values, EDGE, self->vm_stats, READABLE);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	EXPECT_EQ(READABLE, waiter_wait(&values, 0));
	for (i = 1; i <= 4; i++) {
		add_vcpu(_metadata, self->vm, VCPU_ID + i);
		EXPECT_EQ(POLLPRI, waiter_wait(&w, LOST_MS)) TH_LOG("vCPU %d", i);
		EXPECT_EQ(0, waiter_wait(&w, 0)) TH_LOG("vCPU %d", i);
		if (i % 2)
			read_header(_metadata, self->vm_stats);
		EXPECT_EQ(0, waiter_wait(&w, 0)) TH_LOG("vCPU %d", i);
	}
	EXPECT_EQ(0, waiter_wait(&values, 0));
	/* A new vCPU that was read before the wait is no event. */
	add_vcpu(_metadata, self->vm, VCPU_ID + i);
	read_header(_metadata, self->vm_stats);
	EXPECT_EQ(0, waiter_wait(&w, 0));
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

TEST_F(file, sleeper_is_woken_by_a_new_vcpu)
{
	struct sleeper s;
	enum way way;

	for (way = 0; way < WAYS; way++) {
		sleeper_start(_metadata, &s, way, self->vm_stats, POLLPRI);
		add_vcpu(_metadata, self->vm, VCPU_ID + 1 + way);
		EXPECT_EQ(POLLPRI, sleeper_join(_metadata, &s)) TH_LOG("way %u", way);
		read_header(_metadata, self->vm_stats);
	}
}

TEST_F(file, sleeper_is_not_woken_by_other_events)
{
	struct sleeper s, for_pri, on_vcpu;
	enum way way;

	for (way = 0; way < WAYS; way++) {
		sleeper_start(_metadata, &for_pri, way, self->vm_stats, POLLPRI);
		EXPECT_EQ(STATS_KNOWN_VCPU_ID,
			  result(ioctl(self->vm, KVM_CREATE_VCPU, VCPU_ID)));
		sleeper_interrupt(_metadata, &for_pri);
		sleeper_start(_metadata, &s, way, self->vm_stats, 0);
		sleeper_start(_metadata, &on_vcpu, way, self->vcpu_stats, POLLPRI);
		add_vcpu(_metadata, self->vm, VCPU_ID + 1 + way);
		close(stats_create_vm(_metadata));
		sleeper_interrupt(_metadata, &s);
		sleeper_interrupt(_metadata, &on_vcpu);
		read_header(_metadata, self->vm_stats);
	}
}

/*
 * Several processes create VMs with vCPUs and destroy them, while threads wait for their
 * events: each thread notices all vCPUs and the end of the VM.
 */
struct follower {
	struct waiter w;
	pthread_t thread;
	size_t ids;		/* their offset in the file */
	int vcpus;		/* noticed so far */
	long last;		/* events of its last wait */
};

#define VM_VCPUS		6
#define FOLLOWED_VMS		16
#define FOLLOWING_PROCESSES	3

static void *follower_thread(void *arg)
{
	struct follower *f = arg;
	__u32 id[VM_VCPUS];

	do {
		f->last = waiter_wait(&f->w, LOST_MS);
		if (f->last <= 0)
			break;
		/* Ids begin with 1 here. */
		if (f->last & POLLPRI && pread(f->w.fd, id, sizeof(id), f->ids) == sizeof(id)) {
			while (f->vcpus < VM_VCPUS && id[f->vcpus])
				f->vcpus++;
		}
	} while (!(f->last & POLLHUP));
	return NULL;
}

static void live_and_be_followed(struct __test_metadata *_metadata, size_t ids)
{
	int vm = stats_create_vm(_metadata), i;
	struct follower f[WAYS];

	for (i = 0; i < WAYS; i++) {
		f[i] = (struct follower){ .ids = ids };
		waiter_init(_metadata, &f[i].w, i, stats_get_fd(_metadata, vm), POLLPRI);
		ASSERT_EQ(0, pthread_create(&f[i].thread, NULL, follower_thread, &f[i]));
	}
	for (i = 1; i <= VM_VCPUS; i++)
		add_vcpu(_metadata, vm, i);
	close(vm);
	for (i = 0; i < WAYS; i++) {
		ASSERT_EQ(0, pthread_join(f[i].thread, NULL));
		ASSERT_LT(0, f[i].last & POLLHUP) TH_LOG("way %d: %ld", i, f[i].last);
		ASSERT_EQ(VM_VCPUS, f[i].vcpus) TH_LOG("way %d", i);
		close(f[i].w.fd);
		waiter_destroy(&f[i].w);
	}
}

static void live_often(struct __test_metadata *_metadata, int nr, void *arg)
{
	int i;

	for (i = 0; i < FOLLOWED_VMS; i++)
		live_and_be_followed(_metadata, *(size_t *)arg);
}

TEST_F(read, followers_notice_all_vcpus_and_the_end_of_the_vm)
{
	size_t ids = self->f.ext.vcpu_id_offset;

	stats_in_children(_metadata, FOLLOWING_PROCESSES, live_often, &ids);
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

/* CPU time to create a vCPU, and to destroy the VM. */
struct cost {
	__u64 create;
	__u64 destroy;
};

static __u64 cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void note_time_since(__u64 before, __u64 *least)
{
	__u64 ns = cpu_time_ns() - before;

	if (ns < *least)
		*least = ns;
}

static void add_cost_of_vm(struct __test_metadata *_metadata, struct cost *cost,
			   const int set[SETS])
{
	struct epoll_event event = { .events = EPOLLPRI };
	int vm = stats_create_vm(_metadata), vcpu[VCPUS], copy[FILES], i, j;
	__u64 before;

	copy[0] = stats_get_fd(_metadata, vm);
	for (i = 0; i < FILES && set; i++) {
		copy[i] = i ? dup(copy[0]) : copy[0];
		for (j = 0; j < SETS; j++)
			ASSERT_EQ(0, epoll_ctl(set[j], EPOLL_CTL_ADD, copy[i], &event));
	}
	for (i = 0; i < VCPUS; i++) {
		before = cpu_time_ns();
		vcpu[i] = stats_create_vcpu(_metadata, vm, i);
		note_time_since(before, &cost->create);
	}
	for (i = 0; i < VCPUS; i++)
		close(vcpu[i]);
	before = cpu_time_ns();
	close(vm);
	note_time_since(before, &cost->destroy);
	for (i = 0; i < (set ? FILES : 1); i++)
		close(copy[i]);
}

static bool is_no_longer(__u64 with, __u64 without)
{
	return with < ULLONG_MAX && with < without * TIMES_AS_LONG + NOISE_NS;
}

TEST(epoll_waiters_delay_neither_vcpu_creation_nor_vm_destruction)
{
	struct cost without = { ULLONG_MAX, ULLONG_MAX }, with = without;
	struct rlimit files = { 4096, 4096 };
	int set[SETS], i;

	setrlimit(RLIMIT_NOFILE, &files);
	for (i = 0; i < SETS; i++) {
		set[i] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, set[i]);
	}
	for (i = 0; i < ATTEMPTS && !(is_no_longer(with.create, without.create) &&
				      is_no_longer(with.destroy, without.destroy)); i++) {
		add_cost_of_vm(_metadata, &without, NULL);
		add_cost_of_vm(_metadata, &with, set);
	}
	TH_LOG("create: %llu ns, %llu with waiters; destroy: %llu, %llu",
	       without.create, with.create, without.destroy, with.destroy);
	EXPECT_TRUE(is_no_longer(with.create, without.create));
	EXPECT_TRUE(is_no_longer(with.destroy, without.destroy));
}

TEST_HARNESS_MAIN
