/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tells whether a function makes system calls: its first one kills the child that runs it.
 */
#ifndef KVMSTAT_TESTS_SANDBOX_H
#define KVMSTAT_TESTS_SANDBOX_H

#include <stdbool.h>

/* Whether @call returned true in a copy of this process, and made no system call. */
bool without_system_calls(bool (*call)(void *argument), void *argument);

/* Whether @call made a system call, which ended the copy. */
bool with_system_calls(bool (*call)(void *argument), void *argument);

#endif /* KVMSTAT_TESTS_SANDBOX_H */
