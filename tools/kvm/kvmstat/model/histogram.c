// SPDX-License-Identifier: GPL-2.0
/*
 * Buckets and percentiles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/histogram.h"
#include "util/util.h"

const char * const percentile_names[NUM_PERCENTILES] = {
	[P50] = "p50",
	[P90] = "p90",
	[P99] = "p99",
	[PMAX] = "max",
};

static const unsigned int percents[NUM_PERCENTILES] = {
	[P50] = 50,
	[P90] = 90,
	[P99] = 99,
	[PMAX] = 100,
};

bool bucket_is_open(const struct statsfile_desc *desc, unsigned int bucket)
{
	return bucket + 1 == desc->size;
}

uint64_t bucket_lower(const struct statsfile_desc *desc, unsigned int bucket)
{
	if (statsfile_type(desc) == KVM_STATS_TYPE_LINEAR_HIST)
		return (uint64_t)bucket * desc->bucket_size;
	if (!bucket)
		return 0;
	return bucket <= 64 ? UINT64_C(1) << (bucket - 1) : UINT64_MAX;
}

uint64_t bucket_upper(const struct statsfile_desc *desc, unsigned int bucket)
{
	return bucket_lower(desc, bucket + 1);
}

/* How many of @total values are at or below the percentile: rounded up, at least one. */
static uint64_t rank_of(unsigned int percent, uint64_t total)
{
	return total / 100 * percent + (total % 100 * percent + 99) / 100;
}

struct histogram histogram_of(const struct statsfile_desc *desc, const uint64_t *values)
{
	struct histogram histogram = {
		.desc = desc,
		.count = values + desc->first,
		.total = group_total(desc, values),
	};
	unsigned int i, next = 0;
	uint64_t seen = 0;

	for (i = 0; i < desc->size; i++) {
		if (!seen)
			histogram.first = i;
		seen += histogram.count[i];
		while (next < NUM_PERCENTILES && seen >= rank_of(percents[next], histogram.total))
			histogram.percentile[next++] = i;
	}
	return histogram;
}

const char *bucket_name(char number[BUCKET_SIZE], const struct statsfile_desc *desc,
			unsigned int bucket)
{
	const char *name = statsfile_value_name(desc, bucket);

	if (name)
		return name;
	snprintf(number, BUCKET_SIZE, "%u", bucket);
	return number;
}

static int compare_fullness(const void *a, const void *b, void *count_of)
{
	unsigned int left = *(const unsigned int *)a, right = *(const unsigned int *)b;
	const uint64_t *count = count_of;

	if (count[left] != count[right])
		return count[left] < count[right] ? 1 : -1;
	return left < right ? -1 : 1;
}

unsigned int *histogram_rows(const struct histogram *histogram, size_t *count)
{
	unsigned int *rows = xcalloc(histogram->desc->size, sizeof(*rows));
	bool parts = has_parts(histogram->desc);
	unsigned int i, last = histogram->desc->size - 1;

	*count = 0;
	if (!histogram->total)
		return rows;
	if (!parts)
		last = histogram->percentile[PMAX];
	for (i = histogram->first; i <= last; i++) {
		if (histogram->count[i] || !parts)
			rows[(*count)++] = i;
	}
	if (parts)
		qsort_r(rows, *count, sizeof(*rows), compare_fullness, (void *)histogram->count);
	return rows;
}

uint64_t highest_count(const struct histogram *histogram)
{
	uint64_t highest = 0;
	unsigned int i;

	for (i = 0; i < histogram->desc->size; i++) {
		if (highest < histogram->count[i])
			highest = histogram->count[i];
	}
	return highest;
}
