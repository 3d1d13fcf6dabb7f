// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a VM or vCPU, in one word.
 */
#include "model/why.h"

const char * const why_names[NUM_WHYS] = {
	[WHY_UNKNOWN] = "-",
	[WHY_ENDED] = "ended",
	[WHY_STOPPED] = "stopped",
	[WHY_PAUSED] = "paused",
	[WHY_IDLE] = "idle",
	[WHY_OFF] = "idle?",
	[WHY_BUSY] = "busy",
	[WHY_VMM] = "vmm",
	[WHY_EXITS] = "exits",
	[WHY_WAITS] = "waits",
	[WHY_STARVED] = "starved",
};

/* A larger part of the time is the reason why the VM is slow. */
#define MUCH_WAITED 0.1			/* of the time, for a CPU or memory */
#define MUCH_WORK 0.2			/* of the time, in the host */

/* The share that decides between two VMs in the same state. */
static const enum share why_shares[NUM_WHYS] = {
	[WHY_IDLE] = SHARE_IDLE,
	[WHY_OFF] = SHARE_OFF,
	[WHY_VMM] = SHARE_VMM,
	[WHY_EXITS] = SHARE_KVM,
	[WHY_WAITS] = SHARE_WAIT,
	[WHY_STARVED] = SHARE_READY,
};

enum why why_of_shares(const struct shares *shares)
{
	const double *part = shares->part;

	if (part[SHARE_READY] >= MUCH_WAITED)
		return WHY_STARVED;
	if (part[SHARE_WAIT] >= MUCH_WAITED)
		return WHY_WAITS;
	/* To ask the VMM takes KVM some time, too. */
	if (part[SHARE_VMM] >= MUCH_WORK && 2 * part[SHARE_VMM] >= part[SHARE_KVM])
		return WHY_VMM;
	if (part[SHARE_KVM] >= MUCH_WORK)
		return WHY_EXITS;
	if (!shares->known[SHARE_GUEST])
		return WHY_UNKNOWN;
	if (part[SHARE_GUEST] > 0 && part[SHARE_GUEST] >= part[SHARE_IDLE] + part[SHARE_OFF])
		return WHY_BUSY;
	return shares->known[SHARE_OFF] ? WHY_OFF : WHY_IDLE;
}

enum why why_of_vm(const struct tracked_vm *tracked)
{
	if (tracked->ended)
		return WHY_ENDED;
	switch (tracked->activity) {
	case ACTIVITY_STOPPED:
		return WHY_STOPPED;
	case ACTIVITY_PAUSED:
		return WHY_PAUSED;
	default:
		return why_of_shares(&tracked->rates.shares);
	}
}

double why_rank(enum why why, const struct shares *shares)
{
	return why + shares->part[why_shares[why]] / 2;
}
