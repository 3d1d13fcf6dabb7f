// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a function in a child whose seccomp filter kills it at every system call except exit.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox.h"
#include "util/util.h"

enum { TRUE_STATUS = 10, FALSE_STATUS, NO_FILTER_STATUS };

static void forbid_system_calls(void)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {
		.len = ARRAY_SIZE(instructions),
		.filter = instructions,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(NO_FILTER_STATUS);
}

static int run(bool (*call)(void *argument), void *argument)
{
	pid_t child = fork();
	int status;

	if (!child) {
		forbid_system_calls();
		syscall(SYS_exit_group, call(argument) ? TRUE_STATUS : FALSE_STATUS);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	return status;
}

bool without_system_calls(bool (*call)(void *argument), void *argument)
{
	int status = run(call, argument);

	return WIFEXITED(status) && WEXITSTATUS(status) == TRUE_STATUS;
}

bool with_system_calls(bool (*call)(void *argument), void *argument)
{
	int status = run(call, argument);

	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}
