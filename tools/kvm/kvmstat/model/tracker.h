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

/* Plus a tid, instead of a vCPU's number: a thread that runs an unknown vCPU. */
#define TRACKED_THREAD 0x40000000

struct tracked_vcpu {
	unsigned int number;
	struct rates rates;
	bool has_times;			/* it was sampled */
	struct times times;		/* at that sample */
};

enum activity {
	ACTIVITY_RUNS,			/* or not known */
	ACTIVITY_PAUSED,		/* its VMM runs no vCPU */
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
	uint64_t elapsed_ns;		/* the interval of rates and shares; 0: none */
	uint64_t found_ns;
	bool ended;
	uint64_t ended_ns;
	uint64_t seen_ended_ns;		/* the first sample after the end; 0: none yet */
	size_t num_vcpus;		/* also without statistics */
	struct model model;		/* if it has statistics */
	const struct columns *columns;	/* the tracker's; valid during a sample */
	struct accounting accounting;
	struct times passed;		/* of its vCPUs, since the last sample */
	uint64_t passed_ns;		/* sum of the times that the vCPUs existed */
	bool accounting_is_off;		/* KVM could measure time by state, but does not */
	enum activity activity;
	bool has_other;			/* other is known */
	double other;			/* CPUs that its process' other threads used */
	double throttled;		/* part of the time that its CPU quota was used up */
	struct proc_threads threads;	/* of its process */
	uint64_t threads_ns;		/* when they were read; 0: not yet */
	struct rates rates;
	struct tracked_vcpu *vcpu;
	size_t num_tracked_vcpus;	/* first those with statistics, */
	size_t num_tracked_threads;	/* then those that only /proc shows */
};

struct tracker {
	struct inventory *inventory;
	struct tracked_vm **vm;		/* in the order in which they were found */
	size_t num_vms;
	uint64_t sampled_ns;
	uint64_t elapsed_ns;		/* since the last sample; 0: there was none */
	uint64_t scanned_ns;		/* last successful scan of the host */
	uint64_t tried_ns;		/* last scan, even if it failed */
	bool scanned;
	bool from_zero;			/* VMs that a scan finds are new: count from zero */
	bool stands_still;		/* forget VMs that start and end before the next sample */
	bool reads_threads;		/* read the VMs' threads from /proc */
	uint64_t num_tracked;		/* serial of the last VM */
	/* private: cached, as most VMs have the same statistics */
	struct columns columns;
	struct statsfile_schema *schema;	/* the columns' schema, or NULL */
};

/* Instead of a vCPU's number. */
#define NO_VCPU (-1)

void tracker_init(struct tracker *tracker, struct inventory *inventory);
void tracker_free(struct tracker *tracker);

/*
 * Scans for VMs, at most once a second, and reads all of them. Returns 0, or -errno if no process
 * can be read. The inventory's problems say what cannot be shown.
 *
 * A VM has rates once it was sampled twice: its first values may have grown for years. vCPUs that
 * are added later count from zero if the VM's file shows when they are added.
 */
int tracker_sample(struct tracker *tracker);

/*
 * Waits for the end of an interval. Meanwhile it scans for VMs once a second, and takes the first
 * sample of new VMs and the last sample of VMs that end. Returns EVENT_READABLE if all chosen
 * processes have ended.
 */
enum event tracker_wait(struct tracker *tracker, int signals, uint64_t end_ns);

/* Whether the last sample shows the VM. A VM that has ended is shown once. */
bool tracker_shows(const struct tracker *tracker, const struct tracked_vm *tracked);

/* Whether only pids were chosen, and all of these processes have ended. */
bool tracker_has_ended(const struct tracker *tracker);

/* Whether any tracked VM still exists. */
bool tracker_any_lives(const struct tracker *tracker);

/*
 * Whether a long-running command has to end: a single VM does not come back, but a pattern may
 * match new ones.
 */
bool tracker_is_over(const struct tracker *tracker);

/* Focuses on this vCPU of this VM and no other; on none if @tracked is NULL. See model_focus(). */
void tracker_focus(struct tracker *tracker, const struct tracked_vm *tracked, size_t vcpu);

#endif /* KVMSTAT_TRACKER_H */
