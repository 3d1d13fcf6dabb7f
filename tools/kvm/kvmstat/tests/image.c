// SPDX-License-Identifier: GPL-2.0
/*
 * Builds statistics files in memory with the layout of the kernel: the data block begins a page.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image.h"
#include "util/util.h"

#define STRIDE (sizeof(struct kvm_stats_desc) + IMAGE_NAME_SIZE)
#define VALUE_NAME_SIZE (sizeof(struct kvm_stats_value_name) + IMAGE_NAME_SIZE)

/* The page size of this machine, so that it can map the image. */
static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t size)
{
	return (size + page_size() - 1) / page_size() * page_size();
}

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

struct kvm_stats_ext *image_ext(const struct image *image)
{
	return (struct kvm_stats_ext *)(image_id(image) + IMAGE_NAME_SIZE);
}

struct kvm_stats_desc *image_vcpu_desc(const struct image *image, unsigned int index)
{
	return (struct kvm_stats_desc *)(image->bytes + image_ext(image)->vcpu_desc_offset +
					 index * STRIDE);
}

struct kvm_stats_value_name *image_value_name(const struct image *image, unsigned int index)
{
	return (struct kvm_stats_value_name *)(image->bytes + image_ext(image)->value_name_offset +
					       index * VALUE_NAME_SIZE);
}

struct kvm_stats_value_name *image_vcpu_value_name(const struct image *image, unsigned int index)
{
	return (struct kvm_stats_value_name *)(image->bytes +
					       image_ext(image)->vcpu_value_name_offset +
					       index * VALUE_NAME_SIZE);
}

uint32_t *image_vcpu_ids(const struct image *image)
{
	return (uint32_t *)(image->bytes + image_ext(image)->vcpu_id_offset);
}

uint64_t *image_vcpu_values(const struct image *image, unsigned int window)
{
	const struct kvm_stats_ext *ext = image_ext(image);

	return (uint64_t *)(image->bytes + ext->vcpu_mmap_offset +
			    (size_t)window * ext->vcpu_stride);
}

static unsigned int num_values(const struct image_stat *stat)
{
	return stat->size ? stat->size : 1;
}

static unsigned int count_stats(const struct image_stat *stats)
{
	unsigned int count = 0;

	while (stats[count].name)
		count++;
	return count;
}

static uint32_t bytes_of_values(const struct image_stat *stats)
{
	uint32_t bytes = 0;

	for (; stats->name; stats++)
		bytes += num_values(stats) * sizeof(uint64_t);
	return bytes;
}

static void describe(struct kvm_stats_desc *desc, const struct image_stat *stats)
{
	uint32_t offset = 0;

	for (; stats->name; stats++) {
		*desc = (struct kvm_stats_desc) {
			.flags = stats->flags,
			.exponent = stats->exponent,
			.size = num_values(stats),
			.offset = offset,
			.bucket_size = stats->bucket_size,
		};
		snprintf(desc->name, IMAGE_NAME_SIZE, "%s", stats->name);
		offset += num_values(stats) * sizeof(uint64_t);
		desc = (struct kvm_stats_desc *)((char *)desc + STRIDE);
	}
}

static uint32_t count_value_names(const struct image_stat *stats)
{
	const char * const *name;
	uint32_t count = 0;

	for (; stats->name; stats++) {
		for (name = stats->value_names; name && *name; name++)
			count += !!**name;
	}
	return count;
}

static void name_values(struct kvm_stats_value_name *to, const struct image_stat *stats)
{
	const struct image_stat *stat;
	const char * const *name;

	for (stat = stats; stat->name; stat++) {
		for (name = stat->value_names; name && *name; name++) {
			if (!**name)
				continue;
			to->desc = stat - stats;
			to->value = name - stat->value_names;
			snprintf(to->name, IMAGE_NAME_SIZE, "%s", *name);
			to = (struct kvm_stats_value_name *)((char *)to + VALUE_NAME_SIZE);
		}
	}
}

/* Without @ext the image ends with its data. */
static struct image build(const char *id, const struct image_stat *stats,
			  const struct kvm_stats_header *header, const struct kvm_stats_ext *ext)
{
	struct image image = {
		.size = ext && ext->vcpu_max ?
			ext->vcpu_mmap_offset + (size_t)ext->vcpu_max * ext->vcpu_stride :
			header->data_offset + bytes_of_values(stats),
	};

	image.bytes = xcalloc(1, image.size);
	*image_header(&image) = *header;
	snprintf(image_id(&image), IMAGE_NAME_SIZE, "%s", id);
	describe(image_desc(&image, 0), stats);
	if (!ext)
		return image;
	*image_ext(&image) = *ext;
	name_values(image_value_name(&image, 0), stats);
	return image;
}

struct image image_build(const char *id, const struct image_stat *stats)
{
	struct kvm_stats_header header = {
		.name_size = IMAGE_NAME_SIZE,
		.num_desc = count_stats(stats),
		.id_offset = sizeof(header),
		.desc_offset = sizeof(header) + IMAGE_NAME_SIZE,
	};

	header.data_offset = whole_pages(header.desc_offset + header.num_desc * STRIDE);
	return build(id, stats, &header, NULL);
}

struct image image_build_ext(const char *id, const struct image_stat *stats,
			     const struct image_stat *vcpu_stats, unsigned int vcpu_max)
{
	struct kvm_stats_ext ext = {
		.size = sizeof(ext),
		.magic = KVM_STATS_EXT_MAGIC,
		.data_size = bytes_of_values(stats),
		.value_name_num = count_value_names(stats),
		.value_name_size = VALUE_NAME_SIZE,
	};
	struct kvm_stats_header header = {
		.flags = KVM_STATS_HEADER_EXT,
		.name_size = IMAGE_NAME_SIZE,
		.num_desc = count_stats(stats),
		.id_offset = sizeof(header),
		.desc_offset = sizeof(header) + IMAGE_NAME_SIZE + sizeof(ext),
	};
	struct image image;
	size_t end;

	ext.value_name_offset = header.desc_offset + header.num_desc * STRIDE;
	end = ext.value_name_offset + ext.value_name_num * VALUE_NAME_SIZE;
	if (!vcpu_stats) {
		header.data_offset = whole_pages(end);
		return build(id, stats, &header, &ext);
	}
	ext.vcpu_stride = page_size();
	ext.vcpu_max = vcpu_max;
	ext.vcpu_num_desc = count_stats(vcpu_stats);
	ext.vcpu_desc_offset = end;
	ext.vcpu_data_size = bytes_of_values(vcpu_stats);
	ext.vcpu_value_name_offset = ext.vcpu_desc_offset + ext.vcpu_num_desc * STRIDE;
	ext.vcpu_value_name_num = count_value_names(vcpu_stats);
	ext.vcpu_id_offset = ext.vcpu_value_name_offset +
			     ext.vcpu_value_name_num * VALUE_NAME_SIZE;
	header.data_offset = whole_pages(ext.vcpu_id_offset + vcpu_max * sizeof(uint32_t));
	ext.vcpu_mmap_offset = header.data_offset + whole_pages(ext.data_size);
	image = build(id, stats, &header, &ext);
	describe(image_vcpu_desc(&image, 0), vcpu_stats);
	name_values(image_vcpu_value_name(&image, 0), vcpu_stats);
	return image;
}

void image_free(struct image *image)
{
	if (image->mapped)
		munmap(image->bytes, image->size);
	else
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

void image_set_windows(const struct image *image, int fd, unsigned int vcpus)
{
	const struct kvm_stats_ext *ext = image_ext(image);

	if (ftruncate(fd, ext->vcpu_mmap_offset + (off_t)vcpus * ext->vcpu_stride))
		abort();
}

struct statsfile_source image_to_file(struct image *image, unsigned int vcpus,
				      enum statsfile_access access)
{
	struct statsfile_source source = {
		.fd = memfd_create("stats", MFD_CLOEXEC),
		.access = access,
	};
	unsigned char *bytes;

	if (source.fd < 0 || write(source.fd, image->bytes, image->size) != (ssize_t)image->size)
		abort();
	bytes = mmap(NULL, image->size, PROT_READ | PROT_WRITE, MAP_SHARED, source.fd, 0);
	if (bytes == MAP_FAILED)
		abort();
	free(image->bytes);
	image->bytes = bytes;
	image->mapped = true;
	if (image_header(image)->flags & KVM_STATS_HEADER_EXT && image_ext(image)->vcpu_max)
		image_set_windows(image, source.fd, vcpus);
	return source;
}

struct statsfile image_open_source(const struct statsfile_source *source)
{
	struct statsfile_error error;
	struct statsfile file;

	if (statsfile_open(&file, source, NULL, &error)) {
		printf("Bail out! a well-formed file is refused: %s\n", error.text);
		exit(1);
	}
	return file;
}

struct statsfile image_open(const struct image *image)
{
	struct statsfile_source source = image_source(image);

	return image_open_source(&source);
}
