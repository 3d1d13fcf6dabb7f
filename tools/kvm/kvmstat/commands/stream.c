// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat [INTERVAL [COUNT]]: prints a line per VM and interval, for all VMs or the chosen ones.
 * VMs come and go meanwhile.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/command.h"
#include "model/tracker.h"
#include "render/overview.h"
#include "render/render.h"
#include "sources/replay.h"
#include "util/clock.h"
#include "util/util.h"

struct stream {
	const struct options *options;
	bool is_said;			/* how to get exact shares */
	struct inventory inventory;
	struct tracker tracker;
	struct output output;
	int signals;
};

/* Tells a person once how to get exact shares. */
static void say_accounting(struct stream *stream, const struct overviews *overviews)
{
	size_t i;

	stream->is_said |= render != &text_renderer || !isatty(STDERR_FILENO);
	for (i = 0; i < overviews->num_vms && !stream->is_said; i++) {
		if (!overviews->vm[i]->accounting_is_off)
			continue;
		stream->is_said = true;
		print_error("~: from /proc; for exact shares: " ACCOUNT_FOR_TIME);
	}
}

static void show(struct stream *stream)
{
	struct overviews overviews;

	stream->output.width = standard_output().width;
	get_overviews(&stream->tracker, stream->options, &overviews);
	say_accounting(stream, &overviews);
	render->overviews(&stream->output, &overviews);
	free(overviews.vm);
}

static int stream_vms(struct stream *stream, const struct interval *interval)
{
	uint64_t i, end_ns = time_source->now_ns();
	enum event event;
	int status;

	for (i = 0; !interval->count || i < interval->count; i++) {
		end_ns = next_end(end_ns, interval->ns);
		event = tracker_wait(&stream->tracker, stream->signals, end_ns);
		/* The end of a chosen process ends the interval. */
		if (event == EVENT_INTERRUPTED)
			return i ? STATUS_OK : replay_status();
		status = sample_tracked(&stream->tracker);
		if (status != STATUS_OK)
			return status;
		show(stream);
		if (tracker_is_over(&stream->tracker) || event != EVENT_TIME)
			return STATUS_OK;
		if (!flush_output(&status))
			return status;
	}
	return STATUS_OK;
}

static int begin(struct stream *stream, const struct interval *interval)
{
	int status;

	stream->output = standard_output();
	status = sample_tracked(&stream->tracker);
	if (status != STATUS_OK)
		return status;
	if (!stream->inventory.choice)
		print_denied(&stream->inventory);
	/* Without a VM there is nothing to wait for in a single report. */
	if (stream->tracker.num_vms || interval->count != 1)
		status = stream_vms(stream, interval);
	return status == STATUS_OK ? inventory_status(&stream->inventory) : status;
}

static int parse(int argc, char **argv, struct options *options, struct interval *interval)
{
	int status;

	status = parse_options(COMMAND_STREAM, argc, argv, options);
	if (status != STATUS_OK || options->help)
		return status;
	if (!choice_is_made(&options->choice) && options->wait)
		return usage_error("-p VM is missing");
	if (options->num_arguments && isalpha((unsigned char)options->argument[0][0]))
		return usage_error("'%s' is not an interval; put a command before options",
				   options->argument[0]);
	/* Without an interval print one report, except of a recording. */
	if (!choice_is_made(&options->choice) && !options->num_arguments &&
	    time_source == &machine_time)
		interval->count = 1;
	return parse_interval(options->num_arguments, options->argument, interval);
}

int command_stream(int argc, char **argv)
{
	struct interval interval = time_source->interval;
	struct options options;
	struct stream stream = { .options = &options, };
	bool stopped = false;
	int status;

	status = parse(argc, argv, &options, &interval);
	if (status != STATUS_OK || options.help)
		return status;
	status = open_inventory(&stream.inventory, &options.choice);
	tracker_init(&stream.tracker, &stream.inventory);
	stream.tracker.reads_threads = true;
	if (status == STATUS_OK) {
		stream.signals = catch_signals();
		status = confine(USE_OUTPUT);
		if (status == STATUS_OK)
			status = attach(&stream.tracker, &options, stream.signals, &stopped);
		if (status == STATUS_OK && !stopped)
			status = begin(&stream, &interval);
		close(stream.signals);
	}
	tracker_free(&stream.tracker);
	inventory_free(&stream.inventory);
	return status;
}
