// SPDX-License-Identifier: GPL-2.0
/*
 * The model: growth by type of statistic; sums over vCPUs; vCPUs that are added between samples;
 * counters that are reset; samples without a system call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "model/model.h"
#include "sandbox.h"
#include "tap.h"
#include "util/util.h"

enum { EXITS, PAGES, PEAK, HIST, NEW_TYPE, NUM_STATS };

static const struct image_stat vm_stats[] = {
	{ .name = "remote_tlb_flush", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	{},
};

static const struct image_stat vcpu_stats[] = {
	[EXITS] = { .name = "exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	[PAGES] = STAT_LEVEL("pages"),
	[PEAK] = { .name = "max_depth", .flags = KVM_STATS_TYPE_PEAK, },
	[HIST] = STAT_HIST_NS("wait_hist", 4),
	[NEW_TYPE] = { .name = "new_type", .flags = 9, },
	[NUM_STATS] = {},
};

/* A VM with room for two vCPUs, whose values the tests write. */
struct fixture {
	struct image vm_image, vcpu_image[2];
	struct process process;
	struct vcpu vcpu[2];
	struct vm vm;
	struct model model;
};

static void set_up_with(struct fixture *fixture, size_t num_vcpus,
			const struct image_stat *of_vm, const struct image_stat *of_vcpus)
{
	size_t i;

	*fixture = (struct fixture) {};
	fixture->vm_image = image_build("kvm-1", of_vm);
	fixture->vm = (struct vm) {
		.process = &fixture->process,
		.file = image_open(&fixture->vm_image),
		.vcpu = fixture->vcpu,
		.num_vcpus = num_vcpus,
	};
	for (i = 0; i < 2; i++) {
		fixture->vcpu_image[i] = image_build_ext("kvm-1/vcpu", of_vcpus, NULL, 0);
		fixture->vcpu[i].file = image_open(&fixture->vcpu_image[i]);
	}
	model_init(&fixture->model, &fixture->vm);
}

static void set_up(struct fixture *fixture, size_t num_vcpus)
{
	set_up_with(fixture, num_vcpus, vm_stats, vcpu_stats);
}

static void tear_down(struct fixture *fixture)
{
	size_t i;

	model_free(&fixture->model);
	for (i = 0; i < 2; i++) {
		statsfile_close(&fixture->vcpu[i].file);
		image_free(&fixture->vcpu_image[i]);
	}
	statsfile_close(&fixture->vm.file);
	image_free(&fixture->vm_image);
}

static uint64_t *vcpu_values(struct fixture *fixture, unsigned int vcpu, unsigned int stat)
{
	const struct image *image = &fixture->vcpu_image[vcpu];

	return image_values(image) + image_desc(image, stat)->offset / 8;
}

static void sample_at(struct fixture *fixture, uint64_t seconds, bool from_zero)
{
	struct statsfile_error error;

	if (model_sample(&fixture->model, seconds * NSEC_PER_SEC, from_zero, &error))
		abort();
}

static uint64_t total_of(const struct fixture *fixture, const uint64_t *array, unsigned int stat)
{
	return group_total(&fixture->model.group[SCOPE_VCPU].schema->desc[stat], array);
}

static uint64_t delta(const struct fixture *fixture, unsigned int stat)
{
	return total_of(fixture, fixture->model.group[SCOPE_VCPU].delta, stat);
}

static uint64_t value(const struct fixture *fixture, unsigned int stat)
{
	return total_of(fixture, fixture->model.group[SCOPE_VCPU].value, stat);
}

static uint64_t watched(const struct fixture *fixture, unsigned int stat)
{
	return total_of(fixture, fixture->model.group[SCOPE_VCPU].watched, stat);
}

static void test_counters(void)
{
	struct fixture fixture;

	set_up(&fixture, 2);
	*vcpu_values(&fixture, 0, EXITS) = 1000;
	*vcpu_values(&fixture, 1, EXITS) = 500;
	image_values(&fixture.vm_image)[0] = 7;
	sample_at(&fixture, 10, false);
	check_number(value(&fixture, EXITS), 1500, "first sample: sum over the vCPUs");
	check_number(delta(&fixture, EXITS), 0, "first sample: earlier counts are in no delta");

	*vcpu_values(&fixture, 0, EXITS) += 30;
	*vcpu_values(&fixture, 1, EXITS) += 12;
	image_values(&fixture.vm_image)[0] = 8;
	sample_at(&fixture, 12, true);
	check_number(delta(&fixture, EXITS), 42, "delta: sum over the vCPUs");
	check_number(fixture.model.group[SCOPE_VM].delta[0], 1, "delta: the VM's own statistic");
	check(rate_per_second(delta(&fixture, EXITS), fixture.model.elapsed_ns) == 21,
	      "rate: per second of the time between the samples");

	sample_at(&fixture, 13, true);
	check_number(delta(&fixture, EXITS), 0, "delta: nothing moved");
	check_number(watched(&fixture, EXITS), 42, "watched: all deltas since the first sample");
	check(fixture.model.group[SCOPE_VCPU].num_members == 2, "number of vCPUs");

	*vcpu_values(&fixture, 0, EXITS) = 5;
	sample_at(&fixture, 14, true);
	check_number(delta(&fixture, EXITS), 5, "reset of one vCPU's counter: counts from zero");
	check_number(watched(&fixture, EXITS), 47, "reset: nothing that was watched is lost");
	tear_down(&fixture);

	check(rate_per_second(5, 0) == 0, "rate: no time, no rate");
}

static void test_wide_counters(void)
{
	struct fixture fixture;

	set_up(&fixture, 1);
	*vcpu_values(&fixture, 0, EXITS) = UINT64_MAX - 1;
	sample_at(&fixture, 1, false);
	*vcpu_values(&fixture, 0, EXITS) = UINT64_MAX;
	sample_at(&fixture, 2, true);
	check_number(delta(&fixture, EXITS), 1, "delta: exact at the end of 64 bits");
	tear_down(&fixture);
}

static void test_gauges(void)
{
	struct fixture fixture;

	set_up(&fixture, 2);
	*vcpu_values(&fixture, 0, PAGES) = 10;
	*vcpu_values(&fixture, 1, PAGES) = 5;
	*vcpu_values(&fixture, 0, PEAK) = 3;
	*vcpu_values(&fixture, 1, PEAK) = 9;
	*vcpu_values(&fixture, 0, NEW_TYPE) = 2;
	sample_at(&fixture, 1, false);
	check_number(value(&fixture, PAGES), 15, "instant: sum over the vCPUs");
	check_number(value(&fixture, PEAK), 9, "peak: highest of the vCPUs");
	check_number(value(&fixture, NEW_TYPE), 2, "unknown type: as instant");

	*vcpu_values(&fixture, 0, PAGES) = 4;
	sample_at(&fixture, 2, true);
	check_number(value(&fixture, PAGES), 9, "instant: goes down");
	check(delta(&fixture, PAGES), "instant: moved when it goes down");
	check(!delta(&fixture, PEAK), "peak: did not move");
	tear_down(&fixture);
}

static void test_kinds(void)
{
	static const struct statsfile_value_name names[] = { { 0, "guest", }, { 2, "host", }, };
	static const struct {
		struct statsfile_desc desc;
		bool enumeration, quantity, array;
	} cases[] = {
		{ { "state", KVM_STATS_TYPE_INSTANT, 0, 1, 0, 0, 2, names, }, true, false, false, },
		{ { "states", KVM_STATS_TYPE_INSTANT, 0, 2, 0, 0, 2, names, }, false, true, true, },
		{ { "state_since_ns", KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_SECONDS, -9, 1,
		    0, 0, 0, NULL, }, false, false, false, },
		{ { "_since_ns", KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_SECONDS, -9, 1,
		    0, 0, 0, NULL, }, false, true, false, },
		{ { "halt_poll_ns", KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_SECONDS, -9, 1,
		    0, 0, 0, NULL, }, false, true, false, },
		{ { "count_since_ns", KVM_STATS_UNIT_SECONDS, -9, 1, 0, 0, 0, NULL, },
		  false, true, false, },
	};
	const struct group one = { .num_members = 1, }, two = { .num_members = 2, };
	struct statsfile_desc array = cases[1].desc;
	const uint64_t values[] = { 5, 7, };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(is_enumeration(&cases[i].desc) == cases[i].enumeration &&
		      is_quantity(&cases[i].desc) == cases[i].quantity &&
		      is_array(&cases[i].desc) == cases[i].array &&
		      has_parts(&cases[i].desc) == cases[i].array &&
		      group_shows(&one, &cases[i].desc) &&
		      group_shows(&two, &cases[i].desc) == cases[i].quantity,
		      "kinds: %s", cases[i].desc.name);
	check_text(enumerated_name(&cases[0].desc, 2), "host", "kinds: the name of a value");
	check(!enumerated_name(&cases[0].desc, 1) && !enumerated_name(&array, 0),
	      "kinds: a value or statistic without names has none");
	check_number(group_total(&array, values), 12, "kinds: an array's total is its sum");
	array.flags = KVM_STATS_TYPE_PEAK;
	check_number(group_total(&array, values), 7, "kinds: the total of peaks is the highest");
}

static void test_histograms(void)
{
	struct fixture fixture;

	set_up(&fixture, 2);
	vcpu_values(&fixture, 0, HIST)[1] = 10;
	vcpu_values(&fixture, 1, HIST)[3] = 20;
	sample_at(&fixture, 1, false);
	vcpu_values(&fixture, 1, HIST)[1] += 1;
	vcpu_values(&fixture, 1, HIST)[3] += 2;
	sample_at(&fixture, 2, true);
	check_number(value(&fixture, HIST), 33, "histogram: number of counted values");
	check_number(delta(&fixture, HIST), 3, "histogram: delta over all buckets");
	check_number(fixture.model.group[SCOPE_VCPU].value[3 + 1], 11, "histogram: buckets add up");
	tear_down(&fixture);
}

static void test_new_vcpus(void)
{
	struct fixture fixture;

	set_up(&fixture, 0);
	sample_at(&fixture, 1, false);
	check(!fixture.model.group[SCOPE_VCPU].schema, "no vCPU: no vCPU statistics");

	fixture.vm.num_vcpus = 1;
	*vcpu_values(&fixture, 0, EXITS) = 100;
	sample_at(&fixture, 2, true);
	check_number(delta(&fixture, EXITS), 100, "first vCPU appears: all it has counted is new");

	fixture.vm.num_vcpus = 2;
	*vcpu_values(&fixture, 0, EXITS) += 10;
	*vcpu_values(&fixture, 1, EXITS) = 7;
	sample_at(&fixture, 3, true);
	check_number(delta(&fixture, EXITS), 17, "second vCPU appears");
	check_number(value(&fixture, EXITS), 117, "second vCPU appears: in the sum");
	tear_down(&fixture);
}

static void test_new_vm(void)
{
	struct fixture fixture;

	set_up(&fixture, 1);
	*vcpu_values(&fixture, 0, EXITS) = 100;
	sample_at(&fixture, 1, true);
	check_number(watched(&fixture, EXITS), 100, "new VM: counted from zero");
	tear_down(&fixture);
}

/* A VM whose file shows its vCPUs. */
struct whole_fixture {
	struct image image;
	struct process process;
	struct vcpu vcpu[3];
	struct vm vm;
	struct model model;
};

static bool sample_whole(void *argument)
{
	struct whole_fixture *fixture = argument;
	struct statsfile_error error;

	return !model_sample(&fixture->model, 2 * NSEC_PER_SEC, true, &error);
}

static void set_up_whole(struct whole_fixture *fixture, enum statsfile_access access)
{
	static const struct image_stat stats[] = {
		STAT_LEVEL("online_vcpus"),
		{},
	};
	struct statsfile_source source;

	*fixture = (struct whole_fixture) {};
	fixture->image = image_build_ext("kvm-1", stats, vcpu_stats, 3);
	source = image_to_file(&fixture->image, 2, access);
	image_values(&fixture->image)[0] = 2;
	fixture->vm = (struct vm) {
		.process = &fixture->process,
		.file = image_open_source(&source),
		.vcpu = fixture->vcpu,
	};
	model_init(&fixture->model, &fixture->vm);
}

static void tear_down_whole(struct whole_fixture *fixture)
{
	model_free(&fixture->model);
	statsfile_close(&fixture->vm.file);
	image_free(&fixture->image);
}

static void test_whole_vm(void)
{
	struct whole_fixture fixture;
	const struct group *vcpus = &fixture.model.group[SCOPE_VCPU];

	set_up_whole(&fixture, STATSFILE_MMAP);
	sample_whole(&fixture);
	check(!vcpus->schema, "whole VM: no vCPU before the first is found");

	fixture.vm.num_vcpus = 2;
	image_vcpu_values(&fixture.image, 0)[EXITS] = 100;
	image_vcpu_values(&fixture.image, 1)[EXITS] = 10;
	check(sample_whole(&fixture) && vcpus->value[EXITS] == 110 && vcpus->delta[EXITS] == 110,
	      "whole VM: sum over the vCPUs");
	image_vcpu_values(&fixture.image, 1)[EXITS] = 15;
	check(sample_whole(&fixture) && vcpus->value[EXITS] == 115 && vcpus->delta[EXITS] == 5 &&
	      vcpus->num_members == 2, "whole VM: the growth of the sum");
	model_focus(&fixture.model, 1);
	check(fixture.model.focus.value[EXITS] == 15, "whole VM: one vCPU alone");
	image_vcpu_values(&fixture.image, 1)[EXITS] = 18;
	check(sample_whole(&fixture) && fixture.model.focus.delta[EXITS] == 3 &&
	      fixture.model.focus.watched[EXITS] == 3 &&
	      model_shown(&fixture.model, SCOPE_VCPU) == &fixture.model.focus &&
	      !model_shown(&fixture.model, SCOPE_VM)->schema, "whole VM: the growth of one vCPU");
	model_unfocus(&fixture.model);
	check(without_system_calls(sample_whole, &fixture),
	      "whole VM: sampled without a system call");

	/* Discovery never does this: the third vCPU does not exist. */
	fixture.vm.num_vcpus = 3;
	check(!sample_whole(&fixture), "whole VM: a vCPU without values is an error");
	tear_down_whole(&fixture);

	set_up_whole(&fixture, STATSFILE_PREAD);
	sample_whole(&fixture);
	check(with_system_calls(sample_whole, &fixture), "not mapped: sampled by system calls");
	tear_down_whole(&fixture);
}

static void test_read_error(void)
{
	struct statsfile_error error;
	struct fixture fixture;

	set_up(&fixture, 1);
	fixture.vcpu[0].file.source.size--;
	check(model_sample(&fixture.model, 1, true, &error) && error.text[0],
	      "a file that cannot be read is an error");
	tear_down(&fixture);
}

static const struct image_stat time_vm_stats[] = {
	STAT_BOOL("ready_accounting"),
	STAT_BOOL("time_accounting"),
	{},
};

enum { READY, STATE, SINCE, GUEST, HALT, SLEEP, };

static const struct image_stat time_stats[] = {
	[READY] = STAT_NS("ready_ns"),
	[STATE] = STAT_STATE("state", "none", "guest", "halt", "sleep", "ready"),
	[SINCE] = STAT_SINCE("state_since_ns"),
	[GUEST] = STAT_NS("time_guest_ns"),
	[HALT] = STAT_NS("time_halt_ns"),
	[SLEEP] = STAT_NS("time_sleep_ns"),
	{},
};

static uint64_t *time_values;		/* of the only vCPU, written by the test */
static uint64_t *accounting;

static bool sample_time(struct fixture *fixture, uint64_t now_ns)
{
	struct statsfile_error error;

	return !model_sample(&fixture->model, now_ns, false, &error);
}

static void set_up_time(struct fixture *fixture)
{
	set_up_with(fixture, 1, time_vm_stats, time_stats);
	time_values = image_values(&fixture->vcpu_image[0]);
	accounting = image_values(&fixture->vm_image);
}

/* A state counts while it lasts: samples show a fault that takes a minute. */
static void test_running_state(void)
{
	const struct group *group;
	struct fixture fixture;

	set_up_time(&fixture);
	group = &fixture.model.group[SCOPE_VCPU];
	accounting[0] = 1;
	accounting[1] = 1;
	time_values[STATE] = 3;
	time_values[SINCE] = 900;
	sample_time(&fixture, 1000);
	check_number(group->value[SLEEP], 100, "a state that has not ended counts up to now");
	sample_time(&fixture, 3000);
	check(group->value[SLEEP] == 2100 && group->delta[SLEEP] == 2000,
	      "a state that lasts counts for the whole interval");
	time_values[SLEEP] = 2500;
	time_values[STATE] = 1;
	time_values[SINCE] = 3400;
	sample_time(&fixture, 4000);
	check(group->delta[SLEEP] == 400 && group->delta[GUEST] == 600,
	      "a state that ends counts its rest once");
	/* KVM moves time from the guest to a wait for a CPU. */
	time_values[READY] = 500;
	time_values[GUEST] = 100;
	time_values[STATE] = 2;
	time_values[SINCE] = 4000;
	sample_time(&fixture, 4000);
	check_number(group->delta[GUEST], 0,
		     "time that KVM moves to another state is not counted again");
	time_values[SINCE] = 0;
	sample_time(&fixture, 5000);
	check_number(group->delta[HALT], 0, "nothing is added while the state changes");
	time_values[SINCE] = 6001;
	sample_time(&fixture, 6000);
	check_number(group->delta[HALT], 0,
		     "a state that began after the clock was read adds nothing");
	time_values[STATE] = 77;
	time_values[SINCE] = 6000;
	check(sample_time(&fixture, 7000) && !group->delta[HALT],
	      "a state without a name adds nothing");
	tear_down(&fixture);
}

static bool shows(const struct group *group, const char *name)
{
	return group_shows(group, statsfile_find(group->schema, name));
}

/* While KVM does not measure, zeros are not shown. */
static void test_not_accounted(void)
{
	const struct group *group, *vm;
	struct fixture fixture;

	set_up_time(&fixture);
	group = &fixture.model.group[SCOPE_VCPU];
	vm = &fixture.model.group[SCOPE_VM];
	sample_time(&fixture, 1000);
	check(!shows(group, "time_guest_ns") && !shows(group, "state") &&
	      !shows(group, "state_since_ns") && !shows(group, "ready_ns"),
	      "accounting is off: its statistics are hidden");
	check(shows(vm, "time_accounting") && shows(vm, "ready_accounting"),
	      "accounting is off: the switch itself is shown");
	accounting[0] = 1;
	sample_time(&fixture, 2000);
	check(shows(group, "ready_ns") && !shows(group, "time_guest_ns"),
	      "time and ready accounting hide their own statistics only");
	model_focus(&fixture.model, 0);
	check(!shows(&fixture.model.focus, "time_guest_ns"),
	      "accounting is off: hidden for a single vCPU, too");
	accounting[1] = 1;
	sample_time(&fixture, 3000);
	check(shows(group, "time_guest_ns") && shows(group, "state"),
	      "accounting is on: everything is shown");
	tear_down(&fixture);
}

int main(void)
{
	test_counters();
	test_wide_counters();
	test_gauges();
	test_kinds();
	test_histograms();
	test_new_vcpus();
	test_new_vm();
	test_whole_vm();
	test_read_error();
	test_running_state();
	test_not_accounted();
	return tap_end();
}
