/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose VM a process runs: what its command line, its cgroup and /run say, without the help of a
 * daemon. Reads cmdline, cgroup, comm and stat of /proc, and what libvirt and systemd-machined
 * keep in /run; both directories are parameters, so that tests bring their own. Nothing is read
 * through the process' own root, which may be a filesystem that never answers.
 *
 * Reads at most IDENTITY_CMDLINE bytes of a command line (libvirt's have some ten thousand, with
 * the names in the first half), and IDENTITY_FILE of other files. An argument or line that does
 * not fit is left out.
 *
 * How sure a field is depends on its source:
 *
 *  IDENTITY_PROGRAM	the program's name, as nothing else names the VM
 *  IDENTITY_COMMAND_LINE
 *			the VMM. It can overwrite its command line, and everybody may start a VMM
 *			with another one's name
 *  IDENTITY_CGROUP	a service manager, by where it put the process. Only machine.slice,
 *			kubepods and firecracker of the host count: elsewhere, as in user.slice or
 *			in a container, users make cgroups of any name
 *  IDENTITY_RUN	a file that only root can write, which names the process or its cgroup
 *
 * If two sources differ, the surer one counts.
 */
#ifndef KVMSTAT_IDENTITY_H
#define KVMSTAT_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/text.h"

#define IDENTITY_CMDLINE (64 * 1024)
#define IDENTITY_FILE (16 * 1024)

enum identity_source {
	IDENTITY_NONE,		/* not known: the text is empty */
	IDENTITY_PROGRAM,
	IDENTITY_COMMAND_LINE,
	IDENTITY_CGROUP,
	IDENTITY_RUN,
};

/*
 * Text of at most TEXT_NAME_SIZE - 1 bytes. It can be printed anywhere: what is not UTF-8 or could
 * control a terminal is replaced by '?'.
 */
enum identity_field {
	/*
	 * The name to show: libvirt's domain, QEMU's -name, Firecracker's id, the name of an API
	 * socket, the machine's, or the program's.
	 */
	IDENTITY_NAME,

	/* 36 bytes in lower case: machined's ID, or QEMU's -uuid and the like. */
	IDENTITY_UUID,

	/* libvirt's. A cgroup has it without what is not a letter, digit, '-' or '.'. */
	IDENTITY_DOMAIN,

	/* As machinectl shows it: at most 64 letters, digits, '-', '.' and '_'. */
	IDENTITY_MACHINE,

	/*
	 * KubeVirt's, of a domain NAMESPACE_NAME in a pod's cgroup: names of 63 and 253 bytes at
	 * most, from the command line. Only the pod's uid, 36 bytes, is sure.
	 */
	IDENTITY_NAMESPACE,
	IDENTITY_VMI,
	IDENTITY_POD,

	IDENTITY_FIELDS,
};

struct identity {
	unsigned char source[IDENTITY_FIELDS];		/* enum identity_source */
	char text[IDENTITY_FIELDS][TEXT_NAME_SIZE];
	bool without_memory;		/* without the command line */
	uint64_t started;		/* the process, since boot, in 1/100 s; 0: not known */
};

/*
 * @proc and @run stand for /proc and /run; @run may be NULL. A process that is gone has no field.
 * With @identity->without_memory the command line is left out: reading it takes a lock that the
 * process can hold for ever.
 */
void identity_read(struct identity *identity, const char *proc, const char *run, pid_t pid);

/* A name and nothing else. */
void identity_of_name(struct identity *identity, const char *name);

/* The field's name as a label, such as "uuid". */
const char *identity_label(enum identity_field field);

/* Whether identity_read() can return this, which another process says. */
bool identity_is_valid(const struct identity *identity);

#endif /* KVMSTAT_IDENTITY_H */
