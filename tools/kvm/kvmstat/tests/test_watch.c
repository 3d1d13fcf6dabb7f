// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat watch: parsing of rules; events at the threshold, not one below it, and once per window;
 * VMs and vCPUs that come and go.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/command.h"
#include "guests.h"
#include "image.h"
#include "model/watch.h"
#include "output.h"
#include "tap.h"
#include "util/clock.h"
#include "util/quantity.h"
#include "util/util.h"

static void test_quantities(void)
{
	static const struct {
		const char *text;
		enum quantity_kind kind;
		struct quantity_scale scale;
		uint64_t expected;
	} cases[] = {
		{ "8ms", QUANTITY_TIME, { 10, -9, }, 8000000, },
		{ "8.4ms", QUANTITY_TIME, { 10, -9, }, 8400000, },
		{ "0.1s", QUANTITY_TIME, { 10, -9, }, 100000000, },
		{ "1ns", QUANTITY_TIME, { 10, -9, }, 1, },
		{ "1500us", QUANTITY_TIME, { 10, -6, }, 1500, },
		{ "18446744073709551615ns", QUANTITY_TIME, { 10, -9, }, UINT64_MAX, },
		{ "1.5MiB", QUANTITY_BYTES, { 10, 0, }, 3 << 19, },
		{ "64KiB", QUANTITY_BYTES, { 2, 10, }, 64, },
		{ "12", QUANTITY_BYTES, { 2, 2, }, 3, },
		{ "0", QUANTITY_COUNT, { 10, 0, }, 0, },
		{ "9007199254740993", QUANTITY_COUNT, { 10, 0, }, 9007199254740993, },
		{ "18446744073709551615", QUANTITY_COUNT, { 10, 0, }, UINT64_MAX, },
	};
	static const struct {
		const char *text;
		enum quantity_kind kind;
	} wrong[] = {
		{ "", 0, }, { " 1", 0, }, { "1 ", 0, }, { "-1", 0, }, { "+1", 0, }, { "1.", 0, },
		{ ".5", 0, }, { "1..2", 0, }, { "0x10", 0, }, { "1e3", 0, }, { "inf", 0, },
		{ "1k", 0, }, { "1,5", 0, }, { "1.5", 0, }, { "18446744073709551616", 0, },
		{ "1", QUANTITY_TIME, }, { "1m", QUANTITY_TIME, },
		{ "18446744074s", QUANTITY_TIME, }, { "1ms", QUANTITY_BYTES, },
	};
	const struct quantity_scale nanoseconds = { .base = 10, .exponent = -9, };
	uint64_t number;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(!parse_quantity(cases[i].text, cases[i].kind, &cases[i].scale, &number) &&
		      number == cases[i].expected, "quantity %s", cases[i].text);
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		check(parse_quantity(wrong[i].text, wrong[i].kind, &nanoseconds, &number),
		      "'%s' is not a quantity", wrong[i].text);
}

/* Rules */

static const struct image_stat vm_stats[] = {
	STAT_LEVEL("online_vcpus"),
	{ .name = "flushes", },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	STAT_LEVEL("level"),
	STAT_HIST_NS("wait_hist", 32),
	STAT_REASONS("exit_reasons", 4, "hlt", "io", "", "other"),
	STAT_STATE("state", "guest", "host"),
	{
		.name = "size_hist",
		.flags = KVM_STATS_TYPE_LINEAR_HIST | KVM_STATS_UNIT_BYTES,
		.size = 4,
		.bucket_size = 64,
	},
	STAT_NS("waited_ns"),
	{},
};

enum { EXITS, LEVEL, WAIT_HIST, EXIT_REASONS = 34, };

static struct statsfile vm_file, vcpu_file;

static char *find(const char *name, const char *value, bool or_equal, struct watch_target *target)
{
	const struct watch_rule rule = {
		.name = name,
		.value = value,
		.or_equal = or_equal,
		.vcpu = EACH_VCPU,
	};

	return watch_find(&rule, vm_file.schema, vcpu_file.schema, target);
}

static void test_find(void)
{
	static const struct {
		const char *name, *value;
		unsigned int first, count;
		uint64_t threshold;
		const char *error;
	} cases[] = {
		{ "exits", "5", 0, 1, 5, NULL, },
		{ "flushes", "1", 0, 1, 1, NULL, },
		{ "waited_ns", "8ms", 0, 1, 8000000, NULL, },
		{ "exit_reasons", "5", 0, 4, 5, NULL, },
		{ "exit_reasons:hlt", "5", 0, 1, 5, NULL, },
		{ "exit_reasons:other", "5", 3, 1, 5, NULL, },
		{ "exit_reasons:2", "5", 2, 1, 5, NULL, },
		/* Bounds are 2^23 ns (8.4 ms) and 2^22 ns (4.2 ms): the nearest one counts. */
		{ "wait_hist:8ms-", "5", 24, 8, 5, NULL, },
		{ "wait_hist:8.4ms-", "5", 24, 8, 5, NULL, },
		{ "wait_hist:6.2ms-", "5", 23, 9, 5, NULL, },
		{ "wait_hist:6.3ms-", "5", 24, 8, 5, NULL, },
		{ "wait_hist:4.2ms-8.4ms", "5", 23, 1, 5, NULL, },
		{ "wait_hist:-8.4ms", "5", 0, 24, 5, NULL, },
		{ "wait_hist:0ns-", "5", 0, 32, 5, NULL, },
		{ "wait_hist:1.1s-", "5", 31, 1, 5, NULL, },
		{ "size_hist:64-", "5", 1, 3, 5, NULL, },
		{ "size_hist:64B-128B", "5", 1, 1, 5, NULL, },
		{ "wait_hist:10s-", "5", 0, 0, 0,
		  "wait_hist has no buckets 10s-: kvmstat hist shows its buckets", },
		{ "wait_hist:8ms-8ms", "5", 0, 0, 0,
		  "wait_hist has no buckets 8ms-8ms: kvmstat hist shows its buckets", },
		{ "wait_hist:8ms-1ms", "5", 0, 0, 0,
		  "wait_hist has no buckets 8ms-1ms: kvmstat hist shows its buckets", },
		{ "wait_hist:x-", "5", 0, 0, 0, "'x' needs a unit: ns, us, ms or s", },
		{ "exit_reasons:4", "5", 0, 0, 0,
		  "exit_reasons has no part '4': kvmstat show lists its parts", },
		{ "exit_reasons:", "5", 0, 0, 0,
		  "exit_reasons has no part '': kvmstat show lists its parts", },
		{ "exits:1", "5", 0, 0, 0, "exits has no parts", },
		{ "state", "1", 0, 0, 0, "state is not a quantity", },
		{ "exit", "1", 0, 0, 0, "there is no statistic 'exit'", },
		{ "exits", "0", 0, 0, 0, "'>=' 0 is always true", },
	};
	struct watch_target target;
	char *error;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		error = find(cases[i].name, cases[i].value, true, &target);
		check_text(error ?: "", cases[i].error ?: "", cases[i].name);
		check(!target.desc == !!cases[i].error &&
		      (error || (target.first == cases[i].first && target.count == cases[i].count &&
				 target.threshold == cases[i].threshold)),
		      "%s >= %s: its values", cases[i].name, cases[i].value);
		free(error);
	}
	free(find("exits", "5", false, &target));
	check_number(target.threshold, 6, "more than 5 is at least 6");
	free(find("exits", "0", false, &target));
	check_number(target.threshold, 1, "more than 0 is at least 1");
}

/* When a rule triggers */

#define WINDOW_NS NSEC_PER_SEC

static struct watched watched;
static struct watch_target what;
static uint64_t growth;

static void watch_for(const char *name, const char *value)
{
	watched = (struct watched) {};
	free(find(name, value, true, &what));
}

static bool look(uint64_t ms, uint64_t value)
{
	const struct watch_look now = { .time_ns = ms * MSEC, .value = value, };

	return watched_look(&watched, &what, WINDOW_NS, &now, &growth);
}

static void test_growth(void)
{
	unsigned int ms, events = 0;

	watch_for("exits", "10");
	check(!look(0, 1000), "growth: the first value is no growth");
	check(!look(100, 1009), "growth: one below the threshold is no event");
	check(look(200, 1010) && growth == 10, "growth: the threshold is an event");
	check(!look(300, 1030), "growth: one event per window");
	check(!look(1100, 1030), "growth: no event at the end of the window");
	check(look(1200, 1030) && growth == 20,
	      "growth: the next window counts growth since the event");
	check(!look(2200, 1030) && !look(2300, 1039) && !look(3299, 1039),
	      "growth: one below the threshold for long");
	check(!look(3400, 1040), "growth: threshold reached in more than a window: no event");
	check(look(3500, 1049) && growth == 10, "growth: threshold reached within the last window");
	watch_for("exits", "10");
	check(!look(0, 50) && !look(100, 3) && !look(200, 12),
	      "growth: a smaller value is no growth");
	check(look(300, 13) && growth == 10, "growth: counts from the smaller value on");
	watch_for("exits", "10");
	look(0, 0);
	check(!look(5000, 45), "late samples: an average window below the threshold");
	check(look(10000, 91) && growth == 10,
	      "late samples: an average window that reaches the threshold");
	watch_for("exits", "1");
	check(!look(0, 0) && look(1500, 1) && growth == 1, "late samples: growth is rounded up");
	watch_for("exits", "10");
	for (ms = 0; ms <= 10000; ms += 100)
		events += look(ms, ms / 10);
	check_number(events, 10, "growth: ten per sample: one event per window");
	watch_for("exits", "10");
	for (ms = 0, events = 0; ms <= 10000; ms += 100)
		events += look(ms, ms / 112);
	check_number(events, 0, "growth: at most nine per window: no event");
	watched_begin(&watched, 20 * NSEC_PER_SEC, 0);
	check(look(20500, 10), "a new vCPU: counts from 0");
}

static void test_level(void)
{
	watch_for("level", "5");
	check(look(0, 5) && growth == 5, "level: reached in the first sample");
	check(!look(2000, 9), "level: it stays: no event");
	check(!look(2100, 4) && look(2200, 6) && growth == 6, "level: reached again");
	check(!look(2300, 1) && !look(2400, 8), "level: reached again within the window: no event");
	check(look(3200, 7) && growth == 7, "level: still reached after the window");
	check(!look(3300, 0) && !look(3400, 9) && !look(3500, 0) && !look(5000, 0),
	      "level: no longer reached after the quiet time");
}

/* The command, with the test's host and clock */

static unsigned int tick;	/* tenths of a second */
static unsigned int last_tick;
static void (*on_tick)(void);

static uint64_t test_now_ns(void)
{
	return NSEC_PER_SEC * 1000 + tick * 100 * MSEC;
}

static struct timespec test_real(void)
{
	return (struct timespec) { .tv_sec = 1234567890 + tick / 10, };
}

static enum event test_pause_until(int signals, int other, uint64_t end_ns)
{
	(void)signals;
	(void)other;
	do {
		if (tick == last_tick)
			return EVENT_INTERRUPTED;
		tick++;
		if (on_tick)
			on_tick();
	} while (test_now_ns() < end_ns);
	return EVENT_TIME;
}

static const struct time_source test_time = {
	.now_ns = test_now_ns,
	.real = test_real,
	.pause_until = test_pause_until,
	.interval.ns = NSEC_PER_SEC,
};

/* The output with single blanks. The caller frees it. */
static char *lines_of(const char *output)
{
	char *lines = xasprintf("%s", output), *to = lines;
	const char *from;

	for (from = output; *from; from++) {
		if (*from != ' ' || (to > lines && to[-1] != ' '))
			*to++ = *from;
	}
	*to = '\0';
	return lines;
}

static int status;

static void check_events(const struct host *host, const char *line, const char *expected,
			 const char *name)
{
	char *output, *lines;

	tick = 0;
	command_host = host;
	time_source = &test_time;
	confine = keep_privileges;
	output = output_of(command_watch, line, &status);
	lines = lines_of(output);
	check_text(lines, expected, name);
	free(lines);
	free(output);
	command_host = &this_host;
	time_source = &machine_time;
}

static void start_guests(void)
{
	guests[0] = (struct guest) { .pid = 10, .name = "web", .vm_stats = vm_stats,
				     .vcpu_stats = vcpu_stats, .vcpus = 2, };
	guests[1] = (struct guest) { .pid = 20, .name = "$(reboot)", .vm_stats = vm_stats,
				     .vcpu_stats = vcpu_stats, .vcpus = 1, };
	guests_start();
	last_tick = 30;
}

#define TITLE "exits of each vCPU: at least 10 within 1 s\n"
#define HEADER "TIME PID VCPU GROWTH PER NAME\n"
#define AT "2009-02-13 23:31:3"

static void count_exits(void)
{
	if (tick == 3)
		guest_vcpu_values(&guests[0], 1)[EXITS] += 10;
	if (tick == 5)
		guest_vcpu_values(&guests[1], 0)[EXITS] += 9;
	if (tick == 16)
		guest_vcpu_values(&guests[1], 0)[EXITS] += 9;
	if (tick == 22)
		guests[0].dead = true;
}

static void test_polling(void)
{
	start_guests();
	on_tick = count_exits;
	check_events(&guests_host, "watch exits >= 10", TITLE HEADER
		     AT "0 10 11 10 1 s web\n" AT "2 10 - ended - web\n", "each vCPU");
	check_number(status, STATUS_OK, "each vCPU: status");
	guests[0].dead = false;
	check_events(&guests_host, "watch exits >= 10 -c 11",
		     "exits of vCPU 11: at least 10 within 1 s\n" HEADER
		     AT "0 10 11 10 1 s web\n" AT "2 10 - ended - web\n", "one vCPU");
	guests[0].dead = false;
	check_events(&guests_host, "watch exits >= 9 per 3s -n 1 -p 20",
		     "exits of each vCPU: at least 9 within 3 s\n" HEADER
		     AT "0 20 10 9 3 s $(reboot)\n", "-n: ends after COUNT events");
	guests[0].dead = false;
	check_events(&guests_host, "watch online_vcpus >= 2",
		     "online_vcpus of the VM: at least 2, once in 1 s\n"
		     "TIME PID VCPU LEVEL PER NAME\n"
		     AT "0 10 - 2 1 s web\n" AT "2 10 - ended - web\n", "a level of the VM");
	guests[0].dead = false;
	last_tick = 1000;
	check_events(&guests_host, "watch exits > 1000 -p 10",
		     "exits of each vCPU: more than 1000 within 1 s\n" HEADER
		     AT "2 10 - ended - web\n", "no event: ends with the VM");
	check(tick < 40, "level: still reached, no second event");
	check_events(&guests_host, "watch nothing > 1",
		     "kvmstat: there is no statistic 'nothing' (try kvmstat --help)\n",
		     "an unknown statistic");
	check_number(status, STATUS_USAGE, "an unknown statistic: status");
	guests_free();
}

static const struct image_stat other_stats[] = {
	STAT_NS("exits"),
	{},
};

static void bring_up(void)
{
	guests[0].dead = tick < 5;
}

#define NONE_OPEN "kvmstat: pid 20 (closed): this kernel has no statistics files"

/* VMs without the statistic, at the start or later. */
static void test_no_statistics(void)
{
	static const char * const lines[] = { "watch exits > 1 -p closed", "watch exits > 1 -p 20",
					      "watch exits > 1 -p closed*", };
	char *output;
	size_t i;

	guests[0] = (struct guest) { .pid = 10, .name = "web", .vm_stats = vm_stats,
				     .vcpu_stats = other_stats, .vcpus = 1, };
	guests[1] = (struct guest) { .pid = 20, .name = "closed", .vm_stats = vm_stats,
				     .vcpu_stats = vcpu_stats, .vcpus = 1, .closed = true, };
	guests_start();
	last_tick = 100;
	on_tick = NULL;
	time_source = &test_time;
	command_host = &guests_host;
	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		tick = 0;
		output = output_of(command_watch, lines[i], &status);
		check_contains(output, NONE_OPEN, lines[i]);
		check(!tick && status == STATUS_ERROR, "%s: does not wait", lines[i]);
		free(output);
	}
	check_events(&guests_host, "watch exits > 1",
		     "kvmstat: '1' needs a unit: ns, us, ms or s (try kvmstat --help)\n",
		     "a wrong rule: one error line");
	check_number(status, STATUS_USAGE, "a wrong rule: status");
	guests[0].dead = true;
	guests[1].closed = false;
	on_tick = bring_up;
	check_events(&guests_host, "watch exits > 4",
		     "exits of each vCPU: more than 4 within 1 s\n"
		     "kvmstat: pid 10 (web): '4' needs a unit: ns, us, ms or s\n",
		     "a later VM without the statistic: a message");
	check_number(tick, last_tick, "a later VM without the statistic: watch goes on");
	guests[0].dead = true;
	guests[1].dead = true;
	check_events(&guests_host, "watch exits > 4",
		     "kvmstat: no process has a VM\n"
		     "kvmstat: pid 10 (web): '4' needs a unit: ns, us, ms or s\n",
		     "the first VM comes later, without the statistic: a message");
	check_number(tick, last_tick,
		     "the first VM comes later, without the statistic: watch goes on");
	guests_free();
}

/* Closes the output, as "| head -1" does. */
static void close_output(void)
{
	int ends[2];

	count_exits();
	if (tick != 3)
		return;
	if (pipe(ends))
		abort();
	dup2(ends[1], STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
}

static void test_unread(void)
{
	signal(SIGPIPE, SIG_IGN);
	start_guests();
	on_tick = close_output;
	check_events(&guests_host, "watch exits >= 10 -p 10", TITLE,
		     "no reader");
	__fpurge(stdout);
	clearerr(stdout);
	check_number(status, STATUS_OK, "no reader: status");
	check(tick < last_tick, "no reader: it ends");
	guests_free();
	signal(SIGPIPE, SIG_DFL);
}

static void fill_output(void)
{
	int full;

	count_exits();
	if (tick != 3)
		return;
	full = open("/dev/full", O_WRONLY);
	dup2(full, STDOUT_FILENO);
	close(full);
}

/* An event that cannot be written is an error, once. */
static void test_full(void)
{
	start_guests();
	on_tick = fill_output;
	check_events(&guests_host, "watch exits >= 10 -p 10",
		     TITLE "kvmstat: cannot write the output: No space left on device\n",
		     "full output: an error");
	__fpurge(stdout);
	clearerr(stdout);
	check_number(status, STATUS_ERROR, "full output: status");
	guests_free();
}

int main(void)
{
	struct image vm = image_build("kvm-1", vm_stats);
	struct image vcpu = image_build_ext("kvm-1/vcpu-0", vcpu_stats, NULL, 0);

	setenv("TZ", "UTC", true);
	unsetenv("COLUMNS");
	vm_file = image_open(&vm);
	vcpu_file = image_open(&vcpu);
	test_quantities();
	test_find();
	test_growth();
	test_level();
	test_polling();
	test_no_statistics();
	test_unread();
	test_full();
	statsfile_close(&vm_file);
	statsfile_close(&vcpu_file);
	image_free(&vm);
	image_free(&vcpu);
	return tap_end();
}
