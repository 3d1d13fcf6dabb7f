// SPDX-License-Identifier: GPL-2.0
/* Reads recordings. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "sources/recording_read.h"
#include "util/util.h"

#define MAX_SCHEMAS 256

/* The unread rest of a content; empty after an error. */
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

/* Copies the next bytes; zeros if there are not enough. */
static void take(struct reader *reader, void *to, size_t size)
{
	memset(to, 0, size);
	if (size > reader->left) {
		set_wrong(reader, "it is too short");
		return;
	}
	if (size)
		memcpy(to, reader->at, size);
	reader->at += size;
	reader->left -= size;
}

/* Copies an array. If it is not complete, sets *@count to 0. The caller frees the array. */
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

/* Terminates a text, and makes it printable. */
static void clean(char *text, size_t size)
{
	text[size - 1] = '\0';
	text_make_printable(text);
}

static int read_at(const struct recording_source *source, uint64_t offset, void *to, size_t size)
{
	if (offset > source->size || size > source->size - offset)
		return -ENODATA;
	if (source->fd >= 0)
		return pread_all(source->fd, offset, to, size);
	memcpy(to, (const char *)source->memory + offset, size);
	return 0;
}

/* A fuzzer cannot guess checksums. */
static bool is_checksum(uint32_t found, uint32_t expected)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return true;
#endif
	return found == expected;
}

#ifdef HAVE_ZLIB
static bool uncompress_content(unsigned char *to, size_t to_size, const unsigned char *content,
			       size_t size)
{
	uLongf whole_size = to_size;

	return uncompress(to, &whole_size, content, size) == Z_OK && whole_size == to_size;
}
#else
#define uncompress_content(to, to_size, content, size) ((void)(to), false)
#endif

/* Reads a block, and in *@whole its content, which the caller frees after 0. */
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
	if (!is_checksum(block->checksum, HEADER_CHECKSUM(block)))
		return malformed(error, "the checksum of a block's header is wrong");
	if (block->whole_size > RECORDING_MAX_CONTENT || block->size > block->whole_size)
		return malformed(error, "a block of %u bytes, %u are possible", block->whole_size,
				 RECORDING_MAX_CONTENT);
	/* Allocate only as much memory as the file has content. */
	if (block->size > source->size - offset - sizeof(*block))
		return -ENODATA;
	content = xcalloc(block->size, 1);
	ret = read_at(source, offset + sizeof(*block), content, block->size);
	if (!ret &&
	    !is_checksum(block->content_checksum, recording_checksum(content, block->size)))
		ret = malformed(error, "the checksum of a block is wrong");
	*whole = content;
	if (!ret && block->size != block->whole_size) {
		*whole = xcalloc(block->whole_size, 1);
		if (!uncompress_content(*whole, block->whole_size, content, block->size))
			ret = malformed(error, "a block cannot be uncompressed");
		free(content);
	}
	if (ret)
		free(*whole);
	return ret;
}

static int parse_host(struct recording *recording, struct reader *reader,
		      struct statsfile_error *error)
{
	struct recording_host host;

	take(reader, &host, sizeof(host));
	if (reader->wrong)
		return malformed(error, "the description of the host: %s", reader->wrong);
	if (host.pid > INT_MAX || host.interval_ns > INT64_MAX)
		return malformed(error, "the description of the host: a number is too large");
	clean(host.version, sizeof(host.version));
	clean(host.name, sizeof(host.name));
	clean(host.release, sizeof(host.release));
	clean(host.machine, sizeof(host.machine));
	if (!*host.version)
		return malformed(error, "the description of the host: no version");
	recording->host = host;
	return 0;
}

static int parse_schema(struct recording *recording, struct reader *reader,
			struct statsfile_error *error)
{
	struct statsfile_schema *schema;
	struct statsfile_error why;
	struct statsfile_shape shape;

	recording->schema_size += reader->left;
	if (recording->num_schemas == MAX_SCHEMAS ||
	    recording->schema_size > RECORDING_MAX_CONTENT)
		return malformed(error, "there are too many schemas");
	take(reader, &shape, sizeof(shape));
	if (statsfile_schema_parse(&schema, &shape, reader->at, reader->left, &why))
		return malformed(error, "a schema: %.150s", why.text);
	recording->schema = xreallocarray(recording->schema, recording->num_schemas + 1,
					  sizeof(*recording->schema));
	recording->schema[recording->num_schemas++] = schema;
	return 0;
}

static int note_sample(struct recording *recording, const struct recording_block *block,
		       uint64_t offset, struct statsfile_error *error)
{
	size_t count = recording->num_samples;

	/* Adding an interval must not overflow. */
	if (block->monotonic_ns > INT64_MAX)
		return malformed(error, "the time of a sample is too large");
	if (count && block->monotonic_ns <= recording->sample[count - 1].monotonic_ns)
		return malformed(error, "a sample is older than the one before");
	recording->sample = xgrow(recording->sample, count, sizeof(*recording->sample));
	recording->sample[recording->num_samples++] = (struct recording_sample) {
		.offset = offset,
		.real_ns = block->real_ns,
		.monotonic_ns = block->monotonic_ns,
	};
	return 0;
}

static int look_at_block(struct recording *recording, uint64_t offset,
			 struct recording_block *block, struct statsfile_error *error)
{
	struct reader reader = {};
	unsigned char *content;
	int ret = read_content(recording, offset, block, &content, error);

	if (ret)
		return ret;
	reader = (struct reader) { .at = content, .left = block->whole_size, };
	if (block->type == RECORDING_HOST)
		ret = parse_host(recording, &reader, error);
	else if (block->type == RECORDING_SCHEMA)
		ret = parse_schema(recording, &reader, error);
	else if (block->type == RECORDING_SAMPLE)
		ret = note_sample(recording, block, offset, error);
	free(content);
	return ret;
}

static void note_rest(struct recording *recording, int ret, uint64_t offset, const char *why)
{
	recording->damaged = ret != -ENODATA;
	if (ret == -ENODATA)
		malformed(&recording->rest, "it is cut off after byte %llu",
			  (unsigned long long)offset);
	else
		malformed(&recording->rest, "it is damaged at byte %llu: %.100s",
			  (unsigned long long)offset, ret == -EINVAL ? why : strerror(-ret));
}

static int check_magic(const struct recording_source *source, struct statsfile_error *error)
{
	struct recording_magic magic;
	int ret;

	ret = read_at(source, 0, &magic, sizeof(magic));
	if (ret && ret != -ENODATA)
		return malformed(error, "it cannot be read: %s", strerror(-ret));
	if (ret || memcmp(magic.text, RECORDING_MAGIC, sizeof(magic.text)))
		return malformed(error, "it is not a recording of kvmstat");
	if (magic.version == __builtin_bswap32(RECORDING_VERSION))
		return malformed(error, "it is a recording of a machine with another byte order");
	if (magic.version != RECORDING_VERSION)
		return malformed(error,
				 "it is a recording of version %u, this kvmstat reads version %u",
				 magic.version, RECORDING_VERSION);
	if (magic.checksum != HEADER_CHECKSUM(&magic))
		return malformed(error,
				 "it is damaged at byte 0: the checksum of its header is wrong");
	return 0;
}

int recording_open(struct recording *recording, const struct recording_source *source,
		   struct statsfile_error *error)
{
	uint64_t offset = sizeof(struct recording_magic);
	struct recording_block block = {};
	struct statsfile_error why = {};
	int ret;

	*recording = (struct recording) { .source = *source, };
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
	if (*recording->host.version)
		return 0;
	malformed(error, "it has no description of the host%s%s", ret ? ": " : "",
		  recording->rest.text);
	recording_close(recording);
	return -EINVAL;
}

void recording_close(struct recording *recording)
{
	size_t i;

	snapshot_free(&recording->now);
	for (i = 0; i < recording->num_schemas; i++)
		statsfile_schema_put(recording->schema[i]);
	free(recording->schema);
	free(recording->sample);
}

/* NULL for 0. */
static struct statsfile_schema *find_schema(const struct recording *recording,
					    struct reader *reader, uint32_t number)
{
	if (number > recording->num_schemas)
		set_wrong(reader, "a schema that does not exist");
	if (!number || number > recording->num_schemas)
		return NULL;
	return statsfile_schema_get(recording->schema[number - 1]);
}

static void check_vm(struct reader *reader, const struct recorded_vm *vm)
{
	size_t i;

	if (vm->pid <= 0)
		set_wrong(reader, "a VM without a pid");
	/* As in a statistics file, the id must not be empty or have blanks. */
	if (vm->schema && (!*vm->id || strchr(vm->id, ' ')))
		set_wrong(reader, "a VM without an id");
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
			set_wrong(reader, "the numbers of its vCPUs are invalid");
	}
	if (!proc_threads_are_valid(&vm->threads))
		set_wrong(reader, "its threads are invalid");
}

static void read_vm(const struct recording *recording, struct reader *reader,
		    struct recorded_vm *vm)
{
	struct packed_vm packed;
	size_t num_values;

	take(reader, &packed, sizeof(packed));
	*vm = (struct recorded_vm) {
		.serial = packed.serial,
		.pid = packed.pid,
		.ended = packed.ended,
		.early_ns = packed.early_ns,
		.schema = find_schema(recording, reader, packed.schema),
		.vcpu_schema = find_schema(recording, reader, packed.vcpu_schema),
		.num_vcpus = packed.num_vcpus,
		.num_vcpus_counted = packed.num_vcpus_counted,
		.threads.count = packed.num_threads,
		.num_numbers = packed.num_numbers,
	};
	memcpy(vm->name, packed.name, sizeof(vm->name));
	memcpy(vm->id, packed.id, sizeof(vm->id));
	clean(vm->name, sizeof(vm->name));
	clean(vm->id, sizeof(vm->id));
	num_values = recorded_vm_num_values(vm);
	vm->values = take_array(reader, &num_values, sizeof(*vm->values));
	vm->threads.thread = take_array(reader, &vm->threads.count, sizeof(*vm->threads.thread));
	vm->vcpu = take_array(reader, &vm->num_vcpus, sizeof(*vm->vcpu));
	vm->number = take_array(reader, &vm->num_numbers, sizeof(*vm->number));
	check_vm(reader, vm);
}

static int read_sample(const struct recording *recording, const struct recording_sample *sample,
		       struct snapshot *now, struct statsfile_error *error)
{
	struct recording_block block;
	struct reader reader = {};
	struct recorded_vm *vm;
	unsigned char *content;
	uint64_t serial = 0;
	int ret;

	ret = read_content(recording, sample->offset, &block, &content, error);
	if (ret)
		return ret == -EINVAL ? ret : malformed(error, "it has changed: %s",
							strerror(-ret));
	/* Another process may have overwritten the file. */
	if (block.type == RECORDING_SAMPLE && block.real_ns == sample->real_ns &&
	    block.monotonic_ns == sample->monotonic_ns)
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
		read_vm(recording, &reader, vm);
		if (vm->serial <= serial)
			set_wrong(&reader, "VMs are not in order");
		if (vm->early_ns > now->monotonic_ns)
			set_wrong(&reader, "a VM ended before time 0");
		serial = vm->serial;
	}
	free(content);
	if (!reader.wrong)
		return 0;
	snapshot_free(now);
	return malformed(error, "a sample: %s", reader.wrong);
}

static int go_to(struct recording *recording, size_t position, struct statsfile_error *error)
{
	const struct recording_sample *sample = &recording->sample[position];
	struct snapshot now;
	int ret;

	if (recording->position == position)
		return 0;
	ret = read_sample(recording, sample, &now, error);
	if (!ret) {
		snapshot_free(&recording->now);
		recording->now = now;
		recording->position = position;
		return 0;
	}
	note_rest(recording, ret, sample->offset, error->text);
	recording->num_samples = position;
	if (recording->position >= position) {
		snapshot_free(&recording->now);
		recording->position = position;
	}
	return ret;
}

int recording_seek(struct recording *recording, size_t position, struct statsfile_error *error)
{
	struct statsfile_error other;
	int ret = go_to(recording, position, error);

	/* After an error, go to the last sample that can still be read. */
	while (ret && recording->num_samples && recording->position == recording->num_samples)
		go_to(recording, recording->num_samples - 1, &other);
	return ret;
}
