// SPDX-License-Identifier: GPL-2.0
/*
 * Parses the options of a command line.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/options.h"
#include "util/text.h"

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

/* Reports an option that the command does not have, or whose argument is missing. */
static int option_error(int option, char **argv, enum command_id command)
{
	const char letter[] = { '-', optopt, '\0', };
	const char *text = argv[optind - 1];
	const struct option_info *info;
	size_t length;

	if (option == ':')
		return usage_error("%s needs an argument", text);
	/* Only optopt knows which one of several letters is wrong. */
	if (optopt && strncmp(text, "--", 2))
		text = letter;
	length = strcspn(text, "=");
	info = find_option(text, length);
	if (!info)
		return usage_error("unknown option %s", text);
	if (has_option(command, info))
		return usage_error("%.*s takes no argument", (int)length, text);
	return usage_error("%.*s is not an option of %s", (int)length, text, command_name(command));
}

/* pid and id change with each start of a VM: no series would last longer than the process. */
static int label_error(const char *name)
{
	char names[256] = "";
	size_t i;

	if (!strcmp(name, "pid") || !strcmp(name, "id"))
		return usage_error("the label '%s' changes whenever a VM is started",
				   name);
	for (i = 0; i < IDENTITY_FIELDS; i++)
		sprintf(names + strlen(names), "%s%s", i ? ", " : "", identity_label(i));
	return usage_error("'%s' is not a label; choose from %s", name, names);
}

static int parse_label(const char *name, bool *label)
{
	size_t i;

	for (i = 0; i < IDENTITY_FIELDS; i++) {
		if (!strcmp(name, identity_label(i))) {
			label[i] = true;
			return STATUS_OK;
		}
	}
	return label_error(name);
}

static int parse_number_of(const char *what, uint64_t max, uint64_t *number)
{
	return parse_number(optarg, 1, max, number) ?
		usage_error("'%s' is not a number of %s", optarg, what) : STATUS_OK;
}

static int choose(struct options *options, const char *text)
{
	const char *error = choice_add(&options->choice, text);

	return error ? usage_error("'%s' %s", text, error) : STATUS_OK;
}

static int take_option(int option, struct options *options)
{
	uint64_t number;

	switch (option) {
	case 'p':
		return choose(options, optarg);
	case 'c':
		if (parse_number(optarg, 0, INT_MAX - 1, &number))
			return usage_error("'%s' is not a vCPU number", optarg);
		options->vcpu = number;
		return STATUS_OK;
	case 'n':
		return parse_number_of("events", INT_MAX, &options->count);
	case OPTION_LIMIT:
		return parse_number_of("VMs", INT_MAX, &options->limit);
	case OPTION_BUCKETS:
		return parse_number_of("buckets", UINT32_MAX, &options->buckets);
	case OPTION_SORT:
		options->order = column_find(optarg);
		return options->order == NUM_COLUMNS ?
			usage_error("'%s' is not a column to sort by", optarg) : STATUS_OK;
	case OPTION_STAT:
		if (regcomp(&options->regex, optarg, REG_EXTENDED | REG_NOSUB))
			return usage_error("'%s' is not a regular expression", optarg);
		options->only = &options->regex;
		return STATUS_OK;
	case OPTION_LABEL:
		return parse_label(optarg, options->label);
	case OPTION_LISTEN:
		options->listen = optarg;
		return STATUS_OK;
	case OPTION_AT:
		options->at = optarg;
		return STATUS_OK;
	default:
		return STATUS_OK;
	}
}

/* Describes the command's options for getopt_long(). */
static void describe(enum command_id command, struct option *longs, char *shorts)
{
	const struct option_info *info;

	*shorts++ = ':';
	FOR_EACH_OPTION(info) {
		if (!has_option(command, info))
			continue;
		*longs++ = (struct option) {
			.name = info->name,
			.has_arg = info->argument ? required_argument : no_argument,
			.val = info->value,
		};
		if (info->value > 'z')
			continue;
		*shorts++ = info->value;
		if (info->argument)
			*shorts++ = ':';
	}
	*longs = (struct option) {};
	*shorts = '\0';
}

int parse_options(enum command_id command, int argc, char **argv, struct options *options)
{
	struct option longs[NUM_OPTIONS + 1];
	bool seen[NUM_OPTIONS] = {};
	char shorts[2 * NUM_OPTIONS + 2];
	const struct option_info *info;
	int option, status;

	*options = (struct options) {
		.command = command, .vcpu = ALL_VCPUS, .order = NUM_COLUMNS,
	};
	describe(command, longs, shorts);
	/* replay has a second command line within the first one: begin anew. */
	optind = 0;
	while ((option = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (option == '?' || option == ':')
			return option_error(option, argv, command);
		if (option == 'h') {
			options->help = true;
			print_command_help(command);
			return STATUS_OK;
		}
		for (info = options_table; info->value != option; info++)
			;
		if (seen[info - options_table] && !info->repeats)
			return usage_error("--%s is given twice", info->name);
		seen[info - options_table] = true;
		if (info->flag)
			*(bool *)((char *)options + info->flag) = true;
		status = take_option(option, options);
		if (status != STATUS_OK)
			return status;
	}
	options->argument = argv + optind;
	options->num_arguments = argc - optind;
	return STATUS_OK;
}

void options_free(struct options *options)
{
	if (options->only)
		regfree(&options->regex);
}

bool is_interval(const char *argument)
{
	return *argument && strchr("0123456789.", *argument);
}

int take_vms(struct options *options, int count, bool names)
{
	int status;

	while (options->num_arguments &&
	       (count-- > 0 || (names && !is_interval(options->argument[0])))) {
		status = choose(options, *options->argument);
		if (status != STATUS_OK)
			return status;
		options->argument++;
		options->num_arguments--;
	}
	return STATUS_OK;
}
