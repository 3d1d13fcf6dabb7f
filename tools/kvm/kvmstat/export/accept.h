/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which format a client wants, by its headers Accept and Accept-Encoding.
 */
#ifndef KVMSTAT_ACCEPT_H
#define KVMSTAT_ACCEPT_H

#include <stdbool.h>

#include "export/render_openmetrics.h"

/*
 * @accept: or NULL. OpenMetrics only for those that ask for it by name, and would not rather
 * have text.
 */
enum exposition_format choose_format(const char *accept);

/* @encodings: or NULL. */
bool accepts_gzip(const char *encodings);

#endif /* KVMSTAT_ACCEPT_H */
