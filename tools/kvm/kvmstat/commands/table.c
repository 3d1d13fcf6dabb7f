// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of commands and options, and the help that is printed from them.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "commands/options.h"
#include "util/text.h"
#include "util/util.h"

#define NUMBER_ALONE \
	"A number alone is a pid if a VM has it, otherwise an INTERVAL of at most 60."

/* Lines have at most 80 characters. The overview fits a terminal of 24 lines. */
const struct command_info command_info[NUM_COMMANDS] = {
	[COMMAND_LIST] = {
		"list", "[VM...]", "the VMs of this host and their states",
		"Rates and shares come from a sample of a quarter of a second.",
	},
	[COMMAND_WHY] = {
		"why", "[VM...] [INTERVAL]", "why a VM is slow, in a sentence",
		"Samples for INTERVAL seconds, by default 1. Without VM: all VMs, the worst first. "
		NUMBER_ALONE,
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
		"exits", "[VM...] [INTERVAL]", "a VM's exits by reason: how many, how long",
		NUMBER_ALONE,
	},
	[COMMAND_HIST] = {
		"hist", "VM [NAME...] [INTERVAL [COUNT]]", "how long waits and exits take", NULL,
	},
	[COMMAND_WATCH] = {
		"watch", "NAME[:PART] '>' VALUE [per WINDOW]",
		"wait until a statistic grows by VALUE",
		"VALUE has a unit if the statistic has one: 8ms or 1.5MiB. PART is the name of a "
		"value (exit_reasons:hlt) or buckets (halt_wait_hist:8ms-). WINDOW is 10ms to 10s "
		"(default 1s).",
	},
	[COMMAND_RECORD] = {
		"record", "FILE [INTERVAL [COUNT]]", "write samples of all VMs to a file", NULL,
	},
	[COMMAND_REPLAY] = {
		"replay", "FILE [COMMAND...]", "any command above on a recording",
		"Without COMMAND a line per VM and interval.",
	},
	[COMMAND_EXPORT] = {
		"export", "", "serve all statistics to Prometheus by HTTP", NULL,
	},
	[COMMAND_EXPLAIN] = {
		"explain", "NAME...", "what statistics and exit reasons mean", NULL,
	},
	[COMMAND_HELP] = { "help", "[COMMAND]", "this text, or the help of COMMAND", NULL, },
};

#define BIT(command) (1u << COMMAND_##command)
#define LINES (BIT(LIST) | BIT(STREAM))
#define ON_VMS (LINES | BIT(WHY) | BIT(TOP) | BIT(SHOW) | BIT(EXITS) | BIT(HIST) | BIT(WATCH) | \
		BIT(RECORD) | BIT(EXPORT))
#define FORMATTED (LINES | BIT(SHOW) | BIT(HIST) | BIT(WATCH) | BIT(REPLAY))

#define FLAG(field) offsetof(struct options, field)

const struct option_info options_table[NUM_OPTIONS] = {
	{ "pid", 'p', "VM", ON_VMS,
	  "only VMs with this pid or name, or with a name that matches this shell pattern", true,
	  0, },
	{ "vcpu", 'c', "N", BIT(SHOW) | BIT(HIST) | BIT(WATCH), "vCPU N alone", false, 0, },
	{ "wait", 'w', NULL, BIT(STREAM) | BIT(SHOW),
	  "wait until such a VM exists", false, FLAG(wait), },
	{ "sort", OPTION_SORT, "COLUMN", LINES,
	  "sort by this column, numbers from the highest:", false, 0, },
	{ "limit", OPTION_LIMIT, "N", LINES, "only the first N VMs", false, 0, },
	{ "stat", OPTION_STAT, "REGEX", BIT(SHOW) | BIT(HIST) | BIT(EXPORT),
	  "only statistics whose names match", false, 0, },
	{ "nonzero", OPTION_NONZERO, NULL, BIT(SHOW) | BIT(HIST),
	  "only statistics that are not 0", false, FLAG(nonzero), },
	{ "verbose", 'v', NULL, BIT(SHOW), "add a description of each statistic", false,
	  FLAG(verbose), },
	{ "count", 'n', "COUNT", BIT(WATCH), "end after COUNT events", false, 0, },
	{ "force", OPTION_FORCE, NULL, BIT(RECORD), "overwrite the file", false, FLAG(force), },
	{ "at", OPTION_AT, "TIME", BIT(REPLAY),
	  "begin at 14:05[:30] or 2026-01-31T14:05[:30] or +90 seconds after the beginning", false,
	  0, },
	{ "info", OPTION_INFO, NULL, BIT(REPLAY), "host, kernel, time, number of samples", false,
	  FLAG(info), },
	{ "listen", OPTION_LISTEN, "[ADDR]:PORT", BIT(EXPORT),
	  "address to listen on (default 127.0.0.1:10203)", false, 0, },
	{ "per-vcpu", OPTION_PER_VCPU, NULL, BIT(EXPORT),
	  "each vCPU, instead of the sum of a VM's vCPUs", false, FLAG(per_vcpu), },
	{ "label", OPTION_LABEL, "NAME", BIT(EXPORT),
	  "this label of kvm_vm_info on each series of a VM", true, 0, },
	{ "buckets", OPTION_BUCKETS, "N", BIT(EXPORT),
	  "at most N buckets per histogram (default 8)", false, 0, },
	{ "once", OPTION_ONCE, NULL, BIT(EXPORT),
	  "print once for node_exporter's textfile collector", false, FLAG(once), },
	{ "json", OPTION_JSON, NULL, FORMATTED, "as JSON", true, 0, },
	{ "csv", OPTION_CSV, NULL, FORMATTED, "as comma-separated values", true, 0, },
	{ "help", 'h', NULL, ~0u, "print this", true, 0, },
};

bool has_option(enum command_id command, const struct option_info *info)
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

const char *command_name(enum command_id command)
{
	return *command_info[command].name ? command_info[command].name : "kvmstat INTERVAL";
}

const struct option_info *find_option(const char *text, size_t length)
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

#define HELP_WIDTH 80
#define USAGE_WIDTH 31
#define OPTION_WIDTH 25

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
	       "VMs of other users need root, or CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.\n");
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
		printf("  %-*s", OPTION_WIDTH, text);
		strcpy(help, option->help);
		for (i = 0; option->value == OPTION_SORT && i < NUM_COLUMNS; i++)
			sprintf(help + strlen(help), "%s%s", i ? ", " : " ", column_info[i].key);
		print_wrapped(stdout, help, HELP_WIDTH - 1 - 2 - OPTION_WIDTH, 2 + OPTION_WIDTH);
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
