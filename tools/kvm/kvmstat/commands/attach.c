// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the chosen VMs. With --wait, waits for them.
 */
#include "commands/command.h"
#include "sources/replay.h"
#include "util/util.h"

/* VMMs create short-lived VMs to probe KVM: --wait ignores a VM that is younger than this. */
#define STAYS (100 * MSEC)
#define LOOK_AGAIN (20 * MSEC)

struct wait {
	struct tracker *tracker;
	int signals;
	bool is_there;			/* the last scan found a chosen VM */
};

/* Whether a chosen VM has existed for STAYS. In a recording every VM counts at once. */
static bool has_stayed(struct wait *wait)
{
	uint64_t now_ns = time_source->now_ns();
	bool has_stayed = false;
	struct vm *vm;
	size_t i;

	wait->is_there = false;
	for (i = 0; i < wait->tracker->inventory->num_vms; i++) {
		vm = wait->tracker->inventory->vm[i];
		/* It is being created: later scans show whether it has statistics. */
		if (vm->dead || (!vm_has_statistics(vm) && !vm->num_vcpus_counted))
			continue;
		wait->is_there = true;
		if (!vm->awaited_ns)
			vm->awaited_ns = now_ns;
		has_stayed |= replay_recording() || now_ns - vm->awaited_ns >= STAYS;
	}
	return has_stayed;
}

/* Waits until a scan finds a chosen VM that stays. */
static int wait_for_chosen(struct wait *wait, bool *stopped)
{
	struct inventory *inventory = wait->tracker->inventory;
	uint64_t now_ns, until_ns, next_ns = 0;
	int status;

	for (;;) {
		now_ns = time_source->now_ns();
		if (now_ns >= next_ns) {
			/* If the host cannot be scanned, the first sample says why. */
			if (inventory_look(inventory, NULL))
				return STATUS_OK;
			/* The VM may exist in a process that kvmstat may not look into. */
			if (!next_ns && !inventory->num_vms && inventory_is_denied(inventory))
				print_denied(inventory);
			next_ns = now_ns + NSEC_PER_SEC;
		}
		inventory_see_events(inventory);
		print_problems(inventory);
		if (has_stayed(wait))
			return STATUS_OK;
		if (!wait->is_there && tracker_has_ended(wait->tracker)) {
			if (choice_process(inventory->choice))
				print_error("pid %d ended without a VM",
					    choice_process(inventory->choice));
			else
				print_error("all chosen processes ended without a VM");
			return STATUS_ERROR;
		}
		inventory_forget_dead(inventory);
		/* A VM that comes now is new: count it from zero. */
		if (!wait->is_there)
			wait->tracker->from_zero = true;
		until_ns = wait->is_there ? now_ns + LOOK_AGAIN : next_ns;
		if (pause_until(wait->signals, inventory->events, until_ns) == EVENT_INTERRUPTED) {
			*stopped = true;
			status = replay_status();
			return status == STATUS_OK ? inventory_status(inventory) : status;
		}
	}
}

int attach(struct tracker *tracker, const struct options *options, int signals, bool *stopped)
{
	struct wait wait = { .tracker = tracker, .signals = signals, };
	int status;

	status = look_for_chosen(tracker->inventory, options->wait);
	if (status == STATUS_OK && options->wait)
		status = wait_for_chosen(&wait, stopped);
	return status;
}
