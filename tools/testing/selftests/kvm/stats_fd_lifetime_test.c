// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics files outlive their VM without keeping it: in whatever order and by
 * whatever process the fds are closed, files stay readable and the VM is freed. The creator's
 * cgroup pays for what files keep.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <sys/utsname.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_memory.h"

/* Not 0, so that a missing vCPU id is noticed. */
#define VCPU_ID			3

#define EXITS			100

/* A mapping of kvm_run holds the vCPU just as its fd does. */
enum { VM, VCPU, RUN, VM_STATS, VCPU_STATS, HANDLES };

#define ORDERS			(5 * 4 * 3 * 2 * 1)
/* The end of a VM mostly waits for RCU, which several VMs can do together. */
#define CLOSERS			8

struct handles {
	bool open[HANDLES];
	int fd[HANDLES];
	void *run;
	char debugfs[STATS_DEBUGFS_SIZE];
	struct stats_file vm_file;
	struct stats_file vcpu_file;
};

static void open_handles(struct __test_metadata *_metadata, struct handles *h)
{
	h->fd[VM] = stats_create_vm(_metadata);
	h->fd[VCPU] = stats_create_vcpu(_metadata, h->fd[VM], VCPU_ID);
	h->run = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, h->fd[VCPU], 0);
	ASSERT_NE(MAP_FAILED, h->run);
	h->fd[VM_STATS] = stats_get_fd(_metadata, h->fd[VM]);
	h->fd[VCPU_STATS] = stats_get_fd(_metadata, h->fd[VCPU]);
	memset(h->open, true, sizeof(h->open));
	snprintf(h->debugfs, sizeof(h->debugfs), STATS_DEBUGFS "/%d-%d", getpid(), h->fd[VM]);
	stats_load(_metadata, h->fd[VM_STATS], &h->vm_file);
	stats_load(_metadata, h->fd[VCPU_STATS], &h->vcpu_file);
}

static void close_handle(struct handles *h, int i)
{
	if (i == RUN)
		munmap(h->run, sysconf(_SC_PAGESIZE));
	else
		close(h->fd[i]);
	h->open[i] = false;
}

static void free_handles(struct handles *h)
{
	free(h->vm_file.bytes);
	free(h->vcpu_file.bytes);
}

static void expect_readable(struct __test_metadata *_metadata,
			    const struct stats_file *f, bool alive)
{
	struct pollfd fd = { .fd = f->fd, .events = POLLIN };

	/* A VM may still count something when it is closed. */
	ASSERT_EQ(0, stats_same_until(f->fd, f, f->header.data_offset));
	stats_expect_fdinfo(_metadata, f->fd, "id", stats_id(f));
	stats_expect_fdinfo(_metadata, f->fd, "state", alive ? "alive" : "dead");
	ASSERT_EQ(1, poll(&fd, 1, 0));
	ASSERT_EQ(POLLIN | (alive ? 0 : POLLHUP), fd.revents);
}

static void expect_handles_work(struct __test_metadata *_metadata, const struct handles *h)
{
	bool alive = h->open[VM] || h->open[VCPU] || h->open[RUN];

	if (h->open[VM_STATS])
		expect_readable(_metadata, &h->vm_file, alive);
	if (h->open[VCPU_STATS])
		expect_readable(_metadata, &h->vcpu_file, alive);
	ASSERT_EQ(alive ? 0 : -ENOENT, result(access(h->debugfs, F_OK))) {
		TH_LOG("%s of a VM that is %s", h->debugfs, alive ? "alive" : "dead");
	}
}

/* Write the nth permutation of the handles to @order. */
static void permutation(unsigned int n, int order[HANDLES])
{
	int left[HANDLES] = { VM, VCPU, RUN, VM_STATS, VCPU_STATS };
	int i, pick;

	for (i = 0; i < HANDLES; i++) {
		pick = n % (HANDLES - i);
		n /= HANDLES - i;
		order[i] = left[pick];
		left[pick] = left[HANDLES - 1 - i];
	}
}

static void close_in_orders(struct __test_metadata *_metadata, int nr, void *arg)
{
	int order[HANDLES], n, i;
	struct handles h;

	for (n = nr; n < ORDERS; n += CLOSERS) {
		permutation(n, order);
		open_handles(_metadata, &h);
		expect_handles_work(_metadata, &h);
		for (i = 0; i < HANDLES; i++) {
			close_handle(&h, order[i]);
			expect_handles_work(_metadata, &h);
		}
		free_handles(&h);
	}
}

TEST(close_in_any_order_frees_the_vm_and_keeps_its_files_readable)
{
	if (!stats_has_debugfs())
		SKIP(return, "%s does not show VMs", STATS_DEBUGFS);
	stats_in_children(_metadata, CLOSERS, close_in_orders, NULL);
}

/* The fd of a vCPU keeps the VM. */
TEST(close_of_the_vm_fd_keeps_the_file_of_an_open_vcpu_alive)
{
	int vm = stats_create_vm(_metadata);
	int vcpu = stats_create_vcpu(_metadata, vm, VCPU_ID);
	struct stats_file file;

	close(vm);
	stats_load(_metadata, stats_get_fd(_metadata, vcpu), &file);
	stats_expect_fdinfo(_metadata, file.fd, "state", "alive");
	close(vcpu);
	stats_expect_fdinfo(_metadata, file.fd, "state", "dead");
}

/* The next VMs would use memory that was freed. */
#define NEXT_VMS		10

TEST(close_of_the_vm_leaves_final_values_in_its_files)
{
	struct stats_file vm, vcpu;
	struct guest guest = { };
	int i, vm_stats;

	guest_create(_metadata, &guest, 1);
	vm_stats = stats_get_fd(_metadata, guest.vm);
	vcpu_exit_to_user(_metadata, &guest.vcpu[0], EXITS);
	guest_kill(&guest);
	stats_load(_metadata, vm_stats, &vm);
	stats_load(_metadata, dup(guest.vcpu[0].file.fd), &vcpu);
	guest_destroy(&guest);
	EXPECT_EQ((__u64)EXITS, stats_read(_metadata, &vcpu, STATS_USER_EXITS));

	for (i = 0; i < NEXT_VMS; i++) {
		guest_create(_metadata, &guest, 1);
		vcpu_exit_to_user(_metadata, &guest.vcpu[0], EXITS + 1);
		guest_destroy(&guest);
		ASSERT_EQ(0, stats_same(vm.fd, &vm));
		ASSERT_EQ(0, stats_same(vcpu.fd, &vcpu));
	}
}

/* VMMs in a cgroup, whose charge says what is left of their VMs. */
FIXTURE(memory)
{
	char cgroup[STATS_CGROUP_SIZE];
};

FIXTURE_SETUP(memory)
{
	int ret = stats_cgroup_create(self->cgroup);

	if (ret)
		SKIP(return, "no cgroup to count memory: %s", strerror(-ret));
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_EQ(0, result(rmdir(self->cgroup)));
}

/* The most that a file keeps: a page, the objects of statistics, struct file and its name. */
#define KEPT_PER_FILE		(sysconf(_SC_PAGESIZE) + 2048)

/* A process in the cgroup. The test reads the charge between its steps. */
struct charged {
	const char *cgroup;
	bool mapped;
	int sock[2];
};

static void charged_step(struct __test_metadata *_metadata, struct charged *c)
{
	stats_say(_metadata, c->sock[1]);
	stats_hear(_metadata, c->sock[1]);
}

static pid_t charged_start(struct __test_metadata *_metadata, struct charged *c,
			   void (*fn)(struct __test_metadata *_metadata, void *arg))
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, c->sock));
	return stats_fork(_metadata, fn, c);
}

static struct stats_usage charged_usage(struct __test_metadata *_metadata, struct charged *c)
{
	struct stats_usage usage;

	stats_hear(_metadata, c->sock[0]);
	usage = stats_settled(_metadata, c->cgroup);
	stats_say(_metadata, c->sock[0]);
	return usage;
}

static long charged_bytes(struct __test_metadata *_metadata, struct charged *c)
{
	return charged_usage(_metadata, c).cgroup;
}

#define HELD_VMS		16
#define HELD_VCPUS		STATS_MAX_VCPUS

/* Create VMs and destroy them, but keep their files open, or the first page of each mapped. */
static void hold_files_or_pages(struct __test_metadata *_metadata, void *arg)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct kvm_stats_header header;
	struct charged *c = arg;
	int vm, file, n, i;

	stats_cgroup_enter(_metadata, c->cgroup);
	charged_step(_metadata, c);
	for (n = 0; n < HELD_VMS; n++) {
		vm = stats_create_vm(_metadata);
		for (i = 0; i < HELD_VCPUS; i++)
			close(stats_create_vcpu(_metadata, vm, i));
		file = stats_get_fd(_metadata, vm);
		close(vm);
		if (!c->mapped)
			continue;
		ASSERT_EQ((ssize_t)sizeof(header), pread(file, &header, sizeof(header), 0));
		ASSERT_NE(MAP_FAILED, mmap(NULL, page, PROT_READ, MAP_SHARED, file,
					   header.data_offset));
		close(file);
	}
	charged_step(_metadata, c);
}

static void expect_charge(struct __test_metadata *_metadata, const char *cgroup, bool mapped)
{
	const long pages = HELD_VMS * (1 + HELD_VCPUS);
	struct charged c = { .cgroup = cgroup, .mapped = mapped };
	pid_t pid = charged_start(_metadata, &c, hold_files_or_pages);
	struct stats_usage before = charged_usage(_metadata, &c);
	struct stats_usage held = charged_usage(_metadata, &c);
	long after;

	stats_wait(_metadata, pid);
	after = stats_cgroup_bytes(_metadata, cgroup, STATS_CGROUP_NOISE);
	held.cgroup -= before.cgroup;
	held.system -= before.system;
	TH_LOG("kB of %ld objects: %ld charged, %ld used; %ld charged afterwards", pages,
	       held.cgroup >> 10, held.system >> 10, after >> 10);
	EXPECT_LE(pages * sysconf(_SC_PAGESIZE), held.cgroup);
	if (!stats_memory_is_exact())
		return;
	EXPECT_GE(pages * KEPT_PER_FILE, held.cgroup);
	/* All memory that the system uses for them is charged. */
	EXPECT_GE(held.cgroup + held.cgroup / 4 + STATS_SYSTEM_NOISE, held.system);
	EXPECT_GE(STATS_CGROUP_NOISE, after);
}

TEST_F(memory, creator_is_charged_for_open_files_until_they_are_closed)
{
	expect_charge(_metadata, self->cgroup, false);
}

TEST_F(memory, creator_is_charged_for_mapped_pages_until_they_are_unmapped)
{
	expect_charge(_metadata, self->cgroup, true);
}

/* A VM in a cgroup of its own, of which only the file is left. */
static void hold_file_of_removed_cgroup(struct __test_metadata *_metadata,
					const char *cgroup, const char *own)
{
	int vm;

	ASSERT_EQ(0, mkdir(cgroup, 0755));
	stats_cgroup_enter(_metadata, cgroup);
	vm = stats_create_vm(_metadata);
	close(stats_create_vcpu(_metadata, vm, 0));
	stats_get_fd(_metadata, vm);
	close(vm);
	stats_cgroup_enter(_metadata, own);
	ASSERT_EQ(0, rmdir(cgroup));
}

TEST_F(memory, files_of_dead_vms_keep_no_removed_cgroup)
{
	char own[PATH_MAX], cgroup[STATS_CGROUP_SIZE + 8];
	struct utsname kernel;
	long dying;
	int i;

	ASSERT_EQ(0, uname(&kernel));
	if (!strncmp(kernel.release, "5.10.", 5))
		SKIP(return, "Linux 5.10 does not move the charge of a removed cgroup");

	stats_own_cgroup(_metadata, own);
	ASSERT_EQ(0, stats_write_file(self->cgroup, "cgroup.subtree_control", "+memory"));
	snprintf(cgroup, sizeof(cgroup), "%s/vm", self->cgroup);
	for (i = 0; i < HELD_VMS; i++)
		hold_file_of_removed_cgroup(_metadata, cgroup, own);
	for (i = 0; i < STATS_SETTLE_ROUNDS; i++) {
		dying = stats_read_number(_metadata, self->cgroup, "cgroup.stat",
					  "nr_dying_descendants");
		if (!dying)
			break;
		usleep(10000);
	}
	EXPECT_EQ(0, dying);
}

/* A node of the table of vCPUs has 64 pointers. */
#define CHARGED_VMS		128
#define NODE_BYTES		(64 * sizeof(void *))

static void create_vms_and_vcpus(struct __test_metadata *_metadata, void *arg)
{
	struct charged *c = arg;
	int vm[CHARGED_VMS], i, vcpus;

	stats_cgroup_enter(_metadata, c->cgroup);
	for (i = 0; i < CHARGED_VMS; i++)
		vm[i] = stats_create_vm(_metadata);
	charged_step(_metadata, c);
	for (vcpus = 0; vcpus < 2; vcpus++) {
		for (i = 0; i < CHARGED_VMS; i++)
			close(stats_create_vcpu(_metadata, vm[i], vcpus));
		charged_step(_metadata, c);
	}
}

/* The first vCPU needs a node of the table, the second one uses the same node. */
TEST_F(memory, creator_is_charged_for_the_table_of_vcpus)
{
	struct charged c = { .cgroup = self->cgroup };
	pid_t pid = charged_start(_metadata, &c, create_vms_and_vcpus);
	long vms = charged_bytes(_metadata, &c);
	long first = charged_bytes(_metadata, &c);
	long second = charged_bytes(_metadata, &c);
	long more = (first - vms) - (second - first);

	TH_LOG("%ld bytes more for a first vCPU", more / CHARGED_VMS);
	stats_wait(_metadata, pid);
	if (STATS_CGROUP_NOISE * 2 > CHARGED_VMS * NODE_BYTES)
		SKIP(return, "a page is as large as all the tables");
	if (stats_memory_is_exact())
		EXPECT_LE((long)(CHARGED_VMS * NODE_BYTES), more);
}

/*
 * So many VMs and files that a leaked page for each VM, or 64 bytes for each file, exceed
 * the noise of the whole system. The first rounds fill the kernel's caches. If memory is
 * not exact, repeat only those: KASAN may see an error.
 */
#define WORKERS			16
#define FILE_WORKERS		2
#define WARM_VMS		256
#define VMS			1024
#define WARM_FILES		4096
#define FILES			16384

struct worker {
	const char *cgroup;
	int rounds;
};

static void live_in_cgroup(struct __test_metadata *_metadata, int nr, void *arg)
{
	struct worker *worker = arg;
	int order[HANDLES], n, i;
	struct handles h;

	stats_cgroup_enter(_metadata, worker->cgroup);
	for (n = 0; n < worker->rounds; n++) {
		permutation(n, order);
		open_handles(_metadata, &h);
		for (i = 0; i < HANDLES; i++)
			close_handle(&h, order[i]);
		free_handles(&h);
	}
}

static void many_vms(struct __test_metadata *_metadata, void *worker)
{
	stats_in_children(_metadata, WORKERS, live_in_cgroup, worker);
}

static void open_and_close_files(struct __test_metadata *_metadata, int nr, void *arg)
{
	struct worker *worker = arg;
	struct handles h;
	struct stats_file file;
	int i, other;

	stats_cgroup_enter(_metadata, worker->cgroup);
	open_handles(_metadata, &h);
	for (i = 0; i < worker->rounds; i++) {
		stats_load(_metadata, stats_get_fd(_metadata, h.fd[VCPU]), &file);
		other = stats_get_fd(_metadata, h.fd[i & 1 ? VM : VCPU]);
		if (i & 2) {
			close(other);
			stats_unload(&file);
		} else {
			stats_unload(&file);
			close(other);
		}
	}
	for (i = 0; i < HANDLES; i++)
		close_handle(&h, i);
}

static void many_files(struct __test_metadata *_metadata, void *worker)
{
	stats_in_children(_metadata, FILE_WORKERS, open_and_close_files, worker);
}

TEST_F(memory, thousands_of_vms_leave_no_memory_behind)
{
	struct worker worker = {
		.cgroup = self->cgroup,
		.rounds = WARM_VMS / WORKERS,
	};

	many_vms(_metadata, &worker);
	if (stats_memory_is_exact())
		worker.rounds = VMS / WORKERS;
	stats_expect_no_growth(_metadata, self->cgroup, many_vms, &worker);
}

TEST_F(memory, thousands_of_files_leave_no_memory_behind)
{
	struct worker worker = {
		.cgroup = self->cgroup,
		.rounds = WARM_FILES / FILE_WORKERS / 2,
	};

	many_files(_metadata, &worker);
	if (stats_memory_is_exact())
		worker.rounds = FILES / FILE_WORKERS / 2;
	stats_expect_no_growth(_metadata, self->cgroup, many_files, &worker);
}

TEST_HARNESS_MAIN
