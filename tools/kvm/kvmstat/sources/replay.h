/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording in the place of this host and its clock: waiting goes on to a later sample, and a
 * scan finds the VMs that it has.
 */
#ifndef KVMSTAT_REPLAY_H
#define KVMSTAT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sources/choice.h"
#include "sources/inventory.h"
#include "sources/recording_read.h"
#include "util/clock.h"

extern const struct time_source replay_time;

/*
 * Opens a file, a pipe, or standard input ("-"). 0, or -1 after an error line: it is no recording,
 * or has no sample.
 */
int replay_open(const char *path);
void replay_close(void);

/* Makes an empty inventory of it, one at a time, for use until replay_close(). */
void replay_init(struct inventory *inventory);

/* NULL if nothing is being replayed. */
const struct recording *replay_recording(void);

/* The last sample that is not later than the time, or the first. */
size_t replay_find_real(uint64_t real_ns);
size_t replay_find(uint64_t monotonic_ns);

/*
 * Make the next sample, or any other, the present. After a jump VMs have to be found anew. False
 * after an error line if the file cannot be read, and replay_step() also at the end.
 */
bool replay_step(void);
bool replay_jump(size_t position);

/*
 * Jumps to the last sample, or, if one process was recorded, to the last that has it. A process
 * that is asked for from then on is also looked for in earlier samples.
 */
bool replay_jump_to_latest(void);

/*
 * Whether a chosen VM is there, now or later, or, after replay_jump_to_latest(), ever. The second
 * one also goes to the first such sample, or then to the last.
 */
bool replay_has(const struct choice *choice);
bool replay_go_to_chosen(const struct choice *choice);

/* Whether a chosen VM is there, or can still come: not after replay_jump_to_latest(). */
bool replay_may_have(const struct choice *choice);

#endif /* KVMSTAT_REPLAY_H */
