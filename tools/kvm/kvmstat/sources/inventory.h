/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The VMs of a host and their vCPUs. The source is this host (discover.h) or a recording
 * (replay.h).
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
	uint64_t number;		/* identifies the VM in its source */
	uint64_t *values;		/* the content of a file that is a view */
	struct vcpu *vcpu;		/* grows at its end */
	size_t num_vcpus;
	size_t num_vcpus_counted;	/* without statistics */
	bool dead;
	uint64_t ended_ns;		/* in a recording: the time of its last values; 0: now */
	bool hides_vcpus;		/* the ids of new vCPUs cannot be read */
	struct host_error refusal;	/* if err is not 0, KVM gives files to the VMM only */
	bool refusal_said;
	int held_fd, held_vcpu;		/* a vCPU's file that the VMM holds, or -1 */
	uint64_t awaited_ns;		/* for attach.c: when it first saw the VM, or 0 */
};

/* After a process made kvmstat wait, kvmstat does not ask it again before until_ns. */
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
	bool has_made;			/* debugfs has a VM that it created */
	struct host_error reported;
	struct silence memory;		/* reading its command line */
	struct silence files;		/* taking its files */
};

struct inventory;

/* See the functions inventory_*() below. A recording has neither see_events() nor update(). */
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
	char **problem;			/* problems and notes, one line each */
	size_t num_problems;
	size_t num_printed;		/* of them, by print_problems() */
	size_t num_forgotten;		/* older ones, see PROBLEMS_NS */
	uint64_t problems_full_ns;	/* when num_problems reached PROBLEMS_MAX */
	bool incomplete;		/* something that should be shown is missing */
	bool found_any;			/* a VM was found at any time */
	/* Reasons why VMs are hidden, at the last scan. */
	size_t num_denied;		/* processes whose file descriptors kvmstat may not list */
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
	bool has_counted;		/* num_unowned is valid */
	bool is_full;			/* this scan can open no more files */
	bool is_unanswered;		/* the broker did not answer the last scan */
	uint64_t waited_ns;		/* time that this scan has waited for processes */
};

/* Makes an empty inventory; see discover_init() and replay_init(). */
void inventory_init(struct inventory *inventory, const struct source *source);
void inventory_free(struct inventory *inventory);

/* A scan costs more than a sample: scan once a second, allowing for jitter of intervals. */
#define SCAN_NS (NSEC_PER_SEC / 10 * 9)

/*
 * Scans all chosen processes, or one. Adds new VMs at the end, and marks VMs dead that are gone.
 * Returns 0, -ESRCH if the process is gone, or another -errno if kvmstat cannot look into it.
 */
static inline int inventory_look(struct inventory *inventory, struct process *process)
{
	return inventory->source->look(inventory, process);
}

/* Adds a process, which need not have a VM yet. On failure returns NULL and adds a problem. */
static inline struct process *inventory_find(struct inventory *inventory, pid_t pid)
{
	return inventory->source->find(inventory, pid);
}

/* Whether there may be VMs that kvmstat does not see. */
static inline bool inventory_is_denied(const struct inventory *inventory)
{
	return inventory->num_denied || inventory->is_hidden || inventory->num_missing ||
	       inventory->num_unseen;
}

/* One line that says why VMs may be hidden; NULL if they are not. The caller frees it. */
char *inventory_explain_denied(const struct inventory *inventory);

/* Marks processes and VMs that have ended. Call it when inventory->events is readable. */
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

/* Finds a process that is not gone, or NULL. */
struct process *inventory_find_process(const struct inventory *inventory, pid_t pid);

/* The pid for choice_has(); 0 if the chosen process is gone and another one has its pid. */
pid_t inventory_pid_of_choice(const struct inventory *inventory, pid_t pid);

/*
 * Users can cause any number of problems. The inventory keeps PROBLEMS_MAX and a note that there
 * are more; if it is full, it forgets them after PROBLEMS_NS. kvmstat prints each once until then.
 */
#define PROBLEMS_MAX 256
#define PROBLEMS_NS (3600 * NSEC_PER_SEC)

/* These take over the text. A problem also means that something is not shown. */
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
/* Whether its kernel has the series: KVM gives files to every process that holds the VM. */
bool vm_is_of_series(const struct vm *vm);
/* The vCPUs' schema; NULL before there is a vCPU whose file has it. */
struct statsfile_schema *vm_vcpu_schema(const struct vm *vm);

/*
 * Reads all values of the VM's @index-th vCPU, see statsfile_read(). Reads again if the state
 * changes meanwhile: otherwise the state that ends could count twice or not at all.
 */
int vm_read_vcpu(const struct vm *vm, size_t index, uint64_t *values,
		 struct statsfile_error *error);

/* Prints the problems that were not printed yet. */
void print_problems(struct inventory *inventory);

#endif /* KVMSTAT_INVENTORY_H */
