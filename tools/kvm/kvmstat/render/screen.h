/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A screen in memory, of the size of the terminal: the VMs of the host, or one VM with its vCPUs
 * and the statistics that move, or help.
 */
#ifndef KVMSTAT_SCREEN_H
#define KVMSTAT_SCREEN_H

#include <stdbool.h>
#include <wchar.h>

#include "render/view.h"
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
	bool unicode;		/* the terminal shows characters beyond ASCII */
	struct screen_cell *cell;
};

void screen_free(struct screen *screen);

/* Fills all of the screen, and scrolls the view to the selected line. */
void render_screen(struct screen *screen, struct view *view);

#endif /* KVMSTAT_SCREEN_H */
