// SPDX-License-Identifier: GPL-2.0
/*
 * How vCPU threads spend their time.
 */
#include <string.h>

#include "model/model.h"
#include "model/shares.h"
#include "util/util.h"

static const char * const time_names[NUM_SHARES][2] = {
	[SHARE_GUEST] = { "time_guest_ns", },
	[SHARE_KVM] = { "time_exit_ns", "time_poll_ns", },
	[SHARE_VMM] = { "time_user_ns", },
	[SHARE_READY] = { "ready_ns", },
	[SHARE_WAIT] = { "time_sleep_ns", },
	[SHARE_IDLE] = { "time_halt_ns", },
};

static const struct statsfile_desc *find_scalar(const struct statsfile_schema *schema,
						const char *name)
{
	const struct statsfile_desc *desc = name ? statsfile_find(schema, name) : NULL;

	return desc && desc->size == 1 ? desc : NULL;
}

void shares_find(struct share_sources *sources, const struct statsfile_schema *schema)
{
	const struct statsfile_desc *desc;
	enum share share;
	size_t i;

	*sources = (struct share_sources) {};
	for (share = 0; share < NUM_SHARES; share++) {
		for (i = 0; i < ARRAY_SIZE(time_names[share]); i++) {
			desc = find_scalar(schema, time_names[share][i]);
			/* Ignore a statistic of this name with another unit. */
			if (desc && is_counter(desc) && desc->exponent == -9)
				sources->time[share][i] = desc;
		}
	}
}

void accounting_find(struct accounting *accounting, const struct statsfile_schema *schema)
{
	*accounting = (struct accounting) {
		.time = find_scalar(schema, "time_accounting"),
		.ready = find_scalar(schema, "ready_accounting"),
	};
}

struct times times_of(const struct share_sources *sources, const uint64_t *values)
{
	struct times times = {};
	enum share share;
	size_t i;

	for (share = 0; share < NUM_SHARES; share++) {
		for (i = 0; i < ARRAY_SIZE(sources->time[share]); i++) {
			if (sources->time[share][i])
				times.ns[share] += values[sources->time[share][i]->first];
		}
	}
	return times;
}

struct times times_between(const struct times *last, const struct times *now)
{
	uint64_t *ready_ns, was_wait_ns = 0;
	struct times passed = {};
	enum share share;

	for (share = 0; share < NUM_SHARES; share++) {
		if (now->ns[share] >= last->ns[share])
			passed.ns[share] = now->ns[share] - last->ns[share];
		else
			was_wait_ns += last->ns[share] - now->ns[share];
	}
	/*
	 * When a wait for a CPU ends, KVM moves its time to ready_ns from the state in which it was
	 * counted so far. Earlier intervals have shown that time: subtract it here.
	 */
	ready_ns = &passed.ns[SHARE_READY];
	*ready_ns -= *ready_ns < was_wait_ns ? *ready_ns : was_wait_ns;
	return passed;
}

void times_add(struct times *sum, const struct times *more)
{
	enum share share;

	for (share = 0; share < NUM_SHARES; share++)
		sum->ns[share] += more->ns[share];
}

static bool is_on(const struct statsfile_desc *desc, const uint64_t *values)
{
	return desc && values[desc->first];
}

struct shares shares_of(const struct accounting *accounting, const uint64_t *vm_values,
			const struct times *passed, uint64_t total_ns)
{
	bool has_ready = is_on(accounting->ready, vm_values);
	bool has_all = is_on(accounting->time, vm_values);
	struct shares shares = {};
	enum share share;
	uint64_t sum = 0;

	for (share = 0; share < NUM_SHARES; share++)
		sum += passed->ns[share];
	/*
	 * The clocks of samples and states differ by a bit: use the sum of all accounted time.
	 * Without waits for a CPU that sum is too small.
	 */
	if (has_all && (has_ready || total_ns < sum))
		total_ns = sum;
	else if (total_ns < passed->ns[SHARE_READY])
		total_ns = passed->ns[SHARE_READY];
	/* None of the vCPUs has ever run. */
	if (has_all && !sum)
		return shares;
	for (share = 0; total_ns && share < SHARE_OFF; share++) {
		shares.known[share] = share == SHARE_READY ? has_ready : has_all;
		if (shares.known[share])
			shares.part[share] = (double)passed->ns[share] / total_ns;
	}
	return shares;
}

/* user_ns can shrink: it is user time less guest time, whose ticks are counted separately. */
static uint64_t time_between(uint64_t last_ns, uint64_t now_ns)
{
	return now_ns > last_ns ? now_ns - last_ns : 0;
}

struct shares shares_of_threads(const struct proc_times *last, const struct proc_times *now,
				uint64_t elapsed_ns)
{
	struct times passed = { .ns = {
		time_between(last->guest_ns, now->guest_ns),
		time_between(last->kernel_ns, now->kernel_ns),
		time_between(last->user_ns, now->user_ns),
		time_between(last->ready_ns, now->ready_ns),
	}, };
	uint64_t total_ns = elapsed_ns * now->num_threads, sum_ns = 0;
	struct shares shares = { .by_cpu = true, };
	enum share share;

	/* Threads that started or ended counted time outside of the interval. */
	if (!elapsed_ns || !now->num_threads || now->num_threads != last->num_threads)
		return shares;
	for (share = 0; share < NUM_SHARES; share++)
		sum_ns += passed.ns[share];
	/* A tick can belong to the interval before. */
	if (total_ns < sum_ns)
		total_ns = sum_ns;
	passed.ns[SHARE_OFF] = total_ns - sum_ns;
	for (share = 0; share < NUM_SHARES; share++) {
		if (share == SHARE_WAIT || share == SHARE_IDLE)
			continue;
		/* Without ready_ns a wait for a CPU looks like sleep. */
		shares.known[share] = now->has_ready ||
				      (share != SHARE_READY && share != SHARE_OFF);
		if (shares.known[share])
			shares.part[share] = (double)passed.ns[share] / total_ns;
	}
	return shares;
}
