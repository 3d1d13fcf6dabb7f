/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose VM a process runs: what its command line, its cgroup and /run say of that, without
 * the help of any daemon. Of /proc are read cmdline, cgroup and comm, and of /run what
 * libvirt and systemd-machined keep there; both directories are parameters, so that tests
 * bring their own. Nothing is read by way of the process' own root: what is there may be
 * its owner's, with a filesystem that never answers.
 *
 * All that is read is bounded: of a command line IDENTITY_CMDLINE bytes (those of libvirt
 * have some ten thousand, with what is looked for in the first half), of any other file
 * IDENTITY_FILE. What does not fit is left out as a whole, argument or line.
 *
 * How sure it is depends on who says it, and each field has that by itself:
 *
 *  IDENTITY_PROGRAM	nobody gave a name; this one is the program's
 *  IDENTITY_COMMAND_LINE
 *			the VMM. Who started it gave it that, but a VMM can overwrite its
 *			command line, and anybody may start one with the name of another's
 *  IDENTITY_CGROUP	a service manager, by where it put the process. Only what stands
 *			below machine.slice and kubepods of the host counts: elsewhere, as in
 *			user.slice or in a container, users make cgroups of any name
 *  IDENTITY_RUN	a file of root, which nobody else can write, and which names this
 *			process or its cgroup
 *
 * What two say in different ways is taken from the one that is surer.
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
 * Text of at most TEXT_NAME_SIZE - 1 bytes. It can be printed anywhere: what is not UTF-8
 * or could do something to a terminal is replaced by '?'. Where less is said to be there,
 * other texts are taken for none.
 */
enum identity_field {
	/*
	 * The one to show: libvirt's domain, QEMU's -name, Firecracker's --id, the name of
	 * cloud-hypervisor's API socket, that of the machine, or else the program's.
	 */
	IDENTITY_NAME,

	/* 36 bytes in lower case: machined's ID, or QEMU's -uuid and the like. */
	IDENTITY_UUID,

	/*
	 * As libvirt has it, if its pid file names the process. A cgroup has it without
	 * what is no letter, digit, '-' or '.'.
	 */
	IDENTITY_DOMAIN,

	/* As machinectl shows it, at most 64 bytes of letters, digits, '-', '.' and '_'. */
	IDENTITY_MACHINE,

	/* The unit of the machine in systemd's escaping: ASCII. */
	IDENTITY_SCOPE,

	/*
	 * KubeVirt's, of a domain NAMESPACE_NAME in a cgroup of a pod: names in Kubernetes'
	 * sense, of 63 and 253 bytes at most. The command line says which, so that only the
	 * uid of the pod, 36 bytes, is sure.
	 */
	IDENTITY_NAMESPACE,
	IDENTITY_VMI,
	IDENTITY_POD,

	/* At most 64 bytes of letters, digits and '-'. In a cgroup if the jailer made one. */
	IDENTITY_FIRECRACKER,

	/* A path as the VMM has it, of cloud-hypervisor or Firecracker. */
	IDENTITY_API_SOCKET,

	/* The domain, if the VM is one of Nova's; its UUID is the one of the server then. */
	IDENTITY_OPENSTACK,

	IDENTITY_FIELDS,
};

struct identity {
	unsigned char source[IDENTITY_FIELDS];		/* enum identity_source */
	char text[IDENTITY_FIELDS][TEXT_NAME_SIZE];
	bool without_memory;		/* of the process, where its command line is */
	uint64_t started;		/* the process, since boot, in 1/100 s; 0: not known */
};

/*
 * @proc and @run stand for /proc and /run; @run may be NULL. A process that is gone has
 * no name, nor anything else. With @identity->without_memory the command line is left out: to
 * read it takes a lock that the process can hold for ever.
 */
void identity_read(struct identity *identity, const char *proc, const char *run, pid_t pid);

/* A name and nothing else, as of a VM that is known by hearsay. */
void identity_of_name(struct identity *identity, const char *name);

/* What a field is called where there are labels, such as "uuid". */
const char *identity_label(enum identity_field field);

/* Whether it is one that identity_read() can make: for what another process says. */
bool identity_is_valid(const struct identity *identity);

#endif /* KVMSTAT_IDENTITY_H */
