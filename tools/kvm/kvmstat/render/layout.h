/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables in lines of limited width: what is least important goes first.
 */
#ifndef KVMSTAT_LAYOUT_H
#define KVMSTAT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/util.h"

/* Between two columns there is one blank. */
struct column {
	const char *title;
	unsigned int least;		/* its width, at least; 0: there is no such column */
	unsigned int most;		/* if there is room; in a table at most its longest cell */
	unsigned int drop;		/* the highest one goes first; 0: never; see below */
	bool left;			/* text stands on the left, numbers on the right */
	bool shortens;			/* names: the middle goes where they are too wide */
	bool absent;			/* there is no such column in this table */
	bool wraps;			/* the last column: goes on in the next line */
	unsigned int width;		/* set by fit_columns(): 0 if it is left out */
	unsigned int longest;		/* that ever stood there, for tables that go on */
};

/*
 * So many characters tell names apart. Names get shorter, down to LEAST_OF_A_NAME, before a column
 * goes whose drop is at most DROP_AFTER_NAMES.
 */
#define ENOUGH_OF_A_NAME 16
#define LEAST_OF_A_NAME 8
#define DROP_AFTER_NAMES 7

/*
 * Leaves out columns until the others fit into @width characters, and gives what is left to
 * those that want more, the first of them first. If even those that never go are too wide,
 * the widest of them gets narrower. 0 is any width.
 */
void fit_columns(struct column *columns, size_t count, unsigned int width);

/* The text as it stands in the column; the caller frees it. */
char *fit_cell(const struct column *column, const char *cell);

/* Pairs of a name and a value, several of them in a line; in front of the first is a scope. */
#define GRID_GAP 3
struct grid {
	unsigned int scope;
	unsigned int name;		/* widths: the widest that comes */
	unsigned int value;
	unsigned int columns;		/* set by fit_grid() */
};

/* Has at least one column: if that is too wide the scope goes, then a part of the names. */
void fit_grid(struct grid *grid, unsigned int width);

struct table {
	struct column *column;
	size_t num_columns;
	char **cell;			/* row by row */
	size_t num_cells;
};

/* The next cell, in the order in which one reads. */
__printf(2, 3)
void table_add(struct table *table, const char *format, ...);

/* Makes the columns as wide as what stands in them, see fit_columns(). */
void table_fit(struct table *table, unsigned int width);

/* All of it, or line by line. */
void table_print(const struct table *table, FILE *out);
void table_print_header(const struct table *table, FILE *out);
void table_print_row(const struct table *table, size_t row, FILE *out);
void table_free(struct table *table);

#endif /* KVMSTAT_LAYOUT_H */
