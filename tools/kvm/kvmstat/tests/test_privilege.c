// SPDX-License-Identifier: GPL-2.0
/*
 * The privileges that a process keeps after privilege_drop(): users and capabilities, as the kernel
 * shows them, and system calls. Each test runs in its own child.
 */
#include <asm/termbits.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "image.h"
#include "privilege/privilege.h"
#include "tap.h"
#include "util/util.h"

/* Calls that are allowed for USE_OUTPUT (0), too. */
#define ALL_USES (-1u)
#define USER 12345
#define NOBODY 65534
/* CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE. */
#define BROKERS_CAPABILITIES "0000000000080004"
#define NONE "0000000000000000"

/* The exit status of a child whose system call was refused. */
#define REFUSED 100

static alignas(4096) char page[4096];

static pid_t parent;
static bool has_kcmp;		/* a kernel may have been built without it */

/* The wait status of a child that keeps @uses and makes the call. */
static int status_after(unsigned int uses, void (*call)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (privilege_drop(uses) != STATUS_OK)
			_exit(STATUS_ERROR);
		errno = 0;
		call();
		_exit(errno == ENOSYS ? REFUSED : STATUS_OK);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	return status;
}

#define CALL(name, ...) static void name(void) { __VA_ARGS__; }

CALL(call_open, syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY))
CALL(call_ask_mode, fcntl(STDOUT_FILENO, F_GETFL))
CALL(call_compare,
	pid_t self = syscall(SYS_getpid);
	syscall(SYS_kcmp, self, self, KCMP_FILE, 0, 0))
CALL(call_compare_with_parent, syscall(SYS_kcmp, getpid(), parent, KCMP_FILE, 0, 0))
CALL(call_set_mode, fcntl(STDOUT_FILENO, F_SETFL, 0))
CALL(call_create, syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CREAT, 0600))
CALL(call_open_for_writing, syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR))
CALL(call_write, if (write(STDOUT_FILENO, "", 0)) return)
CALL(call_map_file,
	mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, STDOUT_FILENO, 0))
CALL(call_send, struct msghdr message = {}; sendmsg(STDOUT_FILENO, &message, 0))
CALL(call_close_socket, close(BROKER_SOCKET))
CALL(call_unlink, syscall(SYS_unlinkat, AT_FDCWD, "/nonexistent", 0))
CALL(call_execve, execl("/nonexistent", "nonexistent", NULL))
CALL(call_fork, if (!fork()) _exit(STATUS_OK))
CALL(call_ptrace, ptrace(PTRACE_TRACEME, 0, NULL, NULL))
CALL(call_kill, kill(getppid(), 0))
CALL(call_getfd, syscall(SYS_pidfd_getfd, -1, 0, 0))
CALL(call_socket, socket(AF_INET, SOCK_STREAM, 0))
CALL(call_connect, connect(-1, NULL, 0))
CALL(call_time, struct timeval now; syscall(SYS_gettimeofday, &now, NULL))
CALL(call_accept, accept4(-1, NULL, NULL, 0))
CALL(call_epoll, struct epoll_event event; epoll_wait(-1, &event, 1, 0))
CALL(call_run, ioctl(-1, KVM_RUN, 0))
CALL(call_get_stats, ioctl(-1, KVM_GET_STATS_FD, 0))
CALL(call_type_for_user, ioctl(STDIN_FILENO, TIOCSTI, "x"))
CALL(call_ask_terminal, ioctl(-1, TCGETS, NULL))
CALL(call_ask_terminal_newer, ioctl(-1, TCGETS2, NULL))
CALL(call_set_terminal, ioctl(-1, TCSETSW, NULL))
CALL(call_set_terminal_newer,
	if (ioctl(-1, TCSETS2, NULL) && errno == EBADF && ioctl(-1, TCSETSF2, NULL) &&
	errno == EBADF)
	ioctl(-1, TCSETSW2, NULL))
CALL(call_truncate, if (ftruncate(-1, 0)) return)
CALL(call_memfd, syscall(SYS_memfd_create, "test", 0))
CALL(call_map_code,
	mmap(NULL, sizeof(page), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
CALL(call_make_code, mprotect(page, sizeof(page), PROT_READ | PROT_EXEC))
CALL(call_prctl, prctl(PR_SET_DUMPABLE, 1))

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void use_memory(void)
{
	size_t count = 1 << 18;
	int *numbers = xcalloc(count, sizeof(*numbers));
	size_t i;

	for (i = 0; i < count; i++)
		numbers[i] = i * 7919 % 10007;
	qsort(numbers, count, sizeof(*numbers), compare);
	numbers = xreallocarray(numbers, 4 * count, sizeof(*numbers));
	free(numbers);
}

/* Calls that every command makes. */
static void work(void)
{
	struct pollfd file = { .fd = STDOUT_FILENO, };
	struct timespec now;
	struct tm local;

	use_memory();
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &local);
	poll(&file, 1, 0);
	fprintf(stderr, "# it is %02d:%02d: %s\n", local.tm_hour, local.tm_min, strerror(EIO));
}

/* Calls that the broker makes. */
static void look(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[64];
	ssize_t length;

	use_memory();
	while (dir && (entry = readdir(dir))) {
		length = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));
		if (length > 0)
			fprintf(stderr, "# there is %.*s\n", (int)length, target);
	}
	if (!dir || closedir(dir))
		_exit(STATUS_ERROR);
}

static void test_calls(void)
{
	static const struct {
		void (*call)(void);
		const char *name;
		unsigned int allowed;		/* uses */
	} calls[] = {
		{ call_open, "open a file", USE_BROKER, },
		{ call_open_for_writing, "open a file to write", 0, },
		{ call_create, "create a file", 0, },
		{ call_write, "write to a file", ALL_USES & ~USE_BROKER, },
		{ call_ask_mode, "ask how a file is open", ALL_USES & ~USE_BROKER, },
		{ call_set_mode, "change how it is open", USE_NETWORK, },
		{ call_compare, "compare its files", ALL_USES & ~USE_BROKER, },
		{ call_compare_with_parent, "compare them with another process' files", 0, },
		{ call_map_file, "map a file", ALL_USES & ~USE_BROKER, },
		{ call_send, "send to a socket", USE_NETWORK, },
		{ call_close_socket, "close the broker's socket", ALL_USES & ~USE_BROKER, },
		{ call_unlink, "remove a file", 0, },
		{ call_execve, "execute a program", 0, },
		{ call_fork, "start a process", USE_BROKER, },
		{ call_ptrace, "ptrace", 0, },
		{ call_kill, "send a signal", 0, },
		{ call_getfd, "take a file descriptor", USE_BROKER, },
		{ call_socket, "open a socket", 0, },
		{ call_connect, "connect a socket", 0, },
		{ call_time, "read the clock", ALL_USES & ~USE_BROKER, },
		{ call_accept, "accept a connection", USE_NETWORK, },
		{ call_epoll, "wait for events", ALL_USES & ~USE_BROKER, },
		{ call_run, "KVM_RUN", 0, },
		{ call_get_stats, "KVM_GET_STATS_FD", USE_BROKER, },
		{ call_type_for_user, "type for the user", 0, },
		{ call_ask_terminal, "ask the terminal", ALL_USES & ~USE_BROKER, },
		{ call_ask_terminal_newer, "ask it as newer C libraries do",
		  ALL_USES & ~USE_BROKER, },
		{ call_set_terminal, "set the terminal", USE_TERMINAL, },
		{ call_set_terminal_newer, "set it as newer C libraries do", USE_TERMINAL, },
		{ call_truncate, "cut off a file", USE_RECORDING, },
		{ call_memfd, "a file in memory", 0, },
		{ call_map_code, "map memory to execute", 0, },
		{ call_make_code, "make memory executable", 0, },
		{ call_prctl, "prctl", 0, },
	};
	static const struct {
		unsigned int use;
		const char *name;
	} uses[] = {
		{ USE_OUTPUT, "output", },
		{ USE_TERMINAL, "terminal", },
		{ USE_NETWORK, "network", },
		{ USE_RECORDING, "recording", },
		{ USE_BROKER, "broker", },
	};
	bool allowed, refused;
	size_t i, j;
	int status;

	for (i = 0; i < ARRAY_SIZE(uses); i++) {
		status = status_after(uses[i].use, uses[i].use == USE_BROKER ? look : work);
		check(WIFEXITED(status) && !WEXITSTATUS(status), "%s: it works", uses[i].name);
		for (j = 0; j < ARRAY_SIZE(calls); j++) {
			/* A kernel without this call answers as the filter does. */
			if (calls[j].call == call_compare && !has_kcmp)
				continue;
			allowed = uses[i].use ? calls[j].allowed & uses[i].use :
						calls[j].allowed > ALL_USES / 2;
			status = status_after(uses[i].use, calls[j].call);
			refused = WIFEXITED(status) && WEXITSTATUS(status) == REFUSED;
			check(WIFEXITED(status) && allowed != refused, "%s: %s is %s", uses[i].name,
			      calls[j].name, allowed ? "possible" : "refused");
		}
	}
}

static bool can_signal(pid_t pid)
{
	return !kill(pid, 0);
}

static bool can_trace(pid_t pid)
{
	return !ptrace(PTRACE_SEIZE, pid, NULL, NULL);
}

static bool can_limit(pid_t pid)
{
	struct rlimit files;

	return !prlimit(pid, RLIMIT_NOFILE, NULL, &files) &&
	       !prlimit(pid, RLIMIT_NOFILE, &files, NULL);
}

static bool can_slow_down(pid_t pid)
{
	return !setpriority(PRIO_PROCESS, pid, 19);
}

static bool can_read_memory(pid_t pid)
{
	struct iovec here = { page, 1, };

	/* The address is valid there: the process is a copy of this one. */
	return process_vm_readv(pid, &here, 1, &here, 1, 0) == 1;
}

static bool can_take_files(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd/0", pid);
	return !access(path, R_OK);
}

static bool (* const ways[])(pid_t pid) = {
	can_signal, can_trace, can_limit, can_slow_down, can_take_files, can_read_memory,
};

#define ALL_WAYS ((1u << ARRAY_SIZE(ways)) - 1)
#define WAY_TO_MEMORY (1u << (ARRAY_SIZE(ways) - 1))

static bool become_nobody(void)
{
	return !setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
	       !setresuid(NOBODY, NOBODY, NOBODY);
}

/* Returns, as bits, the ways in which a process of user 65534 (NOBODY) can affect @pid. */
static unsigned int try_ways(pid_t pid)
{
	unsigned int found = 0, i;
	pid_t child = fork();
	int status;

	if (!child) {
		if (!become_nobody())
			_exit(ALL_WAYS);
		for (i = 0; i < ARRAY_SIZE(ways); i++)
			found |= ways[i](pid) << i;
		_exit(found);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : ALL_WAYS;
}

struct dropped {
	pid_t pid;
	uid_t owner;			/* of its files in /proc */
	unsigned int open_to_nobody;	/* see try_ways() */
	char status[4096];		/* its /proc/PID/status */
};

/* Drops privileges, prints the status, and waits until the parent has examined the process. */
static void show_status(unsigned int uses, uid_t user, int output, int end)
{
	int file = open("/proc/self/status", O_RDONLY);
	char status[4096];
	ssize_t length;

	if (user && setresuid(user, user, user))
		_exit(STATUS_ERROR);
	/* The broker can write only to standard error. */
	if (dup2(output, STDERR_FILENO) < 0 || privilege_drop(uses) != STATUS_OK)
		_exit(STATUS_ERROR);
	length = read(file, status, sizeof(status));
	if (length <= 0 || write(STDERR_FILENO, status, length) != length)
		_exit(STATUS_ERROR);
	_exit(read(end, status, 1));
}

static struct dropped status_of(unsigned int uses, uid_t user)
{
	struct dropped dropped = {};
	int output[2], end[2];
	struct stat info;
	char path[32];

	if (pipe2(output, O_CLOEXEC) || pipe2(end, O_CLOEXEC))
		abort();
	dropped.pid = fork();
	if (!dropped.pid) {
		close(end[1]);
		show_status(uses, user, output[1], end[0]);
	}
	close(output[1]);
	close(end[0]);
	if (read(output[0], dropped.status, sizeof(dropped.status) - 1) <= 0)
		abort();
	snprintf(path, sizeof(path), "/proc/%d/fd", dropped.pid);
	if (stat(path, &info))
		abort();
	dropped.owner = info.st_uid;
	dropped.open_to_nobody = try_ways(dropped.pid);
	close(output[0]);
	close(end[1]);
	waitpid(dropped.pid, NULL, 0);
	return dropped;
}

/* Whether the status has a line @key with these words. */
static bool has_line(const struct dropped *dropped, const char *key, const char *words)
{
	char *line = xasprintf("\n%s:\t%s\n", key, words);
	bool found = strstr(dropped->status, line);

	if (!found)
		printf("# no line '%s: %s'\n", key, words);
	free(line);
	return found;
}

static bool has_capabilities(const struct dropped *dropped, const char *capabilities)
{
	return has_line(dropped, "CapInh", NONE) && has_line(dropped, "CapAmb", NONE) &&
	       has_line(dropped, "CapBnd", NONE) && has_line(dropped, "CapPrm", capabilities) &&
	       has_line(dropped, "CapEff", capabilities);
}

/* Checks that try_ways() finds all ways into an unprotected process. */
static void test_ways(void)
{
	/* A kernel may have been built without process_vm_readv(). */
	unsigned int open = ALL_WAYS & ~(can_read_memory(getpid()) ? 0 : WAY_TO_MEMORY);
	pid_t child = fork();

	if (!child) {
		if (!become_nobody())
			_exit(STATUS_ERROR);
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		raise(SIGSTOP);
		_exit(STATUS_OK);
	}
	waitpid(child, NULL, WUNTRACED);
	check_number(try_ways(child), open, "nobody's processes: open to each other");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void test_root(void)
{
	struct dropped dropped = status_of(USE_OUTPUT, 0);
	const unsigned int user = OWN_USERS + dropped.pid;
	char *users = xasprintf("%u\t%u\t%u\t%u", user, user, user, user);

	check(has_line(&dropped, "Uid", users) && has_line(&dropped, "Gid", users),
	      "root: becomes a user of its own");
	free(users);
	check_number(dropped.open_to_nobody, 0, "root: not open to nobody's processes");
	check(has_line(&dropped, "Groups", " "), "root: no other groups");
	check(has_capabilities(&dropped, NONE), "root: no capabilities");
	check(has_line(&dropped, "NoNewPrivs", "1"), "root: no new privileges");

	dropped = status_of(USE_BROKER, 0);
	check(has_line(&dropped, "Uid", "0\t0\t0\t0"), "broker: stays root");
	check_number(dropped.open_to_nobody, 0, "broker: not open to nobody's processes");
	check(has_capabilities(&dropped, BROKERS_CAPABILITIES), "broker: two capabilities");
	check(has_line(&dropped, "NoNewPrivs", "1"), "broker: no new privileges");

	dropped = status_of(USE_OUTPUT, USER);
	check(has_line(&dropped, "Uid", "12345\t12345\t12345\t12345"), "a user stays the same");
	if (privilege_filters) {
		check(has_line(&dropped, "Seccomp", "2"), "a user: a filter of system calls");
		check(dropped.owner == USER, "a user: its own processes may debug it as before");
		dropped = status_of(USE_OUTPUT, 0);
		check(has_line(&dropped, "Seccomp", "2"), "root: a filter of system calls");
		check(!dropped.owner, "root: processes of user 65534 cannot debug it");
	}
}

int main(void)
{
	parent = getpid();
	has_kcmp = !syscall(SYS_kcmp, parent, parent, KCMP_FILE, 0, 0);
	if (geteuid()) {
		struct dropped dropped = status_of(USE_OUTPUT, 0);

		check(has_line(&dropped, "CapEff", NONE), "no capabilities");
		skip("not root", "what root gives up");
	} else {
		test_ways();
		test_root();
	}
	if (privilege_filters)
		test_calls();
	else
		skip("built without libseccomp, or with sanitizers, which make system calls",
		     "the filter of system calls");
	return tap_end();
}
