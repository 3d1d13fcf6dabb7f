// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat show: why a VM is slow, then every statistic with its type and unit. kvmstat hist:
 * histograms, with percentiles and the bounds, or the names, of their buckets. Both show totals
 * since the VM was created, or each interval.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/command.h"
#include "model/histogram.h"
#include "model/model.h"
#include "model/tracker.h"
#include "render/render.h"
#include "sources/replay.h"
#include "util/clock.h"
#include "util/util.h"

struct show {
	struct options options;
	struct output output;
	bool histograms;		/* show only histograms */
	char **name;			/* of histograms */
	size_t num_names;		/* 0: all */
	bool any_histogram;		/* one was shown */
	struct interval interval;
	bool streams;
	bool is_shown;			/* the last sample */
	struct tracker tracker;
};

static bool is_wanted(const struct show *show, const char *name)
{
	size_t i;

	for (i = 0; i < show->num_names; i++) {
		if (!strcmp(show->name[i], name))
			return true;
	}
	return !show->num_names;
}

static void show_group(struct show *show, const struct subject *subject,
		       const struct group *group)
{
	const struct statsfile_desc *desc;
	struct histogram histogram;
	unsigned int i;

	if (!show->histograms)
		render->group(&show->output, subject, group);
	for (i = 0; show->histograms && group->schema && i < group->schema->num_desc; i++) {
		desc = &group->schema->desc[i];
		if (!is_histogram(desc) || !output_shows(&show->output, group, desc) ||
		    !is_wanted(show, desc->name))
			continue;
		histogram = histogram_of(desc, group->value);
		/* Most are empty in an interval: show those only if the command line names them. */
		if (subject->elapsed_ns && !histogram.total && !show->num_names)
			continue;
		render->histogram(&show->output, subject, &histogram);
		show->any_histogram = true;
	}
}

/* Whether the schema has the statistic @name; with NULL, one whose name matches --stat. */
static bool schema_has(const struct show *show, const struct statsfile_schema *schema,
		       const char *name)
{
	const struct statsfile_desc *desc;
	size_t i;

	for (i = 0; schema && i < schema->num_desc; i++) {
		desc = &schema->desc[i];
		if ((!show->histograms || is_histogram(desc)) &&
		    (name ? !strcmp(name, desc->name) : output_has(&show->output, desc->name)))
			return true;
	}
	return false;
}

/* Whether any VM has it; true as long as no VM has statistics. */
static bool any_has(const struct show *show, const struct inventory *inventory, const char *name)
{
	bool is_known = false;
	const struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		if (!vm_has_statistics(vm))
			continue;
		is_known = true;
		if (schema_has(show, vm_vcpu_schema(vm), name) ||
		    (show->options.vcpu == ALL_VCPUS && schema_has(show, vm->file.schema, name)))
			return true;
	}
	return !is_known;
}

/* Prints an error if no VM has what the command line asks for. */
static int check_wanted(const struct show *show, const struct inventory *inventory)
{
	const char *what = show->histograms ? "histogram" : "statistic";
	size_t i;

	for (i = 0; i < show->num_names; i++) {
		if (!any_has(show, inventory, show->name[i])) {
			print_error("there is no %s '%s'", what, show->name[i]);
			return STATUS_ERROR;
		}
	}
	if ((!show->output.only && !show->histograms) || any_has(show, inventory, NULL))
		return STATUS_OK;
	print_error("there is no %s%s", what,
		    show->output.only ? " whose name matches --stat" : "");
	return STATUS_ERROR;
}

/* The vCPU of -c, or NULL. Without statistics it is known by its thread only. */
static const struct tracked_vcpu *find_vcpu(const struct show *show,
					    const struct tracked_vm *tracked)
{
	size_t i, count = tracked->num_tracked_vcpus + tracked->num_tracked_threads;

	for (i = 0; i < count; i++) {
		if (tracked->vcpu[i].number == (unsigned int)show->options.vcpu)
			return &tracked->vcpu[i];
	}
	return NULL;
}

/* Shows the vCPU of -c instead of the VM. False if it has no statistics. */
static bool focus(const struct show *show, struct tracked_vm *tracked)
{
	const struct tracked_vcpu *vcpu = find_vcpu(show, tracked);

	if (tracked->ended || !tracked->has_statistics || !vcpu ||
	    vcpu >= &tracked->vcpu[tracked->num_tracked_vcpus])
		return false;
	model_focus(&tracked->model, vcpu - tracked->vcpu);
	return true;
}

/* Whether to wait for shares: not if --stat asks for certain statistics. */
static bool takes_look(const struct show *show)
{
	return !show->histograms && !show->output.only;
}

/* False if nothing is known of the VM, or of the vCPU of -c. */
static bool show_vm(struct show *show, struct tracked_vm *tracked)
{
	const struct vcpu vcpu = { .number = show->options.vcpu, };
	bool is_whole = show->options.vcpu == ALL_VCPUS;
	const struct tracked_vcpu *found = find_vcpu(show, tracked);
	const struct group none = {}, *group = &none;
	struct subject subject = {
		.vm = tracked->vm,
		.id = tracked->id,
		.look_ns = show->tracker.elapsed_ns,
	};

	if (tracked->ended || (!is_whole && !found))
		return false;
	if (!is_whole && focus(show, tracked)) {
		group = &tracked->model.focus;
	} else if (is_whole && tracked->has_statistics) {
		group = &tracked->model.group[SCOPE_VCPU];
		/* Some VMs have no statistics of their own: see discover_open_held(). */
		if (tracked->model.group[SCOPE_VM].schema->num_desc)
			show_group(show, &subject, &tracked->model.group[SCOPE_VM]);
	}
	subject.scope = SCOPE_VCPU;
	subject.vcpu = is_whole ? NULL : &vcpu;
	if (takes_look(show))
		subject.shares = is_whole ? &tracked->rates.shares : &found->rates.shares;
	if (group == &none && !(subject.shares && subject.shares->known[SHARE_GUEST]))
		return false;
	/* show_why() has printed the shares of all vCPUs. */
	if (is_whole && render == &text_renderer)
		subject.shares = NULL;
	if (group != &none || subject.shares)
		show_group(show, &subject, group);
	return true;
}

/* In text, prints why each VM is slow before its statistics. */
static void show_why(struct show *show)
{
	struct overviews overviews;

	if (render != &text_renderer || !takes_look(show) || show->options.vcpu != ALL_VCPUS)
		return;
	get_overviews(&show->tracker, &show->options, &overviews);
	overviews.is_list = true;
	if (overviews.num_vms)
		render_why(&show->output, &overviews);
	free(overviews.vm);
}

static int show_vms(struct show *show, const struct inventory *inventory)
{
	bool any = false;
	size_t i;

	render->begin(&show->output);
	show_why(show);
	for (i = 0; i < show->tracker.num_vms; i++)
		any |= show_vm(show, show->tracker.vm[i]);
	render->end(&show->output);
	if (any)
		return STATUS_OK;
	if (show->options.vcpu != ALL_VCPUS)
		return vcpu_error(inventory, &show->options.choice, show->options.vcpu);
	if (inventory->num_vms)
		return no_statistics_error();
	print_error("all chosen VMs have ended");
	return STATUS_ERROR;
}

/* Shows what was counted in the last interval as values. */
static void show_step(struct show *show, const struct subject *subject,
		      const struct group *group)
{
	struct group step = *group;

	step.value = group->delta;
	show_group(show, subject, &step);
}

static void show_steps(struct show *show, const struct tracked_vm *tracked)
{
	const struct model *model = &tracked->model;
	struct subject subject = {
		.vm = tracked->vm,
		.id = tracked->id,
		.elapsed_ns = model->elapsed_ns,
		.time = time_source->real(),
	};

	if (tracked->ended || !tracked->has_rates)
		return;
	if (show->options.vcpu == ALL_VCPUS) {
		if (model->group[SCOPE_VM].schema->num_desc)
			show_step(show, &subject, &model->group[SCOPE_VM]);
		subject.scope = SCOPE_VCPU;
		show_step(show, &subject, &model->group[SCOPE_VCPU]);
	} else if (model->focus.num_members) {
		subject.scope = SCOPE_VCPU;
		subject.vcpu = &tracked->vm->vcpu[model->focus_index];
		show_step(show, &subject, &model->focus);
	}
}

/* Whether any VM has the vCPU of -c. */
static bool focus_all(const struct show *show)
{
	bool any = false;
	size_t i;

	for (i = 0; i < show->tracker.num_vms; i++)
		any |= focus(show, show->tracker.vm[i]);
	return any;
}

/*
 * Shows what moved in the interval, and the summary of each VM that has ended. @ending: NULL, or
 * why watching ends: then shows the summaries of all VMs.
 */
static void show_sample(struct show *show, const char *ending)
{
	const struct tracked_vm *vm;
	size_t i;

	show->output.width = standard_output().width;
	for (i = 0; i < show->tracker.num_vms; i++) {
		vm = show->tracker.vm[i];
		if (show->histograms && !ending)
			show_steps(show, vm);
		if (show->histograms || !vm->has_statistics || !tracker_shows(&show->tracker, vm) ||
		    (show->is_shown && vm->ended))
			continue;
		if (show->options.vcpu == ALL_VCPUS || vm->model.focus.schema)
			render->movement(&show->output, vm, vm->ended ? "ended" : ending);
	}
	show->is_shown = true;
}

static int stream(struct show *show, int signals)
{
	uint64_t i, end_ns = time_source->now_ns();
	const char *ending = "still runs";
	enum event event = EVENT_TIME;
	int status;

	status = sample_tracked(&show->tracker);
	for (i = 0; status == STATUS_OK; i++) {
		if (show->interval.count && i == show->interval.count)
			break;
		if (show->options.vcpu != ALL_VCPUS && !focus_all(show) && !i)
			return vcpu_error(show->tracker.inventory, &show->options.choice,
					  show->options.vcpu);
		end_ns = next_end(end_ns, show->interval.ns);
		event = tracker_wait(&show->tracker, signals, end_ns);
		/* Show no part of an interval, but include it in totals. */
		if (event != EVENT_TIME && show->histograms)
			return i ? STATUS_OK : replay_status();
		status = sample_tracked(&show->tracker);
		show->is_shown = false;
		if (status != STATUS_OK || event != EVENT_TIME)
			break;
		show_sample(show, NULL);
		if (!flush_output(&status) || tracker_is_over(&show->tracker))
			return status;
	}
	if (event == EVENT_READABLE)
		ending = "its process ended";
	if (status == STATUS_OK)
		show_sample(show, ending);
	return status;
}

static int stream_chosen(struct show *show, struct inventory *inventory, int signals)
{
	bool stopped = false;
	int status;

	status = attach(&show->tracker, &show->options, signals, &stopped);
	if (status == STATUS_OK)
		status = check_wanted(show, inventory);
	return status == STATUS_OK && !stopped ? stream(show, signals) : status;
}

/* Shows what there is even if something is missing. */
static int show_once(struct show *show, struct inventory *inventory)
{
	int status = look_for_chosen(inventory, false), wanted;

	if (status != STATUS_OK)
		return status;
	wanted = check_wanted(show, inventory);
	show->tracker.reads_threads = takes_look(show);
	status = takes_look(show) ? take_look(&show->tracker, look_ns()) :
				    sample_tracked(&show->tracker);
	if (status == STATUS_OK)
		status = show_vms(show, inventory);
	return status == STATUS_OK ? wanted : status;
}

static int show_chosen(struct show *show)
{
	struct inventory inventory;
	int status, signals = -1;

	/* A stream starts at the beginning of a recording. */
	if (show->streams && !replay_begin(false))
		return STATUS_ERROR;
	if (show->streams)
		signals = catch_signals();
	status = open_inventory(&inventory, &show->options.choice);
	tracker_init(&show->tracker, &inventory);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	/* CSV has a header even without a histogram. */
	if (status == STATUS_OK && show->histograms && render->begin_histograms)
		render->begin_histograms(&show->output);
	if (status == STATUS_OK)
		status = show->streams ? stream_chosen(show, &inventory, signals) :
					 show_once(show, &inventory);
	if (status == STATUS_OK) {
		/* Empty ones were left out. */
		if (show->histograms && (show->output.nonzero || show->streams) &&
		    !show->any_histogram)
			print_error("nothing was counted in these histograms");
		status = inventory_status(&inventory);
	}
	tracker_free(&show->tracker);
	inventory_free(&inventory);
	if (signals >= 0)
		close(signals);
	return status;
}

/* Without -p the first word is a VM. Names of histograms may follow. */
static int parse_arguments(struct show *show)
{
	struct options *options = &show->options;
	int status;

	status = take_vms(options, !choice_is_made(&options->choice), !show->histograms);
	if (status != STATUS_OK)
		return status;
	if (!choice_is_made(&options->choice))
		return usage_error("%s: choose a VM with -p", command_info[options->command].name);
	show->name = options->argument;
	while (options->num_arguments && !is_interval(options->argument[0])) {
		options->argument++;
		options->num_arguments--;
		show->num_names++;
	}
	show->streams = options->num_arguments || options->wait;
	return parse_interval(options->num_arguments, options->argument, &show->interval);
}

int command_show(int argc, char **argv)
{
	enum command_id command = find_command(argv[0]);
	struct show show = {
		.output = standard_output(),
		.histograms = command == COMMAND_HIST,
		.interval = time_source->interval,
	};
	int status;

	status = parse_options(command, argc, argv, &show.options);
	show.output.only = show.options.only;
	show.output.verbose = show.options.verbose;
	show.output.nonzero = show.options.nonzero;
	if (status == STATUS_OK && !show.options.help)
		status = parse_arguments(&show);
	if (status == STATUS_OK && !show.options.help)
		status = show_chosen(&show);
	options_free(&show.options);
	return status;
}
