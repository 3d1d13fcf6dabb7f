// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat replay FILE [--at TIME] [COMMAND...]: runs another command on a recording instead of this
 * host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/command.h"
#include "render/render.h"
#include "sources/replay.h"
#include "util/util.h"

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
	print_error("the recording, or the chosen VM, ends within the first interval");
	return STATUS_ERROR;
}

/* Parses a time of day, on the first day of the recording unless it has a date. */
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
		/* The recording may begin within this minute. */
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
		/* The end of that second. An impossible time is later than every sample. */
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
	print_error("%s is not within the recording; --info shows its times", at);
	return STATUS_ERROR;
}

/* Whether it is an option of replay itself. These follow FILE. */
static bool is_own(const char *text)
{
	return !strcmp(text, "--at") || !strncmp(text, "--at=", strlen("--at=")) ||
	       !strcmp(text, "--info") || !strcmp(text, "--help") || !strcmp(text, "-h");
}

static int replay(const struct options *options, int argc, char **argv,
		  int (*run)(int argc, char **argv))
{
	struct output output = standard_output();
	int status = STATUS_OK;

	has_start = false;
	if (options->at)
		status = find_start(options->at);
	if (status != STATUS_OK)
		return status;
	if (options->info)
		render->recording(&output, replay_recording());
	else
		status = run(argc, argv);
	/* replay_open(), or reading a sample, has printed where. */
	if (status == STATUS_OK && replay_recording()->damaged)
		status = STATUS_ERROR;
	return status;
}

/* Arguments are the file, replay's own options, the command, and its options. */
int command_replay(int argc, char **argv, int (*run)(int argc, char **argv))
{
	bool has_file = argc > 1 && (argv[1][0] != '-' || !argv[1][1]);
	int own = has_file ? 2 : argc, status;
	struct options options;

	while (own < argc && is_own(argv[own]))
		own += strcmp(argv[own], "--at") || own + 1 == argc ? 1 : 2;
	status = parse_options(COMMAND_REPLAY, own - has_file, argv + has_file, &options);
	if (status != STATUS_OK || options.help)
		return status;
	if (!has_file)
		return usage_error("replay: the name of a file is missing");
	if (options.info && own < argc)
		return usage_error("replay: unexpected argument '%s'", argv[own]);
	if (replay_open(argv[1]))
		return STATUS_ERROR;
	time_source = &replay_time;
	/* argv[0] of the command line is the word before the command. */
	status = replay(&options, argc - own + 1, argv + own - 1, run);
	replay_close();
	time_source = &machine_time;
	return status;
}
