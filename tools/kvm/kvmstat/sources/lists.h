/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics that this kernel tree knows on all architectures, as KVM describes them.
 */
#ifndef KVMSTAT_LISTS_H
#define KVMSTAT_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The scope of a statistic, and the group of a model that counts it. */
enum scope {
	SCOPE_VM,
	SCOPE_VCPU,
	NUM_SCOPES,
};

struct description {
	enum scope scope;
	const char *name;
	const char *help;
	uint32_t flags;			/* of a statistic: as in struct kvm_stats_desc */
	int16_t exponent;
	/* Named in the lists, for debugfs. */
	const char *alias;
	unsigned int mode;
	bool no_file;
};

/*
 * The first one of a name counts: the architecture for which the program was built comes first,
 * what all architectures share last.
 */
extern const struct description listed_statistics[];
extern const size_t num_listed_statistics;

#endif /* KVMSTAT_LISTS_H */
