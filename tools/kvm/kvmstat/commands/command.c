// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that commands share: inventories, chosen VMs, output that may be a closed pipe.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "commands/command.h"
#include "privilege/broker.h"
#include "render/render.h"
#include "sources/discover.h"
#include "sources/proc.h"
#include "sources/replay.h"
#include "util/util.h"

const struct host *command_host = &this_host;

int library_error(const char *what, const char *library)
{
	print_error("no %s: kvmstat was built without %s", what, library);
	return STATUS_ERROR;
}

static int compare_lines(const void *a, const void *b, void *argument)
{
	const struct tracked_vm *left = *(const struct tracked_vm * const *)a;
	const struct tracked_vm *right = *(const struct tracked_vm * const *)b;
	const struct options *options = argument;
	int order = compare_tracked(left, right, options->order);

	if (order)
		return column_begins_low(options->order) ? order : -order;
	return (left->serial > right->serial) - (left->serial < right->serial);
}

/* Only a stream shows a VM that has ended, once. */
static size_t list_shown(const struct tracker *tracker, const struct options *options,
			 const struct tracked_vm **shown)
{
	size_t i, count = 0;

	for (i = 0; i < tracker->num_vms; i++) {
		if (tracker_shows(tracker, tracker->vm[i]) &&
		    !(options->command != COMMAND_STREAM && tracker->vm[i]->ended))
			shown[count++] = tracker->vm[i];
	}
	return count;
}

void get_overviews(const struct tracker *tracker, const struct options *options,
		   struct overviews *overviews)
{
	const struct tracked_vm **vm = xcalloc(tracker->num_vms, sizeof(*vm));

	*overviews = (struct overviews) {
		.time = time_source->real(),
		.elapsed_ns = tracker->elapsed_ns,
		.vm = vm,
		.num_vms = list_shown(tracker, options, vm),
		.sorted_by = options->order,
	};
	if (options->order != NUM_COLUMNS && overviews->num_vms)
		qsort_r(vm, overviews->num_vms, sizeof(*vm), compare_lines, (void *)options);
	if (options->limit && overviews->num_vms > options->limit)
		overviews->num_vms = options->limit;
}

#define MAX_INTERVAL (UINT64_C(86400) * NSEC_PER_SEC)

int parse_interval(int argc, char **argv, struct interval *interval)
{
	if (argc > 0 && parse_seconds(argv[0], MIN_INTERVAL, MAX_INTERVAL, &interval->ns))
		return usage_error("'%s' is not an interval of 0.01 to 86400 seconds", argv[0]);
	if (argc > 1 && parse_number(argv[1], 1, INT_MAX, &interval->count))
		return usage_error("'%s' is not a number of reports", argv[1]);
	if (argc > 2)
		return usage_error("unexpected argument '%s'", argv[2]);
	return STATUS_OK;
}

/* Checks how much of this host's processes /proc shows. */
static int look_at_proc(struct inventory *inventory)
{
	if (!proc_is_ours(this_host.proc)) {
		print_error("%s is not mounted, or shows the processes of another pid namespace",
			    this_host.proc);
		return STATUS_ERROR;
	}
	inventory->is_hidden = proc_is_hidden(this_host.proc);
	inventory->is_namespace = proc_is_namespace(this_host.proc);
	return STATUS_OK;
}

static struct broker broker = { .socket = -1, };

void end_inventories(void)
{
	if (broker.socket >= 0)
		broker_close(&broker);
}

int open_inventory(struct inventory *inventory, const struct choice *choice)
{
	struct rlimit files;

	if (replay_recording())
		replay_init(inventory);
	else
		discover_init(inventory, command_host);
	if (choice_is_made(choice))
		inventory->choice = choice;
	if (replay_recording())
		return STATUS_OK;
	if (command_host != &this_host)
		return STATUS_OK;
	if (look_at_proc(inventory) != STATUS_OK)
		return STATUS_ERROR;
	/* kvmstat may need a file per vCPU: use all that the hard limit allows. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	inventory->host = &broker.host;
	inventory->events = epoll_create1(EPOLL_CLOEXEC);
	return broker_start(&broker, &this_host);
}

int (*confine)(unsigned int uses) = privilege_drop;

int sample_tracked(struct tracker *tracker)
{
	struct inventory *inventory = tracker->inventory;
	int ret;

	ret = tracker_sample(tracker);
	print_problems(inventory);
	if (!ret)
		return STATUS_OK;
	print_error("%s: %s", inventory->source->where, strerror(-ret));
	return STATUS_ERROR;
}

uint64_t look_ns(void)
{
	/* Long enough for the ticks that /proc counts, short enough to wait for. */
	return replay_recording() ? time_source->interval.ns : NSEC_PER_SEC / 4;
}

/* A recording's first sample has no interval before it. */
int take_look(struct tracker *tracker, uint64_t interval_ns)
{
	const struct recording *recording = replay_recording();
	bool first = recording && !recording->position;
	uint64_t end_ns = time_source->now_ns();
	int status;

	if (recording && !first && !replay_jump(replay_find(end_ns - interval_ns)))
		return STATUS_ERROR;
	status = sample_tracked(tracker);
	if (status != STATUS_OK || first || (!recording && !tracker->num_vms))
		return status;
	tracker_wait(tracker, -1, recording ? end_ns : time_source->now_ns() + interval_ns);
	/* Scan again, however short the interval was. */
	if (recording)
		tracker->scanned_ns = 0;
	return sample_tracked(tracker);
}

int inventory_status(struct inventory *inventory)
{
	/* Problems may have come since the last sample. */
	print_problems(inventory);
	if (inventory->incomplete || (inventory_is_denied(inventory) && !inventory->found_any))
		return STATUS_ERROR;
	return STATUS_OK;
}

void print_denied(const struct inventory *inventory)
{
	char *denied = inventory_explain_denied(inventory);

	if (denied)
		print_error("%s", denied);
	/* In JSON and CSV, the empty list says so. */
	else if (!inventory->num_vms && !inventory->num_problems && render == &text_renderer)
		print_error("no process%s has a VM",
			    inventory->is_namespace ? " of this pid namespace" : "");
	free(denied);
}

/* print_problems() prints it. */
__printf(2, 3)
static void note_missing(struct inventory *inventory, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	inventory_add_problem(inventory, xvasprintf(format, args));
	va_end(args);
}

static bool has_vm_of(const struct inventory *inventory, const struct choice *part)
{
	const struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		if (choice_has(part, vm->process->pid, vm->process->name))
			return true;
	}
	return false;
}

static bool has_vm(struct inventory *inventory, struct process *process)
{
	int ret = inventory_look(inventory, process);
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (inventory->vm[i]->process == process)
			return true;
	}
	if (ret == -EACCES || ret == -EPERM)
		note_missing(inventory, "pid %d: no permission to see its file descriptors; "
			     NEEDED_PERMISSION, process->pid);
	else if (ret)
		note_missing(inventory, "pid %d: %s", process->pid, strerror(-ret));
	else
		note_missing(inventory, "pid %d has no VM; kvmstat list shows all VMs",
			     process->pid);
	return false;
}

/* In a recording the only problem with a process is that it does not exist. */
static bool is_there(struct inventory *inventory, const struct choice *part, bool may_come)
{
	pid_t pid = choice_process(part);
	struct process *process;

	if (replay_recording() && replay_has(part))
		return true;
	if (pid) {
		process = inventory_find_process(inventory, pid);
		if (!process)
			process = inventory_find(inventory, pid);
		return process && (may_come || has_vm(inventory, process));
	}
	if (may_come || has_vm_of(inventory, part))
		return true;
	note_missing(inventory, "no VM is called '%s'; kvmstat list shows all VMs",
		     part->name[0]);
	return false;
}

/* Replay shows the last sample with a chosen VM: this one had ended before it. */
static void note_ended(struct inventory *inventory, const struct choice *part)
{
	pid_t pid = choice_process(part);

	if (pid)
		note_missing(inventory, "pid %d ended before other chosen VMs: choose it alone",
			     pid);
	else
		note_missing(inventory,
			     "'%s' ended before other chosen VMs: choose it alone",
			     part->name[0]);
}

int find_chosen(struct inventory *inventory, bool may_come)
{
	const struct choice *choice = inventory->choice;
	int status = STATUS_OK;
	struct choice part;
	size_t i;

	if (!choice)
		return STATUS_OK;
	if (choice->num_names && !may_come && !replay_recording())
		inventory_look(inventory, NULL);
	for (i = 0; choice_part(choice, i, &part); i++) {
		if (!is_there(inventory, &part, may_come))
			status = STATUS_ERROR;
	}
	if (status != STATUS_OK || !replay_recording())
		return status;
	if (replay_go_to_chosen(choice))
		inventory_look(inventory, NULL);
	for (i = 0; choice_part(choice, i, &part); i++) {
		if (replay_may_have(&part))
			continue;
		note_ended(inventory, &part);
		status = STATUS_ERROR;
	}
	return status;
}

int look_for_chosen(struct inventory *inventory, bool may_come)
{
	int status = find_chosen(inventory, may_come);

	print_problems(inventory);
	if (status != STATUS_OK && inventory->choice->num_names && inventory_is_denied(inventory))
		print_denied(inventory);
	return status;
}

void print_missing(struct inventory *inventory)
{
	struct choice part;
	size_t i;

	if (!inventory->choice || !inventory->choice->num_names)
		return;
	inventory_look(inventory, NULL);
	for (i = 0; choice_part(inventory->choice, i, &part); i++) {
		if (!choice_process(&part) && !has_vm_of(inventory, &part))
			print_error("no VM is called '%s' yet", part.name[0]);
	}
}

bool has_no_statistics(const struct inventory *inventory)
{
	bool any = false;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		any |= inventory->vm[i]->num_vcpus_counted;
		if (vm_has_statistics(inventory->vm[i]))
			return false;
	}
	return any;
}

int vcpu_error(const struct inventory *inventory, const struct choice *choice, int vcpu)
{
	pid_t pid = choice_process(choice);
	const char *why = "";
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (!vm_has_statistics(inventory->vm[i]))
			why = " that kvmstat knows";
	}
	if (pid)
		print_error("pid %d has no vCPU %d%s", pid, vcpu, why);
	else if (choice_is_made(choice))
		print_error("no chosen VM has a vCPU %d%s", vcpu, why);
	else
		print_error("no VM has a vCPU %d%s", vcpu, why);
	return STATUS_ERROR;
}

int no_statistics_error(void)
{
	print_error("no chosen VM has statistics");
	return STATUS_ERROR;
}

struct output standard_output(void)
{
	static bool has_no_width;	/* not asked for again with each sample */
	struct output output = { .file = stdout, };
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t number;

	if (columns && !parse_number(columns, 1, 10000, &number))
		output.width = number;
	else if (!has_no_width && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		output.width = size.ws_col;
	else
		has_no_width = true;
	return output;
}

/* Returns why writing to stdout failed. The errno of an earlier failure is lost: fail again. */
static int output_error(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO, };

	if (fflush(stdout))
		return -errno;
	if (!ferror(stdout))
		return 0;
	if (poll(&output, 1, 0) > 0 && output.revents & POLLERR)
		return -EPIPE;
	/* A descriptor that is not open for writing fails with zero bytes, too. */
	return write(STDOUT_FILENO, "", 0) < 0 ? -errno : -EIO;
}

bool flush_output(int *status)
{
	static bool is_said;	/* main() calls this once more */
	int ret = output_error();

	if (!ret)
		return true;
	if (ret == -EPIPE) {
		*status = STATUS_OK;
	} else {
		if (!is_said)
			print_error("cannot write the output: %s", strerror(-ret));
		is_said = true;
		*status = STATUS_ERROR;
	}
	return false;
}
