/* SPDX-License-Identifier: GPL-2.0 */
/* Takes and opens the statistics files of a process, and asks for its identity. */
#ifndef KVMSTAT_DISCOVER_OPEN_H
#define KVMSTAT_DISCOVER_OPEN_H

#include "sources/host.h"
#include "sources/inventory.h"

/*
 * Opens new files of VMs (@vms), or of vCPUs. Returns whether it has opened all of them. A process
 * can have any number of copies, and only taking one shows that it is a copy: the next scan
 * continues where this one stops.
 */
bool discover_open_new(struct inventory *inventory, struct process *process, bool vms);

/* Opens statistics files that the VMM holds, if KVM gives none to other processes. */
void discover_open_held(struct inventory *inventory, struct process *process);

/*
 * Whether the process has closed its VM and created another one. The numbers of file descriptors
 * may be the same, but a VMM holds the same file of a vCPU as long as the VM exists.
 */
bool discover_is_remade(struct inventory *inventory, const struct vm *vm,
			const struct proc_fds *fds);

/* Stands for all VMs of a process whose statistics files KVM does not give out; or NULL. */
struct vm *discover_closed_vm(const struct inventory *inventory, const struct process *process);

void discover_see_vcpus(struct inventory *inventory, struct vm *vm);
void discover_identify(struct inventory *inventory, struct process *process);

/*
 * If the error is the limit on open files, adds @count to the missing files, opens no more files in
 * this scan, and returns true.
 */
bool discover_note_full(struct inventory *inventory, const struct host_error *error, size_t count);

#endif /* KVMSTAT_DISCOVER_OPEN_H */
