/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest for the tests of KVM's statistics files: one page of code that depends on the
 * architecture, run by any number of vCPUs.
 */
#ifndef SELFTEST_KVM_STATS_FD_GUEST_H
#define SELFTEST_KVM_STATS_FD_GUEST_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "stats_fd_arch.h"

/* Within 1 MB for x86's 16-bit code, and aligned to arm64's largest page. */
#define GUEST_MEMORY		0x10000UL

/* Code has fixed addresses and is written before a vCPU runs: caches stay coherent. */
#define GUEST_USER_EXITS	GUEST_MEMORY
#define GUEST_KERNEL_EXITS	(GUEST_MEMORY + 0x100)
#define GUEST_CODE		(GUEST_MEMORY + 0x200)	/* the test's own */
#define GUEST_CODE_SIZE		0x400

struct guest_vcpu {
	int fd;
	struct kvm_run *run;
	struct stats_file file;
};

/* A VM with one page of memory. Set @irqchip before guest_create(). */
struct guest {
	bool irqchip;
	int vm;
	void *memory;
	size_t page;
	int vcpus;
	struct guest_vcpu vcpu[STATS_MAX_VCPUS];
};

/* Add memory to the guest, or remove it with @size 0. */
static inline void guest_set_slot(struct __test_metadata *_metadata,
				  struct guest *g, __u32 slot, __u32 flags,
				  __u64 addr, void *memory, size_t size)
{
	struct kvm_userspace_memory_region region = {
		.slot = slot,
		.flags = flags,
		.guest_phys_addr = addr,
		.userspace_addr = (unsigned long)memory,
		.memory_size = size,
	};

	ASSERT_EQ(0, ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &region)) {
		TH_LOG("slot %u: %s", slot, strerror(errno));
	}
}

/* Return 0 or a negative errno. */
static inline int guest_get_dirty_log(const struct guest *g, __u32 slot, __u64 *bitmap)
{
	struct kvm_dirty_log log = {
		.slot = slot,
		.dirty_bitmap = bitmap,
	};

	return result(ioctl(g->vm, KVM_GET_DIRTY_LOG, &log));
}

/* Add untouched memory of small pages in a slot of its own. */
static inline void *guest_add_untouched(struct __test_metadata *_metadata,
					struct guest *g, __u32 slot, __u32 flags,
					__u64 addr, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, memory);
	guest_set_slot(_metadata, g, slot, flags, addr, memory, size);
	return memory;
}

/* Like guest_add_untouched(), and touch all pages: fill them with zeros. */
static inline void *guest_add_memory(struct __test_metadata *_metadata,
				     struct guest *g, __u32 slot, __u32 flags,
				     __u64 addr, size_t size)
{
	void *memory = guest_add_untouched(_metadata, g, slot, flags, addr, size);

	return memset(memory, 0, size);
}

static inline void guest_create_memory(struct __test_metadata *_metadata, struct guest *g)
{
	g->page = sysconf(_SC_PAGESIZE);
	g->memory = guest_add_memory(_metadata, g, 0, 0, GUEST_MEMORY, g->page);
	memcpy(g->memory, stats_user_exits_code, sizeof(stats_user_exits_code));
	memcpy(g->memory + (GUEST_KERNEL_EXITS - GUEST_MEMORY),
	       stats_kernel_exits_code, sizeof(stats_kernel_exits_code));
	stats_arch_init_page(g->memory, GUEST_MEMORY);
}

/* Add a vCPU. Its @id need not be its index in @g. */
static inline struct guest_vcpu *
guest_add_vcpu(struct __test_metadata *_metadata, struct guest *g, unsigned long id)
{
	struct guest_vcpu *v = &g->vcpu[g->vcpus];

	ASSERT_GT(STATS_MAX_VCPUS, g->vcpus);
	v->fd = stats_create_vcpu(_metadata, g->vm, id);
	v->run = mmap(NULL, g->page, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	ASSERT_NE(MAP_FAILED, v->run);
	stats_load(_metadata, stats_get_fd(_metadata, v->fd), &v->file);
	g->vcpus++;
	return v;
}

static inline void guest_create(struct __test_metadata *_metadata, struct guest *g, int vcpus)
{
	int i;

	g->vm = stats_create_vm(_metadata);
	stats_arch_init_vm(_metadata, g->vm);
	if (g->irqchip)
		stats_arch_create_irqchip(_metadata, g->vm);
	guest_create_memory(_metadata, g);
	g->vcpus = 0;
	for (i = 0; i < vcpus; i++)
		guest_add_vcpu(_metadata, g, i);
}

/* Destroy the VM. A mapping of kvm_run would keep it. Its statistics files stay open. */
static inline void guest_kill(struct guest *g)
{
	int i;

	for (i = 0; i < g->vcpus; i++) {
		munmap(g->vcpu[i].run, g->page);
		close(g->vcpu[i].fd);
	}
	close(g->vm);
	g->vm = -1;
	munmap(g->memory, g->page);
}

static inline void guest_destroy(struct guest *g)
{
	int i;

	for (i = 0; i < g->vcpus; i++)
		stats_unload(&g->vcpu[i].file);
	if (g->vm >= 0)
		guest_kill(g);
}

static inline __u64 vcpu_read(struct __test_metadata *_metadata,
			      const struct guest_vcpu *v, const char *name)
{
	return stats_read(_metadata, &v->file, name);
}

/*
 * Copy code to the guest before the first vCPU runs. Several pieces of code share the
 * GUEST_CODE_SIZE bytes at GUEST_CODE.
 */
static inline void guest_put_code_at(struct __test_metadata *_metadata,
				     struct guest *g, __u64 addr,
				     const char *code, const char *end)
{
	ASSERT_LE(GUEST_CODE, addr);
	ASSERT_GE(GUEST_CODE + GUEST_CODE_SIZE, addr + (end - code));
	stats_arch_put_code(g->memory + (addr - GUEST_MEMORY), code, end - code);
}

static inline void guest_put_code(struct __test_metadata *_metadata,
				  struct guest *g, const char *code, const char *end)
{
	guest_put_code_at(_metadata, g, GUEST_CODE, code, end);
}

/* Let the first vCPU run this code next, with the argument @count. */
static inline void guest_start(struct __test_metadata *_metadata, struct guest *g,
			       const char *code, const char *end, __u32 count)
{
	guest_put_code(_metadata, g, code, end);
	stats_arch_init_vcpu(_metadata, g->vcpu[0].fd, GUEST_CODE, count);
}

static inline void guest_add_ioeventfd(struct __test_metadata *_metadata, struct guest *g,
				       __u64 addr, __u32 len, __u32 flags)
{
	struct kvm_ioeventfd io = {
		.addr = addr,
		.len = len,
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.flags = flags,
	};

	ASSERT_LE(0, io.fd);
	ASSERT_EQ(0, ioctl(g->vm, KVM_IOEVENTFD, &io));
	close(io.fd);
}

/* Run until the next exit to user space. On powerpc KVM_RUN can return more than 0. */
static inline void vcpu_run(struct __test_metadata *_metadata,
			    struct guest_vcpu *v, __u32 exit_reason)
{
	ASSERT_LE(0, ioctl(v->fd, KVM_RUN, 0)) TH_LOG("KVM_RUN: %s", strerror(errno));
	ASSERT_EQ(exit_reason, v->run->exit_reason);
}

static inline void vcpu_run_times(struct __test_metadata *_metadata,
				  struct guest_vcpu *v, __u32 exit_reason, int times)
{
	while (times--)
		vcpu_run(_metadata, v, exit_reason);
}

/* Run the guest to the end of the activity that it repeats. */
static inline void vcpu_run_activity(struct __test_metadata *_metadata, struct guest_vcpu *v,
				     const struct stats_activity *a, int times)
{
	if (a->exit_reason)
		vcpu_run_times(_metadata, v, a->exit_reason, times);
	else
		vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
}

/* Complete the last exit without entering the guest, so that the vCPU can be set up anew. */
static inline void vcpu_complete_exit(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	v->run->immediate_exit = 1;
	ASSERT_EQ(-EINTR, result(ioctl(v->fd, KVM_RUN, 0)));
	v->run->immediate_exit = 0;
}

/* Exit to user space @count times. */
static inline void vcpu_exit_to_user(struct __test_metadata *_metadata,
				     struct guest_vcpu *v, int count)
{
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	vcpu_run_times(_metadata, v, STATS_USER_EXIT_REASON, count);
	vcpu_complete_exit(_metadata, v);
}

/* SIGUSR1 is only delivered inside KVM_RUN, so that each signal ends one KVM_RUN. */
static inline void vcpu_mask_signal(struct __test_metadata *_metadata,
				    struct guest_vcpu *v, sigset_t *mask)
{
	/* A struct kvm_signal_mask: the size of the set, and no signal in it. */
	const __u32 inside[5] = { _NSIG / 8 };

	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_SIGNAL_MASK, inside));
	sigemptyset(mask);
	sigaddset(mask, SIGUSR1);
	ASSERT_EQ(0, pthread_sigmask(SIG_BLOCK, mask, NULL));
}

static inline void vcpu_run_until_signal(struct __test_metadata *_metadata,
					 struct guest_vcpu *v, const sigset_t *mask)
{
	ASSERT_EQ(0, pthread_kill(pthread_self(), SIGUSR1));
	ASSERT_EQ(-EINTR, result(ioctl(v->fd, KVM_RUN, 0)));
	ASSERT_EQ(KVM_EXIT_INTR, (int)v->run->exit_reason);
	ASSERT_EQ(SIGUSR1, sigwaitinfo(mask, NULL));
}

/* A thread that calls KVM_RUN once. */
struct runner {
	struct guest_vcpu *vcpu;
	pthread_t thread;
	long result;
	__u64 switches;			/* involuntary ones during KVM_RUN */
	bool returned;
};

/* After so many reads, each with a sched_yield(), a counter counts as stuck. */
#define RUNNER_MAX_READS	(1000 * 1000)

static __thread struct kvm_run *runner_kicked;

/* End a KVM_RUN, also if it has not begun yet. */
static inline void runner_kick(int sig)
{
	runner_kicked->immediate_exit = sig != 0;
}

/* How often was the calling thread preempted? Returns -1 if the kernel does not tell. */
static inline long thread_preemptions(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? -1 : usage.ru_nivcsw;
}

static inline void *runner_thread(void *arg)
{
	struct runner *r = arg;
	long before;

	runner_kicked = r->vcpu->run;
	before = thread_preemptions();
	r->result = result(ioctl(r->vcpu->fd, KVM_RUN, 0));
	r->switches = thread_preemptions() - before;
	__atomic_store_n(&r->returned, true, __ATOMIC_RELEASE);
	return NULL;
}

static inline bool runner_returned(struct runner *r)
{
	return __atomic_load_n(&r->returned, __ATOMIC_ACQUIRE);
}

/* Start a thread that runs the vCPU until the vCPU exits or runner_stop() ends it. */
static inline void runner_create(struct __test_metadata *_metadata,
				 struct runner *r, struct guest_vcpu *v)
{
	struct sigaction action = { .sa_handler = runner_kick };

	memset(r, 0, sizeof(*r));
	r->vcpu = v;
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, pthread_create(&r->thread, NULL, runner_thread, r));
}

/* Read a statistic of the vCPU until it is at least @least. */
static inline void runner_wait_for(struct __test_metadata *_metadata,
				   struct runner *r, const char *name, __u64 least)
{
	int i;

	for (i = 0; i < RUNNER_MAX_READS; i++) {
		if (vcpu_read(_metadata, r->vcpu, name) >= least)
			return;
		ASSERT_FALSE(runner_returned(r)) {
			TH_LOG("KVM_RUN: %ld, exit reason %u", r->result,
			       r->vcpu->run->exit_reason);
		}
		sched_yield();
	}
	ASSERT_LE(least, vcpu_read(_metadata, r->vcpu, name)) TH_LOG("%s", name);
}

/*
 * Start a vCPU that does @count exits that KVM handles and then spins in the guest. Return
 * after @seen of the exits.
 */
static inline void runner_start(struct __test_metadata *_metadata,
				struct runner *r, struct guest_vcpu *v, __u32 count, __u32 seen)
{
	__u64 before = vcpu_read(_metadata, v, STATS_EXITS);

	stats_arch_init_vcpu(_metadata, v->fd, GUEST_KERNEL_EXITS, count);
	runner_create(_metadata, r, v);
	runner_wait_for(_metadata, r, STATS_EXITS, before + seen);
}

/* End KVM_RUN by a signal. Fail if it has returned before. */
static inline void runner_stop(struct __test_metadata *_metadata, struct runner *r)
{
	EXPECT_FALSE(runner_returned(r));
	ASSERT_EQ(0, pthread_kill(r->thread, SIGUSR1));
	ASSERT_EQ(0, pthread_join(r->thread, NULL));
	EXPECT_EQ(-EINTR, r->result);
	r->vcpu->run->immediate_exit = 0;
}

/* Wait for a KVM_RUN that ends by itself. */
static inline void runner_join_exit(struct __test_metadata *_metadata,
				    struct runner *r, __u32 exit_reason)
{
	ASSERT_EQ(0, pthread_join(r->thread, NULL));
	ASSERT_LE(0, r->result);
	ASSERT_EQ(exit_reason, r->vcpu->run->exit_reason);
}

static inline void runner_join(struct __test_metadata *_metadata, struct runner *r)
{
	runner_join_exit(_metadata, r, STATS_USER_EXIT_REASON);
}

/* Return 0 or a negative errno. */
static inline int stay_on_cpu(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ? -errno : 0;
}

static inline void stay_on_this_cpu(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, stay_on_cpu(sched_getcpu()));
}

/* A thread that competes with the test for its CPU. */
struct busy_thread {
	pthread_t thread;
	bool over;
};

static inline void *be_busy(void *arg)
{
	struct busy_thread *busy = arg;

	while (!__atomic_load_n(&busy->over, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

/* Pin the test to its CPU and start a competitor there. */
static inline void busy_start(struct __test_metadata *_metadata, struct busy_thread *busy)
{
	stay_on_this_cpu(_metadata);
	busy->over = false;
	ASSERT_EQ(0, pthread_create(&busy->thread, NULL, be_busy, busy));
}

static inline void busy_end(struct __test_metadata *_metadata, struct busy_thread *busy)
{
	__atomic_store_n(&busy->over, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(busy->thread, NULL));
}

#endif /* SELFTEST_KVM_STATS_FD_GUEST_H */
