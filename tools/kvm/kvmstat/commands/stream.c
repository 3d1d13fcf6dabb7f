// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat [INTERVAL [COUNT]]: what all VMs of the host do, or those that are chosen, a line
 * per VM and interval. With -p of a single one what moves in it, and totals when it ends. VMs
 * come and go meanwhile.
 */
#include <ctype.h>
#include <getopt.h>
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

/* How long to wait for the first VM. */
#define LOOK_AGAIN (20 * MSEC)

/*
 * A VMM may make a VM for a moment, to see what this KVM can do: one that is waited for has
 * to be there for that long.
 */
#define STAYS (100 * MSEC)

struct stream_options {
	struct vm_options vms;
	bool wait;
	struct line_options lines;
	struct interval interval;
};

struct stream {
	bool single;
	bool details;			/* of what moves */
	bool had_any;
	bool is_shown;			/* the last sample */
	bool is_there;			/* what is waited for, at the last look */
	struct line_options lines;
	struct inventory inventory;
	struct tracker tracker;
	struct output output;
	int signals;
};

/* @ending: of those that have not ended, NULL: they go on. Whether there are any. */
static bool show_each(struct stream *stream, const struct tracked_vm **vm, size_t count,
		      const char *ending)
{
	bool any = false;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!vm[i]->has_statistics || (stream->is_shown && vm[i]->ended))
			continue;
		any |= !vm[i]->ended;
		if (vm[i]->ended || ending)
			render->summary(&stream->output, vm[i], vm[i]->ended ? "ended" : ending);
		else
			render->sample(&stream->output, vm[i]);
	}
	return any;
}

static bool any_runs(const struct overviews *overviews)
{
	size_t i;

	for (i = 0; i < overviews->num_vms; i++) {
		if (!overviews->vm[i]->ended)
			return true;
	}
	return false;
}

/* Whether there may be more. */
static bool show(struct stream *stream, const char *ending)
{
	struct overviews overviews;
	bool more = true;

	stream->output.width = standard_output().width;
	get_overviews(&stream->tracker, &stream->lines, &overviews);
	stream->had_any |= overviews.num_vms;
	if (stream->details)
		more = show_each(stream, overviews.vm, overviews.num_vms, ending);
	else if (!ending)
		render->overviews(&stream->output, &overviews);
	if (stream->single && !stream->details)
		more = any_runs(&overviews);
	free(overviews.vm);
	stream->is_shown = true;
	return (more || !stream->had_any) && !chosen_have_ended(&stream->inventory);
}

static int stream_vms(struct stream *stream, const struct interval *interval)
{
	uint64_t i, end_ns = time_source->now_ns();
	enum event event = EVENT_TIME;
	int status = STATUS_OK;

	for (i = 0; !interval->count || i < interval->count; i++) {
		end_ns = next_end(end_ns, interval->ns);
		event = tracker_wait(&stream->tracker, stream->signals, end_ns);
		/* Totals are of all of the time, and an end is shown whenever it comes. */
		if (event == EVENT_INTERRUPTED && !stream->details)
			return i ? STATUS_OK : replay_status();
		status = sample_tracked(&stream->tracker);
		if (status != STATUS_OK)
			return status;
		stream->is_shown = false;
		if (event != EVENT_TIME && stream->details)
			break;
		if (!show(stream, NULL) || event != EVENT_TIME)
			return STATUS_OK;
		if (!flush_output(&status))
			return status;
	}
	show(stream, event == EVENT_READABLE ? "its process ended" : "still runs");
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
	/* Nothing to wait for, unless asked to. */
	if (stream->tracker.num_vms || interval->count != 1)
		status = stream_vms(stream, interval);
	return status == STATUS_OK ? inventory_status(&stream->inventory) : status;
}

/* Not one that is being made, of which it is not known yet what can be had. */
static bool is_made(const struct vm *vm)
{
	return !vm->dead && (vm_has_statistics(vm) || vm->num_vcpus_counted);
}

/* Whether one of those that are there was there before. In a recording all are to stay. */
static bool has_stayed(struct stream *stream)
{
	uint64_t now_ns = time_source->now_ns();
	bool has_stayed = false;
	struct vm *vm;
	size_t i;

	stream->is_there = false;
	for (i = 0; i < stream->inventory.num_vms; i++) {
		vm = stream->inventory.vm[i];
		if (!is_made(vm))
			continue;
		stream->is_there = true;
		if (!vm->awaited_ns)
			vm->awaited_ns = now_ns;
		has_stayed |= replay_recording() || now_ns - vm->awaited_ns >= STAYS;
	}
	return has_stayed;
}

static void wait_on(struct stream *stream)
{
	inventory_forget_dead(&stream->inventory);
	/* What comes then is new: what it has counted was counted since. */
	if (!stream->is_there)
		stream->tracker.from_zero = true;
}

/* Until the process has a VM, if that is asked for. */
static int attach_process(struct stream *stream, const struct stream_options *options,
			  bool *stopped)
{
	struct inventory *inventory = &stream->inventory;
	struct tracker *tracker = &stream->tracker;
	bool none_yet, stays;
	int status;

	tracker->process = find_process(inventory, choice_process(&options->vms.choice));
	print_problems(inventory);
	if (!tracker->process)
		return STATUS_ERROR;
	for (;;) {
		none_yet = false;
		status = look_for_vms(inventory, tracker->process,
				      options->wait ? &none_yet : NULL);
		stays = !options->wait || has_stayed(stream);
		if (!none_yet && (stays || !inventory->num_vms))
			return has_no_statistics(inventory) ? STATUS_OK : status;
		if (tracker->process->gone && !stream->is_there) {
			if (status == STATUS_OK)
				print_error("pid %d ended without a VM", tracker->process->pid);
			return STATUS_ERROR;
		}
		wait_on(stream);
		/* A child may have the VM, then there is no end to wait for. */
		switch (pause_until(stream->signals,
				    tracker->process->gone ? -1 : tracker->process->pidfd,
				    time_source->now_ns() + LOOK_AGAIN)) {
		case EVENT_INTERRUPTED:
			*stopped = true;
			return STATUS_OK;
		case EVENT_READABLE:
		case EVENT_TIME:
			break;
		}
	}
}

/* Until there is a VM of what is chosen: KVM says that it makes one, or the next look finds it. */
static int wait_for_chosen(struct stream *stream, bool *stopped)
{
	struct inventory *inventory = &stream->inventory;
	uint64_t now_ns, next_ns = 0;
	bool pending;
	int status;

	for (;;) {
		now_ns = time_source->now_ns();
		if (now_ns >= next_ns) {
			/* If nothing is to be seen at all, the first sample says why. */
			if (inventory_look(inventory, NULL))
				return STATUS_OK;
			/* It may be there, and never be seen. */
			if (!next_ns && !inventory->num_vms && inventory_is_denied(inventory))
				print_denied(inventory);
			next_ns = now_ns + NSEC_PER_SEC;
		}
		pending = inventory_see_events(inventory, NULL);
		print_problems(inventory);
		if (has_stayed(stream))
			return STATUS_OK;
		if (!stream->is_there && chosen_have_ended(inventory)) {
			print_error("all that was chosen ended without a VM");
			return STATUS_ERROR;
		}
		wait_on(stream);
		pending |= stream->is_there;
		if (pause_until(stream->signals, inventory->events,
				pending ? now_ns + MAKERS_STEP_NS : next_ns) == EVENT_INTERRUPTED) {
			*stopped = true;
			status = replay_status();
			return status == STATUS_OK ? inventory_status(inventory) : status;
		}
	}
}

static int attach(struct stream *stream, const struct stream_options *options, bool *stopped)
{
	int status;

	if (choice_process(&options->vms.choice))
		return attach_process(stream, options, stopped);
	status = look_for_chosen(&stream->inventory, options->wait);
	if (status == STATUS_OK && options->wait)
		status = wait_for_chosen(stream, stopped);
	return status;
}

static int parse_options(int argc, char **argv, struct stream_options *options)
{
	static const struct option long_options[] = {
		{ "wait", no_argument, NULL, 'w', },
		SORT_OPTION,
		LIMIT_OPTION,
		PID_OPTION,
		HELP_OPTION,
		{},
	};
	int option, status;

	while ((option = getopt_long(argc, argv, ":w" VM_OPTIONS, long_options,
				     NULL)) != -1) {
		switch (option) {
		case 'w':
			options->wait = true;
			break;
		case 's':
		case 'n':
			status = parse_line_option(option, &options->lines);
			if (status != STATUS_OK)
				return status;
			break;
		default:
			status = parse_vm_option(option, argv, &options->vms);
			if (status != STATUS_OK || options->vms.help)
				return status;
		}
	}
	if (!choice_is_made(&options->vms.choice) && options->wait)
		return usage_error("-p VM is missing");
	if (choice_is_single(&options->vms.choice) &&
	    (options->lines.sorted || options->lines.limit))
		return usage_error("--sort and --limit are for several VMs, not for one");
	if (optind < argc && isalpha((unsigned char)argv[optind][0]))
		return usage_error("'%s' is not an interval; a command stands in front of options",
				   argv[optind]);
	/* Without an interval it is one report, and no stream, but of a recording. */
	if (!choice_is_made(&options->vms.choice) && optind == argc && time_source == &machine_time)
		options->interval.count = 1;
	return parse_interval(argc - optind, argv + optind, &options->interval);
}

int command_stream(int argc, char **argv)
{
	struct stream_options options = { .interval = time_source->interval, };
	struct stream stream = {};
	bool stopped = false;
	int status;

	status = parse_options(argc, argv, &options);
	if (status != STATUS_OK)
		return status;
	if (options.vms.help)
		return command_help(1, argv);
	status = open_inventory(&stream.inventory, &options.vms.choice);
	tracker_init(&stream.tracker, &stream.inventory);
	stream.single = choice_is_single(&options.vms.choice);
	stream.lines = options.lines;
	if (status == STATUS_OK) {
		stream.signals = catch_signals();
		status = confine(USE_OUTPUT);
		if (status == STATUS_OK)
			status = attach(&stream, &options, &stopped);
		stream.details = stream.single && !has_no_statistics(&stream.inventory);
		stream.tracker.reads_threads = !stream.details;
		if (status == STATUS_OK && !stopped)
			status = begin(&stream, &options.interval);
		close(stream.signals);
	}
	tracker_free(&stream.tracker);
	inventory_free(&stream.inventory);
	return status;
}
