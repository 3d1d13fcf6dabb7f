/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chooses VMs of a host by the pid of their process, and by names, which are shell patterns.
 * kvmstat opens no files of other VMs.
 */
#ifndef KVMSTAT_CHOICE_H
#define KVMSTAT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* At most so many pids, and so many names. */
#define CHOICE_MAX 64

struct choice {
	pid_t pid[CHOICE_MAX];
	size_t num_pids;
	const char *name[CHOICE_MAX];	/* the texts must outlive the choice */
	size_t num_names;
};

/*
 * Adds a number as a pid, and everything else as a name or pattern. A number after a backslash or
 * with a leading zero is a name. Returns NULL, or an error to print after the text.
 */
const char *choice_add(struct choice *choice, const char *text);

bool choice_is_made(const struct choice *choice);

/* The pid if it is a single process, otherwise 0. */
pid_t choice_process(const struct choice *choice);

/* Whether it is one pid or one name. A pattern is meant to match several VMs. */
bool choice_is_single(const struct choice *choice);

/* Its first, second, ... part; false after the last one. */
bool choice_part(const struct choice *choice, size_t index, struct choice *part);

/* A NULL @choice has all VMs. choice_may_have() decides before the name is known. */
bool choice_may_have(const struct choice *choice, pid_t pid);
bool choice_has(const struct choice *choice, pid_t pid, const char *name);

#endif /* KVMSTAT_CHOICE_H */
