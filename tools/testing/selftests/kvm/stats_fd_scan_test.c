// SPDX-License-Identifier: GPL-2.0-only
/*
 * A reader that maps all vCPUs of a VM by one statistics file scans them while the VM grows,
 * without a system call.
 */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <stddef.h>
#include <uapi/linux/filter.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"
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

static void view_open(struct __test_metadata *_metadata, int fd, struct view *view)
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
		if ((desc->flags & KVM_STATS_TYPE_MASK) == KVM_STATS_TYPE_INSTANT)
			view->shrinks[desc->offset / 8] = true;
	}
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

/* From here on this process can do no system call but exit_group(). */
static int forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
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
	int vcpus;
	struct guest guest;
	struct growth *growth;
	struct view view;
};

FIXTURE_SETUP(scan)
{
	self->vcpus = stats_max_vcpus(_metadata);
	if (self->vcpus > STATS_MAX_VCPUS)
		self->vcpus = STATS_MAX_VCPUS;
	self->growth = mmap(NULL, sizeof(*self->growth), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->growth);
	guest_create(_metadata, &self->guest, 1);
	view_open(_metadata, stats_get_fd(_metadata, self->guest.vm), &self->view);
}

FIXTURE_TEARDOWN(scan) { }

struct scanner {
	const struct view *view;
	struct growth *growth;
	__u64 last[STATS_MAX_VCPUS][MAX_VALUES];
};

static void __attribute__((noreturn))
scanner_complain(struct scanner *s, const char *wrong, __u64 value, __u64 vcpu, __u64 index)
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
	const __u64 *values = (void *)stats_window(&s->view->f, s->view->map, i);
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
	__atomic_store_n(&g->at_most[i], g->at_most[i] + exits, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	vcpu_exit_to_user(_metadata, &guest->vcpu[i], exits);
	__atomic_store_n(&g->at_least[i], g->at_most[i], __ATOMIC_RELEASE);
}

static void wait_until_seen(struct __test_metadata *_metadata, struct growth *g, int vcpus)
{
	int i;

	for (i = 0; i < RUNNER_MAX_LOOKS; i++) {
		if (__atomic_load_n(&g->seen, __ATOMIC_ACQUIRE) == (__u64)vcpus)
			return;
		if (__atomic_load_n(&g->wrong, __ATOMIC_ACQUIRE))
			return;
		sched_yield();
	}
	ASSERT_EQ((__u64)vcpus, g->seen) TH_LOG("scanner, after %llu scans", g->scans);
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
		TH_LOG("%s: %llu, vCPU %llu, %llu", g->wrong, g->value, g->vcpu, g->index);
	}
	EXPECT_EQ((__u64)self->vcpus, g->seen);
	EXPECT_LE((__u64)self->vcpus, g->scans);
	TH_LOG("%llu scans", g->scans);
	for (i = 0; i < self->vcpus; i++) {
		EXPECT_EQ(i ? 2 * EXITS + i : (__u64)EXITS, view_exits(&self->view, i)) {
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

TEST_HARNESS_MAIN
