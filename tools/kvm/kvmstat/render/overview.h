/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Text tables of VMs and vCPUs with the columns of model/order.h, for lines and for the screen.
 */
#ifndef KVMSTAT_OVERVIEW_H
#define KVMSTAT_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "model/order.h"
#include "model/tracker.h"
#include "render/format.h"
#include "render/layout.h"

/* All VMs of the host at the end of an interval. */
struct overviews {
	struct timespec time;		/* CLOCK_REALTIME */
	uint64_t elapsed_ns;		/* length of the interval */
	const struct tracked_vm **vm;
	size_t num_vms;
	bool is_list;			/* printed once: no column of times */
	enum column_id sorted_by;	/* a column that is never left out; or NUM_COLUMNS */
};

/* The first column may be the time. */
#define OVERVIEW_COLUMNS (NUM_COLUMNS + 1)

/*
 * A table of VMs or vCPUs that is printed or drawn again and again: it remembers which columns
 * ever had a value, and the longest text of each.
 */
struct overview {
	struct table table;
	struct column column[OVERVIEW_COLUMNS];
	unsigned int longest[OVERVIEW_COLUMNS];
	bool known[NUM_COLUMNS];
	unsigned int width;
	enum column_id sorted_by;
	char sorted_title[FORMAT_SIZE];
};	/* all zeros at first */

/* Whether the table of VMs, or of vCPUs, has the column, and any value in it so far. */
bool overview_has(const struct overview *overview, bool of_vcpus, enum column_id column);

/*
 * Begins a table. The column @sorted_by is never left out and has @mark behind its title. @time is
 * NULL or the title of the column of times. The caller adds lines, calls overview_fit() and frees
 * the table.
 */
void overview_begin(struct overview *overview, bool of_vcpus, enum column_id sorted_by,
		    const char *mark, const char *time);
void overview_note(struct overview *overview, const struct tracked_vm *vm,
		   const struct rates *rates);
/* @rates: NULL if none are known. */
void overview_add_vm(struct overview *overview, const struct tracked_vm *vm,
		     const struct rates *rates, const char *time);
void overview_add_vcpu(struct overview *overview, const struct tracked_vcpu *vcpu,
		       const char *name, const struct rates *rates);
void overview_fit(struct overview *overview, unsigned int width);

/* A share in percent, with ~ in front if it comes from /proc, which is less exact. */
void overview_format_share(char text[FORMAT_SIZE], const struct shares *shares, enum share share);

/* Makes the kernel account for time by state. */
#define ACCOUNT_FOR_TIME "echo 1 >/sys/module/kvm/parameters/stats_time"

#endif /* KVMSTAT_OVERVIEW_H */
