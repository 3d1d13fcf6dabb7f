// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM statistics: the constant formats of statistics files, made from the lists.
 */
#include <linux/build_bug.h>
#include <linux/kvm_host.h>
#include <linux/mm.h>

#include "stats.h"

/* The units of the lists: flags and exponent of a descriptor. */
#define UNIT_FLAGS_COUNT	(KVM_STATS_UNIT_NONE | KVM_STATS_BASE_POW10)
#define UNIT_EXPONENT_COUNT	0
#define UNIT_FLAGS_NANOSECONDS	(KVM_STATS_UNIT_SECONDS | KVM_STATS_BASE_POW10)
#define UNIT_EXPONENT_NANOSECONDS (-9)
#define UNIT_FLAGS_BOOLEAN	(KVM_STATS_UNIT_BOOLEAN | KVM_STATS_BASE_POW10)
#define UNIT_EXPONENT_BOOLEAN	0

#define RECORD(container, stat, type, unit, num) {			\
	.desc = {							\
		.flags = KVM_STATS_TYPE_##type | UNIT_FLAGS_##unit,	\
		.exponent = UNIT_EXPONENT_##unit,			\
		.size = num,						\
		.offset = offsetof(struct container, stat),		\
	},								\
	.name = #stat,							\
},

static const struct kvm_stats_record kvm_vm_stats_records[] = {
#define KVM_VM_STAT(ctype, stat, type, unit, ...)			\
	RECORD(kvm_vm_stat, stat, type, unit, 1)
#define KVM_VCPU_STAT(...)
#define KVM_VCPU_HIST(...)
#include <linux/kvm_stats_list.h>
};

static const struct kvm_stats_record kvm_vcpu_stats_records[] = {
#define KVM_VM_STAT(...)
#define KVM_VCPU_STAT(ctype, stat, type, unit, ...)			\
	RECORD(kvm_vcpu_stat, stat, type, unit, 1)
#define KVM_VCPU_HIST(stat, type, unit, num, ...)			\
	RECORD(kvm_vcpu_stat, stat, type, unit, num)
#include <linux/kvm_stats_list.h>
};

/* The index of a statistic in a vCPU's records. */
enum {
#define KVM_VM_STAT(...)
#define KVM_VCPU_STAT(ctype, stat, ...)	KVM_VCPU_STATS_INDEX_##stat,
#define KVM_VCPU_HIST(stat, ...)	KVM_VCPU_STATS_INDEX_##stat,
#include <linux/kvm_stats_list.h>
};

static const struct kvm_stats_value_record kvm_vcpu_stats_value_names[] = {
#define VALUE_NAME(stat, number, text) {				\
	.value = {							\
		.desc = KVM_VCPU_STATS_INDEX_##stat,			\
		.value = number,					\
	},								\
	.name = #text,							\
},
/* In the order of the descriptors. */
#ifdef CONFIG_HAVE_KVM_EXIT_REASONS
#define KVM_EXIT_REASON(reason, ...)					\
	VALUE_NAME(exit_reasons, KVM_EXIT_REASON_##reason, reason)
#include <asm/kvm_exit_reason_list.h>
#endif
#define KVM_USER_EXIT(number, name, ...)				\
	VALUE_NAME(last_user_exit, KVM_USER_EXIT_##name, name)
#include <linux/kvm_user_exit_list.h>
	VALUE_NAME(last_user_exit, KVM_USER_EXIT_NONE, none)
#define KVM_USER_EXIT(number, name, ...)				\
	VALUE_NAME(user_exits, KVM_USER_EXIT_##name, name)
#include <linux/kvm_user_exit_list.h>
#ifdef CONFIG_KVM_STATS_TIME
#define KVM_VCPU_STATE(name, ...)					\
	VALUE_NAME(state, KVM_VCPU_STATE_##name, name)
#include <linux/kvm_vcpu_state_list.h>
#define KVM_EXIT_REASON(reason, ...)					\
	VALUE_NAME(exit_reason_ns, KVM_EXIT_REASON_##reason, reason)
#include <asm/kvm_exit_reason_list.h>
#define KVM_EXIT_REASON(reason, ...)					\
	VALUE_NAME(exit_reason_sleep_ns, KVM_EXIT_REASON_##reason, reason)
#include <asm/kvm_exit_reason_list.h>
#endif
};

/* Names are unique over VM and vCPU: a duplicate enumerator does not compile. */
enum {
#define KVM_VM_STAT(ctype, stat, ...)	KVM_STATS_UNIQUE_##stat,
#define KVM_VCPU_STAT(ctype, stat, ...)	KVM_STATS_UNIQUE_##stat,
#define KVM_VCPU_HIST(stat, ...)	KVM_STATS_UNIQUE_##stat,
#include <linux/kvm_stats_list.h>
};

/*
 * Names fit into their field with a NUL, every value has 64 bits, and a statistic
 * with several values is a histogram or a CUMULATIVE array. A linear histogram would
 * need the width of its buckets.
 */
#define CHECK(container, stat, num)					\
	static_assert(sizeof(#stat) <= KVM_STATS_NAME_SIZE);		\
	static_assert(sizeof_field(struct container, stat) ==		\
		      (num) * sizeof(u64));
#define CHECK_STAT(container, stat, type)				\
	CHECK(container, stat, 1)					\
	static_assert(KVM_STATS_TYPE_##type < KVM_STATS_TYPE_LINEAR_HIST);
#define CHECK_HIST(container, stat, type, num)				\
	CHECK(container, stat, num)					\
	static_assert(KVM_STATS_TYPE_##type == KVM_STATS_TYPE_LOG_HIST || \
		      KVM_STATS_TYPE_##type == KVM_STATS_TYPE_CUMULATIVE); \
	static_assert((num) > 1 && (num) <= U16_MAX);
#define KVM_VM_STAT(ctype, stat, type, ...)				\
	CHECK_STAT(kvm_vm_stat, stat, type)
#define KVM_VCPU_STAT(ctype, stat, type, ...)				\
	CHECK_STAT(kvm_vcpu_stat, stat, type)
#define KVM_VCPU_HIST(stat, type, unit, num, ...)			\
	CHECK_HIST(kvm_vcpu_stat, stat, type, num)
#include <linux/kvm_stats_list.h>

#ifdef CONFIG_HAVE_KVM_EXIT_REASONS
#define KVM_EXIT_REASON(reason, ...)					\
	static_assert(sizeof(#reason) <= KVM_STATS_NAME_SIZE);
#include <asm/kvm_exit_reason_list.h>
#endif

#define KVM_USER_EXIT(number, name, ...)				\
	static_assert(sizeof(#name) <= KVM_STATS_NAME_SIZE);		\
	static_assert((int)KVM_USER_EXIT_##name == KVM_EXIT_##number);
#include <linux/kvm_user_exit_list.h>

#define KVM_VCPU_STATE(state, ...)					\
	static_assert(sizeof(#state) <= KVM_STATS_NAME_SIZE);
#include <linux/kvm_vcpu_state_list.h>

/*
 * Values are dense, because readers add up the sizes of the descriptors to get the
 * size of their buffer. With the sizes above only an alignment could make a hole.
 */
static_assert(__alignof__(struct kvm_vm_stat) <= sizeof(u64));
static_assert(__alignof__(struct kvm_vcpu_stat) <= sizeof(u64));

/* Readers rely on these bytes, see the uapi header. */
static_assert(sizeof(struct kvm_stats_header) == 24);
static_assert(sizeof(struct kvm_stats_ext) == 64);
static_assert(offsetof(struct kvm_stats_ext, magic) == 4);
static_assert(offsetof(struct kvm_stats_ext, vcpu_mmap_offset) == 16);
static_assert(offsetof(struct kvm_stats_ext, vcpu_id_offset) == 40);
static_assert(offsetof(struct kvm_stats_ext, vcpu_value_name_num) == 60);
static_assert(sizeof(struct kvm_stats_value_name) == 8);
static_assert(offsetof(struct kvm_stats_value_record, name) == 8);
static_assert(sizeof(struct kvm_stats_value_record) == 8 + KVM_STATS_NAME_SIZE);
static_assert(sizeof(struct kvm_stats_desc) == 16);
static_assert(offsetof(struct kvm_stats_record, name) == 16);
static_assert(sizeof(struct kvm_stats_record) == 16 + KVM_STATS_NAME_SIZE);

#define ID_OFFSET	sizeof(struct kvm_stats_header)
#define EXT_OFFSET	(ID_OFFSET + KVM_STATS_NAME_SIZE)
#define DESC_OFFSET	(EXT_OFFSET + sizeof(struct kvm_stats_ext))

/* The values start on a page boundary, zeros fill the gap before them. */
#define VCPU_VALUE_NAME_OFFSET	(DESC_OFFSET + sizeof(kvm_vcpu_stats_records))
#define VCPU_DATA_OFFSET						\
	PAGE_ALIGN(VCPU_VALUE_NAME_OFFSET + sizeof(kvm_vcpu_stats_value_names))

/* A VM's file also has the descriptors of its vCPUs, and their ids. */
#define VM_VCPU_DESC_OFFSET	(DESC_OFFSET + sizeof(kvm_vm_stats_records))
#define VM_VCPU_VALUE_NAME_OFFSET					\
	(VM_VCPU_DESC_OFFSET + sizeof(kvm_vcpu_stats_records))
#define VM_VCPU_ID_OFFSET						\
	(VM_VCPU_VALUE_NAME_OFFSET + sizeof(kvm_vcpu_stats_value_names))
#define VM_DATA_OFFSET							\
	PAGE_ALIGN(VM_VCPU_ID_OFFSET + KVM_MAX_VCPUS * sizeof(u32))

/* The file has the blocks in this order. */
static_assert(sizeof_field(struct kvm_stats, id) == EXT_OFFSET - ID_OFFSET);
#define CHECK_ORDER(block, next)	static_assert((block) <= (next))
CHECK_ORDER(DESC_OFFSET, VM_VCPU_DESC_OFFSET);
CHECK_ORDER(VM_VCPU_DESC_OFFSET, VM_VCPU_VALUE_NAME_OFFSET);
CHECK_ORDER(VM_VCPU_VALUE_NAME_OFFSET, VM_VCPU_ID_OFFSET);
CHECK_ORDER(VM_VCPU_ID_OFFSET, VM_DATA_OFFSET);
static_assert(IS_ALIGNED(DESC_OFFSET | VM_VCPU_DESC_OFFSET | VM_VCPU_ID_OFFSET,
			 sizeof(u64)));
static_assert(IS_ALIGNED(VCPU_VALUE_NAME_OFFSET | VM_VCPU_VALUE_NAME_OFFSET,
			 sizeof(u64)));

#define HEADER(all_records, values_offset) {				\
	.flags = KVM_STATS_HEADER_EXT,					\
	.name_size = KVM_STATS_NAME_SIZE,				\
	.num_desc = ARRAY_SIZE(all_records),				\
	.id_offset = ID_OFFSET,						\
	.desc_offset = DESC_OFFSET,					\
	.data_offset = values_offset,					\
}

const struct kvm_stats_format kvm_vm_stats_format = {
	.header = HEADER(kvm_vm_stats_records, VM_DATA_OFFSET),
	.ext = {
		.size = sizeof(struct kvm_stats_ext),
		.magic = KVM_STATS_EXT_MAGIC,
		.data_size = sizeof(struct kvm_vm_stat),
		.vcpu_mmap_offset = VM_DATA_OFFSET + PAGE_SIZE,
		.vcpu_stride = PAGE_SIZE,
		.vcpu_max = KVM_MAX_VCPUS,
		.vcpu_num_desc = ARRAY_SIZE(kvm_vcpu_stats_records),
		.vcpu_desc_offset = VM_VCPU_DESC_OFFSET,
		.vcpu_data_size = sizeof(struct kvm_vcpu_stat),
		.vcpu_id_offset = VM_VCPU_ID_OFFSET,
		/* Values of a VM have no names. */
		.value_name_offset = VM_VCPU_DESC_OFFSET,
		.value_name_size = sizeof(struct kvm_stats_value_record),
		.vcpu_value_name_offset = VM_VCPU_VALUE_NAME_OFFSET,
		.vcpu_value_name_num = ARRAY_SIZE(kvm_vcpu_stats_value_names),
	},
	.records = kvm_vm_stats_records,
	.vcpu_records = kvm_vcpu_stats_records,
	.vcpu_value_names = kvm_vcpu_stats_value_names,
	.file_size = VM_DATA_OFFSET + sizeof(struct kvm_vm_stat),
};

const struct kvm_stats_format kvm_vcpu_stats_format = {
	.header = HEADER(kvm_vcpu_stats_records, VCPU_DATA_OFFSET),
	.ext = {
		.size = sizeof(struct kvm_stats_ext),
		.magic = KVM_STATS_EXT_MAGIC,
		.data_size = sizeof(struct kvm_vcpu_stat),
		.value_name_offset = VCPU_VALUE_NAME_OFFSET,
		.value_name_num = ARRAY_SIZE(kvm_vcpu_stats_value_names),
		.value_name_size = sizeof(struct kvm_stats_value_record),
	},
	.records = kvm_vcpu_stats_records,
	.value_names = kvm_vcpu_stats_value_names,
	.file_size = VCPU_DATA_OFFSET + sizeof(struct kvm_vcpu_stat),
};
