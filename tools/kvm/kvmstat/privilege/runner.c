// SPDX-License-Identifier: GPL-2.0
/*
 * The runner of commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/broker.h"
#include "privilege/runner.h"
#include "util/util.h"

#define SHELL "/bin/sh"

/* As sh has it for what it cannot run. */
#define NOT_RUN 127

static void set_number(const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	setenv(name, text, true);
}

/* The name is anybody's: no shell sees it but as what a variable has in it. */
static void set_environment(struct runner_event *event)
{
	event->name[sizeof(event->name) - 1] = '\0';
	text_make_printable(event->name);
	setenv("KVMSTAT_NAME", event->name, true);
	set_number("KVMSTAT_PID", event->pid);
	set_number("KVMSTAT_GROWTH", event->growth);
	set_number("KVMSTAT_MISSED", event->missed);
	if (event->vcpu < 0)
		setenv("KVMSTAT_VCPU", "", true);
	else
		set_number("KVMSTAT_VCPU", event->vcpu);
}

/*
 * Standard output is kvmstat's, for which a program may wait: what the command prints goes
 * where errors go. What is typed is for kvmstat, or for the shell that started it.
 */
__attribute__((__noreturn__))
static void be_command(const char *command, struct runner_event *event, const sigset_t *signals)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	set_environment(event);
	/* Which kvmstat ignores; that would be inherited. */
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, signals, NULL);
	execl(SHELL, "sh", "-c", command, NULL);
	_exit(NOT_RUN);
}

static int run(const char *command, struct runner_event *event, const sigset_t *signals)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		be_command(command, event, signals);
	while (pid > 0 && waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			pid = -1;
	}
	return pid < 0 ? NOT_RUN << 8 : status;
}

/*
 * Nothing that is typed at the terminal ends it or the command, which has no terminal: it ends
 * when nobody asks any more.
 */
__attribute__((__noreturn__))
static void be_runner(int socket, const char *command)
{
	struct runner_event event;
	sigset_t all, before;
	ssize_t length;
	int status;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* It may have been ignored: nobody would know how commands end. */
	signal(SIGCHLD, SIG_DFL);
	setsid();
	prctl(PR_SET_NAME, "kvmstat-runner");
	while ((length = read(socket, &event, sizeof(event))) == sizeof(event)) {
		status = run(command, &event, &before);
		if (send(socket, &status, sizeof(status), MSG_NOSIGNAL) != sizeof(status))
			break;
	}
	_exit(length ? STATUS_ERROR : STATUS_OK);
}

int runner_start(struct runner *runner, const char *command, const char *statistic)
{
	int sockets[2];

	if (socketpair_above(sockets)) {
		print_error("socketpair: %s", strerror(errno));
		return STATUS_ERROR;
	}
	setenv("KVMSTAT_STAT", statistic, true);
	/* What is not written yet is written once. */
	fflush(stdout);
	*runner = (struct runner) { .socket = sockets[0], .pid = fork(), };
	if (!runner->pid) {
		close(sockets[0]);
		be_runner(sockets[1], command);
	}
	close(sockets[1]);
	if (runner->pid > 0)
		return STATUS_OK;
	print_error("fork: %s", strerror(errno));
	close(runner->socket);
	runner->socket = -1;
	return STATUS_ERROR;
}

static bool lose_runner(void)
{
	print_error("the process that runs commands, kvmstat-runner, has ended");
	return false;
}

bool runner_run(struct runner *runner, const struct runner_event *event)
{
	runner->is_busy = write(runner->socket, event, sizeof(*event)) == sizeof(*event);
	return runner->is_busy || lose_runner();
}

bool runner_finish(struct runner *runner, int *status)
{
	ssize_t length;

	do {
		length = read(runner->socket, status, sizeof(*status));
	} while (length < 0 && errno == EINTR);
	runner->is_busy = false;
	return length == sizeof(*status) || lose_runner();
}

void runner_close(struct runner *runner)
{
	if (runner->socket < 0)
		return;
	close(runner->socket);
	runner->socket = -1;
	if (!runner->is_busy)
		waitpid(runner->pid, NULL, 0);
}
