// SPDX-License-Identifier: GPL-2.0
/*
 * Fills an inventory with the VMs of a recording, which are views of the values that were
 * recorded. With each step of the time these become those of the next sample.
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
	struct inventory *inventory;	/* which goes with the time; or NULL */
	bool process_ended;		/* one of the inventory's, since that was waited for */
	bool is_latest;			/* the end was gone to, and no certain sample */
} replay;

static const struct snapshot *now(void)
{
	return &replay.recording.now;
}

/*
 * Whether it can go on as that. A complete sample may say anything of a serial, and one
 * that has ended may be used again.
 */
static bool goes_on(const struct vm *vm, const struct recorded_vm *recorded)
{
	return vm->process->pid == recorded->pid && !vm->process->gone &&
	       vm->file.schema == recorded->schema &&
	       (!vm->file.vcpu_schema || vm->file.vcpu_schema == recorded->vcpu_schema) &&
	       vm->num_vcpus <= recorded->num_vcpus;
}

/* In the place of its file descriptors, by which vCPUs and threads are matched. */
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

/* Its name and values, and the vCPUs that are new. */
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
	if (statsfile_view(&vm->file, recorded->id, recorded->schema, recorded->vcpu_schema,
			   vm->values, recorded->num_vcpus)) {
		print_error("out of memory");
		exit(STATUS_ERROR);
	}
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

static bool is_there(pid_t pid)
{
	const struct choice choice = { .pid = { pid, }, .num_pids = 1, };

	return has_chosen(&choice);
}

/*
 * Until the last of its VMs ends: nothing more is known of it. In the place of that may be a
 * new one by then, which has its name; else another process has the pid.
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

/* What was found is of another time. */
static void forget(struct inventory *inventory)
{
	size_t i;

	for (i = 0; i < inventory->num_vms; i++)
		inventory->vm[i]->dead = true;
	for (i = 0; i < inventory->num_processes; i++)
		inventory->process[i]->gone = true;
	inventory_forget_dead(inventory);
	/* They have not ended yet. */
	inventory->ended = 0;
}

/* Without those following who have found VMs. */
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

/* Those who have found VMs have to find them anew. */
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

/* Or to the last sample, if it turned out that the file cannot be read up to there. */
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

/* To the last sample in which the process had a VM. False if there is none. */
static bool jump_to_last_of(pid_t pid)
{
	const struct choice choice = { .pid = { pid, }, .num_pids = 1, };

	return replay_go_to_chosen(&choice);
}

bool replay_jump_to_latest(void)
{
	const struct recording *recording = &replay.recording;

	replay.is_latest = true;
	if (recording->host.pid && jump_to_last_of(recording->host.pid))
		return true;
	/* If it cannot be read another one is the last. */
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

/* That clock may have been set meanwhile: it is not in order. */
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

int replay_open(const char *path)
{
	/* What is a pipe can be said before anyone writes to it. */
	struct recording_source source = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), };
	struct statsfile_error error;
	struct stat info;

	if (source.fd < 0 || fstat(source.fd, &info)) {
		print_error("%s: %s", path, strerror(errno));
		return -1;
	}
	if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) {
		print_error("%s: is a pipe; a recording is replayed from a file", path);
		close(source.fd);
		return -1;
	}
	source.size = S_ISREG(info.st_mode) ? info.st_size : 0;
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
		print_error("%s: there is no sample in it", path);
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

/* The source of VMs */

/* In the order of processes, and then of their serials. */
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

static struct process *take_process(struct inventory *inventory, const struct recorded_vm *recorded)
{
	struct process *process = inventory_find_process(inventory, recorded->pid);

	if (!process)
		process = inventory_add_process(inventory, recorded->pid, -1);
	return process;
}

static void take_vm(struct inventory *inventory, const struct recorded_vm *recorded)
{
	struct process *process = take_process(inventory, recorded);
	struct vm *vm = inventory_add_vm(inventory, process);

	vm->number = recorded->serial;
	follow_vm(vm, recorded);
	if (!recorded->schema)
		inventory_blame(inventory, process, "the recording has no statistics of it");
}

/* A process is chosen for good, whatever it is called later. */
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

/* Waits for it, if it comes later: who names it does not know when it was there. */
static struct process *find(struct inventory *inventory, pid_t pid)
{
	while (!is_there(pid) && replay_step())
		;
	if (is_there(pid) || (replay.is_latest && jump_to_last_of(pid)))
		return inventory_add_process(inventory, pid, -1);
	inventory_add_problem(inventory, xasprintf("pid %d: no such process", pid));
	return NULL;
}

/* In any sample: who looked for something else has gone through them, too. */
static bool has_name(const struct inventory *inventory, const char *name)
{
	const struct choice choice = { .name = { name, }, .num_names = 1, };
	size_t position = replay.recording.position;
	size_t found = find_sample(&choice, 0, false);

	(void)inventory;
	return go_back(position) && found != SIZE_MAX;
}

/* They are seen with each step. */
static bool see_events(struct inventory *inventory, const struct process *only)
{
	(void)inventory;
	(void)only;
	return false;
}

static void update(struct inventory *inventory, struct vm *vm)
{
	(void)inventory;
	(void)vm;
}

static bool see_end(const struct inventory *inventory, struct vm *vm)
{
	(void)inventory;
	return vm->dead;
}

/* They are those of the only VM of the process. */
static int read_threads(const struct inventory *inventory, const struct process *process,
			struct proc_threads *threads)
{
	const struct recorded_vm *recorded;
	size_t i;

	(void)inventory;
	*threads = (struct proc_threads) {};
	for (recorded = now()->vm; recorded < now()->vm + now()->num_vms; recorded++) {
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
	.has_name = has_name,
	.see_events = see_events,
	.update = update,
	.see_end = see_end,
	.read_threads = read_threads,
};

void replay_init(struct inventory *inventory)
{
	inventory_init(inventory, &recording_source);
	replay.inventory = inventory;
}

/* Its time */

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

/* Whether the next sample is not farther from that time than this one. */
static bool is_next_nearer(uint64_t end_ns)
{
	const struct recording *recording = &replay.recording;
	size_t next = recording->position + 1;
	uint64_t now_ns = recording->now.monotonic_ns;

	/* Both are less than 2^63 apart, and what comes before the end is negative. */
	return next < recording->num_samples && now_ns < end_ns &&
	       (int64_t)(recording->sample[next].monotonic_ns - end_ns) <=
	       (int64_t)(end_ns - now_ns);
}

/* To the sample that is nearest to that time, but to the next one at least. */
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
	/* Every sample. */
	.interval.ns = 1,
};
