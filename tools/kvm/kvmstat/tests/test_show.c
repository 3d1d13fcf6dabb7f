// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat show: shares of time of all vCPUs of a VM, and of one vCPU, from KVM's accounting and
 * from /proc.
 */
#include <stdlib.h>
#include <string.h>

#include "commands/command.h"
#include "guests.h"
#include "output.h"
#include "render/render.h"
#include "tap.h"
#include "util/clock.h"

static const struct image_stat vm_stats[] = {
	STAT_LEVEL("online_vcpus"),
	STAT_LEVEL("time_accounting"),
	STAT_LEVEL("ready_accounting"),
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	STAT_NS("time_guest_ns"),
	STAT_NS("time_exit_ns"),
	STAT_NS("time_user_ns"),
	STAT_NS("ready_ns"),
	STAT_NS("time_halt_ns"),
	STAT_HIST_NS("halt_wait_hist", 4),
	{},
};

enum { EXITS, GUEST, KVM, VMM, READY, IDLE, };

static uint64_t now_ns;
static unsigned int num_looks;
static struct proc_threads threads;

static uint64_t test_now_ns(void)
{
	return now_ns;
}

static struct timespec test_real(void)
{
	return (struct timespec) { .tv_sec = 1234567890, };
}

/* The first vCPU is busy, the second one is idle. */
static void spend(uint64_t ns)
{
	uint64_t *busy = guest_vcpu_values(&guests[0], 0);
	uint64_t *idle = guest_vcpu_values(&guests[0], 1);

	busy[EXITS] += 7;
	busy[GUEST] += ns / 2;
	busy[KVM] += ns / 4;
	busy[VMM] += ns / 8;
	busy[READY] += ns / 8;
	idle[READY] += ns / 4;
	idle[IDLE] += ns - ns / 4;
	threads.thread[0].times.guest_ns += ns / 5;
	threads.thread[1].times.kernel_ns += ns;
}

static enum event test_pause_until(int signals, int other, uint64_t end_ns)
{
	(void)signals;
	(void)other;
	num_looks++;
	spend(end_ns - now_ns);
	now_ns = end_ns;
	return EVENT_TIME;
}

static const struct time_source test_time = {
	.now_ns = test_now_ns,
	.real = test_real,
	.pause_until = test_pause_until,
	.interval.ns = NSEC_PER_SEC,
};

static int read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
			struct proc_threads *found)
{
	size_t i;

	(void)host;
	(void)pid;
	(void)num_vcpus;
	*found = (struct proc_threads) {};
	for (i = 0; i < threads.count; i++)
		proc_threads_add(found, &threads.thread[i]);
	return 0;
}

static struct host host;

static void set_up(void)
{
	const struct proc_times times = { .num_threads = 1, .has_ready = true, };
	const struct proc_thread vcpu[] = {
		{ .tid = 21, .vcpu = 0, .times = times, },
		{ .tid = 22, .vcpu = 1, .times = times, },
	};

	host = guests_host;
	host.read_threads = read_threads;
	guests[0] = (struct guest) { .pid = 10, .name = "web", .vm_stats = vm_stats,
				     .vcpu_stats = vcpu_stats, .vcpus = 2, };
	guests[1] = (struct guest) { .pid = 20, .name = "db", .vm_stats = vm_stats,
				     .vcpu_stats = vcpu_stats, .vcpus = 2, .closed = true, };
	guests[2] = (struct guest) { .pid = 30, .name = "held", .vm_stats = vm_stats,
				     .vcpu_stats = vcpu_stats, .vcpus = 2, .split = true, };
	guests_start();
	guest_vm_values(&guests[0])[1] = 1;
	guest_vm_values(&guests[0])[2] = 1;
	proc_threads_add(&threads, &vcpu[0]);
	proc_threads_add(&threads, &vcpu[1]);
	command_host = &host;
	time_source = &test_time;
	now_ns = 1000 * NSEC_PER_SEC;
}

static int status;

/* Checks for a line, and whether the command took time for a sample. */
static void check_show(const char *line, const char *expected, bool looks)
{
	char *output;

	num_looks = 0;
	output = output_of(command_show, line, &status);
	check_contains(output, expected, line);
	check(!!num_looks == looks, "%s: takes %s", line, looks ? "a sample" : "no time");
	free(output);
}

#define BUSY "GUEST% 50, KVM% 25, VMM% 12, READY% 12, WAIT% 0, IDLE% 0\n"
#define IDLE "GUEST% 0, KVM% 0, VMM% 0, READY% 25, WAIT% 0, IDLE% 75\n"

static void test_shares(void)
{
	check_show("show -p web -c 10", "web, pid 10, VM kvm-10, vCPU 10:\n  of 0.25 s: " BUSY
		   "statistic ", true);
	check_show("show -p 10 -c 11", "web, pid 10, VM kvm-10, vCPU 11:\n  of 0.25 s: " IDLE
		   "statistic ", true);
	check_show("show -p 10", "web (pid 10) is starved of CPU: its vCPUs wait for a CPU 19% "
		   "of the time, because other tasks use the CPUs.\n"
		   "   PID VM     VCPU STATE   GUEST% ", true);
	check_show("show -p 10",
		   "\n    10 kvm-10    2 starved     25   12    6     19     0    38 ", true);
	check_show("show -p 10", "\n\nweb, pid 10, sum of 2 vCPUs:\nstatistic ", true);
	check_show("show -p 10", "web, pid 10, VM kvm-10:\nstatistic ", true);
	/* With --stat, there are no shares. */
	check_show("show -p 10 -c 10 --stat ^exits", "vCPU 10:\nstatistic ", false);
	free(output_of(command_show, "hist -p 10 -c 10", &status));
	check(!num_looks && status == STATUS_OK, "hist: takes no time");
	check_show("show -p 10 -c 12", "pid 10 has no vCPU 12\n", true);
	check_number(status, STATUS_ERROR, "no such vCPU: status");
	guest_vm_values(&guests[0])[1] = 0;
	check_show("show -p 10 -c 11", "  of 0.25 s: READY% 25\n", true);
	guest_vm_values(&guests[0])[2] = 0;
	check_show("show -p 10 -c 11", "vCPU 11:\nstatistic ", true);
	guest_vm_values(&guests[0])[1] = 1;
	guest_vm_values(&guests[0])[2] = 1;
}

/* -c also selects the vCPU with an interval. */
static void test_vcpu_moves(void)
{
	char *output;

	check_show("show web -c 11 1 1", "1.0 s: web, pid 10, kvm-10, vCPU 11\nvcpu  time_halt_ns ",
		   true);
	check_show("show web -c 11 1 1", "web, pid 10, kvm-10, vCPU 11: still runs, ", true);
	output = output_of(command_show, "show web -c 11 1 2", &status);
	check(!strstr(output, "exits") && !strstr(output, "\nvm "),
	      "show -c with an interval: no other vCPU, and not the VM");
	free(output);
	check_show("show web -c 7 1", "no chosen VM has a vCPU 7", false);
}

/* Shares of a VM that has no statistics come from /proc. */
static void test_threads(void)
{
	static const char missing[] = "this kernel has no statistics files";

	check_show("show -p 20", missing, true);
	check_number(status, STATUS_ERROR, "no statistics: status");
	check_show("show -p db",
		   "db (pid 20) is busy with exits: KVM spends 50% of the vCPUs' time on them.\n"
		   "   PID VM VCPU STATE   GUEST% KVM% VMM% READY% OFF% ", true);
	check_show("show -p db -c 0", "db, pid 20, VM -, vCPU 0:\n"
		   "  of 0.25 s: GUEST% ~20, KVM% ~0, VMM% ~0, READY% ~0, OFF% ~80\n", true);
	check_show("show -p 20 -c 1", "of 0.25 s: GUEST% ~0, KVM% ~100,", true);
	check_show("show -p db -c 7", "has a vCPU 7 that kvmstat knows", true);
	check_show("show -p 20 --stat x", missing, false);
	check_show("show -p db -p web", "web, pid 10, sum of 2 vCPUs:\nstatistic ", true);
	check_number(status, STATUS_ERROR, "no statistics of one of two VMs: status");
	free(output_of(command_show, "hist -p db -p web", &status));
	check_number(status, STATUS_ERROR, "no statistics, histograms: status");
}

static void check_hist(const char *line, const char *expected, int expected_status)
{
	char *output = output_of(command_show, line, &status);

	check_contains(output, expected, line);
	check_number(status, expected_status, line);
	free(output);
}

/* Names, for a VM with windows and for one with a file per vCPU. */
static void test_names(void)
{
	static const char * const names[] = { "web", "held", };
	static const struct {
		const char *rest, *expected;
		int status;
	} hists[] = {
		{ "", ": halt_wait_hist, 0 values\n", STATUS_OK, },
		{ " halt_wait_hist 1 1", ": halt_wait_hist, 0 values in 1.0 s\n", STATUS_OK, },
		{ " exits", "there is no histogram 'exits'\n", STATUS_ERROR, },
		{ " --stat ^exits$", "there is no histogram whose name matches --stat\n",
		  STATUS_ERROR, },
		{ " --stat ^exits$ halt_wait_hist 1",
		  "there is no histogram whose name matches --stat\n", STATUS_ERROR, },
	};
	char *line;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		for (k = 0; k < ARRAY_SIZE(hists); k++) {
			line = xasprintf("hist -p %s%s", names[i], hists[k].rest);
			check_hist(line, hists[k].expected, hists[k].status);
			free(line);
		}
		line = xasprintf("show -p %s --stat ^exits$", names[i]);
		check_show(line, ", sum of 2 vCPUs:\nstatistic raw value type       unit value\n"
			   "exits ", false);
		check_number(status, STATUS_OK, "show --stat: status");
		free(line);
		line = xasprintf("hist -p %s --nonzero", names[i]);
		check_hist(line, "kvmstat: nothing was counted in these histograms\n", STATUS_OK);
		free(line);
		line = xasprintf("show -p %s --stat ^exit$", names[i]);
		check_show(line, "there is no statistic whose name matches --stat\n", false);
		check_number(status, STATUS_ERROR, "show --stat of nothing: status");
		free(line);
	}
}

/* The VM has no statistic that matches: no header. */
static void test_empty(void)
{
	check_show("show -p web --stat ^exits$", "web, pid 10, VM kvm-10:\n\nweb, pid 10, sum of ",
		   false);
}

static void test_formats(void)
{
#ifdef HAVE_JSON
	render = &csv_renderer;
	check_show("show -p 10 -c 10", "10,kvm-10,web,2,vcpu,10,exits,,10,0,cumulative,", true);
	check_show("show -p 10 -c 10",
		   ",,0.250000000,0.500,0.250,0.125,0.125,0.000,0.000,,kvm\r\n", true);
	check_show("show -p 10 -c 10 --stat x", "off,shares_source\r\n", false);
	render = &json_renderer;
	check_show("show -p 10 -c 11", "\"scope\":\"vcpu\",\"vcpu\":11,\"interval\":{"
		   "\"value\":250000000,\"unit\":\"seconds\",\"base\":10,\"exponent\":-9}", true);
	check_show("show -p 10 -c 11", "\"exponent\":-9},\"shares\":{"
		   "\"guest\":0.000,\"kvm\":0.000,\"vmm\":0.000,\"ready\":0.250,", true);
	check_show("show -p 10 -c 11",
		   "\"idle\":0.750,\"source\":\"kvm\"},\"statistics\":{", true);
#endif
	render = &text_renderer;
}

int main(void)
{
	confine = keep_privileges;
	unsetenv("COLUMNS");
	set_up();
	test_shares();
	test_vcpu_moves();
	test_threads();
	test_names();
	test_empty();
	test_formats();
	free(threads.thread);
	guests_free();
	return tap_end();
}
