// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers for people.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "model/histogram.h"
#include "model/model.h"
#include "render/format.h"
#include "util/util.h"

/* Useful exponents are far smaller, but a file may have any. */
#define MAX_EXPONENT 1100

static bool is_base_known(const struct statsfile_desc *desc)
{
	return statsfile_base(desc) <= KVM_STATS_BASE_MAX;
}

/* The value times base^exponent: in the unit. */
static double scale_value(const struct statsfile_desc *desc, double value)
{
	double base = statsfile_base(desc) == KVM_STATS_BASE_POW2 ? 2 : 10;
	int exponent = desc->exponent;
	double factor = 1;
	int i;

	if (!value || !is_base_known(desc))
		return value;
	for (i = 0; i < (exponent < 0 ? -exponent : exponent) && i < MAX_EXPONENT; i++)
		factor *= base;
	return exponent < 0 ? value / factor : value * factor;
}

struct prefix {
	double factor;
	const char *unit;
};

static const struct prefix seconds_prefixes[] = {
	{ 1, "s", }, { 0.001, "ms", }, { 0.000001, "us", }, { 0.000000001, "ns", },
};

static const struct prefix bytes_prefixes[] = {
	{ 0x1p60, "EiB", }, { 0x1p50, "PiB", }, { 0x1p40, "TiB", }, { 0x1p30, "GiB", },
	{ 0x1p20, "MiB", }, { 0x1p10, "KiB", }, { 1, "B", },
};

static const struct prefix count_prefixes[] = {
	{ 1e18, "E", }, { 1e15, "P", }, { 1e12, "T", }, { 1e9, "G", }, { 1e6, "M", },
};

/* About four digits; no ".0", which would claim more precision than there is. */
static int format_number(char text[FORMAT_SIZE], double value)
{
	if (value >= 1e7)
		return snprintf(text, FORMAT_SIZE, "%.4g", value);
	/* "0" would say that nothing happens. */
	if (value > 0 && value < 0.05)
		return snprintf(text, FORMAT_SIZE, "<0.1");
	if (value >= 100 || !((uint64_t)(value * 10 + 0.5) % 10))
		return snprintf(text, FORMAT_SIZE, "%.0f", value);
	return snprintf(text, FORMAT_SIZE, "%.1f", value);
}

static void format_prefixed(char text[FORMAT_SIZE], double value, const struct prefix *prefix,
			    size_t num_prefixes)
{
	size_t i;
	int length;

	/* Zero and smaller values get the last prefix. */
	for (i = 0; i < num_prefixes - 1 && value < prefix[i].factor; i++)
		;
	length = format_number(text, value / prefix[i].factor);
	snprintf(text + length, FORMAT_SIZE - length, " %s", prefix[i].unit);
}

static bool has_prefixes(const struct statsfile_desc *desc)
{
	return statsfile_unit(desc) == KVM_STATS_UNIT_SECONDS ||
	       statsfile_unit(desc) == KVM_STATS_UNIT_BYTES;
}

static bool is_prefixed(const struct statsfile_desc *desc)
{
	return !is_histogram(desc) && has_prefixes(desc);
}

static void format_unit_prefixed(char text[FORMAT_SIZE], const struct statsfile_desc *desc,
				 double value)
{
	value = scale_value(desc, value);
	if (statsfile_unit(desc) == KVM_STATS_UNIT_SECONDS)
		format_prefixed(text, value, seconds_prefixes, ARRAY_SIZE(seconds_prefixes));
	else
		format_prefixed(text, value, bytes_prefixes, ARRAY_SIZE(bytes_prefixes));
}

bool is_scaled(const struct statsfile_desc *desc)
{
	return is_prefixed(desc) || (!is_histogram(desc) && desc->exponent);
}

void format_value(char text[FORMAT_SIZE], const struct statsfile_desc *desc, uint64_t value)
{
	const char *name = enumerated_name(desc, value);

	if (name)
		snprintf(text, FORMAT_SIZE, "%s", name);
	else if (!is_scaled(desc))
		snprintf(text, FORMAT_SIZE, "%llu", (unsigned long long)value);
	else if (is_prefixed(desc))
		format_unit_prefixed(text, desc, value);
	else
		snprintf(text, FORMAT_SIZE, "%.6g", scale_value(desc, value));
}

void format_duration(char text[FORMAT_SIZE], uint64_t ns)
{
	format_prefixed(text, (double)ns / NSEC_PER_SEC, seconds_prefixes,
			ARRAY_SIZE(seconds_prefixes));
}

void format_rate(char text[FORMAT_SIZE], const struct statsfile_desc *desc, double rate)
{
	if (is_prefixed(desc)) {
		format_unit_prefixed(text, desc, rate);
		return;
	}
	if (!is_histogram(desc))
		rate = scale_value(desc, rate);
	format_count_rate(text, rate);
}

void format_count_rate(char text[FORMAT_SIZE], double rate)
{
	if (rate < 1e7)
		format_number(text, rate);
	else
		format_prefixed(text, rate, count_prefixes, ARRAY_SIZE(count_prefixes));
}

/* Prints a number without printf(): the exporter prints thousands of them. */
static int format_digits(char text[FORMAT_SIZE], uint64_t value)
{
	char digits[FORMAT_SIZE];
	char *digit = digits + sizeof(digits);
	int length;

	do {
		*--digit = '0' + value % 10;
		value /= 10;
	} while (value);
	length = digits + sizeof(digits) - digit;
	memcpy(text, digit, length);
	text[length] = '\0';
	return length;
}

/* 10^19 is the largest power of ten that fits in 64 bits. */
#define MAX_DECIMALS 19

/* Prints value / 10^decimals. */
static int format_fraction(char text[FORMAT_SIZE], uint64_t value, int decimals)
{
	uint64_t divisor = 1;
	int length, i;

	for (i = 0; i < decimals; i++)
		divisor *= 10;
	length = format_digits(text, value / divisor);
	value %= divisor;
	if (!value)
		return length;
	text[length++] = '.';
	while (value) {
		divisor /= 10;
		text[length++] = '0' + value / divisor;
		value %= divisor;
	}
	text[length] = '\0';
	return length;
}

int format_decimal(char text[FORMAT_SIZE], const struct statsfile_desc *desc, uint64_t value)
{
	if (!desc->exponent || !is_base_known(desc))
		return format_digits(text, value);
	if (desc->exponent < 0 && desc->exponent >= -MAX_DECIMALS &&
	    statsfile_base(desc) == KVM_STATS_BASE_POW10)
		return format_fraction(text, value, -desc->exponent);
	return snprintf(text, FORMAT_SIZE, "%.17g", scale_value(desc, value));
}

void format_bound(char text[FORMAT_SIZE], const struct statsfile_desc *desc, uint64_t bound)
{
	if (has_prefixes(desc))
		format_unit_prefixed(text, desc, bound);
	else
		snprintf(text, FORMAT_SIZE, "%.6g", scale_value(desc, bound));
}

/* The name of the number, or "KIND-NUMBER" if it has none. */
static void format_name(char text[FORMAT_SIZE], const char * const names[5], const char *kind,
			unsigned int number)
{
	if (number < 5)
		snprintf(text, FORMAT_SIZE, "%s", names[number]);
	else
		snprintf(text, FORMAT_SIZE, "%s-%u", kind, number);
}

void format_type(char text[FORMAT_SIZE], const struct statsfile_desc *desc)
{
	static const char * const names[] = {
		"cumulative", "instant", "peak", "linear-hist", "log-hist",
	};

	format_name(text, names, "type", statsfile_type(desc) >> KVM_STATS_TYPE_SHIFT);
}

void format_unit_name(char text[FORMAT_SIZE], const struct statsfile_desc *desc)
{
	static const char * const names[] = { "-", "bytes", "seconds", "cycles", "boolean", };

	format_name(text, names, "unit", statsfile_unit(desc) >> KVM_STATS_UNIT_SHIFT);
}

void format_unit(char text[FORMAT_SIZE], const struct statsfile_desc *desc)
{
	static const char * const bases[] = { "10", "2", };
	int length;

	format_unit_name(text, desc);
	length = strlen(text);
	if (desc->exponent)
		snprintf(text + length, FORMAT_SIZE - length, "*%s^%d",
			 is_base_known(desc) ?
			 bases[statsfile_base(desc) >> KVM_STATS_BASE_SHIFT] : "?",
			 desc->exponent);
}

void format_bounds(char lower[FORMAT_SIZE], char upper[FORMAT_SIZE],
		   const struct statsfile_desc *desc, unsigned int bucket)
{
	format_bound(lower, desc, bucket_lower(desc, bucket));
	if (bucket_is_open(desc, bucket))
		strcpy(upper, "-");
	else
		format_bound(upper, desc, bucket_upper(desc, bucket));
}

char *format_bar(uint64_t count, uint64_t highest, unsigned int width)
{
	/* If nothing was counted, @highest is 0. */
	unsigned int length = count ? (double)count / highest * width + 0.5 : 0;
	char *bar;

	/* Draw at least one character. */
	if (count && !length)
		length = 1;
	bar = xcalloc(length + 1, 1);
	memset(bar, '#', length);
	return bar;
}
