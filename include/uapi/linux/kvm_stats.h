/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Extensions of KVM's statistics files: the extension block, and names of values.
 * <linux/kvm.h> has the format that they extend.
 */
#ifndef _UAPI_LINUX_KVM_STATS_H
#define _UAPI_LINUX_KVM_STATS_H

#include <linux/kvm.h>
#include <linux/types.h>

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
