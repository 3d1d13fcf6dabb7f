/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVMSTAT_DISCOVER_REFUSALS_H
#define KVMSTAT_DISCOVER_REFUSALS_H

#include "sources/inventory.h"

/*
 * Adds a line for each kind, however many VMs it concerns, which names the first. A VMM opens its
 * files after the vCPU was created: nothing is missing before there is one.
 */
void discover_report_refusals(struct inventory *inventory);

#endif /* KVMSTAT_DISCOVER_REFUSALS_H */
