// SPDX-License-Identifier: GPL-2.0-only
/*
 * The format of KVM's statistics files: capability, ioctl, header, id, descriptors and data
 * layout, with every rule that existing clients rely on.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stddef.h>

#include "../kselftest_harness.h"
#include "stats_fd_file.h"

/* Clients carry their own copies of these: they never change. */
_Static_assert(KVM_CAP_BINARY_STATS_FD == 203, "capability");
_Static_assert(_IOC(_IOC_NONE, 0xae, 0xce, 0) == KVM_GET_STATS_FD, "ioctl");

#define FIELD_AT(type, field, at)					\
	_Static_assert(offsetof(struct type, field) == (at), #field)

_Static_assert(sizeof(struct kvm_stats_header) == 24, "header");
FIELD_AT(kvm_stats_header, flags, 0);
FIELD_AT(kvm_stats_header, name_size, 4);
FIELD_AT(kvm_stats_header, num_desc, 8);
FIELD_AT(kvm_stats_header, id_offset, 12);
FIELD_AT(kvm_stats_header, desc_offset, 16);
FIELD_AT(kvm_stats_header, data_offset, 20);

_Static_assert(KVM_STATS_HEADER_EXT == 1, "header flags");
_Static_assert(KVM_STATS_DESC_NOT_MAPPED == 0x80000000, "descriptor flags");

/* The block may grow. */
_Static_assert(sizeof(struct kvm_stats_ext) >= 48, "extension block");
_Static_assert(KVM_STATS_EXT_MAGIC == 0x7473766b, "magic number");
FIELD_AT(kvm_stats_ext, size, 0);
FIELD_AT(kvm_stats_ext, magic, 4);
FIELD_AT(kvm_stats_ext, data_size, 8);
FIELD_AT(kvm_stats_ext, vcpu_stride, 12);
FIELD_AT(kvm_stats_ext, vcpu_mmap_offset, 16);
FIELD_AT(kvm_stats_ext, vcpu_max, 24);
FIELD_AT(kvm_stats_ext, vcpu_num_desc, 28);
FIELD_AT(kvm_stats_ext, vcpu_desc_offset, 32);
FIELD_AT(kvm_stats_ext, vcpu_data_size, 36);
FIELD_AT(kvm_stats_ext, vcpu_id_offset, 40);
FIELD_AT(kvm_stats_ext, value_name_offset, 44);
FIELD_AT(kvm_stats_ext, value_name_num, 48);
FIELD_AT(kvm_stats_ext, value_name_size, 52);
FIELD_AT(kvm_stats_ext, vcpu_value_name_offset, 56);
FIELD_AT(kvm_stats_ext, vcpu_value_name_num, 60);

_Static_assert(sizeof(struct kvm_stats_value_name) == 8, "name of a value");
FIELD_AT(kvm_stats_value_name, desc, 0);
FIELD_AT(kvm_stats_value_name, value, 4);
FIELD_AT(kvm_stats_value_name, name, 8);

_Static_assert(sizeof(struct kvm_stats_desc) == 16, "descriptor");
FIELD_AT(kvm_stats_desc, flags, 0);
FIELD_AT(kvm_stats_desc, exponent, 4);
FIELD_AT(kvm_stats_desc, size, 6);
FIELD_AT(kvm_stats_desc, offset, 8);
FIELD_AT(kvm_stats_desc, bucket_size, 12);
FIELD_AT(kvm_stats_desc, name, 16);

_Static_assert(KVM_STATS_TYPE_SHIFT == 0, "type");
_Static_assert(KVM_STATS_TYPE_MASK == 0xf, "type");
_Static_assert(KVM_STATS_TYPE_CUMULATIVE == 0, "type");
_Static_assert(KVM_STATS_TYPE_INSTANT == 1, "type");
_Static_assert(KVM_STATS_TYPE_PEAK == 2, "type");
_Static_assert(KVM_STATS_TYPE_LINEAR_HIST == 3, "type");
_Static_assert(KVM_STATS_TYPE_LOG_HIST == 4, "type");
_Static_assert(KVM_STATS_TYPE_MAX == 4, "type");
_Static_assert(KVM_STATS_UNIT_SHIFT == 4, "unit");
_Static_assert(KVM_STATS_UNIT_MASK == 0xf0, "unit");
_Static_assert(KVM_STATS_UNIT_NONE == 0x00, "unit");
_Static_assert(KVM_STATS_UNIT_BYTES == 0x10, "unit");
_Static_assert(KVM_STATS_UNIT_SECONDS == 0x20, "unit");
_Static_assert(KVM_STATS_UNIT_CYCLES == 0x30, "unit");
_Static_assert(KVM_STATS_UNIT_BOOLEAN == 0x40, "unit");
_Static_assert(KVM_STATS_UNIT_MAX == 0x40, "unit");
_Static_assert(KVM_STATS_BASE_SHIFT == 8, "base");
_Static_assert(KVM_STATS_BASE_MASK == 0xf00, "base");
_Static_assert(KVM_STATS_BASE_POW10 == 0x000, "base");
_Static_assert(KVM_STATS_BASE_POW2 == 0x100, "base");
_Static_assert(KVM_STATS_BASE_MAX == 0x100, "base");

TEST(capability_is_1_on_dev_kvm_and_vm)
{
	EXPECT_EQ(1, ioctl(stats_open_kvm(_metadata), KVM_CHECK_EXTENSION, 203));
	EXPECT_EQ(1, ioctl(stats_create_vm(_metadata), KVM_CHECK_EXTENSION, 203));
}

/* The error of an unknown ioctl on /dev/kvm. */
#ifdef __mips__
#define UNKNOWN_IOCTL		(-ENOTTY)
#else
#define UNKNOWN_IOCTL		(-EINVAL)
#endif

TEST(ioctl_on_dev_kvm_is_unknown)
{
	int kvm = stats_open_kvm(_metadata);

	EXPECT_EQ(UNKNOWN_IOCTL, result(ioctl(kvm, KVM_GET_STATS_FD, 0)));
}

/* stats_fd_id_test compares files with each other. */
TEST_F(file, ioctl_ignores_its_argument)
{
	static unsigned long canary = ULONG_MAX / 0xff * 0x5a;
	/* Clients pass garbage, which may be a valid pointer. */
	const unsigned long args[] = {
		0, 1, 7, 8, 9, 4095, 4096, 4097, INT_MAX, UINT_MAX, LONG_MAX, LONG_MIN,
		0xdeadbeefcafef00dULL & ULONG_MAX, -4096UL, -1UL, (unsigned long)&canary,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(args); i++) {
		EXPECT_EQ(0, stats_same(ioctl(self->source, KVM_GET_STATS_FD, args[i]),
					&self->file)) {
			TH_LOG("argument %#lx", args[i]);
		}
	}
	EXPECT_EQ(ULONG_MAX / 0xff * 0x5a, canary);
}

TEST_F(file, header_has_the_fixed_numbers)
{
	const struct kvm_stats_header *header = &self->file.header;
	char byte;

	EXPECT_EQ(0U, header->flags & ~KVM_STATS_HEADER_EXT);
	EXPECT_EQ(48U, header->name_size);
	EXPECT_EQ(24U, header->id_offset);
	EXPECT_LT(0U, header->num_desc);
	/* The data is the end of the file. */
	EXPECT_EQ(1, pread(self->file.fd, &byte, 1, self->file.size - 1));
	EXPECT_EQ(0, pread(self->file.fd, &byte, 1, self->file.size));
}

struct block {
	size_t offset;
	size_t size;
};

/* The blocks of a file, in their order. */
#define MAX_BLOCKS	9

static unsigned int all_blocks(const struct stats_file *f, struct block block[MAX_BLOCKS])
{
	const struct kvm_stats_header *header = &f->header;
	const struct kvm_stats_ext *ext = &f->ext;
	const struct block all[MAX_BLOCKS] = {
		{ 0, sizeof(*header) },
		{ header->id_offset, header->name_size },
		{ header->id_offset + header->name_size, ext->size },
		{ header->desc_offset, header->num_desc * stats_stride(f) },
		{ ext->value_name_offset,
		  ext->value_name_num * ext->value_name_size },
		{ ext->vcpu_desc_offset, ext->vcpu_num_desc * stats_stride(f) },
		{ ext->vcpu_value_name_offset,
		  ext->vcpu_value_name_num * ext->value_name_size },
		{ ext->vcpu_id_offset, ext->vcpu_max * sizeof(__u32) },
		{ header->data_offset, f->data_size },
	};
	unsigned int i, n = 0;

	for (i = 0; i < MAX_BLOCKS; i++) {
		if (all[i].size)
			block[n++] = all[i];
	}
	return n;
}

TEST_F(file, blocks_are_aligned_without_overlap_and_with_zeros_between)
{
	const struct stats_file *f = &self->file;
	struct block block[MAX_BLOCKS];
	unsigned int i, n = all_blocks(f, block);
	size_t at;

	EXPECT_EQ(0U, stats_stride(f) % 8);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(0U, block[i].offset % 8) TH_LOG("block %u", i);
		if (!i)
			continue;
		at = block[i - 1].offset + block[i - 1].size;
		EXPECT_LE(at, block[i].offset) TH_LOG("block %u", i);
		for (; at < block[i].offset; at++)
			EXPECT_EQ(0, f->bytes[at]) TH_LOG("byte %zu", at);
	}
}

/* Return the length of a string that is padded with zeros, otherwise -1. */
static int padded_length(const char *s)
{
	size_t len = strnlen(s, STATS_NAME_SIZE);
	size_t i;

	for (i = len; i < STATS_NAME_SIZE; i++) {
		if (s[i])
			return -1;
	}
	return len < STATS_NAME_SIZE ? (int)len : -1;
}

TEST_F(file, names_are_padded_c_identifiers_and_id_is_padded)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;
	const char *c;

	EXPECT_LT(0, padded_length(stats_id(&self->file)));
	for (i = 0; (desc = stats_desc(&self->file, i)); i++) {
		EXPECT_LT(0, padded_length(desc->name)) TH_LOG("%.48s", desc->name);
		EXPECT_FALSE(isdigit((unsigned char)desc->name[0]));
		for (c = desc->name; *c; c++) {
			EXPECT_TRUE(isalnum((unsigned char)*c) || *c == '_') {
				TH_LOG("%.48s", desc->name);
			}
		}
	}
}

TEST_F(file, names_of_values_belong_to_descriptors_and_are_unique_there)
{
	const struct kvm_stats_value_name *v, *other;
	const struct stats_file *f = &self->file;
	const struct kvm_stats_desc *desc;
	unsigned int i, j;

	if (f->ext.value_name_num)
		EXPECT_EQ(8U + 48U, f->ext.value_name_size);
	for (i = 0; (v = stats_value_name(f, i)); i++) {
		desc = stats_desc(f, v->desc);
		ASSERT_NE(NULL, desc) TH_LOG("name %u: '%.48s'", i, v->name);
		EXPECT_TRUE(desc->size == 1 || v->value < desc->size) TH_LOG("%.48s", v->name);
		EXPECT_LT(0, padded_length(v->name)) TH_LOG("%.48s", v->name);
		for (j = 0; j < i; j++) {
			other = stats_value_name(f, j);
			EXPECT_FALSE(v->desc == other->desc &&
				     (v->value == other->value || !strcmp(v->name, other->name))) {
				TH_LOG("%s", v->name);
			}
		}
	}
}

/* Return how many values of a statistic have a name. */
static unsigned int names_of(const struct stats_file *f, const struct kvm_stats_desc *desc)
{
	const struct kvm_stats_value_name *v;
	unsigned int i, num = 0;

	for (i = 0; (v = stats_value_name(f, i)); i++)
		num += stats_desc(f, v->desc) == desc;
	return num;
}

static void expect_descriptor(struct __test_metadata *_metadata, const struct stats_file *f,
			      const struct kvm_stats_desc *desc)
{
	unsigned int type = desc->flags & 0x00f, unit = desc->flags & 0x0f0;

	EXPECT_GE(0x004U, type);
	EXPECT_GE(0x040U, unit);
	EXPECT_GE(0x100U, desc->flags & 0xf00);
	EXPECT_EQ(0U, desc->flags & ~0xfffU);
	EXPECT_EQ(type == KVM_STATS_TYPE_LINEAR_HIST, desc->bucket_size != 0);
	EXPECT_TRUE(desc->exponent <= 0 || unit != KVM_STATS_UNIT_SECONDS);
	EXPECT_TRUE(desc->exponent >= 0 || unit == KVM_STATS_UNIT_SECONDS);
	EXPECT_TRUE(!desc->exponent || unit != KVM_STATS_UNIT_BOOLEAN);
	/* Only names say what the elements of an array are. */
	EXPECT_TRUE(stats_is_hist(desc) ? desc->size > 1 :
		    desc->size == 1 || desc->size == names_of(f, desc));
	if (unit == KVM_STATS_UNIT_BOOLEAN && !stats_is_hist(desc))
		EXPECT_GE(1UL, stats_value(f, desc, 0));
	if (!__test_passed(_metadata))
		TH_LOG("descriptor of %s", desc->name);
}

TEST_F(file, descriptors_have_valid_flags_size_and_exponent)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(&self->file, i)); i++)
		expect_descriptor(_metadata, &self->file, desc);
}

/* One statistic of each kind, the others come from the same lists. */
TEST_F(file, descriptors_have_type_unit_and_exponent_of_their_statistic)
{
	static const struct {
		const char *name;
		bool vcpu;
		__u32 flags;
		__s16 exponent;
	} known[] = {
		{ "remote_tlb_flush", false, KVM_STATS_TYPE_CUMULATIVE },
		{ "online_vcpus", false, KVM_STATS_TYPE_INSTANT },
		{ "halt_successful_poll", true, KVM_STATS_TYPE_CUMULATIVE },
		{ "halt_poll_fail_ns", true, KVM_STATS_TYPE_CUMULATIVE |
		  KVM_STATS_UNIT_SECONDS | KVM_STATS_BASE_POW10, -9 },
	};
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		desc = stats_find(&self->file, known[i].name);
		EXPECT_EQ(known[i].vcpu == variant->vcpu, !!desc);
		if (!desc)
			continue;
		EXPECT_EQ(known[i].flags, desc->flags) TH_LOG("%s", desc->name);
		EXPECT_EQ(known[i].exponent, desc->exponent) TH_LOG("%s", desc->name);
		EXPECT_EQ(1, desc->size) TH_LOG("%s", desc->name);
	}
}

/* QEMU allocates the sum of all sizes and does not check offsets. */
TEST_F(file, data_is_dense_and_does_not_overlap)
{
	const struct stats_file *f = &self->file;
	const struct kvm_stats_desc *desc;
	char *used = calloc(f->data_size, 1);
	unsigned int i, j;

	ASSERT_NE(NULL, used);
	for (i = 0; (desc = stats_desc(f, i)); i++) {
		EXPECT_EQ(0U, desc->offset % 8) TH_LOG("%s", desc->name);
		ASSERT_GE(f->data_size, desc->offset + 8UL * desc->size) TH_LOG("%s", desc->name);
		/* Each byte of the sum is used once: there is no hole. */
		for (j = 0; j < 8U * desc->size; j++)
			EXPECT_EQ(0, used[desc->offset + j]++) TH_LOG("%s", desc->name);
	}
}

/* vCPU ids are sparse and not in order, so that none is the index of its window. */
#define EXT_VCPUS	5

FIXTURE(extension)
{
	long page;
	int vm;
	int id[EXT_VCPUS];
	int vcpu[EXT_VCPUS];
	struct stats_file vm_file;	/* opened before there were vCPUs */
	struct stats_file vcpu_file;	/* of the first vCPU */
};

FIXTURE_SETUP(extension)
{
	const int ids[EXT_VCPUS] = { 4, 3, 5, 0, 2 };
	int i;

	self->page = sysconf(_SC_PAGESIZE);
	self->vm = stats_create_vm(_metadata);
	stats_load(_metadata, stats_get_fd(_metadata, self->vm), &self->vm_file);
	if (!stats_has_ext(&self->vm_file))
		SKIP(return, "no extension block on this kernel");

	memcpy(self->id, ids, sizeof(ids));
	self->id[0] = stats_max_vcpus(_metadata) - 1;
	ASSERT_LT(5, self->id[0]);
	for (i = 0; i < EXT_VCPUS; i++)
		self->vcpu[i] = stats_create_vcpu(_metadata, self->vm, self->id[i]);
	stats_load(_metadata, stats_get_fd(_metadata, self->vcpu[0]), &self->vcpu_file);
}

FIXTURE_TEARDOWN(extension) { }

/* Blocks never become smaller than the first released one. */
TEST_F(extension, block_is_behind_the_id_and_begins_with_size_and_magic)
{
	const struct stats_file *file[] = { &self->vm_file, &self->vcpu_file };
	struct kvm_stats_ext ext;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(file); i++) {
		EXPECT_EQ(1U, file[i]->header.flags);
		EXPECT_EQ(48, pread(file[i]->fd, &ext, 48, 24 + 48));
		EXPECT_LE(48U, ext.size);
		EXPECT_EQ(0x7473766bU, ext.magic);
		EXPECT_EQ(0U, ext.size % 8);
		EXPECT_LE(24 + 48 + ext.size, file[i]->header.desc_offset);
	}
}

TEST_F(extension, block_describes_data_and_windows)
{
	const struct stats_file *vm = &self->vm_file, *vcpu = &self->vcpu_file;
	const struct kvm_stats_ext *ext = &vm->ext;

	EXPECT_EQ(vm->data_size, ext->data_size);
	EXPECT_EQ(vcpu->data_size, vcpu->ext.data_size);
	EXPECT_EQ(vcpu->data_size, ext->vcpu_data_size);
	EXPECT_EQ(0U, vm->header.data_offset % self->page);
	EXPECT_EQ(0U, vcpu->header.data_offset % self->page);
	EXPECT_EQ(0U, ext->vcpu_mmap_offset % self->page);
	EXPECT_LE(vm->size, ext->vcpu_mmap_offset);
	EXPECT_EQ(0U, ext->vcpu_stride % self->page);
	EXPECT_LE(ext->vcpu_data_size, ext->vcpu_stride);
	EXPECT_LE(stats_max_vcpus(_metadata), (int)ext->vcpu_max);
}

TEST_F(extension, vm_file_has_descriptors_and_names_of_values_of_vcpus)
{
	const struct stats_file *vm = &self->vm_file, *vcpu = &self->vcpu_file;

	ASSERT_EQ(vcpu->header.num_desc, vm->ext.vcpu_num_desc);
	EXPECT_EQ(0, memcmp(stats_desc(vcpu, 0), stats_vcpu_desc(vm, 0),
			    vcpu->header.num_desc * stats_stride(vcpu)));
	ASSERT_EQ(vcpu->ext.value_name_num, vm->ext.vcpu_value_name_num);
	ASSERT_EQ(vcpu->ext.value_name_size, vm->ext.value_name_size);
	EXPECT_EQ(0, memcmp(vcpu->bytes + vcpu->ext.value_name_offset,
			    vm->bytes + vm->ext.vcpu_value_name_offset,
			    vcpu->ext.value_name_num * vcpu->ext.value_name_size));
}

TEST_F(extension, vcpu_fields_are_0_in_a_vcpu_file)
{
	const struct kvm_stats_ext *ext = &self->vcpu_file.ext;

	EXPECT_EQ(0U, ext->vcpu_mmap_offset);
	EXPECT_EQ(0U, ext->vcpu_stride);
	EXPECT_EQ(0U, ext->vcpu_max);
	EXPECT_EQ(0U, ext->vcpu_num_desc);
	EXPECT_EQ(0U, ext->vcpu_desc_offset);
	EXPECT_EQ(0U, ext->vcpu_data_size);
	EXPECT_EQ(0U, ext->vcpu_id_offset);
	EXPECT_EQ(0U, ext->vcpu_value_name_offset);
	EXPECT_EQ(0U, ext->vcpu_value_name_num);
}

static void expect_vcpus(struct __test_metadata *_metadata, const struct stats_file *f,
			 const int *ids, unsigned int num)
{
	struct stats_file now;
	unsigned int i;

	EXPECT_EQ(num, stats_read(_metadata, f, "online_vcpus"));
	stats_load(_metadata, dup(f->fd), &now);
	for (i = 0; i < f->ext.vcpu_max; i++) {
		EXPECT_EQ(i < num ? (__u32)ids[i] : 0, stats_vcpu_id(&now, i)) {
			TH_LOG("window %u of %d vCPUs", i, num);
		}
	}
	stats_unload(&now);
}

TEST_F(extension, vm_file_has_number_and_ids_of_vcpus_in_the_order_of_creation)
{
	const struct kvm_stats_desc *desc = stats_get(_metadata, &self->vm_file, "online_vcpus");
	int vm = stats_create_vm(_metadata);
	int vcpu[EXT_VCPUS], i;
	struct stats_file file;

	EXPECT_EQ(0x001U, desc->flags);
	EXPECT_EQ(1, desc->size);
	expect_vcpus(_metadata, &self->vm_file, self->id, EXT_VCPUS);

	stats_load(_metadata, stats_get_fd(_metadata, vm), &file);
	for (i = 0; i < EXT_VCPUS; i++) {
		expect_vcpus(_metadata, &file, self->id, i);
		vcpu[i] = stats_create_vcpu(_metadata, vm, self->id[i]);
	}
	expect_vcpus(_metadata, &file, self->id, EXT_VCPUS);
	/* vCPUs are never removed, and the final values stay. */
	for (i = 0; i < EXT_VCPUS; i++)
		close(vcpu[i]);
	expect_vcpus(_metadata, &file, self->id, EXT_VCPUS);
	close(vm);
	expect_vcpus(_metadata, &file, self->id, EXT_VCPUS);
}

TEST_F(extension, vcpu_whose_creation_fails_does_not_count)
{
	EXPECT_EQ(STATS_KNOWN_VCPU_ID, result(ioctl(self->vm, KVM_CREATE_VCPU, self->id[0])));
	EXPECT_EQ(-EINVAL, result(ioctl(self->vm, KVM_CREATE_VCPU, -1UL)));
	expect_vcpus(_metadata, &self->vm_file, self->id, EXT_VCPUS);
}

TEST_HARNESS_MAIN
