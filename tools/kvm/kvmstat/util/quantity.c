// SPDX-License-Identifier: GPL-2.0
/*
 * Quantities with units.
 */
#include <stdlib.h>
#include <string.h>

#include "util/quantity.h"
#include "util/util.h"

#define DIGITS "0123456789"
#define NO_NUMBER "is not a whole number"
#define NEEDS_TIME "needs a unit: ns, us, ms or s"
#define NEEDS_BYTES "is not a number of bytes, KiB, MiB, GiB or TiB"

struct unit {
	const char *name;
	unsigned int base;
	int exponent;
};

static const struct unit times[] = {
	{ "ns", 10, -9, }, { "us", 10, -6, }, { "ms", 10, -3, }, { "s", 10, 0, }, {},
};

static const struct unit sizes[] = {
	{ "", 2, 0, }, { "B", 2, 0, }, { "KiB", 2, 10, }, { "MiB", 2, 20, }, { "GiB", 2, 30, },
	{ "TiB", 2, 40, }, {},
};

static const struct unit counts[] = {
	{ "", 10, 0, }, {},
};

static const struct {
	const struct unit *units;
	const char *error;
} kinds[] = {
	[QUANTITY_COUNT] = { counts, NO_NUMBER, },
	[QUANTITY_BYTES] = { sizes, NEEDS_BYTES, },
	[QUANTITY_TIME] = { times, NEEDS_TIME, },
};

static long double scale_by(long double number, unsigned int base, int exponent)
{
	long double factor = 1;
	int i;

	/* Larger exponents make no difference in 64 bits. */
	for (i = 0; i < abs(exponent) && i < 64; i++)
		factor *= base;
	return exponent < 0 ? number / factor : number * factor;
}

const char *parse_quantity(const char *text, enum quantity_kind kind,
			   const struct quantity_scale *scale, uint64_t *number)
{
	long double value = 0;
	size_t length = strspn(text, DIGITS);
	const struct unit *unit = kinds[kind].units;

	if (!length)
		return kinds[kind].error;
	/* Counts are whole: rounding "more than 1.5" would change it. */
	if (kind != QUANTITY_COUNT && text[length] == '.' && strspn(text + length + 1, DIGITS))
		length += 1 + strspn(text + length + 1, DIGITS);
	while (unit->name && strcmp(unit->name, text + length))
		unit++;
	if (!unit->name)
		return kinds[kind].error;
	/* With equal bases scale once, so that whole numbers stay whole. */
	value = strtold(text, NULL);
	if (unit->base == scale->base) {
		value = scale_by(value, unit->base, unit->exponent - scale->exponent);
	} else {
		value = scale_by(value, unit->base, unit->exponent);
		value = scale_by(value, scale->base, -scale->exponent);
	}
	if (value >= 0x1p64L)
		return "is too large";
	/* Adding a half to a large number would change it. */
	*number = value;
	*number += value - *number >= 0.5L;
	return NULL;
}
