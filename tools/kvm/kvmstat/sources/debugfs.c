// SPDX-License-Identifier: GPL-2.0
/*
 * Reads debugfs. The directory goes when the VM does, at any time, and a part of the numbers
 * is none: either there are all or there is an error.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/debugfs.h"
#include "sources/proc.h"
#include "util/file.h"
#include "util/util.h"

bool debugfs_add(struct debugfs_vm *vm, const struct debugfs_value *value)
{
	if (vm->count == DEBUGFS_MAX_VALUES)
		return false;
	vm->value = xreallocarray(vm->value, vm->count + 1, sizeof(*vm->value));
	vm->value[vm->count++] = *value;
	return true;
}

/* One number and the end of the line, and nothing else. */
static bool parse_file(char *text, uint64_t *value)
{
	char *end = strchr(text, '\n');

	if (!end || end[1])
		return false;
	*end = '\0';
	return !parse_number(text, 0, UINT64_MAX, value);
}

/* 0, also of a file that is no number, or -errno. */
static int read_value(struct debugfs_vm *vm, int dir, const char *name)
{
	struct debugfs_value value = {};
	char text[32];
	int fd, err;

	if (strlen(name) >= sizeof(value.file))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	errno = 0;
	err = read_text(fd, text, sizeof(text)) ? 0 : errno;
	close(fd);
	/* Of other errors the file is none that can be read, and left out. */
	if (err == ENOMEM)
		return -err;
	if (!parse_file(text, &value.value))
		return 0;
	strcpy(value.file, name);
	return debugfs_add(vm, &value) ? 0 : -E2BIG;
}

static int read_entry(struct debugfs_vm *vm, int dir, const struct dirent *entry)
{
	static const char vcpu[] = "vcpu";
	uint64_t number;

	if (entry->d_type == DT_REG)
		return read_value(vm, dir, entry->d_name);
	if (entry->d_type == DT_DIR && !strncmp(entry->d_name, vcpu, strlen(vcpu)) &&
	    !parse_number(entry->d_name + strlen(vcpu), 0, INT_MAX, &number))
		vm->num_vcpus++;
	return 0;
}

static int compare_values(const void *a, const void *b)
{
	const struct debugfs_value *left = a, *right = b;

	return strcmp(left->file, right->file);
}

/* NULL at the end, or with *@ret. */
static const struct dirent *next_entry(DIR *stream, int *ret)
{
	const struct dirent *entry;

	errno = 0;
	entry = readdir(stream);
	if (!entry)
		*ret = -errno;
	return entry;
}

int debugfs_read(const char *debugfs, pid_t pid, int fd, struct debugfs_vm *vm)
{
	const struct dirent *entry;
	struct stat info = {};
	char path[PATH_MAX];
	int ret = 0;
	DIR *stream;

	*vm = (struct debugfs_vm) { .pid = pid, };
	snprintf(path, sizeof(path), "%s/%d-%d", debugfs, pid, fd);
	stream = opendir(path);
	if (!stream)
		return -errno;
	fstat(dirfd(stream), &info);
	vm->ino = info.st_ino;
	/* An entry that is missing for now is no value that is gone. */
	while (!ret && (entry = next_entry(stream, &ret))) {
		ret = read_entry(vm, dirfd(stream), entry);
		/* Lockdown leaves those that nobody may write to. */
		if (ret == -EPERM || ret == -EACCES) {
			vm->num_denied++;
			ret = 0;
		}
	}
	closedir(stream);
	if (!ret && !vm->count)
		ret = vm->num_denied ? -EPERM : -ENOENT;
	if (ret) {
		free(vm->value);
		return ret;
	}
	qsort(vm->value, vm->count, sizeof(*vm->value), compare_values);
	return 0;
}

int debugfs_compare_dirs(const void *a, const void *b)
{
	const struct debugfs_dir *left = a, *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->fd > right->fd) - (left->fd < right->fd);
}

void debugfs_dirs_add(struct debugfs_dirs *dirs, const struct debugfs_dir *dir)
{
	dirs->dir = xgrow(dirs->dir, dirs->count, sizeof(*dirs->dir));
	dirs->dir[dirs->count++] = *dir;
}

/* PID-FD; the files beside these directories are sums over all VMs. */
static bool parse_dir(const struct dirent *entry, struct debugfs_dir *dir)
{
	const char *dash = strchr(entry->d_name, '-');
	uint64_t pid, fd;
	char text[16];

	if (!dash || entry->d_type != DT_DIR || dash - entry->d_name >= (ptrdiff_t)sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)(dash - entry->d_name), entry->d_name);
	if (parse_number(text, 1, INT_MAX, &pid) || parse_number(dash + 1, 0, INT_MAX, &fd))
		return false;
	*dir = (struct debugfs_dir) { .pid = pid, .fd = fd, .ino = entry->d_ino, };
	return true;
}

int debugfs_list(const char *debugfs, const char *proc, struct debugfs_dirs *dirs)
{
	const struct dirent *entry;
	struct debugfs_dir dir;
	DIR *stream;
	int ret = 0;

	*dirs = (struct debugfs_dirs) {};
	/* Its pids are those of the first one. */
	if (proc_is_namespace(proc))
		return -ENOTSUP;
	stream = opendir(debugfs);
	if (!stream)
		return errno == ENOENT ? -ENODEV : -errno;
	while ((entry = next_entry(stream, &ret))) {
		if (parse_dir(entry, &dir))
			debugfs_dirs_add(dirs, &dir);
	}
	closedir(stream);
	if (ret)
		free(dirs->dir);
	else if (dirs->count)
		qsort(dirs->dir, dirs->count, sizeof(*dirs->dir), debugfs_compare_dirs);
	return ret;
}
