/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host in memory: processes that have VMs with vCPUs, whose values the test sets. They
 * are found and read as on a real one.
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
	enum identity_source named_by;	/* IDENTITY_NONE: by the command line */
	const struct proc_threads *threads;	/* of the process, or NULL */
	bool denied;			/* the process may not be looked into */
	int refused;			/* errno with which the statistics file is refused */
	bool closed;			/* KVM gives no file, and the VMM holds none */
	bool dead;
	bool split;			/* each vCPU has a file of its own, no other has it */
	bool held;			/* and only the VMM, which has those open, may have them */
	/* private */
	struct image image;
	int fd;
	struct image vcpu_image[MAX_SPLIT_VCPUS];
	int vcpu_fd[MAX_SPLIT_VCPUS];
};

/* Those that end with one without a name; of a process one after the other, lowest pid first. */
extern struct guest guests[MAX_GUESTS];
extern const struct host guests_host;

/*
 * Makes the files of those that have none yet; the ids of the vCPUs are 10, 11, ..., of those
 * with files of their own 0, 1, ...
 */
void guests_start(void);
void guests_free(void);

uint64_t *guest_vm_values(const struct guest *guest);
uint64_t *guest_vcpu_values(const struct guest *guest, unsigned int index);

#endif /* KVMSTAT_TESTS_GUESTS_H */
