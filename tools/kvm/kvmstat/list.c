// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat list: the VMs of this host.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "render_text.h"
#include "util.h"

static void print_denied(const struct inventory *inventory)
{
	if (inventory->num_denied)
		print_error("%zu processes may not be looked into; " NEEDED_PERMISSION,
			    inventory->num_denied);
	else if (!inventory->num_vms && !inventory->num_problems)
		print_error("no process has a VM");
}

static int list(struct inventory *inventory)
{
	struct text_output output = { .file = stdout, };
	int ret;

	ret = discover_all(inventory);
	if (ret) {
		print_error("%s: %s", inventory->host->proc, strerror(-ret));
		return STATUS_ERROR;
	}
	render_vms(&output, inventory);
	print_denied(inventory);
	return print_problems(inventory) ? STATUS_ERROR : STATUS_OK;
}

int command_list(int argc, char **argv)
{
	struct inventory inventory;
	int status;

	if (argc > 1)
		return usage_error("list: unexpected argument '%s'", argv[1]);
	status = open_inventory(&inventory);
	if (status == STATUS_OK)
		status = list(&inventory);
	inventory_free(&inventory);
	return status;
}
