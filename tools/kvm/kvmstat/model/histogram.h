/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buckets, their bounds, and percentiles, which are buckets, too. Named buckets and arrays have
 * neither bounds nor percentiles.
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
	const uint64_t *count;			/* by bucket: desc->size of them */
	uint64_t total;
	/* If total is not 0: buckets. */
	unsigned int first;
	unsigned int percentile[NUM_PERCENTILES];	/* the last is the highest of all */
};

/* @values: the group's array that holds the histogram, which has to stay. */
struct histogram histogram_of(const struct statsfile_desc *desc, const uint64_t *values);

/*
 * A bucket counts values from its lower bound up to, but not including, its upper bound, in the
 * file's numbers. The last one is open. What is too large is UINT64_MAX.
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
 * The buckets to show: from the lowest to the highest that is not empty; of what has parts the
 * fullest first, without empty ones. The caller frees the array.
 */
unsigned int *histogram_rows(const struct histogram *histogram, size_t *count);

/* The count of the fullest bucket. */
uint64_t highest_count(const struct histogram *histogram);

#endif /* KVMSTAT_HISTOGRAM_H */
