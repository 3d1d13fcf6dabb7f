/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shares of the vCPU threads' time, which add up to all of it: from time by state, or from /proc,
 * which knows the time on a CPU only.
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
	SHARE_OFF,		/* of /proc: one of these two, or asleep outside of KVM */
	NUM_SHARES,
};

/* How long, or how much of a time: in nanoseconds. */
struct times {
	uint64_t ns[NUM_SHARES];
};

struct shares {
	bool known[NUM_SHARES];
	bool by_cpu;			/* shares_of_threads() */
	double part[NUM_SHARES];	/* from 0 to 1; 0 of what is not known */
};

/* The statistics that shares are made of, or NULL. */
struct share_sources {
	const struct statsfile_desc *time[NUM_SHARES][2];
};

/* Of a VM: what the kernel accounts for. */
struct accounting {
	const struct statsfile_desc *time, *ready;
};

/* Nothing is known without a schema, of the vCPUs or of the VM. */
void shares_find(struct share_sources *sources, const struct statsfile_schema *schema);
void accounting_find(struct accounting *accounting, const struct statsfile_schema *schema);

/* By the @values of a vCPU. */
struct times times_of(const struct share_sources *sources, const uint64_t *values);

/* Between two samples of one vCPU. */
struct times times_between(const struct times *last, const struct times *now);

void times_add(struct times *sum, const struct times *more);

/*
 * @passed: the times of vCPUs that existed for @total_ns in sum; @vm_values: the VM's own values,
 * which say what KVM accounts for.
 */
struct shares shares_of(const struct accounting *accounting, const uint64_t *vm_values,
			const struct times *passed, uint64_t total_ns);

/*
 * Of threads during @elapsed_ns, from /proc: KVM and VMM are time on a CPU; SHARE_OFF is time
 * neither on a CPU nor waiting for one.
 */
struct shares shares_of_threads(const struct proc_times *last, const struct proc_times *now,
				uint64_t elapsed_ns);

#endif /* KVMSTAT_SHARES_H */
