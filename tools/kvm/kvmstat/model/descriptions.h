/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One sentence for each statistic that this kernel tree knows, on all architectures, and for each
 * reason of exits.
 */
#ifndef KVMSTAT_DESCRIPTIONS_H
#define KVMSTAT_DESCRIPTIONS_H

#include "model/model.h"

/* In the place of a scope: why a vCPU exits, and why KVM_RUN returns. */
#define REASON NUM_SCOPES
#define USER_EXIT (NUM_SCOPES + 1)

struct description {
	enum scope scope;
	const char *name;
	const char *help;
	/* Named in the lists, for debugfs. */
	const char *alias;
	unsigned int mode;
	bool no_file;
};

/* NULL if the statistic is not known. The architecture's own sentence comes first. */
const char *describe_statistic(enum scope scope, const char *name);

/*
 * The next one from *@from on, which begins with 0, whose name the shell pattern fits; NULL if
 * there is none.
 */
const struct description *find_description(const char *pattern, size_t *from);

#endif /* KVMSTAT_DESCRIPTIONS_H */
