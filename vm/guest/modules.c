// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics files and KVM's modules: a file needs kvm.ko until it is closed, but
 * not the vendor module, which can be unloaded, and replaced, while files of VMs
 * that are gone are still read. Leaves the modules loaded.
 */
#include <sys/syscall.h>

#include "tiny-vm.h"

#define MAX_SIZE 65536

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

/* The one that is there is that of this machine's processor. */
static bool is_intel(void)
{
	return !access("/modules/kvm-intel.ko", F_OK);
}

int main(void)
{
	const char *vendor = is_intel() ? "kvm_intel" : "kvm_amd";
	const char *vendor_path = is_intel() ? "/modules/kvm-intel.ko" : "/modules/kvm-amd.ko";
	struct content *vm_last, *vcpu_last;
	struct tiny_vm vm = tiny_vm_create();
	int vm_stats = stats_fd(vm.fd);
	int vcpu_stats = stats_fd(vm.vcpu);

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..13\n");
	result(tiny_vm_run(&vm) && moved(content_of(vcpu_stats)), "vm_runs_and_counts");
	result(is_in_use(vendor), "vendor_module_is_in_use_while_a_vm_is_open");
	tiny_vm_close(&vm);
	vm_last = content_of(vm_stats);
	vcpu_last = content_of(vcpu_stats);

	result(unloads(vendor), "vendor_module_unloads_with_statistics_files_open");
	result(same(vm_last, content_of(vm_stats)), "vm_file_keeps_its_last_values");
	result(same(vcpu_last, content_of(vcpu_stats)), "vcpu_file_keeps_its_last_values");
	result(fdinfo_is_readable(vm_stats) && fdinfo_is_readable(vcpu_stats),
	       "fdinfo_is_readable");
	result(is_in_use("kvm"), "kvm_is_in_use_by_two_files");
	result(loads(vendor_path) && unloads(vendor),
	       "vendor_module_loads_and_unloads_again_with_files_open");
	close(vm_stats);
	result(is_in_use("kvm"), "kvm_is_in_use_by_the_last_file");
	result(same(vcpu_last, content_of(vcpu_stats)), "last_file_is_still_readable");
	close(vcpu_stats);
	result(unloads("kvm"), "kvm_unloads_after_the_last_close");

	result(loads("/modules/kvm.ko") && loads(vendor_path), "modules_load_again");
	vm = tiny_vm_create();
	vcpu_stats = stats_fd(vm.vcpu);
	result(tiny_vm_run(&vm) && moved(content_of(vcpu_stats)), "new_vm_runs_and_counts");
	return 0;
}
