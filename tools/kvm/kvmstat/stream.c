// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat [INTERVAL [COUNT]]: what all VMs of the host do, a line per VM and interval.
 * VMs come and go while it runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "model.h"
#include "overview.h"
#include "render.h"
#include "stream.h"
#include "util.h"

struct stream {
	struct inventory inventory;
	/* Of the VM of the inventory with the same index. */
	struct model *model;
	size_t num_vms;
	/* Most VMs have the same statistics. */
	struct columns columns;
	struct statsfile_schema *schema;	/* of which the columns are, or NULL */
	uint64_t last_ns;		/* 0 before the first look */
	int signals;
	bool any_problem;
};

static void follow_new(struct stream *stream)
{
	const struct inventory *inventory = &stream->inventory;
	size_t i = stream->num_vms;

	stream->model = xreallocarray(stream->model, inventory->num_vms,
				      sizeof(*stream->model));
	for (; i < inventory->num_vms; i++) {
		if (vm_has_statistics(inventory->vm[i]))
			model_init(&stream->model[i], inventory->vm[i]);
		else
			stream->model[i] = (struct model) {};
	}
	stream->num_vms = inventory->num_vms;
}

static void forget_dead(struct stream *stream)
{
	size_t i, kept = 0;

	for (i = 0; i < stream->num_vms; i++) {
		if (stream->inventory.vm[i]->dead)
			model_free(&stream->model[i]);
		else
			stream->model[kept++] = stream->model[i];
	}
	stream->num_vms = kept;
	discover_forget_dead(&stream->inventory);
}

static const struct columns *columns_of(struct stream *stream,
					struct statsfile_schema *schema)
{
	if (stream->schema != schema) {
		if (stream->schema)
			statsfile_schema_put(stream->schema);
		stream->schema = statsfile_schema_get(schema);
		columns_find(&stream->columns, schema);
	}
	return &stream->columns;
}

/* What is new came within this interval, and is counted over all of it. */
static struct overview look_at(struct stream *stream, size_t index, uint64_t now_ns)
{
	struct overview overview = {
		.vm = stream->inventory.vm[index],
		.elapsed_ns = now_ns - stream->last_ns,
	};
	struct model *model = &stream->model[index];
	const struct group *vcpus = &model->group[SCOPE_VCPU];
	struct statsfile_error error;

	if (!vm_has_statistics(overview.vm))
		return overview;
	if (model_sample(model, now_ns, stream->last_ns, &error)) {
		print_error("%s: %s", overview.vm->file.id, error.text);
		stream->any_problem = true;
	} else if (vcpus->schema) {
		columns_rates(columns_of(stream, vcpus->schema), vcpus->delta,
			      overview.elapsed_ns, &overview.rates);
	}
	return overview;
}

/* The caller frees overviews->vm. */
static int look(struct stream *stream, struct overviews *overviews)
{
	uint64_t now_ns;
	int ret;
	size_t i;

	ret = discover_all(&stream->inventory);
	stream->any_problem |= print_problems(&stream->inventory);
	if (ret) {
		print_error("%s: %s", stream->inventory.host->proc, strerror(-ret));
		return STATUS_ERROR;
	}
	follow_new(stream);
	clock_gettime(CLOCK_REALTIME, &overviews->time);
	now_ns = monotonic_ns();
	overviews->num_vms = stream->num_vms;
	overviews->vm = xcalloc(stream->num_vms, sizeof(*overviews->vm));
	for (i = 0; i < stream->num_vms; i++)
		overviews->vm[i] = look_at(stream, i, now_ns);
	stream->last_ns = now_ns;
	return STATUS_OK;
}

static int show_intervals(struct stream *stream, const struct interval *interval)
{
	struct output output = { .file = stdout, };
	uint64_t end_ns = monotonic_ns();
	struct overviews overviews;
	int status = STATUS_OK;
	uint64_t i;

	for (i = 0; status == STATUS_OK && (!interval->count || i < interval->count); i++) {
		end_ns = next_end(end_ns, interval->ns);
		if (pause_until(stream->signals, -1, end_ns) != EVENT_TIME)
			break;
		status = look(stream, &overviews);
		if (status != STATUS_OK)
			break;
		render->overviews(&output, &overviews);
		free(overviews.vm);
		forget_dead(stream);
		if (!flush_output(&status))
			break;
	}
	return status;
}

static int run_stream(struct stream *stream, const struct interval *interval)
{
	struct overviews overviews;
	int status;

	status = look(stream, &overviews);
	if (status != STATUS_OK)
		return status;
	free(overviews.vm);
	print_denied(&stream->inventory);
	/* Nothing to wait for, unless asked to. */
	if (stream->num_vms || interval->count != 1)
		status = show_intervals(stream, interval);
	return stream->any_problem ? STATUS_ERROR : status;
}

static void free_stream(struct stream *stream)
{
	size_t i;

	for (i = 0; i < stream->num_vms; i++)
		model_free(&stream->model[i]);
	free(stream->model);
	if (stream->schema)
		statsfile_schema_put(stream->schema);
	if (stream->signals >= 0)
		close(stream->signals);
	inventory_free(&stream->inventory);
}

int stream_all(const struct interval *interval)
{
	struct stream stream = { .signals = -1, };
	int status;

	status = open_inventory(&stream.inventory);
	if (status == STATUS_OK) {
		stream.signals = catch_signals();
		status = run_stream(&stream, interval);
	}
	free_stream(&stream);
	return status;
}
