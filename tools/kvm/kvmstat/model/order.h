/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of columns for list, INTERVAL, top, CSV and JSON, and the orders of VMs and vCPUs.
 */
#ifndef KVMSTAT_ORDER_H
#define KVMSTAT_ORDER_H

#include <stdbool.h>

#include "model/tracker.h"

/* In the order of the columns. */
enum column_id {
	COLUMN_PID,			/* a vCPU's id */
	COLUMN_VM,
	COLUMN_VCPUS,
	COLUMN_STATE,			/* see why.h */
	COLUMN_SHARES,			/* the first of NUM_SHARES columns: see enum share */
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
	const char *key;		/* in --sort and JSON */
	const char *csv;		/* columns of CSV, see render_csv.h */
	unsigned int drop;		/* without room the highest is left out first; 0: never */
	unsigned int least, most;	/* width; 0: as wide as the longest text */
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

/* Finds a column by its key; NUM_COLUMNS if there is none. */
enum column_id column_find(const char *key);

/* Numbers and states sort from the highest; pids, names and other texts from the lowest. */
static inline bool column_begins_low(enum column_id column)
{
	return column == COLUMN_PID || (column_info[column].left && column != COLUMN_STATE);
}

/* A value in a line. */
struct cell {
	bool known;
	double number;			/* to sort by: a share, a rate, a quantile's rank */
	const char *text;		/* or NULL */
};

/* @rates: NULL if none are known. vCPUs have a number, a state and rates only. */
struct cell vm_cell(const struct tracked_vm *vm, const struct rates *rates, enum column_id column);
struct cell vcpu_cell(const struct tracked_vcpu *vcpu, const struct rates *rates,
		      enum column_id column);

/* Compare as strcmp() does. */
int compare_tracked(const struct tracked_vm *left, const struct tracked_vm *right,
		    enum column_id column);
int compare_vcpus(const struct tracked_vcpu *left, const struct tracked_vcpu *right,
		  enum column_id column);

#endif /* KVMSTAT_ORDER_H */
