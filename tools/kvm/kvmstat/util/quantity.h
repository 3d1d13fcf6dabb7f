/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quantities with units, as a command line has them and as kvmstat prints them: "8.4ms",
 * "1.5MiB", "1000".
 */
#ifndef KVMSTAT_QUANTITY_H
#define KVMSTAT_QUANTITY_H

#include <stdint.h>

enum quantity_kind {
	QUANTITY_COUNT,			/* whole */
	QUANTITY_BYTES,
	QUANTITY_TIME,			/* a unit has to be there */
};

/* A number n stands for n * base^exponent, of seconds, bytes or what is counted. */
struct quantity_scale {
	unsigned int base;		/* 2 or 10 */
	int exponent;
};

/*
 * Takes the whole string or nothing; rounds to the nearest number. NULL, or what is wrong
 * with it, to be said behind it.
 */
const char *parse_quantity(const char *text, enum quantity_kind kind,
			   const struct quantity_scale *scale, uint64_t *number);

#endif /* KVMSTAT_QUANTITY_H */
