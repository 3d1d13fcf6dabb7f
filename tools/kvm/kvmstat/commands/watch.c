// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat watch NAME '>' VALUE [per WINDOW]: waits until a statistic grows by so much within
 * a window, or a level comes to be so high, says so and runs a command. It samples the values
 * with a timer, where it can through a mapping: without a system call.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/command.h"
#include "model/descriptions.h"
#include "model/threads.h"
#include "model/watch.h"
#include "privilege/runner.h"
#include "render/render.h"
#include "sources/replay.h"
#include "util/clock.h"
#include "util/quantity.h"
#include "util/util.h"

#define MIN_WINDOW (10 * MSEC)
#define MAX_WINDOW (10 * NSEC_PER_SEC)
/* More often than that would be a load by itself. */
#define MIN_STEP (10 * MSEC)

/* How many are taken at once. */
#define EVENTS_READ 64

struct watch_options {
	struct vm_options vms;
	struct watch_rule rule;
	const char *command;		/* or NULL */
	uint64_t count;			/* of events; 0: without end */
};

struct watched_vm {
	struct vm *vm;
	struct watch_target target;	/* has no desc as long as it is not known */
	char *refusal;			/* why there is nothing to be watched; or NULL */
	bool blamed;
	struct watched *thing;		/* then: each vCPU, or what is watched as one */
	size_t num_things;
};

struct watch {
	const struct watch_options *options;
	struct inventory inventory;
	struct process *process;	/* if there is only one to be looked at */
	bool process_ended;
	struct watched_vm **vm;		/* as those of the inventory */
	size_t num_vms;
	bool had_any;			/* of which something is watched */
	bool has_begun;			/* with what it was told */
	struct runner runner;
	uint64_t num_events;
	struct runner_event next;	/* for which the command is run when it has ended, */
	bool has_next;			/* if there is one */
	struct output output;
	uint64_t scanned_ns;
	uint64_t looked_ns;
	uint64_t seen_ns;		/* what has come or ended */
	bool pending;			/* VMs are being made */
	bool is_over;
	bool is_unread;			/* nobody reads what is printed */
	int status;
	int events;			/* readable when there is something to be done */
	int signals;
};

/* Looks at values are so far apart. */
static uint64_t step_ns(const struct watch *watch)
{
	uint64_t step = watch->options->rule.window_ns / WATCH_LOOKS;

	return step < MIN_STEP ? MIN_STEP : step;
}

static void end_watch(struct watch *watch, int status)
{
	watch->is_over = true;
	if (watch->status == STATUS_OK)
		watch->status = status;
}

/* Events */

static void run_next(struct watch *watch)
{
	watch->has_next = false;
	if (!runner_run(&watch->runner, &watch->next))
		end_watch(watch, STATUS_ERROR);
}

static void run_command(struct watch *watch, const struct watch_event *event)
{
	if (!watch->options->command)
		return;
	/* One at a time: of those that happen meanwhile the last one takes the place of all. */
	watch->next = (struct runner_event) {
		.growth = event->growth,
		.missed = event->missed + (watch->has_next ? watch->next.missed + 1 : 0),
		.pid = event->vm->process->pid,
		.vcpu = event->vcpu,
	};
	snprintf(watch->next.name, sizeof(watch->next.name), "%s", event->vm->process->name);
	watch->has_next = true;
	if (!watch->runner.is_busy)
		run_next(watch);
}

static struct watch_event new_event(const struct watch *watch, const struct watched_vm *watched)
{
	return (struct watch_event) {
		.vm = watched->vm,
		.rule = &watch->options->rule,
		.target = &watched->target,
		.time = time_source->real(),
		.vcpu = NO_VCPU,
	};
}

static bool flush_events(struct watch *watch)
{
	int status;

	if (flush_output(&status))
		return true;
	watch->is_unread = true;
	end_watch(watch, status);
	return false;
}

/* Of what nobody can be told no command is run either. */
static void take_event(struct watch *watch, const struct watch_event *event)
{
	if (watch->is_over)
		return;
	render->event(&watch->output, event);
	if (!flush_events(watch))
		return;
	run_command(watch, event);
	if (++watch->num_events == watch->options->count)
		end_watch(watch, STATUS_OK);
}

/* Sums have no number. */
static int number_of(const struct vm *vm, size_t index)
{
	if (index >= vm->num_vcpus || vm->vcpu[index].number == VCPU_SUM)
		return NO_VCPU;
	return vm->vcpu[index].number;
}

/* One that is not there, or not yet, is NULL. */
static const struct vcpu *watched_vcpu(const struct watch *watch, const struct watched_vm *watched)
{
	return vm_find_vcpu(watched->vm, watch->options->rule.vcpu);
}

static bool is_of_one_vcpu(const struct watch *watch, const struct watched_vm *watched)
{
	return watched->target.scope == SCOPE_VCPU && watch->options->rule.vcpu != EACH_VCPU;
}

/* What is looked at */

static bool read_one(struct watch *watch, struct watched_vm *watched, size_t index,
		     uint64_t *values)
{
	const struct watch_target *target = &watched->target;
	unsigned int first = target->desc->first + target->first;
	const struct vm *vm = watched->vm;
	struct statsfile_error error;
	int ret;

	if (target->scope == SCOPE_VM)
		ret = statsfile_read_some(&vm->file, first, target->count, values, &error);
	else
		ret = vm_read_some_of_vcpu(vm, index, first, target->count, values, &error);
	if (!ret)
		return true;
	inventory_blame(&watch->inventory, vm->process, "%s", error.text);
	watched->vm->dead = true;
	return false;
}

/* The sum of the values of the vCPUs from the @index-th one on, of @count of them. */
static bool read_sum(struct watch *watch, struct watched_vm *watched, size_t index,
		     size_t count, uint64_t *sum)
{
	uint64_t *values = xcalloc(watched->target.count, sizeof(*values));
	bool is_read = true;
	unsigned int i;

	*sum = 0;
	for (; is_read && count--; index++) {
		is_read = read_one(watch, watched, index, values);
		for (i = 0; is_read && i < watched->target.count; i++)
			*sum += values[i];
	}
	free(values);
	return is_read;
}

/* Which vCPU the @thing-th thing is, and how many from there on belong to it. */
static size_t vcpus_of(const struct watch *watch, const struct watched_vm *watched, size_t thing,
		       size_t *count)
{
	*count = 1;
	if (watched->target.scope == SCOPE_VM)
		return 0;
	if (watch->options->rule.sum)
		*count = watched->vm->num_vcpus;
	if (is_of_one_vcpu(watch, watched))
		return watched_vcpu(watch, watched) - watched->vm->vcpu;
	return thing;
}

static void look_at_thing(struct watch *watch, struct watched_vm *watched, size_t thing)
{
	struct watch_look now = { .time_ns = time_source->now_ns(), };
	struct watch_event event = new_event(watch, watched);
	size_t count, index = vcpus_of(watch, watched, thing, &count);

	if (!read_sum(watch, watched, index, count, &now.value) ||
	    !watched_look(&watched->thing[thing], &watched->target,
			  watch->options->rule.window_ns, &now, &event.growth))
		return;
	if (watched->target.scope == SCOPE_VCPU && !watch->options->rule.sum)
		event.vcpu = number_of(watched->vm, index);
	take_event(watch, &event);
}

static size_t count_things(const struct watch *watch, const struct watched_vm *watched)
{
	if (watched->target.scope == SCOPE_VM || watch->options->rule.sum ||
	    is_of_one_vcpu(watch, watched))
		return 1;
	return watched->vm->num_vcpus;
}

/* A vCPU that comes later begins with 0, if it is known that it has not been there for long. */
static void add_things(struct watch *watch, struct watched_vm *watched)
{
	size_t i, count = count_things(watch, watched);
	bool later = watched->num_things && vm_is_of_series(watched->vm);

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

static void look_at_vm(struct watch *watch, struct watched_vm *watched)
{
	size_t i;

	add_things(watch, watched);
	for (i = 0; i < watched->num_things && !watched->vm->dead; i++)
		look_at_thing(watch, watched, i);
}

/* What is read of a dead VM is final. */
static void look_at_dead_vm(struct watch *watch, struct watched_vm *watched)
{
	size_t i;

	for (i = 0; i < watched->num_things; i++)
		look_at_thing(watch, watched, i);
}

/* VMs that come and go */

static void add_new_vms(struct watch *watch)
{
	struct inventory *inventory = &watch->inventory;
	struct watched_vm *watched;

	watch->vm = xreallocarray(watch->vm, inventory->num_vms, sizeof(*watch->vm));
	for (; watch->num_vms < inventory->num_vms; watch->num_vms++) {
		watched = xcalloc(1, sizeof(*watched));
		watched->vm = inventory->vm[watch->num_vms];
		watch->vm[watch->num_vms] = watched;
	}
}

static bool is_watched(const struct watched_vm *watched)
{
	return watched->num_things;
}

/* False as long as there is nothing of it to be watched. */
static bool find_target(struct watch *watch, struct watched_vm *watched)
{
	const struct vm *vm = watched->vm;

	if (!vm_has_statistics(vm) || watched->refusal)
		return false;
	if (!watched->target.desc)
		watched->refusal = watch_find(&watch->options->rule, vm->file.schema,
					      vm_vcpu_schema(vm), &watched->target);
	if (!watched->target.desc)
		return false;
	return !is_of_one_vcpu(watch, watched) || watched_vcpu(watch, watched);
}

/* Before its first event. */
static void announce(struct watch *watch, const struct watched_vm *watched)
{
	if (!watch->had_any && render->begin_events)
		render->begin_events(&watch->output, &watch->options->rule, &watched->target);
	watch->had_any = true;
}

static void begin_vm(struct watch *watch, struct watched_vm *watched)
{
	if (is_watched(watched) || !find_target(watch, watched))
		return;
	announce(watch, watched);
	look_at_vm(watch, watched);
}

static void begin_vms(struct watch *watch)
{
	size_t i;

	add_new_vms(watch);
	for (i = 0; i < watch->num_vms; i++)
		begin_vm(watch, watch->vm[i]);
}

/* If no VM has it that is there at the beginning, it is who asked for it who is wrong. */
static void blame(struct watch *watch)
{
	struct watched_vm *watched;
	size_t i;

	for (i = 0; i < watch->num_vms && !watch->is_over; i++) {
		watched = watch->vm[i];
		if (!watched->refusal || watched->blamed)
			continue;
		watched->blamed = true;
		if (watch->had_any || watch->has_begun)
			inventory_blame(&watch->inventory, watched->vm->process, "%s",
					watched->refusal);
		else
			end_watch(watch, usage_error("%s", watched->refusal));
	}
}

static void free_watched(struct watched_vm *watched)
{
	free(watched->refusal);
	free(watched->thing);
	free(watched);
}

static void say_end(struct watch *watch, struct watched_vm *watched)
{
	struct watch_event event = new_event(watch, watched);

	if (!is_watched(watched))
		return;
	look_at_dead_vm(watch, watched);
	event.ended = true;
	if (!watch->is_over)
		render->event(&watch->output, &event);
}

static void forget_dead(struct watch *watch)
{
	size_t i, kept;

	for (i = kept = 0; i < watch->num_vms; i++) {
		if (!watch->vm[i]->vm->dead) {
			watch->vm[kept++] = watch->vm[i];
			continue;
		}
		say_end(watch, watch->vm[i]);
		free_watched(watch->vm[i]);
	}
	watch->num_vms = kept;
	if (watch->process && watch->process->gone) {
		watch->process_ended = true;
		watch->process = NULL;
	}
	inventory_forget_dead(&watch->inventory);
}

/* Of a single one that was there, or of processes; those of a pattern may come back. */
static bool have_ended(const struct watch *watch)
{
	const struct choice *choice = &watch->options->vms.choice;

	return watch->process_ended || chosen_have_ended(&watch->inventory) ||
	       (choice_is_single(choice) && watch->had_any && !watch->num_vms);
}

/* Waiting */

static void finish_command(struct watch *watch)
{
	const char *command = watch->options->command;
	int status;

	if (!runner_finish(&watch->runner, &status))
		end_watch(watch, STATUS_ERROR);
	else if (WIFSIGNALED(status))
		print_error("'%s' was ended by signal %d", command, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		print_error("'%s' ended with exit status %d", command, WEXITSTATUS(status));
	if (watch->has_next && watch->runner.socket >= 0)
		run_next(watch);
}

/* What is readable by now; those that are left out are so the next time. */
static void see_events(struct watch *watch)
{
	struct epoll_event events[EVENTS_READ];
	bool see = watch->pending || watch->inventory.events < 0;
	int i, count = epoll_wait(watch->events, events, EVENTS_READ, 0);

	for (i = 0; i < count; i++) {
		if (events[i].data.ptr == &watch->inventory)
			see = true;
		else
			finish_command(watch);
	}
	if (!see)
		return;
	watch->pending = inventory_see_events(&watch->inventory, watch->process);
	watch->seen_ns = time_source->now_ns();
}

static void scan(struct watch *watch)
{
	int ret;

	watch->scanned_ns = time_source->now_ns();
	ret = inventory_look(&watch->inventory, watch->process);
	if (!ret || watch->process)
		return;
	print_error("%s: %s", watch->inventory.source->where, strerror(-ret));
	end_watch(watch, STATUS_ERROR);
}

static void look(struct watch *watch)
{
	uint64_t now_ns = time_source->now_ns();
	struct watched_vm *watched;
	size_t i;

	for (i = 0; i < watch->num_vms; i++) {
		watched = watch->vm[i];
		if (!watched->num_things || watched->vm->dead)
			continue;
		inventory_update(&watch->inventory, watched->vm);
		if (!watched->vm->dead)
			look_at_vm(watch, watched);
	}
	watch->looked_ns = now_ns;
}

static bool any_is_looked_at(const struct watch *watch)
{
	size_t i;

	for (i = 0; i < watch->num_vms; i++) {
		if (watch->vm[i]->num_things)
			return true;
	}
	return false;
}

static uint64_t next_ns(const struct watch *watch)
{
	uint64_t next = watch->scanned_ns + NSEC_PER_SEC;

	if (watch->pending && next > watch->seen_ns + MAKERS_STEP_NS)
		next = watch->seen_ns + MAKERS_STEP_NS;
	if (any_is_looked_at(watch) && next > watch->looked_ns + step_ns(watch))
		next = watch->looked_ns + step_ns(watch);
	return next;
}

static void end_step(struct watch *watch)
{
	begin_vms(watch);
	forget_dead(watch);
	blame(watch);
	/* Who asked for something else has no use for what is wrong with VMs. */
	if (watch->status != STATUS_USAGE)
		print_problems(&watch->inventory);
	if (!watch->is_unread)
		flush_events(watch);
	if (have_ended(watch))
		end_watch(watch, STATUS_OK);
}

/* True if the user wants an end, or has gone. */
static bool wait_for_events(struct watch *watch)
{
	uint64_t now_ns;

	while (!watch->is_over) {
		if (pause_until(watch->signals, watch->events, next_ns(watch)) ==
		    EVENT_INTERRUPTED)
			return true;
		watch->output.width = standard_output().width;
		see_events(watch);
		now_ns = time_source->now_ns();
		if (now_ns - watch->scanned_ns >= SCAN_NS && !watch->process_ended)
			scan(watch);
		if (now_ns - watch->looked_ns >= step_ns(watch))
			look(watch);
		end_step(watch);
	}
	return watch->is_unread;
}

/* Nothing is watched any more, and a command can take longer than its VM lives. */
static void let_go(struct watch *watch)
{
	size_t i;

	for (i = 0; i < watch->num_vms; i++) {
		watch->vm[i]->vm->dead = true;
		free_watched(watch->vm[i]);
	}
	watch->num_vms = 0;
	inventory_forget_dead(&watch->inventory);
}

/* The last one is waited for, unless that takes the user too long. */
static void wait_for_command(struct watch *watch)
{
	while (watch->runner.is_busy) {
		if (pause_until(watch->signals, watch->runner.socket, UINT64_MAX) ==
		    EVENT_INTERRUPTED)
			return;
		if (fd_is_readable(watch->runner.socket))
			finish_command(watch);
	}
}

static bool knows_vcpu(const struct watch *watch)
{
	size_t i;

	for (i = 0; i < watch->num_vms; i++) {
		if (!watch->vm[i]->target.desc || watched_vcpu(watch, watch->vm[i]))
			return true;
	}
	return !watch->num_vms;
}

/* Those of a recording may come in it. */
static bool waits_in_vain(const struct watch *watch)
{
	return watch->inventory.choice && !replay_recording() &&
	       has_no_statistics(&watch->inventory);
}

/* What cannot be asked of a VM that is there may be a mistake, and nobody would see that. */
static int check_rule(const struct watch *watch)
{
	const struct watch_rule *rule = &watch->options->rule;
	char *name = xasprintf("%.*s", (int)strcspn(rule->name, ":"), rule->name);
	const struct description *listed = find_statistic(name);
	int status = STATUS_OK;
	char *error = NULL;

	if (!watch->had_any && listed)
		error = watch_check(rule, listed);
	if (watch->is_over)
		status = watch->status;
	else if (!watch->num_vms && !listed)
		status = usage_error("there is no statistic '%s'", name);
	else if (error)
		status = usage_error("%s", error);
	else if (waits_in_vain(watch))
		status = no_statistics_error();
	else if (rule->vcpu != EACH_VCPU && !knows_vcpu(watch))
		status = vcpu_error(&watch->inventory, &watch->options->vms.choice, rule->vcpu);
	free(error);
	free(name);
	return status;
}

static int watch_vms(struct watch *watch)
{
	int status;

	watch->output = standard_output();
	scan(watch);
	watch->looked_ns = watch->scanned_ns;
	end_step(watch);
	status = check_rule(watch);
	if (status != STATUS_OK)
		end_watch(watch, status);
	watch->has_begun = true;
	if (!watch->inventory.choice && !watch->is_over)
		print_denied(&watch->inventory);
	if (!wait_for_events(watch)) {
		let_go(watch);
		wait_for_command(watch);
	}
	return watch->status == STATUS_OK ? inventory_status(&watch->inventory) : watch->status;
}

/* With a unit, or seconds as everywhere. */
static bool parse_window(const char *text, uint64_t *ns)
{
	static const struct quantity_scale nanoseconds = { .base = 10, .exponent = -9, };

	return !parse_seconds(text, MIN_WINDOW, MAX_WINDOW, ns) ||
	       (!parse_quantity(text, QUANTITY_TIME, &nanoseconds, ns) && *ns >= MIN_WINDOW &&
		*ns <= MAX_WINDOW);
}

/* Words behind the options. */
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
		return usage_error("watch: a value is missing behind '%s'", argv[1]);
	rule->value = argv[2];
	if (argc > 3 && strcmp(argv[3], "per"))
		return usage_error("watch: unexpected argument '%s'", argv[3]);
	if (argc == 4)
		return usage_error("watch: a window is missing behind per");
	if (argc > 5)
		return usage_error("watch: unexpected argument '%s'", argv[5]);
	if (argc == 5 && !parse_window(argv[4], &rule->window_ns))
		return usage_error("'%s' is not a window of 10ms to 10s", argv[4]);
	return STATUS_OK;
}

static int parse_options(int argc, char **argv, struct watch_options *options)
{
	static const struct option long_options[] = {
		{ "vcpu", required_argument, NULL, 'c', },
		{ "sum", no_argument, NULL, 'S', },
		{ "count", required_argument, NULL, 'n', },
		{ "exec", required_argument, NULL, 'e', },
		PID_OPTION,
		HELP_OPTION,
		{},
	};
	int option, status;

	while ((option = getopt_long(argc, argv, ":c:n:" VM_OPTIONS, long_options,
				     NULL)) != -1) {
		status = STATUS_OK;
		switch (option) {
		case 'c':
			status = parse_vcpu(optarg, &options->rule.vcpu);
			break;
		case 'S':
			options->rule.sum = true;
			break;
		case 'n':
			if (options->count)
				status = usage_error("-n COUNT is there twice");
			else if (parse_number(optarg, 1, INT_MAX, &options->count))
				status = usage_error("'%s' is not a number of events", optarg);
			break;
		case 'e':
			if (options->command)
				status = usage_error("--exec CMD is there twice");
			options->command = optarg;
			break;
		default:
			status = parse_vm_option(option, argv, &options->vms);
		}
		if (status != STATUS_OK || options->vms.help)
			return status;
	}
	if (options->rule.sum && options->rule.vcpu != EACH_VCPU)
		return usage_error("--sum and -c N do not go together");
	if (options->command && replay_recording())
		return usage_error("--exec is not for what was recorded");
	return parse_rule(argc - optind, argv + optind, &options->rule);
}

static int add_to_events(struct watch *watch, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what, };

	if (fd < 0 || !epoll_ctl(watch->events, EPOLL_CTL_ADD, fd, &event))
		return STATUS_OK;
	print_error("epoll: %s", strerror(errno));
	return STATUS_ERROR;
}

static int open_events(struct watch *watch)
{
	int status;

	watch->signals = catch_signals();
	watch->events = epoll_create1(EPOLL_CLOEXEC);
	if (watch->events < 0) {
		print_error("epoll: %s", strerror(errno));
		return STATUS_ERROR;
	}
	status = add_to_events(watch, watch->inventory.events, &watch->inventory);
	if (status == STATUS_OK)
		status = add_to_events(watch, watch->runner.socket, &watch->runner);
	return status;
}

static int run_watch(struct watch *watch)
{
	const struct choice *choice = &watch->options->vms.choice;
	int status;

	status = open_inventory(&watch->inventory, choice);
	if (status == STATUS_OK)
		status = open_events(watch);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	if (status == STATUS_OK)
		status = look_for_choice(&watch->inventory, choice, &watch->process);
	if (status == STATUS_OK)
		status = watch_vms(watch);
	return status;
}

static void close_watch(struct watch *watch)
{
	size_t i;

	for (i = 0; i < watch->num_vms; i++)
		free_watched(watch->vm[i]);
	free(watch->vm);
	inventory_free(&watch->inventory);
	runner_close(&watch->runner);
	if (watch->events >= 0)
		close(watch->events);
	if (watch->signals >= 0)
		close(watch->signals);
}

int command_watch(int argc, char **argv)
{
	struct watch_options options = {
		.rule = { .window_ns = NSEC_PER_SEC, .vcpu = EACH_VCPU, },
	};
	struct watch watch = {
		.options = &options,
		.runner.socket = -1,
		.events = -1,
		.signals = -1,
	};
	int status;

	status = parse_options(argc, argv, &options);
	if (status != STATUS_OK)
		return status;
	if (options.vms.help)
		return command_help(1, argv);
	/* With the privileges of who typed it, which are given up here. */
	if (options.command)
		status = runner_start(&watch.runner, options.command, options.rule.name);
	if (status == STATUS_OK) {
		status = run_watch(&watch);
		close_watch(&watch);
	}
	return status;
}
