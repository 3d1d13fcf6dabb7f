// SPDX-License-Identifier: GPL-2.0-only
/*
 * slow-vm KIND [-name NAME]: a VM whose vCPU spends its time in one way. "guest": computes.
 * "exits": makes exits that KVM handles. "vmm": waits for its VMM, which takes 10 ms for each
 * request. "idle": is halted.
 */
#include <time.h>

#include "tiny-vm.h"

static const struct kind {
	const char *name;
	unsigned char code[4];
} kinds[] = {
	{ "guest", { 0xeb, 0xfe, }, },			/* jmp to itself */
	{ "exits", { 0x0f, 0xa2, 0xeb, 0xfc, }, },	/* cpuid; jmp to it */
	{ "vmm", { 0xe6, 0x80, 0xeb, 0xfc, }, },	/* out %al, $0x80; jmp to it */
	{ "idle", { 0xf4, 0xeb, 0xfd, }, },		/* hlt; jmp to it */
};

int main(int argc, char **argv)
{
	const struct timespec time = { .tv_nsec = 10000000 };
	const struct kind *kind = kinds, *end = kinds + sizeof(kinds) / sizeof(*kinds);
	struct tiny_vm vm;

	while (argc > 1 && kind < end && strcmp(kind->name, argv[1]))
		kind++;
	if (argc < 2 || kind == end) {
		fprintf(stderr, "slow-vm: guest, exits, vmm or idle\n");
		return 2;
	}
	vm = tiny_vm_create();
	memcpy(vm.memory, kind->code, sizeof(kind->code));
	while (tiny_vm_run(&vm))
		nanosleep(&time, NULL);
	fprintf(stderr, "slow-vm %s: exit %u: %s\n", kind->name, vm.run->exit_reason,
		strerror(errno));
	return 1;
}
