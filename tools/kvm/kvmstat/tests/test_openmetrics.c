// SPDX-License-Identifier: GPL-2.0
/*
 * Scrapes: names, units, scales, buckets and labels of metrics from a host in memory, in both
 * formats; VMs that start, end and fail; the choice of a format; addresses to listen on.
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

static const struct image_stat vm_stats[] = {
	STAT_LEVEL("online_vcpus"),
	{ .name = "remote_tlb_flush", },
	{ .name = "max_mmu_rmap_size", .flags = KVM_STATS_TYPE_PEAK, },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	STAT_NS("halt_poll_fail_ns"),
	{
		.name = "memory\\total",
		.flags = KVM_STATS_TYPE_PEAK | KVM_STATS_UNIT_BYTES | KVM_STATS_BASE_POW2,
		.exponent = 10,
	},
	STAT_BOOL("blocking"),
	STAT_NS("halt_wait_ns"),
	STAT_HIST_NS("halt_wait_hist", 4),
	{
		.name = "depth",
		.flags = KVM_STATS_TYPE_LINEAR_HIST,
		.size = 3,
		.bucket_size = 10,
	},
	STAT_REASONS("exit_reasons", 4, "interrupt", "io", "", "other"),
	{},
};

/* Indexes of values. */
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

/* Replaces the VM of set_up() by one with other statistics. */
static void replace_guest(unsigned int vcpus, const struct image_stat *of_vm,
			  const struct image_stat *of_vcpu)
{
	guests_free();
	set_guest(0, 100, "a", vcpus);
	guests[0].vm_stats = of_vm;
	guests[0].vcpu_stats = of_vcpu;
	guests_start();
}

static void tear_down(void)
{
	collector_free(&collector);
	inventory_free(&inventory);
	guests_free();
}

/* Returns the page, in reads of @size bytes. The caller frees it. */
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

/* Compares the lines of the page that begin with @start. */
static void expect_in(enum exposition_format format, const char *start, const char *name)
{
	char *page = scrape(format, 4096), *rest = page, *line, *found;
	size_t size;
	FILE *out;

	out = open_memstream(&found, &size);
	while ((line = strsep(&rest, "\n")) && rest) {
		if (!strncmp(line, start, strlen(start)))
			fprintf(out, "%s\n", line);
	}
	fclose(out);
	check_golden("openmetrics.txt", name, found);
	free(found);
	free(page);
}

static void expect(const char *start, const char *name)
{
	expect_in(FORMAT_PROMETHEUS, start, name);
}

/* Compares the page, without the sentences of KVM's lists, which may change. */
static void check_page(const char *name, const char *page)
{
	char *copy = xasprintf("%s", page), *rest = copy, *line, *found;
	size_t size, length;
	FILE *out;

	out = open_memstream(&found, &size);
	while ((line = strsep(&rest, "\n")) && rest) {
		length = strlen(line);
		if (!strncmp(line, "# HELP kvm_v", strlen("# HELP kvm_v")))
			length = strlen("# HELP ") + strcspn(line + strlen("# HELP "), " ");
		fprintf(out, "%.*s%s\n", (int)length, line, strrchr(line + length, '(') ?: "");
	}
	fclose(out);
	check_golden("openmetrics.txt", name, found);
	free(found);
	free(copy);
}

static void test_openmetrics(void)
{
	char *text, *other;

	set_up(false);
	text = scrape(FORMAT_OPENMETRICS, 1 << 16);
	check_page("OpenMetrics: all of it", text);
	collector.num_scrapes = 0;
	other = scrape(FORMAT_OPENMETRICS, 1);
	check_text(other, text, "OpenMetrics: the same if read byte by byte");
	free(other);
	free(text);
	tear_down();
}

static void test_prometheus(void)
{
	set_up(false);
	expect("kvm_vcpu_exits_total", "Prometheus: a counter's name ends in _total everywhere");
	expect("kvm_vcpu_depth_bucket", "Prometheus: a histogram without a sum has a count");
	expect("# UNIT", "Prometheus: no units");
	expect("# EOF", "Prometheus: no end");
	tear_down();
}

static void test_per_vcpu(void)
{
	set_up(true);
	expect_in(FORMAT_OPENMETRICS, "kvm_vcpu_exits_total",
		  "per vCPU: a sample each, under its id");
	expect("kvm_vm_remote_tlb_flush_total", "per vCPU: what is the VM's is the VM's");
	expect("kvm_vcpu_halt_wait_seconds_bucket", "per vCPU: histograms");
	expect("kvm_vcpu_exits_by_reason_total", "per vCPU: reasons");
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
	expect("kvm_vcpu_exits_total", "labels: escaped; VMs of the same name are told apart");
	expect("kvmstat_vm_vcpus", "labels: a VM without a vCPU has a name, too");
	guests[0].dead = true;
	now_ns += 2 * NSEC_PER_SEC;
	expect("kvmstat_vm_up", "labels: without the first VM, which has ended");
	tear_down();
}

static void test_coming_and_going(void)
{
	set_up(false);
	expect("kvmstat_vms ", "one VM");
	set_guest(1, 101, "b", 1);
	guests_start();
	now_ns += NSEC_PER_SEC / 2;
	expect("kvmstat_vms ", "not looked for within a second");
	now_ns += NSEC_PER_SEC / 2;
	expect("kvmstat_vms ", "a new VM appears a second later");
	guests[0].dead = true;
	now_ns += NSEC_PER_SEC;
	expect("kvmstat_vm_up", "a VM that has ended disappears");
	tear_down();
}

/* Chosen VMs, VMs that start later, and a process that gets a chosen name and a second VM. */
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
	expect("kvmstat_vm_up", "chosen by name and by pid");
	guests[0].name = "was-a";
	guests[1].name = "renamed";
	set_guest(3, 103, "web", 1);
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect("kvmstat_vms ", "a chosen VM comes later; a chosen VM that is renamed stays");
	set_guest(4, 104, "b", 1);
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect("kvmstat_vms ", "a VM with another name is not chosen");
	/* The second VM of the process. */
	set_guest(5, 104, "w", 1);
	guests[4].name = "w";
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect("kvmstat_vms ",
	       "a process gets a chosen name with its second VM: both VMs are chosen");
	tear_down();
}

/* A restarted VM continues its series; kvm_vm_info has the new pid. */
static void test_restart(void)
{
	set_up(false);
	set_guest(1, 101, "b", 1);
	guests_start();
	expect("kvm_vm_info", "two VMs");
	guests[0].dead = true;
	set_guest(2, 103, "a", 1);
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect("kvm_vm_info{vm=\"a\"", "a VM that is started again keeps its label");
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

/* Labels do not depend on the order in which VMs are found, or on the start of the exporter. */
static void test_labels_of_the_same_name(void)
{
	set_up(false);
	guests[0].started = 900;
	guests[0].name = "db";
	expect("kvm_vm_info", "the only one called db");
	set_guest(1, 101, "db", 1);
	guests[1].started = 4711;
	/* This VM started first, and is found last. */
	set_guest(2, 102, "db", 1);
	guests[2].started = 800;
	guests_start();
	now_ns += NSEC_PER_SEC;
	expect("kvm_vm_info", "three called db: told apart by their start");
	start_exporter_again();
	expect("kvm_vm_info", "three called db: another exporter gives the same labels");
	/* A name in libvirt's pid file beats an earlier start, which any user can arrange. */
	guests[0].named_by = IDENTITY_RUN;
	start_exporter_again();
	expect("kvm_vm_info", "three called db: the surest name has it alone");
	tear_down();

	set_up(false);
	set_guest(1, 101, "a", 1);
	set_guest(2, 102, "a@1.00", 1);
	guests_start();
	expect("kvm_vm_info", "a name like the label of another VM");
	tear_down();
}

static const struct image_stat accounted_vm[] = {
	STAT_LEVEL("online_vcpus"),
	STAT_BOOL("time_accounting"),
	STAT_BOOL("ready_accounting"),
	{},
};

static const struct image_stat accounted_vcpu[] = {
	{ .name = "exits", },
	STAT_NS("time_guest_ns"),
	STAT_NS("time_halt_ns"),
	STAT_HIST_NS("exit_hist", 2),
	STAT_NS("ready_ns"),
	{},
};

/* Without accounting, a VM has no samples instead of zeros. */
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
	expect("kvm_vcpu_", "statistics without accounting are absent");
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
	expect("kvmstat_vm_thread", "threads: what /proc says of a VM whose kernel does not");
	/* The other thread has ended. */
	list.count = 1;
	threads[0].times.guest_ns += SECONDS(5);
	threads[0].times.has_ready = false;
	expect("kvmstat_vm_thread",
	       "threads: times of an ended thread stay; no ready time if it is not counted");
	set_guest(1, 100, "a", 1);
	guests_start();
	now_ns += 2 * NSEC_PER_SEC;
	expect("kvmstat_vm_thread", "threads: none of a process with two VMs");
	tear_down();

	set_up(false);
	guests_free();
	set_guest(0, 100, "a", 1);
	guests[0].vm_stats = accounted_vm;
	guests[0].vcpu_stats = accounted_vcpu;
	guests[0].threads = &list;
	guests_start();
	guest_vm_values(&guests[0])[1] = 1;
	expect("kvmstat_vm_thread", "threads: none where KVM accounts for time");
	guest_vm_values(&guests[0])[1] = 0;
	expect("kvmstat_vm_thread_seconds_total{vm=\"a\",mode=\"guest\"}",
	       "threads: present while KVM's accounting is off");
	tear_down();
}

/* Gives the VM all fields of an identity. */
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
		       "kvm_vm_info{vm=\"a\",pid=\"100\",id=\"kvm-100\",name=\"a\",uuid=\"\\\"1\",libvirt_domain=\"\\\"2\",machine=\"\\\"3\",kubevirt_namespace=\"\\\"4\",kubevirt_vmi=\"\\\"5\",pod_uid=\"\\\"6\"} 1\n",
		       "identity: all fields are labels of kvm_vm_info");
	check_contains(text, "kvm_vcpu_exits_total{vm=\"a\"} 3\n", "identity: no labels on other metrics");
	free(text);
	tear_down();
}

/* Chosen labels are on every series of a VM, once, after the label vm. */
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
	expect("kvm_vcpu_exits_total", "chosen labels: on each series of a VM that has them");
	expect("kvmstat_vm_up", "chosen labels: also on the exporter's own series");
	expect("kvm_vm_info{vm=\"a\"", "chosen labels: each known label once");
	tear_down();
}

static void expect_of(const char *pattern, const char *name)
{
	struct scrape_options options = {};
	regex_t only;

	if (regcomp(&only, pattern, REG_EXTENDED | REG_NOSUB))
		abort();
	options.only = &only;
	set_up_with(&options);
	expect("kvm_v", name);
	tear_down();
	regfree(&only);
}

/* --stat chooses by names of statistics, and does not change the names of metrics. */
static void test_chosen_statistics(void)
{
	expect_of("^exits$|^online", "chosen statistics: of VM and vCPUs");
	expect_of("^halt_wait_ns$", "chosen statistics: a sum with its histogram");
	expect_of("wait_hist", "chosen statistics: a histogram with its sum");
	expect_of("fail", "chosen statistics: by a part of the name");
	expect_of("seconds", "chosen statistics: not by the name of the metric");
}

/* With fewer buckets, each has the same count as among all. */
static void test_thinned_buckets(void)
{
	static const uint64_t numbers[] = { 1, 2, 3, 4, UINT32_MAX, };
	static const struct image_stat long_stats[] = {
		STAT_HIST_NS("long_hist", 32),
		{ .name = "huge", .flags = KVM_STATS_TYPE_LOG_HIST, .size = 70, },
		{},
	};
	struct scrape_options options = {};
	unsigned int i;
	char *name;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		options.max_buckets = numbers[i];
		set_up_with(&options);
		name = xasprintf("buckets: %llu", (unsigned long long)numbers[i]);
		expect("kvm_vcpu_halt_wait_seconds", name);
		free(name);
		name = xasprintf("buckets: %llu of a linear one", (unsigned long long)numbers[i]);
		expect("kvm_vcpu_depth", name);
		free(name);
		tear_down();
	}
	options.max_buckets = 2;
	set_up_with(&options);
	expect("kvm_vcpu_exits_by_reason", "buckets: named buckets are not thinned out");
	tear_down();
	options.max_buckets = 8;
	set_up_with(&options);
	replace_guest(1, vm_stats, long_stats);
	for (i = 0; i < 102; i++)
		guest_vcpu_values(&guests[0], 0)[i] = 1;
	expect("kvm_vcpu_long_seconds_bucket",
	       "buckets: of 32 the highest bound and each fifth below");
	expect("kvm_vcpu_huge_bucket", "buckets: of equal bounds one is left");
	tear_down();
}

static void test_values_are_fresh(void)
{
	set_up(false);
	expect("kvm_vcpu_exits_total", "values");
	guest_vcpu_values(&guests[0], 1)[EXITS] = 1000;
	expect("kvm_vcpu_exits_total", "values are read for each scrape");
	tear_down();
}

/* A VM that is refused, and a process that kvmstat may not look into. */
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
	expect("kvmstat_vm_up", "failures: a VM without statistics is there, and not up");
	expect("kvm_vcpu_exits_total", "failures: the others have their values");
	expect("kvmstat_problems", "failures: counted");
	expect("kvmstat_processes_denied",
	       "failures: processes that may not be looked into are counted");
	inventory.is_hidden = true;
	expect("kvmstat_processes_hidden", "failures: hidden processes are a metric");
	check_number(inventory.num_problems, 1, "failures: repeated problems count once");
	tear_down();
}

/* Two schemas on one host: both have samples of a common metric. */
static void test_schemas(void)
{
	static const struct image_stat other_vcpu_stats[] = {
		{ .name = "new.one", },
		STAT_LEVEL("exits"),
		{ .name = "halt_poll_fail_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -6, },
		STAT_NS("wait_nanoseconds"),
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
	expect("kvm_vcpu_halt_poll_fail", "schemas: scaled by what each says");
	expect("kvm_vcpu_exits_total", "schemas: each has its own samples");
	expect("kvm_vcpu_exits_2", "schemas: another type is another metric");
	guest_vcpu_values(&guests[1], 0)[3] = 4;
	guest_vcpu_values(&guests[1], 0)[4] = 5;
	expect("kvm_vcpu_wait", "schemas: a name that contains its unit does not repeat it");
	expect("kvm_vcpu_new", "schemas: names have no other characters than metrics may have");
	tear_down();
}

/* Many short VMs whose VMM holds their files: no file stays open. */
static void test_many_short_ones(void)
{
	size_t num_schemas = 0;
	unsigned int i;

	set_up(false);
	set_guest(1, 101, "held", 2);
	guests[1].split = true;
	guests[1].held = true;
	set_guest(2, 102, "held too", 1);
	guests[2].split = true;
	guests[2].held = true;
	guests_start();
	set_values(&guests[1], 0, 5);
	set_values(&guests[2], 0, 700);
	for (i = 0; i < 100; i++) {
		guests[1].dead = i % 2;
		guests[2].dead = !(i % 2);
		now_ns += 2 * NSEC_PER_SEC;
		free(scrape(FORMAT_PROMETHEUS, 1 << 16));
		if (i == 1)
			num_schemas = collector.metrics.num_schemas;
	}
	check_number(collector.metrics.num_schemas, num_schemas,
		     "many short VMs: equal schemas are kept once");
	guests[1].dead = false;
	now_ns += 2 * NSEC_PER_SEC;
	expect("kvm_vcpu_exits_total", "many short VMs: all have their values");
	tear_down();
}

/* Histograms with named buckets, and histograms without names. */
static void test_named_buckets(void)
{
	static const char * const names[] = { "a\"b\\", "c", NULL, };
	static const struct image_stat named_stats[] = {
		{
			.name = "halt_hist",
			.flags = KVM_STATS_TYPE_LOG_HIST | KVM_STATS_UNIT_SECONDS,
			.exponent = -9,
			.size = 2,
			.value_names = names,
		},
		STAT_NS("halt_ns"),
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
	expect("kvm_vcpu_halt_total",
	       "names: of any histogram, escaped; counts have no unit and no scale");
	expect("kvm_vcpu_halt_seconds",
	       "names: a time that is no sum of bounds is a metric of its own");
	expect("kvm_vcpu_exit_reasons",
	       "names: a histogram without names of buckets stays a histogram");
	expect("kvm_vcpu_state", "names: an enumeration is no metric");
	tear_down();
}

static const struct image_stat time_vm_stats[] = {
	STAT_LEVEL("online_vcpus"),
	STAT_BOOL("time_accounting"),
	{},
};

/* Not in the order of the kernel's lists, and not all of them. */
static const struct image_stat time_vcpu_stats[] = {
	STAT_NS("time_user_ns"),
	STAT_HIST_NS("exit_hist", 3),
	STAT_STATE("state", "none", "guest"),
	STAT_SINCE("state_since_ns"),
	STAT_REASON_NS("exit_reason_ns", 3, "interrupt", "", "other"),
	STAT_NS("time_exit_ns"),
	STAT_NS("time_guest_ns"),
	STAT_NS("time_exit_ns"),
	{},
};

/* The six times by state are one metric, and no name is used twice. */
static void test_time(void)
{
	static const struct image_stat some_vcpu_stats[] = {
		STAT_NS("exit_ns"),
		STAT_NS("time_poll_ns"),
		STAT_LEVEL("time_halt_ns"),
		{ .name = "pause_ns", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, .size = 2, },
		STAT_HIST_NS("pause_hist", 2),
		{ .name = "levels", .flags = KVM_STATS_TYPE_INSTANT, .size = 2, },
		{ .name = "time", .flags = KVM_STATS_UNIT_SECONDS, .exponent = -9, .size = 2, },
		{},
	};
	unsigned int i;
	char *text;

	set_up(false);
	replace_guest(2, time_vm_stats, time_vcpu_stats);
	guest_vm_values(&guests[0])[1] = 1;
	for (i = 0; i < 12; i++) {
		guest_vcpu_values(&guests[0], 0)[i] = i * 3;
		guest_vcpu_values(&guests[0], 1)[i] = 0;
	}
	guest_vcpu_values(&guests[0], 0)[0] = 1000000000;
	guest_vcpu_values(&guests[0], 1)[0] = 2000000000;
	text = scrape(FORMAT_OPENMETRICS, 4096);
	check_page("time: all of it", text);
	free(text);

	set_guest(1, 101, "b", 1);
	guests[1].vcpu_stats = some_vcpu_stats;
	guests_start();
	for (i = 0; i < 11; i++)
		guest_vcpu_values(&guests[1], 0)[i] = i;
	now_ns += 2 * NSEC_PER_SEC;
	expect("kvm_vcpu_time_seconds_total,state=",
	       "time: VMs with different states share one metric");
	expect("kvm_vcpu_time_halt", "time: a statistic of another type is no state");
	expect("kvm_vcpu_exit_seconds_2", "time: a name that is taken");
	expect("kvm_vcpu_pause_seconds", "time: an array without names is no sum of a histogram");
	expect("kvm_vcpu_levels", "time: an array of what goes up and down");
	expect("kvm_vcpu_time_seconds_2", "time: a statistic of that name is another metric");
	tear_down();

	set_up(true);
	replace_guest(2, vm_stats, time_vcpu_stats);
	expect("kvm_vcpu_time_seconds_total,vcpu=", "time: per vCPU");
	expect("kvm_vcpu_state", "time: the state of a vCPU is no metric");
	tear_down();
}

static const struct image_stat running_stats[] = {
	STAT_NS("time_halt_ns"),
	STAT_NS("time_sleep_ns"),
	STAT_STATE("state", "halt", "sleep"),
	STAT_SINCE("state_since_ns"),
	{},
};

enum { HALT_NS, SLEEP_NS, STATE, SINCE, };
enum { IN_HALT, IN_SLEEP, };

/* Scrapes show a long fault while it lasts, and no counter goes back. */
static void test_running_states(bool per_vcpu, const char *lasts, const char *ended)
{
	uint64_t *values;

	set_up(per_vcpu);
	replace_guest(1, time_vm_stats, running_stats);
	values = guest_vcpu_values(&guests[0], 0);
	now_ns = 10 * NSEC_PER_SEC;
	values[SLEEP_NS] = NSEC_PER_SEC;
	values[STATE] = IN_SLEEP;
	values[SINCE] = 4 * NSEC_PER_SEC;
	guest_vm_values(&guests[0])[1] = 1;
	expect("kvm_vcpu_time_seconds", lasts);
	/* KVM has moved the time to another state. */
	now_ns += 2 * NSEC_PER_SEC;
	values[SLEEP_NS] = 2 * NSEC_PER_SEC;
	values[STATE] = IN_HALT;
	values[SINCE] = 11 * NSEC_PER_SEC;
	expect("kvm_vcpu_time_seconds", ended);
	tear_down();
}

static void decimal(uint32_t flags, int16_t exponent, uint64_t value, const char *expected)
{
	struct statsfile_desc desc = { .flags = flags, .exponent = exponent, };
	char text[FORMAT_SIZE];
	int length = format_decimal(text, &desc, value);

	check_text(text, expected, expected);
	check_number(length, strlen(expected), "length of the number");
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

	set_up(false);
	replace_guest(1, vm_stats, huge_stats);
	guest_vcpu_values(&guests[0], 0)[68] = 3;
	expect("kvm_vcpu_huge_bucket{vm=\"a\",le=\"18",
	       "huge buckets: bounds beyond 64 bits are in the last one, no bound twice");
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

/* An entry of each list, and entries that only some configurations have. */
static void test_descriptions(void)
{
	static const struct {
		enum scope scope;
		const char *name;
		bool is_known;
	} cases[] = {
		{ SCOPE_VM, "online_vcpus", true, }, { SCOPE_VCPU, "online_vcpus", false, },
		{ SCOPE_VCPU, "halt_wait_hist", true, }, { SCOPE_VCPU, "nmi_injections", true, },
		{ SCOPE_VCPU, "wfi_exit_stat", true, }, { SCOPE_VCPU, "vz_cpucfg_exits", true, },
		{ SCOPE_VCPU, "ld_slow", true, }, { SCOPE_VM, "time_accounting", true, },
		{ SCOPE_VCPU, "state", true, }, { SCOPE_VCPU, "exit_reasons", true, },
		{ SCOPE_VCPU, "exit_null", true, }, { SCOPE_VCPU, "frobnications", false, },
		{ SCOPE_VM, "lpages", true, },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(!!describe_statistic(cases[i].scope, cases[i].name) == cases[i].is_known,
		      "description of %s", cases[i].name);
}

int main(void)
{
	time_source = &scrape_time;
	test_openmetrics();
	test_prometheus();
	test_per_vcpu();
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
	test_running_states(false, "time: a state that lasts counts", "time: no counter goes back");
	test_running_states(true, "time: a state of a vCPU counts",
			    "time: no counter of a vCPU goes back");
	test_decimals();
	test_huge_buckets();
	test_accept();
	test_addresses();
	test_descriptions();
	return tap_end();
}
