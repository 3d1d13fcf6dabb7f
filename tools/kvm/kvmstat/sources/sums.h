/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VMs of which nobody holds a statistics file and KVM gives none: debugfs has sums over
 * their vCPUs, which stand in the place of a vCPU, the only one.
 */
#ifndef KVMSTAT_SUMS_H
#define KVMSTAT_SUMS_H

#include "sources/debugfs.h"
#include "sources/inventory.h"

/* Where the values of a VM are, and which file each of them is. One piece of memory. */
struct sums {
	int fd;				/* the VM, in its process, */
	pid_t pid;			/* of which this thread made it, */
	uint64_t ino;			/* and no later one */
	unsigned int num_denied;	/* files that are missing here */
	size_t count;
	struct sums_file {
		char name[DEBUGFS_NAME_SIZE];
		size_t index;		/* of the VM's values */
	} file[];
};

/*
 * Lists what KVM has in debugfs, once in a look of the inventory. Which process has made a
 * directory is asked when it is new, and remembered with what the caller has seen of it. 0 or
 * -errno: then the list is the one before.
 */
int sums_list(struct inventory *inventory);

/* The directories of the process' VMs, one after the other; @last is NULL at first. */
struct debugfs_dir *sums_next_dir(const struct inventory *inventory,
				  const struct process *process, struct debugfs_dir *last);

/*
 * Gives the VM, which has no statistics, those that were read of its file descriptor @fd: what
 * a file is called in the lists of statistics says what it is, and one that is not there is
 * a counter of the VM. 0, or -1 and @error.
 */
int sums_open(struct vm *vm, const struct statsfile_known *known, int fd,
	      const struct debugfs_vm *values, struct statsfile_error *error);

/* The values of now; false if they are not all there, or another VM's. */
bool sums_update(struct vm *vm, const struct debugfs_vm *values);

#endif /* KVMSTAT_SUMS_H */
