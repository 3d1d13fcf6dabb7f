// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat why and exits: the state of a VM in a word and in a sentence, and its exits.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "model/why.h"
#include "render/render.h"
#include "sources/proc_threads.h"
#include "tap.h"
#include "util/util.h"

#define PARTS(...) { .known = { true, true, true, true, true, true, }, .part = { __VA_ARGS__ }, }

static void test_words(void)
{
	static const struct {
		struct shares shares;
		enum why why;
	} cases[] = {
		{ PARTS(0.29, 0.04, 0, 0.67), WHY_STARVED, },
		{ PARTS(0.49, 0.48, 0, 0.03), WHY_EXITS, },
		{ PARTS(0.30, 0.41, 0.26, 0.03), WHY_VMM, },
		{ PARTS(0.30, 0.05, 0.01, 0, 0.64), WHY_WAITS, },
		{ PARTS(0.35, 0.46, 0, 0.19), WHY_EXITS, },
		{ PARTS(0, 0.01, 0.87, 0.12), WHY_VMM, },
		{ PARTS(0.70, 0.17, 0, 0.13), WHY_STARVED, },
		{ PARTS(0, 0, 0, 0.2, 0.8), WHY_WAITS, },
		{ PARTS(0.98, 0.01, 0, 0.01), WHY_BUSY, },
		{ PARTS(0.02, 0.01, 0, 0.01, 0, 0.96), WHY_IDLE, },
		{ { .known = { true, true, true, true, [SHARE_OFF] = true, },
		    .part[SHARE_OFF] = 0.99, }, WHY_OFF, },
		{ { .known = { [SHARE_READY] = true, }, .part[SHARE_READY] = 0.5, }, WHY_STARVED, },
		{ { .known = { [SHARE_READY] = true, }, }, WHY_UNKNOWN, },
	};
	struct tracked_vm vm = { .activity = ACTIVITY_PAUSED, };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_text(why_names[why_of_shares(&cases[i].shares)], why_names[cases[i].why],
			   why_names[cases[i].why]);
	check(why_of_vm(&vm) == WHY_PAUSED, "a paused VM is paused, whatever its shares are");
	vm.activity = ACTIVITY_STOPPED;
	check(why_of_vm(&vm) == WHY_STOPPED, "a stopped VM is stopped");
	vm.ended = true;
	check(why_of_vm(&vm) == WHY_ENDED, "a VM that has ended is ended, even if it was stopped");
	check(why_rank(WHY_STARVED, &cases[11].shares) < why_rank(WHY_STARVED, &cases[0].shares) &&
	      why_rank(WHY_WAITS, &cases[3].shares) < why_rank(WHY_STARVED, &cases[11].shares),
	      "the worst state ranks highest; in one state, the largest share");
}

static const struct image_stat vm_stats[] = {
	STAT_BOOL("time_accounting"),
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	{ .name = "io_exits", },
	STAT_REASONS("exit_reasons", 3, "hlt", "io", "cpuid"),
	STAT_REASON_NS("exit_reason_ns", 3, "hlt", "io", "cpuid"),
	{
		.name = "user_exits",
		.size = 2,
		.value_names = (const char * const []) { "io", "mmio", NULL, },
	},
	{},
};

enum { EXITS, IO_EXITS, REASONS, REASON_NS = REASONS + 3, USER = REASON_NS + 3, };

static void set_up(struct fixture *fixture, bool accounting)
{
	struct tracked_vm *vm = &fixture->tracked;
	uint64_t *values;

	fixture_set_up(fixture, "db", vm_stats, vcpu_stats);
	image_values(&fixture->vm_image)[0] = accounting;
	fixture_sample(fixture, 1);
	values = image_values(&fixture->vcpu_image);
	values[EXITS] = 2000;
	values[IO_EXITS] = 500;
	values[REASONS + 1] = 500;
	values[REASONS + 2] = 1500;
	values[REASON_NS + 1] = 3000000;
	values[REASON_NS + 2] = 1000000;
	values[USER] = 490;
	values[USER + 1] = 10;
	fixture_sample(fixture, 2);
	vm->has_rates = true;
	vm->elapsed_ns = NSEC_PER_SEC;
	vm->rates.known[RATE_EXITS] = true;
	vm->rates.per_second[RATE_EXITS] = 2000;
	accounting_find(&vm->accounting, fixture->vm.file.schema);
	vm->accounting_is_off = !accounting;
}

static void test_exits(void)
{
	const struct shares vmm = PARTS(0.3, 0.4, 0.3);
	struct fixture fixture;

	set_up(&fixture, true);
	fixture.tracked.rates.shares = vmm;
	render_exits(&fixture.output, &fixture.tracked);
	fixture_expect(&fixture, "why.txt",
		       "exits: the most expensive first, none without a count");
	fixture_tear_down(&fixture);
	set_up(&fixture, false);
	render_exits(&fixture.output, &fixture.tracked);
	fflush(fixture.output.file);
	check(strstr(fixture.text, "\ncpuid                      1500       75.0\nio   ") &&
	      !strstr(fixture.text, "KVM TIME"),
	      "exits: the most frequent first if no time is measured");
	check_contains(fixture.text, "98.0\nmmio                         10        2.0\n"
		       "KVM does not time these by reason\n",
		       "exits to the VMM: no time by reason");
	fixture_tear_down(&fixture);
}

static void check_sentence(const struct fixture *fixture, const struct shares *shares,
			   const char *name)
{
	struct tracked_vm vm = fixture->tracked;
	char *text;

	vm.rates.shares = *shares;
	text = why_sentence(&vm);
	check_golden("why.txt", name, text);
	free(text);
}

static void test_sentences(void)
{
	const struct shares starved = PARTS(0.29, 0.04, 0, 0.67), exits = PARTS(0.5, 0.5),
			    vmm = PARTS(0.3, 0.4, 0.3), idle = PARTS(0, 0, 0, 0, 0, 1);
	struct fixture fixture;
	struct tracked_vm *vm = &fixture.tracked;
	const struct tracked_vm *vms[] = { vm, vm, };
	struct overviews overviews = {
		.elapsed_ns = NSEC_PER_SEC, .vm = vms, .num_vms = 1, .is_list = true,
		.sorted_by = NUM_COLUMNS,
	};

	set_up(&fixture, true);
	vm->threads_ns = 1;
	check_sentence(&fixture, &starved, "starved by others");
	vm->throttled = 0.6;
	check_sentence(&fixture, &starved, "starved by a quota");
	check_sentence(&fixture, &exits, "exits");
	check_sentence(&fixture, &vmm, "its VMM");
	vm->has_other = true;
	vm->other = 1;
	check_sentence(&fixture, &idle, "an I/O thread that is busy");
	fixture.output.width = 80;
	vm->rates.shares = exits;
	render_why(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check_contains(fixture.text, "\n   PID STATE ", "why: with the figures");
	check_contains(fixture.text, "\nEXITS ", "why: with the exits");
	fixture_rewind(&fixture);
	fixture.output.num_shown = 0;
	overviews.num_vms = 2;
	render_why(&fixture.output, &overviews);
	fflush(fixture.output.file);
	check_contains(fixture.text, "\ndb (pid 312) is busy", "why: sentences of several VMs");
	check_contains(fixture.text, ".\n   PID STATE ", "why: then one table");
	fixture_rewind(&fixture);
	fixture_tear_down(&fixture);
}

static char *directory;

static void write_file(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", directory, name), *slash;
	FILE *file;

	for (slash = path + strlen(directory) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (!file)
		abort();
	fputs(text, file);
	fclose(file);
	free(path);
}

static void test_cgroup(void)
{
	char template[] = "/tmp/kvmstat-why-XXXXXX", *proc, *root, *command;
	struct cgroup_state state;

	directory = mkdtemp(template);
	proc = xasprintf("%s/proc", directory);
	root = xasprintf("%s/cgroup", directory);
	write_file("proc/7/task/8/cgroup", "1:cpu:/old\n0::/machine/db\n");
	write_file("cgroup/machine/db/cpu.stat", "usage_usec 9\nthrottled_usec 5\n");
	write_file("cgroup/machine/cpu.stat", "usage_usec 9\nthrottled_usec 70\n");
	write_file("cgroup/machine/db/cgroup.events", "populated 1\nfrozen 1\n");
	state = cgroup_read(proc, root, 7, 8);
	check(state.is_frozen && state.throttled_ns == 70000,
	      "cgroup: frozen, and throttled by the quota of its parent");
	write_file("proc/7/task/8/cgroup", "0::/../machine/db\n");
	state = cgroup_read(proc, root, 7, 8);
	check(!state.is_frozen && !state.throttled_ns,
	      "cgroup outside of the cgroup namespace: nothing is known");
	state = cgroup_read(proc, root, 7, 9);
	check(!state.is_frozen && !state.throttled_ns,
	      "cgroup of a thread that is gone: nothing is known");
	command = xasprintf("rm -r %s", directory);
	if (system(command))
		abort();
	free(command);
	free(proc);
	free(root);
}

int main(void)
{
	test_words();
	test_exits();
	test_sentences();
	test_cgroup();
	return tap_end();
}
