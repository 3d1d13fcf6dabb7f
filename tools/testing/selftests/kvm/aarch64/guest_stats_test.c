// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guests count their own KVM statistics by a hypercall. The guests are the functions guest_*(),
 * without a kernel.
 */
#include <linux/arm-smccc.h>

#include "guest_stats.h"

#define BITS		(KVM_GUEST_STATS_COUNT | KVM_GUEST_STATS_HOST)

#define FUNC_FEATURES	ARM_SMCCC_VENDOR_HYP_KVM_FEATURES_FUNC_ID
/* Function 66 of the vendor, as in <linux/arm-smccc.h> of the kernel */
#define FUNC_GUEST_STATS ARM_SMCCC_CALL_VAL(ARM_SMCCC_FAST_CALL, ARM_SMCCC_SMC_64, \
					    ARM_SMCCC_OWNER_VENDOR_HYP, 66)
#define FEATURE_BIT	(66 - 64)

static struct arm_smccc_res call(u32 func, u64 arg)
{
	struct arm_smccc_res res;

	smccc_hvc(func, arg, 0, 0, 0, 0, 0, 0, &res);
	return res;
}

static s64 write_register(u64 value)
{
	return call(FUNC_GUEST_STATS, value).a0;
}

static void hypercalls(int times)
{
	while (times--)
		call(ARM_SMCCC_VERSION_FUNC_ID, 0);
}

static void name_hvc(void)
{
	set_name(area, 0, "exit_reasons.hvc");
	GUEST_ASSERT_EQ(write_register(AREA_GPA | ENABLED), 0);
	GUEST_ASSERT_EQ(status(0), 0);
}

static void create_finalized(u64 bits, void *code, struct kvm_vcpu **vcpu)
{
	struct kvm_vm *vm = create_vm(bits, code, vcpu);

	kvm_arch_vm_finalize_vcpus(vm);
}

static void run_guest(u64 bits, void *code)
{
	struct kvm_vcpu *vcpu;

	create_finalized(bits, code, &vcpu);
	run(vcpu);
	kvm_vm_free(vcpu->vm);
}

TEST(check_extension_returns_the_bits)
{
	EXPECT_EQ(BITS, kvm_check_cap(KVM_CAP_GUEST_STATS));
}

TEST(bits_that_need_an_interrupt_return_EINVAL)
{
	struct kvm_vm *vm = vm_create_barebones();

	EXPECT_EQ(-EINVAL, enable(vm, KVM_GUEST_STATS_COUNT | KVM_GUEST_STATS_OVERFLOW));
	EXPECT_EQ(-EINVAL, enable(vm, KVM_GUEST_STATS_COUNT | KVM_GUEST_STATS_TIMER));
	EXPECT_EQ(0, enable(vm, KVM_GUEST_STATS_COUNT));
	kvm_vm_free(vm);
}

static void guest_refused(void)
{
	GUEST_ASSERT_EQ(call(FUNC_FEATURES, 0).a2 & BIT(FEATURE_BIT), 0);
	GUEST_ASSERT_EQ(write_register(AREA_GPA | ENABLED), SMCCC_RET_NOT_SUPPORTED);
	GUEST_DONE();
}

static bool is_in_the_list(struct kvm_vcpu *vcpu)
{
	struct kvm_reg_list *list = vcpu_get_reg_list(vcpu);
	bool found = false;
	u64 i;

	for (i = 0; i < list->n; i++)
		found |= list->reg[i] == KVM_REG_ARM_GUEST_STATS;
	free(list);
	return found;
}

TEST(vm_without_the_capability_has_neither_call_nor_register)
{
	struct kvm_vcpu *vcpu;
	u64 value = 0;

	create_finalized(0, guest_refused, &vcpu);
	run(vcpu);
	EXPECT_FALSE(is_in_the_list(vcpu));
	EXPECT_EQ(-1, __vcpu_get_reg(vcpu, KVM_REG_ARM_GUEST_STATS, &value));
	EXPECT_EQ(ENOENT, errno);
	kvm_vm_free(vcpu->vm);
}

static void guest_counts(void)
{
	u64 before, exits;
	int i;

	GUEST_ASSERT(call(FUNC_FEATURES, 0).a2 & BIT(FEATURE_BIT));
	set_name(area, 1, "exits");
	set_name(area, 2, "no_such_statistic");
	name_hvc();
	GUEST_ASSERT_EQ(READ_ONCE(area->version), KVM_GUEST_STATS_VERSION);
	GUEST_ASSERT_EQ(READ_ONCE(area->features), BITS);
	GUEST_ASSERT_EQ(status(1), 0);
	GUEST_ASSERT_EQ(status(2), -ENOENT);
	before = count(0);
	exits = count(1);
	for (i = 1; i <= TIMES; i++) {
		hypercalls(1);
		GUEST_ASSERT_EQ(count(0), before + i);
	}
	GUEST_ASSERT(count(1) - exits >= TIMES);
	GUEST_DONE();
}

TEST(each_exit_counts_once_before_the_next_instruction)
{
	run_guest(BITS, guest_counts);
}

static void guest_without_host(void)
{
	set_name(area, 1, "exits");
	set_name(area, 2, "exit_reasons.interrupt");
	set_name(area, 3, "exit_reasons.data_abort");
	set_name(area, 4, "hvc_exit_stat");
	name_hvc();
	GUEST_ASSERT_EQ(status(1), -ENOENT);
	GUEST_ASSERT_EQ(status(2), -ENOENT);
	GUEST_ASSERT_EQ(status(3), -ENOENT);
	GUEST_ASSERT_EQ(status(4), 0);
	GUEST_DONE();
}

TEST(names_of_what_the_host_causes_need_the_bit_HOST)
{
	run_guest(KVM_GUEST_STATS_COUNT, guest_without_host);
}

static void guest_bad_addresses(void)
{
	name_hvc();
	GUEST_ASSERT_EQ(write_register(AREA_GPA | 2 | ENABLED), SMCCC_RET_INVALID_PARAMETER);
	GUEST_ASSERT_EQ(write_register(AREA_GPA), SMCCC_RET_INVALID_PARAMETER);
	GUEST_ASSERT_EQ(write_register(NO_MEMORY | ENABLED), SMCCC_RET_INVALID_PARAMETER);
	GUEST_ASSERT_EQ(count(0), 3);
	GUEST_ASSERT_EQ(write_register(0), 0);
	hypercalls(1);
	GUEST_ASSERT_EQ(count(0), 3);
	GUEST_DONE();
}

TEST(bad_address_is_refused_and_changes_nothing)
{
	run_guest(BITS, guest_bad_addresses);
}

static void guest_syncs(void)
{
	name_hvc();
	hypercalls(TIMES);
	GUEST_SYNC(0);
	hypercalls(TIMES);
	GUEST_ASSERT_EQ(count(0), 2 * TIMES);
	GUEST_DONE();
}

static u64 get_register(struct kvm_vcpu *vcpu)
{
	u64 value = 0;

	TEST_ASSERT(!__vcpu_get_reg(vcpu, KVM_REG_ARM_GUEST_STATS, &value), "KVM_GET_ONE_REG");
	return value;
}

/* The VMM switches the area off and on again, as the destination of a migration does. */
static void save_and_restore(struct kvm_vcpu *vcpu, u64 stage)
{
	u64 value = get_register(vcpu);

	TEST_ASSERT_EQ(value, AREA_GPA | ENABLED);
	TEST_ASSERT(is_in_the_list(vcpu), "not in the list of registers");
	vcpu_set_reg(vcpu, KVM_REG_ARM_GUEST_STATS, 0);
	TEST_ASSERT(__vcpu_set_reg(vcpu, KVM_REG_ARM_GUEST_STATS, NO_MEMORY | ENABLED) == -1 &&
		    errno == EINVAL, "address without memory");
	vcpu_set_reg(vcpu, KVM_REG_ARM_GUEST_STATS, value);
}

TEST(vmm_saves_and_restores_the_register)
{
	struct kvm_vcpu *vcpu;

	create_finalized(BITS, guest_syncs, &vcpu);
	run_with(vcpu, save_and_restore);
	kvm_vm_free(vcpu->vm);
}

static void reset_vcpu(struct kvm_vcpu *vcpu)
{
	struct kvm_vcpu_init init;

	vm_ioctl(vcpu->vm, KVM_ARM_PREFERRED_TARGET, &init);
	aarch64_vcpu_setup(vcpu, &init);
}

TEST(reset_clears_the_register)
{
	struct kvm_vcpu *vcpu;

	create_finalized(BITS, guest_syncs, &vcpu);
	vcpu_run(vcpu);
	EXPECT_EQ(AREA_GPA | ENABLED, get_register(vcpu));
	reset_vcpu(vcpu);
	EXPECT_EQ(0, get_register(vcpu));
	kvm_vm_free(vcpu->vm);
}

TEST_HARNESS_MAIN
