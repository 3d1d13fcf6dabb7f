/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scrape in the text formats of monitoring systems: OpenMetrics, and the one of
 * Prometheus that came before. It is made while it is read, piece by piece: the text of
 * ten thousand vCPUs need not be in memory at once.
 */
#ifndef KVMSTAT_RENDER_OPENMETRICS_H
#define KVMSTAT_RENDER_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/scrape.h"

enum exposition_format {
	FORMAT_PROMETHEUS,
	FORMAT_OPENMETRICS,
	NUM_FORMATS,
};

/* For the header Content-Type. */
extern const char * const exposition_types[NUM_FORMATS];

/* By the header Accept, or NULL: OpenMetrics for clients that accept it. */
enum exposition_format choose_format(const char *accept);

struct exposition;

/* Takes over what is in the scrape. The metrics have to stay. */
struct exposition *exposition_open(enum exposition_format format, const struct metrics *metrics,
				   const struct scrape *scrape);

/* As much as there is, and is room for; 0 at the end. */
size_t exposition_read(struct exposition *exposition, char *text, size_t size);
void exposition_close(struct exposition *exposition);

#endif /* KVMSTAT_RENDER_OPENMETRICS_H */
