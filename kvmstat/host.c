// SPDX-License-Identifier: GPL-2.0
/* What the files of a frame mean: VMs, their values and growth, and how they spend their time. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "kvmstat.h"

#define TICK (SEC / 100)		/* USER_HZ is ABI */

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

/* Parses /proc/PID/stat after the name, which may contain anything. */
static bool parse_stat(const struct entry *entry, uint64_t field[41], char *state)
{
	const char *at = entry ? strrchr((const char *)entry->data, ')') : NULL;
	int i;

	*state = at && at[1] == ' ' ? at[2] : '?';
	for (i = 0; at && i < 41; i++) {
		at = strchr(at + 1, ' ');
		field[i] = at ? strtoull(at + 1, NULL, 10) : 0;
	}
	return at;
}

static void take_thread(struct vm *vm, const struct frame *frame, pid_t tid)
{
	const struct entry *sched = frame_get(frame, "vm/%s/task/%d/schedstat", vm->key, tid);
	const struct entry *call = frame_get(frame, "vm/%s/task/%d/syscall", vm->key, tid);
	struct thread thread = { .tid = tid, };
	unsigned long long run = 0, ready = 0, number, fd, request;
	uint64_t field[41];

	if (!parse_stat(frame_get(frame, "vm/%s/task/%d/stat", vm->key, tid), field, &thread.state))
		return;
	thread.guest = field[40] * TICK;
	thread.kernel = field[12] * TICK;
	thread.user = field[11] > field[40] ? (field[11] - field[40]) * TICK : 0;
	if (sched && sscanf((char *)sched->data, "%llu %llu", &run, &ready) != 2)
		run = ready = 0;
	thread.run = run ?: (field[11] + field[12]) * TICK;
	thread.ready = ready;
	thread.in_kvm = call && (!strncmp((char *)call->data, "running", 7) ||
		(sscanf((char *)call->data, "%llu %llx %llx", &number, &fd, &request) == 3 &&
		 request == STATS_KVM_RUN));
	vm->threads.thread = xgrow(vm->threads.thread, vm->threads.count, sizeof(thread));
	vm->threads.thread[vm->threads.count++] = thread;
}

static void take_threads(struct vm *vm, const struct frame *frame)
{
	const struct entry *entry = NULL;
	char prefix[64], state;
	uint64_t field[41], usec;
	int end, tid;

	free(vm->before.thread);
	vm->before = vm->threads;
	vm->threads = (struct threads) { .mono_ns = frame->mono_ns, };
	snprintf(prefix, sizeof(prefix), "vm/%s/task/", vm->key);
	while ((entry = frame_next(frame, entry, prefix))) {
		if (sscanf(entry->name + strlen(prefix), "%d/stat%n", &tid, &end) == 1 &&
		    !strcmp(strrchr(entry->name, '/'), "/stat"))
			take_thread(vm, frame, tid);
	}
	if (parse_stat(frame_get(frame, "vm/%s/stat", vm->key), field, &state))
		vm->threads.whole = (field[11] + field[12]) * TICK;
	vm->threads.known = vm->threads.whole;
	vm->threads.frozen = number_of(frame_get(frame, "vm/%s/cgroup.events", vm->key), "frozen ");
	/* Each cgroup of a vCPU, and those above, has an entry: any of them may have a quota. */
	snprintf(prefix, sizeof(prefix), "vm/%s/cpu.stat/", vm->key);
	for (entry = NULL; (entry = frame_next(frame, entry, prefix)); ) {
		usec = number_of(entry, "throttled_usec ");
		if (!usec)
			usec = number_of(entry, "throttled_time ") / 1000;
		vm->threads.throttled += usec * 1000;
	}
}

static const struct thread *find_thread(const struct threads *threads, pid_t tid)
{
	size_t i;

	for (i = 0; i < threads->count; i++) {
		if (threads->thread[i].tid == tid)
			return &threads->thread[i];
	}
	return NULL;
}

static uint64_t growth(uint64_t last, uint64_t now)
{
	return now > last ? now - last : 0;
}

/* From /proc: only time on a CPU, and waits for one. */
static void share_threads(struct vm *vm, struct shares *shares)
{
	uint64_t ns[4] = {}, total_ns = 0, sum = 0, vcpus_ns = 0;
	uint64_t elapsed_ns = vm->threads.mono_ns - vm->before.mono_ns;
	bool all_out = vm->threads.count, all_stopped = vm->threads.count;
	const struct thread *now, *last;
	size_t i;

	for (now = vm->threads.thread; now < vm->threads.thread + vm->threads.count; now++) {
		all_stopped &= now->state == 'T' || now->state == 't';
		all_out &= now->state == 'S' && !now->in_kvm;
		last = find_thread(&vm->before, now->tid);
		if (!last)
			continue;
		ns[GUEST] += growth(last->guest, now->guest);
		ns[KVM] += growth(last->kernel, now->kernel);
		ns[VMM] += growth(last->user, now->user);
		ns[READY] += growth(last->ready, now->ready);
		vcpus_ns += growth(last->run, now->run);
		total_ns += elapsed_ns;
	}
	vm->stopped = vm->threads.frozen || all_stopped;
	vm->paused = all_out && !vcpus_ns && !vm->stopped;
	if (!vm->before.mono_ns || !total_ns)
		return;
	vm->has_other = vm->threads.known && vm->before.known &&
			vm->threads.count == vm->before.count;
	vm->other = (double)growth(vcpus_ns, growth(vm->before.whole, vm->threads.whole)) /
		    elapsed_ns;
	vm->throttled = (double)growth(vm->before.throttled, vm->threads.throttled) / elapsed_ns;
	if (shares->known[GUEST])
		return;
	for (i = 0; i < 4; i++)
		sum += ns[i];
	if (total_ns < sum)
		total_ns = sum;
	*shares = (struct shares) { .from_proc = true, };
	for (i = 0; i < 4; i++) {
		shares->known[i] = true;
		shares->part[i] = (double)ns[i] / total_ns;
	}
	shares->known[OFF] = true;
	shares->part[OFF] = (double)(total_ns - sum) / total_ns;
	vm->elapsed_ns = elapsed_ns;
}

/* From KVM's time by state. */
static void share_states(const struct vm *vm, size_t line, struct shares *shares)
{
	static const char * const names[][2] = {
		[GUEST] = { "time_guest_ns", }, [KVM] = { "time_exit_ns", "time_poll_ns", },
		[VMM] = { "time_user_ns", }, [READY] = { "ready_ns", },
		[WAIT] = { "time_sleep_ns", }, [IDLE] = { "time_halt_ns", },
	};
	const uint64_t *delta = vm->delta + line * vm->vcpu_schema->num_values;
	uint64_t ns[OFF] = {}, sum = 0;
	const struct desc *desc;
	size_t i, k;

	for (i = 0; i < OFF; i++) {
		for (k = 0; k < 2 && names[i][k]; k++) {
			desc = find_desc(vm->vcpu_schema, names[i][k]);
			if (desc)
				ns[i] += delta[desc->first];
		}
		sum += ns[i];
	}
	*shares = (struct shares) {};
	for (i = 0; sum && i < OFF; i++) {
		shares->known[i] = true;
		shares->part[i] = (double)ns[i] / sum;
	}
}

static bool is_time(const struct desc *desc)
{
	return desc->unit == SECONDS && desc->type == CUMULATIVE;
}

/* Adds the running state, which KVM counts only when it ends. */
static void complete(const struct schema *schema, uint64_t *value, uint64_t now_ns)
{
	const struct desc *state = find_desc(schema, "state"), *time;
	const struct desc *since = find_desc(schema, "state_since_ns");
	const char *name = state && since ? value_name(state, value[state->first]) : NULL;
	char text[80];

	if (!name || !value[since->first] || value[since->first] >= now_ns)
		return;
	snprintf(text, sizeof(text), strcmp(name, "ready") ? "time_%s_ns" : "%s_ns", name);
	time = find_desc(schema, text);
	if (time)
		value[time->first] += now_ns - value[since->first];
}

/* Adds @now to the sum, and its growth since @last to the deltas. */
static void add_values(const struct schema *schema, const uint64_t *now, const uint64_t *last,
		       uint64_t *sum, uint64_t *sum_delta, uint64_t *delta)
{
	const struct desc *desc;
	unsigned int i;

	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		for (i = desc->first; i < desc->first + desc->size; i++) {
			if (desc->type != PEAK)
				sum[i] += now[i];
			else if (sum[i] < now[i])
				sum[i] = now[i];
			if (!last)
				continue;
			if (!is_counter(desc))
				delta[i] = now[i] != last[i];
			else if (now[i] >= last[i])
				delta[i] = now[i] - last[i];
			else	/* A reset; or KVM moved time to another state. */
				delta[i] = is_time(desc) ? 0 : now[i];
			if (sum_delta)
				sum_delta[i] += delta[i];
		}
	}
}

static void take_vcpus(struct vm *vm, const struct entry *ids, const struct entry *data)
{
	size_t n = vm->vcpu_schema->num_values, i;
	bool is_off = vm->time_is_off;
	uint64_t *now;

	vm->num_vcpus = ids->size / 4;
	if (data->size / 8 / (n ?: 1) < vm->num_vcpus)
		vm->num_vcpus = data->size / 8 / (n ?: 1);
	free(vm->vcpu);
	free(vm->value);
	free(vm->delta);
	free(vm->shares);
	vm->vcpu = xcalloc(vm->num_vcpus, 4);
	memcpy(vm->vcpu, ids->data, vm->num_vcpus * 4);
	vm->value = xcalloc(1 + vm->num_vcpus, n * 8);
	vm->delta = xcalloc(1 + vm->num_vcpus, n * 8);
	vm->shares = xcalloc(1 + vm->num_vcpus, sizeof(*vm->shares));
	memcpy(vm->value + n, data->data, vm->num_vcpus * n * 8);
	for (i = 0; i < vm->num_vcpus; i++) {
		now = vm->value + (1 + i) * n;
		if (!is_off)
			complete(vm->vcpu_schema, now, vm->mono_ns);
		add_values(vm->vcpu_schema, now, i < vm->num_last ? vm->last + i * n : NULL,
			   vm->value, vm->delta, vm->delta + (1 + i) * n);
	}
	vm->has_rates = vm->num_last;
	vm->last = realloc(vm->last, vm->num_vcpus * n * 8 ?: 1);
	memcpy(vm->last, vm->value + n, vm->num_vcpus * n * 8);
	vm->num_last = vm->num_vcpus;
	for (i = 0; !is_off && i <= vm->num_vcpus; i++)
		share_states(vm, i, &vm->shares[i]);
}

static void take_vm(struct vm *vm, const struct frame *frame)
{
	const struct entry *who = frame_get(frame, "vm/%s/who", vm->key);
	const struct entry *file = frame_get(frame, "vm/%s/header", vm->key);
	const struct entry *vcpu_file = frame_get(frame, "vm/%s/vcpu-header", vm->key);
	const struct entry *own = frame_get(frame, "vm/%s/data", vm->key);
	const struct entry *ids = frame_get(frame, "vm/%s/vcpu-ids", vm->key);
	const struct entry *data = frame_get(frame, "vm/%s/vcpu-data", vm->key);
	struct layout layout = {}, vcpu = {};
	uint64_t *sum, last_ns = vm->mono_ns;
	const struct desc *desc;
	const char *wrong = file ? parse_file(file->data, file->size, &layout) : NULL;

	if (!wrong && vcpu_file)
		wrong = parse_file(vcpu_file->data, vcpu_file->size, &vcpu);
	vm->pid = number_of(who, "pid=");
	field_of(who, "name=", vm->name, sizeof(vm->name));
	make_printable(vm->name);
	vm->source = file || vcpu_file ? "vmm" : "proc";
	vm->mono_ns = frame->mono_ns;
	vm->real_ns = frame->real_ns;
	vm->elapsed_ns = last_ns ? frame->mono_ns - last_ns : 0;
	vm->schema = layout.schema;
	snprintf(vm->id, sizeof(vm->id), "%s", file ? layout.id : "-");
	vm->time_is_off = true;
	if (!wrong && own && layout.schema && own->size / 8 >= layout.schema->num_values) {
		sum = xcalloc(layout.schema->num_values, 8);
		free(vm->own_delta);
		vm->own_delta = xcalloc(layout.schema->num_values, 8);
		add_values(layout.schema, (uint64_t *)own->data, vm->own, sum, NULL, vm->own_delta);
		free(vm->own);
		vm->own = sum;
		desc = find_desc(layout.schema, "time_accounting");
		vm->time_is_off = !desc || !vm->own[desc->first];
		if (find_desc(layout.schema, "online_vcpus"))
			vm->source = "series";
	}
	vm->vcpu_schema = layout.vcpu_schema ?: vcpu.schema;
	if (wrong)
		complain("pid %d (%s): malformed statistics file: %s", vm->pid, vm->name, wrong);
	else if (vm->vcpu_schema && ids && data)
		take_vcpus(vm, ids, data);
	if (!vm->shares)
		vm->shares = xcalloc(1, sizeof(*vm->shares));
	take_threads(vm, frame);
	share_threads(vm, &vm->shares[0]);
}

static void forget(struct vm *vm)
{
	free(vm->key);
	free(vm->own);
	free(vm->own_delta);
	free(vm->vcpu);
	free(vm->value);
	free(vm->delta);
	free(vm->last);
	free(vm->shares);
	free(vm->threads.thread);
	free(vm->before.thread);
}

static struct vm *find_vm(struct host *host, const char *key)
{
	size_t i;

	for (i = 0; i < host->count; i++) {
		if (!strcmp(host->vm[i].key, key))
			return &host->vm[i];
	}
	host->vm = xgrow(host->vm, host->count, sizeof(*host->vm));
	host->vm[host->count] = (struct vm) { .key = xasprintf("%s", key), };
	return &host->vm[host->count++];
}

void host_take(struct host *host, const struct frame *frame)
{
	const struct entry *entry = NULL;
	size_t i, kept;
	char key[32];
	struct vm *vm;

	host->elapsed_ns = host->mono_ns ? frame->mono_ns - host->mono_ns : 0;
	host->mono_ns = frame->mono_ns;
	host->real_ns = frame->real_ns;
	while ((entry = frame_next(frame, entry, "vm/"))) {
		if (sscanf(entry->name, "vm/%31[^/]/who", key) != 1 ||
		    strcmp(strrchr(entry->name, '/'), "/who"))
			continue;
		vm = find_vm(host, key);
		take_vm(vm, frame);
		vm->seen = true;
	}
	for (i = kept = 0; i < host->count; i++) {
		if (host->vm[i].seen)
			host->vm[kept++] = host->vm[i];
		else
			forget(&host->vm[i]);
	}
	host->count = kept;
	for (i = 0; i < host->count; i++)
		host->vm[i].seen = false;
}
