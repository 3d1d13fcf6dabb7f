// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a VM or vCPU, in one word, and exits by reason.
 */
#include <stdlib.h>
#include <string.h>

#include "model/why.h"
#include "util/util.h"

const char * const why_names[NUM_WHYS] = {
	[WHY_UNKNOWN] = "-",
	[WHY_ENDED] = "ended",
	[WHY_STOPPED] = "stopped",
	[WHY_PAUSED] = "paused",
	[WHY_IDLE] = "idle",
	[WHY_OFF] = "idle?",
	[WHY_BUSY] = "busy",
	[WHY_VMM] = "vmm",
	[WHY_EXITS] = "exits",
	[WHY_WAITS] = "waits",
	[WHY_STARVED] = "starved",
};

/* A share from this size on makes a VM slow; the largest such share is the reason. */
#define MUCH_WAITED 0.1			/* of the time, for a CPU or memory */
#define MUCH_WORK 0.2			/* of the time, in the host */

/* The share that decides between two VMs in the same state. */
static const enum share why_shares[NUM_WHYS] = {
	[WHY_IDLE] = SHARE_IDLE,
	[WHY_OFF] = SHARE_OFF,
	[WHY_VMM] = SHARE_VMM,
	[WHY_EXITS] = SHARE_KVM,
	[WHY_WAITS] = SHARE_WAIT,
	[WHY_STARVED] = SHARE_READY,
};

enum why why_of_shares(const struct shares *shares)
{
	const double *part = shares->part;
	/* An exit to the VMM takes time in KVM, too. */
	bool vmm = part[SHARE_VMM] >= MUCH_WORK && 2 * part[SHARE_VMM] >= part[SHARE_KVM];
	double work = vmm ? part[SHARE_VMM] :
		part[SHARE_KVM] >= MUCH_WORK ? part[SHARE_KVM] : 0;

	if (part[SHARE_READY] >= MUCH_WAITED && part[SHARE_READY] >= part[SHARE_WAIT] &&
	    part[SHARE_READY] >= work)
		return WHY_STARVED;
	if (part[SHARE_WAIT] >= MUCH_WAITED && part[SHARE_WAIT] >= work)
		return WHY_WAITS;
	if (work)
		return vmm ? WHY_VMM : WHY_EXITS;
	if (!shares->known[SHARE_GUEST])
		return WHY_UNKNOWN;
	if (part[SHARE_GUEST] > 0 && part[SHARE_GUEST] >= part[SHARE_IDLE] + part[SHARE_OFF])
		return WHY_BUSY;
	return shares->known[SHARE_OFF] ? WHY_OFF : WHY_IDLE;
}

enum why why_of_vm(const struct tracked_vm *tracked)
{
	if (tracked->ended)
		return WHY_ENDED;
	switch (tracked->activity) {
	case ACTIVITY_STOPPED:
		return WHY_STOPPED;
	case ACTIVITY_PAUSED:
		return WHY_PAUSED;
	default:
		return why_of_shares(&tracked->rates.shares);
	}
}

double why_rank(enum why why, const struct shares *shares)
{
	return why + shares->part[why_shares[why]] / 2;
}

static void add_row(struct exits *exits, const char *name, uint64_t count, uint64_t ns)
{
	exits->total += count;
	exits->total_ns += ns;
	if (!count && !ns)
		return;
	exits->row = xgrow(exits->row, exits->count, sizeof(*exits->row));
	exits->row[exits->count++] = (struct exit_row) { name, count, ns, };
}

static int compare_rows(const void *a, const void *b)
{
	const struct exit_row *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return (left->count < right->count) - (left->count > right->count);
}

static void sort_rows(struct exits *exits)
{
	if (exits->count)
		qsort(exits->row, exits->count, sizeof(*exits->row), compare_rows);
}

/* Adds the named values of an array or a histogram. */
static void add_named(struct exits *exits, const struct statsfile_desc *desc,
		      const struct statsfile_desc *times, const uint64_t *delta)
{
	const struct statsfile_value_name *name = desc->value_names;

	for (; name < desc->value_names + desc->num_value_names; name++)
		add_row(exits, name->name, delta[desc->first + name->value],
			times && name->value < times->size ? delta[times->first + name->value] : 0);
}

/* Adds statistics that count one kind of exits each; several can count the same exit. */
static void add_statistics(struct exits *exits, const struct tracked_vm *tracked,
			   const uint64_t *delta)
{
	const struct statsfile_schema *schema = tracked->model.group[SCOPE_VCPU].schema;
	const struct statsfile_desc *desc, *all = statsfile_find(schema, "exits");
	uint64_t count;
	unsigned int i;

	for (i = 0; i < schema->num_desc; i++) {
		desc = &schema->desc[i];
		if (desc != all && columns_is_exit(desc) && strcmp(desc->name, "sum_exits"))
			add_row(exits, desc->name, group_total(desc, delta), 0);
	}
	if (!all)
		return;
	/* The exits that no statistic counts. If two count the same exit, this is too small. */
	count = group_total(all, delta);
	if (count > exits->total)
		add_row(exits, "other", count - exits->total, 0);
	exits->total = count;
}

void exits_find(struct exits *exits, const struct tracked_vm *tracked)
{
	const struct group *group = &tracked->model.group[SCOPE_VCPU];
	const struct statsfile_desc *reasons, *times = NULL;

	*exits = (struct exits) {};
	if (!group->schema || !tracked->has_rates)
		return;
	reasons = statsfile_find(group->schema, "exit_reasons");
	if (tracked->accounting.time && !tracked->accounting_is_off)
		times = statsfile_find(group->schema, "exit_reason_ns");
	exits->has_times = times;
	if (reasons && has_named_buckets(reasons))
		add_named(exits, reasons, times, group->delta);
	else
		add_statistics(exits, tracked, group->delta);
	sort_rows(exits);
}

void exits_find_user(struct exits *exits, const struct tracked_vm *tracked)
{
	const struct group *group = &tracked->model.group[SCOPE_VCPU];
	const struct statsfile_desc *desc;

	*exits = (struct exits) {};
	if (!group->schema || !tracked->has_rates)
		return;
	desc = statsfile_find(group->schema, "user_exits");
	if (desc && has_parts(desc))
		add_named(exits, desc, NULL, group->delta);
	sort_rows(exits);
}
