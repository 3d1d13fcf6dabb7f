// SPDX-License-Identifier: GPL-2.0
/*
 * Reads recordings of the kvmstat before this one, for one release: a struct old_magic, then
 * blocks, each with a CRC-32 and compressed by zlib. They have a model of the VMs instead of the
 * files that were read; this makes such files.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "abi.h"
#include "kvmstat.h"

#define MOST_CONTENT (64u << 20)
#define MOST_SCHEMAS 256

struct old_magic {
	char text[8];
	uint32_t version, checksum;
};

enum { OLD_HOST = 1, OLD_SCHEMA, OLD_SAMPLE, };

struct old_block {
	uint32_t type, size, whole_size, content_checksum;
	uint64_t real_ns, mono_ns;
	uint32_t reserved, checksum;
};

struct old_host {
	char version[64], name[256], release[256], machine[256];
};

struct old_shape {
	uint32_t name_size, num_desc, num_value_names, value_name_size;
};

struct old_vm {
	uint64_t serial, early_ns;
	uint32_t pid, ended, schema, vcpu_schema, num_vcpus, num_vcpus_counted, num_threads;
	uint32_t num_numbers;
	char name[256], id[64];
};

struct old_thread {
	int32_t tid, vcpu;
	uint32_t state;			/* ?, running, stopped, in KVM, outside */
	uint64_t guest_ns, kernel_ns, user_ns, ready_ns, run_ns;
	uint32_t num_threads, has_ready;
};

struct old_schema {
	struct old_shape shape;
	unsigned char *raw;		/* descriptors and names */
	size_t num_values;
};

struct old {
	struct old_schema schema[MOST_SCHEMAS];
	size_t num_schemas;
	char *about;
	int to;
};

/* Bytes of a block's content. */
struct bytes {
	const unsigned char *at;
	size_t left;
};

static const void *take(struct bytes *bytes, size_t size)
{
	const void *at = bytes->at;

	if (size > bytes->left)
		return NULL;
	bytes->at += size;
	bytes->left -= size;
	return at;
}

static bool take_schema(struct old *old, struct bytes *bytes)
{
	struct old_schema *schema = &old->schema[old->num_schemas];
	const void *shape = take(bytes, sizeof(schema->shape)), *raw;
	struct stats_desc desc;
	size_t stride, size, i;

	if (!shape || old->num_schemas == MOST_SCHEMAS)
		return false;
	memcpy(&schema->shape, shape, sizeof(schema->shape));
	stride = sizeof(desc) + schema->shape.name_size;
	size = schema->shape.num_desc * stride +
	       (size_t)schema->shape.num_value_names * schema->shape.value_name_size;
	if (schema->shape.name_size - 1 >= 1024 || schema->shape.num_desc > 16384)
		return false;
	raw = take(bytes, size);
	if (!raw)
		return false;
	schema->raw = xmemdup(raw, size);
	for (i = 0; i < schema->shape.num_desc; i++) {
		memcpy(&desc, schema->raw + i * stride, sizeof(desc));
		if (desc.offset / 8 + desc.size > schema->num_values)
			schema->num_values = desc.offset / 8 + desc.size;
	}
	old->num_schemas++;
	return true;
}

/* The header of a statistics file with this schema. */
static void add_header(struct frame *frame, const struct old_schema *schema, const char *id,
		       uint64_t key, const char *name)
{
	const struct old_shape *shape = &schema->shape;
	size_t descs = shape->num_desc * (sizeof(struct stats_desc) + shape->name_size);
	size_t names = (size_t)shape->num_value_names * shape->value_name_size;
	size_t desc = (sizeof(struct stats_header) + shape->name_size + sizeof(struct stats_ext) + 7) & ~7ul;
	size_t value = (desc + descs + 7) & ~7ul, end = (value + names + 7) & ~7ul;
	struct stats_header header = {
		.flags = STATS_HEADER_EXT, .name_size = shape->name_size,
		.num_desc = shape->num_desc, .id_offset = sizeof(header), .desc_offset = desc,
		.data_offset = end,
	};
	struct stats_ext ext = {
		.size = sizeof(ext), .magic = STATS_EXT_MAGIC, .data_size = schema->num_values * 8,
		.value_name_offset = value, .value_name_num = shape->num_value_names,
		.value_name_size = shape->value_name_size,
	};
	unsigned char *bytes = xcalloc(end, 1);

	memcpy(bytes, &header, sizeof(header));
	strncpy((char *)bytes + sizeof(header), *id ? id : "-", shape->name_size - 1);
	memcpy(bytes + sizeof(header) + shape->name_size, &ext, sizeof(ext));
	memcpy(bytes + desc, schema->raw, descs);
	memcpy(bytes + value, schema->raw + descs, names);
	frame_add(frame, bytes, end, "vm/%llu/%s", (unsigned long long)key, name)->is_schema = true;
}

static void add_thread(struct frame *frame, const struct old_thread *thread, uint64_t key)
{
	static const char states[] = "?RTSS";
	unsigned int state = thread->state;
	unsigned long long guest = thread->guest_ns / 10000000, number = key;
	char *text;

	text = xasprintf("%d (CPU %d/KVM) %c 0 0 0 0 0 0 0 0 0 0 %llu %llu 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
			 "0 0 0 0 0 0 0 -1 0 0 0 %llu 0\n", thread->tid, thread->vcpu,
			 states[state < 5 ? state : 0],
			 (unsigned long long)thread->user_ns / 10000000 + guest,
			 (unsigned long long)thread->kernel_ns / 10000000, guest);
	frame_add(frame, text, strlen(text), "vm/%llu/task/%d/stat", number, thread->tid);
	text = xasprintf("%llu %llu 0\n",
			 (unsigned long long)(thread->has_ready ? thread->run_ns : 0),
			 (unsigned long long)thread->ready_ns);
	frame_add(frame, text, strlen(text), "vm/%llu/task/%d/schedstat", number, thread->tid);
	text = xasprintf("%s\n", state == 1 ? "running" : state == 3 ? "16 0xb 0xae80 0x0" :
			 "202 0x0 0x0 0x0");
	frame_add(frame, text, strlen(text), "vm/%llu/task/%d/syscall", number, thread->tid);
}

static bool take_vm(struct old *old, struct frame *frame, struct bytes *bytes)
{
	const struct old_schema *schema = NULL, *vcpu = NULL;
	const void *packed = take(bytes, sizeof(struct old_vm)), *own, *values, *threads, *ids;
	struct old_thread thread;
	struct old_vm vm;
	unsigned long long key;
	char *who;
	size_t i;

	if (!packed)
		return false;
	memcpy(&vm, packed, sizeof(vm));
	vm.name[sizeof(vm.name) - 1] = vm.id[sizeof(vm.id) - 1] = '\0';
	if (vm.schema > old->num_schemas || vm.vcpu_schema > old->num_schemas)
		return false;
	schema = vm.schema ? &old->schema[vm.schema - 1] : NULL;
	vcpu = vm.vcpu_schema ? &old->schema[vm.vcpu_schema - 1] : NULL;
	own = take(bytes, schema ? schema->num_values * 8 : 0);
	values = take(bytes, vcpu ? (size_t)vm.num_vcpus * vcpu->num_values * 8 : 0);
	threads = take(bytes, (size_t)vm.num_threads * sizeof(thread));
	ids = take(bytes, vcpu ? (size_t)vm.num_vcpus * 4 : 0);
	if (!own || !values || !threads || !ids || !take(bytes, (size_t)vm.num_numbers * 4))
		return false;
	/* A VM that has ended repeats its last values. */
	if (vm.ended)
		return true;
	key = vm.serial;
	who = xasprintf("pid=%u\nname=%s\n", vm.pid, vm.name);
	frame_add(frame, who, strlen(who), "vm/%llu/who", key);
	if (schema) {
		add_header(frame, schema, vm.id, key, "header");
		frame_add(frame, xmemdup(own, schema->num_values * 8), schema->num_values * 8,
			  "vm/%llu/data", key);
	}
	if (vcpu) {
		add_header(frame, vcpu, vm.id, key, "vcpu-header");
		frame_add(frame, xmemdup(ids, vm.num_vcpus * 4), vm.num_vcpus * 4,
			  "vm/%llu/vcpu-ids", key);
		frame_add(frame, xmemdup(values, vm.num_vcpus * vcpu->num_values * 8),
			  vm.num_vcpus * vcpu->num_values * 8, "vm/%llu/vcpu-data", key);
	}
	for (i = 0; i < vm.num_threads; i++) {
		memcpy(&thread, (const char *)threads + i * sizeof(thread), sizeof(thread));
		add_thread(frame, &thread, key);
	}
	return true;
}

static bool take_block(struct old *old, const struct old_block *block, struct bytes *bytes)
{
	struct frame frame = { .real_ns = block->real_ns, .mono_ns = block->mono_ns, };
	const struct old_host *host;
	bool taken = true;

	if (block->type == OLD_SCHEMA)
		return take_schema(old, bytes);
	if (block->type == OLD_HOST) {
		host = take(bytes, sizeof(*host));
		if (host)
			old->about = xasprintf("host=%.255s\nrelease=%.255s\nmachine=%.255s\n",
					       host->name, host->release, host->machine);
		return host;
	}
	if (block->type != OLD_SAMPLE)
		return true;
	if (old->about)
		frame_add(&frame, xmemdup(old->about, strlen(old->about) + 1), strlen(old->about),
			  "host/about")->is_schema = true;
	while (taken && bytes->left)
		taken = take_vm(old, &frame, bytes);
	taken = taken && write_frame(old->to, &frame);
	frame_free(&frame);
	return taken;
}

/* Reads a block. False at the end, or if it is damaged. */
static bool read_block(struct old *old, int fd, off_t *offset)
{
	struct old_block block;
	unsigned char *packed, *whole = NULL;
	struct bytes bytes;
	uLongf length;
	bool taken = false;

	if (pread(fd, &block, sizeof(block), *offset) != sizeof(block) ||
	    crc32(0, (void *)&block, offsetof(struct old_block, checksum)) != block.checksum ||
	    block.size > MOST_CONTENT || block.whole_size > MOST_CONTENT)
		return false;
	packed = xcalloc(block.size, 1);
	if (pread(fd, packed, block.size, *offset + sizeof(block)) == block.size &&
	    crc32(0, packed, block.size) == block.content_checksum) {
		whole = xcalloc(block.whole_size, 1);
		length = block.whole_size;
		if (block.size == block.whole_size)
			memcpy(whole, packed, block.size);
		else if (uncompress(whole, &length, packed, block.size) != Z_OK)
			length = 0;
		bytes = (struct bytes) { whole, length, };
		taken = take_block(old, &block, &bytes);
	}
	*offset += taken ? sizeof(block) + block.size : 0;
	free(packed);
	free(whole);
	return taken;
}

int convert_recording(const char *path, int fd)
{
	struct old *old;
	struct old_magic magic;
	struct stat info;
	off_t offset = sizeof(magic);
	size_t i;
	int to;

	if (pread(fd, &magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic.text, "\x8bkvmrec\n", 8))
		return fd;
	if (magic.version != 3) {
		complain("%s: a recording of an older kvmstat than the last one", path);
		errno = EINVAL;
		return -1;
	}
	old = xcalloc(1, sizeof(*old));
	old->to = memfd_create("recording", MFD_CLOEXEC);
	while (read_block(old, fd, &offset))
		;
	/* The reader calls a recording damaged if bytes follow its last sample. */
	if (!fstat(fd, &info) && offset != info.st_size && write(old->to, "", 1) != 1)
		die("out of memory");
	for (i = 0; i < old->num_schemas; i++)
		free(old->schema[i].raw);
	to = old->to;
	free(old->about);
	free(old);
	close(fd);
	return to;
}
