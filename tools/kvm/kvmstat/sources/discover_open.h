/* SPDX-License-Identifier: GPL-2.0 */
/* Takes and opens the statistics files of a process, and asks for its identity. */
#ifndef KVMSTAT_DISCOVER_OPEN_H
#define KVMSTAT_DISCOVER_OPEN_H

#include "sources/host.h"
#include "sources/inventory.h"

/*
 * Opens new files of the VMs, or of the vCPUs. Returns whether it was all of them. A process can
 * have any number of copies, and only taking one shows that it is a copy: the next scan takes what
 * is too much for this one.
 */
bool discover_open_new(struct inventory *inventory, struct process *process, bool vms);

/* Opens statistics files that the VMM has open itself, if KVM gives them to no other process. */
void discover_open_held(struct inventory *inventory, struct process *process);

/*
 * Whether the process has closed its VM and made another one, which the numbers of file
 * descriptors do not show: a VMM holds the same file of a vCPU for as long as there is a VM.
 */
bool discover_is_remade(struct inventory *inventory, const struct vm *vm,
			const struct proc_fds *fds);

/* Stands for all VMs of a process whose statistics files KVM does not give out; or NULL. */
struct vm *discover_closed_vm(const struct inventory *inventory, const struct process *process);

void discover_see_vcpus(struct inventory *inventory, struct vm *vm);
void discover_identify(struct inventory *inventory, struct process *process);

/*
 * If it is the limit on open files, counts what is missing: it holds for the rest of the scan.
 * Otherwise false.
 */
bool discover_note_full(struct inventory *inventory, const struct host_error *error, size_t count);

#endif /* KVMSTAT_DISCOVER_OPEN_H */
