// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics files of guests that exit a known number of times: what is
 * counted, where, and that neither reading nor getting a file waits for a vCPU
 * that never leaves the guest.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"

/* Exits that a guest is asked for. */
#define EXITS			1000

/* Looks at a counter before it counts as stuck; each gives up the CPU. */
#define MAX_LOOKS		(1000 * 1000)

/* Far beyond any ioctl that does not wait, far below the test's timeout. */
#define NOT_WAITING_SECONDS	5

/* A thread inside of KVM_RUN. */
struct runner {
	struct guest_vcpu *vcpu;
	pthread_t thread;
	long result;
	bool returned;
};

static __thread struct kvm_run *kicked_run;

/* Ends a KVM_RUN, also one that has yet to begin. */
static void kick(int sig)
{
	kicked_run->immediate_exit = sig != 0;
}

static void *run_vcpu(void *arg)
{
	struct runner *r = arg;

	kicked_run = r->vcpu->run;
	r->result = result(ioctl(r->vcpu->fd, KVM_RUN, 0));
	__atomic_store_n(&r->returned, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool runner_returned(struct runner *r)
{
	return __atomic_load_n(&r->returned, __ATOMIC_ACQUIRE);
}

/* Look at the number of exits until it is at least @least. */
static void runner_wait_for_exits(struct __test_metadata *_metadata,
				  struct runner *r, __u64 least)
{
	int i;

	for (i = 0; i < MAX_LOOKS; i++) {
		if (vcpu_read(_metadata, r->vcpu, "exits") >= least)
			return;
		ASSERT_FALSE(runner_returned(r)) {
			TH_LOG("KVM_RUN: %ld, exit reason %u", r->result,
			       r->vcpu->run->exit_reason);
		}
		sched_yield();
	}
	ASSERT_LE(least, vcpu_read(_metadata, r->vcpu, "exits"));
}

/*
 * Start a vCPU that has @count exits that KVM handles and then spins. It never
 * leaves the guest by itself, and it is there when this returns.
 */
static void runner_start(struct __test_metadata *_metadata, struct runner *r,
			 struct guest_vcpu *v, __u32 count)
{
	struct sigaction action = { .sa_handler = kick };
	__u64 before = vcpu_read(_metadata, v, "exits");

	memset(r, 0, sizeof(*r));
	r->vcpu = v;
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_KERNEL_EXITS, count);
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, pthread_create(&r->thread, NULL, run_vcpu, r));
	runner_wait_for_exits(_metadata, r, before + EXITS);
}

/* Fails if the vCPU was not inside of KVM_RUN all the time. */
static void runner_stop(struct __test_metadata *_metadata, struct runner *r)
{
	EXPECT_FALSE(runner_returned(r));
	ASSERT_EQ(0, pthread_kill(r->thread, SIGUSR1));
	ASSERT_EQ(0, pthread_join(r->thread, NULL));
	EXPECT_EQ(-EINTR, r->result);
	r->vcpu->run->immediate_exit = 0;
}

FIXTURE(guest)
{
	int kvm;
	struct guest guest;
	struct guest_vcpu *vcpu;	/* the first one */
};

FIXTURE_SETUP(guest)
{
	self->kvm = stats_open_kvm(_metadata);
	guest_create(_metadata, self->kvm, &self->guest, 2);
	self->vcpu = &self->guest.vcpu[0];
}

FIXTURE_TEARDOWN(guest)
{
	guest_destroy(&self->guest);
	close(self->kvm);
}

TEST_F(guest, thousand_exits_to_user_space_count_as_thousand)
{
	__u64 exits = vcpu_read(_metadata, self->vcpu, "exits");

	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, STATS_USER_EXITS));
	vcpu_exit_to_user(_metadata, self->vcpu, EXITS);
	EXPECT_EQ((__u64)EXITS,
		  vcpu_read(_metadata, self->vcpu, STATS_USER_EXITS));
	/* Faults and interrupts of the host are exits as well. */
	EXPECT_LE(exits + EXITS, vcpu_read(_metadata, self->vcpu, "exits"));
}

TEST_F(guest, exits_that_kvm_handles_do_not_count_as_exits_to_user_space)
{
	struct runner runner;

	runner_start(_metadata, &runner, self->vcpu, EXITS);
	runner_stop(_metadata, &runner);
	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, STATS_USER_EXITS));
}

TEST_F(guest, counters_move_while_the_vcpu_is_inside_KVM_RUN)
{
	struct runner runner;
	__u64 exits;

	runner_start(_metadata, &runner, self->vcpu, UINT_MAX);
	exits = vcpu_read(_metadata, self->vcpu, "exits");
	runner_wait_for_exits(_metadata, &runner, exits + EXITS);
	runner_stop(_metadata, &runner);
}

TEST_F(guest, other_vcpus_and_vms_do_not_count)
{
	struct guest_vcpu *idle = &self->guest.vcpu[1];
	struct guest other = { };
	struct stats_file other_vm;

	guest_create(_metadata, self->kvm, &other, 1);
	stats_load(_metadata, stats_get_fd(_metadata, other.vm), &other_vm);

	vcpu_exit_to_user(_metadata, self->vcpu, EXITS);
	EXPECT_EQ(0, stats_same(idle->file.fd, &idle->file));
	EXPECT_EQ(0, stats_same(other.vcpu[0].file.fd, &other.vcpu[0].file));
	EXPECT_EQ(0, stats_same(other_vm.fd, &other_vm));

	stats_unload(&other_vm);
	guest_destroy(&other);
}

static void expect_only_growth(struct __test_metadata *_metadata,
			       const struct stats_file *before)
{
	const struct kvm_stats_desc *desc;
	struct stats_file after;
	unsigned int i, j;

	stats_load(_metadata, dup(before->fd), &after);
	ASSERT_EQ(before->size, after.size);
	EXPECT_EQ(0, memcmp(before->bytes, after.bytes,
			    before->header.data_offset));
	for (i = 0; (desc = stats_desc(before, i)); i++) {
		if ((desc->flags & KVM_STATS_TYPE_MASK) ==
		    KVM_STATS_TYPE_INSTANT)
			continue;
		for (j = 0; j < desc->size; j++) {
			EXPECT_LE(stats_value(before, desc, j),
				  stats_value(&after, desc, j)) {
				TH_LOG("%s", desc->name);
			}
		}
	}
	stats_unload(&after);
}

TEST_F(guest, running_changes_only_data_and_shrinks_only_instant_values)
{
	struct runner runner;
	struct stats_file vm;

	stats_load(_metadata, stats_get_fd(_metadata, self->guest.vm), &vm);
	vcpu_exit_to_user(_metadata, self->vcpu, EXITS);
	expect_only_growth(_metadata, &vm);
	expect_only_growth(_metadata, &self->vcpu->file);

	runner_start(_metadata, &runner, self->vcpu, EXITS);
	runner_stop(_metadata, &runner);
	expect_only_growth(_metadata, &vm);
	expect_only_growth(_metadata, &self->vcpu->file);
	stats_unload(&vm);
}

TEST_F(guest, last_values_outlive_the_vm)
{
	struct stats_file vm, vcpu;
	__u64 exits;

	vcpu_exit_to_user(_metadata, self->vcpu, EXITS);
	exits = vcpu_read(_metadata, self->vcpu, "exits");
	stats_load(_metadata, stats_get_fd(_metadata, self->guest.vm), &vm);
	stats_load(_metadata, stats_get_fd(_metadata, self->vcpu->fd), &vcpu);
	guest_kill(&self->guest);

	stats_expect_fdinfo(_metadata, vm.fd, "state", "dead");
	stats_expect_fdinfo(_metadata, vcpu.fd, "state", "dead");
	EXPECT_EQ(exits, vcpu_read(_metadata, self->vcpu, "exits"));
	EXPECT_EQ((__u64)EXITS,
		  vcpu_read(_metadata, self->vcpu, STATS_USER_EXITS));
	expect_only_growth(_metadata, &vm);
	expect_only_growth(_metadata, &vcpu);
	stats_unload(&vm);
	stats_unload(&vcpu);
}

/* Get a file in a thread, so that one that waits can be told. */
struct opener {
	int source;
	long result;
	sem_t done;
};

static void *open_file(void *arg)
{
	struct opener *o = arg;

	o->result = result(ioctl(o->source, KVM_GET_STATS_FD, 0));
	sem_post(&o->done);
	return NULL;
}

static void expect_open_without_waiting(struct __test_metadata *_metadata,
					int source, const char *id)
{
	struct opener opener = { .source = source };
	struct stats_file file;
	struct timespec limit;
	pthread_t thread;

	ASSERT_EQ(0, sem_init(&opener.done, 0, 0));
	ASSERT_EQ(0, clock_gettime(CLOCK_REALTIME, &limit));
	limit.tv_sec += NOT_WAITING_SECONDS;
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_file, &opener));
	ASSERT_EQ(0, sem_timedwait(&opener.done, &limit)) {
		TH_LOG("KVM_GET_STATS_FD waits for the vCPU");
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_LE(0, opener.result);

	stats_load(_metadata, opener.result, &file);
	EXPECT_STREQ(id, stats_id(&file));
	stats_unload(&file);
}

TEST_F(guest, file_of_a_vcpu_inside_KVM_RUN_is_had_without_waiting)
{
	struct runner runner;

	runner_start(_metadata, &runner, self->vcpu, EXITS);
	expect_open_without_waiting(_metadata, self->vcpu->fd,
				    stats_id(&self->vcpu->file));
	runner_stop(_metadata, &runner);
}

TEST_F(guest, file_of_a_vm_with_a_vcpu_inside_KVM_RUN_is_had_without_waiting)
{
	struct runner runner;
	struct stats_file vm;

	stats_load(_metadata, stats_get_fd(_metadata, self->guest.vm), &vm);
	runner_start(_metadata, &runner, self->vcpu, EXITS);
	expect_open_without_waiting(_metadata, self->guest.vm, stats_id(&vm));
	runner_stop(_metadata, &runner);
	stats_unload(&vm);
}

static int open_vcpu_file(void *arg)
{
	struct guest_vcpu *v = arg;
	char id[STATS_NAME_SIZE];
	int fd;

	/* The alarm's signal says that it waited. */
	alarm(NOT_WAITING_SECONDS);
	fd = result(ioctl(v->fd, KVM_GET_STATS_FD, 0));
	if (fd < 0)
		return fd;
	if (pread(fd, id, sizeof(id), v->file.header.id_offset) < 0)
		return -errno;
	return memcmp(id, stats_id(&v->file), sizeof(id)) ? -ESTALE : 0;
}

TEST_F(guest, file_of_a_vcpu_inside_KVM_RUN_is_had_by_another_process)
{
	struct runner runner;

	runner_start(_metadata, &runner, self->vcpu, EXITS);
	EXPECT_EQ(0, stats_in_child(_metadata, open_vcpu_file, self->vcpu));
	runner_stop(_metadata, &runner);
}

/* Each vCPU with a number of exits of its own, so that no two can be mixed up. */
FIXTURE(machine)
{
	int kvm;
	struct guest guest;
};

FIXTURE_VARIANT(machine)
{
	int vcpus;
};

FIXTURE_VARIANT_ADD(machine, with_1_vcpu)
{
	.vcpus = 1,
};

FIXTURE_VARIANT_ADD(machine, with_4_vcpus)
{
	.vcpus = 4,
};

FIXTURE_VARIANT_ADD(machine, with_64_vcpus)
{
	.vcpus = 64,
};

FIXTURE_SETUP(machine)
{
	self->kvm = stats_open_kvm(_metadata);
	if (ioctl(self->kvm, KVM_CHECK_EXTENSION, KVM_CAP_MAX_VCPUS) <
	    variant->vcpus)
		SKIP_IN_SETUP("no VM can have %d vCPUs", variant->vcpus);
	guest_create(_metadata, self->kvm, &self->guest, variant->vcpus);
}

FIXTURE_TEARDOWN(machine)
{
	guest_destroy(&self->guest);
	close(self->kvm);
}

TEST_F(machine, every_vcpu_counts_its_own_exits)
{
	struct guest *g = &self->guest;
	int i;

	for (i = 0; i < g->vcpus; i++)
		vcpu_exit_to_user(_metadata, &g->vcpu[i], i + 1);
	for (i = 0; i < g->vcpus; i++) {
		ASSERT_EQ(i + 1UL, vcpu_read(_metadata, &g->vcpu[i],
					     STATS_USER_EXITS)) {
			TH_LOG("vCPU %d", i);
		}
	}
}

TEST_HARNESS_MAIN
