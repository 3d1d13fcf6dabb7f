// SPDX-License-Identifier: GPL-2.0
/*
 * How kvmstat starts the broker and asks it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/broker.h"
#include "util/util.h"

#define BROKER "the process that finds VMs, kvmstat-broker, "

__attribute__((__noreturn__))
static void lose_broker(void)
{
	print_error(BROKER "has ended");
	exit(STATUS_ERROR);
}

/* How long to wait for the first answer before an error line, and for each later one. */
#define FIRST_MS 3000
#define LATER_MS 500

static bool wait_for(struct pollfd *fds, size_t count, int timeout_ms)
{
	int ret;

	do
		ret = poll(fds, count, timeout_ms);
	while (ret < 0 && errno == EINTR);
	return ret > 0;
}

/* Returns whether there is an answer. Before the first answer, a signal ends the program. */
static bool wait_for_answer(const struct broker *broker, int timeout_ms)
{
	struct pollfd fds[] = {
		{ .fd = broker->socket, .events = POLLIN, },
		{ .fd = broker->signals, .events = POLLIN, },
	};

	if (broker->has_answered)
		return wait_for(fds, 1, timeout_ms);
	if (wait_for(fds, 1, FIRST_MS))
		return true;
	print_error(BROKER "does not answer (Ctrl-C)");
	wait_for(fds, ARRAY_SIZE(fds), -1);
	if (!fds[0].revents)
		exit(STATUS_ERROR);
	return true;
}

/*
 * Receives a message. *@fd, unless @fd is NULL, is the file descriptor that came with it, or -1.
 * Returns false if the message is invalid.
 */
static bool receive(const struct broker *broker, uint32_t question, struct broker_answer *answer,
		    int *fd)
{
	struct iovec data = { .iov_base = answer, .iov_len = sizeof(*answer), };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, };
	const struct cmsghdr *header;
	union broker_control control;
	ssize_t length;

	if (fd) {
		*fd = -1;
		message.msg_control = &control;
		/* CMSG_SPACE() would leave room for a second file descriptor. */
		message.msg_controllen = CMSG_LEN(sizeof(*fd));
	}
	do {
		length = recvmsg(broker->socket, &message, MSG_CMSG_CLOEXEC);
	} while (length < 0 && errno == EINTR);
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(*fd)))
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	return length >= (ssize_t)offsetof(struct broker_answer, items) &&
	       answer->num_items <= BROKER_MAX_ITEMS &&
	       (size_t)length == offsetof(struct broker_answer, items) +
				 answer->num_items * broker_item_size(question) &&
	       answer->step <= HOST_STATS && identity_is_valid(&answer->identity);
}

/* Receives one message of the pending answer. Returns false if none comes in time. */
static bool receive_pending(struct broker *broker, struct broker_answer *answer, int *fd,
			    int timeout_ms)
{
	if (!wait_for_answer(broker, timeout_ms))
		return false;
	if (!receive(broker, broker->pending.question, answer, fd))
		lose_broker();
	broker->is_pending = answer->more;
	return true;
}

/* Returns false if there is no answer for now. */
static bool ask(const struct host *host, const struct broker_request *request,
		struct broker_answer *answer, int *fd)
{
	struct broker *broker = (struct broker *)host;
	bool is_asked = broker->is_pending &&
			!memcmp(&broker->pending, request, sizeof(*request));
	bool has_waited = broker->is_pending;
	int stats;

	/* Drop the late answer to an earlier question. */
	while (broker->is_pending && !is_asked) {
		if (!receive_pending(broker, answer, &stats, 0))
			return false;
		if (stats >= 0)
			close(stats);
	}
	if (!is_asked && write(broker->socket, request, sizeof(*request)) != sizeof(*request))
		lose_broker();
	broker->pending = *request;
	broker->is_pending = true;
	return receive_pending(broker, answer, fd, is_asked && has_waited ? 0 : LATER_MS);
}

/*
 * Returns all items of the answer, and its last message in *@answer. Without an answer it returns
 * NULL, and answer->ret is -EAGAIN. The caller frees the items.
 */
static void *ask_items(const struct host *host, const struct broker_request *request,
		       struct broker_answer *answer, size_t *count)
{
	struct broker *broker = (struct broker *)host;
	size_t size = broker_item_size(request->question);
	char *items = NULL;
	bool is_there;

	*count = 0;
	for (is_there = ask(host, request, answer,
			    NULL); is_there; is_there = receive_pending(broker, answer, NULL,
			    LATER_MS)) {
		items = xreallocarray(items, *count + answer->num_items + 1, size);
		memcpy(items + *count * size, answer->items, answer->num_items * size);
		*count += answer->num_items;
		/* If the rest of the answer is late, a repeated question must not accept it. */
		broker->pending.pid = -1;
		if (answer->more)
			continue;
		broker->has_answered |= request->question == ASK_LIST ||
					request->question == ASK_FDS;
		return items;
	}
	free(items);
	*count = 0;
	answer->ret = -EAGAIN;
	return NULL;
}

/* Adds an item. Checks that they are sorted by process and by file descriptor. */
static void take_item(struct proc_list *list, const struct broker_item *item)
{
	struct proc_process *last = list->count ? &list->process[list->count - 1] : NULL;
	const struct proc_process process = { .pid = item->pid, .err = item->err, };
	const struct proc_fd fd = {
		.fd = item->fd,
		.link = item->link,
		.is_stats = item->is_stats,
	};

	if (!last || item->pid > last->pid) {
		proc_list_add(list, &process);
		last = &list->process[list->count - 1];
	} else if (item->pid != last->pid || item->err || !last->fds.count ||
		   item->fd <= last->fds.entry[last->fds.count - 1].fd) {
		lose_broker();
	}
	if (!item->err)
		proc_fds_add(&last->fds, &fd);
}

static void ask_list(const struct host *host, const struct broker_request *request,
		     struct proc_list *list, struct broker_answer *answer)
{
	size_t i, count;
	struct broker_item *item = ask_items(host, request, answer, &count);

	*list = (struct proc_list) {};
	for (i = 0; i < count; i++)
		take_item(list, &item[i]);
	free(item);
}

static int broker_list(const struct host *host, struct proc_list *list)
{
	const struct broker_request request = { .question = ASK_LIST, };
	struct broker_answer answer;

	ask_list(host, &request, list, &answer);
	return answer.ret;
}

static int broker_list_fds(const struct host *host, pid_t pid, struct proc_fds *fds)
{
	const struct broker_request request = { .question = ASK_FDS, .pid = pid, };
	struct proc_list list;
	struct broker_answer answer = {};

	ask_list(host, &request, &list, &answer);
	*fds = (struct proc_fds) {};
	if (list.count) {
		*fds = list.process[0].fds;
		list.process[0].fds = (struct proc_fds) {};
	}
	fds->num_others = answer.num_others;
	proc_list_free(&list);
	return answer.ret;
}

static int broker_list_makers(const struct host *host, struct proc_pids *makers)
{
	const struct broker_request request = { .question = ASK_MAKERS, };
	struct broker_answer answer;
	struct broker_item *item;
	size_t i;

	item = ask_items(host, &request, &answer, &makers->count);
	makers->pid = xcalloc(makers->count, sizeof(*makers->pid));
	for (i = 0; i < makers->count; i++)
		makers->pid[i] = item[i].pid;
	free(item);
	if (answer.ret)
		free(makers->pid);
	return answer.ret;
}

static bool broker_identify(const struct host *host, pid_t pid, struct identity *identity)
{
	struct broker_request request = {
		.question = ASK_IDENTITY,
		.pid = pid,
		.without_memory = identity->without_memory,
	};
	struct broker_answer answer;
	bool is_there = ask(host, &request, &answer, NULL);

	if (is_there && answer.ret == -ETIMEDOUT && !request.without_memory) {
		request.without_memory = true;
		is_there = ask(host, &request, &answer, NULL);
	}
	if (is_there)
		*identity = answer.identity;
	identity->without_memory = request.without_memory;
	return is_there;
}

static pid_t broker_thread_group(const struct host *host, pid_t pid)
{
	const struct broker_request request = { .question = ASK_THREAD_GROUP, .pid = pid, };
	struct broker_answer answer;

	return ask(host, &request, &answer, NULL) ? answer.ret : 0;
}

static int broker_read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
			       struct proc_threads *threads)
{
	const struct broker_request request = {
		.question = ASK_THREADS,
		.pid = pid,
		.num_vcpus = num_vcpus,
	};
	struct broker_answer answer;

	*threads = (struct proc_threads) {};
	threads->thread = ask_items(host, &request, &answer, &threads->count);
	threads->whole = answer.whole;
	if (!proc_threads_are_valid(threads))
		lose_broker();
	if (answer.ret)
		free(threads->thread);
	return answer.ret;
}

static int broker_get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
			    uint64_t *vm, struct host_error *error)
{
	const struct broker_request request = {
		.question = ASK_STATS,
		.pid = pid,
		.fd = fd->fd,
		.link = fd->link,
		.is_stats = fd->is_stats,
	};
	struct broker_answer answer;
	int stats;

	*error = (struct host_error) { .step = HOST_TAKE, .err = EAGAIN, };
	if (!ask(host, &request, &answer, &stats))
		return -1;
	if (stats >= 0 && !host->is_stats(stats))
		lose_broker();
	*vm = answer.vm;
	*error = (struct host_error) {
		.step = answer.step,
		.err = answer.err,
		.capability = answer.capability,
	};
	/* The broker sent a file, but this process has no room for it. */
	if (!answer.ret && stats < 0)
		*error = (struct host_error) { .step = HOST_TAKE, .err = EMFILE, };
	return stats;
}

void broker_connect(struct broker *broker, int socket, const struct host *host)
{
	*broker = (struct broker) { .host = *host, .socket = socket, .signals = -1, };
	broker->host.list = broker_list;
	broker->host.list_fds = broker_list_fds;
	broker->host.list_makers = broker_list_makers;
	broker->host.identify = broker_identify;
	broker->host.thread_group = broker_thread_group;
	broker->host.read_threads = broker_read_threads;
	broker->host.get_stats = broker_get_stats;
}

void broker_close(struct broker *broker)
{
	const struct host *host = &broker->host;
	struct pollfd process = { .fd = -1, .events = POLLIN, };
	struct host_error error;

	close(broker->socket);
	broker->socket = -1;
	if (broker->pid)
		process.fd = host->open_process(host, broker->pid, &error);
	/* If the broker hangs, the kernel kills it when this process ends (PR_SET_PDEATHSIG). */
	if (process.fd >= 0 && wait_for(&process, 1, LATER_MS))
		waitpid(broker->pid, NULL, 0);
	if (process.fd >= 0)
		close(process.fd);
	if (broker->signals >= 0)
		close(broker->signals);
}

int socketpair_above(int sockets[2])
{
	int i, fd;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -1;
	/* The caller of kvmstat may have closed the standard files. */
	for (i = 0; i < 2; i++) {
		fd = sockets[i];
		if (fd > STDERR_FILENO)
			continue;
		sockets[i] = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		close(fd);
	}
	return 0;
}

int broker_start(struct broker *broker, const struct host *host)
{
	/* Signals that end a process by default. */
	static const int ends[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, };
	pid_t parent = getpid(), pid;
	struct broker_answer ready;
	int sockets[2];
	sigset_t set;

	if (socketpair_above(sockets)) {
		print_error("socketpair: %s", strerror(errno));
		return STATUS_ERROR;
	}
	/* Otherwise both processes write what is buffered. */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* Otherwise it would not notice the end of kvmstat. */
		close(sockets[0]);
		broker_run(sockets[1], host, parent);
	}
	close(sockets[1]);
	broker_connect(broker, sockets[0], host);
	broker->pid = pid > 0 ? pid : 0;
	broker->signals = open_signals(ends, ARRAY_SIZE(ends), &set);
	if (pid > 0 && wait_for_answer(broker, 0) && receive(broker, 0, &ready, NULL))
		return STATUS_OK;
	/* The broker has printed its own errors. */
	if (pid < 0)
		print_error("fork: %s", strerror(errno));
	broker_close(broker);
	return STATUS_ERROR;
}
