/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording instead of this host and its clock: waiting goes to a later sample, and a scan finds
 * its VMs.
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
 * Opens a file, a pipe, or standard input ("-"). Returns 0, or -1 after an error line if it is not
 * a recording or has no sample.
 */
int replay_open(const char *path);
void replay_close(void);

/* Makes an empty inventory of the recording, until replay_close(). Only one exists at a time. */
void replay_init(struct inventory *inventory);

/* NULL if nothing is being replayed. */
const struct recording *replay_recording(void);

/* Find the last sample that is not later than the time, or the first sample. */
size_t replay_find_real(uint64_t real_ns);
size_t replay_find(uint64_t monotonic_ns);

/*
 * Go to the next sample, or to any sample. After a jump, scan for VMs again. Return false after an
 * error line if the file cannot be read; replay_step() also at the end.
 */
bool replay_step(void);
bool replay_jump(size_t position);

/*
 * Jumps to the last sample, or, if one process was recorded, to the last one that has it. From then
 * on replay_has() and replay_go_to_chosen() also search earlier samples.
 */
bool replay_jump_to_latest(void);

/*
 * Whether this or a later sample has a chosen VM; after replay_jump_to_latest(), whether any sample
 * has. replay_go_to_chosen() also goes to the first such sample; after replay_jump_to_latest(), to
 * the last one.
 */
bool replay_has(const struct choice *choice);
bool replay_go_to_chosen(const struct choice *choice);

/*
 * Whether this sample has a chosen VM, or, unless replay_jump_to_latest() chose it, a later one
 * may.
 */
bool replay_may_have(const struct choice *choice);

#endif /* KVMSTAT_REPLAY_H */
