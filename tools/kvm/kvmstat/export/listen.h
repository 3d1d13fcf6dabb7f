/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sockets to be listened on: of an address that somebody has typed. No name is looked
 * up, and nothing but the host itself can reach it unless that is asked for.
 */
#ifndef KVMSTAT_LISTEN_H
#define KVMSTAT_LISTEN_H

#include <netinet/in.h>
#include <stdbool.h>
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

/*
 * "[ADDR]:PORT", where ADDR is a number (that of IPv6 in brackets) or left out, which is
 * 127.0.0.1. NULL, or what is wrong with it.
 */
const char *listen_parse(const char *text, struct listen_address *address);

/* A URL, or "unix:PATH". The caller frees it. */
char *listen_describe(const struct listen_address *address);

/*
 * A file descriptor, or -1 after an error line. The address gets the port that the kernel
 * chose for 0.
 */
int listen_open(struct listen_address *address);

/*
 * Whether there are sockets that another process listens on for this one: systemd's socket
 * activation, which takes libsystemd. And takes the socket, of which there must be one, of
 * whatever kind: as listen_open().
 */
bool listen_is_activated(void);
int listen_take_over(struct listen_address *address);

#endif /* KVMSTAT_LISTEN_H */
