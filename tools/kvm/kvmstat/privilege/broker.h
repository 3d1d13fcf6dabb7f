/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The broker: a process that scans for VMs and takes their statistics files for kvmstat. kvmstat
 * can thus give up its privileges and still see new VMs. Even if an attacker controls the broker,
 * it can send only names, numbers and statistics files.
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
	int signals;		/* signalfd that ends waiting for it, or -1 */
	bool has_answered;	/* it has listed processes once */
	bool is_pending;	/* the answer to pending is still due */
	struct broker_request pending;
};

/*
 * Starts a process that answers for @host with the privileges of this process. It ends when every
 * copy of the socket is closed, or with the thread that started it. If it ends before, the next
 * question ends kvmstat with an error. The first list of processes has no time limit: after some
 * seconds kvmstat prints an error line, and a signal ends the wait. Later questions get half a
 * second, then fail with EAGAIN. Returns STATUS_OK, or STATUS_ERROR after an error line.
 */
int broker_start(struct broker *broker, const struct host *host);

/* Makes a SOCK_SEQPACKET pair with numbers above standard error's. Returns 0 or -1. */
int socketpair_above(int sockets[2]);

/* Makes broker->host ask the other end of the socket. The broker owns the socket. */
void broker_connect(struct broker *broker, int socket, const struct host *host);
/* Closes the socket, and waits for a moment for the broker's process to end. */
void broker_close(struct broker *broker);

#endif /* KVMSTAT_BROKER_H */
