/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which thread runs which vCPU. KVM does not say so to others: what VMMs call their threads
 * does, or there is only one.
 */
#ifndef KVMSTAT_THREADS_H
#define KVMSTAT_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "sources/inventory.h"
#include "sources/proc.h"

/* Of one thread. */
#define NO_VCPU (-1)

/*
 * In @vcpu, which has room for all threads, the number of each one's vCPU, or NO_VCPU. @vm:
 * the only one of its process.
 */
void threads_match(const struct proc_threads *threads, const struct vm *vm, int *vcpu);

#endif /* KVMSTAT_THREADS_H */
