// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat list: the VMs of this host.
 */
#include <stdio.h>
#include <string.h>

#include "commands/command.h"
#include "render/render.h"
#include "util/util.h"

static int list(struct inventory *inventory)
{
	struct output output = standard_output();
	int ret;

	ret = inventory_look(inventory, NULL);
	if (ret) {
		print_error("%s: %s", inventory->source->where, strerror(-ret));
		return STATUS_ERROR;
	}
	render->begin(&output);
	render->vms(&output, inventory);
	render->end(&output);
	print_denied(inventory);
	print_problems(inventory);
	return inventory_status(inventory);
}

int command_list(int argc, char **argv)
{
	struct inventory inventory;
	int status;

	if (argc > 1)
		return usage_error("list: unexpected argument '%s'", argv[1]);
	status = open_inventory(&inventory);
	if (status == STATUS_OK)
		status = confine(USE_OUTPUT);
	if (status == STATUS_OK)
		status = list(&inventory);
	inventory_free(&inventory);
	return status;
}
