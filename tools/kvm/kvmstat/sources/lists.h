/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics that this kernel tree knows, on all architectures, as KVM itself
 * describes them.
 */
#ifndef KVMSTAT_LISTS_H
#define KVMSTAT_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The scope of a statistic, and which group of a model counts it. */
enum scope {
	SCOPE_VM,
	SCOPE_VCPU,
	NUM_SCOPES,
};

struct description {
	enum scope scope;
	const char *name;
	const char *help;
	/* Of statistics: as in struct kvm_stats_desc, and which file of debugfs it is. */
	uint32_t flags;
	int16_t exponent;
	bool is_scalar;
	const char *alias;		/* NULL: it is called like the statistic */
	unsigned int mode;
	bool no_file;
};

/*
 * The first one of a name counts: the architecture's own, for which the program was built,
 * come before the others', and those of all architectures last.
 */
extern const struct description listed_statistics[];
extern const size_t num_listed_statistics;

/*
 * The statistic of a VM's file in debugfs: kernels before 5.14 have names of their own for
 * some of them. NULL if it is not known.
 */
const struct description *find_listed_file(const char *file);

#endif /* KVMSTAT_LISTS_H */
