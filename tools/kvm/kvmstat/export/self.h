/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What this process takes itself: for who monitors the monitor. What has to be opened for
 * that is opened once, before privileges are given up.
 */
#ifndef KVMSTAT_SELF_H
#define KVMSTAT_SELF_H

#include <dirent.h>
#include <stdint.h>

struct self {
	int statm;
	DIR *fds;
	uint64_t page_size;
	uint64_t start_s;
	uint64_t max_fds;
};

struct self_usage {
	uint64_t cpu_ns;
	uint64_t start_s;		/* since the Epoch */
	uint64_t resident;		/* bytes of memory, as are the next */
	uint64_t mapped;
	uint64_t num_fds;
	uint64_t max_fds;
};

/* Without /proc some of the usage will be 0. */
void self_open(struct self *self);
void self_close(struct self *self);

void self_read(struct self *self, struct self_usage *usage);

#endif /* KVMSTAT_SELF_H */
