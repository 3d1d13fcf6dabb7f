/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics and names of values that a KVM statistics file describes. Names are never empty,
 * end with a NUL, and are printable.
 */
#ifndef KVMSTAT_STATSFILE_SCHEMA_H
#define KVMSTAT_STATSFILE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sources/statsfile_source.h"

/* By its path: with -I, the compiler would find the kernel's unprocessed linux/types.h. */
#include "../../../../include/uapi/linux/kvm_stats.h"

/* Far more than any kernel has, and small enough to allocate. */
#define STATSFILE_MAX_NAME 1024
#define STATSFILE_MAX_DESC 16384
#define STATSFILE_MAX_DATA (16u << 20)
#define STATSFILE_MAX_VALUE_NAMES 4096

/**
 * struct statsfile_value_name - the name of a value
 * @value: its index, below the statistic's size; for a scalar the value itself
 * @name: printable, not empty, unique within the statistic
 */
struct statsfile_value_name {
	uint32_t value;
	const char *name;
};

/**
 * struct statsfile_desc - one statistic
 * @name: printable, not empty
 * @flags: as in the file, see statsfile_type(), _unit() and _base()
 * @exponent: of the scale
 * @size: number of values, at least 1: of an array or a histogram
 * @first: index of the first value; first + size <= num_values of the schema
 * @bucket_size: width of a linear histogram's buckets, not 0 there
 * @num_value_names: number of values that have a name
 * @value_names: sorted by value
 */
struct statsfile_desc {
	const char *name;
	uint32_t flags;
	int16_t exponent;
	uint16_t size;
	uint32_t first;
	uint32_t bucket_size;
	uint32_t num_value_names;
	const struct statsfile_value_name *value_names;
};

/**
 * struct statsfile_schema - the statistics of a file; reference-counted, as files share it
 * @num_desc: number of statistics
 * @num_values: number of values in the data block
 * @num_value_names: of all statistics
 * @desc: the statistics, in the file's order
 * @since: state_since_ns, or NULL: see vm_read_vcpu()
 * @raw: descriptors and value names as in the file, see statsfile_schema_parse()
 */
struct statsfile_schema {
	unsigned int num_desc;
	unsigned int num_values;
	unsigned int num_value_names;
	struct statsfile_desc *desc;
	const struct statsfile_desc *since;
	uint32_t name_size;
	uint32_t value_name_size;
	size_t raw_size;
	void *raw;
	/* private */
	unsigned int references;
	struct statsfile_value_name *value_name;
};

/* For parsing descriptors and value names: numbers, and sizes in bytes. */
struct statsfile_shape {
	uint32_t name_size;
	uint32_t num_desc;
	uint32_t num_value_names;
	uint32_t value_name_size;
};

/* Known schemas: a file with an equal schema shares it. May be NULL. */
struct statsfile_known {
	struct statsfile_schema *vm, *vcpu;
};

/* The caller sets name and start of the blocks; statsfile_schema_read() sets their size. */
struct statsfile_description {
	struct statsfile_shape shape;
	struct statsfile_block *desc;
	struct statsfile_block *value_name;
};

/* Whether @name is not empty, ends within @size and cannot control a terminal. */
bool statsfile_is_name(const char *name, size_t size);

int statsfile_check_sizes(uint32_t name_size, uint32_t num_desc, struct statsfile_error *error);

/*
 * Reads the schema that @description locates. Call statsfile_check_sizes() first. *@to is NULL on
 * failure. Return: 0, -EINVAL for a malformed file, -ENOMEM, or the -errno of pread().
 */
int statsfile_schema_read(struct statsfile_schema **to, const struct statsfile_source *source,
			  const struct statsfile_description *description,
			  const struct statsfile_known *known, struct statsfile_error *error);

/* Makes a schema from the raw part of another one. Return: as statsfile_schema_read(). */
int statsfile_schema_parse(struct statsfile_schema **to, const struct statsfile_shape *shape,
			   const void *raw, size_t size, struct statsfile_error *error);

struct statsfile_schema *statsfile_schema_get(struct statsfile_schema *schema);
void statsfile_schema_put(struct statsfile_schema *schema);

/* Whether they are equal: two files need not share one schema, see statsfile_known. */
bool statsfile_schema_is_same(const struct statsfile_schema *a, const struct statsfile_schema *b);

/* The name of the value with this index, for a scalar of this value; or NULL. */
const char *statsfile_value_name(const struct statsfile_desc *desc, uint64_t value);

/* The first statistic of that name, NULL if there is none, or no schema. */
const struct statsfile_desc *statsfile_find(const struct statsfile_schema *schema,
					    const char *name);

/* Compare these with KVM_STATS_TYPE_*, KVM_STATS_UNIT_* and KVM_STATS_BASE_*. */
static inline uint32_t statsfile_type(const struct statsfile_desc *desc)
{
	return desc->flags & KVM_STATS_TYPE_MASK;
}

static inline uint32_t statsfile_unit(const struct statsfile_desc *desc)
{
	return desc->flags & KVM_STATS_UNIT_MASK;
}

static inline uint32_t statsfile_base(const struct statsfile_desc *desc)
{
	return desc->flags & KVM_STATS_BASE_MASK;
}

#endif /* KVMSTAT_STATSFILE_SCHEMA_H */
