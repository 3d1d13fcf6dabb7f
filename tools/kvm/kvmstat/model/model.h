/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples of a VM's statistics, the changes between two samples, and the sum over all vCPUs.
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

/* Room for all states. */
#define RUNNING_STATES 32

/* The statistics that hold the current state, its start, and the time in each state; or NULL. */
struct running {
	const struct statsfile_desc *state, *since, *time[RUNNING_STATES];
};

/*
 * The statistics of a VM, or the sum over vCPUs with the same descriptors (of a PEAK the highest).
 * Arrays have one entry per value of the schema. Times by state include the state that has not
 * ended, which the kernel adds only when it ends.
 */
struct group {
	struct statsfile_schema *schema;
	bool hides_times, hides_waits;	/* their accounting is off: see group_shows() */
	size_t num_members;
	uint64_t *value;
	/*
	 * The growth since the last sample, and since the first. If the statistic is no counter:
	 * not 0 if it changed.
	 */
	uint64_t *delta, *watched;
	/* private: the values of one member, and its growth */
	uint64_t *now, *step;
	struct running running;
};

struct model {
	const struct vm *vm;
	struct group group[NUM_SCOPES];	/* the vCPUs' has no schema before the first vCPU */
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t elapsed_ns;		/* between the last two samples */
	struct group focus;		/* one vCPU alone: see model_focus() */
	size_t focus_index;
	/* Called for each vCPU that was read, with its part of the group's delta; or NULL. */
	void (*on_vcpu)(const struct model *model, size_t index, const uint64_t *delta);
	void *context;			/* for on_vcpu() */
	/* The values at the last sample; NULL before the first one. */
	uint64_t *vm_last, **vcpu_last;
	size_t num_vcpus;
};

/* Needs a VM that has statistics. */
void model_init(struct model *model, const struct vm *vm);
void model_free(struct model *model);

/*
 * Reads the statistics of the VM and of its vCPUs. With @from_zero a VM or vCPU that the last
 * sample did not have counts from zero; otherwise its first values are in no delta. Returns 0, or
 * -errno and @error. Makes no system call if the VM's file maps its vCPUs and none is new.
 */
int model_sample(struct model *model, uint64_t now_ns, bool from_zero,
		 struct statsfile_error *error);

/*
 * Also keeps the statistics of the index-th vCPU alone. It has its last values at once, and its
 * growth from the next sample on, when model->focus has a member.
 */
void model_focus(struct model *model, size_t index);
void model_unfocus(struct model *model);

/* The group of the scope. With a focus: the vCPU alone, and an empty group for the VM. */
const struct group *model_shown(const struct model *model, enum scope scope);

/* Looks up the statistics, once per schema. */
void running_find(struct running *running, const struct statsfile_schema *schema);
/* Adds the state that has not ended: each second of a long halt counts in that second. */
void running_complete(const struct running *running, uint64_t *values, uint64_t now_ns);

/* Whether it counts only with time_accounting (is_time) or ready_accounting (is_wait) on. */
bool is_time(const struct statsfile_desc *desc);
bool is_wait(const struct statsfile_desc *desc);

/* Whether the VM has this statistic, and it says that the accounting is off. */
bool accounting_is_off(const struct statsfile_desc *accounting, const uint64_t *vm_values);

/* Whether it only grows: a rate makes sense. */
bool is_counter(const struct statsfile_desc *desc);
bool is_histogram(const struct statsfile_desc *desc);

/* Several values of the same unit. */
bool is_array(const struct statsfile_desc *desc);

/* A histogram whose buckets have names and no order. */
bool has_named_buckets(const struct statsfile_desc *desc);

/* An array, or a histogram with named buckets. */
bool has_parts(const struct statsfile_desc *desc);

/* The sum of the statistic's values in one of the group's arrays; the highest of a PEAK. */
uint64_t group_total(const struct statsfile_desc *desc, const uint64_t *array);

/* Whether its values have names; the name of @value, or NULL. */
bool is_enumeration(const struct statsfile_desc *desc);
const char *enumerated_name(const struct statsfile_desc *desc, uint64_t value);

/*
 * Whether a sum over vCPUs makes sense: not for states and moments. Whether to show the statistic.
 */
bool is_quantity(const struct statsfile_desc *desc);
bool group_shows(const struct group *group, const struct statsfile_desc *desc);

/* Adds the @value of one vCPU to @sum: see struct group. */
void combine_value(const struct statsfile_desc *desc, uint64_t *sum, uint64_t value);

double rate_per_second(uint64_t delta, uint64_t elapsed_ns);

#endif /* KVMSTAT_MODEL_H */
