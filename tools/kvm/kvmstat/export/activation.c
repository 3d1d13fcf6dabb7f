// SPDX-License-Identifier: GPL-2.0
/*
 * The socket that a process is started with. What the environment says is not taken for
 * granted: it may be that of somebody else's child.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/activation.h"
#include "util/util.h"

#define FIRST_SOCKET 3

bool activation_is_there(void)
{
	const char *owner = getenv("LISTEN_PID");
	uint64_t pid;

	return owner && !parse_number(owner, 1, INT_MAX, &pid) && (pid_t)pid == getpid();
}

/* NULL, or what is wrong with it. */
static const char *look_at(int fd, struct listen_address *address)
{
	int type, is_listening;
	socklen_t size = sizeof(type);

	/* A path without an end gets one. */
	address->length = sizeof(address->local) - 1;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) ||
	    getsockname(fd, &address->any, &address->length))
		return strerror(errno);
	if (type != SOCK_STREAM || !is_listening)
		return "nobody can connect to it";
	switch (address->any.sa_family) {
	case AF_INET:
	case AF_INET6:
	case AF_UNIX:
		return NULL;
	default:
		return "it is neither of IPv4 nor of IPv6 nor a unix socket";
	}
}

int activation_take(struct listener *listener)
{
	const char *count = getenv("LISTEN_FDS");
	const char *error = NULL;
	uint64_t number = 0;
	int flags;

	*listener = (struct listener) { .fd = FIRST_SOCKET, .guard = -1, };
	if (!count || parse_number(count, 1, 1, &number))
		error = "there must be one";
	else
		error = look_at(listener->fd, &listener->address);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (error) {
		print_error("the socket of LISTEN_FDS: %s", error);
		return -1;
	}
	fcntl(listener->fd, F_SETFD, FD_CLOEXEC);
	flags = fcntl(listener->fd, F_GETFL);
	fcntl(listener->fd, F_SETFL, flags | O_NONBLOCK);
	return 0;
}
