// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read KVM's statistics files at any offset and length into any buffer. The same calls on a
 * memfd with the same content must have the same results, errors, bytes and positions.
 */
#define _GNU_SOURCE
#include <sys/uio.h>

#include "../kselftest_harness.h"
#include "stats_fd_file.h"

static int regular_file(struct __test_metadata *_metadata, const struct stats_file *f)
{
	int fd = memfd_create("stats", MFD_CLOEXEC);

	ASSERT_LE(0, fd) TH_LOG("memfd_create: %s", strerror(errno));
	ASSERT_EQ((ssize_t)f->size, pwrite(fd, f->bytes, f->size, 0));
	return fd;
}

TEST_F(file, read_returns_the_whole_file_and_then_0)
{
	size_t size = self->file.size;
	char *buf = malloc(size + 1);

	EXPECT_EQ((ssize_t)size, read(self->fd, buf, size + 1));
	EXPECT_EQ(0, memcmp(buf, self->file.bytes, size));
	EXPECT_EQ(0, read(self->fd, buf, size + 1));
	EXPECT_EQ(0, read(self->fd, buf, 1));
}

/*
 * Call pread() on both files. Compare results, bytes, and that nothing behind them is
 * overwritten. @buf and @buf + @size are the two buffers.
 */
static void expect_same_pread(struct __test_metadata *_metadata, int fd,
			      int regular, char *buf, size_t size, size_t count, off_t offset)
{
	memset(buf, 0xa5, 2 * size);
	ASSERT_EQ(result(pread(regular, buf + size, count, offset)),
		  result(pread(fd, buf, count, offset))) {
		TH_LOG("count %zu, offset %ld", count, (long)offset);
	}
	ASSERT_EQ(0, memcmp(buf, buf + size, size)) {
		TH_LOG("count %zu, offset %ld", count, (long)offset);
	}
}

#define MAX_OFFSETS	64

/* Offsets around each block boundary, and at the ends of the range. */
static unsigned int interesting_offsets(const struct stats_file *f, off_t offsets[MAX_OFFSETS])
{
	const struct kvm_stats_header *h = &f->header;
	const off_t boundaries[] = {
		0, 8, h->id_offset, h->id_offset + h->name_size,
		h->desc_offset, h->desc_offset + STATS_DESC_SIZE,
		h->desc_offset + stats_stride(f),
		h->desc_offset + h->num_desc * stats_stride(f),
		f->ext.vcpu_desc_offset,
		f->ext.vcpu_desc_offset + stats_stride(f),
		f->ext.vcpu_id_offset, f->ext.vcpu_id_offset + 4,
		f->ext.vcpu_id_offset + f->ext.vcpu_max * sizeof(__u32),
		h->data_offset, h->data_offset + 8, f->size,
	};
	const off_t ends[] = {
		f->size + 4097, INT_MAX, 1LL << 32, LLONG_MAX - 1, LLONG_MAX,
		LLONG_MIN, LLONG_MIN + 1,
	};
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(boundaries); i++) {
		offsets[n++] = boundaries[i] - 1;
		offsets[n++] = boundaries[i];
		offsets[n++] = boundaries[i] + 1;
	}
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		offsets[n++] = ends[i];
	return n;
}

TEST_F(file, pread_is_as_on_a_regular_file_and_keeps_the_position)
{
	const size_t page = sysconf(_SC_PAGESIZE), size = self->file.size;
	const int regular = regular_file(_metadata, &self->file);
	const size_t counts[] = {
		0, 1, 7, 8, 9, 23, 24, 25, size - 1, size, size + 1, page + 1,
	};
	const size_t space = size + page + 1;
	char *buf = malloc(2 * space);
	off_t offsets[MAX_OFFSETS];
	unsigned int i, j, n;

	ASSERT_NE(NULL, buf);
	n = interesting_offsets(&self->file, offsets);
	for (i = 0; i < n; i++) {
		for (j = 0; j < ARRAY_SIZE(counts); j++) {
			expect_same_pread(_metadata, self->fd, regular,
					  buf, space, counts[j], offsets[i]);
		}
	}
	EXPECT_EQ(0, lseek(self->fd, 0, SEEK_CUR));
}

/* Buffers end within blocks and cross their boundaries. */
TEST_F(file, readv_is_as_on_a_regular_file)
{
	const size_t lens[] = { 1, 0, 23, 48, 7, 8, 4097, 1, 100000 };
	const size_t space = 104185;	/* their sum */
	const int regular = regular_file(_metadata, &self->file);
	struct iovec iov[2][ARRAY_SIZE(lens)];
	char *buf = malloc(2 * space);
	char *at = buf;
	off_t offsets[MAX_OFFSETS];
	unsigned int i, n;

	ASSERT_NE(NULL, buf);
	for (i = 0; i < ARRAY_SIZE(lens); at += lens[i++]) {
		iov[0][i].iov_base = at;
		iov[1][i].iov_base = at + space;
		iov[0][i].iov_len = lens[i];
		iov[1][i].iov_len = lens[i];
	}
	ASSERT_EQ(buf + space, at);

	n = interesting_offsets(&self->file, offsets);
	for (i = 0; i < n; i++) {
		memset(buf, 0xa5, 2 * space);
		ASSERT_EQ(result(preadv(regular, iov[1], ARRAY_SIZE(lens), offsets[i])),
			  result(preadv(self->fd, iov[0], ARRAY_SIZE(lens), offsets[i]))) {
			TH_LOG("offset %ld", (long)offsets[i]);
		}
		ASSERT_EQ(0, memcmp(buf, buf + space, space));
	}

	EXPECT_EQ((ssize_t)self->file.size, readv(self->fd, iov[0], ARRAY_SIZE(lens)));
	EXPECT_EQ(0, memcmp(buf, self->file.bytes, self->file.size));
	EXPECT_EQ(0, readv(self->fd, iov[0], ARRAY_SIZE(lens)));
	EXPECT_EQ(0, readv(self->fd, iov[0], 0));
}

/* Call lseek() on both files, from @start. */
static void expect_same_lseek(struct __test_metadata *_metadata, int fd,
			      int regular, off_t start, off_t offset, int whence)
{
	ASSERT_EQ(start, lseek(regular, start, SEEK_SET));
	ASSERT_EQ(start, lseek(fd, start, SEEK_SET));
	ASSERT_EQ(result(lseek(regular, offset, whence)), result(lseek(fd, offset, whence))) {
		TH_LOG("lseek(%ld, %d) from %ld", (long)offset, whence, (long)start);
	}
	ASSERT_EQ(lseek(regular, 0, SEEK_CUR), lseek(fd, 0, SEEK_CUR)) {
		TH_LOG("after lseek(%ld, %d) from %ld", (long)offset, whence, (long)start);
	}
}

/* The whole file is data. A position behind its end is allowed. */
TEST_F(file, lseek_is_as_on_a_regular_file)
{
	const off_t page = sysconf(_SC_PAGESIZE), size = self->file.size;
	const int regular = regular_file(_metadata, &self->file);
	const off_t starts[] = { 0, 5, size, size + 1 };
	const int whences[] = {
		SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, 5, -1,
	};
	const off_t offsets[] = {
		0, 1, size - 1, size, size + 1, page + 1, INT_MAX,
		LLONG_MAX, -1, 1 - size, -size, -size - 1, INT_MIN, LLONG_MIN,
	};
	unsigned int i, j, k;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		for (j = 0; j < ARRAY_SIZE(whences); j++) {
			for (k = 0; k < ARRAY_SIZE(offsets); k++) {
				expect_same_lseek(_metadata, self->fd, regular, starts[i],
						  offsets[k], whences[j]);
			}
		}
	}
}

#define BLOCKS		7

/* The kernel may copy these blocks in different ways. A missing block has offset 0. */
static void block_offsets(const struct stats_file *f, off_t offsets[BLOCKS])
{
	const struct kvm_stats_header *h = &f->header;

	offsets[0] = 0;
	offsets[1] = h->id_offset + h->name_size;
	offsets[2] = h->desc_offset;
	offsets[3] = h->desc_offset + h->num_desc * stats_stride(f);
	offsets[4] = f->ext.vcpu_id_offset;
	offsets[5] = f->ext.vcpu_id_offset + f->ext.vcpu_max * sizeof(__u32);
	offsets[6] = h->data_offset;
}

TEST_F(file, read_into_a_bad_buffer_fails_with_EFAULT_and_keeps_the_position)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *none = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *rdonly = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *bad[] = {
		NULL, none, none + 1, rdonly, rdonly + 1,
		(void *)LONG_MIN, (void *)-4096UL, (void *)-8UL,
	};
	struct iovec iov = { .iov_len = 8 };
	off_t offsets[BLOCKS];
	unsigned int i, j;

	ASSERT_NE(MAP_FAILED, none);
	ASSERT_NE(MAP_FAILED, rdonly);
	block_offsets(&self->file, offsets);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			lseek(self->fd, offsets[j], SEEK_SET);
			iov.iov_base = bad[i];
			EXPECT_EQ(-EFAULT, result(read(self->fd, bad[i], 8)));
			EXPECT_EQ(-EFAULT, result(pread(self->fd, bad[i], 1, offsets[j])));
			EXPECT_EQ(-EFAULT, result(readv(self->fd, &iov, 1)));
			EXPECT_EQ(offsets[j], lseek(self->fd, 0, SEEK_CUR));
		}
	}
	EXPECT_EQ(0, read(self->fd, NULL, 0));
}

/*
 * Read into @room bytes in front of a page that faults. An architecture's copy routine may
 * copy less, by up to one step of its main loop.
 */
static void expect_partial_read(struct __test_metadata *_metadata,
				const struct stats_file *f, char *fault,
				size_t room, off_t offset)
{
	size_t count = f->size - offset;
	char *buf = fault - room;
	ssize_t ret;

	memset(buf, 0xa5, room);
	ASSERT_EQ(offset, lseek(f->fd, offset, SEEK_SET));
	ret = result(read(f->fd, buf, count));
	if (ret == -EFAULT) {
		ASSERT_GT(64UL, room) TH_LOG("offset %ld", (long)offset);
		EXPECT_EQ(offset, lseek(f->fd, 0, SEEK_CUR));
		return;
	}
	ASSERT_LT(0, ret);
	ASSERT_LE(ret, (ssize_t)room) TH_LOG("offset %ld", (long)offset);
	ASSERT_GT(ret + 64, (ssize_t)room) TH_LOG("offset %ld", (long)offset);
	EXPECT_EQ(0, memcmp(f->bytes + offset, buf, ret));
	EXPECT_EQ(offset + ret, lseek(f->fd, 0, SEEK_CUR));
}

TEST_F(file, read_into_a_partly_bad_buffer_returns_the_copied_bytes)
{
	const size_t rooms[] = { 1, 7, 8, 9, 24, 63, 64, 65, 72, 100, 200 };
	const size_t page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	off_t offsets[BLOCKS];
	unsigned int i, j;

	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, mprotect(map + page, page, PROT_NONE));
	block_offsets(&self->file, offsets);
	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			if (offsets[j] + rooms[i] >= self->file.size)
				continue;
			expect_partial_read(_metadata, &self->file, map + page, rooms[i],
					    offsets[j]);
		}
	}
}

TEST_HARNESS_MAIN
