/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host that VMs are looked for on: where its /proc is and how a statistics
 * file is had. Tests put a host of their own in its place.
 */
#ifndef KVMSTAT_HOST_H
#define KVMSTAT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "statsfile.h"

/* What could not be done, and the errno. */
struct host_error {
	const char *step;
	int err;
};

struct host {
	const char *proc;

	/* Returns a file descriptor that stands for the process, or -1. */
	int (*open_process)(pid_t pid, struct host_error *error);

	/*
	 * Returns a statistics file of file descriptor @fd of the process, or -1.
	 * @link is what the file was when it was found (see parse_kvm_link()):
	 * should it be another one by now, the error is EBADF.
	 */
	int (*get_stats)(int process, int fd, int link, struct host_error *error);

	/* Whether the VM of this statistics file is gone. */
	bool (*is_dead)(int stats);

	/* How the statistics files are read. */
	enum statsfile_access access;
};

extern const struct host this_host;

/* What helps. */
#define NEEDED_KERNEL "a kernel with the KVM statistics series is needed"
#define NEEDED_PERMISSION "run as root or with CAP_SYS_PTRACE"

/* One line: what is missing and what can be done about it. The caller frees it. */
char *host_explain(const struct host_error *error);

#endif /* KVMSTAT_HOST_H */
