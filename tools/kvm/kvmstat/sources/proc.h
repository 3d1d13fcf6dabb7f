/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads /proc: which processes there are, which of their file descriptors are
 * KVM's, which VM a statistics file of our own belongs to. The directory is a
 * parameter, so that tests bring their own.
 */
#ifndef KVMSTAT_PROC_H
#define KVMSTAT_PROC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/cgroup.h"

/* What a /proc/PID/fd link names, or the id of a vCPU (0 and up). */
enum kvm_link {
	LINK_VM = -1,
	LINK_OTHER = -2,
};

/* In *@is_stats whether it is not the VM or vCPU but a statistics file of it. */
int parse_kvm_link(const char *target, bool *is_stats);

struct proc_fd {
	int fd;
	int link;
	bool is_stats;
	bool seen;		/* for the caller, false at first */
};

/* The KVM file descriptors of a process, lowest first. */
struct proc_fds {
	struct proc_fd *entry;
	size_t count;
	size_t num_others;	/* that are none of KVM's */
};

struct proc_process {
	pid_t pid;
	int err;		/* not 0: its file descriptors cannot be listed */
	struct proc_fds fds;
};

/* Lowest pid first. */
struct proc_list {
	struct proc_process *process;
	size_t count;
};

void proc_fds_add(struct proc_fds *fds, const struct proc_fd *fd);

/* Or NULL. */
const struct proc_fd *proc_find_fd(const struct proc_fds *fds, int fd);

/* The numbers of its vCPUs, each once, lowest first; the caller frees them. */
int *proc_vcpus(const struct proc_fds *fds, size_t *count);
/* Sorts them and leaves each once; how many there are. */
size_t proc_sort_numbers(int *number, size_t count);
/* One that is among them, or NULL. */
const int *proc_find_number(const int *number, size_t count, int wanted);

/* 0 or -errno; the caller frees fds->entry. */
int proc_list_fds(const char *proc, pid_t pid, struct proc_fds *fds);

/* Of a process with many file descriptors, what was listed. */
struct proc_known {
	pid_t pid;
	ino_t dir;		/* another process under this pid has another directory */
	struct proc_fds fds;
	unsigned int num_looks;	/* in which there were none of KVM's */
};

/* What was listed before, see proc_list(). Empty at first. */
struct proc_memory {
	struct proc_known *known;	/* in the order of the pids */
	size_t count;
	size_t num_fds;			/* KVM's, of all of them */
	unsigned int turn;
};

/*
 * To see what each file descriptor is costs some thousand instructions, and a host may
 * have tens of thousands, nearly all of them the same at each look: vCPUs. One look has
 * room for so many, the other processes with more than a few have their turn later. One
 * with many that are none of KVM's is looked at ever more seldom: anybody may have them.
 */
#define PROC_FEW_FDS 32
#define PROC_FDS_AT_ONCE 1024
#define PROC_MOST_LOOKS 6	/* twice as seldom after each, so often, */
#define PROC_OTHERS_AT_ONCE 128	/* and no more of these per look and process */

/*
 * All processes that have KVM file descriptors, or whose file descriptors cannot be
 * listed. 0 or -errno; the caller frees with proc_list_free() what it does not take.
 */
int proc_list(const char *proc, struct proc_memory *memory, struct proc_list *list);
void proc_memory_free(struct proc_memory *memory);
void proc_list_add(struct proc_list *list, const struct proc_process *process);
void proc_list_free(struct proc_list *list);

static inline bool proc_is_gone(int err)
{
	return err == ENOENT || err == ESRCH;
}

/* The thread group of @pid, 0 if there is no such process or thread. */
pid_t proc_thread_group(const char *proc, pid_t pid);

/*
 * What threads did until now, together. That of a guest is counted by the tick where the
 * kernel is not built to do better.
 */
struct proc_times {
	uint64_t guest_ns;
	uint64_t kernel_ns;
	uint64_t user_ns;		/* without the guest */
	uint64_t ready_ns;		/* waited for a CPU */
	uint64_t run_ns;		/* had one, all in all */
	uint32_t num_threads;
	uint32_t has_ready;		/* or the kernel does not say so of all of them */
};

/* Where a thread is at the moment. */
enum proc_state {
	PROC_UNKNOWN,
	PROC_RUNS,			/* or is about to */
	PROC_STOPPED,			/* by a signal or a debugger */
	PROC_IN_KVM,			/* sleeps in KVM_RUN */
	PROC_OUTSIDE,			/* sleeps elsewhere */
};

/* A thread that runs a vCPU: it has run a guest, or is called like one that will. */
struct proc_thread {
	pid_t tid;
	int32_t vcpu;			/* by its name: which one of its VMM's; -1: not known */
	uint32_t state;			/* enum proc_state */
	struct proc_times times;
};

/* Those of a process, lowest tid first. */
struct proc_threads {
	struct proc_thread *thread;
	size_t count;
	struct proc_whole {
		uint64_t run_ns;	/* of all threads, by the tick; 0: not known */
		struct cgroup_state cgroup;
	} whole;
};

void proc_threads_add(struct proc_threads *threads, const struct proc_thread *thread);

/* Or NULL. */
const struct proc_thread *proc_find_thread(const struct proc_threads *threads, pid_t tid);

/* What those of them did together that are among the others as well. */
struct proc_times proc_sum_times(const struct proc_threads *threads,
				 const struct proc_threads *others);

/*
 * Anybody can have thousands of threads, with any names, and each costs two files. One with so
 * many others than its vCPUs', or with more that are called like those of vCPUs, is not read.
 */
#define PROC_OTHER_THREADS 1000

/*
 * Of a process that has so many vCPUs. 0 or -errno: -E2BIG if it is not read for that. After 0
 * the caller frees threads->thread.
 */
int proc_read_threads(const char *proc, pid_t pid, unsigned int num_vcpus,
		      struct proc_threads *threads);

/* False if the pids in @proc are not those that system calls of this process take. */
bool proc_is_ours(const char *proc);

/* Whether processes of other users are not even listed there (hidepid). */
bool proc_is_hidden(const char *proc);

/* Whether this process is in another pid namespace than the first one. */
bool proc_is_namespace(const char *proc);

/*
 * The number of the VM whose statistics file descriptor @fd of this process shows,
 * the same for all files of a VM; 0 if the kernel gives none.
 */
uint64_t proc_vm_number(const char *proc, int fd);

#endif /* KVMSTAT_PROC_H */
