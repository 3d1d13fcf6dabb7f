// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics files tell who polls them of the end of their VM and of its
 * new vCPUs: with poll(), select() and epoll, each event exactly when there is
 * one, and no one who waits for it sleeps on.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "stats_fd_util.h"

/* An event that is not there after so many milliseconds is lost. */
#define LOST_MS			(120 * 1000)

/* Looks at a thread that is about to sleep; each gives up the CPU. */
#define MAX_LOOKS		(1000 * 1000)

/* A file can be read at any time, and never written. */
#define READABLE		(POLLIN | POLLRDNORM)
#define ALL_EVENTS		(READABLE | POLLPRI | POLLOUT | POLLWRNORM | \
				 POLLRDBAND | POLLWRBAND | POLLRDHUP)

struct waiter;

/* One way to wait for events, whose numbers are those of poll(). */
struct way {
	/* For at most so long: the events, 0 if there are none, or -errno. */
	long (*wait)(const struct waiter *w, int timeout_ms);
	__u32 flags;		/* of epoll */
	bool epoll;
	bool nested;
};

/* Someone who waits for events of a file, in one way. */
struct waiter {
	const struct way *way;
	int fd;
	__u32 events;		/* besides those that are always told */
	int epoll;
	int outer;		/* a set that has the other set */
};

static struct timespec timespec_of(int ms)
{
	return (struct timespec) {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L,
	};
}

static long wait_by_poll(const struct waiter *w, int timeout_ms)
{
	struct pollfd fd = { .fd = w->fd, .events = w->events };
	long ret = result(poll(&fd, 1, timeout_ms));

	return ret > 0 ? fd.revents : ret;
}

static long wait_by_ppoll(const struct waiter *w, int timeout_ms)
{
	struct pollfd fd = { .fd = w->fd, .events = w->events };
	struct timespec timeout = timespec_of(timeout_ms);
	long ret = result(ppoll(&fd, 1, &timeout, NULL));

	return ret > 0 ? fd.revents : ret;
}

/* select() knows no other names: those of poll() for its three sets. */
static long wait_by_select(const struct waiter *w, int timeout_ms)
{
	struct timespec timeout = timespec_of(timeout_ms);
	fd_set in, out, except;
	long ret;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&except);
	if (w->events & POLLIN)
		FD_SET(w->fd, &in);
	if (w->events & POLLOUT)
		FD_SET(w->fd, &out);
	if (w->events & POLLPRI)
		FD_SET(w->fd, &except);
	ret = result(pselect(w->fd + 1, &in, &out, &except, &timeout, NULL));
	if (ret <= 0)
		return ret;
	return (FD_ISSET(w->fd, &in) ? POLLIN : 0) |
	       (FD_ISSET(w->fd, &out) ? POLLOUT : 0) |
	       (FD_ISSET(w->fd, &except) ? POLLPRI : 0);
}

static long wait_by_epoll(const struct waiter *w, int timeout_ms)
{
	struct epoll_event event;
	long ret = result(epoll_wait(w->epoll, &event, 1, timeout_ms));

	return ret > 0 ? event.events : ret;
}

/* The other set becomes readable when it has an event. */
static long wait_by_outer_epoll(const struct waiter *w, int timeout_ms)
{
	struct epoll_event event;
	long ret = result(epoll_wait(w->outer, &event, 1, timeout_ms));

	return ret > 0 ? wait_by_epoll(w, 0) : ret;
}

static long wait_by_poll_of_epoll(const struct waiter *w, int timeout_ms)
{
	struct pollfd fd = { .fd = w->epoll, .events = POLLIN };
	long ret = result(poll(&fd, 1, timeout_ms));

	return ret > 0 ? wait_by_epoll(w, 0) : ret;
}

static const struct way by_poll = {
	.wait = wait_by_poll,
};

static const struct way by_ppoll = {
	.wait = wait_by_ppoll,
};

static const struct way by_select = {
	.wait = wait_by_select,
};

static const struct way by_epoll = {
	.wait = wait_by_epoll,
	.epoll = true,
};

static const struct way by_edge = {
	.wait = wait_by_epoll,
	.epoll = true,
	.flags = EPOLLET,
};

static const struct way by_oneshot = {
	.wait = wait_by_epoll,
	.epoll = true,
	.flags = EPOLLONESHOT,
};

static const struct way by_edge_oneshot = {
	.wait = wait_by_epoll,
	.epoll = true,
	.flags = EPOLLET | EPOLLONESHOT,
};

static const struct way by_exclusive = {
	.wait = wait_by_epoll,
	.epoll = true,
	.flags = EPOLLEXCLUSIVE,
};

static const struct way by_exclusive_edge = {
	.wait = wait_by_epoll,
	.epoll = true,
	.flags = EPOLLEXCLUSIVE | EPOLLET,
};

static const struct way by_outer_epoll = {
	.wait = wait_by_outer_epoll,
	.epoll = true,
	.nested = true,
};

static const struct way by_outer_edge = {
	.wait = wait_by_outer_epoll,
	.epoll = true,
	.nested = true,
	.flags = EPOLLET,
};

static const struct way by_poll_of_epoll = {
	.wait = wait_by_poll_of_epoll,
	.epoll = true,
};

static void epoll_add(struct __test_metadata *_metadata, int epoll, int fd,
		      __u32 events)
{
	struct epoll_event event = { .events = events };

	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
		TH_LOG("EPOLL_CTL_ADD of %#x: %s", events, strerror(errno));
	}
}

static int epoll_create_set(struct __test_metadata *_metadata)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	ASSERT_LE(0, epoll) TH_LOG("epoll_create1: %s", strerror(errno));
	return epoll;
}

static void waiter_init(struct __test_metadata *_metadata, struct waiter *w,
			const struct way *way, int fd, __u32 events)
{
	*w = (struct waiter) {
		.way = way,
		.fd = fd,
		.events = events,
		.epoll = -1,
		.outer = -1,
	};
	if (way->epoll) {
		w->epoll = epoll_create_set(_metadata);
		epoll_add(_metadata, w->epoll, fd, events | way->flags);
	}
	if (way->nested) {
		w->outer = epoll_create_set(_metadata);
		epoll_add(_metadata, w->outer, w->epoll,
			  EPOLLIN | (way->flags & EPOLLET));
	}
}

static void waiter_destroy(struct waiter *w)
{
	if (w->epoll >= 0)
		close(w->epoll);
	if (w->outer >= 0)
		close(w->outer);
}

static long waiter_wait(const struct waiter *w, int timeout_ms)
{
	return w->way->wait(w, timeout_ms);
}

/* After an event a set with EPOLLONESHOT wants to be asked again. */
static void waiter_rearm(const struct waiter *w)
{
	struct epoll_event event = { .events = w->events | w->way->flags };

	if (w->way->flags & EPOLLONESHOT)
		epoll_ctl(w->epoll, EPOLL_CTL_MOD, w->fd, &event);
}

/* What someone sees who now begins to look, in every way. */
static void expect_events(struct __test_metadata *_metadata, int fd,
			  long expected)
{
	static const struct way * const ways[] = {
		&by_poll, &by_ppoll, &by_epoll, &by_edge, &by_oneshot,
		&by_edge_oneshot, &by_outer_epoll, &by_outer_edge,
		&by_poll_of_epoll,
	};
	struct waiter w;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		waiter_init(_metadata, &w, ways[i], fd, ALL_EVENTS);
		EXPECT_EQ(expected, waiter_wait(&w, 0)) TH_LOG("way %u", i);
		waiter_destroy(&w);

		/* Without interest in them: what is told nonetheless. */
		waiter_init(_metadata, &w, ways[i], fd, 0);
		EXPECT_EQ(expected & POLLHUP, waiter_wait(&w, 0)) {
			TH_LOG("way %u without interest", i);
		}
		waiter_destroy(&w);
	}

	/* A select() for reading and writing ends for the end of a VM, too. */
	waiter_init(_metadata, &w, &by_select, fd, POLLIN | POLLOUT | POLLPRI);
	EXPECT_EQ(expected & (POLLIN | POLLOUT | POLLPRI), waiter_wait(&w, 0)) {
		TH_LOG("select");
	}
	waiter_init(_metadata, &w, &by_exclusive, fd, POLLIN | POLLOUT);
	EXPECT_EQ(expected & (POLLIN | POLLOUT | POLLHUP), waiter_wait(&w, 0)) {
		TH_LOG("EPOLLEXCLUSIVE");
	}
	waiter_destroy(&w);
}

/* A VM with one vCPU, and a file of each. */
FIXTURE(file)
{
	int kvm;
	int vm;
	int vcpu;
	int vm_stats;
	int vcpu_stats;
};

/* Not 0, so that the vCPU's id is seen. */
#define VCPU_ID			3

FIXTURE_SETUP(file)
{
	self->kvm = stats_open_kvm(_metadata);
	self->vm = stats_create_vm(_metadata, self->kvm);
	self->vcpu = stats_create_vcpu(_metadata, self->vm, VCPU_ID);
	self->vm_stats = stats_get_fd(_metadata, self->vm);
	self->vcpu_stats = stats_get_fd(_metadata, self->vcpu);
}

/* Cases that destroy the VM have closed what holds it. */
FIXTURE_TEARDOWN(file)
{
	close(self->vm_stats);
	close(self->vcpu_stats);
	if (self->vcpu >= 0)
		close(self->vcpu);
	if (self->vm >= 0)
		close(self->vm);
	close(self->kvm);
}

static void destroy_vm(int *vm, int *vcpu)
{
	close(*vcpu);
	close(*vm);
	*vcpu = -1;
	*vm = -1;
}

static void add_vcpu(struct __test_metadata *_metadata, int vm,
		     unsigned long id)
{
	close(stats_create_vcpu(_metadata, vm, id));
}

/* Any byte of the header will do. */
static void read_header(struct __test_metadata *_metadata, int fd)
{
	char byte;

	ASSERT_EQ(1, pread(fd, &byte, 1, 0));
}

TEST_F(file, of_a_living_vm_is_readable_and_nothing_else)
{
	char byte;
	int i;

	for (i = 0; i < 3; i++) {
		expect_events(_metadata, self->vm_stats, READABLE);
		expect_events(_metadata, self->vcpu_stats, READABLE);
		/* There is no end of it, wherever one is in the file. */
		ASSERT_LE(0, lseek(self->vm_stats, 0, SEEK_END));
		ASSERT_LE(0, lseek(self->vcpu_stats, 0, SEEK_END));
		EXPECT_EQ(0, read(self->vm_stats, &byte, 1));
		EXPECT_EQ(0, read(self->vcpu_stats, &byte, 1));
	}
}

TEST_F(file, without_an_event_has_a_wait_end_with_its_timeout)
{
	static const struct way * const ways[] = {
		&by_poll, &by_ppoll, &by_select, &by_epoll, &by_edge,
		&by_oneshot, &by_outer_epoll, &by_poll_of_epoll,
	};
	struct waiter w;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		waiter_init(_metadata, &w, ways[i], self->vm_stats, POLLPRI);
		EXPECT_EQ(0, waiter_wait(&w, 1)) TH_LOG("way %u, VM", i);
		waiter_destroy(&w);
		waiter_init(_metadata, &w, ways[i], self->vcpu_stats, POLLPRI);
		EXPECT_EQ(0, waiter_wait(&w, 1)) TH_LOG("way %u, vCPU", i);
		waiter_destroy(&w);
	}
}

/* What holds a VM: whatever goes last ends it. */
enum { VM, VCPU, RUN, HOLDERS };

FIXTURE(holders)
{
	int kvm;
	int fd[HOLDERS];
	void *run;
	int vm_stats;
	int vcpu_stats;
};

FIXTURE_VARIANT(holders)
{
	int order[HOLDERS];
};

FIXTURE_VARIANT_ADD(holders, vm_vcpu_run) { .order = { VM, VCPU, RUN } };
FIXTURE_VARIANT_ADD(holders, vm_run_vcpu) { .order = { VM, RUN, VCPU } };
FIXTURE_VARIANT_ADD(holders, vcpu_vm_run) { .order = { VCPU, VM, RUN } };
FIXTURE_VARIANT_ADD(holders, vcpu_run_vm) { .order = { VCPU, RUN, VM } };
FIXTURE_VARIANT_ADD(holders, run_vm_vcpu) { .order = { RUN, VM, VCPU } };
FIXTURE_VARIANT_ADD(holders, run_vcpu_vm) { .order = { RUN, VCPU, VM } };

FIXTURE_SETUP(holders)
{
	self->kvm = stats_open_kvm(_metadata);
	self->fd[VM] = stats_create_vm(_metadata, self->kvm);
	self->fd[VCPU] = stats_create_vcpu(_metadata, self->fd[VM], VCPU_ID);
	self->run = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
			 self->fd[VCPU], 0);
	ASSERT_NE(MAP_FAILED, self->run);
	self->vm_stats = stats_get_fd(_metadata, self->fd[VM]);
	self->vcpu_stats = stats_get_fd(_metadata, self->fd[VCPU]);
}

FIXTURE_TEARDOWN(holders)
{
	close(self->vm_stats);
	close(self->vcpu_stats);
	close(self->kvm);
}

TEST_F(holders, end_a_vm_when_the_last_one_goes)
{
	int i, holder;

	for (i = 0; i < HOLDERS; i++) {
		expect_events(_metadata, self->vm_stats, READABLE);
		expect_events(_metadata, self->vcpu_stats, READABLE);
		holder = variant->order[i];
		if (holder == RUN)
			munmap(self->run, sysconf(_SC_PAGESIZE));
		else
			close(self->fd[holder]);
	}
	for (i = 0; i < 2; i++) {
		expect_events(_metadata, self->vm_stats, READABLE | POLLHUP);
		expect_events(_metadata, self->vcpu_stats, READABLE | POLLHUP);
	}
}

TEST_F(file, hangs_up_after_the_last_of_two_vcpus)
{
	int other = stats_create_vcpu(_metadata, self->vm, VCPU_ID + 1);
	int other_stats = stats_get_fd(_metadata, other);

	read_header(_metadata, self->vm_stats);
	destroy_vm(&self->vm, &self->vcpu);
	expect_events(_metadata, self->vm_stats, READABLE);
	expect_events(_metadata, self->vcpu_stats, READABLE);
	expect_events(_metadata, other_stats, READABLE);
	close(other);
	expect_events(_metadata, self->vm_stats, READABLE | POLLHUP);
	expect_events(_metadata, self->vcpu_stats, READABLE | POLLHUP);
	expect_events(_metadata, other_stats, READABLE | POLLHUP);
	close(other_stats);
}

static void hold_until_told(struct __test_metadata *_metadata, void *sock)
{
	stats_hear(_metadata, *(int *)sock);
}

TEST_F(file, hangs_up_after_the_last_process_that_has_the_vm)
{
	int sock[2];
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	pid = stats_fork(_metadata, hold_until_told, &sock[1]);
	destroy_vm(&self->vm, &self->vcpu);
	expect_events(_metadata, self->vm_stats, READABLE);
	expect_events(_metadata, self->vcpu_stats, READABLE);
	stats_say(_metadata, sock[0]);
	stats_wait(_metadata, pid);
	expect_events(_metadata, self->vm_stats, READABLE | POLLHUP);
	expect_events(_metadata, self->vcpu_stats, READABLE | POLLHUP);
	close(sock[0]);
	close(sock[1]);
}

TEST_F(file, hangs_up_for_good_whatever_is_read)
{
	const int files[] = { self->vm_stats, self->vcpu_stats };
	struct stats_file f;
	unsigned int i;
	int copy;

	destroy_vm(&self->vm, &self->vcpu);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		copy = dup(files[i]);
		stats_load(_metadata, files[i], &f);
		expect_events(_metadata, files[i], READABLE | POLLHUP);
		expect_events(_metadata, copy, READABLE | POLLHUP);
		free(f.bytes);
		close(copy);
	}
}

TEST_F(file, of_another_vm_does_not_hang_up)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	int stats = stats_get_fd(_metadata, vm);

	close(vm);
	expect_events(_metadata, stats, READABLE | POLLHUP);
	expect_events(_metadata, self->vm_stats, READABLE);
	expect_events(_metadata, self->vcpu_stats, READABLE);
	close(stats);
}

TEST_F(file, of_a_dead_vm_still_tells_of_vcpus_that_were_not_seen)
{
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	destroy_vm(&self->vm, &self->vcpu);
	expect_events(_metadata, self->vm_stats, READABLE | POLLPRI | POLLHUP);
	read_header(_metadata, self->vm_stats);
	expect_events(_metadata, self->vm_stats, READABLE | POLLHUP);
}

/* The file tells of a new vCPU, until who has it open has read of that. */
TEST_F(file, opened_when_there_are_vcpus_already_tells_of_none)
{
	int stats;

	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	stats = stats_get_fd(_metadata, self->vm);
	expect_events(_metadata, stats, READABLE);
	add_vcpu(_metadata, self->vm, VCPU_ID + 2);
	expect_events(_metadata, stats, READABLE | POLLPRI);
	close(stats);
}

TEST_F(file, of_a_vm_without_vcpus_tells_of_the_first)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	int stats = stats_get_fd(_metadata, vm);

	expect_events(_metadata, stats, READABLE);
	add_vcpu(_metadata, vm, 0);
	expect_events(_metadata, stats, READABLE | POLLPRI);
	read_header(_metadata, stats);
	expect_events(_metadata, stats, READABLE);
	close(stats);
	close(vm);
}

TEST_F(file, of_a_vcpu_never_tells_of_vcpus)
{
	struct waiter edge;

	waiter_init(_metadata, &edge, &by_edge, self->vcpu_stats, ALL_EVENTS);
	EXPECT_EQ(READABLE, waiter_wait(&edge, 0));
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	expect_events(_metadata, self->vcpu_stats, READABLE);
	EXPECT_EQ(0, waiter_wait(&edge, 0));
	waiter_destroy(&edge);
}

TEST_F(file, does_not_tell_of_vcpus_that_could_not_be_created)
{
	const unsigned long too_high = 1UL << 30;
	struct waiter edge;

	waiter_init(_metadata, &edge, &by_edge, self->vm_stats, ALL_EVENTS);
	EXPECT_EQ(READABLE, waiter_wait(&edge, 0));
	EXPECT_EQ(STATS_KNOWN_VCPU_ID,
		  result(ioctl(self->vm, KVM_CREATE_VCPU, VCPU_ID)));
	EXPECT_EQ(-EINVAL,
		  result(ioctl(self->vm, KVM_CREATE_VCPU, too_high)));
	expect_events(_metadata, self->vm_stats, READABLE);
	EXPECT_EQ(0, waiter_wait(&edge, 0));
	waiter_destroy(&edge);
}

TEST_F(file, opened_twice_tells_each_reader)
{
	int other = stats_get_fd(_metadata, self->vm);

	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	read_header(_metadata, self->vm_stats);
	expect_events(_metadata, self->vm_stats, READABLE);
	expect_events(_metadata, other, READABLE | POLLPRI);
	read_header(_metadata, other);
	expect_events(_metadata, other, READABLE);
	close(other);
}

TEST_F(file, duplicated_is_the_same_reader)
{
	int copy = dup(self->vm_stats);

	ASSERT_LE(0, copy);
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	expect_events(_metadata, self->vm_stats, READABLE | POLLPRI);
	expect_events(_metadata, copy, READABLE | POLLPRI);
	read_header(_metadata, copy);
	expect_events(_metadata, self->vm_stats, READABLE);
	expect_events(_metadata, copy, READABLE);
	close(copy);
}

static void read_header_of(struct __test_metadata *_metadata, void *fd)
{
	expect_events(_metadata, *(int *)fd, READABLE | POLLPRI);
	read_header(_metadata, *(int *)fd);
	expect_events(_metadata, *(int *)fd, READABLE);
}

TEST_F(file, inherited_is_the_same_reader)
{
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	stats_wait(_metadata, stats_fork(_metadata, read_header_of,
					 &self->vm_stats));
	expect_events(_metadata, self->vm_stats, READABLE);
}

/* Where the vCPU ids of a VM's file end. */
static size_t ids_end_of(const struct stats_file *f)
{
	return f->ext.vcpu_id_offset + f->ext.vcpu_max * sizeof(__u32);
}

/* Reads a VM that has a vCPU more than was read of. */
struct reader {
	int vm;
	int fd;
	struct stats_file f;
	char *buffer;		/* nothing can be written behind it */
	size_t size;
	unsigned long next_id;
};

FIXTURE(read)
{
	int kvm;
	struct reader r;
};

FIXTURE_SETUP(read)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct reader *r = &self->r;

	self->kvm = stats_open_kvm(_metadata);
	r->vm = stats_create_vm(_metadata, self->kvm);
	r->fd = stats_get_fd(_metadata, r->vm);
	stats_load(_metadata, dup(r->fd), &r->f);
	ASSERT_LT(0U, r->f.ext.vcpu_max);
	r->size = (r->f.size | (page - 1)) + 1;
	r->buffer = mmap(NULL, r->size + page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, r->buffer);
	ASSERT_EQ(0, mprotect(r->buffer + r->size, page, PROT_NONE));
}

FIXTURE_TEARDOWN(read)
{
	struct reader *r = &self->r;

	munmap(r->buffer, r->size + sysconf(_SC_PAGESIZE));
	stats_unload(&r->f);
	close(r->fd);
	close(r->vm);
	close(self->kvm);
}

/* Does reading @size bytes from @offset, into memory for @room, tell? */
static void expect_read_tells(struct __test_metadata *_metadata,
			      struct reader *r, size_t offset,
			      size_t size, size_t room, bool tells)
{
	char *buffer = r->buffer + r->size - room;
	ssize_t expected = size && !room ? -EFAULT : (ssize_t)room;
	struct pollfd fd = { .fd = r->fd, .events = POLLPRI };

	ASSERT_GE(r->size, room);
	add_vcpu(_metadata, r->vm, r->next_id++);
	ASSERT_EQ(1, poll(&fd, 1, 0));
	EXPECT_EQ(expected, result(pread(r->fd, buffer, size, offset)));
	EXPECT_EQ(!tells, poll(&fd, 1, 0)) {
		TH_LOG("%zu bytes from %zu, room for %zu", size, offset, room);
	}
	read_header(_metadata, r->fd);
	EXPECT_EQ(0, poll(&fd, 1, 0));
}

static void expect_tells(struct __test_metadata *_metadata,
			 struct reader *r, size_t from, size_t to)
{
	expect_read_tells(_metadata, r, from, to - from, to - from, true);
}

static void expect_silent(struct __test_metadata *_metadata,
			  struct reader *r, size_t from, size_t to)
{
	expect_read_tells(_metadata, r, from, to - from, to - from, false);
}

TEST_F(read, of_the_header_tells_of_the_vcpus)
{
	struct reader *r = &self->r;
	const size_t end = STATS_HEADER_SIZE;

	expect_tells(_metadata, r, 0, end);
	expect_tells(_metadata, r, 0, 1);
	expect_tells(_metadata, r, end / 2, end / 2 + 1);
	expect_tells(_metadata, r, end - 1, end);
	expect_tells(_metadata, r, end - 1, end + 1);
	expect_tells(_metadata, r, 0, r->f.header.desc_offset);
}

TEST_F(read, of_the_vcpu_ids_tells_of_them)
{
	struct reader *r = &self->r;
	const size_t ids = r->f.ext.vcpu_id_offset;
	const size_t end = ids_end_of(&r->f);

	expect_tells(_metadata, r, ids, end);
	expect_tells(_metadata, r, ids, ids + 1);
	expect_tells(_metadata, r, ids, ids + sizeof(__u32));
	expect_tells(_metadata, r, end - 1, end);
	expect_tells(_metadata, r, end - 1, end + 1);
	expect_tells(_metadata, r, ids - 1, ids + 1);
	expect_tells(_metadata, r, ids - 1, end + 1);
	expect_tells(_metadata, r, r->f.ext.vcpu_desc_offset, end);
}

TEST_F(read, of_anything_else_does_not_tell_of_vcpus)
{
	struct reader *r = &self->r;
	const struct kvm_stats_header *header = &r->f.header;
	const size_t ids = r->f.ext.vcpu_id_offset;
	const size_t ids_end = ids_end_of(&r->f);

	/* The id of the VM, the extension block, each kind of descriptors. */
	expect_silent(_metadata, r, header->id_offset,
		      header->id_offset + STATS_NAME_SIZE);
	expect_silent(_metadata, r, header->id_offset + STATS_NAME_SIZE,
		      header->desc_offset);
	expect_silent(_metadata, r, header->desc_offset,
		      r->f.ext.vcpu_desc_offset);
	expect_silent(_metadata, r, r->f.ext.vcpu_desc_offset, ids);
	/* All of what is before the ids, and the zeros behind them. */
	expect_silent(_metadata, r, STATS_HEADER_SIZE, ids);
	expect_silent(_metadata, r, ids - 1, ids);
	expect_silent(_metadata, r, ids_end, ids_end + 1);
	expect_silent(_metadata, r, header->data_offset - 1,
		      header->data_offset);
	expect_silent(_metadata, r, header->data_offset - 1,
		      header->data_offset + 1);
	/* Values, among them the one that says how many vCPUs there are. */
	expect_silent(_metadata, r, header->data_offset, r->f.size);
	expect_silent(_metadata, r, header->data_offset,
		      header->data_offset + sizeof(__u64));
}

TEST_F(read, that_fails_or_is_short_tells_what_it_copied)
{
	struct reader *r = &self->r;
	const size_t ids = r->f.ext.vcpu_id_offset;

	expect_read_tells(_metadata, r, 0, 1, 0, false);
	expect_read_tells(_metadata, r, 0, STATS_HEADER_SIZE, 0, false);
	expect_read_tells(_metadata, r, 0, STATS_HEADER_SIZE, 1, true);
	expect_read_tells(_metadata, r, ids, 4, 0, false);
	expect_read_tells(_metadata, r, ids, 4, 1, true);
	expect_read_tells(_metadata, r, ids - 16, 32, 16, false);
	expect_read_tells(_metadata, r, ids - 16, 32, 17, true);
}

TEST_F(read, of_nothing_does_not_tell_of_vcpus)
{
	struct reader *r = &self->r;

	expect_silent(_metadata, r, 0, 0);
	expect_silent(_metadata, r, r->f.ext.vcpu_id_offset,
		      r->f.ext.vcpu_id_offset);
	/* The end of the file. */
	expect_read_tells(_metadata, r, r->f.size, 0, 0, false);
}

/* Whatever system call brings the bytes. */
static void expect_call_tells(struct __test_metadata *_metadata,
			      struct reader *r, ssize_t ret)
{
	struct pollfd fd = { .fd = r->fd, .events = POLLPRI };

	EXPECT_LT(0, ret);
	EXPECT_EQ(0, poll(&fd, 1, 0));
	add_vcpu(_metadata, r->vm, r->next_id++);
	EXPECT_EQ(1, poll(&fd, 1, 0));
}

TEST_F(read, by_any_system_call_tells)
{
	struct reader *r = &self->r;
	char bytes[8];
	struct iovec iov[2] = {
		{ .iov_base = bytes, .iov_len = 1 },
		{ .iov_base = bytes, .iov_len = sizeof(bytes) },
	};
	const off_t ids = r->f.ext.vcpu_id_offset;

	add_vcpu(_metadata, r->vm, r->next_id++);
	expect_call_tells(_metadata, r, read(r->fd, bytes, 1));
	ASSERT_EQ(0, lseek(r->fd, 0, SEEK_SET));
	expect_call_tells(_metadata, r, readv(r->fd, iov, 2));
	expect_call_tells(_metadata, r, pread(r->fd, bytes, 1, ids));
	/* The second part of it has the first id. */
	expect_call_tells(_metadata, r, preadv(r->fd, iov, 2, ids - 1));
	ASSERT_EQ(ids, lseek(r->fd, ids, SEEK_SET));
	expect_call_tells(_metadata, r, read(r->fd, bytes, 4));
}

TEST_F(read, is_what_tells_and_no_other_system_call)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct reader *r = &self->r;
	struct pollfd fd = { .fd = r->fd, .events = POLLPRI };
	char line[STATS_LINE_SIZE];
	void *data;
	struct stat st;

	add_vcpu(_metadata, r->vm, r->next_id++);
	ASSERT_EQ(0, lseek(r->fd, 0, SEEK_SET));
	ASSERT_EQ(0, fstat(r->fd, &st));
	ASSERT_EQ(1, stats_fdinfo(_metadata, r->fd, "id", line));
	data = mmap(NULL, page, PROT_READ, MAP_SHARED, r->fd,
		    r->f.header.data_offset);
	ASSERT_NE(MAP_FAILED, data);
	memcpy(r->buffer, data, page);
	EXPECT_EQ(1, poll(&fd, 1, 0));
	ASSERT_EQ(0, munmap(data, page));
	EXPECT_EQ(1, poll(&fd, 1, 0));
}

/* Sets that are there before the events are. */
TEST_F(file, in_a_level_triggered_set_is_told_until_it_is_read)
{
	struct waiter w;
	int i;

	waiter_init(_metadata, &w, &by_epoll, self->vm_stats, POLLPRI);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	/* A worker of the kernel tells the set, poll() knows at once. */
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(POLLPRI, waiter_wait(&w, LOST_MS));
	read_header(_metadata, self->vm_stats);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	add_vcpu(_metadata, self->vm, VCPU_ID + 2);
	EXPECT_EQ(POLLPRI, waiter_wait(&w, LOST_MS));
	destroy_vm(&self->vm, &self->vcpu);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(POLLPRI | POLLHUP, waiter_wait(&w, LOST_MS));
	read_header(_metadata, self->vm_stats);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(POLLHUP, waiter_wait(&w, 0));
	waiter_destroy(&w);
}

TEST_F(file, in_an_edge_triggered_set_is_told_once_for_each_addition)
{
	struct waiter w;
	int i;

	waiter_init(_metadata, &w, &by_edge, self->vm_stats, POLLPRI);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	/* Whether it is read in between or not. */
	for (i = 1; i <= 4; i++) {
		add_vcpu(_metadata, self->vm, VCPU_ID + i);
		EXPECT_EQ(POLLPRI, waiter_wait(&w, LOST_MS)) TH_LOG("vCPU %d", i);
		EXPECT_EQ(0, waiter_wait(&w, 0)) TH_LOG("vCPU %d", i);
		if (i % 2)
			read_header(_metadata, self->vm_stats);
		EXPECT_EQ(0, waiter_wait(&w, 0)) TH_LOG("vCPU %d", i);
	}
	waiter_destroy(&w);
}

/* Legal: once for all of them, or up to once for each. */
TEST_F(file, in_an_edge_triggered_set_is_told_of_several_additions)
{
	struct waiter w;
	int i, told;

	waiter_init(_metadata, &w, &by_edge, self->vm_stats, POLLPRI);
	for (i = 1; i <= 4; i++)
		add_vcpu(_metadata, self->vm, VCPU_ID + i);
	EXPECT_EQ(POLLPRI, waiter_wait(&w, LOST_MS));
	for (told = 1; waiter_wait(&w, 1); told++)
		EXPECT_GT(4, told);
	/* An addition that was read of before one looks is none. */
	add_vcpu(_metadata, self->vm, VCPU_ID + i);
	read_header(_metadata, self->vm_stats);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	waiter_destroy(&w);
}

TEST_F(file, in_an_edge_triggered_set_is_told_once_of_the_end)
{
	struct waiter vm, vcpu;

	waiter_init(_metadata, &vm, &by_edge, self->vm_stats, POLLIN);
	waiter_init(_metadata, &vcpu, &by_edge, self->vcpu_stats, POLLIN);
	EXPECT_EQ(POLLIN, waiter_wait(&vm, 0));
	EXPECT_EQ(POLLIN, waiter_wait(&vcpu, 0));
	EXPECT_EQ(0, waiter_wait(&vm, 0));
	EXPECT_EQ(0, waiter_wait(&vcpu, 0));
	close(self->vm);
	self->vm = -1;
	EXPECT_EQ(0, waiter_wait(&vm, 0));
	EXPECT_EQ(0, waiter_wait(&vcpu, 0));
	destroy_vm(&self->vm, &self->vcpu);
	EXPECT_EQ(POLLIN | POLLHUP, waiter_wait(&vm, LOST_MS));
	EXPECT_EQ(POLLIN | POLLHUP, waiter_wait(&vcpu, LOST_MS));
	EXPECT_EQ(0, waiter_wait(&vm, 0));
	EXPECT_EQ(0, waiter_wait(&vcpu, 0));
	waiter_destroy(&vm);
	waiter_destroy(&vcpu);
}

/* New values are no event, there would be too many of them. */
TEST_F(file, in_an_edge_triggered_set_is_not_told_of_values)
{
	struct waiter w;

	waiter_init(_metadata, &w, &by_edge, self->vm_stats, READABLE);
	EXPECT_EQ(READABLE, waiter_wait(&w, 0));
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	waiter_destroy(&w);
}

TEST_F(file, in_a_oneshot_set_is_told_once_each_time_that_one_asks)
{
	struct waiter w;

	waiter_init(_metadata, &w, &by_oneshot, self->vm_stats, POLLPRI);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	EXPECT_EQ(POLLPRI, waiter_wait(&w, LOST_MS));
	add_vcpu(_metadata, self->vm, VCPU_ID + 2);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	waiter_rearm(&w);
	EXPECT_EQ(POLLPRI, waiter_wait(&w, 0));
	read_header(_metadata, self->vm_stats);
	waiter_rearm(&w);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	add_vcpu(_metadata, self->vm, VCPU_ID + 3);
	EXPECT_EQ(POLLPRI, waiter_wait(&w, LOST_MS));
	destroy_vm(&self->vm, &self->vcpu);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	waiter_rearm(&w);
	EXPECT_EQ(POLLPRI | POLLHUP, waiter_wait(&w, 0));
	EXPECT_EQ(0, waiter_wait(&w, 0));
	waiter_destroy(&w);
}

TEST_F(file, that_is_closed_leaves_its_sets)
{
	struct waiter level, edge;
	int copy = dup(self->vm_stats);

	waiter_init(_metadata, &level, &by_epoll, copy, ALL_EVENTS);
	waiter_init(_metadata, &edge, &by_edge, copy, ALL_EVENTS);
	close(copy);
	EXPECT_EQ(READABLE, waiter_wait(&level, 0));
	EXPECT_EQ(READABLE, waiter_wait(&edge, 0));
	add_vcpu(_metadata, self->vm, VCPU_ID + 1);
	EXPECT_EQ(READABLE | POLLPRI, waiter_wait(&level, 0));
	/* Now the last one of this open file. */
	close(self->vm_stats);
	self->vm_stats = -1;
	EXPECT_EQ(0, waiter_wait(&level, 0));
	EXPECT_EQ(0, waiter_wait(&edge, 0));
	destroy_vm(&self->vm, &self->vcpu);
	EXPECT_EQ(0, waiter_wait(&level, 0));
	EXPECT_EQ(0, waiter_wait(&edge, 0));
	waiter_destroy(&level);
	waiter_destroy(&edge);
}

TEST_F(file, leaves_the_set_that_it_is_removed_from)
{
	struct waiter w;

	waiter_init(_metadata, &w, &by_epoll, self->vm_stats, ALL_EVENTS);
	EXPECT_EQ(READABLE, waiter_wait(&w, 0));
	ASSERT_EQ(0, epoll_ctl(w.epoll, EPOLL_CTL_DEL, w.fd, NULL));
	destroy_vm(&self->vm, &self->vcpu);
	EXPECT_EQ(0, waiter_wait(&w, 0));
	waiter_destroy(&w);
}

/*
 * A number that a thread waits for until another one has written it. Sleepers
 * are woken at each change; who waits for too long is told so.
 */
static void number_set(int *number, int value)
{
	__atomic_store_n(number, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, number, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool number_wait(int *number, int least)
{
	struct timespec timeout = timespec_of(LOST_MS);
	int value;

	for (;;) {
		value = __atomic_load_n(number, __ATOMIC_ACQUIRE);
		if (value >= least)
			return true;
		if (syscall(SYS_futex, number, FUTEX_WAIT_PRIVATE, value,
			    &timeout, NULL, 0) < 0 && errno == ETIMEDOUT)
			return false;
	}
}

/* A thread that waits in one way for one event. */
struct sleeper {
	struct waiter w;
	pthread_t thread;
	int tid;
	long events;
};

static void *sleeper_thread(void *arg)
{
	struct sleeper *s = arg;

	number_set(&s->tid, stats_tid());
	s->events = waiter_wait(&s->w, LOST_MS);
	return NULL;
}

/* The state of a thread of any process, as /proc calls it. */
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

/* What a sleeper does between its last word and its sleep does not sleep. */
static void expect_asleep(struct __test_metadata *_metadata, int tid)
{
	int i;

	for (i = 0; i < MAX_LOOKS; i++) {
		if (thread_state(_metadata, tid) == 'S')
			return;
		sched_yield();
	}
	EXPECT_EQ('S', thread_state(_metadata, tid));
}

static void sleeper_start(struct __test_metadata *_metadata, struct sleeper *s,
			  const struct way *way, int fd, __u32 events)
{
	s->tid = 0;
	waiter_init(_metadata, &s->w, way, fd, events);
	ASSERT_EQ(0, pthread_create(&s->thread, NULL, sleeper_thread, s));
	ASSERT_TRUE(number_wait(&s->tid, 1));
	expect_asleep(_metadata, s->tid);
}

static long sleeper_join(struct __test_metadata *_metadata, struct sleeper *s)
{
	ASSERT_EQ(0, pthread_join(s->thread, NULL));
	waiter_destroy(&s->w);
	return s->events;
}

/*
 * Wake a sleeper who is not to be woken by what it sleeps for: fails if it has
 * not slept until now.
 */
static void sleeper_signalled(int sig)
{
}

static void sleeper_interrupt(struct __test_metadata *_metadata,
			      struct sleeper *s)
{
	struct sigaction action = { .sa_handler = sleeper_signalled };

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, pthread_kill(s->thread, SIGUSR1));
	EXPECT_EQ(-EINTR, sleeper_join(_metadata, s));
}

/* The VMM is another process, and the test gets the files. */
struct vmm {
	pid_t pid;
	int sock;
	int other_sock;
	int vm_stats;
	int vcpu_stats;
};

static void vmm_main(struct __test_metadata *_metadata, void *arg)
{
	struct vmm *vmm = arg;
	int kvm, vm, vcpu;

	close(vmm->sock);
	kvm = stats_open_kvm(_metadata);
	vm = stats_create_vm(_metadata, kvm);
	vcpu = stats_create_vcpu(_metadata, vm, VCPU_ID);
	ASSERT_EQ(0, stats_send_fd(vmm->other_sock,
				   stats_get_fd(_metadata, vm)));
	ASSERT_EQ(0, stats_send_fd(vmm->other_sock,
				   stats_get_fd(_metadata, vcpu)));
	stats_hear(_metadata, vmm->other_sock);
	add_vcpu(_metadata, vm, VCPU_ID + 1);
	stats_say(_metadata, vmm->other_sock);
	stats_hear(_metadata, vmm->other_sock);
}

static void vmm_start(struct __test_metadata *_metadata, struct vmm *vmm)
{
	int sock[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	vmm->sock = sock[0];
	vmm->other_sock = sock[1];
	vmm->pid = stats_fork(_metadata, vmm_main, vmm);
	close(vmm->other_sock);
	vmm->vm_stats = stats_recv_fd(vmm->sock);
	ASSERT_LE(0, vmm->vm_stats);
	vmm->vcpu_stats = stats_recv_fd(vmm->sock);
	ASSERT_LE(0, vmm->vcpu_stats);
}

static void vmm_kill(struct __test_metadata *_metadata, struct vmm *vmm)
{
	ASSERT_EQ(0, kill(vmm->pid, SIGKILL));
	ASSERT_EQ(vmm->pid, waitpid(vmm->pid, NULL, 0));
}

static void vmm_destroy(struct vmm *vmm)
{
	close(vmm->sock);
	close(vmm->vm_stats);
	close(vmm->vcpu_stats);
}

/* Of those who are asleep when a VM ends. */
FIXTURE(end)
{
	int kvm;
};

FIXTURE_VARIANT(end)
{
	const struct way *way;
};

FIXTURE_VARIANT_ADD(end, by_poll) { .way = &by_poll };
FIXTURE_VARIANT_ADD(end, by_ppoll) { .way = &by_ppoll };
FIXTURE_VARIANT_ADD(end, by_epoll) { .way = &by_epoll };
FIXTURE_VARIANT_ADD(end, by_edge) { .way = &by_edge };
FIXTURE_VARIANT_ADD(end, by_oneshot) { .way = &by_oneshot };
FIXTURE_VARIANT_ADD(end, by_edge_oneshot) { .way = &by_edge_oneshot };
FIXTURE_VARIANT_ADD(end, by_exclusive) { .way = &by_exclusive };
FIXTURE_VARIANT_ADD(end, by_exclusive_edge) { .way = &by_exclusive_edge };
FIXTURE_VARIANT_ADD(end, by_outer_epoll) { .way = &by_outer_epoll };
FIXTURE_VARIANT_ADD(end, by_outer_edge) { .way = &by_outer_edge };
FIXTURE_VARIANT_ADD(end, by_poll_of_epoll) { .way = &by_poll_of_epoll };

FIXTURE_SETUP(end)
{
	self->kvm = stats_open_kvm(_metadata);
}

FIXTURE_TEARDOWN(end)
{
	close(self->kvm);
}

/* It is the last one that wakes, of all that hold the VM. */
TEST_F(end, wakes_those_who_wait_for_nothing_else)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	int vcpu = stats_create_vcpu(_metadata, vm, VCPU_ID);
	int vm_stats = stats_get_fd(_metadata, vm);
	int vcpu_stats = stats_get_fd(_metadata, vcpu);
	struct sleeper on_vm, on_vcpu;

	sleeper_start(_metadata, &on_vm, variant->way, vm_stats, 0);
	sleeper_start(_metadata, &on_vcpu, variant->way, vcpu_stats, 0);
	add_vcpu(_metadata, vm, VCPU_ID + 1);
	close(vm);
	expect_asleep(_metadata, on_vm.tid);
	expect_asleep(_metadata, on_vcpu.tid);
	close(vcpu);
	EXPECT_EQ(POLLHUP, sleeper_join(_metadata, &on_vm));
	EXPECT_EQ(POLLHUP, sleeper_join(_metadata, &on_vcpu));
	close(vm_stats);
	close(vcpu_stats);
}

/* Neither a new vCPU nor the end of another VM. */
TEST_F(end, is_all_that_wakes_them)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	int other = stats_create_vm(_metadata, self->kvm);
	int stats = stats_get_fd(_metadata, vm);
	struct sleeper s;

	sleeper_start(_metadata, &s, variant->way, stats, 0);
	add_vcpu(_metadata, vm, VCPU_ID);
	close(other);
	sleeper_interrupt(_metadata, &s);
	close(vm);
	close(stats);
}

TEST_F(end, by_a_kill_of_the_vmm_wakes_those_of_other_processes)
{
	struct sleeper on_vm, on_vcpu;
	struct vmm vmm;

	vmm_start(_metadata, &vmm);
	sleeper_start(_metadata, &on_vm, variant->way, vmm.vm_stats, 0);
	sleeper_start(_metadata, &on_vcpu, variant->way, vmm.vcpu_stats, 0);
	vmm_kill(_metadata, &vmm);
	EXPECT_EQ(POLLHUP, sleeper_join(_metadata, &on_vm));
	EXPECT_EQ(POLLHUP, sleeper_join(_metadata, &on_vcpu));
	vmm_destroy(&vmm);
}

/*
 * Who sleeps in poll() holds the file, and finds on waking that its number is no
 * longer one. Who sleeps in epoll_wait() does not hold it.
 */
TEST_F(end, of_a_file_that_was_closed_wakes_those_who_hold_it)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	int stats = stats_get_fd(_metadata, vm);
	struct sleeper s;

	sleeper_start(_metadata, &s, variant->way, stats, 0);
	close(stats);
	expect_asleep(_metadata, s.tid);
	close(vm);
	if (variant->way->epoll)
		sleeper_interrupt(_metadata, &s);
	else
		EXPECT_EQ(POLLNVAL, sleeper_join(_metadata, &s));
}

#define SLEEPERS		4

/*
 * Those of one open file, and those who have one each. EPOLLEXCLUSIVE is for work
 * that is there once; the end of a VM is news for all.
 */
TEST_F(end, wakes_all_who_wait)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	struct sleeper s[SLEEPERS];
	int fd[SLEEPERS], i;

	for (i = 0; i < SLEEPERS; i++) {
		fd[i] = i % 2 ? dup(fd[i - 1]) : stats_get_fd(_metadata, vm);
		sleeper_start(_metadata, &s[i], variant->way, fd[i], 0);
	}
	close(vm);
	for (i = 0; i < SLEEPERS; i++) {
		EXPECT_EQ(POLLHUP, sleeper_join(_metadata, &s[i])) {
			TH_LOG("sleeper %d", i);
		}
		close(fd[i]);
	}
}

/* Of those who are asleep when a VM gets a vCPU. */
FIXTURE(new_vcpu)
{
	int kvm;
};

FIXTURE_VARIANT(new_vcpu)
{
	const struct way *way;
};

FIXTURE_VARIANT_ADD(new_vcpu, by_poll) { .way = &by_poll };
FIXTURE_VARIANT_ADD(new_vcpu, by_ppoll) { .way = &by_ppoll };
FIXTURE_VARIANT_ADD(new_vcpu, by_select) { .way = &by_select };
FIXTURE_VARIANT_ADD(new_vcpu, by_epoll) { .way = &by_epoll };
FIXTURE_VARIANT_ADD(new_vcpu, by_edge) { .way = &by_edge };
FIXTURE_VARIANT_ADD(new_vcpu, by_oneshot) { .way = &by_oneshot };
FIXTURE_VARIANT_ADD(new_vcpu, by_edge_oneshot) { .way = &by_edge_oneshot };
FIXTURE_VARIANT_ADD(new_vcpu, by_outer_epoll) { .way = &by_outer_epoll };
FIXTURE_VARIANT_ADD(new_vcpu, by_outer_edge) { .way = &by_outer_edge };
FIXTURE_VARIANT_ADD(new_vcpu, by_poll_of_epoll) { .way = &by_poll_of_epoll };

FIXTURE_SETUP(new_vcpu)
{
	self->kvm = stats_open_kvm(_metadata);
}

FIXTURE_TEARDOWN(new_vcpu)
{
	close(self->kvm);
}

TEST_F(new_vcpu, wakes_those_who_wait_for_it)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	int stats = stats_get_fd(_metadata, vm);
	struct sleeper s;
	int i;

	for (i = 0; i < 3; i++) {
		sleeper_start(_metadata, &s, variant->way, stats, POLLPRI);
		add_vcpu(_metadata, vm, i);
		EXPECT_EQ(POLLPRI, sleeper_join(_metadata, &s));
		read_header(_metadata, stats);
	}
	close(stats);
	close(vm);
}

TEST_F(new_vcpu, of_another_process_wakes_those_who_wait_for_it)
{
	struct sleeper s;
	struct vmm vmm;

	vmm_start(_metadata, &vmm);
	sleeper_start(_metadata, &s, variant->way, vmm.vm_stats, POLLPRI);
	stats_say(_metadata, vmm.sock);
	EXPECT_EQ(POLLPRI, sleeper_join(_metadata, &s));
	vmm_kill(_metadata, &vmm);
	vmm_destroy(&vmm);
}

TEST_F(new_vcpu, wakes_no_one_on_the_file_of_a_vcpu)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	int vcpu = stats_create_vcpu(_metadata, vm, VCPU_ID);
	int stats = stats_get_fd(_metadata, vcpu);
	struct sleeper s;

	sleeper_start(_metadata, &s, variant->way, stats, POLLPRI);
	add_vcpu(_metadata, vm, VCPU_ID + 1);
	sleeper_interrupt(_metadata, &s);
	close(stats);
	close(vcpu);
	close(vm);
}

TEST_F(new_vcpu, that_could_not_be_created_wakes_no_one)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	int stats = stats_get_fd(_metadata, vm);
	struct sleeper s;

	add_vcpu(_metadata, vm, VCPU_ID);
	read_header(_metadata, stats);
	sleeper_start(_metadata, &s, variant->way, stats, POLLPRI);
	EXPECT_EQ(STATS_KNOWN_VCPU_ID, result(ioctl(vm, KVM_CREATE_VCPU, VCPU_ID)));
	sleeper_interrupt(_metadata, &s);
	close(stats);
	close(vm);
}

/*
 * Processes that have the same open file in sets of their own, and in one that
 * all of them have: each one in its own hears of everything, while what is
 * level-triggered in the common set is heard by all as well. The sets hear of it
 * one after the other, and who is woken by the first can be faster than the next.
 */
#define PROCESSES		4

struct shared {
	int vm;
	int fd;
	int epoll;
	int ready;		/* the end of a pipe that they write to */
};

static void wait_in_process(struct __test_metadata *_metadata, int nr,
			    void *arg)
{
	struct shared *shared = arg;
	struct waiter level, edge, common = {
		.way = &by_epoll,
		.epoll = shared->epoll,
	};

	waiter_init(_metadata, &level, &by_epoll, shared->fd, POLLPRI);
	waiter_init(_metadata, &edge, &by_edge, shared->fd, POLLPRI);
	stats_say(_metadata, shared->ready);
	EXPECT_EQ(POLLPRI, waiter_wait(&edge, LOST_MS));
	EXPECT_EQ(POLLPRI, waiter_wait(&level, LOST_MS));
	EXPECT_EQ(POLLPRI, waiter_wait(&common, LOST_MS));
	stats_say(_metadata, shared->ready);
	EXPECT_EQ(POLLPRI | POLLHUP, waiter_wait(&edge, LOST_MS));
	EXPECT_EQ(POLLPRI | POLLHUP, waiter_wait(&level, LOST_MS));
	EXPECT_EQ(POLLPRI | POLLHUP, waiter_wait(&common, LOST_MS));
	EXPECT_EQ(0, waiter_wait(&edge, 0));
	waiter_destroy(&level);
	waiter_destroy(&edge);
}

static void shared_main(struct __test_metadata *_metadata, void *arg)
{
	struct shared *shared = arg;

	close(shared->vm);
	stats_in_children(_metadata, PROCESSES, wait_in_process, arg);
}

TEST(several_processes_are_told_with_sets_of_one_open_file)
{
	int kvm = stats_open_kvm(_metadata);
	struct shared shared;
	int ready[2], i;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	shared.ready = ready[1];
	shared.vm = stats_create_vm(_metadata, kvm);
	shared.fd = stats_get_fd(_metadata, shared.vm);
	shared.epoll = epoll_create_set(_metadata);
	epoll_add(_metadata, shared.epoll, shared.fd, POLLPRI);
	pid = stats_fork(_metadata, shared_main, &shared);
	for (i = 0; i < PROCESSES; i++)
		stats_hear(_metadata, ready[0]);
	add_vcpu(_metadata, shared.vm, VCPU_ID);
	for (i = 0; i < PROCESSES; i++)
		stats_hear(_metadata, ready[0]);
	close(shared.vm);
	stats_wait(_metadata, pid);
	close(shared.epoll);
	close(shared.fd);
	close(ready[0]);
	close(ready[1]);
	close(kvm);
}

/*
 * VMs come, grow and go, while threads follow each of them in every way: each of
 * them has to be told of all vCPUs, and after that of the end.
 */
struct follower {
	struct waiter w;
	pthread_t thread;
	size_t ids;		/* their offset in the file */
	int vcpus;		/* that it knows of */
	long last;		/* what it was told at last */
};

#define VM_VCPUS		6
#define FOLLOWED_VMS		16
#define FOLLOWING_PROCESSES	3

static const struct way * const growth_ways[] = {
	&by_poll, &by_ppoll, &by_select, &by_epoll, &by_edge, &by_oneshot,
	&by_edge_oneshot, &by_outer_epoll, &by_outer_edge, &by_poll_of_epoll,
};

static const struct way * const end_ways[] = {
	&by_poll, &by_ppoll, &by_epoll, &by_edge, &by_oneshot, &by_exclusive,
	&by_exclusive_edge, &by_exclusive, &by_outer_epoll, &by_outer_edge,
	&by_poll_of_epoll,
};

struct followed {
	int vm;
	int vcpu;
	struct follower growth[ARRAY_SIZE(growth_ways)];
	struct follower vm_end[ARRAY_SIZE(end_ways)];
	struct follower vcpu_end[ARRAY_SIZE(end_ways)];
};

/* Ids begin with 1 here, 0 is none. */
static int count_ids(const struct follower *f)
{
	__u32 id[VM_VCPUS];
	int count = 0;

	if (pread(f->w.fd, id, sizeof(id), f->ids) != sizeof(id))
		return 0;
	while (count < VM_VCPUS && id[count])
		count++;
	return count;
}

static void *follower_thread(void *arg)
{
	struct follower *f = arg;
	bool told_of_end = f->w.way != &by_select;

	do {
		f->last = waiter_wait(&f->w, LOST_MS);
		if (f->last <= 0)
			break;
		if (f->last & POLLPRI)
			number_set(&f->vcpus, count_ids(f));
		waiter_rearm(&f->w);
	} while (told_of_end ? !(f->last & POLLHUP) : f->vcpus < VM_VCPUS);
	return NULL;
}

/* Each of them opens its file, for what is read of is kept by open file. */
static void follow(struct __test_metadata *_metadata, struct follower *f,
		   const struct way * const *ways, int count, int fd,
		   __u32 events, size_t ids)
{
	int i;

	for (i = 0; i < count; i++) {
		waiter_init(_metadata, &f[i].w, ways[i],
			    stats_get_fd(_metadata, fd), events);
		f[i].ids = ids;
		f[i].vcpus = 0;
		ASSERT_EQ(0, pthread_create(&f[i].thread, NULL,
					    follower_thread, &f[i]));
	}
}

static void expect_told_of_end(struct __test_metadata *_metadata,
			       struct follower *f, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		ASSERT_EQ(0, pthread_join(f[i].thread, NULL));
		if (f[i].w.way != &by_select)
			EXPECT_LT(0, f[i].last & POLLHUP) {
				TH_LOG("follower %d was told %ld", i,
				       f[i].last);
			}
		close(f[i].w.fd);
		waiter_destroy(&f[i].w);
	}
}

/* A process that polls until it is killed, whatever happens at that time. */
static pid_t start_poller(struct __test_metadata *_metadata,
			  const struct followed *vm)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(vm->vm);
		close(vm->vcpu);
		for (;;)
			waiter_wait(&vm->growth[0].w, LOST_MS);
	}
	return pid;
}

static void live_and_be_followed(struct __test_metadata *_metadata, int kvm,
				 size_t ids)
{
	struct followed vm;
	unsigned int i;
	pid_t pid;

	vm.vm = stats_create_vm(_metadata, kvm);
	follow(_metadata, vm.growth, growth_ways, ARRAY_SIZE(growth_ways),
	       vm.vm, POLLPRI, ids);
	follow(_metadata, vm.vm_end, end_ways, ARRAY_SIZE(end_ways), vm.vm, 0,
	       ids);
	vm.vcpu = stats_create_vcpu(_metadata, vm.vm, 1);
	follow(_metadata, vm.vcpu_end, end_ways, ARRAY_SIZE(end_ways), vm.vcpu,
	       0, ids);
	pid = start_poller(_metadata, &vm);
	for (i = 2; i <= VM_VCPUS; i++)
		add_vcpu(_metadata, vm.vm, i);
	for (i = 0; i < ARRAY_SIZE(growth_ways); i++) {
		ASSERT_TRUE(number_wait(&vm.growth[i].vcpus, VM_VCPUS)) {
			TH_LOG("follower %u knows of %d vCPUs", i,
			       vm.growth[i].vcpus);
		}
	}
	ASSERT_EQ(0, kill(pid, SIGKILL));
	close(vm.vm);
	close(vm.vcpu);
	expect_told_of_end(_metadata, vm.growth, ARRAY_SIZE(growth_ways));
	expect_told_of_end(_metadata, vm.vm_end, ARRAY_SIZE(end_ways));
	expect_told_of_end(_metadata, vm.vcpu_end, ARRAY_SIZE(end_ways));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
}

static void live_often(struct __test_metadata *_metadata, int nr, void *arg)
{
	int kvm = stats_open_kvm(_metadata);
	int i;

	for (i = 0; i < FOLLOWED_VMS; i++)
		live_and_be_followed(_metadata, kvm, *(size_t *)arg);
	close(kvm);
}

TEST(vms_that_come_and_go_tell_all_their_followers)
{
	int kvm = stats_open_kvm(_metadata);
	int vm = stats_create_vm(_metadata, kvm);
	int fd = stats_get_fd(_metadata, vm);
	struct stats_file f;
	size_t ids;

	stats_load(_metadata, fd, &f);
	ids = f.ext.vcpu_id_offset;
	stats_unload(&f);
	close(vm);
	close(kvm);
	stats_in_children(_metadata, FOLLOWING_PROCESSES, live_often, &ids);
}

TEST_HARNESS_MAIN
