/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recordings: samples of all VMs of a host in a file. Writes and reads them; knows neither hosts
 * nor commands.
 *
 * The parser prints nothing and believes nothing. Whatever the file holds, a call succeeds with
 * something that is safe to use or fails with one line that says what is wrong, and takes no more
 * memory than RECORDING_MAX_CONTENT and the size of the file allow.
 *
 * The file has the byte order of the machine that wrote it. It begins with a struct
 * recording_magic, then come blocks: a struct recording_block and its content, compressed by zlib
 * unless that would make it larger. Each sample is added with one write(): a file whose writer was
 * stopped has its last block cut off at worst. The contents are
 *
 *	RECORDING_HOST		a struct recording_host; the first block
 *	RECORDING_SCHEMA	a struct packed_schema, then descriptors and value names as they
 *				stand in a statistics file. Schemas are numbered from 1
 *	RECORDING_SAMPLE	for each VM, in the order of their serials, a struct packed_vm and
 *				the arrays that it counts
 *
 * Readers skip blocks of other types, and ignore what follows in a content.
 */
#ifndef KVMSTAT_RECORDING_H
#define KVMSTAT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/proc.h"
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
	uint32_t whole_size;		/* uncompressed; the same: it is not compressed */
	uint32_t content_checksum;	/* CRC-32, as checksum */
	uint64_t real_ns;		/* of a sample: CLOCK_REALTIME */
	uint64_t monotonic_ns;		/* and CLOCK_MONOTONIC */
	uint32_t reserved;		/* 0 */
	uint32_t checksum;		/* of the block up to here */
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

struct packed_schema {
	uint32_t name_size;
	uint32_t num_desc;
	uint32_t num_value_names;
	uint32_t value_name_size;
};

/*
 * Followed by the values of the VM, of its first vCPU, of its second vCPU, ...; by threads (struct
 * proc_thread), by vCPU ids, and by vCPU numbers as KVM's file descriptors have them.
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

/* Far more than a host has. */
#define RECORDING_MAX_CONTENT (64u << 20)

struct recorded_vm {
	uint64_t serial;
	pid_t pid;
	bool ended;
	uint64_t early_ns;			/* it was read so long before the sample */
	char name[TEXT_NAME_SIZE];
	char id[64];
	struct statsfile_schema *schema;	/* NULL: no statistics */
	struct statsfile_schema *vcpu_schema;	/* NULL without a vCPU */
	uint32_t *vcpu;				/* ids */
	size_t num_vcpus;
	size_t num_vcpus_counted;		/* without statistics */
	uint64_t *values;			/* its own, then each vCPU's */
	struct proc_threads threads;		/* that run its vCPUs, if they were read */
	int *number;				/* see proc_vcpus() */
	size_t num_numbers;
};

/* All VMs at a time. */
struct snapshot {
	uint64_t real_ns;
	uint64_t monotonic_ns;
	struct recorded_vm *vm;			/* sorted by serial */
	size_t num_vms;
};

void snapshot_free(struct snapshot *snapshot);
uint64_t recorded_vm_num_values(const struct recorded_vm *vm);

/* Or NULL. */
const struct recorded_vm *snapshot_find(const struct snapshot *snapshot, uint64_t serial);

/* Bytes that grow. */
struct bytes {
	unsigned char *data;
	size_t size;
	size_t room;
};

struct recording_writer {
	struct bytes block;		/* to be written next */
	bool is_plain;			/* do not compress */
	/* private */
	struct statsfile_schema **schema;
	size_t num_schemas;
};

/* Both append to writer->block, which the caller writes and then empties. */
void recording_begin(struct recording_writer *writer, const struct recording_host *host);
/* Frees the snapshot. Returns how many VMs it leaves out, as readers would refuse the block. */
size_t recording_add(struct recording_writer *writer, struct snapshot *snapshot);
void recording_writer_free(struct recording_writer *writer);

struct recording_sample {
	uint64_t offset;
	uint64_t real_ns;
	uint64_t monotonic_ns;
};

struct recording_source {
	int fd;				/* -1: memory */
	const void *memory;
	uint64_t size;
};

struct recording {
	struct recording_host host;
	struct recording_sample *sample;
	size_t num_samples;
	/* Why what stands behind the last sample cannot be read; or empty. */
	struct statsfile_error rest;
	bool damaged;			/* more than the end of the last sample is missing */
	struct snapshot now;
	size_t position;		/* of now; num_samples before any seek */
	/* private */
	struct recording_source source;
	struct statsfile_schema **schema;
	size_t num_schemas;
	size_t schema_size;
};

/*
 * Reads all blocks of the file. 0, or -EINVAL and @error if it is no recording. The caller keeps
 * the source open, and closes it.
 */
int recording_open(struct recording *recording, const struct recording_source *source,
		   struct statsfile_error *error);

/*
 * Makes recording->now that sample. 0, or -errno and @error: then the samples from the unreadable
 * one on are dropped, and recording->now is the sample that recording->position says, the one
 * before the call or the last one. It is empty if no sample is left.
 */
int recording_seek(struct recording *recording, size_t position, struct statsfile_error *error);
void recording_close(struct recording *recording);

#endif /* KVMSTAT_RECORDING_H */
