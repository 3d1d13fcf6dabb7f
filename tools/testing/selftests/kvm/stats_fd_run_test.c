// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guests exit a known number of times: their files show it at once, no other file does.
 */
#define _GNU_SOURCE
#include "../kselftest_harness.h"
#include "stats_fd_fixture.h"

#define EXITS			1000

TEST_F(guest, thousand_exits_to_user_space_count_as_thousand)
{
	__u64 exits = vcpu_read(_metadata, self->vcpu, STATS_EXITS);

	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, STATS_USER_EXITS));
	vcpu_exit_to_user(_metadata, self->vcpu, EXITS);
	EXPECT_EQ((__u64)EXITS, vcpu_read(_metadata, self->vcpu, STATS_USER_EXITS));
	/* Faults and interrupts of the host are exits, too. */
	EXPECT_LE(exits + EXITS, vcpu_read(_metadata, self->vcpu, STATS_EXITS));
}

TEST_F(guest, exits_that_kvm_handles_count_inside_KVM_RUN_and_not_as_user_exits)
{
	struct runner runner;
	__u64 exits;

	runner_start(_metadata, &runner, self->vcpu, UINT_MAX, EXITS);
	exits = vcpu_read(_metadata, self->vcpu, STATS_EXITS);
	runner_wait_for(_metadata, &runner, STATS_EXITS, exits + EXITS);
	runner_stop(_metadata, &runner);
	EXPECT_EQ(0UL, vcpu_read(_metadata, self->vcpu, STATS_USER_EXITS));
}

TEST_F(guest, exits_do_not_count_for_other_vcpus_and_vms)
{
	struct guest_vcpu *idle = guest_add_vcpu(_metadata, &self->guest, 1);
	struct guest other = { };
	struct stats_file other_vm;

	guest_create(_metadata, &other, 1);
	stats_load(_metadata, stats_get_fd(_metadata, other.vm), &other_vm);

	vcpu_exit_to_user(_metadata, self->vcpu, EXITS);
	EXPECT_EQ(0, stats_same(idle->file.fd, &idle->file));
	EXPECT_EQ(0, stats_same(other.vcpu[0].file.fd, &other.vcpu[0].file));
	EXPECT_EQ(0, stats_same(other_vm.fd, &other_vm));
}

static void expect_only_growth(struct __test_metadata *_metadata,
			       const struct stats_file *before)
{
	const struct kvm_stats_desc *desc;
	struct stats_file after;
	unsigned int i, j;

	stats_load(_metadata, dup(before->fd), &after);
	ASSERT_EQ(before->size, after.size);
	EXPECT_EQ(0, memcmp(before->bytes, after.bytes, before->header.data_offset));
	for (i = 0; (desc = stats_desc(before, i)); i++) {
		if ((desc->flags & KVM_STATS_TYPE_MASK) == KVM_STATS_TYPE_INSTANT)
			continue;
		for (j = 0; j < desc->size; j++) {
			EXPECT_LE(stats_value(before, desc, j), stats_value(&after, desc, j)) {
				TH_LOG("%s", desc->name);
			}
		}
	}
	stats_unload(&after);
}

TEST_F(guest, running_changes_only_data_and_only_instant_values_decrease)
{
	struct runner runner;
	struct stats_file vm;

	stats_load(_metadata, stats_get_fd(_metadata, self->guest.vm), &vm);
	vcpu_exit_to_user(_metadata, self->vcpu, EXITS);
	expect_only_growth(_metadata, &vm);
	expect_only_growth(_metadata, &self->vcpu->file);

	runner_start(_metadata, &runner, self->vcpu, EXITS, EXITS);
	runner_stop(_metadata, &runner);
	expect_only_growth(_metadata, &vm);
	expect_only_growth(_metadata, &self->vcpu->file);
}

TEST_HARNESS_MAIN
