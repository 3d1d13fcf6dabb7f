/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which VMs of a host are looked at: those of processes, by pid, and those that are called so,
 * by shell patterns. Of the others no file is opened.
 */
#ifndef KVMSTAT_CHOICE_H
#define KVMSTAT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Of each kind: as many as anyone writes on a command line. */
#define CHOICE_MAX 64

struct choice {
	pid_t pid[CHOICE_MAX];
	size_t num_pids;
	const char *name[CHOICE_MAX];	/* the caller's */
	size_t num_names;
};

/*
 * A number is a pid, all else a name or a pattern: with a backslash in front a number, too,
 * or with a zero that no pid begins with.
 * NULL, or what is wrong with it, to be said behind it.
 */
const char *choice_add(struct choice *choice, const char *text);

/* Anything at all. */
bool choice_is_made(const struct choice *choice);

/* Its pid if it is a single process, or else 0. */
pid_t choice_process(const struct choice *choice);

/* Whether one pid or one name is all of it, and no pattern, which is meant to fit several. */
bool choice_is_single(const struct choice *choice);

/* Its first, second, ... part by itself; false behind the last one. */
bool choice_part(const struct choice *choice, size_t index, struct choice *part);

/* NULL is all of them. What can be said before the name is known, and then. */
bool choice_may_have(const struct choice *choice, pid_t pid);
bool choice_has(const struct choice *choice, pid_t pid, const char *name);

#endif /* KVMSTAT_CHOICE_H */
