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

/* What may follow is read by its size. */
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
	0xdeadbeefcafef00dULL & ULONG_MAX, LONG_MIN, -4096UL, -1UL,
};

/* What /dev/kvm answers to an ioctl that it does not know. */
#ifdef __mips__
#define UNKNOWN_IOCTL		(-ENOTTY)
#else
#define UNKNOWN_IOCTL		(-EINVAL)
#endif

TEST_F(ioctl, on_dev_kvm_is_unknown)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ignored_args); i++) {
		EXPECT_EQ(UNKNOWN_IOCTL,
			  result(ioctl(self->kvm, KVM_GET_STATS_FD,
				       ignored_args[i]))) {
			TH_LOG("argument %#lx", ignored_args[i]);
		}
	}
}

static void expect_argument_ignored(struct __test_metadata *_metadata, int fd)
{
	struct stats_file first, other;
	unsigned long arg, canary = ULONG_MAX / 0xff * 0x5a;
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
	EXPECT_EQ(ULONG_MAX / 0xff * 0x5a, canary);
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

	EXPECT_EQ(0U, header->flags & ~KVM_STATS_HEADER_EXT);
	EXPECT_EQ(48U, header->name_size);
	EXPECT_EQ(24U, header->id_offset);
	EXPECT_LT(0U, header->num_desc);
}

struct block {
	size_t offset;
	size_t size;
};

/* All that stands in a file, in its order. */
#define MAX_BLOCKS	9

static unsigned int all_blocks(const struct stats_file *f,
			       struct block block[MAX_BLOCKS])
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

TEST_F(format, blocks_are_aligned_to_8_bytes)
{
	struct block block[MAX_BLOCKS];
	unsigned int i, n = all_blocks(&self->file, block);

	for (i = 0; i < n; i++) {
		EXPECT_EQ(0U, block[i].offset % 8) {
			TH_LOG("block %u", i);
		}
	}
	EXPECT_EQ(0U, stats_stride(&self->file) % 8);
}

TEST_F(format, blocks_follow_each_other_without_overlap)
{
	struct block block[MAX_BLOCKS];
	unsigned int i, n = all_blocks(&self->file, block);

	for (i = 1; i < n; i++) {
		EXPECT_LE(block[i - 1].offset + block[i - 1].size,
			  block[i].offset) {
			TH_LOG("blocks %u and %u", i - 1, i);
		}
	}
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
	struct block block[MAX_BLOCKS];
	unsigned int i, n = all_blocks(&self->file, block);

	for (i = 1; i < n; i++)
		expect_zeros(_metadata, &self->file,
			     block[i - 1].offset + block[i - 1].size,
			     block[i].offset);
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

/* Each belongs to a descriptor and, if that has several values, to one of them. */
TEST_F(format, names_of_values_belong_to_descriptors)
{
	const struct stats_file *f = &self->file;
	const struct kvm_stats_value_name *v;
	const struct kvm_stats_desc *desc;
	unsigned int i;

	if (f->ext.value_name_num)
		EXPECT_EQ(8U + 48U, f->ext.value_name_size);
	for (i = 0; (v = stats_value_name(f, i)); i++) {
		desc = stats_desc(f, v->desc);
		ASSERT_NE(NULL, desc) TH_LOG("name %u: '%.48s'", i, v->name);
		if (desc->size > 1) {
			EXPECT_GT(desc->size, v->value) {
				TH_LOG("%s: %.48s", desc->name, v->name);
			}
		}
		EXPECT_LT(0, padded_length(v->name)) {
			TH_LOG("%s: '%.48s'", desc->name, v->name);
		}
	}
}

TEST_F(format, names_of_values_are_in_order)
{
	const struct kvm_stats_value_name *v, *next;
	const struct stats_file *f = &self->file;
	unsigned int i;

	for (i = 0; (next = stats_value_name(f, i + 1)); i++) {
		v = stats_value_name(f, i);
		EXPECT_LE(v->desc, next->desc) TH_LOG("%s", next->name);
		if (v->desc == next->desc) {
			EXPECT_LT(v->value, next->value) {
				TH_LOG("%s", next->name);
			}
		}
	}
}

TEST_F(format, names_of_values_are_unique)
{
	const struct kvm_stats_value_name *v, *other;
	const struct stats_file *f = &self->file;
	unsigned int i, j;

	for (i = 0; (v = stats_value_name(f, i)); i++) {
		for (j = 0; j < i; j++) {
			other = stats_value_name(f, j);
			EXPECT_FALSE(v->desc == other->desc &&
				     (v->value == other->value ||
				      !strcmp(v->name, other->name))) {
				TH_LOG("%s", v->name);
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

/* How many of its values have a name. */
static unsigned int names_of(const struct stats_file *f,
			     const struct kvm_stats_desc *desc)
{
	const struct kvm_stats_value_name *v;
	unsigned int i, num = 0;

	for (i = 0; (v = stats_value_name(f, i)); i++)
		num += stats_desc(f, v->desc) == desc;
	return num;
}

/* Of several values that are no buckets, nothing else says what each is. */
TEST_F(format, histograms_have_buckets_and_arrays_have_names)
{
	const struct stats_file *f = &self->file;
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(f, i)); i++) {
		EXPECT_LT(0, desc->size) TH_LOG("%s", desc->name);
		if (stats_is_hist(desc)) {
			EXPECT_LT(1, desc->size) TH_LOG("%s", desc->name);
		} else if (desc->size > 1) {
			EXPECT_EQ(desc->size, names_of(f, desc)) {
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
	STATS_INSTANT_BOOLEAN("ready_accounting"),
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
	STATS_TIME_NS("ready_ns"),
	STATS_LOG_HIST_NS("halt_poll_success_hist", 32),
	STATS_LOG_HIST_NS("halt_poll_fail_hist", 32),
	STATS_LOG_HIST_NS("halt_wait_hist", 32),
	STATS_LOG_HIST_NS("ready_hist", 32),
	{ }
};

/* Of architectures that account for the time of vCPUs by state. */
#if defined(__x86_64__) || defined(__aarch64__)
#define STATS_HAVE_TIME		true
#else
#define STATS_HAVE_TIME		false
#endif

static const struct stats_known time_vm[] = {
	STATS_INSTANT_BOOLEAN("time_accounting"),
	{ }
};

static const struct stats_known time_vcpu[] = {
	STATS_INSTANT("state"),
	STATS_INSTANT_NS("state_since_ns"),
	STATS_TIME_NS("time_guest_ns"),
	STATS_TIME_NS("time_exit_ns"),
	STATS_TIME_NS("time_poll_ns"),
	STATS_TIME_NS("time_halt_ns"),
	STATS_TIME_NS("time_sleep_ns"),
	STATS_TIME_NS("time_user_ns"),
	STATS_LOG_HIST_NS("exit_hist", 32),
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

static void expect_time_of_each_reason(struct __test_metadata *_metadata,
				       const struct stats_file *f)
{
	const struct kvm_stats_desc *reasons = stats_find(f, "exit_reasons");
	struct stats_known known[] = {
		STATS_TIME_NS("exit_reason_ns"),
		{ }
	};

	ASSERT_NE(NULL, reasons);
	known[0].buckets = reasons->size;
	expect_known(_metadata, f, known);
}

TEST_F(format, everything_that_is_counted_is_described)
{
	expect_known(_metadata, &self->file,
		     variant->vcpu ? generic_vcpu : generic_vm);
	expect_known(_metadata, &self->file,
		     variant->vcpu ? stats_arch_vcpu : stats_arch_vm);
	if (!STATS_HAVE_TIME)
		return;
	expect_known(_metadata, &self->file,
		     variant->vcpu ? time_vcpu : time_vm);
	if (variant->vcpu)
		expect_time_of_each_reason(_metadata, &self->file);
}

/*
 * A reader from before the extension block: numbers instead of the kernel's
 * header, and nothing but what stands where it always stood.
 */
struct old_client {
	__u32 header[6];	/* flags, name_size, num_desc, three offsets */
	unsigned int num_desc;
	size_t data_size;
	char descs[256][16 + 48];
};

enum { NUM_DESC = 2, ID_OFFSET, DESC_OFFSET, DATA_OFFSET };

static void old_client_read(struct __test_metadata *_metadata, int fd,
			    struct old_client *c)
{
	size_t size;
	__u16 values;
	unsigned int i;
	char *data;

	ASSERT_EQ(24, pread(fd, c->header, 24, 0));
	c->num_desc = c->header[NUM_DESC];
	ASSERT_GE(256U, c->num_desc);
	size = c->num_desc * sizeof(c->descs[0]);
	ASSERT_EQ((ssize_t)size,
		  pread(fd, c->descs, size, c->header[DESC_OFFSET]));
	for (i = 0, c->data_size = 0; i < c->num_desc; i++) {
		memcpy(&values, c->descs[i] + 6, sizeof(values));
		c->data_size += 8 * values;
	}
	data = malloc(c->data_size + 1);
	ASSERT_NE(NULL, data);
	/* The data is all that follows. */
	EXPECT_EQ((ssize_t)c->data_size, pread(fd, data, c->data_size + 1,
					       c->header[DATA_OFFSET]));
	free(data);
}

static bool old_client_knows(const struct old_client *c, const char *name)
{
	unsigned int i;

	for (i = 0; i < c->num_desc; i++) {
		if (!strcmp(name, c->descs[i] + 16))
			return true;
	}
	return false;
}

/* The flag, the block, and what it points to do not exist for such a client. */
TEST_F(format, old_client_reads_the_statistics_of_its_file_and_no_others)
{
	const struct stats_known *own = variant->vcpu ? generic_vcpu :
							generic_vm;
	const struct stats_known *other = variant->vcpu ? generic_vm :
							  generic_vcpu;
	struct old_client client;
	char id[48];

	old_client_read(_metadata, self->file.fd, &client);
	ASSERT_EQ(48, pread(self->file.fd, id, 48, 24));
	EXPECT_STREQ(stats_id(&self->file), id);
	for (; own->name; own++) {
		EXPECT_TRUE(old_client_knows(&client, own->name)) {
			TH_LOG("%s", own->name);
		}
	}
	for (; other->name; other++) {
		EXPECT_FALSE(old_client_knows(&client, other->name)) {
			TH_LOG("%s", other->name);
		}
	}
}

/*
 * The extension block: what one file tells of all. vCPU ids are sparse and do
 * not ascend, so that they are no numbers of windows.
 */
#define EXT_VCPUS	5

FIXTURE(extension)
{
	long page;
	int kvm;
	int vm;
	int id[EXT_VCPUS];
	int vcpu[EXT_VCPUS];
	struct stats_file vm_file;	/* from before there were vCPUs */
	struct stats_file vcpu_file;	/* of the first one */
};

FIXTURE_SETUP(extension)
{
	const int ids[EXT_VCPUS] = { 4, 3, 5, 0, 2 };
	int i;

	self->page = sysconf(_SC_PAGESIZE);
	self->kvm = stats_open_kvm(_metadata);
	self->vm = stats_create_vm(_metadata, self->kvm);
	stats_load(_metadata, stats_get_fd(_metadata, self->vm),
		   &self->vm_file);
	if (!stats_has_ext(&self->vm_file))
		SKIP_IN_SETUP("no extension block on this kernel");
	if (!self->vm_file.ext.vcpu_max)
		SKIP_IN_SETUP("no vCPUs in the file of a VM on this kernel");

	memcpy(self->id, ids, sizeof(ids));
	self->id[0] = ioctl(self->kvm, KVM_CHECK_EXTENSION,
			    KVM_CAP_MAX_VCPUS) - 1;
	ASSERT_LT(5, self->id[0]);
	for (i = 0; i < EXT_VCPUS; i++)
		self->vcpu[i] = stats_create_vcpu(_metadata, self->vm,
						  self->id[i]);
	stats_load(_metadata, stats_get_fd(_metadata, self->vcpu[0]),
		   &self->vcpu_file);
}

FIXTURE_TEARDOWN(extension)
{
	int i;

	stats_unload(&self->vcpu_file);
	stats_unload(&self->vm_file);
	for (i = 0; i < EXT_VCPUS; i++)
		close(self->vcpu[i]);
	close(self->vm);
	close(self->kvm);
}

/* Only the block itself can tell: its size is no less than what is released. */
TEST_F(extension, stands_behind_the_id_and_begins_with_its_size_and_magic)
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

TEST_F(extension, data_size_is_the_sum_of_the_descriptors)
{
	EXPECT_EQ(self->vm_file.data_size, self->vm_file.ext.data_size);
	EXPECT_EQ(self->vcpu_file.data_size, self->vcpu_file.ext.data_size);
}

TEST_F(extension, data_is_at_a_page_boundary)
{
	EXPECT_EQ(0U, self->vm_file.header.data_offset % self->page);
	EXPECT_EQ(0U, self->vcpu_file.header.data_offset % self->page);
}

TEST_F(extension, of_a_vcpu_tells_of_no_vcpus)
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

TEST_F(extension, has_the_names_of_a_vcpus_values)
{
	const struct stats_file *vm = &self->vm_file;
	const struct stats_file *vcpu = &self->vcpu_file;

	ASSERT_EQ(vcpu->ext.value_name_num, vm->ext.vcpu_value_name_num);
	ASSERT_EQ(vcpu->ext.value_name_size, vm->ext.value_name_size);
	EXPECT_EQ(0, memcmp(vcpu->bytes + vcpu->ext.value_name_offset,
			    vm->bytes + vm->ext.vcpu_value_name_offset,
			    vcpu->ext.value_name_num *
			    vcpu->ext.value_name_size));
}

TEST_F(extension, windows_are_whole_pages_behind_the_data)
{
	const struct stats_file *f = &self->vm_file;
	const struct kvm_stats_ext *ext = &f->ext;

	EXPECT_EQ(0U, ext->vcpu_mmap_offset % self->page);
	EXPECT_LE(f->size, ext->vcpu_mmap_offset);
	EXPECT_LT(0U, ext->vcpu_stride);
	EXPECT_EQ(0U, ext->vcpu_stride % self->page);
	EXPECT_LE(ext->vcpu_data_size, ext->vcpu_stride);
}

TEST_F(extension, has_a_window_for_every_vcpu_that_a_vm_can_have)
{
	EXPECT_LE(ioctl(self->kvm, KVM_CHECK_EXTENSION, KVM_CAP_MAX_VCPUS),
		  (int)self->vm_file.ext.vcpu_max);
}

TEST_F(extension, has_the_descriptors_of_a_vcpu)
{
	const struct stats_file *vm = &self->vm_file;
	const struct stats_file *vcpu = &self->vcpu_file;

	EXPECT_EQ(vcpu->data_size, vm->ext.vcpu_data_size);
	ASSERT_EQ(vcpu->header.num_desc, vm->ext.vcpu_num_desc);
	ASSERT_EQ(vcpu->header.name_size, vm->header.name_size);
	EXPECT_EQ(0, memcmp(stats_desc(vcpu, 0), stats_vcpu_desc(vm, 0),
			    vcpu->header.num_desc * stats_stride(vcpu)));
}

/* Of a file that was opened before there was any of them. */
static void expect_ids(struct __test_metadata *_metadata,
		       const struct stats_file *f, const int *ids, int num)
{
	struct stats_file now;
	unsigned int i;

	stats_load(_metadata, dup(f->fd), &now);
	for (i = 0; i < f->ext.vcpu_max; i++) {
		EXPECT_EQ(i < (unsigned int)num ? (__u32)ids[i] : 0,
			  stats_vcpu_id(&now, i)) {
			TH_LOG("window %u of %d vCPUs", i, num);
		}
	}
	stats_unload(&now);
}

TEST_F(extension, has_the_vcpu_ids_in_the_order_of_creation)
{
	/* What was read when there was no vCPU yet. */
	expect_zeros(_metadata, &self->vm_file,
		     self->vm_file.ext.vcpu_id_offset,
		     self->vm_file.ext.vcpu_id_offset +
		     self->vm_file.ext.vcpu_max * sizeof(__u32));
	expect_ids(_metadata, &self->vm_file, self->id, EXT_VCPUS);
}

TEST_F(extension, ids_of_one_vm_are_not_those_of_another)
{
	int vm = stats_create_vm(_metadata, self->kvm);
	const int id = 1;
	int vcpu = stats_create_vcpu(_metadata, vm, id);
	struct stats_file file;

	stats_load(_metadata, stats_get_fd(_metadata, vm), &file);
	expect_ids(_metadata, &file, &id, 1);
	expect_ids(_metadata, &self->vm_file, self->id, EXT_VCPUS);
	stats_unload(&file);
	close(vcpu);
	close(vm);
}

static __u64 online_vcpus(struct __test_metadata *_metadata,
			  const struct stats_file *f)
{
	return stats_read(_metadata, f, "online_vcpus");
}

TEST_F(extension, online_vcpus_is_instant_and_counts_every_vcpu)
{
	const struct kvm_stats_desc *desc = stats_find(&self->vm_file,
						       "online_vcpus");
	int vm = stats_create_vm(_metadata, self->kvm);
	int vcpu[EXT_VCPUS], i;
	struct stats_file file;

	ASSERT_NE(NULL, desc);
	EXPECT_EQ(0x001U, desc->flags);
	EXPECT_EQ(1, desc->size);

	stats_load(_metadata, stats_get_fd(_metadata, vm), &file);
	for (i = 0; i < EXT_VCPUS; i++) {
		EXPECT_EQ((__u64)i, online_vcpus(_metadata, &file));
		vcpu[i] = stats_create_vcpu(_metadata, vm, self->id[i]);
		expect_ids(_metadata, &file, self->id, i + 1);
	}
	EXPECT_EQ((__u64)i, online_vcpus(_metadata, &file));
	EXPECT_EQ((__u64)EXT_VCPUS, online_vcpus(_metadata, &self->vm_file));

	/* They stay, and the last values do when the VM is gone. */
	for (i = 0; i < EXT_VCPUS; i++)
		close(vcpu[i]);
	EXPECT_EQ((__u64)i, online_vcpus(_metadata, &file));
	close(vm);
	EXPECT_EQ((__u64)i, online_vcpus(_metadata, &file));
	expect_ids(_metadata, &file, self->id, i);
	stats_unload(&file);
}

TEST_F(extension, online_vcpus_does_not_count_a_vcpu_that_was_refused)
{
	EXPECT_EQ(STATS_KNOWN_VCPU_ID, result(ioctl(self->vm, KVM_CREATE_VCPU,
						    self->id[0])));
	EXPECT_EQ(-EINVAL, result(ioctl(self->vm, KVM_CREATE_VCPU, -1UL)));
	EXPECT_EQ((__u64)EXT_VCPUS, online_vcpus(_metadata, &self->vm_file));
	expect_ids(_metadata, &self->vm_file, self->id, EXT_VCPUS);
}

TEST_HARNESS_MAIN
