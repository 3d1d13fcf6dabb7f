/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rate over the last minute, second by second, whatever the interval is at which it
 * was sampled: the same size for all, and the same picture before and after a change of
 * the interval.
 */
#ifndef KVMSTAT_HISTORY_H
#define KVMSTAT_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#define HISTORY_SECONDS 60

struct history {
	uint64_t last;			/* the newest second there is something of */
	struct {
		float sum;		/* rate times time */
		float known;		/* seconds, 0 to 1 */
	} second[HISTORY_SECONDS];	/* by second modulo their number */
};

/* All zeros is an empty one. The rate was this one in the @elapsed_ns before @now_ns. */
void history_add(struct history *history, uint64_t now_ns, uint64_t elapsed_ns, double rate);

/*
 * The minute until @now_ns in @count points of the same length (@count from 1 to
 * HISTORY_SECONDS), oldest first: the mean rate, or -1 if nothing is known of that time.
 */
void history_points(const struct history *history, uint64_t now_ns, double *point,
		    size_t count);

#endif /* KVMSTAT_HISTORY_H */
