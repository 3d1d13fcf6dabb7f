// SPDX-License-Identifier: GPL-2.0
/*
 * Output for programs. JSON: one complete object per line; a command that prints once prints an
 * array of them. CSV (RFC 4180): a header, then a line per object or per statistic in it. Its cells
 * come from the same objects.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "model/descriptions.h"
#include "model/tracker.h"
#include "model/why.h"
#include "render/format.h"
#include "render/render.h"
#include "render/render_csv.h"
#include "util/clock.h"
#include "util/util.h"

/* Increase it when a key changes its meaning. */
#define SCHEMA_VERSION 2

static bool is_csv(void)
{
	return render == &csv_renderer;
}

static struct json_object *checked(struct json_object *object)
{
	if (!object) {
		fputs("kvmstat: out of memory\n", stderr);
		exit(STATUS_ERROR);
	}
	return object;
}

/* Takes over the value. */
static void add(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value))
		checked(NULL);
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	add(object, key, text ? checked(json_object_new_string(text)) : NULL);
}

static void add_number(struct json_object *object, const char *key, uint64_t number)
{
	add(object, key, checked(json_object_new_uint64(number)));
}

static void add_integer(struct json_object *object, const char *key, int number, bool known)
{
	add(object, key, known ? checked(json_object_new_int(number)) : NULL);
}

/* Rates and shares: more digits would be noise. */
static void add_decimal(struct json_object *object, const char *key, double number, bool known)
{
	char text[FORMAT_SIZE];

	snprintf(text, sizeof(text), "%.3f", number);
	add(object, key, known ? checked(json_object_new_double_s(number, text)) : NULL);
}

static struct json_object *new_object(void)
{
	return checked(json_object_new_object());
}

static struct json_object *new_line(const char *type)
{
	struct json_object *line = new_object();

	add_number(line, "schema_version", SCHEMA_VERSION);
	add_text(line, "type", type);
	return line;
}

/*
 * The first key makes json-c get a random number. On a CPU without an instruction for that, it
 * opens a file, which it may not do after kvmstat has given up privileges.
 */
void json_prepare(void)
{
	json_object_put(new_line("none"));
}

static void begin_table(struct output *output, const char *table)
{
	if (is_csv() && !output->num_shown++)
		csv_print_row(output->file, table, NULL, NULL);
}

/* Frees the line. */
static void print_line(FILE *out, struct json_object *line)
{
	const char *text = json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN |
							  JSON_C_TO_STRING_NOSLASHESCAPE);

	if (!text)
		checked(NULL);
	fprintf(out, "%s\n", text);
	json_object_put(line);
}

static void render_begin(struct output *output)
{
	if (is_csv())
		return;
	fputs("[", output->file);
	output->is_document = true;
	output->num_shown = 0;
}

static void render_end(struct output *output)
{
	if (!is_csv())
		fputs("]\n", output->file);
	output->is_document = false;
}

/*
 * Prints an element of the array, or a line. Frees the object. @table: its columns in CSV; NULL if
 * the rows are already printed.
 */
static void print_object(struct output *output, struct json_object *line, const char *table)
{
	if (is_csv()) {
		if (table)
			csv_print_row(output->file, table, line, NULL);
		json_object_put(line);
		return;
	}
	if (output->is_document && output->num_shown++)
		fputs(",", output->file);
	print_line(output->file, line);
}

/* Adds a statistic as a key of @all, or prints it as a row. Takes it over. */
static void put_statistic(struct output *output, const char *table, struct json_object *line,
			  struct json_object *all, const char *name, const char *scope,
			  struct json_object *statistic)
{
	if (!is_csv()) {
		add(all, name, statistic);
		return;
	}
	add_text(statistic, "statistic", name);
	add_text(statistic, "scope", scope);
	csv_print_row(output->file, table, line, statistic);
	json_object_put(statistic);
}

static struct json_object *new_seconds(uint64_t value, int exponent)
{
	struct json_object *seconds = new_object();

	add_number(seconds, "value", value);
	add_text(seconds, "unit", "seconds");
	add_number(seconds, "base", 10);
	add_integer(seconds, "exponent", exponent, true);
	return seconds;
}

static void add_duration(struct json_object *object, const char *key, uint64_t ns)
{
	add(object, key, new_seconds(ns, -9));
}

/* The time since 1970. Many readers use double, which cannot hold it in nanoseconds. */
static void add_time(struct json_object *object, const char *key, uint64_t ns)
{
	add(object, key, new_seconds(ns / 1000, -6));
}

static void add_timespec(struct json_object *object, struct timespec time)
{
	add_time(object, "time", time.tv_sec * NSEC_PER_SEC + time.tv_nsec);
}

static void add_vm(struct json_object *line, pid_t pid, const char *name, const char *id,
		   size_t num_vcpus)
{
	add_number(line, "pid", pid);
	add_text(line, "name", name);
	add_text(line, "id", id && strcmp(id, "-") ? id : NULL);
	add_number(line, "vcpus", num_vcpus);
}

static void add_tracked(struct json_object *line, const struct tracked_vm *vm)
{
	add_vm(line, vm->pid, vm->name, vm->id, vm->num_vcpus);
}

static void add_subject(struct json_object *line, const struct subject *subject)
{
	const struct vm *vm = subject->vm;

	add_vm(line, vm->process->pid, vm->process->name,
	       vm_has_statistics(vm) ? vm->file.id : NULL, vm_count_vcpus(vm));
	add_text(line, "scope",
		 subject->vcpu ? "vcpu" : subject->scope == SCOPE_VM ? "vm" : "vcpus");
	if (subject->vcpu)
		add_number(line, "vcpu", subject->vcpu->number);
}

static struct json_object *new_statistic(const struct statsfile_desc *desc)
{
	struct json_object *statistic = new_object();
	char text[FORMAT_SIZE];

	format_type(text, desc);
	add_text(statistic, "type", text);
	format_unit_name(text, desc);
	add_text(statistic, "unit", strcmp(text, "-") ? text : NULL);
	add_integer(statistic, "base", statsfile_base(desc) == KVM_STATS_BASE_POW2 ? 2 : 10,
		    statsfile_base(desc) <= KVM_STATS_BASE_MAX);
	add_integer(statistic, "exponent", desc->exponent, true);
	return statistic;
}

/* The count of a histogram is the number of values that it counted. */
static void add_value(struct json_object *statistic, const struct statsfile_desc *desc,
		      const struct group *group)
{
	uint64_t total = group_total(desc, group->value);

	add_number(statistic, is_histogram(desc) ? "count" : "value", total);
	if (is_enumeration(desc))
		add_text(statistic, "name", enumerated_name(desc, total));
}

static struct json_object *new_bounds(const struct statsfile_desc *desc, unsigned int bucket)
{
	struct json_object *bounds = new_object();

	add_number(bounds, "from", bucket_lower(desc, bucket));
	if (bucket_is_open(desc, bucket))
		add(bounds, "to", NULL);
	else
		add_number(bounds, "to", bucket_upper(desc, bucket));
	return bounds;
}

static struct json_object *new_named(const struct statsfile_desc *desc, unsigned int index)
{
	struct json_object *named = new_object();

	add_text(named, "name", statsfile_value_name(desc, index));
	return named;
}

/* Each bucket of a histogram, or each value of an array. */
static struct json_object *add_all(struct json_object *statistic, const struct statsfile_desc *desc,
				   const uint64_t *value)
{
	struct json_object *all = checked(json_object_new_array()), *one;
	unsigned int i;

	for (i = 0; i < desc->size; i++) {
		one = has_parts(desc) ? new_named(desc, i) : new_bounds(desc, i);
		add_number(one, is_histogram(desc) ? "count" : "value", value[i]);
		if (json_object_array_add(all, one))
			checked(NULL);
	}
	add(statistic, is_histogram(desc) ? "buckets" : "values", all);
	return all;
}

static struct json_object *new_rate(double per_second, bool known)
{
	struct json_object *rate = known ? new_object() : NULL;

	if (known) {
		add_decimal(rate, "value", per_second, true);
		add_text(rate, "unit", "1/second");
	}
	return rate;
}

static struct json_object *new_reason(const struct rates *rates)
{
	struct json_object *reason = new_rate(rates->top_per_second, rates->top_per_second);
	double share = rates_share(rates);

	if (reason) {
		add_text(reason, "name", rates->top);
		add_decimal(reason, "share", share, share >= 0);
	}
	return reason;
}

/* NULL if no share is known. */
static struct json_object *new_shares(const struct shares *shares)
{
	struct json_object *parts = NULL;
	enum share share;

	for (share = 0; share < NUM_SHARES; share++) {
		if (!shares->known[share])
			continue;
		if (!parts)
			parts = new_object();
		add_decimal(parts, column_info[COLUMN_SHARES + share].key, shares->part[share],
			    true);
	}
	if (parts)
		add_text(parts, "source", shares->by_cpu ? "proc" : "kvm");
	return parts;
}

/* The bounds of the bucket. */
static struct json_object *new_quantile(const struct quantile_of *quantile)
{
	struct json_object *bounds;

	if (!quantile->known)
		return NULL;
	bounds = new_bounds(quantile->desc, quantile->bucket);
	add_text(bounds, "unit", "seconds");
	add_number(bounds, "base", 10);
	add_integer(bounds, "exponent", quantile->desc->exponent, true);
	return bounds;
}

/* Adds a column, unless add_tracked() has added it. The first share adds all shares. */
static void add_column(struct json_object *line, const struct tracked_vm *vm,
		       enum column_id column)
{
	const char *key = column_info[column].key;
	const struct rates *rates = &vm->rates;
	enum why why = why_of_vm(vm);

	if (column == COLUMN_STATE)
		add_text(line, key, why == WHY_UNKNOWN ? NULL : why_names[why]);
	else if (column == COLUMN_SHARES)
		add(line, "shares", new_shares(&rates->shares));
	else if (column == COLUMN_OTHER)
		add_decimal(line, key, vm->other, vm->has_other);
	else if (column_is_rate(column))
		add(line, key, new_rate(rates->per_second[column - COLUMN_RATES],
					rates->known[column - COLUMN_RATES]));
	else if (column_is_quantile(column))
		add(line, key, new_quantile(&rates->quantile[column - COLUMN_QUANTILES]));
	else if (column == COLUMN_TOP)
		add(line, key, new_reason(rates));
	else if (column == COLUMN_SOURCE)
		add_text(line, key, vm->source);
}

static void render_overviews(struct output *output, const struct overviews *overviews)
{
	char *table = xasprintf("time,interval_s=interval"), *longer;
	struct json_object *line;
	enum column_id column;
	size_t i;

	for (column = 0; column < NUM_COLUMNS; column++) {
		longer = xasprintf("%s,%s", table, column_info[column].csv);
		free(table);
		table = longer;
	}
	begin_table(output, table);
	for (i = 0; i < overviews->num_vms; i++) {
		line = new_line("vm");
		add_timespec(line, overviews->time);
		/* The part of the interval in which the VM existed; without rates all of it. */
		add_duration(line, "interval",
			     overviews->vm[i]->elapsed_ns ?: overviews->elapsed_ns);
		add_tracked(line, overviews->vm[i]);
		for (column = 0; column < NUM_COLUMNS; column++)
			add_column(line, overviews->vm[i], column);
		print_object(output, line, table);
	}
	free(table);
}

/*
 * Adds the growth in @elapsed_ns of all statistics that moved then; with @ever, that ever moved.
 */
static void put_moved(struct output *output, struct json_object *line, const struct model *model,
		      enum scope scope, uint64_t elapsed_ns, bool ever)
{
	const struct group *group = model_shown(model, scope);
	const char *vcpus = model->focus.schema ? "vcpu" : "vcpus";
	struct json_object *moved = new_object(), *statistic;
	const struct statsfile_desc *desc;
	unsigned int i;
	uint64_t count;

	add(line, scope == SCOPE_VM ? "vm_statistics" : "vcpu_statistics", moved);
	for (i = 0; group->schema && i < group->schema->num_desc; i++) {
		desc = &group->schema->desc[i];
		count = group_total(desc, ever ? group->watched : group->delta);
		if (!group_shows(group, desc) ||
		    (!count && !(ever && group_total(desc, group->value))))
			continue;
		statistic = new_statistic(desc);
		add_value(statistic, desc, group);
		if (is_counter(desc)) {
			add_number(statistic, "delta", count);
			add_decimal(statistic, "rate", rate_per_second(count, elapsed_ns), true);
		}
		put_statistic(output, csv_sample_table, line, moved, desc->name,
			      scope == SCOPE_VM ? "vm" : vcpus, statistic);
	}
}

/* CSV has no summary: it would be another table. */
static void render_movement(struct output *output, const struct tracked_vm *tracked,
			    const char *ending)
{
	const struct model *model = &tracked->model;
	uint64_t watched_ns = model->last_ns - model->first_ns;
	struct json_object *line;

	begin_table(output, csv_sample_table);
	if (is_csv() && ending)
		return;
	line = new_line(ending ? "summary" : "sample");
	add_timespec(line, time_source->real());
	add_tracked(line, tracked);
	if (model->focus.schema)
		add_number(line, "vcpu", tracked->vcpu[model->focus_index].number);
	if (ending)
		add_text(line, "ending", ending);
	add_duration(line, "watched", watched_ns);
	if (!ending)
		add_duration(line, "interval", model->elapsed_ns);
	put_moved(output, line, model, SCOPE_VM, ending ? watched_ns : model->elapsed_ns, ending);
	put_moved(output, line, model, SCOPE_VCPU, ending ? watched_ns : model->elapsed_ns, ending);
	print_object(output, line, NULL);
}

static void render_group(struct output *output, const struct subject *subject,
			 const struct group *group)
{
	struct json_object *line = new_line("statistics"), *all = new_object(), *statistic;
	const struct statsfile_desc *desc;
	unsigned int i;

	begin_table(output, csv_group_table);
	add_subject(line, subject);
	if (subject->shares) {
		add_duration(line, "interval", subject->look_ns);
		add(line, "shares", new_shares(subject->shares));
	}
	add(line, "statistics", all);
	for (i = 0; group->schema && i < group->schema->num_desc; i++) {
		desc = &group->schema->desc[i];
		if (!output_shows(output, group, desc))
			continue;
		statistic = new_statistic(desc);
		add_value(statistic, desc, group);
		if (is_histogram(desc) || is_array(desc))
			add_all(statistic, desc, group->value + desc->first);
		if (output->verbose)
			add_text(statistic, "description",
				 describe_statistic(subject->scope, desc->name));
		put_statistic(output, csv_group_table, line, all, desc->name, NULL, statistic);
	}
	print_object(output, line, NULL);
}

static void add_percentiles(struct json_object *statistic, const struct histogram *histogram)
{
	struct json_object *percentiles = new_object();
	int i;

	for (i = 0; i < NUM_PERCENTILES; i++)
		add(percentiles, percentile_names[i], histogram->total ?
		    new_bounds(histogram->desc, histogram->percentile[i]) : NULL);
	add(statistic, "percentiles", percentiles);
}

static void begin_histograms(struct output *output)
{
	begin_table(output, csv_histogram_table);
}

static void render_histogram(struct output *output, const struct subject *subject,
			     const struct histogram *histogram)
{
	const struct statsfile_desc *desc = histogram->desc;
	struct json_object *line = new_line("histogram"), *statistic = new_statistic(desc), *all;
	unsigned int i;

	begin_histograms(output);
	if (subject->elapsed_ns) {
		add_timespec(line, subject->time);
		add_duration(line, "interval", subject->elapsed_ns);
	}
	add_subject(line, subject);
	add_text(line, "statistic", desc->name);
	add_number(statistic, "count", histogram->total);
	if (!has_named_buckets(desc))
		add_percentiles(statistic, histogram);
	all = add_all(statistic, desc, histogram->count);
	add(line, "histogram", statistic);
	for (i = 0; is_csv() && i < desc->size; i++)
		csv_print_row(output->file, csv_histogram_table, line,
			      json_object_array_get_idx(all, i));
	print_object(output, line, NULL);
}

/* The part that is watched; NULL: the whole statistic. */
static struct json_object *new_part(const struct watch_target *target)
{
	const struct statsfile_desc *desc = target->desc;
	struct json_object *part;

	if (target->count == desc->size)
		return NULL;
	if (has_parts(desc))
		return new_named(desc, target->first);
	part = new_bounds(desc, target->first + target->count - 1);
	add_number(part, "from", bucket_lower(desc, target->first));
	return part;
}

static void begin_events(struct output *output, const struct watch_rule *rule,
			 const struct watch_target *target)
{
	(void)rule;
	(void)target;
	begin_table(output, csv_event_table);
}

static void render_event(struct output *output, const struct watch_event *event)
{
	const struct watch_target *target = event->target;
	struct json_object *line = new_line("event"), *watched = new_statistic(target->desc);

	begin_table(output, csv_event_table);
	add_timespec(line, event->time);
	add_tracked(line, event->vm);
	add_text(line, "state", event->ended ? "ended" : "running");
	add_text(line, "scope", target->scope == SCOPE_VM ? "vm" : "vcpu");
	add_integer(line, "vcpu", event->vcpu, event->vcpu != NO_VCPU);
	add(watched, is_histogram(target->desc) ? "buckets" : "values", new_part(target));
	add_number(watched, "threshold", target->threshold);
	if (!event->ended)
		add_number(watched, watch_is_level(target) ? "level" : "growth", event->growth);
	add_text(line, "statistic", target->desc->name);
	add(line, "watched", watched);
	add_duration(line, "window", event->rule->window_ns);
	print_object(output, line, csv_event_table);
}

static void render_recording(struct output *output, const struct recording *recording)
{
	const struct recording_sample *first = recording->sample;
	const struct recording_sample *last = first + recording->num_samples - 1;
	const struct recording_host *host = &recording->host;
	struct json_object *line = new_line("recording");

	begin_table(output, csv_recording_table);
	add_text(line, "host", host->name);
	add_text(line, "release", host->release);
	add_text(line, "machine", host->machine);
	add_text(line, "version", host->version);
	add_integer(line, "pid", host->pid, host->pid);
	add_duration(line, "interval", host->interval_ns);
	add_time(line, "first", first->real_ns);
	add_time(line, "last", last->real_ns);
	add_duration(line, "length", last->monotonic_ns - first->monotonic_ns);
	add_number(line, "samples", recording->num_samples);
	print_object(output, line, csv_recording_table);
}

static void render_error(const char *text)
{
	struct json_object *line = new_line("error");

	add_text(line, "message", text);
	/* Keep the order of standard output and standard error. */
	fflush(stdout);
	print_line(stderr, line);
}

#define FUNCTIONS					\
	.begin = render_begin,				\
	.end = render_end,				\
	.overviews = render_overviews,			\
	.movement = render_movement,			\
	.group = render_group,				\
	.begin_histograms = begin_histograms,		\
	.histogram = render_histogram,			\
	.begin_events = begin_events,			\
	.event = render_event,				\
	.recording = render_recording

const struct renderer csv_renderer = { FUNCTIONS, };
const struct renderer json_renderer = { FUNCTIONS, .error = render_error, };
