// SPDX-License-Identifier: GPL-2.0
/*
 * Writes and reads recordings.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "sources/recording.h"
#include "sources/schema.h"
#include "util/util.h"

#define MAX_SCHEMAS 256

__printf(2, 3)
static int fail(struct statsfile_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -EINVAL;
}

/* CRC-32 as in zlib, which need not be there. */
static uint32_t checksum(const void *data, size_t size)
{
	static uint32_t table[256];
	const unsigned char *byte = data;
	unsigned int i, bit;
	uint32_t sum = ~0u;

	for (i = 0; !table[255] && i < ARRAY_SIZE(table); i++) {
		table[i] = i;
		for (bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (; size--; byte++)
		sum = sum >> 8 ^ table[(sum ^ *byte) & 0xff];
	return ~sum;
}

static uint32_t block_checksum(const struct recording_block *block)
{
	return checksum(block, offsetof(struct recording_block, checksum));
}

static uint32_t magic_checksum(const struct recording_magic *magic)
{
	return checksum(magic, offsetof(struct recording_magic, checksum));
}

uint64_t recorded_vm_num_values(const struct recorded_vm *vm)
{
	return (vm->schema ? vm->schema->num_values : 0) +
	       (vm->vcpu_schema ? (uint64_t)vm->num_vcpus * vm->vcpu_schema->num_values : 0);
}

static int compare_serials(const void *a, const void *b)
{
	const struct recorded_vm *left = a, *right = b;

	return (left->serial > right->serial) - (left->serial < right->serial);
}

const struct recorded_vm *snapshot_find(const struct snapshot *snapshot, uint64_t serial)
{
	const struct recorded_vm wanted = { .serial = serial, };

	if (!snapshot->num_vms)
		return NULL;
	return bsearch(&wanted, snapshot->vm, snapshot->num_vms, sizeof(wanted), compare_serials);
}

void recorded_vm_free(struct recorded_vm *vm)
{
	free(vm->name);
	free(vm->id);
	if (vm->schema)
		statsfile_schema_put(vm->schema);
	if (vm->vcpu_schema)
		statsfile_schema_put(vm->vcpu_schema);
	free(vm->vcpu);
	free(vm->values);
	free(vm->threads.thread);
	free(vm->number);
	*vm = (struct recorded_vm) {};
}

void snapshot_free(struct snapshot *snapshot)
{
	size_t i;

	for (i = 0; i < snapshot->num_vms; i++)
		recorded_vm_free(&snapshot->vm[i]);
	free(snapshot->vm);
	*snapshot = (struct snapshot) {};
}

void recording_host_free(struct recording_host *host)
{
	free(host->version);
	free(host->name);
	free(host->release);
	free(host->machine);
	*host = (struct recording_host) {};
}

/*
 * What the values of a VM are differences to, and how many of them: where the key has it, too.
 * vCPUs that came since are behind those.
 */
static size_t values_of_key(const struct snapshot *key, const struct recorded_vm *vm,
			    const uint64_t **values)
{
	const struct recorded_vm *base = snapshot_find(key, vm->serial);
	uint64_t count = recorded_vm_num_values(vm);

	if (!base || base->schema != vm->schema ||
	    (base->vcpu_schema && base->vcpu_schema != vm->vcpu_schema))
		return 0;
	*values = base->values;
	return recorded_vm_num_values(base) < count ? recorded_vm_num_values(base) : count;
}

/* Writing */

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

/* Into @to, which is smaller than @content: false if that is not possible. */
static bool compress_content(const struct bytes *content, unsigned char *to, uint32_t *size)
{
#ifdef HAVE_ZLIB
	uLongf length = content->size - 1;

	if (content->size > 1 &&
	    compress2(to, &length, content->data, content->size, Z_BEST_SPEED) == Z_OK) {
		*size = length;
		return true;
	}
#endif
	(void)content;
	(void)to;
	(void)size;
	return false;
}

/* Empties the content. */
static void put_block(struct recording_writer *writer, struct recording_block *block,
		      struct bytes *content)
{
	unsigned char *compressed = xcalloc(content->size, 1);
	const unsigned char *data = content->data;

	block->size = content->size;
	block->whole_size = content->size;
	if (!writer->is_plain && compress_content(content, compressed, &block->size))
		data = compressed;
	block->content_checksum = checksum(data, block->size);
	block->checksum = block_checksum(block);
	put(&writer->block, block, sizeof(*block));
	put(&writer->block, data, block->size);
	free(compressed);
	free(content->data);
	*content = (struct bytes) {};
}

/* A text that is cut off has a 0 at its end all the same. */
static void pack_text(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
	text_make_printable(to);
}

void recording_begin(struct recording_writer *writer, const struct recording_host *host)
{
	struct recording_magic magic = { .text = RECORDING_MAGIC, .version = RECORDING_VERSION, };
	struct recording_block block = { .type = RECORDING_HOST, };
	struct packed_host packed = { .interval_ns = host->interval_ns, .pid = host->pid, };
	struct bytes content = {};

	magic.checksum = magic_checksum(&magic);
	put(&writer->block, &magic, sizeof(magic));
	pack_text(packed.version, sizeof(packed.version), host->version);
	pack_text(packed.name, sizeof(packed.name), host->name);
	pack_text(packed.release, sizeof(packed.release), host->release);
	pack_text(packed.machine, sizeof(packed.machine), host->machine);
	put(&content, &packed, sizeof(packed));
	put_block(writer, &block, &content);
}

/* Its number; one that is new is written. */
static size_t schema_number(struct recording_writer *writer, struct statsfile_schema *schema)
{
	struct recording_block block = { .type = RECORDING_SCHEMA, };
	struct statsfile_source file;
	struct bytes content = {};
	size_t i;

	if (!schema)
		return 0;
	for (i = 0; i < writer->num_schemas; i++) {
		if (statsfile_schema_is_same(writer->schema[i], schema))
			return i + 1;
	}
	writer->schema = xreallocarray(writer->schema, i + 1, sizeof(*writer->schema));
	writer->schema[writer->num_schemas++] = statsfile_schema_get(schema);
	file = schema_file(schema, "-");
	put(&content, file.memory, file.size);
	free((void *)file.memory);
	put_block(writer, &block, &content);
	return i + 1;
}

static void put_values(struct bytes *content, const struct snapshot *key,
		       const struct recorded_vm *vm)
{
	const uint64_t *before = NULL;
	size_t i, count = recorded_vm_num_values(vm), num_before;
	uint64_t difference;

	num_before = values_of_key(key, vm, &before);
	for (i = 0; i < count; i++) {
		difference = vm->values[i] - (i < num_before ? before[i] : 0);
		put(content, &difference, sizeof(difference));
	}
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

	pack_text(packed.name, sizeof(packed.name), vm->name);
	pack_text(packed.id, sizeof(packed.id), vm->id);
	put(content, &packed, sizeof(packed));
	put_values(content, &writer->key, vm);
	put(content, vm->threads.thread, vm->threads.count * sizeof(*vm->threads.thread));
	put(content, vm->vcpu, vm->num_vcpus * sizeof(*vm->vcpu));
	put(content, vm->number, vm->num_numbers * sizeof(*vm->number));
}

static size_t packed_size(const struct recorded_vm *vm)
{
	return sizeof(struct packed_vm) + 8 * recorded_vm_num_values(vm) +
	       vm->threads.count * sizeof(*vm->threads.thread) +
	       vm->num_vcpus * sizeof(*vm->vcpu) + vm->num_numbers * sizeof(*vm->number);
}

/* So that no sample is without a VM that others have. */
static size_t leave_out(struct snapshot *snapshot)
{
	size_t i, kept = 0, left = RECORDING_MAX_CONTENT, count = snapshot->num_vms;

	for (i = 0; i < count; i++) {
		if (packed_size(&snapshot->vm[i]) > left) {
			recorded_vm_free(&snapshot->vm[i]);
			continue;
		}
		left -= packed_size(&snapshot->vm[i]);
		snapshot->vm[kept++] = snapshot->vm[i];
	}
	snapshot->num_vms = kept;
	return count - kept;
}

size_t recording_add(struct recording_writer *writer, struct snapshot *snapshot)
{
	bool is_key = writer->num_samples++ % RECORDING_KEY_INTERVAL == 0;
	struct recording_block block = {
		.type = is_key ? RECORDING_KEY : RECORDING_SAMPLE,
		.real_ns = snapshot->real_ns,
		.monotonic_ns = snapshot->monotonic_ns,
	};
	size_t i, num_left_out = leave_out(snapshot);
	struct bytes content = {};

	if (is_key)
		snapshot_free(&writer->key);
	for (i = 0; i < snapshot->num_vms; i++)
		put_vm(writer, &content, &snapshot->vm[i]);
	put_block(writer, &block, &content);
	if (is_key)
		writer->key = *snapshot;
	else
		snapshot_free(snapshot);
	*snapshot = (struct snapshot) {};
	return num_left_out;
}

void recording_writer_free(struct recording_writer *writer)
{
	size_t i;

	for (i = 0; i < writer->num_schemas; i++)
		statsfile_schema_put(writer->schema[i]);
	free(writer->schema);
	free(writer->block.data);
	snapshot_free(&writer->key);
}

/* Reading */

/* What is left of a content; once something was wrong with it, nothing is. */
struct reader {
	const unsigned char *at;
	size_t left;
	const char *wrong;
};

static void set_wrong(struct reader *reader, const char *what)
{
	if (!reader->wrong)
		reader->wrong = what;
	reader->left = 0;
}

/* Zeros if there is not that much. */
static void take(struct reader *reader, void *to, size_t size)
{
	if (!size)
		return;
	if (size > reader->left) {
		set_wrong(reader, "it is too short");
		memset(to, 0, size);
		return;
	}
	memcpy(to, reader->at, size);
	reader->at += size;
	reader->left -= size;
}

/* An array that is no larger than what is left. The caller frees it. */
static void *take_array(struct reader *reader, size_t *count, size_t size)
{
	void *array;

	if (*count > reader->left / size) {
		set_wrong(reader, "it is too short");
		*count = 0;
	}
	array = xcalloc(*count, size);
	take(reader, array, *count * size);
	return array;
}

/* Goes to a terminal. The caller frees it. */
static char *take_text(const char *field, size_t size)
{
	char *text = xasprintf("%.*s", (int)strnlen(field, size), field);

	text_make_printable(text);
	return text;
}

#define TAKE_TEXT(field) take_text(field, sizeof(field))

static int read_at(const struct recording_source *source, uint64_t offset, void *to, size_t size)
{
	if (offset > source->size || size > source->size - offset)
		return -ENODATA;
	if (source->fd >= 0)
		return pread_all(source->fd, offset, to, size);
	memcpy(to, (const char *)source->memory + offset, size);
	return 0;
}

static int uncompress_content(const struct recording_block *block, const unsigned char *content,
			      unsigned char *whole, struct statsfile_error *error)
{
#ifdef HAVE_ZLIB
	uLongf size = block->whole_size;

	if (uncompress(whole, &size, content, block->size) == Z_OK && size == block->whole_size)
		return 0;
	return fail(error, "a block cannot be uncompressed");
#else
	(void)block;
	(void)content;
	(void)whole;
	return fail(error, "it is compressed, and this kvmstat was built without zlib");
#endif
}

/* A fuzzer could not know them. */
static bool is_checksum(uint32_t found, uint32_t expected)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return true;
#endif
	return found == expected;
}

/* In *@whole what is in the block, which the caller frees after 0. */
static int read_content(const struct recording *recording, uint64_t offset,
			struct recording_block *block, unsigned char **whole,
			struct statsfile_error *error)
{
	const struct recording_source *source = &recording->source;
	unsigned char *content;
	int ret;

	ret = read_at(source, offset, block, sizeof(*block));
	if (ret)
		return ret;
	if (!is_checksum(block->checksum, block_checksum(block)))
		return fail(error, "the checksum of a block's header is wrong");
	if (block->whole_size > RECORDING_MAX_CONTENT || block->size > block->whole_size)
		return fail(error, "a block of %u bytes, %u are possible", block->whole_size,
			    RECORDING_MAX_CONTENT);
	/* Only what is there at all is worth the memory. */
	if (block->size > source->size - offset - sizeof(*block))
		return -ENODATA;
	content = xcalloc(block->size, 1);
	ret = read_at(source, offset + sizeof(*block), content, block->size);
	if (!ret && !is_checksum(block->content_checksum, checksum(content, block->size)))
		ret = fail(error, "the checksum of a block is wrong");
	*whole = content;
	if (!ret && block->size != block->whole_size) {
		*whole = xcalloc(block->whole_size, 1);
		ret = uncompress_content(block, content, *whole, error);
		free(content);
	}
	if (ret)
		free(*whole);
	return ret;
}

static int parse_host(struct recording *recording, const struct recording_block *block,
		      const unsigned char *content, struct statsfile_error *error)
{
	struct reader reader = { .at = content, .left = block->whole_size, };
	struct packed_host packed;

	take(&reader, &packed, sizeof(packed));
	if (reader.wrong)
		return fail(error, "the description of the host: %s", reader.wrong);
	if (packed.pid > INT_MAX || packed.interval_ns > INT64_MAX)
		return fail(error, "the description of the host: a number is too large");
	recording_host_free(&recording->host);
	recording->host = (struct recording_host) {
		.version = TAKE_TEXT(packed.version),
		.name = TAKE_TEXT(packed.name),
		.release = TAKE_TEXT(packed.release),
		.machine = TAKE_TEXT(packed.machine),
		.interval_ns = packed.interval_ns,
		.pid = packed.pid,
	};
	return 0;
}

static int parse_schema(struct recording *recording, const struct recording_block *block,
			const unsigned char *content, struct statsfile_error *error)
{
	const struct statsfile_source source = {
		.fd = -1, .memory = content, .size = block->whole_size,
	};
	struct statsfile_error why;
	struct statsfile file;

	recording->schema_size += block->whole_size;
	if (recording->num_schemas == MAX_SCHEMAS ||
	    recording->schema_size > RECORDING_MAX_CONTENT)
		return fail(error, "there are too many schemas");
	if (statsfile_open(&file, &source, NULL, &why))
		return fail(error, "a schema: %.150s", why.text);
	recording->schema = xreallocarray(recording->schema, recording->num_schemas + 1,
					  sizeof(*recording->schema));
	recording->schema[recording->num_schemas++] = statsfile_schema_get(file.schema);
	statsfile_close(&file);
	return 0;
}

static int note_sample(struct recording *recording, const struct recording_block *block,
		       uint64_t offset, struct statsfile_error *error)
{
	size_t count = recording->num_samples;
	const struct recording_sample *last = count ? &recording->sample[count - 1] : NULL;

	/* To all that a clock shows an interval can be added. */
	if (block->monotonic_ns > INT64_MAX)
		return fail(error, "the time of a sample is too large");
	if (!last && block->type != RECORDING_KEY)
		return fail(error, "the first sample is not complete");
	if (last && block->monotonic_ns <= last->monotonic_ns)
		return fail(error, "a sample is older than the one before");
	recording->sample = xgrow(recording->sample, count, sizeof(*recording->sample));
	recording->sample[count] = (struct recording_sample) {
		.offset = offset,
		.real_ns = block->real_ns,
		.monotonic_ns = block->monotonic_ns,
		.key = block->type == RECORDING_KEY ? count : recording->sample[count - 1].key,
	};
	recording->num_samples++;
	return 0;
}

static int look_at_block(struct recording *recording, uint64_t offset,
			 struct recording_block *block, struct statsfile_error *error)
{
	unsigned char *content;
	int ret = read_content(recording, offset, block, &content, error);

	if (ret)
		return ret;
	if (block->type == RECORDING_HOST)
		ret = parse_host(recording, block, content, error);
	else if (block->type == RECORDING_SCHEMA)
		ret = parse_schema(recording, block, content, error);
	else if (block->type == RECORDING_KEY || block->type == RECORDING_SAMPLE)
		ret = note_sample(recording, block, offset, error);
	free(content);
	return ret;
}

static void note_rest(struct recording *recording, int ret, uint64_t offset, const char *why)
{
	recording->damaged = ret != -ENODATA;
	if (ret == -ENODATA)
		fail(&recording->rest, "it is cut off, after byte %llu nothing is complete",
		     (unsigned long long)offset);
	else
		fail(&recording->rest, "it is damaged at byte %llu: %.100s",
		     (unsigned long long)offset, ret == -EINVAL ? why : strerror(-ret));
}

static int check_magic(const struct recording_source *source, struct statsfile_error *error)
{
	struct recording_magic magic;
	int ret;

	ret = read_at(source, 0, &magic, sizeof(magic));
	if (ret && ret != -ENODATA)
		return fail(error, "it cannot be read: %s", strerror(-ret));
	if (ret || memcmp(magic.text, RECORDING_MAGIC, sizeof(magic.text)))
		return fail(error, "it is not a recording of kvmstat");
	if (magic.version == __builtin_bswap32(RECORDING_VERSION))
		return fail(error, "it is a recording of a machine with another byte order");
	if (magic.version != RECORDING_VERSION)
		return fail(error, "it is a recording of version %u, this kvmstat reads version %u",
			    magic.version, RECORDING_VERSION);
	if (magic.checksum != magic_checksum(&magic))
		return fail(error, "it is damaged at byte 0: the checksum of its header is wrong");
	return 0;
}

int recording_open(struct recording *recording, const struct recording_source *source,
		   struct statsfile_error *error)
{
	uint64_t offset = sizeof(struct recording_magic);
	struct statsfile_error why = {};
	struct recording_block block = {};
	int ret;

	*recording = (struct recording) { .source = *source, .key_position = SIZE_MAX, };
	ret = check_magic(source, error);
	if (ret)
		return ret;
	while (offset < source->size) {
		ret = look_at_block(recording, offset, &block, &why);
		if (ret) {
			note_rest(recording, ret, offset, why.text);
			break;
		}
		offset += sizeof(block) + block.size;
	}
	recording->position = recording->num_samples;
	if (recording->host.version)
		return 0;
	fail(error, "there is nothing of the host in it%s%s", ret ? ": " : "",
	     recording->rest.text);
	recording_close(recording);
	return -EINVAL;
}

void recording_close(struct recording *recording)
{
	size_t i;

	snapshot_free(&recording->now);
	snapshot_free(&recording->key);
	for (i = 0; i < recording->num_schemas; i++)
		statsfile_schema_put(recording->schema[i]);
	free(recording->schema);
	free(recording->sample);
	recording_host_free(&recording->host);
}

/* NULL for 0. */
static struct statsfile_schema *find_schema(const struct recording *recording,
					    struct reader *reader, uint32_t number)
{
	if (number > recording->num_schemas)
		set_wrong(reader, "a schema that there is not");
	if (!number || number > recording->num_schemas)
		return NULL;
	return statsfile_schema_get(recording->schema[number - 1]);
}

/* Those who look for one rely on their order. */
static void check_threads(struct reader *reader, const struct proc_threads *threads)
{
	const struct proc_thread *thread;
	pid_t last = 0;

	for (thread = threads->thread; thread < threads->thread + threads->count; thread++) {
		if (thread->tid <= last || thread->vcpu < -1 || thread->times.has_ready > 1 ||
		    thread->times.num_threads != 1)
			set_wrong(reader, "its threads make no sense");
		last = thread->tid;
	}
}

static void check_vm(struct reader *reader, const struct recorded_vm *vm)
{
	size_t i;

	if (vm->pid <= 0)
		set_wrong(reader, "a VM without a pid");
	/* As a statistics file has it, where an id is no text with blanks. */
	if (vm->schema && (!*vm->id || strchr(vm->id, ' ')))
		set_wrong(reader, "the id of a VM is none");
	if (vm->num_vcpus && (!vm->schema || !vm->vcpu_schema))
		set_wrong(reader, "vCPUs without statistics");
	if (vm->num_vcpus > STATSFILE_MAX_VCPUS || vm->num_vcpus_counted > INT_MAX)
		set_wrong(reader, "there are too many vCPUs");
	for (i = 0; i < vm->num_vcpus; i++) {
		if (vm->vcpu[i] > INT_MAX)
			set_wrong(reader, "the number of a vCPU is too large");
	}
	for (i = 0; i < vm->num_numbers; i++) {
		if (vm->number[i] < 0 || (i && vm->number[i] <= vm->number[i - 1]))
			set_wrong(reader, "the numbers of its vCPUs make no sense");
	}
	check_threads(reader, &vm->threads);
}

static void read_vm(const struct recording *recording, struct reader *reader,
		    const struct snapshot *key, struct recorded_vm *vm)
{
	const uint64_t *before = NULL;
	struct packed_vm packed;
	size_t i, num_values, num_before;

	take(reader, &packed, sizeof(packed));
	*vm = (struct recorded_vm) {
		.serial = packed.serial,
		.pid = packed.pid,
		.ended = packed.ended,
		.early_ns = packed.early_ns,
		.name = TAKE_TEXT(packed.name),
		.id = TAKE_TEXT(packed.id),
		.schema = find_schema(recording, reader, packed.schema),
		.vcpu_schema = find_schema(recording, reader, packed.vcpu_schema),
		.num_vcpus = packed.num_vcpus,
		.num_vcpus_counted = packed.num_vcpus_counted,
		.threads.count = packed.num_threads,
		.num_numbers = packed.num_numbers,
	};
	num_values = recorded_vm_num_values(vm);
	vm->values = take_array(reader, &num_values, sizeof(*vm->values));
	vm->threads.thread = take_array(reader, &vm->threads.count, sizeof(*vm->threads.thread));
	vm->vcpu = take_array(reader, &vm->num_vcpus, sizeof(*vm->vcpu));
	vm->number = take_array(reader, &vm->num_numbers, sizeof(*vm->number));
	check_vm(reader, vm);
	num_before = reader->wrong ? 0 : values_of_key(key, vm, &before);
	for (i = 0; i < num_before; i++)
		vm->values[i] += before[i];
}

/* As it was when the file was opened: it may be written anew meanwhile. */
static bool is_same(const struct recording_sample *noted, const struct recording_block *block,
		    bool is_key)
{
	return block->type == (is_key ? RECORDING_KEY : RECORDING_SAMPLE) &&
	       block->real_ns == noted->real_ns && block->monotonic_ns == noted->monotonic_ns;
}

static int read_sample(const struct recording *recording, size_t position,
		       const struct snapshot *key, struct snapshot *now,
		       struct statsfile_error *error)
{
	const struct recording_sample *sample = &recording->sample[position];
	struct recording_block block;
	struct reader reader = {};
	struct recorded_vm *vm;
	unsigned char *content;
	uint64_t serial = 0;
	int ret;

	ret = read_content(recording, sample->offset, &block, &content, error);
	if (ret)
		return ret == -EINVAL ? ret : fail(error, "it has changed: %s", strerror(-ret));
	if (is_same(sample, &block, sample->key == position))
		reader = (struct reader) { .at = content, .left = block.whole_size, };
	else
		set_wrong(&reader, "it has changed");
	*now = (struct snapshot) {
		.real_ns = sample->real_ns,
		.monotonic_ns = sample->monotonic_ns,
		.vm = xcalloc(1, sizeof(*now->vm)),
	};
	while (reader.left) {
		now->vm = xgrow(now->vm, now->num_vms, sizeof(*now->vm));
		vm = &now->vm[now->num_vms++];
		read_vm(recording, &reader, key, vm);
		if (vm->serial <= serial)
			set_wrong(&reader, "VMs are not in order");
		if (vm->early_ns > now->monotonic_ns)
			set_wrong(&reader, "a VM ended before there was any time");
		serial = vm->serial;
	}
	free(content);
	if (!reader.wrong)
		return 0;
	snapshot_free(now);
	return fail(error, "a sample: %s", reader.wrong);
}

static int read_key(struct recording *recording, size_t position, struct statsfile_error *error)
{
	static const struct snapshot none;
	struct snapshot key;
	int ret;

	if (recording->key_position == position)
		return 0;
	ret = read_sample(recording, position, &none, &key, error);
	if (ret)
		return ret;
	snapshot_free(&recording->key);
	recording->key = key;
	recording->key_position = position;
	return 0;
}

static int go_to(struct recording *recording, size_t position, struct statsfile_error *error)
{
	static const struct snapshot none;
	size_t key = recording->sample[position].key, failed = position;
	struct snapshot now;
	int ret = 0;

	if (recording->position == position)
		return 0;
	if (key != position) {
		ret = read_key(recording, key, error);
		failed = ret ? key : position;
	}
	if (!ret)
		ret = read_sample(recording, position, key == position ? &none : &recording->key,
				  &now, error);
	if (!ret) {
		snapshot_free(&recording->now);
		recording->now = now;
		recording->position = position;
		return 0;
	}
	note_rest(recording, ret, recording->sample[failed].offset, error->text);
	recording->num_samples = failed;
	if (recording->position >= failed) {
		snapshot_free(&recording->now);
		recording->position = failed;
	}
	return ret;
}

int recording_seek(struct recording *recording, size_t position, struct statsfile_error *error)
{
	struct statsfile_error other;
	int ret = go_to(recording, position, error);

	/* To the last one that is left, if that can still be read. */
	while (ret && recording->num_samples && recording->position == recording->num_samples)
		go_to(recording, recording->num_samples - 1, &other);
	return ret;
}
