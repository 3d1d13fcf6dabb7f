/* SPDX-License-Identifier: GPL-2.0 */
/* A VM by the threads of its process. */
#ifndef KVMSTAT_TRACKER_THREADS_H
#define KVMSTAT_TRACKER_THREADS_H

#include "model/tracker.h"

/*
 * Finds which thread runs which vCPU of the process' only VM: in @vcpu, which has room for all
 * threads, the number of each one's vCPU, or NO_VCPU. KVM does not say so to others; the names that
 * VMMs give to their threads do, or there is only one.
 */
void threads_match(const struct proc_threads *threads, const struct vm *vm, int *vcpu);

/*
 * Whether it is the only living VM of its process: no process says which of its threads runs which
 * of its VMs.
 */
bool vm_is_alone(const struct inventory *inventory, const struct vm *vm);

/* Reads the threads of the VM's process if it is the only VM there, for its shares and activity. */
void tracker_note_threads(const struct tracker *tracker, struct tracked_vm *tracked,
			  uint64_t now_ns);

#endif /* KVMSTAT_TRACKER_THREADS_H */
