// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM statistics: the objects that hold the values and can outlive VM and vCPU.
 */
#include <linux/build_bug.h>
#include <linux/gfp.h>
#include <linux/kvm_host.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>

#include "stats.h"
#include "stats_time.h"

/* One page holds the values of an object. */
static_assert(sizeof(struct kvm_vm_stat) <= PAGE_SIZE);
static_assert(sizeof(struct kvm_vcpu_stat) <= PAGE_SIZE);

/*
 * Values live in a page of their own, not in a slab object: nothing else shares
 * its cache lines, and it can be mapped as it is. put_page() uncharges the
 * page when the last reference goes away. The page comes from the creator's node;
 * the creator of a vCPU usually is the thread that runs it.
 */
static u64 *alloc_values(void)
{
	struct page *page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);

	return page ? page_address(page) : NULL;
}

static struct kvm_stats *kvm_stats_alloc(const struct kvm_stats_format *format)
{
	struct kvm_stats *stats;

	stats = kzalloc(sizeof(*stats), GFP_KERNEL_ACCOUNT);
	if (!stats)
		return NULL;

	stats->values = alloc_values();
	if (!stats->values) {
		kfree(stats);
		return NULL;
	}

	stats->format = format;
	init_waitqueue_head(&stats->wait);
	xa_init_flags(&stats->vcpus, XA_FLAGS_ACCOUNT);
	refcount_set(&stats->refs, 1);
	return stats;
}

/*
 * VM and vCPUs share a random number. A count would tell the owner of a VM how many
 * others there are and how often VMs are created. It is never 0, so that readers
 * can use 0 for "unknown".
 */
static u64 new_vm_number(void)
{
	u64 number;

	do {
		number = get_random_u64();
	} while (!number);
	return number;
}

int kvm_vm_stats_create(struct kvm *kvm)
{
	struct kvm_stats *stats = kvm_stats_alloc(&kvm_vm_stats_format);

	if (!stats)
		return -ENOMEM;

	stats->vm_number = new_vm_number();
	snprintf(stats->id, sizeof(stats->id), "kvm-%d", task_pid_nr(current));

	kvm->stats_obj = stats;
	kvm->stat = (struct kvm_vm_stat *)stats->values;
	kvm->stat->ready_accounting = sched_info_on();
	return 0;
}

int kvm_vcpu_stats_create(struct kvm_vcpu *vcpu)
{
	struct kvm_stats *stats = kvm_stats_alloc(&kvm_vcpu_stats_format);

	if (!stats)
		return -ENOMEM;

	stats->vm_number = vcpu->kvm->stats_obj->vm_number;
	snprintf(stats->id, sizeof(stats->id), "kvm-%d/vcpu-%d",
		 task_pid_nr(current), vcpu->vcpu_id);

	stats->vcpu_id = vcpu->vcpu_id;
	vcpu->stats_obj = stats;
	vcpu->stat = (struct kvm_vcpu_stat *)stats->values;
	vcpu->stat->last_user_exit = KVM_USER_EXIT_NONE;
	kvm_stats_time_vcpu_init(vcpu);
	return 0;
}

/* Allocate the memory that kvm_vcpu_stats_publish() needs, which cannot fail. */
int kvm_vcpu_stats_reserve(struct kvm_vcpu *vcpu)
{
	lockdep_assert_held(&vcpu->kvm->lock);

	return xa_reserve(&vcpu->kvm->stats_obj->vcpus, vcpu->vcpu_idx,
			  GFP_KERNEL_ACCOUNT);
}

/*
 * Add the vCPU to the VM's object. Readers take no lock: a reader that sees
 * online_vcpus raised also sees the vCPU's object and values.
 */
void kvm_vcpu_stats_publish(struct kvm_vcpu *vcpu)
{
	struct kvm *kvm = vcpu->kvm;

	lockdep_assert_held(&kvm->lock);

	refcount_inc(&vcpu->stats_obj->refs);
	xa_store(&kvm->stats_obj->vcpus, vcpu->vcpu_idx, vcpu->stats_obj, GFP_NOWAIT);
	/* Pairs with kvm_stats_online_vcpus() and with readers in user space. */
	smp_wmb();
	WRITE_ONCE(kvm->stat->online_vcpus, vcpu->vcpu_idx + 1);
}

/* The number of vCPUs that a VM's file shows; 0 for a vCPU's file. */
u64 kvm_stats_online_vcpus(const struct kvm_stats *stats)
{
	struct kvm_vm_stat *stat = (struct kvm_vm_stat *)stats->values;
	u64 online_vcpus;

	if (!stats->format->ext.vcpu_max)
		return 0;

	online_vcpus = READ_ONCE(stat->online_vcpus);
	/* Pairs with kvm_vcpu_stats_publish(). */
	smp_rmb();
	return online_vcpus;
}

void kvm_stats_put(struct kvm_stats *stats)
{
	struct kvm_stats *vcpu_stats;
	unsigned long i;

	if (!refcount_dec_and_test(&stats->refs))
		return;

	xa_for_each(&stats->vcpus, i, vcpu_stats)
		kvm_stats_put(vcpu_stats);
	xa_destroy(&stats->vcpus);
	put_page(virt_to_page(stats->values));
	kfree(stats);
}

/* The VM or vCPU is gone. Open files keep showing the final values. */
void kvm_stats_destroy(struct kvm_stats *stats)
{
	/* A reader that sees this also sees the final values. */
	smp_store_release(&stats->dead, true);
	/* Also waiters with EPOLLEXCLUSIVE. */
	wake_up_all(&stats->wait);
	kvm_stats_put(stats);
}
