// SPDX-License-Identifier: GPL-2.0
/*
 * The view as a screen.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/descriptions.h"
#include "render/format.h"
#include "render/layout.h"
#include "render/movement.h"
#include "render/overview.h"
#include "render/render_screen.h"
#include "util/text.h"

#define RATE_WIDTH 8
#define PID_WIDTH 7
#define VCPUS_WIDTH 5
#define SPARKLINE_WIDTH 8

/* The longest reason of x86, and with its share; on a narrow screen less has to do. */
#define TOP_WIDTH 17
#define MOST_TOP_WIDTH 22
#define LEAST_TOP_WIDTH 12
#define NARROW_SCREEN 60

/* One that has no line to spare. */
#define LOW_SCREEN 8

/* Of the name of a statistic as much as a screen has room for. */
#define REASON_SIZE 128

/* Of a bucket of a histogram. */
#define BOUND_WIDTH 10

#define STATISTICS_GAP 3
#define SCOPE_WIDTH 6

/* What is most important comes first: of what has no room the rest is left out. */
static const char * const host_keys[] = {
	"q quit", "? help", "Enter its vCPUs", "/ filter", "< > sort", "r reverse", "p pause",
	"+ - interval", NULL,
};

static const char * const vm_keys[] = {
	"q back", "? help", "Enter all of a vCPU", "< > sort", "r reverse", "p pause",
	"+ - interval", NULL,
};

static const char * const vcpu_keys[] = {
	"q back", "? help", "Enter a histogram", "p pause", "+ - interval", NULL,
};

static const char * const histogram_keys[] = {
	"q back", "? help", "p pause", "+ - interval", NULL,
};

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

/* Behind the columns that can be sorted by. */
#define SPARKLINE NUM_VIEW_COLUMNS

struct layout {
	struct column column[NUM_VIEW_COLUMNS + 1];
	double most_exits;		/* of the last minute, in any of the lines */
};

static unsigned int at_most(unsigned int number, unsigned int limit)
{
	return number < limit ? number : limit;
}

/* Idle is what the others leave. */
static const unsigned int share_drops[NUM_SHARES] = {
	[SHARE_GUEST] = 2,
	[SHARE_KVM] = 5,
	[SHARE_VMM] = 6,
	[SHARE_READY] = 3,
	[SHARE_IDLE] = 8,
};

/* That comes before the end of a long reason. */
static unsigned int least_top_width(unsigned int columns, const struct view *view)
{
	return columns < NARROW_SCREEN || view->knows_share[SHARE_GUEST] ? LEAST_TOP_WIDTH :
									   TOP_WIDTH;
}

/* Without names, of vCPUs. */
static struct layout make_layout(unsigned int columns, const struct view *view,
				 unsigned int longest_name)
{
	struct layout layout = {
		.column = {
			[VIEW_PID] = { .least = PID_WIDTH, .drop = longest_name ? 7 : 0, },
			[VIEW_NAME] = {},
			[VIEW_VCPUS] = { .least = longest_name ? VCPUS_WIDTH : 0, .drop = 11, },
			[VIEW_EXITS] = { .least = RATE_WIDTH, },
			[VIEW_HALTS] = { .least = RATE_WIDTH, .drop = 9, },
			[VIEW_INJECTIONS] = { .least = RATE_WIDTH, .drop = 12, },
			[VIEW_TOP] = {
				.least = least_top_width(columns, view),
				.most = MOST_TOP_WIDTH,
				.drop = 1,
			},
			[SPARKLINE] = {
				.least = SPARKLINE_WIDTH,
				.most = HISTORY_SECONDS,
				.drop = 10,
			},
		},
	};
	enum share share;

	/* With room for what says that it is sorted by. */
	for (share = 0; share < NUM_SHARES; share++) {
		layout.column[VIEW_SHARES + share] = (struct column) {
			.least = view->knows_share[share] ? strlen(share_titles[share]) + 1 : 0,
			.drop = share_drops[share],
		};
	}
	if (longest_name)
		fit_names(&layout.column[VIEW_NAME], longest_name, columns);
	/* What is sorted by is seen. */
	layout.column[view->sort].drop = 0;
	fit_columns(layout.column, ARRAY_SIZE(layout.column), columns);
	return layout;
}

static const char *title_of(enum view_column column)
{
	if (column >= VIEW_SHARES && column < VIEW_SHARES + NUM_SHARES)
		return share_titles[column - VIEW_SHARES];
	return column_titles[column];
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
	unsigned int width = layout->column[column].width;
	char *cell;

	if (!width)
		return at;
	cell = is_text(column) ? text_fit(text, width) : xasprintf("%*.*s", width, width, text);
	at = screen_print(screen, line, at, style, "%s", cell);
	free(cell);
	return at + 1;
}

static void put_header(struct screen *screen, unsigned int line, const struct view *view,
		       const struct layout *layout, const char *first)
{
	char text[64], most[FORMAT_SIZE];
	unsigned int at = 0;
	enum view_column i;

	for (i = 0; i < NUM_VIEW_COLUMNS; i++) {
		snprintf(text, sizeof(text), "%s%s", i == VIEW_PID ? first : title_of(i),
			 i != view->sort ? "" : view->ascending ? "^" : "v");
		at = put_cell(screen, line, at, layout, i, text, STYLE_PLAIN);
	}
	/* What the highest bar stands for. */
	format_count_rate(most, layout->most_exits);
	snprintf(text, sizeof(text), "LAST MINUTE, TO %s/s", most);
	if (strlen(text) > layout->column[SPARKLINE].width)
		snprintf(text, sizeof(text), "TO %s", most);
	if (strlen(text) > layout->column[SPARKLINE].width || !layout->most_exits)
		strcpy(text, "LAST MIN");
	if (layout->column[SPARKLINE].width)
		screen_print(screen, line, at, STYLE_PLAIN, "%s", text);
	screen_set_style(screen, line, STYLE_HEADER);
	for (i = 0, at = 0; i < view->sort; i++)
		at += layout->column[i].width ? layout->column[i].width + 1 : 0;
	snprintf(text, sizeof(text), "%s%s", i == VIEW_PID ? first : title_of(i),
		 view->ascending ? "^" : "v");
	put_cell(screen, line, at, layout, view->sort, text, STYLE_SORTED);
}

static unsigned int put_shares(struct screen *screen, unsigned int line, unsigned int at,
			       const struct layout *layout, const struct rates *rates)
{
	char text[FORMAT_SIZE];
	enum share share;

	for (share = 0; share < NUM_SHARES; share++) {
		overview_format_share(text, rates, share);
		at = put_cell(screen, line, at, layout, VIEW_SHARES + share, text, STYLE_PLAIN);
	}
	return at;
}

static unsigned int put_rates(struct screen *screen, unsigned int line, unsigned int at,
			      const struct layout *layout, const struct rates *rates)
{
	char text[FORMAT_SIZE];
	enum view_column i;

	at = put_shares(screen, line, at, layout, rates);
	for (i = VIEW_EXITS; i <= VIEW_INJECTIONS; i++) {
		overview_format_rate(text, rates, column_rates[i]);
		at = put_cell(screen, line, at, layout, i, text, STYLE_PLAIN);
	}
	return at;
}

/* All lines have one scale: as high as the highest of them. */
static void note_most(struct layout *layout, const struct history *exits, uint64_t now_ns)
{
	unsigned int i, width = layout->column[SPARKLINE].width;
	double point[HISTORY_SECONDS];

	if (!width)
		return;
	history_points(exits, now_ns, point, width);
	for (i = 0; i < width; i++)
		layout->most_exits = point[i] > layout->most_exits ? point[i] : layout->most_exits;
}

static void put_history(struct screen *screen, unsigned int line, unsigned int at,
			const struct layout *layout, const struct history *exits,
			uint64_t now_ns)
{
	unsigned int width = layout->column[SPARKLINE].width;
	double point[HISTORY_SECONDS];

	if (!width)
		return;
	history_points(exits, now_ns, point, width);
	screen_sparkline(screen, line, at, point, width, layout->most_exits);
}

/* With its share where that fits into the column: alone a name says little. */
static void format_reason(char text[REASON_SIZE], const struct rates *rates, unsigned int width)
{
	double share = rates ? overview_share(rates) : -1;

	if (share >= 0) {
		snprintf(text, REASON_SIZE, "%s %.0f%%", overview_reason(rates), 100 * share);
		if (strlen(text) <= width)
			return;
	}
	snprintf(text, REASON_SIZE, "%s", rates ? overview_reason(rates) : "-");
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
	char text[REASON_SIZE];
	unsigned int at = 0;

	snprintf(text, sizeof(text), "%d", tracked->pid);
	at = put_cell(screen, line, at, layout, VIEW_PID, text, STYLE_PLAIN);
	at = put_cell(screen, line, at, layout, VIEW_NAME, tracked->name, STYLE_PLAIN);
	snprintf(text, sizeof(text), "%zu", tracked->num_vcpus);
	at = put_cell(screen, line, at, layout, VIEW_VCPUS, text, STYLE_PLAIN);
	at = put_rates(screen, line, at, layout, tracked->ended ? NULL : &tracked->rates);
	format_state(text, tracked, layout->column[VIEW_TOP].width);
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
	format_reason(text, rates, layout->column[VIEW_TOP].width);
	at = put_cell(screen, line, at, layout, VIEW_TOP, text, STYLE_PLAIN);
	put_history(screen, line, at, layout, &vcpu->exits, view->tracker->sampled_ns);
}

/* What the view is like, on the right; in what is left of the line the title. */
__printf(3, 4)
static void put_title(struct screen *screen, const struct view *view, const char *format, ...)
{
	time_t seconds = view->real_ns / NSEC_PER_SEC;
	char *title, *fitted, *state;
	unsigned int length;
	char time[32] = "";
	struct tm tm;
	va_list args;

	localtime_r(&seconds, &tm);
	if (view->replayed)
		strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S, ", &tm);
	state = xasprintf(" %s%severy %g s", time, view->paused ? "paused, " : "",
			  (double)view->interval_ns / NSEC_PER_SEC);
	length = at_most(strlen(state), screen->columns);
	va_start(args, format);
	title = xvasprintf(format, args);
	va_end(args);
	fitted = text_fit(title, screen->columns - length);
	screen_print(screen, 0, 0, STYLE_TITLE, "%s", fitted);
	screen_print(screen, 0, screen->columns - length,
		     view->paused ? STYLE_ALERT : STYLE_TITLE, "%s", state);
	free(fitted);
	free(title);
	free(state);
}

/* What is selected counts, or which reason of exits it is; NULL if that is not known. */
static char *describe_selected(const struct view *view)
{
	const struct statsfile_desc *desc = view->histogram.desc;
	size_t line = view_selected_line(view);
	const char *name, *help;
	char number[BUCKET_SIZE];

	if (view->level < VIEW_VCPU || line >= view->list[view->level].count)
		return NULL;
	name = view->level == VIEW_VCPU ? view->rows.row[line].desc->name : desc->name;
	help = describe_name(name);
	if (view->level == VIEW_HISTOGRAM && has_parts(desc)) {
		name = bucket_name(number, desc, view->bucket[line]);
		help = describe_reason(name);
	}
	return help ? xasprintf("%s: %s", name, help) : NULL;
}

/* What has to be said, in a line of its own; the caller frees it. */
static char *message_of(const struct screen *screen, const struct view *view,
			enum screen_style *style)
{
	const struct inventory *inventory = view->tracker->inventory;

	*style = STYLE_TITLE;
	if (view->filter[0] && view->level == VIEW_HOST && !view->typing)
		return xasprintf("only with '%s', Esc shows all", view->filter);
	if (view_num_messages(view) <= view->num_messages_read)
		return screen->lines < LOW_SCREEN ? NULL : describe_selected(view);
	*style = STYLE_ALERT;
	if (inventory->num_problems)
		return xasprintf("%s", inventory->problem[inventory->num_problems - 1]);
	return xasprintf("%zu processes may not be looked into; " NEEDED_PERMISSION,
			 inventory->num_denied);
}

/* As many as there is room for. */
static void put_keys(struct screen *screen, unsigned int line, const char * const *keys)
{
	unsigned int at = 0;

	for (; *keys && at + strlen(*keys) <= screen->columns; keys++)
		at = screen_print(screen, line, at, STYLE_FAINT, "%s", *keys) + 2;
}

static void put_footer(struct screen *screen, const struct view *view, const char * const *keys)
{
	unsigned int line = screen->lines - 1;
	enum screen_style style;
	char *message;

	if (screen->lines < 3)
		return;
	message = message_of(screen, view, &style);
	if (message)
		screen_print(screen, line - 1, 0, style, "%s", message);
	free(message);
	if (view->typing)
		screen_print(screen, line, 0, STYLE_TITLE, "/%s_", view->filter);
	else
		put_keys(screen, line, keys);
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
	put_title(screen, view, "kvmstat: %zu VM%s, %zu vCPU%s, %s exits/s", tracker->num_vms,
		  PLURAL(tracker->num_vms), vcpus, PLURAL(vcpus), exits);
}

/* Lines between title and header above, and the footer below. */
static unsigned int list_lines(const struct screen *screen, const struct view *view)
{
	enum screen_style style;
	char *message = message_of(screen, view, &style);
	unsigned int others = message ? 4 : 3;

	free(message);
	return screen->lines > others ? screen->lines - others : 0;
}

static unsigned int longest_vm_name(const struct view *view)
{
	unsigned int longest = strlen(column_titles[VIEW_NAME]), width;
	size_t i;

	for (i = 0; i < view->list[VIEW_HOST].count; i++) {
		width = text_width(view->vm[i]->name);
		longest = width > longest ? width : longest;
	}
	return longest;
}

static void render_host(struct screen *screen, struct view *view)
{
	struct layout layout = make_layout(screen->columns, view, longest_vm_name(view));
	unsigned int lines = list_lines(screen, view), i;
	size_t first = view_scroll(view, lines);

	for (i = 0; i < view->list[VIEW_HOST].count; i++)
		note_most(&layout, &view->vm[i]->exits, view->tracker->sampled_ns);
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
	put_footer(screen, view, host_keys);
}

/* From @line on what moved in the group, in as many columns as fit; returns the next line. */
static unsigned int put_statistics(struct screen *screen, unsigned int line, unsigned int end,
				   const char *scope, const struct group *group,
				   uint64_t elapsed_ns)
{
	struct grid grid = { .scope = SCOPE_WIDTH, .gap = STATISTICS_GAP, };
	struct rows rows = moved_rows(group, group->delta, false);
	char text[MOVEMENT_SIZE];
	unsigned int at, width;
	char *name;
	size_t i;

	for (i = 0; i < rows.count; i++) {
		format_movement(text, &rows.row[i], elapsed_ns);
		width = strlen(text);
		grid.value = width > grid.value ? width : grid.value;
		width = strlen(rows.row[i].desc->name);
		grid.name = width > grid.name ? width : grid.name;
	}
	fit_grid(&grid, screen->columns);
	for (i = 0; i < rows.count && line < end; i++) {
		if (!i && grid.scope)
			screen_print(screen, line, 0, STYLE_FAINT, "%s", scope);
		format_movement(text, &rows.row[i], elapsed_ns);
		name = text_fit(rows.row[i].desc->name, grid.name);
		at = grid.scope + i % grid.columns * (grid.name + 1 + grid.value + grid.gap);
		screen_print(screen, line, at, STYLE_PLAIN, "%s %*s", name, (int)grid.value, text);
		free(name);
		if ((i + 1) % grid.columns == 0 || i + 1 == rows.count)
			line++;
	}
	free(rows.row);
	return line;
}

static void put_vm_title(struct screen *screen, const struct view *view, const char *what)
{
	const struct tracked_vm *inside = view->inside;

	put_title(screen, view, "%s, pid %d, %s, %s%s", inside->name, inside->pid, inside->id,
		  what, inside->ended ? ", ended" : "");
}

static void render_vm(struct screen *screen, struct view *view)
{
	const struct tracked_vm *inside = view->inside;
	const struct model *model = &inside->model;
	struct layout layout = make_layout(screen->columns, view, 0);
	unsigned int lines = list_lines(screen, view), line = 2, end = line + lines, i;
	char vcpus[32];
	size_t first;

	/* At least half of it is left for the statistics. */
	lines = at_most(inside->num_tracked_vcpus, (lines + 1) / 2);
	first = view_scroll(view, lines);
	snprintf(vcpus, sizeof(vcpus), "%zu vCPU%s", inside->num_vcpus,
		 PLURAL(inside->num_vcpus));
	for (i = 0; i < view->list[VIEW_VM].count; i++)
		note_most(&layout, &view->vcpu[i]->exits, view->tracker->sampled_ns);
	put_vm_title(screen, view, vcpus);
	put_header(screen, 1, view, &layout, "VCPU");
	for (i = 0; i < lines && first + i < view->list[VIEW_VM].count; i++, line++) {
		put_vcpu(screen, line, view, &layout, view->vcpu[first + i]);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, line, STYLE_SELECTED);
	}
	if (!inside->has_statistics) {
		screen_print(screen, line, 0, STYLE_PLAIN, "Its statistics cannot be had.");
	} else if (line < end) {
		screen_print(screen, line, 0, STYLE_PLAIN, "%s",
			     "What moves, sums of all vCPUs and of the VM:");
		screen_set_style(screen, line++, STYLE_HEADER);
		line = put_statistics(screen, line, end, "vcpu", &model->group[SCOPE_VCPU],
				      model->elapsed_ns);
		put_statistics(screen, line, end, "vm", &model->group[SCOPE_VM], model->elapsed_ns);
	}
	put_footer(screen, view, vm_keys);
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
		return "parts";
	return is_histogram(desc) ? "histogram" : "";
}

/* A line of a table. */
static void put_row(struct screen *screen, unsigned int line, const struct column *columns,
		    const char * const *texts, size_t count)
{
	unsigned int at = 0;
	char *text;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!columns[i].width)
			continue;
		text = fit_cell(&columns[i], texts[i]);
		screen_print(screen, line, at, STYLE_PLAIN, "%s", text);
		free(text);
		at += columns[i].width + 1;
	}
}

/* How a statistic is shown. */
enum statistic_column {
	STATISTIC_NAME,
	STATISTIC_RATE,
	STATISTIC_SHARE,
	STATISTIC_TOTAL,
	STATISTIC_KIND,
	NUM_STATISTIC_COLUMNS,
};

static void put_statistic(struct screen *screen, unsigned int line, const struct row *row,
			  const struct view *view, const struct column *columns)
{
	char total[FORMAT_SIZE], rate[FORMAT_SIZE] = "-", share[FORMAT_SIZE] = "";
	const struct model *model = &view->inside->model;
	double per_second = rate_per_second(row->delta, model->elapsed_ns);
	const char * const texts[NUM_STATISTIC_COLUMNS] = {
		[STATISTIC_NAME] = row->desc->name,
		[STATISTIC_RATE] = rate,
		[STATISTIC_SHARE] = share,
		[STATISTIC_TOTAL] = total,
		[STATISTIC_KIND] = kind_of(row->desc),
	};

	format_value(total, row->desc, row->value);
	if (is_counter(row->desc) && model->focus.num_members) {
		format_rate(rate, row->desc, per_second);
		format_share(share, row, per_second, &view_vcpu(view)->rates);
	}
	put_row(screen, line, columns, texts, NUM_STATISTIC_COLUMNS);
	if (!row->delta)
		screen_set_style(screen, line, STYLE_FAINT);
}

static unsigned int longest_statistic(const struct rows *rows)
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
	static const char * const titles[NUM_STATISTIC_COLUMNS] = {
		"STATISTIC", "PER SECOND", "OF EXITS", "TOTAL", "",
	};
	struct column columns[NUM_STATISTIC_COLUMNS] = {
		[STATISTIC_NAME] = { .least = longest_statistic(&view->rows), .left = true, },
		[STATISTIC_RATE] = { .least = 10, },
		[STATISTIC_SHARE] = { .least = 8, .drop = 1, },
		[STATISTIC_TOTAL] = { .least = 14, .most = 20, .drop = 2, },
		[STATISTIC_KIND] = { .least = 9, .drop = 3, .left = true, },
	};
	unsigned int lines = list_lines(screen, view), i;
	size_t first = view_scroll(view, lines);
	char vcpu[32];

	fit_columns(columns, ARRAY_SIZE(columns), screen->columns);
	snprintf(vcpu, sizeof(vcpu), "vCPU %u", view_vcpu(view)->number);
	put_vm_title(screen, view, vcpu);
	put_row(screen, 1, columns, titles, ARRAY_SIZE(columns));
	screen_set_style(screen, 1, STYLE_HEADER);
	for (i = 0; i < lines && first + i < view->rows.count; i++) {
		put_statistic(screen, 2 + i, &view->rows.row[first + i], view, columns);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, 2 + i, STYLE_SELECTED);
	}
	if (!view->rows.count)
		screen_print(screen, 2, 0, STYLE_PLAIN, "Nothing was counted yet.");
	put_footer(screen, view, vcpu_keys);
}

/* How a bucket is shown: by a name or by bounds. */
enum bucket_column {
	BUCKET_NAME,
	BUCKET_FROM,
	BUCKET_TO,
	BUCKET_COUNT,
	BUCKET_SHARE,
	BUCKET_BAR,
	NUM_BUCKET_COLUMNS,
};

static unsigned int longest_bucket_name(const struct view *view)
{
	size_t i, length, longest = strlen("NAME");
	char number[BUCKET_SIZE];

	for (i = 0; i < view->list[VIEW_HISTOGRAM].count; i++) {
		length = strlen(bucket_name(number, view->histogram.desc, view->bucket[i]));
		longest = length > longest ? length : longest;
	}
	return longest;
}

static void put_bucket(struct screen *screen, unsigned int line, const struct view *view,
		       unsigned int bucket, const struct column *columns)
{
	const struct histogram *histogram = &view->histogram;
	uint64_t count = histogram->count[bucket];
	char lower[FORMAT_SIZE], upper[FORMAT_SIZE], number[BUCKET_SIZE];
	char text[FORMAT_SIZE], share[FORMAT_SIZE];
	char *bar = format_bar(count, highest_count(histogram), columns[BUCKET_BAR].width);
	const char * const texts[NUM_BUCKET_COLUMNS] = {
		bucket_name(number, histogram->desc, bucket), lower, upper, text, share, bar,
	};

	format_bounds(lower, upper, histogram->desc, bucket);
	format_value(text, histogram->desc, count);
	snprintf(share, sizeof(share), "%.1f%%", 100.0 * count / histogram->total);
	put_row(screen, line, columns, texts, NUM_BUCKET_COLUMNS);
	free(bar);
}

/* As kvmstat hist, and arrays. */
static void render_buckets(struct screen *screen, struct view *view)
{
	const struct histogram *histogram = &view->histogram;
	bool named = has_parts(histogram->desc);
	const char * const titles[NUM_BUCKET_COLUMNS] = {
		"NAME", "FROM", "TO", is_histogram(histogram->desc) ? "COUNT" : "VALUE", "SHARE",
		"",
	};
	struct column columns[NUM_BUCKET_COLUMNS] = {
		[BUCKET_NAME] = { .least = named ? longest_bucket_name(view) : 0, .left = true, },
		[BUCKET_FROM] = { .least = named ? 0 : BOUND_WIDTH, },
		[BUCKET_TO] = { .least = named ? 0 : BOUND_WIDTH, },
		[BUCKET_COUNT] = { .least = 9, .most = 16, },
		[BUCKET_SHARE] = { .least = 6, .drop = 2, },
		[BUCKET_BAR] = { .least = 10, .most = screen->columns, .drop = 1, .left = true, },
	};
	unsigned int lines = list_lines(screen, view), i;
	size_t first = view_scroll(view, lines);
	char what[REASON_SIZE];

	fit_columns(columns, ARRAY_SIZE(columns), screen->columns);
	snprintf(what, sizeof(what), "vCPU %u, %s", view_vcpu(view)->number,
		 histogram->desc->name);
	put_vm_title(screen, view, what);
	put_row(screen, 1, columns, titles, ARRAY_SIZE(columns));
	screen_set_style(screen, 1, STYLE_HEADER);
	for (i = 0; i < lines && first + i < view->list[VIEW_HISTOGRAM].count; i++) {
		put_bucket(screen, 2 + i, view, view->bucket[first + i], columns);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, 2 + i, STYLE_SELECTED);
	}
	put_footer(screen, view, histogram_keys);
}

static void render_help(struct screen *screen)
{
	static const char * const lines[] = {
		"Enter              look into a VM: its vCPUs, and the statistics that move;",
		"                   into a vCPU: all that it counts; into a histogram",
		"Esc, Backspace, q  back; q on the list of VMs quits",
		"Up, Down, k, j     select; also Page Up, Page Down, Home, End",
		"Left, Right, < >   sort by another column",
		"r                  sort the other way round",
		"/                  only VMs whose name, pid or top reason has this text",
		"+ -                longer or shorter intervals",
		"p, space           pause, and go on",
		"[ ] { } ( )        of a recording: a sample or a minute back or on, begin, end",
		"?                  this help, and back",
		"",
		"GUEST%       of the vCPUs' time: in the guest; KVM% in KVM, VMM% outside of it,",
		"READY%       waiting for a CPU, IDLE% with nothing to do: together 100 %",
		"EXITS/s      exits from the guest to the host",
		"HALTS/s      times that a vCPU had nothing to do and gave its CPU back",
		"INJ/s        interrupts injected into the guest",
		"TOP REASON   what most of the exits were for, and its share",
		"no counter   most exits, so many, were for what the kernel does not count",
		"OF EXITS     of a statistic that counts exits: its share in all of them",
		"-            not counted on this architecture, or not known yet",
		"LAST MINUTE  exits per second, all lines in the same scale: its top is named",
	};
	unsigned int i;

	screen_print(screen, 0, 0, STYLE_TITLE, "kvmstat top: keys and columns");
	for (i = 0; i < ARRAY_SIZE(lines); i++)
		screen_print(screen, 2 + i, 1, STYLE_PLAIN, "%s", lines[i]);
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
