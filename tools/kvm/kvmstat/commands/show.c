// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat show: every statistic, with what describes it. And what other commands have
 * in common with it: which values of which VM, vCPU or file are meant.
 */
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/command.h"
#include "commands/show.h"
#include "model/histogram.h"
#include "model/model.h"
#include "model/tracker.h"
#include "render/render.h"
#include "sources/replay.h"
#include "util/clock.h"
#include "util/util.h"

#define ALL_VCPUS (-1)
#define DIGITS "0123456789."

struct show {
	struct vm_options vms;
	int fd;
	int vcpu;
	struct output output;
	regex_t only;			/* the output's */
	struct wanted *wanted;
	struct interval interval;
	bool streams;
	struct tracker look;		/* at what the time is spent with; or nothing */
	void (*group)(struct output *output, const struct subject *subject,
		      const struct group *group, struct wanted *wanted);
};

static void show_group(struct show *show, const struct subject *subject,
		       const struct group *group)
{
	show->group(&show->output, subject, group, show->wanted);
}

/* In what is there: what is not there is not waited for, and said to be missing. */
static void find_wanted(struct show *show, const struct statsfile_schema *schema)
{
	struct wanted *wanted = show->wanted;
	const struct statsfile_desc *desc;
	size_t i, name;
	bool fits;

	wanted->looked = true;
	for (i = 0; schema && i < schema->num_desc; i++) {
		desc = &schema->desc[i];
		if (wanted->histograms && !is_histogram(desc))
			continue;
		fits = output_has(&show->output, desc->name);
		wanted->any |= fits && !wanted->num_names;
		for (name = 0; name < wanted->num_names; name++) {
			if (strcmp(wanted->name[name], desc->name))
				continue;
			wanted->found[name] = true;
			wanted->any |= fits;
		}
	}
}

static void find_wanted_of_vms(struct show *show, const struct inventory *inventory)
{
	const struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		if (!vm_has_statistics(vm))
			continue;
		if (show->vcpu == ALL_VCPUS)
			find_wanted(show, vm->file.schema);
		find_wanted(show, vm_vcpu_schema(vm));
	}
}

/* False after an error line if something that was asked for is not there. */
static bool has_wanted(const struct show *show)
{
	const struct wanted *wanted = show->wanted;
	const char *what = wanted->histograms ? "histogram" : "statistic";
	size_t i;

	if (!wanted->looked)
		return true;
	for (i = 0; i < wanted->num_names; i++) {
		if (!wanted->found[i]) {
			print_error("there is no %s '%s'", what, wanted->name[i]);
			return false;
		}
	}
	if (!wanted->any && show->output.only)
		print_error("there is no %s whose name fits --stat", what);
	else if (!wanted->any && wanted->histograms)
		print_error("there is no %s", what);
	else
		return true;
	return false;
}

/* Histograms that are empty are not there with --nonzero, and that may be all of them. */
static void say_nothing_counted(const struct show *show)
{
	const struct wanted *wanted = show->wanted;

	if (wanted->histograms && show->output.nonzero && !wanted->shown)
		print_error("nothing was counted in these histograms");
}

static int show_file(struct show *show, const struct statsfile *file)
{
	const struct subject subject = { .id = file->id, };
	struct statsfile_error error;
	struct group group;

	if (group_of_file(&group, file, &error)) {
		print_error("%s: %s", file->id, error.text);
		return STATUS_ERROR;
	}
	find_wanted(show, file->schema);
	render->begin(&show->output);
	show_group(show, &subject, &group);
	render->end(&show->output);
	group_free(&group);
	return STATUS_OK;
}

static int show_fd(struct show *show)
{
	struct statsfile_source source = { .fd = show->fd, };
	struct statsfile_error error;
	struct statsfile file;
	int status;

	status = confine(USE_OUTPUT);
	if (status != STATUS_OK)
		return status;
	if (statsfile_open(&file, &source, NULL, &error)) {
		print_error("file descriptor %d is not a statistics file: %s", show->fd,
			    error.text);
		return STATUS_ERROR;
	}
	status = show_file(show, &file);
	if (status == STATUS_OK && !has_wanted(show))
		status = STATUS_ERROR;
	else if (status == STATUS_OK)
		say_nothing_counted(show);
	statsfile_close(&file);
	return status;
}

/* Of those that were looked at for a while, else NULL. */
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
		/* Of some VMs only the vCPUs can be read: see held.h. */
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

	if (group_of_vcpu(&group, vm, vcpu - vm->vcpu, &error)) {
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

/*
 * Where there are no statistics of it: what the time of its thread, or of those of all vCPUs,
 * is spent with, if that is known.
 */
static bool show_threads(struct show *show, const struct vm *vm)
{
	const struct vcpu vcpu = { .number = show->vcpu, };
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
	if (show->vcpu != ALL_VCPUS) {
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
		if (show->vcpu != ALL_VCPUS)
			found = vm_find_vcpu(vm, show->vcpu);
		if (!vm_has_statistics(vm) || (show->vcpu != ALL_VCPUS && !found)) {
			any |= show_threads(show, vm);
			continue;
		}
		any = true;
		status = found ? show_vcpu(show, vm, found) : show_whole_vm(show, vm);
	}
	render->end(&show->output);
	if (any)
		return status;
	if (show->vcpu != ALL_VCPUS)
		return vcpu_error(inventory, &show->vms.choice, show->vcpu);
	if (inventory->num_vms)
		return no_statistics_error();
	print_error("no VM that was chosen is there any more");
	return STATUS_ERROR;
}

/* Who asks for certain statistics does not wait for more. */
static bool takes_look(const struct show *show)
{
	return !show->wanted->histograms && !show->output.only;
}

static int show_now(struct show *show, struct inventory *inventory, struct process *process)
{
	int status = STATUS_OK;

	tracker_init(&show->look, inventory);
	show->look.reads_threads = true;
	/* In a recording it is found again, in the sample before. */
	if (!replay_recording())
		show->look.process = process;
	if (takes_look(show))
		status = take_look(&show->look);
	if (status == STATUS_OK)
		status = show_vms(show, inventory);
	tracker_free(&show->look);
	return status;
}

/* What was counted in the last interval stands for the values. */
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
	if (show->vcpu == ALL_VCPUS) {
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

/* In each VM that has it; whether there is one. */
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
		found = vm_find_vcpu(tracked->vm, show->vcpu);
		any |= !!found;
		if (found)
			model_focus(&tracked->model, found - tracked->vm->vcpu);
	}
	return any;
}

static bool any_lives(const struct tracker *tracker)
{
	size_t i;

	for (i = 0; i < tracker->num_vms; i++) {
		if (!tracker->vm[i]->ended)
			return true;
	}
	return false;
}

/* Of a single one that was there; those of a pattern may come back. */
static bool has_ended(const struct show *show, const struct tracker *tracker, bool had_any)
{
	return chosen_have_ended(tracker->inventory) ||
	       (choice_is_single(&show->vms.choice) && had_any && !any_lives(tracker));
}

static int stream(struct show *show, struct tracker *tracker, int signals)
{
	uint64_t i, end_ns = time_source->now_ns();
	bool had_any = false;
	int status;
	size_t vm;

	status = sample_tracked(tracker);
	for (i = 0; status == STATUS_OK; i++) {
		if (show->interval.count && i == show->interval.count)
			break;
		if (show->vcpu != ALL_VCPUS && !find_vcpus(show, tracker) && !i)
			return vcpu_error(tracker->inventory, &show->vms.choice, show->vcpu);
		end_ns = next_end(end_ns, show->interval.ns);
		/* Less than an interval is none. */
		if (tracker_wait(tracker, signals, end_ns) != EVENT_TIME) {
			status = i ? STATUS_OK : replay_status();
			break;
		}
		status = sample_tracked(tracker);
		/* What there is then is of the interval before. */
		if (status != STATUS_OK)
			break;
		show->output.width = standard_output().width;
		for (vm = 0; vm < tracker->num_vms; vm++)
			show_steps(show, tracker->vm[vm]);
		had_any |= any_lives(tracker);
		if (!flush_output(&status) || has_ended(show, tracker, had_any))
			break;
	}
	return status;
}

static int stream_vms(struct show *show, struct inventory *inventory,
		      struct process *process, int signals)
{
	struct tracker tracker;
	int status;

	tracker_init(&tracker, inventory);
	tracker.process = process;
	status = stream(show, &tracker, signals);
	tracker_free(&tracker);
	return status;
}

static int show_chosen(struct show *show)
{
	struct inventory inventory;
	struct process *process;
	int status, signals;

	/* What is there in the end is of no use then. */
	if (show->streams && !replay_begin(false))
		return STATUS_ERROR;
	signals = show->streams ? catch_signals() : -1;
	status = open_inventory(&inventory, &show->vms.choice);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	if (status != STATUS_OK)
		return status;
	status = look_for_choice(&inventory, &show->vms.choice, &process);
	if (process && takes_look(show) && has_no_statistics(&inventory))
		status = STATUS_OK;
	if (status == STATUS_OK && show->wanted->histograms && render->begin_histograms)
		render->begin_histograms(&show->output);
	find_wanted_of_vms(show, &inventory);
	if (status == STATUS_OK && !show->streams)
		status = show_now(show, &inventory, process);
	if (status == STATUS_OK && !has_wanted(show))
		status = STATUS_ERROR;
	else if (status == STATUS_OK && !show->streams)
		say_nothing_counted(show);
	if (status == STATUS_OK && show->streams)
		status = stream_vms(show, &inventory, process, signals);
	if (status == STATUS_OK)
		status = inventory_status(&inventory);
	inventory_free(&inventory);
	if (signals >= 0)
		close(signals);
	return status;
}

/* No statistic is called by a number. */
static int parse_names(int argc, char **argv, struct show *show)
{
	struct wanted *wanted = show->wanted;
	int end = optind;

	if (!wanted->histograms)
		return argc > optind ?
			usage_error("%s: unexpected argument '%s'", argv[0], argv[optind]) :
			STATUS_OK;
	while (end < argc && !strchr(DIGITS, argv[end][0]))
		end++;
	show->streams = end < argc;
	if (show->streams && show->fd >= 0)
		return usage_error("an interval goes with -p VM only");
	wanted->name = argv + optind;
	wanted->num_names = end - optind;
	wanted->found = xcalloc(wanted->num_names, sizeof(*wanted->found));
	return parse_interval(argc - end, argv + end, &show->interval);
}

static int parse_options(int argc, char **argv, struct show *show)
{
	static const struct option long_options[] = {
		{ "vcpu", required_argument, NULL, 'c', },
		{ "fd", required_argument, NULL, 'f', },
		{ "verbose", no_argument, NULL, 'v', },
		STAT_OPTION,
		{ "nonzero", no_argument, NULL, 'z', },
		PID_OPTION,
		HELP_OPTION,
		{},
	};
	int option, status;
	uint64_t number;

	while ((option = getopt_long(argc, argv, ":c:f:v" VM_OPTIONS, long_options,
				     NULL)) != -1) {
		switch (option) {
		case 'c':
			status = parse_vcpu(optarg, &show->vcpu);
			if (status != STATUS_OK)
				return status;
			break;
		case 'f':
			if (show->fd >= 0)
				return usage_error("--fd N is there twice");
			if (parse_number(optarg, 0, INT_MAX, &number))
				return usage_error("'%s' is not a file descriptor", optarg);
			show->fd = number;
			break;
		case 'v':
			if (show->wanted->histograms)
				return usage_error("-v is for show");
			show->output.verbose = true;
			break;
		case 's':
			status = parse_stat(&show->only, &show->output.only);
			if (status != STATUS_OK)
				return status;
			break;
		case 'z':
			show->output.nonzero = true;
			break;
		default:
			status = parse_vm_option(option, argv, &show->vms);
			if (status != STATUS_OK || show->vms.help)
				return status;
		}
	}
	if (choice_is_made(&show->vms.choice) ? show->fd >= 0 : show->fd < 0)
		return usage_error("%s needs either -p VM or --fd N", argv[0]);
	if (show->fd >= 0 && show->vcpu != ALL_VCPUS)
		return usage_error("--vcpu goes with -p VM only");
	return parse_names(argc, argv, show);
}

int show_groups(int argc, char **argv, struct wanted *wanted,
		void (*group)(struct output *output, const struct subject *subject,
			      const struct group *group, struct wanted *wanted))
{
	struct show show = {
		.fd = -1,
		.vcpu = ALL_VCPUS,
		.output = standard_output(),
		.interval = time_source->interval,
		.wanted = wanted,
		.group = group,
	};
	int status;

	status = parse_options(argc, argv, &show);
	if (status == STATUS_OK && show.vms.help)
		status = command_help(1, argv);
	else if (status == STATUS_OK)
		status = show.fd >= 0 ? show_fd(&show) : show_chosen(&show);
	if (show.output.only)
		regfree(&show.only);
	free(wanted->found);
	return status;
}

static void show_statistics(struct output *output, const struct subject *subject,
			    const struct group *group, struct wanted *wanted)
{
	(void)wanted;
	render->group(output, subject, group);
}

int command_show(int argc, char **argv)
{
	struct wanted wanted = {};

	return show_groups(argc, argv, &wanted, show_statistics);
}
