// SPDX-License-Identifier: GPL-2.0
/*
 * What VMs and vCPUs can be sorted by.
 */
#include <string.h>

#include "model/order.h"

static const char * const column_names[NUM_COLUMNS] = {
	[COLUMN_PID] = "pid",
	[COLUMN_NAME] = "name",
	[COLUMN_VCPUS] = "vcpus",
	[COLUMN_SHARES + SHARE_GUEST] = "guest",
	[COLUMN_SHARES + SHARE_KVM] = "kvm",
	[COLUMN_SHARES + SHARE_VMM] = "vmm",
	[COLUMN_SHARES + SHARE_READY] = "ready",
	[COLUMN_SHARES + SHARE_IDLE] = "idle",
	[COLUMN_RATES + RATE_EXITS] = "exits",
	[COLUMN_RATES + RATE_HALTS] = "halts",
	[COLUMN_RATES + RATE_INJECTIONS] = "injections",
	[COLUMN_QUANTILES + QUANTILE_READY_P50] = "ready50",
	[COLUMN_QUANTILES + QUANTILE_READY_P99] = "ready99",
	[COLUMN_QUANTILES + QUANTILE_EXIT_P50] = "exit50",
	[COLUMN_QUANTILES + QUANTILE_EXIT_P99] = "exit99",
	[COLUMN_TOP] = "reason",
};

enum column_id column_find(const char *name)
{
	enum column_id column;

	for (column = 0; column < NUM_COLUMNS; column++) {
		if (!strcmp(column_names[column], name))
			break;
	}
	return column;
}

bool column_begins_low(enum column_id column)
{
	return column == COLUMN_PID || column == COLUMN_NAME || column == COLUMN_TOP;
}

static int compare_numbers(double left, double right)
{
	return (left > right) - (left < right);
}

static int compare_rates(const struct rates *left, const struct rates *right,
			 enum column_id column)
{
	if (column_is_share(column))
		return compare_numbers(left->shares.part[column - COLUMN_SHARES],
				       right->shares.part[column - COLUMN_SHARES]);
	if (column_is_rate(column))
		return compare_numbers(left->per_second[column - COLUMN_RATES],
				       right->per_second[column - COLUMN_RATES]);
	if (column_is_quantile(column))
		return compare_numbers(quantile_rank(&left->quantile[column - COLUMN_QUANTILES]),
				       quantile_rank(&right->quantile[column - COLUMN_QUANTILES]));
	return column == COLUMN_TOP ? strcmp(rates_reason(left), rates_reason(right)) : 0;
}

int compare_tracked(const struct tracked_vm *left, const struct tracked_vm *right,
		    enum column_id column)
{
	switch (column) {
	case COLUMN_PID:
		return compare_numbers(left->pid, right->pid);
	case COLUMN_NAME:
		return strcmp(left->name, right->name);
	case COLUMN_VCPUS:
		return compare_numbers(left->num_vcpus, right->num_vcpus);
	default:
		return compare_rates(&left->rates, &right->rates, column);
	}
}

int compare_vcpus(const struct tracked_vcpu *left, const struct tracked_vcpu *right,
		  enum column_id column)
{
	if (column == COLUMN_PID)
		return compare_numbers(left->number, right->number);
	return compare_rates(&left->rates, &right->rates, column);
}
