/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The VMs of a host and their vCPUs, as a source finds them: the processes of this host
 * (discover.h) or a recording (replay.h).
 */
#ifndef KVMSTAT_INVENTORY_H
#define KVMSTAT_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/choice.h"
#include "sources/host.h"
#include "sources/proc_fds.h"
#include "sources/proc_threads.h"
#include "sources/statsfile.h"
#include "util/text.h"
#include "util/util.h"

struct vcpu {
	unsigned int number;
	struct statsfile file;		/* has no schema if the VM's file shows the vCPU */
};

/*
 * Without statistics (the inventory's problems say why) file has no schema, and vCPUs are only
 * counted.
 */
struct vm {
	struct process *process;
	int fd;				/* of the process, or -1 */
	struct statsfile file;
	uint64_t number;		/* the source's */
	uint64_t *values;		/* if the file is a view of them */
	struct vcpu *vcpu;		/* grows at its end */
	size_t num_vcpus;
	size_t num_vcpus_counted;	/* without statistics */
	bool dead;
	uint64_t ended_ns;		/* in a recording: when it was read last, 0: now */
	bool hides_vcpus;		/* the ids of new vCPUs cannot be read */
	struct host_error refusal;	/* err is not 0: KVM gives no files to other processes */
	bool refusal_said;
	int held_fd, held_vcpu;		/* a vCPU's file that the VMM holds, or -1 */
	uint64_t awaited_ns;		/* for attach.c: when it was seen, or 0 */
};

/* A process that made kvmstat wait is not asked again before until_ns. */
struct silence {
	uint64_t until_ns;
	uint64_t wait_ns;
};

#define SILENCE_MOST_NS (64 * NSEC_PER_SEC)

struct process {
	pid_t pid;
	int pidfd;			/* or -1, in a recording */
	char name[TEXT_NAME_SIZE];	/* IDENTITY_NAME */
	struct identity identity;	/* empty in a recording */
	struct proc_fds fds;		/* at the last scan */
	bool gone;
	bool chosen;
	bool has_whole_vm;		/* a VM whose file shows its vCPUs */
	bool has_split_vm;		/* a VM whose file does not */
	bool has_made;			/* debugfs has a VM that it made */
	struct host_error reported;
	struct silence memory;		/* reading its command line */
	struct silence files;		/* taking its files */
};

struct inventory;

/* See the functions of these names below. A recording needs neither see_events() nor update(). */
struct source {
	const char *where;
	int (*look)(struct inventory *inventory, struct process *process);
	struct process *(*find)(struct inventory *inventory, pid_t pid);
	void (*see_events)(struct inventory *inventory);
	void (*update)(struct inventory *inventory, struct vm *vm);
	bool (*see_end)(const struct inventory *inventory, struct vm *vm);
	int (*read_threads)(const struct inventory *inventory, const struct process *process,
			    struct proc_threads *threads);
};

struct inventory {
	const struct source *source;
	const struct choice *choice;	/* NULL: all VMs */
	uint64_t ended;			/* bit i: the process choice->pid[i] has ended */
	struct process **process;
	size_t num_processes;
	struct vm **vm;			/* pointers stay valid until inventory_forget_dead() */
	size_t num_vms;
	char **problem;			/* and notes: one line each */
	size_t num_problems;
	size_t num_printed;		/* for the caller */
	size_t num_forgotten;		/* printed ones, see PROBLEMS_NS */
	uint64_t problems_full_ns;	/* since when there are PROBLEMS_MAX */
	bool incomplete;		/* something that should be shown is not */
	bool found_any;			/* VM, ever */
	/* Reasons why VMs are hidden, at the last scan. */
	size_t num_denied;		/* processes whose file descriptors may not be seen */
	size_t num_missing;		/* files beyond the limit on open files */
	size_t num_unseen;		/* VMs in debugfs that belong to no visible process */
	bool is_hidden;			/* /proc hides the processes of other users */
	bool is_namespace;		/* /proc shows one pid namespace */
	int events;			/* readable when a process or a VM ends; or -1 */

	/* For discover.c. */
	const struct host *host;
	unsigned int refusals_said;
	struct statsfile_known known;	/* the latest schemas: most files share them */
	size_t num_unowned;		/* VMs without a process at the last scan */
	bool has_counted;		/* them */
	bool is_full;			/* this scan cannot open one file more */
	bool is_unanswered;		/* the last scan was */
	uint64_t waited_ns;		/* in this scan, for processes that make others wait */
};

/* An empty one; see discover_init() and replay_init(). */
void inventory_init(struct inventory *inventory, const struct source *source);
void inventory_free(struct inventory *inventory);

/* A scan of the host costs more than a sample: once a second, even if intervals jitter. */
#define SCAN_NS (NSEC_PER_SEC / 10 * 9)

/*
 * Scans all chosen processes, or one. New VMs come at the end, VMs that are gone are marked dead.
 * Returns 0, -ESRCH if the process is gone, or another -errno if it cannot be looked into.
 */
static inline int inventory_look(struct inventory *inventory, struct process *process)
{
	return inventory->source->look(inventory, process);
}

/* A process, which need not have a VM yet. NULL and a problem on failure. */
static inline struct process *inventory_find(struct inventory *inventory, pid_t pid)
{
	return inventory->source->find(inventory, pid);
}

/* Whether there may be VMs that are not seen. */
static inline bool inventory_is_denied(const struct inventory *inventory)
{
	return inventory->num_denied || inventory->is_hidden || inventory->num_missing ||
	       inventory->num_unseen;
}

/* One line that says what hides VMs, NULL if nothing does. The caller frees it. */
char *inventory_explain_denied(const struct inventory *inventory);

/* Marks what has ended, after inventory.events was readable. */
static inline void inventory_see_events(struct inventory *inventory)
{
	if (inventory->source->see_events)
		inventory->source->see_events(inventory);
}

/* Finds new vCPUs in the VM's file, without a system call if there are none. */
static inline void inventory_update(struct inventory *inventory, struct vm *vm)
{
	if (inventory->source->update)
		inventory->source->update(inventory, vm);
}

/* Whether the VM is gone; its final values stay readable. */
static inline bool inventory_see_end(const struct inventory *inventory, struct vm *vm)
{
	return inventory->source->see_end(inventory, vm);
}

/* The threads that run the process' VMs: see proc_read_threads(). */
static inline int inventory_read_threads(const struct inventory *inventory,
					 const struct process *process,
					 struct proc_threads *threads)
{
	return inventory->source->read_threads(inventory, process, threads);
}

/* Frees dead VMs, and processes that are gone. */
void inventory_forget_dead(struct inventory *inventory);

/* For sources. */
struct vm *inventory_add_vm(struct inventory *inventory, struct process *process);
void vm_add_vcpu(struct vm *vm, const struct statsfile *file, unsigned int number);
struct process *inventory_add_process(struct inventory *inventory, pid_t pid, int pidfd);

/* One that is not gone, or NULL. */
struct process *inventory_find_process(const struct inventory *inventory, pid_t pid);

/* The pid to ask the choice for; 0 if the chosen process is gone and another one has its pid. */
pid_t inventory_pid_of_choice(const struct inventory *inventory, pid_t pid);

/*
 * Owners of processes can cause problems: so many are kept, to print each once, and a last one
 * says that there are more. PROBLEMS_NS later kvmstat prints what is still wrong once more.
 */
#define PROBLEMS_MAX 256
#define PROBLEMS_NS (3600 * NSEC_PER_SEC)

/* Both take over the text. A problem says that something is not shown, maybe of a process. */
void inventory_add_note(struct inventory *inventory, char *text);
void inventory_add_problem(struct inventory *inventory, char *text);
__printf(3, 4)
void inventory_blame(struct inventory *inventory, const struct process *process,
		     const char *format, ...);
void inventory_forget_problems(struct inventory *inventory);

static inline bool vm_has_statistics(const struct vm *vm)
{
	return vm->file.schema;
}

struct vcpu *vm_find_vcpu(const struct vm *vm, unsigned int number);

static inline size_t vm_count_vcpus(const struct vm *vm)
{
	return vm_has_statistics(vm) ? vm->num_vcpus : vm->num_vcpus_counted;
}

/* Where the statistics come from: "series", "vmm" or "proc". */
const char *vm_source(const struct vm *vm);
/* Its KVM gives files to every process that holds the VM. */
bool vm_is_of_series(const struct vm *vm);
/* The vCPUs' schema; NULL before there is a vCPU whose file has it. */
struct statsfile_schema *vm_vcpu_schema(const struct vm *vm);

/*
 * Reads all values of the VM's @index-th vCPU, see statsfile_read(). Times are from between two
 * changes of its state: otherwise the state that ends meanwhile would count twice or not at all.
 */
int vm_read_vcpu(const struct vm *vm, size_t index, uint64_t *values,
		 struct statsfile_error *error);

/* Prints the problems that were not printed yet. */
void print_problems(struct inventory *inventory);

#endif /* KVMSTAT_INVENTORY_H */
