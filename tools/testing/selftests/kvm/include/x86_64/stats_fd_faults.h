/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The outcomes of page faults that KVM takes on x86, for the tests of its statistics.
 */
#ifndef SELFTEST_KVM_STATS_FD_FAULTS_H
#define SELFTEST_KVM_STATS_FD_FAULTS_H

#include "stats_fd_counts.h"

/*
 * Page faults of a vCPU by outcome. The others are retried, or a hypervisor in the guest
 * gets them as faults of its nested page tables. A fault whose page arrives
 * asynchronously counts once, as fixed.
 */
struct faults {
	__u64 guest;
	__u64 fixed;
	__u64 fast;			/* also count as fixed or spurious */
	__u64 spurious;
	__u64 emulate;
	__u64 other;
	__u64 mmio_spte_created;	/* also count as emulate */
};

static inline struct faults
faults_read(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	struct faults f = {
		.guest = vcpu_read(_metadata, v, "pf_guest"),
		.fixed = vcpu_read(_metadata, v, "pf_fixed"),
		.fast = vcpu_read(_metadata, v, "pf_fast"),
		.spurious = vcpu_read(_metadata, v, "pf_spurious"),
		.emulate = vcpu_read(_metadata, v, "pf_emulate"),
		.mmio_spte_created = vcpu_read(_metadata, v, "pf_mmio_spte_created"),
	};

	f.other = vcpu_read(_metadata, v, "pf_taken") - f.guest - f.fixed -
		    f.spurious - f.emulate;
	return f;
}

/* Expect the outcomes since @since, which becomes the current state. */
static inline void expect_faults(struct __test_metadata *_metadata, const struct guest_vcpu *v,
				 struct faults *since, const struct faults *expected)
{
	struct faults now = faults_read(_metadata, v);

	EXPECT_EQ(expected->guest, now.guest - since->guest);
	EXPECT_EQ(expected->fixed, now.fixed - since->fixed);
	EXPECT_EQ(expected->fast, now.fast - since->fast);
	EXPECT_EQ(expected->spurious, now.spurious - since->spurious);
	EXPECT_EQ(expected->emulate, now.emulate - since->emulate);
	EXPECT_EQ(expected->mmio_spte_created,
		  now.mmio_spte_created - since->mmio_spte_created);
	EXPECT_EQ(expected->other, now.other - since->other) {
		TH_LOG("pf_taken is not the sum of the outcomes");
	}
	*since = now;
}

#endif /* SELFTEST_KVM_STATS_FD_FAULTS_H */
