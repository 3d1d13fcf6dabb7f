// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat show: every statistic, with what describes it. kvmstat hist: histograms, with the bounds
 * of their buckets and percentiles, or with the names of the buckets. As they are now, or of one
 * interval after the other.
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
	bool histograms;		/* and nothing else */
	char **name;			/* of those that are wanted */
	size_t num_names;		/* 0: all */
	bool any_histogram;		/* was shown */
	struct interval interval;
	bool streams;
	bool is_shown;			/* the last sample */
	struct tracker look;		/* at what the time is spent with; or nothing */
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
		/* In an interval most are empty, and were not asked for. */
		if (subject->elapsed_ns && !histogram.total && !show->num_names)
			continue;
		render->histogram(&show->output, subject, &histogram);
		show->any_histogram = true;
	}
}

/* Whether it describes a statistic of that name, or with NULL one that --stat fits. */
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

/* An error line if something that was asked for is not there. */
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
	print_error("there is no %s%s", what, show->output.only ? " whose name fits --stat" : "");
	return STATUS_ERROR;
}

/* NULL if the VM was not sampled twice. */
static const struct tracked_vm *find_tracked(const struct show *show, const struct vm *vm)
{
	size_t i;

	for (i = 0; i < show->look.num_vms; i++) {
		if (show->look.vm[i]->vm == vm)
			return show->look.vm[i];
	}
	return NULL;
}

static int show_whole_vm(struct show *show, const struct vm *vm)
{
	const struct tracked_vm *tracked = find_tracked(show, vm);
	struct subject subject = { .vm = vm, .id = vm->file.id, };
	struct statsfile_error error;
	struct model model;
	int status = STATUS_OK;

	model_init(&model, vm);
	if (model_sample(&model, time_source->now_ns(), true, &error)) {
		print_error("%s: %s", vm->file.id, error.text);
		status = STATUS_ERROR;
	} else {
		/* Some VMs have readable vCPUs only: see held.h. */
		if (vm->file.schema->num_desc)
			show_group(show, &subject, &model.group[SCOPE_VM]);
		subject.scope = SCOPE_VCPU;
		subject.shares = tracked ? &tracked->rates.shares : NULL;
		subject.look_ns = show->look.elapsed_ns;
		show_group(show, &subject, &model.group[SCOPE_VCPU]);
	}
	model_free(&model);
	return status;
}

static int show_vcpu(struct show *show, const struct vm *vm, const struct vcpu *vcpu)
{
	const struct tracked_vm *tracked = find_tracked(show, vm);
	const struct subject subject = {
		.vm = vm,
		.id = vm->file.id,
		.scope = SCOPE_VCPU,
		.vcpu = vcpu,
		.shares = tracked ? &tracked->vcpu[vcpu - vm->vcpu].rates.shares : NULL,
		.look_ns = show->look.elapsed_ns,
	};
	struct statsfile_error error;
	struct group group;

	if (group_of_vcpu(&group, vm, vcpu - vm->vcpu, time_source->now_ns(), &error)) {
		print_error("%s, vCPU %u: %s", vm->file.id, vcpu->number, error.text);
		return STATUS_ERROR;
	}
	show_group(show, &subject, &group);
	group_free(&group);
	return STATUS_OK;
}

static const struct shares *shares_of_vcpu(const struct tracked_vm *tracked, unsigned int number)
{
	size_t i, count = tracked->num_tracked_vcpus + tracked->num_tracked_threads;

	for (i = 0; i < count; i++) {
		if (tracked->vcpu[i].number == number)
			return &tracked->vcpu[i].rates.shares;
	}
	return NULL;
}

/* Without statistics show the shares of the vCPU's thread, or of all vCPU threads, if known. */
static bool show_threads(struct show *show, const struct vm *vm)
{
	const struct vcpu vcpu = { .number = show->options.vcpu, };
	const struct tracked_vm *tracked = find_tracked(show, vm);
	const struct group none = {};
	struct subject subject = {
		.vm = vm,
		.scope = SCOPE_VCPU,
		.look_ns = show->look.elapsed_ns,
	};

	if (!tracked)
		return false;
	subject.id = tracked->id;
	subject.shares = &tracked->rates.shares;
	if (show->options.vcpu != ALL_VCPUS) {
		subject.vcpu = &vcpu;
		subject.shares = shares_of_vcpu(tracked, vcpu.number);
	}
	if (!subject.shares || !subject.shares->known[SHARE_GUEST])
		return false;
	show_group(show, &subject, &none);
	return true;
}

static int show_vms(struct show *show, const struct inventory *inventory)
{
	const struct vcpu *found = NULL;
	int status = STATUS_OK;
	const struct vm *vm;
	bool any = false;
	size_t i;

	render->begin(&show->output);
	for (i = 0; i < inventory->num_vms && status == STATUS_OK; i++) {
		vm = inventory->vm[i];
		if (show->options.vcpu != ALL_VCPUS)
			found = vm_find_vcpu(vm, show->options.vcpu);
		if (!vm_has_statistics(vm) || (show->options.vcpu != ALL_VCPUS && !found)) {
			any |= show_threads(show, vm);
			continue;
		}
		any = true;
		status = found ? show_vcpu(show, vm, found) : show_whole_vm(show, vm);
	}
	render->end(&show->output);
	if (any)
		return status;
	if (show->options.vcpu != ALL_VCPUS)
		return vcpu_error(inventory, &show->options.choice, show->options.vcpu);
	if (inventory->num_vms)
		return no_statistics_error();
	print_error("no VM that was chosen is there any more");
	return STATUS_ERROR;
}

/* Do not wait for shares if certain statistics are asked for. */
static bool takes_look(const struct show *show)
{
	return !show->histograms && !show->output.only;
}

static int show_now(struct show *show, struct inventory *inventory)
{
	int status = STATUS_OK;

	tracker_init(&show->look, inventory);
	show->look.reads_threads = true;
	if (takes_look(show))
		status = take_look(&show->look, LOOK_NS);
	if (status == STATUS_OK)
		status = show_vms(show, inventory);
	tracker_free(&show->look);
	return status;
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

/* Focuses the vCPU in each VM; whether any VM has it. */
static bool find_vcpus(const struct show *show, struct tracker *tracker)
{
	struct tracked_vm *tracked;
	const struct vcpu *found;
	bool any = false;
	size_t i;

	for (i = 0; i < tracker->num_vms; i++) {
		tracked = tracker->vm[i];
		if (tracked->ended || !tracked->has_statistics)
			continue;
		found = vm_find_vcpu(tracked->vm, show->options.vcpu);
		any |= !!found;
		if (found)
			model_focus(&tracked->model, found - tracked->vm->vcpu);
	}
	return any;
}

/* A single VM does not come back; VMs of a pattern may. */
static bool has_ended(const struct show *show, const struct tracker *tracker, bool had_any)
{
	return tracker_has_ended(tracker) ||
	       (choice_is_single(&show->options.choice) && had_any && !tracker_any_lives(tracker));
}

/* Shows what moved, and once the VM has ended all that ever did. */
static void show_moves(struct show *show, const struct tracked_vm *vm, const char *ending)
{
	if (vm->has_statistics)
		render->movement(&show->output, vm, vm->ended ? "ended" : ending);
}

/* @ending: of those that have not ended, NULL: they go on. */
static void show_sample(struct show *show, struct tracker *tracker, const char *ending)
{
	size_t i;

	show->output.width = standard_output().width;
	for (i = 0; i < tracker->num_vms; i++) {
		if (show->histograms && !ending)
			show_steps(show, tracker->vm[i]);
		else if (!show->histograms && tracker_shows(tracker, tracker->vm[i]) &&
			 !(show->is_shown && tracker->vm[i]->ended))
			show_moves(show, tracker->vm[i], ending);
	}
	show->is_shown = true;
}

static int stream(struct show *show, struct tracker *tracker, int signals)
{
	uint64_t i, end_ns = time_source->now_ns();
	const char *ending = "still runs";
	enum event event = EVENT_TIME;
	bool had_any = false;
	int status;

	status = sample_tracked(tracker);
	for (i = 0; status == STATUS_OK; i++) {
		if (show->interval.count && i == show->interval.count)
			break;
		if (show->options.vcpu != ALL_VCPUS && !find_vcpus(show, tracker) && !i)
			return vcpu_error(tracker->inventory, &show->options.choice,
					  show->options.vcpu);
		end_ns = next_end(end_ns, show->interval.ns);
		event = tracker_wait(tracker, signals, end_ns);
		/* Less than an interval is none, but totals are of all of the time. */
		if (event != EVENT_TIME && show->histograms)
			return i ? STATUS_OK : replay_status();
		status = sample_tracked(tracker);
		show->is_shown = false;
		if (status != STATUS_OK || event != EVENT_TIME)
			break;
		show_sample(show, tracker, NULL);
		had_any |= tracker_any_lives(tracker);
		if (!flush_output(&status) || has_ended(show, tracker, had_any))
			return status;
	}
	if (event == EVENT_READABLE)
		ending = "its process ended";
	if (status == STATUS_OK)
		show_sample(show, tracker, ending);
	return status;
}

/* A stream starts at the beginning of a recording. */
static int stream_chosen(struct show *show, struct inventory *inventory, int signals)
{
	struct tracker tracker;
	bool stopped = false;
	int status;

	tracker_init(&tracker, inventory);
	status = attach(&tracker, &show->options, signals, &stopped);
	if (status == STATUS_OK)
		status = check_wanted(show, inventory);
	if (status == STATUS_OK && !stopped)
		status = stream(show, &tracker, signals);
	tracker_free(&tracker);
	return status;
}

/* Shows what there is even if something is missing. */
static int show_once(struct show *show, struct inventory *inventory)
{
	int status = look_for_chosen(inventory, false), wanted;

	if (status != STATUS_OK)
		return status;
	wanted = check_wanted(show, inventory);
	status = show_now(show, inventory);
	return status == STATUS_OK ? wanted : status;
}

static int show_chosen(struct show *show)
{
	struct inventory inventory;
	int status, signals = -1;

	if (show->streams && !replay_begin(false))
		return STATUS_ERROR;
	if (show->streams)
		signals = catch_signals();
	status = open_inventory(&inventory, &show->options.choice);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	/* Its header is there in CSV even if there is no histogram. */
	if (status == STATUS_OK && show->histograms && render->begin_histograms)
		render->begin_histograms(&show->output);
	if (status == STATUS_OK)
		status = show->streams ? stream_chosen(show, &inventory, signals) :
					 show_once(show, &inventory);
	if (status == STATUS_OK) {
		/* Those that are empty are not shown. */
		if (show->histograms && (show->output.nonzero || show->streams) &&
		    !show->any_histogram)
			print_error("nothing was counted in these histograms");
		status = inventory_status(&inventory);
	}
	inventory_free(&inventory);
	if (signals >= 0)
		close(signals);
	return status;
}

/* The first word is a VM, if there is no -p; behind it may be names of histograms. */
static int parse_arguments(struct show *show)
{
	struct options *options = &show->options;
	int status;

	status = take_vms(options, !choice_is_made(&options->choice), !show->histograms);
	if (status != STATUS_OK)
		return status;
	if (!choice_is_made(&options->choice))
		return usage_error("%s: which VM?", command_info[options->command].name);
	show->name = options->argument;
	while (options->num_arguments && !is_interval(options->argument[0])) {
		options->argument++;
		options->num_arguments--;
		show->num_names++;
	}
	show->streams = options->num_arguments || options->wait;
	return parse_interval(options->num_arguments, options->argument, &show->interval);
}

static int run(enum command_id command, int argc, char **argv)
{
	struct show show = {
		.output = standard_output(),
		.histograms = command == COMMAND_HIST,
		.interval = time_source->interval,
	};
	int status;

	status = parse_options(command, argc, argv, false, &show.options);
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

int command_show(int argc, char **argv)
{
	return run(COMMAND_SHOW, argc, argv);
}

int command_hist(int argc, char **argv)
{
	return run(COMMAND_HIST, argc, argv);
}
