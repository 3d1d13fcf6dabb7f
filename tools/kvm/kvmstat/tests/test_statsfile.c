// SPDX-License-Identifier: GPL-2.0
/*
 * The parser: well-formed files, what it has to ignore, each way in which a file
 * can be malformed, and random damage. Run with sanitizers this also shows that
 * nothing is read beyond the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../statsfile.h"
#include "../util.h"
#include "image.h"
#include "tap.h"

static const struct image_stat stats[] = {
	{ .name = "exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{ .name = "pages", .flags = KVM_STATS_TYPE_INSTANT, },
	{
		.name = "wait_hist",
		.flags = KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS,
		.exponent = -9,
		.size = 32,
	}, {
		.name = "size_hist",
		.flags = KVM_STATS_TYPE_LINEAR_HIST | KVM_STATS_UNIT_BYTES,
		.size = 4,
		.bucket_size = 64,
	},
	{},
};

static int open_image(const struct image *image, struct statsfile *file,
		      struct statsfile_error *error)
{
	struct statsfile_source source = image_source(image);

	return statsfile_open(file, &source, NULL, error);
}

static void check_file(const struct statsfile *file, const char *name)
{
	const struct statsfile_schema *schema = file->schema;
	const struct statsfile_desc *hist = &schema->desc[3];
	uint64_t values[38] = {};
	struct statsfile_error error;

	check(!strcmp(file->id, "kvm-1/vcpu-0") && schema->num_desc == 4 &&
	      schema->num_values == 38, "%s: id and sizes", name);
	check(!strcmp(schema->desc[0].name, "exits") && schema->desc[0].size == 1 &&
	      schema->desc[0].first == 0, "%s: first descriptor", name);
	check(!strcmp(hist->name, "size_hist") && hist->first == 34 && hist->size == 4 &&
	      hist->bucket_size == 64 && statsfile_type(hist) == KVM_STATS_TYPE_LINEAR_HIST &&
	      statsfile_unit(hist) == KVM_STATS_UNIT_BYTES, "%s: last descriptor", name);
	check(!statsfile_read(file, values, &error) && values[0] == 1 && values[37] == 38,
	      "%s: values", name);
}

static struct image build(void)
{
	struct image image = image_build("kvm-1/vcpu-0", stats);
	unsigned int i;

	for (i = 0; i < 38; i++)
		image_values(&image)[i] = i + 1;
	return image;
}

static void test_memory(void)
{
	struct image image = build();
	struct statsfile file = image_open(&image);

	check_file(&file, "memory");
	statsfile_close(&file);
	image_free(&image);
}

static void test_fd(void)
{
	struct statsfile_source source = { .fd = memfd_create("stats", 0), };
	struct image image = build();
	struct statsfile_error error;
	struct statsfile file;

	if (write(source.fd, image.bytes, image.size) != (ssize_t)image.size)
		abort();
	check(!statsfile_open(&file, &source, NULL, &error), "fd: opened");
	check_file(&file, "fd");
	statsfile_close(&file);
	check(close(source.fd) && errno == EBADF, "fd: closed with the file");
	check(statsfile_open(&file, &source, NULL, &error) == -EBADF, "fd: pread's errno returned");
	check_contains(error.text, "cannot read the header", "fd: pread's error named");
	image_free(&image);
}

static void test_sharing(void)
{
	struct image one = build(), same = build(), other = build();
	struct statsfile first = image_open(&one), second, third;
	struct statsfile_source source = image_source(&same);
	struct statsfile_error error;

	memcpy(image_id(&same), "kvm-2", sizeof("kvm-2"));
	image_desc(&other, 3)->name[0] = 'x';
	check(!statsfile_open(&second, &source, first.schema, &error) &&
	      second.schema == first.schema && !strcmp(second.id, "kvm-2"),
	      "equal descriptors are shared");
	source = image_source(&other);
	check(!statsfile_open(&third, &source, first.schema, &error) &&
	      third.schema != first.schema, "other descriptors are not");
	statsfile_close(&first);
	check(!strcmp(second.schema->desc[0].name, "exits"),
	      "shared descriptors outlive the file that they came from");
	statsfile_close(&second);
	statsfile_close(&third);
	image_free(&one);
	image_free(&same);
	image_free(&other);
}

/* All of these are well-formed: made for readers to ignore, or rare. */

static void set_header_flags(struct image *image)
{
	image_header(image)->flags = ~0u;
}

static void set_desc_flags(struct image *image)
{
	image_desc(image, 0)->flags |= 0xfffff000;
}

static void use_new_type(struct image *image)
{
	image_desc(image, 0)->flags = 0xfff;
}

static void use_new_vector_type(struct image *image)
{
	image_desc(image, 3)->flags = 0x9;
}

static void set_extreme_exponent(struct image *image)
{
	image_desc(image, 0)->exponent = INT16_MIN;
}

static void swap_blocks(struct image *image)
{
	struct kvm_stats_header *header = image_header(image);
	uint32_t gap = 2048;

	memcpy(image->bytes + gap, image_id(image), IMAGE_NAME_SIZE);
	header->id_offset = gap;
}

static void describe_nothing(struct image *image)
{
	image_header(image)->num_desc = 0;
}

static void test_tolerance(void)
{
	static const struct {
		const char *name;
		void (*change)(struct image *image);
	} cases[] = {
		{ "unknown header flags", set_header_flags, },
		{ "unknown descriptor flags", set_desc_flags, },
		{ "unknown type, unit and base", use_new_type, },
		{ "unknown type with several values", use_new_vector_type, },
		{ "extreme exponent", set_extreme_exponent, },
		{ "blocks in another order, with gaps", swap_blocks, },
		{ "no statistics", describe_nothing, },
	};
	struct statsfile_error error = {};
	struct statsfile file;
	struct image image;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		image = build();
		cases[i].change(&image);
		ret = open_image(&image, &file, &error);
		check(!ret, "accepted: %s", cases[i].name);
		if (!ret)
			statsfile_close(&file);
		image_free(&image);
	}
}

/* One function per way to break a file. */

static void clear_name_size(struct image *image)
{
	image_header(image)->name_size = 0;
}

static void grow_name_size(struct image *image)
{
	image_header(image)->name_size = STATSFILE_MAX_NAME + 1;
}

static void grow_num_desc(struct image *image)
{
	image_header(image)->num_desc = STATSFILE_MAX_DESC + 1;
}

static void describe_more_than_there_is(struct image *image)
{
	image_header(image)->num_desc = STATSFILE_MAX_DESC;
}

static void move_id_to_end(struct image *image)
{
	image_header(image)->id_offset = 0xfffffff8;
}

static void move_desc_to_end(struct image *image)
{
	image_header(image)->desc_offset = 0xfffffff8;
}

static void move_data_onto_header(struct image *image)
{
	image_header(image)->data_offset = 16;
}

static void move_data_onto_desc(struct image *image)
{
	image_header(image)->data_offset = image_header(image)->desc_offset + 64;
}

static void move_id_onto_header(struct image *image)
{
	/* The id is then what stands in desc_offset: 72, a letter and an end. */
	image_header(image)->id_offset = 16;
}

static void misalign_data(struct image *image)
{
	image_header(image)->data_offset += 4;
}

static void misalign_value(struct image *image)
{
	image_desc(image, 1)->offset = 12;
}

static void clear_id(struct image *image)
{
	image_id(image)[0] = '\0';
}

static void unterminate_id(struct image *image)
{
	memset(image_id(image), 'x', IMAGE_NAME_SIZE);
}

static void put_escape_into_id(struct image *image)
{
	image_id(image)[0] = '\033';
}

static void clear_name(struct image *image)
{
	image_desc(image, 2)->name[0] = '\0';
}

static void unterminate_name(struct image *image)
{
	memset(image_desc(image, 2)->name, 'x', IMAGE_NAME_SIZE);
}

static void put_escape_into_name(struct image *image)
{
	image_desc(image, 2)->name[3] = '\033';
}

static void put_high_byte_into_name(struct image *image)
{
	image_desc(image, 2)->name[3] = '\233';
}

static void put_blank_into_name(struct image *image)
{
	image_desc(image, 2)->name[3] = ' ';
}

static void clear_size(struct image *image)
{
	image_desc(image, 2)->size = 0;
}

static void grow_scalar(struct image *image)
{
	image_desc(image, 1)->size = 2;
}

static void clear_bucket_size(struct image *image)
{
	image_desc(image, 3)->bucket_size = 0;
}

static void grow_offset(struct image *image)
{
	image_desc(image, 1)->offset = 0xfffffff8;
}

static void test_malformed(void)
{
	static const struct {
		const char *name;
		void (*change)(struct image *image);
		const char *error;
	} cases[] = {
		{ "names of no bytes", clear_name_size, "names of 0 bytes", },
		{ "names too large", grow_name_size, "names of 1025 bytes", },
		{ "too many statistics", grow_num_desc, "16385 statistics", },
		{ "more descriptors than the file holds", describe_more_than_there_is,
		  "ends inside of the descriptor block", },
		{ "id past the end", move_id_to_end, "ends inside of the id", },
		{ "descriptors past the end", move_desc_to_end,
		  "ends inside of the descriptor block", },
		{ "data in the header", move_data_onto_header,
		  "the data block and the header overlap", },
		{ "data in the descriptors", move_data_onto_desc,
		  "the data block and the descriptor block overlap", },
		{ "id in the header", move_id_onto_header, "the id and the header overlap", },
		{ "data not aligned", misalign_data, "not a multiple of 8", },
		{ "value not aligned", misalign_value, "pages: offset 12", },
		{ "empty id", clear_id, "the id is empty", },
		{ "id without an end", unterminate_id, "the id is", },
		{ "escape sequence in the id", put_escape_into_id, "the id is", },
		{ "empty name", clear_name, "name of statistic 2", },
		{ "name without an end", unterminate_name, "name of statistic 2", },
		{ "escape sequence in a name", put_escape_into_name, "name of statistic 2", },
		{ "high byte in a name", put_high_byte_into_name, "name of statistic 2", },
		{ "blank in a name", put_blank_into_name, "name of statistic 2", },
		{ "statistic without values", clear_size, "wait_hist: no value", },
		{ "scalar of two values", grow_scalar, "pages: a scalar of 2 values", },
		{ "linear histogram without bucket size", clear_bucket_size,
		  "size_hist: a linear histogram", },
		{ "value far away", grow_offset, "pages: ends at 4294967296", },
	};
	struct statsfile_error error;
	struct statsfile file;
	struct image image;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		image = build();
		cases[i].change(&image);
		error.text[0] = '\0';
		ret = open_image(&image, &file, &error);
		check(ret == -EINVAL && strstr(error.text, cases[i].error),
		      "refused: %s (%s)", cases[i].name, error.text);
		if (!ret)
			statsfile_close(&file);
		image_free(&image);
	}
}

/* A file that ends anywhere before the data is refused, and later the data is missing. */
static void test_truncated(void)
{
	struct image image = build(), part;
	uint64_t values[38];
	struct statsfile_error error;
	struct statsfile file;
	bool refused = true, missing = true;
	uint32_t data = image_header(&image)->data_offset;
	size_t end = image_header(&image)->desc_offset + 4 * (16 + IMAGE_NAME_SIZE);

	for (part.size = 0; part.size < image.size; part.size++) {
		/* A block of exactly this size: the sanitizer sees what is read beyond. */
		part.bytes = malloc(part.size);
		memcpy(part.bytes, image.bytes, part.size);
		if (part.size < end) {
			refused &= open_image(&part, &file, &error) == -EINVAL;
		} else if (part.size < end + 8 || part.size > data - 8) {
			missing &= !open_image(&part, &file, &error) &&
				   statsfile_read(&file, values, &error) == -EINVAL;
			statsfile_close(&file);
		}
		free(part.bytes);
	}
	check(refused, "truncated before the end of the descriptors: refused");
	check(missing, "truncated in or before the data: the read fails");
	image_free(&image);
}

/* Always the same sequence: a failure can be repeated. */
static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void test_random_damage(void)
{
	struct image good = build(), image = build();
	size_t used = image_header(&good)->desc_offset + 4 * (16 + IMAGE_NAME_SIZE);
	unsigned int round, i, accepted = 0;
	struct statsfile_error error;
	struct statsfile file;
	uint32_t state = 1;
	uint64_t *values;

	for (round = 0; round < 20000; round++) {
		memcpy(image.bytes, good.bytes, good.size);
		for (i = next_random(&state) % 4 + 1; i; i--)
			image.bytes[next_random(&state) % used] = next_random(&state);
		if (open_image(&image, &file, &error))
			continue;
		values = xcalloc(file.schema->num_values, sizeof(*values));
		accepted += !statsfile_read(&file, values, &error);
		free(values);
		statsfile_close(&file);
	}
	check(accepted && accepted < round, "random damage: %u of %u files readable, no crash",
	      accepted, round);
	image_free(&good);
	image_free(&image);
}

int main(void)
{
	test_memory();
	test_fd();
	test_sharing();
	test_tolerance();
	test_malformed();
	test_truncated();
	test_random_damage();
	return tap_end();
}
