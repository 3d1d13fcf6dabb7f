// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets the kernel merge equal pages of two VMs (KSM), which it also write-protects in KVM's page
 * tables. A guest that writes gets a page of its own, so that the other guest sees no change.
 */
#include <linux/types.h>

#include "../guest/tiny-vm.h"

#define DATA	0x5000
#define WRITE	0x10
/* The pages of the code and of DATA, in both VMs. No other page was ever written. */
#define PAGES	4

static const unsigned char code[] = {
	0xa0, 0x00, 0x50,		/* mov DATA, %al */
	0xe6, 0x80,			/* out %al, $0x80 */
	0xeb, 0xf9,			/* jmp to the beginning */
	[WRITE] =
	0xc6, 0x06, 0x00, 0x50, 'B',	/* movb $'B', DATA */
	0xeb, 0xe9,			/* jmp to the beginning */
};

static void write_file(const char *path, const char *text)
{
	int fd = checked(open(path, O_WRONLY), path);

	checked(write(fd, text, strlen(text)), path);
	close(fd);
}

static int merged_pages(void)
{
	FILE *file = fopen("/proc/self/ksm_merging_pages", "re");
	int pages = 0;

	if (!file || fscanf(file, "%d", &pages) != 1)
		bail_out("/proc/self/ksm_merging_pages");
	fclose(file);
	return pages;
}

static bool all_pages_are_merged(void)
{
	for (int i = 0; i < 100 && merged_pages() < PAGES; i++)
		usleep(100000);
	printf("# %d of %d pages are merged\n", merged_pages(), PAGES);
	return merged_pages() == PAGES;
}

static struct tiny_vm create(void)
{
	struct tiny_vm vm = tiny_vm_create();

	memcpy(vm.memory, code, sizeof(code));
	memset(vm.memory + DATA, 'A', 0x1000);
	checked(madvise(vm.memory, TINY_VM_MEMORY, MADV_MERGEABLE), "MADV_MERGEABLE");
	return vm;
}

static bool reads(const struct tiny_vm *vm, char byte)
{
	return tiny_vm_run(vm) && ((char *)vm->run)[vm->run->io.data_offset] == byte;
}

static void jump_to_write(const struct tiny_vm *vm)
{
	struct kvm_regs regs;

	checked(ioctl(vm->vcpu, KVM_GET_REGS, &regs), "KVM_GET_REGS");
	regs.rip = WRITE;
	checked(ioctl(vm->vcpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");
}

int main(void)
{
	struct tiny_vm first = create(), second = create();

	result(reads(&first, 'A') && reads(&second, 'A'), "two guests read");
	write_file("/sys/kernel/mm/ksm/run", "1");
	result(all_pages_are_merged(), "all pages of both are merged");
	result(reads(&first, 'A') && reads(&second, 'A'), "they read the merged page");
	jump_to_write(&first);
	result(reads(&first, 'B') && reads(&second, 'A'), "one writes, the other sees no change");
	write_file("/sys/kernel/mm/ksm/run", "2");
	result(!merged_pages() && reads(&first, 'B') && reads(&second, 'A'),
	       "they read the same after KSM is off");
	return 0;
}
