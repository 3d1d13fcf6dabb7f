/* SPDX-License-Identifier: GPL-2.0 */
/* The threads of a process, their times and states, from /proc. */
#ifndef KVMSTAT_PROC_THREADS_H
#define KVMSTAT_PROC_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Times of threads. Depending on its configuration, the kernel counts guest time in ticks. */
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

/* The cgroup (v2) of a process or a thread. */
struct cgroup_state {
	uint64_t throttled_ns;		/* by a CPU quota: the maximum of it and its ancestors */
	uint32_t is_frozen;
};

/* The threads of a process, sorted by tid. */
struct proc_threads {
	struct proc_thread *thread;
	size_t count;
	struct proc_whole {
		uint64_t run_ns;	/* all threads, in ticks */
		uint64_t is_known;	/* run_ns was read */
		struct cgroup_state cgroup;
	} whole;
};

void proc_threads_add(struct proc_threads *threads, const struct proc_thread *thread);

/* Returns NULL if there is none. */
const struct proc_thread *proc_find_thread(const struct proc_threads *threads, pid_t tid);

/* Whether proc_read_threads() could return this. Checks data of another process or a file. */
bool proc_threads_are_valid(const struct proc_threads *threads);

/* The sum over those threads that are also in @others. */
struct proc_times proc_sum_times(const struct proc_threads *threads,
				 const struct proc_threads *others);

/*
 * Any user can have thousands of threads with any name, and each costs up to three files. Therefore
 * kvmstat does not read a process with so many threads besides its vCPUs, or with more threads
 * named like vCPUs than it has vCPUs.
 */
#define PROC_OTHER_THREADS 1000

/*
 * 0 or -errno: -E2BIG if there are too many threads for @num_vcpus. After 0 the caller frees
 * threads->thread.
 */
int proc_read_threads(const char *proc, pid_t pid, unsigned int num_vcpus,
		      struct proc_threads *threads);

#define CGROUP_ROOT "/sys/fs/cgroup"

/* @root: of cgroup v2. @tid: @pid or a thread of it, as vCPUs may have cgroups of their own. */
struct cgroup_state cgroup_read(const char *proc, const char *root, pid_t pid, pid_t tid);

#endif /* KVMSTAT_PROC_THREADS_H */
