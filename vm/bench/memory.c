// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the memory of VMs, and of each of 512 vCPUs, in bytes. Prints no rows for what the base
 * kernel does not have.
 *
 * Counts all pages that the page allocator has handed out: for slabs, page tables, vmalloc()
 * and others. Nothing else runs meanwhile. Before each count the allocators' caches are
 * emptied, so that free pages in empty slabs and on per-CPU lists count as free. Free objects
 * of other slabs count as used.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/kvm.h>

/* x86 of 5.10 has at most 288 vCPUs in a VM. */
#define VMS		2
#define VM_VCPUS	256
#define VCPUS		(VMS * VM_VCPUS)

/* VMs without vCPUs. */
#define EMPTY_VMS	64

/* The first rounds fill caches; the last one counts. */
#define ROUNDS		4

/*
 * Memory of closed files is free a moment later, and the kernel sometimes uses a page for a
 * moment. So count until this many counts in a row find no more free pages than before.
 */
#define SAME_COUNTS	6

#define SLABS		"/sys/kernel/slab"

static int sure(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "memory: %s: %s\n", what, strerror(errno));
		exit(1);
	}
	return result;
}

static void write_word(const char *path, const char *word)
{
	int fd = sure(open(path, O_WRONLY), path);

	sure(write(fd, word, strlen(word)), path);
	close(fd);
}

static void empty_caches(void)
{
	struct dirent *entry;
	char path[512];
	DIR *dir;

	write_word("/proc/sys/vm/drop_caches", "3");
	dir = opendir(SLABS);
	sure(dir ? 0 : -1, SLABS);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), SLABS "/%s/shrink", entry->d_name);
		write_word(path, "1");
	}
	closedir(dir);
	/* fold per-CPU counters into those that are read */
	write_word("/proc/sys/vm/stat_refresh", "1");
}

/* Free pages of all zones and per-CPU lists. */
static long free_pages(void)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	char line[256];
	long sum = 0, n;

	sure(file ? 0 : -1, "/proc/zoneinfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, " pages free %ld", &n) == 1 ||
		    sscanf(line, " count: %ld", &n) == 1)
			sum += n;
	}
	fclose(file);
	return sum;
}

/* Only differences are meaningful. */
static long bytes_taken(void)
{
	long most = 0;

	for (int same = 0; same < SAME_COUNTS; same++) {
		long pages;

		usleep(20000);
		empty_caches();
		pages = free_pages();
		if (pages > most) {
			most = pages;
			same = 0;
		}
	}
	return -most * sysconf(_SC_PAGESIZE);
}

static void close_all(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		close(fds[i]);
}

static void create_vms(int kvm, int *fds, int n)
{
	for (int i = 0; i < n; i++)
		fds[i] = sure(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
}

struct round {
	long vm;		/* a VM without vCPUs */
	long vcpu;
	long fd;		/* an open statistics file of a vCPU */
	long kept;		/* an open file, after all VMs and vCPUs are closed */
	long left;		/* after everything is closed; nothing should be left */
};

static void measure_round(int kvm, int has_stats, struct round *r)
{
	int vms[EMPTY_VMS], vcpus[VCPUS], files[VCPUS];
	long start = bytes_taken(), before, after;

	create_vms(kvm, vms, EMPTY_VMS);
	r->vm = (bytes_taken() - start) / EMPTY_VMS;
	close_all(vms, EMPTY_VMS);

	start = bytes_taken();
	create_vms(kvm, vms, VMS);
	before = bytes_taken();
	for (int i = 0; i < VCPUS; i++)
		vcpus[i] = sure(ioctl(vms[i / VM_VCPUS], KVM_CREATE_VCPU, i % VM_VCPUS),
				"KVM_CREATE_VCPU");
	after = bytes_taken();
	r->vcpu = (after - before) / VCPUS;

	for (int i = 0; has_stats && i < VCPUS; i++)
		files[i] = sure(ioctl(vcpus[i], KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD");
	r->fd = (bytes_taken() - after) / VCPUS;
	close_all(vcpus, VCPUS);
	close_all(vms, VMS);
	r->kept = (bytes_taken() - start) / VCPUS;
	if (has_stats)
		close_all(files, VCPUS);
	r->left = (bytes_taken() - start) / VCPUS;
}

static void print(const char *row, long value)
{
	printf("row %s %ld\n", row, value);
}

int main(void)
{
	struct rlimit files = { 4 * VCPUS, 4 * VCPUS };
	struct round r = { };
	int kvm, has_stats;

	sure(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	kvm = sure(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	has_stats = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_BINARY_STATS_FD) > 0;
	for (int i = 0; i < ROUNDS; i++) {
		measure_round(kvm, has_stats, &r);
		printf("round %d: vm %ld vcpu %ld fd %ld kept %ld left %ld\n", i, r.vm,
		       r.vcpu, r.fd, r.kept, r.left);
	}
	print("vm", r.vm);
	print("vcpu", r.vcpu);
	if (has_stats) {
		print("fd", r.fd);
		print("kept", r.kept);
	}
	print("left", r.left);
	return 0;
}
