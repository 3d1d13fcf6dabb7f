/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which VMs of a host are shown: by the pid of their process, and by names, as shell patterns. No
 * file of other VMs is opened.
 */
#ifndef KVMSTAT_CHOICE_H
#define KVMSTAT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Of each kind. */
#define CHOICE_MAX 64

struct choice {
	pid_t pid[CHOICE_MAX];
	size_t num_pids;
	const char *name[CHOICE_MAX];	/* the caller's */
	size_t num_names;
};

/*
 * Adds a number as a pid, everything else as a name or a pattern, also a number after a backslash
 * or with a leading zero. Returns NULL, or what is wrong, to be said after it.
 */
const char *choice_add(struct choice *choice, const char *text);

bool choice_is_made(const struct choice *choice);

/* The pid if it is a single process, otherwise 0. */
pid_t choice_process(const struct choice *choice);

/* Whether it is one pid or one name, not a pattern, which is meant to match several. */
bool choice_is_single(const struct choice *choice);

/* Its first, second, ... part; false after the last one. */
bool choice_part(const struct choice *choice, size_t index, struct choice *part);

/* NULL is all VMs. choice_may_have() is for when the name is not known yet. */
bool choice_may_have(const struct choice *choice, pid_t pid);
bool choice_has(const struct choice *choice, pid_t pid, const char *name);

#endif /* KVMSTAT_CHOICE_H */
