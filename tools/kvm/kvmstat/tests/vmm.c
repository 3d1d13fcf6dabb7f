// SPDX-License-Identifier: GPL-2.0
/*
 * vmm VMS VCPUS HELD FDS [-name NAME]: a VMM for tests. It creates VMS VMs with VCPUS vCPUs each,
 * which never run, prints "ready", and waits to be killed. HELD names the statistics files that it
 * holds open, as some VMMs do: "none", "vcpus" or "all". It has FDS more open file descriptors,
 * half of them before KVM's.
 *
 * vmm nobody COMMAND...: runs the command without any privileges.
 *
 * vmm capable COMMAND...: runs the command as another user, with the two capabilities that kvmstat
 * needs.
 *
 * vmm no-ptrace COMMAND...: runs the command as root without CAP_SYS_PTRACE, as in a container.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/util.h"

/* linux/kvm.h of older systems lacks the last one. */
#define KVM_CREATE_VM _IO(0xae, 0x01)
#define KVM_CREATE_VCPU _IO(0xae, 0x41)
#define KVM_GET_STATS_FD _IO(0xae, 0xce)

#define NOBODY 65534
#define OTHER 61234

static int checked(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "vmm: %s: %s\n", what, strerror(errno));
		exit(STATUS_ERROR);
	}
	return result;
}

static unsigned int number(const char *text)
{
	uint64_t value;

	if (parse_number(text, 0, 100000, &value))
		exit(STATUS_USAGE);
	return value;
}

static void make_vm(int kvm, unsigned int vcpus, const char *held)
{
	int vm = checked(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
	unsigned int i;
	int vcpu;

	for (i = 0; i < vcpus; i++) {
		vcpu = checked(ioctl(vm, KVM_CREATE_VCPU, i), "KVM_CREATE_VCPU");
		if (strcmp(held, "none"))
			checked(ioctl(vcpu, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD");
	}
	if (!strcmp(held, "all"))
		checked(ioctl(vm, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD");
}

static void allow_open_files(rlim_t count)
{
	struct rlimit files;

	checked(getrlimit(RLIMIT_NOFILE, &files), "getrlimit");
	files.rlim_cur = count;
	if (files.rlim_max < count)
		files.rlim_max = count;
	checked(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
}

static int run_as_nobody(char **command)
{
	checked(setgroups(0, NULL), "setgroups");
	checked(setresgid(NOBODY, NOBODY, NOBODY), "setresgid");
	checked(setresuid(NOBODY, NOBODY, NOBODY), "setresuid");
	return checked(execvp(command[0], command), command[0]);
}

static int run_without_ptrace(char **command)
{
	checked(prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0), "PR_CAPBSET_DROP");
	return checked(execvp(command[0], command), command[0]);
}

/* Runs the command as systemd does with AmbientCapabilities=. */
static int run_capable(char **command)
{
	static const unsigned int needed[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3, };
	struct __user_cap_data_struct data[2] = {};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(needed); i++)
		data[0].permitted |= 1u << needed[i];
	data[0].effective = data[0].permitted;
	data[0].inheritable = data[0].permitted;
	checked(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keep capabilities");
	checked(setgroups(0, NULL), "setgroups");
	checked(setresgid(OTHER, OTHER, OTHER), "setresgid");
	checked(setresuid(OTHER, OTHER, OTHER), "setresuid");
	checked(syscall(SYS_capset, &header, data), "capset");
	for (i = 0; i < ARRAY_SIZE(needed); i++)
		checked(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0),
			"ambient capability");
	return checked(execvp(command[0], command), command[0]);
}

int main(int argc, char **argv)
{
	unsigned int vms, vcpus, fds, i;
	int kvm, other;

	if (argc > 2 && !strcmp(argv[1], "nobody"))
		return run_as_nobody(argv + 2);
	if (argc > 2 && !strcmp(argv[1], "capable"))
		return run_capable(argv + 2);
	if (argc > 2 && !strcmp(argv[1], "no-ptrace"))
		return run_without_ptrace(argv + 2);
	if (argc < 5)
		return STATUS_USAGE;
	vms = number(argv[1]);
	vcpus = number(argv[2]);
	fds = number(argv[4]);
	allow_open_files(100 + fds + vms * (2 + 2 * vcpus));
	kvm = checked(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	other = checked(open("/dev/null", O_RDONLY | O_CLOEXEC), "/dev/null");
	for (i = 0; i < fds / 2; i++)
		checked(dup(other), "dup");
	while (vms--)
		make_vm(kvm, vcpus, argv[3]);
	for (; i < fds; i++)
		checked(dup(other), "dup");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
