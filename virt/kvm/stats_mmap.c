// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM statistics in mappings: the page of values of a statistics object, and in a
 * VM's mapping also the pages of its vCPUs, one window each. They are ordinary
 * reference-counted pages with values and zeros, always read-only, and live as
 * long as a process maps them.
 */
#include <linux/kvm_host.h>
#include <linux/mm.h>
#include <linux/personality.h>

#include "stats.h"
#include "stats_mmap.h"

/* A compromise between the number of faults and the size of an array on the stack. */
#define PAGES_PER_FAULT	32

/* Page 0 is the object's own page; windows follow. */
static unsigned long first_pgoff(const struct kvm_stats *stats)
{
	return stats->format->header.data_offset >> PAGE_SHIFT;
}

static unsigned long num_pages(const struct kvm_stats *stats)
{
	return 1 + stats->format->ext.vcpu_max;
}

/* NULL for a window whose vCPU does not exist yet. */
static struct page *values_page(const struct kvm_stats *stats, unsigned long nr)
{
	if (nr)
		stats = kvm_stats_vcpu(stats, nr - 1);
	return stats ? virt_to_page(stats->values) : NULL;
}

/*
 * Map the missing page and existing pages behind it: a reader of one vCPU's window
 * usually reads the next one, too.
 */
static vm_fault_t kvm_stats_fault(struct vm_fault *vmf)
{
	struct kvm_stats *stats = vmf->vma->vm_private_data;
	unsigned long first = vmf->pgoff - first_pgoff(stats);
	unsigned long most = (vmf->vma->vm_end - vmf->address) >> PAGE_SHIFT;
	struct page *pages[PAGES_PER_FAULT];
	unsigned long num, left;
	int r;

	most = min_t(unsigned long, most, PAGES_PER_FAULT);
	for (num = 0; num < most; num++) {
		pages[num] = values_page(stats, first + num);
		if (!pages[num])
			break;
	}

	/* Not a permanent error: the vCPU may be created later. */
	if (!num)
		return VM_FAULT_SIGBUS;

	/*
	 * vm_insert_pages() stops at a page that a concurrent fault has mapped, and fails with
	 * EFAULT if a concurrent madvise() has freed the page table: fault again.
	 */
	left = num;
	r = vm_insert_pages(vmf->vma, vmf->address, pages, &left);
	if (left < num || r == -EBUSY || r == -EFAULT)
		return VM_FAULT_NOPAGE;
	return r == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct kvm_stats_vm_ops = {
	.fault = kvm_stats_fault,
};

/*
 * Map data block and windows, or any range of whole pages of them. The mapping
 * holds the file, and the file holds @stats.
 */
int kvm_stats_mmap(struct kvm_stats *stats, struct vm_area_struct *vma)
{
	unsigned long skip = vma->vm_pgoff - first_pgoff(stats);

	/*
	 * A private mapping may contain copies: KVM does not update them, and a
	 * debugger can write to them. A shared mapping can never become writable,
	 * because the file is not open for writing.
	 */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;

	/*
	 * With READ_IMPLIES_EXEC, every mapping asks for VM_EXEC: map without it,
	 * as for files on a noexec mount.
	 */
	if ((vma->vm_flags & VM_EXEC) &&
	    !(current->personality & READ_IMPLIES_EXEC))
		return -EPERM;

	if (vma->vm_pgoff < first_pgoff(stats) || skip >= num_pages(stats) ||
	    vma_pages(vma) > num_pages(stats) - skip)
		return -EINVAL;

	/* mprotect() must not make it executable, nor mremap() enlarge it. */
	vm_flags_clear(vma, VM_EXEC | VM_MAYEXEC);
	vm_flags_set(vma, VM_DONTEXPAND);
	/* vm_insert_pages() needs it, and must not set it in a fault. */
	vm_flags_set(vma, VM_MIXEDMAP);
	vma->vm_private_data = stats;
	vma->vm_ops = &kvm_stats_vm_ops;
	return 0;
}
