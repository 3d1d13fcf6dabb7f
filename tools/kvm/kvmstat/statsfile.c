// SPDX-License-Identifier: GPL-2.0
/*
 * Parser of a KVM statistics file. All sizes and offsets are 32 bits wide in the
 * file and are added up in 64 bits, so no sum can wrap before it is checked.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "statsfile.h"

#define VALUE_SIZE sizeof(uint64_t)

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

static int read_memory(const struct statsfile_source *source,
		       const struct block *block, void *to)
{
	if (block->start > source->size || block->size > source->size - block->start)
		return -ENODATA;
	memcpy(to, (const char *)source->memory + block->start, block->size);
	return 0;
}

static int read_fd(int fd, const struct block *block, void *to)
{
	size_t done = 0;
	ssize_t count;

	while (done < block->size) {
		count = pread(fd, (char *)to + done, block->size - done,
			      block->start + done);
		if (!count)
			return -ENODATA;
		if (count < 0 && errno != EINTR)
			return -errno;
		if (count > 0)
			done += count;
	}
	return 0;
}

/* All of the block or an error. */
static int read_block(const struct statsfile_source *source, const struct block *block,
		      void *to, struct statsfile_error *error)
{
	int ret;

	if (!block->size)
		return 0;
	if (source->fd < 0)
		ret = read_memory(source, block, to);
	else
		ret = read_fd(source->fd, block, to);
	if (ret == -ENODATA)
		return fail(error, -EINVAL, "the file ends inside of the %s (%llu bytes at %llu)",
			    block->name, (unsigned long long)block->size,
			    (unsigned long long)block->start);
	if (ret)
		return fail(error, ret, "cannot read the %s: %s", block->name, strerror(-ret));
	return 0;
}

static int check_aligned(const struct block *block, struct statsfile_error *error)
{
	if (block->start % VALUE_SIZE)
		return fail(error, -EINVAL, "the %s is at %llu, not a multiple of 8",
			    block->name, (unsigned long long)block->start);
	return 0;
}

static int check_apart(const struct block *a, const struct block *b,
		       struct statsfile_error *error)
{
	if (!a->size || !b->size)
		return 0;
	if (a->start < b->start + b->size && b->start < a->start + a->size)
		return fail(error, -EINVAL, "the %s and the %s overlap", a->name, b->name);
	return 0;
}

/* A name goes to a terminal: it must not be able to do more there than to be read. */
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
		      struct statsfile_error *error)
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
			    "the name of statistic %u is empty, not terminated or not printable",
			    index);

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
	if (statsfile_type(desc) <= KVM_STATS_TYPE_PEAK && packed.size != 1)
		return fail(error, -EINVAL, "%.64s: a scalar of %u values", name, packed.size);
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

static struct statsfile_schema *schema_alloc(unsigned int num_desc, uint32_t name_size,
					     size_t raw_size)
{
	struct statsfile_schema *schema = calloc(1, sizeof(*schema));

	if (!schema)
		return NULL;
	schema->references = 1;
	schema->num_desc = num_desc;
	schema->name_size = name_size;
	schema->raw_size = raw_size;
	/* One byte more: malloc(0) may be NULL. */
	schema->raw = malloc(raw_size + 1);
	schema->desc = calloc(num_desc + 1, sizeof(*schema->desc));
	if (!schema->raw || !schema->desc) {
		statsfile_schema_put(schema);
		return NULL;
	}
	return schema;
}

static bool same_descriptors(const struct statsfile_schema *a, const struct statsfile_schema *b)
{
	return a->num_desc == b->num_desc && a->name_size == b->name_size &&
	       !memcmp(a->raw, b->raw, a->raw_size);
}

static int read_schema(struct statsfile *file, const struct block *block,
		       const struct kvm_stats_header *header, struct statsfile_schema *like,
		       struct statsfile_error *error)
{
	struct statsfile_schema *schema;
	unsigned int i;
	int ret;

	schema = schema_alloc(header->num_desc, header->name_size, block->size);
	if (!schema)
		return fail(error, -ENOMEM, "out of memory");
	file->schema = schema;
	ret = read_block(&file->source, block, schema->raw, error);
	if (ret)
		return ret;
	if (like && same_descriptors(schema, like)) {
		file->schema = statsfile_schema_get(like);
		statsfile_schema_put(schema);
		return 0;
	}
	for (i = 0; i < schema->num_desc; i++) {
		ret = parse_desc(schema, i, error);
		if (ret)
			return ret;
	}
	return 0;
}

enum { HEADER, ID, DESCRIPTORS, DATA, NUM_BLOCKS };

static int check_blocks(const struct block *blocks, struct statsfile_error *error)
{
	int ret, i, j;

	for (i = 0; i < NUM_BLOCKS; i++) {
		ret = check_aligned(&blocks[i], error);
		for (j = 0; !ret && j < i; j++)
			ret = check_apart(&blocks[i], &blocks[j], error);
		if (ret)
			return ret;
	}
	return 0;
}

static int parse(struct statsfile *file, struct statsfile_schema *like,
		 struct statsfile_error *error)
{
	struct kvm_stats_header header;
	struct block blocks[] = {
		[HEADER] = { .name = "header", .size = sizeof(header), },
		[ID] = { .name = "id", },
		[DESCRIPTORS] = { .name = "descriptor block", },
		[DATA] = { .name = "data block", },
	};
	int ret;

	ret = read_block(&file->source, &blocks[HEADER], &header, error);
	if (!ret)
		ret = check_header(&header, error);
	if (ret)
		return ret;

	blocks[ID].start = header.id_offset;
	blocks[ID].size = header.name_size;
	blocks[DESCRIPTORS].start = header.desc_offset;
	blocks[DESCRIPTORS].size = header.num_desc *
		(uint64_t)(sizeof(struct kvm_stats_desc) + header.name_size);
	blocks[DATA].start = header.data_offset;
	file->data_offset = header.data_offset;

	ret = read_id(file, &blocks[ID], error);
	if (!ret)
		ret = read_schema(file, &blocks[DESCRIPTORS], &header, like, error);
	if (ret)
		return ret;
	blocks[DATA].size = file->schema->num_values * VALUE_SIZE;
	return check_blocks(blocks, error);
}

static void discard(struct statsfile *file)
{
	free(file->id);
	if (file->schema)
		statsfile_schema_put(file->schema);
}

int statsfile_open(struct statsfile *file, const struct statsfile_source *source,
		   struct statsfile_schema *like, struct statsfile_error *error)
{
	int ret;

	*file = (struct statsfile) { .source = *source };
	ret = parse(file, like, error);
	if (ret) {
		discard(file);
		*file = (struct statsfile) { .source.fd = -1 };
	}
	return ret;
}

int statsfile_read(const struct statsfile *file, uint64_t *values,
		   struct statsfile_error *error)
{
	struct block data = {
		.name = "data block",
		.start = file->data_offset,
		.size = file->schema->num_values * VALUE_SIZE,
	};

	return read_block(&file->source, &data, values, error);
}

void statsfile_close(struct statsfile *file)
{
	discard(file);
	if (file->source.fd >= 0)
		close(file->source.fd);
	*file = (struct statsfile) { .source.fd = -1 };
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
	free(schema->raw);
	free(schema);
}
