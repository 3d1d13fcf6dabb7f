/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A server of one page, /metrics, by libmicrohttpd, in this thread. Clients may be slow
 * or hostile: each has a time and a size, and when there are too many, or too many pages
 * are being sent, the oldest has to go. A new client always gets its turn.
 */
#ifndef KVMSTAT_HTTP_H
#define KVMSTAT_HTTP_H

#include <stddef.h>
#include <stdint.h>

#define HTTP_MAX_CLIENTS 64
#define HTTP_MAX_PAGES 8
#define HTTP_MAX_REQUEST (16 << 10)

/* From the connection until the request is there, and until it is answered. */
#define HTTP_REQUEST_NS (5 * UINT64_C(1000000000))
#define HTTP_ANSWER_NS (15 * UINT64_C(1000000000))

/* What is served. @accept is what the client wants, or NULL. */
struct http_site {
	const char *(*type)(const char *accept);
	/* The page that is then read to its end; NULL if there is none now. */
	void *(*open)(void *context, const char *accept);
	size_t (*read)(void *page, char *text, size_t size);
	void (*close)(void *page);
	/* Called whenever this file descriptor is readable; -1: never. */
	void (*on_event)(void *context);
	int events;
	void *context;
};

struct http_server;

/* @fd: is listened on, and closed at the end. NULL if that is not possible. */
struct http_server *http_open(int fd, const struct http_site *site);
void http_close(struct http_server *server);

/* Serves until the file descriptor @end is readable. 0, or -errno. */
int http_serve(struct http_server *server, int end);

/* Clients so far, and how many of them had to go. */
uint64_t http_num_clients(const struct http_server *server);
uint64_t http_num_dropped(const struct http_server *server);

#endif /* KVMSTAT_HTTP_H */
