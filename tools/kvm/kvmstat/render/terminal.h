/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The terminal, by ncurses: draws a screen, gives keys, and is put back as it was
 * however the program ends.
 */
#ifndef KVMSTAT_TERMINAL_H
#define KVMSTAT_TERMINAL_H

#include "render/screen.h"

/* 0, or -1 if there is none that can be drawn on. */
int terminal_open(void);
void terminal_close(void);

/* After its size has changed. */
void terminal_resize(void);

/* The next key that was pressed (see enum press), PRESS_NONE if there is none. */
unsigned int terminal_press(void);

/* Makes the screen as large as the terminal. */
void terminal_fit(struct screen *screen);
void terminal_draw(const struct screen *screen);

/* Stops the program as Ctrl-Z does, with the terminal as it was, until it is continued. */
void terminal_suspend(void);

#endif /* KVMSTAT_TERMINAL_H */
