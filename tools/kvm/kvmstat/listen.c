// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of IPv4, IPv6 and the unix domain.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "listen.h"
#include "util.h"

/* How many may wait to be accepted. */
#define BACKLOG 128

#define UNIX_PREFIX "unix:"

static const char *parse_path(const char *path, struct listen_address *address)
{
	struct sockaddr_un *local = &address->local;

	if (!*path)
		return "has no path";
	if (strlen(path) >= sizeof(local->sun_path))
		return "has a path that is too long for a socket";
	local->sun_family = AF_UNIX;
	strcpy(local->sun_path, path);
	address->length = sizeof(*local);
	return NULL;
}

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
	if (!strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)))
		return parse_path(text + strlen(UNIX_PREFIX), address);
	if (!colon)
		return "is neither [ADDR]:PORT nor unix:PATH";
	if (parse_number(colon + 1, 0, UINT16_MAX, &port))
		return "has no port from 0 to 65535";
	length = colon - text;
	if (length >= sizeof(host))
		return "has no numeric address";
	if (length)
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
		return xasprintf(UNIX_PREFIX "%s", address->local.sun_path);
	}
}

/* Whether there is a socket that nobody listens on. errno says why not. */
static bool is_stale(const struct listen_address *address)
{
	struct stat file;
	bool refused;
	int fd;

	if (lstat(address->local.sun_path, &file))
		return false;
	if (!S_ISSOCK(file.st_mode)) {
		errno = ENOTSOCK;
		return false;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	refused = connect(fd, &address->any, address->length) && errno == ECONNREFUSED;
	close(fd);
	errno = EADDRINUSE;
	return refused;
}

static int bind_path(int fd, const struct listen_address *address)
{
	/* Nobody but its owner may connect, not even before a chmod() would be over. */
	mode_t mask = umask(0177);
	int ret = bind(fd, &address->any, address->length);

	if (ret && errno == EADDRINUSE && is_stale(address)) {
		unlink(address->local.sun_path);
		ret = bind(fd, &address->any, address->length);
	}
	umask(mask);
	return ret;
}

static int bind_port(int fd, const struct listen_address *address)
{
	int on = 1, off = 0;

	/* Connections of an exporter that has ended do not keep the next one away. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	return bind(fd, &address->any, address->length);
}

static int bind_any(int fd, const struct listen_address *address)
{
	if (address->any.sa_family == AF_UNIX)
		return bind_path(fd, address);
	return bind_port(fd, address);
}

static int fail(const struct listen_address *address, int fd)
{
	int err = errno;
	char *text = listen_describe(address);

	print_error("cannot listen on %s: %s", text, strerror(err));
	free(text);
	if (fd >= 0)
		close(fd);
	return -1;
}

int listen_open(const struct listen_address *address, struct listener *listener)
{
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*listener = (struct listener) { .fd = fd, .address = *address, };
	if (fd < 0 || bind_any(fd, address))
		return fail(address, fd);
	if (address->any.sa_family == AF_UNIX)
		stat(address->local.sun_path, &listener->file);
	else
		getsockname(fd, &listener->address.any, &listener->address.length);
	if (!listen(fd, BACKLOG))
		return 0;
	fail(address, -1);
	listen_close(listener);
	return -1;
}

void listen_close(struct listener *listener)
{
	const char *path = listener->address.local.sun_path;
	struct stat file;

	close(listener->fd);
	if (listener->address.any.sa_family == AF_UNIX && !lstat(path, &file) &&
	    file.st_dev == listener->file.st_dev && file.st_ino == listener->file.st_ino)
		unlink(path);
}
