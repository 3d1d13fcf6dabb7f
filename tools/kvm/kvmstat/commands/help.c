// SPDX-License-Identifier: GPL-2.0
/*
 * Help and version: see options.c.
 */
#include <stdio.h>
#include <string.h>

#include "commands/command.h"
#include "commands/options.h"
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

/* What the program was built with: tells why a command is missing. */
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
