/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host in memory: processes with VMs and vCPUs, whose values the test sets. kvmstat finds and
 * reads them as on a real host.
 */
#ifndef KVMSTAT_TESTS_GUESTS_H
#define KVMSTAT_TESTS_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "image.h"
#include "sources/host.h"

#define MAX_GUESTS 64
#define MAX_SPLIT_VCPUS 2

struct guest {
	pid_t pid;
	const char *name;		/* of the process */
	const struct image_stat *vm_stats;	/* the first one has to be online_vcpus */
	const struct image_stat *vcpu_stats;
	unsigned int vcpus;
	uint64_t started;		/* in 1/100 s */
	enum identity_source named_by;	/* source of the name; IDENTITY_NONE: the command line */
	const struct proc_threads *threads;	/* of the process, or NULL */
	bool denied;			/* kvmstat may not look into the process */
	int refused;			/* errno of the request for a statistics file */
	bool closed;			/* KVM gives no file, and the VMM holds none */
	bool dead;
	bool split;			/* each vCPU has a file; the VM's file does not show it */
	bool held;			/* only the VMM gets these files, and holds them */
	/* private */
	struct image image;
	int fd;
	struct image vcpu_image[MAX_SPLIT_VCPUS];
	int vcpu_fd[MAX_SPLIT_VCPUS];
};

/* The first one without a name ends the list. Sorted by pid. */
extern struct guest guests[MAX_GUESTS];
extern const struct host guests_host;

/*
 * Makes the files of guests that have none yet. The ids of vCPUs are 10, 11, ...; with split, they
 * are 0, 1, ...
 */
void guests_start(void);
void guests_free(void);

uint64_t *guest_vm_values(const struct guest *guest);
uint64_t *guest_vcpu_values(const struct guest *guest, unsigned int index);

#endif /* KVMSTAT_TESTS_GUESTS_H */
