// SPDX-License-Identifier: GPL-2.0
/*
 * The columns, and the orders of VMs and vCPUs.
 */
#include <string.h>

#include "model/order.h"
#include "model/why.h"

/*
 * Shares, READY% and the pid are the last to go. The state names the share to look at. IDLE% is
 * the rest of the others, so it is the first share to go.
 */
const struct column_info column_info[NUM_COLUMNS] = {
	[COLUMN_PID] = { "PID", "pid", "pid", .drop = 1, .least = 6, },
	[COLUMN_VM] = { "VM", "id", "id", .drop = 18, .left = true, },
	[COLUMN_VCPUS] = { "VCPU", "vcpus", "vcpus", .drop = 14, },
	[COLUMN_STATE] = { "STATE", "state", "state", .drop = 3, .least = 7, .left = true, },
	[COLUMN_SHARES + SHARE_GUEST] = { "GUEST%", "guest", "guest=shares/guest", .drop = 2, },
	[COLUMN_SHARES + SHARE_KVM] = { "KVM%", "kvm", "kvm=shares/kvm", .drop = 4, },
	[COLUMN_SHARES + SHARE_VMM] = { "VMM%", "vmm", "vmm=shares/vmm", .drop = 5, },
	[COLUMN_SHARES + SHARE_READY] = { "READY%", "ready", "ready=shares/ready", },
	[COLUMN_SHARES + SHARE_WAIT] = { "WAIT%", "wait", "wait=shares/wait", .drop = 6, },
	[COLUMN_SHARES + SHARE_IDLE] = { "IDLE%", "idle", "idle=shares/idle", .drop = 7, },
	[COLUMN_SHARES + SHARE_OFF] = {
		"OFF%", "off", "off=shares/off,shares_source=shares/source", .drop = 7,
	},
	[COLUMN_OTHER] = { "OTHER%", "other", "other", .drop = 9, },
	[COLUMN_RATES + RATE_EXITS] = {
		"EXITS/s", "exits", "exits_per_s=exits", .drop = 10, .least = 8,
	},
	[COLUMN_RATES + RATE_HALTS] = {
		"HALTS/s", "halts", "halts_per_s=halts", .drop = 15, .least = 8,
	},
	[COLUMN_RATES + RATE_INJECTIONS] = {
		"INJ/s", "injections", "injections_per_s=injections", .drop = 16, .least = 8,
	},
	[COLUMN_QUANTILES + QUANTILE_READY] = { "READY99", "ready99", "ready99_ns=ready99", .drop = 12, },
	[COLUMN_QUANTILES + QUANTILE_EXIT] = { "EXIT99", "exit99", "exit99_ns=exit99", .drop = 13, },
	[COLUMN_TOP] = {
		"TOP REASON", "reason", "top_reason=reason/name,top_reason_share=reason/share",
		.drop = 11, .least = 10, .most = 22,
		.left = true,
	},
	[COLUMN_SOURCE] = { "SOURCE", "source", "statistics_source=source", .drop = 17, .left = true, },
	[COLUMN_NAME] = { "NAME", "name", "name", .left = true, },
};

enum column_id column_find(const char *key)
{
	enum column_id column;

	for (column = 0; column < NUM_COLUMNS; column++) {
		if (!strcmp(column_info[column].key, key))
			break;
	}
	return column;
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

/* Sort equal states by exits. */
static int compare_ranks(enum why left_why, const struct rates *left, enum why right_why,
			 const struct rates *right)
{
	int order = compare_numbers(why_rank(left_why, &left->shares),
				    why_rank(right_why, &right->shares));

	return order ? order : compare_rates(left, right, COLUMN_RATES + RATE_EXITS);
}

int compare_tracked(const struct tracked_vm *left, const struct tracked_vm *right,
		    enum column_id column)
{
	static const struct rates none;

	switch (column) {
	case COLUMN_PID:
		return compare_numbers(left->pid, right->pid);
	case COLUMN_NAME:
		return strcmp(left->name, right->name);
	case COLUMN_VM:
		return strcmp(left->id, right->id);
	case COLUMN_SOURCE:
		return strcmp(left->source, right->source);
	case COLUMN_VCPUS:
		return compare_numbers(left->num_vcpus, right->num_vcpus);
	case COLUMN_OTHER:
		return compare_numbers(left->other, right->other);
	case COLUMN_STATE:
		return compare_ranks(why_of_vm(left), &left->rates, why_of_vm(right),
				     &right->rates);
	default:
		/* One that has ended does nothing any more. */
		return compare_rates(left->ended ? &none : &left->rates,
				     right->ended ? &none : &right->rates, column);
	}
}

int compare_vcpus(const struct tracked_vcpu *left, const struct tracked_vcpu *right,
		  enum column_id column)
{
	if (column == COLUMN_PID)
		return compare_numbers(left->number, right->number);
	if (column == COLUMN_STATE)
		return compare_ranks(why_of_shares(&left->rates.shares), &left->rates,
				     why_of_shares(&right->rates.shares), &right->rates);
	return compare_rates(&left->rates, &right->rates, column);
}
