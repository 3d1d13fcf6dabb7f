// SPDX-License-Identifier: GPL-2.0-only
/*
 * vCPU statistics as perf events: perf counts what the statistics file shows between enable
 * and disable, and samples are at the guest's instruction that exits.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_memory.h"
#include "stats_fd_perf.h"
#include "stats_fd_reasons.h"
#include "stats_fd_sleep.h"
#include "stats_fd_switch.h"

#define TIMES			1000

/* Repetitions of something that does not succeed each time. */
#define ROUNDS			10

/* Exits between moves to another CPU. */
#define MOVE_EVERY		10

/* Preemptions of a thread, each of which switches its events off and on. */
#define PREEMPTIONS		20

/* Wake-ups by another CPU. Some come while the vCPU thread is scheduled out. */
#define WAKEUPS			3000

/* The kernel may free memory later, after an RCU grace period. */
#define FREED_SECONDS		60

/* vCPUs whose values take more than a cgroup is charged in advance, if pages are small. */
#define VMS			64
#define VCPUS_OF_VM		8
#define PAGES_IN_ADVANCE	32

#define MAX_CPUS		64

/* More than a vCPU has values. */
#define MAX_EVENTS		1024

/* Each KVM_RUN does an exit that KVM handles, and one to user space from another address. */
#ifdef __x86_64__
STATS_GUEST_CODE(stats_two_exits,
		 ".code16\n"
		 "1:	cpuid\n"
		 "	mov $0x2f0, %dx\n"
		 "	out %al, (%dx)\n"
		 "	jmp 1b\n"
		 ".code64\n");
#define KERNEL_EXIT_REASON	"cpuid"
#define KERNEL_EXIT_IP		(GUEST_CODE & 0xffff)
#define USER_EXIT_IP		(KERNEL_EXIT_IP + 5)
#define SPIN_EXIT_REASON	"cpuid"
#else
STATS_GUEST_CODE(stats_two_exits,
		 "1:	mrs x0, id_aa64mmfr0_el1\n"
		 "	nop\n"
		 "	str w1, [x2]\n"
		 "	b 1b\n");
#define KERNEL_EXIT_REASON	"sysreg"
#define KERNEL_EXIT_IP		GUEST_CODE
#define USER_EXIT_IP		(KERNEL_EXIT_IP + 8)
#define SPIN_EXIT_REASON	"hvc"
#endif

FIXTURE(perf)
{
	__u32 type;
	struct guest guest;
	struct guest_vcpu *vcpu;
};

FIXTURE_SETUP(perf)
{
	struct rlimit files = { 4096, 4096 };

	self->type = perf_type();
	if (!self->type)
		SKIP(return, "KVM has no events");
	setrlimit(RLIMIT_NOFILE, &files);
	guest_create(_metadata, &self->guest, 1);
	self->vcpu = &self->guest.vcpu[0];
	guest_put_code(_metadata, &self->guest, stats_two_exits, stats_two_exits_end);
}

FIXTURE_TEARDOWN(perf) { }

/* The event of an exit reason, which is a bucket of a histogram. */
static __u64 reason_config(struct __test_metadata *_metadata,
			   const struct stats_file *f, const char *name)
{
	int bucket = reason_find(f, name);

	ASSERT_LE(0, bucket) TH_LOG("no reason %s", name);
	return perf_config(_metadata, f, "exit_reasons", bucket);
}

static __u64 user_exits_config(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	return perf_config(_metadata, &v->file, STATS_USER_EXITS, 0);
}

static bool can_be_counted(const struct kvm_stats_desc *desc)
{
	return stats_is_hist(desc) || (desc->flags & KVM_STATS_TYPE_MASK) ==
				      KVM_STATS_TYPE_CUMULATIVE;
}

TEST_F(perf, sysfs_has_the_format_of_config)
{
	char line[STATS_LINE_SIZE];

	ASSERT_TRUE(stats_read_line(PERF_KVM, "format/event", line));
	EXPECT_STREQ("config:0-15", line);
	ASSERT_TRUE(stats_read_line(PERF_KVM, "format/value", line));
	EXPECT_STREQ("config:16-31", line);
}

static void expect_event_file(struct __test_metadata *_metadata,
			      const char *name, const char *expected)
{
	char path[128], line[STATS_LINE_SIZE];

	snprintf(path, sizeof(path), "events/%s", name);
	ASSERT_TRUE(stats_read_line(PERF_KVM, path, line)) TH_LOG("%s", name);
	EXPECT_STREQ(expected, line) TH_LOG("%s", name);
}

/* Return the number of files that the event has. */
static unsigned int expect_event(struct __test_metadata *_metadata, const char *name,
				 const struct kvm_stats_desc *desc, int value)
{
	bool ns = (desc->flags & KVM_STATS_UNIT_MASK) ==
		  KVM_STATS_UNIT_SECONDS && !stats_is_hist(desc);
	unsigned int event = desc->offset / sizeof(__u64);
	char expected[64], unit[128];

	if (value >= 0)
		snprintf(expected, sizeof(expected), "event=0x%x,value=0x%x", event, value);
	else
		snprintf(expected, sizeof(expected), "event=0x%x%s", event,
			 desc->size > 1 ? ",value=?" : "");
	expect_event_file(_metadata, name, expected);
	if (!ns)
		return 1;
	snprintf(unit, sizeof(unit), "%s.unit", name);
	expect_event_file(_metadata, unit, "ns");
	return 2;
}

TEST_F(perf, sysfs_has_an_event_for_each_statistic_that_only_grows)
{
	const struct stats_file *f = &self->vcpu->file;
	const struct kvm_stats_value_name *v;
	const struct kvm_stats_desc *desc;
	unsigned int i, num = 0;
	char name[128];

	for (i = 0; (desc = stats_desc(f, i)); i++) {
		if (can_be_counted(desc))
			num += expect_event(_metadata, desc->name, desc, -1);
	}
	for (i = 0; (v = stats_value_name(f, i)); i++) {
		desc = stats_desc(f, v->desc);
		if (!can_be_counted(desc))
			continue;
		snprintf(name, sizeof(name), "%s.%s", desc->name, v->name);
		num += expect_event(_metadata, name, desc, v->value);
	}
	EXPECT_EQ(num, stats_count_entries(_metadata, PERF_KVM "/events", ""));
}

static void expect_refused(struct __test_metadata *_metadata, int error,
			   struct perf_event_attr attr, const char *what)
{
	int event = perf_open(&attr, 0, -1, -1);

	EXPECT_EQ(error, event) TH_LOG("%s", what);
	if (event >= 0)
		close(event);
}

#define EXPECT_REFUSED(error, ...)					\
	expect_refused(_metadata, error, (struct perf_event_attr){	\
			.type = self->type, __VA_ARGS__ }, #__VA_ARGS__)

TEST_F(perf, invalid_config_is_refused)
{
	const struct stats_file *f = &self->vcpu->file;
	__u64 exits = user_exits_config(_metadata, self->vcpu);
	__u64 hist = perf_config(_metadata, f, "halt_wait_hist", 0);
	__u64 size = stats_get(_metadata, f, "halt_wait_hist")->size;

	EXPECT_REFUSED(-EINVAL, .config = f->data_size / sizeof(__u64));
	EXPECT_REFUSED(-EINVAL, .config = 0xffff);
	EXPECT_REFUSED(-EINVAL, .config = exits | 1 << 16);
	EXPECT_REFUSED(-EINVAL, .config = hist + 1);
	EXPECT_REFUSED(-EINVAL, .config = hist | size << 16);
	EXPECT_REFUSED(-EINVAL, .config = exits | 1ULL << 32);
	EXPECT_REFUSED(-EINVAL, .config = exits, .config1 = 1);
	EXPECT_REFUSED(-EINVAL, .config = exits, .config2 = 1);
	EXPECT_REFUSED(-EINVAL, .config = perf_config(_metadata, f, "state", 0));
	EXPECT_REFUSED(-EINVAL,
		       .config = perf_config(_metadata, f, "blocking", 0));
}

TEST_F(perf, unsupported_attributes_are_refused)
{
	__u64 exits = user_exits_config(_metadata, self->vcpu);

	EXPECT_REFUSED(-EINVAL, .config = exits, .exclude_kernel = 1);
	EXPECT_REFUSED(-EINVAL, .config = exits, .exclude_user = 1);
	EXPECT_REFUSED(-EINVAL, .config = exits, .exclude_hv = 1);
	EXPECT_REFUSED(-EINVAL, .config = exits, .exclude_idle = 1);
	EXPECT_REFUSED(-EINVAL, .config = exits, .exclude_host = 1, .exclude_guest = 1,
		       .sample_period = 1);
	EXPECT_REFUSED(-EOPNOTSUPP, .config = exits, .precise_ip = 1);
	EXPECT_REFUSED(-EOPNOTSUPP, .config = exits, .aux_output = 1);
	EXPECT_REFUSED(-EOPNOTSUPP, .config = exits, .sample_period = 1,
		       .sample_type = PERF_SAMPLE_BRANCH_STACK,
		       .branch_sample_type = PERF_SAMPLE_BRANCH_ANY);
}

static void run_to_user(struct __test_metadata *_metadata, struct guest_vcpu *v, int times)
{
	vcpu_run_times(_metadata, v, STATS_USER_EXIT_REASON, times);
}

static void init_two_exits(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_CODE, 0);
}

static int open_event(struct __test_metadata *_metadata, __u64 config, pid_t tid, int cpu)
{
	/* perf sets exclude_guest, too. */
	struct perf_event_attr attr = { .config = config, .exclude_guest = 1 };
	int event = perf_open(&attr, tid, cpu, -1);

	ASSERT_LE(0, event) TH_LOG("%s", strerror(-event));
	return event;
}

/* All events, and the values of the file when they were opened. */
struct all_events {
	unsigned int num;
	int event[MAX_EVENTS];
	__u64 before[MAX_EVENTS];
	const struct kvm_stats_desc *desc[MAX_EVENTS];
	unsigned int value[MAX_EVENTS];
};

static __u64 file_value(struct __test_metadata *_metadata, const struct stats_file *f,
			const struct kvm_stats_desc *desc, unsigned int i)
{
	__u64 value;

	ASSERT_EQ((ssize_t)sizeof(value),
		  pread(f->fd, &value, sizeof(value),
			f->header.data_offset + desc->offset + 8 * i));
	return value;
}

static void open_all(struct __test_metadata *_metadata, struct all_events *all,
		     const struct stats_file *f, pid_t tid)
{
	const struct kvm_stats_desc *desc;
	unsigned int i, value;

	all->num = 0;
	for (i = 0; (desc = stats_desc(f, i)); i++) {
		for (value = 0; can_be_counted(desc) && value < desc->size; value++) {
			ASSERT_GT(MAX_EVENTS, all->num);
			all->desc[all->num] = desc;
			all->value[all->num] = value;
			all->event[all->num] =
				open_event(_metadata, desc->offset / 8 | value << 16, tid, -1);
			all->before[all->num] = file_value(_metadata, f, desc, value);
			all->num++;
		}
	}
}

/* Expect that each event has counted what the file shows. */
static void close_all(struct __test_metadata *_metadata,
		      struct all_events *all, const struct stats_file *f)
{
	unsigned int i;

	for (i = 0; i < all->num; i++) {
		EXPECT_EQ(file_value(_metadata, f, all->desc[i],
				     all->value[i]) - all->before[i],
			  perf_read(_metadata, all->event[i])) {
			TH_LOG("%s %u", all->desc[i]->name, all->value[i]);
		}
		close(all->event[i]);
	}
}

TEST_F(perf, events_of_a_thread_count_what_the_file_shows)
{
	struct all_events all;

	init_two_exits(_metadata, self->vcpu);
	open_all(_metadata, &all, &self->vcpu->file, 0);
	run_to_user(_metadata, self->vcpu, TIMES);
	vcpu_complete_exit(_metadata, self->vcpu);
	close_all(_metadata, &all, &self->vcpu->file);
}

/* Run TIMES times, in turn on each CPU. */
static void run_on_cpus(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	long i, cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (i = 0; i < TIMES / MOVE_EVERY; i++) {
		ASSERT_EQ(0, stay_on_cpu(i % cpus));
		run_to_user(_metadata, v, MOVE_EVERY);
	}
}

/* Compete for the CPU until the thread was preempted often. A debug kernel takes longer. */
static void run_until_preempted(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	struct busy_thread rival;
	long before;

	busy_start(_metadata, &rival);
	before = thread_preemptions();
	ASSERT_LE(0, before);
	do {
		run_to_user(_metadata, v, MOVE_EVERY);
	} while (thread_preemptions() - before < PREEMPTIONS);
	busy_end(_metadata, &rival);
}

/* KVM counts some of the time before it loads the vCPU, and after it has put it. */
TEST_F(perf, events_with_time_accounting_count_what_the_file_shows)
{
	bool was_on = stats_time_is_on(_metadata);
	struct all_events all;

	stats_time_turn_on(_metadata);
	init_two_exits(_metadata, self->vcpu);
	open_all(_metadata, &all, &self->vcpu->file, 0);
	run_until_preempted(_metadata, self->vcpu);
	/* KVM may have subtracted waits from the time of these exits. */
	run_to_user(_metadata, self->vcpu, TIMES);
	vcpu_complete_exit(_metadata, self->vcpu);
	EXPECT_LT(0UL, vcpu_read(_metadata, self->vcpu, "time_user_ns"));
	close_all(_metadata, &all, &self->vcpu->file);
	if (!was_on)
		stats_time_turn_off(_metadata);
}

/* A thread that waits until its events are open, then runs a vCPU. */
struct worker {
	struct guest_vcpu *vcpu;
	pthread_t thread;
	pid_t tid;
	int go;
	int times;
	long result;
};

static void *worker_thread(void *arg)
{
	struct worker *w = arg;
	int i;

	__atomic_store_n(&w->tid, stats_tid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&w->go, __ATOMIC_ACQUIRE))
		sched_yield();
	for (i = 0; i < w->times && !w->result; i++)
		w->result = result(ioctl(w->vcpu->fd, KVM_RUN, 0));
	return NULL;
}

static void worker_start(struct __test_metadata *_metadata, struct worker *w,
			 struct guest_vcpu *v, int times)
{
	memset(w, 0, sizeof(*w));
	w->vcpu = v;
	w->times = times;
	ASSERT_EQ(0, pthread_create(&w->thread, NULL, worker_thread, w));
	while (!__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void worker_run(struct __test_metadata *_metadata, struct worker *w)
{
	__atomic_store_n(&w->go, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(w->thread, NULL));
	ASSERT_EQ(0, w->result);
}

/* A thread that wakes a vCPU again and again. */
struct waker {
	pthread_t thread;
	int vm;
	int vcpu;
	bool stop;
	struct __test_metadata *metadata;
};

static void *waker_thread(void *arg)
{
	struct waker *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
		stats_arch_wake(w->metadata, w->vm, w->vcpu);
		stats_arch_woken(w->metadata, w->vm, w->vcpu);
	}
	return NULL;
}

/*
 * The waker's CPU counts. Some of this is while perf removes the thread's events, one after
 * the other, and between this and the end of the vCPU's time on its CPU.
 */
TEST_F(perf, events_of_a_thread_count_wakeups_by_another_cpu)
{
	struct waker waker = { .metadata = _metadata };
	struct stats_setting settings[] = {
		{ "/sys/module/kvm/parameters", "halt_poll_ns", "0" },
		{ }
	};
	struct guest guest = { .irqchip = true };
	struct stats_keeper keeper;
	__u64 config, before;
	struct guest_vcpu *v;
	int event[2];

	stats_change_settings(_metadata, settings, &keeper);
	guest_create(_metadata, &guest, 1);
	v = &guest.vcpu[0];
	waker.vm = guest.vm;
	waker.vcpu = v->fd;
	config = perf_config(_metadata, &v->file, "halt_wakeup", 0);
	event[0] = open_event(_metadata, config, 0, -1);
	event[1] = open_event(_metadata, config, 0, -1);
	before = vcpu_read(_metadata, v, "halt_wakeup");
	ASSERT_EQ(0, pthread_create(&waker.thread, NULL, waker_thread, &waker));
	while (vcpu_read(_metadata, v, "halt_wakeup") - before < WAKEUPS) {
		guest_start(_metadata, &guest, stats_sleep, stats_sleep_end, 0);
		ASSERT_EQ(0, result(ioctl(v->fd, KVM_RUN, 0)));
	}
	__atomic_store_n(&waker.stop, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(waker.thread, NULL));
	/* A KVM_RUN flushes what the waker counted after the last one. */
	guest_start(_metadata, &guest, stats_sleep, stats_sleep_end, 0);
	v->run->immediate_exit = 1;
	EXPECT_EQ(-EINTR, result(ioctl(v->fd, KVM_RUN, 0)));
	EXPECT_EQ(vcpu_read(_metadata, v, "halt_wakeup") - before, perf_read(_metadata, event[0]));
	EXPECT_EQ(vcpu_read(_metadata, v, "halt_wakeup") - before, perf_read(_metadata, event[1]));
	stats_restore_settings(_metadata, &keeper);
}

TEST_F(perf, vcpu_counts_only_for_the_thread_that_runs_it)
{
	__u64 config = user_exits_config(_metadata, self->vcpu);
	int mine = open_event(_metadata, config, 0, -1);
	struct all_events all;
	struct worker w;
	int event;

	init_two_exits(_metadata, self->vcpu);
	run_to_user(_metadata, self->vcpu, 1);
	worker_start(_metadata, &w, self->vcpu, TIMES);
	event = open_event(_metadata, config, w.tid, -1);
	open_all(_metadata, &all, &self->vcpu->file, w.tid);
	worker_run(_metadata, &w);
	EXPECT_EQ((__u64)TIMES, perf_read(_metadata, event));
	close_all(_metadata, &all, &self->vcpu->file);
	EXPECT_EQ(1UL, perf_read(_metadata, mine));
	run_to_user(_metadata, self->vcpu, 2);
	EXPECT_EQ((__u64)TIMES, perf_read(_metadata, event));
	EXPECT_EQ(3UL, perf_read(_metadata, mine));
}

/* An event on each CPU. */
struct cpus_event {
	int event[MAX_CPUS];
	long cpus;
};

/* @tid is -1, or a cgroup with its flag. */
static void open_on_cpus(struct __test_metadata *_metadata,
			 struct cpus_event *e, __u64 config, int tid, unsigned long flags)
{
	struct perf_event_attr attr = { .config = config };
	long i;

	e->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	ASSERT_GE(MAX_CPUS, e->cpus);
	for (i = 0; i < e->cpus; i++) {
		e->event[i] = perf_open_flags(&attr, tid, i, -1, flags);
		ASSERT_LE(0, e->event[i]) TH_LOG("CPU %ld: %s", i, strerror(-e->event[i]));
	}
}

static __u64 close_on_cpus(struct __test_metadata *_metadata, struct cpus_event *e)
{
	__u64 sum = 0;
	long i;

	for (i = 0; i < e->cpus; i++) {
		sum += perf_read(_metadata, e->event[i]);
		close(e->event[i]);
	}
	return sum;
}

TEST_F(perf, events_of_cpus_count_what_the_file_shows_despite_preemption)
{
	__u64 config = perf_config(_metadata, &self->vcpu->file, STATS_EXITS, 0);
	struct busy_thread rival;
	struct cpus_event exits;

	open_on_cpus(_metadata, &exits, config, -1, 0);
	init_two_exits(_metadata, self->vcpu);
	busy_start(_metadata, &rival);
	run_on_cpus(_metadata, self->vcpu);
	busy_end(_metadata, &rival);
	EXPECT_EQ(vcpu_read(_metadata, self->vcpu, STATS_EXITS),
		  close_on_cpus(_metadata, &exits));
}

TEST_F(perf, event_of_a_cgroup_counts_its_threads_on_each_cpu)
{
	char own[PATH_MAX], name[STATS_CGROUP_SIZE];
	int cgroup, enter, leave, ret = stats_cgroup_create(name);
	struct cpus_event event;

	if (ret)
		SKIP(return, "no cgroup: %s", strerror(-ret));
	stats_own_cgroup(_metadata, own);
	enter = stats_cgroup_open(_metadata, name, "cgroup.procs");
	leave = stats_cgroup_open(_metadata, own, "cgroup.procs");
	cgroup = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_LE(0, cgroup);
	open_on_cpus(_metadata, &event, user_exits_config(_metadata, self->vcpu), cgroup,
		     PERF_FLAG_PID_CGROUP);
	init_two_exits(_metadata, self->vcpu);
	run_to_user(_metadata, self->vcpu, 7);
	ASSERT_EQ(1, write(enter, "0", 1));
	run_on_cpus(_metadata, self->vcpu);
	ASSERT_EQ(1, write(leave, "0", 1));
	run_to_user(_metadata, self->vcpu, 7);
	EXPECT_EQ((__u64)TIMES, close_on_cpus(_metadata, &event));
	close(cgroup);
	EXPECT_EQ(0, result(rmdir(name)));
}

TEST_F(perf, event_counts_only_between_enable_and_disable)
{
	struct perf_event_attr attr = {
		.config = user_exits_config(_metadata, self->vcpu),
		.disabled = 1,
	};
	int event = perf_open(&attr, 0, -1, -1);
	int round;

	ASSERT_LE(0, event);
	init_two_exits(_metadata, self->vcpu);
	for (round = 1; round <= 3; round++) {
		run_to_user(_metadata, self->vcpu, 7);
		ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_ENABLE, 0));
		run_to_user(_metadata, self->vcpu, TIMES);
		ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_DISABLE, 0));
		EXPECT_EQ((__u64)TIMES * round, perf_read(_metadata, event));
	}
	ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_RESET, 0));
	run_to_user(_metadata, self->vcpu, 7);
	EXPECT_EQ(0UL, perf_read(_metadata, event));
}

/* Wait for a reason: the number of all exits also depends on interrupts of the host. */
static void wait_for_reason(struct __test_metadata *_metadata,
			    const struct guest_vcpu *v, const char *reason, __u64 times)
{
	const struct kvm_stats_desc *desc = stats_find(&v->file, "exit_reasons");
	int value = reason_find(&v->file, reason);
	int i;

	for (i = 0; i < RUNNER_MAX_READS; i++) {
		if (file_value(_metadata, &v->file, desc, value) == times)
			return;
		sched_yield();
	}
	ASSERT_EQ(times, file_value(_metadata, &v->file, desc, value));
}

/* The vCPU stays in KVM_RUN: the reader interrupts its CPU. */
TEST_F(perf, event_of_a_vcpu_that_runs_on_another_cpu_is_up_to_date)
{
	struct perf_event_attr attr = {
		.config = reason_config(_metadata, &self->vcpu->file, SPIN_EXIT_REASON),
		.inherit = 1,
	};
	int event = perf_open(&attr, 0, -1, -1);
	struct runner runner;

	ASSERT_LE(0, event);
	runner_start(_metadata, &runner, self->vcpu, TIMES, 1);
	wait_for_reason(_metadata, self->vcpu, SPIN_EXIT_REASON, TIMES);
	EXPECT_EQ((__u64)TIMES, perf_read(_metadata, event));
	EXPECT_EQ((__u64)TIMES, perf_read(_metadata, event));
	runner_stop(_metadata, &runner);
	EXPECT_EQ((__u64)TIMES, perf_read(_metadata, event));
}

/*
 * Open two events while the vCPU is on its CPU. One is of a value that has another event
 * already. If the thread loses its CPU, this tests nothing; the host has several CPUs.
 */
TEST_F(perf, new_event_does_not_count_what_was_before)
{
	__u64 exits = perf_config(_metadata, &self->vcpu->file, STATS_EXITS, 0);
	__u64 reason = reason_config(_metadata, &self->vcpu->file, SPIN_EXIT_REASON);
	int late, all, other = open_event(_metadata, reason, 0, -1);
	long i, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct runner runner;
	int round;
	__u64 sum;

	for (round = 1; round <= ROUNDS; round++) {
		runner_start(_metadata, &runner, self->vcpu, TIMES, 1);
		wait_for_reason(_metadata, self->vcpu, SPIN_EXIT_REASON, (__u64)TIMES * round);
		sum = 0;
		for (i = 0; i < cpus; i++) {
			late = open_event(_metadata, reason, -1, i);
			all = open_event(_metadata, exits, -1, i);
			EXPECT_EQ(0UL, perf_read(_metadata, late));
			sum += perf_read(_metadata, all);
			close(late);
			close(all);
		}
		/* Interrupts of the host are exits, too. */
		EXPECT_GT((__u64)TIMES, sum);
		runner_stop(_metadata, &runner);
	}
	EXPECT_EQ(0UL, perf_read(_metadata, other));
}

TEST_F(perf, event_outlives_the_vm)
{
	int event = open_event(_metadata, user_exits_config(_metadata, self->vcpu), 0, -1);

	init_two_exits(_metadata, self->vcpu);
	run_to_user(_metadata, self->vcpu, TIMES);
	guest_kill(&self->guest);
	EXPECT_EQ((__u64)TIMES, perf_read(_metadata, event));
}

/* The host's first event is opened and its last one closed while the vCPU exits. */
TEST_F(perf, events_can_be_opened_and_closed_while_a_vcpu_runs)
{
	struct perf_event_attr attr = {
		.config = user_exits_config(_metadata, self->vcpu),
	};
	struct worker w;
	int event, times = 0;

	init_two_exits(_metadata, self->vcpu);
	worker_start(_metadata, &w, self->vcpu, 20 * TIMES);
	__atomic_store_n(&w.go, 1, __ATOMIC_RELEASE);
	while (pthread_tryjoin_np(w.thread, NULL)) {
		event = perf_open(&attr, times % 2 ? w.tid : 0, -1, -1);
		/* The thread has just ended. */
		if (event == -ESRCH)
			continue;
		ASSERT_LE(0, event) TH_LOG("%s", strerror(-event));
		sched_yield();
		close(event);
		times++;
	}
	EXPECT_EQ(0, w.result);
	TH_LOG("%d events", times);
	EXPECT_LT(1, times);

	event = open_event(_metadata, attr.config, 0, -1);
	run_to_user(_metadata, self->vcpu, TIMES);
	EXPECT_EQ((__u64)TIMES, perf_read(_metadata, event));
}

struct charge {
	__u64 config;
	__u64 bytes;		/* of all values */
	char cgroup[STATS_CGROUP_SIZE];
};

static long charged(struct __test_metadata *_metadata, const struct charge *c)
{
	return stats_read_number(_metadata, c->cgroup, "memory.current", "");
}

/* An event of a thread needs memory for its vCPU, one of a CPU for all vCPUs. */
static void open_in_cgroup(struct __test_metadata *_metadata, void *arg)
{
	const struct charge *c = arg;
	long before, more;
	int event, i;

	stats_cgroup_enter(_metadata, c->cgroup);
	before = charged(_metadata, c);
	event = open_event(_metadata, c->config, 0, -1);
	EXPECT_GT((long)c->bytes / 4, charged(_metadata, c) - before);
	close(event);
	before = charged(_metadata, c);
	event = open_event(_metadata, c->config, -1, 0);
	more = charged(_metadata, c) - before;
	TH_LOG("%ld bytes for the event, %llu for values", more, c->bytes);
	/* A part may have been charged in advance. */
	EXPECT_LE((long)c->bytes / 2, more);

	close(event);
	/* The kernel frees the memory later; KASAN keeps it. */
	for (i = 0; i < FREED_SECONDS * 10 && stats_memory_is_exact(); i++) {
		if (charged(_metadata, c) - before < more / 2)
			return;
		poll(NULL, 0, 100);
	}
	EXPECT_FALSE(stats_memory_is_exact());
}

TEST_F(perf, opener_of_an_event_is_charged_for_its_memory_until_it_is_closed)
{
	struct charge charge = {
		.config = user_exits_config(_metadata, self->vcpu),
		.bytes = VMS * VCPUS_OF_VM * self->vcpu->file.data_size,
	};
	int ret, vm[VMS], i, j;

	if (charge.bytes / 4 < PAGES_IN_ADVANCE * sysconf(_SC_PAGESIZE))
		SKIP(return, "a cgroup is charged more than that in advance");
	ret = stats_cgroup_create(charge.cgroup);
	if (ret)
		SKIP(return, "no cgroup to count memory: %s", strerror(-ret));
	for (i = 0; i < VMS; i++) {
		vm[i] = stats_create_vm(_metadata);
		for (j = 0; j < VCPUS_OF_VM; j++)
			close(stats_create_vcpu(_metadata, vm[i], j));
	}
	stats_wait(_metadata, stats_fork(_metadata, open_in_cgroup, &charge));
	EXPECT_EQ(0, result(rmdir(charge.cgroup)));
	for (i = 0; i < VMS; i++)
		close(vm[i]);
}

#define MAX_ALLOCATIONS		100
#define FAIL_ROUNDS		1000

struct failure {
	__u64 config;
	int rounds;
	char cgroup[STATS_CGROUP_SIZE];
};

static int open_cpu_event(const void *arg)
{
	struct perf_event_attr attr = *(const struct perf_event_attr *)arg;

	return perf_open(&attr, -1, 0, -1);
}

/* Let each allocation of perf_event_open() fail once in each round. */
static void fail_to_open(struct __test_metadata *_metadata, int nr, void *arg)
{
	int i, n, refused, event, fail_nth = open(STATS_FAIL_NTH, O_RDWR | O_CLOEXEC);
	struct failure *f = arg;
	/* perf_type() needs memory itself. */
	struct perf_event_attr attr = { .type = perf_type(), .config = f->config };
	bool failed;

	ASSERT_LE(0, fail_nth);
	stats_cgroup_enter(_metadata, f->cgroup);
	for (i = 0; i < f->rounds; i++) {
		for (n = 1, refused = 0, failed = true; failed; n++) {
			ASSERT_GT(MAX_ALLOCATIONS, n);
			failed = stats_fail_nth(_metadata, fail_nth, n, open_cpu_event,
						&attr, &event);
			if (event < 0) {
				ASSERT_EQ(-ENOMEM, event);
				refused++;
				continue;
			}
			ASSERT_EQ(0UL, perf_read(_metadata, event));
			close(event);
		}
		ASSERT_LE(2, refused);
	}
}

static void fail_in_child(struct __test_metadata *_metadata, void *arg)
{
	stats_in_children(_metadata, 1, fail_to_open, arg);
}

TEST_F(perf, open_without_memory_fails_with_ENOMEM_and_leaves_nothing_behind)
{
	struct failure failure = {
		.config = user_exits_config(_metadata, self->vcpu),
		.rounds = 1,
	};
	struct stats_keeper keeper;
	int ret;

	if (!stats_can_fail_allocations())
		SKIP(return, "this kernel has no fault injection");
	ret = stats_cgroup_create(failure.cgroup);
	if (ret)
		SKIP(return, "no cgroup to count memory: %s", strerror(-ret));
	stats_fail_allocations(_metadata, &keeper);
	fail_in_child(_metadata, &failure);
	if (stats_memory_is_exact())
		failure.rounds = FAIL_ROUNDS;
	stats_expect_no_growth(_metadata, failure.cgroup, fail_in_child, &failure);
	stats_restore_settings(_metadata, &keeper);
	EXPECT_EQ(0, result(rmdir(failure.cgroup)));
}

/* Return the number of function call interrupts on all CPUs. */
static unsigned long function_calls(struct __test_metadata *_metadata)
{
	FILE *interrupts = fopen("/proc/interrupts", "r");
	unsigned long sum = 0, num;
	char line[4096], *at, *end;
	bool found = false;

	ASSERT_NE(NULL, interrupts);
	while (fgets(line, sizeof(line), interrupts)) {
		if (!strstr(line, "Function call interrupts"))
			continue;
		found = true;
		for (at = strchr(line, ':') + 1; num = strtoul(at, &end, 10), end != at; at = end)
			sum += num;
	}
	fclose(interrupts);
	ASSERT_TRUE(found);
	return sum;
}

#define EVENTS			200

TEST_F(perf, opening_and_closing_events_interrupts_no_other_cpu)
{
	struct perf_event_attr attr = { .config = user_exits_config(_metadata, self->vcpu) };
	unsigned long before = 0;
	int i;

	for (i = 0; i <= EVENTS; i++) {
		attr.sample_period = i % 2 ? 0 : 1000;
		close(perf_open(&attr, 0, -1, -1));
		if (!i)
			before = function_calls(_metadata);
	}
	EXPECT_GT(EVENTS / 2UL, function_calls(_metadata) - before);
}

TEST_F(perf, open_event_holds_the_module)
{
	char line[STATS_LINE_SIZE];
	int before;

	if (!stats_read_line("/sys/module/kvm", "refcnt", line))
		return;		/* KVM is built in */
	before = atoi(line);
	open_event(_metadata, user_exits_config(_metadata, self->vcpu), 0, -1);
	ASSERT_TRUE(stats_read_line("/sys/module/kvm", "refcnt", line));
	EXPECT_EQ(before + 1, atoi(line));
}

/* Expect @num samples, all at @ip. */
static void expect_samples(struct __test_metadata *_metadata,
			   struct perf_ring *ring, __u64 num, __u64 ip, __u64 period, pid_t tid)
{
	struct perf_sample sample;
	__u64 found = 0;

	while (perf_ring_next(ring, &sample)) {
		found++;
		EXPECT_EQ(PERF_RECORD_MISC_GUEST_KERNEL,
			  sample.header.misc & PERF_RECORD_MISC_CPUMODE_MASK);
		EXPECT_EQ(ip, sample.ip);
		EXPECT_EQ((__u32)getpid(), sample.pid);
		EXPECT_EQ((__u32)tid, sample.tid);
		EXPECT_EQ(period, sample.period);
	}
	EXPECT_EQ(num, found);
}

static void expect_sampled(struct __test_metadata *_metadata, struct guest_vcpu *v,
			   int exclude_guest, int exclude_host)
{
	struct perf_event_attr attr = {
		.config = user_exits_config(_metadata, v),
		.sample_period = 1,
		.sample_type = PERF_SAMPLES,
		.exclude_guest = exclude_guest,
		.exclude_host = exclude_host,
	};
	__u16 mode = exclude_guest ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_GUEST_KERNEL;
	int event = perf_open(&attr, 0, -1, -1), samples = 0;
	struct perf_sample sample;
	struct perf_ring ring;

	ASSERT_LE(0, event) TH_LOG("%s", strerror(-event));
	perf_ring_map(_metadata, &ring, event);
	run_to_user(_metadata, v, ROUNDS);
	EXPECT_EQ((__u64)ROUNDS, perf_read(_metadata, event));
	for (; perf_ring_next(&ring, &sample); samples++) {
		EXPECT_EQ(mode, sample.header.misc & PERF_RECORD_MISC_CPUMODE_MASK);
		EXPECT_EQ(!exclude_guest, sample.ip == USER_EXIT_IP) TH_LOG("%llx", sample.ip);
	}
	EXPECT_EQ(ROUNDS, samples);
	perf_ring_unmap(&ring);
	close(event);
}

TEST_F(perf, exclude_guest_moves_samples_to_the_host_and_counts_the_same)
{
	init_two_exits(_metadata, self->vcpu);
	expect_sampled(_metadata, self->vcpu, 0, 0);
	expect_sampled(_metadata, self->vcpu, 0, 1);
	expect_sampled(_metadata, self->vcpu, 1, 0);
}

/* Two events are sampled, each at its own instruction. */
TEST_F(perf, sample_is_at_the_instruction_that_exits)
{
	const __u64 period = 10;
	struct perf_ring user_ring, kernel_ring;
	int user, kernel;

	user = perf_open_samples(_metadata, user_exits_config(_metadata, self->vcpu),
				 0, -1, period, &user_ring);
	kernel = perf_open_samples(_metadata,
				   reason_config(_metadata, &self->vcpu->file,
						 KERNEL_EXIT_REASON),
				   0, -1, period, &kernel_ring);
	init_two_exits(_metadata, self->vcpu);
	run_to_user(_metadata, self->vcpu, TIMES);
	expect_samples(_metadata, &user_ring, TIMES / period, USER_EXIT_IP,
		       period, stats_tid());
	expect_samples(_metadata, &kernel_ring, TIMES / period, KERNEL_EXIT_IP,
		       period, stats_tid());
	EXPECT_EQ((__u64)TIMES, perf_read(_metadata, user));
	EXPECT_EQ((__u64)TIMES, perf_read(_metadata, kernel));
}

TEST_F(perf, period_continues_after_migrations_and_preemptions)
{
	const __u64 period = 7;
	struct busy_thread rival;
	struct perf_ring ring;

	perf_open_samples(_metadata, user_exits_config(_metadata, self->vcpu), 0, -1, period,
			  &ring);
	init_two_exits(_metadata, self->vcpu);
	busy_start(_metadata, &rival);
	run_on_cpus(_metadata, self->vcpu);
	busy_end(_metadata, &rival);
	expect_samples(_metadata, &ring, TIMES / period, USER_EXIT_IP, period, stats_tid());
}

TEST_F(perf, sample_of_a_cpu_event_has_the_thread_that_runs_the_vcpu)
{
	const __u64 period = 100;
	struct perf_ring ring;
	struct worker w;

	stay_on_this_cpu(_metadata);
	perf_open_samples(_metadata, user_exits_config(_metadata, self->vcpu), -1,
			  sched_getcpu(), period, &ring);
	init_two_exits(_metadata, self->vcpu);
	worker_start(_metadata, &w, self->vcpu, TIMES);
	worker_run(_metadata, &w);
	expect_samples(_metadata, &ring, TIMES / period, USER_EXIT_IP, period, w.tid);
}

/* Throttle records to wait for, and the rounds in which they must come. */
#define THROTTLED_TIMES		10
#define MAX_ROUNDS		1000

/* Run the guest and return the number of samples. */
static __u64 run_with_samples(struct __test_metadata *_metadata,
			      struct guest_vcpu *v, struct perf_ring *ring)
{
	struct perf_sample sample;
	__u64 found = 0;

	run_to_user(_metadata, v, TIMES);
	while (perf_ring_next(ring, &sample)) {
		found++;
		EXPECT_EQ((__u64)USER_EXIT_IP, sample.ip);
	}
	return found;
}

/* perf throttles an event with too many samples until the host's next tick. */
TEST_F(perf, throttled_event_continues_to_count_and_is_sampled_again)
{
	struct stats_setting settings[] = {
		{ "/proc/sys/kernel", "perf_event_max_sample_rate", "1" },
		{ }
	};
	__u64 run = 0, found = 0, count;
	struct stats_keeper keeper;
	struct perf_ring ring;
	int event;

	if (access("/proc/sys/kernel/perf_event_max_sample_rate", W_OK))
		SKIP(return, "the rate cannot be set: %s", strerror(errno));
	stats_change_settings(_metadata, settings, &keeper);
	event = perf_open_samples(_metadata, user_exits_config(_metadata, self->vcpu),
				  0, -1, 1, &ring);
	init_two_exits(_metadata, self->vcpu);
	for (; ring.throttled < THROTTLED_TIMES && run < MAX_ROUNDS; run++)
		found += run_with_samples(_metadata, self->vcpu, &ring);
	count = perf_read(_metadata, event);
	TH_LOG("%llu samples of %llu, throttled %u times", found, count, ring.throttled);
	EXPECT_EQ(run * TIMES, count);
	EXPECT_LE(THROTTLED_TIMES, ring.throttled);
	EXPECT_LE(THROTTLED_TIMES, found);
	EXPECT_GT(count, found);
	stats_restore_settings(_metadata, &keeper);
}

TEST_F(perf, sample_wakes_poll)
{
	struct perf_ring ring;
	struct pollfd poll_event = { .events = POLLIN };
	int event = perf_open_samples(_metadata, user_exits_config(_metadata, self->vcpu),
				      0, -1, TIMES, &ring);

	poll_event.fd = event;
	init_two_exits(_metadata, self->vcpu);
	run_to_user(_metadata, self->vcpu, TIMES - 1);
	EXPECT_EQ(0, poll(&poll_event, 1, 0));
	run_to_user(_metadata, self->vcpu, 1);
	EXPECT_EQ(1, poll(&poll_event, 1, 0));
	EXPECT_EQ(POLLIN, poll_event.revents);
}

TEST_HARNESS_MAIN
