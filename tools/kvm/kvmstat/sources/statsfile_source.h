/* SPDX-License-Identifier: GPL-2.0 */
/* Where a KVM statistics file is read from: a file descriptor or memory. */
#ifndef KVMSTAT_STATSFILE_SOURCE_H
#define KVMSTAT_STATSFILE_SOURCE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define VALUE_SIZE sizeof(uint64_t)

struct statsfile_error {
	char text[192];
};

/**
 * enum statsfile_access - how values are read
 * @STATSFILE_AUTO: from a mapping if the file is KVM's and can be mapped, otherwise by pread()
 * @STATSFILE_PREAD: by pread()
 * @STATSFILE_MMAP: from a mapping of any file that can be mapped. If a process truncates the file,
 *	reading raises SIGBUS
 */
enum statsfile_access {
	STATSFILE_AUTO,
	STATSFILE_PREAD,
	STATSFILE_MMAP,
};

/**
 * struct statsfile_source - where a statistics file is read from
 * @fd: file descriptor, or -1 for memory
 * @access: how to read values, unless @fd is -1
 * @memory: the file's content if @fd is -1; must stay valid for later reads
 * @size: bytes of @memory
 */
struct statsfile_source {
	int fd;
	enum statsfile_access access;
	const void *memory;
	size_t size;
};

/* A part of the file; the name is for messages. */
struct statsfile_block {
	const char *name;
	uint64_t start;
	uint64_t size;
};

/* Return: @ret. */
__attribute__((__format__(__printf__, 3, 4)))
int statsfile_fail(struct statsfile_error *error, int ret, const char *format, ...);

#define malformed(error, ...) statsfile_fail(error, -EINVAL, __VA_ARGS__)

/* Reads all of it: 0, -ENODATA if the file ends before, or the -errno of pread(). */
int pread_all(int fd, uint64_t offset, void *to, size_t size);

/* Return: 0, -EINVAL if the file ends before, or the -errno of pread(). */
int statsfile_read_block(const struct statsfile_source *source,
			 const struct statsfile_block *block, void *to,
			 struct statsfile_error *error);

#endif /* KVMSTAT_STATSFILE_SOURCE_H */
