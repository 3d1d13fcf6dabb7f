/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All VMs of the host at the end of an interval: what each of them did in it.
 */
#ifndef KVMSTAT_OVERVIEW_H
#define KVMSTAT_OVERVIEW_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/columns.h"
#include "model/tracker.h"
#include "render/format.h"

struct overviews {
	struct timespec time;		/* CLOCK_REALTIME */
	uint64_t elapsed_ns;		/* what the rates are of */
	const struct tracked_vm **vm;
	size_t num_vms;
};

/* The part that the top reason has in all exits, from 0 to 1; -1 if it is not known. */
static inline double overview_share(const struct rates *rates)
{
	if (!rates->top_per_second || !rates->known[RATE_EXITS] || !rates->per_second[RATE_EXITS])
		return -1;
	return rates->top_per_second / rates->per_second[RATE_EXITS];
}

/* What is said of the top reason: its name, or why there is none. */
static inline const char *overview_reason(const struct rates *rates)
{
	if (rates->top)
		return rates->top;
	return rates->top_per_second ? "no counter" : "-";
}

/* "-" of what is not counted. */
static inline void overview_format_rate(char text[FORMAT_SIZE], const struct rates *rates,
					enum rate rate)
{
	if (rates && rates->known[rate])
		format_count_rate(text, rates->per_second[rate]);
	else
		strcpy(text, "-");
}

/* What the columns are called, in the order in which they stand. */
static const char * const share_titles[NUM_SHARES] = {
	[SHARE_GUEST] = "GUEST%",
	[SHARE_KVM] = "KVM%",
	[SHARE_VMM] = "VMM%",
	[SHARE_READY] = "READY%",
	[SHARE_IDLE] = "IDLE%",
};

/* "-" of what is not known; what is of /proc is not as exact. */
static inline void overview_format_share(char text[FORMAT_SIZE], const struct rates *rates,
					 enum share share)
{
	if (rates && rates->shares.known[share])
		snprintf(text, FORMAT_SIZE, "%s%.0f", rates->shares.by_cpu ? "~" : "",
			 100 * rates->shares.part[share]);
	else
		strcpy(text, "-");
}

/* Columns are left out of which none of the VMs has anything. */
static inline void overview_note_known(bool known[NUM_SHARES], const struct rates *rates)
{
	enum share share;

	for (share = 0; share < NUM_SHARES; share++)
		known[share] |= rates->shares.known[share];
}

#endif /* KVMSTAT_OVERVIEW_H */
