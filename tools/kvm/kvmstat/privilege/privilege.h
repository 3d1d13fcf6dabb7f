/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gives up privileges that a process no longer needs: capabilities, the user root, system calls.
 * Scans need some of them for as long as kvmstat runs: another process scans, see broker.h.
 */
#ifndef KVMSTAT_PRIVILEGE_H
#define KVMSTAT_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

/* The remaining task of a process. The filter allows only its system calls. */
enum privilege_use {
	USE_OUTPUT = 0,		/* samples, and writes to open files */
	USE_TERMINAL = 1,	/* also draws on an open terminal */
	USE_NETWORK = 2,	/* also serves a socket that already listens */
	USE_RECORDING = 4,	/* also truncates an open file */
	USE_BROKER = 8,		/* reads /proc and takes statistics files */
};

/*
 * Root becomes the user with this number plus the pid. No other process has that user: it could
 * kill or limit this one. Neither distributions nor systemd assign these numbers.
 */
#define OWN_USERS UINT32_C(0x70000000)

/* The broker has only this file, and standard output and error, which are one file. */
#define BROKER_SOCKET 0

/*
 * Applies to this thread and its children, for good. All files, sockets and terminals must be open
 * already. @uses: bits of enum privilege_use. Returns STATUS_OK, or STATUS_ERROR after an error
 * line.
 */
int privilege_drop(unsigned int uses);

/* Whether this build filters system calls: with libseccomp, without a sanitizer. */
extern const bool privilege_filters;

#endif /* KVMSTAT_PRIVILEGE_H */
