// SPDX-License-Identifier: GPL-2.0
/*
 * The model as comma-separated values (RFC 4180): a header, once, and a line per VM, statistic or
 * bucket. Numbers are those of the file, what is not known is empty.
 */
#include <stdlib.h>
#include <string.h>

#include "model/threads.h"
#include "model/why.h"
#include "render/format.h"
#include "render/render.h"
#include "util/clock.h"
#include "util/util.h"

/* A line that is being written. */
struct line {
	FILE *file;
	bool begun;
};

static void add(struct line *line, const char *text)
{
	if (line->begun)
		fputc(',', line->file);
	line->begun = true;
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, line->file);
		return;
	}
	fputc('"', line->file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', line->file);
		fputc(*text, line->file);
	}
	fputc('"', line->file);
}

static void add_nothing(struct line *line, unsigned int count)
{
	while (count--)
		add(line, "");
}

static void add_number(struct line *line, uint64_t number)
{
	char text[FORMAT_SIZE];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	add(line, text);
}

static void add_integer(struct line *line, int number)
{
	char text[FORMAT_SIZE];

	snprintf(text, sizeof(text), "%d", number);
	add(line, text);
}

/* Rates and shares, as in JSON. */
static void add_decimal(struct line *line, double number, bool known)
{
	char text[FORMAT_SIZE] = "";

	if (known)
		snprintf(text, sizeof(text), "%.3f", number);
	add(line, text);
}

static void add_seconds(struct line *line, uint64_t ns)
{
	char text[FORMAT_SIZE];

	snprintf(text, sizeof(text), "%llu.%09llu", (unsigned long long)(ns / NSEC_PER_SEC),
		 (unsigned long long)(ns % NSEC_PER_SEC));
	add(line, text);
}

/* ISO 8601, of no time zone but UTC. */
static void add_time(struct line *line, struct timespec time)
{
	char date[32], text[64];
	struct tm tm;

	gmtime_r(&time.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%06ldZ", date, time.tv_nsec / 1000);
	add(line, text);
}

static void end_line(struct line *line)
{
	fputs("\r\n", line->file);
	line->begun = false;
}

/* In front of the first line. */
static struct line begin_lines(struct output *output, const char *header)
{
	if (!output->num_shown++)
		fprintf(output->file, "%s\r\n", header);
	return (struct line) { .file = output->file, };
}

static const char *known_id(const char *id)
{
	return strcmp(id, "-") ? id : "";
}

#define VM_HEADER "pid,id,name,vcpus"

static void add_tracked(struct line *line, const struct tracked_vm *vm)
{
	add_integer(line, vm->pid);
	add(line, known_id(vm->id));
	add(line, vm->name);
	add_number(line, vm->num_vcpus);
}

#define SHARES_HEADER "guest,kvm,vmm,ready,wait,idle,off,shares_source"

static void add_shares(struct line *line, const struct shares *shares)
{
	bool any = false;
	enum share share;

	for (share = 0; share < NUM_SHARES; share++) {
		add_decimal(line, shares->part[share], shares->known[share]);
		any |= shares->known[share];
	}
	add(line, !any ? "" : shares->by_cpu ? "proc" : "kvm");
}

/* Of quantiles the upper bounds; the last bucket has none. */
static void add_quantile(struct line *line, const struct quantile_of *quantile)
{
	if (!quantile->known)
		add_nothing(line, 1);
	else if (bucket_is_open(quantile->desc, quantile->bucket))
		add(line, "inf");
	else
		add_number(line, bucket_upper(quantile->desc, quantile->bucket));
}

static void add_column(struct line *line, const struct tracked_vm *vm, enum column_id column)
{
	const struct rates *rates = &vm->rates;
	double share = rates_share(rates);

	if (column == COLUMN_PID) {
		add_integer(line, vm->pid);
	} else if (column == COLUMN_VM) {
		add(line, known_id(vm->id));
	} else if (column == COLUMN_VCPUS) {
		add_number(line, vm->num_vcpus);
	} else if (column == COLUMN_STATE) {
		add(line, why_of_vm(vm) == WHY_UNKNOWN ? "" : why_names[why_of_vm(vm)]);
	} else if (column == COLUMN_SHARES) {
		add_shares(line, &rates->shares);
	} else if (column == COLUMN_OTHER) {
		add_decimal(line, vm->other, vm->has_other);
	} else if (column_is_rate(column)) {
		add_decimal(line, rates->per_second[column - COLUMN_RATES],
			    rates->known[column - COLUMN_RATES]);
	} else if (column_is_quantile(column)) {
		add_quantile(line, &rates->quantile[column - COLUMN_QUANTILES]);
	} else if (column == COLUMN_TOP) {
		add(line, rates->top ? rates->top : "");
		add_decimal(line, share, share >= 0);
	} else if (column == COLUMN_SOURCE) {
		add(line, vm->source);
	} else if (column == COLUMN_NAME) {
		add(line, vm->name);
	}
}

static void begin_overviews(struct output *output)
{
	enum column_id i;

	if (output->num_shown++)
		return;
	fputs("time,interval_s", output->file);
	for (i = 0; i < NUM_COLUMNS; i++)
		fprintf(output->file, ",%s%s", column_info[i].csv,
			i == COLUMN_SHARES + NUM_SHARES - 1 ? ",shares_source" :
			i == COLUMN_TOP ? ",top_reason_share" : "");
	fputs("\r\n", output->file);
}

static void render_overviews(struct output *output, const struct overviews *overviews)
{
	struct line line = { .file = output->file, };
	enum column_id column;
	size_t i;

	begin_overviews(output);
	for (i = 0; i < overviews->num_vms; i++) {
		add_time(&line, overviews->time);
		add_seconds(&line, overview_elapsed_ns(overviews, overviews->vm[i]));
		for (column = 0; column < NUM_COLUMNS; column++)
			add_column(&line, overviews->vm[i], column);
		end_line(&line);
	}
}

#define SCALE_HEADER "unit,base,exponent"

static void add_scale(struct line *line, const struct statsfile_desc *desc)
{
	char text[FORMAT_SIZE];

	format_unit_name(text, desc);
	add(line, strcmp(text, "-") ? text : "");
	if (statsfile_base(desc) <= KVM_STATS_BASE_MAX)
		add_integer(line, statsfile_base(desc) == KVM_STATS_BASE_POW2 ? 2 : 10);
	else
		add_nothing(line, 1);
	add_integer(line, desc->exponent);
}

static void add_moved(struct line *line, const struct tracked_vm *vm, enum scope scope,
		      struct timespec time)
{
	const struct model *model = &vm->model;
	const struct group *group = &model->group[scope];
	const struct statsfile_desc *desc;
	uint64_t count;
	unsigned int i;

	for (i = 0; group->schema && i < group->schema->num_desc; i++) {
		desc = &group->schema->desc[i];
		count = group_total(desc, group->delta);
		if (!count || !group_shows(group, desc))
			continue;
		add_time(line, time);
		add_seconds(line, model->elapsed_ns);
		add_tracked(line, vm);
		add(line, scope == SCOPE_VM ? "vm" : "vcpus");
		add(line, desc->name);
		add_scale(line, desc);
		add_number(line, group_total(desc, group->value));
		if (is_counter(desc)) {
			add_number(line, count);
			add_decimal(line, rate_per_second(count, model->elapsed_ns), true);
		} else {
			add_nothing(line, 2);
		}
		end_line(line);
	}
}

static void render_sample(struct output *output, const struct tracked_vm *vm)
{
	struct line line = begin_lines(output, "time,interval_s," VM_HEADER ",scope,statistic,"
				       SCALE_HEADER ",value,delta,per_s");
	struct timespec time = time_source->real();
	enum scope scope;

	for (scope = 0; scope < NUM_SCOPES; scope++)
		add_moved(&line, vm, scope, time);
}

/* It would be another table. */
static void render_summary(struct output *output, const struct tracked_vm *vm,
			   const char *ending)
{
	(void)output;
	(void)vm;
	(void)ending;
}

#define SUBJECT_HEADER VM_HEADER ",scope,vcpu,statistic," SCALE_HEADER

static void add_subject(struct line *line, const struct subject *subject,
			const struct statsfile_desc *desc)
{
	const struct vm *vm = subject->vm;

	add_integer(line, vm->process->pid);
	add(line, known_id(subject->id));
	add(line, vm->process->name);
	add_number(line, vm_count_vcpus(vm));
	add(line, subject->vcpu ? "vcpu" : subject->scope == SCOPE_VM ? "vm" : "vcpus");
	if (subject->vcpu)
		add_number(line, subject->vcpu->number);
	else
		add_nothing(line, 1);
	add(line, desc->name);
	add_scale(line, desc);
}

#define GROUP_HEADER SUBJECT_HEADER ",type,value,value_name,interval_s," SHARES_HEADER

/* Of histograms the number of values, of arrays their sum. */
static void render_group(struct output *output, const struct subject *subject,
			 const struct group *group)
{
	struct line line = begin_lines(output, GROUP_HEADER);
	const struct statsfile_desc *desc;
	char type[FORMAT_SIZE];
	const char *name;
	uint64_t total;
	unsigned int i;

	for (i = 0; group->schema && i < group->schema->num_desc; i++) {
		desc = &group->schema->desc[i];
		if (!output_shows(output, group, desc))
			continue;
		total = group_total(desc, group->value);
		name = enumerated_name(desc, total);
		format_type(type, desc);
		add_subject(&line, subject, desc);
		add(&line, type);
		add_number(&line, total);
		add(&line, name ? name : "");
		if (subject->shares) {
			add_seconds(&line, subject->look_ns);
			add_shares(&line, subject->shares);
		} else {
			add_nothing(&line, 1 + NUM_SHARES + 1);
		}
		end_line(&line);
	}
}

/* By the name of the bucket or by its bounds. */
static void add_bucket(struct line *line, const struct statsfile_desc *desc, unsigned int bucket)
{
	const char *name = statsfile_value_name(desc, bucket);

	add(line, name ? name : "");
	if (has_named_buckets(desc)) {
		add_nothing(line, 2);
		return;
	}
	add_number(line, bucket_lower(desc, bucket));
	if (bucket_is_open(desc, bucket))
		add_nothing(line, 1);
	else
		add_number(line, bucket_upper(desc, bucket));
}

static struct line begin_buckets(struct output *output)
{
	return begin_lines(output, "time,interval_s," SUBJECT_HEADER ",bucket,from,to,count");
}

static void begin_histograms(struct output *output)
{
	begin_buckets(output);
}

static void render_histogram(struct output *output, const struct subject *subject,
			     const struct histogram *histogram)
{
	struct line line = begin_buckets(output);
	unsigned int i;

	for (i = 0; i < histogram->desc->size; i++) {
		if (subject->elapsed_ns) {
			add_time(&line, subject->time);
			add_seconds(&line, subject->elapsed_ns);
		} else {
			add_nothing(&line, 2);
		}
		add_subject(&line, subject, histogram->desc);
		add_bucket(&line, histogram->desc, i);
		add_number(&line, histogram->count[i]);
		end_line(&line);
	}
}

static void add_part(struct line *line, const struct watch_target *target)
{
	const struct statsfile_desc *desc = target->desc;
	unsigned int last = target->first + target->count - 1;
	char number[BUCKET_SIZE];

	if (target->count == desc->size) {
		add_nothing(line, 3);
	} else if (has_parts(desc)) {
		add(line, bucket_name(number, desc, target->first));
		add_nothing(line, 2);
	} else {
		add_nothing(line, 1);
		add_number(line, bucket_lower(desc, target->first));
		if (bucket_is_open(desc, last))
			add_nothing(line, 1);
		else
			add_number(line, bucket_upper(desc, last));
	}
}

static struct line begin_event_lines(struct output *output)
{
	return begin_lines(output, "time," VM_HEADER ",state,scope,vcpu,statistic," SCALE_HEADER
			   ",part,from,to,threshold,window_s,growth");
}

static void begin_events(struct output *output, const struct watch_rule *rule,
			 const struct watch_target *target)
{
	(void)rule;
	(void)target;
	begin_event_lines(output);
}

static void add_numbers(struct line *line, const struct watch_event *event)
{
	add_number(line, event->target->threshold);
	add_seconds(line, event->rule->window_ns);
	if (event->ended)
		add_nothing(line, 1);
	else
		add_number(line, event->growth);
}

static void render_event(struct output *output, const struct watch_event *event)
{
	struct line line = begin_event_lines(output);

	add_time(&line, event->time);
	add_tracked(&line, event->vm);
	add(&line, event->ended ? "ended" : "running");
	add(&line, event->target->scope == SCOPE_VM ? "vm" : "vcpu");
	if (event->vcpu == NO_VCPU)
		add_nothing(&line, 1);
	else
		add_integer(&line, event->vcpu);
	add(&line, event->target->desc->name);
	add_scale(&line, event->target->desc);
	add_part(&line, event->target);
	add_numbers(&line, event);
	end_line(&line);
}

#define HOST_HEADER "host,release,machine,version,pid,interval_s"

static struct timespec time_of(uint64_t real_ns)
{
	return (struct timespec) {
		.tv_sec = real_ns / NSEC_PER_SEC,
		.tv_nsec = real_ns % NSEC_PER_SEC,
	};
}

static void render_recording(struct output *output, const struct recording *recording)
{
	struct line line = begin_lines(output, HOST_HEADER ",first,last,length_s,samples");
	const struct recording_sample *first = recording->sample;
	const struct recording_sample *last = first + recording->num_samples - 1;
	const struct recording_host *host = &recording->host;

	add(&line, host->name);
	add(&line, host->release);
	add(&line, host->machine);
	add(&line, host->version);
	if (host->pid)
		add_integer(&line, host->pid);
	else
		add_nothing(&line, 1);
	add_seconds(&line, host->interval_ns);
	add_time(&line, time_of(first->real_ns));
	add_time(&line, time_of(last->real_ns));
	add_seconds(&line, last->monotonic_ns - first->monotonic_ns);
	add_number(&line, recording->num_samples);
	end_line(&line);
}

static void render_nothing(struct output *output)
{
	(void)output;
}

const struct renderer csv_renderer = {
	.begin = render_nothing,
	.end = render_nothing,
	.overviews = render_overviews,
	.sample = render_sample,
	.summary = render_summary,
	.group = render_group,
	.begin_histograms = begin_histograms,
	.histogram = render_histogram,
	.begin_events = begin_events,
	.event = render_event,
	.recording = render_recording,
};
