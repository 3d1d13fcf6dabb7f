// SPDX-License-Identifier: GPL-2.0
/*
 * The server. libmicrohttpd knows connections that are silent for too long, but not
 * those that send or take a byte now and then: so times are kept here, and whoever
 * exceeds them finds his connection shut down. All connections end with their answer.
 */
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "export/http.h"
#include "util/util.h"

/* libmicrohttpd stops to accept at its limit: it must not be reached, see add_client(). */
#define SPARE_CLIENTS 16

#define BLOCK_SIZE (8 << 10)

struct client {
	struct http_server *server;
	struct client *next;		/* a newer one */
	int fd;
	uint64_t started_ns;
	bool asked;
	bool dropped;
	void *page;			/* that is being sent, or NULL */
};

struct http_server {
	struct MHD_Daemon *daemon;
	struct http_site site;
	struct client *oldest;
	unsigned int num_live;		/* not dropped */
	unsigned int num_pages;
	uint64_t num_clients;
	uint64_t num_dropped;
};

static void close_page(struct client *client)
{
	if (!client->page)
		return;
	client->server->site.close(client->page);
	client->server->num_pages--;
	client->page = NULL;
}

/*
 * libmicrohttpd sees that soon, and closes it. What was sent and not taken is forgotten
 * then, it would stay in the kernel's memory otherwise.
 */
static void drop(struct client *client)
{
	struct linger none = { .l_onoff = 1, };

	close_page(client);
	setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	shutdown(client->fd, SHUT_RDWR);
	client->dropped = true;
	client->server->num_live--;
	client->server->num_dropped++;
}

/* Those that have not even asked first. */
static void drop_oldest(struct http_server *server)
{
	struct client *client, *oldest = NULL;

	for (client = server->oldest; client; client = client->next) {
		if (client->dropped)
			continue;
		if (!client->asked) {
			oldest = client;
			break;
		}
		if (!oldest)
			oldest = client;
	}
	if (oldest)
		drop(oldest);
}

static void drop_oldest_page(struct http_server *server)
{
	struct client *client;

	for (client = server->oldest; client && !client->page; client = client->next)
		;
	if (client)
		drop(client);
}

static struct client *add_client(struct http_server *server, int fd)
{
	struct client *client = xcalloc(1, sizeof(*client));
	struct client **last;

	if (server->num_live >= HTTP_MAX_CLIENTS)
		drop_oldest(server);
	*client = (struct client) {
		.server = server,
		.fd = fd,
		.started_ns = monotonic_ns(),
	};
	for (last = &server->oldest; *last; last = &(*last)->next)
		;
	*last = client;
	server->num_live++;
	server->num_clients++;
	return client;
}

static void remove_client(struct client *client)
{
	struct client **place;

	for (place = &client->server->oldest; *place != client; place = &(*place)->next)
		;
	*place = client->next;
	close_page(client);
	if (!client->dropped)
		client->server->num_live--;
	free(client);
}

static void on_connection(void *context, struct MHD_Connection *connection,
			  void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		*socket_context = add_client(context, info->connect_fd);
	} else {
		remove_client(*socket_context);
	}
}

static uint64_t deadline_of(const struct client *client)
{
	return client->started_ns + (client->asked ? HTTP_ANSWER_NS : HTTP_REQUEST_NS);
}

static void drop_late(struct http_server *server)
{
	uint64_t now_ns = monotonic_ns();
	struct client *client;

	for (client = server->oldest; client; client = client->next) {
		if (!client->dropped && now_ns >= deadline_of(client))
			drop(client);
	}
}

/* Milliseconds until something has to be done, -1 if nothing has. */
static int next_timeout(const struct http_server *server)
{
	uint64_t now_ns = monotonic_ns(), first_ns = UINT64_MAX, ms;
	const struct client *client;
	MHD_UNSIGNED_LONG_LONG daemon_ms;

	for (client = server->oldest; client; client = client->next) {
		if (!client->dropped && deadline_of(client) < first_ns)
			first_ns = deadline_of(client);
	}
	if (MHD_get_timeout(server->daemon, &daemon_ms) == MHD_YES && !daemon_ms)
		return 0;
	if (first_ns == UINT64_MAX)
		return -1;
	ms = first_ns > now_ns ? (first_ns - now_ns) / 1000000 + 1 : 0;
	return ms;
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
	length = client->server->site.read(client->page, text, size);
	if (length)
		return length;
	close_page(client);
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/* Whether there is one now. */
static bool open_page(struct client *client, const char *accept)
{
	struct http_server *server = client->server;

	if (server->num_pages >= HTTP_MAX_PAGES)
		drop_oldest_page(server);
	client->page = server->site.open(server->site.context, accept);
	if (!client->page)
		return false;
	server->num_pages++;
	return true;
}

static enum MHD_Result answer_page(struct client *client, struct MHD_Connection *connection,
				   bool head)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_ACCEPT);
	const char *type = client->server->site.type(accept);
	struct MHD_Response *response;

	if (!head && !open_page(client, accept))
		return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain",
				   "The processes of this host cannot be read.\n");
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_page,
						     client, NULL);
	/* No chunks: the end of them would be sent although nothing is in them. */
	if (response && head)
		MHD_set_response_options(response, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
	if (response)
		add_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	return answer(connection, MHD_HTTP_OK, type, response);
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
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *client = info->socket_context;
	bool head = !strcmp(method, MHD_HTTP_METHOD_HEAD);

	(void)context;
	(void)version;
	(void)data;
	(void)size;
	(void)request;
	/* What had arrived by then is read all the same. */
	if (client->dropped)
		return MHD_NO;
	client->asked = true;
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

/* The path is compared as it was sent: "%00" would hide what is behind it. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
	(void)context;
	(void)connection;
	return strlen(text);
}

struct http_server *http_open(int fd, const struct http_site *site)
{
	struct http_server *server = xcalloc(1, sizeof(*server));

	server->site = *site;
	server->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, NULL,
					  MHD_OPTION_LISTEN_SOCKET, fd,
					  MHD_OPTION_CONNECTION_LIMIT,
					  HTTP_MAX_CLIENTS + SPARE_CLIENTS,
					  MHD_OPTION_CONNECTION_MEMORY_LIMIT,
					  (size_t)HTTP_MAX_REQUEST,
					  MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
					  MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
					  MHD_OPTION_END);
	if (!server->daemon) {
		free(server);
		return NULL;
	}
	return server;
}

void http_close(struct http_server *server)
{
	MHD_stop_daemon(server->daemon);
	free(server);
}

int http_serve(struct http_server *server, int end)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = {
		{ .fd = end, .events = POLLIN, },
		{ .fd = info->epoll_fd, .events = POLLIN, },
		{ .fd = server->site.events, .events = POLLIN, },
	};

	while (!fds[0].revents) {
		if (poll(fds, ARRAY_SIZE(fds), next_timeout(server)) < 0 && errno != EINTR)
			return -errno;
		if (fds[2].revents)
			server->site.on_event(server->site.context);
		drop_late(server);
		MHD_run(server->daemon);
	}
	return 0;
}

uint64_t http_num_clients(const struct http_server *server)
{
	return server->num_clients;
}

uint64_t http_num_dropped(const struct http_server *server)
{
	return server->num_dropped;
}
