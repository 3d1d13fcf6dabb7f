/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every part of the tool needs: errors on stderr, memory that is there or
 * the end of the program, numbers from a command line.
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

/* What prints an error line, given what follows the program's name; it may be replaced. */
extern void (*error_printer)(const char *text);

/* One line on stderr that starts with the program's name. */
__printf(1, 2)
void print_error(const char *format, ...);

/* These never return NULL: without memory they end the program. */
void *xcalloc(size_t count, size_t size);
void *xreallocarray(void *old, size_t count, size_t size);
/*
 * Room for one more element of an array that has room for a power of two of them: twice as
 * much when it is full.
 */
void *xgrow(void *array, size_t count, size_t size);
__printf(1, 2)
char *xasprintf(const char *format, ...);

__printf(1, 0)
char *xvasprintf(const char *format, va_list args);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t monotonic_ns(void);
/*
 * In a time namespace that is not the clock by which the kernel says since when a vCPU is in
 * its state. From here on monotonic_ns() is. To be called while files can be opened.
 */
void use_kernels_clock(void);

/* A file descriptor that is readable when one of these signals, *@set then, has come; or -1. */
int open_signals(const int *signals, size_t count, sigset_t *set);

/* What /proc does not show, where there is none, stays open. */
void close_files_above_stderr(void);

/* Now, without waiting; never of -1. */
bool fd_is_readable(int fd);

/*
 * Both take the whole string or nothing: no sign, no blanks, no rest. They
 * return 0, -EINVAL (not a number) or -ERANGE (not from @min to @max).
 * parse_seconds() takes decimals, down to the nanosecond, and gives nanoseconds.
 */
int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number);
int parse_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *ns);

#endif /* KVMSTAT_UTIL_H */
