/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shows whether a function makes system calls: in a process that would not survive
 * one.
 */
#ifndef KVMSTAT_TESTS_SANDBOX_H
#define KVMSTAT_TESTS_SANDBOX_H

#include <stdbool.h>

/* Whether @call returned true in a copy of this process, and made no system call. */
bool without_system_calls(bool (*call)(void *argument), void *argument);

/* Whether it ended @call by the first one. */
bool with_system_calls(bool (*call)(void *argument), void *argument);

#endif /* KVMSTAT_TESTS_SANDBOX_H */
