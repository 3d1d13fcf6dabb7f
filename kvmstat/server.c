// SPDX-License-Identifier: GPL-2.0
/*
 * Serves pages by HTTP, with libmicrohttpd. The library's timeout ends silent connections, but not
 * those that send or take a byte now and then: deadlines are kept here. A connection ends with its
 * answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <systemd/sd-daemon.h>

#include "kvmstat.h"

#define CLIENT_NS (10 * SEC)
#define MOST_CLIENTS 16
/* Room for dropped clients until libmicrohttpd closes them: at its limit it accepts no client. */
#define SPARE_CLIENTS 16
#define MOST_REQUEST 8192

struct client {
	int fd;
	uint64_t end_ns;
	bool dropped;
};

static struct {
	struct host *host;
	struct source *source;
	struct MHD_Daemon *daemon;
	struct client *client[MOST_CLIENTS];	/* not dropped, the oldest first */
	size_t num_clients;
} server;

/* Parses [ADDR]:PORT. NULL, or what is wrong. */
static const char *parse_address(const char *text, struct addrinfo **address)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_family = AF_INET, };
	const char *colon = strrchr(text, ':');
	char host[64];
	size_t size;
	uint64_t port;

	if (!colon)
		return "is not [ADDR]:PORT";
	if (!parse_u64(colon + 1, &port) || port > UINT16_MAX)
		return "has no port from 0 to 65535";
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	size = strlen(host);
	if (!size || !strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	if (size > 2 && host[0] == '[' && host[size - 1] == ']') {
		hints.ai_family = AF_INET6;
		snprintf(host, sizeof(host), "%.*s", (int)size - 2, text + 1);
	}
	return getaddrinfo(host, colon + 1, &hints, address) ? "has no numeric address" : NULL;
}

static void print_address(int fd)
{
	struct sockaddr_storage address = {};
	socklen_t length = sizeof(address);
	char host[64] = "", port[8] = "";

	getsockname(fd, (struct sockaddr *)&address, &length);
	getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	printf(strchr(host, ':') ? "http://[%s]:%s/metrics\n" : "http://%s:%s/metrics\n", host, port);
	fflush(stdout);
}

/* The socket from systemd, or a new one. -1 after an error, -2 if the address is wrong. */
static int open_socket(const char *listen_at)
{
	int on = 1, off = 0, fd, count = sd_listen_fds(1);
	struct addrinfo *address;
	const char *wrong;

	if (count > 0 && listen_at) {
		complain("--listen conflicts with the socket from LISTEN_FDS");
		return -2;
	}
	if (count > 0) {
		fd = SD_LISTEN_FDS_START;
		if (count == 1 && sd_is_socket_inet(fd, AF_UNSPEC, SOCK_STREAM, 1, 0) > 0) {
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
			return fd;
		}
		complain("LISTEN_FDS: there must be one socket, and it must listen for TCP");
		return -1;
	}
	/* The port contains the number of KVM_CAP_BINARY_STATS_FD. */
	listen_at = listen_at ?: ":10203";
	wrong = parse_address(listen_at, &address);
	if (wrong) {
		complain("'%s' %s", listen_at, wrong);
		return -2;
	}
	fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* A restarted exporter binds although connections of the last one linger. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (fd >= 0 && !bind(fd, address->ai_addr, address->ai_addrlen) && !listen(fd, 128))
		return fd;
	complain("cannot listen on %s: %s", listen_at, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Off the list; libmicrohttpd may keep the connection for longer. */
static void forget_client(const struct client *client)
{
	size_t i;

	for (i = 0; i < server.num_clients && server.client[i] != client; i++)
		;
	if (i == server.num_clients)
		return;
	server.num_clients--;
	memmove(&server.client[i], &server.client[i + 1],
		(server.num_clients - i) * sizeof(*server.client));
}

/* With a linger time of 0 the kernel discards bytes that the client has not taken. */
static void drop_oldest(void)
{
	const struct linger none = { .l_onoff = 1, };
	struct client *client = server.client[0];

	setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	shutdown(client->fd, SHUT_RDWR);
	client->dropped = true;
	exporter.num_dropped++;
	forget_client(client);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct client *client = *socket_context;

	if (code != MHD_CONNECTION_NOTIFY_STARTED) {
		forget_client(client);
		free(client);
		return;
	}
	if (server.num_clients == MOST_CLIENTS)
		drop_oldest();
	client = xcalloc(1, sizeof(*client));
	client->fd = MHD_get_connection_info(connection,
					     MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	client->end_ns = clock_ns(CLOCK_MONOTONIC) + CLIENT_NS;
	*socket_context = client;
	server.client[server.num_clients++] = client;
	exporter.num_connections++;
}

/* With @size 0, @text is constant. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      const char *type, const char *text, size_t size)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(size ?: strlen(text), (void *)text,
						size ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (size)
		MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_page(struct MHD_Connection *connection)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_ACCEPT);
	bool openmetrics = accept && strcasestr(accept, "application/openmetrics-text");
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	size_t size;
	char *page;

	if (!take_sample(server.host, server.source, 0))
		return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain",
			      "kvmstat cannot read the processes of this host.\n", 0);
	exporter.duration_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
	page = make_openmetrics(server.host, openmetrics, &size);
	host_release(server.host);
	return answer(connection, MHD_HTTP_OK, openmetrics ?
		      "application/openmetrics-text; version=1.0.0; charset=utf-8" :
		      "text/plain; version=0.0.4; charset=utf-8", page, size);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
				  const char *url, const char *method, const char *version,
				  const char *data, size_t *size, void **request)
{
	const struct client *client =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;

	/* libmicrohttpd still parses a request that arrived before the drop. */
	if (client->dropped)
		return MHD_NO;
	if (strcmp(method, MHD_HTTP_METHOD_HEAD) && strcmp(method, MHD_HTTP_METHOD_GET))
		return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain",
			      "Only GET and HEAD are possible.\n", 0);
	if (!strcmp(url, "/metrics"))
		return answer_page(connection);
	if (!strcmp(url, "/"))
		return answer(connection, MHD_HTTP_OK, "text/html; charset=utf-8",
			      "<!DOCTYPE html>\n<title>kvmstat export</title>\n"
			      "<p>Statistics of the virtual machines of this host:\n"
			      "<a href=\"/metrics\">/metrics</a></p>\n", 0);
	return answer(connection, MHD_HTTP_NOT_FOUND, "text/plain",
		      "There is /metrics, and nothing else.\n", 0);
}

/* Compares the path as it was sent: a decoded "%00" would hide the rest of it. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
	return strlen(text);
}

/* Milliseconds until the oldest client's deadline; 0 if libmicrohttpd has work; or -1. */
static int next_timeout(void)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), end_ns;
	MHD_UNSIGNED_LONG_LONG daemon_ms;

	if (MHD_get_timeout(server.daemon, &daemon_ms) == MHD_YES && !daemon_ms)
		return 0;
	if (!server.num_clients)
		return -1;
	end_ns = server.client[0]->end_ns;
	return end_ns > now_ns ? (end_ns - now_ns) / 1000000 + 1 : 0;
}

int serve(const char *listen_at, struct host *host, struct source *source, int end)
{
	struct pollfd fds[2] = { { .fd = end, .events = POLLIN, }, { .events = POLLIN, }, };
	int fd = open_socket(listen_at);

	if (fd < 0)
		return -fd;
	server.host = host;
	server.source = source;
	server.daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, NULL,
					 MHD_OPTION_LISTEN_SOCKET, fd,
					 MHD_OPTION_CONNECTION_LIMIT, MOST_CLIENTS + SPARE_CLIENTS,
					 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MOST_REQUEST,
					 MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
					 MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL,
					 MHD_OPTION_END);
	if (!server.daemon) {
		complain("libmicrohttpd does not start");
		close(fd);
		return 1;
	}
	fds[1].fd = MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	print_address(fd);
	while (!is_over && !fds[0].revents) {
		if (poll(fds, 2, next_timeout()) < 0 && errno != EINTR) {
			complain("poll: %s", strerror(errno));
			return 1;
		}
		while (server.num_clients && clock_ns(CLOCK_MONOTONIC) >= server.client[0]->end_ns)
			drop_oldest();
		MHD_run(server.daemon);
	}
	MHD_stop_daemon(server.daemon);
	return 0;
}
