// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics of MMIO on x86: KVM marks page table entries to recognize the next access,
 * unless the CPU has no reserved bit for the mark.
 */
#define _GNU_SOURCE
#include "../../kselftest_harness.h"
#include "stats_fd_faults.h"
#include "stats_fd_fixture.h"
#include "stats_fd_reasons.h"

#define WRITES		500UL

static bool kvm_can_mark_mmio(void)
{
	unsigned int eax, ebx, ecx, edx;

	/* EPT marks entries by a misconfiguration. */
	if (!stats_arch_svm() && !stats_arch_shadows())
		return true;
	__cpuid(0x80000008, eax, ebx, ecx, edx);
	return (eax & 0xff) < 52;
}

TEST_F(guest, mmio_is_recognized_only_if_entries_can_be_marked)
{
	const __u64 marked = kvm_can_mark_mmio() ? 1 : 0;
	const __u64 known = marked * (WRITES - 1);
	struct guest_vcpu *v = self->vcpu;

	TH_LOG("KVM can %smark MMIO here", marked ? "" : "not ");
	guest_start(_metadata, &self->guest, stats_mmio_write, stats_mmio_write_end, WRITES);
	vcpu_run_times(_metadata, v, KVM_EXIT_MMIO, WRITES);
	vcpu_complete_exit(_metadata, v);

	/* The page of the code is one fixed fault. */
	expect_faults(_metadata, v, &(struct faults){ },
		      &(struct faults){ .fixed = 1,
					.emulate = WRITES - known,
					.mmio_spte_created = marked });
	EXPECT_EQ(known, exits_by(_metadata, v, "mmio"));
	EXPECT_EQ(1 + WRITES - known, exits_by(_metadata, v, stats_arch_fault_reason()));
	EXPECT_EQ(WRITES, vcpu_read(_metadata, v, "mmio_exits"));
}

TEST_HARNESS_MAIN
