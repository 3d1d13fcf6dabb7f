// SPDX-License-Identifier: GPL-2.0
/*
 * The columns, and the orders of VMs and vCPUs.
 */
#include <string.h>

#include "model/order.h"
#include "model/why.h"

/*
 * The pid and the shares that say why a VM is slow are the last to be left out. IDLE% and GUEST%
 * are what the other shares leave, so they are the first shares to be left out.
 */
const struct column_info column_info[NUM_COLUMNS] = {
	[COLUMN_PID] = { "PID", "pid", "pid", .drop = 1, .least = 6, },
	[COLUMN_VM] = { "VM", "id", "id", .drop = 18, .left = true, },
	[COLUMN_VCPUS] = { "VCPU", "vcpus", "vcpus", .drop = 14, },
	[COLUMN_STATE] = { "STATE", "state", "state", .drop = 3, .least = 7, .left = true, },
	[COLUMN_SHARES + SHARE_GUEST] = { "GUEST%", "guest", "guest=shares/guest", .drop = 6, },
	[COLUMN_SHARES + SHARE_KVM] = { "KVM%", "kvm", "kvm=shares/kvm", .drop = 2, },
	[COLUMN_SHARES + SHARE_VMM] = { "VMM%", "vmm", "vmm=shares/vmm", .drop = 4, },
	[COLUMN_SHARES + SHARE_READY] = { "READY%", "ready", "ready=shares/ready", .drop = 0, },
	[COLUMN_SHARES + SHARE_WAIT] = { "WAIT%", "wait", "wait=shares/wait", .drop = 5, },
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
	[COLUMN_QUANTILES + QUANTILE_READY] = {
		"READY99", "ready99", "ready99_ns=ready99", .drop = 12,
	},
	[COLUMN_QUANTILES + QUANTILE_EXIT] = {
		"EXIT99", "exit99", "exit99_ns=exit99", .drop = 13,
	},
	[COLUMN_TOP] = {
		"TOP REASON", "reason", "top_reason=reason/name,top_reason_share=reason/share",
		.drop = 11, .least = 10, .most = 22,
		.left = true,
	},
	[COLUMN_SOURCE] = {
		"SOURCE", "source", "statistics_source=source", .drop = 17, .left = true,
	},
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

static const struct rates no_rates;

static struct cell rates_cell(const struct rates *rates, enum column_id column)
{
	const struct quantile_of *quantile;

	if (!rates)
		rates = &no_rates;
	if (column_is_share(column))
		return (struct cell) {
			.known = rates->shares.known[column - COLUMN_SHARES],
			.number = rates->shares.part[column - COLUMN_SHARES],
		};
	if (column_is_rate(column))
		return (struct cell) {
			.known = rates->known[column - COLUMN_RATES],
			.number = rates->per_second[column - COLUMN_RATES],
		};
	if (column_is_quantile(column)) {
		quantile = &rates->quantile[column - COLUMN_QUANTILES];
		return (struct cell) {
			.known = quantile->known,
			.number = quantile->known ? quantile->bucket + 1.0 : 0,
		};
	}
	if (column == COLUMN_TOP)
		return (struct cell) { rates->known[RATE_EXITS], 0, rates_reason(rates), };
	return (struct cell) {};
}

struct cell vm_cell(const struct tracked_vm *vm, const struct rates *rates, enum column_id column)
{
	enum why why = why_of_vm(vm);

	switch (column) {
	case COLUMN_PID:
		return (struct cell) { true, vm->pid, NULL, };
	case COLUMN_VM:
		return (struct cell) { true, 0, vm->id, };
	case COLUMN_VCPUS:
		return (struct cell) { true, vm->num_vcpus, NULL, };
	case COLUMN_STATE:
		return (struct cell) { true, why_rank(why, &vm->rates.shares), why_names[why], };
	case COLUMN_OTHER:
		return (struct cell) { rates && vm->has_other, vm->other, NULL, };
	case COLUMN_SOURCE:
		return (struct cell) { true, 0, vm->source, };
	case COLUMN_NAME:
		return (struct cell) { true, 0, vm->name, };
	default:
		return rates_cell(rates, column);
	}
}

struct cell vcpu_cell(const struct tracked_vcpu *vcpu, const struct rates *rates,
		      enum column_id column)
{
	enum why why = why_of_shares(rates ? &rates->shares : &no_rates.shares);

	if (column == COLUMN_PID)
		return (struct cell) { true, vcpu->number, NULL, };
	if (column == COLUMN_STATE)
		return (struct cell) { true, why_rank(why, &vcpu->rates.shares), why_names[why], };
	return rates_cell(rates, column);
}

static int compare_cells(const struct cell *left, const struct cell *right, enum column_id column)
{
	if (left->text && column != COLUMN_STATE)
		return strcmp(left->text, right->text);
	return (left->number > right->number) - (left->number < right->number);
}

/* Sorts equal states by exits. A VM that has ended has no rates. */
int compare_tracked(const struct tracked_vm *left, const struct tracked_vm *right,
		    enum column_id column)
{
	const struct cell cells[] = {
		vm_cell(left, left->ended ? NULL : &left->rates, column),
		vm_cell(right, right->ended ? NULL : &right->rates, column),
	};
	int order = compare_cells(&cells[0], &cells[1], column);

	return order || column != COLUMN_STATE ? order :
	       compare_tracked(left, right, COLUMN_RATES + RATE_EXITS);
}

int compare_vcpus(const struct tracked_vcpu *left, const struct tracked_vcpu *right,
		  enum column_id column)
{
	const struct cell cells[] = {
		vcpu_cell(left, &left->rates, column), vcpu_cell(right, &right->rates, column),
	};
	int order = compare_cells(&cells[0], &cells[1], column);

	return order || column != COLUMN_STATE ? order :
	       compare_vcpus(left, right, COLUMN_RATES + RATE_EXITS);
}
