/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What VMs and vCPUs can be sorted by: the columns in which they are shown.
 */
#ifndef KVMSTAT_ORDER_H
#define KVMSTAT_ORDER_H

#include <stdbool.h>

#include "model/tracker.h"

enum column_id {
	COLUMN_PID,			/* of a vCPU its id */
	COLUMN_NAME,
	COLUMN_VCPUS,
	COLUMN_SHARES,			/* and the next: each enum share */
	COLUMN_RATES = COLUMN_SHARES + NUM_SHARES,
	COLUMN_QUANTILES = COLUMN_RATES + NUM_RATES,
	COLUMN_TOP = COLUMN_QUANTILES + NUM_QUANTILES,
	NUM_COLUMNS,
};

static inline bool column_is_share(int column)
{
	return column >= COLUMN_SHARES && column < COLUMN_SHARES + NUM_SHARES;
}

static inline bool column_is_rate(int column)
{
	return column >= COLUMN_RATES && column < COLUMN_RATES + NUM_RATES;
}

static inline bool column_is_quantile(int column)
{
	return column >= COLUMN_QUANTILES && column < COLUMN_QUANTILES + NUM_QUANTILES;
}

/* By what it is called on a command line; NUM_COLUMNS if nothing is. */
enum column_id column_find(const char *name);

/* Of numbers the large ones are looked for, of all else the first. */
bool column_begins_low(enum column_id column);

/* As strcmp(). Of vCPUs there is what they do, and the id. */
int compare_tracked(const struct tracked_vm *left, const struct tracked_vm *right,
		    enum column_id column);
int compare_vcpus(const struct tracked_vcpu *left, const struct tracked_vcpu *right,
		  enum column_id column);

#endif /* KVMSTAT_ORDER_H */
