/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is counted, in one sentence: of the statistics that this kernel tree knows, on
 * all architectures, and of the reasons that exits have.
 */
#ifndef KVMSTAT_DESCRIPTIONS_H
#define KVMSTAT_DESCRIPTIONS_H

#include "sources/lists.h"

/* NULL if it is not known. The architecture's own sentence comes first. */
const char *describe_statistic(enum scope scope, const char *name);

/* Of whichever scope: names are unique over both. NULL if it is not known. */
const struct description *find_statistic(const char *name);

/* The same of whichever scope: names are unique over both. */
const char *describe_name(const char *name);

/* And of a reason that exits have. */
const char *describe_reason(const char *name);

/* In the place of a scope. */
#define REASON NUM_SCOPES

/*
 * The next one from *@from on, which begins with 0, whose name the shell pattern fits;
 * NULL if there is none.
 */
const struct description *find_description(const char *pattern, size_t *from);

#endif /* KVMSTAT_DESCRIPTIONS_H */
