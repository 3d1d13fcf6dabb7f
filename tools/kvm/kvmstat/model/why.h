/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a VM or vCPU in one word: why it is slow. The shares of its time and the states of
 * its threads decide.
 */
#ifndef KVMSTAT_WHY_H
#define KVMSTAT_WHY_H

#include "model/tracker.h"

/* The worst state has the highest number: VMs are sorted by it. */
enum why {
	WHY_UNKNOWN,
	WHY_ENDED,
	WHY_STOPPED,			/* by a signal, a debugger or its cgroup */
	WHY_PAUSED,			/* its VMM runs no vCPU */
	WHY_IDLE,
	WHY_OFF,			/* from /proc: idle, or waits for something */
	WHY_BUSY,			/* with the guest's own work */
	WHY_VMM,			/* waits for its VMM */
	WHY_EXITS,			/* KVM is busy with exits */
	WHY_WAITS,			/* for memory or a lock of the host */
	WHY_STARVED,			/* waits for a CPU */
	NUM_WHYS,
};

extern const char * const why_names[NUM_WHYS];

enum why why_of_shares(const struct shares *shares);
enum why why_of_vm(const struct tracked_vm *tracked);

/* A number to sort by: the state, then the share of the time that decided it. */
double why_rank(enum why why, const struct shares *shares);

/* Exits from the guest by reason, or exits to the VMM by reason. */
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

/* Exits in the last interval. The caller frees exits->row. Exits to the VMM have no times. */
void exits_find(struct exits *exits, const struct tracked_vm *tracked);
void exits_find_user(struct exits *exits, const struct tracked_vm *tracked);

#endif /* KVMSTAT_WHY_H */
