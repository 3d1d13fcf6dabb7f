// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics of nested guests on AMD: a guest (L1) that runs one of its
 * own (L2) a known number of times, so that each run is accounted for, and it is
 * known at each exit to user space which of the two the vCPU is in.
 */
#define _GNU_SOURCE
#include <asm/svm.h>
#include <cpuid.h>
#include <linux/types.h>
#include <sys/mman.h>

#include "../../kselftest_harness.h"
#include "stats_fd_long_mode.h"
#include "svm.h"

#define RUNS			100UL

/* Exits of L2 that KVM handles without L1, in each run. */
#define EXITS_IN_L2		3UL

#define PORT_L1			0x44
#define PORT_L2			0x45

/*
 * L1 runs %rsi times the VMCB at %rax. What L2 does: leave by VMMCALL after
 * exits that do not concern L1; exit to user space first; die of a triple fault.
 */
asm(".pushsection .rodata\n"
    "nested_l1:\n"
    "1:	vmrun %rax\n"
    "	decq %rsi\n"
    "	jnz 1b\n"
    "2:	outb %al, $0x44\n"
    "	jmp 2b\n"
    "nested_l2:\n"
    "	cpuid\n"
    "	cpuid\n"
    "	cpuid\n"
    "	vmmcall\n"
    "nested_l2_exits:\n"
    "	outb %al, $0x45\n"
    "3:	vmmcall\n"
    "	jmp 3b\n"
    "nested_l2_dies:\n"
    "	ud2\n"
    "nested_end:\n"
    ".popsection\n");
extern const char nested_l1[], nested_l2[], nested_l2_exits[],
		  nested_l2_dies[], nested_end[];

#define NESTED_CODE		(GUEST_MEMORY + 0x400)
#define NESTED_RIP(code)	(NESTED_CODE + ((code) - nested_l1))

/* Pages of the guest. */
#define PAGE_VMCB		LM_FREE
#define PAGE_STACK		(LM_FREE + 1)	/* of L2 */

#define EFER_SVME		0x1000UL
#define DR6_INIT		0xffff0ff0UL
#define DR7_INIT		0x400UL
#define PAT_INIT		0x0007040600070406UL

#define SEGMENT_CODE		0xa9b		/* 64-bit */
#define SEGMENT_DATA		0xc93

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

/* L2 starts with the page tables of L1, both for itself and nested. */
static void write_vmcb(struct vmcb *vmcb, const char *l2, bool nested_paging)
{
	struct vmcb_control_area *control = &vmcb->control;
	struct vmcb_save_area *save = &vmcb->save;

	memset(vmcb, 0, sizeof(*vmcb));
	control->intercept = 1UL << INTERCEPT_VMRUN | 1UL << INTERCEPT_VMMCALL;
	control->asid = 1;
	control->nested_ctl = nested_paging;
	control->nested_cr3 = lm_gpa(LM_PML4);

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
	save->rip = NESTED_RIP(l2);
	save->rsp = lm_gpa(PAGE_STACK + 1);
}

static bool cpuid_bit(__u32 leaf, int reg, int bit)
{
	unsigned int regs[4];

	return __get_cpuid(leaf, &regs[0], &regs[1], &regs[2], &regs[3]) &&
	       regs[reg] >> bit & 1;
}

#define CPUID_FEATURES		0x80000001
#define CPUID_FEATURES_ECX_SVM	2
#define CPUID_SVM		0x8000000a
#define CPUID_SVM_EDX_NPT	0

FIXTURE_SETUP(nested)
{
	if (!cpuid_bit(CPUID_FEATURES, 2, CPUID_FEATURES_ECX_SVM))
		SKIP_IN_SETUP("the host's CPU has no SVM");
	if (variant->nested_paging &&
	    !cpuid_bit(CPUID_SVM, 3, CPUID_SVM_EDX_NPT))
		SKIP_IN_SETUP("the host's CPU has no nested paging");
	self->kvm = stats_open_kvm(_metadata);
	guest_create(_metadata, self->kvm, &self->guest, 1);
	self->vcpu = &self->guest.vcpu[0];
	lm_create_tables(_metadata, &self->guest, TABLES_SLOT, &self->tables);
	lm_init_vcpu(_metadata, self->kvm, self->vcpu->fd, EFER_SVME);
	memcpy(self->guest.memory + (NESTED_CODE - GUEST_MEMORY), nested_l1,
	       nested_end - nested_l1);
	self->vmcb = lm_hva(&self->tables, PAGE_VMCB);
	write_vmcb(self->vmcb, nested_l2, variant->nested_paging);
}

FIXTURE_TEARDOWN(nested)
{
	lm_destroy_tables(&self->tables);
	guest_destroy(&self->guest);
	close(self->kvm);
}

static void start_l1(struct __test_metadata *_metadata,
		     const struct guest_vcpu *v, __u64 runs)
{
	struct kvm_regs regs = {
		.rip = NESTED_RIP(nested_l1),
		.rflags = 2,
		.rax = lm_gpa(PAGE_VMCB),
		.rsi = runs,
	};

	lm_set_regs(_metadata, v, &regs);
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

	start_l1(_metadata, self->vcpu, 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	ASSERT_EQ(SVM_EXIT_VMMCALL, self->vmcb->control.exit_code);
	expect_nested(_metadata, self->vcpu, 1, 0);

	/* L2 goes on where it was: at VMMCALL. */
	exits = vcpu_read(_metadata, self->vcpu, "exits");
	start_l1(_metadata, self->vcpu, RUNS - 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_nested(_metadata, self->vcpu, RUNS, 0);
	EXPECT_LE(exits + 2 * (RUNS - 1),
		  vcpu_read(_metadata, self->vcpu, "exits"));
}

TEST_F(nested, exits_of_l2_that_l1_does_not_see_are_no_nested_runs)
{
	__u64 i, exits;

	for (i = 1; i <= RUNS; i++) {
		self->vmcb->save.rip = NESTED_RIP(nested_l2);
		exits = vcpu_read(_metadata, self->vcpu, "exits");
		start_l1(_metadata, self->vcpu, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
		expect_nested(_metadata, self->vcpu, i, 0);
		EXPECT_LE(exits + EXITS_IN_L2 + 2,
			  vcpu_read(_metadata, self->vcpu, "exits"));
	}
}

TEST_F(nested, guest_mode_is_1_in_l2_only)
{
	__u64 i;

	for (i = 1; i <= RUNS; i++) {
		self->vmcb->save.rip = NESTED_RIP(nested_l2_exits);
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

TEST_F(nested, triple_fault_of_l2_ends_guest_mode)
{
	self->vmcb->save.rip = NESTED_RIP(nested_l2_dies);
	start_l1(_metadata, self->vcpu, 1);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_RUN, 0));
	ASSERT_EQ(KVM_EXIT_SHUTDOWN, (int)self->vcpu->run->exit_reason);
	expect_nested(_metadata, self->vcpu, 1, 0);
}

TEST_F(nested, restored_state_is_guest_mode_but_no_nested_run)
{
	union {
		struct kvm_nested_state state;
		char bytes[sizeof(struct kvm_nested_state) +
			   sizeof(struct kvm_svm_nested_state_data)];
	} l1, l2;

	/* The state of L1 is had before, that of L2 after it was entered. */
	l1.state.size = sizeof(l1);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_NESTED_STATE, &l1));
	self->vmcb->save.rip = NESTED_RIP(nested_l2_exits);
	start_l1(_metadata, self->vcpu, 1);
	ASSERT_EQ(PORT_L2, lm_run(_metadata, self->vcpu));
	self->vcpu->run->immediate_exit = 1;
	ASSERT_EQ(-EINTR, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
	self->vcpu->run->immediate_exit = 0;
	l2.state.size = sizeof(l2);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_NESTED_STATE, &l2));
	expect_nested(_metadata, self->vcpu, 1, 1);

	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_SET_NESTED_STATE, &l1));
	expect_nested(_metadata, self->vcpu, 1, 0);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_SET_NESTED_STATE, &l2)) {
		TH_LOG("KVM_SET_NESTED_STATE: %s", strerror(errno));
	}
	expect_nested(_metadata, self->vcpu, 1, 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_nested(_metadata, self->vcpu, 1, 0);
}

TEST_HARNESS_MAIN
