// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat: what the VMs of this host do, from KVM's statistics files. Finds the
 * command and runs it.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "util.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);	/* NULL without the library that it needs */
	const char *needs;
} commands[] = {
	{ .name = "list", .run = command_list, },
	{ .name = "show", .run = command_show, },
	{ .name = "hist", .run = command_hist, },
	{ .name = "help", .run = command_help, },
	{ .name = "-h", .run = command_help, },
	{ .name = "--help", .run = command_help, },
	{ .name = "-V", .run = command_version, },
	{ .name = "--version", .run = command_version, },
};

static int run_command(int argc, char **argv)
{
	const struct command *command;

	/* Watching has no name: an interval or -p PID is enough, or nothing at all. */
	if (argc < 2)
		return command_watch(argc, argv);
	for (command = commands; command < commands + ARRAY_SIZE(commands); command++) {
		if (strcmp(argv[1], command->name))
			continue;
		if (!command->run)
			return library_error(command->name, command->needs);
		return command->run(argc - 1, argv + 1);
	}
	if (argv[1][0] == '-' || (argv[1][0] >= '0' && argv[1][0] <= '9'))
		return command_watch(argc, argv);
	return usage_error("unknown command '%s'", argv[1]);
}

int main(int argc, char **argv)
{
	int status, output;

	/* A reader that goes away is seen where it is written to. */
	signal(SIGPIPE, SIG_IGN);
	/* The commands have better messages. */
	opterr = 0;
	status = run_command(argc, argv);
	if (!flush_output(&output) && status == STATUS_OK)
		status = output;
	return status;
}
