// SPDX-License-Identifier: GPL-2.0
/*
 * export_host VMS VCPUS [OPTION...]: kvmstat export on a host in memory, which has VMS VMs with
 * VCPUS vCPUs each. All values of the n-th vCPU of a VM are n.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands/export.h"
#include "guests.h"
#include "output.h"
#include "sources/discover.h"
#include "util/util.h"

static const struct image_stat vm_stats[] = {
	STAT_LEVEL("online_vcpus"),
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	STAT_NS("halt_wait_ns"),
	STAT_HIST_NS("halt_wait_hist", 32),
	STAT_REASONS("exit_reasons", 3, "interrupt", "io", "other"),
	{},
};

#define NUM_VALUES (2 + 32 + 3)

static void set_values(const struct guest *guest, unsigned int vcpu)
{
	unsigned int i;

	for (i = 0; i < NUM_VALUES; i++)
		guest_vcpu_values(guest, vcpu)[i] = vcpu;
}

static uint64_t number(const char *text, uint64_t max)
{
	uint64_t value;

	if (parse_number(text, 0, max, &value))
		exit(STATUS_USAGE);
	return value;
}

int main(int argc, char **argv)
{
	struct export_options options = {};
	struct inventory inventory;
	unsigned int vms, vcpus, i, j;
	int status;

	if (argc < 3)
		return STATUS_USAGE;
	vms = number(argv[1], MAX_GUESTS - 1);
	vcpus = number(argv[2], STATSFILE_MAX_VCPUS);
	for (i = 0; i < vms; i++)
		guests[i] = (struct guest) {
			.pid = 1000 + i,
			.name = "guest",
			.vm_stats = vm_stats,
			.vcpu_stats = vcpu_stats,
			.vcpus = vcpus,
		};
	guests_start();
	for (i = 0; i < vms; i++) {
		for (j = 0; j < vcpus; j++)
			set_values(&guests[i], j);
	}
	signal(SIGPIPE, SIG_IGN);
	confine = keep_privileges;
	status = export_parse_options(argc - 2, argv + 2, &options);
	if (status != STATUS_OK)
		return status;
	discover_init(&inventory, &guests_host);
	status = run_export(&inventory, &options);
	inventory_free(&inventory);
	options_free(&options.parsed);
	guests_free();
	return status;
}
