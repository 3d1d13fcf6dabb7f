/* SPDX-License-Identifier: GPL-2.0 */
/* Reads and checks a KVM statistics file, except its values. */
#ifndef KVMSTAT_STATSFILE_PARSE_H
#define KVMSTAT_STATSFILE_PARSE_H

#include "sources/statsfile.h"

/* If @ext has no data_size, no block of the file can be mapped. */
struct statsfile_layout {
	struct kvm_stats_header header;
	struct kvm_stats_ext ext;
};

bool statsfile_has_data_size(const struct kvm_stats_ext *ext);

/*
 * Fills in the layout, and the file, of which only the source is set. On failure the caller frees
 * what the file has.
 */
int statsfile_parse(struct statsfile *file, struct statsfile_layout *layout,
		    const struct statsfile_known *known, struct statsfile_error *error);

/* Checks that all blocks to map begin at a multiple of the page size. */
int statsfile_check_pages(const struct statsfile_layout *layout, unsigned long page,
			  struct statsfile_error *error);

#endif /* KVMSTAT_STATSFILE_PARSE_H */
