// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat -p PID [INTERVAL [COUNT]]: what moves in the VMs of a process, interval by interval, and
 * totals when they end.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "interval.h"
#include "model.h"
#include "render.h"
#include "stream.h"
#include "util.h"

/* How long to wait for the first VM, and for a VM's next vCPU while they appear. */
#define LOOK_AGAIN (20 * MSEC)

/* And how often for more VMs of the process: that costs more than a sample. */
#define LOOK_FOR_VMS (900 * MSEC)

struct watch_options {
	struct process_options process;
	bool wait;
	struct interval interval;
};

struct watched_vm {
	struct model model;
	bool ended;
};

struct watch {
	struct inventory inventory;
	struct process *process;
	struct watched_vm *vm;
	size_t num_vms;
	int signals;
	uint64_t looked_ns;		/* for VMs */
	bool waited;
	bool stopped;
};

static enum event pause_watch(const struct watch *watch, uint64_t end_ns)
{
	return pause_until(watch->signals, watch->process->pidfd, end_ns);
}

static size_t count_objects(const struct inventory *inventory)
{
	size_t count = inventory->num_vms;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++)
		count += inventory->vm[i]->num_vcpus;
	return count;
}

static bool lacks_vcpus(const struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (!inventory->vm[i]->num_vcpus && !inventory->vm[i]->dead)
			return true;
	}
	return false;
}

/* Before they are read: what is read of a dead VM is final. */
static void see_ends(struct watch *watch)
{
	size_t i;

	for (i = 0; i < watch->inventory.num_vms; i++)
		vm_is_dead(&watch->inventory, watch->inventory.vm[i]);
}

/*
 * If it may not be looked into any more, what is known is watched on. Not @closely and
 * within a second it takes no system call to see new vCPUs, and nothing else is seen.
 */
static void look_again(struct watch *watch, bool closely)
{
	struct inventory *inventory = &watch->inventory;
	uint64_t now_ns = time_source->now_ns();
	size_t i;

	if (closely || now_ns - watch->looked_ns >= LOOK_FOR_VMS) {
		watch->looked_ns = now_ns;
		discover_again(inventory, watch->process);
		see_ends(watch);
	} else {
		for (i = 0; i < inventory->num_vms; i++)
			discover_vcpus(inventory, inventory->vm[i]);
	}
	print_problems(inventory);
}

/*
 * Waits for the end of the interval. A VM that is being built is looked at more
 * often than that: it may have come and gone within one interval.
 */
static enum event wait_interval(struct watch *watch, uint64_t end_ns, bool last)
{
	bool growing = lacks_vcpus(&watch->inventory);
	enum event event;
	uint64_t step_ns;
	size_t count;

	for (;;) {
		step_ns = growing ? time_source->now_ns() + LOOK_AGAIN : end_ns;
		if (step_ns > end_ns)
			step_ns = end_ns;
		event = pause_watch(watch, step_ns);
		if (event == EVENT_READABLE) {
			see_ends(watch);
			return event;
		}
		count = count_objects(&watch->inventory);
		look_again(watch, growing || last || event != EVENT_TIME);
		if (event != EVENT_TIME || step_ns == end_ns)
			return event;
		growing = lacks_vcpus(&watch->inventory) ||
			  count_objects(&watch->inventory) != count;
	}
}

/* All VMs that have statistics; those that are new get a model. */
static int sample(struct watch *watch, bool from_zero)
{
	struct inventory *inventory = &watch->inventory;
	struct statsfile_error error;
	struct watched_vm *watched;
	size_t i;

	watch->vm = xreallocarray(watch->vm, inventory->num_vms, sizeof(*watch->vm));
	for (; watch->num_vms < inventory->num_vms; watch->num_vms++) {
		watched = &watch->vm[watch->num_vms];
		*watched = (struct watched_vm) {};
		if (vm_has_statistics(inventory->vm[watch->num_vms]))
			model_init(&watched->model, inventory->vm[watch->num_vms]);
		else
			watched->ended = true;
	}
	for (i = 0; i < watch->num_vms; i++) {
		watched = &watch->vm[i];
		if (watched->ended)
			continue;
		if (model_sample(&watched->model, time_source->now_ns(), from_zero, &error)) {
			print_error("%s: %s", watched->model.vm->file.id, error.text);
			return STATUS_ERROR;
		}
	}
	return STATUS_OK;
}

static void end_vm(struct watched_vm *watched, const char *ending)
{
	struct output output = standard_output();

	render->summary(&output, &watched->model, ending);
	watched->ended = true;
}

/* Whether there is any left to watch. */
static bool print_samples(struct watch *watch)
{
	struct output output = standard_output();
	bool any = false;
	size_t i;

	for (i = 0; i < watch->num_vms; i++) {
		if (watch->vm[i].ended)
			continue;
		if (watch->vm[i].model.vm->dead) {
			end_vm(&watch->vm[i], "ended");
		} else {
			render->sample(&output, &watch->vm[i].model);
			any = true;
		}
	}
	return any;
}

static void print_endings(struct watch *watch, const char *ending)
{
	size_t i;

	for (i = 0; i < watch->num_vms; i++) {
		if (!watch->vm[i].ended)
			end_vm(&watch->vm[i], watch->vm[i].model.vm->dead ? "ended" : ending);
	}
}

static int watch_vms(struct watch *watch, const struct watch_options *options)
{
	uint64_t end_ns = time_source->now_ns();
	enum event event = EVENT_TIME;
	uint64_t i, count = options->interval.count;
	int status;

	/* A VM that was waited for is new: what it has counted was counted since. */
	status = sample(watch, watch->waited);
	for (i = 0; status == STATUS_OK && (!count || i < count); i++) {
		end_ns = next_end(end_ns, options->interval.ns);
		event = wait_interval(watch, end_ns, i + 1 == count);
		status = sample(watch, true);
		if (status != STATUS_OK || event != EVENT_TIME)
			break;
		if (!print_samples(watch))
			break;
		if (!flush_output(&status))
			return status;
	}
	if (status == STATUS_OK)
		print_endings(watch, event == EVENT_READABLE ?
			      "its process ended" : "still runs");
	return status;
}

/* Until the process has a VM, if that is asked for. */
static int attach(struct watch *watch, const struct watch_options *options)
{
	bool none_yet;
	int status;

	watch->process = discover_process(&watch->inventory, options->process.pid);
	print_problems(&watch->inventory);
	if (!watch->process)
		return STATUS_ERROR;
	for (;;) {
		none_yet = false;
		status = look_for_vms(&watch->inventory, watch->process,
				      options->wait ? &none_yet : NULL);
		if (!none_yet)
			return status;
		switch (pause_watch(watch, time_source->now_ns() + LOOK_AGAIN)) {
		case EVENT_READABLE:
			print_error("pid %d ended without a VM", options->process.pid);
			return STATUS_ERROR;
		case EVENT_INTERRUPTED:
			watch->stopped = true;
			return STATUS_OK;
		case EVENT_TIME:
			watch->waited = true;
			break;
		}
	}
}

static int parse_options(int argc, char **argv, struct watch_options *options)
{
	static const struct option long_options[] = {
		{ "wait", no_argument, NULL, 'w', },
		PID_OPTION,
		HELP_OPTION,
		{},
	};
	int option, status;

	while ((option = getopt_long(argc, argv, ":w" PROCESS_OPTIONS, long_options,
				     NULL)) != -1) {
		switch (option) {
		case 'w':
			options->wait = true;
			break;
		default:
			status = parse_process_option(option, argv, &options->process);
			if (status != STATUS_OK || options->process.help)
				return status;
		}
	}
	if (!options->process.pid && options->wait)
		return usage_error("-p PID is missing");
	return parse_interval(argc - optind, argv + optind, &options->interval);
}

static void free_watch(struct watch *watch)
{
	size_t i;

	for (i = 0; i < watch->num_vms; i++)
		model_free(&watch->vm[i].model);
	free(watch->vm);
	close(watch->signals);
	inventory_free(&watch->inventory);
}

int command_watch(int argc, char **argv)
{
	struct watch_options options = { .interval = time_source->interval, };
	struct watch watch = {};
	int status;

	status = parse_options(argc, argv, &options);
	if (status != STATUS_OK)
		return status;
	if (options.process.help)
		return command_help(1, argv);
	if (!options.process.pid) {
		/* Without an interval it is one report, and no stream, but of a recording. */
		if (optind == argc && time_source == &machine_time)
			options.interval.count = 1;
		return stream_all(&options.interval);
	}
	status = open_inventory(&watch.inventory);
	if (status != STATUS_OK)
		return status;
	watch.signals = catch_signals();
	status = confine(USE_OUTPUT);
	if (status == STATUS_OK)
		status = attach(&watch, &options);
	if (status == STATUS_OK && !watch.stopped)
		status = watch_vms(&watch, &options);
	free_watch(&watch);
	return status;
}
