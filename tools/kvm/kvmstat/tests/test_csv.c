// SPDX-License-Identifier: GPL-2.0
/*
 * Comma-separated values: each kind of line, the header once, and what has to be quoted.
 */
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "tap.h"
#include "util/clock.h"
#include "util/util.h"

#define SECONDS KVM_STATS_UNIT_SECONDS
#define NOON "2009-02-13T23:31:30.007654Z,"
#define OVERVIEW_HEADER							\
	"time,interval_s,pid,id,vcpus,state,guest,kvm,vmm,ready,wait,idle,off,shares_source,"	\
	"other,exits_per_s,halts_per_s,injections_per_s,ready99_ns,exit99_ns,top_reason,"	\
	"top_reason_share,statistics_source,name\r\n"

static const struct image_stat vm_stats[] = {
	{ .name = "lpages", .flags = KVM_STATS_TYPE_INSTANT, },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	{ .name = "halt_poll_ns", .flags = SECONDS, .exponent = -9, },
	{
		.name = "wait_hist",
		.flags = KVM_STATS_TYPE_LOG_HIST | SECONDS,
		.exponent = -9,
		.size = 3,
	}, {
		.name = "exit_reasons",
		.flags = KVM_STATS_TYPE_LINEAR_HIST,
		.size = 2,
		.bucket_size = 1,
		.value_names = (const char * const []) { "io", "", NULL, },
	}, {
		.name = "state",
		.flags = KVM_STATS_TYPE_INSTANT,
		.value_names = (const char * const []) { "guest", "user", NULL, },
	},
	{},
};

enum { EXITS, POLL_NS, WAIT_HIST, EXIT_REASONS = WAIT_HIST + 3, STATE = EXIT_REASONS + 2, };

static const struct statsfile_desc ready_hist = {
	.name = "ready_hist",
	.flags = KVM_STATS_TYPE_LOG_HIST | SECONDS,
	.exponent = -9,
	.size = 32,
};

static struct timespec noon(void)
{
	return (struct timespec) { .tv_sec = 1234567890, .tv_nsec = 7654321, };
}

static uint64_t zero_ns(void)
{
	return 0;
}

static const struct time_source test_time = { .now_ns = zero_ns, .real = noon, };

static void expect(struct fixture *fixture, const char *expected, const char *name)
{
	fflush(fixture->output.file);
	check_text(fixture->text, expected, name);
	fixture_rewind(fixture);
}

/* A line of the VM of the fixture. */
static void set_up(struct fixture *fixture)
{
	uint64_t *vcpu;

	fixture_set_up(fixture, "a \"b\", c", vm_stats, vcpu_stats);
	vcpu = image_values(&fixture->vcpu_image);
	vcpu[EXITS] = UINT64_MAX - 1000;
	fixture_sample(fixture, 100);
	vcpu[EXITS] += 500;
	vcpu[POLL_NS] += 41;
	vcpu[WAIT_HIST + 1] = 3;
	vcpu[EXIT_REASONS] = 500;
	vcpu[STATE] = 1;
	image_values(&fixture->vm_image)[0] = 7;
	fixture_sample(fixture, 102);
}

static void test_list(void)
{
	struct fixture fixture;
	const struct tracked_vm *vm[] = { &fixture.tracked, &fixture.closed, };
	struct overviews vms = { .vm = vm, .elapsed_ns = 250000000, };

	set_up(&fixture);
	csv_renderer.overviews(&fixture.output, &vms);
	expect(&fixture, OVERVIEW_HEADER, "list: without any VM the header");
	vms.num_vms = 2;
	fixture.tracked.rates.shares = (struct shares) {
		.known = { true, true, true, true, true, true, },
		.part = { 0.5, 0.125, 0.125, 0, 0, 0.25, },
	};
	csv_renderer.overviews(&fixture.output, &vms);
	expect(&fixture,
	       "1970-01-01T00:00:00.000000Z,0.250000000,312,kvm-312,1,busy,0.500,0.125,0.125,0.000,0.000,0.250,,kvm,,,,,,,,,vmm,\"a \"\"b\"\", c\"\r\n"
	       "1970-01-01T00:00:00.000000Z,0.250000000,312,,3,,,,,,,,,,,,,,,,,,proc,\"a \"\"b\"\", c\"\r\n",
	       "list: with and without statistics");
	fixture_tear_down(&fixture);
}

static void test_activity(void)
{
	struct tracked_vm running = {
		.pid = 312, .name = "guest", .id = "kvm-312", .num_vcpus = 2,
		.source = "proc", .has_other = true, .other = 1.5,
		.rates = {
			.known = { [RATE_EXITS] = true, [RATE_INJECTIONS] = true, },
			.per_second = { [RATE_EXITS] = 500, [RATE_INJECTIONS] = 0.25, },
			.top = "halt_exits",
			.top_per_second = 125,
			.shares = {
				.known[SHARE_GUEST] = true,
				.by_cpu = true,
				.part[SHARE_GUEST] = 1,
			},
			.quantile = {
				[QUANTILE_READY] = { &ready_hist, true, 31, },
				[QUANTILE_EXIT] = { .desc = &ready_hist, },
			},
		},
	};
	struct tracked_vm ended = {
		.pid = 8, .name = "b", .id = "-", .ended = true, .source = "vmm",
	};
	const struct tracked_vm *vm[] = { &running, &ended, };
	const struct overviews overviews = {
		.time = noon(), .elapsed_ns = 2000000001, .vm = vm, .num_vms = 2,
	};
	struct fixture fixture;

	set_up(&fixture);
	csv_renderer.overviews(&fixture.output, &overviews);
	expect(&fixture,
	       OVERVIEW_HEADER
	       NOON "2.000000001,312,kvm-312,2,busy,1.000,,,,,,,proc,1.500,500.000,,0.250,inf,,halt_exits,0.250,proc,guest\r\n"
	       NOON "2.000000001,8,,0,ended,,,,,,,,,,,,,,,,,vmm,b\r\n",
	       "all VMs: what they do");
	csv_renderer.overviews(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check(!strncmp(fixture.text, "2009-", 5), "all VMs: the header stands once");
	fixture_tear_down(&fixture);
}

#define SAMPLE NOON "2.000000000,312,kvm-312,\"a \"\"b\"\", c\",1,"

static void test_sample(void)
{
	struct fixture fixture;

	set_up(&fixture);
	time_source = &test_time;
	csv_renderer.sample(&fixture.output, &fixture.tracked);
	expect(&fixture,
	       "time,interval_s,pid,id,name,vcpus,scope,statistic,unit,base,exponent,value,delta,per_s\r\n"
	       SAMPLE "vm,lpages,,10,0,7,,\r\n"
	       SAMPLE "vcpus,exits,,10,0,18446744073709551115,500,250.000\r\n"
	       SAMPLE "vcpus,halt_poll_ns,seconds,10,-9,41,41,20.500\r\n"
	       SAMPLE "vcpus,wait_hist,seconds,10,-9,3,3,1.500\r\n"
	       SAMPLE "vcpus,exit_reasons,,10,0,500,500,250.000\r\n"
	       SAMPLE "vcpus,state,,10,0,1,,\r\n",
	       "one VM: what moved");
	csv_renderer.summary(&fixture.output, &fixture.tracked, "ended");
	expect(&fixture, "", "one VM: no totals");
	fixture_tear_down(&fixture);
}

#define LOOK ",0.250000000,0.500,,,0.250,,,,kvm"
#define VCPU "312,kvm-312,\"a \"\"b\"\", c\",1,vcpu,0,"

static void test_show(void)
{
	struct fixture fixture;
	struct subject subject = { .id = "kvm-312", .scope = SCOPE_VCPU, };
	const struct shares shares = {
		.known = { [SHARE_GUEST] = true, [SHARE_READY] = true, },
		.part = { [SHARE_GUEST] = 0.5, [SHARE_READY] = 0.25, },
	};
	const struct group *group = &fixture.tracked.model.group[SCOPE_VCPU];
	struct histogram histogram;

	set_up(&fixture);
	subject.vm = &fixture.vm;
	subject.vcpu = &fixture.vcpu;
	subject.shares = &shares;
	subject.look_ns = 250000000;
	csv_renderer.group(&fixture.output, &subject, group);
	expect(&fixture,
	       "pid,id,name,vcpus,scope,vcpu,statistic,unit,base,exponent,type,value,value_name,interval_s,guest,kvm,vmm,ready,wait,idle,off,shares_source\r\n"
	       VCPU "exits,,10,0,cumulative,18446744073709551115," LOOK "\r\n"
	       VCPU "halt_poll_ns,seconds,10,-9,cumulative,41," LOOK "\r\n"
	       VCPU "wait_hist,seconds,10,-9,log-hist,3," LOOK "\r\n"
	       VCPU "exit_reasons,,10,0,linear-hist,500," LOOK "\r\n"
	       VCPU "state,,10,0,instant,1,user" LOOK "\r\n",
	       "show: every statistic");
	fixture.output.num_shown = 0;
	subject = (struct subject) {
		.vm = &fixture.vm, .id = "kvm-312", .scope = SCOPE_VCPU,
		.elapsed_ns = 2000000000, .time = noon(),
	};
	csv_renderer.begin_histograms(&fixture.output);
	expect(&fixture,
	       "time,interval_s,pid,id,name,vcpus,scope,vcpu,statistic,unit,base,exponent,bucket,from,to,count\r\n",
	       "hist: the header, also of none");
	histogram = histogram_of(&group->schema->desc[2], group->value);
	csv_renderer.histogram(&fixture.output, &subject, &histogram);
	expect(&fixture,
	       SAMPLE "vcpus,,wait_hist,seconds,10,-9,,0,1,0\r\n"
	       SAMPLE "vcpus,,wait_hist,seconds,10,-9,,1,2,3\r\n"
	       SAMPLE "vcpus,,wait_hist,seconds,10,-9,,2,,0\r\n",
	       "hist: every bucket, with its bounds");
	subject.elapsed_ns = 0;
	histogram = histogram_of(&group->schema->desc[3], group->value);
	csv_renderer.histogram(&fixture.output, &subject, &histogram);
	expect(&fixture,
	       ",,312,kvm-312,\"a \"\"b\"\", c\",1,vcpus,,exit_reasons,,10,0,io,,,500\r\n"
	       ",,312,kvm-312,\"a \"\"b\"\", c\",1,vcpus,,exit_reasons,,10,0,,,,0\r\n",
	       "hist: by name");
	fixture_tear_down(&fixture);
}

int main(void)
{
	test_list();
	test_activity();
	test_sample();
	test_show();
	return tap_end();
}
