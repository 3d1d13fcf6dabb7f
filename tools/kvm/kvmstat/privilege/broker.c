// SPDX-License-Identifier: GPL-2.0
/*
 * The broker and how it is asked. Requests and answers are structs in messages of a
 * socket that only these two processes have, and never wait for each other in a circle:
 * one request, and its answer, in as many messages as that takes. Neither side believes
 * the other one: what makes no sense ends the connection.
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
	ASK_FDS,
	ASK_IDENTITY,
	ASK_THREAD_GROUP,
	ASK_THREADS,
	ASK_DEBUGFS_LIST,
	ASK_DEBUGFS,
	ASK_STATS,
};

struct request {
	uint32_t question;
	int32_t pid;
	int32_t fd;
	int32_t link;
	uint32_t is_stats;
	uint32_t num_vcpus;
	uint32_t without_memory;	/* see struct identity */
};

/* A file descriptor of a process, or, with an error, a process. */
struct item {
	int32_t pid;
	int32_t err;
	int32_t fd;
	int32_t link;
	uint32_t is_stats;
};

union any_item {
	struct item item;
	struct debugfs_value value;
	struct proc_thread thread;
	struct debugfs_dir dir;
};

struct answer {
	int32_t ret;
	uint32_t step;		/* these three are a struct host_error */
	int32_t err;
	int32_t capability;
	uint64_t vm;
	uint64_t num_others;	/* of a struct proc_fds */
	struct proc_whole whole;	/* of a struct proc_threads */
	uint64_t ino;		/* these four are of a struct debugfs_vm */
	struct identity identity;
	uint32_t num_vcpus;
	uint32_t num_denied;
	int32_t pid;
	uint32_t more;		/* another answer follows */
	uint32_t num_items;	/* of those that the question is about */
	alignas(8) char items[MAX_ITEMS * sizeof(union any_item)];
};

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static size_t item_size(enum question question)
{
	switch (question) {
	case ASK_THREADS:
		return sizeof(struct proc_thread);
	case ASK_DEBUGFS_LIST:
		return sizeof(struct debugfs_dir);
	case ASK_DEBUGFS:
		return sizeof(struct debugfs_value);
	default:
		return sizeof(struct item);
	}
}

static size_t answer_size(enum question question, const struct answer *answer)
{
	return offsetof(struct answer, items) + answer->num_items * item_size(question);
}

/* The broker's side. */

struct reply {
	int socket;
	enum question question;
	struct answer answer;
};

/* With the file descriptor, unless it is -1. False if nobody receives it. */
static bool send_answer(const struct reply *reply, int fd)
{
	struct iovec data = {
		.iov_base = (void *)&reply->answer,
		.iov_len = answer_size(reply->question, &reply->answer),
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
		sent = sendmsg(reply->socket, &message, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent >= 0;
}

/* All of them, in as many messages as that takes. */
static bool send_items(struct reply *reply, const void *items, size_t count)
{
	size_t size = item_size(reply->question), done = 0;
	struct answer *answer = &reply->answer;
	bool sent;

	do {
		answer->num_items = count - done < MAX_ITEMS ? count - done : MAX_ITEMS;
		if (count)
			memcpy(answer->items, (const char *)items + done * size,
			       answer->num_items * size);
		done += answer->num_items;
		answer->more = done < count;
		sent = send_answer(reply, -1);
	} while (sent && answer->more);
	return sent;
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

static void add_process(struct items *items, pid_t pid, int err, const struct proc_fds *fds)
{
	const struct item process = { .pid = pid, .err = err, };
	struct item item;
	size_t i;

	if (err)
		add_item(items, &process);
	for (i = 0; !err && i < fds->count; i++) {
		item = (struct item) {
			.pid = pid,
			.fd = fds->entry[i].fd,
			.link = fds->entry[i].link,
			.is_stats = fds->entry[i].is_stats,
		};
		add_item(items, &item);
	}
}

static bool send_processes(struct reply *reply, struct items *items)
{
	bool sent = send_items(reply, items->item, items->count);

	free(items->item);
	return sent;
}

/*
 * A process can make whoever reads its command line or takes one of its files wait for as long
 * as it likes: it holds its mmap_lock, or the lock of its execve(). Only a fatal signal ends
 * that wait. The worker therefore sets an alarm, of which it dies, before it asks such a thing.
 * Each death halves the time for the next such question, and each second doubles it again: a
 * crowd of such processes cannot hold up the others for long either.
 */
#define MOST_PATIENCE_NS (NSEC_PER_SEC / 4)
#define LEAST_PATIENCE_NS (NSEC_PER_SEC / 100)

static struct {
	uint64_t ns;		/* after the last death of a worker, */
	uint64_t since_ns;	/* which was then; 0: there was none */
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

/* 0: none. It has to be 0 before the answer is sent, or the question has two. */
static void set_alarm(uint64_t ns)
{
	const struct itimerval alarm = { .it_value.tv_usec = ns / 1000, };

	setitimer(ITIMER_REAL, &alarm, NULL);
}

static bool reply_identity(struct reply *reply, const struct host *host,
			   const struct request *request)
{
	struct identity *identity = &reply->answer.identity;

	identity->without_memory = request->without_memory;
	set_alarm(patience_ns());
	host->identify(host, request->pid, identity);
	set_alarm(0);
	return send_answer(reply, -1);
}

static bool reply_list(struct reply *reply, const struct host *host)
{
	struct items items = {};
	struct proc_list list;
	size_t i;

	reply->answer.ret = host->list(host, &list);
	for (i = 0; i < list.count; i++)
		add_process(&items, list.process[i].pid, list.process[i].err,
			    &list.process[i].fds);
	proc_list_free(&list);
	return send_processes(reply, &items);
}

static bool reply_fds(struct reply *reply, const struct host *host, pid_t pid)
{
	struct items items = {};
	struct proc_fds fds;

	reply->answer.ret = host->list_fds(host, pid, &fds);
	reply->answer.num_others = fds.num_others;
	add_process(&items, pid, 0, &fds);
	free(fds.entry);
	return send_processes(reply, &items);
}

static bool reply_debugfs_list(struct reply *reply, const struct host *host)
{
	struct debugfs_dirs dirs = {};
	bool sent;

	reply->answer.ret = host->list_debugfs ? host->list_debugfs(host, &dirs) : -ENOTSUP;
	if (reply->answer.ret)
		return send_answer(reply, -1);
	sent = send_items(reply, dirs.dir, dirs.count);
	free(dirs.dir);
	return sent;
}

static bool reply_debugfs(struct reply *reply, const struct host *host,
			  const struct request *request)
{
	struct answer *answer = &reply->answer;
	struct debugfs_vm vm;
	bool sent;

	answer->ret = host->read_debugfs ?
		      host->read_debugfs(host, request->pid, request->fd, &vm) : -ENOTSUP;
	if (answer->ret)
		return send_answer(reply, -1);
	answer->pid = vm.pid;
	answer->ino = vm.ino;
	answer->num_vcpus = vm.num_vcpus;
	answer->num_denied = vm.num_denied;
	sent = send_items(reply, vm.value, vm.count);
	free(vm.value);
	return sent;
}

static bool reply_threads(struct reply *reply, const struct host *host,
			  const struct request *request)
{
	struct proc_threads threads;
	bool sent;

	reply->answer.ret = host->read_threads(host, request->pid, request->num_vcpus, &threads);
	if (reply->answer.ret)
		return send_answer(reply, -1);
	reply->answer.whole = threads.whole;
	sent = send_items(reply, threads.thread, threads.count);
	free(threads.thread);
	return sent;
}

static bool reply_stats(struct reply *reply, const struct host *host,
			const struct request *request)
{
	const struct proc_fd fd = {
		.fd = request->fd,
		.link = request->link,
		.is_stats = request->is_stats,
	};
	struct answer *answer = &reply->answer;
	struct host_error error = {};
	int stats;
	bool sent;

	set_alarm(patience_ns());
	stats = host->get_stats(host, request->pid, &fd, &answer->vm, &error);
	set_alarm(0);
	answer->ret = stats < 0 ? -1 : 0;
	answer->step = error.step;
	answer->err = error.err;
	answer->capability = error.capability;
	sent = send_answer(reply, stats);
	if (stats >= 0)
		close(stats);
	return sent;
}

static bool makes_sense(const struct request *request)
{
	if (request->question == ASK_LIST || request->question == ASK_DEBUGFS_LIST)
		return true;
	if (request->pid <= 0)
		return false;
	if (request->question == ASK_THREADS)
		return request->num_vcpus <= INT_MAX;
	if (request->question == ASK_DEBUGFS)
		return request->fd >= 0;
	if (request->question == ASK_STATS)
		return request->fd >= 0 && request->link >= LINK_VM && request->is_stats <= 1;
	return request->question < ASK_STATS && request->without_memory <= 1;
}

static bool reply_to(int socket, const struct request *request, const struct host *host)
{
	struct reply reply = { .socket = socket, .question = request->question, };

	switch ((enum question)request->question) {
	case ASK_LIST:
		return reply_list(&reply, host);
	case ASK_FDS:
		return reply_fds(&reply, host, request->pid);
	case ASK_IDENTITY:
		return reply_identity(&reply, host, request);
	case ASK_THREAD_GROUP:
		reply.answer.ret = host->thread_group(host, request->pid);
		break;
	case ASK_THREADS:
		return reply_threads(&reply, host, request);
	case ASK_DEBUGFS_LIST:
		return reply_debugfs_list(&reply, host);
	case ASK_DEBUGFS:
		return reply_debugfs(&reply, host, request);
	case ASK_STATS:
		return reply_stats(&reply, host, request);
	}
	return send_answer(&reply, -1);
}

bool broker_serve(int socket, const struct host *host)
{
	struct request request;
	ssize_t length;

	do {
		/* File descriptors that come with it are closed by the kernel. */
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

/* No number up to that of standard error is free for what is opened later. */
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

/* What is typed at the terminal is for kvmstat. */
static void ignore_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
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
	const struct reply late = {
		.socket = BROKER_SOCKET,
		.answer = { .ret = -ETIMEDOUT, .step = HOST_TAKE, .err = ETIMEDOUT, },
	};
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
		if (WTERMSIG(status) != SIGALRM || !send_answer(&late, -1))
			return STATUS_ERROR;
		lose_patience();
	}
}

__attribute__((__noreturn__))
static void be_broker(int socket, const struct host *host, pid_t parent)
{
	const struct reply ready = { .socket = BROKER_SOCKET, };

	ignore_signals();
	/* They may have been ignored: its worker is waited for, and dies of the other one. */
	signal(SIGALRM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "kvmstat-broker");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || !arrange_files(socket) ||
	    privilege_drop(USE_BROKER) != STATUS_OK)
		_exit(STATUS_ERROR);
	close_files_above_stderr();
	if (!send_answer(&ready, -1))
		_exit(STATUS_ERROR);
	_exit(supervise(host));
}

/* The side that asks. */

__attribute__((__noreturn__))
static void lose_broker(void)
{
	print_error("the process that looks for VMs, kvmstat-broker, has ended");
	exit(STATUS_ERROR);
}

static bool is_whole(enum question question, const struct answer *answer, size_t length)
{
	if (length < offsetof(struct answer, items) || answer->num_items > MAX_ITEMS ||
	    length != answer_size(question, answer))
		return false;
	return answer->pid >= 0 && answer->step <= HOST_STATS &&
	       identity_is_valid(&answer->identity);
}

/* It waits as long as a VMM that hangs has what it wants to read locked: that is worth a line. */
#define PATIENCE_MS 3000

/*
 * Until the file descriptor is readable. By then a signal may have come that ends kvmstat, and
 * is blocked so that it ends well; it has to do so without who does not answer.
 */
static void wait_for_broker(const struct broker *broker, int fd)
{
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLIN, },
		{ .fd = broker->signals, .events = POLLIN, },
	};
	int ret;

	do
		ret = poll(fds, 1, PATIENCE_MS);
	while (ret < 0 && errno == EINTR);
	if (ret)
		return;
	print_error("the process that looks for VMs, kvmstat-broker, does not answer (Ctrl-C)");
	do
		ret = poll(fds, ARRAY_SIZE(fds), -1);
	while (ret < 0 && errno == EINTR);
	if (!fds[0].revents)
		exit(STATUS_ERROR);
}

/* In *@fd, if that is not NULL, the file descriptor that came with it, or else -1. */
static bool receive(const struct broker *broker, enum question question, struct answer *answer,
		    int *fd)
{
	struct iovec data = { .iov_base = answer, .iov_len = sizeof(*answer), };
	union control control;
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, };
	const struct cmsghdr *header;
	ssize_t length;

	if (fd) {
		*fd = -1;
		message.msg_control = &control;
		/* The room that is left for alignment would do for another one. */
		message.msg_controllen = CMSG_LEN(sizeof(*fd));
	}
	wait_for_broker(broker, broker->socket);
	do {
		length = recvmsg(broker->socket, &message, MSG_CMSG_CLOEXEC);
	} while (length < 0 && errno == EINTR);
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(*fd)))
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	return length >= 0 && is_whole(question, answer, length);
}

static void ask(const struct host *host, const struct request *request, struct answer *answer,
		int *fd)
{
	const struct broker *broker = (const struct broker *)host;

	if (write(broker->socket, request, sizeof(*request)) != sizeof(*request) ||
	    !receive(broker, request->question, answer, fd))
		lose_broker();
}

/* All items of the answer, in *@answer the last part. The caller frees them. */
static void *ask_items(const struct host *host, const struct request *request,
		       struct answer *answer, size_t *count)
{
	const struct broker *broker = (const struct broker *)host;
	size_t size = item_size(request->question);
	char *items = NULL;

	*count = 0;
	ask(host, request, answer, NULL);
	for (;;) {
		items = xreallocarray(items, *count + answer->num_items + 1, size);
		memcpy(items + *count * size, answer->items, answer->num_items * size);
		*count += answer->num_items;
		if (!answer->more)
			return items;
		if (!receive(broker, request->question, answer, NULL))
			lose_broker();
	}
}

/* Who looks for a process, or for a file descriptor, relies on their order. */
static bool follows(const struct proc_process *last, const struct item *item)
{
	const struct proc_fds *fds = &last->fds;

	if (item->pid != last->pid)
		return item->pid > last->pid;
	return !item->err && fds->count && item->fd > fds->entry[fds->count - 1].fd;
}

/* One process has its file descriptors one after the other. */
static void take_item(struct proc_list *list, const struct item *item)
{
	struct proc_process *last = list->count ? &list->process[list->count - 1] : NULL;
	const struct proc_process process = { .pid = item->pid, .err = item->err, };
	const struct proc_fd fd = {
		.fd = item->fd,
		.link = item->link,
		.is_stats = item->is_stats,
	};

	if (last && !follows(last, item))
		lose_broker();
	if (!last || last->pid != item->pid) {
		proc_list_add(list, &process);
		last = &list->process[list->count - 1];
	}
	if (!item->err)
		proc_fds_add(&last->fds, &fd);
}

static void ask_list(const struct host *host, const struct request *request,
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
	const struct request request = { .question = ASK_LIST, };
	struct answer answer;

	ask_list(host, &request, list, &answer);
	return answer.ret;
}

static int broker_list_fds(const struct host *host, pid_t pid, struct proc_fds *fds)
{
	const struct request request = { .question = ASK_FDS, .pid = pid, };
	struct proc_list list;
	struct answer answer;

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

static void broker_identify(const struct host *host, pid_t pid, struct identity *identity)
{
	struct request request = {
		.question = ASK_IDENTITY,
		.pid = pid,
		.without_memory = identity->without_memory,
	};
	struct answer answer;

	ask(host, &request, &answer, NULL);
	if (answer.ret == -ETIMEDOUT && !request.without_memory) {
		request.without_memory = true;
		ask(host, &request, &answer, NULL);
	}
	*identity = answer.identity;
	identity->without_memory = request.without_memory;
}

static pid_t broker_thread_group(const struct host *host, pid_t pid)
{
	const struct request request = { .question = ASK_THREAD_GROUP, .pid = pid, };
	struct answer answer;

	ask(host, &request, &answer, NULL);
	return answer.ret;
}

static int broker_read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
			       struct proc_threads *threads)
{
	const struct request request = {
		.question = ASK_THREADS,
		.pid = pid,
		.num_vcpus = num_vcpus,
	};
	const struct proc_thread *thread;
	struct answer answer;
	pid_t last = 0;

	*threads = (struct proc_threads) {};
	threads->thread = ask_items(host, &request, &answer, &threads->count);
	threads->whole = answer.whole;
	/* Who looks for one of them relies on their order, too. */
	for (thread = threads->thread; thread < threads->thread + threads->count; thread++) {
		if (thread->tid <= last || thread->state > PROC_OUTSIDE ||
		    thread->times.has_ready > 1 || thread->times.num_threads != 1)
			lose_broker();
		last = thread->tid;
	}
	if (answer.ret)
		free(threads->thread);
	return answer.ret;
}

static int broker_list_debugfs(const struct host *host, struct debugfs_dirs *dirs)
{
	const struct request request = { .question = ASK_DEBUGFS_LIST, };
	struct answer answer;
	size_t i;

	dirs->dir = ask_items(host, &request, &answer, &dirs->count);
	/* Also that they are in order, so that there is an end of them. */
	for (i = 0; i < dirs->count; i++) {
		if (dirs->dir[i].pid <= 0 || dirs->dir[i].fd < 0 || dirs->dir[i].process ||
		    dirs->dir[i].seen || dirs->dir[i].unowned ||
		    (i && debugfs_compare_dirs(&dirs->dir[i - 1], &dirs->dir[i]) >= 0))
			lose_broker();
	}
	if (answer.ret)
		free(dirs->dir);
	return answer.ret;
}

static int broker_read_debugfs(const struct host *host, pid_t pid, int fd, struct debugfs_vm *vm)
{
	const struct request request = { .question = ASK_DEBUGFS, .pid = pid, .fd = fd, };
	struct debugfs_value *value;
	struct answer answer;
	size_t i, count;

	value = ask_items(host, &request, &answer, &count);
	*vm = (struct debugfs_vm) {
		.value = value,
		.count = count,
		.pid = answer.pid,
		.ino = answer.ino,
		.num_vcpus = answer.num_vcpus,
		.num_denied = answer.num_denied,
	};
	for (i = 0; i < count; i++) {
		if (count > DEBUGFS_MAX_VALUES ||
		    !memchr(value[i].file, '\0', sizeof(value[i].file)))
			lose_broker();
	}
	if (answer.ret)
		free(value);
	return answer.ret;
}

static int broker_get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
			    uint64_t *vm, struct host_error *error)
{
	const struct request request = {
		.question = ASK_STATS,
		.pid = pid,
		.fd = fd->fd,
		.link = fd->link,
		.is_stats = fd->is_stats,
	};
	struct answer answer;
	int stats;

	ask(host, &request, &answer, &stats);
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
	broker->host.identify = broker_identify;
	broker->host.thread_group = broker_thread_group;
	broker->host.read_threads = broker_read_threads;
	broker->host.list_debugfs = broker_list_debugfs;
	broker->host.read_debugfs = broker_read_debugfs;
	broker->host.get_stats = broker_get_stats;
}

void broker_close(struct broker *broker)
{
	const struct host *host = &broker->host;
	struct host_error error;
	int process = broker->pid ? host->open_process(host, broker->pid, &error) : -1;

	close(broker->socket);
	broker->socket = -1;
	if (process >= 0) {
		wait_for_broker(broker, process);
		close(process);
	}
	if (broker->pid)
		waitpid(broker->pid, NULL, 0);
	if (broker->signals >= 0)
		close(broker->signals);
}

/* Who starts kvmstat may have closed these. */
static int move_up(int fd)
{
	int other;

	if (fd > STDERR_FILENO)
		return fd;
	other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return other;
}

int socketpair_above(int sockets[2])
{
	size_t i;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -1;
	for (i = 0; i < 2; i++)
		sockets[i] = move_up(sockets[i]);
	return 0;
}

int broker_start(struct broker *broker, const struct host *host)
{
	/* What ends a process that does not handle it. */
	static const int ends[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, };
	pid_t parent = getpid(), pid;
	struct answer ready;
	int sockets[2];
	sigset_t set;

	if (socketpair_above(sockets)) {
		print_error("socketpair: %s", strerror(errno));
		return STATUS_ERROR;
	}
	/* What is not written yet is written once. */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* It sees its end by that; and close_files() needs a number that is free. */
		close(sockets[0]);
		be_broker(sockets[1], host, parent);
	}
	close(sockets[1]);
	broker_connect(broker, sockets[0], host);
	broker->pid = pid > 0 ? pid : 0;
	broker->signals = open_signals(ends, ARRAY_SIZE(ends), &set);
	if (pid > 0 && receive(broker, ASK_LIST, &ready, NULL))
		return STATUS_OK;
	/* In its stead it has said why. */
	if (pid < 0)
		print_error("fork: %s", strerror(errno));
	broker_close(broker);
	return STATUS_ERROR;
}
