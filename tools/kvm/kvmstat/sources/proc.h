/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads /proc: helpers of the other files, and properties of /proc itself. The directory is a
 * parameter, so that tests have their own.
 */
#ifndef KVMSTAT_PROC_H
#define KVMSTAT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Sorts an array of numbers, or of structs that begin with a number. */
void proc_sort(void *array, size_t count, size_t size);
/* Finds an entry of a sorted array; NULL if there is none. */
const void *proc_find(int wanted, const void *array, size_t count, size_t size);
/* Sorts numbers, keeps each once, and returns how many are left. */
size_t proc_sort_numbers(int *number, size_t count);

/* The thread group of @pid, 0 if there is no such process or thread. */
pid_t proc_thread_group(const char *proc, pid_t pid);

/* False if @proc belongs to another pid namespace. */
bool proc_is_ours(const char *proc);

/* Whether @proc hides the processes of other users (hidepid). */
bool proc_is_hidden(const char *proc);

/* Whether this process is in a pid namespace other than the initial one. */
bool proc_is_namespace(const char *proc);

/*
 * The number of the VM to which the statistics file @fd belongs. All files of a VM have the same
 * number. 0 if the kernel has no such numbers.
 */
uint64_t proc_vm_number(const char *proc, int fd);

#endif /* KVMSTAT_PROC_H */
