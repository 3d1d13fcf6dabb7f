/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host and a time of a test's own on which always the same happens: VMs of all kinds
 * that come, grow, count and end. What is seen there live and what of a recording can
 * so be compared letter by letter.
 */
#ifndef KVMSTAT_TESTS_SCENE_H
#define KVMSTAT_TESTS_SCENE_H

#include "sources/host.h"
#include "util/clock.h"

/* Seconds in which something happens. */
#define SCENE_SECONDS 9

/* A VM that shows its vCPUs, one that does not, and one that comes and ends. */
#define SCENE_WHOLE_PID 10
#define SCENE_SPLIT_PID 20
#define SCENE_SHORT_PID 15
/* A process whose KVM refuses its statistics. */
#define SCENE_CLOSED_PID 30

extern const struct host scene_host;
extern const struct time_source scene_time;

/* From the beginning, or from this second on. */
void scene_start(unsigned int second);

/* "exits" of all vCPUs of the process' first VM at that second. */
uint64_t scene_exits(pid_t pid, unsigned int second);

/* As if a signal had come then. */
extern unsigned int scene_interrupted_at;

/* The second at which SCENE_CLOSED_PID starts; 0: it is there from the beginning. */
extern unsigned int scene_closed_since;

/* The VM that does not show its vCPUs has files as newer kernels have them. */
extern bool scene_is_newer_kernel;

/* Or NULL: called when a second begins. */
extern void (*scene_on_second)(unsigned int second);

#endif /* KVMSTAT_TESTS_SCENE_H */
