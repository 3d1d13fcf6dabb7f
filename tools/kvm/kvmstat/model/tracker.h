/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All VMs of a host over time: the rates of each and of its vCPUs. VMs that end stay for a
 * while, so that they are seen to end. Collects into the model of each VM; knows nothing about
 * how it is shown.
 */
#ifndef KVMSTAT_TRACKER_H
#define KVMSTAT_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/columns.h"
#include "model/model.h"
#include "sources/inventory.h"
#include "util/clock.h"

/* How long a VM that has ended stays, from the sample on in which it is seen to have. */
#define TRACKER_KEEPS_NS (5 * UINT64_C(1000000000))

/* In the place of a number, with its tid: a thread of which it is not known which vCPU it runs. */
#define TRACKED_THREAD 0x40000000

struct tracked_vcpu {
	unsigned int number;
	struct rates rates;
	bool has_times;			/* it was sampled */
	struct times times;		/* up to then */
};

/* What is known of a VM as a whole beside what its time is spent with. */
enum activity {
	ACTIVITY_RUNS,			/* or it is not known that it does not */
	ACTIVITY_PAUSED,		/* no vCPU is in KVM_RUN, and none will soon */
	ACTIVITY_STOPPED,		/* by a signal, a debugger or its cgroup */
};

struct tracked_vm {
	const struct vm *vm;		/* NULL once it has ended */
	uint64_t serial;		/* from 1 on, of no other VM */
	pid_t pid;
	char name[TEXT_NAME_SIZE];
	char id[64];
	const char *source;		/* see vm_source() */
	bool has_statistics;
	bool sampled;
	bool has_rates;			/* two samples were taken; before that none are known */
	uint64_t elapsed_ns;		/* what its rates and shares are of, 0: none are known */
	uint64_t found_ns;
	bool ended;
	uint64_t ended_ns;
	uint64_t seen_ended_ns;		/* the first sample after that, 0 before */
	size_t num_vcpus;		/* also without statistics, then none is in vcpu */
	struct model model;		/* if it has statistics; of an ended one the last sample */
	const struct columns *columns;	/* the tracker's, during a sample */
	struct accounting accounting;
	struct times passed;		/* of its vCPUs, since the sample before, */
	uint64_t passed_ns;		/* in all that they were there */
	bool accounting_is_off;		/* of time by state, which its kernel has */
	enum activity activity;
	bool has_other;			/* it is known how many */
	double other;			/* CPUs other threads of its process took */
	double throttled;		/* part of the time that its quota of CPU time was gone */
	struct proc_threads threads;	/* of its process, */
	uint64_t threads_ns;		/* as it was then; 0: not read yet */
	struct rates rates;
	struct tracked_vcpu *vcpu;	/* those that have statistics, */
	size_t num_tracked_vcpus;
	size_t num_tracked_threads;	/* and behind them those of which only /proc tells */
};

struct tracker {
	struct inventory *inventory;
	struct tracked_vm **vm;		/* in the order in which they were found */
	size_t num_vms;
	uint64_t sampled_ns;
	uint64_t elapsed_ns;		/* since the sample before, 0 if there was none */
	uint64_t scanned_ns;		/* host, */
	uint64_t tried_ns;		/* also if that failed */
	bool scanned;
	bool from_zero;			/* VMs that are found are new */
	bool stands_still;		/* VMs that come and end before the next sample: none */
	bool reads_threads;		/* what /proc says of them */
	uint64_t num_tracked;		/* ever */
	/* private: most VMs have the same statistics */
	struct columns columns;
	struct statsfile_schema *schema;	/* of which the columns are, or NULL */
};

void tracker_init(struct tracker *tracker, struct inventory *inventory);
void tracker_free(struct tracker *tracker);

/*
 * Looks for VMs, not more often than once a second, and reads all of them. 0, or
 * -errno if there are no processes to be read at all. What cannot be seen of them is
 * among the inventory's problems. The sample is of when it is read: a look can take long.
 *
 * A VM has rates once it was sampled twice, whether it has just been started or could
 * only not be seen before: nobody says which, and what it counted until then may be of
 * years. The vCPUs that are added to it from then on are new, and counted from zero, if the
 * VM's file shows when they come: those of other kernels have rates with their second sample.
 */
int tracker_sample(struct tracker *tracker);

/*
 * Waits for the end of an interval. Meanwhile VMs are looked for as well, once a second
 * and when KVM says that there is one; those that are new have their first sample then,
 * and those that end their last one: their files are closed at once. EVENT_READABLE if all
 * processes that were chosen have ended.
 */
enum event tracker_wait(struct tracker *tracker, int signals, uint64_t end_ns);

/*
 * Whether it is to be shown in the sample that was just taken: one that has ended is once.
 */
bool tracker_shows(const struct tracker *tracker, const struct tracked_vm *tracked);

/* Whether only processes were chosen, by pid, and none of them is there any more. */
bool tracker_has_ended(const struct tracker *tracker);

/* Whether a VM is tracked that has not ended. */
bool tracker_any_lives(const struct tracker *tracker);

/*
 * Keeps all statistics of that vCPU of the VM, in the focus of its model, and of no other
 * vCPU; of none if the VM is NULL.
 */
void tracker_focus(struct tracker *tracker, const struct tracked_vm *tracked, size_t vcpu);

#endif /* KVMSTAT_TRACKER_H */
