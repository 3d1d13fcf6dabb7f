/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics object and the format of the file that shows it, for those
 * parts of KVM that keep and show statistics.
 */
#ifndef __KVM_STATS_H__
#define __KVM_STATS_H__

#include <linux/kvm_host.h>
#include <linux/kvm_stats.h>
#include <linux/nospec.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

/* Bytes of a statistic's name and of an id, NUL included. ABI. */
#define KVM_STATS_NAME_SIZE	48

/* A descriptor as it stands in the file, with its name. */
struct kvm_stats_record {
	struct kvm_stats_desc desc;
	char name[KVM_STATS_NAME_SIZE];
};

/* The name of a value as it stands in the file. */
struct kvm_stats_value_record {
	struct kvm_stats_value_name value;
	char name[KVM_STATS_NAME_SIZE];
};

/* All of a statistics file that is the same for every VM, or every vCPU. */
struct kvm_stats_format {
	struct kvm_stats_header header;
	struct kvm_stats_ext ext;
	const struct kvm_stats_record *records;
	const struct kvm_stats_record *vcpu_records;	/* of a VM */
	const struct kvm_stats_value_record *value_names;
	const struct kvm_stats_value_record *vcpu_value_names;	/* of a VM */
	size_t file_size;		/* the values are its end */
};

/*
 * The statistics of one VM or vCPU. VM and vCPU hold a reference on their own
 * object, every open file holds one on what it shows, a VM's object one on
 * those of its vCPUs, and none holds anything but memory: that of the VM is free
 * while files are still open. For the same reason all that is reached from here
 * is in kvm.ko, the vendor module may be gone.
 */
struct kvm_stats {
	refcount_t refs;
	bool dead;			/* VM or vCPU is destroyed, for good */
	u64 vm_number;			/* random, of a VM and its vCPUs */
	const struct kvm_stats_format *format;
	u64 *values;			/* a page, what kvm->stat points to */
	struct xarray vcpus;		/* of a VM, by index of the vCPU */
	u32 vcpu_id;			/* of a vCPU */
	wait_queue_head_t wait;		/* for the end, or for more vCPUs */
	struct work_struct wake;	/* holds a reference while it is pending */
	char id[KVM_STATS_NAME_SIZE];
};

extern const struct kvm_stats_format kvm_vcpu_stats_format;

/* A vCPU of the VM by its index, or NULL if it does not exist yet. */
static inline const struct kvm_stats *kvm_stats_vcpu(const struct kvm_stats *stats,
						     unsigned long index)
{
	return xa_load((struct xarray *)&stats->vcpus, index);
}

/*
 * KVM_RUN returns @r, on powerpc also more than 0. User space shares kvm_run with KVM,
 * so its exit reason may be any number.
 */
static inline void kvm_stats_count_user_exit(struct kvm_vcpu *vcpu, int r)
{
	u32 reason = KVM_EXIT_INTR;

	if (r < 0 && r != -EINTR)
		return;

	if (r >= 0) {
		reason = READ_ONCE(vcpu->run->exit_reason);
		if (reason >= KVM_USER_EXITS)
			reason = KVM_EXIT_UNKNOWN;
		reason = array_index_nospec(reason, KVM_USER_EXITS);
	}
	++vcpu->stat->user_exits[reason];
}

int kvm_stats_init(void);
void kvm_stats_exit(void);
int kvm_vm_stats_create(struct kvm *kvm);
int kvm_vcpu_stats_create(struct kvm_vcpu *vcpu);
int kvm_vcpu_stats_reserve(struct kvm_vcpu *vcpu);
void kvm_vcpu_stats_publish(struct kvm_vcpu *vcpu);
u64 kvm_stats_online_vcpus(const struct kvm_stats *stats);
void kvm_stats_destroy(struct kvm_stats *stats);
void kvm_stats_put(struct kvm_stats *stats);

#endif
