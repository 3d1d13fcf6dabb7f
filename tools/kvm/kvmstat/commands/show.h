/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands that show the values of VMs as they are now, or what they do in intervals.
 */
#ifndef KVMSTAT_SHOW_H
#define KVMSTAT_SHOW_H

#include "commands/options.h"
#include "render/render.h"

/*
 * What a command shows. Histograms can be chosen by the names that follow the VM, which
 * show_groups() takes, and looks for. Behind them may be an interval: then groups are of one
 * after the other, with what was counted as their values.
 */
struct wanted {
	bool histograms;		/* nothing else */
	char **name;
	size_t num_names;		/* 0: all */
	bool *found;			/* private, as what follows */
	bool looked, any;		/* for what is there; and something is */
	bool shown;			/* some of it */
};

/*
 * Runs a command, which calls @show_group for each group.
 * Returns an enum exit_status.
 */
int show_groups(enum command_id command, int argc, char **argv, struct wanted *wanted,
		void (*show_group)(struct output *output, const struct subject *subject,
				   const struct group *group, struct wanted *wanted));

#endif /* KVMSTAT_SHOW_H */
