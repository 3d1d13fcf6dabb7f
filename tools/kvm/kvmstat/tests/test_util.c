// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers from a command line.
 */
#include <errno.h>
#include <stdlib.h>

#include "tap.h"
#include "util/util.h"

struct number_case {
	const char *text;
	int ret;
	uint64_t value;
};

static void test_numbers(void)
{
	static const struct number_case cases[] = {
		{ "1", 0, 1, },
		{ "007", 0, 7, },
		{ "100", 0, 100, },
		{ "0", -ERANGE, 0, },
		{ "101", -ERANGE, 0, },
		{ "18446744073709551615", -ERANGE, 0, },
		{ "18446744073709551616", -ERANGE, 0, },
		{ "99999999999999999999999", -ERANGE, 0, },
		{ "", -EINVAL, 0, },
		{ " 1", -EINVAL, 0, },
		{ "1 ", -EINVAL, 0, },
		{ "+1", -EINVAL, 0, },
		{ "-1", -EINVAL, 0, },
		{ "0x10", -EINVAL, 0, },
		{ "1e2", -EINVAL, 0, },
		{ "1.0", -EINVAL, 0, },
		{ "ten", -EINVAL, 0, },
	};
	uint64_t value;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		value = 0;
		ret = parse_number(cases[i].text, 1, 100, &value);
		check(ret == cases[i].ret && value == cases[i].value,
		      "number from 1 to 100: '%s'", cases[i].text);
	}
	check(!parse_number("18446744073709551615", 0, UINT64_MAX, &value) && value == UINT64_MAX,
	      "the largest number");
}

static void test_seconds(void)
{
	static const struct number_case cases[] = {
		{ "1", 0, 1000000000, },
		{ "0.5", 0, 500000000, },
		{ "2.25", 0, 2250000000, },
		{ "1.000000001", 0, 1000000001, },
		{ "10.000000000", 0, 10000000000, },
		{ "0.000000001", -ERANGE, 0, },
		{ "10.1", -ERANGE, 0, },
		{ "18446744073", -ERANGE, 0, },
		{ "18446744073.999999999", -ERANGE, 0, },
		{ "18446744074", -ERANGE, 0, },
		{ "1.0000000001", -EINVAL, 0, },
		{ "1.", -EINVAL, 0, },
		{ ".5", -EINVAL, 0, },
		{ "1,5", -EINVAL, 0, },
		{ "1.5.0", -EINVAL, 0, },
		{ "1s", -EINVAL, 0, },
		{ "nan", -EINVAL, 0, },
		{ "inf", -EINVAL, 0, },
		{ "-1", -EINVAL, 0, },
		{ "", -EINVAL, 0, },
	};
	uint64_t ns;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ns = 0;
		ret = parse_seconds(cases[i].text, 10000000, 10 * NSEC_PER_SEC, &ns);
		check(ret == cases[i].ret && ns == cases[i].value,
		      "seconds from 0.01 to 10: '%s'", cases[i].text);
	}
}

int main(void)
{
	test_numbers();
	test_seconds();
	return tap_end();
}
