// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics files and KVM's modules. An open file or perf event holds kvm.ko, but not the
 * vendor module, which can be unloaded and replaced while files of dead VMs are read. After a
 * perf event is closed, kvm.ko can be unloaded, and threads that had the event go on. Unloading
 * does not delay processes that open other events. A process that opens one of KVM's events
 * while KVM is loaded gets either an error or an event that works. Leaves the modules loaded.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tiny-vm.h"

#define MAX_SIZE 65536

/* Read the whole file in one go. */
struct content {
	ssize_t size;
	char data[MAX_SIZE];
};

static struct content *read_content(int fd)
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

/* True if a value, at the end of the file, is not 0. */
static bool has_counted(const struct content *content)
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

/* The number in a sysfs file of the PMU, after @key if that is not "". */
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

/* An event of this thread on any CPU, or -1. */
static int try_event(struct perf_event_attr attr)
{
	attr.size = sizeof(attr);
	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static int open_event(struct perf_event_attr attr)
{
	return checked(try_event(attr), "perf_event_open");
}

/* KVM's event for exits. */
static struct perf_event_attr exits_event(void)
{
	return (struct perf_event_attr) {
		.type = pmu_number("type", ""),
		.config = pmu_number("events/exits", "="),
	};
}

/* A process that had one of KVM's events. */
struct event_user {
	pid_t pid;
	int go[2];		/* it goes on when this pipe is readable */
};

/* With @sleeps, it then opens another event and is scheduled out and in. */
static struct event_user start_event_user(bool sleeps)
{
	struct event_user user;
	int ready[2];
	char byte;

	checked(pipe(ready), "pipe");
	checked(pipe(user.go), "pipe");
	user.pid = checked(fork(), "fork");
	if (!user.pid) {
		close(open_event(exits_event()));
		checked(write(ready[1], "", 1), "pipe");
		checked(read(user.go[0], &byte, 1), "pipe");
		if (sleeps)
			open_event((struct perf_event_attr) {
				.type = PERF_TYPE_SOFTWARE,
				.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
			});
		for (int i = 0; sleeps && i < 100; i++)
			usleep(1000);
		_exit(0);
	}
	checked(read(ready[0], &byte, 1), "pipe");
	close(ready[0]);
	close(ready[1]);
	return user;
}

static bool ends_well(const struct event_user *user)
{
	int status;

	checked(write(user->go[1], "", 1), "pipe");
	return waitpid(user->pid, &status, 0) == user->pid && !status;
}

/* Opens and closes events in a loop, and counts the successes. */
static pid_t start_opener(struct perf_event_attr attr, unsigned long *num_opened)
{
	pid_t pid = checked(fork(), "fork");
	int event;

	while (!pid) {
		event = try_event(attr);
		if (event < 0)
			continue;
		__atomic_add_fetch(num_opened, 1, __ATOMIC_RELAXED);
		close(event);
	}
	return pid;
}

/* An open event holds the module for a moment. */
static bool unloads_eventually(const char *name)
{
	while (!unloads(name)) {
		if (errno != EWOULDBLOCK)
			return false;
	}
	return true;
}

static bool loads_and_unloads_kvm(int times)
{
	while (times-- > 0) {
		if (!loads("/modules/kvm.ko") || !unloads_eventually("kvm"))
			return false;
	}
	return true;
}

/*
 * In its own process, because a process that waits for a lock for ever cannot be killed. The
 * opener lives as long as this process.
 */
static bool loads_and_unloads_beside_opener_of(struct perf_event_attr attr)
{
	unsigned long *num_opened = mmap(NULL, sizeof(*num_opened), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t opener, loader;
	int status = 1;

	if (num_opened == MAP_FAILED)
		bail_out("mmap");
	opener = start_opener(attr, num_opened);
	loader = checked(fork(), "fork");
	if (!loader)
		_exit(!loads_and_unloads_kvm(50));
	for (int i = 0; i < 2400 && !waitpid(loader, &status, WNOHANG); i++)
		usleep(100000);
	if (waitpid(opener, NULL, WNOHANG))
		status = 1;
	kill(opener, SIGKILL);
	return !status && *num_opened;
}

/* Only the module for this machine's processor is present. */
static bool is_intel(void)
{
	return !access("/modules/kvm-intel.ko", F_OK);
}

int main(void)
{
	const char *vendor = is_intel() ? "kvm_intel" : "kvm_amd";
	const char *vendor_path = is_intel() ? "/modules/kvm-intel.ko" : "/modules/kvm-amd.ko";
	struct content *vm_final, *vcpu_final;
	struct tiny_vm vm = tiny_vm_create();
	int vm_stats = stats_fd(vm.fd);
	int vcpu_stats = stats_fd(vm.vcpu);
	struct perf_event_attr exits;
	struct event_user ends, sleeps;
	int event;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..19\n");
	result(tiny_vm_run(&vm) && has_counted(read_content(vcpu_stats)), "vm_runs_and_counts");
	result(is_in_use(vendor), "vendor_module_is_in_use_while_a_vm_is_open");
	tiny_vm_close(&vm);
	vm_final = read_content(vm_stats);
	vcpu_final = read_content(vcpu_stats);

	result(unloads(vendor), "vendor_module_unloads_with_statistics_files_open");
	result(same(vm_final, read_content(vm_stats)), "vm_file_keeps_its_final_values");
	result(same(vcpu_final, read_content(vcpu_stats)), "vcpu_file_keeps_its_final_values");
	result(fdinfo_is_readable(vm_stats) && fdinfo_is_readable(vcpu_stats),
	       "fdinfo_is_readable");
	result(is_in_use("kvm"), "kvm_is_in_use_by_two_files");
	result(loads(vendor_path) && unloads(vendor),
	       "vendor_module_loads_and_unloads_again_with_files_open");
	close(vm_stats);
	result(is_in_use("kvm"), "kvm_is_in_use_by_the_last_file");
	result(same(vcpu_final, read_content(vcpu_stats)), "last_file_is_still_readable");
	close(vcpu_stats);
	ends = start_event_user(false);
	sleeps = start_event_user(true);
	exits = exits_event();
	event = open_event(exits);
	result(is_in_use("kvm"), "kvm_is_in_use_by_an_event");
	close(event);
	result(unloads("kvm"), "kvm_unloads_after_the_last_close");
	result(ends_well(&ends), "process_that_had_an_event_ends_without_kvm");
	result(ends_well(&sleeps), "process_that_had_an_event_is_scheduled_without_kvm");

	result(access("/sys/bus/event_source/devices/kvm", F_OK), "events_go_with_kvm");
	result(loads_and_unloads_beside_opener_of((struct perf_event_attr) {
			.type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_PAGE_FAULTS,
	       }), "kvm_unloads_while_others_open_events");
	/* The PMU gets the same number again. */
	result(loads_and_unloads_beside_opener_of(exits),
	       "kvm_loads_and_unloads_while_others_open_its_events");
	result(loads("/modules/kvm.ko") && loads(vendor_path), "modules_load_again");
	vm = tiny_vm_create();
	vcpu_stats = stats_fd(vm.vcpu);
	result(tiny_vm_run(&vm) && has_counted(read_content(vcpu_stats)), "new_vm_runs_and_counts");
	return 0;
}
