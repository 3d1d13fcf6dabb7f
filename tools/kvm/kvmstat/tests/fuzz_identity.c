// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer makes up a process' command line, cgroups and name, and systemd-machined's file about
 * it. The user of a VM writes the command line and the name, and chooses names that other programs
 * copy. The sanitizers check memory; this file checks the promises of identity.h.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "promise.h"
#include "sources/identity.h"
#include "util/util.h"

#define PID 100
/* Separates the texts. No text of a seed contains it. */
#define BORDER 0xff

#define DIGITS "0123456789"
#define LOWER_CASE DIGITS "abcdefghijklmnopqrstuvwxyz"
#define ALPHANUMERIC LOWER_CASE "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* The files of a host with one process. Each gets one of the texts. */
enum { CMDLINE, CGROUP, COMM, MACHINE, NUM_FILES };

static const char * const file_names[NUM_FILES] = {
	"proc/100/cmdline", "proc/100/cgroup", "proc/100/comm", "run/systemd/machines/qemu-1-web",
};

static char directory[PATH_MAX - 128];
static int files[NUM_FILES];

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* Makes the files in TMPDIR, which the script removes. */
static void make_host(void)
{
	static const char * const dirs[] = {
		"proc", "proc/100", "run", "run/systemd", "run/systemd/machines", "run/libvirt",
		"run/libvirt/qemu",
	};
	const char *parent = getenv("TMPDIR");
	size_t i;
	int fd;

	snprintf(directory, sizeof(directory), "%s/identity-XXXXXX", parent ? parent : "/tmp");
	promise(mkdtemp(directory), "a directory");
	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		promise(!mkdir(path_of(dirs[i]), 0755), "a directory below it");
	for (i = 0; i < NUM_FILES; i++) {
		files[i] = open(path_of(file_names[i]), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		promise(files[i] >= 0, "a file");
	}
	promise(!symlink("qemu-1-web",
			 path_of("run/systemd/machines/unit:machine-qemu\\x2d1\\x2dweb.scope")),
		"a link");
	fd = open(path_of("run/libvirt/qemu/web.pid"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	promise(fd >= 0 && write(fd, "100\n", 4) == 4 && !close(fd), "a pid file");
	fd = open(path_of("run/libvirt/qemu/db.pid"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	promise(fd >= 0 && write(fd, "101\n", 4) == 4 && !close(fd), "another process' pid file");
}

/* Writes the texts to the files. @length: the length of each text. */
static void write_files(const uint8_t *bytes, size_t size, size_t *length)
{
	const uint8_t *border;
	size_t i;

	for (i = 0; i < NUM_FILES; i++) {
		border = size ? memchr(bytes, BORDER, size) : NULL;
		length[i] = border && i < NUM_FILES - 1 ? (size_t)(border - bytes) : size;
		promise(pwrite(files[i], bytes, length[i], 0) == (ssize_t)length[i] &&
			!ftruncate(files[i], length[i]), "a text");
		bytes += length[i] + !!border;
		size -= length[i] + !!border;
	}
}

static bool consists_of(const struct identity *identity, enum identity_field field,
			const char *allowed, size_t most)
{
	size_t length = strlen(identity->text[field]);

	return length <= most && strspn(identity->text[field], allowed) == length;
}

static bool is_uuid(const struct identity *identity, enum identity_field field)
{
	size_t length = strlen(identity->text[field]);

	return consists_of(identity, field, DIGITS "abcdef-", 36) && (!length || length == 36);
}

static void check_texts(const struct identity *identity)
{
	promise(identity_is_valid(identity), "the identity is printable and can be sent");
	promise(is_uuid(identity, IDENTITY_UUID) && is_uuid(identity, IDENTITY_POD), "UUIDs");
	promise(consists_of(identity, IDENTITY_MACHINE, ALPHANUMERIC "-._", 64), "a machine");
	promise(consists_of(identity, IDENTITY_NAMESPACE, LOWER_CASE "-", 63), "a namespace");
	promise(consists_of(identity, IDENTITY_VMI, LOWER_CASE "-.", 253), "a VMI");
}

/* The source of each field is not empty, and can have that field. */
static void check_sources(const struct identity *identity, const size_t *length)
{
	size_t i;

	for (i = 0; i < IDENTITY_FIELDS; i++) {
		switch (identity->source[i]) {
		case IDENTITY_NONE:
			break;
		case IDENTITY_PROGRAM:
			promise(i == IDENTITY_NAME && length[COMM], "the name of a program");
			break;
		case IDENTITY_COMMAND_LINE:
			promise(length[CMDLINE], "what a command line says");
			break;
		case IDENTITY_CGROUP:
			promise(length[CGROUP], "what a cgroup says");
			break;
		case IDENTITY_RUN:
			promise(i == IDENTITY_NAME || i == IDENTITY_UUID || i == IDENTITY_MACHINE ||
				i == IDENTITY_DOMAIN, "what files of root say");
			break;
		}
	}
	promise(identity->source[IDENTITY_DOMAIN] != IDENTITY_RUN ||
		!strcmp(identity->text[IDENTITY_DOMAIN], "web"), "the one with this pid");
	promise(identity->source[IDENTITY_UUID] != IDENTITY_RUN ||
		(length[MACHINE] && length[CGROUP]), "its own unit");
}

/* The Makefile defines this name as the one that libFuzzer calls. */
int fuzz_one_input(const uint8_t *bytes, size_t size)
{
	static char proc[PATH_MAX], run[PATH_MAX];
	struct identity identity = {}, again = {};
	size_t length[NUM_FILES];

	if (!*directory) {
		make_host();
		strcpy(proc, path_of("proc"));
		strcpy(run, path_of("run"));
	}
	write_files(bytes, size, length);
	identity_read(&identity, proc, run, PID);
	check_texts(&identity);
	check_sources(&identity, length);
	identity_read(&again, proc, NULL, PID);
	for (size = 0; size < IDENTITY_FIELDS; size++)
		promise(again.source[size] != IDENTITY_RUN, "without /run nothing is from there");
	return 0;
}
