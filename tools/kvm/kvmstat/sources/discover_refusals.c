// SPDX-License-Identifier: GPL-2.0
/* Reports missing files of VMs whose KVM gives them to the VMM only. */
#include <stdio.h>
#include <stdlib.h>

#include "sources/discover_refusals.h"
#include "sources/host.h"
#include "util/util.h"

enum refusal_kind { REFUSED_NOTHING, REFUSED_VM, REFUSED_VCPUS, REFUSED_ALL, };

static enum refusal_kind refusal_kind_of(const struct vm *vm, size_t *num_missing)
{
	int *number = proc_vcpus(&vm->process->fds, num_missing);
	size_t i, num_vcpus = *num_missing;

	for (i = 0; i < num_vcpus; i++)
		*num_missing -= !!vm_find_vcpu(vm, number[i]);
	free(number);
	if (!vm_has_statistics(vm))
		return REFUSED_ALL;
	if (*num_missing)
		return REFUSED_VCPUS;
	return vm->file.source.fd < 0 ? REFUSED_VM : REFUSED_NOTHING;
}

#define SHOWN_AS_ONE "pid %d (%s) has %u file descriptors of VMs, and nothing says which vCPU belongs to which: all are shown as one VM, of vCPUs with the same number one"

void discover_report_refusals(struct inventory *inventory)
{
	const struct vm *first[REFUSED_ALL + 1] = {};
	size_t i, count[REFUSED_ALL + 1] = {}, missing[REFUSED_ALL + 1], num_missing;
	char others[48] = "", *reason;
	enum refusal_kind kind;
	struct vm *vm;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		/* The VMM is not at fault for what could not be taken. */
		if (inventory->is_full || vm->dead || !vm->refusal.err || vm->refusal_said ||
		    vm->process->reported.err || !proc_count_vcpus(&vm->process->fds))
			continue;
		vm->refusal_said = true;
		if (vm_has_statistics(vm) && proc_count_fds(&vm->process->fds, true) > 1)
			inventory_add_note(inventory,
					   xasprintf(SHOWN_AS_ONE, vm->process->pid,
						     vm->process->name,
						     proc_count_fds(&vm->process->fds, true)));
		kind = refusal_kind_of(vm, &num_missing);
		if (count[kind]++)
			continue;
		first[kind] = vm;
		missing[kind] = num_missing;
	}
	for (kind = REFUSED_VM; kind <= REFUSED_ALL; kind++) {
		inventory->incomplete |= count[kind] && kind > REFUSED_VM;
		if (!count[kind] || inventory->refusals_said & 1u << kind)
			continue;
		inventory->refusals_said |= 1u << kind;
		if (kind == REFUSED_ALL)
			reason = host_explain(&first[kind]->refusal);
		else if (kind == REFUSED_VM)
			reason = xasprintf(VMM_ONLY ", which has none of the VM open");
		else
			reason = xasprintf(VMM_ONLY ", which has none of %zu vCPU%s open",
					   missing[kind], missing[kind] > 1 ? "s" : "");
		if (count[kind] > 1)
			snprintf(others, sizeof(others), " and %zu more", count[kind] - 1);
		inventory_add_note(inventory,
				   xasprintf("pid %d (%s)%s: %s", first[kind]->process->pid,
					     first[kind]->process->name, others, reason));
		*others = '\0';
		free(reason);
	}
}
