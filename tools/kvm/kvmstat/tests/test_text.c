// SPDX-License-Identifier: GPL-2.0
/*
 * Names in UTF-8, and texts that are fitted into a line.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/layout.h"
#include "tap.h"
#include "util/text.h"
#include "util/util.h"

static void test_printable(void)
{
	static const struct {
		const char *text, *printable;
	} cases[] = {
		{ "plain", "plain", },
		{ "B\303\274cher", "B\303\274cher", },
		{ "\346\227\245\346\234\254", "\346\227\245\346\234\254", },
		{ "\360\237\220\247", "\360\237\220\247", },
		{ "a\033[2Jb\n\177", "a?[2Jb??", },
		/* Not UTF-8: a lone byte, a cut off character, a slash in two bytes, surrogates. */
		{ "\377", "?", }, { "a\303", "a?", }, { "\300\257", "??", },
		{ "\355\240\200", "???", }, { "\364\220\200\200", "????", },
		/* Unprintable: C1, zero width, right to left, private use. */
		{ "\302\23331m", "?31m", }, { "a\342\200\213b", "a?b", },
		{ "\342\200\256gpj", "?gpj", }, { "\363\260\200\200", "?", },
		{ "", "", },
	};
	char text[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		strcpy(text, cases[i].text);
		text_make_printable(text);
		check_text(text, cases[i].printable, cases[i].printable);
	}
}

static void test_fit(void)
{
	static const struct {
		const char *text;
		unsigned int width;
		const char *fitted;
	} cases[] = {
		{ "db", 4, "db  ", }, { "web1", 4, "web1", }, { "instance-2a", 7, "ins~-2a", },
		{ "instance-2a", 6, "in~-2a", }, { "web", 1, "~", }, { "web", 0, "", },
		{ "", 2, "  ", },
		{ "\346\227\245\346\234\254\346\227\245", 6,
		  "\346\227\245\346\234\254\346\227\245", },
		{ "\346\227\245\346\234\254\346\227\245", 5,
		  "\346\227\245~\346\227\245", },
		/* Half of a wide character is not possible. */
		{ "\346\227\245\346\234\254\346\227\245", 4, "~\346\227\245 ", },
	};
	char *text;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		text = text_fit(cases[i].text, cases[i].width);
		check_text(text, cases[i].fitted, cases[i].fitted);
		check_number(text_width(text), cases[i].width, "its width in columns");
		free(text);
	}
}

static void test_columns(void)
{
	static const struct column all[] = {
		{ .least = 4, .drop = 1, }, { .least = 5, .most = 10, }, { .least = 6, .drop = 2, },
		{ .least = 7, .most = 9, },
	};
	static const unsigned int widths[][ARRAY_SIZE(all) + 1] = {
		/* The width of the line, then the widths of the columns. */
		{ 100, 4, 10, 6, 9, }, { 28, 4, 8, 6, 7, }, { 25, 4, 5, 6, 7, },
		{ 24, 4, 10, 0, 8, }, { 17, 0, 9, 0, 7, }, { 13, 0, 5, 0, 7, }, { 9, 0, 4, 0, 4, },
		{ 1, 0, 1, 0, 1, }, { 0, 4, 10, 6, 9, },
	};
	struct column columns[ARRAY_SIZE(all)];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		memcpy(columns, all, sizeof(all));
		fit_columns(columns, ARRAY_SIZE(columns), widths[i][0]);
		for (j = 0; j < ARRAY_SIZE(columns) && columns[j].width == widths[i][j + 1]; j++)
			;
		check(j == ARRAY_SIZE(columns), "columns in a line of %u", widths[i][0]);
	}
}

static void check_wrapped(const char *text, const char *expected)
{
	char *wrapped;
	size_t size;
	FILE *file = open_memstream(&wrapped, &size);

	print_wrapped(file, text, 12, 0);
	fclose(file);
	check_text(wrapped, expected, text);
	free(wrapped);
}

/* Names can be longer than a line: the text after them is not lost. */
static void test_wrapped(void)
{
	check_wrapped("pid 4711 (a): no VM", "pid 4711\n(a): no VM");
	check_wrapped("pid 4711 (a-name-that-is-long): no VM",
		      "pid 4711\n(a-name-that-is-long):\nno VM");
	check_wrapped("a-name-that-is-long", "a-name-that-is-long");
	check_wrapped("one, two, three", "one, two,\nthree");
	/* The width is in columns, not in bytes. */
	check_wrapped("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc \u00e4\u00f6\u00fc \u00e4\u00f6",
		      "\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc \u00e4\u00f6\u00fc\n\u00e4\u00f6");
}

static void test_ends(void)
{
	check(text_ends_in("halt_ns", "_ns"), "a text that ends in another");
	check(!text_ends_in("halt_ns", "_hist"), "a text that ends differently");
	check(!text_ends_in("ns", "_ns"), "a text shorter than the end");
	check(!text_ends_in("_ns", "_ns"), "a text equal to the end");
	check(text_ends_in("_", ""), "an empty end");
}

int main(void)
{
	/* Without this locale, the widths of characters are not known. */
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip("no locale C.UTF-8", "text in columns");
	else
		test_fit();
	test_printable();
	test_wrapped();
	test_ends();
	test_columns();
	return tap_end();
}
