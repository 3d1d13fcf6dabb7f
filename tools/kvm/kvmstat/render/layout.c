// SPDX-License-Identifier: GPL-2.0
/*
 * Columns in a line of limited width.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "render/layout.h"
#include "util/text.h"

static unsigned int used_width(const struct column *columns, size_t count)
{
	unsigned int used = 0;
	size_t i;

	for (i = 0; i < count; i++)
		used += columns[i].width ? columns[i].width + 1 : 0;
	return used ? used - 1 : 0;
}

static struct column *find_least_important(struct column *columns, size_t count)
{
	struct column *found = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		if (columns[i].width && columns[i].drop > (found ? found->drop : 0))
			found = &columns[i];
	}
	return found;
}

static struct column *find_widest(struct column *columns, size_t count)
{
	struct column *widest = columns;
	size_t i;

	for (i = 1; i < count; i++) {
		if (columns[i].width > widest->width)
			widest = &columns[i];
	}
	return widest;
}

static struct column *find_long_name(struct column *columns, size_t count)
{
	struct column *column;

	for (column = columns; column < columns + count; column++) {
		if (column->shortens && column->width > LEAST_OF_A_NAME)
			return column;
	}
	return NULL;
}

/* Leaves out a column, or makes one narrower. False if neither is possible. */
static bool make_room(struct column *columns, size_t count)
{
	struct column *column = find_least_important(columns, count);
	struct column *name = find_long_name(columns, count);

	if (column && (!name || column->drop > DROP_AFTER_NAMES)) {
		column->width = 0;
		return true;
	}
	column = name ?: find_widest(columns, count);
	if (column->width <= 1)
		return false;
	column->width--;
	return true;
}

void fit_columns(struct column *columns, size_t count, unsigned int width)
{
	unsigned int left, more;
	struct column *column;
	size_t i;

	for (i = 0; i < count; i++)
		columns[i].width = columns[i].absent ? 0 : columns[i].least;
	if (!width)
		width = UINT_MAX;
	while (used_width(columns, count) > width) {
		if (!make_room(columns, count))
			return;
	}
	left = width - used_width(columns, count);
	for (column = columns; column < columns + count; column++) {
		if (!column->width || column->most <= column->width)
			continue;
		more = column->most - column->width;
		if (more > left)
			more = left;
		column->width += more;
		left -= more;
	}
}

void fit_grid(struct grid *grid, unsigned int width)
{
	unsigned int pair = grid->name + 1 + grid->value;

	grid->columns = 1;
	if (width && width < pair)
		grid->name = width > grid->value + 1 ? width - grid->value - 1 : 1;
	if (width && width < grid->scope + pair)
		grid->scope = 0;
	else if (width)
		/* The last column needs no gap behind it. */
		grid->columns = (width + GRID_GAP - grid->scope) / (pair + GRID_GAP);
}

void table_add(struct table *table, const char *format, ...)
{
	va_list args;

	/* Tables are small enough to grow cell by cell. */
	table->cell = xreallocarray(table->cell, table->num_cells + 1, sizeof(*table->cell));
	va_start(args, format);
	table->cell[table->num_cells++] = xvasprintf(format, args);
	va_end(args);
}

static unsigned int longest_text(const struct table *table, size_t column)
{
	unsigned int longest = text_width(table->column[column].title), width;
	size_t i;

	for (i = column; i < table->num_cells; i += table->num_columns) {
		width = text_width(table->cell[i]);
		longest = width > longest ? width : longest;
	}
	return longest;
}

void table_fit(struct table *table, unsigned int width)
{
	struct column *column;
	unsigned int longest;
	size_t i;

	for (i = 0; i < table->num_columns; i++) {
		column = &table->column[i];
		longest = longest_text(table, i);
		if (longest < column->longest)
			longest = column->longest;
		column->longest = longest;
		if (column->shortens && width) {
			column->most = longest;
			column->least = longest < ENOUGH_OF_A_NAME ? longest : ENOUGH_OF_A_NAME;
		} else if (column->most && (width || !longest)) {
			if (longest && column->most > longest)
				column->most = longest;
		} else if (column->wraps && width) {
			column->most = longest;
		} else {
			column->most = 0;
			if (longest > column->least)
				column->least = longest;
		}
	}
	fit_columns(table->column, table->num_columns, width);
}

char *fit_cell(const struct column *column, const char *cell)
{
	unsigned int width = text_width(cell);

	if (column->wraps)
		return xasprintf("%s", cell);
	if (column->left || width > column->width)
		return text_fit(cell, column->width);
	return xasprintf("%*s%s", (int)(column->width - width), "", cell);
}

/* Prints blanks only when something follows. */
static void print_row(const struct table *table, const char * const *cell, FILE *out)
{
	const struct column *column;
	unsigned int at = 0, owed = 0;
	size_t length;
	char *text;

	for (column = table->column; column < table->column + table->num_columns; column++) {
		text = fit_cell(column, *cell++);
		length = strlen(text);
		if (column->width && length > strspn(text, " ")) {
			fprintf(out, "%*s", (int)owed, "");
			owed = print_wrapped(out, text, column->wraps ? column->width : length, at);
		} else if (column->width) {
			owed += length;
		}
		if (column->width) {
			owed++;
			at += column->width + 1;
		}
		free(text);
	}
	fputc('\n', out);
}

void table_print_header(const struct table *table, FILE *out)
{
	const char **title = xcalloc(table->num_columns, sizeof(*title));
	size_t i;

	for (i = 0; i < table->num_columns; i++)
		title[i] = table->column[i].title;
	print_row(table, title, out);
	free(title);
}

void table_print_row(const struct table *table, size_t row, FILE *out)
{
	print_row(table, (const char * const *)table->cell + row * table->num_columns, out);
}

void table_print(const struct table *table, FILE *out)
{
	size_t i;

	table_print_header(table, out);
	for (i = 0; i < table->num_cells / table->num_columns; i++)
		table_print_row(table, i, out);
}

void table_free(struct table *table)
{
	size_t i;

	for (i = 0; i < table->num_cells; i++)
		free(table->cell[i]);
	free(table->cell);
	table->cell = NULL;
	table->num_cells = 0;
}
