// SPDX-License-Identifier: GPL-2.0
/*
 * Builds statistics files in memory, as a kernel with the series lays them out:
 * the data block starts on a page of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "image.h"

#define PAGE 4096
#define STRIDE (sizeof(struct kvm_stats_desc) + IMAGE_NAME_SIZE)

struct kvm_stats_header *image_header(const struct image *image)
{
	return (struct kvm_stats_header *)image->bytes;
}

char *image_id(const struct image *image)
{
	return (char *)image->bytes + image_header(image)->id_offset;
}

struct kvm_stats_desc *image_desc(const struct image *image, unsigned int index)
{
	return (struct kvm_stats_desc *)(image->bytes + image_header(image)->desc_offset +
					 index * STRIDE);
}

uint64_t *image_values(const struct image *image)
{
	return (uint64_t *)(image->bytes + image_header(image)->data_offset);
}

static unsigned int num_values(const struct image_stat *stat)
{
	return stat->size ? stat->size : 1;
}

struct image image_build(const char *id, const struct image_stat *stats)
{
	struct kvm_stats_header header = {
		.name_size = IMAGE_NAME_SIZE,
		.id_offset = sizeof(header),
		.desc_offset = sizeof(header) + IMAGE_NAME_SIZE,
	};
	const struct image_stat *stat;
	struct kvm_stats_desc *desc;
	struct image image;
	uint32_t offset = 0;

	for (stat = stats; stat->name; stat++) {
		header.num_desc++;
		offset += num_values(stat) * sizeof(uint64_t);
	}
	header.data_offset = header.desc_offset + header.num_desc * STRIDE;
	header.data_offset = (header.data_offset + PAGE - 1) / PAGE * PAGE;

	image.size = header.data_offset + offset;
	image.bytes = xcalloc(1, image.size);
	memcpy(image.bytes, &header, sizeof(header));
	snprintf(image_id(&image), IMAGE_NAME_SIZE, "%s", id);
	offset = 0;
	for (stat = stats; stat->name; stat++) {
		desc = image_desc(&image, stat - stats);
		*desc = (struct kvm_stats_desc) {
			.flags = stat->flags,
			.exponent = stat->exponent,
			.size = num_values(stat),
			.offset = offset,
			.bucket_size = stat->bucket_size,
		};
		snprintf(desc->name, IMAGE_NAME_SIZE, "%s", stat->name);
		offset += num_values(stat) * sizeof(uint64_t);
	}
	return image;
}

void image_free(struct image *image)
{
	free(image->bytes);
	*image = (struct image) {};
}

struct statsfile_source image_source(const struct image *image)
{
	return (struct statsfile_source) {
		.fd = -1,
		.memory = image->bytes,
		.size = image->size,
	};
}

struct statsfile image_open(const struct image *image)
{
	struct statsfile_source source = image_source(image);
	struct statsfile_error error;
	struct statsfile file;

	if (statsfile_open(&file, &source, NULL, &error)) {
		printf("Bail out! a well-formed file is refused: %s\n", error.text);
		exit(1);
	}
	return file;
}
