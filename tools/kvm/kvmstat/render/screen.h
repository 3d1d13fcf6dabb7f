/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A screen in memory: what would be on a terminal of that size. It is filled without
 * one, and so tested without one; what is put beside it is cut off.
 */
#ifndef KVMSTAT_SCREEN_H
#define KVMSTAT_SCREEN_H

#include <stdbool.h>
#include <wchar.h>

#include "util/util.h"

enum screen_style {
	STYLE_PLAIN,
	STYLE_TITLE,
	STYLE_HEADER,
	STYLE_SORTED,		/* within a header */
	STYLE_SELECTED,
	STYLE_FAINT,
	STYLE_ALERT,
};

struct screen_cell {
	wchar_t character;
	enum screen_style style;
};

struct screen {
	unsigned int lines;
	unsigned int columns;
	bool unicode;		/* block characters may be used */
	struct screen_cell *cell;
};

/* Blank, all of it. */
void screen_clear(struct screen *screen, unsigned int lines, unsigned int columns);
void screen_free(struct screen *screen);

void screen_put(struct screen *screen, unsigned int line, unsigned int column,
		wchar_t character, enum screen_style style);

/* Returns the column behind the text. */
__printf(5, 6)
unsigned int screen_print(struct screen *screen, unsigned int line, unsigned int column,
			  enum screen_style style, const char *format, ...);

/* The whole line. */
void screen_set_style(struct screen *screen, unsigned int line, enum screen_style style);

#endif /* KVMSTAT_SCREEN_H */
