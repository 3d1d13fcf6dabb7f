/* SPDX-License-Identifier: GPL-2.0 */
/* Reads and checks what a KVM statistics file says of itself: all but the values. */
#ifndef KVMSTAT_STATSFILE_PARSE_H
#define KVMSTAT_STATSFILE_PARSE_H

#include "sources/statsfile.h"

/* Where @ext has no data_size, the file has no blocks that can be mapped. */
struct statsfile_layout {
	struct kvm_stats_header header;
	struct kvm_stats_ext ext;
};

bool statsfile_has_data_size(const struct kvm_stats_ext *ext);

/*
 * Fills in the file, which has a source, and the layout, both zeroed. On failure the file has
 * what was allocated.
 */
int statsfile_parse(struct statsfile *file, struct statsfile_layout *layout,
		    const struct statsfile_known *known, struct statsfile_error *error);

/* Checks that all that is to be mapped begins with a page of that size. */
int statsfile_check_pages(const struct statsfile_layout *layout, unsigned long page,
			  struct statsfile_error *error);

#endif /* KVMSTAT_STATSFILE_PARSE_H */
