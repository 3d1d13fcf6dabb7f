// SPDX-License-Identifier: GPL-2.0
/*
 * Draws the view into a screen in memory.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/why.h"
#include "render/format.h"
#include "render/layout.h"
#include "render/movement.h"
#include "render/overview.h"
#include "render/render.h"
#include "render/screen.h"
#include "util/text.h"

/* A screen with fewer lines omits the sentence of why and the number of messages. */
#define LOW_SCREEN 8

#define SCOPE_WIDTH 6

/* The most important keys come first; keys without room are left out. */
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

static const char * const vcpu_keys[] = { "q back", "? help", "p pause", "+ - interval", NULL, };

#define PLURAL(count) ((count) == 1 ? "" : "s")

/* Makes all cells blank. */
static void screen_clear(struct screen *screen)
{
	size_t i, cells = (size_t)screen->lines * screen->columns;

	screen->cell = xreallocarray(screen->cell, cells, sizeof(*screen->cell));
	for (i = 0; i < cells; i++)
		screen->cell[i] = (struct screen_cell) { .character = L' ', };
}

void screen_free(struct screen *screen)
{
	free(screen->cell);
	screen->cell = NULL;
}

/* Ignores cells outside of the screen. */
static void screen_put(struct screen *screen, unsigned int line, unsigned int column,
		       wchar_t character, enum screen_style style)
{
	if (line < screen->lines && column < screen->columns)
		screen->cell[(size_t)line * screen->columns + column] = (struct screen_cell) {
			.character = character,
			.style = style,
		};
}

/* Returns the column behind the text. */
__printf(5, 6)
static unsigned int screen_print(struct screen *screen, unsigned int line, unsigned int column,
				 enum screen_style style, const char *format, ...)
{
	const char *next;
	wchar_t character;
	unsigned int length;
	va_list args;
	char *text;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	for (next = text; (length = text_decode(next, &character)); next += length) {
		if (!text_character_width(character))
			continue;
		screen_put(screen, line, column,
			   character < 0x80 || screen->unicode ? character : L'?', style);
		column += text_character_width(character);
	}
	free(text);
	return column;
}

/* Styles the whole line. */
static void screen_set_style(struct screen *screen, unsigned int line, enum screen_style style)
{
	unsigned int column;

	for (column = 0; line < screen->lines && column < screen->columns; column++)
		screen->cell[(size_t)line * screen->columns + column].style = style;
}

static unsigned int at_most(unsigned int number, unsigned int limit)
{
	return number < limit ? number : limit;
}

/* Puts lines, each of which ends with a newline, and frees them. Returns the next line. */
static unsigned int put_lines(struct screen *screen, unsigned int line, unsigned int end,
			      char *text)
{
	char *rest = text, *next;

	for (; line < end && (next = strsep(&rest, "\n")) && rest; line++)
		screen_print(screen, line, 0, STYLE_PLAIN, "%s", next);
	free(text);
	return line;
}

/* Puts the table from @line on. The title of the sort column has a style of its own. */
static void put_table(struct screen *screen, unsigned int line, struct overview *overview)
{
	unsigned int at = 0, i, end;
	size_t size;
	char *text;
	FILE *out;

	overview_fit(overview, screen->columns);
	out = open_memstream(&text, &size);
	table_print(&overview->table, out);
	fclose(out);
	put_lines(screen, line, screen->lines, text);
	screen_set_style(screen, line, STYLE_HEADER);
	for (i = 0; i < OVERVIEW_COLUMNS && screen->lines > line; i++) {
		end = at + overview->column[i].width;
		for (; at < end && at < screen->columns; at++) {
			if (overview->column[i].title == overview->sorted_title)
				screen->cell[line * screen->columns + at].style = STYLE_SORTED;
		}
		at = end + !!overview->column[i].width;
	}
	table_free(&overview->table);
}

static const char *sort_mark(const struct view *view)
{
	return view->ascending ? "^" : "v";
}

#define VCPU_NAME_SIZE 24

/* @word precedes the number of a vCPU. */
static void format_vcpu(char text[VCPU_NAME_SIZE], const struct tracked_vcpu *vcpu,
			const char *word)
{
	if (vcpu->number >= TRACKED_THREAD)
		snprintf(text, VCPU_NAME_SIZE, "t%u", vcpu->number - TRACKED_THREAD);
	else
		snprintf(text, VCPU_NAME_SIZE, "%s%u", word, vcpu->number);
}

/* The time of a recording, whether top is paused, and the interval. */
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
 * Puts the state of the view on the right, and the title on the left. If there is no room for both,
 * first the interval goes, then the date, then each next title says less. Frees the titles.
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

/* The lines above the keys. */
struct message {
	char *text;			/* NULL: nothing; freed by the caller */
	unsigned int lines;
	enum screen_style style;
};

/* Takes at most half of the screen. */
static void set_message(struct message *message, const struct screen *screen, const char *text,
			size_t more)
{
	unsigned int room = screen->lines / 2;
	char *end;
	size_t size;
	FILE *file;

	file = open_memstream(&message->text, &size);
	print_wrapped(file, text, screen->columns, 0);
	fclose(file);
	message->lines = 1;
	for (end = message->text; (end = strchr(end, '\n')) && message->lines < room; end++)
		message->lines++;
	if (end)
		*end = '\0';
	if (!more || screen->lines < LOW_SCREEN)
		return;
	end = xasprintf("%s\n(%zu more: press any key)", message->text, more);
	free(message->text);
	message->text = end;
	message->lines++;
}

/* The first unread problem: a key press shows the next. */
static struct message message_of(const struct screen *screen, struct view *view)
{
	const struct inventory *inventory = view->tracker->inventory;
	struct message message = { .style = STYLE_ALERT, };
	bool denied = inventory && inventory_is_denied(inventory) && !view->denied_read;
	size_t left = 0;
	char *text;

	/* Problems are forgotten after a while: see PROBLEMS_NS. */
	if (inventory && inventory->num_problems > view->problems_read)
		left = inventory->num_problems - view->problems_read;
	view->problems_drawn = view->problems_read;
	view->denied_drawn = view->denied_read;
	if (screen->lines < 3)
		return message;
	if (view->filter[0] && view->level == VIEW_HOST && !view->typing) {
		message.style = STYLE_TITLE;
		text = xasprintf("only with '%s', Esc shows all", view->filter);
		set_message(&message, screen, text, 0);
		free(text);
	} else if (left) {
		set_message(&message, screen, inventory->problem[view->problems_drawn++],
			    left - 1 + denied);
	} else if (denied) {
		text = inventory_explain_denied(inventory);
		set_message(&message, screen, text, 0);
		free(text);
		view->denied_drawn = true;
	}
	return message;
}

/* Puts as many keys as there is room for. */
static void put_keys(struct screen *screen, unsigned int line, const char * const *keys)
{
	unsigned int at = 0;

	for (; *keys && at + strlen(*keys) <= screen->columns; keys++)
		at = screen_print(screen, line, at, STYLE_FAINT, "%s", *keys) + 2;
}

static void put_footer(struct screen *screen, struct view *view, const struct message *message,
		       const char * const *keys)
{
	unsigned int line = screen->lines - 1, left = message->lines;
	char *rest = message->text, *text;

	if (screen->lines < 3)
		return;
	for (; left && (text = strsep(&rest, "\n")); left--)
		screen_print(screen, line - left, 0, message->style, "%s", text);
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
	/* "0" would say that nothing happens. */
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

/*
 * A function per level draws it. @lines: between header and footer. Returns the footer's keys.
 */
static const char * const *render_host(struct screen *screen, struct view *view, unsigned int lines)
{
	size_t first = view_scroll(view, lines), count = view->list[VIEW_HOST].count;
	const struct inventory *inventory = view->tracker->inventory;
	struct overview *overview = &view->vms;
	const struct tracked_vm *vm;
	unsigned int i;

	lines = at_most(lines, count - first);
	overview_begin(overview, false, view->sort, sort_mark(view), NULL);
	/* A VM that has ended stays for a while, without rates. */
	for (i = 0; i < lines; i++) {
		vm = view->vm[first + i];
		overview_add_vm(overview, vm, vm->ended ? NULL : &vm->rates, "");
	}
	put_host_title(screen, view);
	put_table(screen, 1, overview);
	for (i = 0; i < lines; i++) {
		if (view->vm[first + i]->ended)
			screen_set_style(screen, 2 + i, STYLE_FAINT);
		if (first + i == view_selected_line(view))
			screen_set_style(screen, 2 + i, STYLE_SELECTED);
	}
	if (!view->tracker->num_vms)
		screen_print(screen, 2, 0, STYLE_PLAIN, "No process%s has a VM.",
			     inventory && inventory_is_denied(inventory) ?
			     " that kvmstat may look into" : "");
	else if (!count)
		screen_print(screen, 2, 0, STYLE_PLAIN, "No VM matches.");
	return host_keys;
}

/* Puts moving statistics from @line on, in as many columns as fit. Returns the next line. */
static unsigned int put_statistics(struct screen *screen, unsigned int line, unsigned int end,
				   const char *scope, const struct group *group,
				   uint64_t elapsed_ns)
{
	struct rows rows = moved_rows(group, group->delta, false);
	struct grid grid = { .scope = SCOPE_WIDTH, };
	size_t size;
	char *text;
	FILE *out;

	grid_add(&grid, &rows, elapsed_ns);
	fit_grid(&grid, screen->columns);
	out = open_memstream(&text, &size);
	grid_print(&grid, scope, &rows, elapsed_ns, out);
	fclose(out);
	free(rows.row);
	return put_lines(screen, line, end, text);
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

/* Puts why the VM is slow from line 1 on, unless the screen is low. Returns the next line. */
static unsigned int put_why(struct screen *screen, const struct tracked_vm *vm, unsigned int end)
{
	char *sentence, *text;
	size_t size;
	FILE *out;

	if (screen->lines < LOW_SCREEN || why_of_vm(vm) <= WHY_ENDED)
		return 1;
	sentence = why_sentence(vm);
	out = open_memstream(&text, &size);
	print_wrapped(out, sentence, screen->columns, 0);
	fputc('\n', out);
	fclose(out);
	free(sentence);
	return put_lines(screen, 1, end, text);
}

static const char * const *render_vm(struct screen *screen, struct view *view, unsigned int lines)
{
	const struct tracked_vm *inside = view->inside;
	const struct model *model = &inside->model;
	unsigned int end = 2 + lines, line = put_why(screen, inside, 1 + lines / 2), i;
	bool is_known = !inside->ended && (inside->has_rates || inside->num_tracked_threads);
	struct overview *overview = &view->vcpus;
	char vcpus[32], name[VCPU_NAME_SIZE];
	const struct tracked_vcpu *vcpu;
	size_t first;

	lines -= line - 1;
	/* Leave at least half of the lines for the statistics. */
	lines = at_most(view->list[VIEW_VM].count, (lines + 1) / 2);
	first = view_scroll(view, lines);
	lines = at_most(lines, view->list[VIEW_VM].count - first);
	overview_begin(overview, true, view->sort, sort_mark(view), NULL);
	for (i = 0; i < lines; i++) {
		vcpu = view->vcpu[first + i];
		format_vcpu(name, vcpu, "");
		overview_add_vcpu(overview, vcpu, name, is_known ? &vcpu->rates : NULL);
	}
	snprintf(vcpus, sizeof(vcpus), "%zu vCPU%s", inside->num_vcpus,
		 PLURAL(inside->num_vcpus));
	put_vm_title(screen, view, vcpus);
	put_table(screen, line++, overview);
	for (i = 0; i < lines; i++, line++) {
		if (first + i == view_selected_line(view))
			screen_set_style(screen, line, STYLE_SELECTED);
	}
	if (has_unknown_threads(inside) && line < end)
		screen_print(screen, line++, 0, STYLE_FAINT, "%s",
			     "t1234 is a thread that runs an unknown vCPU.");
	if (!inside->has_statistics) {
		screen_print(screen, line, 0, STYLE_PLAIN, "Its statistics are not available.");
		return thread_keys;
	}
	if (line < end) {
		screen_print(screen, line, 0, STYLE_PLAIN, "%s",
			     "What moves, sums of all vCPUs and of the VM:");
		screen_set_style(screen, line++, STYLE_HEADER);
		line = put_statistics(screen, line, end, "vcpu", &model->group[SCOPE_VCPU],
				      model->elapsed_ns);
		put_statistics(screen, line, end, "vm", &model->group[SCOPE_VM], model->elapsed_ns);
	}
	return vm_keys;
}

static const char * const *render_vcpu(struct screen *screen, struct view *view,
				       unsigned int lines)
{
	const struct model *model = &view->inside->model;
	char vcpu[VCPU_NAME_SIZE];

	view_scroll(view, lines);
	format_vcpu(vcpu, view_vcpu(view), "vCPU ");
	put_vm_title(screen, view, vcpu);
	screen_print(screen, 1, 0, STYLE_PLAIN, "What moves in it:");
	screen_set_style(screen, 1, STYLE_HEADER);
	if (!model->focus.num_members)
		screen_print(screen, 2, 0, STYLE_PLAIN, "Known after the next sample.");
	else
		put_statistics(screen, 2, 2 + lines, "vcpu", &model->focus, model->elapsed_ns);
	return vcpu_keys;
}

/* Keys and what they do; after the empty row, columns and what they show. */
static const char * const help[][2] = {
	{ "Enter", "look into a VM: why it is slow, its vCPUs, what moves;", },
	{ "", "into a vCPU: what moves in it", },
	{ "Esc, Backspace, q", "back; q on the list of VMs quits", },
	{ "Up, Down, k, j", "select; also Page Up, Page Down, Home, End", },
	{ "Left, Right, < >", "sort by another column; r: the other way round", },
	{ "/", "only VMs whose name, pid or top reason has this text", },
	{ "+ -", "longer or shorter intervals; p, space: pause, and go on", },
	{ "?", "this help, and back", },
	{},
	{ "STATE", "starved: waits for a CPU; waits: for memory or a lock;", },
	{ "", "exits: KVM handles them; vmm: waits for its VMM; busy: computes", },
	{ "GUEST%", "of the vCPUs' time, in the guest; KVM%: in KVM; VMM%: in the VMM", },
	{ "READY%", "waiting for a CPU; WAIT%: for memory or a lock; IDLE%: halted", },
	{ "OFF%", "from /proc (~): neither on a CPU nor waiting for one", },
	{ "OTHER%", "CPU time of the VMM's other threads, such as I/O; 100: one CPU", },
	{ "EXITS/s", "exits from the guest; HALTS/s: halts; INJ/s: injected interrupts", },
	{ "READY99", "99% of the waits for a CPU were shorter; EXIT99: of the exits", },
	{ "TOP REASON", "the most frequent exit reason; other: reasons that are not counted", },
	{ "-", "not counted on this architecture, or not known yet", },
};

/* Explains a key beside it, or below it if the key is long. */
static char *wrap_help(unsigned int width)
{
	unsigned int indent = width < 60 ? 13 : 19;
	size_t i, size;
	char *text;
	FILE *out;

	out = open_memstream(&text, &size);
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
	static const char * const *(*const render_level[NUM_VIEW_LEVELS])(struct screen *,
			struct view *, unsigned int lines) = {
		[VIEW_HOST] = render_host,
		[VIEW_VM] = render_vm,
		[VIEW_VCPU] = render_vcpu,
	};
	const char * const *keys;
	struct message message;
	unsigned int others;

	screen_clear(screen);
	if (view->help) {
		render_help(screen, view);
		return;
	}
	message = message_of(screen, view);
	/* Title and header above, keys below. */
	others = message.lines + 3;
	keys = render_level[view->level](screen, view,
					 screen->lines > others ? screen->lines - others : 0);
	put_footer(screen, view, &message, keys);
	free(message.text);
}
