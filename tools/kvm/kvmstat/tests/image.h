/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Builds statistics files in memory, well-formed ones: tests then break them.
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
	const char * const *value_names;	/* of 0, 1, ...; "" is none; ends with NULL */
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
/* Behind them the names of their values: "" is none. */
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
 * @stats ends with one without a name. As kernels have it that know no extension block,
 * without names of values.
 */
struct image image_build(const char *id, const struct image_stat *stats);

/*
 * With an extension block: of a VM that shows its vCPUs, or of a vCPU if
 * @vcpu_stats is NULL. The windows are behind what read() would see, all of them.
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
/* Names for the VM or vCPU that has the file, and for vCPUs that the VM's file shows. */
struct kvm_stats_value_name *image_value_name(const struct image *image, unsigned int index);
struct kvm_stats_value_name *image_vcpu_value_name(const struct image *image, unsigned int index);
uint32_t *image_vcpu_ids(const struct image *image);
uint64_t *image_vcpu_values(const struct image *image, unsigned int window);

struct statsfile_source image_source(const struct image *image);

/*
 * The source is then a file, which the image is a view of: what is written there
 * is read here. It has windows for @vcpus, and SIGBUS beyond.
 */
struct statsfile_source image_to_file(struct image *image, unsigned int vcpus,
				      enum statsfile_access access);

/* From now on there are that many. */
void image_set_windows(const struct image *image, int fd, unsigned int vcpus);

/* Opens it; ends the test if that fails. */
struct statsfile image_open(const struct image *image);
struct statsfile image_open_source(const struct statsfile_source *source);

#endif /* KVMSTAT_TESTS_IMAGE_H */
