/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model as lines of text, for a terminal as well as for a pipe.
 */
#ifndef KVMSTAT_RENDER_TEXT_H
#define KVMSTAT_RENDER_TEXT_H

#include <stdio.h>

#include "discover.h"
#include "model.h"

/* Where the lines go, and how many characters fit into one. */
struct text_output {
	FILE *file;
	unsigned int width;
};

/* One line per VM. */
void render_vms(const struct text_output *output, const struct inventory *inventory);

/* What moved since the last sample, in as many columns as fit. */
void render_sample(const struct text_output *output, const struct model *model);

/* Everything that ever moved. @ending: "ended", "still runs", ... */
void render_summary(const struct text_output *output, const struct model *model,
		    const char *ending);

/* Every statistic of a group. */
void render_group(const struct text_output *output, const struct group *group);

#endif /* KVMSTAT_RENDER_TEXT_H */
