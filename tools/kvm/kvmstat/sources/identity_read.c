// SPDX-License-Identifier: GPL-2.0
/* Reads an identity: combines all sources. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/identity_subject.h"
#include "util/file.h"

/*
 * Whether libvirt shortens @name to @short_name in a cgroup: it leaves out characters that such a
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

/* @name: from the command line. */
static void find_domain(struct identity_subject *subject, const char *name)
{
	struct identity *identity = subject->identity;
	const char *machine = identity->text[IDENTITY_MACHINE];
	const char *short_name = domain_of_machine(machine);
	bool is_long = strlen(machine) == MACHINE_LENGTH;

	if (*name && subject->run >= 0 && has_pid_file(subject, name))
		identity_set(identity, IDENTITY_DOMAIN, IDENTITY_RUN, name);
	else if (short_name && strcmp(name, short_name) && is_shortened(name, short_name, is_long))
		identity_set(identity, IDENTITY_DOMAIN, IDENTITY_COMMAND_LINE, name);
	else if (short_name)
		identity_set(identity, IDENTITY_DOMAIN, IDENTITY_CGROUP, short_name);
	else if (has_argument_with(subject, "/libvirt/qemu/"))
		identity_set(identity, IDENTITY_DOMAIN, IDENTITY_COMMAND_LINE, name);
}

/* Whether it is a name of Kubernetes: begins and ends with a letter or digit. */
static bool is_kubernetes_name(const char *name, size_t most, const char *allowed)
{
	size_t length = strlen(name);

	return has_only(name, most, allowed) && !strchr("-.", name[0]) &&
	       !strchr("-.", name[length - 1]);
}

#define LOWER_CASE "0123456789abcdefghijklmnopqrstuvwxyz-"

/* virt-launcher names its domain NAMESPACE_NAME, and neither can have a '_'. */
static void find_vmi(struct identity_subject *subject, const char *name)
{
	struct identity *identity = subject->identity;
	const char *vmi = strchr(name, '_');
	char namespace[64];

	if (!vmi || !identity_has(identity, IDENTITY_POD) ||
	    (size_t)(vmi - name) >= sizeof(namespace) || !has_argument_with(subject, "kubevirt"))
		return;
	snprintf(namespace, sizeof(namespace), "%.*s", (int)(vmi - name), name);
	if (!is_kubernetes_name(namespace, 63, LOWER_CASE) ||
	    !is_kubernetes_name(vmi + 1, 253, LOWER_CASE "."))
		return;
	identity_set(identity, IDENTITY_NAMESPACE, IDENTITY_COMMAND_LINE, namespace);
	identity_set(identity, IDENTITY_VMI, IDENTITY_COMMAND_LINE, vmi + 1);
}

/* The command line's name, unless a more reliable source has another one. */
static void find_name(struct identity_subject *subject, const char *name)
{
	struct identity *identity = subject->identity;
	char comm[64];

	identity_set(identity, IDENTITY_NAME, identity->source[IDENTITY_DOMAIN],
		     identity->text[IDENTITY_DOMAIN]);
	identity_set(identity, IDENTITY_NAME, IDENTITY_COMMAND_LINE, name);
	if (!identity_has(identity, IDENTITY_NAME))
		identity_set(identity, IDENTITY_NAME, identity->source[IDENTITY_MACHINE],
			     identity->text[IDENTITY_MACHINE]);
	read_file(subject->dir, "comm", comm, sizeof(comm));
	comm[strcspn(comm, "\n")] = '\0';
	identity_set(identity, IDENTITY_NAME, IDENTITY_PROGRAM, comm);
}

/*
 * The field of /proc/PID/stat. Search after the second field: a name, which may contain anything.
 */
#define STAT_STARTED 22

static uint64_t read_started(const struct identity_subject *subject)
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

static int open_run(struct identity_subject *subject, const char *run)
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
	struct identity_subject subject = { .pid = pid, .identity = identity, };
	char path[PATH_MAX], name[ELEMENT_SIZE];

	*identity = (struct identity) { .without_memory = identity->without_memory, };
	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	subject.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (subject.dir < 0)
		return;
	subject.run = open_run(&subject, run);
	identity_read_cgroup(&subject);
	identity_read_cmdline(&subject, name);
	find_domain(&subject, name);
	find_vmi(&subject, name);
	find_name(&subject, name);
	free(subject.cmdline);
	identity->started = read_started(&subject);
	if (subject.run >= 0)
		close(subject.run);
	close(subject.dir);
}
