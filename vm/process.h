/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a test in a guest: with a terminal, in a cgroup, with a time limit, and kills what it
 * leaves running. For init and other programs that run tests.
 */
#ifndef VM_PROCESS_H
#define VM_PROCESS_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ARGS 32
/* How long killed processes and closed VMs may take to disappear. */
#define SETTLE_SECONDS 60

/* The kernel panics when init dies, and a run without a verdict cannot pass. */
static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t written = write(fd, text, size);

		if (written <= 0)
			die("write");
		text += written;
		size -= written;
	}
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		die(path);
	write_all(fd, text, strlen(text));
	close(fd);
}

/* Returns whether the file exists and is not empty. */
static bool read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[got < 0 ? 0 : got] = '\0';
	return got > 0;
}

#define CGROUP "/sys/fs/cgroup"

/*
 * Tests print to a terminal, not to a pipe: the C library then flushes each line, and the
 * output before a crash is not lost.
 */
static int open_terminal(int *slave)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || grantpt(master) || unlockpt(master))
		die("/dev/ptmx");
	*slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave < 0)
		die("/dev/pts");
	return master;
}

/* Takes a piece of a test's output. */
typedef void take_output(const char *text, size_t size);

static bool relay(int terminal, take_output *take)
{
	char text[4096];
	ssize_t size = read(terminal, text, sizeof(text));

	/* EIO: no process has the other side open */
	if (size <= 0)
		return false;
	take(text, size);
	return true;
}

#define MAX_PARAMETERS 64

/*
 * Each test begins with the module parameters that KVM had before the first one: a test that
 * is killed has no time to put them back.
 */
static void reset_parameters(void)
{
	static struct {
		char path[128], value[64];
	} before[MAX_PARAMETERS];
	static int count;
	char value[64];
	struct stat info;
	glob_t found;

	for (int i = 0; i < count; i++)
		if (read_file(before[i].path, value, sizeof(value)) &&
		    strcmp(value, before[i].value))
			write_file(before[i].path, before[i].value);
	if (count || glob("/sys/module/kvm*/parameters/*", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc && count < MAX_PARAMETERS; i++) {
		const char *path = found.gl_pathv[i];

		if (stat(path, &info) || !(info.st_mode & 0200) ||
		    !read_file(path, before[count].value, sizeof(value)))
			continue;
		snprintf(before[count++].path, sizeof(before->path), "%s", path);
	}
	globfree(&found);
}

static pid_t start(char *command, int terminal)
{
	char *args[MAX_ARGS + 1] = { NULL };
	pid_t pid;
	int i = 0;

	reset_parameters();
	for (char *word = strtok(command, " "); word && i < MAX_ARGS; word = strtok(NULL, " "))
		args[i++] = word;
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	setsid();
	write_file(CGROUP "/tests/cgroup.procs", "0");
	dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
	dup2(terminal, 1);
	dup2(terminal, 2);
	if (chdir("/test"))
		die("/test");
	execvp(args[0], args);
	fprintf(stderr, "%s: %s\n", args[0], strerror(errno));
	_exit(127);
}

/* Returns false if the process did not end within the limit. */
static bool wait_for(pid_t pid, int terminal, int seconds, take_output *take)
{
	long long end = now_ms() + seconds * 1000LL;
	struct pollfd fds[2] = {
		{ .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN },
		{ .fd = terminal, .events = POLLIN },
	};
	bool exited = false;
	long long left;

	if (fds[0].fd < 0)
		die("pidfd_open");
	while (!exited && (left = end - now_ms()) > 0) {
		if (poll(fds, 2, left) < 0)
			die("poll");
		if (fds[1].revents && !relay(terminal, take))
			fds[1].fd = -1;
		exited = fds[0].revents;
	}
	close(fds[0].fd);
	return exited;
}

/*
 * Kill all processes that a test left running, also outside of its process group: they must
 * not disturb the next test. kill(-1) spares the caller and init.
 */
static bool kill_all(int *status, pid_t pid)
{
	long long end = now_ms() + SETTLE_SECONDS * 1000LL;
	pid_t reaped;
	int s;

	kill(-1, SIGKILL);
	do {
		reaped = waitpid(-1, &s, WNOHANG);
		if (reaped < 0)
			return true;
		if (reaped == pid)
			*status = s;
		if (!reaped)
			usleep(1000);
	} while (now_ms() < end);
	return false;
}

#endif
