/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host and a clock for tests, on which always the same happens: VMs of all kinds start, get
 * vCPUs, count and end. Tests can thus compare live output with output from a recording exactly.
 */
#ifndef KVMSTAT_TESTS_SCENE_H
#define KVMSTAT_TESTS_SCENE_H

#include "sources/host.h"
#include "util/clock.h"

/* Seconds in which something happens. */
#define SCENE_SECONDS 9

/* A VM whose file shows its vCPUs, a VM whose file does not, and a VM that starts and ends. */
#define SCENE_WHOLE_PID 10
#define SCENE_SPLIT_PID 20
#define SCENE_SHORT_PID 15
/* A process whose KVM refuses its statistics. */
#define SCENE_CLOSED_PID 30

extern const struct host scene_host;
extern const struct time_source scene_time;

/* Starts the scene at this second; 0: at the beginning. */
void scene_start(unsigned int second);

/* "exits" of all vCPUs of the process' first VM at that second. */
uint64_t scene_exits(pid_t pid, unsigned int second);

/* The second at which a signal seems to come. */
extern unsigned int scene_interrupted_at;

/* The second at which SCENE_CLOSED_PID starts; 0: it is there from the beginning. */
extern unsigned int scene_closed_since;

/* The VM whose file does not show its vCPUs has the files of newer kernels. */
extern bool scene_is_newer_kernel;

/* Called when a second begins; or NULL. */
extern void (*scene_on_second)(unsigned int second);

#endif /* KVMSTAT_TESTS_SCENE_H */
