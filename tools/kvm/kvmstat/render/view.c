// SPDX-License-Identifier: GPL-2.0
/*
 * Chooses the lines that are shown: sorting, filter, selection.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/overview.h"
#include "render/view.h"
#include "util/util.h"

void view_init(struct view *view, struct tracker *tracker, uint64_t interval_ns)
{
	*view = (struct view) {
		.tracker = tracker,
		.sort = COLUMN_STATE,
		.selected_vcpu = -1,
		.interval_ns = interval_ns,
	};
}

void view_free(struct view *view)
{
	free(view->vm);
	free(view->vcpu);
}

static int compare_vms(const void *a, const void *b, void *argument)
{
	const struct tracked_vm *left = *(const struct tracked_vm * const *)a;
	const struct tracked_vm *right = *(const struct tracked_vm * const *)b;
	const struct view *view = argument;
	int order = compare_tracked(left, right, view->sort);

	if (order)
		return view->ascending ? order : -order;
	/* VMs with the same value keep their order. */
	order = compare_tracked(left, right, COLUMN_PID);
	return order ? order : strcmp(left->id, right->id);
}

static int compare_vcpu_lines(const void *a, const void *b, void *argument)
{
	const struct tracked_vcpu *left = *(const struct tracked_vcpu * const *)a;
	const struct tracked_vcpu *right = *(const struct tracked_vcpu * const *)b;
	const struct view *view = argument;
	int order = compare_vcpus(left, right, view->sort);

	if (order)
		return view->ascending ? order : -order;
	return compare_vcpus(left, right, COLUMN_PID);
}

/* Whether the VM's name, pid or top reason contains the filter's text. */
static bool passes(const struct view *view, const struct tracked_vm *tracked)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", tracked->pid);
	return strcasestr(tracked->name, view->filter) || strstr(pid, view->filter) ||
	       strcasestr(rates_reason(&tracked->rates), view->filter);
}

static size_t last_of(size_t count)
{
	return count ? count - 1 : 0;
}

static void set_count(struct view_list *list, size_t count)
{
	list->count = count;
	if (list->at > last_of(count))
		list->at = last_of(count);
}

static void list_vms(struct view *view)
{
	const struct tracker *tracker = view->tracker;
	struct view_list *list = &view->list[VIEW_HOST];
	size_t i, count = 0;

	for (i = 0; i < tracker->num_vms; i++)
		overview_note(&view->vms, tracker->vm[i], &tracker->vm[i]->rates);
	view->vm = xreallocarray(view->vm, tracker->num_vms, sizeof(*view->vm));
	for (i = 0; i < tracker->num_vms; i++) {
		if (passes(view, tracker->vm[i]))
			view->vm[count++] = tracker->vm[i];
	}
	if (count)
		qsort_r(view->vm, count, sizeof(*view->vm), compare_vms, view);
	for (i = 0; i < count; i++) {
		if (view->vm[i] == view->selected)
			list->at = i;
	}
	set_count(list, count);
}

static void list_vcpus(struct view *view)
{
	const struct tracked_vm *inside = view->inside;
	struct view_list *list = &view->list[VIEW_VM];
	size_t i, count = inside->num_tracked_vcpus + inside->num_tracked_threads;

	view->vcpu = xreallocarray(view->vcpu, count, sizeof(*view->vcpu));
	for (i = 0; i < count; i++) {
		view->vcpu[i] = &inside->vcpu[i];
		overview_note(&view->vcpus, inside, &view->vcpu[i]->rates);
	}
	if (count)
		qsort_r(view->vcpu, count, sizeof(*view->vcpu), compare_vcpu_lines, view);
	for (i = 0; i < count; i++) {
		if ((int)view->vcpu[i]->number == view->selected_vcpu)
			list->at = i;
	}
	set_count(list, count);
}

const struct tracked_vcpu *view_vcpu(const struct view *view)
{
	return view->vcpu[view->list[VIEW_VM].at];
}

static bool is_tracked(const struct tracker *tracker, const struct tracked_vm *tracked)
{
	size_t i;

	for (i = 0; i < tracker->num_vms; i++) {
		if (tracker->vm[i] == tracked)
			return true;
	}
	return false;
}

static void go_up_to(struct view *view, enum view_level level)
{
	view->level = level;
	if (level == VIEW_HOST)
		view->inside = NULL;
}

/* Whether the selected vCPU has statistics. Without them only its shares are known. */
static bool has_statistics(const struct view *view)
{
	return (size_t)(view_vcpu(view) - view->inside->vcpu) < view->inside->num_tracked_vcpus;
}

void view_update(struct view *view)
{
	bool one_vcpu;

	/* The tracker forgets a VM a while after its end. */
	if (view->inside && !is_tracked(view->tracker, view->inside))
		go_up_to(view, VIEW_HOST);
	/* Then the same line stays selected, with another VM. */
	if (!is_tracked(view->tracker, view->selected))
		view->selected = NULL;
	list_vms(view);
	if (view->level >= VIEW_VM)
		list_vcpus(view);
	/* Threads come and go at any time. */
	if (view->level == VIEW_VCPU && (!view->list[VIEW_VM].count || !has_statistics(view)))
		go_up_to(view, VIEW_VM);
	one_vcpu = view->level == VIEW_VCPU;
	tracker_focus(view->tracker, one_vcpu ? view->inside : NULL,
		      one_vcpu ? view_vcpu(view) - view->inside->vcpu : 0);
}

size_t view_selected_line(const struct view *view)
{
	return view->list[view->level].at;
}

size_t view_scroll(struct view *view, size_t lines)
{
	struct view_list *list = &view->list[view->level];

	view->page = lines ? lines : 1;
	if (list->first > list->at)
		list->first = list->at;
	if (list->at >= list->first + view->page)
		list->first = list->at - view->page + 1;
	/* No empty lines while there is something to fill them with. */
	if (list->first + view->page > list->count)
		list->first = list->count > view->page ? list->count - view->page : 0;
	return list->first;
}

static void select_line(struct view *view, size_t line)
{
	struct view_list *list = &view->list[view->level];

	list->at = line < list->count ? line : last_of(list->count);
	if (!list->count)
		return;
	if (view->level == VIEW_HOST)
		view->selected = view->vm[list->at];
	else if (view->level == VIEW_VM)
		view->selected_vcpu = view->vcpu[list->at]->number;
}

static void move_selection(struct view *view, ssize_t lines)
{
	size_t line = view_selected_line(view);

	select_line(view, lines < 0 && line < (size_t)-lines ? 0 : line + lines);
}

/* Whether the current list has the column. A list of vCPUs lacks some. */
static bool has_column(const struct view *view, int column)
{
	return overview_has(view->inside ? &view->vcpus : &view->vms, view->inside, column);
}

static void move_sort(struct view *view, int step)
{
	int column = view->sort;

	if (view->level > VIEW_VM)
		return;
	do
		column = (column + step + NUM_COLUMNS) % NUM_COLUMNS;
	while (!has_column(view, column));
	view->sort = column;
	view->ascending = column_begins_low(column);
}

static void enter(struct view *view)
{
	if (!view->list[view->level].count)
		return;
	select_line(view, view_selected_line(view));
	if (view->level == VIEW_HOST) {
		view->inside = view->selected;
		if (!has_column(view, view->sort))
			view->sort = COLUMN_STATE;
	} else if (!has_statistics(view)) {
		return;
	}
	/* Start at its first line. It has no selection before a key is pressed. */
	view->level++;
	view->list[view->level] = (struct view_list) {};
	if (view->level == VIEW_VM)
		view->selected_vcpu = -1;
	view_update(view);
}

/* Leaves the help or the level, clears the filter, or quits. */
static void leave(struct view *view, bool quits)
{
	if (view->help)
		view->help = false;
	else if (view->level != VIEW_HOST)
		go_up_to(view, view->level - 1);
	else if (view->filter[0] && !quits)
		view->filter[0] = '\0';
	else
		view->quit = quits;
}

/* Steps 0.1 0.2 0.5 1 2 5 10 20 60 seconds. */
static void change_interval(struct view *view, bool longer)
{
	static const unsigned int tenths[] = { 1, 2, 5, 10, 20, 50, 100, 200, 600, };
	size_t i, count = ARRAY_SIZE(tenths);
	uint64_t step_ns;

	for (i = 0; i < count; i++) {
		step_ns = tenths[longer ? i : count - 1 - i] * VIEW_MIN_INTERVAL_NS;
		if (longer ? step_ns > view->interval_ns : step_ns < view->interval_ns) {
			view->interval_ns = step_ns;
			return;
		}
	}
}

static void press_filter(struct view *view, unsigned int press)
{
	size_t length = strlen(view->filter);

	if (press == PRESS_ENTER) {
		view->typing = false;
	} else if (press == PRESS_ESCAPE) {
		view->filter[0] = '\0';
		view->typing = false;
	} else if (press == PRESS_BACKSPACE) {
		if (length)
			view->filter[length - 1] = '\0';
		else
			view->typing = false;
	} else if (press < 0x80 && isprint(press) && length + 1 < sizeof(view->filter)) {
		view->filter[length] = press;
		view->filter[length + 1] = '\0';
	}
}

/* False if the help does not use the key. */
static bool press_help(struct view *view, unsigned int press)
{
	size_t page = view->page, *top = &view->help_top;

	switch (press) {
	case PRESS_UP:
	case 'k':
		*top -= !!*top;
		return true;
	case PRESS_DOWN:
	case 'j':
		++*top;
		return true;
	case PRESS_PAGE_UP:
		*top -= *top < page ? *top : page;
		return true;
	case PRESS_PAGE_DOWN:
		*top += page;
		return true;
	case PRESS_HOME:
		*top = 0;
		return true;
	case PRESS_END:
		*top = SIZE_MAX / 2;
		return true;
	}
	return press == PRESS_ENTER;
}

static void press_command(struct view *view, unsigned int press)
{
	if (view->help && press_help(view, press))
		return;
	switch (press) {
	case 'q':
		leave(view, true);
		break;
	case PRESS_ESCAPE:
	case PRESS_BACKSPACE:
		leave(view, false);
		break;
	case '?':
	case 'h':
		view->help = !view->help;
		view->help_top = 0;
		break;
	case 'p':
	case ' ':
		view->paused = !view->paused;
		break;
	case '+':
	case '=':
		change_interval(view, true);
		break;
	case '-':
		change_interval(view, false);
		break;
	case '/':
		go_up_to(view, VIEW_HOST);
		view->typing = true;
		break;
	case 'r':
		view->ascending = !view->ascending;
		break;
	case PRESS_LEFT:
	case '<':
		move_sort(view, -1);
		break;
	case PRESS_RIGHT:
	case '>':
		move_sort(view, 1);
		break;
	case PRESS_ENTER:
		enter(view);
		break;
	case PRESS_UP:
	case 'k':
		move_selection(view, -1);
		break;
	case PRESS_DOWN:
	case 'j':
		move_selection(view, 1);
		break;
	case PRESS_PAGE_UP:
		move_selection(view, -(ssize_t)view->page);
		break;
	case PRESS_PAGE_DOWN:
		move_selection(view, view->page);
		break;
	case PRESS_HOME:
		select_line(view, 0);
		break;
	case PRESS_END:
		select_line(view, SIZE_MAX);
		break;
	}
}

void view_press(struct view *view, unsigned int press)
{
	view->problems_read = view->problems_drawn;
	view->denied_read = view->denied_drawn;
	if (view->typing)
		press_filter(view, press);
	else
		press_command(view, press);
	view_update(view);
}
