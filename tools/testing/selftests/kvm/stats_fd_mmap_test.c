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
	int kvm;
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
	m->kvm = stats_open_kvm(_metadata);
	if (stats_cgroup_create(m->cgroup))
		m->cgroup[0] = '\0';
	else
		stats_cgroup_enter(_metadata, m->cgroup);

	guest_create(_metadata, m->kvm, &m->guest, 0);
	last = ioctl(m->kvm, KVM_CHECK_EXTENSION, KVM_CAP_MAX_VCPUS) - 1;
	for (i = 0; i < VCPUS; i++) {
		guest_add_vcpu(_metadata, &m->guest, last - 2 * i);
		vcpu_exit_to_user(_metadata, &m->guest.vcpu[i],
				  EXITS * (i + 1));
	}
	stats_load(_metadata, stats_get_fd(_metadata, m->guest.vm),
		   &m->vm_file);
	if (!stats_has_ext(&m->vm_file))
		SKIP_IN_SETUP("no mapping of statistics on this kernel");
}

static void machine_destroy(struct __test_metadata *_metadata,
			    struct machine *m)
{
	stats_unload(&m->vm_file);
	guest_destroy(&m->guest);
	if (m->cgroup[0]) {
		stats_cgroup_enter(_metadata, STATS_CGROUPS);
		EXPECT_EQ(0, result(rmdir(m->cgroup)));
	}
	close(m->kvm);
}

/* One more, with one exit. */
static struct guest_vcpu *machine_grow(struct __test_metadata *_metadata,
				       struct machine *m)
{
	struct guest_vcpu *v = guest_add_vcpu(_metadata, &m->guest,
					      m->grown++);

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
static void run_other_vms(struct __test_metadata *_metadata, int kvm)
{
	struct guest guest;
	int i;

	for (i = 0; i < NEXT_VMS; i++) {
		memset(&guest, 0, sizeof(guest));
		guest_create(_metadata, kvm, &guest, 2);
		vcpu_exit_to_user(_metadata, &guest.vcpu[1], EXITS);
		guest_destroy(&guest);
	}
}

/* A page as it should be: what pread() reads, and zeros. */
static char *expected_page(struct __test_metadata *_metadata,
			   const struct stats_file *f)
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
static long try_map(const struct stats_file *f, size_t size, int prot,
		    int flags, off_t offset)
{
#if ULONG_MAX == UINT_MAX
	/* The system call has another form, for large offsets. */
	return result((long)mmap(NULL, size, prot, flags, f->fd, offset));
#else
	return result(syscall(SYS_mmap, NULL, size, prot, flags, f->fd,
			      offset));
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

FIXTURE_VARIANT_ADD(data, of_vm)
{
	.vcpu = false,
};

FIXTURE_VARIANT_ADD(data, of_vcpu)
{
	.vcpu = true,
};

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
static void move_counter(struct __test_metadata *_metadata,
			 struct data *d)
{
	if (d->f == &d->m.vm_file)
		machine_grow(_metadata, &d->m);
	else
		vcpu_exit_to_user(_metadata, &d->m.guest.vcpu[1], 1);
}

/* It shows what is counted now. */
static void expect_alive(struct __test_metadata *_metadata,
			 struct data *d, const char *map)
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

TEST_F(data, of_any_length_within_a_page_is_the_page)
{
	const size_t sizes[] = {
		1, 8, self->d.f->data_size, self->d.m.page - 1, self->d.m.page,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		expect_alive(_metadata, &self->d,
			     stats_mmap(_metadata, self->d.f, sizes[i]));
}

TEST_F(data, private_mapping_is_EINVAL)
{
	const int prots[] = {
		PROT_NONE, PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE,
		PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(prots); i++) {
		EXPECT_EQ(-EINVAL, try_map(self->d.f, self->d.m.page, prots[i],
					   MAP_PRIVATE, self->d.offset)) {
			TH_LOG("prot %#x", prots[i]);
		}
	}
}

TEST_F(data, writable_mapping_is_EACCES)
{
	const int prots[] = {
		PROT_WRITE, PROT_READ | PROT_WRITE, PROT_WRITE | PROT_EXEC,
		PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	const struct data *d = &self->d;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(prots); i++) {
		EXPECT_EQ(-EACCES, try_map(d->f, d->m.page, prots[i],
					   MAP_SHARED, d->offset)) {
			TH_LOG("prot %#x", prots[i]);
		}
		EXPECT_EQ(-EACCES, try_map(d->f, d->m.page, prots[i],
					   MAP_SHARED_VALIDATE, d->offset)) {
			TH_LOG("prot %#x", prots[i]);
		}
	}
}

TEST_F(data, executable_mapping_is_EPERM)
{
	const int prots[] = { PROT_EXEC, PROT_READ | PROT_EXEC };
	const struct data *d = &self->d;
	unsigned int i;

	/* A processor that cannot forbid it has all programs begin so. */
	ASSERT_LE(0, personality(personality(-1U) & ~READ_IMPLIES_EXEC));
	for (i = 0; i < ARRAY_SIZE(prots); i++) {
		EXPECT_EQ(-EPERM, try_map(d->f, d->m.page, prots[i], MAP_SHARED,
					  d->offset)) {
			TH_LOG("prot %#x", prots[i]);
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
	EXPECT_EQ(0, stats_in_child(_metadata, map_with_read_implies_exec,
				    &self->d));
}

/* A mapping that can be grown downwards would leave the file. */
TEST_F(data, mapping_that_grows_down_is_EINVAL)
{
	EXPECT_EQ(-EINVAL, try_map(self->d.f, self->d.m.page, PROT_READ,
				   MAP_SHARED | MAP_GROWSDOWN, self->d.offset));
}

TEST_F(data, offset_within_a_page_is_EINVAL)
{
	const off_t within[] = { 1, 8, 512, self->d.m.page - 1, -1, -8 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(within); i++) {
		EXPECT_EQ(-EINVAL, try_map(self->d.f, self->d.m.page, PROT_READ,
					   MAP_SHARED,
					   self->d.offset + within[i])) {
			TH_LOG("offset %ld", (long)within[i]);
		}
	}
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
			TH_LOG("offset %#llx, size %#zx",
			       (unsigned long long)ranges[i].offset,
			       ranges[i].size);
		}
	}
}

TEST_F(data, range_that_overflows_is_refused)
{
	const long page = self->d.m.page;

	EXPECT_EQ(not_overflow(-EOVERFLOW),
		  not_overflow(try_map(self->d.f, page, PROT_READ, MAP_SHARED,
				       -page)));
	EXPECT_EQ(not_overflow(-EOVERFLOW),
		  not_overflow(try_map(self->d.f, self->d.offset + 2 * page,
				       PROT_READ, MAP_SHARED, -2 * page)));
	EXPECT_EQ(-ENOMEM, try_map(self->d.f, -page, PROT_READ, MAP_SHARED,
				   self->d.offset));
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
		EXPECT_EQ(-EACCES, result(mprotect(map, self->d.m.page,
						   prots[i]))) {
			TH_LOG("prot %#x", prots[i]);
		}
	}
	EXPECT_EQ(0, result(mprotect(map, self->d.m.page, PROT_NONE)));
	EXPECT_EQ(SIGSEGV, stats_signal_of_load(self->d.map));
	EXPECT_EQ(-EACCES, result(mprotect(map, self->d.m.page, PROT_WRITE)));
	EXPECT_EQ(0, result(mprotect(map, self->d.m.page, PROT_READ)));
	expect_alive(_metadata, &self->d, self->d.map);
}

/* What the kernel says of the mapping: "VmFlags: rd mr ms de", or empty. */
static void read_vm_flags(struct __test_metadata *_metadata, const char *map,
			  char flags[STATS_LINE_SIZE])
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	char line[STATS_LINE_SIZE];
	unsigned long start, end;
	bool found = false;

	ASSERT_NE(NULL, smaps);
	flags[0] = '\0';
	while (fgets(line, sizeof(line), smaps) && !flags[0]) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			found = start == (unsigned long)map;
		else if (found && !strncmp(line, "VmFlags:", 8))
			strcpy(flags, line);
	}
	fclose(smaps);
}

TEST_F(data, mapping_may_be_read_and_nothing_else)
{
	const char *const never[] = { " wr", " mw", " ex", " me" };
	char flags[STATS_LINE_SIZE];
	unsigned int i;

	if (access("/proc/self/smaps", R_OK))
		SKIP(return, "no /proc/self/smaps");
	read_vm_flags(_metadata, self->d.map, flags);
	EXPECT_NE(NULL, strstr(flags, " rd"));
	EXPECT_NE(NULL, strstr(flags, " ms"));
	EXPECT_NE(NULL, strstr(flags, " de"));
	for (i = 0; i < ARRAY_SIZE(never); i++) {
		EXPECT_EQ(NULL, strstr(flags, never[i])) {
			TH_LOG("%s", flags);
		}
	}
}

TEST_F(data, mremap_that_grows_is_EFAULT)
{
	const long page = self->d.m.page;
	void *map = (void *)self->d.map;

	EXPECT_EQ(-EFAULT, result((long)mremap(map, page, 2 * page, 0)));
	EXPECT_EQ(-EFAULT, result((long)mremap(map, page, 2 * page,
					       MREMAP_MAYMOVE)));
	/* With a size of 0 it would be a second mapping beside the first. */
	EXPECT_EQ(-EFAULT, result((long)mremap(map, 0, page,
					       MREMAP_MAYMOVE)));
	EXPECT_EQ(-EFAULT, result((long)mremap(map, 0, 2 * page,
					       MREMAP_MAYMOVE)));
	expect_alive(_metadata, &self->d, self->d.map);
}

TEST_F(data, mremap_that_moves_shows_the_same)
{
	const long page = self->d.m.page;
	char *room = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	void *map = (void *)self->d.map;

	ASSERT_NE(MAP_FAILED, room);
	ASSERT_EQ((void *)room, mremap(map, page, page, MREMAP_MAYMOVE |
				       MREMAP_FIXED, room));
	EXPECT_EQ(SIGSEGV, stats_signal_of_load(self->d.map));
	self->d.map = room;
	expect_alive(_metadata, &self->d, room);
	EXPECT_EQ(-EACCES, result(mprotect(room, page, PROT_WRITE)));
}

/* It would give a mapping another part of the file; of writable ones only. */
TEST_F(data, remap_file_pages_is_EINVAL)
{
	const size_t pgoff = self->d.offset / self->d.m.page;
	const size_t size = self->d.m.page;
	void *map = (void *)self->d.map;

	EXPECT_EQ(-EINVAL, result(remap_file_pages(map, size, 0, 0, 0)));
	EXPECT_EQ(-EINVAL, result(remap_file_pages(map, size, 0, pgoff, 0)));
	expect_alive(_metadata, &self->d, self->d.map);
}

TEST_F(data, store_is_SIGSEGV)
{
	EXPECT_EQ(SIGSEGV, stats_signal_of(self->d.map, true));
	EXPECT_EQ(SEGV_ACCERR, stats_fault_info.si_code);
	EXPECT_EQ((void *)self->d.map, stats_fault_info.si_addr);
	expect_alive(_metadata, &self->d, self->d.map);
}

/* A kernel need not have process_vm_readv() and process_vm_writev(). */
static bool has_process_vm(void)
{
	char from = 1, to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

/* All ways in which one process writes to the memory of another. */
static void expect_no_foreign_write(struct __test_metadata *_metadata,
				    pid_t pid, const char *addr)
{
	__u64 value = ~0ULL;
	struct iovec local = { &value, sizeof(value) };
	struct iovec remote = { (void *)addr, sizeof(value) };
	char path[64];
	int mem;

	if (has_process_vm()) {
		EXPECT_EQ(-EFAULT, result(process_vm_writev(pid, &local, 1,
							    &remote, 1, 0)));
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, mem) TH_LOG("%s: %s", path, strerror(errno));
	EXPECT_EQ(-EIO, result(pwrite(mem, &value, sizeof(value),
				      (unsigned long)addr)));
	EXPECT_EQ((ssize_t)sizeof(value), pread(mem, &value, sizeof(value),
						(unsigned long)addr));
	EXPECT_EQ(0, memcmp(&value, addr, sizeof(value)));
	close(mem);
}

TEST_F(data, system_calls_cannot_write)
{
	const char *addr = self->d.map + self->d.counter->offset;
	__u64 before = counter_of(&self->d, self->d.map);
	int pipes[2];

	expect_no_foreign_write(_metadata, getpid(), addr);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(8, write(pipes[1], "-1-2-3-4", 8));
	EXPECT_EQ(-EFAULT, result(read(pipes[0], (void *)addr, 8)));
	EXPECT_EQ(-EFAULT, result(pread(self->d.f->fd, (void *)addr, 8, 0)));
	close(pipes[0]);
	close(pipes[1]);
	EXPECT_EQ(before, counter_of(&self->d, self->d.map));
	expect_alive(_metadata, &self->d, self->d.map);
}

TEST_F(data, debugger_can_read_but_not_write)
{
	const char *addr = self->d.map + self->d.counter->offset;
	__u64 before = counter_of(&self->d, self->d.map);
	pid_t pid = fork();
	int status;
	long word;

	ASSERT_LE(0, pid);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, pid, addr, NULL);
	EXPECT_EQ(0, errno);
	EXPECT_EQ((long)before, word);
	EXPECT_EQ(-EIO, result(ptrace(PTRACE_POKEDATA, pid, addr, word + 1)));
	EXPECT_EQ(-EIO, result(ptrace(PTRACE_POKETEXT, pid, addr, word + 1)));
	expect_no_foreign_write(_metadata, pid, addr);
	EXPECT_EQ((long)before, ptrace(PTRACE_PEEKDATA, pid, addr, NULL));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));

	EXPECT_EQ(before, counter_of(&self->d, self->d.map));
	expect_alive(_metadata, &self->d, self->d.map);
}

/* Up to the last one of this kernel. From 100 on they destroy memory. */
#define LAST_ADVICE	25

TEST_F(data, madvise_does_no_harm)
{
	void *map = (void *)self->d.map;
	int advice;

	for (advice = 0; advice <= LAST_ADVICE; advice++) {
		madvise(map, self->d.m.page, advice);
		expect_page(_metadata, self->d.f, self->d.map);
	}
	EXPECT_EQ(0, result(madvise(map, self->d.m.page, MADV_DONTNEED)));
	EXPECT_EQ(-EACCES, result(madvise(map, self->d.m.page, MADV_REMOVE)));
	expect_alive(_metadata, &self->d, self->d.map);
}

TEST_F(data, can_be_locked_and_populated)
{
	const long page = self->d.m.page;
	void *map = (void *)self->d.map;
	long locked = try_map(self->d.f, page, PROT_READ, MAP_SHARED |
			      MAP_LOCKED | MAP_POPULATE, self->d.offset);

	ASSERT_LT(0, locked);
	expect_alive(_metadata, &self->d, (char *)locked);
	EXPECT_EQ(0, result(munlock((void *)locked, page)));
	EXPECT_EQ(0, result(mlock(map, page)));
	expect_alive(_metadata, &self->d, self->d.map);
	EXPECT_EQ(0, result(munlock(map, page)));
	EXPECT_EQ(0, result(munmap((void *)locked, page)));
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

struct child {
	struct data *d;
	int sock;
};

static void count_in_child(struct __test_metadata *_metadata, void *arg)
{
	struct child *child = arg;
	struct data *d = child->d;
	__u64 before = counter_of(d, d->map);

	close(d->f->fd);
	stats_say(_metadata, child->sock);
	stats_hear(_metadata, child->sock);
	EXPECT_EQ(before + 1, counter_of(d, d->map));
}

TEST_F(data, mapping_survives_fork_and_shows_the_parents_counting)
{
	struct child child = { .d = &self->d };
	int sock[2];
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	child.sock = sock[1];
	pid = stats_fork(_metadata, count_in_child, &child);
	close(sock[1]);
	stats_hear(_metadata, sock[0]);
	expect_alive(_metadata, &self->d, self->d.map);
	/* The child's does not go with it. */
	EXPECT_EQ(0, munmap((void *)self->d.map, self->d.m.page));
	stats_say(_metadata, sock[0]);
	stats_wait(_metadata, pid);
	close(sock[0]);
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
	expect_page(_metadata, &file,
		    stats_mmap(_metadata, &file, self->d.m.page));
	close(file.fd);
	run_other_vms(_metadata, self->d.m.kvm);
	EXPECT_EQ(0, memcmp(last, self->d.map, self->d.m.page));
	free(last);
}

/* One that a pipe refers to, after all else has let go of it. */
TEST_F(data, page_lives_as_long_as_anyone_refers_to_it)
{
	const size_t size = self->d.m.page;
	struct iovec iov = { (void *)self->d.map, size };
	char *last, *piped = malloc(size);
	int pipes[2];

	ASSERT_NE(NULL, piped);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ((ssize_t)size, vmsplice(pipes[1], &iov, 1, 0));
	guest_kill(&self->d.m.guest);
	last = expected_page(_metadata, self->d.f);
	ASSERT_EQ(0, munmap((void *)self->d.map, size));
	self->d.map = NULL;
	close_files(&self->d.m);

	run_other_vms(_metadata, self->d.m.kvm);
	EXPECT_EQ((ssize_t)size, read(pipes[0], piped, size));
	EXPECT_EQ(0, memcmp(last, piped, size));
	close(pipes[0]);
	close(pipes[1]);
	free(piped);
	free(last);
}

struct receiver {
	const struct stats_file *file;
	const char *expected;
	int sock;
};

static int map_received(void *arg)
{
	struct receiver *r = arg;
	struct stats_file file = *r->file;
	long page = sysconf(_SC_PAGESIZE);
	long map;
	int ret;

	/* Leave no other way to the file than the message. */
	close(r->file->fd);
	ret = stats_become_nobody();
	if (ret)
		return ret;
	file.fd = stats_recv_fd(r->sock);
	map = try_map(&file, page, PROT_READ, MAP_SHARED,
		      file.header.data_offset);
	if (map < 0)
		return map;
	if (try_map(&file, page, PROT_READ | PROT_WRITE, MAP_SHARED,
		    file.header.data_offset) != -EACCES)
		return -EPERM;
	return memcmp((void *)map, r->expected, page) ? -ESTALE : 0;
}

TEST_F(data, can_be_mapped_by_another_user_who_was_sent_the_file)
{
	struct receiver receiver = { .file = self->d.f };
	char *expected = expected_page(_metadata, self->d.f);
	int sock[2];

	if (geteuid())
		SKIP(return, "only root can become another user");
	receiver.expected = expected;
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	receiver.sock = sock[1];
	ASSERT_EQ(0, stats_send_fd(sock[0], self->d.f->fd));
	EXPECT_EQ(0, stats_in_child(_metadata, map_received, &receiver));
	close(sock[0]);
	close(sock[1]);
	free(expected);
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
			   const struct windows *w, const char *map,
			   size_t offset)
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
			 const struct windows *w, size_t offset,
			 size_t size)
{
	size_t at;
	char *map;

	map = mmap(NULL, size, PROT_READ, MAP_SHARED, w->f->fd,
		   w->f->header.data_offset + offset);
	ASSERT_NE(MAP_FAILED, map) {
		TH_LOG("offset %zu, size %zu: %s", offset, size,
		       strerror(errno));
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

TEST_F(windows, all_in_one_mapping)
{
	expect_range(_metadata, &self->w, self->w.first,
		     self->w.size - self->w.first);
}

/* At the beginning, at the end of those that exist, at the very end. */
TEST_F(windows, and_data_in_any_range_of_whole_pages)
{
	const size_t page = self->w.m.page;
	const size_t most = VCPUS + 3;
	size_t start, pages;

	for (start = 0; start < most; start++) {
		for (pages = 1; start + pages <= most; pages++) {
			expect_range(_metadata, &self->w, start * page,
				     pages * page);
			expect_range(_metadata, &self->w,
				     self->w.size - (start + pages) * page,
				     pages * page);
		}
	}
}

/* By the order of creation, whatever the ids are. */
TEST_F(windows, belong_to_the_vcpus_whose_ids_are_in_the_file)
{
	const struct kvm_stats_desc *exits = stats_find_vcpu(self->w.f,
							     STATS_USER_EXITS);
	const struct kvm_stats_desc *online = stats_find(self->w.f,
							 "online_vcpus");
	char id[STATS_NAME_SIZE];
	int i;

	ASSERT_NE(NULL, exits);
	ASSERT_NE(NULL, online);
	EXPECT_EQ((__u64)VCPUS, stats_mapped_vcpus(self->w.map, online));
	for (i = 0; i < VCPUS; i++) {
		EXPECT_EQ(EXITS * (i + 1UL),
			  stats_mapped(window(&self->w, i), exits));
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

	EXPECT_EQ(STATS_KNOWN_VCPU_ID,
		  result(ioctl(self->w.m.guest.vm, KVM_CREATE_VCPU, id)));
	expect_sigbus(_metadata, window(&self->w, VCPUS));
}

TEST_F(windows, stay_when_the_fd_of_the_vcpu_is_closed)
{
	struct guest_vcpu *v = &self->w.m.guest.vcpu[VCPUS - 1];
	struct stats_file file = v->file;

	munmap(v->run, self->w.m.guest.run_size);
	close(v->fd);
	self->w.m.guest.vcpus--;
	expect_page(_metadata, &file, window(&self->w, VCPUS - 1));
	/* The next vCPU gets the next window. */
	v = machine_grow(_metadata, &self->w.m);
	expect_page(_metadata, &file, window(&self->w, VCPUS - 1));
	expect_page(_metadata, &v->file, window(&self->w, VCPUS));
	stats_unload(&file);
}

/* Once with the vCPU, once without: the same calls. */
static void expect_kernel_reads(struct __test_metadata *_metadata,
				const char *addr, bool exists)
{
	const long expected = exists ? 8 : -EFAULT;
	struct iovec remote = { (void *)addr, 8 };
	struct iovec local;
	int pipes[2], mem;
	__u64 value;

	local.iov_base = &value;
	local.iov_len = sizeof(value);
	if (has_process_vm()) {
		EXPECT_EQ(expected, result(process_vm_readv(getpid(), &local, 1,
							    &remote, 1, 0)));
	}
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(expected, result(write(pipes[1], addr, 8)));
	EXPECT_EQ(expected, result(vmsplice(pipes[1], &remote, 1, 0)));
	/* Writing to one is no better, also if there is something to write. */
	ASSERT_EQ(8, write(pipes[1], "-1-2-3-4", 8));
	EXPECT_EQ(-EFAULT, result(read(pipes[0], (void *)addr, 8)));
	mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, mem);
	EXPECT_EQ(exists ? 8 : -EIO, result(pread(mem, &value, 8,
						  (unsigned long)addr)));
	close(mem);
	close(pipes[0]);
	close(pipes[1]);
}

TEST_F(windows, without_vcpu_are_EFAULT_for_system_calls)
{
	const char *addr = window(&self->w, VCPUS);
	struct guest_vcpu *v;

	expect_kernel_reads(_metadata, addr, false);
	v = machine_grow(_metadata, &self->w.m);
	expect_kernel_reads(_metadata, addr, true);
	expect_page(_metadata, &v->file, addr);
}

TEST_F(windows, can_be_locked_and_populated_as_far_as_they_exist)
{
	const size_t size = self->w.f->ext.vcpu_stride;
	void *first = (void *)window(&self->w, 0);
	void *missing = (void *)window(&self->w, VCPUS);
	long map = try_map(self->w.f, self->w.size, PROT_READ, MAP_SHARED |
			   MAP_LOCKED | MAP_POPULATE,
			   self->w.f->header.data_offset);

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

TEST_F(windows, can_be_moved_and_cut_off)
{
	const size_t stride = self->w.f->ext.vcpu_stride;
	char *two = mremap((void *)window(&self->w, 1), 2 * stride, stride,
			   MREMAP_MAYMOVE);
	char *room = mmap(NULL, stride, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	/* It stays where it is, and the window behind it goes. */
	ASSERT_EQ((void *)window(&self->w, 1), (void *)two);
	expect_page(_metadata, &self->w.m.guest.vcpu[1].file, two);
	EXPECT_EQ(SIGSEGV, stats_signal_of_load(window(&self->w, 2)));
	ASSERT_NE(MAP_FAILED, room);
	ASSERT_EQ((void *)room, mremap(two, stride, stride, MREMAP_MAYMOVE |
				       MREMAP_FIXED, room));
	expect_page(_metadata, &self->w.m.guest.vcpu[1].file, room);
	EXPECT_EQ(SIGSEGV, stats_signal_of_load(window(&self->w, 1)));
	expect_window(_metadata, &self->w, 0);
	EXPECT_EQ(0, munmap(room, stride));
}

TEST_F(windows, survive_the_vm_and_its_file_with_their_last_values)
{
	char *last[VCPUS];
	int i;

	/* They need not have been looked at before. */
	guest_kill(&self->w.m.guest);
	for (i = 0; i < VCPUS; i++) {
		last[i] = expected_page(_metadata,
					&self->w.m.guest.vcpu[i].file);
	}
	close_files(&self->w.m);
	run_other_vms(_metadata, self->w.m.kvm);
	for (i = 0; i < VCPUS; i++) {
		EXPECT_EQ(0, memcmp(last[i], window(&self->w, i),
				    self->w.m.page)) {
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
	int kvm;
	int vcpus;
	struct guest guest;
	struct stats_file f;
	const char *map;
};

FIXTURE_SETUP(many)
{
	int i;

	self->kvm = stats_open_kvm(_metadata);
	self->vcpus = ioctl(self->kvm, KVM_CHECK_EXTENSION, KVM_CAP_MAX_VCPUS);
	if (self->vcpus > STATS_MAX_VCPUS)
		self->vcpus = STATS_MAX_VCPUS;
	/* One can come later. */
	guest_create(_metadata, self->kvm, &self->guest, --self->vcpus);
	for (i = 0; i < self->vcpus; i++)
		vcpu_exit_to_user(_metadata, &self->guest.vcpu[i], i + 1);
	stats_load(_metadata, stats_get_fd(_metadata, self->guest.vm),
		   &self->f);
	if (!stats_has_ext(&self->f))
		SKIP_IN_SETUP("no mapping of statistics on this kernel");
	self->map = stats_mmap(_metadata, &self->f, stats_mmap_size(&self->f));
}

FIXTURE_TEARDOWN(many)
{
	munmap((void *)self->map, stats_mmap_size(&self->f));
	stats_unload(&self->f);
	guest_destroy(&self->guest);
	close(self->kvm);
}

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

/* From the last to the first, and here and there: around what is mapped. */
TEST_F(many, windows_are_the_same_in_whatever_order_they_are_touched)
{
	const unsigned int steps[] = { self->vcpus - 1, 5, 37 };
	const size_t size = stats_mmap_size(&self->f);
	const char *map;
	unsigned int i;
	int v;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		map = stats_mmap(_metadata, &self->f, size);
		scan_windows(&self->f, map, self->vcpus, steps[i]);
		expect_page(_metadata, &self->f, map);
		for (v = 0; v < self->vcpus; v++)
			expect_page(_metadata, &self->guest.vcpu[v].file,
				    stats_window(&self->f, map, v));
		EXPECT_EQ(0, munmap((void *)map, size));
	}
}

/* The fault on the first one reaches up to where they end. */
TEST_F(many, windows_of_vcpus_to_come_raise_SIGBUS_after_those_that_exist)
{
	const char *next = stats_window(&self->f, self->map, self->vcpus);
	struct guest_vcpu *v;
	int i;

	for (i = 0; i < self->vcpus; i++)
		EXPECT_EQ(0, stats_signal_of_load(next - (self->vcpus - i) *
						  self->f.ext.vcpu_stride));
	expect_sigbus(_metadata, next);
	v = guest_add_vcpu(_metadata, &self->guest, self->vcpus);
	vcpu_exit_to_user(_metadata, v, EXITS);
	expect_page(_metadata, &v->file, next);
	if (self->vcpus + 1 < (int)self->f.ext.vcpu_max)
		expect_sigbus(_metadata, next + self->f.ext.vcpu_stride);
}

struct watcher {
	const struct windows *w;
	const struct kvm_stats_desc *exits;
	int sock;
};

static void watch_in_child(struct __test_metadata *_metadata, void *arg)
{
	struct watcher *watcher = arg;
	const char *addr = window(watcher->w, VCPUS);

	expect_sigbus(_metadata, addr);
	stats_say(_metadata, watcher->sock);
	stats_hear(_metadata, watcher->sock);
	EXPECT_EQ(1UL, stats_mapped(addr, watcher->exits));
	expect_sigbus(_metadata, window(watcher->w, VCPUS + 1));
}

TEST_F(windows, in_another_process_show_vcpus_that_the_vmm_creates)
{
	struct watcher watcher = {
		.w = &self->w,
		.exits = stats_find_vcpu(self->w.f, STATS_USER_EXITS),
	};
	int sock[2];
	pid_t pid;

	ASSERT_NE(NULL, watcher.exits);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	watcher.sock = sock[1];
	pid = stats_fork(_metadata, watch_in_child, &watcher);
	close(sock[1]);
	stats_hear(_metadata, sock[0]);
	machine_grow(_metadata, &self->w.m);
	stats_say(_metadata, sock[0]);
	stats_wait(_metadata, pid);
	close(sock[0]);
}

/* A VMM in a process of its own, that maps its own statistics and executes. */
struct vmm {
	int kvm;
	int sock;		/* of the VMM */
};

FIXTURE(vmm)
{
	struct vmm vmm;
	int sock;
	pid_t pid;
};

static void vmm_main(struct __test_metadata *_metadata, void *arg)
{
	struct vmm *vmm = arg;
	struct guest guest = { };
	struct stats_file file;
	const char *map;

	guest_create(_metadata, vmm->kvm, &guest, 1);
	stats_load(_metadata, stats_get_fd(_metadata, guest.vm), &file);
	vcpu_exit_to_user(_metadata, &guest.vcpu[0], EXITS);
	ASSERT_EQ(0, stats_send_fd(vmm->sock, file.fd));
	ASSERT_EQ(0, stats_send_fd(vmm->sock, guest.vcpu[0].file.fd));
	if (stats_has_ext(&file)) {
		map = stats_mmap(_metadata, &file, stats_mmap_size(&file));
		expect_page(_metadata, &guest.vcpu[0].file,
			    stats_window(&file, map, 0));
	}
	stats_hear(_metadata, vmm->sock);
	/* All fds of KVM are closed by that, and the mapping goes. */
	execlp("true", "true", NULL);
	ASSERT_EQ(0, errno) TH_LOG("exec of true: %s", strerror(errno));
}

FIXTURE_SETUP(vmm)
{
	int sock[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	self->sock = sock[0];
	self->vmm.sock = sock[1];
	self->vmm.kvm = stats_open_kvm(_metadata);
	self->pid = stats_fork(_metadata, vmm_main, &self->vmm);
	close(sock[1]);
}

FIXTURE_TEARDOWN(vmm)
{
	close(self->sock);
	close(self->vmm.kvm);
}

TEST_F(vmm, executes_another_program_and_its_mapped_readers_go_on)
{
	struct stats_file vm, vcpu;
	const char *map;

	stats_load(_metadata, stats_recv_fd(self->sock), &vm);
	stats_load(_metadata, stats_recv_fd(self->sock), &vcpu);
	if (!stats_has_ext(&vm))
		SKIP(return, "no mapping of statistics on this kernel");
	map = stats_mmap(_metadata, &vm, stats_mmap_size(&vm));
	expect_page(_metadata, &vm, map);
	stats_expect_fdinfo(_metadata, vm.fd, "state", "alive");

	stats_say(_metadata, self->sock);
	stats_wait(_metadata, self->pid);
	stats_expect_fdinfo(_metadata, vm.fd, "state", "dead");
	run_other_vms(_metadata, self->vmm.kvm);
	expect_page(_metadata, &vm, map);
	expect_page(_metadata, &vcpu, stats_window(&vm, map, 0));
	EXPECT_EQ((__u64)EXITS, stats_read(_metadata, &vcpu, STATS_USER_EXITS));
	stats_unload(&vm);
	stats_unload(&vcpu);
}

TEST_HARNESS_MAIN
