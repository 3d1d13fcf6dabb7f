// SPDX-License-Identifier: GPL-2.0
/*
 * What the commands have in common: usage errors, pids, output that may be a
 * closed pipe.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "commands/command.h"
#include "privilege/broker.h"
#include "render/render.h"
#include "sources/discover.h"
#include "sources/replay.h"
#include "util/util.h"

const struct renderer *render = &text_renderer;

const struct host *command_host = &this_host;

int usage_error(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	print_error("%s (try kvmstat --help)", text);
	free(text);
	return STATUS_USAGE;
}

int library_error(const char *what, const char *library)
{
	print_error("no %s: kvmstat was built without %s", what, library);
	return STATUS_ERROR;
}

/* What getopt_long() refused. */
static int option_error(int option, char **argv)
{
	const char *name = argv[optind - 1];

	if (option == ':')
		return usage_error("%s needs an argument", name);
	if (!strcmp(name, "--vcpu") || optopt == 'c')
		return usage_error("-c N is for show and hist");
	/* Of short options that are written together only optopt knows which one it was. */
	if (optopt && strncmp(name, "--", 2))
		return usage_error("unknown option -%c", optopt);
	return usage_error("unknown option %s", name);
}

int parse_process_option(int option, char **argv, struct process_options *options)
{
	uint64_t number;

	switch (option) {
	case 'p':
		if (options->pid)
			return usage_error("-p PID is there twice");
		if (parse_number(optarg, 1, INT_MAX, &number))
			return usage_error("'%s' is not a pid", optarg);
		options->pid = number;
		return STATUS_OK;
	case 'h':
		options->help = true;
		return STATUS_OK;
	default:
		return option_error(option, argv);
	}
}

#define MIN_INTERVAL (10 * MSEC)
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

/* What this host shows of its processes. */
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

int open_inventory(struct inventory *inventory)
{
	struct rlimit files;

	if (replay_recording()) {
		replay_init(inventory);
		return STATUS_OK;
	}
	discover_init(inventory, command_host);
	if (command_host != &this_host)
		return STATUS_OK;
	if (look_at_proc(inventory) != STATUS_OK)
		return STATUS_ERROR;
	/* It may take a file per vCPU; the hard limit is the one that is meant. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	inventory->host = &broker.host;
	discover_listen(inventory);
	return broker_start(&broker, &this_host);
}

int (*drop_privileges)(unsigned int uses) = privilege_drop;

int confine(unsigned int uses)
{
	return drop_privileges(uses);
}

void print_problems(struct inventory *inventory)
{
	for (; inventory->num_printed < inventory->num_problems; inventory->num_printed++)
		print_error("%s", inventory->problem[inventory->num_printed]);
}

int sample_tracked(struct tracker *tracker)
{
	struct inventory *inventory = tracker->inventory;
	int ret;

	ret = tracker_sample(tracker, time_source->now_ns());
	print_problems(inventory);
	if (!ret)
		return STATUS_OK;
	print_error("%s: %s", inventory->source->where, strerror(-ret));
	return STATUS_ERROR;
}

int inventory_status(const struct inventory *inventory)
{
	bool denied = inventory->num_denied || inventory->is_hidden;

	if (inventory->incomplete || (denied && !inventory->found_any))
		return STATUS_ERROR;
	return STATUS_OK;
}

void print_denied(const struct inventory *inventory)
{
	if (inventory->is_hidden)
		print_error("/proc hides the processes of other users (hidepid); "
			    NEEDED_PERMISSION);
	else if (inventory->num_denied)
		print_error("%zu processes may not be looked into; " NEEDED_PERMISSION,
			    inventory->num_denied);
	else if (!inventory->num_vms && !inventory->num_problems)
		print_error("no process%s has a VM",
			    inventory->is_namespace ? " of this pid namespace" : "");
}

static bool has_statistics(const struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (vm_has_statistics(inventory->vm[i]))
			return true;
	}
	return false;
}

static bool has_vcpus(const struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (inventory->vm[i]->num_vcpus_counted)
			return true;
	}
	return false;
}

int look_for_vms(struct inventory *inventory, struct process *process, bool *none_yet)
{
	int ret;

	ret = inventory_look(inventory, process);
	print_problems(inventory);
	if (has_statistics(inventory))
		return STATUS_OK;
	if (ret == -EACCES || ret == -EPERM)
		print_error("pid %d: no permission to see its file descriptors; " NEEDED_PERMISSION,
			    process->pid);
	else if (ret == -ESRCH && none_yet)
		print_error("pid %d ended without a VM", process->pid);
	else if (ret)
		print_error("pid %d: %s", process->pid, strerror(-ret));
	else if (!has_vcpus(inventory) && none_yet)
		*none_yet = true;
	else if (!inventory->num_vms)
		print_error("pid %d has no VM; kvmstat list shows those that have",
			    process->pid);
	else if (!has_vcpus(inventory))
		print_error("pid %d has a VM, but no vCPU", process->pid);
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

bool flush_output(int *status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	if (errno == EPIPE) {
		*status = STATUS_OK;
	} else {
		print_error("cannot write the output: %s", strerror(errno));
		*status = STATUS_ERROR;
	}
	return false;
}
