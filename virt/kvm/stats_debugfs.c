// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM statistics in debugfs: one text file per statistic. A file in a VM's directory
 * shows the sum over its vCPUs, a file in KVM's directory the sum over all VMs. A
 * statistic with several values has no file.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kvm_host.h>
#include <linux/slab.h>

#include "stats_debugfs.h"

struct kvm_stats_debugfs_item {
	const char *name;
	const char *alias;	/* name of the file before Linux 5.14 */
	umode_t mode;		/* of the file, 0 for the default of its type */
	bool no_file;		/* a sum over vCPUs means nothing */
	u32 type;
	bool per_vcpu;
	u16 index;		/* of the value within kvm->stat or vcpu->stat */
};

struct kvm_stats_debugfs_file {
	struct kvm *kvm;
	const struct kvm_stats_debugfs_item *item;
};

#define ITEM(container, stat, stat_type, vcpu, ...) {			\
	.name = #stat,							\
	.type = KVM_STATS_TYPE_##stat_type,				\
	.per_vcpu = vcpu,						\
	.index = offsetof(struct container, stat) / sizeof(u64),	\
	##__VA_ARGS__							\
},

static const struct kvm_stats_debugfs_item items[] = {
#define KVM_VM_STAT(ctype, stat, type, unit, help, ...)			\
	ITEM(kvm_vm_stat, stat, type, false, ##__VA_ARGS__)
#define KVM_VCPU_STAT(ctype, stat, type, unit, help, ...)		\
	ITEM(kvm_vcpu_stat, stat, type, true, ##__VA_ARGS__)
#define KVM_VCPU_HIST(...)
#include <linux/kvm_stats_list.h>
	/* Except these, which since Linux 5.14 have a file with their first bucket. */
	ITEM(kvm_vcpu_stat, halt_poll_success_hist, CUMULATIVE, true)
	ITEM(kvm_vcpu_stat, halt_poll_fail_hist, CUMULATIVE, true)
	ITEM(kvm_vcpu_stat, halt_wait_hist, CUMULATIVE, true)
};

/* Counters can be cleared; gauges cannot, they would be wrong. */
static umode_t item_file_mode(const struct kvm_stats_debugfs_item *item)
{
	if (item->mode)
		return item->mode;

	return item->type == KVM_STATS_TYPE_INSTANT ? 0444 : 0644;
}

static void create_file(const struct kvm_stats_debugfs_item *item,
			struct dentry *dir, void *data,
			const struct file_operations *fops)
{
	if (!item->no_file)
		debugfs_create_file(item->name, item_file_mode(item),
				    dir, data, fops);
}

static u64 *item_value(void *stat, const struct kvm_stats_debugfs_item *item)
{
	return (u64 *)stat + item->index;
}

static u64 item_sum(struct kvm *kvm, const struct kvm_stats_debugfs_item *item)
{
	struct kvm_vcpu *vcpu;
	u64 sum = 0;
	unsigned long i;

	if (!item->per_vcpu)
		return READ_ONCE(*item_value(kvm->stat, item));

	kvm_for_each_vcpu(i, vcpu, kvm)
		sum += READ_ONCE(*item_value(vcpu->stat, item));
	return sum;
}

/* Not exact on a running VM: an increment at the same time may undo it. */
static void item_clear(struct kvm *kvm,
		       const struct kvm_stats_debugfs_item *item)
{
	struct kvm_vcpu *vcpu;
	unsigned long i;

	if (!item->per_vcpu) {
		WRITE_ONCE(*item_value(kvm->stat, item), 0);
		return;
	}

	kvm_for_each_vcpu(i, vcpu, kvm)
		WRITE_ONCE(*item_value(vcpu->stat, item), 0);
}

static int vm_file_get(void *data, u64 *val)
{
	struct kvm_stats_debugfs_file *file = data;

	*val = item_sum(file->kvm, file->item);
	return 0;
}

static int vm_file_clear(void *data, u64 val)
{
	struct kvm_stats_debugfs_file *file = data;

	if (val)
		return -EINVAL;

	item_clear(file->kvm, file->item);
	return 0;
}

static int vm_file_open(struct inode *inode, struct file *filp)
{
	struct kvm_stats_debugfs_file *file = inode->i_private;
	bool writable = item_file_mode(file->item) & 0222;
	int r;

	/*
	 * When the last reference to the VM goes away, kvm_destroy_vm() has yet to
	 * remove the files: do not revive a VM that is dying.
	 */
	if (!refcount_inc_not_zero(&file->kvm->users_count))
		return -ENOENT;

	r = simple_attr_open(inode, filp, vm_file_get,
			     writable ? vm_file_clear : NULL, "%llu\n");
	if (r)
		kvm_put_kvm(file->kvm);
	return r;
}

static int vm_file_release(struct inode *inode, struct file *filp)
{
	struct kvm_stats_debugfs_file *file = inode->i_private;

	simple_attr_release(inode, filp);
	kvm_put_kvm(file->kvm);
	return 0;
}

static const struct file_operations vm_file_fops = {
	.owner		= THIS_MODULE,
	.open		= vm_file_open,
	.release	= vm_file_release,
	.read		= simple_attr_read,
	.write		= simple_attr_write,
};

static int all_vms_file_get(void *data, u64 *val)
{
	struct kvm *kvm;

	*val = 0;
	mutex_lock(&kvm_lock);
	list_for_each_entry(kvm, &vm_list, vm_list)
		*val += item_sum(kvm, data);
	mutex_unlock(&kvm_lock);
	return 0;
}

static int all_vms_file_clear(void *data, u64 val)
{
	struct kvm *kvm;

	if (val)
		return -EINVAL;

	mutex_lock(&kvm_lock);
	list_for_each_entry(kvm, &vm_list, vm_list)
		item_clear(kvm, data);
	mutex_unlock(&kvm_lock);
	return 0;
}

static int all_vms_file_open(struct inode *inode, struct file *filp)
{
	bool writable = item_file_mode(inode->i_private) & 0222;

	return simple_attr_open(inode, filp, all_vms_file_get,
				writable ? all_vms_file_clear : NULL, "%llu\n");
}

static const struct file_operations all_vms_file_fops = {
	.owner		= THIS_MODULE,
	.open		= all_vms_file_open,
	.release	= simple_attr_release,
	.read		= simple_attr_read,
	.write		= simple_attr_write,
};

void kvm_stats_debugfs_init(struct dentry *dir)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(items); i++)
		create_file(&items[i], dir, (void *)&items[i],
			    &all_vms_file_fops);
}

int kvm_stats_debugfs_create_vm(struct kvm *kvm)
{
	struct kvm_stats_debugfs_file *files;
	int i;

	files = kcalloc(ARRAY_SIZE(items), sizeof(*files), GFP_KERNEL_ACCOUNT);
	if (!files)
		return -ENOMEM;

	kvm->debugfs_stats_files = files;
	for (i = 0; i < ARRAY_SIZE(items); i++) {
		files[i].kvm = kvm;
		files[i].item = &items[i];
		create_file(&items[i], kvm->debugfs_dentry, &files[i],
			    &vm_file_fops);
	}
	return 0;
}

void kvm_stats_debugfs_destroy_vm(struct kvm *kvm)
{
	kfree(kvm->debugfs_stats_files);
}
