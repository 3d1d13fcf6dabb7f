// SPDX-License-Identifier: GPL-2.0
/*
 * Small files and links. In /proc a missing file is not an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "util/file.h"

size_t read_text(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t count;

	while (length < size - 1) {
		count = read(fd, text + length, size - 1 - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		length += count;
	}
	text[length] = '\0';
	return length;
}

size_t read_file(int dir, const char *path, char *text, size_t size)
{
	size_t length;
	int fd;

	text[0] = '\0';
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read_text(fd, text, size);
	close(fd);
	return length;
}

bool read_link(int dir, const char *path, char *text, size_t size)
{
	ssize_t length = readlinkat(dir, path, text, size);
	bool fits = length >= 0 && (size_t)length < size;

	text[fits ? length : 0] = '\0';
	return fits;
}

uint64_t read_number(const char *path, const char *key)
{
	char text[4096];
	const char *line;

	read_file(AT_FDCWD, path, text, sizeof(text));
	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, strlen(key)))
			return strtoull(line + strlen(key), NULL, 10);
	}
	return 0;
}
