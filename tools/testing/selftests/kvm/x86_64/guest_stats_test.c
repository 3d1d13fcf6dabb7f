// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guests count their own KVM statistics: the register and the capability, names, exact counts,
 * overflows as NMIs, the timer, and memory and vCPUs that change meanwhile. The guests are the
 * functions guest_*(), without a kernel.
 */
#include <linux/bits.h>
#include <pthread.h>
#include <sys/mman.h>

#include "guest_stats.h"
#include "apic.h"
#include "svm_util.h"
#include "vmx.h"

#define COUNT_BIT	KVM_GUEST_STATS_COUNT
#define OVERFLOW_BIT	KVM_GUEST_STATS_OVERFLOW
#define TIMER_BIT	KVM_GUEST_STATS_TIMER
#define HOST_BIT	KVM_GUEST_STATS_HOST
#define ALL_BITS	(COUNT_BIT | OVERFLOW_BIT | TIMER_BIT | HOST_BIT)

#define PERIOD		10
#define LVTPC_MASKED	BIT(16)

#ifndef APIC_LVTPC
#define APIC_LVTPC	0x340
#endif

static u64 nmis, nmi_rip, nmi_overflow, cpuid_rip;
static bool keep_overflow, ignore_nmis;

static void handle_nmi(struct ex_regs *regs)
{
	if (READ_ONCE(ignore_nmis))
		return;
	WRITE_ONCE(nmis, nmis + 1);
	nmi_rip = regs->rip;
	nmi_overflow = READ_ONCE(area->overflow);
	if (!keep_overflow)
		__atomic_fetch_and(&area->overflow, ~nmi_overflow, __ATOMIC_SEQ_CST);
	/* On Intel, the local APIC has masked the entry. */
	x2apic_write_reg(APIC_LVTPC, APIC_DM_NMI);
}

static struct kvm_vm *create_with_nmi(u64 bits, void *code, struct kvm_vcpu **vcpu)
{
	struct kvm_vm *vm = create_vm(bits, code, vcpu);

	vm_install_exception_handler(vm, NMI_VECTOR, handle_nmi);
	return vm;
}

static void create_and_run_with_nmi(u64 bits, void *code)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_with_nmi(bits, code, &vcpu);

	run(vcpu);
	kvm_vm_free(vm);
}

/*
 * IRET ends the blocking of NMIs. In Bochs 2.7 a new VM begins with them blocked, if the last VM
 * of the CPU ended in the handler of an NMI.
 */
static void unblock_nmis(void)
{
	asm volatile("mov %%rsp, %%rdx\n\t"
		     "sub $128, %%rsp\n\t"
		     "mov %%ss, %%eax\n\t"
		     "push %%rax\n\t"
		     "push %%rdx\n\t"
		     "pushfq\n\t"
		     "mov %%cs, %%eax\n\t"
		     "push %%rax\n\t"
		     "lea 1f(%%rip), %%rax\n\t"
		     "push %%rax\n\t"
		     "iretq\n\t"
		     "1:" : : : "rax", "rdx", "memory", "cc");
}

static void enable_nmi(void)
{
	unblock_nmis();
	x2apic_enable();
	x2apic_write_reg(APIC_LVTPC, APIC_DM_NMI);
}

static __always_inline void do_cpuid(void)
{
	u32 eax = 0, ecx = 0;

	asm volatile("lea 1f(%%rip), %%rbx; mov %%rbx, %2; cpuid; 1:"
		     : "+a"(eax), "+c"(ecx), "=m"(cpuid_rip) : : "rbx", "rdx", "memory");
}

static u8 write_register(u64 value)
{
	return wrmsr_safe(MSR_KVM_GUEST_STATS, value);
}

static void enable_area(void)
{
	GUEST_ASSERT_EQ(write_register(AREA_GPA | ENABLED), 0);
}

static void name_cpuid(void)
{
	set_name(area, 0, "exit_reasons.cpuid");
	enable_area();
	GUEST_ASSERT_EQ(status(0), 0);
}

/* The capability and the register */

TEST(check_extension_returns_the_bits)
{
	struct kvm_vm *vm = vm_create(1);

	EXPECT_EQ(ALL_BITS, kvm_check_cap(KVM_CAP_GUEST_STATS));
	EXPECT_EQ(ALL_BITS, vm_check_cap(vm, KVM_CAP_GUEST_STATS));
	kvm_vm_free(vm);
}

TEST(unknown_and_incomplete_bits_return_EINVAL)
{
	struct kvm_vm *vm = vm_create(1);

	EXPECT_EQ(-EINVAL, enable(vm, BIT(4) | COUNT_BIT));
	EXPECT_EQ(-EINVAL, enable(vm, BIT(63) | COUNT_BIT));
	EXPECT_EQ(-EINVAL, enable(vm, OVERFLOW_BIT));
	EXPECT_EQ(-EINVAL, enable(vm, COUNT_BIT | TIMER_BIT));
	EXPECT_EQ(-EINVAL, enable(vm, HOST_BIT));
	kvm_vm_free(vm);
}

static void guest_refused(void)
{
	u64 value;

	GUEST_ASSERT_EQ(write_register(AREA_GPA | ENABLED), GP_VECTOR);
	GUEST_ASSERT_EQ(write_register(0), GP_VECTOR);
	GUEST_ASSERT_EQ(rdmsr_safe(MSR_KVM_GUEST_STATS, &value), GP_VECTOR);
	GUEST_DONE();
}

TEST(vm_without_the_capability_has_no_register)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(0, guest_refused, &vcpu);

	run(vcpu);
	EXPECT_EQ(0, _vcpu_set_msr(vcpu, MSR_KVM_GUEST_STATS, AREA_GPA | ENABLED));
	/* A VMM can save and restore all MSRs of the list. */
	EXPECT_EQ(0, vcpu_get_msr(vcpu, MSR_KVM_GUEST_STATS));
	EXPECT_EQ(1, _vcpu_set_msr(vcpu, MSR_KVM_GUEST_STATS, 0));
	kvm_vm_free(vm);
}

TEST(capability_can_be_taken_back_before_the_first_vcpu)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = vm_create(1);

	EXPECT_EQ(0, enable(vm, ALL_BITS));
	EXPECT_EQ(0, enable(vm, 0));
	vcpu = vm_vcpu_add(vm, 0, guest_refused);
	run(vcpu);
	kvm_vm_free(vm);
}

TEST(enabling_after_the_first_vcpu_returns_EBUSY)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(0, guest_refused, &vcpu);

	EXPECT_EQ(-EBUSY, enable(vm, COUNT_BIT));
	run(vcpu);
	kvm_vm_free(vm);
}

TEST(vmm_that_enforces_cpuid_can_hide_the_register)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(COUNT_BIT, guest_refused, &vcpu);

	vcpu_enable_cap(vcpu, KVM_CAP_ENFORCE_PV_FEATURE_CPUID, 1);
	vcpu_clear_cpuid_entry(vcpu, KVM_CPUID_FEATURES);
	run(vcpu);
	kvm_vm_free(vm);
}

#define READ_ONLY_GPA	0xe0000000UL

static void guest_bad_addresses(void)
{
	name_cpuid();
	GUEST_ASSERT_EQ(write_register(AREA_GPA | BIT(1) | ENABLED), GP_VECTOR);
	GUEST_ASSERT_EQ(write_register(AREA_GPA | 0x800 | ENABLED), GP_VECTOR);
	GUEST_ASSERT_EQ(write_register(AREA_GPA), GP_VECTOR);
	GUEST_ASSERT_EQ(write_register(NO_MEMORY | ENABLED), GP_VECTOR);
	GUEST_ASSERT_EQ(write_register(READ_ONLY_GPA | ENABLED), GP_VECTOR);
	GUEST_ASSERT_EQ(write_register(BIT(51) | ENABLED), GP_VECTOR);
	GUEST_ASSERT_EQ(write_register(~0xfffULL | ENABLED), GP_VECTOR);
	/* Nothing has changed. */
	GUEST_ASSERT_EQ(rdmsr(MSR_KVM_GUEST_STATS), AREA_GPA | ENABLED);
	do_cpuid();
	GUEST_ASSERT_EQ(count(0), 1);
	GUEST_DONE();
}

TEST(bad_address_raises_GP_and_changes_nothing)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(COUNT_BIT, guest_bad_addresses, &vcpu);

	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, READ_ONLY_GPA, 2, 1,
				    KVM_MEM_READONLY);
	run(vcpu);
	EXPECT_EQ(0, _vcpu_set_msr(vcpu, MSR_KVM_GUEST_STATS, NO_MEMORY | ENABLED));
	EXPECT_EQ(0, _vcpu_set_msr(vcpu, MSR_KVM_GUEST_STATS, READ_ONLY_GPA | ENABLED));
	EXPECT_EQ(AREA_GPA | ENABLED, vcpu_get_msr(vcpu, MSR_KVM_GUEST_STATS));
	kvm_vm_free(vm);
}

TEST(register_is_in_the_list_of_msrs_to_migrate)
{
	EXPECT_TRUE(kvm_msr_is_in_save_restore_list(MSR_KVM_GUEST_STATS));
}

static void guest_area(void)
{
	name_cpuid();
	GUEST_ASSERT_EQ(READ_ONCE(area->version), KVM_GUEST_STATS_VERSION);
	GUEST_ASSERT_EQ(READ_ONCE(area->num_slots), KVM_GUEST_STATS_SLOTS);
	GUEST_ASSERT_EQ(READ_ONCE(area->features), COUNT_BIT | HOST_BIT);
	GUEST_DONE();
}

TEST(area_has_version_slots_and_features)
{
	create_and_run(COUNT_BIT | HOST_BIT, guest_area);
}

/* Names */

static void guest_names(void)
{
	int i;

	set_name(area, 0, "exit_reasons.cpuid");
	set_name(area, 1, "exits");
	set_name(area, 2, "user_exits.io");
	set_name(area, 3, "no_such_statistic");
	set_name(area, 4, "exit_reasons.no_such_reason");
	set_name(area, 5, "blocking");			/* INSTANT */
	set_name(area, 6, "exit_reasons");		/* many values */
	set_name(area, 7, "exits.cpuid");		/* one value */
	set_name(area, 8, "remote_tlb_flush");		/* of the VM */
	set_name(area, 9, "halt_poll_success_hist");
	set_name(area, 10, ".cpuid");
	set_name(area, 11, "exit_reasons.");
	for (i = 0; i < KVM_GUEST_STATS_NAME_SIZE; i++)
		WRITE_ONCE(area->slots[12].name[i], 'a');
	enable_area();
	for (i = 0; i < 3; i++)
		GUEST_ASSERT_EQ(status(i), 0);
	GUEST_ASSERT_EQ(status(3), -ENOENT);
	GUEST_ASSERT_EQ(status(4), -ENOENT);
	for (i = 5; i < 8; i++)
		GUEST_ASSERT_EQ(status(i), -EINVAL);
	GUEST_ASSERT_EQ(status(8), -ENOENT);
	GUEST_ASSERT_EQ(status(9), -EINVAL);
	for (i = 10; i < 13; i++)
		GUEST_ASSERT_EQ(status(i), -ENOENT);
	for (; i < KVM_GUEST_STATS_SLOTS; i++)
		GUEST_ASSERT_EQ(status(i), 0);
	GUEST_DONE();
}

TEST(status_is_the_errno_of_the_name)
{
	create_and_run(COUNT_BIT | HOST_BIT, guest_names);
}

static void guest_without_host(void)
{
	int i;

	set_name(area, 0, "exits");
	set_name(area, 1, "exit_reasons.interrupt");
	set_name(area, 2, "exit_reasons.nmi");
	set_name(area, 3, "exit_reasons.nested_page_fault");
	set_name(area, 4, "user_exits.intr");
	set_name(area, 5, "pf_taken");
	set_name(area, 6, "halt_exits");
	set_name(area, 7, "exit_reasons.cpuid");
	set_name(area, 8, "ready_ns");
	/* A VMM logs dirty pages. */
	set_name(area, 9, "user_exits.dirty_ring_full");
	enable_area();
	for (i = 0; i < 6; i++)
		GUEST_ASSERT_EQ(status(i), -ENOENT);
	for (i = 6; i < 9; i++)
		GUEST_ASSERT_EQ(status(i), 0);
	GUEST_ASSERT_EQ(status(9), -ENOENT);
	GUEST_DONE();
}

TEST(names_of_what_the_host_causes_need_the_bit_HOST)
{
	create_and_run(COUNT_BIT | OVERFLOW_BIT | TIMER_BIT, guest_without_host);
}

/* Counts */

static void guest_counts(void)
{
	u64 exits, io;
	int i;

	set_name(area, 1, "exits");
	set_name(area, 2, "exit_reasons.io");
	set_name(area, 3, "exit_reasons.msr_write");
	name_cpuid();
	exits = count(1);
	for (i = 1; i <= TIMES; i++) {
		do_cpuid();
		GUEST_ASSERT_EQ(count(0), i);
	}
	GUEST_ASSERT(count(1) - exits >= TIMES);
	io = count(2);
	GUEST_SYNC(0);
	GUEST_ASSERT_EQ(count(2), io + 1);
	for (i = 1; i <= TIMES; i++)
		enable_area();
	GUEST_ASSERT_EQ(count(3), TIMES);
	GUEST_ASSERT_EQ(count(0), TIMES);
	GUEST_DONE();
}

TEST(each_exit_counts_once_before_the_next_instruction)
{
	create_and_run(COUNT_BIT | HOST_BIT, guest_counts);
}

/* Interrupts to an APIC that does not exist: on Intel, KVM enters the guest on the fast path. */
static void guest_fast_path(void)
{
	int i;

	x2apic_enable();
	set_name(area, 0, "exit_reasons.msr_write");
	enable_area();
	for (i = 1; i <= TIMES; i++) {
		x2apic_write_reg(APIC_ICR, 0xfeULL << 32 | APIC_DEST_PHYSICAL | 0x80);
		GUEST_ASSERT_EQ(count(0), i);
	}
	GUEST_DONE();
}

TEST(exits_of_the_fast_path_count)
{
	create_and_run(COUNT_BIT, guest_fast_path);
}

static void guest_reads(void)
{
	u64 before;
	int i;

	set_name(area, 0, "exits");
	enable_area();
	/* In one of many attempts, the host has no interrupt. */
	for (i = 0; i < 1000; i++) {
		before = count(0);
		if (count(0) == before)
			break;
	}
	GUEST_ASSERT(i < 1000);
	GUEST_DONE();
}

TEST(reading_a_count_is_no_exit)
{
	create_and_run(COUNT_BIT | HOST_BIT, guest_reads);
}

static void guest_renames(void)
{
	WRITE_ONCE(area->slots[0].count, 1000);
	name_cpuid();
	do_cpuid();
	GUEST_ASSERT_EQ(count(0), 1001);
	/* Another statistic, and back: CPUIDs meanwhile do not count. */
	set_name(area, 0, "halt_exits");
	enable_area();
	do_cpuid();
	GUEST_ASSERT_EQ(count(0), 1001);
	name_cpuid();
	GUEST_ASSERT_EQ(count(0), 1001);
	do_cpuid();
	GUEST_ASSERT_EQ(count(0), 1002);
	/* A name counts from the write of the register on. */
	set_name(area, 0, "halt_exits");
	do_cpuid();
	GUEST_ASSERT_EQ(count(0), 1003);
	/* No name. */
	set_name(area, 0, "");
	enable_area();
	do_cpuid();
	GUEST_ASSERT_EQ(count(0), 1003);
	GUEST_DONE();
}

TEST(renamed_slot_goes_on_from_its_count)
{
	create_and_run(COUNT_BIT, guest_renames);
}

static void guest_disables(void)
{
	name_cpuid();
	do_cpuid();
	GUEST_ASSERT_EQ(write_register(0), 0);
	GUEST_ASSERT_EQ(rdmsr(MSR_KVM_GUEST_STATS), 0);
	do_cpuid();
	GUEST_ASSERT_EQ(count(0), 1);
	/* The second page. */
	set_name(second_area, 0, "exit_reasons.cpuid");
	GUEST_ASSERT_EQ(write_register((AREA_GPA + KVM_GUEST_STATS_ALIGN) | ENABLED), 0);
	do_cpuid();
	GUEST_ASSERT_EQ(count(0), 1);
	GUEST_ASSERT_EQ(READ_ONCE(second_area->slots[0].count), 1);
	GUEST_DONE();
}

TEST(disabled_or_moved_area_is_not_written)
{
	create_and_run(COUNT_BIT, guest_disables);
}

/* Overflows */

static void guest_overflows(void)
{
	u64 before;
	int i, j;

	enable_nmi();
	name_cpuid();
	for (i = 0; i < 5; i++) {
		before = count(0);
		WRITE_ONCE(nmis, 0);
		WRITE_ONCE(area->slots[0].threshold, before + PERIOD);
		for (j = 1; j < PERIOD; j++) {
			do_cpuid();
			GUEST_ASSERT_EQ(READ_ONCE(nmis), 0);
		}
		do_cpuid();
		GUEST_ASSERT_EQ(READ_ONCE(nmis), 1);
		GUEST_ASSERT_EQ(nmi_overflow, 1);
		GUEST_ASSERT_EQ(nmi_rip, cpuid_rip);
		GUEST_ASSERT_EQ(count(0), before + PERIOD);
	}
	GUEST_DONE();
}

TEST(nmi_of_an_overflow_comes_at_the_instruction_after_the_exit)
{
	create_and_run_with_nmi(COUNT_BIT | OVERFLOW_BIT, guest_overflows);
}

static void guest_keeps_overflow(void)
{
	int i;

	enable_nmi();
	set_name(area, 1, "exit_reasons.msr_write");
	name_cpuid();
	WRITE_ONCE(keep_overflow, true);
	WRITE_ONCE(area->slots[0].threshold, 0);
	for (i = 0; i < 5; i++)
		do_cpuid();
	GUEST_ASSERT_EQ(READ_ONCE(nmis), 1);
	/* Another slot has a bit of its own, for the same interrupt. */
	WRITE_ONCE(area->slots[1].threshold, 0);
	enable_area();
	GUEST_ASSERT_EQ(READ_ONCE(nmis), 1);
	GUEST_ASSERT_EQ(READ_ONCE(area->overflow), 3);
	/* Cleared: each exit interrupts again. */
	WRITE_ONCE(area->slots[1].threshold, KVM_GUEST_STATS_NEVER);
	WRITE_ONCE(area->overflow, 0);
	do_cpuid();
	GUEST_ASSERT_EQ(READ_ONCE(nmis), 2);
	GUEST_DONE();
}

TEST(guest_gets_one_nmi_until_it_clears_all_bits)
{
	create_and_run_with_nmi(COUNT_BIT | OVERFLOW_BIT, guest_keeps_overflow);
}

static void guest_masked(void)
{
	x2apic_enable();
	x2apic_write_reg(APIC_LVTPC, APIC_DM_NMI | LVTPC_MASKED);
	name_cpuid();
	WRITE_ONCE(area->slots[0].threshold, 1);
	do_cpuid();
	GUEST_ASSERT_EQ(READ_ONCE(area->overflow), 1);
	x2apic_write_reg(APIC_LVTPC, APIC_DM_NMI);
	GUEST_ASSERT_EQ(READ_ONCE(nmis), 0);
	GUEST_DONE();
}

TEST(masked_interrupt_sets_the_bit_only)
{
	create_and_run_with_nmi(COUNT_BIT | OVERFLOW_BIT, guest_masked);
}

static void guest_without_overflow(void)
{
	enable_nmi();
	name_cpuid();
	WRITE_ONCE(area->slots[0].threshold, 0);
	do_cpuid();
	GUEST_ASSERT_EQ(count(0), 1);
	GUEST_ASSERT_EQ(READ_ONCE(area->overflow), 0);
	GUEST_ASSERT_EQ(READ_ONCE(nmis), 0);
	GUEST_DONE();
}

TEST(thresholds_need_the_bit_OVERFLOW)
{
	create_and_run_with_nmi(COUNT_BIT, guest_without_overflow);
}

#define RESET_VECTOR	0xfffffff0UL

TEST(vm_without_local_apic_has_neither_overflow_nor_timer)
{
	struct kvm_vm *vm = vm_create_barebones();
	struct kvm_guest_stats_area *shared;
	struct kvm_vcpu *vcpu;

	EXPECT_EQ(0, enable(vm, ALL_BITS));
	vm_ioctl(vm, KVM_SET_TSS_ADDR, (void *)0xfffbd000UL);
	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, RESET_VECTOR & ~0xfffUL, 0, 1, 0);
	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, AREA_GPA, AREA_SLOT, 1, 0);
	*(u8 *)addr_gpa2hva(vm, RESET_VECTOR) = 0xf4;	/* hlt */
	shared = addr_gpa2hva(vm, AREA_GPA);
	set_name(shared, 0, "exits");
	set_name(shared, 1, KVM_GUEST_STATS_TIMER_NAME);
	vcpu = __vm_vcpu_add(vm, 0);
	EXPECT_EQ(COUNT_BIT | HOST_BIT, vm_check_cap(vm, KVM_CAP_GUEST_STATS));
	vcpu_set_msr(vcpu, MSR_KVM_GUEST_STATS, AREA_GPA | ENABLED);
	vcpu_run(vcpu);
	EXPECT_EQ(KVM_EXIT_HLT, vcpu->run->exit_reason);
	EXPECT_EQ(COUNT_BIT | HOST_BIT, shared->features);
	EXPECT_EQ(0, shared->slots[0].status);
	EXPECT_EQ(-EPERM, shared->slots[1].status);
	kvm_vm_free(vm);
}

/* The timer */

#define INTERVAL_NS	1000000

static void spin_until(u64 wanted)
{
	u64 spins;

	for (spins = 0; READ_ONCE(nmis) < wanted && spins < 2000000000; spins++)
		cpu_relax();
	GUEST_ASSERT_EQ(READ_ONCE(nmis), wanted);
}

static void name_timer(u64 interval)
{
	set_name(area, 0, KVM_GUEST_STATS_TIMER_NAME);
	WRITE_ONCE(area->slots[0].threshold, interval);
	enable_area();
}

/* At least 4 intervals, if the CPU has at most 5 GHz. */
static void wait_for_intervals(void)
{
	u64 start = rdtsc();

	while (rdtsc() - start < 20000000)
		cpu_relax();
}

/* The guest has its interrupts off, and makes no exit while it spins. */
static void guest_timer(void)
{
	u64 i;

	enable_nmi();
	for (i = 1; i <= 20; i++) {
		name_timer(INTERVAL_NS);
		GUEST_ASSERT_EQ(status(0), 0);
		spin_until(i);
		GUEST_ASSERT_EQ(count(0), i);
		GUEST_ASSERT_EQ(nmi_overflow, 1);
	}
	/* It is not started again. */
	wait_for_intervals();
	GUEST_ASSERT_EQ(READ_ONCE(nmis), 20);
	GUEST_DONE();
}

TEST(timer_interrupts_once_per_start_with_interrupts_off)
{
	create_and_run_with_nmi(ALL_BITS, guest_timer);
}

/* If each write started the timer anew, it would never expire. */
static void guest_writes_while_timer_runs(void)
{
	int writes;

	enable_nmi();
	name_timer(INTERVAL_NS);
	for (writes = 0; !READ_ONCE(nmis) && writes < 10000000; writes++)
		enable_area();
	wait_for_intervals();
	GUEST_ASSERT_EQ(READ_ONCE(nmis), 1);
	GUEST_DONE();
}

TEST(register_write_does_not_start_a_running_timer_anew)
{
	create_and_run_with_nmi(ALL_BITS, guest_writes_while_timer_runs);
}

/* A busy host may have let the timer expire before the guest has stopped it. */
static void expect_stopped(void)
{
	u64 before = READ_ONCE(nmis);

	wait_for_intervals();
	GUEST_ASSERT_EQ(READ_ONCE(nmis), before);
	GUEST_ASSERT_EQ(count(0), before);
}

static void guest_stops_timer(void)
{
	enable_nmi();
	name_timer(INTERVAL_NS);
	WRITE_ONCE(area->slots[0].threshold, KVM_GUEST_STATS_NEVER);
	enable_area();
	expect_stopped();
	name_timer(INTERVAL_NS);
	set_name(area, 0, "");
	enable_area();
	expect_stopped();
	name_timer(INTERVAL_NS);
	GUEST_ASSERT_EQ(write_register(0), 0);
	expect_stopped();
	GUEST_DONE();
}

TEST(timer_stops_without_threshold_name_or_area)
{
	create_and_run_with_nmi(ALL_BITS, guest_stops_timer);
}

#define SHORT_TIMERS	100

static void guest_short_timer(void)
{
	u64 i;

	enable_nmi();
	GUEST_SYNC(0);
	for (i = 1; i <= SHORT_TIMERS; i++) {
		name_timer(i & 1);
		spin_until(i);
	}
	GUEST_SYNC(1);
	GUEST_DONE();
}

static u64 short_timers_ns;

static void take_time(struct kvm_vcpu *vcpu, u64 stage)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	short_timers_ns = timespec_to_ns(now) - short_timers_ns;
}

TEST(timer_is_not_faster_than_10000_a_second)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_with_nmi(ALL_BITS, guest_short_timer, &vcpu);

	short_timers_ns = 0;
	run_with(vcpu, take_time);
	EXPECT_LE(SHORT_TIMERS * 100000UL, short_timers_ns);
	kvm_vm_free(vm);
}

static void guest_two_timers(void)
{
	set_name(area, 1, KVM_GUEST_STATS_TIMER_NAME);
	name_timer(KVM_GUEST_STATS_NEVER);
	GUEST_ASSERT_EQ(status(0), 0);
	GUEST_ASSERT_EQ(status(1), -EBUSY);
	/* The second slot is the timer once the first is not. */
	set_name(area, 0, "");
	enable_area();
	GUEST_ASSERT_EQ(status(1), 0);
	GUEST_DONE();
}

TEST(second_timer_is_EBUSY)
{
	create_and_run(ALL_BITS, guest_two_timers);
}

static void guest_without_timer(void)
{
	name_timer(INTERVAL_NS);
	GUEST_ASSERT_EQ(status(0), -EPERM);
	GUEST_DONE();
}

TEST(timer_needs_the_bit_TIMER)
{
	create_and_run(COUNT_BIT | OVERFLOW_BIT | HOST_BIT, guest_without_timer);
}

/* Memory */

enum { MOVE_AWAY = 1, MOVE_BACK, PROTECT, UNPROTECT, SEE_DIRTY };

static void cpuids(int times)
{
	while (times--)
		do_cpuid();
}

static void guest_memory_moves(void)
{
	name_cpuid();
	cpuids(TIMES);
	GUEST_SYNC(MOVE_AWAY);
	cpuids(TIMES);
	GUEST_ASSERT_EQ(write_register(AREA_GPA | ENABLED), GP_VECTOR);
	GUEST_SYNC(MOVE_BACK);
	/* KVM has kept its register, and adds what it could not write. */
	GUEST_ASSERT_EQ(rdmsr(MSR_KVM_GUEST_STATS), AREA_GPA | ENABLED);
	GUEST_ASSERT_EQ(count(0), 2 * TIMES);
	GUEST_DONE();
}

static void move_memory(struct kvm_vcpu *vcpu, u64 stage)
{
	u64 *shared = (void *)&((struct kvm_guest_stats_area *)
				addr_gpa2hva(vcpu->vm, AREA_GPA + (stage == MOVE_BACK) * 0x100000))
				->slots[0].count;

	/* KVM has not written while the memory was elsewhere. */
	TEST_ASSERT_EQ(*shared, TIMES);
	vm_mem_region_move(vcpu->vm, AREA_SLOT, AREA_GPA + (stage == MOVE_AWAY) * 0x100000);
}

TEST(counts_wait_while_the_memory_is_away)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(COUNT_BIT, guest_memory_moves, &vcpu);

	run_with(vcpu, move_memory);
	kvm_vm_free(vm);
}

static void guest_memory_is_protected(void)
{
	name_cpuid();
	cpuids(TIMES);
	GUEST_SYNC(PROTECT);
	cpuids(TIMES);
	GUEST_SYNC(UNPROTECT);
	GUEST_ASSERT_EQ(count(0), 2 * TIMES);
	GUEST_DONE();
}

static void protect_memory(struct kvm_vcpu *vcpu, u64 stage)
{
	struct kvm_guest_stats_area *shared = addr_gpa2hva(vcpu->vm, AREA_GPA);

	TEST_ASSERT_EQ(shared->slots[0].count, TIMES);
	TEST_ASSERT(!mprotect(shared, getpagesize(),
			      stage == PROTECT ? PROT_READ : PROT_READ | PROT_WRITE),
		    "mprotect()");
}

TEST(counts_wait_while_the_vmm_cannot_write_to_the_memory)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(COUNT_BIT, guest_memory_is_protected, &vcpu);

	run_with(vcpu, protect_memory);
	kvm_vm_free(vm);
}

static void guest_is_logged(void)
{
	name_cpuid();
	GUEST_SYNC(0);
	do_cpuid();
	GUEST_SYNC(SEE_DIRTY);
	GUEST_DONE();
}

static void log_memory(struct kvm_vcpu *vcpu, u64 stage)
{
	u64 dirty = 0;

	if (stage != SEE_DIRTY)
		vm_mem_region_set_flags(vcpu->vm, AREA_SLOT, KVM_MEM_LOG_DIRTY_PAGES);
	kvm_vm_get_dirty_log(vcpu->vm, AREA_SLOT, &dirty);
	TEST_ASSERT_EQ(dirty, stage == SEE_DIRTY);
}

TEST(count_makes_the_page_dirty)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(COUNT_BIT, guest_is_logged, &vcpu);

	run_with(vcpu, log_memory);
	kvm_vm_free(vm);
}

/* The guest makes more exits than its dirty ring has entries. */
static void guest_fills_ring(void)
{
	set_name(area, 1, "user_exits.dirty_ring_full");
	name_cpuid();
	for (;;)
		do_cpuid();
}

#define RING_BYTES	16384

TEST(full_dirty_ring_gets_no_more_entries)
{
	struct kvm_vm *vm = vm_create(1);
	struct kvm_guest_stats_area *shared;
	struct kvm_vcpu *vcpu;
	int i;

	vm_enable_dirty_ring(vm, RING_BYTES);
	vcpu = add_vcpu_with_area(vm, ALL_BITS, guest_fills_ring);
	vm_mem_region_set_flags(vm, AREA_SLOT, KVM_MEM_LOG_DIRTY_PAGES);
	shared = addr_gpa2hva(vm, AREA_GPA);
	/* The VMM does not empty the ring, and tries again: each time is one more for slot 1. */
	for (i = 0; i < 1000; i++) {
		vcpu_run(vcpu);
		ASSERT_EQ(KVM_EXIT_DIRTY_RING_FULL, vcpu->run->exit_reason);
	}
	EXPECT_LT(100, shared->slots[0].count);
	EXPECT_EQ(0, shared->slots[1].count);
	kvm_vm_free(vm);
}

/* Migration */

static void guest_migrates(void)
{
	set_name(area, 1, "hypercalls");
	name_cpuid();
	cpuids(TIMES);
	GUEST_SYNC(0);
	/* On the next host, which does not know the second name. */
	cpuids(TIMES);
	GUEST_ASSERT_EQ(count(0), 2 * TIMES);
	GUEST_ASSERT_EQ(status(1), -ENOENT);
	GUEST_ASSERT_EQ(count(1), 12345);
	GUEST_DONE();
}

static void rename_second(struct kvm_vm *vm)
{
	struct kvm_guest_stats_area *shared = addr_gpa2hva(vm, AREA_GPA);

	set_name(shared, 1, "of_another_host");
	shared->slots[1].count = 12345;
}

TEST(migrated_area_counts_on)
{
	struct kvm_x86_state *state;
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(COUNT_BIT, guest_migrates, &vcpu);
	struct ucall uc;

	vcpu_run(vcpu);
	ASSERT_EQ(UCALL_SYNC, get_ucall(vcpu, &uc));
	EXPECT_EQ(AREA_GPA | ENABLED, vcpu_get_msr(vcpu, MSR_KVM_GUEST_STATS));
	state = vcpu_save_state(vcpu);
	kvm_vm_release(vm);
	kvm_vm_restart(vm);
	EXPECT_EQ(0, enable(vm, COUNT_BIT));
	vcpu = vm_vcpu_recreate(vm, 0);
	rename_second(vm);
	vcpu_load_state(vcpu, state);
	kvm_x86_state_cleanup(state);
	run(vcpu);
	kvm_vm_free(vm);
}

/* Resets, and other vCPUs */

static void guest_waits_for_init(void)
{
	name_timer(INTERVAL_NS);
	GUEST_SYNC(0);
}

TEST(init_clears_the_register)
{
	struct kvm_vcpu_events events;
	struct kvm_mp_state mp_state;
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = create_vm(ALL_BITS, guest_waits_for_init, &vcpu);

	if (!kvm_has_cap(KVM_CAP_X86_SMM))
		SKIP(return, "this kernel does not let the VMM inject an INIT");
	vcpu_run(vcpu);
	EXPECT_EQ(AREA_GPA | ENABLED, vcpu_get_msr(vcpu, MSR_KVM_GUEST_STATS));
	vcpu_events_get(vcpu, &events);
	events.flags |= KVM_VCPUEVENT_VALID_SMM;
	events.smi.latched_init = 1;
	vcpu_events_set(vcpu, &events);
	/* KVM handles the INIT before it returns the state. */
	vcpu_mp_state_get(vcpu, &mp_state);
	EXPECT_EQ(0, vcpu_get_msr(vcpu, MSR_KVM_GUEST_STATS));
	kvm_vm_free(vm);
}

/* By a VMM that does not know the register. */
TEST(reset_of_the_boot_cpu_clears_the_register)
{
	struct kvm_sregs sregs;
	struct kvm_vcpu *vcpu;
	struct kvm_regs regs;
	struct kvm_vm *vm = create_vm(ALL_BITS, guest_waits_for_init, &vcpu);

	vcpu_run(vcpu);
	vcpu_sregs_get(vcpu, &sregs);
	vcpu_sregs_set(vcpu, &sregs);
	EXPECT_EQ(AREA_GPA | ENABLED, vcpu_get_msr(vcpu, MSR_KVM_GUEST_STATS));
	vcpu_regs_get(vcpu, &regs);
	regs.rip = 0xfff0;
	vcpu_regs_set(vcpu, &regs);
	sregs.cr0 = X86_CR0_ET;
	sregs.cr4 = 0;
	sregs.efer = 0;
	sregs.cs.selector = 0xf000;
	sregs.cs.base = 0xffff0000;
	sregs.cs.l = 0;
	vcpu_sregs_set(vcpu, &sregs);
	EXPECT_EQ(0, vcpu_get_msr(vcpu, MSR_KVM_GUEST_STATS));
	kvm_vm_free(vm);
}

static bool hostile_end;
static u64 hostile_seed;

static u64 next_random(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 16;
}

static void guest_counts_beside_another(void)
{
	int i;

	/* A handler that makes exits would never end if each exit overflows. */
	WRITE_ONCE(ignore_nmis, true);
	enable_nmi();
	set_name(area, 1, KVM_GUEST_STATS_TIMER_NAME);
	for (i = 0; !READ_ONCE(hostile_end); i++) {
		WRITE_ONCE(area->slots[0].threshold, i & 1);
		write_register(AREA_GPA | ENABLED);
		do_cpuid();
	}
	GUEST_DONE();
}

/* Share the other vCPU's area, and write to its fields at random. */
static void guest_scribbles(void)
{
	static const char * const names[] = {
		"exits", "exit_reasons.cpuid", KVM_GUEST_STATS_TIMER_NAME, "", "exit_reasons",
	};
	u64 *words = (u64 *)area, state = hostile_seed, at;

	WRITE_ONCE(ignore_nmis, true);
	enable_nmi();
	while (!READ_ONCE(hostile_end)) {
		at = next_random(&state);
		WRITE_ONCE(words[at % (sizeof(*area) / sizeof(u64))], next_random(&state));
		set_name(area, at % KVM_GUEST_STATS_SLOTS, names[at % ARRAY_SIZE(names)]);
		WRITE_ONCE(area->slots[at % KVM_GUEST_STATS_SLOTS].threshold,
			   next_random(&state) % 200000);
		x2apic_write_reg(APIC_LVTPC, at & 256 ? APIC_DM_NMI : LVTPC_MASKED);
		if (at & 64)
			write_register((AREA_GPA + (at & KVM_GUEST_STATS_ALIGN)) | ENABLED);
		else
			write_register(next_random(&state));
		do_cpuid();
	}
	GUEST_DONE();
}

/* Guest writes are exits to user space if the memory is away, and fail if it is read-only. */
static void *run_hostile(void *vcpu)
{
	struct ucall uc;

	do {
		if (_vcpu_run(vcpu) && errno != EFAULT && errno != EINTR)
			TEST_FAIL("KVM_RUN: %s", strerror(errno));
	} while (get_ucall(vcpu, &uc) != UCALL_DONE && uc.cmd != UCALL_ABORT);
	return NULL;
}

static void change_memory(struct kvm_vm *vm, void *shared, u64 random)
{
	/* Not in Bochs, whose page-modification log has addresses that KVM warns about. */
	const int changes = getenv("HOSTILE_WITHOUT_LOG") ? 3 : 4;

	switch (random % changes) {
	case 0:
		vm_mem_region_move(vm, AREA_SLOT, AREA_GPA + 0x100000);
		usleep(100);
		vm_mem_region_move(vm, AREA_SLOT, AREA_GPA);
		break;
	case 1:
		mprotect(shared, getpagesize(), random & 4 ? PROT_READ : PROT_NONE);
		usleep(100);
		mprotect(shared, getpagesize(), PROT_READ | PROT_WRITE);
		break;
	case 2:
		madvise(shared, getpagesize(), MADV_DONTNEED);
		break;
	case 3:
		vm_mem_region_set_flags(vm, AREA_SLOT, random & 4 ? KVM_MEM_LOG_DIRTY_PAGES : 0);
		break;
	}
}

/* A second, or longer: in seconds in the environment. */
TEST(vcpus_that_scribble_over_one_area_while_its_memory_changes_do_no_harm)
{
	const char *seconds = getenv("HOSTILE_SECONDS");
	time_t end = time(NULL) + (seconds ? atoi(seconds) : 1);
	struct kvm_vcpu *vcpus[2];
	struct kvm_vm *vm = create_with_nmi(ALL_BITS, guest_counts_beside_another, &vcpus[0]);
	void *shared = addr_gpa2hva(vm, AREA_GPA);
	pthread_t threads[2];
	u64 state;
	int i;

	hostile_seed = time(NULL);
	state = hostile_seed;
	ksft_print_msg("seed %lu\n", hostile_seed);
	sync_global_to_guest(vm, hostile_seed);
	vcpus[1] = vm_vcpu_add(vm, 1, guest_scribbles);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, run_hostile, vcpus[i]));
	do {
		change_memory(vm, shared, next_random(&state));
		usleep(next_random(&state) % 4000);
	} while (time(NULL) <= end);
	hostile_end = true;
	sync_global_to_guest(vm, hostile_end);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	kvm_vm_free(vm);
}

/* Nested guests */

static void l2_cpuids(void)
{
	asm volatile("1: cpuid; jmp 1b" : : : "rax", "rbx", "rcx", "rdx");
}

/* An exit to user space that L1 does not see. */
static void l2_exits_to_user(void)
{
	GUEST_SYNC(0);
	GUEST_FAIL("no NMI");
}

static void l1_starts(void)
{
	enable_nmi();
	set_name(area, 1, "exit_reasons.io");
	name_cpuid();
}

/* L2's NMI is an exit to L1, once L1 lets L2 take it. */
static void l1_ends(void)
{
	GUEST_ASSERT_EQ(READ_ONCE(area->overflow), BIT(1));
	GUEST_ASSERT_EQ(READ_ONCE(nmis), 0);
	GUEST_DONE();
}

static void l1_svm(struct svm_test_data *svm)
{
	struct vmcb *vmcb = svm->vmcb;
	int i;

	l1_starts();
	generic_svm_setup(svm, l2_cpuids);
	vmcb->control.intercept |= BIT_ULL(INTERCEPT_CPUID) | BIT_ULL(INTERCEPT_NMI);
	for (i = 1; i <= TIMES; i++) {
		run_guest(vmcb, svm->vmcb_gpa);
		GUEST_ASSERT_EQ(vmcb->control.exit_code, SVM_EXIT_CPUID);
		vmcb->save.rip += 2;
		GUEST_ASSERT_EQ(count(0), i);
	}
	vmcb->save.rip = (u64)l2_exits_to_user;
	WRITE_ONCE(area->slots[1].threshold, 0);
	run_guest(vmcb, svm->vmcb_gpa);
	GUEST_ASSERT_EQ(vmcb->control.exit_code, SVM_EXIT_NMI);
	l1_ends();
}

static void l1_vmx(struct vmx_pages *vmx)
{
	int i;

	l1_starts();
	GUEST_ASSERT(prepare_for_vmx_operation(vmx));
	GUEST_ASSERT(load_vmcs(vmx));
	prepare_vmcs(vmx, l2_cpuids);
	vmwrite(PIN_BASED_VM_EXEC_CONTROL,
		vmreadz(PIN_BASED_VM_EXEC_CONTROL) | PIN_BASED_NMI_EXITING);
	for (i = 1; i <= TIMES; i++) {
		GUEST_ASSERT(i == 1 ? !vmlaunch() : !vmresume());
		GUEST_ASSERT_EQ(vmreadz(VM_EXIT_REASON), EXIT_REASON_CPUID);
		vmwrite(GUEST_RIP, vmreadz(GUEST_RIP) + 2);
		GUEST_ASSERT_EQ(count(0), i);
	}
	vmwrite(GUEST_RIP, (u64)l2_exits_to_user);
	WRITE_ONCE(area->slots[1].threshold, 0);
	GUEST_ASSERT(!vmresume());
	GUEST_ASSERT_EQ(vmreadz(VM_EXIT_REASON), EXIT_REASON_EXCEPTION_NMI);
	l1_ends();
}

TEST(exits_of_a_nested_guest_count_for_l1)
{
	bool svm = kvm_cpu_has(X86_FEATURE_SVM);
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;
	unsigned long gva;

	if (!svm && !kvm_cpu_has(X86_FEATURE_VMX))
		SKIP(return, "no nested virtualization");
	vm = create_with_nmi(ALL_BITS, svm ? (void *)l1_svm : (void *)l1_vmx, &vcpu);
	if (svm)
		vcpu_alloc_svm(vm, &gva);
	else
		vcpu_alloc_vmx(vm, &gva);
	vcpu_args_set(vcpu, 1, gva);
	run(vcpu);
	kvm_vm_free(vm);
}

TEST_HARNESS_MAIN
