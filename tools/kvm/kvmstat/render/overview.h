/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VMs and vCPUs in the columns of model/order.h, as text: in lines and on the screen.
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
	uint64_t elapsed_ns;		/* what rates are of, if a VM was there throughout */
	const struct tracked_vm **vm;
	size_t num_vms;
	bool is_list;			/* of what is there, and not one of many intervals */
	enum column_id sorted_by;	/* which is to be seen; NUM_COLUMNS: none */
};

/* What its rates are of: since it was found, and until it ended. All of it if none are known. */
static inline uint64_t overview_elapsed_ns(const struct overviews *overviews,
					   const struct tracked_vm *vm)
{
	return vm->elapsed_ns ? vm->elapsed_ns : overviews->elapsed_ns;
}

/* In front of the others a line may have a time. */
#define OVERVIEW_COLUMNS (NUM_COLUMNS + 1)

/* A table of them, which goes on: of columns what was ever known, and the longest text. */
struct overview {
	struct table table;
	struct column column[OVERVIEW_COLUMNS];
	unsigned int longest[OVERVIEW_COLUMNS];
	bool known[NUM_COLUMNS];
	unsigned int width;
	enum column_id sorted_by;
	char sorted_title[FORMAT_SIZE];
};	/* all zeros at first */

/* Whether it is a column of VMs, or of vCPUs, of which anything is known. */
bool overview_has(const struct overview *overview, bool of_vcpus, enum column_id column);

/*
 * A line each for VMs or vCPUs, and what is @sorted_by. With a @mark that stands behind its
 * title; @time is NULL, or the title of the column of times. Then lines are added and it is
 * fitted into @width; the table is to be freed.
 */
void overview_begin(struct overview *overview, bool of_vcpus, enum column_id sorted_by,
		    const char *mark, const char *time);
void overview_note_vm(struct overview *overview, const struct tracked_vm *vm);
void overview_note_vcpu(struct overview *overview, const struct tracked_vcpu *vcpu);
/* @rates: that of the VM, of the vCPU, or NULL: none are known. */
void overview_add_vm(struct overview *overview, const struct tracked_vm *vm,
		     const struct rates *rates, const char *time);
void overview_add_vcpu(struct overview *overview, const char *name, const struct rates *rates);
void overview_fit(struct overview *overview, unsigned int width);

/* How the share is shown: what is of /proc is not as exact. */
void overview_format_share(char text[FORMAT_SIZE], const struct shares *shares, enum share share);

/* Has the kernel account for time. */
#define ACCOUNT_FOR_TIME "echo 1 >/sys/module/kvm/parameters/stats_time"

#endif /* KVMSTAT_OVERVIEW_H */
