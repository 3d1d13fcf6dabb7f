/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Builds statistics files in memory, well-formed ones: tests then break them.
 */
#ifndef KVMSTAT_TESTS_IMAGE_H
#define KVMSTAT_TESTS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "../statsfile.h"

#define IMAGE_NAME_SIZE 48

struct image_stat {
	const char *name;
	uint32_t flags;
	int16_t exponent;
	uint16_t size;		/* 0 means 1 */
	uint32_t bucket_size;
};

struct image {
	unsigned char *bytes;
	size_t size;
};

/* @stats ends with one without a name. */
struct image image_build(const char *id, const struct image_stat *stats);
void image_free(struct image *image);

struct kvm_stats_header *image_header(const struct image *image);
char *image_id(const struct image *image);
struct kvm_stats_desc *image_desc(const struct image *image, unsigned int index);
uint64_t *image_values(const struct image *image);

struct statsfile_source image_source(const struct image *image);

/* Opens it; ends the test if that fails. */
struct statsfile image_open(const struct image *image);

#endif /* KVMSTAT_TESTS_IMAGE_H */
