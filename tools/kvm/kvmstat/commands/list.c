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
#include "sources/replay.h"
#include "util/clock.h"
#include "util/util.h"

/* Long enough for the ticks that /proc counts, and short enough to be waited for. */
#define LOOK_NS (NSEC_PER_SEC / 4)

struct list_options {
	struct vm_options vms;
	struct line_options lines;
};

/* Of a recording it ends with the sample that is meant; of the first there is nothing before. */
static int take_look(struct tracker *tracker)
{
	const struct recording *recording = replay_recording();
	bool first = recording && !recording->position;
	int status;

	if (recording && !first && !replay_jump(recording->position - 1))
		return STATUS_ERROR;
	status = sample_tracked(tracker);
	if (status != STATUS_OK || first || !tracker->num_vms)
		return status;
	tracker_wait(tracker, -1, time_source->now_ns() + (recording ? 1 : LOOK_NS));
	return sample_tracked(tracker);
}

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
