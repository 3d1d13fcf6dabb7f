/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is left where KVM gives statistics files to the VMM only: Linux 5.14 and newer
 * without the statistics series. There a VMM may hold some open itself, as QEMU does
 * since version 8.1, one per vCPU, and those can be read by who may take them. They do
 * not say which VM they belong to, so all of a process are taken for one VM's.
 */
#ifndef KVMSTAT_HELD_H
#define KVMSTAT_HELD_H

#include "sources/inventory.h"

/* In the place of the file of a VM that the VMM does not hold open: no statistics. */
void held_no_file(struct statsfile *file);

/*
 * Whether two files may be of the same VM or vCPU, which a VMM can open as often as it likes:
 * what is counted in @stats is not less than before in @taken, nor more than there after it.
 * Takes over the file descriptor.
 */
bool held_count_the_same(const struct statsfile *taken, int stats,
			 const struct statsfile_known *known);

/* Whether of a vCPU no file is held open. */
bool held_misses_vcpus(const struct vm *vm);

/* One line: what of the VM cannot be seen in files that are held open. The caller frees it. */
char *held_missing(const struct vm *vm);

/* How many of the file descriptors are VMs: 0 if the last one has ended. */
unsigned int held_vms(const struct proc_fds *fds);

/* The same of vCPUs: those of one VM each once; of several it is not known which are the same. */
unsigned int held_vcpus(const struct proc_fds *fds);

#endif /* KVMSTAT_HELD_H */
