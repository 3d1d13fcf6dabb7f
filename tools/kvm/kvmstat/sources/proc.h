/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads /proc: processes, their KVM file descriptors and threads, the VM that a statistics file
 * belongs to. The directory is a parameter, so that tests bring their own.
 */
#ifndef KVMSTAT_PROC_H
#define KVMSTAT_PROC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/cgroup.h"

/* What a /proc/PID/fd link names, or a vCPU's id (0 and up). */
enum kvm_link {
	LINK_VM = -1,
	LINK_OTHER = -2,
};

/* *@is_stats: it is a statistics file, not the VM or vCPU itself. */
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

/* The numbers of its vCPUs, sorted, each once; the caller frees them. */
int *proc_vcpus(const struct proc_fds *fds, size_t *count);
/* Sorts them, keeps each once, and returns how many are left. */
size_t proc_sort_numbers(int *number, size_t count);
/* In a sorted array; or NULL. */
const int *proc_find_number(const int *number, size_t count, int wanted);

/* 0 or -errno; the caller frees fds->entry. */
int proc_list_fds(const char *proc, pid_t pid, struct proc_fds *fds);

/* What was listed of a process with many file descriptors. */
struct proc_known {
	pid_t pid;
	ino_t dir;		/* another process with this pid has another directory */
	struct proc_fds fds;
	unsigned int num_looks;	/* that found no KVM file descriptor */
};

/* What proc_list() has found before. Empty at first. */
struct proc_memory {
	struct proc_known *known;	/* sorted by pid */
	size_t count;
	size_t num_fds;			/* KVM's, of all processes */
	unsigned int turn;
};

/*
 * Reading one link costs some thousand instructions, and a host may have tens of thousands,
 * nearly all of them vCPUs that were there before. A scan has room for so many: processes with
 * more than a few file descriptors take turns. A process with many file descriptors that are not
 * KVM's, which every user can have, is listed ever more seldom.
 */
#define PROC_FEW_FDS 32
#define PROC_FDS_AT_ONCE 1024
#define PROC_MOST_LOOKS 6	/* half as often after each, so often, */
#define PROC_OTHERS_AT_ONCE 128	/* and no more of these per scan and process */

/*
 * Lists the processes that have KVM file descriptors, or whose file descriptors cannot be listed.
 * 0 or -errno; the caller frees with proc_list_free() what it does not take.
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
 * What threads have done. Guest time is counted by the tick, unless the kernel is built for more.
 */
struct proc_times {
	uint64_t guest_ns;
	uint64_t kernel_ns;
	uint64_t user_ns;		/* without the guest */
	uint64_t ready_ns;		/* waited for a CPU */
	uint64_t run_ns;		/* had a CPU */
	uint32_t num_threads;
	uint32_t has_ready;		/* the kernel counts ready_ns for all of them */
};

/* Where a thread is at the moment. */
enum proc_state {
	PROC_UNKNOWN,
	PROC_RUNS,			/* or waits for a CPU */
	PROC_STOPPED,			/* by a signal or a debugger */
	PROC_IN_KVM,			/* sleeps in KVM_RUN */
	PROC_OUTSIDE,			/* sleeps elsewhere */
};

/* A thread that has run a guest, or whose name says that it will. */
struct proc_thread {
	pid_t tid;
	int32_t vcpu;			/* by its name, or -1 */
	uint32_t state;			/* enum proc_state */
	struct proc_times times;
};

/* The threads of a process, sorted by tid. */
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

/* Whether proc_read_threads() can return this, which another process or a file says. */
bool proc_threads_are_valid(const struct proc_threads *threads);

/* The sum over the threads that are among @others, too. */
struct proc_times proc_sum_times(const struct proc_threads *threads,
				 const struct proc_threads *others);

/*
 * Every user can have thousands of threads of any name, and each costs two files: a process with
 * so many threads besides its vCPUs, or with more that are named like vCPUs, is not read.
 */
#define PROC_OTHER_THREADS 1000

/*
 * 0 or -errno: -E2BIG if there are too many threads for @num_vcpus. After 0 the caller frees
 * threads->thread.
 */
int proc_read_threads(const char *proc, pid_t pid, unsigned int num_vcpus,
		      struct proc_threads *threads);

/* False if @proc belongs to another pid namespace. */
bool proc_is_ours(const char *proc);

/* Whether @proc hides the processes of other users (hidepid). */
bool proc_is_hidden(const char *proc);

/* Whether this process is in another pid namespace than the first. */
bool proc_is_namespace(const char *proc);

/*
 * The number of the VM whose statistics file descriptor @fd of this process shows, the same for
 * all files of a VM; 0 if the kernel gives none.
 */
uint64_t proc_vm_number(const char *proc, int fd);

#endif /* KVMSTAT_PROC_H */
