// SPDX-License-Identifier: GPL-2.0
/*
 * A VMM dies between any two system calls of a scan. A child scans; the test stops it at its first,
 * second, ... system call, kills the VMM, and lets the child go on. In one pass the VMM is then
 * gone, in one a zombie. The VMM is a real one that also holds statistics files open: the kernel
 * decides how the child gets files.
 *
 * test_death STEP: only at every STEP-th system call, for hosts on which creating VMs is slow.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/model.h"
#include "sources/discover.h"
#include "tap.h"
#include "util/util.h"

/* Far more system calls than a scan makes. */
#define MAX_CALLS 2000

static void run_vmm(int ready)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);

	ioctl(vm, KVM_GET_STATS_FD, 0);
	ioctl(vcpu, KVM_GET_STATS_FD, 0);
	if (vcpu < 0 || write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static pid_t start_vmm(void)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		abort();
	pid = fork();
	if (!pid)
		run_vmm(ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		abort();
	close(ready[0]);
	return pid;
}

/* The only expected problem of a living process: the kernel gives files to the VMM only. */
static bool is_expected(const char *problem)
{
	return strstr(problem, ": no such process") || strstr(problem, VMM_ONLY) ||
	       strstr(problem, "has no statistics files");
}

static void sample_all(const struct inventory *inventory)
{
	struct statsfile_error error;
	struct model model;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (!vm_has_statistics(inventory->vm[i]))
			continue;
		model_init(&model, inventory->vm[i]);
		if (model_sample(&model, 1, true, &error))
			_exit(3);
		model_free(&model);
	}
}

/* Scans a process twice. */
static void look(pid_t pid)
{
	struct inventory inventory;
	struct process *process;
	size_t i;

	discover_init(&inventory, &this_host);
	process = inventory_find(&inventory, pid);
	if (process) {
		inventory_look(&inventory, process);
		sample_all(&inventory);
		inventory_look(&inventory, process);
		for (i = 0; i < inventory.num_vms; i++)
			inventory_see_end(&inventory, inventory.vm[i]);
		sample_all(&inventory);
		inventory_forget_dead(&inventory);
	}
	for (i = 0; i < inventory.num_problems; i++) {
		if (!is_expected(inventory.problem[i])) {
			fprintf(stderr, "# %s\n", inventory.problem[i]);
			_exit(2);
		}
	}
	inventory_free(&inventory);
	/* _exit() skips the leak check, which does not work in a traced process. */
	_exit(0);
}

static pid_t start_looking(pid_t vmm)
{
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(4);
		raise(SIGSTOP);
		look(vmm);
	}
	return pid;
}

static void kill_vmm(pid_t vmm, bool reap)
{
	siginfo_t info;

	if (kill(vmm, SIGKILL) || waitid(P_PID, vmm, &info, WEXITED | (reap ? 0 : WNOWAIT)))
		abort();
}

/* Runs the child to its @calls-th entry to or exit from a system call, or to its end. */
static int run_for(pid_t looker, unsigned int calls)
{
	int status;

	if (waitpid(looker, &status, 0) != looker)
		abort();
	while (calls-- && WIFSTOPPED(status)) {
		if (ptrace(PTRACE_SYSCALL, looker, NULL, NULL) ||
		    waitpid(looker, &status, 0) != looker)
			abort();
	}
	return status;
}

/* Kills the VMM at that system call. False if the scan ended before. */
static bool dies_at(unsigned int calls, bool reap, int *status)
{
	pid_t vmm = start_vmm();
	pid_t looker = start_looking(vmm);
	bool died;

	*status = run_for(looker, calls);
	died = WIFSTOPPED(*status);
	kill_vmm(vmm, reap);
	if (died && (ptrace(PTRACE_CONT, looker, NULL, NULL) ||
		     waitpid(looker, status, 0) != looker))
		abort();
	if (!reap)
		waitpid(vmm, NULL, 0);
	return died;
}

static void test_deaths(const char *name, unsigned int step, bool reap)
{
	unsigned int calls, bad = 0;
	int status;

	for (calls = 1; calls < MAX_CALLS && dies_at(calls, reap, &status);
	     calls += step) {
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			printf("# dies at %u: wait status %#x\n", calls, status);
			bad++;
		}
	}
	printf("# %u moments to die at\n", calls / step);
	check(calls > 40 && calls < MAX_CALLS, "%s: the scan makes 40 to 2000 system calls", name);
	check(!bad && WIFEXITED(status) && !WEXITSTATUS(status), "%s: no scan fails", name);
}

int main(int argc, char **argv)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	uint64_t step = 1;

	if (argc > 1 && parse_number(argv[1], 1, 100, &step))
		return STATUS_USAGE;

	if (kvm < 0) {
		skip("cannot open /dev/kvm", "a VMM that dies (%s)", strerror(errno));
		return tap_end();
	}
	close(kvm);
	test_deaths("gone", step, true);
	test_deaths("a zombie", step, false);
	return tap_end();
}
