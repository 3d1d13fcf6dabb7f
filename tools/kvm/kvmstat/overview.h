/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All VMs of the host at the end of an interval: what each of them did in it.
 */
#ifndef KVMSTAT_OVERVIEW_H
#define KVMSTAT_OVERVIEW_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "columns.h"
#include "tracker.h"

struct overviews {
	struct timespec time;		/* CLOCK_REALTIME */
	uint64_t elapsed_ns;		/* what the rates are of */
	const struct tracked_vm **vm;
	size_t num_vms;
};

/* The part that the top reason has in all exits, from 0 to 1; -1 if it is not known. */
static inline double overview_share(const struct rates *rates)
{
	if (!rates->top || !rates->known[RATE_EXITS] || !rates->per_second[RATE_EXITS])
		return -1;
	return rates->top_per_second / rates->per_second[RATE_EXITS];
}

#endif /* KVMSTAT_OVERVIEW_H */
