// SPDX-License-Identifier: GPL-2.0
/*
 * Whose VM a process runs. The owner of a VM can write anything into the command line of its
 * process: none of it is believed to be well-formed, short or true.
 */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/identity.h"
#include "util/file.h"
#include "util/text.h"
#include "util/util.h"

#define ALPHANUMERIC "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define UUID_LENGTH 36
#define MACHINE_LENGTH 64

struct subject {
	pid_t pid;
	int dir;		/* of the process in /proc */
	int run;		/* or -1 */
	uid_t owner;		/* of /run: only its files there are believed */
	char *cmdline;		/* arguments, each with a NUL behind it */
	const char *end;
	char unit[NAME_MAX + 1];	/* of systemd, below machine.slice; or empty */
	struct identity *identity;
};

/* The number of bytes that fit, without half a character at the end. */
static size_t fitting(const char *text, size_t size)
{
	size_t length = strnlen(text, size + 1), lead;

	if (length <= size)
		return length;
	/* What is behind four bytes that continue one is none anyway. */
	for (lead = size; lead > size - 4; lead--) {
		if (((unsigned char)text[lead] & 0xc0) != 0x80)
			return lead;
	}
	return size;
}

/* Unless a source that is as sure says so already. */
static void set(struct identity *identity, enum identity_field field,
		enum identity_source source, const char *text)
{
	char *copy = identity->text[field];
	size_t length;

	if (!*text || identity->source[field] >= source)
		return;
	length = fitting(text, TEXT_NAME_SIZE - 1);
	memcpy(copy, text, length);
	copy[length] = '\0';
	text_make_printable(copy);
	identity->source[field] = source;
}

static bool is_known(const struct identity *identity, enum identity_field field)
{
	return identity->source[field] != IDENTITY_NONE;
}

/* The line at *@rest, without its end, or NULL. One without an end was cut off. */
static char *next_line(char **rest)
{
	char *line = *rest, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	*rest = end + 1;
	return line;
}

/* Of lower-case letters, with or without '-'; @uuid has room for UUID_LENGTH + 1. */
static bool parse_uuid(const char *text, char *uuid)
{
	size_t length = 0;

	for (; *text && length < UUID_LENGTH; text++) {
		if (length == 8 || length == 13 || length == 18 || length == 23) {
			uuid[length++] = '-';
			if (*text == '-')
				continue;
		}
		if (!isascii((unsigned char)*text) || !isxdigit((unsigned char)*text))
			return false;
		uuid[length++] = tolower((unsigned char)*text);
	}
	uuid[length] = '\0';
	return length == UUID_LENGTH && !*text;
}

static void set_uuid(struct identity *identity, enum identity_source source, const char *text)
{
	char uuid[UUID_LENGTH + 1];

	if (parse_uuid(text, uuid))
		set(identity, IDENTITY_UUID, source, uuid);
}

static bool has_only(const char *text, size_t most, const char *allowed)
{
	size_t length = strlen(text);

	return length && length <= most && strspn(text, allowed) == length;
}

static const char *skip_prefix(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(text, prefix, length) ? NULL : text + length;
}

/* The command line. */

static void read_cmdline(struct subject *subject)
{
	char *text = xcalloc(IDENTITY_CMDLINE + 1, 1);
	size_t length = 0;

	if (!subject->identity->without_memory)
		length = read_file(subject->dir, "cmdline", text, IDENTITY_CMDLINE);

	/* A process may have overwritten the NUL at its end. What is cut off is left out. */
	if (length == IDENTITY_CMDLINE - 1) {
		while (length && text[length - 1])
			length--;
	} else if (length && text[length - 1]) {
		length++;
	}
	subject->cmdline = text;
	subject->end = text + length;
}

static const char *next_argument(const char *argument)
{
	return argument + strlen(argument) + 1;
}

/*
 * What follows -@name or --@name, or stands in the same argument behind a '='; NULL if
 * there is none. Of several, the one after @last, or the first if that is NULL.
 */
static const char *next_option(const struct subject *subject, const char *name,
			       const char *last)
{
	const char *argument = last ? next_argument(last) : subject->cmdline;
	const char *rest;

	for (; argument < subject->end; argument = next_argument(argument)) {
		if (*argument != '-')
			continue;
		rest = skip_prefix(argument + 1 + (argument[1] == '-'), name);
		if (rest && *rest == '=')
			return rest + 1;
		if (rest && !*rest && next_argument(argument) < subject->end)
			return next_argument(argument);
	}
	return NULL;
}

static const char *last_option(const struct subject *subject, const char *name)
{
	const char *found = NULL, *next;

	for (next = NULL; (next = next_option(subject, name, next)); )
		found = next;
	return found;
}

/*
 * Takes an element off a list KEY=VALUE,... in which a comma that is part of a value is
 * written as two. What does not fit is cut off. NULL at the end of the list.
 */
static const char *next_element(const char *list, char *element, size_t size)
{
	size_t length = 0;

	if (!*list)
		return NULL;
	for (; *list; list++) {
		if (*list == ',' && *++list != ',')
			break;
		if (length < size - 1)
			element[length++] = *list;
	}
	element[length] = '\0';
	return list;
}

/* Room for a key and a text that is cut off at whole characters later. */
#define ELEMENT_SIZE (TEXT_NAME_SIZE + 32)

/* The last value of @key ("key="), in @value of ELEMENT_SIZE; false if there is none. */
static bool find_value(const char *list, const char *key, char *value)
{
	char element[ELEMENT_SIZE];
	bool found = false;
	const char *rest;

	while ((list = next_element(list, element, sizeof(element)))) {
		rest = skip_prefix(element, key);
		if (!rest)
			continue;
		memmove(value, rest, strlen(rest) + 1);
		found = true;
	}
	return found;
}

/* Of "[guest=]NAME[,...]" the NAME. The last one counts, as it does for QEMU. */
static void read_name(struct subject *subject, char *name)
{
	const char *option = NULL;
	char first[ELEMENT_SIZE];

	name[0] = '\0';
	while ((option = next_option(subject, "name", option))) {
		if (next_element(option, first, sizeof(first)) &&
		    !skip_prefix(first, "debug-threads=") && !skip_prefix(first, "process="))
			memcpy(name, first, sizeof(first));
		find_value(option, "guest=", name);
	}
}

/* The UUID that the guest sees. */
static void read_smbios(struct subject *subject)
{
	char value[ELEMENT_SIZE];
	const char *option = NULL;

	while ((option = next_option(subject, "smbios", option))) {
		if (find_value(option, "type=", value) && !strcmp(value, "1") &&
		    find_value(option, "uuid=", value))
			set_uuid(subject->identity, IDENTITY_COMMAND_LINE, value);
	}
}

static bool has_argument_with(const struct subject *subject, const char *text)
{
	const char *argument;

	for (argument = subject->cmdline; argument < subject->end;
	     argument = next_argument(argument)) {
		if (strcasestr(argument, text))
			return true;
	}
	return false;
}

/* By its command line, or, if that has a wrapper's name, by the name that it gave itself. */
static bool runs(const struct subject *subject, const char *program)
{
	const char *name = subject->cmdline, *slash;
	char comm[64];

	if (name < subject->end) {
		slash = strrchr(name, '/');
		if (strstr(slash ? slash + 1 : name, program))
			return true;
	}
	read_file(subject->dir, "comm", comm, sizeof(comm));
	return strstr(comm, program);
}

static bool is_firecracker_id(const char *id)
{
	return has_only(id, 64, ALPHANUMERIC "-");
}

/*
 * Names the VM by its API socket: /run/vm/web.sock is web's; where all sockets have one name,
 * /run/vm/web/api.sock, the directory tells.
 */
static void name_by_socket(struct identity *identity, const char *socket)
{
	static const char * const ends[] = { ".sock", ".socket", "-socket", "-api", };
	static const char * const alike[] = {
		"api", "ch", "clh", "cloud-hypervisor", "fc", "firecracker", "vmm",
	};
	char path[TEXT_NAME_SIZE];
	char *slash, *name;
	size_t i;

	snprintf(path, sizeof(path), "%s", socket);
	slash = strrchr(path, '/');
	name = slash ? slash + 1 : path;
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		if (text_ends_in(name, ends[i]))
			name[strlen(name) - strlen(ends[i])] = '\0';
	}
	for (i = 0; slash && i < ARRAY_SIZE(alike); i++) {
		if (strcmp(name, alike[i]))
			continue;
		*slash = '\0';
		slash = strrchr(path, '/');
		name = slash ? slash + 1 : path;
		break;
	}
	set(identity, IDENTITY_NAME, IDENTITY_COMMAND_LINE, name);
}

static void read_firecracker(struct subject *subject)
{
	const char *option = last_option(subject, "id");

	if (option && is_firecracker_id(option))
		set(subject->identity, IDENTITY_NAME, IDENTITY_COMMAND_LINE, option);
	option = last_option(subject, "api-sock");
	if (option)
		name_by_socket(subject->identity, option);
}

static void read_cloud_hypervisor(struct subject *subject)
{
	const char *option = last_option(subject, "api-socket");
	char value[ELEMENT_SIZE];

	/* A path alone, or a list with a path or the number of a file descriptor. */
	if (option && (find_value(option, "path=", value) ||
		       (!skip_prefix(option, "fd=") && next_element(option, value, sizeof(value)))))
		name_by_socket(subject->identity, value);
	option = last_option(subject, "platform");
	if (option && find_value(option, "uuid=", value))
		set_uuid(subject->identity, IDENTITY_COMMAND_LINE, value);
}

/* The cgroup. */

/* Takes the next component off a path, with its '/'; NULL at the end. */
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

/* What systemd writes as \x2d, in place. What is malformed stays. */
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
		set(identity, IDENTITY_MACHINE, source, name);
}

/* qemu-NUMBER-NAME, or the same of another driver: the NAME of libvirt's, or NULL. */
static const char *domain_of_machine(const char *machine)
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

/* /machine.slice[/machine-PART.slice...]/UNIT, which may be machine-NAME.scope */
static void look_at_machine(struct subject *subject, char *rest)
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

/* Where there is no systemd: /machine[/PART.partition...]/qemu-1-NAME.libvirt-qemu */
static void look_at_plain_machine(struct subject *subject, char *rest)
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
 * .../podUID/... or .../kubepods-burstable-podUID.slice/..., with '_' in the UID. What
 * comes below the first is the pod's own.
 */
static void look_at_pods(struct subject *subject, char *rest)
{
	char *component, *pod, *byte;
	char uuid[UUID_LENGTH + 1];

	while ((component = next_component(&rest))) {
		pod = strstr(component, "pod");
		/* Not that of kubepods. */
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
			set(subject->identity, IDENTITY_POD, IDENTITY_CGROUP, uuid);
		return;
	}
}

static void look_at_cgroup(struct subject *subject, char *path)
{
	char *first;

	/* Seen from a cgroup namespace, others are outside. */
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
	else if (skip_prefix(first, "firecracker") && (first = next_component(&path)) &&
		 is_firecracker_id(first))
		set(subject->identity, IDENTITY_NAME, IDENTITY_CGROUP, first);
}

/* Lines NUMBER:CONTROLLERS:PATH, in which no name can have an end of line. */
static void read_cgroups(struct subject *subject)
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

/* /run. */

/* Whether only the owner of /run can have written it, or put it there. */
static bool is_trusted(const struct subject *subject, int fd, mode_t type)
{
	struct stat info;

	return !fstat(fd, &info) && (info.st_mode & S_IFMT) == type &&
	       info.st_uid == subject->owner && !(info.st_mode & 0022);
}

static int open_trusted(const struct subject *subject, int dir, const char *path, mode_t type)
{
	int fd;

	/* A FIFO must not wait for its writer. */
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || is_trusted(subject, fd, type))
		return fd;
	close(fd);
	return -1;
}

static size_t read_trusted(const struct subject *subject, int dir, const char *name,
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

/* Whether it is a file name, and does not lead elsewhere. */
static bool is_file_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= NAME_MAX;
}

static void read_machine_file(struct subject *subject, int dir, const char *name)
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
			set_uuid(subject->identity, IDENTITY_RUN, value);
	}
}

/* The unit of a machine is a link there, to the name of the machine's file. */
static void read_machined(struct subject *subject)
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

/* Whether libvirt's pid file names this process. */
static bool has_pid_file(const struct subject *subject, const char *domain)
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

/* All together. */

/*
 * Whether libvirt shortens the name to this one in a cgroup: it leaves out characters that such a
 * name cannot have, and the end of a long name.
 */
static bool is_shortened(const char *name, const char *short_name, bool is_long)
{
	for (; *name; name++) {
		if (*name == *short_name)
			short_name++;
		else if (is_long && !*short_name)
			return true;
		else if (strchr(ALPHANUMERIC, *name))
			return false;
	}
	return !*short_name;
}

/* @name is what the command line says. */
static void find_domain(struct subject *subject, const char *name)
{
	struct identity *identity = subject->identity;
	const char *machine = identity->text[IDENTITY_MACHINE];
	const char *short_name = domain_of_machine(machine);
	bool is_long = strlen(machine) == MACHINE_LENGTH;

	if (*name && subject->run >= 0 && has_pid_file(subject, name))
		set(identity, IDENTITY_DOMAIN, IDENTITY_RUN, name);
	else if (short_name && strcmp(name, short_name) && is_shortened(name, short_name, is_long))
		set(identity, IDENTITY_DOMAIN, IDENTITY_COMMAND_LINE, name);
	else if (short_name)
		set(identity, IDENTITY_DOMAIN, IDENTITY_CGROUP, short_name);
	else if (has_argument_with(subject, "/libvirt/qemu/"))
		set(identity, IDENTITY_DOMAIN, IDENTITY_COMMAND_LINE, name);
}

/* Labels of lower-case letters, digits and '-', with dots between them. */
static bool is_kubernetes_name(const char *name, size_t most, const char *allowed)
{
	size_t length = strlen(name);

	return has_only(name, most, allowed) && !strchr("-.", name[0]) &&
	       !strchr("-.", name[length - 1]);
}

#define LOWER_CASE "0123456789abcdefghijklmnopqrstuvwxyz-"

/* virt-launcher names its domain NAMESPACE_NAME, and neither can have a '_'. */
static void find_vmi(struct subject *subject, const char *name)
{
	struct identity *identity = subject->identity;
	const char *vmi = strchr(name, '_');
	char namespace[64];

	if (!vmi || !is_known(identity, IDENTITY_POD) ||
	    (size_t)(vmi - name) >= sizeof(namespace) || !has_argument_with(subject, "kubevirt"))
		return;
	snprintf(namespace, sizeof(namespace), "%.*s", (int)(vmi - name), name);
	if (!is_kubernetes_name(namespace, 63, LOWER_CASE) ||
	    !is_kubernetes_name(vmi + 1, 253, LOWER_CASE "."))
		return;
	set(identity, IDENTITY_NAMESPACE, IDENTITY_COMMAND_LINE, namespace);
	set(identity, IDENTITY_VMI, IDENTITY_COMMAND_LINE, vmi + 1);
}

/* The command line's name, unless a surer source has another. */
static void find_name(struct subject *subject, const char *name)
{
	struct identity *identity = subject->identity;
	char comm[64];

	set(identity, IDENTITY_NAME, identity->source[IDENTITY_DOMAIN],
	    identity->text[IDENTITY_DOMAIN]);
	set(identity, IDENTITY_NAME, IDENTITY_COMMAND_LINE, name);
	if (!is_known(identity, IDENTITY_NAME))
		set(identity, IDENTITY_NAME, identity->source[IDENTITY_MACHINE],
		    identity->text[IDENTITY_MACHINE]);
	read_file(subject->dir, "comm", comm, sizeof(comm));
	comm[strcspn(comm, "\n")] = '\0';
	set(identity, IDENTITY_NAME, IDENTITY_PROGRAM, comm);
}

static void read_subject(struct subject *subject)
{
	struct identity *identity = subject->identity;
	char name[ELEMENT_SIZE];
	const char *uuid;

	read_cmdline(subject);
	read_cgroups(subject);
	if (subject->run >= 0 && *subject->unit)
		read_machined(subject);
	uuid = last_option(subject, "uuid");
	if (uuid)
		set_uuid(identity, IDENTITY_COMMAND_LINE, uuid);
	read_smbios(subject);
	if (runs(subject, "firecracker"))
		read_firecracker(subject);
	else if (runs(subject, "cloud-hyperviso"))
		read_cloud_hypervisor(subject);
	read_name(subject, name);
	find_domain(subject, name);
	find_vmi(subject, name);
	find_name(subject, name);
	free(subject->cmdline);
}

/* The second field is a name that may contain anything. */
#define STAT_STARTED 22

static uint64_t read_started(const struct subject *subject)
{
	const char *field;
	char text[1024];
	int i;

	read_file(subject->dir, "stat", text, sizeof(text));
	field = strrchr(text, ')');
	for (i = 2; field && i < STAT_STARTED; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field, NULL, 10) : 0;
}

static int open_run(struct subject *subject, const char *run)
{
	struct stat info;
	int dir;

	dir = run ? open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir >= 0 && !fstat(dir, &info))
		subject->owner = info.st_uid;
	return dir;
}

void identity_read(struct identity *identity, const char *proc, const char *run, pid_t pid)
{
	struct subject subject = { .pid = pid, .identity = identity, };
	char path[PATH_MAX];

	*identity = (struct identity) { .without_memory = identity->without_memory, };
	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	subject.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (subject.dir < 0)
		return;
	subject.run = open_run(&subject, run);
	read_subject(&subject);
	identity->started = read_started(&subject);
	if (subject.run >= 0)
		close(subject.run);
	close(subject.dir);
}

void identity_of_name(struct identity *identity, const char *name)
{
	*identity = (struct identity) {};
	set(identity, IDENTITY_NAME, IDENTITY_COMMAND_LINE, name);
}

const char *identity_label(enum identity_field field)
{
	static const char * const labels[IDENTITY_FIELDS] = {
		[IDENTITY_NAME] = "name",
		[IDENTITY_UUID] = "uuid",
		[IDENTITY_DOMAIN] = "libvirt_domain",
		[IDENTITY_MACHINE] = "machine",
		[IDENTITY_NAMESPACE] = "kubevirt_namespace",
		[IDENTITY_VMI] = "kubevirt_vmi",
		[IDENTITY_POD] = "pod_uid",
	};

	return labels[field];
}

bool identity_is_valid(const struct identity *identity)
{
	char text[TEXT_NAME_SIZE];
	size_t i;

	for (i = 0; i < IDENTITY_FIELDS; i++) {
		memcpy(text, identity->text[i], sizeof(text));
		if (text[TEXT_NAME_SIZE - 1] || identity->source[i] > IDENTITY_RUN ||
		    !text[0] != !identity->source[i])
			return false;
		text_make_printable(text);
		if (strcmp(text, identity->text[i]))
			return false;
	}
	return true;
}
