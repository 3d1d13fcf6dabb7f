// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics of MMIO on x86: KVM marks page table entries to recognize the next access,
 * unless the CPU has no reserved bit for the mark.
 */
#define _GNU_SOURCE
#include "../../kselftest_harness.h"
#include "stats_fd_faults.h"
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

TEST(mmio_is_recognized_only_if_entries_can_be_marked)
{
	const __u64 marked = kvm_can_mark_mmio() ? 1 : 0;
	const __u64 known = marked * (WRITES - 1);
	struct guest guest = { };
	struct guest_vcpu *v;
	struct reasons r;
	unsigned long i;

	TH_LOG("KVM can %smark MMIO here", marked ? "" : "not ");
	guest_create(_metadata, &guest, 1);
	guest_put_code(_metadata, &guest, stats_mmio_write, stats_mmio_write_end);
	v = &guest.vcpu[0];
	stats_arch_init_vcpu(_metadata, v->fd, GUEST_CODE, WRITES);
	for (i = 0; i < WRITES; i++)
		vcpu_run(_metadata, v, KVM_EXIT_MMIO);
	vcpu_complete_exit(_metadata, v);

	/* The page of the code is one fixed fault. */
	expect_faults(_metadata, v, &(struct faults){ },
		      &(struct faults){ .fixed = 1,
					.emulate = WRITES - known,
					.mmio_spte_created = marked });
	reasons_read(_metadata, v, &r);
	EXPECT_EQ(known, reason_of(_metadata, v, &r, "mmio"));
	EXPECT_EQ(1 + WRITES - known,
		  reason_of(_metadata, v, &r, stats_arch_fault_reason()));
	EXPECT_EQ(WRITES, vcpu_read(_metadata, v, "mmio_exits"));
	guest_destroy(&guest);
}

TEST_HARNESS_MAIN
