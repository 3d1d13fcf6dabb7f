// SPDX-License-Identifier: GPL-2.0
/*
 * Finds VMs and their vCPUs. Between any two calls a process may die, or close a file descriptor
 * and open another one with the same number. That is never an error: the next scan finds the new
 * state.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "sources/discover.h"
#include "sources/discover_open.h"
#include "util/util.h"

static void mark_end(struct vm *vm)
{
	vm->dead = true;
	/* Its file descriptors are closed: their numbers may stand for others soon. */
	vm->process->fds.count = 0;
}

/* A process and its VMs stay chosen even if its name changes. */
static bool is_chosen(const struct inventory *inventory, struct process *process)
{
	size_t i;

	if (!inventory->choice || process->chosen)
		return true;
	process->chosen = choice_has(inventory->choice,
				     inventory_pid_of_choice(inventory, process->pid),
				     process->name);
	for (i = 0; i < process->fds.count; i++)
		process->fds.entry[i].seen = !process->chosen;
	return process->chosen;
}

/* Keeps .seen of file descriptors that are still the same. Returns whether there is a new VM. */
static bool keep_seen(const struct proc_fds *last, struct proc_fds *fds)
{
	const struct proc_fd *before;
	bool has_new_vm = false;
	size_t i = 0, j;

	for (j = 0; j < fds->count; j++) {
		while (i < last->count && last->entry[i].fd < fds->entry[j].fd)
			i++;
		before = &last->entry[i];
		if (i < last->count && before->fd == fds->entry[j].fd &&
		    before->link == fds->entry[j].link &&
		    before->is_stats == fds->entry[j].is_stats)
			fds->entry[j].seen = before->seen;
		has_new_vm |= fds->entry[j].link == LINK_VM && !fds->entry[j].is_stats &&
			      !fds->entry[j].seen;
	}
	return has_new_vm;
}

#define NOT_ALL "pid %d (%s) has more new KVM file descriptors than one scan takes"

/* Takes over the list. */
static void look_at_all(struct inventory *inventory, struct process *process,
			struct proc_fds fds)
{
	struct vm *closed = discover_closed_vm(inventory, process);
	bool is_all, has_new_vm;

	if (closed && (!proc_count_fds(&fds, true) || discover_is_remade(inventory, closed, &fds)))
		mark_end(closed);
	has_new_vm = keep_seen(&process->fds, &fds);
	free(process->fds.entry);
	process->fds = fds;
	/* The process may have executed another program, or answer again. */
	if (has_new_vm || (process->identity.without_memory &&
			   monotonic_ns() >= process->memory.until_ns))
		discover_identify(inventory, process);
	if (!is_chosen(inventory, process))
		return;

	is_all = discover_open_new(inventory, process, true);
	/* VMs come first: a vCPU needs its VM. */
	if (is_all && (process->has_split_vm || !process->has_whole_vm))
		is_all = discover_open_new(inventory, process, false);
	if (!is_all)
		inventory_add_note(inventory, xasprintf(NOT_ALL, process->pid, process->name));
	discover_open_held(inventory, process);
}

/* NULL and @error on failure. */
static struct process *open_process(struct inventory *inventory, pid_t pid,
				    struct host_error *error)
{
	/* EPOLLONESHOT, because a pidfd stays readable. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, };
	const struct host *host = inventory->host;
	struct process *process;
	int pidfd;

	pidfd = host->open_process(host, pid, error);
	if (pidfd < 0)
		return NULL;
	process = inventory_add_process(inventory, pid, pidfd);
	discover_identify(inventory, process);
	epoll_ctl(inventory->events, EPOLL_CTL_ADD, pidfd, &event);
	return process;
}

static void report_pid_error(struct inventory *inventory, pid_t pid,
			     const struct host_error *error)
{
	char *reason = host_explain(error);

	inventory_add_problem(inventory, xasprintf("pid %d: %s", pid, reason));
	free(reason);
}

static int look_again(struct inventory *inventory, struct process *process)
{
	const struct host *host = inventory->host;
	struct proc_fds fds;
	int ret;

	ret = host->list_fds(host, process->pid, &fds);
	process->gone = host->is_gone(process->pidfd);
	if (!ret && !process->gone) {
		look_at_all(inventory, process, fds);
		return 0;
	}
	free(fds.entry);
	if (process->gone)
		return -ESRCH;
	/* The process exists, but /proc hides it (hidepid). */
	return ret == -ENOENT ? -EACCES : ret;
}

/*
 * Takes over the list of file descriptors. If another process had the pid when the list was made,
 * these file descriptors are gone.
 */
static void look_at_listed(struct inventory *inventory, struct proc_process *listed)
{
	struct process *process = inventory_find_process(inventory, listed->pid);
	struct host_error error = { .step = HOST_PROC, .err = listed->err, };

	if (!choice_may_have(inventory->choice, inventory_pid_of_choice(inventory, listed->pid)))
		return;
	if (listed->err == EACCES || listed->err == EPERM) {
		inventory->num_denied++;
		return;
	}
	if (!process && !listed->err)
		process = open_process(inventory, listed->pid, &error);
	if (process && !listed->err) {
		look_at_all(inventory, process, listed->fds);
		listed->fds = (struct proc_fds) {};
	} else if (!process && error.err != ESRCH &&
		   !discover_note_full(inventory, &error, listed->fds.count)) {
		report_pid_error(inventory, listed->pid, &error);
	}
}

/* Processes that made kvmstat wait before come last. */
static void look_at_list(struct inventory *inventory, struct proc_list *list)
{
	bool *is_late = xcalloc(list->count, sizeof(*is_late));
	const struct process *process;
	size_t i;

	for (i = 0; i < list->count; i++) {
		process = inventory_find_process(inventory, list->process[i].pid);
		is_late[i] = process && (process->memory.wait_ns || process->files.wait_ns);
		if (!is_late[i])
			look_at_listed(inventory, &list->process[i]);
	}
	for (i = 0; i < list->count; i++) {
		if (is_late[i])
			look_at_listed(inventory, &list->process[i]);
	}
	free(is_late);
}

static bool is_listed(pid_t pid, const struct proc_list *list)
{
	size_t i;

	for (i = 0; i < list->count && list->process[i].pid <= pid; i++) {
		if (list->process[i].pid == pid)
			return true;
	}
	return false;
}

static void mark_gone(struct inventory *inventory, const struct proc_list *list)
{
	struct process *process;
	size_t i;

	for (i = 0; i < inventory->num_processes; i++) {
		process = inventory->process[i];
		process->gone |= inventory->host->is_gone(process->pidfd);
		if (list && !is_listed(process->pid, list))
			process->fds.count = 0;
	}
}

static bool see_end(const struct inventory *inventory, struct vm *vm)
{
	bool has_ended;

	if (vm->dead)
		return true;
	/* Without a file of the VM, only the process and its file descriptors show the end. */
	if (vm_has_statistics(vm) && !vm->refusal.err)
		has_ended = inventory->host->is_dead(vm->file.source.fd);
	else
		has_ended = inventory->host->is_gone(vm->process->pidfd) ||
			    !proc_count_fds(&vm->process->fds, true);
	if (has_ended)
		mark_end(vm);
	return has_ended;
}

static void mark_dead(struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		discover_see_vcpus(inventory, inventory->vm[i]);
		see_end(inventory, inventory->vm[i]);
	}
}

/* The process that created a VM, if it still has one. debugfs names the thread that did. */
static struct process *find_maker(struct inventory *inventory, pid_t tid)
{
	struct process *process = inventory_find_process(inventory, tid);

	if (!process) {
		tid = inventory->host->thread_group(inventory->host, tid);
		process = inventory_find_process(inventory, tid);
	}
	return process && proc_count_fds(&process->fds, true) ? process : NULL;
}

/*
 * debugfs has all VMs of the host, even if a VM's file descriptor is in a socket, or in a thread
 * with a file table of its own. A VM may be newer than the list of processes: count at most as many
 * VMs as the scan before.
 */
static size_t count_unseen(struct inventory *inventory)
{
	const struct host *host = inventory->host;
	size_t i, unseen = 0, before = inventory->num_unowned;
	struct process *process;
	struct proc_pids makers;

	if (inventory->choice || !host->list_makers || host->list_makers(host, &makers))
		return 0;
	for (i = 0; i < inventory->num_processes; i++)
		inventory->process[i]->has_made = false;
	for (i = 0; i < makers.count; i++) {
		process = find_maker(inventory, makers.pid[i]);
		if (process)
			process->has_made = true;
		else
			unseen++;
	}
	free(makers.pid);
	/* A process that has VMs but created none got them from others. */
	for (i = 0; i < inventory->num_processes && unseen; i++) {
		process = inventory->process[i];
		if (process->gone || process->has_made)
			continue;
		unseen -= proc_count_fds(&process->fds, true) < unseen ?
			  proc_count_fds(&process->fds, true) : unseen;
	}
	inventory->num_unowned = unseen;
	if (inventory->has_counted && before < unseen)
		unseen = before;
	inventory->has_counted = true;
	return unseen;
}

enum refusal_kind { REFUSED_NOTHING, REFUSED_VM, REFUSED_VCPUS, REFUSED_ALL, };

static enum refusal_kind refusal_kind_of(const struct vm *vm, size_t *num_missing)
{
	int *number = proc_vcpus(&vm->process->fds, num_missing);
	size_t i, num_vcpus = *num_missing;

	for (i = 0; i < num_vcpus; i++)
		*num_missing -= !!vm_find_vcpu(vm, number[i]);
	free(number);
	if (!vm_has_statistics(vm))
		return REFUSED_ALL;
	if (*num_missing)
		return REFUSED_VCPUS;
	return vm->file.source.fd < 0 ? REFUSED_VM : REFUSED_NOTHING;
}

#define SHOWN_AS_ONE "pid %d (%s) has %u file descriptors of VMs, and the kernel does not say which vCPU belongs to which VM: kvmstat shows them as one VM, with one vCPU per number"

/*
 * Reports VMs whose KVM gives files to the VMM only: one line per kind of missing files, which
 * names the first VM and counts the others. A VMM opens its files after it has created the vCPU:
 * nothing is missing before the first vCPU.
 */
static void report_refusals(struct inventory *inventory)
{
	const struct vm *first[REFUSED_ALL + 1] = {};
	size_t i, count[REFUSED_ALL + 1] = {}, missing[REFUSED_ALL + 1], num_missing;
	char others[48] = "", *reason;
	enum refusal_kind kind;
	struct vm *vm;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		/* If taking a file failed, the VMM is not the reason. */
		if (inventory->is_full || vm->dead || !vm->refusal.err || vm->refusal_said ||
		    vm->process->reported.err || !proc_count_vcpus(&vm->process->fds))
			continue;
		vm->refusal_said = true;
		if (vm_has_statistics(vm) && proc_count_fds(&vm->process->fds, true) > 1)
			inventory_add_note(inventory,
					   xasprintf(SHOWN_AS_ONE, vm->process->pid,
						     vm->process->name,
						     proc_count_fds(&vm->process->fds, true)));
		kind = refusal_kind_of(vm, &num_missing);
		if (count[kind]++)
			continue;
		first[kind] = vm;
		missing[kind] = num_missing;
	}
	for (kind = REFUSED_VM; kind <= REFUSED_ALL; kind++) {
		inventory->incomplete |= count[kind] && kind > REFUSED_VM;
		if (!count[kind] || inventory->refusals_said & 1u << kind)
			continue;
		inventory->refusals_said |= 1u << kind;
		if (kind == REFUSED_ALL)
			reason = host_explain(&first[kind]->refusal);
		else if (kind == REFUSED_VM)
			reason = xasprintf(VMM_ONLY ", which has no file open for the VM");
		else
			reason = xasprintf(VMM_ONLY ", which has no file open for %zu vCPU%s",
					   missing[kind], missing[kind] > 1 ? "s" : "");
		if (count[kind] > 1)
			snprintf(others, sizeof(others), " and %zu more", count[kind] - 1);
		inventory_add_note(inventory,
				   xasprintf("pid %d (%s)%s: %s", first[kind]->process->pid,
					     first[kind]->process->name, others, reason));
		*others = '\0';
		free(reason);
	}
}

static int look_at_host(struct inventory *inventory)
{
	struct proc_list list;
	int ret;

	ret = inventory->host->list(inventory->host, &list);
	if (!ret) {
		inventory->num_denied = 0;
		mark_gone(inventory, &list);
		mark_dead(inventory);
		look_at_list(inventory, &list);
		report_refusals(inventory);
		inventory->num_unseen = count_unseen(inventory);
	}
	proc_list_free(&list);
	return ret;
}

static struct process *find(struct inventory *inventory, pid_t pid)
{
	pid_t leader = inventory->host->thread_group(inventory->host, pid);
	struct process *process;
	struct host_error error;

	inventory->waited_ns = 0;
	if (leader && leader != pid) {
		inventory_add_problem(inventory,
				      xasprintf("pid %d is a thread of process %d, choose that one",
						pid, leader));
		return NULL;
	}
	process = open_process(inventory, pid, &error);
	if (process)
		return process;
	if (error.err == ESRCH)
		inventory_add_problem(inventory, xasprintf("pid %d: no such process", pid));
	else
		report_pid_error(inventory, pid, &error);
	return NULL;
}

static int look(struct inventory *inventory, struct process *process)
{
	int ret;

	inventory->waited_ns = 0;
	inventory->is_full = false;
	inventory->num_missing = 0;
	if (!process) {
		ret = look_at_host(inventory);
	} else {
		ret = look_again(inventory, process);
		/* Last, because the list of file descriptors shows the end of some VMs. */
		mark_dead(inventory);
		report_refusals(inventory);
	}
	if (ret != -EAGAIN) {
		inventory->is_unanswered = false;
		return ret;
	}
	/* Earlier VMs are still known. Complain only if the next scan has no answer, either. */
	if (inventory->is_unanswered)
		inventory_add_note(inventory,
				   xasprintf("the process that finds VMs, kvmstat-broker, "
					     "does not answer: new VMs are not shown"));
	inventory->is_unanswered = true;
	return 0;
}

static void see_events(struct inventory *inventory)
{
	struct epoll_event events[16];
	size_t i;

	/* Consume the events: each end is reported once, and must not wake us again. */
	while (epoll_wait(inventory->events, events, ARRAY_SIZE(events), 0) == ARRAY_SIZE(events))
		;
	mark_gone(inventory, NULL);
	for (i = 0; i < inventory->num_vms; i++)
		see_end(inventory, inventory->vm[i]);
}

static int read_threads(const struct inventory *inventory, const struct process *process,
			struct proc_threads *threads)
{
	const struct host *host = inventory->host;
	size_t num_vcpus;
	int ret;

	/* Count vCPUs by number: a process may have copies of their file descriptors. */
	free(proc_vcpus(&process->fds, &num_vcpus));
	ret = host->read_threads(host, process->pid, num_vcpus, threads);
	/* Another process may have got the pid meanwhile. */
	if (ret || !host->is_gone(process->pidfd))
		return ret;
	free(threads->thread);
	return -ESRCH;
}

static const struct source processes = {
	.where = "/proc",
	.look = look,
	.find = find,
	.see_events = see_events,
	.update = discover_see_vcpus,
	.see_end = see_end,
	.read_threads = read_threads,
};

void discover_init(struct inventory *inventory, const struct host *host)
{
	inventory_init(inventory, &processes);
	inventory->host = host;
}
