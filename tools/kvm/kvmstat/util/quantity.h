/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quantities with units from the command line: "8.4ms", "1.5MiB", "1000".
 */
#ifndef KVMSTAT_QUANTITY_H
#define KVMSTAT_QUANTITY_H

#include <stdint.h>

enum quantity_kind {
	QUANTITY_COUNT,			/* whole numbers */
	QUANTITY_BYTES,
	QUANTITY_TIME,			/* needs a unit */
};

/* The number n stands for n * base^exponent seconds, bytes or events. */
struct quantity_scale {
	unsigned int base;		/* 2 or 10 */
	int exponent;
};

/* Parses the whole string and rounds. Returns NULL, or an error to print after the string. */
const char *parse_quantity(const char *text, enum quantity_kind kind,
			   const struct quantity_scale *scale, uint64_t *number);

#endif /* KVMSTAT_QUANTITY_H */
