// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the name and owner of a VM in the VMM's command line, its cgroup, and what libvirt and
 * systemd-machined keep in /run. A VMM chooses its command line; only root writes the others.
 */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kvmstat.h"

#define ALNUM "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define MOST_NAME 255
#define MOST_MACHINE 64

const char * const identity_labels[NUM_IDS] = {
	[ID_NAME] = "name", [ID_UUID] = "uuid", [ID_DOMAIN] = "libvirt_domain",
	[ID_MACHINE] = "machine", [ID_NAMESPACE] = "kubevirt_namespace",
	[ID_VMI] = "kubevirt_vmi", [ID_POD] = "pod_uid",
};

/* Keeps the most reliable source; among equals the first one. */
static void set(struct identity *identity, enum identity_field field, enum trust trust,
		const char *text)
{
	char copy[MOST_NAME + 1];

	if (!text || !*text || identity->trust[field] >= trust)
		return;
	snprintf(copy, sizeof(copy), "%s", text);
	make_printable(copy);
	free(identity->text[field]);
	identity->text[field] = xasprintf("%s", copy);
	identity->trust[field] = trust;
}

void identity_free(struct identity *identity)
{
	size_t i;

	for (i = 0; i < NUM_IDS; i++)
		free(identity->text[i]);
	*identity = (struct identity) {};
}

static bool has_only(const char *text, size_t most, const char *allowed)
{
	size_t length = strlen(text);

	return length && length <= most && strspn(text, allowed) == length;
}

/* 32 digits, with or without dashes, become 36 bytes in lower case. */
static void set_uuid(struct identity *identity, enum identity_field field, enum trust trust,
		     const char *text)
{
	char uuid[37];
	size_t i, digits = 0;

	for (i = 0; i < 36 && *text; text++) {
		if (*text == '-')
			continue;
		if (!isxdigit((unsigned char)*text))
			return;
		if (i == 8 || i == 13 || i == 18 || i == 23)
			uuid[i++] = '-';
		uuid[i++] = tolower((unsigned char)*text);
		digits++;
	}
	uuid[i] = '\0';
	if (digits == 32 && (!*text || isspace((unsigned char)*text)))
		set(identity, field, trust, uuid);
}

/* Takes the first component off a path; NULL at the end. */
static char *component(char **path)
{
	char *first = *path + strspn(*path, "/");
	size_t length = strcspn(first, "/");

	*path = first + length + (first[length] == '/');
	first[length] = '\0';
	return length ? first : NULL;
}

/* Replaces systemd's escapes, such as \x2d. */
static void unescape(char *text)
{
	unsigned int byte;
	char *out = text;

	for (; *text; out++) {
		if (text[0] == '\\' && text[1] == 'x' && isxdigit((unsigned char)text[2]) &&
		    sscanf(text + 2, "%2x", &byte) == 1 && byte && text[3]) {
			*out = byte;
			text += 4;
		} else {
			*out = *text++;
		}
	}
	*out = '\0';
}

static void set_machine(struct identity *identity, enum trust trust, const char *name)
{
	if (has_only(name, MOST_MACHINE, ALNUM "-._"))
		set(identity, ID_MACHINE, trust, name);
}

/* Opens what only the owner of /run can write to. */
static int open_trusted(int run, const char *path, mode_t type)
{
	/* O_NONBLOCK: a FIFO must not wait for a writer. */
	int fd = openat(run, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat info, owner;

	if (fd < 0 || (!fstat(fd, &info) && !fstat(run, &owner) && (info.st_mode & S_IFMT) == type &&
		       info.st_uid == owner.st_uid && !(info.st_mode & 0022)))
		return fd;
	close(fd);
	return -1;
}

static bool read_trusted(int run, const char *directory, const char *name, char *text, size_t size)
{
	int dir = open_trusted(run, directory, S_IFDIR), fd = -1;
	ssize_t length;

	if (dir >= 0 && *name && *name != '.' && !strchr(name, '/'))
		fd = open_trusted(dir, name, S_IFREG);
	length = read(fd, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
	close(fd);
	close(dir);
	return length > 0;
}

/* In systemd/machines, unit:UNIT is a link to the file of the machine, which has its uuid. */
static void read_machined(struct identity *identity, int run, const char *unit)
{
	char *link = xasprintf("systemd/machines/unit:%s", unit), *line;
	char name[MOST_MACHINE + 1], text[4096];
	ssize_t length = readlinkat(run, link, name, sizeof(name) - 1);

	free(link);
	if (length <= 0)
		return;
	name[length] = '\0';
	if (!read_trusted(run, "systemd/machines", name, text, sizeof(text)))
		return;
	set_machine(identity, TRUST_RUN, name);
	line = strncmp(text, "ID=", 3) ? strstr(text, "\nID=") : text - 1;
	if (line)
		set_uuid(identity, ID_UUID, TRUST_RUN, line + 4);
}

/* /machine.slice[/machine-PART.slice...]/UNIT: UNIT may be machine-NAME.scope */
static void take_machine_slice(struct identity *identity, char *path, int run)
{
	char *unit, *name;

	do {
		unit = component(&path);
	} while (unit && ends_in(unit, ".slice"));
	if (!unit || (!ends_in(unit, ".scope") && !ends_in(unit, ".service")))
		return;
	read_machined(identity, run, unit);
	if (strncmp(unit, "machine-", 8) || !ends_in(unit, ".scope"))
		return;
	name = unit + 8;
	name[strlen(name) - strlen(".scope")] = '\0';
	unescape(name);
	set_machine(identity, TRUST_CGROUP, name);
}

/* Without systemd: /machine[/PART.partition...]/qemu-1-NAME.libvirt-qemu */
static void take_machine(struct identity *identity, char *path, int run)
{
	char *name, *end;

	do {
		name = component(&path);
	} while (name && ends_in(name, ".partition"));
	end = name ? strstr(name, ".libvirt-") : NULL;
	if (!end)
		return;
	*end = '\0';
	set_machine(identity, TRUST_CGROUP, name);
}

/* A component podUID, or ...-podUID.slice with underscores */
static void take_pod(struct identity *identity, char *path, int run)
{
	char *name, *pod, *at;

	while ((name = component(&path))) {
		for (pod = strstr(name, "pod"); pod && pod > name && pod[-1] != '-'; )
			pod = strstr(pod + 1, "pod");
		if (!pod)
			continue;
		if (ends_in(pod, ".slice"))
			pod[strlen(pod) - strlen(".slice")] = '\0';
		for (at = pod; *at; at++)
			*at = *at == '_' ? '-' : *at;
		if (strlen(pod) == 3 + 36)
			set_uuid(identity, ID_POD, TRUST_CGROUP, pod + 3);
		return;
	}
}

static void take_firecracker(struct identity *identity, char *path, int run)
{
	const char *id = component(&path);

	if (id && has_only(id, 64, ALNUM "-"))
		set(identity, ID_NAME, TRUST_CGROUP, id);
}

static const struct {
	const char *first;
	void (*take)(struct identity *identity, char *path, int run);
	bool prefix;
} cgroups[] = {
	{ "machine.slice", take_machine_slice, false, }, { "machine", take_machine, false, },
	{ "kubepods", take_pod, false, }, { "kubepods.slice", take_pod, false, },
	{ "kubelet", take_pod, false, }, { "kubelet.slice", take_pod, false, },
	{ "firecracker", take_firecracker, true, },
};

static void take_cgroups(struct identity *identity, const struct proc_files *files)
{
	const char *line = files->cgroup, *path;
	char *copy, *rest, *first;
	size_t i;

	for (; line && *line; line += *line == '\n') {
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (!path)
			return;
		rest = copy = xasprintf("%.*s", (int)strcspn(path + 1, "\n"), path + 1);
		/* A cgroup namespace shows outer cgroups with "..". */
		do {
			first = component(&rest);
		} while (first && !strcmp(first, ".."));
		for (i = 0; first && i < ARRAY_SIZE(cgroups); i++) {
			if (cgroups[i].prefix ? !strncmp(first, cgroups[i].first, strlen(cgroups[i].first)) :
			    !strcmp(first, cgroups[i].first))
				cgroups[i].take(identity, rest, files->run);
		}
		free(copy);
		line = path + strcspn(path, "\n");
	}
}

/* The value of the last -name, --name or --name=, after @last; NULL at the end. */
static const char *next_option(const struct proc_files *files, const char *name, const char *last)
{
	const char *end = files->cmdline + files->cmdline_size, *at, *rest;

	for (at = last ? last + strlen(last) + 1 : files->cmdline; at < end; at += strlen(at) + 1) {
		rest = at + (*at == '-') + (*at == '-' && at[1] == '-');
		if (*at != '-' || strncmp(rest, name, strlen(name)))
			continue;
		rest += strlen(name);
		if (*rest == '=' || (!*rest && rest + 1 < end))
			return rest + 1;
	}
	return NULL;
}

static const char *last_option(const struct proc_files *files, const char *name)
{
	const char *last = NULL, *next;

	for (next = NULL; (next = next_option(files, name, next)); )
		last = next;
	return last;
}

/* Copies an element of "a,b=c", in which ",," is a comma. Returns what follows, NULL at the end. */
static const char *element(const char *list, char to[MOST_NAME + 1])
{
	size_t length = 0;

	if (!list || !*list)
		return NULL;
	for (; *list; list++) {
		if (*list == ',' && *++list != ',')
			break;
		if (length < MOST_NAME)
			to[length++] = *list;
	}
	to[length] = '\0';
	return list;
}

/* The last value of "key=" in a list */
static bool value_of(const char *list, const char *key, char to[MOST_NAME + 1])
{
	char part[MOST_NAME + 1];
	bool found = false;

	while ((list = element(list, part))) {
		if (strncmp(part, key, strlen(key)))
			continue;
		snprintf(to, MOST_NAME + 1, "%s", part + strlen(key));
		found = true;
	}
	return found;
}

/* NAME in "[guest=]NAME[,...]". The last one counts, as in QEMU. */
static void name_of(const struct proc_files *files, char name[MOST_NAME + 1])
{
	const char *option = NULL;
	char first[MOST_NAME + 1];

	*name = '\0';
	while ((option = next_option(files, "name", option))) {
		if (element(option, first) && strncmp(first, "debug-threads=", 14) &&
		    strncmp(first, "process=", 8) && strncmp(first, "guest=", 6))
			strcpy(name, first);
		value_of(option, "guest=", name);
	}
}

static bool has_argument_with(const struct proc_files *files, const char *text)
{
	const char *at, *end = files->cmdline + files->cmdline_size;

	for (at = files->cmdline; at < end; at += strlen(at) + 1) {
		if (strcasestr(at, text))
			return true;
	}
	return false;
}

/* argv[0], then comm */
static bool runs(const struct proc_files *files, const char *program)
{
	const char *slash = files->cmdline_size ? strrchr(files->cmdline, '/') : NULL;

	return (files->cmdline_size && strstr(slash ? slash + 1 : files->cmdline, program)) ||
	       (files->comm && strstr(files->comm, program));
}

/* .../web/api.sock and .../web.sock are web. */
static void name_by_socket(struct identity *identity, const char *socket)
{
	static const char * const ends[] = { ".sock", ".socket", "-socket", "-api", };
	static const char * const alike[] = {
		"api", "ch", "clh", "cloud-hypervisor", "fc", "firecracker", "vmm",
	};
	char *path = xasprintf("%s", socket), *slash = strrchr(path, '/'), *name;
	size_t i;

	name = slash ? slash + 1 : path;
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		if (ends_in(name, ends[i]))
			name[strlen(name) - strlen(ends[i])] = '\0';
	}
	for (i = 0; slash && i < ARRAY_SIZE(alike); i++) {
		if (strcmp(name, alike[i]))
			continue;
		*slash = '\0';
		slash = strrchr(path, '/');
		name = slash ? slash + 1 : path;
	}
	set(identity, ID_NAME, TRUST_CMDLINE, name);
	free(path);
}

static void take_cmdline(struct identity *identity, const struct proc_files *files)
{
	const char *option = last_option(files, "uuid"), *list = NULL;
	char value[MOST_NAME + 1];

	if (option)
		set_uuid(identity, ID_UUID, TRUST_CMDLINE, option);
	while ((list = next_option(files, "smbios", list))) {
		if (value_of(list, "type=", value) && !strcmp(value, "1") &&
		    value_of(list, "uuid=", value))
			set_uuid(identity, ID_UUID, TRUST_CMDLINE, value);
	}
	if (runs(files, "firecracker")) {
		option = last_option(files, "id");
		if (option && has_only(option, 64, ALNUM "-"))
			set(identity, ID_NAME, TRUST_CMDLINE, option);
		option = last_option(files, "api-sock");
		if (option)
			name_by_socket(identity, option);
	} else if (runs(files, "cloud-hyperviso")) {
		/* A path, or a list with path= or fd= */
		option = last_option(files, "api-socket");
		if (option && (value_of(option, "path=", value) ||
			       (strncmp(option, "fd=", 3) && element(option, value))))
			name_by_socket(identity, value);
		option = last_option(files, "platform");
		if (option && value_of(option, "uuid=", value))
			set_uuid(identity, ID_UUID, TRUST_CMDLINE, value);
	}
}

/* libvirt's machine is qemu-1-NAME, without letters that machined does not allow. */
static const char *domain_of(const char *machine)
{
	size_t digits, prefix = machine && !strncmp(machine, "qemu-", 5) ? 5 :
				machine && !strncmp(machine, "ch-", 3) ? 3 : 0;

	digits = prefix ? strspn(machine + prefix, "0123456789") : 0;
	return digits && machine[prefix + digits] == '-' && machine[prefix + digits + 1] ?
	       machine + prefix + digits + 1 : NULL;
}

static bool is_shortened(const char *name, const char *shortened, bool is_cut)
{
	for (; *name; name++) {
		if (*name == *shortened)
			shortened++;
		else if (is_cut && !*shortened)
			return true;
		else if (strchr(ALNUM, *name))
			return false;
	}
	return !*shortened;
}

static bool has_pid_file(const struct proc_files *files, const char *domain)
{
	char *name = xasprintf("%s.pid", domain), text[32];
	bool found;

	found = (read_trusted(files->run, "libvirt/qemu", name, text, sizeof(text)) &&
		 atoi(text) == files->pid) ||
		(read_trusted(files->run, "libvirt/ch", name, text, sizeof(text)) &&
		 atoi(text) == files->pid);
	free(name);
	return found;
}

static void find_domain(struct identity *identity, const struct proc_files *files,
			const char *name)
{
	const char *machine = identity->text[ID_MACHINE], *shortened = domain_of(machine);

	if (*name && has_pid_file(files, name))
		set(identity, ID_DOMAIN, TRUST_RUN, name);
	else if (shortened && strcmp(name, shortened) &&
		 is_shortened(name, shortened, strlen(machine) == MOST_MACHINE))
		set(identity, ID_DOMAIN, TRUST_CMDLINE, name);
	else if (shortened)
		set(identity, ID_DOMAIN, TRUST_CGROUP, shortened);
	else if (has_argument_with(files, "/libvirt/qemu/"))
		set(identity, ID_DOMAIN, TRUST_CMDLINE, name);
}

/* virt-launcher names its domain NAMESPACE_NAME, and neither has a '_'. */
static void find_vmi(struct identity *identity, const struct proc_files *files, const char *name)
{
	static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyz-.";
	const char *vmi = strchr(name, '_');
	char namespace[64];

	if (!vmi || vmi - name >= 64 || !identity->text[ID_POD] ||
	    !has_argument_with(files, "kubevirt"))
		return;
	snprintf(namespace, sizeof(namespace), "%.*s", (int)(vmi - name), name);
	if (!has_only(namespace, 63, allowed) || strchr(namespace, '.') ||
	    !has_only(vmi + 1, 253, allowed) || strchr("-.", *namespace) || strchr("-.", vmi[1]) ||
	    vmi[-1] == '-' || strchr("-.", vmi[strlen(vmi) - 1]))
		return;
	set(identity, ID_NAMESPACE, TRUST_CMDLINE, namespace);
	set(identity, ID_VMI, TRUST_CMDLINE, vmi + 1);
}

void identify(struct identity *identity, const struct proc_files *files)
{
	const char *at = files->stat ? strrchr(files->stat, ')') : NULL;
	char name[MOST_NAME + 1];
	int i;

	*identity = (struct identity) {};
	for (i = 2; at && i < 22; i++)
		at = strchr(at + 1, ' ');
	identity->started = at ? strtoull(at, NULL, 10) : 0;
	take_cgroups(identity, files);
	name_of(files, name);
	take_cmdline(identity, files);
	find_domain(identity, files, name);
	find_vmi(identity, files, name);
	set(identity, ID_NAME, identity->trust[ID_DOMAIN], identity->text[ID_DOMAIN]);
	set(identity, ID_NAME, TRUST_CMDLINE, name);
	if (!identity->text[ID_NAME])
		set(identity, ID_NAME, identity->trust[ID_MACHINE], identity->text[ID_MACHINE]);
	snprintf(name, sizeof(name), "%.*s", files->comm ? (int)strcspn(files->comm, "\n") : 0,
		 files->comm ?: "");
	set(identity, ID_NAME, TRUST_PROGRAM, name);
}
