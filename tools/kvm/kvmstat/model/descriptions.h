/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sentence for each statistic and exit reason of this kernel tree, on all architectures.
 */
#ifndef KVMSTAT_DESCRIPTIONS_H
#define KVMSTAT_DESCRIPTIONS_H

#include "model/model.h"

/* Used like a scope: reasons why a vCPU exits, and why KVM_RUN returns. */
#define REASON NUM_SCOPES
#define USER_EXIT (NUM_SCOPES + 1)

struct description {
	enum scope scope;
	const char *name;
	const char *help;
	/* Fields that the lists set for debugfs; unused here. */
	const char *alias;
	unsigned int mode;
	bool no_file;
};

/* NULL if the lists do not have the statistic. Prefers the sentence of this architecture. */
const char *describe_statistic(enum scope scope, const char *name);

/*
 * Returns the next entry whose name matches the shell pattern, or NULL. *@from is the position;
 * start with 0.
 */
const struct description *find_description(const char *pattern, size_t *from);

#endif /* KVMSTAT_DESCRIPTIONS_H */
