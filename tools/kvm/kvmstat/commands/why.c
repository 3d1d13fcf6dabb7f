// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that sample one interval: kvmstat list prints the VMs and their shares of time, why says
 * in a sentence why each is slow, exits prints its exits by reason.
 */
#include <limits.h>
#include <stdlib.h>

#include "commands/command.h"
#include "model/tracker.h"
#include "render/render.h"
#include "util/util.h"

static void show(struct overviews *overviews, enum command_id command)
{
	struct output output = standard_output();
	size_t i;

	overviews->is_list = true;
	if (command == COMMAND_LIST) {
		render->begin(&output);
		render->overviews(&output, overviews);
		render->end(&output);
		return;
	}
	if (command == COMMAND_WHY && overviews->num_vms)
		render_why(&output, overviews);
	for (i = 0; i < overviews->num_vms && command == COMMAND_EXITS; i++)
		render_exits(&output, overviews->vm[i]);
}

static int look(struct inventory *inventory, const struct options *options, uint64_t interval_ns)
{
	struct overviews overviews;
	struct tracker tracker;
	int status;

	tracker_init(&tracker, inventory);
	tracker.reads_threads = true;
	status = take_look(&tracker, interval_ns);
	if (status == STATUS_OK) {
		get_overviews(&tracker, options, &overviews);
		show(&overviews, options->command);
		free(overviews.vm);
		if (!inventory->choice)
			print_denied(inventory);
		status = inventory_status(inventory);
	}
	tracker_free(&tracker);
	return status;
}

#define MOST_ALONE (60 * NSEC_PER_SEC)

/* @number: the only argument, which may be a pid or an interval; or NULL. */
static int find_vms(struct inventory *inventory, const char *number, uint64_t *interval_ns)
{
	if (!number || find_chosen(inventory, false) == STATUS_OK ||
	    parse_seconds(number, MIN_INTERVAL, MOST_ALONE, interval_ns))
		return look_for_chosen(inventory, false);
	inventory_forget_problems(inventory);
	inventory->incomplete = false;
	inventory->choice = NULL;
	print_error("%s is not the pid of a VM: sampling all VMs for %s seconds", number, number);
	return STATUS_OK;
}

int command_table(int argc, char **argv)
{
	enum command_id command = find_command(argv[0]);
	struct interval interval = time_source->interval;
	struct inventory inventory;
	const char *number = NULL;
	struct options options;
	int status;

	status = parse_options(command, argc, argv, &options);
	if (status != STATUS_OK || options.help)
		return status;
	if (command == COMMAND_LIST) {
		status = take_vms(&options, INT_MAX, true);
		interval.ns = look_ns();
	} else {
		if (options.num_arguments == 1 && is_interval(options.argument[0]) &&
		    !choice_is_made(&options.choice))
			number = options.argument[0];
		status = take_vms(&options, !choice_is_made(&options.choice), true);
		/* The worst one first. */
		options.order = COLUMN_STATE;
	}
	if (status == STATUS_OK && options.num_arguments > 1)
		status = usage_error("unexpected argument '%s'", options.argument[1]);
	if (status == STATUS_OK)
		status = parse_interval(options.num_arguments, options.argument, &interval);
	if (status != STATUS_OK)
		return status;
	status = open_inventory(&inventory, &options.choice);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	if (status == STATUS_OK)
		status = find_vms(&inventory, number, &interval.ns);
	if (status == STATUS_OK)
		status = look(&inventory, &options, interval.ns);
	inventory_free(&inventory);
	return status;
}
