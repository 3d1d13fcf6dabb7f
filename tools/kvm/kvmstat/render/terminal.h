/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The terminal, with ncurses: draws a screen and reads keys. However the program ends, it
 * restores the terminal.
 */
#ifndef KVMSTAT_TERMINAL_H
#define KVMSTAT_TERMINAL_H

#include "render/screen.h"

/* Returns 0, or -1 if it cannot draw on the terminal. */
int terminal_open(void);
void terminal_close(void);

/* Call it after the size of the terminal has changed. */
void terminal_resize(void);

/* Returns the next key (see enum press), or PRESS_NONE if none was pressed. */
unsigned int terminal_press(void);

/* Makes the screen as large as the terminal. */
void terminal_fit(struct screen *screen);
void terminal_draw(const struct screen *screen);

/* Restores the terminal and stops the program, as Ctrl-Z does, until it is continued. */
void terminal_suspend(void);

#endif /* KVMSTAT_TERMINAL_H */
