// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics files compared with each other: all vCPUs have the same descriptors, names
 * are unique, and ids distinguish VMs and vCPUs.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "../kselftest_harness.h"
#include "stats_fd_util.h"

/* A VM whose vCPU ids are in descending order. */
FIXTURE(machine)
{
	int vm;
	int vcpu[STATS_MAX_VCPUS];
	struct stats_file vm_file;
	struct stats_file vcpu_file[STATS_MAX_VCPUS];
};

FIXTURE_SETUP(machine)
{
	int i;

	self->vm = stats_create_vm(_metadata);
	stats_load(_metadata, stats_get_fd(_metadata, self->vm), &self->vm_file);
	for (i = 0; i < STATS_MAX_VCPUS; i++) {
		self->vcpu[i] = stats_create_vcpu(_metadata, self->vm, STATS_MAX_VCPUS - 1 - i);
		stats_load(_metadata, stats_get_fd(_metadata, self->vcpu[i]),
			   &self->vcpu_file[i]);
	}
}

FIXTURE_TEARDOWN(machine) { }

/* Compare all except ids and data. QEMU caches the descriptors of the first vCPU. */
static void expect_same_format(struct __test_metadata *_metadata, const struct stats_file *a,
			       const struct stats_file *b)
{
	size_t skip = a->header.id_offset + STATS_NAME_SIZE;
	/* A VM's list of vCPU ids grows. */
	size_t end = a->ext.vcpu_id_offset ?: a->header.data_offset;

	EXPECT_EQ(a->size, b->size);
	ASSERT_EQ(0, memcmp(&a->header, &b->header, sizeof(a->header))) {
		TH_LOG("headers of %s and %s", stats_id(a), stats_id(b));
	}
	EXPECT_EQ(0, memcmp(a->bytes + skip, b->bytes + skip, end - skip)) {
		TH_LOG("descriptors of %s and %s", stats_id(a), stats_id(b));
	}
}

TEST_F(machine, vcpus_of_a_vm_have_the_same_header_and_descriptors)
{
	int i;

	for (i = 1; i < STATS_MAX_VCPUS; i++)
		expect_same_format(_metadata, &self->vcpu_file[0], &self->vcpu_file[i]);
}

TEST_F(machine, vms_have_the_same_header_and_descriptors)
{
	int vm = stats_create_vm(_metadata);
	int vcpu = stats_create_vcpu(_metadata, vm, 1);
	struct stats_file file;

	stats_load(_metadata, stats_get_fd(_metadata, vm), &file);
	expect_same_format(_metadata, &self->vm_file, &file);
	stats_unload(&file);

	stats_load(_metadata, stats_get_fd(_metadata, vcpu), &file);
	expect_same_format(_metadata, &self->vcpu_file[0], &file);
	stats_unload(&file);
}

static int count_name(const struct stats_file *f, const char *name)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;
	int count = 0;

	for (i = 0; (desc = stats_desc(f, i)); i++)
		count += !strncmp(name, desc->name, STATS_NAME_SIZE);
	return count;
}

/* libvirt drops all statistics if a name occurs twice. */
TEST_F(machine, names_are_unique_over_vm_and_vcpu_statistics)
{
	const struct stats_file *file[] = {
		&self->vm_file, &self->vcpu_file[STATS_MAX_VCPUS - 1],
	};
	const struct kvm_stats_desc *desc;
	unsigned int i, j;

	for (j = 0; j < ARRAY_SIZE(file); j++) {
		for (i = 0; (desc = stats_desc(file[j], i)); i++) {
			EXPECT_EQ(1, count_name(file[0], desc->name) +
				     count_name(file[1], desc->name)) TH_LOG("%.48s", desc->name);
		}
	}
}

TEST_F(machine, fdinfo_of_vm_and_vcpus_has_the_same_number)
{
	int other_vm = stats_create_vm(_metadata);
	int other = stats_get_fd(_metadata, other_vm);
	char vm[STATS_LINE_SIZE], now[STATS_LINE_SIZE];
	int i;

	ASSERT_EQ(1, stats_fdinfo(_metadata, self->vm_file.fd, "vm", vm));
	for (i = 0; i < STATS_MAX_VCPUS; i++) {
		EXPECT_EQ(1, stats_fdinfo(_metadata, self->vcpu_file[i].fd, "vm", now));
		EXPECT_STREQ(vm, now);
	}
	EXPECT_EQ(1, stats_fdinfo(_metadata, other, "vm", now));
	EXPECT_STRNE(vm, now);
}

/* Among so many random numbers each bit is 0 at least once, and 1 at least once. */
#define NUMBERED_VMS		64

TEST(fdinfo_has_a_random_number_that_does_not_count_vms)
{
	__u64 always = ~0ULL, ever = 0, number;
	char vm[STATS_LINE_SIZE], *end;
	int i, fd, file;

	for (i = 0; i < NUMBERED_VMS; i++) {
		fd = stats_create_vm(_metadata);
		file = stats_get_fd(_metadata, fd);
		ASSERT_EQ(1, stats_fdinfo(_metadata, file, "vm", vm));
		number = strtoull(vm, &end, 10);
		EXPECT_EQ('\0', *end);
		EXPECT_NE(0ULL, number);
		always &= number;
		ever |= number;
		close(file);
		close(fd);
	}
	EXPECT_EQ(0ULL, always);
	EXPECT_EQ(~0ULL, ever);
}

/* A thread that creates a VM or vCPU, as VMMs do. */
struct creator {
	int fd;			/* /dev/kvm or a VM */
	unsigned long request;
	unsigned long arg;
	pid_t tid;
	int created;
};

static void *create(void *arg)
{
	struct creator *c = arg;

	c->tid = stats_tid();
	c->created = ioctl(c->fd, c->request, c->arg);
	return NULL;
}

/* The creating thread is gone when this returns. */
static void create_in_thread(struct __test_metadata *_metadata, struct creator *c)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, create, c));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_LE(0, c->created);
	ASSERT_NE(stats_tid(), c->tid);
}

static void expect_id(struct __test_metadata *_metadata, int fd, const char *id)
{
	struct stats_file file;

	stats_load(_metadata, stats_get_fd(_metadata, fd), &file);
	EXPECT_STREQ(id, stats_id(&file));
	stats_unload(&file);
}

TEST(ids_contain_the_tid_of_the_own_creating_thread)
{
	struct creator vm = { .fd = stats_open_kvm(_metadata), .request = KVM_CREATE_VM };
	struct creator vcpu = { .request = KVM_CREATE_VCPU, .arg = 5 };
	char id[STATS_NAME_SIZE];

	if (!stats_in_initial_pid_ns())
		SKIP(return, "ids have tids of the initial pid namespace");
	create_in_thread(_metadata, &vm);
	vcpu.fd = vm.created;
	create_in_thread(_metadata, &vcpu);
	snprintf(id, sizeof(id), "kvm-%d/vcpu-5", vcpu.tid);
	expect_id(_metadata, vcpu.created, id);
	snprintf(id, sizeof(id), "kvm-%d", vm.tid);
	expect_id(_metadata, vm.created, id);
}

struct pid_ns_vm {
	int kvm;
	int vm;
	pid_t tid;	/* in the namespace */
};

static int create_in_pid_ns(void *arg)
{
	struct pid_ns_vm *shared = arg;

	shared->tid = stats_tid();
	shared->vm = ioctl(shared->kvm, KVM_CREATE_VM, 0);
	return shared->vm < 0 ? errno : 0;
}

TEST(id_of_a_vm_created_in_a_pid_namespace_has_the_initial_tid)
{
	struct pid_ns_vm shared = { .kvm = stats_open_kvm(_metadata) };
	const size_t stack_size = 65536;
	char *stack = mmap(NULL, stack_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char id[STATS_NAME_SIZE];
	int status;
	pid_t pid;

	if (!stats_in_initial_pid_ns())
		SKIP(return, "ids have tids of the initial pid namespace");
	ASSERT_NE(MAP_FAILED, stack);
	/* The child shares its files, so that the VM remains. */
	pid = clone(create_in_pid_ns, stack + stack_size, CLONE_NEWPID |
		    CLONE_VM | CLONE_FILES | SIGCHLD, &shared);
	if (pid < 0 && (errno == EPERM || errno == EINVAL))
		SKIP(return, "no new pid namespace: %s", strerror(errno));
	ASSERT_LE(0, pid) TH_LOG("clone: %s", strerror(errno));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(1, shared.tid);

	snprintf(id, sizeof(id), "kvm-%d", pid);
	expect_id(_metadata, shared.vm, id);
}

TEST_HARNESS_MAIN
