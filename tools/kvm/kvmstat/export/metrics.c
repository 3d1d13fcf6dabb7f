// SPDX-License-Identifier: GPL-2.0
/*
 * Names, units and labels of metrics, and the statistics that they come from.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/metrics.h"
#include "model/descriptions.h"
#include "model/histogram.h"
#include "render/format.h"
#include "util/text.h"
#include "util/util.h"

static const char * const prefixes[NUM_SCOPES] = {
	[SCOPE_VM] = "kvm_vm_",
	[SCOPE_VCPU] = "kvm_vcpu_",
};

static void free_source(struct metric_source *source)
{
	unsigned int i;

	if (source->next)
		free_source(source->next);
	free(source->next);
	for (i = 0; source->label && i < source->desc->size; i++)
		free(source->label[i]);
	free(source->label);
}

static void free_schema(struct metric_schema *schema)
{
	size_t i;

	for (i = 0; i < schema->num_sources; i++)
		free_source(&schema->source[i]);
	free(schema->source);
	statsfile_schema_put(schema->schema);
}

bool metrics_are_none(const struct metrics *metrics)
{
	return metrics->num_schemas && !metrics->num_metrics;
}

void metrics_free(struct metrics *metrics)
{
	size_t i;

	for (i = 0; i < metrics->num_schemas; i++)
		free_schema(&metrics->schema[i]);
	for (i = 0; i < metrics->num_metrics; i++)
		free(metrics->metric[i].name);
	free(metrics->schema);
	free(metrics->metric);
}

static enum metric_type type_of(const struct statsfile_desc *desc)
{
	if (is_histogram(desc) && !has_named_buckets(desc))
		return METRIC_HISTOGRAM;
	return is_counter(desc) ? METRIC_COUNTER : METRIC_GAUGE;
}

/* A boolean has none: its sum is a number of vCPUs. Named buckets count events. */
static const char *unit_of(const struct statsfile_desc *desc)
{
	if (has_named_buckets(desc))
		return "";
	switch (statsfile_unit(desc)) {
	case KVM_STATS_UNIT_SECONDS:
		return "seconds";
	case KVM_STATS_UNIT_BYTES:
		return "bytes";
	case KVM_STATS_UNIT_CYCLES:
		return "cycles";
	default:
		return "";
	}
}

/* The length of the name without a suffix that the metric expresses in another way. */
static int base_length(const struct statsfile_desc *desc)
{
	size_t length = strlen(desc->name);

	if (is_histogram(desc) && text_ends_in(desc->name, "_hist"))
		return length - strlen("_hist");
	if (!is_histogram(desc) && statsfile_unit(desc) == KVM_STATS_UNIT_SECONDS &&
	    text_ends_in(desc->name, "_ns"))
		return length - strlen("_ns");
	if (text_ends_in(desc->name, "_total"))
		return length - strlen("_total");
	return length;
}

static const char time_help[] =
	"Time of the vCPU's thread by state; with the ready time, the states add up to the time "
	"since its first KVM_RUN";

/*
 * Statistics whose metric has another name: their parts have a better label, they are parts of
 * a whole, or another metric has their name.
 */
static const struct renamed {
	const char *statistic;
	const char *metric;		/* the name before the unit */
	const char *label;
	const char *part;
	const char *help;		/* of the whole */
} renamed[] = {
	{ .statistic = "exit_reasons", .metric = "exits_by_reason", .label = "reason", },
	{ .statistic = "exit_reason_ns", .metric = "exit", .label = "reason", },
	{ .statistic = "exit_hist", .metric = "exit_duration", },
	{ "time_guest_ns", "time", "state", "guest", time_help, },
	{ "time_exit_ns", "time", "state", "exit", time_help, },
	{ "time_poll_ns", "time", "state", "poll", time_help, },
	{ "time_halt_ns", "time", "state", "halt", time_help, },
	{ "time_sleep_ns", "time", "state", "sleep", time_help, },
	{ "time_user_ns", "time", "state", "user", time_help, },
};

/* NULL if it is not of the expected kind: another statistic may have the same name. */
static const struct renamed *find_renamed(const struct statsfile_desc *desc)
{
	const struct renamed *entry;

	for (entry = renamed; entry < renamed + ARRAY_SIZE(renamed); entry++) {
		if (strcmp(entry->statistic, desc->name))
			continue;
		if (entry->part)
			return type_of(desc) == METRIC_COUNTER && !has_parts(desc) ? entry : NULL;
		return has_parts(desc) == !!entry->label ? entry : NULL;
	}
	return NULL;
}

static const char *label_name(const struct statsfile_desc *desc)
{
	const struct renamed *entry = find_renamed(desc);

	if (entry)
		return entry->label;
	if (is_array(desc))
		return "part";
	return has_named_buckets(desc) ? "bucket" : NULL;
}

bool metric_has_unit(const char *name, const char *unit)
{
	return text_ends_in(name, unit) && name[strlen(name) - strlen(unit) - 1] == '_';
}

static char *name_metric(enum scope scope, const struct statsfile_desc *desc)
{
	const struct renamed *entry = find_renamed(desc);
	const char *unit = unit_of(desc);
	char *base, *name, *c;
	bool has_unit;

	base = entry ? xasprintf("%s%s", prefixes[scope], entry->metric) :
		       xasprintf("%s%.*s", prefixes[scope], base_length(desc), desc->name);
	has_unit = !*unit || metric_has_unit(base, unit);
	name = xasprintf("%s%s%s", base, has_unit ? "" : "_", has_unit ? "" : unit);
	free(base);
	for (c = name; *c; c++) {
		if (!isalnum((unsigned char)*c))
			*c = '_';
	}
	return name;
}

static bool is_same(const struct metric *a, const struct metric *b)
{
	return a->scope == b->scope && a->type == b->type && a->is_peak == b->is_peak &&
	       !strcmp(a->unit, b->unit) && !strcmp(a->statistic, b->statistic) &&
	       !a->label == !b->label && (!a->label || !strcmp(a->label, b->label));
}

static bool is_taken(const struct metrics *metrics, const char *name)
{
	size_t i;

	for (i = 0; i < metrics->num_metrics; i++) {
		if (!strcmp(metrics->metric[i].name, name))
			return true;
	}
	return false;
}

/* Takes over the name. If another metric has it, a number follows it. */
static size_t add_metric(struct metrics *metrics, struct metric *metric)
{
	unsigned int number = 2;
	char *name;
	size_t i;

	for (i = 0; i < metrics->num_metrics; i++) {
		if (is_same(&metrics->metric[i], metric)) {
			free(metric->name);
			return i;
		}
	}
	for (name = xasprintf("%s", metric->name); is_taken(metrics, name); number++) {
		free(name);
		name = xasprintf("%s_%u", metric->name, number);
	}
	free(metric->name);
	metric->name = name;
	metrics->metric = xreallocarray(metrics->metric, metrics->num_metrics + 1,
					sizeof(*metrics->metric));
	metrics->metric[metrics->num_metrics++] = *metric;
	return i;
}

static size_t find_metric(struct metrics *metrics, enum scope scope,
			  const struct statsfile_desc *desc)
{
	const struct renamed *entry = find_renamed(desc);
	bool is_part = entry && entry->part;
	struct metric metric = {
		.scope = scope,
		.type = type_of(desc),
		.is_peak = statsfile_type(desc) == KVM_STATS_TYPE_PEAK,
		.accounting = is_time(desc) ? ACCOUNTING_TIME :
			      is_wait(desc) ? ACCOUNTING_READY : ACCOUNTING_NONE,
		.name = name_metric(scope, desc),
		.unit = unit_of(desc),
		.help = is_part ? entry->help : describe_statistic(scope, desc->name),
		.statistic = is_part ? entry->metric : desc->name,
		.label = label_name(desc),
	};

	return add_metric(metrics, &metric);
}

/* Whether they are "X_ns" and "X_hist". */
static bool is_sum_of(const struct statsfile_desc *sum, const struct statsfile_desc *histogram)
{
	size_t length = strlen(histogram->name);

	if (type_of(histogram) != METRIC_HISTOGRAM || !text_ends_in(histogram->name, "_hist") ||
	    statsfile_type(sum) != KVM_STATS_TYPE_CUMULATIVE || is_array(sum) ||
	    statsfile_unit(sum) != KVM_STATS_UNIT_SECONDS ||
	    statsfile_unit(histogram) != KVM_STATS_UNIT_SECONDS ||
	    statsfile_base(sum) != statsfile_base(histogram) ||
	    sum->exponent != histogram->exponent)
		return false;
	length -= strlen("_hist");
	return !strncmp(sum->name, histogram->name, length) && !strcmp(sum->name + length, "_ns");
}

static const struct statsfile_desc *find_sum(const struct statsfile_schema *schema,
					     const struct statsfile_desc *histogram)
{
	unsigned int i;

	for (i = 0; i < schema->num_desc; i++) {
		if (is_sum_of(&schema->desc[i], histogram))
			return &schema->desc[i];
	}
	return NULL;
}

static bool is_a_sum(const struct statsfile_schema *schema, const struct statsfile_desc *desc)
{
	unsigned int i;

	for (i = 0; i < schema->num_desc; i++) {
		if (is_sum_of(desc, &schema->desc[i]))
			return true;
	}
	return false;
}

char *escape(const char *text, const char *special)
{
	/* Each character may need another one in front. */
	char *escaped = xcalloc(2 * strlen(text) + 1, 1);
	char *to = escaped;

	for (; *text; text++) {
		if (strchr(special, *text))
			*to++ = '\\';
		*to++ = *text;
	}
	return escaped;
}

char *make_label(const char *name, const char *text)
{
	char *escaped = escape(text, "\"\\");
	char *label = xasprintf("%s=\"%s\"", name, escaped);

	free(escaped);
	return label;
}

/*
 * The largest value that the bucket counts. A metric's bound is inside of its bucket; in the
 * file the upper bound is outside, and values are whole numbers.
 */
static char *label_bound(const struct statsfile_desc *desc, unsigned int bucket)
{
	char text[FORMAT_SIZE];

	format_decimal(text, desc, bucket_upper(desc, bucket) - 1);
	/* As OpenMetrics wants it: a bound is a number with a fraction. */
	return xasprintf(",le=\"%s%s\"", text, strpbrk(text, ".e") ? "" : ".0");
}

static void label_bounds(char **label, const struct statsfile_desc *desc)
{
	unsigned int i;

	for (i = 0; !bucket_is_open(desc, i); i++) {
		label[i] = label_bound(desc, i);
		/* Both bounds are the same as text. */
		if (i && label[i - 1] && !strcmp(label[i - 1], label[i])) {
			free(label[i - 1]);
			label[i - 1] = NULL;
		}
	}
}

/*
 * Keeps the highest bound, which limits quantiles, and every second, third, ... bound below it. The
 * choice depends only on their positions: it is the same at every scrape and on every host with
 * this histogram.
 */
static void thin_bounds(char **label, const struct statsfile_desc *desc, uint64_t max)
{
	unsigned int i, count = 0, left, step;

	for (i = 0; i < desc->size; i++)
		count += !!label[i];
	/* One bucket is +Inf, which has no label here. */
	left = max - 1;
	step = left ? count / left + !!(count % left) : 0;
	for (i = desc->size, count = 0; i-- > 0;) {
		if (!label[i] || (step && count++ % step == 0))
			continue;
		free(label[i]);
		label[i] = NULL;
	}
}

static void label_parts(char **label, const struct statsfile_desc *desc)
{
	const struct renamed *entry = find_renamed(desc);
	char number[BUCKET_SIZE], *text;
	unsigned int i;

	for (i = 0; i < desc->size; i++) {
		text = make_label(label_name(desc), entry && entry->part ? entry->part :
						    bucket_name(number, desc, i));
		label[i] = xasprintf(",%s", text);
		free(text);
	}
}

static char **make_labels(const struct metrics *metrics, const struct statsfile_desc *desc)
{
	bool is_labelled = label_name(desc);
	char **label;

	if (!is_labelled && !is_histogram(desc))
		return NULL;
	label = xcalloc(desc->size, sizeof(*label));
	if (is_labelled)
		label_parts(label, desc);
	else
		label_bounds(label, desc);
	if (!is_labelled && metrics->max_buckets)
		thin_bounds(label, desc, metrics->max_buckets);
	return label;
}

static void add_source(const struct metrics *metrics, struct metric_schema *schema,
		       size_t metric, const struct statsfile_desc *desc)
{
	struct metric_source *source;
	size_t missing;

	if (metric >= schema->num_sources) {
		missing = metric + 1 - schema->num_sources;
		schema->source = xreallocarray(schema->source, metric + 1,
					       sizeof(*schema->source));
		memset(&schema->source[schema->num_sources], 0,
		       missing * sizeof(*schema->source));
		schema->num_sources = metric + 1;
	}
	for (source = &schema->source[metric]; source->desc; source = source->next) {
		/* If two statistics have the same name, take the first. */
		if (!strcmp(source->desc->name, desc->name))
			return;
		if (!source->next)
			source->next = xcalloc(1, sizeof(*source));
	}
	*source = (struct metric_source) {
		.desc = desc,
		.sum = is_histogram(desc) ? find_sum(schema->schema, desc) : NULL,
		.label = make_labels(metrics, desc),
	};
}

static bool is_wanted(const struct metrics *metrics, const struct statsfile_schema *schema,
		      const struct statsfile_desc *desc)
{
	const struct statsfile_desc *sum = find_sum(schema, desc);

	if (!is_quantity(desc) || is_a_sum(schema, desc))
		return false;
	return !metrics->only || !regexec(metrics->only, desc->name, 0, NULL, 0) ||
	       (sum && !regexec(metrics->only, sum->name, 0, NULL, 0));
}

size_t metrics_add(struct metrics *metrics, enum scope scope, struct statsfile_schema *schema)
{
	struct metric_schema *added;
	unsigned int i;
	size_t known;

	for (known = 0; known < metrics->num_schemas; known++) {
		if (metrics->schema[known].scope == scope &&
		    statsfile_schema_is_same(metrics->schema[known].schema, schema))
			return known;
	}
	metrics->schema = xreallocarray(metrics->schema, known + 1, sizeof(*metrics->schema));
	added = &metrics->schema[metrics->num_schemas++];
	*added = (struct metric_schema) {
		.schema = statsfile_schema_get(schema),
		.scope = scope,
	};
	running_find(&added->running, schema);
	for (i = 0; i < schema->num_desc; i++) {
		if (is_wanted(metrics, schema, &schema->desc[i]))
			add_source(metrics, added,
				   find_metric(metrics, scope, &schema->desc[i]),
				   &schema->desc[i]);
	}
	return known;
}

const struct metric_source *metrics_find(const struct metrics *metrics, size_t schema,
					 size_t metric)
{
	const struct metric_schema *sources = &metrics->schema[schema];

	if (metric >= sources->num_sources || !sources->source[metric].desc)
		return NULL;
	return &sources->source[metric];
}
