// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest that reads its own statistics: its VMM lends it the mapping of the VM's
 * statistics file as a read-only memory slot. It sees what the host counts,
 * without an exit, and whatever it does, it changes nothing there.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "stats_fd_delay.h"
#include "stats_fd_guest.h"
#include "stats_fd_mmap.h"
#include "stats_fd_switch.h"

/* Where the guest has the page of the VM, and the windows behind it. */
#define LENT			0x2000000UL
#define LENT_SLOT		1
/* And where it has its own page, from its own file. */
#define LENT_PAGE		0x1000000UL
#define LENT_PAGE_SLOT		2

#define MS			1000000ULL

/* How often a guest does what it does, or looks. */
#define TIMES			1000

/*
 * An interrupt of the host is an exit as well. Of several attempts one is without
 * such an accident.
 */
#define ATTEMPTS		50

/* Places of the pieces of code. */
#define CODE_STILL		GUEST_CODE
#define CODE_UNTIL		(GUEST_CODE + 0x100)
#define CODE_WRITE		(GUEST_CODE + 0x200)
#define CODE_ACTIVITY		(GUEST_CODE + 0x300)

#define PATTERN			0xa5c396f0U

#define VCPUS			2

/* A vCPU that is added, whose window nonetheless is the next one. */
#define NEW_VCPU_ID		7

/* A VM that is lent all of its statistics, as its VMM has them mapped. */
struct lender {
	struct guest guest;
	struct stats_file file;
	const char *map;
	size_t size;
};

static bool has_readonly_memory(struct __test_metadata *_metadata)
{
	int kvm = stats_open_kvm(_metadata);
	int cap = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_READONLY_MEM);

	close(kvm);
	return cap > 0;
}

static void lend(struct __test_metadata *_metadata, struct lender *l,
		 __u32 flags)
{
	guest_set_slot(_metadata, &l->guest, LENT_SLOT, flags, LENT,
		       (void *)l->map, l->size);
}

/* What the guest does besides looking is @activity. */
static void lender_create(struct __test_metadata *_metadata, int kvm,
			  struct lender *l,
			  const struct stats_activity *activity)
{
	struct guest *g = &l->guest;

	memset(l, 0, sizeof(*l));
	guest_create(_metadata, kvm, g, VCPUS);
	guest_put_code_at(_metadata, g, CODE_STILL, stats_look_still,
			  stats_look_still_end);
	guest_put_code_at(_metadata, g, CODE_UNTIL, stats_look_until,
			  stats_look_until_end);
	guest_put_code_at(_metadata, g, CODE_WRITE, stats_write,
			  stats_write_end);
	guest_put_code_at(_metadata, g, CODE_ACTIVITY, activity->code,
			  activity->end);
	stats_load(_metadata, stats_get_fd(_metadata, g->vm), &l->file);
	l->size = stats_mmap_size(&l->file);
	l->map = stats_mmap(_metadata, &l->file, l->size);
	lend(_metadata, l, KVM_MEM_READONLY);
}

static struct guest_vcpu *add_vcpu(struct __test_metadata *_metadata,
				   struct lender *l)
{
	return guest_add_vcpu(_metadata, &l->guest, NEW_VCPU_ID);
}

static void lender_destroy(struct lender *l)
{
	guest_destroy(&l->guest);
	munmap((void *)l->map, l->size);
	stats_unload(&l->file);
}

/* Where the VMM and the guest have a statistic of the VM's @i-th vCPU. */
static const __u64 *vmm_at(struct __test_metadata *_metadata,
			   const struct lender *l, int i, const char *name)
{
	const struct kvm_stats_desc *desc = stats_find_vcpu(&l->file, name);

	ASSERT_NE(NULL, desc) TH_LOG("no statistic %s", name);
	return (const void *)(stats_window(&l->file, l->map, i) + desc->offset);
}

static __u64 guest_at(struct __test_metadata *_metadata, const struct lender *l,
		      int i, const char *name)
{
	return LENT + ((const char *)vmm_at(_metadata, l, i, name) - l->map);
}

static __u64 vmm_sees(struct __test_metadata *_metadata,
		      const struct lender *l, int i, const char *name)
{
	return __atomic_load_n(vmm_at(_metadata, l, i, name),
			       __ATOMIC_RELAXED);
}

/* Have @v run @code, with two statistics of the VM's @i-th vCPU. */
static void start_look(struct __test_metadata *_metadata,
		       const struct lender *l, struct guest_vcpu *v,
		       __u64 code, __u32 count, int i, const char *name)
{
	const __u64 addr[2] = {
		guest_at(_metadata, l, i, STATS_EXITS),
		guest_at(_metadata, l, i, name),
	};

	stats_arch_init_vcpu(_metadata, v->fd, code, count);
	stats_arch_set_look(_metadata, v->fd, addr, PATTERN);
}

static void end_look(struct __test_metadata *_metadata, struct guest_vcpu *v,
		     struct stats_look *look)
{
	stats_arch_get_look(_metadata, v->fd, look);
	vcpu_complete_exit(_metadata, v);
}

/* Look once at statistics of the VM's @i-th vCPU. */
static void look_at(struct __test_metadata *_metadata, const struct lender *l,
		    struct guest_vcpu *v, int i, const char *name,
		    struct stats_look *look)
{
	start_look(_metadata, l, v, CODE_UNTIL, 0, i, name);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	end_look(_metadata, v, look);
}

static __u64 guest_sees(struct __test_metadata *_metadata,
			const struct lender *l, struct guest_vcpu *v, int i,
			const char *name)
{
	struct stats_look look;

	look_at(_metadata, l, v, i, name, &look);
	return look.after[1];
}

FIXTURE(guest)
{
	int kvm;
	struct lender l;
	struct guest_vcpu *vcpu;
	const char *counter;		/* of hypercalls */
	bool has_time;			/* by state, and what it was */
	bool time_was_on;
};

FIXTURE_SETUP(guest)
{
	const struct stats_activity *hypercall = &stats_arch_looked_at[0];

	if (!has_readonly_memory(_metadata))
		SKIP_IN_SETUP("no KVM_CAP_READONLY_MEM");
	self->kvm = stats_open_kvm(_metadata);
	self->has_time = !access(STATS_TIME_PARAMETER, F_OK);
	if (self->has_time)
		self->time_was_on = stats_time_is_on(_metadata);
	lender_create(_metadata, self->kvm, &self->l, hypercall);
	self->vcpu = &self->l.guest.vcpu[0];
	self->counter = hypercall->moves[0];
}

FIXTURE_TEARDOWN(guest)
{
	if (self->has_time)
		ASSERT_EQ(0, stats_time_turn(_metadata,
					     self->time_was_on ? "1" : "0"));
	lender_destroy(&self->l);
	close(self->kvm);
}

/*
 * What the guest saw at first it sees at last, and the next exit is the one by which
 * it says so. It may begin with faults, for KVM may have unmapped all of it.
 */
static bool looks_without_exit(struct __test_metadata *_metadata,
			       const struct lender *l, struct guest_vcpu *v,
			       int i)
{
	struct stats_look look;
	__u64 before, after;

	start_look(_metadata, l, v, CODE_STILL, TIMES, i, STATS_EXITS);
	before = vmm_sees(_metadata, l, i, STATS_EXITS);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	after = vmm_sees(_metadata, l, i, STATS_EXITS);
	end_look(_metadata, v, &look);

	EXPECT_LE(before, look.before[0]);
	EXPECT_LE(look.before[0], look.after[0]);
	EXPECT_LT(look.after[0], after);
	return !look.left && after == look.after[0] + 1;
}

TEST_F(guest, reads_its_exits_without_causing_any)
{
	struct lender *l = &self->l;
	int vcpu, i;

	for (vcpu = 0; vcpu < VCPUS; vcpu++) {
		for (i = 0; i < ATTEMPTS; i++) {
			if (looks_without_exit(_metadata, l,
					       &l->guest.vcpu[vcpu], vcpu))
				break;
		}
		EXPECT_GT(ATTEMPTS, i) TH_LOG("vCPU %d", vcpu);
	}
}

/* Between two looks the guest does something that is counted. */
static void run_activity(struct __test_metadata *_metadata,
			 const struct stats_activity *a, struct guest_vcpu *v)
{
	int i;

	for (i = 0; a->exit_reason && i < TIMES; i++)
		vcpu_run(_metadata, v, a->exit_reason);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
}

static void expect_seen(struct __test_metadata *_metadata, struct lender *l,
			const struct stats_activity *a, int i)
{
	const bool is_user_exit = !strcmp(a->moves[0], STATS_USER_EXITS);
	struct guest_vcpu *v = &l->guest.vcpu[i];
	struct stats_look look;

	start_look(_metadata, l, v, CODE_ACTIVITY, TIMES, i, a->moves[0]);
	run_activity(_metadata, a, v);
	end_look(_metadata, v, &look);

	EXPECT_EQ(0UL, look.left) TH_LOG("%s", a->name);
	EXPECT_EQ((__u64)TIMES, look.after[1] - look.before[1]) {
		TH_LOG("%s: %s of vCPU %d", a->name, a->moves[0], i);
	}
	EXPECT_LE((__u64)TIMES, look.after[0] - look.before[0]) {
		TH_LOG("%s: exits of vCPU %d", a->name, i);
	}
	/* The last exit is after the guest's last look. */
	EXPECT_EQ(look.after[1] + is_user_exit,
		  vcpu_read(_metadata, v, a->moves[0]));
	EXPECT_LT(look.after[0], vcpu_read(_metadata, v, STATS_EXITS));
}

TEST(each_activity_is_seen_by_the_guest_itself)
{
	const struct stats_activity *a;
	struct lender l;
	int kvm, i;

	if (!has_readonly_memory(_metadata))
		SKIP(return, "no KVM_CAP_READONLY_MEM");
	kvm = stats_open_kvm(_metadata);
	for (a = stats_arch_looked_at; a->name; a++) {
		lender_create(_metadata, kvm, &l, a);
		for (i = 0; i < VCPUS; i++)
			expect_seen(_metadata, &l, a, i);
		lender_destroy(&l);
	}
	close(kvm);
}

TEST_F(guest, sees_what_its_other_vcpus_did)
{
	struct lender *l = &self->l;
	struct guest_vcpu *other = &l->guest.vcpu[1];
	struct stats_look look;
	__u64 exits;

	start_look(_metadata, l, self->vcpu, CODE_ACTIVITY, TIMES, 0,
		   self->counter);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	end_look(_metadata, self->vcpu, &look);
	exits = vcpu_read(_metadata, self->vcpu, STATS_EXITS);

	/* It does not run now, so that what is seen is exact. */
	look_at(_metadata, l, other, 0, self->counter, &look);
	EXPECT_EQ(exits, look.after[0]);
	EXPECT_EQ((__u64)TIMES, look.after[1]);
	EXPECT_EQ(0UL, guest_sees(_metadata, l, other, 1, self->counter));
}

TEST_F(guest, sees_what_its_other_vcpus_do)
{
	struct lender *l = &self->l;
	struct guest_vcpu *other = &l->guest.vcpu[1];
	struct stats_look look;
	struct runner runner;
	__u64 more;

	runner_start(_metadata, &runner, self->vcpu, UINT_MAX, 1);
	more = vcpu_read(_metadata, self->vcpu, STATS_EXITS) + TIMES;
	start_look(_metadata, l, other, CODE_UNTIL, more, 0, self->counter);
	vcpu_run(_metadata, other, STATS_USER_EXIT_REASON);
	end_look(_metadata, other, &look);
	EXPECT_LE(more, look.after[0]);
	EXPECT_LE(look.after[0], vcpu_read(_metadata, self->vcpu, STATS_EXITS));
	runner_stop(_metadata, &runner);
}

/* What keeps a vCPU from running its guest. */
static const char * const kept[] = {
	"ready_ns", "time_exit_ns", "time_user_ns", "time_halt_ns",
	"time_sleep_ns", "time_poll_ns",
};

enum { READY, EXIT, USER, HALT, KEPT = ARRAY_SIZE(kept) };

/* As the other vCPU sees it: in 32 bits, of a second, nothing is lost. */
static void look_at_kept(struct __test_metadata *_metadata,
			 const struct lender *l, __u32 ns[KEPT])
{
	int i;

	for (i = 0; i < KEPT; i++) {
		ns[i] = guest_sees(_metadata, l, &l->guest.vcpu[1], 0, kept[i]);
		EXPECT_EQ((__u32)vmm_sees(_metadata, l, 0, kept[i]), ns[i]);
	}
}

/* Of a vCPU that is starved by its host, and by its VMM. */
TEST_F(guest, sees_what_keeps_it_from_running)
{
	struct guest_vcpu *v = self->vcpu;
	__u32 before[KEPT], after[KEPT];
	int i;

	if (!self->has_time)
		SKIP(return, "time by state is not accounted for here");
	if (!stats_read(_metadata, &self->l.file, "ready_accounting"))
		SKIP(return, "the scheduler does not count run_delay");
	stats_time_turn_on(_metadata);
	start_look(_metadata, &self->l, v, CODE_ACTIVITY, 1, 0, self->counter);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	vcpu_complete_exit(_metadata, v);
	look_at_kept(_metadata, &self->l, before);

	wait_for_cpu(_metadata, 400 * MS);
	usleep(300 * MS / 1000);
	start_look(_metadata, &self->l, v, CODE_ACTIVITY, TIMES, 0,
		   self->counter);
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	vcpu_complete_exit(_metadata, v);
	look_at_kept(_metadata, &self->l, after);

	for (i = 0; i < KEPT; i++)
		TH_LOG("%s: %u us", kept[i], (after[i] - before[i]) / 1000);
	EXPECT_LE(400 * MS, after[READY] - before[READY]);
	EXPECT_LE(300 * MS, after[USER] - before[USER]);
	EXPECT_LT(0U, after[EXIT] - before[EXIT]);
	/* It never halts, and what it needs is there. */
	for (i = HALT; i < KEPT; i++)
		EXPECT_EQ(before[i], after[i]) TH_LOG("%s", kept[i]);
}

/* While it runs, without a word from the host. */
TEST_F(guest, sees_new_vcpus_and_then_their_windows)
{
	const struct kvm_stats_desc *desc;
	struct lender *l = &self->l;
	struct guest_vcpu *new_vcpu;
	struct stats_look look;
	struct runner runner;
	__u64 addr[2];

	desc = stats_find(&l->file, "online_vcpus");
	ASSERT_NE(NULL, desc);
	addr[0] = LENT + desc->offset;
	addr[1] = addr[0];
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, CODE_UNTIL, VCPUS + 1);
	stats_arch_set_look(_metadata, self->vcpu->fd, addr, 0);
	runner_create(_metadata, &runner, self->vcpu);
	runner_wait_for(_metadata, &runner, STATS_EXITS, 1);
	EXPECT_FALSE(runner_returned(&runner));
	new_vcpu = add_vcpu(_metadata, l);
	runner_join(_metadata, &runner);
	end_look(_metadata, self->vcpu, &look);
	EXPECT_EQ((__u64)VCPUS + 1, look.after[0]);

	look_at(_metadata, l, self->vcpu, VCPUS, STATS_EXITS, &look);
	EXPECT_EQ(0UL, look.after[0]);
	vcpu_exit_to_user(_metadata, new_vcpu, TIMES);
	EXPECT_EQ((__u64)TIMES, guest_sees(_metadata, l, self->vcpu, VCPUS,
					   STATS_USER_EXITS));
}

/* One that shares nothing with the others: the file of a vCPU has its page. */
TEST_F(guest, has_only_its_own_page_if_lent_that_of_its_file)
{
	struct guest *g = &self->l.guest;
	const struct stats_file *f = &self->vcpu->file;
	const struct kvm_stats_desc *desc = stats_find(f, STATS_USER_EXITS);
	const __u64 addr[2] = {
		LENT_PAGE + desc->offset,
		LENT_PAGE + desc->offset,
	};
	struct stats_look look;
	const char *page;

	page = stats_mmap(_metadata, f, g->page);
	guest_set_slot(_metadata, g, LENT_PAGE_SLOT, KVM_MEM_READONLY,
		       LENT_PAGE, (void *)page, g->page);
	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	stats_arch_init_vcpu(_metadata, self->vcpu->fd, CODE_UNTIL, 0);
	stats_arch_set_look(_metadata, self->vcpu->fd, addr, 0);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	end_look(_metadata, self->vcpu, &look);
	EXPECT_EQ((__u64)TIMES, look.after[0]);
	guest_set_slot(_metadata, g, LENT_PAGE_SLOT, 0, LENT_PAGE, NULL, 0);
	munmap((void *)page, g->page);
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

/* A counter is what it was, for VMM, other readers and guest. */
static void expect_unchanged(struct __test_metadata *_metadata,
			     struct lender *l, int i, const char *name,
			     __u64 value)
{
	EXPECT_EQ(value, vmm_sees(_metadata, l, i, name));
	EXPECT_EQ(value, vcpu_read(_metadata, &l->guest.vcpu[i], name));
	EXPECT_EQ(value, guest_sees(_metadata, l, &l->guest.vcpu[0], i, name));
}

/* Start @code, which writes where the first of the two statistics would be. */
static void start_write(struct __test_metadata *_metadata,
			struct guest_vcpu *v, __u64 code, __u64 addr)
{
	const __u64 addrs[2] = { addr, addr };

	stats_arch_init_vcpu(_metadata, v->fd, code, 0);
	stats_arch_set_look(_metadata, v->fd, addrs, PATTERN);
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

TEST_F(guest, that_writes_exits_and_changes_nothing)
{
	struct lender *l = &self->l;
	struct stats_look look;
	int i;

	for (i = 0; i < VCPUS; i++) {
		start_look(_metadata, l, &l->guest.vcpu[i], CODE_ACTIVITY,
			   TIMES, i, self->counter);
		vcpu_run(_metadata, &l->guest.vcpu[i], STATS_USER_EXIT_REASON);
		end_look(_metadata, &l->guest.vcpu[i], &look);
	}
	for (i = 0; i < VCPUS; i++) {
		expect_writes_exit(_metadata, self->vcpu,
				   guest_at(_metadata, l, i, self->counter));
		expect_unchanged(_metadata, l, i, self->counter, TIMES);
	}
}

/* Nor the zeros that follow the values, up to the end of the page. */
TEST_F(guest, that_writes_behind_the_values_changes_nothing)
{
	struct lender *l = &self->l;
	const char *window = stats_window(&l->file, l->map, 0);
	size_t last = l->file.ext.vcpu_stride - sizeof(__u64);
	__u64 value;

	expect_writes_exit(_metadata, self->vcpu,
			   LENT + (window - l->map) + last);
	memcpy(&value, window + last, sizeof(value));
	EXPECT_EQ(0UL, value);
}

/* There is no window, but what is lent there is read-only all the same. */
TEST_F(guest, that_writes_to_a_vcpu_to_come_changes_nothing)
{
	struct lender *l = &self->l;
	__u64 addr = guest_at(_metadata, l, VCPUS, self->counter);

	expect_writes_exit(_metadata, self->vcpu, addr);
	add_vcpu(_metadata, l);
	expect_writes_exit(_metadata, self->vcpu, addr);
	expect_unchanged(_metadata, l, VCPUS, self->counter, 0);
}

/* The VMM forgot that it is: then it is the VMM's own mapping that prevents it. */
TEST_F(guest, that_is_lent_it_for_writing_cannot_write)
{
	struct lender *l = &self->l;

	guest_set_slot(_metadata, &l->guest, LENT_SLOT, 0, LENT, NULL, 0);
	lend(_metadata, l, 0);
	start_write(_metadata, self->vcpu, CODE_WRITE,
		    guest_at(_metadata, l, 1, self->counter));
	EXPECT_EQ(-EFAULT, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
	/* Reading works as ever, and does not help. */
	expect_unchanged(_metadata, l, 1, self->counter, 0);
	start_write(_metadata, self->vcpu, CODE_WRITE,
		    guest_at(_metadata, l, 1, self->counter));
	EXPECT_EQ(-EFAULT, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
	expect_unchanged(_metadata, l, 1, self->counter, 0);
}

#ifdef __x86_64__
/* KVM itself does these for the guest, and could write to any page. */
TEST(guest_that_increments_changes_nothing)
{
	const struct stats_activity increment = {
		STATS_ACTIVITY(stats_increment),
		.moves = { "signal_exits" },
	};
	struct guest_vcpu *v;
	struct lender l;
	int kvm, i;

	if (!has_readonly_memory(_metadata))
		SKIP(return, "no KVM_CAP_READONLY_MEM");
	kvm = stats_open_kvm(_metadata);
	lender_create(_metadata, kvm, &l, &increment);
	v = &l.guest.vcpu[0];
	start_write(_metadata, v, CODE_ACTIVITY,
		    guest_at(_metadata, &l, 0, increment.moves[0]));
	for (i = 0; i < 2; i++) {
		vcpu_run(_metadata, v, KVM_EXIT_MMIO);
		expect_write_exit(_metadata, v,
				  guest_at(_metadata, &l, 0,
					   increment.moves[0]), 4, 1);
	}
	vcpu_run(_metadata, v, STATS_USER_EXIT_REASON);
	vcpu_complete_exit(_metadata, v);
	expect_unchanged(_metadata, &l, 0, increment.moves[0], 0);
	lender_destroy(&l);
	close(kvm);
}

/* A clock that KVM is to keep there. */
TEST_F(guest, that_has_KVM_write_there_changes_nothing)
{
	struct lender *l = &self->l;
	__u64 addr = guest_at(_metadata, l, 1, STATS_EXITS);
	struct stats_file before;

	stats_load(_metadata, dup(l->guest.vcpu[1].file.fd), &before);
	ASSERT_EQ(0, stats_arch_dirty(self->vcpu->fd, addr));
	EXPECT_EQ(0, stats_same(before.fd, &before));
	stats_unload(&before);
}
#endif

#ifdef __aarch64__
/* KVM can tell the VMM where these would write, but not what. */
static void expect_not_written(struct __test_metadata *_metadata, int kvm,
			       const struct stats_activity *writer)
{
	struct kvm_enable_cap cap = { .cap = KVM_CAP_ARM_NISV_TO_USER };
	struct guest_vcpu *v;
	struct lender l;
	__u64 addr;

	lender_create(_metadata, kvm, &l, writer);
	ASSERT_EQ(0, ioctl(l.guest.vm, KVM_ENABLE_CAP, &cap));
	v = &l.guest.vcpu[0];
	vcpu_exit_to_user(_metadata, v, TIMES);
	addr = guest_at(_metadata, &l, 0, STATS_USER_EXITS);
	start_write(_metadata, v, CODE_ACTIVITY, addr);
	vcpu_run(_metadata, v, KVM_EXIT_ARM_NISV);
	/* Zeros are written to more than was asked for. */
	EXPECT_EQ(addr & -l.guest.page,
		  v->run->arm_nisv.fault_ipa & -l.guest.page) {
		TH_LOG("%s", writer->name);
	}
	expect_unchanged(_metadata, &l, 0, STATS_USER_EXITS, TIMES);
	lender_destroy(&l);
}

TEST(guest_that_writes_by_other_instructions_changes_nothing)
{
	static const struct stats_activity writers[] = {
		{ STATS_ACTIVITY(stats_write_pair) },
		{ STATS_ACTIVITY(stats_write_zeros) },
		{ STATS_ACTIVITY(stats_write_exclusive) },
	};
	unsigned int i;
	int kvm;

	if (!has_readonly_memory(_metadata))
		SKIP(return, "no KVM_CAP_READONLY_MEM");
	kvm = stats_open_kvm(_metadata);
	for (i = 0; i < ARRAY_SIZE(writers); i++)
		expect_not_written(_metadata, kvm, &writers[i]);
	close(kvm);
}
#endif

TEST_F(guest, that_reads_a_vcpu_to_come_is_stopped_until_it_has_come)
{
	struct lender *l = &self->l;
	struct guest_vcpu *other = &l->guest.vcpu[1];
	struct stats_look look;
	int i;

	start_look(_metadata, l, self->vcpu, CODE_UNTIL, 0, VCPUS,
		   STATS_USER_EXITS);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EFAULT, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
	/* All the others can go on. */
	vcpu_exit_to_user(_metadata, other, TIMES);
	EXPECT_EQ((__u64)TIMES,
		  guest_sees(_metadata, l, other, 1, STATS_USER_EXITS));

	vcpu_exit_to_user(_metadata, add_vcpu(_metadata, l),
			  TIMES);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	end_look(_metadata, self->vcpu, &look);
	EXPECT_EQ((__u64)TIMES, look.after[1]);
	/* The next one is yet to come. */
	start_look(_metadata, l, self->vcpu, CODE_UNTIL, 0, VCPUS + 1, STATS_EXITS);
	EXPECT_EQ(-EFAULT, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));
}

TEST_F(guest, reads_on_after_the_file_is_closed)
{
	struct lender *l = &self->l;

	close(l->file.fd);
	l->file.fd = -1;
	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	EXPECT_EQ((__u64)TIMES,
		  guest_sees(_metadata, l, self->vcpu, 0, STATS_USER_EXITS));
	vcpu_exit_to_user(_metadata, add_vcpu(_metadata, l),
			  TIMES);
	EXPECT_EQ((__u64)TIMES, guest_sees(_metadata, l, self->vcpu, VCPUS,
					   STATS_USER_EXITS));
}

TEST_F(guest, reads_as_long_as_its_vmm_has_it_mapped)
{
	struct lender *l = &self->l;
	struct stats_look look;
	void *again;

	look_at(_metadata, l, self->vcpu, 0, STATS_EXITS, &look);
	ASSERT_EQ(0, munmap((void *)l->map, l->size));
	start_look(_metadata, l, self->vcpu, CODE_UNTIL, 0, 0, STATS_EXITS);
	EXPECT_EQ(-EFAULT, result(ioctl(self->vcpu->fd, KVM_RUN, 0)));

	again = mmap((void *)l->map, l->size, PROT_READ,
		     MAP_SHARED | MAP_FIXED_NOREPLACE, l->file.fd,
		     l->file.header.data_offset);
	ASSERT_EQ(l->map, again);
	vcpu_run(_metadata, self->vcpu, STATS_USER_EXIT_REASON);
	stats_arch_get_look(_metadata, self->vcpu->fd, &look);
	EXPECT_LT(look.after[0], vmm_sees(_metadata, l, 0, STATS_EXITS));
	EXPECT_LT(0UL, look.after[0]);
	vcpu_complete_exit(_metadata, self->vcpu);
}

/* What the slot has pinned is not the VM. */
TEST_F(guest, does_not_live_longer_for_what_it_is_lent)
{
	struct lender *l = &self->l;
	struct pollfd fd = { .fd = l->file.fd };

	vcpu_exit_to_user(_metadata, self->vcpu, TIMES);
	EXPECT_EQ((__u64)TIMES,
		  guest_sees(_metadata, l, self->vcpu, 0, STATS_USER_EXITS));
	EXPECT_EQ(0, poll(&fd, 1, 0));
	guest_kill(&l->guest);
	EXPECT_EQ(1, poll(&fd, 1, 0));
	EXPECT_EQ(POLLHUP, fd.revents);
	EXPECT_LE((__u64)TIMES,
		  vmm_sees(_metadata, l, 0, STATS_USER_EXITS));
}

TEST_HARNESS_MAIN
