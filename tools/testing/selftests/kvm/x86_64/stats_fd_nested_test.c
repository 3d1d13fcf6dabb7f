// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics of guests that take part in their virtualization. Nested: a
 * guest (L1) runs one of its own (L2) a known number of times, so that each run is
 * accounted for, and it is known at each exit to user space which of the two the
 * vCPU is in. Paravirtualized: a vCPU yields to another one.
 */
#define _GNU_SOURCE
#include <asm/svm.h>
#include <linux/kvm_para.h>
#include <linux/types.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "../../kselftest_harness.h"
#include "stats_fd_faults.h"
#include "stats_fd_long_mode.h"
#include "stats_fd_perf.h"
#include "stats_fd_reasons.h"
#include "svm.h"

/* Of the library of other selftests. */
struct kvm_vm;
#define vm_vaddr_t		unsigned long
#include "vmx.h"

#define RUNS			100UL

/* Of runs, one for each. */
#define SAMPLES			10

/* Exits of L2 that KVM handles without L1, in each run. */
#define EXITS_IN_L2		3UL

/* VMRUN or VMRESUME, and what ends that; and at last the exit to user space. */
#define EXITS_PER_RUN		2UL
#define EXITS_OF_L1		1UL

#define PORT_L1			0x44
#define PORT_L2			0x45
#define PORT_IOEVENTFD		0x46
#define PORT_FAILED		0x47

/* On AMD, L1 runs %rsi times the VMCB at %rax. */
STATS_GUEST_CODE(l1,
		 "1:	vmrun %rax\n"
		 "	decq %rsi\n"
		 "	jnz 1b\n"
		 "2:	outb %al, $0x44\n"
		 "	jmp 2b\n");

/*
 * On Intel, L1 runs its VMCS %rsi times, which %rbp says whether it was before. An
 * instruction that fails is followed by the next one.
 */
STATS_GUEST_CODE(vmx_l1,
		 "	testq %rbp, %rbp\n"
		 "	jnz 1f\n"
		 "	vmlaunch\n"
		 "1:	vmresume\n"
		 "2:	outb %al, $0x47\n"
		 "	jmp 2b\n");

/* That is where L2 returns to. */
STATS_GUEST_CODE(vmx_l1_again,
		 "	decq %rsi\n"
		 "	jz 1f\n"
		 "	vmresume\n"
		 "1:	outb %al, $0x44\n"
		 "	jmp 1b\n");

/* Field %rax of the VMCS: %rbx is its new value, or becomes what it has. */
STATS_GUEST_CODE(vmx_write_field,
		 "	vmwrite %rbx, %rax\n"
		 "	jbe 2f\n"
		 "1:	outb %al, $0x44\n"
		 "	jmp 1b\n"
		 "2:	outb %al, $0x47\n"
		 "	jmp 2b\n");

STATS_GUEST_CODE(vmx_read_field,
		 "	vmread %rax, %rbx\n"
		 "	jbe 2f\n"
		 "1:	outb %al, $0x44\n"
		 "	jmp 1b\n"
		 "2:	outb %al, $0x47\n"
		 "	jmp 2b\n");

/* Where two pages are is at %rax: one for VMXON, and one to be the VMCS. */
STATS_GUEST_CODE(vmx_turn_on,
		 "	vmxon (%rax)\n"
		 "	jbe 2f\n"
		 "	vmclear 8(%rax)\n"
		 "	jbe 2f\n"
		 "	vmptrld 8(%rax)\n"
		 "	jbe 2f\n"
		 "1:	outb %al, $0x44\n"
		 "	jmp 1b\n"
		 "2:	outb %al, $0x47\n"
		 "	jmp 2b\n");

#define VMX_L1			GUEST_CODE
#define VMX_L1_AGAIN		(GUEST_CODE + 0x40)
#define VMX_WRITE_FIELD		(GUEST_CODE + 0x80)
#define VMX_READ_FIELD		(GUEST_CODE + 0xc0)
#define VMX_TURN_ON		(GUEST_CODE + 0x100)

/* L2 exits to KVM, which does not concern L1, and then to L1. */
STATS_GUEST_CODE(l2,
		 "	outb %al, $0x46\n"
		 "	outb %al, $0x46\n"
		 "	outb %al, $0x46\n"
		 "1:	vmmcall\n"
		 "	jmp 1b\n");

/* L2 exits to user space and then to L1. */
STATS_GUEST_CODE(l2_out,
		 "	outb %al, $0x45\n"
		 "1:	vmmcall\n"
		 "	jmp 1b\n");

STATS_GUEST_CODE(l2_halts,
		 "	hlt\n"
		 "1:	vmmcall\n"
		 "	jmp 1b\n");

/* L2 has no handler of exceptions, and dies. */
STATS_GUEST_CODE(l2_dies, "ud2\n");

STATS_GUEST_CODE(l2_writes, "movb %al, (%rdi)\n");

enum nested_page {
	NESTED_CONTROL = LM_FREE,	/* the VMCB, or the VMCS */
	NESTED_CODE,		/* of L2, and its stack */
	NESTED_STACK,
	NESTED_PML4,
	NESTED_PDPT,
	NESTED_PD,
	NESTED_PT,
	NESTED_VMXON,
};

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
	struct vmcb *vmcb;		/* on AMD */
	bool launched;			/* on Intel */
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

#define EPT_ALL			7UL	/* read, written, executed */
#define EPT_WRITE_BACK		6UL	/* the type of memory */
#define EPT_LEVELS		4UL

/* The same in Intel's format. */
static void write_ept(const struct lm_tables *t)
{
	int i;

	lm_set_pte(t, NESTED_PML4, 0, lm_gpa(NESTED_PDPT) | EPT_ALL);
	lm_set_pte(t, NESTED_PDPT, 0, lm_gpa(NESTED_PD) | EPT_ALL);
	lm_set_pte(t, NESTED_PD, 0, lm_gpa(NESTED_PT) | EPT_ALL);
	for (i = 0; i < 512; i++)
		lm_set_pte(t, NESTED_PT, i,
			   i * LM_PAGE | EPT_WRITE_BACK << 3 | EPT_ALL);
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
	save->rflags = STATS_RFLAGS;
	save->rsp = lm_gpa(NESTED_STACK + 1);
}

static bool host_has_vmx(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & CPUID_VMX;
}

static int run_l1_at(struct __test_metadata *_metadata, struct guest_vcpu *v,
		     __u64 code, __u64 rax, __u64 rbx)
{
	struct kvm_regs regs = {
		.rip = code,
		.rflags = STATS_RFLAGS,
		.rsp = lm_gpa(LM_STACK + 1),
		.rax = rax,
		.rbx = rbx,
	};

	lm_set_regs(_metadata, v, &regs);
	return lm_run(_metadata, v);
}

static void write_field(struct __test_metadata *_metadata,
			struct guest_vcpu *v, __u64 field, __u64 value)
{
	ASSERT_EQ(PORT_L1, run_l1_at(_metadata, v, VMX_WRITE_FIELD, field,
				     value)) {
		TH_LOG("field %#llx", field);
	}
}

static __u64 read_field(struct __test_metadata *_metadata,
			struct guest_vcpu *v, __u64 field)
{
	struct kvm_regs regs;

	ASSERT_EQ(PORT_L1, run_l1_at(_metadata, v, VMX_READ_FIELD, field, 0));
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_REGS, &regs));
	return regs.rbx;
}

/* The bits of a control that have to be set, and those that are wanted. */
static __u64 control(struct __test_metadata *_metadata,
		     const struct guest_vcpu *v, __u32 index, __u32 wanted)
{
	__u64 allowed = get_msr(_metadata, v, index);

	ASSERT_EQ(wanted, wanted & (allowed >> 32));
	return (__u32)allowed | wanted;
}

#define CR4_VMXE		0x2000UL
#define FEATURE_CONTROL		5	/* VMX is allowed, and locked */
#define FLAT			0xffffffff
#define ACCESS_CODE		0xa09b
#define ACCESS_DATA		0xc093
#define ACCESS_32_BIT		0x4000
#define ACCESS_TSS		0x8b
#define ACCESS_NONE		0x10000
#define TSS_SELECTOR		24
#define TSS_LIMIT		0x67

/* L2 starts with the state of L1. Fields that are not written are 0. */
static void write_vmcs(struct __test_metadata *_metadata, struct guest_vcpu *v,
		       bool nested_paging)
{
	const __u32 secondary = nested_paging ?
				CPU_BASED_ACTIVATE_SECONDARY_CONTROLS : 0;
	const struct {
		__u64 field, value;
	} fields[] = {
		{ PIN_BASED_VM_EXEC_CONTROL,
		  control(_metadata, v, MSR_IA32_VMX_PINBASED_CTLS, 0) },
		{ CPU_BASED_VM_EXEC_CONTROL,
		  control(_metadata, v, MSR_IA32_VMX_PROCBASED_CTLS,
			  secondary) },
		{ VM_EXIT_CONTROLS,
		  control(_metadata, v, MSR_IA32_VMX_EXIT_CTLS,
			  VM_EXIT_HOST_ADDR_SPACE_SIZE) },
		{ VM_ENTRY_CONTROLS,
		  control(_metadata, v, MSR_IA32_VMX_ENTRY_CTLS,
			  VM_ENTRY_IA32E_MODE) },
		{ VMCS_LINK_POINTER, -1 },
		{ HOST_CR0, LM_CR0 },
		{ HOST_CR3, lm_gpa(LM_PML4) },
		{ HOST_CR4, LM_CR4 | CR4_VMXE },
		{ HOST_CS_SELECTOR, LM_GDT_CODE },
		{ HOST_SS_SELECTOR, 16 },
		{ HOST_DS_SELECTOR, 16 },
		{ HOST_ES_SELECTOR, 16 },
		{ HOST_TR_SELECTOR, TSS_SELECTOR },
		{ HOST_GDTR_BASE, lm_gpa(LM_SYSTEM) },
		{ HOST_IDTR_BASE, lm_gpa(LM_SYSTEM) + LM_IDT_OFFSET },
		{ HOST_RSP, lm_gpa(LM_STACK + 1) },
		{ HOST_RIP, VMX_L1_AGAIN },
		{ GUEST_CR0, LM_CR0 },
		{ GUEST_CR3, lm_gpa(LM_PML4) },
		{ GUEST_CR4, LM_CR4 | CR4_VMXE },
		{ GUEST_DR7, DR7_INIT },
		{ GUEST_CS_SELECTOR, LM_GDT_CODE },
		{ GUEST_CS_LIMIT, FLAT },
		{ GUEST_CS_AR_BYTES, ACCESS_CODE },
		{ GUEST_SS_SELECTOR, 16 },
		{ GUEST_SS_LIMIT, FLAT },
		{ GUEST_SS_AR_BYTES, ACCESS_DATA },
		{ GUEST_DS_SELECTOR, 16 },
		{ GUEST_DS_LIMIT, FLAT },
		{ GUEST_DS_AR_BYTES, ACCESS_DATA },
		{ GUEST_ES_SELECTOR, 16 },
		{ GUEST_ES_LIMIT, FLAT },
		{ GUEST_ES_AR_BYTES, ACCESS_DATA },
		{ GUEST_FS_AR_BYTES, ACCESS_NONE },
		{ GUEST_GS_AR_BYTES, ACCESS_NONE },
		{ GUEST_LDTR_AR_BYTES, ACCESS_NONE },
		{ GUEST_TR_SELECTOR, TSS_SELECTOR },
		{ GUEST_TR_LIMIT, TSS_LIMIT },
		{ GUEST_TR_AR_BYTES, ACCESS_TSS },
		{ GUEST_RFLAGS, STATS_RFLAGS },
		{ GUEST_RSP, lm_gpa(NESTED_STACK + 1) },
		{ }
	};
	int i;

	for (i = 0; fields[i].field; i++)
		write_field(_metadata, v, fields[i].field, fields[i].value);
	if (!nested_paging)
		return;
	write_field(_metadata, v, SECONDARY_VM_EXEC_CONTROL,
		    control(_metadata, v, MSR_IA32_VMX_PROCBASED_CTLS2,
			    SECONDARY_EXEC_ENABLE_EPT));
	write_field(_metadata, v, EPT_POINTER,
		    lm_gpa(NESTED_PML4) | (EPT_LEVELS - 1) << 3 |
		    EPT_WRITE_BACK);
}

static void create_vmx(struct __test_metadata *_metadata, struct guest *g,
		       const struct lm_tables *t, bool nested_paging)
{
	struct guest_vcpu *v = &g->vcpu[0];
	__u64 *pages = lm_hva(t, NESTED_STACK);
	struct kvm_sregs sregs;
	__u32 revision;

	guest_put_code_at(_metadata, g, VMX_L1, vmx_l1, vmx_l1_end);
	guest_put_code_at(_metadata, g, VMX_L1_AGAIN, vmx_l1_again,
			  vmx_l1_again_end);
	guest_put_code_at(_metadata, g, VMX_WRITE_FIELD, vmx_write_field,
			  vmx_write_field_end);
	guest_put_code_at(_metadata, g, VMX_READ_FIELD, vmx_read_field,
			  vmx_read_field_end);
	guest_put_code_at(_metadata, g, VMX_TURN_ON, vmx_turn_on,
			  vmx_turn_on_end);

	set_msr(_metadata, v, MSR_IA32_FEAT_CTL, FEATURE_CONTROL);
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_SREGS, &sregs));
	sregs.cr4 |= CR4_VMXE;
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_SREGS, &sregs));
	revision = get_msr(_metadata, v, MSR_IA32_VMX_BASIC);
	*(__u32 *)lm_hva(t, NESTED_VMXON) = revision;
	*(__u32 *)lm_hva(t, NESTED_CONTROL) = revision;
	pages[0] = lm_gpa(NESTED_VMXON);
	pages[1] = lm_gpa(NESTED_CONTROL);
	ASSERT_EQ(PORT_L1, run_l1_at(_metadata, v, VMX_TURN_ON,
				     lm_gpa(NESTED_STACK), 0));
	write_ept(t);
	write_vmcs(_metadata, v, nested_paging);
}

/* Exits to KVM that are none to user space. */
static void add_ioeventfd(struct __test_metadata *_metadata, int vm)
{
	struct kvm_ioeventfd io = {
		.addr = PORT_IOEVENTFD,
		.len = 1,
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.flags = KVM_IOEVENTFD_FLAG_PIO,
	};

	ASSERT_LE(0, io.fd);
	ASSERT_EQ(0, ioctl(vm, KVM_IOEVENTFD, &io));
	close(io.fd);
}

FIXTURE_SETUP(nested)
{
	if (!stats_arch_svm() && !host_has_vmx())
		SKIP_IN_SETUP("the host's CPU has neither SVM nor VMX");
	if (!stats_arch_svm() && stats_parameter_is_off("kvm_intel", "nested"))
		SKIP_IN_SETUP("the host does not nest");
	if (variant->nested_paging && stats_arch_shadows())
		SKIP_IN_SETUP("the host's CPU has no nested paging");
	self->kvm = stats_open_kvm(_metadata);
	guest_create(_metadata, self->kvm, &self->guest, 1);
	add_ioeventfd(_metadata, self->guest.vm);
	self->vcpu = &self->guest.vcpu[0];
	lm_create_tables(_metadata, &self->guest, TABLES_SLOT, &self->tables);
	lm_init_vcpu(_metadata, self->kvm, self->vcpu->fd,
		     stats_arch_svm() ? EFER_SVME : 0);
	if (stats_arch_svm()) {
		guest_put_code(_metadata, &self->guest, l1, l1_end);
		write_nested_page_tables(&self->tables);
		self->vmcb = lm_hva(&self->tables, NESTED_CONTROL);
		write_vmcb(self->vmcb, variant->nested_paging);
	} else {
		create_vmx(_metadata, &self->guest, &self->tables,
			   variant->nested_paging);
	}
}

FIXTURE_TEARDOWN(nested)
{
	struct reasons all;

	reasons_read(_metadata, self->vcpu, &all);
	lm_destroy_tables(&self->tables);
	guest_destroy(&self->guest);
	close(self->kvm);
}

/* What L2 does when it is run next, from the beginning. */
static void set_l2(struct __test_metadata *_metadata,
		   FIXTURE_DATA(nested) *self, const char *code,
		   const char *end)
{
	stats_arch_put_code(lm_hva(&self->tables, NESTED_CODE), code,
			    end - code);
	if (self->vmcb)
		self->vmcb->save.rip = lm_gpa(NESTED_CODE);
	else
		write_field(_metadata, self->vcpu, GUEST_RIP,
			    lm_gpa(NESTED_CODE));
}

static void start_l1(struct __test_metadata *_metadata,
		     FIXTURE_DATA(nested) *self, __u64 runs)
{
	struct kvm_regs regs = {
		.rip = GUEST_CODE,
		.rflags = STATS_RFLAGS,
		.rax = lm_gpa(NESTED_CONTROL),
		.rbp = self->launched,
		.rsi = runs,
		.rdi = LM_GVA,
	};

	lm_set_regs(_metadata, self->vcpu, &regs);
	self->launched = true;
}

/* Why L1 got control: AMD's code or Intel's. */
static void expect_exit_of_l2(struct __test_metadata *_metadata,
			      FIXTURE_DATA(nested) *self, __u32 svm, __u32 vmx)
{
	__u32 expected = self->vmcb ? svm : vmx;

	ASSERT_EQ(expected, self->vmcb ? self->vmcb->control.exit_code :
			    (__u32)read_field(_metadata, self->vcpu,
					      VM_EXIT_REASON));
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

/* Exits of a reason so far, of L1 or L2. */
static __u64 exits_by(struct __test_metadata *_metadata,
		      const struct guest_vcpu *v, const char *name)
{
	struct reasons r;

	reasons_read(_metadata, v, &r);
	return reason_of(_metadata, v, &r, name);
}

TEST_F(nested, nothing_is_nested_without_a_run)
{
	expect_nested(_metadata, self->vcpu, 0, 0);
	ASSERT_EQ(LM_PORT_DONE, lm_write(_metadata, self->vcpu, lm_gpa(LM_FREE),
					 1, 0));
	expect_nested(_metadata, self->vcpu, 0, 0);
}

TEST_F(nested, each_run_of_l2_is_one)
{
	__u64 exits;

	set_l2(_metadata, self, l2, l2_end);
	start_l1(_metadata, self, 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_exit_of_l2(_metadata, self, SVM_EXIT_VMMCALL,
			  EXIT_REASON_VMCALL);
	expect_nested(_metadata, self->vcpu, 1, 0);

	/* L2 goes on where it was: at its hypercall. */
	exits = own_exits(_metadata, self->vcpu);
	start_l1(_metadata, self, RUNS - 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_nested(_metadata, self->vcpu, RUNS, 0);
	EXPECT_EQ(EXITS_PER_RUN * (RUNS - 1) + EXITS_OF_L1,
		  own_exits(_metadata, self->vcpu) - exits);
	EXPECT_EQ((__u64)RUNS, exits_by(_metadata, self->vcpu, "vmrun"));
	EXPECT_EQ((__u64)RUNS, exits_by(_metadata, self->vcpu, "hypercall"));
}

TEST_F(nested, exits_of_l2_that_l1_does_not_see_are_no_nested_runs)
{
	__u64 i, exits;

	for (i = 1; i <= RUNS; i++) {
		set_l2(_metadata, self, l2, l2_end);
		exits = own_exits(_metadata, self->vcpu);
		start_l1(_metadata, self, 1);
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
		set_l2(_metadata, self, l2_out, l2_out_end);
		start_l1(_metadata, self, 1);
		ASSERT_EQ(PORT_L2, lm_run(_metadata, self->vcpu));
		expect_nested(_metadata, self->vcpu, i, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
		expect_nested(_metadata, self->vcpu, i, 0);
	}
}

TEST_F(nested, halt_of_l2_that_l1_handles_is_an_exit_and_no_halt)
{
	if (self->vmcb)
		self->vmcb->control.intercept |= 1UL << INTERCEPT_HLT;
	else
		write_field(_metadata, self->vcpu, CPU_BASED_VM_EXEC_CONTROL,
			    read_field(_metadata, self->vcpu,
				       CPU_BASED_VM_EXEC_CONTROL) |
			    CPU_BASED_HLT_EXITING);
	set_l2(_metadata, self, l2_halts, l2_halts_end);
	start_l1(_metadata, self, 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_exit_of_l2(_metadata, self, SVM_EXIT_HLT, EXIT_REASON_HLT);
	expect_nested(_metadata, self->vcpu, 1, 0);
	EXPECT_EQ(1UL, exits_by(_metadata, self->vcpu, "hlt"));
	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, "halt_exits"));
}

#define ACTIVITY_HLT		1	/* in GUEST_ACTIVITY_STATE */

/* L1 runs it, but the CPU does not. */
TEST_F(nested, entry_into_a_halted_guest_is_a_halt_and_no_run)
{
	if (self->vmcb)
		SKIP(return, "AMD's guests begin to run when they are entered");
	write_field(_metadata, self->vcpu, GUEST_ACTIVITY_STATE, ACTIVITY_HLT);
	set_l2(_metadata, self, l2, l2_end);
	start_l1(_metadata, self, 1);
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_HLT);
	expect_nested(_metadata, self->vcpu, 0, 1);
	EXPECT_EQ(1UL, vcpu_read(_metadata, self->vcpu, "halt_exits"));
}

/* It is done when the CPU has left L2, and sampled where that was. */
TEST_F(nested, a_sample_of_a_run_is_in_l2)
{
	struct perf_sample sample;
	struct perf_ring ring;
	int i, event;

	if (!perf_type())
		SKIP(return, "KVM has no events");
	event = perf_open_samples(_metadata,
				  perf_config(_metadata, &self->vcpu->file,
					      "nested_run", 0),
				  0, -1, 1, &ring);
	for (i = 0; i < SAMPLES; i++) {
		set_l2(_metadata, self, l2_out, l2_out_end);
		start_l1(_metadata, self, 1);
		ASSERT_EQ(PORT_L2, lm_run(_metadata, self->vcpu));
		ASSERT_TRUE(perf_ring_next(&ring, &sample));
		EXPECT_EQ(lm_gpa(NESTED_CODE), sample.ip);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
		EXPECT_FALSE(perf_ring_next(&ring, &sample));
	}
	perf_ring_unmap(&ring);
	close(event);
}

/* On Intel it is no exit, but an instruction that fails. */
TEST_F(nested, run_that_kvm_refuses_is_none)
{
	if (self->vmcb) {
		self->vmcb->control.asid = 0;
		start_l1(_metadata, self, RUNS);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
		EXPECT_EQ((u32)SVM_EXIT_ERR, self->vmcb->control.exit_code);
	} else {
		write_field(_metadata, self->vcpu, CR3_TARGET_COUNT, 256);
		start_l1(_metadata, self, RUNS);
		ASSERT_EQ(PORT_FAILED, lm_run(_metadata, self->vcpu));
	}
	expect_nested(_metadata, self->vcpu, 0, 0);
}

/* KVM finds no fault with code that is both of 64 and of 32 bits. */
TEST_F(nested, run_that_the_cpu_refuses_is_none)
{
	__u64 i;

	for (i = 0; i < RUNS; i++) {
		set_l2(_metadata, self, l2, l2_end);
		if (self->vmcb)
			self->vmcb->save.cs.attrib = SEGMENT_CODE |
						     SEGMENT_32_BIT;
		else
			write_field(_metadata, self->vcpu, GUEST_CS_AR_BYTES,
				    ACCESS_CODE | ACCESS_32_BIT);
		self->launched = false;
		start_l1(_metadata, self, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
		expect_exit_of_l2(_metadata, self, SVM_EXIT_ERR,
				  EXIT_REASON_INVALID_STATE |
				  EXIT_REASON_FAILED_VMENTRY);
		expect_nested(_metadata, self->vcpu, 0, 0);
	}
	EXPECT_EQ((__u64)RUNS, exits_by(_metadata, self->vcpu, "vmrun"));
	EXPECT_EQ((__u64)RUNS,
		  exits_by(_metadata, self->vcpu, "entry_failure"));
}

/* On AMD of all of the guest, for L1 does not ask for it. */
TEST_F(nested, triple_fault_of_l2_ends_guest_mode)
{
	set_l2(_metadata, self, l2_dies, l2_dies_end);
	start_l1(_metadata, self, 1);
	vcpu_run(_metadata, self->vcpu,
		 self->vmcb ? KVM_EXIT_SHUTDOWN : KVM_EXIT_IO);
	expect_nested(_metadata, self->vcpu, 1, 0);
	if (!self->vmcb)
		expect_exit_of_l2(_metadata, self, 0, EXIT_REASON_TRIPLE_FAULT);
}

TEST_F(nested, restored_state_is_guest_mode_but_no_nested_run)
{
	union {
		struct kvm_nested_state state;
		char bytes[sizeof(struct kvm_nested_state) +
			   sizeof(struct kvm_svm_nested_state_data) +
			   sizeof(struct kvm_vmx_nested_state_data)];
	} state_of_l1, state_of_l2;

	/* The state of L1 is had before, that of L2 after it was entered. */
	state_of_l1.state.size = sizeof(state_of_l1);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_NESTED_STATE,
			   &state_of_l1));
	set_l2(_metadata, self, l2_out, l2_out_end);
	start_l1(_metadata, self, 1);
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

TEST_F(nested, page_fault_of_l2_that_l1_gets_is_the_guests_unless_it_is_a_nested_one)
{
	/* With nested paging of the host alone, the hardware asks L1 at once. */
	struct faults none = {}, of_the_guest = { .guest = RUNS },
		      of_l1s_nested_tables = { .other = RUNS };
	struct faults faults;

	if (self->vmcb)
		self->vmcb->control.intercept_exceptions = 1 << 14;
	else
		write_field(_metadata, self->vcpu, EXCEPTION_BITMAP, 1 << 14);
	set_l2(_metadata, self, l2_writes, l2_writes_end);
	if (variant->nested_paging)
		lm_map(&self->tables, 0, NOWHERE);
	start_l1(_metadata, self, 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_exit_of_l2(_metadata, self,
			  variant->nested_paging ? SVM_EXIT_NPF :
						   SVM_EXIT_EXCP_BASE + 14,
			  variant->nested_paging ? EXIT_REASON_EPT_VIOLATION :
						   EXIT_REASON_EXCEPTION_NMI);

	/* All that the guest itself needs is mapped now. */
	faults = faults_read(_metadata, self->vcpu);
	start_l1(_metadata, self, RUNS);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_faults(_metadata, self->vcpu, &faults,
		      variant->nested_paging ? &of_l1s_nested_tables :
		      stats_arch_shadows() ? &of_the_guest : &none);
	expect_nested(_metadata, self->vcpu, 1 + RUNS, 0);
}

/*
 * AMD's nested page tables have the format of the guest's own. If L1 maps for L2
 * with those that it uses itself, KVM shadows these, and stops that when the CPU
 * walks them for L1: L1 goes on without an emulated instruction.
 * In each run these are the three upper tables, which are then mapped as writable.
 * So are the lowest table, which may be written while it is shadowed, and what L2
 * needs, which is one fault because its pages are neighbours.
 */
TEST_F(nested, write_to_page_tables_that_l1_shares_with_l2_is_retried)
{
	bool shares = self->vmcb && variant->nested_paging;
	struct faults of_shared_tables = { .other = 3 * RUNS,
					   .fixed = (3 + 1 + 1) * RUNS };
	struct faults none = {};
	struct faults faults;

	if (shares) {
		self->vmcb->control.nested_cr3 = lm_gpa(LM_PML4);
		self->vmcb->save.cr3 = lm_gpa(NESTED_PML4);
	}
	set_l2(_metadata, self, l2, l2_end);
	start_l1(_metadata, self, 1);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));

	faults = faults_read(_metadata, self->vcpu);
	start_l1(_metadata, self, RUNS);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
	expect_faults(_metadata, self->vcpu, &faults,
		      shares ? &of_shared_tables : &none);
}

#define YIELDS			20UL

/* An APIC ID that no vCPU has. */
#define APIC_ID_OF_NONE		77

/* Hypercall %edi with two equal arguments, %esi times, in 16-bit code. */
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

	/* On one CPU, the other vCPU is preempted whenever this one runs. */
	stay_on_this_cpu(_metadata);
	runner_start(_metadata, &runner, self->other, 1, 1);
	yield_to(_metadata, self->vcpu, KVM_HC_SCHED_YIELD, 1);
	expect_yields(_metadata, self->vcpu, YIELDS, YIELDS);
	expect_yields(_metadata, self->other, 0, 0);
	runner_stop(_metadata, &runner);
}

/* An instruction that is an exit, and its reason. */
struct entry {
	const char *reason, *code, *end;
	int intercept;			/* that L1 sets for its L2 */
};

#define L1_ENTRY(name, text)						\
	STATS_GUEST_CODE(name, text "\n1:	outb %al, $0x44\n	jmp 1b\n")
#define ENTRY(_reason, name, ...)					\
	{ .reason = _reason, .code = name, .end = name##_end, ##__VA_ARGS__ }

L1_ENTRY(l1_vmload, "vmload %rax");
L1_ENTRY(l1_vmsave, "vmsave %rax");
L1_ENTRY(l1_invlpga, "invlpga %rax, %ecx");
L1_ENTRY(l1_invd, "invd");
L1_ENTRY(l1_rdpmc, "rdpmc");
L1_ENTRY(l1_monitor, "monitor %rax, %ecx, %edx");
L1_ENTRY(l1_mwait, "mwait %eax, %ecx");

static const struct entry svm_entries_of_l1[] = {
	ENTRY("vm_insn", l1_vmload),
	ENTRY("vm_insn", l1_vmsave),
	ENTRY("invlpg", l1_invlpga),
	ENTRY("wbinvd", l1_invd),
	ENTRY("rdpmc", l1_rdpmc),
	ENTRY("monitor", l1_monitor),
	ENTRY("mwait", l1_mwait),
};

/*
 * L1 gets control at the instruction, which L2 does not execute. KVM itself may leave STGI
 * and CLGI to the CPU.
 */
STATS_GUEST_CODE(l2_stgi, "stgi\n");
STATS_GUEST_CODE(l2_clgi, "clgi\n");
STATS_GUEST_CODE(l2_rdtsc, "rdtsc\n");
STATS_GUEST_CODE(l2_iret, "iretq\n");
STATS_GUEST_CODE(l2_pause, "pause\n");
STATS_GUEST_CODE(l2_sidt, "sidt (%rdi)\n");
STATS_GUEST_CODE(l2_sgdt, "sgdt (%rdi)\n");
STATS_GUEST_CODE(l2_sldt, "sldt (%rdi)\n");
STATS_GUEST_CODE(l2_str, "str (%rdi)\n");
STATS_GUEST_CODE(l2_lidt, "lidt (%rdi)\n");
STATS_GUEST_CODE(l2_lgdt, "lgdt (%rdi)\n");
STATS_GUEST_CODE(l2_lldt, "lldt (%rdi)\n");
STATS_GUEST_CODE(l2_ltr, "ltr (%rdi)\n");

static const struct entry svm_entries_of_l2[] = {
	ENTRY("vm_insn", l2_stgi, .intercept = INTERCEPT_STGI),
	ENTRY("vm_insn", l2_clgi, .intercept = INTERCEPT_CLGI),
	ENTRY("rdtsc", l2_rdtsc, .intercept = INTERCEPT_RDTSC),
	ENTRY("nmi_window", l2_iret, .intercept = INTERCEPT_IRET),
	ENTRY("pause", l2_pause, .intercept = INTERCEPT_PAUSE),
	ENTRY("descriptor_table", l2_sidt, .intercept = INTERCEPT_STORE_IDTR),
	ENTRY("descriptor_table", l2_sgdt, .intercept = INTERCEPT_STORE_GDTR),
	ENTRY("descriptor_table", l2_sldt, .intercept = INTERCEPT_STORE_LDTR),
	ENTRY("descriptor_table", l2_str, .intercept = INTERCEPT_STORE_TR),
	ENTRY("descriptor_table", l2_lidt, .intercept = INTERCEPT_LOAD_IDTR),
	ENTRY("descriptor_table", l2_lgdt, .intercept = INTERCEPT_LOAD_GDTR),
	ENTRY("descriptor_table", l2_lldt, .intercept = INTERCEPT_LOAD_LDTR),
	ENTRY("descriptor_table", l2_ltr, .intercept = INTERCEPT_LOAD_TR),
};

TEST_F(nested, each_instruction_of_l1_is_an_exit_of_its_reason)
{
	const struct entry *e = svm_entries_of_l1;
	__u64 before;

	if (!self->vmcb)
		SKIP(return, "these are AMD's instructions");
	for (; e < svm_entries_of_l1 + ARRAY_SIZE(svm_entries_of_l1); e++) {
		guest_put_code(_metadata, &self->guest, e->code, e->end);
		before = exits_by(_metadata, self->vcpu, e->reason);
		ASSERT_EQ(PORT_L1, run_l1_at(_metadata, self->vcpu, GUEST_CODE,
					     lm_gpa(NESTED_CONTROL), 0));
		EXPECT_EQ(1UL, exits_by(_metadata, self->vcpu, e->reason) - before) {
			TH_LOG("entry %ld: %s", (long)(e - svm_entries_of_l1), e->reason);
		}
	}
}

TEST_F(nested, each_instruction_of_l2_that_l1_intercepts_is_an_exit_of_its_reason)
{
	const struct entry *e = svm_entries_of_l2;
	__u64 before;

	if (!self->vmcb)
		SKIP(return, "these are AMD's intercepts");
	for (; e < svm_entries_of_l2 + ARRAY_SIZE(svm_entries_of_l2); e++) {
		write_vmcb(self->vmcb, variant->nested_paging);
		self->vmcb->control.intercept |= 1UL << e->intercept;
		set_l2(_metadata, self, e->code, e->end);
		before = exits_by(_metadata, self->vcpu, e->reason);
		start_l1(_metadata, self, 1);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, self->vcpu));
		EXPECT_EQ(1UL, exits_by(_metadata, self->vcpu, e->reason) - before) {
			TH_LOG("entry %ld: %s", (long)(e - svm_entries_of_l2), e->reason);
		}
	}
}

STATS_GUEST_CODE(l1_skinit, "skinit %eax\n");
STATS_GUEST_CODE(l1_rsm, "rsm\n");

/* KVM answers with an exception, of which L1 dies without a handler. */
static void expect_death(struct __test_metadata *_metadata, FIXTURE_DATA(nested) *self,
			 const char *reason, const char *code, const char *end)
{
	struct kvm_regs regs = { .rip = GUEST_CODE, .rflags = STATS_RFLAGS };
	struct kvm_sregs sregs;

	guest_put_code(_metadata, &self->guest, code, end);
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_GET_SREGS, &sregs));
	sregs.idt.limit = 0;
	ASSERT_EQ(0, ioctl(self->vcpu->fd, KVM_SET_SREGS, &sregs));
	lm_set_regs(_metadata, self->vcpu, &regs);
	vcpu_run(_metadata, self->vcpu, KVM_EXIT_SHUTDOWN);
	EXPECT_EQ(1UL, exits_by(_metadata, self->vcpu, reason));
	EXPECT_EQ(1UL, exits_by(_metadata, self->vcpu, "shutdown"));
}

TEST_F(nested, skinit_is_an_exit_of_its_reason)
{
	if (!self->vmcb)
		SKIP(return, "this is AMD's instruction");
	expect_death(_metadata, self, "vm_insn", l1_skinit, l1_skinit_end);
}

TEST_F(nested, rsm_is_an_exit_of_its_reason)
{
	if (!self->vmcb)
		SKIP(return, "on Intel it is an exception");
	expect_death(_metadata, self, "rsm", l1_rsm, l1_rsm_end);
}

TEST_HARNESS_MAIN
