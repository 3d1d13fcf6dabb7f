/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The metrics made of statistics: names, units, help, and where a file has the values. Looked up
 * once for all files with the same descriptors, and never forgotten.
 *
 * A histogram "X_hist" and the sum "X_ns" are one metric, whichever is asked for. A histogram with
 * named buckets is a counter with a label, as an array is (or a gauge), and statistics that are
 * parts of a whole are one metric. States and moments are none.
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

/* Which of the VM's statistics says whether it is measured. */
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
	char *name;			/* of a counter without _total */
	const char *unit;		/* what the name ends in, "" without unit */
	const char *help;		/* NULL if it is not known what is counted */
	const char *statistic;
	const char *label;		/* that tells parts apart, or NULL */
};

/* Where a schema has a metric. */
struct metric_source {
	const struct statsfile_desc *desc;	/* NULL if it has not */
	const struct statsfile_desc *sum;	/* of a histogram, or NULL */
	/*
	 * The label of each bucket or part, with a comma in front; NULL: it is left out, and the
	 * next bucket counts it.
	 */
	char **label;
	struct metric_source *next;		/* a further part of the same metric, or NULL */
};

struct metric_schema {
	struct statsfile_schema *schema;
	enum scope scope;
	struct running running;
	struct metric_source *source;	/* by metric */
	size_t num_sources;		/* what was found later it does not have */
};

struct metrics {
	const regex_t *only;		/* statistics of which it fits the name; NULL: all */
	uint64_t max_buckets;		/* of each histogram, with +Inf; 0: all */
	struct metric *metric;
	size_t num_metrics;
	struct metric_schema *schema;
	size_t num_schemas;
};

void metrics_free(struct metrics *metrics);

/* Whether nothing fits the name, of all schemas that there were. */
bool metrics_are_none(const struct metrics *metrics);

/* Whether it is the last word of the name. */
bool metric_has_unit(const char *name, const char *unit);

/* The index of one that describes the same, whose metrics are added if there was none. */
size_t metrics_add(struct metrics *metrics, enum scope scope, struct statsfile_schema *schema);

/* The text with a backslash in front of each of these characters; the caller frees it. */
char *escape(const char *text, const char *special);

/* NAME="TEXT", the caller frees it. */
char *make_label(const char *name, const char *text);

/* NULL if the schema does not have it. */
const struct metric_source *metrics_find(const struct metrics *metrics, size_t schema,
					 size_t metric);

#endif /* KVMSTAT_METRICS_H */
