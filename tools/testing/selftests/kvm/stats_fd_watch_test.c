// SPDX-License-Identifier: GPL-2.0-only
/*
 * Triggers of KVM's statistics files: an event for growth by the threshold and none
 * for one less, of what is watched and of nothing else, and whoever waits learns of
 * the end of the VM. No case depends on how soon a trigger looks at what has grown,
 * but for those that say so.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <poll.h>
#include <sys/resource.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_memory.h"
#include "stats_fd_watch.h"

/* An event that is not there after so many milliseconds is lost. */
#define LOST_MS			(120 * 1000)

#define MSEC_NS			1000000ULL
#define SHORT_NS		(500 * MSEC_NS)
#define LONG_NS			(10000 * MSEC_NS)

/* What vCPUs grow by, and the threshold. Even: some grow by half of it. */
#define N			20

/* Looks of a trigger per window. */
#define LOOKS			8

#define VCPUS			3

/* The file of debugfs is called otherwise on some architectures. */
#ifndef STATS_USER_EXITS_FILE
#define STATS_USER_EXITS_FILE	STATS_USER_EXITS
#endif

/* A VM whose vCPUs leave the guest as often as they are told, and its file. */
FIXTURE(trigger)
{
	int kvm;
	struct guest guest;
	struct stats_file file;
	struct kvm_stats_watch watch;	/* for cases to change */
};

static __u32 index_of(struct __test_metadata *_metadata,
		      const struct stats_file *f, const char *name, bool vcpu)
{
	const struct kvm_stats_desc *desc;
	__u32 i;

	for (i = 0; ; i++) {
		desc = vcpu ? stats_vcpu_desc(f, i) : stats_desc(f, i);
		ASSERT_NE(NULL, desc) TH_LOG("no statistic %s", name);
		if (!strncmp(name, desc->name, STATS_NAME_SIZE))
			return i;
	}
}

FIXTURE_SETUP(trigger)
{
	self->kvm = stats_open_kvm(_metadata);
	guest_create(_metadata, self->kvm, &self->guest, VCPUS);
	stats_load(_metadata, stats_get_fd(_metadata, self->guest.vm),
		   &self->file);
	self->watch = (struct kvm_stats_watch) {
		.size = sizeof(self->watch),
		.scope = KVM_STATS_WATCH_EACH_VCPU,
		.desc = index_of(_metadata, &self->file, STATS_USER_EXITS, true),
		.threshold = N,
		.window_ns = LONG_NS,
	};
}

FIXTURE_TEARDOWN(trigger)
{
	stats_unload(&self->file);
	guest_destroy(&self->guest);
	close(self->kvm);
}

static int watch(struct __test_metadata *_metadata, int file,
		 const struct kvm_stats_watch *w)
{
	int fd = ioctl(file, KVM_STATS_WATCH, w);

	ASSERT_LE(0, fd) TH_LOG("KVM_STATS_WATCH: %s", strerror(errno));
	return fd;
}

static __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * MSEC_NS + now.tv_nsec;
}

/*
 * The events of a trigger, 0 if nobody was woken for any within that time: poll()
 * looks once more when it is over.
 */
static int poll_for(int fd, int timeout_ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN | POLLPRI };
	__u64 end = now_ns() + timeout_ms * MSEC_NS;
	long ret = result(poll(&pollfd, 1, timeout_ms));

	if (ret > 0 && timeout_ms && now_ns() >= end)
		return 0;
	return ret > 0 ? pollfd.revents : ret;
}

static void read_event(struct __test_metadata *_metadata, int fd,
		       struct kvm_stats_event *event)
{
	ASSERT_EQ((ssize_t)sizeof(*event), read(fd, event, sizeof(*event))) {
		TH_LOG("no event");
	}
	ASSERT_EQ(sizeof(*event), event->size);
}

/* Wait for an event and have it. */
static void wait_for_event(struct __test_metadata *_metadata, int fd,
			   struct kvm_stats_event *event)
{
	ASSERT_EQ(POLLPRI, poll_for(fd, LOST_MS) & ~POLLHUP);
	read_event(_metadata, fd, event);
}

static void expect_event(struct __test_metadata *_metadata, int fd, __u32 vcpu,
			 __u64 growth)
{
	struct kvm_stats_event event;

	wait_for_event(_metadata, fd, &event);
	EXPECT_EQ(vcpu, event.vcpu);
	EXPECT_EQ(growth, event.growth);
	EXPECT_EQ(0, event.missed);
}

/*
 * The VM dies. What has grown is looked at before a trigger tells that, and so an
 * event that is not there will not come any more.
 */
static void expect_no_more(struct __test_metadata *_metadata, struct guest *g,
			   int fd)
{
	struct kvm_stats_event event;

	if (g->vm >= 0)
		guest_kill(g);
	EXPECT_EQ(POLLHUP, poll_for(fd, LOST_MS));
	EXPECT_EQ(0, result(read(fd, &event, sizeof(event))));
	close(fd);
}

static void grow(struct __test_metadata *_metadata, struct guest *g, int vcpu,
		 int count)
{
	vcpu_exit_to_user(_metadata, &g->vcpu[vcpu], count);
}

TEST_F(trigger, has_a_descriptor_of_its_own)
{
	struct kvm_stats_event event[2];
	int fd = watch(_metadata, self->file.fd, &self->watch);
	char path[64], link[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	EXPECT_LT(0, readlink(path, link, sizeof(link) - 1));
	EXPECT_STREQ("anon_inode:kvm-stats-watch", link);
	EXPECT_EQ(O_RDONLY, fcntl(fd, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));

	EXPECT_EQ(0, poll_for(fd, 0));
	EXPECT_EQ(-EAGAIN, result(read(fd, event, sizeof(event))));
	EXPECT_EQ(-EBADF, result(write(fd, event, sizeof(event))));
	EXPECT_EQ(-ESPIPE, result(pread(fd, event, sizeof(event), 0)));
	EXPECT_EQ(-ESPIPE, result(lseek(fd, 0, SEEK_SET)));
	EXPECT_EQ(-ENOTTY, result(ioctl(fd, KVM_STATS_WATCH, &self->watch)));
	EXPECT_EQ(-ENODEV, result((long)mmap(NULL, 1, PROT_READ, MAP_SHARED, fd,
					     0)));
	close(fd);
}

static void expect_result(struct __test_metadata *_metadata, int file,
			  const struct kvm_stats_watch *w, long expected,
			  const char *what)
{
	long fd = result(ioctl(file, KVM_STATS_WATCH, w));

	if (fd >= 0)
		close(fd);
	EXPECT_EQ(expected, fd < 0 ? fd : 0) TH_LOG("%s", what);
}

TEST_F(trigger, of_a_mistake_is_refused)
{
	const struct kvm_stats_watch good = self->watch;
	const __u32 descs = self->file.ext.vcpu_num_desc;
	struct kvm_stats_watch w;
	unsigned int i;

#define EXPECT_REFUSAL(expected, ...) do {				\
	w = good;							\
	__VA_ARGS__;							\
	expect_result(_metadata, self->file.fd, &w, expected,		\
		      #__VA_ARGS__);					\
} while (0)
	EXPECT_REFUSAL(0, w = good);
	EXPECT_REFUSAL(-EINVAL, w.scope = KVM_STATS_WATCH_VCPU_SUM + 1);
	EXPECT_REFUSAL(-EINVAL, w.scope = UINT_MAX);
	EXPECT_REFUSAL(0, w.desc = descs - 1);
	EXPECT_REFUSAL(-EINVAL, w.desc = descs);
	EXPECT_REFUSAL(-EINVAL, w.desc = UINT_MAX);
	EXPECT_REFUSAL(-EINVAL, w.scope = KVM_STATS_WATCH_FILE;
		       w.desc = self->file.header.num_desc);
	EXPECT_REFUSAL(0, w.num_values = 1);
	EXPECT_REFUSAL(-EINVAL, w.num_values = 2);
	EXPECT_REFUSAL(-EINVAL, w.num_values = UINT_MAX);
	EXPECT_REFUSAL(-EINVAL, w.first_value = 1);
	EXPECT_REFUSAL(-EINVAL, w.first_value = UINT_MAX; w.num_values = 1);
	EXPECT_REFUSAL(-EINVAL, w.first_value = UINT_MAX; w.num_values = 2);
	EXPECT_REFUSAL(-EINVAL, w.vcpu = 1);
	EXPECT_REFUSAL(-EINVAL, w.scope = KVM_STATS_WATCH_VCPU_SUM; w.vcpu = 1);
	EXPECT_REFUSAL(0, w.scope = KVM_STATS_WATCH_VCPU; w.vcpu = VCPUS - 1);
	EXPECT_REFUSAL(-ENXIO, w.scope = KVM_STATS_WATCH_VCPU; w.vcpu = VCPUS);
	EXPECT_REFUSAL(-ENXIO, w.scope = KVM_STATS_WATCH_VCPU;
		       w.vcpu = UINT_MAX);
	EXPECT_REFUSAL(-EINVAL, w.threshold = 0);
	EXPECT_REFUSAL(0, w.threshold = 1);
	EXPECT_REFUSAL(0, w.threshold = ULLONG_MAX);
	EXPECT_REFUSAL(-EINVAL, w.window_ns = 0);
	EXPECT_REFUSAL(-EINVAL, w.window_ns = 10 * MSEC_NS - 1);
	EXPECT_REFUSAL(0, w.window_ns = LONG_NS);
	EXPECT_REFUSAL(-EINVAL, w.window_ns = LONG_NS + 1);
	EXPECT_REFUSAL(-EINVAL, w.window_ns = ULLONG_MAX);
	for (i = 0; i < sizeof(good); i++)
		EXPECT_REFUSAL(-EINVAL, w.size = i);
#undef EXPECT_REFUSAL

	/* A vCPU's file has its own statistics only. */
	w = good;
	for (i = KVM_STATS_WATCH_VCPU; i <= KVM_STATS_WATCH_VCPU_SUM; i++) {
		w.scope = i;
		expect_result(_metadata, self->guest.vcpu[0].file.fd, &w,
			      -EINVAL, "scope of a VM for a vCPU's file");
	}
	w.scope = KVM_STATS_WATCH_FILE;
	expect_result(_metadata, self->guest.vcpu[0].file.fd, &w, 0,
		      "a vCPU's file");
}

/* A structure that is larger than ours, up to a page of which none can be read. */
TEST_F(trigger, of_a_larger_structure_is_one_if_the_rest_is_zero)
{
	const size_t page = self->guest.page;
	const size_t size = sizeof(self->watch);
	char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kvm_stats_watch *w = (void *)pages;
	unsigned int larger = _IOC(_IOC_WRITE, KVMIO, _IOC_NR(KVM_STATS_WATCH),
				   size + 8);
	long fd;

	ASSERT_NE(MAP_FAILED, (void *)pages);
	ASSERT_EQ(0, mprotect(pages + 2 * page, page, PROT_NONE));

	*w = self->watch;
	w->size = size + 1;
	expect_result(_metadata, self->file.fd, w, 0, "one more byte");
	pages[size] = 1;
	expect_result(_metadata, self->file.fd, w, -E2BIG, "that is not zero");
	w->size = size;
	expect_result(_metadata, self->file.fd, w, 0, "behind the end");
	pages[size] = 0;
	w->size = page;
	expect_result(_metadata, self->file.fd, w, 0, "a page");
	pages[page - 1] = 1;
	expect_result(_metadata, self->file.fd, w, -E2BIG, "not all zero");
	pages[page - 1] = 0;
	w->size = page + 1;
	expect_result(_metadata, self->file.fd, w, -E2BIG, "a page and a byte");
	w->size = UINT_MAX;
	expect_result(_metadata, self->file.fd, w, -E2BIG, "all ones");

	/* The number that the header of another kernel has. */
	w->size = size + 8;
	fd = result(ioctl(self->file.fd, larger, w));
	EXPECT_LE(0, fd);
	close(fd);
	EXPECT_EQ(-ENOTTY, result(ioctl(self->file.fd, larger + 1, w)));

	w = (void *)(pages + 2 * page - size);
	*w = self->watch;
	expect_result(_metadata, self->file.fd, w, 0, "up to the end");
	w->size = size + 1;
	expect_result(_metadata, self->file.fd, w, -EFAULT, "past the end");
	w = (void *)(pages + 2 * page - size + 8);
	w->size = size;
	expect_result(_metadata, self->file.fd, w, -EFAULT, "a part");
	expect_result(_metadata, self->file.fd, (void *)(pages + 2 * page),
		      -EFAULT, "no size");
	expect_result(_metadata, self->file.fd, NULL, -EFAULT, "NULL");
	munmap(pages, 3 * page);
}

static void watch_as_nobody(struct __test_metadata *_metadata, void *arg)
{
	struct kvm_stats_watch w;
	int file;

	memcpy(&w, arg, sizeof(w));
	file = w.size;
	w.size = sizeof(w);
	ASSERT_EQ(0, stats_become_nobody());
	w.window_ns = SHORT_NS;
	expect_result(_metadata, file, &w, 0, "500 ms");
	w.window_ns = SHORT_NS - 1;
	expect_result(_metadata, file, &w, -EPERM, "less than 500 ms");
	w.window_ns = 10 * MSEC_NS;
	expect_result(_metadata, file, &w, -EPERM, "10 ms");
	w.window_ns = 10 * MSEC_NS - 1;
	expect_result(_metadata, file, &w, -EINVAL, "less than 10 ms");
}

TEST_F(trigger, of_a_short_window_needs_CAP_SYS_RESOURCE)
{
	struct kvm_stats_watch w = self->watch;
	int fd;

	if (geteuid())
		SKIP(return, "only root has the capability to lose");
	w.window_ns = SHORT_NS - 1;
	expect_result(_metadata, self->file.fd, &w, 0, "less than 500 ms");

	/* And it works. */
	w.window_ns = 10 * MSEC_NS;
	fd = watch(_metadata, self->file.fd, &w);
	grow(_metadata, &self->guest, 0, 1000);
	EXPECT_EQ(POLLPRI, poll_for(fd, LOST_MS));
	close(fd);

	w.size = self->file.fd;
	stats_wait(_metadata, stats_fork(_metadata, watch_as_nobody, &w));
}

TEST_F(trigger, tells_growth_by_the_threshold_and_not_by_one_less)
{
	struct kvm_stats_watch w = self->watch;
	int fd[3], more;

	fd[0] = watch(_metadata, self->file.fd, &w);
	w.threshold = N + 1;
	fd[1] = watch(_metadata, self->file.fd, &w);
	w.threshold = ULLONG_MAX;
	fd[2] = watch(_metadata, self->file.fd, &w);
	grow(_metadata, &self->guest, 0, N);
	expect_event(_metadata, fd[0], 0, N);

	/* What was before is no growth. */
	w.threshold = 1;
	more = watch(_metadata, self->file.fd, &w);
	expect_no_more(_metadata, &self->guest, fd[0]);
	expect_no_more(_metadata, &self->guest, fd[1]);
	expect_no_more(_metadata, &self->guest, fd[2]);
	expect_no_more(_metadata, &self->guest, more);
}

TEST_F(trigger, tells_when_it_was)
{
	int fd = watch(_metadata, self->file.fd, &self->watch);
	struct kvm_stats_event event;
	__u64 before = now_ns();

	grow(_metadata, &self->guest, 0, N);
	wait_for_event(_metadata, fd, &event);
	EXPECT_LE(before, event.time_ns);
	EXPECT_GE(now_ns(), event.time_ns);
	close(fd);
}

TEST_F(trigger, of_each_vcpu_tells_which)
{
	int fd = watch(_metadata, self->file.fd, &self->watch);

	grow(_metadata, &self->guest, 0, N - 1);
	grow(_metadata, &self->guest, 2, N);
	expect_event(_metadata, fd, 2, N);
	expect_no_more(_metadata, &self->guest, fd);
}

TEST_F(trigger, of_one_vcpu_does_not_look_at_others)
{
	struct kvm_stats_watch w = self->watch;
	int fd[2];

	w.scope = KVM_STATS_WATCH_VCPU;
	w.vcpu = 1;
	fd[0] = watch(_metadata, self->file.fd, &w);
	w.vcpu = 0;
	fd[1] = watch(_metadata, self->file.fd, &w);
	grow(_metadata, &self->guest, 1, N);
	grow(_metadata, &self->guest, 2, N);
	expect_event(_metadata, fd[0], 1, N);
	expect_no_more(_metadata, &self->guest, fd[0]);
	expect_no_more(_metadata, &self->guest, fd[1]);
}

TEST_F(trigger, of_a_vcpus_file_has_no_vcpu)
{
	struct kvm_stats_watch w = self->watch;
	int fd[2];

	w.scope = KVM_STATS_WATCH_FILE;
	fd[0] = watch(_metadata, self->guest.vcpu[1].file.fd, &w);
	fd[1] = watch(_metadata, self->guest.vcpu[0].file.fd, &w);
	grow(_metadata, &self->guest, 1, N);
	expect_event(_metadata, fd[0], KVM_STATS_EVENT_NO_VCPU, N);
	expect_no_more(_metadata, &self->guest, fd[0]);
	expect_no_more(_metadata, &self->guest, fd[1]);
}

TEST_F(trigger, of_the_sum_adds_up_all_vcpus)
{
	struct kvm_stats_watch w = self->watch;
	int fd[2];

	w.scope = KVM_STATS_WATCH_VCPU_SUM;
	fd[0] = watch(_metadata, self->file.fd, &w);
	w.threshold = N + 1;
	fd[1] = watch(_metadata, self->file.fd, &w);
	grow(_metadata, &self->guest, 0, N / 2);
	grow(_metadata, &self->guest, 2, N / 2);
	expect_event(_metadata, fd[0], KVM_STATS_EVENT_NO_VCPU, N);
	expect_no_more(_metadata, &self->guest, fd[0]);
	expect_no_more(_metadata, &self->guest, fd[1]);
}

/* Someone who waits in a thread. */
struct waiter {
	pthread_t thread;
	int fd;
	int events;
};

static void *wait_in_thread(void *arg)
{
	struct waiter *w = arg;

	w->events = poll_for(w->fd, LOST_MS);
	return NULL;
}

static void waiter_start(struct __test_metadata *_metadata, struct waiter *w,
			 int fd)
{
	w->fd = fd;
	ASSERT_EQ(0, pthread_create(&w->thread, NULL, wait_in_thread, w));
}

static void waiter_expect(struct __test_metadata *_metadata, struct waiter *w,
			  int events)
{
	ASSERT_EQ(0, pthread_join(w->thread, NULL));
	EXPECT_EQ(events, w->events);
}

TEST_F(trigger, of_each_vcpu_looks_at_one_that_comes_later)
{
	int fd = watch(_metadata, self->file.fd, &self->watch);
	struct waiter waiter;

	waiter_start(_metadata, &waiter, fd);
	guest_add_vcpu(_metadata, &self->guest, VCPUS);
	grow(_metadata, &self->guest, VCPUS, N);
	waiter_expect(_metadata, &waiter, POLLPRI);
	expect_event(_metadata, fd, VCPUS, N);

	/* Nobody waits: it is found by who does so later. */
	guest_add_vcpu(_metadata, &self->guest, VCPUS + 1);
	grow(_metadata, &self->guest, VCPUS + 1, N);
	expect_event(_metadata, fd, VCPUS + 1, N);
	expect_no_more(_metadata, &self->guest, fd);
}

TEST_F(trigger, of_the_sum_looks_at_a_vcpu_that_comes_later)
{
	struct kvm_stats_watch w = self->watch;
	int fd;

	w.scope = KVM_STATS_WATCH_VCPU_SUM;
	fd = watch(_metadata, self->file.fd, &w);
	grow(_metadata, &self->guest, 0, N - 1);
	guest_add_vcpu(_metadata, &self->guest, VCPUS);
	grow(_metadata, &self->guest, VCPUS, 1);
	expect_event(_metadata, fd, KVM_STATS_EVENT_NO_VCPU, N);
	expect_no_more(_metadata, &self->guest, fd);
}

/* The bucket of exit_reasons that an exit to user space is in, or less than 0. */
static int bucket_of_user_exits(struct __test_metadata *_metadata,
				struct guest_vcpu *v, __u32 *buckets)
{
	const struct kvm_stats_desc *desc = stats_find(&v->file, "exit_reasons");
	__u64 *before, *after;
	int bucket = -1;
	__u32 i;

	if (!desc)
		return -1;
	*buckets = desc->size;
	before = calloc(*buckets, sizeof(*before));
	after = calloc(*buckets, sizeof(*after));
	ASSERT_TRUE(before && after);
	stats_read_all(_metadata, &v->file, "exit_reasons", before, *buckets);
	vcpu_exit_to_user(_metadata, v, 10 * N);
	stats_read_all(_metadata, &v->file, "exit_reasons", after, *buckets);
	for (i = 0; i < *buckets; i++) {
		/* Others, for interrupts or for memory, are fewer. */
		if (after[i] - before[i] == 10 * N)
			bucket = i;
	}
	free(before);
	free(after);
	ASSERT_LT(0, bucket);
	ASSERT_GT(*buckets - 1, (__u32)bucket);
	return bucket;
}

TEST_F(trigger, of_buckets_adds_up_these)
{
	struct kvm_stats_watch w = self->watch;
	int bucket, i, fd[6], quiet[2];
	__u32 buckets;
	struct {
		__u32 first;
		__u32 num;
	} ranges[ARRAY_SIZE(fd)];

	bucket = bucket_of_user_exits(_metadata, &self->guest.vcpu[0], &buckets);
	if (bucket < 0)
		SKIP(return, "this architecture does not count exits by reason");

	/* It is the only one, the first, the last, or within. */
	ranges[0].first = bucket;
	ranges[0].num = 1;
	ranges[1].first = bucket;
	ranges[1].num = 2;
	ranges[2].first = bucket - 1;
	ranges[2].num = 2;
	ranges[3].first = bucket - 1;
	ranges[3].num = 3;
	ranges[4].first = bucket;
	ranges[4].num = 0;
	ranges[5].first = 0;
	ranges[5].num = buckets;

	w.desc = index_of(_metadata, &self->file, "exit_reasons", true);
	w.threshold = 10 * N;
	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		w.first_value = ranges[i].first;
		w.num_values = ranges[i].num;
		fd[i] = watch(_metadata, self->file.fd, &w);
	}
	/* And what is on both sides of it. */
	w.first_value = 0;
	w.num_values = bucket;
	quiet[0] = watch(_metadata, self->file.fd, &w);
	w.first_value = bucket + 1;
	w.num_values = 0;
	quiet[1] = watch(_metadata, self->file.fd, &w);

	grow(_metadata, &self->guest, 0, 10 * N);
	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		struct kvm_stats_event event;

		wait_for_event(_metadata, fd[i], &event);
		EXPECT_EQ(0, event.vcpu);
		EXPECT_LE(10 * N, event.growth) TH_LOG("range %d", i);
		close(fd[i]);
	}
	guest_kill(&self->guest);
	for (i = 0; i < ARRAY_SIZE(quiet); i++)
		expect_no_more(_metadata, &self->guest, quiet[i]);
}

TEST_F(trigger, of_a_level_tells_when_it_is_reached)
{
	struct kvm_stats_watch w = self->watch;
	int reached, next, third;

	w.scope = KVM_STATS_WATCH_FILE;
	w.desc = index_of(_metadata, &self->file, "online_vcpus", false);
	w.window_ns = SHORT_NS;

	/* At the first look, at once. */
	w.threshold = VCPUS;
	reached = watch(_metadata, self->file.fd, &w);
	EXPECT_EQ(POLLPRI, poll_for(reached, 0));
	expect_event(_metadata, reached, KVM_STATS_EVENT_NO_VCPU, VCPUS);

	w.threshold = VCPUS + 1;
	next = watch(_metadata, self->file.fd, &w);
	w.threshold = VCPUS + 2;
	third = watch(_metadata, self->file.fd, &w);
	EXPECT_EQ(0, poll_for(next, 0));

	guest_add_vcpu(_metadata, &self->guest, VCPUS);
	expect_event(_metadata, next, KVM_STATS_EVENT_NO_VCPU, VCPUS + 1);

	/* Once: it stays reached. */
	EXPECT_EQ(0, poll_for(reached, 3 * SHORT_NS / MSEC_NS));
	expect_no_more(_metadata, &self->guest, reached);
	expect_no_more(_metadata, &self->guest, next);
	expect_no_more(_metadata, &self->guest, third);
}

TEST_F(trigger, adds_up_growth_of_several_looks)
{
	int fd = watch(_metadata, self->file.fd, &self->watch);

	grow(_metadata, &self->guest, 0, N / 2);
	/* Time for two looks, less than is left of a window. */
	EXPECT_EQ(0, poll_for(fd, 2 * LONG_NS / LOOKS / MSEC_NS));
	grow(_metadata, &self->guest, 0, N / 2);
	expect_event(_metadata, fd, 0, N);
	expect_no_more(_metadata, &self->guest, fd);
}

TEST_F(trigger, forgets_what_is_older_than_its_window)
{
	struct kvm_stats_watch w = self->watch;
	int fd;

	w.window_ns = SHORT_NS;
	fd = watch(_metadata, self->file.fd, &w);
	grow(_metadata, &self->guest, 0, N / 2);
	/* So many windows that it was looked at on the busiest machine. */
	EXPECT_EQ(0, poll_for(fd, 6 * SHORT_NS / MSEC_NS));
	grow(_metadata, &self->guest, 0, N / 2);
	EXPECT_EQ(0, poll_for(fd, 2 * SHORT_NS / MSEC_NS));
	expect_no_more(_metadata, &self->guest, fd);
}

TEST_F(trigger, has_one_event_in_a_window_at_most)
{
	struct kvm_stats_watch w = self->watch;
	struct kvm_stats_event event;
	__u64 last = 0;
	int fd, events = 0;

	w.window_ns = SHORT_NS;
	fd = watch(_metadata, self->file.fd, &w);
	while (events < 4) {
		grow(_metadata, &self->guest, 0, N);
		if (poll_for(fd, 20) != POLLPRI)
			continue;
		read_event(_metadata, fd, &event);
		EXPECT_LE(N, event.growth);
		if (last)
			EXPECT_LE(last + SHORT_NS, event.time_ns);
		last = event.time_ns;
		events++;
	}
	close(fd);
}

/* As soon as it is: before the first look after an event, or a little later. */
TEST_F(trigger, tells_what_comes_too_early_when_the_window_is_over)
{
	struct kvm_stats_watch w = self->watch;
	struct kvm_stats_event first, second;
	int fd;

	w.window_ns = SHORT_NS;
	fd = watch(_metadata, self->file.fd, &w);
	grow(_metadata, &self->guest, 0, N);
	wait_for_event(_metadata, fd, &first);
	grow(_metadata, &self->guest, 0, N);
	wait_for_event(_metadata, fd, &second);
	EXPECT_EQ(N, second.growth);
	EXPECT_EQ(0, second.missed);
	EXPECT_LE(first.time_ns + SHORT_NS, second.time_ns);
	expect_no_more(_metadata, &self->guest, fd);
}

/* Also if there is no time left for that. */
TEST_F(trigger, tells_what_comes_too_early_when_the_vm_is_gone)
{
	int fd = watch(_metadata, self->file.fd, &self->watch);

	grow(_metadata, &self->guest, 0, N);
	expect_event(_metadata, fd, 0, N);
	grow(_metadata, &self->guest, 0, N);
	guest_kill(&self->guest);
	EXPECT_EQ(POLLPRI | POLLHUP, poll_for(fd, 0));
	expect_event(_metadata, fd, 0, N);
	expect_no_more(_metadata, &self->guest, fd);
}

TEST_F(trigger, counts_events_that_nobody_read)
{
	struct kvm_stats_watch w = self->watch;
	struct kvm_stats_event event;
	int i, fd, read_in_time;
	__u64 events;

	w.window_ns = SHORT_NS;
	fd = watch(_metadata, self->file.fd, &w);
	read_in_time = watch(_metadata, self->file.fd, &w);
	for (i = 0; i < 3; i++) {
		/* A window after the last event, also for the other trigger. */
		poll(NULL, 0, 3 * SHORT_NS / MSEC_NS);
		grow(_metadata, &self->guest, 0, N);
		expect_event(_metadata, read_in_time, 0, N);
	}

	read_event(_metadata, fd, &event);
	EXPECT_LE(1, event.missed);
	/* The last look of this one may still come. */
	for (events = 1 + event.missed; events < 3; events += 1 + event.missed)
		wait_for_event(_metadata, fd, &event);
	EXPECT_EQ(3, events);
	EXPECT_EQ(N, event.growth);

	/* They are told once. */
	grow(_metadata, &self->guest, 0, N);
	expect_event(_metadata, fd, 0, N);
	expect_no_more(_metadata, &self->guest, fd);
	close(read_in_time);
}

TEST_F(trigger, reads_as_many_whole_events_as_fit)
{
	const size_t size = sizeof(struct kvm_stats_event);
	struct kvm_stats_event event[VCPUS + 1];
	int i, fd = watch(_metadata, self->file.fd, &self->watch);
	int probe = watch(_metadata, self->file.fd, &self->watch);

	for (i = 0; i < VCPUS; i++) {
		grow(_metadata, &self->guest, i, N);
		expect_event(_metadata, probe, i, N);
	}
	guest_kill(&self->guest);
	EXPECT_EQ(POLLPRI | POLLHUP, poll_for(fd, LOST_MS));

	EXPECT_EQ(-EINVAL, result(read(fd, event, 0)));
	EXPECT_EQ(-EINVAL, result(read(fd, event, 1)));
	EXPECT_EQ(-EINVAL, result(read(fd, event, size - 1)));
	EXPECT_EQ(size, result(read(fd, event, 2 * size - 1)));
	EXPECT_EQ(0, event[0].vcpu);
	EXPECT_EQ(2 * size, result(read(fd, event, sizeof(event))));
	EXPECT_EQ(1, event[0].vcpu);
	EXPECT_EQ(2, event[1].vcpu);
	EXPECT_EQ(POLLHUP, poll_for(fd, 0));
	EXPECT_EQ(0, result(read(fd, event, sizeof(event))));
	EXPECT_EQ(-EINVAL, result(read(fd, event, size - 1)));
	close(fd);
	close(probe);
}

TEST_F(trigger, keeps_events_that_a_bad_buffer_did_not_get)
{
	const size_t size = sizeof(struct kvm_stats_event);
	const size_t page = self->guest.page;
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, fd = watch(_metadata, self->file.fd, &self->watch);
	struct kvm_stats_event *event;

	ASSERT_NE(MAP_FAILED, (void *)pages);
	ASSERT_EQ(0, mprotect(pages + page, page, PROT_NONE));
	for (i = 0; i < VCPUS; i++)
		grow(_metadata, &self->guest, i, N);
	guest_kill(&self->guest);
	ASSERT_EQ(POLLPRI | POLLHUP, poll_for(fd, LOST_MS));

	EXPECT_EQ(-EFAULT, result(read(fd, NULL, size)));
	EXPECT_EQ(-EFAULT, result(read(fd, pages + page, size)));
	EXPECT_EQ(-EFAULT, result(read(fd, pages + page - size / 2, size)));
	EXPECT_EQ(POLLPRI | POLLHUP, poll_for(fd, 0));

	event = (void *)(pages + page - size);
	EXPECT_EQ(size, result(read(fd, event, 2 * size)));
	EXPECT_EQ(0, event->vcpu);
	for (i = 1; i < VCPUS; i++) {
		read_event(_metadata, fd, event);
		EXPECT_EQ(i, event->vcpu);
		EXPECT_EQ(N, event->growth);
		EXPECT_EQ(0, event->missed);
	}
	EXPECT_EQ(0, result(read(fd, event, size)));
	close(fd);
	munmap(pages, 2 * page);
}

TEST_F(trigger, ignores_a_statistic_that_is_cleared)
{
	char path[STATS_DEBUGFS_SIZE + 32], dir[STATS_DEBUGFS_SIZE];
	int fd, debugfs;

	if (!stats_has_debugfs())
		SKIP(return, "there is no debugfs");
	stats_debugfs_path(dir, stats_tid(), self->guest.vm);
	snprintf(path, sizeof(path), "%s/" STATS_USER_EXITS_FILE, dir);
	debugfs = open(path, O_WRONLY | O_CLOEXEC);
	if (debugfs < 0)
		SKIP(return, "%s: %s", path, strerror(errno));

	grow(_metadata, &self->guest, 0, 2 * N);
	fd = watch(_metadata, self->file.fd, &self->watch);
	ASSERT_EQ(1, write(debugfs, "0", 1));
	close(debugfs);
	ASSERT_EQ(0, vcpu_read(_metadata, &self->guest.vcpu[0],
			       STATS_USER_EXITS));
	expect_no_more(_metadata, &self->guest, fd);
}

TEST_F(trigger, tells_who_waits_that_the_vm_is_gone)
{
	struct kvm_stats_watch w = self->watch;
	struct waiter waiter[4];
	int i, fd[ARRAY_SIZE(waiter)];

	for (i = 0; i < ARRAY_SIZE(waiter); i++) {
		w.scope = i;
		fd[i] = watch(_metadata, i == KVM_STATS_WATCH_FILE ?
			      self->guest.vcpu[0].file.fd : self->file.fd, &w);
		waiter_start(_metadata, &waiter[i], fd[i]);
	}
	guest_kill(&self->guest);
	for (i = 0; i < ARRAY_SIZE(waiter); i++) {
		waiter_expect(_metadata, &waiter[i], POLLHUP);
		expect_no_more(_metadata, &self->guest, fd[i]);
	}
}

TEST_F(trigger, of_a_vm_that_is_gone_tells_that)
{
	struct kvm_stats_watch w = self->watch;
	int level, fd;

	guest_kill(&self->guest);
	fd = watch(_metadata, self->file.fd, &self->watch);
	expect_no_more(_metadata, &self->guest, fd);

	/* The last values are still there. */
	w.scope = KVM_STATS_WATCH_FILE;
	w.desc = index_of(_metadata, &self->file, "online_vcpus", false);
	w.threshold = VCPUS;
	level = watch(_metadata, self->file.fd, &w);
	EXPECT_EQ(POLLPRI | POLLHUP, poll_for(level, 0));
	expect_event(_metadata, level, KVM_STATS_EVENT_NO_VCPU, VCPUS);
	expect_no_more(_metadata, &self->guest, level);
}

TEST_F(trigger, outlives_its_file)
{
	int file = stats_get_fd(_metadata, self->guest.vm);
	int fd = watch(_metadata, file, &self->watch);

	close(file);
	grow(_metadata, &self->guest, 0, N);
	expect_event(_metadata, fd, 0, N);
	expect_no_more(_metadata, &self->guest, fd);
}

static void expect_event_in_child(struct __test_metadata *_metadata, void *arg)
{
	expect_event(_metadata, *(int *)arg, 0, N);
}

TEST_F(trigger, is_shared_by_who_forks)
{
	int fd = watch(_metadata, self->file.fd, &self->watch);
	pid_t pid = stats_fork(_metadata, expect_event_in_child, &fd);

	grow(_metadata, &self->guest, 0, N);
	stats_wait(_metadata, pid);
	/* The child has it. */
	EXPECT_EQ(0, poll_for(fd, 0));
	expect_no_more(_metadata, &self->guest, fd);
}

#define RACES			200

/*
 * Beside a VM that lives and dies: triggers come and go, also the last of a file, and
 * threads share one.
 */
struct race {
	struct kvm_stats_watch watch;
	int file;
	int shared;
	bool over;
	long made;
};

static void *make_and_close(void *arg)
{
	struct race *race = arg;
	struct kvm_stats_watch w = race->watch;
	struct kvm_stats_event event;
	int fd;

	w.threshold = 1;
	while (!__atomic_load_n(&race->over, __ATOMIC_ACQUIRE)) {
		w.scope = race->made % 2 ? KVM_STATS_WATCH_EACH_VCPU :
					   KVM_STATS_WATCH_VCPU_SUM;
		fd = ioctl(race->file, KVM_STATS_WATCH, &w);
		if (fd < 0)
			return (void *)(long)-errno;
		poll_for(fd, race->made % 8 == 7);
		poll_for(race->shared, 0);
		if (read(fd, &event, sizeof(event)) < 0 && errno != EAGAIN)
			return (void *)(long)-errno;
		close(fd);
		__atomic_fetch_add(&race->made, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

TEST_F(trigger, may_be_closed_whatever_happens)
{
	struct race race = { .watch = self->watch };
	pthread_t thread[2];
	void *ret;
	pid_t pid;
	int i, j;

	race.watch.window_ns = geteuid() ? SHORT_NS : 10 * MSEC_NS;
	for (i = 0; i < RACES / 20; i++) {
		struct guest guest = { };

		guest_create(_metadata, self->kvm, &guest, 1);
		race.file = stats_get_fd(_metadata, guest.vm);
		race.over = false;
		race.made = 0;
		race.shared = watch(_metadata, race.file, &race.watch);
		for (j = 0; j < ARRAY_SIZE(thread); j++)
			ASSERT_EQ(0, pthread_create(&thread[j], NULL,
						    make_and_close, &race));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(0);
		while (guest.vcpus < 4) {
			guest_add_vcpu(_metadata, &guest, guest.vcpus);
			grow(_metadata, &guest, guest.vcpus - 1, N);
		}
		while (__atomic_load_n(&race.made, __ATOMIC_ACQUIRE) < RACES / 20)
			sched_yield();
		guest_destroy(&guest);
		/* The child has had the VM as well. */
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		EXPECT_EQ(POLLHUP, poll_for(race.shared, LOST_MS) & POLLHUP);
		while (__atomic_load_n(&race.made, __ATOMIC_ACQUIRE) < RACES / 10)
			sched_yield();
		__atomic_store_n(&race.over, true, __ATOMIC_RELEASE);
		for (j = 0; j < ARRAY_SIZE(thread); j++) {
			ASSERT_EQ(0, pthread_join(thread[j], &ret));
			EXPECT_EQ(NULL, ret);
		}
		close(race.shared);
		close(race.file);
	}
}

TEST_F(trigger, is_EMFILE_without_a_free_descriptor)
{
	struct rlimit limit, saved;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &saved));
	limit = saved;
	limit.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	expect_result(_metadata, self->file.fd, &self->watch, -EMFILE, "no fd");
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &saved));
	expect_result(_metadata, self->file.fd, &self->watch, 0, "again");
}

/* Triggers that take more memory than a cgroup is charged in advance. */
#define CHARGED			200
/* What one of them and one of its vCPUs take at least. */
#define TRIGGER_BYTES		512
#define WATCHED_BYTES		96

struct charge {
	struct kvm_stats_watch watch;
	int file;
	int vcpus;
	char cgroup[STATS_CGROUP_SIZE];
};

static void watch_in_cgroup(struct __test_metadata *_metadata, void *arg)
{
	struct charge *charge = arg;
	long before, after;
	int i;

	stats_cgroup_enter(_metadata, charge->cgroup);
	before = stats_read_number(_metadata, charge->cgroup, "memory.current",
				   "");
	for (i = 0; i < CHARGED; i++)
		watch(_metadata, charge->file, &charge->watch);
	after = stats_read_number(_metadata, charge->cgroup, "memory.current",
				  "");
	TH_LOG("%ld bytes for each of %d triggers, %d vCPUs",
	       (after - before) / CHARGED, CHARGED, charge->vcpus);
	EXPECT_LE(CHARGED * (TRIGGER_BYTES + charge->vcpus * WATCHED_BYTES),
		  after - before);
}

TEST_F(trigger, is_charged_to_who_asks)
{
	struct charge charge = {
		.watch = self->watch,
		.file = self->file.fd,
	};
	int ret = stats_cgroup_create(charge.cgroup);

	if (ret)
		SKIP(return, "no cgroup to count memory: %s", strerror(-ret));
	while (self->guest.vcpus < STATS_MAX_VCPUS)
		guest_add_vcpu(_metadata, &self->guest, self->guest.vcpus);
	charge.vcpus = self->guest.vcpus;
	stats_wait(_metadata, stats_fork(_metadata, watch_in_cgroup, &charge));
	EXPECT_EQ(0, result(rmdir(charge.cgroup)));
}

/* Of /proc/PID/stat: the name, then ten fields, then the ticks as user and system. */
#define STAT_FORMAT		"%*d (%31[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u " \
				"%*u %lu %lu"

/* CPU time of the kernel's unbound workers, in seconds; they come and go. */
static double worker_seconds(struct __test_metadata *_metadata)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	double ticks = 0;

	ASSERT_NE(NULL, dir);
	while ((entry = readdir(dir))) {
		unsigned long user, system;
		char path[300], name[32];
		FILE *stat;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		stat = fopen(path, "re");
		if (!stat)
			continue;
		if (fscanf(stat, STAT_FORMAT, name, &user, &system) == 3 &&
		    !strncmp(name, "kworker/u", 9))
			ticks += user + system;
		fclose(stat);
	}
	closedir(dir);
	return ticks / sysconf(_SC_CLK_TCK);
}

static double now_seconds(void)
{
	return now_ns() / 1e9;
}

/* How many of these descriptors have an event. */
static int count_events(const int *fd, int num)
{
	int i, events = 0;

	for (i = 0; i < num; i++)
		events += !!(poll_for(fd[i], 0) & POLLPRI);
	return events;
}

#define MANY			10000
#define MANY_SECONDS		10

/* The part of a CPU that triggers of a VM may take, and what others of its name do. */
#define SHARE			0.05
#define NOISE			0.05

/* Of the most vCPUs that a test may have, each trigger of all of them. */
TEST_F(trigger, does_not_burn_the_cpu_with_ten_thousand_others)
{
	struct rlimit limit = { .rlim_cur = MANY + 1000, .rlim_max = MANY + 1000 };
	struct kvm_stats_watch w = self->watch;
	struct kvm_stats_event event;
	int i, *fd, times = 0, events = 0, before;
	double seconds, worker, start;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		SKIP(return, "may not have %d files", MANY);
	fd = calloc(MANY, sizeof(*fd));
	ASSERT_NE(NULL, fd);
	while (self->guest.vcpus < STATS_MAX_VCPUS)
		guest_add_vcpu(_metadata, &self->guest, self->guest.vcpus);

	/* Those of each vCPU are few, for they take memory for each. */
	w.window_ns = SHORT_NS;
	start = now_seconds();
	for (i = 0; i < MANY; i++) {
		w.scope = i % 50 ? KVM_STATS_WATCH_VCPU_SUM :
				   KVM_STATS_WATCH_EACH_VCPU;
		w.window_ns = SHORT_NS + i;
		fd[i] = watch(_metadata, self->file.fd, &w);
	}
	TH_LOG("%d triggers of %d vCPUs were made in %.1f s", MANY,
	       self->guest.vcpus, now_seconds() - start);

	worker = worker_seconds(_metadata);
	start = now_seconds();
	poll(NULL, 0, MANY_SECONDS * 1000);
	worker = worker_seconds(_metadata) - worker;
	seconds = now_seconds() - start;
	TH_LOG("they took %.2f s of a CPU in %.1f s: %.1f %%", worker, seconds,
	       100 * worker / seconds);
	EXPECT_GE(SHARE + NOISE, worker / seconds);
	/* Else it was not measured. */
	EXPECT_LT(0, worker);

	/*
	 * All of them are looked at, if later, and a look in the middle of what grows
	 * within half a window does not hide it: some have one between the halves of
	 * it. Where this thread has to wait for a CPU that may take longer, and is
	 * done again.
	 */
	do {
		start = now_seconds();
		grow(_metadata, &self->guest, STATS_MAX_VCPUS - 1, N / 2);
		poll(NULL, 0, SHORT_NS / MSEC_NS / 8);
		grow(_metadata, &self->guest, STATS_MAX_VCPUS - 1, N / 2);
	} while (++times < 100 && now_seconds() - start > SHORT_NS / 2e9);

	/* Where a look takes long, so do all of them: one after the other has an event. */
	for (i = 0; i < MANY; i++) {
		while (poll_for(fd[i], LOST_MS) != POLLPRI) {
			before = events;
			events = count_events(fd, MANY);
			TH_LOG("%d of them have told an event after %.1f s",
			       events, now_seconds() - start);
			ASSERT_LT(before, events);
		}
	}
	TH_LOG("the last of them told its event after %.1f s",
	       now_seconds() - start);

	/* Each told it once, those that were looked at again meanwhile too. */
	for (i = 0; i < MANY; i++) {
		read_event(_metadata, fd[i], &event);
		ASSERT_LE(N, event.growth);
		ASSERT_GE(times * N, event.growth);
		ASSERT_GT(times, event.missed);
	}
	guest_kill(&self->guest);
	for (i = 0; i < MANY; i++)
		close(fd[i]);
	free(fd);
}

TEST_HARNESS_MAIN
