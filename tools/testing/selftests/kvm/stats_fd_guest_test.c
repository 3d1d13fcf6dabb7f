// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest reads its own statistics: the VMM lends it the mapping of the VM's statistics file
 * as a read-only memory slot. The guest reads without an exit, and cannot change anything.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_mmap.h"

/* The guest's addresses of the VM's page, followed by the windows, and of a vCPU's page. */
#define LENT			0x2000000UL
#define LENT_SLOT		1
#define LENT_PAGE		0x1000000UL
#define LENT_PAGE_SLOT		2

#define TIMES			1000

/* In one of these attempts the host has no interrupt, which would be an exit. */
#define ATTEMPTS		50

#define CODE_STILL		GUEST_CODE
#define CODE_UNTIL		(GUEST_CODE + 0x100)
#define CODE_WRITE		(GUEST_CODE + 0x200)

#define PATTERN			0xa5c396f0U

/* This statistic stays 0 here. */
#define UNMOVED			"signal_exits"

#define VCPUS			2

/* A vCPU's window does not depend on its id. */
#define NEW_VCPU_ID		7

/* A VM, and its statistics as its VMM maps and lends them. */
struct lender {
	struct guest guest;
	struct stats_file file;
	const char *map;
	size_t size;
};

static void lend(struct __test_metadata *_metadata, struct lender *l, __u32 flags)
{
	guest_set_slot(_metadata, &l->guest, LENT_SLOT, flags, LENT, (void *)l->map, l->size);
}

static void lender_create(struct __test_metadata *_metadata, struct lender *l)
{
	struct guest *g = &l->guest;

	memset(l, 0, sizeof(*l));
	guest_create(_metadata, g, VCPUS);
	guest_put_code_at(_metadata, g, CODE_STILL, stats_sample_still, stats_sample_still_end);
	guest_put_code_at(_metadata, g, CODE_UNTIL, stats_sample_until, stats_sample_until_end);
	guest_put_code_at(_metadata, g, CODE_WRITE, stats_write, stats_write_end);
	stats_load(_metadata, stats_get_fd(_metadata, g->vm), &l->file);
	l->size = stats_mmap_size(&l->file);
	l->map = stats_mmap(_metadata, &l->file, l->size);
	lend(_metadata, l, KVM_MEM_READONLY);
}

static struct guest_vcpu *add_vcpu(struct __test_metadata *_metadata, struct lender *l)
{
	return guest_add_vcpu(_metadata, &l->guest, NEW_VCPU_ID);
}

/* The VMM's and the guest's address of a statistic of the VM's @i-th vCPU. */
static const __u64 *vmm_at(struct __test_metadata *_metadata,
			   const struct lender *l, int i, const char *name)
{
	return (const void *)(stats_window(&l->file, l->map, i) +
			      stats_get_vcpu(_metadata, &l->file, name)->offset);
}

static __u64 guest_at(struct __test_metadata *_metadata, const struct lender *l,
		      int i, const char *name)
{
	return LENT + ((const char *)vmm_at(_metadata, l, i, name) - l->map);
}

static __u64 vmm_sees(struct __test_metadata *_metadata,
		      const struct lender *l, int i, const char *name)
{
	return __atomic_load_n(vmm_at(_metadata, l, i, name), __ATOMIC_RELAXED);
}

/* Let @v start @code to read the exits and another statistic of the VM's @i-th vCPU. */
static void start_sample(struct __test_metadata *_metadata,
			 const struct lender *l, struct guest_vcpu *v,
			 __u64 code, __u32 count, int i, const char *name)
{
	const __u64 addr[2] = {
		guest_at(_metadata, l, i, STATS_EXITS),
		guest_at(_metadata, l, i, name),
	};

	stats_arch_init_vcpu(_metadata, v->fd, code, count);
	stats_arch_set_sample(_metadata, v->fd, addr, PATTERN);
}

static void end_sample(struct __test_metadata *_metadata, struct guest_vcpu *v,
		       struct stats_sample *sample)
{
	stats_arch_get_sample(_metadata, v->fd, sample);
	vcpu_complete_exit(_metadata, v);
}

/* Let @v read the exits and another statistic of the VM's @i-th vCPU. */
static void sample_at(struct __test_metadata *_metadata, const struct lender *l,
		      struct guest_vcpu *v, int i, const char *name, struct stats_sample *sample)
{
	start_sample(_metadata, l, v, CODE_UNTIL, 0, i, name);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	end_sample(_metadata, v, sample);
}

static __u64 guest_sees(struct __test_metadata *_metadata,
			const struct lender *l, struct guest_vcpu *v, int i, const char *name)
{
	struct stats_sample sample;

	sample_at(_metadata, l, v, i, name, &sample);
	return sample.after[1];
}

FIXTURE(guest)
{
	struct lender l;
	struct guest_vcpu *vcpu;
};

FIXTURE_SETUP(guest)
{
	if (ioctl(stats_open_kvm(_metadata), KVM_CHECK_EXTENSION, KVM_CAP_READONLY_MEM) <= 0)
		SKIP(return, "no KVM_CAP_READONLY_MEM");
	lender_create(_metadata, &self->l);
	self->vcpu = &self->l.guest.vcpu[0];
}

FIXTURE_TEARDOWN(guest) { }

/*
 * Return whether all reads of the guest returned the same number of exits, and its next exit
 * was the one at the end. It may begin with faults if KVM has unmapped its memory.
 */
static bool samples_without_exit(struct __test_metadata *_metadata,
				 const struct lender *l, struct guest_vcpu *v, int i)
{
	struct stats_sample sample;
	__u64 before, after;

	start_sample(_metadata, l, v, CODE_STILL, TIMES, i, STATS_EXITS);
	before = vmm_sees(_metadata, l, i, STATS_EXITS);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	after = vmm_sees(_metadata, l, i, STATS_EXITS);
	end_sample(_metadata, v, &sample);

	EXPECT_LE(before, sample.before[0]);
	EXPECT_LE(sample.before[0], sample.after[0]);
	EXPECT_LT(sample.after[0], after);
	return !sample.left && after == sample.after[0] + 1;
}

TEST_F(guest, guest_reads_its_exits_without_exit)
{
	struct lender *l = &self->l;
	int vcpu, i;

	for (vcpu = 0; vcpu < VCPUS; vcpu++) {
		for (i = 0; i < ATTEMPTS; i++) {
			if (samples_without_exit(_metadata, l, &l->guest.vcpu[vcpu], vcpu))
				break;
		}
		EXPECT_GT(ATTEMPTS, i) TH_LOG("vCPU %d", vcpu);
	}
}

TEST_F(guest, guest_sees_exits_of_its_other_vcpus)
{
	struct lender *l = &self->l;
	struct guest_vcpu *other = &l->guest.vcpu[1];
	struct stats_sample sample;
	struct runner runner;
	__u64 more;

	runner_start(_metadata, &runner, self->vcpu, UINT_MAX, 1);
	more = vcpu_read(_metadata, self->vcpu, STATS_EXITS) + TIMES;
	start_sample(_metadata, l, other, CODE_UNTIL, more, 0, UNMOVED);
	vcpu_run(_metadata, other, STATS_USER_EXIT_REASON);
	end_sample(_metadata, other, &sample);
	EXPECT_LE(more, sample.after[0]);
	EXPECT_LE(sample.after[0], vcpu_read(_metadata, self->vcpu, STATS_EXITS));
	runner_stop(_metadata, &runner);
}

TEST_F(guest, running_guest_sees_new_vcpus_and_then_their_windows)
{
	struct lender *l = &self->l;
	struct guest_vcpu *new_vcpu;
	struct stats_sample sample;
	struct runner runner;
	__u64 addr[2];

	addr[0] = LENT + stats_get(_metadata, &l->file, "online_vcpus")->offset;
	addr[1] = addr[0];
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, CODE_UNTIL, VCPUS + 1);
	stats_arch_set_sample(_metadata, self->vcpu->fd, addr, 0);
	runner_create(_metadata, &runner, self->vcpu);
	runner_wait_for(_metadata, &runner, STATS_EXITS, 1);
	EXPECT_FALSE(runner_returned(&runner));
	new_vcpu = add_vcpu(_metadata, l);
	runner_join(_metadata, &runner);
	end_sample(_metadata, self->vcpu, &sample);
	EXPECT_EQ((__u64)VCPUS + 1, sample.after[0]);

	sample_at(_metadata, l, self->vcpu, VCPUS, STATS_EXITS, &sample);
	EXPECT_EQ(0UL, sample.after[0]);
	vcpu_exit_to_user(_metadata, new_vcpu, TIMES);
	EXPECT_EQ((__u64)TIMES, guest_sees(_metadata, l, self->vcpu, VCPUS,
					   STATS_USER_EXITS));
}

/* The VMM can also lend only the page of one vCPU. */
TEST_F(guest, guest_reads_the_page_of_a_vcpu_file)
{
	struct guest *g = &self->l.guest;
	const struct stats_file *f = &self->vcpu->file;
	__u64 at = LENT_PAGE + stats_get(_metadata, f, STATS_USER_EXITS)->offset;
	const __u64 addr[2] = { at, at };
	struct stats_sample sample;
	const char *page;

	page = stats_mmap(_metadata, f, g->page);
	guest_set_slot(_metadata, g, LENT_PAGE_SLOT, KVM_MEM_READONLY,
		       LENT_PAGE, (void *)page, g->page);
	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, CODE_UNTIL, 0);
	stats_arch_set_sample(_metadata, self->vcpu->fd, addr, 0);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	end_sample(_metadata, self->vcpu, &sample);
	EXPECT_EQ((__u64)TIMES, sample.after[0]);
	guest_set_slot(_metadata, g, LENT_PAGE_SLOT, 0, LENT_PAGE, NULL, 0);
}

/* The last exit is the guest's write of @len bytes to @addr. */
static void expect_write_exit(struct __test_metadata *_metadata,
			      const struct guest_vcpu *v, __u64 addr,
			      unsigned int len, __u64 value)
{
	EXPECT_EQ(addr, v->run->mmio.phys_addr);
	EXPECT_EQ(len, v->run->mmio.len);
	EXPECT_EQ(1, v->run->mmio.is_write);
	EXPECT_EQ(0, memcmp(&value, v->run->mmio.data, len)) {
		TH_LOG("not %#llx in %u bytes", value, len);
	}
}

/* VMM, other readers and guest see that a counter is still 0. */
static void expect_unchanged(struct __test_metadata *_metadata,
			     struct lender *l, int i, const char *name)
{
	EXPECT_EQ(0UL, vmm_sees(_metadata, l, i, name));
	EXPECT_EQ(0UL, vcpu_read(_metadata, &l->guest.vcpu[i], name));
	EXPECT_EQ(0UL, guest_sees(_metadata, l, &l->guest.vcpu[0], i, name));
}

/* Let @v start @code, which writes to @addr. */
static void start_write(struct __test_metadata *_metadata,
			struct guest_vcpu *v, __u64 code, __u64 addr)
{
	const __u64 addrs[2] = { addr, addr };

	stats_arch_init_vcpu(_metadata, v->fd, code, 0);
	stats_arch_set_sample(_metadata, v->fd, addrs, PATTERN);
}

static void expect_writes_exit(struct __test_metadata *_metadata,
			       struct guest_vcpu *v, __u64 addr)
{
	static const unsigned int sizes[] = STATS_WRITE_SIZES;
	unsigned int i;

	start_write(_metadata, v, CODE_WRITE, addr);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		vcpu_run(_metadata, v, KVM_EXIT_MMIO);
		expect_write_exit(_metadata, v, addr, sizes[i], PATTERN);
	}
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	vcpu_complete_exit(_metadata, v);
}

TEST_F(guest, write_exits_to_user_space_and_changes_nothing)
{
	int i;

	for (i = 0; i < VCPUS; i++) {
		expect_writes_exit(_metadata, self->vcpu,
				   guest_at(_metadata, &self->l, i, UNMOVED));
		expect_unchanged(_metadata, &self->l, i, UNMOVED);
	}
}

/* The VMM forgets KVM_MEM_READONLY: its own mapping is read-only, too. */
TEST_F(guest, write_to_a_writable_slot_fails_and_changes_nothing)
{
	struct lender *l = &self->l;

	guest_set_slot(_metadata, &l->guest, LENT_SLOT, 0, LENT, NULL, 0);
	lend(_metadata, l, 0);
	start_write(_metadata, self->vcpu, CODE_WRITE, guest_at(_metadata, l, 1, UNMOVED));
	EXPECT_EQ(-EFAULT, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
	/* After a read the page is mapped, but not for writing. */
	expect_unchanged(_metadata, l, 1, UNMOVED);
	start_write(_metadata, self->vcpu, CODE_WRITE, guest_at(_metadata, l, 1, UNMOVED));
	EXPECT_EQ(-EFAULT, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
	expect_unchanged(_metadata, l, 1, UNMOVED);
}

TEST_F(guest, read_of_a_window_without_vcpu_fails_until_the_vcpu_exists)
{
	struct lender *l = &self->l;
	struct guest_vcpu *other = &l->guest.vcpu[1];
	struct stats_sample sample;
	int i;

	start_sample(_metadata, l, self->vcpu, CODE_UNTIL, 0, VCPUS, STATS_USER_EXITS);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EFAULT, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
	/* Other vCPUs can go on. */
	vcpu_exit_to_user(_metadata, other, TIMES);
	EXPECT_EQ((__u64)TIMES, guest_sees(_metadata, l, other, 1, STATS_USER_EXITS));

	vcpu_exit_to_user(_metadata, add_vcpu(_metadata, l), TIMES);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	end_sample(_metadata, self->vcpu, &sample);
	EXPECT_EQ((__u64)TIMES, sample.after[1]);
	start_sample(_metadata, l, self->vcpu, CODE_UNTIL, 0, VCPUS + 1, STATS_EXITS);
	EXPECT_EQ(-EFAULT, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
}

/* The slot does not pin the VM. */
TEST_F(guest, vm_ends_although_it_was_lent_its_statistics)
{
	struct lender *l = &self->l;
	struct pollfd fd = { .fd = l->file.fd };

	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	EXPECT_EQ((__u64)TIMES, guest_sees(_metadata, l, self->vcpu, 0, STATS_USER_EXITS));
	EXPECT_EQ(0, poll(&fd, 1, 0));
	guest_kill(&l->guest);
	EXPECT_EQ(1, poll(&fd, 1, 0));
	EXPECT_EQ(POLLHUP, fd.revents);
	EXPECT_LE((__u64)TIMES, vmm_sees(_metadata, l, 0, STATS_USER_EXITS));
}

TEST_HARNESS_MAIN
