// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics of guests that take part in their virtualization. Nested on
 * AMD: a guest (L1) runs one of its own (L2) a known number of times, so that
 * each run is accounted for, and it is known at each exit to user space which of
 * the two the vCPU is in. Paravirtualized: a vCPU yields to another one.
 */
#define _GNU_SOURCE
#include <asm/svm.h>
#include <linux/kvm_para.h>
#include <linux/types.h>
#include <sched.h>
#include <sys/mman.h>

#include "../../kselftest_harness.h"
#include "stats_fd_faults.h"
#include "stats_fd_long_mode.h"
#include "svm.h"

#define RUNS			100UL

/* Exits of L2 that KVM handles without L1, in each run. */
#define EXITS_IN_L2		3UL

/* VMRUN, and what ends that; and at last the exit to user space. */
#define EXITS_PER_RUN		2UL
#define EXITS_OF_L1		1UL

#define PORT_L1			0x44
#define PORT_L2			0x45

/* L1 runs %rsi times the VMCB at %rax. */
STATS_GUEST_CODE(l1,
		 "1:	vmrun %rax\n"
		 "	decq %rsi\n"
		 "	jnz 1b\n"
		 "2:	outb %al, $0x44\n"
		 "	jmp 2b\n");

/* L2 exits to KVM, which does not concern L1, and then to L1. */
STATS_GUEST_CODE(l2,
		 "	cpuid\n"
		 "	cpuid\n"
		 "	cpuid\n"
		 "1:	vmmcall\n"
		 "	jmp 1b\n");

/* L2 exits to user space and then to L1. */
STATS_GUEST_CODE(l2_out,
		 "	outb %al, $0x45\n"
		 "1:	vmmcall\n"
		 "	jmp 1b\n");

/* L2 has no handler of exceptions, and dies. */
STATS_GUEST_CODE(l2_dies, "ud2\n");

STATS_GUEST_CODE(l2_writes, "movb %al, (%rdi)\n");

enum nested_page {
	NESTED_VMCB = LM_FREE,
	NESTED_CODE,		/* of L2, and its stack */
	NESTED_STACK,
	NESTED_PML4,
	NESTED_PDPT,
	NESTED_PD,
	NESTED_PT,
};

#define EFER_SVME		0x1000UL
#define DR6_INIT		0xffff0ff0UL
#define DR7_INIT		0x400UL
#define PAT_INIT		0x0007040600070406UL

#define SEGMENT_CODE		0xa9b		/* 64-bit */
#define SEGMENT_DATA		0xc93
#define SEGMENT_32_BIT		0x400

#define TABLES_SLOT		1

FIXTURE(nested)
{
	int kvm;
	struct guest guest;
	struct guest_vcpu *vcpu;
	struct lm_tables tables;
	struct vmcb *vmcb;
};

FIXTURE_VARIANT(nested)
{
	bool nested_paging;
};

FIXTURE_VARIANT_ADD(nested, with_shadow_paging)
{
	.nested_paging = false,
};

FIXTURE_VARIANT_ADD(nested, with_nested_paging)
{
	.nested_paging = true,
};

static void set_segment(struct vmcb_seg *seg, u16 selector, u16 attributes)
{
	seg->selector = selector;
	seg->attrib = attributes;
	seg->limit = 0xffffffff;
}

/* What L1 maps for L2: the first 2 MB, where all is but NOWHERE. */
static void write_nested_page_tables(const struct lm_tables *t)
{
	lm_map_low(t, NESTED_PML4, NESTED_PDPT, NESTED_PD, NESTED_PT);
}

/* L2 starts with the page tables of L1. */
static void write_vmcb(struct vmcb *vmcb, bool nested_paging)
{
	struct vmcb_control_area *control = &vmcb->control;
	struct vmcb_save_area *save = &vmcb->save;

	memset(vmcb, 0, sizeof(*vmcb));
	control->intercept = 1UL << INTERCEPT_VMRUN | 1UL << INTERCEPT_VMMCALL;
	control->asid = 1;
	control->nested_ctl = nested_paging;
	control->nested_cr3 = lm_gpa(NESTED_PML4);

	set_segment(&save->cs, LM_GDT_CODE, SEGMENT_CODE);
	set_segment(&save->ds, 16, SEGMENT_DATA);
	set_segment(&save->es, 16, SEGMENT_DATA);
	set_segment(&save->ss, 16, SEGMENT_DATA);
	save->efer = LM_EFER | EFER_SVME;
	save->cr0 = LM_CR0;
	save->cr3 = lm_gpa(LM_PML4);
	save->cr4 = LM_CR4;
	save->dr6 = DR6_INIT;
	save->dr7 = DR7_INIT;
	save->g_pat = PAT_INIT;
	save->rflags = 2;
	save->rsp = lm_gpa(NESTED_STACK + 1);
}

#define CPUID_FEATURES		0x80000001
#define CPUID_FEATURES_ECX_SVM	4

static bool host_has_svm(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(CPUID_FEATURES, &eax, &ebx, &ecx, &edx) &&
	       ecx & CPUID_FEATURES_ECX_SVM;
}

FIXTURE_SETUP(nested)
{
	if (!host_has_svm())
		SKIP_IN_SETUP("the host's CPU has no SVM");
	if (variant->nested_paging && stats_arch_shadows())
		SKIP_IN_SETUP("the host's CPU has no nested paging");
	self->kvm = stats_open_kvm(_metadata);
	guest_create(_metadata, self->kvm, &self->guest, 1);
	self->vcpu = &self->guest.vcpu[0];
	lm_create_tables(_metadata, &self->guest, TABLES_SLOT, &self->tables);
	lm_init_vcpu(_metadata, self->kvm, self->vcpu->fd, EFER_SVME);
	guest_put_code(_metadata, &self->guest, l1, l1_end);
	write_nested_page_tables(&self->tables);
	self->vmcb = lm_hva(&self->tables, NESTED_VMCB);
	write_vmcb(self->vmcb, variant->nested_paging);
}

FIXTURE_TEARDOWN(nested)
{
	lm_destroy_tables(&self->tables);
	guest_destroy(&self->guest);
	close(self->kvm);
}

/* What L2 does when it is run next, from the beginning. */
static void set_l2(struct vmcb *vmcb, const struct lm_tables *t,
		   const char *code, const char *end)
{
	memcpy(lm_hva(t, NESTED_CODE), code, end - code);
	vmcb->save.rip = lm_gpa(NESTED_CODE);
}

static void start_l1(struct __test_metadata *_metadata,
		     struct guest_vcpu *v, __u64 runs)
{
	struct kvm_regs regs = {
		.rip = GUEST_CODE,
		.rflags = 2,
		.rax = lm_gpa(NESTED_VMCB),
		.rsi = runs,
		.rdi = LM_GVA,
	};

	lm_set_regs(_metadata, v, &regs);
}

static __u64 own_exits(struct __test_metadata *_metadata,
		       const struct guest_vcpu *v)
{
	return STATS_OWN_EXITS(_metadata, &v->file);
}

static void expect_nested(struct __test_metadata *_metadata,
			  const struct guest_vcpu *v, __u64 runs, __u64 inside)
{
	EXPECT_EQ(runs, vcpu_read(_metadata, v, "nested_run"));
	EXPECT_EQ(inside, vcpu_read(_metadata, v, "guest_mode"));
}

TEST_F(nested, nothing_is_nested_without_vmrun)
{
	expect_nested(_metadata, self->vcpu, 0, 0);
	ASSERT_EQ(LM_PORT_DONE, lm_write(_metadata, self->vcpu, lm_gpa(LM_FREE),
					 1, 0));
	expect_nested(_metadata, self->vcpu, 0, 0);
}

TEST_F(nested, each_vmrun_is_one_nested_run)
{
	__u64 exits;

	set_l2(self->vmcb, &self->tables, l2, l2_end);
	start_l1(_metadata, self->vcpu, 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	ASSERT_EQ(SVM_EXIT_VMMCALL, self->vmcb->control.exit_code);
	expect_nested(_metadata, self->vcpu, 1, 0);

	/* L2 goes on where it was: at VMMCALL. */
	exits = own_exits(_metadata, self->vcpu);
	start_l1(_metadata, self->vcpu, RUNS - 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_nested(_metadata, self->vcpu, RUNS, 0);
	EXPECT_EQ(EXITS_PER_RUN * (RUNS - 1) + EXITS_OF_L1,
		  own_exits(_metadata, self->vcpu) - exits);
}

TEST_F(nested, exits_of_l2_that_l1_does_not_see_are_no_nested_runs)
{
	__u64 i, exits;

	for (i = 1; i <= RUNS; i++) {
		set_l2(self->vmcb, &self->tables, l2, l2_end);
		exits = own_exits(_metadata, self->vcpu);
		start_l1(_metadata, self->vcpu, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
		expect_nested(_metadata, self->vcpu, i, 0);
		EXPECT_EQ(EXITS_IN_L2 + EXITS_PER_RUN + EXITS_OF_L1,
			  own_exits(_metadata, self->vcpu) - exits);
	}
}

TEST_F(nested, guest_mode_is_1_in_l2_only)
{
	__u64 i;

	for (i = 1; i <= RUNS; i++) {
		set_l2(self->vmcb, &self->tables, l2_out, l2_out_end);
		start_l1(_metadata, self->vcpu, 1);
		ASSERT_EQ(PORT_L2, lm_run(_metadata, self->vcpu));
		expect_nested(_metadata, self->vcpu, i, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
		expect_nested(_metadata, self->vcpu, i, 0);
	}
}

TEST_F(nested, vmrun_that_fails_is_no_nested_run)
{
	self->vmcb->control.asid = 0;
	start_l1(_metadata, self->vcpu, RUNS);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	EXPECT_EQ((u32)SVM_EXIT_ERR, self->vmcb->control.exit_code);
	expect_nested(_metadata, self->vcpu, 0, 0);
}

/* KVM finds no fault with code that is both of 64 and of 32 bits. */
TEST_F(nested, vmrun_that_the_cpu_refuses_is_no_nested_run)
{
	__u64 i;

	for (i = 0; i < RUNS; i++) {
		set_l2(self->vmcb, &self->tables, l2, l2_end);
		self->vmcb->save.cs.attrib = SEGMENT_CODE | SEGMENT_32_BIT;
		start_l1(_metadata, self->vcpu, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
		EXPECT_EQ((u32)SVM_EXIT_ERR, self->vmcb->control.exit_code);
		expect_nested(_metadata, self->vcpu, 0, 0);
	}
}

TEST_F(nested, triple_fault_of_l2_ends_guest_mode)
{
	set_l2(self->vmcb, &self->tables, l2_dies, l2_dies_end);
	start_l1(_metadata, self->vcpu, 1);
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_SHUTDOWN);
	expect_nested(_metadata, self->vcpu, 1, 0);
}

TEST_F(nested, restored_state_is_guest_mode_but_no_nested_run)
{
	union {
		struct kvm_nested_state state;
		char bytes[sizeof(struct kvm_nested_state) +
			   sizeof(struct kvm_svm_nested_state_data)];
	} state_of_l1, state_of_l2;

	/* The state of L1 is had before, that of L2 after it was entered. */
	state_of_l1.state.size = sizeof(state_of_l1);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_NESTED_STATE,
			   &state_of_l1));
	set_l2(self->vmcb, &self->tables, l2_out, l2_out_end);
	start_l1(_metadata, self->vcpu, 1);
	ASSERT_EQ(PORT_L2, lm_run(_metadata, self->vcpu));
	vcpu_complete_exit(_metadata, self->vcpu);
	state_of_l2.state.size = sizeof(state_of_l2);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_NESTED_STATE,
			   &state_of_l2));
	expect_nested(_metadata, self->vcpu, 1, 1);

	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_SET_NESTED_STATE,
			   &state_of_l1));
	expect_nested(_metadata, self->vcpu, 1, 0);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_SET_NESTED_STATE,
			   &state_of_l2));
	expect_nested(_metadata, self->vcpu, 1, 1);
}

/* A guest-physical address that L1 does not map for L2. */
#define NOWHERE			0x10000000UL

TEST_F(nested, page_fault_of_l2_that_l1_gets_is_the_guests)
{
	/* Without nested paging in between, the hardware asks L1 at once. */
	bool taken = variant->nested_paging || stats_arch_shadows();
	struct faults faults;

	self->vmcb->control.intercept_exceptions = 1 << 14;
	set_l2(self->vmcb, &self->tables, l2_writes, l2_writes_end);
	if (variant->nested_paging)
		lm_map(&self->tables, 0, NOWHERE);
	start_l1(_metadata, self->vcpu, 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	EXPECT_EQ(variant->nested_paging ? SVM_EXIT_NPF : SVM_EXIT_EXCP_BASE + 14,
		  (int)self->vmcb->control.exit_code);

	/* All that the guest itself needs is mapped now. */
	faults = faults_read(_metadata, self->vcpu);
	start_l1(_metadata, self->vcpu, RUNS);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_faults(_metadata, self->vcpu, &faults,
		      &(struct faults){ .guest = taken ? RUNS : 0 });
	expect_nested(_metadata, self->vcpu, 1 + RUNS, 0);
}

#define YIELDS			20UL

/* An APIC ID that no vCPU has. */
#define APIC_ID_OF_NONE		77

/* Hypercall %edi with two equal arguments, %esi times, in real mode. */
STATS_GUEST_CODE(yield_code,
		 ".code16\n"
		 "1:	movl %edi, %eax\n"
		 "	vmmcall\n"
		 "	decl %esi\n"
		 "	jnz 1b\n"
		 "2:	outb %al, (%dx)\n"
		 "	jmp 2b\n"
		 ".code64\n");

FIXTURE(yield)
{
	int kvm;
	struct guest guest;
	struct guest_vcpu *vcpu;	/* this one yields */
	struct guest_vcpu *other;
};

/*
 * KVM finds no vCPU by its APIC ID before something changed in an interrupt
 * controller; that user space sets it is enough.
 */
static void make_apic_ids_known(struct __test_metadata *_metadata, int vcpu)
{
	struct kvm_lapic_state lapic;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_LAPIC, &lapic));
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_LAPIC, &lapic));
}

FIXTURE_SETUP(yield)
{
	struct kvm_mp_state runnable = { KVM_MP_STATE_RUNNABLE };

	self->kvm = stats_open_kvm(_metadata);
	self->guest.irqchip = true;
	guest_create(_metadata, self->kvm, &self->guest, 2);
	self->vcpu = &self->guest.vcpu[0];
	self->other = &self->guest.vcpu[1];
	guest_put_code(_metadata, &self->guest, yield_code, yield_code_end);
	ASSERT_EQ(0, ioctl(self->other->fd, KVM_SET_MP_STATE, &runnable));
	make_apic_ids_known(_metadata, self->other->fd);
}

FIXTURE_TEARDOWN(yield)
{
	guest_destroy(&self->guest);
	close(self->kvm);
}

static void yield_to(struct __test_metadata *_metadata, struct guest_vcpu *v,
		     int hypercall, __u32 apic_id)
{
	struct kvm_regs regs;

	stats_arch_init_vcpu(_metadata, v->fd, GUEST_CODE, YIELDS);
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_REGS, &regs));
	regs.rdi = hypercall;
	regs.rbx = apic_id;
	regs.rcx = apic_id;
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_REGS, &regs));
	vcpu_run(_metadata, v, KVM_EXIT_IO);
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_REGS, &regs));
	ASSERT_EQ(0U, regs.rax);
}

static void expect_yields(struct __test_metadata *_metadata,
			  const struct guest_vcpu *v, __u64 attempted,
			  __u64 successful)
{
	EXPECT_EQ(attempted,
		  vcpu_read(_metadata, v, "directed_yield_attempted"));
	EXPECT_EQ(successful,
		  vcpu_read(_metadata, v, "directed_yield_successful"));
}

TEST_F(yield, yield_to_no_vcpu_is_an_attempt)
{
	yield_to(_metadata, self->vcpu, KVM_HC_SCHED_YIELD, APIC_ID_OF_NONE);
	expect_yields(_metadata, self->vcpu, YIELDS, 0);
}

TEST_F(yield, kick_of_no_vcpu_is_an_attempt)
{
	yield_to(_metadata, self->vcpu, KVM_HC_KICK_CPU, APIC_ID_OF_NONE);
	expect_yields(_metadata, self->vcpu, YIELDS, 0);
}

TEST_F(yield, yield_to_a_vcpu_that_does_not_run_is_an_attempt)
{
	yield_to(_metadata, self->vcpu, KVM_HC_SCHED_YIELD, 1);
	expect_yields(_metadata, self->vcpu, YIELDS, 0);
	expect_yields(_metadata, self->other, 0, 0);
}

TEST_F(yield, other_hypercalls_are_no_attempts)
{
	yield_to(_metadata, self->vcpu, KVM_HC_VAPIC_POLL_IRQ, 1);
	expect_yields(_metadata, self->vcpu, 0, 0);
}

TEST_F(yield, yield_to_a_preempted_vcpu_is_successful)
{
	struct runner runner;
	cpu_set_t one;

	/* On one CPU, the other vCPU is preempted whenever this one runs. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	runner_start(_metadata, &runner, self->other, 1, 1);
	yield_to(_metadata, self->vcpu, KVM_HC_SCHED_YIELD, 1);
	expect_yields(_metadata, self->vcpu, YIELDS, YIELDS);
	expect_yields(_metadata, self->other, 0, 0);
	runner_stop(_metadata, &runner);
}

TEST_HARNESS_MAIN
