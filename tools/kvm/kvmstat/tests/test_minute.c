// SPDX-License-Identifier: GPL-2.0
/*
 * The last minute of counters.
 */
#include "model/minute.h"
#include "tap.h"
#include "util/util.h"

/* A counter that counts the seconds, and one that is 0. */
static void add(struct minute *minute, uint64_t tenths)
{
	const uint64_t value[] = { tenths, 0, };

	minute_add(minute, tenths * NSEC_PER_SEC / 10, value, 2);
}

/* What it has counted then, in tenths of a second; SIZE_MAX if the times do not agree. */
static size_t counted(const struct minute *minute, uint64_t tenths)
{
	const uint64_t value[] = { tenths, 0, };
	uint64_t delta[2] = { 7, 7, };
	uint64_t elapsed_ns = minute_delta(minute, tenths * NSEC_PER_SEC / 10, value, delta);

	if (delta[1] || elapsed_ns != delta[0] * NSEC_PER_SEC / 10)
		return SIZE_MAX;
	return delta[0];
}

static void test_intervals(void)
{
	static const unsigned int intervals[] = { 1, 10, 20, 46, 49, 50, 100, 600, };
	struct minute minute;
	uint64_t tenths;
	size_t i, found, least, most;

	for (i = 0; i < ARRAY_SIZE(intervals); i++) {
		minute = (struct minute) {};
		least = SIZE_MAX;
		most = 0;
		for (tenths = 5; tenths < 5000; tenths += intervals[i]) {
			add(&minute, tenths);
			found = counted(&minute, tenths);
			if (tenths < 1300)
				continue;
			least = found < least ? found : least;
			most = found > most ? found : most;
		}
		check(least >= 540 && most <= 605, "every %u tenths: from %zu to %zu of the last",
		      intervals[i], least, most);
		minute_free(&minute);
	}
}

static void test_begin(void)
{
	struct minute minute = {};
	uint64_t value[3] = { 5, 5, 5, }, delta[3];

	add(&minute, 100);
	check_number(counted(&minute, 100), 0, "one sample: nothing yet");
	check_number(counted(&minute, 103), 3, "what came since the only one");
	add(&minute, 900);
	check_number(counted(&minute, 900), 800, "an interval of more than a minute is all of it");
	add(&minute, 960);
	check_number(counted(&minute, 960), 60, "but not with what is behind it");
	minute_add(&minute, 96 * NSEC_PER_SEC, value, 3);
	value[0] = 4;
	value[1] = 6;
	check_number(minute_delta(&minute, 98 * NSEC_PER_SEC, value, delta), 2 * NSEC_PER_SEC,
		     "other values begin anew");
	check(delta[0] == 4 && delta[1] == 1 && delta[2] == 0,
	      "a counter that got smaller was reset: all it has is new");
	minute_free(&minute);
}

int main(void)
{
	test_begin();
	test_intervals();
	return tap_end();
}
