/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvmstat top, for any host: a test has one of its own.
 */
#ifndef KVMSTAT_TOP_H
#define KVMSTAT_TOP_H

#include <stdint.h>

#include "discover.h"

/* Until the user wants an end; stdin and stdout are a terminal. An enum exit_status. */
int run_top(struct inventory *inventory, uint64_t interval_ns);

#endif /* KVMSTAT_TOP_H */
