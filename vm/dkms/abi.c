// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints what a VMM and its guest see of KVM: capabilities, CPUID, MSRs, and the state of a VM
 * and a vCPU that have not run. Times are left out.
 */
#include <linux/types.h>

#include "../guest/tiny-vm.h"

#define CAPABILITIES	512
#define ENTRIES		1024

static void print_bytes(const char *name, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	printf("%s %zu ", name, size);
	for (size_t i = 0; i < size; i++)
		printf("%02x", bytes[i]);
	printf("\n");
}

/* Prints the state that @request reads, or the error. */
static void print_state(int fd, unsigned long request, const char *name, size_t size,
			unsigned int argument)
{
	char *data = calloc(1, size);

	if (!data)
		bail_out(name);
	memcpy(data, &argument, sizeof(argument));
	if (ioctl(fd, request, data))
		printf("%s: %s\n", name, strerror(errno));
	else
		print_bytes(name, data, size);
	free(data);
}

static void print_capabilities(int fd, const char *name)
{
	for (int i = 0; i < CAPABILITIES; i++)
		printf("%s capability %d: %d\n", name, i, ioctl(fd, KVM_CHECK_EXTENSION, i));
}

static void print_cpuid(int kvm, unsigned long request, const char *name)
{
	struct kvm_cpuid2 *cpuid = calloc(1, sizeof(*cpuid) + ENTRIES * sizeof(*cpuid->entries));

	cpuid->nent = ENTRIES;
	checked(ioctl(kvm, request, cpuid), name);
	print_bytes(name, cpuid->entries, cpuid->nent * sizeof(*cpuid->entries));
	free(cpuid);
}

/* Is it the time stamp counter, or a time of Hyper-V or kvmclock? */
static bool is_time(__u32 msr)
{
	return msr == 0x10 || msr == 0xe7 || msr == 0xe8 || msr == 0x40000010 ||
	       msr == 0x40000020 || msr == 0x6e0;
}

static void print_msrs(int kvm, int values_of, unsigned long request, const char *name)
{
	struct {
		struct kvm_msr_list head;
		__u32 indices[ENTRIES];
	} list = { .head.nmsrs = ENTRIES };

	checked(ioctl(kvm, request, &list), name);
	for (__u32 i = 0; i < list.head.nmsrs; i++) {
		struct {
			struct kvm_msrs head;
			struct kvm_msr_entry entry;
		} msr = { .head.nmsrs = 1, .entry.index = list.indices[i] };
		int read = ioctl(values_of, KVM_GET_MSRS, &msr);

		if (is_time(list.indices[i]))
			msr.entry.data = 0;
		printf("%s %x: %d %llx\n", name, list.indices[i], read, msr.entry.data);
	}
}

#define PRINT(fd, request, type, argument) \
	print_state(fd, request, #request " " #argument, sizeof(type), argument)

int main(void)
{
	int kvm = checked(open("/dev/kvm", O_RDWR), "/dev/kvm");
	struct tiny_vm vm = tiny_vm_create();

	printf("version %d, kvm_run %zu\n", ioctl(kvm, KVM_GET_API_VERSION, 0), vm.run_size);
	print_capabilities(kvm, "kvm");
	print_capabilities(vm.fd, "vm");
	print_cpuid(kvm, KVM_GET_SUPPORTED_CPUID, "supported cpuid");
	print_cpuid(kvm, KVM_GET_EMULATED_CPUID, "emulated cpuid");
	print_msrs(kvm, vm.vcpu, KVM_GET_MSR_INDEX_LIST, "msr");
	print_msrs(kvm, kvm, KVM_GET_MSR_FEATURE_INDEX_LIST, "feature msr");
	print_bytes("kvm_run", vm.run, vm.run_size);
	PRINT(vm.fd, KVM_GET_IRQCHIP, struct kvm_irqchip, 0);
	PRINT(vm.fd, KVM_GET_IRQCHIP, struct kvm_irqchip, 1);
	PRINT(vm.fd, KVM_GET_IRQCHIP, struct kvm_irqchip, 2);
	PRINT(vm.vcpu, KVM_GET_REGS, struct kvm_regs, 0);
	PRINT(vm.vcpu, KVM_GET_SREGS, struct kvm_sregs, 0);
	PRINT(vm.vcpu, KVM_GET_SREGS2, struct kvm_sregs2, 0);
	PRINT(vm.vcpu, KVM_GET_FPU, struct kvm_fpu, 0);
	PRINT(vm.vcpu, KVM_GET_XSAVE, struct kvm_xsave, 0);
	PRINT(vm.vcpu, KVM_GET_XCRS, struct kvm_xcrs, 0);
	PRINT(vm.vcpu, KVM_GET_LAPIC, struct kvm_lapic_state, 0);
	PRINT(vm.vcpu, KVM_GET_MP_STATE, struct kvm_mp_state, 0);
	PRINT(vm.vcpu, KVM_GET_VCPU_EVENTS, struct kvm_vcpu_events, 0);
	PRINT(vm.vcpu, KVM_GET_DEBUGREGS, struct kvm_debugregs, 0);
	return 0;
}
