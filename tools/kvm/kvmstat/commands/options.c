// SPDX-License-Identifier: GPL-2.0
/*
 * The commands and their options.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/options.h"
#include "util/text.h"

/* Lines of 80 characters; the overview has 24 of them. */
const struct command_info command_info[NUM_COMMANDS] = {
	[COMMAND_LIST] = {
		"list", "[VM...]", "the VMs of this host and their states",
		"Rates and shares come from a sample of a quarter of a second.",
	},
	[COMMAND_WHY] = {
		"why", "[VM...] [INTERVAL]", "why a VM is slow, in a sentence",
		"Samples for INTERVAL seconds, by default 1. Without VM: all VMs, the worst first.",
	},
	[COMMAND_TOP] = {
		"top", "[VM...] [INTERVAL]", "all VMs on a full screen, the worst first",
		"The key ? explains keys and columns.",
	},
	[COMMAND_STREAM] = {
		"", "[INTERVAL [COUNT]]", "a line per VM and INTERVAL",
		"INTERVAL is in seconds, by default 1, and may have decimals. Without COUNT kvmstat "
		"goes on until it is interrupted, with one -p VM also until that ends. Without any "
		"argument it watches all VMs for one second.",
	},
	[COMMAND_SHOW] = {
		"show", "VM... [INTERVAL [COUNT]]", "all statistics; with INTERVAL those that move",
		NULL,
	},
	[COMMAND_EXITS] = {
		"exits", "[VM...] [INTERVAL]", "a VM's exits by reason: how many, how long", NULL,
	},
	[COMMAND_HIST] = {
		"hist", "VM [NAME...] [INTERVAL [COUNT]]", "how long waits and exits take", NULL,
	},
	[COMMAND_WATCH] = {
		"watch", "NAME[:PART] '>' VALUE [per WINDOW]",
		"wait until a statistic grows by VALUE",
		"VALUE has a unit where the statistic has one: 8ms, 1.5MiB. PART is the name of a "
		"value (exit_reasons:hlt) or buckets (halt_wait_hist:8ms-). WINDOW is 10ms to 10s, "
		"by default 1s.",
	},
	[COMMAND_RECORD] = {
		"record", "FILE [INTERVAL [COUNT]]", "all VMs, or those chosen, into a file", NULL,
	},
	[COMMAND_REPLAY] = {
		"replay", "FILE [COMMAND...]", "any command above on such a file",
		"Without COMMAND a line per VM and interval.",
	},
	[COMMAND_EXPORT] = {
		"export", "", "all statistics for Prometheus, by HTTP", NULL,
	},
	[COMMAND_EXPLAIN] = {
		"explain", "NAME...", "what statistics and reasons for exits mean", NULL,
	},
	[COMMAND_HELP] = { "help", "[COMMAND]", "this text, or the help of COMMAND", NULL, },
};

#define BIT(command) (1u << COMMAND_##command)
#define LINES (BIT(LIST) | BIT(STREAM))
#define ON_VMS (LINES | BIT(WHY) | BIT(TOP) | BIT(SHOW) | BIT(EXITS) | BIT(HIST) | BIT(WATCH) | \
		BIT(RECORD) | BIT(EXPORT))
#define FORMATTED (LINES | BIT(SHOW) | BIT(HIST) | BIT(WATCH) | BIT(REPLAY))

/* The values are those of getopt(), those above 'z' have no letter. */
enum {
	OPTION_SORT = 0x100, OPTION_LIMIT, OPTION_STAT, OPTION_NONZERO, OPTION_LISTEN,
	OPTION_PER_VCPU, OPTION_LABEL, OPTION_BUCKETS, OPTION_ONCE, OPTION_JSON, OPTION_CSV,
	OPTION_FORCE, OPTION_AT, OPTION_INFO,
};

#define FLAG(field) offsetof(struct options, field)

static const struct option_info {
	const char *name;
	int value;
	const char *argument;		/* NULL: it has none */
	unsigned int commands;		/* a BIT() of each that has it */
	const char *help;
	bool repeats;
	size_t flag;			/* which bool of struct options it sets, or 0 */
} options_table[] = {
	{ "pid", 'p', "VM", ON_VMS,
	  "only the VM of that pid, of that name or, by a shell pattern, of such names", true, 0, },
	{ "vcpu", 'c', "N", BIT(SHOW) | BIT(HIST) | BIT(WATCH), "vCPU N alone", false, 0, },
	{ "wait", 'w', NULL, BIT(STREAM) | BIT(SHOW),
	  "if the VM is not there yet, wait until it is", false, FLAG(wait), },
	{ "sort", OPTION_SORT, "COLUMN", LINES,
	  "sort by that, numbers from the highest:", false, 0, },
	{ "limit", OPTION_LIMIT, "N", LINES, "the first N of them", false, 0, },
	{ "stat", OPTION_STAT, "REGEX", BIT(SHOW) | BIT(HIST) | BIT(EXPORT),
	  "only statistics whose name it fits", false, 0, },
	{ "nonzero", OPTION_NONZERO, NULL, BIT(SHOW) | BIT(HIST),
	  "only those that are not 0", false, FLAG(nonzero), },
	{ "verbose", 'v', NULL, BIT(SHOW), "add a description of each statistic", false,
	  FLAG(verbose), },
	{ "count", 'n', "COUNT", BIT(WATCH), "end after so many events", false, 0, },
	{ "force", OPTION_FORCE, NULL, BIT(RECORD), "overwrite the file", false, FLAG(force), },
	{ "at", OPTION_AT, "TIME", BIT(REPLAY),
	  "begin at 14:05[:30], at 2026-01-31T14:05[:30] or so many seconds (+90) after the "
	  "beginning", false, 0, },
	{ "info", OPTION_INFO, NULL, BIT(REPLAY), "host, kernel, time, number of samples", false,
	  FLAG(info), },
	{ "listen", OPTION_LISTEN, "[ADDR]:PORT", BIT(EXPORT),
	  "where it listens, by default 127.0.0.1:10203", false, 0, },
	{ "per-vcpu", OPTION_PER_VCPU, NULL, BIT(EXPORT),
	  "each vCPU, instead of the sum of a VM's vCPUs", false, FLAG(per_vcpu), },
	{ "label", OPTION_LABEL, "NAME", BIT(EXPORT),
	  "this label of kvm_vm_info on each series of a VM", true, 0, },
	{ "buckets", OPTION_BUCKETS, "N", BIT(EXPORT),
	  "at most N buckets of each histogram, with +Inf; by default 8", false, 0, },
	{ "once", OPTION_ONCE, NULL, BIT(EXPORT),
	  "print it once, for node_exporter's textfile collector", false, FLAG(once), },
	{ "json", OPTION_JSON, NULL, FORMATTED, "as JSON", true, 0, },
	{ "csv", OPTION_CSV, NULL, FORMATTED, "as comma-separated values", true, 0, },
	{ "help", 'h', NULL, ~0u, "print this", true, 0, },
};

#define FOR_EACH_OPTION(info) \
	for (info = options_table; info < options_table + ARRAY_SIZE(options_table); info++)

static bool has_option(enum command_id command, const struct option_info *info)
{
	return info->commands >> command & 1;
}

enum command_id find_command(const char *name)
{
	enum command_id i, found = NUM_COMMANDS;

	for (i = 0; i < NUM_COMMANDS; i++) {
		if (!*name || strncmp(command_info[i].name, name, strlen(name)))
			continue;
		if (!command_info[i].name[strlen(name)])
			return i;
		/* The prefix is ambiguous. */
		if (found != NUM_COMMANDS)
			return NUM_COMMANDS;
		found = i;
	}
	return found;
}

static const char *name_of(enum command_id command)
{
	return *command_info[command].name ? command_info[command].name : "kvmstat INTERVAL";
}

/* Finds an option as it was typed, with its dashes. */
static const struct option_info *find_option(const char *text, size_t length)
{
	const struct option_info *info;

	FOR_EACH_OPTION(info) {
		if (text[1] != '-' ? length == 2 && text[1] == info->value :
		    length == 2 + strlen(info->name) && !strncmp(text + 2, info->name, length - 2))
			return info;
	}
	return NULL;
}

bool command_takes(enum command_id command, const char *option)
{
	return has_option(command, find_option(option, strlen(option)));
}

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

/* Options that are not the command's, or that are not complete. */
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
		return usage_error("%.*s has no argument", (int)length, text);
	return usage_error("%.*s is not an option of %s", (int)length, text, name_of(command));
}

/*
 * Not what is another one each time that the VM is started: no series would last longer than
 * the process.
 */
static int label_error(const char *name)
{
	char names[256] = "";
	size_t i;

	if (!strcmp(name, "pid") || !strcmp(name, "id"))
		return usage_error("with the label '%s' a VM's series begin anew when it starts",
				   name);
	for (i = 0; i < IDENTITY_FIELDS; i++)
		sprintf(names + strlen(names), "%s%s", i ? ", " : "", identity_label(i));
	return usage_error("'%s' is no label of whose VM it is: %s", name, names);
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
			return usage_error("'%s' is not a vCPU's number", optarg);
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
			usage_error("'%s' is no column to sort by", optarg) : STATUS_OK;
	case OPTION_STAT:
		if (regcomp(&options->regex, optarg, REG_EXTENDED | REG_NOSUB))
			return usage_error("'%s' is no regular expression", optarg);
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
static void describe(enum command_id command, bool in_order, struct option *longs, char *shorts)
{
	const struct option_info *info;

	if (in_order)
		*shorts++ = '+';
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

int parse_options(enum command_id command, int argc, char **argv, bool in_order,
		  struct options *options)
{
	struct option longs[ARRAY_SIZE(options_table) + 1];
	bool seen[ARRAY_SIZE(options_table)] = {};
	char shorts[2 * ARRAY_SIZE(options_table) + 3];
	const struct option_info *info;
	int option, status;

	*options = (struct options) {
		.command = command, .vcpu = ALL_VCPUS, .order = NUM_COLUMNS,
	};
	describe(command, in_order, longs, shorts);
	/* A recording is replayed by a command line within another one. */
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
			return usage_error("--%s is there twice", info->name);
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

#define HELP_WIDTH 80
#define USAGE_WIDTH 31

void print_help(void)
{
	const struct command_info *info;
	char usage[128], *count;

	printf("kvmstat: what the VMs of this host do, and why they are slow\n\n");
	for (info = command_info; info < command_info + NUM_COMMANDS; info++) {
		snprintf(usage, sizeof(usage), "%s%s%.*s", info->name,
			 *info->name && *info->usage ? " " : "",
			 (int)strcspn(info->usage, "'"), info->usage);
		if (info == &command_info[COMMAND_WATCH])
			strcpy(usage, "watch NAME '>' VALUE");
		count = strstr(usage, " [COUNT]]");
		if (count && strlen(usage) >= USAGE_WIDTH)
			strcpy(count, "]");
		printf("  %-*s%s\n", USAGE_WIDTH, usage, info->help);
	}
	printf("\nVM is a pid, a name or a shell pattern of names; also -p VM. Options and more:\n"
	       "kvmstat COMMAND --help, and man kvmstat. --json and --csv print for programs.\n"
	       "VMs of others need root, or CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.\n");
}

void print_command_help(enum command_id command)
{
	const struct command_info *info = &command_info[command];
	const struct option_info *option;
	char text[64], help[512];
	enum column_id i;

	printf("kvmstat %s%s[OPTION...]%s%s\n", info->name, *info->name ? " " : "",
	       *info->usage ? " " : "", info->usage);
	printf("%s\n", info->help);
	if (info->more) {
		print_wrapped(stdout, info->more, HELP_WIDTH - 1, 0);
		putchar('\n');
	}
	putchar('\n');
	FOR_EACH_OPTION(option) {
		if (!has_option(command, option))
			continue;
		snprintf(text, sizeof(text), "%c%c%c --%s%s%s", option->value > 'z' ? ' ' : '-',
			 option->value > 'z' ? ' ' : option->value, option->value > 'z' ? ' ' : ',',
			 option->name, option->argument ? " " : "", option->argument ?: "");
		printf("  %-24s", text);
		strcpy(help, option->help);
		for (i = 0; option->value == OPTION_SORT && i < NUM_COLUMNS; i++)
			sprintf(help + strlen(help), "%s%s", i ? ", " : " ", column_info[i].key);
		print_wrapped(stdout, help, HELP_WIDTH - 1 - 26, 26);
		putchar('\n');
	}
}

void print_commands(void)
{
	enum command_id i;

	for (i = 0; i < NUM_COMMANDS; i++) {
		if (*command_info[i].name)
			printf("%s\n", command_info[i].name);
	}
}

void print_options(enum command_id command)
{
	const struct option_info *info;

	FOR_EACH_OPTION(info) {
		if (has_option(command, info))
			printf("--%s%s\n", info->name, info->argument ? "=" : "");
	}
}
