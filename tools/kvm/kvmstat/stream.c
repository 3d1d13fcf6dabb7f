// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat [INTERVAL [COUNT]]: what all VMs of the host do, a line per VM and interval.
 * VMs come and go while it runs.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "overview.h"
#include "render.h"
#include "stream.h"
#include "tracker.h"
#include "util.h"

struct stream {
	struct inventory inventory;
	struct tracker tracker;
	int signals;
};

static int sample(struct stream *stream)
{
	int ret;

	ret = tracker_sample(&stream->tracker, time_source->now_ns());
	print_problems(&stream->inventory);
	if (!ret)
		return STATUS_OK;
	print_error("%s: %s", stream->inventory.host->proc, strerror(-ret));
	return STATUS_ERROR;
}

/* One that has ended has one last line. */
static void show(const struct tracker *tracker, struct output *output)
{
	struct overviews overviews = {
		.time = time_source->real(),
		.elapsed_ns = tracker->elapsed_ns,
		.vm = xcalloc(tracker->num_vms, sizeof(*overviews.vm)),
	};
	size_t i;

	for (i = 0; i < tracker->num_vms; i++) {
		if (tracker_shows(tracker, tracker->vm[i]))
			overviews.vm[overviews.num_vms++] = tracker->vm[i];
	}
	render->overviews(output, &overviews);
	free(overviews.vm);
}

static int show_intervals(struct stream *stream, const struct interval *interval)
{
	struct output output = standard_output();
	uint64_t end_ns = time_source->now_ns();
	int status = STATUS_OK;
	uint64_t i;

	for (i = 0; status == STATUS_OK && (!interval->count || i < interval->count); i++) {
		end_ns = next_end(end_ns, interval->ns);
		if (tracker_wait(&stream->tracker, stream->signals, end_ns) != EVENT_TIME)
			break;
		status = sample(stream);
		if (status != STATUS_OK)
			break;
		output.width = standard_output().width;
		show(&stream->tracker, &output);
		if (!flush_output(&status))
			break;
	}
	return status;
}

static int run_stream(struct stream *stream, const struct interval *interval)
{
	int status;

	status = sample(stream);
	if (status != STATUS_OK)
		return status;
	print_denied(&stream->inventory);
	/* Nothing to wait for, unless asked to. */
	if (stream->tracker.num_vms || interval->count != 1)
		status = show_intervals(stream, interval);
	return status == STATUS_OK ? inventory_status(&stream->inventory) : status;
}

int stream_all(const struct interval *interval)
{
	struct stream stream = {};
	int status;

	status = open_inventory(&stream.inventory);
	tracker_init(&stream.tracker, &stream.inventory);
	if (status == STATUS_OK) {
		stream.signals = catch_signals();
		status = confine(USE_OUTPUT);
		if (status == STATUS_OK)
			status = run_stream(&stream, interval);
		close(stream.signals);
	}
	tracker_free(&stream.tracker);
	inventory_free(&stream.inventory);
	return status;
}
