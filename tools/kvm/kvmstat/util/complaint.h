/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVMSTAT_COMPLAINT_H
#define KVMSTAT_COMPLAINT_H

/* On a terminal that is too narrow for an error it has several lines from then on. */
void wrap_errors(void);

#endif /* KVMSTAT_COMPLAINT_H */
