/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of KVM's statistics files know about x86: the statistics that
 * it counts, and guests of a few bytes of 16-bit code each, so that the tests
 * can tell how often a vCPU did what.
 */
#ifndef SELFTEST_KVM_STATS_FD_ARCH_H
#define SELFTEST_KVM_STATS_FD_ARCH_H

#include <cpuid.h>

#include "stats_fd_util.h"

static const struct stats_known stats_arch_vm[] = {
	STATS_CUMULATIVE("mmu_shadow_zapped"),
	STATS_CUMULATIVE("mmu_pte_write"),
	STATS_CUMULATIVE("mmu_pde_zapped"),
	STATS_CUMULATIVE("mmu_flooded"),
	STATS_CUMULATIVE("mmu_recycled"),
	STATS_CUMULATIVE("mmu_cache_miss"),
	STATS_INSTANT("mmu_unsync"),
	STATS_INSTANT("nx_lpage_splits"),
	STATS_INSTANT("mmu_shadow_pages"),
	STATS_INSTANT("pages_4k"),
	STATS_INSTANT("pages_2m"),
	STATS_INSTANT("pages_1g"),
	STATS_PEAK("max_mmu_rmap_size"),
	STATS_PEAK("max_mmu_page_hash_collisions"),
	{ }
};

static const struct stats_known stats_arch_vcpu[] = {
	STATS_CUMULATIVE("pf_fixed"),
	STATS_CUMULATIVE("pf_guest"),
	STATS_CUMULATIVE("pf_taken"),
	STATS_CUMULATIVE("pf_fast"),
	STATS_CUMULATIVE("pf_emulate"),
	STATS_CUMULATIVE("pf_spurious"),
	STATS_CUMULATIVE("pf_mmio_spte_created"),
	STATS_CUMULATIVE("tlb_flush"),
	STATS_CUMULATIVE("invlpg"),
	STATS_CUMULATIVE("exits"),
	STATS_CUMULATIVE("io_exits"),
	STATS_CUMULATIVE("mmio_exits"),
	STATS_CUMULATIVE("signal_exits"),
	STATS_CUMULATIVE("irq_window_exits"),
	STATS_CUMULATIVE("nmi_window_exits"),
	STATS_CUMULATIVE("notify_window_exits"),
	STATS_CUMULATIVE("l1d_flush"),
	STATS_CUMULATIVE("halt_exits"),
	STATS_CUMULATIVE("request_irq_exits"),
	STATS_CUMULATIVE("irq_exits"),
	STATS_CUMULATIVE("host_state_reload"),
	STATS_CUMULATIVE("fpu_reload"),
	STATS_CUMULATIVE("insn_emulation"),
	STATS_CUMULATIVE("insn_emulation_fail"),
	STATS_CUMULATIVE("hypercalls"),
	STATS_CUMULATIVE("irq_injections"),
	STATS_CUMULATIVE("nmi_injections"),
	STATS_CUMULATIVE("req_event"),
	STATS_CUMULATIVE("preemption_reported"),
	STATS_CUMULATIVE("preemption_other"),
	STATS_CUMULATIVE("directed_yield_attempted"),
	STATS_CUMULATIVE("directed_yield_successful"),
	STATS_CUMULATIVE("nested_run"),
	STATS_INSTANT_BOOLEAN("guest_mode"),
	{ }
};

/* The statistic that counts all exits. */
#define STATS_EXITS		"exits"

/* The statistic that counts the exits of the user exit guest, and no others. */
#define STATS_USER_EXITS	"io_exits"
#define STATS_USER_EXIT_REASON	KVM_EXIT_IO

/* Exits that KVM handles itself, as many as the guest was given, then a spin. */
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

/* 16-bit code: what is done, as often as %esi says, and then the user exit. */
#define STATS_GUEST_LOOP(name, action)					\
	STATS_GUEST_CODE(name,						\
		".code16\n"						\
		"1:	" action "\n"					\
		"	dec %esi\n"					\
		"	jnz 1b\n"					\
		"	out %al, (%dx)\n"				\
		".code64\n")

/* Where an ioeventfd goes. */
#define STATS_IOEVENTFD_PORT	0x2f8
#define STATS_IOEVENTFD_ADDR	0x3000

STATS_GUEST_LOOP(stats_hypercall, "vmmcall");
STATS_GUEST_LOOP(stats_port, "out %al, $0x80");
STATS_GUEST_LOOP(stats_port_ioeventfd,
		 "mov $0x2f8, %dx; out %al, (%dx); mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_mmio_write, "mov %al, 0x2000");
STATS_GUEST_LOOP(stats_mmio_read, "mov 0x2000, %al");
STATS_GUEST_LOOP(stats_mmio_ioeventfd, "mov %al, 0x3000");
STATS_GUEST_LOOP(stats_hlt, "hlt");
STATS_GUEST_LOOP(stats_invlpg, "invlpg 0x2000");
/* KVM emulates no MMX arithmetic. */
STATS_GUEST_LOOP(stats_unknown, "paddb 0x2000, %mm0");
STATS_GUEST_LOOP(stats_spin, "jmp 1b");
STATS_GUEST_LOOP(stats_cpuid, "cpuid; mov $0x2f0, %dx");
/* The microcode's revision, and its update, which is ignored. */
STATS_GUEST_LOOP(stats_rdmsr, "mov $0x8b, %ecx; rdmsr; mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_wrmsr, "mov $0x79, %ecx; wrmsr");
STATS_GUEST_LOOP(stats_cr4, "xor $0x10, %eax; mov %eax, %cr4");
/* KVM gives the registers to the guest until its next exit. */
STATS_GUEST_LOOP(stats_dr, "mov %db0, %eax; cpuid; mov $0x2f0, %dx");
STATS_GUEST_LOOP(stats_wbinvd, "wbinvd");
STATS_GUEST_LOOP(stats_ud2, "ud2");

/* Writes to as many pages as %esi says from %edi on, again in each KVM_RUN. */
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

/* Sleeps until it is woken, once in each KVM_RUN. */
STATS_GUEST_CODE(stats_sleep,
		 ".code16\n"
		 "1:	hlt\n"
		 "	out %al, (%dx)\n"
		 "	jmp 1b\n"
		 ".code64\n");

/*
 * Guests that look at statistics: one at (%ebx), which mostly is exits, and another
 * one at (%edi). They are 64 bits wide, and what is counted here fits in 32.
 */
#define STATS_GUEST_LOOK(name, code)					\
	STATS_GUEST_CODE(name,						\
		".code16\n"						\
		code							\
		"	mov (%edi), %edi\n"				\
		"	out %al, (%dx)\n"				\
		".code64\n")

/* As often as %esi says, as long as it does not move. */
STATS_GUEST_LOOK(stats_look_still,
		 "	mov (%ebx), %ecx\n"
		 "1:	mov (%ebx), %eax\n"
		 "	cmp %eax, %ecx\n"
		 "	jne 2f\n"
		 "	dec %esi\n"
		 "	jnz 1b\n"
		 "2:	mov %eax, %ebx\n");

/* Until it is at least %esi. */
STATS_GUEST_LOOK(stats_look_until,
		 "1:	mov (%ebx), %eax\n"
		 "	cmp %esi, %eax\n"
		 "	jb 1b\n"
		 "	mov %eax, %ebx\n");

/* Before and after what is done, as often as %esi says. */
#define STATS_GUEST_LOOK_AROUND(name, action)				\
	STATS_GUEST_LOOK(name,						\
		"	mov (%ebx), %ecx\n"				\
		"	mov (%edi), %ebp\n"				\
		"1:	" action "\n"					\
		"	dec %esi\n"					\
		"	jnz 1b\n"					\
		"	mov (%ebx), %ebx\n")

/* No hypercall has the number 0. */
STATS_GUEST_LOOK_AROUND(stats_look_hypercall, "xor %eax, %eax; vmmcall");
STATS_GUEST_LOOK_AROUND(stats_look_port, "out %al, $0x80");
STATS_GUEST_LOOK_AROUND(stats_look_mmio_write, "mov %al, 0x2000");
STATS_GUEST_LOOK_AROUND(stats_look_mmio_read, "mov 0x2000, %al");

/* Writes to a statistic, of all sizes: STATS_WRITE_SIZES. */
STATS_GUEST_CODE(stats_write,
		 ".code16\n"
		 "	mov %al, (%ebx)\n"
		 "	mov %ax, (%ebx)\n"
		 "	mov %eax, (%ebx)\n"
		 "	out %al, (%dx)\n"
		 ".code64\n");
#define STATS_WRITE_SIZES	{ 1, 2, 4 }

/* Reads it and writes what becomes of it, with and without locking the bus. */
STATS_GUEST_CODE(stats_increment,
		 ".code16\n"
		 "	incl (%ebx)\n"
		 "	lock incl (%ebx)\n"
		 "	out %al, (%dx)\n"
		 ".code64\n");

/*
 * 32-bit code with paging: writes to one of its page tables and loads CR3, all
 * the time. The first time it exits to user space in between.
 */
STATS_GUEST_CODE(stats_unsync,
		 ".code32\n"
		 "	mov %eax, (%edi)\n"
		 "	out %al, (%dx)\n"
		 "1:	mov %cr3, %eax\n"
		 "	mov %eax, %cr3\n"
		 "	mov %eax, (%edi)\n"
		 "	jmp 1b\n"
		 ".code64\n");

/*
 * In the page of the code: the handlers of UD2 and of all interrupts, descriptor tables, and
 * the stack's end. The code runs in 16-bit protected mode, for there are Intel
 * CPUs on which KVM emulates real mode: its exits would be none.
 */
#define STATS_UD_HANDLER	0x7d0
#define STATS_HANDLER		0x7e8
#define STATS_GDT		0x7f0
#define STATS_IDT		0x800
#define STATS_VECTOR		0x20
#define STATS_STACK		0x1000

#define STATS_CODE_SELECTOR	8
#define STATS_DATA_SELECTOR	16

/*
 * Guests take interrupts: with them off, there are none for the host of a guest
 * that spins under Bochs, where it cannot end.
 */
#define STATS_RFLAGS		0x202

/* The statistic that counts the sleep guest's sleeps. */
#define STATS_SLEEPS		"halt_exits"

/* Flushes of remote TLBs that a call asks for that unmaps pages of the guest. */
#define STATS_UNMAP_REQUESTS(pages)	1
#define STATS_UNMAP_TABLES		0

/* Those for the first write to a page since its log was taken. */
#define STATS_REWRITE_REQUESTS	0

/* Whether one is done even if no vCPU is in the guest. */
#define STATS_FLUSHES_IDLE_VM	0

/* The list of system calls in tools/, which tests are built with, has 282. */
#define STATS_SYS_USERFAULTFD	323

/* The one that counts KVM_RUNs, whatever ends them. */
#define STATS_RUNS		"fpu_reload"

/*
 * Those that count what a guest does and nothing else. Not insn_emulation, for
 * KVM may decode an instruction to find the next one.
 */
static const char * const stats_arch_exact[] = {
	"io_exits", "mmio_exits", "hypercalls", "halt_exits", "signal_exits",
	"insn_emulation_fail", "invlpg", "request_irq_exits", "irq_injections",
	"nmi_injections", STATS_RUNS, NULL
};

static inline bool stats_parameter_is_off(const char *module, const char *name)
{
	char path[64], value;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module,
		 name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &value, 1) != 1)
		value = 'N';
	close(fd);
	return value == 'N' || value == '0';
}

/* Whether KVM uses AMD's extension. */
static inline bool stats_arch_svm(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & 4);
}

/* Whether KVM shadows the guest's page tables. */
static inline bool stats_arch_shadows(void)
{
	unsigned int eax, ebx, ecx, edx;

	/* AMD's module leaves its parameter alone if the CPU lacks it. */
	if (stats_arch_svm()) {
		__cpuid(0x8000000a, eax, ebx, ecx, edx);
		return !(edx & 1) || stats_parameter_is_off("kvm_amd", "npt");
	}
	return stats_parameter_is_off("kvm_intel", "ept");
}

/*
 * The exits that are a guest's own doing: not those by interrupts of the host, and
 * not page faults, but for those that end in the emulation of an access to MMIO.
 */
static inline __u64 stats_arch_own_exits(struct __test_metadata *_metadata,
					 const struct stats_file *f)
{
	return stats_read(_metadata, f, "exits") -
	       stats_read(_metadata, f, "irq_exits") -
	       stats_read(_metadata, f, "pf_taken") +
	       stats_read(_metadata, f, "pf_emulate");
}

#define STATS_OWN_EXITS		stats_arch_own_exits

/* INVLPG is the guest's own business, unless its page tables are shadowed. */
static inline int stats_unless_shadowed(void)
{
	return !stats_arch_shadows();
}

/*
 * EPT can say that an address has no memory, and KVM then knows the ioeventfd
 * without a look at the instruction.
 */
static inline const char *stats_emulated_once_with_ept(void)
{
	return stats_arch_svm() || stats_arch_shadows() ? NULL :
							  "insn_emulation";
}

static const struct stats_activity stats_arch_activities[] = {
	{
		STATS_ACTIVITY(stats_hypercall),
		.moves = { "hypercalls" },
	}, {
		STATS_ACTIVITY(stats_port),
		.exit_reason = KVM_EXIT_IO,
		.moves = { "io_exits" },
	}, {
		STATS_ACTIVITY(stats_port_ioeventfd),
		.moves = { "io_exits" },
	}, {
		STATS_ACTIVITY(stats_mmio_write),
		.exit_reason = KVM_EXIT_MMIO,
		.moves = { "mmio_exits", "insn_emulation" },
	}, {
		STATS_ACTIVITY(stats_mmio_read),
		.exit_reason = KVM_EXIT_MMIO,
		.moves = { "mmio_exits", "insn_emulation" },
	}, {
		/* Not mmio_exits, which counts those to user space. */
		STATS_ACTIVITY(stats_mmio_ioeventfd),
		.moves = { "insn_emulation" },
		.moves_once = stats_emulated_once_with_ept,
	}, {
		/* A VM without an interrupt controller halts in user space. */
		STATS_ACTIVITY(stats_hlt),
		.exit_reason = KVM_EXIT_HLT,
		.moves = { "halt_exits" },
	}, {
		STATS_ACTIVITY(stats_invlpg),
		.moves = { "invlpg" },
		.moves_nothing = stats_unless_shadowed,
	}, {
		/* Each KVM_RUN meets it again. */
		STATS_ACTIVITY(stats_unknown),
		.exit_reason = KVM_EXIT_INTERNAL_ERROR,
		.moves = { "insn_emulation", "insn_emulation_fail" },
	},
	{ }
};

/* The reason of the user exit guest's exits. */
#define STATS_USER_REASON	"io"

/* Of those that a guest's first access to its memory is. */
static inline const char *stats_arch_fault_reason(void)
{
	return stats_arch_shadows() ? "page_fault" : "nested_page_fault";
}

/* The reasons that have a statistic of their own, unless a guest is nested. */
static const char * const stats_arch_same[][2] = {
	{ "interrupt", "irq_exits" },
	{ "interrupt_window", "irq_window_exits" },
	{ "nmi_window", "nmi_window_exits" },
	{ "io", "io_exits" },
	{ "hlt", "halt_exits" },
	{ }
};

/* What a guest does, and the reasons of the exits that it has by that. */
static const struct stats_activity stats_arch_reasons[] = {
	{
		STATS_ACTIVITY(stats_cpuid),
		.moves = { "cpuid" },
	}, {
		STATS_ACTIVITY(stats_hypercall),
		.moves = { "hypercall" },
	}, {
		STATS_ACTIVITY(stats_port),
		.exit_reason = KVM_EXIT_IO,
		.moves = { "io" },
	}, {
		STATS_ACTIVITY(stats_mmio_write),
		.exit_reason = KVM_EXIT_MMIO,
		.moves = { "mmio" },
	}, {
		STATS_ACTIVITY(stats_mmio_read),
		.exit_reason = KVM_EXIT_MMIO,
		.moves = { "mmio" },
	}, {
		STATS_ACTIVITY(stats_hlt),
		.exit_reason = KVM_EXIT_HLT,
		.moves = { "hlt" },
	}, {
		STATS_ACTIVITY(stats_rdmsr),
		.moves = { "msr_read" },
	}, {
		STATS_ACTIVITY(stats_wrmsr),
		.moves = { "msr_write" },
	}, {
		STATS_ACTIVITY(stats_cr4),
		.moves = { "cr_access" },
	}, {
		STATS_ACTIVITY(stats_dr),
		.moves = { "dr_access", "cpuid" },
		.again = "dr_access",
	}, {
		STATS_ACTIVITY(stats_invlpg),
		.moves = { "invlpg" },
		.moves_nothing = stats_unless_shadowed,
	}, {
		STATS_ACTIVITY(stats_wbinvd),
		.moves = { "wbinvd" },
	}, {
		STATS_ACTIVITY(stats_ud2),
		.moves = { "exception" },
	},
	{ }
};

/* What a guest does between two looks, and what moves by that. */
static const struct stats_activity stats_arch_looked_at[] = {
	{
		STATS_ACTIVITY(stats_look_hypercall),
		.moves = { "hypercalls" },
	}, {
		STATS_ACTIVITY(stats_look_port),
		.exit_reason = KVM_EXIT_IO,
		.moves = { "io_exits" },
	}, {
		STATS_ACTIVITY(stats_look_mmio_write),
		.exit_reason = KVM_EXIT_MMIO,
		.moves = { "mmio_exits" },
	}, {
		STATS_ACTIVITY(stats_look_mmio_read),
		.exit_reason = KVM_EXIT_MMIO,
		.moves = { "mmio_exits" },
	},
	{ }
};

/* Intel needs a place for its TSS to run real mode, in which vCPUs begin. */
static inline void stats_arch_init_vm(struct __test_metadata *_metadata, int vm)
{
	ASSERT_EQ(0, ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000UL));
}

/* So that KVM itself lets a vCPU sleep, and wakes it. */
static inline void stats_arch_create_irqchip(struct __test_metadata *_metadata,
					     int vm)
{
	ASSERT_EQ(0, ioctl(vm, KVM_CREATE_IRQCHIP, 0));
}

/*
 * Have an NMI wake the vCPU: it needs no interrupt controller that is set up.
 * Sent to all, for KVM finds no vCPU by its number before something changes in
 * its interrupt controller.
 */
static inline void stats_arch_wake(struct __test_metadata *_metadata, int vm,
				   int vcpu)
{
	struct kvm_msi msi = {
		.address_lo = 0xfeeff000,
		.data = 4 << 8,
	};

	ASSERT_EQ(1, ioctl(vm, KVM_SIGNAL_MSI, &msi));
}

/* The NMI is over as soon as it is taken. */
static inline void stats_arch_woken(struct __test_metadata *_metadata, int vm,
				    int vcpu)
{
}

/* Interrupts return at once, NMIs as well, and UD2 does nothing. */
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

/* VMMCALL in code is the hypercall of this machine's CPU. */
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

/* Have a vCPU start at @pc, with @count for the kernel exit guest. */
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
		.rdx = 0x2f0,	/* no device of KVM is at this port */
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
	/* Data is anywhere in the first 4 GiB. */
	sregs.ds = sregs.ss;
	sregs.ds.base = 0;
	sregs.ds.limit = 0xffffffff;
	sregs.ds.g = 1;
	sregs.es = sregs.ds;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_SREGS, &sregs));
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

#define stats_arch_restart_vcpu	stats_arch_init_vcpu

/* Have KVM write to a page of the guest: a clock that it keeps there. */
static inline int stats_arch_dirty(int vcpu, __u64 addr)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = {
		.head.nmsrs = 1,
		.entry.index = 0x4b564d00,	/* MSR_KVM_WALL_CLOCK_NEW */
		.entry.data = addr,
	};

	return ioctl(vcpu, KVM_SET_MSRS, &msrs) == 1 ? 0 : -1;
}

/* Have the touch guest write to another place than STATS_DATA. */
static inline void stats_arch_set_data(struct __test_metadata *_metadata,
				       int vcpu, __u64 data)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_REGS, &regs));
	regs.rdi = data;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

/* Have a guest look at two statistics, and write @value if it writes. */
static inline void stats_arch_set_look(struct __test_metadata *_metadata,
				       int vcpu, const __u64 addr[2],
				       __u32 value)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_REGS, &regs));
	regs.rax = value;
	regs.rbx = addr[0];
	regs.rdi = addr[1];
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

static inline void stats_arch_get_look(struct __test_metadata *_metadata,
				       int vcpu, struct stats_look *look)
{
	struct kvm_regs regs;

	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_REGS, &regs));
	look->before[0] = regs.rcx;
	look->before[1] = regs.rbp;
	look->after[0] = regs.rbx;
	look->after[1] = regs.rdi;
	look->left = regs.rsi;
}

/*
 * Page tables at STATS_DATA: a directory, the table of the code's page and the
 * one of their own pages.
 */
#define STATS_PAGE		0x1000
#define STATS_TABLES_SIZE	(3 * STATS_PAGE)

/* Map the page of @addr where it is, as user's and writable. */
static inline void stats_map(void *tables, int table, __u32 addr)
{
	__u32 (*entries)[STATS_PAGE / sizeof(__u32)] = tables;

	entries[0][addr >> 22] = (STATS_DATA + table * STATS_PAGE) | 7;
	entries[table][addr / STATS_PAGE % 1024] = (addr & -STATS_PAGE) | 7;
}

/* Segments of 4 GB, all with one selector. */
static inline void stats_set_flat_segments(struct kvm_sregs *sregs,
					   __u16 selector)
{
	struct kvm_segment flat = {
		.limit = 0xffffffff,
		.selector = selector,
		.type = 3,
		.present = 1,
		.db = 1,
		.s = 1,
		.g = 1,
	};

	sregs->ds = flat;
	sregs->es = flat;
	sregs->ss = flat;
	sregs->cs = flat;
	sregs->cs.type = 11;
}

/* Have a vCPU start at @pc in 32-bit mode; %edi is a table entry of no use. */
static inline void stats_arch_init_paging(struct __test_metadata *_metadata,
					  int vcpu, __u64 pc, void *tables)
{
	const __u32 own_table = STATS_DATA + 2 * STATS_PAGE;
	struct kvm_regs regs = {
		.rip = pc,
		.rdi = own_table + STATS_PAGE - sizeof(__u32),
		.rdx = 0x2f0,
		.rflags = STATS_RFLAGS,
	};
	struct kvm_sregs sregs;

	stats_map(tables, 1, pc);
	stats_map(tables, 2, own_table);
	ASSERT_EQ(0, ioctl(vcpu, KVM_GET_SREGS, &sregs));
	stats_set_flat_segments(&sregs, 8);
	sregs.cr3 = STATS_DATA;
	sregs.cr0 |= 0x80000001;
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_SREGS, &sregs));
	ASSERT_EQ(0, ioctl(vcpu, KVM_SET_REGS, &regs));
}

#endif /* SELFTEST_KVM_STATS_FD_ARCH_H */
