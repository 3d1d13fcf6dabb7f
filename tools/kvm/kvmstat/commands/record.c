// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat record FILE [INTERVAL [COUNT]]: samples of all VMs, or of the chosen ones, for kvmstat
 * replay.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "commands/command.h"
#include "model/tracker.h"
#include "sources/recording_write.h"
#include "util/clock.h"
#include "util/util.h"

struct record {
	struct inventory inventory;
	struct tracker tracker;
	struct recording_writer writer;
	struct options options;
	struct interval interval;
	const char *path;
	int fd;
	bool is_unread;			/* the reader of standard output is gone */
	int signals;
	uint64_t size;			/* bytes of complete blocks */
	uint64_t num_samples;
	uint64_t first_ns;
	uint64_t last_ns;
};

static void copy_values(struct recorded_vm *recorded, const struct model *model)
{
	uint64_t *values = xcalloc(recorded_vm_num_values(recorded), sizeof(*values));
	size_t i, size = recorded->schema->num_values;

	recorded->values = values;
	memcpy(values, model->vm_last, size * sizeof(*values));
	for (i = 0; i < recorded->num_vcpus; i++) {
		values += size;
		size = recorded->vcpu_schema->num_values;
		if (model->vcpu_last[i])
			memcpy(values, model->vcpu_last[i], size * sizeof(*values));
	}
}

static struct recorded_vm record_vm(const struct tracker *tracker,
				    const struct tracked_vm *tracked)
{
	struct recorded_vm recorded = {
		.serial = tracked->serial,
		.pid = tracked->pid,
		.ended = tracked->ended,
		.early_ns = tracked->ended ? tracker->sampled_ns - tracked->ended_ns : 0,
	};
	const struct model *model = &tracked->model;
	size_t i;

	snprintf(recorded.name, sizeof(recorded.name), "%s", tracked->name);
	snprintf(recorded.id, sizeof(recorded.id), "%s", tracked->id);
	for (i = 0; i < tracked->threads.count; i++)
		proc_threads_add(&recorded.threads, &tracked->threads.thread[i]);
	if (tracked->vm && tracked->threads.count)
		recorded.number = proc_vcpus(&tracked->vm->process->fds, &recorded.num_numbers);
	if (!tracked->has_statistics) {
		recorded.num_vcpus_counted = tracked->num_vcpus;
		return recorded;
	}
	recorded.schema = statsfile_schema_get(model->group[SCOPE_VM].schema);
	if (model->num_vcpus)
		recorded.vcpu_schema = statsfile_schema_get(model->group[SCOPE_VCPU].schema);
	recorded.num_vcpus = model->num_vcpus;
	recorded.vcpu = xcalloc(recorded.num_vcpus, sizeof(*recorded.vcpu));
	for (i = 0; i < recorded.num_vcpus; i++)
		recorded.vcpu[i] = tracked->vcpu[i].number;
	copy_values(&recorded, model);
	return recorded;
}

static int compare_serials(const void *a, const void *b)
{
	const struct recorded_vm *left = a, *right = b;

	return (left->serial > right->serial) - (left->serial < right->serial);
}

static struct snapshot take_snapshot(const struct tracker *tracker)
{
	struct timespec now = time_source->real();
	struct snapshot snapshot = {
		.real_ns = now.tv_sec * NSEC_PER_SEC + now.tv_nsec,
		.monotonic_ns = tracker->sampled_ns,
		.vm = xcalloc(tracker->num_vms, sizeof(*snapshot.vm)),
	};
	const struct tracked_vm *tracked;
	size_t i;

	for (i = 0; i < tracker->num_vms; i++) {
		tracked = tracker->vm[i];
		/* A VM that ends has a last sample, unless it was never sampled. */
		if (tracker_shows(tracker, tracked) &&
		    (!tracked->has_statistics || tracked->sampled))
			snapshot.vm[snapshot.num_vms++] = record_vm(tracker, tracked);
	}
	if (snapshot.num_vms)
		qsort(snapshot.vm, snapshot.num_vms, sizeof(*snapshot.vm), compare_serials);
	return snapshot;
}

/*
 * Cuts off the last @size bytes, which only a regular file allows. Counts back from the file
 * offset: standard output may begin with the output of other processes.
 */
static bool cut_off(int fd, size_t size)
{
	off_t end = lseek(fd, 0, SEEK_CUR);

	return end >= 0 && !ftruncate(fd, end - (off_t)size);
}

static bool is_output(const char *path)
{
	return !strcmp(path, "-");
}

/* Writes writer.block. If that fails, the file ends with the sample before. */
static int write_block(struct record *record)
{
	struct bytes *block = &record->writer.block;
	size_t done = 0;
	ssize_t count;

	while (done < block->size) {
		count = write(record->fd, block->data + done, block->size - done);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		done += count;
	}
	record->is_unread = done < block->size && errno == EPIPE && is_output(record->path);
	if (record->is_unread)
		return STATUS_OK;
	if (done < block->size) {
		print_error("%s: %s; it ends after %llu samples", record->path, strerror(errno),
			    (unsigned long long)record->num_samples);
		if (done && !cut_off(record->fd, done))
			print_error("%s: its last sample is not complete", record->path);
		return STATUS_ERROR;
	}
	record->size += block->size;
	block->size = 0;
	return STATUS_OK;
}

#define LEFT_OUT "VMs are left out: a recording has no room for all of their values"

static int sample(struct record *record)
{
	struct snapshot snapshot;
	int ret;

	ret = sample_tracked(&record->tracker);
	if (ret != STATUS_OK)
		return ret;
	snapshot = take_snapshot(&record->tracker);
	if (!record->num_samples)
		record->first_ns = snapshot.monotonic_ns;
	record->last_ns = snapshot.monotonic_ns;
	if (recording_add(&record->writer, &snapshot))
		inventory_add_problem(&record->inventory, xasprintf(LEFT_OUT));
	ret = write_block(record);
	record->num_samples += ret == STATUS_OK && !record->is_unread;
	return ret;
}

static int take_samples(struct record *record)
{
	const struct tracker *tracker = &record->tracker;
	uint64_t i, end_ns = time_source->now_ns();
	int status;

	status = sample(record);
	if (!record->inventory.choice)
		print_denied(&record->inventory);
	for (i = 0; status == STATUS_OK; i++) {
		if (record->is_unread || (record->interval.count && i == record->interval.count) ||
		    (tracker_has_ended(tracker) && !tracker_any_lives(tracker)))
			break;
		end_ns = next_end(end_ns, record->interval.ns);
		if (tracker_wait(&record->tracker, record->signals, end_ns) == EVENT_INTERRUPTED)
			break;
		status = sample(record);
	}
	return status;
}

static int begin(struct record *record)
{
	struct recording_host host = {
		.version = KVMSTAT_VERSION,
		.interval_ns = record->interval.ns,
		.pid = choice_process(&record->options.choice),
	};
	struct utsname kernel;

	uname(&kernel);
	snprintf(host.name, sizeof(host.name), "%s", kernel.nodename);
	snprintf(host.release, sizeof(host.release), "%s", kernel.release);
	snprintf(host.machine, sizeof(host.machine), "%s", kernel.machine);
	recording_begin(&record->writer, &host);
	return write_block(record);
}

static int run_record(struct record *record)
{
	int status;

	status = begin(record);
	if (status == STATUS_OK)
		status = confine(USE_RECORDING);
	if (status == STATUS_OK)
		status = take_samples(record);
	/* On standard error: standard output may be the recording. */
	if (record->num_samples)
		fprintf(stderr, "%s: %llu samples in %.1f s, %llu bytes\n", record->path,
			(unsigned long long)record->num_samples,
			(double)(record->last_ns - record->first_ns) / NSEC_PER_SEC,
			(unsigned long long)record->size);
	return status == STATUS_OK ? inventory_status(&record->inventory) : status;
}

/*
 * Empties the file, unless another kvmstat writes to it and would go on at its old offset. Devices
 * and pipes may have several writers. Some filesystems have no locks.
 */
static int take_file(int fd, const char *path)
{
	struct stat info;

	if (!fstat(fd, &info) && !S_ISREG(info.st_mode))
		return STATUS_OK;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		print_error("%s is being written by another process", path);
		return STATUS_ERROR;
	}
	if (ftruncate(fd, 0)) {
		print_error("%s: %s", path, strerror(errno));
		return STATUS_ERROR;
	}
	return STATUS_OK;
}

/* Overwrites a file only if --force asks for it. */
static int open_file(const char *path, bool force)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (force ? 0 : O_EXCL);
	int fd;

	if (is_output(path)) {
		if (!isatty(STDOUT_FILENO))
			return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		print_error("recordings are not written to a terminal; name a file");
		return -1;
	}
	fd = open(path, flags, 0666);
	if (fd < 0 && errno == EEXIST && !force)
		print_error("%s exists; --force overwrites it", path);
	else if (fd < 0)
		print_error("%s: %s", path, strerror(errno));
	if (fd >= 0 && take_file(fd, path) != STATUS_OK) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Opens the file after all other checks, so that an error leaves no empty file. */
static int open_record(struct record *record)
{
	int status = look_for_chosen(&record->inventory, false);

	if (status != STATUS_OK)
		return status;
	record->fd = open_file(record->path, record->options.force);
	if (record->fd < 0)
		return STATUS_ERROR;
	record->signals = catch_signals();
	/* Beyond the limit on the file's size write() fails. */
	signal(SIGXFSZ, SIG_IGN);
	return STATUS_OK;
}

int command_record(int argc, char **argv)
{
	struct record record = {
		.interval = time_source->interval, .fd = -1, .signals = -1,
	};
	struct options *options = &record.options;
	int status;

	status = parse_options(COMMAND_RECORD, argc, argv, options);
	if (status != STATUS_OK || options->help)
		return status;
	if (!options->num_arguments)
		return usage_error("record: the name of a file is missing");
	record.path = options->argument[0];
	status = parse_interval(options->num_arguments - 1, options->argument + 1,
				&record.interval);
	if (status == STATUS_OK)
		status = open_inventory(&record.inventory, &options->choice);
	if (status != STATUS_OK)
		return status;
	tracker_init(&record.tracker, &record.inventory);
	record.tracker.reads_threads = true;
	status = open_record(&record);
	if (status == STATUS_OK)
		status = run_record(&record);
	if (record.fd >= 0)
		close(record.fd);
	if (record.signals >= 0)
		close(record.signals);
	recording_writer_free(&record.writer);
	tracker_free(&record.tracker);
	inventory_free(&record.inventory);
	return status;
}
