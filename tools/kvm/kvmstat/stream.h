/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All VMs of the host, interval by interval.
 */
#ifndef KVMSTAT_STREAM_H
#define KVMSTAT_STREAM_H

#include "interval.h"

/* Returns an enum exit_status. */
int stream_all(const struct interval *interval);

#endif /* KVMSTAT_STREAM_H */
