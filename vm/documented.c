// SPDX-License-Identifier: GPL-2.0-only
/*
 * documented COMMAND...: creates VMs and reads their statistics files with the programs of
 * Documentation/virt/kvm/stats*.rst, which are linked into this program. Before each read a
 * vCPU makes EXITS more exits. Runs COMMAND while the VM of "show" still exists. Writes
 *
 *	/tmp/scan	while exits and vCPUs are added: number of vCPUs, sum of exits, and the
 *			sum that "scan" finds; a system call kills the process that scans
 *	/tmp/growth	the result of "wait", while exits are made
 *	/tmp/events	whether poll() of a perf event returns before and after its period
 *	/tmp/VM, /tmp/vCPU	two rounds each of "show"
 *	/tmp/times	the time for which a vCPU is halted according to "times", and the least
 *			and most possible time
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/kvm.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void show(int fd, int rounds);

/* As in program "scan". */
struct vcpus {
	const __u64 *online;
	const char *first;
	size_t stride;
};

void map_vcpus(struct vcpus *vcpus, int fd, const char *name);
__u64 add_up(const struct vcpus *vcpus);

const __u64 *map_value(int fd, const char *name);
__u64 wait_for_growth(const __u64 *value, __u64 threshold, long period_ns);
int open_event(pid_t thread, __u64 config, __u64 period);

/* As in program "times". */
struct times {
	const __u64 *since, *state, *halt;
	__u64 halted;
};

void map_times(struct times *times, int fd);
__u64 halt_time(const struct times *times);

/* Exits before each read, see pread() below. */
#define EXITS 100
#define VCPUS 4

/* Time limit in seconds for the scan, which does not wait. */
#define PATIENCE 20

/* At the reset vector: a loop of exits to user space. */
#if defined(__x86_64__)
#define PAGE 0x1000
#define GUEST_PAGE 0xfffff000UL
#define GUEST_CODE 0xff0
#define COUNTER "io_exits"
static const unsigned char code[] = {
	0xe6, 0x10,			/* 1: out %al, $0x10 */
	0xeb, 0xfc,			/* jmp 1b */
};

static void init_vcpu(int vm, int vcpu)
{
	(void)vm;
	(void)vcpu;
}

/* Creates a vCPU that is halted before it runs; nothing interrupts it. */
static int create_halted_vcpu(int vm)
{
	struct kvm_mp_state halted = { .mp_state = KVM_MP_STATE_HALTED };
	int vcpu;

	if (ioctl(vm, KVM_CREATE_IRQCHIP, 0))
		err(1, "KVM_CREATE_IRQCHIP");
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (ioctl(vcpu, KVM_SET_MP_STATE, &halted))
		err(1, "KVM_SET_MP_STATE");
	return vcpu;
}
#elif defined(__aarch64__)
/* The largest page size. Memory ends there or before, so that the load exits. */
#define PAGE 0x10000
#define GUEST_PAGE 0UL
#define GUEST_CODE 0
#define COUNTER "mmio_exit_user"
static const unsigned int code[] = {
	0xd2a00020,			/* mov x0, #0x10000 */
	0xb9400001,			/* 1: ldr w1, [x0] */
	0x17ffffff,			/* b 1b */
	0xd503207f,			/* 2: wfi */
	0x17ffffff,			/* b 2b */
};

static void init_vcpu(int vm, int vcpu)
{
	struct kvm_vcpu_init init;

	if (ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init) || ioctl(vcpu, KVM_ARM_VCPU_INIT, &init))
		err(1, "KVM_ARM_VCPU_INIT");
}

/* Creates a vCPU that waits for an interrupt that never comes. */
static int create_halted_vcpu(int vm)
{
	struct kvm_one_reg pc = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |
		      KVM_REG_ARM_CORE_REG(regs.pc),
		.addr = (unsigned long)&(__u64){ GUEST_CODE + sizeof(code) - 2 * sizeof(*code) },
	};
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);

	init_vcpu(vm, vcpu);
	if (ioctl(vcpu, KVM_SET_ONE_REG, &pc))
		err(1, "KVM_SET_ONE_REG");
	return vcpu;
}
#endif

/* Shared, because fork() write-protects private memory. */
static void add_memory(int vm)
{
	size_t size = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = GUEST_PAGE,
		.memory_size = size,
		.userspace_addr = (unsigned long)memory,
	};

	if (memory == MAP_FAILED || ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region))
		err(1, "memory");
	memcpy(memory + GUEST_CODE, code, sizeof(code));
}

static int vcpu;
static __u64 exits;

static void make_exits(int of_vcpu)
{
	for (int i = 0; i < EXITS; i++) {
		if (ioctl(of_vcpu, KVM_RUN, 0))
			err(1, "KVM_RUN");
	}
	exits += EXITS;
}

/* Replaces the C library's pread(), also in the documents' programs. */
ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
	make_exits(vcpu);
	return pread64(fd, buf, size, offset);
}

static int create_vm(int kvm)
{
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);

	if (vm < 0)
		err(1, "KVM_CREATE_VM");
	add_memory(vm);
	return vm;
}

static int create_vcpu(int vm, int id)
{
	int new = ioctl(vm, KVM_CREATE_VCPU, id);

	if (new < 0)
		err(1, "KVM_CREATE_VCPU");
	init_vcpu(vm, new);
	return new;
}

static void show_in(const char *path, int fd)
{
	int out = dup(STDOUT_FILENO);

	if (!freopen(path, "w", stdout))
		err(1, "%s", path);
	show(fd, 2);
	fflush(stdout);
	if (dup2(out, STDOUT_FILENO) < 0)
		err(1, "stdout");
}

/* Shared with the process that scans. */
struct report {
	volatile __u64 sum;
	volatile int stop;
};

static void forbid_system_calls(void)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {
		.len = sizeof(instructions) / sizeof(*instructions),
		.filter = instructions,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		err(1, "seccomp");
}

static pid_t start_scan(const struct vcpus *scan, struct report *report)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	forbid_system_calls();
	while (!report->stop)
		report->sum = add_up(scan);
	_exit(0);
}

static void wait_for_sum(const struct report *report, pid_t pid)
{
	time_t end = time(NULL) + PATIENCE;

	while (report->sum != exits && time(NULL) < end) {
		if (waitpid(pid, NULL, WNOHANG))
			errx(1, "the scan was killed: a system call, or a window without a vCPU");
		usleep(1000);
	}
}

/* vCPU ids differ from the order of creation. */
static void scan_in(const char *path, int vm)
{
	struct report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = ioctl(vm, KVM_GET_STATS_FD, 0);
	FILE *out = fopen(path, "w");
	int vcpus[VCPUS], status;
	struct vcpus scan;
	pid_t pid;

	if (report == MAP_FAILED || !out)
		err(1, "%s", path);
	vcpu = create_vcpu(vm, VCPUS - 1);
	vcpus[0] = vcpu;
	map_vcpus(&scan, fd, COUNTER);
	pid = start_scan(&scan, report);
	for (int n = 2; n <= VCPUS; n++) {
		vcpus[n - 1] = create_vcpu(vm, n - 2);
		for (int i = 0; i < n; i++)
			make_exits(vcpus[i]);
		wait_for_sum(report, pid);
		fprintf(out, "%d %llu %llu\n", n, exits, report->sum);
	}
	report->stop = 1;
	if (waitpid(pid, &status, 0) != pid || status || fclose(out))
		err(1, "%s", path);
	for (int i = 0; i < VCPUS; i++)
		close(vcpus[i]);
	close(fd);
	close(vm);
}

static void *halt(void *of_vcpu)
{
	ioctl(*(int *)of_vcpu, KVM_RUN, 0);
	return NULL;
}

/* Ends a KVM_RUN. */
static void interrupt(int sig)
{
	(void)sig;
}

static __u64 now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Returns the old value, Y or N. */
static char switch_time(char on)
{
	int fd = open("/sys/module/kvm/parameters/stats_time", O_RDWR);
	char was;

	if (fd < 0 || read(fd, &was, 1) != 1 || write(fd, &on, 1) != 1)
		err(1, "stats_time");
	close(fd);
	return was;
}

/* Measures a vCPU that is halted all the time. */
static void time_in(const char *path, int vm)
{
	int halted = create_halted_vcpu(vm), fd = ioctl(halted, KVM_GET_STATS_FD, 0);
	__u64 before, from, after, first;
	FILE *out = fopen(path, "w");
	struct times times;
	pthread_t thread;
	char was_on;

	was_on = switch_time('Y');
	map_times(&times, fd);
	signal(SIGUSR1, interrupt);
	if (!out || pthread_create(&thread, NULL, halt, &halted))
		err(1, "%s", path);
	while (*(const volatile __u64 *)times.state != times.halted)
		usleep(1000);
	before = now();
	first = halt_time(&times);
	from = now();
	usleep(100000);
	after = now();
	fprintf(out, "%llu ", halt_time(&times) - first);
	fprintf(out, "%llu %llu\n", after - from, now() - before);
	if (fclose(out) || pthread_kill(thread, SIGUSR1) || pthread_join(thread, NULL))
		err(1, "%s", path);
	switch_time(was_on);
	close(fd);
	close(halted);
	close(vm);
}

static volatile int has_grown;

static void *make_exits_until_seen(void *unused)
{
	(void)unused;
	while (!has_grown)
		make_exits(vcpu);
	return NULL;
}

static void wait_in(const char *path, int fd)
{
	const __u64 *value = map_value(fd, COUNTER);
	FILE *out = fopen(path, "w");
	pthread_t thread;

	if (!out || pthread_create(&thread, NULL, make_exits_until_seen, NULL))
		err(1, "%s", path);
	fprintf(out, "%llu\n", wait_for_growth(value, 10, 100000000));
	has_grown = 1;
	if (pthread_join(thread, NULL) || fclose(out))
		err(1, "%s", path);
}

static void events_in(const char *path, int fd)
{
	__u64 place = (unsigned long)map_value(fd, COUNTER) % sysconf(_SC_PAGESIZE);
	struct pollfd event = {
		.fd = open_event(0, place / sizeof(__u64), EXITS),
		.events = POLLIN,
	};
	FILE *out = fopen(path, "w");

	if (!out)
		err(1, "%s", path);
	fprintf(out, "%d ", poll(&event, 1, 0));
	make_exits(vcpu);
	fprintf(out, "%d\n", poll(&event, 1, 10000));
	if (fclose(out))
		err(1, "%s", path);
	close(event.fd);
}

static int run(char **command)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(command[0], command);
		err(1, "%s", command[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "%s", command[0]);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int kvm = open("/dev/kvm", O_RDWR), vm, fd;

	if (argc < 2 || kvm < 0)
		err(2, "usage: documented COMMAND...");
	scan_in("/tmp/scan", create_vm(kvm));
	vm = create_vm(kvm);
	vcpu = create_vcpu(vm, 0);
	time_in("/tmp/times", create_vm(kvm));
	fd = ioctl(vcpu, KVM_GET_STATS_FD, 0);
	wait_in("/tmp/growth", fd);
	events_in("/tmp/events", fd);
	close(fd);
	show_in("/tmp/VM", ioctl(vm, KVM_GET_STATS_FD, 0));
	show_in("/tmp/vCPU", ioctl(vcpu, KVM_GET_STATS_FD, 0));
	return run(argv + 1);
}
