/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The account of the page faults that KVM takes on x86, for the tests of its
 * statistics: what became of each of them, to be compared with what should have.
 */
#ifndef SELFTEST_KVM_STATS_FD_FAULTS_H
#define SELFTEST_KVM_STATS_FD_FAULTS_H

#include "stats_fd_counts.h"

/*
 * What became of the page faults of a vCPU; other is what is left over of those that
 * were taken: it is retried, or a hypervisor in the guest gets it as a fault of its
 * nested page tables. One that was fixed later, when its page was there, is none.
 */
struct faults {
	__u64 guest;
	__u64 fixed;
	__u64 fast;			/* these are fixed or spurious as well */
	__u64 spurious;
	__u64 emulate;
	__u64 other;
	__u64 mmio_spte_created;	/* these are emulated as well */
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

/* @since becomes what there is now. */
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
		TH_LOG("pf_taken is not the sum of what became of the faults");
	}
	*since = now;
}

#endif /* SELFTEST_KVM_STATS_FD_FAULTS_H */
