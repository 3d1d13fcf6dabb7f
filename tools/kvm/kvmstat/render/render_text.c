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
#define COLUMN_GAP 3
/* At least, so that the columns stay where they are while different statistics move. */
#define NAME_WIDTH 20
#define MOVEMENT_WIDTH 9
/* Of what is no terminal. */
#define USUAL_WIDTH 80
/* Below that, the reasons are cut. */
#define NARROW_WIDTH 60

#define PLURAL(count) ((count) == 1 ? "" : "s")

static void render_vms(struct output *output, const struct inventory *inventory)
{
	struct column columns[] = {
		{ .title = "PID", .least = 7, .drop = 1, },
		{ .title = "VM", .least = 12, .left = true, .drop = 2, },
		{ .title = "VCPUS", },
		{ .title = "VM STATS", .drop = 3, },
		{ .title = "VCPU STATS", .drop = 4, },
		{ .title = "NAME", .left = true, .shortens = true, },
	};
	struct table table = { .column = columns, .num_columns = ARRAY_SIZE(columns), };
	const struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		table_add(&table, "%d", vm->process->pid);
		if (vm_has_statistics(vm)) {
			table_add(&table, "%s", vm->file.id);
			table_add(&table, "%zu", vm->num_vcpus);
			table_add(&table, "%u", num_statistics(vm->file.schema));
			table_add(&table, "%u", num_statistics(vm_vcpu_schema(vm)));
		} else {
			table_add(&table, "-");
			table_add(&table, "%zu", vm->num_vcpus_counted);
			table_add(&table, "-");
			table_add(&table, "-");
		}
		table_add(&table, "%s", vm->process->name);
	}
	table_fit(&table, output->width);
	if (inventory->num_vms)
		table_print(&table, output->file);
	table_free(&table);
}

/* The first column of them. One that nothing is known of is empty, and not there. */
#define SHARES 3

/* As often as a header is repeated, so that one is on the screen. */
#define HEADER_INTERVAL 20

static void add_overview(struct table *table, const char *time, const bool known[NUM_SHARES],
			 const struct tracked_vm *vm)
{
	static const enum rate rates[] = { RATE_EXITS, RATE_HALTS, RATE_INJECTIONS, };
	double share = overview_share(&vm->rates);
	char text[FORMAT_SIZE];
	enum share part;
	size_t i;

	table_add(table, "%s", time);
	table_add(table, "%d", vm->pid);
	table_add(table, "%zu", vm->num_vcpus);
	for (part = 0; part < NUM_SHARES; part++) {
		overview_format_share(text, &vm->rates, part);
		table_add(table, "%s", known[part] ? text : "");
	}
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		overview_format_rate(text, &vm->rates, rates[i]);
		table_add(table, "%s", text);
	}
	/* In the place of the top reason stands that there is no more to come. */
	table_add(table, "%s", vm->ended ? "ended" : overview_reason(&vm->rates));
	if (share >= 0 && !vm->ended)
		table_add(table, "%.0f%%", 100 * share);
	else
		table_add(table, "-");
	table_add(table, "%s", vm->name);
}

/* What is told apart by headers: which columns there are, and the day. */
static unsigned int header_number(const struct table *table, const struct tm *tm)
{
	unsigned int number = tm->tm_yday + 1;
	size_t i;

	for (i = 0; i < table->num_columns; i++)
		number = number << 1 | !!table->column[i].width;
	return number;
}

static void render_overviews(struct output *output, const struct overviews *overviews)
{
	unsigned int top_width = output->width && output->width < NARROW_WIDTH ? 12 : 17;
	bool known[NUM_SHARES] = {};
	char date[16], time[32];
	/* What is idle is what the others leave. */
	struct column columns[] = {
		{ .title = date, .least = 8, .left = true, .drop = 4, },
		{ .title = "PID", .least = 6, .drop = 8, },
		{ .title = "VCPU", .drop = 10, },
		[SHARES + SHARE_GUEST] = { .drop = 1, },
		[SHARES + SHARE_KVM] = { .drop = 5, },
		[SHARES + SHARE_VMM] = { .drop = 5, },
		[SHARES + SHARE_READY] = { .drop = 2, },
		[SHARES + SHARE_IDLE] = { .drop = 6, },
		{ .title = "EXITS/S", .least = 8, },
		{ .title = "HALTS/S", .least = 8, .drop = 9, },
		{ .title = "INJECT/S", .least = 8, .drop = 11, },
		{ .title = "TOP REASON", .least = top_width, .most = top_width, .left = true,
		  .drop = 3, },
		{ .title = "SHARE", .drop = 7, },
		{ .title = "NAME", .left = true, .shortens = true, },
	};
	struct table table = { .column = columns, .num_columns = ARRAY_SIZE(columns), };
	unsigned int header;
	enum share share;
	struct tm tm;
	size_t i;

	for (i = 0; i < overviews->num_vms; i++)
		overview_note_known(known, &overviews->vm[i]->rates);
	for (share = 0; share < NUM_SHARES; share++)
		columns[SHARES + share].title = known[share] ? share_titles[share] : "";
	/* Where it costs nothing, each line has the date, and else the header. */
	localtime_r(&overviews->time.tv_sec, &tm);
	strftime(date, sizeof(date), output->width ? "%Y-%m-%d" : "TIME", &tm);
	strftime(time, sizeof(time), output->width ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
	for (i = 0; i < overviews->num_vms; i++)
		add_overview(&table, time, known, overviews->vm[i]);
	table_fit(&table, output->width);
	header = header_number(&table, &tm);
	for (i = 0; i < overviews->num_vms; i++) {
		if (header != output->header)
			output->num_shown = 0;
		output->header = header;
		if (output->num_shown++ % HEADER_INTERVAL == 0)
			table_print_header(&table, output->file);
		table_print_row(&table, i, output->file);
	}
	table_free(&table);
}

static unsigned int longer(unsigned int width, const char *text)
{
	unsigned int length = strlen(text);

	return length > width ? length : width;
}

static void fit_rows(struct grid *grid, const struct rows *rows, uint64_t elapsed_ns)
{
	char text[MOVEMENT_SIZE];
	size_t i;

	for (i = 0; i < rows->count; i++) {
		format_movement(text, &rows->row[i], elapsed_ns);
		grid->name = longer(grid->name, rows->row[i].desc->name);
		grid->value = longer(grid->value, text);
	}
}

static void render_grid(FILE *out, const struct grid *grid, const char *scope,
			const struct rows *rows, uint64_t elapsed_ns)
{
	char text[MOVEMENT_SIZE];
	char *name;
	size_t i;

	for (i = 0; i < rows->count; i++) {
		if (i % grid->columns)
			fprintf(out, "%*s", (int)grid->gap, "");
		else if (grid->scope)
			fprintf(out, "%-*s", (int)grid->scope, i ? "" : scope);
		format_movement(text, &rows->row[i], elapsed_ns);
		name = text_fit(rows->row[i].desc->name, grid->name);
		fprintf(out, "%s %*s", name, (int)grid->value, text);
		free(name);
		if (i + 1 == rows->count || !((i + 1) % grid->columns))
			fputc('\n', out);
	}
}

/* In several lines if it has to be. */
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

/* The caller frees it. */
static char *title_of(const struct tracked_vm *vm)
{
	return xasprintf("%s, pid %d, %s, %zu vCPU%s", vm->name, vm->pid, vm->id,
			 vm->num_vcpus, PLURAL(vm->num_vcpus));
}

static double seconds(uint64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

static void render_sample(struct output *output, const struct tracked_vm *vm)
{
	const struct model *model = &vm->model;
	struct grid grid = {
		.scope = SCOPE_WIDTH,
		.name = NAME_WIDTH,
		.value = MOVEMENT_WIDTH,
		.gap = COLUMN_GAP,
	};
	char *name = title_of(vm);
	struct rows rows[NUM_SCOPES];
	bool quiet = true;
	int scope;
	size_t i;

	for (scope = 0; scope < NUM_SCOPES; scope++) {
		rows[scope] = moved_rows(&model->group[scope], model->group[scope].delta, false);
		fit_rows(&grid, &rows[scope], model->elapsed_ns);
		quiet &= !rows[scope].count;
	}
	fit_grid(&grid, output->width ? output->width : USUAL_WIDTH);

	if (!quiet)
		fputc('\n', output->file);
	render_title(output, "%.1f s: %s%s", seconds(model->last_ns - model->first_ns), name,
		     quiet ? ": nothing moved" : "");
	for (i = 0; i < NUM_SCOPES; i++) {
		scope = scope_order[i];
		render_grid(output->file, &grid, scope_names[scope], &rows[scope],
			    model->elapsed_ns);
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
	} else if (is_scaled(desc)) {
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

	if (!vm)
		return xasprintf("%s", subject->id);
	if (subject->scope == SCOPE_VM)
		what = xasprintf("VM %s", subject->id);
	else if (subject->vcpu)
		what = xasprintf("VM %s, vCPU %u", subject->id, subject->vcpu->number);
	else
		what = xasprintf("sum of %zu vCPU%s", vm->num_vcpus, PLURAL(vm->num_vcpus));
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
		{ .title = "share", .drop = 2, },
		{ .title = "", .least = 10, .most = 40, .left = true, .drop = 1, },
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

/* With the date and where that is so. */
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
	.vms = render_vms,
	.overviews = render_overviews,
	.sample = render_sample,
	.summary = render_summary,
	.group = render_group,
	.histogram = render_histogram,
	.recording = render_recording,
};
