// SPDX-License-Identifier: GPL-2.0
/*
 * One VM as lines of text.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "model/descriptions.h"
#include "render/layout.h"
#include "render/movement.h"
#include "render/render_text_vm.h"
#include "util/text.h"

#define PLURAL(count) ((count) == 1 ? "" : "s")

static const char * const scope_names[NUM_SCOPES] = {
	[SCOPE_VM] = "vm",
	[SCOPE_VCPU] = "vcpu",
};

/* The order in which scopes are printed: most moving statistics belong to vCPUs. */
static const enum scope scope_order[NUM_SCOPES] = { SCOPE_VCPU, SCOPE_VM, };

/* Width of the column that names the scope. */
#define SCOPE_WIDTH 6
/* Least widths, so that columns keep their place while other statistics move. */
#define NAME_WIDTH 20
#define MOVEMENT_WIDTH 9
/* Width without a terminal. */
#define USUAL_WIDTH 80

void render_text_title(const struct output *output, const char *format, ...)
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

void format_length(char text[FORMAT_SIZE], uint64_t ns)
{
	snprintf(text, FORMAT_SIZE, ns < 10 * NSEC_PER_SEC ? "%.2g" : "%.0f", seconds(ns));
}

/* The caller frees it. */
static char *title_of(const struct tracked_vm *vm)
{
	if (vm->model.focus.schema)
		return xasprintf("%s, pid %d, %s, vCPU %u", vm->name, vm->pid, vm->id,
				 vm->vcpu[vm->model.focus_index].number);
	return xasprintf("%s, pid %d, %s, %zu vCPU%s", vm->name, vm->pid, vm->id,
			 vm->num_vcpus, PLURAL(vm->num_vcpus));
}

static void render_sample(struct output *output, const struct tracked_vm *vm)
{
	const struct model *model = &vm->model;
	const struct group *group;
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
		group = model_shown(model, scope);
		rows[scope] = moved_rows(group, group->delta, false);
		grid_add(&grid, &rows[scope], model->elapsed_ns);
		quiet &= !rows[scope].count;
	}
	fit_grid(&grid, output->width ? output->width : USUAL_WIDTH);

	if (!quiet)
		fputc('\n', output->file);
	render_text_title(output, "%.1f s: %s%s", seconds(model->last_ns - model->first_ns), name,
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
	const struct group *group;
	unsigned int unmoved = 0;
	struct rows rows;
	int scope;
	size_t i;

	for (i = 0; i < NUM_SCOPES; i++) {
		scope = scope_order[i];
		group = model_shown(model, scope);
		rows = moved_rows(group, group->watched, true);
		unmoved += rows.num_unmoved;
		add_totals(&table, scope_names[scope], &rows, watched_ns);
		free(rows.row);
	}
	table_fit(&table, output->width);
	fputc('\n', output->file);
	render_text_title(output, "%s: %s, watched for %.1f s. Everything that moved:", name,
			  ending, seconds(watched_ns));
	table_print(&table, output->file);
	fprintf(output->file, "%u statistic%s did not move.\n", unmoved, PLURAL(unmoved));
	table_free(&table);
	free(name);
}

void render_text_movement(struct output *output, const struct tracked_vm *vm, const char *ending)
{
	if (ending)
		render_summary(output, vm, ending);
	else
		render_sample(output, vm);
}

/* Values that are not 0: "INDEX:VALUE" or "NAME:VALUE"; commas separate values with units. */
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
		render_text_title(output, "  of %s s:%s", length, text);
}

void render_text_group(struct output *output, const struct subject *subject,
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
	render_text_title(output, "%s:", name);
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
			render_description(output, describe_statistic(subject->scope, shown[i]));
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

/* Named buckets have no bounds. */
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

void render_text_histogram(struct output *output, const struct subject *subject,
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
	render_text_title(output, "%s%s: %s, %llu value%s%s", time, name, histogram->desc->name,
			  (unsigned long long)histogram->total, PLURAL(histogram->total), in);
	free(name);
	if (!histogram->total)
		return;
	if (!has_named_buckets(histogram->desc))
		render_percentiles(output->file, histogram);
	render_buckets(output, histogram);
}
