// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of IPv4 and IPv6, and of systemd.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "export/listen.h"
#include "util/util.h"

/* How many may wait to be accepted. */
#define BACKLOG 128

static const char *parse_ipv4(const char *host, uint16_t port, struct listen_address *address)
{
	struct sockaddr_in *ipv4 = &address->ipv4;

	if (inet_pton(AF_INET, host, &ipv4->sin_addr) != 1)
		return "has no numeric address";
	ipv4->sin_family = AF_INET;
	ipv4->sin_port = htons(port);
	address->length = sizeof(*ipv4);
	return NULL;
}

static const char *parse_ipv6(const char *host, uint16_t port, struct listen_address *address)
{
	struct sockaddr_in6 *ipv6 = &address->ipv6;

	if (inet_pton(AF_INET6, host, &ipv6->sin6_addr) != 1)
		return "has no numeric address in the brackets";
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = htons(port);
	address->length = sizeof(*ipv6);
	return NULL;
}

const char *listen_parse(const char *text, struct listen_address *address)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	uint64_t port;
	size_t length;

	*address = (struct listen_address) {};
	if (!colon)
		return "is not [ADDR]:PORT";
	if (parse_number(colon + 1, 0, UINT16_MAX, &port))
		return "has no port from 0 to 65535";
	length = colon - text;
	if (length >= sizeof(host))
		return "has no numeric address";
	if (length && (length != strlen("localhost") || strncmp(text, "localhost", length)))
		snprintf(host, sizeof(host), "%.*s", (int)length, text);
	if (host[0] != '[')
		return parse_ipv4(host, port, address);
	if (host[length - 1] != ']')
		return "has no numeric address in the brackets";
	host[length - 1] = '\0';
	return parse_ipv6(host + 1, port, address);
}

char *listen_describe(const struct listen_address *address)
{
	char host[INET6_ADDRSTRLEN];

	switch (address->any.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &address->ipv4.sin_addr, host, sizeof(host));
		return xasprintf("http://%s:%u/metrics", host, ntohs(address->ipv4.sin_port));
	case AF_INET6:
		inet_ntop(AF_INET6, &address->ipv6.sin6_addr, host, sizeof(host));
		return xasprintf("http://[%s]:%u/metrics", host, ntohs(address->ipv6.sin6_port));
	default:
		return xasprintf("unix:%s", address->local.sun_path);
	}
}

static int open_port(struct listen_address *address)
{
	int on = 1, off = 0;
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* Connections of an exporter that has ended do not keep the next one away. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (fd >= 0 && !bind(fd, &address->any, address->length) && !listen(fd, BACKLOG) &&
	    !getsockname(fd, &address->any, &address->length))
		return fd;
	on = errno;
	if (fd >= 0)
		close(fd);
	errno = on;
	return -1;
}

int listen_open(struct listen_address *address)
{
	int fd = open_port(address), err = errno;
	char *text;

	if (fd >= 0)
		return fd;
	text = listen_describe(address);
	print_error("cannot listen on %s: %s", text, strerror(err));
	free(text);
	return -1;
}

bool listen_is_activated(void)
{
#ifdef HAVE_SYSTEMD
	return sd_listen_fds(0);
#else
	return false;
#endif
}

int listen_take_over(struct listen_address *address)
{
#ifdef HAVE_SYSTEMD
	const int fd = SD_LISTEN_FDS_START;
	int flags;

	/* A path without an end gets one. */
	address->length = sizeof(address->local) - 1;
	if (sd_listen_fds(1) == 1 && sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) > 0 &&
	    !getsockname(fd, &address->any, &address->length)) {
		flags = fcntl(fd, F_GETFL);
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
		return fd;
	}
#endif
	print_error("LISTEN_FDS: there must be one socket, to which clients can connect");
	(void)address;
	return -1;
}
