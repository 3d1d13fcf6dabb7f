// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers that have all vCPUs of a VM in one mapping of its statistics file:
 * they scan them without a system call while the VM grows, keep none of its
 * memory when it is killed, and leave nothing behind, however they end.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <uapi/linux/filter.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_memory.h"
#include "stats_fd_mmap.h"

#ifndef SYS_exit_group
#ifdef __x86_64__
#define SYS_exit_group	231
#else
#define SYS_exit_group	94
#endif
#endif

/* More than a vCPU has values. */
#define MAX_VALUES	1024

/* A file that is mapped as a whole, with what a scan needs to know of it. */
struct view {
	struct stats_file f;
	const char *map;
	const struct kvm_stats_desc *online_vcpus;
	const struct kvm_stats_desc *exits;
	unsigned int num;		/* values of a vCPU */
	bool shrinks[MAX_VALUES];
};

static void view_open(struct __test_metadata *_metadata, int fd,
		      struct view *view)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	stats_load(_metadata, fd, &view->f);
	view->map = stats_mmap(_metadata, &view->f, stats_mmap_size(&view->f));
	view->online_vcpus = stats_find(&view->f, "online_vcpus");
	ASSERT_NE(NULL, view->online_vcpus);
	view->exits = stats_find_vcpu(&view->f, STATS_USER_EXITS);
	ASSERT_NE(NULL, view->exits);

	view->num = view->f.ext.vcpu_data_size / 8;
	ASSERT_GE(MAX_VALUES, view->num);
	memset(view->shrinks, 0, sizeof(view->shrinks));
	for (i = 0; (desc = stats_vcpu_desc(&view->f, i)); i++) {
		if ((desc->flags & KVM_STATS_TYPE_MASK) ==
		    KVM_STATS_TYPE_INSTANT)
			view->shrinks[desc->offset / 8] = true;
	}
}

static void view_close(struct view *view)
{
	munmap((void *)view->map, stats_mmap_size(&view->f));
	stats_unload(&view->f);
}

static __u64 view_vcpus(const struct view *view)
{
	return stats_mapped_vcpus(view->map, view->online_vcpus);
}

static __u64 view_exits(const struct view *view, unsigned int i)
{
	return stats_mapped(stats_window(&view->f, view->map, i), view->exits);
}

/* Whether all behind the values is zero, as far as the window goes. */
static bool window_ends_with_zeros(const struct view *view, unsigned int i)
{
	const __u64 *values = (void *)stats_window(&view->f, view->map, i);
	unsigned int j;

	for (j = view->num; j < view->f.ext.vcpu_stride / 8; j++) {
		if (values[j])
			return false;
	}
	return true;
}

static void need_ext(struct __test_metadata *_metadata, int kvm)
{
	int vm = stats_create_vm(_metadata, kvm);
	struct stats_file file;

	stats_load(_metadata, stats_get_fd(_metadata, vm), &file);
	if (!stats_has_ext(&file))
		SKIP_IN_SETUP("no mapping of statistics on this kernel");
	stats_unload(&file);
	close(vm);
}

/* From here on this process can do no system call but exit_group(). */
static int forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = {
		.len = ARRAY_SIZE(filter),
		.filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return result(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
}

/* What VMM and scanner have in common. A vCPU's exits are between the two. */
struct growth {
	__u64 at_least[STATS_MAX_VCPUS];
	__u64 at_most[STATS_MAX_VCPUS];
	__u64 seen;			/* vCPUs, by the scanner */
	__u64 scans;
	bool stop;
	/* The first value that is wrong, for the test to tell of. */
	const char *wrong;
	__u64 value, vcpu, index;
};

FIXTURE(scan)
{
	int kvm;
	int vcpus;
	struct guest guest;
	struct growth *growth;
	struct view view;
};

FIXTURE_SETUP(scan)
{
	self->kvm = stats_open_kvm(_metadata);
	need_ext(_metadata, self->kvm);
	self->vcpus = ioctl(self->kvm, KVM_CHECK_EXTENSION, KVM_CAP_MAX_VCPUS);
	if (self->vcpus > STATS_MAX_VCPUS)
		self->vcpus = STATS_MAX_VCPUS;
	self->growth = mmap(NULL, sizeof(*self->growth), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->growth);
	guest_create(_metadata, self->kvm, &self->guest, 1);
	view_open(_metadata, stats_get_fd(_metadata, self->guest.vm),
		  &self->view);
}

FIXTURE_TEARDOWN(scan)
{
	view_close(&self->view);
	guest_destroy(&self->guest);
	munmap(self->growth, sizeof(*self->growth));
	close(self->kvm);
}

struct scanner {
	const struct view *view;
	struct growth *growth;
	__u64 last[STATS_MAX_VCPUS][MAX_VALUES];
};

static void __attribute__((noreturn))
scanner_complain(struct scanner *s, const char *wrong, __u64 value,
		 __u64 vcpu, __u64 index)
{
	struct growth *g = s->growth;

	g->value = value;
	g->vcpu = vcpu;
	g->index = index;
	__atomic_store_n(&g->wrong, wrong, __ATOMIC_RELEASE);
	_exit(1);
}

/* The exact count is known but for those exits that are under way. */
static void scan_exits(struct scanner *s, unsigned int i)
{
	__u64 least, exits, most;

	least = __atomic_load_n(&s->growth->at_least[i], __ATOMIC_ACQUIRE);
	exits = view_exits(s->view, i);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	most = __atomic_load_n(&s->growth->at_most[i], __ATOMIC_RELAXED);
	if (exits < least)
		scanner_complain(s, "too few exits", exits, i, least);
	if (exits > most)
		scanner_complain(s, "too many exits", exits, i, most);
}

static void scan_vcpu(struct scanner *s, unsigned int i)
{
	const __u64 *values = (void *)stats_window(&s->view->f, s->view->map,
						   i);
	unsigned int j;
	__u64 value;

	scan_exits(s, i);
	for (j = 0; j < s->view->num; j++) {
		value = __atomic_load_n(&values[j], __ATOMIC_RELAXED);
		if (value < s->last[i][j] && !s->view->shrinks[j])
			scanner_complain(s, "shrinks", value, i, j);
		s->last[i][j] = value;
	}
	if (!window_ends_with_zeros(s->view, i))
		scanner_complain(s, "no zeros behind the values", 0, i, 0);
}

/* Scan until told to stop, and once more: that one sees the last values. */
static void scan_all_the_time(struct scanner *s)
{
	struct growth *g = s->growth;
	unsigned int i;
	__u64 vcpus;
	bool stop;

	do {
		stop = __atomic_load_n(&g->stop, __ATOMIC_ACQUIRE);
		vcpus = view_vcpus(s->view);
		if (vcpus < g->seen || vcpus > STATS_MAX_VCPUS)
			scanner_complain(s, "online_vcpus", vcpus, g->seen, 0);
		for (i = 0; i < vcpus; i++)
			scan_vcpu(s, i);
		g->scans++;
		__atomic_store_n(&g->seen, vcpus, __ATOMIC_RELEASE);
	} while (!stop);
}

static void scanner_main(struct __test_metadata *_metadata, void *arg)
{
	struct scanner *s = arg;
	int ret = forbid_system_calls();

	if (ret)
		scanner_complain(s, "no seccomp filter", -ret, 0, 0);
	scan_all_the_time(s);
	_exit(0);
}

/* Exits of the @i-th vCPU, which the scanner sees or does not see yet. */
static void grow_exits(struct __test_metadata *_metadata,
		       struct growth *g, struct guest *guest, int i, int exits)
{
	__atomic_store_n(&g->at_most[i], g->at_most[i] + exits,
			 __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	vcpu_exit_to_user(_metadata, &guest->vcpu[i], exits);
	__atomic_store_n(&g->at_least[i], g->at_most[i], __ATOMIC_RELEASE);
}

static void wait_until_seen(struct __test_metadata *_metadata,
			    struct growth *g, int vcpus)
{
	int i;

	for (i = 0; i < RUNNER_MAX_LOOKS; i++) {
		if (__atomic_load_n(&g->seen, __ATOMIC_ACQUIRE) ==
		    (__u64)vcpus)
			return;
		if (__atomic_load_n(&g->wrong, __ATOMIC_ACQUIRE))
			return;
		sched_yield();
	}
	ASSERT_EQ((__u64)vcpus, g->seen) {
		TH_LOG("scanner, after %llu scans", g->scans);
	}
}

/* Different for each vCPU. */
#define EXITS		10

TEST_F(scan, of_a_growing_vm_sees_each_vcpu_and_makes_no_system_call)
{
	static struct scanner scanner;
	struct growth *g = self->growth;
	pid_t pid;
	int i;

	scanner.view = &self->view;
	scanner.growth = g;
	pid = stats_fork(_metadata, scanner_main, &scanner);
	wait_until_seen(_metadata, g, 1);
	for (i = 1; i < self->vcpus && !g->wrong; i++) {
		guest_add_vcpu(_metadata, &self->guest, i);
		wait_until_seen(_metadata, g, i + 1);
		grow_exits(_metadata, g, &self->guest, i, EXITS + i);
	}
	for (i = 0; i < self->vcpus && !g->wrong; i++)
		grow_exits(_metadata, g, &self->guest, i, EXITS);
	__atomic_store_n(&g->stop, true, __ATOMIC_RELEASE);

	stats_wait(_metadata, pid);
	ASSERT_EQ(NULL, g->wrong) {
		TH_LOG("%s: %llu, vCPU %llu, %llu", g->wrong, g->value,
		       g->vcpu, g->index);
	}
	EXPECT_EQ((__u64)self->vcpus, g->seen);
	EXPECT_LE((__u64)self->vcpus, g->scans);
	TH_LOG("%llu scans", g->scans);
	for (i = 0; i < self->vcpus; i++) {
		EXPECT_EQ(i ? 2 * EXITS + i : (__u64)EXITS,
			  view_exits(&self->view, i)) {
			TH_LOG("vCPU %d", i);
		}
	}
}

/* What the case above relies on. */
TEST_F(scan, with_a_system_call_is_killed)
{
	pid_t pid = fork();
	int status;

	ASSERT_LE(0, pid);
	if (!pid) {
		if (!forbid_system_calls())
			getppid();
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGSYS, WTERMSIG(status));
}

/* What is left of a VM, and of many. */
FIXTURE(memory)
{
	int kvm;
	char cgroup[STATS_CGROUP_SIZE];
	bool exact;
};

FIXTURE_SETUP(memory)
{
	self->kvm = stats_open_kvm(_metadata);
	need_ext(_metadata, self->kvm);
	self->exact = stats_count_memory(_metadata, self->cgroup);
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_EQ(0, result(rmdir(self->cgroup)));
	close(self->kvm);
}

#define READERS		64
#define BIG_VCPUS	16
#define BIG_MEMORY	(64L << 20)
#define BIG_MEMORY_AT	0x40000000

/*
 * What a dead VM may be charged for beside its pages of values: the objects of
 * statistics and the list of them.
 */
#define KEPT_OBJECTS	(64L << 10)

struct big_vmm {
	int kvm;
	const char *cgroup;
	int sock;
};

static void big_vmm_main(struct __test_metadata *_metadata, void *arg)
{
	struct big_vmm *vmm = arg;
	struct guest guest = { };
	int i;

	stats_cgroup_enter(_metadata, vmm->cgroup);
	guest_create(_metadata, vmm->kvm, &guest, BIG_VCPUS);
	guest_add_memory(_metadata, &guest, 1, 0, BIG_MEMORY_AT, BIG_MEMORY);
	for (i = 0; i < BIG_VCPUS; i++)
		vcpu_exit_to_user(_metadata, &guest.vcpu[i], EXITS + i);
	ASSERT_EQ(sizeof(guest.vm),
		  write(vmm->sock, &guest.vm, sizeof(guest.vm)));
	ASSERT_EQ(0, stats_send_fd(vmm->sock,
				   stats_get_fd(_metadata, guest.vm)));
	stats_hear(_metadata, vmm->sock);
}

struct readers {
	const struct view *view;
	int to_test[2], to_readers[2];	/* pipes */
};

static void expect_last_values(struct __test_metadata *_metadata,
			       const struct view *view)
{
	int i;

	ASSERT_EQ((__u64)BIG_VCPUS, view_vcpus(view));
	for (i = 0; i < BIG_VCPUS; i++) {
		EXPECT_EQ(EXITS + (__u64)i, view_exits(view, i)) {
			TH_LOG("vCPU %d", i);
		}
		EXPECT_TRUE(window_ends_with_zeros(view, i));
	}
}

/* Has a mapping of its own, read before and after the VM's death. */
static void reader_main(struct __test_metadata *_metadata, void *arg)
{
	struct readers *readers = arg;
	struct view view = *readers->view;

	close(readers->to_readers[1]);
	view.map = stats_mmap(_metadata, &view.f, stats_mmap_size(&view.f));
	expect_last_values(_metadata, &view);
	stats_say(_metadata, readers->to_test[1]);
	stats_hear(_metadata, readers->to_readers[0]);
	expect_last_values(_metadata, &view);
}

static void start_readers(struct __test_metadata *_metadata,
			  struct readers *readers, pid_t pid[READERS])
{
	int i;

	ASSERT_EQ(0, pipe(readers->to_test));
	ASSERT_EQ(0, pipe(readers->to_readers));
	for (i = 0; i < READERS; i++)
		pid[i] = stats_fork(_metadata, reader_main, readers);
	for (i = 0; i < READERS; i++)
		stats_hear(_metadata, readers->to_test[0]);
}

static void finish_readers(struct __test_metadata *_metadata,
			   struct readers *readers, pid_t pid[READERS])
{
	int i;

	for (i = 0; i < READERS; i++)
		stats_say(_metadata, readers->to_readers[1]);
	for (i = 0; i < READERS; i++)
		stats_wait(_metadata, pid[i]);
	for (i = 0; i < 2; i++) {
		close(readers->to_test[i]);
		close(readers->to_readers[i]);
	}
}

static long free_bytes(struct __test_metadata *_metadata)
{
	return stats_read_number(_metadata, "/proc", "meminfo", "MemFree:") *
	       1024;
}

TEST_F(memory, of_a_killed_vm_with_64_mapped_readers_is_returned_at_once)
{
	struct big_vmm vmm = { .kvm = self->kvm, .cgroup = self->cgroup };
	char debugfs[STATS_DEBUGFS_SIZE];
	long full, dead, returned, pages;
	struct readers readers;
	pid_t pid, reader[READERS];
	struct view view;
	int sock[2], vm;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	vmm.sock = sock[1];
	pid = stats_fork(_metadata, big_vmm_main, &vmm);
	close(sock[1]);
	ASSERT_EQ((ssize_t)sizeof(vm), read(sock[0], &vm, sizeof(vm)));
	stats_debugfs_path(debugfs, pid, vm);
	view_open(_metadata, stats_recv_fd(sock[0]), &view);
	readers.view = &view;
	start_readers(_metadata, &readers, reader);

	full = stats_read_number(_metadata, self->cgroup, "memory.current", "");
	returned = -free_bytes(_metadata);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	returned += free_bytes(_metadata);
	EXPECT_EQ(-ENOENT, result(access(debugfs, F_OK)));
	stats_expect_fdinfo(_metadata, view.f.fd, "state", "dead");
	pages = (1 + BIG_VCPUS) * sysconf(_SC_PAGESIZE);
	dead = stats_cgroup_bytes(_metadata, self->cgroup,
				  pages + KEPT_OBJECTS);

	finish_readers(_metadata, &readers, reader);
	view_close(&view);
	close(sock[0]);
	TH_LOG("kB: %ld charged with the VM, %ld returned at once, %ld kept",
	       full >> 10, returned >> 10, dead >> 10);
	EXPECT_LE(BIG_MEMORY, full);
	/* Others may use some of it meanwhile. */
	EXPECT_LE(BIG_MEMORY / 2, returned);
	if (!self->exact)
		return;
	EXPECT_LE(pages, dead);
	EXPECT_GE(pages + KEPT_OBJECTS, dead);
	EXPECT_GE(STATS_CGROUP_NOISE,
		  stats_cgroup_bytes(_metadata, self->cgroup,
				     STATS_CGROUP_NOISE));
}

/* VMs that come and go, and those who read each of them meanwhile. */
#define VMMS		2
#define VMM_READERS	2
#define STRESS_VMS	24	/* of each VMM */
#define STRESS_SCANS	50

#define STRESS_READERS	(VMMS * VMM_READERS)

/* Each reader has a socket from its VMM. */
struct stress {
	int kvm;
	const char *cgroup;
	int to_reader[STRESS_READERS];
	int from_vmm[STRESS_READERS];
};

/* No value of online_vcpus is wrong that does not go back. */
static void stress_scan(struct __test_metadata *_metadata,
			const struct view *view, int scans)
{
	__u64 vcpus = 0, last = 0;
	unsigned int i;

	while (scans--) {
		vcpus = view_vcpus(view);
		ASSERT_LE(last, vcpus);
		ASSERT_GE((__u64)STATS_MAX_VCPUS, vcpus);
		for (i = 0; i < vcpus; i++) {
			ASSERT_GE((__u64)EXITS, view_exits(view, i));
			ASSERT_TRUE(window_ends_with_zeros(view, i));
		}
		last = vcpus;
		sched_yield();
	}
}

/* Other pieces of the file come and go beside a mapping of all. */
static void stress_map(struct __test_metadata *_metadata,
		       const struct view *view)
{
	struct view again = *view;
	int i;

	for (i = 0; i < STRESS_SCANS; i++) {
		again.map = stats_mmap(_metadata, &again.f,
				       stats_mmap_size(&again.f));
		stress_scan(_metadata, &again, 1);
		munmap((void *)stats_window(&again.f, again.map, i % 8),
		       again.f.ext.vcpu_stride);
		munmap((void *)again.map, stats_mmap_size(&again.f));
	}
}

static void stress_scan_in_child(struct __test_metadata *_metadata, void *arg)
{
	stress_scan(_metadata, arg, STRESS_SCANS);
}

/* How readers live and die. */
enum life { SCANS, MAPS, FORKS, CLOSES, LIVES };

static bool dies_by_signal(int nr)
{
	return nr / LIVES % 2;
}

static void stress_life(struct __test_metadata *_metadata, int fd, int nr)
{
	struct view view;

	view_open(_metadata, fd, &view);
	switch (nr % LIVES) {
	case SCANS:
		stress_scan(_metadata, &view, STRESS_SCANS);
		break;
	case MAPS:
		stress_map(_metadata, &view);
		break;
	case FORKS:
		stats_wait(_metadata,
			   stats_fork(_metadata, stress_scan_in_child, &view));
		break;
	case CLOSES:
		close(view.f.fd);
		stress_scan(_metadata, &view, STRESS_SCANS);
		break;
	}
	if (dies_by_signal(nr))
		raise(SIGKILL);
	/* Whatever is still mapped goes with the process. */
	_exit(!__test_passed(_metadata));
}

static void stress_reap(struct __test_metadata *_metadata, pid_t pid, int nr)
{
	int status;

	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(dies_by_signal(nr) ? SIGKILL : 0, status) {
		TH_LOG("reader %d", nr);
	}
}

/* Each file gets a process of its own, the one before may still be at it. */
static void stress_reader(struct __test_metadata *_metadata, int sock, int nr)
{
	pid_t pid, before = 0;
	int fd;

	for (;; nr++) {
		fd = stats_recv_fd(sock);
		if (fd < 0)
			break;
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			stress_life(_metadata, fd, nr);
		close(fd);
		stats_say(_metadata, sock);
		if (before)
			stress_reap(_metadata, before, nr - 1);
		before = pid;
	}
	ASSERT_NE(0, before);
	stress_reap(_metadata, before, nr - 1);
}

static void stress_vmm(struct __test_metadata *_metadata,
		       const struct stress *stress, const int sock[VMM_READERS])
{
	const int sizes[] = {
		1, STATS_MAX_VCPUS, 2, 16, STATS_MAX_VCPUS / 2 + 1, 5,
	};
	struct guest guest;
	int n, i, fd;

	for (n = 0; n < STRESS_VMS; n++) {
		memset(&guest, 0, sizeof(guest));
		guest_create(_metadata, stress->kvm, &guest, 0);
		fd = stats_get_fd(_metadata, guest.vm);
		for (i = 0; i < VMM_READERS; i++) {
			ASSERT_EQ(0, stats_send_fd(sock[i], fd)) {
				TH_LOG("VM %d, reader %d", n, i);
			}
			stats_hear(_metadata, sock[i]);
		}
		close(fd);
		for (i = 0; i < sizes[n % ARRAY_SIZE(sizes)]; i++)
			guest_add_vcpu(_metadata, &guest, i);
		vcpu_exit_to_user(_metadata, &guest.vcpu[i - 1], EXITS);
		guest_destroy(&guest);
	}
}

/* A number of a VMM or of a reader, -1 for the other one. */
struct role {
	const struct stress *stress;
	int vmm;
	int reader;
};

/* Each has its own ends of the sockets only, and thereby notices what ends. */
static void stress_play(struct __test_metadata *_metadata, void *arg)
{
	const struct role *role = arg;
	const struct stress *stress = role->stress;
	int i;

	stats_cgroup_enter(_metadata, stress->cgroup);
	for (i = 0; i < STRESS_READERS; i++) {
		if (i / VMM_READERS != role->vmm)
			close(stress->to_reader[i]);
		if (i != role->reader)
			close(stress->from_vmm[i]);
	}
	if (role->vmm >= 0)
		stress_vmm(_metadata, stress,
			   &stress->to_reader[role->vmm * VMM_READERS]);
	else
		stress_reader(_metadata, stress->from_vmm[role->reader],
			      role->reader);
}

static void stress_run(struct __test_metadata *_metadata, void *arg)
{
	struct stress *stress = arg;
	struct role role = { .stress = stress };
	pid_t pid[VMMS + STRESS_READERS];
	int i, sock[2];

	for (i = 0; i < STRESS_READERS; i++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
		stress->to_reader[i] = sock[0];
		stress->from_vmm[i] = sock[1];
	}
	for (i = 0; i < VMMS + STRESS_READERS; i++) {
		role.vmm = i < VMMS ? i : -1;
		role.reader = i < VMMS ? -1 : i - VMMS;
		pid[i] = stats_fork(_metadata, stress_play, &role);
	}
	for (i = 0; i < STRESS_READERS; i++) {
		close(stress->to_reader[i]);
		close(stress->from_vmm[i]);
	}
	for (i = 0; i < VMMS + STRESS_READERS; i++)
		stats_wait(_metadata, pid[i]);
}

/* All that are alive, of whatever process. */
static int count_vms(void)
{
	DIR *dir = opendir(STATS_DEBUGFS);
	struct dirent *entry;
	int vms = 0;

	while (dir && (entry = readdir(dir)))
		vms += entry->d_type == DT_DIR && entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return vms;
}

TEST_F(memory, does_not_grow_while_readers_of_many_vms_come_and_go)
{
	struct stress stress = { .kvm = self->kvm, .cgroup = self->cgroup };
	int vms = count_vms();

	stress_run(_metadata, &stress);
	stats_expect_no_growth(_metadata, self->cgroup, self->exact, stress_run,
			       &stress);
	EXPECT_EQ(vms, count_vms());
}

TEST_HARNESS_MAIN
