/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the tests of KVM's statistics files: create VMs by raw ioctls, load a whole
 * statistics file and find its parts. Do not use libkvm, so that the tests also run on
 * other kernels and show where those differ.
 */
#ifndef SELFTEST_KVM_STATS_FD_UTIL_H
#define SELFTEST_KVM_STATS_FD_UTIL_H

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/kvm.h>
#include <linux/kvm_stats.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "../../kselftest_harness.h"

/* Seconds for a case: in an emulator, a kernel that checks locks and memory is slow. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT		900

#ifndef SYS_pidfd_open
#define SYS_pidfd_open			434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd			438
#endif
/* Clients have these numbers compiled in, whatever this build's header says. */
#define STATS_HEADER_SIZE		24U
#define STATS_DESC_SIZE			16U
#define STATS_NAME_SIZE			48U

/* The most vCPUs that a test gives a VM: KVM's limit on MIPS. */
#ifdef __mips__
#define STATS_MAX_VCPUS			16
#else
#define STATS_MAX_VCPUS			64
#endif

/* KVM_CREATE_VCPU returns this error if the VM has a vCPU with the same id. */
#ifdef __powerpc__
#define STATS_KNOWN_VCPU_ID		(-EINVAL)
#else
#define STATS_KNOWN_VCPU_ID		(-EEXIST)
#endif

/*
 * Guest code in assembler, from @name to @name_end. It runs at any address. Its symbols
 * are global because MIPS compilers cannot address other extern symbols.
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
 * An activity that a guest repeats a given number of times, and the statistics and exit
 * reasons that count it that often. Each repetition exits to user space with @exit_reason
 * or, if that is 0, is an exit that KVM handles.
 */
struct stats_activity {
	const char *name, *code, *end;
	__u32 exit_reason;
	const char *moves[4];
	const char *reasons[3];			/* empty if a host may have others */
	int (*moves_nothing)(void);		/* this host handles it without exit */
	const char *(*moves_once)(void);	/* this statistic counts the first only */
	const char *again;			/* this reason may follow an interrupt, too */
};

#define STATS_ACTIVITY(code_name)					\
	.name = #code_name, .code = code_name, .end = code_name##_end

/* Two statistics as a guest read them first and last, and the number of reads left to do. */
struct stats_sample {
	__u64 before[2];
	__u64 after[2];
	__u64 left;
};

/* The address of guest memory for data, if a test adds it. */
#define STATS_DATA			0x1000000UL

/*
 * A statistics file. @bytes is its content at the time of stats_load(), @data_size the
 * sum of the descriptors' sizes, as clients compute it. @ext is 0 if there is no block.
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

/* Return a system call's result, or its errno as a negative number. */
static inline long result(long ret)
{
	return ret < 0 ? -errno : ret;
}

static inline __u64 stats_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

#define STATS_LINE_SIZE			128

/* Read the first line of a file. Return false if there is none. */
static inline bool stats_read_line(const char *dir, const char *name, char line[STATS_LINE_SIZE])
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	line[0] = '\0';
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(line, STATS_LINE_SIZE, file))
		line[strcspn(line, "\n")] = '\0';
	fclose(file);
	return line[0];
}

/* Return 0 or a negative errno. */
static inline int stats_write_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	ssize_t ret;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = result(write(fd, text, strlen(text)));
	close(fd);
	return ret < 0 ? ret : 0;
}

/* Return how many entries of a directory begin with @begin, without hidden ones. */
static inline unsigned int stats_count_entries(struct __test_metadata *_metadata,
					       const char *path, const char *begin)
{
	DIR *dir = opendir(path);
	unsigned int count = 0;
	struct dirent *entry;

	ASSERT_NE(NULL, dir) TH_LOG("%s: %s", path, strerror(errno));
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.' && !strncmp(entry->d_name, begin, strlen(begin));
	closedir(dir);
	return count;
}

static inline pid_t stats_tid(void)
{
	return syscall(SYS_gettid);
}

/* The inode number of the initial pid namespace is a constant of the kernel. */
#define INIT_PID_NS_INO		0xeffffffcU

static inline bool stats_in_initial_pid_ns(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == INIT_PID_NS_INO;
}

/* Skip all cases if the kernel lacks the capability. */
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

static inline int stats_open_kvm(struct __test_metadata *_metadata)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, kvm) TH_LOG("/dev/kvm: %s", strerror(errno));
	return kvm;
}

static inline int stats_create_vm(struct __test_metadata *_metadata)
{
	int kvm = stats_open_kvm(_metadata);
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);

	ASSERT_LE(0, vm) TH_LOG("KVM_CREATE_VM: %s", strerror(errno));
	close(kvm);
	return vm;
}

static inline int stats_max_vcpus(struct __test_metadata *_metadata)
{
	int kvm = stats_open_kvm(_metadata);
	int max = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_MAX_VCPUS);

	close(kvm);
	return max;
}

static inline int stats_create_vcpu(struct __test_metadata *_metadata, int vm, unsigned long id)
{
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, id);

	ASSERT_LE(0, vcpu) TH_LOG("KVM_CREATE_VCPU %lu: %s", id, strerror(errno));
	return vcpu;
}

/* Open the statistics file of a VM or vCPU. */
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

/* Return the @i-th descriptor, or NULL behind the last one. */
static inline const struct kvm_stats_desc *
stats_desc(const struct stats_file *f, unsigned int i)
{
	if (i >= f->header.num_desc)
		return NULL;
	return (const void *)(f->bytes + f->header.desc_offset + i * stats_stride(f));
}

/* The same for the vCPU descriptors in a VM's file. */
static inline const struct kvm_stats_desc *
stats_vcpu_desc(const struct stats_file *f, unsigned int i)
{
	if (i >= f->ext.vcpu_num_desc)
		return NULL;
	return (const void *)(f->bytes + f->ext.vcpu_desc_offset + i * stats_stride(f));
}

/* The same for the names of values. */
static inline const struct kvm_stats_value_name *
stats_value_name(const struct stats_file *f, unsigned int i)
{
	if (i >= f->ext.value_name_num)
		return NULL;
	return (const void *)(f->bytes + f->ext.value_name_offset + f->ext.value_name_size * i);
}

/* The id of the vCPU that the @i-th window of a VM's file shows. */
static inline __u32 stats_vcpu_id(const struct stats_file *f, unsigned int i)
{
	__u32 id;

	memcpy(&id, f->bytes + f->ext.vcpu_id_offset + i * sizeof(id), sizeof(id));
	return id;
}

static inline bool stats_is_hist(const struct kvm_stats_desc *desc)
{
	unsigned int type = desc->flags & KVM_STATS_TYPE_MASK;

	return type == KVM_STATS_TYPE_LINEAR_HIST ||
	       type == KVM_STATS_TYPE_LOG_HIST;
}

static inline __u64 stats_value(const struct stats_file *f, const struct kvm_stats_desc *desc,
				unsigned int i)
{
	__u64 value;

	memcpy(&value, f->bytes + f->header.data_offset + desc->offset + 8 * i, sizeof(value));
	return value;
}

/* Copy the extension block. Assert only that the test stays within its memory. */
static inline void stats_load_ext(struct __test_metadata *_metadata, struct stats_file *f)
{
	size_t at = f->header.id_offset + STATS_NAME_SIZE;
	struct kvm_stats_ext *ext = &f->ext;
	size_t size;

	if (!(f->header.flags & KVM_STATS_HEADER_EXT))
		return;
	ASSERT_GE(f->header.data_offset, at + sizeof(ext->size) + sizeof(ext->magic));
	memcpy(&ext->size, f->bytes + at, sizeof(ext->size));
	memcpy(&ext->magic, f->bytes + at + sizeof(ext->size), sizeof(ext->magic));
	/* On a kernel that uses the flag for something else there is no such block. */
	if (!stats_has_ext(f))
		return;
	/* Fields that an older kernel's block lacks are 0. */
	size = ext->size < sizeof(*ext) ? ext->size : sizeof(*ext);
	ASSERT_GE(f->header.data_offset, at + size);
	memcpy(ext, f->bytes + at, size);
	ASSERT_GE(f->header.data_offset, ext->vcpu_desc_offset +
		  ext->vcpu_num_desc * stats_stride(f));
	ASSERT_GE(f->header.data_offset, ext->vcpu_id_offset + ext->vcpu_max * sizeof(__u32));
	ASSERT_GE(f->header.data_offset, ext->value_name_offset +
		  ext->value_name_num * ext->value_name_size);
	ASSERT_GE(f->header.data_offset, ext->vcpu_value_name_offset +
		  ext->vcpu_value_name_num * ext->value_name_size);
}

/*
 * Read a whole file as clients do: header, descriptors, data. Assert only that the test
 * stays within its memory.
 */
static inline void stats_load(struct __test_metadata *_metadata, int fd, struct stats_file *f)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	ASSERT_EQ(STATS_HEADER_SIZE, pread(fd, &f->header, STATS_HEADER_SIZE, 0));
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

/* The same for a statistic that the test needs. */
static inline const struct kvm_stats_desc *
stats_get(struct __test_metadata *_metadata, const struct stats_file *f, const char *name)
{
	const struct kvm_stats_desc *desc = stats_find(f, name);

	ASSERT_NE(NULL, desc) TH_LOG("no statistic %s", name);
	return desc;
}

/* The offset of a statistic's first value in the file. */
static inline off_t stats_offset(struct __test_metadata *_metadata,
				 const struct stats_file *f, const char *name)
{
	return f->header.data_offset + stats_get(_metadata, f, name)->offset;
}

/* Return the number of a statistic's value with this name, or -1. */
static inline int stats_find_value(const struct stats_file *f, const char *stat, const char *name)
{
	const struct kvm_stats_value_name *v;
	unsigned int i;

	for (i = 0; (v = stats_value_name(f, i)); i++) {
		if (stats_desc(f, v->desc) == stats_find(f, stat) &&
		    !strncmp(name, v->name, STATS_NAME_SIZE))
			return v->value;
	}
	return -1;
}

/* Return the name of a statistic's value. */
static inline const char *stats_name_of(const struct stats_file *f, const char *stat, __u64 value)
{
	const struct kvm_stats_value_name *v;
	unsigned int i;

	for (i = 0; (v = stats_value_name(f, i)); i++) {
		if (stats_desc(f, v->desc) == stats_find(f, stat) && v->value == value)
			return v->name;
	}
	return "no name";
}

/* Read a statistic's current value. */
static inline __u64 stats_read(struct __test_metadata *_metadata,
			       const struct stats_file *f, const char *name)
{
	off_t offset = stats_offset(_metadata, f, name);
	__u64 value;

	ASSERT_EQ((ssize_t)sizeof(value), pread(f->fd, &value, sizeof(value), offset));
	return value;
}

/* Read all current values of a statistic. */
static inline void stats_read_all(struct __test_metadata *_metadata,
				  const struct stats_file *f, const char *name,
				  __u64 *values, unsigned int num)
{
	ASSERT_EQ(num, stats_get(_metadata, f, name)->size) TH_LOG("%s", name);
	ASSERT_EQ((ssize_t)(num * sizeof(*values)),
		  pread(f->fd, values, num * sizeof(*values), stats_offset(_metadata, f, name)));
}

/*
 * Copy the value of the line "<key>:\t<value>" of a file's fdinfo, or an empty string.
 * Return the number of such lines.
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
				       int fd, const char *key, const char *expected)
{
	char value[STATS_LINE_SIZE];

	ASSERT_EQ(1, stats_fdinfo(_metadata, fd, key, value)) TH_LOG("fdinfo line %s:", key);
	ASSERT_STREQ(expected, value);
}

/* Call @fn in a forked process and return its result, 0 or a negative errno. */
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
	ASSERT_TRUE(WIFEXITED(status)) TH_LOG("child died of signal %d", WTERMSIG(status));
	return -WEXITSTATUS(status);
}

/* Fork a child that may use ASSERT_*() and dies with the test; stats_wait() for it. */
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

/* Call @fn in several children at the same time. @nr counts them from 0. */
static inline void
stats_in_children(struct __test_metadata *_metadata, int children,
		  void (*fn)(struct __test_metadata *_metadata, int nr, void *arg), void *arg)
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

/* Let the process at the other end of a socket go on from stats_hear(). */
static inline void stats_say(struct __test_metadata *_metadata, int sock)
{
	ASSERT_EQ(1, write(sock, "", 1));
}

static inline void stats_hear(struct __test_metadata *_metadata, int sock)
{
	char byte;

	ASSERT_EQ(1, read(sock, &byte, 1)) TH_LOG("the other process died");
}

/* Return 0 if the first @size bytes of a file are as they were loaded, otherwise -ESTALE. */
static inline int stats_same_until(int fd, const struct stats_file *f, size_t size)
{
	char *now = malloc(f->size);
	ssize_t ret;

	if (!now)
		return -ENOMEM;
	ret = result(pread(fd, now, f->size, 0));
	if (ret >= 0) {
		ret = (size_t)ret == f->size && !memcmp(now, f->bytes, size) ?
		      0 : -ESTALE;
	}
	free(now);
	return ret;
}

static inline int stats_same(int fd, const struct stats_file *f)
{
	return stats_same_until(fd, f, f->size);
}

/* For children: give up root's privileges. */
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

/* Set a vCPU's register. x86 has its own ioctls for that. */
static inline void stats_set_reg(struct __test_metadata *_metadata, int vcpu,
				 __u64 id, __u64 value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (unsigned long)&value };

	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_ONE_REG, &reg)) {
		TH_LOG("register %#llx: %s", id, strerror(errno));
	}
}

#define STATS_DEBUGFS			"/sys/kernel/debug/kvm"
#define STATS_DEBUGFS_SIZE		64

/* Return whether debugfs names VMs by thread ids that the test knows. */
static inline bool stats_has_debugfs(void)
{
	return !access(STATS_DEBUGFS, R_OK | X_OK) && stats_in_initial_pid_ns();
}

/* Return whether the kernel has a symbol; root can see all of them. */
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
