// SPDX-License-Identifier: GPL-2.0
/*
 * Matches threads and vCPUs. A VMM numbers its vCPUs from 0 on, KVM's numbers may have gaps,
 * on x86 where cores or threads are no power of two: both have them in the same order.
 */
#include <stdlib.h>

#include "model/threads.h"
#include "util/util.h"

/* The VMM's; the caller frees them. */
static int *thread_numbers(const struct proc_threads *threads, size_t *count)
{
	int *number = xcalloc(threads->count, sizeof(*number));
	size_t i, found = 0;

	for (i = 0; i < threads->count; i++) {
		if (threads->thread[i].vcpu >= 0)
			number[found++] = threads->thread[i].vcpu;
	}
	*count = proc_sort_numbers(number, found);
	return number;
}

void threads_match(const struct proc_threads *threads, const struct vm *vm, int *vcpu)
{
	size_t i, num_vcpus, num_numbers;
	int *kvm = proc_vcpus(&vm->process->fds, &num_vcpus);
	int *vmm = thread_numbers(threads, &num_numbers);
	const int *found;

	/* Each vCPU has one, and each thread another. */
	for (i = 0; i < threads->count; i++) {
		vcpu[i] = NO_VCPU;
		if (threads->count != num_vcpus)
			continue;
		if (num_vcpus == 1) {
			vcpu[i] = kvm[0];
		} else if (num_numbers == num_vcpus) {
			found = proc_find_number(vmm, num_numbers, threads->thread[i].vcpu);
			vcpu[i] = kvm[found - vmm];
		}
	}
	free(vmm);
	free(kvm);
}
