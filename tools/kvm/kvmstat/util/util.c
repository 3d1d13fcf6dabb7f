// SPDX-License-Identifier: GPL-2.0
/*
 * Errors, memory, time and numbers.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/util.h"

static void print_line(const char *text)
{
	/* Earlier output comes first. */
	fflush(stdout);
	fprintf(stderr, "kvmstat: %s\n", text);
}

void (*error_printer)(const char *text) = print_line;

void print_error(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	error_printer(text ? text : "out of memory");
	free(text);
}

static void *check_memory(void *memory)
{
	if (!memory) {
		print_error("out of memory");
		exit(STATUS_ERROR);
	}
	return memory;
}

void *xcalloc(size_t count, size_t size)
{
	/* calloc(0) may return NULL, which is no error. */
	return check_memory(calloc(count ? count : 1, size));
}

void *xreallocarray(void *old, size_t count, size_t size)
{
	return check_memory(reallocarray(old, count ? count : 1, size));
}

void *xgrow(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return xreallocarray(array, count ? 2 * count : 1, size);
}

char *xvasprintf(const char *format, va_list args)
{
	char *text;

	return check_memory(vasprintf(&text, format, args) < 0 ? NULL : text);
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	return text;
}

static int64_t namespace_offset_ns;

/* The number of a namespace of this process; 0 if the kernel has no such namespaces. */
static ino_t namespace_of(const char *kind)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	return stat(path, &status) ? 0 : status.st_ino;
}

void use_kernels_clock(void)
{
	long long seconds, ns;
	FILE *offsets;

	/* The file below shows the offsets of future children: only use them if these are ours. */
	if (namespace_of("time") != namespace_of("time_for_children"))
		return;
	offsets = fopen("/proc/self/timens_offsets", "re");
	if (!offsets)
		return;
	if (fscanf(offsets, "monotonic %lld %lld", &seconds, &ns) == 2)
		namespace_offset_ns = seconds * (int64_t)NSEC_PER_SEC + ns;
	fclose(offsets);
}

uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec - namespace_offset_ns;
}

int open_signals(const int *signals, size_t count, sigset_t *set)
{
	sigemptyset(set);
	while (count--)
		sigaddset(set, signals[count]);
	return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void close_files_above_stderr(void)
{
	struct dirent *entry;
	uint64_t fd;
	DIR *stream;

	stream = opendir("/proc/self/fd");
	while (stream && (entry = readdir(stream))) {
		if (!parse_number(entry->d_name, STDERR_FILENO + 1, INT_MAX, &fd) &&
		    (int)fd != dirfd(stream))
			close(fd);
	}
	if (stream)
		closedir(stream);
}

bool fd_is_readable(int fd)
{
	struct pollfd file = { .fd = fd, .events = POLLIN, };

	return poll(&file, 1, 0) == 1;
}

/* Stops at the first character that is not a digit. */
static int parse_digits(const char **text, uint64_t *number)
{
	const char *start = *text;

	*number = 0;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		if (__builtin_mul_overflow(*number, UINT64_C(10), number) ||
		    __builtin_add_overflow(*number, (uint64_t)(**text - '0'), number))
			return -ERANGE;
	}
	return *text == start ? -EINVAL : 0;
}

int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	uint64_t value;
	int ret;

	ret = parse_digits(&text, &value);
	if (ret)
		return ret;
	if (*text)
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*number = value;
	return 0;
}

int parse_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *ns)
{
	uint64_t scale = NSEC_PER_SEC;
	uint64_t value = 0;
	int ret = 0;

	if (*text != '.')
		ret = parse_digits(&text, &value);
	if (ret)
		return ret;
	if (__builtin_mul_overflow(value, NSEC_PER_SEC, &value))
		return -ERANGE;
	if (*text == '.') {
		text++;
		for (; *text >= '0' && *text <= '9' && scale > 1; text++) {
			scale /= 10;
			if (__builtin_add_overflow(value, (*text - '0') * scale, &value))
				return -ERANGE;
		}
		if (scale == NSEC_PER_SEC)
			return -EINVAL;
	}
	if (*text)
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*ns = value;
	return 0;
}
