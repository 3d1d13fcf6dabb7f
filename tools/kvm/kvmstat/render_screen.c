// SPDX-License-Identifier: GPL-2.0
/*
 * The view as a screen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format.h"
#include "movement.h"
#include "overview.h"
#include "render_screen.h"

#define RATE_WIDTH 8
#define PID_WIDTH 7
#define VCPUS_WIDTH 5

/* Where a screen is as narrow as usual, and how wide they can get. */
#define USUAL_COLUMNS 80
#define NAME_WIDTH 11
#define MORE_NAME_WIDTH 13
#define TOP_WIDTH 17
#define MORE_TOP_WIDTH 8

/* Of the name of a statistic as much as a screen has room for. */
#define REASON_SIZE 128

/* Of a bucket of a histogram. */
#define BOUND_WIDTH 10

#define STATISTICS_GAP 3
#define SCOPE_WIDTH 6

#define HOST_KEYS \
	"q quit  ? help  Enter its vCPUs  / filter  < > sort  r reverse  p pause  + - interval"

#define VM_KEYS \
	"q back  ? help  Enter all of a vCPU  < > sort  r reverse  p pause  + - interval"

#define PLURAL(count) ((count) == 1 ? "" : "s")

static const char * const column_titles[NUM_VIEW_COLUMNS] = {
	[VIEW_PID] = "PID",
	[VIEW_NAME] = "NAME",
	[VIEW_VCPUS] = "VCPU",
	[VIEW_EXITS] = "EXITS/s",
	[VIEW_HALTS] = "HALTS/s",
	[VIEW_INJECTIONS] = "INJ/s",
	[VIEW_TOP] = "TOP REASON",
};

static const enum rate column_rates[NUM_VIEW_COLUMNS] = {
	[VIEW_EXITS] = RATE_EXITS,
	[VIEW_HALTS] = RATE_HALTS,
	[VIEW_INJECTIONS] = RATE_INJECTIONS,
};

/* Widths; 0 is a column that is not there. */
struct layout {
	unsigned int width[NUM_VIEW_COLUMNS];
	unsigned int sparkline;
};

static unsigned int at_most(unsigned int number, unsigned int limit)
{
	return number < limit ? number : limit;
}

static struct layout make_layout(unsigned int columns, bool vcpus)
{
	unsigned int more = columns > USUAL_COLUMNS ? columns - USUAL_COLUMNS : 0;
	struct layout layout = {
		.width = {
			[VIEW_PID] = PID_WIDTH,
			[VIEW_NAME] = NAME_WIDTH + at_most(more / 4, MORE_NAME_WIDTH),
			[VIEW_VCPUS] = VCPUS_WIDTH,
			[VIEW_EXITS] = RATE_WIDTH,
			[VIEW_HALTS] = RATE_WIDTH,
			[VIEW_INJECTIONS] = RATE_WIDTH,
			[VIEW_TOP] = TOP_WIDTH + at_most(more / 6, MORE_TOP_WIDTH),
		},
	};
	unsigned int used = 0;
	enum view_column i;

	if (vcpus) {
		layout.width[VIEW_NAME] = 0;
		layout.width[VIEW_VCPUS] = 0;
	}
	for (i = 0; i < NUM_VIEW_COLUMNS; i++)
		used += layout.width[i] ? layout.width[i] + 1 : 0;
	layout.sparkline = at_most(columns > used ? columns - used : 0, HISTORY_SECONDS);
	return layout;
}

static bool is_text(enum view_column column)
{
	return column == VIEW_NAME || column == VIEW_TOP;
}

/* A cell of the list; returns the column of the next one. */
static unsigned int put_cell(struct screen *screen, unsigned int line, unsigned int at,
			     const struct layout *layout, enum view_column column,
			     const char *text, enum screen_style style)
{
	int width = layout->width[column];

	if (!width)
		return at;
	return screen_print(screen, line, at, style, is_text(column) ? "%-*.*s" : "%*.*s",
			    width, width, text) + 1;
}

static void put_header(struct screen *screen, unsigned int line, const struct view *view,
		       const struct layout *layout, const char *first)
{
	enum view_column i;
	unsigned int at = 0;
	char text[32];

	for (i = 0; i < NUM_VIEW_COLUMNS; i++) {
		snprintf(text, sizeof(text), "%s%s", i == VIEW_PID ? first : column_titles[i],
			 i != view->sort ? "" : view->ascending ? "^" : "v");
		at = put_cell(screen, line, at, layout, i, text, STYLE_PLAIN);
	}
	if (layout->sparkline)
		screen_print(screen, line, at, STYLE_PLAIN, "%s",
			     layout->sparkline < 18 ? "LAST MIN" : "EXITS, LAST MINUTE");
	screen_set_style(screen, line, STYLE_HEADER);
	for (i = 0, at = 0; i < view->sort; i++)
		at += layout->width[i] ? layout->width[i] + 1 : 0;
	snprintf(text, sizeof(text), "%s%s", i == VIEW_PID ? first : column_titles[i],
		 view->ascending ? "^" : "v");
	put_cell(screen, line, at, layout, view->sort, text, STYLE_SORTED);
}

static unsigned int put_rates(struct screen *screen, unsigned int line, unsigned int at,
			      const struct layout *layout, const struct rates *rates)
{
	char text[FORMAT_SIZE];
	enum view_column i;

	for (i = VIEW_EXITS; i <= VIEW_INJECTIONS; i++) {
		if (rates && rates->known[column_rates[i]])
			format_count_rate(text, rates->per_second[column_rates[i]]);
		else
			strcpy(text, "-");
		at = put_cell(screen, line, at, layout, i, text, STYLE_PLAIN);
	}
	return at;
}

static void put_history(struct screen *screen, unsigned int line, unsigned int at,
			const struct layout *layout, const struct history *exits,
			uint64_t now_ns)
{
	double point[HISTORY_SECONDS];

	if (!layout->sparkline)
		return;
	history_points(exits, now_ns, point, layout->sparkline);
	screen_sparkline(screen, line, at, point, layout->sparkline);
}

/* With its share where that fits into the column: alone a name says little. */
static void format_reason(char text[REASON_SIZE], const struct rates *rates, unsigned int width)
{
	double share = rates ? overview_share(rates) : -1;

	snprintf(text, REASON_SIZE, "%s", rates && rates->top ? rates->top : "-");
	if (share >= 0 && strlen(text) + strlen(" 100%") <= width)
		snprintf(text + strlen(text), REASON_SIZE - strlen(text), " %.0f%%", 100 * share);
}

/* In the place of the top reason stands why there is none. */
static void format_state(char text[REASON_SIZE], const struct tracked_vm *tracked,
			 unsigned int width)
{
	if (tracked->ended)
		strcpy(text, "ended");
	else if (!tracked->has_statistics)
		strcpy(text, "no statistics");
	else
		format_reason(text, tracked->has_rates ? &tracked->rates : NULL, width);
}

static void put_vm(struct screen *screen, unsigned int line, const struct view *view,
		   const struct layout *layout, const struct tracked_vm *tracked)
{
	bool has_rates = tracked->has_rates && !tracked->ended;
	char text[REASON_SIZE];
	unsigned int at = 0;

	snprintf(text, sizeof(text), "%d", tracked->pid);
	at = put_cell(screen, line, at, layout, VIEW_PID, text, STYLE_PLAIN);
	at = put_cell(screen, line, at, layout, VIEW_NAME, tracked->name, STYLE_PLAIN);
	snprintf(text, sizeof(text), "%zu", tracked->num_vcpus);
	at = put_cell(screen, line, at, layout, VIEW_VCPUS, text, STYLE_PLAIN);
	at = put_rates(screen, line, at, layout, has_rates ? &tracked->rates : NULL);
	format_state(text, tracked, layout->width[VIEW_TOP]);
	at = put_cell(screen, line, at, layout, VIEW_TOP, text, STYLE_PLAIN);
	put_history(screen, line, at, layout, &tracked->exits, view->tracker->sampled_ns);
	if (tracked->ended || !tracked->has_statistics)
		screen_set_style(screen, line, STYLE_FAINT);
}

static void put_vcpu(struct screen *screen, unsigned int line, const struct view *view,
		     const struct layout *layout, const struct tracked_vcpu *vcpu)
{
	const struct rates *rates = view->inside->has_rates ? &vcpu->rates : NULL;
	char text[REASON_SIZE];
	unsigned int at = 0;

	snprintf(text, sizeof(text), "%u", vcpu->number);
	at = put_cell(screen, line, at, layout, VIEW_PID, text, STYLE_PLAIN);
	at = put_rates(screen, line, at, layout, rates);
	format_reason(text, rates, layout->width[VIEW_TOP]);
	at = put_cell(screen, line, at, layout, VIEW_TOP, text, STYLE_PLAIN);
	put_history(screen, line, at, layout, &vcpu->exits, view->tracker->sampled_ns);
}

/* What the view is like, on the right of the title. */
static void put_state(struct screen *screen, const struct view *view)
{
	time_t seconds = view->real_ns / NSEC_PER_SEC;
	char text[64], time[32] = "";
	size_t length;
	struct tm tm;

	localtime_r(&seconds, &tm);
	if (view->replayed)
		strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S, ", &tm);
	length = snprintf(text, sizeof(text), "%s%severy %g s", time,
			  view->paused ? "paused, " : "",
			  (double)view->interval_ns / NSEC_PER_SEC);
	if (length < screen->columns)
		screen_print(screen, 0, screen->columns - length,
			     view->paused ? STYLE_ALERT : STYLE_TITLE, "%s", text);
}

static void put_footer(struct screen *screen, const struct view *view, const char *keys)
{
	const struct inventory *inventory = view->tracker->inventory;
	unsigned int line = screen->lines - 1;

	if (screen->lines < 3)
		return;
	if (view->typing) {
		screen_print(screen, line, 0, STYLE_TITLE, "/%s_", view->filter);
		return;
	}
	if (view->filter[0] && view->level == VIEW_HOST)
		screen_print(screen, line, 0, STYLE_TITLE, "only with '%s', Esc shows all",
			     view->filter);
	else if (inventory && inventory->num_problems)
		screen_print(screen, line, 0, STYLE_ALERT, "%s",
			     inventory->problem[inventory->num_problems - 1]);
	else if (inventory && inventory->num_denied)
		screen_print(screen, line, 0, STYLE_ALERT,
			     "%zu processes may not be looked into; " NEEDED_PERMISSION,
			     inventory->num_denied);
	else
		screen_print(screen, line, 0, STYLE_FAINT, "%s", keys);
}

static void put_host_title(struct screen *screen, const struct view *view)
{
	const struct tracker *tracker = view->tracker;
	char exits[FORMAT_SIZE];
	size_t i, vcpus = 0;
	double sum = 0;

	for (i = 0; i < tracker->num_vms; i++) {
		if (tracker->vm[i]->ended)
			continue;
		vcpus += tracker->vm[i]->num_vcpus;
		sum += tracker->vm[i]->rates.per_second[RATE_EXITS];
	}
	format_count_rate(exits, sum);
	screen_print(screen, 0, 0, STYLE_TITLE, "kvmstat: %zu VM%s, %zu vCPU%s, %s exits/s",
		     tracker->num_vms, PLURAL(tracker->num_vms), vcpus, PLURAL(vcpus), exits);
	put_state(screen, view);
}

/* Lines between title and header above, and the footer below. */
static unsigned int list_lines(const struct screen *screen)
{
	return screen->lines > 3 ? screen->lines - 3 : 0;
}

static void render_host(struct screen *screen, struct view *view)
{
	struct layout layout = make_layout(screen->columns, false);
	unsigned int lines = list_lines(screen), i;
	size_t first = view_scroll(view, lines);

	put_host_title(screen, view);
	put_header(screen, 1, view, &layout, column_titles[VIEW_PID]);
	for (i = 0; i < lines && first + i < view->list[VIEW_HOST].count; i++) {
		put_vm(screen, 2 + i, view, &layout, view->vm[first + i]);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, 2 + i, STYLE_SELECTED);
	}
	if (!view->tracker->num_vms)
		screen_print(screen, 2, 0, STYLE_PLAIN, "No process has a VM.");
	else if (!view->list[VIEW_HOST].count)
		screen_print(screen, 2, 0, STYLE_PLAIN, "No VM matches.");
	put_footer(screen, view, HOST_KEYS);
}

/* From @line on what moved in the group, in as many columns as fit; returns the next line. */
static unsigned int put_statistics(struct screen *screen, unsigned int line, const char *scope,
				   const struct group *group, uint64_t elapsed_ns)
{
	struct rows rows = moved_rows(group, group->delta, false);
	unsigned int name_width = 0, value_width = 0, cell, columns;
	char text[MOVEMENT_SIZE];
	size_t i;

	for (i = 0; i < rows.count; i++) {
		format_movement(text, &rows.row[i], elapsed_ns);
		if (strlen(text) > value_width)
			value_width = strlen(text);
		if (strlen(rows.row[i].desc->name) > name_width)
			name_width = strlen(rows.row[i].desc->name);
	}
	cell = name_width + 1 + value_width + STATISTICS_GAP;
	columns = screen->columns > SCOPE_WIDTH ?
		  (screen->columns - SCOPE_WIDTH + STATISTICS_GAP) / cell : 0;
	if (!columns)
		columns = 1;
	for (i = 0; i < rows.count && line < screen->lines - 1; i++) {
		if (!i)
			screen_print(screen, line, 0, STYLE_FAINT, "%s", scope);
		format_movement(text, &rows.row[i], elapsed_ns);
		screen_print(screen, line, SCOPE_WIDTH + i % columns * cell, STYLE_PLAIN,
			     "%-*s %*s", (int)name_width, rows.row[i].desc->name,
			     (int)value_width, text);
		if ((i + 1) % columns == 0 || i + 1 == rows.count)
			line++;
	}
	free(rows.row);
	return line;
}

static void put_vm_title(struct screen *screen, const struct view *view, const char *what)
{
	const struct tracked_vm *inside = view->inside;

	screen_print(screen, 0, 0, STYLE_TITLE, "%s, pid %d, %s, %s%s", inside->name,
		     inside->pid, inside->id, what, inside->ended ? ", ended" : "");
	put_state(screen, view);
}

static void render_vm(struct screen *screen, struct view *view)
{
	const struct tracked_vm *inside = view->inside;
	const struct model *model = &inside->model;
	struct layout layout = make_layout(screen->columns, true);
	unsigned int lines = list_lines(screen), line = 2, i;
	char vcpus[32];
	size_t first;

	/* At least half of it is left for the statistics. */
	lines = at_most(inside->num_tracked_vcpus, (lines + 1) / 2);
	first = view_scroll(view, lines);
	snprintf(vcpus, sizeof(vcpus), "%zu vCPU%s", inside->num_vcpus,
		 PLURAL(inside->num_vcpus));
	put_vm_title(screen, view, vcpus);
	put_header(screen, 1, view, &layout, "VCPU");
	for (i = 0; i < lines && first + i < view->list[VIEW_VM].count; i++, line++) {
		put_vcpu(screen, line, view, &layout, view->vcpu[first + i]);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, line, STYLE_SELECTED);
	}
	if (!inside->has_statistics) {
		screen_print(screen, line, 0, STYLE_PLAIN, "Its statistics cannot be had.");
	} else if (screen->lines > line + 1) {
		screen_print(screen, line, 0, STYLE_PLAIN, "%s",
			     "What moves, sums of all vCPUs and of the VM:");
		screen_set_style(screen, line++, STYLE_HEADER);
		line = put_statistics(screen, line, "vcpu", &model->group[SCOPE_VCPU],
				      model->elapsed_ns);
		put_statistics(screen, line, "vm", &model->group[SCOPE_VM], model->elapsed_ns);
	}
	put_footer(screen, view, VM_KEYS);
}

/* The part that it has in all exits, of a statistic that counts exits. */
static void format_share(char text[FORMAT_SIZE], const struct row *row, double per_second,
			 const struct rates *rates)
{
	double exits = rates->known[RATE_EXITS] ? rates->per_second[RATE_EXITS] : 0;

	text[0] = '\0';
	if (exits > 0 && row->delta && columns_is_exit(row->desc))
		snprintf(text, FORMAT_SIZE, "%.0f%%", 100 * per_second / exits);
}

/* Of what can be looked into. */
static const char *kind_of(const struct statsfile_desc *desc)
{
	if (is_array(desc))
		return "  parts";
	return is_histogram(desc) ? "  histogram" : "";
}

static void put_statistic(struct screen *screen, unsigned int line, const struct row *row,
			  const struct view *view, int name_width)
{
	const struct model *model = &view->inside->model;
	double per_second = rate_per_second(row->delta, model->elapsed_ns);
	char total[FORMAT_SIZE], rate[FORMAT_SIZE] = "-", share[FORMAT_SIZE] = "";

	format_value(total, row->desc, row->value);
	if (is_counter(row->desc) && model->focus.num_members) {
		format_rate(rate, row->desc, per_second);
		format_share(share, row, per_second, &view_vcpu(view)->rates);
	}
	screen_print(screen, line, 0, STYLE_PLAIN, "%-*s %12s %8s %20s%s", name_width,
		     row->desc->name, rate, share, total, kind_of(row->desc));
	if (!row->delta)
		screen_set_style(screen, line, STYLE_FAINT);
}

static int longest_name(const struct rows *rows)
{
	size_t i, length = strlen("STATISTIC");

	for (i = 0; i < rows->count; i++) {
		if (strlen(rows->row[i].desc->name) > length)
			length = strlen(rows->row[i].desc->name);
	}
	return length;
}

static void render_vcpu(struct screen *screen, struct view *view)
{
	unsigned int lines = list_lines(screen), i;
	int name_width = longest_name(&view->rows);
	size_t first = view_scroll(view, lines);
	char vcpu[32];

	snprintf(vcpu, sizeof(vcpu), "vCPU %u", view_vcpu(view)->number);
	put_vm_title(screen, view, vcpu);
	screen_print(screen, 1, 0, STYLE_PLAIN, "%-*s %12s %8s %20s", name_width, "STATISTIC",
		     "PER SECOND", "OF EXITS", "TOTAL");
	screen_set_style(screen, 1, STYLE_HEADER);
	for (i = 0; i < lines && first + i < view->rows.count; i++) {
		put_statistic(screen, 2 + i, &view->rows.row[first + i], view, name_width);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, 2 + i, STYLE_SELECTED);
	}
	if (!view->rows.count)
		screen_print(screen, 2, 0, STYLE_PLAIN, "Nothing was counted yet.");
	put_footer(screen, view, "q back  ? help  Enter a histogram  p pause  + - interval");
}

/* As wide as two bounds, or as the longest name of a part. */
static int bucket_width(const struct view *view)
{
	int width = 2 * BOUND_WIDTH + 1;
	char number[BUCKET_SIZE];
	size_t i, length;

	if (!has_parts(view->histogram.desc))
		return width;
	for (i = 0; i < view->list[VIEW_HISTOGRAM].count; i++) {
		length = strlen(bucket_name(number, view->histogram.desc, view->bucket[i]));
		if (length > (size_t)width)
			width = length;
	}
	return width;
}

/* What is in it: returns the column of what follows. */
static unsigned int put_bucket_name(struct screen *screen, unsigned int line,
				    const struct statsfile_desc *desc, unsigned int bucket,
				    int width)
{
	char lower[FORMAT_SIZE], upper[FORMAT_SIZE], number[BUCKET_SIZE];

	if (has_parts(desc))
		return screen_print(screen, line, 0, STYLE_PLAIN, "%-*s", width,
				    bucket_name(number, desc, bucket));
	format_bounds(lower, upper, desc, bucket);
	return screen_print(screen, line, 0, STYLE_PLAIN, "%*s %*s", BOUND_WIDTH, lower,
			    BOUND_WIDTH, upper);
}

static void put_bucket(struct screen *screen, unsigned int line, const struct view *view,
		       unsigned int bucket, int width)
{
	const struct histogram *histogram = &view->histogram;
	uint64_t highest = highest_count(histogram);
	uint64_t count = histogram->count[bucket];
	unsigned int at, i, length;
	char text[FORMAT_SIZE];

	at = put_bucket_name(screen, line, histogram->desc, bucket, width);
	format_value(text, histogram->desc, count);
	at = screen_print(screen, line, at, STYLE_PLAIN, " %16s  %5.1f%%  ", text,
			  100.0 * count / histogram->total);
	length = screen->columns > at ?
		 (double)count / highest * (screen->columns - at) + 0.5 : 0;
	/* What was counted at all is seen. */
	if (count && !length)
		length = 1;
	for (i = 0; i < length; i++)
		screen_put(screen, line, at + i, '#', STYLE_PLAIN);
}

/* As kvmstat hist, and arrays. */
static void render_buckets(struct screen *screen, struct view *view)
{
	const struct histogram *histogram = &view->histogram;
	unsigned int lines = list_lines(screen), at, i;
	size_t first = view_scroll(view, lines);
	int width = bucket_width(view);
	char what[REASON_SIZE];

	snprintf(what, sizeof(what), "vCPU %u, %s", view_vcpu(view)->number,
		 histogram->desc->name);
	put_vm_title(screen, view, what);
	if (has_parts(histogram->desc))
		at = screen_print(screen, 1, 0, STYLE_PLAIN, "%-*s", width, "NAME");
	else
		at = screen_print(screen, 1, 0, STYLE_PLAIN, "%*s %*s", BOUND_WIDTH, "FROM",
				  BOUND_WIDTH, "TO");
	screen_print(screen, 1, at, STYLE_PLAIN, " %16s  %6s",
		     is_histogram(histogram->desc) ? "COUNT" : "VALUE", "SHARE");
	screen_set_style(screen, 1, STYLE_HEADER);
	for (i = 0; i < lines && first + i < view->list[VIEW_HISTOGRAM].count; i++) {
		put_bucket(screen, 2 + i, view, view->bucket[first + i], width);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, 2 + i, STYLE_SELECTED);
	}
	put_footer(screen, view, "q back  ? help  p pause  + - interval");
}

static void render_help(struct screen *screen)
{
	static const char * const lines[] = {
		"Enter                 look into a VM: its vCPUs, and the statistics that move;",
		"                      into a vCPU: all that it counts; into a histogram",
		"Esc, Backspace, q     back; q on the list of VMs quits",
		"Up, Down, k, j        select; also Page Up, Page Down, Home, End",
		"Left, Right, < >      sort by another column",
		"r                     sort the other way round",
		"/                     only VMs whose name, pid or top reason has this text",
		"+ -                   longer or shorter intervals",
		"p, space              pause, and go on",
		"[ ] { } ( )           of a recording: a sample or a minute back or on, begin, end",
		"?                     this help, and back",
		"",
		"EXITS/s      exits from the guest to the host",
		"HALTS/s      times that a vCPU had nothing to do and gave its CPU back",
		"INJ/s        interrupts injected into the guest",
		"TOP REASON   what most of the exits were for, of what is counted, and its share",
		"OF EXITS     of a statistic that counts exits: its share in all of them",
		"-            not counted on this architecture, or not known yet",
		"LAST MINUTE  exits per second, compared with the most in that minute",
	};
	unsigned int i;

	screen_print(screen, 0, 0, STYLE_TITLE, "kvmstat top: keys and columns");
	for (i = 0; i < ARRAY_SIZE(lines); i++)
		screen_print(screen, 2 + i, 2, STYLE_PLAIN, "%s", lines[i]);
}

void render_screen(struct screen *screen, struct view *view)
{
	static void (*const render_level[NUM_VIEW_LEVELS])(struct screen *, struct view *) = {
		[VIEW_HOST] = render_host,
		[VIEW_VM] = render_vm,
		[VIEW_VCPU] = render_vcpu,
		[VIEW_HISTOGRAM] = render_buckets,
	};

	screen_clear(screen, screen->lines, screen->columns);
	if (view->help)
		render_help(screen);
	else
		render_level[view->level](screen, view);
}
