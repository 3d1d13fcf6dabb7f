/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of CSV. A table is a list of "TITLE=PATH|PATH,...". PATH is the path of a value in the
 * line's object, or, after a dot, in the row's object. The first path with a value counts. Without
 * paths, TITLE is the path.
 */
#ifndef KVMSTAT_RENDER_CSV_H
#define KVMSTAT_RENDER_CSV_H

#include <stdio.h>

struct json_object;

extern const char csv_sample_table[];
extern const char csv_group_table[];
extern const char csv_histogram_table[];
extern const char csv_event_table[];
extern const char csv_recording_table[];

/* Prints the titles if @line is NULL. */
void csv_print_row(FILE *file, const char *table, struct json_object *line,
		   struct json_object *row);

#endif /* KVMSTAT_RENDER_CSV_H */
