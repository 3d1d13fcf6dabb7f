// SPDX-License-Identifier: GPL-2.0
/*
 * The last minute of a rate.
 */
#include <string.h>

#include "model/history.h"
#include "util/util.h"

static uint64_t second_of(uint64_t ns)
{
	return ns / NSEC_PER_SEC;
}

/* Makes @second the newest one; those that nothing was said about are not known. */
static void advance(struct history *history, uint64_t second)
{
	if (second >= history->last + HISTORY_SECONDS) {
		memset(history->second, 0, sizeof(history->second));
		history->last = second;
	}
	while (history->last < second) {
		history->last++;
		memset(&history->second[history->last % HISTORY_SECONDS], 0,
		       sizeof(history->second[0]));
	}
}

void history_add(struct history *history, uint64_t now_ns, uint64_t elapsed_ns, double rate)
{
	uint64_t start_ns = now_ns > elapsed_ns ? now_ns - elapsed_ns : 0;
	uint64_t end_ns, second;
	double known;

	if (start_ns == now_ns)
		return;
	/* The end belongs to no second of its own. */
	advance(history, second_of(now_ns - 1));
	second = second_of(start_ns);
	if (second + HISTORY_SECONDS <= history->last) {
		second = history->last - HISTORY_SECONDS + 1;
		start_ns = second * NSEC_PER_SEC;
	}
	for (; second <= history->last; second++) {
		end_ns = (second + 1) * NSEC_PER_SEC;
		if (end_ns > now_ns)
			end_ns = now_ns;
		known = (double)(end_ns - start_ns) / NSEC_PER_SEC;
		history->second[second % HISTORY_SECONDS].sum += rate * known;
		history->second[second % HISTORY_SECONDS].known += known;
		start_ns = end_ns;
	}
}

static double mean_of(const struct history *history, uint64_t first, uint64_t end)
{
	double sum = 0, known = 0;
	uint64_t second;

	for (second = first; second < end; second++) {
		if (second > history->last || second + HISTORY_SECONDS <= history->last)
			continue;
		sum += history->second[second % HISTORY_SECONDS].sum;
		known += history->second[second % HISTORY_SECONDS].known;
	}
	return known > 0 ? sum / known : -1;
}

void history_points(const struct history *history, uint64_t now_ns, double *point,
		    size_t count)
{
	/* Seconds are moved up by a minute so that none is negative. */
	uint64_t newest = second_of(now_ns ? now_ns - 1 : 0) + HISTORY_SECONDS;
	uint64_t oldest = newest + 1 - HISTORY_SECONDS;
	uint64_t first, end;
	size_t i;

	for (i = 0; i < count; i++) {
		first = oldest + i * HISTORY_SECONDS / count;
		end = oldest + (i + 1) * HISTORY_SECONDS / count;
		if (first < HISTORY_SECONDS)
			first = HISTORY_SECONDS;
		point[i] = first < end ?
			   mean_of(history, first - HISTORY_SECONDS, end - HISTORY_SECONDS) : -1;
	}
}
