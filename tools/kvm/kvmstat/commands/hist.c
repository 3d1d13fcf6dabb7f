// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat hist: histograms as bars, with the bounds of their buckets and percentiles, or
 * with the names of the buckets. Of all time, or of one interval after the other.
 */
#include <string.h>

#include "commands/command.h"
#include "commands/show.h"
#include "model/histogram.h"
#include "util/util.h"

static bool is_wanted(const struct wanted *wanted, const char *name)
{
	size_t i;

	for (i = 0; i < wanted->num_names; i++) {
		if (!strcmp(wanted->name[i], name))
			return true;
	}
	return !wanted->num_names;
}

static void show_histograms(struct output *output, const struct subject *subject,
			    const struct group *group, struct wanted *wanted)
{
	const struct statsfile_desc *desc;
	struct histogram histogram;
	unsigned int i;

	if (!group->schema)
		return;
	for (i = 0; i < group->schema->num_desc; i++) {
		desc = &group->schema->desc[i];
		if (!is_histogram(desc) || !output_shows(output, group, desc) ||
		    !is_wanted(wanted, desc->name))
			continue;
		histogram = histogram_of(desc, group->value);
		/* In an interval most are, and were not asked for. */
		if (subject->elapsed_ns && !histogram.total && !wanted->num_names)
			continue;
		render->histogram(output, subject, &histogram);
		wanted->shown = true;
	}
}

int command_hist(int argc, char **argv)
{
	struct wanted wanted = { .histograms = true, };

	return show_groups(COMMAND_HIST, argc, argv, &wanted, show_histograms);
}
