// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer makes up statistics files for the parser. The sanitizers check memory; this file checks
 * the promises for files that the parser accepts.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "promise.h"
#include "sources/statsfile.h"

/* An accepted file may claim to have thousands of vCPUs. */
#define MAX_READ 4

static bool is_printable(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text <= ' ' || *text > '~')
			return false;
	}
	return true;
}

static void check_value_names(const struct statsfile_desc *desc)
{
	const struct statsfile_value_name *name = desc->value_names;
	uint32_t i;

	for (i = 0; i < desc->num_value_names; i++) {
		promise(is_printable(name[i].name), "names of values are printable");
		promise(desc->size == 1 || name[i].value < desc->size,
			"values with names exist");
		promise(!i || name[i].value > name[i - 1].value, "values with names are in order");
		promise(statsfile_value_name(desc, name[i].value) == name[i].name,
			"names are found");
	}
}

static void check_schema(const struct statsfile_schema *schema)
{
	const struct statsfile_desc *desc;
	unsigned int num_value_names = 0;

	promise(schema->num_desc <= STATSFILE_MAX_DESC &&
		schema->num_values <= STATSFILE_MAX_DATA / sizeof(uint64_t), "limits");
	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		promise(is_printable(desc->name), "names are printable");
		promise(desc->size >= 1 && desc->first + desc->size <= schema->num_values,
			"values are inside of the data");
		promise(statsfile_type(desc) != KVM_STATS_TYPE_LINEAR_HIST || desc->bucket_size,
			"linear histograms have a bucket size");
		check_value_names(desc);
		num_value_names += desc->num_value_names;
	}
	promise(num_value_names == schema->num_value_names, "each name is of a statistic");
}

static uint64_t *values_of(const struct statsfile_schema *schema)
{
	uint64_t *values = calloc(schema->num_values + 1, sizeof(*values));

	promise(values, "memory for the test");
	return values;
}

static void check_ids(const struct statsfile *file)
{
	uint32_t count = file->vcpu_max < MAX_READ ? file->vcpu_max : MAX_READ;
	struct statsfile_error error;
	uint32_t ids[MAX_READ];

	statsfile_read_vcpu_ids(file, 0, count, ids, &error);
	statsfile_read_vcpu_ids(file, file->vcpu_max - count, count, ids, &error);
	promise(statsfile_read_vcpu_ids(file, file->vcpu_max, 1, ids, &error),
		"no id after the last vCPU");
}

/* Checks a file that was opened from memory. */
static void check_file(const struct statsfile *file)
{
	promise(is_printable(file->id), "the id is printable");
	promise(!file->vcpu_max || file->vcpu_schema, "windows are described");
	check_schema(file->schema);
	if (file->vcpu_schema)
		check_schema(file->vcpu_schema);
	check_ids(file);
}

static void check_sharing(const struct statsfile *file)
{
	struct statsfile_known known = { .vm = file->schema, .vcpu = file->vcpu_schema, };
	struct statsfile_error error;
	struct statsfile again;

	promise(!statsfile_open(&again, &file->source, &known, &error),
		"an accepted file is accepted again");
	promise(again.schema == file->schema, "equal descriptors are shared");
	statsfile_close(&again);
}

static void check_windows(const struct statsfile *file)
{
	uint32_t i, online_vcpus = statsfile_online_vcpus(file);
	struct statsfile_error error;
	uint64_t *values;

	promise(online_vcpus <= file->vcpu_max, "no more vCPUs than windows");
	if (!file->vcpu_schema)
		return;
	values = values_of(file->vcpu_schema);
	for (i = 0; i < online_vcpus && i < MAX_READ; i++)
		promise(!statsfile_read_vcpu(file, i, values, &error), "a vCPU is readable");
	if (online_vcpus)
		statsfile_read_vcpu(file, online_vcpus - 1, values, &error);
	promise(statsfile_read_vcpu(file, online_vcpus, values, &error),
		"no vCPU beyond the last is read");
	free(values);
}

/*
 * A file so large that every window exists. The parser does not check this, because the kernel's
 * windows always exist.
 */
static int endless_file(const uint8_t *bytes, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	promise(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, bytes, size, 0) == (ssize_t)size &&
		!ftruncate(fd, INT64_MAX), "a file for the test");
	return dup(fd);
}

/* Checks that the same file has the same values if it is mapped. */
static void check_mapped(const uint8_t *bytes, size_t size, const uint64_t *expected)
{
	struct statsfile_source source = {
		.fd = endless_file(bytes, size),
		.access = STATSFILE_MMAP,
	};
	struct statsfile_error error;
	struct statsfile file;
	uint64_t *values;

	/* A mapping may be refused: only a mapping needs windows at page boundaries. */
	if (statsfile_open(&file, &source, NULL, &error)) {
		close(source.fd);
		return;
	}
	values = values_of(file.schema);
	promise(!statsfile_read(&file, values, &error) &&
		!memcmp(values, expected, file.schema->num_values * sizeof(*values)),
		"mapped values are the file's");
	check_windows(&file);
	free(values);
	statsfile_close(&file);
}

/* The Makefile defines this name as the one that libFuzzer calls. */
int fuzz_one_input(const uint8_t *bytes, size_t size)
{
	struct statsfile_source source = { .fd = -1, .memory = bytes, .size = size, };
	struct statsfile_error error = {};
	struct statsfile file;
	uint64_t *values;

	if (statsfile_open(&file, &source, NULL, &error)) {
		promise(error.text[0] && !strchr(error.text, '\n'), "one line says what is wrong");
		return 0;
	}
	check_file(&file);
	check_sharing(&file);
	values = values_of(file.schema);
	if (!statsfile_read(&file, values, &error))
		check_mapped(bytes, size, values);
	free(values);
	statsfile_close(&file);
	return 0;
}
