// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics of x86: exits, interrupts of the host, preemptions, TLB flushes, hypercalls of
 * Hyper-V and KVM. Each case notices an event that does not count, and one that counts twice.
 */
#define _GNU_SOURCE
#include <linux/kvm_para.h>
#include <sys/mman.h>

#include "../../kselftest_harness.h"
#include "stats_fd_counts.h"
#include "stats_fd_fixture.h"
#include "stats_fd_long_mode.h"
#include "stats_fd_reasons.h"

/* Repetitions in the guest, and of user space with a KVM_RUN each. */
#define TIMES			1000
#define ROUNDS			50

#define PAGE			4096UL
#define DATA_SLOT		1

static void *add_data(struct __test_metadata *_metadata, struct guest *g)
{
	return guest_add_memory(_metadata, g, DATA_SLOT, 0, STATS_DATA, PAGE);
}

TEST_F(guest, vcpu_that_never_entered_the_guest_has_no_exits)
{
	struct kvm_mp_state mp_state;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		set_msr(_metadata, self->vcpu, 0x10, i);
		stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_CODE, 1);
		ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_MP_STATE, &mp_state));
	}
	vcpu_complete_exit(_metadata, self->vcpu);
	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, "exits"));
	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, "irq_exits"));
}

/* Stay in the guest, and show it by counting. */
STATS_GUEST_CODE(stats_run,
		 ".code16\n"
		 "1:	incl (%edi)\n"
		 "	jmp 1b\n"
		 ".code64\n");

static void wait_until_it_moves(struct __test_metadata *_metadata,
				struct runner *runner, const __u32 *counter, __u32 from)
{
	int i;

	for (i = 0; i < RUNNER_MAX_READS; i++) {
		if (__atomic_load_n(counter, __ATOMIC_RELAXED) != from)
			return;
		ASSERT_FALSE(runner_returned(runner));
		sched_yield();
	}
	ASSERT_NE(from, __atomic_load_n(counter, __ATOMIC_RELAXED));
}

/* A signal for a vCPU in the guest causes an exit by an interrupt. */
TEST_F(guest, exits_that_the_guest_does_not_cause_are_interrupts_and_page_faults)
{
	const __u32 *counter = add_data(_metadata, &self->guest);
	struct runner runner;
	__u32 from;
	int i;

	guest_start(_metadata, &self->guest, stats_run, stats_run_end, 0);
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
	EXPECT_LE((__u64)ROUNDS, vcpu_read(_metadata, self->vcpu, "irq_exits"));
}

static __u64 preemptions(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	return vcpu_read(_metadata, v, "preemption_reported") +
	       vcpu_read(_metadata, v, "preemption_other");
}

/*
 * Return how often @v reloads the host's state during ROUNDS calls of @action. A preemption can
 * cause another reload: try again. Ask the scheduler, because since Linux 6.11 KVM counts only
 * preemptions in KVM_RUN.
 */
#define RELOAD_ATTEMPTS		20

static __u64 reloads(struct __test_metadata *_metadata, struct guest_vcpu *v,
		     void (*action)(struct __test_metadata *_metadata, struct guest_vcpu *v))
{
	__u64 before, moved = 0, all = 0;
	int i, attempt;
	long preempted;

	for (i = 0; i < ROUNDS; i++) {
		for (attempt = 0; attempt < RELOAD_ATTEMPTS; attempt++) {
			preempted = thread_preemptions();
			before = vcpu_read(_metadata, v, "host_state_reload");
			action(_metadata, v);
			moved = vcpu_read(_metadata, v, "host_state_reload") - before;
			if (thread_preemptions() == preempted)
				break;
		}
		all += moved;
	}
	return all;
}

static void get_regs(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_REGS, &regs));
}

/* VMX reloads the state only if the guest was entered. */
TEST_F(guest, each_ioctl_that_loads_the_vcpu_counts_as_host_state_reload_on_svm)
{
	EXPECT_EQ(stats_arch_svm() ? (__u64)ROUNDS : 0UL,
		  reloads(_metadata, self->vcpu, get_regs));
}

static void run_to_user(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
}

TEST_F(guest, each_KVM_RUN_counts_as_host_state_reload)
{
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_USER_EXITS, 0);
	run_to_user(_metadata, self->vcpu);
	EXPECT_EQ((__u64)ROUNDS, reloads(_metadata, self->vcpu, run_to_user));
	vcpu_complete_exit(_metadata, self->vcpu);
}

#define VMX_PARAMETERS	"/sys/module/kvm_intel/parameters"

/* Choose which entries flush the cache. */
static void set_l1d_flush(struct __test_metadata *_metadata, const char *when)
{
	ASSERT_EQ(0, stats_write_file(VMX_PARAMETERS, "vmentry_l1d_flush", when));
}

TEST_F(guest, each_entry_counts_as_l1d_flush_if_it_is_always_flushed)
{
	char before_test[STATS_LINE_SIZE];
	struct guest_vcpu *v = self->vcpu;
	__u64 before, exits, flushes;

	stats_read_line(VMX_PARAMETERS, "vmentry_l1d_flush", before_test);
	if (strcmp(before_test, "cond") && strcmp(before_test, "never"))
		SKIP(return, "KVM does not flush the cache on this CPU");
	set_l1d_flush(_metadata, "always");
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	before = vcpu_read(_metadata, v, "exits");
	flushes = vcpu_read(_metadata, v, "l1d_flush");
	vcpu_run_times(_metadata, v, STATS_USER_EXIT_REASON, TIMES);
	exits = vcpu_read(_metadata, v, "exits") - before;
	EXPECT_EQ(exits, vcpu_read(_metadata, v, "l1d_flush") - flushes);
	EXPECT_LE((__u64)TIMES, exits);
	set_l1d_flush(_metadata, "never");
	flushes = vcpu_read(_metadata, v, "l1d_flush");
	vcpu_run_times(_metadata, v, STATS_USER_EXIT_REASON, ROUNDS);
	EXPECT_EQ(flushes, vcpu_read(_metadata, v, "l1d_flush"));
	vcpu_complete_exit(_metadata, v);
	set_l1d_flush(_metadata, before_test);
}

#define PREEMPTIONS		5

/* Reads of the statistic, each with a sched_yield(), until the test gives up. */
#define CROWD_READS		(100 * 1000)

/* In some attempts the thread is preempted just before or after KVM_RUN. */
#define CROWD_ATTEMPTS		20

/*
 * Compete with the vCPU thread for a CPU until @name has counted preemptions. Return the
 * number of all preemptions.
 */
static __u64 run_in_a_crowd(struct __test_metadata *_metadata,
			    struct runner *r, struct guest_vcpu *v, const char *name)
{
	__u64 before = preemptions(_metadata, v);
	__u64 first = vcpu_read(_metadata, v, name);
	struct busy_thread rival;
	int i;

	busy_start(_metadata, &rival);
	runner_create(_metadata, r, v);
	for (i = 0; i < CROWD_READS; i++) {
		if (vcpu_read(_metadata, v, name) - first >= PREEMPTIONS)
			break;
		sched_yield();
	}
	runner_stop(_metadata, r);
	busy_end(_metadata, &rival);
	ASSERT_LE((__u64)PREEMPTIONS, vcpu_read(_metadata, v, name) - first) TH_LOG("%s", name);
	return preemptions(_metadata, v) - before;
}

/* Compare preemptions with the scheduler's involuntary switches. */
static void expect_preemptions(struct __test_metadata *_metadata,
			       struct guest_vcpu *v, const char *name)
{
	struct runner runner;
	__u64 counted;
	int i;

	for (i = 0; i < CROWD_ATTEMPTS; i++) {
		counted = run_in_a_crowd(_metadata, &runner, v, name);
		ASSERT_GE(runner.switches, counted);
		if (runner.switches == counted)
			break;
	}
	EXPECT_EQ(runner.switches, counted) TH_LOG("in each of %d attempts", CROWD_ATTEMPTS);
}

TEST_F(guest, each_preemption_in_the_guest_counts_as_reported)
{
	add_data(_metadata, &self->guest);
	guest_start(_metadata, &self->guest, stats_run, stats_run_end, 0);
	expect_preemptions(_metadata, self->vcpu, "preemption_reported");
}

TEST_F(guest, each_preemption_in_kvm_counts_as_other)
{
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_KERNEL_EXITS, UINT_MAX);
	expect_preemptions(_metadata, self->vcpu, "preemption_other");
}

TEST_F(guest, each_move_to_another_cpu_counts_as_tlb_flush_on_intel)
{
	const struct guest_vcpu *v = self->vcpu;
	__u64 before;
	int i;

	if (stay_on_cpu(1))
		SKIP(return, "the host has no second CPU");
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	before = vcpu_read(_metadata, v, "tlb_flush");
	for (i = 0; i < ROUNDS; i++) {
		vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
		ASSERT_EQ(0, stay_on_cpu(i % 2));
		vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	}
	vcpu_complete_exit(_metadata, self->vcpu);
	EXPECT_EQ(stats_arch_svm() ? 0UL : (__u64)ROUNDS,
		  vcpu_read(_metadata, v, "tlb_flush") - before);
}

/*
 * Return the TLB flushes of a guest that runs ROUNDS times, with a call of @before each time.
 * It stays on its CPU: Intel flushes the TLB of a vCPU that moves.
 */
static __u64 flushes(struct __test_metadata *_metadata, struct guest_vcpu *v,
		     void (*before)(struct __test_metadata *_metadata, void *data), void *data)
{
	__u64 first;
	int i;

	stay_on_this_cpu(_metadata);
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

TEST_F(guest, each_unmapping_of_guest_memory_counts_as_tlb_flush)
{
	struct guest_vcpu *idle = guest_add_vcpu(_metadata, &self->guest, 1);
	void *data = add_data(_metadata, &self->guest);

	guest_put_code(_metadata, &self->guest, stats_touch, stats_touch_end);
	EXPECT_EQ((__u64)ROUNDS, flushes(_metadata, self->vcpu, unmap, data));
	/* This vCPU got the same requests. */
	EXPECT_EQ(0UL, vcpu_read(_metadata, idle, "tlb_flush"));
}

/* Other vCPUs of the guest set this while the vCPU is preempted. */
static void ask_for_flush(struct __test_metadata *_metadata, void *data)
{
	struct kvm_steal_time *st = data;

	st->preempted = KVM_VCPU_FLUSH_TLB;
}

static void ask_for_nothing(struct __test_metadata *_metadata, void *data)
{
}

TEST_F(guest, each_flush_that_the_guest_leaves_to_kvm_counts_as_tlb_flush)
{
	void *data = add_data(_metadata, &self->guest);

	guest_put_code(_metadata, &self->guest, stats_touch, stats_touch_end);
	set_msr(_metadata, self->vcpu, MSR_KVM_STEAL_TIME,
		STATS_DATA | KVM_MSR_ENABLED);
	EXPECT_EQ(0UL, flushes(_metadata, self->vcpu, ask_for_nothing, NULL));
	EXPECT_EQ((__u64)ROUNDS, flushes(_metadata, self->vcpu, ask_for_flush, data));
}

FIXTURE(long_mode)
{
	struct guest guest;
	struct guest_vcpu *vcpu;
	char *tables;
};

FIXTURE_SETUP(long_mode)
{
	self->guest.irqchip = true;
	guest_create(_metadata, &self->guest, 1);
	self->vcpu = &self->guest.vcpu[0];
	self->tables = lm_create_tables(_metadata, &self->guest, DATA_SLOT);
	lm_init_vcpu(_metadata, self->vcpu->fd, 0);
}

FIXTURE_TEARDOWN(long_mode) { }

LONG_MODE_LOOP(load_cr3, "mov %cr3, %rax; mov %rax, %cr3");
LONG_MODE_LOOP(hypercall, "mov %rbx, %rcx; vmmcall");

/* Keep the vCPU on its CPU, and return its flushes until now. */
static __u64 flushes_of(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	stay_on_this_cpu(_metadata);
	lm_write(_metadata, v, lm_gpa(LM_FREE + 1), 1, 0);
	return vcpu_read(_metadata, v, "tlb_flush");
}

/* With nested paging, a load of CR3 is no exit. */
TEST_F(long_mode, each_load_of_cr3_counts_as_tlb_flush_if_kvm_shadows)
{
	__u64 before = flushes_of(_metadata, self->vcpu);

	lm_start_loop(_metadata, &self->guest, load_cr3, load_cr3_end,
		      &(struct kvm_regs){ .rsi = TIMES });
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_IO);
	EXPECT_EQ(stats_arch_shadows() ? (__u64)TIMES : 0UL,
		  vcpu_read(_metadata, self->vcpu, "tlb_flush") - before);
}

#define HV_MSR_GUEST_OS_ID	0x40000000
#define HV_FLUSH_SPACE		0x0002
#define HV_FLUSH_LIST		(0x0003 | 2UL << 32)	/* of two addresses */
#define HV_POST_MESSAGE		0x005c
#define HV_FLUSH_ALL		1

/* The argument of a flush. */
struct hv_flush {
	__u64 address_space;
	__u64 flags;
	__u64 processors;
	__u64 addresses[2];
};

static void start_hypercalls(struct __test_metadata *_metadata,
			     struct guest *g, __u64 code, __u64 input)
{
	set_msr(_metadata, &g->vcpu[0], HV_MSR_GUEST_OS_ID, 1);
	lm_start_loop(_metadata, g, hypercall, hypercall_end,
		      &(struct kvm_regs){ .rsi = TIMES, .rbx = code, .rdx = input });
}

static __u64 hyper_v_flushes(struct __test_metadata *_metadata, struct guest *g,
			     struct hv_flush *flush, __u64 code)
{
	struct guest_vcpu *v = &g->vcpu[0];
	__u64 before = flushes_of(_metadata, v);

	flush->flags = HV_FLUSH_ALL;
	flush->addresses[0] = LM_GVA;
	flush->addresses[1] = LM_GVA + LM_PAGE;
	start_hypercalls(_metadata, g, code, lm_gpa(LM_FREE));
	vcpu_run(_metadata, v, KVM_EXIT_IO);
	return vcpu_read(_metadata, v, "tlb_flush") - before;
}

TEST_F(long_mode, each_hyper_v_flush_counts_as_tlb_flush_and_hypercall)
{
	struct hv_flush *flush = lm_hva(self->tables, LM_FREE);

	EXPECT_EQ((__u64)TIMES, hyper_v_flushes(_metadata, &self->guest, flush, HV_FLUSH_SPACE));
	EXPECT_EQ((__u64)TIMES, vcpu_read(_metadata, self->vcpu, "hypercalls"));
}

/* With shadow pages, KVM flushes all addresses at once. */
TEST_F(long_mode, each_hyper_v_flush_of_a_list_counts_as_tlb_flush_of_each_address_or_all)
{
	struct hv_flush *flush = lm_hva(self->tables, LM_FREE);
	__u64 each = stats_arch_shadows() ? 1 : 2;
	__u64 flushes = hyper_v_flushes(_metadata, &self->guest, flush, HV_FLUSH_LIST);

	EXPECT_EQ(each * TIMES, flushes);
}

TEST_F(long_mode, hyper_v_hypercall_of_user_space_counts_when_it_is_completed)
{
	struct kvm_enable_cap cap = { .cap = KVM_CAP_HYPERV_SYNIC2 };
	int i;

	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_ENABLE_CAP, &cap));
	start_hypercalls(_metadata, &self->guest, HV_POST_MESSAGE, 0);
	for (i = 0; i < TIMES; i++) {
		vcpu_run(_metadata, self->vcpu, KVM_EXIT_HYPERV);
		ASSERT_EQ((__u32)KVM_EXIT_HYPERV_HCALL, self->vcpu->run->hyperv.type);
		ASSERT_EQ((__u64)i, vcpu_read(_metadata, self->vcpu, "hypercalls"));
	}
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_IO);
	EXPECT_EQ((__u64)TIMES, vcpu_read(_metadata, self->vcpu, "hypercalls"));
	EXPECT_EQ((__u64)TIMES + 1, own_exits(_metadata, self->vcpu));
}

#ifdef KVM_CAP_EXIT_HYPERCALL
LONG_MODE_LOOP(map_gpa_range, "mov %rdi, %rax; vmmcall");

/* Some kernels count it before user space completes it, others after. */
TEST_F(long_mode, each_kvm_hypercall_that_user_space_completes_counts)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_EXIT_HYPERCALL,
		.args = { 1 << KVM_HC_MAP_GPA_RANGE },
	};

	ASSERT_EQ(0, ioctl(self->guest.vm, KVM_ENABLE_CAP, &cap));
	lm_start_loop(_metadata, &self->guest, map_gpa_range, map_gpa_range_end,
		      &(struct kvm_regs){ .rsi = TIMES, .rdi = KVM_HC_MAP_GPA_RANGE, .rcx = 1 });
	vcpu_run_times(_metadata, self->vcpu, KVM_EXIT_HYPERCALL, TIMES);
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_IO);
	EXPECT_EQ((__u64)TIMES, vcpu_read(_metadata, self->vcpu, "hypercalls"));
}
#endif

/* KVM has a fast path for these. On Intel, it enters the guest again. */
TEST_F(long_mode, each_timer_deadline_and_each_ipi_counts_as_one_exit)
{
	lm_use_x2apic(_metadata, self->vcpu);
	EXPECT_EQ((__u64)TIMES + 1,
		  lm_exits_of_writes(_metadata, &self->guest, TIMES, MSR_TSC_DEADLINE,
				     0, INT_MAX));
	EXPECT_EQ((__u64)TIMES + 1,
		  lm_exits_of_writes(_metadata, &self->guest, TIMES, MSR_X2APIC_ICR,
				     STATS_VECTOR, APIC_ID_OF_NONE));
}

/* Set the timer to %rbx cycles from now, and spin until it expires. */
STATS_GUEST_CODE(timer_code,
		 "	rdtsc\n"
		 "	addl %ebx, %eax\n"
		 "	adcl $0, %edx\n"
		 "	movl $0x6e0, %ecx\n"
		 "	wrmsr\n"
		 "1:	jmp 1b\n");

/* End the interrupt, and go to the code at %r8 to set the timer again. */
STATS_GUEST_CODE(timer_handler,
		 "	xorl %eax, %eax\n"
		 "	xorl %edx, %edx\n"
		 "	movl $0x80b, %ecx\n"
		 "	wrmsr\n"
		 "	addq $40, %rsp\n"
		 "	decq %rsi\n"
		 "	jz 1f\n"
		 "	sti\n"
		 "	jmp *%r8\n"
		 "1:	outb %al, $0x80\n"
		 "	jmp 1b\n");

#define TIMER_HANDLER		(GUEST_CODE + 0x100)

/* Usually, the guest runs again before the timer expires. */
#define TIMER_MS		2

/* A deadline may pass while KVM is still about to set its timer. */
#define TIMER_ATTEMPTS		20

/* Return whether the expiry of VMX's preemption timer is an exit instead of an interrupt. */
static bool timer_is_intels(void)
{
	return !stats_arch_svm() &&
	       !stats_parameter_is_off("kvm_intel", "preemption_timer");
}

TEST_F(long_mode, each_timer_expiry_counts_as_one_exit)
{
	/* The deadline, and the end of the interrupt. */
	const int exits = timer_is_intels() ? 3 : 2;
	struct guest_vcpu *v = self->vcpu;
	struct kvm_regs regs = {
		.rip = GUEST_CODE,
		.rflags = STATS_RFLAGS,
		.rsi = ROUNDS,
		.r8 = GUEST_CODE,
		.rsp = lm_gpa(LM_STACK + 1),
	};
	__u64 before, timers = 0, moved = 0;
	int i;

	lm_use_x2apic(_metadata, v);
	lm_set_handler(self->tables, STATS_VECTOR, TIMER_HANDLER);
	guest_put_code(_metadata, &self->guest, timer_code, timer_code_end);
	guest_put_code_at(_metadata, &self->guest, TIMER_HANDLER,
			  timer_handler, timer_handler_end);
	regs.rbx = ioctl(v->fd, KVM_GET_TSC_KHZ, 0) * TIMER_MS;
	for (i = 0; i < TIMER_ATTEMPTS; i++) {
		lm_set_regs(_metadata, v, &regs);
		before = own_exits(_metadata, v);
		timers = exits_by(_metadata, v, "preemption_timer");
		vcpu_run(_metadata, v, KVM_EXIT_IO);
		moved = own_exits(_metadata, v) - before;
		ASSERT_GE((__u64)ROUNDS * exits + 1, moved);
		if (moved == ROUNDS * exits + 1)
			break;
	}
	EXPECT_EQ((__u64)ROUNDS * exits + 1, moved) {
		TH_LOG("in each of %d attempts", TIMER_ATTEMPTS);
	}
	EXPECT_EQ(timer_is_intels() ? (__u64)ROUNDS : 0UL,
		  exits_by(_metadata, v, "preemption_timer") - timers);
}

/* Return whether Intel's CPU virtualizes the APIC's page and its task priority, CR8. */
static bool cpu_virtualizes_apic(void)
{
	return !stats_arch_svm() && !stats_parameter_is_off("kvm_intel", "flexpriority");
}

/* The destination format register: the CPU virtualizes no write to it. */
LONG_MODE_LOOP(write_apic, "movl %eax, 0xe0(%rdi)");

TEST_F(long_mode, each_write_to_the_apic_counts_for_apic_access)
{
	struct guest_vcpu *v = self->vcpu;
	__u64 accesses;

	lm_map(self->tables, 0, APIC_BASE);
	lm_start_loop(_metadata, &self->guest, write_apic, write_apic_end,
		      &(struct kvm_regs){ .rsi = TIMES, .rdi = LM_GVA });
	vcpu_run(_metadata, v, KVM_EXIT_IO);
	accesses = exits_by(_metadata, v, "apic_access");
	if (cpu_virtualizes_apic() && !accesses) {
		/* Newer kernels map the page of the APIC only with APICv: each write is a fault. */
		EXPECT_LE((__u64)TIMES, exits_by(_metadata, v, stats_arch_fault_reason()));
		return;
	}
	EXPECT_EQ(cpu_virtualizes_apic() ? (__u64)TIMES : 0UL, accesses);
}

/* Without interrupts: raise the task priority, exit to user space, and lower it again. */
LONG_MODE_LOOP(lower_priority,
	       "cli; mov $15, %eax; mov %rax, %cr8; outb %al, $0x80;"
	       "xor %eax, %eax; mov %rax, %cr8");

TEST_F(long_mode, priority_lowered_below_that_of_an_interrupt_counts_for_apic_tpr)
{
	struct kvm_msi msi = { .address_lo = APIC_BASE, .data = STATS_VECTOR };
	struct guest_vcpu *v = self->vcpu;
	int i;

	if (!cpu_virtualizes_apic())
		SKIP(return, "the CPU does not virtualize the task priority");
	lm_use_x2apic(_metadata, v);
	lm_start_loop(_metadata, &self->guest, lower_priority, lower_priority_end,
		      &(struct kvm_regs){ .rsi = ROUNDS });
	for (i = 0; i < ROUNDS; i++) {
		vcpu_run(_metadata, v, KVM_EXIT_IO);
		ASSERT_EQ(1, ioctl(self->guest.vm, KVM_SIGNAL_MSI, &msi));
	}
	vcpu_run(_metadata, v, KVM_EXIT_IO);
	EXPECT_EQ((__u64)ROUNDS, exits_by(_metadata, v, "apic_tpr"));
}

TEST_HARNESS_MAIN
