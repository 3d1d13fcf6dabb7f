// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat watch NAME '>' VALUE [per WINDOW]: prints a line when a statistic grows by more than
 * VALUE within a window, or a level rises past VALUE. A timer samples all values, through a mapping
 * if there is one.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/command.h"
#include "model/descriptions.h"
#include "model/tracker.h"
#include "model/watch.h"
#include "render/render.h"
#include "sources/replay.h"
#include "util/clock.h"
#include "util/quantity.h"
#include "util/util.h"

#define MIN_WINDOW (10 * MSEC)
#define MAX_WINDOW (10 * NSEC_PER_SEC)
/* Sampling more often would itself be a load. */
#define MIN_STEP (10 * MSEC)

struct watched_vm {
	uint64_t serial;		/* the tracker's */
	struct watch_target target;	/* desc is NULL until the VM has it */
	bool refused;			/* the rule does not apply to this VM */
	bool ended;
	struct watched *thing;		/* one per vCPU; or one, for the VM or for -c */
	size_t num_things;
};

struct watch {
	const struct options *options;
	struct watch_rule rule;
	struct inventory inventory;
	struct tracker tracker;
	struct watched_vm *vm;
	size_t num_vms;
	bool had_any;			/* a VM had the statistic */
	bool is_over;
	uint64_t num_events;
	uint64_t looked_ns;
	struct output output;
	int status;
};

static void end_watch(struct watch *watch, int status)
{
	watch->is_over = true;
	if (watch->status == STATUS_OK)
		watch->status = status;
}

static void show_event(struct watch *watch, struct watch_event *event)
{
	int status;

	event->rule = &watch->rule;
	event->time = time_source->real();
	if (watch->is_over)
		return;
	render->event(&watch->output, event);
	if (!flush_output(&status))
		end_watch(watch, status);
}

static bool is_of_one_vcpu(const struct watch *watch, const struct watched_vm *watched)
{
	return watched->target.scope == SCOPE_VCPU && watch->rule.vcpu != EACH_VCPU;
}

/* The index of the vCPU that is watched; SIZE_MAX if the VM does not have it yet. */
static size_t vcpu_of(const struct watch *watch, const struct watched_vm *watched,
		      const struct tracked_vm *vm, size_t thing)
{
	size_t i;

	if (!is_of_one_vcpu(watch, watched))
		return thing;
	for (i = 0; i < vm->num_tracked_vcpus; i++) {
		if (vm->vcpu[i].number == (unsigned int)watch->rule.vcpu)
			return i;
	}
	return SIZE_MAX;
}

static void look_at_thing(struct watch *watch, struct watched_vm *watched,
			  const struct tracked_vm *vm, size_t thing)
{
	const struct watch_target *target = &watched->target;
	size_t vcpu = vcpu_of(watch, watched, vm, thing);
	struct watch_event event = { .vm = vm, .target = target, .vcpu = NO_VCPU, };
	struct watch_look now = { .time_ns = vm->model.last_ns, };
	const uint64_t *values = vm->model.vm_last;
	unsigned int i;

	if (target->scope == SCOPE_VCPU)
		values = vcpu < vm->model.num_vcpus ? vm->model.vcpu_last[vcpu] : NULL;
	if (!values)
		return;
	for (i = 0; i < target->count; i++)
		now.value += values[target->desc->first + target->first + i];
	if (!watched_look(&watched->thing[thing], target, watch->rule.window_ns, &now,
			  &event.growth))
		return;
	if (target->scope == SCOPE_VCPU)
		event.vcpu = vm->vcpu[vcpu].number;
	show_event(watch, &event);
	if (++watch->num_events == watch->options->count)
		end_watch(watch, STATUS_OK);
}

/* A later vCPU counts from 0, if the VM's file shows when vCPUs come. */
static void add_things(struct watch *watch, struct watched_vm *watched,
		       const struct tracked_vm *vm)
{
	size_t i, count = vm->num_tracked_vcpus;
	bool later = watched->num_things && vm->vm && vm_is_of_series(vm->vm);

	if (watched->target.scope == SCOPE_VM || is_of_one_vcpu(watch, watched))
		count = 1;
	if (count <= watched->num_things)
		return;
	watched->thing = xreallocarray(watched->thing, count, sizeof(*watched->thing));
	for (i = watched->num_things; i < count; i++) {
		watched->thing[i] = (struct watched) {};
		if (later)
			watched_begin(&watched->thing[i], watch->looked_ns, 0);
	}
	watched->num_things = count;
}

/* If the first VMs do not have the statistic, the command line is wrong. */
static void refuse(struct watch *watch, struct watched_vm *watched, const struct tracked_vm *vm,
		   char *refusal)
{
	watched->refused = true;
	if (vm->vm && (watch->had_any || watch->looked_ns))
		inventory_blame(&watch->inventory, vm->vm->process, "%s", refusal);
	else if (!watch->is_over)
		end_watch(watch, usage_error("%s", refusal));
	free(refusal);
}

/* False as long as the VM has nothing to watch. */
static bool find_target(struct watch *watch, struct watched_vm *watched,
			const struct tracked_vm *vm)
{
	char *refusal;

	if (watched->target.desc || watched->refused || !vm->vm || !vm->has_statistics)
		return watched->target.desc;
	refusal = watch_find(&watch->rule, vm->vm->file.schema, vm_vcpu_schema(vm->vm),
			     &watched->target);
	if (refusal)
		refuse(watch, watched, vm, refusal);
	if (watched->target.desc && !watch->had_any) {
		if (render->begin_events)
			render->begin_events(&watch->output, &watch->rule, &watched->target);
		watch->had_any = true;
	}
	return watched->target.desc;
}

static struct watched_vm *watched_of(struct watch *watch, const struct tracked_vm *vm)
{
	size_t i;

	for (i = 0; i < watch->num_vms; i++) {
		if (watch->vm[i].serial == vm->serial)
			return &watch->vm[i];
	}
	watch->vm = xreallocarray(watch->vm, watch->num_vms + 1, sizeof(*watch->vm));
	watch->vm[watch->num_vms] = (struct watched_vm) { .serial = vm->serial, };
	return &watch->vm[watch->num_vms++];
}

/* Checks a VM once more after it has ended: then its values are final. */
static void look_at_vm(struct watch *watch, const struct tracked_vm *vm)
{
	struct watched_vm *watched = watched_of(watch, vm);
	struct watch_event event = {
		.vm = vm, .target = &watched->target, .vcpu = NO_VCPU, .ended = true,
	};
	size_t i;

	if (watched->ended || !find_target(watch, watched, vm))
		return;
	add_things(watch, watched, vm);
	for (i = 0; i < watched->num_things && !watch->is_over; i++)
		look_at_thing(watch, watched, vm, i);
	watched->ended = vm->ended;
	if (vm->ended)
		show_event(watch, &event);
}

/* Does not print problems: a usage error may come first. */
static int sample(struct watch *watch)
{
	int ret = tracker_sample(&watch->tracker);

	if (!ret)
		return STATUS_OK;
	print_error("%s: %s", watch->inventory.source->where, strerror(-ret));
	return STATUS_ERROR;
}

static void look(struct watch *watch)
{
	const struct tracker *tracker = &watch->tracker;
	int status;
	size_t i;

	watch->output.width = standard_output().width;
	for (i = 0; i < tracker->num_vms && !watch->is_over; i++)
		look_at_vm(watch, tracker->vm[i]);
	if (watch->status != STATUS_USAGE)
		print_problems(&watch->inventory);
	if (!watch->is_over && !flush_output(&status))
		end_watch(watch, status);
	watch->looked_ns = tracker->sampled_ns;
	if (tracker_is_over(tracker))
		end_watch(watch, STATUS_OK);
}

/* True if a VM has the vCPU, or if that is not known yet. */
static bool knows_vcpu(const struct watch *watch)
{
	const struct tracked_vm *vm;
	size_t i;

	for (i = 0; i < watch->tracker.num_vms; i++) {
		vm = watch->tracker.vm[i];
		if (!watch->vm[i].target.desc ||
		    vcpu_of(watch, &watch->vm[i], vm, 0) != SIZE_MAX)
			return true;
	}
	return !watch->tracker.num_vms;
}

/* Refuses a rule that can never trigger: the user would wait in vain. */
static int check_rule(const struct watch *watch)
{
	const char *name = watch->rule.name;
	int length = strcspn(name, ":");
	char *statistic;
	bool is_known;

	if (watch->is_over)
		return watch->status;
	if (!watch->num_vms) {
		statistic = xasprintf("%.*s", length, name);
		is_known = describe_statistic(SCOPE_VCPU, statistic) ||
			   describe_statistic(SCOPE_VM, statistic);
		free(statistic);
		if (!is_known)
			return usage_error("there is no statistic '%.*s'", length, name);
	}
	if (watch->inventory.choice && !replay_recording() &&
	    has_no_statistics(&watch->inventory))
		return no_statistics_error();
	if (watch->rule.vcpu != EACH_VCPU && !knows_vcpu(watch))
		return vcpu_error(&watch->inventory, &watch->options->choice, watch->rule.vcpu);
	return STATUS_OK;
}

static int watch_vms(struct watch *watch, int signals)
{
	uint64_t step_ns = watch->rule.window_ns / WATCH_LOOKS, end_ns = time_source->now_ns();
	int status;

	if (step_ns < MIN_STEP)
		step_ns = MIN_STEP;
	watch->output = standard_output();
	status = sample(watch);
	if (status != STATUS_OK)
		return status;
	look(watch);
	status = check_rule(watch);
	if (status != STATUS_OK)
		return status;
	if (!watch->inventory.choice)
		print_denied(&watch->inventory);
	while (!watch->is_over) {
		end_ns = next_end(end_ns, step_ns);
		if (tracker_wait(&watch->tracker, signals, end_ns) == EVENT_INTERRUPTED)
			break;
		status = sample(watch);
		if (status != STATUS_OK)
			return status;
		look(watch);
	}
	return watch->status == STATUS_OK ? inventory_status(&watch->inventory) : watch->status;
}

/* Parses a length of time with a unit, or in seconds. */
static bool parse_window(const char *text, uint64_t *ns)
{
	static const struct quantity_scale nanoseconds = { .base = 10, .exponent = -9, };

	return !parse_seconds(text, MIN_WINDOW, MAX_WINDOW, ns) ||
	       (!parse_quantity(text, QUANTITY_TIME, &nanoseconds, ns) && *ns >= MIN_WINDOW &&
		*ns <= MAX_WINDOW);
}

/* Parses NAME '>' VALUE [per WINDOW]. */
static int parse_rule(int argc, char **argv, struct watch_rule *rule)
{
	if (!argc)
		return usage_error("watch: the name of a statistic is missing");
	rule->name = argv[0];
	if (argc < 2)
		return usage_error("watch: '>' VALUE is missing; write '>' with its quotes");
	if (strcmp(argv[1], ">") && strcmp(argv[1], ">="))
		return usage_error("'%s' is neither '>' nor '>='", argv[1]);
	rule->or_equal = argv[1][1];
	if (argc < 3)
		return usage_error("watch: a value is missing after '%s'", argv[1]);
	rule->value = argv[2];
	if (argc > 3 && strcmp(argv[3], "per"))
		return usage_error("watch: unexpected argument '%s'", argv[3]);
	if (argc == 4)
		return usage_error("watch: a window is missing after per");
	if (argc > 5)
		return usage_error("watch: unexpected argument '%s'", argv[5]);
	if (argc == 5 && !parse_window(argv[4], &rule->window_ns))
		return usage_error("'%s' is not a window of 10ms to 10s", argv[4]);
	return STATUS_OK;
}

static int run_watch(struct watch *watch)
{
	const struct choice *choice = &watch->options->choice;
	int status, signals = catch_signals();
	size_t i;

	status = open_inventory(&watch->inventory, choice);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	tracker_init(&watch->tracker, &watch->inventory);
	if (status == STATUS_OK)
		status = look_for_chosen(&watch->inventory, false);
	if (status == STATUS_OK)
		status = watch_vms(watch, signals);
	for (i = 0; i < watch->num_vms; i++)
		free(watch->vm[i].thing);
	free(watch->vm);
	tracker_free(&watch->tracker);
	inventory_free(&watch->inventory);
	if (signals >= 0)
		close(signals);
	return status;
}

int command_watch(int argc, char **argv)
{
	struct options options;
	struct watch watch = { .options = &options, .rule.window_ns = NSEC_PER_SEC, };
	int status;

	status = parse_options(COMMAND_WATCH, argc, argv, &options);
	if (status != STATUS_OK || options.help)
		return status;
	watch.rule.vcpu = options.vcpu;
	status = parse_rule(options.num_arguments, options.argument, &watch.rule);
	return status == STATUS_OK ? run_watch(&watch) : status;
}
