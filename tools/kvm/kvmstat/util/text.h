/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Text in UTF-8, such as names of VMs: makes it printable, measures and fits it.
 */
#ifndef KVMSTAT_TEXT_H
#define KVMSTAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <wchar.h>

/* Room for a name, as long as a file name. */
#define TEXT_NAME_SIZE 256

/*
 * Returns the number of bytes of the first character, 0 at the end. A byte that is not part of a
 * character is L'?'.
 */
unsigned int text_decode(const char *text, wchar_t *character);

/* Replaces characters that are invisible or could control a terminal with '?'. */
void text_make_printable(char *text);

/* Whether it ends in @end, and is longer. */
bool text_ends_in(const char *text, const char *end);

/* The width in columns of a terminal. */
unsigned int text_width(const char *text);
unsigned int text_character_width(wchar_t character);

/*
 * Returns the text in exactly @width columns: padded, or with a ~ instead of its middle, because
 * names often differ at their end. The caller frees it.
 */
char *text_fit(const char *text, unsigned int width);

/*
 * Prints lines of at most @width characters, broken after commas, otherwise at blanks. Indents all
 * lines but the first, in addition to @width. Returns how many blanks at the end it left out.
 */
size_t print_wrapped(FILE *out, const char *text, unsigned int width, unsigned int indent);

/* From then on errors are wrapped on a terminal that is too narrow. */
void wrap_errors(void);

#endif /* KVMSTAT_TEXT_H */
