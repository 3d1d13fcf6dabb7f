// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics files in the hands of others than the VMM: had from another
 * process with nothing but a VM's or vCPU's fd, and while vCPUs are created or
 * the VM is closed at the same time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"

/* Exits that a guest is asked for. */
#define EXITS			100

/* Holders of a VM's or a vCPU's fd who are not the VMM. */
struct target {
	int source;		/* the VM or vCPU that the file is about */
	struct stats_file file;
};

FIXTURE(outsider)
{
	int kvm;
	int vm;
	int vcpu;
	struct target target;
};

FIXTURE_VARIANT(outsider)
{
	bool vcpu;
};

FIXTURE_VARIANT_ADD(outsider, with_vm_fd)
{
	.vcpu = false,
};

FIXTURE_VARIANT_ADD(outsider, with_vcpu_fd)
{
	.vcpu = true,
};

FIXTURE_SETUP(outsider)
{
	self->kvm = stats_open_kvm(_metadata);
	self->vm = stats_create_vm(_metadata, self->kvm);
	self->vcpu = stats_create_vcpu(_metadata, self->vm, 0);
	self->target.source = variant->vcpu ? self->vcpu : self->vm;
	stats_load(_metadata, stats_get_fd(_metadata, self->target.source),
		   &self->target.file);
}

FIXTURE_TEARDOWN(outsider)
{
	stats_unload(&self->target.file);
	close(self->vcpu);
	close(self->vm);
	close(self->kvm);
}

static int get_file(void *arg)
{
	struct target *target = arg;
	int fd = result(ioctl(target->source, KVM_GET_STATS_FD, 0));

	return fd < 0 ? fd : stats_same(fd, &target->file);
}

TEST_F(outsider, in_a_forked_child_gets_the_file)
{
	EXPECT_EQ(0, stats_in_child(_metadata, get_file, &self->target));
}

static int get_file_as_nobody(void *arg)
{
	return stats_become_nobody() ?: get_file(arg);
}

TEST_F(outsider, of_another_user_gets_the_file)
{
	if (geteuid())
		SKIP(return, "only root can become another user");
	EXPECT_EQ(0, stats_in_child(_metadata, get_file_as_nobody,
				    &self->target));
}

static int try_other_ioctls(void *arg)
{
	struct target *target = arg;
	const unsigned long requests[] = {
		KVM_CHECK_EXTENSION, KVM_CREATE_VCPU, KVM_RUN, KVM_GET_REGS,
		KVM_GET_STATS_FD + 1, KVM_GET_STATS_FD - 1,
	};
	unsigned int i;
	long ret;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		ret = result(ioctl(target->source, requests[i], 1));
		if (ret != -EIO)
			return ret < 0 ? ret : -EBADE;
	}
	return 0;
}

/* The exception from the mm check is for one ioctl. */
TEST_F(outsider, gets_EIO_from_all_other_ioctls)
{
	EXPECT_EQ(0, stats_in_child(_metadata, try_other_ioctls,
				    &self->target));
}

/* A VMM in a process of its own. */
struct vmm {
	pid_t pid;
	int vm;			/* its fds, with its numbers */
	int vcpu;
	char id[STATS_NAME_SIZE];
};

static void vmm_main(struct __test_metadata *_metadata, int kvm, int report)
{
	struct vmm vmm = { .pid = getpid() };
	struct guest guest = { };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	guest_create(_metadata, kvm, &guest, 1);
	vcpu_exit_to_user(_metadata, &guest.vcpu[0], EXITS);
	vmm.vm = guest.vm;
	vmm.vcpu = guest.vcpu[0].fd;
	memcpy(vmm.id, stats_id(&guest.vcpu[0].file), sizeof(vmm.id));
	ASSERT_EQ((ssize_t)sizeof(vmm), write(report, &vmm, sizeof(vmm)));
	pause();
}

static void vmm_start(struct __test_metadata *_metadata, int kvm,
		      struct vmm *vmm)
{
	int pipefd[2];
	pid_t pid;

	ASSERT_EQ(0, pipe2(pipefd, O_CLOEXEC));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		vmm_main(_metadata, kvm, pipefd[1]);
		_exit(0);
	}
	close(pipefd[1]);
	ASSERT_EQ((ssize_t)sizeof(*vmm),
		  read(pipefd[0], vmm, sizeof(*vmm)));
	close(pipefd[0]);
}

static void vmm_kill(struct __test_metadata *_metadata, struct vmm *vmm)
{
	ASSERT_EQ(0, kill(vmm->pid, SIGKILL));
	ASSERT_EQ(vmm->pid, waitpid(vmm->pid, NULL, 0));
}

static int pull_fd(struct __test_metadata *_metadata, pid_t pid, int fd)
{
	int pulled = stats_pidfd_getfd(pid, fd);

	ASSERT_LE(0, pulled) TH_LOG("pidfd_getfd: %s", strerror(-pulled));
	return pulled;
}

FIXTURE(monitor)
{
	int kvm;
	struct vmm vmm;
};

FIXTURE_SETUP(monitor)
{
	self->kvm = stats_open_kvm(_metadata);
	vmm_start(_metadata, self->kvm, &self->vmm);
}

FIXTURE_TEARDOWN(monitor)
{
	close(self->kvm);
}

TEST_F(monitor, that_pulled_a_vm_fd_gets_the_file)
{
	int vm = pull_fd(_metadata, self->vmm.pid, self->vmm.vm);
	struct stats_file file;

	stats_load(_metadata, stats_get_fd(_metadata, vm), &file);
	EXPECT_NE(NULL, stats_find(&file, "remote_tlb_flush"));
	stats_unload(&file);
	close(vm);
	vmm_kill(_metadata, &self->vmm);
}

TEST_F(monitor, reads_the_last_values_of_a_killed_vmm)
{
	int vcpu = pull_fd(_metadata, self->vmm.pid, self->vmm.vcpu);
	struct stats_file file;

	stats_load(_metadata, stats_get_fd(_metadata, vcpu), &file);
	close(vcpu);
	EXPECT_STREQ(self->vmm.id, stats_id(&file));
	stats_expect_fdinfo(_metadata, file.fd, "state", "alive");

	vmm_kill(_metadata, &self->vmm);
	stats_expect_fdinfo(_metadata, file.fd, "state", "dead");
	EXPECT_EQ((__u64)EXITS,
		  stats_read(_metadata, &file, STATS_USER_EXITS));
	stats_unload(&file);
}

FIXTURE(race)
{
	int kvm;
};

FIXTURE_SETUP(race)
{
	self->kvm = stats_open_kvm(_metadata);
}

FIXTURE_TEARDOWN(race)
{
	close(self->kvm);
}

#define RACE_VCPUS		16
/* A VM's end takes milliseconds, and 100 of them where it is emulated. */
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

static void creator_start(struct __test_metadata *_metadata, struct creator *c,
			  int kvm)
{
	memset(c, 0, sizeof(*c));
	c->vm = stats_create_vm(_metadata, kvm);
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

/* Legal: every ioctl succeeds, and all files have the same constant part. */
TEST_F(race, of_vm_file_and_vcpu_creation_gives_good_files)
{
	struct stats_file first, file;
	struct creator creator;
	bool done;
	int i;

	for (i = 0; i < RACE_CREATIONS; i++) {
		creator_start(_metadata, &creator, self->kvm);
		stats_load(_metadata, stats_get_fd(_metadata, creator.vm),
			   &first);
		do {
			done = creator_done(&creator);
			stats_load(_metadata,
				   stats_get_fd(_metadata, creator.vm), &file);
			ASSERT_EQ(0, memcmp(first.bytes, file.bytes,
					    stats_constant_size(&first)));
			stats_unload(&file);
		} while (!done);
		stats_unload(&first);
		creator_finish(_metadata, &creator);
	}
}

/* The fd may be a vCPU that is still being created, nothing yet, or foreign. */
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

/* Legal: EBADF as long as the number is no vCPU, then good files. */
TEST_F(race, of_vcpu_file_and_its_creation_is_EBADF_or_a_good_file)
{
	struct creator creator;
	int i, fd, good;
	bool done;

	for (i = 0; i < RACE_CREATIONS; i++) {
		creator_start(_metadata, &creator, self->kvm);
		do {
			done = creator_done(&creator);
			good = 0;
			/* New fds have the lowest numbers that are free. */
			for (fd = creator.vm + 1; fd < RACE_MAX_FD; fd++)
				good += try_vcpu_fd(_metadata, fd);
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

static void closer_create(struct __test_metadata *_metadata, struct closer *c,
			  int kvm)
{
	c->vm = stats_create_vm(_metadata, kvm);
	c->vcpu = stats_create_vcpu(_metadata, c->vm, 0);
	ASSERT_EQ(0, pthread_barrier_init(&c->start, NULL, 2));
	ASSERT_EQ(0, pthread_create(&c->thread, NULL, close_vm, c));
}

/* The rounds differ in how far the closer gets meanwhile. */
static void closer_start(struct closer *c, int round)
{
	int i;

	pthread_barrier_wait(&c->start);
	for (i = 0; i < round % 16; i++)
		sched_yield();
}

/* Legal for an fd that is just closed, whose number may be a new file's. */
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

TEST_F(race, of_ioctl_and_close_is_EBADF_or_a_file_that_stays_readable)
{
	struct closer closer;
	long vm, vcpu;
	int i;

	for (i = 0; i < RACE_CLOSES; i++) {
		closer_create(_metadata, &closer, self->kvm);
		closer_start(&closer, i);
		vm = result(ioctl(closer.vm, KVM_GET_STATS_FD, 0));
		vcpu = result(ioctl(closer.vcpu, KVM_GET_STATS_FD, 0));
		ASSERT_EQ(0, pthread_join(closer.thread, NULL));
		expect_file_or_closed(_metadata, vm);
		expect_file_or_closed(_metadata, vcpu);
	}
}

/* Legal: every read is complete, whatever is left of the VM. */
TEST_F(race, of_read_and_close_reads_everything)
{
	struct stats_file vm, vcpu, now;
	struct closer closer;
	int i, j;

	for (i = 0; i < RACE_CLOSES; i++) {
		closer_create(_metadata, &closer, self->kvm);
		stats_load(_metadata, stats_get_fd(_metadata, closer.vm), &vm);
		stats_load(_metadata, stats_get_fd(_metadata, closer.vcpu),
			   &vcpu);
		closer_start(&closer, 0);
		for (j = 0; j < 16; j++) {
			stats_load(_metadata, dup(vm.fd), &now);
			stats_unload(&now);
			stats_load(_metadata, dup(vcpu.fd), &now);
			stats_unload(&now);
		}
		ASSERT_EQ(0, pthread_join(closer.thread, NULL));
		stats_expect_fdinfo(_metadata, vm.fd, "state", "dead");
		stats_expect_fdinfo(_metadata, vcpu.fd, "state", "dead");
		stats_unload(&vm);
		stats_unload(&vcpu);
	}
}

TEST_HARNESS_MAIN
