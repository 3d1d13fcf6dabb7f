/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buckets, their bounds, and percentiles. A percentile is the bucket that it is in. Named buckets
 * and arrays have neither bounds nor percentiles.
 */
#ifndef KVMSTAT_HISTOGRAM_H
#define KVMSTAT_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

enum percentile {
	P50,
	P90,
	P99,
	PMAX,
	NUM_PERCENTILES,
};

extern const char * const percentile_names[NUM_PERCENTILES];

struct histogram {
	const struct statsfile_desc *desc;
	const uint64_t *count;			/* per bucket; desc->size entries */
	uint64_t total;
	/* Indexes of buckets, if total is not 0. */
	unsigned int first;
	unsigned int percentile[NUM_PERCENTILES];	/* PMAX: the highest value */
};

/* @values: the group's array that holds the histogram. It must outlive the result. */
struct histogram histogram_of(const struct statsfile_desc *desc, const uint64_t *values);

/*
 * A bucket counts values from its lower bound up to, but not including, its upper bound, in the
 * file's numbers. The last one is open. A bound that does not fit is UINT64_MAX.
 */
uint64_t bucket_lower(const struct statsfile_desc *desc, unsigned int bucket);
uint64_t bucket_upper(const struct statsfile_desc *desc, unsigned int bucket);
bool bucket_is_open(const struct statsfile_desc *desc, unsigned int bucket);

/* Enough for the number of a bucket. */
#define BUCKET_SIZE 12

/* The bucket's name; if it has none its number, which is written to @number. */
const char *bucket_name(char number[BUCKET_SIZE], const struct statsfile_desc *desc,
			unsigned int bucket);

/*
 * The buckets to show: from the lowest to the highest that is not empty. With parts (names), only
 * buckets that are not empty, the fullest first. The caller frees the array.
 */
unsigned int *histogram_rows(const struct histogram *histogram, size_t *count);

/* The count of the fullest bucket. */
uint64_t highest_count(const struct histogram *histogram);

#endif /* KVMSTAT_HISTOGRAM_H */
