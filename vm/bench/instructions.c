// SPDX-License-Identifier: GPL-2.0-only
/*
 * What exits and statistics cost, in instructions of the CPU. Runs with the base
 * kernel as well and prints nothing there for what that one does not have.
 *
 * It wants a machine whose clock counts instructions: QEMU with -icount shift=0,
 * sleep=off and one CPU, where each instruction takes one nanosecond. The first
 * thing it does is to check that.
 *
 * A cost is a difference: of the time of 2n operations in a row and of n, so
 * that what happens once, as reading the clock, is out of it; and, for system
 * calls, of this and the same with an operation that does nothing, so that the
 * loop is out of it, too. Each of the times is the shortest of many: each one is
 * shorter than the time from one tick of the kernel to the next, so that many
 * of them, and the shortest, have no tick in it.
 *
 * The clock of arm64 has steps of 16 instructions. With n a multiple of 16 the
 * time of 2n and of n operations leave the same rest, and as each of the rounds
 * starts at another place within a step, the shortest ones are rounded down alike.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/kvm.h>

#define DEBUGFS		"/sys/kernel/debug/kvm"
#define MAX_FILES	256

/* How often a time is taken to find the shortest; as many as arm64's clock has steps. */
#define ROUNDS		32

/*
 * Of the comparison with and without a reader: exits in one run, and runs, which
 * are long enough for the scheduler to be fair to the reader.
 */
#define LONG_RUN	40000
#define LONG_RUNS	5

static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "instructions: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(errno));
	exit(1);
}

/* Of what must not fail. */
static int sure(int result, const char *what)
{
	if (result < 0)
		fail("%s", what);
	return result;
}

/* A line of the result: its name in the table, its value, the values read. */
static void print(const char *row, double value, int values)
{
	printf("row %s %.2f %d\n", row, value, values);
}

/* A guest's memory is one page, aligned to arm64's largest. */
#define GUEST_MEMORY	0x10000UL
#define KERNEL_EXITS	GUEST_MEMORY
#define USER_EXITS	(GUEST_MEMORY + 0x100)

#if defined(__x86_64__)

static uint64_t now(void)
{
	return __builtin_ia32_rdtsc();
}

static void three_instructions(uint64_t times)
{
	asm volatile("1: nop; dec %0; jnz 1b" : "+r" (times) : : "cc");
}

/* In real mode: as many exits that KVM handles as %edi says, one that it does not. */
static const uint8_t kernel_exits_code[] = {
	0x66, 0x89, 0xfe,	/* 1:	mov %edi, %esi	*/
	0x0f, 0xa2,		/* 2:	cpuid		*/
	0x66, 0x4e,		/*	dec %esi	*/
	0x75, 0xfa,		/*	jnz 2b		*/
	0xe6, 0x10,		/*	out %al, $0x10	*/
	0xeb, 0xf3,		/*	jmp 1b		*/
};

static const uint8_t user_exits_code[] = {
	0xe6, 0x10,		/* 1:	out %al, $0x10	*/
	0xeb, 0xfc,		/*	jmp 1b		*/
};

static void arch_init_vm(int vm)
{
	sure(ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000UL), "KVM_SET_TSS_ADDR");
}

static void arch_init_vcpu(int vm, int vcpu, uint64_t pc)
{
	struct kvm_regs regs = { .rflags = 2 };
	struct kvm_sregs sregs;

	(void)vm;
	sure(ioctl(vcpu, KVM_GET_SREGS, &sregs), "KVM_GET_SREGS");
	sregs.cs.base = pc;
	sregs.cs.selector = pc >> 4;
	sure(ioctl(vcpu, KVM_SET_SREGS, &sregs), "KVM_SET_SREGS");
	sure(ioctl(vcpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");
}

static void arch_set_count(int vcpu, uint32_t count)
{
	struct kvm_regs regs;

	sure(ioctl(vcpu, KVM_GET_REGS, &regs), "KVM_GET_REGS");
	regs.rdi = count;
	sure(ioctl(vcpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");
}

#elif defined(__aarch64__)

/* The counter's frequency is not that of the instructions. */
static uint64_t now(void)
{
	uint64_t ticks, frequency;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r" (ticks) : : "memory");
	asm volatile("mrs %0, cntfrq_el0" : "=r" (frequency));
	return ticks * (1000000000 / frequency);
}

static void three_instructions(uint64_t times)
{
	asm volatile("1: nop; subs %0, %0, #1; b.ne 1b" : "+r" (times) : : "cc");
}

/* As many exits that KVM handles as x19 says, one that it does not. */
static const uint32_t kernel_exits_code[] = {
	0xaa1303f4,		/* 1:	mov x20, x19	*/
	0x52b00000,		/* 2:	mov w0, #0x80000000 (SMCCC_VERSION) */
	0xd4000002,		/*	hvc #0		*/
	0xf1000694,		/*	subs x20, x20, #1	*/
	0x54ffffa1,		/*	b.ne 2b		*/
	0xb90002a1,		/*	str w1, [x21]	*/
	0x17fffffa,		/*	b 1b		*/
};

static const uint32_t user_exits_code[] = {
	0xb90002a1,		/* 1:	str w1, [x21]	*/
	0x17ffffff,		/*	b 1b		*/
};

static void arch_init_vm(int vm)
{
	(void)vm;
}

static void set_reg(int vcpu, uint64_t offset, uint64_t value)
{
	struct kvm_one_reg reg = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |
		      offset / sizeof(uint32_t),
		.addr = (uintptr_t)&value,
	};

	sure(ioctl(vcpu, KVM_SET_ONE_REG, &reg), "KVM_SET_ONE_REG");
}

static void arch_init_vcpu(int vm, int vcpu, uint64_t pc)
{
	struct kvm_vcpu_init init;

	sure(ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init), "KVM_ARM_PREFERRED_TARGET");
	sure(ioctl(vcpu, KVM_ARM_VCPU_INIT, &init), "KVM_ARM_VCPU_INIT");
	set_reg(vcpu, offsetof(struct kvm_regs, regs.pc), pc);
	/* There is no memory at this address. */
	set_reg(vcpu, offsetof(struct kvm_regs, regs.regs[21]), 0x10000000);
}

static void arch_set_count(int vcpu, uint32_t count)
{
	set_reg(vcpu, offsetof(struct kvm_regs, regs.regs[19]), count);
}

#endif

/* An operation of which the cost is asked. */
typedef void operation(void *arg);

/* Wait for the clock's next step, and @round times three instructions more. */
static uint64_t start_clock(int round)
{
	uint64_t before = now();

	while (now() == before)
		;
	three_instructions(round + 1);
	return now();
}

static uint64_t shortest(operation *op, void *arg, int n)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = start_clock(round), time;

		for (int i = 0; i < n; i++)
			op(arg);
		time = now() - start;
		if (time < best)
			best = time;
	}
	return best;
}

static double difference(operation *op, void *arg, int n)
{
	uint64_t once = shortest(op, arg, n);

	return (double)(shortest(op, arg, 2 * n) - once) / n;
}

static void do_nothing(void *arg)
{
	asm volatile("" : : "r" (arg) : "memory");
}

/* Instructions of one operation, without the loop around it. */
static double cost(operation *op, void *arg, int n)
{
	return difference(op, arg, n) - difference(do_nothing, NULL, n);
}

static void do_known(void *arg)
{
	three_instructions(*(int *)arg);
}

static void check_clock(void)
{
	int more = 101, less = 1;
	double found = difference(do_known, &more, 512) - difference(do_known, &less, 512);

	errno = ERANGE;
	if (found != 300)
		fail("300 instructions take %g ns, the clock does not count instructions", found);
}

/* A VM with one page of memory and one vCPU. */
struct guest {
	int vm;
	int vcpu;
	struct kvm_run *run;
};

static int kvm;

static void add_memory(int vm)
{
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = GUEST_MEMORY,
		.memory_size = sysconf(_SC_PAGESIZE),
	};
	char *memory;

	memory = mmap(NULL, region.memory_size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	memcpy(memory, kernel_exits_code, sizeof(kernel_exits_code));
	memcpy(memory + (USER_EXITS - GUEST_MEMORY), user_exits_code,
	       sizeof(user_exits_code));
	region.userspace_addr = (uintptr_t)memory;
	sure(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region),
	     "KVM_SET_USER_MEMORY_REGION");
}

static int create_vm(void)
{
	int vm = sure(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");

	arch_init_vm(vm);
	return vm;
}

static void create_guest(struct guest *g, uint64_t pc)
{
	int size = sure(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0),
			"KVM_GET_VCPU_MMAP_SIZE");

	g->vm = create_vm();
	add_memory(g->vm);
	g->vcpu = sure(ioctl(g->vm, KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
	g->run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, g->vcpu, 0);
	if (g->run == MAP_FAILED)
		fail("mmap");
	arch_init_vcpu(g->vm, g->vcpu, pc);
}

static void run_guest(void *arg)
{
	struct guest *g = arg;

	sure(ioctl(g->vcpu, KVM_RUN, 0), "KVM_RUN");
	if (g->run->exit_reason != KVM_EXIT_IO &&
	    g->run->exit_reason != KVM_EXIT_MMIO)
		fail("unexpected exit %u", g->run->exit_reason);
}

/* Exits within one KVM_RUN. */
static uint64_t kernel_exits(struct guest *g, int n)
{
	arch_set_count(g->vcpu, n);
	return shortest(run_guest, g, 1);
}

static void measure_exits(struct guest *g)
{
	struct guest user;
	int n = 208;

	print("kernel-exit", (double)(kernel_exits(g, 2 * n) - kernel_exits(g, n)) / n, 0);
	create_guest(&user, USER_EXITS);
	print("user-exit", cost(run_guest, &user, n), 0);
}

/* What a pread() reads. */
struct read {
	int fd;
	size_t size;
	off_t offset;
};

static void do_read(void *arg)
{
	static uint64_t buf[0x2000];
	const struct read *r = arg;

	if (pread(r->fd, buf, r->size, r->offset) < 0)
		fail("pread");
}

static void do_system_call(void *arg)
{
	(void)arg;
	syscall(SYS_getppid);
}

static void measure_references(void)
{
	struct read null = {
		.fd = sure(open("/dev/null", O_RDONLY), "/dev/null"),
		.size = sizeof(uint64_t),
	};

	print("system-call", cost(do_system_call, NULL, 512), 0);
	print("pread-null", cost(do_read, &null, 512), 0);
}

/* Read the descriptors for the size of the data and the place of one value of it. */
static void load_stats(int fd, struct read *all, struct read *one)
{
	struct kvm_stats_header header;
	struct {
		struct kvm_stats_desc desc;
		char name[256];
	} record = { };
	size_t stride;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		fail("header");
	stride = sizeof(record.desc) + header.name_size;
	if (stride > sizeof(record))
		fail("descriptors of %zu bytes", stride);
	*all = (struct read){ .fd = fd, .offset = header.data_offset };
	*one = (struct read){ .fd = fd, .size = sizeof(uint64_t) };
	for (unsigned int i = 0; i < header.num_desc; i++) {
		if (pread(fd, &record, stride, header.desc_offset + i * stride) !=
		    (ssize_t)stride)
			fail("descriptor %u", i);
		all->size += record.desc.size * sizeof(uint64_t);
		if (!strcmp(record.desc.name, "exits"))
			one->offset = header.data_offset + record.desc.offset;
	}
}

static void do_get_fd(void *arg)
{
	close(sure(ioctl(*(int *)arg, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD"));
}

static void measure_stats(struct guest *g, struct read *all)
{
	struct read one, vm, vm_one;

	load_stats(sure(ioctl(g->vcpu, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD"), all, &one);
	load_stats(sure(ioctl(g->vm, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD"), &vm, &vm_one);
	print("pread-one", cost(do_read, &one, 512), 1);
	print("pread-vcpu", cost(do_read, all, 512), all->size / sizeof(uint64_t));
	print("pread-vm", cost(do_read, &vm, 512), vm.size / sizeof(uint64_t));
	print("get-fd", cost(do_get_fd, &g->vcpu, 64), 0);
}

/* The files that debugfs has for a VM. */
struct debugfs {
	int dir;
	int files;
	char *name[MAX_FILES];
};

static void list_debugfs(struct debugfs *d, int vm)
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
		if (entry->d_type != DT_REG)
			continue;
		if (d->files == MAX_FILES)
			fail("more files than expected in %s", path);
		d->name[d->files++] = strdup(entry->d_name);
	}
}

/* An open file gives its value once: it has no position to go back to. */
static void read_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY);
	char text[64];

	if (fd < 0 || read(fd, text, sizeof(text)) <= 0 || close(fd))
		fail("%s", name);
}

static void read_debugfs_one(void *arg)
{
	struct debugfs *d = arg;

	read_file(d->dir, "exits");
}

static void read_debugfs_all(void *arg)
{
	struct debugfs *d = arg;

	for (int i = 0; i < d->files; i++)
		read_file(d->dir, d->name[i]);
}

static void measure_debugfs(struct guest *g)
{
	static struct debugfs files;

	list_debugfs(&files, g->vm);
	print("debugfs-one", cost(read_debugfs_one, &files, 64), 1);
	print("debugfs-all", cost(read_debugfs_all, &files, 4), files.files);
}

/*
 * vCPUs cannot be taken out of a VM again: each time is that of a new VM. The
 * first vCPUs find caches filled by the VM before.
 */
static void measure_create_vcpu(void)
{
	uint64_t best = UINT64_MAX;
	int fds[16], n = 16;

	for (int round = 0; round < ROUNDS; round++) {
		int vm = create_vm();
		uint64_t start = now(), time;

		for (int i = 0; i < n; i++)
			fds[i] = ioctl(vm, KVM_CREATE_VCPU, i);
		time = now() - start;
		if (time < best)
			best = time;
		for (int i = 0; i < n; i++)
			close(sure(fds[i], "KVM_CREATE_VCPU"));
		close(vm);
	}
	print("create-vcpu", (double)best / n, 0);
}

/* Per exit, of the time that the thread had the CPU. */
static double thread_time(struct guest *g)
{
	struct timespec start, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	for (int i = 0; i < LONG_RUNS; i++)
		run_guest(g);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) /
	       LONG_RUNS / LONG_RUN;
}

static atomic_bool reader_stops;
static atomic_int reads;

static void *reader(void *arg)
{
	while (!atomic_load(&reader_stops)) {
		do_read(arg);
		atomic_fetch_add(&reads, 1);
	}
	return NULL;
}

/*
 * The same exits twice, in the time of the vCPU's thread: alone and with a thread
 * that reads the vCPU's statistics all the time that the scheduler gives it.
 */
static void measure_reader(struct guest *g, struct read *all)
{
	pthread_t thread;
	double time;
	int before;

	arch_set_count(g->vcpu, LONG_RUN);
	run_guest(g);
	print("exit-alone", thread_time(g), 0);
	errno = pthread_create(&thread, NULL, reader, all);
	if (errno)
		fail("pthread_create");
	before = atomic_load(&reads);
	time = thread_time(g);
	print("exit-with-reader", time, atomic_load(&reads) - before);
	atomic_store(&reader_stops, true);
	pthread_join(thread, NULL);
	errno = ETIME;
	if (reads == before)
		fail("the reader did not run");
}

int main(void)
{
	struct read all;
	struct guest g;

	setvbuf(stdout, NULL, _IOLBF, 0);
	check_clock();
	kvm = sure(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	create_guest(&g, KERNEL_EXITS);
	measure_references();
	measure_exits(&g);
	measure_debugfs(&g);
	measure_create_vcpu();
	if (ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_BINARY_STATS_FD) > 0) {
		measure_stats(&g, &all);
		measure_reader(&g, &all);
	}
	return 0;
}
