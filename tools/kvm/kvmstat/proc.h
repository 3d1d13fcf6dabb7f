/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads /proc: which processes there are, which of their file descriptors are
 * KVM's, what a process is called, which VM a statistics file of our own belongs
 * to. The directory is a parameter, so that tests bring their own.
 */
#ifndef KVMSTAT_PROC_H
#define KVMSTAT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a /proc/PID/fd link names, or the id of a vCPU (0 and up). */
enum kvm_link {
	LINK_VM = -1,
	LINK_OTHER = -2,
};

int parse_kvm_link(const char *target);

struct proc_fd {
	int fd;
	int link;
	bool seen;		/* for the caller, false at first */
};

/* The KVM file descriptors of a process, lowest first. */
struct proc_fds {
	struct proc_fd *entry;
	size_t count;
};

/* Returns a file descriptor of the process' directory or -errno. */
int proc_open(const char *proc, pid_t pid);

/* 0 or -errno; the caller frees fds->entry. */
int proc_list_fds(int dir, struct proc_fds *fds);

/* All processes, lowest pid first; 0 or -errno, the caller frees *@pids. */
int proc_list_pids(const char *proc, pid_t **pids, size_t *count);

/*
 * The name that a person gave to the VM (QEMU's -name) or else the program's,
 * with anything that could harm a terminal replaced.
 */
void proc_name(int dir, char *name, size_t size);

/* The thread group of @pid, 0 if there is no such process or thread. */
pid_t proc_thread_group(const char *proc, pid_t pid);

/* False if the pids in @proc are not those that system calls of this process take. */
bool proc_is_ours(const char *proc);

/*
 * The number of the VM whose statistics file descriptor @fd of this process shows,
 * the same for all files of a VM; 0 if the kernel gives none.
 */
uint64_t proc_vm_number(const char *proc, int fd);

#endif /* KVMSTAT_PROC_H */
