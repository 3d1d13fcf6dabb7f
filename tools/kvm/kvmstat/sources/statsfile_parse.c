// SPDX-License-Identifier: GPL-2.0
/*
 * Parses the header and the extension block of a KVM statistics file, and places its blocks. Sizes
 * and offsets have 32 bits and are added in 64 bits, so that no sum wraps before it is checked. The
 * only offset with 64 bits is checked first.
 */
#include <errno.h>
#include <stdlib.h>

#include "sources/statsfile_parse.h"

/* Every page size is a multiple of this. */
#define SMALLEST_PAGE 4096

static int read_id(struct statsfile *file, const struct statsfile_block *block,
		   struct statsfile_error *error)
{
	int ret;

	file->id = malloc(block->size);
	if (!file->id)
		return statsfile_fail(error, -ENOMEM, "out of memory");
	ret = statsfile_read_block(&file->source, block, file->id, error);
	if (ret)
		return ret;
	if (!statsfile_is_name(file->id, block->size))
		return malformed(error, "the id is empty, not terminated or not printable");
	return 0;
}

/* Clears fields that the block does not have or cuts off, and fields that need those. */
static void forget_missing(struct kvm_stats_ext *ext)
{
	if (ext->size < offsetof(struct kvm_stats_ext, value_name_offset))
		*ext = (struct kvm_stats_ext) { .size = ext->size, .data_size = ext->data_size, };
	if (ext->size < sizeof(*ext)) {
		ext->value_name_num = 0;
		ext->vcpu_value_name_num = 0;
	}
}

bool statsfile_has_data_size(const struct kvm_stats_ext *ext)
{
	return ext->size >= offsetof(struct kvm_stats_ext, vcpu_stride);
}

static int check_data_size(const struct statsfile_block *block, uint32_t size,
			   const struct statsfile_schema *schema, struct statsfile_error *error)
{
	if (size > STATSFILE_MAX_DATA)
		return malformed(error, "a %s of %u bytes, %u are possible", block->name, size,
				 STATSFILE_MAX_DATA);
	if (size < block->size || size % VALUE_SIZE)
		return malformed(error, "a %s of %u bytes for %u values", block->name, size,
				 schema->num_values);
	return 0;
}

static int check_paged(const char *name, uint64_t number, unsigned long page,
		       struct statsfile_error *error)
{
	if (number % page)
		return malformed(error, "the %s is %llu, not a multiple of the page size (%lu)",
				 name, (unsigned long long)number, page);
	return 0;
}

int statsfile_check_pages(const struct statsfile_layout *layout, unsigned long page,
			  struct statsfile_error *error)
{
	const struct kvm_stats_ext *ext = &layout->ext;
	int ret;

	ret = check_paged("offset of the data block", layout->header.data_offset, page, error);
	if (ret || !ext->vcpu_max)
		return ret;
	ret = check_paged("offset of the vCPU windows", ext->vcpu_mmap_offset, page, error);
	if (ret)
		return ret;
	return check_paged("distance of the vCPU windows", ext->vcpu_stride, page, error);
}

/* Call it before computing the sizes of the vCPU blocks. */
static int check_vcpu_limits(const struct kvm_stats_ext *ext, struct statsfile_error *error)
{
	if (ext->vcpu_max > STATSFILE_MAX_VCPUS)
		return malformed(error, "windows of %u vCPUs, %u are possible", ext->vcpu_max,
				 STATSFILE_MAX_VCPUS);
	if (ext->vcpu_num_desc > STATSFILE_MAX_DESC)
		return malformed(error, "%u vCPU statistics, %u are possible", ext->vcpu_num_desc,
				 STATSFILE_MAX_DESC);
	if (ext->vcpu_mmap_offset > INT64_MAX - ext->vcpu_max * (uint64_t)ext->vcpu_stride)
		return malformed(error, "the vCPU windows end beyond the largest size of a file");
	return 0;
}

static int find_online_vcpus(struct statsfile *file, struct statsfile_error *error)
{
	const struct statsfile_desc *desc = statsfile_find(file->schema, "online_vcpus");

	if (!desc || desc->size != 1)
		return malformed(error, "windows of vCPUs, but no statistic online_vcpus");
	file->online_vcpus = desc->first;
	return 0;
}

enum {
	HEADER, ID, EXT, DESCRIPTORS, VALUE_NAMES, DATA,
	VCPU_DESCRIPTORS, VCPU_VALUE_NAMES, VCPU_IDS, VCPU_WINDOWS, VCPU_DATA,
};

/*
 * Reads the extension block. Fields beyond its end are zero. Another kernel may give the flag
 * another meaning: without the magic number there is no block.
 */
static int read_ext(const struct statsfile_source *source, struct statsfile_block *block,
		    struct kvm_stats_ext *ext, struct statsfile_error *error)
{
	uint32_t size;
	int ret;

	block->size = sizeof(size);
	ret = statsfile_read_block(source, block, &size, error);
	if (ret)
		return ret;
	if (size < sizeof(size))
		return malformed(error, "the extension block has %u bytes", size);

	block->size = size < sizeof(*ext) ? size : sizeof(*ext);
	ret = statsfile_read_block(source, block, ext, error);
	if (ret)
		return ret;
	if (size < offsetof(struct kvm_stats_ext, data_size) ||
	    ext->magic != KVM_STATS_EXT_MAGIC) {
		*ext = (struct kvm_stats_ext) {};
		block->size = 0;
		return 0;
	}
	block->size = size;
	forget_missing(ext);
	return 0;
}

static int check_blocks(const struct statsfile_block *blocks, struct statsfile_error *error)
{
	const struct statsfile_block *a, *b;

	/* Skip the last one: it is not in the file, but at the start of each window. */
	for (a = blocks; a < blocks + VCPU_DATA; a++) {
		if (a->start % VALUE_SIZE)
			return malformed(error, "the %s is at %llu, not a multiple of 8", a->name,
					 (unsigned long long)a->start);
		for (b = blocks; b < a; b++) {
			if (a->size && b->size && a->start < b->start + b->size &&
			    b->start < a->start + a->size)
				return malformed(error, "the %s and the %s overlap", a->name,
						 b->name);
		}
	}
	return 0;
}

/* The part of the VM's file that shows its vCPUs. */
static int parse_vcpus(struct statsfile *file, const struct statsfile_layout *layout,
		       struct statsfile_block *block, const struct statsfile_known *known,
		       struct statsfile_error *error)
{
	const struct kvm_stats_ext *ext = &layout->ext;
	const struct statsfile_description description = {
		.desc = &block[VCPU_DESCRIPTORS],
		.value_name = &block[VCPU_VALUE_NAMES],
		.shape = {
			.name_size = layout->header.name_size,
			.num_desc = ext->vcpu_num_desc,
			.num_value_names = ext->vcpu_value_name_num,
			.value_name_size = ext->value_name_size,
		},
	};
	int ret;

	ret = check_vcpu_limits(ext, error);
	if (ret)
		return ret;
	block[VCPU_DESCRIPTORS].start = ext->vcpu_desc_offset;
	block[VCPU_VALUE_NAMES].start = ext->vcpu_value_name_offset;
	block[VCPU_IDS].start = ext->vcpu_id_offset;
	block[VCPU_IDS].size = ext->vcpu_max * sizeof(uint32_t);
	block[VCPU_WINDOWS].start = ext->vcpu_mmap_offset;
	block[VCPU_WINDOWS].size = ext->vcpu_max * (uint64_t)ext->vcpu_stride;

	ret = statsfile_schema_read(&file->vcpu_schema, &file->source, &description, known, error);
	if (ret)
		return ret;
	block[VCPU_DATA].size = file->vcpu_schema->num_values * VALUE_SIZE;
	ret = check_data_size(&block[VCPU_DATA], ext->vcpu_data_size, file->vcpu_schema, error);
	if (ret)
		return ret;
	if (ext->vcpu_stride < ext->vcpu_data_size)
		return malformed(error, "vCPU windows of %u bytes for %u bytes of data",
				 ext->vcpu_stride, ext->vcpu_data_size);
	file->vcpu_max = ext->vcpu_max;
	file->vcpu_stride = ext->vcpu_stride;
	file->vcpu_id_offset = ext->vcpu_id_offset;
	return find_online_vcpus(file, error);
}

int statsfile_parse(struct statsfile *file, struct statsfile_layout *layout,
		    const struct statsfile_known *known, struct statsfile_error *error)
{
	struct statsfile_block block[] = {
		[HEADER] = { .name = "header", .size = sizeof(layout->header), },
		[ID] = { .name = "id", },
		[EXT] = { .name = "extension block", },
		[DESCRIPTORS] = { .name = "descriptor block", },
		[VALUE_NAMES] = { .name = "block of value names", },
		[DATA] = { .name = "data block", },
		[VCPU_DESCRIPTORS] = { .name = "vCPU descriptor block", },
		[VCPU_VALUE_NAMES] = { .name = "block of the vCPUs' value names", },
		[VCPU_IDS] = { .name = "vCPU id block", },
		[VCPU_WINDOWS] = { .name = "vCPU window block", },
		[VCPU_DATA] = { .name = "vCPU data block", },
	};
	struct kvm_stats_header *header = &layout->header;
	struct kvm_stats_ext *ext = &layout->ext;
	struct statsfile_description own;
	int ret;

	ret = statsfile_read_block(&file->source, &block[HEADER], header, error);
	if (!ret)
		ret = statsfile_check_sizes(header->name_size, header->num_desc, error);
	if (ret)
		return ret;

	block[ID].start = header->id_offset;
	block[ID].size = header->name_size;
	block[DATA].start = header->data_offset;
	file->data_offset = header->data_offset;

	ret = read_id(file, &block[ID], error);
	if (!ret && header->flags & KVM_STATS_HEADER_EXT) {
		block[EXT].start = block[ID].start + block[ID].size;
		ret = read_ext(&file->source, &block[EXT], ext, error);
	}
	if (ret)
		return ret;
	block[DESCRIPTORS].start = header->desc_offset;
	block[VALUE_NAMES].start = ext->value_name_offset;
	own = (struct statsfile_description) {
		.desc = &block[DESCRIPTORS],
		.value_name = &block[VALUE_NAMES],
		.shape = {
			.name_size = header->name_size,
			.num_desc = header->num_desc,
			.num_value_names = ext->value_name_num,
			.value_name_size = ext->value_name_size,
		},
	};
	ret = statsfile_schema_read(&file->schema, &file->source, &own, known, error);
	if (ret)
		return ret;
	block[DATA].size = file->schema->num_values * VALUE_SIZE;
	if (statsfile_has_data_size(ext)) {
		ret = check_data_size(&block[DATA], ext->data_size, file->schema, error);
		block[DATA].size = ext->data_size;
		if (!ret && ext->vcpu_max)
			ret = parse_vcpus(file, layout, block, known, error);
		if (!ret)
			ret = statsfile_check_pages(layout, SMALLEST_PAGE, error);
	}
	return ret ?: check_blocks(block, error);
}
