/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The broker: a process that scans for VMs and takes their statistics files for kvmstat, which
 * can thus give up its privileges and still see new VMs. A broker that was taken over can send
 * names, numbers and statistics files, nothing else.
 */
#ifndef KVMSTAT_BROKER_H
#define KVMSTAT_BROKER_H

#include <sys/types.h>

#include "privilege/broker_message.h"
#include "sources/host.h"

struct broker {
	struct host host;	/* asks the broker */
	int socket;
	pid_t pid;		/* of the broker; 0: there is none to wait for */
	int signals;		/* that end waiting for it, or -1 */
	bool has_answered;	/* it has listed processes */
	bool is_pending;	/* an answer to this request will come: */
	struct broker_request pending;
};

/*
 * Starts a process that answers for @host with the privileges of this one. It ends when every
 * copy of the socket is closed, or with the thread that started it. If it ends before, the
 * next question ends kvmstat with an error. The first list of processes is waited for, with an
 * error line after some seconds, until a signal; later questions get half a second, then the
 * result is EAGAIN.
 * STATUS_OK, or STATUS_ERROR after an error line.
 */
int broker_start(struct broker *broker, const struct host *host);

/* A SOCK_SEQPACKET pair whose numbers are above standard error's. 0 or -1. */
int socketpair_above(int sockets[2]);

/* Asks the other end of the socket in @host's place; owns the socket. */
void broker_connect(struct broker *broker, int socket, const struct host *host);
/* Also waits for the process that was started, for a moment. */
void broker_close(struct broker *broker);

#endif /* KVMSTAT_BROKER_H */
