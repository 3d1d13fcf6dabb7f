/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files that read an identity. */
#ifndef KVMSTAT_IDENTITY_SUBJECT_H
#define KVMSTAT_IDENTITY_SUBJECT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sources/identity.h"

#define ALPHANUMERIC "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define UUID_LENGTH 36
#define MACHINE_LENGTH 64

/* Room for a key and a text that is cut off at whole characters later. */
#define ELEMENT_SIZE (TEXT_NAME_SIZE + 32)

struct identity_subject {
	pid_t pid;
	int dir;		/* of the process in /proc */
	int run;		/* or -1 */
	uid_t owner;		/* of /run: only trust files of this user */
	char *cmdline;		/* arguments, each with a NUL behind it */
	const char *end;
	char unit[NAME_MAX + 1];	/* systemd's unit below machine.slice; or empty */
	struct identity *identity;
};

/* Set a field, unless an equally or more reliable source has set it. */
void identity_set(struct identity *identity, enum identity_field field,
		  enum identity_source source, const char *text);
void identity_set_uuid(struct identity *identity, enum identity_source source, const char *text);
bool identity_has(const struct identity *identity, enum identity_field field);

/* Accepts a UUID with or without '-'. Makes it lower-case; @uuid has UUID_LENGTH + 1 bytes. */
bool parse_uuid(const char *text, char *uuid);
bool has_only(const char *text, size_t most, const char *allowed);
const char *skip_prefix(const char *text, const char *prefix);

/* Reads the command line, and the VM's name in it. The caller frees subject->cmdline. */
void identity_read_cmdline(struct identity_subject *subject, char name[ELEMENT_SIZE]);
bool has_argument_with(const struct identity_subject *subject, const char *text);

/* Reads the cgroup, and systemd-machined's file about it in /run. */
void identity_read_cgroup(struct identity_subject *subject);

/* Whether libvirt's pid file names this process. */
bool has_pid_file(const struct identity_subject *subject, const char *domain);

/* Returns NAME in libvirt's qemu-NUMBER-NAME or ch-NUMBER-NAME, or NULL. */
const char *domain_of_machine(const char *machine);

#endif /* KVMSTAT_IDENTITY_SUBJECT_H */
