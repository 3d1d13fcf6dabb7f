// SPDX-License-Identifier: GPL-2.0-only
/*
 * user_exits counts returns of KVM_RUN to user space by reason, and last_user_exit is the last
 * reason, on every architecture.
 */
#define _GNU_SOURCE
#include "../kselftest_harness.h"
#include "stats_fd_fixture.h"

#define USER_EXITS_MAX		128

#define TIMES			1000

/* The names of the elements are ABI. */
static const char * const names[] = {
	[KVM_EXIT_UNKNOWN]		= "unknown",
	[KVM_EXIT_EXCEPTION]		= "exception",
	[KVM_EXIT_IO]			= "io",
	[KVM_EXIT_HYPERCALL]		= "hypercall",
	[KVM_EXIT_DEBUG]		= "debug",
	[KVM_EXIT_HLT]			= "hlt",
	[KVM_EXIT_MMIO]			= "mmio",
	[KVM_EXIT_IRQ_WINDOW_OPEN]	= "irq_window_open",
	[KVM_EXIT_SHUTDOWN]		= "shutdown",
	[KVM_EXIT_FAIL_ENTRY]		= "fail_entry",
	[KVM_EXIT_INTR]			= "intr",
	[KVM_EXIT_SET_TPR]		= "set_tpr",
	[KVM_EXIT_TPR_ACCESS]		= "tpr_access",
	[KVM_EXIT_S390_SIEIC]		= "s390_sieic",
	[KVM_EXIT_S390_RESET]		= "s390_reset",
	[KVM_EXIT_DCR]			= "dcr",
	[KVM_EXIT_NMI]			= "nmi",
	[KVM_EXIT_INTERNAL_ERROR]	= "internal_error",
	[KVM_EXIT_OSI]			= "osi",
	[KVM_EXIT_PAPR_HCALL]		= "papr_hcall",
	[KVM_EXIT_S390_UCONTROL]	= "s390_ucontrol",
	[KVM_EXIT_WATCHDOG]		= "watchdog",
	[KVM_EXIT_S390_TSCH]		= "s390_tsch",
	[KVM_EXIT_EPR]			= "epr",
	[KVM_EXIT_SYSTEM_EVENT]		= "system_event",
	[KVM_EXIT_S390_STSI]		= "s390_stsi",
	[KVM_EXIT_IOAPIC_EOI]		= "ioapic_eoi",
	[KVM_EXIT_HYPERV]		= "hyperv",
	[KVM_EXIT_ARM_NISV]		= "arm_nisv",
	[KVM_EXIT_X86_RDMSR]		= "x86_rdmsr",
	[KVM_EXIT_X86_WRMSR]		= "x86_wrmsr",
};

#define NAMES	ARRAY_SIZE(names)

/* Read the returns by reason. Return the number of reasons. */
static unsigned int read_exits(struct __test_metadata *_metadata, const struct guest_vcpu *v,
			       __u64 of[USER_EXITS_MAX])
{
	unsigned int size = stats_get(_metadata, &v->file, "user_exits")->size;

	ASSERT_GE(USER_EXITS_MAX, size);
	stats_read_all(_metadata, &v->file, "user_exits", of, size);
	return size;
}

/* Expect these two reasons that often, and no other. */
static void expect_exits(struct __test_metadata *_metadata, const struct guest_vcpu *v,
			 unsigned int reason, __u64 times, unsigned int other_reason,
			 __u64 other_times)
{
	__u64 of[USER_EXITS_MAX];
	unsigned int i, size = read_exits(_metadata, v, of);

	for (i = 0; i < size; i++) {
		EXPECT_EQ(i == reason ? times : i == other_reason ? other_times : 0, of[i]) {
			TH_LOG("%s", i < NAMES ? names[i] : "a newer reason");
		}
	}
}

TEST_F(guest, user_exits_is_a_cumulative_array)
{
	const struct kvm_stats_desc *desc = stats_get(_metadata, &self->vcpu->file, "user_exits");

	EXPECT_EQ(KVM_STATS_TYPE_CUMULATIVE + 0U, desc->flags);
	EXPECT_EQ(0, desc->exponent);
	EXPECT_EQ(0U, desc->bucket_size);
	EXPECT_LE(NAMES, desc->size);
}

TEST_F(guest, each_element_of_user_exits_has_the_name_of_its_reason)
{
	unsigned int i;

	for (i = 0; i < NAMES; i++)
		EXPECT_STREQ(names[i], stats_name_of(&self->vcpu->file, "user_exits", i));
}

static __u64 last_exit(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	return vcpu_read(_metadata, v, "last_user_exit");
}

TEST_F(guest, last_user_exit_is_none_before_the_first_return)
{
	const struct stats_file *f = &self->vcpu->file;
	unsigned int i, size = stats_get(_metadata, f, "user_exits")->size;

	EXPECT_EQ(KVM_STATS_TYPE_INSTANT + 0U, stats_get(_metadata, f, "last_user_exit")->flags);
	EXPECT_EQ(0xffffffffUL, last_exit(_metadata, self->vcpu));
	EXPECT_STREQ("none", stats_name_of(f, "last_user_exit", 0xffffffff));
	for (i = 0; i < size; i++) {
		EXPECT_STREQ(stats_name_of(f, "user_exits", i),
			     stats_name_of(f, "last_user_exit", i));
	}
}

TEST_F(guest, last_user_exit_is_the_reason_of_the_last_return)
{
	struct runner runner;

	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_USER_EXITS, 0);
	vcpu_run_times(_metadata, self->vcpu, STATS_USER_EXIT_REASON, TIMES);
	EXPECT_EQ(STATS_USER_EXIT_REASON + 0UL, last_exit(_metadata, self->vcpu));
	vcpu_complete_exit(_metadata, self->vcpu);
	EXPECT_EQ(KVM_EXIT_INTR + 0UL, last_exit(_metadata, self->vcpu));
	vcpu_exit_to_user(_metadata, self->vcpu, 1);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_USER_EXITS, 0);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	/* A KVM_RUN that fails, or runs, changes nothing. */
	EXPECT_EQ(-EINVAL, result(ioctl(self->vcpu->fd, KVM_RUN, 1)));
	EXPECT_EQ(STATS_USER_EXIT_REASON + 0UL, last_exit(_metadata, self->vcpu));
	vcpu_complete_exit(_metadata, self->vcpu);
	vcpu_exit_to_user(_metadata, self->vcpu, 1);
	runner_start(_metadata, &runner, self->vcpu, TIMES, TIMES);
	EXPECT_EQ(KVM_EXIT_INTR + 0UL, last_exit(_metadata, self->vcpu));
	runner_stop(_metadata, &runner);
	EXPECT_EQ(KVM_EXIT_INTR + 0UL, last_exit(_metadata, self->vcpu));
}

TEST_F(guest, each_return_counts_once_and_immediate_exit_counts_as_intr)
{
	expect_exits(_metadata, self->vcpu, 0, 0, 0, 0);
	/* After the immediate exit, kvm_run still has the reason of the exit before. */
	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	expect_exits(_metadata, self->vcpu, STATS_USER_EXIT_REASON, TIMES, KVM_EXIT_INTR, 1);
	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	expect_exits(_metadata, self->vcpu, STATS_USER_EXIT_REASON, 2 * TIMES,
		     KVM_EXIT_INTR, 2);
}

TEST_F(guest, exits_that_kvm_handles_do_not_count_and_a_signal_counts_as_intr)
{
	struct runner runner;

	runner_start(_metadata, &runner, self->vcpu, TIMES, TIMES);
	expect_exits(_metadata, self->vcpu, 0, 0, 0, 0);
	runner_stop(_metadata, &runner);
	expect_exits(_metadata, self->vcpu, KVM_EXIT_INTR, 1, 0, 0);
}

TEST_F(guest, KVM_RUN_that_fails_does_not_count)
{
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_USER_EXITS, 0);
	EXPECT_EQ(-EINVAL, result(ioctl(self->vcpu->fd, KVM_RUN, 1)));
#ifdef __x86_64__
	self->vcpu->run->kvm_valid_regs = ~0ULL;
	EXPECT_EQ(-EINVAL, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
#endif
#ifdef __aarch64__
	/* This vCPU is not initialized. */
	self->vcpu = guest_add_vcpu(_metadata, &self->guest, 1);
	EXPECT_EQ(-ENOEXEC, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
#endif
	expect_exits(_metadata, self->vcpu, 0, 0, 0, 0);
}

#if defined(__x86_64__) && defined(KVM_MEMORY_ATTRIBUTE_PRIVATE)
TEST(memory_fault_counts_although_KVM_RUN_fails)
{
	struct kvm_memory_attributes private = {
		.address = GUEST_MEMORY,
		.attributes = KVM_MEMORY_ATTRIBUTE_PRIVATE,
	};
	int i, kvm = stats_open_kvm(_metadata);
	struct guest guest = {};
	struct guest_vcpu *v;

	if (!(ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_VM_TYPES) &
	      1 << KVM_X86_SW_PROTECTED_VM))
		SKIP(return, "no VM can have private memory");
	guest.vm = ioctl(kvm, KVM_CREATE_VM, KVM_X86_SW_PROTECTED_VM);
	ASSERT_LE(0, guest.vm);
	stats_arch_init_vm(_metadata, guest.vm);
	guest_create_memory(_metadata, &guest);
	v = guest_add_vcpu(_metadata, &guest, 0);
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	/* The slot has no private pages. */
	private.size = guest.page;
	ASSERT_EQ(0, ioctl(guest.vm, KVM_SET_MEMORY_ATTRIBUTES, &private));

	for (i = 0; i < TIMES; i++)
		ASSERT_EQ(-EFAULT, result(ioctl(v->fd, KVM_RUN, 0)));
	EXPECT_EQ(KVM_EXIT_MEMORY_FAULT + 0UL, last_exit(_metadata, v));
	expect_exits(_metadata, v, KVM_EXIT_MEMORY_FAULT, TIMES, 0, 0);
}
#endif

struct writer {
	struct kvm_run *run;
	bool over;
};

/* Write a reason far beyond the last one, and another one. */
static void *write_reasons(void *arg)
{
	struct writer *w = arg;

	while (!__atomic_load_n(&w->over, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&w->run->exit_reason, ~0U, __ATOMIC_RELAXED);
		__atomic_store_n(&w->run->exit_reason, USER_EXITS_MAX, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F(guest, invalid_reason_that_user_space_writes_counts_as_unknown)
{
	struct writer writer = { .run = self->vcpu->run };
	unsigned int i, size;
	__u64 of[USER_EXITS_MAX], sum = 0;
	pthread_t thread;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "there is one CPU");
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, GUEST_USER_EXITS, 0);
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_reasons, &writer));
	for (i = 0; i < 10 * TIMES; i++)
		ASSERT_LE(0, ioctl(self->vcpu->fd, KVM_RUN, 0));
	__atomic_store_n(&writer.over, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));

	size = read_exits(_metadata, self->vcpu, of);
	for (i = 0; i < size; i++)
		sum += of[i];
	EXPECT_EQ(10UL * TIMES, sum);
	EXPECT_LE(1UL, of[KVM_EXIT_UNKNOWN]);
	EXPECT_TRUE(last_exit(_metadata, self->vcpu) == KVM_EXIT_UNKNOWN ||
		    last_exit(_metadata, self->vcpu) == STATS_USER_EXIT_REASON);
	EXPECT_EQ(sum, of[KVM_EXIT_UNKNOWN] + of[STATS_USER_EXIT_REASON]);
}

TEST_HARNESS_MAIN
