// SPDX-License-Identifier: GPL-2.0
/*
 * The broker gives the answers of its host; neither side accepts invalid messages, and neither
 * outlives the other one. The privileges of the real broker.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/broker.h"
#include "privilege/privilege.h"
#include "tap.h"
#include "tree.h"
#include "util/util.h"

#define SECONDS_TO_WAIT 300

/* The test's host. */

static unsigned int num_fds;		/* of process 10 */
static bool fds_are_sorted = true;

static void add_fds(struct proc_fds *fds)
{
	struct proc_fd fd = {};

	for (fd.fd = 0; fd.fd < (int)num_fds; fd.fd++) {
		fd.link = fd.fd ? fd.fd : LINK_VM;
		fd.is_stats = fd.fd % 3 == 1;
		proc_fds_add(fds, &fd);
	}
	if (!fds_are_sorted)
		fds->entry[500].fd = 500 - 2;
}

static int fake_list_fds(const struct host *host, pid_t pid, struct proc_fds *fds)
{
	(void)host;
	*fds = (struct proc_fds) {};
	if (pid == 11)
		return -EACCES;
	if (pid == 10)
		add_fds(fds);
	fds->num_others = UINT64_C(5) << 32;
	return 0;
}

static int fake_list(const struct host *host, struct proc_list *list)
{
	struct proc_process many = { .pid = 10, }, denied = { .pid = 11, .err = EACCES, };

	*list = (struct proc_list) {};
	if (!host->proc)
		return -ENOENT;
	add_fds(&many.fds);
	if (many.fds.count)
		proc_list_add(list, &many);
	proc_list_add(list, &denied);
	return 0;
}

static bool fake_identify(const struct host *host, pid_t pid, struct identity *identity)
{
	char name[TEXT_NAME_SIZE];

	(void)host;
	snprintf(name, sizeof(name), "%d %0200d", pid, 0);
	identity_of_name(identity, name);
	return true;
}

static pid_t fake_thread_group(const struct host *host, pid_t pid)
{
	(void)host;
	return pid - 1;
}

static int fake_get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
			  uint64_t *vm, struct host_error *error)
{
	char text[64];
	int stats;

	(void)host;
	if (pid != 10) {
		*error = (struct host_error) {
			.step = HOST_STATS,
			.err = EIO,
			.capability = -ENOENT,
		};
		return -1;
	}
	stats = memfd_create("test", 0);
	snprintf(text, sizeof(text), "%d %d %d", fd->fd, fd->link, fd->is_stats);
	if (stats < 0 || write(stats, text, strlen(text)) < 0)
		abort();
	*vm = UINT64_C(1) << 40;
	return stats;
}

/* Recognizes the files of the test, which are no statistics files, by their content. */
static bool fake_is_stats(int fd)
{
	char text[64] = "";
	int numbers[3];

	return pread(fd, text, sizeof(text) - 1, 0) > 0 &&
	       sscanf(text, "%d %d %d", &numbers[0], &numbers[1], &numbers[2]) == 3;
}

static bool threads_are_sorted = true;

static int fake_read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
			     struct proc_threads *threads)
{
	struct proc_thread thread = {
		.vcpu = -1,
		.times = {
			.guest_ns = 1, .kernel_ns = 2, .user_ns = 3, .ready_ns = UINT64_MAX,
			.num_threads = 1, .has_ready = true,
		},
	};

	(void)host;
	if (pid != 42 || num_vcpus != 7)
		return -ESRCH;
	*threads = (struct proc_threads) {};
	/* More than fit into one message. */
	for (thread.tid = 1; thread.tid <= 200; thread.tid++, thread.vcpu++)
		proc_threads_add(threads, &thread);
	/* Item 128 is the first one of the second message. */
	if (!threads_are_sorted)
		threads->thread[128].tid = 128;
	return 0;
}

static int fake_list_makers(const struct host *host, struct proc_pids *makers)
{
	(void)host;
	*makers = (struct proc_pids) { .pid = xcalloc(1000, sizeof(*makers->pid)), };
	for (; makers->count < 1000; makers->count++)
		makers->pid[makers->count] = 7 + makers->count;
	return 0;
}

static const struct host fake_host = {
	.proc = "",
	.list = fake_list,
	.list_fds = fake_list_fds,
	.identify = fake_identify,
	.thread_group = fake_thread_group,
	.read_threads = fake_read_threads,
	.list_makers = fake_list_makers,
	.get_stats = fake_get_stats,
	.is_stats = fake_is_stats,
};

/* Starts a child that runs @run with one end of a socket. Returns its pid and the other end. */
static pid_t start(void (*run)(int socket), int *socket)
{
	int sockets[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	fflush(stdout);
	child = fork();
	if (!child) {
		close(sockets[0]);
		run(sockets[1]);
	}
	close(sockets[1]);
	*socket = sockets[0];
	return child;
}

static int status_of(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void serve_fake(int socket)
{
	_exit(broker_serve(socket, &fake_host) ? STATUS_OK : STATUS_ERROR);
}

/* The broker of the test's host. */
static struct broker broker;
static pid_t server;

static void connect_fake(void)
{
	int socket;

	server = start(serve_fake, &socket);
	broker_connect(&broker, socket, &fake_host);
}

static int disconnect(void)
{
	broker_close(&broker);
	return status_of(server);
}

static bool same_fds(const struct proc_fds *a, const struct proc_fds *b)
{
	size_t i;

	if (a->count != b->count || a->num_others != b->num_others)
		return false;
	for (i = 0; i < a->count; i++) {
		if (a->entry[i].fd != b->entry[i].fd || a->entry[i].link != b->entry[i].link ||
		    a->entry[i].is_stats != b->entry[i].is_stats || b->entry[i].seen)
			return false;
	}
	return true;
}

static bool same_list(const struct host *host)
{
	struct proc_list expected, list;
	bool same;
	size_t i;

	same = fake_list(&fake_host, &expected) == host->list(host, &list) &&
	       expected.count == list.count;
	for (i = 0; same && i < list.count; i++)
		same = expected.process[i].pid == list.process[i].pid &&
		       expected.process[i].err == list.process[i].err &&
		       same_fds(&expected.process[i].fds, &list.process[i].fds);
	proc_list_free(&expected);
	proc_list_free(&list);
	return same;
}

static bool same_fds_of(const struct host *host, pid_t pid)
{
	struct proc_fds expected, fds;
	bool same;

	same = fake_list_fds(&fake_host, pid, &expected) == host->list_fds(host, pid, &fds) &&
	       same_fds(&expected, &fds);
	free(expected.entry);
	free(fds.entry);
	return same;
}

static void test_lists(void)
{
	/* Counts around the capacity of one and two messages. */
	static const unsigned int counts[] = { 0, 1, 127, 128, 129, 256, 257, 10000, };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		num_fds = counts[i];
		connect_fake();
		check(same_list(&broker.host) && same_list(&broker.host),
		      "%u file descriptors: the list", num_fds);
		check(same_fds_of(&broker.host, 10), "%u file descriptors: of one process",
		      num_fds);
		check(same_fds_of(&broker.host, 11) && same_fds_of(&broker.host, 12),
		      "%u file descriptors: of others", num_fds);
		check_number(disconnect(), STATUS_OK, "broker: ends when the connection ends");
	}
}

static void ask_for_threads(const struct host *host)
{
	struct proc_threads threads;

	host->read_threads(host, 42, 7, &threads);
}

static void ask_for_fds(const struct host *host)
{
	struct proc_fds fds;

	host->list_fds(host, 10, &fds);
}

static void ask_for_list(const struct host *host)
{
	struct proc_list list;

	host->list(host, &list);
}

/* Whether @ask accepts the answer of the broker of the test's host, instead of ending. */
static bool believes(void (*ask)(const struct host *host))
{
	int socket, status;
	pid_t child, asking;

	child = start(serve_fake, &socket);
	asking = fork();
	if (!asking) {
		if (!freopen("/dev/null", "w", stderr))
			abort();
		broker_connect(&broker, socket, &fake_host);
		ask(&broker.host);
		_exit(STATUS_OK);
	}
	close(socket);
	status = status_of(asking);
	status_of(child);
	return status == STATUS_OK;
}

static void test_order(void)
{
	check(believes(ask_for_threads), "answer: threads sorted by tid are accepted");
	threads_are_sorted = false;
	check(!believes(ask_for_threads), "answer: a thread that comes twice is refused");
	threads_are_sorted = true;
	num_fds = 1000;
	check(believes(ask_for_fds) && believes(ask_for_list),
	      "answer: sorted file descriptors are accepted");
	fds_are_sorted = false;
	check(!believes(ask_for_fds) && !believes(ask_for_list),
	      "answer: unsorted file descriptors are refused");
	fds_are_sorted = true;
}

static void test_answers(void)
{
	const struct proc_fd fd = { .fd = 7, .link = 3, .is_stats = true, };
	struct host_error error;
	struct identity identity = {}, expected;
	struct proc_threads threads, expected_threads;
	struct proc_pids makers;
	char text[64] = "";
	uint64_t vm = 0;
	int stats;

	connect_fake();
	check(broker.host.identify(&broker.host, 42, &identity),
	      "broker: answers with an identity");
	fake_identify(&fake_host, 42, &expected);
	check(!memcmp(&identity, &expected, sizeof(identity)),
	      "broker: the identity is the host's");
	check_number(broker.host.thread_group(&broker.host, 42), 41,
		     "broker: answers with a thread group");
	fake_read_threads(&fake_host, 42, 7, &expected_threads);
	check(!broker.host.read_threads(&broker.host, 42, 7, &threads) &&
	      threads.count == expected_threads.count &&
	      !memcmp(threads.thread, expected_threads.thread,
		      threads.count * sizeof(*threads.thread)),
		      "broker: answers with times of threads");
	free(threads.thread);
	free(expected_threads.thread);
	check_number(broker.host.read_threads(&broker.host, 43, 7, &threads), -ESRCH,
		     "broker: answers -ESRCH for threads that are gone");

	check(!broker.host.list_makers(&broker.host, &makers) && makers.count == 1000 &&
	      makers.pid[0] == 7 && makers.pid[999] == 1006,
	      "broker: answers with the makers of VMs");
	free(makers.pid);
	stats = broker.host.get_stats(&broker.host, 10, &fd, &vm, &error);
	check(stats >= 0 && pread(stats, text, sizeof(text) - 1, 0) > 0,
	      "broker: sends a statistics file");
	check_text(text, "7 3 1", "broker: the file is the requested one");
	check_number(vm, UINT64_C(1) << 40, "broker: the number of the VM comes with its file");
	check(fcntl(stats, F_GETFD) == FD_CLOEXEC, "closed on execve()");
	close(stats);

	stats = broker.host.get_stats(&broker.host, 12, &fd, &vm, &error);
	check(stats < 0 && error.step == HOST_STATS && error.err == EIO &&
	      error.capability == -ENOENT, "broker: sends the error instead of a file");
	disconnect();
}

/* The broker sends the file, but this process has no free file descriptor. */
static void test_too_many_files(void)
{
	struct rlimit limit, files;
	const struct proc_fd fd = { .fd = 7, };
	struct host_error error;
	int stats, next;
	uint64_t vm;

	connect_fake();
	next = dup(0);
	close(next);
	if (getrlimit(RLIMIT_NOFILE, &files))
		abort();
	limit = files;
	limit.rlim_cur = next;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		abort();
	stats = broker.host.get_stats(&broker.host, 10, &fd, &vm, &error);
	check(stats < 0 && error.step == HOST_TAKE && error.err == EMFILE,
	      "no free file descriptor: EMFILE");
	if (setrlimit(RLIMIT_NOFILE, &files))
		abort();
	stats = broker.host.get_stats(&broker.host, 10, &fd, &vm, &error);
	check_number(stats, next,
		     "a free file descriptor again: the next file comes, nothing leaks");
	close(stats);
	disconnect();
}

/* Requests that an attacker who controls kvmstat could send. */
static const struct {
	const char *name;
	pid_t pid;
	struct proc_fd fd;
} hostile[] = {
	{ "pid 0", 0, {}, },
	{ "a negative pid", -1, {}, },
	{ "a negative file descriptor", 10, { .fd = -1, }, },
	{ "a link that there is not", 10, { .link = LINK_OTHER, }, },
};

static const struct host *asked_host = &fake_host;

/* Asks in a child, which a refused answer ends. Returns its exit status and its message. */
static int status_of_asking(int socket, pid_t pid, const struct proc_fd *fd, char *text,
			    size_t size)
{
	struct host_error error;
	int output[2];
	uint64_t vm;
	pid_t child;

	if (pipe2(output, O_CLOEXEC))
		abort();
	child = fork();
	if (!child) {
		dup2(output[1], STDERR_FILENO);
		broker_connect(&broker, socket, asked_host);
		broker.host.get_stats(&broker.host, pid, fd, &vm, &error);
		_exit(STATUS_OK);
	}
	close(socket);
	close(output[1]);
	memset(text, 0, size);
	if (read(output[0], text, size - 1) < 0)
		abort();
	close(output[0]);
	return status_of(child);
}

static void test_hostile_requests(void)
{
	char bytes[4096], text[128];
	int socket, status;
	pid_t child;
	size_t i, size;

	for (i = 0; i < ARRAY_SIZE(hostile); i++) {
		child = start(serve_fake, &socket);
		status = status_of_asking(socket, hostile[i].pid, &hostile[i].fd, text,
					  sizeof(text));
		check(status_of(child) == STATUS_ERROR, "%s is refused", hostile[i].name);
		check(status == STATUS_ERROR && strstr(text, "kvmstat-broker, has ended"),
		      "%s: the client gets an error", hostile[i].name);
	}
	/* A request number of 0xffffffff is refused, even in a request of the right size. */
	memset(bytes, 0xff, sizeof(bytes));
	for (size = 1; size <= sizeof(bytes); size = size < 64 ? size + 1 : size * 2) {
		child = start(serve_fake, &socket);
		if (write(socket, bytes, size) != (ssize_t)size)
			abort();
		status = status_of(child);
		if (status != STATUS_ERROR || size == 24 || size == sizeof(bytes))
			check(status == STATUS_ERROR, "%zu bytes of nonsense are refused", size);
		close(socket);
	}
}

/* The size of an answer without items. */
#define ANSWER_SIZE (72 + sizeof(struct identity))

static size_t answer_size;
static char answer_byte;

/* Steps by 1 around the boundaries, otherwise by more. */
static size_t next_size(size_t size)
{
	bool is_near = size + 104 > ANSWER_SIZE && size < ANSWER_SIZE + 104;

	return size + (size < 104 || (is_near && !answer_byte) ? 1 : 57);
}

static void serve_nonsense(int socket)
{
	char bytes[4096];

	memset(bytes, answer_byte, sizeof(bytes));
	if (read(socket, bytes + sizeof(bytes) / 2, 64) <= 0 ||
	    write(socket, bytes, answer_size) < 0)
		_exit(STATUS_ERROR);
	_exit(STATUS_OK);
}

static void test_hostile_answers(void)
{
	static const char some[] = { 0, 1, -1, };
	const struct proc_fd fd = {};
	unsigned int believed = 0;
	char text[128];
	int socket;
	pid_t child;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(some); i++) {
		answer_byte = some[i];
		for (answer_size = 0; answer_size <= 4096; answer_size = next_size(answer_size)) {
			child = start(serve_nonsense, &socket);
			if (status_of_asking(socket, 10, &fd, text, sizeof(text)) != STATUS_ERROR ||
			    !strstr(text, "kvmstat-broker, has ended"))
				believed += answer_byte || answer_size != ANSWER_SIZE ? 1000 : 1;
			status_of(child);
		}
	}
	check_number(believed, 1, "answer: fields out of range are refused, zeros are accepted");
}

/* Files that an attacker who controls the broker could send, and that kvmstat must refuse. */
static int hostile_files[2];
static unsigned int num_hostile_files;

/* Answers every request with these files. */
static void serve_files(int socket)
{
	const size_t size = num_hostile_files * sizeof(int);
	char bytes[4096] = {}, control[64] = {};
	struct iovec data = { .iov_base = bytes, .iov_len = answer_size, };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(size),
	};

	*(struct cmsghdr *)control = (struct cmsghdr) {
		.cmsg_len = CMSG_LEN(size),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	};
	memcpy(CMSG_DATA((struct cmsghdr *)control), hostile_files, size);
	while (read(socket, bytes + sizeof(bytes) / 2, 64) > 0) {
		memset(bytes, 0, sizeof(bytes));
		if (sendmsg(socket, &message, 0) < 0)
			_exit(STATUS_ERROR);
	}
	_exit(STATUS_OK);
}

/* Makes a memfd with the header of a statistics file. */
static int make_memory(void)
{
	const struct kvm_stats_header header = { .name_size = 8, .id_offset = 24, };
	int fd = memfd_create("test", 0);

	if (fd < 0 || write(fd, &header, sizeof(header)) != sizeof(header))
		abort();
	return fd;
}

static void test_hostile_files(void)
{
	const struct {
		const char *name;
		int fd;
	} *file, files[] = {
		{ "a file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC), },
		{ "a device", open("/dev/zero", O_RDONLY | O_CLOEXEC), },
		{ "memory with the content of a statistics file", make_memory(), },
		{ "a file without a type", eventfd(1, EFD_CLOEXEC), },
	};
	const struct proc_fd fd = { .fd = 7, };
	struct host_error error;
	unsigned int before;
	char text[128];
	int socket, stats;
	uint64_t vm;
	pid_t child;

	answer_size = ANSWER_SIZE;
	num_hostile_files = 1;
	asked_host = &this_host;
	for (file = files; file < files + ARRAY_SIZE(files); file++) {
		hostile_files[0] = file->fd;
		child = start(serve_files, &socket);
		check(status_of_asking(socket, 10, &fd, text, sizeof(text)) == STATUS_ERROR &&
		      strstr(text, "kvmstat-broker, has ended"), "%s is refused", file->name);
		status_of(child);
		close(file->fd);
	}
	asked_host = &fake_host;

	num_hostile_files = 2;
	hostile_files[0] = fake_get_stats(&fake_host, 10, &fd, &vm, &error);
	hostile_files[1] = dup(hostile_files[0]);
	child = start(serve_files, &socket);
	broker_connect(&broker, socket, &fake_host);
	before = count_open_files();
	stats = broker.host.get_stats(&broker.host, 10, &fd, &vm, &error);
	check(stats >= 0, "two files in one answer: kvmstat takes one");
	close(stats);
	check_number(count_open_files(), before,
		     "two files in one answer: the other one is closed");
	broker.host.thread_group(&broker.host, 10);
	check_number(count_open_files(), before,
		     "files in an answer without files: all are closed");
	broker_close(&broker);
	status_of(child);
	close(hostile_files[0]);
	close(hostile_files[1]);
}

/* The real broker. */

static bool is_broker_of(const char *pid, pid_t parent)
{
	char *path = xasprintf("/proc/%s/stat", pid);
	FILE *file = fopen(path, "r");
	int found = 0, found_parent;

	if (file) {
		found = fscanf(file, "%*d (kvmstat-broker) %*c %d", &found_parent);
		fclose(file);
	}
	free(path);
	return found == 1 && found_parent == parent;
}

static pid_t find_broker(pid_t parent)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (!found && (entry = readdir(proc))) {
		if (is_broker_of(entry->d_name, parent))
			found = atoi(entry->d_name);
	}
	closedir(proc);
	return found;
}

/* Counts sockets, and other files except standard output and error. */
static void count_files(pid_t pid, unsigned int *sockets, unsigned int *others)
{
	char *path = xasprintf("/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	struct dirent *entry;
	char target[64];
	ssize_t length;

	free(path);
	*sockets = *others = 0;
	while ((entry = readdir(dir))) {
		length = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));
		if (length > 0 && !strncmp(target, "socket:", 7))
			++*sockets;
		else if (length > 0 && atoi(entry->d_name) > STDERR_FILENO)
			++*others;
	}
	closedir(dir);
}

static bool has_line(pid_t pid, const char *line)
{
	char *path = xasprintf("/proc/%d/status", pid);
	FILE *file = fopen(path, "r");
	bool found = false;
	char text[256];

	while (fgets(text, sizeof(text), file))
		found |= !strncmp(text, line, strlen(line));
	fclose(file);
	free(path);
	return found;
}

static bool ends(pid_t pid)
{
	struct pollfd process = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN, };
	bool ended = process.fd < 0 || poll(&process, 1, SECONDS_TO_WAIT * 1000) == 1;

	if (process.fd >= 0)
		close(process.fd);
	return ended;
}

static void test_real(void)
{
	const char *capabilities = geteuid() ? "CapEff:\t0000000000000000" :
					       "CapEff:\t0000000000080004";
	unsigned int sockets, others;
	struct identity identity = {};
	pid_t pid;

	if (broker_start(&broker, &this_host) != STATUS_OK) {
		check(false, "it starts");
		return;
	}
	pid = find_broker(getpid());
	check(pid, "it starts");
	check(has_line(pid, capabilities) && has_line(pid, "NoNewPrivs:\t1"),
	      "broker process: capabilities");
	if (privilege_filters)
		check(has_line(pid, "Seccomp:\t2"), "broker process: filters system calls");
	count_files(pid, &sockets, &others);
	check_number(sockets, 1, "broker process: has one socket");
	check_number(others, 0, "broker process: has no other file");
	broker.host.identify(&broker.host, getpid(), &identity);
	check(identity.text[IDENTITY_NAME][0], "it answers");
	kill(pid, SIGINT);
	kill(pid, SIGTERM);
	kill(pid, SIGHUP);
	check_number(broker.host.thread_group(&broker.host, getpid()), getpid(),
		     "broker process: survives the terminal's signals");
	broker_close(&broker);
	check(kill(pid, 0) && errno == ESRCH,
	      "broker process: ends with the connection, no zombie");
}

static void wait_with_broker(int socket)
{
	pid_t pid = 0;

	if (broker_start(&broker, &this_host) == STATUS_OK)
		pid = find_broker(getpid());
	if (write(socket, &pid, sizeof(pid)) != sizeof(pid))
		_exit(STATUS_ERROR);
	for (;;)
		pause();
}

static void test_killed(void)
{
	pid_t child, pid = 0;
	int socket;

	child = start(wait_with_broker, &socket);
	if (read(socket, &pid, sizeof(pid)) != sizeof(pid) || pid <= 0)
		abort();
	check(!kill(pid, 0), "broker process: started");
	kill(child, SIGKILL);
	check(ends(pid), "broker process: ends when kvmstat is killed");
	waitpid(child, NULL, 0);
	close(socket);
}

static void lose(int socket)
{
	struct proc_list list;
	pid_t pid;

	dup2(socket, STDERR_FILENO);
	if (broker_start(&broker, &this_host) != STATUS_OK)
		_exit(STATUS_USAGE);
	pid = find_broker(getpid());
	kill(pid, SIGKILL);
	ends(pid);
	broker.host.list(&broker.host, &list);
	_exit(STATUS_OK);
}

static void test_lost(void)
{
	char text[128] = "";
	int socket, status;
	pid_t child;

	child = start(lose, &socket);
	status = status_of(child);
	if (read(socket, text, sizeof(text) - 1) < 0)
		abort();
	check_number(status, STATUS_ERROR, "the broker is killed: kvmstat ends with an error");
	check_text(text, "kvmstat: the process that finds VMs, kvmstat-broker, has ended\n",
		   "the broker is killed: kvmstat says so");
	close(socket);
}

static void ask_list(void)
{
	struct proc_list list;

	broker.host.list(&broker.host, &list);
	proc_list_free(&list);
}

static void (*use_stopped)(void);

/* Waits until the broker has started its worker. */
static pid_t find_worker(void)
{
	pid_t worker;

	while (!(worker = find_broker(find_broker(getpid()))))
		usleep(1000);
	return worker;
}

static void wait_for_stopped(int socket)
{
	sigset_t set;
	pid_t pid;

	/* A failure could wait for ever with all signals blocked: end it. */
	alarm(60);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	dup2(socket, STDERR_FILENO);
	if (broker_start(&broker, &this_host) != STATUS_OK)
		_exit(STATUS_USAGE);
	pid = find_worker();
	kill(pid, SIGSTOP);
	if (write(socket, &pid, sizeof(pid)) != sizeof(pid))
		_exit(STATUS_USAGE);
	use_stopped();
	_exit(STATUS_OK);
}

static const char does_not_answer[] =
	"kvmstat: the process that finds VMs, kvmstat-broker, does not answer (Ctrl-C)\n";

/* Uses a stopped broker. Then continues it (@goes_on), or sends kvmstat a signal. */
static int status_of_waiting(void (*use)(void), bool goes_on, char text[256])
{
	pid_t child, worker = 0;
	int socket, status;
	ssize_t length;

	use_stopped = use;
	child = start(wait_for_stopped, &socket);
	if (read(socket, &worker, sizeof(worker)) != sizeof(worker) || worker <= 0)
		abort();
	length = read(socket, text, 255);
	text[length > 0 ? length : 0] = '\0';
	kill(goes_on ? worker : child, goes_on ? SIGCONT : SIGTERM);
	status = status_of(child);
	close(socket);
	return status;
}

static void test_stopped_at_first(void)
{
	char text[256];

	check_number(status_of_waiting(ask_list, false, text), STATUS_ERROR,
		     "no first answer: a signal ends kvmstat");
	check_text(text, does_not_answer, "no first answer: a message says so");
	check_number(status_of_waiting(ask_list, true, text), STATUS_OK,
		     "the first answer is late: kvmstat goes on");
	check_text(text, does_not_answer, "the first answer is late: a message says so");
}

/* A broker that is stopped later delays kvmstat only a little. */
static void test_stopped_later(void)
{
	const struct proc_fd fd = { .fd = 7, };
	struct identity identity = {};
	struct host_error error;
	struct proc_list list;
	uint64_t begin_ns, vm;
	pid_t worker;
	int stats, i;

	if (broker_start(&broker, &this_host) != STATUS_OK) {
		check(false, "stopped: the broker starts");
		return;
	}
	ask_list();
	worker = find_worker();
	kill(worker, SIGSTOP);
	begin_ns = monotonic_ns();
	check_number(broker.host.list(&broker.host, &list), -EAGAIN, "stopped: no list");
	check(monotonic_ns() - begin_ns < NSEC_PER_SEC, "stopped: waits less than a second");
	begin_ns = monotonic_ns();
	stats = broker.host.get_stats(&broker.host, getpid(), &fd, &vm, &error);
	check(stats < 0 && error.err == EAGAIN &&
	      !broker.host.identify(&broker.host, getpid(), &identity) &&
	      broker.host.list(&broker.host, &list) == -EAGAIN, "stopped: nothing else");
	check(monotonic_ns() - begin_ns < NSEC_PER_SEC / 4, "stopped: does not wait again");
	kill(worker, SIGCONT);
	for (i = 0; i < 10000 && broker.host.list(&broker.host, &list) == -EAGAIN; i++)
		usleep(1000);
	check(i < 10000, "continued: the late answer is taken");
	proc_list_free(&list);
	check_number(broker.host.thread_group(&broker.host, getpid()), getpid(),
		     "continued: and others are answered");
	kill(worker, SIGSTOP);
	broker.host.thread_group(&broker.host, getpid());
	kill(worker, SIGCONT);
	for (i = 0; i < 10000 && !broker.host.identify(&broker.host, getpid(), &identity); i++)
		usleep(1000);
	check(identity.text[IDENTITY_NAME][0], "continued: an answer that is late is dropped");
	kill(worker, SIGSTOP);
	begin_ns = monotonic_ns();
	broker_close(&broker);
	check(monotonic_ns() - begin_ns < NSEC_PER_SEC, "stopped: the end does not wait");
	kill(worker, SIGCONT);
}

/* The filter lets the broker read all files that identify a VM. */
static void test_identity(void)
{
	struct identity identity = {};
	struct host host = this_host;

	tree_begin();
	shell("set -e; cd %s; mkdir -p 7 systemd/machines libvirt/qemu;"
	      "printf 'qemu\\0-name\\0web\\0' >7/cmdline;"
	      "echo 0::/machine.slice/machine-a.scope >7/cgroup;"
	      "ln -s a systemd/machines/unit:machine-a.scope;"
	      "echo ID=4d7fd2c38f0a4b8e9a541f2e3d4c5b6a >systemd/machines/a;"
	      "echo 7 >libvirt/qemu/web.pid", tree_root);
	host.proc = tree_root;
	host.run = tree_root;
	if (broker_start(&broker, &host) == STATUS_OK) {
		broker.host.identify(&broker.host, 7, &identity);
		broker_close(&broker);
	}
	check_number(identity.source[IDENTITY_DOMAIN], IDENTITY_RUN,
		     "broker: reads libvirt's files in /run");
	check_number(identity.source[IDENTITY_UUID], IDENTITY_RUN,
		     "broker: reads machined's files in /run");
	tree_end();
}

__attribute__((__noreturn__))
static int never_get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
			   uint64_t *vm, struct host_error *error)
{
	(void)host;
	(void)pid;
	(void)fd;
	(void)vm;
	(void)error;
	for (;;)
		pause();
}

#define NUM_SILENT 40

/* A pipe instead of a command line: reading it waits for ever. */
static void test_silent_processes(void)
{
	const struct proc_fd fd = { .fd = 5, .link = LINK_VM, };
	struct identity identity = {};
	struct host host = this_host;
	struct host_error error = {};
	uint64_t begin_ns, ns, vm, first_ns, least_ns = UINT64_MAX;
	unsigned int i;
	pid_t worker;

	tree_begin();
	shell("set -e; cd %s; mkdir 7 8; mkfifo 7/cmdline; echo silent >7/comm;"
	      "printf 'qemu\\0-name\\0web\\0' >8/cmdline", tree_root);
	host.proc = tree_root;
	host.run = NULL;
	host.get_stats = never_get_stats;
	/* kvmstat may inherit these settings. */
	signal(SIGALRM, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	if (broker_start(&broker, &host) != STATUS_OK) {
		check(false, "silent processes: the broker starts");
		return;
	}
	worker = find_worker();
	begin_ns = monotonic_ns();
	broker.host.identify(&broker.host, 7, &identity);
	first_ns = monotonic_ns() - begin_ns;
	check(first_ns < NSEC_PER_SEC, "a silent process: the answer takes less than a second");
	check(identity.without_memory, "a silent process: its identity lacks the command line");
	check_text(identity.text[IDENTITY_NAME], "silent", "a silent process: it has a name");
	check(ends(worker) && find_worker(), "a silent process: there is another worker");
	identity.without_memory = false;
	broker.host.identify(&broker.host, 8, &identity);
	check(!identity.without_memory && !strcmp(identity.text[IDENTITY_NAME], "web"),
	      "after a silent process: others have their names");
	begin_ns = monotonic_ns();
	check_number(broker.host.get_stats(&broker.host, 7, &fd, &vm, &error), -1,
		     "a silent process: no file is taken");
	check_number(error.err, ETIMEDOUT, "a silent process: ETIMEDOUT for its file");
	check(monotonic_ns() - begin_ns < NSEC_PER_SEC,
	      "a silent process: the answer takes less than a second");
	for (i = 0; i < NUM_SILENT; i++) {
		begin_ns = monotonic_ns();
		identity.without_memory = false;
		broker.host.identify(&broker.host, 7, &identity);
		ns = monotonic_ns() - begin_ns;
		if (ns < least_ns)
			least_ns = ns;
	}
	/* Starting another worker takes time, too, above all with sanitizers. */
	check(least_ns + NSEC_PER_SEC / 8 < first_ns,
	      "many silent processes: later ones get less time: %llu ms, %llu ms",
	      (unsigned long long)(first_ns / 1000000), (unsigned long long)(least_ns / 1000000));
	broker_close(&broker);
	signal(SIGALRM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	tree_end();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_lists();
	test_order();
	test_answers();
	test_too_many_files();
	test_hostile_requests();
	test_hostile_answers();
	test_hostile_files();
	test_real();
	test_identity();
	test_silent_processes();
	test_killed();
	test_lost();
	test_stopped_at_first();
	test_stopped_later();
	return tap_end();
}
