/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands and what they have in common. Functions that return an int return an enum
 * exit_status. Before STATUS_ERROR and STATUS_USAGE they print an error line.
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
int command_table(int argc, char **argv);	/* list, why, exits */
int command_stream(int argc, char **argv);
int command_watch(int argc, char **argv);
int command_show(int argc, char **argv);	/* show, hist */
int command_top(int argc, char **argv);
int command_record(int argc, char **argv);
int command_export(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_help(int argc, char **argv);
int command_version(int argc, char **argv);
/* Runs until the user quits. Standard input and output are a terminal. */
int run_top(struct inventory *inventory, uint64_t interval_ns);

/* @run runs the command in argv[1] on the recording. */
int command_replay(int argc, char **argv, int (*run)(int argc, char **argv));

/* A command that needs a library is NULL if kvmstat was built without it. */
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

/* Prints that @what is missing without @library; returns STATUS_ERROR. */
int library_error(const char *what, const char *library);

/*
 * Goes to the time of --at, by default to the last sample (@latest) or the first one. Returns false
 * after an error line. Without a recording it does nothing and returns true.
 */
bool replay_begin(bool latest);

/*
 * The status of a stream that ends within its first interval: an error if it replays a recording.
 */
int replay_status(void);

#define MIN_INTERVAL (10 * MSEC)

/* Parses [INTERVAL [COUNT]]. A missing argument leaves its part of @interval as it is. */
int parse_interval(int argc, char **argv, struct interval *interval);

/* The host that is scanned for VMs, unless a recording is replayed. */
extern const struct host *command_host;

/* Makes an empty inventory of that host, or of the recording. @choice must outlive it. */
int open_inventory(struct inventory *inventory, const struct choice *choice);

/* Ends the broker, if there is one, and waits for its end. */
void end_inventories(void);

/*
 * Gives up the privileges that the command no longer needs. Call it after the command's files are
 * open, before it prints anything about VMs. Tests replace it.
 */
extern int (*confine)(unsigned int uses);

/* Prints that kvmstat may not look into some processes, or that there is no VM. */
void print_denied(const struct inventory *inventory);

/* Prints each chosen name that no VM has yet: it may be a mistake. */
void print_missing(struct inventory *inventory);

/*
 * Finds the chosen VMs. In a recording, goes to a sample with one: see replay_go_to_chosen(). A pid
 * or name without a VM is an error. With @may_come, only a pid without a process is an error, and
 * no file is opened. find_chosen() leaves the error lines to print_problems().
 */
int look_for_chosen(struct inventory *inventory, bool may_come);
int find_chosen(struct inventory *inventory, bool may_come);

/* As look_for_chosen(); with --wait it waits for a chosen VM. An interrupt sets *@stopped. */
int attach(struct tracker *tracker, const struct options *options, int signals, bool *stopped);

/* Samples all tracked VMs now. */
int sample_tracked(struct tracker *tracker);

/*
 * Samples twice, @interval_ns apart, so that rates and shares are known. In a recording this is the
 * interval that ends with the present sample.
 */
int take_look(struct tracker *tracker, uint64_t interval_ns);
/* The interval of commands that have no argument for it. */
uint64_t look_ns(void);

/* The VMs of the last sample in the order asked for. The caller frees overviews->vm. */
void get_overviews(const struct tracker *tracker, const struct options *options,
		   struct overviews *overviews);

/*
 * STATUS_ERROR if something that should be shown was not, or if no VM was found and processes may
 * not be looked into. Prints the problems first.
 */
int inventory_status(struct inventory *inventory);

/* Whether there are VMs and none of them has statistics: only /proc tells about them. */
bool has_no_statistics(const struct inventory *inventory);

/* Print that no VM has this vCPU, or that none has statistics; return STATUS_ERROR. */
int vcpu_error(const struct inventory *inventory, const struct choice *choice, int vcpu);
int no_statistics_error(void);

/* Stdout, as wide as the terminal is now or $COLUMNS says. */
struct output standard_output(void);

/*
 * Flushes stdout. Returns false if it could not write everything: then *@status is STATUS_OK (no
 * process reads any more) or STATUS_ERROR.
 */
bool flush_output(int *status);

#endif /* KVMSTAT_COMMAND_H */
