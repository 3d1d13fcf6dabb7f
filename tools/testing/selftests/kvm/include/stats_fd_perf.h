/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vCPU statistics as perf events, for the tests of KVM's statistics.
 */
#ifndef SELFTEST_KVM_STATS_FD_PERF_H
#define SELFTEST_KVM_STATS_FD_PERF_H

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "stats_fd_guest.h"

#define PERF_KVM		"/sys/bus/event_source/devices/kvm"

/* Return perf's number of KVM's PMU, or 0. */
static inline __u32 perf_type(void)
{
	char line[STATS_LINE_SIZE];

	return stats_read_line(PERF_KVM, "type", line) ? atoi(line) : 0;
}

/* Return the perf_event_attr.config of a value of a statistic. */
static inline __u64 perf_config(struct __test_metadata *_metadata,
				const struct stats_file *f, const char *name,
				unsigned int value)
{
	return stats_get(_metadata, f, name)->offset / sizeof(__u64) | value << 16;
}

/* Return the event, or a negative errno. */
static inline int perf_open_flags(struct perf_event_attr *attr, pid_t tid,
				  int cpu, int group, unsigned long flags)
{
	attr->size = sizeof(*attr);
	if (!attr->type)
		attr->type = perf_type();
	return result(syscall(__NR_perf_event_open, attr, tid, cpu, group,
			      flags | PERF_FLAG_FD_CLOEXEC));
}

static inline int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu, int group)
{
	return perf_open_flags(attr, tid, cpu, group, 0);
}

static inline __u64 perf_read(struct __test_metadata *_metadata, int event)
{
	__u64 count;

	ASSERT_EQ((ssize_t)sizeof(count), read(event, &count, sizeof(count)));
	return count;
}

/* The fields of a sample. */
#define PERF_SAMPLES	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD)

struct perf_sample {
	struct perf_event_header header;
	__u64 ip;
	__u32 pid, tid;
	__u64 period;
};

#define PERF_RING_PAGES		16

struct perf_ring {
	struct perf_event_mmap_page *page;
	size_t page_size;
	unsigned int throttled;		/* PERF_RECORD_THROTTLE records */
};

static inline void perf_ring_map(struct __test_metadata *_metadata,
				 struct perf_ring *ring, int event)
{
	ring->throttled = 0;
	ring->page_size = sysconf(_SC_PAGESIZE);
	ring->page = mmap(NULL, (PERF_RING_PAGES + 1) * ring->page_size,
			  PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	ASSERT_NE(MAP_FAILED, ring->page) TH_LOG("%s", strerror(errno));
}

static inline void perf_ring_unmap(struct perf_ring *ring)
{
	munmap(ring->page, (PERF_RING_PAGES + 1) * ring->page_size);
}

/* Open an event that is sampled every @period counts, and map its ring buffer. */
static inline int perf_open_samples(struct __test_metadata *_metadata,
				    __u64 config, pid_t tid, int cpu,
				    __u64 period, struct perf_ring *ring)
{
	struct perf_event_attr attr = {
		.config = config,
		.sample_period = period,
		.sample_type = PERF_SAMPLES,
		.wakeup_events = 1,
	};
	int event = perf_open(&attr, tid, cpu, -1);

	ASSERT_LE(0, event) TH_LOG("%s", strerror(-event));
	perf_ring_map(_metadata, ring, event);
	return event;
}

static inline void perf_ring_copy(const struct perf_ring *ring, __u64 from,
				  void *to, size_t size)
{
	const char *data = (const char *)ring->page + ring->page_size;
	size_t i;

	for (i = 0; i < size; i++)
		((char *)to)[i] = data[(from + i) %
				       (PERF_RING_PAGES * ring->page_size)];
}

/* Copy the next sample, if there is one. Skip other records. */
static inline bool perf_ring_next(struct perf_ring *ring, struct perf_sample *sample)
{
	__u64 head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	__u64 tail = ring->page->data_tail;
	struct perf_event_header header;

	while (tail != head) {
		perf_ring_copy(ring, tail, &header, sizeof(header));
		if (header.type == PERF_RECORD_SAMPLE)
			perf_ring_copy(ring, tail, sample, sizeof(*sample));
		ring->throttled += header.type == PERF_RECORD_THROTTLE;
		tail += header.size;
		__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
		if (header.type == PERF_RECORD_SAMPLE)
			return true;
	}
	return false;
}

#endif /* SELFTEST_KVM_STATS_FD_PERF_H */
