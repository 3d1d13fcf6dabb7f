/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The runner: a process that runs a command for kvmstat, which may not do so itself once it
 * has given up its privileges. The command is what the user typed and runs as the user who
 * typed it; who made kvmstat ask for it can choose when that is, and what the environment
 * says of the event, and nothing else.
 */
#ifndef KVMSTAT_RUNNER_H
#define KVMSTAT_RUNNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/text.h"

struct runner {
	int socket;			/* readable when the command has ended; -1: there is none */
	pid_t pid;
	bool is_busy;
};

/* What the command finds in its environment, as KVMSTAT_PID and the like. */
struct runner_event {
	uint64_t growth;
	uint64_t missed;
	int32_t pid;
	int32_t vcpu;			/* -1: none, the variable is empty */
	char name[TEXT_NAME_SIZE];
};

/*
 * Starts a process that runs @command by sh, with @statistic as KVMSTAT_STAT. It ends with
 * the last command when the socket is closed. To be called while there are privileges, and
 * before other files are open: the command has what is open now. STATUS_OK, or STATUS_ERROR
 * after an error line.
 */
int runner_start(struct runner *runner, const char *command, const char *statistic);

/* Not while it is busy. False after an error line: the runner is gone. */
bool runner_run(struct runner *runner, const struct runner_event *event);

/* How the command has ended: see waitpid(). False as above. Waits for it. */
bool runner_finish(struct runner *runner, int *status);

/* A command that still runs goes on by itself. */
void runner_close(struct runner *runner);

#endif /* KVMSTAT_RUNNER_H */
