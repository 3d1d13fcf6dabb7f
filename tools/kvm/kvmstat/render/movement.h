/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics that move, the most interesting first, for lines and for the screen.
 */
#ifndef KVMSTAT_MOVEMENT_H
#define KVMSTAT_MOVEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "render/format.h"
#include "render/layout.h"

/* A statistic that is about to be shown. */
struct row {
	const struct statsfile_desc *desc;
	uint64_t value;
	uint64_t delta;
};

struct rows {
	struct row *row;		/* the caller frees it */
	size_t count;
	size_t num_unmoved;		/* the others */
};

/*
 * The statistics of the group whose @delta is not 0; with @ever also those that moved before the
 * first sample. Skips moments, and states of more than one vCPU. The order is counts, largest
 * first; then times, bytes and cycles; then statistics without a rate.
 */
struct rows moved_rows(const struct group *group, const uint64_t *delta, bool ever);

/* Room for a formatted value with "=" or "/s". */
#define MOVEMENT_SIZE (FORMAT_SIZE + 2)

/* A rate if it is a counter, otherwise the new value. */
void format_movement(char text[MOVEMENT_SIZE], const struct row *row, uint64_t elapsed_ns);

/* Makes the grid wide enough for these rows; prints them, after @scope in the first line. */
void grid_add(struct grid *grid, const struct rows *rows, uint64_t elapsed_ns);
void grid_print(const struct grid *grid, const char *scope, const struct rows *rows,
		uint64_t elapsed_ns, FILE *out);

#endif /* KVMSTAT_MOVEMENT_H */
