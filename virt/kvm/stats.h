/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics object and the format of the file that shows it, for those
 * parts of KVM that keep and show statistics.
 */
#ifndef __KVM_STATS_H__
#define __KVM_STATS_H__

#include <linux/kvm_stats.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct kvm;
struct kvm_vcpu;

/* Bytes of a statistic's name and of an id, NUL included. ABI. */
#define KVM_STATS_NAME_SIZE	48

/* A descriptor as it stands in the file, with its name. */
struct kvm_stats_record {
	struct kvm_stats_desc desc;
	char name[KVM_STATS_NAME_SIZE];
};

/* All of a statistics file that is the same for every VM, or every vCPU. */
struct kvm_stats_format {
	struct kvm_stats_header header;
	const struct kvm_stats_record *records;
	size_t file_size;		/* the values are its end */
};

/*
 * The statistics of one VM or vCPU. VM and vCPU hold a reference on their own
 * object, every open file holds one on what it shows, and the object holds
 * nothing but memory: that of the VM is free while files are still open. For
 * the same reason all that is reached from here is in kvm.ko, the vendor module
 * may be gone.
 */
struct kvm_stats {
	refcount_t refs;
	bool dead;			/* VM or vCPU is destroyed, for good */
	u64 vm_number;			/* the same for a VM and its vCPUs */
	const struct kvm_stats_format *format;
	u64 *values;			/* a page, what kvm->stat points to */
	char id[KVM_STATS_NAME_SIZE];
};

int kvm_vm_stats_create(struct kvm *kvm);
int kvm_vcpu_stats_create(struct kvm_vcpu *vcpu);
void kvm_stats_destroy(struct kvm_stats *stats);
void kvm_stats_put(struct kvm_stats *stats);

#endif
