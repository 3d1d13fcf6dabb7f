// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapping KVM's statistics files: the data block of VM and vCPU, and through
 * the file of a VM the windows of its vCPUs. A mapping shows what pread() reads,
 * outlives file and VM, and can never be written or executed.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

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

/* Of the first vCPU; the second one has had twice as many, and so on. */
#define EXITS		10

/* Memory that was given back would be used by the next VMs. */
#define NEXT_VMS	10

/*
 * A VM whose vCPUs have distinct values, and ids that are not in order. The
 * test is in a cgroup of its own, where the kernel marks each page that it
 * charges: to map such a page would be seen.
 */
struct machine {
	long page;
	char cgroup[STATS_CGROUP_SIZE];
	struct guest guest;
	int grown;
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
	stats_unload(&m->vm_file);
	guest_destroy(&m->guest);
	if (m->cgroup[0]) {
		stats_cgroup_enter(_metadata, STATS_CGROUPS);
		EXPECT_EQ(0, result(rmdir(m->cgroup)));
	}
}

/* One more, with one exit. */
static struct guest_vcpu *machine_grow(struct __test_metadata *_metadata, struct machine *m)
{
	struct guest_vcpu *v = guest_add_vcpu(_metadata, &m->guest, m->grown++);

	vcpu_exit_to_user(_metadata, v, 1);
	return v;
}

/* All that hold the objects of statistics, once the guest is dead. */
static void close_files(struct machine *m)
{
	int i;

	close(m->vm_file.fd);
	for (i = 0; i < m->guest.vcpus; i++)
		close(m->guest.vcpu[i].file.fd);
}

/* What memory that was freed would be used for. */
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

/* A page as it should be: what pread() reads, and zeros. */
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

/* Not mmap() of the C library, which looks at the offset itself. */
static long try_map(const struct stats_file *f, size_t size, int prot, int flags, off_t offset)
{
#if ULONG_MAX == UINT_MAX
	/* The system call has another form, for large offsets. */
	return result((long)mmap(NULL, size, prot, flags, f->fd, offset));
#else
	return result(syscall(SYS_mmap, NULL, size, prot, flags, f->fd, offset));
#endif
}

/* The data block of one file, alike for VM and vCPU. */
struct data {
	struct machine m;
	const struct stats_file *f;
	off_t offset;
	const char *map;
	size_t size;		/* of all that the file has to map */
	const struct kvm_stats_desc *counter;
};

FIXTURE(data)
{
	struct data d;
};

FIXTURE_VARIANT(data)
{
	bool vcpu;
};

FIXTURE_VARIANT_ADD(data, of_vm) { .vcpu = false };
FIXTURE_VARIANT_ADD(data, of_vcpu) { .vcpu = true };

FIXTURE_SETUP(data)
{
	machine_create(_metadata, &self->d.m);
	self->d.f = variant->vcpu ? &self->d.m.guest.vcpu[1].file :
				  &self->d.m.vm_file;
	self->d.offset = self->d.f->header.data_offset;
	self->d.map = stats_mmap(_metadata, self->d.f, self->d.m.page);
	self->d.size = stats_mmap_size(self->d.f);
	self->d.counter = stats_find(self->d.f, variant->vcpu ?
				     STATS_USER_EXITS : "online_vcpus");
	ASSERT_NE(NULL, self->d.counter);
}

FIXTURE_TEARDOWN(data)
{
	munmap((void *)self->d.map, self->d.m.page);
	machine_destroy(_metadata, &self->d.m);
}

static __u64 counter_of(const struct data *d, const char *map)
{
	return stats_mapped(map, d->counter);
}

/* By 1. */
static void move_counter(struct __test_metadata *_metadata, struct data *d)
{
	if (d->f == &d->m.vm_file)
		machine_grow(_metadata, &d->m);
	else
		vcpu_exit_to_user(_metadata, &d->m.guest.vcpu[1], 1);
}

/* It shows what is counted now. */
static void expect_alive(struct __test_metadata *_metadata, struct data *d, const char *map)
{
	__u64 before = counter_of(d, map);

	expect_page(_metadata, d->f, map);
	move_counter(_metadata, d);
	EXPECT_EQ(before + 1, counter_of(d, map));
	expect_page(_metadata, d->f, map);
}

TEST_F(data, is_what_pread_reads_and_zeros_to_the_end_of_the_page)
{
	EXPECT_EQ(variant->vcpu ? 2UL * EXITS : (__u64)VCPUS,
		  counter_of(&self->d, self->d.map));
	expect_alive(_metadata, &self->d, self->d.map);
}

TEST_F(data, mapping_that_is_private_writable_executable_or_within_a_page_is_refused)
{
	const int write_exec = PROT_WRITE | PROT_EXEC, all = PROT_READ | write_exec;
	const struct data *d = &self->d;
	const struct {
		long error;
		int flags, prot;
		off_t within;
	} calls[] = {
		{ -EINVAL, MAP_PRIVATE, PROT_NONE }, { -EINVAL, MAP_PRIVATE, PROT_READ },
		{ -EINVAL, MAP_PRIVATE, PROT_WRITE }, { -EINVAL, MAP_PRIVATE, all },
		{ -EINVAL, MAP_PRIVATE, PROT_READ | PROT_EXEC },
		{ -EACCES, MAP_SHARED, PROT_WRITE }, { -EACCES, MAP_SHARED, write_exec },
		{ -EACCES, MAP_SHARED, PROT_READ | PROT_WRITE }, { -EACCES, MAP_SHARED, all },
		{ -EACCES, MAP_SHARED_VALIDATE, PROT_READ | PROT_WRITE },
		{ -EPERM, MAP_SHARED, PROT_EXEC }, { -EPERM, MAP_SHARED, PROT_READ | PROT_EXEC },
		/* A mapping that can be grown downwards would leave the file. */
		{ -EINVAL, MAP_SHARED | MAP_GROWSDOWN, PROT_READ },
		{ -EINVAL, MAP_SHARED, PROT_READ, 1 }, { -EINVAL, MAP_SHARED, PROT_READ, 8 },
		{ -EINVAL, MAP_SHARED, PROT_READ, d->m.page - 1 },
		{ -EINVAL, MAP_SHARED, PROT_READ, -1 }, { -EINVAL, MAP_SHARED, PROT_READ, -8 },
	};
	unsigned int i;

	/* A processor that cannot forbid it has all programs begin so. */
	ASSERT_LE(0, personality(personality(-1U) & ~READ_IMPLIES_EXEC));
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		EXPECT_EQ(calls[i].error, try_map(d->f, d->m.page, calls[i].prot, calls[i].flags,
						  d->offset + calls[i].within)) {
			TH_LOG("call %u", i);
		}
	}
}

/* 1 if the kernel says that it is, 0 if not, a negative errno if there is none. */
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
	struct data *d = arg;
	void *map;

	if (personality(READ_IMPLIES_EXEC) < 0)
		return -errno;
	/* What is there already stays as it is. */
	if (mprotect((void *)d->map, d->m.page, PROT_NONE) ||
	    mprotect((void *)d->map, d->m.page, PROT_READ))
		return -ENOTRECOVERABLE;
	map = mmap(NULL, d->m.page, PROT_READ, MAP_SHARED, d->f->fd, d->offset);
	return map == MAP_FAILED ? -errno : -is_executable(map);
}

TEST_F(data, mapping_is_not_executable_where_reading_implies_executing)
{
	EXPECT_EQ(0, stats_in_child(_metadata, map_with_read_implies_exec, &self->d));
}

/* Where the number of a page has 32 bits, what overflows it depends on its size. */
static long not_overflow(long ret)
{
	return sizeof(long) == 4 && ret == -EOVERFLOW ? -EINVAL : ret;
}

TEST_F(data, range_that_is_not_within_data_and_windows_is_EINVAL)
{
	const long page = self->d.m.page;
	const off_t end = self->d.offset + self->d.size;
	const struct {
		off_t offset;
		size_t size;
	} ranges[] = {
		{ 0, 1 },
		{ 0, page },
		{ 0, self->d.offset + page },
		{ self->d.offset - page, page },
		{ self->d.offset - page, 2 * page },
		{ self->d.offset - page, self->d.size + 2 * page },
		{ self->d.offset, 0 },
		{ self->d.offset, self->d.size + 1 },
		{ self->d.offset, self->d.size + page },
		{ self->d.offset, (size_t)(1ULL << 32) },
		{ end - page, page + 1 },
		{ end - page, 2 * page },
		{ end, 1 },
		{ end, page },
		{ end + page, page },
		{ 1LL << 32, page },
		{ (1LL << 32) + self->d.offset, page },
		{ (1LL << 44) + self->d.offset, page },
		{ LLONG_MAX & -page, page },
		{ LLONG_MIN, page },
		{ LLONG_MIN + self->d.offset, page },
		{ -2 * page, page },
		{ -2 * page - self->d.offset, self->d.offset },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		EXPECT_EQ(-EINVAL, not_overflow(try_map(self->d.f,
							ranges[i].size,
							PROT_READ, MAP_SHARED,
							ranges[i].offset))) {
			TH_LOG("offset %#llx, size %#zx", (unsigned long long)ranges[i].offset,
			       ranges[i].size);
		}
	}
}

TEST_F(data, mprotect_to_write_or_execute_is_EACCES)
{
	const int prots[] = {
		PROT_WRITE, PROT_READ | PROT_WRITE, PROT_EXEC,
		PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	void *map = (void *)self->d.map;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(prots); i++) {
		EXPECT_EQ(-EACCES, result(mprotect(map, self->d.m.page, prots[i]))) {
			TH_LOG("prot %#x", prots[i]);
		}
	}
	EXPECT_EQ(0, result(mprotect(map, self->d.m.page, PROT_NONE)));
	EXPECT_EQ(SIGSEGV, stats_signal_of_load(self->d.map));
	EXPECT_EQ(-EACCES, result(mprotect(map, self->d.m.page, PROT_WRITE)));
	EXPECT_EQ(0, result(mprotect(map, self->d.m.page, PROT_READ)));
	expect_alive(_metadata, &self->d, self->d.map);
}

TEST_F(data, mremap_that_grows_is_EFAULT)
{
	const long page = self->d.m.page;
	void *map = (void *)self->d.map;

	EXPECT_EQ(-EFAULT, result((long)mremap(map, page, 2 * page, 0)));
	EXPECT_EQ(-EFAULT, result((long)mremap(map, page, 2 * page, MREMAP_MAYMOVE)));
	/* With a size of 0 it would be a second mapping beside the first. */
	EXPECT_EQ(-EFAULT, result((long)mremap(map, 0, page, MREMAP_MAYMOVE)));
	EXPECT_EQ(-EFAULT, result((long)mremap(map, 0, 2 * page, MREMAP_MAYMOVE)));
	expect_alive(_metadata, &self->d, self->d.map);
}

TEST_F(data, mremap_that_moves_shows_the_same)
{
	const long page = self->d.m.page;
	char *room = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *map = (void *)self->d.map;

	ASSERT_NE(MAP_FAILED, room);
	ASSERT_EQ((void *)room, mremap(map, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, room));
	EXPECT_EQ(SIGSEGV, stats_signal_of_load(self->d.map));
	self->d.map = room;
	expect_alive(_metadata, &self->d, room);
	EXPECT_EQ(-EACCES, result(mprotect(room, page, PROT_WRITE)));
}

TEST_F(data, store_is_SIGSEGV)
{
	EXPECT_EQ(SIGSEGV, stats_signal_of(self->d.map, true));
	EXPECT_EQ(SEGV_ACCERR, stats_fault_info.si_code);
	EXPECT_EQ((void *)self->d.map, stats_fault_info.si_addr);
	expect_alive(_metadata, &self->d, self->d.map);
}

TEST_F(data, system_calls_cannot_write)
{
	const char *addr = self->d.map + self->d.counter->offset;
	__u64 value, before = counter_of(&self->d, self->d.map);
	int pipes[2], mem;

	/* As debuggers do. */
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, mem);
	EXPECT_EQ(-EIO, result(pwrite(mem, &before, sizeof(before), (unsigned long)addr)));
	EXPECT_EQ(8, pread(mem, &value, sizeof(value), (unsigned long)addr));
	EXPECT_EQ(before, value);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(8, write(pipes[1], "-1-2-3-4", 8));
	EXPECT_EQ(-EFAULT, result(read(pipes[0], (void *)addr, 8)));
	EXPECT_EQ(-EFAULT, result(pread(self->d.f->fd, (void *)addr, 8, 0)));
	close(pipes[0]);
	close(pipes[1]);
	EXPECT_EQ(before, counter_of(&self->d, self->d.map));
	expect_alive(_metadata, &self->d, self->d.map);
}

TEST_F(data, mapping_survives_close_of_the_file)
{
	struct stats_file file = *self->d.f;
	const char *map;

	file.fd = stats_get_fd(_metadata, self->d.f == &self->d.m.vm_file ?
			       self->d.m.guest.vm : self->d.m.guest.vcpu[1].fd);
	map = stats_mmap(_metadata, &file, self->d.m.page);
	close(file.fd);
	expect_alive(_metadata, &self->d, map);
	EXPECT_EQ(0, munmap((void *)map, self->d.m.page));
}

static int read_in_child(void *arg)
{
	const struct data *d = arg;
	__u64 value = 0;

	pread(d->f->fd, &value, sizeof(value), d->offset + d->counter->offset);
	return value && counter_of(d, d->map) == value ? 0 : -ESTALE;
}

TEST_F(data, mapping_is_inherited_by_fork)
{
	move_counter(_metadata, &self->d);
	EXPECT_EQ(0, stats_in_child(_metadata, read_in_child, &self->d));
}

TEST_F(data, mapping_survives_the_vm_with_its_last_values)
{
	struct stats_file file = *self->d.f;
	char *last;

	file.fd = dup(self->d.f->fd);
	guest_kill(&self->d.m.guest);
	stats_expect_fdinfo(_metadata, file.fd, "state", "dead");
	expect_page(_metadata, &file, self->d.map);
	last = expected_page(_metadata, &file);

	/* A dead VM's file can be mapped as well. */
	expect_page(_metadata, &file, stats_mmap(_metadata, &file, self->d.m.page));
	close(file.fd);
	run_other_vms(_metadata);
	EXPECT_EQ(0, memcmp(last, self->d.map, self->d.m.page));
}

/* The windows of a VM's vCPUs. */
struct windows {
	struct machine m;
	const struct stats_file *f;
	const char *map;		/* of data block and all windows */
	size_t size;
	size_t first;			/* where they begin in the mapping */
	unsigned int num;
};

FIXTURE(windows)
{
	struct windows w;
};

FIXTURE_SETUP(windows)
{
	machine_create(_metadata, &self->w.m);
	self->w.f = &self->w.m.vm_file;
	self->w.size = stats_mmap_size(self->w.f);
	self->w.map = stats_mmap(_metadata, self->w.f, self->w.size);
	self->w.first = self->w.f->ext.vcpu_mmap_offset -
		      self->w.f->header.data_offset;
	self->w.num = self->w.f->ext.vcpu_max;
	ASSERT_LT(VCPUS, (int)self->w.num);
}

FIXTURE_TEARDOWN(windows)
{
	munmap((void *)self->w.map, self->w.size);
	machine_destroy(_metadata, &self->w.m);
}

static void expect_sigbus(struct __test_metadata *_metadata, const char *addr)
{
	EXPECT_EQ(SIGBUS, stats_signal_of_load(addr));
	EXPECT_EQ(BUS_ADRERR, stats_fault_info.si_code);
	EXPECT_EQ((void *)addr, stats_fault_info.si_addr);
}

/* What is at @map, which shows the file from @offset of data and windows on. */
static void expect_page_at(struct __test_metadata *_metadata,
			   const struct windows *w, const char *map, size_t offset)
{
	size_t stride = w->f->ext.vcpu_stride;
	size_t i = (offset - w->first) / stride;

	if (!offset)
		expect_page(_metadata, w->f, map);
	else if (offset < w->first || (offset - w->first) % stride ||
		 i >= (size_t)w->m.guest.vcpus)
		expect_sigbus(_metadata, map);
	else
		expect_page(_metadata, &w->m.guest.vcpu[i].file, map);
}

/* Map a range of data and windows, and look at all of it. */
static void expect_range(struct __test_metadata *_metadata,
			 const struct windows *w, size_t offset, size_t size)
{
	size_t at;
	char *map;

	map = mmap(NULL, size, PROT_READ, MAP_SHARED, w->f->fd,
		   w->f->header.data_offset + offset);
	ASSERT_NE(MAP_FAILED, map) {
		TH_LOG("offset %zu, size %zu: %s", offset, size, strerror(errno));
	}
	for (at = 0; at < size; at += w->m.page)
		expect_page_at(_metadata, w, map + at, offset + at);
	EXPECT_EQ(0, munmap(map, size));
}

static const char *window(const struct windows *w, unsigned int i)
{
	return stats_window(w->f, w->map, i);
}

/* In its place in the mapping of all. */
static void expect_window(struct __test_metadata *_metadata,
			  const struct windows *w, unsigned int i)
{
	expect_page(_metadata, &w->m.guest.vcpu[i].file, window(w, i));
}

TEST_F(windows, and_data_in_one_mapping)
{
	expect_range(_metadata, &self->w, 0, self->w.size);
}

/* At the beginning, at the end of those that exist, at the very end. */
TEST_F(windows, and_data_in_any_range_of_whole_pages)
{
	const size_t page = self->w.m.page;
	const size_t most = VCPUS + 3;
	size_t start, pages;

	for (start = 0; start < most; start++) {
		for (pages = 1; start + pages <= most; pages++) {
			expect_range(_metadata, &self->w, start * page, pages * page);
			expect_range(_metadata, &self->w, self->w.size - (start + pages) * page,
				     pages * page);
		}
	}
}

/* By the order of creation, whatever the ids are. */
TEST_F(windows, belong_to_the_vcpus_whose_ids_are_in_the_file)
{
	const struct kvm_stats_desc *exits = stats_find_vcpu(self->w.f,
							     STATS_USER_EXITS);
	const struct kvm_stats_desc *online = stats_find(self->w.f, "online_vcpus");
	char id[STATS_NAME_SIZE];
	int i;

	ASSERT_NE(NULL, exits);
	ASSERT_NE(NULL, online);
	EXPECT_EQ((__u64)VCPUS, stats_mapped_vcpus(self->w.map, online));
	for (i = 0; i < VCPUS; i++) {
		EXPECT_EQ(EXITS * (i + 1UL), stats_mapped(window(&self->w, i), exits));
		snprintf(id, sizeof(id), "%s/vcpu-%u", stats_id(self->w.f),
			 stats_vcpu_id(self->w.f, i));
		EXPECT_STREQ(id, stats_id(&self->w.m.guest.vcpu[i].file));
	}
}

TEST_F(windows, work_in_the_same_mapping_once_the_vcpu_exists)
{
	const int more = 3;
	struct guest_vcpu *v;
	int i;

	for (i = VCPUS; i < VCPUS + more; i++) {
		expect_sigbus(_metadata, window(&self->w, i));
		v = machine_grow(_metadata, &self->w.m);
		expect_page(_metadata, &v->file, window(&self->w, i));
		vcpu_exit_to_user(_metadata, v, EXITS);
		expect_page(_metadata, &v->file, window(&self->w, i));
		expect_sigbus(_metadata, window(&self->w, i + 1));
	}
	expect_sigbus(_metadata, window(&self->w, self->w.num - 1));
}

TEST_F(windows, raise_SIGBUS_if_the_vcpu_was_refused)
{
	const __u32 id = stats_vcpu_id(self->w.f, 0);

	EXPECT_EQ(STATS_KNOWN_VCPU_ID, result(ioctl(self->w.m.guest.vm, KVM_CREATE_VCPU, id)));
	expect_sigbus(_metadata, window(&self->w, VCPUS));
}

TEST_F(windows, stay_when_the_fd_of_the_vcpu_is_closed)
{
	struct guest_vcpu *v = &self->w.m.guest.vcpu[VCPUS - 1];
	struct stats_file file = v->file;

	munmap(v->run, self->w.m.guest.page);
	close(v->fd);
	self->w.m.guest.vcpus--;
	expect_page(_metadata, &file, window(&self->w, VCPUS - 1));
	/* The next vCPU gets the next window. */
	v = machine_grow(_metadata, &self->w.m);
	expect_page(_metadata, &file, window(&self->w, VCPUS - 1));
	expect_page(_metadata, &v->file, window(&self->w, VCPUS));
}

TEST_F(windows, can_be_locked_and_populated_as_far_as_they_exist)
{
	const size_t size = self->w.f->ext.vcpu_stride;
	void *first = (void *)window(&self->w, 0);
	void *missing = (void *)window(&self->w, VCPUS);
	long map = try_map(self->w.f, self->w.size, PROT_READ, MAP_SHARED |
			   MAP_LOCKED | MAP_POPULATE, self->w.f->header.data_offset);

	ASSERT_LT(0, map);
	EXPECT_EQ(0, result(mlock(first, size)));
	EXPECT_EQ(-ENOMEM, result(mlock(missing, size)));
	machine_grow(_metadata, &self->w.m);
	EXPECT_EQ(0, result(mlock(missing, size)));
	expect_page(_metadata, self->w.f, (char *)map);
	expect_page(_metadata, &self->w.m.guest.vcpu[VCPUS].file,
		    stats_window(self->w.f, (char *)map, VCPUS));
	EXPECT_EQ(0, result(munlock((void *)self->w.map, self->w.size)));
	EXPECT_EQ(0, result(munmap((void *)map, self->w.size)));
}

TEST_F(windows, can_be_unmapped_one_by_one)
{
	void *middle = (void *)window(&self->w, 1);

	EXPECT_EQ(0, result(munmap(middle, self->w.f->ext.vcpu_stride)));
	EXPECT_EQ(SIGSEGV, stats_signal_of_load(middle));
	expect_page(_metadata, self->w.f, self->w.map);
	expect_window(_metadata, &self->w, 0);
	expect_window(_metadata, &self->w, 2);
	/* Each part on its own is as the whole was. */
	EXPECT_EQ(-EACCES, result(mprotect((void *)window(&self->w, 2),
					   self->w.m.page, PROT_WRITE)));
	EXPECT_EQ(-EFAULT, result((long)mremap((void *)window(&self->w, 0),
					       self->w.m.page,
					       2 * self->w.m.page,
					       MREMAP_MAYMOVE)));
}

TEST_F(windows, survive_the_vm_and_its_file_with_their_last_values)
{
	char *last[VCPUS];
	int i;

	/* They need not have been looked at before. */
	guest_kill(&self->w.m.guest);
	for (i = 0; i < VCPUS; i++)
		last[i] = expected_page(_metadata, &self->w.m.guest.vcpu[i].file);
	close_files(&self->w.m);
	run_other_vms(_metadata);
	for (i = 0; i < VCPUS; i++) {
		EXPECT_EQ(0, memcmp(last[i], window(&self->w, i), self->w.m.page)) {
			TH_LOG("window %d", i);
		}
		free(last[i]);
	}
	expect_sigbus(_metadata, window(&self->w, VCPUS));
	expect_sigbus(_metadata, window(&self->w, self->w.num - 1));
}

/* A VM of many vCPUs, all in one mapping. Each has had one exit more. */
FIXTURE(many)
{
	int vcpus;
	struct guest guest;
	struct stats_file f;
	const char *map;
};

FIXTURE_SETUP(many)
{
	int i;

	self->vcpus = stats_max_vcpus(_metadata);
	if (self->vcpus > STATS_MAX_VCPUS)
		self->vcpus = STATS_MAX_VCPUS;
	/* One can come later. */
	guest_create(_metadata, &self->guest, --self->vcpus);
	for (i = 0; i < self->vcpus; i++)
		vcpu_exit_to_user(_metadata, &self->guest.vcpu[i], i + 1);
	stats_load(_metadata, stats_get_fd(_metadata, self->guest.vm), &self->f);
	self->map = stats_mmap(_metadata, &self->f, stats_mmap_size(&self->f));
}

FIXTURE_TEARDOWN(many) { }

static long page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* What a reader of windows may have, and what else the process touches first. */
#define WINDOWS_PER_FAULT	8
#define OTHER_FAULTS		2

/* Load of each window, @step further each time. Returns the page faults. */
static long scan_windows(const struct stats_file *f, const char *map,
			 int vcpus, unsigned int step)
{
	long faults = page_faults();
	unsigned int i, at = 0;

	for (i = 0; i < (unsigned int)vcpus; i++) {
		__atomic_load_n(stats_window(f, map, at), __ATOMIC_RELAXED);
		at = (at + step) % vcpus;
	}
	return page_faults() - faults;
}

TEST_F(many, windows_take_few_page_faults_to_scan)
{
	long faults;

	/* What counting takes itself is there already. */
	page_faults();
	faults = scan_windows(&self->f, self->map, self->vcpus, 1);
	TH_LOG("%ld page faults for %d windows", faults, self->vcpus);
	EXPECT_LT(0, faults);
	EXPECT_GE(self->vcpus / WINDOWS_PER_FAULT + OTHER_FAULTS, faults);
	EXPECT_EQ(0, scan_windows(&self->f, self->map, self->vcpus, 1));
}

TEST_HARNESS_MAIN
