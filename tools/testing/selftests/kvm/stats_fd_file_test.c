// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file descriptor of a KVM statistics file: flags, names, the error of each refused
 * system call, and processes that share it.
 */
#define _GNU_SOURCE
#include <sys/uio.h>
#include <termios.h>

#include "../kselftest_harness.h"
#include "stats_fd_file.h"

TEST_F(file, fd_is_read_only_and_close_on_exec)
{
	EXPECT_EQ(O_RDONLY, fcntl(self->fd, F_GETFL));
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->fd, F_GETFD));
}

/* A holder of the read-only fd cannot open the file for writing. */
TEST_F(file, proc_link_has_kind_and_vcpu_id_and_open_fails_with_ENXIO)
{
	char path[64], link[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	EXPECT_LT(0, readlink(path, link, sizeof(link) - 1));
	EXPECT_STREQ(variant->vcpu ? "anon_inode:kvm-vcpu-stats:3" : "anon_inode:kvm-vm-stats",
		     link);
	EXPECT_EQ(-ENXIO, result(open(path, O_RDONLY)));
	EXPECT_EQ(-ENXIO, result(open(path, O_RDWR)));
}

TEST_F(file, fdinfo_has_id_number_of_statistics_and_state)
{
	char num[16];

	snprintf(num, sizeof(num), "%u", self->file.header.num_desc);
	stats_expect_fdinfo(_metadata, self->fd, "id", stats_id(&self->file));
	stats_expect_fdinfo(_metadata, self->fd, "statistics", num);
	stats_expect_fdinfo(_metadata, self->fd, "state", "alive");
}

TEST_F(file, write_fails_with_EBADF_and_pwrite_with_ESPIPE)
{
	const size_t counts[] = { 0, 1, 8, self->file.size };
	char *buf = calloc(self->file.size, 1);
	struct iovec iov = { .iov_base = buf };
	unsigned int i;

	ASSERT_NE(NULL, buf);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		iov.iov_len = counts[i];
		EXPECT_EQ(-EBADF, result(write(self->fd, NULL, counts[i])));
		EXPECT_EQ(-EBADF, result(write(self->fd, buf, counts[i])));
		EXPECT_EQ(-ESPIPE, result(pwrite(self->fd, buf, counts[i], 0)));
		EXPECT_EQ(-EBADF, result(writev(self->fd, &iov, 1)));
		EXPECT_EQ(-ESPIPE, result(pwritev(self->fd, &iov, 1, 8)));
	}
	EXPECT_EQ(0, stats_same(self->fd, &self->file));
}

TEST_F(file, ftruncate_fails_with_EINVAL)
{
	const off_t size = self->file.size;
	const off_t lengths[] = {
		0, 1, size - 1, size, size + 1, LLONG_MAX, -1, LLONG_MIN,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		EXPECT_EQ(-EINVAL, result(ftruncate(self->fd, lengths[i]))) {
			TH_LOG("length %ld", (long)lengths[i]);
		}
	}
	EXPECT_EQ(0, stats_same(self->fd, &self->file));
}

TEST_F(file, ioctl_fails_with_ENOTTY)
{
	const unsigned long requests[] = {
		0, KVM_GET_STATS_FD, KVM_GET_API_VERSION, KVM_CHECK_EXTENSION,
		KVM_CREATE_VM, KVM_CREATE_VCPU, KVM_RUN, TCGETS, FIONREAD,
		UINT_MAX,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		EXPECT_EQ(-ENOTTY, result(ioctl(self->fd, requests[i], 0))) {
			TH_LOG("request %#lx", requests[i]);
		}
		EXPECT_EQ(-ENOTTY, result(ioctl(self->fd, requests[i], -1L))) {
			TH_LOG("request %#lx", requests[i]);
		}
	}
}

TEST_F(file, each_ioctl_returns_a_file_with_its_own_position)
{
	int other = stats_get_fd(_metadata, self->source);
	char buf[24];

	ASSERT_NE(self->fd, other);
	EXPECT_EQ(24, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(0, lseek(other, 0, SEEK_CUR));
	EXPECT_EQ(0, stats_same(other, &self->file));
}

static int read_as_nobody(void *arg)
{
	const struct stats_file *f = arg;
	char buf[24];

	/* If the test is not root, only the address space is another one. */
	if (!geteuid() && stats_become_nobody())
		return -errno;
	if (read(f->fd, buf, sizeof(buf)) != sizeof(buf))
		return -EIO;
	return stats_same(f->fd, f);
}

/* A process needs no permission except the fd. */
TEST_F(file, dup_and_a_process_of_another_user_share_content_and_position)
{
	int copy = dup(self->fd);

	ASSERT_LE(0, copy);
	EXPECT_EQ(0, stats_in_child(_metadata, read_as_nobody, &self->file));
	EXPECT_EQ(24, lseek(self->fd, 0, SEEK_CUR));
	EXPECT_EQ(24, lseek(copy, 0, SEEK_CUR));
	EXPECT_EQ(0, stats_same(copy, &self->file));
}

TEST_HARNESS_MAIN
