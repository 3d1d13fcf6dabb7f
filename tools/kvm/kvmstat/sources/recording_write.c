// SPDX-License-Identifier: GPL-2.0
/* Writes recordings. */
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "sources/recording_write.h"
#include "util/util.h"

#ifdef HAVE_ZLIB
/* Returns the size in @to, which has room for @size - 1; or @size if that is too small. */
static uint32_t compress_content(unsigned char *to, const unsigned char *content, size_t size)
{
	uLongf compressed = size - 1;

	if (size > 1 && compress2(to, &compressed, content, size, Z_BEST_SPEED) == Z_OK)
		return compressed;
	return size;
}
#else
#define compress_content(to, content, size) ((void)(to), size)
#endif

static void put(struct bytes *bytes, const void *data, size_t size)
{
	if (size > bytes->room - bytes->size) {
		bytes->room = 2 * bytes->room + size;
		bytes->data = xreallocarray(bytes->data, bytes->room, 1);
	}
	if (size)
		memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

/* Frees the content. */
static void put_block(struct recording_writer *writer, struct recording_block *block,
		      struct bytes *content)
{
	unsigned char *compressed = xcalloc(content->size, 1);
	const unsigned char *data = content->data;

	block->size = content->size;
	block->whole_size = content->size;
	if (!writer->is_plain)
		block->size = compress_content(compressed, content->data, content->size);
	if (block->size < block->whole_size)
		data = compressed;
	block->content_checksum = recording_checksum(data, block->size);
	block->checksum = HEADER_CHECKSUM(block);
	put(&writer->block, block, sizeof(*block));
	put(&writer->block, data, block->size);
	free(compressed);
	free(content->data);
}

void recording_begin(struct recording_writer *writer, const struct recording_host *host)
{
	struct recording_magic magic = { .text = RECORDING_MAGIC, .version = RECORDING_VERSION, };
	struct recording_block block = { .type = RECORDING_HOST, };
	struct bytes content = {};

	magic.checksum = HEADER_CHECKSUM(&magic);
	put(&writer->block, &magic, sizeof(magic));
	put(&content, host, sizeof(*host));
	put_block(writer, &block, &content);
}

/* Writes a new schema. Returns its number, 0 for NULL. */
static size_t schema_number(struct recording_writer *writer, struct statsfile_schema *schema)
{
	struct recording_block block = { .type = RECORDING_SCHEMA, };
	struct bytes content = {};
	struct statsfile_shape shape;
	size_t i;

	if (!schema)
		return 0;
	for (i = 0; i < writer->num_schemas; i++) {
		if (statsfile_schema_is_same(writer->schema[i], schema))
			return i + 1;
	}
	writer->schema = xreallocarray(writer->schema, i + 1, sizeof(*writer->schema));
	writer->schema[writer->num_schemas++] = statsfile_schema_get(schema);
	shape = (struct statsfile_shape) {
		.name_size = schema->name_size,
		.num_desc = schema->num_desc,
		.num_value_names = schema->num_value_names,
		.value_name_size = schema->value_name_size,
	};
	put(&content, &shape, sizeof(shape));
	put(&content, schema->raw, schema->raw_size);
	put_block(writer, &block, &content);
	return i + 1;
}

static void put_vm(struct recording_writer *writer, struct bytes *content,
		   const struct recorded_vm *vm)
{
	struct packed_vm packed = {
		.serial = vm->serial,
		.early_ns = vm->early_ns,
		.pid = vm->pid,
		.ended = vm->ended,
		.schema = schema_number(writer, vm->schema),
		.vcpu_schema = schema_number(writer, vm->vcpu_schema),
		.num_vcpus = vm->num_vcpus,
		.num_vcpus_counted = vm->num_vcpus_counted,
		.num_threads = vm->threads.count,
		.num_numbers = vm->num_numbers,
	};

	memcpy(packed.name, vm->name, sizeof(packed.name));
	memcpy(packed.id, vm->id, sizeof(packed.id));
	put(content, &packed, sizeof(packed));
	put(content, vm->values, recorded_vm_num_values(vm) * sizeof(*vm->values));
	put(content, vm->threads.thread, vm->threads.count * sizeof(*vm->threads.thread));
	put(content, vm->vcpu, vm->num_vcpus * sizeof(*vm->vcpu));
	put(content, vm->number, vm->num_numbers * sizeof(*vm->number));
}

static size_t packed_size(const struct recorded_vm *vm)
{
	return sizeof(struct packed_vm) + recorded_vm_num_values(vm) * sizeof(*vm->values) +
	       vm->threads.count * sizeof(*vm->threads.thread) +
	       vm->num_vcpus * sizeof(*vm->vcpu) + vm->num_numbers * sizeof(*vm->number);
}

size_t recording_add(struct recording_writer *writer, struct snapshot *snapshot)
{
	struct recording_block block = {
		.type = RECORDING_SAMPLE,
		.real_ns = snapshot->real_ns,
		.monotonic_ns = snapshot->monotonic_ns,
	};
	size_t i, num_left_out = 0;
	struct bytes content = {};

	for (i = 0; i < snapshot->num_vms; i++) {
		if (packed_size(&snapshot->vm[i]) > RECORDING_MAX_CONTENT - content.size)
			num_left_out++;
		else
			put_vm(writer, &content, &snapshot->vm[i]);
	}
	put_block(writer, &block, &content);
	snapshot_free(snapshot);
	return num_left_out;
}

void recording_writer_free(struct recording_writer *writer)
{
	size_t i;

	for (i = 0; i < writer->num_schemas; i++)
		statsfile_schema_put(writer->schema[i]);
	free(writer->schema);
	free(writer->block.data);
}
