/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A socket that another process listens on for this one: systemd's socket activation, as
 * sd_listen_fds(3) describes it. Without its library, which is longer than this.
 */
#ifndef KVMSTAT_ACTIVATION_H
#define KVMSTAT_ACTIVATION_H

#include <stdbool.h>

#include "export/listen.h"

/* Whether there are sockets for this process. */
bool activation_is_there(void);

/*
 * Takes the socket, of which there must be one, that clients connect to. 0, or -1 after an
 * error line. No process that is started from here takes it for its own.
 */
int activation_take(struct listener *listener);

#endif /* KVMSTAT_ACTIVATION_H */
