// SPDX-License-Identifier: GPL-2.0
/* Shares, activity and the thread of each vCPU, from the threads of the VM's process. */
#include <stdlib.h>

#include "model/tracker_threads.h"
#include "sources/proc.h"
#include "util/util.h"

bool vm_is_alone(const struct inventory *inventory, const struct vm *vm)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (inventory->vm[i] != vm && inventory->vm[i]->process == vm->process &&
		    !inventory->vm[i]->dead)
			return false;
	}
	return true;
}

/* The VMM's vCPU numbers, sorted; the caller frees them. */
static int *thread_numbers(const struct proc_threads *threads, size_t *count)
{
	int *number = xcalloc(threads->count, sizeof(*number));
	size_t i, found = 0;

	for (i = 0; i < threads->count; i++) {
		if (threads->thread[i].vcpu >= 0)
			number[found++] = threads->thread[i].vcpu;
	}
	*count = proc_sort_numbers(number, found);
	return number;
}

/*
 * A VMM numbers its vCPUs from 0 on. On x86, KVM's numbers have gaps if the number of cores or
 * threads is not a power of two. Both numberings have the same order.
 */
void threads_match(const struct proc_threads *threads, const struct vm *vm, int *vcpu)
{
	size_t i, num_vcpus, num_numbers;
	int *kvm = proc_vcpus(&vm->process->fds, &num_vcpus);
	int *vmm = thread_numbers(threads, &num_numbers);
	const int *found;

	/* Only if each vCPU has one thread. */
	for (i = 0; i < threads->count; i++) {
		vcpu[i] = NO_VCPU;
		if (threads->count != num_vcpus)
			continue;
		if (num_vcpus == 1) {
			vcpu[i] = kvm[0];
		} else if (num_numbers == num_vcpus) {
			found = proc_find(threads->thread[i].vcpu, vmm, num_numbers, sizeof(*vmm));
			vcpu[i] = kvm[found - vmm];
		}
	}
	free(vmm);
	free(kvm);
}

static struct shares shares_of_thread(const struct tracked_vm *tracked,
				      const struct proc_thread *now, uint64_t now_ns)
{
	const struct proc_thread *last = proc_find_thread(&tracked->threads, now->tid);

	if (!last)
		return (struct shares) {};
	return shares_of_threads(&last->times, &now->times, now_ns - tracked->threads_ns);
}

/* The vCPU with this number, or a new one. */
static struct tracked_vcpu *vcpu_of_thread(struct tracked_vm *tracked, pid_t tid, int number)
{
	struct tracked_vcpu *vcpu;
	size_t i;

	for (i = 0; i < tracked->num_tracked_vcpus; i++) {
		if (number != NO_VCPU && tracked->vcpu[i].number == (unsigned int)number)
			return &tracked->vcpu[i];
	}
	vcpu = &tracked->vcpu[tracked->num_tracked_vcpus + tracked->num_tracked_threads++];
	*vcpu = (struct tracked_vcpu) {
		.number = number == NO_VCPU ? TRACKED_THREAD + tid : number,
	};
	return vcpu;
}

static void note_shares(struct tracked_vm *tracked, const struct proc_threads *now,
			const struct proc_times *before, const struct proc_times *after,
			uint64_t now_ns)
{
	int *number = xcalloc(now->count, sizeof(*number));
	struct tracked_vcpu *vcpu;
	size_t i;

	tracked->rates.shares = shares_of_threads(before, after, now_ns - tracked->threads_ns);
	tracked->vcpu = xreallocarray(tracked->vcpu, tracked->num_tracked_vcpus + now->count,
				      sizeof(*tracked->vcpu));
	tracked->num_tracked_threads = 0;
	threads_match(now, tracked->vm, number);
	for (i = 0; i < now->count; i++) {
		vcpu = vcpu_of_thread(tracked, now->thread[i].tid, number[i]);
		vcpu->rates.shares = shares_of_thread(tracked, &now->thread[i], now_ns);
	}
	free(number);
	tracked->elapsed_ns = now_ns - tracked->threads_ns;
}

/* CPU time of the process' other threads, if it still has the same vCPU threads. */
static void note_whole(struct tracked_vm *tracked, const struct proc_threads *now,
		       uint64_t vcpus_ns, uint64_t elapsed_ns)
{
	const struct proc_whole *last = &tracked->threads.whole;
	uint64_t run_ns = now->whole.run_ns - last->run_ns;

	/* Until a thread has run the guest for a tick, nothing says which are the vCPUs'. */
	tracked->has_other = last->is_known && now->whole.is_known &&
			     now->whole.run_ns >= last->run_ns &&
			     now->count == tracked->threads.count && (now->count || !run_ns);
	tracked->other = run_ns > vcpus_ns ? (double)(run_ns - vcpus_ns) / elapsed_ns : 0;
	tracked->throttled = (double)(now->whole.cgroup.throttled_ns -
				      last->cgroup.throttled_ns) / elapsed_ns;
}

static bool all_are(const struct proc_threads *threads, enum proc_state state)
{
	size_t i;

	for (i = 0; i < threads->count && threads->thread[i].state == state; i++)
		;
	return threads->count && i == threads->count;
}

/* Without threads: whether all vCPUs were in the VMM since the last sample. */
static bool was_outside(const struct tracked_vm *tracked)
{
	const struct shares *shares = &tracked->rates.shares;

	return !shares->by_cpu && shares->known[SHARE_VMM] && shares->part[SHARE_VMM] >= 0.999;
}

/*
 * A VM is paused if all its vCPUs are outside of KVM_RUN and none has run since the last sample.
 */
static enum activity find_activity(const struct tracked_vm *tracked,
				   const struct proc_threads *now, uint64_t vcpus_ns)
{
	if (now->whole.cgroup.is_frozen || all_are(now, PROC_STOPPED))
		return ACTIVITY_STOPPED;
	if (!all_are(now, PROC_OUTSIDE))
		return ACTIVITY_RUNS;
	if (tracked->threads_ns ? all_are(&tracked->threads, PROC_OUTSIDE) && !vcpus_ns :
				  was_outside(tracked))
		return ACTIVITY_PAUSED;
	return ACTIVITY_RUNS;
}

/* A VM that is paused or stopped has no shares. */
static void note_activity(struct tracked_vm *tracked, enum activity activity)
{
	size_t i;

	tracked->activity = activity;
	if (activity == ACTIVITY_RUNS)
		return;
	tracked->rates.shares = (struct shares) {};
	for (i = 0; i < tracked->num_tracked_vcpus + tracked->num_tracked_threads; i++)
		tracked->vcpu[i].rates.shares = (struct shares) {};
}

static void forget_threads(struct tracked_vm *tracked)
{
	if (tracked->rates.shares.by_cpu)
		tracked->rates.shares = (struct shares) {};
	free(tracked->threads.thread);
	tracked->threads = (struct proc_threads) {};
	tracked->threads_ns = 0;
	tracked->num_tracked_threads = 0;
	tracked->has_other = false;
	note_activity(tracked, was_outside(tracked) ? ACTIVITY_PAUSED : ACTIVITY_RUNS);
}

void tracker_note_threads(const struct tracker *tracker, struct tracked_vm *tracked,
			  uint64_t now_ns)
{
	const struct inventory *inventory = tracker->inventory;
	struct proc_times before, after;
	struct proc_threads now;

	if (!tracker->reads_threads)
		return;
	if (!vm_is_alone(inventory, tracked->vm) ||
	    inventory_read_threads(inventory, tracked->vm->process, &now)) {
		forget_threads(tracked);
		return;
	}
	/* Leave out threads that started or ended: their times in the interval are not known. */
	before = proc_sum_times(&tracked->threads, &now);
	after = proc_sum_times(&now, &tracked->threads);
	if (tracked->threads_ns && now_ns > tracked->threads_ns) {
		/* Prefer the kernel's own accounting, which is exact. */
		if (!tracked->accounting.time || tracked->accounting_is_off)
			note_shares(tracked, &now, &before, &after, now_ns);
		note_whole(tracked, &now, after.run_ns - before.run_ns,
			   now_ns - tracked->threads_ns);
	}
	note_activity(tracked, find_activity(tracked, &now, after.run_ns - before.run_ns));
	tracked->threads_ns = now_ns;
	free(tracked->threads.thread);
	tracked->threads = now;
}
