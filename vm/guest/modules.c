// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics files and KVM's modules: a file needs kvm.ko until it is closed, but
 * not the vendor module, which can be unloaded, and replaced, while files of VMs
 * that are gone are still read. Leaves the modules loaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef KVM_GET_STATS_FD
#define KVM_GET_STATS_FD _IO(KVMIO, 0xce)
#endif

#define MAX_SIZE 65536
#define GUEST_PAGE 0x1000
#define HLT 0xf4

struct vm {
	int fd;
	int vcpu;
	struct kvm_run *run;
	size_t run_size;
	char *memory;
};

static int cases;

static void result(bool ok, const char *name)
{
	printf("%sok %d %s\n", ok ? "" : "not ", ++cases, name);
}

static void __attribute__((noreturn)) bail_out(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static int checked(int value, const char *what)
{
	if (value < 0)
		bail_out(what);
	return value;
}

/* A VM with a page of HLT instructions, where its vCPU begins. */
static struct vm create_vm(void)
{
	int kvm = checked(open("/dev/kvm", O_RDWR), "/dev/kvm");
	struct vm vm = { .fd = checked(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM") };
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = GUEST_PAGE,
		.memory_size = GUEST_PAGE,
	};
	struct kvm_regs regs = { .rip = GUEST_PAGE, .rflags = 2 };
	struct kvm_sregs sregs;

	vm.run_size = checked(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "KVM_GET_VCPU_MMAP_SIZE");
	close(kvm);
	vm.memory = mmap(NULL, GUEST_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (vm.memory == MAP_FAILED)
		bail_out("mmap");
	memset(vm.memory, HLT, GUEST_PAGE);
	region.userspace_addr = (unsigned long)vm.memory;
	checked(ioctl(vm.fd, KVM_SET_USER_MEMORY_REGION, &region), "KVM_SET_USER_MEMORY_REGION");
	vm.vcpu = checked(ioctl(vm.fd, KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
	vm.run = mmap(NULL, vm.run_size, PROT_READ | PROT_WRITE, MAP_SHARED, vm.vcpu, 0);
	if (vm.run == MAP_FAILED)
		bail_out("mmap of kvm_run");
	checked(ioctl(vm.vcpu, KVM_GET_SREGS, &sregs), "KVM_GET_SREGS");
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	checked(ioctl(vm.vcpu, KVM_SET_SREGS, &sregs), "KVM_SET_SREGS");
	checked(ioctl(vm.vcpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");
	return vm;
}

/* Nothing of it stays open. */
static void close_vm(struct vm *vm)
{
	munmap(vm->run, vm->run_size);
	munmap(vm->memory, GUEST_PAGE);
	close(vm->vcpu);
	close(vm->fd);
}

static bool runs_to_halt(const struct vm *vm)
{
	return !ioctl(vm->vcpu, KVM_RUN, 0) && vm->run->exit_reason == KVM_EXIT_HLT;
}

static int stats_fd(int fd)
{
	return checked(ioctl(fd, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD");
}

/* The whole file: what it says at one time. */
struct content {
	ssize_t size;
	char data[MAX_SIZE];
};

static struct content *content_of(int fd)
{
	struct content *content = calloc(1, sizeof(*content));

	if (!content)
		bail_out("calloc");
	content->size = pread(fd, content->data, MAX_SIZE, 0);
	return content;
}

static bool same(const struct content *a, const struct content *b)
{
	return a->size > 0 && a->size == b->size && !memcmp(a->data, b->data, a->size);
}

/* Is one of its values, which are the end of the file, not zero? */
static bool moved(const struct content *content)
{
	const struct kvm_stats_header *header = (const void *)content->data;

	for (ssize_t i = header->data_offset; i < content->size; i++)
		if (content->data[i])
			return true;
	return false;
}

static bool fdinfo_is_readable(int fd)
{
	char path[64], text[1024];
	ssize_t size;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = checked(open(path, O_RDONLY), path);
	size = read(info, text, sizeof(text));
	close(info);
	return size > 0;
}

static bool unloads(const char *name)
{
	return !syscall(SYS_delete_module, name, O_NONBLOCK);
}

static bool is_in_use(const char *name)
{
	return !unloads(name) && errno == EWOULDBLOCK;
}

static bool loads(const char *path)
{
	int fd = checked(open(path, O_RDONLY), path);
	bool loaded = !syscall(SYS_finit_module, fd, "", 0);

	close(fd);
	return loaded;
}

int main(void)
{
	struct content *vm_last, *vcpu_last;
	struct vm vm = create_vm();
	int vm_stats = stats_fd(vm.fd);
	int vcpu_stats = stats_fd(vm.vcpu);

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..13\n");
	result(runs_to_halt(&vm) && moved(content_of(vcpu_stats)), "vm_runs_and_counts");
	result(is_in_use("kvm_amd"), "vendor_module_is_in_use_while_a_vm_is_open");
	close_vm(&vm);
	vm_last = content_of(vm_stats);
	vcpu_last = content_of(vcpu_stats);

	result(unloads("kvm_amd"), "vendor_module_unloads_with_statistics_files_open");
	result(same(vm_last, content_of(vm_stats)), "vm_file_keeps_its_last_values");
	result(same(vcpu_last, content_of(vcpu_stats)), "vcpu_file_keeps_its_last_values");
	result(fdinfo_is_readable(vm_stats) && fdinfo_is_readable(vcpu_stats),
	       "fdinfo_is_readable");
	result(is_in_use("kvm"), "kvm_is_in_use_by_two_files");
	result(loads("/modules/kvm-amd.ko") && unloads("kvm_amd"),
	       "vendor_module_loads_and_unloads_again_with_files_open");
	close(vm_stats);
	result(is_in_use("kvm"), "kvm_is_in_use_by_the_last_file");
	result(same(vcpu_last, content_of(vcpu_stats)), "last_file_is_still_readable");
	close(vcpu_stats);
	result(unloads("kvm"), "kvm_unloads_after_the_last_close");

	result(loads("/modules/kvm.ko") && loads("/modules/kvm-amd.ko"), "modules_load_again");
	vm = create_vm();
	vcpu_stats = stats_fd(vm.vcpu);
	result(runs_to_halt(&vm) && moved(content_of(vcpu_stats)), "new_vm_runs_and_counts");
	return 0;
}
