// SPDX-License-Identifier: GPL-2.0
/*
 * A screen in memory.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "render/screen.h"
#include "util/text.h"

void screen_clear(struct screen *screen, unsigned int lines, unsigned int columns)
{
	size_t i, cells = (size_t)lines * columns;

	screen->lines = lines;
	screen->columns = columns;
	screen->cell = xreallocarray(screen->cell, cells, sizeof(*screen->cell));
	for (i = 0; i < cells; i++)
		screen->cell[i] = (struct screen_cell) { .character = L' ', };
}

void screen_free(struct screen *screen)
{
	free(screen->cell);
	screen->cell = NULL;
}

void screen_put(struct screen *screen, unsigned int line, unsigned int column,
		wchar_t character, enum screen_style style)
{
	if (line < screen->lines && column < screen->columns)
		screen->cell[(size_t)line * screen->columns + column] = (struct screen_cell) {
			.character = character,
			.style = style,
		};
}

unsigned int screen_print(struct screen *screen, unsigned int line, unsigned int column,
			  enum screen_style style, const char *format, ...)
{
	const char *next;
	wchar_t character;
	unsigned int length;
	va_list args;
	char *text;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	for (next = text; (length = text_decode(next, &character)); next += length) {
		if (!text_character_width(character))
			continue;
		screen_put(screen, line, column,
			   character < 0x80 || screen->unicode ? character : L'?', style);
		column += text_character_width(character);
	}
	free(text);
	return column;
}

void screen_set_style(struct screen *screen, unsigned int line, enum screen_style style)
{
	unsigned int column;

	for (column = 0; line < screen->lines && column < screen->columns; column++)
		screen->cell[(size_t)line * screen->columns + column].style = style;
}
