/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Metrics that are made from statistics: names, units, help, and where a file has the values. They
 * are looked up once for all files with the same descriptors, and never forgotten.
 *
 * A histogram "X_hist" and the sum "X_ns" are one metric, even if --stat matches only one of them.
 * A histogram with named buckets is a counter with a label; an array is a counter or a gauge with a
 * label. Statistics that are parts of a whole are one metric. States and moments are no metrics.
 */
#ifndef KVMSTAT_METRICS_H
#define KVMSTAT_METRICS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "model/model.h"
#include "sources/statsfile.h"

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM,
};

/* Which statistic of the VM says whether KVM measures it. */
enum accounting_of {
	ACCOUNTING_NONE,		/* always */
	ACCOUNTING_TIME,		/* time_accounting */
	ACCOUNTING_READY,		/* ready_accounting */
	NUM_ACCOUNTINGS,
};

struct metric {
	enum scope scope;
	enum metric_type type;
	bool is_peak;
	enum accounting_of accounting;
	char *name;			/* a counter's without _total */
	const char *unit;		/* the end of the name; "" without a unit */
	const char *help;		/* NULL if the lists do not have the statistic */
	const char *statistic;
	const char *label;		/* name of the label of parts, or NULL */
};

/* The statistics of a schema that a metric comes from. */
struct metric_source {
	const struct statsfile_desc *desc;	/* NULL: it has none */
	const struct statsfile_desc *sum;	/* of a histogram, or NULL */
	/*
	 * The label of each bucket or part, after a comma. A bucket whose label is NULL is left
	 * out: the next one includes its count.
	 */
	char **label;
	struct metric_source *next;		/* a further part of the same metric, or NULL */
};

struct metric_schema {
	struct statsfile_schema *schema;
	enum scope scope;
	struct running running;
	struct metric_source *source;	/* by metric */
	size_t num_sources;		/* none for metrics that were added later */
};

struct metrics {
	const regex_t *only;		/* only statistics whose name matches; NULL: all */
	uint64_t max_buckets;		/* per histogram, including +Inf; 0: all */
	struct metric *metric;
	size_t num_metrics;
	struct metric_schema *schema;
	size_t num_schemas;
};

void metrics_free(struct metrics *metrics);

/* Whether --stat matches nothing in any of the schemas so far. */
bool metrics_are_none(const struct metrics *metrics);

/* Whether @unit is the last word of @name. */
bool metric_has_unit(const char *name, const char *unit);

/* Returns the index of the schema. If it is new, adds its metrics. */
size_t metrics_add(struct metrics *metrics, enum scope scope, struct statsfile_schema *schema);

/* Puts a backslash before each of the @special characters. The caller frees the text. */
char *escape(const char *text, const char *special);

/* Makes NAME="TEXT". The caller frees it. */
char *make_label(const char *name, const char *text);

/* NULL if the schema does not have it. */
const struct metric_source *metrics_find(const struct metrics *metrics, size_t schema,
					 size_t metric);

#endif /* KVMSTAT_METRICS_H */
