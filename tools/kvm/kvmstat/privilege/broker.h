/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The broker: a process that looks for VMs and opens their statistics files for
 * kvmstat, which can thus give up all its privileges and still see VMs that come later.
 * All that ever comes from it are names, numbers and statistics files: from one that was
 * taken over no other file is taken.
 */
#ifndef KVMSTAT_BROKER_H
#define KVMSTAT_BROKER_H

#include <sys/types.h>

#include "sources/host.h"

struct broker {
	struct host host;	/* which asks it */
	int socket;
	pid_t pid;		/* which answers; 0: it is not waited for */
	int signals;		/* that end the waiting, or -1 */
};

/*
 * Starts a process that answers for @host and keeps the privileges that this takes. It
 * ends when all that have the socket have ended or closed it, or with the thread that
 * started it. Should it end before, whoever asks it ends with an error line. If it does not
 * answer for some seconds there is one as well, and then a signal ends the waiting.
 * STATUS_OK, or STATUS_ERROR after an error line.
 */
int broker_start(struct broker *broker, const struct host *host);

/* Messages to a process that is forked; no number up to that of standard error. 0 or -1. */
int socketpair_above(int sockets[2]);

/* Asks what is at the other end of the socket in @host's place; owns the socket. */
void broker_connect(struct broker *broker, int socket, const struct host *host);
/* And waits for who was started. */
void broker_close(struct broker *broker);

/* Answers until the other end of the socket is closed: true. Or asks what makes no sense: false. */
bool broker_serve(int socket, const struct host *host);

#endif /* KVMSTAT_BROKER_H */
