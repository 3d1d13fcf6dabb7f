// SPDX-License-Identifier: GPL-2.0
/*
 * JSON output: every line is parsed by json-c again. Keys are where they are
 * documented, numbers are exact, and what the text says is in the JSON as well.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixture.h"
#include "render/render.h"
#include "tap.h"
#include "util/clock.h"
#include "util/util.h"

#define LOG_NS (KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS)

static const struct image_stat vm_stats[] = {
	{ .name = "online_vcpus", .flags = KVM_STATS_TYPE_INSTANT, },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	{ .name = "halt_exits", },
	{
		.name = "halt_wait_ns",
		.flags = KVM_STATS_UNIT_SECONDS,
		.exponent = -9,
	}, {
		.name = "memory",
		.flags = KVM_STATS_TYPE_PEAK | KVM_STATS_UNIT_BYTES | KVM_STATS_BASE_POW2,
		.exponent = 10,
	},
	{ .name = "strange", .flags = 0xfff, },
	{ .name = "wait_hist", .flags = LOG_NS, .exponent = -9, .size = 4, },
	{
		.name = "exit_reasons",
		.flags = KVM_STATS_TYPE_LINEAR_HIST,
		.size = 4,
		.bucket_size = 1,
		.value_names = (const char * const []) { "interrupt", "io", "", "other", NULL, },
	}, {
		.name = "state",
		.flags = KVM_STATS_TYPE_INSTANT,
		.value_names = (const char * const []) { "guest", "host", NULL, },
	}, {
		.name = "state_since_ns",
		.flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_SECONDS,
		.exponent = -9,
	}, {
		.name = "exit_reason_ns",
		.flags = KVM_STATS_UNIT_SECONDS,
		.exponent = -9,
		.size = 3,
		.value_names = (const char * const []) { "interrupt", "", "other", NULL, },
	},
	{},
};

/* Where they are among the values. */
enum {
	EXITS, HALTS, NS, MEMORY, STRANGE, HIST, REASONS = HIST + 4, STATE = REASONS + 4, SINCE,
	TIMES,
};

static struct timespec real(void)
{
	return (struct timespec) { .tv_sec = 1234567890, .tv_nsec = 1999, };
}

static const struct time_source test_time = { .real = real, };

/* The line that was parsed last. */
static struct json_object *parsed;

/* The name has what has to be escaped. */
static void set_up(struct fixture *fixture)
{
	fixture_set_up(fixture, "a \"b\"\\/", vm_stats, vcpu_stats);
	fixture->vcpu.number = 7;
}

static void tear_down(struct fixture *fixture)
{
	json_object_put(parsed);
	parsed = NULL;
	fixture_tear_down(fixture);
}

/* The next line that was rendered; one at a time. */
static void parse(struct fixture *fixture, const char *type)
{
	const char *end;

	fflush(fixture->output.file);
	end = strchr(fixture->text, '\n');
	check(end && !end[1], "%s: one line", type);
	json_object_put(parsed);
	parsed = json_tokener_parse(fixture->text);
	check(parsed, "%s: parsed", type);
	fixture_rewind(fixture);
}

/* What stands at "key/key/0/key", as JSON; "nothing" if there is nothing. */
static void expect(const char *path, const char *expected)
{
	char *pointer = xasprintf("/%s", path);
	struct json_object *value;
	const char *found = "nothing";

	if (!json_pointer_get(parsed, pointer, &value))
		found = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
	check_text(found, expected, path);
	free(pointer);
}

static void expect_head(struct fixture *fixture, const char *type)
{
	char *quoted = xasprintf("\"%s\"", type);

	parse(fixture, type);
	expect("schema_version", "2");
	expect("type", quoted);
	free(quoted);
}

/* However many there are. */
static void test_document(void)
{
	struct fixture fixture;
	const struct tracked_vm *vm[] = { &fixture.tracked, &fixture.closed, };
	struct overviews vms = { .vm = vm, };
	char *end;

	set_up(&fixture);
	for (vms.num_vms = 0; vms.num_vms <= 2; vms.num_vms++) {
		json_renderer.begin(&fixture.output);
		json_renderer.overviews(&fixture.output, &vms);
		json_renderer.end(&fixture.output);
		fflush(fixture.output.file);
		end = strrchr(fixture.text, '\n');
		json_object_put(parsed);
		parsed = json_tokener_parse(fixture.text);
		check(parsed && end && !end[1] &&
		      json_object_is_type(parsed, json_type_array) &&
		      json_object_array_length(parsed) == vms.num_vms,
		      "a document of %zu VMs is an array of these", vms.num_vms);
		fixture_rewind(&fixture);
	}
	expect("0/id", "\"kvm-312\"");
	expect("1/type", "\"vm\"");
	tear_down(&fixture);
}

static void test_list(void)
{
	struct fixture fixture;
	const struct tracked_vm *vm[] = { &fixture.tracked, };
	struct overviews vms = { .vm = vm, .num_vms = 1, .elapsed_ns = 250000000, };

	set_up(&fixture);
	fixture_sample(&fixture, 1);
	fixture.tracked.rates.shares = (struct shares) {
		.known = { [SHARE_READY] = true, },
		.part = { [SHARE_READY] = 0.25, },
	};
	json_renderer.overviews(&fixture.output, &vms);
	expect_head(&fixture, "vm");
	expect("pid", "312");
	expect("name", "\"a \\\"b\\\"\\\\\\/\"");
	expect("id", "\"kvm-312\"");
	expect("vcpus", "1");
	expect("interval/value", "250000000");
	expect("shares/ready", "0.250");
	expect("ready99", "null");
	expect("source", "\"vmm\"");
	vm[0] = &fixture.closed;
	json_renderer.overviews(&fixture.output, &vms);
	expect_head(&fixture, "vm");
	expect("id", "null");
	expect("vcpus", "3");
	expect("state", "null");
	tear_down(&fixture);
}

static const struct statsfile_desc ready_hist = {
	.name = "ready_hist",
	.flags = KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS,
	.exponent = -9,
	.size = 32,
};

static void test_activity(void)
{
	struct tracked_vm vm = {
		.pid = 312,
		.name = "guest",
		.id = "kvm-312",
		.has_statistics = true,
		.num_vcpus = 1,
		.has_other = true,
		.other = 0.5,
		.rates = {
			.known = { [RATE_EXITS] = true, [RATE_INJECTIONS] = true, },
			.per_second = { [RATE_EXITS] = 500, [RATE_INJECTIONS] = 0.25, },
			.top = "halt_exits",
			.top_per_second = 125,
		},
	};
	const struct tracked_vm *list[] = { &vm, };
	const struct overviews overviews = {
		.time = { .tv_sec = 1234567890, .tv_nsec = 7, },
		.elapsed_ns = 2000000001,
		.vm = list,
		.num_vms = 1,
	};
	struct fixture fixture;

	set_up(&fixture);
	json_renderer.overviews(&fixture.output, &overviews);
	expect_head(&fixture, "vm");
	expect("time",
	       "{\"value\":1234567890000000,\"unit\":\"seconds\",\"base\":10,\"exponent\":-6}");
	expect("interval/value", "2000000001");
	expect("pid", "312");
	expect("name", "\"guest\"");
	expect("id", "\"kvm-312\"");
	expect("vcpus", "1");
	expect("state", "null");
	expect("other", "0.500");
	expect("exits", "{\"value\":500.000,\"unit\":\"1\\/second\"}");
	expect("halts", "null");
	expect("injections/value", "0.250");
	expect("shares", "null");
	expect("reason/name", "\"halt_exits\"");
	expect("reason/value", "125.000");
	expect("reason/share", "0.250");
	vm.rates.shares = (struct shares) {
		.known = { true, true, true, true, true, true, },
		.part = { 0.5, 0.25, 0.125, 0.0625, 0, 0.0625, },
	};
	json_renderer.overviews(&fixture.output, &overviews);
	expect_head(&fixture, "vm");
	expect("shares/guest", "0.500");
	expect("shares/kvm", "0.250");
	expect("shares/vmm", "0.125");
	expect("shares/ready", "0.062");
	expect("shares/wait", "0.000");
	expect("shares/idle", "0.062");
	expect("state", "\"exits\"");
	vm.rates.shares = (struct shares) { .known[SHARE_READY] = true, };
	json_renderer.overviews(&fixture.output, &overviews);
	expect_head(&fixture, "vm");
	expect("shares", "{\"ready\":0.000,\"source\":\"kvm\"}");
	vm.rates.shares.by_cpu = true;
	json_renderer.overviews(&fixture.output, &overviews);
	expect_head(&fixture, "vm");
	expect("shares/source", "\"proc\"");
	vm.rates.quantile[QUANTILE_READY] = (struct quantile_of) { &ready_hist, true, 20, };
	vm.rates.quantile[QUANTILE_EXIT] = (struct quantile_of) { .desc = &ready_hist, };
	json_renderer.overviews(&fixture.output, &overviews);
	expect_head(&fixture, "vm");
	expect("ready99",
	       "{\"from\":524288,\"to\":1048576,\"unit\":\"seconds\",\"base\":10,\"exponent\":-9}");
	expect("exit99", "null");
	vm = (struct tracked_vm) { .id = "-", .ended = true, .num_vcpus = 3, };
	json_renderer.overviews(&fixture.output, &overviews);
	expect_head(&fixture, "vm");
	expect("id", "null");
	expect("vcpus", "3");
	expect("state", "\"ended\"");
	expect("exits", "null");
	expect("reason", "null");
	tear_down(&fixture);
}

static void test_watch(void)
{
	struct fixture fixture;
	uint64_t *values;

	set_up(&fixture);
	values = image_values(&fixture.vcpu_image);
	values[EXITS] = UINT64_MAX - 1000;
	values[HALTS] = 5;
	fixture_sample(&fixture, 1);
	values[EXITS] += 1000;
	values[MEMORY] = 3;
	values[HIST + 2] = 4;
	values[REASONS + 1] = 1000;
	values[STATE] = 1;
	values[SINCE] = 5;
	values[TIMES + 2] = 8;
	image_values(&fixture.vm_image)[0] = 1;
	fixture_sample(&fixture, 3);
	json_renderer.sample(&fixture.output, &fixture.tracked);
	expect_head(&fixture, "sample");
	expect("time/value", "1234567890000001");
	expect("interval/value", "2000000000");
	expect("vcpu_statistics/exits",
	       "{\"type\":\"cumulative\",\"unit\":null,\"base\":10,\"exponent\":0,\"value\":18446744073709551615,\"delta\":1000,\"rate\":500.000}");
	expect("vcpu_statistics/memory",
	       "{\"type\":\"peak\",\"unit\":\"bytes\",\"base\":2,\"exponent\":10,\"value\":3}");
	expect("vcpu_statistics/wait_hist/delta", "4");
	expect("vcpu_statistics/exit_reasons/rate", "500.000");
	expect("vcpu_statistics/state",
	       "{\"type\":\"instant\",\"unit\":null,\"base\":10,\"exponent\":0,\"value\":1,\"name\":\"host\"}");
	expect("vcpu_statistics/state_since_ns/value", "5");
	expect("vcpu_statistics/exit_reason_ns",
	       "{\"type\":\"cumulative\",\"unit\":\"seconds\",\"base\":10,\"exponent\":-9,\"value\":8,\"delta\":8,\"rate\":4.000}");
	expect("vcpu_statistics/halt_exits", "nothing");
	expect("vm_statistics/online_vcpus/value", "1");
	/* As if there were two vCPUs. */
	fixture.tracked.model.group[SCOPE_VCPU].num_members = 2;
	json_renderer.sample(&fixture.output, &fixture.tracked);
	expect_head(&fixture, "sample");
	expect("vcpu_statistics/state", "nothing");
	expect("vcpu_statistics/state_since_ns", "nothing");
	expect("vcpu_statistics/exit_reason_ns/value", "8");
	json_renderer.summary(&fixture.output, &fixture.tracked, "ended");
	expect_head(&fixture, "summary");
	expect("time/value", "1234567890000001");
	expect("ending", "\"ended\"");
	expect("watched/value", "2000000000");
	expect("vcpu_statistics/exits/rate", "500.000");
	expect("vcpu_statistics/halt_exits/delta", "0");
	expect("vcpu_statistics/halt_wait_ns", "nothing");
	tear_down(&fixture);
}

/* Each line of the text's table, looked up in the JSON. */
static void check_agreement(char *text)
{
	char name[64], type[64], raw[64];
	struct json_object *statistic, *value;
	unsigned int count = 0;
	char *line, *next;

	for (line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		char *path;

		if (sscanf(line, "%63s %63[0-9] %63s", name, raw, type) != 3)
			continue;
		path = xasprintf("/statistics/%s", name);
		count++;
		check(!json_pointer_get(parsed, path, &statistic) &&
		      (json_object_object_get_ex(statistic, "value", &value) ||
		       json_object_object_get_ex(statistic, "count", &value)) &&
		      !strcmp(json_object_get_string(value), raw),
		      "text and JSON agree: %s is %s", name, raw);
		check(json_object_object_get_ex(statistic, "type", &value) &&
		      !strcmp(json_object_get_string(value), type),
		      "text and JSON agree: %s is %s", name, type);
		free(path);
	}
	check_number(count, ARRAY_SIZE(vcpu_stats) - 1, "text and JSON agree: all statistics");
}

static void test_show(void)
{
	struct shares shares = {
		.known = { [SHARE_READY] = true, }, .part = { [SHARE_READY] = 0.25, },
	};
	struct fixture fixture;
	struct subject subject = { .vm = &fixture.vm, .id = "kvm-312", .scope = SCOPE_VCPU, };
	struct group *group;
	uint64_t *values;
	char *text;
	size_t i;

	set_up(&fixture);
	values = image_values(&fixture.vcpu_image);
	for (i = 0; i < fixture.vcpu.file.schema->num_values; i++)
		values[i] = 1000 + i;
	values[NS] = UINT64_MAX;
	values[STATE] = 1;
	fixture_sample(&fixture, 1);
	group = &fixture.tracked.model.group[SCOPE_VCPU];
	text_renderer.group(&fixture.output, &subject, group);
	fflush(fixture.output.file);
	text = xasprintf("%s", fixture.text);
	fixture_rewind(&fixture);

	json_renderer.group(&fixture.output, &subject, group);
	expect_head(&fixture, "statistics");
	expect("scope", "\"vcpus\"");
	expect("vcpu", "nothing");
	expect("statistics/halt_wait_ns/value", "18446744073709551615");
	expect("statistics/strange",
	       "{\"type\":\"type-15\",\"unit\":\"unit-15\",\"base\":null,\"exponent\":0,\"value\":1004}");
	expect("statistics/wait_hist/count", "4026");
	expect("statistics/wait_hist/buckets/2", "{\"from\":2,\"to\":4,\"count\":1007}");
	expect("statistics/wait_hist/buckets/3",
	       "{\"from\":4,\"to\":null,\"count\":1008}");
	expect("statistics/wait_hist/buckets/4", "nothing");
	expect("statistics/wait_hist/buckets/0/name", "nothing");
	expect("statistics/wait_hist/name", "nothing");
	expect("statistics/exit_reasons/count", "4042");
	expect("statistics/exit_reasons/buckets",
	       "[{\"name\":\"interrupt\",\"count\":1009},{\"name\":\"io\",\"count\":1010},{\"name\":null,\"count\":1011},{\"name\":\"other\",\"count\":1012}]");
	expect("statistics/state/value", "1");
	expect("statistics/state/name", "\"host\"");
	expect("statistics/exits/name", "nothing");
	expect("statistics/state_since_ns/value", "1014");
	expect("statistics/exit_reason_ns",
	       "{\"type\":\"cumulative\",\"unit\":\"seconds\",\"base\":10,\"exponent\":-9,\"value\":3048,\"values\":[{\"name\":\"interrupt\",\"value\":1015},{\"name\":null,\"value\":1016},{\"name\":\"other\",\"value\":1017}]}");
	expect("statistics/exits/values", "nothing");
	check_agreement(text);
	free(text);

	/* Two vCPUs together, as far as the group knows. */
	group->num_members = 2;
	json_renderer.group(&fixture.output, &subject, group);
	expect_head(&fixture, "statistics");
	expect("statistics/state", "nothing");
	expect("statistics/state_since_ns", "nothing");
	expect("statistics/exit_reason_ns/value", "3048");
	group->num_members = 1;
	group->value[STATE] = 2;
	json_renderer.group(&fixture.output, &subject, group);
	expect_head(&fixture, "statistics");
	expect("statistics/state/name", "null");

	subject.vcpu = &fixture.vcpu;
	json_renderer.group(&fixture.output, &subject, group);
	expect_head(&fixture, "statistics");
	expect("scope", "\"vcpu\"");
	expect("vcpu", "7");
	expect("interval", "nothing");
	expect("shares", "nothing");
	subject.look_ns = 250000000;
	subject.shares = &shares;
	json_renderer.group(&fixture.output, &subject, group);
	expect_head(&fixture, "statistics");
	expect("interval",
	       "{\"value\":250000000,\"unit\":\"seconds\",\"base\":10,\"exponent\":-9}");
	expect("shares", "{\"ready\":0.250,\"source\":\"kvm\"}");
	shares.known[SHARE_READY] = false;
	json_renderer.group(&fixture.output, &subject, group);
	expect_head(&fixture, "statistics");
	expect("shares", "null");
	tear_down(&fixture);
}

static void test_histogram(void)
{
	uint64_t values[TIMES + 3] = { [HIST + 1] = 98, [HIST + 3] = 2, };
	const struct statsfile_desc *desc;
	struct histogram histogram;
	struct fixture fixture;
	struct subject subject;

	set_up(&fixture);
	desc = &fixture.vcpu.file.schema->desc[HIST];
	subject = (struct subject) { .vm = &fixture.vm, .id = "kvm-312", };
	histogram = histogram_of(desc, values);
	json_renderer.histogram(&fixture.output, &subject, &histogram);
	expect_head(&fixture, "histogram");
	expect("scope", "\"vm\"");
	expect("statistic", "\"wait_hist\"");
	expect("histogram/unit", "\"seconds\"");
	expect("histogram/exponent", "-9");
	expect("histogram/count", "100");
	expect("histogram/percentiles",
	       "{\"p50\":{\"from\":1,\"to\":2},\"p90\":{\"from\":1,\"to\":2},\"p99\":{\"from\":4,\"to\":null},\"max\":{\"from\":4,\"to\":null}}");
	expect("histogram/buckets/1/count", "98");
	memset(values, 0, sizeof(values));
	histogram = histogram_of(desc, values);
	json_renderer.histogram(&fixture.output, &subject, &histogram);
	expect_head(&fixture, "histogram");
	expect("histogram/percentiles/max", "null");
	values[REASONS + 3] = 7;
	histogram = histogram_of(&fixture.vcpu.file.schema->desc[HIST + 1], values);
	json_renderer.histogram(&fixture.output, &subject, &histogram);
	expect_head(&fixture, "histogram");
	expect("histogram",
	       "{\"type\":\"linear-hist\",\"unit\":null,\"base\":10,\"exponent\":0,\"count\":7,\"buckets\":[{\"name\":\"interrupt\",\"count\":0},{\"name\":\"io\",\"count\":0},{\"name\":null,\"count\":0},{\"name\":\"other\",\"count\":7}]}");
	tear_down(&fixture);
}

int main(void)
{
	time_source = &test_time;
	test_list();
	test_document();
	test_activity();
	test_watch();
	test_show();
	test_histogram();
	return tap_end();
}
