// SPDX-License-Identifier: GPL-2.0
/*
 * Text output, line by line, and the format of its numbers.
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
	STAT_LEVEL("lpages"),
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{ .name = "io_exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{ .name = "hypercalls", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	STAT_NS("halt_poll_ns"),
	STAT_HIST_NS("wait_hist", 4),
	{},
};

static const struct image_stat named_stats[] = {
	{ .name = "exits", },
	STAT_REASONS("exit_reasons", 5, "interrupt", "io", "", "hlt", "other"),
	STAT_STATE("state", "guest", "host"),
	STAT_SINCE("state_since_ns"),
	STAT_REASON_NS("exit_reason_ns", 4, "interrupt", "io", "", "hlt"),
	{ .name = "levels", .flags = KVM_STATS_TYPE_INSTANT, .size = 3, },
	{},
};

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

static void test_sample(void)
{
	struct fixture fixture;

	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	fixture_sample(&fixture, 100);
	move_values(&fixture);
	fixture_sample(&fixture, 102);
	fixture.output.width = 80;
	text_renderer.movement(&fixture.output, &fixture.tracked, NULL);
	fixture_expect(&fixture, "text.txt", "sample: two columns in 80 characters");
	fixture.output.width = 40;
	text_renderer.movement(&fixture.output, &fixture.tracked, NULL);
	fixture_expect(&fixture, "text.txt", "sample: one column at least");
	fixture.output.width = 24;
	text_renderer.movement(&fixture.output, &fixture.tracked, NULL);
	fixture_expect(&fixture, "text.txt", "sample: so narrow that names are cut");
	fixture.output.width = 80;
	fixture_sample(&fixture, 103);
	text_renderer.movement(&fixture.output, &fixture.tracked, NULL);
	fixture_expect(&fixture, "text.txt", "sample: nothing moved");
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
	text_renderer.movement(&fixture.output, &fixture.tracked, "ended");
	fixture_expect(&fixture, "text.txt", "summary");
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
	fixture_expect(&fixture, "text.txt", "every statistic");
	subject.look_ns = 252 * NSEC_PER_SEC / 1000;
	subject.shares = &shares;
	text_renderer.group(&fixture.output, &subject, &none);
	fixture_expect(&fixture, "text.txt", "shares, as far as they are known");
	subject.look_ns = 3600 * NSEC_PER_SEC;
	text_renderer.group(&fixture.output, &subject, &none);
	fixture_expect(&fixture, "text.txt", "shares of an hour");
	subject.look_ns = 252 * NSEC_PER_SEC / 1000;
	fixture.output.width = 40;
	text_renderer.group(&fixture.output, &subject, &none);
	fixture_expect(&fixture, "text.txt", "shares in two lines");
	subject.shares = &unknown;
	text_renderer.group(&fixture.output, &subject, &none);
	fixture_expect(&fixture, "text.txt", "no shares");
	fixture_tear_down(&fixture);
}

static void test_names(void)
{
	struct fixture fixture;
	struct subject subject = { .vm = &fixture.vm, .id = "kvm-312", };
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
	fixture_expect(&fixture, "text.txt", "names of values");
	values[6] = 0;
	values[7] += 1;
	values[8] += 10000000;
	fixture_sample(&fixture, 2);
	text_renderer.movement(&fixture.output, &fixture.tracked, NULL);
	fixture_expect(&fixture, "text.txt", "an array moves in its unit, what moved by its name");
	/* As if the sum had two vCPUs. */
	group->num_members = 2;
	text_renderer.movement(&fixture.output, &fixture.tracked, NULL);
	fixture_expect(&fixture, "text.txt", "what has no sum does not move");
	text_renderer.movement(&fixture.output, &fixture.tracked, "ended");
	fixture_expect(&fixture, "text.txt", "nor stands still");
	values[6] = 2;
	fixture_sample(&fixture, 3);
	text_renderer.group(&fixture.output, &subject, group);
	fixture_expect(&fixture, "text.txt", "a value without a name");
	group->num_members = 2;
	text_renderer.group(&fixture.output, &subject, group);
	fflush(fixture.output.file);
	check(strstr(fixture.text, "\nlevels ") && !strstr(fixture.text, "\nstate"),
	      "several vCPUs: no sum of states");
	fixture_tear_down(&fixture);
}

static const struct statsfile_desc ready_hist = {
	.name = "ready_hist",
	.flags = KVM_STATS_TYPE_LOG_HIST | SECONDS,
	.exponent = -9,
	.size = 32,
};

#define KNOWN { true, true, true, true, true, true, }

/* A starved VM, a VM that has ended, and a VM of which nothing is known. */
static struct tracked_vm vms[] = {
	{
		.pid = 312, .name = "guest", .id = "kvm-312", .num_vcpus = 1, .source = "series",
		.rates = {
			.known = { [RATE_EXITS] = true, [RATE_INJECTIONS] = true, },
			.per_second = { [RATE_EXITS] = 500, [RATE_INJECTIONS] = 17.24, },
			.quantile[QUANTILE_READY] = { &ready_hist, true, 31, },
			.top = "halt_exits",
			.top_per_second = 125,
			.shares = { .known = KNOWN, .part = { 0.6, 0.05, 0, 0.34, 0, 0.01, }, },
		},
	},
	{ .pid = 31, .name = "db", .id = "-", .num_vcpus = 1, .source = "vmm", .ended = true, },
	{ .pid = 4242424, .name = "db", .id = "-", .num_vcpus = 30, .source = "proc", },
};

static const struct tracked_vm *some[] = { &vms[0], &vms[1], &vms[2], };

static struct overviews overviews = {
	/* 1970-01-01 02:03:04 UTC */
	.time = { .tv_sec = 7384, },
	.elapsed_ns = NSEC_PER_SEC / 4,
	.vm = some,
	.num_vms = ARRAY_SIZE(some),
	.sorted_by = NUM_COLUMNS,
};

/* Starts a new table, which forgets the columns of the last one. */
static void expect_lines(struct fixture *fixture, unsigned int width, const char *name)
{
	struct output output = { .file = fixture->output.file, .width = width, };

	text_renderer.overviews(&output, &overviews);
	fixture_expect(fixture, "text.txt", name);
}

static void test_overviews(void)
{
	struct fixture fixture;

	setenv("TZ", "UTC", 1);
	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	expect_lines(&fixture, 0, "lines: all that is known of any");
	expect_lines(&fixture, 80, "lines: 80 columns");
	strcpy(vms[0].name, "shop-production_checkout-frontend-7f9c8");
	expect_lines(&fixture, 80,
		     "lines: a long name is shortened in the middle; shares, pid and state stay");
	expect_lines(&fixture, 40, "lines: 40 columns");
	overviews.sorted_by = COLUMN_TOP;
	expect_lines(&fixture, 40, "lines: what they are sorted by is seen");
	overviews.sorted_by = NUM_COLUMNS;
	overviews.is_list = true;
	expect_lines(&fixture, 80, "list: no time, and how long it was looked at");
	vms[2].accounting_is_off = true;
	vms[2].rates.shares.by_cpu = true;
	vms[2].rates.shares.known[SHARE_GUEST] = true;
	expect_lines(&fixture, 80, "list: how to have exact shares");
	vms[2].rates.shares = (struct shares) {};
	vms[2].accounting_is_off = false;
	overviews.is_list = false;
	strcpy(vms[0].name, "guest");
	fixture_tear_down(&fixture);
}

/* Known values and the lengths of names change with each interval. */
static void test_stable(void)
{
	struct tracked_vm first = vms[0];
	struct fixture fixture;

	overviews.num_vms = 1;
	fixture_set_up(&fixture, "guest", vm_stats, vcpu_stats);
	fixture.output.width = 80;
	text_renderer.overviews(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check_contains(fixture.text, "\n02:03:04      312 starved     60 ", "stable: all values are known");
	fixture_rewind(&fixture);
	vms[0].rates.shares = (struct shares) {};
	text_renderer.overviews(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check(!strncmp(fixture.text, "02:03:04      312 -            -    -    -      - ", 49),
	      "stable: a column stays while its value is unknown");
	fixture_rewind(&fixture);
	strcpy(vms[0].name, "instance-0000002a");
	text_renderer.overviews(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check_contains(fixture.text, "   PID STATE ", "stable: a longer name removes columns");
	fixture_rewind(&fixture);
	strcpy(vms[0].name, "guest");
	text_renderer.overviews(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check(!strstr(fixture.text, "PID") && !strstr(fixture.text, "READY99"),
	      "stable: they do not come back in an interval without that name");
	fixture_rewind(&fixture);
	fixture.output.width = 120;
	text_renderer.overviews(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check_contains(fixture.text, "1970-01-01 ", "stable: another width is another table");
	vms[0] = first;
	overviews.num_vms = ARRAY_SIZE(some);
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
	test_sample();
	test_summary();
	test_group();
	test_names();
	test_overviews();
	test_stable();
	test_words();
	return tap_end();
}
