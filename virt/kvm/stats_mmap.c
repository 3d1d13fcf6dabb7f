// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM statistics in the memory of those who read them: a statistics object's
 * page of values, and in the mapping of a VM those of its vCPUs, one window each.
 * The pages are ordinary ones with a reference count, for ever read-only, and
 * hold nothing but values and zeros. They live as long as anyone maps them.
 */
#include <linux/kvm_host.h>
#include <linux/mm.h>
#include <linux/personality.h>

#include "stats.h"
#include "stats_mmap.h"

/* Enough that faults are few, and no load on the stack. */
#define PAGES_PER_FAULT	32

/* Page 0 is the object's own, from there on they are windows. */
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
 * Map the page that is missing, and those behind it as far as they exist: who
 * reads the window of a vCPU reads that of the next one, too.
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

	/* The vCPU may come later, and then this succeeds. */
	if (!num)
		return VM_FAULT_SIGBUS;

	/* It ends where a page is mapped already: by a fault at the same time. */
	left = num;
	r = vm_insert_pages(vmf->vma, vmf->address, pages, &left);
	if (left < num || r == -EBUSY)
		return VM_FAULT_NOPAGE;
	return r == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct kvm_stats_vm_ops = {
	.fault = kvm_stats_fault,
};

/*
 * Map data block and windows, or any part that is whole pages. The mapping holds
 * the file and thereby @stats.
 */
int kvm_stats_mmap(struct kvm_stats *stats, struct vm_area_struct *vma)
{
	unsigned long skip = vma->vm_pgoff - first_pgoff(stats);

	/*
	 * A private mapping would have copies, which show no counting and which
	 * a debugger may write. A shared one cannot be written, neither now nor
	 * after mprotect(), because the file is not open for writing.
	 */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;

	/*
	 * Where reading implies executing, as on processors that cannot tell one
	 * from the other, it does not for files that are not to be executed.
	 */
	if ((vma->vm_flags & VM_EXEC) &&
	    !(current->personality & READ_IMPLIES_EXEC))
		return -EPERM;

	if (vma->vm_pgoff < first_pgoff(stats) || skip >= num_pages(stats) ||
	    vma_pages(vma) > num_pages(stats) - skip)
		return -EINVAL;

	/* mprotect() must not allow to execute, mremap() not to go further. */
	vm_flags_clear(vma, VM_EXEC | VM_MAYEXEC);
	vm_flags_set(vma, VM_DONTEXPAND);
	/* For vm_insert_pages(), which must not set it in a fault. */
	vm_flags_set(vma, VM_MIXEDMAP);
	vma->vm_private_data = stats;
	vma->vm_ops = &kvm_stats_vm_ops;
	return 0;
}
