// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat: shows what the VMs of this host do, from KVM's statistics files. Finds the
 * command and runs it.
 */
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/command.h"
#include "commands/options.h"
#include "render/render.h"
#include "sources/replay.h"
#include "util/text.h"
#include "util/util.h"

static int run_replay(int argc, char **argv);

static const struct command {
	int (*run)(int argc, char **argv);	/* NULL without the library that it needs */
	const char *needs;
	bool replay;				/* it can replay a recording, */
	bool latest;				/* by default its last sample */
} commands[NUM_COMMANDS] = {
	[COMMAND_LIST] = { .run = command_table, .replay = true, .latest = true, },
	[COMMAND_WHY] = { .run = command_table, .replay = true, .latest = true, },
	[COMMAND_TOP] = { .run = WITH_CURSES(command_top), .needs = "ncurses", .replay = true, },
	[COMMAND_STREAM] = { .run = command_stream, .replay = true, },
	[COMMAND_SHOW] = { .run = command_show, .replay = true, .latest = true, },
	[COMMAND_EXITS] = { .run = command_table, .replay = true, .latest = true, },
	[COMMAND_HIST] = { .run = command_show, .replay = true, .latest = true, },
	[COMMAND_WATCH] = { .run = command_watch, .replay = true, },
	[COMMAND_RECORD] = { .run = command_record, },
	[COMMAND_REPLAY] = { .run = run_replay, },
	[COMMAND_EXPORT] = { .run = WITH_HTTP(command_export), .needs = "libmicrohttpd", },
	[COMMAND_EXPLAIN] = { .run = command_explain, },
	[COMMAND_HELP] = { .run = command_help, },
};

/* Removes @option, which may stand anywhere before "--". Returns whether it was there. */
static bool take_option(int *argc, char **argv, const char *option)
{
	int i, kept;

	for (i = kept = 1; i < *argc && strcmp(argv[i], "--"); i++) {
		if (strcmp(argv[i], option))
			argv[kept++] = argv[i];
	}
	if (kept == i)
		return false;
	while (i <= *argc)
		argv[kept++] = argv[i++];
	*argc = kept - 1;
	return true;
}

/* "--json", "--csv", or NULL for text. */
static const char *format;

static int choose_format(int *argc, char **argv)
{
	bool json = take_option(argc, argv, "--json"), csv = take_option(argc, argv, "--csv");

	if (json && csv)
		return usage_error("--json and --csv do not go together");
	if (!json && !csv)
		return STATUS_OK;
	format = json ? "--json" : "--csv";
#ifdef HAVE_JSON
	json_prepare();
	render = json ? &json_renderer : &csv_renderer;
	if (json)
		error_printer = render->error;
	return STATUS_OK;
#else
	return library_error(format, "json-c");
#endif
}

static int run(enum command_id id, int argc, char **argv)
{
	const struct command *command = &commands[id];
	const char *name = command_info[id].name;

	if (!command->run)
		return library_error(name, command->needs);
	if (format && !command_takes(id, format))
		return usage_error("%s has no %s", name, format);
	if (replay_recording() && !command->replay)
		return usage_error("%s cannot replay a recording", name);
	return replay_begin(command->latest) ? command->run(argc, argv) : STATUS_ERROR;
}

static int run_command(int argc, char **argv)
{
	enum command_id id;

	/* A stream has no name: an interval or -p VM is enough, or nothing at all. */
	if (argc < 2 || is_interval(argv[1]))
		return run(COMMAND_STREAM, argc, argv);
	if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))
		return command_version(argc - 1, argv + 1);
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		return run(COMMAND_HELP, argc - 1, argv + 1);
	if (argv[1][0] == '-')
		return run(COMMAND_STREAM, argc, argv);
	id = find_command(argv[1]);
	if (id == NUM_COMMANDS)
		return usage_error("unknown command '%s'", argv[1]);
	return run(id, argc - 1, argv + 1);
}

static int run_replay(int argc, char **argv)
{
	return command_replay(argc, argv, run_command);
}

/*
 * Opens standard input, output and error if they are closed, so that no other file gets their
 * numbers. Writing there stays an error.
 */
static void open_missing(void)
{
	int fd = open("/dev/null", O_RDONLY);

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = dup(fd);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	int status, output;

	open_missing();
	/* For the width of characters; numbers keep their format. */
	setlocale(LC_CTYPE, "");
	wrap_errors();
	use_kernels_clock();
	/* If the reader of the output goes away, write() fails. */
	signal(SIGPIPE, SIG_IGN);
	/* getopt() prints no messages: the commands have better ones. */
	opterr = 0;
	status = choose_format(&argc, argv);
	if (status == STATUS_OK)
		status = run_command(argc, argv);
	if (!flush_output(&output) && status == STATUS_OK)
		status = output;
	end_inventories();
	return status;
}
