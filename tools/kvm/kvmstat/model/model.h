/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples of a VM's statistics, what changed between two of them, and the sum over all vCPUs.
 */
#ifndef KVMSTAT_MODEL_H
#define KVMSTAT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sources/inventory.h"
#include "sources/statsfile.h"

/* The scope of a statistic, and the group of a model that counts it. */
enum scope {
	SCOPE_VM,
	SCOPE_VCPU,
	NUM_SCOPES,
};

/* More states than there are. */
#define RUNNING_STATES 32

/* The state that a vCPU is in, since when, and the time in each state. NULL: there is none. */
struct running {
	const struct statsfile_desc *state, *since, *time[RUNNING_STATES];
};

/*
 * The statistics of a VM, or the sum over vCPUs with the same descriptors; of PEAK values the
 * highest. Arrays have one entry per value of the schema. Times by state are complete up to the
 * sample: the kernel adds them up when a state ends.
 */
struct group {
	struct statsfile_schema *schema;
	bool hides_times, hides_waits;	/* their accounting is off: see group_shows() */
	size_t num_members;
	uint64_t *value;
	/*
	 * Counted since the last sample, and since the first; of what does not count: whether it
	 * changed.
	 */
	uint64_t *delta, *watched;
	/* private: of one member, as they were read, and what it added to delta */
	uint64_t *now, *step;
	struct running running;
};

struct model {
	const struct vm *vm;
	struct group group[NUM_SCOPES];	/* the vCPUs' has no schema until there is one */
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t elapsed_ns;		/* between the last two samples */
	struct group focus;		/* of one vCPU alone: see model_focus() */
	size_t focus_index;
	/* Called for each vCPU that was read, with its part of the group's delta; or NULL. */
	void (*on_vcpu)(const struct model *model, size_t index, const uint64_t *delta);
	void *context;			/* for on_vcpu() */
	/* The values at the last sample; NULL: it could not be read. */
	uint64_t *vm_last, **vcpu_last;
	size_t num_vcpus;
};

/* Needs a VM that has statistics. */
void model_init(struct model *model, const struct vm *vm);
void model_free(struct model *model);

/*
 * Reads the statistics of the VM and of its vCPUs. @from_zero: what was not there at the last
 * sample is new and counted from zero; otherwise what it counted until now is in no delta. Returns
 * 0, or -errno and @error. Makes no system call if the VM's file maps its vCPUs and none is new.
 */
int model_sample(struct model *model, uint64_t now_ns, bool from_zero,
		 struct statsfile_error *error);

/*
 * Also keeps the statistics of the index-th vCPU alone: its last values at once; from the next
 * sample on, when the group has a member, also what it counted.
 */
void model_focus(struct model *model, size_t index);
void model_unfocus(struct model *model);

/* The group, or of a model with a focus the vCPU alone, and nothing of the VM. */
const struct group *model_shown(const struct model *model, enum scope scope);

/* Looks them up, once per schema. */
void running_find(struct running *running, const struct statsfile_schema *schema);
/* Adds the time of the state that lasts: a halt of a minute is in each of its seconds. */
void running_complete(const struct running *running, uint64_t *values, uint64_t now_ns);

/* Whether it counts only while KVM accounts for time by state, or for waits for a CPU. */
bool is_time(const struct statsfile_desc *desc);
bool is_wait(const struct statsfile_desc *desc);

/* Whether the VM says that this is switched off; without such a statistic it is on. */
bool accounting_is_off(const struct statsfile_desc *accounting, const uint64_t *vm_values);

/* Whether it counts: a rate makes sense. */
bool is_counter(const struct statsfile_desc *desc);
bool is_histogram(const struct statsfile_desc *desc);

/* Several values of the same unit. */
bool is_array(const struct statsfile_desc *desc);

/* A histogram of things that have names and no order. */
bool has_named_buckets(const struct statsfile_desc *desc);

/* Either of them. */
bool has_parts(const struct statsfile_desc *desc);

/* The sum of the statistic's values in one of the group's arrays; of PEAK values the highest. */
uint64_t group_total(const struct statsfile_desc *desc, const uint64_t *array);

/* Whether its values have names; the name of @value, or NULL. */
bool is_enumeration(const struct statsfile_desc *desc);
const char *enumerated_name(const struct statsfile_desc *desc, uint64_t value);

/*
 * Whether a sum over vCPUs makes sense, as of states and moments it does not; whether to show it.
 */
bool is_quantity(const struct statsfile_desc *desc);
bool group_shows(const struct group *group, const struct statsfile_desc *desc);

/* Adds the @value of one vCPU to @sum: see struct group. */
void combine_value(const struct statsfile_desc *desc, uint64_t *sum, uint64_t value);

double rate_per_second(uint64_t delta, uint64_t elapsed_ns);

#endif /* KVMSTAT_MODEL_H */
