// SPDX-License-Identifier: GPL-2.0-only
/*
 * A reader maps all vCPUs of a VM with one statistics file, and scans them without a system
 * call while the VM grows.
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

/* A file that is mapped as a whole. */
struct view {
	struct stats_file f;
	const char *map;
	const struct kvm_stats_desc *online_vcpus;
	const struct kvm_stats_desc *exits;
};

static void view_open(struct __test_metadata *_metadata, int fd, struct view *view)
{
	stats_load(_metadata, fd, &view->f);
	view->map = stats_mmap(_metadata, &view->f, stats_mmap_size(&view->f));
	view->online_vcpus = stats_get(_metadata, &view->f, "online_vcpus");
	view->exits = stats_get_vcpu(_metadata, &view->f, STATS_USER_EXITS);
}

static __u64 view_exits(const struct view *view, unsigned int i)
{
	return stats_mapped(stats_window(&view->f, view->map, i), view->exits);
}

/* A system call other than exit_group() will kill this process. */
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

/* Memory that VMM and scanner share, with bounds of each vCPU's exits. */
struct growth {
	__u64 at_least[STATS_MAX_VCPUS];
	__u64 at_most[STATS_MAX_VCPUS];
	__u64 seen;			/* vCPUs, by the scanner */
	__u64 scans;
	bool stop;
	/* The first wrong value, which the test reports. */
	const char *wrong;
	__u64 value, vcpu, bound;
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
};

static void __attribute__((noreturn))
scanner_complain(struct growth *g, const char *wrong, __u64 value, __u64 vcpu, __u64 bound)
{
	g->value = value;
	g->vcpu = vcpu;
	g->bound = bound;
	__atomic_store_n(&g->wrong, wrong, __ATOMIC_RELEASE);
	_exit(1);
}

/* The exact count is known, except for exits that happen meanwhile. */
static void scan_exits(const struct view *view, struct growth *g, unsigned int i)
{
	__u64 least, exits, most;

	least = __atomic_load_n(&g->at_least[i], __ATOMIC_ACQUIRE);
	exits = view_exits(view, i);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	most = __atomic_load_n(&g->at_most[i], __ATOMIC_RELAXED);
	if (exits < least)
		scanner_complain(g, "too few exits", exits, i, least);
	if (exits > most)
		scanner_complain(g, "too many exits", exits, i, most);
}

/* Scan until told to stop, and then once more to see the final values. */
static void scan(const struct view *view, struct growth *g)
{
	unsigned int i;
	__u64 vcpus;
	bool stop;

	do {
		stop = __atomic_load_n(&g->stop, __ATOMIC_ACQUIRE);
		vcpus = stats_mapped_vcpus(view->map, view->online_vcpus);
		if (vcpus < g->seen || vcpus > STATS_MAX_VCPUS)
			scanner_complain(g, "online_vcpus", vcpus, 0, g->seen);
		for (i = 0; i < vcpus; i++)
			scan_exits(view, g, i);
		g->scans++;
		__atomic_store_n(&g->seen, vcpus, __ATOMIC_RELEASE);
	} while (!stop);
}

static void scanner_main(struct __test_metadata *_metadata, void *arg)
{
	struct scanner *s = arg;
	int ret = forbid_system_calls();

	if (ret)
		scanner_complain(s->growth, "no seccomp filter", -ret, 0, 0);
	scan(s->view, s->growth);
	_exit(0);
}

/* Let a vCPU exit; meanwhile the scanner may see these exits or not. */
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

	for (i = 0; i < RUNNER_MAX_READS; i++) {
		if (__atomic_load_n(&g->seen, __ATOMIC_ACQUIRE) == (__u64)vcpus)
			return;
		if (__atomic_load_n(&g->wrong, __ATOMIC_ACQUIRE))
			return;
		sched_yield();
	}
	ASSERT_EQ((__u64)vcpus, g->seen) TH_LOG("scanner, after %llu scans", g->scans);
}

#define EXITS		10

TEST_F(scan, scan_of_a_growing_vm_sees_each_vcpu_without_a_system_call)
{
	struct scanner scanner = { .view = &self->view, .growth = self->growth };
	struct growth *g = self->growth;
	pid_t pid;
	int i;

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
		TH_LOG("%s: %llu, vCPU %llu, %llu", g->wrong, g->value, g->vcpu, g->bound);
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

TEST_HARNESS_MAIN
