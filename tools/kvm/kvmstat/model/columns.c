// SPDX-License-Identifier: GPL-2.0
/*
 * The statistics that the columns are made of. Names are ABI and mean the same in every kernel, so
 * one table serves all of them.
 */
#include <assert.h>
#include <string.h>

#include "model/columns.h"
#include "model/histogram.h"
#include "model/model.h"
#include "util/util.h"

#define TOTAL 0x01		/* all exits */
#define PART 0x02		/* exits of one kind; without a TOTAL, their sum is the total */
#define REASON 0x04		/* may be the top reason */
#define HALTS 0x08
#define ANY_HALTS 0x10		/* for architectures without a counter of halts */
#define INJECTIONS 0x20
#define AGAIN 0x40		/* exits that another reason counts, too */
#define PAGE_FAULTS 0x80	/* if MMIO is counted too, these include it */
#define MMIO 0x100

/*
 * If two reasons have the same count, the first one in this table is the top reason. Therefore the
 * more specific one comes first: on x86 an access to MMIO is also a page fault.
 */
static const struct column_name {
	const char *name;
	unsigned int counts;
} column_names[] = {
	{ "exits", TOTAL, },
	{ "sum_exits", TOTAL, },

	/* x86 */
	{ "halt_exits", REASON | HALTS, },
	{ "io_exits", REASON, },
	{ "mmio_exits", REASON | MMIO, },
	{ "hypercalls", REASON, },
	{ "irq_exits", REASON, },
	{ "irq_window_exits", REASON, },
	{ "nmi_window_exits", REASON, },
	{ "nested_run", REASON | AGAIN, },
	{ "invlpg", REASON, },
	{ "pf_taken", REASON | PAGE_FAULTS, },
	{ "signal_exits", REASON | AGAIN, },
	{ "request_irq_exits", REASON | AGAIN, },
	{ "irq_injections", INJECTIONS, },
	{ "nmi_injections", INJECTIONS, },

	/* arm64 */
	{ "wfi_exit_stat", REASON | HALTS, },
	{ "wfe_exit_stat", REASON, },
	{ "hvc_exit_stat", REASON, },
	{ "mmio_exit_user", REASON, },
	{ "mmio_exit_kernel", REASON, },

	/* s390 */
	{ "exit_null", REASON | PART, },
	{ "exit_external_request", REASON | PART, },
	{ "exit_io_request", REASON | PART, },
	{ "exit_external_interrupt", REASON | PART, },
	{ "exit_stop_request", REASON | PART, },
	{ "exit_validity", REASON | PART, },
	{ "exit_instruction", REASON | PART, },
	{ "exit_pei", REASON | PART, },
	{ "exit_program_interruption", REASON | PART, },
	{ "exit_operation_exception", REASON | PART, },
	{ "exit_wait_state", HALTS, },
	{ "deliver_ckc", INJECTIONS, },
	{ "deliver_cputm", INJECTIONS, },
	{ "deliver_external_call", INJECTIONS, },
	{ "deliver_emergency_signal", INJECTIONS, },
	{ "deliver_service_signal", INJECTIONS, },
	{ "deliver_virtio", INJECTIONS, },
	{ "deliver_stop_signal", INJECTIONS, },
	{ "deliver_prefix_signal", INJECTIONS, },
	{ "deliver_restart_signal", INJECTIONS, },
	{ "deliver_program", INJECTIONS, },
	{ "deliver_io", INJECTIONS, },
	{ "deliver_machine_check", INJECTIONS, },

	/* powerpc */
	{ "itlb_real_miss_exits", REASON, },
	{ "itlb_virt_miss_exits", REASON, },
	{ "dtlb_real_miss_exits", REASON, },
	{ "dtlb_virt_miss_exits", REASON, },
	{ "isi_exits", REASON, },
	{ "dsi_exits", REASON, },
	{ "emulated_inst_exits", REASON, },
	{ "dec_exits", REASON, },
	{ "ext_intr_exits", REASON, },
	{ "dbell_exits", REASON, },
	{ "gdbell_exits", REASON, },
	{ "queue_intr", INJECTIONS, },

	/* MIPS; powerpc also has syscall_exits */
	{ "wait_exits", HALTS, },
	{ "int_exits", REASON | PART, },
	{ "cop_unusable_exits", REASON | PART, },
	{ "tlbmod_exits", REASON | PART, },
	{ "tlbmiss_ld_exits", REASON | PART, },
	{ "tlbmiss_st_exits", REASON | PART, },
	{ "addrerr_st_exits", REASON | PART, },
	{ "addrerr_ld_exits", REASON | PART, },
	{ "syscall_exits", REASON | PART, },
	{ "resvd_inst_exits", REASON | PART, },
	{ "break_inst_exits", REASON | PART, },
	{ "trap_inst_exits", REASON | PART, },
	{ "msa_fpe_exits", REASON | PART, },
	{ "fpe_exits", REASON | PART, },
	{ "msa_disabled_exits", REASON | PART, },
	{ "vz_gpsi_exits", REASON | PART, },
	{ "vz_gsfc_exits", REASON | PART, },
	{ "vz_hc_exits", REASON | PART, },
	{ "vz_grr_exits", REASON | PART, },
	{ "vz_gva_exits", REASON | PART, },
	{ "vz_ghfc_exits", REASON | PART, },
	{ "vz_gpa_exits", REASON | PART, },
	{ "vz_resvd_exits", REASON | PART, },

	/* All architectures: a halt ends while it polls, or it blocks. */
	{ "halt_successful_poll", ANY_HALTS, },
	{ "halt_wait_hist", ANY_HALTS, },
};

static_assert(ARRAY_SIZE(column_names) <= COLUMNS_MAX, "each may be a source");

/* The kinds of statistics for each rate: it uses the first kind that exists. */
static const unsigned int rate_counts[NUM_RATES][2] = {
	[RATE_EXITS] = { TOTAL, PART, },
	[RATE_HALTS] = { HALTS, ANY_HALTS, },
	[RATE_INJECTIONS] = { INJECTIONS, },
};

static const struct statsfile_desc *find_counter(const struct statsfile_schema *schema,
						 const char *name)
{
	const struct statsfile_desc *desc = statsfile_find(schema, name);

	return desc && is_counter(desc) ? desc : NULL;
}

static const char * const quantiles[NUM_QUANTILES] = {
	[QUANTILE_READY] = "ready_hist",
	[QUANTILE_EXIT] = "exit_hist",
};

/* Ignores a histogram of this name with another unit. */
static const struct statsfile_desc *find_durations(const struct statsfile_schema *schema,
						   const char *name)
{
	const struct statsfile_desc *desc = statsfile_find(schema, name);

	return desc && is_histogram(desc) && statsfile_unit(desc) == KVM_STATS_UNIT_SECONDS &&
	       desc->exponent == -9 ? desc : NULL;
}

bool columns_is_exit(const struct statsfile_desc *desc)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(column_names); i++) {
		if (!strcmp(column_names[i].name, desc->name))
			return is_counter(desc) &&
			       column_names[i].counts & (TOTAL | PART | REASON);
	}
	return false;
}

static bool is_counted(const struct columns *columns, unsigned int counts)
{
	size_t i;

	for (i = 0; i < columns->num_sources; i++) {
		if (columns->source[i].counts & counts)
			return true;
	}
	return false;
}

static unsigned int counts_of(const struct columns *columns, enum rate rate)
{
	return rate_counts[rate][!is_counted(columns, rate_counts[rate][0])];
}

void columns_find(struct columns *columns, const struct statsfile_schema *schema)
{
	const struct statsfile_desc *desc;
	enum rate rate;
	size_t i;

	*columns = (struct columns) { .reasons = find_counter(schema, "exit_reasons"), };
	if (columns->reasons && !has_named_buckets(columns->reasons))
		columns->reasons = NULL;
	for (i = 0; i < ARRAY_SIZE(column_names); i++) {
		desc = find_counter(schema, column_names[i].name);
		if (desc)
			columns->source[columns->num_sources++] = (struct column_source) {
				.desc = desc,
				.counts = column_names[i].counts,
			};
	}
	for (rate = 0; rate < NUM_RATES; rate++)
		columns->known[rate] = is_counted(columns, counts_of(columns, rate));
	for (i = 0; i < NUM_QUANTILES; i++)
		columns->durations[i] = find_durations(schema, quantiles[i]);
	shares_find(&columns->shares, schema);
}

static uint64_t sum_of(const struct columns *columns, unsigned int counts, const uint64_t *delta)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < columns->num_sources; i++) {
		if (columns->source[i].counts & counts)
			sum += group_total(columns->source[i].desc, delta);
	}
	return sum;
}

/* Finds the fullest bucket. Returns its count. */
static uint64_t find_top_bucket(const struct statsfile_desc *reasons, const uint64_t *delta,
				const char **top)
{
	const struct statsfile_value_name *name = reasons->value_names;
	uint64_t count, most = 0;

	for (; name < reasons->value_names + reasons->num_value_names; name++) {
		count = delta[reasons->first + name->value];
		if (count <= most)
			continue;
		most = count;
		*top = name->name;
	}
	return most;
}

/* Finds the largest of the statistics that count exits of one kind each. Returns its count. */
static uint64_t find_top_statistic(const struct columns *columns, const uint64_t *delta,
				   const char **top)
{
	uint64_t count, most = 0;
	size_t i;

	for (i = 0; i < columns->num_sources; i++) {
		if (!(columns->source[i].counts & REASON))
			continue;
		count = group_total(columns->source[i].desc, delta);
		if (count <= most)
			continue;
		most = count;
		*top = columns->source[i].desc->name;
	}
	return most;
}

/* The exits that no statistic with a reason counts. */
static uint64_t count_others(const struct columns *columns, const uint64_t *delta)
{
	uint64_t exits = sum_of(columns, counts_of(columns, RATE_EXITS), delta);
	uint64_t faults = sum_of(columns, PAGE_FAULTS, delta);
	uint64_t mmio = sum_of(columns, MMIO, delta);
	uint64_t counted;

	counted = sum_of(columns, REASON, delta) - sum_of(columns, AGAIN, delta) -
		  (faults < mmio ? faults : mmio);
	return exits > counted ? exits - counted : 0;
}

static struct quantile_of find_quantile(const struct statsfile_desc *desc, const uint64_t *delta)
{
	struct histogram histogram;

	if (!desc)
		return (struct quantile_of) {};
	histogram = histogram_of(desc, delta);
	return (struct quantile_of) {
		.desc = desc,
		.known = histogram.total,
		.bucket = histogram.percentile[P99],
	};
}

void columns_rates(const struct columns *columns, const uint64_t *delta, uint64_t elapsed_ns,
		   struct rates *rates)
{
	uint64_t count, others;
	enum quantile i;
	enum rate rate;

	*rates = (struct rates) {};
	for (rate = 0; rate < NUM_RATES; rate++) {
		rates->known[rate] = columns->known[rate];
		count = sum_of(columns, counts_of(columns, rate), delta);
		rates->per_second[rate] = rate_per_second(count, elapsed_ns);
	}
	for (i = 0; i < NUM_QUANTILES; i++)
		rates->quantile[i] = find_quantile(columns->durations[i], delta);
	if (columns->reasons) {
		count = find_top_bucket(columns->reasons, delta, &rates->top);
	} else {
		count = find_top_statistic(columns, delta, &rates->top);
		others = count_others(columns, delta);
		/* One of the uncounted reasons may have more exits than the counted ones. */
		if (others > count) {
			rates->top = NULL;
			count = others;
		}
	}
	rates->top_per_second = rate_per_second(count, elapsed_ns);
}
