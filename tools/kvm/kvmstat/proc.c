// SPDX-License-Identifier: GPL-2.0
/*
 * Reads /proc. Everything there can vanish between two calls, and names come
 * from whoever started the process.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "util.h"

#define VM_TARGET "anon_inode:kvm-vm"
#define VCPU_TARGET "anon_inode:kvm-vcpu:"

int parse_kvm_link(const char *target)
{
	uint64_t vcpu;

	if (!strcmp(target, VM_TARGET))
		return LINK_VM;
	if (strncmp(target, VCPU_TARGET, strlen(VCPU_TARGET)) ||
	    parse_number(target + strlen(VCPU_TARGET), 0, INT_MAX, &vcpu))
		return LINK_OTHER;
	return vcpu;
}

static int link_at(int dir, const char *path)
{
	char target[64];
	ssize_t length;

	/* A longer target is cut off, and is none of KVM's. */
	length = readlinkat(dir, path, target, sizeof(target) - 1);
	if (length < 0)
		return LINK_OTHER;
	target[length] = '\0';
	return parse_kvm_link(target);
}

int proc_open(const char *proc, pid_t pid)
{
	char path[PATH_MAX];
	int dir;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : dir;
}

/* The directory stream owns its file descriptor; NULL and errno on failure. */
static DIR *open_fds(int dir)
{
	int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream;
	int err;

	if (fd < 0)
		return NULL;
	stream = fdopendir(fd);
	if (!stream) {
		err = errno;
		close(fd);
		errno = err;
	}
	return stream;
}

static int compare_fds(const void *a, const void *b)
{
	int left = ((const struct proc_fd *)a)->fd;
	int right = ((const struct proc_fd *)b)->fd;

	return (left > right) - (left < right);
}

int proc_list_fds(int dir, struct proc_fds *fds)
{
	struct dirent *entry;
	size_t room = 0;
	uint64_t fd;
	DIR *stream;
	int link;

	*fds = (struct proc_fds) {};
	stream = open_fds(dir);
	if (!stream)
		return -errno;

	/* A process that dies meanwhile has no more entries: that is no error. */
	while ((entry = readdir(stream))) {
		if (parse_number(entry->d_name, 0, INT_MAX, &fd))
			continue;
		link = link_at(dirfd(stream), entry->d_name);
		if (link == LINK_OTHER)
			continue;
		if (fds->count == room) {
			room = room ? 2 * room : 16;
			fds->entry = xreallocarray(fds->entry, room, sizeof(*fds->entry));
		}
		fds->entry[fds->count++] = (struct proc_fd) { .fd = fd, .link = link, };
	}
	closedir(stream);
	/* /proc has them in order, other filesystems, with a /proc of a test, do not. */
	if (fds->count)
		qsort(fds->entry, fds->count, sizeof(*fds->entry), compare_fds);
	return 0;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t left = *(const pid_t *)a;
	pid_t right = *(const pid_t *)b;

	return (left > right) - (left < right);
}

int proc_list_pids(const char *proc, pid_t **pids, size_t *count)
{
	struct dirent *entry;
	size_t room = 0;
	DIR *stream;
	uint64_t pid;

	*pids = NULL;
	*count = 0;
	stream = opendir(proc);
	if (!stream)
		return -errno;
	while ((entry = readdir(stream))) {
		if (parse_number(entry->d_name, 1, INT_MAX, &pid))
			continue;
		if (*count == room) {
			room = room ? 2 * room : 256;
			*pids = xreallocarray(*pids, room, sizeof(**pids));
		}
		(*pids)[(*count)++] = pid;
	}
	closedir(stream);
	if (*count)
		qsort(*pids, *count, sizeof(**pids), compare_pids);
	return 0;
}

/* As much as fits, terminated; the number of bytes, 0 if there is nothing. */
static size_t read_file(int dir, const char *path, char *text, size_t size)
{
	size_t length = 0;
	ssize_t count;
	int fd;

	text[0] = '\0';
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (length < size - 1) {
		count = read(fd, text + length, size - 1 - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		length += count;
	}
	close(fd);
	text[length] = '\0';
	return length;
}

/* The argument after -name or --name, NULL if there is none. */
static const char *find_name_option(const char *cmdline, size_t length)
{
	const char *end = cmdline + length;
	const char *arg, *next;

	for (arg = cmdline; arg < end; arg = next) {
		next = arg + strlen(arg) + 1;
		if (next < end && (!strcmp(arg, "-name") || !strcmp(arg, "--name")))
			return next;
	}
	return NULL;
}

/* Of "[guest=]NAME[,...]" the NAME, in which QEMU writes a comma as two. */
static void copy_guest_name(char *name, size_t size, const char *option)
{
	size_t length = 0;

	if (!strncmp(option, "guest=", strlen("guest=")))
		option += strlen("guest=");
	for (; *option && length < size - 1; option++) {
		if (*option == ',' && *++option != ',')
			break;
		name[length++] = *option;
	}
	name[length] = '\0';
}

static void make_printable(char *text)
{
	for (; *text; text++) {
		if (!isascii((unsigned char)*text) || !isprint((unsigned char)*text))
			*text = '?';
	}
}

void proc_name(int dir, char *name, size_t size)
{
	char cmdline[4096];
	const char *option;
	size_t length;

	length = read_file(dir, "cmdline", cmdline, sizeof(cmdline));
	option = find_name_option(cmdline, length);
	name[0] = '\0';
	if (option)
		copy_guest_name(name, size, option);
	if (!name[0]) {
		read_file(dir, "comm", name, size);
		name[strcspn(name, "\n")] = '\0';
	}
	make_printable(name);
}

/* The number that follows @key in a file of such lines, 0 if there is none. */
static uint64_t field_number(const char *text, const char *key)
{
	size_t length = strlen(key);

	while (text && strncmp(text, key, length)) {
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return text ? strtoull(text + length, NULL, 10) : 0;
}

pid_t proc_thread_group(const char *proc, pid_t pid)
{
	char status[4096];
	int dir;

	dir = proc_open(proc, pid);
	if (dir < 0)
		return 0;
	read_file(dir, "status", status, sizeof(status));
	close(dir);
	return field_number(status, "Tgid:\t");
}

bool proc_is_ours(const char *proc)
{
	char path[PATH_MAX];
	char target[16];
	ssize_t length;
	uint64_t pid;

	snprintf(path, sizeof(path), "%s/self", proc);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	return !parse_number(target, 1, INT_MAX, &pid) && (pid_t)pid == getpid();
}

uint64_t proc_vm_number(const char *proc, int fd)
{
	char path[PATH_MAX];
	char text[1024];

	snprintf(path, sizeof(path), "%s/self/fdinfo/%d", proc, fd);
	read_file(AT_FDCWD, path, text, sizeof(text));
	return field_number(text, "vm:\t");
}
