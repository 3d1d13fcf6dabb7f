// SPDX-License-Identifier: GPL-2.0
/*
 * Shares of the vCPUs' time: of states that have ended, of states that have not, and without
 * accounting.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image.h"
#include "model/model.h"
#include "model/shares.h"
#include "sources/inventory.h"
#include "tap.h"
#include "util/util.h"

static const struct image_stat vcpu_stats[] = {
	STAT_NS("ready_ns"),
	STAT_STATE("state", "none", "guest", "exit", "poll", "halt", "sleep", "ready", "user"),
	STAT_SINCE("state_since_ns"),
	STAT_NS("time_guest_ns"),
	STAT_NS("time_exit_ns"),
	STAT_NS("time_poll_ns"),
	STAT_NS("time_halt_ns"),
	STAT_NS("time_sleep_ns"),
	STAT_NS("time_user_ns"),
	{},
};

enum { READY, STATE, SINCE, GUEST, EXIT, POLL, HALT, SLEEP, USER, NUM_VALUES, };
enum { NONE, IN_GUEST, IN_EXIT, IN_POLL, IN_HALT, };

static const struct image_stat vm_stats[] = {
	STAT_BOOL("ready_accounting"),
	STAT_BOOL("time_accounting"),
	{},
};

/* Statistics with these names, but other units or types. */
static const struct image_stat strange_stats[] = {
	{ .name = "ready_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -6, },
	STAT_LEVEL("time_guest_ns"),
	{ .name = "state", .flags = KVM_STATS_TYPE_INSTANT, .size = 2, },
	{},
};

static struct image image, vm_image;
static struct statsfile file, vm_file;
static struct share_sources sources;
static struct accounting accounting;

static bool has_ns(const struct times *times, uint64_t guest, uint64_t kvm, uint64_t vmm,
		   uint64_t ready, uint64_t wait, uint64_t idle)
{
	const struct times expected = { .ns = { guest, kvm, vmm, ready, wait, idle, }, };

	return !memcmp(times, &expected, sizeof(expected));
}

static void test_counted(void)
{
	const uint64_t values[NUM_VALUES] = {
		[READY] = 1, [GUEST] = 2, [EXIT] = 4, [POLL] = 8, [HALT] = 16, [SLEEP] = 32,
		[USER] = 64,
	};
	struct times times = times_of(&sources, values);

	check(has_ns(&times, 2, 12, 64, 1, 32, 16), "each statistic counts once");
}

/* More values than a page of any size: the last one is on another page. */
static const struct image_stat far_stats[] = {
	STAT_LEVEL("state"),
	STAT_SINCE("state_since_ns"),
	{ .name = "other", .size = 8192, },
	STAT_NS("time_halt_ns"),
	{},
};

enum { FAR_STATE, FAR_SINCE, FAR_HALT = 2 + 8192, NUM_FAR_VALUES, };

static uint64_t *far_values;		/* written by the test */
static char *far_page;			/* the page of the last value, in the mapping */
static uint64_t next_since_ns;

/* Called when the last value is read, after all others: a halt ends. */
static void end_halt(int number)
{
	(void)number;
	mprotect(far_page, sysconf(_SC_PAGESIZE), PROT_READ);
	far_values[FAR_STATE] = IN_EXIT;
	far_values[FAR_SINCE] = next_since_ns;
	far_values[FAR_HALT] = 700;
}

static void test_change_while_read(void)
{
	struct image far = image_build_ext("kvm-1/vcpu-0", far_stats, NULL, 0);
	struct statsfile_source source = image_to_file(&far, 0, STATSFILE_MMAP);
	struct vcpu vcpu = { .file = image_open_source(&source), };
	struct vm vm = { .vcpu = &vcpu, .num_vcpus = 1, };
	static uint64_t values[NUM_FAR_VALUES];
	struct statsfile_error error;

	far_values = image_values(&far);
	far_values[FAR_STATE] = IN_HALT;
	far_values[FAR_SINCE] = 200;
	far_page = (char *)((uintptr_t)&vcpu.file.data[FAR_HALT] & -sysconf(_SC_PAGESIZE));
	next_since_ns = 900;
	signal(SIGSEGV, end_halt);
	mprotect(far_page, sysconf(_SC_PAGESIZE), PROT_NONE);
	check(!vm_read_vcpu(&vm, 0, values, &error) && values[FAR_STATE] == IN_EXIT &&
	      values[FAR_SINCE] == 900 && values[FAR_HALT] == 700,
	      "a state that ends while it is read counts once");
	next_since_ns = 0;
	mprotect(far_page, sysconf(_SC_PAGESIZE), PROT_NONE);
	check(!vm_read_vcpu(&vm, 0, values, &error) && values[FAR_HALT] == 700,
	      "a vCPU that changes its state all the time can be read");
	signal(SIGSEGV, SIG_DFL);
	statsfile_close(&vcpu.file);
	image_free(&far);
}

static void test_passed(void)
{
	const struct times first = { .ns = { 10, 20, 30, 40, 50, 60, }, };
	const struct times second = { .ns = { 15, 20, 31, 39, 60, 70, }, };
	struct times passed = times_between(&first, &second);
	struct times sum = { .ns = { 1, 1, 1, 1, 1, 1, }, };

	check(has_ns(&passed, 5, 0, 1, 0, 10, 10),
	      "times_between: the difference, 0 if a time decreased");
	times_add(&sum, &passed);
	check(has_ns(&sum, 6, 1, 2, 1, 11, 11), "times_add: adds each state");
}

/*
 * The vCPU is in the guest up to 100, is halted up to 200, waits for a CPU up to 2100, then is in
 * the guest again. KVM counts the wait when it ends; until then, it counts as halted.
 */
static void test_long_wait(void)
{
	static const struct {
		uint64_t guest, halt, ready;
		uint64_t expected[NUM_SHARES];
	} samples[] = {
		{ 0, 0, 0, {}, },
		{ 100, 900, 0, { [SHARE_GUEST] = 100, [SHARE_IDLE] = 900, }, },
		{ 100, 1900, 0, { [SHARE_IDLE] = 1000, }, },
		{ 1000, 100, 1900, { [SHARE_GUEST] = 900, [SHARE_READY] = 100, }, },
		{ 2000, 100, 1900, { [SHARE_GUEST] = 1000, }, },
	};
	struct times last, now, passed;
	uint64_t values[NUM_VALUES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(samples); i++, last = now) {
		memset(values, 0, sizeof(values));
		values[GUEST] = samples[i].guest;
		values[HALT] = samples[i].halt;
		values[READY] = samples[i].ready;
		now = times_of(&sources, values);
		if (!i)
			continue;
		passed = times_between(&last, &now);
		check(!memcmp(passed.ns, samples[i].expected, sizeof(passed.ns)),
		      "a long wait: second %zu", i);
	}
}

/* An expected share below 0 means unknown. */
static bool has_shares(const struct shares *shares, const double part[NUM_SHARES])
{
	enum share share;

	for (share = 0; share < NUM_SHARES; share++) {
		if (shares->known[share] != (part[share] >= 0) ||
		    (shares->known[share] && shares->part[share] != part[share]))
			return false;
	}
	return true;
}

static void test_shares(void)
{
	const struct times passed = { .ns = { 400, 200, 100, 200, 50, 50, }, };
	const struct times nothing = {};
	uint64_t on[] = { 1, 1, };
	struct shares shares;

	check(!accounting_is_off(accounting.time, on) && !accounting_is_off(NULL, on),
	      "accounting: not off if it is on, or has no switch");
	shares = shares_of(&accounting, on, &passed, 999);
	check(has_shares(&shares, (const double[]) { 0.4, 0.2, 0.1, 0.2, 0.05, 0.05, -1, }),
	      "all accounting: shares add up to 1, whatever the clock of samples says");
	shares = shares_of(&accounting, on, &nothing, 1000);
	check(!shares.known[SHARE_GUEST] && !shares.known[SHARE_READY],
	      "no vCPU ever ran: nothing is known");
	on[1] = 0;
	shares = shares_of(&accounting, on, &passed, 1000);
	check(!shares.known[SHARE_GUEST] && !shares.known[SHARE_IDLE] &&
	      shares.known[SHARE_READY] && shares.part[SHARE_READY] == 0.2,
	      "only ready accounting: its share of the elapsed time");
	check(accounting_is_off(accounting.time, on) && !accounting_is_off(accounting.ready, on),
	      "accounting: time is off, ready is on");
	shares = shares_of(&accounting, on, &passed, 100);
	check(shares.part[SHARE_READY] == 1, "more ready time than elapsed time: 1");
	shares = shares_of(&accounting, on, &nothing, 0);
	check(!shares.known[SHARE_READY], "no time has passed");
	on[0] = 0;
	shares = shares_of(&accounting, on, &passed, 1000);
	check(!shares.known[SHARE_READY], "no accounting: nothing is known");
	on[1] = 1;
	shares = shares_of(&accounting, on, &passed, 1000);
	check(shares.known[SHARE_GUEST] && !shares.known[SHARE_READY],
	      "the scheduler counts no waits: READY%% is unknown");
	shares = shares_of(&accounting, on, &passed, 4000);
	check(has_shares(&shares, (const double[]) { 0.1, 0.05, 0.025, -1, 0.0125, 0.0125, -1, }),
	      "no ready accounting: shares are of elapsed time");
}

static void test_threads(void)
{
	const struct proc_times last = {
		.guest_ns = 100, .kernel_ns = 200, .user_ns = 300, .ready_ns = 400,
		.num_threads = 2, .has_ready = true,
	};
	struct proc_times now = {
		.guest_ns = 500, .kernel_ns = 300, .user_ns = 310, .ready_ns = 590,
		.num_threads = 2, .has_ready = true,
	};
	struct shares shares = shares_of_threads(&last, &now, 500);

	check(has_shares(&shares, (const double[]) { 0.4, 0.1, 0.01, 0.19, -1, -1, 0.3, }) &&
	      shares.by_cpu, "threads: the rest is OFF%%");
	now.user_ns = 280;
	shares = shares_of_threads(&last, &now, 500);
	check(has_shares(&shares, (const double[]) { 0.4, 0.1, 0, 0.19, -1, -1, 0.31, }),
	      "threads: a time that decreased counts as 0");
	shares = shares_of_threads(&last, &now, 100);
	check(shares.part[SHARE_OFF] == 0 && shares.part[SHARE_GUEST] < 1,
	      "threads: ticks from the last interval do not make OFF%% negative");
	now.has_ready = false;
	shares = shares_of_threads(&last, &now, 500);
	check(shares.known[SHARE_GUEST] && shares.known[SHARE_VMM] &&
	      !shares.known[SHARE_READY] && !shares.known[SHARE_OFF],
	      "threads: without ready time OFF%% is unknown");
	shares = shares_of_threads(&last, &now, 0);
	check(!shares.known[SHARE_GUEST], "threads: no time has passed: nothing is known");
	now.num_threads = 3;
	shares = shares_of_threads(&last, &now, 500);
	check(!shares.known[SHARE_GUEST], "threads: a new thread: nothing is known");
	now.num_threads = 0;
	shares = shares_of_threads(&now, &now, 500);
	check(!shares.known[SHARE_GUEST], "threads: no thread has run a guest: nothing is known");
}

static void test_others(void)
{
	struct image other = image_build("kvm-1/vcpu-0", strange_stats);
	struct statsfile strange = image_open(&other);
	const uint64_t values[] = { 1, 2, 3, 4, };
	struct share_sources none;
	struct accounting nothing;
	struct shares shares;
	struct times times;

	shares_find(&none, strange.schema);
	times = times_of(&none, values);
	check(has_ns(&times, 0, 0, 0, 0, 0, 0), "statistics with other units or types are ignored");
	shares_find(&none, NULL);
	times = times_of(&none, NULL);
	check(has_ns(&times, 0, 0, 0, 0, 0, 0), "no schema");
	accounting_find(&nothing, strange.schema);
	shares = shares_of(&nothing, values, &times, 1000);
	check(!shares.known[SHARE_GUEST] && !shares.known[SHARE_READY], "no accounting");
	statsfile_close(&strange);
	image_free(&other);
}

int main(void)
{
	image = image_build_ext("kvm-1/vcpu-0", vcpu_stats, NULL, 0);
	file = image_open(&image);
	shares_find(&sources, file.schema);
	vm_image = image_build("kvm-1", vm_stats);
	vm_file = image_open(&vm_image);
	accounting_find(&accounting, vm_file.schema);

	test_counted();
	test_change_while_read();
	test_passed();
	test_long_wait();
	test_shares();
	test_threads();
	test_others();

	statsfile_close(&file);
	statsfile_close(&vm_file);
	image_free(&image);
	image_free(&vm_image);
	return tap_end();
}
