/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Builds well-formed statistics files in memory. Tests may then break them.
 */
#ifndef KVMSTAT_TESTS_IMAGE_H
#define KVMSTAT_TESTS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sources/statsfile.h"

#define IMAGE_NAME_SIZE 48

struct image_stat {
	const char *name;
	uint32_t flags;
	int16_t exponent;
	uint16_t size;		/* 0 means 1 */
	uint32_t bucket_size;
	const char * const *value_names;	/* of 0, 1, ...; "" means no name; ends with NULL */
};

/* Statistics of the usual kinds, as kernels describe them. */
#define STAT_LEVEL(text) { .name = text, .flags = KVM_STATS_TYPE_INSTANT, }
#define STAT_BOOL(text) \
	{ .name = text, .flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_BOOLEAN, }
#define STAT_NS(text) { .name = text, .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, }
#define STAT_SINCE(text) {						\
		.name = text,						\
		.flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_SECONDS, \
		.exponent = -9,						\
	}
#define STAT_HIST_NS(text, buckets) {					\
		.name = text,						\
		.flags = KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS, \
		.exponent = -9,						\
		.size = buckets,					\
	}
/* With names of values: "" means no name. */
#define STAT_STATE(text, ...) {						\
		.name = text,						\
		.flags = KVM_STATS_TYPE_INSTANT,			\
		.value_names = (const char * const []) { __VA_ARGS__, NULL, }, \
	}
#define STAT_REASONS(text, buckets, ...) {				\
		.name = text,						\
		.flags = KVM_STATS_TYPE_LINEAR_HIST,			\
		.size = buckets,					\
		.bucket_size = 1,					\
		.value_names = (const char * const []) { __VA_ARGS__, NULL, }, \
	}
#define STAT_REASON_NS(text, buckets, ...) {				\
		.name = text,						\
		.flags = KVM_STATS_UNIT_SECONDS,			\
		.exponent = -9,						\
		.size = buckets,					\
		.value_names = (const char * const []) { __VA_ARGS__, NULL, }, \
	}

struct image {
	unsigned char *bytes;
	size_t size;
	bool mapped;		/* see image_to_file() */
};

/*
 * Builds a file without an extension block and names of values, as of Linux 5.14. A statistic
 * without a name ends @stats.
 */
struct image image_build(const char *id, const struct image_stat *stats);

/*
 * Builds a file with an extension block, of a VM that shows its vCPUs, or of a vCPU if @vcpu_stats
 * is NULL. All windows are after the part of the file that read() returns.
 */
struct image image_build_ext(const char *id, const struct image_stat *stats,
			     const struct image_stat *vcpu_stats, unsigned int vcpu_max);
void image_free(struct image *image);

struct kvm_stats_header *image_header(const struct image *image);
char *image_id(const struct image *image);
struct kvm_stats_desc *image_desc(const struct image *image, unsigned int index);
uint64_t *image_values(const struct image *image);

struct kvm_stats_ext *image_ext(const struct image *image);
struct kvm_stats_desc *image_vcpu_desc(const struct image *image, unsigned int index);
/* Names of the file's own values, and of the vCPU values that a VM's file shows. */
struct kvm_stats_value_name *image_value_name(const struct image *image, unsigned int index);
struct kvm_stats_value_name *image_vcpu_value_name(const struct image *image, unsigned int index);
uint32_t *image_vcpu_ids(const struct image *image);
uint64_t *image_vcpu_values(const struct image *image, unsigned int window);

struct statsfile_source image_source(const struct image *image);

/*
 * Puts the image into a file, and maps it: writing to the image changes the file. The file has
 * windows for @vcpus vCPUs; a mapping raises SIGBUS after these.
 */
struct statsfile_source image_to_file(struct image *image, unsigned int vcpus,
				      enum statsfile_access access);

/* Changes the number of windows. */
void image_set_windows(const struct image *image, int fd, unsigned int vcpus);

/* Open the image or source; end the test on failure. */
struct statsfile image_open(const struct image *image);
struct statsfile image_open_source(const struct statsfile_source *source);

#endif /* KVMSTAT_TESTS_IMAGE_H */
