// SPDX-License-Identifier: GPL-2.0
/*
 * Gets a statistics file out of another process, without its help: the VM's or
 * vCPU's file descriptor by pidfd_getfd(), the statistics file by ioctl.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host.h"
#include "proc.h"
#include "util.h"

/*
 * From linux/kvm.h, which cannot be included: the system's is too old to have
 * these, or so new that it defines the structs of linux/kvm_stats.h once more.
 */
#define KVM_CHECK_EXTENSION _IO(0xae, 0x03)
#define KVM_GET_STATS_FD _IO(0xae, 0xce)
#define KVM_CAP_BINARY_STATS_FD 203

#define STEP_OPEN "pidfd_open"
#define STEP_TAKE "pidfd_getfd"
#define STEP_STATS "KVM_GET_STATS_FD"

static int fail(struct host_error *error, const char *step, int err)
{
	*error = (struct host_error) { .step = step, .err = err, };
	return -1;
}

static int open_process(pid_t pid, struct host_error *error)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? fail(error, STEP_OPEN, errno) : fd;
}

static int link_of_own_fd(int fd)
{
	char path[64];
	char target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return LINK_OTHER;
	target[length] = '\0';
	return parse_kvm_link(target);
}

static int get_stats(int process, int fd, int link, struct host_error *error)
{
	int taken, stats, err;

	taken = syscall(SYS_pidfd_getfd, process, fd, 0);
	if (taken < 0)
		return fail(error, STEP_TAKE, errno);

	/* The number may have been reused: no ioctl on a file of unknown kind. */
	if (link_of_own_fd(taken) != link) {
		close(taken);
		return fail(error, STEP_TAKE, EBADF);
	}
	stats = ioctl(taken, KVM_GET_STATS_FD, 0);
	err = errno;

	/* At once: as long as this is open, the VM lives. */
	close(taken);
	return stats < 0 ? fail(error, STEP_STATS, err) : stats;
}

static bool is_dead(int stats)
{
	struct pollfd file = { .fd = stats, };

	return poll(&file, 1, 0) == 1 && file.revents & POLLHUP;
}

const struct host this_host = {
	.proc = "/proc",
	.open_process = open_process,
	.get_stats = get_stats,
	.is_dead = is_dead,
	.access = STATSFILE_AUTO,
};

/* Of KVM_CAP_BINARY_STATS_FD: its value, or -1 if /dev/kvm cannot be asked. */
static int ask_capability(void)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int ret;

	if (kvm < 0)
		return -1;
	ret = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_BINARY_STATS_FD);
	close(kvm);
	return ret;
}

/*
 * EIO is how KVM without this series refuses any ioctl from outside of the VMM,
 * whether it knows it or not.
 */
static char *explain_missing_ioctl(void)
{
	static const char none[] = "its KVM has no statistics files (KVM_CAP_BINARY_STATS_FD)";
	static const char closed[] = "its KVM gives statistics files to the VMM only";
	struct utsname kernel;
	int capability;

	uname(&kernel);
	capability = ask_capability();
	if (capability < 0)
		return xasprintf("kernel %s: %s, or %s (/dev/kvm: %s); " NEEDED_KERNEL,
				 kernel.release, none, closed, strerror(errno));
	return xasprintf("kernel %s: %s; " NEEDED_KERNEL, kernel.release,
			 capability ? closed : none);
}

char *host_explain(const struct host_error *error)
{
	bool is_ioctl = !strcmp(error->step, STEP_STATS);

	switch (error->err) {
	case EPERM:
	case EACCES:
		return xasprintf("%s: no permission; " NEEDED_PERMISSION, error->step);
	case EMFILE:
		return xasprintf("%s: too many open files; raise the limit (ulimit -n)",
				 error->step);
	case EIO:
	case ENOTTY:
	case EINVAL:
		if (is_ioctl)
			return explain_missing_ioctl();
		break;
	}
	return xasprintf("%s: %s", error->step, strerror(error->err));
}
