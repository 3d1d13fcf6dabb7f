/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands that show the values of a process' VMs, or of a file, as they are now.
 */
#ifndef KVMSTAT_SHOW_H
#define KVMSTAT_SHOW_H

#include "render/render.h"

/*
 * The names that follow the options, and which of them were found. Behind them may be an
 * interval: then groups are of one after the other, with what was counted as their values.
 */
struct wanted {
	char **name;
	size_t num_names;
	bool *found;
	bool shown, any;		/* a group, and a histogram in any of them */
};

/*
 * Runs a command with the options of "show", which calls @show_group for each group.
 * @wanted: NULL if the command takes no names; freed by the caller. Returns an enum
 * exit_status.
 */
int show_groups(int argc, char **argv, struct wanted *wanted,
		void (*show_group)(struct output *output, const struct subject *subject,
				   const struct group *group, struct wanted *wanted));

#endif /* KVMSTAT_SHOW_H */
