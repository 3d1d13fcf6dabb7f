/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvmstat top, for any host: a test has one of its own.
 */
#ifndef KVMSTAT_TOP_H
#define KVMSTAT_TOP_H

#include <stdint.h>

#include "sources/inventory.h"

/*
 * Until the user wants an end; stdin and stdout are a terminal. @confined is called when
 * all is open, and says whether to go on, or is NULL. An enum exit_status.
 */
int run_top(struct inventory *inventory, uint64_t interval_ns, int (*confined)(void));

#endif /* KVMSTAT_TOP_H */
