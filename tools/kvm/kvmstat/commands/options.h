/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands and their options, described once: parsing, help and completion use the same tables.
 */
#ifndef KVMSTAT_OPTIONS_H
#define KVMSTAT_OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/order.h"
#include "sources/choice.h"
#include "sources/identity.h"

enum command_id {
	COMMAND_LIST,
	COMMAND_WHY,
	COMMAND_TOP,
	COMMAND_STREAM,			/* has no name */
	COMMAND_SHOW,
	COMMAND_EXITS,
	COMMAND_HIST,
	COMMAND_WATCH,
	COMMAND_RECORD,
	COMMAND_REPLAY,
	COMMAND_EXPORT,
	COMMAND_EXPLAIN,
	COMMAND_HELP,
	NUM_COMMANDS,
};

struct options {
	enum command_id command;
	struct choice choice;
	int vcpu;			/* or ALL_VCPUS */
	enum column_id order;		/* NUM_COLUMNS: none */
	uint64_t limit;			/* 0: none; the same in count and buckets */
	uint64_t count;
	uint64_t buckets;
	regex_t regex;
	const regex_t *only;		/* &regex, or NULL */
	const char *listen, *at;	/* or NULL */
	bool label[IDENTITY_FIELDS];
	bool wait, verbose, nonzero, force, info, per_vcpu, once;
	bool help;			/* --help was given, and the help printed */
	char **argument;		/* after the options */
	int num_arguments;
};

#define ALL_VCPUS (-1)

struct command_info {
	const char *name;		/* "": a stream */
	const char *usage;
	const char *help;		/* in the overview, one line */
	const char *more;		/* below help in "COMMAND --help", or NULL */
};

extern const struct command_info command_info[NUM_COMMANDS];

/* getopt() returns these values. An option above 'z' has no letter. */
enum {
	OPTION_SORT = 0x100, OPTION_LIMIT, OPTION_STAT, OPTION_NONZERO, OPTION_LISTEN,
	OPTION_PER_VCPU, OPTION_LABEL, OPTION_BUCKETS, OPTION_ONCE, OPTION_JSON, OPTION_CSV,
	OPTION_FORCE, OPTION_AT, OPTION_INFO,
};

struct option_info {
	const char *name;
	int value;
	const char *argument;		/* NULL: it has none */
	unsigned int commands;		/* a BIT() of each that has it */
	const char *help;
	bool repeats;
	size_t flag;			/* offset of the bool in struct options; 0: none */
};

#define NUM_OPTIONS 20
extern const struct option_info options_table[NUM_OPTIONS];

#define FOR_EACH_OPTION(info) \
	for (info = options_table; info < options_table + NUM_OPTIONS; info++)

bool has_option(enum command_id command, const struct option_info *info);

/* Finds a command by its name or a unique beginning of it; NUM_COMMANDS if there is none. */
enum command_id find_command(const char *name);

/*
 * Ignores @argv[0]. Prints the help if --help asks for it. STATUS_OK, or STATUS_USAGE
 * after an error line; options_free() in any case. An option may stand anywhere.
 */
int parse_options(enum command_id command, int argc, char **argv, struct options *options);
void options_free(struct options *options);

/* Takes the first @count arguments as VMs; with @names also the next ones, up to an interval. */
int take_vms(struct options *options, int count, bool names);
bool is_interval(const char *argument);

/* The command's name in messages; "kvmstat INTERVAL" for a stream. */
const char *command_name(enum command_id command);

/* Finds an option by its text with the dashes; NULL if there is none. */
const struct option_info *find_option(const char *text, size_t length);

/* Whether the command has the option. @option includes the dashes. */
bool command_takes(enum command_id command, const char *option);

void print_help(void);
void print_command_help(enum command_id command);

/* For completion, a word per line: commands, or the options of one. */
void print_commands(void);
void print_options(enum command_id command);

/* One line on stderr and where to find help; returns STATUS_USAGE. */
__printf(1, 2)
int usage_error(const char *format, ...);

#endif /* KVMSTAT_OPTIONS_H */
