// SPDX-License-Identifier: GPL-2.0
/*
 * JSON and CSV: each kind of record in both, compared with tests/golden/data.txt.
 */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/tracker.h"
#include "tap.h"
#include "util/clock.h"
#include "util/util.h"

static const struct image_stat vm_stats[] = {
	STAT_LEVEL("lpages"),
	{},
};

/* STRANGE has a type, a unit and a base that no kernel has yet. */
static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	{ .name = "halt_exits", },
	STAT_NS("halt_poll_ns"),
	{
		.name = "memory",
		.flags = KVM_STATS_TYPE_PEAK | KVM_STATS_UNIT_BYTES | KVM_STATS_BASE_POW2,
		.exponent = 10,
	},
	{ .name = "strange", .flags = 0xfff, },
	STAT_HIST_NS("wait_hist", 3),
	STAT_REASONS("exit_reasons", 2, "io", ""),
	STAT_STATE("state", "guest", "user"),
	STAT_SINCE("state_since_ns"),
	STAT_REASON_NS("exit_reason_ns", 2, "io", ""),
	{},
};

/* Indexes of statistics, then of the values of some of them. */
enum { EXITS, HALTS, POLL_NS, MEMORY, STRANGE, WAIT_HIST, REASONS, STATE, SINCE, REASON_NS, };
enum { WAITS_AT = 5, REASONS_AT = 8, STATE_AT = 10, };

static const struct statsfile_desc ready_hist = {
	.name = "ready_hist",
	.flags = KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS,
	.exponent = -9,
	.size = 32,
};

static struct timespec moment(void)
{
	return (struct timespec) { .tv_sec = 1234567890, .tv_nsec = 7654321, };
}

static const struct time_source test_time = { .real = moment, };

static struct fixture fixture;
static struct group *vcpus = &fixture.tracked.model.group[SCOPE_VCPU];

/* Compares both formats of the output of @draw. */
static void both(const char *name, void (*draw)(void))
{
	static const struct {
		const char *name;
		const struct renderer *renderer;
	} formats[] = { { "JSON", &json_renderer, }, { "CSV", &csv_renderer, }, };
	char *title, *end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		render = formats[i].renderer;
		fixture.output.num_shown = 0;
		draw();
		fflush(fixture.output.file);
		/* Lines of CSV end with CR LF; the golden file has no CR. */
		for (end = fixture.text; (end = strchr(end, '\r'));)
			memmove(end, end + 1, strlen(end));
		title = xasprintf("%s: %s", formats[i].name, name);
		check_golden("data.txt", title, fixture.text);
		free(title);
		fixture_rewind(&fixture);
	}
}

static void draw_list(const struct tracked_vm **vm, size_t count)
{
	const struct overviews overviews = {
		.time = moment(), .elapsed_ns = 2000000001, .vm = vm, .num_vms = count,
	};

	render->begin(&fixture.output);
	render->overviews(&fixture.output, &overviews);
	render->end(&fixture.output);
}

static void draw_nothing(void)
{
	draw_list(NULL, 0);
}

static void draw_vms(void)
{
	const struct rates rates = {
		.known = { [RATE_EXITS] = true, [RATE_INJECTIONS] = true, },
		.per_second = { [RATE_EXITS] = 500, [RATE_INJECTIONS] = 0.25, },
		.top = "halt_exits",
		.top_per_second = 125,
		.shares = {
			.known = { true, true, true, true, true, true, },
			.part = { 0.5, 0.25, 0.125, 0.0625, 0, 0.0625, },
		},
		.quantile = {
			[QUANTILE_READY] = { &ready_hist, true, 31, },
			[QUANTILE_EXIT] = { &ready_hist, true, 20, },
		},
	};
	struct tracked_vm running = fixture.tracked, by_proc = fixture.closed;
	struct tracked_vm ended = {
		.pid = 8, .name = "b", .id = "-", .ended = true, .source = "vmm",
	};
	const struct tracked_vm *vm[] = { &running, &by_proc, &fixture.closed, &ended, };

	running.rates = rates;
	running.elapsed_ns = 0;
	by_proc.rates.shares = (struct shares) { .known[SHARE_READY] = true, .by_cpu = true, };
	by_proc.rates.top_per_second = 1;
	by_proc.has_other = true;
	by_proc.other = 1.5;
	draw_list(vm, ARRAY_SIZE(vm));
}

static void draw_sample(void)
{
	render->movement(&fixture.output, &fixture.tracked, NULL);
}

static void draw_summary(void)
{
	render->movement(&fixture.output, &fixture.tracked, "ended");
}

static void draw_group(void)
{
	const struct subject subject = { .vm = &fixture.vm, .id = "kvm-312", .scope = SCOPE_VCPU, };

	render->group(&fixture.output, &subject, vcpus);
}

static void draw_vcpu(void)
{
	const struct shares shares = {
		.known = { [SHARE_GUEST] = true, [SHARE_READY] = true, },
		.part = { [SHARE_GUEST] = 0.5, [SHARE_READY] = 0.25, },
	}, unknown = {};
	const struct group none = {};
	struct subject subject = {
		.vm = &fixture.vm, .id = "kvm-312", .scope = SCOPE_VCPU, .vcpu = &fixture.vcpu,
		.shares = &shares, .look_ns = 250000000,
	};

	fixture.output.nonzero = true;
	render->group(&fixture.output, &subject, vcpus);
	subject.shares = &unknown;
	render->group(&fixture.output, &subject, &none);
	fixture.output.nonzero = false;
}

static void draw_histogram(int statistic, bool is_empty, uint64_t elapsed_ns)
{
	static const uint64_t zeros[32];
	const struct subject subject = {
		.vm = &fixture.vm, .id = "kvm-312", .scope = SCOPE_VCPU,
		.elapsed_ns = elapsed_ns, .time = moment(),
	};
	const struct histogram histogram =
		histogram_of(&vcpus->schema->desc[statistic], is_empty ? zeros : vcpus->value);

	render->histogram(&fixture.output, &subject, &histogram);
}

static void draw_histograms(void)
{
	render->begin_histograms(&fixture.output);
	draw_histogram(WAIT_HIST, false, 2000000000);
	draw_histogram(WAIT_HIST, true, 0);
	draw_histogram(REASONS, false, 0);
}

static void draw_event(int statistic, unsigned int first, unsigned int count, int vcpu, bool ended)
{
	const struct watch_target target = {
		.scope = vcpu == NO_VCPU ? SCOPE_VM : SCOPE_VCPU,
		.desc = &vcpus->schema->desc[statistic],
		.first = first, .count = count, .threshold = 9,
	};
	const struct watch_rule rule = { .window_ns = NSEC_PER_SEC, };
	const struct watch_event event = {
		.vm = &fixture.tracked, .rule = &rule, .target = &target, .time = moment(),
		.vcpu = vcpu, .growth = 10, .ended = ended,
	};

	render->begin_events(&fixture.output, &rule, &target);
	render->event(&fixture.output, &event);
}

static void draw_events(void)
{
	draw_event(EXITS, 0, 1, 7, false);
	draw_event(WAIT_HIST, 1, 1, 7, false);
	draw_event(WAIT_HIST, 1, 2, 7, false);
	draw_event(REASONS, 0, 1, 7, false);
	draw_event(MEMORY, 0, 1, NO_VCPU, false);
	draw_event(EXITS, 0, 1, NO_VCPU, true);
}

static void draw_recording(void)
{
	struct recording_sample sample[] = {
		{ .real_ns = 1234567890000000000, .monotonic_ns = 5, },
		{ .real_ns = 1234567892000000000, .monotonic_ns = 2000000005, },
	};
	struct recording recording = {
		.host = { .name = "host", .release = "6.1", .machine = "x86_64",
			  .version = "0.1", .interval_ns = NSEC_PER_SEC, },
		.sample = sample, .num_samples = ARRAY_SIZE(sample),
	};

	render->recording(&fixture.output, &recording);
	recording.host.pid = 312;
	render->recording(&fixture.output, &recording);
}

int main(void)
{
	uint64_t *values;

	time_source = &test_time;
	/* A name with characters that need quoting. */
	fixture_set_up(&fixture, "a \"b\", \\/", vm_stats, vcpu_stats);
	fixture.vcpu.number = 7;
	both("no VM", draw_nothing);
	both("VMs", draw_vms);
	values = image_values(&fixture.vcpu_image);
	values[EXITS] = UINT64_MAX - 1000;
	values[HALTS] = 5;
	fixture_sample(&fixture, 1);
	values[EXITS] += 1000;
	values[POLL_NS] = 41;
	values[MEMORY] = 3;
	values[STRANGE] = 1004;
	values[WAITS_AT + 1] = 98;
	values[WAITS_AT + 2] = 2;
	values[REASONS_AT] = 1000;
	values[STATE_AT] = 1;
	values[STATE_AT + 1] = 5;
	values[STATE_AT + 3] = 8;
	image_values(&fixture.vm_image)[0] = 7;
	fixture_sample(&fixture, 3);
	both("what moved", draw_sample);
	both("summary", draw_summary);
	both("every statistic", draw_group);
	both("what is not 0 of a vCPU, and its shares", draw_vcpu);
	vcpus->num_members = 2;
	both("of two vCPUs there is no state", draw_sample);
	vcpus->num_members = 1;
	vcpus->value[STATE_AT] = 2;
	both("a state without a name", draw_vcpu);
	both("histograms", draw_histograms);
	both("events", draw_events);
	both("recording", draw_recording);
	fixture_tear_down(&fixture);
	return tap_end();
}
