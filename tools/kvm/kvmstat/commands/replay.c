// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat replay FILE [--at TIME] [COMMAND...]: the other commands, with a recording in
 * the place of this host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/command.h"
#include "render/render.h"
#include "sources/replay.h"
#include "util/util.h"

struct replay_options {
	const char *file;
	const char *at;
	bool info;
	bool help;
};

static size_t start;
static bool has_start;

bool replay_begin(bool latest)
{
	if (!replay_recording())
		return true;
	if (latest && !has_start)
		return replay_jump_to_latest();
	return replay_jump(has_start ? start : 0);
}

int replay_status(void)
{
	if (!replay_recording())
		return STATUS_OK;
	print_error("the recording, or what was chosen, ends before the first interval does");
	return STATUS_ERROR;
}

/* The time of the day, on the first day of the recording, or on the day that is given. */
static bool parse_time(const char *text, time_t first, time_t *time)
{
	static const char * const formats[] = {
		"%H:%M:%S", "%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
		"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M",
	};
	const char *end;
	struct tm tm;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		localtime_r(&first, &tm);
		tm.tm_sec = 0;
		tm.tm_isdst = -1;
		end = strptime(text, formats[i], &tm);
		if (!end || *end)
			continue;
		*time = mktime(&tm);
		/* Of the minute in which it begins there is only the rest. */
		if (formats[i][strlen(formats[i]) - 1] == 'M' && *time < first &&
		    first - *time < 60)
			*time = first;
		/* A recording may go on after midnight. */
		if (*time < first && formats[i][1] == 'H') {
			tm.tm_mday++;
			tm.tm_isdst = -1;
			*time = mktime(&tm);
		}
		return true;
	}
	return false;
}

static int find_start(const char *at)
{
	const struct recording *recording = replay_recording();
	const struct recording_sample *first = recording->sample;
	const struct recording_sample *last = first + recording->num_samples - 1;
	uint64_t begin_ns, end_ns, ns;
	time_t time;

	if (*at == '+') {
		if (parse_seconds(at + 1, 0, INT64_MAX, &ns))
			return usage_error("'%s' is not a number of seconds", at);
		begin_ns = 0;
		end_ns = last->monotonic_ns - first->monotonic_ns;
		start = ns > end_ns ? 0 : replay_find(first->monotonic_ns + ns);
	} else if (parse_time(at, first->real_ns / NSEC_PER_SEC, &time)) {
		/* All of the second, or a time that nothing is recorded at. */
		ns = time < 0 || (uint64_t)time >= UINT64_MAX / NSEC_PER_SEC ? UINT64_MAX :
		     (uint64_t)time * NSEC_PER_SEC + NSEC_PER_SEC - 1;
		begin_ns = first->real_ns;
		end_ns = last->real_ns + NSEC_PER_SEC;
		start = replay_find_real(ns);
	} else {
		return usage_error("'%s' is not a time such as 14:05:30, 2026-01-31T14:05 or +90",
				   at);
	}
	has_start = true;
	if (ns >= begin_ns && ns <= end_ns)
		return STATUS_OK;
	print_error("%s is not within the recording; --info says from when to when it is", at);
	return STATUS_ERROR;
}

static int show_info(void)
{
	struct output output = standard_output();

	render->recording(&output, replay_recording());
	return STATUS_OK;
}

/* "--at TIME" and "--at=TIME": 1, 0 if it is another option, -1 without a time. */
static int take_at(int argc, char **argv, int *i, const char **at)
{
	if (!strncmp(argv[*i], "--at=", strlen("--at="))) {
		*at = argv[*i] + strlen("--at=");
		return 1;
	}
	if (strcmp(argv[*i], "--at"))
		return 0;
	if (*i + 1 == argc)
		return -1;
	*at = argv[++*i];
	return 1;
}

/* All that is not for the command behind them: *@rest is where that begins. */
static int parse_options(int argc, char **argv, struct replay_options *options, int *rest)
{
	const char *at;
	int i, ret;

	for (i = 1; i < argc; i++) {
		ret = take_at(argc, argv, &i, &at);
		if (ret < 0)
			return usage_error("--at needs an argument");
		if (ret && options->at)
			return usage_error("--at TIME is there twice");
		if (ret) {
			options->at = at;
			continue;
		}
		if (!strcmp(argv[i], "--info"))
			options->info = true;
		else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			options->help = true;
		else if (!options->file && argv[i][0] == '-')
			return unknown_option(argv[i], argv[0]);
		else if (!options->file)
			options->file = argv[i];
		else
			break;
	}
	*rest = i;
	if (options->help)
		return STATUS_OK;
	if (!options->file)
		return usage_error("replay: the name of a file is missing");
	if (options->info && i < argc)
		return usage_error("replay: unexpected argument '%s'", argv[i]);
	return STATUS_OK;
}

static int replay(const struct replay_options *options, int argc, char **argv,
		  int (*run)(int argc, char **argv))
{
	int status = STATUS_OK;

	has_start = false;
	if (options->at)
		status = find_start(options->at);
	if (status != STATUS_OK)
		return status;
	status = options->info ? show_info() : run(argc, argv);
	/* It was said where. */
	if (status == STATUS_OK && replay_recording()->damaged)
		status = STATUS_ERROR;
	return status;
}

int command_replay(int argc, char **argv, int (*run)(int argc, char **argv))
{
	struct replay_options options = {};
	int rest = argc, status;

	status = parse_options(argc, argv, &options, &rest);
	if (status != STATUS_OK)
		return status;
	if (options.help)
		return command_help(1, argv);
	if (replay_open(options.file))
		return STATUS_ERROR;
	time_source = &replay_time;
	/* What comes first stands for the name of the program. */
	status = replay(&options, argc - rest + 1, argv + rest - 1, run);
	replay_close();
	time_source = &machine_time;
	return status;
}
