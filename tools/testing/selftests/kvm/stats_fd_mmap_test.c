// SPDX-License-Identifier: GPL-2.0-only
/*
 * Map KVM's statistics files: the data block of a VM or vCPU, and through a VM's file the
 * windows of its vCPUs. A mapping shows what pread() reads, outlives file and VM, and can never
 * be written or executed.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>

#include "../kselftest_harness.h"
#include "stats_fd_guest.h"
#include "stats_fd_memory.h"
#include "stats_fd_mmap.h"

#ifndef SYS_mmap
#ifdef __x86_64__
#define SYS_mmap	9
#else
#define SYS_mmap	222
#endif
#endif

#define VCPUS		3

/* Exits of the first vCPU. The second one has twice as many, and so on. */
#define EXITS		10

/* The next VMs would use memory that was freed. */
#define NEXT_VMS	10

/*
 * A VM whose vCPUs have distinct values, and ids that are not in order. The test is in a
 * cgroup of its own: some kernels mark the pages of kernel memory that they charge to a cgroup,
 * and a mapping of such a page would be an error.
 */
struct machine {
	long page;
	char cgroup[STATS_CGROUP_SIZE];
	struct guest guest;
	int grown;			/* vCPUs that were added later */
	struct stats_file vm_file;
};

static void machine_create(struct __test_metadata *_metadata, struct machine *m)
{
	int last, i;

	m->page = sysconf(_SC_PAGESIZE);
	if (stats_cgroup_create(m->cgroup))
		m->cgroup[0] = '\0';
	else
		stats_cgroup_enter(_metadata, m->cgroup);

	guest_create(_metadata, &m->guest, 0);
	last = stats_max_vcpus(_metadata) - 1;
	for (i = 0; i < VCPUS; i++) {
		guest_add_vcpu(_metadata, &m->guest, last - 2 * i);
		vcpu_exit_to_user(_metadata, &m->guest.vcpu[i], EXITS * (i + 1));
	}
	stats_load(_metadata, stats_get_fd(_metadata, m->guest.vm), &m->vm_file);
}

static void machine_destroy(struct __test_metadata *_metadata, struct machine *m)
{
	if (m->cgroup[0]) {
		stats_cgroup_enter(_metadata, STATS_CGROUPS);
		EXPECT_EQ(0, result(rmdir(m->cgroup)));
	}
}

/* Add a vCPU with one exit. */
static struct guest_vcpu *machine_grow(struct __test_metadata *_metadata, struct machine *m)
{
	struct guest_vcpu *v = guest_add_vcpu(_metadata, &m->guest, m->grown++);

	vcpu_exit_to_user(_metadata, v, 1);
	return v;
}

static void run_other_vms(struct __test_metadata *_metadata)
{
	struct guest guest;
	int i;

	for (i = 0; i < NEXT_VMS; i++) {
		memset(&guest, 0, sizeof(guest));
		guest_create(_metadata, &guest, 2);
		vcpu_exit_to_user(_metadata, &guest.vcpu[1], EXITS);
		guest_destroy(&guest);
	}
}

/* Return what a mapped page should contain: the data that pread() reads, and zeros. */
static char *expected_page(struct __test_metadata *_metadata, const struct stats_file *f)
{
	char *page = calloc(1, sysconf(_SC_PAGESIZE));

	ASSERT_NE(NULL, page);
	EXPECT_EQ((ssize_t)f->data_size, pread(f->fd, page, f->data_size,
					       f->header.data_offset));
	return page;
}

static void expect_page(struct __test_metadata *_metadata,
			const struct stats_file *f, const char *map)
{
	char *expected = expected_page(_metadata, f);

	EXPECT_EQ(0, memcmp(expected, map, sysconf(_SC_PAGESIZE))) {
		TH_LOG("mapping of %s", stats_id(f));
	}
	free(expected);
}

/* mmap() without the C library's check of the offset. */
static long try_map(const struct stats_file *f, size_t size, int prot, int flags, off_t offset)
{
#if ULONG_MAX == UINT_MAX
	/* The system call takes the offset in pages. */
	return result((long)mmap(NULL, size, prot, flags, f->fd, offset));
#else
	return result(syscall(SYS_mmap, NULL, size, prot, flags, f->fd, offset));
#endif
}

/* The data block of a VM's or vCPU's file. */
FIXTURE(data)
{
	struct machine m;
	const struct stats_file *f;
	off_t offset;
	const char *map;
	size_t size;		/* of data block and windows */
	const struct kvm_stats_desc *counter;
};

FIXTURE_VARIANT(data)
{
	bool vcpu;
};

FIXTURE_VARIANT_ADD(data, of_vm) { .vcpu = false };
FIXTURE_VARIANT_ADD(data, of_vcpu) { .vcpu = true };

FIXTURE_SETUP(data)
{
	machine_create(_metadata, &self->m);
	self->f = variant->vcpu ? &self->m.guest.vcpu[1].file : &self->m.vm_file;
	self->offset = self->f->header.data_offset;
	self->map = stats_mmap(_metadata, self->f, self->m.page);
	self->size = stats_mmap_size(self->f);
	self->counter = stats_get(_metadata, self->f,
				  variant->vcpu ? STATS_USER_EXITS : "online_vcpus");
}

FIXTURE_TEARDOWN(data)
{
	machine_destroy(_metadata, &self->m);
}

static __u64 counter_of(const FIXTURE_DATA(data) *self, const char *map)
{
	return stats_mapped(map, self->counter);
}

/* Raise the counter by 1. */
static void move_counter(struct __test_metadata *_metadata, FIXTURE_DATA(data) *self)
{
	if (self->f == &self->m.vm_file)
		machine_grow(_metadata, &self->m);
	else
		vcpu_exit_to_user(_metadata, &self->m.guest.vcpu[1], 1);
}

/* Expect that a mapping shows current values. */
static void expect_alive(struct __test_metadata *_metadata, FIXTURE_DATA(data) *self,
			 const char *map)
{
	__u64 before = counter_of(self, map);

	expect_page(_metadata, self->f, map);
	move_counter(_metadata, self);
	EXPECT_EQ(before + 1, counter_of(self, map));
	expect_page(_metadata, self->f, map);
}

TEST_F(data, mapping_shows_the_values_of_pread_and_zeros)
{
	EXPECT_EQ(variant->vcpu ? 2UL * EXITS : (__u64)VCPUS, counter_of(self, self->map));
	expect_alive(_metadata, self, self->map);
}

TEST_F(data, private_writable_executable_or_misaligned_mapping_is_refused)
{
	const int write_exec = PROT_WRITE | PROT_EXEC, all = PROT_READ | write_exec;
	const struct {
		long error;
		int flags, prot;
		off_t within;
	} calls[] = {
		{ -EINVAL, MAP_PRIVATE, PROT_NONE }, { -EINVAL, MAP_PRIVATE, PROT_READ },
		{ -EINVAL, MAP_PRIVATE, PROT_WRITE }, { -EACCES, MAP_SHARED, PROT_WRITE },
		{ -EACCES, MAP_SHARED, write_exec }, { -EACCES, MAP_SHARED, all },
		{ -EACCES, MAP_SHARED, PROT_READ | PROT_WRITE },
		{ -EACCES, MAP_SHARED_VALIDATE, PROT_READ | PROT_WRITE },
		{ -EPERM, MAP_SHARED, PROT_EXEC }, { -EPERM, MAP_SHARED, PROT_READ | PROT_EXEC },
		/* A mapping that grows downwards would leave the file. */
		{ -EINVAL, MAP_SHARED | MAP_GROWSDOWN, PROT_READ },
		{ -EINVAL, MAP_SHARED, PROT_READ, 1 }, { -EINVAL, MAP_SHARED, PROT_READ, 8 },
		{ -EINVAL, MAP_SHARED, PROT_READ, self->m.page - 1 },
		{ -EINVAL, MAP_SHARED, PROT_READ, -1 }, { -EINVAL, MAP_SHARED, PROT_READ, -8 },
	};
	unsigned int i;

	/* On CPUs that cannot forbid execution, programs start with READ_IMPLIES_EXEC. */
	ASSERT_LE(0, personality(personality(-1U) & ~READ_IMPLIES_EXEC));
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		EXPECT_EQ(calls[i].error, try_map(self->f, self->m.page, calls[i].prot,
						  calls[i].flags,
						  self->offset + calls[i].within)) {
			TH_LOG("call %u", i);
		}
	}
}

/* Return 1 if a mapping is executable, 0 if it is not, or -ENOENT. */
static int is_executable(const void *map)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start;
	char line[256];
	int ret = -ENOENT;
	char exec;

	while (maps && ret < 0 && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%*x %*c%*c%c", &start, &exec) == 2 &&
		    start == (unsigned long)map)
			ret = exec == 'x';
	}
	if (maps)
		fclose(maps);
	return ret;
}

static int map_with_read_implies_exec(void *arg)
{
	FIXTURE_DATA(data) *self = arg;
	void *map;

	if (personality(READ_IMPLIES_EXEC) < 0)
		return -errno;
	/* mprotect() does not add execution to the existing mapping. */
	if (mprotect((void *)self->map, self->m.page, PROT_NONE) ||
	    mprotect((void *)self->map, self->m.page, PROT_READ))
		return -ENOTRECOVERABLE;
	map = mmap(NULL, self->m.page, PROT_READ, MAP_SHARED, self->f->fd, self->offset);
	return map == MAP_FAILED ? -errno : -is_executable(map);
}

TEST_F(data, mapping_with_READ_IMPLIES_EXEC_is_not_executable)
{
	EXPECT_EQ(0, stats_in_child(_metadata, map_with_read_implies_exec, self));
}

/* If page numbers have 32 bits, some of the offsets overflow them. */
static long not_overflow(long ret)
{
	return sizeof(long) == 4 && ret == -EOVERFLOW ? -EINVAL : ret;
}

TEST_F(data, mapping_beyond_data_and_windows_fails_with_EINVAL)
{
	const long page = self->m.page;
	const off_t end = self->offset + self->size;
	const struct {
		off_t offset;
		size_t size;
	} ranges[] = {
		{ 0, 1 }, { 0, page }, { 0, self->offset + page },
		{ self->offset - page, page }, { self->offset - page, 2 * page },
		{ self->offset - page, self->size + 2 * page },
		{ self->offset, 0 }, { self->offset, self->size + 1 },
		{ self->offset, self->size + page },
		{ self->offset, (size_t)(1ULL << 32) },
		{ end - page, page + 1 }, { end - page, 2 * page },
		{ end, 1 }, { end, page }, { end + page, page },
		{ 1LL << 32, page }, { (1LL << 32) + self->offset, page },
		{ (1LL << 44) + self->offset, page }, { LLONG_MAX & -page, page },
		{ LLONG_MIN, page }, { LLONG_MIN + self->offset, page },
		{ -2 * page, page }, { -2 * page - self->offset, self->offset },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		EXPECT_EQ(-EINVAL, not_overflow(try_map(self->f, ranges[i].size, PROT_READ,
							MAP_SHARED, ranges[i].offset))) {
			TH_LOG("offset %#llx, size %#zx", (unsigned long long)ranges[i].offset,
			       ranges[i].size);
		}
	}
}

TEST_F(data, mprotect_to_write_or_execute_fails_with_EACCES)
{
	const int prots[] = {
		PROT_WRITE, PROT_READ | PROT_WRITE, PROT_EXEC,
		PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	void *map = (void *)self->map;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(prots); i++) {
		EXPECT_EQ(-EACCES, result(mprotect(map, self->m.page, prots[i]))) {
			TH_LOG("prot %#x", prots[i]);
		}
	}
	EXPECT_EQ(0, result(mprotect(map, self->m.page, PROT_NONE)));
	EXPECT_EQ(SIGSEGV, stats_signal_of_load(self->map));
	EXPECT_EQ(-EACCES, result(mprotect(map, self->m.page, PROT_WRITE)));
	EXPECT_EQ(0, result(mprotect(map, self->m.page, PROT_READ)));
	expect_alive(_metadata, self, self->map);
}

TEST_F(data, mremap_to_a_larger_size_fails_with_EFAULT)
{
	const long page = self->m.page;
	void *map = (void *)self->map;

	EXPECT_EQ(-EFAULT, result((long)mremap(map, page, 2 * page, 0)));
	EXPECT_EQ(-EFAULT, result((long)mremap(map, page, 2 * page, MREMAP_MAYMOVE)));
	/* With a size of 0 there would be a second mapping. */
	EXPECT_EQ(-EFAULT, result((long)mremap(map, 0, page, MREMAP_MAYMOVE)));
	EXPECT_EQ(-EFAULT, result((long)mremap(map, 0, 2 * page, MREMAP_MAYMOVE)));
	expect_alive(_metadata, self, self->map);
}

TEST_F(data, store_raises_SIGSEGV_and_system_calls_cannot_write)
{
	const char *addr = self->map + self->counter->offset;
	__u64 value, before = counter_of(self, self->map);
	int mem;

	EXPECT_EQ(SIGSEGV, stats_signal_of(addr, true));
	EXPECT_EQ(SEGV_ACCERR, stats_fault_info.si_code);
	EXPECT_EQ((void *)addr, stats_fault_info.si_addr);
	EXPECT_EQ(-EFAULT, result(pread(self->f->fd, (void *)addr, 8, 0)));
	/* Debuggers can write to private read-only mappings. This one is shared. */
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, mem);
	EXPECT_EQ(-EIO, result(pwrite(mem, &before, sizeof(before), (unsigned long)addr)));
	EXPECT_EQ(8, pread(mem, &value, sizeof(value), (unsigned long)addr));
	EXPECT_EQ(before, value);
	expect_alive(_metadata, self, self->map);
}

TEST_F(data, mapping_survives_vm_and_file_with_final_values)
{
	struct stats_file file = *self->f;
	char *last;

	file.fd = dup(self->f->fd);
	guest_kill(&self->m.guest);
	stats_expect_fdinfo(_metadata, file.fd, "state", "dead");
	expect_page(_metadata, &file, self->map);
	last = expected_page(_metadata, &file);

	/* The file of a dead VM can still be mapped. */
	expect_page(_metadata, &file, stats_mmap(_metadata, &file, self->m.page));
	close(file.fd);
	close(self->f->fd);
	run_other_vms(_metadata);
	EXPECT_EQ(0, memcmp(last, self->map, self->m.page));
}

/* The windows of a VM's vCPUs. */
FIXTURE(windows)
{
	struct machine m;
	const struct stats_file *f;
	const char *map;		/* of data block and all windows */
	size_t size;
	size_t first;			/* where windows begin in it */
	unsigned int num;
};

FIXTURE_SETUP(windows)
{
	machine_create(_metadata, &self->m);
	self->f = &self->m.vm_file;
	self->size = stats_mmap_size(self->f);
	self->map = stats_mmap(_metadata, self->f, self->size);
	self->first = self->f->ext.vcpu_mmap_offset - self->f->header.data_offset;
	self->num = self->f->ext.vcpu_max;
	ASSERT_LT(VCPUS, (int)self->num);
}

FIXTURE_TEARDOWN(windows)
{
	machine_destroy(_metadata, &self->m);
}

static void expect_sigbus(struct __test_metadata *_metadata, const char *addr)
{
	EXPECT_EQ(SIGBUS, stats_signal_of_load(addr));
	EXPECT_EQ(BUS_ADRERR, stats_fault_info.si_code);
	EXPECT_EQ((void *)addr, stats_fault_info.si_addr);
}

/* Expect the right content or signal at @map, which is at @offset of data and windows. */
static void expect_page_at(struct __test_metadata *_metadata,
			   const FIXTURE_DATA(windows) *self, const char *map, size_t offset)
{
	size_t stride = self->f->ext.vcpu_stride;
	size_t i = (offset - self->first) / stride;

	if (!offset)
		expect_page(_metadata, self->f, map);
	else if (offset < self->first || (offset - self->first) % stride ||
		 i >= (size_t)self->m.guest.vcpus)
		expect_sigbus(_metadata, map);
	else
		expect_page(_metadata, &self->m.guest.vcpu[i].file, map);
}

/* Map a range of data and windows, and check all pages. */
static void expect_range(struct __test_metadata *_metadata,
			 const FIXTURE_DATA(windows) *self, size_t offset, size_t size)
{
	size_t at;
	char *map;

	map = mmap(NULL, size, PROT_READ, MAP_SHARED, self->f->fd,
		   self->f->header.data_offset + offset);
	ASSERT_NE(MAP_FAILED, map) {
		TH_LOG("offset %zu, size %zu: %s", offset, size, strerror(errno));
	}
	for (at = 0; at < size; at += self->m.page)
		expect_page_at(_metadata, self, map + at, offset + at);
	EXPECT_EQ(0, munmap(map, size));
}

static const char *window(const FIXTURE_DATA(windows) *self, unsigned int i)
{
	return stats_window(self->f, self->map, i);
}

TEST_F(windows, any_range_of_whole_pages_can_be_mapped)
{
	const size_t page = self->m.page;
	const size_t most = VCPUS + 3;
	size_t start, pages;

	expect_range(_metadata, self, 0, self->size);
	/* At the beginning, around the last existing vCPU, and at the end. */
	for (start = 0; start < most; start++) {
		for (pages = 1; start + pages <= most; pages++) {
			expect_range(_metadata, self, start * page, pages * page);
			expect_range(_metadata, self, self->size - (start + pages) * page,
				     pages * page);
		}
	}
}

TEST_F(windows, windows_are_in_the_order_of_creation_as_are_ids)
{
	const struct kvm_stats_desc *exits = stats_get_vcpu(_metadata, self->f, STATS_USER_EXITS);
	const struct kvm_stats_desc *online = stats_get(_metadata, self->f, "online_vcpus");
	char id[STATS_NAME_SIZE];
	int i;

	EXPECT_EQ((__u64)VCPUS, stats_mapped_vcpus(self->map, online));
	for (i = 0; i < VCPUS; i++) {
		EXPECT_EQ(EXITS * (i + 1UL), stats_mapped(window(self, i), exits));
		snprintf(id, sizeof(id), "%s/vcpu-%u", stats_id(self->f),
			 stats_vcpu_id(self->f, i));
		EXPECT_STREQ(id, stats_id(&self->m.guest.vcpu[i].file));
	}
}

TEST_F(windows, window_raises_SIGBUS_until_its_vcpu_exists)
{
	const int more = 3;
	const __u32 id = stats_vcpu_id(self->f, 0);
	struct guest_vcpu *v;
	int i;

	/* Creation fails if the VM has a vCPU with the id. */
	EXPECT_EQ(STATS_KNOWN_VCPU_ID, result(ioctl(self->m.guest.vm, KVM_CREATE_VCPU, id)));
	for (i = VCPUS; i < VCPUS + more; i++) {
		expect_sigbus(_metadata, window(self, i));
		v = machine_grow(_metadata, &self->m);
		expect_page(_metadata, &v->file, window(self, i));
		vcpu_exit_to_user(_metadata, v, EXITS);
		expect_page(_metadata, &v->file, window(self, i));
		expect_sigbus(_metadata, window(self, i + 1));
	}
	expect_sigbus(_metadata, window(self, self->num - 1));
}

TEST_F(windows, window_stays_when_the_fd_of_its_vcpu_is_closed)
{
	struct guest_vcpu *v = &self->m.guest.vcpu[VCPUS - 1];
	struct stats_file file = v->file;

	munmap(v->run, self->m.guest.page);
	close(v->fd);
	self->m.guest.vcpus--;
	expect_page(_metadata, &file, window(self, VCPUS - 1));
	/* The next vCPU gets the next window. */
	v = machine_grow(_metadata, &self->m);
	expect_page(_metadata, &file, window(self, VCPUS - 1));
	expect_page(_metadata, &v->file, window(self, VCPUS));
}

TEST_F(windows, windows_of_existing_vcpus_can_be_locked_and_populated)
{
	const size_t size = self->f->ext.vcpu_stride;
	void *first = (void *)window(self, 0);
	void *missing = (void *)window(self, VCPUS);
	long map = try_map(self->f, self->size, PROT_READ, MAP_SHARED |
			   MAP_LOCKED | MAP_POPULATE, self->f->header.data_offset);

	ASSERT_LT(0, map);
	EXPECT_EQ(0, result(mlock(first, size)));
	EXPECT_EQ(-ENOMEM, result(mlock(missing, size)));
	machine_grow(_metadata, &self->m);
	EXPECT_EQ(0, result(mlock(missing, size)));
	expect_page(_metadata, self->f, (char *)map);
	expect_page(_metadata, &self->m.guest.vcpu[VCPUS].file,
		    stats_window(self->f, (char *)map, VCPUS));
	EXPECT_EQ(0, result(munlock((void *)self->map, self->size)));
	EXPECT_EQ(0, result(munmap((void *)map, self->size)));
}

TEST_F(windows, windows_survive_vm_and_file_with_final_values)
{
	char *last[VCPUS];
	int i;

	guest_kill(&self->m.guest);
	for (i = 0; i < VCPUS; i++) {
		last[i] = expected_page(_metadata, &self->m.guest.vcpu[i].file);
		close(self->m.guest.vcpu[i].file.fd);
	}
	close(self->f->fd);
	run_other_vms(_metadata);
	/* The first touch of these pages. */
	for (i = 0; i < VCPUS; i++) {
		EXPECT_EQ(0, memcmp(last[i], window(self, i), self->m.page)) {
			TH_LOG("window %d", i);
		}
		free(last[i]);
	}
	expect_sigbus(_metadata, window(self, VCPUS));
	expect_sigbus(_metadata, window(self, self->num - 1));
}

static long page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* Expect at most one fault for so many windows, and so many of the process itself. */
#define WINDOWS_PER_FAULT	8
#define OTHER_FAULTS		2

/* Load a byte of each window. Return the number of page faults. */
static long scan_windows(const struct stats_file *f, const char *map, int vcpus)
{
	long faults = page_faults();
	int i;

	for (i = 0; i < vcpus; i++)
		__atomic_load_n(stats_window(f, map, i), __ATOMIC_RELAXED);
	return page_faults() - faults;
}

TEST(scan_of_many_windows_takes_few_page_faults)
{
	int i, vcpus = stats_max_vcpus(_metadata), vm = stats_create_vm(_metadata);
	struct stats_file f;
	const char *map;
	long faults;

	if (vcpus > STATS_MAX_VCPUS)
		vcpus = STATS_MAX_VCPUS;
	for (i = 0; i < vcpus; i++)
		stats_create_vcpu(_metadata, vm, i);
	stats_load(_metadata, stats_get_fd(_metadata, vm), &f);
	map = stats_mmap(_metadata, &f, stats_mmap_size(&f));

	/* getrusage() itself may cause faults the first time. */
	page_faults();
	faults = scan_windows(&f, map, vcpus);
	TH_LOG("%ld page faults for %d windows", faults, vcpus);
	EXPECT_LT(0, faults);
	EXPECT_GE(vcpus / WINDOWS_PER_FAULT + OTHER_FAULTS, faults);
	EXPECT_EQ(0, scan_windows(&f, map, vcpus));
}

TEST_HARNESS_MAIN
