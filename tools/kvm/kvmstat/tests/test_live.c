// SPDX-License-Identifier: GPL-2.0
/*
 * Discovery of real VMs: a child plays a VMM with two VMs that one thread created,
 * vCPUs of other threads and duplicated file descriptors. On a kernel that does not
 * give out statistics files, that this is said.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../discover.h"
#include "../model.h"
#include "../util.h"
#include "tap.h"

/* See host.c on why linux/kvm.h is not included. */
#define KVM_CREATE_VM _IO(0xae, 0x01)
#define KVM_CHECK_EXTENSION _IO(0xae, 0x03)
#define KVM_CREATE_VCPU _IO(0xae, 0x41)
#define KVM_CAP_BINARY_STATS_FD 203

/* What the child is told to do; it answers with the same. */
#define CLOSE_FIRST_VM 'c'
#define READY 'r'

struct vmm {
	pid_t pid;
	int commands;
	int answers;
};

/* The child's side. */

static void answer(int answers, char what)
{
	if (write(answers, &what, 1) != 1)
		exit(1);
}

static void *create_vcpu(void *vm)
{
	return (void *)(intptr_t)ioctl(*(int *)vm, KVM_CREATE_VCPU, 0);
}

static int create_vcpu_in_thread(int vm)
{
	pthread_t thread;
	void *vcpu;

	if (pthread_create(&thread, NULL, create_vcpu, &vm) || pthread_join(thread, &vcpu))
		return -1;
	return (intptr_t)vcpu;
}

static void run_vmm(int commands, int answers)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int first = ioctl(kvm, KVM_CREATE_VM, 0);
	int second = ioctl(kvm, KVM_CREATE_VM, 0);
	int fds[] = {
		first,
		create_vcpu_in_thread(first),
		ioctl(first, KVM_CREATE_VCPU, 1),
		dup(first),
	};
	char command;
	size_t i;

	if (second < 0 || ioctl(second, KVM_CREATE_VCPU, 0) < 0)
		exit(1);
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] < 0)
			exit(1);
	}
	answer(answers, READY);
	while (read(commands, &command, 1) == 1) {
		for (i = 0; i < ARRAY_SIZE(fds); i++)
			close(fds[i]);
		answer(answers, command);
	}
	exit(0);
}

/* The test's side. */

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

static unsigned int count_own_fds(void)
{
	unsigned int count = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static bool is_readable(const struct statsfile *file)
{
	struct statsfile_error error;
	struct group group;

	if (group_of_file(&group, file, &error))
		return false;
	group_free(&group);
	return true;
}

static void test_lives(struct inventory *inventory, const struct vmm *vmm)
{
	struct vm *first = inventory->vm[0], *second = inventory->vm[1];
	char id[32];

	snprintf(id, sizeof(id), "kvm-%d", vmm->pid);
	check_text(first->file.id, id, "id of the first VM");
	check_text(second->file.id, id, "id of the second VM, created by the same thread");
	check(first->num_vcpus == 2 && second->num_vcpus == 1, "vCPUs of each VM");
	check(first->file.schema->num_desc && first->vcpu[0].file.schema->num_desc,
	      "statistics of VM and vCPU");
	check(is_readable(&first->file) && is_readable(&first->vcpu[1].file), "values");

	check(!vm_is_dead(inventory, first) && !vm_is_dead(inventory, second), "both live");
	tell_vmm(vmm, CLOSE_FIRST_VM);
	check(vm_is_dead(inventory, first), "the statistics files keep no VM alive");
	check(!vm_is_dead(inventory, second), "the other VM lives");
	check(is_readable(&first->file) && is_readable(&first->vcpu[0].file),
	      "values of the dead VM");
	end_vmm(vmm);
	check(vm_is_dead(inventory, second), "the other VM ends with its process");
}

static bool finds_vm_of(const struct vmm *vmm)
{
	struct inventory inventory;
	bool found = false;
	size_t i;

	inventory_init(&inventory, &this_host);
	discover_all(&inventory);
	for (i = 0; i < inventory.num_vms; i++)
		found |= inventory.vm[i]->process->pid == vmm->pid;
	inventory_free(&inventory);
	return found;
}

static void test_refused(const struct inventory *inventory, int capability)
{
	const char *problem = inventory->num_problems ? inventory->problem[0] : "";

	check(inventory->num_vms == 1 && inventory->vm[0]->num_vcpus_counted == 3,
	      "no statistics files: VM and vCPUs are counted");
	check_contains(problem, capability > 0 ? "to the VMM only" : "has no statistics files",
		       "no statistics files: said what is missing");
	skip("the kernel gives no statistics files to other processes", "statistics of real VMs");
}

int main(void)
{
	unsigned int fds = count_own_fds();
	struct inventory inventory;
	struct process *process;
	int kvm, capability;
	struct vmm vmm;

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

	inventory_init(&inventory, &this_host);
	process = discover_process(&inventory, vmm.pid);
	check(process && !discover_again(&inventory, process), "the VMM is looked into");
	check(finds_vm_of(&vmm), "a scan of the host finds it too");
	if (inventory.num_vms == 2) {
		test_lives(&inventory, &vmm);
	} else {
		test_refused(&inventory, capability);
		end_vmm(&vmm);
	}
	inventory_free(&inventory);
	check_number(count_own_fds(), fds, "all file descriptors are closed in the end");
	return tap_end();
}
