/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Schemas that come from elsewhere than from a statistics file.
 */
#ifndef KVMSTAT_SCHEMA_H
#define KVMSTAT_SCHEMA_H

#include "sources/statsfile.h"

/*
 * A statistics file of this machine that shows no vCPUs, with all values 0, in memory that the
 * caller frees.
 */
struct statsfile_source schema_file(const struct statsfile_schema *schema, const char *id);

/*
 * Makes one, or takes one that is known, if a statistics file could be described like that.
 * Of @described all but the private parts counts. 0, or as statsfile_open() and @error.
 */
int schema_make(struct statsfile_schema **schema, const struct statsfile_schema *described,
		const struct statsfile_known *known, struct statsfile_error *error);

#endif /* KVMSTAT_SCHEMA_H */
