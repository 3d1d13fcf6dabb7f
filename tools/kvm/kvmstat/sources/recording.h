/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recordings: samples of all VMs of a host in a file, to be looked at later and
 * elsewhere. Writes and reads them; knows neither hosts nor commands.
 *
 * The parser prints nothing and believes nothing. Whatever the file holds, a call
 * succeeds with something that is safe to use or fails with one line that says what is
 * wrong, and no more memory is taken than RECORDING_MAX_VALUES and the size of the file
 * allow.
 *
 * The file has the byte order of the machine that wrote it, and is read on such machines.
 * It begins with RECORDING_MAGIC, in whose number the byte order shows. Behind that stand
 * blocks: a struct recording_block, and its content, which is compressed by zlib unless that
 * would make it larger. Blocks are only ever added, a sample at a time with one write(), so
 * whenever the writer is stopped, what is there is a recording: with the last block cut off at
 * worst. The contents are
 *
 *	RECORDING_HOST		a struct packed_host; the first block
 *	RECORDING_SCHEMA	a statistics file that has no values. Schemas are numbered
 *				from 1 in the order of the file
 *	RECORDING_KEY		a sample: for each VM, in the order of their serials, a struct
 *				packed_vm and what that says
 *	RECORDING_SAMPLE	the same; the values of a VM that the last key has as well are
 *				the differences to those
 *
 * Readers skip blocks that they do not know, and ignore what follows in a content.
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
#define RECORDING_VERSION 2

enum recording_block_type {
	RECORDING_HOST = 1,
	RECORDING_SCHEMA = 2,
	RECORDING_KEY = 3,
	RECORDING_SAMPLE = 4,
};

struct recording_block {
	uint32_t type;
	uint32_t size;			/* of the content in the file */
	uint32_t whole_size;		/* uncompressed; the same: it is not compressed */
	uint32_t content_checksum;	/* by CRC-32, as is the other one */
	uint64_t real_ns;		/* of a sample: CLOCK_REALTIME and CLOCK_MONOTONIC */
	uint64_t monotonic_ns;
	uint32_t reserved;		/* 0 */
	uint32_t checksum;		/* of all before */
};

struct packed_host {
	char version[64];
	char name[256];
	char release[256];
	char machine[256];
	uint64_t interval_ns;		/* between two samples */
	uint32_t pid;			/* of the only process that was recorded, 0: all */
};

/*
 * Followed by the values: those of the VM, of its first vCPU, of its second vCPU, ...; threads
 * (struct proc_thread); ids of vCPUs; numbers of vCPUs as KVM's file descriptors have them.
 */
struct packed_vm {
	uint64_t serial;		/* the same VM has the same in all samples */
	uint64_t early_ns;
	uint32_t pid;
	uint32_t ended;			/* this is its last sample */
	uint32_t schema;		/* 0: there are no statistics */
	uint32_t vcpu_schema;
	uint32_t num_vcpus;
	uint32_t num_vcpus_counted;
	uint32_t num_threads;
	uint32_t num_numbers;
	char name[TEXT_NAME_SIZE];
	char id[64];
};

/* Far more than any host has. */
#define RECORDING_MAX_VALUES (8u << 20)
#define RECORDING_MAX_CONTENT (RECORDING_MAX_VALUES * 8)

/* As often a sample is complete by itself. */
#define RECORDING_KEY_INTERVAL 64

struct recorded_vm {
	uint64_t serial;
	pid_t pid;
	bool ended;
	uint64_t early_ns;			/* if so: before the sample it was read */
	char *name;
	char *id;
	struct statsfile_schema *schema;	/* NULL: no statistics */
	struct statsfile_schema *vcpu_schema;	/* NULL while there is no vCPU */
	uint32_t *vcpu;				/* ids */
	size_t num_vcpus;
	size_t num_vcpus_counted;		/* without statistics */
	uint64_t *values;			/* its own, then those of each vCPU */
	struct proc_threads threads;		/* that run its vCPUs, if they were read */
	int *number;				/* of its process' vCPUs: see proc_vcpus() */
	size_t num_numbers;
};

/* All VMs at a time. */
struct snapshot {
	uint64_t real_ns;
	uint64_t monotonic_ns;
	struct recorded_vm *vm;			/* by serial */
	size_t num_vms;
};

void recorded_vm_free(struct recorded_vm *vm);
void snapshot_free(struct snapshot *snapshot);
uint64_t recorded_vm_num_values(const struct recorded_vm *vm);

/* NULL if there is none. */
const struct recorded_vm *snapshot_find(const struct snapshot *snapshot, uint64_t serial);

struct recording_host {
	char *version;
	char *name;
	char *release;
	char *machine;
	uint64_t interval_ns;
	pid_t pid;
};

void recording_host_free(struct recording_host *host);

/* Bytes that grow. */
struct bytes {
	unsigned char *data;
	size_t size;
	size_t room;
};

struct recording_writer {
	struct bytes block;		/* what is to be written next */
	bool is_plain;			/* do not compress */
	/* private */
	struct snapshot key;
	struct statsfile_schema **schema;
	size_t num_schemas;
	uint64_t num_samples;
};

/* Both append to writer->block, which the caller writes and then empties. */
void recording_begin(struct recording_writer *writer, const struct recording_host *host);
/*
 * Takes over the snapshot. Returns how many of its VMs are left out: those with which the block
 * could be larger than readers take.
 */
size_t recording_add(struct recording_writer *writer, struct snapshot *snapshot);
void recording_writer_free(struct recording_writer *writer);

struct recording_sample {
	uint64_t offset;
	uint64_t real_ns;
	uint64_t monotonic_ns;
	size_t key;			/* which sample that is */
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
	/* What stands behind the last sample and cannot be read; else empty. */
	struct statsfile_error rest;
	bool damaged;			/* more than the end of the last sample is missing */
	struct snapshot now;
	size_t position;		/* which sample that is; num_samples before any seek */
	/* private */
	struct recording_source source;
	struct statsfile_schema **schema;
	size_t num_schemas;
	size_t schema_size;		/* of all of them in the file */
	struct snapshot key;
	size_t key_position;
};

/*
 * Looks at all blocks of the file. 0, or -EINVAL and @error if it is no recording. The
 * source has to stay, and the file descriptor is the caller's.
 */
int recording_open(struct recording *recording, const struct recording_source *source,
		   struct statsfile_error *error);

/*
 * Makes recording->now that sample. 0, or -errno and @error: then the samples from the one
 * on that cannot be read are gone, and recording->now is one that is left, where
 * recording->position says: the one that it was, or the last. Only if none is left nothing
 * is in it.
 */
int recording_seek(struct recording *recording, size_t position, struct statsfile_error *error);
void recording_close(struct recording *recording);

#endif /* KVMSTAT_RECORDING_H */
