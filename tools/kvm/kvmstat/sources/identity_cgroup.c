// SPDX-License-Identifier: GPL-2.0
/* A VM's cgroup, and the files in /run of systemd-machined and libvirt. */
#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/identity_subject.h"
#include "util/file.h"
#include "util/text.h"
#include "util/util.h"

/* The next line of *@rest, without its newline, or NULL. A line without one was cut off. */
static char *next_line(char **rest)
{
	char *line = *rest, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	*rest = end + 1;
	return line;
}

/* Takes the next component off a path; NULL at the end. */
static char *next_component(char **rest)
{
	char *component = *rest + strspn(*rest, "/");
	size_t length = strcspn(component, "/");

	if (!length)
		return NULL;
	*rest = component + length + (component[length] == '/');
	component[length] = '\0';
	return component;
}

/* Replaces systemd's \x2d and other escapes, in place. Malformed ones stay. */
static void unescape(char *text)
{
	unsigned int byte;
	char *out = text;

	while (*text) {
		if (text[0] == '\\' && text[1] == 'x' && isxdigit((unsigned char)text[2]) &&
		    isxdigit((unsigned char)text[3]) && sscanf(text + 2, "%2x", &byte) == 1 &&
		    byte) {
			*out++ = byte;
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

static void set_machine(struct identity *identity, enum identity_source source,
			const char *name)
{
	if (has_only(name, MACHINE_LENGTH, ALPHANUMERIC "-._"))
		identity_set(identity, IDENTITY_MACHINE, source, name);
}

const char *domain_of_machine(const char *machine)
{
	static const char * const drivers[] = { "qemu-", "ch-", };
	const char *number;
	size_t i, digits;

	for (i = 0; i < ARRAY_SIZE(drivers); i++) {
		number = skip_prefix(machine, drivers[i]);
		digits = number ? strspn(number, "0123456789") : 0;
		if (digits && number[digits] == '-' && number[digits + 1])
			return number + digits + 1;
	}
	return NULL;
}

/* Parses /machine.slice[/machine-PART.slice...]/UNIT. UNIT may be machine-NAME.scope. */
static void look_at_machine(struct identity_subject *subject, char *rest)
{
	char machine[NAME_MAX + 1], *unit;
	const char *name;

	do {
		unit = next_component(&rest);
	} while (unit && text_ends_in(unit, ".slice"));
	if (!unit || (!text_ends_in(unit, ".scope") && !text_ends_in(unit, ".service")))
		return;
	snprintf(subject->unit, sizeof(subject->unit), "%s", unit);
	name = skip_prefix(unit, "machine-");
	if (!name || !text_ends_in(unit, ".scope"))
		return;
	snprintf(machine, sizeof(machine), "%.*s", (int)(strlen(name) - strlen(".scope")), name);
	unescape(machine);
	set_machine(subject->identity, IDENTITY_CGROUP, machine);
}

/* Without systemd: parses /machine[/PART.partition...]/qemu-1-NAME.libvirt-qemu. */
static void look_at_plain_machine(struct identity_subject *subject, char *rest)
{
	char *component, *end;

	while ((component = next_component(&rest))) {
		if (text_ends_in(component, ".partition"))
			continue;
		end = strstr(component, ".libvirt-");
		if (!end)
			return;
		*end = '\0';
		set_machine(subject->identity, IDENTITY_CGROUP, component);
		return;
	}
}

/*
 * Parses .../podUID/... or .../kubepods-burstable-podUID.slice/..., with '_' in the UID. Only the
 * first match counts: the pod itself creates the cgroups below.
 */
static void look_at_pods(struct identity_subject *subject, char *rest)
{
	char *component, *pod, *byte;
	char uuid[UUID_LENGTH + 1];

	while ((component = next_component(&rest))) {
		pod = strstr(component, "pod");
		/* Not the "pod" in "kubepods". */
		while (pod && pod > component && pod[-1] != '-')
			pod = strstr(pod + 1, "pod");
		if (!pod)
			continue;
		if (text_ends_in(component, ".slice"))
			component[strlen(component) - strlen(".slice")] = '\0';
		for (byte = pod; *byte; byte++) {
			if (*byte == '_')
				*byte = '-';
		}
		if (strlen(pod) == strlen("pod") + UUID_LENGTH &&
		    parse_uuid(pod + strlen("pod"), uuid))
			identity_set(subject->identity, IDENTITY_POD, IDENTITY_CGROUP, uuid);
		return;
	}
}

static void look_at_firecracker(struct identity_subject *subject, char *rest)
{
	const char *id = next_component(&rest);

	if (id && has_only(id, 64, ALPHANUMERIC "-"))
		identity_set(subject->identity, IDENTITY_NAME, IDENTITY_CGROUP, id);
}

static void look_at_cgroup(struct identity_subject *subject, char *path)
{
	char *first;

	/* In a cgroup namespace, the paths of outer cgroups begin with "..". */
	do {
		first = next_component(&path);
	} while (first && !strcmp(first, ".."));
	if (!first)
		return;
	if (!strcmp(first, "machine.slice"))
		look_at_machine(subject, path);
	else if (!strcmp(first, "machine"))
		look_at_plain_machine(subject, path);
	else if (!strcmp(first, "kubepods") || !strcmp(first, "kubepods.slice") ||
		 !strcmp(first, "kubelet.slice") || !strcmp(first, "kubelet"))
		look_at_pods(subject, path);
	else if (skip_prefix(first, "firecracker"))
		look_at_firecracker(subject, path);
}

/* Reads lines NUMBER:CONTROLLERS:PATH. The kernel allows no newline in the names of cgroups. */
static void read_cgroups(struct identity_subject *subject)
{
	char text[IDENTITY_FILE];
	char *rest = text, *line, *path;

	read_file(subject->dir, "cgroup", text, sizeof(text));
	while ((line = next_line(&rest))) {
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (path)
			look_at_cgroup(subject, path + 1);
	}
}

/* Opens a file or directory that only the owner of /run can write to. */
static int open_trusted(const struct identity_subject *subject, int dir, const char *path,
			mode_t type)
{
	struct stat info;
	int fd;

	/* O_NONBLOCK, so that a FIFO does not wait for its writer. */
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || (!fstat(fd, &info) && (info.st_mode & S_IFMT) == type &&
		       info.st_uid == subject->owner && !(info.st_mode & 0022)))
		return fd;
	close(fd);
	return -1;
}

static size_t read_trusted(const struct identity_subject *subject, int dir, const char *name,
			   char *text, size_t size)
{
	int fd = open_trusted(subject, dir, name, S_IFREG);
	size_t length;

	text[0] = '\0';
	if (fd < 0)
		return 0;
	length = read_text(fd, text, size);
	close(fd);
	return length;
}

/* Whether it is a file name that does not lead to another directory. */
static bool is_file_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= NAME_MAX;
}

static void read_machine_file(struct identity_subject *subject, int dir, const char *name)
{
	char text[IDENTITY_FILE];
	char *rest = text, *line;
	const char *value;

	if (!is_file_name(name) || !read_trusted(subject, dir, name, text, sizeof(text)))
		return;
	set_machine(subject->identity, IDENTITY_RUN, name);
	while ((line = next_line(&rest))) {
		value = skip_prefix(line, "ID=");
		if (value)
			identity_set_uuid(subject->identity, IDENTITY_RUN, value);
	}
}

/* In systemd/machines, unit:UNIT is a link to the name of the machine's file. */
static void read_machined(struct identity_subject *subject)
{
	char *link = xasprintf("unit:%s", subject->unit);
	char name[MACHINE_LENGTH + 1];
	int dir;

	dir = open_trusted(subject, subject->run, "systemd/machines", S_IFDIR);
	if (dir >= 0) {
		if (read_link(dir, link, name, sizeof(name)))
			read_machine_file(subject, dir, name);
		close(dir);
	}
	free(link);
}

bool has_pid_file(const struct identity_subject *subject, const char *domain)
{
	static const char * const dirs[] = { "libvirt/qemu", "libvirt/ch", };
	char *name = xasprintf("%s.pid", domain);
	bool found = false;
	char text[32];
	uint64_t pid;
	size_t i;
	int dir;

	for (i = 0; !found && is_file_name(name) && i < ARRAY_SIZE(dirs); i++) {
		dir = open_trusted(subject, subject->run, dirs[i], S_IFDIR);
		if (dir < 0)
			continue;
		read_trusted(subject, dir, name, text, sizeof(text));
		text[strcspn(text, "\n")] = '\0';
		found = !parse_number(text, 1, INT_MAX, &pid) && (pid_t)pid == subject->pid;
		close(dir);
	}
	free(name);
	return found;
}

void identity_read_cgroup(struct identity_subject *subject)
{
	read_cgroups(subject);
	if (subject->run >= 0 && *subject->unit)
		read_machined(subject);
}
