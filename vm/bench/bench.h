/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the programs that count instructions: the clock, the readers' loop, VMs and their
 * files.
 *
 * They need a machine whose clock counts instructions: QEMU with -icount shift=0, sleep=off and
 * one CPU, where each instruction takes one nanosecond. check_clock() checks that.
 *
 * The cost of an operation is the time of 2n operations minus the time of n, so that one-time
 * costs, such as reading the clock, cancel out. For system calls the cost of an empty operation
 * is subtracted, which removes the loop. Each time is the shortest of many; all of them are
 * shorter than the kernel's tick, so the shortest has no tick in it.
 *
 * arm64's clock has steps of 16 instructions. If n is a multiple of 16, the times of 2n and of
 * n operations leave the same remainder. Each round starts at another place within a step, so
 * that the shortest times are rounded down in the same way.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kvm.h>
#include <linux/kvm_stats.h>

#define DEBUGFS		"/sys/kernel/debug/kvm"
#define MAX_FILES	256

/* Measurements per time; twice as many as a step of arm64's clock has instructions. */
#define ROUNDS		32

static inline void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(errno));
	exit(1);
}

/* For calls that must not fail. */
static inline int sure(int result, const char *what)
{
	if (result < 0)
		fail("%s", what);
	return result;
}

/* A row of the result: its name in the table, its value, the number of values read. */
static inline void print(const char *row, double value, int values)
{
	printf("row %s %.2f %d\n", row, value, values);
}

#if defined(__x86_64__)

static inline uint64_t now(void)
{
	return __builtin_ia32_rdtsc();
}

static inline void three_instructions(uint64_t times)
{
	asm volatile("1: nop; dec %0; jnz 1b" : "+r" (times) : : "cc");
}

static inline void arch_init_vm(int vm)
{
	sure(ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000UL), "KVM_SET_TSS_ADDR");
}

#elif defined(__aarch64__)

/* The counter ticks less often than once per instruction: convert ticks to nanoseconds. */
static inline uint64_t now(void)
{
	uint64_t ticks, frequency;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r" (ticks) : : "memory");
	asm volatile("mrs %0, cntfrq_el0" : "=r" (frequency));
	return ticks * (1000000000 / frequency);
}

static inline void three_instructions(uint64_t times)
{
	asm volatile("1: nop; subs %0, %0, #1; b.ne 1b" : "+r" (times) : : "cc");
}

static inline void arch_init_vm(int vm)
{
	(void)vm;
}

#endif

/* An operation to measure. */
typedef void operation(void *arg);

/* Wait for the clock's next step, plus 3 * (@round + 1) instructions. */
static inline uint64_t start_clock(int round)
{
	uint64_t before = now();

	while (now() == before)
		;
	three_instructions(round + 1);
	return now();
}

/* Not inlined, so that every operation is an indirect call. */
static __attribute__((noinline)) uint64_t
shortest_of(int rounds, operation *op, void *arg, int n)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < rounds; round++) {
		uint64_t start = start_clock(round), time;

		for (int i = 0; i < n; i++)
			op(arg);
		time = now() - start;
		if (time < best)
			best = time;
	}
	return best;
}

static inline uint64_t shortest(operation *op, void *arg, int n)
{
	return shortest_of(ROUNDS, op, arg, n);
}

static inline double difference(operation *op, void *arg, int n)
{
	uint64_t once = shortest(op, arg, n);

	return (double)(shortest(op, arg, 2 * n) - once) / n;
}

static inline void do_nothing(void *arg)
{
	asm volatile("" : : "r" (arg) : "memory");
}

/* Instructions of one operation, without the loop around it. */
static inline double cost(operation *op, void *arg, int n)
{
	return difference(op, arg, n) - difference(do_nothing, NULL, n);
}

static inline void do_known(void *arg)
{
	three_instructions(*(int *)arg);
}

static inline void check_clock(void)
{
	int more = 101, less = 1;
	double found = difference(do_known, &more, 512) - difference(do_known, &less, 512);

	errno = ERANGE;
	if (found != 300)
		fail("300 instructions take %g ns, the clock does not count instructions", found);
}

static int kvm;

static inline int create_vm(void)
{
	int vm = sure(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");

	arch_init_vm(vm);
	return vm;
}

/* The arguments of a pread(). */
struct read {
	int fd;
	size_t size;
	off_t offset;
};

static inline void do_read(void *arg)
{
	static uint64_t buf[0x2000];
	const struct read *r = arg;

	if (pread(r->fd, buf, r->size, r->offset) < 0)
		fail("pread");
}

static inline void read_bytes(int fd, void *buf, size_t size, off_t offset)
{
	if (pread(fd, buf, size, offset) != (ssize_t)size)
		fail("statistics file");
}

/* The descriptors of a file: number, and offset of the first. */
struct descs {
	int fd;
	size_t name_size;
	unsigned int num;
	off_t at;
};

/* A statistic's offset in the data block, or 0. Sets *@size to the size of all values. */
static inline size_t find_stat(const struct descs *d, const char *name, size_t *size)
{
	struct {
		struct kvm_stats_desc desc;
		char name[256];
	} record = { };
	size_t stride = sizeof(record.desc) + d->name_size, found = 0;

	*size = 0;
	if (stride > sizeof(record))
		fail("descriptors of %zu bytes", stride);
	for (unsigned int i = 0; i < d->num; i++) {
		read_bytes(d->fd, &record, stride, d->at + i * stride);
		*size += record.desc.size * sizeof(uint64_t);
		if (!strcmp(record.desc.name, name))
			found = record.desc.offset;
	}
	return found;
}

/* Linux 5.14 and later have statistics files, too, but these cannot be mapped. */
static inline int is_extended(int fd)
{
	struct kvm_stats_header header;

	read_bytes(fd, &header, sizeof(header), 0);
	return header.flags & KVM_STATS_HEADER_EXT;
}

/* A mapping of a whole statistics file. */
struct mapping {
	const char *data;
	size_t size;
	size_t windows;		/* offset in it of the first vCPU window */
	struct kvm_stats_header header;
	struct kvm_stats_ext ext;
};

static inline void map_stats(struct mapping *m, int fd)
{
	read_bytes(fd, &m->header, sizeof(m->header), 0);
	errno = ENOTSUP;
	if (!(m->header.flags & KVM_STATS_HEADER_EXT))
		fail("mmap");
	read_bytes(fd, &m->ext, sizeof(m->ext), m->header.id_offset + m->header.name_size);
	m->size = m->ext.data_size;
	if (m->ext.vcpu_max) {
		m->windows = m->ext.vcpu_mmap_offset - m->header.data_offset;
		m->size = m->windows + (size_t)m->ext.vcpu_max * m->ext.vcpu_stride;
	}
	m->data = mmap(NULL, m->size, PROT_READ, MAP_SHARED, fd, m->header.data_offset);
	if (m->data == MAP_FAILED)
		fail("mmap");
}

/* Load each mapped value once. Eight per round, because the loop takes three instructions. */
static inline void load_values(const volatile uint64_t *values, size_t n)
{
	const volatile uint64_t *end = values + n, *end_of_eights = values + n / 8 * 8;

	for (; values != end_of_eights; values += 8) {
		(void)values[0];
		(void)values[1];
		(void)values[2];
		(void)values[3];
		(void)values[4];
		(void)values[5];
		(void)values[6];
		(void)values[7];
	}
	for (; values != end; values++)
		(void)values[0];
}

/* The debugfs files of a VM. */
struct debugfs {
	int dir;
	int files;
	char *name[MAX_FILES];
};

/* Not all files of a VM are statistics. */
static inline int has_number(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY);
	char digit = 0;
	ssize_t size = read(fd, &digit, 1);

	close(fd);
	return size == 1 && digit >= '0' && digit <= '9';
}

static inline void list_debugfs(struct debugfs *d, int vm)
{
	struct dirent *entry;
	char path[512];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d-%d", DEBUGFS, getpid(), vm);
	dir = opendir(path);
	if (!dir)
		fail("%s", path);
	d->dir = dirfd(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_type != DT_REG || !has_number(d->dir, entry->d_name))
			continue;
		if (d->files == MAX_FILES)
			fail("more files than expected in %s", path);
		d->name[d->files++] = strdup(entry->d_name);
	}
}

/* Opens the file for each read: an open debugfs file cannot seek and gives its value once. */
static inline void read_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY);
	char text[64];

	if (fd < 0 || read(fd, text, sizeof(text)) <= 0 || close(fd))
		fail("%s", name);
}

static inline void read_debugfs_one(void *arg)
{
	struct debugfs *d = arg;

	read_file(d->dir, "exits");
}

static inline void read_debugfs_all(void *arg)
{
	struct debugfs *d = arg;

	for (int i = 0; i < d->files; i++)
		read_file(d->dir, d->name[i]);
}
