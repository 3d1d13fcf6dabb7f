/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host that is scanned for VMs: all functions that may need privileges. kvmstat itself asks the
 * broker; tests have hosts of their own.
 *
 * A pid means the process that has it at the time of the answer. To ask about a certain process,
 * open it with open_process() and check is_gone() after the answer.
 */
#ifndef KVMSTAT_HOST_H
#define KVMSTAT_HOST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sources/identity.h"
#include "sources/proc_fds.h"
#include "sources/proc_threads.h"
#include "sources/statsfile.h"

enum host_step {
	HOST_PROC,		/* reading /proc */
	HOST_OPEN,		/* pidfd_open */
	HOST_TAKE,		/* pidfd_getfd */
	HOST_STATS,		/* KVM_GET_STATS_FD */
};

/* The step that failed, and the errno. */
struct host_error {
	enum host_step step;
	int err;
	int capability;		/* HOST_STATS: KVM_CAP_BINARY_STATS_FD, or -errno; */
				/* HOST_TAKE: kernel.yama.ptrace_scope */
};

/* The broker's functions return EAGAIN if it does not answer. */
struct host {
	const char *proc;
	const char *run;	/* NULL: there is no /run */
	const char *debugfs;	/* its directory kvm */

	/* See proc_list(), proc_list_fds(), proc_thread_group() and proc_read_threads(). */
	int (*list)(const struct host *host, struct proc_list *list);
	int (*list_fds)(const struct host *host, pid_t pid, struct proc_fds *fds);
	pid_t (*thread_group)(const struct host *host, pid_t pid);
	int (*read_threads)(const struct host *host, pid_t pid, unsigned int num_vcpus,
			    struct proc_threads *threads);

	/*
	 * See identity_read(). If reading the command line takes too long, it is left out and
	 * @identity->without_memory is set. Returns false without an answer.
	 */
	bool (*identify)(const struct host *host, pid_t pid, struct identity *identity);

	/*
	 * The thread that created each VM in debugfs, one entry per VM. Returns 0 or -errno. NULL:
	 * there is no debugfs. After 0 the caller frees makers->pid.
	 */
	int (*list_makers)(const struct host *host, struct proc_pids *makers);

	/*
	 * Returns a statistics file for a file descriptor of the process, or -1; *@vm is the
	 * number of its VM, see proc_vm_number(). The error is EBADF if @fd is no longer the file
	 * that was listed, ETIMEDOUT if the process makes the broker wait too long.
	 */
	int (*get_stats)(const struct host *host, pid_t pid, const struct proc_fd *fd,
			 uint64_t *vm, struct host_error *error);

	/* The other functions need no privileges. */

	/* Returns a pidfd, which is readable once the process is gone, or -1. */
	int (*open_process)(const struct host *host, pid_t pid, struct host_error *error);
	bool (*is_gone)(int process);

	/* Whether it is a statistics file. */
	bool (*is_stats)(int fd);

	/* Whether both are one open file; true if the kernel cannot tell. */
	bool (*is_same)(int fd, int other);

	/* Whether the statistics file's VM is gone. */
	bool (*is_dead)(int stats);

	enum statsfile_access access;
};

/* Whether KVM gives statistics files to the VMM only, or has none at all. */
static inline bool host_refuses(const struct host_error *error)
{
	return error->step == HOST_STATS &&
	       (error->err == EIO || error->err == ENOTTY || error->err == EINVAL);
}

extern const struct host this_host;

/* The functions of this_host, for hosts that have their processes in @host->proc. */
int host_list(const struct host *host, struct proc_list *list);
int host_list_fds(const struct host *host, pid_t pid, struct proc_fds *fds);
bool host_identify(const struct host *host, pid_t pid, struct identity *identity);
pid_t host_thread_group(const struct host *host, pid_t pid);
int host_read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
		      struct proc_threads *threads);
int host_list_makers(const struct host *host, struct proc_pids *makers);

#define VMM_ONLY "this kernel gives statistics files only to the VMM"
#define NEEDED_KERNEL "a kernel with the KVM statistics series is needed"
#define NEEDED_PERMISSION "run as root or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"

/* One line: what is missing and what to do. The caller frees it. */
char *host_explain(const struct host_error *error);

#endif /* KVMSTAT_HOST_H */
