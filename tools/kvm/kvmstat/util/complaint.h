/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVMSTAT_COMPLAINT_H
#define KVMSTAT_COMPLAINT_H

/* From then on errors are wrapped on a terminal that is too narrow. */
void wrap_errors(void);

#endif /* KVMSTAT_COMPLAINT_H */
