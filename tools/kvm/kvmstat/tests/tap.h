/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Results of tests as TAP lines.
 */
#ifndef KVMSTAT_TESTS_TAP_H
#define KVMSTAT_TESTS_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "util/util.h"

__printf(2, 3)
void check(bool passed, const char *name, ...);
__printf(2, 3)
void skip(const char *reason, const char *name, ...);

/* On failure, these print what they found and what they expected. */
void check_text(const char *found, const char *expected, const char *name);
void check_contains(const char *found, const char *expected, const char *name);
/*
 * Compares with the section "== NAME" of tests/golden/FILE. If the environment has UPDATE, writes
 * @found to the file instead: read the change.
 */
void check_golden(const char *file, const char *name, const char *found);
void check_number(uint64_t found, uint64_t expected, const char *name);

/* The number of open files of this process. */
unsigned int count_open_files(void);

/* Runs a shell command that sets a test up or cleans up after it. If it fails, the test ends. */
__printf(1, 2)
void shell(const char *format, ...);

/* Prints the plan. Returns the exit status. */
int tap_end(void);

#endif /* KVMSTAT_TESTS_TAP_H */
