// SPDX-License-Identifier: GPL-2.0
/*
 * Writes recordings: the differences between samples, byte by byte.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sources/recording.h"
#include "util/text.h"
#include "util/util.h"

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

static void store(unsigned char *to, uint64_t number, unsigned int size)
{
	while (size--) {
		*to++ = number;
		number >>= 8;
	}
}

static void put_fixed(struct bytes *bytes, uint64_t number, unsigned int size)
{
	unsigned char raw[8];

	store(raw, number, size);
	put(bytes, raw, size);
}

static void put_varint(struct bytes *bytes, uint64_t number)
{
	unsigned char raw[10];
	unsigned int size = 0;

	for (; number > 0x7f; number >>= 7)
		raw[size++] = number | 0x80;
	raw[size++] = number;
	put(bytes, raw, size);
}

/* Of a difference of 64 bits, as two's complement. */
static void put_signed(struct bytes *bytes, uint64_t number)
{
	put_varint(bytes, number << 1 ^ (number >> 63 ? UINT64_MAX : 0));
}

/* A host may be called anything, and readers refuse what they may not print. */
static void put_string(struct bytes *bytes, const char *text)
{
	char *printable = xasprintf("%s", text);
	size_t length;

	text_make_printable(printable);
	length = strlen(printable);
	put_varint(bytes, length);
	put(bytes, printable, length);
	free(printable);
}

/* Returns where it begins, for end_block(). */
static size_t begin_block(struct bytes *bytes, enum recording_block type)
{
	size_t start = bytes->size;

	put_fixed(bytes, type, 4);
	put_fixed(bytes, 0, 8);
	put_fixed(bytes, 0, 4);
	return start;
}

static void end_block(struct bytes *bytes, size_t start)
{
	unsigned char *header = bytes->data + start;
	size_t size = bytes->size - start - BLOCK_HEADER_SIZE;

	store(header + 4, size, 4);
	store(header + 8, recording_checksum(header + BLOCK_HEADER_SIZE, size), 4);
	store(header + 12, recording_checksum(header, 12), 4);
}

void recording_begin(struct recording_writer *writer, const struct recording_host *host)
{
	struct bytes *bytes = &writer->block;
	size_t start = bytes->size;

	put(bytes, RECORDING_MAGIC, MAGIC_SIZE);
	put_fixed(bytes, RECORDING_VERSION, 4);
	put_fixed(bytes, recording_checksum(bytes->data + start, MAGIC_SIZE + 4), 4);
	start = begin_block(bytes, RECORDING_HOST);
	put_string(bytes, host->version);
	put_string(bytes, host->name);
	put_string(bytes, host->release);
	put_string(bytes, host->machine);
	put_varint(bytes, host->interval_ns);
	put_varint(bytes, host->pid);
	end_block(bytes, start);
}

static void put_value_names(struct bytes *bytes, const struct statsfile_schema *schema)
{
	const struct statsfile_desc *desc, *last = schema->desc;
	unsigned int i;

	put_varint(bytes, schema->num_value_names);
	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		for (i = 0; i < desc->num_value_names; i++) {
			put_varint(bytes, desc - last);
			put_varint(bytes, desc->value_names[i].value);
			put_string(bytes, desc->value_names[i].name);
			last = desc;
		}
	}
}

static void put_schema(struct bytes *bytes, const struct statsfile_schema *schema)
{
	const struct statsfile_desc *desc;
	size_t start = begin_block(bytes, RECORDING_SCHEMA);

	put_varint(bytes, schema->num_desc);
	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		put_varint(bytes, desc->flags);
		put_signed(bytes, (int64_t)desc->exponent);
		put_varint(bytes, desc->size);
		put_varint(bytes, desc->first);
		put_varint(bytes, desc->bucket_size);
		put_string(bytes, desc->name);
	}
	put_value_names(bytes, schema);
	end_block(bytes, start);
}

/* Its number; one that is new is written. */
static size_t schema_number(struct recording_writer *writer, const struct statsfile_schema *schema)
{
	struct bytes block = {};
	size_t i;

	if (!schema)
		return 0;
	put_schema(&block, schema);
	for (i = 0; i < writer->num_schemas; i++) {
		if (writer->schema[i].size == block.size &&
		    !memcmp(writer->schema[i].data, block.data, block.size)) {
			free(block.data);
			return i + 1;
		}
	}
	put(&writer->block, block.data, block.size);
	writer->schema = xreallocarray(writer->schema, writer->num_schemas + 1,
				       sizeof(*writer->schema));
	writer->schema[writer->num_schemas++] = block;
	return writer->num_schemas;
}

static unsigned int what_is_new(const struct recorded_vm *vm, const struct recorded_vm *last)
{
	unsigned int what = vm->ended ? RECORDED_ENDED : 0;

	if (!last)
		what |= RECORDED_NEW;
	if (!last || strcmp(vm->name, last->name))
		what |= RECORDED_NAME;
	if (vm->num_vcpus != (last ? last->num_vcpus : 0))
		what |= RECORDED_VCPUS;
	if (vm->num_vcpus_counted != (last ? last->num_vcpus_counted : 0))
		what |= RECORDED_COUNTED;
	return what;
}

/* What it needs of schemas is in front of the sample's block by then. */
static void put_vm(struct recording_writer *writer, struct bytes *content,
		   const struct recorded_vm *vm, const struct recorded_vm *last)
{
	unsigned int what = what_is_new(vm, last);
	size_t i = last ? last->num_vcpus : 0;

	put_varint(content, what);
	if (what & RECORDED_NEW) {
		put_varint(content, vm->pid);
		put_string(content, vm->id);
		put_varint(content, schema_number(writer, vm->schema));
	}
	if (what & RECORDED_NAME)
		put_string(content, vm->name);
	if (what & RECORDED_VCPUS) {
		put_varint(content, schema_number(writer, vm->vcpu_schema));
		put_varint(content, vm->num_vcpus - i);
		for (; i < vm->num_vcpus; i++)
			put_varint(content, vm->vcpu[i]);
	}
	if (what & RECORDED_COUNTED)
		put_varint(content, vm->num_vcpus_counted);
}

struct changes {
	struct bytes bytes;
	uint64_t count;
	uint64_t skipped;
};

static void put_changes(struct changes *changes, const struct recorded_vm *vm,
			const struct recorded_vm *last)
{
	size_t num_last = last ? recorded_vm_num_values(last) : 0;
	size_t i, count = recorded_vm_num_values(vm);
	uint64_t before;

	for (i = 0; i < count; i++) {
		before = i < num_last ? last->values[i] : 0;
		if (vm->values[i] == before) {
			changes->skipped++;
			continue;
		}
		put_varint(&changes->bytes, changes->skipped);
		put_signed(&changes->bytes, vm->values[i] - before);
		changes->skipped = 0;
		changes->count++;
	}
}

/* Bytes at most: of a VM without its values, and of a value or the id of a vCPU. */
#define MAX_VM_SIZE (2 * RECORDING_MAX_STRING + 64)
#define MAX_VALUE_SIZE 14

static_assert(RECORDING_MAX_BLOCK / MAX_VALUE_SIZE <= RECORDING_MAX_VALUES,
	      "a sample that is not too large has not too many values");

static size_t max_size(const struct recorded_vm *vm)
{
	return MAX_VM_SIZE + MAX_VALUE_SIZE * (recorded_vm_num_values(vm) + vm->num_vcpus);
}

/* Whatever the values are, so that no sample is without a VM that others have. */
static size_t leave_out(struct snapshot *snapshot)
{
	size_t i, kept = 0, left = RECORDING_MAX_BLOCK - MAX_VM_SIZE;
	size_t count = snapshot->num_vms;

	for (i = 0; i < count; i++) {
		if (max_size(&snapshot->vm[i]) > left) {
			recorded_vm_free(&snapshot->vm[i]);
			continue;
		}
		left -= max_size(&snapshot->vm[i]);
		snapshot->vm[kept++] = snapshot->vm[i];
	}
	snapshot->num_vms = kept;
	return count - kept;
}

size_t recording_add(struct recording_writer *writer, struct snapshot *snapshot)
{
	bool key = writer->num_samples++ % RECORDING_KEY_INTERVAL == 0;
	size_t start, num_left_out = leave_out(snapshot);
	const struct recorded_vm *vm, *last;
	struct changes changes = {};
	struct bytes content = {};
	uint64_t serial = 0;

	put_fixed(&content, key, 1);
	put_fixed(&content, snapshot->real_ns, 8);
	put_fixed(&content, snapshot->monotonic_ns, 8);
	put_varint(&content, snapshot->num_vms);
	for (vm = snapshot->vm; vm < snapshot->vm + snapshot->num_vms; vm++) {
		last = key ? NULL : snapshot_find(&writer->last, vm->serial);
		put_varint(&content, vm->serial - serial);
		serial = vm->serial;
		put_vm(writer, &content, vm, last);
		put_changes(&changes, vm, last);
	}
	put_varint(&content, changes.count);
	put(&content, changes.bytes.data, changes.bytes.size);
	for (vm = snapshot->vm; vm < snapshot->vm + snapshot->num_vms; vm++) {
		if (vm->ended)
			put_varint(&content, vm->early_ns);
	}

	start = begin_block(&writer->block, RECORDING_SAMPLE);
	put(&writer->block, content.data, content.size);
	end_block(&writer->block, start);
	free(changes.bytes.data);
	free(content.data);
	snapshot_free(&writer->last);
	writer->last = *snapshot;
	*snapshot = (struct snapshot) {};
	return num_left_out;
}

void recording_writer_free(struct recording_writer *writer)
{
	size_t i;

	for (i = 0; i < writer->num_schemas; i++)
		free(writer->schema[i].data);
	free(writer->schema);
	free(writer->block.data);
	snapshot_free(&writer->last);
}

