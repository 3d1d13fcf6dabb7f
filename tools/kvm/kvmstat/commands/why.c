// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat why: why a VM is slow, in a sentence and the figures behind it; and kvmstat exits: its
 * exits by reason. Both look at VMs for one interval.
 */
#include <stdio.h>
#include <stdlib.h>

#include "commands/command.h"
#include "model/tracker.h"
#include "render/render_why.h"
#include "util/util.h"

static int look(struct inventory *inventory, const struct options *options,
		const struct interval *interval)
{
	struct output output = standard_output();
	struct overviews overviews;
	struct tracker tracker;
	int status;
	size_t i;

	tracker_init(&tracker, inventory);
	tracker.reads_threads = true;
	status = take_look(&tracker, interval->ns);
	if (status == STATUS_OK) {
		get_overviews(&tracker, options, &overviews);
		for (i = 0; i < overviews.num_vms; i++) {
			if (options->command == COMMAND_WHY)
				render_why(&output, overviews.vm[i]);
			else
				render_exits(&output, overviews.vm[i]);
		}
		free(overviews.vm);
		if (!inventory->choice)
			print_denied(inventory);
		status = inventory_status(inventory);
	}
	tracker_free(&tracker);
	return status;
}

static int run(enum command_id command, int argc, char **argv)
{
	struct interval interval = time_source->interval;
	struct inventory inventory;
	struct options options;
	int status;

	status = parse_options(command, argc, argv, false, &options);
	if (status == STATUS_OK && !options.help)
		status = take_vms(&options, !choice_is_made(&options.choice), true);
	if (status == STATUS_OK && options.num_arguments > 1)
		status = usage_error("unexpected argument '%s'", options.argument[1]);
	if (status == STATUS_OK && !options.help)
		status = parse_interval(options.num_arguments, options.argument, &interval);
	if (status != STATUS_OK || options.help)
		return status;
	/* The worst one first. */
	options.order = COLUMN_STATE;
	status = open_inventory(&inventory, &options.choice);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	if (status == STATUS_OK)
		status = look_for_chosen(&inventory, false);
	if (status == STATUS_OK)
		status = look(&inventory, &options, &interval);
	inventory_free(&inventory);
	return status;
}

int command_why(int argc, char **argv)
{
	return run(COMMAND_WHY, argc, argv);
}

int command_exits(int argc, char **argv)
{
	return run(COMMAND_EXITS, argc, argv);
}
