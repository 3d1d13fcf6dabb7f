// SPDX-License-Identifier: GPL-2.0-only
/*
 * vfio BUS-ADDRESS GROUP: gives a PCI device to a VM and closes the VM: the device must hold it.
 * VFIO is not rebuilt with the modules, but knows a VM only by a pointer.
 */
#include <linux/types.h>
#include <linux/vfio.h>
#include <poll.h>

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

/* Whether the VM of the statistics file is destroyed. */
static int is_dead(int stats)
{
	struct pollfd poll_stats = { .fd = stats };

	return checked(poll(&poll_stats, 1, 0), "poll") && poll_stats.revents & POLLHUP;
}

int main(int argc, char **argv)
{
	int container = checked(open("/dev/vfio/vfio", O_RDWR), "/dev/vfio/vfio");
	struct vfio_device_info info = { .argsz = sizeof(info) };
	int group, device, kvm_device, stats;
	struct tiny_vm vm;
	char path[64];

	if (argc != 3)
		return 1;
	snprintf(path, sizeof(path), "/dev/vfio/%s", strrchr(argv[2], '/') + 1);
	group = checked(open(path, O_RDWR), path);
	checked(ioctl(group, VFIO_GROUP_SET_CONTAINER, &container), "VFIO_GROUP_SET_CONTAINER");
	checked(ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU), "VFIO_SET_IOMMU");
	vm = tiny_vm_create();
	kvm_device = add_to(vm.fd, group);
	device = checked(ioctl(group, VFIO_GROUP_GET_DEVICE_FD, argv[1]), argv[1]);
	result(!ioctl(device, VFIO_DEVICE_GET_INFO, &info) && info.num_regions,
	       "a PCI device of a VM is open");
	result(tiny_vm_run(&vm), "its VM runs");
	stats = stats_fd(vm.fd);
	close(kvm_device);
	tiny_vm_close(&vm);
	result(!is_dead(stats), "the device holds the VM");
	close(device);
	close(group);
	result(is_dead(stats), "the VM is gone after the device was closed");
	return 0;
}
