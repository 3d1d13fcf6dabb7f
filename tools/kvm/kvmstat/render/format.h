/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers for people: a value in its unit, in few characters. */
#ifndef KVMSTAT_FORMAT_H
#define KVMSTAT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "sources/statsfile.h"

/* Fits every result of the functions below. */
#define FORMAT_SIZE 32

/*
 * The value in its unit: "1.5 MiB", "20.3 ms", or its name. Plain numbers are not rounded. For a
 * histogram, @value is a count, and thus a plain number.
 */
void format_value(char text[FORMAT_SIZE], const struct statsfile_desc *desc, uint64_t value);

/* A duration: "20.3 ms". */
void format_duration(char text[FORMAT_SIZE], uint64_t ns);

/* An amount per second: "12034", "1.5 MiB", "20.3 ms". */
void format_rate(char text[FORMAT_SIZE], const struct statsfile_desc *desc, double rate);

/* A number of events per second. */
void format_count_rate(char text[FORMAT_SIZE], double rate);

/* The value in its unit with all digits, for a program. Returns their number. */
int format_decimal(char text[FORMAT_SIZE], const struct statsfile_desc *desc, uint64_t value);

/* The bound of a histogram's bucket, in its unit. */
void format_bound(char text[FORMAT_SIZE], const struct statsfile_desc *desc, uint64_t bound);

/* Whether format_value() prints another number than the one in the file. */
bool is_scaled(const struct statsfile_desc *desc);

/* Words: "log-hist", "seconds*10^-9", "-" without a unit, "type-9" for an unknown type. */
void format_type(char text[FORMAT_SIZE], const struct statsfile_desc *desc);
void format_unit_name(char text[FORMAT_SIZE], const struct statsfile_desc *desc);
void format_unit(char text[FORMAT_SIZE], const struct statsfile_desc *desc);

/* The bounds of a bucket in their unit, "-" where there is none. */
void format_bounds(char lower[FORMAT_SIZE], char upper[FORMAT_SIZE],
		   const struct statsfile_desc *desc, unsigned int bucket);

/* A bar, which is @width long for the fullest bucket. The caller frees it. */
char *format_bar(uint64_t count, uint64_t highest, unsigned int width);

#endif /* KVMSTAT_FORMAT_H */
