// SPDX-License-Identifier: GPL-2.0
/*
 * The model as JSON: one object per line, each complete by itself. What is shown once
 * is an array of these. Each has the version of its schema; a change of what a key means
 * is a new one.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "model/descriptions.h"
#include "model/threads.h"
#include "model/why.h"
#include "render/format.h"
#include "render/render.h"
#include "util/clock.h"
#include "util/util.h"

#define SCHEMA_VERSION 2

/* Without memory they end the program, as all of kvmstat does. */
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

/* Rates and shares: more digits than that would be noise. */
static void add_decimal(struct json_object *object, const char *key, double number)
{
	char text[FORMAT_SIZE];

	snprintf(text, sizeof(text), "%.3f", number);
	add(object, key, checked(json_object_new_double_s(number, text)));
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

/* Frees it. */
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
	fputs("[", output->file);
	output->is_document = true;
	output->num_shown = 0;
}

static void render_end(struct output *output)
{
	fputs("]\n", output->file);
	output->is_document = false;
}

/* An element of the document, or one by itself. Frees it. */
static void print_object(struct output *output, struct json_object *line)
{
	if (output->is_document && output->num_shown++)
		fputs(",", output->file);
	print_line(output->file, line);
}

/*
 * The first key has the library look for a random number, and on a CPU without an
 * instruction for that it opens a file, which later may not be allowed any more.
 */
void json_prepare(void)
{
	json_object_put(new_line("none"));
}

static void add_seconds(struct json_object *object, const char *key, uint64_t value,
			int exponent)
{
	struct json_object *seconds = new_object();

	add_number(seconds, "value", value);
	add_text(seconds, "unit", "seconds");
	add_number(seconds, "base", 10);
	add(seconds, "exponent", checked(json_object_new_int(exponent)));
	add(object, key, seconds);
}

static void add_duration(struct json_object *object, const char *key, uint64_t ns)
{
	add_seconds(object, key, ns, -9);
}

/* Since 1970. In nanoseconds it would not fit into a double, which many readers have. */
static void add_time(struct json_object *object, const char *key, uint64_t ns)
{
	add_seconds(object, key, ns / 1000, -6);
}

static void add_timespec(struct json_object *object, const char *key, struct timespec time)
{
	add_time(object, key, time.tv_sec * NSEC_PER_SEC + time.tv_nsec);
}

static void add_vm_keys(struct json_object *line, pid_t pid, const char *name, const char *id,
			size_t num_vcpus)
{
	add_number(line, "pid", pid);
	add_text(line, "name", name);
	add_text(line, "id", id && strcmp(id, "-") ? id : NULL);
	add_number(line, "vcpus", num_vcpus);
}

static void add_vm(struct json_object *line, const struct vm *vm)
{
	bool known = vm_has_statistics(vm);

	add_vm_keys(line, vm->process->pid, vm->process->name, known ? vm->file.id : NULL,
		    vm_count_vcpus(vm));
}

static void add_tracked(struct json_object *line, const struct tracked_vm *vm)
{
	add_vm_keys(line, vm->pid, vm->name, vm->id, vm->num_vcpus);
}

static void add_subject(struct json_object *line, const struct subject *subject)
{
	add_vm(line, subject->vm);
	if (subject->vcpu) {
		add_text(line, "scope", "vcpu");
		add_number(line, "vcpu", subject->vcpu->number);
	} else {
		add_text(line, "scope", subject->scope == SCOPE_VM ? "vm" : "vcpus");
	}
}

static struct json_object *new_statistic(const struct statsfile_desc *desc)
{
	struct json_object *statistic = new_object();
	char text[FORMAT_SIZE];

	format_type(text, desc);
	add_text(statistic, "type", text);
	format_unit_name(text, desc);
	add_text(statistic, "unit", strcmp(text, "-") ? text : NULL);
	if (statsfile_base(desc) <= KVM_STATS_BASE_MAX)
		add_number(statistic, "base", statsfile_base(desc) == KVM_STATS_BASE_POW2 ? 2 : 10);
	else
		add(statistic, "base", NULL);
	add(statistic, "exponent", checked(json_object_new_int(desc->exponent)));
	return statistic;
}

/* Of a histogram it is the number of values that it counted. */
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
static void add_all(struct json_object *statistic, const struct statsfile_desc *desc,
		    const uint64_t *value)
{
	struct json_object *all = checked(json_object_new_array());
	unsigned int i;
	struct json_object *one;

	for (i = 0; i < desc->size; i++) {
		one = has_parts(desc) ? new_named(desc, i) : new_bounds(desc, i);
		add_number(one, is_histogram(desc) ? "count" : "value", value[i]);
		if (json_object_array_add(all, one))
			checked(NULL);
	}
	add(statistic, is_histogram(desc) ? "buckets" : "values", all);
}

static struct json_object *new_rate(double per_second)
{
	struct json_object *rate = new_object();

	add_decimal(rate, "value", per_second);
	add_text(rate, "unit", "1/second");
	return rate;
}

static struct json_object *new_reason(const struct rates *rates)
{
	double share = rates_share(rates);
	struct json_object *reason;

	if (!rates->top_per_second)
		return NULL;
	reason = new_rate(rates->top_per_second);
	if (rates->top)
		add_text(reason, "name", rates->top);
	else
		add(reason, "name", NULL);
	if (share < 0)
		add(reason, "share", NULL);
	else
		add_decimal(reason, "share", share);
	return reason;
}

/* Of the time of all vCPUs. NULL if nothing is known. */
static struct json_object *new_shares(const struct shares *shares)
{
	struct json_object *parts = NULL;
	enum share share;

	for (share = 0; share < NUM_SHARES; share++) {
		if (!shares->known[share])
			continue;
		if (!parts)
			parts = new_object();
		add_decimal(parts, column_info[COLUMN_SHARES + share].key, shares->part[share]);
	}
	if (parts)
		add_text(parts, "source", shares->by_cpu ? "proc" : "kvm");
	return parts;
}

/* A bucket of a histogram of times. */
static struct json_object *new_quantile(const struct quantile_of *quantile)
{
	struct json_object *bounds;

	if (!quantile->known)
		return NULL;
	bounds = new_bounds(quantile->desc, quantile->bucket);
	add_text(bounds, "unit", "seconds");
	add_number(bounds, "base", 10);
	add(bounds, "exponent", checked(json_object_new_int(quantile->desc->exponent)));
	return bounds;
}

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
	else if (column == COLUMN_OTHER && vm->has_other)
		add_decimal(line, key, vm->other);
	else if (column == COLUMN_OTHER)
		add(line, key, NULL);
	else if (column_is_rate(column))
		add(line, key, rates->known[column - COLUMN_RATES] ?
		    new_rate(rates->per_second[column - COLUMN_RATES]) : NULL);
	else if (column_is_quantile(column))
		add(line, key, new_quantile(&rates->quantile[column - COLUMN_QUANTILES]));
	else if (column == COLUMN_TOP)
		add(line, key, new_reason(rates));
	else if (column == COLUMN_SOURCE)
		add_text(line, key, vm->source);
}

static void render_overviews(struct output *output, const struct overviews *overviews)
{
	struct json_object *line;
	enum column_id column;
	size_t i;

	for (i = 0; i < overviews->num_vms; i++) {
		line = new_line("vm");
		add_timespec(line, "time", overviews->time);
		add_duration(line, "interval", overview_elapsed_ns(overviews, overviews->vm[i]));
		add_tracked(line, overviews->vm[i]);
		for (column = 0; column < NUM_COLUMNS; column++)
			add_column(line, overviews->vm[i], column);
		print_object(output, line);
	}
}

/*
 * What was counted in @elapsed_ns, of all statistics that moved then, or with @ever at
 * any time.
 */
static void add_moved(struct json_object *line, const char *key, const struct group *group,
		      const uint64_t *delta, uint64_t elapsed_ns, bool ever)
{
	const struct statsfile_desc *desc;
	struct json_object *moved = new_object();
	struct json_object *statistic;
	uint64_t count;
	unsigned int i;

	add(line, key, moved);
	for (i = 0; group->schema && i < group->schema->num_desc; i++) {
		desc = &group->schema->desc[i];
		if (!group_shows(group, desc))
			continue;
		count = group_total(desc, delta);
		if (!count && !(ever && group_total(desc, group->value)))
			continue;
		statistic = new_statistic(desc);
		add_value(statistic, desc, group);
		if (is_counter(desc)) {
			add_number(statistic, "delta", count);
			add_decimal(statistic, "rate", rate_per_second(count, elapsed_ns));
		}
		add(moved, desc->name, statistic);
	}
}

static void render_sample(struct output *output, const struct tracked_vm *tracked)
{
	const struct model *model = &tracked->model;
	const struct group *vm = &model->group[SCOPE_VM];
	const struct group *vcpus = &model->group[SCOPE_VCPU];
	struct json_object *line = new_line("sample");

	add_timespec(line, "time", time_source->real());
	add_tracked(line, tracked);
	add_duration(line, "watched", model->last_ns - model->first_ns);
	add_duration(line, "interval", model->elapsed_ns);
	add_moved(line, "vm_statistics", vm, vm->delta, model->elapsed_ns, false);
	add_moved(line, "vcpu_statistics", vcpus, vcpus->delta, model->elapsed_ns, false);
	print_object(output, line);
}

static void render_summary(struct output *output, const struct tracked_vm *tracked,
			   const char *ending)
{
	const struct model *model = &tracked->model;
	const struct group *vm = &model->group[SCOPE_VM];
	const struct group *vcpus = &model->group[SCOPE_VCPU];
	uint64_t watched_ns = model->last_ns - model->first_ns;
	struct json_object *line = new_line("summary");

	add_timespec(line, "time", time_source->real());
	add_tracked(line, tracked);
	add_text(line, "ending", ending);
	add_duration(line, "watched", watched_ns);
	add_moved(line, "vm_statistics", vm, vm->watched, watched_ns, true);
	add_moved(line, "vcpu_statistics", vcpus, vcpus->watched, watched_ns, true);
	print_object(output, line);
}

static void render_group(struct output *output, const struct subject *subject,
			 const struct group *group)
{
	struct json_object *line = new_line("statistics");
	const struct statsfile_desc *desc;
	struct json_object *all = new_object();
	struct json_object *statistic;
	unsigned int i;

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
			add_text(statistic, "description", describe_name(desc->name));
		add(all, desc->name, statistic);
	}
	print_object(output, line);
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

static void render_histogram(struct output *output, const struct subject *subject,
			     const struct histogram *histogram)
{
	const struct statsfile_desc *desc = histogram->desc;
	struct json_object *line = new_line("histogram");
	struct json_object *statistic;

	if (subject->elapsed_ns) {
		add_timespec(line, "time", subject->time);
		add_duration(line, "interval", subject->elapsed_ns);
	}
	add_subject(line, subject);
	add_text(line, "statistic", desc->name);
	statistic = new_statistic(desc);
	add_number(statistic, "count", histogram->total);
	if (!has_named_buckets(desc))
		add_percentiles(statistic, histogram);
	add_all(statistic, desc, histogram->count);
	add(line, "histogram", statistic);
	print_object(output, line);
}

/* What of the statistic is watched; NULL if it is all of it. */
static struct json_object *new_part(const struct watch_target *target)
{
	const struct statsfile_desc *desc = target->desc;
	unsigned int last = target->first + target->count - 1;
	struct json_object *part;

	if (target->count == desc->size)
		return NULL;
	if (has_parts(desc))
		return new_named(desc, target->first);
	part = new_bounds(desc, last);
	add_number(part, "from", bucket_lower(desc, target->first));
	return part;
}

static void add_rule(struct json_object *line, const struct watch_event *event)
{
	const struct watch_target *target = event->target;
	struct json_object *watched = new_statistic(target->desc);

	add(watched, is_histogram(target->desc) ? "buckets" : "values", new_part(target));
	add_number(watched, "threshold", target->threshold);
	if (!event->ended)
		add_number(watched, watch_is_level(target) ? "level" : "growth", event->growth);
	add_text(line, "statistic", target->desc->name);
	add(line, "watched", watched);
	add_duration(line, "window", event->rule->window_ns);
}

static void render_event(struct output *output, const struct watch_event *event)
{
	struct json_object *line = new_line("event");

	add_timespec(line, "time", event->time);
	add_tracked(line, event->vm);
	add_text(line, "state", event->ended ? "ended" : "running");
	add_text(line, "scope", event->target->scope == SCOPE_VM ? "vm" : "vcpu");
	add(line, "vcpu", event->vcpu == NO_VCPU ? NULL :
	    checked(json_object_new_int(event->vcpu)));
	add_rule(line, event);
	print_object(output, line);
}

static void render_recording(struct output *output, const struct recording *recording)
{
	const struct recording_sample *first = recording->sample;
	const struct recording_sample *last = first + recording->num_samples - 1;
	const struct recording_host *host = &recording->host;
	struct json_object *line = new_line("recording");

	add_text(line, "host", host->name);
	add_text(line, "release", host->release);
	add_text(line, "machine", host->machine);
	add_text(line, "version", host->version);
	add(line, "pid", host->pid ? checked(json_object_new_int(host->pid)) : NULL);
	add_duration(line, "interval", host->interval_ns);
	add_time(line, "first", first->real_ns);
	add_time(line, "last", last->real_ns);
	add_duration(line, "length", last->monotonic_ns - first->monotonic_ns);
	add_number(line, "samples", recording->num_samples);
	print_object(output, line);
}

static void render_error(const char *text)
{
	struct json_object *line = new_line("error");

	add_text(line, "message", text);
	/* What was printed so far belongs in front of it. */
	fflush(stdout);
	print_line(stderr, line);
}

const struct renderer json_renderer = {
	.begin = render_begin,
	.end = render_end,
	.overviews = render_overviews,
	.sample = render_sample,
	.summary = render_summary,
	.group = render_group,
	.histogram = render_histogram,
	.event = render_event,
	.recording = render_recording,
	.error = render_error,
};
