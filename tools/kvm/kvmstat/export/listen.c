// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of IPv4, IPv6 and the unix domain.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/listen.h"
#include "util/util.h"

/* How many may wait to be accepted. */
#define BACKLOG 128

#define UNIX_PREFIX "unix:"

/* In the place of standard input. */
#define GUARD_SOCKET 0

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

static void remove_socket(const char *path, const struct stat *own)
{
	struct stat file;

	if (!lstat(path, &file) && file.st_dev == own->st_dev && file.st_ino == own->st_ino)
		unlink(path);
}

/*
 * Where systemd does not keep the socket: who serves has given up the privileges that it takes
 * to remove it. Learns which file it is, and then waits for the other end to be closed. It
 * removes nothing but what has the path, whatever it is told.
 */
static void __attribute__((noreturn)) guard(const char *path)
{
	struct stat own;
	char more;

	/* A signal to all of the group ends the other one, which then ends this one. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, "kvmstat-socket");
	/* Of the broker's socket, too, the last one that is closed ends it. */
	close_files_above_stderr();
	if (recv(GUARD_SOCKET, &own, sizeof(own), 0) == sizeof(own)) {
		while (recv(GUARD_SOCKET, &more, sizeof(more), 0) > 0)
			;
		remove_socket(path, &own);
	}
	_exit(0);
}

/* -1 if there can be none. It does not have the socket that it removes. */
static int start_guard(const char *path)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	pid = fork();
	if (!pid) {
		/* Also where there is no /proc: it would wait for itself. */
		close(ends[0]);
		if (dup2(ends[1], GUARD_SOCKET) < 0)
			_exit(1);
		guard(path);
	}
	close(ends[1]);
	if (pid > 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

static void end_guard(int guard)
{
	char more;

	shutdown(guard, SHUT_WR);
	/* It is over when it has ended. */
	while (recv(guard, &more, sizeof(more), 0) > 0)
		;
	close(guard);
}

static int open_path(struct listener *listener)
{
	const char *path = listener->address.local.sun_path;
	struct stat own;

	listener->guard = start_guard(path);
	if (listener->guard < 0)
		return -1;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0 || bind_path(listener->fd, &listener->address))
		return -1;
	if (lstat(path, &own) || send(listener->guard, &own, sizeof(own), 0) < 0)
		return -1;
	return listen(listener->fd, BACKLOG);
}

static int open_port(struct listener *listener)
{
	struct listen_address *address = &listener->address;

	listener->fd = socket(address->any.sa_family,
			      SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0 || bind_port(listener->fd, address) ||
	    getsockname(listener->fd, &address->any, &address->length))
		return -1;
	return listen(listener->fd, BACKLOG);
}

int listen_open(const struct listen_address *address, struct listener *listener)
{
	bool is_unix = address->any.sa_family == AF_UNIX;
	char *text;
	int err;

	*listener = (struct listener) { .fd = -1, .address = *address, .guard = -1, };
	if (!(is_unix ? open_path(listener) : open_port(listener)))
		return 0;
	err = errno;
	text = listen_describe(address);
	print_error("cannot listen on %s: %s", text, strerror(err));
	free(text);
	listen_close(listener);
	return -1;
}

void listen_close(struct listener *listener)
{
	if (listener->fd >= 0)
		close(listener->fd);
	if (listener->guard >= 0)
		end_guard(listener->guard);
}
