/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The exits of a VM by reason: exits to KVM, and those that KVM passes on to the VMM.
 */
#ifndef KVMSTAT_EXITS_H
#define KVMSTAT_EXITS_H

#include "model/tracker.h"

struct exits {
	struct exit_row {
		const char *name;
		uint64_t count;
		uint64_t ns;		/* in KVM, until the guest or the VMM went on */
	} *row;				/* the most expensive, or the most frequent, first */
	size_t count;
	uint64_t total, total_ns;
	bool has_times;
};

/* In the last interval; the caller frees exits->row. Exits to the VMM have no times. */
void exits_find(struct exits *exits, const struct tracked_vm *tracked);
void exits_find_user(struct exits *exits, const struct tracked_vm *tracked);

#endif /* KVMSTAT_EXITS_H */
