/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands and what they have in common.
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

/* @argv[0] is the command's name. They return an enum exit_status. */
int command_list(int argc, char **argv);
int command_why(int argc, char **argv);
int command_exits(int argc, char **argv);
int command_stream(int argc, char **argv);
int command_watch(int argc, char **argv);
int command_show(int argc, char **argv);
int command_hist(int argc, char **argv);
int command_top(int argc, char **argv);
int command_record(int argc, char **argv);

/*
 * @run: finds and runs the command that is in argv[1], there for what follows the file:
 * after replay_begin().
 */
int command_replay(int argc, char **argv, int (*run)(int argc, char **argv));

/*
 * Goes to the beginning of the recording, or to the end, unless another time was asked
 * for. True if nothing is replayed; false after an error line.
 */
bool replay_begin(bool latest);

/*
 * If there was no interval to be shown: in a recording STATUS_ERROR after an error line, as
 * nobody wanted that.
 */
int replay_status(void);

int command_export(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_help(int argc, char **argv);
int command_version(int argc, char **argv);

/*
 * Commands that need a library have no function where kvmstat was built without it,
 * see main.c.
 */
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

/* An error line that @what is missing because of @library; returns STATUS_ERROR. */
int library_error(const char *what, const char *library);

/*
 * The VMs of the last sample, as they are to be shown. The caller frees overviews->vm.
 */
void get_overviews(const struct tracker *tracker, const struct options *options,
		   struct overviews *overviews);

/*
 * From what is left of a command line. What is not there stays as it is in
 * @interval. STATUS_OK, or STATUS_USAGE after an error line.
 */
int parse_interval(int argc, char **argv, struct interval *interval);

/* Where VMs are looked for, if no recording is replayed. */
extern const struct host *command_host;

/*
 * An inventory of it, with nothing in it; or an error line and STATUS_ERROR. @choice stays
 * the caller's; none is all VMs.
 */
int open_inventory(struct inventory *inventory, const struct choice *choice);

/* Waits for the process that answered for inventories, if there is one. */
void end_inventories(void);

/*
 * Gives up what the command does not need any more, see privilege_drop(): when it has an
 * inventory and all files are open, before it prints anything of VMs.
 */
int confine(unsigned int uses);

/* What does it, privilege_drop(): not in a test that goes on. */
extern int (*drop_privileges)(unsigned int uses);

/* The problems that were not printed yet on stderr. */
void print_problems(struct inventory *inventory);

/* Samples what is tracked, now. STATUS_OK, or STATUS_ERROR after an error line. */
int sample_tracked(struct tracker *tracker);

/*
 * The same twice, so far apart: then it is known what time is spent with. Of a recording it is
 * the interval that ends with the sample where it is.
 */
int take_look(struct tracker *tracker, uint64_t interval_ns);

/* Long enough for the ticks that /proc counts, and short enough to be waited for. */
#define LOOK_NS (NSEC_PER_SEC / 4)

/*
 * STATUS_ERROR if something that should be shown was not, or if no VM was found and there
 * are processes that may have some but may not be looked into. Prints the problems first.
 */
int inventory_status(struct inventory *inventory);

/* That processes may not be looked into, or that there is no VM, on stderr. */
void print_denied(const struct inventory *inventory);

/*
 * Looks for all that is chosen; a recording goes on to where the first of it is. Each part has to
 * have a VM; if @may_come processes have to be there, and nothing is opened. STATUS_OK, also if
 * no choice was made, or STATUS_ERROR after error lines, which find_chosen() leaves to
 * print_problems().
 */
int look_for_chosen(struct inventory *inventory, bool may_come);
int find_chosen(struct inventory *inventory, bool may_come);

/* An error line for each chosen name that no VM has yet: it may be a mistake. */
void print_missing(struct inventory *inventory);

/*
 * look_for_chosen(); with --wait until one of it is there, and in *@stopped whether that was
 * interrupted. STATUS_OK or STATUS_ERROR after error lines.
 */
int attach(struct tracker *tracker, const struct options *options, int signals, bool *stopped);

/*
 * Whether there are VMs and none of them has statistics: then a command shows what /proc tells of
 * them, and does not fail.
 */
bool has_no_statistics(const struct inventory *inventory);

/* An error line that no VM has this vCPU; returns STATUS_ERROR. */
int vcpu_error(const struct inventory *inventory, const struct choice *choice, int vcpu);

/* An error line that no VM has statistics; returns STATUS_ERROR. */
int no_statistics_error(void);

/* Stdout, as wide as the terminal is now or the environment says. */
struct output standard_output(void);

/*
 * Flushes stdout. True if all went out, or else STATUS_OK (nobody reads any more)
 * or STATUS_ERROR (after an error line) in *@status.
 */
bool flush_output(int *status);

#endif /* KVMSTAT_COMMAND_H */
