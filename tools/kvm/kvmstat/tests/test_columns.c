// SPDX-License-Identifier: GPL-2.0
/*
 * The columns: what counts in each on architectures that count differently.
 */
#include <stdio.h>

#include "image.h"
#include "model/columns.h"
#include "model/model.h"
#include "tap.h"
#include "util/util.h"

#define MAX_VALUES 16

static const struct image_stat x86_stats[] = {
	{ .name = "pf_taken", },
	{ .name = "mmio_exits", },
	{ .name = "exits", },
	{ .name = "halt_exits", },
	{ .name = "irq_injections", },
	{ .name = "nmi_injections", },
	{ .name = "halt_successful_poll", },
	{ .name = "insn_emulation", },
	{},
};

/* Where reasons are counted all others are parts of them, or of something else. */
static const struct image_stat reason_stats[] = {
	{ .name = "exits", },
	{ .name = "io_exits", },
	{ .name = "pf_taken", },
	{
		.name = "exit_reasons",
		.flags = KVM_STATS_TYPE_LINEAR_HIST,
		.size = 5,
		.bucket_size = 1,
		.value_names = (const char * const []) { "io", "page_fault", "", "other", NULL, },
	},
	{},
};

static const struct image_stat nameless_stats[] = {
	{ .name = "exits", },
	{ .name = "io_exits", },
	{
		.name = "exit_reasons",
		.flags = KVM_STATS_TYPE_LINEAR_HIST,
		.size = 3,
		.bucket_size = 1,
	},
	{},
};

static const struct image_stat arm64_stats[] = {
	{ .name = "exits", },
	{ .name = "wfi_exit_stat", },
	{},
};

static const struct image_stat s390_stats[] = {
	{ .name = "exit_userspace", },
	{ .name = "exit_instruction", },
	{ .name = "exit_null", },
	{ .name = "exit_wait_state", },
	{ .name = "deliver_io", },
	{ .name = "deliver_ckc", },
	{},
};

static const struct image_stat powerpc_stats[] = {
	{ .name = "sum_exits", },
	{ .name = "syscall_exits", },
	{ .name = "halt_successful_poll", },
	{
		.name = "halt_wait_hist",
		.flags = KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS,
		.exponent = -9,
		.size = 3,
	},
	{},
};

static const struct image_stat other_stats[] = {
	{ .name = "exits", .flags = KVM_STATS_TYPE_INSTANT, },
	{ .name = "pages", },
	{},
};

#define HIST(stat, buckets, scale) { \
	.name = stat, \
	.flags = KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS, \
	.exponent = scale, \
	.size = buckets, \
}

static const struct image_stat duration_stats[] = {
	{ .name = "exits", },
	HIST("ready_hist", 4, -9),
	HIST("exit_hist", 3, -9),
	{},
};

/* The names, and not what is meant by them. */
static const struct image_stat strange_durations[] = {
	HIST("ready_hist", 4, -6),
	{ .name = "exit_hist", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, },
	{},
};

struct result {
	struct rates rates;
	char top[IMAGE_NAME_SIZE];	/* the name is the schema's */
};

/* What was counted in half a second: an expectation of 2 is a count of 1. */
static struct result rates_of(const struct image_stat *stats, const uint64_t delta[MAX_VALUES])
{
	struct image image = image_build_ext("kvm-1/vcpu-0", stats, NULL, 0);
	struct statsfile file = image_open(&image);
	struct columns columns;
	struct result result;

	columns_find(&columns, file.schema);
	columns_rates(&columns, delta, NSEC_PER_SEC / 2, &result.rates);
	snprintf(result.top, sizeof(result.top), "%s",
		 result.rates.top ? result.rates.top : "none");
	statsfile_close(&file);
	image_free(&image);
	return result;
}

static bool is_rate(const struct result *result, enum rate rate, double per_second)
{
	return result->rates.known[rate] && result->rates.per_second[rate] == per_second;
}

static void test_x86(void)
{
	struct result result = rates_of(x86_stats, (const uint64_t[MAX_VALUES]) {
		60, 60, 100, 20, 5, 2, 1000, 90,
	});

	check(is_rate(&result, RATE_EXITS, 200), "x86: exits");
	check(is_rate(&result, RATE_HALTS, 40), "x86: halts, not those that polled once more");
	check(is_rate(&result, RATE_INJECTIONS, 14), "x86: injections are interrupts and NMIs");
	check_text(result.top, "mmio_exits", "x86: MMIO says more than page fault");
	check(result.rates.top_per_second == 120, "x86: rate of the top reason");
	result = rates_of(x86_stats, (const uint64_t[MAX_VALUES]) { 45, 40, 100, 20, });
	check_text(result.top, "pf_taken", "x86: most are page faults");
	result = rates_of(x86_stats, (const uint64_t[MAX_VALUES]) { 30, 30, 100, 20, });
	check_text(result.top, "none", "x86: no reason if more exits are not counted under any");
	check(result.rates.top_per_second == 100, "x86: these are not counted twice");
	result = rates_of(x86_stats, (const uint64_t[MAX_VALUES]) { 0, 0, 100, 5, });
	check_text(result.top, "none", "x86: 5 percent are no reason");
	result = rates_of(x86_stats, (const uint64_t[MAX_VALUES]) {});
	check_text(result.top, "none", "nothing moved: no reason");
	check(is_rate(&result, RATE_EXITS, 0), "nothing moved: 0 exits");
}

static void test_reasons(void)
{
	struct result result = rates_of(reason_stats, (const uint64_t[MAX_VALUES]) {
		10, 9, 9, 3, 5, 9, 2, 9,
	});

	check_text(result.top, "page_fault", "reasons: the one that has a name and most exits");
	check(result.rates.top_per_second == 10, "reasons: its rate");
	check(is_rate(&result, RATE_EXITS, 20), "reasons: are added to no exits");
	result = rates_of(reason_stats, (const uint64_t[MAX_VALUES]) { 8, 0, 0, 4, 4, });
	check_text(result.top, "io", "reasons: of two with the same count the first");
	result = rates_of(reason_stats, (const uint64_t[MAX_VALUES]) { 1, 0, 0, 0, 0, 0, 1, });
	check_text(result.top, "other", "reasons: the last bucket with a name");
	result = rates_of(reason_stats, (const uint64_t[MAX_VALUES]) { 10, 9, 9, });
	check_text(result.top, "none", "reasons: nothing else is one");
	result = rates_of(nameless_stats, (const uint64_t[MAX_VALUES]) { 4, 2, 3, 4, 0, });
	check_text(result.top, "io_exits", "reasons without names: as if they were not there");
}

static void test_arm64(void)
{
	struct result result = rates_of(arm64_stats, (const uint64_t[MAX_VALUES]) { 7, 4, });

	check(is_rate(&result, RATE_EXITS, 14), "arm64: exits");
	check(is_rate(&result, RATE_HALTS, 8), "arm64: halts are WFI");
	check(!result.rates.known[RATE_INJECTIONS], "arm64: injections are not counted");
	check_text(result.top, "wfi_exit_stat", "arm64: top reason");
}

static void test_s390(void)
{
	struct result result = rates_of(s390_stats, (const uint64_t[MAX_VALUES]) {
		50, 4, 3, 2, 1, 1,
	});

	check(is_rate(&result, RATE_EXITS, 14), "s390: exits are the sum of intercepts");
	check(is_rate(&result, RATE_HALTS, 4), "s390: halts are waits");
	check(is_rate(&result, RATE_INJECTIONS, 4), "s390: injections are deliveries");
	check_text(result.top, "exit_instruction", "s390: top reason");
}

static void test_powerpc(void)
{
	struct result result = rates_of(powerpc_stats, (const uint64_t[MAX_VALUES]) {
		10, 6, 1, 2, 3, 4,
	});

	check(is_rate(&result, RATE_EXITS, 20), "powerpc: exits, no reason is added");
	check(is_rate(&result, RATE_HALTS, 20), "powerpc: halts that polled, halts that blocked");
}

static bool is_quantile(const struct result *result, enum quantile quantile, unsigned int bucket)
{
	const struct quantile_of *found = &result->rates.quantile[quantile];

	return found->known && found->bucket == bucket;
}

static void test_quantiles(void)
{
	struct result result = rates_of(duration_stats, (const uint64_t[MAX_VALUES]) {
		9, 0, 50, 48, 2, 0, 0, 0,
	});
	const struct rates *rates = &result.rates;
	struct quantile_of other = { .known = true, };

	check(is_quantile(&result, QUANTILE_READY, 3), "quantiles: 99 of 100 waits");
	check(!rates->quantile[QUANTILE_EXIT].known, "quantiles: there was no exit");
	check(quantile_rank(&other) > quantile_rank(&rates->quantile[QUANTILE_EXIT]),
	      "quantiles: in their order");
	result = rates_of(duration_stats, (const uint64_t[MAX_VALUES]) {
		9, 0, 0, 0, 0, 1, 98, 1,
	});
	check(is_quantile(&result, QUANTILE_EXIT, 1), "quantiles: of exits");
	result = rates_of(strange_durations, (const uint64_t[MAX_VALUES]) { 1, 1, 1, 1, 1, });
	check(!rates->quantile[QUANTILE_READY].desc && !rates->quantile[QUANTILE_EXIT].desc,
	      "quantiles: of nothing else");
}

static void test_unknown(void)
{
	struct result result = rates_of(other_stats, (const uint64_t[MAX_VALUES]) { 1, 1, });
	struct columns columns;
	struct rates rates;
	enum rate rate;

	for (rate = 0; rate < NUM_RATES; rate++)
		check(!result.rates.known[rate], "other statistics: rate %d is not known", rate);
	check_text(result.top, "none", "other statistics: no reason");

	columns_find(&columns, NULL);
	columns_rates(&columns, NULL, NSEC_PER_SEC, &rates);
	check(!rates.known[RATE_EXITS] && !rates.top, "no schema: nothing is known");
	columns_find(&columns, NULL);
	columns_rates(&columns, NULL, 0, &rates);
	check(rates.per_second[RATE_EXITS] == 0, "no time has passed: 0");
}

int main(void)
{
	test_x86();
	test_reasons();
	test_arm64();
	test_s390();
	test_powerpc();
	test_quantiles();
	test_unknown();
	return tap_end();
}
