// SPDX-License-Identifier: GPL-2.0
/*
 * What counters have counted in the last minute.
 */
#include <stdlib.h>
#include <string.h>

#include "model/minute.h"
#include "util/util.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)
#define STEP_NS (MINUTE_NS / MINUTE_STEPS)

/* No interval is exact: one of a minute is not more than that. */
#define SLACK_NS (NSEC_PER_SEC / 2)

#define NUM_SAMPLES (MINUTE_STEPS + 1)

void minute_free(struct minute *minute)
{
	size_t i;

	for (i = 0; i < NUM_SAMPLES; i++)
		free(minute->sample[i].value);
	*minute = (struct minute) {};
}

/* The @back-th before the next one. */
static size_t index_of(const struct minute *minute, size_t back)
{
	return (minute->next + NUM_SAMPLES - back) % NUM_SAMPLES;
}

void minute_add(struct minute *minute, uint64_t now_ns, const uint64_t *value,
		size_t num_values)
{
	size_t index;

	if (minute->num_values != num_values)
		minute_free(minute);
	if (minute->count &&
	    now_ns < minute->sample[index_of(minute, 1)].at_ns + STEP_NS - SLACK_NS)
		return;
	index = minute->next;
	if (!minute->sample[index].value)
		minute->sample[index].value = xcalloc(num_values, sizeof(*value));
	memcpy(minute->sample[index].value, value, num_values * sizeof(*value));
	minute->sample[index].at_ns = now_ns;
	minute->num_values = num_values;
	minute->next = (index + 1) % NUM_SAMPLES;
	minute->count += minute->count < NUM_SAMPLES;
}

uint64_t minute_delta(const struct minute *minute, uint64_t now_ns, const uint64_t *value,
		      uint64_t *delta)
{
	const uint64_t *before = value;
	uint64_t elapsed_ns = 0;
	size_t i, index;

	for (i = 1; i <= minute->count; i++) {
		index = index_of(minute, i);
		/* With a longer interval it is that. */
		if (elapsed_ns && now_ns - minute->sample[index].at_ns > MINUTE_NS + SLACK_NS)
			break;
		elapsed_ns = now_ns - minute->sample[index].at_ns;
		before = minute->sample[index].value;
	}
	/* Only a reset makes a counter smaller. */
	for (i = 0; i < minute->num_values; i++)
		delta[i] = value[i] >= before[i] ? value[i] - before[i] : value[i];
	return elapsed_ns;
}
