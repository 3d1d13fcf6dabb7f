/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gives up what a process does not need any more: capabilities, the user root, system
 * calls. What finds VMs needs some of it for as long as kvmstat runs: that is done in a
 * process of its own, see broker.h.
 */
#ifndef KVMSTAT_PRIVILEGE_H
#define KVMSTAT_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

/* What a process still does, and all that its system calls are good for. */
enum privilege_use {
	USE_OUTPUT = 0,		/* samples, and writes to files that are open */
	USE_TERMINAL = 1,	/* and draws on a terminal that was opened */
	USE_NETWORK = 2,	/* and serves sockets that listen already */
	USE_RECORDING = 4,	/* and cuts off the end of a file that is open */
	USE_BROKER = 8,		/* looks through /proc and takes statistics files */
};

/*
 * The user that root becomes is called by this number and the pid: no other process is of it,
 * which could end this one or limit it. Neither distributions nor systemd give these numbers
 * to anyone.
 */
#define OWN_USERS UINT32_C(0x70000000)

/* The broker has this one, and standard output and error, which are the same. */
#define BROKER_SOCKET 0

/*
 * For good, and for this thread and those that it starts. All files, sockets and
 * terminals have to be open. Some of enum privilege_use. STATUS_OK, or STATUS_ERROR after
 * an error line.
 */
int privilege_drop(unsigned int uses);

/* Whether this build can filter system calls: on x86-64 and arm64, without a sanitizer. */
extern const bool privilege_filters;

#endif /* KVMSTAT_PRIVILEGE_H */
