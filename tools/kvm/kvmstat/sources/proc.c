// SPDX-License-Identifier: GPL-2.0
/* Reads /proc. Everything there can vanish between two calls. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sources/proc.h"
#include "util/file.h"
#include "util/util.h"

/* Compares numbers, or structs that begin with a number. */
static int compare(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return (left > right) - (left < right);
}

void proc_sort(void *array, size_t count, size_t size)
{
	if (count)
		qsort(array, count, size, compare);
}

const void *proc_find(int wanted, const void *array, size_t count, size_t size)
{
	return count ? bsearch(&wanted, array, count, size, compare) : NULL;
}

size_t proc_sort_numbers(int *number, size_t count)
{
	size_t i, kept = 0;

	proc_sort(number, count, sizeof(*number));
	for (i = 0; i < count; i++) {
		if (!kept || number[i] != number[kept - 1])
			number[kept++] = number[i];
	}
	return kept;
}

pid_t proc_thread_group(const char *proc, pid_t pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/status", proc, pid);
	return read_number(path, "Tgid:\t");
}

bool proc_is_ours(const char *proc)
{
	char path[PATH_MAX];
	char target[16];
	uint64_t pid;

	snprintf(path, sizeof(path), "%s/self", proc);
	if (!read_link(AT_FDCWD, path, target, sizeof(target)))
		return false;
	return !parse_number(target, 1, INT_MAX, &pid) && (pid_t)pid == getpid();
}

bool proc_is_hidden(const char *proc)
{
	char path[PATH_MAX];

	/* Each pid namespace has a process 1. */
	snprintf(path, sizeof(path), "%s/1", proc);
	return access(path, F_OK) && errno == ENOENT;
}

bool proc_is_namespace(const char *proc)
{
	/* The number of the first one is ABI: PROC_PID_INIT_INO. */
	static const char first[] = "pid:[4026531836]";
	char path[PATH_MAX];
	char target[64];

	snprintf(path, sizeof(path), "%s/self/ns/pid", proc);
	return read_link(AT_FDCWD, path, target, sizeof(target)) && strcmp(target, first);
}

uint64_t proc_vm_number(const char *proc, int fd)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/self/fdinfo/%d", proc, fd);
	return read_number(path, "vm:\t");
}
