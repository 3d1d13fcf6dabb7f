// SPDX-License-Identifier: GPL-2.0
/*
 * Compresses by zlib. Lines of metrics differ little from each other: its lowest level
 * leaves less than a tenth of them, the highest takes nine times as long for a sixth of that.
 */
#include <stdlib.h>
#include <zlib.h>

#include "export/gzip.h"
#include "util/util.h"

#define PIECE_SIZE (16 << 10)

struct gzip {
	size_t (*read)(void *text, char *piece, size_t size);
	void *text;
	z_stream stream;
	bool has_ended;			/* the text */
	char piece[PIECE_SIZE];
};

struct gzip *gzip_open(size_t (*read)(void *text, char *piece, size_t size), void *text)
{
	const int with_gzip_header = 16, memory_level = 8;
	struct gzip *gzip = xcalloc(1, sizeof(*gzip));

	gzip->read = read;
	gzip->text = text;
	if (deflateInit2(&gzip->stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + with_gzip_header,
			 memory_level, Z_DEFAULT_STRATEGY) == Z_OK)
		return gzip;
	/* Nothing else can be wrong. */
	print_error("out of memory");
	exit(STATUS_ERROR);
}

void gzip_close(struct gzip *gzip)
{
	deflateEnd(&gzip->stream);
	free(gzip);
}

static void read_piece(struct gzip *gzip)
{
	size_t length = gzip->read(gzip->text, gzip->piece, sizeof(gzip->piece));

	gzip->has_ended = !length;
	gzip->stream.next_in = (Bytef *)gzip->piece;
	gzip->stream.avail_in = length;
}

size_t gzip_read(struct gzip *gzip, char *bytes, size_t size)
{
	z_stream *stream = &gzip->stream;
	int ret = Z_OK;

	stream->next_out = (Bytef *)bytes;
	stream->avail_out = size;
	/* Once all of it is there, it says so each time. */
	while (stream->avail_out && ret != Z_STREAM_END) {
		if (!stream->avail_in && !gzip->has_ended)
			read_piece(gzip);
		ret = deflate(stream, gzip->has_ended ? Z_FINISH : Z_NO_FLUSH);
	}
	return size - stream->avail_out;
}
