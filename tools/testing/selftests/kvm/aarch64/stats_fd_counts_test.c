// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics of arm64: a vCPU that does not enter the guest has no exits, and changes of guest
 * memory need a known number of TLB flushes. stats_fd_values_test has the exits.
 *
 * No case has WFE: emulators do not trap it, and processors do only if it would wait.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../../kselftest_harness.h"
#include "stats_fd_counts.h"
#include "stats_fd_fixture.h"

#define TIMES			10

TEST_F(guest, vcpu_that_never_entered_the_guest_has_no_exits)
{
	static const char * const names[] = {
		"exits", "hvc_exit_stat", "wfi_exit_stat", "mmio_exit_user", "mmio_exit_kernel",
	};
	struct guest_vcpu *v = self->vcpu;
	unsigned int i;
	sigset_t mask;

	stats_arch_init_vcpu(_metadata, v->fd, GUEST_KERNEL_EXITS, TIMES);
	stats_irq_line(_metadata, self->guest.vm, 1);
	stats_irq_line(_metadata, self->guest.vm, 0);
	for (i = 0; i < TIMES; i++)
		vcpu_complete_exit(_metadata, v);

	vcpu_mask_signal(_metadata, v, &mask);
	for (i = 0; i < TIMES; i++)
		vcpu_run_until_signal(_metadata, v, &mask);
	EXPECT_EQ((__u64)TIMES, vcpu_read(_metadata, v, "signal_exits"));
	for (i = 0; i < ARRAY_SIZE(names); i++)
		EXPECT_EQ(0UL, vcpu_read(_metadata, v, names[i])) TH_LOG("%s", names[i]);
}

/* This memory shares no page table with the code. */
#define AREA			0x40000000UL
#define AREA_SLOT		1
#define AREA_PAGES		16UL

/* A VM with memory at AREA that is all mapped. */
FIXTURE(memory)
{
	struct guest guest;
	struct stats_file file;
	char *area;
	size_t size;
	__u64 flushes;		/* when they were read last */
};

static void set_slot(struct __test_metadata *_metadata, FIXTURE_DATA(memory) *self, __u32 flags,
		     size_t size)
{
	guest_set_slot(_metadata, &self->guest, AREA_SLOT, flags, AREA, self->area, size);
}

/* Expect so many flushes since the last time. */
static void expect_flushes(struct __test_metadata *_metadata, FIXTURE_DATA(memory) *self,
			   __u64 flushes)
{
	__u64 now = stats_read(_metadata, &self->file, "remote_tlb_flush");

	/* The hardware broadcasts each flush to all CPUs. */
	EXPECT_EQ(now, stats_read(_metadata, &self->file, "remote_tlb_flush_requests"));
	EXPECT_EQ(flushes, now - self->flushes);
	self->flushes = now;
}

FIXTURE_SETUP(memory)
{
	struct guest *g = &self->guest;
	struct guest_vcpu *v = &g->vcpu[0];

	/* A copy-on-write fault of the process would make KVM retry a fault of the guest. */
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, munlockall());
	guest_create(_metadata, g, 1);
	guest_start(_metadata, g, stats_touch, stats_touch_end, AREA_PAGES);
	stats_load(_metadata, stats_get_fd(_metadata, g->vm), &self->file);
	self->size = AREA_PAGES * g->page;
	self->area = mmap(NULL, self->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->area);
	ASSERT_EQ(0, madvise(self->area, self->size, MADV_NOHUGEPAGE));
	memset(self->area, 1, self->size);
	set_slot(_metadata, self, 0, self->size);
	stats_arch_set_data(_metadata, v->fd, AREA);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	vcpu_complete_exit(_metadata, v);
	self->flushes = stats_read(_metadata, &self->file, "remote_tlb_flush");
}

FIXTURE_TEARDOWN(memory) { }

TEST_F(memory, flushes_of_single_addresses_do_not_count)
{
	ASSERT_EQ(0, madvise(self->area, self->guest.page, MADV_DONTNEED));
	expect_flushes(_metadata, self, 0);
	ASSERT_EQ(0, mprotect(self->area, self->size, PROT_NONE));
	expect_flushes(_metadata, self, 0);
	set_slot(_metadata, self, 0, 0);
	expect_flushes(_metadata, self, 0);
}

TEST_F(memory, start_of_a_dirty_log_counts_as_reading_it_and_its_end_does_not)
{
	set_slot(_metadata, self, KVM_MEM_LOG_DIRTY_PAGES, self->size);
	expect_flushes(_metadata, self, STATS_LOG_REQUESTS);
	set_slot(_metadata, self, 0, self->size);
	expect_flushes(_metadata, self, 0);
}

/* Linux 5.10 has no dirty rings. */
#ifdef KVM_RESET_DIRTY_RINGS
#define RING_SIZE		0x10000UL

TEST_F(memory, reset_of_dirty_rings_counts_as_one_flush_if_it_has_pages)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_DIRTY_LOG_RING_ACQ_REL,
		.args = { RING_SIZE },
	};
	struct guest *g = &self->guest;
	struct kvm_dirty_gfn *ring;
	unsigned int i;

	/* Only a VM without vCPUs can have rings. */
	guest_destroy(g);
	stats_unload(&self->file);
	*g = (struct guest){ };
	guest_create(_metadata, g, 0);
	ASSERT_EQ(0, ioctl(g->vm, KVM_ENABLE_CAP, &cap));
	guest_add_vcpu(_metadata, g, 0);
	ring = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, g->vcpu[0].fd,
		    KVM_DIRTY_LOG_PAGE_OFFSET * g->page);
	ASSERT_NE(MAP_FAILED, ring);
	guest_start(_metadata, g, stats_touch, stats_touch_end, AREA_PAGES);
	stats_load(_metadata, stats_get_fd(_metadata, g->vm), &self->file);
	set_slot(_metadata, self, KVM_MEM_LOG_DIRTY_PAGES, self->size);
	stats_arch_set_data(_metadata, g->vcpu[0].fd, AREA);
	vcpu_run(_metadata, &g->vcpu[0], STATS_USER_EXIT_REASON);
	self->flushes = stats_read(_metadata, &self->file, "remote_tlb_flush");

	for (i = 0; i < AREA_PAGES; i++)
		ring[i].flags |= KVM_DIRTY_GFN_F_RESET;
	ASSERT_EQ((int)AREA_PAGES, ioctl(g->vm, KVM_RESET_DIRTY_RINGS, 0));
	expect_flushes(_metadata, self, 1);
	ASSERT_EQ(0, ioctl(g->vm, KVM_RESET_DIRTY_RINGS, 0));
	expect_flushes(_metadata, self, 0);
	munmap(ring, RING_SIZE);
}
#endif

TEST_HARNESS_MAIN
