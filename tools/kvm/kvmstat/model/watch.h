/* SPDX-License-Identifier: GPL-2.0 */
/* Watches for growth of a statistic within a window, or for a level that is reached. */
#ifndef KVMSTAT_WATCH_H
#define KVMSTAT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

/* In the place of a vCPU's number: every one by itself. */
#define EACH_VCPU (-1)

/* The texts are the caller's. */
struct watch_rule {
	const char *name;		/* of the statistic, with a part of it: "name:part" */
	const char *value;		/* with a unit */
	bool or_equal;			/* '>=' */
	uint64_t window_ns;
	int vcpu;			/* or EACH_VCPU */
};

/* The rule in numbers of a file. */
struct watch_target {
	enum scope scope;
	const struct statsfile_desc *desc;	/* NULL: not known yet */
	unsigned int first;		/* of its values, */
	unsigned int count;		/* of which the sum is watched */
	uint64_t threshold;
};

/*
 * Finds it in the schemas. Before there is a vCPU @vcpu is NULL; then @target->desc may be NULL,
 * too. Returns NULL, or what is wrong, which the caller frees.
 */
char *watch_find(const struct watch_rule *rule, struct statsfile_schema *vm,
		 struct statsfile_schema *vcpu, struct watch_target *target);

/* Whether it is a level that is watched, and no growth. */
bool watch_is_level(const struct watch_target *target);

/* Samples in a window. */
#define WATCH_LOOKS 10

struct watch_look {
	uint64_t time_ns;
	uint64_t value;
};

struct watched {
	struct watch_look look[WATCH_LOOKS + 1];	/* the oldest first */
	unsigned int num_looks;
	uint64_t quiet_until_ns;	/* at most one event in a window */
	bool reached;			/* the level */
};

/* Counts growth from this value and time on. Not for levels. */
void watched_begin(struct watched *watched, uint64_t now_ns, uint64_t value);

/*
 * Whether the rule triggers; *@growth is the growth, or the level. If samples are more than a
 * window apart, it is the average growth per window, rounded up: one window grew by at least that.
 */
bool watched_look(struct watched *watched, const struct watch_target *target,
		  uint64_t window_ns, const struct watch_look *now, uint64_t *growth);

#endif /* KVMSTAT_WATCH_H */
