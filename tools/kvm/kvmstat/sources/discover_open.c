// SPDX-License-Identifier: GPL-2.0
/* Takes and opens the statistics files of a process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sources/discover_open.h"
#include "util/util.h"

#define MALFORMED "malformed statistics file: %s"

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

struct vm *discover_closed_vm(const struct inventory *inventory,
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

static void remember_schema(struct statsfile_schema **known, struct statsfile_schema *schema)
{
	statsfile_schema_get(schema);
	statsfile_schema_put(*known);
	*known = schema;
}

void discover_see_vcpus(struct inventory *inventory, struct vm *vm)
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
	discover_see_vcpus(inventory, vm);
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
	/* It is known from another file descriptor, or from the VM's file. */
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
 * Any number of processes may make kvmstat wait, each for as long as the broker allows. After this
 * time, a scan asks no more questions whose answers may block.
 */
#define WAIT_NS (NSEC_PER_SEC / 4)

static bool is_late(const struct inventory *inventory)
{
	return inventory->waited_ns >= WAIT_NS;
}

/*
 * Asks the process again after a time that doubles, so that deliberate delays cost less and less.
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
			"reading from it takes too long: a system call does not end; kvmstat will try again");
}

static bool is_full(const struct host_error *error)
{
	return error->err == EMFILE || error->err == ENFILE;
}

bool discover_note_full(struct inventory *inventory, const struct host_error *error, size_t count)
{
	if (!is_full(error))
		return false;
	inventory->is_full = true;
	inventory->num_missing += count;
	inventory_add_problem(inventory, host_explain(error));
	return true;
}

/* Checks that the process still lives after the answer: otherwise the pid may be another one's. */
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
	if (stats < 0)
		discover_note_full(inventory, error, 1);
	if (stats < 0 && error->err == ETIMEDOUT)
		note_silence(inventory, process, &process->files, asked_ns);
	if (!host->is_gone(process->pidfd))
		return stats;
	if (stats >= 0)
		close(stats);
	error->err = ESRCH;
	return -1;
}

/* Whether the next scan may succeed, or find another process or file. */
static bool is_passing(const struct host_error *error)
{
	return error->err == ESRCH || error->err == EBADF || error->err == ETIMEDOUT ||
	       error->err == EAGAIN || is_full(error);
}

void discover_identify(struct inventory *inventory, struct process *process)
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

/* Returns false if it cost next to nothing because the process' VMs are refused. */
static bool look_at(struct inventory *inventory, struct process *process,
		    struct proc_fd *fd)
{
	struct host_error error;
	uint64_t number;
	struct vm *vm;
	int stats;

	/* If KVM refuses one VM of a process, it refuses its other VMs and vCPUs, too. */
	if (discover_closed_vm(inventory, process)) {
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

bool discover_open_new(struct inventory *inventory, struct process *process, bool vms)
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
 * Linux 5.14 and later without the statistics series gives statistics files to the VMM only.
 * kvmstat can take those that the VMM keeps open: QEMU 8.1 keeps one per vCPU. They do not say
 * which VM they belong to: all of a process count as one VM.
 */

/* The schema of a VM whose VMM holds files of vCPUs only. */
static struct statsfile_schema no_statistics = { .references = 1, .name_size = 8, };

/* Takes and opens a statistics file that the VMM holds. */
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

void discover_open_held(struct inventory *inventory, struct process *process)
{
	struct vm *vm = discover_closed_vm(inventory, process);
	struct proc_fd *fd;
	bool had_none;
	size_t i;
	int vms;

	if (!vm)
		return;
	if (!vm_has_statistics(vm))
		vm->num_vcpus_counted = proc_count_vcpus(&process->fds);
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
	/* Now other files are missing than before: report again. */
	if (had_none && vm_has_statistics(vm)) {
		vm->refusal_said = false;
		vm->num_vcpus_counted = 0;
	}
}

bool discover_is_remade(struct inventory *inventory, const struct vm *vm,
			const struct proc_fds *fds)
{
	const struct proc_fd *fd = NULL, *other;
	struct host_error error;
	uint64_t number;
	bool is_same;
	int stats;
	size_t i;

	/* Prefer the same number. */
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
