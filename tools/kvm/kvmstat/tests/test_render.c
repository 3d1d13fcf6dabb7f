// SPDX-License-Identifier: GPL-2.0
/*
 * Text output, line by line as a person sees it, and the numbers in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/model.h"
#include "render/format.h"
#include "render/render.h"
#include "tap.h"
#include "util/util.h"

struct value_case {
	uint32_t flags;
	int16_t exponent;
	uint64_t value;
	const char *text;
};

#define SECONDS KVM_STATS_UNIT_SECONDS
#define BYTES KVM_STATS_UNIT_BYTES
#define POW2 KVM_STATS_BASE_POW2

static void test_values(void)
{
	static const struct value_case cases[] = {
		{ 0, 0, 0, "0", },
		{ 0, 0, 12345678, "12345678", },
		{ 0, 0, UINT64_MAX, "18446744073709551615", },
		{ 0, 3, 5, "5000", },
		{ POW2, 10, 3, "3072", },
		{ SECONDS, -9, 0, "0 ns", },
		{ SECONDS, -9, 999, "999 ns", },
		{ SECONDS, -9, 1500, "1.5 us", },
		{ SECONDS, -9, 20312345, "20.3 ms", },
		{ SECONDS, -9, 3000000000, "3 s", },
		{ SECONDS, -3, 12, "12 ms", },
		{ SECONDS, 0, 123456, "123456 s", },
		{ BYTES, 0, 1000, "1000 B", },
		{ BYTES, 0, 1536, "1.5 KiB", },
		{ BYTES | POW2, 20, 3, "3 MiB", },
		{ BYTES, 0, UINT64_MAX, "16 EiB", },
		{ KVM_STATS_UNIT_CYCLES, 0, 77, "77", },
		{ KVM_STATS_UNIT_BOOLEAN, 0, 1, "1", },
		{ KVM_STATS_TYPE_LOG_HIST | SECONDS, -9, 42, "42", },
		{ 0xfff, 0, 42, "42", },
		{ SECONDS, INT16_MIN, 1, "0 ns", },
		{ SECONDS, INT16_MAX, 1, "inf s", },
		{ SECONDS, INT16_MAX, 0, "0 ns", },
	};
	struct statsfile_desc desc = { .name = "x", .size = 1, };
	char text[FORMAT_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		desc.flags = cases[i].flags;
		desc.exponent = cases[i].exponent;
		format_value(text, &desc, cases[i].value);
		check_text(text, cases[i].text, cases[i].text);
	}
}

static void test_rates(void)
{
	static const struct {
		double rate;
		const char *text;
	} cases[] = {
		{ 0, "0", }, { 0.000001, "<0.1", }, { 0.049, "<0.1", },
		{ 0.06, "0.1", }, { 0.5, "0.5", }, { 1, "1", },
		{ 9.96, "10", }, { 99.94, "99.9", }, { 99.96, "100", }, { 12034.4, "12034", },
		{ 9999999, "9999999", }, { 12345678, "12.3 M", }, { 5e12, "5 T", },
	};
	struct statsfile_desc desc = { .name = "x", .size = 1, };
	char text[FORMAT_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		format_rate(text, &desc, cases[i].rate);
		check_text(text, cases[i].text, cases[i].text);
	}
}

static const struct image_stat vm_stats[] = {
	{ .name = "remote_tlb_flush", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{ .name = "lpages", .flags = KVM_STATS_TYPE_INSTANT, },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{ .name = "io_exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{ .name = "hypercalls", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{
		.name = "halt_poll_ns",
		.flags = KVM_STATS_TYPE_CUMULATIVE | SECONDS,
		.exponent = -9,
	}, {
		.name = "wait_hist",
		.flags = KVM_STATS_TYPE_LOG_HIST | SECONDS,
		.exponent = -9,
		.size = 4,
	},
	{},
};

static const struct image_stat named_stats[] = {
	{ .name = "exits", },
	{
		.name = "exit_reasons",
		.flags = KVM_STATS_TYPE_LINEAR_HIST,
		.size = 5,
		.bucket_size = 1,
		.value_names = (const char * const []) {
			"interrupt", "io", "", "hlt", "other", NULL,
		},
	},
	{
		.name = "state",
		.flags = KVM_STATS_TYPE_INSTANT,
		.value_names = (const char * const []) { "guest", "host", NULL, },
	}, {
		.name = "state_since_ns",
		.flags = KVM_STATS_TYPE_INSTANT | SECONDS,
		.exponent = -9,
	}, {
		.name = "exit_reason_ns",
		.flags = SECONDS,
		.exponent = -9,
		.size = 4,
		.value_names = (const char * const []) { "interrupt", "io", "", "hlt", NULL, },
	},
	{ .name = "levels", .flags = KVM_STATS_TYPE_INSTANT, .size = 3, },
	{},
};

static void expect(struct fixture *fixture, const char *expected, const char *name)
{
	fflush(fixture->output.file);
	check_text(fixture->text, expected, name);
	fixture_rewind(fixture);
}

static void move_values(struct fixture *fixture)
{
	uint64_t *vm = image_values(&fixture->vm_image);
	uint64_t *vcpu = image_values(&fixture->vcpu_image);

	vcpu[0] += 24068;
	vcpu[1] += 1000000;
	vcpu[3] += 40600000;
	vcpu[4 + 2] += 3;
	vm[0] += 1;
	vm[1] = 12;
}

static void test_list(void)
{
	struct fixture fixture;
	const struct tracked_vm *vm[] = { &fixture.tracked, &fixture.closed, };
	struct overviews vms = {
		.vm = vm, .num_vms = 2, .elapsed_ns = 250000000,
	};

	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	fixture_sample(&fixture, 1);
	text_renderer.vms(&fixture.output, &vms);
	expect(&fixture,
	       "    PID VM           VCPUS VM STATS VCPU STATS SOURCE NAME\n"
	       "    312 kvm-312          1        2          5 vmm    guest\n"
	       "    312 -                3        -          - proc   guest\n",
	       "list: with and without statistics");
	fixture_tear_down(&fixture);
}

static void test_sample(void)
{
	struct fixture fixture;

	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	fixture_sample(&fixture, 100);
	move_values(&fixture);
	fixture_sample(&fixture, 102);
	fixture.output.width = 80;
	text_renderer.sample(&fixture.output, &fixture.tracked);
	expect(&fixture,
	       "\n"
	       "2.0 s: guest, pid 312, kvm-312, 1 vCPU\n"
	       "vcpu  io_exits              500000/s   exits                  12034/s\n"
	       "      wait_hist                1.5/s   halt_poll_ns         20.3 ms/s\n"
	       "vm    remote_tlb_flush         0.5/s   lpages                     =12\n",
	       "sample: two columns in 80 characters");
	fixture.output.width = 40;
	text_renderer.sample(&fixture.output, &fixture.tracked);
	expect(&fixture,
	       "\n"
	       "2.0 s: guest, pid 312, kvm-312, 1 vCPU\n"
	       "vcpu  io_exits              500000/s\n"
	       "      exits                  12034/s\n"
	       "      wait_hist                1.5/s\n"
	       "      halt_poll_ns         20.3 ms/s\n"
	       "vm    remote_tlb_flush         0.5/s\n"
	       "      lpages                     =12\n",
	       "sample: one column at least");
	fixture.output.width = 24;
	text_renderer.sample(&fixture.output, &fixture.tracked);
	expect(&fixture,
	       "\n"
	       "2.0 s: guest, pid 312,\n"
	       "  kvm-312, 1 vCPU\n"
	       "io_exits        500000/s\n"
	       "exits            12034/s\n"
	       "wait_hist          1.5/s\n"
	       "halt_poll_ns   20.3 ms/s\n"
	       "remote~b_flush     0.5/s\n"
	       "lpages               =12\n",
	       "sample: so narrow that names are cut");
	fixture.output.width = 80;
	fixture_sample(&fixture, 103);
	text_renderer.sample(&fixture.output, &fixture.tracked);
	expect(&fixture, "3.0 s: guest, pid 312, kvm-312, 1 vCPU: nothing moved\n",
	       "sample: nothing moved");
	fixture_tear_down(&fixture);
}

static void test_summary(void)
{
	struct fixture fixture;

	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	image_values(&fixture.vcpu_image)[0] = 1000;
	image_values(&fixture.vcpu_image)[2] = 5;
	fixture_sample(&fixture, 100);
	move_values(&fixture);
	fixture_sample(&fixture, 104);
	text_renderer.summary(&fixture.output, &fixture.tracked, "ended");
	expect(&fixture,
	       "\n"
	       "guest, pid 312, kvm-312, 1 vCPU: ended, watched for 4.0 s. Everything that moved:\n"
	       "      statistic                  total   while watched   per second\n"
	       "vcpu  io_exits                 1000000         1000000       250000\n"
	       "      exits                      25068           24068         6017\n"
	       "      wait_hist                      3               3          0.8\n"
	       "      hypercalls                     5               0            0\n"
	       "      halt_poll_ns             40.6 ms         40.6 ms      10.1 ms\n"
	       "vm    remote_tlb_flush               1               1          0.2\n"
	       "      lpages                        12               -            -\n"
	       "0 statistics did not move.\n",
	       "summary");
	fixture_tear_down(&fixture);
}

static void test_group(void)
{
	struct fixture fixture;
	struct subject subject = {
		.vm = &fixture.vm,
		.id = "kvm-312",
		.scope = SCOPE_VCPU,
	};
	const struct shares shares = {
		.known = { true, true, true, }, .by_cpu = true, .part = { 0.503, 0, 0.49, },
	};
	const struct shares unknown = {};
	const struct group none = {};

	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	move_values(&fixture);
	fixture_sample(&fixture, 1);
	text_renderer.group(&fixture.output, &subject, &fixture.tracked.model.group[SCOPE_VCPU]);
	expect(&fixture,
	       "guest, pid 312, sum of 1 vCPU:\n"
	       "statistic    raw value type       unit          value\n"
	       "exits            24068 cumulative -\n"
	       "io_exits       1000000 cumulative -\n"
	       "hypercalls           0 cumulative -\n"
	       "halt_poll_ns  40600000 cumulative seconds*10^-9 40.6 ms\n"
	       "wait_hist            3 log-hist   seconds*10^-9 2:3\n",
	       "every statistic");
	subject.look_ns = 252 * NSEC_PER_SEC / 1000;
	subject.shares = &shares;
	text_renderer.group(&fixture.output, &subject, &none);
	expect(&fixture, "\nguest, pid 312, sum of 1 vCPU:\n"
	       "  of 0.25 s: GUEST% ~50, KVM% ~0, VMM% ~49\n", "shares, as far as they are known");
	subject.look_ns = 3600 * NSEC_PER_SEC;
	text_renderer.group(&fixture.output, &subject, &none);
	expect(&fixture, "\nguest, pid 312, sum of 1 vCPU:\n"
	       "  of 3600 s: GUEST% ~50, KVM% ~0, VMM% ~49\n", "shares of an hour");
	subject.look_ns = 252 * NSEC_PER_SEC / 1000;
	fixture.output.width = 40;
	text_renderer.group(&fixture.output, &subject, &none);
	expect(&fixture, "\nguest, pid 312, sum of 1 vCPU:\n"
	       "  of 0.25 s: GUEST% ~50, KVM% ~0,\n  VMM% ~49\n", "shares in two lines");
	subject.shares = &unknown;
	text_renderer.group(&fixture.output, &subject, &none);
	expect(&fixture, "\nguest, pid 312, sum of 1 vCPU:\n", "no shares");
	fixture_tear_down(&fixture);
}

static void test_names(void)
{
	struct fixture fixture;
	struct subject subject = { .id = "kvm-312", };
	struct group *group;
	uint64_t *values;

	fixture_set_up(&fixture, "guest", vm_stats, named_stats);
	values = image_values(&fixture.vcpu_image);
	values[0] = 24;
	values[1] = 20;
	values[3] = 1;
	values[5] = 3;
	values[6] = 1;
	values[7] = 3000000000;
	values[8] = 20300000;
	values[10] = 1500;
	values[12] = 7;
	values[14] = 1;
	fixture_sample(&fixture, 1);
	group = &fixture.tracked.model.group[SCOPE_VCPU];
	text_renderer.group(&fixture.output, &subject, group);
	expect(&fixture,
	       "kvm-312:\n"
	       "statistic       raw value type        unit          value\n"
	       "exits                  24 cumulative  -\n"
	       "exit_reasons           24 linear-hist -             interrupt:20 2:1 other:3\n"
	       "state                   1 instant     -             host\n"
	       "state_since_ns 3000000000 instant     seconds*10^-9 3 s\n"
	       "exit_reason_ns   20301500 cumulative  seconds*10^-9 interrupt:20.3 ms, 2:1.5 us\n"
	       "levels                  8 instant     -             0:7 2:1\n",
	       "names of values");
	values[6] = 0;
	values[8] += 10000000;
	fixture_sample(&fixture, 2);
	text_renderer.sample(&fixture.output, &fixture.tracked);
	fflush(fixture.output.file);
	check_contains(fixture.text, " 10 ms/s ", "an array moves in its unit");
	check_contains(fixture.text, " =guest\n", "what moved by its name");
	fixture_rewind(&fixture);
	/* As if there were two. */
	group->num_members = 2;
	text_renderer.sample(&fixture.output, &fixture.tracked);
	fflush(fixture.output.file);
	check(strstr(fixture.text, " 10 ms/s\n") && !strstr(fixture.text, "state"),
	      "what has no sum does not move");
	fixture_rewind(&fixture);
	text_renderer.summary(&fixture.output, &fixture.tracked, "ended");
	fflush(fixture.output.file);
	check(!strstr(fixture.text, "state") &&
	      strstr(fixture.text, "\n2 statistics did not move.\n"), "nor stands still");
	fixture_rewind(&fixture);
	values[6] = 2;
	fixture_sample(&fixture, 3);
	text_renderer.group(&fixture.output, &subject, group);
	fflush(fixture.output.file);
	check_contains(fixture.text, "\nstate                   2 instant     -\n",
		       "a value without a name");
	fixture_rewind(&fixture);
	group->num_members = 2;
	text_renderer.group(&fixture.output, &subject, group);
	fflush(fixture.output.file);
	check(strstr(fixture.text, "\nlevels ") && !strstr(fixture.text, "\nstate"),
	      "of several vCPUs there is no sum of what they say");
	fixture_tear_down(&fixture);
}

static const struct statsfile_desc ready_hist = {
	.name = "ready_hist",
	.flags = KVM_STATS_TYPE_LOG_HIST | SECONDS,
	.exponent = -9,
	.size = 32,
};

/* Where there is room, or they are sorted by. */
static void test_quantiles(void)
{
	struct tracked_vm waiting = {
		.pid = 312, .name = "instance-0000002a", .id = "kvm-312", .num_vcpus = 2,
		.source = "series",
		.rates = {
			.known[RATE_EXITS] = true,
			.per_second[RATE_EXITS] = 500,
			.quantile = {
				[QUANTILE_READY_P50] = { &ready_hist, true, 20, },
				[QUANTILE_READY_P99] = { &ready_hist, true, 31, },
			},
			.shares = {
				.known = { true, true, true, true, true, },
				.part[SHARE_READY] = 1,
			},
		},
	};
	struct tracked_vm idle = {
		.source = "proc",
		.pid = 8, .name = "b", .id = "kvm-8", .num_vcpus = 1,
		.rates.quantile = {
			[QUANTILE_READY_P50] = { .desc = &ready_hist, },
			[QUANTILE_READY_P99] = { .desc = &ready_hist, },
		},
	};
	const struct tracked_vm *vm[] = { &waiting, &idle, };
	struct overviews overviews = {
		.time = { .tv_sec = 7384, }, .elapsed_ns = 250000000, .vm = vm, .num_vms = 2,
	};
	struct fixture fixture;

	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	fixture.output.width = 160;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "1970-01-01    PID VCPU GUEST% KVM% VMM% READY% IDLE%  EXITS/S  HALTS/S INJECT/S READY50 READY99 TOP REASON        SHARE NAME\n"
	       "02:03:04      312    2      0    0    0    100     0      500        -        -    <1ms   >1.1s -                     - instance-0000002a\n"
	       "02:03:04        8    1      -    -    -      -     -        -        -        -       -       - -                     - b\n",
	       "quantiles: with room for them");
	overviews.sorted = true;
	overviews.sorted_by = COLUMN_QUANTILES + QUANTILE_READY_P99;
	fixture.output.width = 80;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "1970-01-01 GUEST% READY%  EXITS/S READY99 TOP REASON        NAME\n"
	       "02:03:04        0    100      500   >1.1s -                 instance-0000002a\n"
	       "02:03:04        -      -        -       - -                 b\n",
	       "quantiles: in 80 columns if it is sorted by them");
	text_renderer.vms(&fixture.output, &overviews);
	expect(&fixture,
	       "    PID VCPUS GUEST% KVM% VMM% READY% IDLE% READY99 SOURCE NAME\n"
	       "    312     2      0    0    0    100     0   >1.1s series instance-0000002a\n"
	       "      8     1      -    -    -      -     -       - proc   b\n"
	       "What the time was spent with: of 0.25 s.\n",
	       "list: what the time is spent with, and how long that was looked at");
	overviews.sorted = false;
	fixture.output.width = 40;
	text_renderer.vms(&fixture.output, &overviews);
	expect(&fixture,
	       "    PID VCPUS GUEST% NAME\n"
	       "    312     2      0 instance-0000002a\n"
	       "      8     1      - b\n"
	       "What the time was spent with: of 0.25 s.\n",
	       "list: 40 columns");
	overviews.elapsed_ns = 120 * NSEC_PER_SEC;
	text_renderer.vms(&fixture.output, &overviews);
	expect(&fixture,
	       "    PID VCPUS GUEST% NAME\n"
	       "    312     2      0 instance-0000002a\n"
	       "      8     1      - b\n"
	       "What the time was spent with: of 120 s.\n",
	       "list: two minutes");
	fixture_tear_down(&fixture);
}

static void test_overviews(void)
{
	struct tracked_vm running = {
		.pid = 312, .name = "guest", .id = "kvm-312", .has_statistics = true,
		.num_vcpus = 1,
		.rates = {
			.known = { [RATE_EXITS] = true, [RATE_INJECTIONS] = true, },
			.per_second = { [RATE_EXITS] = 500, [RATE_INJECTIONS] = 17.24, },
			.top = "halt_exits",
			.top_per_second = 125,
		},
	};
	struct tracked_vm closed = { .pid = 312, .name = "guest", .id = "-", .num_vcpus = 3, };
	struct tracked_vm ended = {
		.pid = 312, .name = "guest", .num_vcpus = 1, .ended = true,
		.rates.known[RATE_EXITS] = true,
	};
	const struct tracked_vm *vm[] = { &running, &closed, &ended, };
	const struct overviews overviews = {
		/* 1970-01-01 02:03:04 UTC */
		.time = { .tv_sec = 7384, },
		.vm = vm,
		.num_vms = ARRAY_SIZE(vm),
	};
	struct fixture fixture;
	int i;

	setenv("TZ", "UTC", 1);
	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "TIME                   PID VCPU  EXITS/S  HALTS/S INJECT/S TOP REASON        SHARE NAME\n"
	       "1970-01-01 02:03:04    312    1      500        -     17.2 halt_exits          25% guest\n"
	       "1970-01-01 02:03:04    312    3        -        -        - -                     - guest\n"
	       "1970-01-01 02:03:04    312    1        0        -        - ended                 - guest\n",
	       "overviews: with and without statistics, ended");
	fixture.output.width = 80;
	fixture.output.header = 0;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "1970-01-01    PID VCPU  EXITS/S  HALTS/S INJECT/S TOP REASON        SHARE NAME\n"
	       "02:03:04      312    1      500        -     17.2 halt_exits          25% guest\n"
	       "02:03:04      312    3        -        -        - -                     - guest\n"
	       "02:03:04      312    1        0        -        - ended                 - guest\n",
	       "overviews: 80 columns, the date is in the header");
	strcpy(running.name, "instance-0000002a");
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "1970-01-01    PID  EXITS/S  HALTS/S TOP REASON        SHARE NAME\n"
	       "02:03:04      312      500        - halt_exits          25% instance-0000002a\n"
	       "02:03:04      312        -        - -                     - guest\n"
	       "02:03:04      312        0        - ended                 - guest\n",
	       "overviews: for a long name others go, and there is a new header");
	fixture.output.width = 40;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       " EXITS/S TOP REASON   NAME\n"
	       "     500 halt_exits   instance-0000002a\n"
	       "       - -            guest\n"
	       "       0 ended        guest\n",
	       "overviews: 40 columns, what is most important");
	running.rates.shares = (struct shares) {
		.known = { true, true, true, true, true, },
		.part = { 0.615, 0.25, 0.004, 0.13, 0.001, },
	};
	ended.rates.shares.known[SHARE_READY] = true;
	ended.rates.shares.part[SHARE_READY] = 1;
	fixture.output.width = 80;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "1970-01-01 GUEST% KVM% VMM% READY%  EXITS/S TOP REASON        NAME\n"
	       "02:03:04       62   25    0     13      500 halt_exits        instance-0000002a\n"
	       "02:03:04        -    -    -      -        - -                 guest\n"
	       "02:03:04        -    -    -    100        0 ended             guest\n",
	       "overviews: what the time is spent with comes before most others");
	fixture.output.width = 120;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "1970-01-01    PID VCPU GUEST% KVM% VMM% READY% IDLE%  EXITS/S  HALTS/S TOP REASON        SHARE NAME\n"
	       "02:03:04      312    1     62   25    0     13     0      500        - halt_exits          25% instance-0000002a\n"
	       "02:03:04      312    3      -    -    -      -     -        -        - -                     - guest\n"
	       "02:03:04      312    1      -    -    -    100     -        0        - ended                 - guest\n",
	       "overviews: 120 columns, with all of it");
	fixture.output.width = 40;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "GUEST% READY%  EXITS/S NAME\n"
	       "    62     13      500 instance-0000002a\n"
	       "     -      -        - guest\n"
	       "     -    100        0 guest\n",
	       "overviews: 40 columns, with the time in the guest and that it waits");
	fixture.output.width = 0;
	for (i = 0; i < 7; i++)
		text_renderer.overviews(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check(strstr(fixture.text, "TIME"), "overviews: the header comes again");
	fixture_tear_down(&fixture);
}

/* What is known, and how long names are, is another thing in each interval. */
static void test_stable(void)
{
	struct tracked_vm vms[] = {
		{ .pid = 312, .name = "guest", .num_vcpus = 1, },
		{ .pid = 8, .name = "instance-0000002a", .num_vcpus = 1, },
	};
	const struct tracked_vm *vm[] = { &vms[0], &vms[1], };
	struct overviews overviews = { .time = { .tv_sec = 7384, }, .vm = vm, .num_vms = 1, };
	const struct shares shares = { .known = { true, true, true, true, true, }, };
	struct fixture fixture;

	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	fixture.output.width = 80;
	vms[0].rates.shares = shares;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "1970-01-01    PID GUEST% KVM% VMM% READY% IDLE%  EXITS/S TOP REASON        NAME\n"
	       "02:03:04      312      0    0    0      0     0        - -                 guest\n",
	       "stable: all is known");
	vms[0].rates.shares = (struct shares) {};
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "02:03:04      312      -    -    -      -     -        - -                 guest\n",
	       "stable: a column stays when nothing is known for once");
	overviews.num_vms = 2;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       "1970-01-01 GUEST% KVM% VMM% READY%  EXITS/S TOP REASON        NAME\n"
	       "02:03:04        -    -    -      -        - -                 guest\n"
	       "02:03:04        -    -    -      -        - -                 instance-0000002a\n",
	       "stable: for a longer name some go");
	overviews.num_vms = 1;
	text_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture, "02:03:04        -    -    -      -        - -                 guest\n",
	       "stable: and do not come back with each interval in which it is not there");
	fixture.output.width = 120;
	text_renderer.overviews(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check_contains(fixture.text, "    PID VCPU GUEST% ", "stable: there is more room");
	fixture_rewind(&fixture);
	fixture.output.width = 80;
	text_renderer.overviews(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check_contains(fixture.text, "1970-01-01    PID GUEST% KVM% VMM% READY% IDLE%  EXITS/S TOP",
		       "stable: another width is another table");
	fixture_tear_down(&fixture);
}

static void test_words(void)
{
	struct statsfile_desc desc = { .flags = 0xfff, .exponent = INT16_MIN, };
	char text[FORMAT_SIZE];

	format_type(text, &desc);
	check_text(text, "type-15", "unknown type");
	format_unit(text, &desc);
	check_text(text, "unit-15*?^-32768", "unknown unit and base");
	desc.flags = BYTES | POW2;
	desc.exponent = 12;
	format_unit(text, &desc);
	check_text(text, "bytes*2^12", "scaled unit");
}

int main(void)
{
	test_values();
	test_rates();
	test_list();
	test_sample();
	test_summary();
	test_group();
	test_names();
	test_overviews();
	test_quantiles();
	test_stable();
	test_words();
	return tap_end();
}
