// SPDX-License-Identifier: GPL-2.0
/*
 * OpenMetrics 1.0 and Prometheus' text format 0.0.4. Both need all samples of a metric
 * together: the output goes metric by metric, and each metric VM by VM.
 *
 * A scrape of ten thousand vCPUs has a million lines: they are joined from prepared pieces,
 * without printf().
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/render_openmetrics.h"
#include "render/format.h"
#include "util/text.h"
#include "util/util.h"

const char * const exposition_types[NUM_FORMATS] = {
	[FORMAT_PROMETHEUS] = "text/plain; version=0.0.4; charset=utf-8",
	[FORMAT_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

enum exposition_format choose_format(const char *accept)
{
	return accept && strcasestr(accept, "application/openmetrics-text") ? FORMAT_OPENMETRICS :
									       FORMAT_PROMETHEUS;
}

enum stage {
	STAGE_OWN,
	STAGE_METRICS,
	STAGE_END,
};

struct exposition {
	bool openmetrics;
	const struct metrics *metrics;
	struct scrape scrape;
	/* The next sample: metric, VM, and member of its group. */
	enum stage stage;
	size_t metric;
	size_t vm;
	size_t member;
	bool has_header;		/* the metric's header is written */
	/* Text; the first @taken bytes have been read. */
	char *text;
	size_t room, length, taken;
};

struct exposition *exposition_open(enum exposition_format format, const struct metrics *metrics,
				   const struct scrape *scrape)
{
	struct exposition *exposition = xcalloc(1, sizeof(*exposition));

	exposition->openmetrics = format == FORMAT_OPENMETRICS;
	exposition->metrics = metrics;
	exposition->scrape = *scrape;
	return exposition;
}

void exposition_close(struct exposition *exposition)
{
	scrape_free(&exposition->scrape);
	free(exposition->text);
	free(exposition);
}

static void append_bytes(struct exposition *exposition, const char *bytes, size_t length)
{
	size_t needed = exposition->length + length;

	if (needed > exposition->room) {
		exposition->room = 2 * needed + 4096;
		exposition->text = xreallocarray(exposition->text, exposition->room, 1);
	}
	memcpy(exposition->text + exposition->length, bytes, length);
	exposition->length = needed;
}

static void append(struct exposition *exposition, const char *text)
{
	append_bytes(exposition, text, strlen(text));
}

__printf(2, 3)
static void append_format(struct exposition *exposition, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	append(exposition, text);
	free(text);
}

/* @name is without _total. A name that does not end in the unit has no UNIT line. */
static void append_header(struct exposition *exposition, const char *name, const char *type,
			  const char *unit, const char *help)
{
	/* The help can include the name of a statistic, which can have such characters. */
	char *escaped = escape(help, exposition->openmetrics ? "\"\\" : "\\");
	const char *total = "";

	if (!strcmp(type, "counter") && !exposition->openmetrics)
		total = "_total";
	append_format(exposition, "# HELP %s%s %s\n", name, total, escaped);
	free(escaped);
	append_format(exposition, "# TYPE %s%s %s\n", name, total, type);
	if (exposition->openmetrics && *unit && metric_has_unit(name, unit))
		append_format(exposition, "# UNIT %s %s\n", name, unit);
}

static void append_number(struct exposition *exposition, const char *name, const char *type,
			  const char *help, uint64_t number)
{
	append_header(exposition, name, type, "", help);
	append_format(exposition, "%s%s %llu\n", name, strcmp(type, "counter") ? "" : "_total",
		      (unsigned long long)number);
}

static void append_self(struct exposition *exposition)
{
	const struct scrape *scrape = &exposition->scrape;

	append_header(exposition, "kvmstat_build_info", "gauge", "",
		      "The exporter, its value is always 1");
	append(exposition, "kvmstat_build_info{version=\"" KVMSTAT_VERSION "\"} 1\n");
	append_header(exposition, "kvmstat_scrape_duration_seconds", "gauge", "seconds",
		      "Time that this scrape took to scan for VMs and to read them");
	append_format(exposition, "kvmstat_scrape_duration_seconds %.9f\n",
		      (double)scrape->duration_ns / NSEC_PER_SEC);
	append_number(exposition, "kvmstat_scrapes", "counter", "Scrapes, including this one",
		      scrape->number);
	append_number(exposition, "kvmstat_vms", "gauge", "VMs that were found",
		      scrape->num_vms);
	append_number(exposition, "kvmstat_processes_denied", "gauge",
		      "Processes that kvmstat may not look into, with or without a VM",
		      scrape->num_denied);
	append_number(exposition, "kvmstat_processes_hidden", "gauge",
		      "Whether /proc hides the processes of other users (hidepid)",
		      scrape->is_hidden);
	append_number(exposition, "kvmstat_pid_namespace", "gauge",
		      "Whether /proc shows only the processes of one pid namespace",
		      scrape->is_namespace);
	append_number(exposition, "kvmstat_files_missing", "gauge",
		      "Files of VMs and vCPUs that the limit on open files leaves out",
		      scrape->num_missing);
	append_number(exposition, "kvmstat_vms_unseen", "gauge",
		      "VMs that debugfs shows and that no visible process has",
		      scrape->num_unseen);
	append_number(exposition, "kvmstat_problems", "counter",
		      "Problems with processes and VMs that the exporter has logged",
		      scrape->num_problems);
	append_number(exposition, "kvmstat_connections", "counter",
		      "Connections of clients that were accepted",
		      scrape->num_connections);
	append_number(exposition, "kvmstat_connections_dropped", "counter",
		      "Connections that were closed because the client was too slow or there were too many clients",
		      scrape->num_dropped);
}

static void append_vms(struct exposition *exposition)
{
	const struct scrape_vm *vm, *first = exposition->scrape.vm;
	const struct scrape_vm *end = first + exposition->scrape.num_vms;

	if (first == end)
		return;
	append_header(exposition, "kvmstat_vm_up", "gauge", "",
		      "Whether the statistics of the VM were read for this scrape");
	for (vm = first; vm < end; vm++)
		append_format(exposition, "kvmstat_vm_up{%s} %d\n", vm->labels, vm->up);
	append_header(exposition, "kvmstat_vm_vcpus", "gauge", "",
		      "vCPUs of the VM that were found");
	for (vm = first; vm < end; vm++)
		append_format(exposition, "kvmstat_vm_vcpus{%s} %zu\n", vm->labels, vm->num_vcpus);
	append_header(exposition, "kvm_vm_info", "gauge", "",
		      "Identity of the VM, the value is always 1");
	for (vm = first; vm < end; vm++)
		append_format(exposition, "kvm_vm_info{%s} 1\n", vm->info);
}

/* Times of threads, for VMs whose time KVM does not measure. */
static const struct mode {
	const char *name;
	size_t ns;
} modes[] = {
	{ "guest", offsetof(struct proc_times, guest_ns), },
	{ "kvm", offsetof(struct proc_times, kernel_ns), },
	{ "vmm", offsetof(struct proc_times, user_ns), },
	{ "ready", offsetof(struct proc_times, ready_ns), },
};

static void append_thread_times(struct exposition *exposition, const struct scrape_vm *vm)
{
	const struct mode *mode;
	uint64_t ns;

	for (mode = modes; mode < modes + ARRAY_SIZE(modes); mode++) {
		memcpy(&ns, (const char *)&vm->threads + mode->ns, sizeof(ns));
		if (mode->ns == offsetof(struct proc_times, ready_ns) && !vm->threads.has_ready)
			continue;
		append_format(exposition,
			      "kvmstat_vm_thread_seconds_total{%s,mode=\"%s\"} %llu.%09llu\n",
			      vm->labels, mode->name, (unsigned long long)(ns / NSEC_PER_SEC),
			      (unsigned long long)(ns % NSEC_PER_SEC));
	}
}

static void append_threads(struct exposition *exposition)
{
	const struct scrape *scrape = &exposition->scrape;
	bool has_header = false;
	size_t i;

	for (i = 0; i < scrape->num_vms; i++) {
		if (!scrape->vm[i].has_threads)
			continue;
		if (!has_header)
			append_header(exposition, "kvmstat_vm_thread_seconds", "counter", "seconds",
				      "Time of the threads that run the VM's vCPUs, from /proc: on a CPU in the guest, in the kernel (kvm) and in the VMM, and ready without a CPU; absent if KVM measures time by state (kvm_vcpu_time_seconds)");
		has_header = true;
		append_thread_times(exposition, &scrape->vm[i]);
	}
}

static const char * const type_names[] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_HISTOGRAM] = "histogram",
};

/* Completes the help, which describes one vCPU. */
static const char *scope_of(const struct metric *metric, const struct scrape_group *group)
{
	if (metric->scope == SCOPE_VM || group->vcpu)
		return "";
	return metric->is_peak ? " (the highest of all vCPUs)" : " (sum over all vCPUs)";
}

static void append_metric_header(struct exposition *exposition, const struct metric *metric,
				 const struct scrape_group *group)
{
	char *help;

	if (metric->help)
		help = xasprintf("%s%s", metric->help, scope_of(metric, group));
	else
		help = xasprintf("KVM's statistic %s%s; this kvmstat does not know what it counts",
				 metric->statistic, scope_of(metric, group));
	append_header(exposition, metric->name, type_names[metric->type], metric->unit, help);
	free(help);
}

/* Shared by the samples of a member. */
struct sample {
	const struct metric *metric;
	const struct scrape_vm *vm;
	const char *vcpu;		/* its label, or "" */
};

/* @label: with a comma in front, or "". */
static void append_sample(struct exposition *exposition, const struct sample *sample,
			  const char *suffix, const char *label, const char *value)
{
	append(exposition, sample->metric->name);
	append(exposition, suffix);
	append(exposition, "{");
	append(exposition, sample->vm->labels);
	append(exposition, sample->vcpu);
	append(exposition, label);
	append(exposition, "} ");
	append(exposition, value);
	append(exposition, "\n");
}

/* Counts are plain numbers: a histogram's scale applies to its bounds. */
static void append_value(struct exposition *exposition, const struct sample *sample,
			 const char *suffix, const char *label,
			 const struct statsfile_desc *desc, uint64_t value)
{
	static const struct statsfile_desc plain;
	char text[FORMAT_SIZE];

	format_decimal(text, is_histogram(desc) ? &plain : desc, value);
	append_sample(exposition, sample, suffix, label, text);
}

/*
 * OpenMetrics allows a count only with a sum. Prometheus' format always demands the count.
 */
static void append_histogram(struct exposition *exposition, const struct sample *sample,
			     const struct metric_source *source, const uint64_t *values)
{
	const struct statsfile_desc *desc = source->desc;
	uint64_t count = 0;
	unsigned int i;

	for (i = 0; i < desc->size; i++) {
		count += values[desc->first + i];
		if (source->label[i])
			append_value(exposition, sample, "_bucket", source->label[i], desc, count);
	}
	append_value(exposition, sample, "_bucket", ",le=\"+Inf\"", desc, count);
	if (source->sum || !exposition->openmetrics)
		append_value(exposition, sample, "_count", "", desc, count);
	if (source->sum)
		append_value(exposition, sample, "_sum", "", source->sum,
			     values[source->sum->first]);
}

/*
 * All parts, or the only value. Includes zeros: a counter that is absent until it counts loses its
 * first step.
 */
static void append_values(struct exposition *exposition, const struct sample *sample,
			  const struct metric_source *source, const uint64_t *values)
{
	const char *suffix = sample->metric->type == METRIC_COUNTER ? "_total" : "";
	const struct statsfile_desc *desc = source->desc;
	unsigned int i;

	for (i = 0; i < desc->size; i++)
		append_value(exposition, sample, suffix, source->label ? source->label[i] : "",
			     desc, values[desc->first + i]);
}

static void append_member(struct exposition *exposition, const struct scrape_vm *vm,
			  const struct scrape_group *group, const struct metric_source *source)
{
	const struct metric *metric = &exposition->metrics->metric[exposition->metric];
	const uint64_t *values = group->value + exposition->member * group->num_values;
	struct sample sample = { .metric = metric, .vm = vm, .vcpu = "", };
	char label[32];

	if (!exposition->has_header)
		append_metric_header(exposition, metric, group);
	exposition->has_header = true;
	if (group->vcpu) {
		snprintf(label, sizeof(label), ",vcpu=\"%u\"", group->vcpu[exposition->member]);
		sample.vcpu = label;
	}
	if (metric->type == METRIC_HISTOGRAM) {
		append_histogram(exposition, &sample, source, values);
		return;
	}
	for (; source; source = source->next)
		append_values(exposition, &sample, source, values);
}

/* The next member of the VM's group that has the metric; false if there is none. */
static bool append_next_member(struct exposition *exposition)
{
	const struct scrape_vm *vm = &exposition->scrape.vm[exposition->vm];
	enum scope scope = exposition->metrics->metric[exposition->metric].scope;
	const struct scrape_group *group = &vm->group[scope];
	const struct metric_source *source;

	/* Leave out metrics that KVM does not measure now: a zero would look like a measurement. */
	if (exposition->member >= group->num_members ||
	    vm->is_off[exposition->metrics->metric[exposition->metric].accounting])
		return false;
	source = metrics_find(exposition->metrics, group->schema, exposition->metric);
	if (!source)
		return false;
	append_member(exposition, vm, group, source);
	exposition->member++;
	return true;
}

/* False if there is no further metric. */
static bool append_next_metric(struct exposition *exposition)
{
	while (exposition->metric < exposition->metrics->num_metrics) {
		while (exposition->vm < exposition->scrape.num_vms) {
			if (append_next_member(exposition))
				return true;
			exposition->member = 0;
			exposition->vm++;
		}
		exposition->vm = 0;
		exposition->has_header = false;
		exposition->metric++;
	}
	return false;
}

/* Appends some text, except at the end. */
static void append_next(struct exposition *exposition)
{
	if (exposition->stage == STAGE_OWN) {
		append_self(exposition);
		append_vms(exposition);
		append_threads(exposition);
		exposition->stage = STAGE_METRICS;
	} else if (exposition->stage == STAGE_METRICS && !append_next_metric(exposition)) {
		if (exposition->openmetrics)
			append(exposition, "# EOF\n");
		exposition->stage = STAGE_END;
	}
}

size_t exposition_read(struct exposition *exposition, char *text, size_t size)
{
	size_t length, done = 0;

	while (done < size) {
		if (exposition->taken == exposition->length) {
			exposition->taken = 0;
			exposition->length = 0;
			append_next(exposition);
			if (!exposition->length)
				break;
		}
		length = exposition->length - exposition->taken;
		if (length > size - done)
			length = size - done;
		memcpy(text + done, exposition->text + exposition->taken, length);
		exposition->taken += length;
		done += length;
	}
	return done;
}
