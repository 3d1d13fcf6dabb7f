/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A text that is compressed while it is read, for HTTP's gzip encoding.
 */
#ifndef KVMSTAT_GZIP_H
#define KVMSTAT_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct gzip;

#ifdef HAVE_ZLIB
static const bool gzip_is_there = true;

/* @read has the text, piece by piece, and returns 0 at its end. */
struct gzip *gzip_open(size_t (*read)(void *text, char *piece, size_t size), void *text);
void gzip_close(struct gzip *gzip);

/* As much as is read and fits; 0 at the end. */
size_t gzip_read(struct gzip *gzip, char *bytes, size_t size);

#else
static const bool gzip_is_there;

static inline struct gzip *gzip_open(size_t (*read)(void *text, char *piece, size_t size),
				     void *text)
{
	(void)read;
	(void)text;
	return NULL;
}

static inline void gzip_close(struct gzip *gzip)
{
	(void)gzip;
}

static inline size_t gzip_read(struct gzip *gzip, char *bytes, size_t size)
{
	(void)gzip;
	(void)bytes;
	(void)size;
	return 0;
}
#endif

#endif /* KVMSTAT_GZIP_H */
