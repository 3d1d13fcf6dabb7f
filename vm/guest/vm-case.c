// SPDX-License-Identifier: GPL-2.0-only
/*
 * vm-case [-name NAME] WORK[*N][@CPU]...: runs a VM with one vCPU, or N, for each WORK. Their
 * threads stay on CPU, and are named as QEMU names them. Prints "ready" when all have come to
 * what they do:
 *
 *	spin	computes
 *	halt	is halted
 *	exits	makes exits that KVM handles
 *	slow	waits for the VMM, which takes 10 ms for each request
 *	memory	waits 50 ms for each page of its memory, as after a postcopy migration
 *	pit	makes exits that sleep in KVM for 10 ms; a process occupies the last CPU
 *	off	waits for the guest to start it
 *	hang	sends a request that the VMM does not finish, while it holds the VMM's lock
 *	lock	sends a request for which the VMM waits for that lock
 *	pause	has left the guest because of a signal
 *	unplug	has left the guest because of a signal, and its thread has ended
 *	io	no vCPU: a thread of the VMM, which computes
 *
 * arm64 has only spin, halt, exits, slow and io.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "tiny-vm.h"

#define MAX_THREADS 16
#define PAGE 4096
#define CODE_SIZE 0x80

enum kind { SPIN, HALT, EXITS, SLOW, MEMORY, PIT, OFF, HANG, LOCK, PAUSE, UNPLUG, IO, };

static const struct work {
	const char *name;
	unsigned char code[32];
} works[] = {
#if defined(__x86_64__)
	[SPIN] = { "spin", { 0xeb, 0xfe, }, },			/* jmp to itself */
	[HALT] = { "halt", { 0xf4, 0xeb, 0xfd, }, },		/* hlt; jmp to it */
	[EXITS] = { "exits", { 0x0f, 0xa2, 0xeb, 0xfc, }, },	/* cpuid; jmp to it */
	[SLOW] = { "slow", { 0xe6, 0x80, 0xeb, 0xfc, }, },	/* out %al, $0x80; jmp to it */
	/* mov (%si), %al; add $4096, %si; jmp to the mov */
	[MEMORY] = { "memory", { 0x8a, 0x04, 0x81, 0xc6, 0x00, 0x10, 0xeb, 0xf8, }, },
	[PIT] = { "pit", {
		0xb0, 0x34, 0xe6, 0x43,	/* mode of counter 0: one interrupt per period */
		0xb0, 0x00, 0xe6, 0x40,	/* 256 ticks of 0.84 us: KVM restarts its timer, but */
		0xb0, 0x01, 0xe6, 0x40,	/* its worker must have sent the last interrupt before */
		0xb9, 0x00, 0x40, 0xe2, 0xfe,	/* mov $0x4000, %cx; loop to itself */
		0xeb, 0xf1,		/* jmp to the second line */
	}, },
	[OFF] = { "off", { 0xf4, }, },
	[HANG] = { "hang", { 0xe6, 0x80, 0xeb, 0xfc, }, },
	[LOCK] = { "lock", { 0xe6, 0x80, 0xeb, 0xfc, }, },
	[PAUSE] = { "pause", { 0xeb, 0xfe, }, },
	[UNPLUG] = { "unplug", { 0xeb, 0xfe, }, },
#elif defined(__aarch64__)
	[SPIN] = { "spin", { 0x00, 0x00, 0x00, 0x14, }, },	/* b to itself */
	/* wfi; b to it */
	[HALT] = { "halt", { 0x7f, 0x20, 0x03, 0xd5, 0xff, 0xff, 0xff, 0x17, }, },
	/* hvc; b to it */
	[EXITS] = { "exits", { 0x02, 0x00, 0x00, 0xd4, 0xff, 0xff, 0xff, 0x17, }, },
	/* mov x1, #0x10000000; str x0, [x1], where there is no memory; b to the str */
	[SLOW] = { "slow", {
		0x01, 0x00, 0xa2, 0xd2, 0x20, 0x00, 0x00, 0xf9, 0xff, 0xff, 0xff, 0x17,
	}, },
#endif
	[IO] = { "io", { 0 }, },
};

struct thread {
	enum kind kind;
	int cpu;		/* or -1 */
	struct tiny_vm vm;	/* this vCPU's view of it */
	pthread_t thread;
};

static struct thread threads[MAX_THREADS];
static int num_threads;
static pthread_mutex_t lock_of_vmm = PTHREAD_MUTEX_INITIALIZER;
static sem_t settled, locked;
static __thread struct kvm_run *my_run;

static void sleep_ms(int ms)
{
	const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static void stay_on(pid_t tid, int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	checked(sched_setaffinity(tid, sizeof(cpus), &cpus), "sched_setaffinity");
}

/* Bring each missing page after 50 ms, and drop the page before it. */
static void *bring_pages(void *arg)
{
	struct uffdio_zeropage zero = { .range.len = PAGE };
	const int *fd = arg;
	struct uffd_msg msg;
	void *before = NULL;

	while (read(*fd, &msg, sizeof(msg)) == sizeof(msg)) {
		sleep_ms(50);
		zero.range.start = msg.arg.pagefault.address & -PAGE;
		checked(ioctl(*fd, UFFDIO_ZEROPAGE, &zero), "UFFDIO_ZEROPAGE");
		if (before)
			madvise(before, PAGE, MADV_DONTNEED);
		before = (void *)zero.range.start;
	}
	return NULL;
}

/* Makes all pages except the first, which has the code, wait for bring_pages(). */
static void miss_pages(const struct tiny_vm *vm)
{
	static int fd;
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register missing = {
		.range.start = (unsigned long)vm->memory + PAGE,
		.range.len = TINY_VM_MEMORY - PAGE,
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	pthread_t thread;

	fd = checked(syscall(SYS_userfaultfd, O_CLOEXEC), "userfaultfd");
	checked(ioctl(fd, UFFDIO_API, &api), "UFFDIO_API");
	checked(ioctl(fd, UFFDIO_REGISTER, &missing), "UFFDIO_REGISTER");
	checked(-pthread_create(&thread, NULL, bring_pages, &fd), "thread");
}

/* A signal that comes outside of KVM_RUN must also have an effect. */
static void leave_guest(int signal)
{
	(void)signal;
	my_run->immediate_exit = 1;
}

static void serve(enum kind kind)
{
	switch (kind) {
	case HANG:
		pthread_mutex_lock(&lock_of_vmm);
		sem_post(&locked);
		sem_post(&settled);
		pause();
		break;
	case LOCK:
		sem_wait(&locked);
		sem_post(&settled);
		pthread_mutex_lock(&lock_of_vmm);
		break;
	default:
		sleep_ms(10);
	}
}

static void *run(void *arg)
{
	struct thread *thread = arg;
	const struct tiny_vm *vm = &thread->vm;
	char name[32];

	if (thread->cpu >= 0)
		stay_on(0, thread->cpu);
	if (thread->kind == IO) {
		prctl(PR_SET_NAME, "IO iothread0");
		for (;;)
			;
	}
	snprintf(name, sizeof(name), "CPU %ld/KVM", (long)(thread - threads));
	prctl(PR_SET_NAME, name);
	my_run = vm->run;
	while (tiny_vm_run(vm))
		serve(thread->kind);
	if (errno != EINTR || (thread->kind != PAUSE && thread->kind != UNPLUG)) {
		fprintf(stderr, "vm-case %s: exit %u: %s\n", works[thread->kind].name,
			vm->run->exit_reason, strerror(errno));
		exit(1);
	}
	sem_post(&settled);
	while (thread->kind == PAUSE)
		pause();
	return NULL;
}

#if defined(__x86_64__)

#define NOT_STARTED KVM_MP_STATE_UNINITIALIZED

static void set_start(int vcpu, unsigned long address)
{
	struct kvm_regs regs = { .rip = address, .rflags = 2 };

	checked(ioctl(vcpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");
}

/* The kernel's thread that sends the interrupts of this process's PIT */
static pid_t pit_worker(void)
{
	char path[300], name[32], wanted[32];
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	FILE *file;

	snprintf(wanted, sizeof(wanted), "kvm-pit/%d", getpid());
	while (proc && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%31s", name) == 1 && !strcmp(name, wanted))
			return atoi(entry->d_name);
		fclose(file);
	}
	bail_out(wanted);
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Lets the PIT's worker run only after each 10 ms that a real-time process computes. */
static void slow_down_pit(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	int cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	long long end;

	stay_on(pit_worker(), cpu);
	if (checked(fork(), "fork"))
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay_on(0, cpu);
	checked(sched_setscheduler(0, SCHED_FIFO, &first), "SCHED_FIFO");
	for (;;) {
		sleep_ms(1);
		end = now_ns() + 10000000;
		while (now_ns() < end)
			;
	}
}

static void create_pit(int vm)
{
	struct kvm_pit_config pit = { 0 };

	checked(ioctl(vm, KVM_CREATE_PIT2, &pit), "KVM_CREATE_PIT2");
	slow_down_pit();
}

#elif defined(__aarch64__)

#define NOT_STARTED KVM_MP_STATE_STOPPED

static void set_start(int vcpu, unsigned long address)
{
	struct kvm_one_reg pc = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |
		      offsetof(struct kvm_regs, regs.pc) / sizeof(__u32),
		.addr = (unsigned long)&address,
	};

	checked(ioctl(vcpu, KVM_SET_ONE_REG, &pc), "KVM_SET_ONE_REG");
}

static void create_pit(int vm)
{
	(void)vm;
}

#endif

static void add_vcpu(const struct tiny_vm *first, int number, struct thread *thread)
{
	struct kvm_mp_state state = {
		.mp_state = thread->kind == OFF ? NOT_STARTED : KVM_MP_STATE_RUNNABLE,
	};
	const struct work *work = &works[thread->kind];
	/* tiny_vm_load() writes its own code to 0. */
	unsigned long address = (number + 1) * CODE_SIZE;

	thread->vm = *first;
	if (number) {
		thread->vm.vcpu = checked(ioctl(first->fd, KVM_CREATE_VCPU, number),
					  "KVM_CREATE_VCPU");
		thread->vm.run = mmap(NULL, first->run_size, PROT_READ | PROT_WRITE, MAP_SHARED,
				      thread->vm.vcpu, 0);
		if (thread->vm.run == MAP_FAILED)
			bail_out("mmap of kvm_run");
		tiny_vm_load(&thread->vm);
	}
	memcpy(first->memory + address, work->code, sizeof(work->code));
	set_start(thread->vm.vcpu, address);
	checked(ioctl(thread->vm.vcpu, KVM_SET_MP_STATE, &state), "KVM_SET_MP_STATE");
}

static void refuse_arguments(void)
{
	fprintf(stderr, "usage: vm-case [-name NAME] WORK[*N][@CPU]...\n");
	exit(2);
}

/* Adds the threads for an argument. */
static void add_threads(char *text)
{
	size_t length = strcspn(text, "*@");
	const char *times = strchr(text, '*'), *cpu = strchr(text, '@');
	int i, kind, count = times ? atoi(times + 1) : 1;

	for (kind = 0; kind <= IO; kind++) {
		if (works[kind].name && !strncmp(works[kind].name, text, length) &&
		    !works[kind].name[length])
			break;
	}
	if (kind > IO || count < 1 || num_threads + count > MAX_THREADS)
		refuse_arguments();
	for (i = 0; i < count; i++)
		threads[num_threads++] = (struct thread) {
			.kind = kind, .cpu = cpu ? atoi(cpu + 1) : -1,
		};
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = leave_guest };
	struct tiny_vm vm;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-name") && i + 1 < argc)
			i++;
		else
			add_threads(argv[i]);
	}
	if (!num_threads || threads[0].kind == IO)
		refuse_arguments();
	sem_init(&settled, 0, 0);
	sem_init(&locked, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
	vm = tiny_vm_create();
	for (i = 0; i < num_threads; i++) {
		if (threads[i].kind == PIT)
			create_pit(vm.fd);
		if (threads[i].kind == MEMORY)
			miss_pages(&vm);
		if (threads[i].kind != IO)
			add_vcpu(&vm, i, &threads[i]);
	}
	for (i = 0; i < num_threads; i++)
		checked(-pthread_create(&threads[i].thread, NULL, run, &threads[i]), "thread");
	/* Some time in the guest, before signals. */
	sleep_ms(500);
	for (i = 0; i < num_threads; i++) {
		if (threads[i].kind == PAUSE || threads[i].kind == UNPLUG)
			pthread_kill(threads[i].thread, SIGUSR1);
		if (threads[i].kind >= HANG && threads[i].kind <= UNPLUG)
			sem_wait(&settled);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
