// SPDX-License-Identifier: GPL-2.0
/*
 * Writes well-formed statistics files into a directory: what the fuzzer starts from,
 * so that it need not invent the format.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

static const struct image_stat vm_stats[] = {
	{ .name = "remote_tlb_flush", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{ .name = "online_vcpus", .flags = KVM_STATS_TYPE_INSTANT, },
	{ .name = "max_mmu_page_hash_collisions", .flags = KVM_STATS_TYPE_PEAK, },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{ .name = "guest_mode", .flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_BOOLEAN, },
	{
		.name = "halt_wait_hist",
		.flags = KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS,
		.exponent = -9,
		.size = 32,
	}, {
		.name = "size_hist",
		.flags = KVM_STATS_TYPE_LINEAR_HIST | KVM_STATS_UNIT_BYTES | KVM_STATS_BASE_POW2,
		.size = 4,
		.bucket_size = 64,
	},
	{},
};

static const struct image_stat no_stats[] = { {}, };

static void write_seed(const char *directory, const char *name, struct image *image)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file || fwrite(image->bytes, image->size, 1, file) != 1 || fclose(file)) {
		perror(path);
		exit(1);
	}
	image_free(image);
}

/* Right behind each other: smaller, and what the fuzzer changes is all of use. */
static struct image build_dense(void)
{
	struct image image = image_build("kvm-1", vm_stats);
	struct kvm_stats_header *header = image_header(&image);
	size_t end = header->desc_offset +
		     header->num_desc * (sizeof(struct kvm_stats_desc) + header->name_size);
	size_t data = image.size - header->data_offset;

	memmove(image.bytes + end, image.bytes + header->data_offset, data);
	header->data_offset = end;
	image.size = end + data;
	return image;
}

static struct image build_vm(unsigned int online_vcpus)
{
	struct image image = image_build_ext("kvm-1", vm_stats, vcpu_stats, 2);
	unsigned int i;

	image_values(&image)[1] = online_vcpus;
	for (i = 0; i < online_vcpus; i++) {
		image_vcpu_ids(&image)[i] = i;
		image_vcpu_values(&image, i)[0] = i + 1;
	}
	return image;
}

int main(int argc, char **argv)
{
	struct image image;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	image = image_build("kvm-1/vcpu-0", vcpu_stats);
	write_seed(argv[1], "vcpu", &image);
	image = image_build("kvm-1", no_stats);
	write_seed(argv[1], "empty", &image);
	image = build_dense();
	write_seed(argv[1], "dense", &image);
	image = image_build_ext("kvm-1/vcpu-0", vcpu_stats, NULL, 0);
	write_seed(argv[1], "ext-vcpu", &image);
	image = build_vm(0);
	write_seed(argv[1], "ext-vm", &image);
	image = build_vm(2);
	write_seed(argv[1], "ext-vm-vcpus", &image);
	image = build_vm(2);
	image_ext(&image)->size = offsetof(struct kvm_stats_ext, vcpu_mmap_offset);
	write_seed(argv[1], "ext-short", &image);
	return 0;
}
