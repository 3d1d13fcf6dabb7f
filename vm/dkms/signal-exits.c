// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts vCPU threads by signals while their guests exit all the time. The kernel's core,
 * which is not rebuilt with the modules, then writes to struct kvm_vcpu. If a module has
 * moved the fields, that write damages the neighbouring vCPU, and the host soon crashes. The
 * threads share a CPU, so that the scheduler uses the preempt notifiers that would be damaged.
 * A prototype with moved fields crashed about once in 1800 such exits; the test makes 18000.
 * A larger object hides the damage: scripts/check-layout compares code, dkms/fits offsets.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "../guest/tiny-vm.h"

#define EXITS 18000
#define VMS 5
#define SIGNALS 30
#define SIGNAL_US 2000

static const unsigned char loop[] = {
	0x66, 0x31, 0xc0,	/* xor %eax,%eax */
	0x0f, 0xa2,		/* cpuid */
	0xeb, 0xf9,		/* jmp to the beginning */
};

struct vcpu {
	int fd;
	struct kvm_run *run;
	pthread_t thread;
	unsigned int exits;
	bool failed;
	volatile bool ended;
};

static volatile bool stop;

/* Shared by all processes. */
static volatile unsigned int *all_exits;

static void ignore(int signal)
{
	(void)signal;
}

static void *run(void *arg)
{
	struct vcpu *vcpu = arg;

	do {
		vcpu->run->exit_reason = KVM_EXIT_UNKNOWN;
		vcpu->failed = ioctl(vcpu->fd, KVM_RUN, 0) != -1 || errno != EINTR ||
			       vcpu->run->exit_reason != KVM_EXIT_INTR;
		vcpu->exits++;
	} while (!vcpu->failed && !stop);
	vcpu->ended = true;
	return NULL;
}

static struct vcpu second_vcpu(const struct tiny_vm *vm)
{
	struct kvm_mp_state runnable = { KVM_MP_STATE_RUNNABLE };
	struct tiny_vm second = *vm;

	second.vcpu = checked(ioctl(vm->fd, KVM_CREATE_VCPU, 1), "KVM_CREATE_VCPU");
	second.run = mmap(NULL, vm->run_size, PROT_READ | PROT_WRITE, MAP_SHARED, second.vcpu, 0);
	if (second.run == MAP_FAILED)
		bail_out("mmap of kvm_run");
	checked(ioctl(second.vcpu, KVM_SET_MP_STATE, &runnable), "KVM_SET_MP_STATE");
	tiny_vm_load(&second);
	return (struct vcpu){ .fd = second.vcpu, .run = second.run };
}

/* Each KVM_RUN must last until a signal, and return with KVM_EXIT_INTR. */
static bool one_vm(void)
{
	struct tiny_vm vm = tiny_vm_create();
	struct vcpu vcpus[2] = { { .fd = vm.vcpu, .run = vm.run }, second_vcpu(&vm) };

	memcpy(vm.memory, loop, sizeof(loop));
	stop = false;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&vcpus[i].thread, NULL, run, &vcpus[i]))
			bail_out("pthread_create");
	for (int i = 0; i < SIGNALS || !vcpus[0].ended || !vcpus[1].ended; i++) {
		stop = i >= SIGNALS - 1;
		usleep(SIGNAL_US);
		for (int j = 0; j < 2; j++)
			if (!vcpus[j].ended)
				pthread_kill(vcpus[j].thread, SIGUSR1);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(vcpus[i].thread, NULL);
		*all_exits += vcpus[i].exits;
	}
	munmap(vcpus[1].run, vm.run_size);
	close(vcpus[1].fd);
	tiny_vm_close(&vm);
	return !vcpus[0].failed && !vcpus[1].failed;
}

static void one_process(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	checked(sched_setaffinity(0, sizeof(one), &one), "sched_setaffinity");
	for (int i = 0; i < VMS; i++)
		if (!one_vm())
			_exit(1);
	_exit(0);
}

int main(void)
{
	struct sigaction action = { .sa_handler = ignore };
	int vcpus = 0, failed = 0;

	all_exits = mmap(NULL, sizeof(*all_exits), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all_exits == MAP_FAILED)
		bail_out("mmap");
	sigaction(SIGUSR1, &action, NULL);
	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	while (*all_exits < EXITS && !failed) {
		int status;
		pid_t pid = fork();

		if (!pid)
			one_process();
		waitpid(checked(pid, "fork"), &status, 0);
		failed += status != 0;
		vcpus += 2 * VMS;
	}
	printf("# %u signals interrupted %d vCPUs\n", *all_exits, vcpus);
	return !result(!failed, "vCPUs run until a signal interrupts them");
}
