// SPDX-License-Identifier: GPL-2.0
/*
 * Finds VMs and their vCPUs. Between any two calls a process may die, or close a file descriptor
 * and open another one under the same number: that is never an error, the next scan finds what
 * is there then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sources/discover.h"
#include "util/util.h"

#define MALFORMED "malformed statistics file: %s"

void discover_listen(struct inventory *inventory)
{
	inventory->events = epoll_create1(EPOLL_CLOEXEC);
}

/* Reports the same reason once for a process, however many vCPUs it concerns. */
static void report_host_error(struct inventory *inventory, struct process *process,
			      const struct host_error *error)
{
	char *reason;

	if (process->reported.err == error->err)
		return;
	process->reported = *error;
	reason = host_explain(error);
	inventory_blame(inventory, process, "%s", reason);
	free(reason);
}

static struct vm *find_vm(const struct inventory *inventory, uint64_t number)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (inventory->vm[i]->number == number)
			return inventory->vm[i];
	}
	return NULL;
}

/* Stands for all VMs of a process whose statistics files KVM does not give out. */
static struct vm *find_closed_vm(const struct inventory *inventory,
				 const struct process *process)
{
	struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		if (vm->process == process && !vm->dead &&
		    (vm->refusal.err || !vm_has_statistics(vm)))
			return vm;
	}
	return NULL;
}

static unsigned int count_fds(const struct proc_fds *fds, bool vms)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < fds->count; i++)
		count += (fds->entry[i].link == LINK_VM) == vms && !fds->entry[i].is_stats;
	return count;
}

/* Counts the vCPUs of one VM by their numbers. The vCPUs of several VMs share numbers. */
static unsigned int count_vcpus(const struct proc_fds *fds)
{
	size_t count;

	if (count_fds(fds, true) > 1)
		return count_fds(fds, false);
	free(proc_vcpus(fds, &count));
	return count;
}

static void remember_schema(struct statsfile_schema **known, struct statsfile_schema *schema)
{
	if (*known == schema)
		return;
	if (*known)
		statsfile_schema_put(*known);
	*known = statsfile_schema_get(schema);
}

static void see_vcpus(struct inventory *inventory, struct vm *vm)
{
	static const struct statsfile none = { .source.fd = -1, };
	uint32_t online_vcpus = statsfile_online_vcpus(&vm->file);
	uint32_t first = vm->num_vcpus;
	struct statsfile_error error;
	uint32_t *ids;
	size_t i;

	if (online_vcpus <= first || vm->hides_vcpus)
		return;
	ids = xcalloc(online_vcpus - first, sizeof(*ids));
	if (!statsfile_read_vcpu_ids(&vm->file, first, online_vcpus - first, ids, &error)) {
		for (i = 0; i < online_vcpus - first; i++)
			vm_add_vcpu(vm, &none, ids[i]);
	} else {
		vm->hides_vcpus = true;
		inventory_blame(inventory, vm->process, "new vCPUs are left out: %s",
				error.text);
	}
	free(ids);
}

/* The VM's file tells whether the vCPUs' own files are needed. */
static void note_vm(struct process *process, const struct vm *vm)
{
	if (statsfile_has_windows(&vm->file))
		process->has_whole_vm = true;
	else
		process->has_split_vm = true;
}

/* Takes over the file. */
static void take_vm(struct inventory *inventory, struct process *process, int fd,
		    struct statsfile *file, uint64_t number)
{
	/* EPOLLHUP, once. */
	struct epoll_event event = { .events = EPOLLONESHOT, };
	struct vm *vm = inventory_add_vm(inventory, process);

	vm->fd = fd;
	vm->file = *file;
	vm->number = number;
	epoll_ctl(inventory->events, EPOLL_CTL_ADD, file->source.fd, &event);
	remember_schema(&inventory->known.vm, file->schema);
	if (file->vcpu_schema)
		remember_schema(&inventory->known.vcpu, file->vcpu_schema);
	note_vm(process, vm);
	see_vcpus(inventory, vm);
}

/* Takes over the file. */
static void take_vcpu(struct inventory *inventory, struct process *process, struct vm *vm,
		      struct statsfile *file, unsigned int number)
{
	if (vm->num_vcpus &&
	    !statsfile_schema_is_same(vm->vcpu[0].file.schema, file->schema)) {
		inventory_blame(inventory, process,
				"vCPU %u is left out, it has other statistics than vCPU %u",
				number, vm->vcpu[0].number);
		statsfile_close(file);
		return;
	}
	remember_schema(&inventory->known.vcpu, file->schema);
	vm_add_vcpu(vm, file, number);
}

/* Takes over the statistics file, which @fd of the process has given. */
static void open_statistics(struct inventory *inventory, struct process *process,
			    const struct proc_fd *fd, int stats, uint64_t number)
{
	struct statsfile_source source = { .fd = stats, .access = inventory->host->access, };
	struct vm *vm = number ? find_vm(inventory, number) : NULL;
	struct statsfile_error error;
	struct statsfile file;

	if (vm && fd->link == LINK_VM)
		note_vm(process, vm);
	/* Another file descriptor, or the VM's file, has shown it before. */
	if (vm && (fd->link == LINK_VM || statsfile_has_windows(&vm->file) ||
		   vm_find_vcpu(vm, fd->link))) {
		close(stats);
	} else if (!number) {
		inventory_blame(inventory, process,
				"its statistics file has an fdinfo without VM; " NEEDED_KERNEL);
		close(stats);
	} else if (!vm && fd->link != LINK_VM) {
		inventory_blame(inventory, process,
				"vCPU %d is left out, no process has its VM", fd->link);
		close(stats);
	} else if (statsfile_open(&file, &source, &inventory->known, &error)) {
		inventory_blame(inventory, process, MALFORMED, error.text);
		close(stats);
	} else if (vm) {
		take_vcpu(inventory, process, vm, &file, fd->link);
	} else {
		take_vm(inventory, process, fd->fd, &file, number);
	}
}

/*
 * Any number of processes may make kvmstat wait, each for as long as the broker allows: a scan
 * asks no more such questions after this time.
 */
#define WAIT_NS (NSEC_PER_SEC / 4)

static bool is_late(const struct inventory *inventory)
{
	return inventory->waited_ns >= WAIT_NS;
}

/*
 * The process is asked again after a time that doubles: doing it on purpose costs others less
 * and less.
 */
static void note_silence(struct inventory *inventory, const struct process *process,
			 struct silence *silence, uint64_t asked_ns)
{
	uint64_t now_ns = monotonic_ns();
	uint64_t wait_ns = silence->wait_ns ? 2 * silence->wait_ns : NSEC_PER_SEC;

	silence->wait_ns = wait_ns < SILENCE_MOST_NS ? wait_ns : SILENCE_MOST_NS;
	silence->until_ns = now_ns + silence->wait_ns;
	inventory->waited_ns += now_ns - asked_ns;
	inventory_blame(inventory, process,
			"it makes others wait, in a system call that does not end; kvmstat asks again from time to time");
}

static bool is_full(const struct host_error *error)
{
	return error->err == EMFILE || error->err == ENFILE;
}

/* The limit on open files holds for the rest of the scan: count what is missing. */
static void note_full(struct inventory *inventory, const struct host_error *error, size_t count)
{
	inventory->is_full = true;
	inventory->num_missing += count;
	inventory_add_problem(inventory, host_explain(error));
}

/* The pid stood for this process if the process still lives after the answer. */
static int get_stats(struct inventory *inventory, struct process *process,
		     const struct proc_fd *fd, uint64_t *number, struct host_error *error)
{
	const struct host *host = inventory->host;
	uint64_t asked_ns = monotonic_ns();
	int stats = -1;

	*error = (struct host_error) { .step = HOST_TAKE, .err = EAGAIN, };
	if (asked_ns < process->files.until_ns || is_late(inventory))
		return -1;
	if (inventory->is_full)
		error->err = EMFILE;
	else
		stats = host->get_stats(host, process->pid, fd, number, error);
	if (stats < 0 && is_full(error))
		note_full(inventory, error, 1);
	if (stats < 0 && error->err == ETIMEDOUT)
		note_silence(inventory, process, &process->files, asked_ns);
	if (!host->is_gone(process->pidfd))
		return stats;
	if (stats >= 0)
		close(stats);
	error->err = ESRCH;
	return -1;
}

/* The next scan finds another process or file, or gets an answer. */
static bool is_passing(const struct host_error *error)
{
	return error->err == ESRCH || error->err == EBADF || error->err == ETIMEDOUT ||
	       error->err == EAGAIN || is_full(error);
}

static void identify(struct inventory *inventory, struct process *process)
{
	bool is_silent = monotonic_ns() < process->memory.until_ns || is_late(inventory);
	const struct host *host = inventory->host;
	uint64_t asked_ns = monotonic_ns();

	process->identity.without_memory = is_silent;
	if (!host->identify(host, process->pid, &process->identity)) {
		process->identity.without_memory = true;
		return;
	}
	if (!process->identity.without_memory)
		process->memory = (struct silence) {};
	memcpy(process->name, process->identity.text[IDENTITY_NAME], sizeof(process->name));
	if (process->identity.without_memory && !is_silent)
		note_silence(inventory, process, &process->memory, asked_ns);
}

/* Returns false if it took next to nothing, as there is nothing to be had. */
static bool look_at(struct inventory *inventory, struct process *process,
		    struct proc_fd *fd)
{
	struct host_error error;
	uint64_t number;
	struct vm *vm;
	int stats;

	/* The other VMs and vCPUs of a process refuse what one of its VMs refuses. */
	if (find_closed_vm(inventory, process)) {
		fd->seen = true;
		return false;
	}
	stats = get_stats(inventory, process, fd, &number, &error);
	if (stats < 0 && is_passing(&error))
		return true;
	fd->seen = true;
	if (stats >= 0) {
		open_statistics(inventory, process, fd, stats, number);
		return true;
	}
	if (fd->link != LINK_VM || !host_refuses(&error))
		report_host_error(inventory, process, &error);
	if (fd->link == LINK_VM) {
		vm = inventory_add_vm(inventory, process);
		vm->fd = fd->fd;
		if (host_refuses(&error))
			vm->refusal = error;
		note_vm(process, vm);
	}
	return true;
}

/*
 * Returns whether it was all of them. A process can have any number of copies, and only taking
 * one shows that it is a copy: the next scan takes what is too much for this one.
 */
static bool look_at_new(struct inventory *inventory, struct process *process, bool vms)
{
	size_t i, left = vms ? PROC_OTHERS_AT_ONCE : PROC_FDS_AT_ONCE;
	struct proc_fd *fd;

	for (i = 0; i < process->fds.count; i++) {
		fd = &process->fds.entry[i];
		if ((fd->link == LINK_VM) != vms || fd->is_stats || fd->seen)
			continue;
		if (!left)
			return false;
		left -= look_at(inventory, process, fd);
	}
	return true;
}

/*
 * Linux 5.14 and newer without the statistics series gives statistics files to the VMM only. A
 * VMM may hold some open, as QEMU 8.1 does, one per vCPU, and those can be taken. They do not
 * say which VM they belong to: all of a process count as one VM's.
 */

/* In the place of the VM's file, where only files of vCPUs are held. */
static struct statsfile_schema no_statistics = { .references = 1, .name_size = 8, };

/* A statistics file that the VMM has open itself. */
static void look_at_held(struct inventory *inventory, struct vm *vm, struct proc_fd *fd)
{
	struct statsfile_source source = { .access = inventory->host->access, };
	struct process *process = vm->process;
	struct host_error host_error;
	struct statsfile_error error;
	struct statsfile file;
	uint64_t number;

	if (fd->link == LINK_VM ? vm_has_statistics(vm) : !!vm_find_vcpu(vm, fd->link)) {
		fd->seen = true;
		return;
	}
	source.fd = get_stats(inventory, process, fd, &number, &host_error);
	if (source.fd < 0 && is_passing(&host_error))
		return;
	fd->seen = true;
	if (source.fd < 0) {
		report_host_error(inventory, process, &host_error);
	} else if (statsfile_open(&file, &source, &inventory->known, &error)) {
		inventory_blame(inventory, process, MALFORMED, error.text);
		close(source.fd);
	} else if (fd->link == LINK_VM) {
		vm->file = file;
		remember_schema(&inventory->known.vm, file.schema);
	} else {
		if (!vm_has_statistics(vm))
			statsfile_view(&vm->file, xasprintf("-"), &no_statistics, NULL, NULL, 0);
		if (vm->held_fd < 0) {
			vm->held_fd = fd->fd;
			vm->held_vcpu = fd->link;
		}
		take_vcpu(inventory, process, vm, &file, fd->link);
	}
}

static void look_at_all_held(struct inventory *inventory, struct process *process)
{
	struct vm *vm = find_closed_vm(inventory, process);
	struct proc_fd *fd;
	bool had_none;
	size_t i;
	int vms;

	if (!vm)
		return;
	if (!vm_has_statistics(vm))
		vm->num_vcpus_counted = count_vcpus(&process->fds);
	if (!vm->refusal.err)
		return;
	had_none = !vm_has_statistics(vm);
	for (vms = 1; vms >= 0; vms--) {
		for (i = 0; i < process->fds.count; i++) {
			fd = &process->fds.entry[i];
			if (fd->is_stats && !fd->seen && (fd->link == LINK_VM) == vms)
				look_at_held(inventory, vm, fd);
		}
	}
	/* What was missing before is not what is missing now. */
	if (had_none && vm_has_statistics(vm)) {
		vm->refusal_said = false;
		vm->num_vcpus_counted = 0;
	}
}

static void mark_end(struct vm *vm)
{
	vm->dead = true;
	/* Its file descriptors are closed: their numbers may stand for others soon. */
	vm->process->fds.count = 0;
}

/*
 * Whether the process has closed its VM and made another one, which the numbers of file
 * descriptors do not show: a VMM holds the same file of a vCPU for as long as there is a VM.
 */
static bool is_remade(struct inventory *inventory, const struct vm *vm,
		      const struct proc_fds *fds)
{
	const struct proc_fd *fd = NULL, *other;
	struct host_error error;
	uint64_t number;
	bool is_same;
	int stats;
	size_t i;

	/* Under the same number if there is one. */
	for (i = 0; i < fds->count; i++) {
		other = &fds->entry[i];
		if (vm->held_fd >= 0 && other->is_stats && other->link == vm->held_vcpu &&
		    (!fd || other->fd == vm->held_fd))
			fd = other;
	}
	stats = fd ? get_stats(inventory, vm->process, fd, &number, &error) : -1;
	if (stats < 0)
		return false;
	is_same = inventory->host->is_same(vm_find_vcpu(vm, fd->link)->file.source.fd, stats);
	close(stats);
	return !is_same;
}

enum refusal_kind { REFUSED_NOTHING, REFUSED_VM, REFUSED_VCPUS, REFUSED_ALL, };

/* What is missing of a VM whose KVM gives its files to the VMM only. */
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

#define SHOWN_AS_ONE "pid %d (%s) has %u file descriptors of VMs, and nothing says which vCPU belongs to which: all are shown as one VM, of vCPUs with the same number one"

/*
 * Adds a line for each kind, however many VMs it concerns, which names the first. A VMM opens its
 * files after the vCPU was created: nothing is missing before there is one.
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
		/* The VMM is not at fault for what could not be taken. */
		if (inventory->is_full || vm->dead || !vm->refusal.err || vm->refusal_said ||
		    vm->process->reported.err || !count_vcpus(&vm->process->fds))
			continue;
		vm->refusal_said = true;
		if (vm_has_statistics(vm) && count_fds(&vm->process->fds, true) > 1)
			inventory_add_note(inventory,
					   xasprintf(SHOWN_AS_ONE, vm->process->pid,
						     vm->process->name,
						     count_fds(&vm->process->fds, true)));
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
			reason = xasprintf(VMM_ONLY ", which holds none of the VM");
		else
			reason = xasprintf(VMM_ONLY ", which holds none of %zu vCPU%s",
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

/* A process stays chosen with its VMs, whatever its name is later. */
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

/* Keeps what is known of file descriptors that are still the same. Both lists are sorted. */
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
	struct vm *closed = find_closed_vm(inventory, process);
	bool is_all, has_new_vm;

	if (closed && (!count_fds(&fds, true) || is_remade(inventory, closed, &fds)))
		mark_end(closed);
	has_new_vm = keep_seen(&process->fds, &fds);
	free(process->fds.entry);
	process->fds = fds;
	/* It may have been another program at first, or may answer now. */
	if (has_new_vm || (process->identity.without_memory &&
			   monotonic_ns() >= process->memory.until_ns))
		identify(inventory, process);
	if (!is_chosen(inventory, process))
		return;

	is_all = look_at_new(inventory, process, true);
	/* A vCPU needs its VM. */
	if (is_all && (process->has_split_vm || !process->has_whole_vm))
		is_all = look_at_new(inventory, process, false);
	if (!is_all)
		inventory_add_note(inventory, xasprintf(NOT_ALL, process->pid, process->name));
	look_at_all_held(inventory, process);
}

/* NULL and @error on failure. */
static struct process *open_process(struct inventory *inventory, pid_t pid,
				    struct host_error *error)
{
	/* Once: it stays readable. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, };
	const struct host *host = inventory->host;
	struct process *process;
	int pidfd;

	pidfd = host->open_process(host, pid, error);
	if (pidfd < 0)
		return NULL;
	process = inventory_add_process(inventory, pid, pidfd);
	identify(inventory, process);
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
	/* It is there, but not for everybody (hidepid). */
	return ret == -ENOENT ? -EACCES : ret;
}

/*
 * Takes over its file descriptors. Another process may have had the pid when they were listed:
 * then what they stood for is not there any more.
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
	} else if (!process && is_full(&error)) {
		note_full(inventory, &error, listed->fds.count);
	} else if (!process && error.err != ESRCH) {
		report_pid_error(inventory, listed->pid, &error);
	}
}

/* Those last that have made kvmstat wait before. */
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
	/* Of other VMs it is known only that a process has them. */
	if (vm_has_statistics(vm) && !vm->refusal.err)
		has_ended = inventory->host->is_dead(vm->file.source.fd);
	else
		has_ended = inventory->host->is_gone(vm->process->pidfd) ||
			    !count_fds(&vm->process->fds, true);
	if (has_ended)
		mark_end(vm);
	return has_ended;
}

static void update(struct inventory *inventory, struct vm *vm)
{
	if (vm_has_statistics(vm))
		see_vcpus(inventory, vm);
}

static void mark_dead(struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		update(inventory, inventory->vm[i]);
		see_end(inventory, inventory->vm[i]);
	}
}

/* The process that has made a VM, which debugfs knows by a thread, if the process has a VM. */
static struct process *find_maker(struct inventory *inventory, pid_t tid)
{
	struct process *process = inventory_find_process(inventory, tid);

	if (!process)
		process = inventory_find_process(inventory, inventory->host->thread_group(
							    inventory->host, tid));
	return process && count_fds(&process->fds, true) ? process : NULL;
}

/*
 * debugfs has all VMs of the host, also one whose file descriptor is on its way between
 * processes, or in a thread with a file table of its own. A VM may have come since the processes
 * were listed: count what the scan before had, too.
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
	/* A process that has VMs and has made none was handed them. */
	for (i = 0; i < inventory->num_processes && unseen; i++) {
		process = inventory->process[i];
		if (process->gone || process->has_made)
			continue;
		unseen -= count_fds(&process->fds, true) < unseen ?
			  count_fds(&process->fds, true) : unseen;
	}
	inventory->num_unowned = unseen;
	if (inventory->has_counted && before < unseen)
		unseen = before;
	inventory->has_counted = true;
	return unseen;
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
		/* Last: what the process has open shows the end of some VMs. */
		mark_dead(inventory);
		report_refusals(inventory);
	}
	if (ret != -EAGAIN) {
		inventory->is_unanswered = false;
		return ret;
	}
	/* What was found before is still there. A late answer may come by the next scan. */
	if (inventory->is_unanswered)
		inventory_add_note(inventory,
				   xasprintf("the process that finds VMs, kvmstat-broker, does not answer: new VMs are not shown"));
	inventory->is_unanswered = true;
	return 0;
}

static void see_events(struct inventory *inventory)
{
	struct epoll_event events[16];
	size_t i;

	/* Each end is said once: this takes it off, so that it wakes nobody again. */
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

	/* It may have many copies of its vCPUs' file descriptors. */
	free(proc_vcpus(&process->fds, &num_vcpus));
	ret = host->read_threads(host, process->pid, num_vcpus, threads);
	/* Another process may have the pid already. */
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
	.update = update,
	.see_end = see_end,
	.read_threads = read_threads,
};

void discover_init(struct inventory *inventory, const struct host *host)
{
	inventory_init(inventory, &processes);
	inventory->host = host;
}
