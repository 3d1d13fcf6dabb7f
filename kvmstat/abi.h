/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The format of statistics files. <linux/kvm.h> has a part of it since Linux 5.14; with this
 * file, kvmstat builds with the headers of any kernel.
 */
#ifndef KVMSTAT_ABI_H
#define KVMSTAT_ABI_H

#include <stdint.h>
#include <sys/ioctl.h>

#define STATS_KVM_RUN _IO(0xae, 0x80)
#define STATS_GET_FD _IO(0xae, 0xce)

struct stats_header {
	uint32_t flags, name_size, num_desc, id_offset, desc_offset, data_offset;
};

/* struct stats_header, flags: a struct stats_ext follows the id. */
#define STATS_HEADER_EXT 0x1
#define STATS_EXT_MAGIC 0x7473766b

struct stats_ext {
	uint32_t size, magic, data_size, vcpu_stride;
	uint64_t vcpu_mmap_offset;
	uint32_t vcpu_max, vcpu_num_desc, vcpu_desc_offset, vcpu_data_size, vcpu_id_offset;
	uint32_t value_name_offset, value_name_num, value_name_size;
	uint32_t vcpu_value_name_offset, vcpu_value_name_num;
};

/* The name follows. */
struct stats_desc {
	uint32_t flags;
	int16_t exponent;
	uint16_t size;
	uint32_t offset, bucket_size;
};

/* struct stats_desc, flags. Values that are not mapped can only be read. */
#define STATS_TYPE(flags) ((flags) & 0xf)
#define STATS_UNIT(flags) ((flags) >> 4 & 0xf)
#define STATS_BASE(flags) ((flags) >> 8 & 0xf)
#define STATS_NOT_MAPPED (1u << 31)

struct stats_value_name {
	uint32_t desc, value;
};

/* The statistic last_user_exit before the first exit to user space */
#define STATS_NO_EXIT 0xffffffff

#endif
