/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chooses which VMs, vCPUs and statistics to show; keys change the choice. Knows no terminal.
 */
#ifndef KVMSTAT_VIEW_H
#define KVMSTAT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/order.h"
#include "model/tracker.h"
#include "render/movement.h"
#include "render/overview.h"

#define VIEW_MIN_INTERVAL_NS (NSEC_PER_SEC / 10)
#define VIEW_MAX_INTERVAL_NS (60 * NSEC_PER_SEC)

/* Keys without a character. Printable keys are their character. */
enum press {
	PRESS_NONE,
	PRESS_ENTER = 0x110000,
	PRESS_ESCAPE,
	PRESS_BACKSPACE,
	PRESS_UP,
	PRESS_DOWN,
	PRESS_LEFT,
	PRESS_RIGHT,
	PRESS_PAGE_UP,
	PRESS_PAGE_DOWN,
	PRESS_HOME,
	PRESS_END,
};

/* How deep the view is. */
enum view_level {
	VIEW_HOST,			/* the list of VMs */
	VIEW_VM,			/* the vCPUs and moving statistics of a VM */
	VIEW_VCPU,			/* the moving statistics of a vCPU */
	NUM_VIEW_LEVELS,
};

/* The lines of a level. */
struct view_list {
	size_t count;
	size_t at;			/* the selected line */
	size_t first;			/* the first line that is drawn */
};

struct view {
	struct tracker *tracker;
	enum column_id sort;
	bool ascending;
	char filter[32];
	bool typing;			/* the filter */
	bool help;
	size_t help_top;		/* its first line on the screen */
	bool paused;
	bool quit;
	uint64_t interval_ns;
	size_t page;			/* lines of the list that were drawn last */
	/* How many problems were drawn, and how many of them before the last key. */
	size_t problems_drawn, problems_read;
	bool denied_drawn, denied_read;	/* the same for inventory_explain_denied() */

	enum view_level level;
	struct view_list list[NUM_VIEW_LEVELS];

	/* VIEW_HOST: VMs that pass the filter, sorted. */
	const struct tracked_vm **vm;
	const struct tracked_vm *selected;

	/* The tables of VMs and of vCPUs. */
	struct overview vms, vcpus;

	/* VIEW_VM and VIEW_VCPU: the VM (otherwise NULL), and its vCPUs, sorted. */
	const struct tracked_vm *inside;
	const struct tracked_vcpu **vcpu;
	int selected_vcpu;		/* its id, or -1 */

	bool replayed;			/* it shows a recording */
	uint64_t real_ns;		/* time of the last sample */
};

void view_init(struct view *view, struct tracker *tracker, uint64_t interval_ns);
void view_free(struct view *view);

/* Makes the lists again. Call it after each sample. The selected VM or vCPU stays selected. */
void view_update(struct view *view);

/* @press: an enum press or a character. */
void view_press(struct view *view, unsigned int press);

/* Scrolls so that the selected line is among the @lines that fit. Returns the first of them. */
size_t view_scroll(struct view *view, size_t lines);

/* Which line of the list is selected. */
size_t view_selected_line(const struct view *view);

/* The selected vCPU, in VIEW_VM and VIEW_VCPU. */
const struct tracked_vcpu *view_vcpu(const struct view *view);

#endif /* KVMSTAT_VIEW_H */
