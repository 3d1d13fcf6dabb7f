// SPDX-License-Identifier: GPL-2.0
/*
 * Gives up privileges.
 */
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif
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

/* linux/kvm.h of older systems lacks the second one. */
#define KVM_CHECK_EXTENSION _IO(0xae, 0x03)
#define KVM_GET_STATS_FD _IO(0xae, 0xce)

/*
 * The sanitizers have threads, read /proc, and use ptrace() to find leaks: they keep all system
 * calls.
 */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

#ifdef HAVE_SECCOMP

const bool privilege_filters = !SANITIZED;

/* A system call, allowed if an argument passes the test. */
struct rule {
	unsigned int uses;		/* bits of enum privilege_use, SAMPLES, ALWAYS */
	int call;
	unsigned int argument;
	enum scmp_compare op;		/* 0: there is no test */
	uint64_t value;			/* with MASKED_EQ, bits that are 0 */
};

#define ALWAYS (~0u)
/* All uses except USE_BROKER. */
#define SAMPLES 0x80000000u

#define CALL(uses, name) { uses, SCMP_SYS(name), 0, 0, 0, }
#define CALL_IF(uses, name, argument, op, value) \
	{ uses, SCMP_SYS(name), argument, op, value, }
#define CALL_WITHOUT(uses, name, argument, bits) \
	{ uses, SCMP_SYS(name), argument, SCMP_CMP_MASKED_EQ, bits, }
#define IOCTL(uses, request) CALL_IF(uses, ioctl, 1, SCMP_CMP_EQ, request)

static const struct rule rules[] = {
	/* Memory that is never executable, and exits. */
	CALL(ALWAYS, exit_group), CALL(ALWAYS, exit), CALL(ALWAYS, rt_sigreturn),
	CALL(ALWAYS, restart_syscall), CALL(ALWAYS, brk), CALL(ALWAYS, munmap),
	CALL(ALWAYS, mremap), CALL(ALWAYS, madvise), CALL(ALWAYS, read), CALL(ALWAYS, fstat),
	CALL(ALWAYS, lseek), CALL(ALWAYS, ppoll), CALL(ALWAYS, poll), CALL(ALWAYS, pidfd_open),
	CALL(ALWAYS, getpid),
	CALL(ALWAYS, getrandom),	/* malloc() */
	CALL(ALWAYS, sysinfo),		/* qsort() */
	CALL_WITHOUT(ALWAYS, mprotect, 2, PROT_EXEC),
	/* fstat() of newer C libraries. */
	CALL_IF(ALWAYS, newfstatat, 3, SCMP_CMP_EQ, AT_EMPTY_PATH),
	CALL(ALWAYS, clock_gettime),	/* without a vDSO */

	CALL(SAMPLES, write), CALL(SAMPLES, writev), CALL(SAMPLES, close),
	CALL(SAMPLES, pread64), CALL(SAMPLES, recvmsg), CALL(SAMPLES, wait4),
	CALL(SAMPLES, epoll_ctl), CALL(SAMPLES, epoll_pwait), CALL(SAMPLES, epoll_wait),
	CALL(SAMPLES, uname),		/* for error lines */
	CALL(SAMPLES, gettimeofday),	/* ncurses, without a vDSO */
	CALL_WITHOUT(SAMPLES, mmap, 2, PROT_EXEC),
	CALL_IF(SAMPLES, fcntl, 1, SCMP_CMP_EQ, F_GETFL),
	IOCTL(SAMPLES, TCGETS), IOCTL(SAMPLES, TCGETS2), IOCTL(SAMPLES, TIOCGWINSZ),

	/*
	 * The broker takes file descriptors that may be writable, and must not write to them. It
	 * cannot close its socket and standard error, so no other file gets their numbers.
	 */
	CALL_IF(USE_BROKER, write, 0, SCMP_CMP_EQ, STDERR_FILENO),
	CALL_IF(USE_BROKER, sendmsg, 0, SCMP_CMP_EQ, BROKER_SOCKET),
	CALL_IF(USE_BROKER, close, 0, SCMP_CMP_GT, STDERR_FILENO),
	CALL_WITHOUT(USE_BROKER, openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC),
	CALL(USE_BROKER, getdents64), CALL(USE_BROKER, readlinkat), CALL(USE_BROKER, readlink),
	CALL(USE_BROKER, pidfd_getfd),
	IOCTL(USE_BROKER, KVM_GET_STATS_FD), IOCTL(USE_BROKER, KVM_CHECK_EXTENSION),
	/* The worker of the broker, which an alarm kills when a process makes it wait. */
	CALL_IF(USE_BROKER, clone, 0, SCMP_CMP_EQ,
		CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD),
	CALL(USE_BROKER, wait4), CALL(USE_BROKER, getppid), CALL(USE_BROKER, setitimer),
	CALL(USE_BROKER, rt_sigprocmask),
	CALL_IF(USE_BROKER, prctl, 0, SCMP_CMP_EQ, PR_SET_PDEATHSIG),

	IOCTL(USE_TERMINAL, TCSETS), IOCTL(USE_TERMINAL, TCSETSW), IOCTL(USE_TERMINAL, TCSETSF),
	IOCTL(USE_TERMINAL, TCSETS2), IOCTL(USE_TERMINAL, TCSETSW2),
	IOCTL(USE_TERMINAL, TCSETSF2),
	CALL(USE_TERMINAL, rt_sigaction), CALL(USE_TERMINAL, rt_sigprocmask),
	CALL(USE_TERMINAL, gettid),

	CALL(USE_NETWORK, accept4), CALL(USE_NETWORK, recvfrom), CALL(USE_NETWORK, sendto),
	CALL(USE_NETWORK, sendmsg), CALL(USE_NETWORK, sendfile), CALL(USE_NETWORK, shutdown),
	CALL(USE_NETWORK, setsockopt), CALL(USE_NETWORK, getsockopt),
	CALL(USE_NETWORK, getsockname), CALL(USE_NETWORK, getpeername), CALL(USE_NETWORK, fcntl),
	CALL(USE_NETWORK, getdents64),	/* its own /proc/self/fd, opened before */

	CALL(USE_RECORDING, ftruncate),
};

/* Rules with two tests, and with numbers that are not constant. */
static int add_own_rules(scmp_filter_ctx filter, unsigned int uses)
{
	const pid_t self = getpid();
	int ret;

	if (uses & USE_BROKER)
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
					SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
					SCMP_A3(SCMP_CMP_EQ, MAP_PRIVATE | MAP_ANONYMOUS, 0));
	/* Compare two of its own files. */
	ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(kcmp), 2,
			       SCMP_A0(SCMP_CMP_EQ, self, 0), SCMP_A1(SCMP_CMP_EQ, self, 0));
	/* It stops itself on Ctrl-Z. */
	if (!ret && uses & USE_TERMINAL)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				       SCMP_A0(SCMP_CMP_EQ, self, 0));
	return ret;
}

/* 0 or -errno. */
static int filter_system_calls(unsigned int uses)
{
	struct scmp_arg_cmp test;
	scmp_filter_ctx filter;
	const struct rule *rule;
	int ret;

	if (!privilege_filters)
		return 0;
	/* On ENOSYS, a C library that is newer than the rules uses older system calls. */
	filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	if (!filter)
		return -ENOMEM;
	uses |= uses & USE_BROKER ? 0 : SAMPLES;
	ret = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (rule = rules; !ret && rule < rules + ARRAY_SIZE(rules); rule++) {
		if (!(rule->uses & uses))
			continue;
		test = (struct scmp_arg_cmp) { rule->argument, rule->op, rule->value, 0, };
		ret = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rule->call, !!rule->op, &test);
		/* Another rule already allows it. */
		if (ret == -EEXIST)
			ret = 0;
	}
	if (!ret)
		ret = add_own_rules(filter, uses);
	if (!ret)
		ret = seccomp_load(filter);
	seccomp_release(filter);
	if (ret != -EINVAL && ret != -ECANCELED)
		return ret;
	/* The other privileges are still given up. */
	print_error("the kernel has no seccomp filters: system calls stay as they are");
	return 0;
}

#else

const bool privilege_filters;

static int filter_system_calls(unsigned int uses)
{
	(void)uses;
	return 0;
}

#endif

#define NOBODY 65534

/* The broker lists the file descriptors of other users' processes, and takes them. */
#define KEPT_BY_BROKER (CAP_TO_MASK(CAP_SYS_PTRACE) | CAP_TO_MASK(CAP_DAC_READ_SEARCH))

struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

/* Keeps capabilities in @kept that the process has. execve() cannot bring others back. */
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
		/* Without CAP_SETPCAP it stays, for an execve() that never comes. */
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
 * A user namespace may lack OWN_USERS. If 65534 is missing, too, or root may not change its user,
 * it stays root without capabilities.
 */
static int leave_root(void)
{
	if (geteuid() || !become(OWN_USERS + getpid()) || !become(NOBODY) ||
	    errno == EPERM || errno == EINVAL)
		return 0;
	return -1;
}

static int fail(const char *step, int err)
{
	print_error("cannot give up privileges: %s: %s", step, strerror(err));
	return STATUS_ERROR;
}

int privilege_drop(unsigned int uses)
{
	struct capabilities before = { .header.version = _LINUX_CAPABILITY_VERSION_3, };
	bool is_broker = uses & USE_BROKER;
	int ret;

	syscall(SYS_capget, &before.header, before.data);
	/* Reads a file. */
	tzset();
	if (empty_bounding_set())
		return fail("bounding set", errno);
	/* The broker keeps its user: other users cannot open its files in /proc. */
	if (!is_broker && leave_root())
		return fail("user", errno);
	if (keep_capabilities(&before, is_broker ? KEPT_BY_BROKER : 0))
		return fail("capabilities", errno);
	/* A debugger gets the privileges of the process that it is attached to. */
	if (prctl(PR_SET_DUMPABLE, SANITIZED ||
		  (!before.data[0].permitted && !before.data[1].permitted)))
		return fail("debuggers", errno);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail("new privileges", errno);
	ret = filter_system_calls(uses);
	return ret ? fail("system calls", -ret) : STATUS_OK;
}
