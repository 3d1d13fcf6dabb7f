// SPDX-License-Identifier: GPL-2.0
/*
 * Makes statistics files of a recording: files in memory with the descriptors and values
 * that were recorded, one for the VM and one per vCPU, as kernels have them that know
 * no more than that. With each step of the time the values in them become those of the
 * next sample.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay.h"
#include "util.h"

/* A statistics file that was handed out, or may be. */
struct file {
	int fd;				/* what it is listed as */
	unsigned char *bytes;		/* NULL: it was not asked for yet */
	size_t size;
	size_t data_offset;
};

/* By the same serial as that of the recording, whose schemas it has. */
struct replayed_vm {
	uint64_t serial;
	pid_t pid;
	const struct statsfile_schema *schema;
	const struct statsfile_schema *vcpu_schema;	/* NULL while there is no vCPU */
	bool ended;
	struct file *file;		/* of the VM, then of its vCPUs */
	size_t num_files;
};

struct replayed_process {
	pid_t pid;
	int event;			/* readable once it is gone */
};

static struct {
	struct recording recording;
	char *path;
	int fd;
	bool is_open;
	struct replayed_vm *vm;
	size_t num_vms;
	struct replayed_process *process;
	size_t num_processes;
	int last_fd;
	bool is_latest;			/* the end was gone to, and no certain sample */
} replay;

static const struct snapshot *now(void)
{
	return &replay.recording.now;
}

/* What is_dead() finds behind the values. */
static void set_dead(const struct file *file)
{
	memset(file->bytes + file->size - sizeof(uint64_t), 1, sizeof(uint64_t));
}

static void free_vm(struct replayed_vm *vm)
{
	size_t i;

	for (i = 0; i < vm->num_files; i++) {
		if (!vm->file[i].bytes)
			continue;
		set_dead(&vm->file[i]);
		munmap(vm->file[i].bytes, vm->file[i].size);
	}
	free(vm->file);
}

static size_t count_files(const struct recorded_vm *recorded)
{
	return 1 + (recorded->schema ? recorded->num_vcpus : recorded->num_vcpus_counted);
}

/*
 * Whether its files can go on as those of this one. A complete sample may say anything
 * of a serial, and one that has ended may be used again.
 */
static bool goes_on(const struct replayed_vm *vm, const struct recorded_vm *recorded)
{
	return vm->serial == recorded->serial && vm->pid == recorded->pid && !vm->ended &&
	       vm->schema == recorded->schema &&
	       (!vm->vcpu_schema || vm->vcpu_schema == recorded->vcpu_schema) &&
	       (!vm->schema || vm->num_files <= count_files(recorded));
}

/* Lists what is new of it. */
static void follow_vm(struct replayed_vm *vm, const struct recorded_vm *recorded)
{
	size_t count = count_files(recorded);

	vm->serial = recorded->serial;
	vm->pid = recorded->pid;
	vm->schema = recorded->schema;
	vm->vcpu_schema = recorded->vcpu_schema;
	vm->ended = recorded->ended;
	if (vm->num_files < count)
		vm->file = xreallocarray(vm->file, count, sizeof(*vm->file));
	while (vm->num_files < count)
		vm->file[vm->num_files++] = (struct file) { .fd = replay.last_fd++, };
}

static void update_values(const struct replayed_vm *vm, const struct recorded_vm *recorded)
{
	const uint64_t *values = recorded->values;
	const struct statsfile_schema *schema;
	const struct file *file;
	size_t i;

	for (i = 0; i < vm->num_files; i++) {
		schema = i ? recorded->vcpu_schema : recorded->schema;
		if (!schema)
			return;
		file = &vm->file[i];
		if (file->bytes) {
			memcpy(file->bytes + file->data_offset, values,
			       schema->num_values * sizeof(*values));
			if (recorded->ended)
				set_dead(file);
		}
		values += schema->num_values;
	}
}

/* Both have the VMs in the order of their serials. */
static void follow_vms(void)
{
	struct replayed_vm *vm = xcalloc(now()->num_vms, sizeof(*vm));
	size_t i, old = 0;

	for (i = 0; i < now()->num_vms; i++) {
		while (old < replay.num_vms && replay.vm[old].serial < now()->vm[i].serial)
			free_vm(&replay.vm[old++]);
		if (old < replay.num_vms && goes_on(&replay.vm[old], &now()->vm[i]))
			vm[i] = replay.vm[old++];
		follow_vm(&vm[i], &now()->vm[i]);
		update_values(&vm[i], &now()->vm[i]);
	}
	while (old < replay.num_vms)
		free_vm(&replay.vm[old++]);
	free(replay.vm);
	replay.vm = vm;
	replay.num_vms = now()->num_vms;
}

/* With the last of its VMs: nothing more is known of it. */
static bool is_there(pid_t pid)
{
	size_t i;

	for (i = 0; i < now()->num_vms; i++) {
		if (now()->vm[i].pid == pid && !now()->vm[i].ended)
			return true;
	}
	return false;
}

static void end_processes(bool all)
{
	const struct replayed_process *process;
	size_t i, kept;

	for (i = kept = 0; i < replay.num_processes; i++) {
		process = &replay.process[i];
		if (!all && is_there(process->pid)) {
			replay.process[kept++] = *process;
			continue;
		}
		eventfd_write(process->event, 1);
		close(process->event);
	}
	replay.num_processes = kept;
}

static void forget_all(void)
{
	size_t i;

	for (i = 0; i < replay.num_vms; i++)
		free_vm(&replay.vm[i]);
	replay.num_vms = 0;
	end_processes(true);
}

static bool seek(size_t position)
{
	struct statsfile_error error;

	if (recording_seek(&replay.recording, position, &error)) {
		print_error("%s: %s", replay.path, replay.recording.rest.text);
		return false;
	}
	follow_vms();
	end_processes(false);
	return true;
}

bool replay_step(void)
{
	const struct recording *recording = &replay.recording;

	return recording->position + 1 < recording->num_samples && seek(recording->position + 1);
}

bool replay_jump(size_t position)
{
	forget_all();
	return seek(position);
}

/* To the last sample in which the process had a VM. False if there is none. */
static bool jump_to_last_of(pid_t pid)
{
	struct recording *recording = &replay.recording;
	size_t i, last = recording->num_samples;
	struct statsfile_error error;

	for (i = 0; i < recording->num_samples && !recording_seek(recording, i, &error); i++) {
		if (is_there(pid))
			last = i;
	}
	return replay_jump(last < recording->num_samples ? last : i - 1) &&
	       last < recording->num_samples;
}

bool replay_jump_to_latest(void)
{
	const struct recording *recording = &replay.recording;

	replay.is_latest = true;
	if (recording->host.pid && jump_to_last_of(recording->host.pid))
		return true;
	return replay_jump(recording->num_samples - 1);
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
	struct recording_source source = { .fd = open(path, O_RDONLY | O_CLOEXEC), };
	struct statsfile_error error;
	struct stat info;

	if (source.fd < 0 || fstat(source.fd, &info)) {
		print_error("%s: %s", path, strerror(errno));
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
	forget_all();
	free(replay.vm);
	free(replay.process);
	recording_close(&replay.recording);
	close(replay.fd);
	free(replay.path);
	memset(&replay, 0, sizeof(replay));
}

/* The host */

static int vcpu_link(const struct recorded_vm *recorded, size_t index)
{
	return recorded->schema ? recorded->vcpu[index] : index;
}

static void list_vm(struct proc_fds *fds, const struct replayed_vm *vm,
		    const struct recorded_vm *recorded)
{
	size_t i;

	fds->entry = xreallocarray(fds->entry, fds->count + vm->num_files, sizeof(*fds->entry));
	for (i = 0; i < vm->num_files; i++)
		fds->entry[fds->count++] = (struct proc_fd) {
			.fd = vm->file[i].fd,
			.link = i ? vcpu_link(recorded, i - 1) : LINK_VM,
		};
}

static int compare_fds(const void *a, const void *b)
{
	const struct proc_fd *left = a, *right = b;

	return (left->fd > right->fd) - (left->fd < right->fd);
}

/* A VM that has ended is no longer among those of its process. */
static int replay_list_fds(const struct host *host, pid_t pid, struct proc_fds *fds)
{
	size_t i;

	(void)host;
	*fds = (struct proc_fds) {};
	for (i = 0; i < replay.num_vms; i++) {
		if (now()->vm[i].pid == pid && !now()->vm[i].ended)
			list_vm(fds, &replay.vm[i], &now()->vm[i]);
	}
	if (fds->count)
		qsort(fds->entry, fds->count, sizeof(*fds->entry), compare_fds);
	return 0;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

	return (left > right) - (left < right);
}

static int replay_list(const struct host *host, struct proc_list *list)
{
	pid_t *pids = xcalloc(now()->num_vms, sizeof(*pids));
	struct proc_process process;
	size_t i, count = 0;

	*list = (struct proc_list) {};
	for (i = 0; i < now()->num_vms; i++)
		pids[count++] = now()->vm[i].pid;
	if (count)
		qsort(pids, count, sizeof(*pids), compare_pids);
	for (i = 0; i < count; i++) {
		if (i && pids[i] == pids[i - 1])
			continue;
		process = (struct proc_process) { .pid = pids[i], };
		replay_list_fds(host, process.pid, &process.fds);
		if (process.fds.count)
			proc_list_add(list, &process);
	}
	free(pids);
	return 0;
}

static void replay_identify(const struct host *host, pid_t pid, struct identity *identity)
{
	size_t i;

	(void)host;
	identity_of_name(identity, "");
	for (i = 0; i < now()->num_vms; i++) {
		if (now()->vm[i].pid == pid)
			identity_of_name(identity, now()->vm[i].name);
	}
}

static pid_t replay_thread_group(const struct host *host, pid_t pid)
{
	(void)host;
	return is_there(pid) ? pid : 0;
}

static int make_file(struct file *file, const struct statsfile_schema *schema, const char *id)
{
	struct bytes bytes = recording_make_file(schema, id, &file->data_offset);
	int fd = memfd_create("kvmstat-replay", MFD_CLOEXEC);

	if (file->bytes)
		munmap(file->bytes, file->size);
	file->size = bytes.size + sizeof(uint64_t);
	file->bytes = MAP_FAILED;
	if (fd >= 0 && !ftruncate(fd, file->size))
		file->bytes = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file->bytes == MAP_FAILED) {
		file->bytes = NULL;
		if (fd >= 0)
			close(fd);
		fd = -1;
	} else {
		memcpy(file->bytes, bytes.data, bytes.size);
	}
	free(bytes.data);
	return fd;
}

/* Returns -1 without a VM that has such a file. */
static ssize_t find_file(pid_t pid, int fd, size_t *index)
{
	const struct replayed_vm *vm;
	size_t i;

	for (i = 0; i < replay.num_vms; i++) {
		vm = &replay.vm[i];
		if (now()->vm[i].pid != pid || fd < vm->file[0].fd)
			continue;
		for (*index = 0; *index < vm->num_files; ++*index) {
			if (vm->file[*index].fd == fd)
				return i;
		}
	}
	return -1;
}

static int replay_get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
			    uint64_t *vm, struct host_error *error)
{
	const struct statsfile_schema *schema;
	const struct recorded_vm *recorded;
	size_t index;
	ssize_t found = find_file(pid, fd->fd, &index);
	int stats;

	(void)host;
	*error = (struct host_error) { .step = HOST_TAKE, .err = EBADF, };
	if (found < 0)
		return -1;
	recorded = &now()->vm[found];
	schema = index ? recorded->vcpu_schema : recorded->schema;
	if (!schema) {
		*error = (struct host_error) { .step = HOST_STATS, .err = ENODATA, };
		return -1;
	}
	stats = make_file(&replay.vm[found].file[index], schema, recorded->id);
	if (stats < 0) {
		error->err = errno;
		return -1;
	}
	update_values(&replay.vm[found], recorded);
	/* A serial may be that of another VM by now, this is never used again; 0 is none. */
	*vm = 1 + (uint64_t)replay.vm[found].file[0].fd;
	return stats;
}

/* Waits for it, if it comes later: who names it does not know when it was there. */
static int replay_open_process(const struct host *host, pid_t pid, struct host_error *error)
{
	struct replayed_process process = { .pid = pid, };
	int fd = -1;

	(void)host;
	*error = (struct host_error) { .step = HOST_OPEN, .err = ESRCH, };
	while (!is_there(pid) && replay_step())
		;
	if (!is_there(pid) && !(replay.is_latest && jump_to_last_of(pid)))
		return -1;
	process.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (process.event >= 0)
		fd = fcntl(process.event, F_DUPFD_CLOEXEC, 0);
	if (fd < 0) {
		error->err = errno;
		if (process.event >= 0)
			close(process.event);
		return -1;
	}
	replay.process = xreallocarray(replay.process, replay.num_processes + 1,
				       sizeof(*replay.process));
	replay.process[replay.num_processes++] = process;
	return fd;
}

static bool replay_is_dead(int stats)
{
	uint64_t dead = 0;
	struct stat info;

	return !fstat(stats, &info) &&
	       pread(stats, &dead, sizeof(dead), info.st_size - sizeof(dead)) == sizeof(dead) &&
	       dead;
}

const struct host replay_host = {
	.proc = "recording",
	.list = replay_list,
	.list_fds = replay_list_fds,
	.identify = replay_identify,
	.thread_group = replay_thread_group,
	.get_stats = replay_get_stats,
	.open_process = replay_open_process,
	.is_gone = fd_is_readable,
	.is_dead = replay_is_dead,
	.access = STATSFILE_PREAD,
};

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
	if (fd_is_readable(signals))
		return EVENT_INTERRUPTED;
	if (now()->monotonic_ns >= end_ns)
		return EVENT_TIME;
	do {
		if (!replay_step())
			return EVENT_INTERRUPTED;
	} while (is_next_nearer(end_ns) && !fd_is_readable(other));
	return fd_is_readable(other) ? EVENT_READABLE : EVENT_TIME;
}

const struct time_source replay_time = {
	.now_ns = replay_now_ns,
	.real = replay_real,
	.pause_until = replay_pause_until,
	/* Every sample. */
	.interval.ns = 1,
};
