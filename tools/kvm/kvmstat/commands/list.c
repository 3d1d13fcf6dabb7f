// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat list: the VMs of this host, and what their time is spent with, which is seen from
 * a short look.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command.h"
#include "model/tracker.h"
#include "render/render.h"
#include "util/util.h"

struct list_options {
	struct vm_options vms;
	struct line_options lines;
};

static void show(const struct tracker *tracker, const struct line_options *lines)
{
	struct output output = standard_output();
	struct overviews overviews;

	get_overviews(tracker, lines, &overviews);
	render->begin(&output);
	render->vms(&output, &overviews);
	render->end(&output);
	free(overviews.vm);
}

static int list(struct inventory *inventory, const struct line_options *lines)
{
	struct tracker tracker;
	int status;

	tracker_init(&tracker, inventory);
	tracker.reads_threads = true;
	status = take_look(&tracker);
	if (status == STATUS_OK) {
		show(&tracker, lines);
		if (!inventory->choice)
			print_denied(inventory);
		status = inventory_status(inventory);
	}
	tracker_free(&tracker);
	return status;
}

static int parse_options(int argc, char **argv, struct list_options *options)
{
	static const struct option long_options[] = {
		SORT_OPTION,
		LIMIT_OPTION,
		PID_OPTION,
		HELP_OPTION,
		{},
	};
	int option, status;

	while ((option = getopt_long(argc, argv, ":" VM_OPTIONS, long_options, NULL)) != -1) {
		if (option == 's' || option == 'n')
			status = parse_line_option(option, &options->lines);
		else
			status = parse_vm_option(option, argv, &options->vms);
		if (status != STATUS_OK || options->vms.help)
			return status;
	}
	if (optind < argc)
		return usage_error("list: unexpected argument '%s'", argv[optind]);
	return STATUS_OK;
}

int command_list(int argc, char **argv)
{
	struct list_options options = { .lines.only_running = true, };
	struct inventory inventory;
	int status;

	status = parse_options(argc, argv, &options);
	if (status != STATUS_OK)
		return status;
	if (options.vms.help)
		return command_help(1, argv);
	status = open_inventory(&inventory, &options.vms.choice);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	if (status == STATUS_OK)
		status = look_for_chosen(&inventory, false);
	if (status == STATUS_OK)
		status = list(&inventory, &options.lines);
	inventory_free(&inventory);
	return status;
}
