/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sockets to be listened on: of an address that somebody has typed. No name is looked
 * up, and nothing but the host itself can reach it unless that is asked for.
 */
#ifndef KVMSTAT_LISTEN_H
#define KVMSTAT_LISTEN_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

struct listen_address {
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
		struct sockaddr_un local;
	};
	socklen_t length;
};

struct listener {
	int fd;
	struct listen_address address;	/* with the port that the kernel chose for 0 */
	int guard;			/* of a unix socket: who removes it, or else -1 */
};

/*
 * "[ADDR]:PORT", where ADDR is a number (that of IPv6 in brackets) or left out, which is
 * 127.0.0.1; or "unix:PATH". NULL, or what is wrong with it.
 */
const char *listen_parse(const char *text, struct listen_address *address);

/* A URL, or "unix:PATH". The caller frees it. */
char *listen_describe(const struct listen_address *address);

/*
 * A unix socket is for its owner alone. One that is left from before, which nobody
 * listens on, is replaced. 0, or -1 after an error line.
 */
int listen_open(const struct listen_address *address, struct listener *listener);

/*
 * Removes the file of a unix socket, unless it is another one by now. That is done by a
 * process of its own, at the latest when this one ends in whatever way: this one may have
 * given up the right to do it.
 */
void listen_close(struct listener *listener);

#endif /* KVMSTAT_LISTEN_H */
