// SPDX-License-Identifier: GPL-2.0
/*
 * The tracker: which VMs it has, when they have rates and of what, and when they go.
 */
#include <string.h>

#include "model/tracker.h"
#include "scene.h"
#include "sources/discover.h"
#include "tap.h"
#include "util/util.h"

static struct inventory inventory;
static struct tracker tracker;

/* The n-th VM of the process. */
static const struct tracked_vm *find(pid_t pid, unsigned int n)
{
	size_t i;

	for (i = 0; i < tracker.num_vms; i++) {
		if (tracker.vm[i]->pid == pid && !n--)
			return tracker.vm[i];
	}
	return NULL;
}

static void sample(void)
{
	if (tracker_sample(&tracker, scene_time.now_ns()))
		check(false, "there are processes");
}

/* The scene's next second. */
static void next(void)
{
	scene_time.pause_until(-1, -1, scene_time.now_ns() + NSEC_PER_SEC);
	sample();
}

static void set_up(unsigned int second)
{
	scene_start(second);
	discover_init(&inventory, &scene_host);
	tracker_init(&tracker, &inventory);
	sample();
}

static void tear_down(void)
{
	tracker_free(&tracker);
	inventory_free(&inventory);
	scene_start(0);
}

static bool has_rates(const struct tracked_vm *vm)
{
	return vm && vm->has_rates && vm->rates.known[RATE_EXITS];
}

/* What it counted before it was seen is in no rate. */
static void test_first_samples(void)
{
	const struct tracked_vm *vm;

	set_up(1);
	vm = find(SCENE_SPLIT_PID, 0);
	check(vm && !vm->has_rates && !vm->rates.known[RATE_EXITS], "first sample: no rates");
	check_number(vm->model.group[SCOPE_VCPU].delta[0], 0, "first sample: nothing moved in it");
	next();
	check(has_rates(vm), "second sample: rates");
	vm = find(SCENE_SHORT_PID, 0);
	check(vm && !has_rates(vm), "a VM that comes later has none at first either");
	next();
	check(has_rates(vm), "it has them with its second sample");
	check_number(vm->rates.per_second[RATE_EXITS],
		     scene_exits(SCENE_SHORT_PID, 3) - scene_exits(SCENE_SHORT_PID, 2),
		     "they are of that interval only");
	vm = find(SCENE_CLOSED_PID, 0);
	check(vm && !vm->has_statistics && vm->num_vcpus == 2, "a VM without statistics");
	tear_down();
}

/* It came since the last sample, so all that it has counted is new. */
static void test_new_vcpu(void)
{
	const struct tracked_vm *vm;

	set_up(2);
	vm = find(SCENE_WHOLE_PID, 0);
	check_number(vm->num_vcpus, 1, "one vCPU");
	next();
	check_number(vm->num_vcpus, 2, "and a second one");
	check_number(vm->rates.per_second[RATE_EXITS],
		     scene_exits(SCENE_WHOLE_PID, 3) - scene_exits(SCENE_WHOLE_PID, 2),
		     "which is counted from zero");
	tear_down();
}

/* In one sample dead, then on the list for a while. */
static void test_ended(void)
{
	const struct tracked_vm *vm;
	uint64_t serial;

	set_up(4);
	vm = find(SCENE_SPLIT_PID, 0);
	serial = vm->serial;
	next();
	check(find(SCENE_SHORT_PID, 0)->ended, "a VM that has ended");
	check(find(SCENE_SPLIT_PID, 0) == vm && !vm->ended, "the others have not");
	next();
	check(vm->ended && vm->ended_ns == tracker.sampled_ns, "the next one");
	check(has_rates(vm), "its last rates are known");
	next();
	next();
	check(find(SCENE_SPLIT_PID, 1) && find(SCENE_SPLIT_PID, 1)->serial > serial,
	      "a new one of that pid is another one");
	tracker_sample(&tracker, tracker.sampled_ns + TRACKER_KEEPS_NS);
	check(!find(SCENE_SHORT_PID, 0) && !find(SCENE_SPLIT_PID, 1),
	      "they are gone after a while");
	check(find(SCENE_SPLIT_PID, 0) && !find(SCENE_SPLIT_PID, 0)->ended, "the new one is not");
	tear_down();
}

/* It comes and ends between two samples. */
static void test_between(void)
{
	const struct time_source *saved = time_source;
	const struct tracked_vm *vm;

	time_source = &scene_time;
	set_up(1);
	check(!find(SCENE_SHORT_PID, 0), "long interval: a VM is not there in the beginning");
	tracker_wait(&tracker, -1, scene_time.now_ns() + 8 * NSEC_PER_SEC);
	sample();
	vm = find(SCENE_SHORT_PID, 0);
	check(vm && vm->ended && tracker_shows(&tracker, vm), "nor in the end, but it was seen");
	check(has_rates(vm), "and what it did");
	vm = find(SCENE_SPLIT_PID, 1);
	check(has_rates(vm), "one that came meanwhile has rates at the end of the interval");
	vm = find(SCENE_WHOLE_PID, 0);
	check_number(vm->model.elapsed_ns, 8 * NSEC_PER_SEC,
		     "those of one that is there throughout are of all of it");
	next();
	check(!tracker_shows(&tracker, find(SCENE_SHORT_PID, 0)), "what has ended is shown once");
	tear_down();
	time_source = saved;
}

static void test_process(void)
{
	scene_start(4);
	discover_init(&inventory, &scene_host);
	tracker_init(&tracker, &inventory);
	tracker.process = inventory_find(&inventory, SCENE_SPLIT_PID);
	sample();
	check(tracker.num_vms == 1 && find(SCENE_SPLIT_PID, 0), "one process: its VMs only");
	next();
	check(!tracker.process_ended, "it lives");
	next();
	next();
	check(tracker.process_ended, "it has ended");
	next();
	check_number(tracker.num_vms, 1, "then nothing is looked for");
	tear_down();
}

int main(void)
{
	test_first_samples();
	test_new_vcpu();
	test_ended();
	test_between();
	test_process();
	return tap_end();
}
