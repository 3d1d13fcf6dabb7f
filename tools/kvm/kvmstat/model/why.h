/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What holds a VM or vCPU up, in one word: the first question of an operator. It is decided by
 * what the time was spent with, and by what is known of the threads.
 */
#ifndef KVMSTAT_WHY_H
#define KVMSTAT_WHY_H

#include "model/tracker.h"

/* The worse it is the higher: VMs are sorted by it. */
enum why {
	WHY_UNKNOWN,
	WHY_ENDED,
	WHY_STOPPED,			/* by a signal, a debugger or its cgroup */
	WHY_PAUSED,			/* its VMM runs no vCPU */
	WHY_IDLE,
	WHY_OFF,			/* of /proc: idle, or waits for something */
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

/* A number to sort by: what is worse first, and of these the largest part of the time. */
double why_rank(enum why why, const struct shares *shares);

#endif /* KVMSTAT_WHY_H */
