/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Serves /metrics by HTTP in the calling thread, and opens the socket.
 */
#ifndef KVMSTAT_SERVER_H
#define KVMSTAT_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "export/scrape.h"

/*
 * Clients may be slow or hostile. Each has CLIENT_NS for its request and its answer: Prometheus
 * waits as long by default. With MAX_CLIENTS connected, a new client replaces the oldest.
 */
#define MAX_CLIENTS 16
#define MAX_REQUEST (16 << 10)
#define CLIENT_NS (10 * NSEC_PER_SEC)

struct listen_address {
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	};
	socklen_t length;
};

/*
 * "[ADDR]:PORT". ADDR is localhost or numeric (IPv6 in brackets), by default 127.0.0.1. Returns
 * NULL, or what is wrong with it.
 */
const char *listen_parse(const char *text, struct listen_address *address);

/* A URL. The caller frees it. */
char *listen_describe(const struct listen_address *address);

/*
 * Both return a socket that listens, or -1 after an error line, and set @address to its address.
 * listen_take_over() takes the one socket of systemd's socket activation.
 */
int listen_open(struct listen_address *address);
bool listen_is_activated(void);
int listen_take_over(struct listen_address *address);

struct server;

/* Takes over @fd. Returns NULL after an error line. */
struct server *server_open(int fd, struct collector *collector);
/* Serves until the file descriptor @end is readable. Returns an enum exit_status. */
int server_run(struct server *server, int end);
void server_close(struct server *server);

#endif /* KVMSTAT_SERVER_H */
