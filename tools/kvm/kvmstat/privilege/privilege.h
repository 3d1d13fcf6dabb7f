/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gives up what a process does not need any more: capabilities, the user root, system calls. The
 * scans need some of it for as long as kvmstat runs: another process makes them, see broker.h.
 */
#ifndef KVMSTAT_PRIVILEGE_H
#define KVMSTAT_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

/* The task that a process still has, and all that its system calls allow. */
enum privilege_use {
	USE_OUTPUT = 0,		/* samples, and writes to open files */
	USE_TERMINAL = 1,	/* also draws on an open terminal */
	USE_NETWORK = 2,	/* also serves sockets that listen already */
	USE_RECORDING = 4,	/* also truncates an open file */
	USE_BROKER = 8,		/* reads /proc and takes statistics files */
};

/*
 * Root becomes the user of this number plus the pid: no other process has that user, which could
 * end or limit this one. Neither distributions nor systemd give out these numbers.
 */
#define OWN_USERS UINT32_C(0x70000000)

/* The broker has this file, and standard output and error, which are the same. */
#define BROKER_SOCKET 0

/*
 * Applies to this thread and its children, for good. All files, sockets and terminals have to be
 * open. @uses: of enum privilege_use. STATUS_OK, or STATUS_ERROR after an error line.
 */
int privilege_drop(unsigned int uses);

/* Whether this build filters system calls: with libseccomp, without a sanitizer. */
extern const bool privilege_filters;

#endif /* KVMSTAT_PRIVILEGE_H */
