// SPDX-License-Identifier: GPL-2.0
/*
 * All VMs of a host over time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/tracker_threads.h"
#include "util/util.h"

void tracker_init(struct tracker *tracker, struct inventory *inventory)
{
	*tracker = (struct tracker) { .inventory = inventory, };
}

static void free_tracked(struct tracked_vm *tracked)
{
	if (tracked->has_statistics)
		model_free(&tracked->model);
	free(tracked->threads.thread);
	free(tracked->vcpu);
	free(tracked);
}

void tracker_free(struct tracker *tracker)
{
	size_t i;

	for (i = 0; i < tracker->num_vms; i++)
		free_tracked(tracker->vm[i]);
	free(tracker->vm);
	statsfile_schema_put(tracker->schema);
}

static const struct columns *columns_of(struct tracker *tracker,
					struct statsfile_schema *schema)
{
	if (tracker->schema != schema) {
		statsfile_schema_put(tracker->schema);
		tracker->schema = statsfile_schema_get(schema);
		columns_find(&tracker->columns, schema);
	}
	return &tracker->columns;
}

static void note_rates(struct tracked_vm *tracked, const uint64_t *delta, struct rates *rates)
{
	const struct model *model = &tracked->model;

	if (!model->elapsed_ns)
		return;
	columns_rates(tracked->columns, delta, model->elapsed_ns, rates);
	/* Forget what the kernel does not account for, or its column would stay empty. */
	if (model->group[SCOPE_VM].hides_waits)
		rates->quantile[QUANTILE_READY] = (struct quantile_of) {};
	if (model->group[SCOPE_VM].hides_times)
		rates->quantile[QUANTILE_EXIT] = (struct quantile_of) {};
}

static struct shares find_shares(const struct tracked_vm *tracked, const struct times *passed,
				 uint64_t total_ns)
{
	return shares_of(&tracked->accounting, tracked->model.group[SCOPE_VM].value, passed,
			 total_ns);
}

static void note_times(struct tracked_vm *tracked, struct tracked_vcpu *vcpu,
		       const uint64_t *values)
{
	const struct model *model = &tracked->model;
	struct times now = times_of(&tracked->columns->shares, values);
	struct times passed;

	if (vcpu->has_times && model->elapsed_ns) {
		passed = times_between(&vcpu->times, &now);
		times_add(&tracked->passed, &passed);
		tracked->passed_ns += model->elapsed_ns;
		vcpu->rates.shares = find_shares(tracked, &passed, model->elapsed_ns);
	}
	vcpu->times = now;
	vcpu->has_times = true;
}

static void note_vcpu(const struct model *model, size_t index, const uint64_t *delta)
{
	struct tracked_vm *tracked = model->context;
	struct tracked_vcpu *vcpu = &tracked->vcpu[index];

	note_rates(tracked, delta, &vcpu->rates);
	note_times(tracked, vcpu, model->vcpu_last[index]);
}

/* Called before the first sample, or once the VMM opens files that kvmstat can read. */
static void begin_model(struct tracker *tracker, struct tracked_vm *tracked)
{
	/* In a recording, the VM with statistics is another VM. */
	tracked->serial = ++tracker->num_tracked;
	tracked->has_statistics = true;
	snprintf(tracked->id, sizeof(tracked->id), "%s", tracked->vm->file.id);
	model_init(&tracked->model, tracked->vm);
	accounting_find(&tracked->accounting, tracked->vm->file.schema);
	tracked->model.on_vcpu = note_vcpu;
	tracked->model.context = tracked;
}

static struct tracked_vm *track(struct tracker *tracker, const struct vm *vm, uint64_t now_ns)
{
	struct tracked_vm *tracked = xcalloc(1, sizeof(*tracked));

	tracked->vm = vm;
	tracked->found_ns = now_ns;
	tracked->serial = ++tracker->num_tracked;
	strcpy(tracked->id, "-");
	tracker->vm = xreallocarray(tracker->vm, tracker->num_vms + 1, sizeof(*tracker->vm));
	tracker->vm[tracker->num_vms++] = tracked;
	return tracked;
}

/*
 * Finds the tracked VM from *@next on, or adds it if none is left: tracker and inventory have the
 * living VMs in the same order.
 */
static struct tracked_vm *tracked_of(struct tracker *tracker, const struct vm *vm, size_t *next,
				     uint64_t now_ns)
{
	struct tracked_vm *tracked;

	while (*next < tracker->num_vms && tracker->vm[*next]->ended)
		++*next;
	tracked = *next < tracker->num_vms ? tracker->vm[*next] :
					    track(tracker, vm, now_ns);
	++*next;
	return tracked;
}

static void track_new_vcpus(struct tracked_vm *tracked)
{
	const struct vm *vm = tracked->vm;
	size_t i;

	if (tracked->num_tracked_vcpus == vm->num_vcpus)
		return;
	tracked->vcpu = xreallocarray(tracked->vcpu, vm->num_vcpus, sizeof(*tracked->vcpu));
	for (i = tracked->num_tracked_vcpus; i < vm->num_vcpus; i++)
		tracked->vcpu[i] = (struct tracked_vcpu) { .number = vm->vcpu[i].number, };
	tracked->num_tracked_vcpus = vm->num_vcpus;
	tracked->num_tracked_threads = 0;
}

static void end_tracked(struct tracked_vm *tracked, uint64_t now_ns)
{
	tracked->vm = NULL;
	tracked->model.vm = NULL;
	tracked->ended = true;
	tracked->ended_ns = now_ns;
	tracked->has_other = false;
	if (!tracked->rates.shares.by_cpu)
		return;
	/*
	 * These shares are from the last interval. For this one, /proc no longer has the threads.
	 */
	tracked->rates.shares = (struct shares) {};
	if (!tracked->has_statistics)
		tracked->elapsed_ns = 0;
}

/* False if the VM can no longer be read, which can happen without a mapping. */
static bool sample_tracked(struct tracker *tracker, struct tracked_vm *tracked, uint64_t now_ns)
{
	const struct vm *vm = tracked->vm;
	struct statsfile_error error;
	bool is_new;

	tracked->pid = vm->process->pid;
	snprintf(tracked->name, sizeof(tracked->name), "%s", vm->process->name);
	tracked->source = vm_source(vm);
	if (!tracked->has_statistics && vm_has_statistics(vm))
		begin_model(tracker, tracked);
	if (!tracked->has_statistics) {
		tracked->num_vcpus = vm->num_vcpus_counted;
		return true;
	}
	track_new_vcpus(tracked);
	tracked->num_vcpus = vm_count_vcpus(vm);
	if (vm->num_vcpus)
		tracked->columns = columns_of(tracker, vm_vcpu_schema(vm));
	tracked->passed = (struct times) {};
	tracked->passed_ns = 0;
	/* kvmstat may find a file that the VMM holds long after the vCPU was created. */
	is_new = tracker->from_zero || (tracked->sampled && vm_is_of_series(vm));
	if (model_sample(&tracked->model, now_ns, is_new, &error)) {
		inventory_blame(tracker->inventory, vm->process, "%s", error.text);
		return false;
	}
	tracked->sampled = true;
	if (vm->num_vcpus) {
		note_rates(tracked, tracked->model.group[SCOPE_VCPU].delta, &tracked->rates);
		tracked->rates.shares = find_shares(tracked, &tracked->passed, tracked->passed_ns);
		tracked->accounting_is_off = tracked->model.group[SCOPE_VM].hides_times;
	}
	tracked->has_rates = tracked->model.elapsed_ns;
	tracked->elapsed_ns = tracked->model.elapsed_ns;
	return true;
}

/* A VM that has ended stays until a sample has shown it, unless top is paused. */
static bool may_be_forgotten(const struct tracker *tracker, const struct tracked_vm *tracked,
			     uint64_t now_ns)
{
	if (!tracked->ended)
		return false;
	if (tracker->stands_still && tracked->found_ns > tracker->sampled_ns)
		return true;
	return tracked->seen_ended_ns && now_ns - tracked->seen_ended_ns >= TRACKER_KEEPS_NS;
}

static void note_seen(struct tracker *tracker, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < tracker->num_vms; i++) {
		if (tracker->vm[i]->ended && !tracker->vm[i]->seen_ended_ns)
			tracker->vm[i]->seen_ended_ns = now_ns;
	}
}

static void forget_ended(struct tracker *tracker, uint64_t now_ns)
{
	size_t i, kept;

	for (i = kept = 0; i < tracker->num_vms; i++) {
		if (may_be_forgotten(tracker, tracker->vm[i], now_ns))
			free_tracked(tracker->vm[i]);
		else
			tracker->vm[kept++] = tracker->vm[i];
	}
	tracker->num_vms = kept;
}

bool tracker_has_ended(const struct tracker *tracker)
{
	const struct inventory *inventory = tracker->inventory;
	const struct choice *choice = inventory->choice;
	size_t i;

	/* In a recording a process may begin later. */
	if (!choice || choice->num_names || !inventory->host)
		return false;
	for (i = 0; i < choice->num_pids; i++) {
		if (inventory_find_process(inventory, choice->pid[i]))
			return false;
	}
	return true;
}

/* The process, if it is the only chosen one: no other is scanned. */
static struct process *only_process(const struct tracker *tracker)
{
	const struct choice *choice = tracker->inventory->choice;
	pid_t pid = choice ? choice_process(choice) : 0;

	return pid ? inventory_find_process(tracker->inventory, pid) : NULL;
}

static int scan(struct tracker *tracker)
{
	struct process *process = only_process(tracker);
	uint64_t now_ns = time_source->now_ns();
	int ret;

	if (tracker->scanned && now_ns - tracker->scanned_ns < SCAN_NS)
		return 0;
	if (tracker_has_ended(tracker))
		return 0;
	tracker->tried_ns = now_ns;
	ret = inventory_look(tracker->inventory, process);
	/* Keep what is known if the process may not be looked into any more. */
	if (process)
		ret = 0;
	if (!ret)
		tracker->scanned_ns = now_ns;
	return ret;
}

/* In a recording, the last values of a VM were read between two samples. */
static uint64_t read_ns(const struct tracked_vm *tracked, const struct vm *vm, uint64_t now_ns)
{
	if (!vm->ended_ns || vm->ended_ns > now_ns || vm->ended_ns <= tracked->model.last_ns)
		return now_ns;
	return vm->ended_ns;
}

/* Samples all VMs, or only those that are new or have ended. */
static void sample_vms(struct tracker *tracker, uint64_t now_ns, bool all)
{
	struct inventory *inventory = tracker->inventory;
	struct tracked_vm *tracked;
	size_t i, next = 0;
	struct vm *vm;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		tracked = tracked_of(tracker, vm, &next, now_ns);
		if (all || !tracked->sampled)
			inventory_update(inventory, vm);
		/*
		 * Check for the end before reading, so that the values of a dead VM are final. With
		 * events this is not needed: a VM that is not marked yet is read once more.
		 */
		if (inventory->events < 0)
			inventory_see_end(inventory, vm);
		if (all || vm->dead || !tracked->sampled)
			vm->dead |= !sample_tracked(tracker, tracked,
						    read_ns(tracked, vm, now_ns));
		if ((all || !tracked->threads_ns) && !vm->dead)
			tracker_note_threads(tracker, tracked, now_ns);
		if (vm->dead)
			end_tracked(tracked, now_ns);
	}
	inventory_forget_dead(inventory);
}

int tracker_sample(struct tracker *tracker)
{
	uint64_t now_ns;
	int ret;

	ret = scan(tracker);
	if (ret)
		return ret;
	now_ns = time_source->now_ns();
	forget_ended(tracker, now_ns);
	tracker->elapsed_ns = tracker->scanned ? now_ns - tracker->sampled_ns : 0;
	tracker->sampled_ns = now_ns;
	sample_vms(tracker, now_ns, true);
	note_seen(tracker, now_ns);
	tracker->scanned = true;
	return 0;
}

static size_t count_objects(const struct inventory *inventory)
{
	size_t i, count = inventory->num_vms;

	for (i = 0; i < inventory->num_vms; i++)
		count += inventory->vm[i]->num_vcpus;
	return count;
}

/* Whether a VM of the only process is being created: it has no vCPU yet. */
static bool lacks_vcpus(const struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (vm_has_statistics(inventory->vm[i]) && !inventory->vm[i]->num_vcpus &&
		    !inventory->vm[i]->dead)
			return true;
	}
	return false;
}

/* How soon to scan a process again that creates a VM. */
#define LOOK_AGAIN_NS (NSEC_PER_SEC / 50)

/* Returns whether to scan again soon: a VM may start and end within one interval. */
static bool look_meanwhile(struct tracker *tracker, bool closely)
{
	struct inventory *inventory = tracker->inventory;
	struct process *process = only_process(tracker);
	size_t count = count_objects(inventory);
	uint64_t now_ns;
	bool pending = false;

	inventory_see_events(inventory);
	if (closely && process)
		tracker->scanned_ns = 0;
	/* The next sample reports a failure. */
	scan(tracker);
	if (process)
		pending = lacks_vcpus(inventory) || count_objects(inventory) != count;
	now_ns = time_source->now_ns();
	sample_vms(tracker, now_ns, false);
	if (tracker->stands_still)
		forget_ended(tracker, now_ns);
	return pending;
}

enum event tracker_wait(struct tracker *tracker, int signals, uint64_t end_ns)
{
	bool pending = only_process(tracker) && lacks_vcpus(tracker->inventory);
	bool had_ended = tracker_has_ended(tracker);
	enum event event;
	uint64_t step_ns;

	for (;;) {
		step_ns = pending ? time_source->now_ns() + LOOK_AGAIN_NS :
				    tracker->tried_ns + NSEC_PER_SEC;
		if (step_ns > end_ns || tracker_has_ended(tracker))
			step_ns = end_ns;
		event = pause_until(signals, tracker->inventory->events, step_ns);
		if (event == EVENT_INTERRUPTED || (event == EVENT_TIME && step_ns == end_ns))
			return event;
		pending = look_meanwhile(tracker, pending);
		if (tracker_has_ended(tracker) && !had_ended)
			return EVENT_READABLE;
		/* Even endless events must not extend the interval. */
		if (time_source->now_ns() >= end_ns)
			return EVENT_TIME;
	}
}

bool tracker_any_lives(const struct tracker *tracker)
{
	size_t i;

	for (i = 0; i < tracker->num_vms; i++) {
		if (!tracker->vm[i]->ended)
			return true;
	}
	return false;
}

bool tracker_is_over(const struct tracker *tracker)
{
	const struct choice *choice = tracker->inventory->choice;

	return tracker_has_ended(tracker) ||
	       (choice && choice_is_single(choice) && tracker->num_tracked &&
		!tracker_any_lives(tracker));
}

bool tracker_shows(const struct tracker *tracker, const struct tracked_vm *tracked)
{
	uint64_t since_ns = tracker->sampled_ns - tracked->ended_ns;

	return !tracked->ended || !since_ns || since_ns < tracker->elapsed_ns;
}

void tracker_focus(struct tracker *tracker, const struct tracked_vm *tracked, size_t vcpu)
{
	size_t i;

	for (i = 0; i < tracker->num_vms; i++) {
		if (tracker->vm[i] == tracked)
			model_focus(&tracker->vm[i]->model, vcpu);
		else
			model_unfocus(&tracker->vm[i]->model);
	}
}
