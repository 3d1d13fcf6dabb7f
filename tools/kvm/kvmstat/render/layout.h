/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables in lines of limited width: the least important columns are left out first.
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
	unsigned int least;		/* the least width; 0: there is no such column */
	unsigned int most;		/* if there is room; at most the longest cell */
	unsigned int drop;		/* the highest one is left out first; 0: never; see below */
	bool left;			/* align left, as texts; otherwise right, as numbers */
	bool shortens;			/* names: shorten them in the middle */
	bool absent;			/* there is no such column in this table */
	bool wraps;			/* the last column: wrap it into the next lines */
	unsigned int width;		/* set by fit_columns(): 0 if it is left out */
	unsigned int longest;		/* the longest cell so far, for repeated tables */
};

/*
 * ENOUGH_OF_A_NAME characters tell names apart. Names are shortened to LEAST_OF_A_NAME before a
 * column is left out whose drop is at most DROP_AFTER_NAMES.
 */
#define ENOUGH_OF_A_NAME 16
#define LEAST_OF_A_NAME 8
#define DROP_AFTER_NAMES 7

/*
 * Leaves out columns until the others fit into @width characters. The remaining width goes to the
 * columns that have a larger most, from the first on. If columns that are never left out are too
 * wide, the widest of them gets narrower. A @width of 0 is unlimited.
 */
void fit_columns(struct column *columns, size_t count, unsigned int width);

/* The text, padded or shortened to the column's width. The caller frees it. */
char *fit_cell(const struct column *column, const char *cell);

/* Lines of several pairs of a name and a value. The first line begins with a scope. */
#define GRID_GAP 3
struct grid {
	unsigned int scope;
	unsigned int name;		/* all three: the width of the longest one */
	unsigned int value;
	unsigned int columns;		/* set by fit_grid() */
};

/* Keeps at least one column. If it is too wide, leaves out the scope, then shortens names. */
void fit_grid(struct grid *grid, unsigned int width);

struct table {
	struct column *column;
	size_t num_columns;
	char **cell;			/* row by row */
	size_t num_cells;
};

/* Adds the next cell, row by row. */
__printf(2, 3)
void table_add(struct table *table, const char *format, ...);

/* Makes the columns as wide as their cells, within @width: see fit_columns(). */
void table_fit(struct table *table, unsigned int width);

/* Prints the table, or a line of it. */
void table_print(const struct table *table, FILE *out);
void table_print_header(const struct table *table, FILE *out);
void table_print_row(const struct table *table, size_t row, FILE *out);
void table_free(struct table *table);

#endif /* KVMSTAT_LAYOUT_H */
