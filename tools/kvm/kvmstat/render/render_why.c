// SPDX-License-Identifier: GPL-2.0
/*
 * Says in a sentence why a VM is slow, and prints tables of its exits.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/why.h"
#include "render/render.h"
#include "util/text.h"
#include "util/util.h"

/* Rows of exits below the sentence. */
#define SOME_ROWS 3

static double percent(const struct tracked_vm *vm, enum share share)
{
	return 100 * vm->rates.shares.part[share];
}

/* Names the reason that takes most time; without times the most frequent one. */
static char *describe_top(const struct exits *exits)
{
	const struct exit_row *top = exits->row;

	if (exits->count && exits->total_ns)
		return xasprintf("; %s takes %.0f%% of that time", top->name,
				 100.0 * top->ns / exits->total_ns);
	if (exits->count && exits->total)
		return xasprintf("; %s causes %.0f%% of these exits", top->name,
				 100.0 * top->count / exits->total);
	return xasprintf("%s", "");
}

static char *describe_starved(const struct tracked_vm *vm)
{
	double ready = vm->rates.shares.part[SHARE_READY];
	const char *why = ", because other tasks use the CPUs";

	if (vm->throttled >= ready / 2)
		why = ", because its cgroup has used up its CPU quota (cpu.max)";
	else if (!vm->threads_ns)
		why = "";
	return xasprintf("starved of CPU: its vCPUs wait for a CPU %.0f%% of the time%s",
			 percent(vm, SHARE_READY), why);
}

static char *describe_exits(const struct tracked_vm *vm)
{
	struct exits exits;
	char *top, *text, rate[FORMAT_SIZE];

	exits_find(&exits, vm);
	top = describe_top(&exits);
	format_count_rate(rate, vm->rates.per_second[RATE_EXITS]);
	text = vm->rates.known[RATE_EXITS] ?
		xasprintf("busy with exits: KVM spends %.0f%% of the vCPUs' time on %s exits/s%s",
			  percent(vm, SHARE_KVM), rate, top) :
		xasprintf("busy with exits: KVM spends %.0f%% of the vCPUs' time on them",
			  percent(vm, SHARE_KVM));
	free(exits.row);
	free(top);
	return text;
}

/* The average time of an exit to the VMM; 0 if it is not known. */
static uint64_t time_in_vmm(const struct tracked_vm *vm, uint64_t num_exits)
{
	if (!num_exits || !vm->rates.shares.known[SHARE_VMM] || vm->rates.shares.by_cpu)
		return 0;
	return vm->rates.shares.part[SHARE_VMM] * vm->elapsed_ns * vm->num_vcpus / num_exits;
}

static char *describe_vmm(const struct tracked_vm *vm)
{
	char *top, *text, each[2 * FORMAT_SIZE] = "", time[FORMAT_SIZE];
	struct exits exits;

	exits_find_user(&exits, vm);
	top = describe_top(&exits);
	if (time_in_vmm(vm, exits.total)) {
		format_duration(time, time_in_vmm(vm, exits.total));
		sprintf(each, ", %s per exit", time);
	}
	text = xasprintf("waiting for its VMM: its vCPUs spend %.0f%% of their time in the VMM%s%s",
			 percent(vm, SHARE_VMM), each, top);
	free(exits.row);
	free(top);
	return text;
}

static char *describe(const struct tracked_vm *vm)
{
	switch (why_of_vm(vm)) {
	case WHY_ENDED:
		return xasprintf("ended");
	case WHY_STOPPED:
		return xasprintf("stopped by a signal, a debugger or a frozen cgroup");
	case WHY_PAUSED:
		return xasprintf("paused: its VMM runs no vCPU (as after QMP's stop)");
	case WHY_IDLE:
		return xasprintf("idle: its vCPUs are halted %.0f%% of the time",
				 percent(vm, SHARE_IDLE));
	case WHY_OFF:
		return xasprintf("idle, or waiting for something: its vCPUs need no CPU %.0f%% of "
				 "the time, and /proc does not say why", percent(vm, SHARE_OFF));
	case WHY_BUSY:
		return xasprintf("busy with its own work: its vCPUs run the guest %.0f%% of the time",
				 percent(vm, SHARE_GUEST));
	case WHY_VMM:
		return describe_vmm(vm);
	case WHY_EXITS:
		return describe_exits(vm);
	case WHY_WAITS:
		return xasprintf("waiting for memory or a lock of the host: its vCPUs sleep in KVM "
				 "%.0f%% of the time (swap, postcopy, userfaultfd)",
				 percent(vm, SHARE_WAIT));
	case WHY_STARVED:
		return describe_starved(vm);
	default:
		return xasprintf("of unknown state: %s", vm->elapsed_ns ?
				 "the kernel does not say how it spends its time" :
				 "this is its first sample");
	}
}

/* CPUs that threads other than the vCPUs use: name them from this part of a CPU on. */
#define MUCH_OTHER 0.2

char *why_sentence(const struct tracked_vm *vm)
{
	char *what = describe(vm), *text, other[64] = "";

	if (vm->has_other && vm->other >= MUCH_OTHER)
		snprintf(other, sizeof(other), "; its VMM's other threads use %.0f%% of a CPU",
			 100 * vm->other);
	text = xasprintf("%s (pid %d) %s %s%s.", vm->name, vm->pid, vm->ended ? "has" : "is", what,
			 other);
	free(what);
	return text;
}

/* Frees the text. */
static void print_sentence(const struct output *output, char *text)
{
	print_wrapped(output->file, text, output->width > 4 ? output->width - 2 : UINT_MAX, 2);
	fputc('\n', output->file);
	free(text);
}

static void print_exits(const struct output *output, const char *title,
			const struct exits *exits, uint64_t elapsed_ns, size_t most)
{
	struct column columns[] = {
		{ .title = title, .left = true, .least = 20, .shortens = true, },
		{ .title = "PER SECOND", },
		{ .title = "% OF EXITS", },
		{ .title = "% OF KVM TIME", .drop = 9, .absent = !exits->has_times, },
		{ .title = "AVERAGE", .least = 8, .drop = 8, .absent = !exits->has_times, },
	};
	struct table table = { .column = columns, .num_columns = ARRAY_SIZE(columns), };
	char text[FORMAT_SIZE];
	size_t i;

	for (i = 0; i < exits->count && i < most; i++) {
		table_add(&table, "%s", exits->row[i].name);
		format_count_rate(text, rate_per_second(exits->row[i].count, elapsed_ns));
		table_add(&table, "%s", text);
		table_add(&table, "%.1f", exits->total ?
			  100.0 * exits->row[i].count / exits->total : 0);
		table_add(&table, "%.1f", exits->total_ns ?
			  100.0 * exits->row[i].ns / exits->total_ns : 0);
		strcpy(text, "-");
		if (exits->row[i].count)
			format_duration(text, exits->row[i].ns / exits->row[i].count);
		table_add(&table, "%s", text);
	}
	if (exits->count) {
		table_fit(&table, output->width);
		table_print(&table, output->file);
	}
	table_free(&table);
}

static void print_all_exits(const struct output *output, const struct tracked_vm *vm, size_t most)
{
	struct exits exits;
	char time[FORMAT_SIZE], *text;

	exits_find(&exits, vm);
	print_exits(output, "EXITS", &exits, vm->elapsed_ns, most);
	free(exits.row);
	exits_find_user(&exits, vm);
	print_exits(output, "EXITS TO THE VMM", &exits, vm->elapsed_ns, most);
	free(exits.row);
	if (!exits.total || most != SIZE_MAX)
		return;
	format_duration(time, time_in_vmm(vm, exits.total));
	if (time_in_vmm(vm, exits.total))
		text = xasprintf("KVM does not time these by reason; each takes %s on average",
				 time);
	else
		text = xasprintf("KVM does not time these by reason");
	print_sentence(output, text);
}

void render_why(struct output *output, const struct overviews *overviews)
{
	const struct tracked_vm *vm = *overviews->vm;
	enum why why = why_of_vm(vm);
	size_t i;

	for (i = 0; i < overviews->num_vms; i++)
		print_sentence(output, why_sentence(overviews->vm[i]));
	if (overviews->num_vms > 1 || why != WHY_ENDED)
		text_renderer.overviews(output, overviews);
	if (overviews->num_vms == 1 && (why == WHY_EXITS || why == WHY_VMM))
		print_all_exits(output, vm, SOME_ROWS);
}

void render_exits(struct output *output, const struct tracked_vm *vm)
{
	char count[FORMAT_SIZE];

	if (output->num_shown++)
		fputc('\n', output->file);
	format_count_rate(count, vm->rates.per_second[RATE_EXITS]);
	print_sentence(output, xasprintf("%s (pid %d): %s exits/s over %.1f s", vm->name, vm->pid,
					 vm->rates.known[RATE_EXITS] ? count : "-",
					 (double)vm->elapsed_ns / NSEC_PER_SEC));
	print_all_exits(output, vm, SIZE_MAX);
}
