// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat [INTERVAL [COUNT]]: what all VMs of the host do, a line per VM and interval. With
 * -p PID what moves in the VMs of a process, and totals when they end. VMs come and go
 * meanwhile.
 */
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
#include "util/clock.h"
#include "util/util.h"

/* What VMs are sorted by, as the columns stand. */
enum order {
	ORDER_NONE,			/* as they were found */
	ORDER_PID,
	ORDER_VCPUS,
	ORDER_SHARES,
	ORDER_RATES = ORDER_SHARES + NUM_SHARES,
	ORDER_NAME = ORDER_RATES + NUM_RATES,
	NUM_ORDERS,
};

static const char * const order_names[NUM_ORDERS] = {
	[ORDER_PID] = "pid",
	[ORDER_VCPUS] = "vcpus",
	[ORDER_SHARES + SHARE_GUEST] = "guest",
	[ORDER_SHARES + SHARE_KVM] = "kvm",
	[ORDER_SHARES + SHARE_VMM] = "vmm",
	[ORDER_SHARES + SHARE_READY] = "ready",
	[ORDER_SHARES + SHARE_IDLE] = "idle",
	[ORDER_RATES + RATE_EXITS] = "exits",
	[ORDER_RATES + RATE_HALTS] = "halts",
	[ORDER_RATES + RATE_INJECTIONS] = "injections",
	[ORDER_NAME] = "name",
};

/* How long to wait for the first VM. */
#define LOOK_AGAIN (20 * MSEC)

struct watch_options {
	struct process_options process;
	bool wait;
	enum order order;
	uint64_t limit;			/* 0: none */
	struct interval interval;
};

struct watch {
	enum order order;
	uint64_t limit;
	struct inventory inventory;
	struct tracker tracker;
	struct output output;
	int signals;
};

/* One that has ended is in one last sample. */
static size_t list_shown(const struct tracker *tracker, const struct tracked_vm **shown)
{
	size_t i, count = 0;

	for (i = 0; i < tracker->num_vms; i++) {
		if (tracker_shows(tracker, tracker->vm[i]))
			shown[count++] = tracker->vm[i];
	}
	return count;
}

/* Large ones come first, but of pids. */
static double number_of(const struct tracked_vm *vm, enum order order)
{
	if (order == ORDER_PID)
		return -vm->pid;
	if (order == ORDER_VCPUS)
		return vm->num_vcpus;
	if (order >= ORDER_SHARES && order < ORDER_RATES)
		return vm->rates.shares.part[order - ORDER_SHARES];
	if (order >= ORDER_RATES && order < ORDER_NAME)
		return vm->rates.per_second[order - ORDER_RATES];
	return 0;
}

static int compare_shown(const void *a, const void *b, void *argument)
{
	const struct tracked_vm *left = *(const struct tracked_vm * const *)a;
	const struct tracked_vm *right = *(const struct tracked_vm * const *)b;
	const struct watch *watch = argument;
	double first = number_of(left, watch->order), second = number_of(right, watch->order);
	int by_name = watch->order == ORDER_NAME ? strcmp(left->name, right->name) : 0;

	if (first != second)
		return first > second ? -1 : 1;
	return by_name ? by_name : (left->serial > right->serial) - (left->serial < right->serial);
}

/* @ending: of those that have not ended, NULL: they go on. Whether there are any. */
static bool show_each(struct watch *watch, const struct tracked_vm **vm, size_t count,
		      const char *ending)
{
	bool any = false;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!vm[i]->has_statistics)
			continue;
		any |= !vm[i]->ended;
		if (vm[i]->ended || ending)
			render->summary(&watch->output, vm[i], vm[i]->ended ? "ended" : ending);
		else
			render->sample(&watch->output, vm[i]);
	}
	return any;
}

/* Whether there may be more. */
static bool show(struct watch *watch, const char *ending)
{
	const struct tracker *tracker = &watch->tracker;
	const struct tracked_vm **vm = xcalloc(tracker->num_vms, sizeof(*vm));
	struct overviews overviews = {
		.time = time_source->real(),
		.elapsed_ns = tracker->elapsed_ns,
		.vm = vm,
		.num_vms = list_shown(tracker, vm),
	};
	bool more = true;

	watch->output.width = standard_output().width;
	if (watch->order && overviews.num_vms)
		qsort_r(vm, overviews.num_vms, sizeof(*vm), compare_shown, watch);
	if (watch->limit && overviews.num_vms > watch->limit)
		overviews.num_vms = watch->limit;
	if (tracker->process)
		more = show_each(watch, vm, overviews.num_vms, ending);
	else if (!ending)
		render->overviews(&watch->output, &overviews);
	free(vm);
	return more;
}

static int watch_vms(struct watch *watch, const struct interval *interval)
{
	uint64_t i, end_ns = time_source->now_ns();
	enum event event = EVENT_TIME;
	int status = STATUS_OK;

	for (i = 0; !interval->count || i < interval->count; i++) {
		end_ns = next_end(end_ns, interval->ns);
		event = tracker_wait(&watch->tracker, watch->signals, end_ns);
		/* Totals are of all of the time. */
		if (event != EVENT_TIME && !watch->tracker.process)
			return STATUS_OK;
		status = sample_tracked(&watch->tracker);
		if (status != STATUS_OK)
			return status;
		if (event != EVENT_TIME)
			break;
		if (!show(watch, NULL))
			return STATUS_OK;
		if (!flush_output(&status))
			return status;
	}
	show(watch, event == EVENT_READABLE ? "its process ended" : "still runs");
	return STATUS_OK;
}

static int begin(struct watch *watch, const struct interval *interval)
{
	int status;

	watch->output = standard_output();
	status = sample_tracked(&watch->tracker);
	if (status != STATUS_OK)
		return status;
	if (!watch->tracker.process)
		print_denied(&watch->inventory);
	/* Nothing to wait for, unless asked to. */
	if (watch->tracker.num_vms || interval->count != 1)
		status = watch_vms(watch, interval);
	return status == STATUS_OK ? inventory_status(&watch->inventory) : status;
}

/* Until the process has a VM, if that is asked for. */
static int attach(struct watch *watch, const struct watch_options *options, bool *stopped)
{
	struct tracker *tracker = &watch->tracker;
	bool none_yet;
	int status;

	tracker->process = inventory_find(&watch->inventory, options->process.pid);
	print_problems(&watch->inventory);
	if (!tracker->process)
		return STATUS_ERROR;
	for (;;) {
		none_yet = false;
		status = look_for_vms(&watch->inventory, tracker->process,
				      options->wait ? &none_yet : NULL);
		if (!none_yet)
			return status;
		switch (pause_until(watch->signals, tracker->process->pidfd,
				    time_source->now_ns() + LOOK_AGAIN)) {
		case EVENT_READABLE:
			print_error("pid %d ended without a VM", options->process.pid);
			return STATUS_ERROR;
		case EVENT_INTERRUPTED:
			*stopped = true;
			return STATUS_OK;
		case EVENT_TIME:
			/* It is new: what it has counted was counted since. */
			tracker->from_zero = true;
			break;
		}
	}
}

static enum order find_order(const char *name)
{
	enum order order;

	for (order = ORDER_NONE + 1; order < NUM_ORDERS; order++) {
		if (!strcmp(order_names[order], name))
			return order;
	}
	return ORDER_NONE;
}

static int parse_options(int argc, char **argv, struct watch_options *options)
{
	static const struct option long_options[] = {
		{ "wait", no_argument, NULL, 'w', },
		{ "sort", required_argument, NULL, 's', },
		{ "limit", required_argument, NULL, 'n', },
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
		case 's':
			if (options->order)
				return usage_error("--sort COLUMN is there twice");
			options->order = find_order(optarg);
			if (!options->order)
				return usage_error("'%s' is no column to sort by", optarg);
			break;
		case 'n':
			if (parse_number(optarg, 1, INT_MAX, &options->limit))
				return usage_error("'%s' is not a number of VMs", optarg);
			break;
		default:
			status = parse_process_option(option, argv, &options->process);
			if (status != STATUS_OK || options->process.help)
				return status;
		}
	}
	if (!options->process.pid && options->wait)
		return usage_error("-p PID is missing");
	if (options->process.pid && (options->order || options->limit))
		return usage_error("--sort and --limit are for all VMs, not for -p PID");
	/* Without an interval it is one report, and no stream, but of a recording. */
	if (!options->process.pid && optind == argc && time_source == &machine_time)
		options->interval.count = 1;
	return parse_interval(argc - optind, argv + optind, &options->interval);
}

int command_watch(int argc, char **argv)
{
	struct watch_options options = { .interval = time_source->interval, };
	struct watch watch = {};
	bool stopped = false;
	int status;

	status = parse_options(argc, argv, &options);
	if (status != STATUS_OK)
		return status;
	if (options.process.help)
		return command_help(1, argv);
	status = open_inventory(&watch.inventory);
	tracker_init(&watch.tracker, &watch.inventory);
	watch.tracker.reads_threads = !options.process.pid;
	watch.order = options.order;
	watch.limit = options.limit;
	if (status == STATUS_OK) {
		watch.signals = catch_signals();
		status = confine(USE_OUTPUT);
		if (status == STATUS_OK && options.process.pid)
			status = attach(&watch, &options, &stopped);
		if (status == STATUS_OK && !stopped)
			status = begin(&watch, &options.interval);
		close(watch.signals);
	}
	tracker_free(&watch.tracker);
	inventory_free(&watch.inventory);
	return status;
}
