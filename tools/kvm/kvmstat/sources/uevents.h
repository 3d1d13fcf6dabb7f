/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What KVM says to everybody when it makes or destroys a VM: the uevents of its device.
 */
#ifndef KVMSTAT_UEVENTS_H
#define KVMSTAT_UEVENTS_H

#include <stddef.h>
#include <sys/types.h>

/* A file descriptor that is readable when there are some, or -1. Who may not listen hears none. */
int uevents_open(void);

/* The process that makes a VM by the next of them that says so; 0: there are no more. */
pid_t uevents_next(int uevents);

/* The same of one: of @length bytes, behind which there is a NUL. */
pid_t uevent_parse(const char *text, size_t length);

#endif /* KVMSTAT_UEVENTS_H */
