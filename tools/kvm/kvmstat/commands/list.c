// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat list: the VMs of this host, and what their time is spent with, which is seen from
 * a short look.
 */
#include <limits.h>
#include <stdlib.h>

#include "commands/command.h"
#include "model/tracker.h"
#include "render/render.h"
#include "util/util.h"

static void show(const struct tracker *tracker, const struct options *options)
{
	struct output output = standard_output();
	struct overviews overviews;

	get_overviews(tracker, options, &overviews);
	overviews.is_list = true;
	render->begin(&output);
	render->overviews(&output, &overviews);
	render->end(&output);
	free(overviews.vm);
}

static int list(struct inventory *inventory, const struct options *options)
{
	struct tracker tracker;
	int status;

	tracker_init(&tracker, inventory);
	tracker.reads_threads = true;
	status = take_look(&tracker, LOOK_NS);
	if (status == STATUS_OK) {
		show(&tracker, options);
		if (!inventory->choice)
			print_denied(inventory);
		status = inventory_status(inventory);
	}
	tracker_free(&tracker);
	return status;
}

int command_list(int argc, char **argv)
{
	struct inventory inventory;
	struct options options;
	int status;

	status = parse_options(COMMAND_LIST, argc, argv, false, &options);
	if (status == STATUS_OK && !options.help)
		status = take_vms(&options, INT_MAX, true);
	if (status != STATUS_OK || options.help)
		return status;
	status = open_inventory(&inventory, &options.choice);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	if (status == STATUS_OK)
		status = look_for_chosen(&inventory, false);
	if (status == STATUS_OK)
		status = list(&inventory, &options);
	inventory_free(&inventory);
	return status;
}
