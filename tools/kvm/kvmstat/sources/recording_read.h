/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads recordings.
 *
 * The parser prints nothing and trusts nothing. With any file, a call either succeeds with data
 * that is safe to use, or fails with one line that says what is wrong. RECORDING_MAX_CONTENT and
 * the size of the file limit its memory.
 */
#ifndef KVMSTAT_RECORDING_READ_H
#define KVMSTAT_RECORDING_READ_H

#include "sources/recording.h"

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
	/* Why the file cannot be read after the last sample; or empty. */
	struct statsfile_error rest;
	bool damaged;			/* the file is damaged, not only cut off */
	struct snapshot now;
	size_t position;		/* index of now; num_samples before any seek */
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
 * Makes recording->now the sample at @position. Returns 0, or -errno and @error: then it has
 * dropped the samples from the unreadable one on, and recording->now is the sample from before the
 * call, or the last one that is left. It is empty if no sample is left.
 */
int recording_seek(struct recording *recording, size_t position, struct statsfile_error *error);
void recording_close(struct recording *recording);

#endif /* KVMSTAT_RECORDING_READ_H */
