/* SPDX-License-Identifier: GPL-2.0 */
/* Processes and their KVM file descriptors, from /proc. */
#ifndef KVMSTAT_PROC_FDS_H
#define KVMSTAT_PROC_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The kind of file that a link in /proc/PID/fd names; 0 and up: the id of a vCPU. */
enum kvm_link {
	LINK_VM = -1,
	LINK_OTHER = -2,
};

/* Sets *@is_stats if it is a statistics file, not the VM or vCPU itself. */
int parse_kvm_link(const char *target, bool *is_stats);

struct proc_fd {
	int fd;
	int link;
	bool is_stats;
	bool seen;		/* for the caller, false at first */
};

/* The KVM file descriptors of a process, sorted. */
struct proc_fds {
	struct proc_fd *entry;
	size_t count;
	size_t num_others;	/* file descriptors that are not KVM's */
};

struct proc_process {
	pid_t pid;
	int err;		/* not 0: its file descriptors cannot be listed */
	struct proc_fds fds;
};

/* Sorted by pid. */
struct proc_list {
	struct proc_process *process;
	size_t count;
};

struct proc_pids {
	pid_t *pid;
	size_t count;
};

void proc_fds_add(struct proc_fds *fds, const struct proc_fd *fd);

/* The numbers of the process' vCPUs, sorted, each once. The caller frees them. */
int *proc_vcpus(const struct proc_fds *fds, size_t *count);

/* Counts VMs (@vms) or vCPUs, without their statistics files. */
unsigned int proc_count_fds(const struct proc_fds *fds, bool vms);

/* Counts the vCPUs of one VM by number; of several VMs, whose numbers overlap, by descriptor. */
unsigned int proc_count_vcpus(const struct proc_fds *fds);

/* 0 or -errno; the caller frees fds->entry. */
int proc_list_fds(const char *proc, pid_t pid, struct proc_fds *fds);

/* A process with many file descriptors, as it was listed. */
struct proc_known {
	pid_t pid;
	ino_t dir;		/* another process with this pid has another directory */
	struct proc_fds fds;
	unsigned int num_looks;	/* listings that found no KVM file descriptor */
};

/* Findings of earlier proc_list() calls. Empty at first. */
struct proc_memory {
	struct proc_known *known;	/* sorted by pid */
	size_t count;
	size_t num_fds;			/* KVM's, of all processes */
	unsigned int turn;
};

/*
 * Reading one link costs some thousand instructions. A host may have tens of thousands of them, and
 * nearly all belong to known vCPUs. Therefore a scan reads a limited number: processes with more
 * than a few file descriptors take turns. Any user can have many file descriptors that are not
 * KVM's: such a process is listed less and less often.
 */
#define PROC_FEW_FDS 32
#define PROC_FDS_AT_ONCE 1024
#define PROC_MOST_LOOKS 6	/* halve the frequency at most so many times */
#define PROC_OTHERS_AT_ONCE 128	/* on average at most so many per scan and process */

/*
 * Lists the processes that have KVM file descriptors, or whose file descriptors cannot be listed.
 * 0 or -errno; the caller frees with proc_list_free() what it does not take.
 */
int proc_list(const char *proc, struct proc_memory *memory, struct proc_list *list);
void proc_memory_free(struct proc_memory *memory);
void proc_list_add(struct proc_list *list, const struct proc_process *process);
void proc_list_free(struct proc_list *list);

#endif /* KVMSTAT_PROC_FDS_H */
