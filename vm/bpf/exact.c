// SPDX-License-Identifier: GPL-2.0-only
/*
 * exact VCPUS CPUIDS MSRS RUNS: a VM whose vCPUs each do RUNS times: CPUIDS times CPUID, MSRS
 * times RDMSR, one OUT that goes to the VMM. Holds all of the kernel's statistics files. Prints
 * "ready", waits for a line, runs, prints "done", waits for the end of its input.
 *
 * exact NUMBER: makes so many such VMs of four vCPUs, one after the other, runs each vCPU on two
 * threads, one after the other, and ends them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>

#include "../guest/tiny-vm.h"

#define MAX_VCPUS 16
#define CODE 0x1000

static const unsigned char code[] = {
	0x66, 0x89, 0xfe,			/* 1: mov %edi, %esi */
	0x0f, 0xa2,				/* 2: cpuid */
	0x66, 0x4e, 0x75, 0xfa,			/*    dec %esi; jnz 2b */
	0x66, 0x89, 0xee,			/*    mov %ebp, %esi */
	0x66, 0xb9, 0x1b, 0x00, 0x00, 0x00,	/* 3: mov $0x1b, %ecx (the APIC's base) */
	0x0f, 0x32,				/*    rdmsr */
	0x66, 0x4e, 0x75, 0xf4,			/*    dec %esi; jnz 3b */
	0xe6, 0x80,				/*    out %al, $0x80 */
	0xeb, 0xe4,				/*    jmp 1b */
};

static struct tiny_vm vcpus[MAX_VCPUS];
static long cpuids, msrs, runs;

static void *run(void *arg)
{
	const struct tiny_vm *vm = arg;
	long i;

	for (i = 0; i < runs; i++) {
		while (!tiny_vm_run(vm)) {
			if (errno != EINTR)
				bail_out("KVM_RUN");
		}
	}
	return NULL;
}

static void create(int count, bool hold)
{
	struct kvm_regs regs = { .rip = CODE, .rflags = 2, .rdi = cpuids, .rbp = msrs };
	int i;

	vcpus[0] = tiny_vm_create();
	memcpy(vcpus[0].memory + CODE, code, sizeof(code));
	for (i = 0; i < count; i++) {
		if (i) {
			vcpus[i] = vcpus[0];
			vcpus[i].vcpu = checked(ioctl(vcpus[0].fd, KVM_CREATE_VCPU, i),
						"KVM_CREATE_VCPU");
			vcpus[i].run = mmap(NULL, vcpus[0].run_size, PROT_READ | PROT_WRITE,
					    MAP_SHARED, vcpus[i].vcpu, 0);
			tiny_vm_load(&vcpus[i]);
		}
		checked(ioctl(vcpus[i].vcpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");
		if (i) {
			struct kvm_mp_state state = { KVM_MP_STATE_RUNNABLE };

			checked(ioctl(vcpus[i].vcpu, KVM_SET_MP_STATE, &state), "KVM_SET_MP_STATE");
		}
		if (hold)
			stats_fd(vcpus[i].vcpu);
	}
	if (hold)
		stats_fd(vcpus[0].fd);
}

static void run_all(int count)
{
	pthread_t threads[MAX_VCPUS];
	int i;

	for (i = 0; i < count; i++)
		checked(-pthread_create(&threads[i], NULL, run, &vcpus[i]), "thread");
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	cpuids = msrs = runs = 1;
	while (argc == 2 && count-- > 0) {
		create(4, false);
		run_all(4);
		/* On other threads */
		run_all(4);
		for (i = 1; i < 4; i++) {
			munmap(vcpus[i].run, vcpus[0].run_size);
			close(vcpus[i].vcpu);
		}
		tiny_vm_close(&vcpus[0]);
	}
	if (argc == 2)
		return 0;
	if (argc != 5 || count < 1 || count > MAX_VCPUS)
		return 2;
	cpuids = atol(argv[2]);
	msrs = atol(argv[3]);
	runs = atol(argv[4]);
	create(count, true);
	puts("ready");
	getchar();
	run_all(count);
	puts("done");
	while (getchar() != EOF)
		;
	return 0;
}
