// SPDX-License-Identifier: GPL-2.0
/*
 * Finds VMs and their vCPUs. A process may die, close a file descriptor or open
 * another one under the same number between any two calls: that is never an
 * error, the next look finds what is there then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sources/discover.h"
#include "sources/held.h"
#include "sources/sums.h"
#include "sources/uevents.h"
#include "util/util.h"

void discover_listen(struct inventory *inventory)
{
	struct epoll_event event = { .events = EPOLLIN, };

	inventory->events = epoll_create1(EPOLL_CLOEXEC);
	inventory->uevents = uevents_open();
	epoll_ctl(inventory->events, EPOLL_CTL_ADD, inventory->uevents, &event);
}

/* What was looked at and is still the same. Both are in the order of the numbers. */
static void keep_seen(const struct proc_fds *last, struct proc_fds *fds)
{
	size_t i = 0, j;

	for (j = 0; j < fds->count; j++) {
		while (i < last->count && last->entry[i].fd < fds->entry[j].fd)
			i++;
		if (i < last->count && last->entry[i].fd == fds->entry[j].fd &&
		    last->entry[i].link == fds->entry[j].link &&
		    last->entry[i].is_stats == fds->entry[j].is_stats)
			fds->entry[j].seen = last->entry[i].seen;
	}
}

/* The same reason for each of a thousand vCPUs is one problem. */
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

/* What stands for all VMs of the process whose statistics files KVM does not give. */
static struct vm *find_closed_vm(const struct inventory *inventory,
				 const struct process *process)
{
	struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		if (vm->process == process && !vm->dead && !vm->sums &&
		    (vm->refusal.err || !vm_has_statistics(vm)))
			return vm;
	}
	return NULL;
}

/* One of the process' VMs of which there are sums: any, or the one that is this @fd. */
static struct vm *find_sums(const struct inventory *inventory, const struct process *process,
			    const struct proc_fd *fd)
{
	struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		if (vm->process == process && !vm->dead && vm->sums &&
		    (!fd || vm->sums->fd == fd->fd))
			return vm;
	}
	return NULL;
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

/* From the file of the VM it is known whether those of the vCPUs are needed. */
static void note_vm(struct process *process, const struct vm *vm)
{
	if (statsfile_has_windows(&vm->file))
		process->has_whole_vm = true;
	else
		process->has_split_vm = true;
}

static bool needs_vcpu_files(const struct process *process)
{
	return process->has_split_vm || !process->has_whole_vm;
}

/* Both take over the file. */
static void take_vm(struct inventory *inventory, struct process *process, int fd,
		    struct statsfile *file, uint64_t number)
{
	/* Its end, once. */
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

/* Whether the object of a file was found before, by another file descriptor or in its VM. */
static bool is_known(const struct vm *vm, const struct proc_fd *fd)
{
	if (!vm || fd->link == LINK_VM)
		return vm;
	return statsfile_has_windows(&vm->file) || vm_find_vcpu(vm, fd->link);
}

static void report_malformed(struct inventory *inventory, const struct process *process,
			     const struct statsfile_error *error)
{
	inventory_blame(inventory, process, "malformed statistics file: %s", error->text);
}

static void open_statistics(struct inventory *inventory, struct process *process,
			    const struct proc_fd *fd, int stats, uint64_t number)
{
	struct statsfile_source source = { .fd = stats, .access = inventory->host->access, };
	struct vm *vm = number ? find_vm(inventory, number) : NULL;
	struct statsfile_error error;
	struct statsfile file;

	if (vm && fd->link == LINK_VM)
		note_vm(process, vm);
	if (is_known(vm, fd)) {
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
		report_malformed(inventory, process, &error);
		close(stats);
	} else if (vm) {
		take_vcpu(inventory, process, vm, &file, fd->link);
	} else {
		take_vm(inventory, process, fd->fd, &file, number);
	}
}

#define SILENT "it makes others wait, in a system call that has not ended; what it holds back is asked for again from time to time"

/* Twice as long each time: a process that does this on purpose costs the others less and less. */
static void note_silence(struct inventory *inventory, const struct process *process,
			 struct silence *silence)
{
	uint64_t wait_ns = silence->wait_ns ? 2 * silence->wait_ns : NSEC_PER_SEC;

	silence->wait_ns = wait_ns < SILENCE_MOST_NS ? wait_ns : SILENCE_MOST_NS;
	silence->until_ns = monotonic_ns() + silence->wait_ns;
	inventory_blame(inventory, process, SILENT);
}

static bool is_full(const struct host_error *error)
{
	return error->err == EMFILE || error->err == ENFILE;
}

/* So it is for all that come after it in this look: they are counted. */
static void note_full(struct inventory *inventory, const struct host_error *error, size_t count)
{
	inventory->is_full = true;
	inventory->num_missing += count;
	inventory_add_problem(inventory, host_explain(error));
}

/* That the process is not gone after the answer shows that it was asked, and no other. */
static int get_stats(struct inventory *inventory, struct process *process,
		     const struct proc_fd *fd, uint64_t *number, struct host_error *error)
{
	const struct host *host = inventory->host;
	int stats = -1;

	*error = (struct host_error) { .step = HOST_TAKE, .err = ETIMEDOUT, };
	if (monotonic_ns() < process->files.until_ns)
		return -1;
	if (inventory->is_full)
		error->err = EMFILE;
	else
		stats = host->get_stats(host, process->pid, fd, number, error);
	if (stats < 0 && is_full(error))
		note_full(inventory, error, 1);
	if (stats < 0 && error->err == ETIMEDOUT)
		note_silence(inventory, process, &process->files);
	if (!host->is_gone(process->pidfd))
		return stats;
	if (stats >= 0)
		close(stats);
	error->err = ESRCH;
	return -1;
}

static void add_closed_vm(struct inventory *inventory, struct process *process, int fd,
			  const struct host_error *error)
{
	struct vm *vm = inventory_add_vm(inventory, process);

	vm->fd = fd;
	if (host_refuses(error))
		vm->refusal = *error;
	note_vm(process, vm);
}

static void identify(struct inventory *inventory, struct process *process)
{
	const struct host *host = inventory->host;
	bool is_silent = monotonic_ns() < process->memory.until_ns;

	process->identity.without_memory = is_silent;
	host->identify(host, process->pid, &process->identity);
	if (!process->identity.without_memory)
		process->memory = (struct silence) {};
	memcpy(process->name, process->identity.text[IDENTITY_NAME], sizeof(process->name));
	if (process->identity.without_memory && !is_silent)
		note_silence(inventory, process, &process->memory);
}

/* Whether another answer than before is possible. */
static bool may_be_called_otherwise(const struct process *process)
{
	return process->identity.without_memory && monotonic_ns() >= process->memory.until_ns;
}

/* At the next look there is another process or file, or an answer. */
static bool is_passing(const struct host_error *error)
{
	return error->err == ESRCH || error->err == EBADF || error->err == ETIMEDOUT ||
	       is_full(error);
}

/* Returns whether that took more than to see that there is nothing to be had. */
static bool look_at(struct inventory *inventory, struct process *process,
		    struct proc_fd *fd)
{
	struct vm *closed = find_closed_vm(inventory, process);
	struct host_error error;
	uint64_t number;
	int stats;

	/* What one VM refuses, the others and vCPUs refuse too. */
	if (find_sums(inventory, process, NULL)) {
		fd->seen = true;
		process->has_new_vms |= fd->link == LINK_VM;
		return false;
	}
	if (closed) {
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
	if (fd->link == LINK_VM)
		add_closed_vm(inventory, process, fd->fd, &error);
	return true;
}

/*
 * Returns whether it was all of them. That one is a copy is known when it has been taken, and
 * there can be any number: what is too much for one look is for the next one.
 */
static bool look_at_new(struct inventory *inventory, struct process *process, bool vms)
{
	size_t i, left = vms ? PROC_OTHERS_AT_ONCE : PROC_FDS_AT_ONCE;
	struct proc_fd *fd;
	bool is_vm;

	for (i = 0; i < process->fds.count; i++) {
		fd = &process->fds.entry[i];
		is_vm = fd->link == LINK_VM;
		if (is_vm != vms || fd->is_stats || fd->seen)
			continue;
		if (!left)
			return false;
		left -= look_at(inventory, process, fd);
	}
	return true;
}

/* Takes over the file. */
static void take_held(struct inventory *inventory, struct vm *vm, struct statsfile *file,
		      const struct proc_fd *fd)
{
	int link = fd->link;

	/* Rather one of a vCPU: that of the VM some VMMs open for a moment only. */
	if (vm->held.fd < 0 || (vm->held.link == LINK_VM && link != LINK_VM)) {
		vm->held.fd = fd->fd;
		vm->held.link = link;
	}
	if (link != LINK_VM && !vm_has_statistics(vm))
		held_no_file(&vm->file);
	if (link == LINK_VM) {
		vm->file = *file;
		remember_schema(&inventory->known.vm, file->schema);
	} else {
		take_vcpu(inventory, vm->process, vm, file, link);
	}
}

/* A statistics file that the VMM has open itself. */
static void look_at_held(struct inventory *inventory, struct vm *vm, struct proc_fd *fd)
{
	struct statsfile_source source = { .access = inventory->host->access, };
	struct process *process = vm->process;
	struct statsfile_error error;
	struct host_error host_error;
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
		report_malformed(inventory, process, &error);
		close(source.fd);
	} else {
		take_held(inventory, vm, &file, fd);
	}
}

static void look_at_all_held(struct inventory *inventory, struct process *process)
{
	struct vm *vm = find_closed_vm(inventory, process);
	struct proc_fd *fd;
	bool had_none, is_vm;
	size_t i;
	int vms;

	if (!vm || !vm->refusal.err)
		return;
	had_none = !vm_has_statistics(vm);
	for (vms = 1; vms >= 0; vms--) {
		for (i = 0; i < process->fds.count; i++) {
			fd = &process->fds.entry[i];
			is_vm = fd->link == LINK_VM;
			if (fd->is_stats && !fd->seen && is_vm == vms)
				look_at_held(inventory, vm, fd);
		}
	}
	/* What was missing then is another thing now. */
	if (had_none && vm_has_statistics(vm)) {
		vm->refusal_said = false;
		vm->num_vcpus_counted = 0;
	}
}

/* Of VMs that cannot be looked into. */
static void count_closed(const struct inventory *inventory, const struct process *process)
{
	struct vm *vm = find_closed_vm(inventory, process);

	if (vm && !vm_has_statistics(vm))
		vm->num_vcpus_counted = held_vcpus(&process->fds);
}

/* vCPUs have directories in debugfs, or else it is known only that the process has them. */
static void count_vcpus(struct vm *vm, const struct debugfs_vm *values)
{
	const struct proc_fds *fds = &vm->process->fds;

	if (values->num_vcpus)
		vm->num_vcpus_counted = values->num_vcpus;
	else if (held_vms(fds) == 1)
		vm->num_vcpus_counted = held_vcpus(fds);
}

/* That the process is not gone after the answer shows that it was asked, and no other. */
static int read_debugfs(const struct inventory *inventory, const struct process *process,
			pid_t pid, int fd, struct debugfs_vm *values)
{
	const struct host *host = inventory->host;
	int ret;

	ret = host->read_debugfs(host, pid, fd, values);
	if (ret || !host->is_gone(process->pidfd))
		return ret;
	free(values->value);
	return -ESRCH;
}

static void take_sums(struct inventory *inventory, struct vm *vm, int fd,
		      const struct debugfs_vm *values)
{
	struct statsfile_error error;

	if (sums_open(vm, &inventory->known, fd, values, &error)) {
		inventory_blame(inventory, vm->process, "debugfs: %s", error.text);
		return;
	}
	/* What was missing then is another thing now. */
	vm->refusal_said = false;
	count_vcpus(vm, values);
	remember_schema(&inventory->known.vm, vm->file.schema);
	remember_schema(&inventory->known.vcpu, vm->file.vcpu_schema);
}

static bool has_vm(const struct proc_fds *fds, int fd)
{
	const struct proc_fd *found = proc_find_fd(fds, fd);

	return found && found->link == LINK_VM && !found->is_stats;
}

/*
 * What debugfs has of one of the process' VMs: 0, or why nothing. *@vm is what shall have it,
 * NULL if that is another one.
 */
static int look_at_dir(struct inventory *inventory, struct process *process,
		       struct debugfs_dir *dir, const struct host_error *refusal, struct vm **vm)
{
	const struct proc_fd fd = { .fd = dir->fd, };
	struct debugfs_vm values;
	int ret;

	if (find_sums(inventory, process, &fd))
		return 0;
	ret = read_debugfs(inventory, process, dir->pid, dir->fd, &values);
	/* What is locked down stays so. */
	dir->seen = !ret || ret == -EPERM || ret == -E2BIG;
	if (ret)
		return ret;
	if (!*vm) {
		*vm = inventory_add_vm(inventory, process);
		(*vm)->refusal = *refusal;
	}
	(*vm)->fd = dir->fd;
	take_sums(inventory, *vm, dir->fd, &values);
	free(values.value);
	*vm = NULL;
	return 0;
}

/* All other errors may be over the next time. */
static bool is_end(int ret)
{
	return ret == -ENOENT || ret == -ESRCH || ret == -ENODEV;
}

/* What debugfs has of the process' VMs, see look_at_dir(): 0 or the last error. */
static int look_at_dirs(struct inventory *inventory, struct process *process,
			const struct host_error *refusal, struct vm **vm)
{
	struct debugfs_dir *dir = NULL;
	int ret, failed = 0;

	ret = sums_list(inventory);
	if (ret)
		return ret;
	while ((dir = sums_next_dir(inventory, process, dir))) {
		if (dir->seen || !has_vm(&process->fds, dir->fd))
			continue;
		ret = look_at_dir(inventory, process, dir, refusal, vm);
		if (ret)
			failed = ret;
	}
	return failed;
}

/*
 * Of a process that holds no statistics files, as it does once it has vCPUs: each of its VMs
 * by itself. What stood for all of them becomes the first.
 *
 * A file descriptor that debugfs does not have is taken for a copy of one that it has, which
 * VMMs make: that it is of another VM cannot be seen without kcmp(), and for each pair of them.
 */
static void look_for_sums(struct inventory *inventory, struct process *process)
{
	struct vm *closed = find_closed_vm(inventory, process), *vm = closed;
	const struct vm *refused = closed;
	int ret;

	if (!closed && process->has_new_vms)
		refused = find_sums(inventory, process, NULL);
	if (!refused || (closed && vm_has_statistics(closed)) || !refused->refusal.err ||
	    !held_vcpus(&process->fds))
		return;
	ret = look_at_dirs(inventory, process, &refused->refusal, &vm);
	process->has_new_vms = ret;
	/* If it has none of them that is said in another way. */
	if (vm)
		vm->refusal.debugfs = ret ?: -ENOENT;
	else if (ret && !is_end(ret))
		inventory_blame(inventory, process, "debugfs: %s", strerror(-ret));
}

/* Its file descriptors are closed: their numbers may stand for others soon. */
static void mark_end(const struct inventory *inventory, struct vm *vm)
{
	struct debugfs_dir *dir = NULL;

	vm->dead = true;
	vm->process->fds.count = 0;
	while (vm->sums && (dir = sums_next_dir(inventory, vm->process, dir)))
		dir->seen = false;
}

static void update(struct inventory *inventory, struct vm *vm)
{
	struct debugfs_vm values;
	int ret;

	if (!vm->sums) {
		see_vcpus(inventory, vm);
		return;
	}
	if (vm->dead)
		return;
	ret = read_debugfs(inventory, vm->process, vm->sums->pid, vm->sums->fd, &values);
	/* Not if it is locked down: that is for good. */
	if (ret && !is_end(ret) && ret != -EPERM)
		inventory_blame(inventory, vm->process, "debugfs: %s", strerror(-ret));
	else if (ret || !sums_update(vm, &values))
		mark_end(inventory, vm);
	else
		count_vcpus(vm, &values);
	if (!ret)
		free(values.value);
}

/* A VMM may open its files right after it was looked at: they have more. */
static void prefer_held(struct inventory *inventory, const struct process *process,
			struct proc_fds *fds)
{
	bool any_held = false;
	struct vm *vm;
	size_t i;

	for (i = 0; i < fds->count; i++)
		any_held |= fds->entry[i].is_stats && !fds->entry[i].seen;
	while (any_held && (vm = find_sums(inventory, process, NULL))) {
		vm->dead = true;
		for (i = 0; i < fds->count; i++)
			fds->entry[i].seen = false;
	}
}

/* What is missing of a VM whose KVM gives its files to nobody else. */
static enum refusal_kind refusal_kind_of(const struct vm *vm)
{
	if (!vm_has_statistics(vm))
		return REFUSED_ALL;
	if (vm->sums)
		return REFUSED_EACH;
	if (held_misses_vcpus(vm))
		return REFUSED_VCPUS;
	return vm->file.source.fd < 0 ? REFUSED_VM : REFUSED_NOTHING;
}

#define SHOWN_AS_ONE "pid %d (%s) has %u file descriptors of VMs, and which vCPU belongs to which is not known: all are shown as one VM, of vCPUs with the same number one"

static void report_several_vms(struct inventory *inventory, const struct vm *vm)
{
	unsigned int num_vms = held_vms(&vm->process->fds);

	if (!vm_has_statistics(vm) || vm->sums || num_vms <= 1)
		return;
	inventory_add_note(inventory, xasprintf(SHOWN_AS_ONE, vm->process->pid, vm->process->name,
						num_vms));
}

#define SUMS "its statistics are debugfs' sums of all vCPUs"

/* The caller frees it. */
static char *explain_refusal(const struct vm *vm, enum refusal_kind kind)
{
	if (kind == REFUSED_EACH && vm->sums->num_denied)
		return xasprintf(SUMS ", without %u that may not be read (lockdown)",
				 vm->sums->num_denied);
	if (kind == REFUSED_EACH)
		return xasprintf(SUMS);
	return kind == REFUSED_ALL ? host_explain(&vm->refusal) : held_missing(vm);
}

static bool is_incomplete(const struct vm *vm, enum refusal_kind kind)
{
	return kind > REFUSED_VM || (kind == REFUSED_EACH && vm->sums->num_denied);
}

/*
 * A line for each kind, however many VMs it is of: the first is named. Not before there is
 * a vCPU, as the VMM opens its files after the vCPU was created.
 */
static void report_refusals(struct inventory *inventory)
{
	const struct vm *first[NUM_REFUSALS] = {};
	size_t count[NUM_REFUSALS] = {};
	enum refusal_kind kind;
	char *others, *reason;
	struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		/* What could not be taken is no fault of the VMM. */
		if (inventory->is_full || vm->dead || !vm->refusal.err || vm->refusal_said ||
		    vm->process->reported.err || !held_vcpus(&vm->process->fds))
			continue;
		vm->refusal_said = true;
		report_several_vms(inventory, vm);
		kind = refusal_kind_of(vm);
		if (!count[kind]++)
			first[kind] = vm;
	}
	for (kind = REFUSED_NOTHING + 1; kind < NUM_REFUSALS; kind++) {
		inventory->incomplete |= count[kind] && is_incomplete(first[kind], kind);
		if (!count[kind] || inventory->refusal_said[kind])
			continue;
		inventory->refusal_said[kind] = true;
		reason = explain_refusal(first[kind], kind);
		others = count[kind] > 1 ? xasprintf(" and %zu more", count[kind] - 1) :
					   xasprintf("%s", "");
		inventory_add_note(inventory,
				   xasprintf("pid %d (%s)%s: %s", first[kind]->process->pid,
					     first[kind]->process->name, others, reason));
		free(others);
		free(reason);
	}
}

static void set_seen(struct proc_fds *fds, bool seen)
{
	size_t i;

	for (i = 0; i < fds->count; i++)
		fds->entry[i].seen = seen;
}

static bool has_new_vm(const struct proc_fds *fds)
{
	size_t i;

	for (i = 0; i < fds->count; i++) {
		if (fds->entry[i].link == LINK_VM && !fds->entry[i].is_stats &&
		    !fds->entry[i].seen)
			return true;
	}
	return false;
}

/* With its VMs, and for good, whatever it is called later. */
static bool is_chosen(const struct inventory *inventory, struct process *process)
{
	if (!inventory->choice || process->chosen)
		return true;
	process->chosen = choice_has(inventory->choice,
				     inventory_pid_of_choice(inventory, process->pid),
				     process->name);
	set_seen(&process->fds, !process->chosen);
	return process->chosen;
}

#define NOT_ALL "pid %d (%s) has more new file descriptors of KVM than are looked at in one look"

/* What was taken of the VM, or of that vCPU; or NULL. */
static const struct statsfile *taken_of(const struct vm *vm, int link)
{
	const struct vcpu *vcpu;

	if (link == LINK_VM)
		return &vm->file;
	vcpu = vm_find_vcpu(vm, link);
	return vcpu ? &vcpu->file : NULL;
}

/* A file of the VM or vCPU that was taken, under the same number if there is one. */
static const struct proc_fd *find_held(const struct vm *vm, const struct proc_fds *fds)
{
	const struct proc_fd *fd, *found = NULL;
	size_t i;

	for (i = 0; i < fds->count; i++) {
		fd = &fds->entry[i];
		if (fd->is_stats && fd->link == vm->held.link &&
		    (!found || fd->fd == vm->held.fd))
			found = fd;
	}
	return found;
}

/*
 * Whether the process has closed its VM and made another one, which the numbers of file
 * descriptors do not show: what it holds now is of another VM or vCPU than what was taken.
 */
static bool is_remade(struct inventory *inventory, const struct vm *vm,
		      const struct proc_fds *fds)
{
	const struct proc_fd *fd = vm->held.fd < 0 ? NULL : find_held(vm, fds);
	const struct statsfile *taken = fd ? taken_of(vm, fd->link) : NULL;
	const struct host *host = inventory->host;
	struct host_error error;
	uint64_t number;
	int stats;

	if (!taken || taken->source.fd < 0 || !host->is_same)
		return false;
	stats = get_stats(inventory, vm->process, fd, &number, &error);
	if (stats < 0)
		return false;
	if (!host->is_same(taken->source.fd, stats))
		return !held_count_the_same(taken, stats, &inventory->known);
	close(stats);
	return false;
}

/* Before what comes instead is looked at. */
static void end_closed_vm(struct inventory *inventory, struct process *process,
			  const struct proc_fds *fds)
{
	struct vm *vm = find_closed_vm(inventory, process);

	if (vm && (!held_vms(fds) || is_remade(inventory, vm, fds)))
		mark_end(inventory, vm);
}

/* Takes over the list. */
static void look_at_all(struct inventory *inventory, struct process *process,
			struct proc_fds fds)
{
	bool is_all;

	end_closed_vm(inventory, process, &fds);
	keep_seen(&process->fds, &fds);
	prefer_held(inventory, process, &fds);
	free(process->fds.entry);
	process->fds = fds;
	/* It may have been another program when it was first looked at. */
	if (has_new_vm(&process->fds) || may_be_called_otherwise(process))
		identify(inventory, process);
	if (!is_chosen(inventory, process))
		return;

	is_all = look_at_new(inventory, process, true);
	/* A vCPU needs its VM. */
	if (is_all && needs_vcpu_files(process))
		is_all = look_at_new(inventory, process, false);
	if (!is_all)
		inventory_add_note(inventory, xasprintf(NOT_ALL, process->pid, process->name));
	count_closed(inventory, process);
	look_at_all_held(inventory, process);
	look_for_sums(inventory, process);
}

/* NULL and @error on failure. */
static struct process *open_process(struct inventory *inventory, pid_t pid,
				    struct host_error *error)
{
	/* Once, as it stays readable. */
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
 * Takes over its file descriptors. They may be those of another process that had the
 * pid when they were listed: then they are not what they were.
 */
static void look_at_listed(struct inventory *inventory, struct proc_process *listed)
{
	struct host_error error = { .step = HOST_PROC, .err = listed->err, };
	struct process *process;

	if (!choice_may_have(inventory->choice, inventory_pid_of_choice(inventory, listed->pid)))
		return;
	if (listed->err == EACCES || listed->err == EPERM) {
		inventory->num_denied++;
		return;
	}
	process = inventory_find_process(inventory, listed->pid);
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

static bool is_listed(pid_t pid, const struct proc_list *list)
{
	size_t i;

	for (i = 0; i < list->count && list->process[i].pid <= pid; i++) {
		if (list->process[i].pid == pid)
			return true;
	}
	return false;
}

/* Those that are still there after they were listed are those that were. */
static void mark_gone(struct inventory *inventory, const struct proc_list *list)
{
	struct process *process;
	size_t i;

	for (i = 0; i < inventory->num_processes; i++) {
		process = inventory->process[i];
		process->gone |= inventory->host->is_gone(process->pidfd);
		if (!is_listed(process->pid, list))
			process->fds.count = 0;
	}
}

/*
 * Of a VM without a file of its own, or with one that its VMM holds open, it is known
 * only that a process has it.
 */
static bool has_ended(const struct inventory *inventory, const struct vm *vm)
{
	/* More than that is known when it is read. */
	if (vm->sums)
		return inventory->host->is_gone(vm->process->pidfd);
	if (vm_has_statistics(vm) && !vm->refusal.err)
		return inventory->host->is_dead(vm->file.source.fd);
	return inventory->host->is_gone(vm->process->pidfd) || !held_vms(&vm->process->fds);
}

static bool see_end(const struct inventory *inventory, struct vm *vm)
{
	if (!vm->dead && has_ended(inventory, vm))
		mark_end(inventory, vm);
	return vm->dead;
}

static void mark_dead(struct inventory *inventory)
{
	struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		if (vm_has_statistics(vm))
			see_vcpus(inventory, vm);
		see_end(inventory, vm);
	}
}

/* Whether the process that made the VM has one. */
static bool has_owner(const struct inventory *inventory, const struct debugfs_dir *dir)
{
	const struct process *process = inventory_find_process(inventory, dir->process);

	return process && held_vms(&process->fds);
}

/* VMs that were handed over are those of processes that did not make them. */
static size_t count_handed_over(const struct inventory *inventory)
{
	const struct process *process;
	size_t i, count = 0;

	for (i = 0; i < inventory->num_processes; i++) {
		process = inventory->process[i];
		if (!process->gone && !sums_next_dir(inventory, process, NULL))
			count += held_vms(&process->fds);
	}
	return count;
}

/*
 * debugfs has all VMs of the host: also one whose file descriptor is on its way between
 * processes, or in a thread that has a table of its own. One that has come since the processes
 * were listed is seen in the next look: what counts was without an owner in the last one, too.
 * Nothing is looked into for this, anybody may have any number of them.
 */
static size_t count_unseen(struct inventory *inventory)
{
	struct debugfs_dirs *dirs = &inventory->debugfs;
	size_t i, unseen = 0, handed_over;
	struct debugfs_dir *dir;
	bool is_unowned;

	if (inventory->choice || sums_list(inventory))
		return 0;
	for (i = 0; i < dirs->count; i++) {
		dir = &dirs->dir[i];
		is_unowned = !has_owner(inventory, dir);
		unseen += is_unowned && (dir->unowned || !inventory->has_counted);
		dir->unowned = is_unowned;
	}
	inventory->has_counted = true;
	handed_over = unseen ? count_handed_over(inventory) : 0;
	return unseen > handed_over ? unseen - handed_over : 0;
}

static int look_at_host(struct inventory *inventory)
{
	size_t i;
	struct proc_list list;
	int ret;

	ret = inventory->host->list(inventory->host, &list);
	if (!ret) {
		inventory->num_denied = 0;
		mark_gone(inventory, &list);
		mark_dead(inventory);
		for (i = 0; i < list.count; i++)
			look_at_listed(inventory, &list.process[i]);
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
	char *text;

	if (leader && leader != pid) {
		text = xasprintf("pid %d is a thread of process %d, ask for that one", pid, leader);
		inventory_add_problem(inventory, text);
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

static bool has_name(const struct inventory *inventory, const char *name)
{
	const struct host *host = inventory->host;
	struct identity identity;
	struct proc_list list;
	bool found = false;
	size_t i;

	if (!host->list(host, &list)) {
		for (i = 0; i < list.count && !found; i++) {
			if (list.process[i].err)
				continue;
			identity.without_memory = false;
			host->identify(host, list.process[i].pid, &identity);
			found = !strcmp(identity.text[IDENTITY_NAME], name);
		}
	}
	proc_list_free(&list);
	return found;
}

static int look(struct inventory *inventory, struct process *process)
{
	int ret;

	inventory->debugfs_listed = false;
	inventory->is_full = false;
	inventory->num_missing = 0;
	if (!process)
		return look_at_host(inventory);
	ret = look_again(inventory, process);
	/* Behind it: of some VMs the end is seen by what the process has open. */
	mark_dead(inventory);
	report_refusals(inventory);
	return ret;
}

/* How long a VMM is looked into that makes a VM: until its vCPUs are there, and its files. */
#define MAKER_NS (NSEC_PER_SEC / 2)

/*
 * What is known of the process, or room for it. One that has its next look to come keeps its
 * place: else a few that make VMs by turns would be looked at each time.
 */
static struct maker *find_maker(struct inventory *inventory, pid_t pid, uint64_t now_ns)
{
	struct maker *maker, *room = NULL;

	for (maker = inventory->maker; maker < inventory->maker + INVENTORY_MAKERS; maker++) {
		if (maker->pid == pid)
			return maker;
		if (maker->until_ns < now_ns && maker->next_ns <= now_ns)
			room = maker;
	}
	return room;
}

/* KVM names the thread. */
static pid_t process_of(const struct inventory *inventory, pid_t pid)
{
	return inventory->host->thread_group(inventory->host, pid) ?: pid;
}

/* Not all: they may come as fast as they are read. */
static void read_uevents(struct inventory *inventory, uint64_t now_ns)
{
	struct maker *maker;
	unsigned int i;
	pid_t pid;

	for (i = 0; i < UEVENTS_AT_ONCE && (pid = uevents_next(inventory->uevents)); i++) {
		pid = process_of(inventory, pid);
		maker = find_maker(inventory, pid, now_ns);
		if (!maker)
			continue;
		maker->pid = pid;
		maker->until_ns = now_ns + MAKER_NS;
	}
}

/* Returns how many file descriptors that took, if any. */
static size_t look_at_maker(struct inventory *inventory, pid_t pid)
{
	struct process *process = inventory_find_process(inventory, pid);
	struct host_error error;

	if (!choice_may_have(inventory->choice, inventory_pid_of_choice(inventory, pid)))
		return 0;
	if (!process)
		process = open_process(inventory, pid, &error);
	/* What cannot be seen is said when all are looked at. */
	if (!process || look_again(inventory, process))
		return 0;
	return process->fds.count + process->fds.num_others;
}

/* Returns whether there is one that has to be looked at again. */
static bool look_at_makers(struct inventory *inventory, const struct process *only,
			   uint64_t now_ns)
{
	struct maker *maker;
	bool pending = false;
	size_t num_fds;

	for (maker = inventory->maker; maker < inventory->maker + INVENTORY_MAKERS; maker++) {
		if (maker->until_ns < now_ns || (only && only->pid != maker->pid))
			continue;
		if (maker->next_ns <= now_ns) {
			num_fds = look_at_maker(inventory, maker->pid);
			/* Who makes VMs may have any number, and makes them all the time. */
			maker->next_ns = monotonic_ns() +
					 (1 + num_fds / PROC_OTHERS_AT_ONCE) * MAKERS_STEP_NS;
		}
		pending |= maker->next_ns <= maker->until_ns;
	}
	return pending;
}

static bool see_events(struct inventory *inventory, const struct process *only)
{
	uint64_t now_ns = monotonic_ns();
	struct epoll_event events[16];
	struct process *process;
	bool pending;
	size_t i;

	inventory->debugfs_listed = false;
	inventory->is_full = false;
	/* Each end is said once: this takes it off, so that it wakes nobody again. */
	while (epoll_wait(inventory->events, events, ARRAY_SIZE(events), 0) == ARRAY_SIZE(events))
		;
	read_uevents(inventory, now_ns);
	pending = look_at_makers(inventory, only, now_ns);
	for (i = 0; i < inventory->num_processes; i++) {
		process = inventory->process[i];
		process->gone |= inventory->host->is_gone(process->pidfd);
	}
	for (i = 0; i < inventory->num_vms; i++)
		see_end(inventory, inventory->vm[i]);
	return pending;
}

static int read_threads(const struct inventory *inventory, const struct process *process,
			struct proc_threads *threads)
{
	const struct host *host = inventory->host;
	size_t num_vcpus;
	int ret;

	/* One may have many file descriptors. */
	free(proc_vcpus(&process->fds, &num_vcpus));
	ret = host->read_threads(host, process->pid, num_vcpus, threads);
	/* It may be another one's already. */
	if (ret || !host->is_gone(process->pidfd))
		return ret;
	free(threads->thread);
	return -ESRCH;
}

static const struct source processes = {
	.where = "/proc",
	.look = look,
	.find = find,
	.has_name = has_name,
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
