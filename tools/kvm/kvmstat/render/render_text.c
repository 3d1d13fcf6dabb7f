// SPDX-License-Identifier: GPL-2.0
/*
 * The model as lines of text.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/descriptions.h"
#include "model/tracker.h"
#include "render/format.h"
#include "render/layout.h"
#include "render/movement.h"
#include "render/render.h"
#include "util/text.h"
#include "util/util.h"

static const char * const scope_names[NUM_SCOPES] = {
	[SCOPE_VM] = "vm",
	[SCOPE_VCPU] = "vcpu",
};

/* The scopes in the order in which they are printed: most of what moves is a vCPU's. */
static const enum scope scope_order[NUM_SCOPES] = { SCOPE_VCPU, SCOPE_VM, };

/* The names of the scopes stand in a column of this width. */
#define SCOPE_WIDTH 6
/* At least, so that the columns stay where they are while different statistics move. */
#define NAME_WIDTH 20
#define MOVEMENT_WIDTH 9
/* Without a terminal. */
#define USUAL_WIDTH 80

#define PLURAL(count) ((count) == 1 ? "" : "s")

static double seconds(uint64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

/* Mostly less than a second; in a recording it can be hours. */
static void format_length(char text[FORMAT_SIZE], uint64_t ns)
{
	snprintf(text, FORMAT_SIZE, ns < 10 * NSEC_PER_SEC ? "%.2g" : "%.0f", seconds(ns));
}

/* As often as a header is repeated, so that one is on the screen. */
#define HEADER_INTERVAL 20

/* Breaks it into several lines if necessary. */
__printf(2, 3)
static void render_title(const struct output *output, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	print_wrapped(output->file, text, output->width > 2 ? output->width - 2 : UINT_MAX, 2);
	fputc('\n', output->file);
	free(text);
}

/* Differs if the columns or the day differ. */
static unsigned int header_number(const struct table *table, const struct tm *tm)
{
	unsigned int number = tm->tm_yday + 1;
	size_t i;

	for (i = 0; i < table->num_columns; i++)
		number = number << 1 | !!table->column[i].width;
	return number;
}

#define DATE_SIZE 32

/* Where it costs nothing, each line has the date, and else the header. */
static void format_moment(char date[DATE_SIZE], char time[DATE_SIZE],
			  const struct output *output, const struct timespec *moment,
			  struct tm *tm)
{
	localtime_r(&moment->tv_sec, tm);
	strftime(date, DATE_SIZE, output->width ? "%Y-%m-%d" : "TIME", tm);
	strftime(time, DATE_SIZE, output->width ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", tm);
}

/* Below a header, which is there again when it is another one, and once on each screen. */
static void print_line(struct output *output, const struct table *table, size_t row,
		       unsigned int header)
{
	if (header != output->header)
		output->num_shown = 0;
	output->header = header;
	if (output->num_shown++ % HEADER_INTERVAL == 0)
		table_print_header(table, output->file);
	table_print_row(table, row, output->file);
}

/* Says which interval the shares are of. */
static void render_length(struct output *output, const struct overviews *overviews)
{
	bool by_cpu = false, is_off = false;
	char length[FORMAT_SIZE];
	size_t i;

	for (i = 0; i < overviews->num_vms; i++) {
		by_cpu |= overviews->vm[i]->rates.shares.by_cpu &&
			  overviews->vm[i]->rates.shares.known[SHARE_GUEST];
		is_off |= overviews->vm[i]->accounting_is_off;
	}
	if (!overviews->elapsed_ns || !overviews->num_vms)
		return;
	format_length(length, overviews->elapsed_ns);
	render_title(output, "CPU shares over the last %s s%s", length,
		     by_cpu ? ", ~ from /proc" : "");
	if (is_off)
		render_title(output, "For exact ones: " ACCOUNT_FOR_TIME);
}

static void render_overviews(struct output *output, const struct overviews *overviews)
{
	struct overview *overview = &output->overview;
	char date[DATE_SIZE], time[DATE_SIZE];
	unsigned int header;
	struct tm tm;
	size_t i;

	for (i = 0; i < overviews->num_vms; i++)
		overview_note(overview, overviews->vm[i], &overviews->vm[i]->rates);
	format_moment(date, time, output, &overviews->time, &tm);
	overview_begin(overview, false, overviews->sorted_by, "",
		       overviews->is_list ? NULL : date);
	for (i = 0; i < overviews->num_vms; i++)
		overview_add_vm(overview, overviews->vm[i], &overviews->vm[i]->rates, time);
	overview_fit(overview, output->width);
	header = header_number(&overview->table, &tm);
	for (i = 0; i < overviews->num_vms; i++)
		print_line(output, &overview->table, i, header);
	if (overviews->is_list)
		render_length(output, overviews);
	table_free(&overview->table);
}

/* The caller frees it. */
static char *title_of(const struct tracked_vm *vm)
{
	return xasprintf("%s, pid %d, %s, %zu vCPU%s", vm->name, vm->pid, vm->id,
			 vm->num_vcpus, PLURAL(vm->num_vcpus));
}

static void render_sample(struct output *output, const struct tracked_vm *vm)
{
	const struct model *model = &vm->model;
	struct grid grid = {
		.scope = SCOPE_WIDTH,
		.name = NAME_WIDTH,
		.value = MOVEMENT_WIDTH,
	};
	char *name = title_of(vm);
	struct rows rows[NUM_SCOPES];
	bool quiet = true;
	int scope;
	size_t i;

	for (scope = 0; scope < NUM_SCOPES; scope++) {
		rows[scope] = moved_rows(&model->group[scope], model->group[scope].delta, false);
		grid_add(&grid, &rows[scope], model->elapsed_ns);
		quiet &= !rows[scope].count;
	}
	fit_grid(&grid, output->width ? output->width : USUAL_WIDTH);

	if (!quiet)
		fputc('\n', output->file);
	render_title(output, "%.1f s: %s%s", seconds(model->last_ns - model->first_ns), name,
		     quiet ? ": nothing moved" : "");
	for (i = 0; i < NUM_SCOPES; i++) {
		scope = scope_order[i];
		grid_print(&grid, scope_names[scope], &rows[scope], model->elapsed_ns,
			   output->file);
		free(rows[scope].row);
	}
	free(name);
}

static void add_totals(struct table *table, const char *scope, const struct rows *rows,
		       uint64_t elapsed_ns)
{
	char text[FORMAT_SIZE];
	const struct row *row;
	size_t i;

	for (i = 0; i < rows->count; i++) {
		row = &rows->row[i];
		table_add(table, "%s", i ? "" : scope);
		table_add(table, "%s", row->desc->name);
		format_value(text, row->desc, row->value);
		table_add(table, "%s", text);
		if (!is_counter(row->desc)) {
			table_add(table, "-");
			table_add(table, "-");
			continue;
		}
		format_value(text, row->desc, row->delta);
		table_add(table, "%s", text);
		format_rate(text, row->desc, rate_per_second(row->delta, elapsed_ns));
		table_add(table, "%s", text);
	}
}

static void render_summary(struct output *output, const struct tracked_vm *vm,
			   const char *ending)
{
	const struct model *model = &vm->model;
	struct column columns[] = {
		{ .title = "", .least = SCOPE_WIDTH - 1, .drop = 3, .left = true, },
		{ .title = "statistic", .left = true, },
		{ .title = "total", .least = 15, .drop = 1, },
		{ .title = "while watched", .least = 15, .drop = 2, },
		{ .title = "per second", .least = 12, },
	};
	struct table table = { .column = columns, .num_columns = ARRAY_SIZE(columns), };
	uint64_t watched_ns = model->last_ns - model->first_ns;
	char *name = title_of(vm);
	unsigned int unmoved = 0;
	struct rows rows;
	int scope;
	size_t i;

	for (i = 0; i < NUM_SCOPES; i++) {
		scope = scope_order[i];
		rows = moved_rows(&model->group[scope], model->group[scope].watched, true);
		unmoved += rows.num_unmoved;
		add_totals(&table, scope_names[scope], &rows, watched_ns);
		free(rows.row);
	}
	table_fit(&table, output->width);
	fputc('\n', output->file);
	render_title(output, "%s: %s, watched for %.1f s. Everything that moved:", name, ending,
		     seconds(watched_ns));
	table_print(&table, output->file);
	fprintf(output->file, "%u statistic%s did not move.\n", unmoved, PLURAL(unmoved));
	table_free(&table);
	free(name);
}

static void render_movement(struct output *output, const struct tracked_vm *vm,
			    const char *ending)
{
	if (ending)
		render_summary(output, vm, ending);
	else
		render_sample(output, vm);
}

/* The values that are not 0, as "number:count" or "name:count"; with units a list. */
static char *format_values(const struct statsfile_desc *desc, const uint64_t *value)
{
	char number[BUCKET_SIZE], text[FORMAT_SIZE];
	const char *gap = is_scaled(desc) ? ", " : " ";
	char *values = xasprintf("%s", ""), *longer_one;
	unsigned int i;

	for (i = 0; i < desc->size; i++) {
		if (!value[desc->first + i])
			continue;
		format_value(text, desc, value[desc->first + i]);
		longer_one = xasprintf("%s%s%s:%s", values, *values ? gap : "",
				       bucket_name(number, desc, i), text);
		free(values);
		values = longer_one;
	}
	return values;
}

static void add_statistic(struct table *table, const struct group *group,
			  const struct statsfile_desc *desc)
{
	uint64_t total = group_total(desc, group->value);
	const char *name = enumerated_name(desc, total);
	char text[FORMAT_SIZE];
	char *values;

	table_add(table, "%s", desc->name);
	table_add(table, "%llu", (unsigned long long)total);
	format_type(text, desc);
	table_add(table, "%s", text);
	format_unit(text, desc);
	table_add(table, "%s", text);
	if (total && (is_histogram(desc) || is_array(desc))) {
		values = format_values(desc, group->value);
		table_add(table, "%s", values);
		free(values);
	} else if (name) {
		table_add(table, "%s", name);
	} else if (is_scaled(desc) && is_quantity(desc)) {
		format_value(text, desc, total);
		table_add(table, "%s", text);
	} else {
		table_add(table, "%s", "");
	}
}

/* The caller frees it. */
static char *subject_name(const struct subject *subject)
{
	const struct vm *vm = subject->vm;
	char *name, *what;

	if (subject->scope == SCOPE_VM)
		what = xasprintf("VM %s", subject->id);
	else if (subject->vcpu)
		what = xasprintf("VM %s, vCPU %u", subject->id, subject->vcpu->number);
	else
		what = xasprintf("sum of %zu vCPU%s", vm_count_vcpus(vm),
				 PLURAL(vm_count_vcpus(vm)));
	name = xasprintf("%s, pid %d, %s", vm->process->name, vm->process->pid, what);
	free(what);
	return name;
}

static void render_description(const struct output *output, const char *description)
{
	if (!description)
		return;
	fputs("    ", output->file);
	print_wrapped(output->file, description,
		      output->width > 8 ? output->width - 8 : UINT_MAX, 4);
	fputc('\n', output->file);
}

/* The known shares of the vCPUs' time. */
static void render_shares(struct output *output, const struct subject *subject)
{
	const struct shares *shares = subject->shares;
	char text[NUM_SHARES * FORMAT_SIZE] = "";
	char part[FORMAT_SIZE];
	char length[FORMAT_SIZE];
	enum share share;
	size_t end;

	for (share = 0; shares && share < NUM_SHARES; share++) {
		if (!shares->known[share])
			continue;
		overview_format_share(part, shares, share);
		end = strlen(text);
		snprintf(text + end, sizeof(text) - end, "%s %s %s", end ? "," : "",
			 column_info[COLUMN_SHARES + share].title, part);
	}
	format_length(length, subject->look_ns);
	if (*text)
		render_title(output, "  of %s s:%s", length, text);
}

static void render_group(struct output *output, const struct subject *subject,
			 const struct group *group)
{
	struct column columns[] = {
		{ .title = "statistic", .left = true, },
		{ .title = "raw value", },
		{ .title = "type", .left = true, .drop = 2, },
		{ .title = "unit", .left = true, .drop = 3, },
		{ .title = "value", .least = 24, .drop = 1, .left = true, .wraps = true, },
	};
	struct table table = { .column = columns, .num_columns = ARRAY_SIZE(columns), };
	char *name = subject_name(subject);
	unsigned int i, count = 0;
	const char **shown;

	if (output->num_shown++)
		fputc('\n', output->file);
	render_title(output, "%s:", name);
	free(name);
	render_shares(output, subject);
	if (!group->schema)
		return;
	shown = xcalloc(group->schema->num_desc, sizeof(*shown));
	for (i = 0; i < group->schema->num_desc; i++) {
		if (!output_shows(output, group, &group->schema->desc[i]))
			continue;
		add_statistic(&table, group, &group->schema->desc[i]);
		shown[count++] = group->schema->desc[i].name;
	}
	table_fit(&table, output->width);
	if (count)
		table_print_header(&table, output->file);
	for (i = 0; i < count; i++) {
		table_print_row(&table, i, output->file);
		if (output->verbose)
			render_description(output, describe_name(shown[i]));
	}
	free(shown);
	table_free(&table);
}

static void render_percentiles(FILE *out, const struct histogram *histogram)
{
	char lower[FORMAT_SIZE], upper[FORMAT_SIZE];
	unsigned int bucket;
	int i;

	for (i = 0; i < NUM_PERCENTILES; i++) {
		bucket = histogram->percentile[i];
		format_bounds(lower, upper, histogram->desc, bucket);
		fprintf(out, "  %s  from %s", percentile_names[i], lower);
		if (bucket_is_open(histogram->desc, bucket))
			fputs(" on\n", out);
		else
			fprintf(out, " to %s\n", upper);
	}
}

/* Those with names have no bounds. */
static void render_buckets(struct output *output, const struct histogram *histogram)
{
	bool named = has_named_buckets(histogram->desc);
	struct column columns[] = {
		{ .title = named ? "name" : "", .left = true, .shortens = true, },
		{ .title = named ? "" : "from", .least = named ? 0 : 10, },
		{ .title = named ? "" : "to", .least = named ? 0 : 10, },
		{ .title = "count", },
		{ .title = "share", .drop = 9, },
		{ .title = "", .least = 10, .most = 40, .left = true, .drop = 8, },
	};
	struct table table = { .column = columns, .num_columns = ARRAY_SIZE(columns), };
	char lower[FORMAT_SIZE], upper[FORMAT_SIZE], number[BUCKET_SIZE];
	uint64_t count, highest = highest_count(histogram);
	size_t i, num_rows;
	unsigned int *rows;

	rows = histogram_rows(histogram, &num_rows);
	for (i = 0; i < num_rows; i++) {
		count = histogram->count[rows[i]];
		format_bounds(lower, upper, histogram->desc, rows[i]);
		table_add(&table, "%s", named ? bucket_name(number, histogram->desc, rows[i]) : "");
		table_add(&table, "%s", named ? "" : lower);
		table_add(&table, "%s", named ? "" : upper);
		table_add(&table, "%llu", (unsigned long long)count);
		table_add(&table, "%.1f%%", 100.0 * count / histogram->total);
		table_add(&table, "%s", "");
	}
	table_fit(&table, output->width);
	for (i = 0; i < num_rows; i++) {
		free(table.cell[(i + 1) * ARRAY_SIZE(columns) - 1]);
		table.cell[(i + 1) * ARRAY_SIZE(columns) - 1] =
			format_bar(histogram->count[rows[i]], highest,
				   columns[ARRAY_SIZE(columns) - 1].width);
	}
	table_print(&table, output->file);
	table_free(&table);
	free(rows);
}

static void render_histogram(struct output *output, const struct subject *subject,
			     const struct histogram *histogram)
{
	char *name = subject_name(subject);
	char time[32] = "", in[32] = "";
	struct tm tm;

	if (output->num_shown++)
		fputc('\n', output->file);
	if (subject->elapsed_ns) {
		localtime_r(&subject->time.tv_sec, &tm);
		strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S: ", &tm);
		snprintf(in, sizeof(in), " in %.1f s", seconds(subject->elapsed_ns));
	}
	render_title(output, "%s%s: %s, %llu value%s%s", time, name, histogram->desc->name,
		     (unsigned long long)histogram->total, PLURAL(histogram->total), in);
	free(name);
	if (!histogram->total)
		return;
	if (!has_named_buckets(histogram->desc))
		render_percentiles(output->file, histogram);
	render_buckets(output, histogram);
}

/* The buckets or the part: "from 8.4 ms on", "hlt"; nothing if it is all of them. */
static void format_part(char *text, size_t size, const struct watch_target *target)
{
	const struct statsfile_desc *desc = target->desc;
	char lower[FORMAT_SIZE], upper[FORMAT_SIZE], number[BUCKET_SIZE];
	unsigned int end = target->first + target->count;

	*text = '\0';
	if (target->count == desc->size)
		return;
	if (has_parts(desc)) {
		snprintf(text, size, " %s", bucket_name(number, desc, target->first));
		return;
	}
	format_bound(lower, desc, bucket_lower(desc, target->first));
	format_bound(upper, desc, bucket_upper(desc, end - 1));
	if (end == desc->size)
		snprintf(text, size, " from %s on", lower);
	else
		snprintf(text, size, " from %s to %s", lower, upper);
}

/* The bounds of buckets are seldom those that were asked for. */
static void render_begin_events(struct output *output, const struct watch_rule *rule,
				const struct watch_target *target)
{
	const char *more = rule->or_equal ? "at least" : "more than";
	char window[FORMAT_SIZE], part[128], whose[32] = "each vCPU";

	format_duration(window, rule->window_ns);
	format_part(part, sizeof(part), target);
	if (target->scope == SCOPE_VM)
		strcpy(whose, "the VM");
	else if (rule->vcpu != EACH_VCPU)
		snprintf(whose, sizeof(whose), "vCPU %d", rule->vcpu);
	if (watch_is_level(target))
		render_title(output, "%s%s of %s: %s %s, once in %s", target->desc->name, part,
			     whose, more, rule->value, window);
	else
		render_title(output, "%s%s of %s: %s %s within %s", target->desc->name, part,
			     whose, more, rule->value, window);
}

static void add_event(struct table *table, const char *time, const struct watch_event *event)
{
	char growth[FORMAT_SIZE], window[FORMAT_SIZE];

	format_value(growth, event->target->desc, event->growth);
	format_duration(window, event->rule->window_ns);
	table_add(table, "%s", time);
	table_add(table, "%d", event->vm->pid);
	if (event->vcpu == NO_VCPU)
		table_add(table, "-");
	else
		table_add(table, "%d", event->vcpu);
	table_add(table, "%s", event->ended ? "ended" : growth);
	table_add(table, "%s", event->ended ? "-" : window);
	table_add(table, "%s", event->vm->name);
}

static void render_event(struct output *output, const struct watch_event *event)
{
	char date[DATE_SIZE], time[DATE_SIZE];
	struct column columns[] = {
		{ .title = date, .least = 8, .left = true, },
		{ .title = "PID", .least = 7, .drop = 1, },
		{ .title = "VCPU", .least = 5, },
		{ .title = watch_is_level(event->target) ? "LEVEL" : "GROWTH", .least = 10, },
		{ .title = "PER", .least = 6, .drop = 8, },
		{ .title = "NAME", .left = true, .shortens = true, },
	};
	struct table table = { .column = columns, .num_columns = ARRAY_SIZE(columns), };
	unsigned int header;
	struct tm tm;

	format_moment(date, time, output, &event->time, &tm);
	add_event(&table, time, event);
	table_fit(&table, output->width);
	header = header_number(&table, &tm);
	print_line(output, &table, 0, header);
	table_free(&table);
}

/* With date and time zone. */
static void format_date(char *text, size_t size, uint64_t real_ns)
{
	time_t seconds = real_ns / NSEC_PER_SEC;
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(text, size, "%Y-%m-%d %H:%M:%S %z", &tm);
}

static void render_recording(struct output *output, const struct recording *recording)
{
	const struct recording_sample *first = recording->sample;
	const struct recording_sample *last = first + recording->num_samples - 1;
	const struct recording_host *host = &recording->host;
	char begin[64], end[64];
	FILE *out = output->file;

	format_date(begin, sizeof(begin), first->real_ns);
	format_date(end, sizeof(end), last->real_ns);
	fprintf(out, "host      %s, Linux %s, %s\n", host->name, host->release, host->machine);
	fprintf(out, "recorded  by kvmstat %s, every %g s", host->version,
		seconds(host->interval_ns));
	if (host->pid)
		fprintf(out, ", process %d only", host->pid);
	fprintf(out, "\nfrom      %s\nto        %s\nsamples   %zu in %.1f s\n", begin, end,
		recording->num_samples, seconds(last->monotonic_ns - first->monotonic_ns));
}

static void render_nothing(struct output *output)
{
	(void)output;
}

const struct renderer text_renderer = {
	.begin = render_nothing,
	.end = render_nothing,
	.overviews = render_overviews,
	.movement = render_movement,
	.group = render_group,
	.histogram = render_histogram,
	.begin_events = render_begin_events,
	.event = render_event,
	.recording = render_recording,
};

const struct renderer *render = &text_renderer;
