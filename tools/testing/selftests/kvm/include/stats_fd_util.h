/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of KVM's statistics files share: VMs by raw ioctls, a whole
 * statistics file in memory, and its parts. Nothing from libkvm and nothing
 * that only one kernel's headers have, so that the tests also build and run on
 * other kernels and show where those differ.
 */
#ifndef SELFTEST_KVM_STATS_FD_UTIL_H
#define SELFTEST_KVM_STATS_FD_UTIL_H

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/kvm.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../../kselftest_harness.h"

/*
 * Seconds for a case. What takes less than one with hardware for virtualization
 * takes minutes without it, on a kernel that checks locks and memory. Whoever runs
 * the program limits it as a whole.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT		900

#ifndef KVM_CAP_BINARY_STATS_FD
#define KVM_CAP_BINARY_STATS_FD		203
#endif
#ifndef KVM_GET_STATS_FD
#define KVM_GET_STATS_FD		_IO(KVMIO, 0xce)
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open			434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd			438
#endif
#ifndef KVM_STATS_UNIT_BOOLEAN
#define KVM_STATS_UNIT_BOOLEAN		(0x4 << KVM_STATS_UNIT_SHIFT)
#endif

#ifndef KVM_STATS_HEADER_EXT
#define KVM_STATS_HEADER_EXT		0x1

#define KVM_STATS_EXT_MAGIC		0x7473766b

struct kvm_stats_ext {
	__u32 size;
	__u32 magic;
	__u32 data_size;
	__u32 vcpu_stride;
	__u64 vcpu_mmap_offset;
	__u32 vcpu_max;
	__u32 vcpu_num_desc;
	__u32 vcpu_desc_offset;
	__u32 vcpu_data_size;
	__u32 vcpu_id_offset;
	__u32 value_name_offset;
	__u32 value_name_num;
	__u32 value_name_size;
	__u32 vcpu_value_name_offset;
	__u32 vcpu_value_name_num;
};

struct kvm_stats_value_name {
	__u32 desc;
	__u32 value;
	char name[];
};
#endif

/* What clients have compiled in, whatever the header of this build says. */
#define STATS_HEADER_SIZE		24U
#define STATS_DESC_SIZE			16U
#define STATS_NAME_SIZE			48U
#define STATS_VALUE_NAME_SIZE		8U

/* Of any VM of a test. KVM of MIPS allows no more. */
#ifdef __mips__
#define STATS_MAX_VCPUS			16
#else
#define STATS_MAX_VCPUS			64
#endif

/* What KVM_CREATE_VCPU says to the id of a vCPU that the VM has. */
#ifdef __powerpc__
#define STATS_KNOWN_VCPU_ID		(-EINVAL)
#else
#define STATS_KNOWN_VCPU_ID		(-EEXIST)
#endif

/* A statistic that a kernel must have. @flags are type, unit and base. */
struct stats_known {
	const char *name;
	__u32 flags;
	__s16 exponent;
	__u16 buckets;		/* of a histogram */
};

#define STATS_CUMULATIVE(_name)						\
	{ .name = _name, .flags = KVM_STATS_TYPE_CUMULATIVE }
#define STATS_INSTANT(_name)						\
	{ .name = _name, .flags = KVM_STATS_TYPE_INSTANT }
#define STATS_PEAK(_name)						\
	{ .name = _name, .flags = KVM_STATS_TYPE_PEAK }
#define STATS_TIME_NS(_name)						\
	{ .name = _name, .exponent = -9,				\
	  .flags = KVM_STATS_TYPE_CUMULATIVE | KVM_STATS_UNIT_SECONDS |	\
		   KVM_STATS_BASE_POW10 }
#define STATS_INSTANT_BOOLEAN(_name)					\
	{ .name = _name,						\
	  .flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_BOOLEAN }
#define STATS_INSTANT_NS(_name)						\
	{ .name = _name, .exponent = -9,				\
	  .flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_SECONDS |	\
		   KVM_STATS_BASE_POW10 }
#define STATS_LOG_HIST_NS(_name, _buckets)				\
	{ .name = _name, .exponent = -9, .buckets = _buckets,		\
	  .flags = KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS |	\
		   KVM_STATS_BASE_POW10 }

/*
 * Code for a guest, in the assembler's words: at @name, up to @name_end. Its
 * place does not matter. On MIPS, the compiler addresses what is extern in a way
 * that works for global symbols only.
 */
#define STATS_GUEST_CODE(name, text)					\
	asm(".pushsection .rodata\n"					\
	    ".globl " #name ", " #name "_end\n"				\
	    ".balign 4\n"						\
	    #name ":\n"							\
	    text							\
	    #name "_end:\n"						\
	    ".popsection\n");						\
	extern const char name[], name##_end[]

/*
 * What a guest can do as often as it is asked to, and the statistics that move
 * by just that number. Each time is an exit to user space for @exit_reason, or
 * else one that KVM handles.
 */
struct stats_activity {
	const char *name;
	const char *code;
	const char *end;
	__u32 exit_reason;
	const char *moves[4];
	int (*moves_nothing)(void);	/* on this host */
	const char *(*moves_once)(void);	/* by the first time only, there */
	const char *again;	/* moves also if an interrupt of the host is next */
};

#define STATS_ACTIVITY(code_name)					\
	.name = #code_name, .code = code_name, .end = code_name##_end

/* What a guest saw of two statistics, and how often it would have looked on. */
struct stats_look {
	__u64 before[2];
	__u64 after[2];
	__u64 left;
};

/* Where guests have memory besides that of their code, if a test gives it. */
#define STATS_DATA			0x1000000UL

/*
 * One file as its reader sees it. @bytes is all of it, as of stats_load();
 * @data_size is the sum over the descriptors, which is what clients read. @ext is
 * zero where there is none.
 */
struct stats_file {
	int fd;
	struct kvm_stats_header header;
	struct kvm_stats_ext ext;
	size_t data_size;
	size_t size;
	char *bytes;
};

static inline bool stats_has_ext(const struct stats_file *f)
{
	return f->ext.magic == KVM_STATS_EXT_MAGIC;
}

/* Bytes at the start of the file that never change; a VM gets more vCPU ids. */
static inline size_t stats_constant_size(const struct stats_file *f)
{
	return f->ext.vcpu_id_offset ?: f->header.data_offset;
}

/* The result of a system call and its errno in one number. */
static inline long result(long ret)
{
	return ret < 0 ? -errno : ret;
}

static inline pid_t stats_tid(void)
{
	return syscall(SYS_gettid);
}

/* The inode of the initial pid namespace, a constant of the kernel. */
#define INIT_PID_NS_INO		0xeffffffcU

static inline bool stats_in_initial_pid_ns(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == INIT_PID_NS_INO;
}

/*
 * Without the capability no case means anything. A constructor, because the
 * harness of 5.10 runs a case even if its setup asked to skip it.
 */
static void __attribute__((constructor)) stats_need_capability(void)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int cap;

	if (kvm < 0) {
		ksft_print_header();
		ksft_exit_skip("/dev/kvm: %s\n", strerror(errno));
	}
	cap = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_BINARY_STATS_FD);
	close(kvm);
	if (cap <= 0) {
		ksft_print_header();
		ksft_exit_skip("this kernel lacks KVM_CAP_BINARY_STATS_FD\n");
	}
}

/* 5.10's harness takes exit status 255 for a skip. */
#define SKIP_IN_SETUP(fmt, ...) SKIP(_exit(255), fmt, ##__VA_ARGS__)

static inline int stats_open_kvm(struct __test_metadata *_metadata)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, kvm) TH_LOG("/dev/kvm: %s", strerror(errno));
	return kvm;
}

static inline int stats_create_vm(struct __test_metadata *_metadata, int kvm)
{
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);

	ASSERT_LE(0, vm) TH_LOG("KVM_CREATE_VM: %s", strerror(errno));
	return vm;
}

static inline int stats_create_vcpu(struct __test_metadata *_metadata, int vm,
				    unsigned long id)
{
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, id);

	ASSERT_LE(0, vcpu) {
		TH_LOG("KVM_CREATE_VCPU %lu: %s", id, strerror(errno));
	}
	return vcpu;
}

/* @fd is a VM's or a vCPU's. */
static inline int stats_get_fd(struct __test_metadata *_metadata, int fd)
{
	int stats = ioctl(fd, KVM_GET_STATS_FD, 0);

	ASSERT_LE(0, stats) TH_LOG("KVM_GET_STATS_FD: %s", strerror(errno));
	return stats;
}

static inline size_t stats_stride(const struct stats_file *f)
{
	return STATS_DESC_SIZE + f->header.name_size;
}

static inline const char *stats_id(const struct stats_file *f)
{
	return f->bytes + f->header.id_offset;
}

/* NULL behind the last one. */
static inline const struct kvm_stats_desc *
stats_desc(const struct stats_file *f, unsigned int i)
{
	if (i >= f->header.num_desc)
		return NULL;
	return (const void *)(f->bytes + f->header.desc_offset +
			      i * stats_stride(f));
}

/* Of a vCPU, in the file of a VM. NULL behind the last one. */
static inline const struct kvm_stats_desc *
stats_vcpu_desc(const struct stats_file *f, unsigned int i)
{
	if (i >= f->ext.vcpu_num_desc)
		return NULL;
	return (const void *)(f->bytes + f->ext.vcpu_desc_offset +
			      i * stats_stride(f));
}

/* The @i-th name of a value. NULL behind the last one. */
static inline const struct kvm_stats_value_name *
stats_value_name(const struct stats_file *f, unsigned int i)
{
	if (i >= f->ext.value_name_num)
		return NULL;
	return (const void *)(f->bytes + f->ext.value_name_offset +
			      f->ext.value_name_size * i);
}

/* The id of the vCPU whose window is the @i-th, in the file of a VM. */
static inline __u32 stats_vcpu_id(const struct stats_file *f, unsigned int i)
{
	__u32 id;

	memcpy(&id, f->bytes + f->ext.vcpu_id_offset + i * sizeof(id),
	       sizeof(id));
	return id;
}

static inline bool stats_is_hist(const struct kvm_stats_desc *desc)
{
	unsigned int type = desc->flags & KVM_STATS_TYPE_MASK;

	return type == KVM_STATS_TYPE_LINEAR_HIST ||
	       type == KVM_STATS_TYPE_LOG_HIST;
}

static inline __u64 stats_value(const struct stats_file *f,
				const struct kvm_stats_desc *desc,
				unsigned int i)
{
	__u64 value;

	memcpy(&value, f->bytes + f->header.data_offset + desc->offset + 8 * i,
	       sizeof(value));
	return value;
}

/* Take over the extension block; asserts as stats_load(). */
static inline void stats_load_ext(struct __test_metadata *_metadata,
				  struct stats_file *f)
{
	size_t at = f->header.id_offset + STATS_NAME_SIZE;
	struct kvm_stats_ext *ext = &f->ext;
	size_t size;

	if (!(f->header.flags & KVM_STATS_HEADER_EXT))
		return;
	memcpy(&ext->size, f->bytes + at, sizeof(ext->size));
	memcpy(&ext->magic, f->bytes + at + sizeof(ext->size), sizeof(ext->magic));
	/* A kernel with another meaning of the flag has no such block. */
	if (!stats_has_ext(f))
		return;
	/* What is behind its end, on a kernel that has less of it, is zero. */
	size = ext->size < sizeof(*ext) ? ext->size : sizeof(*ext);
	ASSERT_GE(f->header.data_offset, at + size);
	memcpy(ext, f->bytes + at, size);
	ASSERT_GE(f->header.data_offset, ext->vcpu_desc_offset +
		  ext->vcpu_num_desc * stats_stride(f));
	ASSERT_GE(f->header.data_offset, ext->vcpu_id_offset +
		  ext->vcpu_max * sizeof(__u32));
	ASSERT_GE(f->header.data_offset, ext->value_name_offset +
		  ext->value_name_num * ext->value_name_size);
	ASSERT_GE(f->header.data_offset, ext->vcpu_value_name_offset +
		  ext->vcpu_value_name_num * ext->value_name_size);
}

/*
 * Read all of a file, in the way that clients go: header, descriptors, data.
 * Asserts only what keeps the test itself within its memory.
 */
static inline void stats_load(struct __test_metadata *_metadata, int fd,
			      struct stats_file *f)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	ASSERT_EQ(STATS_HEADER_SIZE,
		  pread(fd, &f->header, STATS_HEADER_SIZE, 0));
	ASSERT_EQ(STATS_NAME_SIZE, f->header.name_size);
	ASSERT_GT(1024U, f->header.num_desc);
	ASSERT_GT(1U << 20, f->header.data_offset);
	ASSERT_GE(f->header.data_offset, f->header.id_offset + STATS_NAME_SIZE);
	ASSERT_GE(f->header.data_offset, f->header.desc_offset +
		  f->header.num_desc * stats_stride(f));

	f->bytes = malloc(f->header.data_offset);
	ASSERT_NE(NULL, f->bytes);
	ASSERT_EQ((ssize_t)f->header.data_offset,
		  pread(fd, f->bytes, f->header.data_offset, 0));
	stats_load_ext(_metadata, f);

	for (i = 0; (desc = stats_desc(f, i)); i++)
		f->data_size += 8 * desc->size;
	f->size = f->header.data_offset + f->data_size;
	f->bytes = realloc(f->bytes, f->size);
	ASSERT_NE(NULL, f->bytes);
	ASSERT_EQ((ssize_t)f->data_size,
		  pread(fd, f->bytes + f->header.data_offset, f->data_size,
			f->header.data_offset));
}

static inline void stats_unload(struct stats_file *f)
{
	free(f->bytes);
	close(f->fd);
}

static inline const struct kvm_stats_desc *
stats_find(const struct stats_file *f, const char *name)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_desc(f, i)); i++) {
		if (!strncmp(name, desc->name, STATS_NAME_SIZE))
			return desc;
	}
	return NULL;
}

/* The value that a statistic has now, not the one of stats_load(). */
static inline __u64 stats_read(struct __test_metadata *_metadata,
			       const struct stats_file *f, const char *name)
{
	const struct kvm_stats_desc *desc = stats_find(f, name);
	__u64 value;

	ASSERT_NE(NULL, desc) TH_LOG("no statistic %s", name);
	ASSERT_EQ((ssize_t)sizeof(value),
		  pread(f->fd, &value, sizeof(value),
			f->header.data_offset + desc->offset));
	return value;
}

/* All values that a statistic has now. */
static inline void stats_read_all(struct __test_metadata *_metadata,
				  const struct stats_file *f, const char *name,
				  __u64 *values, unsigned int num)
{
	const struct kvm_stats_desc *desc = stats_find(f, name);

	ASSERT_NE(NULL, desc) TH_LOG("no statistic %s", name);
	ASSERT_EQ(num, desc->size) TH_LOG("%s", name);
	ASSERT_EQ((ssize_t)(num * sizeof(*values)),
		  pread(f->fd, values, num * sizeof(*values),
			f->header.data_offset + desc->offset));
}

#define STATS_LINE_SIZE			128

/*
 * Copy the value of the line "<key>:\t<value>" of a file's fdinfo, empty if
 * there is none. Returns the number of such lines.
 */
static inline int stats_fdinfo(struct __test_metadata *_metadata, int fd,
			       const char *key, char value[STATS_LINE_SIZE])
{
	char path[64], line[STATS_LINE_SIZE];
	size_t len = strlen(key);
	int count = 0;
	FILE *fdinfo;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	fdinfo = fopen(path, "re");
	ASSERT_NE(NULL, fdinfo) TH_LOG("%s: %s", path, strerror(errno));

	value[0] = '\0';
	while (fgets(line, sizeof(line), fdinfo)) {
		if (strncmp(line, key, len) || strncmp(line + len, ":\t", 2))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(value, STATS_LINE_SIZE, "%s", line + len + 2);
		count++;
	}
	fclose(fdinfo);
	return count;
}

static inline void stats_expect_fdinfo(struct __test_metadata *_metadata,
				       int fd, const char *key,
				       const char *expected)
{
	char value[STATS_LINE_SIZE];

	ASSERT_EQ(1, stats_fdinfo(_metadata, fd, key, value)) {
		TH_LOG("fdinfo line %s:", key);
	}
	ASSERT_STREQ(expected, value);
}

/*
 * Run a function in a forked process, which has another mm. It returns 0 or a
 * negative errno; so does this.
 */
static inline int stats_in_child(struct __test_metadata *_metadata,
				 int (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-fn(arg));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status)) {
		TH_LOG("child died of signal %d", WTERMSIG(status));
	}
	return -WEXITSTATUS(status);
}

/*
 * Start a child that reports failures by ASSERT_*(), and dies with the test. The
 * counterpart is stats_wait().
 */
static inline pid_t stats_fork(struct __test_metadata *_metadata,
			       void (*fn)(struct __test_metadata *_metadata,
					  void *arg), void *arg)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid) TH_LOG("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(_metadata, arg);
		_exit(!__test_passed(_metadata));
	}
	return pid;
}

static inline void stats_wait(struct __test_metadata *_metadata, pid_t pid)
{
	int status;

	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status) TH_LOG("child %d failed", pid);
}

#define STATS_MAX_CHILDREN		16

/* Run @fn in children at the same time, with a number from 0 on each. */
static inline void
stats_in_children(struct __test_metadata *_metadata, int children,
		  void (*fn)(struct __test_metadata *_metadata, int nr,
			     void *arg), void *arg)
{
	pid_t pid[STATS_MAX_CHILDREN];
	int i;

	for (i = 0; i < children; i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			fn(_metadata, i, arg);
			_exit(!__test_passed(_metadata));
		}
	}
	for (i = 0; i < children; i++)
		stats_wait(_metadata, pid[i]);
}

/* Processes wait for each other by one byte through a socket or pipe. */
static inline void stats_say(struct __test_metadata *_metadata, int sock)
{
	ASSERT_EQ(1, write(sock, "", 1));
}

static inline void stats_hear(struct __test_metadata *_metadata, int sock)
{
	char byte;

	ASSERT_EQ(1, read(sock, &byte, 1)) TH_LOG("the other side died");
}

/* For children: 0 if a file still is what was loaded, -ESTALE if not. */
static inline int stats_same(int fd, const struct stats_file *f)
{
	char *now = malloc(f->size);
	ssize_t ret;

	if (!now)
		return -ENOMEM;
	ret = result(pread(fd, now, f->size, 0));
	if (ret >= 0) {
		ret = (size_t)ret == f->size && !memcmp(now, f->bytes, ret) ?
		      0 : -ESTALE;
	}
	free(now);
	return ret;
}

union stats_fd_control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(int))];
};

static inline void stats_fd_message(struct msghdr *msg, struct iovec *iov,
				    union stats_fd_control *control)
{
	static char byte;

	memset(control, 0, sizeof(*control));
	iov->iov_base = &byte;
	iov->iov_len = 1;
	*msg = (struct msghdr) {
		.msg_iov = iov,
		.msg_iovlen = 1,
		.msg_control = control->buf,
		.msg_controllen = sizeof(control->buf),
	};
}

/* Through a socket, with one byte. 0 or a negative errno. */
static inline int stats_send_fd(int sock, int fd)
{
	union stats_fd_control control;
	struct cmsghdr *cmsg;
	struct msghdr msg;
	struct iovec iov;

	stats_fd_message(&msg, &iov, &control);
	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

/* The fd or a negative errno. */
static inline int stats_recv_fd(int sock)
{
	union stats_fd_control control;
	struct cmsghdr *cmsg;
	struct msghdr msg;
	struct iovec iov;
	int fd;

	stats_fd_message(&msg, &iov, &control);
	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -EBADMSG;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return -EBADMSG;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* For children: give up all that root may do. */
static inline int stats_become_nobody(void)
{
	const int nobody = 65534;

	if (setgroups(0, NULL) || setresgid(nobody, nobody, nobody) ||
	    setresuid(nobody, nobody, nobody))
		return -errno;
	return 0;
}

static inline int stats_pidfd_getfd(pid_t pid, int fd)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0);
	int pulled;

	if (pidfd < 0)
		return -errno;
	pulled = result(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
	close(pidfd);
	return pulled;
}

#define STATS_DEBUGFS			"/sys/kernel/debug/kvm"
#define STATS_DEBUGFS_SIZE		64

/* Can the test see VMs in debugfs, under the names that it knows? */
static inline bool stats_has_debugfs(void)
{
	return !access(STATS_DEBUGFS, R_OK | X_OK) && stats_in_initial_pid_ns();
}

/* The directory of a VM that thread @tid made and got fd @vm for. */
static inline void stats_debugfs_path(char path[STATS_DEBUGFS_SIZE], pid_t tid,
				      int vm)
{
	snprintf(path, STATS_DEBUGFS_SIZE, STATS_DEBUGFS "/%d-%d", tid, vm);
}

/* Has the kernel this symbol? Root is told all of them. */
static inline bool stats_kernel_has(const char *symbol)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[STATS_LINE_SIZE], name[STATS_LINE_SIZE];
	bool found = false;

	while (symbols && !found && fgets(line, sizeof(line), symbols))
		found = sscanf(line, "%*s %*s %127s", name) == 1 &&
			!strcmp(name, symbol);
	if (symbols)
		fclose(symbols);
	return found;
}

#endif /* SELFTEST_KVM_STATS_FD_UTIL_H */
