/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A directory for a test in /tmp, such as its own /proc. Paths are relative to it. Makes missing
 * directories above a file.
 */
#ifndef KVMSTAT_TESTS_TREE_H
#define KVMSTAT_TESTS_TREE_H

#include <stddef.h>

#include "util/util.h"

extern char tree_root[32];

void tree_begin(void);
void tree_end(void);

/* The caller frees it. */
__printf(1, 2)
char *tree_path(const char *format, ...);

/* Makes an empty file, or a directory if the path ends with '/'. */
__printf(1, 2)
void tree_make(const char *format, ...);
__printf(3, 4)
void tree_write(const void *bytes, size_t size, const char *format, ...);
__printf(2, 3)
void tree_text(const char *text, const char *format, ...);
__printf(2, 3)
void tree_link(const char *target, const char *format, ...);
/* Removes it with everything below it. */
__printf(1, 2)
void tree_remove(const char *format, ...);

#endif /* KVMSTAT_TESTS_TREE_H */
