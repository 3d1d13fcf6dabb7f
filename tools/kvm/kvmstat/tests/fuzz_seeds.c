// SPDX-License-Identifier: GPL-2.0
/*
 * Writes well-formed statistics files, recordings and identities into three directories. The
 * fuzzers start from them, so that they need not invent the formats.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image.h"
#include "sources/recording_write.h"
#include "util/util.h"

static const struct image_stat vm_stats[] = {
	{ .name = "remote_tlb_flush", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	STAT_LEVEL("online_vcpus"),
	{ .name = "max_mmu_page_hash_collisions", .flags = KVM_STATS_TYPE_PEAK, },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	STAT_BOOL("guest_mode"),
	STAT_HIST_NS("halt_wait_hist", 32),
	{
		.name = "size_hist",
		.flags = KVM_STATS_TYPE_LINEAR_HIST | KVM_STATS_UNIT_BYTES | KVM_STATS_BASE_POW2,
		.size = 4,
		.bucket_size = 64,
	},
	STAT_REASONS("exit_reasons", 3, "io", "", "other"),
	STAT_STATE("state", "guest", "host"),
	STAT_REASON_NS("exit_reason_ns", 3, "io", "", "other"),
	{ .name = "levels", .flags = KVM_STATS_TYPE_PEAK, .size = 2, },
	{},
};

static const struct image_stat no_stats[] = { {}, };

static const char *directory;

static void write_file(const char *kind, const char *name, const void *bytes, size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, kind);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", directory, kind, name);
	file = fopen(path, "w");
	if (!file || fwrite(bytes, size, 1, file) != 1 || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static void write_seed(const char *name, struct image *image)
{
	write_file("statsfile", name, image->bytes, image->size);
	image_free(image);
}

/* Without gaps between blocks: smaller, and every change by the fuzzer has an effect. */
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

/*
 * Samples 0 to 3 of three VMs: the first gets a second vCPU, the second has no statistics, the
 * third starts in sample 1. The first and the third end in sample 3.
 */
static struct snapshot take_snapshot(struct statsfile_schema *vm, struct statsfile_schema *vcpu,
				     unsigned int at)
{
	struct snapshot snapshot = { .real_ns = 1000 + at, .monotonic_ns = 1 + at, };
	struct recorded_vm *recorded;
	size_t i;

	snapshot.vm = xcalloc(3, sizeof(*snapshot.vm));
	for (; snapshot.num_vms < (at ? 3 : 2); snapshot.num_vms++) {
		recorded = &snapshot.vm[snapshot.num_vms];
		recorded->serial = 1 + snapshot.num_vms;
		recorded->pid = 10 + snapshot.num_vms;
		strcpy(recorded->name, at > 1 ? "name" : "old name");
		snprintf(recorded->id, sizeof(recorded->id), "kvm-%d", recorded->pid);
		if (snapshot.num_vms == 1) {
			recorded->num_vcpus_counted = at;
			continue;
		}
		recorded->ended = at == 3;
		recorded->schema = statsfile_schema_get(vm);
		recorded->num_vcpus = at > 1 ? 2 : 1;
		recorded->vcpu_schema = statsfile_schema_get(vcpu);
		recorded->vcpu = xcalloc(recorded->num_vcpus, sizeof(*recorded->vcpu));
		recorded->vcpu[recorded->num_vcpus - 1] = at;
		recorded->values = xcalloc(recorded_vm_num_values(recorded),
					   sizeof(*recorded->values));
		for (i = 0; i < recorded_vm_num_values(recorded); i++)
			recorded->values[i] = i % 3 * at << i;
	}
	return snapshot;
}

static void write_recordings(void)
{
	static const char * const names[] = { "one", "two", "three", "four", };
	const struct recording_host host = {
		.version = "text", .name = "text", .release = "text", .machine = "text",
		.interval_ns = NSEC_PER_SEC,
	};
	struct image vm = image_build("-", vm_stats);
	struct image vcpu = image_build_ext("-", vcpu_stats, NULL, 0);
	struct statsfile vm_file = image_open(&vm), vcpu_file = image_open(&vcpu);
	/* A fuzzer cannot change compressed data in a useful way. */
	struct recording_writer writer = { .is_plain = true, };
	struct snapshot snapshot;
	size_t i;

	recording_begin(&writer, &host);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snapshot = take_snapshot(vm_file.schema, vcpu_file.schema, i);
		recording_add(&writer, &snapshot);
		write_file("recording", names[i], writer.block.data, writer.block.size);
	}
	recording_writer_free(&writer);
	statsfile_close(&vm_file);
	statsfile_close(&vcpu_file);
	image_free(&vm);
	image_free(&vcpu);
}

/* Each has a command line, cgroups, a program and machined's file: see fuzz_identity.c. */
static void write_identities(void)
{
#define SEED(name, text) { name, text, sizeof(text) - 1, }
	static const struct {
		const char *name, *text;
		size_t size;
	} seeds[] = {
		SEED("libvirt", "/usr/bin/qemu-system-x86_64\0-name\0guest=web,debug-threads=on\0"
		     "-uuid\0001234567-89ab-cdef-0123-456789abcdef\0-smbios\0"
		     "type=1,product=OpenStack Nova,uuid=01234567-89AB-cdef-0123-456789abcdef\0"
		     "\3770::/machine.slice/machine-qemu\\x2d1\\x2dweb.scope/libvirt\n"
		     "\377qemu-system-x86\n"
		     "\377NAME=qemu-1-web\nID=0123456789abcdef0123456789abcdef\n"),
		SEED("partition", "qemu\0-name\0web\0"
		     "\3771:cpu:/machine/a.partition/qemu-1-web.libvirt-qemu/emulator\n"
		     "\377qemu\n\377"),
		SEED("kubevirt", "/usr/bin/virt-launcher-monitor\0--name=default_vmi,guest=a_b\0"
		     "kubevirt\0"
		     "\3770::/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice\n"
		     "\377qemu-kvm\n\377"),
		SEED("firecracker", "/firecracker\0--id\0vm-1\0--api-sock\0/run/vm-1.socket\0"
		     "\3770::/../firecracker/vm-1\n\377firecracker\n\377"),
		SEED("cloud-hypervisor", "cloud-hypervisor\0--api-socket\0path=/run/web/api.sock\0"
		     "--platform\0num_pci=1,uuid=01234567-89ab-cdef-0123-456789abcdef\0"
		     "\3770::/user.slice\n\377cloud-hyperviso\n\377"),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(seeds); i++)
		write_file("identity", seeds[i].name, seeds[i].text, seeds[i].size);
#undef SEED
}

int main(int argc, char **argv)
{
	struct image image;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	directory = argv[1];
	write_recordings();
	write_identities();
	image = image_build("kvm-1/vcpu-0", vcpu_stats);
	write_seed("vcpu", &image);
	image = image_build("kvm-1", no_stats);
	write_seed("empty", &image);
	image = build_dense();
	write_seed("dense", &image);
	image = image_build_ext("kvm-1/vcpu-0", vcpu_stats, NULL, 0);
	write_seed("ext-vcpu", &image);
	image = build_vm(0);
	write_seed("ext-vm", &image);
	image = build_vm(2);
	write_seed("ext-vm-vcpus", &image);
	image = build_vm(2);
	image_ext(&image)->size = offsetof(struct kvm_stats_ext, vcpu_stride);
	write_seed("ext-short", &image);
	image = build_vm(1);
	image_ext(&image)->size = offsetof(struct kvm_stats_ext, value_name_offset);
	write_seed("ext-without-names", &image);
	return 0;
}
