// SPDX-License-Identifier: GPL-2.0
/*
 * The HTTP server, with libmicrohttpd. The library's timeout ends silent connections, but not those
 * that send or take a byte now and then: deadlines are kept here. A connection ends with its
 * answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "export/render_openmetrics.h"
#include "export/server.h"
#include "util/util.h"

/* How many connections may wait to be accepted. */
#define BACKLOG 128

/* Room for dropped clients until libmicrohttpd closes them: at its limit it accepts no client. */
#define SPARE_CLIENTS 16

#define BLOCK_SIZE (8 << 10)

const char *listen_parse(const char *text, struct listen_address *address)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	struct sockaddr_in6 *ipv6 = &address->ipv6;
	struct sockaddr_in *ipv4 = &address->ipv4;
	size_t length;
	uint64_t port;

	*address = (struct listen_address) {};
	if (!colon)
		return "is not [ADDR]:PORT";
	if (parse_number(colon + 1, 0, UINT16_MAX, &port))
		return "has no port from 0 to 65535";
	length = colon - text;
	snprintf(host, sizeof(host), "%.*s", (int)length, text);
	if (!*host || !strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	if (length > 2 && text[0] == '[' && text[length - 1] == ']' && length < sizeof(host)) {
		host[length - 1] = '\0';
		ipv6->sin6_family = AF_INET6;
		ipv6->sin6_port = htons(port);
		address->length = sizeof(*ipv6);
		return inet_pton(AF_INET6, host + 1, &ipv6->sin6_addr) == 1 ?
		       NULL : "has no numeric address";
	}
	ipv4->sin_family = AF_INET;
	ipv4->sin_port = htons(port);
	address->length = sizeof(*ipv4);
	return inet_pton(AF_INET, host, &ipv4->sin_addr) == 1 ? NULL : "has no numeric address";
}

char *listen_describe(const struct listen_address *address)
{
	char host[INET6_ADDRSTRLEN];

	if (address->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &address->ipv4.sin_addr, host, sizeof(host));
		return xasprintf("http://%s:%u/metrics", host, ntohs(address->ipv4.sin_port));
	}
	inet_ntop(AF_INET6, &address->ipv6.sin6_addr, host, sizeof(host));
	return xasprintf("http://[%s]:%u/metrics", host, ntohs(address->ipv6.sin6_port));
}

static bool find_address(int fd, struct listen_address *address)
{
	*address = (struct listen_address) { .length = sizeof(address->ipv6), };
	return !getsockname(fd, &address->any, &address->length);
}

int listen_open(struct listen_address *address)
{
	int on = 1, off = 0, family = address->any.sa_family, err;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char *text;

	/* Let a restarted exporter bind although connections of the last one linger. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (fd >= 0 && !bind(fd, &address->any, address->length) &&
	    !listen(fd, BACKLOG) && find_address(fd, address))
		return fd;
	err = errno;
	text = listen_describe(address);
	print_error("cannot listen on %s: %s", text, strerror(err));
	free(text);
	if (fd >= 0)
		close(fd);
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

	if (sd_listen_fds(1) == 1 && sd_is_socket_inet(fd, AF_UNSPEC, SOCK_STREAM, 1, 0) > 0 &&
	    find_address(fd, address)) {
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		return fd;
	}
#endif
	(void)address;
	print_error("LISTEN_FDS: there must be one socket, and it must listen for TCP");
	return -1;
}

struct client {
	struct server *server;
	int fd;
	uint64_t end_ns;
	bool dropped;
	struct exposition *page;	/* being sent, or NULL */
};

struct server {
	struct MHD_Daemon *daemon;
	struct collector *collector;
	struct client *client[MAX_CLIENTS];	/* not dropped, the oldest first */
	size_t num_clients;
	bool has_failed;		/* the last scan could not read the processes */
	bool has_said;			/* it has printed that --stat matches nothing */
	uint64_t num_connections, num_dropped;
};

/* Takes the client off the list; libmicrohttpd may keep the connection for longer. */
static void forget_client(struct client *client)
{
	struct server *server = client->server;
	size_t i = 0;

	if (client->page)
		exposition_close(client->page);
	client->page = NULL;
	while (i < server->num_clients && server->client[i] != client)
		i++;
	if (i == server->num_clients)
		return;
	server->num_clients--;
	memmove(&server->client[i], &server->client[i + 1],
		(server->num_clients - i) * sizeof(*server->client));
}

/*
 * libmicrohttpd soon notices the shutdown and closes the socket. A linger time of 0 makes the
 * kernel discard bytes that the client has not taken.
 */
static void drop_oldest(struct server *server)
{
	const struct linger none = { .l_onoff = 1, };
	struct client *client = server->client[0];

	setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	shutdown(client->fd, SHUT_RDWR);
	client->dropped = true;
	server->num_dropped++;
	forget_client(client);
}

static void on_connection(void *context, struct MHD_Connection *connection,
			  void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	struct client *client = *socket_context;
	struct server *server = context;

	if (code != MHD_CONNECTION_NOTIFY_STARTED) {
		forget_client(client);
		free(client);
		return;
	}
	if (server->num_clients == MAX_CLIENTS)
		drop_oldest(server);
	client = xcalloc(1, sizeof(*client));
	client->server = server;
	client->fd = MHD_get_connection_info(connection,
					     MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	client->end_ns = monotonic_ns() + CLIENT_NS;
	*socket_context = client;
	server->client[server->num_clients++] = client;
	server->num_connections++;
}

static bool add_header(struct MHD_Response *response, const char *name, const char *text)
{
	return MHD_add_response_header(response, name, text) == MHD_YES;
}

/* Takes over the response. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      const char *type, struct MHD_Response *response)
{
	enum MHD_Result ret = MHD_NO;

	if (!response)
		return MHD_NO;
	if (add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) &&
	    add_header(response, MHD_HTTP_HEADER_CONNECTION, "close") &&
	    (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
	     add_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD")))
		ret = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return ret;
}

/* @text has to stay. */
static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
				   const char *type, const char *text)
{
	return answer(connection, status, type,
		      MHD_create_response_from_buffer(strlen(text), (void *)text,
						      MHD_RESPMEM_PERSISTENT));
}

static ssize_t read_page(void *context, uint64_t position, char *text, size_t size)
{
	struct client *client = context;
	size_t length;

	(void)position;
	if (!client->page)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	length = exposition_read(client->page, text, size);
	return length ? (ssize_t)length : MHD_CONTENT_READER_END_OF_STREAM;
}

/* Makes a scrape. NULL if the processes cannot be read. */
static struct exposition *open_page(struct server *server, enum exposition_format format)
{
	struct inventory *inventory = server->collector->inventory;
	struct scrape scrape;
	int ret;

	ret = collect(server->collector, &scrape);
	print_problems(inventory);
	if (ret && !server->has_failed)
		print_error("%s: %s", inventory->source->where, strerror(-ret));
	server->has_failed = ret;
	if (metrics_are_none(&server->collector->metrics) && !server->has_said) {
		print_error("there is no statistic whose name matches --stat");
		server->has_said = true;
	}
	if (ret) {
		scrape_free(&scrape);
		return NULL;
	}
	scrape.num_connections = server->num_connections;
	scrape.num_dropped = server->num_dropped;
	return exposition_open(format, &server->collector->metrics, &scrape);
}

static enum MHD_Result answer_page(struct client *client, struct MHD_Connection *connection,
				   bool head)
{
	enum exposition_format format =
		choose_format(MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							  MHD_HTTP_HEADER_ACCEPT));
	struct MHD_Response *response;

	if (!head)
		client->page = open_page(client->server, format);
	if (!head && !client->page)
		return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain",
				   "kvmstat cannot read the processes of this host.\n");
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_page,
						     client, NULL);
	/* HTTP/1.0 has no chunks: otherwise the answer to HEAD includes the last, empty chunk. */
	if (response && head)
		MHD_set_response_options(response, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
	if (response)
		add_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	return answer(connection, MHD_HTTP_OK, exposition_types[format], response);
}

static const char start_page[] =
	"<!DOCTYPE html>\n"
	"<title>kvmstat export</title>\n"
	"<p>Statistics of the virtual machines of this host:\n"
	"<a href=\"/metrics\">/metrics</a></p>\n";

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
				  const char *url, const char *method, const char *version,
				  const char *data, size_t *size, void **request)
{
	struct client *client =
		MHD_get_connection_info(connection,
					MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	bool head = !strcmp(method, MHD_HTTP_METHOD_HEAD);

	(void)context;
	(void)version;
	(void)data;
	(void)size;
	(void)request;
	/* libmicrohttpd still parses a request that arrived before the drop. */
	if (client->dropped)
		return MHD_NO;
	if (!head && strcmp(method, MHD_HTTP_METHOD_GET))
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain",
				   "Only GET and HEAD are possible.\n");
	if (!strcmp(url, "/metrics"))
		return answer_page(client, connection, head);
	if (!strcmp(url, "/"))
		return answer_text(connection, MHD_HTTP_OK, "text/html; charset=utf-8",
				   start_page);
	return answer_text(connection, MHD_HTTP_NOT_FOUND, "text/plain",
			   "There is /metrics, and nothing else.\n");
}

/* Compares the path as it was sent: a decoded "%00" would hide the rest of it. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
	(void)context;
	(void)connection;
	return strlen(text);
}

struct server *server_open(int fd, struct collector *collector)
{
	struct server *server = xcalloc(1, sizeof(*server));

	server->collector = collector;
	server->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, NULL,
					  MHD_OPTION_LISTEN_SOCKET, fd,
					  MHD_OPTION_CONNECTION_LIMIT, MAX_CLIENTS + SPARE_CLIENTS,
					  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MAX_REQUEST,
					  MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
					  MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
					  MHD_OPTION_END);
	if (server->daemon)
		return server;
	print_error("libmicrohttpd does not start");
	free(server);
	return NULL;
}

void server_close(struct server *server)
{
	MHD_stop_daemon(server->daemon);
	free(server);
}

/* Milliseconds until the oldest client's deadline; 0 if libmicrohttpd has work; or -1. */
static int next_timeout(const struct server *server)
{
	uint64_t now_ns = monotonic_ns(), end_ns;
	MHD_UNSIGNED_LONG_LONG daemon_ms;

	if (MHD_get_timeout(server->daemon, &daemon_ms) == MHD_YES && !daemon_ms)
		return 0;
	if (!server->num_clients)
		return -1;
	end_ns = server->client[0]->end_ns;
	return end_ns > now_ns ? (end_ns - now_ns) / 1000000 + 1 : 0;
}

int server_run(struct server *server, int end)
{
	struct pollfd fds[] = {
		{ .fd = end, .events = POLLIN, },
		{ .fd = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		  .events = POLLIN, },
		{ .fd = server->collector->inventory->events, .events = POLLIN, },
	};

	while (!fds[0].revents) {
		if (poll(fds, ARRAY_SIZE(fds), next_timeout(server)) < 0 && errno != EINTR) {
			print_error("poll: %s", strerror(errno));
			return STATUS_ERROR;
		}
		if (fds[2].revents)
			collector_events(server->collector);
		while (server->num_clients && monotonic_ns() >= server->client[0]->end_ns)
			drop_oldest(server);
		MHD_run(server->daemon);
	}
	return STATUS_OK;
}
