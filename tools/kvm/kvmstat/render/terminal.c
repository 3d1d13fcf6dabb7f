// SPDX-License-Identifier: GPL-2.0
/*
 * Draws on the terminal with ncurses. Decides nothing.
 */
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Makes curses.h declare the functions for wide characters. */
#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "render/terminal.h"
#include "render/view.h"
#include "util/text.h"
#include "util/util.h"

enum pair {
	PAIR_FAINT = 1,
	PAIR_ALERT,
	PAIR_SORTED,
};

static SCREEN *curses;
static bool unicode;
static chtype styles[] = {
	[STYLE_TITLE] = A_BOLD,
	[STYLE_HEADER] = A_REVERSE,
	[STYLE_SORTED] = A_REVERSE | A_BOLD,
	[STYLE_SELECTED] = A_STANDOUT,
	[STYLE_FAINT] = A_DIM,
	[STYLE_ALERT] = A_BOLD,
};

static void use_colors(void)
{
	const char *no_color = getenv("NO_COLOR");

	if (no_color && *no_color)
		return;
	if (!has_colors() || start_color() == ERR || use_default_colors() == ERR)
		return;
	init_pair(PAIR_ALERT, COLOR_RED, -1);
	init_pair(PAIR_SORTED, COLOR_BLACK, COLOR_CYAN);
	styles[STYLE_ALERT] |= COLOR_PAIR(PAIR_ALERT);
	styles[STYLE_SORTED] = A_BOLD | COLOR_PAIR(PAIR_SORTED);
}

/* atexit() calls this, too. */
void terminal_close(void)
{
	if (!curses)
		return;
	if (!isendwin())
		endwin();
	delscreen(curses);
	curses = NULL;
}

/* Leaves the screen before printing an error line. The next drawing draws all of it again. */
static void (*print_line)(const char *text);

static void print_after_screen(const char *text)
{
	if (curses) {
		endwin();
		clearok(stdscr, TRUE);
	}
	print_line(text);
}

static void have_none(int number)
{
	(void)number;
}

int terminal_open(void)
{
	/* Draw wide characters; numbers stay as they are. */
	setlocale(LC_CTYPE, "");
	unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	/*
	 * Without this handler, curses installs its own and ignores the signal while it draws:
	 * a signal that is pending in top's signalfd would be lost.
	 */
	signal(SIGTSTP, have_none);
	curses = newterm(NULL, stdout, stdin);
	if (!curses)
		return -1;
	/* The terminal cannot move its cursor. */
	if (!tigetstr("cup")) {
		terminal_close();
		return -1;
	}
	atexit(terminal_close);
	print_line = error_printer;
	error_printer = print_after_screen;
	/* The caller handles signals. Handlers of curses would draw at any time. */
	signal(SIGTSTP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	/* Milliseconds after which an Escape is a key, not the beginning of a sequence. */
	set_escdelay(50);
	curs_set(0);
	use_colors();
	return 0;
}

void terminal_resize(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(stdscr, TRUE);
}

unsigned int terminal_press(void)
{
	static const struct {
		int key;
		enum press press;
	} keys[] = {
		{ KEY_ENTER, PRESS_ENTER, }, { '\r', PRESS_ENTER, }, { '\n', PRESS_ENTER, },
		{ '\033', PRESS_ESCAPE, },
		{ KEY_BACKSPACE, PRESS_BACKSPACE, }, { '\b', PRESS_BACKSPACE, },
		{ '\177', PRESS_BACKSPACE, },
		{ KEY_UP, PRESS_UP, }, { KEY_DOWN, PRESS_DOWN, },
		{ KEY_LEFT, PRESS_LEFT, }, { KEY_RIGHT, PRESS_RIGHT, },
		{ KEY_PPAGE, PRESS_PAGE_UP, }, { KEY_NPAGE, PRESS_PAGE_DOWN, },
		{ KEY_HOME, PRESS_HOME, }, { KEY_END, PRESS_END, },
	};
	int key;
	size_t i;

	for (;;) {
		key = getch();
		if (key == ERR)
			return PRESS_NONE;
		for (i = 0; i < ARRAY_SIZE(keys); i++) {
			if (keys[i].key == key)
				return keys[i].press;
		}
		/* Ignore other keys. */
		if (key >= ' ' && key < 0x7f)
			return key;
	}
}

void terminal_fit(struct screen *screen)
{
	screen->unicode = unicode;
	screen->lines = LINES;
	screen->columns = COLS;
}

static void draw_cell(const struct screen_cell *cell)
{
	chtype style = styles[cell->style];
	wchar_t text[] = { cell->character, L'\0', };
	cchar_t character;

	setcchar(&character, text, style & ~A_COLOR, PAIR_NUMBER(style), NULL);
	add_wch(&character);
}

void terminal_draw(const struct screen *screen)
{
	const struct screen_cell *cell;
	unsigned int line, column;

	for (line = 0; line < screen->lines; line++) {
		move(line, 0);
		/* A wide character covers the next cell, too. */
		for (column = 0; column < screen->columns;) {
			cell = &screen->cell[(size_t)line * screen->columns + column];
			draw_cell(cell);
			column += text_character_width(cell->character);
		}
	}
	refresh();
}

void terminal_suspend(void)
{
	sigset_t stop, blocked;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	endwin();
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &blocked);
	/* The process was stopped in that call. */
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	terminal_resize();
}
