/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads /proc: what other files here have in common, and what it says of itself. The directory is
 * a parameter, so that tests bring their own.
 */
#ifndef KVMSTAT_PROC_H
#define KVMSTAT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Arrays of numbers, or of structs that begin with one. */
void proc_sort(void *array, size_t count, size_t size);
/* In a sorted array; or NULL. */
const void *proc_find(int wanted, const void *array, size_t count, size_t size);
/* Sorts numbers, keeps each once, and returns how many are left. */
size_t proc_sort_numbers(int *number, size_t count);

/* The thread group of @pid, 0 if there is no such process or thread. */
pid_t proc_thread_group(const char *proc, pid_t pid);

/* False if @proc belongs to another pid namespace. */
bool proc_is_ours(const char *proc);

/* Whether @proc hides the processes of other users (hidepid). */
bool proc_is_hidden(const char *proc);

/* Whether this process is in another pid namespace than the first. */
bool proc_is_namespace(const char *proc);

/*
 * The number of the VM whose statistics file descriptor @fd of this process shows, the same for
 * all files of a VM; 0 if the kernel gives none.
 */
uint64_t proc_vm_number(const char *proc, int fd);

#endif /* KVMSTAT_PROC_H */
