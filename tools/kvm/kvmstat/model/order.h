/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One table of columns for the list, lines of intervals, top, CSV and JSON, and the orders of VMs
 * and vCPUs.
 */
#ifndef KVMSTAT_ORDER_H
#define KVMSTAT_ORDER_H

#include <stdbool.h>

#include "model/tracker.h"

/* In the order of the columns. */
enum column_id {
	COLUMN_PID,			/* of a vCPU its id */
	COLUMN_VM,
	COLUMN_VCPUS,
	COLUMN_STATE,			/* see why.h */
	COLUMN_SHARES,			/* and the next: each enum share */
	COLUMN_OTHER = COLUMN_SHARES + NUM_SHARES,
	COLUMN_RATES,
	COLUMN_QUANTILES = COLUMN_RATES + NUM_RATES,
	COLUMN_TOP = COLUMN_QUANTILES + NUM_QUANTILES,
	COLUMN_SOURCE,
	COLUMN_NAME,
	NUM_COLUMNS,
};

struct column_info {
	const char *title;
	const char *key;		/* of --sort and of JSON, */
	const char *csv;		/* see render_data.c */
	unsigned int drop;		/* the highest goes first if there is no room */
	unsigned int least, most;	/* width; 0: as the longest text */
	bool left;			/* text, not a number */
};

extern const struct column_info column_info[NUM_COLUMNS];

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

/* By its key; NUM_COLUMNS if nothing is called so. */
enum column_id column_find(const char *key);

/* Numbers sort from the largest, all else from the first. */
static inline bool column_begins_low(enum column_id column)
{
	return column == COLUMN_PID || (column_info[column].left && column != COLUMN_STATE);
}

/* A column of a line. */
struct cell {
	bool known;
	double number;			/* to sort by: a share, a rate, a quantile's rank */
	const char *text;		/* or NULL */
};

/* @rates: NULL if none are known. vCPUs have a number, a state and rates only. */
struct cell vm_cell(const struct tracked_vm *vm, const struct rates *rates, enum column_id column);
struct cell vcpu_cell(const struct tracked_vcpu *vcpu, const struct rates *rates,
		      enum column_id column);

/* As strcmp(). */
int compare_tracked(const struct tracked_vm *left, const struct tracked_vm *right,
		    enum column_id column);
int compare_vcpus(const struct tracked_vcpu *left, const struct tracked_vcpu *right,
		  enum column_id column);

#endif /* KVMSTAT_ORDER_H */
