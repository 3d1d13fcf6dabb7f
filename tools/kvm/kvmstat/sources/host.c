// SPDX-License-Identifier: GPL-2.0
/*
 * Gets a statistics file from another process without its help: takes the file descriptor of the VM
 * or vCPU with pidfd_getfd(), then opens the statistics file with an ioctl.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sources/host.h"
#include "sources/proc.h"
#include "util/file.h"
#include "util/util.h"

static int fail(struct host_error *error, enum host_step step, int err)
{
	*error = (struct host_error) { .step = step, .err = err, };
	return -1;
}

int host_list(const struct host *host, struct proc_list *list)
{
	static struct proc_memory memory;

	return proc_list(host->proc, &memory, list);
}

int host_list_fds(const struct host *host, pid_t pid, struct proc_fds *fds)
{
	return proc_list_fds(host->proc, pid, fds);
}

bool host_identify(const struct host *host, pid_t pid, struct identity *identity)
{
	identity_read(identity, host->proc, host->run, pid);
	return true;
}

pid_t host_thread_group(const struct host *host, pid_t pid)
{
	return proc_thread_group(host->proc, pid);
}

int host_read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
		      struct proc_threads *threads)
{
	return proc_read_threads(host->proc, pid, num_vcpus, threads);
}

/* Directories are called PID-FD. The files beside them are sums over all VMs. */
int host_list_makers(const struct host *host, struct proc_pids *makers)
{
	const struct dirent *entry;
	unsigned int tid, fd;
	DIR *stream;

	*makers = (struct proc_pids) {};
	/* debugfs has pids of the initial pid namespace. */
	if (proc_is_namespace(host->proc))
		return -ENOTSUP;
	stream = opendir(host->debugfs);
	if (!stream)
		return -errno;
	while ((entry = readdir(stream))) {
		if (sscanf(entry->d_name, "%u-%u", &tid, &fd) != 2 || !tid || tid > INT_MAX)
			continue;
		makers->pid = xgrow(makers->pid, makers->count, sizeof(*makers->pid));
		makers->pid[makers->count++] = tid;
	}
	closedir(stream);
	return 0;
}

static int open_process(const struct host *host, pid_t pid, struct host_error *error)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);

	(void)host;
	return fd < 0 ? fail(error, HOST_OPEN, errno) : fd;
}

/* Returns KVM_CAP_BINARY_STATS_FD, or -errno if /dev/kvm cannot be asked. */
static int ask_capability(void)
{
	int kvm = open("/dev/kvm", O_RDONLY | O_CLOEXEC);
	int ret;

	if (kvm < 0)
		return -errno;
	ret = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_BINARY_STATS_FD);
	close(kvm);
	return ret;
}

static bool is_same_file(int taken, const struct proc_fd *fd)
{
	char path[64];
	char target[64];
	bool is_stats;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", taken);
	if (!read_link(AT_FDCWD, path, target, sizeof(target)))
		return false;
	return parse_kvm_link(target, &is_stats) == fd->link && is_stats == fd->is_stats;
}

/* Opens the statistics file of @taken, and closes @taken. */
static int make_stats(int taken, struct host_error *error)
{
	int stats = ioctl(taken, KVM_GET_STATS_FD, 0);
	int err = errno;

	/* Close it at once: while it is open, the VM lives. */
	close(taken);
	if (stats >= 0)
		return stats;
	fail(error, HOST_STATS, err);
	error->capability = ask_capability();
	return -1;
}

/* Yama's setting. 3 forbids pidfd_getfd() to every process, even with CAP_SYS_PTRACE. */
static int ptrace_scope(const struct host *host)
{
	char *path = xasprintf("%s/sys/kernel/yama/ptrace_scope", host->proc);
	char text[16];

	read_file(AT_FDCWD, path, text, sizeof(text));
	free(path);
	return atoi(text);
}

static int take_fd(const struct host *host, pid_t pid, int fd, struct host_error *error)
{
	int process, taken;

	process = open_process(host, pid, error);
	if (process < 0)
		return -1;
	taken = syscall(SYS_pidfd_getfd, process, fd, 0);
	if (taken < 0) {
		fail(error, HOST_TAKE, errno);
		error->capability = ptrace_scope(host);
	}
	close(process);
	return taken;
}

static int get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
		     uint64_t *vm, struct host_error *error)
{
	int taken, stats;

	taken = take_fd(host, pid, fd->fd, error);
	if (taken < 0)
		return -1;
	/* The number may have been reused: send no ioctl to an unknown file. */
	if (!is_same_file(taken, fd)) {
		close(taken);
		return fail(error, HOST_TAKE, EBADF);
	}
	stats = fd->is_stats ? taken : make_stats(taken, error);
	if (stats >= 0)
		*vm = proc_vm_number(host->proc, stats);
	return stats;
}

/* Of files without a type that are read-only, only statistics files have a header to pread(). */
static bool is_stats(int fd)
{
	struct kvm_stats_header header;

	return statsfile_may_be_kvms(fd) && !pread_all(fd, 0, &header, sizeof(header));
}

static bool is_dead(int stats)
{
	struct pollfd file = { .fd = stats, };

	return poll(&file, 1, 0) == 1 && file.revents & POLLHUP;
}

static bool is_same(int fd, int other)
{
	pid_t self = getpid();

	/* 0: the same, 1 or 2: another file, -1: the kernel has no kcmp(). */
	return syscall(SYS_kcmp, self, self, KCMP_FILE, fd, other) <= 0;
}

const struct host this_host = {
	.proc = "/proc",
	.run = "/run",
	.debugfs = "/sys/kernel/debug/kvm",
	.list = host_list,
	.list_fds = host_list_fds,
	.identify = host_identify,
	.thread_group = host_thread_group,
	.read_threads = host_read_threads,
	.list_makers = host_list_makers,
	.get_stats = get_stats,
	.open_process = open_process,
	.is_gone = fd_is_readable,
	.is_stats = is_stats,
	.is_same = is_same,
	.is_dead = is_dead,
	.access = STATSFILE_AUTO,
};

/*
 * If KVM has statistics files, EIO means that it refuses every ioctl that does not come from the
 * VMM.
 */
static char *explain_missing_ioctl(int capability)
{
	static const char none[] = "this kernel has no statistics files (KVM_CAP_BINARY_STATS_FD)";
	static const char closed[] = VMM_ONLY ", which has no file open";

	if (capability > 0)
		return xasprintf("%s; QEMU 8.1 or newer does", closed);
	if (capability < 0)
		return xasprintf("%s, or %s (/dev/kvm: %s)", none, closed, strerror(-capability));
	return xasprintf("%s; " NEEDED_KERNEL, none);
}

char *host_explain(const struct host_error *error)
{
	static const char * const steps[] = {
		[HOST_PROC] = "/proc",
		[HOST_OPEN] = "pidfd_open",
		[HOST_TAKE] = "pidfd_getfd",
		[HOST_STATS] = "KVM_GET_STATS_FD",
	};
	const char *step = steps[error->step];

	if (host_refuses(error))
		return explain_missing_ioctl(error->capability);
	switch (error->err) {
	case EPERM:
	case EACCES:
		if (error->step == HOST_TAKE && error->capability == 3)
			return xasprintf("%s: kernel.yama.ptrace_scope is 3, which forbids it until the next boot",
					 step);
		return xasprintf("%s: no permission; " NEEDED_PERMISSION, step);
	case EMFILE:
		return xasprintf("%s: too many open files; raise the limit (ulimit -n)", step);
	case ENOSYS:
		return xasprintf("%s: the kernel has no such system call; Linux 5.6 or later is needed",
				 step);
	}
	return xasprintf("%s: %s", step, strerror(error->err));
}
