// SPDX-License-Identifier: GPL-2.0
/*
 * The broker and how it is asked. Requests and answers are structs in messages of a socket that
 * only these two processes have: one request, then its answer, in as many messages as that takes.
 * Neither side believes the other: what makes no sense ends the connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/broker.h"
#include "privilege/privilege.h"
#include "util/util.h"

#define MAX_ITEMS 128

enum question {
	ASK_LIST,
	ASK_MAKERS,
	ASK_FDS,
	ASK_IDENTITY,
	ASK_THREAD_GROUP,
	ASK_THREADS,
	ASK_STATS,
};

/* A file descriptor of a process, or, with an error, a process. */
struct item {
	int32_t pid;
	int32_t err;
	int32_t fd;
	int32_t link;
	uint32_t is_stats;
};

struct answer {
	int32_t ret;
	uint32_t step;		/* these three are a struct host_error */
	int32_t err;
	int32_t capability;
	uint64_t vm;
	uint64_t num_others;	/* of a struct proc_fds */
	struct proc_whole whole;	/* of a struct proc_threads */
	struct identity identity;
	uint32_t more;		/* another message follows */
	uint32_t num_items;	/* struct proc_thread for ASK_THREADS, else struct item */
	alignas(8) char items[MAX_ITEMS * sizeof(struct proc_thread)];
};

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static size_t item_size(uint32_t question)
{
	return question == ASK_THREADS ? sizeof(struct proc_thread) : sizeof(struct item);
}

/* The broker's side. */

/* With the file descriptor, unless it is -1. False if the other end is closed. */
static bool send_answer(int socket, const struct answer *answer, uint32_t question, int fd)
{
	struct iovec data = {
		.iov_base = (void *)answer,
		.iov_len = offsetof(struct answer, items) +
			   answer->num_items * item_size(question),
	};
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, };
	union control control = {};
	ssize_t sent;

	if (fd >= 0) {
		control.header = (struct cmsghdr) {
			.cmsg_len = CMSG_LEN(sizeof(fd)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	do {
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent >= 0;
}

struct items {
	struct item *item;
	size_t count;
};

static void add_item(struct items *items, const struct item *item)
{
	items->item = xgrow(items->item, items->count, sizeof(*item));
	items->item[items->count++] = *item;
}

static void add_fds(struct items *items, pid_t pid, const struct proc_fds *fds)
{
	size_t i;

	for (i = 0; i < fds->count; i++)
		add_item(items, &(struct item) {
			.pid = pid,
			.fd = fds->entry[i].fd,
			.link = fds->entry[i].link,
			.is_stats = fds->entry[i].is_stats,
		});
}

/*
 * A process can hold its mmap_lock, or the lock of its execve(), for as long as it likes. Reading
 * its command line or taking one of its files then waits until a fatal signal. Before such a
 * question the worker therefore sets an alarm that kills it. Each death halves the time for the
 * next question, each second doubles it: many such processes do not add up.
 */
#define MOST_PATIENCE_NS (NSEC_PER_SEC / 4)
#define LEAST_PATIENCE_NS (NSEC_PER_SEC / 100)

static struct {
	uint64_t ns;		/* after the last death of a worker, */
	uint64_t since_ns;	/* at this time; 0: there was none */
} patience;

static uint64_t patience_ns(void)
{
	uint64_t ns = patience.ns, passed_ns = monotonic_ns() - patience.since_ns;

	if (!patience.since_ns)
		return MOST_PATIENCE_NS;
	for (; passed_ns >= NSEC_PER_SEC && ns < MOST_PATIENCE_NS; passed_ns -= NSEC_PER_SEC)
		ns *= 2;
	return ns < MOST_PATIENCE_NS ? ns : MOST_PATIENCE_NS;
}

static void lose_patience(void)
{
	uint64_t ns = patience_ns() / 2;

	patience.ns = ns > LEAST_PATIENCE_NS ? ns : LEAST_PATIENCE_NS;
	patience.since_ns = monotonic_ns();
}

/* 0 turns it off, before the answer is sent: otherwise a question may get two. */
static void set_alarm(uint64_t ns)
{
	const struct itimerval alarm = { .it_value.tv_usec = ns / 1000, };

	setitimer(ITIMER_REAL, &alarm, NULL);
}

static void list_processes(const struct host *host, struct answer *answer, struct items *items)
{
	const struct proc_process *process;
	struct proc_list list;
	size_t i;

	answer->ret = host->list(host, &list);
	for (i = 0; i < list.count; i++) {
		process = &list.process[i];
		if (process->err)
			add_item(items, &(struct item) {
				.pid = process->pid, .err = process->err,
			});
		else
			add_fds(items, process->pid, &process->fds);
	}
	proc_list_free(&list);
}

static void list_makers(const struct host *host, struct answer *answer, struct items *items)
{
	struct proc_pids makers = {};
	size_t i;

	answer->ret = host->list_makers ? host->list_makers(host, &makers) : -ENOTSUP;
	for (i = 0; !answer->ret && i < makers.count; i++)
		add_item(items, &(struct item) { .pid = makers.pid[i], });
	free(makers.pid);
}

static int take_stats(const struct host *host, const struct broker_request *request,
		      struct answer *answer)
{
	const struct proc_fd fd = {
		.fd = request->fd,
		.link = request->link,
		.is_stats = request->is_stats,
	};
	struct host_error error = {};
	int stats;

	set_alarm(patience_ns());
	stats = host->get_stats(host, request->pid, &fd, &answer->vm, &error);
	set_alarm(0);
	answer->ret = stats < 0 ? -1 : 0;
	answer->step = error.step;
	answer->err = error.err;
	answer->capability = error.capability;
	return stats;
}

static bool makes_sense(const struct broker_request *request)
{
	if (request->question <= ASK_MAKERS)
		return true;
	if (request->question > ASK_STATS || request->pid <= 0)
		return false;
	if (request->question == ASK_STATS &&
	    (request->fd < 0 || request->link < LINK_VM || request->is_stats > 1))
		return false;
	return request->num_vcpus <= INT_MAX && request->without_memory <= 1;
}

static bool reply_to(int socket, const struct broker_request *request, const struct host *host)
{
	struct answer answer = {};
	struct proc_threads threads;
	struct items found = {};
	struct proc_fds fds;
	const char *items;
	int stats = -1;
	size_t left;
	bool sent;

	switch ((enum question)request->question) {
	case ASK_LIST:
		list_processes(host, &answer, &found);
		break;
	case ASK_MAKERS:
		list_makers(host, &answer, &found);
		break;
	case ASK_FDS:
		answer.ret = host->list_fds(host, request->pid, &fds);
		answer.num_others = fds.num_others;
		add_fds(&found, request->pid, &fds);
		free(fds.entry);
		break;
	case ASK_IDENTITY:
		answer.identity.without_memory = request->without_memory;
		set_alarm(patience_ns());
		host->identify(host, request->pid, &answer.identity);
		set_alarm(0);
		break;
	case ASK_THREAD_GROUP:
		answer.ret = host->thread_group(host, request->pid);
		break;
	case ASK_THREADS:
		answer.ret = host->read_threads(host, request->pid, request->num_vcpus, &threads);
		if (answer.ret)
			break;
		answer.whole = threads.whole;
		found = (struct items) { (void *)threads.thread, threads.count, };
		break;
	case ASK_STATS:
		stats = take_stats(host, request, &answer);
		break;
	}
	items = (const char *)found.item;
	left = found.count;
	do {
		answer.num_items = left < MAX_ITEMS ? left : MAX_ITEMS;
		left -= answer.num_items;
		answer.more = left > 0;
		if (answer.num_items)
			memcpy(answer.items, items, answer.num_items * item_size(request->question));
		items += answer.num_items * item_size(request->question);
		sent = send_answer(socket, &answer, request->question, stats);
	} while (sent && left);
	free(found.item);
	if (stats >= 0)
		close(stats);
	return sent;
}

bool broker_serve(int socket, const struct host *host)
{
	struct broker_request request;
	ssize_t length;

	do {
		/* The kernel closes file descriptors that come with it. */
		length = read(socket, &request, sizeof(request));
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return true;
		if (length != sizeof(request) || !makes_sense(&request))
			return false;
	} while (reply_to(socket, &request, host));
	return true;
}

/* No file that is opened later gets a number up to that of standard error. */
static bool arrange_files(int socket)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	return dup2(socket, BROKER_SOCKET) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

__attribute__((__noreturn__))
static void be_worker(const struct host *host, pid_t parent)
{
	sigset_t alarm;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_ERROR);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	_exit(broker_serve(BROKER_SOCKET, host) ? STATUS_OK : STATUS_ERROR);
}

/* Answers for a worker that died while a process made it wait, and starts another one. */
static int supervise(const struct host *host)
{
	const struct answer late = { .ret = -ETIMEDOUT, .step = HOST_TAKE, .err = ETIMEDOUT, };
	pid_t self = getpid(), worker;
	int status;

	for (;;) {
		worker = fork();
		if (!worker)
			be_worker(host, self);
		if (worker < 0 || waitpid(worker, &status, 0) != worker)
			return STATUS_ERROR;
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WTERMSIG(status) != SIGALRM || !send_answer(BROKER_SOCKET, &late, 0, -1))
			return STATUS_ERROR;
		lose_patience();
	}
}

__attribute__((__noreturn__))
static void be_broker(int socket, const struct host *host, pid_t parent)
{
	const struct answer ready = {};
	sigset_t all;

	/* The terminal's signals are for kvmstat. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* The parent may have ignored these: one kills the worker, the other reports its end. */
	signal(SIGALRM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "kvmstat-broker");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || !arrange_files(socket) ||
	    privilege_drop(USE_BROKER) != STATUS_OK)
		_exit(STATUS_ERROR);
	close_files_above_stderr();
	if (!send_answer(BROKER_SOCKET, &ready, 0, -1))
		_exit(STATUS_ERROR);
	_exit(supervise(host));
}

/* The side that asks. */

#define BROKER "the process that finds VMs, kvmstat-broker, "

__attribute__((__noreturn__))
static void lose_broker(void)
{
	print_error(BROKER "has ended");
	exit(STATUS_ERROR);
}

/* How long to wait for a first answer before saying so, and for later ones at all. */
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

/* Returns whether there is an answer. A signal that is blocked may end waiting for the first. */
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
 * Receives a message, and in *@fd, unless that is NULL, the file descriptor that came with it, or
 * -1. Returns false if it makes no sense.
 */
static bool receive(const struct broker *broker, uint32_t question, struct answer *answer, int *fd)
{
	struct iovec data = { .iov_base = answer, .iov_len = sizeof(*answer), };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, };
	const struct cmsghdr *header;
	union control control;
	ssize_t length;

	if (fd) {
		*fd = -1;
		message.msg_control = &control;
		/* CMSG_SPACE() would leave room for a second one. */
		message.msg_controllen = CMSG_LEN(sizeof(*fd));
	}
	do {
		length = recvmsg(broker->socket, &message, MSG_CMSG_CLOEXEC);
	} while (length < 0 && errno == EINTR);
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(*fd)))
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	return length >= (ssize_t)offsetof(struct answer, items) &&
	       answer->num_items <= MAX_ITEMS &&
	       (size_t)length == offsetof(struct answer, items) +
				 answer->num_items * item_size(question) &&
	       answer->step <= HOST_STATS && identity_is_valid(&answer->identity);
}

/* Receives one message of the pending answer, or says that there is none. */
static bool receive_pending(struct broker *broker, struct answer *answer, int *fd, int timeout_ms)
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
		struct answer *answer, int *fd)
{
	struct broker *broker = (struct broker *)host;
	bool is_asked = broker->is_pending &&
			!memcmp(&broker->pending, request, sizeof(*request));
	bool has_waited = broker->is_pending;
	int stats;

	/* Drop the answer to a question that was given up. */
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
 * All items of the answer, and in *@answer its last message. NULL, and -EAGAIN as its result, if
 * there is none. The caller frees them.
 */
static void *ask_items(const struct host *host, const struct broker_request *request,
		       struct answer *answer, size_t *count)
{
	struct broker *broker = (struct broker *)host;
	size_t size = item_size(request->question);
	char *items = NULL;
	bool is_there;

	*count = 0;
	for (is_there = ask(host, request, answer, NULL); is_there;
	     is_there = receive_pending(broker, answer, NULL, LATER_MS)) {
		items = xreallocarray(items, *count + answer->num_items + 1, size);
		memcpy(items + *count * size, answer->items, answer->num_items * size);
		*count += answer->num_items;
		/* What is left of a part of an answer is of no use. */
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

/* A process has its file descriptors one after the other, and all are sorted: check that. */
static void take_item(struct proc_list *list, const struct item *item)
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
		     struct proc_list *list, struct answer *answer)
{
	size_t i, count;
	struct item *item = ask_items(host, request, answer, &count);

	*list = (struct proc_list) {};
	for (i = 0; i < count; i++)
		take_item(list, &item[i]);
	free(item);
}

static int broker_list(const struct host *host, struct proc_list *list)
{
	const struct broker_request request = { .question = ASK_LIST, };
	struct answer answer;

	ask_list(host, &request, list, &answer);
	return answer.ret;
}

static int broker_list_fds(const struct host *host, pid_t pid, struct proc_fds *fds)
{
	const struct broker_request request = { .question = ASK_FDS, .pid = pid, };
	struct proc_list list;
	struct answer answer = {};

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
	struct answer answer;
	struct item *item;
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
	struct answer answer;
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
	struct answer answer;

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
	struct answer answer;

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
	struct answer answer;
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
	/* It could be sent, but not received. */
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
	/* A broker that cannot end by itself is killed when this process ends. */
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
	/* These end a process that does not handle them. */
	static const int ends[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, };
	pid_t parent = getpid(), pid;
	struct answer ready;
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
		/* So that it sees the end of the other process. */
		close(sockets[0]);
		be_broker(sockets[1], host, parent);
	}
	close(sockets[1]);
	broker_connect(broker, sockets[0], host);
	broker->pid = pid > 0 ? pid : 0;
	broker->signals = open_signals(ends, ARRAY_SIZE(ends), &set);
	if (pid > 0 && wait_for_answer(broker, 0) && receive(broker, 0, &ready, NULL))
		return STATUS_OK;
	/* The broker itself has said what went wrong in it. */
	if (pid < 0)
		print_error("fork: %s", strerror(errno));
	broker_close(broker);
	return STATUS_ERROR;
}
