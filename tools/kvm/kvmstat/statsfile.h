/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parser of a KVM statistics file (the format is in linux/kvm_stats.h), a small
 * library: it prints nothing, ends nothing and believes nothing. Whatever the
 * file holds, a call succeeds with a description that is safe to use, or fails
 * with one line that says what is wrong.
 *
 * Read the file from a file descriptor or from memory:
 *
 *	struct statsfile_source source = { .fd = fd };
 *	struct statsfile_error error;
 *	struct statsfile file;
 *	uint64_t *values;
 *
 *	if (statsfile_open(&file, &source, NULL, &error))
 *		die(error.text);
 *	values = calloc(file.schema->num_values, sizeof(*values));
 *	if (statsfile_read(&file, values, &error))
 *		die(error.text);
 *	for (i = 0; i < file.schema->num_desc; i++)
 *		printf("%s %llu\n", file.schema->desc[i].name,
 *		       values[file.schema->desc[i].first]);
 *	statsfile_close(&file);
 *
 * Refused: blocks that overlap, are not aligned to 8 bytes or go past the end of
 * the file, names and ids that are empty, not terminated or not printable,
 * scalars that are not one value, linear histograms without a bucket size, and
 * sizes beyond STATSFILE_MAX_*.
 *
 * Ignored, so that newer kernels can add to the format: header flags, descriptor
 * flags beyond type, unit and base, gaps between blocks and what stands there.
 * A type, unit or base that is not known yet is kept as it is; callers
 * treat it as a plain number.
 */
#ifndef KVMSTAT_STATSFILE_H
#define KVMSTAT_STATSFILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Not <linux/kvm.h>: the system's, when it is newer, defines the same structs.
 * By path, because with -I the kernel's unprocessed linux/types.h would win.
 */
#include "../../../include/uapi/linux/kvm_stats.h"

/* Far more than any kernel has, and little enough to allocate without fear. */
#define STATSFILE_MAX_NAME 1024
#define STATSFILE_MAX_DESC 16384
#define STATSFILE_MAX_DATA (16u << 20)

struct statsfile_error {
	char text[192];
};

/**
 * struct statsfile_source - where a statistics file is read from
 * @fd: file descriptor, or -1 for memory
 * @memory: the file's content if @fd is -1, used by the later reads too
 * @size: bytes of @memory
 */
struct statsfile_source {
	int fd;
	const void *memory;
	size_t size;
};

/**
 * struct statsfile_desc - one statistic
 * @name: printable, never empty
 * @flags: as in the file, see statsfile_type(), _unit() and _base()
 * @exponent: of the scale
 * @size: number of values, at least 1, and 1 for a scalar
 * @first: index of the first value; first + size <= num_values of the schema
 * @bucket_size: width of a linear histogram's buckets, not 0 there
 */
struct statsfile_desc {
	const char *name;
	uint32_t flags;
	int16_t exponent;
	uint16_t size;
	uint32_t first;
	uint32_t bucket_size;
};

/**
 * struct statsfile_schema - what a file describes
 * @num_desc: number of statistics
 * @num_values: number of values in the data block
 * @desc: the statistics, in the file's order
 *
 * All vCPUs have the same one, so it is shared and counted: thousands of files
 * cost one.
 */
struct statsfile_schema {
	unsigned int num_desc;
	unsigned int num_values;
	struct statsfile_desc *desc;
	/* private */
	unsigned int references;
	uint32_t name_size;
	size_t raw_size;
	void *raw;
};

/**
 * struct statsfile - an open statistics file
 * @source: where it is read from
 * @id: printable, never empty
 * @schema: what it describes
 * @data_offset: where its values are
 */
struct statsfile {
	struct statsfile_source source;
	char *id;
	struct statsfile_schema *schema;
	uint32_t data_offset;
};

/**
 * statsfile_open() - read and check everything but the values
 * @file: filled in on success
 * @source: copied; after success @file owns the file descriptor
 * @like: a schema that the file probably has too and then shares, or NULL
 * @error: filled in on failure
 *
 * Return: 0, -EINVAL for a malformed file, -ENOMEM, or the errno of pread().
 */
int statsfile_open(struct statsfile *file, const struct statsfile_source *source,
		   struct statsfile_schema *like, struct statsfile_error *error);

/**
 * statsfile_read() - read all values
 * @file: the file
 * @values: room for file->schema->num_values
 * @error: filled in on failure
 *
 * One system call. Works after the VM is gone: the last values stay.
 *
 * Return: as statsfile_open().
 */
int statsfile_read(const struct statsfile *file, uint64_t *values,
		   struct statsfile_error *error);

/* Frees what statsfile_open() made and closes the file descriptor. */
void statsfile_close(struct statsfile *file);

struct statsfile_schema *statsfile_schema_get(struct statsfile_schema *schema);
void statsfile_schema_put(struct statsfile_schema *schema);

/* To be compared with KVM_STATS_TYPE_*, KVM_STATS_UNIT_* and KVM_STATS_BASE_*. */
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

#endif /* KVMSTAT_STATSFILE_H */
