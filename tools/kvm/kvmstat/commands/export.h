/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvmstat export, for any host: a test has one of its own.
 */
#ifndef KVMSTAT_EXPORT_H
#define KVMSTAT_EXPORT_H

#include <stdbool.h>

#include "commands/command.h"
#include "export/listen.h"
#include "export/scrape.h"
#include "sources/inventory.h"

struct export_options {
	struct listen_address address;
	bool is_activated;		/* has its socket from who started it */
	struct scrape_options scrape;
	struct options parsed;
};

/* STATUS_OK, or STATUS_USAGE after an error line. They are to be freed in any case. */
int export_parse_options(int argc, char **argv, struct export_options *options);
void export_free_options(struct export_options *options);

/*
 * Until it is interrupted. @confined is called before the first client is, and returns an
 * enum exit_status as this does.
 */
int run_export(struct inventory *inventory, const struct export_options *options,
	       int (*confined)(void));

#endif /* KVMSTAT_EXPORT_H */
