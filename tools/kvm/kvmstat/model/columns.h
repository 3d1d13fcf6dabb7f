/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few numbers that a VM or vCPU is judged by, the same on every architecture: exits, halts and
 * injections per second, the reason of most exits, and shares of the time. The top reason is the
 * fullest bucket of exit_reasons. Kernels without that count some kinds of exits only: there it is
 * the largest such statistic, or the rest if that is more.
 */
#ifndef KVMSTAT_COLUMNS_H
#define KVMSTAT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/shares.h"
#include "sources/statsfile.h"

enum rate {
	RATE_EXITS,
	RATE_HALTS,
	RATE_INJECTIONS,
	NUM_RATES,
};

/* How long something took: the bucket below whose upper bound 99 of 100 were. */
enum quantile {
	QUANTILE_READY,			/* of waits for a CPU */
	QUANTILE_EXIT,			/* of exits, until the guest went on */
	NUM_QUANTILES,
};

struct quantile_of {
	const struct statsfile_desc *desc;	/* NULL: KVM does not count it */
	bool known;				/* it counted something */
	unsigned int bucket;
};

/* Room for all statistics that count in one of the rates. */
#define COLUMNS_MAX 128

struct column_source {
	const struct statsfile_desc *desc;
	unsigned int counts;		/* private: in what */
};

struct columns {
	struct column_source source[COLUMNS_MAX];
	size_t num_sources;
	const struct statsfile_desc *reasons;	/* exit_reasons, or NULL */
	const struct statsfile_desc *durations[NUM_QUANTILES];	/* or NULL */
	bool known[NUM_RATES];		/* whether the architecture counts it */
	struct share_sources shares;
};

struct rates {
	bool known[NUM_RATES];
	double per_second[NUM_RATES];	/* 0 of what is not known */
	/* The top reason; NULL: none, or with top_per_second one that is not counted. */
	const char *top;
	double top_per_second;
	struct quantile_of quantile[NUM_QUANTILES];
	struct shares shares;		/* not of columns_rates() */
};

/* The part that the top reason has in all exits, from 0 to 1; -1 if it is not known. */
static inline double rates_share(const struct rates *rates)
{
	if (!rates->top_per_second || !rates->known[RATE_EXITS] || !rates->per_second[RATE_EXITS])
		return -1;
	return rates->top_per_second / rates->per_second[RATE_EXITS];
}

/* The top reason's name, or why there is none. */
static inline const char *rates_reason(const struct rates *rates)
{
	if (rates->top)
		return rates->top;
	return rates->top_per_second ? "other" : "-";
}

/* Looks up the statistics in the schema of vCPUs, which has to stay. NULL: nothing is known. */
void columns_find(struct columns *columns, const struct statsfile_schema *schema);

/* Whether it counts exits of one kind, or all of them. */
bool columns_is_exit(const struct statsfile_desc *desc);

/* @delta: what was counted in @elapsed_ns, an entry per value of the schema. */
void columns_rates(const struct columns *columns, const uint64_t *delta, uint64_t elapsed_ns,
		   struct rates *rates);

#endif /* KVMSTAT_COLUMNS_H */
