// SPDX-License-Identifier: GPL-2.0-only
/*
 * move save|restore FILE: saves a running VM to a file, or restores it, with all the state that a
 * VMM transfers when it migrates a vCPU. The guest writes successive numbers to a port.
 */
#include <linux/types.h>

#include "../guest/tiny-vm.h"

#define STEPS	1000
#define MSRS	1024

static const unsigned char count[] = {
	0x40,			/* inc %ax */
	0xe7, 0x80,		/* out %ax, $0x80 */
	0xeb, 0xfb,		/* jmp to the beginning */
};

static struct state {
	struct kvm_sregs sregs;
	struct kvm_regs regs;
	struct kvm_fpu fpu;
	struct kvm_xsave xsave;
	struct kvm_xcrs xcrs;
	struct kvm_lapic_state lapic;
	struct kvm_debugregs debugregs;
	struct kvm_vcpu_events events;
	struct kvm_mp_state mp_state;
	struct kvm_irqchip irqchips[3];
	__u32 num_msrs;
	struct kvm_msr_entry msrs[MSRS];
	char memory[TINY_VM_MEMORY];
} state;

static struct {
	unsigned long get, set;
	void *data;
	const char *name;
} parts[] = {
#define PART(NAME, member) { KVM_GET_##NAME, KVM_SET_##NAME, &state.member, #NAME },
	PART(SREGS, sregs)
	PART(REGS, regs)
	PART(FPU, fpu)
	PART(XSAVE, xsave)
	PART(XCRS, xcrs)
	PART(LAPIC, lapic)
	PART(DEBUGREGS, debugregs)
	PART(VCPU_EVENTS, events)
	PART(MP_STATE, mp_state)
};
#define NUM_PARTS (sizeof(parts) / sizeof(parts[0]))

struct one_msr {
	struct kvm_msrs head;
	struct kvm_msr_entry entry;
};

static void list_msrs(void)
{
	struct {
		struct kvm_msr_list head;
		__u32 indices[MSRS];
	} list = { .head.nmsrs = MSRS };
	int kvm = checked(open("/dev/kvm", O_RDWR), "/dev/kvm");

	checked(ioctl(kvm, KVM_GET_MSR_INDEX_LIST, &list), "KVM_GET_MSR_INDEX_LIST");
	close(kvm);
	state.num_msrs = list.head.nmsrs;
	for (__u32 i = 0; i < state.num_msrs; i++)
		state.msrs[i].index = list.indices[i];
}

/* Not every MSR of the list exists on this CPU, and some cannot be written. */
static int transfer_msrs(int vcpu, unsigned long request)
{
	int transferred = 0;

	for (__u32 i = 0; i < state.num_msrs; i++) {
		struct one_msr msr = { .head.nmsrs = 1, .entry = state.msrs[i] };

		if (ioctl(vcpu, request, &msr) != 1)
			continue;
		state.msrs[i] = msr.entry;
		transferred++;
	}
	return transferred;
}

static void save(const struct tiny_vm *vm)
{
	/* Complete the access to the port without entering the guest. */
	vm->run->immediate_exit = 1;
	if (ioctl(vm->vcpu, KVM_RUN, 0) != -1 || errno != EINTR)
		bail_out("KVM_RUN");
	vm->run->immediate_exit = 0;
	for (size_t i = 0; i < NUM_PARTS; i++)
		checked(ioctl(vm->vcpu, parts[i].get, parts[i].data), parts[i].name);
	for (int i = 0; i < 3; i++) {
		state.irqchips[i].chip_id = i;
		checked(ioctl(vm->fd, KVM_GET_IRQCHIP, &state.irqchips[i]), "KVM_GET_IRQCHIP");
	}
	list_msrs();
	printf("# %d MSRs saved\n", transfer_msrs(vm->vcpu, KVM_GET_MSRS));
	memcpy(state.memory, vm->memory, TINY_VM_MEMORY);
}

static void restore(const struct tiny_vm *vm)
{
	memcpy(vm->memory, state.memory, TINY_VM_MEMORY);
	for (int i = 0; i < 3; i++)
		checked(ioctl(vm->fd, KVM_SET_IRQCHIP, &state.irqchips[i]), "KVM_SET_IRQCHIP");
	for (size_t i = 0; i < NUM_PARTS; i++)
		checked(ioctl(vm->vcpu, parts[i].set, parts[i].data), parts[i].name);
	printf("# %d MSRs restored\n", transfer_msrs(vm->vcpu, KVM_SET_MSRS));
}

/* The guest's next STEPS numbers follow @last. */
static bool counts_on(const struct tiny_vm *vm, unsigned short last)
{
	for (int i = 0; i < STEPS; i++) {
		unsigned short number;

		if (!tiny_vm_run(vm))
			return false;
		memcpy(&number, (char *)vm->run + vm->run->io.data_offset, sizeof(number));
		if (number != (unsigned short)++last)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct tiny_vm vm = tiny_vm_create();
	FILE *file;

	if (argc != 3)
		return 1;
	if (!strcmp(argv[1], "save")) {
		memcpy(vm.memory, count, sizeof(count));
		if (!counts_on(&vm, 0))
			return 1;
		save(&vm);
		file = fopen(argv[2], "we");
		return !file || fwrite(&state, sizeof(state), 1, file) != 1 || fclose(file);
	}
	file = fopen(argv[2], "re");
	if (!file || fread(&state, sizeof(state), 1, file) != 1)
		return 1;
	restore(&vm);
	return !counts_on(&vm, STEPS);
}
