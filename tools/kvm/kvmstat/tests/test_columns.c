// SPDX-License-Identifier: GPL-2.0
/*
 * The columns: which statistics each one uses, on architectures with different statistics.
 */
#include <stdio.h>
#include <string.h>

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

/* With exit_reasons, the other counters of exits are not used. */
static const struct image_stat reason_stats[] = {
	{ .name = "exits", },
	{ .name = "io_exits", },
	{ .name = "pf_taken", },
	STAT_REASONS("exit_reasons", 5, "io", "page_fault", "", "other"),
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
	STAT_HIST_NS("halt_wait_hist", 3),
	{},
};

static const struct image_stat other_stats[] = {
	STAT_LEVEL("exits"),
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

/* Histograms with the expected names, but other units. */
static const struct image_stat strange_durations[] = {
	HIST("ready_hist", 4, -6),
	STAT_NS("exit_hist"),
	{},
};

/* The counts are of half a second, so that a count of 1 is a rate of 2. */
static const struct {
	const char *name;
	const struct image_stat *stats;
	uint64_t delta[MAX_VALUES];
	const char *expected;		/* exits, halts, injections, the top reason and its rate */
} cases[] = {
	{ "x86: halts without polls, MMIO says more than page fault", x86_stats,
	  { 60, 60, 100, 20, 5, 2, 1000, 90, }, "200 40 14 mmio_exits 120", },
	{ "x86: most are page faults", x86_stats, { 45, 40, 100, 20, }, "200 40 0 pf_taken 90", },
	{ "x86: no reason if more exits are not counted under any", x86_stats,
	  { 30, 30, 100, 20, }, "200 40 0 none 100", },
	{ "x86: 5 percent are no reason", x86_stats, { 0, 0, 100, 5, }, "200 10 0 none 190", },
	{ "x86: nothing moved", x86_stats, {}, "0 0 0 none 0", },
	{ "reasons: the one that has a name and most exits", reason_stats,
	  { 10, 9, 9, 3, 5, 9, 2, 9, }, "20 - - page_fault 10", },
	{ "reasons: of two with the same count the first", reason_stats,
	  { 8, 0, 0, 4, 4, }, "16 - - io 8", },
	{ "reasons: the last bucket with a name", reason_stats,
	  { 1, 0, 0, 0, 0, 0, 1, }, "2 - - other 2", },
	{ "reasons: nothing else is one", reason_stats, { 10, 9, 9, }, "20 - - none 0", },
	{ "reasons without names: as if they were not there", nameless_stats,
	  { 4, 2, 3, 4, 0, }, "8 - - io_exits 4", },
	{ "arm64: halts are WFI, injections are not counted", arm64_stats,
	  { 7, 4, }, "14 8 - wfi_exit_stat 8", },
	{ "s390: sums of intercepts and deliveries", s390_stats,
	  { 50, 4, 3, 2, 1, 1, }, "14 4 4 exit_instruction 8", },
	{ "powerpc: no reason is added, halts polled or blocked", powerpc_stats,
	  { 10, 6, 1, 2, 3, 4, }, "20 20 - syscall_exits 12", },
	{ "other statistics: nothing is known", other_stats, { 1, 1, }, "- - - none 0", },
};

static void columns_of(struct rates *rates, const struct statsfile *file, const uint64_t *delta)
{
	struct columns columns;

	columns_find(&columns, file->schema);
	columns_rates(&columns, delta, NSEC_PER_SEC / 2, rates);
}

static void test_rates(size_t index)
{
	struct image image = image_build_ext("kvm-1/vcpu-0", cases[index].stats, NULL, 0);
	struct statsfile file = image_open(&image);
	char found[128] = "";
	struct rates rates;
	enum rate rate;

	columns_of(&rates, &file, cases[index].delta);
	for (rate = 0; rate < NUM_RATES; rate++)
		sprintf(found + strlen(found), rates.known[rate] ? "%g " : "- ",
			rates.per_second[rate]);
	sprintf(found + strlen(found), "%s %g", rates.top ?: "none", rates.top_per_second);
	check_text(found, cases[index].expected, cases[index].name);
	statsfile_close(&file);
	image_free(&image);
}

static void test_quantiles(void)
{
	static const uint64_t waits[MAX_VALUES] = { 9, 0, 50, 48, 2, };
	static const uint64_t exits[MAX_VALUES] = { 9, 0, 0, 0, 0, 1, 98, 1, };
	struct image image = image_build_ext("kvm-1/vcpu-0", duration_stats, NULL, 0);
	struct image others = image_build_ext("kvm-1/vcpu-0", strange_durations, NULL, 0);
	struct statsfile file = image_open(&image), other = image_open(&others);
	struct rates rates;

	columns_of(&rates, &file, waits);
	check(rates.quantile[QUANTILE_READY].bucket == 3, "quantiles: 99 of 100 waits");
	check(!rates.quantile[QUANTILE_EXIT].known, "quantiles: without exits not known");
	columns_of(&rates, &file, exits);
	check(rates.quantile[QUANTILE_EXIT].bucket == 1, "quantiles: 99 of 100 exits");
	columns_of(&rates, &other, waits);
	check(!rates.quantile[QUANTILE_READY].desc && !rates.quantile[QUANTILE_EXIT].desc,
	      "quantiles: histograms with other units are ignored");
	statsfile_close(&file);
	statsfile_close(&other);
	image_free(&image);
	image_free(&others);
}

int main(void)
{
	const struct statsfile none = {};
	struct columns columns;
	struct rates rates;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		test_rates(i);
	test_quantiles();
	columns_of(&rates, &none, NULL);
	check(!rates.known[RATE_EXITS] && !rates.top, "no schema: nothing is known");
	columns_find(&columns, NULL);
	columns_rates(&columns, NULL, 0, &rates);
	check(rates.per_second[RATE_EXITS] == 0, "no time has passed: the rate is 0");
	return tap_end();
}
