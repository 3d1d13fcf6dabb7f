// SPDX-License-Identifier: GPL-2.0
/*
 * The screen of kvmstat top, without a terminal: its content, the effect of keys, screens of every
 * size.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "render/screen.h"
#include "tap.h"
#include "util/util.h"

static struct tracked_vm vms[] = {
	{ .pid = 10, .name = "web", .id = "kvm-10", .source = "vmm", .has_statistics = true,
	  .has_rates = true,
	  .num_vcpus = 2, .rates = {
		.known = { true, true, false, }, .per_second = { 100, 5, }, .top = "io_exits",
		.top_per_second = 62,
	  }, },
	{ .pid = 7, .name = "db", .id = "kvm-7", .source = "vmm", .has_statistics = true,
	  .has_rates = true,
	  .num_vcpus = 4, .rates = {
		.known = { true, true, false, }, .per_second = { 900, 1, },
	  }, },
	{ .pid = 30, .name = "closed", .id = "-", .source = "proc", .num_vcpus = 1, },
	{ .pid = 8, .name = "gone", .id = "kvm-8", .source = "vmm", .has_statistics = true,
	  .ended = true,
	  .num_vcpus = 3, .rates.per_second = { 50, }, },
};

static struct tracked_vm *tracked[] = { &vms[0], &vms[1], &vms[2], &vms[3], };
static struct tracker tracker = {
	.vm = tracked,
	.num_vms = ARRAY_SIZE(tracked),
	.sampled_ns = 1000 * NSEC_PER_SEC,
};

static struct screen screen;
static struct view view;

static void draw(unsigned int lines, unsigned int columns)
{
	screen.lines = lines;
	screen.columns = columns;
	render_screen(&screen, &view);
}

/* A line without trailing blanks. Unicode is off. */
static const char *line_of(unsigned int line)
{
	static char text[256];
	unsigned int i, length = 0;

	for (i = 0; i < screen.columns && i < sizeof(text) - 1; i++) {
		text[i] = screen.cell[line * screen.columns + i].character;
		if (text[i] != ' ')
			length = i + 1;
	}
	text[length] = '\0';
	return text;
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		view_press(&view, *keys);
}

static void set_up(void)
{
	view_free(&view);
	view_init(&view, &tracker, NSEC_PER_SEC);
	view_update(&view);
}

static void test_list(void)
{
	set_up();
	draw(10, 80);
	check_contains(line_of(0), "kvmstat: 3 VMs, 7 vCPUs, 1000 exits/s of 2 VMs  ",
		       "title: VMs that have ended do not count; exits of 2 VMs are known");
	check_text(line_of(0) + 80 - strlen("every 1 s"), "every 1 s", "state, on the right");
	check_text(line_of(1), "   PID VM     VCPU STATEv   EXITS/s  HALTS/s TOP REASON   SOURCE NAME",
		   "header");
	check_text(line_of(2), "     8 kvm-8     3 ended          -        - -            vmm    gone",
		   "a VM that has ended");
	check_text(line_of(3), "     7 kvm-7     4 -            900        1 -            vmm    db",
		   "a VM without a reason, and what is not counted");
	check_text(line_of(4), "    10 kvm-10    2 -            100        5 io_exits 62% vmm    web",
		   "a VM with fewer exits, and its top reason's share");
	check_text(line_of(5), "    30 -         1 -              -        - -            proc   closed",
		   "a VM without statistics");
	check(screen.cell[2 * 80].style == STYLE_SELECTED, "the first line is selected");
	press("j");
	draw(10, 80);
	check(screen.cell[2 * 80].style == STYLE_FAINT, "a VM that has ended is faint");
	check_contains(line_of(9), "q quit", "keys in the last line");
	vms[0].rates.per_second[RATE_EXITS] = 0;
	vms[1].rates.per_second[RATE_EXITS] = 0;
	vms[0].rates.known[RATE_EXITS] = false;
	vms[1].rates.known[RATE_EXITS] = false;
	draw(10, 80);
	check_contains(line_of(0), "kvmstat: 3 VMs, 7 vCPUs, - exits/s  ",
		       "title: exits that are not counted are not 0");
	vms[0].rates.known[RATE_EXITS] = true;
	draw(10, 80);
	check_contains(line_of(0), ", 0 exits/s of 1 VM  ", "title: a known 0 is shown as 0");
	draw(10, 40);
	check_contains(line_of(0), "3 VMs, 0 exits/s of 1 VM", "title: 40 columns");
	draw(10, 22);
	check_text(line_of(0), "0 exits/s of 1 VM", "title: 22 columns");
	vms[0].rates.per_second[RATE_EXITS] = 100;
	vms[1].rates.per_second[RATE_EXITS] = 900;
	vms[1].rates.known[RATE_EXITS] = true;
}

static void test_keys(void)
{
	set_up();
	press("r");
	draw(10, 80);
	check_contains(line_of(5), "gone", "reversed");
	press("r<<<");
	draw(10, 80);
	check(view.sort == COLUMN_PID && view.ascending, "by pid");
	check_contains(line_of(2), "  7 kvm-7 ", "smallest pid first");
	press("jj");
	check(view.selected == &vms[0], "down twice: the third line");
	press("<");
	draw(10, 80);
	check(view.sort == COLUMN_NAME && view.selected == &vms[0] &&
	      view_selected_line(&view) == 3,
	      "the selected VM stays selected when the order changes");
	press("/WEb\r");
	check(view.list[VIEW_HOST].count == 1 && view.vm[0] == &vms[0], "filter by name");
	view_press(&view, PRESS_ESCAPE);
	press("/30");
	check(view.list[VIEW_HOST].count == 1 && view.vm[0] == &vms[2], "filter by pid");
	view_press(&view, PRESS_ESCAPE);
	press("/io_");
	check(view.list[VIEW_HOST].count == 1 && view.vm[0] == &vms[0], "filter by top reason");
	view_press(&view, PRESS_ESCAPE);
	press("/nothing");
	draw(10, 80);
	check_text(line_of(2), "No VM matches.", "filter that nothing passes");
	view_press(&view, PRESS_ENTER);
	view_press(&view, PRESS_ENTER);
	check(!view.inside, "an empty list: Enter does nothing");
	press("q");
	check(view.quit, "q quits");
	set_up();
	press("+-----------");
	check_number(view.interval_ns, VIEW_MIN_INTERVAL_NS, "shortest interval");
	press("++++++++++++");
	check_number(view.interval_ns, VIEW_MAX_INTERVAL_NS, "longest interval");
}

static void test_sizes(void)
{
	unsigned int lines, columns;
	int mode;

	for (mode = 0; mode < 3; mode++) {
		set_up();
		view.help = mode == 1;
		if (mode == 2)
			view_press(&view, PRESS_ENTER);
		for (lines = 1; lines < 30; lines++) {
			for (columns = 1; columns < 130; columns++)
				draw(lines, columns);
		}
	}
	check(view.inside == &vms[3], "screens of every size");
	set_up();
	draw(5, 80);
	view_press(&view, PRESS_END);
	draw(5, 80);
	check_contains(line_of(3), "closed", "scrolling: the last VM is visible");
	check_contains(line_of(2), "web", "scrolling: after the VM before it");
}

/* Names that differ at their end, and the columns that are left out for them. */
static void test_names(void)
{
	struct tracked_vm saved = vms[0];
	unsigned int i;

	set_up();
	strcpy(vms[0].name, "instance-0000002a");
	strcpy(vms[1].name, "instance-0000002b");
	draw(12, 40);
	check_text(line_of(1), "   PID STATEv   EXITS/s NAME", "40 columns: the columns that remain");
	strcpy(vms[0].name, "B\303\274cher");
	screen.unicode = true;
	draw(12, 80);
	for (i = 0; i < 80 && screen.cell[4 * 80 + i].character != 0xfc; i++)
		;
	check(i < 79 && screen.cell[4 * 80 + i + 1].character == 'c',
	      "UTF-8: a character is a cell");
	screen.unicode = false;
	draw(12, 80);
	check_contains(line_of(4), "B?cher", "UTF-8: '?' if the terminal has none");
	strcpy(vms[0].name, saved.name);
	strcpy(vms[1].name, "db");
}

static void test_shares(void)
{
	const struct shares starved = {
		.known = { true, true, true, true, true, true, },
		.part = { 0.1, 0.02, 0, 0.87, 0, 0.01, },
	};
	const struct shares busy = {
		.known = { true, true, true, true, true, true, },
		.part = { 0.996, 0.004, 0, 0, 0, 0, },
	};
	const struct tracked_vm without[2] = { vms[0], vms[1], };

	strcpy(vms[0].name, "shop-production_checkout-frontend-7f9c8");
	vms[0].rates.shares = starved;
	vms[1].rates.shares = busy;
	set_up();
	press(">>>>>>");
	draw(12, 40);
	check_contains(line_of(1), " IDLE%v ", "sorted by IDLE%: the column is shown");
	press("?");
	draw(24, 80);
	check_text(line_of(0), "kvmstat top: keys and columns", "the help fits");
	draw(12, 40);
	check_text(line_of(0), "kvmstat top: help, Up and Down",
		   "40 columns: not all of the help");
	check_text(line_of(2), " Enter        look into a VM: why it is",
		   "40 columns: it is wrapped");
	view_press(&view, PRESS_END);
	draw(12, 40);
	check_contains(line_of(11), "not known yet", "End: the end of the help");
	press("kk");
	view_press(&view, PRESS_PAGE_UP);
	view_press(&view, PRESS_ENTER);
	press("j");
	draw(12, 40);
	check(view.level == VIEW_HOST && view.help_top > 10,
	      "k, j, Page Up: scroll the help, not the list behind it");
	view_press(&view, PRESS_HOME);
	view_press(&view, PRESS_UP);
	draw(12, 40);
	check_contains(line_of(2), "Enter", "Home: the beginning of the help");
	vms[0] = without[0];
	vms[1] = without[1];
	set_up();
	press(">");
	check(view.sort == COLUMN_RATES + RATE_EXITS,
	      "unknown shares: cannot be sorted by");
}

/* No message disappears before it was drawn. */
static void test_many_messages(struct inventory *inventory)
{
	static const char * const texts[] = { "one", "two", "three", "four", };
	static const char * const left[] = {
		"(4 more: press any key)", "(3 more: press any key)", "(2 more: press any key)",
		"(1 more: press any key)",
	};
	char *several[ARRAY_SIZE(texts)], **before = inventory->problem;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		several[i] = xasprintf("%s", texts[i]);
	inventory->problem = several;
	inventory->num_problems = ARRAY_SIZE(several);
	inventory->num_denied = 3;
	set_up();
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		draw(8, 80);
		check_text(line_of(5), texts[i], "several: one after the other");
		check_text(line_of(6), left[i], "several: how many are left");
		press("j");
	}
	draw(8, 80);
	check_contains(line_of(5), "3 processes may not", "several: denied processes come last");
	press("j");
	draw(8, 80);
	check_text(line_of(6), "", "several: none is left after the last one");
	inventory->num_problems = 1;
	draw(8, 80);
	check_text(line_of(6), "", "fewer problems than before: none is unread");
	inventory->num_denied = 0;
	inventory->problem = before;
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		free(several[i]);
}

static void test_messages(void)
{
	char text[] = "pid 7 (db): something";
	char *problem = text, *long_text;
	struct inventory inventory = { .problem = &problem, .num_problems = 1, };

	set_up();
	tracker.inventory = &inventory;
	draw(10, 80);
	check_text(line_of(8), problem, "a message has a line of its own");
	check_contains(line_of(9), "q quit", "a message: the keys stay below it");
	press("j");
	draw(10, 80);
	check_text(line_of(8), "", "a message: a key removes it");
	inventory.num_denied = 3;
	draw(10, 80);
	check_contains(line_of(7), "3 processes may not be looked into",
		       "two messages: the second comes after a key");
	press("j");
	draw(10, 80);
	check_text(line_of(8), "", "two messages: another key removes the second");
	tracker.num_vms = 0;
	view_update(&view);
	draw(10, 80);
	check_text(line_of(2), "No process that kvmstat may look into has a VM.",
		   "no VM, some processes are denied: it says so");
	inventory.is_hidden = true;
	set_up();
	draw(10, 80);
	press("j");
	draw(10, 80);
	check_contains(line_of(7), "/proc hides the processes of other users",
		       "hidepid: a message says so");
	inventory.is_hidden = false;
	tracker.num_vms = ARRAY_SIZE(tracked);
	inventory.num_denied = 0;
	test_many_messages(&inventory);
	long_text = xasprintf("pid 7 (db): something that is wrong, and that is said in more %s",
			      "words than are in one line");
	problem = long_text;
	set_up();
	draw(16, 40);
	check_text(line_of(12), "pid 7 (db): something that is wrong,",
		   "a long message has three lines");
	check_text(line_of(13), "and that is said in more words than are", "a long message is broken between words");
	check_text(line_of(14), "in one line", "a long message: its last line");
	check_contains(line_of(15), "q quit", "a long message: keys below it");
	draw(5, 40);
	check_contains(line_of(2), "something that is wrong,",
		       "a long message on a low screen: cut at half of it");
	check_contains(line_of(3), "in more words than are",
		       "a long message on a low screen: its second line");
	tracker.inventory = NULL;
	free(long_text);
}

static const struct image_stat no_stats[] = { {}, };

static const struct image_stat vcpu_stats[] = {
	{ .name = "never", },
	{ .name = "before", },
	{ .name = "exits", },
	{ .name = "io_exits", },
	STAT_NS("halt_wait_ns"),
	STAT_HIST_NS("halt_wait_hist", 4),
	STAT_REASONS("exit_reasons", 3, "interrupt", "never", "io"),
	STAT_REASON_NS("exit_reason_ns", 3, "interrupt", "never", "io"),
	STAT_STATE("state", "none", "guest", "exit"),
	{},
};

/* Samples a second in which the vCPU has counted. */
static void sample(struct model *model, const struct image *image, uint64_t second)
{
	static const uint64_t step[] = {
		0, 0, 200, 50, 3000000, 1, 0, 3, 0, 1, 0, 2, 500, 0, 1500, 1,
	};
	struct statsfile_error error;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(step); i++)
		image_values(image)[i] += step[i];
	if (model_sample(model, second * NSEC_PER_SEC, true, &error))
		abort();
	view_update(&view);
}

static void test_vcpu(void)
{
	struct tracked_vcpu vcpu = {
		.number = 3,
		.rates = { .known = { true, }, .per_second = { 200, }, },
	};
	struct tracked_vm *web = &vms[0];
	struct tracked_vm saved = *web;
	struct fixture fixture;
	struct image *image = &fixture.vcpu_image;

	fixture_set_up(&fixture, "web", no_stats, vcpu_stats);
	model_init(&web->model, &fixture.vm);
	web->vcpu = &vcpu;
	web->num_tracked_vcpus = 1;
	set_up();
	sample(&web->model, image, 1);
	press("jj");
	view_press(&view, PRESS_ENTER);
	check(view.level == VIEW_VM && view.inside == web, "into the VM");
	web->rates.shares = (struct shares) {
		.known = { true, true, true, true, }, .part = { 0.3, 0, 0, 0.7, },
	};
	draw(12, 80);
	check_text(line_of(1),
		   "web (pid 10) is starved of CPU: its vCPUs wait for a CPU 70% of the time.",
		   "VM: why it is slow");
	check_contains(line_of(2), "  VCPU STATE", "VM: then its vCPUs");
	check(screen.cell[2 * 80].style == STYLE_HEADER, "VM: below their header");
	draw(7, 80);
	check_contains(line_of(1), "  VCPU STATE", "VM: on a low screen only its vCPUs");
	web->rates.shares = (struct shares) {};
	view_press(&view, PRESS_ENTER);
	check(view.level == VIEW_VCPU && view_vcpu(&view) == &vcpu, "into its vCPU");
	sample(&web->model, image, 2);
	draw(12, 80);
	check_contains(line_of(0), "web, pid 10, kvm-10, vCPU 3  ", "vCPU: title");
	check_text(line_of(2),
		   "vcpu  exits           200/s   io_exits         50/s   halt_wait_hist    4/s",
		   "vCPU: what moves in it, the largest first");
	view_press(&view, PRESS_ENTER);
	check(view.level == VIEW_VCPU, "vCPU: Enter does nothing");
	web->ended = true;
	draw(12, 80);
	check_contains(line_of(0), "vCPU 3, ended ", "vCPU: the VM has ended");
	press("q");
	draw(12, 80);
	check_text(line_of(2), "     3 -              - -",
		   "a VM that has ended: its vCPUs have no rates either");
	press("q");
	check(view.level == VIEW_HOST && !web->model.focus.schema,
	      "out of the vCPU: its own statistics are dropped");
	press("j");
	view_press(&view, PRESS_ENTER);
	view_press(&view, PRESS_ENTER);
	tracker.num_vms = 0;
	view_update(&view);
	draw(12, 80);
	check_text(line_of(2), "No process has a VM.",
		   "a VM that is forgotten while it is shown: back to the list");
	tracker.num_vms = ARRAY_SIZE(tracked);
	model_free(&web->model);
	fixture_tear_down(&fixture);
	*web = saved;
}

/* Threads that only /proc shows: they cannot be entered. */
static void test_threads(void)
{
	struct tracked_vcpu threads[] = {
		{ .number = TRACKED_THREAD + 311, }, { .number = TRACKED_THREAD + 312, },
	};
	struct tracked_vm *web = &vms[0];
	struct tracked_vm saved = *web;

	web->has_statistics = false;
	web->vcpu = threads;
	web->num_tracked_threads = 2;
	set_up();
	press("jj");
	view_press(&view, PRESS_ENTER);
	draw(12, 80);
	check(view.level == VIEW_VM && strstr(line_of(2), "t311"), "threads: they have lines");
	view_press(&view, PRESS_ENTER);
	check(view.level == VIEW_VM, "threads: Enter does nothing");
	/* As if they had been vCPUs with statistics before. */
	web->num_tracked_vcpus = 1;
	web->num_tracked_threads = 1;
	view_update(&view);
	web->num_tracked_vcpus = 0;
	web->num_tracked_threads = 0;
	web->vcpu = NULL;
	view_update(&view);
	draw(12, 80);
	check(view.level == VIEW_VM, "threads: back to the VM when they are gone");
	set_up();
	*web = saved;
}

static void test_replay(void)
{
	setenv("TZ", "UTC", 1);
	set_up();
	view.replayed = true;
	view.real_ns = 1234567890 * NSEC_PER_SEC;
	draw(10, 100);
	check_contains(line_of(0), "2009-02-13 23:31:30, every 1 s", "replay: the time");
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	test_list();
	test_keys();
	test_sizes();
	test_names();
	test_shares();
	test_messages();
	test_vcpu();
	test_threads();
	test_replay();
	view_free(&view);
	screen_free(&screen);
	return tap_end();
}
