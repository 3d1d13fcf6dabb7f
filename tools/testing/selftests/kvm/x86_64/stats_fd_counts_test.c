// SPDX-License-Identifier: GPL-2.0-only
/*
 * What x86's KVM counts besides what all guests do: filters of MSRs, interrupts
 * of the host, preemptions, flushes of the TLB, hypercalls of Hyper-V. Each case
 * notices an event that is not counted, and one that is counted twice.
 */
#define _GNU_SOURCE
#include <linux/kvm_para.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_long_mode.h"

/* How often a guest does what it does. */
#define TIMES			1000

/* How often user space does, where the guest is run each time. */
#define ROUNDS			50

#define PAGE			4096UL

/* Where a slot of the test's own is. */
#define DATA_SLOT		1

static __u64 own_exits(struct __test_metadata *_metadata,
		       const struct guest_vcpu *v)
{
	return STATS_OWN_EXITS(_metadata, &v->file);
}

static void set_msr(struct __test_metadata *_metadata,
		    const struct guest_vcpu *v, __u32 index, __u64 data)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = {
		.head.nmsrs = 1,
		.entry.index = index,
		.entry.data = data,
	};

	ASSERT_EQ(1, ioctl(v->fd, KVM_SET_MSRS, &msrs)) {
		TH_LOG("MSR %#x", index);
	}
}

/* MSRs that any guest may read and write, and that KVM always intercepts. */
#define MSR_TO_READ		"0x8b"		/* the microcode's revision */
#define MSR_TO_WRITE		"0x79"		/* its update, which is ignored */
#define MSR_READ		0x8b

/* A range of MSRs that no guest uses. */
#define MSR_OTHER		0x4b564dff

STATS_GUEST_LOOP(stats_rdmsr,
		 "mov $" MSR_TO_READ ", %ecx; rdmsr; mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_wrmsr,
		 "mov $" MSR_TO_WRITE ", %ecx; wrmsr");

FIXTURE(filter)
{
	int kvm;
	struct guest guest;
	struct guest_vcpu *vcpu;
};

FIXTURE_VARIANT(filter)
{
	int ranges;
};

FIXTURE_VARIANT_ADD(filter, of_no_range)
{
	.ranges = 0,
};

FIXTURE_VARIANT_ADD(filter, of_1_range)
{
	.ranges = 1,
};

FIXTURE_VARIANT_ADD(filter, of_16_ranges)
{
	.ranges = KVM_MSR_FILTER_MAX_RANGES,
};

/* So many ranges of one MSR each, of which all but @denied may be accessed. */
static void set_filter(struct __test_metadata *_metadata, struct guest *g,
		       int ranges, __u32 denied)
{
	static __u8 bitmaps[] = { 1, 0 };	/* allowed, denied */
	struct kvm_msr_filter filter = {
		.flags = KVM_MSR_FILTER_DEFAULT_ALLOW,
	};
	int i;

	for (i = 0; i < ranges; i++) {
		filter.ranges[i] = (struct kvm_msr_filter_range){
			.flags = KVM_MSR_FILTER_READ | KVM_MSR_FILTER_WRITE,
			.nmsrs = 1,
			.base = denied ?: MSR_OTHER,
			.bitmap = &bitmaps[denied != 0],
		};
	}
	ASSERT_EQ(0, ioctl(g->vm, KVM_X86_SET_MSR_FILTER, &filter));
}

/* The filter is there before the vCPU, which looks at it when it is created. */
FIXTURE_SETUP(filter)
{
	self->kvm = stats_open_kvm(_metadata);
	guest_create(_metadata, self->kvm, &self->guest, 0);
	set_filter(_metadata, &self->guest, variant->ranges, 0);
	self->vcpu = guest_add_vcpu(_metadata, &self->guest, 0);
}

FIXTURE_TEARDOWN(filter)
{
	guest_destroy(&self->guest);
	close(self->kvm);
}

static void expect_no_exits(struct __test_metadata *_metadata,
			    const struct guest_vcpu *v, const char *when)
{
	EXPECT_EQ(0UL, vcpu_read(_metadata, v, "exits")) TH_LOG("%s", when);
	EXPECT_EQ(0UL, vcpu_read(_metadata, v, "irq_exits")) {
		TH_LOG("%s", when);
	}
}

TEST_F(filter, exits_of_a_vcpu_that_never_ran_are_0)
{
	struct kvm_lapic_state lapic;
	struct kvm_mp_state mp_state;
	int i;

	expect_no_exits(_metadata, self->vcpu, "created");
	for (i = 0; i < ROUNDS; i++) {
		set_filter(_metadata, &self->guest, variant->ranges, 0);
		set_msr(_metadata, self->vcpu, 0x10, i);
		stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 1);
		lm_set_cpuid(_metadata, self->kvm, self->vcpu->fd);
		ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_MP_STATE,
				   &mp_state));
		ASSERT_EQ(-EINVAL, result(ioctl(self->vcpu->fd, KVM_GET_LAPIC,
						&lapic)));
	}
	expect_no_exits(_metadata, self->vcpu, "set up");
	vcpu_complete_exit(_metadata, self->vcpu);
	expect_no_exits(_metadata, self->vcpu, "KVM_RUN that did not enter");
}

static void run_msr_guest(struct __test_metadata *_metadata, struct guest *g,
			  const char *code, const char *end)
{
	struct guest_vcpu *v = &g->vcpu[0];
	__u64 before;

	guest_put_code(_metadata, g, code, end);
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_CODE, TIMES);
	before = own_exits(_metadata, v);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	EXPECT_EQ((__u64)TIMES + 1, own_exits(_metadata, v) - before);
	vcpu_complete_exit(_metadata, v);
}

TEST_F(filter, each_read_of_an_msr_is_one_exit)
{
	run_msr_guest(_metadata, &self->guest, stats_rdmsr, stats_rdmsr_end);
}

TEST_F(filter, each_write_to_an_msr_is_one_exit)
{
	run_msr_guest(_metadata, &self->guest, stats_wrmsr, stats_wrmsr_end);
}

TEST_F(filter, each_read_that_is_left_to_user_space_is_one_exit)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_X86_USER_SPACE_MSR,
		.args[0] = KVM_MSR_EXIT_REASON_FILTER,
	};
	struct guest_vcpu *v = self->vcpu;
	int i;

	if (!variant->ranges)
		return;
	ASSERT_EQ(0, ioctl(self->guest.vm, KVM_ENABLE_CAP, &cap));
	set_filter(_metadata, &self->guest, variant->ranges, MSR_READ);
	guest_put_code(_metadata, &self->guest, stats_rdmsr, stats_rdmsr_end);
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_CODE, TIMES);
	for (i = 0; i < TIMES; i++)
		vcpu_run(_metadata, v, KVM_EXIT_X86_RDMSR);
	vcpu_complete_exit(_metadata, v);
	EXPECT_EQ((__u64)TIMES, own_exits(_metadata, v));
}

FIXTURE(guest)
{
	int kvm;
	struct guest guest;
	struct guest_vcpu *vcpu;
	void *data;
};

FIXTURE_SETUP(guest)
{
	self->kvm = stats_open_kvm(_metadata);
	guest_create(_metadata, self->kvm, &self->guest, 2);
	self->vcpu = &self->guest.vcpu[0];
	self->data = guest_add_memory(_metadata, &self->guest, DATA_SLOT, 0,
				      STATS_DATA, PAGE);
}

FIXTURE_TEARDOWN(guest)
{
	guest_destroy(&self->guest);
	munmap(self->data, PAGE);
	close(self->kvm);
}

/* Never leaves by itself, and can be seen to be there. */
STATS_GUEST_CODE(stats_run,
		 ".code16\n"
		 "1:	incl (%edi)\n"
		 "	jmp 1b\n"
		 ".code64\n");

static void wait_until_it_moves(struct __test_metadata *_metadata,
				struct runner *runner, const __u32 *counter,
				__u32 from)
{
	int i;

	for (i = 0; i < RUNNER_MAX_LOOKS; i++) {
		if (__atomic_load_n(counter, __ATOMIC_RELAXED) != from)
			return;
		ASSERT_FALSE(runner_returned(runner));
		sched_yield();
	}
	ASSERT_NE(from, __atomic_load_n(counter, __ATOMIC_RELAXED));
}

/* A signal makes a vCPU that is in the guest leave it by an interrupt. */
TEST_F(guest, exits_that_the_guest_does_not_make_are_interrupts_and_page_faults)
{
	const __u32 *counter = self->data;
	struct runner runner;
	__u32 from;
	int i;

	guest_put_code(_metadata, &self->guest, stats_run, stats_run_end);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	for (i = 0; i < ROUNDS; i++) {
		from = *counter;
		runner_create(_metadata, &runner, self->vcpu);
		wait_until_it_moves(_metadata, &runner, counter, from);
		runner_stop(_metadata, &runner);
	}
	EXPECT_EQ(vcpu_read(_metadata, self->vcpu, "irq_exits") +
		  vcpu_read(_metadata, self->vcpu, "pf_taken"),
		  vcpu_read(_metadata, self->vcpu, "exits"));
	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, "pf_emulate"));
	EXPECT_LE((__u64)ROUNDS,
		  vcpu_read(_metadata, self->vcpu, "irq_exits"));
}

static __u64 preemptions(struct __test_metadata *_metadata,
			 const struct guest_vcpu *v)
{
	return vcpu_read(_metadata, v, "preemption_reported") +
	       vcpu_read(_metadata, v, "preemption_other");
}

/* Times that the host got back its state by @v, not because it was preempted. */
static __u64 reloads(struct __test_metadata *_metadata,
		     const struct guest_vcpu *v)
{
	__u64 before, value;

	do {
		before = preemptions(_metadata, v);
		value = vcpu_read(_metadata, v, "host_state_reload");
	} while (preemptions(_metadata, v) != before);
	return value - before;
}

/* Intel reloads it only if the guest was entered. */
TEST_F(guest, host_state_is_reloaded_once_for_each_ioctl_that_loads_the_vcpu)
{
	const struct guest_vcpu *v = self->vcpu;
	struct kvm_regs regs;
	__u64 before;
	int i;

	if (!stats_arch_svm())
		return;
	before = reloads(_metadata, v);
	for (i = 0; i < TIMES; i++)
		ASSERT_EQ(0, ioctl(v->fd, KVM_GET_REGS, &regs));
	EXPECT_EQ((__u64)TIMES, reloads(_metadata, v) - before);
}

TEST_F(guest, host_state_is_reloaded_once_for_each_run)
{
	struct guest_vcpu *v = self->vcpu;
	__u64 before;
	int i;

	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	before = reloads(_metadata, v);
	for (i = 0; i < TIMES; i++)
		vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	EXPECT_EQ((__u64)TIMES, reloads(_metadata, v) - before);
	vcpu_complete_exit(_metadata, v);
}

/* A vCPU that shares its CPU with a task that is always ready. */
struct crowd {
	struct guest_vcpu *vcpu;
	cpu_set_t cpu;
	pthread_t runner, rival;
	long result;
	__u64 switches;		/* from the vCPU's thread, against its will */
	bool over;
};

/* Preemptions that are waited for. */
#define PREEMPTIONS		5

/* Looks at their number, each on the same CPU: far more than are needed. */
#define CROWD_LOOKS		(100 * 1000)

/* A thread may be preempted just before KVM_RUN or after it as well. */
#define CROWD_ATTEMPTS		20

static __u64 own_switches(void)
{
	struct rusage usage = { };

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

static void *run_vcpu(void *arg)
{
	struct crowd *c = arg;
	__u64 before;

	runner_kicked = c->vcpu->run;
	before = own_switches();
	c->result = result(ioctl(c->vcpu->fd, KVM_RUN, 0));
	c->switches = own_switches() - before;
	__atomic_store_n(&c->over, true, __ATOMIC_RELEASE);
	return NULL;
}

static void *run_rival(void *arg)
{
	struct crowd *c = arg;

	while (!__atomic_load_n(&c->over, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

static void start_on(struct __test_metadata *_metadata, struct crowd *c,
		     pthread_t *thread, void *(*run)(void *))
{
	pthread_attr_t attr;

	ASSERT_EQ(0, pthread_attr_init(&attr));
	ASSERT_EQ(0, pthread_attr_setaffinity_np(&attr, sizeof(c->cpu),
						 &c->cpu));
	ASSERT_EQ(0, pthread_create(thread, &attr, run, c));
	ASSERT_EQ(0, pthread_attr_destroy(&attr));
}

/* Returns how often it was preempted, after it was by what @name counts. */
static __u64 run_in_a_crowd(struct __test_metadata *_metadata,
			    struct crowd *c, struct guest_vcpu *v,
			    const char *name)
{
	struct sigaction action = { .sa_handler = runner_kick };
	__u64 before = preemptions(_metadata, v);
	__u64 first = vcpu_read(_metadata, v, name);
	int i;

	*c = (struct crowd){ .vcpu = v };
	CPU_SET(sched_getcpu(), &c->cpu);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(c->cpu), &c->cpu));
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	start_on(_metadata, c, &c->rival, run_rival);
	start_on(_metadata, c, &c->runner, run_vcpu);
	for (i = 0; i < CROWD_LOOKS; i++) {
		if (vcpu_read(_metadata, v, name) - first >= PREEMPTIONS)
			break;
		sched_yield();
	}
	ASSERT_EQ(0, pthread_kill(c->runner, SIGUSR1));
	ASSERT_EQ(0, pthread_join(c->runner, NULL));
	ASSERT_EQ(0, pthread_join(c->rival, NULL));
	ASSERT_EQ(-EINTR, c->result);
	v->run->immediate_exit = 0;
	ASSERT_LE((__u64)PREEMPTIONS, vcpu_read(_metadata, v, name) - first) {
		TH_LOG("%s", name);
	}
	return preemptions(_metadata, v) - before;
}

/* The scheduler counts them as well. */
static void expect_preemptions(struct __test_metadata *_metadata,
			       struct guest_vcpu *v, const char *name)
{
	struct crowd crowd;
	__u64 counted;
	int i;

	for (i = 0; i < CROWD_ATTEMPTS; i++) {
		counted = run_in_a_crowd(_metadata, &crowd, v, name);
		ASSERT_GE(crowd.switches, counted);
		if (crowd.switches == counted)
			break;
	}
	EXPECT_EQ(crowd.switches, counted) {
		TH_LOG("in each of %d attempts", CROWD_ATTEMPTS);
	}
}

TEST_F(guest, each_preemption_in_the_guest_is_counted_as_reported)
{
	guest_put_code(_metadata, &self->guest, stats_run, stats_run_end);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 0);
	expect_preemptions(_metadata, self->vcpu, "preemption_reported");
}

TEST_F(guest, each_preemption_in_kvm_is_counted_as_another_one)
{
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_KERNEL_EXITS,
			     UINT_MAX);
	expect_preemptions(_metadata, self->vcpu, "preemption_other");
}

/* Of a guest that is run ROUNDS times, and @before each time. */
static __u64 flushes(struct __test_metadata *_metadata, struct guest_vcpu *v,
		     void (*before)(struct __test_metadata *_metadata,
				    void *data), void *data)
{
	__u64 first;
	int i;

	stats_arch_init_vcpu(_metadata, v->fd, GUEST_CODE, 1);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	first = vcpu_read(_metadata, v, "tlb_flush");
	for (i = 0; i < ROUNDS; i++) {
		before(_metadata, data);
		vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	}
	vcpu_complete_exit(_metadata, v);
	return vcpu_read(_metadata, v, "tlb_flush") - first;
}

static void unmap(struct __test_metadata *_metadata, void *data)
{
	ASSERT_EQ(0, madvise(data, PAGE, MADV_DONTNEED));
}

TEST_F(guest, each_unmapping_of_its_memory_is_a_flush_of_its_tlb)
{
	guest_put_code(_metadata, &self->guest, stats_touch, stats_touch_end);
	EXPECT_EQ((__u64)ROUNDS,
		  flushes(_metadata, self->vcpu, unmap, self->data));
	/* This one was asked as often, but did not run. */
	EXPECT_EQ(0UL,
		  vcpu_read(_metadata, &self->guest.vcpu[1], "tlb_flush"));
}

/* What other vCPUs of the guest write there while it is preempted. */
static void ask_for_flush(struct __test_metadata *_metadata, void *data)
{
	struct kvm_steal_time *st = data;

	st->preempted = KVM_VCPU_FLUSH_TLB;
}

static void ask_for_nothing(struct __test_metadata *_metadata, void *data)
{
}

TEST_F(guest, each_flush_that_it_left_to_kvm_is_one)
{
	guest_put_code(_metadata, &self->guest, stats_touch, stats_touch_end);
	set_msr(_metadata, self->vcpu, MSR_KVM_STEAL_TIME,
		STATS_DATA | KVM_MSR_ENABLED);
	EXPECT_EQ(0UL, flushes(_metadata, self->vcpu, ask_for_nothing, NULL));
	EXPECT_EQ((__u64)ROUNDS,
		  flushes(_metadata, self->vcpu, ask_for_flush, self->data));
}

/* A guest in 64-bit mode. */
FIXTURE(long_mode)
{
	int kvm;
	struct guest guest;
	struct guest_vcpu *vcpu;
	struct lm_tables tables;
};

FIXTURE_SETUP(long_mode)
{
	self->kvm = stats_open_kvm(_metadata);
	self->guest.irqchip = true;
	guest_create(_metadata, self->kvm, &self->guest, 1);
	self->vcpu = &self->guest.vcpu[0];
	lm_create_tables(_metadata, &self->guest, DATA_SLOT, &self->tables);
	lm_init_vcpu(_metadata, self->kvm, self->vcpu->fd, 0);
}

FIXTURE_TEARDOWN(long_mode)
{
	lm_destroy_tables(&self->tables);
	guest_destroy(&self->guest);
	close(self->kvm);
}

/* 64-bit code: what is done, as often as %rsi says, and then the user exit. */
#define LONG_MODE_LOOP(name, action)					\
	STATS_GUEST_CODE(name,						\
		"1:	" action "\n"					\
		"	decq %rsi\n"					\
		"	jnz 1b\n"					\
		"2:	outb %al, $0x80\n"				\
		"	jmp 2b\n")

LONG_MODE_LOOP(load_cr3, "mov %cr3, %rax; mov %rax, %cr3");
LONG_MODE_LOOP(hypercall, "mov %rbx, %rcx; vmmcall");

static void start_loop(struct __test_metadata *_metadata, struct guest *g,
		       const char *code, const char *end,
		       const struct kvm_regs *arguments)
{
	struct kvm_regs regs = *arguments;

	guest_put_code(_metadata, g, code, end);
	regs.rip = GUEST_CODE;
	regs.rflags = 2;
	regs.rsi = TIMES;
	lm_set_regs(_metadata, &g->vcpu[0], &regs);
}

/* With nested paging that is the guest's own business. */
TEST_F(long_mode, each_load_of_cr3_is_a_flush_where_kvm_shadows)
{
	__u64 before;

	start_loop(_metadata, &self->guest, load_cr3, load_cr3_end,
		   &(struct kvm_regs){ });
	before = vcpu_read(_metadata, self->vcpu, "tlb_flush");
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_IO);
	EXPECT_EQ(stats_arch_shadows() ? (__u64)TIMES : 0UL,
		  vcpu_read(_metadata, self->vcpu, "tlb_flush") - before);
}

#define HV_MSR_GUEST_OS_ID	0x40000000
#define HV_FLUSH_SPACE		0x0002
#define HV_POST_MESSAGE		0x005c
#define HV_UNKNOWN		0x7fff
#define HV_FLUSH_ALL		1

/* What HV_FLUSH_SPACE gets. */
struct hv_flush {
	__u64 address_space;
	__u64 flags;
	__u64 processors;
};

static void start_hypercalls(struct __test_metadata *_metadata,
			     struct guest *g, __u16 code, __u64 input)
{
	set_msr(_metadata, &g->vcpu[0], HV_MSR_GUEST_OS_ID, 1);
	start_loop(_metadata, g, hypercall, hypercall_end,
		   &(struct kvm_regs){ .rbx = code, .rdx = input });
}

TEST_F(long_mode, each_hypercall_of_hyper_v_is_one)
{
	start_hypercalls(_metadata, &self->guest, HV_UNKNOWN, 0);
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_IO);
	EXPECT_EQ((__u64)TIMES,
		  vcpu_read(_metadata, self->vcpu, "hypercalls"));
	EXPECT_EQ((__u64)TIMES + 1, own_exits(_metadata, self->vcpu));
}

TEST_F(long_mode, each_flush_that_it_asks_hyper_v_for_is_one)
{
	struct hv_flush *flush = lm_hva(&self->tables, LM_FREE);
	__u64 before;

	flush->flags = HV_FLUSH_ALL;
	start_hypercalls(_metadata, &self->guest, HV_FLUSH_SPACE,
			 lm_gpa(LM_FREE));
	before = vcpu_read(_metadata, self->vcpu, "tlb_flush");
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_IO);
	EXPECT_EQ((__u64)TIMES,
		  vcpu_read(_metadata, self->vcpu, "hypercalls"));
	EXPECT_EQ((__u64)TIMES,
		  vcpu_read(_metadata, self->vcpu, "tlb_flush") - before);
}

TEST_F(long_mode, each_hypercall_of_hyper_v_counts_when_user_space_has_done_it)
{
	struct kvm_enable_cap cap = { .cap = KVM_CAP_HYPERV_SYNIC2 };
	int i;

	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_ENABLE_CAP, &cap));
	start_hypercalls(_metadata, &self->guest, HV_POST_MESSAGE, 0);
	for (i = 0; i < TIMES; i++) {
		vcpu_run(_metadata, self->vcpu, KVM_EXIT_HYPERV);
		ASSERT_EQ((__u32)KVM_EXIT_HYPERV_HCALL,
			  self->vcpu->run->hyperv.type);
		ASSERT_EQ((__u64)i,
			  vcpu_read(_metadata, self->vcpu, "hypercalls"));
	}
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_IO);
	EXPECT_EQ((__u64)TIMES,
		  vcpu_read(_metadata, self->vcpu, "hypercalls"));
	EXPECT_EQ((__u64)TIMES + 1, own_exits(_metadata, self->vcpu));
}

TEST_HARNESS_MAIN
