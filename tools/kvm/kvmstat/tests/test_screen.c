// SPDX-License-Identifier: GPL-2.0
/*
 * The screen of kvmstat top, without a terminal: what is drawn where, what keys change,
 * screens of every size.
 */
#include <stdio.h>
#include <string.h>

#include "../render_screen.h"
#include "../util.h"
#include "tap.h"

static const struct statsfile_desc io_exits = { .name = "io_exits", .size = 1, };

static struct tracked_vm vms[] = {
	{ .pid = 10, .name = "web", .id = "kvm-10", .has_statistics = true, .has_rates = true,
	  .num_vcpus = 2, .rates = {
		.known = { true, true, false, }, .per_second = { 100, 5, }, .top = &io_exits,
	  }, },
	{ .pid = 7, .name = "db", .id = "kvm-7", .has_statistics = true, .has_rates = true,
	  .num_vcpus = 4, .rates = {
		.known = { true, true, false, }, .per_second = { 900, 1, },
	  }, },
	{ .pid = 30, .name = "closed", .id = "-", .num_vcpus = 1, },
	{ .pid = 8, .name = "gone", .id = "kvm-8", .has_statistics = true, .ended = true,
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

/* Without the blanks at the end; Unicode is off. */
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
	static const char header[] =
		"    PID NAME         VCPU EXITS/sv  HALTS/s    INJ/s TOP REASON       LAST MIN";

	set_up();
	draw(10, 80);
	check_contains(line_of(0), "kvmstat: 4 VMs, 7 vCPUs, 1000 exits/s  ",
		       "title: what has ended is not added");
	check_text(line_of(0) + 80 - strlen("every 1 s"), "every 1 s", "state, on the right");
	check_text(line_of(1), header, "header");
	check_text(line_of(2), "      7 db              4      900        1        - -",
		   "a VM without a reason, and what is not counted");
	check_text(line_of(3), "     10 web             2      100        5        - io_exits",
		   "a VM with fewer exits");
	check_text(line_of(4), "      8 gone            3        -        -        - ended",
		   "a VM that has ended");
	check_text(line_of(5), "     30 closed          1        -        -        - no statistics",
		   "a VM without statistics");
	check(screen.cell[2 * 80].style == STYLE_SELECTED, "the first line is selected");
	check(screen.cell[4 * 80].style == STYLE_FAINT, "what has ended is faint");
	check_contains(line_of(9), "q quit", "keys in the last line");
}

static void test_keys(void)
{
	set_up();
	press("r");
	draw(10, 80);
	check_contains(line_of(5), "db", "reversed");
	press("<<<");
	draw(10, 80);
	check(view.sort == VIEW_PID && view.ascending, "by pid");
	check_contains(line_of(2), "  7 db", "smallest pid first");
	press("jj");
	check(view.selected == &vms[0], "down twice: the third line");
	press(">");
	draw(10, 80);
	check(view.sort == VIEW_NAME && view.selected == &vms[0] && view_selected_line(&view) == 3,
	      "what is selected stays selected when the order changes");
	press("/WEb\r");
	check(view.num_vms == 1 && view.vm[0] == &vms[0], "filter by name");
	view_press(&view, PRESS_ESCAPE);
	press("/30");
	check(view.num_vms == 1 && view.vm[0] == &vms[2], "filter by pid");
	view_press(&view, PRESS_ESCAPE);
	press("/io_");
	check(view.num_vms == 1 && view.vm[0] == &vms[0], "filter by top reason");
	view_press(&view, PRESS_ESCAPE);
	press("/nothing");
	draw(10, 80);
	check_text(line_of(2), "No VM matches.", "filter that nothing passes");
	view_press(&view, PRESS_ENTER);
	view_press(&view, PRESS_ENTER);
	check(!view.inside, "then there is nothing to look into");
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
	check(view.inside == &vms[1], "screens of every size");
	set_up();
	draw(5, 80);
	view_press(&view, PRESS_END);
	draw(5, 80);
	check_contains(line_of(3), "closed", "the last one is scrolled to");
	check_contains(line_of(2), "gone", "after the one before");
}

static void test_sparkline(void)
{
	const double points[] = { -1, 0, 1, 50, 100, };

	screen_clear(&screen, 1, 5);
	screen_sparkline(&screen, 0, 0, points, ARRAY_SIZE(points));
	check_text(line_of(0), " _.=#", "bars: not known, none, little, half, most");
}

int main(void)
{
	test_list();
	test_keys();
	test_sizes();
	test_sparkline();
	view_free(&view);
	screen_free(&screen);
	return tap_end();
}
