// SPDX-License-Identifier: GPL-2.0
/* Text: UTF-8 that others chose, columns, numbers as people read them, JSON and CSV. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "kvmstat.h"

/* The first character, as '?' if it is malformed. Returns its bytes, 0 at the end. */
static unsigned int decode(const char *text, wchar_t *c)
{
	static const wchar_t least[] = { 0, 0, 0x80, 0x800, 0x10000, };
	unsigned char lead = *text;
	unsigned int length = lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4, i;

	*c = lead;
	if (lead < 0x80)
		return lead != 0;
	*c = lead & (0x7f >> length);
	for (i = 1; i < length && (text[i] & 0xc0) == 0x80; i++)
		*c = *c << 6 | (text[i] & 0x3f);
	if (length && i == length && *c >= least[length] && *c <= 0x10ffff &&
	    (*c < 0xd800 || *c > 0xdfff))
		return length;
	*c = L'?';
	return 1;
}

/* False for controls, invisible characters, and those that reorder others. */
static bool is_printable(wchar_t c)
{
	static const wchar_t others[][2] = {
		{ 0, 0x1f, }, { 0x7f, 0x9f, }, { 0xad, 0xad, }, { 0x61c, 0x61c, },
		{ 0x115f, 0x1160, }, { 0x180e, 0x180e, }, { 0x200b, 0x200f, },
		{ 0x2028, 0x202e, }, { 0x2060, 0x206f, }, { 0x2800, 0x2800, },
		{ 0x3164, 0x3164, }, { 0xfeff, 0xfeff, }, { 0xfff0, 0xfffb, },
		{ 0xfffe, 0xffff, }, { 0xe0000, 0x10ffff, },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (c >= others[i][0] && c <= others[i][1])
			return false;
	}
	return true;
}

/* A mark on the character before it. Some locales know no widths: the blocks of marks are fixed. */
static bool is_mark(wchar_t c)
{
	return (c && !wcwidth(c)) || (c >= 0x300 && c <= 0x36f) || (c >= 0x1ab0 && c <= 0x1aff) ||
	       (c >= 0x1dc0 && c <= 0x1dff) || (c >= 0x20d0 && c <= 0x20ff) ||
	       (c >= 0xfe20 && c <= 0xfe2f);
}

/* Some languages need two marks on a letter; a stack would cover the lines above. */
void make_printable(char *text)
{
	unsigned int length, marks = 2;	/* the first character has nothing to mark */
	char *out = text;
	wchar_t c;

	for (; (length = decode(text, &c)); text += length) {
		marks = is_mark(c) ? marks + 1 : 0;
		if (is_printable(c) && marks <= 2 && !(length == 1 && *text & 0x80)) {
			memmove(out, text, length);
			out += length;
		} else {
			*out++ = '?';
		}
	}
	*out = '\0';
}

static unsigned int width_of(wchar_t c)
{
	int width = wcwidth(c);

	return width < 0 ? 1 : width;
}

unsigned int text_width(const char *text)
{
	unsigned int width = 0, length;
	wchar_t c;

	for (; (length = decode(text, &c)); text += length)
		width += width_of(c);
	return width;
}

/* In exactly @width columns: padded, or with a ~ for its middle. */
char *text_fit(const char *text, unsigned int width)
{
	unsigned int used = text_width(text), left;
	const char *end = text, *head = text;
	wchar_t c;

	if (used <= width)
		return xasprintf("%s%*s", text, (int)(width - used), "");
	if (!width)
		return xasprintf("%s", "");
	while (text_width(end) > width / 2)
		end += decode(end, &c);
	for (left = width - 1 - text_width(end);; left -= width_of(c)) {
		unsigned int length = decode(head, &c);

		if (width_of(c) > left)
			break;
		head += length;
	}
	return xasprintf("%.*s~%s%*s", (int)(head - text), text, end, (int)left, "");
}

void print_wrapped(FILE *out, const char *text, unsigned int width, unsigned int indent)
{
	unsigned int used = 0, length, word_width;
	char *word;

	for (; *text; text += length + !!text[length]) {
		length = strcspn(text, " ");
		word = xasprintf("%.*s", (int)length, text);
		word_width = text_width(word);
		if (used && width && used + 1 + word_width > width) {
			fprintf(out, "\n%*s", indent, "");
			used = indent;
		} else if (used) {
			fputc(' ', out);
			used++;
		}
		fputs(word, out);
		used += word_width;
		free(word);
	}
	fputc('\n', out);
}

static const struct prefix {
	double factor;
	const char *unit;
} seconds[] = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" }, { 1e-9, "ns" }, {}, },
  bytes[] = {
	{ 0x1p40, "TiB" }, { 0x1p30, "GiB" }, { 0x1p20, "MiB" }, { 0x1p10, "KiB" }, { 1, "B" }, {},
};

/* About four digits. "0" would say that nothing happens. */
static int format_number(char *text, double value)
{
	if (value > 0 && value < 0.05)
		return sprintf(text, "<0.1");
	if (value >= 1e7)
		return sprintf(text, "%.4g", value);
	return sprintf(text, value >= 100 || !((uint64_t)(value * 10 + 0.5) % 10) ? "%.0f" : "%.1f",
		       value);
}

static void format_prefixed(char *text, double value, const struct prefix *prefix)
{
	while (prefix[1].unit && value < prefix->factor)
		prefix++;
	sprintf(text + format_number(text, value / prefix->factor), " %s", prefix->unit);
}

void format_time(char text[64], double value)
{
	format_prefixed(text, value, seconds);
}

/* Seconds since 1970: local time for people, UTC for programs. */
static void format_moment(char text[64], double seconds, bool utc)
{
	time_t whole = seconds;
	size_t length;
	struct tm tm;

	if (!utc) {
		strftime(text, 64, terminal_size("COLUMNS") ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S",
			 localtime_r(&whole, &tm));
		return;
	}
	length = strftime(text, 64, "%Y-%m-%dT%H:%M:%S", gmtime_r(&whole, &tm));
	sprintf(text + length, ".%06uZ", (unsigned int)((seconds - whole) * 1e6));
}

void format_cell(char text[64], const struct cell *cell)
{
	const struct desc *desc = cell->desc;

	strcpy(text, "-");
	switch (cell->kind) {
	case NOTHING:
		break;
	case TEXT:
		strcpy(text, cell->own);
		break;
	case NUMBER:
		sprintf(text, "%.0f", cell->number);
		break;
	case RATE:
		format_number(text, cell->number);
		break;
	case SHARE:
		sprintf(text, "%s%.0f", cell->about ? "~" : "", 100 * cell->number);
		break;
	case TIME:
		format_prefixed(text, cell->number, seconds);
		break;
	case MOMENT:
		format_moment(text, cell->number, false);
		break;
	case VALUE:
		if ((desc->unit == SECONDS || desc->unit == BYTES) && !is_hist(desc))
			format_prefixed(text, in_units(desc, cell->number),
					desc->unit == SECONDS ? seconds : bytes);
		else
			sprintf(text, "%.0f", cell->number);
	}
}

static void print_quoted(FILE *out, const char *text)
{
	bool is_csv = format == FORMAT_CSV;

	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc(is_csv ? '"' : '\\', out);
		else if (*text == '\\' && !is_csv)
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* All digits, in the units that the column's key has. */
void print_cell(FILE *out, const struct cell *cell)
{
	const char *text = cell->text ?: cell->kind == TEXT ? cell->own : NULL;
	char moment[64];

	if (cell->kind == MOMENT && format == FORMAT_CSV) {
		format_moment(moment, cell->number, true);
		text = moment;
	}
	if (cell->kind == NOTHING)
		fputs(format == FORMAT_JSON ? "null" : "", out);
	else if (text && (format == FORMAT_JSON || text[strcspn(text, ",\"\r\n")]))
		print_quoted(out, text);
	else if (text)
		fputs(text, out);
	else if (isinf(cell->number))
		fputs(format == FORMAT_JSON ? "null" : "inf", out);
	else if (cell->kind == NUMBER || cell->kind == VALUE)
		fprintf(out, "%.0f", cell->number);
	else
		fprintf(out, cell->kind == TIME ? "%.9f" : cell->kind == MOMENT ? "%.6f" : "%.3f",
			cell->number);
}
