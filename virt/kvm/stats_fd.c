// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM statistics file: KVM_GET_STATS_FD returns it. It shows one statistics
 * object to any process that holds the file, without a lock and without the VM.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kvm_host.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "stats.h"
#include "stats_fd.h"
#include "stats_mmap.h"

/**
 * DOC: layout of a statistics file
 *
 *	0		struct kvm_stats_header
 *	id_offset	id, KVM_STATS_NAME_SIZE bytes
 *			struct kvm_stats_ext
 *	desc_offset	num_desc times struct kvm_stats_record
 *	value_name_offset	value_name_num times struct kvm_stats_value_record
 *	vcpu_desc_offset	VM: vcpu_num_desc times struct kvm_stats_record
 *	vcpu_value_name_offset	VM: the same for the vCPUs' values
 *	vcpu_id_offset	VM: vcpu_max times u32, a vCPU's id or zero
 *			zeros up to a page boundary
 *	data_offset	data_size bytes of u64
 *			end of the file, for read()
 *	vcpu_mmap_offset	VM: vcpu_max windows, only for mmap()
 *
 * Only vCPU ids and data change. Header, descriptors and offsets come from the
 * format, ids and values from the object.
 */

/* Copy a part of one value. Returns the bytes copied. */
static size_t copy_fragment(char __user *buf, size_t count, const u64 *value,
			    size_t skip)
{
	u64 val = READ_ONCE(*value);

	return count - copy_to_user(buf, (char *)&val + skip, count);
}

/* Copy @num values. Returns the bytes copied: only whole values. */
#ifdef __KVM_COPY_TO_USER_LOADS_U64
/*
 * The loop below also works here, but takes up to three times the instructions, because
 * arm64 checks the address of each store. A copy on the stack takes almost twice as many.
 * Where copy_to_user() uses FEAT_MOPS, which may load single bytes, only the loop works.
 */
static size_t copy_whole_values(char __user *buf, size_t num, const u64 *values)
{
	size_t size = num * sizeof(u64);

	return round_down(size - copy_to_user(buf, values, size), sizeof(u64));
}
#else
/*
 * On x86, one value costs two instructions, and a round three or four more: most values are
 * copied in rounds of 32. The last round of a size ends with the last value, so that it may copy
 * some values again. If a copy faults, the loop at the end repeats the round up to that value.
 */
static size_t copy_whole_values(char __user *buf, size_t num, const u64 *values)
{
	const u64 *from = values, *end = values + num;
	u64 __user *to = (u64 __user *)buf;

	if (!user_write_access_begin(to, num * sizeof(u64)))
		return 0;

#define COPY(i, fault)	unsafe_put_user(READ_ONCE(from[i]), &to[i], fault)
#define COPY4(i) do {							\
	COPY((i), one_by_one);						\
	COPY((i) + 1, one_by_one);					\
	COPY((i) + 2, one_by_one);					\
	COPY((i) + 3, one_by_one);					\
} while (0)
#define COPY8(i)	do { COPY4(i); COPY4((i) + 4); } while (0)
#define COPY32(i)	do { COPY8(i); COPY8((i) + 8); COPY8((i) + 16); COPY8((i) + 24); } while (0)
#define COPY_IN_ROUNDS_OF(n) do {					\
	for (; from < end - (n); from += (n), to += (n))		\
		COPY##n(0);						\
	to -= from - (end - (n));					\
	from = end - (n);						\
	COPY##n(0);							\
	from = end;							\
} while (0)
	if (num >= 32)
		COPY_IN_ROUNDS_OF(32);
	else if (num >= 8)
		COPY_IN_ROUNDS_OF(8);
one_by_one:
	for (; from != end; from++, to++)
		COPY(0, out);
out:
	user_write_access_end();
	return (from - values) * sizeof(u64);
}
#endif

/* copy_values() for a range that begins or ends within a value. */
static noinline size_t copy_pieces(char __user *buf, size_t count,
				   const u64 *values, size_t pos)
{
	size_t skip = pos % sizeof(u64);
	size_t done = 0, n;

	values += pos / sizeof(u64);

	if (skip) {
		n = min(sizeof(u64) - skip, count);
		done = copy_fragment(buf, n, values++, skip);
		if (done < n)
			return done;
	}

	n = (count - done) / sizeof(u64);
	if (n) {
		size_t copied = copy_whole_values(buf + done, n, values);

		done += copied;
		if (copied < n * sizeof(u64))
			return done;
		values += n;
	}

	if (done < count)
		done += copy_fragment(buf + done, count - done, values, 0);
	return done;
}

/*
 * Copy @count bytes from offset @pos of the values. Returns the bytes copied.
 * Every value is loaded once, on a 64-bit host with one load: user space cannot
 * see half of an increment there, whatever the alignment of its buffer and offset.
 * Most readers read all values, or one.
 */
static size_t copy_values(char __user *buf, size_t count, const u64 *values,
			  size_t pos)
{
	if (unlikely((pos | count) % sizeof(u64)))
		return copy_pieces(buf, count, values, pos);

	values += pos / sizeof(u64);
	if (count > sizeof(u64))
		return copy_whole_values(buf, count / sizeof(u64), values);

	return put_user(READ_ONCE(*values), (u64 __user *)buf) ? 0 : count;
}

#define IDS_AT_ONCE	32

/* Get at most @size bytes of the block of vCPU ids, from offset @at on, into @ids. */
static const void *get_ids(const struct kvm_stats *stats, size_t at,
			   u32 ids[IDS_AT_ONCE], size_t *size)
{
	u64 online_vcpus = kvm_stats_online_vcpus(stats);
	size_t skip = at % sizeof(u32), i = at / sizeof(u32);
	u32 *id;

	for (id = ids; id < ids + IDS_AT_ONCE; id++, i++)
		*id = i < online_vcpus ? kvm_stats_vcpu(stats, i)->vcpu_id : 0;
	*size = min(*size, IDS_AT_ONCE * sizeof(u32) - skip);
	return (char *)ids + skip;
}

/*
 * Like copy_values(), for the blocks before the values and the zeros between them.
 * Copy zeros, because arm64's clear_user() does not say how much it has cleared.
 */
static noinline size_t copy_description(char __user *buf, size_t count,
					const struct kvm_stats *stats,
					size_t pos)
{
	const struct kvm_stats_format *format = stats->format;
	const struct kvm_stats_header *header = &format->header;
	const struct kvm_stats_ext *ext = &format->ext;
	/* In the order of the file. @count ends before the last one. */
	const struct {
		size_t offset, size;
		const void *bytes;
	} blocks[] = {
		{ 0, sizeof(*header), header },
		{ header->id_offset, sizeof(stats->id), stats->id },
		{ header->id_offset + sizeof(stats->id), ext->size, ext },
		{ header->desc_offset,
		  header->num_desc * sizeof(*format->records),
		  format->records },
		{ ext->value_name_offset,
		  ext->value_name_num * sizeof(*format->value_names),
		  format->value_names },
		{ ext->vcpu_desc_offset,
		  ext->vcpu_num_desc * sizeof(*format->vcpu_records),
		  format->vcpu_records },
		{ ext->vcpu_value_name_offset,
		  ext->vcpu_value_name_num * sizeof(*format->vcpu_value_names),
		  format->vcpu_value_names },
		{ ext->vcpu_id_offset, ext->vcpu_max * sizeof(u32), NULL },
		{ header->data_offset, 0, NULL },
	}, *block = blocks;
	const void *zeros = page_address(ZERO_PAGE(0));
	u32 ids[IDS_AT_ONCE];
	size_t done = 0;

	while (done < count) {
		size_t at = pos + done, n, left;
		const void *bytes;

		if (at < block->offset) {
			bytes = zeros;
			n = min_t(size_t, block->offset - at, PAGE_SIZE);
		} else if (at < block->offset + block->size) {
			bytes = block->bytes + (at - block->offset);
			n = block->offset + block->size - at;
			if (!block->bytes)
				bytes = get_ids(stats, at - block->offset, ids, &n);
		} else {
			block++;
			continue;
		}

		n = min(n, count - done);
		left = copy_to_user(buf + done, bytes, n);
		done += n - left;
		if (left)
			break;
	}

	return done;
}

static ssize_t kvm_stats_read(struct file *file, char __user *buf, size_t count,
			      loff_t *ppos)
{
	const struct kvm_stats *stats = file->private_data;
	const struct kvm_stats_format *format = stats->format;
	size_t data_offset = format->header.data_offset;
	size_t pos = *ppos;
	size_t done = 0;

	if (*ppos >= format->file_size || !count)
		return 0;

	count = min(count, format->file_size - pos);

	if (unlikely(pos < data_offset)) {
		size_t n = min(count, data_offset - pos);

		done = copy_description(buf, n, stats, pos);
		if (done < n || done == count)
			goto out;
	}

	done += copy_values(buf + done, count - done, stats->values,
			    pos + done - data_offset);
out:
	*ppos = pos + done;
	return done ?: -EFAULT;
}

static __poll_t kvm_stats_poll(struct file *file, poll_table *wait)
{
	struct kvm_stats *stats = file->private_data;
	__poll_t events = EPOLLIN | EPOLLRDNORM;

	/*
	 * Takes the lock of the wait queue: kvm_stats_destroy() either finds the waiter
	 * there, or has already set ->dead.
	 */
	poll_wait(file, &stats->wait, wait);

	/* Pairs with kvm_stats_destroy(). */
	if (smp_load_acquire(&stats->dead))
		events |= EPOLLHUP;
	return events;
}

static int kvm_stats_file_mmap(struct file *file, struct vm_area_struct *vma)
{
	return kvm_stats_mmap(file->private_data, vma);
}

static loff_t kvm_stats_llseek(struct file *file, loff_t offset, int whence)
{
	const struct kvm_stats *stats = file->private_data;

	return generic_file_llseek_size(file, offset, whence, MAX_LFS_FILESIZE,
					stats->format->file_size);
}

#ifdef CONFIG_PROC_FS
static void kvm_stats_show_fdinfo(struct seq_file *m, struct file *file)
{
	const struct kvm_stats *stats = file->private_data;
	/* Pairs with kvm_stats_destroy(). */
	bool dead = smp_load_acquire(&stats->dead);

	seq_printf(m, "id:\t%s\n", stats->id);
	seq_printf(m, "vm:\t%llu\n", stats->vm_number);
	seq_printf(m, "statistics:\t%u\n", stats->format->header.num_desc);
	seq_printf(m, "state:\t%s\n", dead ? "dead" : "alive");
}
#endif

static int kvm_stats_release(struct inode *inode, struct file *file)
{
	kvm_stats_put(file->private_data);
	return 0;
}

/* .owner is kvm.ko: a file needs nothing of the vendor module. */
static const struct file_operations kvm_stats_fops = {
	.owner		= THIS_MODULE,
	.release	= kvm_stats_release,
	.read		= kvm_stats_read,
	.llseek		= kvm_stats_llseek,
	.poll		= kvm_stats_poll,
	.mmap		= kvm_stats_file_mmap,
#ifdef CONFIG_PROC_FS
	.show_fdinfo	= kvm_stats_show_fdinfo,
#endif
};

static int kvm_stats_get_fd(struct kvm_stats *stats, const char *name)
{
	struct file *file;
	int fd;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;

	file = anon_inode_getfile(name, &kvm_stats_fops, stats, O_RDONLY);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}

	refcount_inc(&stats->refs);

	/* Without this, files of the anonymous inode have no position. */
	file->f_mode |= FMODE_LSEEK | FMODE_PREAD;
	fd_install(fd, file);
	return fd;
}

int kvm_vm_stats_get_fd(struct kvm *kvm)
{
	return kvm_stats_get_fd(kvm->stats_obj, "kvm-vm-stats");
}

int kvm_vcpu_stats_get_fd(struct kvm_vcpu *vcpu)
{
	char name[sizeof("kvm-vcpu-stats:") + 10];

	snprintf(name, sizeof(name), "kvm-vcpu-stats:%d", vcpu->vcpu_id);
	return kvm_stats_get_fd(vcpu->stats_obj, name);
}
