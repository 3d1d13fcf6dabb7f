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
	"q quit", "? help", "Enter its vCPUs", "d histograms", "/ filter", "< > sort", "r reverse",
	"p pause", "+ - interval", NULL,
};

static const char * const vm_keys[] = {
	"q back", "? help", "Enter all of a vCPU", "d histograms", "< > sort", "r reverse",
	"p pause", "+ - interval", NULL,
};

static const char * const thread_keys[] = {
	"q back", "? help", "< > sort", "r reverse", "p pause", "+ - interval", NULL,
};

static const char * const vcpu_keys[] = {
	"q back", "? help", "Enter a histogram", "d all of them", "p pause", "+ - interval", NULL,
};

static const char * const histogram_keys[] = {
	"q back", "? help", "p pause", "+ - interval", NULL,
};

#define PLURAL(count) ((count) == 1 ? "" : "s")

static const char * const column_titles[NUM_COLUMNS] = {
	[COLUMN_PID] = "PID",
	[COLUMN_NAME] = "NAME",
	[COLUMN_VCPUS] = "VCPU",
	[COLUMN_RATES + RATE_EXITS] = "EXITS/s",
	[COLUMN_RATES + RATE_HALTS] = "HALTS/s",
	[COLUMN_RATES + RATE_INJECTIONS] = "INJ/s",
	[COLUMN_TOP] = "TOP REASON",
};

/* Behind the columns that can be sorted by. */
#define SPARKLINE NUM_COLUMNS

struct layout {
	struct column column[NUM_COLUMNS + 1];
	double most_exits;		/* of the last minute, in any of the lines */
};

static unsigned int at_most(unsigned int number, unsigned int limit)
{
	return number < limit ? number : limit;
}

/* Idle is what the others leave. */
static const unsigned int share_drops[NUM_SHARES] = {
	[SHARE_GUEST] = 2,
	[SHARE_KVM] = 6,
	[SHARE_VMM] = 7,
	[SHARE_READY] = 1,
	[SHARE_IDLE] = 8,
};

/* The longest times say most. */
static const unsigned int quantile_drops[NUM_QUANTILES] = {
	[QUANTILE_READY_P50] = 15,
	[QUANTILE_READY_P99] = 13,
	[QUANTILE_EXIT_P50] = 16,
	[QUANTILE_EXIT_P99] = 14,
};

/* That comes before the end of a long reason. */
static unsigned int least_top_width(unsigned int columns, const struct view *view)
{
	bool knows_all = view->knows[COLUMN_SHARES + SHARE_GUEST];

	return columns < NARROW_SCREEN || knows_all ? LEAST_TOP_WIDTH : TOP_WIDTH;
}

static const char *title_of(enum column_id column)
{
	if (column_is_share(column))
		return share_titles[column - COLUMN_SHARES];
	if (column_is_quantile(column))
		return quantile_titles[column - COLUMN_QUANTILES];
	return column_titles[column];
}

/* With room for what says that it is sorted by; of what nothing is known there is none. */
static struct column titled_column(const struct view *view, enum column_id column,
				   unsigned int drop)
{
	return (struct column) {
		.least = view->knows[column] ? strlen(title_of(column)) + 1 : 0,
		.drop = drop,
	};
}

/* A thread has the letter in front of its number. */
static unsigned int first_width(const struct view *view)
{
	return PID_WIDTH + (view->inside && view->inside->num_tracked_threads);
}

/* Without names, of vCPUs. */
static struct layout make_layout(unsigned int columns, const struct view *view,
				 unsigned int longest_name)
{
	struct layout layout = {
		.column = {
			[COLUMN_PID] = {
				.least = first_width(view),
				.drop = longest_name ? 5 : 0,
			},
			[COLUMN_NAME] = {},
			[COLUMN_VCPUS] = { .least = longest_name ? VCPUS_WIDTH : 0, .drop = 11, },
			[COLUMN_RATES + RATE_EXITS] = { .least = RATE_WIDTH, },
			[COLUMN_RATES + RATE_HALTS] = { .least = RATE_WIDTH, .drop = 9, },
			[COLUMN_RATES + RATE_INJECTIONS] = { .least = RATE_WIDTH, .drop = 12, },
			[COLUMN_TOP] = {
				.least = least_top_width(columns, view),
				.most = MOST_TOP_WIDTH,
				.drop = 3,
			},
			[SPARKLINE] = {
				.least = SPARKLINE_WIDTH,
				.most = HISTORY_SECONDS,
				.drop = 10,
			},
		},
	};
	enum quantile quantile;
	enum share share;

	for (share = 0; share < NUM_SHARES; share++)
		layout.column[COLUMN_SHARES + share] =
			titled_column(view, COLUMN_SHARES + share, share_drops[share]);
	for (quantile = 0; quantile < NUM_QUANTILES; quantile++)
		layout.column[COLUMN_QUANTILES + quantile] =
			titled_column(view, COLUMN_QUANTILES + quantile, quantile_drops[quantile]);
	if (longest_name)
		fit_names(&layout.column[COLUMN_NAME], longest_name, columns);
	/* What is sorted by is seen. */
	layout.column[view->sort].drop = 0;
	fit_columns(layout.column, ARRAY_SIZE(layout.column), columns);
	return layout;
}

static bool is_text(enum column_id column)
{
	return column == COLUMN_NAME || column == COLUMN_TOP;
}

/* A cell of the list; returns the column of the next one. */
static unsigned int put_cell(struct screen *screen, unsigned int line, unsigned int at,
			     const struct layout *layout, enum column_id column,
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
	enum column_id i;

	for (i = 0; i < NUM_COLUMNS; i++) {
		snprintf(text, sizeof(text), "%s%s", i == COLUMN_PID ? first : title_of(i),
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
	snprintf(text, sizeof(text), "%s%s", i == COLUMN_PID ? first : title_of(i),
		 view->ascending ? "^" : "v");
	put_cell(screen, line, at, layout, view->sort, text, STYLE_SORTED);
}

static unsigned int put_numbers(struct screen *screen, unsigned int line, unsigned int at,
				const struct layout *layout, const struct rates *rates)
{
	char text[FORMAT_SIZE];
	enum column_id i;

	for (i = COLUMN_SHARES; i < COLUMN_TOP; i++) {
		overview_format(text, rates, i);
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
	double share = rates ? rates_share(rates) : -1;

	if (share >= 0) {
		snprintf(text, REASON_SIZE, "%s %.0f%%", rates_reason(rates), 100 * share);
		if (strlen(text) <= width)
			return;
	}
	snprintf(text, REASON_SIZE, "%s", rates ? rates_reason(rates) : "-");
}

/* In the place of the top reason stands why there is none. */
static void format_state(char text[REASON_SIZE], const struct tracked_vm *tracked,
			 unsigned int width)
{
	if (tracked->ended)
		strcpy(text, "ended");
	else if (!tracked->has_statistics)
		strcpy(text, "not counted");
	else
		format_reason(text, tracked->has_rates ? &tracked->rates : NULL, width);
}

static void put_vm(struct screen *screen, unsigned int line, const struct view *view,
		   const struct layout *layout, const struct tracked_vm *tracked)
{
	char text[REASON_SIZE];
	unsigned int at = 0;

	snprintf(text, sizeof(text), "%d", tracked->pid);
	at = put_cell(screen, line, at, layout, COLUMN_PID, text, STYLE_PLAIN);
	at = put_cell(screen, line, at, layout, COLUMN_NAME, tracked->name, STYLE_PLAIN);
	snprintf(text, sizeof(text), "%zu", tracked->num_vcpus);
	at = put_cell(screen, line, at, layout, COLUMN_VCPUS, text, STYLE_PLAIN);
	at = put_numbers(screen, line, at, layout, tracked->ended ? NULL : &tracked->rates);
	format_state(text, tracked, layout->column[COLUMN_TOP].width);
	at = put_cell(screen, line, at, layout, COLUMN_TOP, text, STYLE_PLAIN);
	put_history(screen, line, at, layout, &tracked->exits, view->tracker->sampled_ns);
	if (tracked->ended || !tracked->has_statistics)
		screen_set_style(screen, line, STYLE_FAINT);
}

#define VCPU_NAME_SIZE 24

/* In a title it has a word in front. */
static void format_vcpu(char text[VCPU_NAME_SIZE], const struct tracked_vcpu *vcpu,
			const char *word)
{
	if (vcpu->number == VCPU_SUM)
		snprintf(text, VCPU_NAME_SIZE, "%s", *word ? "sum of vCPUs" : "sum");
	else if (vcpu->number >= TRACKED_THREAD)
		snprintf(text, VCPU_NAME_SIZE, "t%u", vcpu->number - TRACKED_THREAD);
	else
		snprintf(text, VCPU_NAME_SIZE, "%s%u", word, vcpu->number);
}

static void put_vcpu(struct screen *screen, unsigned int line, const struct view *view,
		     const struct layout *layout, const struct tracked_vcpu *vcpu)
{
	const struct tracked_vm *inside = view->inside;
	bool is_known = !inside->ended && (inside->has_rates || inside->num_tracked_threads);
	const struct rates *rates = is_known ? &vcpu->rates : NULL;
	char text[REASON_SIZE];
	unsigned int at = 0;

	format_vcpu(text, vcpu, "");
	at = put_cell(screen, line, at, layout, COLUMN_PID, text, STYLE_PLAIN);
	at = put_numbers(screen, line, at, layout, rates);
	format_reason(text, rates, layout->column[COLUMN_TOP].width);
	at = put_cell(screen, line, at, layout, COLUMN_TOP, text, STYLE_PLAIN);
	put_history(screen, line, at, layout, &vcpu->exits, view->tracker->sampled_ns);
}

/* What the view is like. */
static char *describe_view(const struct view *view, const char *time_format, bool with_interval)
{
	time_t seconds = view->real_ns / NSEC_PER_SEC;
	char time[32] = "", interval[32] = "";
	struct tm tm;
	char *text;

	localtime_r(&seconds, &tm);
	if (view->replayed)
		strftime(time, sizeof(time), time_format, &tm);
	if (with_interval)
		snprintf(interval, sizeof(interval), "every %g s, ",
			 (double)view->interval_ns / NSEC_PER_SEC);
	text = xasprintf(" %s%s%s", time, view->paused ? "paused, " : "", interval);
	if (text[1])
		text[strlen(text) - 2] = '\0';
	return text;
}

/*
 * On the right that, in what is left of the line the title: if there is no room for both the
 * interval says least, then the date, then what each next title leaves out. The titles are freed.
 */
static void put_title(struct screen *screen, const struct view *view, char **titles, size_t count)
{
	static const struct {
		const char *time;
		bool interval;
	} levels[] = {
		{ "%Y-%m-%d %H:%M:%S, ", true, },
		{ "%Y-%m-%d %H:%M:%S, ", false, },
		{ "%H:%M:%S, ", false, },
	};
	char *fitted, *state = NULL;
	unsigned int length;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		free(state);
		state = describe_view(view, levels[i].time, levels[i].interval);
		if (text_width(titles[0]) + strlen(state) <= screen->columns)
			break;
	}
	length = at_most(strlen(state), screen->columns);
	i = 0;
	while (i + 1 < count && text_width(titles[i]) + length > screen->columns)
		i++;
	fitted = text_fit(titles[i], screen->columns - length);
	screen_print(screen, 0, 0, STYLE_TITLE, "%s", fitted);
	screen_print(screen, 0, screen->columns - length,
		     view->paused ? STYLE_ALERT : STYLE_TITLE, "%s", state);
	free(fitted);
	free(state);
	while (count--)
		free(titles[count]);
}

static char *describe_bar(const struct view *view)
{
	const struct bar *bar = view->bar + view_selected_line(view);
	char number[BUCKET_SIZE];
	const char *name, *help;

	if (view_selected_line(view) >= view->bar_list.count)
		return NULL;
	name = bar->desc->name;
	help = describe_name(name);
	if (bar->is_bucket && has_parts(bar->desc)) {
		name = bucket_name(number, bar->desc, bar->bucket);
		help = describe_reason(name);
	}
	return help ? xasprintf("%s: %s", name, help) : NULL;
}

/* What is selected counts, or which reason of exits it is; NULL if that is not known. */
static char *describe_selected(const struct view *view)
{
	const struct statsfile_desc *desc = view->histogram.desc;
	size_t line = view_selected_line(view);
	const char *name, *help;
	char number[BUCKET_SIZE];

	if (view->bars)
		return describe_bar(view);
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

/* What stands above the keys. */
struct message {
	char *text;			/* NULL: nothing; freed by the caller */
	unsigned int lines;
	enum screen_style style;
	size_t problems_end;		/* the one of the host's that is the first without room */
	bool denied;			/* it says that, too */
};

/* What is wrong is said to its end, if that leaves half of the screen. */
static bool add_line(struct message *message, const struct screen *screen, const char *text)
{
	unsigned int room = screen->lines / (message->lines ? 4 : 2), lines = 1;
	char *wrapped, *joined, *end;
	size_t size;
	FILE *file;

	file = open_memstream(&wrapped, &size);
	print_wrapped(file, text, screen->columns, 0);
	fclose(file);
	for (end = wrapped; (end = strchr(end, '\n')) && lines < room; end++)
		lines++;
	if (end)
		*end = '\0';
	if (message->lines && message->lines + lines > room) {
		free(wrapped);
		return false;
	}
	joined = xasprintf("%s%s%s", message->text ?: "", message->text ? "\n" : "", wrapped);
	free(message->text);
	free(wrapped);
	message->text = joined;
	message->lines += lines;
	return true;
}

/* What was not read yet, one after the other: a key makes room for the next. */
static void add_problems(struct message *message, const struct screen *screen,
			 const struct view *view)
{
	const struct inventory *inventory = view->tracker->inventory;
	size_t left, *i = &message->problems_end;
	char *text;

	message->style = STYLE_ALERT;
	while (*i < inventory->num_problems && add_line(message, screen, inventory->problem[*i]))
		++*i;
	/* In a recording, after a jump, there may be fewer than were read. */
	left = inventory->num_problems > *i ? inventory->num_problems - *i : 0;
	if (inventory_is_denied(inventory) && !view->denied_read) {
		text = inventory_explain_denied(inventory);
		message->denied = !left && add_line(message, screen, text);
		left += !message->denied;
		free(text);
	}
	if (!left || screen->lines < LOW_SCREEN)
		return;
	text = xasprintf("%s\n(%zu more: press any key)", message->text, left);
	free(message->text);
	message->text = text;
	message->lines++;
}

/* What is selected has one line, which does not move the list. */
static struct message message_of(const struct screen *screen, const struct view *view)
{
	struct message message = {
		.style = STYLE_TITLE,
		.problems_end = view->problems_read,
		.denied = view->denied_read,
	};

	if (view->filter[0] && view->level == VIEW_HOST && !view->bars && !view->typing)
		message.text = xasprintf("only with '%s', Esc shows all", view->filter);
	else if (view_has_messages(view))
		add_problems(&message, screen, view);
	else if (screen->lines >= LOW_SCREEN)
		message.text = describe_selected(view);
	if (message.text && !message.lines)
		message.lines = 1;
	return message;
}

/* As many as there is room for. */
static void put_keys(struct screen *screen, unsigned int line, const char * const *keys)
{
	unsigned int at = 0;

	for (; *keys && at + strlen(*keys) <= screen->columns; keys++)
		at = screen_print(screen, line, at, STYLE_FAINT, "%s", *keys) + 2;
}

static void put_footer(struct screen *screen, struct view *view, const char * const *keys)
{
	unsigned int line = screen->lines - 1;
	struct message message;
	char *rest, *text;

	if (screen->lines < 3)
		return;
	message = message_of(screen, view);
	rest = message.text;
	for (; message.lines && (text = strsep(&rest, "\n")); message.lines--)
		screen_print(screen, line - message.lines, 0, message.style, "%s", text);
	free(message.text);
	view->problems_drawn = message.problems_end;
	view->denied_drawn = message.denied;
	if (view->typing)
		screen_print(screen, line, 0, STYLE_TITLE, "/%s_", view->filter);
	else
		put_keys(screen, line, keys);
}

static void put_host_title(struct screen *screen, const struct view *view)
{
	const struct tracker *tracker = view->tracker;
	char exits[FORMAT_SIZE], of[32] = "", *titles[3];
	size_t i, vms = 0, vcpus = 0, counted = 0;
	double sum = 0;

	for (i = 0; i < tracker->num_vms; i++) {
		if (tracker->vm[i]->ended)
			continue;
		vms++;
		vcpus += tracker->vm[i]->num_vcpus;
		if (!tracker->vm[i]->rates.known[RATE_EXITS])
			continue;
		counted++;
		sum += tracker->vm[i]->rates.per_second[RATE_EXITS];
	}
	format_count_rate(exits, sum);
	/* 0 would say that nothing happens. */
	if (!counted && vms)
		strcpy(exits, "-");
	else if (counted < vms)
		snprintf(of, sizeof(of), " of %zu VM%s", counted, PLURAL(counted));
	titles[0] = xasprintf("kvmstat: %zu VM%s, %zu vCPU%s, %s exits/s%s", vms, PLURAL(vms),
			      vcpus, PLURAL(vcpus), exits, of);
	titles[1] = xasprintf("%zu VM%s, %s exits/s%s", vms, PLURAL(vms), exits, of);
	titles[2] = xasprintf("%s exits/s%s", exits, of);
	put_title(screen, view, titles, ARRAY_SIZE(titles));
}

/* Lines between title and header above, and the footer below. */
static unsigned int list_lines(const struct screen *screen, const struct view *view)
{
	struct message message = message_of(screen, view);
	unsigned int others = message.lines + 3;

	free(message.text);
	return screen->lines > others ? screen->lines - others : 0;
}

static unsigned int longest_vm_name(const struct view *view)
{
	unsigned int longest = strlen(column_titles[COLUMN_NAME]), width;
	size_t i;

	for (i = 0; i < view->list[VIEW_HOST].count; i++) {
		width = text_width(view->vm[i]->name);
		longest = width > longest ? width : longest;
	}
	return longest;
}

static bool some_are_denied(const struct view *view)
{
	const struct inventory *inventory = view->tracker->inventory;

	return inventory && inventory_is_denied(inventory);
}

static void render_host(struct screen *screen, struct view *view)
{
	struct layout layout = make_layout(screen->columns, view, longest_vm_name(view));
	unsigned int lines = list_lines(screen, view), i;
	size_t first = view_scroll(view, lines);

	for (i = 0; i < view->list[VIEW_HOST].count; i++)
		note_most(&layout, &view->vm[i]->exits, view->tracker->sampled_ns);
	put_host_title(screen, view);
	put_header(screen, 1, view, &layout, column_titles[COLUMN_PID]);
	for (i = 0; i < lines && first + i < view->list[VIEW_HOST].count; i++) {
		put_vm(screen, 2 + i, view, &layout, view->vm[first + i]);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, 2 + i, STYLE_SELECTED);
	}
	if (!view->tracker->num_vms)
		screen_print(screen, 2, 0, STYLE_PLAIN, "No process%s has a VM.",
			     some_are_denied(view) ? " that may be looked into" : "");
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
	const struct tracked_vm *tracked = view->inside ? view->inside : view->selected;
	const char *ended = tracked->ended ? ", ended" : "";
	char *titles[3];

	titles[0] = xasprintf("%s, pid %d, %s, %s%s", tracked->name, tracked->pid, tracked->id,
			      what, ended);
	titles[1] = xasprintf("%s, pid %d, %s%s", tracked->name, tracked->pid, what, ended);
	titles[2] = xasprintf("pid %d, %s%s", tracked->pid, what, ended);
	put_title(screen, view, titles, ARRAY_SIZE(titles));
}

static bool has_unknown_threads(const struct tracked_vm *inside)
{
	const struct tracked_vcpu *vcpu = &inside->vcpu[inside->num_tracked_vcpus];
	size_t i;

	for (i = 0; i < inside->num_tracked_threads; i++) {
		if (vcpu[i].number >= TRACKED_THREAD)
			return true;
	}
	return false;
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
	lines = at_most(view->list[VIEW_VM].count, (lines + 1) / 2);
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
	if (has_unknown_threads(inside) && line < end)
		screen_print(screen, line++, 0, STYLE_FAINT, "%s",
			     "t1234 is a thread: which vCPU it runs is not known.");
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
	put_footer(screen, view, inside->has_statistics ? vm_keys : thread_keys);
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
	char vcpu[VCPU_NAME_SIZE];

	fit_columns(columns, ARRAY_SIZE(columns), screen->columns);
	format_vcpu(vcpu, view_vcpu(view), "vCPU ");
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

/* All histograms at once: of the interval, and of the last minute. */
enum bar_column {
	BAR_NAME,
	BAR_NOW,
	BAR_NOW_BAR,
	BAR_MINUTE,
	BAR_MINUTE_BAR,
	NUM_BAR_COLUMNS,
};

static char *name_of_bar(const struct bar *bar)
{
	char lower[FORMAT_SIZE], upper[FORMAT_SIZE], number[BUCKET_SIZE];

	if (!bar->is_bucket)
		return xasprintf("%s", bar->desc->name);
	if (has_parts(bar->desc))
		return xasprintf("  %s", bucket_name(number, bar->desc, bar->bucket));
	format_bounds(lower, upper, bar->desc, bar->bucket);
	return xasprintf("  %8s %8s", lower, upper);
}

static void put_bar(struct screen *screen, unsigned int line, const struct bar *bar,
		    const struct column *columns)
{
	char *name = name_of_bar(bar), *now_bar, *minute_bar;
	char now[FORMAT_SIZE], minute[FORMAT_SIZE];

	format_value(now, bar->desc, bar->now);
	format_value(minute, bar->desc, bar->minute);
	now_bar = format_bar(bar->is_bucket ? bar->now : 0, bar->most_now,
			     columns[BAR_NOW_BAR].width);
	minute_bar = format_bar(bar->is_bucket ? bar->minute : 0, bar->most_minute,
				columns[BAR_MINUTE_BAR].width);
	put_row(screen, line, columns,
		(const char * const []) { name, now, now_bar, minute, minute_bar, },
		NUM_BAR_COLUMNS);
	if (!bar->is_bucket)
		screen_set_style(screen, line, STYLE_TITLE);
	free(name);
	free(now_bar);
	free(minute_bar);
}

static unsigned int longest_bar_name(const struct view *view)
{
	unsigned int longest = strlen("HISTOGRAM");
	size_t i, length;
	char *name;

	for (i = 0; i < view->bar_list.count; i++) {
		name = name_of_bar(&view->bar[i]);
		length = strlen(name);
		longest = length > longest ? length : longest;
		free(name);
	}
	return longest;
}

/* How long the counts were counted for. */
static void format_span(char text[FORMAT_SIZE], uint64_t ns)
{
	double seconds = (double)ns / NSEC_PER_SEC;

	snprintf(text, FORMAT_SIZE, seconds < 9.95 ? "IN %.1f s" : "IN %.0f s", seconds);
}

static void put_bars_title(struct screen *screen, const struct view *view)
{
	size_t vcpus = view_bars_of(view)->num_vcpus;
	char what[64];

	if (view->inside)
		format_vcpu(what, view_vcpu(view), "vCPU ");
	else
		snprintf(what, sizeof(what), "sum of %zu vCPU%s", vcpus, PLURAL(vcpus));
	put_vm_title(screen, view, what);
}

static const char *describe_no_bars(const struct view *view)
{
	const struct model *model = &view_bars_of(view)->model;
	const struct statsfile_schema *schema = model->group[SCOPE_VCPU].schema;
	size_t i;

	for (i = 0; schema && i < schema->num_desc; i++) {
		if (!is_histogram(&schema->desc[i]))
			continue;
		return view->minute_ns ? "Nothing was counted in histograms." :
					 "What histograms count from now on will be here.";
	}
	return "There are no histograms of it.";
}

static void render_bars(struct screen *screen, struct view *view)
{
	char now[FORMAT_SIZE], minute[FORMAT_SIZE];
	const char * const titles[NUM_BAR_COLUMNS] = { "HISTOGRAM", now, "", minute, "", };
	/* Both the same: on 80 columns there is room for as much. */
	const unsigned int bar_width = screen->columns > 28 ? screen->columns / 4 - 1 : 6;
	struct column columns[NUM_BAR_COLUMNS] = {
		[BAR_NAME] = { .least = longest_bar_name(view), .left = true, },
		[BAR_NOW] = { .least = 9, },
		[BAR_NOW_BAR] = { .least = 6, .most = bar_width, .drop = 2, .left = true, },
		[BAR_MINUTE] = { .least = 9, .drop = 1, },
		[BAR_MINUTE_BAR] = { .least = 6, .most = bar_width, .drop = 3, .left = true, },
	};
	unsigned int lines = list_lines(screen, view), i;
	size_t first = view_scroll(view, lines);

	fit_columns(columns, ARRAY_SIZE(columns), screen->columns);
	format_span(now, view_bars_of(view)->model.elapsed_ns);
	format_span(minute, view->minute_ns);
	put_bars_title(screen, view);
	put_row(screen, 1, columns, titles, ARRAY_SIZE(columns));
	screen_set_style(screen, 1, STYLE_HEADER);
	for (i = 0; i < lines && first + i < view->bar_list.count; i++) {
		put_bar(screen, 2 + i, &view->bar[first + i], columns);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, 2 + i, STYLE_SELECTED);
	}
	if (!view->bar_list.count)
		screen_print(screen, 2, 0, STYLE_PLAIN, "%s", describe_no_bars(view));
	put_footer(screen, view, histogram_keys);
}

/* Keys, and what they do; behind an empty one columns, and what stands there. */
static const char * const help[][2] = {
	{ "Enter", "look into a VM: its vCPUs, and the statistics that move;", },
	{ "", "into a vCPU: all that it counts; into a histogram", },
	{ "Esc, Backspace, q", "back; q on the list of VMs quits", },
	{ "Up, Down, k, j", "select; also Page Up, Page Down, Home, End", },
	{ "Left, Right, < >", "sort by another column; r: the other way round", },
	{ "/", "only VMs whose name, pid or top reason has this text", },
	{ "d", "all histograms: of the interval, and of the last minute", },
	{ "+ -", "longer or shorter intervals; p, space: pause, and go on", },
	{ "[ ] { } ( )", "of a recording: a sample or a minute back or on, begin, end", },
	{ "?", "this help, and back", },
	{},
	{ "GUEST%", "of the vCPUs' time: in the guest; KVM% in KVM, VMM% outside of it,", },
	{ "READY%", "waiting for a CPU, IDLE% with nothing to do: together 100 %", },
	{ "EXITS/s", "exits from the guest to the host", },
	{ "HALTS/s", "times that a vCPU had nothing to do and gave its CPU back", },
	{ "INJ/s", "interrupts injected into the guest", },
	{ "READY50 99", "half, and 99 of 100, waits for a CPU were below; EXIT50 99: exits", },
	{ "TOP REASON", "what most of the exits were for, and its share", },
	{ "no counter", "most exits, so many, were for what the kernel does not count", },
	{ "OF EXITS", "of a statistic that counts exits: its share in all of them", },
	{ "-", "not counted on this architecture, or not known yet", },
	{ "LAST MINUTE", "exits per second, all lines in the same scale: its top is named", },
};

/* In lines of that width, with what is said beside the keys, or below those that are longer. */
static char *wrap_help(unsigned int width)
{
	unsigned int indent = width < 60 ? 13 : 19;
	char *text = NULL;
	FILE *out;
	size_t i, size;

	out = open_memstream(&text, &size);
	if (!out)
		abort();
	for (i = 0; i < ARRAY_SIZE(help); i++) {
		if (!help[i][0]) {
			indent = 13;
			fputc('\n', out);
			continue;
		}
		fprintf(out, "%-*s", (int)indent, help[i][0]);
		if (strlen(help[i][0]) >= indent)
			fprintf(out, "\n%*s", (int)indent, "");
		print_wrapped(out, help[i][1], width > indent ? width - indent : 1, indent);
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

static void render_help(struct screen *screen, struct view *view)
{
	char *text = wrap_help(screen->columns - at_most(1, screen->columns));
	size_t page = screen->lines > 2 ? screen->lines - 2 : 0, lines = 0, line = 0;
	char *rest = text, *next;

	for (next = text; *next; next++)
		lines += *next == '\n';
	if (view->help_top + page > lines)
		view->help_top = lines > page ? lines - page : 0;
	view->page = page;
	screen_print(screen, 0, 0, STYLE_TITLE, "kvmstat top: %s",
		     lines > page ? "help, Up and Down" : "keys and columns");
	while ((next = strsep(&rest, "\n")) && rest) {
		if (line >= view->help_top && line - view->help_top < page)
			screen_print(screen, 2 + line - view->help_top, 1, STYLE_PLAIN, "%s", next);
		line++;
	}
	free(text);
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
		render_help(screen, view);
	else if (view->bars)
		render_bars(screen, view);
	else
		render_level[view->level](screen, view);
}
