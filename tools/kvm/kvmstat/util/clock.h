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
	uint64_t count;			/* number of intervals; 0: no end */
};

/* Blocks SIGINT and SIGTERM. Returns a signalfd that is readable after either, or -1. */
int catch_signals(void);

enum event {
	EVENT_TIME,
	EVENT_READABLE,			/* the other file descriptor is readable */
	EVENT_INTERRUPTED,		/* a signal came, or the recording ended */
};

/* The clock of samples: this machine's, or a recording's. */
struct time_source {
	uint64_t (*now_ns)(void);
	struct timespec (*real)(void);	/* CLOCK_REALTIME */
	/* See pause_until(). */
	enum event (*pause_until)(int signals, int other, uint64_t end_ns);
	struct interval interval;	/* the default */
};

extern const struct time_source machine_time;

/* The time source in use. */
extern const struct time_source *time_source;

/* @other: another file descriptor to wait for, or -1. */
enum event pause_until(int signals, int other, uint64_t end_ns);

/* The end of the next interval. Skips intervals that have already passed. */
uint64_t next_end(uint64_t end_ns, uint64_t interval_ns);

#endif /* KVMSTAT_CLOCK_H */
