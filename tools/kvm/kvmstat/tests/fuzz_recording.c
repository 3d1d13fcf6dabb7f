// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer makes up recordings for the parser, and for replay if the parser accepts them.
 * Checksums are not checked, because a fuzzer cannot guess them. The sanitizers check memory; this
 * file checks the promises of the parser.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/tracker.h"
#include "promise.h"
#include "sources/discover.h"
#include "sources/recording_read.h"
#include "sources/replay.h"
#include "util/util.h"

/* More samples and files would test nothing new. */
#define MAX_SAMPLES 16
#define MAX_FILES 32
/* Replays one in so many inputs. */
#define REPLAYED 16

/* False for control characters, including those in UTF-8. */
static bool is_printable(const char *text)
{
	const unsigned char *byte;

	for (byte = (const unsigned char *)text; *byte; byte++) {
		if (*byte < ' ' || *byte == 0x7f || (byte[0] == 0xc2 && byte[1] < 0xa0))
			return false;
	}
	return true;
}

/* Reads all values. */
static uint64_t sum_of(const struct recorded_vm *vm)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < recorded_vm_num_values(vm); i++)
		sum += vm->values[i];
	for (i = 0; i < vm->num_vcpus; i++)
		sum += vm->vcpu[i];
	return sum;
}

static uint64_t check_snapshot(const struct snapshot *snapshot)
{
	const struct recorded_vm *vm;
	uint64_t sum = 0, serial = 0;
	size_t values = 0;

	for (vm = snapshot->vm; vm < snapshot->vm + snapshot->num_vms; vm++) {
		promise(vm->serial > serial, "VMs are in order");
		serial = vm->serial;
		promise(vm->pid > 0 && is_printable(vm->name) && is_printable(vm->id),
			"a VM has a pid and printable names");
		promise(!vm->num_vcpus || (vm->schema && vm->vcpu_schema), "vCPUs have a schema");
		values += recorded_vm_num_values(vm);
		sum += sum_of(vm);
	}
	promise(values <= RECORDING_MAX_CONTENT / sizeof(uint64_t), "limits");
	return sum;
}

static size_t num_files(const struct snapshot *snapshot)
{
	size_t i, count = 0;

	for (i = 0; i < snapshot->num_vms; i++)
		count += 1 + snapshot->vm[i].num_vcpus + snapshot->vm[i].num_vcpus_counted;
	return count;
}

/* Returns whether the recording is small enough to be replayed often. */
static bool check_samples(struct recording *recording)
{
	size_t i, count = recording->num_samples;
	struct statsfile_error error = {};
	uint64_t sum[MAX_SAMPLES];
	bool small = count;

	for (i = 0; i < count && i < MAX_SAMPLES; i++) {
		if (recording_seek(recording, i, &error)) {
			promise(*error.text && !strchr(error.text, '\n') &&
				*recording->rest.text && recording->num_samples == i,
				"an error has one line, and drops the samples from there on");
			return false;
		}
		sum[i] = check_snapshot(&recording->now);
		small &= num_files(&recording->now) <= MAX_FILES;
	}
	while (i--) {
		promise(!recording_seek(recording, i, &error), "what was read is read again");
		promise(check_snapshot(&recording->now) == sum[i],
			"a sample is the same when read again");
	}
	return small;
}

static void no_error(const char *text)
{
	promise(*text, "an error has a text");
}

/* Replays the same bytes as a stream of all VMs. */
static void check_replay(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct inventory inventory;
	struct tracker tracker;
	char path[64];
	int i;

	promise(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "a file for the test");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	promise(!replay_open(path) && replay_jump(0), "what was read can be replayed");
	time_source = &replay_time;
	replay_init(&inventory);
	tracker_init(&tracker, &inventory);
	for (i = 0; i < MAX_SAMPLES; i++) {
		promise(!tracker_sample(&tracker), "a sample");
		if (!replay_step())
			break;
	}
	tracker_free(&tracker);
	inventory_free(&inventory);
	replay_close();
	close(fd);
}

/* The Makefile defines this name as the one that libFuzzer calls. */
int fuzz_one_input(const uint8_t *bytes, size_t size)
{
	const struct recording_source source = { .fd = -1, .memory = bytes, .size = size, };
	struct statsfile_error error = {};
	struct recording recording;
	bool small;

	error_printer = no_error;
	if (recording_open(&recording, &source, &error)) {
		promise(error.text[0] && !strchr(error.text, '\n'), "one line says what is wrong");
		return 0;
	}
	promise(is_printable(recording.host.name) && is_printable(recording.host.release),
		"texts are printable");
	small = check_samples(&recording);
	recording_close(&recording);
	/* Replay makes many system calls: use only some inputs. */
	if (small && bytes[size - 1] % REPLAYED == 0)
		check_replay(bytes, size);
	return 0;
}
