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
	"q quit", "? help", "Enter its vCPUs", "/ filter", "< > sort", "r reverse",
	"p pause", "+ - interval", NULL,
};

static const char * const vm_keys[] = {
	"q back", "? help", "Enter all of a vCPU", "< > sort", "r reverse",
	"p pause", "+ - interval", NULL,
};

static const char * const thread_keys[] = {
	"q back", "? help", "< > sort", "r reverse", "p pause", "+ - interval", NULL,
};

static const char * const vcpu_keys[] = {
	"q back", "? help", "Enter a histogram", "p pause", "+ - interval", NULL,
};

static const char * const histogram_keys[] = {
	"q back", "? help", "p pause", "+ - interval", NULL,
};

#define PLURAL(count) ((count) == 1 ? "" : "s")

static unsigned int at_most(unsigned int number, unsigned int limit)
{
	return number < limit ? number : limit;
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

/* What it is sorted by is seen. */
static void put_header(struct screen *screen, const struct overview *overview)
{
	const char *titles[OVERVIEW_COLUMNS];
	unsigned int i, column, at = 0;

	for (i = 0; i < OVERVIEW_COLUMNS; i++)
		titles[i] = overview->column[i].title;
	put_row(screen, 1, overview->column, titles, OVERVIEW_COLUMNS);
	screen_set_style(screen, 1, STYLE_HEADER);
	for (i = 0; i < OVERVIEW_COLUMNS; i++) {
		if (!overview->column[i].width)
			continue;
		for (column = 0; column < overview->column[i].width; column++) {
			if (titles[i] == overview->sorted_title && screen->lines > 1 &&
			    at + column < screen->columns)
				screen->cell[screen->columns + at + column].style = STYLE_SORTED;
		}
		at += column + 1;
	}
}

static void put_line(struct screen *screen, unsigned int line, const struct overview *overview,
		     size_t row)
{
	put_row(screen, line, overview->column,
		(const char * const *)overview->table.cell + row * OVERVIEW_COLUMNS,
		OVERVIEW_COLUMNS);
}

static const char *sort_mark(const struct view *view)
{
	return view->ascending ? "^" : "v";
}

#define VCPU_NAME_SIZE 24

/* In a title it has a word in front. */
static void format_vcpu(char text[VCPU_NAME_SIZE], const struct tracked_vcpu *vcpu,
			const char *word)
{
	if (vcpu->number >= TRACKED_THREAD)
		snprintf(text, VCPU_NAME_SIZE, "t%u", vcpu->number - TRACKED_THREAD);
	else
		snprintf(text, VCPU_NAME_SIZE, "%s%u", word, vcpu->number);
}

static void add_vcpu(struct overview *overview, const struct tracked_vm *inside,
		     const struct tracked_vcpu *vcpu)
{
	bool is_known = !inside->ended && (inside->has_rates || inside->num_tracked_threads);
	char text[VCPU_NAME_SIZE];

	format_vcpu(text, vcpu, "");
	overview_add_vcpu(overview, text, is_known ? &vcpu->rates : NULL);
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

	if (view->filter[0] && view->level == VIEW_HOST && !view->typing)
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

static bool some_are_denied(const struct view *view)
{
	const struct inventory *inventory = view->tracker->inventory;

	return inventory && inventory_is_denied(inventory);
}

static void render_host(struct screen *screen, struct view *view)
{
	unsigned int lines = list_lines(screen, view), i;
	size_t first = view_scroll(view, lines), count = view->list[VIEW_HOST].count;
	struct overview *overview = &view->vms;

	lines = at_most(lines, count - first);
	overview_begin(overview, false, view->sort, sort_mark(view), NULL);
	/* One that has ended stays for a while, when it does nothing any more. */
	for (i = 0; i < lines; i++)
		overview_add_vm(overview, view->vm[first + i], view->vm[first + i]->ended ?
				NULL : &view->vm[first + i]->rates, "");
	overview_fit(overview, screen->columns);
	put_host_title(screen, view);
	put_header(screen, overview);
	for (i = 0; i < lines; i++) {
		put_line(screen, 2 + i, overview, i);
		if (view->vm[first + i]->ended)
			screen_set_style(screen, 2 + i, STYLE_FAINT);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, 2 + i, STYLE_SELECTED);
	}
	table_free(&overview->table);
	if (!view->tracker->num_vms)
		screen_print(screen, 2, 0, STYLE_PLAIN, "No process%s has a VM.",
			     some_are_denied(view) ? " that may be looked into" : "");
	else if (!count)
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
	unsigned int lines = list_lines(screen, view), line = 2, end = line + lines, i;
	struct overview *overview = &view->vcpus;
	char vcpus[32];
	size_t first;

	/* At least half of it is left for the statistics. */
	lines = at_most(view->list[VIEW_VM].count, (lines + 1) / 2);
	first = view_scroll(view, lines);
	lines = at_most(lines, view->list[VIEW_VM].count - first);
	overview_begin(overview, true, view->sort, sort_mark(view), NULL);
	for (i = 0; i < lines; i++)
		add_vcpu(overview, inside, view->vcpu[first + i]);
	overview_fit(overview, screen->columns);
	snprintf(vcpus, sizeof(vcpus), "%zu vCPU%s", inside->num_vcpus,
		 PLURAL(inside->num_vcpus));
	put_vm_title(screen, view, vcpus);
	put_header(screen, overview);
	for (i = 0; i < lines; i++, line++) {
		put_line(screen, line, overview, i);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, line, STYLE_SELECTED);
	}
	table_free(&overview->table);
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

/* Keys, and what they do; behind an empty one columns, and what stands there. */
static const char * const help[][2] = {
	{ "Enter", "look into a VM: its vCPUs, and the statistics that move;", },
	{ "", "into a vCPU: all that it counts; into a histogram", },
	{ "Esc, Backspace, q", "back; q on the list of VMs quits", },
	{ "Up, Down, k, j", "select; also Page Up, Page Down, Home, End", },
	{ "Left, Right, < >", "sort by another column; r: the other way round", },
	{ "/", "only VMs whose name, pid or top reason has this text", },
	{ "+ -", "longer or shorter intervals; p, space: pause, and go on", },
	{ "?", "this help, and back", },
	{},
	{ "STATE", "starved: of CPU; waits: for memory; exits: KVM is busy with them;", },
	{ "", "vmm: its VMM is; paused, stopped; busy: itself; idle", },
	{ "GUEST%", "of the vCPUs' time: in the guest; KVM% in KVM, VMM% outside of it,", },
	{ "READY%", "waiting for a CPU, WAIT% for memory or a lock, IDLE% halted", },
	{ "OFF%", "of /proc (~): WAIT% or IDLE%, it cannot tell", },
	{ "OTHER%", "of a CPU: what other threads of the process take, as for I/O", },
	{ "EXITS/s", "exits from the guest to the host; HALTS/s, INJ/s: interrupts", },
	{ "READY99", "99 of 100 waits for a CPU were below; EXIT99: exits", },
	{ "TOP REASON", "what most exits were for, and its share; other: what is not counted", },
	{ "OF EXITS", "of a statistic that counts exits: its share in all of them", },
	{ "-", "not counted on this architecture, or not known yet", },
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
	else
		render_level[view->level](screen, view);
}
