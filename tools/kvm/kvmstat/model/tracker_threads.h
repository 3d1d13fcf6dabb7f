/* SPDX-License-Identifier: GPL-2.0 */
/* Shares and activity of a VM, from the threads of its process. */
#ifndef KVMSTAT_TRACKER_THREADS_H
#define KVMSTAT_TRACKER_THREADS_H

#include "model/tracker.h"

/*
 * Finds the vCPU of each thread in a process with one VM. @vcpu has room for all threads, and gets
 * a vCPU number or NO_VCPU for each. KVM does not tell other processes; the thread names that VMMs
 * choose do, or there is only one vCPU.
 */
void threads_match(const struct proc_threads *threads, const struct vm *vm, int *vcpu);

/*
 * Whether it is the only living VM of its process. In a process with several VMs, nothing shows
 * which thread runs which VM.
 */
bool vm_is_alone(const struct inventory *inventory, const struct vm *vm);

/* Reads the threads of the VM's process if it is the only VM there, for its shares and activity. */
void tracker_note_threads(const struct tracker *tracker, struct tracked_vm *tracked,
			  uint64_t now_ns);

#endif /* KVMSTAT_TRACKER_THREADS_H */
