// SPDX-License-Identifier: GPL-2.0-only
/*
 * vfio BUS-ADDRESS: VFIO, which is not rebuilt with the modules, knows a VM by a pointer only.
 * A PCI device without an IOMMU is given to a VM, and holds the VM after it was closed.
 */
#include <linux/types.h>
#include <linux/vfio.h>

#include "../guest/tiny-vm.h"

static int add_to(int vm, int group)
{
	struct kvm_create_device device = { .type = KVM_DEV_TYPE_VFIO };
	struct kvm_device_attr attr = {
		.group = KVM_DEV_VFIO_GROUP,
		.attr = KVM_DEV_VFIO_GROUP_ADD,
		.addr = (unsigned long)&group,
	};

	checked(ioctl(vm, KVM_CREATE_DEVICE, &device), "KVM_CREATE_DEVICE");
	checked(ioctl(device.fd, KVM_SET_DEVICE_ATTR, &attr), "KVM_DEV_VFIO_GROUP_ADD");
	return device.fd;
}

/* How many modules and open files hold kvm_amd: a VM is one. */
static int users_of_kvm(void)
{
	FILE *file = fopen("/sys/module/kvm_amd/refcnt", "re");
	int users = -1;

	if (!file || fscanf(file, "%d", &users) != 1)
		bail_out("refcnt");
	fclose(file);
	return users;
}

int main(int argc, char **argv)
{
	int container = checked(open("/dev/vfio/vfio", O_RDWR), "/dev/vfio/vfio");
	int group = checked(open("/dev/vfio/noiommu-0", O_RDWR), "/dev/vfio/noiommu-0");
	struct vfio_device_info info = { .argsz = sizeof(info) };
	struct tiny_vm vm;
	int device, kvm_device;

	if (argc != 2)
		return 1;
	printf("TAP version 13\n1..4\n");
	checked(ioctl(group, VFIO_GROUP_SET_CONTAINER, &container), "VFIO_GROUP_SET_CONTAINER");
	checked(ioctl(container, VFIO_SET_IOMMU, VFIO_NOIOMMU_IOMMU), "VFIO_SET_IOMMU");
	vm = tiny_vm_create();
	kvm_device = add_to(vm.fd, group);
	device = checked(ioctl(group, VFIO_GROUP_GET_DEVICE_FD, argv[1]), argv[1]);
	result(!ioctl(device, VFIO_DEVICE_GET_INFO, &info) && info.num_regions,
	       "a PCI device of a VM is open");
	result(tiny_vm_run(&vm), "its VM runs");
	close(kvm_device);
	tiny_vm_close(&vm);
	result(users_of_kvm() == 1, "the device holds the VM");
	close(device);
	close(group);
	result(users_of_kvm() == 0, "the VM is gone after the device was closed");
	return 0;
}
