// SPDX-License-Identifier: GPL-2.0
/*
 * The last minute of a rate: intervals shorter and longer than a second, pauses, what
 * grows older than a minute.
 */
#include <math.h>

#include "model/history.h"
#include "tap.h"
#include "util/util.h"

#define SECOND NSEC_PER_SEC
#define START (1000 * SECOND)

static double points[HISTORY_SECONDS];

static void look(const struct history *history, uint64_t now_ns, size_t count)
{
	history_points(history, now_ns, points, count);
}

static bool is_near(double found, double expected)
{
	return fabs(found - expected) < 0.001 * fabs(expected) + 0.001;
}

static bool are_unknown(size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++) {
		if (points[i] != -1)
			return false;
	}
	return true;
}

static void test_seconds(void)
{
	struct history history = {};
	unsigned int i;

	look(&history, START, 60);
	check(are_unknown(0, 60), "empty: nothing is known");
	for (i = 1; i <= 3; i++)
		history_add(&history, START + i * SECOND, SECOND, 10 * i);
	look(&history, START + 3 * SECOND, 60);
	check(are_unknown(0, 57), "before the first sample nothing is known");
	check(is_near(points[57], 10) && is_near(points[58], 20) && is_near(points[59], 30),
	      "a point per second, oldest first");
	look(&history, START + 5 * SECOND, 60);
	check(is_near(points[55], 10) && is_near(points[57], 30) && are_unknown(58, 60),
	      "they move to the left, what was not sampled is not known");
	history_add(&history, START + 6 * SECOND, SECOND, 0);
	look(&history, START + 6 * SECOND, 60);
	check(points[59] == 0, "0 is known");
	look(&history, START + 60 * SECOND, 60);
	check(is_near(points[0], 10) && is_near(points[2], 30), "a minute is kept");
	look(&history, START + 61 * SECOND, 60);
	check(is_near(points[0], 20), "what is older is not");
	look(&history, START + 200 * SECOND, 60);
	check(are_unknown(0, 60), "all of it grows old");
}

static void test_short_intervals(void)
{
	struct history history = {};

	history_add(&history, START + SECOND / 4, SECOND / 4, 40);
	history_add(&history, START + SECOND, 3 * SECOND / 4, 0);
	look(&history, START + SECOND, 60);
	check(is_near(points[59], 10), "within a second: mean by time");
	history_add(&history, START + 3 * SECOND / 2, SECOND / 2, 8);
	look(&history, START + 3 * SECOND / 2, 60);
	check(is_near(points[59], 8) && is_near(points[58], 10), "half a second of it is known");
	/* Nine tenths of it in the second before. */
	history = (struct history) {};
	history_add(&history, START + SECOND / 10, SECOND, 5);
	look(&history, START + SECOND / 10, 60);
	check(is_near(points[59], 5) && is_near(points[58], 5), "an interval over two seconds");
}

static void test_long_intervals(void)
{
	struct history history = {};

	history_add(&history, START + 10 * SECOND, 10 * SECOND, 7);
	look(&history, START + 10 * SECOND, 60);
	check(are_unknown(0, 50) && is_near(points[50], 7) && is_near(points[59], 7),
	      "ten seconds: all ten are known");
	history_add(&history, START + 1000 * SECOND, 990 * SECOND, 3);
	look(&history, START + 1000 * SECOND, 60);
	check(is_near(points[0], 3) && is_near(points[59], 3), "longer than a minute");
	history_add(&history, START + 1000 * SECOND, 0, 100);
	look(&history, START + 1000 * SECOND, 60);
	check(is_near(points[59], 3), "no time has passed: nothing is added");
	history = (struct history) {};
	history_add(&history, 2 * SECOND, 10 * SECOND, 3);
	look(&history, 2 * SECOND, 60);
	check(is_near(points[59], 3) && is_near(points[58], 3) && are_unknown(0, 58),
	      "right after the start of the clock");
}

static void test_points(void)
{
	struct history history = {};
	unsigned int i;

	for (i = 1; i <= 60; i++)
		history_add(&history, START + i * SECOND, SECOND, i);
	look(&history, START + 60 * SECOND, 10);
	check(is_near(points[0], 3.5) && is_near(points[9], 57.5), "10 points of 6 seconds");
	look(&history, START + 60 * SECOND, 1);
	check(is_near(points[0], 30.5), "one point is the mean of the minute");
	look(&history, START + 60 * SECOND, 7);
	check(is_near(points[0], 4.5) && is_near(points[6], 56), "7 points");
}

int main(void)
{
	test_seconds();
	test_short_intervals();
	test_long_intervals();
	test_points();
	return tap_end();
}
