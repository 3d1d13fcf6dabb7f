/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scrape as text: in OpenMetrics, or in Prometheus' older format. The text is made piece by
 * piece while it is read: the text of ten thousand vCPUs is never in memory at once.
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

/* Values of the header Content-Type. */
extern const char * const exposition_types[NUM_FORMATS];

/* OpenMetrics if the header Accept, which may be NULL, names it. */
enum exposition_format choose_format(const char *accept);

struct exposition;

/* Takes over the content of @scrape. @metrics must outlive the exposition. */
struct exposition *exposition_open(enum exposition_format format, const struct metrics *metrics,
				   const struct scrape *scrape);

/* Reads at most @size bytes. Returns 0 at the end. */
size_t exposition_read(struct exposition *exposition, char *text, size_t size);
void exposition_close(struct exposition *exposition);

#endif /* KVMSTAT_RENDER_OPENMETRICS_H */
