// SPDX-License-Identifier: GPL-2.0
/*
 * A directory for a test.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"
#include "tree.h"

char tree_root[32];

void tree_begin(void)
{
	umask(022);
	strcpy(tree_root, "/tmp/kvmstat-test-XXXXXX");
	if (!mkdtemp(tree_root) || chmod(tree_root, 0755))
		abort();
}

void tree_end(void)
{
	shell("rm -r %s", tree_root);
}

/* Makes the path, with all directories above it. */
static char *place(const char *format, va_list args)
{
	char *path = xvasprintf(format, args), *full = xasprintf("%s/%s", tree_root, path), *slash;

	for (slash = full + strlen(tree_root); (slash = strchr(slash + 1, '/')); *slash = '/') {
		*slash = '\0';
		if (mkdir(full, 0755) && errno != EEXIST)
			abort();
	}
	free(path);
	return full;
}

#define PLACE(path, format) do {			\
	va_list args;					\
							\
	va_start(args, format);				\
	(path) = place(format, args);			\
	va_end(args);					\
} while (0)

char *tree_path(const char *format, ...)
{
	char *path;

	PLACE(path, format);
	return path;
}

void tree_make(const char *format, ...)
{
	char *path;

	PLACE(path, format);
	free(path);
}

static void write_file(char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd))
		abort();
	free(path);
}

void tree_write(const void *bytes, size_t size, const char *format, ...)
{
	char *path;

	PLACE(path, format);
	write_file(path, bytes, size);
}

void tree_text(const char *text, const char *format, ...)
{
	char *path;

	PLACE(path, format);
	write_file(path, text, strlen(text));
}

void tree_link(const char *target, const char *format, ...)
{
	char *path;

	PLACE(path, format);
	if (symlink(target, path))
		abort();
	free(path);
}

void tree_remove(const char *format, ...)
{
	char *path;

	PLACE(path, format);
	shell("rm -rf %s", path);
	free(path);
}
