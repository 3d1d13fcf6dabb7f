/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The time in which samples are taken, and waiting for the end of an interval.
 */
#ifndef KVMSTAT_CLOCK_H
#define KVMSTAT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define MSEC UINT64_C(1000000)

struct interval {
	uint64_t ns;
	uint64_t count;			/* how many; 0: without end */
};

/* Returns a file descriptor that is readable once the user wants an end, or -1. */
int catch_signals(void);

enum event {
	EVENT_TIME,
	EVENT_READABLE,			/* the other file descriptor is */
	EVENT_INTERRUPTED,		/* or there is nothing more to come */
};

/* The time in which samples are taken: that of this machine, or that of a recording. */
struct time_source {
	uint64_t (*now_ns)(void);
	struct timespec (*real)(void);	/* CLOCK_REALTIME */
	/* See pause_until(). */
	enum event (*pause_until)(int signals, int other, uint64_t end_ns);
	/* What is taken without one on the command line. */
	struct interval interval;
};

extern const struct time_source machine_time;

/* The one to use. */
extern const struct time_source *time_source;

/* @other: is waited for as well, such as the end of a process; or -1. */
enum event pause_until(int signals, int other, uint64_t end_ns);

/* The end of the next interval; intervals that were slept through are left out. */
uint64_t next_end(uint64_t end_ns, uint64_t interval_ns);

#endif /* KVMSTAT_CLOCK_H */
