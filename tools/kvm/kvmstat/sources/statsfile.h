/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parser of a KVM statistics file (the format is in linux/kvm_stats.h): a small library that prints
 * nothing, never exits and trusts nothing. With any file, a call either succeeds with a description
 * that is safe to use, or fails with one line that says what is wrong.
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
 * Values are loaded from a mapping, without a system call, if the kernel allows that
 * (KVM_STATS_HEADER_EXT), otherwise by pread(). A VM's mapping also has its vCPUs' values:
 *
 *	for (i = 0; i < statsfile_online_vcpus(&file); i++)
 *		statsfile_read_vcpu(&file, i, vcpu_values, &error);
 *
 * Refused: blocks that overlap, are not aligned to 8 bytes or end after the file; names and ids
 * that are empty, not terminated or not printable; linear histograms without a bucket size; names
 * of values that do not exist; repeated or unsorted value names; sizes beyond STATSFILE_MAX_*; data
 * blocks that are too small; mapped blocks that do not begin with a page; vCPU windows without
 * online_vcpus.
 *
 * Ignored, so that newer kernels can add to the format: header flags, fields of the extension
 * block, descriptor flags beyond type, unit and base, gaps between blocks. Fields after the end of
 * the extension block count as missing. An unknown type, unit or base is kept; callers treat the
 * value as a plain number.
 */
#ifndef KVMSTAT_STATSFILE_H
#define KVMSTAT_STATSFILE_H

#include "sources/statsfile_schema.h"

#define STATSFILE_MAX_VCPUS 65536

/**
 * struct statsfile - an open statistics file
 * @source: where it is read from
 * @id: printable, not empty
 * @schema: its own statistics
 * @vcpu_schema: the statistics of vCPUs that it shows, or NULL
 * @vcpu_max: how many vCPUs it can show, 0 without @vcpu_schema
 */
struct statsfile {
	struct statsfile_source source;
	char *id;
	struct statsfile_schema *schema;
	struct statsfile_schema *vcpu_schema;
	uint32_t vcpu_max;
	/* private */
	uint32_t data_offset;
	uint32_t vcpu_id_offset;
	uint32_t vcpu_stride;
	uint32_t online_vcpus;		/* index of the value */
	bool is_view;			/* data is in memory, not mapped: see statsfile_view() */
	const uint64_t *data;		/* mapped, or NULL */
	const char *windows;		/* mapped, or NULL; not without data */
};

/*
 * Whether KVM may have made the file: it has no file type, unlike all files with a path, and is
 * read-only. Such files cannot be truncated, and reading has no side effect. (VFIO's files of
 * devices have no type, either, but are writable.)
 */
bool statsfile_may_be_kvms(int fd);

/**
 * statsfile_open() - read and check everything but the values
 * @file: filled in on success
 * @source: copied; after success @file owns the file descriptor
 * @known: or NULL
 * @error: filled in on failure
 *
 * Return: 0, -EINVAL for a malformed file, -ENOMEM, or the -errno of pread().
 */
int statsfile_open(struct statsfile *file, const struct statsfile_source *source,
		   const struct statsfile_known *known, struct statsfile_error *error);

/**
 * statsfile_read() - read all values
 * @file: the file
 * @values: room for file->schema->num_values
 * @error: filled in on failure
 *
 * A mapped file is read without a system call, and never fails. The final values stay readable
 * after the VM is gone.
 *
 * Return: as statsfile_open().
 */
int statsfile_read(const struct statsfile *file, uint64_t *values,
		   struct statsfile_error *error);

/* Reads @count values from the @first one on. These must exist. */
int statsfile_read_some(const struct statsfile *file, unsigned int first, unsigned int count,
			uint64_t *values, struct statsfile_error *error);

/* Whether the file is mapped, and whether its vCPUs are. */
static inline bool statsfile_is_mapped(const struct statsfile *file)
{
	return file->data;
}

static inline bool statsfile_has_windows(const struct statsfile *file)
{
	return file->windows;
}

/* How many vCPUs can be read: never fewer than before. 0 without windows. No system call. */
uint32_t statsfile_online_vcpus(const struct statsfile *file);

/**
 * statsfile_read_vcpu() - read all values of a vCPU, without a system call
 * @file: the file of its VM
 * @index: in the order in which the vCPUs were created
 * @values: room for file->vcpu_schema->num_values
 * @error: filled in on failure
 *
 * Return: 0, or -EINVAL if @index is not below statsfile_online_vcpus().
 */
int statsfile_read_vcpu(const struct statsfile *file, uint32_t index, uint64_t *values,
			struct statsfile_error *error);

/* Reads @count values from the @first one on. These must exist. */
int statsfile_read_some_of_vcpu(const struct statsfile *file, uint32_t index,
				unsigned int first, unsigned int count, uint64_t *values,
				struct statsfile_error *error);

/* As statsfile_read_vcpu(), but adds the values to @sums. */
int statsfile_add_vcpu(const struct statsfile *file, uint32_t index, uint64_t *sums,
		       struct statsfile_error *error);

/*
 * Drops the windows' pages, which count as memory of this process once they were read. Reading
 * them again costs a page fault each. One system call.
 */
void statsfile_release_vcpus(const struct statsfile *file);

/* Reads ids of vCPUs with one system call. Returns as statsfile_open(); -EINVAL beyond vcpu_max. */
int statsfile_read_vcpu_ids(const struct statsfile *file, uint32_t first, uint32_t count,
			    uint32_t *ids, struct statsfile_error *error);

/**
 * statsfile_view() - make values in memory readable like a file
 * @file: zeroed, or a view whose values have moved or grown
 * @id: taken over by a zeroed file; otherwise not used
 * @schema: of the VM's values
 * @vcpu_schema: of the vCPUs' values, or NULL
 * @values: stay the caller's: the VM's, then each vCPU's
 * @num_vcpus: how many
 */
void statsfile_view(struct statsfile *file, char *id, struct statsfile_schema *schema,
		    struct statsfile_schema *vcpu_schema, const uint64_t *values,
		    uint32_t num_vcpus);

/* Undoes statsfile_open() or statsfile_view(), and closes the file descriptor. */
void statsfile_close(struct statsfile *file);

#endif /* KVMSTAT_STATSFILE_H */
