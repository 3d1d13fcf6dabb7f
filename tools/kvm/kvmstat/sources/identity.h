/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which VM a process runs, from its command line, its cgroup and /run, without the help of a
 * daemon. Reads cmdline, cgroup, comm and stat in /proc, and files of libvirt and systemd-machined
 * in /run. Both directories are parameters, so that tests have their own. Reads nothing through the
 * process' own root, which may be a filesystem that never answers.
 *
 * Reads at most IDENTITY_CMDLINE bytes of a command line (libvirt's have about ten thousand, with
 * the names in the first half), and IDENTITY_FILE of other files. An argument or line that does
 * not fit is left out.
 *
 * The reliability of a field depends on its source, from the least to the most reliable:
 *
 *  IDENTITY_PROGRAM	the program's name, if nothing else names the VM
 *  IDENTITY_COMMAND_LINE
 *			the VMM. It can overwrite its command line, and every user can start a VMM
 *			with the name of another VM
 *  IDENTITY_CGROUP	the cgroup in which a service manager put the process. Only machine.slice,
 *			kubepods and firecracker of the host count: in user.slice or in a
 *			container, users can create cgroups of any name
 *  IDENTITY_RUN	a file that only root can write, and that names the process or its cgroup
 *
 * If two sources differ, the more reliable one counts.
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
 * Text of at most TEXT_NAME_SIZE - 1 bytes. It is safe to print: '?' replaces bytes that are not
 * UTF-8 and characters that could control a terminal.
 */
enum identity_field {
	/*
	 * The name to show: libvirt's domain, QEMU's -name, Firecracker's id, the name of an API
	 * socket, the machine's, or the program's.
	 */
	IDENTITY_NAME,

	/* 36 bytes in lower case: machined's ID, or QEMU's -uuid and the like. */
	IDENTITY_UUID,

	/* libvirt's domain. In a cgroup's name it has only its letters, digits, '-' and '.'. */
	IDENTITY_DOMAIN,

	/* As machinectl shows it: at most 64 letters, digits, '-', '.' and '_'. */
	IDENTITY_MACHINE,

	/*
	 * KubeVirt's names, from a domain NAMESPACE_NAME on the command line of a process in a
	 * pod's cgroup: at most 63 and 253 bytes. Only the pod's uid, 36 bytes, is reliable.
	 */
	IDENTITY_NAMESPACE,
	IDENTITY_VMI,
	IDENTITY_POD,

	IDENTITY_FIELDS,
};

struct identity {
	unsigned char source[IDENTITY_FIELDS];		/* enum identity_source */
	char text[IDENTITY_FIELDS][TEXT_NAME_SIZE];
	bool without_memory;		/* the command line was not read */
	uint64_t started;		/* the process, in 1/100 s since boot; 0: not known */
};

/*
 * @proc and @run are /proc and /run; @run may be NULL. A process that is gone has no fields. With
 * @identity->without_memory it does not read the command line: that takes a lock that the process
 * can hold for ever.
 */
void identity_read(struct identity *identity, const char *proc, const char *run, pid_t pid);

/* Makes an identity that has only a name. */
void identity_of_name(struct identity *identity, const char *name);

/* The field's name as a label, such as "uuid". */
const char *identity_label(enum identity_field field);

/* Whether identity_read() could return this identity, which another process has sent. */
bool identity_is_valid(const struct identity *identity);

#endif /* KVMSTAT_IDENTITY_H */
