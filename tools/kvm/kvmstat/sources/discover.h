/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds VMs and their vCPUs among the processes of a host and opens their statistics
 * files: one per VM if that shows its vCPUs, or else one more per vCPU. Needs no help from
 * the VMM and leaves nothing behind in it.
 *
 * Which vCPU belongs to which VM is then told by the number of the VM that the
 * kernel gives in the fdinfo of a statistics file. The ids cannot tell: they name
 * the thread that created the object, which for a vCPU is another one than for its
 * VM, and one thread can create many VMs.
 */
#ifndef KVMSTAT_DISCOVER_H
#define KVMSTAT_DISCOVER_H

#include "sources/host.h"
#include "sources/inventory.h"

void discover_init(struct inventory *inventory, const struct host *host);

/*
 * Listens, from now on, to the end of processes and to what KVM says of VMs that come;
 * where nothing can be heard they are found at the next look.
 */
void discover_listen(struct inventory *inventory);

#endif /* KVMSTAT_DISCOVER_H */
