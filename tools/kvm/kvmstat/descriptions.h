/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is counted, in one sentence: of the statistics that this kernel tree knows, on
 * all architectures.
 */
#ifndef KVMSTAT_DESCRIPTIONS_H
#define KVMSTAT_DESCRIPTIONS_H

#include "model.h"

/*
 * NULL if it is not known. Where architectures describe the same name in other words,
 * those of the one that the program was built for.
 */
const char *describe_statistic(enum scope scope, const char *name);

#endif /* KVMSTAT_DESCRIPTIONS_H */
