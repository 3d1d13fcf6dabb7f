// SPDX-License-Identifier: GPL-2.0
/*
 * Discovery, on the test's host: a directory that looks like /proc, and statistics files in
 * memfds, with or without the vCPUs of a VM. Each test chooses when processes die, file
 * descriptors are closed and reused, or permission is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"
#include "model/model.h"
#include "sources/discover.h"
#include "sources/proc.h"
#include "tap.h"
#include "tree.h"
#include "util/util.h"

#define MAX_OBJECTS 512
#define MAX_FDS 1024
#define VCPU_MAX 8
#define LAST_PID 999
#define ALL_BUT_LAST (-1)

static const struct image_stat vm_stats[] = {
	{ .name = "online_vcpus", },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	{ .name = "halt_exits", },
	{},
};

/* The file behind a file descriptor of a process. */
struct object {
	pid_t pid;
	int fd;
	int link;
	bool is_held;		/* a statistics file that the VMM holds */
	uint64_t count;		/* its first value */
	const char *id;
	const struct image_stat *stats;
	uint64_t vm;		/* number in fdinfo; 0: the kernel gives none */
	int err;		/* of KVM_GET_STATS_FD */
	bool malformed;
	unsigned int windows;	/* more than 0: it shows its vCPUs; so many exist */
};

static struct {
	struct object object[MAX_OBJECTS];
	size_t num_objects;
	bool dead[MAX_FDS];		/* by file descriptor of a statistics file */
	unsigned int num_asked;
	unsigned int num_identified;
	pid_t thread;			/* of process 100 */
	pid_t dies_when_asked;
	pid_t dies_when_answered;
	pid_t refuses;
	pid_t is_silent;		/* see struct silence; or ALL_BUT_LAST */
	unsigned int max_files;		/* 0: no limit */
	struct proc_pids makers;
} fake;

static void add_process(pid_t pid, const char *comm)
{
	tree_make("%d/fd/", pid);
	tree_text(comm, "%d/comm", pid);
}

static void remove_process(pid_t pid)
{
	tree_remove("%d", pid);
}

static void add_link(pid_t pid, int fd, const char *target)
{
	tree_link(target, "%d/fd/%d", pid, fd);
}

static void close_fd(pid_t pid, int fd)
{
	tree_remove("%d/fd/%d", pid, fd);
}

static struct object *add_file(struct object file)
{
	struct object *object = &fake.object[fake.num_objects++];
	const char *stats = file.is_held ? "-stats" : "";
	char target[64];

	*object = file;
	object->stats = file.link == LINK_VM ? vm_stats : vcpu_stats;
	if (file.link == LINK_VM)
		snprintf(target, sizeof(target), "anon_inode:kvm-vm%s", stats);
	else
		snprintf(target, sizeof(target), "anon_inode:kvm-vcpu%s:%d", stats, file.link);
	add_link(file.pid, file.fd, target);
	return object;
}

static struct object *add_object(pid_t pid, int fd, int link, const char *id, uint64_t vm)
{
	return add_file((struct object) {
		.pid = pid, .fd = fd, .link = link, .id = id, .vm = vm,
	});
}

/* A file that the VMM holds, on a kernel whose files do not say which VM they belong to. */
static struct object *add_held(pid_t pid, int fd, int link, const char *id)
{
	return add_file((struct object) {
		.pid = pid, .fd = fd, .link = link, .id = id, .is_held = true,
	});
}

/* A process with a VM, whose file descriptor is 3. */
static struct object *add_vmm(pid_t pid, const char *id, uint64_t vm)
{
	add_process(pid, "vmm\n");
	return add_object(pid, 3, LINK_VM, id, vm);
}

static void write_fdinfo(int stats, uint64_t vm)
{
	char text[128] = "pos:\t0\nflags:\t02000000\nmnt_id:\t15\n";
	size_t length = strlen(text);

	if (vm)
		snprintf(text + length, sizeof(text) - length,
			 "id:\tx\nvm:\t%llu\nstatistics:\t1\nstate:\talive\n",
			 (unsigned long long)vm);
	tree_text(text, "self/fdinfo/%d", stats);
}

static int fake_open_process(const struct host *host, pid_t pid, struct host_error *error)
{
	char *path = tree_path("%d", pid);
	int fd = open(path, O_PATH | O_CLOEXEC);

	(void)host;
	free(path);
	if (fd >= 0 && pid == fake.refuses) {
		*error = (struct host_error) { .step = HOST_OPEN, .err = ENOMEM, };
		close(fd);
		return -1;
	}
	if (fd < 0) {
		*error = (struct host_error) { .step = HOST_OPEN, .err = ESRCH, };
		return -1;
	}
	return fd;
}

static bool fake_is_gone(int process)
{
	return faccessat(process, "comm", F_OK, 0);
}

static bool makes_wait(pid_t pid)
{
	if (fake.is_silent == ALL_BUT_LAST && pid != LAST_PID)
		usleep(100000);
	return pid == fake.is_silent || (fake.is_silent == ALL_BUT_LAST && pid != LAST_PID);
}

static bool fake_identify(const struct host *host, pid_t pid, struct identity *identity)
{
	fake.num_identified++;
	if (!identity->without_memory && makes_wait(pid))
		identity->without_memory = true;
	return host_identify(host, pid, identity);
}

static pid_t fake_thread_group(const struct host *host, pid_t pid)
{
	return fake.thread && pid == fake.thread ? 100 : host_thread_group(host, pid);
}

/* The ids are 10 times the index. */
static struct image build_image(const struct object *object)
{
	struct image image;
	unsigned int i;

	if (!object->windows)
		return image_build(object->id, object->stats);
	image = image_build_ext(object->id, object->stats, vcpu_stats, VCPU_MAX);
	image_values(&image)[0] = object->windows;
	for (i = 0; i < object->windows; i++) {
		image_vcpu_ids(&image)[i] = 10 * i;
		image_vcpu_values(&image, i)[0] = 100 + i;
	}
	return image;
}

static int make_stats(const struct object *object)
{
	struct image image = build_image(object);
	struct statsfile_source source;

	if (object->malformed)
		image_header(&image)->num_desc = 100;
	if (object->is_held)
		image_values(&image)[0] = object->count;
	source = image_to_file(&image, object->windows, STATSFILE_MMAP);
	image_free(&image);
	write_fdinfo(source.fd, object->vm);
	fake.dead[source.fd] = false;
	return source.fd;
}

/* In the kernel's order: window, id and values exist before the vCPU is counted. */
static void add_windows(const struct vm *vm, unsigned int count)
{
	uint64_t online_vcpus = vm->num_vcpus + count;
	const struct statsfile *file = &vm->file;
	uint32_t id;
	size_t i;

	if (ftruncate(file->source.fd, file->data_offset +
		      (1 + online_vcpus) * file->vcpu_stride))
		abort();
	for (i = vm->num_vcpus; i < online_vcpus; i++) {
		id = 10 * i;
		if (pwrite(file->source.fd, &id, sizeof(id),
			   file->vcpu_id_offset + i * sizeof(id)) != sizeof(id))
			abort();
	}
	if (pwrite(file->source.fd, &online_vcpus, sizeof(online_vcpus),
		   file->data_offset) != sizeof(online_vcpus))
		abort();
}

static int fake_get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
			  uint64_t *vm, struct host_error *error)
{
	size_t i;
	int stats;

	fake.num_asked++;
	if (makes_wait(pid)) {
		*error = (struct host_error) { .step = HOST_TAKE, .err = ETIMEDOUT, };
		return -1;
	}
	if (fake.max_files && count_open_files() >= fake.max_files) {
		*error = (struct host_error) { .step = HOST_TAKE, .err = EMFILE, };
		return -1;
	}
	if (pid == fake.dies_when_asked) {
		*error = (struct host_error) { .step = HOST_TAKE, .err = ESRCH, };
		return -1;
	}
	for (i = 0; i < fake.num_objects; i++) {
		struct object *object = &fake.object[i];

		if (object->pid != pid || object->fd != fd->fd || object->link != fd->link ||
		    object->is_held != fd->is_stats)
			continue;
		if (!object->err) {
			stats = make_stats(object);
			*vm = proc_vm_number(host->proc, stats);
			if (pid == fake.dies_when_answered)
				remove_process(pid);
			return stats;
		}
		*error = (struct host_error) {
			.step = object->err == EPERM ? HOST_TAKE : HOST_STATS,
			.err = object->err,
			.capability = 1,
		};
		return -1;
	}
	*error = (struct host_error) { .step = HOST_TAKE, .err = EBADF, };
	return -1;
}

static int fake_list_makers(const struct host *host, struct proc_pids *makers)
{
	(void)host;
	*makers = (struct proc_pids) { .pid = xcalloc(2, sizeof(*makers->pid)), };
	for (; makers->count < fake.makers.count; makers->count++)
		makers->pid[makers->count] = fake.makers.pid[makers->count];
	return 0;
}

/* Each opening makes another file here: compares the content, which includes the id. */
static bool fake_is_same(int fd, int other)
{
	char text[128], other_text[128];

	return pread(fd, text, sizeof(text), 0) == sizeof(text) &&
	       pread(other, other_text, sizeof(text), 0) == sizeof(text) &&
	       !memcmp(text, other_text, sizeof(text));
}

static bool fake_is_dead(int stats)
{
	return fake.dead[stats];
}

static const struct host fake_host = {
	.proc = tree_root,
	.list = host_list,
	.list_fds = host_list_fds,
	.identify = fake_identify,
	.thread_group = fake_thread_group,
	.read_threads = host_read_threads,
	.list_makers = fake_list_makers,
	.get_stats = fake_get_stats,
	.open_process = fake_open_process,
	.is_gone = fake_is_gone,
	.is_same = fake_is_same,
	.is_dead = fake_is_dead,
	.access = STATSFILE_MMAP,
};

static struct inventory inventory;

static void set_up(void)
{
	memset(&fake, 0, sizeof(fake));
	tree_begin();
	tree_make("self/fdinfo/");
	tree_make("sys/");
	discover_init(&inventory, &fake_host);
}

/* Scans all processes. */
static int look(void)
{
	return inventory_look(&inventory, NULL);
}

static void tear_down(void)
{
	inventory_free(&inventory);
	tree_end();
}

static void test_links(void)
{
	static const struct {
		const char *target;
		int link;
		bool is_stats;
	} cases[] = {
		{ "anon_inode:kvm-vm", LINK_VM, false, },
		{ "anon_inode:kvm-vcpu:0", 0, false, },
		{ "anon_inode:kvm-vcpu:1023", 1023, false, },
		{ "anon_inode:kvm-vm-stats", LINK_VM, true, },
		{ "anon_inode:kvm-vcpu-stats:0", 0, true, },
		{ "anon_inode:kvm-vm-stats:0", LINK_OTHER, false, },
		{ "anon_inode:kvm-vcpu-stats:", LINK_OTHER, false, },
		{ "anon_inode:kvm-vcpu:", LINK_OTHER, false, },
		{ "anon_inode:kvm-vcpu:-1", LINK_OTHER, false, },
		{ "anon_inode:kvm-vcpu:0x1", LINK_OTHER, false, },
		{ "anon_inode:kvm-vcpu:99999999999", LINK_OTHER, false, },
		{ "anon_inode:kvm-device", LINK_OTHER, false, },
		{ "anon_inode:[eventfd]", LINK_OTHER, false, },
		{ "/tmp/anon_inode:kvm-vm", LINK_OTHER, false, },
		{ "", LINK_OTHER, false, },
	};
	bool is_stats;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(parse_kvm_link(cases[i].target, &is_stats) == cases[i].link &&
		      (cases[i].link == LINK_OTHER || is_stats == cases[i].is_stats),
		      "link '%s'", cases[i].target);
}

/* See struct silence: not every scan asks it; once it answers, its VM is found. */
static void test_silent_process(void)
{
	unsigned int i;

	set_up();
	add_process(100, "hangs\n");
	tree_write("qemu\0-name\0web\0", 15, "100/cmdline");
	add_object(100, 4, LINK_VM, "kvm-100", 5);
	add_process(200, "answers\n");
	add_object(200, 4, LINK_VM, "kvm-200", 6);
	fake.is_silent = 100;
	look();
	check(inventory.num_vms == 1 && inventory.vm[0]->process->pid == 200,
	      "a silent process: VMs of other processes are found");
	check(inventory.num_problems == 1 && inventory.incomplete &&
	      strstr(inventory.problem[0], "pid 100 (hangs): reading from it takes too long"),
	      "a silent process: the problem names it");
	fake.num_asked = 0;
	for (i = 0; i < 10; i++)
		look();
	check_number(fake.num_asked, 0, "a silent process: not every scan asks it");
	check_number(inventory.num_problems, 1, "a silent process: one message");
	fake.is_silent = 0;
	usleep(1100000);
	look();
	check(inventory.num_vms == 2 && !strcmp(inventory.vm[1]->process->name, "web"),
	      "a silent process answers: its VM is there, with its name");
	tear_down();
}

/* Many silent processes together delay a scan only a little, and other VMs are still found. */
static void test_silent_crowd(void)
{
	uint64_t begin_ns;
	unsigned int i;

	set_up();
	fake.is_silent = ALL_BUT_LAST;
	for (i = 0; i < 20; i++) {
		add_process(100 + i, "hangs\n");
		add_object(100 + i, 4, LINK_VM, "kvm-100", 5 + i);
	}
	add_process(LAST_PID, "answers\n");
	add_object(LAST_PID, 4, LINK_VM, "kvm-200", 99);
	begin_ns = monotonic_ns();
	look();
	check(monotonic_ns() - begin_ns < NSEC_PER_SEC,
	      "many silent processes: a scan takes less than a second");
	for (i = 0; i < 20 && !inventory.num_vms; i++) {
		begin_ns = monotonic_ns();
		look();
	}
	check(monotonic_ns() - begin_ns < NSEC_PER_SEC,
	      "many silent processes: so does the last scan");
	check(inventory.num_vms == 1 && inventory.vm[0]->process->pid == LAST_PID,
	      "many silent processes: other VMs are found within some scans");
	tear_down();
}

static void test_one_vm(void)
{
	unsigned int fds = count_open_files();
	const struct vm *vm;

	set_up();
	add_process(7, "sh\n");
	add_link(7, 0, "/dev/null");
	add_process(100, "qemu-system-x86\n");
	add_link(100, 0, "/dev/null");
	add_link(100, 3, "anon_inode:[eventfd]");
	/* vCPUs before their VM, created by threads of their own. */
	add_object(100, 8, 0, "kvm-101/vcpu-0", 5);
	add_object(100, 9, 1, "kvm-102/vcpu-1", 5);
	add_object(100, 10, LINK_VM, "kvm-100", 5);

	check(!look() && inventory.num_vms == 1 &&
	      !inventory.num_problems, "one VM: found");
	vm = inventory.vm[0];
	check(vm->process->pid == 100 && !strcmp(vm->process->name, "qemu-system-x86"),
	      "one VM: its process");
	check(!strcmp(vm->file.id, "kvm-100") && vm->file.schema->num_desc == 1,
	      "one VM: its statistics");
	check(vm->num_vcpus == 2 && vm->vcpu[0].number == 0 && vm->vcpu[1].number == 1 &&
	      !strcmp(vm->vcpu[1].file.id, "kvm-102/vcpu-1"), "one VM: its vCPUs");
	check(vm->vcpu[0].file.schema == vm->vcpu[1].file.schema,
	      "one VM: the vCPUs share their descriptors");
	check(fake.num_asked == 3, "one VM: nothing but KVM's file descriptors was taken");
	check(!inventory_look(&inventory, vm->process) && fake.num_asked == 3 &&
	      vm->num_vcpus == 2, "one VM: a second scan takes nothing again");
	tear_down();
	check(count_open_files() == fds, "one VM: all file descriptors are closed in the end");
}

static void test_duplicates(void)
{
	unsigned int fds = count_open_files();

	set_up();
	add_vmm(100, "kvm-100", 5);
	add_object(100, 4, LINK_VM, "kvm-100", 5);
	add_object(100, 5, 0, "kvm-100/vcpu-0", 5);
	add_object(100, 6, 0, "kvm-100/vcpu-0", 5);
	/* A child that inherited the file descriptors. */
	add_vmm(200, "kvm-100", 5);
	add_object(200, 5, 0, "kvm-100/vcpu-0", 5);
	look();
	check(inventory.num_vms == 1 && inventory.vm[0]->num_vcpus == 1 && !inventory.num_problems,
	      "duplicated file descriptors: one VM, one vCPU");
	check(inventory.vm[0]->process->pid == 100,
	      "duplicated file descriptors: the first process");
	tear_down();
	check(count_open_files() == fds, "duplicated file descriptors: all closed in the end");
}

/* Taking a copy is expensive: a scan takes some of them, and asks for the identity once. */
static void test_many_duplicates(void)
{
	const unsigned int num_copies = 2 * PROC_OTHERS_AT_ONCE;
	unsigned int i;

	set_up();
	add_process(100, "vmm\n");
	for (i = 0; i < num_copies; i++)
		add_object(100, 3 + i, LINK_VM, "kvm-100", 5);
	add_object(100, 3 + i, LINK_VM, "kvm-100", 6);
	add_object(100, 4 + i, 0, "kvm-100/vcpu-0", 6);
	look();
	check_number(fake.num_asked, PROC_OTHERS_AT_ONCE, "many copies: some are taken");
	check_number(fake.num_identified, 2, "many copies: identity, at first and once more");
	check(inventory.num_vms == 1 && inventory.num_problems == 1,
	      "many copies: a message says that some are left");
	check_contains(inventory.problem[0], "pid 100 (vmm) has more new KVM file descriptors",
		       "many copies: names the process");
	look();
	check_number(fake.num_asked, num_copies, "many copies: the next scan takes the next ones");
	look();
	check(inventory.num_vms == 2 && inventory.vm[1]->num_vcpus == 1 &&
	      fake.num_asked == num_copies + 2 && inventory.num_problems == 1,
	      "many copies: then a VM after them, before its vCPU");
	tear_down();
}

static void test_vms_of_one_thread(void)
{
	const struct vm *one, *two;

	set_up();
	add_vmm(100, "kvm-100", 5);
	add_object(100, 4, LINK_VM, "kvm-100", 6);
	add_object(100, 5, 0, "kvm-100/vcpu-0", 6);
	add_object(100, 6, 0, "kvm-100/vcpu-0", 5);
	add_object(100, 7, 1, "kvm-100/vcpu-1", 6);
	look();
	check(inventory.num_vms == 2, "VMs of one thread: told apart");
	one = inventory.vm[0];
	two = inventory.vm[1];
	check(one->number == 5 && one->num_vcpus == 1 && two->number == 6 && two->num_vcpus == 2,
	      "VMs of one thread: each has its own vCPUs");
	tear_down();
}

/* The VM's file shows the vCPUs: nothing else is taken or opened. */
static void test_whole_vm(void)
{
	unsigned int fds = count_open_files();
	struct statsfile_error error;
	uint64_t values[2];
	struct vm *vm;

	set_up();
	add_process(100, "vmm\n");
	add_object(100, 8, 0, "kvm-101/vcpu-0", 5);
	add_object(100, 9, 10, "kvm-102/vcpu-10", 5);
	add_object(100, 10, LINK_VM, "kvm-100", 5)->windows = 2;
	look();
	check(inventory.num_vms == 1 && !inventory.num_problems && fake.num_asked == 1,
	      "whole VM: only its own file is taken");
	/* The file of the VM, and the pidfd of its process. */
	check_number(count_open_files(), fds + 2, "whole VM: one file");
	vm = inventory.vm[0];
	check(vm->num_vcpus == 2 && vm->vcpu[0].number == 0 && vm->vcpu[1].number == 10,
	      "whole VM: its vCPUs, by their ids");
	check(vm_vcpu_schema(vm) && vm_vcpu_schema(vm)->num_desc == 2,
	      "whole VM: statistics of its vCPUs");
	check(!vm_read_vcpu(vm, 1, values, &error) && values[0] == 101,
	      "whole VM: values of a vCPU");

	close_fd(100, 8);
	close_fd(100, 9);
	add_windows(vm, 1);
	inventory_update(&inventory, vm);
	check(vm->num_vcpus == 3 && vm->vcpu[2].number == 20 && fake.num_asked == 1,
	      "whole VM: a vCPU appears in the file");
	add_windows(vm, 2);
	check(!inventory_look(&inventory, vm->process) && vm->num_vcpus == 5 &&
	      vm->vcpu[4].number == 40 && fake.num_asked == 1,
	      "whole VM: another scan finds more in the file");
	remove_process(100);
	add_windows(vm, 1);
	check(inventory_look(&inventory, vm->process) == -ESRCH && vm->num_vcpus == 6,
	      "whole VM: also when its process is gone");
	tear_down();
	check_number(count_open_files(), fds, "whole VM: all files are closed in the end");
}

/* A child inherited the files; another VM has no windows. */
static void test_whole_and_split_vms(void)
{
	const struct vm *whole, *split;

	set_up();
	add_vmm(100, "kvm-100", 5)->windows = 1;
	add_object(100, 4, 0, "kvm-100/vcpu-0", 5);
	add_vmm(200, "kvm-100", 5)->windows = 1;
	add_object(200, 4, 0, "kvm-100/vcpu-0", 5);
	look();
	check(inventory.num_vms == 1 && !inventory.num_problems && fake.num_asked == 2,
	      "whole VM in two processes: no vCPU's file is taken");

	add_object(200, 5, LINK_VM, "kvm-200", 6);
	add_object(200, 6, 3, "kvm-200/vcpu-3", 6);
	/* The VM's file does not show this vCPU yet. */
	add_object(200, 7, 10, "kvm-100/vcpu-10", 5);
	inventory_look(&inventory, inventory.process[1]);
	check(inventory.num_vms == 2 && !inventory.num_problems, "whole and split VM");
	whole = inventory.vm[0];
	split = inventory.vm[1];
	check(whole->num_vcpus == 1 && split->num_vcpus == 1 && split->vcpu[0].number == 3,
	      "whole and split VM: each has its vCPUs");
	tear_down();
}

static void test_refused_mapping(void)
{
	struct host host = fake_host;
	struct statsfile_error error;
	uint64_t values[2];
	struct vm *vm;

	set_up();
	host.access = STATSFILE_PREAD;
	inventory.host = &host;
	add_vmm(100, "kvm-100", 5)->windows = 2;
	add_object(100, 4, 0, "kvm-100/vcpu-0", 5);
	look();
	vm = inventory.vm[0];
	check(vm->num_vcpus == 1 && fake.num_asked == 2 && vm->vcpu[0].file.schema,
	      "mapping refused: a file per vCPU");
	check(vm->vcpu[0].file.schema == vm->file.vcpu_schema,
	      "mapping refused: the descriptors are shared");
	check(!vm_read_vcpu(vm, 0, values, &error) && !values[0],
	      "mapping refused: values of a vCPU");
	tear_down();
}

static void test_unreadable_ids(void)
{
	struct vm *vm;

	set_up();
	add_vmm(100, "kvm-100", 5)->windows = 1;
	look();
	vm = inventory.vm[0];
	add_windows(vm, 1);
	vm->file.vcpu_id_offset = 1 << 30;
	inventory_update(&inventory, vm);
	inventory_update(&inventory, vm);
	check(vm->num_vcpus == 1 && inventory.num_problems == 1, "unreadable ids: one message");
	check_contains(inventory.problem[0], "pid 100 (vmm): new vCPUs are left out: the file ends",
		       "unreadable ids: why");
	tear_down();
}

/* A file descriptor that was closed and opened again is new. */
static void test_reused_fd(void)
{
	struct process *process;
	int fd;

	set_up();
	add_process(100, "vmm\n");
	for (fd = 10; fd < 20; fd += 2)
		add_object(100, fd, fd, "kvm-100/vcpu", 5);
	add_object(100, 3, LINK_VM, "kvm-100", 5);
	process = inventory_find(&inventory, 100);
	inventory_look(&inventory, process);
	check_number(fake.num_asked, 6, "reused: the first scan takes all");
	/* New ones before, between and after the known ones. */
	for (fd = 9; fd < 22; fd += 6)
		add_object(100, fd, fd, "kvm-100/vcpu", 5);
	inventory_look(&inventory, process);
	check_number(fake.num_asked, 9, "reused: the next scan takes the new ones");
	close_fd(100, 14);
	inventory_look(&inventory, process);
	check_number(fake.num_asked, 9, "reused: closing one makes no other one new");
	add_object(100, 14, 30, "kvm-100/vcpu", 5);
	inventory_look(&inventory, process);
	check(fake.num_asked == 10 && vm_find_vcpu(inventory.vm[0], 30),
	      "reused: another vCPU under the same number");
	close_fd(100, 16);
	add_object(100, 16, 31, "kvm-100/vcpu", 5);
	inventory_look(&inventory, process);
	check(fake.num_asked == 11 && vm_find_vcpu(inventory.vm[0], 31),
	      "reused: another vCPU under the same number, in between");
	tear_down();
}

static void test_death(void)
{
	struct process *process;
	uint64_t values[2];
	struct statsfile_error error;

	set_up();
	add_vmm(100, "kvm-100", 5);
	add_object(100, 4, 0, "kvm-100/vcpu-0", 5);
	process = inventory_find(&inventory, 100);
	inventory_look(&inventory, process);
	check(inventory.num_vms == 1 && !inventory_see_end(&inventory, inventory.vm[0]),
	      "death: alive at first");

	/* The next VM has the same file descriptors. */
	fake.dead[inventory.vm[0]->file.source.fd] = true;
	fake.num_objects = 0;
	close_fd(100, 3);
	close_fd(100, 4);
	add_object(100, 3, LINK_VM, "kvm-100", 6);
	add_object(100, 4, 0, "kvm-100/vcpu-0", 6);
	check(inventory_see_end(&inventory, inventory.vm[0]), "death: noticed");
	inventory_look(&inventory, process);
	check(inventory.num_vms == 2 && inventory.vm[1]->num_vcpus == 1,
	      "death: the next VM with the same file descriptors is found");
	check(!statsfile_read(&inventory.vm[0]->vcpu[0].file, values, &error),
	      "death: the last values are readable");

	remove_process(100);
	check(inventory_look(&inventory, process) == -ESRCH, "death of the process: ESRCH");
	tear_down();
}

/* VMs come and go between scans of the host. */
static void test_host(void)
{
	unsigned int fds = count_open_files();
	const struct vm *stays;

	set_up();
	add_vmm(100, "kvm-100", 5);
	add_process(300, "closed\n");
	add_object(300, 3, LINK_VM, "kvm-300", 7)->err = EIO;
	add_object(300, 4, 0, "kvm-300/vcpu-0", 7)->err = EIO;
	add_process(400, "idle\n");
	look();
	check(inventory.num_vms == 2 && inventory.num_processes == 2 &&
	      inventory.num_problems == 1, "host: two VMs, one without statistics");
	stays = inventory.vm[0];
	add_vmm(200, "kvm-200", 6);
	add_object(200, 4, 0, "kvm-200/vcpu-0", 6);
	add_object(400, 3, LINK_VM, "kvm-400", 8);
	look();
	check(inventory.num_vms == 4 && inventory.vm[0] == stays &&
	      inventory.vm[2]->number == 6 && inventory.vm[2]->num_vcpus == 1 &&
	      inventory.vm[3]->number == 8,
	      "host: new VMs, of a new process and of one that had none");
	check(inventory.num_problems == 1 && fake.num_asked == 5,
	      "host: what is known is not asked for again");
	add_process(500, "refused\n");
	add_object(500, 3, LINK_VM, "kvm-500", 10);
	fake.refuses = 500;
	look();
	look();
	check_number(inventory.num_problems, 2, "host: the same problem: one message");
	remove_process(500);
	inventory_forget_dead(&inventory);
	check(inventory.num_vms == 4 && inventory.num_processes == 4,
	      "host: living VMs and processes are kept");

	/* By the next scan, another process has the pid. */
	remove_process(300);
	remove_process(200);
	fake.dead[inventory.vm[2]->file.source.fd] = true;
	add_process(200, "next\n");
	add_object(200, 5, LINK_VM, "kvm-200", 9);
	look();
	check(!inventory.vm[0]->dead && inventory.vm[1]->dead && inventory.vm[2]->dead &&
	      !inventory.vm[3]->dead, "host: dead ones are marked");
	check(inventory.num_vms == 5 && inventory.vm[4]->number == 9 &&
	      inventory.vm[4]->process != inventory.vm[2]->process &&
	      !strcmp(inventory.vm[4]->process->name, "next"), "host: a pid that is used again");
	look();
	check_number(inventory.num_processes, 5, "host: it is found once");
	inventory_forget_dead(&inventory);
	check(inventory.num_vms == 3 && inventory.vm[0] == stays &&
	      inventory.vm[1]->number == 8 && inventory.vm[2]->number == 9 &&
	      inventory.num_processes == 3, "host: dead ones are forgotten");
	tear_down();
	check_number(count_open_files(), fds, "host: all file descriptors are closed in the end");
}

/* Another process gets a chosen pid later. */
static void test_pid_used_again(void)
{
	struct choice choice = { .pid = { 7, 100, }, .num_pids = 2, };
	const char * const when[] = { "in one look", "later", };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(when); i++) {
		set_up();
		inventory.choice = &choice;
		add_process(100, "mine\n");
		add_object(100, 3, LINK_VM, "kvm-100", 5);
		look();
		check_number(inventory.num_vms, 1, "pid: its process is chosen");
		fake.dead[inventory.vm[0]->file.source.fd] = true;
		remove_process(100);
		if (i) {
			look();
			inventory_forget_dead(&inventory);
		}
		add_process(100, "another\n");
		add_object(100, 3, LINK_VM, "kvm-100", 6);
		look();
		inventory_forget_dead(&inventory);
		look();
		check(!inventory.num_vms && !inventory.num_processes,
		      "pid: another process that has it %s is not chosen", when[i]);
		choice.name[0] = "anoth*";
		choice.num_names = 1;
		look();
		check_number(inventory.num_vms, 1, "pid: a name may choose that process");
		choice.num_names = 0;
		tear_down();
	}
}

static void test_races(void)
{
	unsigned int fds = count_open_files();

	set_up();
	add_vmm(100, "kvm-100", 5);
	fake.dies_when_asked = 100;
	check(!look() && !inventory.num_vms && !inventory.num_problems,
	      "race: a process that dies during a scan is no problem");
	tear_down();

	set_up();
	add_vmm(100, "kvm-100", 5);
	fake.dies_when_answered = 100;
	check(!look() && !inventory.num_vms && !inventory.num_problems,
	      "race: a file that may belong to another process with the same pid is not kept");
	tear_down();
	check_number(count_open_files(), fds, "race: and that file is closed");

	set_up();
	add_process(100, "vmm\n");
	add_link(100, 3, "anon_inode:kvm-vm");
	look();
	check(!inventory.num_vms && !inventory.num_problems,
	      "race: a file descriptor that is reused meanwhile is no problem");
	close_fd(100, 3);
	add_object(100, 3, LINK_VM, "kvm-100", 5);
	inventory_look(&inventory, inventory.process[0]);
	check(inventory.num_vms == 1, "race: the next scan finds the new VM");
	tear_down();
}

static void test_missing_support(void)
{
	struct object *object;

	set_up();
	object = add_vmm(100, "kvm-100", 5);
	object->err = EIO;
	add_object(100, 4, 0, "kvm-100/vcpu-0", 5)->err = EIO;
	add_object(100, 5, 1, "kvm-100/vcpu-1", 5)->err = EIO;
	add_object(100, 6, 1, "kvm-100/vcpu-1", 5)->err = EIO;
	look();
	check(inventory.num_vms == 1 && !vm_has_statistics(inventory.vm[0]) &&
	      inventory.vm[0]->num_vcpus_counted == 2,
	      "no support: VM and vCPUs are counted, each of them once");
	check(inventory.num_problems == 1 && fake.num_asked == 1,
	      "no support: one message, one request");
	check_contains(inventory.problem[0], "pid 100 (vmm): this kernel ",
		       "no support: the message names the process");
	check_contains(inventory.problem[0], "statistics files", "no support: what is missing");
	tear_down();

	set_up();
	add_vmm(100, "kvm-100", 0);
	look();
	check(!inventory.num_vms && inventory.num_problems == 1, "fdinfo without a VM: a problem");
	check_contains(inventory.problem[0], "fdinfo", "fdinfo without a VM: named");
	tear_down();
}

/* A process whose VM KVM refuses. Its vCPUs have the file descriptors from 10 on. */
static void add_refused(pid_t pid, int vcpus)
{
	int i;

	add_vmm(pid, "kvm-100", 0)->err = EIO;
	for (i = 0; i < vcpus; i++)
		add_object(pid, 10 + i, i, "x", 0)->err = EIO;
}

static bool can_be_sampled(const struct vm *vm)
{
	struct statsfile_error error;
	struct model model;
	bool can;

	model_init(&model, vm);
	can = !model_sample(&model, 1, true, &error) &&
	      model.group[SCOPE_VCPU].num_members == vm->num_vcpus;
	model_free(&model);
	return can;
}

static void test_held(void)
{
	unsigned int fds = count_open_files();
	struct vm *vm;

	set_up();
	add_refused(100, 3);
	add_held(100, 20, 0, "kvm-101/vcpu-0");
	add_held(100, 21, 1, "kvm-102/vcpu-1");
	add_held(100, 22, 1, "kvm-102/vcpu-1");
	add_held(100, 23, LINK_VM, "kvm-100");
	look();
	vm = inventory.vm[0];
	check(inventory.num_vms == 1 && vm_has_statistics(vm), "held: the VM has statistics");
	check_text(vm->file.id, "kvm-100", "held: its id");
	check(vm->num_vcpus == 2 && vm->vcpu[0].number == 0 && vm->vcpu[1].number == 1 &&
	      vm_vcpu_schema(vm)->num_desc == 2, "held: vCPUs, each of them once");
	check(can_be_sampled(vm), "held: values");
	check_number(vm->num_vcpus_counted, 0, "held: vCPUs are not counted twice");
	check_number(inventory.num_problems, 1, "held: one problem");
	check_text(inventory.problem[0],
		   "pid 100 (vmm): this kernel gives statistics files only to the VMM, which has no file open for 1 vCPU",
		   "held: it says what is missing");
	check_number(fake.num_asked, 4, "held: asks for the VM and for each held file once");
	add_held(100, 24, 2, "kvm-103/vcpu-2");
	inventory_look(&inventory, vm->process);
	check(vm->num_vcpus == 3 && fake.num_asked == 6 && inventory.num_problems == 1,
	      "held: one more is found later");
	close_fd(100, 24);
	inventory_look(&inventory, vm->process);
	check(vm->num_vcpus == 3 && !inventory_see_end(&inventory, vm), "held: it is kept");
	close_fd(100, 3);
	look();
	check(inventory_see_end(&inventory, vm),
	      "held: without a VM in its process the VM has ended");
	inventory_forget_dead(&inventory);
	check(!inventory.num_vms, "held: it is forgotten");
	tear_down();
	check_number(count_open_files(), fds, "held: all file descriptors are closed in the end");
}

/* Before the next scan, the VMM has another VM with the same file descriptors. */
static void test_held_remade(void)
{
	struct object *first, *copy;
	struct vm *vm;

	set_up();
	add_refused(100, 1);
	first = add_held(100, 20, 0, "kvm-101/vcpu-0");
	copy = add_held(100, 21, 0, "kvm-101/vcpu-0");
	look();
	look();
	vm = inventory.vm[0];
	check(inventory.num_vms == 1 && !vm->dead, "remade: the same files are the same VM");
	first->id = "kvm-102/vcpu-0";
	copy->id = first->id;
	look();
	check(inventory.num_vms == 2 && vm->dead && !inventory.vm[1]->dead,
	      "remade: other files are another VM");
	check_text(inventory.vm[1]->vcpu[0].file.id, "kvm-102/vcpu-0", "remade: its file");
	inventory_forget_dead(&inventory);
	close_fd(100, 20);
	look();
	check(inventory.num_vms == 1 && !inventory.vm[0]->dead,
	      "remade: a closed file is no sign of another VM");
	copy->id = "kvm-103/vcpu-0";
	look();
	check(inventory.num_vms == 2 && inventory.vm[0]->dead,
	      "remade: another file under another number is another VM");
	inventory_forget_dead(&inventory);
	close_fd(100, 21);
	look();
	check(inventory.num_vms == 1 && !inventory.vm[0]->dead,
	      "remade: without held files the VM stays");
	tear_down();
}

/* The scan that finds the VM closed marks it as ended: the next may find another VM. */
static void test_held_closed(void)
{
	struct vm *vm;

	set_up();
	add_refused(100, 1);
	add_held(100, 20, 0, "kvm-101/vcpu-0");
	look();
	vm = inventory.vm[0];
	close_fd(100, 3);
	close_fd(100, 20);
	look();
	check(vm->dead, "held, closed: ended in the same scan");
	tear_down();
}

/* Scans only one process: its VM ends when the process closes it. */
static void test_closed_by_process(bool is_held)
{
	const char *name = is_held ? "held" : "of /proc alone";
	struct process *process;

	set_up();
	add_refused(100, 1);
	if (is_held)
		add_held(100, 20, LINK_VM, "kvm-100");
	process = inventory_find(&inventory, 100);
	inventory_look(&inventory, process);
	check(inventory.num_vms == 1 && vm_has_statistics(inventory.vm[0]) == is_held &&
	      !inventory.vm[0]->dead, "closed, %s: alive at first", name);
	close_fd(100, 3);
	close_fd(100, 10);
	close_fd(100, 20);
	check(!inventory_look(&inventory, process) && inventory.vm[0]->dead,
	      "closed, %s: ended at the next scan", name);
	tear_down();
}

static void test_held_partly(void)
{
	unsigned int fds = count_open_files();
	struct vm *vm;

	set_up();
	add_refused(100, 10);
	add_held(100, 30, 9, "kvm-101/vcpu-9");
	look();
	vm = inventory.vm[0];
	check(vm_has_statistics(vm) && !vm->file.schema->num_desc && vm->num_vcpus == 1 &&
	      vm->vcpu[0].number == 9, "held partly: one vCPU, nothing of the VM");
	check(can_be_sampled(vm), "held partly: values");
	check_contains(inventory.problem[0], "which has no file open for 9 vCPUs",
		       "held partly: many are counted");
	add_held(100, 31, LINK_VM, "kvm-100");
	look();
	check(!vm->file.schema->num_desc, "held partly: the VM stays without its own statistics");
	remove_process(100);
	check(inventory_see_end(&inventory, vm), "held partly: ends with the process");
	tear_down();
	check_number(count_open_files(), fds, "held partly: all is closed in the end");

	set_up();
	add_refused(100, 2);
	add_held(100, 30, 0, "kvm-101/vcpu-0");
	add_held(100, 31, 1, "kvm-101/vcpu-1");
	look();
	check_contains(inventory.problem[0], "which has no file open for the VM",
		       "held, all but the VM: a message says so");
	tear_down();

	set_up();
	add_refused(100, 2);
	add_held(100, 30, LINK_VM, "kvm-100");
	look();
	check(inventory.vm[0]->file.schema->num_desc && can_be_sampled(inventory.vm[0]),
	      "held, only the VM: values");
	check_contains(inventory.problem[0], "which has no file open for 2 vCPUs",
		       "held, only the VM: a message says so");
	tear_down();

	set_up();
	add_refused(100, 2);
	add_held(100, 30, 0, "kvm-101/vcpu-0");
	add_held(100, 31, 1, "kvm-101/vcpu-1")->err = EMFILE;
	look();
	check_number(inventory.num_problems, 1, "held, but not taken: one problem");
	check_contains(inventory.problem[0], "too many open files", "held, but not taken: why");
	tear_down();

	set_up();
	add_refused(100, 1);
	add_held(100, 30, 0, "kvm-101/vcpu-0");
	add_held(100, 31, LINK_VM, "kvm-100");
	look();
	check(inventory.num_vms == 1 && !inventory.num_problems, "held, all: no message");
	tear_down();
}

/* One line per kind of missing files, not per VM. A missing file of the VM is no failure. */
static void test_held_many(void)
{
	int i;

	set_up();
	for (i = 0; i < 3; i++) {
		add_refused(100 + i, 1);
		add_held(100 + i, 30, 0, "kvm-101/vcpu-0");
	}
	look();
	check_number(inventory.num_problems, 1, "held of many: one message");
	check_text(inventory.problem[0],
		   "pid 100 (vmm) and 2 more: this kernel gives statistics files only to the VMM, which has no file open for the VM",
		   "held of many: how many");
	check(!inventory.incomplete, "held of many: all vCPUs are shown, so it is no failure");
	for (; i < 6; i++)
		add_refused(100 + i, 1);
	look();
	check_number(inventory.num_problems, 2, "none held of many: one more line");
	check_contains(inventory.problem[1], "pid 103 (vmm) and 2 more: this kernel ",
		       "none held of many: how many");
	check(inventory.incomplete, "none held of many: they are not shown, so it is a failure");
	add_refused(100 + i, 1);
	look();
	check_number(inventory.num_problems, 2, "none held of one more: no further message");
	tear_down();
}

static void test_held_later(void)
{
	struct vm *vm;

	set_up();
	add_refused(100, 0);
	look();
	check(inventory.num_vms == 1 && !inventory.num_problems,
	      "held later: no message before there is a vCPU");
	vm = inventory.vm[0];
	add_object(100, 10, 0, "x", 0)->err = EIO;
	look();
	check_contains(inventory.problem[0], "only to the VMM", "held later: none yet");
	check(!vm_has_statistics(vm) && vm->num_vcpus_counted == 1, "held later: it is counted");
	add_held(100, 30, 0, "kvm-101/vcpu-0")->malformed = true;
	add_held(100, 31, 0, "kvm-101/vcpu-0");
	look();
	check(inventory.num_vms == 1 && vm_has_statistics(vm) && vm->num_vcpus == 1,
	      "held later: the same VM then has statistics");
	check_contains(inventory.problem[1], "malformed statistics file", "held, malformed: a message says so");
	add_object(100, 11, 1, "x", 0)->err = EIO;
	look();
	check_contains(inventory.problem[2], "which has no file open for the VM",
		       "held later: what is missing");
	check(inventory.num_problems == 3 && !vm->num_vcpus_counted,
	      "held: a new vCPU causes no further message");
	tear_down();
}

static void test_held_by_others(void)
{
	set_up();
	/* Another reader, such as kvmstat itself. */
	add_process(100, "reader\n");
	add_held(100, 3, LINK_VM, "kvm-200");
	add_held(100, 4, 0, "kvm-200/vcpu-0");
	/* A kernel that gives files to every process. */
	add_vmm(200, "kvm-200", 5);
	add_object(200, 4, 0, "kvm-200/vcpu-0", 5);
	add_held(200, 5, LINK_VM, "kvm-200");
	add_held(200, 6, 0, "kvm-200/vcpu-0");
	look();
	check(inventory.num_vms == 1 && !inventory.num_problems &&
	      inventory.vm[0]->num_vcpus == 1 && fake.num_asked == 2,
	      "held by a reader, and given: only given files are taken");
	tear_down();

	set_up();
	add_vmm(100, "kvm-100", 5)->err = EPERM;
	add_held(100, 4, LINK_VM, "kvm-100");
	look();
	check(!vm_has_statistics(inventory.vm[0]) && fake.num_asked == 1,
	      "held, but the VM is refused for another reason: nothing is taken");
	tear_down();

	set_up();
	add_refused(100, 1);
	add_object(100, 4, LINK_VM, "kvm-100", 0)->err = EIO;
	add_object(100, 11, 0, "x", 0)->err = EIO;
	add_held(100, 20, LINK_VM, "kvm-100");
	add_held(100, 21, LINK_VM, "kvm-100");
	add_held(100, 22, 0, "kvm-100/vcpu-0");
	add_held(100, 23, 0, "kvm-100/vcpu-0");
	look();
	check(inventory.num_vms == 1 && inventory.vm[0]->num_vcpus == 1,
	      "held of two VMs: one is shown");
	check(inventory.num_problems == 1, "held of two VMs: one problem");
	check_contains(inventory.problem[0], "pid 100 (vmm) has 2 file descriptors of VMs, and",
		       "held of two VMs: a message says so");
	tear_down();
}

static void test_no_permission(void)
{
	struct process *process;
	uid_t user = geteuid();
	char *path;

	set_up();
	add_vmm(100, "kvm-100", 5)->err = EPERM;
	look();
	check(inventory.num_problems == 1, "pidfd_getfd refused: a problem");
	check_contains(inventory.problem[0], "pid 100 (vmm): pidfd_getfd: no permission",
		       "pidfd_getfd refused: names the process and the call");
	check_contains(inventory.problem[0], "CAP_SYS_PTRACE", "pidfd_getfd refused: what helps");
	tear_down();

	set_up();
	add_vmm(100, "kvm-100", 5);
	path = tree_path("100/fd");
	if (chmod(path, 0))
		abort();
	/* Permissions do not stop root. */
	if (!user && seteuid(65534))
		abort();
	look();
	check(!inventory.num_vms && inventory.num_denied == 1, "process not readable: counted");
	process = inventory_find(&inventory, 100);
	check(process && inventory_look(&inventory, process) == -EACCES,
	      "process not readable: EACCES");
	if (!user && seteuid(0))
		abort();
	free(path);
	tear_down();
}

static void check_denied(const char *expected, const char *what)
{
	char *text = inventory_explain_denied(&inventory);

	check(expected ? text && strstr(text, expected) : !text, "%s: a message says so", what);
	check(inventory_is_denied(&inventory) == !!expected, "%s: VMs may be hidden", what);
	free(text);
}

/* Files beyond the limit are counted, and opened once there is room. */
static void test_too_many_files(void)
{
	int vcpu;

	set_up();
	add_vmm(100, "kvm-100", 5);
	for (vcpu = 0; vcpu < 10; vcpu++)
		add_object(100, 4 + vcpu, vcpu, "kvm-100/vcpu", 5);
	look();
	check_number(inventory.vm[0]->num_vcpus, 10, "no limit: all vCPUs");
	tear_down();

	set_up();
	add_vmm(100, "kvm-100", 5);
	for (vcpu = 0; vcpu < 10; vcpu++)
		add_object(100, 4 + vcpu, vcpu, "kvm-100/vcpu", 5);
	/* The process and its VM need one file descriptor each. */
	fake.max_files = count_open_files() + 2 + 4;
	look();
	check_number(inventory.vm[0]->num_vcpus, 4, "a limit: as many vCPUs as there is room for");
	check_number(inventory.num_missing, 6, "a limit: the others are counted");
	check_denied("6 files of VMs and vCPUs are missing", "a limit");
	look();
	check_number(inventory.num_missing, 6, "limit on files: the next scan counts the same");
	fake.max_files = 0;
	look();
	check(inventory.vm[0]->num_vcpus == 10 && !inventory.num_missing,
	      "a limit: once it is raised, all vCPUs are found");
	check_denied(NULL, "no limit");
	tear_down();
}

static void test_unseen_vms(void)
{
	pid_t makers[] = { 100, 200, };

	set_up();
	add_vmm(100, "kvm-100", 5);
	add_process(200, "keeps it to itself\n");
	fake.makers = (struct proc_pids) { makers, 1, };
	look();
	check_number(inventory.num_unseen, 0, "debugfs has the VMs that are seen");
	check_denied(NULL, "no VM more in debugfs");
	fake.makers.count = 2;
	look();
	check_number(inventory.num_unseen, 0, "debugfs has one more: it may just have come");
	look();
	check_number(inventory.num_unseen, 1, "debugfs has one more, of a process without VMs");
	check_denied("debugfs shows 1 VM that no visible process has", "a VM more in debugfs");
	/* That process has passed the VM to another one. */
	add_vmm(300, "kvm-200", 6);
	look();
	check(!inventory.num_unseen && inventory.num_vms == 2,
	      "a VM of debugfs in another process: not unseen");
	/* A thread of the first process has created it. */
	remove_process(300);
	makers[1] = 101;
	fake.thread = 101;
	look();
	look();
	check_number(inventory.num_unseen, 0, "a VM of debugfs made by a thread: not unseen");
	tear_down();
}

static void test_bad_files(void)
{
	set_up();
	add_vmm(100, "kvm-100", 5)->malformed = true;
	add_object(100, 4, LINK_VM, "kvm-100", 6);
	add_object(100, 5, 0, "kvm-100/vcpu-0", 6);
	add_object(100, 6, 1, "kvm-100/vcpu-1", 6)->stats = vm_stats;
	add_object(100, 7, 2, "kvm-100/vcpu-2", 9);
	look();
	check(inventory.num_vms == 1 && inventory.vm[0]->number == 6 &&
	      inventory.vm[0]->num_vcpus == 1, "bad files: the good ones are taken");
	check(inventory.num_problems == 3, "bad files: each is a problem");
	check_contains(inventory.problem[0], "malformed statistics file: ",
		       "malformed file: the message says why");
	check_contains(inventory.problem[1], "vCPU 1 is left out, it has other statistics",
		       "vCPU with other statistics: left out");
	check_contains(inventory.problem[2], "vCPU 2 is left out, no process has its VM",
		       "vCPU without VM: left out");
	tear_down();
}

/* Processes that each have a vCPU without a VM, and end after a scan. */
static void look_at_strays(pid_t first, unsigned int count)
{
	unsigned int i;

	fake.num_objects = 0;
	for (i = 0; i < count; i++) {
		add_process(first + i, "vmm\n");
		add_object(first + i, 3, 0, "kvm-1/vcpu-0", 9);
	}
	look();
	shell("rm -r %s/[1-9]*", tree_root);
	inventory_forget_dead(&inventory);
}

static void test_many_problems(void)
{
	unsigned int i, most = PROBLEMS_MAX + 1;

	set_up();
	for (i = 1; i <= 4; i++)
		look_at_strays(1000 * i, 100);
	check_number(inventory.num_problems, most, "many problems: the number is limited");
	check_text(inventory.problem[inventory.num_problems - 1],
		   "there are more problems, which are not listed",
		   "many problems: the last message says that there are more");
	check(inventory.incomplete, "many problems: something is not shown");

	inventory.problems_full_ns = monotonic_ns() - PROBLEMS_NS;
	look_at_strays(5000, 1);
	check_number(inventory.num_problems, most, "many problems: unprinted ones are kept");
	inventory.num_printed = inventory.num_problems;
	inventory.problems_full_ns = monotonic_ns();
	look_at_strays(1000, 1);
	look_at_strays(5000, 1);
	check(inventory.num_problems == most && inventory.num_printed == most,
	      "many problems: no message for an hour");
	inventory.problems_full_ns = monotonic_ns() - PROBLEMS_NS;
	for (i = 0; i < 3; i++)
		look_at_strays(1000, 2);
	check(inventory.num_problems == 2 && !inventory.num_printed &&
	      inventory.num_forgotten == most,
	      "many problems: then those that still apply, once");
	tear_down();
}

/* kvmstat remembers only the last vCPU schema, here the second VM's. */
static void test_later_vcpu(void)
{
	set_up();
	add_vmm(100, "kvm-100", 5);
	add_object(100, 4, 0, "kvm-100/vcpu-0", 5);
	add_vmm(200, "kvm-200", 6);
	add_object(200, 4, 0, "kvm-200/vcpu-0", 6)->stats = vm_stats;
	look();
	add_object(100, 5, 1, "kvm-100/vcpu-1", 5);
	look();
	check(inventory.vm[0]->num_vcpus == 2 && !inventory.num_problems,
	      "a vCPU after one with other statistics: taken");
	check(can_be_sampled(inventory.vm[0]), "a vCPU after one with other statistics: values");
	tear_down();
}

static void test_no_process(void)
{
	set_up();
	check(!inventory_find(&inventory, 100), "no such process");
	check_text(inventory.problem[0], "pid 100: no such process",
		   "no such process: the message says so");
	add_process(101, "vmm\n");
	tree_write("Name:\tvmm\nTgid:\t100\nPid:\t101\n", 29, "101/status");
	check(!inventory_find(&inventory, 101), "a thread");
	check_text(inventory.problem[1], "pid 101 is a thread of process 100, choose that one",
		   "a thread: names its process");
	check(!proc_is_ours(tree_root), "the /proc of another pid namespace");
	check(proc_is_ours("/proc"), "our own /proc");
	tear_down();
}

int main(void)
{
	test_links();
	test_one_vm();
	test_silent_process();
	test_duplicates();
	test_many_duplicates();
	test_silent_crowd();
	test_vms_of_one_thread();
	test_whole_vm();
	test_whole_and_split_vms();
	test_refused_mapping();
	test_unreadable_ids();
	test_reused_fd();
	test_death();
	test_host();
	test_pid_used_again();
	test_races();
	test_missing_support();
	test_held();
	test_held_remade();
	test_held_closed();
	test_closed_by_process(true);
	test_closed_by_process(false);
	test_held_partly();
	test_held_many();
	test_held_later();
	test_held_by_others();
	test_no_permission();
	test_too_many_files();
	test_unseen_vms();
	test_bad_files();
	test_many_problems();
	test_later_vcpu();
	test_no_process();
	return tap_end();
}
