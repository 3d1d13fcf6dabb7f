// SPDX-License-Identifier: GPL-2.0
/*
 * recorded_host VMS: writes a recording of a host with VMS VMs: twelve samples, one per second.
 * Each VM does one kind of work: it is starved of CPU, has many exits, waits for its VMM, or is
 * idle. The output is always the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "image.h"
#include "sources/recording_read.h"
#include "sources/recording_write.h"
#include "util/util.h"

#define SAMPLES 12
/* 2026-11-22 12:00:00 UTC */
#define BEGIN_NS (1795348800 * NSEC_PER_SEC)

enum { ONLINE_VCPUS, READY_ACCOUNTING, TIME_ACCOUNTING, };

static const struct image_stat vm_stats[] = {
	[ONLINE_VCPUS] = STAT_LEVEL("online_vcpus"),
	[READY_ACCOUNTING] = STAT_BOOL("ready_accounting"),
	[TIME_ACCOUNTING] = STAT_BOOL("time_accounting"),
	{},
};

#define BUCKETS 32
#define REASONS 5

/* Statistics of a vCPU, and where the values of each begin. */
enum { EXITS, HALTS, INJECTIONS, READY_NS, GUEST_NS, EXIT_NS, USER_NS, HALT_NS, EXIT_REASONS, };

enum {
	REASONS_AT = EXIT_REASONS,
	READY_HIST_AT = REASONS_AT + REASONS,
	EXIT_HIST_AT = READY_HIST_AT + BUCKETS,
	NUM_VALUES = EXIT_HIST_AT + BUCKETS,
};

static const struct image_stat vcpu_stats[] = {
	[EXITS] = { .name = "exits", },
	[HALTS] = { .name = "halt_exits", },
	[INJECTIONS] = { .name = "irq_injections", },
	[READY_NS] = STAT_NS("ready_ns"),
	[GUEST_NS] = STAT_NS("time_guest_ns"),
	[EXIT_NS] = STAT_NS("time_exit_ns"),
	[USER_NS] = STAT_NS("time_user_ns"),
	[HALT_NS] = STAT_NS("time_halt_ns"),
	[EXIT_REASONS] = STAT_REASONS("exit_reasons", REASONS, "interrupt", "cpuid", "io",
		"hlt", "page_fault"),
	STAT_HIST_NS("ready_hist", BUCKETS),
	STAT_HIST_NS("exit_hist", BUCKETS),
	{},
};

/* Per second: shares of time in per mille, exits, and the buckets of waits and exits. */
static const struct work {
	unsigned int guest, exit, user, ready, halt;
	unsigned int exits, reason, ready_bucket, exit_bucket;
} works[] = {
	{ 250, 70, 0, 680, 0, 280, 0, 24, 14, },
	{ 520, 440, 0, 40, 0, 18500, 1, 15, 13, },
	{ 320, 390, 270, 20, 0, 8900, 2, 14, 17, },
	{ 20, 10, 0, 5, 965, 60, 3, 12, 15, },
};

/* Names as in fleets: numbers, purposes, other alphabets, long ones. */
static char *name_of(unsigned int vm)
{
	static const char * const names[] = {
		"db", "exits", "vmm", "idle", "bücher-präsentation",
		"web-frontend-production-eu-west-1b-replica-17", "名前",
	};

	if (vm < ARRAY_SIZE(names))
		return xasprintf("%s", names[vm]);
	return xasprintf("instance-%08x", 0x1c40 + vm);
}

static unsigned int num_vcpus_of(unsigned int vm)
{
	return vm % 4 == 1 ? 1 : 2 << vm % 3;
}

/* Counts from the start of the VM to second @second. VMs differ in how busy they are. */
static void count(uint64_t *value, const struct work *work, unsigned int vm, unsigned int vcpu,
		  unsigned int second)
{
	uint64_t ms = second * (NSEC_PER_SEC / 1000), i, exits = 0;

	/* In waves, so that values change. */
	for (i = 1; i <= second; i++)
		exits += work->exits / (1 + vm / 4) * (8 + (i + vm) % 5) / (10 + vcpu);
	value[EXITS] = exits;
	value[HALTS] = work->halt ? exits : 0;
	value[INJECTIONS] = exits / 3;
	value[GUEST_NS] = work->guest * ms;
	value[EXIT_NS] = work->exit * ms;
	value[USER_NS] = work->user * ms;
	value[READY_NS] = work->ready * ms;
	value[HALT_NS] = work->halt * ms;
	value[REASONS_AT + work->reason] = exits - exits / 10;
	value[REASONS_AT] += exits / 10;
	value[READY_HIST_AT + work->ready_bucket] = exits / 4;
	value[READY_HIST_AT + work->ready_bucket + 2] = exits / 80;
	value[EXIT_HIST_AT + work->exit_bucket] = exits;
}

/* Every ninth VM ends before the last sample. */
static bool has_ended(unsigned int vm, unsigned int second)
{
	return vm % 9 == 8 && second == SAMPLES;
}

static struct snapshot take_snapshot(const struct statsfile *vm_file,
				     const struct statsfile *vcpu_file, unsigned int num_vms,
				     unsigned int second)
{
	struct snapshot snapshot = {
		.real_ns = BEGIN_NS + second * NSEC_PER_SEC,
		.monotonic_ns = 100 * NSEC_PER_SEC + second * NSEC_PER_SEC,
		.vm = xcalloc(num_vms, sizeof(*snapshot.vm)),
		.num_vms = num_vms,
	};
	struct recorded_vm *recorded;
	unsigned int vm, vcpu;
	char *name;

	for (vm = 0; vm < num_vms; vm++) {
		recorded = &snapshot.vm[vm];
		*recorded = (struct recorded_vm) {
			.serial = 1 + vm,
			.pid = 1200 + 37 * vm,
			.ended = has_ended(vm, second),
			.schema = statsfile_schema_get(vm_file->schema),
			.vcpu_schema = statsfile_schema_get(vcpu_file->schema),
			.num_vcpus = num_vcpus_of(vm),
		};
		name = name_of(vm);
		snprintf(recorded->name, sizeof(recorded->name), "%s", name);
		free(name);
		snprintf(recorded->id, sizeof(recorded->id), "kvm-%d", recorded->pid);
		recorded->vcpu = xcalloc(recorded->num_vcpus, sizeof(*recorded->vcpu));
		recorded->values = xcalloc(recorded_vm_num_values(recorded),
					   sizeof(*recorded->values));
		recorded->values[ONLINE_VCPUS] = recorded->num_vcpus;
		recorded->values[READY_ACCOUNTING] = 1;
		recorded->values[TIME_ACCOUNTING] = 1;
		for (vcpu = 0; vcpu < recorded->num_vcpus; vcpu++) {
			recorded->vcpu[vcpu] = vcpu;
			count(recorded->values + vm_file->schema->num_values + vcpu * NUM_VALUES,
			      &works[vm % ARRAY_SIZE(works)], vm, vcpu, second);
		}
	}
	return snapshot;
}

int main(int argc, char **argv)
{
	unsigned int num_vms = argc == 2 ? atoi(argv[1]) : 0, second;
	const struct recording_host host = {
		.version = "0", .name = "host", .release = "5.10.262", .machine = "x86_64",
		.interval_ns = NSEC_PER_SEC,
	};
	struct image vm = image_build("-", vm_stats);
	struct image vcpu = image_build_ext("-", vcpu_stats, NULL, 0);
	struct statsfile vm_file = image_open(&vm), vcpu_file = image_open(&vcpu);
	struct recording_writer writer = {};
	struct snapshot snapshot;

	if (argc != 2) {
		fprintf(stderr, "usage: %s VMS >RECORDING\n", argv[0]);
		return 2;
	}
	recording_begin(&writer, &host);
	for (second = 1; second <= SAMPLES; second++) {
		snapshot = take_snapshot(&vm_file, &vcpu_file, num_vms, second);
		recording_add(&writer, &snapshot);
	}
	if (fwrite(writer.block.data, writer.block.size, 1, stdout) != 1 || fflush(stdout)) {
		perror("recorded_host");
		return 1;
	}
	recording_writer_free(&writer);
	statsfile_close(&vm_file);
	statsfile_close(&vcpu_file);
	image_free(&vm);
	image_free(&vcpu);
	return 0;
}
