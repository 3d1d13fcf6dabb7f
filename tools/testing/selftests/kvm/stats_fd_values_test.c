// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guests do something a known number of times: the statistics that count it grow by just that
 * number, and others of the same kind do not change.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "stats_fd_fixture.h"
#include "stats_fd_reasons.h"
#include "stats_fd_sleep.h"

#define TIMES			1000

/* Halts of one vCPU, each with a thread of its own. */
#define HALTS			50

#define MAX_NAMES		16

/* Repetitions without an interrupt of the host, in one of many attempts. */
#define FEW			10
#define ATTEMPTS		1000

static void read_names(struct __test_metadata *_metadata,
		       const struct guest_vcpu *v, const char * const *names,
		       __u64 values[MAX_NAMES])
{
	int i;

	for (i = 0; names[i]; i++) {
		ASSERT_GT(MAX_NAMES, i);
		values[i] = vcpu_read(_metadata, v, names[i]);
	}
}

static __u64 activity_moves(const struct stats_activity *a, const char *name)
{
	const char *once = a->moves_once ? a->moves_once() : NULL;
	unsigned int i;

	if (a->moves_nothing && a->moves_nothing())
		return 0;
	if (once && !strcmp(once, name))
		return 1;
	for (i = 0; a->moves[i]; i++) {
		if (!strcmp(a->moves[i], name))
			return TIMES;
	}
	return 0;
}

/* The same, with the KVM_RUNs and the user exit at the end. */
static __u64 activity_expected(const struct stats_activity *a, const char *name)
{
#ifdef STATS_RUNS
	if (!strcmp(name, STATS_RUNS))
		return a->exit_reason ? TIMES : 1;
#endif
	if (!a->exit_reason && !strcmp(name, STATS_USER_EXITS))
		return activity_moves(a, name) + 1;
	return activity_moves(a, name);
}

static void expect_moved(struct __test_metadata *_metadata, const struct stats_activity *a,
			 const struct guest_vcpu *v, const char * const *names,
			 const __u64 before[MAX_NAMES])
{
	int i;

	for (i = 0; names[i]; i++) {
		EXPECT_EQ(activity_expected(a, names[i]),
			  vcpu_read(_metadata, v, names[i]) - before[i]) {
			TH_LOG("%s: %s", a->name, names[i]);
		}
	}
}

/* Exits that the guest causes, if other exits can be excluded. */
static void expect_exits(struct __test_metadata *_metadata,
			 const struct stats_activity *a, struct guest_vcpu *v)
{
#ifdef STATS_OWN_EXITS
	__u64 expected = a->moves_nothing && a->moves_nothing() ? 0 : FEW, before, moved = 0;
	int i;

	/* Some of the repetitions are two exits. */
	if (a->again)
		return;
	expected += !a->exit_reason;
	for (i = 0; i < ATTEMPTS && moved != expected; i++) {
		stats_arch_restart_vcpu(_metadata, v->fd, GUEST_CODE, FEW);
		before = STATS_OWN_EXITS(_metadata, v);
		vcpu_run_activity(_metadata, v, a, FEW);
		moved = STATS_OWN_EXITS(_metadata, v) - before;
		ASSERT_LE(expected, moved) TH_LOG("%s: exits", a->name);
		vcpu_complete_exit(_metadata, v);
	}
	EXPECT_EQ(expected, moved) TH_LOG("%s: exits, in %d attempts", a->name, i);
#endif
}

/*
 * If KVM cannot emulate an instruction, it also queues #UD, which the next KVM_RUN injects.
 * Newer kernels leave this out on request.
 */
static void let_no_failure_queue_ud(const struct guest *g)
{
#ifdef KVM_CAP_EXIT_ON_EMULATION_FAILURE
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_EXIT_ON_EMULATION_FAILURE,
		.args = { 1 },
	};

	ioctl(g->vm, KVM_ENABLE_CAP, &cap);
#endif
}

static void expect_activity(struct __test_metadata *_metadata, const struct stats_activity *a)
{
	__u64 exact[MAX_NAMES], moves[MAX_NAMES], exits;
	struct guest guest = { };
	struct guest_vcpu *v;

	guest_create(_metadata, &guest, 1);
	let_no_failure_queue_ud(&guest);
#ifdef STATS_IOEVENTFD_ADDR
	guest_add_ioeventfd(_metadata, &guest, STATS_IOEVENTFD_ADDR, 0, 0);
#endif
#ifdef STATS_IOEVENTFD_PORT
	guest_add_ioeventfd(_metadata, &guest, STATS_IOEVENTFD_PORT, 0, KVM_IOEVENTFD_FLAG_PIO);
#endif
	guest_start(_metadata, &guest, a->code, a->end, TIMES);
	v = &guest.vcpu[0];

	read_names(_metadata, v, stats_arch_exact, exact);
	read_names(_metadata, v, a->moves, moves);
	exits = vcpu_read(_metadata, v, STATS_EXITS);
	vcpu_run_activity(_metadata, v, a, TIMES);
	expect_moved(_metadata, a, v, stats_arch_exact, exact);
	expect_moved(_metadata, a, v, a->moves, moves);
	if (!a->moves_nothing || !a->moves_nothing())
		EXPECT_LE(exits + TIMES, vcpu_read(_metadata, v, STATS_EXITS));

	vcpu_complete_exit(_metadata, v);
	expect_exits(_metadata, a, v);
	guest_destroy(&guest);
}

TEST(each_activity_of_a_guest_moves_its_statistics_and_no_other)
{
	const struct stats_activity *a;

	for (a = stats_arch_activities; a->name; a++)
		expect_activity(_metadata, a);
}

TEST_F(guest, each_KVM_RUN_that_a_signal_ends_counts_as_signal_exit)
{
	sigset_t mask;
	int i;

	guest_start(_metadata, &self->guest, stats_spin, stats_spin_end, 1);
	vcpu_mask_signal(_metadata, self->vcpu, &mask);
	for (i = 0; i < TIMES; i++)
		vcpu_run_until_signal(_metadata, self->vcpu, &mask);
	EXPECT_EQ((__u64)TIMES, vcpu_read(_metadata, self->vcpu, "signal_exits"));
}

TEST_F(guest, immediate_exits_do_not_count_as_signal_exits)
{
	int i;

	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_KERNEL_EXITS, 1);
	for (i = 0; i < TIMES; i++)
		vcpu_complete_exit(_metadata, self->vcpu);
	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, "signal_exits"));
}

/* Statistics of a vCPU's halts. */
#define HIST_BUCKETS		32
#define HALTS_SCALARS		7

struct halts {
	__u64 attempted, successful, invalid, wakeup;
	__u64 success_ns, fail_ns, wait_ns;
	__u64 success[HIST_BUCKETS], fail[HIST_BUCKETS], wait[HIST_BUCKETS];
};

/* In the order of the struct. */
static const char * const halts_names[] = {
	"halt_attempted_poll", "halt_successful_poll", "halt_poll_invalid",
	"halt_wakeup", "halt_poll_success_ns", "halt_poll_fail_ns",
	"halt_wait_ns", "halt_poll_success_hist", "halt_poll_fail_hist",
	"halt_wait_hist",
};

static void halts_read(struct __test_metadata *_metadata,
		       const struct guest_vcpu *v, struct halts *h)
{
	__u64 *value = (__u64 *)h;
	unsigned int i, size;

	for (i = 0; i < ARRAY_SIZE(halts_names); i++) {
		size = i < HALTS_SCALARS ? 1 : HIST_BUCKETS;
		stats_read_all(_metadata, &v->file, halts_names[i], value, size);
		value += size;
	}
}

/* Read the differences since @before. */
static void halts_since(struct __test_metadata *_metadata,
			const struct guest_vcpu *v, const struct halts *before,
			struct halts *moved)
{
	const __u64 *old = (const __u64 *)before;
	__u64 *value = (__u64 *)moved;
	unsigned int i;

	halts_read(_metadata, v, moved);
	for (i = 0; i < sizeof(*moved) / sizeof(*value); i++)
		value[i] -= old[i];
}

/* Bucket 0 counts the value 0, bucket i counts [2^(i-1), 2^i). */
static int hist_bucket(__u64 value)
{
	int i;

	for (i = 0; value && i < HIST_BUCKETS - 1; i++)
		value >>= 1;
	return i;
}

/* Expect one event in the bucket of @ns, or no event and no time. */
static void expect_hist(struct __test_metadata *_metadata, const char *name,
			const __u64 hist[HIST_BUCKETS], __u64 events, __u64 ns)
{
	int i;

	ASSERT_GE(1UL, events) TH_LOG("%s", name);
	if (!events)
		EXPECT_EQ(0UL, ns) TH_LOG("%s", name);
	for (i = 0; i < HIST_BUCKETS; i++) {
		EXPECT_EQ(i == hist_bucket(ns) ? events : 0, hist[i]) {
			TH_LOG("%s: %llu ns, bucket %d", name, ns, i);
		}
	}
}

/* Expected counts of one halt. */
struct halt {
	__u64 polls;
	__u64 succeeds;		/* by polling */
	__u64 waits;
};

static void expect_halt(struct __test_metadata *_metadata,
			const struct halts *moved, const struct halt *halt)
{
	EXPECT_EQ(halt->polls, moved->attempted);
	EXPECT_EQ(halt->succeeds, moved->successful);
	EXPECT_EQ(0UL, moved->invalid);
	expect_hist(_metadata, "halt_poll_success_hist", moved->success,
		    halt->succeeds, moved->success_ns);
	expect_hist(_metadata, "halt_poll_fail_hist", moved->fail,
		    halt->polls - halt->succeeds, moved->fail_ns);
	expect_hist(_metadata, "halt_wait_hist", moved->wait, halt->waits, moved->wait_ns);
}

/* Set how long vCPUs of new VMs poll at most. Return the old value. */
static unsigned int set_halt_poll(struct __test_metadata *_metadata, unsigned int ns)
{
	static const char dir[] = "/sys/module/kvm/parameters";
	char before[STATS_LINE_SIZE], text[16];

	ASSERT_TRUE(stats_read_line(dir, "halt_poll_ns", before));
	snprintf(text, sizeof(text), "%u", ns);
	ASSERT_EQ(0, stats_write_file(dir, "halt_poll_ns", text));
	return strtoul(before, NULL, 10);
}

FIXTURE(halt)
{
	unsigned int halt_poll_ns;
	struct guest guest;
	struct guest_vcpu *vcpu;
};

/* Cases without polling set it to 0 before they create their guest. */
#define MOST_POLL_NS		UINT_MAX

FIXTURE_SETUP(halt)
{
	self->halt_poll_ns = set_halt_poll(_metadata, MOST_POLL_NS);
	self->guest.irqchip = true;
	self->vcpu = &self->guest.vcpu[0];
}

FIXTURE_TEARDOWN(halt)
{
	set_halt_poll(_metadata, self->halt_poll_ns);
}

static void create_sleeper(struct __test_metadata *_metadata, struct guest *g)
{
	guest_create(_metadata, g, 1);
	guest_start(_metadata, g, stats_sleep, stats_sleep_end, 0);
}

/*
 * Halt until the vCPU sleeps, wake it, and read what was counted. Returns false if the vCPU
 * was woken before it slept.
 */
static bool halt_and_wake(struct __test_metadata *_metadata, struct guest *g,
			  struct halts *moved)
{
	struct guest_vcpu *v = &g->vcpu[0];
	__u64 started, asleep, woken;
	struct runner runner;
	struct halts before;
	bool waited;

	halts_read(_metadata, v, &before);
	started = stats_now_ns();
	runner_sleep(_metadata, &runner, v);
	asleep = stats_now_ns();
	EXPECT_EQ(1UL, vcpu_read(_metadata, v, "blocking"));
	woken = stats_now_ns();
	runner_wake(_metadata, &runner, g->vm);
	EXPECT_EQ(0UL, vcpu_read(_metadata, v, "blocking"));

	/* A vCPU that loses its CPU just before it sleeps finds the wake-up and does not wait. */
	waited = vcpu_read(_metadata, v, "halt_wait_ns") != before.wait_ns;

	/* KVM itself may have woken the vCPU just before. It counts a wake-up afterwards. */
	while (waited && vcpu_read(_metadata, v, "halt_wakeup") == before.wakeup)
		sched_yield();
	halts_since(_metadata, v, &before, moved);
	if (waited)
		EXPECT_LE(woken - asleep, moved->wait_ns);
	EXPECT_GE(stats_now_ns() - started, moved->fail_ns + moved->wait_ns);
	return waited;
}

/* KVM may also wake a vCPU itself, on x86 to set its clock; the vCPU then waits again. */
TEST_F(halt, halt_without_polling_counts_one_wait_and_one_wakeup)
{
	int i, once = 0, waits = 0;
	struct halt halt = {};
	struct halts moved;

	set_halt_poll(_metadata, 0);
	create_sleeper(_metadata, &self->guest);
	for (i = 0; i < HALTS; i++) {
		halt.waits = halt_and_wake(_metadata, &self->guest, &moved);
		expect_halt(_metadata, &moved, &halt);
		waits += halt.waits;
		if (moved.wakeup == 1)
			once++;
	}
	EXPECT_LT(0, once);
	EXPECT_LE(HALTS - 1, waits);
	EXPECT_EQ((__u64)HALTS, vcpu_read(_metadata, self->vcpu, STATS_SLEEPS));
}

/* After so many halts, each of which doubles KVM's 10000 ns, it polls long enough. */
#define GROWING_HALTS		14

static void halt_until_polling(struct __test_metadata *_metadata, struct guest *g, int halts)
{
	struct halt halt = {};
	struct halts moved;
	int i;

	create_sleeper(_metadata, g);
	for (i = 0; i < halts; i++) {
		halt.waits = halt_and_wake(_metadata, g, &moved);
		expect_halt(_metadata, &moved, &halt);
		halt.polls = moved.fail_ns + moved.wait_ns < MOST_POLL_NS;
	}
}

/*
 * If the host has other work for the CPU, the poll fails: the vCPU waits, or is woken on the
 * way to waiting. It can also be woken before it polls.
 */
static bool halt_and_wake_while_polling(struct __test_metadata *_metadata, struct guest *g)
{
	struct guest_vcpu *v = &g->vcpu[0];
	__u64 sleeps = vcpu_read(_metadata, v, STATS_SLEEPS);
	struct halts before, moved;
	struct runner runner;
	struct halt halt;

	halts_read(_metadata, v, &before);
	runner_create(_metadata, &runner, v);
	runner_wait_for(_metadata, &runner, STATS_SLEEPS, sleeps + 1);
	runner_wake(_metadata, &runner, g->vm);

	halts_since(_metadata, v, &before, &moved);
	if (!moved.attempted)
		return false;
	halt.polls = 1;
	halt.succeeds = moved.successful;
	halt.waits = !moved.successful && moved.wait_ns;
	expect_halt(_metadata, &moved, &halt);
	EXPECT_LE(halt.waits, moved.wakeup);
	return moved.successful;
}

TEST_F(halt, halt_with_successful_polling_counts_one_poll)
{
	int i, successful = 0;

	halt_until_polling(_metadata, &self->guest, GROWING_HALTS);
	for (i = 0; i < HALTS; i++) {
		if (halt_and_wake_while_polling(_metadata, &self->guest))
			successful++;
	}
	if (!successful)
		SKIP(return, "the CPUs had other work during each poll");
}

/* A signal ends the wait, but does not wake the vCPU. */
static void halt_until_signal(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	struct runner runner;

	runner_sleep(_metadata, &runner, v);
	/* It falls asleep a moment after it has said so. An earlier signal ends no wait. */
	usleep(1000);
	runner_stop(_metadata, &runner);
}

TEST_F(halt, halt_that_a_signal_ends_counts_one_wait_and_no_wakeup)
{
	const struct halt halt = { .waits = 1 };
	struct halts before, moved;
	int i, never = 0;

	set_halt_poll(_metadata, 0);
	create_sleeper(_metadata, &self->guest);
	for (i = 1; i <= HALTS; i++) {
		halts_read(_metadata, self->vcpu, &before);
		halt_until_signal(_metadata, self->vcpu);
		EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, "blocking"));
		EXPECT_EQ((__u64)i, vcpu_read(_metadata, self->vcpu, "signal_exits"));
		halts_since(_metadata, self->vcpu, &before, &moved);
		expect_halt(_metadata, &moved, &halt);
		if (!moved.wakeup)
			never++;
	}
	EXPECT_LT(0, never);
}

/* Requests to flush remote TLBs, and the flushes that were needed. */
struct flushes {
	__u64 requests;
	__u64 done;
};

FIXTURE(flush)
{
	struct guest guest;
	struct guest_vcpu *vcpu;
	struct stats_file file;
	void *memory;
};

/* Pages that a guest writes to. */
#define PAGES			16

FIXTURE_SETUP(flush)
{
	struct guest *g = &self->guest;

	guest_create(_metadata, g, 2);
	guest_put_code(_metadata, g, stats_touch, stats_touch_end);
	stats_load(_metadata, stats_get_fd(_metadata, g->vm), &self->file);
	self->memory = guest_add_memory(_metadata, g, 1, 0, STATS_DATA, PAGES * g->page);
	self->vcpu = &g->vcpu[0];
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, PAGES);
}

FIXTURE_TEARDOWN(flush) { }

/* There are never more flushes than requests. */
static struct flushes flushes_read(struct __test_metadata *_metadata,
				   const struct stats_file *f)
{
	struct flushes flushes;

	flushes.done = stats_read(_metadata, f, "remote_tlb_flush");
	flushes.requests = stats_read(_metadata, f, "remote_tlb_flush_requests");
	EXPECT_LE(flushes.done, flushes.requests);
	return flushes;
}

/* Expect flushes while no vCPU is in the guest. */
static void expect_flushes(struct __test_metadata *_metadata, const struct stats_file *f,
			   const struct flushes *before, __u64 requests)
{
	struct flushes now = flushes_read(_metadata, f);

	EXPECT_EQ(requests, now.requests - before->requests);
	EXPECT_EQ(requests * STATS_FLUSHES_IDLE_VM, now.done - before->done);
}

TEST_F(flush, each_unmapped_page_counts_as_a_flush_request)
{
	size_t page = self->guest.page;
	struct flushes before;
	int i;

	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	before = flushes_read(_metadata, &self->file);
	for (i = 0; i < PAGES; i++)
		ASSERT_EQ(0, madvise(self->memory + i * page, page, MADV_DONTNEED));
	expect_flushes(_metadata, &self->file, &before, PAGES * STATS_UNMAP_REQUESTS);
}

#define LOGS			100

TEST_F(flush, each_dirty_log_with_pages_counts_as_a_flush_request)
{
	struct guest *g = &self->guest;
	struct flushes before;
	__u64 bitmap = 0;
	int i;

	guest_set_slot(_metadata, g, 1, KVM_MEM_LOG_DIRTY_PAGES, STATS_DATA,
		       self->memory, PAGES * g->page);
	for (i = 0; i < LOGS; i++) {
		vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
		before = flushes_read(_metadata, &self->file);
		ASSERT_EQ(0, guest_get_dirty_log(g, 1, &bitmap));
		EXPECT_EQ((1UL << PAGES) - 1, bitmap);
		expect_flushes(_metadata, &self->file, &before, STATS_LOG_REQUESTS);
		ASSERT_EQ(0, guest_get_dirty_log(g, 1, &bitmap));
		EXPECT_EQ(0UL, bitmap);
		expect_flushes(_metadata, &self->file, &before, STATS_LOG_REQUESTS);
	}
}

/*
 * Another vCPU is in the guest. On its way in or out, it needs no flush. If the
 * host's CPUs have other work, it takes more requests until the vCPU is in the guest.
 */
#define FLUSHES			20
#define MOST_FLUSHES		10000

TEST_F(flush, request_for_a_vcpu_in_the_guest_counts_as_flush)
{
	struct guest *g = &self->guest;
	struct flushes before, now;
	struct runner runner;
	__u64 bitmap = 0, done = 0;
	int i;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "there is one CPU");
	if (!STATS_LOG_REQUESTS)
		SKIP(return, "a dirty log makes no request");
	guest_set_slot(_metadata, g, 1, KVM_MEM_LOG_DIRTY_PAGES, STATS_DATA,
		       self->memory, PAGES * g->page);
	runner_start(_metadata, &runner, &g->vcpu[1], 1, 1);
	for (i = 0; i < FLUSHES || (!done && i < MOST_FLUSHES); i++) {
		vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
		before = flushes_read(_metadata, &self->file);
		ASSERT_EQ(0, guest_get_dirty_log(g, 1, &bitmap));
		now = flushes_read(_metadata, &self->file);
		EXPECT_EQ((__u64)STATS_LOG_REQUESTS, now.requests - before.requests);
		EXPECT_GE((__u64)STATS_LOG_REQUESTS, now.done - before.done);
		done += now.done - before.done;
	}
	runner_stop(_metadata, &runner);
	EXPECT_LT(0UL, done);
}

#ifdef __x86_64__
/*
 * If the host has work just after KVM has injected, KVM cancels the entry and injects again,
 * which counts twice. In one of several attempts this does not happen.
 */
#define INJECTIONS		20
#define INJECTION_ATTEMPTS	20

static void inject(struct __test_metadata *_metadata, struct guest_vcpu *v, bool nmi)
{
	struct kvm_interrupt irq = { .irq = STATS_VECTOR };

	ASSERT_EQ(0, nmi ? ioctl(v->fd, KVM_NMI, 0) : ioctl(v->fd, KVM_INTERRUPT, &irq));
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
}

static void expect_injections(struct __test_metadata *_metadata,
			      struct guest_vcpu *v, const char *name, bool nmi)
{
	__u64 before, moved;
	int i, attempt;

	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	/* The first one maps stack and interrupt table. */
	inject(_metadata, v, nmi);
	for (attempt = 0; attempt < INJECTION_ATTEMPTS; attempt++) {
		before = vcpu_read(_metadata, v, name);
		for (i = 0; i < INJECTIONS; i++)
			inject(_metadata, v, nmi);
		moved = vcpu_read(_metadata, v, name) - before;
		ASSERT_LE((__u64)INJECTIONS, moved) TH_LOG("%s", name);
		if (moved == INJECTIONS)
			break;
	}
	EXPECT_EQ((__u64)INJECTIONS, moved) {
		TH_LOG("%s, in each of %d attempts", name, INJECTION_ATTEMPTS);
	}
	vcpu_complete_exit(_metadata, v);
}

TEST_F(guest, each_interrupt_counts_as_one_injection)
{
	expect_injections(_metadata, self->vcpu, "irq_injections", false);
	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, "nmi_injections"));
}

TEST_F(guest, each_nmi_counts_as_one_injection)
{
	expect_injections(_metadata, self->vcpu, "nmi_injections", true);
	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, "irq_injections"));
}

/* The second of two NMIs waits until the guest returns from the first. */
TEST_F(guest, each_nmi_that_waits_counts_as_an_nmi_window)
{
	struct guest_vcpu *v = self->vcpu;
	__u64 before;
	int i;

	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	inject(_metadata, v, true);
	before = vcpu_read(_metadata, v, "nmi_window_exits");
	for (i = 0; i < INJECTIONS; i++) {
		ASSERT_EQ(0, ioctl(v->fd, KVM_NMI, 0));
		inject(_metadata, v, true);
	}
	EXPECT_EQ(stats_arch_svm() ? 2UL * INJECTIONS : (__u64)INJECTIONS,
		  vcpu_read(_metadata, v, "nmi_window_exits") - before);
	vcpu_complete_exit(_metadata, v);
	reasons_expect(_metadata, v);
}

/* A request that finds the window open needs no exit. There are no other exits. */
TEST_F(guest, each_requested_interrupt_window_counts)
{
	__u64 windows;

	guest_start(_metadata, &self->guest, stats_spin, stats_spin_end, 1);
	self->vcpu->run->request_interrupt_window = 1;
	vcpu_run_times(_metadata, self->vcpu, KVM_EXIT_IRQ_WINDOW_OPEN, TIMES);
	EXPECT_EQ((__u64)TIMES, vcpu_read(_metadata, self->vcpu, "request_irq_exits"));
	windows = vcpu_read(_metadata, self->vcpu, "irq_window_exits");
	EXPECT_EQ(windows, STATS_OWN_EXITS(_metadata, self->vcpu));
	EXPECT_LT(0UL, windows);
	EXPECT_GE((__u64)TIMES, windows);
}

/* After a change of registers, the next entry checks for events. */
TEST_F(guest, each_change_of_registers_counts_as_req_event)
{
	struct kvm_regs regs;
	__u64 before;
	int i;

	vcpu_exit_to_user(_metadata, self->vcpu, 1);
	before = vcpu_read(_metadata, self->vcpu, "req_event");
	for (i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_REGS, &regs));
		ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_SET_REGS, &regs));
		vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
		vcpu_complete_exit(_metadata, self->vcpu);
	}
	EXPECT_EQ(before + TIMES, vcpu_read(_metadata, self->vcpu, "req_event"));
}

/* A task that wakes up on the CPU of a polling vCPU. */
struct rival {
	struct timespec wake;
	bool sleeps;
	bool over;
	pthread_t thread;
};

static void *run_rival(void *arg)
{
	struct rival *r = arg;

	__atomic_store_n(&r->sleeps, true, __ATOMIC_RELEASE);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &r->wake, NULL);
	while (!__atomic_load_n(&r->over, __ATOMIC_ACQUIRE))
		sched_yield();
	return NULL;
}

static void rival_start(struct __test_metadata *_metadata, struct rival *r, long delay_ns)
{
	memset(r, 0, sizeof(*r));
	ASSERT_EQ(0, clock_gettime(CLOCK_MONOTONIC, &r->wake));
	r->wake.tv_nsec += delay_ns;
	r->wake.tv_sec += r->wake.tv_nsec / 1000000000;
	r->wake.tv_nsec %= 1000000000;
	ASSERT_EQ(0, pthread_create(&r->thread, NULL, run_rival, r));
	while (!__atomic_load_n(&r->sleeps, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void rival_stop(struct __test_metadata *_metadata, struct rival *r)
{
	__atomic_store_n(&r->over, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(r->thread, NULL));
}

#define INTERRUPTED_POLL_NS	(1000 * 1000)
#define INTERRUPTED_POLLS	100
/* On a busy host the two seldom come together. */
#define MOST_INTERRUPTED_POLLS	2000

/*
 * One interrupt of the host brings both a signal, which ends the halt, and another task, for
 * which polling ends. If it comes just after KVM has checked for events, the vCPU finds the
 * signal before it blocks. A halt that does not block is a success, whenever the signal comes.
 */
TEST_F(halt, halt_that_does_not_block_after_its_last_poll_counts_as_success)
{
	struct itimerspec at = { };
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGUSR1,
	};
	struct halts before, moved;
	int i, successful = 0;
	struct rival rival;
	struct halt halt;
	sigset_t mask;
	timer_t timer;

	halt_until_polling(_metadata, &self->guest, GROWING_HALTS);
	halt_until_signal(_metadata, self->vcpu);
	vcpu_mask_signal(_metadata, self->vcpu, &mask);
	stay_on_this_cpu(_metadata);
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
	for (i = 0; i < INTERRUPTED_POLLS || (!successful && i < MOST_INTERRUPTED_POLLS); i++) {
		halts_read(_metadata, self->vcpu, &before);
		rival_start(_metadata, &rival, INTERRUPTED_POLL_NS);
		at.it_value = rival.wake;
		ASSERT_EQ(0, timer_settime(timer, TIMER_ABSTIME, &at, NULL));
		ASSERT_EQ(-EINTR, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
		rival_stop(_metadata, &rival);
		ASSERT_EQ(SIGUSR1, sigwaitinfo(&mask, NULL));

		halts_since(_metadata, self->vcpu, &before, &moved);
		halt.polls = 1;
		halt.waits = moved.wait_ns != 0;
		halt.succeeds = !halt.waits;
		expect_halt(_metadata, &moved, &halt);
		successful += halt.succeeds;
	}
	EXPECT_LT(0, successful);
	ASSERT_EQ(0, timer_delete(timer));
}
#endif

TEST_HARNESS_MAIN
