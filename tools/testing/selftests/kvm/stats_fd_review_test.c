// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that hold statistics files, or that open perf events, do not disturb VMs
 * and CPUs that are none of their business.
 */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "stats_fd_memory.h"
#include "stats_fd_perf.h"

/* Registrations of one file with epoll, whose wake-ups take many times a creation. */
#define SETS		64
#define FILES		512

/* The fastest of these is compared, in time of the thread on a CPU. */
#define VCPUS		5
#define ATTEMPTS	20

/* How many times as long it may take with waiters, and how much longer: noise. */
#define TIMES_AS_LONG	2
#define NOISE_NS	(2 * 1000 * 1000)

static __u64 cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

FIXTURE(waiters)
{
	int kvm;
	int set[SETS];
	int file[FILES];
};

FIXTURE_SETUP(waiters)
{
	struct rlimit files = { 4096, 4096 };
	int i;

	setrlimit(RLIMIT_NOFILE, &files);
	self->kvm = stats_open_kvm(_metadata);
	for (i = 0; i < SETS; i++) {
		self->set[i] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, self->set[i]);
	}
}

FIXTURE_TEARDOWN(waiters)
{
	int i;

	for (i = 0; i < SETS; i++)
		close(self->set[i]);
	close(self->kvm);
}

/* Each set waits for each of the file's descriptors. */
static void wait_for(struct __test_metadata *_metadata, int file, const int set[SETS],
		     int copy[FILES])
{
	struct epoll_event event = { .events = EPOLLPRI };
	int i, j;

	for (i = 0; i < FILES; i++) {
		copy[i] = dup(file);
		ASSERT_LE(0, copy[i]);
		for (j = 0; j < SETS; j++)
			ASSERT_EQ(0, epoll_ctl(set[j], EPOLL_CTL_ADD, copy[i], &event));
	}
}

static void close_all(const int fd[FILES])
{
	int i;

	for (i = 0; i < FILES; i++)
		close(fd[i]);
}

/* Time on a CPU, of the fastest, to create a vCPU and to destroy VM and vCPUs. */
struct cost {
	__u64 create;
	__u64 destroy;
};

static void min_of(__u64 *least, __u64 ns)
{
	if (ns < *least)
		*least = ns;
}

static void add_cost_of_vm(struct __test_metadata *_metadata, struct cost *cost,
			   int kvm, const int set[SETS], int copy[FILES])
{
	int vm = ioctl(kvm, KVM_CREATE_VM, 0), vcpu[VCPUS], file, i;
	__u64 before;

	ASSERT_LE(0, vm);
	file = stats_get_fd(_metadata, vm);
	if (copy)
		wait_for(_metadata, file, set, copy);
	for (i = 0; i < VCPUS; i++) {
		before = cpu_time();
		vcpu[i] = ioctl(vm, KVM_CREATE_VCPU, i);
		min_of(&cost->create, cpu_time() - before);
		ASSERT_LE(0, vcpu[i]);
	}
	for (i = 0; i < VCPUS; i++)
		close(vcpu[i]);
	before = cpu_time();
	close(vm);
	min_of(&cost->destroy, cpu_time() - before);
	if (copy)
		close_all(copy);
	close(file);
}

TEST_F(waiters, delay_neither_creation_of_vcpus_nor_the_end_of_the_vm)
{
	struct cost without = { ULLONG_MAX, ULLONG_MAX }, with = without;
	int i;

	for (i = 0; i < ATTEMPTS; i++) {
		add_cost_of_vm(_metadata, &without, self->kvm, self->set, NULL);
		add_cost_of_vm(_metadata, &with, self->kvm, self->set, self->file);
	}
	TH_LOG("create: %llu ns, %llu with waiters; destroy: %llu, %llu",
	       without.create, with.create, without.destroy, with.destroy);
	EXPECT_GT(without.create * TIMES_AS_LONG + NOISE_NS, with.create);
	EXPECT_GT(without.destroy * TIMES_AS_LONG + NOISE_NS, with.destroy);
}

/* perf events */

#define EVENTS		200

/* VMs whose vCPUs nobody runs. */
#define VMS		64
#define VCPUS_OF_VM	8

/* A cgroup is charged for so many when it needs one. */
#define PAGES_IN_ADVANCE	32

FIXTURE(events)
{
	int kvm;
	int vm;
	int vcpu;
	struct stats_file file;
	__u64 config;
};

FIXTURE_SETUP(events)
{
	self->kvm = stats_open_kvm(_metadata);
	if (!perf_type())
		SKIP_IN_SETUP("KVM has no events");
	self->vm = ioctl(self->kvm, KVM_CREATE_VM, 0);
	ASSERT_LE(0, self->vm);
	self->vcpu = ioctl(self->vm, KVM_CREATE_VCPU, 0);
	ASSERT_LE(0, self->vcpu);
	stats_load(_metadata, stats_get_fd(_metadata, self->vcpu), &self->file);
	self->config = perf_config(_metadata, &self->file, "exits", 0);
}

FIXTURE_TEARDOWN(events)
{
	stats_unload(&self->file);
	close(self->vcpu);
	close(self->vm);
	close(self->kvm);
}

static int open_own(struct __test_metadata *_metadata, __u64 config, __u64 period)
{
	struct perf_event_attr attr = { .config = config, .sample_period = period, };
	int event = perf_open(&attr, 0, -1, -1);

	ASSERT_LE(0, event) TH_LOG("%s", strerror(-event));
	return event;
}

/* On all CPUs. */
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

TEST_F(events, that_come_and_go_interrupt_no_other_cpu)
{
	unsigned long before, calls;
	int i;

	close(open_own(_metadata, self->config, 1000));
	before = function_calls(_metadata);
	for (i = 0; i < EVENTS; i++)
		close(open_own(_metadata, self->config, i % 2 ? 1000 : 0));
	calls = function_calls(_metadata) - before;
	TH_LOG("%lu function calls by interrupt", calls);
	EXPECT_GT(EVENTS / 4UL, calls);
}

/* Exits to user space, each of which has a sample. */
#define SAMPLES		20

FIXTURE(exclude)
{
	int kvm;
	struct guest guest;
};

FIXTURE_VARIANT(exclude)
{
	int guest;
	int host;
	__u16 cpumode;
	bool at_guest_code;
};

FIXTURE_VARIANT_ADD(exclude, nothing)
{
	.cpumode = PERF_RECORD_MISC_GUEST_KERNEL,
	.at_guest_code = true,
};

FIXTURE_VARIANT_ADD(exclude, host)
{
	.host = 1,
	.cpumode = PERF_RECORD_MISC_GUEST_KERNEL,
	.at_guest_code = true,
};

FIXTURE_VARIANT_ADD(exclude, guest)
{
	.guest = 1,
	.cpumode = PERF_RECORD_MISC_KERNEL,
};

FIXTURE_SETUP(exclude)
{
	self->kvm = stats_open_kvm(_metadata);
	if (!perf_type())
		SKIP_IN_SETUP("KVM has no events");
	guest_create(_metadata, self->kvm, &self->guest, 1);
}

FIXTURE_TEARDOWN(exclude)
{
	guest_destroy(&self->guest);
	close(self->kvm);
}

static bool is_guest_code(__u64 ip)
{
	return ip < GUEST_CODE + 4096;
}

TEST_F(exclude, chooses_where_samples_are_and_not_what_counts)
{
	struct guest_vcpu *v = &self->guest.vcpu[0];
	struct perf_event_attr attr = {
		.config = perf_config(_metadata, &v->file, STATS_USER_EXITS, 0),
		.sample_period = 1,
		.sample_type = PERF_SAMPLES,
		.exclude_guest = variant->guest,
		.exclude_host = variant->host,
	};
	int event = perf_open(&attr, 0, -1, -1), samples = 0;
	struct perf_sample sample;
	struct perf_ring ring;

	ASSERT_LE(0, event) TH_LOG("%s", strerror(-event));
	perf_ring_map(_metadata, &ring, event);
	vcpu_exit_to_user(_metadata, v, SAMPLES);
	EXPECT_EQ((__u64)SAMPLES, perf_read(_metadata, event));
	for (; perf_ring_next(&ring, &sample); samples++) {
		EXPECT_EQ(variant->cpumode,
			  sample.header.misc & PERF_RECORD_MISC_CPUMODE_MASK);
		EXPECT_EQ(variant->at_guest_code, is_guest_code(sample.ip)) {
			TH_LOG("%llx", sample.ip);
		}
	}
	EXPECT_EQ(SAMPLES, samples);
	perf_ring_unmap(&ring);
	close(event);
}

struct charge {
	__u64 config;
	__u64 bytes;		/* of the values of all vCPUs that nobody runs */
	char cgroup[STATS_CGROUP_SIZE];
};

static void open_in_cgroup(struct __test_metadata *_metadata, void *arg)
{
	const struct charge *c = arg;
	long before;
	int event;

	stats_cgroup_enter(_metadata, c->cgroup);
	before = stats_read_number(_metadata, c->cgroup, "memory.current", "");
	event = open_own(_metadata, c->config, 0);
	EXPECT_GT((long)c->bytes / 4,
		  stats_read_number(_metadata, c->cgroup, "memory.current", "") - before);
	close(event);
}

TEST_F(events, of_a_thread_take_no_memory_for_vcpus_of_others)
{
	struct charge charge = {
		.config = self->config,
		.bytes = VMS * VCPUS_OF_VM * self->file.data_size,
	};
	int ret = stats_cgroup_create(charge.cgroup);
	int vm[VMS], vcpu[VMS][VCPUS_OF_VM], i, j;

	if (ret)
		SKIP(return, "no cgroup to count memory: %s", strerror(-ret));
	if (charge.bytes / 4 < PAGES_IN_ADVANCE * sysconf(_SC_PAGESIZE)) {
		rmdir(charge.cgroup);
		SKIP(return, "a cgroup is charged more than that in advance");
	}
	for (i = 0; i < VMS; i++) {
		vm[i] = ioctl(self->kvm, KVM_CREATE_VM, 0);
		ASSERT_LE(0, vm[i]);
		for (j = 0; j < VCPUS_OF_VM; j++) {
			vcpu[i][j] = ioctl(vm[i], KVM_CREATE_VCPU, j);
			ASSERT_LE(0, vcpu[i][j]);
		}
	}
	stats_wait(_metadata, stats_fork(_metadata, open_in_cgroup, &charge));
	EXPECT_EQ(0, result(rmdir(charge.cgroup)));
	for (i = 0; i < VMS; i++) {
		for (j = 0; j < VCPUS_OF_VM; j++)
			close(vcpu[i][j]);
		close(vm[i]);
	}
}

TEST_HARNESS_MAIN
