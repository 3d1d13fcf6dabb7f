// SPDX-License-Identifier: GPL-2.0
/*
 * Exits by their reason.
 */
#include <stdlib.h>
#include <string.h>

#include "model/exits.h"
#include "util/util.h"

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

/* Of an array or a histogram its values with names. */
static void add_named(struct exits *exits, const struct statsfile_desc *desc,
		      const struct statsfile_desc *times, const uint64_t *delta)
{
	const struct statsfile_value_name *name = desc->value_names;

	for (; name < desc->value_names + desc->num_value_names; name++)
		add_row(exits, name->name, delta[desc->first + name->value],
			times && name->value < times->size ? delta[times->first + name->value] : 0);
}

/* Statistics that count exits of one kind each, which an exit can be in several of. */
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
	/* Exits that no statistic counts. One that two statistics count is not subtracted. */
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
