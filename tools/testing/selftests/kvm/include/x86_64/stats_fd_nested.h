/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest (L1) that runs a nested guest (L2) a given number of times with SVM or VMX, for
 * the tests of KVM's statistics.
 */
#ifndef SELFTEST_KVM_STATS_FD_NESTED_H
#define SELFTEST_KVM_STATS_FD_NESTED_H

#include <asm/msr-index.h>
#include <asm/svm.h>
#include <asm/vmx.h>
#include <linux/types.h>

#include "stats_fd_long_mode.h"
#include "svm.h"

#define CPUID_VMX		0x20

/* Newer kernels' vmx.h of the selftests includes all of libkvm: do not use it. */
#define CPU_BASED_HLT_EXITING			0x00000080
#define CPU_BASED_ACTIVATE_SECONDARY_CONTROLS	0x80000000
#define SECONDARY_EXEC_ENABLE_EPT		0x00000002
#define VM_EXIT_HOST_ADDR_SPACE_SIZE		0x00000200
#define VM_ENTRY_IA32E_MODE			0x00000200

enum vmcs_field {
	GUEST_ES_SELECTOR		= 0x0800,
	GUEST_CS_SELECTOR		= 0x0802,
	GUEST_SS_SELECTOR		= 0x0804,
	GUEST_DS_SELECTOR		= 0x0806,
	GUEST_TR_SELECTOR		= 0x080e,
	HOST_ES_SELECTOR		= 0x0c00,
	HOST_CS_SELECTOR		= 0x0c02,
	HOST_SS_SELECTOR		= 0x0c04,
	HOST_DS_SELECTOR		= 0x0c06,
	HOST_TR_SELECTOR		= 0x0c0c,
	VIRTUAL_APIC_PAGE_ADDR		= 0x2012,
	APIC_ACCESS_ADDR		= 0x2014,
	EPT_POINTER			= 0x201a,
	VMCS_LINK_POINTER		= 0x2800,
	PIN_BASED_VM_EXEC_CONTROL	= 0x4000,
	CPU_BASED_VM_EXEC_CONTROL	= 0x4002,
	EXCEPTION_BITMAP		= 0x4004,
	CR3_TARGET_COUNT		= 0x400a,
	VM_EXIT_CONTROLS		= 0x400c,
	VM_ENTRY_CONTROLS		= 0x4012,
	SECONDARY_VM_EXEC_CONTROL	= 0x401e,
	VM_EXIT_REASON			= 0x4402,
	GUEST_ES_LIMIT			= 0x4800,
	GUEST_CS_LIMIT			= 0x4802,
	GUEST_SS_LIMIT			= 0x4804,
	GUEST_DS_LIMIT			= 0x4806,
	GUEST_TR_LIMIT			= 0x480e,
	GUEST_ES_AR_BYTES		= 0x4814,
	GUEST_CS_AR_BYTES		= 0x4816,
	GUEST_SS_AR_BYTES		= 0x4818,
	GUEST_DS_AR_BYTES		= 0x481a,
	GUEST_FS_AR_BYTES		= 0x481c,
	GUEST_GS_AR_BYTES		= 0x481e,
	GUEST_LDTR_AR_BYTES		= 0x4820,
	GUEST_TR_AR_BYTES		= 0x4822,
	GUEST_ACTIVITY_STATE		= 0x4826,
	GUEST_CR0			= 0x6800,
	GUEST_CR3			= 0x6802,
	GUEST_CR4			= 0x6804,
	GUEST_DR7			= 0x681a,
	GUEST_RSP			= 0x681c,
	GUEST_RIP			= 0x681e,
	GUEST_RFLAGS			= 0x6820,
	HOST_CR0			= 0x6c00,
	HOST_CR3			= 0x6c02,
	HOST_CR4			= 0x6c04,
	HOST_GDTR_BASE			= 0x6c0c,
	HOST_IDTR_BASE			= 0x6c0e,
	HOST_RSP			= 0x6c14,
	HOST_RIP			= 0x6c16,
};

#define PORT_L1			0x44
#define PORT_L2			0x45
#define PORT_IOEVENTFD		0x46
#define PORT_FAILED		0x47

/*
 * On AMD, L1 runs the VMCB at %rax %rsi times. It alternates between two instructions: KVM
 * takes faults of the same instruction at the same address for a loop.
 */
STATS_GUEST_CODE(l1,
		 "1:	vmrun %rax\n"
		 "	decq %rsi\n"
		 "	jz 2f\n"
		 "	vmrun %rax\n"
		 "	decq %rsi\n"
		 "	jnz 1b\n"
		 "2:	outb %al, $0x44\n"
		 "	jmp 2b\n");

/*
 * On Intel, L1 runs its VMCS %rsi times. %rbp is 0 if the VMCS is not launched yet. The
 * instruction behind an entry is executed only if the entry fails.
 */
STATS_GUEST_CODE(vmx_l1,
		 "	testq %rbp, %rbp\n"
		 "	jnz 1f\n"
		 "	vmlaunch\n"
		 "1:	vmresume\n"
		 "2:	outb %al, $0x47\n"
		 "	jmp 2b\n");

/* L2 exits to here. */
STATS_GUEST_CODE(vmx_l1_again,
		 "	decq %rsi\n"
		 "	jz 1f\n"
		 "	vmresume\n"
		 "1:	outb %al, $0x44\n"
		 "	jmp 1b\n");

/* Instructions that set CF or ZF if they fail. */
#define VMX_CODE(name, text)						\
	STATS_GUEST_CODE(name, text					\
		"	jbe 2f\n"					\
		"1:	outb %al, $0x44\n"				\
		"	jmp 1b\n"					\
		"2:	outb %al, $0x47\n"				\
		"	jmp 2b\n")

/* Write %rbx to field %rax of the VMCS, or read it. */
VMX_CODE(vmx_write_field, "vmwrite %rbx, %rax\n");
VMX_CODE(vmx_read_field, "vmread %rax, %rbx\n");

/* At %rax are the addresses of two pages, for VMXON and the VMCS. */
VMX_CODE(vmx_turn_on,
	 "	vmxon (%rax)\n"
	 "	jbe 2f\n"
	 "	vmclear 8(%rax)\n"
	 "	jbe 2f\n"
	 "	vmptrld 8(%rax)\n");

#define VMX_L1			GUEST_CODE
#define VMX_L1_AGAIN		(GUEST_CODE + 0x40)
#define VMX_WRITE_FIELD		(GUEST_CODE + 0x80)
#define VMX_READ_FIELD		(GUEST_CODE + 0xc0)
#define VMX_TURN_ON		(GUEST_CODE + 0x100)

/* L2 does something, and then exits to L1. */
#define L2_CODE(name, text)						\
	STATS_GUEST_CODE(name, text					\
		"1:	vmmcall\n"					\
		"	jmp 1b\n")

/* KVM handles these exits without L1. */
L2_CODE(l2, "outb %al, $0x46\n outb %al, $0x46\n outb %al, $0x46\n");
/* This one is an exit to user space. */
L2_CODE(l2_out, "outb %al, $0x45\n");
L2_CODE(l2_halts, "hlt\n");

/* L2 has no exception handler: a triple fault. */
STATS_GUEST_CODE(l2_dies, "ud2\n");

STATS_GUEST_CODE(l2_writes, "movb %al, (%rdi)\n");

enum nested_page {
	NESTED_CONTROL = LM_FREE,	/* the VMCB, or the VMCS */
	NESTED_CODE,		/* of L2 */
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

struct nested {
	struct guest guest;
	struct guest_vcpu *vcpu;
	char *tables;
	struct vmcb *vmcb;		/* on AMD */
	bool launched;			/* on Intel */
};

static inline void set_segment(struct vmcb_seg *seg, u16 selector, u16 attributes)
{
	seg->selector = selector;
	seg->attrib = attributes;
	seg->limit = 0xffffffff;
}

#define EPT_ALL			7UL	/* read, write, execute */
#define EPT_WRITE_BACK		6UL	/* the type of memory */
#define EPT_LEVELS		4UL

/* L1 maps the first 2 MB for L2, in Intel's format. */
static inline void write_ept(char *t)
{
	int i;

	lm_set_pte(t, NESTED_PML4, 0, lm_gpa(NESTED_PDPT) | EPT_ALL);
	lm_set_pte(t, NESTED_PDPT, 0, lm_gpa(NESTED_PD) | EPT_ALL);
	lm_set_pte(t, NESTED_PD, 0, lm_gpa(NESTED_PT) | EPT_ALL);
	for (i = 0; i < 512; i++)
		lm_set_pte(t, NESTED_PT, i, i * LM_PAGE | EPT_WRITE_BACK << 3 | EPT_ALL);
}

/* L2 starts with L1's page tables. */
static inline void write_vmcb(struct vmcb *vmcb, bool nested_paging)
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

static inline int run_l1_at(struct __test_metadata *_metadata, struct guest_vcpu *v,
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

static inline void write_field(struct __test_metadata *_metadata,
			       struct guest_vcpu *v, __u64 field, __u64 value)
{
	ASSERT_EQ(PORT_L1, run_l1_at(_metadata, v, VMX_WRITE_FIELD, field, value)) {
		TH_LOG("field %#llx", field);
	}
}

static inline __u64 read_field(struct __test_metadata *_metadata,
			       struct guest_vcpu *v, __u64 field)
{
	struct kvm_regs regs;

	ASSERT_EQ(PORT_L1, run_l1_at(_metadata, v, VMX_READ_FIELD, field, 0));
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_REGS, &regs));
	return regs.rbx;
}

/* Return the bits of a control that must be set, and @wanted. */
static inline __u64 control(struct __test_metadata *_metadata,
			    const struct guest_vcpu *v, __u32 index, __u32 wanted)
{
	__u64 allowed = get_msr(_metadata, v, index);

	ASSERT_EQ(wanted, wanted & (allowed >> 32));
	return (__u32)allowed | wanted;
}

#define CR4_VMXE		0x2000UL
#define FEATURE_CONTROL		5	/* VMX is enabled, and locked */
#define FLAT			0xffffffff
#define ACCESS_CODE		0xa09b
#define ACCESS_DATA		0xc093
#define ACCESS_32_BIT		0x4000
#define ACCESS_TSS		0x8b
#define ACCESS_NONE		0x10000
#define TSS_SELECTOR		24
#define TSS_LIMIT		0x67

/* L2 starts with L1's state. All other fields are 0. */
static inline void write_vmcs(struct __test_metadata *_metadata, struct guest_vcpu *v,
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
		  control(_metadata, v, MSR_IA32_VMX_PROCBASED_CTLS, secondary) },
		{ VM_EXIT_CONTROLS,
		  control(_metadata, v, MSR_IA32_VMX_EXIT_CTLS, VM_EXIT_HOST_ADDR_SPACE_SIZE) },
		{ VM_ENTRY_CONTROLS,
		  control(_metadata, v, MSR_IA32_VMX_ENTRY_CTLS, VM_ENTRY_IA32E_MODE) },
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
	write_field(_metadata, v, EPT_POINTER, lm_gpa(NESTED_PML4) | (EPT_LEVELS - 1) << 3 |
		    EPT_WRITE_BACK);
}

static inline void create_vmx(struct __test_metadata *_metadata, struct guest *g,
			      char *t, bool nested_paging)
{
	struct guest_vcpu *v = &g->vcpu[0];
	__u64 *pages = lm_hva(t, NESTED_STACK);
	struct kvm_sregs sregs;
	__u32 revision;

	guest_put_code_at(_metadata, g, VMX_L1, vmx_l1, vmx_l1_end);
	guest_put_code_at(_metadata, g, VMX_L1_AGAIN, vmx_l1_again, vmx_l1_again_end);
	guest_put_code_at(_metadata, g, VMX_WRITE_FIELD, vmx_write_field, vmx_write_field_end);
	guest_put_code_at(_metadata, g, VMX_READ_FIELD, vmx_read_field, vmx_read_field_end);
	guest_put_code_at(_metadata, g, VMX_TURN_ON, vmx_turn_on, vmx_turn_on_end);

	set_msr(_metadata, v, MSR_IA32_FEAT_CTL, FEATURE_CONTROL);
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_SREGS, &sregs));
	sregs.cr4 |= CR4_VMXE;
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_SREGS, &sregs));
	revision = get_msr(_metadata, v, MSR_IA32_VMX_BASIC);
	*(__u32 *)lm_hva(t, NESTED_VMXON) = revision;
	*(__u32 *)lm_hva(t, NESTED_CONTROL) = revision;
	pages[0] = lm_gpa(NESTED_VMXON);
	pages[1] = lm_gpa(NESTED_CONTROL);
	ASSERT_EQ(PORT_L1, run_l1_at(_metadata, v, VMX_TURN_ON, lm_gpa(NESTED_STACK), 0));
	write_ept(t);
	write_vmcs(_metadata, v, nested_paging);
}

/* Return why this host cannot run nested guests, or NULL. */
static const char *nested_missing(bool nested_paging)
{
	unsigned int eax, ebx, ecx, edx;

	if (!stats_arch_svm() &&
	    !(__get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & CPUID_VMX))
		return "the host's CPU has neither SVM nor VMX";
	if (!stats_arch_svm() && stats_parameter_is_off("kvm_intel", "nested"))
		return "nested guests are turned off";
	if (nested_paging && stats_arch_shadows())
		return "the host's CPU has no nested paging";
	return NULL;
}

static inline void nested_create(struct __test_metadata *_metadata, struct nested *n,
				 bool nested_paging)
{
	guest_create(_metadata, &n->guest, 1);
	guest_add_ioeventfd(_metadata, &n->guest, PORT_IOEVENTFD, 1, KVM_IOEVENTFD_FLAG_PIO);
	n->vcpu = &n->guest.vcpu[0];
	n->tables = lm_create_tables(_metadata, &n->guest, TABLES_SLOT);
	lm_init_vcpu(_metadata, n->vcpu->fd, stats_arch_svm() ? EFER_SVME : 0);
	if (stats_arch_svm()) {
		guest_put_code(_metadata, &n->guest, l1, l1_end);
		lm_map_low(n->tables, NESTED_PML4, NESTED_PDPT, NESTED_PD, NESTED_PT);
		n->vmcb = lm_hva(n->tables, NESTED_CONTROL);
		write_vmcb(n->vmcb, nested_paging);
		/* Newer kernels refuse VMRUN without it, as CPUs do. */
		set_msr(_metadata, n->vcpu, MSR_VM_HSAVE_PA, lm_gpa(NESTED_VMXON));
	} else {
		create_vmx(_metadata, &n->guest, n->tables, nested_paging);
	}
}

/* Let L2 start with this code when L1 runs it next. */
static inline void set_l2(struct __test_metadata *_metadata, struct nested *n, const char *code,
			  const char *end)
{
	stats_arch_put_code(lm_hva(n->tables, NESTED_CODE), code, end - code);
	if (n->vmcb)
		n->vmcb->save.rip = lm_gpa(NESTED_CODE);
	else
		write_field(_metadata, n->vcpu, GUEST_RIP, lm_gpa(NESTED_CODE));
}

static inline void start_l1(struct __test_metadata *_metadata, struct nested *n, __u64 runs)
{
	struct kvm_regs regs = {
		.rip = GUEST_CODE,
		.rflags = STATS_RFLAGS,
		.rax = lm_gpa(NESTED_CONTROL),
		.rbp = n->launched,
		.rsi = runs,
		.rdi = LM_GVA,
	};

	lm_set_regs(_metadata, n->vcpu, &regs);
	n->launched = true;
}

/* Let L1 run L2 until L1 exits. */
static inline void run_l1(struct __test_metadata *_metadata, struct nested *n, __u64 runs)
{
	start_l1(_metadata, n, runs);
	ASSERT_EQ(PORT_L1, lm_run(_metadata, n->vcpu));
}

/* The same, with new code for L2. */
static inline void run_l2_code(struct __test_metadata *_metadata, struct nested *n,
			       const char *code, const char *end, __u64 runs)
{
	set_l2(_metadata, n, code, end);
	run_l1(_metadata, n, runs);
}

#define run_l2(n, code, runs)	run_l2_code(_metadata, n, code, code##_end, runs)

/* Expect AMD's or Intel's code of L2's exit to L1. */
static inline void expect_exit_of_l2(struct __test_metadata *_metadata,
				     struct nested *n, __u32 svm, __u32 vmx)
{
	__u32 expected = n->vmcb ? svm : vmx;

	ASSERT_EQ(expected, n->vmcb ? (__u32)n->vmcb->control.exit_code :
		  (__u32)read_field(_metadata, n->vcpu, VM_EXIT_REASON));
}

static inline void intercept_hlt(struct __test_metadata *_metadata, struct nested *n)
{
	if (n->vmcb)
		n->vmcb->control.intercept |= 1UL << INTERCEPT_HLT;
	else
		write_field(_metadata, n->vcpu, CPU_BASED_VM_EXEC_CONTROL,
			    read_field(_metadata, n->vcpu, CPU_BASED_VM_EXEC_CONTROL) |
			    CPU_BASED_HLT_EXITING);
}

/* KVM accepts a code segment of both 64 and 32 bits, the CPU does not. */
static inline void make_l2_invalid(struct __test_metadata *_metadata, struct nested *n)
{
	if (n->vmcb)
		n->vmcb->save.cs.attrib = SEGMENT_CODE | SEGMENT_32_BIT;
	else
		write_field(_metadata, n->vcpu, GUEST_CS_AR_BYTES, ACCESS_CODE | ACCESS_32_BIT);
	n->launched = false;
}

#endif /* SELFTEST_KVM_STATS_FD_NESTED_H */
