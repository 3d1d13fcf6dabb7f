// SPDX-License-Identifier: GPL-2.0
/*
 * Gives up privileges. The filter of system calls is made of lists here, without a
 * library for it: this way every build has it, the ones that are linked statically or
 * for another machine too.
 */
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "privilege/privilege.h"
#include "util/util.h"

/* See host.c on why linux/kvm.h is not included. */
#define KVM_CHECK_EXTENSION _IO(0xae, 0x03)
#define KVM_GET_STATS_FD _IO(0xae, 0xce)

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

/*
 * The sanitizers have threads, read /proc, and look for leaks by means of a debugger:
 * with them all but system calls is given up.
 */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

const bool privilege_filters = ARCH && !SANITIZED;

/* Of the lower half of an argument: what is tested has no more. */
struct test {
	enum { ANY, EQUALS, ABOVE, LACKS, OWN_PID } kind;
	unsigned int argument;
	uint32_t value;
};

#define MAX_TESTS 2

/* A system call that is allowed if it passes the tests. */
struct rule {
	int number;
	struct test test[MAX_TESTS];
};

#define CALL(name, ...) { .number = SYS_ ## name, .test = { __VA_ARGS__ }, }
#define IS(argument, value) { EQUALS, argument, value, }
#define IS_ABOVE(argument, value) { ABOVE, argument, value, }
#define HAS_NO(argument, bits) { LACKS, argument, bits, }
#define IS_OWN_PID(argument) { OWN_PID, argument, 0, }

struct rules {
	const struct rule *rule;
	size_t count;
};

/* Everywhere: memory that is never executed, and the end. */
static const struct rule basic_rules[] = {
	CALL(exit_group),
	CALL(exit),
	CALL(rt_sigreturn),
	CALL(restart_syscall),	/* after it was stopped */
	CALL(brk),
	CALL(mprotect, HAS_NO(2, PROT_EXEC)),
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL(read),
	CALL(fstat),
	/* fstat() of newer C libraries. */
	CALL(newfstatat, IS(3, AT_EMPTY_PATH)),
	CALL(lseek),
	CALL(getrandom),		/* malloc() */
	CALL(sysinfo),			/* qsort() */
	CALL(ppoll),
#ifdef SYS_poll
	CALL(poll),
#endif
	CALL(pidfd_open),
};

static const struct rule output_rules[] = {
	CALL(mmap, HAS_NO(2, PROT_EXEC)),
	CALL(write),
	CALL(writev),
	CALL(close),
	CALL(pread64),
	CALL(recvmsg),		/* from the broker */
	CALL(wait4),			/* for its end */
	/* Processes that end, VMs that come. */
	CALL(epoll_ctl),
	CALL(epoll_pwait),
#ifdef SYS_epoll_wait
	CALL(epoll_wait),
#endif
	CALL(uname),			/* error lines name the kernel */
	CALL(fcntl, IS(1, F_GETFL)),	/* whether a file can be KVM's */
	/* Whether two files of its own are the same. */
	CALL(getpid),
	CALL(kcmp, IS_OWN_PID(0), IS_OWN_PID(1)),
	/* Where the kernel has no clock in the process' memory: ncurses uses the other one. */
	CALL(clock_gettime),
	CALL(gettimeofday),
	CALL(ioctl, IS(1, TCGETS)),
	CALL(ioctl, IS(1, TCGETS2)),	/* newer C libraries */
	CALL(ioctl, IS(1, TIOCGWINSZ)),
};

/*
 * It can take file descriptors that others may write to: it must not. Its own ones, the
 * socket and standard error, cannot be closed, so no other file gets their numbers.
 */
static const struct rule broker_rules[] = {
	CALL(mmap, HAS_NO(2, PROT_EXEC), IS(3, MAP_PRIVATE | MAP_ANONYMOUS)),
	CALL(write, IS(0, STDERR_FILENO)),
	CALL(sendmsg, IS(0, BROKER_SOCKET)),
	CALL(close, IS_ABOVE(0, STDERR_FILENO)),
	CALL(openat, HAS_NO(2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)),
	CALL(getdents64),
	CALL(readlinkat),
#ifdef SYS_readlink
	CALL(readlink),
#endif
	CALL(pidfd_getfd),
	CALL(ioctl, IS(1, KVM_GET_STATS_FD)),
	CALL(ioctl, IS(1, KVM_CHECK_EXTENSION)),
	/* Its worker, which dies of an alarm when a process makes it wait. */
	CALL(clone, IS(0, CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD)),
	CALL(wait4),
	CALL(getpid),
	CALL(getppid),
	CALL(setitimer),
	CALL(rt_sigprocmask),
	CALL(prctl, IS(0, PR_SET_PDEATHSIG)),
	/* Where the kernel has no clock in the process' memory. */
	CALL(clock_gettime),
};

static const struct rule terminal_rules[] = {
	CALL(ioctl, IS(1, TCSETS)),
	CALL(ioctl, IS(1, TCSETSW)),
	CALL(ioctl, IS(1, TCSETSF)),
	CALL(ioctl, IS(1, TCSETS2)),
	CALL(ioctl, IS(1, TCSETSW2)),
	CALL(ioctl, IS(1, TCSETSF2)),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	/* It stops itself, when it is told to by a key. */
	CALL(tgkill, IS_OWN_PID(0)),
	CALL(gettid),
};

static const struct rule network_rules[] = {
	CALL(accept4),
	CALL(recvfrom),
	CALL(sendto),
	CALL(sendmsg),
	CALL(sendfile),
	CALL(shutdown),
	CALL(setsockopt),
	CALL(getsockopt),
	CALL(getsockname),
	CALL(getpeername),
	CALL(fcntl),
	CALL(getdents64),	/* of what was open: its own files */
};

static const struct rule recording_rules[] = {
	CALL(ftruncate),
};

#define RULES(name) { name ## _rules, ARRAY_SIZE(name ## _rules) }

static const struct rules basic = RULES(basic), output = RULES(output);
static const struct {
	enum privilege_use use;
	struct rules rules;
} rules_of_use[] = {
	{ USE_TERMINAL, RULES(terminal), },
	{ USE_NETWORK, RULES(network), },
	{ USE_RECORDING, RULES(recording), },
	{ USE_BROKER, RULES(broker), },
};

struct program {
	struct sock_filter instruction[BPF_MAXINSNS];
	unsigned short length;
};

static void add(struct program *program, struct sock_filter instruction)
{
	program->instruction[program->length++] = instruction;
}

static void add_load(struct program *program, size_t offset)
{
	add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void add_return(struct program *program, uint32_t action)
{
	add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Skips the next instructions if what was loaded passes the test or if it does not. */
static void add_jump(struct program *program, const struct test *test, unsigned int if_passed,
		     unsigned int if_not)
{
	uint32_t value = test->kind == OWN_PID ? (uint32_t)getpid() : test->value;
	unsigned int code = BPF_JMP | BPF_K | BPF_JEQ;

	if (test->kind == ABOVE) {
		code = BPF_JMP | BPF_K | BPF_JGT;
	} else if (test->kind == LACKS) {
		code = BPF_JMP | BPF_K | BPF_JSET;
		add(program, (struct sock_filter)BPF_JUMP(code, value, if_not, if_passed));
		return;
	}
	add(program, (struct sock_filter)BPF_JUMP(code, value, if_passed, if_not));
}

/* The number is loaded when a rule begins, and has to be when it ends. */
static void add_rule(struct program *program, const struct rule *rule)
{
	const struct test is_number = { EQUALS, 0, rule->number, };
	unsigned int i, left = 0;

	while (left < MAX_TESTS && rule->test[left].kind != ANY)
		left++;
	add_jump(program, &is_number, 0, 2 * left + 2);
	for (i = 0; left; i++) {
		/* Both machines have the lower half in front. */
		add_load(program, offsetof(struct seccomp_data, args[rule->test[i].argument]));
		left--;
		add_jump(program, &rule->test[i], 0, 2 * left + 1);
	}
	add_return(program, SECCOMP_RET_ALLOW);
	add_load(program, offsetof(struct seccomp_data, nr));
}

static void add_rules(struct program *program, const struct rules *rules)
{
	size_t i;

	for (i = 0; i < rules->count; i++)
		add_rule(program, &rules->rule[i]);
}

static void build_filter(struct program *program, unsigned int uses)
{
	size_t i;

	add_load(program, offsetof(struct seccomp_data, arch));
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
	add_return(program, SECCOMP_RET_KILL_PROCESS);
	add_load(program, offsetof(struct seccomp_data, nr));
	add_rules(program, &basic);
	if (!(uses & USE_BROKER))
		add_rules(program, &output);
	for (i = 0; i < ARRAY_SIZE(rules_of_use); i++) {
		if (uses & rules_of_use[i].use)
			add_rules(program, &rules_of_use[i].rules);
	}
	/* A C library that is newer than the lists uses what older kernels have then. */
	add_return(program, SECCOMP_RET_ERRNO | ENOSYS);
}

static int filter_system_calls(unsigned int uses)
{
	struct program program = {};
	struct sock_fprog filter = { .filter = program.instruction, };

	if (!privilege_filters)
		return 0;
	build_filter(&program, uses);
	filter.len = program.length;
	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 0;
	/* All else is given up still. */
	if (errno == EINVAL)
		print_error("the kernel has no seccomp filters: system calls stay as they are");
	return errno == EINVAL ? 0 : -1;
}

#define NOBODY 65534

/* Sees file descriptors of other users' processes, and takes them. */
#define KEPT_BY_BROKER (CAP_TO_MASK(CAP_SYS_PTRACE) | CAP_TO_MASK(CAP_DAC_READ_SEARCH))

#define CAP_WORDS _LINUX_CAPABILITY_U32S_3

struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[CAP_WORDS];
};

static struct capabilities current_capabilities(void)
{
	struct capabilities now = { .header.version = _LINUX_CAPABILITY_VERSION_3, };

	syscall(SYS_capget, &now.header, now.data);
	return now;
}

static bool has_any(const struct capabilities *capabilities)
{
	return capabilities->data[0].permitted || capabilities->data[1].permitted;
}

/* Those of @kept that there are; none can be had back, by execve() neither. */
static int keep_capabilities(const struct capabilities *before, uint32_t kept)
{
	struct capabilities after = { .header = before->header, };

	after.data[0].permitted = before->data[0].permitted & kept;
	after.data[0].effective = after.data[0].permitted;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &after.header, after.data);
}

static int empty_bounding_set(void)
{
	int capability;

	for (capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++) {
		/* Without CAP_SETPCAP it stays, for an execve() that will not be. */
		if (prctl(PR_CAPBSET_DROP, capability) && errno != EPERM)
			return -1;
	}
	return 0;
}

static int become(uid_t user)
{
	return setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user);
}

/*
 * A user namespace may have no such users, but nobody. Where there is none either, and where
 * root may not become another one, it stays who it is, without capabilities.
 */
static int leave_root(void)
{
	if (geteuid() || !become(OWN_USERS + getpid()) || !become(NOBODY) ||
	    errno == EPERM || errno == EINVAL)
		return 0;
	return -1;
}

/* A debugger has the privileges of what it is attached to. */
static int refuse_debuggers(bool had_any)
{
	return prctl(PR_SET_DUMPABLE, SANITIZED || !had_any);
}

static int fail(const char *step)
{
	print_error("cannot give up privileges: %s: %s", step, strerror(errno));
	return STATUS_ERROR;
}

int privilege_drop(unsigned int uses)
{
	struct capabilities before = current_capabilities();
	bool is_broker = uses & USE_BROKER;

	/* Reads a file. */
	tzset();
	if (empty_bounding_set())
		return fail("bounding set");
	/* The broker opens files of root, which is no longer for free. */
	if (!is_broker && leave_root())
		return fail("user");
	if (keep_capabilities(&before, is_broker ? KEPT_BY_BROKER : 0))
		return fail("capabilities");
	if (refuse_debuggers(has_any(&before)))
		return fail("debuggers");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail("new privileges");
	if (filter_system_calls(uses))
		return fail("system calls");
	return STATUS_OK;
}
