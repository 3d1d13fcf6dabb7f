/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest for the tests of KVM's statistics files: one page of code of the
 * architecture's choice, run by any number of vCPUs.
 */
#ifndef SELFTEST_KVM_STATS_FD_GUEST_H
#define SELFTEST_KVM_STATS_FD_GUEST_H

#include "stats_fd_arch.h"

/* Below 1 MB for x86's real mode, aligned to arm64's largest page. */
#define GUEST_MEMORY		0x10000UL

/*
 * Where the pieces of code are. Each has its own place, written before the
 * first vCPU runs: no cache has to be told of changed code.
 */
#define GUEST_USER_EXITS	GUEST_MEMORY
#define GUEST_KERNEL_EXITS	(GUEST_MEMORY + 0x100)

struct guest_vcpu {
	int fd;
	struct kvm_run *run;
	struct stats_file file;
};

/* A VM with one page of memory. */
struct guest {
	int vm;
	void *memory;
	size_t page;
	size_t run_size;
	int vcpus;
	struct guest_vcpu vcpu[STATS_MAX_VCPUS];
};

static inline void guest_create_memory(struct __test_metadata *_metadata,
				       struct guest *g)
{
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = GUEST_MEMORY,
	};

	g->page = sysconf(_SC_PAGESIZE);
	g->memory = mmap(NULL, g->page, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, g->memory);
	memcpy(g->memory, stats_user_exits_code, sizeof(stats_user_exits_code));
	memcpy(g->memory + (GUEST_KERNEL_EXITS - GUEST_MEMORY),
	       stats_kernel_exits_code, sizeof(stats_kernel_exits_code));
	region.memory_size = g->page;
	region.userspace_addr = (unsigned long)g->memory;
	ASSERT_EQ(0, ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &region));
}

static inline void guest_create(struct __test_metadata *_metadata, int kvm,
				struct guest *g, int vcpus)
{
	struct guest_vcpu *v;
	int i;

	g->vm = stats_create_vm(_metadata, kvm);
	stats_arch_init_vm(_metadata, g->vm);
	guest_create_memory(_metadata, g);
	g->run_size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	g->vcpus = vcpus;
	for (i = 0; i < vcpus; i++) {
		v = &g->vcpu[i];
		v->fd = stats_create_vcpu(_metadata, g->vm, i);
		v->run = mmap(NULL, g->run_size, PROT_READ | PROT_WRITE,
			      MAP_SHARED, v->fd, 0);
		ASSERT_NE(MAP_FAILED, v->run);
		stats_load(_metadata, stats_get_fd(_metadata, v->fd), &v->file);
	}
}

/* The VM dies here. A mapping of kvm_run keeps it just as the vCPU's fd does. */
static inline void guest_kill(struct guest *g)
{
	int i;

	for (i = 0; i < g->vcpus; i++) {
		munmap(g->vcpu[i].run, g->run_size);
		close(g->vcpu[i].fd);
	}
	close(g->vm);
	g->vm = -1;
	munmap(g->memory, g->page);
}

static inline void guest_destroy(struct guest *g)
{
	int i;

	for (i = 0; i < g->vcpus; i++)
		stats_unload(&g->vcpu[i].file);
	if (g->vm >= 0)
		guest_kill(g);
}

static inline __u64 vcpu_read(struct __test_metadata *_metadata,
			      const struct guest_vcpu *v, const char *name)
{
	return stats_read(_metadata, &v->file, name);
}

/*
 * Exit to user space @count times. The last exit is completed by a KVM_RUN that
 * does not enter the guest, so that the vCPU can be sent elsewhere.
 */
static inline void vcpu_exit_to_user(struct __test_metadata *_metadata,
				     struct guest_vcpu *v, int count)
{
	int i;

	stats_arch_init_vcpu(_metadata, v->fd, GUEST_USER_EXITS, 0);
	for (i = 0; i < count; i++) {
		ASSERT_EQ(0, ioctl(v->fd, KVM_RUN, 0)) {
			TH_LOG("KVM_RUN: %s", strerror(errno));
		}
		ASSERT_EQ(STATS_USER_EXIT_REASON, (int)v->run->exit_reason);
	}
	v->run->immediate_exit = 1;
	ASSERT_EQ(-EINTR, result(ioctl(v->fd, KVM_RUN, 0)));
	v->run->immediate_exit = 0;
}

#endif /* SELFTEST_KVM_STATS_FD_GUEST_H */
