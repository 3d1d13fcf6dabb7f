// SPDX-License-Identifier: GPL-2.0
/* Turns the files of a frame into VMs, their values and growth, and how they spend their time. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "kvmstat.h"

#define TICK (SEC / 100)		/* USER_HZ is ABI */

static const char **choice;
static size_t num_choices;

void choose(const char *text)
{
	choice = xgrow(choice, num_choices, sizeof(*choice));
	choice[num_choices++] = text;
}

size_t num_chosen(void)
{
	return num_choices;
}

static bool matches(const char *text, pid_t pid, const char *name)
{
	uint64_t number;

	if (*text != '0' && parse_u64(text, &number))
		return number == (uint64_t)pid;
	return !strcmp(text, name) || !fnmatch(text, name, 0);
}

bool is_chosen(pid_t pid, const char *name)
{
	size_t i;

	for (i = 0; i < num_choices; i++) {
		if (matches(choice[i], pid, name))
			return true;
	}
	return !num_choices;
}

const char *find_unmatched(const struct host *host)
{
	size_t i, k;

	for (i = 0; i < num_choices; i++) {
		for (k = 0; k < host->count; k++) {
			if (matches(choice[i], host->vm[k].pid, host->vm[k].name))
				break;
		}
		if (k == host->count)
			return choice[i];
	}
	return NULL;
}

/* The value of the line "KEY..." in a text. */
static bool field_of(const struct entry *entry, const char *key, char *to, size_t size)
{
	const char *line = entry ? (const char *)entry->data : NULL;

	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)))
			continue;
		line += strlen(key);
		snprintf(to, size, "%.*s", (int)strcspn(line, "\n"), line);
		return true;
	}
	return false;
}

static uint64_t number_of(const struct entry *entry, const char *key)
{
	char text[32];

	return field_of(entry, key, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

/* The time of a CPU that its ticks have counted. */
static uint64_t counted_ns(const struct entry *stat, int cpu)
{
	unsigned long long n[8] = {};
	char key[16], text[256];

	snprintf(key, sizeof(key), "cpu%d ", cpu);
	if (field_of(stat, key, text, sizeof(text)))
		sscanf(text, "%llu %llu %llu %llu %llu %llu %llu %llu", n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7);
	return (n[0] + n[1] + n[2] + n[3] + n[4] + n[5] + n[6] + n[7]) * TICK;
}

/* The files of one VM in a frame. */
struct files {
	struct entry *who, *header, *vcpu_header, *data, *ids, *vcpu_data;
	const struct entry *stat;	/* the host's */
};

enum stat_field { USER_TIME = 11, KERNEL_TIME = 12, PROCESSOR = 36, GUEST_TIME = 40, NUM_FIELDS, };

/* Parses /proc/PID/stat after the name, which may contain anything. */
static bool parse_stat(const char *text, uint64_t field[NUM_FIELDS], char *state)
{
	const char *at = strrchr(text, ')');
	int i;

	*state = at && at[1] == ' ' ? at[2] : '?';
	at = at && at[1] && at[2] ? at + 2 : NULL;
	for (i = 0; at && i < NUM_FIELDS; i++) {
		field[i] = i ? strtoull(at, NULL, 10) : 0;
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
		if (!at)
			memset(&field[i + 1], 0, (NUM_FIELDS - i - 1) * sizeof(*field));
	}
	return *state != '?';
}

/* The number in the name that a VMM gives to the thread of a vCPU, or -1. */
static int vcpu_of_name(const char *stat)
{
	static const char * const patterns[] = {
		"CPU %d/KVM)%n", "fc_vcpu %d)%n", "crosvm_vcpu%d)%n", "vcpu%d)%n",
	};
	const char *name = strchr(stat, '(');
	int number, end;
	size_t i;

	for (i = 0; name && i < ARRAY_SIZE(patterns); i++) {
		end = 0;
		if (sscanf(name + 1, patterns[i], &number, &end) == 1 && end && number >= 0)
			return number;
	}
	return -1;
}

static cpu_set_t *parse_cpus(const struct entry *status)
{
	cpu_set_t *set = xcalloc(1, sizeof(*set));
	unsigned int from, to;
	char text[1024], *at = text;
	int end;

	if (!field_of(status, "Cpus_allowed_list:\t", text, sizeof(text)))
		text[0] = '\0';
	for (; sscanf(at, "%u%n", &from, &end) == 1; at += *at == ',') {
		at += end;
		to = from;
		if (sscanf(at, "-%u%n", &to, &end) == 1)
			at += end;
		for (; from <= to && from < CPU_SETSIZE; from++)
			CPU_SET(from, set);
	}
	return set;
}

static struct thread *find_thread(const struct threads *threads, pid_t tid, size_t guess)
{
	size_t i;

	if (guess < threads->count && threads->thread[guess].tid == tid)
		return &threads->thread[guess];
	for (i = 0; i < threads->count; i++) {
		if (threads->thread[i].tid == tid)
			return &threads->thread[i];
	}
	return NULL;
}

void take_stat(struct thread *thread, const char *text)
{
	uint64_t field[NUM_FIELDS] = {};

	parse_stat(text, field, &thread->state);
	thread->vcpu = vcpu_of_name(text);
	thread->cpu = field[PROCESSOR];
	thread->guest = field[GUEST_TIME] * TICK;
	thread->runs_guest = thread->guest || thread->vcpu >= 0;
	thread->kernel = field[KERNEL_TIME] * TICK;
	thread->user = field[USER_TIME] > field[GUEST_TIME] ?
		       (field[USER_TIME] - field[GUEST_TIME]) * TICK : 0;
	if (!thread->run)
		thread->run = (field[USER_TIME] + field[KERNEL_TIME]) * TICK;
}

static void take_task(struct threads *threads, pid_t tid, const char *file,
		      const struct entry *entry)
{
	struct thread *thread = find_thread(threads, tid, threads->count - 1);
	const char *text = (const char *)entry->data;
	unsigned long long run, ready, number, fd, request;

	if (!thread) {
		threads->thread = xgrow(threads->thread, threads->count, sizeof(*thread));
		thread = &threads->thread[threads->count++];
		*thread = (struct thread) { .tid = tid, .vcpu = -1, .state = '?', };
	}
	if (!strcmp(file, "stat")) {
		take_stat(thread, text);
	} else if (!strcmp(file, "schedstat")) {
		if (sscanf(text, "%llu %llu", &run, &ready) == 2 && run) {
			thread->run = run;
			thread->ready = ready;
		}
	} else if (!strcmp(file, "syscall")) {
		thread->in_kvm = !strncmp(text, "running", 7) ||
			(sscanf(text, "%llu %llx %llx", &number, &fd, &request) == 3 &&
			 request == STATS_KVM_RUN);
	} else if (!strcmp(file, "status") && !thread->allowed) {
		thread->allowed = parse_cpus(entry);
	} else if (!strcmp(file, "cgroup")) {
		thread->cgroup = entry;
	}
}

static void take_group(struct threads *threads, const char *name, const struct entry *entry)
{
	const char *end = strstr(name, "/cpu.stat");
	struct group group = { .throttled = number_of(entry, "throttled_usec ") * 1000, };

	if (!end || end[strlen("/cpu.stat")])
		return;
	if (!group.throttled)
		group.throttled = number_of(entry, "throttled_time ");
	group.path = xasprintf("%.*s", (int)(end - name), name);
	threads->group = xgrow(threads->group, threads->num_groups, sizeof(group));
	threads->group[threads->num_groups++] = group;
}

static void free_threads(struct threads *threads)
{
	size_t i;

	for (i = 0; i < threads->count; i++)
		free(threads->thread[i].allowed);
	for (i = 0; i < threads->num_groups; i++)
		free(threads->group[i].path);
	free(threads->thread);
	free(threads->group);
	*threads = (struct threads) {};
}

/* Whether the group is one of those in a /proc/PID/cgroup, or above one. */
static bool is_in_group(const struct thread *thread, const char *path)
{
	const char *line = thread->cgroup ? (const char *)thread->cgroup->data : NULL, *found;
	size_t length = strlen(path);

	for (; line && *line; line += *line == '\n') {
		found = strchr(line, ':');
		found = found ? strchr(found + 1, ':') : NULL;
		if (!found)
			return false;
		if (!strncmp(found + 1, path, length) && strchr("/\n", found[1 + length]))
			return true;
		line = found + strcspn(found, "\n");
	}
	return false;
}

static uint64_t growth(uint64_t last, uint64_t now)
{
	return now > last ? now - last : 0;
}

/* A thread runs the vCPU that its name says: by id, otherwise in the order of their creation. */
static void match_threads(struct vm *vm)
{
	struct thread *thread, *only = NULL;
	size_t count = 0, i;
	bool by_id = true;

	for (thread = vm->threads.thread; thread < vm->threads.thread + vm->threads.count; thread++) {
		if (!thread->runs_guest)
			continue;
		count++;
		only = thread;
		if (thread->vcpu < 0)
			continue;
		for (i = 0; i < vm->num_vcpus && vm->vcpu[i].id != (uint32_t)thread->vcpu; i++)
			;
		by_id &= i < vm->num_vcpus;
	}
	if (count == 1 && vm->num_vcpus == 1 && only->vcpu < 0)
		only->vcpu = vm->vcpu[0].id;
	for (thread = vm->threads.thread; thread < vm->threads.thread + vm->threads.count; thread++) {
		if (thread->vcpu < 0)
			continue;
		i = thread->vcpu;
		if (by_id && (i >= vm->num_vcpus || vm->vcpu[i].id != i)) {
			for (i = 0; i < vm->num_vcpus && vm->vcpu[i].id != (uint32_t)thread->vcpu; i++)
				;
		}
		thread->vcpu = i < vm->num_vcpus ? (int)i : -1;
		if (i < vm->num_vcpus)
			vm->vcpu[i].thread = thread;
	}
}

/* How much a cgroup's throttled time explains of the waits of the vCPUs in it. */
static void find_quota(struct vm *vm, const struct group *group)
{
	const struct thread *thread, *last;
	uint64_t throttled = 0, waited = 0;
	double part;
	size_t i;

	for (i = 0; i < vm->before.num_groups; i++) {
		if (!strcmp(vm->before.group[i].path, group->path))
			throttled = growth(vm->before.group[i].throttled, group->throttled);
	}
	for (i = 0; throttled && i < vm->threads.count; i++) {
		thread = &vm->threads.thread[i];
		last = find_thread(&vm->before, thread->tid, i);
		if (last && thread->runs_guest && is_in_group(thread, group->path))
			waited += growth(last->ready, thread->ready);
	}
	if (!waited)
		return;
	part = throttled < waited ? (double)throttled / waited : 1;
	for (i = 0; i < vm->num_vcpus; i++) {
		if (vm->vcpu[i].thread && is_in_group(vm->vcpu[i].thread, group->path) &&
		    vm->vcpu[i].quota < part)
			vm->vcpu[i].quota = part;
	}
}

/* The part of the CPU time that the vCPU did not get which other threads of its VMM used. */
static double find_own(const struct vm *vm, const struct vcpu *vcpu)
{
	uint64_t elapsed_ns = vm->threads.mono_ns - vm->before.mono_ns, used = 0, all, ran = 0;
	uint64_t waited = 0;
	const struct thread *thread, *last;
	size_t i;

	for (i = 0; i < vm->threads.count; i++) {
		thread = &vm->threads.thread[i];
		last = find_thread(&vm->before, thread->tid, i);
		if (!last)
			continue;
		if (thread->allowed && CPU_ISSET(thread->cpu, vcpu->thread->allowed))
			waited += growth(last->ready, thread->ready);
		if (thread == vcpu->thread)
			ran = growth(last->run, thread->run);
		else if (thread->cpu >= 0 && thread->cpu < CPU_SETSIZE &&
			 CPU_ISSET(thread->cpu, vcpu->thread->allowed))
			used += growth(last->run, thread->run);
	}
	all = CPU_COUNT(vcpu->thread->allowed) * elapsed_ns;
	/* Its own threads alone need no more CPUs than these: others take them. */
	if (ran + used + waited <= all + all / 50)
		return 0;
	if (all <= ran || used >= all - ran)
		return used ? 1 : 0;
	return (double)used / (all - ran);
}

static void find_causes(struct vm *vm)
{
	size_t i;

	match_threads(vm);
	if (!vm->before.mono_ns)
		return;
	for (i = 0; i < vm->threads.num_groups; i++)
		find_quota(vm, &vm->threads.group[i]);
	for (i = 0; i < vm->num_vcpus; i++) {
		if (!vm->vcpu[i].thread || !vm->vcpu[i].thread->allowed ||
		    !vm->vcpu[i].thread->cgroup)
			continue;
		vm->vcpu[i].has_causes = true;
		vm->vcpu[i].own = find_own(vm, &vm->vcpu[i]);
	}
}

/* From /proc: only time on a CPU, and waits for one. */
static void set_proc_shares(struct shares *shares, const uint64_t ns[4], uint64_t total, bool has_guest)
{
	uint64_t sum = ns[GUEST] + ns[KVM] + ns[VMM] + ns[READY];
	size_t i;

	total = total > sum ? total : sum;
	*shares = (struct shares) { .from_proc = true, };
	if (!total)
		return;
	for (i = 0; i < 4; i++) {
		/* A host without guest time counts it as kernel time. */
		if (!has_guest && (i == GUEST || i == KVM))
			continue;
		shares->known[i] = true;
		shares->part[i] = (double)ns[i] / total;
	}
	shares->known[OFF] = true;
	shares->part[OFF] = (double)(total - sum) / total;
}

/* The host scales user time up by the ticks that it lost, but not guest time, a part of it. */
static void add_times(uint64_t ns[4], const struct thread *last, const struct thread *now)
{
	uint64_t user = growth(last->user, now->user), lost = user < now->lost ? user : now->lost;

	ns[GUEST] += growth(last->guest, now->guest) + lost;
	ns[KVM] += growth(last->kernel, now->kernel);
	ns[VMM] += user - lost;
	ns[READY] += growth(last->ready, now->ready);
}

static void share_threads(struct vm *vm, const struct entry *stat)
{
	uint64_t elapsed_ns = vm->threads.mono_ns - vm->before.mono_ns, others_ns = 0, run_ns = 0;
	bool all_out = true, all_stopped = vm->threads.count, has_guest = false;
	const struct thread *last, none = {};
	struct thread *now;
	size_t i, guests = 0, known = 0;
	uint64_t all[4] = {}, kernel_ns = 0;

	for (i = 0; i < vm->threads.count; i++) {
		now = &vm->threads.thread[i];
		last = find_thread(&vm->before, now->tid, i);
		has_guest |= now->guest;
		kernel_ns += last && now->runs_guest ? growth(last->kernel, now->kernel) : 0;
	}
	has_guest |= !kernel_ns;
	vm->lacks_ready = false;
	for (i = 0; i < vm->threads.count; i++) {
		now = &vm->threads.thread[i];
		last = vm->before.mono_ns ? find_thread(&vm->before, now->tid, i) : NULL;
		all_stopped &= now->state == 'T' || now->state == 't';
		if (!now->runs_guest) {
			others_ns += last ? growth(last->run, now->run) : 0;
			continue;
		}
		guests++;
		now->counted = counted_ns(stat, now->cpu);
		if (last && last->counted && last->cpu == now->cpu)
			now->lost = growth(growth(last->counted, now->counted) + 2 * TICK, elapsed_ns);
		all_out &= now->state == 'S' && !now->in_kvm;
		vm->lacks_ready |= !now->run;
		add_times(vm->thread_ns, last ?: &none, now);
		if (!last)
			continue;
		known++;
		run_ns += growth(last->run, now->run);
		add_times(all, last, now);
		if (now->vcpu >= 0 && !vm->shares[1 + now->vcpu].known[GUEST]) {
			uint64_t one[4] = {};

			add_times(one, last, now);
			set_proc_shares(&vm->shares[1 + now->vcpu], one, elapsed_ns, has_guest);
		}
	}
	vm->stopped = vm->threads.frozen || all_stopped;
	if (!vm->vcpu_schema || !vm->vcpu_schema->last_exit || vm->time_is_off)
		vm->paused = guests && all_out && !run_ns && !vm->stopped && vm->before.mono_ns;
	vm->has_other = guests && vm->before.mono_ns && elapsed_ns;
	vm->other = vm->has_other ? (double)others_ns / elapsed_ns : 0;
	if (vm->shares[0].known[GUEST] || !known || !elapsed_ns)
		return;
	set_proc_shares(&vm->shares[0], all, known * elapsed_ns, has_guest);
	if (!vm->elapsed_ns)
		vm->elapsed_ns = elapsed_ns;
}

/* Sums up times. Keeps the last values, and the growth of these times. */
static void take_times(const struct schema *schema, struct vcpu *vcpu, const struct vcpu *last)
{
	const struct desc *time;
	bool slept;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(schema->time); i++) {
		time = schema->time[i];
		vcpu->ns[i < OFF ? i : KVM] += time ? vcpu->value[time->first] : 0;
	}
	slept = !last || last->ns[WAIT] != vcpu->ns[WAIT];
	if (!slept)
		memcpy(&vcpu->ns[SLEPT], &last->ns[SLEPT], 2 * sizeof(*vcpu->ns));
	else if (schema->sleep)
		vcpu->ns[SLEPT] = total_of(schema->sleep, vcpu->value);
	for (i = 0; slept && i < schema->num_faults; i++)
		vcpu->ns[FAULTED] += vcpu->value[schema->fault[i]];
	vcpu->last = last ? last->value : NULL;
	for (i = 0; last && i < NUM_TIMES; i++)
		vcpu->grown[i] = growth(last->ns[i], vcpu->ns[i]);
}

/* From KVM's time by state. Time that a vCPU was off is no part of it. */
static void set_kvm_shares(struct shares *shares, const uint64_t ns[OFF])
{
	uint64_t sum = 0;
	size_t i;

	*shares = (struct shares) {};
	for (i = 0; i < OFF; i++)
		sum += ns[i];
	for (i = 0; sum && i < OFF; i++) {
		shares->known[i] = true;
		shares->part[i] = (double)ns[i] / sum;
	}
}

static void share_states(struct vm *vm)
{
	uint64_t all[OFF] = {};
	size_t i, k;

	for (i = 0; i < vm->num_vcpus; i++) {
		set_kvm_shares(&vm->shares[1 + i], vm->vcpu[i].grown);
		for (k = 0; k < OFF && !vm->vcpu[i].not_run && !vm->vcpu[i].not_started; k++)
			all[k] += vm->vcpu[i].grown[k];
	}
	set_kvm_shares(&vm->shares[0], all);
}

/* Takes a vCPU's state, and adds the time in it, which KVM counts only when it ends. */
static void take_state(struct vm *vm, struct vcpu *vcpu)
{
	const struct schema *schema = vm->vcpu_schema;
	uint64_t state, since, *value = vcpu->value;
	const struct desc *time;

	if (schema->last_exit)
		vcpu->last_exit = value_name(schema->last_exit, value[schema->last_exit->first]);
	if (!schema->state || !schema->since || vm->time_is_off)
		return;
	state = value[schema->state->first];
	since = value[schema->since->first];
	if (!since)
		return;
	vcpu->state = value_name(schema->state, state);
	vcpu->state_ns = since < vm->mono_ns ? vm->mono_ns - since : 0;
	vcpu->not_started = vcpu->state && !strcmp(vcpu->state, "off");
	time = state < ARRAY_SIZE(schema->state_time) ? schema->state_time[state] : NULL;
	if (time)
		value[time->first] += vcpu->state_ns;
}

/* A VMM that left KVM after a signal, and has not come back, does not want the vCPU to run. */
static bool was_left(const struct vm *vm, const struct vcpu *vcpu)
{
	return vcpu->state && !strcmp(vcpu->state, "user") && vcpu->last_exit &&
	       !strcmp(vcpu->last_exit, "intr") && vm->elapsed_ns &&
	       vcpu->state_ns >= vm->elapsed_ns;
}

static void find_those_not_run(struct vm *vm)
{
	size_t i, left = 0;

	vm->num_not_started = vm->num_not_run = 0;
	for (i = 0; i < vm->num_vcpus; i++) {
		vm->num_not_started += vm->vcpu[i].not_started;
		left += was_left(vm, &vm->vcpu[i]);
	}
	vm->paused = left && left + vm->num_not_started == vm->num_vcpus;
	for (i = 0; i < vm->num_vcpus && left && !vm->paused; i++)
		vm->vcpu[i].not_run = was_left(vm, &vm->vcpu[i]);
	vm->num_not_run = vm->paused ? 0 : left;
}

/* The growth of what is less than it was: a reset; or KVM moved time to another state. */
static uint64_t growth_after_fall(const struct desc *desc, uint64_t now)
{
	if (!desc || !is_counter(desc))
		return 1;
	return desc->unit == SECONDS && desc->type == CUMULATIVE ? 0 : now;
}

void add_growth(const struct schema *schema, const uint64_t *now, const uint64_t *last, uint64_t *growth)
{
	unsigned int i;

	for (i = 0; i < schema->num_values; i++)
		growth[i] += now[i] >= last[i] ? now[i] - last[i] :
			     growth_after_fall(schema->desc_of[i], now[i]);
}

static uint64_t *sum_up(const struct vm *vm)
{
	const struct schema *schema = vm->vcpu_schema;
	size_t n = schema->num_values, i;
	const uint64_t *value = vm->data, *end = value + vm->num_vcpus * n, *at;
	uint64_t *sum = xcalloc(n, 8);

	/* Four at a time take half of the instructions. */
	for (at = value; n && (size_t)(end - at) >= 4 * n; at += 4 * n) {
		for (i = 0; i < n; i++)
			sum[i] += at[i] + at[i + n] + at[i + 2 * n] + at[i + 3 * n];
	}
	for (; at < end; at += n) {
		for (i = 0; i < n; i++)
			sum[i] += at[i];
	}
	for (i = 0; i < n; i++) {
		if (!schema->desc_of[i] || schema->desc_of[i]->type != PEAK)
			continue;
		sum[i] = 0;
		for (at = value + i; at < end; at += n)
			sum[i] = *at > sum[i] ? *at : sum[i];
	}
	return sum;
}

const uint64_t *line_values(const struct vm *vm, size_t line)
{
	uint64_t **sum = vm->made;

	if (!sum)
		return NULL;
	if (!line && !*sum)
		*sum = sum_up(vm);
	return line ? vm->vcpu[line - 1].value : *sum;
}

uint64_t *line_growth(const struct vm *vm, size_t line)
{
	size_t from = line ?: 1, to = line ?: vm->num_vcpus;
	const struct vcpu *vcpu;
	uint64_t **growth;

	if (!vm->made || !vm->has_rates)
		return NULL;
	growth = &vm->made[1 + line];
	if (*growth)
		return *growth;
	*growth = xcalloc(vm->vcpu_schema->num_values, 8);
	for (vcpu = vm->vcpu + from - 1; vcpu < vm->vcpu + to; vcpu++) {
		if (vcpu->last)
			add_growth(vm->vcpu_schema, vcpu->value, vcpu->last, *growth);
	}
	return *growth;
}

/* Makes room for a new sample: keeps the values of the newest one, frees all older ones. */
static void age_values(struct vm *vm)
{
	size_t i;

	for (i = 0; vm->made && i < 2 + vm->num_vcpus; i++)
		free(vm->made[i]);
	free(vm->made);
	vm->made = NULL;
	free(vm->last_data);
	vm->last_data = vm->data;
	vm->data = NULL;
}

void host_release(struct host *host)
{
	struct vm *vm;
	size_t i;

	for (vm = host->vm; vm < host->vm + host->count; vm++) {
		for (i = 0; i < vm->num_vcpus; i++)
			vm->vcpu[i].value = NULL;
		age_values(vm);
		age_values(vm);
	}
}

static void take_vcpus(struct vm *vm, struct files *files, const struct schema *last_schema)
{
	size_t n = vm->vcpu_schema->num_values, i, k, num_last = vm->num_vcpus;
	struct vcpu *last = vm->vcpu;

	if (last_schema != vm->vcpu_schema)
		num_last = 0;
	vm->num_vcpus = files->ids->size / 4;
	if (!n || files->vcpu_data->size / 8 / n < vm->num_vcpus)
		vm->num_vcpus = n ? files->vcpu_data->size / 8 / n : 0;
	vm->data = files->vcpu_data->data;
	files->vcpu_data->data = NULL;
	vm->vcpu = xcalloc(vm->num_vcpus, sizeof(*vm->vcpu));
	vm->made = xcalloc(2 + vm->num_vcpus, sizeof(*vm->made));
	for (i = 0; i < vm->num_vcpus; i++) {
		memcpy(&vm->vcpu[i].id, files->ids->data + 4 * i, 4);
		vm->vcpu[i].value = (uint64_t *)vm->data + i * n;
		take_state(vm, &vm->vcpu[i]);
		k = i;
		if (k >= num_last || last[k].id != vm->vcpu[i].id) {
			for (k = 0; k < num_last && last[k].id != vm->vcpu[i].id; k++)
				;
		}
		take_times(vm->vcpu_schema, &vm->vcpu[i], k < num_last ? &last[k] : NULL);
	}
	vm->has_rates = num_last;
	free(last);
}

/* Without files of the vCPUs, a vCPU is a thread that runs a guest. */
static void take_vcpu_threads(struct vm *vm)
{
	size_t i, count = 0;

	free(vm->vcpu);
	vm->vcpu = NULL;
	for (i = 0; i < vm->threads.count; i++) {
		if (!vm->threads.thread[i].runs_guest)
			continue;
		if (vm->threads.thread[i].vcpu < 0)
			vm->threads.thread[i].vcpu = count;
		vm->vcpu = xgrow(vm->vcpu, count, sizeof(*vm->vcpu));
		vm->vcpu[count++] = (struct vcpu) { .id = vm->threads.thread[i].vcpu, };
	}
	vm->num_vcpus = count;
	vm->vcpu_schema = NULL;
	vm->has_rates = false;
}

static void take_own(struct vm *vm, const struct entry *data)
{
	const struct schema *schema = vm->schema;
	uint64_t *now = xmemdup(data->data, schema->num_values * 8);
	const struct desc *desc;

	free(vm->own_delta);
	vm->own_delta = xcalloc(schema->num_values, 8);
	if (vm->own)
		add_growth(schema, now, vm->own, vm->own_delta);
	free(vm->own);
	vm->own = now;
	desc = find_desc(schema, "time_accounting");
	vm->time_is_off = !desc || !vm->own[desc->first];
	vm->source = find_desc(schema, "bpf_since_ns") ? "bpf" :
		     find_desc(schema, "online_vcpus") ? "series" : "vmm";
}

static void take_who(struct vm *vm, const struct entry *who)
{
	char key[32], text[256];
	size_t i;

	vm->pid = number_of(who, "pid=");
	identity_free(&vm->identity);
	vm->identity.started = number_of(who, "started=");
	for (i = 0; i < NUM_IDS; i++) {
		snprintf(key, sizeof(key), "%s=", identity_labels[i]);
		if (!field_of(who, key, text, sizeof(text)) || !*text)
			continue;
		make_printable(text);
		vm->identity.text[i] = xasprintf("%s", text);
		snprintf(key, sizeof(key), "%s.trust=", identity_labels[i]);
		vm->identity.trust[i] = number_of(who, key);
	}
	snprintf(vm->name, sizeof(vm->name), "%s", vm->identity.text[ID_NAME] ?: "?");
}

static void take_vm(struct vm *vm, struct files *files)
{
	const struct schema *last_schema = vm->schema, *last_vcpu_schema = vm->vcpu_schema;
	struct layout layout = {}, vcpu = {};
	const char *wrong = NULL;

	if (files->header)
		wrong = parse_file(files->header->data, files->header->size, &layout);
	if (!wrong && files->vcpu_header)
		wrong = parse_file(files->vcpu_header->data, files->vcpu_header->size, &vcpu);
	vm->source = files->vcpu_header ? "vmm" : "proc";
	vm->schema = layout.schema;
	snprintf(vm->id, sizeof(vm->id), "%s", files->header && !wrong ? layout.id : "-");
	vm->time_is_off = true;
	if (last_schema != vm->schema) {
		free(vm->own);
		vm->own = NULL;
	}
	if (wrong)
		complain("pid %d (%s): malformed statistics file: %s", vm->pid, vm->name, wrong);
	else if (files->data && vm->schema && files->data->size / 8 >= vm->schema->num_values)
		take_own(vm, files->data);
	vm->vcpu_schema = wrong ? NULL : layout.vcpu_schema ?: vcpu.schema;
	vm->paused = false;
	age_values(vm);
	if (vm->vcpu_schema && files->ids && files->vcpu_data)
		take_vcpus(vm, files, last_vcpu_schema);
	else
		take_vcpu_threads(vm);
	find_those_not_run(vm);
	free(vm->shares);
	vm->shares = xcalloc(1 + vm->num_vcpus, sizeof(*vm->shares));
	if (vm->vcpu_schema && vm->has_rates && !vm->time_is_off)
		share_states(vm);
	find_causes(vm);
	share_threads(vm, vm->shares[0].known[GUEST] ? NULL : files->stat);
}

static void forget(struct vm *vm)
{
	free(vm->key);
	free(vm->label);
	free(vm->held);
	free(vm->first.own);
	free(vm->first.value);
	free(vm->own);
	free(vm->own_delta);
	age_values(vm);
	free(vm->vcpu);
	free(vm->last_data);
	free(vm->shares);
	identity_free(&vm->identity);
	free_threads(&vm->threads);
	free_threads(&vm->before);
}

static struct vm *find_vm(struct host *host, const char *key)
{
	size_t i;

	for (i = 0; i < host->count; i++) {
		if (!strcmp(host->vm[i].key, key))
			return &host->vm[i];
	}
	return NULL;
}

/* Begins a VM's sample. Returns NULL if it is not chosen. */
static struct vm *begin(struct host *host, const char *key, const struct entry *who)
{
	struct vm new = { .first_ns = host->mono_ns, }, *vm = find_vm(host, key);

	if (!vm) {
		take_who(&new, who);
		if (!is_chosen(new.pid, new.name)) {
			identity_free(&new.identity);
			return NULL;
		}
		host->vm = xgrow(host->vm, host->count, sizeof(*host->vm));
		vm = &host->vm[host->count++];
		*vm = new;
		vm->key = xasprintf("%s", key);
	} else {
		take_who(vm, who);
	}
	vm->elapsed_ns = vm->mono_ns && !vm->ended ? host->mono_ns - vm->mono_ns : 0;
	vm->mono_ns = host->mono_ns;
	vm->real_ns = host->real_ns;
	free_threads(&vm->before);
	vm->before = vm->threads;
	vm->threads = (struct threads) { .mono_ns = host->mono_ns, };
	vm->ended = false;
	vm->seen = true;
	return vm;
}

static void take_file(struct vm *vm, struct files *files, const char *name, struct entry *entry)
{
	const struct {
		const char *name;
		struct entry **entry;
	} known[] = {
		{ "header", &files->header, }, { "vcpu-header", &files->vcpu_header, },
		{ "data", &files->data, }, { "vcpu-ids", &files->ids, },
		{ "vcpu-data", &files->vcpu_data, },
	};
	char *file;
	size_t i;

	if (!strncmp(name, "task/", 5)) {
		pid_t tid = strtol(name + 5, &file, 10);

		if (*file == '/' && tid > 0)
			take_task(&vm->threads, tid, file + 1, entry);
	} else if (!strncmp(name, "cgroup/", 7)) {
		take_group(&vm->threads, name + 6, entry);
	} else if (!strcmp(name, "cgroup.events")) {
		vm->threads.frozen |= number_of(entry, "frozen ");
	} else if (!strcmp(name, "ended")) {
		vm->ended = true;
		vm->ended_ns = vm->mono_ns;
	} else if (!strcmp(name, "freezer.state")) {
		vm->threads.frozen |= !strncmp((const char *)entry->data, "FROZEN", 6);
	}
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(name, known[i].name))
			*known[i].entry = entry;
	}
}

/* Takes the VM whose files begin with @entry, of which "who" is the first. Returns the next. */
static struct entry *take_files(struct host *host, struct entry *entry, const struct entry *end)
{
	size_t length = strcspn(entry->name + 3, "/");
	char *key = xasprintf("%.*s", (int)length, entry->name + 3);
	struct files files = { .who = entry, .stat = host->stat, };
	struct vm *vm = NULL;

	if (!strcmp(entry->name + 3 + length, "/who"))
		vm = begin(host, key, entry);
	for (entry++; entry < end && !strncmp(entry->name, "vm/", 3) &&
	     !strncmp(entry->name + 3, key, length) && entry->name[3 + length] == '/' &&
	     strcmp(entry->name + 3 + length, "/who"); entry++) {
		if (vm)
			take_file(vm, &files, entry->name + 3 + length + 1, entry);
	}
	if (vm)
		take_vm(vm, &files);
	free(key);
	return entry;
}

void host_take(struct host *host, struct frame *frame)
{
	struct entry *entry = frame->entry, *end = frame->entry + frame->count;
	const struct entry *scan = frame_get(frame, "host/scan");
	size_t i, kept;
	struct vm *vm;

	host->stat = frame_get(frame, "host/stat");
	host->elapsed_ns = host->mono_ns ? frame->mono_ns - host->mono_ns : 0;
	host->mono_ns = frame->mono_ns;
	host->real_ns = frame->real_ns;
	host->scan = (struct scan) {
		number_of(scan, "denied="), number_of(scan, "hidden="),
		number_of(scan, "namespace="), number_of(scan, "missing="),
		number_of(scan, "unseen="), number_of(scan, "problems="),
	};
	while (entry < end)
		entry = strncmp(entry->name, "vm/", 3) ? entry + 1 : take_files(host, entry, end);
	for (i = kept = 0; i < host->count; i++) {
		vm = &host->vm[i];
		if (!vm->seen && !vm->ended) {
			vm->ended = true;
			vm->ended_ns = host->mono_ns;
		}
		if (vm->ended && host->mono_ns - vm->ended_ns > ENDED_NS)
			forget(vm);
		else
			host->vm[kept++] = *vm;
	}
	host->count = kept;
	for (i = 0; i < host->count; i++)
		host->vm[i].seen = false;
}
