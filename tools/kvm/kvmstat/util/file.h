/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Small files and links, as those of /proc: read at once, into text that ends with a NUL.
 */
#ifndef KVMSTAT_FILE_H
#define KVMSTAT_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* As much as fits; the number of bytes, 0 if there is nothing. */
size_t read_text(int fd, char *text, size_t size);

/* The same of a file; paths are relative to @dir, which may be AT_FDCWD. */
size_t read_file(int dir, const char *path, char *text, size_t size);

/* Where the link leads to. False, and no text, if there is none or if it does not fit. */
bool read_link(int dir, const char *path, char *text, size_t size);

#endif /* KVMSTAT_FILE_H */
