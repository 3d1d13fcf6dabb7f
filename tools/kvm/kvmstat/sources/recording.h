/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recordings: files with samples of all VMs of a host. This part is common to writing and reading,
 * which know neither hosts nor commands.
 *
 * The file has the byte order of the machine that wrote it. It begins with a struct
 * recording_magic. Blocks follow: a struct recording_block and its content, compressed with zlib
 * unless that would make it larger. One write() adds a sample: if the writer is stopped, at worst
 * the last block is cut off. The contents are
 *
 *	RECORDING_HOST		a struct recording_host; the first block
 *	RECORDING_SCHEMA	a struct statsfile_shape, then descriptors and value names as in a
 *				statistics file. Schemas are numbered from 1
 *	RECORDING_SAMPLE	for each VM, in the order of their serials, a struct packed_vm and
 *				the arrays whose sizes it has
 *
 * Readers skip blocks of other types, and bytes after the host or a schema.
 */
#ifndef KVMSTAT_RECORDING_H
#define KVMSTAT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/proc_threads.h"
#include "sources/statsfile.h"
#include "util/text.h"

struct recording_magic {
	char text[8];
	uint32_t version;
	uint32_t checksum;
};

#define RECORDING_MAGIC "\x8bkvmrec\n"
#define RECORDING_VERSION 3

enum recording_block_type {
	RECORDING_HOST = 1,
	RECORDING_SCHEMA = 2,
	RECORDING_SAMPLE = 3,
};

struct recording_block {
	uint32_t type;
	uint32_t size;			/* of the content in the file */
	uint32_t whole_size;		/* uncompressed; if equal to size, it is not compressed */
	uint32_t content_checksum;	/* CRC-32, of the content in the file */
	uint64_t real_ns;		/* of a sample: CLOCK_REALTIME */
	uint64_t monotonic_ns;		/* and CLOCK_MONOTONIC */
	uint32_t reserved;		/* 0 */
	uint32_t checksum;		/* CRC-32, of the fields above */
};

struct recording_host {
	char version[64];
	char name[256];
	char release[256];
	char machine[256];
	uint64_t interval_ns;		/* between two samples */
	uint32_t pid;			/* the only process that was recorded; 0: all */
	uint32_t reserved;
};

/*
 * The values of the VM and of each of its vCPUs follow, then its threads (struct proc_thread), the
 * ids of its vCPUs, and the vCPU numbers of the process' file descriptors: see proc_vcpus().
 */
struct packed_vm {
	uint64_t serial;		/* the same in all samples */
	uint64_t early_ns;
	uint32_t pid;
	uint32_t ended;			/* this is its last sample */
	uint32_t schema;		/* 0: no statistics */
	uint32_t vcpu_schema;
	uint32_t num_vcpus;
	uint32_t num_vcpus_counted;
	uint32_t num_threads;
	uint32_t num_numbers;
	char name[TEXT_NAME_SIZE];
	char id[64];
};

/* More than the values of 10,000 vCPUs. */
#define RECORDING_MAX_CONTENT (64u << 20)

struct recorded_vm {
	uint64_t serial;
	pid_t pid;
	bool ended;
	uint64_t early_ns;			/* how long before the sample it was read */
	char name[TEXT_NAME_SIZE];
	char id[64];
	struct statsfile_schema *schema;	/* NULL: no statistics */
	struct statsfile_schema *vcpu_schema;	/* NULL without a vCPU */
	uint32_t *vcpu;				/* ids */
	size_t num_vcpus;
	size_t num_vcpus_counted;		/* without statistics */
	uint64_t *values;			/* its own, then each vCPU's */
	struct proc_threads threads;		/* the vCPU threads, if they were read */
	int *number;				/* see proc_vcpus() */
	size_t num_numbers;
};

/* All VMs at one time. */
struct snapshot {
	uint64_t real_ns;
	uint64_t monotonic_ns;
	struct recorded_vm *vm;			/* sorted by serial */
	size_t num_vms;
};

void snapshot_free(struct snapshot *snapshot);
uint64_t recorded_vm_num_values(const struct recorded_vm *vm);

/* Returns NULL if there is none. */
const struct recorded_vm *snapshot_find(const struct snapshot *snapshot, uint64_t serial);

/* CRC-32. HEADER_CHECKSUM() covers the fields before the struct's field checksum. */
uint32_t recording_checksum(const void *data, size_t size);
#define HEADER_CHECKSUM(header) \
	recording_checksum(header, offsetof(typeof(*(header)), checksum))

#endif /* KVMSTAT_RECORDING_H */
