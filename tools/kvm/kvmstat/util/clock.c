// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for the end of an interval, a signal, or the end of a process.
 */
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "util/clock.h"
#include "util/util.h"

int catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, };
	sigset_t set;
	int signals = open_signals(ends, ARRAY_SIZE(ends), &set);

	/* Without a file descriptor, the signals end the process. */
	if (signals >= 0)
		sigprocmask(SIG_BLOCK, &set, NULL);
	return signals;
}

static enum event pause_machine(int signals, int other, uint64_t end_ns)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN, },
		{ .fd = other, .events = POLLIN, },
	};
	struct timespec timeout;
	uint64_t now_ns, left_ns;
	int ret;

	do {
		now_ns = monotonic_ns();
		left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
		timeout.tv_sec = left_ns / NSEC_PER_SEC;
		timeout.tv_nsec = left_ns % NSEC_PER_SEC;
		ret = ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL);
		if (ret > 0)
			return fds[0].revents ? EVENT_INTERRUPTED : EVENT_READABLE;
	} while (ret);
	return EVENT_TIME;
}

static struct timespec machine_real(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

const struct time_source machine_time = {
	.now_ns = monotonic_ns,
	.real = machine_real,
	.pause_until = pause_machine,
	.interval.ns = NSEC_PER_SEC,
};

const struct time_source *time_source = &machine_time;

enum event pause_until(int signals, int other, uint64_t end_ns)
{
	return time_source->pause_until(signals, other, end_ns);
}

uint64_t next_end(uint64_t end_ns, uint64_t interval_ns)
{
	uint64_t now_ns = time_source->now_ns();

	end_ns += interval_ns;
	return end_ns > now_ns ? end_ns : now_ns + interval_ns;
}
