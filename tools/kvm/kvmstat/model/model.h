/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the values mean: samples of a VM's statistics, what changed between two
 * of them, and the sum over all vCPUs. Neither collects nor prints.
 */
#ifndef KVMSTAT_MODEL_H
#define KVMSTAT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sources/inventory.h"
#include "sources/lists.h"
#include "sources/statsfile.h"

/* More states than there are: of those behind them nothing is known. */
#define RUNNING_STATES 32

/* The state that a vCPU is in, since when, and the time in each state. NULL: there is none. */
struct running {
	const struct statsfile_desc *state, *since, *time[RUNNING_STATES];
};

/*
 * The statistics of a VM, or of several vCPUs with the same descriptors. All arrays
 * have one entry per value of the schema: for a histogram that is one per bucket.
 *
 * Counters (CUMULATIVE and histograms) add up over the vCPUs, as do INSTANT values;
 * of PEAK values the highest stands for all. The kernel adds up the time in a state when that
 * ends: here it is complete up to the moment of the sample.
 */
struct group {
	struct statsfile_schema *schema;
	/* What is not measured, as its accounting is off, is not shown: see group_shows(). */
	bool hides_times, hides_waits;
	size_t num_members;
	uint64_t *value;
	/*
	 * Of counters what was counted since the last sample, and since the first.
	 * Of all others not 0 if the value was another at the last sample, or at any.
	 */
	uint64_t *delta;
	uint64_t *watched;
	/* private: of one member, as they were read, and what it added to delta */
	uint64_t *now;
	uint64_t *step;
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
	/* Or NULL: called for each vCPU that was read, with its part of the group's delta. */
	void (*on_vcpu)(const struct model *model, size_t index, const uint64_t *delta);
	void *context;			/* for on_vcpu() */
	/* Of each the values at the last sample; NULL: it could not be read. */
	uint64_t *vm_last;
	uint64_t **vcpu_last;
	size_t num_vcpus;
};

/* Needs a VM that has statistics. */
void model_init(struct model *model, const struct vm *vm);
void model_free(struct model *model);

/*
 * Reads all statistics of the VM, those of the vCPUs that were discovered.
 * @from_zero: what was not there at the last sample is new and counted from zero.
 * If not, it was counting before, and what it counted until now is in no delta. 0 or
 * -errno and @error. No system call if the VM's file shows its vCPUs and all of them
 * were there at the last sample.
 */
int model_sample(struct model *model, uint64_t now_ns, bool from_zero,
		 struct statsfile_error *error);

/*
 * Keeps the statistics of the index-th vCPU by themselves, too: its last values at once,
 * and from the next sample on, then it has a member, what was counted. None of a vCPU that
 * was not sampled yet.
 */
void model_focus(struct model *model, size_t index);
void model_unfocus(struct model *model);

/* A group of one sample, of @now_ns, to show the values of the index-th vCPU alone. */
int group_of_vcpu(struct group *group, const struct vm *vm, size_t index, uint64_t now_ns,
		  struct statsfile_error *error);
void group_free(struct group *group);

/* Looks them up, once per schema. */
void running_find(struct running *running, const struct statsfile_schema *schema);
/* Adds the time of a vCPU's state that has not ended: a halt of a minute is in each of its seconds. */
void running_complete(const struct running *running, uint64_t *values, uint64_t now_ns);

/* Whether time by state, or waits for a CPU, have to be accounted for so that it counts. */
bool is_time(const struct statsfile_desc *desc);
bool is_wait(const struct statsfile_desc *desc);

/* Whether the VM says that this is switched off; if it has no such statistic it is not. */
bool accounting_is_off(const struct statsfile_desc *accounting, const uint64_t *vm_values);

/* Whether it counts: a rate makes sense. */
bool is_counter(const struct statsfile_desc *desc);
bool is_histogram(const struct statsfile_desc *desc);

/* Several values of the same kind: no histogram, each is what the unit says. */
bool is_array(const struct statsfile_desc *desc);

/* A histogram of things, which are known by their names and have no order. */
bool has_named_buckets(const struct statsfile_desc *desc);

/* Either of them: it has parts with names, or with numbers where they have none. */
bool has_parts(const struct statsfile_desc *desc);

/*
 * Of one of the group's arrays: the scalar, what the statistic's values are together,
 * or the number of values that the histogram has counted in all buckets.
 */
uint64_t group_total(const struct statsfile_desc *desc, const uint64_t *array);

/* Whether its numbers stand for something; what @value of it stands for, or NULL. */
bool is_enumeration(const struct statsfile_desc *desc);
const char *enumerated_name(const struct statsfile_desc *desc, uint64_t value);

/*
 * Whether it is a quantity, of which several vCPUs have a sum: neither an enumeration nor
 * a moment is. And whether the group's value of it means something.
 */
bool is_quantity(const struct statsfile_desc *desc);
bool group_shows(const struct group *group, const struct statsfile_desc *desc);

/* Makes the @value of one vCPU part of @sum, that of all: see struct group. */
void combine_value(const struct statsfile_desc *desc, uint64_t *sum, uint64_t value);

double rate_per_second(uint64_t delta, uint64_t elapsed_ns);

#endif /* KVMSTAT_MODEL_H */
