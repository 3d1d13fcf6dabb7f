// SPDX-License-Identifier: GPL-2.0
/*
 * The process of the broker, and its worker, which answers requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/broker_message.h"
#include "privilege/privilege.h"
#include "util/util.h"

/* Sends a message, with @fd unless it is -1. Returns false if the other end is closed. */
static bool send_answer(int socket, const struct broker_answer *answer, uint32_t question, int fd)
{
	struct iovec data = {
		.iov_base = (void *)answer,
		.iov_len = offsetof(struct broker_answer, items) +
			   answer->num_items * broker_item_size(question),
	};
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, };
	union broker_control control = {};
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
	struct broker_item *item;
	size_t count;
};

static void add_item(struct items *items, const struct broker_item *item)
{
	items->item = xgrow(items->item, items->count, sizeof(*item));
	items->item[items->count++] = *item;
}

static void add_fds(struct items *items, pid_t pid, const struct proc_fds *fds)
{
	size_t i;

	for (i = 0; i < fds->count; i++)
		add_item(items, &(struct broker_item) {
			.pid = pid,
			.fd = fds->entry[i].fd,
			.link = fds->entry[i].link,
			.is_stats = fds->entry[i].is_stats,
		});
}

/*
 * A process can hold its mmap_lock, or the lock of its execve(), for as long as it likes. Reading
 * its command line or taking one of its files then waits until a fatal signal. Before such a
 * question the worker therefore sets an alarm that kills it. Each death halves the patience, the
 * time for a question; each second without one doubles it. So many such processes together cost
 * little time.
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

/* 0 turns it off. Do so before the answer is sent: otherwise a question may get two answers. */
static void set_alarm(uint64_t ns)
{
	const struct itimerval alarm = { .it_value.tv_usec = ns / 1000, };

	setitimer(ITIMER_REAL, &alarm, NULL);
}

static void list_processes(const struct host *host, struct broker_answer *answer,
			   struct items *items)
{
	const struct proc_process *process;
	struct proc_list list;
	size_t i;

	answer->ret = host->list(host, &list);
	for (i = 0; i < list.count; i++) {
		process = &list.process[i];
		if (process->err)
			add_item(items, &(struct broker_item) {
				.pid = process->pid, .err = process->err,
			});
		else
			add_fds(items, process->pid, &process->fds);
	}
	proc_list_free(&list);
}

static void list_makers(const struct host *host, struct broker_answer *answer, struct items *items)
{
	struct proc_pids makers = {};
	size_t i;

	answer->ret = host->list_makers ? host->list_makers(host, &makers) : -ENOTSUP;
	for (i = 0; !answer->ret && i < makers.count; i++)
		add_item(items, &(struct broker_item) { .pid = makers.pid[i], });
	free(makers.pid);
}

static int take_stats(const struct host *host, const struct broker_request *request,
		      struct broker_answer *answer)
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
	struct broker_answer answer = {};
	struct proc_threads threads;
	struct items found = {};
	struct proc_fds fds;
	const char *items;
	int stats = -1;
	size_t left, size;
	bool sent;

	switch ((enum broker_question)request->question) {
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
		answer.num_items = left < BROKER_MAX_ITEMS ? left : BROKER_MAX_ITEMS;
		left -= answer.num_items;
		answer.more = left > 0;
		size = answer.num_items * broker_item_size(request->question);
		if (size)
			memcpy(answer.items, items, size);
		items += size;
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
		/* read() drops file descriptors that come with the message. */
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

/* Fills the numbers up to standard error's, so that no file that is opened later gets one. */
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

/* Starts the worker. If an alarm kills it, answers in its place and starts another one. */
static int supervise(const struct host *host)
{
	const struct broker_answer late = {
		.ret = -ETIMEDOUT, .step = HOST_TAKE, .err = ETIMEDOUT,
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
		if (WTERMSIG(status) != SIGALRM || !send_answer(BROKER_SOCKET, &late, 0, -1))
			return STATUS_ERROR;
		lose_patience();
	}
}

void broker_run(int socket, const struct host *host, pid_t parent)
{
	const struct broker_answer ready = {};
	sigset_t all;

	/* Only kvmstat handles the signals of the terminal. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Even if kvmstat's parent ignored these: SIGALRM kills the worker, SIGCHLD reports it. */
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
