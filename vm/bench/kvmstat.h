/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the programs that measure kvmstat. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

/* Sets the limit of files per process. */
static inline void begin(rlim_t num_files)
{
	struct rlimit files = { num_files, num_files };

	setvbuf(stdout, NULL, _IOLBF, 0);
	check_clock();
	sure(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	kvm = sure(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
}

/* Run "kvmstat ARGUMENT" with @output as standard output, until this process ends. */
static inline pid_t start_kvmstat(const char *argument, int output)
{
	pid_t pid = sure(fork(), "fork");

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sure(dup2(output, STDOUT_FILENO), "dup2");
	execlp("kvmstat", "kvmstat", argument, NULL);
	fail("kvmstat");
}

static inline void check_kvmstat(pid_t pid)
{
	errno = ESRCH;
	if (waitpid(pid, NULL, WNOHANG))
		fail("kvmstat ended");
}

/* Starts a process that calls prepare() and keeps what it creates until this process ends. */
static inline pid_t start_process(void (*prepare)(void))
{
	int ready[2];
	pid_t pid;
	char byte;

	sure(pipe2(ready, O_CLOEXEC), "pipe");
	pid = sure(fork(), "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prepare();
		if (write(ready[1], "", 1) != 1)
			fail("pipe");
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		fail("a started process ended");
	close(ready[0]);
	return pid;
}
