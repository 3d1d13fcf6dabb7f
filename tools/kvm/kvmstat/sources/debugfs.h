/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads what KVM has in debugfs of a VM: a directory PID-FD, by the thread that made the VM
 * and the file descriptor that it got, with a number in each file: statistics of the VM, and
 * sums over its vCPUs. As with /proc the directory is a parameter.
 *
 * A file that is open keeps its VM alive, so that none stays open.
 */
#ifndef KVMSTAT_DEBUGFS_H
#define KVMSTAT_DEBUGFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* More than any kernel has. */
#define DEBUGFS_MAX_VALUES 512
#define DEBUGFS_NAME_SIZE 48

struct debugfs_value {
	char file[DEBUGFS_NAME_SIZE];
	uint64_t value;
};

struct debugfs_vm {
	pid_t pid;			/* of the directory's name */
	uint64_t ino;			/* and its number: another VM's is another one */
	unsigned int num_vcpus;		/* that have a directory there: not in all kernels */
	unsigned int num_denied;	/* files that may not be read: in lockdown most of them */
	struct debugfs_value *value;	/* in the order of the files' names */
	size_t count;
};

/* The directory of a VM. */
struct debugfs_dir {
	pid_t pid;			/* of the thread: its name is of the first namespace */
	int fd;
	uint64_t ino;			/* a later one of the same name has another */
	pid_t process;			/* for the caller, 0 at first, */
	bool seen, unowned;		/* and false */
};

struct debugfs_dirs {
	struct debugfs_dir *dir;
	size_t count;
};

/*
 * Of all VMs, by pid and fd. 0 or -errno: -ENODEV without KVM in debugfs, -ENOTSUP in another
 * pid namespace than the first. After 0 the caller frees dirs->dir.
 */
int debugfs_list(const char *debugfs, const char *proc, struct debugfs_dirs *dirs);
void debugfs_dirs_add(struct debugfs_dirs *dirs, const struct debugfs_dir *dir);
/* By pid and fd. */
int debugfs_compare_dirs(const void *a, const void *b);

/*
 * All of the VM that this thread has made. 0 or -errno: -ENOENT if there is none, or if it
 * ends meanwhile. After 0 the caller frees vm->value.
 */
int debugfs_read(const char *debugfs, pid_t pid, int fd, struct debugfs_vm *vm);

/* False if there are too many. */
bool debugfs_add(struct debugfs_vm *vm, const struct debugfs_value *value);

#endif /* KVMSTAT_DEBUGFS_H */
