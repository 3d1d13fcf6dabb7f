// SPDX-License-Identifier: GPL-2.0
/*
 * make_cases CASES DIR: writes a recording of two samples for each case in CASES, and what kvmstat
 * should say about it. cases.t explains the words.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../abi.h"
#include "../kvmstat.h"

#define MS 1000000ull
#define NAME 48
#define MOST_VCPUS 64
#define MOST_THREADS 8

/* The vCPU statistics of a kernel with the series, in the order of their values. */
static const char * const reasons[] = {
	"interrupt", "io", "cpuid", "exception", "page_fault", "nested_page_fault", "hlt",
};
static const char * const states[] = {
	"none", "guest", "exit", "poll", "halt", "sleep", "ready", "user", "off",
};
static const struct { unsigned int number; const char *name; } user_exits[] = {
	{ 2, "io", }, { 5, "hlt", }, { 6, "mmio", }, { 8, "shutdown", }, { 9, "fail_entry", },
	{ 10, "intr", }, { 17, "internal_error", }, { 24, "system_event", },
};

enum { NOW, GROWS, BUCKETS, };

#define STATISTIC(...) { __VA_ARGS__, .is_new = false, }
#define NEW_STATISTIC(...) { __VA_ARGS__, .is_new = true, }

static const struct statistic {
	const char *name;
	int kind, unit;			/* 2: nanoseconds */
	unsigned int size;
	bool is_new;			/* not on older kernels */
} vcpu_statistics[] = {
	STATISTIC("state", NOW, 0, 1), STATISTIC("state_since_ns", NOW, 2, 1),
	NEW_STATISTIC("last_user_exit", NOW, 0, 1),
	STATISTIC("time_guest_ns", GROWS, 2, 1), STATISTIC("time_exit_ns", GROWS, 2, 1),
	STATISTIC("time_poll_ns", GROWS, 2, 1), STATISTIC("time_halt_ns", GROWS, 2, 1),
	STATISTIC("time_sleep_ns", GROWS, 2, 1), STATISTIC("ready_ns", GROWS, 2, 1),
	STATISTIC("time_user_ns", GROWS, 2, 1), NEW_STATISTIC("time_off_ns", GROWS, 2, 1),
	STATISTIC("exits", GROWS, 0, 1), STATISTIC("halt_wakeup", GROWS, 0, 1),
	STATISTIC("exit_reasons", GROWS, 0, ARRAY_SIZE(reasons)),
	STATISTIC("exit_reason_ns", GROWS, 2, ARRAY_SIZE(reasons)),
	NEW_STATISTIC("exit_reason_sleep_ns", GROWS, 2, ARRAY_SIZE(reasons)),
	STATISTIC("user_exits", GROWS, 0, 32),
	STATISTIC("ready_hist", BUCKETS, 2, 32),
};
static const struct statistic vm_statistics[] = {
	STATISTIC("online_vcpus", NOW, 0, 1), STATISTIC("time_accounting", NOW, 4, 1),
};

#define MOST_VALUES 256

struct made {
	uint64_t value[2][MOST_VALUES];
	char cpus[32], cgroup[64];
	bool out;			/* of KVM_RUN */
};

static struct sample {
	uint64_t interval_ns, now_ns, lost_ns;
	bool has_statistics, is_old, has_guest_time;
	char name[64];
	unsigned int num_vcpus, num_threads, num_cgroups, taken;
	struct made vcpu[MOST_VCPUS];
	struct { char name[16], cpus[32]; uint64_t run_ns; } thread[MOST_THREADS];
	struct { char path[64]; uint64_t throttled_ns, before_ns; } cgroup[MOST_THREADS];
} now;

static unsigned int find(const char *name)
{
	const struct statistic *statistic = vcpu_statistics;
	unsigned int first = 0;

	for (; statistic < vcpu_statistics + ARRAY_SIZE(vcpu_statistics); statistic++) {
		if (!strcmp(statistic->name, name))
			return first;
		first += statistic->size;
	}
	fprintf(stderr, "no statistic is called %s\n", name);
	exit(2);
}

static unsigned int index_of(const char *name, const char * const *names, size_t count)
{
	size_t i;

	for (i = 0; i < count && strcmp(names[i], name); i++)
		;
	if (i < count)
		return i;
	fprintf(stderr, "no value is called %s\n", name);
	exit(2);
}

static uint64_t user_exit(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(user_exits); i++) {
		if (!strcmp(user_exits[i].name, name))
			return user_exits[i].number;
	}
	return STATS_NO_EXIT;
}

/* One word of a line about vCPUs. */
static void set(struct made *vcpu, const char *key, const char *text)
{
	uint64_t *before = vcpu->value[0], *value = vcpu->value[1], number = strtoull(text, NULL, 10);
	char name[64];
	unsigned int i;

	if (!strcmp(key, "state")) {
		value[find("state")] = index_of(text, states, ARRAY_SIZE(states));
	} else if (!strcmp(key, "since")) {
		value[find("state_since_ns")] = now.now_ns - number * MS;
	} else if (!strcmp(key, "last")) {
		value[find("last_user_exit")] = user_exit(text);
	} else if (!strncmp(key, "reason.", 7)) {
		i = index_of(key + 7, reasons, ARRAY_SIZE(reasons));
		value[find("exit_reasons") + i] += number;
		value[find("exits")] += number;
	} else if (!strncmp(key, "reasonms.", 9)) {
		value[find("exit_reason_ns") + index_of(key + 9, reasons, ARRAY_SIZE(reasons))] += number * MS;
	} else if (!strncmp(key, "sleepms.", 8)) {
		value[find("exit_reason_sleep_ns") + index_of(key + 8, reasons, ARRAY_SIZE(reasons))] += number * MS;
	} else if (!strncmp(key, "user.", 5)) {
		value[find("user_exits") + user_exit(key + 5)] += number;
	} else if (!strcmp(key, "wakeups")) {
		value[find("halt_wakeup")] += number;
	} else if (!strcmp(key, "never")) {
		before[find("exits")] = value[find("exits")] = 0;
		before[find("time_guest_ns")] = value[find("time_guest_ns")] = 0;
	} else if (!strcmp(key, "out")) {
		vcpu->out = true;
	} else if (!strcmp(key, "cpus")) {
		snprintf(vcpu->cpus, sizeof(vcpu->cpus), "%s", text);
	} else if (!strcmp(key, "cgroup")) {
		snprintf(vcpu->cgroup, sizeof(vcpu->cgroup), "%s", text);
	} else {			/* a share of the interval in percent */
		snprintf(name, sizeof(name), strcmp(key, "ready") ? "time_%s_ns" : "%s_ns", key);
		value[find(name)] += now.interval_ns / 100 * number;
	}
}

static void set_vcpus(char *words)
{
	unsigned int first, last, i;
	char *word, *equals, *rest = words, copy[1024];

	word = strsep(&rest, " ");
	if (sscanf(word, "%u-%u", &first, &last) != 2)
		first = last = strtoul(word, NULL, 10);
	for (i = first; i <= last && i < MOST_VCPUS; i++) {
		snprintf(copy, sizeof(copy), "%s", rest);
		for (words = copy; (word = strsep(&words, " "));) {
			equals = strchr(word, '=');
			if (equals)
				*equals++ = '\0';
			if (*word)
				set(&now.vcpu[i], word, equals ?: "");
		}
	}
}

/* Writes descriptors and value names. Returns the number of values. */
static unsigned int put_descs(unsigned char *descs, const struct statistic *statistic, size_t count)
{
	static const unsigned int flags[] = {
		[NOW] = INSTANT, [GROWS] = CUMULATIVE, [BUCKETS] = LOG_HIST,
	};
	unsigned int first = 0;
	size_t i;

	for (i = 0; i < count; i++, descs += sizeof(struct stats_desc) + NAME) {
		struct stats_desc desc = {
			.flags = flags[statistic[i].kind] | statistic[i].unit << 4,
			.exponent = statistic[i].unit == 2 ? -9 : 0, .size = statistic[i].size,
			.offset = first * 8,
		};

		memcpy(descs, &desc, sizeof(desc));
		/* A kernel without it has another statistic there. */
		snprintf((char *)descs + sizeof(desc), NAME, "%s%s",
			 now.is_old && statistic[i].is_new ? "old_" : "", statistic[i].name);
		first += statistic[i].size;
	}
	return first;
}

static void put_name(unsigned char **to, const char *statistic, unsigned int value, const char *name)
{
	struct stats_value_name packed = { .value = value, };

	while (strcmp(vcpu_statistics[packed.desc].name, statistic))
		packed.desc++;
	memcpy(*to, &packed, sizeof(packed));
	snprintf((char *)*to + sizeof(packed), NAME, "%s", name);
	*to += sizeof(packed) + NAME;
}

static unsigned int put_names(unsigned char *names)
{
	static const char * const by_reason[] = { "exit_reasons", "exit_reason_ns", "exit_reason_sleep_ns", };
	static const char * const by_exit[] = { "last_user_exit", "user_exits", };
	unsigned char *at = names;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		put_name(&at, "state", i, states[i]);
	for (k = 0; k < ARRAY_SIZE(by_reason); k++) {
		for (i = 0; i < ARRAY_SIZE(reasons); i++)
			put_name(&at, by_reason[k], i, reasons[i]);
	}
	for (k = 0; k < ARRAY_SIZE(by_exit); k++) {
		for (i = 0; i < ARRAY_SIZE(user_exits); i++)
			put_name(&at, by_exit[k], user_exits[i].number, user_exits[i].name);
	}
	return (at - names) / (sizeof(struct stats_value_name) + NAME);
}

/* The statistics file up to its data. */
static unsigned char *make_header(size_t *size, unsigned int *num_values)
{
	unsigned char *file = xcalloc(16384, 1);
	struct stats_header header = {
		.flags = STATS_HEADER_EXT, .name_size = NAME, .id_offset = sizeof(header),
		.num_desc = ARRAY_SIZE(vm_statistics),
		.desc_offset = sizeof(header) + NAME + sizeof(struct stats_ext), .data_offset = 16384,
	};
	struct stats_ext ext = {
		.size = sizeof(ext), .magic = STATS_EXT_MAGIC, .vcpu_stride = 4096,
		.vcpu_max = MOST_VCPUS, .vcpu_num_desc = ARRAY_SIZE(vcpu_statistics),
		.vcpu_desc_offset = 1024, .vcpu_id_offset = 12288, .vcpu_value_name_offset = 4096,
		.value_name_size = sizeof(struct stats_value_name) + NAME,
	};

	put_descs(file + header.desc_offset, vm_statistics, ARRAY_SIZE(vm_statistics));
	*num_values = put_descs(file + ext.vcpu_desc_offset, vcpu_statistics,
				ARRAY_SIZE(vcpu_statistics));
	ext.vcpu_value_name_num = put_names(file + ext.vcpu_value_name_offset);
	memcpy(file, &header, sizeof(header));
	strcpy((char *)file + sizeof(header), "kvm-100");
	memcpy(file + sizeof(header) + NAME, &ext, sizeof(ext));
	*size = 16384;
	return file;
}

static void add_text(struct frame *frame, const char *name, char *text)
{
	frame_add(frame, text, strlen(text), "vm/1/%s", name);
}

static void add_thread(struct frame *frame, int tid, const char *name, const uint64_t ns[4],
		       const char *cpus, const char *cgroup, bool out)
{
	unsigned long long tick = 10 * MS;
	char *text, path[64];

	/* user, kernel, guest in ticks; run, ready */
	text = xasprintf("%d (%s) %c 0 0 0 0 0 0 0 0 0 0 %llu %llu 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0 0 0 %llu 0\n",
			 tid, name, ns[0] || ns[1] ? 'R' : 'S', (ns[0] + ns[2]) / tick, ns[1] / tick, atoi(cpus),
			 ns[2] / tick);
	snprintf(path, sizeof(path), "task/%d/stat", tid);
	add_text(frame, path, text);
	text = xasprintf("%llu %llu 9\n", (unsigned long long)(ns[0] + ns[1] + ns[2]),
			 (unsigned long long)ns[3]);
	snprintf(path, sizeof(path), "task/%d/schedstat", tid);
	add_text(frame, path, text);
	snprintf(path, sizeof(path), "task/%d/syscall", tid);
	add_text(frame, path, xasprintf("%s", out ? "202 0x7f 0x80 0x0\n" : "16 0xb 0xae80 0x0\n"));
	snprintf(path, sizeof(path), "task/%d/status", tid);
	add_text(frame, path, xasprintf("Name:\t%s\nCpus_allowed_list:\t%s\n", name, cpus));
	snprintf(path, sizeof(path), "task/%d/cgroup", tid);
	add_text(frame, path, xasprintf("0::%s\n", cgroup));
}

static void add_vcpu_thread(struct frame *frame, unsigned int i, unsigned int second)
{
	const struct made *vcpu = &now.vcpu[i];
	const uint64_t *value = vcpu->value[second];
	uint64_t ns[4] = {
		now.has_statistics ? 0 : value[find("time_user_ns")], value[find("time_exit_ns")] + value[find("time_poll_ns")],
		value[find("time_guest_ns")], value[find("ready_ns")],
	};
	char name[32];

	if (!now.has_guest_time) {
		ns[1] += ns[2];
		ns[2] = 0;
	}
	snprintf(name, sizeof(name), "CPU %u/KVM", i);
	add_thread(frame, 101 + i, name, ns, *vcpu->cpus ? vcpu->cpus : "0-3",
		   *vcpu->cgroup ? vcpu->cgroup : "/machine/vm", vcpu->out);
}

static void add_statistics(struct frame *frame, unsigned int second)
{
	uint64_t *own = xcalloc(2, 8), *values;
	uint32_t *ids = xcalloc(now.num_vcpus, 4);
	unsigned int num_values, i;
	unsigned char *header;
	size_t size;

	header = make_header(&size, &num_values);
	frame_add(frame, header, size, "vm/1/header")->is_schema = true;
	own[0] = now.num_vcpus;
	own[1] = 1;
	frame_add(frame, own, 16, "vm/1/data");
	values = xcalloc(now.num_vcpus, num_values * 8);
	for (i = 0; i < now.num_vcpus; i++) {
		ids[i] = i;
		memcpy(values + i * num_values, now.vcpu[i].value[second], num_values * 8);
	}
	frame_add(frame, ids, now.num_vcpus * 4, "vm/1/vcpu-ids");
	frame_add(frame, values, now.num_vcpus * num_values * 8, "vm/1/vcpu-data");
}

static bool next(struct source *source, struct frame *frame, uint64_t wait_ns)
{
	static const char scan[] = "denied=1\nhidden=1\nnamespace=1\nmissing=2\n"
				   "unseen=3\nproblems=4\n";
	unsigned int second = now.taken++, i;
	char path[96];

	(void)wait_ns;
	if (second > 1)
		return false;
	*frame = (struct frame) {
		.mono_ns = now.now_ns - (second ? 0 : now.interval_ns),
		.real_ns = 1795000000 * SEC - (second ? 0 : now.interval_ns),
	};
	source->mono_ns = frame->mono_ns;
	frame_add(frame, xmemdup(scan, strlen(scan)), strlen(scan), "host/scan");
	/* CPU 0 was idle at first, and ran user space since then. */
	char *stat = xasprintf("cpu0 %llu 0 0 1000 0 0 0 0 0 0\nintr 1\n", second * (unsigned long long)
			       (now.interval_ns - now.lost_ns) / (10 * MS));
	frame_add(frame, stat, strlen(stat), "host/stat");
	add_text(frame, "who", xasprintf("pid=100\nstarted=1\nname=%s\nname.trust=1\n", now.name));
	if (now.has_statistics)
		add_statistics(frame, second);
	for (i = 0; i < now.num_vcpus; i++)
		add_vcpu_thread(frame, i, second);
	for (i = 0; i < now.num_threads; i++)
		add_thread(frame, 201 + i, now.thread[i].name,
			   (uint64_t[4]) { second ? now.thread[i].run_ns : 0, }, now.thread[i].cpus,
			   "/machine/vm", true);
	for (i = 0; i < now.num_cgroups; i++) {
		snprintf(path, sizeof(path), "cgroup%s/cpu.stat", now.cgroup[i].path);
		add_text(frame, path, xasprintf("usage_usec 1\nthrottled_usec %llu\n",
			 (unsigned long long)(now.cgroup[i].before_ns +
					      (second ? now.cgroup[i].throttled_ns : 0)) / 1000));
	}
	add_text(frame, "stat", xasprintf("100 (vmm) S 0 0 0 0 0 0 0 0 0 0 1 1 0\n"));
	return true;
}

static void begin(const char *name)
{
	unsigned int i;

	now = (struct sample) {
		.interval_ns = SEC, .now_ns = 100000 * SEC, .has_statistics = true, .has_guest_time = true,
	};
	snprintf(now.name, sizeof(now.name), "%s", name);
	for (i = 0; i < MOST_VCPUS; i++) {
		uint64_t *value = now.vcpu[i].value[1];

		/* It ran before. Its state has just begun. */
		value[find("exits")] = 1000;
		value[find("time_guest_ns")] = 50 * SEC;
		value[find("state")] = 2;
		value[find("last_user_exit")] = STATS_NO_EXIT;
		value[find("state_since_ns")] = now.now_ns - MS;
		memcpy(now.vcpu[i].value[0], value, sizeof(now.vcpu[i].value[0]));
		now.vcpu[i].value[0][find("state_since_ns")] -= now.interval_ns;
	}
}

static bool write_case(const char *dir, const char *expected)
{
	struct source source = { .next = next, };
	char *path = xasprintf("%s/%s.tar.gz", dir, now.name);
	int status = 1;
	FILE *out;

	/* In a process of its own: recording.c remembers what it has stored. */
	if (!fork())
		_exit(record(path, &source, 1, 1, false));
	wait(&status);

	free(path);
	path = xasprintf("%s/%s.expected", dir, now.name);
	out = fopen(path, "w");
	if (out)
		fprintf(out, "%s (pid 100) is %s\n", now.name, expected);
	free(path);
	return out && !fclose(out) && !status;
}

int main(int argc, char **argv)
{
	char line[1024], *rest;
	FILE *cases = argc == 3 ? fopen(argv[1], "r") : NULL;

	while (cases && fgets(line, sizeof(line), cases)) {
		line[strcspn(line, "\n")] = '\0';
		rest = line + strspn(line, " \t");
		if (!*rest || *rest == '#')
			continue;
		const char *word = strsep(&rest, " ");

		if (!strcmp(word, "case")) {
			begin(rest);
		} else if (!strcmp(word, "vcpus")) {
			now.num_vcpus = strtoul(rest, NULL, 10);
		} else if (!strcmp(word, "interval")) {
			now.interval_ns = strtoull(rest, NULL, 10) * MS;
		} else if (!strcmp(word, "lost")) {
			now.lost_ns = strtoull(rest, NULL, 10) * MS;
		} else if (!strcmp(word, "kernel")) {
			now.is_old = !strcmp(rest, "old");
			now.has_statistics = strcmp(rest, "stock") && strcmp(rest, "stock-without-guest-time");
			now.has_guest_time = strcmp(rest, "stock-without-guest-time");
		} else if (!strcmp(word, "vcpu")) {
			set_vcpus(rest);
		} else if (!strcmp(word, "thread")) {
			unsigned int i = now.num_threads++ % MOST_THREADS, run;

			sscanf(rest, "%15s run=%u cpus=%31s", now.thread[i].name, &run, now.thread[i].cpus);
			now.thread[i].run_ns = now.interval_ns / 100 * run;
		} else if (!strcmp(word, "cgroup")) {
			unsigned int i = now.num_cgroups++ % MOST_THREADS;
			unsigned long long ms, before = 0;

			sscanf(rest, "%63s throttled=%llu before=%llu", now.cgroup[i].path, &ms, &before);
			now.cgroup[i].throttled_ns = ms * MS;
			now.cgroup[i].before_ns = before * MS;
		} else if (!strcmp(word, "is")) {
			if (!write_case(argv[2], rest))
				return 1;
		} else {
			fprintf(stderr, "%s: what is '%s'?\n", argv[1], word);
			return 2;
		}
	}
	return cases ? fclose(cases) : 2;
}
