// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics files can be opened and read without waiting for a vCPU, whatever it does
 * inside KVM_RUN: a monitor must not hang with a VM that hangs.
 */
#define _GNU_SOURCE
#include <poll.h>

#include "../kselftest_harness.h"
#include "stats_fd_sleep.h"
#include "stats_fd_userfault.h"

/* The time to open, read and close a file: the median of so many attempts. */
#define ATTEMPTS		101
#define MEDIAN_NS		(10 * 1000 * 1000)

/* On a busy machine, an attempt that does not wait takes less. */
#define NOT_WAITING_SECONDS	5

#define EXITS			100

/* A VM whose vCPU is inside KVM_RUN. */
FIXTURE(busy)
{
	struct guest guest;
	struct guest_vcpu *vcpu;
	struct stats_file vm;
	struct runner runner;
	struct userfault userfault;
};

FIXTURE_VARIANT(busy)
{
	void (*start)(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self);
	void (*stop)(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self);
	bool irqchip;
};

static void stop(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self)
{
	runner_stop(_metadata, &self->runner);
}

static void start_exiting(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self)
{
	runner_start(_metadata, &self->runner, self->vcpu, UINT_MAX, EXITS);
}

FIXTURE_VARIANT_ADD(busy, vcpu_that_exits_all_the_time) { .start = start_exiting, .stop = stop };

static void start_in_guest(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self)
{
	runner_start(_metadata, &self->runner, self->vcpu, EXITS, EXITS);
}

FIXTURE_VARIANT_ADD(busy, vcpu_that_never_leaves_the_guest)
{
	.start = start_in_guest,
	.stop = stop,
};

static void start_sleeping(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self)
{
	guest_start(_metadata, &self->guest, stats_sleep, stats_sleep_end, 0);
	runner_sleep(_metadata, &self->runner, self->vcpu);
}

static void stop_sleeping(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self)
{
	EXPECT_EQ(1UL, vcpu_read(_metadata, self->vcpu, "blocking"));
	runner_wake(_metadata, &self->runner, self->guest.vm);
}

FIXTURE_VARIANT_ADD(busy, vcpu_that_sleeps)
{
	.start = start_sleeping,
	.stop = stop_sleeping,
	.irqchip = true,
};

static void start_stuck(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self)
{
	userfault_create(_metadata, &self->guest, &self->userfault);
	guest_start(_metadata, &self->guest, stats_touch, stats_touch_end, 1);
	runner_create(_metadata, &self->runner, self->vcpu);
	userfault_wait(_metadata, &self->userfault);
}

static void stop_stuck(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self)
{
	EXPECT_FALSE(runner_returned(&self->runner));
	userfault_resolve(_metadata, &self->guest, &self->userfault);
	runner_join(_metadata, &self->runner);
}

FIXTURE_VARIANT_ADD(busy, vcpu_that_is_stuck_in_a_fault)
{
	.start = start_stuck,
	.stop = stop_stuck,
};

FIXTURE_SETUP(busy)
{
	self->guest.irqchip = variant->irqchip;
	guest_create(_metadata, &self->guest, 1);
	self->vcpu = &self->guest.vcpu[0];
	stats_load(_metadata, stats_get_fd(_metadata, self->guest.vm), &self->vm);
	variant->start(_metadata, self);
}

FIXTURE_TEARDOWN(busy) { }

/* A VM or vCPU, and its file */
struct source {
	int fd;
	const struct stats_file *file;
};

/* Open a file, read its data and close it. */
static int get_and_read(const struct source *s)
{
	const struct stats_file *f = s->file;
	char data[8192];
	ssize_t ret;
	int fd;

	if (f->data_size > sizeof(data))
		return -E2BIG;
	fd = result(ioctl(s->fd, KVM_GET_STATS_FD, 0));
	if (fd < 0)
		return fd;
	ret = result(pread(fd, data, f->data_size, f->header.data_offset));
	close(fd);
	if (ret < 0)
		return ret;
	return (size_t)ret == f->data_size ? 0 : -ENODATA;
}

static int compare_ns(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * A kernel with KASAN or KCSAN is slower. Check for it only if needed, because the check
 * itself takes long.
 */
static bool takes_too_long(__u64 ns)
{
	return ns >= MEDIAN_NS &&
	       (ns >= 20ULL * MEDIAN_NS ||
		!(stats_kernel_has("kasan_report") || stats_kernel_has("__tsan_init")));
}

/*
 * Return 0, a negative errno, or -ETIME if most attempts take too long. If one waits for good,
 * SIGALRM ends the process.
 */
static int measure(const struct source *s)
{
	__u64 ns[ATTEMPTS];
	int i, ret;

	for (i = 0; i < ATTEMPTS; i++) {
		alarm(NOT_WAITING_SECONDS);
		ns[i] = stats_now_ns();
		ret = get_and_read(s);
		ns[i] = stats_now_ns() - ns[i];
		if (ret)
			return ret;
	}
	alarm(0);
	qsort(ns, ATTEMPTS, sizeof(ns[0]), compare_ns);
	return takes_too_long(ns[ATTEMPTS / 2]) ? -ETIME : 0;
}

static int measure_in_child(void *arg)
{
	return measure(arg);
}

TEST_F(busy, file_is_opened_and_read_at_once_by_two_processes)
{
	struct source vcpu = { self->vcpu->fd, &self->vcpu->file };
	struct source vm = { self->guest.vm, &self->vm };

	EXPECT_EQ(0, measure(&vcpu));
	EXPECT_EQ(0, measure(&vm));
	EXPECT_EQ(0, stats_in_child(_metadata, measure_in_child, &vcpu));
	EXPECT_EQ(0, stats_in_child(_metadata, measure_in_child, &vm));
	variant->stop(_metadata, self);
}

TEST_HARNESS_MAIN
