// SPDX-License-Identifier: GPL-2.0
/*
 * What a monitoring system gets: names, units, scales, buckets and labels of the values
 * in the files of a host in memory, in both formats; how VMs that come, go and fail are
 * seen; which format is chosen; which addresses are possible.
 */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/server.h"
#include "export/render_openmetrics.h"
#include "export/scrape.h"
#include "guests.h"
#include "model/descriptions.h"
#include "render/format.h"
#include "sources/discover.h"
#include "tap.h"
#include "util/util.h"

#define HIST_NS (KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS)

static const struct image_stat vm_stats[] = {
	{ .name = "online_vcpus", .flags = KVM_STATS_TYPE_INSTANT, },
	{ .name = "remote_tlb_flush", },
	{ .name = "max_mmu_rmap_size", .flags = KVM_STATS_TYPE_PEAK, },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	{ .name = "halt_poll_fail_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, },
	{
		.name = "memory\\total",
		.flags = KVM_STATS_TYPE_PEAK | KVM_STATS_UNIT_BYTES | KVM_STATS_BASE_POW2,
		.exponent = 10,
	},
	{ .name = "blocking", .flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_BOOLEAN, },
	{ .name = "halt_wait_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, },
	{ .name = "halt_wait_hist", .flags = HIST_NS, .exponent = -9, .size = 4, },
	{
		.name = "depth",
		.flags = KVM_STATS_TYPE_LINEAR_HIST,
		.size = 3,
		.bucket_size = 10,
	}, {
		.name = "exit_reasons",
		.flags = KVM_STATS_TYPE_LINEAR_HIST,
		.size = 4,
		.bucket_size = 1,
		.value_names = (const char * const []) { "interrupt", "io", "", "other", NULL, },
	},
	{},
};

/* Where they are among the values. */
enum { EXITS, FAIL_NS, MEMORY, BLOCKING, WAIT_NS, WAIT, DEPTH = WAIT + 4, REASONS = DEPTH + 3, };

static struct inventory inventory;
static struct collector collector;
static uint64_t now_ns;

static uint64_t test_now_ns(void)
{
	return now_ns;
}

static const struct time_source scrape_time = { .now_ns = test_now_ns, };

static void set_values(const struct guest *guest, unsigned int index, uint64_t factor)
{
	uint64_t *values = guest_vcpu_values(guest, index);

	values[EXITS] = factor;
	values[FAIL_NS] = 1500000000 * factor;
	values[MEMORY] = factor;
	values[BLOCKING] = 1;
	values[WAIT_NS] = factor;
	values[WAIT] = factor;
	values[WAIT + 1] = 10 * factor;
	values[WAIT + 3] = 100 * factor;
	values[DEPTH] = factor;
	values[DEPTH + 2] = 2 * factor;
	values[REASONS] = 5 * factor;
	values[REASONS + 2] = 6 * factor;
	values[REASONS + 3] = 7 * factor;
}

static void set_guest(unsigned int index, pid_t pid, const char *name, unsigned int vcpus)
{
	guests[index] = (struct guest) {
		.pid = pid,
		.name = name,
		.vm_stats = vm_stats,
		.vcpu_stats = vcpu_stats,
		.vcpus = vcpus,
		.started = 100 * index,
	};
}

static void set_up_with(const struct scrape_options *options)
{
	set_guest(0, 100, "a", 2);
	guests_start();
	guest_vm_values(&guests[0])[1] = 7;
	guest_vm_values(&guests[0])[2] = 3;
	set_values(&guests[0], 0, 1);
	set_values(&guests[0], 1, 2);
	discover_init(&inventory, &guests_host);
	collector_init(&collector, &inventory, options);
	now_ns = 1;
}

static void set_up(bool per_vcpu)
{
	const struct scrape_options options = { .per_vcpu = per_vcpu, };

	set_up_with(&options);
}

static void tear_down(void)
{
	collector_free(&collector);
	inventory_free(&inventory);
	guests_free();
}

/* All of it, from reads of @size; the caller frees it. */
static char *scrape(enum exposition_format format, size_t size)
{
	struct exposition *exposition;
	struct scrape scrape;
	size_t length = 0, done;
	char *text = NULL;

	if (collect(&collector, &scrape))
		abort();
	scrape.duration_ns = 1500000;
	scrape.num_connections = 5;
	scrape.num_dropped = 2;
	exposition = exposition_open(format, &collector.metrics, &scrape);
	do {
		text = xreallocarray(text, length + size + 1, 1);
		done = exposition_read(exposition, text + length, size);
		length += done;
	} while (done);
	text[length] = '\0';
	exposition_close(exposition);
	return text;
}

static void expect(enum exposition_format format, const char *expected, const char *name)
{
	char *text = scrape(format, 4096);

	check_contains(text, expected, name);
	free(text);
}

/* Lines that begin with @start; the caller frees it. */
static char *lines_of(const char *text, const char *start)
{
	char *found = xasprintf("%s", ""), *longer;
	size_t length;

	for (; *text; text += length) {
		length = strcspn(text, "\n") + 1;
		if (strncmp(text, start, strlen(start)))
			continue;
		longer = xasprintf("%s%.*s", found, (int)length, text);
		free(found);
		found = longer;
	}
	return found;
}

static void expect_lines(const char *start, const char *expected, const char *name)
{
	char *text = scrape(FORMAT_PROMETHEUS, 4096);
	char *found = lines_of(text, start);

	check_text(found, expected, name);
	free(found);
	free(text);
}

static const char openmetrics[] =
	"# HELP kvmstat_build_info The exporter, its value is always 1\n"
	"# TYPE kvmstat_build_info gauge\n"
	"kvmstat_build_info{version=\"0.1\"} 1\n"
	"# HELP kvmstat_scrape_duration_seconds Time that it took to look for VMs and to read them, for this scrape\n"
	"# TYPE kvmstat_scrape_duration_seconds gauge\n"
	"# UNIT kvmstat_scrape_duration_seconds seconds\n"
	"kvmstat_scrape_duration_seconds 0.001500000\n"
	"# HELP kvmstat_scrapes Scrapes, with this one\n"
	"# TYPE kvmstat_scrapes counter\n"
	"kvmstat_scrapes_total 1\n"
	"# HELP kvmstat_vms VMs that were found\n"
	"# TYPE kvmstat_vms gauge\n"
	"kvmstat_vms 1\n"
	"# HELP kvmstat_processes_denied Processes that may not be looked into, whether they have a VM or not\n"
	"# TYPE kvmstat_processes_denied gauge\n"
	"kvmstat_processes_denied 0\n"
	"# HELP kvmstat_processes_hidden Whether /proc hides the processes of other users (hidepid)\n"
	"# TYPE kvmstat_processes_hidden gauge\n"
	"kvmstat_processes_hidden 0\n"
	"# HELP kvmstat_pid_namespace Whether /proc has the processes of a pid namespace only\n"
	"# TYPE kvmstat_pid_namespace gauge\n"
	"kvmstat_pid_namespace 0\n"
	"# HELP kvmstat_files_missing Files of VMs and vCPUs that the limit on open files leaves out\n"
	"# TYPE kvmstat_files_missing gauge\n"
	"kvmstat_files_missing 0\n"
	"# HELP kvmstat_vms_unseen VMs that debugfs has, and none of the processes that are seen\n"
	"# TYPE kvmstat_vms_unseen gauge\n"
	"kvmstat_vms_unseen 0\n"
	"# HELP kvmstat_problems Problems with processes and VMs that the exporter has logged\n"
	"# TYPE kvmstat_problems counter\n"
	"kvmstat_problems_total 0\n"
	"# HELP kvmstat_connections Connections of clients that were accepted\n"
	"# TYPE kvmstat_connections counter\n"
	"kvmstat_connections_total 5\n"
	"# HELP kvmstat_connections_dropped Connections that were closed because the client was too slow or there were too many\n"
	"# TYPE kvmstat_connections_dropped counter\n"
	"kvmstat_connections_dropped_total 2\n"
	"# HELP kvmstat_vm_up Whether the statistics of the VM were read for this scrape\n"
	"# TYPE kvmstat_vm_up gauge\n"
	"kvmstat_vm_up{vm=\"a\"} 1\n"
	"# HELP kvmstat_vm_vcpus vCPUs of the VM that were found\n"
	"# TYPE kvmstat_vm_vcpus gauge\n"
	"kvmstat_vm_vcpus{vm=\"a\"} 2\n"
	"# HELP kvm_vm_info Whose VM it is, the value is always 1\n"
	"# TYPE kvm_vm_info gauge\n"
	"kvm_vm_info{vm=\"a\",pid=\"100\",id=\"kvm-100\",name=\"a\"} 1\n"
	"# HELP kvm_vm_online_vcpus vCPUs that the VM has, none of which is removed before the VM\n"
	"# TYPE kvm_vm_online_vcpus gauge\n"
	"kvm_vm_online_vcpus{vm=\"a\"} 2\n"
	"# HELP kvm_vm_remote_tlb_flush Flushes of the TLBs of other CPUs that run the VM\n"
	"# TYPE kvm_vm_remote_tlb_flush counter\n"
	"kvm_vm_remote_tlb_flush_total{vm=\"a\"} 7\n"
	"# HELP kvm_vm_max_mmu_rmap_size Most other entries that mapped a guest page when one was added, except by the TDP MMU\n"
	"# TYPE kvm_vm_max_mmu_rmap_size gauge\n"
	"kvm_vm_max_mmu_rmap_size{vm=\"a\"} 3\n"
	"# HELP kvm_vcpu_exits Exits from the guest, for whatever reason (sum over all vCPUs)\n"
	"# TYPE kvm_vcpu_exits counter\n"
	"kvm_vcpu_exits_total{vm=\"a\"} 3\n"
	"# HELP kvm_vcpu_halt_poll_fail_seconds Time spent polling in halts that blocked all the same (sum over all vCPUs)\n"
	"# TYPE kvm_vcpu_halt_poll_fail_seconds counter\n"
	"# UNIT kvm_vcpu_halt_poll_fail_seconds seconds\n"
	"kvm_vcpu_halt_poll_fail_seconds_total{vm=\"a\"} 4.5\n"
	"# HELP kvm_vcpu_memory_total_bytes KVM's statistic memory\\\\total (the highest of all vCPUs); this kvmstat does not know what it counts\n"
	"# TYPE kvm_vcpu_memory_total_bytes gauge\n"
	"# UNIT kvm_vcpu_memory_total_bytes bytes\n"
	"kvm_vcpu_memory_total_bytes{vm=\"a\"} 2048\n"
	"# HELP kvm_vcpu_blocking The vCPU is blocked now, waiting for an event (sum over all vCPUs)\n"
	"# TYPE kvm_vcpu_blocking gauge\n"
	"kvm_vcpu_blocking{vm=\"a\"} 2\n"
	"# HELP kvm_vcpu_halt_wait_seconds Halts that blocked, by time blocked (sum over all vCPUs)\n"
	"# TYPE kvm_vcpu_halt_wait_seconds histogram\n"
	"# UNIT kvm_vcpu_halt_wait_seconds seconds\n"
	"kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",le=\"0.0\"} 3\n"
	"kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",le=\"0.000000001\"} 33\n"
	"kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",le=\"0.000000003\"} 33\n"
	"kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",le=\"+Inf\"} 333\n"
	"kvm_vcpu_halt_wait_seconds_count{vm=\"a\"} 333\n"
	"kvm_vcpu_halt_wait_seconds_sum{vm=\"a\"} 0.000000003\n"
	"# HELP kvm_vcpu_depth KVM's statistic depth (sum over all vCPUs); this kvmstat does not know what it counts\n"
	"# TYPE kvm_vcpu_depth histogram\n"
	"kvm_vcpu_depth_bucket{vm=\"a\",le=\"9.0\"} 3\n"
	"kvm_vcpu_depth_bucket{vm=\"a\",le=\"19.0\"} 3\n"
	"kvm_vcpu_depth_bucket{vm=\"a\",le=\"+Inf\"} 9\n"
	"# HELP kvm_vcpu_exits_by_reason Exits by their reason, which add up to exits (sum over all vCPUs)\n"
	"# TYPE kvm_vcpu_exits_by_reason counter\n"
	"kvm_vcpu_exits_by_reason_total{vm=\"a\",reason=\"interrupt\"} 15\n"
	"kvm_vcpu_exits_by_reason_total{vm=\"a\",reason=\"io\"} 0\n"
	"kvm_vcpu_exits_by_reason_total{vm=\"a\",reason=\"2\"} 18\n"
	"kvm_vcpu_exits_by_reason_total{vm=\"a\",reason=\"other\"} 21\n"
	"# EOF\n";

static void test_openmetrics(void)
{
	char *text, *other;

	set_up(false);
	text = scrape(FORMAT_OPENMETRICS, 1 << 16);
	check_text(text, openmetrics, "OpenMetrics: all of it");
	collector.num_scrapes = 0;
	other = scrape(FORMAT_OPENMETRICS, 1);
	check_text(other, text, "OpenMetrics: the same byte by byte");
	free(other);
	free(text);
	tear_down();
}

static void test_prometheus(void)
{
	set_up(false);
	expect(FORMAT_PROMETHEUS,
	       "\n# HELP kvm_vcpu_exits_total Exits from the guest, for whatever reason (sum over all vCPUs)\n"
	       "# TYPE kvm_vcpu_exits_total counter\n"
	       "kvm_vcpu_exits_total{vm=\"a\"} 3\n",
	       "Prometheus: a counter's name ends in _total everywhere");
	expect(FORMAT_PROMETHEUS,
	       "\nkvm_vcpu_depth_bucket{vm=\"a\",le=\"+Inf\"} 9\n"
	       "kvm_vcpu_depth_count{vm=\"a\"} 9\n",
	       "Prometheus: a histogram without a sum has a count");
	expect_lines("# UNIT", "", "Prometheus: no units");
	expect_lines("# EOF", "", "Prometheus: no end");
	tear_down();
}

static void test_per_vcpu(void)
{
	set_up(true);
	expect(FORMAT_OPENMETRICS,
	       "# HELP kvm_vcpu_exits Exits from the guest, for whatever reason\n"
	       "# TYPE kvm_vcpu_exits counter\n"
	       "kvm_vcpu_exits_total{vm=\"a\",vcpu=\"10\"} 1\n"
	       "kvm_vcpu_exits_total{vm=\"a\",vcpu=\"11\"} 2\n#",
	       "per vCPU: a sample each, under its id");
	expect_lines("kvm_vm_remote_tlb_flush_total",
		     "kvm_vm_remote_tlb_flush_total{vm=\"a\"} 7\n",
		     "per vCPU: what is the VM's is the VM's");
	expect(FORMAT_PROMETHEUS,
	       "kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",vcpu=\"11\",le=\"0.000000001\"} 22\n",
	       "per vCPU: histograms");
	expect(FORMAT_PROMETHEUS,
	       "# TYPE kvm_vcpu_exits_by_reason_total counter\n"
	       "kvm_vcpu_exits_by_reason_total{vm=\"a\",vcpu=\"10\",reason=\"interrupt\"} 5\n",
	       "per vCPU: reasons");
	tear_down();
}

/* In the place of each vCPU: what is not known of it is not said. */
static void test_sums(void)
{
	set_up(true);
	set_guest(1, 101, "b", 3);
	guests[1].sum = 700;
	guests_start();
	expect_lines("kvm_vcpu_exits_total",
		     "kvm_vcpu_exits_total{vm=\"a\",vcpu=\"10\"} 1\n"
		     "kvm_vcpu_exits_total{vm=\"a\",vcpu=\"11\"} 2\n"
		     "kvm_vcpu_exits_total{vm=\"b\"} 700\n", "sums: have no vCPU");
	expect_lines("kvmstat_vm_", "kvmstat_vm_up{vm=\"a\"} 1\n"
		     "kvmstat_vm_up{vm=\"b\"} 1\n"
		     "kvmstat_vm_vcpus{vm=\"a\"} 2\n"
		     "kvmstat_vm_vcpus{vm=\"b\"} 3\n", "sums: of so many vCPUs");
	expect_lines("kvm_vm_info{vm=\"b\"",
		     "kvm_vm_info{vm=\"b\",pid=\"101\",id=\"debugfs/101-1\",name=\"b\"} 1\n",
		     "sums: the id says where they come from");
	guests[1].sum = 800;
	expect_lines("kvm_vcpu_exits_total{vm=\"b\"", "kvm_vcpu_exits_total{vm=\"b\"} 800\n",
		     "sums: are those of now");
	guests[1].replaced++;
	guests[1].sum = 30;
	expect_lines("kvm_vcpu_exits_total{vm=\"b\"", "kvm_vcpu_exits_total{vm=\"b\"} 800\n",
		     "sums: another VM's are no sums of this one");
	now_ns += 2 * NSEC_PER_SEC;
	expect_lines("kvm_vcpu_exits_total{vm=\"b\"", "kvm_vcpu_exits_total{vm=\"b\"} 30\n",
		     "sums: but its own");
	guests[1].dead = true;
	free(scrape(FORMAT_PROMETHEUS, 4096));
	now_ns += 2 * NSEC_PER_SEC;
	expect_lines("kvmstat_vm_up", "kvmstat_vm_up{vm=\"a\"} 1\n", "sums: until it ends");
	tear_down();
}

/* Directories are in the order of the threads that made them, whosever those are. */
static void test_makers(void)
{
	set_up(true);
	set_guest(1, 101, "b", 1);
	set_guest(2, 102, "c", 1);
	set_guest(3, 102, "c", 2);
	guests[1].sum = 1;
	guests[1].maker = 900;
	guests[2].sum = 2;
	guests[2].maker = 77;
	guests[3].sum = 3;
	guests_start();
	expect_lines("kvm_vm_info{vm=\"",
		     "kvm_vm_info{vm=\"a\",pid=\"100\",id=\"kvm-100\",name=\"a\"} 1\n"
		     "kvm_vm_info{vm=\"b\",pid=\"101\",id=\"debugfs/900-1\",name=\"b\"} 1\n"
		     "kvm_vm_info{vm=\"c\",pid=\"102\",id=\"debugfs/77-2\",name=\"c\"} 1\n"
		     "kvm_vm_info{vm=\"c@2.00/102-3\",pid=\"102\",id=\"debugfs/102-3\",name=\"c\"} 1\n",
		     "makers: each VM is its process', whichever thread made it");
	expect_lines("kvm_vcpu_exits_total{vm=\"c", "kvm_vcpu_exits_total{vm=\"c\"} 2\n"
		     "kvm_vcpu_exits_total{vm=\"c@2.00/102-3\"} 3\n", "makers: with its own sums");
	guests_debugfs_err = -EACCES;
	guests[2].sum = 20;
	now_ns += 2 * NSEC_PER_SEC;
	expect_lines("kvm_vcpu_exits_total{vm=\"c\"", "kvm_vcpu_exits_total{vm=\"c\"} 20\n",
		     "makers: what is known stays when debugfs cannot be listed any more");
	tear_down();
}

static void test_labels(void)
{
	set_up(false);
	guests[0].name = "a \"b\"\\";
	set_guest(1, 100, "a \"b\"\\", 1);
	set_guest(2, 200, "a \"b\"\\", 0);
	guests_start();
	set_values(&guests[1], 0, 9);
	expect_lines("kvm_vcpu_exits_total",
		     "kvm_vcpu_exits_total{vm=\"a \\\"b\\\"\\\\\"} 3\n"
		     "kvm_vcpu_exits_total{vm=\"a \\\"b\\\"\\\\@0.00/100-1\"} 9\n",
		     "labels: escaped; VMs of the same name are told apart");
	expect_lines("kvmstat_vm_vcpus",
		     "kvmstat_vm_vcpus{vm=\"a \\\"b\\\"\\\\\"} 2\n"
		     "kvmstat_vm_vcpus{vm=\"a \\\"b\\\"\\\\@0.00/100-1\"} 1\n"
		     "kvmstat_vm_vcpus{vm=\"a \\\"b\\\"\\\\@2.00\"} 0\n",
		     "labels: a VM without a vCPU has a name, too");
	guests[0].dead = true;
	now_ns += 2 * NSEC_PER_SEC;
	expect_lines("kvmstat_vm_up", "kvmstat_vm_up{vm=\"a \\\"b\\\"\\\\\"} 1\n"
		     "kvmstat_vm_up{vm=\"a \\\"b\\\"\\\\@2.00\"} 1\n",
		     "labels: when the first has ended, those of the VMs that are left");
	tear_down();
}

static void test_coming_and_going(void)
{
	set_up(false);
	expect_lines("kvmstat_vms ", "kvmstat_vms 1\n", "one VM");
	set_guest(1, 101, "b", 1);
	guests_start();
	now_ns += NSEC_PER_SEC / 2;
	expect_lines("kvmstat_vms ", "kvmstat_vms 1\n", "not looked for within a second");
	now_ns += NSEC_PER_SEC / 2;
	expect_lines("kvmstat_vms ", "kvmstat_vms 2\n", "a new one, a second later");
	guests[0].dead = true;
	now_ns += NSEC_PER_SEC;
	expect_lines("kvmstat_vm_up", "kvmstat_vm_up{vm=\"b\"} 1\n",
		     "one that has ended is gone");
	tear_down();
}

/* Those that are chosen, also what comes later, and with a new VM what was called otherwise. */
static void test_choice(void)
{
	struct choice choice = {};

	set_up(false);
	choice_add(&choice, "w*");
	choice_add(&choice, "102");
	inventory.choice = &choice;
	set_guest(1, 101, "web", 1);
	set_guest(2, 102, "db", 1);
	guests_start();
	expect_lines("kvmstat_vm_up",
		     "kvmstat_vm_up{vm=\"web\"} 1\nkvmstat_vm_up{vm=\"db\"} 1\n",
		     "chosen by name and by pid");
	guests[0].name = "was-a";
	guests[1].name = "renamed";
	set_guest(3, 103, "web", 1);
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect_lines("kvmstat_vms ", "kvmstat_vms 3\n",
		     "one that comes later; and one that is called otherwise stays");
	set_guest(4, 104, "b", 1);
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect_lines("kvmstat_vms ", "kvmstat_vms 3\n", "not one of another name");
	/* Of a process one after the other. */
	set_guest(5, 104, "w", 1);
	guests[4].name = "w";
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect_lines("kvmstat_vms ", "kvmstat_vms 5\n",
		     "a process that makes one more and is called so by then: both of its VMs");
	tear_down();
}

/* A VM that is started again continues its series; which process it is says the info. */
static void test_restart(void)
{
	set_up(false);
	set_guest(1, 101, "b", 1);
	guests_start();
	expect_lines("kvm_vm_info",
		     "kvm_vm_info{vm=\"a\",pid=\"100\",id=\"kvm-100\",name=\"a\"} 1\n"
		     "kvm_vm_info{vm=\"b\",pid=\"101\",id=\"kvm-101\",name=\"b\"} 1\n",
		     "two VMs");
	guests[0].dead = true;
	set_guest(2, 103, "a", 1);
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect_lines("kvm_vm_info{vm=\"a\"",
		     "kvm_vm_info{vm=\"a\",pid=\"103\",id=\"kvm-103\",name=\"a\"} 1\n",
		     "started again: another process, the same label");
	tear_down();
}

static void start_exporter_again(void)
{
	const struct scrape_options options = {};

	collector_free(&collector);
	inventory_free(&inventory);
	discover_init(&inventory, &guests_host);
	collector_init(&collector, &inventory, &options);
}

#define INFO(vm, pid, name) \
	"kvm_vm_info{vm=\"" vm "\",pid=\"" pid "\",id=\"kvm-" pid "\",name=\"" name "\"} 1\n"

/* Whatever the order in which they are seen, and whenever the exporter was started. */
static void test_labels_of_the_same_name(void)
{
	set_up(false);
	/* It was started first, and is seen last. */
	guests[0].started = 900;
	guests[0].name = "db";
	expect_lines("kvm_vm_info", INFO("db", "100", "db"), "the only one called db");
	set_guest(1, 101, "db", 1);
	guests[1].started = 4711;
	set_guest(2, 102, "db", 1);
	guests[2].started = 800;
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect_lines("kvm_vm_info", INFO("db@9.00", "100", "db") INFO("db@47.11", "101", "db")
		     INFO("db", "102", "db"), "three called db: told apart by their start");
	start_exporter_again();
	expect_lines("kvm_vm_info", INFO("db@9.00", "100", "db") INFO("db@47.11", "101", "db")
		     INFO("db", "102", "db"), "three called db: so they are to another exporter");
	/* As libvirt's pid file says: anybody can start a process before another one. */
	guests[0].named_by = IDENTITY_RUN;
	start_exporter_again();
	expect_lines("kvm_vm_info", INFO("db", "100", "db") INFO("db@47.11", "101", "db")
		     INFO("db@8.00", "102", "db"), "three called db: the sure one first");
	tear_down();

	set_up(false);
	set_guest(1, 101, "a", 1);
	set_guest(2, 102, "a@1.00", 1);
	guests_start();
	expect_lines("kvm_vm_info", INFO("a", "100", "a") INFO("a@1.00", "101", "a")
		     INFO("a@1.00@2.00", "102", "a@1.00"), "a name like the label of another VM");
	tear_down();
}

static const struct image_stat accounted_vm[] = {
	{ .name = "online_vcpus", .flags = KVM_STATS_TYPE_INSTANT, },
	{ .name = "time_accounting", .flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_BOOLEAN, },
	{ .name = "ready_accounting", .flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_BOOLEAN, },
	{},
};

static const struct image_stat accounted_vcpu[] = {
	{ .name = "exits", },
	{ .name = "time_guest_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, },
	{ .name = "time_halt_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, },
	{ .name = "exit_hist", .flags = HIST_NS, .exponent = -9, .size = 2, },
	{ .name = "ready_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, },
	{},
};

/* Of two VMs one is: the other one has no samples, not zeros. */
static void test_accounting(void)
{
	int i;

	set_up(false);
	guests_free();
	for (i = 0; i < 2; i++) {
		set_guest(i, 100 + i, i ? "off" : "on", 1);
		guests[i].vm_stats = accounted_vm;
		guests[i].vcpu_stats = accounted_vcpu;
	}
	guests_start();
	guest_vm_values(&guests[0])[1] = 1;
	guest_vm_values(&guests[1])[2] = 1;
	expect_lines("kvm_vcpu_", "kvm_vcpu_exits_total{vm=\"on\"} 0\n"
		     "kvm_vcpu_exits_total{vm=\"off\"} 0\n"
		     "kvm_vcpu_time_seconds_total{vm=\"on\",state=\"guest\"} 0\n"
		     "kvm_vcpu_time_seconds_total{vm=\"on\",state=\"halt\"} 0\n"
		     "kvm_vcpu_exit_duration_seconds_bucket{vm=\"on\",le=\"0.0\"} 0\n"
		     "kvm_vcpu_exit_duration_seconds_bucket{vm=\"on\",le=\"+Inf\"} 0\n"
		     "kvm_vcpu_exit_duration_seconds_count{vm=\"on\"} 0\n"
		     "kvm_vcpu_ready_seconds_total{vm=\"off\"} 0\n",
		     "what is not accounted for is absent");
	tear_down();
}

#define SECONDS(n) ((n) * NSEC_PER_SEC)

static struct proc_thread threads[] = {
	{ 7, 0, PROC_OUTSIDE,
	  { SECONDS(1), SECONDS(2), SECONDS(3), SECONDS(4), SECONDS(6), 1, true, }, },
	{ 8, 1, PROC_OUTSIDE,
	  { SECONDS(10), SECONDS(20), SECONDS(30), SECONDS(40), SECONDS(60), 1, true, }, },
};

static void test_threads(void)
{
	struct proc_threads list = { .thread = threads, .count = 2, };

	set_up(false);
	guests[0].threads = &list;
	expect_lines("kvmstat_vm_thread",
		     "kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"guest\"} 11.000000000\n"
		     "kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"kvm\"} 22.000000000\n"
		     "kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"vmm\"} 33.000000000\n"
		     "kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"ready\"} 44.000000000\n",
		     "threads: what /proc says of a VM whose kernel does not");
	/* The other one has ended. */
	list.count = 1;
	threads[0].times.guest_ns += SECONDS(5);
	threads[0].times.has_ready = false;
	expect_lines("kvmstat_vm_thread",
		     "kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"guest\"} 16.000000000\n"
		     "kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"kvm\"} 22.000000000\n"
		     "kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"vmm\"} 33.000000000\n",
		     "threads: one that ends takes nothing away; no waits where none are counted");
	set_guest(1, 100, "a", 1);
	guests_start();
	now_ns += 2 * NSEC_PER_SEC;
	expect_lines("kvmstat_vm_thread", "", "threads: none of a process with two VMs");
	tear_down();

	set_up(false);
	guests_free();
	set_guest(0, 100, "a", 1);
	guests[0].vm_stats = accounted_vm;
	guests[0].vcpu_stats = accounted_vcpu;
	guests[0].threads = &list;
	guests_start();
	guest_vm_values(&guests[0])[1] = 1;
	expect_lines("kvmstat_vm_thread", "", "threads: none where KVM accounts for time");
	guest_vm_values(&guests[0])[1] = 0;
	expect_lines("kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"guest\"}",
		     "kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"guest\"} 6.000000000\n",
		     "threads: where that is switched off");
	tear_down();
}

/* Of what a VM can have, all. */
static void identify(void)
{
	struct identity *identity;
	size_t i;

	free(scrape(FORMAT_OPENMETRICS, 1 << 16));
	identity = &inventory.process[0]->identity;
	for (i = IDENTITY_UUID; i < IDENTITY_FIELDS; i++) {
		identity->source[i] = IDENTITY_RUN;
		snprintf(identity->text[i], sizeof(identity->text[i]), "\"%zu", i);
	}
}

static void test_identity(void)
{
	char *text;

	set_up(false);
	identify();
	text = scrape(FORMAT_OPENMETRICS, 1 << 16);
	check_contains(text,
		       "kvm_vm_info{vm=\"a\",pid=\"100\",id=\"kvm-100\",name=\"a\",uuid=\"\\\"1\",libvirt_domain=\"\\\"2\",machine=\"\\\"3\",scope=\"\\\"4\",kubevirt_namespace=\"\\\"5\",kubevirt_vmi=\"\\\"6\",pod_uid=\"\\\"7\",firecracker_id=\"\\\"8\",api_socket=\"\\\"9\",openstack_instance=\"\\\"10\"} 1\n",
		       "identity: all that is known");
	check_contains(text, "kvm_vcpu_exits_total{vm=\"a\"} 3\n", "identity: on no other metric");
	free(text);
	tear_down();
}

/* On all that is of a VM, once each, and behind what tells VMs apart. */
static void test_chosen_labels(void)
{
	const struct scrape_options options = {
		.per_vcpu = true,
		.label = { [IDENTITY_UUID] = true, [IDENTITY_VMI] = true, },
	};

	set_up_with(&options);
	set_guest(1, 101, "b", 1);
	guests_start();
	identify();
	expect_lines("kvm_vcpu_exits_total",
		     "kvm_vcpu_exits_total{vm=\"a\",uuid=\"\\\"1\",kubevirt_vmi=\"\\\"6\",vcpu=\"10\"} 1\n"
		     "kvm_vcpu_exits_total{vm=\"a\",uuid=\"\\\"1\",kubevirt_vmi=\"\\\"6\",vcpu=\"11\"} 2\n"
		     "kvm_vcpu_exits_total{vm=\"b\",vcpu=\"10\"} 0\n",
		     "chosen labels: on each series of a VM that has them");
	expect_lines("kvmstat_vm_up",
		     "kvmstat_vm_up{vm=\"a\",uuid=\"\\\"1\",kubevirt_vmi=\"\\\"6\"} 1\n"
		     "kvmstat_vm_up{vm=\"b\"} 1\n", "chosen labels: on what is not KVM's, too");
	expect_lines("kvm_vm_info{vm=\"a\"",
		     "kvm_vm_info{vm=\"a\",pid=\"100\",id=\"kvm-100\",name=\"a\",uuid=\"\\\"1\",libvirt_domain=\"\\\"2\",machine=\"\\\"3\",scope=\"\\\"4\",kubevirt_namespace=\"\\\"5\",kubevirt_vmi=\"\\\"6\",pod_uid=\"\\\"7\",firecracker_id=\"\\\"8\",api_socket=\"\\\"9\",openstack_instance=\"\\\"10\"} 1\n",
		     "chosen labels: of all that is known each once");
	tear_down();
}

/* What there is of the metrics of KVM, without their values; the caller frees it. */
static char *names_of(const char *text)
{
	char *found = xasprintf("%s", ""), *longer;
	size_t length;

	for (; *text; text += length) {
		length = strcspn(text, "\n") + 1;
		if (strncmp(text, "kvm_v", 5) || !strncmp(text, "kvm_vm_info", 11))
			continue;
		longer = xasprintf("%s%.*s\n", found, (int)strcspn(text, " "), text);
		free(found);
		found = longer;
	}
	return found;
}

static void expect_of(const char *pattern, const char *expected, const char *name)
{
	struct scrape_options options = {};
	char *text, *found;
	regex_t only;

	if (regcomp(&only, pattern, REG_EXTENDED | REG_NOSUB))
		abort();
	options.only = &only;
	set_up_with(&options);
	text = scrape(FORMAT_OPENMETRICS, 1 << 16);
	found = names_of(text);
	check_text(found, expected, name);
	expect_lines("kvmstat_vm_up", "kvmstat_vm_up{vm=\"a\"} 1\n", "and that it is up");
	free(found);
	free(text);
	tear_down();
	regfree(&only);
}

#define WAIT_SAMPLES \
	"kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",le=\"0.0\"}\n" \
	"kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",le=\"0.000000001\"}\n" \
	"kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",le=\"0.000000003\"}\n" \
	"kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",le=\"+Inf\"}\n" \
	"kvm_vcpu_halt_wait_seconds_count{vm=\"a\"}\n" \
	"kvm_vcpu_halt_wait_seconds_sum{vm=\"a\"}\n"

/* By the names of statistics: a metric is called as it is without a choice. */
static void test_chosen_statistics(void)
{
	expect_of("^exits$|^online", "kvm_vm_online_vcpus{vm=\"a\"}\n"
		  "kvm_vcpu_exits_total{vm=\"a\"}\n", "chosen statistics: of VM and vCPUs");
	expect_of("^halt_wait_ns$", WAIT_SAMPLES, "chosen statistics: a sum with its histogram");
	expect_of("wait_hist", WAIT_SAMPLES, "chosen statistics: a histogram with its sum");
	expect_of("fail", "kvm_vcpu_halt_poll_fail_seconds_total{vm=\"a\"}\n",
		  "chosen statistics: by a part of the name");
	expect_of("seconds", "", "chosen statistics: not by the name of the metric");
}

static void expect_buckets(uint64_t max, const char *waits, const char *depths)
{
	const struct scrape_options options = { .max_buckets = max, };
	unsigned int i;

	set_up_with(&options);
	/* They are the same bounds whatever was counted. */
	for (i = 0; i < 2; i++) {
		expect_lines("kvm_vcpu_halt_wait_seconds", waits, "buckets: of a histogram");
		expect_lines("kvm_vcpu_depth", depths, "buckets: of a linear one");
	}
	expect(FORMAT_PROMETHEUS, "exits_by_reason_total{vm=\"a\",reason=\"io\"} 0\n"
	       "kvm_vcpu_exits_by_reason_total{vm=\"a\",reason=\"2\"} 18\n",
	       "buckets: what has names is no histogram");
	tear_down();
}

#define WAIT_BUCKET(le, count) \
	"kvm_vcpu_halt_wait_seconds_bucket{vm=\"a\",le=\"" le "\"} " #count "\n"
#define WAIT_END \
	WAIT_BUCKET("+Inf", 333) "kvm_vcpu_halt_wait_seconds_count{vm=\"a\"} 333\n" \
	"kvm_vcpu_halt_wait_seconds_sum{vm=\"a\"} 0.000000003\n"
#define DEPTH_BUCKET(le, count) "kvm_vcpu_depth_bucket{vm=\"a\",le=\"" le "\"} " #count "\n"
#define DEPTH_END DEPTH_BUCKET("+Inf", 9) "kvm_vcpu_depth_count{vm=\"a\"} 9\n"

/* Fewer, and what each counts is what it counts among all. */
static void test_thinned_buckets(void)
{
	const struct scrape_options options = { .max_buckets = 8, };
	static const struct image_stat long_stats[] = {
		{ .name = "long_hist", .flags = HIST_NS, .exponent = -9, .size = 32, },
		{ .name = "huge", .flags = KVM_STATS_TYPE_LOG_HIST, .size = 70, },
		{},
	};
	unsigned int i;

	expect_buckets(1, WAIT_END, DEPTH_END);
	expect_buckets(2, WAIT_BUCKET("0.000000003", 33) WAIT_END,
		       DEPTH_BUCKET("19.0", 3) DEPTH_END);
	expect_buckets(3, WAIT_BUCKET("0.0", 3) WAIT_BUCKET("0.000000003", 33) WAIT_END,
		       DEPTH_BUCKET("9.0", 3) DEPTH_BUCKET("19.0", 3) DEPTH_END);
	expect_buckets(4, WAIT_BUCKET("0.0", 3) WAIT_BUCKET("0.000000001", 33)
		       WAIT_BUCKET("0.000000003", 33) WAIT_END,
		       DEPTH_BUCKET("9.0", 3) DEPTH_BUCKET("19.0", 3) DEPTH_END);
	expect_buckets(UINT32_MAX, WAIT_BUCKET("0.0", 3) WAIT_BUCKET("0.000000001", 33)
		       WAIT_BUCKET("0.000000003", 33) WAIT_END,
		       DEPTH_BUCKET("9.0", 3) DEPTH_BUCKET("19.0", 3) DEPTH_END);

	set_up_with(&options);
	guests_free();
	set_guest(0, 100, "a", 1);
	guests[0].vcpu_stats = long_stats;
	guests_start();
	for (i = 0; i < 102; i++)
		guest_vcpu_values(&guests[0], 0)[i] = 1;
	expect_lines("kvm_vcpu_long_seconds_bucket",
		     "kvm_vcpu_long_seconds_bucket{vm=\"a\",le=\"0.0\"} 1\n"
		     "kvm_vcpu_long_seconds_bucket{vm=\"a\",le=\"0.000000031\"} 6\n"
		     "kvm_vcpu_long_seconds_bucket{vm=\"a\",le=\"0.000001023\"} 11\n"
		     "kvm_vcpu_long_seconds_bucket{vm=\"a\",le=\"0.000032767\"} 16\n"
		     "kvm_vcpu_long_seconds_bucket{vm=\"a\",le=\"0.001048575\"} 21\n"
		     "kvm_vcpu_long_seconds_bucket{vm=\"a\",le=\"0.033554431\"} 26\n"
		     "kvm_vcpu_long_seconds_bucket{vm=\"a\",le=\"1.073741823\"} 31\n"
		     "kvm_vcpu_long_seconds_bucket{vm=\"a\",le=\"+Inf\"} 32\n",
		     "buckets: of 32 the highest bound and each fifth below");
	expect(FORMAT_PROMETHEUS,
	       "kvm_vcpu_huge_bucket{vm=\"a\",le=\"18446744073709551614.0\"} 69\n"
	       "kvm_vcpu_huge_bucket{vm=\"a\",le=\"+Inf\"} 70\n",
	       "buckets: of bounds that are the same one is left");
	tear_down();
}

static void test_values_are_fresh(void)
{
	set_up(false);
	expect_lines("kvm_vcpu_exits_total", "kvm_vcpu_exits_total{vm=\"a\"} 3\n",
		     "values");
	guest_vcpu_values(&guests[0], 1)[EXITS] = 1000;
	expect_lines("kvm_vcpu_exits_total", "kvm_vcpu_exits_total{vm=\"a\"} 1001\n",
		     "are read for each scrape");
	tear_down();
}

/* One that is refused, and one that may not be looked into. */
static void test_failures(void)
{
	set_up(false);
	set_guest(1, 101, "b", 1);
	guests[1].refused = EIO;
	set_guest(2, 102, "c", 1);
	guests[2].denied = true;
	set_guest(3, 103, "d", 1);
	guests_start();
	set_values(&guests[3], 0, 5);
	expect_lines("kvmstat_vm_up",
		     "kvmstat_vm_up{vm=\"a\"} 1\n"
		     "kvmstat_vm_up{vm=\"b\"} 0\n"
		     "kvmstat_vm_up{vm=\"d\"} 1\n",
		     "failures: a VM without statistics is there, and not up");
	expect_lines("kvm_vcpu_exits_total",
		     "kvm_vcpu_exits_total{vm=\"a\"} 3\n"
		     "kvm_vcpu_exits_total{vm=\"d\"} 5\n",
		     "failures: the others have their values");
	expect_lines("kvmstat_problems", "kvmstat_problems_total 1\n", "failures: counted");
	expect_lines("kvmstat_processes_denied", "kvmstat_processes_denied 1\n",
		     "failures: processes that may not be looked into are counted");
	inventory.is_hidden = true;
	expect_lines("kvmstat_processes_hidden", "kvmstat_processes_hidden 1\n",
		     "failures: that processes are hidden is said");
	check_number(inventory.num_problems, 1, "failures: a problem is one, however often met");
	tear_down();
}

/* Two schemas on one host: each has its own samples of what both have. */
static void test_schemas(void)
{
	static const struct image_stat other_vcpu_stats[] = {
		{ .name = "new.one", },
		{ .name = "exits", .flags = KVM_STATS_TYPE_INSTANT, },
		{ .name = "halt_poll_fail_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -6, },
		{ .name = "wait_nanoseconds", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, },
		{ .name = "wait_seconds", .flags = KVM_STATS_UNIT_SECONDS, },
		{},
	};

	set_up(false);
	set_guest(1, 101, "b", 1);
	guests[1].vcpu_stats = other_vcpu_stats;
	guests_start();
	guest_vcpu_values(&guests[1], 0)[0] = 1;
	guest_vcpu_values(&guests[1], 0)[1] = 2;
	guest_vcpu_values(&guests[1], 0)[2] = 3;
	expect_lines("kvm_vcpu_halt_poll_fail",
		     "kvm_vcpu_halt_poll_fail_seconds_total{vm=\"a\"} 4.5\n"
		     "kvm_vcpu_halt_poll_fail_seconds_total{vm=\"b\"} 0.000003\n",
		     "schemas: scaled by what each says");
	expect_lines("kvm_vcpu_exits_total",
		     "kvm_vcpu_exits_total{vm=\"a\"} 3\n",
		     "schemas: each has its own samples");
	expect_lines("kvm_vcpu_exits_2",
		     "kvm_vcpu_exits_2{vm=\"b\"} 2\n",
		     "schemas: another type is another metric");
	guest_vcpu_values(&guests[1], 0)[3] = 4;
	guest_vcpu_values(&guests[1], 0)[4] = 5;
	expect_lines("kvm_vcpu_wait",
		     "kvm_vcpu_wait_nanoseconds_seconds_total{vm=\"b\"} 0.000000004\n"
		     "kvm_vcpu_wait_seconds_total{vm=\"b\"} 5\n",
		     "schemas: a name has the unit once, which is a word of it");
	expect_lines("kvm_vcpu_new", "kvm_vcpu_new_one_total{vm=\"b\"} 1\n",
		     "schemas: names have no other characters than metrics may have");
	tear_down();
}

/* VMs whose VMM holds their files, and sums, one after the other: nothing is left of them. */
static void test_many_short_ones(void)
{
	size_t num_schemas = 0;
	unsigned int i;

	set_up(false);
	set_guest(1, 101, "held", 2);
	guests[1].split = true;
	guests[1].held = true;
	set_guest(2, 102, "sum", 1);
	guests[2].sum = 700;
	guests_start();
	set_values(&guests[1], 0, 5);
	for (i = 0; i < 100; i++) {
		guests[1].dead = i % 2;
		guests[2].dead = !(i % 2);
		now_ns += 2 * NSEC_PER_SEC;
		free(scrape(FORMAT_PROMETHEUS, 1 << 16));
		if (i == 1)
			num_schemas = collector.metrics.num_schemas;
	}
	check_number(collector.metrics.num_schemas, num_schemas,
		     "many short VMs: what each describes is remembered once");
	guests[1].dead = false;
	now_ns += 2 * NSEC_PER_SEC;
	expect_lines("kvm_vcpu_exits_total", "kvm_vcpu_exits_total{vm=\"a\"} 3\n"
		     "kvm_vcpu_exits_total{vm=\"sum\"} 700\n"
		     "kvm_vcpu_exits_total{vm=\"held\"} 5\n",
		     "many short VMs: all have their values");
	tear_down();
}

/* Whatever has names; and what has none is no part of that. */
static void test_named_buckets(void)
{
	static const char * const names[] = { "a\"b\\", "c", NULL, };
	static const struct image_stat named_stats[] = {
		{
			.name = "halt_hist",
			.flags = HIST_NS,
			.exponent = -9,
			.size = 2,
			.value_names = names,
		},
		{ .name = "halt_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, },
		{ .name = "exit_reasons", },
		{ .name = "state", .flags = KVM_STATS_TYPE_INSTANT, .value_names = names, },
		{},
	};

	set_up(false);
	set_guest(1, 101, "b", 1);
	guests[1].vcpu_stats = named_stats;
	guests_start();
	guest_vcpu_values(&guests[1], 0)[0] = 3000000000;
	guest_vcpu_values(&guests[1], 0)[2] = 2000000000;
	guest_vcpu_values(&guests[1], 0)[3] = 5;
	guest_vcpu_values(&guests[1], 0)[4] = 1;
	expect_lines("kvm_vcpu_halt_total",
		     "kvm_vcpu_halt_total{vm=\"b\",bucket=\"a\\\"b\\\\\"} 3000000000\n"
		     "kvm_vcpu_halt_total{vm=\"b\",bucket=\"c\"} 0\n",
		     "names: of any histogram, escaped; counts have no unit and no scale");
	expect_lines("kvm_vcpu_halt_seconds",
		     "kvm_vcpu_halt_seconds_total{vm=\"b\"} 2\n",
		     "names: a time that is no sum of bounds is a metric of its own");
	expect_lines("kvm_vcpu_exit_reasons",
		     "kvm_vcpu_exit_reasons_total{vm=\"b\"} 5\n",
		     "names: without them it is what it was");
	expect_lines("kvm_vcpu_state", "", "names: what stands for something is no metric");
	tear_down();
}

#define NS(statistic, ...) \
	{ .name = statistic, .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, __VA_ARGS__ }

static const struct image_stat time_vm_stats[] = {
	{ .name = "online_vcpus", .flags = KVM_STATS_TYPE_INSTANT, },
	{ .name = "time_accounting", .flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_BOOLEAN, },
	{},
};

/* In another order than that of the lists, and not all of them. */
static const struct image_stat time_vcpu_stats[] = {
	NS("time_user_ns"),
	{ .name = "exit_hist", .flags = HIST_NS, .exponent = -9, .size = 3, },
	{
		.name = "state",
		.flags = KVM_STATS_TYPE_INSTANT,
		.value_names = (const char * const []) { "none", "guest", NULL, },
	}, {
		.name = "state_since_ns",
		.flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_SECONDS,
		.exponent = -9,
	},
	NS("exit_reason_ns", .size = 3,
	   .value_names = (const char * const []) { "interrupt", "", "other", NULL, }),
	NS("time_exit_ns"),
	NS("time_guest_ns"),
	NS("time_exit_ns"),
	{},
};

#define VM_A "{vm=\"a\""

static const char time_metrics[] =
	"# HELP kvm_vm_time_accounting The time of the vCPUs is accounted for by state: kvm's parameter stats_time is on\n"
	"# TYPE kvm_vm_time_accounting gauge\n"
	"kvm_vm_time_accounting" VM_A "} 1\n"
	"# HELP kvm_vcpu_time_seconds Time of the vCPU's thread by state, which with ready is all of it since its first KVM_RUN (sum over all vCPUs)\n"
	"# TYPE kvm_vcpu_time_seconds counter\n"
	"# UNIT kvm_vcpu_time_seconds seconds\n"
	"kvm_vcpu_time_seconds_total" VM_A ",state=\"user\"} 3\n"
	"kvm_vcpu_time_seconds_total" VM_A ",state=\"exit\"} 0.000000027\n"
	"kvm_vcpu_time_seconds_total" VM_A ",state=\"guest\"} 0.00000003\n"
	"# HELP kvm_vcpu_exit_duration_seconds Exits by their part of time_exit_ns, up to the next entry or return to user space (sum over all vCPUs)\n"
	"# TYPE kvm_vcpu_exit_duration_seconds histogram\n"
	"# UNIT kvm_vcpu_exit_duration_seconds seconds\n"
	"kvm_vcpu_exit_duration_seconds_bucket" VM_A ",le=\"0.0\"} 3\n"
	"kvm_vcpu_exit_duration_seconds_bucket" VM_A ",le=\"0.000000001\"} 9\n"
	"kvm_vcpu_exit_duration_seconds_bucket" VM_A ",le=\"+Inf\"} 18\n"
	"# HELP kvm_vcpu_exit_seconds The time of time_exit_ns by the reason of the last exit (sum over all vCPUs)\n"
	"# TYPE kvm_vcpu_exit_seconds counter\n"
	"# UNIT kvm_vcpu_exit_seconds seconds\n"
	"kvm_vcpu_exit_seconds_total" VM_A ",reason=\"interrupt\"} 0.000000018\n"
	"kvm_vcpu_exit_seconds_total" VM_A ",reason=\"1\"} 0.000000021\n"
	"kvm_vcpu_exit_seconds_total" VM_A ",reason=\"other\"} 0.000000024\n"
	"# EOF\n";

/* Where the time goes: six statistics are one metric, and no name is used twice. */
static void test_time(void)
{
	static const struct image_stat some_vcpu_stats[] = {
		NS("exit_ns"),
		NS("time_poll_ns"),
		{ .name = "time_halt_ns", .flags = KVM_STATS_TYPE_INSTANT, },
		NS("pause_ns", .size = 2),
		{ .name = "pause_hist", .flags = HIST_NS, .exponent = -9, .size = 2, },
		{ .name = "levels", .flags = KVM_STATS_TYPE_INSTANT, .size = 2, },
		NS("time", .size = 2),
		{},
	};
	unsigned int i;
	char *text;

	set_up(false);
	guests_free();
	set_guest(0, 100, "a", 2);
	guests[0].vm_stats = time_vm_stats;
	guests[0].vcpu_stats = time_vcpu_stats;
	guests_start();
	guest_vm_values(&guests[0])[1] = 1;
	for (i = 0; i < 12; i++) {
		guest_vcpu_values(&guests[0], 0)[i] = i * 3;
		guest_vcpu_values(&guests[0], 1)[i] = 0;
	}
	guest_vcpu_values(&guests[0], 0)[0] = 1000000000;
	guest_vcpu_values(&guests[0], 1)[0] = 2000000000;
	text = scrape(FORMAT_OPENMETRICS, 4096);
	check_contains(text, time_metrics, "time: all of it");
	free(text);

	set_guest(1, 101, "b", 1);
	guests[1].vcpu_stats = some_vcpu_stats;
	guests_start();
	for (i = 0; i < 11; i++)
		guest_vcpu_values(&guests[1], 0)[i] = i;
	now_ns += 2 * NSEC_PER_SEC;
	expect(FORMAT_PROMETHEUS,
	       "kvm_vcpu_time_seconds_total" VM_A ",state=\"guest\"} 0.00000003\n"
	       "kvm_vcpu_time_seconds_total{vm=\"b\",state=\"poll\"} 0.000000001\n#",
	       "time: VMs have the states that they have, together");
	expect_lines("kvm_vcpu_time_halt", "kvm_vcpu_time_halt_ns{vm=\"b\"} 2\n",
		     "time: of another kind it is no state");
	expect_lines("kvm_vcpu_exit_seconds_2",
		     "kvm_vcpu_exit_seconds_2_total{vm=\"b\"} 0\n",
		     "time: a name that is taken");
	expect_lines("kvm_vcpu_pause_seconds",
		     "kvm_vcpu_pause_seconds_total{vm=\"b\",part=\"0\"} 0.000000003\n"
		     "kvm_vcpu_pause_seconds_total{vm=\"b\",part=\"1\"} 0.000000004\n"
		     "kvm_vcpu_pause_seconds_2_bucket{vm=\"b\",le=\"0.0\"} 5\n"
		     "kvm_vcpu_pause_seconds_2_bucket{vm=\"b\",le=\"+Inf\"} 11\n"
		     "kvm_vcpu_pause_seconds_2_count{vm=\"b\"} 11\n",
		     "time: an array without names is no sum of a histogram");
	expect_lines("kvm_vcpu_levels",
		     "kvm_vcpu_levels{vm=\"b\",part=\"0\"} 7\n"
		     "kvm_vcpu_levels{vm=\"b\",part=\"1\"} 8\n",
		     "time: an array of what goes up and down");
	expect_lines("kvm_vcpu_time_seconds_2",
		     "kvm_vcpu_time_seconds_2_total{vm=\"b\",part=\"0\"} 0.000000009\n"
		     "kvm_vcpu_time_seconds_2_total{vm=\"b\",part=\"1\"} 0.00000001\n",
		     "time: what is called so by itself is another one");
	tear_down();

	set_up(true);
	guests_free();
	set_guest(0, 100, "a", 2);
	guests[0].vcpu_stats = time_vcpu_stats;
	guests_start();
	expect(FORMAT_PROMETHEUS,
	       "kvm_vcpu_time_seconds_total" VM_A ",vcpu=\"10\",state=\"guest\"} 0\n"
	       "kvm_vcpu_time_seconds_total" VM_A ",vcpu=\"11\",state=\"user\"} 0\n",
	       "time: per vCPU");
	expect_lines("kvm_vcpu_state", "", "time: the state of a vCPU is no metric");
	tear_down();
}

static const struct image_stat running_stats[] = {
	NS("time_halt_ns"),
	NS("time_sleep_ns"),
	{
		.name = "state",
		.flags = KVM_STATS_TYPE_INSTANT,
		.value_names = (const char * const []) { "halt", "sleep", NULL, },
	}, {
		.name = "state_since_ns",
		.flags = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_SECONDS,
		.exponent = -9,
	},
	{},
};

enum { HALT_NS, SLEEP_NS, STATE, SINCE, };
enum { IN_HALT, IN_SLEEP, };

/* A fault that takes a minute is seen while it does. What was shown is never taken back. */
static void test_running_states(void)
{
	uint64_t *values;
	int per_vcpu;

	for (per_vcpu = 0; per_vcpu < 2; per_vcpu++) {
		set_up(per_vcpu);
		guests_free();
		set_guest(0, 100, "a", 1);
		guests[0].vm_stats = time_vm_stats;
		guests[0].vcpu_stats = running_stats;
		guests_start();
		values = guest_vcpu_values(&guests[0], 0);
		now_ns = 10 * NSEC_PER_SEC;
		values[SLEEP_NS] = NSEC_PER_SEC;
		values[STATE] = IN_SLEEP;
		values[SINCE] = 4 * NSEC_PER_SEC;
		guest_vm_values(&guests[0])[1] = 1;
		expect(FORMAT_PROMETHEUS, ",state=\"sleep\"} 7\n", "time: a state that lasts counts");
		/* It was none of its time after all. */
		now_ns += 2 * NSEC_PER_SEC;
		values[SLEEP_NS] = 2 * NSEC_PER_SEC;
		values[STATE] = IN_HALT;
		values[SINCE] = 11 * NSEC_PER_SEC;
		expect(FORMAT_PROMETHEUS, ",state=\"sleep\"} 7\n", "time: it does not go back");
		expect(FORMAT_PROMETHEUS, ",state=\"halt\"} 1\n", "time: the next state counts");
		tear_down();
	}
}

static void decimal(uint32_t flags, int16_t exponent, uint64_t value, const char *expected)
{
	struct statsfile_desc desc = { .flags = flags, .exponent = exponent, };
	char text[FORMAT_SIZE];
	int length = format_decimal(text, &desc, value);

	check_text(text, expected, "decimal");
	check_number(length, strlen(expected), "its length");
}

static void test_decimals(void)
{
	decimal(0, 0, 0, "0");
	decimal(0, 0, UINT64_MAX, "18446744073709551615");
	decimal(0, -9, 0, "0");
	decimal(0, -9, 1000000000, "1");
	decimal(0, -9, 1000000001, "1.000000001");
	decimal(0, -9, 120000000, "0.12");
	decimal(0, -9, UINT64_MAX, "18446744073.709551615");
	decimal(0, -19, UINT64_MAX, "1.8446744073709551615");
	decimal(0, 3, 12, "12000");
	decimal(0, 3, UINT64_MAX, "1.8446744073709552e+22");
	decimal(KVM_STATS_BASE_POW2, 12, 3, "12288");
	decimal(KVM_STATS_BASE_POW2, -1, 3, "1.5");
	decimal(0xf00, 5, 3, "3");
}

static void test_huge_buckets(void)
{
	static const struct image_stat huge_stats[] = {
		{ .name = "huge", .flags = KVM_STATS_TYPE_LOG_HIST, .size = 70, },
		{},
	};
	char *text, *found, *line;
	unsigned int count = 0;

	set_up(false);
	guests_free();
	set_guest(0, 100, "a", 1);
	guests[0].vcpu_stats = huge_stats;
	guests_start();
	guest_vcpu_values(&guests[0], 0)[68] = 3;
	text = scrape(FORMAT_PROMETHEUS, 4096);
	found = lines_of(text, "kvm_vcpu_huge_bucket");
	for (line = found; *line; line += strcspn(line, "\n") + 1)
		count++;
	check_contains(found, "le=\"18446744073709551614.0\"} 3\n",
		       "huge buckets: what is beyond the numbers is in the last one");
	check_number(count, 66, "huge buckets: no bound twice");
	free(found);
	free(text);
	tear_down();
}

static void accepts(const char *accept, enum exposition_format format)
{
	check(choose_format(accept) == format, "%s: %s", accept ? accept : "nothing",
	      exposition_types[format]);
}

#define OPENMETRICS "application/openmetrics-text"
#define OF_PROMETHEUS OPENMETRICS ";version=1.0.0," OPENMETRICS ";version=0.0.1;q=0.75," \
	"text/plain;version=0.0.4;q=0.5,*/*;q=0.1"

static void test_accept(void)
{
	accepts(NULL, FORMAT_PROMETHEUS);
	accepts("", FORMAT_PROMETHEUS);
	accepts("*/*", FORMAT_PROMETHEUS);
	accepts("text/plain", FORMAT_PROMETHEUS);
	accepts("application/openmetrics-text", FORMAT_OPENMETRICS);
	accepts("Application/OpenMetrics-Text ; Version=1.0.0", FORMAT_OPENMETRICS);
	accepts("application/openmetrics-text;version=\"1.0.0\"", FORMAT_OPENMETRICS);
	accepts(OF_PROMETHEUS, FORMAT_OPENMETRICS);
	accepts("application/*", FORMAT_PROMETHEUS);
}

static void listens(const char *text, const char *expected)
{
	struct listen_address address;
	const char *error = listen_parse(text, &address);
	char *described = error ? NULL : listen_describe(&address);

	check_text(error ? error : described, expected, text);
	free(described);
}

static void test_addresses(void)
{
	listens(":10203", "http://127.0.0.1:10203/metrics");
	listens("0.0.0.0:1", "http://0.0.0.0:1/metrics");
	listens("[::1]:65535", "http://[::1]:65535/metrics");
	listens("[::]:0", "http://[::]:0/metrics");
	listens("10203", "is not [ADDR]:PORT");
	listens("unix:/run/x", "has no port from 0 to 65535");
	listens(":65536", "has no port from 0 to 65535");
	listens(":-1", "has no port from 0 to 65535");
	listens(":", "has no port from 0 to 65535");
	listens(":1x", "has no port from 0 to 65535");
	listens("localhost:1", "http://127.0.0.1:1/metrics");
	listens("localhost:1:2", "has no numeric address");
	listens("1.2.3:1", "has no numeric address");
	listens("::1:1", "has no numeric address");
	listens("[::1:1", "has no numeric address");
	listens("[]:1", "has no numeric address");
	listens("[127.0.0.1]:1", "has no numeric address");
	listens("[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1",
		"has no numeric address");
}

static void describes(enum scope scope, const char *name, const char *expected)
{
	const char *found = describe_statistic(scope, name);

	check_text(found ? found : "nothing", expected, name);
}

/* One of each list, and of those that only some configurations have. */
static void test_descriptions(void)
{
	describes(SCOPE_VM, "online_vcpus",
		  "vCPUs that the VM has, none of which is removed before the VM");
	describes(SCOPE_VCPU, "online_vcpus", "nothing");
	describes(SCOPE_VCPU, "halt_wait_hist", "Halts that blocked, by time blocked");
	describes(SCOPE_VCPU, "nmi_injections",
		  "Injections of NMIs into the guest, repeated ones included");
	describes(SCOPE_VCPU, "wfi_exit_stat", "Exits by a WFI instruction");
	describes(SCOPE_VCPU, "vz_cpucfg_exits",
		  "CPUCFG instructions of the guest that KVM emulated");
	describes(SCOPE_VCPU, "ld_slow",
		  "Emulated loads that took a slow path, which nothing counts today");
	describes(SCOPE_VM, "time_accounting",
		  "The time of the vCPUs is accounted for by state: kvm's parameter stats_time is on");
	describes(SCOPE_VCPU, "state", "What the vCPU's thread does, if time is accounted for");
	describes(SCOPE_VCPU, "exit_reasons", "Exits by their reason, which add up to exits");
	describes(SCOPE_VCPU, "exit_null", "Exits from SIE without an intercept");
	describes(SCOPE_VCPU, "frobnications", "nothing");
}

int main(void)
{
	time_source = &scrape_time;
	test_openmetrics();
	test_prometheus();
	test_per_vcpu();
	test_sums();
	test_makers();
	test_labels();
	test_coming_and_going();
	test_choice();
	test_restart();
	test_labels_of_the_same_name();
	test_accounting();
	test_threads();
	test_identity();
	test_chosen_labels();
	test_chosen_statistics();
	test_thinned_buckets();
	test_values_are_fresh();
	test_failures();
	test_schemas();
	test_many_short_ones();
	test_named_buckets();
	test_time();
	test_running_states();
	test_decimals();
	test_huge_buckets();
	test_accept();
	test_addresses();
	test_descriptions();
	return tap_end();
}
