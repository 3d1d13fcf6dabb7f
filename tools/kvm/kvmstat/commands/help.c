// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat help and --version: see table.c. kvmstat explain NAME...: prints the sentences that
 * describe statistics and exits in the lists from which KVM is built.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command.h"
#include "commands/options.h"
#include "model/descriptions.h"
#include "util/text.h"
#include "util/util.h"

/* "help --words [COMMAND]" is for completion. */
int command_help(int argc, char **argv)
{
	bool words = argc > 1 && !strcmp(argv[1], "--words");
	enum command_id command = NUM_COMMANDS;

	argc -= words;
	argv += words;
	if (argc > 2)
		return usage_error("help: unexpected argument '%s'", argv[2]);
	if (argc > 1) {
		command = !*argv[1] ? COMMAND_STREAM : find_command(argv[1]);
		if (command == NUM_COMMANDS)
			return usage_error("unknown command '%s'", argv[1]);
	}
	if (command == NUM_COMMANDS)
		words ? print_commands() : print_help();
	else
		words ? print_options(command) : print_command_help(command);
	return STATUS_OK;
}

/* Printed by --version. A library that is not built in explains why a command is missing. */
static const char libraries[] = ""
#ifdef HAVE_JSON
	" json-c"
#endif
#ifdef HAVE_HTTP
	" libmicrohttpd"
#endif
#ifdef HAVE_CURSES
	" ncurses"
#endif
#ifdef HAVE_ZLIB
	" zlib"
#endif
#ifdef HAVE_SECCOMP
	" libseccomp"
#endif
#ifdef HAVE_SYSTEMD
	" libsystemd"
#endif
	;

int command_version(int argc, char **argv)
{
	if (argc > 1)
		return usage_error("%s: unexpected argument '%s'", argv[0], argv[1]);
	printf("kvmstat " KVMSTAT_VERSION "\nlibraries:%s\n", *libraries ? libraries : " none");
	return STATUS_OK;
}

static bool explain(const char *pattern)
{
	static const char * const whose[] = {
		[SCOPE_VM] = "of the VM",
		[SCOPE_VCPU] = "of each vCPU",
		[REASON] = "reason for exits",
		[USER_EXIT] = "exit to the VMM",
	};
	const struct output output = standard_output();
	const struct description *found;
	bool any = false;
	size_t from = 0;
	char *text;

	while ((found = find_description(pattern, &from))) {
		text = xasprintf("%s (%s): %s.", found->name, whose[found->scope], found->help);
		print_wrapped(output.file, text, output.width > 4 ? output.width - 4 : UINT_MAX, 4);
		fputc('\n', output.file);
		free(text);
		any = true;
	}
	if (!any)
		print_error("no statistic and no exit is called '%s'", pattern);
	return any;
}

int command_explain(int argc, char **argv)
{
	struct options options;
	int i, status;

	status = parse_options(COMMAND_EXPLAIN, argc, argv, &options);
	if (status != STATUS_OK || options.help)
		return status;
	if (!options.num_arguments)
		return usage_error("explain: the name of a statistic is missing");
	for (i = 0; i < options.num_arguments; i++) {
		if (!explain(options.argument[i]))
			status = STATUS_ERROR;
	}
	return status;
}
