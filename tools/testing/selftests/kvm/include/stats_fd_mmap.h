/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Map KVM's statistics files: find the data block and the vCPU windows, load values from
 * them, and catch the signal of an access to a missing page.
 */
#ifndef SELFTEST_KVM_STATS_FD_MMAP_H
#define SELFTEST_KVM_STATS_FD_MMAP_H

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "stats_fd_util.h"

/* The size of the data block's page and, in a VM's file, all windows. */
static inline size_t stats_mmap_size(const struct stats_file *f)
{
	const struct kvm_stats_ext *ext = &f->ext;

	if (!ext->vcpu_max)
		return sysconf(_SC_PAGESIZE);
	return ext->vcpu_mmap_offset - f->header.data_offset +
	       (size_t)ext->vcpu_max * ext->vcpu_stride;
}

/* Map @size bytes, beginning with the data block. */
static inline const char *stats_mmap(struct __test_metadata *_metadata,
				     const struct stats_file *f, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, f->fd, f->header.data_offset);

	ASSERT_NE(MAP_FAILED, map) TH_LOG("mmap of %zu bytes: %s", size, strerror(errno));
	return map;
}

/* The window of the VM's @i-th vCPU in a mapping of data block and windows. */
static inline const char *stats_window(const struct stats_file *f,
				       const char *map, unsigned int i)
{
	return map + (f->ext.vcpu_mmap_offset - f->header.data_offset) +
	       (size_t)i * f->ext.vcpu_stride;
}

/* Find a vCPU statistic in a VM's file. */
static inline const struct kvm_stats_desc *
stats_get_vcpu(struct __test_metadata *_metadata, const struct stats_file *f, const char *name)
{
	const struct kvm_stats_desc *desc;
	unsigned int i;

	for (i = 0; (desc = stats_vcpu_desc(f, i)); i++) {
		if (!strncmp(name, desc->name, STATS_NAME_SIZE))
			break;
	}
	ASSERT_NE(NULL, desc) TH_LOG("no statistic %s", name);
	return desc;
}

/* Load a value from a mapped data block. On a 32-bit host, these are two loads. */
static inline __u64 stats_mapped(const char *block, const struct kvm_stats_desc *desc)
{
	return *(const volatile __u64 *)(block + desc->offset);
}

/* Return how many windows a reader may touch. */
static inline __u64 stats_mapped_vcpus(const char *map, const struct kvm_stats_desc *online)
{
	__u64 vcpus = stats_mapped(map, online);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return vcpus;
}

static sigjmp_buf stats_fault;
static siginfo_t stats_fault_info;

static inline void stats_on_fault(int sig, siginfo_t *info, void *context)
{
	stats_fault_info = *info;
	siglongjmp(stats_fault, sig);
}

/* Return the signal that an access to one byte raises, or 0. */
static inline int stats_signal_of(const char *addr, bool store)
{
	struct sigaction action = {
		.sa_sigaction = stats_on_fault,
		.sa_flags = SA_SIGINFO,
	};
	struct sigaction bus, segv;
	int sig;

	sigaction(SIGBUS, &action, &bus);
	sigaction(SIGSEGV, &action, &segv);
	sig = sigsetjmp(stats_fault, 1);
	if (!sig && store)
		__atomic_store_n((char *)addr, 1, __ATOMIC_RELAXED);
	else if (!sig)
		__atomic_load_n(addr, __ATOMIC_RELAXED);
	sigaction(SIGBUS, &bus, NULL);
	sigaction(SIGSEGV, &segv, NULL);
	return sig;
}

static inline int stats_signal_of_load(const char *addr)
{
	return stats_signal_of(addr, false);
}

#endif /* SELFTEST_KVM_STATS_FD_MMAP_H */
