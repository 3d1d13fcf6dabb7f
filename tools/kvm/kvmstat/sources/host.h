/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host that VMs are looked for on: all that is asked of it about its processes,
 * which may take privileges. Who has none asks another process in its place, and
 * tests have hosts of their own.
 *
 * What is asked of a process by its pid is answered by whichever has that pid then.
 * Who means a certain one holds it by open_process() and sees by is_gone(), after
 * the answer, whether it was that one.
 */
#ifndef KVMSTAT_HOST_H
#define KVMSTAT_HOST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sources/debugfs.h"
#include "sources/identity.h"
#include "sources/proc.h"
#include "sources/statsfile.h"

enum host_step {
	HOST_PROC,		/* reading /proc */
	HOST_OPEN,		/* pidfd_open */
	HOST_TAKE,		/* pidfd_getfd */
	HOST_STATS,		/* KVM_GET_STATS_FD */
};

/* What could not be done, and the errno. */
struct host_error {
	enum host_step step;
	int err;
	int capability;		/* HOST_STATS: KVM_CAP_BINARY_STATS_FD, or -errno; */
				/* HOST_TAKE: kernel.yama.ptrace_scope */
	int debugfs;		/* HOST_STATS: -errno of debugfs, 0: it was not asked */
};

struct host {
	const char *proc;
	const char *run;	/* NULL: there is nothing to be known from /run */
	const char *debugfs;	/* KVM's directory of it */

	/* All processes that have KVM file descriptors or hide theirs: see proc_list(). */
	int (*list)(const struct host *host, struct proc_list *list);

	/* The KVM file descriptors of one: see proc_list_fds(). */
	int (*list_fds)(const struct host *host, pid_t pid, struct proc_fds *fds);

	/*
	 * See identity_read(). If that would wait for the process without end, the command line
	 * is left out, and @identity->without_memory says so.
	 */
	void (*identify)(const struct host *host, pid_t pid, struct identity *identity);

	/* See proc_thread_group(). */
	pid_t (*thread_group)(const struct host *host, pid_t pid);

	/* See proc_read_threads(). */
	int (*read_threads)(const struct host *host, pid_t pid, unsigned int num_vcpus,
			    struct proc_threads *threads);

	/* See debugfs_list() and debugfs_read(). Both are NULL: there is none. */
	int (*list_debugfs)(const struct host *host, struct debugfs_dirs *dirs);
	int (*read_debugfs)(const struct host *host, pid_t pid, int fd, struct debugfs_vm *vm);

	/*
	 * Returns a statistics file for a file descriptor of the process, or -1, and in
	 * *@vm the number of its VM: see proc_vm_number(). @fd is what was listed: should
	 * it be another file by now, the error is EBADF; ETIMEDOUT if the process makes others
	 * wait without end.
	 */
	int (*get_stats)(const struct host *host, pid_t pid, const struct proc_fd *fd,
			 uint64_t *vm, struct host_error *error);

	/*
	 * Returns a file descriptor that stands for the process and is readable once
	 * that is gone, or -1. Takes no privileges.
	 */
	int (*open_process)(const struct host *host, pid_t pid, struct host_error *error);
	bool (*is_gone)(int process);

	/* Whether it is a statistics file, whoever it came from. Takes no privileges. */
	bool (*is_stats)(int fd);

	/*
	 * Whether they are the same open file; also if that cannot be told. NULL: it never can.
	 * Takes no privileges.
	 */
	bool (*is_same)(int fd, int other);

	/* Whether the VM of this statistics file is gone. */
	bool (*is_dead)(int stats);

	/* How the statistics files are read. */
	enum statsfile_access access;
};

/* Whether KVM gives no statistics file to any process but the VMM, or has none at all. */
static inline bool host_refuses(const struct host_error *error)
{
	return error->step == HOST_STATS &&
	       (error->err == EIO || error->err == ENOTTY || error->err == EINVAL);
}

extern const struct host this_host;

/* What this_host does, for any other that has its processes in @host->proc. */
int host_list(const struct host *host, struct proc_list *list);
int host_list_fds(const struct host *host, pid_t pid, struct proc_fds *fds);
void host_identify(const struct host *host, pid_t pid, struct identity *identity);
pid_t host_thread_group(const struct host *host, pid_t pid);
int host_read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
		      struct proc_threads *threads);
int host_list_debugfs(const struct host *host, struct debugfs_dirs *dirs);
int host_read_debugfs(const struct host *host, pid_t pid, int fd, struct debugfs_vm *vm);

/* What is missing. */
#define VMM_ONLY "its KVM gives statistics files to the VMM only"

/* What helps. */
#define NEEDED_KERNEL "a kernel with the KVM statistics series is needed"
#define NEEDED_PERMISSION "run as root or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"

/* One line: what is missing and what can be done about it. The caller frees it. */
char *host_explain(const struct host_error *error);

#endif /* KVMSTAT_HOST_H */
