// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics of arm64: guests that leave for a known reason a known number
 * of times, and changes of a guest's memory that need a known number of TLB
 * flushes, so that each exit and each flush is accounted for to the digit.
 *
 * No case has WFE: emulators do not have it leave the guest, and processors do
 * only if it would have waited.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

#include "../../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_reasons.h"

/* How often a guest does what it does. */
#define TIMES			10

/*
 * An interrupt of the host is an exit as well, in the middle of what is counted.
 * Of so many tries one has none, on a machine however busy.
 */
#define TRIES			1000

STATS_GUEST_LOOP(smc_code, "mov w0, #0x84000000; smc #0");
STATS_GUEST_LOOP(distributor_code, "ldr w1, [x3]");
STATS_GUEST_LOOP(float_code, "fmov d0, x1");

FIXTURE(guest)
{
	int kvm;
	struct guest guest;
	struct guest_vcpu *vcpu;
};

/* A write to memory that it shares with its parent makes KVM retry a fault. */
static void unshare_memory(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, munlockall());
}

FIXTURE_SETUP(guest)
{
	unshare_memory(_metadata);
	self->kvm = stats_open_kvm(_metadata);
	guest_create(_metadata, self->kvm, &self->guest, 1);
	self->vcpu = &self->guest.vcpu[0];
}

FIXTURE_TEARDOWN(guest)
{
	guest_expect_reasons(_metadata, &self->guest);
	guest_destroy(&self->guest);
	close(self->kvm);
}

/* Exits that are counted, all of them and those by reason. */
struct exits {
	__u64 all;
	__u64 hvc, wfi, user, kernel;
};

static struct exits exits_read(struct __test_metadata *_metadata,
			       const struct guest_vcpu *v)
{
	return (struct exits) {
		.all = vcpu_read(_metadata, v, "exits"),
		.hvc = vcpu_read(_metadata, v, "hvc_exit_stat"),
		.wfi = vcpu_read(_metadata, v, "wfi_exit_stat"),
		.user = vcpu_read(_metadata, v, "mmio_exit_user"),
		.kernel = vcpu_read(_metadata, v, "mmio_exit_kernel"),
	};
}

/*
 * What was counted since @before is @exits, but for interrupts of the host in
 * .all. Was there none?
 */
static bool expect_exits(struct __test_metadata *_metadata,
			 const struct guest_vcpu *v,
			 const struct exits *before, const struct exits *exits)
{
	struct exits now = exits_read(_metadata, v);

	EXPECT_EQ(exits->hvc, now.hvc - before->hvc);
	EXPECT_EQ(exits->wfi, now.wfi - before->wfi);
	EXPECT_EQ(exits->user, now.user - before->user);
	EXPECT_EQ(exits->kernel, now.kernel - before->kernel);
	EXPECT_LE(exits->all, now.all - before->all);
	return exits->all == now.all - before->all;
}

/*
 * Have a vCPU go on elsewhere, with another count. KVM_ARM_VCPU_INIT does that,
 * too, but unmaps the memory of a vCPU that has run.
 */
static void vcpu_go(struct __test_metadata *_metadata, struct guest_vcpu *v,
		    __u64 pc, __u64 count)
{
	stats_set_reg(_metadata, v->fd, STATS_CORE_REG(regs.pc), pc);
	stats_set_reg(_metadata, v->fd, STATS_CORE_REG(regs.regs[19]), count);
}

/* From the code on, @runs times to user space: the last one ends the loop. */
static void run_code(struct __test_metadata *_metadata, struct guest_vcpu *v,
		     int runs)
{
	int i;

	vcpu_go(_metadata, v, GUEST_CODE, TIMES);
	for (i = 0; i < runs; i++)
		vcpu_run(_metadata, v, KVM_EXIT_MMIO);
	vcpu_complete_exit(_metadata, v);
}

/*
 * Run what is at GUEST_CODE until there was a try without an interrupt of the
 * host. The first run, which also has the page of the code mapped, is none.
 */
static void expect_code_exits(struct __test_metadata *_metadata,
			      struct guest_vcpu *v, int runs,
			      const struct exits *exits)
{
	struct exits before;
	bool exact = false;
	int try;

	run_code(_metadata, v, runs);
	for (try = 0; try < TRIES && !exact && __test_passed(_metadata); try++) {
		before = exits_read(_metadata, v);
		run_code(_metadata, v, runs);
		exact = expect_exits(_metadata, v, &before, exits);
	}
	EXPECT_TRUE(exact) TH_LOG("more than %llu exits in each of %d tries",
				  exits->all, try);
}

static void put_code(struct __test_metadata *_metadata, struct guest *g,
		     const char *code, const char *end)
{
	guest_put_code(_metadata, g, code, end);
	stats_arch_init_vcpu(_metadata, g->vcpu[0].fd, GUEST_CODE, TIMES);
}

TEST_F(guest, each_hypercall_is_an_exit)
{
	const struct exits exits = {
		.all = TIMES + 1, .hvc = TIMES, .user = 1,
	};

	put_code(_metadata, &self->guest, stats_hypercall, stats_hypercall_end);
	expect_code_exits(_metadata, self->vcpu, 1, &exits);
}

/* What is not counted by reason is an exit, too. */
TEST_F(guest, each_secure_monitor_call_is_an_exit)
{
	const struct exits exits = { .all = TIMES + 1, .user = 1 };

	put_code(_metadata, &self->guest, smc_code, smc_code_end);
	expect_code_exits(_metadata, self->vcpu, 1, &exits);
}

TEST_F(guest, each_write_to_mmio_of_user_space_is_an_exit)
{
	const struct exits exits = { .all = TIMES + 1, .user = TIMES + 1 };

	put_code(_metadata, &self->guest, stats_mmio_write,
		 stats_mmio_write_end);
	expect_code_exits(_metadata, self->vcpu, TIMES + 1, &exits);
}

TEST_F(guest, each_read_of_mmio_of_user_space_is_an_exit)
{
	const struct exits exits = { .all = TIMES + 1, .user = TIMES + 1 };

	put_code(_metadata, &self->guest, stats_mmio_read, stats_mmio_read_end);
	expect_code_exits(_metadata, self->vcpu, TIMES + 1, &exits);
}

/*
 * EL2 hands over the floating point registers and enters the guest again: that is
 * no exit to the kernel.
 */
TEST_F(guest, the_first_use_of_floating_point_is_no_exit)
{
	const struct exits exits = { .all = 1, .user = 1 };

	put_code(_metadata, &self->guest, float_code, float_code_end);
	/* CPACR_EL1: not a matter of the guest's EL1. */
	stats_set_reg(_metadata, self->vcpu->fd, ARM64_SYS_REG(3, 0, 1, 0, 2),
		      3 << 20);
	expect_code_exits(_metadata, self->vcpu, 1, &exits);
}

/*
 * A WFI does nothing where an interrupt of the host is pending. It is one exit if
 * it waits, until user space wakes the vCPU, and is not executed again.
 */
TEST_F(guest, each_wfi_that_waits_is_an_exit)
{
	const struct exits exits = { .all = 2, .wfi = 1, .user = 1 };
	struct guest_vcpu *v = self->vcpu;
	struct runner runner;
	struct exits before;
	bool exact = false;
	int try;

	put_code(_metadata, &self->guest, stats_sleep, stats_sleep_end);
	for (try = 0; try < TRIES && !exact && __test_passed(_metadata); try++) {
		before = exits_read(_metadata, v);
		runner_sleep(_metadata, &runner, v);
		runner_wake(_metadata, &runner, self->guest.vm);
		if (try)
			exact = expect_exits(_metadata, v, &before, &exits);
	}
	EXPECT_TRUE(exact);
}

/* Where the guest has its interrupt controller. */
#define DISTRIBUTOR		0x8000000UL
#define REDISTRIBUTORS		0x80a0000UL

static void set_vgic(struct __test_metadata *_metadata, int vgic, __u32 group,
		     __u64 attr, const __u64 *value)
{
	struct kvm_device_attr set = {
		.group = group,
		.attr = attr,
		.addr = (unsigned long)value,
	};

	ASSERT_EQ(0, ioctl(vgic, KVM_SET_DEVICE_ATTR, &set)) {
		TH_LOG("group %u, %llu: %s", group, attr, strerror(errno));
	}
}

static void set_vgic_addr(struct __test_metadata *_metadata, int vgic,
			  __u64 attr, __u64 addr)
{
	set_vgic(_metadata, vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, attr, &addr);
}

/* KVM's GICv3. */
TEST_F(guest, each_access_to_the_distributor_is_an_exit)
{
	const struct exits exits = {
		.all = TIMES + 1, .kernel = TIMES, .user = 1,
	};
	struct kvm_create_device create = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct guest_vcpu *v = self->vcpu;

	if (ioctl(self->guest.vm, KVM_CREATE_DEVICE, &create))
		SKIP(return, "no GICv3: %s", strerror(errno));
	put_code(_metadata, &self->guest, distributor_code,
		 distributor_code_end);
	set_vgic_addr(_metadata, create.fd, KVM_VGIC_V3_ADDR_TYPE_DIST,
		      DISTRIBUTOR);
	set_vgic_addr(_metadata, create.fd, KVM_VGIC_V3_ADDR_TYPE_REDIST,
		      REDISTRIBUTORS);
	set_vgic(_metadata, create.fd, KVM_DEV_ARM_VGIC_GRP_CTRL,
		 KVM_DEV_ARM_VGIC_CTRL_INIT, NULL);
	stats_set_reg(_metadata, v->fd, STATS_CORE_REG(regs.regs[3]),
		      DISTRIBUTOR);
	expect_code_exits(_metadata, v, 1, &exits);
	close(create.fd);
}

/* Whatever is set up, and whatever ends KVM_RUN before. */
TEST_F(guest, a_vcpu_that_was_never_in_the_guest_has_no_exits)
{
	const struct exits none = { };
	struct guest_vcpu *v = self->vcpu;
	struct exits exits;
	sigset_t mask;
	int i;

	put_code(_metadata, &self->guest, stats_spin, stats_spin_end);
	stats_irq_line(_metadata, self->guest.vm, 1);
	stats_irq_line(_metadata, self->guest.vm, 0);
	for (i = 0; i < TIMES; i++)
		vcpu_complete_exit(_metadata, v);

	/* A struct kvm_signal_mask: the size of the set, and no signal in it. */
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_SIGNAL_MASK,
			   (const __u32[3]) { sizeof(__u64) }));
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	ASSERT_EQ(0, pthread_sigmask(SIG_BLOCK, &mask, NULL));
	for (i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, pthread_kill(pthread_self(), SIGUSR1));
		ASSERT_EQ(-EINTR, result(ioctl(v->fd, KVM_RUN, 0)));
		ASSERT_EQ(SIGUSR1, sigwaitinfo(&mask, NULL));
	}
	EXPECT_EQ((__u64)TIMES, vcpu_read(_metadata, v, "signal_exits"));
	exits = exits_read(_metadata, v);
	EXPECT_EQ(0, memcmp(&none, &exits, sizeof(none)));
}

/*
 * Memory that shares no table with that of the code: a table of pages and, where
 * these have 4 KiB, one above it.
 */
#define AREA			0x40000000UL
#define AREA_SLOT		1
#define AREA_PAGES		16UL

/* In the middle of it. */
#define SOME_PAGE		5

/* A VM with memory of the test's own at AREA. */
struct machine {
	int kvm;
	struct guest guest;
	struct stats_file file;
	char *area;
	size_t page;
	size_t size;
};

FIXTURE(memory)
{
	struct machine m;
};

/* A guest that writes to as many pages of the area as it is told. */
FIXTURE_SETUP(memory)
{
	struct machine *m = &self->m;
	int i;

	unshare_memory(_metadata);
	m->kvm = stats_open_kvm(_metadata);
	guest_create(_metadata, m->kvm, &m->guest, 2);
	for (i = 0; i < 2; i++)
		stats_arch_init_vcpu(_metadata, m->guest.vcpu[i].fd,
				     GUEST_CODE, 0);
	guest_put_code(_metadata, &m->guest, stats_touch, stats_touch_end);
	stats_load(_metadata, stats_get_fd(_metadata, m->guest.vm), &m->file);
	m->page = m->guest.page;
	m->size = AREA_PAGES * m->page;
}

FIXTURE_TEARDOWN(memory)
{
	struct machine *m = &self->m;

	guest_expect_reasons(_metadata, &m->guest);
	if (m->area)
		munmap(m->area, m->size);
	stats_unload(&m->file);
	guest_destroy(&m->guest);
	close(m->kvm);
}

static void set_slot(struct __test_metadata *_metadata, struct machine *m,
		     __u32 flags, size_t size)
{
	guest_set_slot(_metadata, &m->guest, AREA_SLOT, flags, AREA, m->area,
		       size);
}

static void add_area(struct __test_metadata *_metadata, struct machine *m)
{
	m->area = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, m->area);
	ASSERT_EQ(0, madvise(m->area, m->size, MADV_NOHUGEPAGE));
	memset(m->area, 1, m->size);
	set_slot(_metadata, m, 0, m->size);
}

/* Have the vCPU write to @pages of the area from @first on. */
static void touch(struct __test_metadata *_metadata, struct machine *m,
		  int first, int pages)
{
	struct guest_vcpu *v = &m->guest.vcpu[0];

	vcpu_go(_metadata, v, GUEST_CODE, pages);
	stats_arch_set_data(_metadata, v->fd, AREA + first * m->page);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	vcpu_complete_exit(_metadata, v);
}

/* An area all pages of which are mapped. */
static void add_touched_area(struct __test_metadata *_metadata,
			     struct machine *m)
{
	add_area(_metadata, m);
	touch(_metadata, m, 0, AREA_PAGES);
}

static __u64 flushes_read(struct __test_metadata *_metadata,
			  const struct machine *m)
{
	__u64 flushes = stats_read(_metadata, &m->file, "remote_tlb_flush");

	/* The hardware tells all CPUs of each. */
	EXPECT_EQ(flushes, stats_read(_metadata, &m->file,
				      "remote_tlb_flush_requests"));
	return flushes;
}

/* So many since the last time that they were read. */
static void expect_flushes(struct __test_metadata *_metadata,
			   const struct machine *m, __u64 *last, __u64 flushes)
{
	__u64 now = flushes_read(_metadata, m);

	EXPECT_EQ(flushes, now - *last);
	*last = now;
}

TEST_F(memory, mapping_a_page_is_no_flush)
{
	struct machine *m = &self->m;
	__u64 last = flushes_read(_metadata, m);

	add_touched_area(_metadata, m);
	expect_flushes(_metadata, m, &last, 0);
	EXPECT_EQ(0UL, last);
}

TEST_F(memory, flushes_of_single_addresses_do_not_count)
{
	struct machine *m = &self->m;
	__u64 last;

	add_touched_area(_metadata, m);
	last = flushes_read(_metadata, m);
	ASSERT_EQ(0, madvise(m->area, m->page, MADV_DONTNEED));
	expect_flushes(_metadata, m, &last, 0);
	ASSERT_EQ(0, mprotect(m->area, m->size, PROT_NONE));
	expect_flushes(_metadata, m, &last, 0);
	set_slot(_metadata, m, 0, 0);
	expect_flushes(_metadata, m, &last, 0);
}

TEST_F(memory, a_slot_that_the_guest_did_not_touch_goes_without_a_flush)
{
	struct machine *m = &self->m;
	__u64 last = flushes_read(_metadata, m);

	add_area(_metadata, m);
	set_slot(_metadata, m, 0, 0);
	expect_flushes(_metadata, m, &last, 0);
}

static void get_log(struct __test_metadata *_metadata, struct machine *m,
		    __u64 expected)
{
	__u64 bitmap = 0;
	struct kvm_dirty_log log = {
		.slot = AREA_SLOT,
		.dirty_bitmap = &bitmap,
	};

	ASSERT_EQ(0, ioctl(m->guest.vm, KVM_GET_DIRTY_LOG, &log));
	EXPECT_EQ(expected, bitmap);
}

TEST_F(memory, starting_a_dirty_log_is_one_flush_and_ending_it_is_none)
{
	struct machine *m = &self->m;
	__u64 last;

	add_touched_area(_metadata, m);
	last = flushes_read(_metadata, m);
	set_slot(_metadata, m, KVM_MEM_LOG_DIRTY_PAGES, m->size);
	expect_flushes(_metadata, m, &last, 1);
	set_slot(_metadata, m, 0, m->size);
	expect_flushes(_metadata, m, &last, 0);
}

TEST_F(memory, a_dirty_log_that_has_pages_is_one_flush)
{
	struct machine *m = &self->m;
	__u64 last;

	add_touched_area(_metadata, m);
	set_slot(_metadata, m, KVM_MEM_LOG_DIRTY_PAGES, m->size);
	touch(_metadata, m, 0, AREA_PAGES);
	last = flushes_read(_metadata, m);
	get_log(_metadata, m, (1UL << AREA_PAGES) - 1);
	expect_flushes(_metadata, m, &last, 1);
	get_log(_metadata, m, 0);
	expect_flushes(_metadata, m, &last, 0);
}

TEST_HARNESS_MAIN
