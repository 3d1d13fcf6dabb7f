/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The VMs of a host and their vCPUs, as a source has found them, such as the one that
 * looks at the processes of this host (discover.h). Who uses them asks the source to look
 * again, and reads their values.
 */
#ifndef KVMSTAT_INVENTORY_H
#define KVMSTAT_INVENTORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/choice.h"
#include "sources/host.h"
#include "sources/proc.h"
#include "sources/statsfile.h"
#include "util/text.h"
#include "util/util.h"

/* In the place of a number, and of all vCPUs: see sums.h. No vCPU has it. */
#define VCPU_SUM INT_MAX

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
	int fd;				/* of the process, which stands for the VM; or -1 */
	struct statsfile file;
	uint64_t number;		/* that the source knows it by */
	uint64_t *values;		/* of which the file is a view, if it is none */
	struct sums *sums;		/* from where they come; or NULL, as in a recording */
	struct vcpu *vcpu;		/* only ever added to, at the end */
	size_t num_vcpus;
	size_t num_vcpus_counted;	/* where they have no statistics each */
	bool dead;
	uint64_t ended_ns;		/* in a recording: when it was read last, 0: now */
	bool hides_vcpus;		/* those to come: their ids cannot be read */
	struct host_error refusal;	/* err is not 0: see held.h */
	struct {
		int fd, link;		/* one of its files that its VMM holds, or -1 */
	} held;
	uint64_t awaited_ns;		/* for whom it is waited for: when it was seen, or 0 */
	bool refusal_said;
};

/* Of a process that made others wait: until when it is not asked again. */
struct silence {
	uint64_t until_ns;
	uint64_t wait_ns;
};

#define SILENCE_MOST_NS (64 * NSEC_PER_SEC)

struct process {
	pid_t pid;
	int pidfd;			/* or -1, in a recording */
	char name[TEXT_NAME_SIZE];	/* the one to show of the identity */
	struct identity identity;	/* of which a recording has none */
	struct proc_fds fds;		/* at the last look */
	bool gone;
	bool chosen;			/* see struct choice */
	bool has_whole_vm;		/* one whose file shows its vCPUs */
	bool has_split_vm;		/* one whose file does not */
	bool has_new_vms;		/* of which debugfs may have sums */
	struct host_error reported;
	struct silence memory;		/* what its command line is in, */
	struct silence files;		/* and those that are taken of it */
};

/* What of a VM cannot be had of a KVM that gives files to the VMM only: see held.h. */
enum refusal_kind {
	REFUSED_NOTHING,
	REFUSED_EACH,			/* those of each vCPU: there are sums */
	REFUSED_VM,			/* the statistics of the VM itself */
	REFUSED_VCPUS,			/* those of vCPUs */
	REFUSED_ALL,
	NUM_REFUSALS,
};

struct inventory;

struct source {
	const char *where;
	/* See the functions of these names below. */
	int (*look)(struct inventory *inventory, struct process *process);
	struct process *(*find)(struct inventory *inventory, pid_t pid);
	bool (*see_events)(struct inventory *inventory, const struct process *only);
	void (*update)(struct inventory *inventory, struct vm *vm);
	bool (*see_end)(const struct inventory *inventory, struct vm *vm);
	bool (*has_name)(const struct inventory *inventory, const char *name);
	/* NULL: nothing is known of them. */
	int (*read_threads)(const struct inventory *inventory, const struct process *process,
			    struct proc_threads *threads);
};

/*
 * Of so many processes at a time it is known that they make a VM; others are found when all
 * are looked at.
 */
#define INVENTORY_MAKERS 16
#define UEVENTS_AT_ONCE (4 * INVENTORY_MAKERS)

struct inventory {
	const struct source *source;
	const struct choice *choice;	/* which of them are looked for; NULL: all */
	uint64_t ended;			/* bit i: the process of choice->pid[i] has */
	struct process **process;
	size_t num_processes;
	struct vm **vm;			/* pointers stay valid until a function frees them */
	size_t num_vms;
	char **problem;			/* and what else has to be said: one line each */
	size_t num_problems;
	size_t num_printed;		/* for who prints them */
	size_t num_forgotten;		/* that were printed, see PROBLEMS_NS */
	uint64_t problems_full_ns;	/* since when there are PROBLEMS_MAX */
	bool incomplete;		/* there is something that should be shown and is not */
	bool found_any;			/* VM, ever */
	/* What hides VMs, at the last look. */
	size_t num_denied;		/* processes whose file descriptors may not be seen */
	size_t num_missing;		/* files beyond the limit of open files */
	size_t num_unseen;		/* VMs in debugfs, of no process that is seen */
	bool is_hidden;			/* /proc does not have the processes of others */
	bool is_namespace;		/* and has those of a pid namespace only */
	/* Readable when a process or a VM ends, or when KVM says that it makes one; or -1. */
	int events;

	/* For discover.c alone. */
	const struct host *host;
	bool refusal_said[NUM_REFUSALS];
	struct statsfile_known known;	/* the latest ones: most files have the same */
	struct debugfs_dirs debugfs;	/* see sums_list() */
	bool debugfs_listed;		/* in this look, */
	int debugfs_err;		/* or why not */
	bool has_counted;		/* those that are unseen, once */
	bool is_full;			/* no file more can be opened in this look */
	int uevents;			/* of KVM, or -1 */
	struct maker {
		pid_t pid;		/* which is to be looked into more than once, */
		uint64_t until_ns;	/* as it is not done, */
		uint64_t next_ns;	/* and not before this */
	} maker[INVENTORY_MAKERS];
};

/* With nothing in it; see discover_init() and replay_init(). */
void inventory_init(struct inventory *inventory, const struct source *source);
void inventory_free(struct inventory *inventory);

/*
 * A look at all processes of the host costs more than a sample. Once a second: a bit less, so
 * that none is left out of an interval of a second that was a bit shorter.
 */
#define SCAN_NS (NSEC_PER_SEC / 10 * 9)

/*
 * All processes of the host that are chosen, or one, and the next time whatever is new since:
 * VMs come at the end, those that are gone are marked dead. 0 or -errno: there are none to be
 * read at all, the one is gone (-ESRCH) or may not be looked into.
 */
static inline int inventory_look(struct inventory *inventory, struct process *process)
{
	return inventory->source->look(inventory, process);
}

/*
 * A process, which need not have a VM yet. NULL and a line among the problems on failure.
 */
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

/* What hides them, and what lacks: one line, NULL if nothing does. The caller frees it. */
char *inventory_explain_denied(const struct inventory *inventory);

/* Whether a VM is called so, chosen or not, which is not looked into. */
static inline bool inventory_has_name(const struct inventory *inventory, const char *name)
{
	return inventory->source->has_name(inventory, name);
}

/*
 * After inventory.events was readable, and every MAKERS_STEP_NS while it returns true:
 * marks what has ended, and looks into processes that make VMs; if @only is not NULL into
 * none but that.
 */
#define MAKERS_STEP_NS (20 * UINT64_C(1000000))
static inline bool inventory_see_events(struct inventory *inventory, const struct process *only)
{
	return inventory->source->see_events(inventory, only);
}

/*
 * Before the VM is read: looks for vCPUs in its file, if that shows them, which is a load if
 * there are no new ones; or, if it has none, for its values, and marks it dead if these are
 * gone. inventory_look() looks for vCPUs, too.
 */
static inline void inventory_update(struct inventory *inventory, struct vm *vm)
{
	inventory->source->update(inventory, vm);
}

/* Whether the VM is gone; the last values of its statistics stay readable. */
static inline bool inventory_see_end(const struct inventory *inventory, struct vm *vm)
{
	return inventory->source->see_end(inventory, vm);
}

/* The threads that run the process' VMs: see proc_read_threads(). */
static inline int inventory_read_threads(const struct inventory *inventory,
					 const struct process *process,
					 struct proc_threads *threads)
{
	if (!inventory->source->read_threads)
		return -ENOTSUP;
	return inventory->source->read_threads(inventory, process, threads);
}

/* Frees the VMs that are dead, and processes that are gone. */
void inventory_forget_dead(struct inventory *inventory);

/* For sources. */
struct vm *inventory_add_vm(struct inventory *inventory, struct process *process);
void vm_add_vcpu(struct vm *vm, const struct statsfile *file, unsigned int number);
struct process *inventory_add_process(struct inventory *inventory, pid_t pid, int pidfd);

/* One that is not gone, or NULL. */
struct process *inventory_find_process(const struct inventory *inventory, pid_t pid);

/*
 * What the choice is asked for in the place of a pid: 0 if the process that was chosen by it is
 * gone. Another one that has it since can be chosen by its name.
 */
pid_t inventory_pid_of_choice(const struct inventory *inventory, pid_t pid);

/*
 * So many texts are remembered, as what was said is not said again; then a last one says that
 * there are more. Names in them are what their owners like, and who may have VMs can make
 * processes as fast as they are looked at: neither memory nor a log shall be filled with that.
 *
 * What comes on top of them is lost, whoever it is about. PROBLEMS_NS after that, if all were
 * printed, it begins anew: what is still wrong then is said once more. So no text is printed
 * more often than that, and none twice where there are no more than PROBLEMS_MAX.
 */
#define PROBLEMS_MAX 256
#define PROBLEMS_NS (3600 * NSEC_PER_SEC)

/* Both take over the text. The same at every look is said once. */
void inventory_add_note(struct inventory *inventory, char *text);
/* A note of what is not shown. */
void inventory_add_problem(struct inventory *inventory, char *text);
/* One that says what is wrong with a process, of whose VMs something is not shown. */
__printf(3, 4)
void inventory_blame(struct inventory *inventory, const struct process *process,
		     const char *format, ...);

static inline bool vm_has_statistics(const struct vm *vm)
{
	return vm->file.schema;
}

struct vcpu *vm_find_vcpu(const struct vm *vm, unsigned int number);

/* Whether there are sums over its vCPUs in the place of these, and how many it has. */
static inline bool vm_has_sums(const struct vm *vm)
{
	return vm->num_vcpus && vm->vcpu[0].number == VCPU_SUM;
}

static inline size_t vm_count_vcpus(const struct vm *vm)
{
	return vm_has_statistics(vm) && !vm_has_sums(vm) ? vm->num_vcpus : vm->num_vcpus_counted;
}

/* Where what is known of it comes from: "series", "vmm", "debugfs" or "proc". */
const char *vm_source(const struct vm *vm);

/* Its KVM gives KVM_GET_STATS_FD to whoever holds the VM: only then is there "online_vcpus". */
bool vm_is_of_series(const struct vm *vm);

/* What is described of the vCPUs; NULL if nothing is, before there is one. */
struct statsfile_schema *vm_vcpu_schema(const struct vm *vm);

/*
 * All values of the VM's @index-th vCPU: see statsfile_read(). Those of time are from between
 * two changes of its state, as a long one that ends meanwhile would count twice or not at all.
 */
int vm_read_vcpu(const struct vm *vm, size_t index, uint64_t *values,
		 struct statsfile_error *error);

/* Of @count values from the @first one on: see statsfile_read_some(). */
int vm_read_some_of_vcpu(const struct vm *vm, size_t index, unsigned int first,
			 unsigned int count, uint64_t *values, struct statsfile_error *error);

#endif /* KVMSTAT_INVENTORY_H */
