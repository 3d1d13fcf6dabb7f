// SPDX-License-Identifier: GPL-2.0
/*
 * Parser of a KVM statistics file. Sizes and offsets in the file have 32 bits and are added up in
 * 64 bits: no sum can wrap before it is checked. The one offset of 64 bits is checked first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/statsfile.h"

#define VALUE_SIZE sizeof(uint64_t)

/* Every page size is a multiple of it. */
#define SMALLEST_PAGE 4096

/* Two loads could see a value half changed: then map nothing. */
#if __GCC_ATOMIC_LLONG_LOCK_FREE == 2
#define HAS_LOAD true
#define load_value(value) __atomic_load_n(value, __ATOMIC_RELAXED)
#else
#define HAS_LOAD false
#define load_value(value) (*(value))
#endif

struct block {
	const char *name;
	uint64_t start;
	uint64_t size;
};

__attribute__((__format__(__printf__, 3, 4)))
static int fail(struct statsfile_error *error, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return ret;
}

int pread_all(int fd, uint64_t offset, void *to, size_t size)
{
	size_t done = 0;
	ssize_t count;

	while (done < size) {
		count = pread(fd, (char *)to + done, size - done, offset + done);
		if (!count)
			return -ENODATA;
		if (count < 0 && errno != EINTR)
			return -errno;
		if (count > 0)
			done += count;
	}
	return 0;
}

/* Reads all of the block. */
static int read_block(const struct statsfile_source *source, const struct block *block,
		      void *to, struct statsfile_error *error)
{
	int ret;

	if (!block->size)
		return 0;
	if (source->fd >= 0) {
		ret = pread_all(source->fd, block->start, to, block->size);
	} else if (block->start > source->size || block->size > source->size - block->start) {
		ret = -ENODATA;
	} else {
		memcpy(to, (const char *)source->memory + block->start, block->size);
		ret = 0;
	}
	if (ret == -ENODATA)
		return fail(error, -EINVAL, "the file ends inside of the %s (%llu bytes at %llu)",
			    block->name, (unsigned long long)block->size,
			    (unsigned long long)block->start);
	if (ret)
		return fail(error, ret, "cannot read the %s: %s", block->name, strerror(-ret));
	return 0;
}

/* A name goes to a terminal: it must not be able to control it. */
static bool valid_name(const char *name, size_t size)
{
	size_t length = strnlen(name, size);
	size_t i;

	if (!length || length == size)
		return false;
	for (i = 0; i < length; i++) {
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	}
	return true;
}

static int check_header(const struct kvm_stats_header *header, struct statsfile_error *error)
{
	if (!header->name_size || header->name_size > STATSFILE_MAX_NAME)
		return fail(error, -EINVAL, "names of %u bytes, 1 to %u are possible",
			    header->name_size, STATSFILE_MAX_NAME);
	if (header->num_desc > STATSFILE_MAX_DESC)
		return fail(error, -EINVAL, "%u statistics, %u are possible",
			    header->num_desc, STATSFILE_MAX_DESC);
	return 0;
}

static int read_id(struct statsfile *file, const struct block *block,
		   struct statsfile_error *error)
{
	int ret;

	file->id = malloc(block->size);
	if (!file->id)
		return fail(error, -ENOMEM, "out of memory");
	ret = read_block(&file->source, block, file->id, error);
	if (ret)
		return ret;
	if (!valid_name(file->id, block->size))
		return fail(error, -EINVAL, "the id is empty, not terminated or not printable");
	return 0;
}

static int parse_desc(struct statsfile_schema *schema, unsigned int index,
		      const struct block *block, struct statsfile_error *error)
{
	size_t stride = sizeof(struct kvm_stats_desc) + schema->name_size;
	const char *raw = (const char *)schema->raw + index * stride;
	const char *name = raw + sizeof(struct kvm_stats_desc);
	struct statsfile_desc *desc = &schema->desc[index];
	struct kvm_stats_desc packed;
	uint64_t end;

	/* The stride need not keep the alignment of the struct. */
	memcpy(&packed, raw, sizeof(packed));
	if (!valid_name(name, schema->name_size))
		return fail(error, -EINVAL,
			    "the name of statistic %u in the %s is empty, not terminated or not printable",
			    index, block->name);

	*desc = (struct statsfile_desc) {
		.name = name,
		.flags = packed.flags,
		.exponent = packed.exponent,
		.size = packed.size,
		.first = packed.offset / VALUE_SIZE,
		.bucket_size = packed.bucket_size,
	};
	if (packed.offset % VALUE_SIZE)
		return fail(error, -EINVAL, "%.64s: offset %u is not a multiple of 8",
			    name, packed.offset);
	if (!packed.size)
		return fail(error, -EINVAL, "%.64s: no value", name);
	if (statsfile_type(desc) == KVM_STATS_TYPE_LINEAR_HIST && !packed.bucket_size)
		return fail(error, -EINVAL, "%.64s: a linear histogram without a bucket size",
			    name);

	end = packed.offset + (uint64_t)packed.size * VALUE_SIZE;
	if (end > STATSFILE_MAX_DATA)
		return fail(error, -EINVAL, "%.64s: ends at %llu of the data, %u are possible",
			    name, (unsigned long long)end, STATSFILE_MAX_DATA);
	if (end / VALUE_SIZE > schema->num_values)
		schema->num_values = end / VALUE_SIZE;
	return 0;
}

/* Whether names belong to indexes; otherwise they belong to what the one value says. */
static bool is_indexed(const struct statsfile_desc *desc)
{
	return desc->size > 1 || statsfile_type(desc) == KVM_STATS_TYPE_LINEAR_HIST ||
	       statsfile_type(desc) == KVM_STATS_TYPE_LOG_HIST;
}

/* Parses @raw, and returns its statistic in *@of. */
static int parse_value_name(struct statsfile_schema *schema, const char *raw,
			    struct statsfile_value_name *to, struct statsfile_desc **of,
			    struct statsfile_error *error)
{
	const char *name = raw + sizeof(struct kvm_stats_value_name);
	struct kvm_stats_value_name packed;
	struct statsfile_desc *desc;

	memcpy(&packed, raw, sizeof(packed));
	if (packed.desc >= schema->num_desc)
		return fail(error, -EINVAL, "a value of statistic %u has a name, there are %u",
			    packed.desc, schema->num_desc);
	desc = &schema->desc[packed.desc];
	if (is_indexed(desc) && packed.value >= desc->size)
		return fail(error, -EINVAL, "%.64s: value %u has a name, there are %u",
			    desc->name, packed.value, desc->size);
	if (!valid_name(name, schema->name_size))
		return fail(error, -EINVAL,
			    "%.64s: the name of value %u is empty, not terminated or not printable",
			    desc->name, packed.value);
	*to = (struct statsfile_value_name) { .value = packed.value, .name = name, };
	*of = desc;
	return 0;
}

/* The last name has to be new, and its value behind all others. */
static int check_last_value_name(const struct statsfile_desc *desc, struct statsfile_error *error)
{
	const struct statsfile_value_name *last = &desc->value_names[desc->num_value_names - 1];
	const struct statsfile_value_name *other;

	for (other = desc->value_names; other < last; other++) {
		if (!strcmp(other->name, last->name))
			return fail(error, -EINVAL, "%.64s: values %u and %u are both called %.64s",
				    desc->name, other->value, last->value, last->name);
		if (other->value >= last->value)
			return fail(error, -EINVAL,
				    "%.64s: the names of values %u and %u are not in order",
				    desc->name, other->value, last->value);
	}
	return 0;
}

static int parse_value_names(struct statsfile_schema *schema, const char *raw, size_t stride,
			     struct statsfile_error *error)
{
	struct statsfile_desc *last = schema->desc, *desc = last;
	unsigned int i;
	int ret;

	for (i = 0; i < schema->num_value_names; i++, raw += stride, last = desc) {
		ret = parse_value_name(schema, raw, &schema->value_name[i], &desc, error);
		if (ret)
			return ret;
		if (desc < last)
			return fail(error, -EINVAL,
				    "the names of values of %.64s and %.64s are not in order",
				    last->name, desc->name);
		if (!desc->num_value_names++)
			desc->value_names = &schema->value_name[i];
		ret = check_last_value_name(desc, error);
		if (ret)
			return ret;
	}
	return 0;
}

const char *statsfile_value_name(const struct statsfile_desc *desc, uint64_t value)
{
	uint32_t low = 0, high = desc->num_value_names, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (desc->value_names[middle].value == value)
			return desc->value_names[middle].name;
		if (desc->value_names[middle].value < value)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static struct statsfile_schema *schema_alloc(const struct statsfile_shape *shape, size_t raw_size)
{
	struct statsfile_schema *schema = calloc(1, sizeof(*schema));

	if (!schema)
		return NULL;
	schema->references = 1;
	schema->num_desc = shape->num_desc;
	schema->name_size = shape->name_size;
	schema->num_value_names = shape->num_value_names;
	schema->value_name_size = shape->value_name_size;
	schema->raw_size = raw_size;
	/* One more of each: malloc(0) may be NULL. */
	schema->raw = malloc(raw_size + 1);
	schema->desc = calloc(shape->num_desc + 1, sizeof(*schema->desc));
	schema->value_name = calloc(shape->num_value_names + 1, sizeof(*schema->value_name));
	if (!schema->raw || !schema->desc || !schema->value_name) {
		statsfile_schema_put(schema);
		return NULL;
	}
	return schema;
}

bool statsfile_schema_is_same(const struct statsfile_schema *a, const struct statsfile_schema *b)
{
	if (a == b)
		return true;
	return a->num_desc == b->num_desc && a->name_size == b->name_size &&
	       a->num_value_names == b->num_value_names && a->raw_size == b->raw_size &&
	       !memcmp(a->raw, b->raw, a->raw_size);
}

static struct statsfile_schema *find_known(const struct statsfile_known *known,
					   const struct statsfile_schema *schema)
{
	if (known && known->vm && statsfile_schema_is_same(known->vm, schema))
		return known->vm;
	if (known && known->vcpu && statsfile_schema_is_same(known->vcpu, schema))
		return known->vcpu;
	return NULL;
}

/* Where a file describes its statistics, and how. */
struct description {
	struct block *desc;
	struct block *value_name;	/* in memory they stand behind the descriptors */
	struct statsfile_shape shape;
	uint32_t desc_offset;
	uint32_t value_name_offset;
};

static int check_value_names(const struct description *description,
			     struct statsfile_error *error)
{
	uint32_t size = sizeof(struct kvm_stats_value_name) + description->shape.name_size;

	if (!description->shape.num_value_names)
		return 0;
	if (description->shape.num_value_names > STATSFILE_MAX_VALUE_NAMES)
		return fail(error, -EINVAL, "%u names of values, %u are possible",
			    description->shape.num_value_names, STATSFILE_MAX_VALUE_NAMES);
	if (description->shape.value_name_size < size ||
	    description->shape.value_name_size > 2 * STATSFILE_MAX_NAME)
		return fail(error, -EINVAL, "names of values of %u bytes, %u to %u are possible",
			    description->shape.value_name_size, size, 2 * STATSFILE_MAX_NAME);
	return 0;
}

/* Without names the place where they would be means nothing. */
static void place_blocks(const struct description *description)
{
	*description->desc = (struct block) {
		.name = description->desc->name,
		.start = description->desc_offset,
		.size = description->shape.num_desc *
			(uint64_t)(sizeof(struct kvm_stats_desc) + description->shape.name_size),
	};
	if (description->shape.num_value_names)
		*description->value_name = (struct block) {
			.name = description->value_name->name,
			.start = description->value_name_offset,
			.size = description->shape.num_value_names *
				(uint64_t)description->shape.value_name_size,
		};
}

static int parse_schema(struct statsfile_schema *schema, const struct description *description,
			struct statsfile_error *error)
{
	unsigned int i;
	int ret;

	for (i = 0; i < schema->num_desc; i++) {
		ret = parse_desc(schema, i, description->desc, error);
		if (ret)
			return ret;
	}
	schema->since = statsfile_find(schema, "state_since_ns");
	return parse_value_names(schema, (const char *)schema->raw + description->desc->size,
				 description->shape.value_name_size, error);
}

/* *@to is to be discarded by the caller on failure, too. */
static int read_schema(const struct statsfile_source *source,
		       const struct description *description,
		       const struct statsfile_known *known, struct statsfile_schema **to,
		       struct statsfile_error *error)
{
	struct statsfile_schema *schema, *same;
	int ret;

	ret = check_value_names(description, error);
	if (ret)
		return ret;
	place_blocks(description);
	schema = schema_alloc(&description->shape,
			      description->desc->size + description->value_name->size);
	if (!schema)
		return fail(error, -ENOMEM, "out of memory");
	*to = schema;
	ret = read_block(source, description->desc, schema->raw, error);
	if (!ret)
		ret = read_block(source, description->value_name,
				 (char *)schema->raw + description->desc->size, error);
	if (ret)
		return ret;
	same = find_known(known, schema);
	if (same) {
		*to = statsfile_schema_get(same);
		statsfile_schema_put(schema);
		return 0;
	}
	return parse_schema(schema, description, error);
}

int statsfile_schema_parse(struct statsfile_schema **schema, const struct statsfile_shape *shape,
			   const void *raw, size_t size, struct statsfile_error *error)
{
	const struct kvm_stats_header header = {
		.name_size = shape->name_size, .num_desc = shape->num_desc,
	};
	const struct statsfile_source source = { .fd = -1, .memory = raw, .size = size, };
	struct block desc = { .name = "descriptor block", };
	struct block value_name = { .name = "block of value names", };
	struct description description = {
		.desc = &desc,
		.value_name = &value_name,
		.shape = *shape,
	};
	int ret = check_header(&header, error);

	*schema = NULL;
	if (ret)
		return ret;
	description.value_name_offset = shape->num_desc *
					(sizeof(struct kvm_stats_desc) + shape->name_size);
	ret = read_schema(&source, &description, NULL, schema, error);
	if (ret && *schema)
		statsfile_schema_put(*schema);
	return ret;
}

/* Clears fields that the block does not have in whole, and fields that need those. */
static void forget_missing(struct kvm_stats_ext *ext)
{
	if (ext->size < offsetof(struct kvm_stats_ext, value_name_offset))
		*ext = (struct kvm_stats_ext) { .size = ext->size, .data_size = ext->data_size, };
	if (ext->size < sizeof(*ext)) {
		ext->value_name_num = 0;
		ext->vcpu_value_name_num = 0;
	}
}

static bool has_data_size(const struct kvm_stats_ext *ext)
{
	return ext->size >= offsetof(struct kvm_stats_ext, vcpu_stride);
}

static int check_data_size(const struct block *block, uint32_t size,
			   const struct statsfile_schema *schema, struct statsfile_error *error)
{
	if (size > STATSFILE_MAX_DATA)
		return fail(error, -EINVAL, "a %s of %u bytes, %u are possible", block->name, size,
			    STATSFILE_MAX_DATA);
	if (size < block->size || size % VALUE_SIZE)
		return fail(error, -EINVAL, "a %s of %u bytes for %u values", block->name, size,
			    schema->num_values);
	return 0;
}

static int check_paged(const char *name, uint64_t number, unsigned long page,
		       struct statsfile_error *error)
{
	if (number % page)
		return fail(error, -EINVAL, "the %s is %llu, not a multiple of the page size (%lu)",
			    name, (unsigned long long)number, page);
	return 0;
}

/* Whatever is to be mapped begins with a page. */
static int check_pages(const struct kvm_stats_header *header, const struct kvm_stats_ext *ext,
		       unsigned long page, struct statsfile_error *error)
{
	int ret;

	ret = check_paged("offset of the data block", header->data_offset, page, error);
	if (ret || !ext->vcpu_max)
		return ret;
	ret = check_paged("offset of the vCPU windows", ext->vcpu_mmap_offset, page, error);
	if (ret)
		return ret;
	return check_paged("distance of the vCPU windows", ext->vcpu_stride, page, error);
}

/* Before the sizes of the vCPU blocks can be computed. */
static int check_vcpu_limits(const struct kvm_stats_ext *ext, struct statsfile_error *error)
{
	if (ext->vcpu_max > STATSFILE_MAX_VCPUS)
		return fail(error, -EINVAL, "windows of %u vCPUs, %u are possible", ext->vcpu_max,
			    STATSFILE_MAX_VCPUS);
	if (ext->vcpu_num_desc > STATSFILE_MAX_DESC)
		return fail(error, -EINVAL, "%u vCPU statistics, %u are possible",
			    ext->vcpu_num_desc, STATSFILE_MAX_DESC);
	if (ext->vcpu_mmap_offset > INT64_MAX - ext->vcpu_max * (uint64_t)ext->vcpu_stride)
		return fail(error, -EINVAL, "the vCPU windows end beyond what a file can have");
	return 0;
}

static int find_online_vcpus(struct statsfile *file, struct statsfile_error *error)
{
	const struct statsfile_desc *desc = statsfile_find(file->schema, "online_vcpus");

	if (!desc || desc->size != 1)
		return fail(error, -EINVAL, "windows of vCPUs, but no statistic online_vcpus");
	file->online_vcpus = desc->first;
	return 0;
}

enum {
	HEADER, ID, EXT, DESCRIPTORS, VALUE_NAMES, DATA,
	VCPU_DESCRIPTORS, VCPU_VALUE_NAMES, VCPU_IDS, VCPU_WINDOWS, VCPU_DATA,
	NUM_BLOCKS,
};

/* What was read of the file, while it is checked. */
struct layout {
	struct kvm_stats_header header;
	struct kvm_stats_ext ext;
	struct block block[NUM_BLOCKS];
};

/*
 * Fields beyond the block's end are zero. Another kernel may give the flag another meaning:
 * without the magic number there is no block.
 */
static int read_ext(const struct statsfile_source *source, struct layout *layout,
		    struct statsfile_error *error)
{
	struct block *block = &layout->block[EXT];
	struct kvm_stats_ext *ext = &layout->ext;
	uint32_t size;
	int ret;

	block->start = layout->block[ID].start + layout->block[ID].size;
	block->size = sizeof(size);
	ret = read_block(source, block, &size, error);
	if (ret)
		return ret;
	if (size < sizeof(size))
		return fail(error, -EINVAL, "the extension block has %u bytes", size);

	block->size = size < sizeof(*ext) ? size : sizeof(*ext);
	ret = read_block(source, block, ext, error);
	if (ret)
		return ret;
	if (size < offsetof(struct kvm_stats_ext, data_size) ||
	    ext->magic != KVM_STATS_EXT_MAGIC) {
		*ext = (struct kvm_stats_ext) {};
		block->size = 0;
		return 0;
	}
	block->size = size;
	forget_missing(ext);
	return 0;
}

static int check_blocks(const struct block *blocks, struct statsfile_error *error)
{
	const struct block *a, *b;

	/* The last one is not in the file but at the start of each window. */
	for (a = blocks; a < blocks + VCPU_DATA; a++) {
		if (a->start % VALUE_SIZE)
			return fail(error, -EINVAL, "the %s is at %llu, not a multiple of 8",
				    a->name, (unsigned long long)a->start);
		for (b = blocks; b < a; b++) {
			if (a->size && b->size && a->start < b->start + b->size &&
			    b->start < a->start + a->size)
				return fail(error, -EINVAL, "the %s and the %s overlap", a->name,
					    b->name);
		}
	}
	return 0;
}

/* What the VM's file shows of its vCPUs. */
static int parse_vcpus(struct statsfile *file, struct layout *layout,
		       const struct statsfile_known *known, struct statsfile_error *error)
{
	const struct kvm_stats_ext *ext = &layout->ext;
	struct block *block = layout->block;
	const struct description description = {
		.desc = &block[VCPU_DESCRIPTORS],
		.value_name = &block[VCPU_VALUE_NAMES],
		.shape = {
			.name_size = layout->header.name_size,
			.num_desc = ext->vcpu_num_desc,
			.num_value_names = ext->vcpu_value_name_num,
			.value_name_size = ext->value_name_size,
		},
		.desc_offset = ext->vcpu_desc_offset,
		.value_name_offset = ext->vcpu_value_name_offset,
	};
	int ret;

	ret = check_vcpu_limits(ext, error);
	if (ret)
		return ret;
	block[VCPU_IDS].start = ext->vcpu_id_offset;
	block[VCPU_IDS].size = ext->vcpu_max * sizeof(uint32_t);
	block[VCPU_WINDOWS].start = ext->vcpu_mmap_offset;
	block[VCPU_WINDOWS].size = ext->vcpu_max * (uint64_t)ext->vcpu_stride;

	ret = read_schema(&file->source, &description, known, &file->vcpu_schema, error);
	if (ret)
		return ret;
	block[VCPU_DATA].size = file->vcpu_schema->num_values * VALUE_SIZE;
	ret = check_data_size(&block[VCPU_DATA], ext->vcpu_data_size, file->vcpu_schema, error);
	if (ret)
		return ret;
	if (ext->vcpu_stride < ext->vcpu_data_size)
		return fail(error, -EINVAL, "vCPU windows of %u bytes for %u bytes of data",
			    ext->vcpu_stride, ext->vcpu_data_size);
	file->vcpu_max = ext->vcpu_max;
	file->vcpu_stride = ext->vcpu_stride;
	file->vcpu_id_offset = ext->vcpu_id_offset;
	return find_online_vcpus(file, error);
}

static int parse(struct statsfile *file, struct layout *layout,
		 const struct statsfile_known *known, struct statsfile_error *error)
{
	struct kvm_stats_header *header = &layout->header;
	struct kvm_stats_ext *ext = &layout->ext;
	struct block *block = layout->block;
	struct description own;
	int ret;

	ret = read_block(&file->source, &block[HEADER], header, error);
	if (!ret)
		ret = check_header(header, error);
	if (ret)
		return ret;

	block[ID].start = header->id_offset;
	block[ID].size = header->name_size;
	block[DATA].start = header->data_offset;
	file->data_offset = header->data_offset;

	ret = read_id(file, &block[ID], error);
	if (!ret && header->flags & KVM_STATS_HEADER_EXT)
		ret = read_ext(&file->source, layout, error);
	if (ret)
		return ret;
	own = (struct description) {
		.desc = &block[DESCRIPTORS],
		.value_name = &block[VALUE_NAMES],
		.shape = {
			.name_size = header->name_size,
			.num_desc = header->num_desc,
			.num_value_names = ext->value_name_num,
			.value_name_size = ext->value_name_size,
		},
		.desc_offset = header->desc_offset,
		.value_name_offset = ext->value_name_offset,
	};
	ret = read_schema(&file->source, &own, known, &file->schema, error);
	if (ret)
		return ret;
	block[DATA].size = file->schema->num_values * VALUE_SIZE;
	if (has_data_size(ext)) {
		ret = check_data_size(&block[DATA], ext->data_size, file->schema, error);
		block[DATA].size = ext->data_size;
		if (!ret && ext->vcpu_max)
			ret = parse_vcpus(file, layout, known, error);
		if (!ret)
			ret = check_pages(header, ext, SMALLEST_PAGE, error);
	}
	return ret ?: check_blocks(block, error);
}

bool statsfile_may_be_kvms(int fd)
{
	struct stat info;

	return !fstat(fd, &info) && !(info.st_mode & S_IFMT) &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

/* Reading a mapping of a truncated file raises SIGBUS. KVM's files cannot be truncated. */
static bool is_safe_to_map(const struct statsfile_source *source)
{
	if (source->fd < 0 || !HAS_LOAD)
		return false;
	if (source->access == STATSFILE_AUTO)
		return statsfile_may_be_kvms(source->fd);
	return source->access == STATSFILE_MMAP;
}

/* NULL if the kernel refuses it. */
static const void *map_block(int fd, const struct block *block)
{
	void *start;

	if (!block->size || (size_t)block->size != block->size)
		return NULL;
	start = mmap(NULL, block->size, PROT_READ, MAP_SHARED, fd, block->start);
	return start == MAP_FAILED ? NULL : start;
}

static size_t data_size(const struct statsfile *file)
{
	return file->schema->num_values * VALUE_SIZE;
}

static size_t windows_size(const struct statsfile *file)
{
	return (size_t)file->vcpu_max * file->vcpu_stride;
}

/* Touches nothing: not all of it need be there. */
static int map(struct statsfile *file, const struct layout *layout, struct statsfile_error *error)
{
	struct block data = { .start = file->data_offset, .size = data_size(file), };
	int ret;

	if (!has_data_size(&layout->ext) || !is_safe_to_map(&file->source))
		return 0;
	ret = check_pages(&layout->header, &layout->ext, sysconf(_SC_PAGESIZE), error);
	if (ret)
		return ret;
	file->data = map_block(file->source.fd, &data);
	if (file->data)
		file->windows = map_block(file->source.fd, &layout->block[VCPU_WINDOWS]);
	return 0;
}

static void discard(struct statsfile *file)
{
	free(file->id);
	if (file->data && !file->is_view)
		munmap((void *)file->data, data_size(file));
	if (file->windows && !file->is_view)
		munmap((void *)file->windows, windows_size(file));
	if (file->schema)
		statsfile_schema_put(file->schema);
	if (file->vcpu_schema)
		statsfile_schema_put(file->vcpu_schema);
}

int statsfile_open(struct statsfile *file, const struct statsfile_source *source,
		   const struct statsfile_known *known, struct statsfile_error *error)
{
	struct layout layout = {
		.block = {
			[HEADER] = { .name = "header", .size = sizeof(layout.header), },
			[ID] = { .name = "id", },
			[EXT] = { .name = "extension block", },
			[DESCRIPTORS] = { .name = "descriptor block", },
			[VALUE_NAMES] = { .name = "block of value names", },
			[DATA] = { .name = "data block", },
			[VCPU_DESCRIPTORS] = { .name = "vCPU descriptor block", },
			[VCPU_VALUE_NAMES] = { .name = "block of the vCPUs' value names", },
			[VCPU_IDS] = { .name = "vCPU id block", },
			[VCPU_WINDOWS] = { .name = "vCPU window block", },
			[VCPU_DATA] = { .name = "vCPU data block", },
		},
	};
	int ret;

	*file = (struct statsfile) { .source = *source };
	ret = parse(file, &layout, known, error);
	if (!ret)
		ret = map(file, &layout, error);
	if (ret) {
		discard(file);
		*file = (struct statsfile) { .source.fd = -1 };
	}
	return ret;
}

static void load_values(uint64_t *values, const uint64_t *from, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		values[i] = load_value(&from[i]);
}

int statsfile_read_some(const struct statsfile *file, unsigned int first, unsigned int count,
			uint64_t *values, struct statsfile_error *error)
{
	struct block data = {
		.name = "data block",
		.start = file->data_offset + first * (uint64_t)VALUE_SIZE,
		.size = count * (uint64_t)VALUE_SIZE,
	};

	if (!file->data)
		return read_block(&file->source, &data, values, error);
	load_values(values, file->data + first, count);
	return 0;
}

int statsfile_read(const struct statsfile *file, uint64_t *values,
		   struct statsfile_error *error)
{
	return statsfile_read_some(file, 0, file->schema->num_values, values, error);
}

uint32_t statsfile_online_vcpus(const struct statsfile *file)
{
	uint64_t online_vcpus;

	if (!file->windows)
		return 0;
	if (file->is_view)
		return file->vcpu_max;
	online_vcpus = load_value(&file->data[file->online_vcpus]);
	/* What the kernel did before it counted a vCPU is seen from here on. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return online_vcpus < file->vcpu_max ? online_vcpus : file->vcpu_max;
}

/* The values of a vCPU, NULL and @error if it is not there. */
static const uint64_t *find_window(const struct statsfile *file, uint32_t index,
				   struct statsfile_error *error)
{
	size_t offset = (size_t)index * file->vcpu_stride;
	uint32_t online_vcpus = statsfile_online_vcpus(file);

	/* A window without its vCPU would raise SIGBUS. */
	if (index >= online_vcpus) {
		fail(error, -EINVAL, "vCPU %u of %u", index, online_vcpus);
		return NULL;
	}
	return (const uint64_t *)(file->windows + offset);
}

int statsfile_read_some_of_vcpu(const struct statsfile *file, uint32_t index,
				unsigned int first, unsigned int count, uint64_t *values,
				struct statsfile_error *error)
{
	const uint64_t *window = find_window(file, index, error);

	if (!window)
		return -EINVAL;
	load_values(values, window + first, count);
	return 0;
}

int statsfile_read_vcpu(const struct statsfile *file, uint32_t index, uint64_t *values,
			struct statsfile_error *error)
{
	return statsfile_read_some_of_vcpu(file, index, 0, file->vcpu_schema->num_values,
					   values, error);
}

int statsfile_add_vcpu(const struct statsfile *file, uint32_t index, uint64_t *sums,
		       struct statsfile_error *error)
{
	const uint64_t *window = find_window(file, index, error);
	const uint64_t *end;

	if (!window)
		return -EINVAL;
	/* Four at a time: the loop itself takes as long as one of them. */
	end = window + file->vcpu_schema->num_values;
	for (; end - window >= 4; window += 4, sums += 4) {
		sums[0] += load_value(&window[0]);
		sums[1] += load_value(&window[1]);
		sums[2] += load_value(&window[2]);
		sums[3] += load_value(&window[3]);
	}
	for (; window < end; window++)
		*sums++ += load_value(window);
	return 0;
}

void statsfile_release_vcpus(const struct statsfile *file)
{
	if (file->windows && !file->is_view)
		madvise((void *)file->windows, windows_size(file), MADV_DONTNEED);
}

int statsfile_read_vcpu_ids(const struct statsfile *file, uint32_t first, uint32_t count,
			    uint32_t *ids, struct statsfile_error *error)
{
	struct block block = {
		.name = "vCPU id block",
		.start = file->vcpu_id_offset + first * (uint64_t)sizeof(*ids),
		.size = count * (uint64_t)sizeof(*ids),
	};

	if (first > file->vcpu_max || count > file->vcpu_max - first)
		return fail(error, -EINVAL, "ids of vCPUs %u to %llu, of %u", first,
			    (unsigned long long)first + count, file->vcpu_max);
	return read_block(&file->source, &block, ids, error);
}

void statsfile_view(struct statsfile *file, char *id, struct statsfile_schema *schema,
		    struct statsfile_schema *vcpu_schema, const uint64_t *values,
		    uint32_t num_vcpus)
{
	if (!file->schema) {
		*file = (struct statsfile) { .source.fd = -1, .is_view = true, .id = id, };
		file->schema = statsfile_schema_get(schema);
	}
	if (!file->vcpu_schema && vcpu_schema) {
		file->vcpu_schema = statsfile_schema_get(vcpu_schema);
		file->vcpu_stride = vcpu_schema->num_values * VALUE_SIZE;
	}
	file->data = values;
	file->vcpu_max = num_vcpus;
	file->windows = num_vcpus ? (const char *)(values + schema->num_values) : NULL;
}

void statsfile_close(struct statsfile *file)
{
	discard(file);
	if (file->source.fd >= 0)
		close(file->source.fd);
	*file = (struct statsfile) { .source.fd = -1 };
}

const struct statsfile_desc *statsfile_find(const struct statsfile_schema *schema,
					    const char *name)
{
	unsigned int i;

	for (i = 0; schema && i < schema->num_desc; i++) {
		if (!strcmp(schema->desc[i].name, name))
			return &schema->desc[i];
	}
	return NULL;
}

struct statsfile_schema *statsfile_schema_get(struct statsfile_schema *schema)
{
	schema->references++;
	return schema;
}

void statsfile_schema_put(struct statsfile_schema *schema)
{
	if (--schema->references)
		return;
	free(schema->desc);
	free(schema->value_name);
	free(schema->raw);
	free(schema);
}
