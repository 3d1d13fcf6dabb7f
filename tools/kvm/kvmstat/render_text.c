// SPDX-License-Identifier: GPL-2.0
/*
 * The model as lines of text.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "movement.h"
#include "render.h"
#include "util.h"

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

#define PLURAL(count) ((count) == 1 ? "" : "s")

static void render_vm(FILE *out, const struct vm *vm)
{
	const struct process *process = vm->process;

	if (!vm_has_statistics(vm))
		fprintf(out, "%7d  %-16s %6zu %9s %11s  %s\n", process->pid, "-",
			vm->num_vcpus_counted, "-", "-", process->name);
	else
		fprintf(out, "%7d  %-16s %6zu %9u %11u  %s\n", process->pid, vm->file.id,
			vm->num_vcpus, num_statistics(vm->file.schema),
			num_statistics(vm_vcpu_schema(vm)), process->name);
}

static void render_vms(struct output *output, const struct inventory *inventory)
{
	FILE *out = output->file;
	size_t i;

	if (!inventory->num_vms)
		return;
	fprintf(out, "%7s  %-16s %6s %9s %11s  %s\n", "PID", "VM", "VCPUS",
		"VM STATS", "VCPU STATS", "NAME");
	for (i = 0; i < inventory->num_vms; i++)
		render_vm(out, inventory->vm[i]);
}

/* As often as a header is repeated, so that one is on the screen. */
#define HEADER_INTERVAL 20

static void format_per_second(char text[FORMAT_SIZE], const struct rates *rates, enum rate rate)
{
	if (rates->known[rate])
		format_count_rate(text, rates->per_second[rate]);
	else
		strcpy(text, "-");
}

static void render_overview(FILE *out, const char *time, const struct tracked_vm *vm)
{
	char exits[FORMAT_SIZE], halts[FORMAT_SIZE], injections[FORMAT_SIZE];
	const struct rates *rates = &vm->rates;
	double share = overview_share(rates);
	char percent[FORMAT_SIZE] = "-";

	format_per_second(exits, rates, RATE_EXITS);
	format_per_second(halts, rates, RATE_HALTS);
	format_per_second(injections, rates, RATE_INJECTIONS);
	if (share >= 0)
		snprintf(percent, sizeof(percent), "%.0f%%", 100 * share);
	fprintf(out, "%s %7d %5zu %9s %9s %9s  %-18s %5s  %s%s\n", time, vm->pid,
		vm->num_vcpus, exits, halts, injections, rates->top ? rates->top : "-",
		percent, vm->name, vm->ended ? " (ended)" : "");
}

static void render_overviews(struct output *output, const struct overviews *overviews)
{
	FILE *out = output->file;
	char time[16];
	struct tm tm;
	size_t i;

	localtime_r(&overviews->time.tv_sec, &tm);
	strftime(time, sizeof(time), "%H:%M:%S", &tm);
	for (i = 0; i < overviews->num_vms; i++) {
		if (output->num_shown++ % HEADER_INTERVAL == 0)
			fprintf(out, "%-8s %7s %5s %9s %9s %9s  %-18s %5s  %s\n", "TIME", "PID",
				"VCPUS", "EXITS/S", "HALTS/S", "INJECT/S", "TOP REASON",
				"SHARE", "NAME");
		render_overview(out, time, overviews->vm[i]);
	}
}

struct grid {
	int name_width;
	int value_width;
	unsigned int columns;
};

static int longer(int width, const char *text)
{
	int length = strlen(text);

	return length > width ? length : width;
}

static void fit_rows(struct grid *grid, const struct rows *rows, uint64_t elapsed_ns)
{
	char text[MOVEMENT_SIZE];
	size_t i;

	for (i = 0; i < rows->count; i++) {
		format_movement(text, &rows->row[i], elapsed_ns);
		grid->name_width = longer(grid->name_width, rows->row[i].desc->name);
		grid->value_width = longer(grid->value_width, text);
	}
}

static void fit_columns(struct grid *grid, unsigned int width)
{
	unsigned int cell = grid->name_width + 1 + grid->value_width + COLUMN_GAP;

	/* The last column needs no gap behind it. */
	width += COLUMN_GAP;
	grid->columns = width < SCOPE_WIDTH + cell ? 1 : (width - SCOPE_WIDTH) / cell;
}

static void render_grid(FILE *out, const struct grid *grid, const char *scope,
			const struct rows *rows, uint64_t elapsed_ns)
{
	char text[MOVEMENT_SIZE];
	size_t i;

	for (i = 0; i < rows->count; i++) {
		if (i % grid->columns)
			fprintf(out, "%*s", COLUMN_GAP, "");
		else
			fprintf(out, "%-*s", SCOPE_WIDTH, i ? "" : scope);
		format_movement(text, &rows->row[i], elapsed_ns);
		fprintf(out, "%-*s %*s", grid->name_width, rows->row[i].desc->name,
			grid->value_width, text);
		if (i + 1 == rows->count || !((i + 1) % grid->columns))
			fputc('\n', out);
	}
}

static void render_title(FILE *out, const struct model *model)
{
	const struct vm *vm = model->vm;

	fprintf(out, "%s, pid %d, %s, %zu vCPU%s", vm->process->name, vm->process->pid,
		vm->file.id, vm->num_vcpus, PLURAL(vm->num_vcpus));
}

static double seconds(uint64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

static void render_sample(struct output *output, const struct model *model)
{
	struct rows rows[NUM_SCOPES];
	FILE *out = output->file;
	struct grid grid = { .name_width = NAME_WIDTH, .value_width = MOVEMENT_WIDTH, };
	bool quiet = true;
	int scope;
	size_t i;

	for (scope = 0; scope < NUM_SCOPES; scope++) {
		rows[scope] = moved_rows(&model->group[scope], model->group[scope].delta, false);
		fit_rows(&grid, &rows[scope], model->elapsed_ns);
		quiet &= !rows[scope].count;
	}
	fit_columns(&grid, output->width);

	if (!quiet)
		fputc('\n', out);
	fprintf(out, "%.1f s: ", seconds(model->last_ns - model->first_ns));
	render_title(out, model);
	fputs(quiet ? ": nothing moved\n" : "\n", out);
	for (i = 0; i < NUM_SCOPES; i++) {
		scope = scope_order[i];
		render_grid(out, &grid, scope_names[scope], &rows[scope], model->elapsed_ns);
		free(rows[scope].row);
	}
}

static void render_totals(FILE *out, const char *scope, const struct rows *rows,
			  uint64_t elapsed_ns, int name_width)
{
	char total[FORMAT_SIZE], watched[FORMAT_SIZE], rate[FORMAT_SIZE];
	const struct row *row;
	size_t i;

	for (i = 0; i < rows->count; i++) {
		row = &rows->row[i];
		format_value(total, row->desc, row->value);
		if (is_counter(row->desc)) {
			format_value(watched, row->desc, row->delta);
			format_rate(rate, row->desc, rate_per_second(row->delta, elapsed_ns));
		} else {
			strcpy(watched, "-");
			strcpy(rate, "-");
		}
		fprintf(out, "%-*s%-*s %15s %15s %12s\n", SCOPE_WIDTH, i ? "" : scope,
			name_width, row->desc->name, total, watched, rate);
	}
}

static void render_summary(struct output *output, const struct model *model,
			   const char *ending)
{
	uint64_t watched_ns = model->last_ns - model->first_ns;
	int name_width = strlen("statistic");
	struct rows rows[NUM_SCOPES];
	unsigned int unmoved = 0;
	FILE *out = output->file;
	int scope;
	size_t i;

	for (scope = 0; scope < NUM_SCOPES; scope++) {
		rows[scope] = moved_rows(&model->group[scope], model->group[scope].watched, true);
		unmoved += rows[scope].num_unmoved;
		for (i = 0; i < rows[scope].count; i++)
			name_width = longer(name_width, rows[scope].row[i].desc->name);
	}

	fputc('\n', out);
	render_title(out, model);
	fprintf(out, ": %s, watched for %.1f s. Everything that moved:\n", ending,
		seconds(watched_ns));
	fprintf(out, "%-*s%-*s %15s %15s %12s\n", SCOPE_WIDTH, "", name_width, "statistic",
		"total", "while watched", "per second");
	for (i = 0; i < NUM_SCOPES; i++) {
		scope = scope_order[i];
		render_totals(out, scope_names[scope], &rows[scope], watched_ns, name_width);
		free(rows[scope].row);
	}
	fprintf(out, "%u statistic%s did not move.\n", unmoved, PLURAL(unmoved));
}

/* The values that are not 0, as "number:count" or "name:count"; with units a list. */
static void render_values(FILE *out, const struct statsfile_desc *desc, const uint64_t *value)
{
	char number[BUCKET_SIZE], text[FORMAT_SIZE];
	const char *gap = "";
	unsigned int i;

	for (i = 0; i < desc->size; i++) {
		if (!value[desc->first + i])
			continue;
		format_value(text, desc, value[desc->first + i]);
		fprintf(out, "%s%s:%s", gap, bucket_name(number, desc, i), text);
		gap = is_scaled(desc) ? ", " : " ";
	}
}

static void render_statistic(FILE *out, const struct group *group,
			     const struct statsfile_desc *desc, int name_width)
{
	char value[FORMAT_SIZE], type[FORMAT_SIZE], unit[FORMAT_SIZE];
	uint64_t total = group_total(desc, group->value);
	const char *name = enumerated_name(desc, total);
	bool several = total && (is_histogram(desc) || is_array(desc));

	format_type(type, desc);
	format_unit(unit, desc);
	fprintf(out, "%-*s %20llu  %-11s  ", name_width, desc->name, (unsigned long long)total,
		type);
	fprintf(out, several || name || is_scaled(desc) ? "%-13s  " : "%s", unit);
	if (several) {
		render_values(out, desc, group->value);
	} else if (name) {
		fputs(name, out);
	} else if (is_scaled(desc)) {
		format_value(value, desc, total);
		fputs(value, out);
	}
	fputc('\n', out);
}

static void render_subject(FILE *out, const struct subject *subject)
{
	const struct vm *vm = subject->vm;

	if (!vm) {
		fputs(subject->id, out);
		return;
	}
	fprintf(out, "%s, pid %d, ", vm->process->name, vm->process->pid);
	if (subject->scope == SCOPE_VM)
		fprintf(out, "VM %s", subject->id);
	else if (subject->vcpu)
		fprintf(out, "VM %s, vCPU %u", subject->id, subject->vcpu->number);
	else
		fprintf(out, "sum of %zu vCPUs", vm->num_vcpus);
}

static void render_group(struct output *output, const struct subject *subject,
			 const struct group *group)
{
	int name_width = strlen("statistic");
	FILE *out = output->file;
	unsigned int i;

	if (output->num_shown++)
		fputc('\n', out);
	render_subject(out, subject);
	fputs(":\n", out);
	if (!group->schema)
		return;
	for (i = 0; i < group->schema->num_desc; i++)
		name_width = longer(name_width, group->schema->desc[i].name);
	fprintf(out, "%-*s %20s  %-11s  %-13s  %s\n", name_width, "statistic", "raw value",
		"type", "unit", "value");
	for (i = 0; i < group->schema->num_desc; i++) {
		if (group_shows(group, &group->schema->desc[i]))
			render_statistic(out, group, &group->schema->desc[i], name_width);
	}
}

/* Of characters: what the fullest bucket gets. */
#define BAR_WIDTH 40
#define BOUND_WIDTH 10

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

static void render_bar(FILE *out, uint64_t count, uint64_t highest)
{
	/* What was counted at all is seen. */
	int length = count ? (int)((double)count / highest * BAR_WIDTH + 0.5) : 0;

	if (count && !length)
		length = 1;
	while (length--)
		fputc('#', out);
}

/* How wide the first two columns are. */
struct row_widths {
	int name;
	int count;
};

static struct row_widths fit_buckets(const struct histogram *histogram, const unsigned int *rows,
				     size_t num_rows)
{
	struct row_widths widths = { .name = strlen("name"), .count = strlen("count"), };
	char number[BUCKET_SIZE], count[FORMAT_SIZE];
	size_t i;

	for (i = 0; i < num_rows; i++)
		widths.name = longer(widths.name, bucket_name(number, histogram->desc, rows[i]));
	snprintf(count, sizeof(count), "%llu", (unsigned long long)highest_count(histogram));
	widths.count = longer(widths.count, count);
	return widths;
}

/* Of buckets with names: they have no bounds. */
static void render_bucket_names(FILE *out, const struct histogram *histogram,
				const unsigned int *rows, size_t num_rows)
{
	struct row_widths widths = fit_buckets(histogram, rows, num_rows);
	uint64_t highest = highest_count(histogram);
	char number[BUCKET_SIZE];
	uint64_t count;
	size_t i;

	fprintf(out, "%-*s %*s  %6s\n", widths.name, "name", widths.count, "count", "share");
	for (i = 0; i < num_rows; i++) {
		count = histogram->count[rows[i]];
		fprintf(out, "%-*s %*llu  %5.1f%%  ", widths.name,
			bucket_name(number, histogram->desc, rows[i]), widths.count,
			(unsigned long long)count, 100.0 * count / histogram->total);
		render_bar(out, count, highest);
		fputc('\n', out);
	}
}

static void render_bucket_bounds(FILE *out, const struct histogram *histogram,
				 const unsigned int *rows, size_t num_rows)
{
	char lower[FORMAT_SIZE], upper[FORMAT_SIZE];
	uint64_t highest = highest_count(histogram);
	uint64_t count;
	size_t i;

	render_percentiles(out, histogram);
	fprintf(out, "%*s %*s %20s  %6s\n", BOUND_WIDTH, "from", BOUND_WIDTH, "to", "count",
		"share");
	for (i = 0; i < num_rows; i++) {
		format_bounds(lower, upper, histogram->desc, rows[i]);
		count = histogram->count[rows[i]];
		fprintf(out, "%*s %*s %20llu  %5.1f%%%s", BOUND_WIDTH, lower, BOUND_WIDTH, upper,
			(unsigned long long)count, 100.0 * count / histogram->total,
			count ? "  " : "");
		render_bar(out, count, highest);
		fputc('\n', out);
	}
}

static void render_histogram(struct output *output, const struct subject *subject,
			     const struct histogram *histogram)
{
	const struct statsfile_desc *desc = histogram->desc;
	FILE *out = output->file;
	unsigned int *rows;
	size_t num_rows;

	if (output->num_shown++)
		fputc('\n', out);
	render_subject(out, subject);
	fprintf(out, ": %s, %llu value%s\n", desc->name, (unsigned long long)histogram->total,
		PLURAL(histogram->total));
	if (!histogram->total)
		return;
	rows = histogram_rows(histogram, &num_rows);
	if (has_named_buckets(desc))
		render_bucket_names(out, histogram, rows, num_rows);
	else
		render_bucket_bounds(out, histogram, rows, num_rows);
	free(rows);
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

const struct renderer text_renderer = {
	.vms = render_vms,
	.overviews = render_overviews,
	.sample = render_sample,
	.summary = render_summary,
	.group = render_group,
	.histogram = render_histogram,
	.recording = render_recording,
};
