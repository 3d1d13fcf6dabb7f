/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics object, and the format of the file that shows it. Internal to
 * KVM's statistics code.
 */
#ifndef __KVM_STATS_H__
#define __KVM_STATS_H__

#include <linux/kvm_host.h>
#include <linux/kvm_stats.h>
#include <linux/nospec.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>

/* Size of a statistic's name and of an id in bytes, including the NUL. ABI. */
#define KVM_STATS_NAME_SIZE	48

/* A descriptor with its name, as in the file. */
struct kvm_stats_record {
	struct kvm_stats_desc desc;
	char name[KVM_STATS_NAME_SIZE];
};

/* The name of a value, as in the file. */
struct kvm_stats_value_record {
	struct kvm_stats_value_name value;
	char name[KVM_STATS_NAME_SIZE];
};

/* The part of a statistics file that is the same for all VMs, or all vCPUs. */
struct kvm_stats_format {
	struct kvm_stats_header header;
	struct kvm_stats_ext ext;
	const struct kvm_stats_record *records;
	const struct kvm_stats_record *vcpu_records;	/* of a VM */
	const struct kvm_stats_value_record *value_names;
	const struct kvm_stats_value_record *vcpu_value_names;	/* of a VM */
	size_t file_size;		/* up to the last value */
};

/*
 * The statistics of one VM or vCPU. VM and vCPU hold a reference to their own
 * object, each open file holds one to the object that it shows, and a VM's object
 * holds one to each of its vCPUs' objects. Nothing holds the VM: its memory is
 * freed while files are open. The vendor module may be unloaded by then: everything
 * that can be reached from here is in kvm.ko.
 */
struct kvm_stats {
	refcount_t refs;
	bool dead;			/* VM or vCPU is destroyed */
	u64 vm_number;			/* random, shared by VM and vCPUs */
	const struct kvm_stats_format *format;
	u64 *values;			/* the page that kvm->stat points to */
	struct xarray vcpus;		/* VM: objects by vCPU index */
	u32 vcpu_id;			/* vCPU only */
	wait_queue_head_t wait;		/* of poll(), for the end of VM or vCPU */
	char id[KVM_STATS_NAME_SIZE];
};

/* The object of a VM's vCPU, or NULL if the vCPU does not exist yet. */
static inline const struct kvm_stats *kvm_stats_vcpu(const struct kvm_stats *stats,
						     unsigned long index)
{
	return xa_load((struct xarray *)&stats->vcpus, index);
}

/*
 * Count that KVM_RUN returns @r, which can be positive on powerpc. User space can
 * write kvm_run at any time, so the exit reason there may be any number.
 */
static inline void kvm_stats_count_user_exit(struct kvm_vcpu *vcpu, int r)
{
	u32 reason = READ_ONCE(vcpu->run->exit_reason);
	struct kvm_vcpu_stat *stat = vcpu->stat;

	if (r < 0) {
		if (r == -EINTR)
			reason = KVM_EXIT_INTR;
		/* At a memory fault, KVM_RUN fails and has a reason. */
		else if (reason != KVM_EXIT_MEMORY_FAULT || (r != -EFAULT && r != -EHWPOISON))
			return;
	}

	/* array_index_nospec() is the bounds check: out of range it returns 0, KVM_EXIT_UNKNOWN. */
	reason = array_index_nospec(reason, KVM_USER_EXITS);
	++stat->user_exits[reason];
	WRITE_ONCE(stat->last_user_exit, reason);
}

extern const struct kvm_stats_format kvm_vm_stats_format;
extern const struct kvm_stats_format kvm_vcpu_stats_format;

int kvm_vm_stats_create(struct kvm *kvm);
int kvm_vcpu_stats_create(struct kvm_vcpu *vcpu);
int kvm_vcpu_stats_reserve(struct kvm_vcpu *vcpu);
void kvm_vcpu_stats_publish(struct kvm_vcpu *vcpu);
u64 kvm_stats_online_vcpus(const struct kvm_stats *stats);
void kvm_stats_destroy(struct kvm_stats *stats);
void kvm_stats_put(struct kvm_stats *stats);

#endif
