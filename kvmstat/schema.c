// SPDX-License-Identifier: GPL-2.0
/*
 * Parses what precedes the data of a statistics file. Trusts nothing: offsets and sizes have 32
 * bits and are added in 64. Newer kernels may add flags, types and fields, which are ignored.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "kvmstat.h"

#define MOST_DESCS 16384
#define MOST_VALUES (2u << 20)
#define MOST_NAMES 4096

static struct schema *schemas;

/* Printable, not empty, and terminated. */
static bool is_name(const char *name, size_t size)
{
	size_t i;

	for (i = 0; i < size && name[i]; i++) {
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	}
	return i && i < size;
}

static const char *parse_desc(struct schema *schema, struct desc *desc, const unsigned char *raw,
			      size_t name_size)
{
	struct stats_desc packed;

	memcpy(&packed, raw, sizeof(packed));
	*desc = (struct desc) {
		.name = (const char *)raw + sizeof(packed),
		.type = STATS_TYPE(packed.flags),
		.unit = STATS_UNIT(packed.flags),
		.base2 = STATS_BASE(packed.flags) == 1,
		.exponent = packed.exponent,
		.size = packed.size,
		.first = packed.offset / 8,
		.bucket_size = packed.bucket_size,
		.not_mapped = packed.flags & STATS_NOT_MAPPED,
	};
	if (!is_name(desc->name, name_size))
		return "the name of a statistic is not printable";
	if (packed.offset % 8 || !packed.size || packed.offset / 8 + packed.size > MOST_VALUES)
		return "a statistic has no values, or they are not aligned";
	schema->not_mapped |= desc->not_mapped;
	if (desc->type == LINEAR_HIST && !packed.bucket_size)
		return "a linear histogram has no bucket size";
	if (desc->first + desc->size > schema->num_values)
		schema->num_values = desc->first + desc->size;
	return NULL;
}

static const char *parse_name(struct schema *schema, const unsigned char *raw, size_t name_size)
{
	struct stats_value_name packed;
	const char *name = (const char *)raw + sizeof(packed);
	struct desc *desc;
	unsigned int count;

	memcpy(&packed, raw, sizeof(packed));
	if (packed.desc >= schema->num_desc || !is_name(name, name_size))
		return "a value name is invalid";
	desc = &schema->desc[packed.desc];
	count = desc->size > 1 || is_hist(desc) ? desc->size : 64;
	if (packed.value >= count)
		return desc->size > 1 ? "a value has a name, but does not exist" : NULL;
	if (!desc->value_name)
		desc->value_name = xcalloc(count, sizeof(*desc->value_name));
	desc->value_name[packed.value] = name;
	desc->num_value_names = count;
	return NULL;
}

struct block {
	const unsigned char *bytes;
	uint64_t start, count, stride;
};

/* The statistics that host.c reads of each vCPU. */
static void look_up(struct schema *schema)
{
	static const char * const times[] = {
		[GUEST] = "time_guest_ns", [KVM] = "time_exit_ns", [VMM] = "time_user_ns",
		[READY] = "ready_ns", [WAIT] = "time_sleep_ns", [IDLE] = "time_halt_ns", "time_poll_ns",
	};
	static const char * const faults[] = {
		"page_fault", "nested_page_fault", "data_abort", "instruction_abort",
	};
	const char *name;
	char text[80];
	unsigned int i, k;

	schema->state = find_desc(schema, "state");
	schema->since = find_desc(schema, "state_since_ns");
	schema->last_exit = find_desc(schema, "last_user_exit");
	schema->exits = find_desc(schema, "exits");
	for (i = 0; i < ARRAY_SIZE(times); i++)
		schema->time[i] = find_desc(schema, times[i]);
	schema->sleep = find_desc(schema, "exit_reason_sleep_ns");
	for (i = 0; schema->sleep && i < schema->sleep->size; i++) {
		name = value_name(schema->sleep, i);
		for (k = 0; k < ARRAY_SIZE(faults); k++) {
			if (name && !strcmp(name, faults[k]) && schema->num_faults < ARRAY_SIZE(schema->fault))
				schema->fault[schema->num_faults++] = schema->sleep->first + i;
		}
	}
	for (i = 0; schema->state && i < ARRAY_SIZE(schema->state_time); i++) {
		name = value_name(schema->state, i);
		if (!name)
			continue;
		snprintf(text, sizeof(text), strcmp(name, "ready") ? "time_%s_ns" : "%s_ns", name);
		schema->state_time[i] = find_desc(schema, text);
	}
}

/* Makes a schema of descriptors and names, or finds an equal one. */
static const char *parse_schema(const struct block *descs, const struct block *names,
				size_t name_size, const struct schema **to)
{
	size_t desc_size = descs->count * descs->stride, i;
	struct schema *schema = xcalloc(1, sizeof(*schema)), *other;
	const char *wrong = NULL;
	unsigned int value;

	schema->size = desc_size + names->count * names->stride;
	schema->raw = xcalloc(schema->size, 1);
	memcpy(schema->raw, descs->bytes + descs->start, desc_size);
	if (names->count)
		memcpy(schema->raw + desc_size, names->bytes + names->start,
		       names->count * names->stride);
	for (other = schemas; other; other = other->next) {
		if (other->size != schema->size || other->num_desc != descs->count ||
		    memcmp(other->raw, schema->raw, schema->size))
			continue;
		free(schema->raw);
		free(schema);
		*to = other;
		return NULL;
	}
	schema->num_desc = descs->count;
	schema->desc = xcalloc(descs->count, sizeof(*schema->desc));
	for (i = 0; !wrong && i < descs->count; i++)
		wrong = parse_desc(schema, &schema->desc[i], schema->raw + i * descs->stride,
				   name_size);
	for (i = 0; !wrong && i < names->count; i++)
		wrong = parse_name(schema, schema->raw + desc_size + i * names->stride, name_size);
	if (wrong)
		return wrong;
	schema->desc_of = xcalloc(schema->num_values, sizeof(*schema->desc_of));
	for (i = 0; i < descs->count; i++) {
		for (value = 0; value < schema->desc[i].size; value++)
			schema->desc_of[schema->desc[i].first + value] = &schema->desc[i];
	}
	look_up(schema);
	schema->next = schemas;
	schemas = schema;
	*to = schema;
	return NULL;
}

static const char *check_blocks(const struct block *block, size_t count, size_t size)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if ((block[i].count && block[i].start + block[i].count * block[i].stride > size) ||
		    block[i].start % 8)
			return "a block ends after the file, or is not aligned";
	}
	return NULL;
}

const char *parse_file(const unsigned char *bytes, size_t size, struct layout *layout)
{
	struct stats_header header;
	struct stats_ext ext = {};
	uint32_t at, ext_size = 0;
	const char *wrong;

	*layout = (struct layout) {};
	if (size < sizeof(header))
		return "the file ends inside of the header";
	memcpy(&header, bytes, sizeof(header));
	if (!header.name_size || header.name_size > 1024 || header.num_desc > MOST_DESCS ||
	    header.id_offset > size || header.name_size > size - header.id_offset)
		return "the header has impossible sizes";
	if (!is_name((const char *)bytes + header.id_offset, header.name_size))
		return "the id is not printable";
	snprintf(layout->id, sizeof(layout->id), "%s", bytes + header.id_offset);
	at = header.id_offset + header.name_size;
	if (header.flags & STATS_HEADER_EXT && size - at >= sizeof(ext_size))
		memcpy(&ext_size, bytes + at, sizeof(ext_size));
	if (ext_size > size - at)
		return "the file ends inside of the extension block";
	memcpy(&ext, bytes + at, ext_size < sizeof(ext) ? ext_size : sizeof(ext));
	if (ext.magic != STATS_EXT_MAGIC)
		ext = (struct stats_ext) {};
	if (ext.value_name_num > MOST_NAMES || ext.vcpu_value_name_num > MOST_NAMES ||
	    ext.vcpu_num_desc > MOST_DESCS || ext.vcpu_max > 65536)
		return "the extension block has impossible sizes";

	const size_t desc_size = sizeof(struct stats_desc) + header.name_size;
	const struct block block[] = {
		{ bytes, header.desc_offset, header.num_desc, desc_size, },
		{ bytes, ext.value_name_offset, ext.value_name_num, ext.value_name_size, },
		{ bytes, ext.vcpu_desc_offset, ext.vcpu_num_desc, desc_size, },
		{ bytes, ext.vcpu_value_name_offset, ext.vcpu_value_name_num, ext.value_name_size, },
		{ bytes, ext.vcpu_id_offset, ext.vcpu_max, sizeof(uint32_t), },
	};

	if ((ext.value_name_num || ext.vcpu_value_name_num) &&
	    ext.value_name_size < sizeof(struct stats_value_name) + header.name_size)
		return "the value names are too short";
	wrong = check_blocks(block, ARRAY_SIZE(block), size);
	if (!wrong)
		wrong = parse_schema(&block[0], &block[1], header.name_size, &layout->schema);
	if (!wrong && ext.vcpu_max)
		wrong = parse_schema(&block[2], &block[3], header.name_size, &layout->vcpu_schema);
	if (wrong)
		return wrong;
	if (ext.vcpu_max && (ext.vcpu_stride < layout->vcpu_schema->num_values * 8 ||
			     !find_desc(layout->schema, "online_vcpus")))
		return "the vCPU windows are too small, or their number is missing";
	layout->data_offset = header.data_offset;
	layout->vcpu_max = ext.vcpu_max;
	layout->vcpu_stride = ext.vcpu_stride;
	layout->windows_offset = ext.vcpu_mmap_offset;
	layout->vcpu_id_offset = ext.vcpu_id_offset;
	return NULL;
}

const struct desc *find_desc(const struct schema *schema, const char *name)
{
	unsigned int i;

	for (i = 0; schema && i < schema->num_desc; i++) {
		if (!strcmp(schema->desc[i].name, name))
			return &schema->desc[i];
	}
	return NULL;
}

uint64_t total_of(const struct desc *desc, const uint64_t *value)
{
	uint64_t total = 0;
	unsigned int i;

	for (i = 0; i < desc->size; i++)
		total += value[desc->first + i];
	return total;
}

bool is_hist(const struct desc *desc)
{
	return desc->type == LINEAR_HIST || desc->type == LOG_HIST;
}

bool is_counter(const struct desc *desc)
{
	return desc->type == CUMULATIVE || is_hist(desc);
}

bool is_moment(const struct desc *desc)
{
	return ends_in(desc->name, "_since_ns") ||
	       (desc->num_value_names && desc->size == 1 && !is_hist(desc));
}

/* Named buckets, or an array. */
bool has_parts(const struct desc *desc)
{
	return is_hist(desc) ? desc->value_name != NULL : desc->size > 1;
}

const char *value_name(const struct desc *desc, uint64_t value)
{
	if (value < desc->num_value_names)
		return desc->value_name[value];
	return desc->num_value_names && value == STATS_NO_EXIT ? "none" : NULL;
}

double in_units(const struct desc *desc, double value)
{
	return value * pow(desc->base2 ? 2 : 10, desc->exponent);
}

uint64_t bucket_from(const struct desc *desc, unsigned int bucket)
{
	if (desc->type == LINEAR_HIST)
		return (uint64_t)bucket * desc->bucket_size;
	return !bucket ? 0 : bucket <= 64 ? UINT64_C(1) << (bucket - 1) : UINT64_MAX;
}
