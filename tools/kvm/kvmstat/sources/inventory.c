// SPDX-License-Identifier: GPL-2.0
/*
 * The VMs that a source has found, and its problems.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sources/inventory.h"
#include "util/util.h"

void inventory_init(struct inventory *inventory, const struct source *source)
{
	*inventory = (struct inventory) {
		.source = source,
		.events = -1,
	};
}

/* While another process has the file open, closing it here does not end its events. */
static void stop_listening(const struct inventory *inventory, int fd)
{
	if (inventory->events >= 0 && fd >= 0)
		epoll_ctl(inventory->events, EPOLL_CTL_DEL, fd, NULL);
}

static void free_vm(const struct inventory *inventory, struct vm *vm)
{
	size_t i;

	for (i = 0; i < vm->num_vcpus; i++) {
		if (vm->vcpu[i].file.schema)
			statsfile_close(&vm->vcpu[i].file);
	}
	free(vm->vcpu);
	if (vm_has_statistics(vm)) {
		stop_listening(inventory, vm->file.source.fd);
		statsfile_close(&vm->file);
	}
	free(vm->values);
	free(vm);
}

static void free_process(const struct inventory *inventory, struct process *process)
{
	stop_listening(inventory, process->pidfd);
	if (process->pidfd >= 0)
		close(process->pidfd);
	free(process->fds.entry);
	free(process);
}

void inventory_free(struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++)
		free_vm(inventory, inventory->vm[i]);
	for (i = 0; i < inventory->num_processes; i++)
		free_process(inventory, inventory->process[i]);
	for (i = 0; i < inventory->num_problems; i++)
		free(inventory->problem[i]);
	statsfile_schema_put(inventory->known.vm);
	statsfile_schema_put(inventory->known.vcpu);
	free(inventory->vm);
	free(inventory->process);
	free(inventory->problem);
	if (inventory->events >= 0)
		close(inventory->events);
}

static bool is_said(const struct inventory *inventory, const char *text)
{
	size_t i;

	for (i = 0; i < inventory->num_problems; i++) {
		if (!strcmp(inventory->problem[i], text))
			return true;
	}
	return false;
}

void inventory_forget_problems(struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_problems; i++)
		free(inventory->problem[i]);
	inventory->num_forgotten += inventory->num_problems;
	inventory->num_problems = 0;
	inventory->num_printed = 0;
}

void inventory_add_note(struct inventory *inventory, char *text)
{
	/* There are PROBLEMS_MAX problems, and the one that says so. */
	bool is_full = inventory->num_problems > PROBLEMS_MAX;
	uint64_t now_ns = monotonic_ns();

	if (is_full && inventory->num_printed == inventory->num_problems &&
	    now_ns - inventory->problems_full_ns >= PROBLEMS_NS) {
		inventory_forget_problems(inventory);
		is_full = false;
	}
	if (is_full || is_said(inventory, text)) {
		free(text);
		return;
	}
	if (inventory->num_problems == PROBLEMS_MAX) {
		inventory->problems_full_ns = now_ns;
		free(text);
		text = xasprintf("there are more problems, which are not listed");
	}
	inventory->problem = xreallocarray(inventory->problem, inventory->num_problems + 1,
					   sizeof(*inventory->problem));
	inventory->problem[inventory->num_problems++] = text;
}

void inventory_add_problem(struct inventory *inventory, char *text)
{
	inventory->incomplete = true;
	inventory_add_note(inventory, text);
}

void inventory_blame(struct inventory *inventory, const struct process *process,
		     const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	inventory_add_problem(inventory, xasprintf("pid %d (%s): %s", process->pid,
						   process->name, text));
	free(text);
}

struct vm *inventory_add_vm(struct inventory *inventory, struct process *process)
{
	struct vm *vm = xcalloc(1, sizeof(*vm));

	vm->process = process;
	vm->fd = -1;
	vm->held_fd = -1;
	inventory->found_any = true;
	inventory->vm = xreallocarray(inventory->vm, inventory->num_vms + 1,
				      sizeof(*inventory->vm));
	inventory->vm[inventory->num_vms++] = vm;
	return vm;
}

struct process *inventory_add_process(struct inventory *inventory, pid_t pid, int pidfd)
{
	struct process *process = xcalloc(1, sizeof(*process));

	process->pid = pid;
	process->pidfd = pidfd;
	inventory->process = xreallocarray(inventory->process, inventory->num_processes + 1,
					   sizeof(*inventory->process));
	inventory->process[inventory->num_processes++] = process;
	return process;
}

struct process *inventory_find_process(const struct inventory *inventory, pid_t pid)
{
	size_t i;

	for (i = 0; i < inventory->num_processes; i++) {
		if (inventory->process[i]->pid == pid && !inventory->process[i]->gone)
			return inventory->process[i];
	}
	return NULL;
}

struct vcpu *vm_find_vcpu(const struct vm *vm, unsigned int number)
{
	size_t i;

	for (i = 0; i < vm->num_vcpus; i++) {
		if (vm->vcpu[i].number == number)
			return &vm->vcpu[i];
	}
	return NULL;
}

bool vm_is_of_series(const struct vm *vm)
{
	return statsfile_find(vm->file.schema, "online_vcpus");
}

const char *vm_source(const struct vm *vm)
{
	if (!vm_has_statistics(vm))
		return "proc";
	return vm_is_of_series(vm) ? "series" : "vmm";
}

struct statsfile_schema *vm_vcpu_schema(const struct vm *vm)
{
	if (statsfile_has_windows(&vm->file))
		return vm->file.vcpu_schema;
	return vm->num_vcpus ? vm->vcpu[0].file.schema : NULL;
}

/* Reads @count values from the @first one on: see statsfile_read_some(). */
static int read_some_of_vcpu(const struct vm *vm, size_t index, unsigned int first,
			     unsigned int count, uint64_t *values, struct statsfile_error *error)
{
	if (statsfile_has_windows(&vm->file))
		return statsfile_read_some_of_vcpu(&vm->file, index, first, count, values, error);
	return statsfile_read_some(&vm->vcpu[index].file, first, count, values, error);
}

/* If a state ends during each of these reads, states are short, and the error is small. */
#define READS_MAX 3

/* The kernel has the other half of these fences: see Documentation/virt/kvm/stats.rst. */
static int read_between(const struct vm *vm, size_t index, const struct statsfile_schema *schema,
			uint64_t *values, bool *is_between, struct statsfile_error *error)
{
	unsigned int first = schema->since->first;
	uint64_t before_ns, after_ns;
	int ret;

	ret = read_some_of_vcpu(vm, index, first, 1, &before_ns, error);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!ret)
		ret = read_some_of_vcpu(vm, index, 0, schema->num_values, values, error);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!ret)
		ret = read_some_of_vcpu(vm, index, first, 1, &after_ns, error);
	*is_between = !ret && before_ns && before_ns == after_ns;
	return ret;
}

int vm_read_vcpu(const struct vm *vm, size_t index, uint64_t *values,
		 struct statsfile_error *error)
{
	const struct statsfile_schema *schema = vm_vcpu_schema(vm);
	bool is_between = false;
	int i, ret = 0;

	if (!schema->since)
		return read_some_of_vcpu(vm, index, 0, schema->num_values, values, error);
	for (i = 0; !ret && !is_between && i < READS_MAX; i++)
		ret = read_between(vm, index, schema, values, &is_between, error);
	return ret;
}

void vm_add_vcpu(struct vm *vm, const struct statsfile *file, unsigned int number)
{
	vm->vcpu = xreallocarray(vm->vcpu, vm->num_vcpus + 1, sizeof(*vm->vcpu));
	vm->vcpu[vm->num_vcpus++] = (struct vcpu) { .number = number, .file = *file, };
}

static bool has_vms(const struct inventory *inventory, const struct process *process)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (inventory->vm[i]->process == process)
			return true;
	}
	return false;
}

/* The choice's entries with this pid, as bits of inventory->ended. */
static uint64_t chosen_bits(const struct inventory *inventory, pid_t pid)
{
	const struct choice *choice = inventory->choice;
	uint64_t bits = 0;
	size_t i;

	static_assert(CHOICE_MAX <= 64, "each has a bit");
	for (i = 0; choice && i < choice->num_pids; i++) {
		if (choice->pid[i] == pid)
			bits |= UINT64_C(1) << i;
	}
	return bits;
}

pid_t inventory_pid_of_choice(const struct inventory *inventory, pid_t pid)
{
	uint64_t bits = chosen_bits(inventory, pid);
	size_t i;

	if (inventory->ended & bits)
		return 0;
	for (i = 0; bits && i < inventory->num_processes; i++) {
		if (inventory->process[i]->pid == pid && inventory->process[i]->gone)
			return 0;
	}
	return pid;
}

/* Takes over both. */
static char *join(char *text, char *more)
{
	char *both = text ? xasprintf("%s; %s", text, more) : more;

	if (text) {
		free(text);
		free(more);
	}
	return both;
}

char *inventory_explain_denied(const struct inventory *inventory)
{
	char *text = NULL;

	if (inventory->is_hidden)
		text = xasprintf("/proc hides the processes of other users (hidepid); "
				 NEEDED_PERMISSION);
	else if (inventory->num_denied)
		text = xasprintf("%zu process%s may not be looked into; " NEEDED_PERMISSION,
				 inventory->num_denied, inventory->num_denied > 1 ? "es" : "");
	if (inventory->num_missing)
		text = join(text, xasprintf("%zu files of VMs and vCPUs are missing: too many open files; raise the limit (ulimit -Hn)",
					    inventory->num_missing));
	if (inventory->num_unseen)
		text = join(text, xasprintf("debugfs shows %zu VM%s that no visible process has",
					    inventory->num_unseen,
					    inventory->num_unseen > 1 ? "s" : ""));
	return text;
}

void inventory_forget_dead(struct inventory *inventory)
{
	struct process *process;
	size_t i, kept;

	for (i = kept = 0; i < inventory->num_vms; i++) {
		if (inventory->vm[i]->dead)
			free_vm(inventory, inventory->vm[i]);
		else
			inventory->vm[kept++] = inventory->vm[i];
	}
	inventory->num_vms = kept;
	/* Keep a process with VMs: they may live on in a child that has their file descriptors. */
	for (i = kept = 0; i < inventory->num_processes; i++) {
		process = inventory->process[i];
		if (process->gone && !has_vms(inventory, process)) {
			inventory->ended |= chosen_bits(inventory, process->pid);
			free_process(inventory, process);
		} else {
			inventory->process[kept++] = process;
		}
	}
	inventory->num_processes = kept;
}

void print_problems(struct inventory *inventory)
{
	for (; inventory->num_printed < inventory->num_problems; inventory->num_printed++)
		print_error("%s", inventory->problem[inventory->num_printed]);
}
