/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording in the place of this host and its time: whatever looks for VMs, reads
 * them and waits finds those that were recorded, and is at the next sample when it has
 * waited. No file is made of them, however many there are.
 */
#ifndef KVMSTAT_REPLAY_H
#define KVMSTAT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sources/choice.h"
#include "sources/inventory.h"
#include "sources/recording.h"
#include "util/clock.h"

extern const struct time_source replay_time;

/* 0, or -1 after an error line: it is no recording, or has no sample. */
int replay_open(const char *path);
void replay_close(void);

/* An inventory of it, one at a time, with nothing in it; until replay_close(). */
void replay_init(struct inventory *inventory);

/* What was recorded, NULL if nothing is being replayed. */
const struct recording *replay_recording(void);

/* The last sample that is not later than the time, or else the first. */
size_t replay_find_real(uint64_t real_ns);
size_t replay_find(uint64_t monotonic_ns);

/*
 * Both make another sample the present, from which time goes on: the next one, or any other;
 * then who has found VMs has to find them anew. False after an error line if the file cannot
 * be read up to there, and replay_step() without one if there is none.
 */
bool replay_step(void);
bool replay_jump(size_t position);

/*
 * To the last sample; a process that is asked for from then on is looked for in those
 * before, too, and if the recording is of one only, it is where that still was.
 */
bool replay_jump_to_latest(void);

/*
 * Whether what is chosen is there, now or later, or after replay_jump_to_latest() ever; and
 * makes the first sample in which it is, or then the last, the present.
 */
bool replay_has(const struct choice *choice);
bool replay_go_to_chosen(const struct choice *choice);

/* Whether that is there now, or can still come: not after replay_jump_to_latest(). */
bool replay_may_have(const struct choice *choice);

#endif /* KVMSTAT_REPLAY_H */
