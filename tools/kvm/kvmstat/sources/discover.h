/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds VMs and their vCPUs among the processes of a host and opens their statistics files: one per
 * VM if it shows the vCPUs, otherwise also one per vCPU. Needs no help from the VMM.
 *
 * The number of the VM in a statistics file's fdinfo tells which vCPU belongs to which VM. The ids
 * cannot tell: they name the thread that created the object, and one thread can create many VMs.
 */
#ifndef KVMSTAT_DISCOVER_H
#define KVMSTAT_DISCOVER_H

#include "sources/host.h"
#include "sources/inventory.h"

void discover_init(struct inventory *inventory, const struct host *host);

#endif /* KVMSTAT_DISCOVER_H */
