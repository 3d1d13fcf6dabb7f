// SPDX-License-Identifier: GPL-2.0
/*
 * Discovery of real VMs: a child plays a VMM with two VMs that one thread created, vCPUs that
 * other threads created, and duplicated file descriptors. The test reads its vCPUs from the
 * mapped file of their VM, then with a file per vCPU and pread(), then from the files that the
 * VMM holds, as on a kernel that gives no others. If this machine has such a kernel, it tests
 * only that.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/model.h"
#include "privilege/broker.h"
#include "privilege/privilege.h"
#include "sandbox.h"
#include "sources/discover.h"
#include "tap.h"
#include "util/util.h"

struct memory_region {
	uint32_t slot;
	uint32_t flags;
	uint64_t guest_address;
	uint64_t size;
	uint64_t address;
};

/* Commands for the child. It answers with the same character. */
#define CLOSE_FIRST_VM 'c'
#define ADD_VCPU 'a'
#define HOLD_FILES 'h'
#define READY 'r'

/* The ids of the first VM's vCPUs, in the order of their creation. */
#define IDLE_VCPU 5
#define RUNNING_VCPU 2
#define ADDED_VCPU 3

struct vmm {
	pid_t pid;
	int commands;
	int answers;
};

/* The child. */

static void answer(int answers, char what)
{
	if (write(answers, &what, 1) != 1)
		exit(1);
}

/* The thread has only one argument, so the id is a constant. */
static void *create_idle_vcpu(void *vm)
{
	return (void *)(intptr_t)ioctl(*(int *)vm, KVM_CREATE_VCPU, IDLE_VCPU);
}

static int create_vcpu_in_thread(int vm)
{
	pthread_t thread;
	void *vcpu;

	if (pthread_create(&thread, NULL, create_idle_vcpu, &vm) || pthread_join(thread, &vcpu))
		return -1;
	return (intptr_t)vcpu;
}

#ifdef __aarch64__
struct vcpu_init {
	uint32_t target;
	uint32_t features[7];
};

static bool init_vcpu(int vm, int vcpu)
{
	struct vcpu_init init;

	return !ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init) &&
	       !ioctl(vcpu, KVM_ARM_VCPU_INIT, &init);
}
#else
static bool init_vcpu(int vm, int vcpu)
{
	(void)vm;
	(void)vcpu;
	return true;
}
#endif

static void ignore(int signal)
{
	(void)signal;
}

/* Adds a page of zeros where an x86 vCPU starts. arm64 starts at 0 and finds no memory. */
static bool add_memory(int vm)
{
	struct memory_region region = { .guest_address = 0xffff0000, .size = 0x10000, };
	void *memory = mmap(NULL, region.size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	region.address = (uintptr_t)memory;
	return memory != MAP_FAILED && !ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region);
}

/* -1 if there is none of that name. */
static uint64_t value_of(const struct statsfile_schema *schema, const uint64_t *values,
			 const char *name)
{
	const struct statsfile_desc *desc = statsfile_find(schema, name);

	return desc ? values[desc->first] : (uint64_t)-1;
}

/* Whether the vCPU's statistics have no exit. */
static bool has_no_exits(int vcpu)
{
	struct statsfile_source source = {
		.fd = ioctl(vcpu, KVM_GET_STATS_FD, 0),
		.access = STATSFILE_PREAD,
	};
	struct statsfile_error error;
	uint64_t values[1024];
	struct statsfile file;
	bool none;

	if (source.fd < 0 || statsfile_open(&file, &source, NULL, &error))
		return false;
	none = file.schema->num_values <= ARRAY_SIZE(values) &&
	       !statsfile_read(&file, values, &error) &&
	       !value_of(file.schema, values, "exits");
	statsfile_close(&file);
	return none;
}

/*
 * Runs the vCPU until an exit is counted. The guest does nothing useful. A signal interrupts
 * KVM_RUN if it does not return; on a slow host it may come before KVM_RUN begins, so try again.
 */
static void run_vcpu(int vm, int vcpu)
{
	struct itimerval timer = { .it_value.tv_usec = 100000, .it_interval.tv_usec = 100000, };
	struct sigaction action = { .sa_handler = ignore, };

	if (!add_memory(vm) || !init_vcpu(vm, vcpu) || sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &timer, NULL))
		return;
	while (ioctl(vcpu, KVM_RUN, 0) && errno == EINTR && has_no_exits(vcpu))
		;
	timer = (struct itimerval) {};
	setitimer(ITIMER_REAL, &timer, NULL);
}

#define OTHER_USER 12345

static uid_t vmm_user;

static void run_vmm(int commands, int answers)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int first = ioctl(kvm, KVM_CREATE_VM, 0);
	int second = ioctl(kvm, KVM_CREATE_VM, 0);
	int fds[] = {
		first,
		create_vcpu_in_thread(first),
		ioctl(first, KVM_CREATE_VCPU, RUNNING_VCPU),
		dup(first),
	};
	int added = -1;
	char command;
	size_t i;

	if (second < 0 || ioctl(second, KVM_CREATE_VCPU, 0) < 0)
		exit(1);
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] < 0)
			exit(1);
	}
	run_vcpu(first, fds[2]);
	if (setresuid(vmm_user, vmm_user, vmm_user))
		exit(1);
	answer(answers, READY);
	while (read(commands, &command, 1) == 1) {
		if (command == ADD_VCPU) {
			added = ioctl(first, KVM_CREATE_VCPU, ADDED_VCPU);
			if (added < 0)
				exit(1);
		} else if (command == HOLD_FILES) {
			if (ioctl(first, KVM_GET_STATS_FD, 0) < 0 ||
			    ioctl(fds[2], KVM_GET_STATS_FD, 0) < 0)
				exit(1);
		} else {
			for (i = 0; i < ARRAY_SIZE(fds); i++)
				close(fds[i]);
			close(added);
		}
		answer(answers, command);
	}
	exit(0);
}

/* The test. */

static bool start_vmm(struct vmm *vmm)
{
	int commands[2], answers[2];
	char ready;

	if (pipe2(commands, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		abort();
	vmm->pid = fork();
	if (!vmm->pid) {
		close(commands[1]);
		close(answers[0]);
		run_vmm(commands[0], answers[1]);
	}
	close(commands[0]);
	close(answers[1]);
	vmm->commands = commands[1];
	vmm->answers = answers[0];
	return read(vmm->answers, &ready, 1) == 1;
}

static void tell_vmm(const struct vmm *vmm, char command)
{
	char same;

	if (write(vmm->commands, &command, 1) != 1 || read(vmm->answers, &same, 1) != 1)
		abort();
}

static void end_vmm(const struct vmm *vmm)
{
	close(vmm->commands);
	close(vmm->answers);
	waitpid(vmm->pid, NULL, 0);
}

/* The file descriptor of a vCPU, or of the VM, in the VMM. */
static const struct proc_fd *find_fd(const struct process *process, int link)
{
	size_t i;

	for (i = 0; i < process->fds.count; i++) {
		if (process->fds.entry[i].link == link && !process->fds.entry[i].is_stats)
			return &process->fds.entry[i];
	}
	abort();
}

/* Opens another file of the first VM, or of one of its vCPUs. */
static bool open_again(struct statsfile *file, const struct process *process, int link,
		       enum statsfile_access access)
{
	struct statsfile_source source = { .access = access, };
	struct statsfile_error error;
	struct host_error host_error;
	uint64_t vm;

	source.fd = this_host.get_stats(&this_host, process->pid, find_fd(process, link), &vm,
					&host_error);
	return source.fd >= 0 && !statsfile_open(file, &source, NULL, &error);
}

/* Whether pread() of that file returns these values. */
static bool agree_with(const struct process *process, int link, const uint64_t *values,
		       const struct statsfile_schema *schema)
{
	struct statsfile_error error;
	struct statsfile file;
	uint64_t *same;
	bool agree;

	if (!open_again(&file, process, link, STATSFILE_PREAD))
		return false;
	same = xcalloc(file.schema->num_values, sizeof(*same));
	agree = !statsfile_is_mapped(&file) && !statsfile_read(&file, same, &error) &&
		file.schema->num_values == schema->num_values &&
		!memcmp(values, same, schema->num_values * sizeof(*same));
	free(same);
	statsfile_close(&file);
	return agree;
}

static bool vm_agrees(const struct vm *vm)
{
	uint64_t *values = xcalloc(vm->file.schema->num_values, sizeof(*values));
	struct statsfile_error error;
	bool agrees;

	agrees = !statsfile_read(&vm->file, values, &error) &&
		 agree_with(vm->process, LINK_VM, values, vm->file.schema);
	free(values);
	return agrees;
}

/* Values as in the file: no time of the current state is added. The caller frees them. */
static uint64_t *read_vcpu(const struct vm *vm, size_t index)
{
	uint64_t *values = xcalloc(vm_vcpu_schema(vm)->num_values, sizeof(*values));
	struct statsfile_error error;

	if (!vm_read_vcpu(vm, index, values, &error))
		return values;
	free(values);
	return NULL;
}

/* -1 without that name, or on error. */
static uint64_t vcpu_value(const struct vm *vm, size_t index, const char *name)
{
	uint64_t *values = read_vcpu(vm, index);
	uint64_t value = values ? value_of(vm_vcpu_schema(vm), values, name) : (uint64_t)-1;

	free(values);
	return value;
}

static bool has_run(const struct vm *vm, const struct vcpu *vcpu)
{
	uint64_t exits = vcpu_value(vm, vcpu - vm->vcpu, "exits");

	return exits && exits != (uint64_t)-1;
}

/* Whether exit_reasons add up to exits. The vCPU must not run meanwhile. */
static bool reasons_add_up(const struct vm *vm, size_t index)
{
	const struct statsfile_desc *desc = statsfile_find(vm_vcpu_schema(vm), "exit_reasons");
	uint64_t *values = read_vcpu(vm, index);
	bool add_up = values && desc && desc->num_value_names == desc->size &&
		      group_total(desc, values) == value_of(vm_vcpu_schema(vm), values, "exits");

	free(values);
	return add_up;
}

static bool vcpu_agrees(const struct vm *vm, size_t index)
{
	uint64_t *values = read_vcpu(vm, index);
	bool agrees = values && agree_with(vm->process, vm->vcpu[index].number, values,
					   vm_vcpu_schema(vm));

	free(values);
	return agrees;
}

static bool take_sample(void *model)
{
	struct statsfile_error error;

	return !model_sample(model, 0, true, &error);
}

/* Reads the mapped file of the VM. */
static void test_mapping(struct inventory *inventory, const struct vmm *vmm)
{
	struct vm *vm = inventory->vm[0];
	struct statsfile_error error;
	uint64_t values[1024];
	struct statsfile file;
	struct model model;
	bool opened;

	check(statsfile_has_windows(&vm->file) && statsfile_has_windows(&inventory->vm[1]->file),
	      "mapping: VMs and their vCPUs");
	opened = open_again(&file, vm->process, IDLE_VCPU, STATSFILE_AUTO);
	check(opened && statsfile_is_mapped(&file), "mapping: the file of a vCPU");
	if (opened)
		statsfile_close(&file);
	check(vm->vcpu[0].number == IDLE_VCPU && vm->vcpu[1].number == RUNNING_VCPU,
	      "mapping: ids in the order of creation");
	check_number(vcpu_value(vm, 0, "exits"), 0, "mapping: exits of the vCPU that did not run");
	check(has_run(vm, &vm->vcpu[1]), "mapping: exits of the one that ran");
	check(reasons_add_up(vm, 1), "mapping: their reasons have names and add up to them");
	check(vm_agrees(vm) && vcpu_agrees(vm, 0) && vcpu_agrees(vm, 1),
	      "mapping: the same values as by pread() of their own files");

	model_init(&model, vm);
	check(take_sample(&model) && without_system_calls(take_sample, &model),
	      "mapping: a sample makes no system call");

	check(vm_vcpu_schema(vm)->num_values <= ARRAY_SIZE(values) &&
	      statsfile_read_vcpu(&vm->file, 2, values, &error), "mapping: no third vCPU yet");
	tell_vmm(vmm, ADD_VCPU);
	check(!statsfile_read_vcpu(&vm->file, 2, values, &error), "mapping: a vCPU appears there");
	inventory_update(inventory, vm);
	check(vm->num_vcpus == 3 && vm->vcpu[2].number == ADDED_VCPU, "mapping: its id");
	check(take_sample(&model) && model.group[SCOPE_VCPU].num_members == 3,
	      "mapping: its values are in the next sample");
	inventory_look(inventory, vm->process);
	check(vm->num_vcpus == 3 && vcpu_agrees(vm, 2), "mapping: the same values as by pread()");
	check(without_system_calls(take_sample, &model),
	      "mapping: then a sample makes no system call");
	model_free(&model);
}

/* The same without a mapping. */
static void test_files(const struct vmm *vmm)
{
	unsigned int fds = count_open_files();
	struct host host = this_host;
	struct inventory inventory;
	struct process *process;
	struct model model;
	const struct vm *vm;

	host.access = STATSFILE_PREAD;
	discover_init(&inventory, &host);
	process = inventory_find(&inventory, vmm->pid);
	inventory_look(&inventory, process);
	vm = inventory.vm[0];
	check(inventory.num_vms == 2 && vm->num_vcpus == 3 && !inventory.num_problems,
	      "not mapped: VMs and vCPUs");
	check_number(count_open_files(), fds + 1 + 2 + 4, "not mapped: a file each");
	check(vm_find_vcpu(vm, RUNNING_VCPU) && vm_find_vcpu(vm, ADDED_VCPU),
	      "not mapped: numbers of the vCPUs");
	check(has_run(vm, vm_find_vcpu(vm, RUNNING_VCPU)),
	      "not mapped: exits of the vCPU that ran");
	check(vm_agrees(vm) && vcpu_agrees(vm, 0), "not mapped: values");
	model_init(&model, vm);
	check(take_sample(&model) && with_system_calls(take_sample, &model),
	      "not mapped: a sample makes system calls");
	model_free(&model);
	inventory_free(&inventory);
}

static bool is_readable(const struct vm *vm)
{
	return vcpu_value(vm, 0, "exits") != (uint64_t)-1;
}

static void test_lives(struct inventory *inventory, const struct vmm *vmm)
{
	struct vm *first = inventory->vm[0], *second = inventory->vm[1];
	char id[32];

	snprintf(id, sizeof(id), "kvm-%d", vmm->pid);
	check_text(first->file.id, id, "id of the first VM");
	check_text(second->file.id, id, "id of the second VM, created by the same thread");
	check(first->num_vcpus == 3 && second->num_vcpus == 1, "vCPUs of each VM");
	check(first->file.schema->num_desc && vm_vcpu_schema(first)->num_desc,
	      "statistics of VM and vCPU");
	check(is_readable(first) && is_readable(second), "values");

	check(!inventory_see_end(inventory, first) && !inventory_see_end(inventory, second),
	      "both VMs are alive");
	tell_vmm(vmm, CLOSE_FIRST_VM);
	check(inventory_see_end(inventory, first), "the statistics files keep no VM alive");
	check(!inventory_see_end(inventory, second),
	      "one of two VMs destroyed: the other VM lives");
	check(is_readable(first), "values of the dead VM");
	end_vmm(vmm);
	check(inventory_see_end(inventory, second), "the other VM ends with its process");
	check(is_readable(second), "a VM that ended with its process: its values stay readable");
}

static bool finds_vm_of(const struct vmm *vmm, const struct host *host)
{
	struct inventory inventory;
	bool found = false;
	size_t i;

	discover_init(&inventory, host);
	inventory_look(&inventory, NULL);
	for (i = 0; i < inventory.num_vms; i++)
		found |= inventory.vm[i]->process->pid == vmm->pid;
	inventory_free(&inventory);
	return found;
}

/* Answers as a kernel that gives files to the VMM only. */
static int give_held_only(const struct host *host, pid_t pid, const struct proc_fd *fd,
			  uint64_t *vm, struct host_error *error)
{
	if (fd->is_stats)
		return this_host.get_stats(host, pid, fd, vm, error);
	*error = (struct host_error) { .step = HOST_STATS, .err = EIO, .capability = 1, };
	return -1;
}

/*
 * Reads the files that the VMM holds, of its first VM and one of its vCPUs, on a kernel that gives
 * no others. @exits: the vCPU's exits as read from another file, or NULL.
 */
static void test_held(const struct vmm *vmm, const uint64_t *exits)
{
	struct host host = this_host;
	struct inventory inventory;
	struct process *process;
	struct model model;
	struct vm *vm;
	char id[32];

	host.get_stats = give_held_only;
	host.access = STATSFILE_PREAD;
	discover_init(&inventory, &host);
	process = inventory_find(&inventory, vmm->pid);
	inventory_look(&inventory, process);
	check(inventory.num_vms == 1 && !vm_has_statistics(inventory.vm[0]),
	      "held: none at first");
	tell_vmm(vmm, HOLD_FILES);
	inventory_look(&inventory, process);
	vm = inventory.vm[0];
	check(inventory.num_vms == 1 && vm_has_statistics(vm) && vm->num_vcpus == 1 &&
	      vm->vcpu[0].number == RUNNING_VCPU, "held: VM and vCPU");
	snprintf(id, sizeof(id), "kvm-%d", vmm->pid);
	check_text(vm->file.id, id, "held: id of the VM");
	check(vm->file.schema->num_desc && is_readable(vm) && has_run(vm, &vm->vcpu[0]),
	      "held: values");
	if (exits)
		check_number(vcpu_value(vm, 0, "exits"), *exits,
			     "held: the same value as by the VM's file");
	check_number(inventory.num_problems, 3,
		     "held: messages about missing files, before and after");
	/* test_mapping() has added one, if it ran. */
	check(strstr(inventory.problem[2], "which has no file open for 2 vCPUs") ||
	      strstr(inventory.problem[2], "which has no file open for 3 vCPUs"),
	      "held: other vCPUs are missing");
	check_contains(inventory.problem[1], "has 3 file descriptors of VMs",
		       "held: a message says that there are more VMs");
	model_init(&model, vm);
	check(take_sample(&model) && with_system_calls(take_sample, &model),
	      "held: a sample makes system calls");
	model_free(&model);
	inventory_free(&inventory);
}

/* On a kernel that gives files to every process, held files are not used. */
static void test_held_and_given(struct inventory *inventory, const struct vmm *vmm)
{
	struct vm *vm = inventory->vm[0];
	uint64_t exits = vcpu_value(vm, 1, "exits");
	unsigned int fds;

	test_held(vmm, &exits);
	fds = count_open_files();
	inventory_look(inventory, vm->process);
	check(inventory->num_vms == 2 && vm->num_vcpus == 3 && !inventory->num_problems &&
	      count_open_files() == fds, "held and given: nothing is shown or opened twice");
}

static void test_refused(const struct vmm *vmm, int capability)
{
	struct inventory inventory;
	const char *problem;

	discover_init(&inventory, &this_host);
	inventory_look(&inventory, inventory_find(&inventory, vmm->pid));
	problem = inventory.num_problems ? inventory.problem[0] : "";
	check(inventory.num_vms == 1 && inventory.vm[0]->num_vcpus_counted == 3,
	      "no statistics files: VM and vCPUs are counted");
	check_contains(problem, capability > 0 ? "only to the VMM" : "has no statistics files",
		       "no statistics files: a message says what is missing");
	skip("the kernel gives no statistics files to other processes", "files of any VM");
	inventory_free(&inventory);
}

/* Finds the VM without privileges, with the help of the broker. */
static void find_confined(int vmms, int answers)
{
	struct broker broker;
	struct vmm vmm;

	if (broker_start(&broker, &this_host) != STATUS_OK ||
	    privilege_drop(USE_OUTPUT) != STATUS_OK)
		_exit(STATUS_ERROR);
	answer(answers, READY);
	if (read(vmms, &vmm, sizeof(vmm)) != sizeof(vmm))
		_exit(STATUS_ERROR);
	_exit(finds_vm_of(&vmm, &broker.host) ? STATUS_OK : STATUS_USAGE);
}

/* A VM of another user that starts after kvmstat has given up privileges. */
static void test_confined(void)
{
	int vmms[2], answers[2], status;
	struct vmm vmm;
	pid_t child;
	char ready;

	if (pipe2(vmms, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		abort();
	child = fork();
	if (!child)
		find_confined(vmms[0], answers[1]);
	if (read(answers[0], &ready, 1) != 1)
		abort();
	vmm_user = geteuid() ? geteuid() : OTHER_USER;
	if (!start_vmm(&vmm) || write(vmms[1], &vmm, sizeof(vmm)) != sizeof(vmm) ||
	    waitpid(child, &status, 0) != child)
		abort();
	check(WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OK,
	      "without privileges: a VM of another user that comes later");
	vmm_user = geteuid();
	end_vmm(&vmm);
	close(vmms[0]);
	close(vmms[1]);
	close(answers[0]);
	close(answers[1]);
}

/* Whether this kernel gives statistics files to processes other than the VMM. */
static bool gives_files(const struct inventory *inventory)
{
	return inventory->num_vms == 2;
}

int main(void)
{
	unsigned int fds, first_fds = count_open_files();
	struct inventory inventory;
	struct process *process;
	int kvm, capability;
	struct vmm vmm;

	vmm_user = geteuid();
	kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (kvm < 0) {
		skip("cannot open /dev/kvm", "discovery of real VMs (%s)", strerror(errno));
		return tap_end();
	}
	capability = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_BINARY_STATS_FD);
	close(kvm);
	if (!start_vmm(&vmm)) {
		check(false, "KVM can create VMs");
		return tap_end();
	}

	test_confined();
	discover_init(&inventory, &this_host);
	process = inventory_find(&inventory, vmm.pid);
	fds = count_open_files();
	check(process && !inventory_look(&inventory, process), "the VMM is looked into");
	if (gives_files(&inventory))
		check_number(count_open_files(), fds + 2, "one file per VM");
	check(finds_vm_of(&vmm, &this_host), "a scan of the host finds it too");
	if (gives_files(&inventory)) {
		test_mapping(&inventory, &vmm);
		test_files(&vmm);
		test_held_and_given(&inventory, &vmm);
		test_lives(&inventory, &vmm);
	} else {
		test_refused(&vmm, capability);
		if (capability > 0)
			test_held(&vmm, NULL);
		else
			skip("the kernel has no statistics files", "files that the VMM holds open");
		end_vmm(&vmm);
	}
	inventory_free(&inventory);
	check_number(count_open_files(), first_fds, "all file descriptors are closed in the end");
	return tap_end();
}
