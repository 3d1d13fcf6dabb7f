// SPDX-License-Identifier: GPL-2.0-only
/*
 * The format of KVM's statistics files: capability, ioctl, header, id,
 * descriptors and data layout, with every rule that existing clients rely on.
 * A file that breaks one of them crashes or misleads programs that exist.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stddef.h>

#include "../kselftest_harness.h"
#include "stats_fd_arch.h"

/* Clients carry their own copies of these, so they can't ever change. */
_Static_assert(KVM_CAP_BINARY_STATS_FD == 203, "capability");
_Static_assert(KVM_GET_STATS_FD == 0xaece, "ioctl");
#ifdef _LINUX_KVM_STATS_H
_Static_assert(KVM_CAP_STATS_BINARY_FD == KVM_CAP_BINARY_STATS_FD, "alias");
#endif

#define FIELD_AT(type, field, at)					\
	_Static_assert(offsetof(struct type, field) == (at), #field)

_Static_assert(sizeof(struct kvm_stats_header) == 24, "header");
FIELD_AT(kvm_stats_header, flags, 0);
FIELD_AT(kvm_stats_header, name_size, 4);
FIELD_AT(kvm_stats_header, num_desc, 8);
FIELD_AT(kvm_stats_header, id_offset, 12);
FIELD_AT(kvm_stats_header, desc_offset, 16);
FIELD_AT(kvm_stats_header, data_offset, 20);

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

FIXTURE(ioctl)
{
	int kvm;
	int vm;
	int vcpu;
};

FIXTURE_SETUP(ioctl)
{
	self->kvm = stats_open_kvm(_metadata);
	self->vm = stats_create_vm(_metadata, self->kvm);
	self->vcpu = stats_create_vcpu(_metadata, self->vm, 0);
}

FIXTURE_TEARDOWN(ioctl)
{
	close(self->vcpu);
	close(self->vm);
	close(self->kvm);
}

TEST_F(ioctl, capability_on_dev_kvm_is_1)
{
	EXPECT_EQ(1, ioctl(self->kvm, KVM_CHECK_EXTENSION, 203));
}

TEST_F(ioctl, capability_on_vm_is_1)
{
	EXPECT_EQ(1, ioctl(self->vm, KVM_CHECK_EXTENSION, 203));
}

/* The argument is ignored: callers exist that pass garbage. */
static const unsigned long ignored_args[] = {
	0, 1, 7, 8, 9, 4095, 4096, 4097, INT_MAX, UINT_MAX, LONG_MAX,
	0xdeadbeefcafef00dUL, 1UL << 63, -4096UL, -1UL,
};

TEST_F(ioctl, on_dev_kvm_is_EINVAL)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ignored_args); i++) {
		EXPECT_EQ(-EINVAL, result(ioctl(self->kvm, KVM_GET_STATS_FD,
						ignored_args[i]))) {
			TH_LOG("argument %#lx", ignored_args[i]);
		}
	}
}

static void expect_argument_ignored(struct __test_metadata *_metadata, int fd)
{
	struct stats_file first, other;
	unsigned long arg, canary = 0x5a5a5a5a5a5a5a5aUL;
	unsigned int i;

	stats_load(_metadata, stats_get_fd(_metadata, fd), &first);
	for (i = 0; i <= ARRAY_SIZE(ignored_args); i++) {
		/* After the list a pointer, which must not be followed. */
		arg = i < ARRAY_SIZE(ignored_args) ? ignored_args[i] :
						     (unsigned long)&canary;
		stats_load(_metadata, ioctl(fd, KVM_GET_STATS_FD, arg), &other);
		ASSERT_EQ(first.size, other.size) TH_LOG("argument %#lx", arg);
		EXPECT_EQ(0, memcmp(first.bytes, other.bytes, first.size)) {
			TH_LOG("argument %#lx", arg);
		}
		stats_unload(&other);
	}
	EXPECT_EQ(0x5a5a5a5a5a5a5a5aUL, canary);
	stats_unload(&first);
}

TEST_F(ioctl, on_vm_ignores_its_argument)
{
	expect_argument_ignored(_metadata, self->vm);
}

TEST_F(ioctl, on_vcpu_ignores_its_argument)
{
	expect_argument_ignored(_metadata, self->vcpu);
}

/*
 * The rules for one file. The fixture "machine" shows that all files of a kind
 * have the same header and descriptors.
 */
FIXTURE(format)
{
	int kvm;
	int vm;
	int vcpu;
	struct stats_file file;
};

FIXTURE_VARIANT(format)
{
	bool vcpu;
};

FIXTURE_VARIANT_ADD(format, vm)
{
	.vcpu = false,
};

FIXTURE_VARIANT_ADD(format, vcpu)
{
	.vcpu = true,
};

FIXTURE_SETUP(format)
{
	self->kvm = stats_open_kvm(_metadata);
	self->vm = stats_create_vm(_metadata, self->kvm);
	self->vcpu = stats_create_vcpu(_metadata, self->vm, 0);
	stats_load(_metadata, stats_get_fd(_metadata, variant->vcpu ?
					   self->vcpu : self->vm), &self->file);
}

FIXTURE_TEARDOWN(format)
{
	stats_unload(&self->file);
	close(self->vcpu);
	close(self->vm);
	close(self->kvm);
}

TEST_F(format, header_has_the_fixed_numbers)
{
	const struct kvm_stats_header *header = &self->file.header;

	EXPECT_EQ(0U, header->flags);
	EXPECT_EQ(48U, header->name_size);
	EXPECT_EQ(24U, header->id_offset);
	EXPECT_LT(0U, header->num_desc);
}

TEST_F(format, blocks_are_aligned_to_8_bytes)
{
	const struct kvm_stats_header *header = &self->file.header;

	EXPECT_EQ(0U, header->id_offset % 8);
	EXPECT_EQ(0U, header->desc_offset % 8);
	EXPECT_EQ(0U, header->data_offset % 8);
	EXPECT_EQ(0U, stats_stride(&self->file) % 8);
}

TEST_F(format, blocks_follow_each_other_without_overlap)
{
	const struct kvm_stats_header *header = &self->file.header;

	EXPECT_LE(sizeof(*header), header->id_offset);
	EXPECT_LE(header->id_offset + header->name_size, header->desc_offset);
	EXPECT_LE(header->desc_offset +
		  header->num_desc * stats_stride(&self->file),
		  header->data_offset);
}

/* The offset of the first byte that is not zero, @to if all are. */
static size_t zeros_end(const struct stats_file *f, size_t from, size_t to)
{
	while (from < to && !f->bytes[from])
		from++;
	return from;
}

static void expect_zeros(struct __test_metadata *_metadata,
			 const struct stats_file *f, size_t from, size_t to)
{
	EXPECT_EQ(to, zeros_end(f, from, to));
}

TEST_F(format, gaps_between_blocks_read_as_zeros)
{
	const struct stats_file *f = &self->file;
	const struct kvm_stats_header *header = &f->header;

	expect_zeros(_metadata, f, sizeof(*header), header->id_offset);
	expect_zeros(_metadata, f, header->id_offset + header->name_size,
		     header->desc_offset);
	expect_zeros(_metadata, f, header->desc_offset +
		     header->num_desc * stats_stride(f), header->data_offset);
}

TEST_F(format, file_ends_with_the_data)
{
	const struct stats_file *f = &self->file;
	char byte;

	EXPECT_EQ(1, pread(f->fd, &byte, 1, f->size - 1));
	EXPECT_EQ(0, pread(f->fd, &byte, 1, f->size));
}

/* Returns the length of a string that is padded with zeros, else -1. */
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

TEST_F(format, id_is_padded_with_zeros)
{
	EXPECT_LT(0, padded_length(stats_id(&self->file)));
}

TEST_F(format, names_are_padded_with_zeros)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(&self->file, i)); i++) {
		EXPECT_LT(0, padded_length(desc->name)) {
			TH_LOG("descriptor %u: '%.48s'", i, desc->name);
		}
	}
}

TEST_F(format, names_are_c_identifiers)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;
	const char *c;

	for (i = 0; (desc = stats_desc(&self->file, i)); i++) {
		EXPECT_FALSE(isdigit((unsigned char)desc->name[0])) {
			TH_LOG("%.48s", desc->name);
		}
		for (c = desc->name; *c; c++) {
			EXPECT_TRUE(isalnum((unsigned char)*c) || *c == '_') {
				TH_LOG("%.48s", desc->name);
			}
		}
	}
}

TEST_F(format, types_units_and_bases_are_known)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(&self->file, i)); i++) {
		EXPECT_GE(0x004U, desc->flags & 0x00f) TH_LOG("%s", desc->name);
		EXPECT_GE(0x040U, desc->flags & 0x0f0) TH_LOG("%s", desc->name);
		EXPECT_GE(0x100U, desc->flags & 0xf00) TH_LOG("%s", desc->name);
	}
}

TEST_F(format, unused_descriptor_flags_are_0)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(&self->file, i)); i++) {
		EXPECT_EQ(0U, desc->flags & ~0xfffU) {
			TH_LOG("%s", desc->name);
		}
	}
}

TEST_F(format, exponent_sign_follows_the_unit)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(&self->file, i)); i++) {
		switch (desc->flags & KVM_STATS_UNIT_MASK) {
		case KVM_STATS_UNIT_NONE:
		case KVM_STATS_UNIT_BYTES:
		case KVM_STATS_UNIT_CYCLES:
			EXPECT_LE(0, desc->exponent) TH_LOG("%s", desc->name);
			break;
		case KVM_STATS_UNIT_SECONDS:
			EXPECT_GE(0, desc->exponent) TH_LOG("%s", desc->name);
			break;
		case KVM_STATS_UNIT_BOOLEAN:
			EXPECT_EQ(0, desc->exponent) TH_LOG("%s", desc->name);
			break;
		}
	}
}

TEST_F(format, scalars_have_size_1_and_histograms_buckets)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(&self->file, i)); i++) {
		if (stats_is_hist(desc)) {
			EXPECT_LT(1, desc->size) {
				TH_LOG("%s", desc->name);
			}
		} else {
			EXPECT_EQ(1, desc->size) {
				TH_LOG("%s", desc->name);
			}
		}
	}
}

TEST_F(format, bucket_size_is_nonzero_for_linear_histograms_only)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(&self->file, i)); i++) {
		EXPECT_EQ((desc->flags & KVM_STATS_TYPE_MASK) ==
			  KVM_STATS_TYPE_LINEAR_HIST, desc->bucket_size != 0) {
			TH_LOG("%s", desc->name);
		}
	}
}

/* QEMU reads the sum of all sizes and indexes it unchecked. */
TEST_F(format, data_is_dense_and_does_not_overlap)
{
	const struct stats_file *f = &self->file;
	const struct kvm_stats_desc *desc;
	char *used = calloc(f->data_size, 1);
	unsigned int i, j;

	ASSERT_NE(NULL, used);
	for (i = 0; (desc = stats_desc(f, i)); i++) {
		EXPECT_EQ(0U, desc->offset % 8) TH_LOG("%s", desc->name);
		ASSERT_GE(f->data_size, desc->offset + 8UL * desc->size) {
			TH_LOG("%s", desc->name);
		}
		/* As many bytes as are claimed, each once: no hole is left. */
		for (j = 0; j < 8U * desc->size; j++) {
			EXPECT_EQ(0, used[desc->offset + j]++) {
				TH_LOG("%s", desc->name);
			}
		}
	}
	free(used);
}

TEST_F(format, booleans_are_0_or_1)
{
	const struct stats_file *f = &self->file;
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(f, i)); i++) {
		if ((desc->flags & KVM_STATS_UNIT_MASK) !=
		    KVM_STATS_UNIT_BOOLEAN || stats_is_hist(desc))
			continue;
		EXPECT_GE(1UL, stats_value(f, desc, 0)) {
			TH_LOG("%s", desc->name);
		}
	}
}

static const struct stats_known generic_vm[] = {
	STATS_CUMULATIVE("remote_tlb_flush"),
	STATS_CUMULATIVE("remote_tlb_flush_requests"),
	{ }
};

static const struct stats_known generic_vcpu[] = {
	STATS_CUMULATIVE("halt_successful_poll"),
	STATS_CUMULATIVE("halt_attempted_poll"),
	STATS_CUMULATIVE("halt_poll_invalid"),
	STATS_CUMULATIVE("halt_wakeup"),
	STATS_TIME_NS("halt_poll_success_ns"),
	STATS_TIME_NS("halt_poll_fail_ns"),
	STATS_TIME_NS("halt_wait_ns"),
	STATS_INSTANT_BOOLEAN("blocking"),
	STATS_LOG_HIST_NS("halt_poll_success_hist", 32),
	STATS_LOG_HIST_NS("halt_poll_fail_hist", 32),
	STATS_LOG_HIST_NS("halt_wait_hist", 32),
	{ }
};

static void expect_known(struct __test_metadata *_metadata,
			 const struct stats_file *f,
			 const struct stats_known *known)
{
	const struct kvm_stats_desc *desc;

	for (; known->name; known++) {
		desc = stats_find(f, known->name);
		EXPECT_NE(NULL, desc) {
			TH_LOG("%s is missing", known->name);
		}
		if (!desc)
			continue;
		EXPECT_EQ(known->flags, desc->flags) {
			TH_LOG("%s", known->name);
		}
		EXPECT_EQ(known->exponent, desc->exponent) {
			TH_LOG("%s", known->name);
		}
		EXPECT_EQ(known->buckets ?: 1, desc->size) {
			TH_LOG("%s", known->name);
		}
	}
}

TEST_F(format, everything_that_is_counted_is_described)
{
	expect_known(_metadata, &self->file,
		     variant->vcpu ? generic_vcpu : generic_vm);
	expect_known(_metadata, &self->file,
		     variant->vcpu ? stats_arch_vcpu : stats_arch_vm);
}

TEST_HARNESS_MAIN
