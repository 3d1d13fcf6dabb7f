// SPDX-License-Identifier: GPL-2.0
/*
 * A VMM's command line. The owner of a VM can write anything into it: it may be malformed, long or
 * wrong.
 */
#include <stdio.h>
#include <string.h>

#include "sources/identity_subject.h"
#include "util/file.h"
#include "util/text.h"
#include "util/util.h"

static void read_cmdline(struct identity_subject *subject)
{
	char *text = xcalloc(IDENTITY_CMDLINE + 1, 1);
	size_t length = 0;

	if (!subject->identity->without_memory)
		length = read_file(subject->dir, "cmdline", text, IDENTITY_CMDLINE);

	/*
	 * A process may have overwritten the NUL at the end. Leave out an argument that is cut off.
	 */
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
 * The argument after -@name or --@name, or the text after '=' in -@name=TEXT; NULL if there is
 * none. Searches after @last; if that is NULL, from the beginning.
 */
static const char *next_option(const struct identity_subject *subject, const char *name,
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

static const char *last_option(const struct identity_subject *subject, const char *name)
{
	const char *found = NULL, *next;

	for (next = NULL; (next = next_option(subject, name, next)); )
		found = next;
	return found;
}

/*
 * Takes an element off a list KEY=VALUE,... Two commas stand for a comma in a value. Cuts off an
 * element that is too long. Returns the rest of the list, NULL at its end.
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

/* Copies the last value of @key ("key=") to @value, of ELEMENT_SIZE; false if there is none. */
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

/* Finds NAME in "[guest=]NAME[,...]". The last one counts, as in QEMU. */
static void read_name(struct identity_subject *subject, char *name)
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
static void read_smbios(struct identity_subject *subject)
{
	char value[ELEMENT_SIZE];
	const char *option = NULL;

	while ((option = next_option(subject, "smbios", option))) {
		if (find_value(option, "type=", value) && !strcmp(value, "1") &&
		    find_value(option, "uuid=", value))
			identity_set_uuid(subject->identity, IDENTITY_COMMAND_LINE, value);
	}
}

bool has_argument_with(const struct identity_subject *subject, const char *text)
{
	const char *argument;

	for (argument = subject->cmdline; argument < subject->end;
	     argument = next_argument(argument)) {
		if (strcasestr(argument, text))
			return true;
	}
	return false;
}

/* Whether the process runs the program: looks at its argv[0], then at its comm. */
static bool runs(const struct identity_subject *subject, const char *program)
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

/*
 * Names the VM after its API socket: web, if that is /run/vm/web.sock. If the socket has a common
 * name, as in /run/vm/web/api.sock, after its directory.
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
	identity_set(identity, IDENTITY_NAME, IDENTITY_COMMAND_LINE, name);
}

static void read_firecracker(struct identity_subject *subject)
{
	const char *option = last_option(subject, "id");

	if (option && has_only(option, 64, ALPHANUMERIC "-"))
		identity_set(subject->identity, IDENTITY_NAME, IDENTITY_COMMAND_LINE, option);
	option = last_option(subject, "api-sock");
	if (option)
		name_by_socket(subject->identity, option);
}

static void read_cloud_hypervisor(struct identity_subject *subject)
{
	const char *option = last_option(subject, "api-socket");
	char value[ELEMENT_SIZE];

	/* The option is a path, or a list with path= or fd=. */
	if (option && (find_value(option, "path=", value) ||
		       (!skip_prefix(option, "fd=") && next_element(option, value, sizeof(value)))))
		name_by_socket(subject->identity, value);
	option = last_option(subject, "platform");
	if (option && find_value(option, "uuid=", value))
		identity_set_uuid(subject->identity, IDENTITY_COMMAND_LINE, value);
}

void identity_read_cmdline(struct identity_subject *subject, char name[ELEMENT_SIZE])
{
	const char *uuid;

	read_cmdline(subject);
	uuid = last_option(subject, "uuid");
	if (uuid)
		identity_set_uuid(subject->identity, IDENTITY_COMMAND_LINE, uuid);
	read_smbios(subject);
	if (runs(subject, "firecracker"))
		read_firecracker(subject);
	else if (runs(subject, "cloud-hyperviso"))
		read_cloud_hypervisor(subject);
	read_name(subject, name);
}
