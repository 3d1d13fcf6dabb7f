// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics files and KVM's modules: a file needs kvm.ko until it is closed, but
 * not the vendor module, which can be unloaded, and replaced, while files of VMs
 * that are gone are still read. So does an event of perf, of which nothing may be left
 * when it is closed: threads that have had one go on without kvm.ko. Nor does unloading
 * stop who opens other events. Leaves the modules loaded.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

/* The number in a file of the PMU in sysfs, behind @key if that is not "". */
static long pmu_number(const char *name, const char *key)
{
	char path[128], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/kvm/%s", name);
	fd = checked(open(path, O_RDONLY), path);
	checked(read(fd, text, sizeof(text) - 1), path);
	close(fd);
	return strtol(strstr(text, key) + strlen(key), NULL, 0);
}

/* Of this thread, wherever it runs. */
static int open_event(unsigned int type, unsigned long config)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = type, .config = config, };

	return checked(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

/* One of KVM's. */
static int open_exits(void)
{
	return open_event(pmu_number("type", ""), pmu_number("events/exits", "="));
}

/* Processes that have had an event of KVM, and no other one before. */
struct former {
	pid_t pid;
	int go[2];		/* they go on once there is something to be read */
};

/* With @later it has another event then, with which it is scheduled out and in. */
static struct former start_former(bool later)
{
	struct former former;
	int ready[2];
	char byte;

	checked(pipe(ready), "pipe");
	checked(pipe(former.go), "pipe");
	former.pid = checked(fork(), "fork");
	if (!former.pid) {
		close(open_exits());
		checked(write(ready[1], "", 1), "pipe");
		checked(read(former.go[0], &byte, 1), "pipe");
		if (later)
			open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
		for (int i = 0; later && i < 100; i++)
			usleep(1000);
		_exit(0);
	}
	checked(read(ready[0], &byte, 1), "pipe");
	close(ready[0]);
	close(ready[1]);
	return former;
}

static bool ends_well(const struct former *former)
{
	int status;

	checked(write(former->go[1], "", 1), "pipe");
	return waitpid(former->pid, &status, 0) == former->pid && !status;
}

/* Opens and closes software events, which are no module's, as fast as that goes. */
static pid_t start_opener(void)
{
	pid_t pid = checked(fork(), "fork");

	while (!pid)
		close(open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS));
	return pid;
}

static bool loads_and_unloads_kvm(int times)
{
	while (times-- > 0) {
		if (!loads("/modules/kvm.ko") || !unloads("kvm"))
			return false;
	}
	return true;
}

/* In a process of its own: one that waits for a lock for ever cannot be killed. */
static bool unloads_beside_an_opener(void)
{
	pid_t opener = start_opener();
	pid_t unloader = checked(fork(), "fork");
	int status = 1;

	if (!unloader)
		_exit(!loads_and_unloads_kvm(50));
	for (int i = 0; i < 600 && !waitpid(unloader, &status, WNOHANG); i++)
		usleep(100000);
	kill(opener, SIGKILL);
	return !status;
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
	struct former former, later;
	int event;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..18\n");
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
	former = start_former(false);
	later = start_former(true);
	event = open_exits();
	result(is_in_use("kvm"), "kvm_is_in_use_by_an_event");
	close(event);
	result(unloads("kvm"), "kvm_unloads_after_the_last_close");
	result(ends_well(&former), "process_that_had_an_event_ends_without_kvm");
	result(ends_well(&later), "process_that_had_an_event_is_scheduled_without_kvm");

	result(access("/sys/bus/event_source/devices/kvm", F_OK), "events_go_with_kvm");
	result(unloads_beside_an_opener(), "kvm_unloads_while_others_open_events");
	result(loads("/modules/kvm.ko") && loads(vendor_path), "modules_load_again");
	vm = tiny_vm_create();
	vcpu_stats = stats_fd(vm.vcpu);
	result(tiny_vm_run(&vm) && moved(content_of(vcpu_stats)), "new_vm_runs_and_counts");
	return 0;
}
