/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shares of the vCPU threads' time, which add up to 1: from time by state, or from /proc, which
 * knows only the time on a CPU and waits for one.
 */
#ifndef KVMSTAT_SHARES_H
#define KVMSTAT_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sources/proc_threads.h"
#include "sources/statsfile.h"

enum share {
	SHARE_GUEST,		/* in guest mode */
	SHARE_KVM,		/* in KVM, to handle exits or to poll in halts */
	SHARE_VMM,		/* outside KVM_RUN, on a CPU or not */
	SHARE_READY,		/* waits for a CPU */
	SHARE_WAIT,		/* sleeps in KVM, for memory or a lock */
	SHARE_IDLE,		/* is halted */
	SHARE_OFF,		/* from /proc: WAIT, IDLE, or asleep outside of KVM */
	NUM_SHARES,
};

/* Time per share, in nanoseconds. */
struct times {
	uint64_t ns[NUM_SHARES];
};

struct shares {
	bool known[NUM_SHARES];
	bool by_cpu;			/* from shares_of_threads() */
	double part[NUM_SHARES];	/* from 0 to 1; 0 if not known */
};

/* The statistics that shares are made of, or NULL. */
struct share_sources {
	const struct statsfile_desc *time[NUM_SHARES][2];
};

/* Statistics of a VM that say what KVM measures; or NULL. */
struct accounting {
	const struct statsfile_desc *time, *ready;
};

/* Look up statistics in the vCPU schema, or in the VM's. The schema may be NULL. */
void shares_find(struct share_sources *sources, const struct statsfile_schema *schema);
void accounting_find(struct accounting *accounting, const struct statsfile_schema *schema);

/* The times in the @values of a vCPU. */
struct times times_of(const struct share_sources *sources, const uint64_t *values);

/* The time that passed between two samples of one vCPU. */
struct times times_between(const struct times *last, const struct times *now);

void times_add(struct times *sum, const struct times *more);

/*
 * @passed: times of vCPUs; @total_ns: the sum of the times that they existed; @vm_values: the VM's
 * own values, which say what KVM measures.
 */
struct shares shares_of(const struct accounting *accounting, const uint64_t *vm_values,
			const struct times *passed, uint64_t total_ns);

/*
 * Shares of threads during @elapsed_ns, from /proc. SHARE_KVM and SHARE_VMM are only time on a CPU;
 * SHARE_OFF is time neither on a CPU nor waiting for one.
 */
struct shares shares_of_threads(const struct proc_times *last, const struct proc_times *now,
				uint64_t elapsed_ns);

#endif /* KVMSTAT_SHARES_H */
