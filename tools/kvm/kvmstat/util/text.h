/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Text in UTF-8, such as the names that people give to VMs: which of it may be printed,
 * and how much of it fits.
 */
#ifndef KVMSTAT_TEXT_H
#define KVMSTAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <wchar.h>

/* Room for a name: the longest that filesystems have. */
#define TEXT_NAME_SIZE 256

/*
 * The number of bytes of the first character, which goes to *@character; 0 at the end. A
 * byte that is no part of any is a character of its own, L'?'.
 */
unsigned int text_decode(const char *text, wchar_t *character);

/* Puts ? in the place of whatever could do something to a terminal or hide in a line. */
void text_make_printable(char *text);

/* Whether it is longer than @end, and ends in that. */
bool text_ends_in(const char *text, const char *end);

/* How many columns of a terminal it takes. */
unsigned int text_width(const char *text);
unsigned int text_character_width(wchar_t character);

/*
 * The text in exactly @width columns: with blanks behind it, or without its middle, for
 * which a ~ stands, as names often differ at their end. The caller frees it.
 */
char *text_fit(const char *text, unsigned int width);

/*
 * The text in lines of @width characters, broken behind commas, or else at blanks; all but
 * the first are indented, and by that much longer. Blanks at the end are left out: returns
 * how many.
 */
size_t print_wrapped(FILE *out, const char *text, unsigned int width, unsigned int indent);

#endif /* KVMSTAT_TEXT_H */
