// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat top: all VMs of the host on a full screen. One loop waits for time, keys, signals and VMs
 * that come and go. The tracker samples, the view chooses lines, render_screen.c lays them out, and
 * terminal.c draws them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "commands/command.h"
#include "model/tracker.h"
#include "render/screen.h"
#include "render/terminal.h"
#include "render/view.h"
#include "sources/replay.h"
#include "util/clock.h"
#include "util/util.h"

/* Show the first rates soon, however long the interval is. */
#define FIRST_INTERVAL_NS (NSEC_PER_SEC / 5)

struct top {
	struct tracker tracker;
	struct view view;
	struct screen screen;
	int signals;
	int user;			/* readable when there are signals or keys */
	uint64_t next_ns;		/* time of the next sample */
};

/* Receives signals by file descriptor, so that none interrupts a drawing. */
static int catch_all_signals(sigset_t *before)
{
	static const int caught[] = {
		SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH,
	};
	sigset_t set;
	int signals = open_signals(caught, ARRAY_SIZE(caught), &set);

	sigprocmask(SIG_BLOCK, &set, before);
	return signals;
}

static int open_user(int signals)
{
	struct epoll_event of_signals = { .events = EPOLLIN, .data.fd = signals, };
	struct epoll_event of_keys = { .events = EPOLLIN, .data.fd = STDIN_FILENO, };
	int user = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_ctl(user, EPOLL_CTL_ADD, signals, &of_signals) ||
	    epoll_ctl(user, EPOLL_CTL_ADD, STDIN_FILENO, &of_keys)) {
		print_error("epoll: %s", strerror(errno));
		return -1;
	}
	return user;
}

static void handle_signals(struct top *top)
{
	struct signalfd_siginfo info;

	while (read(top->signals, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGTSTP:
			terminal_suspend();
			break;
		case SIGCONT:
		case SIGWINCH:
			terminal_resize();
			break;
		default:
			top->view.quit = true;
		}
	}
}

static int take_sample(struct top *top)
{
	struct timespec real;
	int ret;

	ret = tracker_sample(&top->tracker);
	real = time_source->real();
	top->view.real_ns = real.tv_sec * NSEC_PER_SEC + real.tv_nsec;
	return ret;
}

static void handle_keys(struct top *top)
{
	uint64_t interval_ns = top->view.interval_ns;
	unsigned int press;

	while (!top->view.quit && (press = terminal_press()) != PRESS_NONE)
		view_press(&top->view, press);
	if (top->view.interval_ns != interval_ns)
		top->next_ns = monotonic_ns() + top->view.interval_ns;
}

/* In a recording, first take the sample before: then rates are known at once. */
static int first_sample(struct top *top)
{
	size_t position = top->view.replayed ? replay_recording()->position : 0;
	int ret;

	if (position && !replay_jump(position - 1))
		return -EINVAL;
	ret = take_sample(top);
	return ret || !position || !replay_step() ? ret : take_sample(top);
}

static int sample(struct top *top)
{
	bool first = !top->tracker.scanned;
	uint64_t now_ns = monotonic_ns();
	uint64_t interval_ns = top->view.interval_ns;
	int ret = 0;

	/* The last sample of a recording stays. */
	if (first)
		ret = first_sample(top);
	else if (top->view.replayed && !replay_step())
		top->view.paused = true;
	else
		ret = take_sample(top);
	if (first && !top->view.replayed && interval_ns > FIRST_INTERVAL_NS)
		interval_ns = FIRST_INTERVAL_NS;
	top->next_ns = now_ns + interval_ns;
	view_update(&top->view);
	return ret;
}

static void handle_user(struct top *top)
{
	struct epoll_event events[2];
	int i, count = epoll_wait(top->user, events, ARRAY_SIZE(events), 0);

	for (i = 0; i < count; i++) {
		if (events[i].data.fd == top->signals)
			handle_signals(top);
		else if (events[i].events & (EPOLLHUP | EPOLLERR))
			top->view.quit = true;
		else
			handle_keys(top);
	}
}

/* A recording stands still while top waits. */
static void wait_for_something(struct top *top)
{
	uint64_t end_ns = top->view.paused ? UINT64_MAX : top->next_ns;

	if (top->view.replayed) {
		machine_time.pause_until(top->user, -1, end_ns);
	} else {
		top->tracker.stands_still = top->view.paused;
		tracker_wait(&top->tracker, top->user, end_ns);
		/* The VM may have ended, or have more vCPUs. */
		view_update(&top->view);
	}
	handle_user(top);
}

static int loop(struct top *top)
{
	int ret = 0;

	while (!ret && !top->view.quit) {
		if (!top->view.paused && monotonic_ns() >= top->next_ns)
			ret = sample(top);
		terminal_fit(&top->screen);
		render_screen(&top->screen, &top->view);
		terminal_draw(&top->screen);
		wait_for_something(top);
	}
	return ret;
}

static struct inventory *noted;
static void (*print_line)(const char *text);

/* The next sample draws over an error line, so it is also a message on the screen. */
static void note_error(const char *text)
{
	print_line(text);
	inventory_add_note(noted, xasprintf("%s", text));
	if (noted->num_printed + 1 == noted->num_problems)
		noted->num_printed++;
}

int run_top(struct inventory *inventory, uint64_t interval_ns)
{
	struct top top = {};
	sigset_t before;
	int ret;

	top.signals = catch_all_signals(&before);
	top.user = open_user(top.signals);
	if (top.user < 0)
		return STATUS_ERROR;
	if (terminal_open()) {
		print_error("the terminal '%s' cannot be drawn on", getenv("TERM") ?: "");
		close(top.user);
		close(top.signals);
		return STATUS_ERROR;
	}
	if (confine(USE_TERMINAL) != STATUS_OK)
		return STATUS_ERROR;
	tracker_init(&top.tracker, inventory);
	top.tracker.reads_threads = true;
	view_init(&top.view, &top.tracker, interval_ns);
	/* Errors are printed after the screen is closed. */
	top.view.quit = find_chosen(inventory, false) != STATUS_OK;
	top.view.replayed = replay_recording();
	noted = inventory;
	print_line = error_printer;
	error_printer = note_error;
	ret = loop(&top);
	error_printer = print_line;
	terminal_close();
	if (ret)
		print_error("%s: %s", inventory->source->where, strerror(-ret));
	screen_free(&top.screen);
	view_free(&top.view);
	tracker_free(&top.tracker);
	close(top.user);
	close(top.signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret ? STATUS_ERROR : STATUS_OK;
}

static int parse_top_interval(const struct options *options, uint64_t *interval_ns)
{
	if (options->num_arguments && parse_seconds(options->argument[0], VIEW_MIN_INTERVAL_NS,
						    VIEW_MAX_INTERVAL_NS, interval_ns))
		return usage_error("'%s' is not an interval of 0.1 to 60 seconds",
				   options->argument[0]);
	if (options->num_arguments > 1)
		return usage_error("top: unexpected argument '%s'", options->argument[1]);
	return STATUS_OK;
}

int command_top(int argc, char **argv)
{
	uint64_t interval_ns = NSEC_PER_SEC;
	struct inventory inventory;
	struct options options;
	int status;

	status = parse_options(COMMAND_TOP, argc, argv, &options);
	if (status == STATUS_OK && !options.help)
		status = take_vms(&options, 0, true);
	if (status == STATUS_OK)
		status = parse_top_interval(&options, &interval_ns);
	if (status != STATUS_OK || options.help)
		return status;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		print_error("top needs a terminal; for lines of text use kvmstat INTERVAL");
		return STATUS_ERROR;
	}
	status = open_inventory(&inventory, &options.choice);
	if (status == STATUS_OK)
		status = run_top(&inventory, interval_ns);
	print_problems(&inventory);
	if (status == STATUS_OK)
		status = inventory_status(&inventory);
	inventory_free(&inventory);
	return status;
}
