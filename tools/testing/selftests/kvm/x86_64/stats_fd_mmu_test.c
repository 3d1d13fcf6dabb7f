// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics of x86's MMU: guests touch a known number of pages, and each page fault that
 * KVM takes and each page that it maps counts exactly. Expectations are the same for shadow
 * paging, nested paging, and nested paging by the TDP MMU.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "../../kselftest_harness.h"
#include "stats_fd_faults.h"
#include "stats_fd_long_mode.h"
#include "stats_fd_reasons.h"
#include "stats_fd_userfault.h"

#define PAGE			4096UL
#define HUGE			(2UL << 20)

/* The memory that the guest touches shares no page table with other memory. */
#define AREA			0x40000000UL
#define AREA_SLOT		1
#define AREA_PAGES		64UL

/* Guest addresses without a slot. */
#define NO_SLOT			0xc0000000UL

/* KVM maps this many pages around a faulting one. */
#define PREFETCH_PAGES		8

/* Pages touched in most tests. */
#define TOUCHED			40UL

/* 16-bit code: write to %esi addresses from %edi on, %ebx apart, or read with %ecx set. */
STATS_GUEST_CODE(touch_code,
		 ".code16\n"
		 "1:	jecxz 2f\n"
		 "	movb (%edi), %ah\n"
		 "	jmp 3f\n"
		 "2:	movb %al, (%edi)\n"
		 "3:	addl %ebx, %edi\n"
		 "	decl %esi\n"
		 "	jnz 1b\n"
		 "4:	outb %al, (%dx)\n"
		 "	jmp 4b\n"
		 ".code64\n");

enum touch { WRITE, READ };
enum mmu { SHADOW, NESTED, TDP };

/* Set a parameter of KVM's module, which other kernels may refuse to change. */
static bool set_parameter(const char *name, bool value)
{
	stats_write_file("/sys/module/kvm/parameters", name, value ? "Y" : "N");
	return stats_parameter_is_off("kvm", name) != value;
}

static void hugepages_dir(char dir[64], size_t size)
{
	snprintf(dir, 64, "/sys/kernel/mm/hugepages/hugepages-%zukB", size >> 10);
}

/* Return the host's number of huge pages of a size. */
static unsigned long hugepages(size_t size)
{
	char dir[64], line[STATS_LINE_SIZE];

	hugepages_dir(dir, size);
	return stats_read_line(dir, "nr_hugepages", line) ? atol(line) : 0;
}

/* Ask for huge pages. The host may provide fewer. */
static void set_hugepages(size_t size, unsigned long count)
{
	char dir[64], text[32];

	hugepages_dir(dir, size);
	snprintf(text, sizeof(text), "%lu", count);
	stats_write_file(dir, "nr_hugepages", text);
}

struct machine {
	enum mmu mmu;
	bool tdp_mmu_before;		/* the module's parameters */
	bool nx_before;
	struct guest guest;
	struct guest_vcpu *vcpu;	/* the first one */
	struct stats_file file;
	char *area;
	size_t area_size;
	size_t huge_size;		/* of the area's pages, 0 if small */
	unsigned long huge_before;	/* the host's number of them */
	char *tables;			/* of a guest in 64-bit mode */
	struct faults faults;		/* of the vCPU, as they were read last */
};

static __u64 vm_read(struct __test_metadata *_metadata,
		     const struct machine *m, const char *name)
{
	return stats_read(_metadata, &m->file, name);
}

/* Choose the MMU of the next VM. */
static bool choose_mmu(struct machine *m, bool tdp_mmu)
{
	m->tdp_mmu_before = !stats_parameter_is_off("kvm", "tdp_mmu");
	m->nx_before = !stats_parameter_is_off("kvm", "nx_huge_pages");
	m->mmu = tdp_mmu ? TDP : stats_arch_shadows() ? SHADOW : NESTED;
	return !(tdp_mmu && stats_arch_shadows()) && set_parameter("tdp_mmu", tdp_mmu);
}

static void machine_create(struct __test_metadata *_metadata, struct machine *m)
{
	/*
	 * Copy the pages that the process shares with its parent since fork(): a
	 * copy-on-write fault makes KVM retry the page faults that it handles meanwhile.
	 */
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, munlockall());

	guest_create(_metadata, &m->guest, 2);
	m->vcpu = &m->guest.vcpu[0];
	guest_put_code(_metadata, &m->guest, touch_code, touch_code_end);
	stats_load(_metadata, stats_get_fd(_metadata, m->guest.vm), &m->file);
}

static void machine_destroy(struct machine *m)
{
	if (m->area)
		munmap(m->area, m->area_size);
	if (m->huge_size)
		set_hugepages(m->huge_size, m->huge_before);
	stats_unload(&m->file);
	guest_destroy(&m->guest);
	set_parameter("tdp_mmu", m->tdp_mmu_before);
	set_parameter("nx_huge_pages", m->nx_before);
}

static void set_area_slot(struct __test_metadata *_metadata,
			  struct machine *m, size_t size, __u32 flags)
{
	guest_set_slot(_metadata, &m->guest, AREA_SLOT, flags, AREA, m->area, size);
}

/* Add untouched memory at AREA. */
static void add_area(struct __test_metadata *_metadata, struct machine *m,
		     size_t size, __u32 slot_flags)
{
	m->area_size = size;
	m->area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, m->area);
	ASSERT_EQ(0, madvise(m->area, size, MADV_NOHUGEPAGE));
	set_area_slot(_metadata, m, size, slot_flags);
}

#define MAP_HUGE_SIZE(size)	(__builtin_ctzl(size) << 26)

/* Add untouched huge pages at AREA. */
static void add_huge_area(struct __test_metadata *_metadata,
			  struct machine *m, size_t size, unsigned long count)
{
	m->huge_size = size;
	m->huge_before = hugepages(size);
	set_hugepages(size, count);
	ASSERT_LE(count, hugepages(size)) {
		TH_LOG("the host lacks %lu huge pages of %zu kB", count, size >> 10);
	}
	m->area_size = size * count;
	m->area = mmap(NULL, m->area_size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_SIZE(size), -1, 0);
	ASSERT_NE(MAP_FAILED, m->area) TH_LOG("%lu huge pages: %s", count, strerror(errno));
	set_area_slot(_metadata, m, m->area_size, 0);
}

static void start_at(struct __test_metadata *_metadata,
		     const struct guest_vcpu *v, __u64 pc, enum touch how,
		     __u64 gpa, __u64 count, __u64 stride)
{
	struct kvm_regs regs;

	stats_arch_init_vcpu(_metadata, v->fd, pc, count);
	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_REGS, &regs));
	regs.rcx = how;
	regs.rdi = gpa;
	regs.rbx = stride;
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_REGS, &regs));
}

static void start(struct __test_metadata *_metadata,
		  const struct guest_vcpu *v, enum touch how, __u64 gpa,
		  __u64 count, __u64 stride)
{
	start_at(_metadata, v, GUEST_CODE, how, gpa, count, stride);
}

/* Run the guest to the end. Return the number of MMIO exits to user space. */
static __u64 run_to_the_end(struct __test_metadata *_metadata, struct guest_vcpu *v)
{
	__u64 mmio = 0;

	for (;; mmio++) {
		ASSERT_EQ(0, ioctl(v->fd, KVM_RUN, 0)) TH_LOG("KVM_RUN: %s", strerror(errno));
		if (v->run->exit_reason != KVM_EXIT_MMIO)
			break;
	}
	ASSERT_EQ(KVM_EXIT_IO, (int)v->run->exit_reason);

	vcpu_complete_exit(_metadata, v);
	return mmio;
}

static __u64 touch(struct __test_metadata *_metadata, const struct machine *m,
		   enum touch how, __u64 gpa, __u64 count, __u64 stride)
{
	start(_metadata, m->vcpu, how, gpa, count, stride);
	return run_to_the_end(_metadata, m->vcpu);
}

static void write_pages(struct __test_metadata *_metadata,
			const struct machine *m, __u64 gpa, __u64 count)
{
	ASSERT_EQ(0UL, touch(_metadata, m, WRITE, gpa, count, PAGE));
}

static void read_pages(struct __test_metadata *_metadata,
		       const struct machine *m, __u64 gpa, __u64 count)
{
	ASSERT_EQ(0UL, touch(_metadata, m, READ, gpa, count, PAGE));
}

/* Let KVM map the page of the code. */
static void warm_up(struct __test_metadata *_metadata, struct machine *m)
{
	write_pages(_metadata, m, GUEST_MEMORY, 1);
	m->faults = faults_read(_metadata, m->vcpu);
}

#define EXPECT_FAULTS(...)						\
	expect_faults(_metadata, self->m.vcpu, &self->m.faults, &(struct faults){ __VA_ARGS__ })

/* Make the vCPU free the roots of its page tables, which it would keep. */
static void reset_mmu(struct __test_metadata *_metadata, const struct guest_vcpu *v)
{
	const __u64 write_protect = 0x10000;
	struct kvm_sregs sregs;

	ASSERT_EQ(0, ioctl(v->fd, KVM_GET_SREGS, &sregs));
	sregs.cr0 ^= write_protect;
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_SREGS, &sregs));
	sregs.cr0 ^= write_protect;
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_SREGS, &sregs));
}

static void expect_pages(struct __test_metadata *_metadata,
			 const struct machine *m, __u64 small, __u64 huge, __u64 giant)
{
	EXPECT_EQ(small, vm_read(_metadata, m, "pages_4k"));
	EXPECT_EQ(huge, vm_read(_metadata, m, "pages_2m"));
	EXPECT_EQ(giant, vm_read(_metadata, m, "pages_1g"));
	/* Newer kernels do not have the sum. */
	if (stats_find(&m->file, "lpages"))
		EXPECT_EQ(huge + giant, vm_read(_metadata, m, "lpages"));
}

/* If no statistic has their number, they are the created pages that were not zapped. */
static __u64 shadow_pages(struct __test_metadata *_metadata, const struct machine *m)
{
	if (stats_find(&m->file, "mmu_shadow_pages"))
		return vm_read(_metadata, m, "mmu_shadow_pages");
	return vm_read(_metadata, m, "mmu_cache_miss") -
	       vm_read(_metadata, m, "mmu_shadow_zapped");
}

/* Some kernels do not have the statistic. */
static void expect_mmu_shadow_pages(struct __test_metadata *_metadata,
				    const struct machine *m, __u64 pages)
{
	if (stats_find(&m->file, "mmu_shadow_pages"))
		EXPECT_EQ(pages, vm_read(_metadata, m, "mmu_shadow_pages"));
}

/* Shadow pages of a guest that ran only its code. The TDP MMU has no shadow pages. */
static __u64 base_shadow_pages(const struct machine *m)
{
	/* Four roots, one for each GB, or one; and one table for each lower level. */
	return m->mmu == SHADOW ? 4 + 1 : m->mmu == NESTED ? 1 + 3 : 0;
}

/* More shadow pages for AREA, without and with the table of its first 2 MB. */
static __u64 area_shadow_directories(const struct machine *m)
{
	return m->mmu == NESTED;
}

static __u64 area_shadow_pages(const struct machine *m)
{
	return area_shadow_directories(m) + (m->mmu != TDP);
}

FIXTURE(mmu)
{
	struct machine m;
};

FIXTURE_VARIANT(mmu)
{
	bool tdp_mmu;
};

FIXTURE_VARIANT_ADD(mmu, with_shadow_pages) { .tdp_mmu = false };
FIXTURE_VARIANT_ADD(mmu, with_tdp_mmu) { .tdp_mmu = true };

FIXTURE_SETUP(mmu)
{
	if (!choose_mmu(&self->m, variant->tdp_mmu))
		SKIP(return, "the test cannot choose this MMU");
	machine_create(_metadata, &self->m);
}

FIXTURE_TEARDOWN(mmu)
{
	machine_destroy(&self->m);
}

TEST_F(mmu, page_of_the_code_counts_as_one_fault_and_one_page)
{
	struct faults none = { };

	write_pages(_metadata, &self->m, GUEST_MEMORY, 1);
	expect_faults(_metadata, self->m.vcpu, &none, &(struct faults){ .fixed = 1 });
	expect_pages(_metadata, &self->m, 1, 0, 0);
	EXPECT_EQ(base_shadow_pages(&self->m), shadow_pages(_metadata, &self->m));
}

TEST_F(mmu, first_touch_of_a_page_counts_as_fixed_fault_and_page)
{
	add_area(_metadata, &self->m, AREA_PAGES * PAGE, 0);
	warm_up(_metadata, &self->m);

	write_pages(_metadata, &self->m, AREA, TOUCHED);
	EXPECT_FAULTS(.fixed = TOUCHED);
	expect_pages(_metadata, &self->m, 1 + TOUCHED, 0, 0);
	EXPECT_EQ(base_shadow_pages(&self->m) + area_shadow_pages(&self->m),
		  shadow_pages(_metadata, &self->m));

	write_pages(_metadata, &self->m, AREA, TOUCHED);
	EXPECT_FAULTS();
	expect_pages(_metadata, &self->m, 1 + TOUCHED, 0, 0);
}

TEST_F(mmu, prefetched_pages_count_as_pages_without_fault)
{
	__u64 mapped = self->m.mmu == TDP ? 1 : PREFETCH_PAGES;

	add_area(_metadata, &self->m, AREA_PAGES * PAGE, 0);
	memset(self->m.area, 1, self->m.area_size);
	warm_up(_metadata, &self->m);

	write_pages(_metadata, &self->m, AREA + (PREFETCH_PAGES - 1) * PAGE, 1);
	EXPECT_FAULTS(.fixed = 1);
	expect_pages(_metadata, &self->m, 1 + mapped, 0, 0);
}

TEST_F(mmu, pages_that_the_host_unmaps_no_longer_count)
{
	const __u64 unmapped = TOUCHED / 4;

	add_area(_metadata, &self->m, AREA_PAGES * PAGE, 0);
	warm_up(_metadata, &self->m);
	write_pages(_metadata, &self->m, AREA, TOUCHED);
	EXPECT_FAULTS(.fixed = TOUCHED);

	ASSERT_EQ(0, madvise(self->m.area, unmapped * PAGE, MADV_DONTNEED));
	expect_pages(_metadata, &self->m, 1 + TOUCHED - unmapped, 0, 0);

	write_pages(_metadata, &self->m, AREA, TOUCHED);
	EXPECT_FAULTS(.fixed = unmapped);
	expect_pages(_metadata, &self->m, 1 + TOUCHED, 0, 0);

	ASSERT_EQ(0, munmap(self->m.area, self->m.area_size));
	self->m.area = NULL;
	expect_pages(_metadata, &self->m, 1, 0, 0);
}

TEST_F(mmu, pages_of_a_deleted_slot_no_longer_count)
{
	const __u64 roots = self->m.mmu == SHADOW ? 4 : self->m.mmu == NESTED;
	__u64 created;

	add_area(_metadata, &self->m, AREA_PAGES * PAGE, 0);
	write_pages(_metadata, &self->m, AREA, TOUCHED);
	expect_pages(_metadata, &self->m, 1 + TOUCHED, 0, 0);
	created = vm_read(_metadata, &self->m, "mmu_cache_miss");

	set_area_slot(_metadata, &self->m, 0, 0);
	expect_pages(_metadata, &self->m, 0, 0, 0);
	EXPECT_EQ(created, vm_read(_metadata, &self->m, "mmu_shadow_zapped"));
	/* The vCPU keeps its roots until it runs or its MMU is reset, which zaps them again. */
	expect_mmu_shadow_pages(_metadata, &self->m, roots);
	reset_mmu(_metadata, self->m.vcpu);
	expect_mmu_shadow_pages(_metadata, &self->m, 0);
	EXPECT_EQ(created + roots, vm_read(_metadata, &self->m, "mmu_shadow_zapped"));

	warm_up(_metadata, &self->m);
	expect_pages(_metadata, &self->m, 1, 0, 0);
	expect_mmu_shadow_pages(_metadata, &self->m, base_shadow_pages(&self->m));
	EXPECT_EQ(created + base_shadow_pages(&self->m),
		  vm_read(_metadata, &self->m, "mmu_cache_miss"));
}

TEST_F(mmu, huge_pages_count_as_huge_pages)
{
	const __u64 count = 4;

	add_huge_area(_metadata, &self->m, HUGE, count);
	warm_up(_metadata, &self->m);

	touch(_metadata, &self->m, WRITE, AREA, count, HUGE);
	EXPECT_FAULTS(.fixed = count);
	expect_pages(_metadata, &self->m, 1, count, 0);
	/* They need no table of the lowest level. */
	EXPECT_EQ(base_shadow_pages(&self->m) + area_shadow_directories(&self->m),
		  shadow_pages(_metadata, &self->m));

	write_pages(_metadata, &self->m, AREA, count * HUGE / PAGE);
	EXPECT_FAULTS();

	ASSERT_EQ(0, munmap(self->m.area, self->m.area_size));
	self->m.area = NULL;
	expect_pages(_metadata, &self->m, 1, 0, 0);
}

/* Newer TDP MMUs map all small pages of a huge one that they split, and fix faults fast. */
static bool has_new_tdp_mmu(const struct machine *m)
{
	return m->mmu == TDP;
}

TEST_F(mmu, executed_huge_page_counts_as_split)
{
	/* The page of the code, the last one that KVM maps at once. */
	const __u64 page = PREFETCH_PAGES - 1;
	__u64 pages = self->m.mmu != TDP ? PREFETCH_PAGES :
		      has_new_tdp_mmu(&self->m) ? HUGE / PAGE : 1;
	struct guest_vcpu *v = self->m.vcpu;

	ASSERT_TRUE(set_parameter("nx_huge_pages", true));
	add_huge_area(_metadata, &self->m, HUGE, 1);
	memcpy(self->m.area + page * PAGE, touch_code, touch_code_end - touch_code);
	warm_up(_metadata, &self->m);
	write_pages(_metadata, &self->m, AREA, 1);
	expect_pages(_metadata, &self->m, 1, 1, 0);
	EXPECT_EQ(0UL, vm_read(_metadata, &self->m, "nx_lpage_splits"));

	/* Run the code in the area, which writes to the page of the other code. */
	start_at(_metadata, v, AREA + page * PAGE, WRITE, GUEST_MEMORY, 1, 0);
	run_to_the_end(_metadata, v);
	expect_pages(_metadata, &self->m, 1 + pages, 0, 0);
	EXPECT_EQ(1UL, vm_read(_metadata, &self->m, "nx_lpage_splits"));

	set_area_slot(_metadata, &self->m, 0, 0);
	EXPECT_EQ(0UL, vm_read(_metadata, &self->m, "nx_lpage_splits"));
}

/* Intel's PML logs pages when the CPU sets their dirty bit, without an exit. */
static bool cpu_logs_dirty_pages(void)
{
	return !stats_arch_svm() && !stats_parameter_is_off("kvm_intel", "pml");
}

TEST_F(mmu, huge_pages_written_while_dirty_logged_count_as_small_pages)
{
	const __u64 count = 4;
	__u64 huge = self->m.mmu == TDP ? 0 : count - 1;
	bool eager = has_new_tdp_mmu(&self->m);
	/* Pages that the CPU logs are writable as soon as they are small. */
	__u64 faults = eager && cpu_logs_dirty_pages() ? 0 : 3;

	add_huge_area(_metadata, &self->m, HUGE, count);
	warm_up(_metadata, &self->m);
	touch(_metadata, &self->m, WRITE, AREA, count, HUGE);
	expect_pages(_metadata, &self->m, 1, count, 0);
	self->m.faults = faults_read(_metadata, self->m.vcpu);

	/* Write to three small pages of the first huge one. */
	set_area_slot(_metadata, &self->m, self->m.area_size, KVM_MEM_LOG_DIRTY_PAGES);
	write_pages(_metadata, &self->m, AREA, 3);
	EXPECT_FAULTS(.fixed = faults, .fast = eager ? faults : 0);
	expect_pages(_metadata, &self->m, 1 + (eager ? count * HUGE / PAGE : 3),
		     eager ? 0 : count - 1, 0);

	/* KVM unmaps pages that can be huge again. Newer kernels make them huge in place. */
	set_area_slot(_metadata, &self->m, self->m.area_size, 0);
	if (eager && vm_read(_metadata, &self->m, "pages_2m"))
		huge = count;
	expect_pages(_metadata, &self->m, 1, huge, 0);
	touch(_metadata, &self->m, WRITE, AREA, count, HUGE);
	expect_pages(_metadata, &self->m, 1, count, 0);
}

#define PML_ENTRIES		512UL
#define PML_ATTEMPTS		20

/* Each exit empties the log: without another one, it fills once. */
TEST_F(mmu, log_of_dirty_pages_that_the_cpu_fills_counts_for_pml_full)
{
	const __u64 pages = PML_ENTRIES + AREA_PAGES;
	const __u64 expected = cpu_logs_dirty_pages();
	__u64 before, moved = 0, dirty[(PML_ENTRIES + AREA_PAGES) / 64];
	struct guest_vcpu *v = self->m.vcpu;
	int i;

	add_area(_metadata, &self->m, pages * PAGE, 0);
	warm_up(_metadata, &self->m);
	write_pages(_metadata, &self->m, AREA, pages);
	set_area_slot(_metadata, &self->m, self->m.area_size, KVM_MEM_LOG_DIRTY_PAGES);
	for (i = 0; i < PML_ATTEMPTS; i++) {
		before = exits_by(_metadata, v, "pml_full");
		write_pages(_metadata, &self->m, AREA, pages);
		moved = exits_by(_metadata, v, "pml_full") - before;
		if (moved == expected)
			break;
		ASSERT_EQ(0, guest_get_dirty_log(&self->m.guest, AREA_SLOT, dirty));
	}
	EXPECT_EQ(expected, moved) TH_LOG("in each of %d attempts", PML_ATTEMPTS);
}

TEST_F(mmu, write_to_a_dirty_logged_page_counts_as_fast_fault)
{
	__u64 dirty[AREA_PAGES / 64];
	const __u64 fixed = cpu_logs_dirty_pages() ? 0 : TOUCHED;
	const __u64 fast = self->m.mmu != TDP || has_new_tdp_mmu(&self->m) ? fixed : 0;

	add_area(_metadata, &self->m, AREA_PAGES * PAGE, 0);
	warm_up(_metadata, &self->m);
	write_pages(_metadata, &self->m, AREA, TOUCHED);
	EXPECT_FAULTS(.fixed = TOUCHED);

	set_area_slot(_metadata, &self->m, self->m.area_size, KVM_MEM_LOG_DIRTY_PAGES);
	write_pages(_metadata, &self->m, AREA, TOUCHED);
	EXPECT_FAULTS(.fixed = fixed, .fast = fast);

	ASSERT_EQ(0, guest_get_dirty_log(&self->m.guest, AREA_SLOT, dirty));
	EXPECT_EQ((1UL << TOUCHED) - 1, dirty[0]);
	write_pages(_metadata, &self->m, AREA, TOUCHED);
	EXPECT_FAULTS(.fixed = fixed, .fast = fast);

	write_pages(_metadata, &self->m, AREA, TOUCHED);
	EXPECT_FAULTS();
	expect_pages(_metadata, &self->m, 1 + TOUCHED, 0, 0);
}

TEST_F(mmu, accesses_to_an_mmio_page_count_as_one_fault_and_one_spte)
{
	const __u64 count = 1000, pages = 10;

	warm_up(_metadata, &self->m);

	EXPECT_EQ(count, touch(_metadata, &self->m, WRITE, NO_SLOT, count, 0));
	EXPECT_FAULTS(.emulate = 1, .mmio_spte_created = 1);
	EXPECT_EQ(count, touch(_metadata, &self->m, READ, NO_SLOT, count, 0));
	EXPECT_FAULTS();

	EXPECT_EQ(pages, touch(_metadata, &self->m, WRITE, NO_SLOT + PAGE, pages, PAGE));
	EXPECT_FAULTS(.emulate = pages, .mmio_spte_created = pages);
	/* No page was mapped. */
	expect_pages(_metadata, &self->m, 1, 0, 0);
}

TEST_F(mmu, write_to_the_page_of_zeros_counts_as_retried_and_fixed)
{
	add_area(_metadata, &self->m, AREA_PAGES * PAGE, 0);
	warm_up(_metadata, &self->m);

	/* For a read, the host maps the page of zeros. */
	read_pages(_metadata, &self->m, AREA, 1);
	EXPECT_FAULTS(.fixed = 1);
	expect_pages(_metadata, &self->m, 1 + 1, 0, 0);

	/* For a write, the host replaces it, which invalidates the page that KVM maps. */
	write_pages(_metadata, &self->m, AREA, 1);
	EXPECT_FAULTS(.other = 1, .fixed = 1);
	expect_pages(_metadata, &self->m, 1 + 1, 0, 0);
}

/* KVM may keep so many shadow pages, and needs more. */
#define FEW_SHADOW_PAGES	64UL
#define MANY_AREAS		200UL

/* Expect that existing shadow pages were created and not zapped. */
static void expect_shadow_pages(struct __test_metadata *_metadata, const struct machine *m)
{
	EXPECT_EQ(shadow_pages(_metadata, m),
		  vm_read(_metadata, m, "mmu_cache_miss") -
		  vm_read(_metadata, m, "mmu_shadow_zapped"));
}

/* Each 2 MB of the area need a shadow page of their own. */
TEST_F(mmu, shadow_pages_that_make_room_for_others_count_as_recycled)
{
	__u64 recycled;

	ASSERT_EQ(0, ioctl(self->m.guest.vm, KVM_SET_NR_MMU_PAGES, FEW_SHADOW_PAGES));
	add_area(_metadata, &self->m, MANY_AREAS * HUGE, 0);
	warm_up(_metadata, &self->m);
	expect_shadow_pages(_metadata, &self->m);
	EXPECT_EQ(0UL, vm_read(_metadata, &self->m, "mmu_shadow_zapped"));

	ASSERT_EQ(0UL, touch(_metadata, &self->m, WRITE, AREA, MANY_AREAS, HUGE));
	expect_shadow_pages(_metadata, &self->m);
	recycled = vm_read(_metadata, &self->m, "mmu_recycled");
	EXPECT_EQ(vm_read(_metadata, &self->m, "mmu_shadow_zapped"), recycled);
	if (self->m.mmu != TDP) {
		EXPECT_LT(MANY_AREAS - FEW_SHADOW_PAGES, recycled);
		EXPECT_GE(FEW_SHADOW_PAGES, shadow_pages(_metadata, &self->m));
	}
}

/*
 * A thread whose vCPU writes to one page. The start and end of a thread change mappings, which
 * makes KVM retry page faults: both happen while no vCPU runs, before and after @gate.
 */
struct writer {
	struct __test_metadata *metadata;
	struct guest_vcpu *vcpu;
	pthread_barrier_t *gate;
	pthread_t thread;
};

static void *run_writer(void *arg)
{
	struct writer *w = arg;

	pthread_barrier_wait(w->gate);
	run_to_the_end(w->metadata, w->vcpu);
	pthread_barrier_wait(w->gate);
	return NULL;
}

static void start_writers(struct __test_metadata *_metadata,
			  struct machine *m, struct writer *writers,
			  int count, __u64 address, pthread_barrier_t *gate)
{
	struct writer *w;
	int i;

	ASSERT_EQ(0, pthread_barrier_init(gate, NULL, count + 1));
	for (i = 0; i < count; i++) {
		w = &writers[i];
		w->metadata = _metadata;
		w->vcpu = &m->guest.vcpu[i];
		w->gate = gate;
		start(_metadata, w->vcpu, WRITE, address, 1, 0);
		ASSERT_EQ(0, pthread_create(&w->thread, NULL, run_writer, w));
	}
	pthread_barrier_wait(gate);
}

static void wait_for_writers(struct __test_metadata *_metadata,
			     const struct writer *writers, int count, pthread_barrier_t *gate)
{
	int i;

	pthread_barrier_wait(gate);
	for (i = 0; i < count; i++)
		ASSERT_EQ(0, pthread_join(writers[i].thread, NULL));
}

#define MOST_RACES		10

/* Both vCPUs fault before the page arrives. Returns the sums of their outcomes. */
static struct faults write_to_new_page(struct __test_metadata *_metadata,
				       struct machine *m, __u64 page)
{
	struct faults before[2], after, sum = {};
	struct writer writers[2];
	pthread_barrier_t gate;
	struct userfault u;
	int i;

	for (i = 0; i < 2; i++)
		before[i] = faults_read(_metadata, &m->guest.vcpu[i]);
	userfault_register(_metadata, &u, m->area + page * PAGE, PAGE);
	start_writers(_metadata, m, writers, 2, AREA + page * PAGE, &gate);
	userfault_wait(_metadata, &u);
	userfault_wait(_metadata, &u);
	userfault_resolve(_metadata, &m->guest, &u);
	wait_for_writers(_metadata, writers, 2, &gate);
	close(u.fd);
	for (i = 0; i < 2; i++) {
		after = faults_read(_metadata, &m->guest.vcpu[i]);
		sum.fixed += after.fixed - before[i].fixed;
		sum.spurious += after.spurious - before[i].spurious;
		sum.other += after.other - before[i].other;
	}
	return sum;
}

/*
 * Newer kernels map a page under a lock for reading. If both vCPUs then write the entry at the
 * same time, one of them fails and retries: repeat with another page.
 */
TEST_F(mmu, fault_of_two_vcpus_counts_as_fixed_once_and_as_spurious_once)
{
	struct guest_vcpu *other = &self->m.guest.vcpu[1];
	struct faults sum;
	__u64 page = 0;

	add_area(_metadata, &self->m, AREA_PAGES * PAGE, 0);
	warm_up(_metadata, &self->m);
	start(_metadata, other, WRITE, GUEST_MEMORY, 1, 0);
	run_to_the_end(_metadata, other);

	do {
		sum = write_to_new_page(_metadata, &self->m, page++);
		EXPECT_EQ(1UL, sum.fixed);
		EXPECT_EQ(1UL, sum.spurious + sum.other);
	} while (!sum.spurious && page < MOST_RACES);
	EXPECT_EQ(1UL, sum.spurious);
	expect_pages(_metadata, &self->m, 1 + page, 0, 0);
}

TEST_F(mmu, fault_whose_page_arrives_asynchronously_counts_as_fixed_once)
{
	pthread_barrier_t gate;
	struct writer writer;
	struct userfault u;

	/* With an interrupt controller, KVM lets the vCPU sleep until the page arrives. */
	machine_destroy(&self->m);
	self->m = (struct machine){ .guest.irqchip = true };
	ASSERT_TRUE(choose_mmu(&self->m, variant->tdp_mmu));
	machine_create(_metadata, &self->m);
	add_area(_metadata, &self->m, AREA_PAGES * PAGE, 0);
	warm_up(_metadata, &self->m);

	/* KVM maps the page when it arrives: the guest does not fault again. */
	userfault_register(_metadata, &u, self->m.area, self->m.area_size);
	start_writers(_metadata, &self->m, &writer, 1, AREA, &gate);
	userfault_wait(_metadata, &u);
	userfault_resolve(_metadata, &self->m.guest, &u);
	wait_for_writers(_metadata, &writer, 1, &gate);
	EXPECT_FAULTS(.fixed = 1);
	expect_pages(_metadata, &self->m, 1 + 1, 0, 0);
}

#define TABLES_SLOT		2

/* Let the guest use 64-bit mode, where KVM may have to shadow its page tables. */
static void start_paging(struct __test_metadata *_metadata, struct machine *m)
{
	m->tables = lm_create_tables(_metadata, &m->guest, TABLES_SLOT);
	lm_init_vcpu(_metadata, m->vcpu->fd, 0);
	add_area(_metadata, m, AREA_PAGES * PAGE, 0);
}

static void lm_write_pages(struct __test_metadata *_metadata,
			   const struct machine *m, __u64 gva, __u64 count)
{
	ASSERT_EQ(LM_PORT_DONE, lm_write(_metadata, m->vcpu, gva, count, PAGE));
}

TEST_F(mmu, max_mmu_rmap_size_is_the_most_other_addresses_of_a_page)
{
	bool shadow = self->m.mmu == SHADOW;
	__u64 before, i;

	start_paging(_metadata, &self->m);
	/* KVM does not prefetch addresses that are in different groups. */
	for (i = 0; i < TOUCHED; i++)
		lm_map(self->m.tables, i * PREFETCH_PAGES, AREA);
	lm_write_pages(_metadata, &self->m, lm_gpa(LM_FREE), 1);
	/* Without shadow paging, this maps the guest's page tables. */
	if (!shadow)
		lm_write_pages(_metadata, &self->m, LM_GVA, 1);
	before = vm_read(_metadata, &self->m, "pages_4k");
	self->m.faults = faults_read(_metadata, self->m.vcpu);

	for (i = 0; i < TOUCHED; i++) {
		lm_write_pages(_metadata, &self->m, LM_GVA + i * PREFETCH_PAGES * PAGE, 1);
		EXPECT_EQ(shadow ? i : 0,
			  vm_read(_metadata, &self->m, "max_mmu_rmap_size"));
	}
	EXPECT_FAULTS(.fixed = shadow ? TOUCHED : 0);
	EXPECT_EQ(before + (shadow ? TOUCHED : 0), vm_read(_metadata, &self->m, "pages_4k"));

	/* All addresses are unmapped with the page. The peak stays. */
	ASSERT_EQ(0, madvise(self->m.area, PAGE, MADV_DONTNEED));
	EXPECT_EQ(before - (shadow ? 0 : 1), vm_read(_metadata, &self->m, "pages_4k"));
	lm_map(self->m.tables, i * PREFETCH_PAGES, AREA + PAGE);
	lm_write_pages(_metadata, &self->m, LM_GVA + i * PREFETCH_PAGES * PAGE, 1);
	EXPECT_EQ(shadow ? TOUCHED - 1 : 0,
		  vm_read(_metadata, &self->m, "max_mmu_rmap_size"));
}

/* KVM has so many lists of shadow pages, by a hash of the guest's page number. */
#define SHADOW_PAGE_LISTS_SHIFT	12
#define COLLIDING		6UL
#define COLLIDING_SLOT		3

static __u64 shadow_page_list(__u64 gpa)
{
	return gpa / PAGE * 0x61c8864680b583ebUL >>
	       (64 - SHADOW_PAGE_LISTS_SHIFT);
}

/* Return the next address in the same list that is also aligned to 2 MB. */
static __u64 next_colliding(__u64 gpa)
{
	__u64 list = shadow_page_list(gpa);

	do {
		gpa += HUGE;
	} while (shadow_page_list(gpa) != list);
	return gpa;
}

/*
 * The guest has tables, each at the beginning of 2 MB: KVM's table that shadows it, or that maps
 * these 2 MB, has the same page number.
 */
TEST_F(mmu, max_mmu_page_hash_collisions_is_the_most_others_in_a_list)
{
	struct machine *m = &self->m;
	__u64 *tables, gpa = AREA + HUGE, i;

	start_paging(_metadata, &self->m);
	/* The first shadow pages are in different lists. */
	lm_write_pages(_metadata, m, lm_gpa(LM_FREE), 1);
	ASSERT_EQ(0UL, vm_read(_metadata, m, "max_mmu_page_hash_collisions"));

	/* The last table is in another list. */
	for (i = 0; i <= COLLIDING; i++) {
		tables = guest_add_memory(_metadata, &m->guest,
					  COLLIDING_SLOT + i, 0, gpa, PAGE);
		tables[0] = AREA | LM_PTE_FLAGS;
		lm_set_pte(self->m.tables, LM_PD, i, gpa | LM_PTE_FLAGS);
		gpa = i + 1 < COLLIDING ? next_colliding(gpa) : gpa + HUGE;
	}
	for (i = 0; i <= COLLIDING; i++) {
		lm_write_pages(_metadata, m, LM_GVA + i * HUGE, 1);
		EXPECT_EQ(m->mmu == TDP ? 0 : i < COLLIDING ? i : COLLIDING - 1,
			  vm_read(_metadata, m, "max_mmu_page_hash_collisions"));
	}
}

TEST_F(mmu, page_fault_for_the_guest_counts_as_pf_guest_if_kvm_shadows)
{
	const __u64 count = 10;
	__u64 pages, i;

	start_paging(_metadata, &self->m);
	/* This maps the handler's code and stack, and all tables. */
	ASSERT_EQ(LM_PORT_FAULT, lm_write(_metadata, self->m.vcpu, LM_GVA, 1, 0));
	pages = vm_read(_metadata, &self->m, "pages_4k");
	self->m.faults = faults_read(_metadata, self->m.vcpu);

	for (i = 0; i < count; i++) {
		ASSERT_EQ(LM_PORT_FAULT,
			  lm_write(_metadata, self->m.vcpu, LM_GVA + i * PAGE, 1, 0));
	}
	/* With nested paging, KVM does not see them. */
	EXPECT_FAULTS(.guest = self->m.mmu == SHADOW ? count : 0);
	EXPECT_EQ(pages, vm_read(_metadata, &self->m, "pages_4k"));
}

TEST_F(mmu, third_write_to_a_page_table_counts_as_flood_and_zaps_its_shadow)
{
	bool shadow = self->m.mmu == SHADOW;
	__u64 pages, zapped, missed;

	start_paging(_metadata, &self->m);
	lm_map(self->m.tables, 0, AREA);
	lm_write_pages(_metadata, &self->m, LM_GVA, 1);
	lm_write_pages(_metadata, &self->m, lm_gpa(LM_FREE), 1);
	pages = shadow_pages(_metadata, &self->m);
	zapped = vm_read(_metadata, &self->m, "mmu_shadow_zapped");
	missed = vm_read(_metadata, &self->m, "mmu_cache_miss");

	ASSERT_EQ(LM_PORT_DONE, lm_write(_metadata, self->m.vcpu, lm_gpa(LM_PD) + 8, 3, 8));
	EXPECT_EQ(shadow ? 3UL : 0UL, vm_read(_metadata, &self->m, "mmu_pte_write"));
	EXPECT_EQ(shadow ? 1UL : 0UL, vm_read(_metadata, &self->m, "mmu_flooded"));
	EXPECT_EQ(zapped + shadow, vm_read(_metadata, &self->m, "mmu_shadow_zapped"));
	EXPECT_EQ(pages - shadow, shadow_pages(_metadata, &self->m));

	/* KVM has kept the lower table, and finds it again. */
	lm_write_pages(_metadata, &self->m, LM_GVA, 1);
	EXPECT_EQ(missed + shadow, vm_read(_metadata, &self->m, "mmu_cache_miss"));
	EXPECT_EQ(pages, shadow_pages(_metadata, &self->m));
}

/* Write a page table entry. */
STATS_GUEST_CODE(write_entry,
		 "	movq %rax, (%rdi)\n"
		 "1:	outb %al, (%dx)\n"
		 "	jmp 1b\n");
#define WRITE_ENTRY		(GUEST_CODE + 0x100)

/* The guest writes the directory entry of LM_GVA, with the same value. */
TEST_F(mmu, each_write_to_a_directory_entry_counts_as_zapped_entry)
{
	bool shadow = self->m.mmu == SHADOW;
	struct kvm_regs regs = {
		.rip = WRITE_ENTRY,
		.rflags = STATS_RFLAGS,
		.rax = lm_gpa(LM_PT) | LM_PTE_FLAGS,
		.rdi = lm_gpa(LM_PD),
		.rdx = LM_PORT_DONE,
	};
	__u64 i, zapped;

	start_paging(_metadata, &self->m);
	guest_put_code_at(_metadata, &self->m.guest, WRITE_ENTRY, write_entry, write_entry_end);
	lm_map(self->m.tables, 0, AREA);
	zapped = vm_read(_metadata, &self->m, "mmu_pde_zapped");
	for (i = 0; i < TOUCHED; i++) {
		/* Map it again: the third write in a row would zap the whole shadow. */
		lm_write_pages(_metadata, &self->m, LM_GVA, 1);
		EXPECT_EQ(zapped + (shadow ? i : 0),
			  vm_read(_metadata, &self->m, "mmu_pde_zapped"));
		lm_set_regs(_metadata, self->m.vcpu, &regs);
		ASSERT_EQ(LM_PORT_DONE, lm_run(_metadata, self->m.vcpu));
	}
	EXPECT_EQ(zapped + (shadow ? TOUCHED : 0),
		  vm_read(_metadata, &self->m, "mmu_pde_zapped"));
	EXPECT_EQ(0UL, vm_read(_metadata, &self->m, "mmu_flooded"));
}

TEST_F(mmu, write_to_a_lowest_level_table_counts_as_unsync)
{
	bool shadow = self->m.mmu == SHADOW;
	__u64 before;

	start_paging(_metadata, &self->m);
	lm_map(self->m.tables, 0, AREA);
	lm_write_pages(_metadata, &self->m, LM_GVA, 1);
	lm_write_pages(_metadata, &self->m, lm_gpa(LM_FREE), 1);
	self->m.faults = faults_read(_metadata, self->m.vcpu);
	/* Another table may be unsync, which KVM has prefetched. */
	before = vm_read(_metadata, &self->m, "mmu_unsync");

	ASSERT_EQ(LM_PORT_DONE, lm_write(_metadata, self->m.vcpu, lm_gpa(LM_PT) + 8, 10, 8));
	EXPECT_FAULTS(.fixed = shadow ? 1 : 0);
	EXPECT_EQ(before + shadow, vm_read(_metadata, &self->m, "mmu_unsync"));

	set_area_slot(_metadata, &self->m, 0, 0);
	EXPECT_EQ(0UL, vm_read(_metadata, &self->m, "mmu_unsync"));
}

TEST_HARNESS_MAIN
