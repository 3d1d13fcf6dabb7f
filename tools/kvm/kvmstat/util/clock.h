/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clock of samples, and waiting for the end of an interval.
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

/* Blocks SIGINT and SIGTERM. Returns a file descriptor that is readable after one, or -1. */
int catch_signals(void);

enum event {
	EVENT_TIME,
	EVENT_READABLE,			/* the other file descriptor is readable */
	EVENT_INTERRUPTED,		/* by a signal, or nothing more comes */
};

/* The clock of samples: this machine's, or a recording's. */
struct time_source {
	uint64_t (*now_ns)(void);
	struct timespec (*real)(void);	/* CLOCK_REALTIME */
	/* See pause_until(). */
	enum event (*pause_until)(int signals, int other, uint64_t end_ns);
	/* The default. */
	struct interval interval;
};

extern const struct time_source machine_time;

/* The one to use. */
extern const struct time_source *time_source;

/* @other: a file descriptor to wait for, too; or -1. */
enum event pause_until(int signals, int other, uint64_t end_ns);

/* The end of the next interval, without intervals that were slept through. */
uint64_t next_end(uint64_t end_ns, uint64_t interval_ns);

#endif /* KVMSTAT_CLOCK_H */
