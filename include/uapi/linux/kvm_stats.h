/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The format of KVM's statistics files: what a program finds in the file that
 * ioctl(KVM_GET_STATS_FD) on a VM or vCPU file descriptor returns.
 */
#ifndef _UAPI_LINUX_KVM_STATS_H
#define _UAPI_LINUX_KVM_STATS_H

#include <linux/types.h>

/**
 * struct kvm_stats_header - what stands at offset 0 of a statistics file
 * @flags: KVM_STATS_HEADER_*, a reader ignores bits that it does not know
 * @name_size: bytes of the name of each descriptor and of the id, NUL included
 * @num_desc: number of descriptors
 * @id_offset: offset in the file of the id, a NUL-terminated string
 * @desc_offset: offset in the file of the first descriptor
 * @data_offset: offset in the file of the data block
 *
 * 24 bytes. Constant while the file exists, as everything outside of the data
 * block and of the vCPU ids is. The blocks are aligned to 8 bytes, bytes between
 * them are zero.
 */
struct kvm_stats_header {
	__u32 flags;
	__u32 name_size;
	__u32 num_desc;
	__u32 id_offset;
	__u32 desc_offset;
	__u32 data_offset;
};

/* A struct kvm_stats_ext stands at id_offset + name_size. */
#define KVM_STATS_HEADER_EXT		0x1

/* Of that block. If it has another one, the flag means something else. */
#define KVM_STATS_EXT_MAGIC		0x7473766b

/**
 * struct kvm_stats_ext - the extension block of a statistics file
 * @size: bytes of this block; it grows at its end, never shrinks, and a reader
 *	ignores what it does not know
 * @magic: KVM_STATS_EXT_MAGIC; a reader ignores the block if it is not
 * @data_size: bytes of the data block, which can be mapped at
 *	kvm_stats_header.data_offset
 * @vcpu_stride: bytes from one vCPU window to the next, a multiple of the page size
 * @vcpu_mmap_offset: offset for mmap() of the first vCPU window: a page that
 *	starts with the data block of the VM's first vCPU
 * @vcpu_max: number of windows; those of vCPUs that do not exist yet, as the
 *	VM's statistic online_vcpus says, raise SIGBUS
 * @vcpu_num_desc: number of the descriptors of a vCPU
 * @vcpu_desc_offset: offset in the file of the first of them
 * @vcpu_data_size: bytes of a vCPU's data block
 * @vcpu_id_offset: offset in the file of a __u32 per window: the vCPU id, zero
 *	for a window of a vCPU that does not exist yet
 * @value_name_offset: offset in the file of the first struct kvm_stats_value_name,
 *	if there is one
 * @value_name_num: number of them
 * @value_name_size: bytes from one to the next, also of those of the vCPUs
 * @vcpu_value_name_offset: as value_name_offset, for the descriptors of a vCPU
 * @vcpu_value_name_num: number of those
 *
 * 64 bytes. The vcpu_* fields are zero in the file of a vCPU.
 */
struct kvm_stats_ext {
	__u32 size;
	__u32 magic;
	__u32 data_size;
	__u32 vcpu_stride;
	__u64 vcpu_mmap_offset;
	__u32 vcpu_max;
	__u32 vcpu_num_desc;
	__u32 vcpu_desc_offset;
	__u32 vcpu_data_size;
	__u32 vcpu_id_offset;
	__u32 value_name_offset;
	__u32 value_name_num;
	__u32 value_name_size;
	__u32 vcpu_value_name_offset;
	__u32 vcpu_value_name_num;
};

/*
 * Type of a statistic, bits 0-3 of the descriptor's flags.
 *
 * CUMULATIVE	only grows
 * INSTANT	goes up and down
 * PEAK		the highest value that was seen
 * LINEAR_HIST	bucket i counts the values in [i * bucket_size, (i + 1) *
 *		bucket_size), the last bucket has no upper bound
 * LOG_HIST	bucket 0 counts the value 0, bucket i the values in
 *		[2^(i - 1), 2^i), the last bucket has no upper bound
 */
#define KVM_STATS_TYPE_SHIFT		0
#define KVM_STATS_TYPE_MASK		(0xF << KVM_STATS_TYPE_SHIFT)
#define KVM_STATS_TYPE_CUMULATIVE	(0x0 << KVM_STATS_TYPE_SHIFT)
#define KVM_STATS_TYPE_INSTANT		(0x1 << KVM_STATS_TYPE_SHIFT)
#define KVM_STATS_TYPE_PEAK		(0x2 << KVM_STATS_TYPE_SHIFT)
#define KVM_STATS_TYPE_LINEAR_HIST	(0x3 << KVM_STATS_TYPE_SHIFT)
#define KVM_STATS_TYPE_LOG_HIST		(0x4 << KVM_STATS_TYPE_SHIFT)
#define KVM_STATS_TYPE_MAX		KVM_STATS_TYPE_LOG_HIST

/*
 * Unit of a statistic, bits 4-7: of a scalar's value, of a histogram's bucket
 * bounds. The values of a histogram are counts.
 */
#define KVM_STATS_UNIT_SHIFT		4
#define KVM_STATS_UNIT_MASK		(0xF << KVM_STATS_UNIT_SHIFT)
#define KVM_STATS_UNIT_NONE		(0x0 << KVM_STATS_UNIT_SHIFT)
#define KVM_STATS_UNIT_BYTES		(0x1 << KVM_STATS_UNIT_SHIFT)
#define KVM_STATS_UNIT_SECONDS		(0x2 << KVM_STATS_UNIT_SHIFT)
#define KVM_STATS_UNIT_CYCLES		(0x3 << KVM_STATS_UNIT_SHIFT)
#define KVM_STATS_UNIT_BOOLEAN		(0x4 << KVM_STATS_UNIT_SHIFT)
#define KVM_STATS_UNIT_MAX		KVM_STATS_UNIT_BOOLEAN

/* Base of the scale, bits 8-11: one unit times base^exponent. */
#define KVM_STATS_BASE_SHIFT		8
#define KVM_STATS_BASE_MASK		(0xF << KVM_STATS_BASE_SHIFT)
#define KVM_STATS_BASE_POW10		(0x0 << KVM_STATS_BASE_SHIFT)
#define KVM_STATS_BASE_POW2		(0x1 << KVM_STATS_BASE_SHIFT)
#define KVM_STATS_BASE_MAX		KVM_STATS_BASE_POW2

/**
 * struct kvm_stats_desc - describes one statistic
 * @flags: type, unit and base; a reader ignores bits 12-31
 * @exponent: of the scale; nanoseconds are UNIT_SECONDS, BASE_POW10, -9. Zero
 *	or more for UNIT_NONE, UNIT_BYTES and UNIT_CYCLES, zero or less for
 *	UNIT_SECONDS, zero for UNIT_BOOLEAN
 * @size: number of __u64 values, 1 for a scalar, the number of buckets for a
 *	histogram, of elements for an array
 * @offset: bytes from the start of the data block to the first value
 * @bucket_size: width of a bucket of a LINEAR_HIST, zero for all other types
 * @name: NUL-terminated and NUL-padded to kvm_stats_header.name_size bytes,
 *	unique over the statistics of VM and vCPU together
 *
 * 16 bytes and the name: the next descriptor follows 16 +
 * kvm_stats_header.name_size bytes later.
 */
struct kvm_stats_desc {
	__u32 flags;
	__s16 exponent;
	__u16 size;
	__u32 offset;
	__u32 bucket_size;
	char name[];
};

/**
 * struct kvm_stats_value_name - names one of a statistic's values
 * @desc: index of the statistic's descriptor
 * @value: which value: of a histogram or an array its index, of a scalar what the
 *	statistic says when it has this value
 * @name: NUL-terminated and NUL-padded to kvm_stats_header.name_size bytes,
 *	unique over the names of the statistic
 *
 * 8 bytes and the name. They are in the order of the descriptors and, for each, of
 * the values. Who looks for a certain value knows it by its name: the place differs
 * between architectures and kernels.
 */
struct kvm_stats_value_name {
	__u32 desc;
	__u32 value;
	char name[];
};

#endif /* _UAPI_LINUX_KVM_STATS_H */
