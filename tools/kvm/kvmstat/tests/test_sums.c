// SPDX-License-Identifier: GPL-2.0
/*
 * Sums of debugfs, on a host of the test's own: directories that look like /proc and like
 * KVM's in debugfs, and a KVM that gives its statistics files to nobody. What is there, what
 * goes away, and what commands make of it; and what its threads tell of each vCPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/command.h"
#include "image.h"
#include "model/tracker.h"
#include "output.h"
#include "render/render_screen.h"
#include "sources/discover.h"
#include "sources/replay.h"
#include "sources/sums.h"
#include "tap.h"
#include "util/util.h"

static char *directory;
static char *proc;
static char *debugfs;
static bool vmm_opens_files;

/* A process with one VM, @fd, of so many vCPUs. */
static void add_process(pid_t pid, const char *comm, int fd, int vcpus)
{
	int i;

	shell("mkdir -p %s/%d/fd %s/%d/task/%d", proc, pid, proc, pid, pid);
	shell("echo '%s' >%s/%d/comm", comm, proc, pid);
	shell("printf 'Tgid:\\t%d\\n' >%s/%d/status", pid, proc, pid);
	shell("ln -s anon_inode:kvm-vm %s/%d/fd/%d", proc, pid, fd);
	for (i = 0; i < vcpus; i++)
		shell("ln -s anon_inode:kvm-vcpu:%d %s/%d/fd/%d", i, proc, pid, 100 + i);
}

static void set_value(const char *vm, const char *name, const char *value)
{
	shell("mkdir -p %s/%s && echo '%s' >'%s/%s/%s'", debugfs, vm, value, debugfs, vm, name);
}

/* As Linux 5.10 has it on x86, and more. */
static void add_debugfs(const char *vm)
{
	shell("mkdir -p %s/%s/vcpu0 %s/%s/vcpu1 %s/%s/others", debugfs, vm, debugfs, vm, debugfs,
	      vm);
	shell("echo -5 >%s/%s/vcpu0/tsc-offset", debugfs, vm);
	set_value(vm, "exits", "1000");
	set_value(vm, "halt_exits", "70");
	set_value(vm, "irq_window", "30");
	set_value(vm, "irq_injections", "20");
	set_value(vm, "halt_poll_success_ns", "5000000000");
	set_value(vm, "largepages", "3");
	set_value(vm, "max_mmu_page_hash_collisions", "4");
	set_value(vm, "zebra", "18446744073709551615");
	set_value(vm, "aardvark", "1");
	set_value(vm, "guest doorbell", "2");
	set_value(vm, "two words", "2");
	set_value(vm, "halt_wait_hist", "8");
	set_value(vm, "offset", "-8");
	set_value(vm, "hex", "0x10");
	set_value(vm, "several", "1\n2");
	set_value(vm, "table", "level 4K 2M");
	shell(": >%s/%s/empty", debugfs, vm);
}

static int own_get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
			 uint64_t *vm, struct host_error *error)
{
	static const struct image_stat stats[] = { { .name = "exits", }, {}, };
	struct image image;
	int file;

	(void)host;
	(void)pid;
	*vm = 0;
	*error = (struct host_error) { .step = HOST_STATS, .err = EIO, .capability = 1, };
	if (!fd->is_stats || !vmm_opens_files)
		return -1;
	image = image_build("held", stats);
	file = image_to_file(&image, 0, STATSFILE_MMAP).fd;
	image_free(&image);
	return file;
}

static int own_open_process(const struct host *host, pid_t pid, struct host_error *error)
{
	char *path = xasprintf("%s/%d", host->proc, pid);
	int fd = open(path, O_PATH | O_CLOEXEC);

	*error = (struct host_error) { .step = HOST_OPEN, .err = ESRCH, };
	free(path);
	return fd;
}

static bool own_is_gone(int process)
{
	return faccessat(process, "comm", F_OK, 0);
}

static bool own_is_dead(int stats)
{
	(void)stats;
	return false;
}

static struct host own_host = {
	.list = host_list,
	.list_fds = host_list_fds,
	.identify = host_identify,
	.thread_group = host_thread_group,
	.read_threads = host_read_threads,
	.list_debugfs = host_list_debugfs,
	.read_debugfs = host_read_debugfs,
	.get_stats = own_get_stats,
	.open_process = own_open_process,
	.is_gone = own_is_gone,
	.is_dead = own_is_dead,
	.access = STATSFILE_MMAP,
};

static void set_up(void)
{
	directory = xasprintf("/tmp/kvmstat-sums-XXXXXX");
	if (!mkdtemp(directory))
		abort();
	proc = xasprintf("%s/proc", directory);
	debugfs = xasprintf("%s/debugfs", directory);
	shell("mkdir -p %s/self/ns %s/1 %s", proc, proc, debugfs);
	own_host.proc = proc;
	own_host.debugfs = debugfs;
}

static void tear_down(void)
{
	shell("rm -r %s", directory);
	free(directory);
	free(proc);
	free(debugfs);
}

static int read_vm(pid_t pid, int fd, struct debugfs_vm *vm)
{
	return debugfs_read(debugfs, pid, fd, vm);
}

static void test_read(void)
{
	struct debugfs_vm vm;
	size_t i, others = 0;

	set_up();
	check_number(read_vm(100, 11, &vm), -ENOENT, "read: no such VM");
	add_debugfs("100-11");
	check(!read_vm(100, 11, &vm) && vm.pid == 100, "read: a VM");
	check_number(vm.num_vcpus, 2, "read: vCPUs are counted by their directories");
	for (i = 0; i < vm.count; i++)
		others += !strcmp(vm.value[i].file, "offset") || !strcmp(vm.value[i].file, "hex") ||
			  !strcmp(vm.value[i].file, "several") ||
			  !strcmp(vm.value[i].file, "table") || !strcmp(vm.value[i].file, "empty");
	check(vm.count == 12 && !others, "read: files with one decimal number, no others");
	check(!strcmp(vm.value[0].file, "aardvark") && vm.value[0].value == 1 &&
	      vm.value[11].value == UINT64_MAX, "read: the numbers, in the order of the names");
	free(vm.value);
	check_number(read_vm(99, 11, &vm), -ENOENT, "read: of another process");
	tear_down();
}

static int list(struct debugfs_dirs *dirs)
{
	return debugfs_list(debugfs, proc, dirs);
}

static void test_list(void)
{
	struct debugfs_dirs dirs;

	set_up();
	check(!list(&dirs) && !dirs.count, "list: no VMs");
	shell("cd %s && mkdir 100-11 99-12 100-9 1234567-0 && echo 1 >exits", debugfs);
	shell("cd %s && mkdir 5 -- -5 5- 0-5 5--1 5-1x 5-1-1 x-1 12345678901234567-1", debugfs);
	shell("echo 1 >%s/5-5", debugfs);
	check(!list(&dirs) && dirs.count == 4, "list: directories of VMs, and nothing else");
	check(dirs.dir[0].pid == 99 && dirs.dir[0].fd == 12 && dirs.dir[1].fd == 9 &&
	      dirs.dir[2].fd == 11 && dirs.dir[3].pid == 1234567, "list: in their order");
	check(dirs.dir[1].ino != dirs.dir[2].ino && !dirs.dir[1].process && !dirs.dir[1].seen,
	      "list: each is another one");
	free(dirs.dir);
	shell("ln -s 'pid:[4026532000]' %s/self/ns/pid", proc);
	check_number(list(&dirs), -ENOTSUP, "list: pids of another namespace");
	shell("ln -sf 'pid:[4026531836]' %s/self/ns/pid", proc);
	check(!list(&dirs), "list: pids of the first one");
	free(dirs.dir);
	shell("mv %s %s/away", debugfs, directory);
	check_number(list(&dirs), -ENODEV, "list: KVM has nothing in debugfs");
	tear_down();
}

static void test_too_many(void)
{
	struct debugfs_vm vm;

	set_up();
	shell("mkdir %s/1-1 && cd %s/1-1 && for i in $(seq %u); do echo $i >s$i; done", debugfs,
	      debugfs, DEBUGFS_MAX_VALUES);
	check(!read_vm(1, 1, &vm) && vm.count == DEBUGFS_MAX_VALUES, "many: as many as possible");
	free(vm.value);
	set_value("1-1", "more", "1");
	check_number(read_vm(1, 1, &vm), -E2BIG, "many: and one more");
	tear_down();
}

static const struct statsfile_desc *find(const struct statsfile_schema *schema, const char *name)
{
	unsigned int i;

	for (i = 0; i < schema->num_desc; i++) {
		if (!strcmp(schema->desc[i].name, name))
			return &schema->desc[i];
	}
	return NULL;
}

/* 0 of what there is not. */
static uint64_t value_of(const struct vm *vm, enum scope of, const char *name)
{
	const struct statsfile_desc *desc = find(of == SCOPE_VM ? vm->file.schema :
						 vm->file.vcpu_schema, name);
	struct statsfile_error error;
	uint64_t values[64] = {};

	if (of == SCOPE_VM ? statsfile_read(&vm->file, values, &error) :
	    vm_read_vcpu(vm, 0, values, &error))
		abort();
	return desc ? values[desc->first] : 0;
}

/* What root is refused there no directory of a test refuses it. */
static unsigned int num_denied;

static int own_read_debugfs(const struct host *host, pid_t pid, int fd, struct debugfs_vm *vm)
{
	int ret = host_read_debugfs(host, pid, fd, vm);

	if (!ret)
		vm->num_denied = num_denied;
	return ret;
}

static void test_locked_down(void)
{
	struct inventory inventory;

	set_up();
	add_process(100, "qemu", 11, 2);
	set_value("100-11", "blocking", "1");
	num_denied = 40;
	own_host.read_debugfs = own_read_debugfs;
	discover_init(&inventory, &own_host);
	check(!inventory_look(&inventory, NULL) && inventory.num_vms == 1 &&
	      value_of(inventory.vm[0], SCOPE_VCPU, "blocking") == 1,
	      "lockdown: what it leaves is seen");
	check_contains(inventory.problem[0], "sums of all vCPUs, without 40 that may not be read",
		       "lockdown: which is said");
	check(inventory.incomplete, "lockdown: something is missing");
	own_host.read_debugfs = host_read_debugfs;
	inventory_free(&inventory);
	tear_down();
}

static void test_statistics(void)
{
	const struct statsfile_desc *desc;
	struct inventory inventory;
	const struct vm *vm;

	set_up();
	add_process(100, "qemu", 11, 2);
	add_debugfs("100-11");
	discover_init(&inventory, &own_host);
	check(!inventory_look(&inventory, NULL) && inventory.num_vms == 1 &&
	      !inventory.incomplete, "statistics: a VM is found, and nothing is missing");
	vm = inventory.vm[0];
	check_text(vm->file.id, "debugfs/100-11", "statistics: its id says where they come from");
	check_text(vm_source(vm), "debugfs", "statistics: and its source");
	check(vm_has_sums(vm) && vm_count_vcpus(vm) == 2, "statistics: it has two vCPUs");
	check(inventory.num_problems == 1 && strstr(inventory.problem[0], "debugfs' sums"),
	      "statistics: which is said");

	check_number(value_of(vm, SCOPE_VCPU, "exits"), 1000, "statistics: exits");
	check_number(value_of(vm, SCOPE_VCPU, "irq_window_exits"), 30,
		     "statistics: one that 5.10 calls otherwise");
	check_number(value_of(vm, SCOPE_VM, "lpages"), 3, "statistics: one of the VM");
	check_number(value_of(vm, SCOPE_VM, "zebra"), UINT64_MAX, "statistics: one not known");
	check(!find(vm->file.vcpu_schema, "halt_wait_hist") && !find(vm->file.schema, "two words"),
	      "statistics: no part of a histogram, no name with a blank");

	desc = find(vm->file.vcpu_schema, "halt_poll_success_ns");
	check(desc && desc->exponent == -9 && statsfile_unit(desc) == KVM_STATS_UNIT_SECONDS &&
	      statsfile_type(desc) == KVM_STATS_TYPE_CUMULATIVE, "statistics: a time");
	desc = find(vm->file.schema, "max_mmu_page_hash_collisions");
	check(desc && statsfile_type(desc) == KVM_STATS_TYPE_PEAK, "statistics: a peak");
	desc = find(vm->file.schema, "zebra");
	check(desc && statsfile_type(desc) == KVM_STATS_TYPE_CUMULATIVE &&
	      desc == &vm->file.schema->desc[vm->file.schema->num_desc - 1],
	      "statistics: what is not known is a counter, and comes last");
	inventory_free(&inventory);
	tear_down();
}

static uint64_t own_ns;

static uint64_t own_now_ns(void)
{
	return own_ns;
}

static void sample_at(struct tracker *tracker, uint64_t now_ns)
{
	const struct time_source own_time = { .now_ns = own_now_ns, };

	own_ns = now_ns;
	time_source = &own_time;
	if (tracker_sample(tracker))
		abort();
	time_source = &machine_time;
}

static void sample(struct tracker *tracker, uint64_t seconds)
{
	sample_at(tracker, seconds * NSEC_PER_SEC);
}

static void test_time(void)
{
	struct inventory inventory;
	struct tracker tracker;

	set_up();
	add_process(100, "qemu", 11, 2);
	add_debugfs("100-11");
	discover_init(&inventory, &own_host);
	tracker_init(&tracker, &inventory);
	sample(&tracker, 10);
	set_value("100-11", "exits", "1600");
	set_value("100-11", "new", "5");
	sample(&tracker, 12);
	check(tracker.num_vms == 1 && tracker.vm[0]->rates.known[RATE_EXITS] &&
	      tracker.vm[0]->rates.per_second[RATE_EXITS] == 300, "time: exits per second");
	check_number(tracker.vm[0]->num_vcpus, 2, "time: of two vCPUs");
	shell("mkdir %s/100-11/vcpu2", debugfs);
	sample(&tracker, 14);
	check_number(tracker.vm[0]->num_vcpus, 3, "time: and of a third one");
	set_value("100-11", "exits", "1700");
	shell("rm %s/100-11/zebra", debugfs);
	sample(&tracker, 16);
	check(tracker.num_vms == 1 && tracker.vm[0]->ended && !inventory.num_vms,
	      "time: if it ends while it is read it has ended");
	shell("rm %s/100/fd/*", proc);
	sample(&tracker, 18);
	check(!inventory.num_vms && inventory.num_problems == 1, "time: and nothing is wrong");
	tracker_free(&tracker);
	inventory_free(&inventory);
	tear_down();
}

static int read_error;

static int failing_read(const struct host *host, pid_t pid, int fd, struct debugfs_vm *vm)
{
	if (read_error)
		return read_error;
	return host_read_debugfs(host, pid, fd, vm);
}

/* Whether a VM is gone after this. */
static bool ends_by(int error)
{
	struct inventory inventory;
	struct tracker tracker;
	uint64_t values[64];
	struct statsfile_error text;
	bool ended;

	set_up();
	add_process(100, "qemu", 11, 2);
	add_debugfs("100-11");
	own_host.read_debugfs = failing_read;
	discover_init(&inventory, &own_host);
	tracker_init(&tracker, &inventory);
	sample(&tracker, 10);
	read_error = error;
	sample_at(&tracker, 10 * NSEC_PER_SEC + NSEC_PER_SEC / 2);
	ended = tracker.vm[0]->ended;
	sample_at(&tracker, 10 * NSEC_PER_SEC + NSEC_PER_SEC / 4 * 3);
	check(inventory.num_problems == (ended ? 1 : 2), "%s: is said once, if at all",
	      strerror(-error));
	read_error = 0;
	if (!ended) {
		check(!vm_read_vcpu(inventory.vm[0], 0, values, &text) && values[0],
		      "%s: the last values stay", strerror(-error));
		set_value("100-11", "exits", "1600");
		sample(&tracker, 12);
		check(tracker.num_vms == 1 && tracker.vm[0]->vm == inventory.vm[0] &&
		      tracker.vm[0]->rates.known[RATE_EXITS], "%s: it goes on",
		      strerror(-error));
	}
	tracker_free(&tracker);
	inventory_free(&inventory);
	own_host.read_debugfs = host_read_debugfs;
	tear_down();
	return ended;
}

static void test_errors(void)
{
	static const struct {
		int error;
		bool ends;
	} cases[] = {
		{ -ENOENT, true, }, { -ESRCH, true, }, { -ENODEV, true, },
		{ -EPERM, true, },
		{ -EMFILE, false, }, { -ENFILE, false, }, { -ENOMEM, false, },
		{ -EACCES, false, }, { -EIO, false, },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(ends_by(cases[i].error) == cases[i].ends, "%s: whether it is an end",
		      strerror(-cases[i].error));
}

/* Nothing of a VM is shown, until debugfs is mounted. */
static void test_later(void)
{
	struct inventory inventory;

	set_up();
	add_process(100, "qemu", 11, 2);
	add_debugfs("100-11");
	shell("mv %s %s/away", debugfs, directory);
	discover_init(&inventory, &own_host);
	check(!inventory_look(&inventory, NULL) && inventory.num_vms == 1 &&
	      !vm_has_statistics(inventory.vm[0]) && inventory.incomplete &&
	      strstr(inventory.problem[0], "where it is mounted"), "later: not there yet");
	shell("mv %s/away %s", directory, debugfs);
	check(!inventory_look(&inventory, NULL) && inventory.num_vms == 1 &&
	      vm_has_sums(inventory.vm[0]), "later: it is there");
	check(inventory.num_problems == 2 && strstr(inventory.problem[1], "debugfs' sums"),
	      "later: which is said");
	inventory_free(&inventory);
	tear_down();
}

/* It is known which is which. */
static void test_several(void)
{
	struct inventory inventory;

	set_up();
	add_process(100, "vmm", 11, 2);
	shell("ln -s anon_inode:kvm-vm %s/100/fd/12", proc);
	add_debugfs("100-11");
	discover_init(&inventory, &own_host);
	add_debugfs("100-12");
	set_value("100-12", "exits", "5");
	shell("rmdir %s/100-12/vcpu1", debugfs);
	check(!inventory_look(&inventory, NULL) && inventory.num_vms == 2 &&
	      value_of(inventory.vm[0], SCOPE_VCPU, "exits") == 1000 &&
	      value_of(inventory.vm[1], SCOPE_VCPU, "exits") == 5,
	      "several VMs: each has its sums");
	check(vm_count_vcpus(inventory.vm[0]) == 2 && vm_count_vcpus(inventory.vm[1]) == 1,
	      "several VMs: and its vCPUs");
	check(inventory.vm[0]->file.schema == inventory.vm[1]->file.schema,
	      "several VMs: they share what describes them");
	shell("rm -r %s/100-11 %s/100/fd/11", debugfs, proc);
	inventory_update(&inventory, inventory.vm[0]);
	inventory_update(&inventory, inventory.vm[1]);
	check(inventory.vm[0]->dead && !inventory.vm[1]->dead, "several VMs: one of them ends");
	inventory_forget_dead(&inventory);
	check(!inventory_look(&inventory, NULL) && inventory.num_vms == 1,
	      "several VMs: the other one is found once");
	inventory_free(&inventory);
	tear_down();
}

static bool sees(struct inventory *inventory, size_t vms)
{
	size_t i;

	if (inventory_look(inventory, NULL) || inventory->num_vms != vms)
		return false;
	for (i = 0; i < vms && vm_has_sums(inventory->vm[i]); i++)
		;
	return i == vms;
}

/* VMMs make some, and debugfs has none of them. */
static void test_copies(void)
{
	struct inventory inventory;

	set_up();
	add_process(100, "crosvm", 11, 2);
	shell("cd %s/100/fd && cp -d 11 12 && cp -d 11 13", proc);
	add_debugfs("100-12");
	discover_init(&inventory, &own_host);
	check(sees(&inventory, 1), "copies of a file descriptor: are of one VM");
	shell("cd %s/100/fd && cp -d 11 14", proc);
	check(sees(&inventory, 1), "copies of a file descriptor: and later ones");
	shell("cd %s/100/fd && cp -d 11 15", proc);
	add_debugfs("100-15");
	check(sees(&inventory, 2), "copies of a file descriptor: a VM that is made later");
	check(!inventory.incomplete && inventory.num_problems == 1,
	      "copies of a file descriptor: nothing is missing");
	shell("cd %s/100/fd && cp -d 11 16", proc);
	add_debugfs("100-16");
	read_error = -EMFILE;
	own_host.read_debugfs = failing_read;
	check(sees(&inventory, 2) && inventory.incomplete && inventory.num_problems == 2,
	      "copies of a file descriptor: a VM that cannot be read is said to be missing");
	read_error = 0;
	check(sees(&inventory, 3) && inventory.num_problems == 2,
	      "copies of a file descriptor: until it can");
	own_host.read_debugfs = host_read_debugfs;
	inventory_free(&inventory);
	tear_down();
}

/* One VM ends, and the process makes another one, which has all its numbers. */
static void test_replaced(void)
{
	struct inventory inventory;
	struct tracker tracker;
	const struct tracked_vm *last;

	set_up();
	add_process(100, "qemu", 11, 2);
	add_debugfs("100-11");
	discover_init(&inventory, &own_host);
	tracker_init(&tracker, &inventory);
	sample(&tracker, 10);
	sample(&tracker, 12);
	shell("mv %s/100-11 %s/away", debugfs, directory);
	add_debugfs("100-11");
	set_value("100-11", "exits", "5000");
	sample(&tracker, 14);
	check(tracker.num_vms >= 1 && tracker.vm[0]->ended &&
	      !tracker.vm[0]->rates.per_second[RATE_EXITS], "replaced: the first one has ended");
	sample(&tracker, 16);
	last = tracker.vm[tracker.num_vms - 1];
	check(inventory.num_vms == 1 && tracker.num_vms == 2 && !last->ended &&
	      last->serial > tracker.vm[0]->serial, "replaced: there is another one");
	set_value("100-11", "exits", "5600");
	sample(&tracker, 18);
	check(last->rates.known[RATE_EXITS] && last->rates.per_second[RATE_EXITS] == 300,
	      "replaced: with its own rates");
	check_number(inventory.num_problems, 1, "replaced: nothing is wrong");
	tracker_free(&tracker);
	inventory_free(&inventory);
	tear_down();
}

/* What is asked of the host. */
static unsigned int num_lists, num_reads, num_owners;

static int counting_list(const struct host *host, struct debugfs_dirs *dirs)
{
	num_lists++;
	return host_list_debugfs(host, dirs);
}

static int counting_read(const struct host *host, pid_t pid, int fd, struct debugfs_vm *vm)
{
	num_reads++;
	return host_read_debugfs(host, pid, fd, vm);
}

static pid_t counting_thread_group(const struct host *host, pid_t pid)
{
	num_owners++;
	return host_thread_group(host, pid);
}

static bool asks(struct inventory *inventory, unsigned int lists, unsigned int reads,
		 unsigned int owners)
{
	num_lists = 0;
	num_reads = 0;
	num_owners = 0;
	return !inventory_look(inventory, NULL) && num_lists == lists && num_reads == reads &&
	       num_owners == owners;
}

/* VMs that debugfs does not have, and threads: all anybody can have as many as he likes. */
static void test_cost(void)
{
	struct inventory inventory;
	struct host host;
	int i;

	set_up();
	host = own_host;
	host.list_debugfs = counting_list;
	host.read_debugfs = counting_read;
	host.thread_group = counting_thread_group;
	for (i = 100; i < 103; i++) {
		add_process(i, "vmm", 11, 1);
		shell("cd %s/%d/fd && for i in $(seq 1000 1099); do cp -d 11 $i; done", proc, i);
		shell("cd %s/%d/task && for i in $(seq 500); do mkdir -p $i; done", proc, i);
	}
	discover_init(&inventory, &host);
	shell("mv %s %s/away", debugfs, directory);
	check(asks(&inventory, 1, 0, 0), "cost: without debugfs nothing but whether it is there");
	check(inventory.num_vms == 3 && !vm_has_statistics(inventory.vm[0]), "cost: VMs are seen");
	shell("mv %s/away %s", directory, debugfs);
	set_value("103-11", "exits", "3");
	check(asks(&inventory, 1, 0, 1), "cost: one that has none of them is read once");
	set_value("100-11", "exits", "1");
	shell("mkdir %s/77 && printf 'Tgid:\t101\n' >%s/77/status", proc, proc);
	set_value("77-11", "exits", "2");
	check(asks(&inventory, 1, 2, 2), "cost: what is new in it is looked at");
	check(inventory.num_vms == 3 && vm_has_sums(inventory.vm[0]) &&
	      value_of(inventory.vm[1], SCOPE_VCPU, "exits") == 2 &&
	      !vm_has_statistics(inventory.vm[2]), "cost: and seen, whichever thread has made it");
	check(asks(&inventory, 1, 0, 0), "cost: once");
	inventory_free(&inventory);
	tear_down();
}

/* What the VMM has open has each vCPU. */
static void test_vmm(void)
{
	struct inventory inventory;
	struct vm *vm;

	set_up();
	add_process(100, "qemu", 11, 0);
	add_debugfs("100-11");
	discover_init(&inventory, &own_host);
	check(!inventory_look(&inventory, NULL) && inventory.num_vms == 1 &&
	      !vm_has_statistics(inventory.vm[0]) && !inventory.num_problems,
	      "VMM: before there is a vCPU it may still open its files");
	shell("ln -s anon_inode:kvm-vcpu:0 %s/100/fd/100", proc);
	check(!inventory_look(&inventory, NULL) && inventory.num_vms == 1 &&
	      vm_has_sums(inventory.vm[0]), "VMM: then it has none");
	vmm_opens_files = true;
	shell("ln -s anon_inode:kvm-vcpu-stats:0 %s/100/fd/101", proc);
	check(!inventory_look(&inventory, NULL) && inventory.num_vms == 2 &&
	      inventory.vm[0]->dead, "VMM: if it opens some later, these are taken");
	inventory_forget_dead(&inventory);
	vm = inventory.vm[0];
	check(vm->num_vcpus == 1 && vm->vcpu[0].number == 0 && !vm_has_sums(vm) &&
	      !strcmp(vm_source(vm), "vmm"), "VMM: with each vCPU");
	inventory_free(&inventory);
	vmm_opens_files = false;
	tear_down();
}

/* As the kernel writes it: times in ticks, of the user with those of the guest. */
static void set_thread(pid_t tid, const char *name, unsigned int guest, unsigned int kernel)
{
	char *file = xasprintf("%s/100/task/%d/stat", proc, tid);

	shell("mkdir -p %s/100/task/%d", proc, tid);
	shell("echo '%d (%s) S 1 1 1 0 -1 64 9 9 9 9 %u %u 7 7 20 0 3 0 99 99 99%s %u 6' >%s", tid,
	      name, guest, kernel, " 9 9 9 9 9 9 9 9 9 9 0 0 0 17 1 0 0 5", guest, file);
	free(file);
	shell("echo '1000 0 5' >%s/100/task/%d/schedstat", proc, tid);
}

/* In a second of which the first vCPU has a half in the guest, and the second a quarter in KVM. */
static void pass_second(struct tracker *tracker, uint64_t seconds, const char *first,
			const char *second)
{
	unsigned int ticks = sysconf(_SC_CLK_TCK);

	set_thread(101, first, seconds * ticks / 2, 0);
	set_thread(102, second, 1, seconds * ticks / 4);
	sample(tracker, seconds);
}

/* What kvmstat top shows, without the lines that are empty. */
static char *draw(struct view *view)
{
	struct screen screen = { .lines = 24, .columns = 80, };
	unsigned int i, j, length;
	size_t size;
	char *text;
	FILE *out;

	out = open_memstream(&text, &size);
	render_screen(&screen, view);
	for (i = 0; i < screen.lines; i++) {
		for (length = screen.columns; length; length--) {
			if (screen.cell[i * screen.columns + length - 1].character != ' ')
				break;
		}
		for (j = 0; j < length; j++)
			fputc(screen.cell[i * screen.columns + j].character, out);
		if (length)
			fputc('\n', out);
	}
	fclose(out);
	screen_free(&screen);
	return text;
}

struct busy {
	struct inventory inventory;
	struct tracker tracker;
	struct view view;
};

static void begin_busy(struct busy *busy)
{
	set_up();
	add_process(100, "qemu", 11, 2);
	discover_init(&busy->inventory, &own_host);
	tracker_init(&busy->tracker, &busy->inventory);
	busy->tracker.reads_threads = true;
}

/* Three samples, and a look into the VM. */
static char *look_into(struct busy *busy, const char *first, const char *second)
{
	unsigned int i;

	for (i = 10; i < 13; i++)
		pass_second(&busy->tracker, i, first, second);
	view_init(&busy->view, &busy->tracker, NSEC_PER_SEC);
	view_update(&busy->view);
	view_press(&busy->view, PRESS_ENTER);
	view_update(&busy->view);
	return draw(&busy->view);
}

static void end_busy(struct busy *busy)
{
	view_free(&busy->view);
	tracker_free(&busy->tracker);
	inventory_free(&busy->inventory);
	tear_down();
}

static void test_busy(void)
{
	struct busy busy;
	char *text;

	begin_busy(&busy);
	add_debugfs("100-11");
	text = look_into(&busy, "CPU 0/KVM", "CPU 1/KVM");
	check_contains(text, "\n     0 busy       ~50   ~0   ~0     ~0  ~50 ", "busy: a vCPU");
	check_contains(text, "\n     1 exits       ~0  ~25   ~0     ~0  ~75 ", "busy: another one");
	check_contains(text, "\n   sum idle?      ~25  ~12   ~0     ~0  ~62 ",
		       "busy: and that of their sum");
	check(!strstr(text, "is a thread"), "busy: it is known which is which");
	free(text);
	busy.view.list[VIEW_VM].at = 0;
	view_press(&busy.view, PRESS_ENTER);
	check_number(busy.view.level, VIEW_VM, "busy: of a vCPU there is nothing more");
	view_press(&busy.view, PRESS_END);
	while (view_vcpu(&busy.view)->number != VCPU_SUM)
		view_press(&busy.view, PRESS_UP);
	view_press(&busy.view, PRESS_ENTER);
	check_number(busy.view.level, VIEW_VCPU, "busy: of the sum there is");
	view_update(&busy.view);
	text = draw(&busy.view);
	check_contains(text, "qemu, pid 100, debugfs/100-11, sum of vCPUs ", "busy: all of it");
	free(text);
	end_busy(&busy);

	begin_busy(&busy);
	text = look_into(&busy, "qemu", "qemu");
	check_contains(text, "\n  t101 busy       ~50   ~0   ~0     ~0  ~50 ",
		       "busy: threads that do not say what they run");
	check_contains(text, "\n  t102 exits       ~0  ~25   ~0     ~0  ~75 ",
		       "busy: both of them");
	check_contains(text, "t1234 is a thread: which vCPU it runs is not known.\n"
		       "Its statistics are not available.\n", "busy: which is said");
	free(text);
	end_busy(&busy);
}

static void test_busy_held(void)
{
	struct busy busy;
	char *text;

	begin_busy(&busy);
	vmm_opens_files = true;
	shell("ln -s anon_inode:kvm-vcpu-stats:0 %s/100/fd/111", proc);
	shell("ln -s anon_inode:kvm-vcpu-stats:1 %s/100/fd/112", proc);
	text = look_into(&busy, "CPU 0/KVM", "CPU 1/KVM");
	check_contains(text, "\n     0 busy       ~50   ~0   ~0     ~0  ~50 ",
		       "busy: a vCPU that has statistics");
	check_contains(text, "\n     1 exits       ~0  ~25   ~0     ~0  ~75 ",
		       "busy: and its thread no line of its own");
	check_number(busy.tracker.vm[0]->num_tracked_threads, 0, "busy: of which there is none");
	free(text);
	vmm_opens_files = false;
	end_busy(&busy);
}

static int keep_privileges(unsigned int uses)
{
	(void)uses;
	return STATUS_OK;
}

static void test_commands(void)
{
	char *output;
	int status;

	set_up();
	command_host = &own_host;
	add_process(100, "qemu", 11, 2);
	add_debugfs("100-11");
	output = output_of(command_list, "list", &status);
	check_number(status, STATUS_OK, "commands: list has all that there is");
	check_contains(output, "100 debugfs/100-11    2 -              0        0        0 -          debugfs qemu\n",
		       "commands: list says where it comes from");
	free(output);
	output = output_of(command_show, "show -p 100", &status);
	check_contains(output, "qemu, pid 100, VM debugfs/100-11:\n", "commands: show of the VM");
	check_contains(output, "qemu, pid 100, sum of 2 vCPUs:\n", "commands: show of the vCPUs");
	check(status == STATUS_OK && strstr(output, "irq_window_exits"), "commands: show is fine");
	free(output);
	output = output_of(command_show, "show -p 100 -c 0", &status);
	check_number(status, STATUS_ERROR, "commands: show of a vCPU");
	check_contains(output, "pid 100 has no vCPU 0 by itself, debugfs has sums of all\n",
		       "commands: there are no values of a vCPU");
	free(output);
	output = output_of(command_hist, "hist -p 100", &status);
	check_contains(output, "kvmstat: there is no histogram\n",
		       "commands: hist has nothing to show");
	check_number(status, STATUS_ERROR, "commands: which is an error");
	free(output);
	shell("rm -r %s", debugfs);
	output = output_of(command_list, "list", &status);
	check_contains(output, "QEMU 8.1 or newer has; debugfs has sums, where it is mounted\n",
		       "commands: what helps");
	check_contains(output, " proc ", "commands: what is left is /proc");
	check_number(status, STATUS_ERROR, "commands: something is missing then");
	free(output);
	command_host = &this_host;
	tear_down();
}

static int run_replayed_list(int argc, char **argv)
{
	return replay_begin(true) ? command_list(argc - 1, argv + 1) : STATUS_ERROR;
}

static int run_replay(int argc, char **argv)
{
	return command_replay(argc, argv, run_replayed_list);
}

static void test_recording(void)
{
	char *live, *line, *replayed;
	int status;

	set_up();
	command_host = &own_host;
	add_process(100, "qemu", 11, 2);
	add_debugfs("100-11");
	line = xasprintf("record %s/recording 0.01 1", directory);
	free(output_of(command_record, line, &status));
	free(line);
	check_number(status, STATUS_OK, "recording: is made");
	live = output_of(command_list, "list", &status);
	command_host = &this_host;
	line = xasprintf("replay %s/recording list", directory);
	replayed = output_of(run_replay, line, &status);
	/* What was wrong is said first, in a line; and how long it was looked at last. */
	*strstr(live, "CPU shares") = '\0';
	*strstr(replayed, "CPU shares") = '\0';
	check_text(replayed, strchr(live, '\n') + 1,
		   "recording: has the same VM, of as many vCPUs, and their sums");
	free(line);
	free(live);
	free(replayed);
	tear_down();
}

int main(void)
{
	drop_privileges = keep_privileges;
	unsetenv("COLUMNS");
	test_read();
	test_list();
	test_too_many();
	test_statistics();
	test_locked_down();
	test_time();
	test_errors();
	test_later();
	test_several();
	test_copies();
	test_replaced();
	test_cost();
	test_vmm();
	test_busy();
	test_busy_held();
	test_commands();
	test_recording();
	return tap_end();
}
