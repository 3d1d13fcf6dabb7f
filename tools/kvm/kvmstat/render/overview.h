/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All VMs of the host at the end of an interval: what each of them did in it.
 */
#ifndef KVMSTAT_OVERVIEW_H
#define KVMSTAT_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/columns.h"
#include "model/histogram.h"
#include "model/order.h"
#include "model/tracker.h"
#include "render/format.h"

struct overviews {
	struct timespec time;		/* CLOCK_REALTIME */
	uint64_t elapsed_ns;		/* what rates are of, if a VM was there throughout */
	const struct tracked_vm **vm;
	size_t num_vms;
	bool sorted;			/* and then by what, which is to be seen */
	enum column_id sorted_by;
};

/* What its rates are of: since it was found, and until it ended. All of it if none are known. */
static inline uint64_t overview_elapsed_ns(const struct overviews *overviews,
					   const struct tracked_vm *vm)
{
	return vm->elapsed_ns ? vm->elapsed_ns : overviews->elapsed_ns;
}

/* What the columns are called that are the same everywhere, in the order in which they stand. */
static const char * const share_titles[NUM_SHARES] = {
	[SHARE_GUEST] = "GUEST%",
	[SHARE_KVM] = "KVM%",
	[SHARE_VMM] = "VMM%",
	[SHARE_READY] = "READY%",
	[SHARE_IDLE] = "IDLE%",
};

static const char * const quantile_titles[NUM_QUANTILES] = {
	[QUANTILE_READY_P50] = "READY50",
	[QUANTILE_READY_P99] = "READY99",
	[QUANTILE_EXIT_P50] = "EXIT50",
	[QUANTILE_EXIT_P99] = "EXIT99",
};

/* What is of /proc is not as exact. */
static inline void overview_format_share(char text[FORMAT_SIZE], const struct shares *shares,
					 enum share share)
{
	snprintf(text, FORMAT_SIZE, "%s%.0f", shares->by_cpu ? "~" : "", 100 * shares->part[share]);
}

/* It is below that, or in the last bucket, which has no end. One word. */
static inline void overview_format_quantile(char text[FORMAT_SIZE],
					    const struct quantile_of *quantile)
{
	bool open = bucket_is_open(quantile->desc, quantile->bucket);
	char bound[FORMAT_SIZE];
	const char *blank;

	format_bound(bound, quantile->desc,
		     open ? bucket_lower(quantile->desc, quantile->bucket) :
			    bucket_upper(quantile->desc, quantile->bucket));
	blank = strchr(bound, ' ');
	snprintf(text, FORMAT_SIZE, "%c%.*s%s", open ? '>' : '<',
		 (int)(blank ? blank - bound : FORMAT_SIZE), bound, blank ? blank + 1 : "");
}

/* A share, rate or quantile; "-" of what is not known. */
static inline void overview_format(char text[FORMAT_SIZE], const struct rates *rates,
				   enum column_id column)
{
	if (rates && column_is_share(column) && rates->shares.known[column - COLUMN_SHARES])
		overview_format_share(text, &rates->shares, column - COLUMN_SHARES);
	else if (rates && column_is_rate(column) && rates->known[column - COLUMN_RATES])
		format_count_rate(text, rates->per_second[column - COLUMN_RATES]);
	else if (rates && column_is_quantile(column) &&
		 rates->quantile[column - COLUMN_QUANTILES].known)
		overview_format_quantile(text, &rates->quantile[column - COLUMN_QUANTILES]);
	else
		strcpy(text, "-");
}

/* Of these, columns are left out of which none of the VMs has anything. */
static inline void overview_note_known(bool known[NUM_COLUMNS], const struct rates *rates)
{
	enum quantile quantile;
	enum share share;

	for (share = 0; share < NUM_SHARES; share++)
		known[COLUMN_SHARES + share] |= rates->shares.known[share];
	for (quantile = 0; quantile < NUM_QUANTILES; quantile++)
		known[COLUMN_QUANTILES + quantile] |= !!rates->quantile[quantile].desc;
}

#endif /* KVMSTAT_OVERVIEW_H */
