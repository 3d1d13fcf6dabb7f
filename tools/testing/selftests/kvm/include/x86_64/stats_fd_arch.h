/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * x86 guests for the tests of KVM's statistics files. Each has a few bytes of 16-bit code,
 * so that the tests know what a vCPU did and how often.
 */
#ifndef SELFTEST_KVM_STATS_FD_ARCH_H
#define SELFTEST_KVM_STATS_FD_ARCH_H

#include <cpuid.h>

#include "stats_fd_util.h"

/* This statistic counts all exits. */
#define STATS_EXITS		"exits"

/* This statistic counts the exits of the user exit guest, and no others. */
#define STATS_USER_EXITS	"io_exits"
#define STATS_USER_EXIT_REASON	KVM_EXIT_IO

/* Do a given number of exits that KVM handles, then spin. */
static const __u8 stats_kernel_exits_code[] = {
	0x0f, 0xa2,		/* 1:	cpuid		*/
	0x66, 0x4e,		/*	dec %esi	*/
	0x75, 0xfa,		/*	jnz 1b		*/
	0xeb, 0xfe,		/* 2:	jmp 2b		*/
};

/* Each KVM_RUN is one exit to user space. */
static const __u8 stats_user_exits_code[] = {
	0xee,			/* 1:	out %al, (%dx)	*/
	0xeb, 0xfd,		/*	jmp 1b		*/
};

/* 16-bit code: do @action as often as %esi says, then the user exit. */
#define STATS_GUEST_LOOP(name, action)					\
	STATS_GUEST_CODE(name,						\
		".code16\n"						\
		"1:	" action "\n"					\
		"	dec %esi\n"					\
		"	jnz 1b\n"					\
		"	out %al, (%dx)\n"				\
		".code64\n")

/* In each KVM_RUN, write to as many pages as %esi says from %edi on. */
STATS_GUEST_CODE(stats_touch,
		 ".code16\n"
		 "1:	mov %esi, %ecx\n"
		 "	mov %edi, %ebx\n"
		 "	jecxz 3f\n"
		 "2:	mov %al, (%ebx)\n"
		 "	add $0x1000, %ebx\n"
		 "	dec %ecx\n"
		 "	jnz 2b\n"
		 "3:	out %al, (%dx)\n"
		 "	jmp 1b\n"
		 ".code64\n");

/* Sleep until woken, once in each KVM_RUN. */
STATS_GUEST_CODE(stats_sleep,
		 ".code16\n"
		 "1:	hlt\n"
		 "	out %al, (%dx)\n"
		 "	jmp 1b\n"
		 ".code64\n");

/*
 * Guests that read two statistics: at (%ebx), usually exits, and at (%edi). They are 64
 * bits wide, but the values of the tests fit in 32.
 */
#define STATS_GUEST_SAMPLE(name, code)					\
	STATS_GUEST_CODE(name,						\
		".code16\n"						\
		code							\
		"	mov (%edi), %edi\n"				\
		"	out %al, (%dx)\n"				\
		".code64\n")

/* Read the first one %esi times, or until it changes. */
STATS_GUEST_SAMPLE(stats_sample_still,
		   "	mov (%ebx), %ecx\n"
		   "1:	mov (%ebx), %eax\n"
		   "	cmp %eax, %ecx\n"
		   "	jne 2f\n"
		   "	dec %esi\n"
		   "	jnz 1b\n"
		   "2:	mov %eax, %ebx\n");

/* Read the first one until it is at least %esi. */
STATS_GUEST_SAMPLE(stats_sample_until,
		   "1:	mov (%ebx), %eax\n"
		   "	cmp %esi, %eax\n"
		   "	jb 1b\n"
		   "	mov %eax, %ebx\n");

/* Write to a statistic with each size of STATS_WRITE_SIZES. */
STATS_GUEST_CODE(stats_write,
		 ".code16\n"
		 "	mov %al, (%ebx)\n"
		 "	mov %ax, (%ebx)\n"
		 "	mov %eax, (%ebx)\n"
		 "	out %al, (%dx)\n"
		 ".code64\n");
#define STATS_WRITE_SIZES	{ 1, 2, 4 }

/*
 * The page of the code also has the handlers of UD2 and of all interrupts, descriptor
 * tables, and the stack. The code runs in 16-bit protected mode: on some Intel CPUs KVM
 * emulates real mode, without exits.
 */
#define STATS_UD_HANDLER	0x7d0
#define STATS_HANDLER		0x7e8
#define STATS_GDT		0x7f0
#define STATS_IDT		0x800
#define STATS_VECTOR		0x20
#define STATS_STACK		0x1000

#define STATS_CODE_SELECTOR	8
#define STATS_DATA_SELECTOR	16

/* Interrupts are enabled. */
#define STATS_RFLAGS		0x202

/* Return whether KVM uses SVM. */
static inline bool stats_arch_svm(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & 4);
}

/* vCPUs begin in real mode, for which VMX needs an address for a TSS. */
static inline void stats_arch_init_vm(struct __test_metadata *_metadata, int vm)
{
	ASSERT_EQ(0, ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000UL));
}

/* With an interrupt controller, KVM lets a vCPU sleep and wakes it. */
static inline void stats_arch_create_irqchip(struct __test_metadata *_metadata, int vm)
{
	ASSERT_EQ(0, ioctl(vm, KVM_CREATE_IRQCHIP, 0));
}

/*
 * Wake the vCPU by an NMI, which needs no setup of the interrupt controller. Send it to
 * all vCPUs: KVM does not find one by its APIC ID before the guest has changed an APIC.
 */
static inline void stats_arch_wake(struct __test_metadata *_metadata, int vm, int vcpu)
{
	struct kvm_msi msi = {
		.address_lo = 0xfeeff000,
		.data = 4 << 8,
	};

	ASSERT_EQ(1, ioctl(vm, KVM_SIGNAL_MSI, &msi));
}

/* An NMI needs no deassertion. */
static inline void stats_arch_woken(struct __test_metadata *_metadata, int vm, int vcpu)
{
}

/* The handler of interrupts and NMIs returns at once, the UD2 handler skips the instruction. */
static inline void stats_arch_init_page(char *page, __u64 addr)
{
	const __u64 gate = STATS_HANDLER | STATS_CODE_SELECTOR << 16 |
			   0x86ULL << 40;
	__u64 *gdt = (void *)page + STATS_GDT;
	__u64 *idt = (void *)page + STATS_IDT;
	static const __u8 skip_ud2[] = {
		0x55,				/*	push %bp	*/
		0x89, 0xe5,			/*	mov %sp, %bp	*/
		0x53,				/*	push %bx	*/
		0x8b, 0x5e, 0x02,		/*	mov 2(%bp), %bx	*/
		0x2e, 0x81, 0x3f, 0x0f, 0x0b,	/*	cmpw $0x0b0f, %cs:(%bx) */
		0x75, 0x04,			/*	jne 1f		*/
		0x83, 0x46, 0x02, 0x02,		/*	addw $2, 2(%bp)	*/
		0x5b,				/* 1:	pop %bx		*/
		0x5d,				/*	pop %bp		*/
		0xcf,				/*	iret		*/
	};
	const __u8 iret = 0xcf;
	int i;

	page[STATS_HANDLER] = iret;
	memcpy(page + STATS_UD_HANDLER, skip_ud2, sizeof(skip_ud2));
	/* 64 KB of code from this page on. */
	gdt[STATS_CODE_SELECTOR / 8] = 0xffff | addr << 16 | 0x9bULL << 40;
	for (i = 0; i <= STATS_VECTOR; i++)
		idt[i] = gate;
	idt[6] = gate - STATS_HANDLER + STATS_UD_HANDLER;
}

/* Replace VMMCALL in the code by the hypercall of this machine's CPU. */
static inline void stats_arch_put_code(void *to, const char *code, size_t size)
{
	static const __u8 vmmcall[] = { 0x0f, 0x01, 0xd9 };
	static const __u8 vmcall[] = { 0x0f, 0x01, 0xc1 };
	void *end = to + size;

	memcpy(to, code, size);
	if (stats_arch_svm())
		return;
	while ((to = memmem(to, end - to, vmmcall, sizeof(vmmcall))))
		memcpy(to, vmcall, sizeof(vmcall));
}

/* Let a vCPU start at @pc with a count for the kernel exit guest. */
static inline void stats_arch_init_vcpu(struct __test_metadata *_metadata,
					int vcpu, __u64 pc, __u32 count)
{
	const __u64 page = pc & ~(STATS_STACK - 1ULL);
	struct kvm_segment segment = {
		.base = page,
		.limit = 0xffff,
		.present = 1,
		.s = 1,
	};
	struct kvm_regs regs = {
		.rip = pc - page,
		.rsi = count,
		.rdi = STATS_DATA,
		.rdx = 0x2f0,	/* a port without a device of KVM */
		.rsp = STATS_STACK,
		.rflags = STATS_RFLAGS,
	};
	struct kvm_sregs sregs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_SREGS, &sregs));
	sregs.cr0 |= 1;
	sregs.gdt.base = page + STATS_GDT;
	sregs.gdt.limit = STATS_CODE_SELECTOR + 7;
	sregs.idt.base = page + STATS_IDT;
	sregs.idt.limit = (STATS_VECTOR + 1) * 8 - 1;
	sregs.cs = segment;
	sregs.cs.selector = STATS_CODE_SELECTOR;
	sregs.cs.type = 11;
	sregs.ss = segment;
	sregs.ss.selector = STATS_DATA_SELECTOR;
	sregs.ss.type = 3;
	/* Data can be anywhere in the first 4 GiB. */
	sregs.ds = sregs.ss;
	sregs.ds.base = 0;
	sregs.ds.limit = 0xffffffff;
	sregs.ds.g = 1;
	sregs.es = sregs.ds;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_SREGS, &sregs));
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

#define stats_arch_restart_vcpu		stats_arch_init_vcpu

/* Let the touch guest write to @data instead of STATS_DATA. */
static inline void stats_arch_set_data(struct __test_metadata *_metadata, int vcpu, __u64 data)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_REGS, &regs));
	regs.rdi = data;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

/* Let a guest read two statistics, or write @value to the first one. */
static inline void stats_arch_set_sample(struct __test_metadata *_metadata,
					 int vcpu, const __u64 addr[2], __u32 value)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_REGS, &regs));
	regs.rax = value;
	regs.rbx = addr[0];
	regs.rdi = addr[1];
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

static inline void stats_arch_get_sample(struct __test_metadata *_metadata,
					 int vcpu, struct stats_sample *sample)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_REGS, &regs));
	sample->before[0] = regs.rcx;
	sample->before[1] = regs.rbp;
	sample->after[0] = regs.rbx;
	sample->after[1] = regs.rdi;
	sample->left = regs.rsi;
}

#endif /* SELFTEST_KVM_STATS_FD_ARCH_H */
