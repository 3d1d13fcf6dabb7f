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
 * The file. All numbers are little endian, whatever machine wrote it. It begins with
 *
 *	u8  magic[8]	RECORDING_MAGIC
 *	u32 version	RECORDING_VERSION; readers refuse others
 *	u32 checksum	of the 12 bytes before
 *
 * followed by blocks:
 *
 *	u32 type	enum recording_block; readers skip those that they do not know
 *	u32 length	of the content
 *	u32 checksum	of the content
 *	u32 checksum	of the 12 bytes before
 *	u8  content[length]
 *
 * Checksums are the CRC-32 of IEEE 802.3. Blocks are only ever added, a sample at a time
 * with one write(), so whenever the writer is stopped, what is there is a recording: with
 * the last block cut off at worst. In the content stand
 *
 *	varint		unsigned: 7 bits per byte, the lowest first, bit 7: more follow
 *	signed		a varint, 0 -1 1 -2 2 ... as 0 1 2 3 4 ...
 *	string		varint length, then that many bytes of printable UTF-8
 *
 * RECORDING_HOST is the first block: strings version of kvmstat, name of the host, kernel
 * release, machine (as uname() has them, with ? for what is not printable: older files have
 * that as it is), varint nanoseconds between two samples, varint pid of the only process that
 * was recorded, 0: all. Readers ignore what follows.
 *
 * RECORDING_SCHEMA: the descriptors of a statistics file: varint number, and of each one
 * varint flags, signed exponent, varint size, varint index of its first value, varint
 * bucket_size, string name. Then the names of values, which older files have not: varint
 * number, and of each one varint index of its descriptor minus that of the one in front,
 * varint value, string name. Readers ignore what follows. Schemas are numbered from 1 in
 * the order of the file.
 *
 * RECORDING_SAMPLE: u8 key, u64 CLOCK_REALTIME and u64 CLOCK_MONOTONIC in nanoseconds,
 * varint number of VMs, the VMs, varint number of changes, the changes. A sample is
 * described by what is different from the one before; with key not 0 it is
 * complete by itself, as if nothing had been before it. A VM is
 *
 *	varint serial	minus that of the VM in front; the same VM has the same
 *	varint what	bits:
 *	RECORDED_NEW		varint pid, string id, varint schema (0: its
 *				statistics cannot be had)
 *	RECORDED_NAME		string name
 *	RECORDED_VCPUS		varint schema, varint number, that many varint ids: of
 *				vCPUs that were not there before
 *	RECORDED_COUNTED	varint number of vCPUs if there are no statistics
 *	RECORDED_ENDED		this is its last sample
 *
 * The values of all VMs stand behind each other: those of the first VM, of its first
 * vCPU, of its second vCPU, ... of the second VM, ... New ones are 0. A change is varint
 * number of values that are left out, because they are the same, and signed difference.
 * Then, which older files have not, of each VM that is RECORDED_ENDED varint nanoseconds
 * since it was read, which is done when it ends. Readers ignore what follows.
 */
#ifndef KVMSTAT_RECORDING_H
#define KVMSTAT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/statsfile.h"

#define RECORDING_MAGIC "\x8bkvmrec\n"
#define RECORDING_VERSION 1

/* Bytes. */
#define MAGIC_SIZE 8
#define FILE_HEADER_SIZE 16
#define BLOCK_HEADER_SIZE 16

enum recording_block {
	RECORDING_HOST = 1,
	RECORDING_SCHEMA = 2,
	RECORDING_SAMPLE = 3,
};

/* Of the VM in a sample: see above. */
enum recorded {
	RECORDED_NEW = 0x01,
	RECORDED_NAME = 0x02,
	RECORDED_VCPUS = 0x04,
	RECORDED_COUNTED = 0x08,
	RECORDED_ENDED = 0x10,
};

/* Far more than any host has. */
#define RECORDING_MAX_BLOCK (64u << 20)
#define RECORDING_MAX_VALUES (8u << 20)
#define RECORDING_MAX_STRING 1024
#define RECORDING_MAX_SCHEMAS 4096

/* As often a sample is complete: from there another one can be reached. */
#define RECORDING_KEY_INTERVAL 256

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

uint32_t recording_checksum(const unsigned char *data, size_t size);

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
	/* private */
	struct snapshot last;
	struct bytes *schema;		/* blocks that were written */
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
	bool key;
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
	struct bytes content;
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
