// SPDX-License-Identifier: GPL-2.0
/*
 * Fills an inventory with the VMs of a recording, whose files are views of the recorded values.
 * Each step of time replaces the values with the next sample's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/replay.h"
#include "util/util.h"

static struct {
	struct recording recording;
	char *path;
	int fd;
	bool is_open;
	struct inventory *inventory;	/* follows the time; or NULL */
	bool process_ended;		/* a process of the inventory ended in the last wait */
	bool is_latest;			/* replay_jump_to_latest() chose the sample */
} replay;

static const struct snapshot *now(void)
{
	return &replay.recording.now;
}

/* Whether it is the same VM: a damaged file may use a serial for another one. */
static bool goes_on(const struct vm *vm, const struct recorded_vm *recorded)
{
	return vm->process->pid == recorded->pid && !vm->process->gone &&
	       vm->file.schema == recorded->schema &&
	       (!vm->file.vcpu_schema || vm->file.vcpu_schema == recorded->vcpu_schema) &&
	       vm->num_vcpus <= recorded->num_vcpus;
}

/* Fills in file descriptors, which threads_match() needs. */
static void follow_numbers(struct process *process, const struct recorded_vm *recorded)
{
	struct proc_fd fd = {};

	if (recorded->num_numbers)
		process->fds.count = 0;
	for (; fd.fd < (int)recorded->num_numbers; fd.fd++) {
		fd.link = recorded->number[fd.fd];
		proc_fds_add(&process->fds, &fd);
	}
}

/* Copies its name and values, and adds new vCPUs. */
static void follow_vm(struct vm *vm, const struct recorded_vm *recorded)
{
	static const struct statsfile none = { .source.fd = -1, };
	size_t count = recorded_vm_num_values(recorded);

	follow_numbers(vm->process, recorded);
	snprintf(vm->process->name, sizeof(vm->process->name), "%s", recorded->name);
	vm->num_vcpus_counted = recorded->num_vcpus_counted;
	if (!recorded->schema)
		return;
	vm->values = xreallocarray(vm->values, count, sizeof(*vm->values));
	memcpy(vm->values, recorded->values, count * sizeof(*vm->values));
	statsfile_view(&vm->file, vm->file.schema ? NULL : xasprintf("%s", recorded->id),
		       recorded->schema, recorded->vcpu_schema, vm->values, recorded->num_vcpus);
	while (vm->num_vcpus < recorded->num_vcpus)
		vm_add_vcpu(vm, &none, recorded->vcpu[vm->num_vcpus]);
}

static bool is_chosen(const struct choice *choice, const struct recorded_vm *recorded)
{
	return !recorded->ended && choice_has(choice, recorded->pid, recorded->name);
}

static bool has_chosen(const struct choice *choice)
{
	size_t i;

	for (i = 0; i < now()->num_vms; i++) {
		if (is_chosen(choice, &now()->vm[i]))
			return true;
	}
	return false;
}

/*
 * A recording shows a process until its last VM ends. If the same sample has a new VM with its pid
 * and name, the process still runs.
 */
static bool still_runs(const struct inventory *inventory, const struct process *process)
{
	const struct recorded_vm *recorded;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (inventory->vm[i]->process == process && !inventory->vm[i]->dead)
			return true;
	}
	for (i = 0; i < now()->num_vms; i++) {
		recorded = &now()->vm[i];
		if (recorded->pid == process->pid && !recorded->ended &&
		    !strcmp(recorded->name, process->name))
			return true;
	}
	return false;
}

static void follow(struct inventory *inventory)
{
	const struct recorded_vm *recorded;
	struct process *process;
	struct vm *vm;
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		if (vm->dead)
			continue;
		recorded = snapshot_find(now(), vm->number);
		if (recorded && goes_on(vm, recorded))
			follow_vm(vm, recorded);
		else
			recorded = NULL;
		vm->dead = !recorded || recorded->ended;
		if (vm->dead && recorded)
			vm->ended_ns = now()->monotonic_ns - recorded->early_ns;
	}
	for (i = 0; i < inventory->num_processes; i++) {
		process = inventory->process[i];
		if (!process->gone && !still_runs(inventory, process)) {
			process->gone = true;
			replay.process_ended = true;
		}
	}
}

/* Forgets all VMs before a jump to another time. */
static void forget(struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++)
		inventory->vm[i]->dead = true;
	for (i = 0; i < inventory->num_processes; i++)
		inventory->process[i]->gone = true;
	inventory_forget_dead(inventory);
	/* At another time, the chosen processes may exist. */
	inventory->ended = 0;
}

/* Changes the sample, but not the inventory. */
static bool go_to(size_t position)
{
	struct statsfile_error error;

	if (!recording_seek(&replay.recording, position, &error))
		return true;
	print_error("%s: %s", replay.path, replay.recording.rest.text);
	return false;
}

static bool seek(size_t position)
{
	if (!go_to(position))
		return false;
	if (replay.inventory)
		follow(replay.inventory);
	return true;
}

bool replay_step(void)
{
	const struct recording *recording = &replay.recording;

	return recording->position + 1 < recording->num_samples && seek(recording->position + 1);
}

static bool jump(size_t position)
{
	if (replay.inventory)
		forget(replay.inventory);
	return seek(position);
}

bool replay_jump(size_t position)
{
	replay.is_latest = false;
	return jump(position);
}

/* Changes the sample, but not the inventory: find its VMs again after this. */
static size_t find_sample(const struct choice *choice, size_t first, bool latest)
{
	const struct recording *recording = &replay.recording;
	size_t i, found = SIZE_MAX;

	for (i = first; i < recording->num_samples && go_to(i); i++) {
		if (!has_chosen(choice))
			continue;
		found = i;
		if (!latest)
			break;
	}
	return found;
}

bool replay_go_to_chosen(const struct choice *choice)
{
	size_t position = replay.recording.position;
	size_t found = find_sample(choice, replay.is_latest ? 0 : position, replay.is_latest);

	return found != SIZE_MAX && jump(found);
}

bool replay_may_have(const struct choice *choice)
{
	return !replay.is_latest || has_chosen(choice);
}

/* Goes to @position, or to the last sample if the file can no longer be read that far. */
static bool go_back(size_t position)
{
	size_t count = replay.recording.num_samples;

	return count && jump(position < count ? position : count - 1);
}

bool replay_has(const struct choice *choice)
{
	size_t position = replay.recording.position;
	size_t found = find_sample(choice, replay.is_latest ? 0 : position, false);

	return go_back(position) && found != SIZE_MAX;
}

bool replay_jump_to_latest(void)
{
	const struct recording *recording = &replay.recording;
	const struct choice recorded = { .pid = { recording->host.pid, }, .num_pids = 1, };

	replay.is_latest = true;
	/* To the last sample in which the process had a VM. */
	if (recording->host.pid && replay_go_to_chosen(&recorded))
		return true;
	/* If the last sample cannot be read, try the one before. */
	while (recording->num_samples) {
		if (jump(recording->num_samples - 1))
			return true;
	}
	return false;
}

size_t replay_find(uint64_t monotonic_ns)
{
	const struct recording *recording = &replay.recording;
	size_t first = 0, end = recording->num_samples, middle;

	while (end - first > 1) {
		middle = first + (end - first) / 2;
		if (recording->sample[middle].monotonic_ns <= monotonic_ns)
			first = middle;
		else
			end = middle;
	}
	return first;
}

/* That clock may have been set: samples are not sorted by it. */
size_t replay_find_real(uint64_t real_ns)
{
	const struct recording *recording = &replay.recording;
	size_t i = recording->num_samples - 1;

	while (i && recording->sample[i].real_ns > real_ns)
		i--;
	return i;
}

const struct recording *replay_recording(void)
{
	return replay.is_open ? &replay.recording : NULL;
}

/* Copies a pipe to a file, which can be read more than once. Returns it, or -1 and errno. */
static int copy_pipe(int from)
{
	char buffer[65536];
	ssize_t count;
	bool is_first = true;
	FILE *to = tmpfile();
	int fd = -1;

	while (to && ((count = read(from, buffer, sizeof(buffer))) > 0 ||
		      (count < 0 && errno == EINTR))) {
		if (count < 0)
			continue;
		if (fwrite(buffer, count, 1, to) != 1)
			count = -1;
		/* A pipe may never end: stop if it is not a recording. */
		if (count < 0 || (is_first && *buffer != RECORDING_MAGIC[0]))
			break;
		is_first = false;
	}
	if (to && count >= 0 && !fflush(to))
		fd = fcntl(fileno(to), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (to)
		fclose(to);
	return fd;
}

static int open_source(const char *path)
{
	int copy, fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) :
		       fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	struct stat info;

	if (fd < 0 || (!fstat(fd, &info) && S_ISREG(info.st_mode)))
		return fd;
	copy = copy_pipe(fd);
	close(fd);
	return copy;
}

int replay_open(const char *path)
{
	struct recording_source source = { .fd = open_source(path), };
	struct statsfile_error error;
	struct stat info;

	if (source.fd < 0 || fstat(source.fd, &info)) {
		print_error("%s: %s", path, strerror(errno));
		return -1;
	}
	source.size = info.st_size;
	if (recording_open(&replay.recording, &source, &error)) {
		print_error("%s: %s", path, error.text);
		close(source.fd);
		return -1;
	}
	replay.fd = source.fd;
	replay.path = xasprintf("%s", path);
	replay.is_open = true;
	if (*replay.recording.rest.text)
		print_error("%s: %s; there are %zu samples before that", path,
			    replay.recording.rest.text, replay.recording.num_samples);
	else if (!replay.recording.num_samples)
		print_error("%s: it has no samples", path);
	if (replay.recording.num_samples)
		return 0;
	replay_close();
	return -1;
}

void replay_close(void)
{
	if (!replay.is_open)
		return;
	recording_close(&replay.recording);
	close(replay.fd);
	free(replay.path);
	memset(&replay, 0, sizeof(replay));
}

/* The source of the inventory. */

/* Sorts by pid, then by serial. */
static int compare_vms(const void *a, const void *b)
{
	const struct recorded_vm *left = *(const struct recorded_vm * const *)a;
	const struct recorded_vm *right = *(const struct recorded_vm * const *)b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->serial > right->serial) - (left->serial < right->serial);
}

static bool is_known(const struct inventory *inventory, const struct recorded_vm *recorded)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++) {
		if (inventory->vm[i]->number == recorded->serial && !inventory->vm[i]->dead)
			return true;
	}
	return false;
}

static void take_vm(struct inventory *inventory, const struct recorded_vm *recorded)
{
	struct process *process = inventory_find_process(inventory, recorded->pid);
	struct vm *vm;

	if (!process)
		process = inventory_add_process(inventory, recorded->pid, -1);
	vm = inventory_add_vm(inventory, process);
	vm->number = recorded->serial;
	follow_vm(vm, recorded);
	if (!recorded->schema)
		inventory_blame(inventory, process, "the recording has no statistics for it");
}

/* A process stays chosen even if its name changes. */
static bool is_wanted(const struct inventory *inventory, const struct process *process,
		      const struct recorded_vm *recorded)
{
	if (recorded->ended || is_known(inventory, recorded))
		return false;
	if (process)
		return !process->gone && process->pid == recorded->pid;
	return choice_has(inventory->choice, inventory_pid_of_choice(inventory, recorded->pid),
			  recorded->name) ||
	       inventory_find_process(inventory, recorded->pid);
}

static int look(struct inventory *inventory, struct process *process)
{
	const struct recorded_vm **vm = xcalloc(now()->num_vms, sizeof(*vm));
	size_t i, count = 0;

	for (i = 0; i < now()->num_vms; i++) {
		if (is_wanted(inventory, process, &now()->vm[i]))
			vm[count++] = &now()->vm[i];
	}
	if (count)
		qsort(vm, count, sizeof(*vm), compare_vms);
	for (i = 0; i < count; i++)
		take_vm(inventory, vm[i]);
	free(vm);
	return process && process->gone ? -ESRCH : 0;
}

/* A recording has only processes with VMs, see replay_has(). */
static struct process *find(struct inventory *inventory, pid_t pid)
{
	inventory_add_problem(inventory, xasprintf("pid %d: no such process", pid));
	return NULL;
}

static bool see_end(const struct inventory *inventory, struct vm *vm)
{
	(void)inventory;
	return vm->dead;
}

/* The threads of the process' only VM. */
static int read_threads(const struct inventory *inventory, const struct process *process,
			struct proc_threads *threads)
{
	const struct recorded_vm *recorded;
	size_t i, k;

	(void)inventory;
	*threads = (struct proc_threads) {};
	for (k = 0; k < now()->num_vms; k++) {
		recorded = &now()->vm[k];
		if (recorded->pid != process->pid || recorded->ended)
			continue;
		for (i = 0; i < recorded->threads.count; i++)
			proc_threads_add(threads, &recorded->threads.thread[i]);
	}
	return threads->count ? 0 : -ENOTSUP;
}

static const struct source recording_source = {
	.where = "recording",
	.look = look,
	.find = find,
	.see_end = see_end,
	.read_threads = read_threads,
};

void replay_init(struct inventory *inventory)
{
	inventory_init(inventory, &recording_source);
	replay.inventory = inventory;
}

/* The clock. */

static uint64_t replay_now_ns(void)
{
	return now()->monotonic_ns;
}

static struct timespec replay_real(void)
{
	return (struct timespec) {
		.tv_sec = now()->real_ns / NSEC_PER_SEC,
		.tv_nsec = now()->real_ns % NSEC_PER_SEC,
	};
}

/* Whether the next sample is at least as near to that time as this one. */
static bool is_next_nearer(uint64_t end_ns)
{
	const struct recording *recording = &replay.recording;
	size_t next = recording->position + 1;
	uint64_t now_ns = recording->now.monotonic_ns;

	/*
	 * Both differences are less than 2^63. The left one is negative if the sample is earlier.
	 */
	return next < recording->num_samples && now_ns < end_ns &&
	       (int64_t)(recording->sample[next].monotonic_ns - end_ns) <=
	       (int64_t)(end_ns - now_ns);
}

/* Goes to the sample that is nearest to that time, but at least to the next one. */
static enum event replay_pause_until(int signals, int other, uint64_t end_ns)
{
	(void)other;
	if (fd_is_readable(signals))
		return EVENT_INTERRUPTED;
	if (now()->monotonic_ns >= end_ns)
		return EVENT_TIME;
	replay.process_ended = false;
	do {
		if (!replay_step())
			return EVENT_INTERRUPTED;
	} while (is_next_nearer(end_ns) && !replay.process_ended);
	return replay.process_ended ? EVENT_READABLE : EVENT_TIME;
}

const struct time_source replay_time = {
	.now_ns = replay_now_ns,
	.real = replay_real,
	.pause_until = replay_pause_until,
	/* So short that every sample ends an interval. */
	.interval.ns = 1,
};
