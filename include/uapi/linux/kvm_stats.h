/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Extensions of KVM's statistics files: the extension block, and names of values.
 * <linux/kvm.h> has the format that they extend. Documentation/virt/kvm/stats.rst
 * describes both.
 */
#ifndef _UAPI_LINUX_KVM_STATS_H
#define _UAPI_LINUX_KVM_STATS_H

#include <linux/kvm.h>
#include <linux/types.h>

/* kvm_stats_header.flags: a struct kvm_stats_ext is at id_offset + name_size. */
#define KVM_STATS_HEADER_EXT		0x1

/* kvm_stats_ext.magic. If the number differs, the flag means something else. */
#define KVM_STATS_EXT_MAGIC		0x7473766b

/*
 * kvm_stats_desc.flags: only a read returns the values of this statistic, a mapping has no
 * current ones. A reader of mappings must check it. No statistic has it yet.
 */
#define KVM_STATS_DESC_NOT_MAPPED	0x80000000

/**
 * struct kvm_stats_ext - the extension block of a statistics file
 * @size: bytes of this block. The block grows at its end and never shrinks. Ignore
 *	fields that you do not know.
 * @magic: KVM_STATS_EXT_MAGIC. If the number differs, ignore the block.
 * @data_size: bytes of the data block, which can be mapped at
 *	kvm_stats_header.data_offset
 * @vcpu_stride: bytes from one vCPU window to the next, a multiple of the page size
 * @vcpu_mmap_offset: offset of the first vCPU window, for mmap(). A window begins with
 *	the data block of one vCPU.
 * @vcpu_max: number of windows. The VM's statistic online_vcpus says how many belong to
 *	a vCPU. The others raise SIGBUS.
 * @vcpu_num_desc: number of vCPU descriptors
 * @vcpu_desc_offset: file offset of the first vCPU descriptor
 * @vcpu_data_size: bytes of a vCPU's data block
 * @vcpu_id_offset: file offset of the vCPU ids, one __u32 per window. An id is zero until
 *	its vCPU exists.
 * @value_name_offset: file offset of the first struct kvm_stats_value_name
 * @value_name_num: number of value names, can be zero
 * @value_name_size: bytes from one value name to the next, also for vCPU values
 * @vcpu_value_name_offset: file offset of the first name of a vCPU value
 * @vcpu_value_name_num: number of names of vCPU values
 *
 * 64 bytes. The vcpu_* fields are zero in a vCPU's file.
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
 * struct kvm_stats_value_name - the name of one value of a statistic
 * @desc: index of the statistic's descriptor
 * @value: in a histogram or an array, the index of the value; for a scalar, the number
 *	that has this name
 * @name: NUL-terminated and NUL-padded to kvm_stats_header.name_size bytes, unique
 *	within the statistic
 *
 * 8 bytes and the name, sorted by descriptor and value. Search by name: indexes differ
 * between architectures and kernels.
 */
struct kvm_stats_value_name {
	__u32 desc;
	__u32 value;
	char name[];
};

#endif /* _UAPI_LINUX_KVM_STATS_H */
