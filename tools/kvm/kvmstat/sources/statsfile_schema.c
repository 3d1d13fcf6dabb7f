// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptors and value names of a KVM statistics file. Sizes have 32 bits and are added in 64
 * bits, so that no sum wraps before it is checked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/statsfile_schema.h"

bool statsfile_is_name(const char *name, size_t size)
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

int statsfile_check_sizes(uint32_t name_size, uint32_t num_desc, struct statsfile_error *error)
{
	if (!name_size || name_size > STATSFILE_MAX_NAME)
		return malformed(error, "names of %u bytes, 1 to %u are possible", name_size,
				 STATSFILE_MAX_NAME);
	if (num_desc > STATSFILE_MAX_DESC)
		return malformed(error, "%u statistics, %u are possible", num_desc,
				 STATSFILE_MAX_DESC);
	return 0;
}

static int parse_desc(struct statsfile_schema *schema, unsigned int index,
		      const struct statsfile_block *block, struct statsfile_error *error)
{
	size_t stride = sizeof(struct kvm_stats_desc) + schema->name_size;
	const char *raw = (const char *)schema->raw + index * stride;
	const char *name = raw + sizeof(struct kvm_stats_desc);
	struct statsfile_desc *desc = &schema->desc[index];
	struct kvm_stats_desc packed;
	uint64_t end;

	/* The stride may not be a multiple of the struct's alignment. */
	memcpy(&packed, raw, sizeof(packed));
	if (!statsfile_is_name(name, schema->name_size))
		return malformed(error,
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
		return malformed(error, "%.64s: offset %u is not a multiple of 8", name,
				 packed.offset);
	if (!packed.size)
		return malformed(error, "%.64s: no value", name);
	if (statsfile_type(desc) == KVM_STATS_TYPE_LINEAR_HIST && !packed.bucket_size)
		return malformed(error, "%.64s: a linear histogram without a bucket size", name);

	end = packed.offset + (uint64_t)packed.size * VALUE_SIZE;
	if (end > STATSFILE_MAX_DATA)
		return malformed(error, "%.64s: ends at %llu of the data, %u are possible", name,
				 (unsigned long long)end, STATSFILE_MAX_DATA);
	if (end / VALUE_SIZE > schema->num_values)
		schema->num_values = end / VALUE_SIZE;
	return 0;
}

/* Whether names belong to indexes. A scalar's names belong to the values that it can have. */
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
		return malformed(error, "a value of statistic %u has a name, there are %u",
				 packed.desc, schema->num_desc);
	desc = &schema->desc[packed.desc];
	if (is_indexed(desc) && packed.value >= desc->size)
		return malformed(error, "%.64s: value %u has a name, there are %u", desc->name,
				 packed.value, desc->size);
	if (!statsfile_is_name(name, schema->name_size))
		return malformed(error,
				 "%.64s: the name of value %u is empty, not terminated or not printable",
				 desc->name, packed.value);
	*to = (struct statsfile_value_name) { .value = packed.value, .name = name, };
	*of = desc;
	return 0;
}

/* Checks that the last name is new, and its value larger than all others. */
static int check_last_value_name(const struct statsfile_desc *desc, struct statsfile_error *error)
{
	const struct statsfile_value_name *last = &desc->value_names[desc->num_value_names - 1];
	const struct statsfile_value_name *other;

	for (other = desc->value_names; other < last; other++) {
		if (!strcmp(other->name, last->name))
			return malformed(error, "%.64s: values %u and %u are both called %.64s",
					 desc->name, other->value, last->value, last->name);
		if (other->value >= last->value)
			return malformed(error,
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
			return malformed(error,
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
	if (!schema || --schema->references)
		return;
	free(schema->desc);
	free(schema->value_name);
	free(schema->raw);
	free(schema);
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
	schema->raw = malloc(raw_size);
	schema->desc = calloc(shape->num_desc, sizeof(*schema->desc));
	schema->value_name = calloc(shape->num_value_names, sizeof(*schema->value_name));
	if (!schema->raw || !schema->desc || !schema->value_name) {
		statsfile_schema_put(schema);
		return NULL;
	}
	return schema;
}

bool statsfile_schema_is_same(const struct statsfile_schema *a, const struct statsfile_schema *b)
{
	return a == b || (a->num_desc == b->num_desc && a->name_size == b->name_size &&
			  a->num_value_names == b->num_value_names &&
			  a->raw_size == b->raw_size && !memcmp(a->raw, b->raw, a->raw_size));
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

static int check_value_names(const struct statsfile_shape *shape, struct statsfile_error *error)
{
	uint32_t size = sizeof(struct kvm_stats_value_name) + shape->name_size;

	if (!shape->num_value_names)
		return 0;
	if (shape->num_value_names > STATSFILE_MAX_VALUE_NAMES)
		return malformed(error, "%u names of values, %u are possible",
				 shape->num_value_names, STATSFILE_MAX_VALUE_NAMES);
	if (shape->value_name_size < size || shape->value_name_size > 2 * STATSFILE_MAX_NAME)
		return malformed(error, "names of values of %u bytes, %u to %u are possible",
				 shape->value_name_size, size, 2 * STATSFILE_MAX_NAME);
	return 0;
}

/* Fills in sizes. Ignores the offset of value names if there are none. */
static void size_blocks(const struct statsfile_description *description)
{
	const struct statsfile_shape *shape = &description->shape;

	description->desc->size = shape->num_desc *
		(uint64_t)(sizeof(struct kvm_stats_desc) + shape->name_size);
	description->value_name->size = shape->num_value_names * (uint64_t)shape->value_name_size;
	if (!shape->num_value_names)
		description->value_name->start = 0;
}

static int parse_schema(struct statsfile_schema *schema,
			const struct statsfile_description *description,
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

int statsfile_schema_read(struct statsfile_schema **to, const struct statsfile_source *source,
			  const struct statsfile_description *description,
			  const struct statsfile_known *known, struct statsfile_error *error)
{
	struct statsfile_schema *schema, *same;
	int ret;

	*to = NULL;
	ret = check_value_names(&description->shape, error);
	if (ret)
		return ret;
	size_blocks(description);
	schema = schema_alloc(&description->shape,
			      description->desc->size + description->value_name->size);
	if (!schema)
		return statsfile_fail(error, -ENOMEM, "out of memory");
	ret = statsfile_read_block(source, description->desc, schema->raw, error);
	if (!ret)
		ret = statsfile_read_block(source, description->value_name,
					   (char *)schema->raw + description->desc->size, error);
	same = ret ? NULL : find_known(known, schema);
	if (!ret && !same)
		ret = parse_schema(schema, description, error);
	if (!ret)
		*to = statsfile_schema_get(same ?: schema);
	statsfile_schema_put(schema);
	return ret;
}

int statsfile_schema_parse(struct statsfile_schema **to, const struct statsfile_shape *shape,
			   const void *raw, size_t size, struct statsfile_error *error)
{
	const struct statsfile_source source = { .fd = -1, .memory = raw, .size = size, };
	struct statsfile_block desc = { .name = "descriptor block", };
	struct statsfile_block value_name = {
		.name = "block of value names",
		.start = shape->num_desc * (sizeof(struct kvm_stats_desc) + shape->name_size),
	};
	const struct statsfile_description description = {
		.shape = *shape,
		.desc = &desc,
		.value_name = &value_name,
	};
	int ret = statsfile_check_sizes(shape->name_size, shape->num_desc, error);

	*to = NULL;
	return ret ?: statsfile_schema_read(to, &source, &description, NULL, error);
}
