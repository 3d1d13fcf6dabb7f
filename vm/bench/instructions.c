// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the instructions of exits and statistics, see bench.h. Prints no rows for what the base
 * kernel does not have.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "bench.h"

/*
 * For the comparison with and without a reader: exits per run, and runs. They are long enough
 * for the scheduler to give the reader its share.
 */
#define LONG_RUN	40000
#define LONG_RUNS	5

/* Periods of sampling events: hardly ever, or at each exit. */
#define HARDLY_EVER	(1ULL << 40)
#define ALWAYS		1

/* The guest's memory is one page, aligned to arm64's largest page size. */
#define GUEST_MEMORY	0x10000UL
#define KERNEL_EXITS	GUEST_MEMORY
#define USER_EXITS	(GUEST_MEMORY + 0x100)
#define HALTS		(GUEST_MEMORY + 0x200)

#if defined(__x86_64__)

/* In real mode: %edi exits that KVM handles, then an exit to user space. */
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

static const uint8_t halts_code[] = {
	0xf4,			/* 1:	hlt		*/
	0xeb, 0xfd,		/*	jmp 1b		*/
};

/* Without an irqchip, a halt exits to user space. */
static void arch_create_irqchip(int vm)
{
	sure(ioctl(vm, KVM_CREATE_IRQCHIP, 0), "KVM_CREATE_IRQCHIP");
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

/* x19 exits that KVM handles, then an exit to user space. */
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

static const uint32_t halts_code[] = {
	0xd503207f,		/* 1:	wfi		*/
	0x17ffffff,		/*	b 1b		*/
};

static void arch_create_irqchip(int vm)
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

/* A VM with one page of memory and one vCPU. */
struct guest {
	int vm;
	int vcpu;
	struct kvm_run *run;
};

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
	memcpy(memory + (HALTS - GUEST_MEMORY), halts_code, sizeof(halts_code));
	region.userspace_addr = (uintptr_t)memory;
	sure(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region),
	     "KVM_SET_USER_MEMORY_REGION");
}

static void add_vcpu(struct guest *g, uint64_t pc)
{
	int size = sure(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0),
			"KVM_GET_VCPU_MMAP_SIZE");

	if (pc == HALTS)
		arch_create_irqchip(g->vm);
	add_memory(g->vm);
	g->vcpu = sure(ioctl(g->vm, KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
	g->run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, g->vcpu, 0);
	if (g->run == MAP_FAILED)
		fail("mmap");
	arch_init_vcpu(g->vm, g->vcpu, pc);
}

static void create_guest(struct guest *g, uint64_t pc)
{
	g->vm = create_vm();
	add_vcpu(g, pc);
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

static void nothing(int signal)
{
	(void)signal;
}

/* The number after this text in a sysfs file of KVM's PMU. */
static unsigned long perf_number(const char *name, const char *text)
{
	char path[128], line[64];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/kvm/%s", name);
	file = fopen(path, "r");
	if (!file || !fgets(line, sizeof(line), file) || strncmp(line, text, strlen(text)))
		fail("%s", path);
	fclose(file);
	return strtoul(line + strlen(text), NULL, 0);
}

static int open_event(struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	return sure(syscall(SYS_perf_event_open, attr, 0, -1, -1, 0), "perf_event_open()");
}

/* An event for this thread's exits, with a sample every @period exits. */
static int count_exits(uint64_t period)
{
	struct perf_event_attr attr = {
		.type = perf_number("type", ""),
		.config = perf_number("events/exits", "event="),
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
	};

	return open_event(&attr);
}

/* An event that counts nothing, but makes perf act when threads are switched. */
static int count_nothing(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	};

	return open_event(&attr);
}

/* A vCPU that halts, and its thread. */
struct halted {
	struct guest guest;
	int (*open_event)(void);	/* opens the thread's event, or NULL */
	pthread_t thread;
	atomic_int interrupts;
	atomic_bool stops;
};

/* Has real-time priority: the thread that wakes it continues only when it blocks again. */
static void *run_halted(void *arg)
{
	struct sched_param first = { .sched_priority = 1 };
	struct halted *h = arg;
	int event = h->open_event ? h->open_event() : -1;

	errno = pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	if (errno)
		fail("SCHED_FIFO");
	while (!atomic_load(&h->stops)) {
		if (ioctl(h->guest.vcpu, KVM_RUN, 0) == 0 || errno != EINTR)
			fail("KVM_RUN of a vCPU that halts");
		atomic_fetch_add(&h->interrupts, 1);
	}
	if (event >= 0)
		close(event);
	return NULL;
}

static void do_interrupt(void *arg)
{
	const struct halted *h = arg;

	pthread_kill(h->thread, SIGUSR1);
}

static void write_file(const char *path, const char *text)
{
	int fd = sure(open(path, O_WRONLY), path);

	if (write(fd, text, strlen(text)) < 0)
		fail("%s", path);
	close(fd);
}

static void set_parameter(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/kvm/parameters/%s", name);
	write_file(path, value);
}

/*
 * Call it after all measurements of system calls: in a process with two threads system calls take
 * longer, and reads still do after one thread has ended.
 */
static double halt_cost(int (*open_event)(void))
{
	struct halted h = { .open_event = open_event };
	double instructions;

	/* A VM takes the parameter's value when it is created. */
	set_parameter("halt_poll_ns", "0");
	create_guest(&h.guest, HALTS);
	signal(SIGUSR1, nothing);
	errno = pthread_create(&h.thread, NULL, run_halted, &h);
	if (errno)
		fail("pthread_create");
	while (!atomic_load(&h.interrupts)) {
		usleep(1000);
		do_interrupt(&h);
	}
	instructions = cost(do_interrupt, &h, 48);
	atomic_store(&h.stops, true);
	do_interrupt(&h);
	pthread_join(h.thread, NULL);
	close(h.guest.vcpu);
	close(h.guest.vm);
	return instructions;
}

/*
 * A signal is charged to the memory cgroup when it is sent, and uncharged when it is delivered.
 * If the bytes that the CPU has charged in advance are near a page's size, each of this charges
 * or uncharges a page, for up to 800 instructions. Another VM takes other bytes: measure twice.
 */
static void measure_halt(const char *row, int (*open_event)(void))
{
	double once = halt_cost(open_event), again = halt_cost(open_event);

	print(row, again < once ? again : once, 0);
}

static void measure_exits(struct guest *g, const char *kernel_row, const char *user_row)
{
	struct guest user;
	int n = 208;

	print(kernel_row, (double)(kernel_exits(g, 2 * n) - kernel_exits(g, n)) / n, 0);
	create_guest(&user, USER_EXITS);
	print(user_row, cost(run_guest, &user, n), 0);
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

/* Sets the arguments of reads of all values and of one value. */
static void load_stats(int fd, struct read *all, struct read *one)
{
	struct kvm_stats_header header;
	struct descs descs;
	size_t found;

	read_bytes(fd, &header, sizeof(header), 0);
	descs = (struct descs){ fd, header.name_size, header.num_desc, header.desc_offset };
	*all = (struct read){ .fd = fd, .offset = header.data_offset };
	found = find_stat(&descs, "exits", &all->size);
	*one = (struct read){ fd, sizeof(uint64_t), header.data_offset + found };
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

/* Mapped values, and an array for a copy. */
struct values {
	const volatile uint64_t *mapped;
	size_t num;
	uint64_t *copy;
};

static void load_all(void *arg)
{
	const struct values *v = arg;

	load_values(v->mapped, v->num);
}

/* Load one counter that many times, eight per round. */
#define LOADS		512

static void load_one(void *arg)
{
	const struct values *v = arg;

	for (int i = 0; i < LOADS; i += 8) {
		(void)v->mapped[0];
		(void)v->mapped[0];
		(void)v->mapped[0];
		(void)v->mapped[0];
		(void)v->mapped[0];
		(void)v->mapped[0];
		(void)v->mapped[0];
		(void)v->mapped[0];
	}
}

static void copy_all(void *arg)
{
	const struct values *v = arg;
	const volatile uint64_t *from = v->mapped, *end = from + v->num;
	const volatile uint64_t *end_of_eights = from + v->num / 8 * 8;
	uint64_t *to = v->copy;

	for (; from != end_of_eights; from += 8, to += 8) {
		to[0] = from[0];
		to[1] = from[1];
		to[2] = from[2];
		to[3] = from[3];
		to[4] = from[4];
		to[5] = from[5];
		to[6] = from[6];
		to[7] = from[7];
	}
	while (from != end)
		*to++ = *from++;
}

static void measure_mapping(int fd, struct values *v)
{
	struct mapping m = { };

	map_stats(&m, fd);
	v->mapped = (const volatile uint64_t *)m.data;
	v->num = m.ext.data_size / sizeof(uint64_t);
	v->copy = malloc(m.ext.data_size);
	print("mmap-one", cost(load_one, v, 16) / LOADS, 1);
	print("mmap-vcpu", cost(load_all, v, 512), v->num);
	print("mmap-copy", cost(copy_all, v, 512), v->num);
}

static void measure_debugfs(struct guest *g)
{
	static struct debugfs files;

	list_debugfs(&files, g->vm);
	print("debugfs-one", cost(read_debugfs_one, &files, 64), 1);
	print("debugfs-all", cost(read_debugfs_all, &files, 4), files.files);
}

/*
 * vCPUs cannot be removed, so each measurement needs a new VM. The first vCPUs use objects that
 * the previous VM left in the allocators' caches.
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

/* Instructions per exit, calculated from the thread's CPU time. */
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

/* A thread that reads all the time. */
struct reader {
	operation *read;
	void *arg;
	atomic_int reads;
	atomic_bool stops;
};

static void *run_reader(void *arg)
{
	struct reader *r = arg;

	while (!atomic_load(&r->stops)) {
		r->read(r->arg);
		atomic_fetch_add(&r->reads, 1);
	}
	return NULL;
}

/* The same exits while another thread reads, in CPU time of the vCPU thread. */
static void measure_reader(struct guest *g, const char *row, operation *read, void *arg)
{
	struct reader reader = { .read = read, .arg = arg };
	pthread_t thread;
	double time;
	int before;

	errno = pthread_create(&thread, NULL, run_reader, &reader);
	if (errno)
		fail("pthread_create");
	before = atomic_load(&reader.reads);
	time = thread_time(g);
	print(row, time, atomic_load(&reader.reads) - before);
	atomic_store(&reader.stops, true);
	pthread_join(thread, NULL);
	errno = ETIME;
	if (reader.reads == before)
		fail("the reader did not run");
}

static void measure_readers(struct guest *g, struct read *all, struct values *values)
{
	arch_set_count(g->vcpu, LONG_RUN);
	run_guest(g);
	print("exit-alone", thread_time(g), 0);
	measure_reader(g, "exit-with-reader", do_read, all);
	measure_reader(g, "exit-with-mapping", load_all, values);
}

static int count_all_exits(void)
{
	return count_exits(0);
}

static int sample_exits(void)
{
	return count_exits(HARDLY_EVER);
}

/* Samples each exit into a ring buffer that perf overwrites. */
static void measure_samples(struct guest *g)
{
	size_t size = 9 * sysconf(_SC_PAGESIZE);
	int event = count_exits(ALWAYS);
	void *buffer = mmap(NULL, size, PROT_READ, MAP_SHARED, event, 0);
	int n = 208;

	if (buffer == MAP_FAILED)
		fail("mmap");
	print("kernel-exit-sample",
	      (double)(kernel_exits(g, 2 * n) - kernel_exits(g, n)) / n, 0);
	munmap(buffer, size);
	close(event);
}

/* Exits and halts while a perf event counts or samples exits, or counts nothing. */
static void measure_events(struct guest *g)
{
	int event = count_exits(0);

	measure_exits(g, "kernel-exit-counted", "user-exit-counted");
	close(event);
	event = count_exits(HARDLY_EVER);
	measure_exits(g, "kernel-exit-sampled", "user-exit-sampled");
	close(event);
	write_file("/proc/sys/kernel/perf_event_max_sample_rate", "1000000000");
	measure_samples(g);
	measure_halt("halt-nothing", count_nothing);
	measure_halt("halt-counted", count_all_exits);
	measure_halt("halt-sampled", sample_exits);
}

#ifdef KVM_CAP_GUEST_STATS
#include <linux/kvm_guest_stats.h>

/* A page behind the guest's code. */
#define AREA	(2 * GUEST_MEMORY)

#if defined(__x86_64__)
#define SLOT_NAME	"exit_reasons.cpuid"

static void set_area(int vcpu, uint64_t address)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = { { .nmsrs = 1 }, { .index = 0x4b564d09, .data = address } };

	if (ioctl(vcpu, KVM_SET_MSRS, &msrs) != 1)
		fail("MSR_KVM_GUEST_STATS");
}
#elif defined(__aarch64__)
#define SLOT_NAME	"exit_reasons.hvc"

static void set_area(int vcpu, uint64_t address)
{
	struct kvm_one_reg reg = {
		.id = KVM_REG_ARM_GUEST_STATS,
		.addr = (uintptr_t)&address,
	};

	sure(ioctl(vcpu, KVM_SET_ONE_REG, &reg), "KVM_REG_ARM_GUEST_STATS");
}
#endif

/* Exits of a guest that may count, and has named the exit's reason in so many slots. */
static void measure_guest_stats(const char *row, int slots)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_GUEST_STATS,
		.args = { ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_GUEST_STATS) },
	};
	struct kvm_userspace_memory_region region = {
		.slot = 1,
		.guest_phys_addr = AREA,
		.memory_size = sysconf(_SC_PAGESIZE),
	};
	struct kvm_guest_stats_area *area;
	struct guest g = { .vm = create_vm() };
	uint64_t once, twice;
	int n = 208;

	sure(ioctl(g.vm, KVM_ENABLE_CAP, &cap), "KVM_CAP_GUEST_STATS");
	add_vcpu(&g, KERNEL_EXITS);
	area = mmap(NULL, region.memory_size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (area == MAP_FAILED)
		fail("mmap");
	region.userspace_addr = (uintptr_t)area;
	sure(ioctl(g.vm, KVM_SET_USER_MEMORY_REGION, &region), "KVM_SET_USER_MEMORY_REGION");
	for (int i = 0; i < slots; i++) {
		strcpy((char *)area->slots[i].name, SLOT_NAME);
		area->slots[i].threshold = KVM_GUEST_STATS_NEVER;
	}
	if (slots)
		set_area(g.vcpu, AREA | KVM_GUEST_STATS_ENABLED);
	once = kernel_exits(&g, n);
	twice = kernel_exits(&g, 2 * n);
	print(row, (double)(twice - once) / n, 0);
	errno = EINVAL;
	for (int i = 0; i < slots; i++) {
		if (area->slots[i].status || area->slots[i].count < 3U * n)
			fail("slot %d has not counted", i);
	}
}

/* In a process whose VMs end with it, and a second later KVM's hooks for them. */
static void measure_guests(void)
{
	int status;

	if (ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_GUEST_STATS) <= 0)
		return;
	if (!sure(fork(), "fork")) {
		measure_guest_stats("kernel-exit-allowed", 0);
		measure_guest_stats("kernel-exit-slot", 1);
		measure_guest_stats("kernel-exit-slots", KVM_GUEST_STATS_SLOTS);
		exit(0);
	}
	if (wait(&status) < 0 || status)
		exit(1);
	sleep(2);
}
#else
static void measure_guests(void)
{
}
#endif

/* With the argument "exits", measures only what other kernels have, too. */
int main(int argc, char **argv)
{
	bool only_exits = argc > 1 && !strcmp(argv[1], "exits");
	struct values values;
	struct guest g;
	struct read all;
	bool has_stats;

	setvbuf(stdout, NULL, _IOLBF, 0);
	check_clock();
	kvm = sure(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	create_guest(&g, KERNEL_EXITS);
	measure_references();
	measure_exits(&g, "kernel-exit", "user-exit");
	if (!only_exits)
		measure_debugfs(&g);
	measure_create_vcpu();
	has_stats = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_BINARY_STATS_FD) > 0;
	if (has_stats && !only_exits) {
		measure_stats(&g, &all);
		if (is_extended(all.fd)) {
			measure_mapping(all.fd, &values);
			measure_readers(&g, &all, &values);
		}
	}
	measure_halt("halt", NULL);
	if (has_stats && !access("/sys/module/kvm/parameters/stats_time", F_OK)) {
		set_parameter("stats_time", "1");
		measure_exits(&g, "kernel-exit-timed", "user-exit-timed");
		measure_halt("halt-timed", NULL);
		set_parameter("stats_time", "0");
	}
	measure_guests();
	/* Last, because perf watches thread switches for a while after the last event. */
	if (!only_exits && !access("/sys/bus/event_source/devices/kvm", F_OK))
		measure_events(&g);
	return 0;
}
