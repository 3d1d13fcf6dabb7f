// SPDX-License-Identifier: GPL-2.0
/*
 * Reads recordings. Numbers are put together byte by byte: what wrote the file and what
 * reads it can be of any architecture.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources/recording.h"
#include "sources/schema.h"
#include "util/text.h"
#include "util/util.h"

/* key, CLOCK_REALTIME, CLOCK_MONOTONIC */
#define SAMPLE_HEADER_SIZE 17

/* Over all schemas. */
#define MAX_DESC (4u * STATSFILE_MAX_DESC)
#define MAX_VALUE_NAMES (4u * STATSFILE_MAX_VALUE_NAMES)
#define MAX_VMS 65536u

__attribute__((__format__(__printf__, 2, 3)))
static int fail(struct statsfile_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -EINVAL;
}

uint32_t recording_checksum(const unsigned char *data, size_t size)
{
	static uint32_t table[256];
	uint32_t sum = ~0u;
	unsigned int i, bit;
	size_t at;

	if (!table[1]) {
		for (i = 0; i < ARRAY_SIZE(table); i++) {
			table[i] = i;
			for (bit = 0; bit < 8; bit++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
		}
	}
	for (at = 0; at < size; at++)
		sum = sum >> 8 ^ table[(sum ^ data[at]) & 0xff];
	return ~sum;
}

/* A fuzzer could not know them. */
static bool has_checksum(const unsigned char *data, size_t size, uint32_t expected)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return true;
#endif
	return recording_checksum(data, size) == expected;
}

uint64_t recorded_vm_num_values(const struct recorded_vm *vm)
{
	return (vm->schema ? vm->schema->num_values : 0) +
	       (vm->vcpu_schema ? (uint64_t)vm->num_vcpus * vm->vcpu_schema->num_values : 0);
}

const struct recorded_vm *snapshot_find(const struct snapshot *snapshot, uint64_t serial)
{
	size_t first = 0, end = snapshot->num_vms, middle;

	while (first < end) {
		middle = first + (end - first) / 2;
		if (snapshot->vm[middle].serial == serial)
			return &snapshot->vm[middle];
		if (snapshot->vm[middle].serial < serial)
			first = middle + 1;
		else
			end = middle;
	}
	return NULL;
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

/* What is left of a content; once something was wrong with it, it gives zeros. */
struct reader {
	const unsigned char *at;
	const unsigned char *end;
	const char *wrong;
};

static void set_wrong(struct reader *reader, const char *what)
{
	if (!reader->wrong)
		reader->wrong = what;
	reader->at = reader->end;
}

static uint64_t load(const unsigned char *from, unsigned int size)
{
	uint64_t number = 0;

	while (size--)
		number = number << 8 | from[size];
	return number;
}

static uint64_t get_fixed(struct reader *reader, unsigned int size)
{
	uint64_t number;

	if ((size_t)(reader->end - reader->at) < size) {
		set_wrong(reader, "it is too short");
		return 0;
	}
	number = load(reader->at, size);
	reader->at += size;
	return number;
}

static uint64_t get_varint(struct reader *reader, uint64_t max)
{
	unsigned int shift = 0;
	uint64_t number = 0, bits;

	for (;;) {
		if (reader->at == reader->end) {
			set_wrong(reader, "it is too short");
			return 0;
		}
		bits = *reader->at & 0x7f;
		if (shift > 63 || bits << shift >> shift != bits)
			break;
		number |= bits << shift;
		shift += 7;
		if (*reader->at++ & 0x80)
			continue;
		if (number <= max)
			return number;
		break;
	}
	set_wrong(reader, "a number is too large");
	return 0;
}

static uint64_t get_signed(struct reader *reader)
{
	uint64_t number = get_varint(reader, UINT64_MAX);

	return number >> 1 ^ (number & 1 ? UINT64_MAX : 0);
}

/* Whatever bytes they are, up to a 0. The caller frees it. */
static char *get_bytes(struct reader *reader, size_t *length)
{
	char *bytes;

	*length = get_varint(reader, RECORDING_MAX_STRING - 1);
	if ((size_t)(reader->end - reader->at) < *length) {
		set_wrong(reader, "it is too short");
		*length = 0;
	}
	bytes = xcalloc(*length + 1, 1);
	memcpy(bytes, reader->at, *length);
	reader->at += *length;
	return bytes;
}

/* Goes to a terminal. The caller frees it. */
static char *get_string(struct reader *reader)
{
	size_t length;
	char *text = get_bytes(reader, &length);
	char *copy = xasprintf("%s", text);

	text_make_printable(text);
	if (strlen(copy) != length || strcmp(copy, text))
		set_wrong(reader, "a text is not printable");
	free(copy);
	return text;
}

/* Older versions have written what uname() said: nothing is found by that, it is only shown. */
static char *get_host_string(struct reader *reader)
{
	size_t length;
	char *text = get_bytes(reader, &length);

	text_make_printable(text);
	return text;
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

struct block {
	uint32_t type;
	uint32_t size;
};

/* Into recording->content, of which the first @block.size bytes count. */
static int read_block(struct recording *recording, uint64_t offset, struct block *block,
		      struct statsfile_error *error)
{
	const struct recording_source *source = &recording->source;
	unsigned char header[BLOCK_HEADER_SIZE];
	struct bytes *content = &recording->content;
	int ret;

	ret = read_at(source, offset, header, sizeof(header));
	if (ret)
		return ret;
	if (!has_checksum(header, 12, load(header + 12, 4)))
		return fail(error, "the checksum of a block's header is wrong");
	block->type = load(header, 4);
	block->size = load(header + 4, 4);
	if (block->size > RECORDING_MAX_BLOCK)
		return fail(error, "a block of %u bytes, %u are possible", block->size,
			    RECORDING_MAX_BLOCK);
	/* Only what is there at all is worth the memory. */
	if (block->size > source->size - offset - sizeof(header))
		return -ENODATA;
	/* There is something to point to even if the block is empty. */
	if (block->size >= content->room) {
		content->room = block->size + 1;
		content->data = xreallocarray(content->data, content->room, 1);
	}
	ret = read_at(source, offset + sizeof(header), content->data, block->size);
	if (ret)
		return ret;
	if (!has_checksum(content->data, block->size, load(header + 8, 4)))
		return fail(error, "the checksum of a block is wrong");
	return 0;
}

static struct reader content_reader(const struct recording *recording, const struct block *block)
{
	return (struct reader) {
		.at = recording->content.data,
		.end = recording->content.data + block->size,
	};
}

static int finish(const struct reader *reader, const char *what, struct statsfile_error *error)
{
	return reader->wrong ? fail(error, "%s: %s", what, reader->wrong) : 0;
}

static int parse_host(struct recording *recording, const struct block *block,
		      struct statsfile_error *error)
{
	struct reader reader = content_reader(recording, block);
	struct recording_host *host = &recording->host;

	recording_host_free(host);
	host->version = get_host_string(&reader);
	host->name = get_host_string(&reader);
	host->release = get_host_string(&reader);
	host->machine = get_host_string(&reader);
	host->interval_ns = get_varint(&reader, UINT64_MAX);
	host->pid = get_varint(&reader, INT_MAX);
	if (reader.wrong)
		recording_host_free(host);
	return finish(&reader, "the description of the host", error);
}

static void parse_desc(struct reader *reader, struct statsfile_desc *desc)
{
	desc->flags = get_varint(reader, UINT32_MAX);
	desc->exponent = get_signed(reader);
	desc->size = get_varint(reader, UINT16_MAX);
	desc->first = get_varint(reader, STATSFILE_MAX_DATA / sizeof(uint64_t));
	desc->bucket_size = get_varint(reader, UINT32_MAX);
	desc->name = get_string(reader);
}

static void count_values(struct statsfile_schema *described, const struct statsfile_desc *desc)
{
	if (desc->first + desc->size > described->num_values)
		described->num_values = desc->first + desc->size;
}

static void parse_value_names(struct reader *reader, struct statsfile_schema *described)
{
	struct statsfile_desc *desc = described->desc;
	struct statsfile_value_name *name;
	unsigned int i;

	for (i = 0; i < described->num_value_names; i++) {
		name = &described->value_name[i];
		desc += get_varint(reader, described->desc + described->num_desc - desc - 1);
		name->value = get_varint(reader, UINT32_MAX);
		name->name = get_string(reader);
		if (!desc->num_value_names++)
			desc->value_names = name;
	}
}

/* Of all schemas together: what they may have is limited, too. */
static void count_parts(const struct recording *recording, uint64_t *num_desc,
			uint64_t *num_value_names)
{
	size_t i;

	*num_desc = 0;
	*num_value_names = 0;
	for (i = 0; i < recording->num_schemas; i++) {
		*num_desc += recording->schema[i]->num_desc;
		*num_value_names += recording->schema[i]->num_value_names;
	}
}

/* What is allocated for @described the caller frees in any case. */
static void describe_schema(struct recording *recording, struct reader *reader,
			    struct statsfile_schema *described)
{
	uint64_t num_desc, num_value_names;
	unsigned int i;

	count_parts(recording, &num_desc, &num_value_names);
	described->num_desc = get_varint(reader, MAX_DESC - num_desc);
	described->desc = xcalloc(described->num_desc, sizeof(*described->desc));
	for (i = 0; i < described->num_desc; i++) {
		parse_desc(reader, &described->desc[i]);
		count_values(described, &described->desc[i]);
	}
	/* Older recordings end before them. */
	if (reader->at < reader->end && described->num_desc)
		described->num_value_names = get_varint(reader,
							MAX_VALUE_NAMES - num_value_names);
	described->value_name = xcalloc(described->num_value_names,
					sizeof(*described->value_name));
	parse_value_names(reader, described);
}

static void free_described(struct statsfile_schema *described)
{
	unsigned int i;

	for (i = 0; i < described->num_desc; i++)
		free((char *)described->desc[i].name);
	for (i = 0; i < described->num_value_names; i++)
		free((char *)described->value_name[i].name);
	free(described->desc);
	free(described->value_name);
}

static int parse_schema(struct recording *recording, const struct block *block,
			struct statsfile_error *error)
{
	struct reader reader = content_reader(recording, block);
	struct statsfile_schema *schema = NULL, described = {};
	int ret;

	if (recording->num_schemas == RECORDING_MAX_SCHEMAS)
		return fail(error, "more than %u schemas", RECORDING_MAX_SCHEMAS);
	describe_schema(recording, &reader, &described);
	ret = finish(&reader, "a schema", error);
	if (!ret)
		ret = schema_make(&schema, &described, NULL, error);
	free_described(&described);
	if (ret)
		return ret;
	recording->schema = xreallocarray(recording->schema, recording->num_schemas + 1,
					  sizeof(*recording->schema));
	recording->schema[recording->num_schemas++] = schema;
	return 0;
}

static int note_sample(struct recording *recording, const struct block *block, uint64_t offset,
		       struct statsfile_error *error)
{
	struct reader reader = content_reader(recording, block);
	struct recording_sample sample = { .offset = offset, };
	const struct recording_sample *last;

	sample.key = get_fixed(&reader, 1);
	sample.real_ns = get_fixed(&reader, 8);
	sample.monotonic_ns = get_fixed(&reader, 8);
	if (reader.wrong)
		return finish(&reader, "a sample", error);
	/* To all that a clock shows an interval can be added. */
	if (sample.monotonic_ns > INT64_MAX)
		return fail(error, "the time of a sample is too large");
	last = recording->num_samples ? &recording->sample[recording->num_samples - 1] : NULL;
	if (!last && !sample.key)
		return fail(error, "the first sample is not complete");
	if (last && sample.monotonic_ns <= last->monotonic_ns)
		return fail(error, "a sample is older than the one before");
	recording->sample = xgrow(recording->sample, recording->num_samples, sizeof(sample));
	recording->sample[recording->num_samples++] = sample;
	return 0;
}

static int look_at_block(struct recording *recording, const struct block *block,
			 uint64_t offset, struct statsfile_error *error)
{
	switch (block->type) {
	case RECORDING_HOST:
		return parse_host(recording, block, error);
	case RECORDING_SCHEMA:
		return parse_schema(recording, block, error);
	case RECORDING_SAMPLE:
		return note_sample(recording, block, offset, error);
	default:
		return 0;
	}
}

static void note_rest(struct recording *recording, int ret, uint64_t offset, const char *why)
{
	recording->damaged = ret != -ENODATA;
	if (ret == -ENODATA)
		fail(&recording->rest, "it is cut off, after byte %llu nothing is complete",
		     (unsigned long long)offset);
	else
		fail(&recording->rest, "it is damaged at byte %llu: %s",
		     (unsigned long long)offset, ret == -EINVAL ? why : strerror(-ret));
}

static int check_file_header(const struct recording_source *source, struct statsfile_error *error)
{
	unsigned char header[FILE_HEADER_SIZE];
	uint32_t version;
	int ret;

	ret = read_at(source, 0, header, sizeof(header));
	if (ret && ret != -ENODATA)
		return fail(error, "it cannot be read: %s", strerror(-ret));
	if (ret || memcmp(header, RECORDING_MAGIC, MAGIC_SIZE))
		return fail(error, "it is not a recording of kvmstat");
	if (!has_checksum(header, 12, load(header + 12, 4)))
		return fail(error, "it is damaged at byte 0: the checksum of its header is wrong");
	version = load(header + MAGIC_SIZE, 4);
	if (version != RECORDING_VERSION)
		return fail(error, "it is a recording of version %u, this kvmstat reads version %u",
			    version, RECORDING_VERSION);
	return 0;
}

int recording_open(struct recording *recording, const struct recording_source *source,
		   struct statsfile_error *error)
{
	struct statsfile_error why = {};
	uint64_t offset = FILE_HEADER_SIZE;
	struct block block = {};
	int ret;

	*recording = (struct recording) { .source = *source, };
	ret = check_file_header(source, error);
	if (ret)
		return ret;
	while (offset < source->size) {
		ret = read_block(recording, offset, &block, &why);
		if (!ret)
			ret = look_at_block(recording, &block, offset, &why);
		if (ret) {
			note_rest(recording, ret, offset, why.text);
			break;
		}
		offset += BLOCK_HEADER_SIZE + block.size;
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
	for (i = 0; i < recording->num_schemas; i++)
		statsfile_schema_put(recording->schema[i]);
	free(recording->schema);
	free(recording->sample);
	free(recording->content.data);
	recording_host_free(&recording->host);
}

/* Samples */

struct sample_reader {
	struct reader reader;
	const struct recording *recording;
	uint64_t num_values;		/* so far */
};

/* NULL for 0. */
static struct statsfile_schema *get_schema(struct sample_reader *sample)
{
	const struct recording *recording = sample->recording;
	size_t number = get_varint(&sample->reader, recording->num_schemas);

	return number ? statsfile_schema_get(recording->schema[number - 1]) : NULL;
}

static void get_new_vm(struct sample_reader *sample, struct recorded_vm *vm)
{
	vm->pid = get_varint(&sample->reader, INT_MAX);
	vm->id = get_string(&sample->reader);
	vm->schema = get_schema(sample);
	if (!vm->pid)
		set_wrong(&sample->reader, "a VM without a pid");
	/* As a statistics file has it, where an id is no text with blanks. */
	if (vm->schema && (!*vm->id || strchr(vm->id, ' ')))
		set_wrong(&sample->reader, "the id of a VM is none");
}

static void get_vcpus(struct sample_reader *sample, struct recorded_vm *vm)
{
	struct statsfile_schema *schema = get_schema(sample);
	size_t count, old = vm->num_vcpus;

	/* Each id is a byte at least. */
	count = get_varint(&sample->reader, sample->reader.end - sample->reader.at);
	if (!schema || !vm->schema || (vm->vcpu_schema && vm->vcpu_schema != schema)) {
		set_wrong(&sample->reader, "vCPUs without statistics, or with others");
		count = 0;
	}
	/* No VM has that many, and each of them takes a lot of memory. */
	if (count > STATSFILE_MAX_VCPUS - old) {
		set_wrong(&sample->reader, "there are too many vCPUs");
		count = 0;
	}
	if (!vm->vcpu_schema)
		vm->vcpu_schema = schema;
	else if (schema)
		statsfile_schema_put(schema);
	vm->vcpu = xreallocarray(vm->vcpu, old + count, sizeof(*vm->vcpu));
	for (; vm->num_vcpus < old + count; vm->num_vcpus++)
		vm->vcpu[vm->num_vcpus] = get_varint(&sample->reader, INT_MAX);
}

/* Room for its values: those that are new are 0. */
static void grow_values(struct sample_reader *sample, struct recorded_vm *vm, size_t old)
{
	uint64_t count = recorded_vm_num_values(vm);

	/* A vCPU without values takes memory, too. */
	sample->num_values += count + vm->num_vcpus;
	if (sample->num_values > RECORDING_MAX_VALUES) {
		set_wrong(&sample->reader, "there are too many values");
		return;
	}
	if (count == old && vm->values)
		return;
	vm->values = xreallocarray(vm->values, count, sizeof(*vm->values));
	memset(vm->values + old, 0, (count - old) * sizeof(*vm->values));
}

static void get_vm(struct sample_reader *sample, struct recorded_vm *vm)
{
	unsigned int what = get_varint(&sample->reader, 0x1f);
	bool is_new = !vm->id;
	size_t old;

	if (is_new != !!(what & RECORDED_NEW)) {
		set_wrong(&sample->reader, is_new ? "a VM that was not there before" :
						    "a VM comes twice");
		return;
	}
	/* Before anything is added to what is allocated. */
	old = recorded_vm_num_values(vm);
	if (is_new)
		get_new_vm(sample, vm);
	if (what & RECORDED_NAME) {
		free(vm->name);
		vm->name = get_string(&sample->reader);
	}
	if (!vm->name)
		set_wrong(&sample->reader, "a VM without a name");
	if (what & RECORDED_VCPUS)
		get_vcpus(sample, vm);
	if (what & RECORDED_COUNTED)
		vm->num_vcpus_counted = get_varint(&sample->reader, INT_MAX);
	vm->ended = what & RECORDED_ENDED;
	grow_values(sample, vm, old);
}

/* Takes the VM over from the last snapshot, where it may not be. */
static struct recorded_vm take_vm(struct snapshot *last, uint64_t serial)
{
	struct recorded_vm *found = (struct recorded_vm *)snapshot_find(last, serial);
	struct recorded_vm vm = { .serial = serial, };

	if (found && !found->ended && found->id) {
		vm = *found;
		*found = (struct recorded_vm) { .serial = serial, };
	}
	return vm;
}

static void get_vms(struct sample_reader *sample, struct snapshot *last, struct snapshot *now)
{
	size_t count = get_varint(&sample->reader, MAX_VMS);
	uint64_t step, serial = 0;

	now->vm = xcalloc(count, sizeof(*now->vm));
	for (; now->num_vms < count && !sample->reader.wrong; now->num_vms++) {
		step = get_varint(&sample->reader, UINT64_MAX - serial);
		if (!step)
			set_wrong(&sample->reader, "VMs are not in order");
		serial += step;
		now->vm[now->num_vms] = take_vm(last, serial);
		get_vm(sample, &now->vm[now->num_vms]);
	}
}

static void get_changes(struct sample_reader *sample, struct snapshot *now)
{
	uint64_t count = get_varint(&sample->reader, RECORDING_MAX_VALUES);
	struct recorded_vm *vm = now->vm, *end = now->vm + now->num_vms;
	size_t at = 0, num_values = vm < end ? recorded_vm_num_values(vm) : 0;
	uint64_t skip;

	for (; count && !sample->reader.wrong; count--) {
		skip = get_varint(&sample->reader, RECORDING_MAX_VALUES);
		while (vm < end && skip >= num_values - at) {
			skip -= num_values - at;
			at = 0;
			vm++;
			num_values = vm < end ? recorded_vm_num_values(vm) : 0;
		}
		if (vm == end) {
			set_wrong(&sample->reader, "a value that no VM has");
			return;
		}
		at += skip;
		vm->values[at++] += get_signed(&sample->reader);
	}
}

/* Older recordings end before that. */
static void get_ends(struct sample_reader *sample, struct snapshot *now)
{
	struct reader *reader = &sample->reader;
	struct recorded_vm *vm;

	for (vm = now->vm; vm < now->vm + now->num_vms && reader->at < reader->end; vm++) {
		if (vm->ended)
			vm->early_ns = get_varint(reader, now->monotonic_ns);
	}
}

/* As it was when the file was opened: it may be written anew meanwhile. */
static bool is_same(const struct recording_sample *noted, const struct snapshot *now, bool key)
{
	return noted->key == key && noted->real_ns == now->real_ns &&
	       noted->monotonic_ns == now->monotonic_ns;
}

/*
 * Makes recording->now the sample, of which it is the one before. On failure it is that still,
 * if the sample could not even be looked into, or else none.
 */
static int apply(struct recording *recording, size_t position, struct statsfile_error *error)
{
	struct sample_reader sample = { .recording = recording, };
	struct snapshot now = {};
	struct block block;
	bool key;
	int ret;

	ret = read_block(recording, recording->sample[position].offset, &block, error);
	if (ret)
		return ret == -EINVAL ? ret : fail(error, "it has changed: %s", strerror(-ret));
	sample.reader = content_reader(recording, &block);
	if (block.type != RECORDING_SAMPLE || block.size < SAMPLE_HEADER_SIZE)
		return fail(error, "it has changed");
	key = get_fixed(&sample.reader, 1);
	now.real_ns = get_fixed(&sample.reader, 8);
	now.monotonic_ns = get_fixed(&sample.reader, 8);
	if (!is_same(&recording->sample[position], &now, key))
		return fail(error, "it has changed");
	/* From here on it is no sample any more: VMs are taken out of it. */
	recording->position = recording->num_samples;
	if (key)
		snapshot_free(&recording->now);
	get_vms(&sample, &recording->now, &now);
	/* Values are there for all VMs only if all is right with them. */
	if (!sample.reader.wrong)
		get_changes(&sample, &now);
	get_ends(&sample, &now);
	snapshot_free(&recording->now);
	recording->now = now;
	return finish(&sample.reader, "a sample", error);
}

static size_t first_to_apply(const struct recording *recording, size_t position)
{
	size_t first = position;

	while (!recording->sample[first].key)
		first--;
	/* From where it is the way may be shorter. */
	if (recording->position < position && recording->position >= first)
		first = recording->position + 1;
	return first;
}

static int go_to(struct recording *recording, size_t position, struct statsfile_error *error)
{
	uint64_t offset;
	size_t i;
	int ret;

	if (recording->position == position)
		return 0;
	for (i = first_to_apply(recording, position); i <= position; i++) {
		offset = recording->sample[i].offset;
		ret = apply(recording, i, error);
		if (ret) {
			note_rest(recording, ret, offset, error->text);
			recording->num_samples = i;
			/* Where it is may be gone, too. */
			if (recording->position >= i) {
				snapshot_free(&recording->now);
				recording->position = i;
			}
			return ret;
		}
		recording->position = i;
	}
	return 0;
}

int recording_seek(struct recording *recording, size_t position, struct statsfile_error *error)
{
	int ret = go_to(recording, position, error);

	/* To the last one that is left, if that can still be read. */
	while (ret && recording->num_samples && recording->position == recording->num_samples)
		go_to(recording, recording->num_samples - 1, error);
	return ret;
}
