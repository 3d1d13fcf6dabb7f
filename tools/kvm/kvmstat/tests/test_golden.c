// SPDX-License-Identifier: GPL-2.0
/*
 * The parser with files as kernels have them, in tests/golden: each is text, from which
 * the bytes are made again, and has to come back out of the parser. Run as
 * `test_golden record <FILE >TEXT` this makes the text of a statistics file.
 *
 *	header FLAGS NAME_SIZE ID_OFFSET DESC_OFFSET DATA_OFFSET ID
 *	ext SIZE DATA_SIZE MMAP_OFFSET STRIDE MAX DESC_OFFSET DATA_SIZE ID_OFFSET
 *	names SIZE OFFSET VCPU_OFFSET
 *	stat|vcpu NAME TYPE UNIT BASE EXPONENT SIZE OFFSET BUCKET_SIZE
 *	stat_value|vcpu_value STATISTIC VALUE NAME
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources/statsfile.h"
#include "tap.h"
#include "util/util.h"

/* More than a file has before its windows. */
#define FILE_SIZE 0x100000

static const char * const types[] = { "cumulative", "instant", "peak", "linear_hist", "log_hist", };
static const char * const units[] = { "none", "bytes", "seconds", "cycles", "boolean", };
static const char * const bases[] = { "pow10", "pow2", };

static void bail_out(const char *what, const char *text)
{
	printf("Bail out! %s: %s\n", what, text);
	exit(1);
}

static uint32_t index_of(const char *word, const char * const *words, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (!strcmp(word, words[i]))
			return i;
	}
	bail_out("unknown word", word);
	return 0;
}

static void print_stat(FILE *to, const char *kind, const char *name,
		       const struct kvm_stats_desc *desc)
{
	fprintf(to, "%s %s %s %s %s %d %u %u %u\n", kind, name, types[desc->flags & 0xf],
		units[desc->flags >> 4 & 0xf], bases[desc->flags >> 8 & 0xf], desc->exponent,
		desc->size, desc->offset, desc->bucket_size);
}

static void print_value_name(FILE *to, const char *kind, const char *statistic, uint32_t value,
			     const char *name)
{
	fprintf(to, "%s_value %s %u %s\n", kind, statistic, value, name);
}

/* A file that is being written; @ext is of use only if it has one. */
struct writer {
	unsigned char *bytes;
	struct kvm_stats_header *header;
	struct kvm_stats_ext *ext;
	uint32_t num_values;
};

static void write_header(struct writer *writer, const char *line)
{
	struct kvm_stats_header *header = writer->header;
	char id[64];

	if (sscanf(line, "header %u %u %u %u %u %63s", &header->flags, &header->name_size,
		   &header->id_offset, &header->desc_offset, &header->data_offset, id) != 6)
		bail_out("malformed header", line);
	snprintf((char *)writer->bytes + header->id_offset, header->name_size, "%s", id);
	writer->ext = (void *)(writer->bytes + header->id_offset + header->name_size);
}

static void write_ext(struct writer *writer, const char *line)
{
	struct kvm_stats_ext *ext = writer->ext;
	unsigned long long mmap_offset;

	if (sscanf(line, "ext %u %u %llu %u %u %u %u %u", &ext->size, &ext->data_size,
		   &mmap_offset, &ext->vcpu_stride, &ext->vcpu_max, &ext->vcpu_desc_offset,
		   &ext->vcpu_data_size, &ext->vcpu_id_offset) != 8)
		bail_out("malformed extension block", line);
	ext->vcpu_mmap_offset = mmap_offset;
}

static void write_names(struct writer *writer, const char *line)
{
	struct kvm_stats_ext *ext = writer->ext;

	if (sscanf(line, "names %u %u %u", &ext->value_name_size, &ext->value_name_offset,
		   &ext->vcpu_value_name_offset) != 3)
		bail_out("malformed names", line);
}

/* Returns where its values end. */
static uint32_t write_stat(struct writer *writer, const char *line, uint32_t offset,
			   uint32_t *index)
{
	size_t stride = sizeof(struct kvm_stats_desc) + writer->header->name_size;
	unsigned char *to = writer->bytes + offset + stride * (*index)++;
	char name[64], type[16], unit[16], base[16];
	struct kvm_stats_desc desc = {};

	if (sscanf(line, "%*s %63s %15s %15s %15s %hd %hu %u %u", name, type, unit, base,
		   &desc.exponent, &desc.size, &desc.offset, &desc.bucket_size) != 8)
		bail_out("malformed statistic", line);
	desc.flags = index_of(type, types, ARRAY_SIZE(types)) |
		     index_of(unit, units, ARRAY_SIZE(units)) << 4 |
		     index_of(base, bases, ARRAY_SIZE(bases)) << 8;
	memcpy(to, &desc, sizeof(desc));
	snprintf((char *)to + sizeof(desc), writer->header->name_size, "%s", name);
	return desc.offset / sizeof(uint64_t) + desc.size;
}

static void write_own_stat(struct writer *writer, const char *line)
{
	uint32_t end = write_stat(writer, line, writer->header->desc_offset,
				  &writer->header->num_desc);

	if (end > writer->num_values)
		writer->num_values = end;
}

static uint32_t find_stat(const struct writer *writer, uint32_t offset, uint32_t count,
			  const char *name)
{
	size_t stride = sizeof(struct kvm_stats_desc) + writer->header->name_size;
	const char *at = (const char *)writer->bytes + offset + sizeof(struct kvm_stats_desc);
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (!strcmp(at + i * stride, name))
			return i;
	}
	bail_out("unknown statistic", name);
	return 0;
}

/* What is named is one of the @count statistics at @desc_offset. */
static void write_value_name(struct writer *writer, const char *line, uint32_t desc_offset,
			     uint32_t count, uint32_t offset, uint32_t *index)
{
	unsigned char *to = writer->bytes + offset + writer->ext->value_name_size * (*index)++;
	struct kvm_stats_value_name value = {};
	char statistic[64], name[64];

	if (sscanf(line, "%*s %63s %u %63s", statistic, &value.value, name) != 3)
		bail_out("malformed name", line);
	value.desc = find_stat(writer, desc_offset, count, statistic);
	memcpy(to, &value, sizeof(value));
	snprintf((char *)to + sizeof(value), writer->header->name_size, "%s", name);
}

static void write_line(struct writer *writer, const char *line)
{
	const struct kvm_stats_header *header = writer->header;
	struct kvm_stats_ext *ext = writer->ext;

	if (!strncmp(line, "header ", 7))
		write_header(writer, line);
	else if (!strncmp(line, "ext ", 4))
		write_ext(writer, line);
	else if (!strncmp(line, "stat ", 5))
		write_own_stat(writer, line);
	else if (!strncmp(line, "vcpu ", 5))
		write_stat(writer, line, ext->vcpu_desc_offset, &ext->vcpu_num_desc);
	else if (!strncmp(line, "names ", 6))
		write_names(writer, line);
	else if (!strncmp(line, "stat_value ", 11))
		write_value_name(writer, line, header->desc_offset, header->num_desc,
				 ext->value_name_offset, &ext->value_name_num);
	else if (!strncmp(line, "vcpu_value ", 11))
		write_value_name(writer, line, ext->vcpu_desc_offset, ext->vcpu_num_desc,
				 ext->vcpu_value_name_offset, &ext->vcpu_value_name_num);
	else if (line[0] != '#')
		bail_out("unknown line", line);
}

/* Fills @bytes, and writes to @expected what the parser has to find there. */
static void write_file(unsigned char *bytes, FILE *text, FILE *expected)
{
	struct writer writer = { .bytes = bytes, .header = (void *)bytes, };
	uint64_t *values;
	char line[256];
	uint32_t i;

	while (fgets(line, sizeof(line), text)) {
		write_line(&writer, line);
		if (!strncmp(line, "header ", 7))
			fprintf(expected, "id %s", strrchr(line, ' ') + 1);
		else if (line[0] == 's' || line[0] == 'v')
			fputs(line, expected);
	}
	values = (uint64_t *)(bytes + writer.header->data_offset);
	for (i = 0; i < writer.num_values; i++)
		values[i] = i + 1;
}

static void print_schema(FILE *to, const char *kind, const struct statsfile_schema *schema)
{
	const struct statsfile_desc *desc;
	uint32_t i;

	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		struct kvm_stats_desc raw = {
			.flags = desc->flags,
			.exponent = desc->exponent,
			.size = desc->size,
			.offset = desc->first * sizeof(uint64_t),
			.bucket_size = desc->bucket_size,
		};

		print_stat(to, kind, desc->name, &raw);
	}
	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		for (i = 0; i < desc->num_value_names; i++)
			print_value_name(to, kind, desc->name, desc->value_names[i].value,
					 desc->value_names[i].name);
	}
}

static void check_values(const struct statsfile *file, const char *name)
{
	uint64_t *values = xcalloc(file->schema->num_values, sizeof(*values));
	struct statsfile_error error;
	unsigned int i;
	bool right;

	right = !statsfile_read(file, values, &error);
	for (i = 0; right && i < file->schema->num_values; i++)
		right = values[i] == i + 1;
	check(right, "%s: values", name);
	free(values);
}

static void check_parsed(const struct statsfile *file, const char *expected, const char *name)
{
	size_t size;
	char *found;
	FILE *to = open_memstream(&found, &size);

	fprintf(to, "id %s\n", file->id);
	print_schema(to, "stat", file->schema);
	if (file->vcpu_schema)
		print_schema(to, "vcpu", file->vcpu_schema);
	fclose(to);
	check_text(found, expected, name);
	free(found);
}

static void test_file(const char *directory, const char *name)
{
	unsigned char *bytes = xcalloc(1, FILE_SIZE);
	struct statsfile_source source = { .fd = -1, .memory = bytes, .size = FILE_SIZE, };
	char *path = xasprintf("%s/%s", directory, name);
	FILE *text = fopen(path, "r"), *to;
	struct statsfile_error error;
	struct statsfile file;
	char *expected;
	size_t size;
	int ret;

	if (!text)
		bail_out("cannot open", path);
	to = open_memstream(&expected, &size);
	write_file(bytes, text, to);
	fclose(to);
	fclose(text);
	ret = statsfile_open(&file, &source, NULL, &error);
	check(!ret, "%s: accepted (%s)", name, ret ? error.text : "no error");
	if (!ret) {
		check_parsed(&file, expected, name);
		check_values(&file, name);
		statsfile_close(&file);
	}
	free(expected);
	free(path);
	free(bytes);
}

static void record_stats(const char *kind, const unsigned char *at, uint32_t count,
			 uint32_t name_size)
{
	struct kvm_stats_desc desc;

	for (; count; count--, at += sizeof(desc) + name_size) {
		memcpy(&desc, at, sizeof(desc));
		print_stat(stdout, kind, (const char *)at + sizeof(desc), &desc);
	}
}

static void record_value_names(const char *kind, const unsigned char *at, uint32_t count,
			       uint32_t stride, const unsigned char *desc, uint32_t name_size)
{
	struct kvm_stats_value_name value;

	for (; count; count--, at += stride) {
		memcpy(&value, at, sizeof(value));
		print_value_name(stdout, kind, (const char *)desc + sizeof(struct kvm_stats_desc) +
				 value.desc * (sizeof(struct kvm_stats_desc) + name_size),
				 value.value, (const char *)at + sizeof(value));
	}
}

/* Trusts what it reads: it is what a kernel gave out, and the text is looked at. */
static int record(void)
{
	unsigned char *bytes = xcalloc(1, FILE_SIZE);
	const struct kvm_stats_header *header = (void *)bytes;
	const struct kvm_stats_ext *ext;
	const unsigned char *desc;
	bool has_names;

	if (!fread(bytes, 1, FILE_SIZE - 1, stdin))
		bail_out("nothing to read", "stdin");
	ext = (void *)(bytes + header->id_offset + header->name_size);
	desc = bytes + header->desc_offset;
	has_names = header->flags & KVM_STATS_HEADER_EXT &&
		    ext->size > offsetof(struct kvm_stats_ext, value_name_offset);
	printf("header %u %u %u %u %u %s\n", header->flags, header->name_size, header->id_offset,
	       header->desc_offset, header->data_offset, bytes + header->id_offset);
	if (header->flags & KVM_STATS_HEADER_EXT)
		printf("ext %u %u %llu %u %u %u %u %u\n", ext->size, ext->data_size,
		       (unsigned long long)ext->vcpu_mmap_offset, ext->vcpu_stride, ext->vcpu_max,
		       ext->vcpu_desc_offset, ext->vcpu_data_size, ext->vcpu_id_offset);
	if (has_names)
		printf("names %u %u %u\n", ext->value_name_size, ext->value_name_offset,
		       ext->vcpu_value_name_offset);
	record_stats("stat", desc, header->num_desc, header->name_size);
	if (has_names)
		record_value_names("stat", bytes + ext->value_name_offset, ext->value_name_num,
				   ext->value_name_size, desc, header->name_size);
	if (header->flags & KVM_STATS_HEADER_EXT)
		record_stats("vcpu", bytes + ext->vcpu_desc_offset, ext->vcpu_num_desc,
			     header->name_size);
	if (has_names)
		record_value_names("vcpu", bytes + ext->vcpu_value_name_offset,
				   ext->vcpu_value_name_num, ext->value_name_size,
				   bytes + ext->vcpu_desc_offset, header->name_size);
	free(bytes);
	return 0;
}

static int is_text(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	const char *directory = getenv("GOLDEN");
	struct dirent **entries;
	int count, i;

	if (argc > 1 && !strcmp(argv[1], "record"))
		return record();
	if (!directory)
		bail_out("GOLDEN is not set", "the directory of the texts");
	count = scandir(directory, &entries, is_text, alphasort);
	check(count > 0, "there are files in tests/golden");
	for (i = 0; i < count; i++) {
		test_file(directory, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return tap_end();
}
