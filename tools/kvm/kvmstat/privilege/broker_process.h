/* SPDX-License-Identifier: GPL-2.0 */
/* The process that broker_start() makes. */
#ifndef KVMSTAT_BROKER_PROCESS_H
#define KVMSTAT_BROKER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "sources/host.h"

/* Becomes the broker: drops privileges, says that it is ready, and answers until the end. */
__attribute__((__noreturn__))
void broker_run(int socket, const struct host *host, pid_t parent);

/* Returns true when the other end is closed, false after a request that makes no sense. */
bool broker_serve(int socket, const struct host *host);

#endif /* KVMSTAT_BROKER_PROCESS_H */
