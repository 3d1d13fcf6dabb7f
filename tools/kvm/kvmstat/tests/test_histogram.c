// SPDX-License-Identifier: GPL-2.0
/*
 * Histograms: bounds of buckets, percentiles, rows and text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/histogram.h"
#include "render/render.h"
#include "tap.h"
#include "util/util.h"

static const struct image_stat hist_stats[] = {
	STAT_HIST_NS("log", 5),
	{
		.name = "linear",
		.flags = KVM_STATS_TYPE_LINEAR_HIST,
		.size = 3,
		.bucket_size = 10,
	},
	STAT_HIST_NS("wide", 80),
	STAT_REASONS("reasons", 6, "interrupt", "never", "io", "nested_page_fault", "", "other"),
	{},
};

static const struct image_stat no_stats[] = { {}, };

static struct fixture fixture;
static const struct statsfile_desc *desc;

static void test_bounds(void)
{
	const struct statsfile_desc *log, *linear, *wide;

	log = desc;
	linear = log + 1;
	wide = log + 2;
	check(bucket_lower(log, 0) == 0 && bucket_upper(log, 0) == 1, "log: bucket 0 is 0");
	check(bucket_lower(log, 1) == 1 && bucket_upper(log, 1) == 2, "log: bucket 1 is 1");
	check(bucket_lower(log, 3) == 4 && bucket_upper(log, 3) == 8, "log: [4, 8)");
	check(!bucket_is_open(log, 3) && bucket_is_open(log, 4), "log: the last is open");
	check(bucket_lower(linear, 1) == 10 && bucket_upper(linear, 1) == 20,
	      "linear: [10, 20)");
	check(bucket_lower(wide, 64) == UINT64_C(1) << 63 && bucket_upper(wide, 64) == UINT64_MAX &&
	      bucket_lower(wide, 79) == UINT64_MAX, "log: more buckets than 64 bits fill");
}

struct percentile_case {
	const char *name;
	uint64_t count[5];
	uint64_t total;
	unsigned int first, p50, p90, p99, max;
};

static void test_percentiles(void)
{
	static const struct percentile_case cases[] = {
		{ "one value", { 0, 0, 1, }, 1, 2, 2, 2, 2, 2, },
		{ "two halves", { 0, 5, 0, 5, }, 10, 1, 1, 3, 3, 3, },
		{ "one above the half", { 0, 5, 0, 6, }, 11, 1, 3, 3, 3, 3, },
		{ "9 of 10", { 9, 1, }, 10, 0, 0, 0, 1, 1, },
		{ "99 of 100", { 0, 99, 0, 0, 1, }, 100, 1, 1, 1, 1, 4, },
		{ "98 of 100", { 0, 98, 0, 0, 2, }, 100, 1, 1, 1, 4, 4, },
		/* 50 times the total does not fit into 64 bits. */
		{ "many", { 0, UINT64_C(1) << 62, 0, UINT64_C(1) << 61, },
		  UINT64_C(3) << 61, 1, 1, 3, 3, 3, },
	};
	struct histogram histogram;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		histogram = histogram_of(desc, cases[i].count);
		check(histogram.total == cases[i].total && histogram.first == cases[i].first,
		      "%s: total and lowest bucket", cases[i].name);
		check(histogram.percentile[P50] == cases[i].p50 &&
		      histogram.percentile[P90] == cases[i].p90 &&
		      histogram.percentile[P99] == cases[i].p99 &&
		      histogram.percentile[PMAX] == cases[i].max,
		      "%s: percentiles", cases[i].name);
	}
}

static void check_rows(const struct statsfile_desc *of, const uint64_t *count,
		       const unsigned int *expected, size_t num_expected, const char *name)
{
	struct statsfile_desc moved = *of;
	struct histogram histogram;
	unsigned int *rows;
	size_t num_rows;

	moved.first = 0;
	histogram = histogram_of(&moved, count);
	rows = histogram_rows(&histogram, &num_rows);
	check(num_rows == num_expected &&
	      (!num_rows || !memcmp(rows, expected, num_rows * sizeof(*rows))), "rows: %s", name);
	free(rows);
}

static void test_rows(void)
{
	static const uint64_t nothing[6] = {};
	static const uint64_t hole[5] = { 0, 2, 0, 3, 0, };
	static const uint64_t reasons[6] = { 1, 0, 7, 0, 7, 9, };
	static const uint64_t large[6] = { 1, 0, UINT64_C(1) << 32, 0, 0, UINT64_C(1) << 33, };
	static const uint64_t marks[6] = { 3, 0, 3, 0, 0, 2, };
	const struct statsfile_desc peaks = { .flags = KVM_STATS_TYPE_PEAK, .size = 6, };
	const struct statsfile_desc *log, *named;

	log = desc;
	named = log + 3;
	check(has_named_buckets(named) && !has_named_buckets(log) && !has_named_buckets(log + 1),
	      "rows: only one histogram has named buckets");
	check_rows(log, nothing, NULL, 0, "an empty histogram has none");
	check_rows(log, hole, (const unsigned int []) { 1, 2, 3, }, 3,
		   "from the lowest to the highest, empty ones in between");
	check_rows(named, nothing, NULL, 0, "an empty histogram with names has none");
	check_rows(named, reasons, (const unsigned int []) { 5, 2, 4, 0, }, 4,
		   "with names: the fullest first, equal counts by index, no empty ones");
	check_rows(named, large, (const unsigned int []) { 5, 2, 0, }, 3,
		   "counts beyond 32 bits");
	check_rows(&peaks, marks, (const unsigned int []) { 0, 2, 5, }, 3,
		   "an array of peaks: by value, though the total is not the sum");
}

static void test_names_text(void)
{
	static const uint64_t values[5 + 3 + 80 + 6] = { [88] = 49, 0, 150, 12345, 1, 455, };
	const struct subject subject = { .vm = &fixture.vm, .id = "kvm-7", };
	struct histogram histogram;

	histogram = histogram_of(desc + 3, values);
	text_renderer.histogram(&fixture.output, &subject, &histogram);
	fixture_expect(&fixture, "histograms.txt", "with names: no bounds, no percentiles");
}

static void test_histogram_text(void)
{
	static const uint64_t values[5 + 3] = { 0, 0, 100, 0, 1, 3, 0, 0, };
	static const uint64_t nothing[5] = {};
	struct histogram histogram;
	struct subject subject;

	subject = (struct subject) {
		.vm = &fixture.vm,
		.id = "kvm-312",
		.scope = SCOPE_VCPU,
		.vcpu = &fixture.vcpu,
	};
	histogram = histogram_of(desc, values);
	fixture.output.num_shown = 0;
	text_renderer.histogram(&fixture.output, &subject, &histogram);
	histogram = histogram_of(desc + 1, values);
	subject = (struct subject) { .vm = &fixture.vm, .id = "kvm-7", };
	text_renderer.histogram(&fixture.output, &subject, &histogram);
	histogram = histogram_of(desc, nothing);
	text_renderer.histogram(&fixture.output, &subject, &histogram);
	fixture_expect(&fixture, "histograms.txt", "log with an open end, linear, empty");
}

int main(void)
{
	fixture_set_up(&fixture, "guest", no_stats, hist_stats);
	desc = fixture.vcpu.file.schema->desc;
	test_bounds();
	test_percentiles();
	test_rows();
	test_names_text();
	test_histogram_text();
	fixture_tear_down(&fixture);
	return tap_end();
}
