/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands and what they have in common. Functions that return an int return an enum
 * exit_status; STATUS_ERROR and STATUS_USAGE come after an error line.
 */
#ifndef KVMSTAT_COMMAND_H
#define KVMSTAT_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "commands/options.h"
#include "model/tracker.h"
#include "privilege/privilege.h"
#include "render/render.h"
#include "sources/choice.h"
#include "sources/inventory.h"
#include "util/clock.h"
#include "util/util.h"

/* @argv[0] is the command's name. */
int command_list(int argc, char **argv);
int command_why(int argc, char **argv);
int command_exits(int argc, char **argv);
int command_stream(int argc, char **argv);
int command_watch(int argc, char **argv);
int command_show(int argc, char **argv);
int command_hist(int argc, char **argv);
int command_top(int argc, char **argv);
int command_record(int argc, char **argv);
int command_export(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_help(int argc, char **argv);
int command_version(int argc, char **argv);
/* Until the user wants an end; stdin and stdout are a terminal. Returns an enum exit_status. */
int run_top(struct inventory *inventory, uint64_t interval_ns);

/* @run runs the command in argv[1] on the recording. */
int command_replay(int argc, char **argv, int (*run)(int argc, char **argv));

/* A command that needs a library is NULL if kvmstat was built without that. */
#ifdef HAVE_HTTP
#define WITH_HTTP(run) (run)
#else
#define WITH_HTTP(run) NULL
#endif
#ifdef HAVE_CURSES
#define WITH_CURSES(run) (run)
#else
#define WITH_CURSES(run) NULL
#endif

/* Prints that @what is missing because of @library; returns STATUS_ERROR. */
int library_error(const char *what, const char *library);

/*
 * Goes to the time that was asked for, by default to the beginning or the end of the recording.
 * Returns true if nothing is replayed, false after an error line.
 */
bool replay_begin(bool latest);

/* For a stream that showed no interval, which is an error in a recording. */
int replay_status(void);

/* Parses what is left of a command line; what is not there stays as it is in @interval. */
int parse_interval(int argc, char **argv, struct interval *interval);

/* Where VMs are looked for, if no recording is replayed. */
extern const struct host *command_host;

/* Makes an empty inventory of it, or of the recording. @choice stays the caller's. */
int open_inventory(struct inventory *inventory, const struct choice *choice);

/* Waits for the process that answered for inventories, if there is one. */
void end_inventories(void);

/*
 * Gives up the privileges that the command does not need any more: after its files are open, before
 * it prints anything about VMs. Tests replace it.
 */
extern int (*confine)(unsigned int uses);

/* Prints that processes may not be looked into, or that there is no VM. */
void print_denied(const struct inventory *inventory);

/* Prints each chosen name that no VM has yet: it may be a mistake. */
void print_missing(struct inventory *inventory);

/*
 * Looks for all that is chosen; a recording goes on to where the first of it is. Each part has to
 * have a VM; with @may_come processes have to exist, and nothing is opened. find_chosen() leaves
 * the error lines to print_problems().
 */
int look_for_chosen(struct inventory *inventory, bool may_come);
int find_chosen(struct inventory *inventory, bool may_come);

/* look_for_chosen(); with --wait until one of it exists, or, with *@stopped, an interrupt. */
int attach(struct tracker *tracker, const struct options *options, int signals, bool *stopped);

/* Samples what is tracked, now. */
int sample_tracked(struct tracker *tracker);

/*
 * Samples twice, @interval_ns apart, so that rates and shares are known. In a recording it is the
 * interval that ends with the present sample.
 */
int take_look(struct tracker *tracker, uint64_t interval_ns);

/* Long enough for the ticks that /proc counts, short enough to wait for. */
#define LOOK_NS (NSEC_PER_SEC / 4)

/* The VMs of the last sample in the order asked for. The caller frees overviews->vm. */
void get_overviews(const struct tracker *tracker, const struct options *options,
		   struct overviews *overviews);

/*
 * STATUS_ERROR if something that should be shown was not, or if no VM was found and processes may
 * not be looked into. Prints the problems first.
 */
int inventory_status(struct inventory *inventory);

/* Whether there are VMs and none of them has statistics: /proc is all that is known of them. */
bool has_no_statistics(const struct inventory *inventory);

/* Print that no VM has this vCPU, or that none has statistics; return STATUS_ERROR. */
int vcpu_error(const struct inventory *inventory, const struct choice *choice, int vcpu);
int no_statistics_error(void);

/* Stdout, as wide as the terminal is now or $COLUMNS says. */
struct output standard_output(void);

/*
 * Flushes stdout. Returns false if not all went out: then *@status is STATUS_OK (no process reads
 * any more) or STATUS_ERROR.
 */
bool flush_output(int *status);

#endif /* KVMSTAT_COMMAND_H */
