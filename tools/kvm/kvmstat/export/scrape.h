/* SPDX-License-Identifier: GPL-2.0 */
/* The values of all VMs of the host. vCPU values are summed per VM, or kept per vCPU. */
#ifndef KVMSTAT_SCRAPE_H
#define KVMSTAT_SCRAPE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/metrics.h"
#include "model/model.h"
#include "sources/identity.h"
#include "sources/inventory.h"
#include "util/clock.h"

/* Of a VM, or of its vCPUs. */
struct scrape_group {
	size_t schema;			/* see metrics_add() */
	size_t num_values;		/* per member */
	size_t num_members;
	uint64_t *value;		/* member by member */
	unsigned int *vcpu;		/* each member's vCPU number; NULL for a VM or a sum */
};

struct scrape_vm {
	char *labels;			/* vm="...", and the labels of --label */
	char *info;			/* the labels of kvm_vm_info: vm="...",pid="...",... */
	bool up;			/* its statistics were read */
	bool is_off[NUM_ACCOUNTINGS];	/* KVM does not measure these now */
	bool has_threads;		/* if so, threads is valid */
	struct proc_times threads;	/* of its vCPU threads, from /proc */
	size_t num_vcpus;
	struct scrape_group group[NUM_SCOPES];
};

struct scrape {
	struct scrape_vm *vm;
	size_t num_vms;
	uint64_t number;		/* scrapes so far */
	uint64_t duration_ns;
	uint64_t num_connections, num_dropped;	/* the server's */
	/* See struct inventory. */
	size_t num_denied, num_missing, num_unseen;
	bool is_hidden, is_namespace;
	size_t num_problems;
};

/* A VM's name, and the times of its threads. */
struct exported_vm {
	const struct vm *vm;
	char *name;
	uint64_t *times;		/* by member and state, see hold_times() */
	size_t num_members;
	struct proc_threads last;	/* the threads at the last reading */
	struct proc_times threads;	/* sums, including threads that have ended */
	bool has_threads;
};

/* Options of the command. */
struct scrape_options {
	bool per_vcpu;
	bool label[IDENTITY_FIELDS];	/* put on each series of the VM */
	const regex_t *only;		/* see struct metrics */
	uint64_t max_buckets;
};

struct collector {
	struct inventory *inventory;
	struct scrape_options options;
	struct metrics metrics;
	struct exported_vm *vm;		/* indexed as the inventory's */
	size_t num_vms;
	uint64_t *now;			/* buffer for the values of one vCPU */
	size_t num_now;
	size_t next_threads;		/* the VM whose threads are read next */
	uint64_t now_ns, looked_ns;
	bool looked;
	uint64_t num_scrapes;
};

/* The most time per scrape to read threads, up to three files each; the next one continues. */
#define THREADS_NS (NSEC_PER_SEC / 10)

void collector_init(struct collector *collector, struct inventory *inventory,
		    const struct scrape_options *options);
/* Closes the files of VMs that have ended. Call it when inventory->events is readable. */
void collector_events(struct collector *collector);

void collector_free(struct collector *collector);

/*
 * Scans for VMs, at most once a second, and reads all of them. Returns 0, or -errno if no process
 * can be read. The caller frees the scrape in any case.
 */
int collect(struct collector *collector, struct scrape *scrape);
void scrape_free(struct scrape *scrape);

#endif /* KVMSTAT_SCRAPE_H */
