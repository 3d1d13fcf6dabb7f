/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What counters have counted in the last minute: all values of a VM or vCPU as they were every
 * five seconds, so that it does not matter how often they are sampled.
 */
#ifndef KVMSTAT_MINUTE_H
#define KVMSTAT_MINUTE_H

#include <stddef.h>
#include <stdint.h>

#define MINUTE_STEPS 12

struct minute {
	struct {
		uint64_t at_ns;
		uint64_t *value;
	} sample[MINUTE_STEPS + 1];	/* the next one takes the place of the oldest */
	size_t count;
	size_t next;
	size_t num_values;
};

/* All zeros is an empty one. Of other values than before it begins anew. */
void minute_add(struct minute *minute, uint64_t now_ns, const uint64_t *value,
		size_t num_values);

/*
 * What came between the oldest sample of the last minute and @value, of as many values, which
 * are those of @now_ns; how long that was, 0 if there is no sample before.
 */
uint64_t minute_delta(const struct minute *minute, uint64_t now_ns, const uint64_t *value,
		      uint64_t *delta);
void minute_free(struct minute *minute);

#endif /* KVMSTAT_MINUTE_H */
