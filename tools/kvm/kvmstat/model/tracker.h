/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All VMs of a host over time: the rates of each and of its vCPUs. A VM that ends stays for a
 * while, so that its end is seen.
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

/* How long a VM that has ended stays after the sample that shows it. */
#define TRACKER_KEEPS_NS (5 * UINT64_C(1000000000))

/* Plus a tid, in the place of a vCPU's number: a thread that runs an unknown vCPU. */
#define TRACKED_THREAD 0x40000000

struct tracked_vcpu {
	unsigned int number;
	struct rates rates;
	bool has_times;			/* it was sampled */
	struct times times;		/* up to then */
};

enum activity {
	ACTIVITY_RUNS,			/* or that is not known */
	ACTIVITY_PAUSED,		/* no vCPU is in KVM_RUN, and none will soon */
	ACTIVITY_STOPPED,		/* by a signal, a debugger or its cgroup */
};

struct tracked_vm {
	const struct vm *vm;		/* NULL once it has ended */
	uint64_t serial;		/* unique, from 1 on */
	pid_t pid;
	char name[TEXT_NAME_SIZE];
	char id[64];
	const char *source;		/* see vm_source() */
	bool has_statistics;
	bool sampled;
	bool has_rates;			/* two samples were taken */
	uint64_t elapsed_ns;		/* its rates and shares are of that; 0: none */
	uint64_t found_ns;
	bool ended;
	uint64_t ended_ns;
	uint64_t seen_ended_ns;		/* the first sample after that, 0 before */
	size_t num_vcpus;		/* also without statistics */
	struct model model;		/* if it has statistics */
	const struct columns *columns;	/* the tracker's, during a sample */
	struct accounting accounting;
	struct times passed;		/* of its vCPUs, since the sample before, */
	uint64_t passed_ns;		/* while they existed, added up */
	bool accounting_is_off;		/* of time by state, which the kernel has */
	enum activity activity;
	bool has_other;			/* the next one is known */
	double other;			/* CPUs other threads of its process took */
	double throttled;		/* part of the time that its cgroup had no quota left */
	struct proc_threads threads;	/* of its process, */
	uint64_t threads_ns;		/* read at that time; 0: not yet */
	struct rates rates;
	struct tracked_vcpu *vcpu;	/* those with statistics, */
	size_t num_tracked_vcpus;
	size_t num_tracked_threads;	/* and those that only /proc knows */
};

struct tracker {
	struct inventory *inventory;
	struct tracked_vm **vm;		/* in the order in which they were found */
	size_t num_vms;
	uint64_t sampled_ns;
	uint64_t elapsed_ns;		/* since the sample before, 0 if there was none */
	uint64_t scanned_ns;		/* last scan of the host, */
	uint64_t tried_ns;		/* also if it failed */
	bool scanned;
	bool from_zero;			/* VMs that are found are new */
	bool stands_still;		/* forget VMs that come and end before the next sample */
	bool reads_threads;		/* what /proc says of them */
	uint64_t num_tracked;		/* ever */
	/* private: most VMs have the same statistics */
	struct columns columns;
	struct statsfile_schema *schema;	/* of which the columns are, or NULL */
};

/* In the place of a vCPU's number. */
#define NO_VCPU (-1)

void tracker_init(struct tracker *tracker, struct inventory *inventory);
void tracker_free(struct tracker *tracker);

/*
 * Scans for VMs, at most once a second, and reads all of them. Returns 0, or -errno if no process
 * can be read. What cannot be seen is among the inventory's problems.
 *
 * A VM has rates once it was sampled twice: what it counted before may be of years. vCPUs that are
 * added later are counted from zero if the VM's file shows when they come.
 */
int tracker_sample(struct tracker *tracker);

/*
 * Waits for the end of an interval. Meanwhile it scans for VMs, once a second and when KVM
 * announces one: takes the first sample of new VMs and the last one of those that end. Returns
 * EVENT_READABLE if all processes that were chosen have ended.
 */
enum event tracker_wait(struct tracker *tracker, int signals, uint64_t end_ns);

/* Whether to show it in the sample that was just taken: once if it has ended. */
bool tracker_shows(const struct tracker *tracker, const struct tracked_vm *tracked);

/* Whether only processes were chosen, by pid, and none of them is there any more. */
bool tracker_has_ended(const struct tracker *tracker);

/* Whether a VM is tracked that has not ended. */
bool tracker_any_lives(const struct tracker *tracker);

/*
 * Whether a command that goes on ends: a single VM does not come back, but a pattern may match new
 * ones.
 */
bool tracker_is_over(const struct tracker *tracker);

/* model_focus() on that vCPU of the VM and on no other; on none if the VM is NULL. */
void tracker_focus(struct tracker *tracker, const struct tracked_vm *tracked, size_t vcpu);

#endif /* KVMSTAT_TRACKER_H */
