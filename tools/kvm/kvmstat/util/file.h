/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads small files and links, such as /proc's, into text that ends with a NUL.
 */
#ifndef KVMSTAT_FILE_H
#define KVMSTAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads as much as fits. Returns the number of bytes, 0 on failure. */
size_t read_text(int fd, char *text, size_t size);

/* The same for a file; the path is relative to @dir, which may be AT_FDCWD. */
size_t read_file(int dir, const char *path, char *text, size_t size);

/* Reads a link. False, and an empty text, if there is none or it does not fit. */
bool read_link(int dir, const char *path, char *text, size_t size);

/* The number after the key, in a file with lines KEY NUMBER; 0 without that key. */
uint64_t read_number(const char *path, const char *key);

#endif /* KVMSTAT_FILE_H */
