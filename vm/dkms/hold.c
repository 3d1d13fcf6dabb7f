// SPDX-License-Identifier: GPL-2.0-only
/*
 * hold vm: runs a VM until SIGTERM. The exit status is 0 if the guest did not fail.
 * hold mapping: keeps only a mapping of a VM's statistics, until it is killed.
 * Both print a line when they are ready.
 */
#include <linux/types.h>
#include <signal.h>

#include "../guest/tiny-vm.h"

static volatile sig_atomic_t stop;

static void end(int signal)
{
	(void)signal;
	stop = 1;
}

static void keep_mapping(struct tiny_vm *vm)
{
	int stats = stats_fd(vm->fd);
	struct kvm_stats_header head;

	if (pread(stats, &head, sizeof(head), 0) != sizeof(head) ||
	    mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, stats,
		 head.data_offset) == MAP_FAILED)
		bail_out("mapping of statistics");
	close(stats);
	tiny_vm_close(vm);
}

int main(int argc, char **argv)
{
	struct tiny_vm vm = tiny_vm_create();
	bool mapping = argc == 2 && !strcmp(argv[1], "mapping");

	if (mapping)
		keep_mapping(&vm);
	else
		signal(SIGTERM, end);
	puts("ready");
	fflush(stdout);
	if (mapping)
		pause();
	while (!stop) {
		if (!tiny_vm_run(&vm) && !stop)
			return 1;
		usleep(1000);
	}
	return 0;
}
