/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What of the tracked VMs is looked at, and how keys change it. Knows no terminal.
 */
#ifndef KVMSTAT_VIEW_H
#define KVMSTAT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/histogram.h"
#include "model/order.h"
#include "model/tracker.h"
#include "render/movement.h"

#define VIEW_MIN_INTERVAL_NS (NSEC_PER_SEC / 10)
#define VIEW_MAX_INTERVAL_NS (60 * NSEC_PER_SEC)

/* Keys; those that print are their own character. */
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

/* How deep is looked. */
enum view_level {
	VIEW_HOST,			/* the list of VMs */
	VIEW_VM,			/* the vCPUs of one, and what moves in it */
	VIEW_VCPU,			/* the statistics of one of them */
	VIEW_HISTOGRAM,			/* the buckets of one of these */
	NUM_VIEW_LEVELS,
};

/* Where in a recording a key leads to. */
enum view_move {
	MOVE_NONE,
	MOVE_BACK,			/* by a sample */
	MOVE_ON,
	MOVE_MINUTE_BACK,
	MOVE_MINUTE_ON,
	MOVE_BEGIN,
	MOVE_END,
	MOVE_NOWHERE,			/* but with rates of the vCPU that is looked into */
};

/* A line of what is seen with all histograms: the name of one, or a bucket of it. */
struct bar {
	const struct statsfile_desc *desc;
	bool is_bucket;
	unsigned int bucket;
	uint64_t now, minute;		/* what it counted; of a name in all buckets */
	uint64_t most_now, most_minute;	/* what the fullest bucket has counted */
};

/* The lines of a level. */
struct view_list {
	size_t count;
	size_t at;			/* the one that is selected */
	size_t first;			/* the one that is drawn first */
};

struct view {
	struct tracker *tracker;
	enum column_id sort;
	bool ascending;
	char filter[32];
	bool typing;			/* the filter */
	bool help;
	size_t help_top;		/* the line of it that comes first */
	bool paused;
	bool quit;
	uint64_t interval_ns;
	size_t page;			/* lines of the list that were drawn last */
	/* Of the problems of the host how many were drawn, and how many when a key was pressed. */
	size_t problems_drawn, problems_read;
	bool denied_drawn, denied_read;	/* that there are processes it cannot see */

	enum view_level level;
	struct view_list list[NUM_VIEW_LEVELS];

	/* VIEW_HOST: those that pass the filter, sorted. */
	const struct tracked_vm **vm;
	const struct tracked_vm *selected;

	bool knows[NUM_COLUMNS];	/* shares and quantiles, of any VM: else without a column */

	/* VIEW_VM and below: which, NULL above; its vCPUs, sorted. */
	const struct tracked_vm *inside;
	const struct tracked_vcpu **vcpu;
	int selected_vcpu;		/* its id, or -1 */

	/* VIEW_VCPU and below: those that ever moved, first what moves now. */
	struct rows rows;
	const struct statsfile_desc *selected_statistic;

	/* Of a recording: when that was, and where to go next, for who can do that. */
	bool replayed;
	uint64_t real_ns;
	enum view_move move;
	/* private: what was selected before the tracker was made anew, and entered */
	pid_t kept_pid;
	char kept_id[64];
	enum view_level kept_level;
	bool kept_bars;
	char kept_statistic[TEXT_NAME_SIZE];

	/* VIEW_HISTOGRAM */
	struct histogram histogram;
	unsigned int *bucket;		/* of each line of it */

	/*
	 * In the place of any level all histograms: of the selected VM, or from VIEW_VM on of
	 * the selected vCPU. Of the last minute of a vCPU there is what came since then.
	 */
	bool bars;
	struct view_list bar_list;
	struct bar *bar;
	uint64_t minute_ns;		/* how much of the last minute */
	/* private: of the vCPU that the tracker has in its focus */
	struct minute minute;
	uint64_t minute_of;		/* serial of its VM, */
	unsigned int minute_vcpu;	/* its id */
	uint64_t *delta;
};

void view_init(struct view *view, struct tracker *tracker, uint64_t interval_ns);
void view_free(struct view *view);

/* After each sample: the lists are made again. What is selected stays selected. */
void view_update(struct view *view);

/*
 * Around making the tracker anew: what is selected, or looked into, is so again, if it is
 * there. Before the last sample, for it to have rates.
 */
void view_forget(struct view *view);
void view_find(struct view *view);

/* Whether there is something to be said of the host that was not read yet. */
bool view_has_messages(const struct view *view);

/* @press: an enum press or a character. */
void view_press(struct view *view, unsigned int press);

/* So many lines of the list fit: the selected one is among them. Returns the first. */
size_t view_scroll(struct view *view, size_t lines);

/* What the bars are of: its VM. */
const struct tracked_vm *view_bars_of(const struct view *view);

/* Which line of the list is selected. */
size_t view_selected_line(const struct view *view);

/* VIEW_VCPU and below: that vCPU. */
const struct tracked_vcpu *view_vcpu(const struct view *view);

#endif /* KVMSTAT_VIEW_H */
