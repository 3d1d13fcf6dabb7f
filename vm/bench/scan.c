// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the instructions (see bench.h) of a scan of all vCPUs of a host, from one vCPU to 10240
 * vCPUs in 40 VMs: by one mapping per VM, by one pread() per vCPU, and by debugfs, which has sums
 * over a VM's vCPUs. Counts system calls by tracing a process that scans, and file descriptors in
 * /proc. On the base kernel, measures debugfs only.
 *
 * The vCPUs never run: only their number matters.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

/* x86 of 5.10 has at most 288 vCPUs in a VM. */
#define VMS		40
#define VM_VCPUS	256
#define VCPUS		(VMS * VM_VCPUS)

/* Scans of more vCPUs last longer than a tick. Ticks are 0.1 % of them: fewer rounds suffice. */
#define LARGE		256
#define ROUNDS_OF_LARGE	3

/* Repeat smaller scans this often: the shortest take about one step of arm64's clock. */
#define SMALL		16

struct vm {
	int fd;
	struct mapping mapping;
	struct debugfs debugfs;
};

static struct vm vms[VMS];
static struct read vcpus[VCPUS];
static int num_vms, num_vcpus;

/* Offsets of the scanned statistics, the same for all VMs and vCPUs. */
static struct {
	size_t online_vcpus;
	size_t exits;
	size_t vcpu_size;
} place;

static void find_places(int fd, const struct mapping *m)
{
	struct descs vm = { fd, m->header.name_size, m->header.num_desc,
			    m->header.desc_offset };
	struct descs vcpu = { fd, m->header.name_size, m->ext.vcpu_num_desc,
			      m->ext.vcpu_desc_offset };
	size_t size;

	place.online_vcpus = find_stat(&vm, "online_vcpus", &size);
	place.exits = find_stat(&vcpu, "exits", &place.vcpu_size);
}

/* Has the kernel statistics files that can be mapped? */
static bool can_map(void)
{
	int vm, fd;
	bool can;

	if (ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_BINARY_STATS_FD) <= 0)
		return false;
	vm = create_vm();
	fd = sure(ioctl(vm, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD");
	can = is_extended(fd);
	close(fd);
	close(vm);
	return can;
}

/* The mapping needs no file descriptor. */
static void map_vm(struct vm *vm)
{
	int fd = sure(ioctl(vm->fd, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD");

	map_stats(&vm->mapping, fd);
	find_places(fd, &vm->mapping);
	close(fd);
}

static void add_vm(bool has_stats)
{
	struct vm *vm = &vms[num_vms++];

	vm->fd = create_vm();
	list_debugfs(&vm->debugfs, vm->fd);
	if (has_stats)
		map_vm(vm);
}

/* Adds a vCPU and closes its fd: the VM keeps the vCPU, the statistics file needs neither. */
static void add_vcpu(bool has_stats)
{
	struct read *vcpu = &vcpus[num_vcpus];
	int id = num_vcpus % VM_VCPUS, fd;

	if (!id)
		add_vm(has_stats);
	fd = sure(ioctl(vms[num_vms - 1].fd, KVM_CREATE_VCPU, id), "KVM_CREATE_VCPU");
	if (has_stats) {
		struct kvm_stats_header header;

		vcpu->fd = sure(ioctl(fd, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD");
		read_bytes(vcpu->fd, &header, sizeof(header), 0);
		vcpu->offset = header.data_offset;
	}
	num_vcpus++;
	close(fd);
}

/* A scan also reads the number of vCPUs. */
static uint64_t online_vcpus(const struct mapping *m)
{
	const char *at = m->data + place.online_vcpus;

	return atomic_load_explicit((const _Atomic uint64_t *)at, memory_order_acquire);
}

static void map_all(void *arg)
{
	(void)arg;
	for (int i = 0; i < num_vms; i++) {
		const struct mapping *m = &vms[i].mapping;
		const char *at = m->data + m->windows;

		for (uint64_t n = online_vcpus(m); n; n--, at += m->ext.vcpu_stride)
			load_values((const volatile uint64_t *)at,
				    place.vcpu_size / sizeof(uint64_t));
	}
}

/* Adds values up, as debugfs does. */
static void map_one(void *arg)
{
	uint64_t sum = 0;

	(void)arg;
	for (int i = 0; i < num_vms; i++) {
		const struct mapping *m = &vms[i].mapping;
		const char *at = m->data + m->windows + place.exits;

		for (uint64_t n = online_vcpus(m); n; n--, at += m->ext.vcpu_stride)
			sum += *(const volatile uint64_t *)at;
	}
	asm volatile("" : : "r" (sum));
}

static void pread_all(void *arg)
{
	(void)arg;
	for (int i = 0; i < num_vcpus; i++) {
		struct read all = vcpus[i];

		all.size = place.vcpu_size;
		do_read(&all);
	}
}

static void pread_one(void *arg)
{
	(void)arg;
	for (int i = 0; i < num_vcpus; i++) {
		struct read one = vcpus[i];

		one.size = sizeof(uint64_t);
		one.offset += place.exits;
		do_read(&one);
	}
}

static void debugfs_all(void *arg)
{
	(void)arg;
	for (int i = 0; i < num_vms; i++)
		read_debugfs_all(&vms[i].debugfs);
}

static void debugfs_one(void *arg)
{
	(void)arg;
	for (int i = 0; i < num_vms; i++)
		read_debugfs_one(&vms[i].debugfs);
}

/* The first scan, with a fault per page. */
static void map_first(void)
{
	uint64_t start;

	for (int i = 0; i < num_vms; i++) {
		munmap((void *)vms[i].mapping.data, vms[i].mapping.size);
		map_vm(&vms[i]);
	}
	start = now();
	map_all(NULL);
	print("first", now() - start, 0);
}

/* Runs @op in a process that stops at entry and exit of each system call; counts the stops. */
static int traced_stops(operation *op)
{
	int stops = 0, status;
	pid_t pid = sure(fork(), "fork");

	if (!pid) {
		sure(ptrace(PTRACE_TRACEME, 0, 0, 0), "PTRACE_TRACEME");
		raise(SIGSTOP);
		op(NULL);
		_exit(0);
	}
	sure(waitpid(pid, &status, 0), "waitpid");
	while (WIFSTOPPED(status)) {
		stops++;
		sure(ptrace(PTRACE_SYSCALL, pid, 0, 0), "PTRACE_SYSCALL");
		sure(waitpid(pid, &status, 0), "waitpid");
	}
	errno = ECHILD;
	if (status)
		fail("the traced scan ended with status %#x", status);
	return stops;
}

static int system_calls(operation *op)
{
	return (traced_stops(op) - traced_stops(do_nothing)) / 2;
}

/* The number of open files whose /proc link begins with this. */
static int open_files(const char *start)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int files = 0;

	if (!dir)
		fail("/proc/self/fd");
	while ((entry = readdir(dir))) {
		char link[256] = "";

		if (readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1) > 0)
			files += !strncmp(link, start, strlen(start));
	}
	closedir(dir);
	return files;
}

/* A row is called <way>-<number of vCPUs>; @n operations in one measurement. */
static void measure(const char *way, operation *op, int n, int values)
{
	int rounds = num_vcpus > LARGE ? ROUNDS_OF_LARGE : ROUNDS;
	uint64_t once = shortest_of(rounds, op, NULL, n);
	uint64_t twice = shortest_of(rounds, op, NULL, 2 * n);
	char row[64];

	snprintf(row, sizeof(row), "%s-%d", way, num_vcpus);
	print(row, (double)(twice - once) / n, values);
}

static void measure_resources(const char *way, operation *op, const char *files)
{
	char row[64];

	snprintf(row, sizeof(row), "calls-%s", way);
	print(row, system_calls(op), 0);
	snprintf(row, sizeof(row), "files-%s", way);
	print(row, open_files(files), 0);
}

static void measure_host(bool has_stats)
{
	int values = place.vcpu_size / sizeof(uint64_t);
	int n = num_vcpus > SMALL ? 1 : SMALL;

	measure("debugfs-all", debugfs_all, 1, vms[0].debugfs.files);
	measure("debugfs-one", debugfs_one, 1, 1);
	if (!has_stats)
		return;
	measure("mapping-all", map_all, n, values);
	measure("mapping-one", map_one, n, 1);
	measure("pread-all", pread_all, n, values);
	measure("pread-one", pread_one, n, 1);
}

int main(void)
{
	static const int sizes[] = { 1, 4, 16, 64, 256, 1024, 4096, VCPUS };
	struct rlimit files = { 4 * VCPUS, 4 * VCPUS };
	bool has_stats;

	setvbuf(stdout, NULL, _IOLBF, 0);
	check_clock();
	sure(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	kvm = sure(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	has_stats = can_map();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		while (num_vcpus < sizes[i])
			add_vcpu(has_stats);
		measure_host(has_stats);
	}
	measure_resources("debugfs", debugfs_all, DEBUGFS);
	if (has_stats) {
		measure_resources("mapping", map_all, "anon_inode:kvm-vm-stats");
		measure_resources("pread", pread_all, "anon_inode:kvm-vcpu-stats:");
		map_first();
	}
	return 0;
}
