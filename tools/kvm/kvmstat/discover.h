/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds VMs and their vCPUs and opens their statistics files: one per VM if that
 * shows its vCPUs, or else one more per vCPU. Needs no help from the VMM and
 * leaves nothing behind in it.
 *
 * Which vCPU belongs to which VM is then told by the number of the VM that the
 * kernel gives in the fdinfo of a statistics file. The ids cannot tell: they name
 * the thread that created the object, which for a vCPU is another one than for its
 * VM, and one thread can create many VMs.
 */
#ifndef KVMSTAT_DISCOVER_H
#define KVMSTAT_DISCOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host.h"
#include "proc.h"
#include "statsfile.h"
#include "text.h"
#include "util.h"

struct vcpu {
	unsigned int number;
	struct statsfile file;		/* has no schema if its VM's file shows it */
};

/*
 * Where the statistics cannot be had (the inventory's problems say why), file has
 * no schema and the vCPUs are counted only.
 */
struct vm {
	struct process *process;
	struct statsfile file;
	uint64_t number;
	struct vcpu *vcpu;		/* only ever added to, at the end */
	size_t num_vcpus;
	size_t num_vcpus_counted;
	bool dead;
	bool hides_vcpus;		/* those to come: their ids cannot be read */
	struct host_error refusal;	/* err is not 0: see held.h */
	bool refusal_said;
};

struct process {
	pid_t pid;
	int pidfd;
	char name[TEXT_NAME_SIZE];	/* the one to show of the identity */
	struct identity identity;
	struct proc_fds fds;		/* at the last look */
	bool gone;
	bool has_whole_vm;		/* one whose file shows its vCPUs */
	bool has_split_vm;		/* one whose file does not */
	struct host_error reported;
};

/* What of a VM cannot be had of a KVM that gives files to the VMM only: see held.h. */
enum refusal_kind {
	REFUSED_NOTHING,
	REFUSED_VM,			/* the statistics of the VM itself */
	REFUSED_VCPUS,			/* those of vCPUs */
	REFUSED_ALL,
	NUM_REFUSALS,
};

/* Of so many processes at a time it is known that they make a VM. */
#define INVENTORY_MAKERS 16

struct inventory {
	const struct host *host;
	struct process **process;
	size_t num_processes;
	struct vm **vm;			/* pointers stay valid until a function frees them */
	size_t num_vms;
	char **problem;			/* and what else has to be said: one line each */
	size_t num_problems;
	size_t num_printed;		/* for who prints them */
	bool incomplete;		/* there is something that should be shown and is not */
	bool found_any;			/* VM, ever */
	bool refusal_said[NUM_REFUSALS];
	size_t num_denied;		/* processes whose file descriptors may not be seen */
	bool is_hidden;			/* /proc does not have the processes of others */
	bool is_namespace;		/* and has those of a pid namespace only */
	struct statsfile_known known;	/* the latest ones: most files have the same */
	/* Readable when a process ends, or when KVM says that it makes a VM; or -1. */
	int events;
	int uevents;			/* of KVM, or -1 */
	struct {
		pid_t pid;		/* which is to be looked into more than once, */
		uint64_t until_ns;	/* as it is not done */
	} maker[INVENTORY_MAKERS];
};

void inventory_init(struct inventory *inventory, const struct host *host);
void inventory_free(struct inventory *inventory);

/*
 * Listens, from now on, to the end of processes and to what KVM says of VMs that come;
 * where nothing can be heard they are found at the next look.
 */
void inventory_listen(struct inventory *inventory);

/*
 * All processes of the host, and the next time whatever is new since: VMs come at the
 * end, those that are gone are marked dead. 0 or -errno if there are none to be read
 * at all.
 */
int discover_all(struct inventory *inventory);

/*
 * After inventory.events was readable, and every MAKERS_STEP_NS while it returns true:
 * marks what has ended, and looks into processes that make VMs; if @only is not NULL into
 * none but that.
 */
#define MAKERS_STEP_NS (20 * UINT64_C(1000000))
bool discover_events(struct inventory *inventory, const struct process *only);

/* Frees the VMs that are dead, and processes that are gone. */
void discover_forget_dead(struct inventory *inventory);

/*
 * One process, which need not have a VM yet. NULL and a line among the problems
 * on failure.
 */
struct process *discover_process(struct inventory *inventory, pid_t pid);

/*
 * Looks once more for VMs and vCPUs of the process. -ESRCH if it is gone,
 * another -errno if it may not be looked into.
 */
int discover_again(struct inventory *inventory, struct process *process);

/*
 * Looks for vCPUs in the VM's file, if that shows them: a load if there are no new
 * ones. The others do it, too.
 */
void discover_vcpus(struct inventory *inventory, struct vm *vm);

/* One more line, which says what is wrong with a process. */
__printf(3, 4)
void add_process_problem(struct inventory *inventory, const struct process *process,
			 const char *format, ...);

/* Whether the VM is gone; the last values of its statistics stay readable. */
bool vm_is_dead(const struct inventory *inventory, struct vm *vm);

static inline bool vm_has_statistics(const struct vm *vm)
{
	return vm->file.schema;
}

struct vcpu *vm_find_vcpu(const struct vm *vm, unsigned int number);

/* What is described of the vCPUs; NULL if nothing is, before there is one. */
struct statsfile_schema *vm_vcpu_schema(const struct vm *vm);

/* All values of the VM's @index-th vCPU: see statsfile_read(). */
int vm_read_vcpu(const struct vm *vm, size_t index, uint64_t *values,
		 struct statsfile_error *error);

#endif /* KVMSTAT_DISCOVER_H */
