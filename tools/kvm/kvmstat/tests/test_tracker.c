// SPDX-License-Identifier: GPL-2.0
/*
 * The tracker: the VMs that it has, their rates, and when it forgets them.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "model/tracker.h"
#include "scene.h"
#include "sources/discover.h"
#include "tap.h"
#include "util/clock.h"
#include "util/util.h"

static struct inventory inventory;
static const struct source *discovery;
static struct tracker tracker;

/* Added to the scene's clock: a slow scan, during which nothing happens. */
static uint64_t late_ns;

static uint64_t late_now_ns(void)
{
	return scene_time.now_ns() + late_ns;
}

/* Finds the n-th VM of the process. */
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
	if (tracker_sample(&tracker))
		check(false, "there are processes");
}

/* Samples the scene's next second. */
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
	late_ns = 0;
}

static bool has_rates(const struct tracked_vm *vm)
{
	return vm && vm->has_rates && vm->rates.known[RATE_EXITS];
}

/* Rates do not include counts from before the first sample. */
static void test_first_samples(void)
{
	const struct tracked_vm *vm;

	set_up(1);
	vm = find(SCENE_SPLIT_PID, 0);
	check(vm && !vm->has_rates && !vm->rates.known[RATE_EXITS], "first sample: no rates");
	check_number(vm->model.group[SCOPE_VCPU].delta[0], 0, "first sample: nothing moved");
	next();
	check(has_rates(vm), "second sample: rates");
	vm = find(SCENE_SHORT_PID, 0);
	check(vm && !has_rates(vm), "a later VM has no rates in its first sample");
	next();
	check(has_rates(vm), "a later VM has rates in its second sample");
	check_number(vm->rates.per_second[RATE_EXITS],
		     scene_exits(SCENE_SHORT_PID, 3) - scene_exits(SCENE_SHORT_PID, 2),
		     "a later VM: rates are of its second interval only");
	vm = find(SCENE_CLOSED_PID, 0);
	check(vm && !vm->has_statistics && vm->num_vcpus == 2, "a VM without statistics");
	tear_down();
}

/* The vCPU was added since the last sample, so all its counts are new. */
static void test_new_vcpu(void)
{
	const struct tracked_vm *vm;

	set_up(2);
	vm = find(SCENE_WHOLE_PID, 0);
	check_number(vm->num_vcpus, 1, "one vCPU");
	next();
	check_number(vm->num_vcpus, 2, "a new vCPU: the VM has one more");
	check_number(vm->rates.per_second[RATE_EXITS],
		     scene_exits(SCENE_WHOLE_PID, 3) - scene_exits(SCENE_WHOLE_PID, 2),
		     "a new vCPU: all its counts are in the rates");
	tear_down();
}

/* On newer kernels, the vCPU may be old: the VMM opens its file at any time. */
static void test_late_vcpu(void)
{
	const struct tracked_vm *vm;

	scene_is_newer_kernel = true;
	set_up(1);
	vm = find(SCENE_SPLIT_PID, 0);
	next();
	check_number(vm->num_vcpus, 2, "newer kernel: a second vCPU");
	check(vm->vcpu[1].rates.per_second[RATE_EXITS] == 0 &&
	      vm->rates.per_second[RATE_EXITS] == vm->vcpu[0].rates.per_second[RATE_EXITS],
	      "newer kernel: its earlier counts are in no rate");
	next();
	check_number(vm->rates.per_second[RATE_EXITS],
		     scene_exits(SCENE_SPLIT_PID, 3) - scene_exits(SCENE_SPLIT_PID, 2),
		     "newer kernel: its later counts are in the rates");
	tear_down();
	scene_is_newer_kernel = false;
}

/* A VM that ends stays for a while after the sample that shows its end. */
static void test_ended(void)
{
	const struct tracked_vm *vm;
	uint64_t serial;

	set_up(4);
	vm = find(SCENE_SPLIT_PID, 0);
	serial = vm->serial;
	next();
	check(find(SCENE_SHORT_PID, 0)->ended, "a VM that has ended");
	check(find(SCENE_SPLIT_PID, 0) == vm && !vm->ended, "a VM has ended: other VMs have not");
	next();
	check(vm->ended && vm->ended_ns == tracker.sampled_ns,
	      "a second VM has ended, at the time of the sample");
	check(has_rates(vm), "a VM has ended: its last rates are known");
	next();
	next();
	check(find(SCENE_SPLIT_PID, 1) && find(SCENE_SPLIT_PID, 1)->serial > serial,
	      "a new VM with the same pid is another VM");
	late_ns = TRACKER_KEEPS_NS;
	sample();
	check(!find(SCENE_SHORT_PID, 0) && !find(SCENE_SPLIT_PID, 1),
	      "ended VMs are forgotten after a while");
	check(find(SCENE_SPLIT_PID, 0) && !find(SCENE_SPLIT_PID, 0)->ended,
	      "a living VM is not forgotten");
	tear_down();
}

/* After a long pause, a VM that ended meanwhile is shown, and stays for a while. */
static void test_ended_long_ago(void)
{
	const struct tracked_vm *vm;

	set_up(4);
	tracker.stands_still = true;
	tracker_wait(&tracker, -1, scene_time.now_ns() + 3 * NSEC_PER_SEC);
	tracker.stands_still = false;
	late_ns = 2 * TRACKER_KEEPS_NS;
	sample();
	vm = find(SCENE_SHORT_PID, 0);
	check(vm && vm->ended && tracker_shows(&tracker, vm), "paused: a VM that ended is shown");
	late_ns += TRACKER_KEEPS_NS / 2;
	sample();
	check(find(SCENE_SHORT_PID, 0) == vm, "paused: it stays for a while");
	late_ns += TRACKER_KEEPS_NS / 2;
	sample();
	check(!find(SCENE_SHORT_PID, 0), "paused: then it is forgotten");
	tear_down();
}

/* A VM starts and ends between two samples. */
static void test_between(void)
{
	const struct tracked_vm *vm;

	set_up(1);
	check(!find(SCENE_SHORT_PID, 0), "long interval: the VM does not exist at first");
	tracker_wait(&tracker, -1, scene_time.now_ns() + 8 * NSEC_PER_SEC);
	sample();
	vm = find(SCENE_SHORT_PID, 0);
	check(vm && vm->ended && tracker_shows(&tracker, vm),
	      "long interval: a VM that started and ended is shown");
	check(has_rates(vm), "long interval: that VM has rates");
	vm = find(SCENE_SPLIT_PID, 1);
	check(has_rates(vm), "long interval: a VM that started meanwhile has rates at the end");
	vm = find(SCENE_WHOLE_PID, 0);
	check_number(vm->model.elapsed_ns, 8 * NSEC_PER_SEC,
		     "long interval: rates of an older VM cover all of it");
	next();
	check(!tracker_shows(&tracker, find(SCENE_SHORT_PID, 0)),
	      "long interval: a VM that ended is shown once");
	tear_down();
}

static bool is_slow;

static int slow_list(const struct host *host, struct proc_list *list)
{
	if (is_slow)
		late_ns += NSEC_PER_SEC / 2;
	is_slow = false;
	return scene_host.list(host, list);
}

/* The time of a sample is the time of reading, not the start of the scan before it. */
static void test_slow_look(void)
{
	struct host host = scene_host;
	const struct tracked_vm *vm;

	host.list = slow_list;
	scene_start(1);
	discover_init(&inventory, &host);
	tracker_init(&tracker, &inventory);
	is_slow = true;
	sample();
	next();
	vm = find(SCENE_WHOLE_PID, 0);
	check_number(vm->model.elapsed_ns, NSEC_PER_SEC,
		     "slow scan: does not extend the first interval");
	check_number(tracker.elapsed_ns, NSEC_PER_SEC,
		     "slow scan: does not extend the interval of all VMs");
	check_number(vm->rates.per_second[RATE_EXITS],
		     scene_exits(SCENE_WHOLE_PID, 2) - scene_exits(SCENE_WHOLE_PID, 1),
		     "slow scan: rates are right");
	is_slow = true;
	next();
	check_number(vm->model.elapsed_ns, 3 * NSEC_PER_SEC / 2,
		     "slow scan: extends the next interval");
	tear_down();
}

static unsigned int num_looks;

static int count_look(struct inventory *looked_at, struct process *process)
{
	num_looks++;
	return discovery->look(looked_at, process);
}

static void see_nothing(struct inventory *looked_at)
{
	(void)looked_at;
}

/* An event is always pending. */
static void test_many_events(void)
{
	const struct time_source *before = time_source;
	struct source source;

	set_up(1);
	discovery = inventory.source;
	source = *discovery;
	source.look = count_look;
	source.see_events = see_nothing;
	inventory.source = &source;
	inventory.events = eventfd(1, EFD_CLOEXEC);
	time_source = &machine_time;
	tracker.tried_ns = monotonic_ns();
	tracker.scanned_ns = tracker.tried_ns;
	check(tracker_wait(&tracker, -1, monotonic_ns() + NSEC_PER_SEC / 10) == EVENT_TIME,
	      "many events: the interval ends in time");
	check_number(num_looks, 0, "many events: no event causes a scan");
	time_source = before;
	tear_down();
}

static void test_process(void)
{
	const struct choice choice = { .pid = { SCENE_SPLIT_PID, }, .num_pids = 1, };

	scene_start(4);
	discover_init(&inventory, &scene_host);
	tracker_init(&tracker, &inventory);
	inventory.choice = &choice;
	inventory_find(&inventory, SCENE_SPLIT_PID);
	sample();
	check(tracker.num_vms == 1 && find(SCENE_SPLIT_PID, 0), "one process: its VMs only");
	next();
	check(!tracker_has_ended(&tracker), "one process: it lives");
	next();
	next();
	check(tracker_has_ended(&tracker), "one process: its end is noticed");
	next();
	check_number(tracker.num_vms, 1, "one process has ended: no more scans");
	tear_down();
}

static uint64_t idle_from_ns;
static unsigned int num_threads = 1, next_tid = 1;
static enum proc_state thread_state;
static struct proc_whole whole;
static unsigned int num_vcpus_of[100];	/* by pid: the last argument of read_threads() */

/* The threads of each process spend half of the time in the guest. */
static int read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
			struct proc_threads *threads)
{
	uint64_t now_ns = scene_time.now_ns();
	struct proc_thread thread = {
		.tid = pid + 1,
		.vcpu = -1,
		.state = thread_state,
		.times = {
			.run_ns = (now_ns < idle_from_ns ? now_ns : idle_from_ns) / 2,
			.guest_ns = (now_ns < idle_from_ns ? now_ns : idle_from_ns) / 2,
			.num_threads = 1,
			.has_ready = true,
		},
	};
	unsigned int i;

	(void)host;
	num_vcpus_of[pid] = num_vcpus;
	*threads = (struct proc_threads) {};
	if (pid == SCENE_SPLIT_PID)
		return -ESRCH;
	for (i = 0; i < num_threads; i++, thread.tid += next_tid)
		proc_threads_add(threads, &thread);
	threads->whole = whole;
	return 0;
}

static bool is_half(const struct tracked_vm *vm)
{
	const struct shares *shares = &vm->rates.shares;

	return shares->by_cpu && shares->known[SHARE_GUEST] &&
	       shares->part[SHARE_GUEST] == 0.5 && shares->part[SHARE_OFF] == 0.5;
}

static bool is_known(const struct tracked_vm *vm)
{
	return vm->rates.shares.known[SHARE_GUEST];
}

static void test_threads(void)
{
	struct host host = scene_host;
	const struct tracked_vm *vm;

	scene_start(1);
	host.read_threads = read_threads;
	idle_from_ns = UINT64_MAX;
	discover_init(&inventory, &host);
	tracker_init(&tracker, &inventory);
	sample();
	next();
	check(!is_known(find(SCENE_CLOSED_PID, 0)), "threads: not read unless asked for");
	tracker.reads_threads = true;
	next();
	check(!is_known(find(SCENE_CLOSED_PID, 0)), "threads: one sample has no shares");
	next();
	check_number(num_vcpus_of[SCENE_SPLIT_PID], 2, "threads: read with the number of vCPUs");
	check(is_half(find(SCENE_CLOSED_PID, 0)), "threads: a VM without statistics");
	check(is_half(find(SCENE_SHORT_PID, 0)), "threads: a VM whose files have no times");
	check(!is_known(find(SCENE_SPLIT_PID, 0)), "threads: unreadable threads have no shares");
	check(!is_known(find(SCENE_WHOLE_PID, 0)) && !is_known(find(SCENE_WHOLE_PID, 1)),
	      "threads: two VMs in one process have no shares");
	idle_from_ns = scene_time.now_ns() + 2 * NSEC_PER_SEC;
	tracker_wait(&tracker, -1, scene_time.now_ns() + 4 * NSEC_PER_SEC);
	sample();
	check(find(SCENE_CLOSED_PID, 0)->rates.shares.part[SHARE_GUEST] == 0.25,
	      "threads: shares cover the whole interval, with scans in between");
	vm = find(SCENE_CLOSED_PID, 0);
	next();
	check(vm->ended && !is_known(vm) && !vm->elapsed_ns,
	      "threads: a VM that has ended has no shares");
	tear_down();
}

static void test_other_threads(void)
{
	struct host host = scene_host;

	scene_start(1);
	host.read_threads = read_threads;
	discover_init(&inventory, &host);
	tracker_init(&tracker, &inventory);
	tracker.reads_threads = true;
	idle_from_ns = UINT64_MAX;
	sample();
	num_threads = 3;
	next();
	check(is_half(find(SCENE_CLOSED_PID, 0)),
	      "threads: new threads are left out at first");
	next();
	check(is_half(find(SCENE_CLOSED_PID, 0)), "threads: then shares include them");
	next_tid = 7;
	next();
	check(is_half(find(SCENE_CLOSED_PID, 0)), "threads: threads that ended are left out");
	num_threads = 0;
	next();
	check(!is_known(find(SCENE_CLOSED_PID, 0)), "threads: all have ended: no shares");
	num_threads = 1;
	tear_down();
}

/* The activity of a VM, and the CPU time of the other threads of its process. */
static void test_activity(void)
{
	struct host host = scene_host;
	const struct tracked_vm *vm;

	scene_start(0);
	host.read_threads = read_threads;
	discover_init(&inventory, &host);
	tracker_init(&tracker, &inventory);
	tracker.reads_threads = true;
	idle_from_ns = 0;
	thread_state = PROC_IN_KVM;
	num_threads = 0;
	whole.is_known = true;
	sample();
	next();
	vm = find(SCENE_CLOSED_PID, 0);
	check(vm->has_other && !vm->other, "activity: no thread has run for a tick");
	whole.run_ns = NSEC_PER_SEC;
	next();
	check(!vm->has_other, "activity: vCPU threads are unknown, so others are, too");
	num_threads = 1;
	next();
	whole.run_ns += NSEC_PER_SEC / 2;
	whole.cgroup.throttled_ns = NSEC_PER_SEC / 4;
	next();
	check(vm->activity == ACTIVITY_RUNS && vm->rates.shares.part[SHARE_OFF] == 1,
	      "activity: a halted VM runs");
	check(vm->has_other && vm->other == 0.5, "activity: CPU time of other threads");
	check(vm->throttled == 0.25, "activity: its quota of CPU time was used up");
	thread_state = PROC_OUTSIDE;
	next();
	check(vm->activity == ACTIVITY_RUNS,
	      "activity: outside of KVM in one sample only: not paused");
	next();
	check(vm->activity == ACTIVITY_PAUSED && !vm->rates.shares.known[SHARE_OFF],
	      "activity: outside of KVM in two samples: paused, without shares");
	thread_state = PROC_STOPPED;
	next();
	check(vm->activity == ACTIVITY_STOPPED, "activity: stopped by a signal");
	thread_state = PROC_IN_KVM;
	whole.cgroup.is_frozen = true;
	next();
	check(vm->activity == ACTIVITY_STOPPED, "activity: stopped by a frozen cgroup");
	thread_state = PROC_UNKNOWN;
	whole = (struct proc_whole) {};
	tear_down();
}

int main(void)
{
	struct time_source late_time = scene_time;

	late_time.now_ns = late_now_ns;
	time_source = &late_time;
	test_first_samples();
	test_new_vcpu();
	test_late_vcpu();
	test_ended();
	test_ended_long_ago();
	test_between();
	test_slow_look();
	test_many_events();
	test_process();
	test_threads();
	test_other_threads();
	test_activity();
	return tap_end();
}
