// SPDX-License-Identifier: GPL-2.0
/* Commands and options, described once: parsing, help and completion use these tables. */
#include <regex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kvmstat.h"

struct options options = { .vcpu = -1, };

#define ALONE "A number alone is a pid if a VM has it, otherwise an INTERVAL of at most 60."

static const struct command_info {
	const char *name, *usage, *help, *more;
} commands[NUM_COMMANDS] = {
	[CMD_LIST] = { "list", "[VM...]", "the VMs of this host and their states",
		"Rates and shares come from a sample of a quarter of a second.", },
	[CMD_WHY] = { "why", "[VM...] [INTERVAL]", "why a VM is slow, in a sentence",
		"Samples for INTERVAL seconds, by default 1. Without VM: all VMs, the worst first. "
		ALONE, },
	[CMD_TOP] = { "top", "[VM...] [INTERVAL]", "all VMs on a full screen, the worst first",
		"The key ? explains keys and columns.", },
	[CMD_STREAM] = { "", "[INTERVAL [COUNT]]", "a line per VM and INTERVAL",
		"INTERVAL is in seconds, by default 1, and may have decimals. Without COUNT kvmstat "
		"goes on until it is interrupted, with one -p VM also until that ends. Without any "
		"argument it watches all VMs for one second.", },
	[CMD_SHOW] = { "show", "VM... [INTERVAL [COUNT]]",
		"all statistics; with INTERVAL those that move", NULL, },
	[CMD_EXITS] = { "exits", "[VM...] [INTERVAL]",
		"a VM's exits by reason: how many, how long", ALONE, },
	[CMD_HIST] = { "hist", "VM [NAME...] [INTERVAL [COUNT]]", "how long waits and exits take",
		NULL, },
	[CMD_WATCH] = { "watch", "NAME[:PART] '>' VALUE [per WINDOW]",
		"wait until a statistic grows by VALUE",
		"VALUE has a unit if the statistic has one: 8ms or 1.5MiB. PART is the name of a "
		"value (exit_reasons:hlt) or buckets (halt_wait_hist:8ms-). WINDOW is 10ms to 10s "
		"(default 1s).", },
	[CMD_RECORD] = { "record", "FILE [INTERVAL [COUNT]]", "write samples of all VMs to a file",
		NULL, },
	[CMD_REPLAY] = { "replay", "FILE [COMMAND...]", "any command above on a recording",
		"Without COMMAND a line per VM and interval.", },
	[CMD_EXPORT] = { "export", "", "serve all statistics to Prometheus by HTTP", NULL, },
	[CMD_EXPLAIN] = { "explain", "NAME...", "what statistics and exit reasons mean", NULL, },
	[CMD_HELP] = { "help", "[COMMAND]", "this text, or the help of COMMAND", NULL, },
};

#define BIT(command) (1u << CMD_##command)
#define LINES (BIT(LIST) | BIT(STREAM))
#define ON_VMS (LINES | BIT(WHY) | BIT(TOP) | BIT(SHOW) | BIT(EXITS) | BIT(HIST) | BIT(WATCH) | \
		BIT(RECORD) | BIT(EXPORT))
#define FORMATTED (LINES | BIT(WHY) | BIT(EXITS) | BIT(SHOW) | BIT(HIST) | BIT(WATCH))

enum kind { FLAG, STRING, COUNT, VCPU, VM, LABEL, };

static const struct option_info {
	const char *name;
	char letter;			/* or 0 */
	const char *argument;		/* NULL: none */
	enum kind kind;
	size_t field;			/* in struct options */
	unsigned int commands;
	const char *help;
} infos[] = {
	{ "pid", 'p', "VM", VM, 0, ON_VMS,
	  "only VMs with this pid or name, or with a name that matches this shell pattern", },
	{ "vcpu", 'c', "N", VCPU, 0, BIT(SHOW) | BIT(HIST) | BIT(WATCH), "vCPU N alone", },
	{ "wait", 'w', NULL, FLAG, offsetof(struct options, wait), BIT(STREAM) | BIT(SHOW),
	  "wait until such a VM exists", },
	{ "sort", 0, "COLUMN", STRING, offsetof(struct options, sort), LINES,
	  "sort by this column, numbers from the highest:", },
	{ "limit", 0, "N", COUNT, offsetof(struct options, limit), LINES, "only the first N VMs", },
	{ "stat", 0, "REGEX", STRING, offsetof(struct options, stat),
	  BIT(SHOW) | BIT(HIST) | BIT(EXPORT), "only statistics whose names match", },
	{ "nonzero", 0, NULL, FLAG, offsetof(struct options, nonzero), BIT(SHOW) | BIT(HIST),
	  "only statistics that are not 0", },
	{ "verbose", 'v', NULL, FLAG, offsetof(struct options, verbose), BIT(SHOW),
	  "add a description of each statistic", },
	{ "count", 'n', "COUNT", COUNT, offsetof(struct options, count), BIT(WATCH),
	  "end after COUNT events", },
	{ "force", 0, NULL, FLAG, offsetof(struct options, force), BIT(RECORD),
	  "overwrite the file", },
	{ "at", 0, "TIME", STRING, offsetof(struct options, at), BIT(REPLAY),
	  "begin at 14:05[:30] or 2026-01-31T14:05[:30] or +90 seconds after the beginning", },
	{ "info", 0, NULL, FLAG, offsetof(struct options, info), BIT(REPLAY),
	  "host, kernel, time, number of samples", },
	{ "listen", 0, "[ADDR]:PORT", STRING, offsetof(struct options, listen), BIT(EXPORT),
	  "address to listen on (default 127.0.0.1:10203)", },
	{ "per-vcpu", 0, NULL, FLAG, offsetof(struct options, per_vcpu), BIT(EXPORT),
	  "each vCPU, instead of the sum of a VM's vCPUs", },
	{ "label", 0, "NAME", LABEL, 0, BIT(EXPORT),
	  "this label of kvm_vm_info on each series of a VM", },
	{ "buckets", 0, "N", COUNT, offsetof(struct options, buckets), BIT(EXPORT),
	  "at most N buckets per histogram (default 8)", },
	{ "once", 0, NULL, FLAG, offsetof(struct options, once), BIT(EXPORT),
	  "print once for node_exporter's textfile collector", },
	{ "bpf", 0, NULL, FLAG, offsetof(struct options, bpf), ON_VMS,
	  "exits by reason and time by state on any kernel; exits take longer meanwhile", },
	{ "bpf-stats", 0, NULL, FLAG, offsetof(struct options, bpf_stats), ON_VMS,
	  "KVM's own statistics of all VMs on any kernel; exits take no longer", },
	{ "json", 0, NULL, FLAG, offsetof(struct options, json), FORMATTED | BIT(REPLAY), "as JSON", },
	{ "csv", 0, NULL, FLAG, offsetof(struct options, csv), FORMATTED | BIT(REPLAY),
	  "as comma-separated values", },
	{ "help", 'h', NULL, FLAG, offsetof(struct options, help), ~0u, "print this", },
};

#define USAGE(message, ...) die(message " (try kvmstat --help)", ##__VA_ARGS__)

static const char *command_name(enum command command)
{
	return *commands[command].name ? commands[command].name : "kvmstat INTERVAL";
}

/* By its name, or a unique beginning of it. */
static enum command find_command(const char *name)
{
	enum command i, found = NUM_COMMANDS;

	for (i = 0; i < NUM_COMMANDS; i++) {
		if (!*name || strncmp(commands[i].name, name, strlen(name)))
			continue;
		if (!commands[i].name[strlen(name)])
			return i;
		if (found != NUM_COMMANDS)
			return NUM_COMMANDS;
		found = i;
	}
	return found;
}

#define HELP_WIDTH 79
#define USAGE_WIDTH 31
#define OPTION_WIDTH 25

static void print_help(void)
{
	const struct command_info *info;
	char usage[128], *count;

	printf("kvmstat: what the VMs of this host do, and why they are slow\n\n");
	for (info = commands; info < commands + NUM_COMMANDS; info++) {
		snprintf(usage, sizeof(usage), "%s%s%.*s", info->name,
			 *info->name && *info->usage ? " " : "", (int)strcspn(info->usage, "'"),
			 info->usage);
		if (info == &commands[CMD_WATCH])
			strcpy(usage, "watch NAME '>' VALUE");
		count = strstr(usage, " [COUNT]]");
		if (count && strlen(usage) >= USAGE_WIDTH)
			strcpy(count, "]");
		printf("  %-*s%s\n", USAGE_WIDTH, usage, info->help);
	}
	printf("\nVM is a pid, a name or a shell pattern of names; also -p VM. Options and more:\n"
	       "kvmstat COMMAND --help, and man kvmstat. --json and --csv print for programs.\n"
	       "VMs of other users need root, or CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.\n");
}

static void print_option(const struct option_info *info)
{
	char letter[] = { '-', info->letter, ',', '\0', }, *text, *help;
	size_t i, size;
	FILE *out;

	text = xasprintf("%s --%s%s%s", info->letter ? letter : "   ", info->name,
			 info->argument ? " " : "", info->argument ?: "");
	out = open_memstream(&help, &size);
	fprintf(out, "  %-*s%s", OPTION_WIDTH, text, info->help);
	for (i = 0; !strcmp(info->name, "sort") && i < num_vm_columns; i++)
		fprintf(out, "%s%s", i ? ", " : " ", vm_columns[i].key);
	fclose(out);
	print_wrapped(stdout, help, HELP_WIDTH, 2 + OPTION_WIDTH);
	free(help);
	free(text);
}

static void print_command_help(enum command command)
{
	const struct command_info *info = &commands[command];
	size_t i;

	printf("kvmstat %s%s[OPTION...]%s%s\n%s\n", info->name, *info->name ? " " : "",
	       *info->usage ? " " : "", info->usage, info->help);
	if (info->more)
		print_wrapped(stdout, info->more, HELP_WIDTH, 0);
	putchar('\n');
	for (i = 0; i < ARRAY_SIZE(infos); i++) {
		if (infos[i].commands >> command & 1)
			print_option(&infos[i]);
	}
}

/* A word per line, for completion. */
static void print_words(enum command command)
{
	size_t i;

	for (i = 0; command == NUM_COMMANDS && i < NUM_COMMANDS; i++) {
		if (*commands[i].name)
			puts(commands[i].name);
	}
	for (i = 0; command != NUM_COMMANDS && i < ARRAY_SIZE(infos); i++) {
		if (infos[i].commands >> command & 1)
			printf("--%s%s\n", infos[i].name, infos[i].argument ? "=" : "");
	}
}

static __attribute__((__noreturn__)) void help(int argc, char **argv)
{
	bool words = argc > 0 && !strcmp(argv[0], "--words");
	enum command command = NUM_COMMANDS;

	argc -= words;
	argv += words;
	if (argc > 1)
		USAGE("help: unexpected argument '%s'", argv[1]);
	if (argc) {
		command = !*argv[0] ? CMD_STREAM : find_command(argv[0]);
		if (command == NUM_COMMANDS)
			USAGE("unknown command '%s'", argv[0]);
	}
	if (words)
		print_words(command);
	else if (command == NUM_COMMANDS)
		print_help();
	else
		print_command_help(command);
	exit(0);
}

/* pid and id change with each start of a VM: no series would last longer than the process. */
static void add_label(const char *name)
{
	char *names = xasprintf("%s", identity_labels[0]);
	size_t i;

	if (!strcmp(name, "pid") || !strcmp(name, "id"))
		USAGE("the label '%s' changes whenever a VM is started", name);
	for (i = 0; i < NUM_IDS && strcmp(name, identity_labels[i]); i++)
		;
	if (i < NUM_IDS) {
		options.label[i] = true;
		return;
	}
	for (i = 1; i < NUM_IDS; i++)
		names = xasprintf("%s, %s", names, identity_labels[i]);
	USAGE("'%s' is not a label; choose from %s", name, names);
}

static void set_option(const struct option_info *info, const char *value)
{
	void *field = (char *)&options + info->field;
	uint64_t number;

	switch (info->kind) {
	case FLAG:
		*(bool *)field = true;
		break;
	case STRING:
		*(const char **)field = value;
		break;
	case COUNT:
		if (!parse_u64(value, field) || !*(uint64_t *)field)
			USAGE("--%s: '%s' is not a number from 1", info->name, value);
		break;
	case VCPU:
		if (!parse_u64(value, &number) || number > 65535)
			USAGE("'%s' is not the number of a vCPU", value);
		options.vcpu = number;
		break;
	case VM:
		choose(value);
		break;
	case LABEL:
		add_label(value);
	}
}

/* Options have no abbreviations: a script with one could change its meaning later. */
static const struct option_info *find_option(const char *text)
{
	size_t length = strcspn(text, "="), i;

	for (i = 0; i < ARRAY_SIZE(infos); i++) {
		if (text[1] != '-' ? infos[i].letter == text[1] :
		    strlen(infos[i].name) == length - 2 &&
		    !strncmp(text + 2, infos[i].name, length - 2))
			return &infos[i];
	}
	return NULL;
}

/* Takes an option and its argument from argv[0] on. Returns the number of words. */
static int take_option(enum command command, char **argv)
{
	const struct option_info *info = find_option(argv[0]);
	const char *equals = argv[0][1] == '-' ? strchr(argv[0], '=') : NULL, *rest = argv[0] + 2;

	if (!info)
		USAGE("unknown option %s", argv[0]);
	if (!(info->commands >> command & 1))
		USAGE("--%s is not an option of %s", info->name, command_name(command));
	if (!info->argument) {
		if (equals)
			USAGE("--%s takes no argument", info->name);
		set_option(info, NULL);
		if (argv[0][1] == '-' || !*rest)
			return 1;
		/* Several letters in one word */
		argv[0][1] = '-';
		memmove(argv[0] + 1, rest, strlen(rest) + 1);
		return 0;
	}
	if (equals || (argv[0][1] != '-' && *rest)) {
		set_option(info, equals ? equals + 1 : rest);
		return 1;
	}
	if (!argv[1])
		USAGE("%s needs an argument", argv[0]);
	set_option(info, argv[1]);
	return 2;
}

static bool is_interval(const char *text)
{
	uint64_t ns;

	return text && parse_seconds(text, &ns);
}

/* Takes INTERVAL [COUNT] at the end of the arguments from @from on. */
static void take_interval(int from, bool with_count)
{
	bool of_top = options.command == CMD_TOP;
	int count = options.num_arguments - from;
	char **at = options.argument + from;

	if (count > 0 && (!parse_seconds(at[0], &options.interval_ns) ||
			  options.interval_ns < (of_top ? SEC / 10 : SEC / 100) ||
			  options.interval_ns > (of_top ? 60 : 86400) * SEC))
		USAGE("'%s' is not an interval of %s seconds", at[0], of_top ? "0.1 to 60" : "0.01 to 86400");
	if (count > 1 && !with_count)
		USAGE("unexpected argument '%s'", at[1]);
	if (count > 1 && (!parse_u64(at[1], &options.times) || !options.times))
		USAGE("'%s' is not a number of reports", at[1]);
	if (count > 2)
		USAGE("unexpected argument '%s'", at[2]);
	options.num_arguments = from;
}

/* The first words are VMs, up to a number. The first word is one in any case. */
static int take_vms(bool numbers)
{
	int i = 0;

	if (!numbers && !num_chosen() && options.num_arguments)
		choose(options.argument[i++]);
	for (; i < options.num_arguments && !is_interval(options.argument[i]); i++)
		choose(options.argument[i]);
	return i;
}

/* why 7: main.c decides whether 7 is a pid. why 0.5 is no pid. */
static void take_vms_or_number(void)
{
	bool is_alone = options.num_arguments == 1 && !num_chosen();
	int i;

	if (is_alone && is_interval(options.argument[0])) {
		if (strchr(options.argument[0], '.'))
			take_interval(0, false);
		return;
	}
	i = take_vms(false);
	take_interval(i, false);
	options.num_arguments = 0;
}

static void take_arguments(void)
{
	int i = 0;

	switch (options.command) {
	case CMD_LIST:
		for (; i < options.num_arguments; i++)
			choose(options.argument[i]);
		break;
	case CMD_WHY:
	case CMD_EXITS:
		take_vms_or_number();
		break;
	case CMD_TOP:
		take_interval(take_vms(true), false);
		break;
	case CMD_SHOW:
		i = take_vms(num_chosen());
		if (!num_chosen())
			USAGE("show: which VM? 'kvmstat list' prints them");
		take_interval(i, true);
		break;
	case CMD_HIST:
		if (!num_chosen() && options.num_arguments)
			choose(options.argument[i++]);
		if (!num_chosen())
			USAGE("hist: which VM? 'kvmstat list' prints them");
		options.argument += i;
		options.num_arguments -= i;
		for (i = 0; i < options.num_arguments && !is_interval(options.argument[i]); i++)
			;
		take_interval(i, true);
		break;
	case CMD_RECORD:
		if (!options.num_arguments)
			USAGE("record: the name of a file is missing");
		take_interval(1, true);
		break;
	case CMD_STREAM:
		take_interval(0, true);
		break;
	case CMD_EXPORT:
		if (options.num_arguments)
			USAGE("export: unexpected argument '%s'", options.argument[0]);
		break;
	case CMD_WATCH:
	case CMD_EXPLAIN:
		if (!options.num_arguments)
			USAGE("%s: the name of a statistic is missing", command_name(options.command));
		break;
	default:
		break;
	}
}

/* Takes all options that the command has, up to @end. */
static void take_words(enum command command, int argc, char **argv, bool up_to_command)
{
	int i = 0, kept = 0;
	bool options_end = false;

	while (i < argc) {
		if (!options_end && !strcmp(argv[i], "--")) {
			options_end = true;
			i++;
		} else if (!options_end && argv[i][0] == '-' && argv[i][1]) {
			i += take_option(command, argv + i);
		} else if (up_to_command) {
			break;
		} else {
			argv[kept++] = argv[i++];
		}
		if (options.help) {
			print_command_help(command);
			exit(0);
		}
	}
	options.argument = argv + (up_to_command ? i : 0);
	options.num_arguments = up_to_command ? argc - i : kept;
}

static regex_t regex;

static void check_options(void)
{
	int wrong = options.stat ? regcomp(&regex, options.stat, REG_EXTENDED | REG_NOSUB) : 0;
	char text[128];

	if (wrong) {
		regerror(wrong, &regex, text, sizeof(text));
		USAGE("--stat '%s': %s", options.stat, text);
	}
	options.only = options.stat ? &regex : NULL;
	if (options.csv && options.json)
		USAGE("--csv and --json exclude each other");
	format = options.csv ? FORMAT_CSV : options.json ? FORMAT_JSON : FORMAT_TEXT;
}

bool is_wanted_stat(const char *name)
{
	return !options.only || !regexec(&regex, name, 0, NULL, 0);
}

/* The command is the first word that is no option; a number or nothing is a stream. */
static enum command take_command(int *argc, char ***argv)
{
	enum command command;
	int i;

	for (i = 0; i < *argc && (*argv)[i][0] == '-' && (*argv)[i][1]; i++) {
		const struct option_info *info = find_option((*argv)[i]);

		if (!strcmp((*argv)[i], "--"))
			return CMD_STREAM;
		if (info && info->argument && !strchr((*argv)[i], '=') &&
		    ((*argv)[i][1] == '-' || !(*argv)[i][2]))
			i++;
	}
	if (i >= *argc || is_interval((*argv)[i]))
		return CMD_STREAM;
	command = find_command((*argv)[i]);
	if (command == NUM_COMMANDS)
		USAGE("unknown command '%s'", (*argv)[i]);
	memmove(*argv + i, *argv + i + 1, (*argc - i) * sizeof(**argv));
	--*argc;
	return command;
}

void parse_options(int argc, char **argv)
{
	argc--;
	argv++;
	if (argc == 1 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")))
		help(0, NULL);
	if (argc == 1 && (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V"))) {
		puts("kvmstat " VERSION);
		exit(0);
	}
	options.command = take_command(&argc, &argv);
	if (options.command == CMD_HELP)
		help(argc, argv);
	if (options.command == CMD_REPLAY) {
		take_words(CMD_REPLAY, argc, argv, true);
		if (!options.num_arguments)
			USAGE("replay: the name of a file is missing");
		options.replayed = options.argument[0];
		argv = options.argument + 1;
		argc = options.num_arguments - 1;
		/* Options of replay stand on both sides of the file. */
		while (argc && (!strncmp(argv[0], "--at", 4) || !strcmp(argv[0], "--info") ||
				!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))) {
			int words = take_option(CMD_REPLAY, argv);

			argc -= words;
			argv += words;
		}
		if (options.help) {
			print_command_help(CMD_REPLAY);
			exit(0);
		}
		options.command = take_command(&argc, &argv);
		if (options.command == CMD_RECORD || options.command == CMD_REPLAY ||
		    options.command == CMD_EXPLAIN || options.command == CMD_HELP)
			USAGE("replay: %s does not read recordings", command_name(options.command));
	}
	take_words(options.command, argc, argv, false);
	check_options();
	take_arguments();
}
