/* SPDX-License-Identifier: GPL-2.0 */
/* Watches for growth of a statistic within a window, or for a level that is reached. */
#ifndef KVMSTAT_WATCH_H
#define KVMSTAT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

/* Instead of a vCPU's number: watch each vCPU on its own. */
#define EACH_VCPU (-1)

/* The texts must outlive the rule. */
struct watch_rule {
	const char *name;		/* "NAME" or "NAME:PART" */
	const char *value;		/* with a unit */
	bool or_equal;			/* '>=' */
	uint64_t window_ns;
	int vcpu;			/* or EACH_VCPU */
};

/* The rule applied to the schemas of a VM. */
struct watch_target {
	enum scope scope;
	const struct statsfile_desc *desc;	/* NULL: not known yet */
	unsigned int first, count;	/* watch the sum of these values of desc */
	uint64_t threshold;
};

/*
 * Applies the rule to the schemas. Before the first vCPU, @vcpu is NULL, and @target->desc may be
 * NULL, too. Returns NULL, or an error text that the caller frees.
 */
char *watch_find(const struct watch_rule *rule, struct statsfile_schema *vm,
		 struct statsfile_schema *vcpu, struct watch_target *target);

/* Whether it watches a level, not growth. */
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
 * window apart, it is the average growth per window, rounded up: at least one window had that.
 */
bool watched_look(struct watched *watched, const struct watch_target *target,
		  uint64_t window_ns, const struct watch_look *now, uint64_t *growth);

#endif /* KVMSTAT_WATCH_H */
