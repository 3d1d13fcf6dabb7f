/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is watched for: values of a statistic that grow by so much within a window, or whose
 * level comes to be so high. As it was asked for, as it is in the statistics of a VM, and
 * whether it has happened, for what the kernel does not watch itself.
 */
#ifndef KVMSTAT_WATCH_H
#define KVMSTAT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sources/lists.h"
#include "sources/statsfile.h"

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

/* The same in numbers of a file. */
struct watch_target {
	enum scope scope;
	const struct statsfile_desc *desc;	/* NULL: not known yet */
	unsigned int first;		/* of its values, */
	unsigned int count;		/* of which the sum is watched */
	uint64_t threshold;
};

/*
 * Finds it in the schemas, of which that of vCPUs may be NULL, as it is before there is one:
 * then @target->desc may be NULL, too. NULL or what is wrong, which the caller frees.
 */
char *watch_find(const struct watch_rule *rule, struct statsfile_schema *vm,
		 struct statsfile_schema *vcpu, struct watch_target *target);

/*
 * Whether the value is in the unit that KVM's lists have for the statistic, before there is a
 * VM that says so. NULL or what is wrong, which the caller frees.
 */
char *watch_check(const struct watch_rule *rule, const struct description *listed);

/* Whether it is a level that is watched, and no growth. */
bool watch_is_level(const struct watch_target *target);

/* Looks in a window, so that what happens in as much time is seen whenever it begins. */
#define WATCH_LOOKS 10

/* One thing that is looked at: of the looks of the last window when it was, and the value. */
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

/* What was there at that time, so that growth since then is known. Not of a level. */
void watched_begin(struct watched *watched, uint64_t now_ns, uint64_t value);

/*
 * Whether it has happened, and by how much: @growth of a level is the level itself. Of looks
 * that are more than a window apart it is what came in the average one, rounded up: so much, or
 * more, came in one of them.
 */
bool watched_look(struct watched *watched, const struct watch_target *target,
		  uint64_t window_ns, const struct watch_look *now, uint64_t *growth);

#endif /* KVMSTAT_WATCH_H */
