/* SPDX-License-Identifier: GPL-2.0 */
/* Writes recordings. */
#ifndef KVMSTAT_RECORDING_WRITE_H
#define KVMSTAT_RECORDING_WRITE_H

#include "sources/recording.h"

/* A growing buffer. */
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
/*
 * Frees the snapshot. Leaves out VMs that make the block too large for readers. Returns how many.
 */
size_t recording_add(struct recording_writer *writer, struct snapshot *snapshot);
void recording_writer_free(struct recording_writer *writer);

#endif /* KVMSTAT_RECORDING_WRITE_H */
