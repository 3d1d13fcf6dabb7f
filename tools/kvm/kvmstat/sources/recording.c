// SPDX-License-Identifier: GPL-2.0
/* Checksums of recordings, and snapshots. */
#include <stdlib.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "sources/recording.h"

uint32_t recording_checksum(const void *data, size_t size)
{
#ifdef HAVE_ZLIB
	return crc32(0, data, size);
#else
	const unsigned char *byte = data;
	uint32_t sum = ~0u;
	int bit;

	for (; size--; byte++) {
		sum ^= *byte;
		for (bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
	}
	return ~sum;
#endif
}

uint64_t recorded_vm_num_values(const struct recorded_vm *vm)
{
	return (vm->schema ? vm->schema->num_values : 0) +
	       (vm->vcpu_schema ? (uint64_t)vm->num_vcpus * vm->vcpu_schema->num_values : 0);
}

static int compare_serials(const void *serial, const void *vm)
{
	uint64_t left = *(const uint64_t *)serial, right = ((const struct recorded_vm *)vm)->serial;

	return (left > right) - (left < right);
}

const struct recorded_vm *snapshot_find(const struct snapshot *snapshot, uint64_t serial)
{
	if (!snapshot->num_vms)
		return NULL;
	return bsearch(&serial, snapshot->vm, snapshot->num_vms, sizeof(*snapshot->vm),
		       compare_serials);
}

void snapshot_free(struct snapshot *snapshot)
{
	struct recorded_vm *vm;
	size_t i;

	for (i = 0; i < snapshot->num_vms; i++) {
		vm = &snapshot->vm[i];
		statsfile_schema_put(vm->schema);
		statsfile_schema_put(vm->vcpu_schema);
		free(vm->vcpu);
		free(vm->values);
		free(vm->threads.thread);
		free(vm->number);
	}
	free(snapshot->vm);
	*snapshot = (struct snapshot) {};
}
