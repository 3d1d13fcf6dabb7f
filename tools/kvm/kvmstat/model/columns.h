/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The main figures of a VM or vCPU, the same on every architecture: exits, halts and injections per
 * second, the top exit reason, and shares of the time. The top reason is the fullest bucket of
 * exit_reasons. Kernels without it count only some kinds of exits: there the top reason is the
 * largest of these, or "other" if the uncounted rest is larger.
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

/* Durations. 99 of 100 were below the upper bound of the bucket in struct quantile_of. */
enum quantile {
	QUANTILE_READY,			/* waits for a CPU */
	QUANTILE_EXIT,			/* exits, until the guest goes on */
	NUM_QUANTILES,
};

struct quantile_of {
	const struct statsfile_desc *desc;	/* NULL: KVM does not count it */
	bool known;				/* it counted something */
	unsigned int bucket;
};

/* Room for all statistics that a rate may use. */
#define COLUMNS_MAX 128

struct column_source {
	const struct statsfile_desc *desc;
	unsigned int counts;		/* private: what it counts, as bits */
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
	double per_second[NUM_RATES];	/* 0 if it is not known */
	/* The top reason. NULL: there is none; or, with top_per_second, it is not counted. */
	const char *top;
	double top_per_second;
	struct quantile_of quantile[NUM_QUANTILES];
	struct shares shares;		/* columns_rates() leaves them unknown */
};

/* The top reason's share of all exits, from 0 to 1; -1 if it is not known. */
static inline double rates_share(const struct rates *rates)
{
	if (!rates->top_per_second || !rates->known[RATE_EXITS] || !rates->per_second[RATE_EXITS])
		return -1;
	return rates->top_per_second / rates->per_second[RATE_EXITS];
}

/* The top reason's name; "other" if it is not counted, "-" if there is none. */
static inline const char *rates_reason(const struct rates *rates)
{
	if (rates->top)
		return rates->top;
	return rates->top_per_second ? "other" : "-";
}

/* Looks up the statistics in the vCPU schema, which must outlive @columns, or is NULL. */
void columns_find(struct columns *columns, const struct statsfile_schema *schema);

/* Whether it counts exits of one kind, or all of them. */
bool columns_is_exit(const struct statsfile_desc *desc);

/* @delta: the growth in @elapsed_ns, an entry per value of the schema. */
void columns_rates(const struct columns *columns, const uint64_t *delta, uint64_t elapsed_ns,
		   struct rates *rates);

#endif /* KVMSTAT_COLUMNS_H */
