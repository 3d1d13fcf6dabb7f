// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without a free fd or memory, creating a VM, a vCPU or a statistics file fails with the right
 * error, leaves nothing behind, and the VM goes on. The kernel's fault injection lets each
 * allocation of a call fail, one after the other; a cgroup reaches its limit.
 */
#define _GNU_SOURCE
#include <sys/resource.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_memory.h"

enum call { CREATE_VM, CREATE_VCPU, GET_VM_STATS, GET_VCPU_STATS };

/* A VM with one vCPU, and a call that may fail. */
struct site {
	int kvm;
	enum call call;
	int vcpu_id;		/* of the next vCPU */
	struct guest guest;
	struct stats_file vm_file;
};

static void site_create(struct __test_metadata *_metadata, struct site *s)
{
	guest_create(_metadata, &s->guest, 1);
	s->vcpu_id = 1;
	stats_load(_metadata, stats_get_fd(_metadata, s->guest.vm), &s->vm_file);
}

/* Return the fd or a negative errno. */
static int site_call(const void *site)
{
	const struct site *s = site;

	switch (s->call) {
	case CREATE_VM:
		return result(ioctl(s->kvm, KVM_CREATE_VM, 0));
	case CREATE_VCPU:
		return result(ioctl(s->guest.vm, KVM_CREATE_VCPU, s->vcpu_id));
	case GET_VM_STATS:
		return result(ioctl(s->guest.vm, KVM_GET_STATS_FD, 0));
	case GET_VCPU_STATS:
		return result(ioctl(s->guest.vcpu[0].fd, KVM_GET_STATS_FD, 0));
	}
	return -EINVAL;
}

static void expect_file_works(struct __test_metadata *_metadata, int fd)
{
	struct stats_file file;

	stats_load(_metadata, fd, &file);
	stats_expect_fdinfo(_metadata, fd, "id", stats_id(&file));
	stats_expect_fdinfo(_metadata, fd, "state", "alive");
	stats_unload(&file);
}

static void expect_guest_runs(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	__u64 before = vcpu_read(_metadata, v, STATS_USER_EXITS);

	vcpu_exit_to_user(_metadata, v, 1);
	ASSERT_EQ(before + 1, vcpu_read(_metadata, v, STATS_USER_EXITS));
}

/* A vCPU can be created although some allocations failed, for example in debugfs. */
static void expect_vcpu_works(struct __test_metadata *_metadata, const struct guest *g, int fd)
{
	struct guest_vcpu v = { .fd = fd };

	v.run = mmap(NULL, g->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, v.run);
	stats_load(_metadata, stats_get_fd(_metadata, fd), &v.file);
	expect_guest_runs(_metadata, &v);
	stats_unload(&v.file);
	munmap(v.run, g->page);
}

static void expect_vm_works(struct __test_metadata *_metadata, int vm)
{
	int vcpu = stats_create_vcpu(_metadata, vm, 0);

	expect_file_works(_metadata, stats_get_fd(_metadata, vm));
	expect_file_works(_metadata, stats_get_fd(_metadata, vcpu));
	close(vcpu);
}

static void expect_result_works(struct __test_metadata *_metadata, const struct site *s, int fd)
{
	switch (s->call) {
	case CREATE_VM:
		expect_vm_works(_metadata, fd);
		break;
	case CREATE_VCPU:
		expect_vcpu_works(_metadata, &s->guest, fd);
		break;
	case GET_VM_STATS:
	case GET_VCPU_STATS:
		ASSERT_EQ(0, fcntl(fd, F_GETFL) & O_ACCMODE);
		expect_file_works(_metadata, dup(fd));
		break;
	}
	close(fd);
}

/* The VM and its open files work, and it gets one more vCPU. */
static void expect_site_works(struct __test_metadata *_metadata, struct site *s)
{
	int vcpu;

	expect_file_works(_metadata, stats_get_fd(_metadata, s->guest.vm));
	expect_file_works(_metadata, dup(s->vm_file.fd));
	expect_guest_runs(_metadata, &s->guest.vcpu[0]);
	if (s->vcpu_id >= stats_max_vcpus(_metadata))
		return;
	vcpu = stats_create_vcpu(_metadata, s->guest.vm, s->vcpu_id++);
	expect_vcpu_works(_metadata, &s->guest, vcpu);
	close(vcpu);
}

/* The call that failed works now. */
static void expect_call_works(struct __test_metadata *_metadata, struct site *s)
{
	int fd = site_call(s);

	ASSERT_LE(0, fd) TH_LOG("%s", strerror(-fd));
	expect_result_works(_metadata, s, fd);
	s->vcpu_id++;
}

/* Return the number of the next fd. */
static int next_fd(struct __test_metadata *_metadata)
{
	int fd = dup(STDERR_FILENO);

	ASSERT_LE(0, fd) TH_LOG("dup: %s", strerror(errno));
	close(fd);
	return fd;
}

/* Resources that a failed call must not leave behind. */
struct belongings {
	int fds;
	int next_fd;		/* differs if an fd is reserved but has no file */
	int vms;		/* directories in debugfs */
	int strays;		/* vCPU directories outside of them */
};

static struct belongings count_belongings(struct __test_metadata *_metadata)
{
	struct belongings b = {
		.fds = stats_count_entries(_metadata, "/proc/self/fd", ""),
		.next_fd = next_fd(_metadata),
	};
	char begin[16];

	snprintf(begin, sizeof(begin), "%d-", getpid());
	if (stats_has_debugfs()) {
		b.vms = stats_count_entries(_metadata, STATS_DEBUGFS, begin);
		b.strays = stats_count_entries(_metadata, STATS_DEBUGFS "/..", "vcpu");
	}
	return b;
}

static void expect_belongings(struct __test_metadata *_metadata,
			      const struct belongings *expected)
{
	struct belongings now = count_belongings(_metadata);

	ASSERT_EQ(expected->fds, now.fds);
	ASSERT_EQ(expected->next_fd, now.next_fd);
	ASSERT_EQ(expected->vms, now.vms);
	ASSERT_EQ(expected->strays, now.strays);
}

FIXTURE(no_fd_for)
{
	struct site site;
};

FIXTURE_VARIANT(no_fd_for)
{
	enum call call;
};

FIXTURE_VARIANT_ADD(no_fd_for, a_vm_file) { .call = GET_VM_STATS };
FIXTURE_VARIANT_ADD(no_fd_for, a_vcpu_file) { .call = GET_VCPU_STATS };

FIXTURE_SETUP(no_fd_for)
{
	self->site.call = variant->call;
	self->site.kvm = stats_open_kvm(_metadata);
}

FIXTURE_TEARDOWN(no_fd_for) { }

#define REFUSALS		20

TEST_F(no_fd_for, ioctl_fails_with_EMFILE_and_the_vm_goes_on)
{
	struct rlimit limit, saved;
	struct belongings before;
	int i;

	site_create(_metadata, &self->site);
	before = count_belongings(_metadata);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &saved));
	limit = saved;
	limit.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	for (i = 0; i < REFUSALS; i++)
		EXPECT_EQ(-EMFILE, site_call(&self->site)) TH_LOG("call %d", i);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &saved));

	expect_belongings(_metadata, &before);
	expect_call_works(_metadata, &self->site);
	expect_site_works(_metadata, &self->site);
	expect_belongings(_metadata, &before);
}

/*
 * If vmalloc() fails to allocate struct kvm, it warns with a call trace, which a test's log
 * must not have. It is one of these first allocations.
 */
#define WARNING_ALLOCATIONS	8

/* Processes that share the allocations of a call. */
#define WORKERS			8
/* More than a call has. */
#define MAX_ALLOCATIONS		1000

/* Memory that the workers share. */
struct tally {
	int failures;		/* of allocations */
	int refusals;		/* of the call */
};

/* Let allocations fail from the @first to the @last one, @rounds times. */
struct sweep {
	struct site site;
	int first;
	int last;
	int step;
	int rounds;
	const char *cgroup;
	struct tally *tally;
};

static void sweep_init(struct __test_metadata *_metadata, struct sweep *sweep,
		       enum call call, const char *cgroup)
{
	sweep->site.call = call;
	sweep->site.kvm = stats_open_kvm(_metadata);
	sweep->cgroup = cgroup;
	sweep->tally = mmap(NULL, sizeof(*sweep->tally), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, sweep->tally);
}

FIXTURE(no_memory_for)
{
	struct sweep sweep;
	struct stats_keeper keeper;
	char cgroup[STATS_CGROUP_SIZE];
};

FIXTURE_VARIANT(no_memory_for)
{
	enum call call;
	int least;	/* allocations that fail */
	int rounds;
};

/* In so many rounds, a page that leaks in one of the failures is noticed. */
FIXTURE_VARIANT_ADD(no_memory_for, a_vm) { .call = CREATE_VM, .least = 20, .rounds = 5 };
FIXTURE_VARIANT_ADD(no_memory_for, a_vcpu) { .call = CREATE_VCPU, .least = 5, .rounds = 32 };
FIXTURE_VARIANT_ADD(no_memory_for, a_vm_file) { .call = GET_VM_STATS, .least = 2, .rounds = 1000 };

FIXTURE_VARIANT_ADD(no_memory_for, a_vcpu_file)
{
	.call = GET_VCPU_STATS,
	.least = 2,
	.rounds = 1000,
};

FIXTURE_SETUP(no_memory_for)
{
	int ret;

	if (!stats_can_fail_allocations())
		SKIP(return, "this kernel has no fault injection");
	ret = stats_cgroup_create(self->cgroup);
	if (ret)
		SKIP(return, "no cgroup to count memory: %s", strerror(-ret));
	stats_fail_allocations(_metadata, &self->keeper);
	sweep_init(_metadata, &self->sweep, variant->call, self->cgroup);
}

FIXTURE_TEARDOWN(no_memory_for)
{
	stats_restore_settings(_metadata, &self->keeper);
	EXPECT_EQ(0, result(rmdir(self->cgroup)));
}

static void expect_memory_or_ENOMEM(struct __test_metadata *_metadata,
				    struct sweep *sweep, int ret)
{
	struct site *s = &sweep->site;

	__atomic_fetch_add(&sweep->tally->failures, 1, __ATOMIC_RELAXED);
	if (ret >= 0) {
		expect_result_works(_metadata, s, ret);
		s->vcpu_id++;
	} else {
		ASSERT_EQ(-ENOMEM, ret);
		__atomic_fetch_add(&sweep->tally->refusals, 1, __ATOMIC_RELAXED);
	}
}

/* Check everything after each failure. */
static void fail_carefully(struct __test_metadata *_metadata, int nr, void *arg)
{
	struct sweep *sweep = arg;
	int n, ret, fail_nth = open(STATS_FAIL_NTH, O_RDWR | O_CLOEXEC);
	struct belongings before;
	bool failed;

	ASSERT_LE(0, fail_nth);
	site_create(_metadata, &sweep->site);
	before = count_belongings(_metadata);
	for (n = sweep->first + nr; n <= sweep->last; n += sweep->step) {
		failed = stats_fail_nth(_metadata, fail_nth, n, site_call, &sweep->site, &ret);
		if (!failed) {
			ASSERT_LE(0, ret);
			close(ret);
			break;
		}
		expect_memory_or_ENOMEM(_metadata, sweep, ret);
		expect_belongings(_metadata, &before);
		expect_call_works(_metadata, &sweep->site);
		expect_site_works(_metadata, &sweep->site);
		expect_belongings(_metadata, &before);
	}
	ASSERT_GT(MAX_ALLOCATIONS, n);
}

/* Check nothing: the cgroup's charge shows what is left behind. */
static void fail_often(struct __test_metadata *_metadata, int nr, void *arg)
{
	struct sweep *sweep = arg;
	int i, n, ret, fail_nth = open(STATS_FAIL_NTH, O_RDWR | O_CLOEXEC);
	bool failed;

	ASSERT_LE(0, fail_nth);
	stats_cgroup_enter(_metadata, sweep->cgroup);
	site_create(_metadata, &sweep->site);
	for (i = 0; i < sweep->rounds; i++) {
		failed = true;
		for (n = sweep->first + nr; n <= sweep->last && failed;
		     n += sweep->step) {
			failed = stats_fail_nth(_metadata, fail_nth, n, site_call,
						&sweep->site, &ret);
			if (ret >= 0) {
				close(ret);
				sweep->site.vcpu_id++;
			}
		}
	}
}

/* Let all allocations of the call fail. Keep the console quiet where the kernel warns. */
static void sweep_all(struct __test_metadata *_metadata, struct sweep *sweep,
		      void (*fn)(struct __test_metadata *_metadata, int nr, void *arg))
{
	struct stats_keeper keeper;

	sweep->first = 1;
	if (sweep->site.call == CREATE_VM) {
		sweep->last = WARNING_ALLOCATIONS;
		sweep->step = WARNING_ALLOCATIONS;
		stats_quiet_console(_metadata, &keeper);
		stats_in_children(_metadata, WARNING_ALLOCATIONS, fn, sweep);
		stats_restore_settings(_metadata, &keeper);
		sweep->first += WARNING_ALLOCATIONS;
	}
	sweep->last = MAX_ALLOCATIONS;
	sweep->step = WORKERS;
	stats_in_children(_metadata, sweep->step, fn, sweep);
}

/* Sweeps over the allocations, until enough of them have failed. */
#define MAX_SWEEPS		5

/* Each of a few hundred failures takes several VMs. */
#define SWEEPS_TIMEOUT		3600

TEST_F_TIMEOUT(no_memory_for, call_fails_with_ENOMEM_and_the_vm_goes_on, SWEEPS_TIMEOUT)
{
	struct sweep *sweep = &self->sweep;
	int i;

	/*
	 * Sometimes the failed allocation is a page that a slab needs to account for
	 * objects, which the kernel tolerates. The next sweep meets other allocations.
	 */
	for (i = 0; i < MAX_SWEEPS && sweep->tally->refusals < 2; i++)
		sweep_all(_metadata, sweep, fail_carefully);
	TH_LOG("%d allocations failed, the call failed %d times",
	       sweep->tally->failures, sweep->tally->refusals);
	EXPECT_LE(variant->least, sweep->tally->failures);
	EXPECT_LE(2, sweep->tally->refusals);
}

static void sweep_often(struct __test_metadata *_metadata, void *sweep)
{
	sweep_all(_metadata, sweep, fail_often);
}

TEST_F(no_memory_for, failed_call_leaves_nothing_behind)
{
	self->sweep.rounds = 1;
	sweep_often(_metadata, &self->sweep);
	if (stats_memory_is_exact())
		self->sweep.rounds = variant->rounds;
	stats_expect_no_growth(_metadata, self->cgroup, sweep_often, &self->sweep);
}

/* A cgroup at its limit, whose processes the OOM killer must not end. */
FIXTURE(limit_for)
{
	struct sweep sweep;
	char cgroup[STATS_CGROUP_SIZE];
};

FIXTURE_VARIANT(limit_for)
{
	enum call call;
};

FIXTURE_VARIANT_ADD(limit_for, a_vm) { .call = CREATE_VM };
FIXTURE_VARIANT_ADD(limit_for, a_vcpu) { .call = CREATE_VCPU };

/* The most calls that reach the limit, and how many calls fail after that. */
#define LIMIT_CALLS		256
#define LIMIT_REFUSALS		3

FIXTURE_SETUP(limit_for)
{
	int ret = stats_cgroup_create(self->cgroup);

	if (ret)
		SKIP(return, "no cgroup to count memory: %s", strerror(-ret));
	sweep_init(_metadata, &self->sweep, variant->call, self->cgroup);
	if (variant->call == CREATE_VCPU && stats_max_vcpus(_metadata) < LIMIT_CALLS) {
		rmdir(self->cgroup);
		SKIP(return, "no VM can have %d vCPUs", LIMIT_CALLS);
	}
}

FIXTURE_TEARDOWN(limit_for)
{
	EXPECT_EQ(0, result(rmdir(self->cgroup)));
}

/* Pages up to the limit. Each sweep has one more, so that other allocations fail. */
#define LIMIT_PAGES		64

static void set_limit(struct __test_metadata *_metadata, int max, long bytes)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%ld", bytes);

	ASSERT_EQ(len, pwrite(max, text, len, 0));
}

/* Make as many calls as the limit allows. Use only memory that was touched before. */
static void call_up_to_limit(struct __test_metadata *_metadata,
			     struct sweep *sweep, int fds[LIMIT_CALLS])
{
	struct site *s = &sweep->site;
	int n, made = 0, refusals = 0;

	for (n = 0; n < LIMIT_CALLS && refusals < LIMIT_REFUSALS; n++) {
		fds[made] = site_call(s);
		if (fds[made] >= 0) {
			made++;
			s->vcpu_id++;
		} else {
			ASSERT_EQ(-ENOMEM, fds[made]);
			refusals++;
		}
	}
	ASSERT_EQ(LIMIT_REFUSALS, refusals);
	sweep->tally->refusals += refusals;
	while (made--)
		close(fds[made]);
}

static void meet_limit(struct __test_metadata *_metadata, void *arg)
{
	static int fds[LIMIT_CALLS];
	struct sweep *sweep = arg;
	struct site *s = &sweep->site;
	struct belongings before;
	long now;
	int max;

	memset(fds, -1, sizeof(fds));
	stats_cgroup_enter(_metadata, sweep->cgroup);
	ASSERT_EQ(0, stats_write_file("/proc/self", "oom_score_adj", "-1000"));
	/* At the limit, the kernel would retry a copy-on-write fault for ever. */
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	/* At the limit there is no memory to open a file. */
	max = stats_cgroup_open(_metadata, sweep->cgroup, "memory.max");
	site_create(_metadata, s);
	expect_call_works(_metadata, s);
	before = count_belongings(_metadata);

	now = stats_read_number(_metadata, sweep->cgroup, "memory.current", "");
	set_limit(_metadata, max, now + (LIMIT_PAGES + sweep->step) * sysconf(_SC_PAGESIZE));
	call_up_to_limit(_metadata, sweep, fds);
	ASSERT_EQ(3, pwrite(max, "max", 3, 0));

	expect_belongings(_metadata, &before);
	expect_call_works(_metadata, s);
	expect_site_works(_metadata, s);
}

/* In so many sweeps, a page of 64 KiB that leaks in one of the calls is noticed. */
#define LIMIT_SWEEPS		16

static void sweep_limits(struct __test_metadata *_metadata, void *arg)
{
	struct sweep *sweep = arg;
	struct stats_keeper keeper;

	stats_quiet_console(_metadata, &keeper);
	for (sweep->step = 0; sweep->step < sweep->rounds; sweep->step++)
		stats_wait(_metadata, stats_fork(_metadata, meet_limit, sweep));
	stats_restore_settings(_metadata, &keeper);
}

TEST_F(limit_for, call_fails_with_ENOMEM_and_leaves_nothing_behind)
{
	struct sweep *sweep = &self->sweep;

	sweep->rounds = 1;
	sweep_limits(_metadata, sweep);
	if (stats_memory_is_exact())
		sweep->rounds = LIMIT_SWEEPS;
	stats_expect_no_growth(_metadata, self->cgroup, sweep_limits, sweep);
	TH_LOG("the call failed %d times", sweep->tally->refusals);
}

TEST_HARNESS_MAIN
