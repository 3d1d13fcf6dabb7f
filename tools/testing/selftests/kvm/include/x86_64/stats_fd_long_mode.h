/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU in 64-bit mode for the tests of x86's statistics. The test writes the guest's page
 * tables itself, and thus knows the exact number of page faults and shadow pages.
 */
#ifndef SELFTEST_KVM_STATS_FD_LONG_MODE_H
#define SELFTEST_KVM_STATS_FD_LONG_MODE_H

#include "stats_fd_counts.h"

#define LM_PAGE			4096UL

/*
 * The guest-physical address of a slot that has all that the CPU itself reads, and some
 * pages for the test. Below 2 MB, virtual addresses are the same.
 */
#define LM_TABLES		0x100000UL
enum lm_page {
	LM_PML4,
	LM_PDPT,
	LM_PD_LOW,
	LM_PT_LOW,
	LM_PD,		/* of LM_GVA */
	LM_PT,		/* of LM_GVA */
	LM_SYSTEM,	/* descriptor tables */
	LM_CODE,
	LM_FAULT_HANDLER,
	LM_STACK,
	LM_FREE,	/* the first of eight pages for the test */
	LM_PAGES = LM_FREE + 8,
};

/* 2 MB of virtual addresses, unmapped until lm_map(). */
#define LM_GVA			0x40000000UL

/* Ports for the end of the code and for the page fault handler. */
#define LM_PORT_DONE		0x2f0
#define LM_PORT_FAULT		0x42

/* Accessed and dirty, so that the first write is not another fault. */
#define LM_PTE_PRESENT		0x1UL
#define LM_PTE_FLAGS		(LM_PTE_PRESENT | 0x66UL)

#define LM_CR0			0x80010031UL	/* PG, WP, NE, ET, PE */
#define LM_CR4			0x20UL		/* PAE */
#define LM_EFER			0x500UL		/* LMA, LME */

/* Write to %rsi addresses from %rdi on, %rbx apart, then exit. */
STATS_GUEST_CODE(lm_code,
		 "1:	movb %al, (%rdi)\n"
		 "	addq %rbx, %rdi\n"
		 "	decq %rsi\n"
		 "	jnz 1b\n"
		 "2:	outb %al, (%dx)\n"
		 "	jmp 2b\n");

STATS_GUEST_CODE(lm_fault_handler,
		 "1:	outb %al, $0x42\n"
		 "	jmp 1b\n");

static inline __u64 lm_gpa(int page)
{
	return LM_TABLES + page * LM_PAGE;
}

static inline void *lm_hva(char *t, int page)
{
	return t + page * LM_PAGE;
}

static inline void lm_set_pte(char *t, int table, int index, __u64 pte)
{
	((__u64 *)lm_hva(t, table))[index] = pte;
}

/* Map a page at LM_GVA. */
static inline void lm_map(char *t, int page, __u64 gpa)
{
	lm_set_pte(t, LM_PT, page, gpa | LM_PTE_FLAGS);
}

/* Map the first 2 MB to themselves with these four tables. */
static inline void lm_map_low(char *t, int pml4, int pdpt, int pd, int pt)
{
	int i;

	lm_set_pte(t, pml4, 0, lm_gpa(pdpt) | LM_PTE_FLAGS);
	lm_set_pte(t, pdpt, 0, lm_gpa(pd) | LM_PTE_FLAGS);
	lm_set_pte(t, pd, 0, lm_gpa(pt) | LM_PTE_FLAGS);
	for (i = 0; i < 512; i++)
		lm_set_pte(t, pt, i, i * LM_PAGE | LM_PTE_FLAGS);
}

#define LM_GDT_CODE		8
#define LM_IDT_OFFSET		0x100

/* Interrupts are off in the handler, whose address is below 4 GB. */
static inline void lm_set_handler(char *t, int vector, __u64 handler)
{
	__u64 *idt = lm_hva(t, LM_SYSTEM) + LM_IDT_OFFSET;

	idt[vector * 2] = (handler & 0xffff) | LM_GDT_CODE << 16 |
			  0x8e00UL << 32 | (handler >> 16 & 0xffff) << 48;
}

static inline char *lm_create_tables(struct __test_metadata *_metadata,
				     struct guest *g, int slot)
{
	char *t = guest_add_memory(_metadata, g, slot, 0, LM_TABLES, LM_PAGES * LM_PAGE);

	lm_map_low(t, LM_PML4, LM_PDPT, LM_PD_LOW, LM_PT_LOW);
	lm_set_pte(t, LM_PDPT, LM_GVA >> 30, lm_gpa(LM_PD) | LM_PTE_FLAGS);
	lm_set_pte(t, LM_PD, 0, lm_gpa(LM_PT) | LM_PTE_FLAGS);
	/* Descriptor 1 is 64-bit code, gate 14 is the page fault handler. */
	lm_set_pte(t, LM_SYSTEM, LM_GDT_CODE / 8, 0x00af9b000000ffffUL);
	lm_set_handler(t, 14, lm_gpa(LM_FAULT_HANDLER));
	memcpy(lm_hva(t, LM_CODE), lm_code, lm_code_end - lm_code);
	memcpy(lm_hva(t, LM_FAULT_HANDLER), lm_fault_handler,
	       lm_fault_handler_end - lm_fault_handler);
	return t;
}

/*
 * Enable all features of the host, among them 64-bit mode. Also enable the TSC deadline,
 * which KVM does not list because it depends on the interrupt controller.
 */
static inline void lm_set_cpuid(struct __test_metadata *_metadata, int vcpu)
{
	const int max = 128;
	int kvm = stats_open_kvm(_metadata);
	struct kvm_cpuid2 *cpuid;
	__u32 i;

	cpuid = calloc(1, sizeof(*cpuid) + max * sizeof(cpuid->entries[0]));
	ASSERT_NE(NULL, cpuid);
	cpuid->nent = max;
	ASSERT_EQ(0, ioctl(kvm, KVM_GET_SUPPORTED_CPUID, cpuid));
	for (i = 0; i < cpuid->nent; i++) {
		if (cpuid->entries[i].function == 1)
			cpuid->entries[i].ecx |= 1 << 24;
		/* "Hv#1": newer kernels need the interface for Hyper-V's hypercalls. */
		if (cpuid->entries[i].function == 0x40000001)
			cpuid->entries[i].eax = 0x31237648;
	}
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_CPUID2, cpuid));
	free(cpuid);
	close(kvm);
}

/* Set up 64-bit mode with flat segments and additional bits of EFER. */
static inline void lm_init_vcpu(struct __test_metadata *_metadata, int vcpu, __u64 efer)
{
	const struct kvm_segment flat = {
		.limit = 0xffffffff,
		.selector = 16,
		.type = 3,
		.present = 1,
		.db = 1,
		.s = 1,
		.g = 1,
	};
	struct kvm_sregs sregs;

	lm_set_cpuid(_metadata, vcpu);
	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_SREGS, &sregs));
	sregs.ds = flat;
	sregs.es = flat;
	sregs.ss = flat;
	sregs.cs = flat;
	sregs.cs.type = 11;
	sregs.cs.selector = LM_GDT_CODE;
	sregs.cs.db = 0;
	sregs.cs.l = 1;
	sregs.tr.type = 11;
	sregs.tr.present = 1;
	sregs.gdt.base = lm_gpa(LM_SYSTEM);
	sregs.gdt.limit = 15;
	sregs.idt.base = lm_gpa(LM_SYSTEM) + LM_IDT_OFFSET;
	sregs.idt.limit = (STATS_VECTOR + 1) * 16 - 1;
	sregs.cr0 = LM_CR0;
	sregs.cr3 = lm_gpa(LM_PML4);
	sregs.cr4 = LM_CR4;
	sregs.efer = LM_EFER | efer;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_SREGS, &sregs));
}

/* Run until the guest writes to a port, and return the port. */
static inline int lm_run(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	vcpu_run(_metadata, v, KVM_EXIT_IO);
	return v->run->io.port;
}

static inline void lm_set_regs(struct __test_metadata *_metadata, struct guest_vcpu *v,
			       const struct kvm_regs *regs)
{
	vcpu_complete_exit(_metadata, v);
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_REGS, regs));
}

/* Let the guest write to @count addresses. Return the port of its exit. */
static inline int lm_write(struct __test_metadata *_metadata,
			   struct guest_vcpu *v, __u64 gva, __u64 count, __u64 stride)
{
	struct kvm_regs regs = {
		.rip = lm_gpa(LM_CODE),
		.rflags = STATS_RFLAGS,
		.rsp = lm_gpa(LM_STACK + 1),
		.rdi = gva,
		.rsi = count,
		.rbx = stride,
		.rdx = LM_PORT_DONE,
	};

	lm_set_regs(_metadata, v, &regs);
	return lm_run(_metadata, v);
}

static inline __u64 access_msr(struct __test_metadata *_metadata, const struct guest_vcpu *v,
			       unsigned long request, __u32 index, __u64 data)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = {
		.head.nmsrs = 1,
		.entry.index = index,
		.entry.data = data,
	};

	ASSERT_EQ(1, ioctl(v->fd, request, &msrs)) TH_LOG("MSR %#x", index);
	return msrs.entry.data;
}

static inline __u64 get_msr(struct __test_metadata *_metadata,
			    const struct guest_vcpu *v, __u32 index)
{
	return access_msr(_metadata, v, KVM_GET_MSRS, index, 0);
}

static inline void set_msr(struct __test_metadata *_metadata,
			   const struct guest_vcpu *v, __u32 index, __u64 data)
{
	access_msr(_metadata, v, KVM_SET_MSRS, index, data);
}

/* 64-bit code: do @action as often as %rsi says, then the user exit. */
#define LONG_MODE_LOOP(name, action)					\
	STATS_GUEST_CODE(name,						\
		"1:	" action "\n"					\
		"	decq %rsi\n"					\
		"	jnz 1b\n"					\
		"2:	outb %al, $0x80\n"				\
		"	jmp 2b\n")

LONG_MODE_LOOP(write_msr, "mov %rbx, %rcx; mov %rdi, %rdx; wrmsr");

static inline void lm_start_loop(struct __test_metadata *_metadata, struct guest *g,
				 const char *code, const char *end,
				 const struct kvm_regs *arguments)
{
	struct kvm_regs regs = *arguments;

	guest_put_code(_metadata, g, code, end);
	regs.rip = GUEST_CODE;
	regs.rflags = STATS_RFLAGS;
	lm_set_regs(_metadata, &g->vcpu[0], &regs);
}

#define MSR_APIC_BASE		0x1b
#define MSR_TSC_DEADLINE	0x6e0
#define MSR_X2APIC_SPIV		0x80f
#define MSR_X2APIC_ICR		0x830
#define MSR_X2APIC_LVTT		0x832

#define APIC_BASE		0xfee00000
#define APIC_BASE_BSP		0x100
#define APIC_BASE_X2APIC	0x400
#define APIC_BASE_ENABLED	0x800
#define APIC_SPIV_ENABLED	0x100
#define APIC_LVTT_DEADLINE	0x40000

#define APIC_ID_OF_NONE		77	/* no vCPU has it */

static inline void lm_use_x2apic(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	set_msr(_metadata, v, MSR_APIC_BASE, APIC_BASE | APIC_BASE_BSP | APIC_BASE_ENABLED |
		APIC_BASE_X2APIC);
	set_msr(_metadata, v, MSR_X2APIC_SPIV, APIC_SPIV_ENABLED | 0xff);
	set_msr(_metadata, v, MSR_X2APIC_LVTT, APIC_LVTT_DEADLINE | STATS_VECTOR);
}

/* Return the exits of a guest that writes to an MSR several times and exits. */
static inline __u64 lm_exits_of_writes(struct __test_metadata *_metadata, struct guest *g,
				       int times, __u32 msr, __u32 low, __u32 high)
{
	struct guest_vcpu *v = &g->vcpu[0];
	__u64 before;

	lm_start_loop(_metadata, g, write_msr, write_msr_end,
		      &(struct kvm_regs){ .rsi = times, .rbx = msr, .rax = low, .rdi = high });
	before = own_exits(_metadata, v);
	vcpu_run(_metadata, v, KVM_EXIT_IO);
	return own_exits(_metadata, v) - before;
}

#endif /* SELFTEST_KVM_STATS_FD_LONG_MODE_H */
