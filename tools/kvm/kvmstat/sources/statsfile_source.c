// SPDX-License-Identifier: GPL-2.0
/* Where a KVM statistics file is read from. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sources/statsfile_source.h"

int statsfile_fail(struct statsfile_error *error, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return ret;
}

int pread_all(int fd, uint64_t offset, void *to, size_t size)
{
	size_t done = 0;
	ssize_t count;

	while (done < size) {
		count = pread(fd, (char *)to + done, size - done, offset + done);
		if (!count)
			return -ENODATA;
		if (count < 0 && errno != EINTR)
			return -errno;
		if (count > 0)
			done += count;
	}
	return 0;
}

int statsfile_read_block(const struct statsfile_source *source,
			 const struct statsfile_block *block, void *to,
			 struct statsfile_error *error)
{
	int ret;

	if (!block->size)
		return 0;
	if (source->fd >= 0) {
		ret = pread_all(source->fd, block->start, to, block->size);
	} else if (block->start > source->size || block->size > source->size - block->start) {
		ret = -ENODATA;
	} else {
		memcpy(to, (const char *)source->memory + block->start, block->size);
		ret = 0;
	}
	if (ret == -ENODATA)
		return malformed(error, "the file ends inside of the %s (%llu bytes at %llu)",
				 block->name, (unsigned long long)block->size,
				 (unsigned long long)block->start);
	if (ret)
		return statsfile_fail(error, ret, "cannot read the %s: %s", block->name,
				      strerror(-ret));
	return 0;
}
