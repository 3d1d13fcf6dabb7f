/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Error lines, memory that is allocated or ends the program, clocks, numbers from a command line.
 */
#ifndef KVMSTAT_UTIL_H
#define KVMSTAT_UTIL_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define NSEC_PER_SEC UINT64_C(1000000000)

#define KVMSTAT_VERSION "0.1"

enum exit_status {
	STATUS_OK = 0,
	STATUS_ERROR = 1,
	STATUS_USAGE = 2,
};

#define __printf(text, first) __attribute__((__format__(__printf__, text, first)))

/* Prints an error line. @text does not include the program's name. May be replaced. */
extern void (*error_printer)(const char *text);

/* Prints one line on stderr, after the program's name. */
__printf(1, 2)
void print_error(const char *format, ...);

/* Without memory these end the program. */
void *xcalloc(size_t count, size_t size);
void *xreallocarray(void *old, size_t count, size_t size);
/* Makes room for one more element of an array that grows in powers of two. */
void *xgrow(void *array, size_t count, size_t size);
__printf(1, 2)
char *xasprintf(const char *format, ...);

__printf(1, 0)
char *xvasprintf(const char *format, va_list args);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t monotonic_ns(void);
/*
 * Makes monotonic_ns() the clock of state_since_ns, which a time namespace does not change. Call it
 * while kvmstat may still open files.
 */
void use_kernels_clock(void);

/* Returns a signalfd, and the signals as *@set; or -1. */
int open_signals(const int *signals, size_t count, sigset_t *set);

/* Uses /proc: without it, the files stay open. */
void close_files_above_stderr(void);

/* Does not wait. Returns false for -1. */
bool fd_is_readable(int fd);

/*
 * Both parse the whole string, without sign and blanks. They return 0, -EINVAL (not a number) or
 * -ERANGE (not from @min to @max). parse_seconds() takes decimals and gives nanoseconds.
 */
int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number);
int parse_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *ns);

#endif /* KVMSTAT_UTIL_H */
