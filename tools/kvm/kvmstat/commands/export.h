/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvmstat export, for any host. Tests have hosts of their own.
 */
#ifndef KVMSTAT_EXPORT_H
#define KVMSTAT_EXPORT_H

#include "commands/command.h"
#include "export/server.h"

struct export_options {
	struct listen_address address;
	struct scrape_options scrape;
	struct options parsed;
};

/* STATUS_OK, or STATUS_USAGE after an error line. Free parsed in any case. */
int export_parse_options(int argc, char **argv, struct export_options *options);

/* Serves until it is interrupted, or prints one page for --once. Returns an enum exit_status. */
int run_export(struct inventory *inventory, const struct export_options *options);

#endif /* KVMSTAT_EXPORT_H */
