// SPDX-License-Identifier: GPL-2.0
/*
 * The statistics that move.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "render/movement.h"
#include "util/util.h"

static int row_class(const struct row *row)
{
	if (!is_counter(row->desc))
		return 2;
	return !is_histogram(row->desc) && statsfile_unit(row->desc) != KVM_STATS_UNIT_NONE;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	int order = row_class(left) - row_class(right);

	if (order)
		return order;
	if (left->delta != right->delta)
		return left->delta < right->delta ? 1 : -1;
	return left->desc < right->desc ? -1 : 1;
}

struct rows moved_rows(const struct group *group, const uint64_t *delta, bool ever)
{
	unsigned int count = group->schema ? group->schema->num_desc : 0;
	struct rows rows = { .row = xcalloc(count, sizeof(*rows.row)), };
	const struct statsfile_desc *desc;
	struct row row;
	unsigned int i;

	for (i = 0; i < count; i++) {
		desc = &group->schema->desc[i];
		/* Skip moments: state_since_ns changes with each state. */
		if (!group_shows(group, desc) || (!is_quantity(desc) && !is_enumeration(desc)))
			continue;
		row = (struct row) {
			.desc = desc,
			.value = group_total(desc, group->value),
			.delta = group_total(desc, delta),
		};
		if (row.delta || (ever && row.value))
			rows.row[rows.count++] = row;
		else
			rows.num_unmoved++;
	}
	if (rows.count)
		qsort(rows.row, rows.count, sizeof(*rows.row), compare_rows);
	return rows;
}

void format_movement(char text[MOVEMENT_SIZE], const struct row *row, uint64_t elapsed_ns)
{
	char number[FORMAT_SIZE];

	if (is_counter(row->desc)) {
		format_rate(number, row->desc, rate_per_second(row->delta, elapsed_ns));
		snprintf(text, MOVEMENT_SIZE, "%s/s", number);
	} else {
		format_value(number, row->desc, row->value);
		snprintf(text, MOVEMENT_SIZE, "=%s", number);
	}
}

static unsigned int longer(unsigned int width, const char *text)
{
	unsigned int length = strlen(text);

	return length > width ? length : width;
}

void grid_add(struct grid *grid, const struct rows *rows, uint64_t elapsed_ns)
{
	char text[MOVEMENT_SIZE];
	size_t i;

	for (i = 0; i < rows->count; i++) {
		format_movement(text, &rows->row[i], elapsed_ns);
		grid->name = longer(grid->name, rows->row[i].desc->name);
		grid->value = longer(grid->value, text);
	}
}

void grid_print(const struct grid *grid, const char *scope, const struct rows *rows,
		uint64_t elapsed_ns, FILE *out)
{
	char text[MOVEMENT_SIZE];
	char *name;
	size_t i;

	for (i = 0; i < rows->count; i++) {
		if (i % grid->columns)
			fprintf(out, "%*s", GRID_GAP, "");
		else if (grid->scope)
			fprintf(out, "%-*s", (int)grid->scope, i ? "" : scope);
		format_movement(text, &rows->row[i], elapsed_ns);
		name = text_fit(rows->row[i].desc->name, grid->name);
		fprintf(out, "%s %*s", name, (int)grid->value, text);
		free(name);
		if (i + 1 == rows->count || !((i + 1) % grid->columns))
			fputc('\n', out);
	}
}
