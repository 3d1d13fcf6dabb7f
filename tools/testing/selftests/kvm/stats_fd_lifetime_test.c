// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics files outlive their VM, and the VM does not live longer for
 * them: in whatever order and by whatever process the fds are closed, the files
 * stay readable and the VM's memory is returned. What they keep is charged to who
 * made it. Memory is what a cgroup of the test's own is charged, and what the
 * whole system has.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_memory.h"

/* Not 0, so that a vCPU's number is seen wherever it should be. */
#define VCPU_ID			3

/* Exits that a guest is asked for. */
#define EXITS			100

/* The fds of one VM, closed in every order. */
FIXTURE(close)
{
	int kvm;
};

FIXTURE_SETUP(close)
{
	if (!stats_has_debugfs())
		SKIP_IN_SETUP("no VM is seen in %s", STATS_DEBUGFS);
	self->kvm = stats_open_kvm(_metadata);
}

FIXTURE_TEARDOWN(close)
{
	close(self->kvm);
}

/* A mapping of kvm_run holds the vCPU just as its fd does. */
enum { VM, VCPU, RUN, VM_STATS, VCPU_STATS, HANDLES };

#define ORDERS			(5 * 4 * 3 * 2 * 1)
/* A VM's end is mostly waiting for RCU, which many of them do at once. */
#define CLOSERS			8

struct handles {
	bool open[HANDLES];
	int fd[HANDLES];
	void *run;
	char debugfs[STATS_DEBUGFS_SIZE];
	struct stats_file vm_file;
	struct stats_file vcpu_file;
};

static void open_handles(struct __test_metadata *_metadata, int kvm,
			 struct handles *h)
{
	h->fd[VM] = stats_create_vm(_metadata, kvm);
	h->fd[VCPU] = stats_create_vcpu(_metadata, h->fd[VM], VCPU_ID);
	h->run = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
		      h->fd[VCPU], 0);
	ASSERT_NE(MAP_FAILED, h->run);
	h->fd[VM_STATS] = stats_get_fd(_metadata, h->fd[VM]);
	h->fd[VCPU_STATS] = stats_get_fd(_metadata, h->fd[VCPU]);
	memset(h->open, true, sizeof(h->open));
	stats_debugfs_path(h->debugfs, getpid(), h->fd[VM]);
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
			    const struct stats_file *f, const char *state)
{
	struct stats_file now;

	stats_load(_metadata, dup(f->fd), &now);
	ASSERT_EQ(f->size, now.size);
	/* What a VM still counts when it is closed is no matter here. */
	ASSERT_EQ(0, memcmp(f->bytes, now.bytes, f->header.data_offset));
	stats_expect_fdinfo(_metadata, f->fd, "id", stats_id(f));
	stats_expect_fdinfo(_metadata, f->fd, "state", state);
	stats_unload(&now);
}

static void expect_handles_work(struct __test_metadata *_metadata,
				const struct handles *h)
{
	bool alive = h->open[VM] || h->open[VCPU] || h->open[RUN];
	const char *state = alive ? "alive" : "dead";

	if (h->open[VM_STATS])
		expect_readable(_metadata, &h->vm_file, state);
	if (h->open[VCPU_STATS])
		expect_readable(_metadata, &h->vcpu_file, state);
	ASSERT_EQ(alive ? 0 : -ENOENT, result(access(h->debugfs, F_OK))) {
		TH_LOG("%s of a VM that is %s", h->debugfs, state);
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

static void close_in_orders(struct __test_metadata *_metadata, int nr, void *kvm)
{
	int order[HANDLES], n, i;
	struct handles h;

	for (n = nr; n < ORDERS; n += CLOSERS) {
		permutation(n, order);
		open_handles(_metadata, *(int *)kvm, &h);
		expect_handles_work(_metadata, &h);
		for (i = 0; i < HANDLES; i++) {
			close_handle(&h, order[i]);
			expect_handles_work(_metadata, &h);
		}
		free_handles(&h);
	}
}

TEST_F(close, in_any_order_frees_the_vm_and_leaves_its_files_readable)
{
	stats_in_children(_metadata, CLOSERS, close_in_orders, &self->kvm);
}

/* A vCPU fd keeps its VM, and is all that is needed for its file. */
TEST_F(close, of_the_vm_leaves_the_vcpu_with_a_living_file)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	int vcpu = stats_create_vcpu(_metadata, vm, VCPU_ID);
	struct stats_file file;

	close(vm);
	stats_load(_metadata, stats_get_fd(_metadata, vcpu), &file);
	stats_expect_fdinfo(_metadata, file.fd, "state", "alive");
	close(vcpu);
	stats_expect_fdinfo(_metadata, file.fd, "state", "dead");
	stats_unload(&file);
}

/* Memory that was given back would be used by the next VMs. */
#define NEXT_VMS		10

TEST_F(close, of_the_vm_leaves_values_that_never_change_again)
{
	struct stats_file vm, vcpu;
	struct guest guest = { };
	int i, vm_stats;

	guest_create(_metadata, self->kvm, &guest, 1);
	vm_stats = stats_get_fd(_metadata, guest.vm);
	vcpu_exit_to_user(_metadata, &guest.vcpu[0], EXITS);
	guest_kill(&guest);
	stats_load(_metadata, vm_stats, &vm);
	stats_load(_metadata, dup(guest.vcpu[0].file.fd), &vcpu);
	guest_destroy(&guest);
	EXPECT_EQ((__u64)EXITS, stats_read(_metadata, &vcpu, STATS_USER_EXITS));

	for (i = 0; i < NEXT_VMS; i++) {
		guest_create(_metadata, self->kvm, &guest, 1);
		vcpu_exit_to_user(_metadata, &guest.vcpu[0], EXITS + 1);
		guest_destroy(&guest);
		ASSERT_EQ(0, stats_same(vm.fd, &vm));
		ASSERT_EQ(0, stats_same(vcpu.fd, &vcpu));
	}
	stats_unload(&vm);
	stats_unload(&vcpu);
}

/* A VMM in a process of its own, and a reader in another one of another user. */
enum how { FORKED, SENT, PULLED };

FIXTURE(reader)
{
	int kvm;
};

FIXTURE_VARIANT(reader)
{
	enum how how;
	bool killed;
};

FIXTURE_VARIANT_ADD(reader, forked_from_a_vmm_that_closes)
{
	.how = FORKED,
	.killed = false,
};

FIXTURE_VARIANT_ADD(reader, forked_from_a_vmm_that_is_killed)
{
	.how = FORKED,
	.killed = true,
};

FIXTURE_VARIANT_ADD(reader, sent_the_fds_by_a_vmm_that_closes)
{
	.how = SENT,
	.killed = false,
};

FIXTURE_VARIANT_ADD(reader, sent_the_fds_by_a_vmm_that_is_killed)
{
	.how = SENT,
	.killed = true,
};

FIXTURE_VARIANT_ADD(reader, that_pulled_the_fds_of_a_vmm_that_closes)
{
	.how = PULLED,
	.killed = false,
};

FIXTURE_VARIANT_ADD(reader, that_pulled_the_fds_of_a_vmm_that_is_killed)
{
	.how = PULLED,
	.killed = true,
};

FIXTURE_SETUP(reader)
{
	if (geteuid())
		SKIP_IN_SETUP("only root can become another user");
	self->kvm = stats_open_kvm(_metadata);
}

FIXTURE_TEARDOWN(reader)
{
	close(self->kvm);
}

/* Deaths of a VM for each way to have the files. */
#define DEATHS			4

/* The ends of the sockets between test, VMM and reader. */
struct cast {
	int kvm;
	enum how how;
	int to_vmm, vmm;
	int to_reader, reader;
	int give, take;		/* from VMM to reader */
	unsigned long *reads;	/* shared memory */
};

/* What a VMM has to tell who wants to pull its fds. */
struct offer {
	pid_t pid;
	int fd[2];
};

static void run_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void expect_constants(struct __test_metadata *_metadata,
			     const struct stats_file *last,
			     const struct stats_file *now)
{
	ASSERT_EQ(last->size, now->size);
	ASSERT_EQ(0, memcmp(last->bytes, now->bytes, last->header.data_offset));
}

static void expect_no_going_back(struct __test_metadata *_metadata,
				 const struct stats_file *last,
				 const struct stats_file *now)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(last, i)); i++) {
		if (desc->flags & KVM_STATS_TYPE_MASK)
			continue;
		ASSERT_LE(stats_value(last, desc, 0),
			  stats_value(now, desc, 0)) {
			TH_LOG("%s", desc->name);
		}
	}
}

static void read_again(struct __test_metadata *_metadata,
		       struct stats_file *last)
{
	struct stats_file now;

	stats_load(_metadata, last->fd, &now);
	expect_constants(_metadata, last, &now);
	expect_no_going_back(_metadata, last, &now);
	free(last->bytes);
	*last = now;
}

/* Has the test said that the VM is dead, or died itself? */
static bool is_over(int sock)
{
	struct pollfd fd = { .fd = sock, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

/* The reader's life after it has the files. */
static void read_until_dead(struct __test_metadata *_metadata,
			    const struct cast *cast, const int fd[2])
{
	struct stats_file file[2];
	int i;

	run_on_cpu(1);
	ASSERT_EQ(0, stats_become_nobody());
	/* Else the files of /proc/self belong to who it was before. */
	ASSERT_EQ(0, prctl(PR_SET_DUMPABLE, 1));
	for (i = 0; i < 2; i++) {
		stats_load(_metadata, fd[i], &file[i]);
		stats_expect_fdinfo(_metadata, fd[i], "state", "alive");
	}
	stats_say(_metadata, cast->reader);
	while (!is_over(cast->reader)) {
		for (i = 0; i < 2; i++)
			read_again(_metadata, &file[i]);
		__atomic_fetch_add(cast->reads, 1, __ATOMIC_RELAXED);
	}
	for (i = 0; i < 2; i++) {
		stats_expect_fdinfo(_metadata, fd[i], "state", "dead");
		read_again(_metadata, &file[i]);
		ASSERT_EQ(0, stats_same(fd[i], &file[i]));
		stats_unload(&file[i]);
	}
	stats_say(_metadata, cast->reader);
}

/* A reader that is no child of the VMM. */
static void reader_main(struct __test_metadata *_metadata, void *arg)
{
	struct cast *cast = arg;
	struct offer offer;
	int fd[2], i;

	close(cast->to_vmm);
	close(cast->vmm);
	close(cast->to_reader);
	close(cast->give);
	if (cast->how == PULLED) {
		ASSERT_EQ((ssize_t)sizeof(offer),
			  read(cast->take, &offer, sizeof(offer)));
	}
	for (i = 0; i < 2; i++) {
		fd[i] = cast->how == SENT ? stats_recv_fd(cast->take) :
		stats_pidfd_getfd(offer.pid, offer.fd[i]);
		ASSERT_LE(0, fd[i]) TH_LOG("%s", strerror(-fd[i]));
	}
	read_until_dead(_metadata, cast, fd);
}

/* Give the files to the reader in the way that it wants. */
static void give_files(struct __test_metadata *_metadata,
		       const struct cast *cast, struct guest *guest)
{
	struct offer offer = {
		.pid = getpid(),
		.fd = {
			stats_get_fd(_metadata, guest->vm),
			guest->vcpu[0].file.fd,
		},
	};
	int i;

	switch (cast->how) {
	case FORKED:
		if (!fork()) {
			/* These were the VMM's, its files are all to keep. */
			guest_kill(guest);
			close(cast->to_reader);
			read_until_dead(_metadata, cast, offer.fd);
			_exit(0);
		}
		break;
	case SENT:
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, stats_send_fd(cast->give, offer.fd[i])) {
				TH_LOG("fd %d", i);
			}
		}
		break;
	case PULLED:
		ASSERT_EQ((ssize_t)sizeof(offer),
			  write(cast->give, &offer, sizeof(offer)));
		break;
	}
}

/* Until the test is told that the VM is dead, which a kill can forestall. */
static void vmm_main(struct __test_metadata *_metadata, void *arg)
{
	struct cast *cast = arg;
	struct guest guest = { };
	struct runner runner;

	close(cast->to_vmm);
	run_on_cpu(0);
	guest_create(_metadata, cast->kvm, &guest, 1);
	give_files(_metadata, cast, &guest);
	close(cast->to_reader);
	close(cast->reader);
	runner_start(_metadata, &runner, &guest.vcpu[0], UINT_MAX, 1);
	stats_hear(_metadata, cast->vmm);
	runner_stop(_metadata, &runner);
	guest_kill(&guest);
	stats_say(_metadata, cast->vmm);
}

static pid_t start_cast(struct __test_metadata *_metadata, struct cast *cast,
			pid_t *reader)
{
	int sock[2];
	pid_t vmm;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	cast->to_vmm = sock[0];
	cast->vmm = sock[1];
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	cast->to_reader = sock[0];
	cast->reader = sock[1];
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	cast->give = sock[0];
	cast->take = sock[1];

	*reader = 0;
	if (cast->how != FORKED)
		*reader = stats_fork(_metadata, reader_main, cast);
	vmm = stats_fork(_metadata, vmm_main, cast);
	close(cast->vmm);
	close(cast->reader);
	close(cast->give);
	close(cast->take);
	return vmm;
}

/* One life of a VM. Returns how often it was read while it was torn down. */
static unsigned long live_and_die(struct __test_metadata *_metadata,
				  struct cast *cast, bool killed)
{
	unsigned long reads;
	pid_t vmm, reader;

	vmm = start_cast(_metadata, cast, &reader);
	stats_hear(_metadata, cast->to_reader);
	reads = __atomic_load_n(cast->reads, __ATOMIC_RELAXED);
	if (killed) {
		ASSERT_EQ(0, kill(vmm, SIGKILL));
		ASSERT_EQ(vmm, waitpid(vmm, NULL, 0));
	} else {
		stats_say(_metadata, cast->to_vmm);
		stats_hear(_metadata, cast->to_vmm);
	}
	reads = __atomic_load_n(cast->reads, __ATOMIC_RELAXED) - reads;
	stats_say(_metadata, cast->to_reader);
	stats_hear(_metadata, cast->to_reader);
	if (!killed)
		stats_wait(_metadata, vmm);
	if (reader)
		stats_wait(_metadata, reader);
	close(cast->to_vmm);
	close(cast->to_reader);
	return reads;
}

TEST_F(reader, reads_on_while_another_cpu_tears_the_vm_down)
{
	struct cast cast = { .kvm = self->kvm, .how = variant->how };
	unsigned long reads = 0;
	int i;

	cast.reads = mmap(NULL, sizeof(*cast.reads), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, cast.reads);
	for (i = 0; i < DEATHS; i++)
		reads += live_and_die(_metadata, &cast, variant->killed);
	TH_LOG("%lu reads while %d VMs died", reads, DEATHS);
	EXPECT_LT(0UL, reads);
}

/* What is left of VMs, counted by a cgroup that their VMMs are in. */
FIXTURE(memory)
{
	int kvm;
	char cgroup[STATS_CGROUP_SIZE];
	bool exact;
};

FIXTURE_SETUP(memory)
{
	self->exact = stats_count_memory(_metadata, self->cgroup);
	self->kvm = stats_open_kvm(_metadata);
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_EQ(0, result(rmdir(self->cgroup)));
	close(self->kvm);
}

/* A VM whose memory is seen, by what KVM keeps for it as well. */
#define BIG_VCPUS		STATS_MAX_VCPUS
#define BIG_FILES		(1 + BIG_VCPUS)
#define BIG_MEMORY		(64L << 20)
#define BIG_MEMORY_AT		0x8000000
/* Address space without memory: KVM's dirty bitmap of it is 2 bits per page. */
#define BIG_SLOT		(sizeof(long) == 8 ? 16LL << 30 : 512L << 20)
#define BIG_SLOT_AT		0x100000000
#define BIG_SLOT_BITMAPS	(BIG_SLOT / sysconf(_SC_PAGESIZE) * 2 / 8)

/*
 * What a file keeps of the cgroup's: the page of the values, and no more besides
 * than the objects of statistics, struct file and its name.
 */
#define KEPT_PER_FILE		(sysconf(_SC_PAGESIZE) + 2048)

/* What a VMM's own heap may have grown by. */
#define VMM_HEAP		(256L << 10)

struct big_vmm {
	int kvm;
	const char *cgroup;
	int sock;		/* of the VMM */
	int test;		/* of the test */
};

/* Guest memory that takes none before it is used. */
static void *add_slot(struct __test_metadata *_metadata, struct guest *g,
		      int slot, int flags, __u64 at, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT_NE(MAP_FAILED, memory);
	guest_set_slot(_metadata, g, slot, flags, at, memory, size);
	return memory;
}

static void big_vmm_main(struct __test_metadata *_metadata, void *arg)
{
	struct big_vmm *vmm = arg;
	struct guest guest = { };
	void *memory, *slot;
	int i;

	close(vmm->test);
	stats_cgroup_enter(_metadata, vmm->cgroup);
	stats_say(_metadata, vmm->sock);
	stats_hear(_metadata, vmm->sock);

	guest_create(_metadata, vmm->kvm, &guest, BIG_VCPUS);
	memory = add_slot(_metadata, &guest, 1, 0, BIG_MEMORY_AT, BIG_MEMORY);
	slot = add_slot(_metadata, &guest, 2, KVM_MEM_LOG_DIRTY_PAGES,
			BIG_SLOT_AT, BIG_SLOT);
	guest_put_code(_metadata, &guest, stats_touch, stats_touch_end);
	stats_arch_init_vcpu(_metadata, guest.vcpu[0].fd, GUEST_CODE,
			     BIG_MEMORY / sysconf(_SC_PAGESIZE));
	stats_arch_set_data(_metadata, guest.vcpu[0].fd, BIG_MEMORY_AT);
	vcpu_run(_metadata, &guest.vcpu[0], STATS_USER_EXIT_REASON);
	ASSERT_EQ(sizeof(guest.vm),
		  write(vmm->sock, &guest.vm, sizeof(guest.vm)));
	ASSERT_EQ(0, stats_send_fd(vmm->sock, stats_get_fd(_metadata,
							   guest.vm)));
	for (i = 0; i < BIG_VCPUS; i++) {
		ASSERT_EQ(0, stats_send_fd(vmm->sock, guest.vcpu[i].file.fd)) {
			TH_LOG("vCPU %d", i);
		}
	}
	stats_hear(_metadata, vmm->sock);

	/* All but the files, which the test has now. */
	guest_destroy(&guest);
	munmap(memory, BIG_MEMORY);
	munmap(slot, BIG_SLOT);
	stats_say(_metadata, vmm->sock);
	stats_hear(_metadata, vmm->sock);
}

/* What a VMM of its own does, from its birth to its death. */
TEST_F(memory, of_a_vm_is_returned_while_its_files_stay_open)
{
	const long kept = BIG_FILES * KEPT_PER_FILE;
	struct big_vmm vmm = { .kvm = self->kvm, .cgroup = self->cgroup };
	long idle, full, closed, dead, gone;
	char debugfs[STATS_DEBUGFS_SIZE];
	struct stats_file file[BIG_FILES];
	int sock[2], vm, i;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	vmm.test = sock[0];
	vmm.sock = sock[1];
	pid = stats_fork(_metadata, big_vmm_main, &vmm);
	close(vmm.sock);
	stats_hear(_metadata, vmm.test);
	idle = stats_settled(_metadata, self->cgroup).cgroup;

	stats_say(_metadata, vmm.test);
	ASSERT_EQ((ssize_t)sizeof(vm), read(vmm.test, &vm, sizeof(vm)));
	for (i = 0; i < BIG_FILES; i++)
		file[i].fd = stats_recv_fd(vmm.test);
	full = stats_read_number(_metadata, self->cgroup, "memory.current", "");
	stats_debugfs_path(debugfs, pid, vm);
	EXPECT_EQ(0, result(access(debugfs, F_OK)));

	stats_say(_metadata, vmm.test);
	stats_hear(_metadata, vmm.test);
	EXPECT_EQ(-ENOENT, result(access(debugfs, F_OK)));
	for (i = 0; i < BIG_FILES; i++) {
		stats_load(_metadata, file[i].fd, &file[i]);
		stats_expect_fdinfo(_metadata, file[i].fd, "state", "dead");
	}
	closed = stats_cgroup_bytes(_metadata, self->cgroup,
				    idle + kept + VMM_HEAP);

	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	dead = stats_cgroup_bytes(_metadata, self->cgroup, kept);
	for (i = 0; i < BIG_FILES; i++) {
		EXPECT_EQ(0, stats_same(file[i].fd, &file[i]));
		stats_unload(&file[i]);
	}
	gone = stats_cgroup_bytes(_metadata, self->cgroup, STATS_CGROUP_NOISE);

	TH_LOG("kB: %ld idle, %ld with the VM, %ld closed, %ld dead, %ld gone",
	       idle >> 10, full >> 10, closed >> 10, dead >> 10, gone >> 10);
	TH_LOG("%ld bytes kept per file", (dead - gone) / BIG_FILES);
	EXPECT_LE(BIG_MEMORY + BIG_SLOT_BITMAPS, full - idle);
	if (!self->exact)
		return;
	EXPECT_GE(kept + VMM_HEAP, closed - idle);
	EXPECT_GE(kept, dead);
	EXPECT_LE(BIG_FILES * sysconf(_SC_PAGESIZE), dead - gone);
	EXPECT_GE(STATS_CGROUP_NOISE, gone);
}

/* Who has nothing left of VMs that are gone but their values. */
FIXTURE(holder)
{
	int kvm;
	char cgroup[STATS_CGROUP_SIZE];
	bool exact;
};

FIXTURE_VARIANT(holder)
{
	bool mapped;
};

FIXTURE_VARIANT_ADD(holder, of_files)
{
	.mapped = false,
};

FIXTURE_VARIANT_ADD(holder, of_mapped_pages)
{
	.mapped = true,
};

FIXTURE_SETUP(holder)
{
	self->exact = stats_count_memory(_metadata, self->cgroup);
	self->kvm = stats_open_kvm(_metadata);
}

FIXTURE_TEARDOWN(holder)
{
	EXPECT_EQ(0, result(rmdir(self->cgroup)));
	close(self->kvm);
}

/* VMs that come and go, of which one file or one mapped page is kept. */
struct hoard {
	int kvm;
	const char *cgroup;
	bool mapped;
	int vms;
	int vcpus;		/* of each VM */
	int sock;		/* of the holder */
	int test;
	/* Memory that holder and test share. */
	struct hoarded *hoarded;
};

struct hoarded {
	int vms;
	long charged;		/* most bytes that the cgroup was charged */
	long taken;		/* most bytes that the whole system had in use */
};

/* Its file stays open, or else the first page of it mapped. */
static void make_and_end_vm(struct __test_metadata *_metadata,
			    const struct hoard *hoard)
{
	int vm = stats_create_vm(_metadata, hoard->kvm);
	struct kvm_stats_header header;
	int file, i;
	void *map;

	for (i = 0; i < hoard->vcpus; i++)
		close(stats_create_vcpu(_metadata, vm, i));
	file = stats_get_fd(_metadata, vm);
	close(vm);
	if (!hoard->mapped)
		return;

	ASSERT_EQ((ssize_t)sizeof(header),
		  pread(file, &header, sizeof(header), 0));
	map = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, file,
		   header.data_offset);
	ASSERT_NE(MAP_FAILED, map) TH_LOG("mmap: %s", strerror(errno));
	close(file);
}

static long most(long a, long b)
{
	return a > b ? a : b;
}

static void hold_and_count(struct __test_metadata *_metadata, void *arg)
{
	struct hoard *hoard = arg;
	struct hoarded *hoarded = hoard->hoarded;
	long now;

	close(hoard->test);
	stats_cgroup_enter(_metadata, hoard->cgroup);
	stats_say(_metadata, hoard->sock);
	stats_hear(_metadata, hoard->sock);
	while (hoarded->vms < hoard->vms) {
		make_and_end_vm(_metadata, hoard);
		hoarded->vms++;
		now = stats_read_number(_metadata, hoard->cgroup,
					"memory.current", "");
		hoarded->charged = most(hoarded->charged, now);
		now = stats_system_bytes(_metadata);
		hoarded->taken = most(hoarded->taken, now);
	}
	stats_say(_metadata, hoard->sock);
	/* All goes with the process. */
	stats_hear(_metadata, hoard->sock);
}

/* The pid of a holder who begins when he is told to. */
static pid_t start_holder(struct __test_metadata *_metadata,
			  struct hoard *hoard)
{
	int sock[2];
	pid_t pid;

	hoard->hoarded = mmap(NULL, sizeof(*hoard->hoarded),
			      PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, hoard->hoarded);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	hoard->test = sock[0];
	hoard->sock = sock[1];
	pid = stats_fork(_metadata, hold_and_count, hoard);
	close(hoard->sock);
	stats_hear(_metadata, hoard->test);
	return pid;
}

#define HELD_VMS		16
#define HELD_VCPUS		STATS_MAX_VCPUS

/* All that is gone from the system is charged, but for what that varies by. */
TEST_F(holder, is_charged_for_what_is_held_until_it_is_let_go)
{
	const long pages = HELD_VMS * (1 + HELD_VCPUS);
	struct hoard hoard = {
		.kvm = self->kvm,
		.cgroup = self->cgroup,
		.mapped = variant->mapped,
		.vms = HELD_VMS,
		.vcpus = HELD_VCPUS,
	};
	struct stats_usage before, held, after;
	pid_t pid;

	pid = start_holder(_metadata, &hoard);
	before = stats_settled(_metadata, self->cgroup);
	stats_say(_metadata, hoard.test);
	stats_hear(_metadata, hoard.test);
	held = stats_settled(_metadata, self->cgroup);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	after.cgroup = stats_cgroup_bytes(_metadata, self->cgroup,
					  STATS_CGROUP_NOISE);

	held.cgroup -= before.cgroup;
	held.system -= before.system;
	TH_LOG("kB of %ld objects: %ld charged, %ld gone; %ld at last", pages,
	       held.cgroup >> 10, held.system >> 10, after.cgroup >> 10);
	EXPECT_LE(pages * sysconf(_SC_PAGESIZE), held.cgroup);
	close(hoard.test);
	if (!self->exact)
		return;
	EXPECT_GE(pages * KEPT_PER_FILE, held.cgroup);
	EXPECT_GE(held.cgroup + held.cgroup / 4 + STATS_SYSTEM_NOISE,
		  held.system);
	EXPECT_GE(STATS_CGROUP_NOISE, after.cgroup);
}

/*
 * Who does this on a kernel that charges nobody has 146 MB for 5 MB, with pages of
 * 4096 bytes, and can go on until the system has no more.
 */
#define LIMIT			(48L << 20)
#define ATTACK_VMS		120
#define ATTACK_VCPUS		288
/*
 * What the system may have in use besides: not all of a VM's memory is charged on
 * 5.10, and what is freed is returned later.
 */
#define LIMIT_SLACK		(24L << 20)

/* Someone outside of the cgroup, whom the OOM killer would choose first. */
static void live_beside(struct __test_metadata *_metadata, void *sock)
{
	void *memory = mmap(NULL, LIMIT, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			    MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	ASSERT_NE(MAP_FAILED, memory);
	stats_say(_metadata, *(int *)sock);
	stats_hear(_metadata, *(int *)sock);
}

TEST_F(holder, is_killed_at_the_limit_and_nobody_else)
{
	struct hoard hoard = {
		.kvm = self->kvm,
		.cgroup = self->cgroup,
		.mapped = variant->mapped,
		.vms = ATTACK_VMS,
		.vcpus = ioctl(self->kvm, KVM_CHECK_EXTENSION,
			       KVM_CAP_MAX_VCPUS),
	};
	int status, sock[2];
	struct stats_keeper keeper;
	struct stats_usage before;
	pid_t pid, other;
	char limit[32];
	long gone;
	char byte;

	if (hoard.vcpus > ATTACK_VCPUS)
		hoard.vcpus = ATTACK_VCPUS;
	if (hoard.vms * (1L + hoard.vcpus) * sysconf(_SC_PAGESIZE) < LIMIT)
		SKIP(return, "VMs of %d vCPUs do not reach it", hoard.vcpus);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	other = stats_fork(_metadata, live_beside, &sock[1]);
	stats_hear(_metadata, sock[0]);
	pid = start_holder(_metadata, &hoard);
	before = stats_settled(_metadata, self->cgroup);
	snprintf(limit, sizeof(limit), "%ld", LIMIT);
	ASSERT_EQ(0, stats_write_file(self->cgroup, "memory.max", limit));

	stats_quiet_console(_metadata, &keeper);
	stats_say(_metadata, hoard.test);
	/* Either the holder has what he wants, or the socket is closed. */
	if (read(hoard.test, &byte, 1) == 1)
		kill(pid, SIGUSR1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	stats_restore_settings(_metadata, &keeper);

	TH_LOG("%d VMs of %d vCPUs; kB: %ld charged, %ld gone",
	       hoard.hoarded->vms, hoard.vcpus, hoard.hoarded->charged >> 10,
	       (hoard.hoarded->taken - before.system) >> 10);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGKILL, WTERMSIG(status));
	EXPECT_EQ(1, stats_read_number(_metadata, self->cgroup,
				       "memory.events", "oom_kill "));
	EXPECT_GE(LIMIT, hoard.hoarded->charged);
	EXPECT_GE(LIMIT + LIMIT_SLACK, hoard.hoarded->taken - before.system);

	/* Nobody has waited for the other one, nobody has killed him. */
	EXPECT_EQ(0, waitpid(other, NULL, WNOHANG));
	stats_say(_metadata, sock[0]);
	stats_wait(_metadata, other);
	gone = stats_cgroup_bytes(_metadata, self->cgroup, STATS_CGROUP_NOISE);
	close(hoard.test);
	if (!self->exact)
		return;
	EXPECT_GE(STATS_CGROUP_NOISE, gone);
}

/*
 * Thousands of VMs, and thousands of files of few VMs: enough that a page for
 * each VM, or 64 bytes for each file, exceed what the memory of a whole system
 * varies by. The first rounds fill what the kernel keeps for good. Where memory is
 * not exact, no more than those are done once more, for KASAN to see.
 */
#define WORKERS			16
#define FILE_WORKERS		2
#define WARM_VMS		256
#define VMS			1024
#define WARM_FILES		4096
#define FILES			16384

struct worker {
	int kvm;
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
		open_handles(_metadata, worker->kvm, &h);
		for (i = 0; i < HANDLES; i++)
			close_handle(&h, order[i]);
		free_handles(&h);
	}
}

static void many_vms(struct __test_metadata *_metadata, void *worker)
{
	stats_in_children(_metadata, WORKERS, live_in_cgroup, worker);
}

/* Two files of one VM at a time. */
static void open_and_close_files(struct __test_metadata *_metadata, int nr,
				 void *arg)
{
	struct worker *worker = arg;
	struct handles h;
	struct stats_file file;
	int i, other;

	stats_cgroup_enter(_metadata, worker->cgroup);
	open_handles(_metadata, worker->kvm, &h);
	for (i = 0; i < worker->rounds; i++) {
		stats_load(_metadata, stats_get_fd(_metadata, h.fd[VCPU]),
			   &file);
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
	stats_in_children(_metadata, FILE_WORKERS, open_and_close_files,
			  worker);
}

TEST_F(memory, does_not_grow_over_thousands_of_vms)
{
	struct worker worker = {
		.kvm = self->kvm,
		.cgroup = self->cgroup,
		.rounds = WARM_VMS / WORKERS,
	};

	many_vms(_metadata, &worker);
	if (self->exact)
		worker.rounds = VMS / WORKERS;
	stats_expect_no_growth(_metadata, self->cgroup, self->exact, many_vms,
			       &worker);
}

TEST_F(memory, does_not_grow_over_thousands_of_files)
{
	struct worker worker = {
		.kvm = self->kvm,
		.cgroup = self->cgroup,
		.rounds = WARM_FILES / FILE_WORKERS / 2,
	};

	many_files(_metadata, &worker);
	if (self->exact)
		worker.rounds = FILES / FILE_WORKERS / 2;
	stats_expect_no_growth(_metadata, self->cgroup, self->exact, many_files,
			       &worker);
}

TEST_HARNESS_MAIN
