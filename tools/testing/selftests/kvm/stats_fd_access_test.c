// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes other than the VMM open KVM's statistics files with only a VM's or vCPU's fd, and
 * threads do so while vCPUs are created or the VM is closed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "../kselftest_harness.h"
#include "stats_fd_file.h"
#include "stats_fd_guest.h"

#define EXITS			100

static int get_file(void *arg)
{
	FIXTURE_DATA(file) *self = arg;
	int fd = result(ioctl(self->source, KVM_GET_STATS_FD, 0));

	return fd < 0 ? fd : stats_same(fd, &self->file);
}

static int get_file_as_nobody(void *arg)
{
	return stats_become_nobody() ?: get_file(arg);
}

TEST_F(file, process_of_another_user_opens_the_file)
{
	if (geteuid())
		SKIP(return, "only root can become another user");
	EXPECT_EQ(0, stats_in_child(_metadata, get_file_as_nobody, self));
}

static int try_other_ioctls(void *arg)
{
	FIXTURE_DATA(file) *self = arg;
	const unsigned long requests[] = {
		KVM_CHECK_EXTENSION, KVM_CREATE_VCPU, KVM_RUN, KVM_GET_REGS,
		KVM_GET_STATS_FD + 1, KVM_GET_STATS_FD - 1,
	};
	unsigned int i;
	long ret;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		ret = result(ioctl(self->source, requests[i], 1));
		if (ret != -EIO)
			return ret < 0 ? ret : -EBADE;
	}
	return 0;
}

/* Only one ioctl skips the check of the address space. */
TEST_F(file, other_ioctls_of_another_process_fail_with_EIO)
{
	EXPECT_EQ(0, stats_in_child(_metadata, try_other_ioctls, self));
}

/* A VMM in a process of its own, with the numbers of its fds. */
struct vmm {
	pid_t pid;
	int vm;
	int vcpu;
	char id[STATS_NAME_SIZE];
};

static void vmm_main(struct __test_metadata *_metadata, void *arg)
{
	struct vmm vmm = { .pid = getpid() };
	struct guest guest = { };

	guest_create(_metadata, &guest, 1);
	vcpu_exit_to_user(_metadata, &guest.vcpu[0], EXITS);
	vmm.vm = guest.vm;
	vmm.vcpu = guest.vcpu[0].fd;
	memcpy(vmm.id, stats_id(&guest.vcpu[0].file), sizeof(vmm.id));
	ASSERT_EQ((ssize_t)sizeof(vmm), write(*(int *)arg, &vmm, sizeof(vmm)));
	pause();
}

static void load_vmm_file(struct __test_metadata *_metadata, const struct vmm *vmm, int vmm_fd,
			  struct stats_file *file)
{
	int fd = stats_pidfd_getfd(vmm->pid, vmm_fd);

	ASSERT_LE(0, fd) TH_LOG("pidfd_getfd: %s", strerror(-fd));
	stats_load(_metadata, stats_get_fd(_metadata, fd), file);
	close(fd);
	stats_expect_fdinfo(_metadata, file->fd, "state", "alive");
}

TEST(monitor_with_pidfd_getfd_reads_a_vmm_until_after_its_death)
{
	struct stats_file vm, vcpu;
	int pipefd[2];
	struct vmm vmm;

	ASSERT_EQ(0, pipe(pipefd));
	stats_fork(_metadata, vmm_main, &pipefd[1]);
	ASSERT_EQ((ssize_t)sizeof(vmm), read(pipefd[0], &vmm, sizeof(vmm)));
	load_vmm_file(_metadata, &vmm, vmm.vm, &vm);
	load_vmm_file(_metadata, &vmm, vmm.vcpu, &vcpu);
	EXPECT_STREQ(vmm.id, stats_id(&vcpu));

	ASSERT_EQ(0, kill(vmm.pid, SIGKILL));
	ASSERT_EQ(vmm.pid, waitpid(vmm.pid, NULL, 0));
	stats_expect_fdinfo(_metadata, vm.fd, "state", "dead");
	stats_expect_fdinfo(_metadata, vcpu.fd, "state", "dead");
	EXPECT_EQ((__u64)EXITS, stats_read(_metadata, &vcpu, STATS_USER_EXITS));
}

#define RACE_VCPUS		16
/* Destroying a VM takes a few milliseconds, in an emulator 100 ms. */
#define RACE_CREATIONS		10
#define RACE_CLOSES		32
#define RACE_MAX_FD		64

/* A thread that creates vCPUs. */
struct creator {
	int vm;
	pthread_t thread;
	pthread_barrier_t start;
	int fd[RACE_VCPUS];
	bool done;
};

static void *create_vcpus(void *arg)
{
	struct creator *c = arg;
	int i;

	pthread_barrier_wait(&c->start);
	for (i = 0; i < RACE_VCPUS; i++)
		c->fd[i] = result(ioctl(c->vm, KVM_CREATE_VCPU, i));
	__atomic_store_n(&c->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void creator_start(struct __test_metadata *_metadata, struct creator *c)
{
	memset(c, 0, sizeof(*c));
	c->vm = stats_create_vm(_metadata);
	ASSERT_EQ(0, pthread_barrier_init(&c->start, NULL, 2));
	ASSERT_EQ(0, pthread_create(&c->thread, NULL, create_vcpus, c));
	pthread_barrier_wait(&c->start);
}

static bool creator_done(struct creator *c)
{
	return __atomic_load_n(&c->done, __ATOMIC_ACQUIRE);
}

static void creator_finish(struct __test_metadata *_metadata, struct creator *c)
{
	int i;

	ASSERT_EQ(0, pthread_join(c->thread, NULL));
	for (i = 0; i < RACE_VCPUS; i++) {
		EXPECT_LE(0, c->fd[i]) TH_LOG("KVM_CREATE_VCPU");
		close(c->fd[i]);
	}
	close(c->vm);
}

/* Return 1 if the fd is a vCPU. It may also be another file or closed. */
static int try_vcpu_fd(struct __test_metadata *_metadata, int vcpu)
{
	long fd = result(ioctl(vcpu, KVM_GET_STATS_FD, 0));
	struct stats_file file;
	const char *id;

	if (fd < 0) {
		ASSERT_TRUE(fd == -EBADF || fd == -ENOTTY) {
			TH_LOG("KVM_GET_STATS_FD: %s", strerror(-fd));
		}
		return 0;
	}
	stats_load(_metadata, fd, &file);
	id = strstr(stats_id(&file), "/vcpu-");
	ASSERT_NE(NULL, id) TH_LOG("%s", stats_id(&file));
	EXPECT_GT(RACE_VCPUS, atoi(id + strlen("/vcpu-")));
	stats_unload(&file);
	return 1;
}

/* Until the vCPU exists its future fd is EBADF. */
TEST(race_of_ioctl_and_vcpu_creation_returns_EBADF_or_a_good_file)
{
	struct creator creator;
	int i, fd, good;
	bool done;

	for (i = 0; i < RACE_CREATIONS; i++) {
		creator_start(_metadata, &creator);
		do {
			done = creator_done(&creator);
			good = 0;
			/* New fds have the lowest free numbers. */
			for (fd = STDERR_FILENO + 1; fd < RACE_MAX_FD; fd++)
				good += fd != creator.vm && try_vcpu_fd(_metadata, fd);
		} while (!done);
		EXPECT_EQ(RACE_VCPUS, good);
		creator_finish(_metadata, &creator);
	}
}

/* A thread that closes a VM. */
struct closer {
	int vm;
	int vcpu;
	pthread_t thread;
	pthread_barrier_t start;
};

static void *close_vm(void *arg)
{
	struct closer *c = arg;

	pthread_barrier_wait(&c->start);
	close(c->vm);
	close(c->vcpu);
	return NULL;
}

static void closer_create(struct __test_metadata *_metadata, struct closer *c)
{
	c->vm = stats_create_vm(_metadata);
	c->vcpu = stats_create_vcpu(_metadata, c->vm, 0);
	ASSERT_EQ(0, pthread_barrier_init(&c->start, NULL, 2));
	ASSERT_EQ(0, pthread_create(&c->thread, NULL, close_vm, c));
}

/* The fd may be closed, and its number may belong to the file that was opened before. */
static void expect_file_or_closed(struct __test_metadata *_metadata, long ret)
{
	struct stats_file file;

	if (ret < 0) {
		EXPECT_TRUE(ret == -EBADF || ret == -ENOTTY) {
			TH_LOG("KVM_GET_STATS_FD: %s", strerror(-ret));
		}
		return;
	}
	stats_load(_metadata, ret, &file);
	stats_expect_fdinfo(_metadata, file.fd, "state", "dead");
	stats_unload(&file);
}

TEST(race_of_ioctl_and_close_returns_EBADF_or_a_readable_file)
{
	struct closer closer;
	long vm, vcpu;
	int i, j;

	for (i = 0; i < RACE_CLOSES; i++) {
		closer_create(_metadata, &closer);
		pthread_barrier_wait(&closer.start);
		/* The closer gets further in each round. */
		for (j = 0; j < i % 16; j++)
			sched_yield();
		vm = result(ioctl(closer.vm, KVM_GET_STATS_FD, 0));
		vcpu = result(ioctl(closer.vcpu, KVM_GET_STATS_FD, 0));
		ASSERT_EQ(0, pthread_join(closer.thread, NULL));
		expect_file_or_closed(_metadata, vm);
		expect_file_or_closed(_metadata, vcpu);
	}
}

TEST_HARNESS_MAIN
