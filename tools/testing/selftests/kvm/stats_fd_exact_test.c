// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics are exact: no update is lost when two CPUs count at the same time, and no
 * reader sees parts of two values, wherever its buffer and offset are.
 */
#define _GNU_SOURCE
#include "../kselftest_harness.h"
#include "stats_fd_sleep.h"

/* Two CPUs race for this time, or longer if they have not met yet. */
#define RACE_NS			3000000000ULL

#define PAGES			200

/* One of two threads that let KVM count the same statistic, each on its own CPU. */
struct racer {
	struct race *race;
	struct guest_vcpu *vcpu;
	int cpu;
	long (*act)(struct racer *r);	/* returns the number of requests */
	void *memory;
	__u64 addr;			/* the memory's in the guest */
	__u32 slot;
	int acts;
	__u64 counted;
	long error;
};

struct race {
	struct guest guest;
	struct stats_file file;
	bool over;
	int overlaps;
	struct racer racers[2];
};

static int racer_acts(const struct racer *r)
{
	return __atomic_load_n(&r->acts, __ATOMIC_ACQUIRE);
}

static void racer_act(struct racer *r)
{
	long counted = r->act(r);

	if (counted < 0)
		r->error = counted;
	else
		r->counted += counted;
	__atomic_add_fetch(&r->acts, 1, __ATOMIC_RELEASE);
}

/* The first racer ends the race when it has met the other one. */
static void race_first(struct race *race)
{
	struct racer *r = race->racers;
	__u64 end = 0;
	int before;

	do {
		before = racer_acts(r + 1);
		racer_act(r);
		if (racer_acts(r + 1) > before + 1)
			race->overlaps++;
		end = end ?: stats_now_ns() + RACE_NS;
	} while (!r->error && (stats_now_ns() < end || !race->overlaps));
	__atomic_store_n(&race->over, true, __ATOMIC_RELEASE);
}

static void *racer_run(void *arg)
{
	struct racer *r = arg;

	r->error = stay_on_cpu(r->cpu);
	if (r == r->race->racers)
		race_first(r->race);
	while (!__atomic_load_n(&r->race->over, __ATOMIC_ACQUIRE))
		racer_act(r);
	return NULL;
}

/* Let the guest write to its pages, then unmap one after the other. */
static long unmap_pages(struct racer *r)
{
	size_t size = r->race->guest.page;
	int i;

	if (ioctl(r->vcpu->fd, KVM_RUN, 0) < 0)
		return -errno;
	for (i = 0; i < PAGES; i++) {
		if (madvise(r->memory + i * size, size, MADV_DONTNEED))
			return -errno;
	}
	return PAGES * STATS_UNMAP_REQUESTS;
}

/* Let the guest write to a page, and read the dirty log. */
static long log_dirty_page(struct racer *r)
{
	__u64 bitmap = 0;

	if (ioctl(r->vcpu->fd, KVM_RUN, 0) < 0)
		return -errno;
	return guest_get_dirty_log(&r->race->guest, r->slot, &bitmap) ?:
	       (bitmap == 1 ? 1 : -EBADE);
}

static void race_create(struct __test_metadata *_metadata, struct race *race)
{
	struct guest *g = &race->guest;
	struct racer *r;
	int i, cpu = 0;
	cpu_set_t cpus;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(cpus), &cpus));
	guest_create(_metadata, g, 2);
	guest_put_code(_metadata, g, stats_touch, stats_touch_end);
	stats_load(_metadata, stats_get_fd(_metadata, g->vm), &race->file);
	for (i = 0; i < 2; i++) {
		r = &race->racers[i];
		r->race = race;
		r->vcpu = &g->vcpu[i];
		while (!CPU_ISSET(cpu, &cpus))
			cpu++;
		r->cpu = cpu++;
		r->slot = 1 + i;
		r->addr = STATS_DATA + i * PAGES * g->page;
	}
}

static void racer_create(struct __test_metadata *_metadata, struct racer *r,
			 long (*act)(struct racer *r), int pages, __u32 flags)
{
	struct guest *g = &r->race->guest;

	r->act = act;
	r->memory = guest_add_memory(_metadata, g, r->slot, flags, r->addr, pages * g->page);
	stats_arch_init_vcpu(_metadata, r->vcpu->fd, GUEST_CODE, pages);
	stats_arch_set_data(_metadata, r->vcpu->fd, r->addr);
}

static void race_run(struct __test_metadata *_metadata, struct race *race)
{
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, racer_run, &race->racers[i]));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, race->racers[i].error);
}

/*
 * Unmapping requests a flush under the lock of KVM's MMU, a dirty log under the lock of
 * the memory slots. The logged page is mapped before, so that its table stays.
 */
TEST(race_of_two_cpus_loses_no_flush_request)
{
	struct race all = { }, *race = &all;
	struct racer *r = race->racers;
	__u64 before;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "there is one CPU");
	if (!STATS_LOG_REQUESTS)
		SKIP(return, "a dirty log makes no request");
	race_create(_metadata, race);
	racer_create(_metadata, &r[0], unmap_pages, PAGES, 0);
	racer_create(_metadata, &r[1], log_dirty_page, 1, KVM_MEM_LOG_DIRTY_PAGES);
	ASSERT_LT(0, log_dirty_page(&r[1]));

	before = stats_read(_metadata, &race->file, "remote_tlb_flush_requests");
	race_run(_metadata, race);
	EXPECT_EQ(r[0].counted + r[1].counted,
		  stats_read(_metadata, &race->file, "remote_tlb_flush_requests") - before);
}

#define MISALIGNMENTS		8

/* Read the value at @pos, from @skip bytes before it on, into a misaligned buffer. */
static __u64 read_value_from(struct __test_metadata *_metadata, int fd, size_t shift,
			     size_t skip, off_t pos)
{
	char bytes[2 * MISALIGNMENTS + sizeof(__u64)];
	__u64 value;

	ASSERT_EQ((ssize_t)(skip + sizeof(value)),
		  pread(fd, bytes + shift, skip + sizeof(value), pos - skip));
	memcpy(&value, bytes + shift + skip, sizeof(value));
	return value;
}

/* When a counter carries to the next byte, parts of two values would be a wrong value. */
#define COUNTER_READS		5000

TEST(reader_never_sees_a_running_counter_decrease)
{
	__u64 last = 0, value, first;
	struct guest guest = { };
	struct runner runner;
	size_t shift, skip;
	int i, fd;
	off_t pos;

	guest_create(_metadata, &guest, 1);
	fd = guest.vcpu[0].file.fd;
	pos = stats_offset(_metadata, &guest.vcpu[0].file, STATS_EXITS);
	runner_start(_metadata, &runner, &guest.vcpu[0], UINT_MAX, 1);
	first = read_value_from(_metadata, fd, 0, 0, pos);
	for (i = 0; i < COUNTER_READS; i++) {
		for (shift = 0; shift < MISALIGNMENTS; shift++) {
			for (skip = 0; skip < MISALIGNMENTS; skip++) {
				value = read_value_from(_metadata, fd, shift, skip, pos);
				ASSERT_LE(last, value) {
					TH_LOG("buffer + %zu, offset - %zu", shift, skip);
				}
				last = value;
			}
		}
	}
	/* There was a carry. */
	EXPECT_LT(first + 256, last);
	runner_stop(_metadata, &runner);
}

#if ULONG_MAX == UINT_MAX
/*
 * A 32-bit host updates and loads a value in two halves. When a statistic passes a multiple
 * of 2^32, a reader can see it 2^32 too small or too large, and has to read again. A vCPU's
 * sleep reaches 2^32 ns in 4.3 seconds.
 */
#define CARRY			(UINT_MAX + 1ULL)
#define ALMOST_CARRY_MS		4200

/* Short sleeps that pass 2^32, and reads of one value. */
#define MOST_HALTS		10000
#define MOST_READS		1000000

struct watcher {
	int fd;
	off_t pos;
	bool over;
	__u64 last;
	int again;
	bool wrong;
};

static bool is_next(const struct watcher *w, __u64 value)
{
	return value >= w->last && value - w->last < CARRY / 2;
}

static void *watch(void *arg)
{
	struct watcher *w = arg;
	__u64 value = 0;
	int i;

	while (!w->wrong && !__atomic_load_n(&w->over, __ATOMIC_ACQUIRE)) {
		for (i = 0; i < MOST_READS; i++) {
			if (pread(w->fd, &value, sizeof(value), w->pos) !=
			    sizeof(value) || is_next(w, value))
				break;
			/* One half is old, the other is new. */
			if (!is_next(w, value + CARRY) && !is_next(w, value - CARRY))
				break;
			w->again++;
		}
		w->wrong = !is_next(w, value);
		w->last = value;
	}
	return NULL;
}

static void sleep_and_wake(struct __test_metadata *_metadata, struct guest *g, int ms)
{
	struct runner runner;

	runner_sleep(_metadata, &runner, &g->vcpu[0]);
	usleep(ms * 1000);
	runner_wake(_metadata, &runner, g->vm);
}

TEST(value_that_passes_2_to_the_32_is_right_when_it_is_read_again)
{
	struct guest guest = { .irqchip = true };
	struct watcher watcher = { };
	struct guest_vcpu *v;
	pthread_t thread;
	int i;

	guest_create(_metadata, &guest, 1);
	guest_start(_metadata, &guest, stats_sleep, stats_sleep_end, 0);
	v = &guest.vcpu[0];
	sleep_and_wake(_metadata, &guest, ALMOST_CARRY_MS);

	watcher.fd = v->file.fd;
	watcher.pos = stats_offset(_metadata, &v->file, "halt_wait_ns");
	watcher.last = vcpu_read(_metadata, v, "halt_wait_ns");
	ASSERT_GT(CARRY, watcher.last);
	ASSERT_EQ(0, pthread_create(&thread, NULL, watch, &watcher));
	for (i = 0; i < MOST_HALTS &&
	     vcpu_read(_metadata, v, "halt_wait_ns") < CARRY + CARRY / 64; i++)
		sleep_and_wake(_metadata, &guest, 1);
	__atomic_store_n(&watcher.over, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));

	TH_LOG("read again %d times", watcher.again);
	EXPECT_FALSE(watcher.wrong) TH_LOG("%llx", watcher.last);
	EXPECT_LT(CARRY, vcpu_read(_metadata, v, "halt_wait_ns"));
}
#endif

TEST_HARNESS_MAIN
