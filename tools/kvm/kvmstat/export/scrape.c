// SPDX-License-Identifier: GPL-2.0
/*
 * Collects the values of all VMs. A host can have ten thousand vCPUs: their values are added up
 * in the mapping, VM by VM. Then the pages are released: otherwise they would count as memory of
 * this process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/scrape.h"
#include "model/tracker_threads.h"
#include "util/util.h"

#define LOOK_INTERVAL_NS NSEC_PER_SEC

void collector_init(struct collector *collector, struct inventory *inventory,
		    const struct scrape_options *options)
{
	*collector = (struct collector) {
		.inventory = inventory,
		.options = *options,
		.metrics = { .only = options->only, .max_buckets = options->max_buckets, },
	};
}

static void free_exported(struct exported_vm *exported)
{
	free(exported->name);
	free(exported->last.thread);
	free(exported->times);
}

void collector_free(struct collector *collector)
{
	size_t i;

	for (i = 0; i < collector->num_vms; i++)
		free_exported(&collector->vm[i]);
	free(collector->vm);
	free(collector->now);
	metrics_free(&collector->metrics);
}

/*
 * Sorts VMs with the same name by the reliability of the name's source, then by the start time. So
 * no VM can take another VM's name by starting later, or by claiming it.
 */
static int compare_claims(const void *a, const void *b)
{
	const struct exported_vm *left = *(struct exported_vm * const *)a;
	const struct exported_vm *right = *(struct exported_vm * const *)b;
	const struct process *ours = left->vm->process, *theirs = right->vm->process;
	int order = strcmp(ours->name, theirs->name);

	if (order)
		return order;
	order = theirs->identity.source[IDENTITY_NAME] - ours->identity.source[IDENTITY_NAME];
	if (order)
		return order;
	if (ours->identity.started != theirs->identity.started)
		return ours->identity.started < theirs->identity.started ? -1 : 1;
	if (ours->pid != theirs->pid)
		return ours->pid < theirs->pid ? -1 : 1;
	return (left->vm->fd > right->vm->fd) - (left->vm->fd < right->vm->fd);
}

static bool is_called_like(const struct vm *vm, const struct vm *other)
{
	return !strcmp(vm->process->name, other->process->name);
}

/* Names a further VM by its start time and, if that is not unique, by pid and file descriptor. */
static char *name_other(const struct vm *vm, bool is_tie)
{
	uint64_t started = vm->process->identity.started;
	char *name = xasprintf("%s@%llu.%02llu", vm->process->name,
			       (unsigned long long)started / 100,
			       (unsigned long long)started % 100);
	char *longer;

	if (!is_tie)
		return name;
	longer = xasprintf("%s/%d-%d", name, vm->process->pid, vm->fd);
	free(name);
	return longer;
}

/*
 * The first VM with a name gets the bare name, so that a restarted VM continues its series.
 * Labels depend only on the VMs that exist, so that a restarted exporter gives the same ones.
 */
static void name_all(struct collector *collector)
{
	struct exported_vm **vm = xcalloc(collector->num_vms, sizeof(*vm));
	const struct exported_vm *last = NULL;
	bool is_first, is_tie;
	uint64_t started;
	size_t i;

	for (i = 0; i < collector->num_vms; i++)
		vm[i] = &collector->vm[i];
	if (collector->num_vms)
		qsort(vm, collector->num_vms, sizeof(*vm), compare_claims);
	for (i = 0; i < collector->num_vms; last = vm[i++]) {
		free(vm[i]->name);
		is_first = !last || !is_called_like(last->vm, vm[i]->vm);
		/* A name with an '@' could imitate the label of another VM. */
		if (is_first && !strchr(vm[i]->vm->process->name, '@')) {
			vm[i]->name = xasprintf("%s", vm[i]->vm->process->name);
			continue;
		}
		started = vm[i]->vm->process->identity.started;
		is_tie = (!is_first && last->vm->process->identity.started == started) ||
			 (i + 1 < collector->num_vms &&
			  is_called_like(vm[i]->vm, vm[i + 1]->vm) &&
			  vm[i + 1]->vm->process->identity.started == started);
		vm[i]->name = name_other(vm[i]->vm, is_tie);
	}
	free(vm);
}

/* Forgets VMs that have ended, and adds new ones. */
static void update_vms(struct collector *collector)
{
	struct inventory *inventory = collector->inventory;
	size_t i, kept = 0;

	for (i = 0; i < collector->num_vms; i++) {
		if (inventory->vm[i]->dead)
			free_exported(&collector->vm[i]);
		else
			collector->vm[kept++] = collector->vm[i];
	}
	inventory_forget_dead(inventory);
	collector->vm = xreallocarray(collector->vm, inventory->num_vms, sizeof(*collector->vm));
	for (i = kept; i < inventory->num_vms; i++)
		collector->vm[i] = (struct exported_vm) { .vm = inventory->vm[i], };
	collector->num_vms = inventory->num_vms;
	name_all(collector);
}

static int look(struct collector *collector)
{
	int ret;

	if (collector->looked && collector->now_ns - collector->looked_ns < LOOK_INTERVAL_NS)
		return 0;
	ret = inventory_look(collector->inventory, NULL);
	collector->looked = true;
	collector->looked_ns = collector->now_ns;
	update_vms(collector);
	return ret;
}

void collector_events(struct collector *collector)
{
	inventory_see_events(collector->inventory);
	update_vms(collector);
}

/* Takes over both. */
static char *join_labels(char *labels, char *label)
{
	char *both = xasprintf("%s,%s", labels, label);

	free(labels);
	free(label);
	return both;
}

/* Takes over @labels. */
static char *join_identity(char *labels, const struct vm *vm, const bool *wanted)
{
	const struct identity *identity = &vm->process->identity;
	size_t i;

	for (i = 0; i < IDENTITY_FIELDS; i++) {
		if (identity->source[i] && (!wanted || wanted[i]))
			labels = join_labels(labels, make_label(identity_label(i),
								identity->text[i]));
	}
	return labels;
}

/* Includes the name and the pid, because an id is not unique. */
static char *make_info(const struct exported_vm *exported)
{
	char *labels = make_label("vm", exported->name);
	const struct vm *vm = exported->vm;

	labels = join_labels(labels, xasprintf("pid=\"%d\"", vm->process->pid));
	if (vm_has_statistics(vm))
		labels = join_labels(labels, make_label("id", vm->file.id));
	return join_identity(labels, vm, NULL);
}

static void init_group(struct collector *collector, struct scrape_group *group,
		       enum scope scope, struct statsfile_schema *schema, size_t num_members)
{
	*group = (struct scrape_group) {
		.schema = metrics_add(&collector->metrics, scope, schema),
		.num_values = schema->num_values,
		.num_members = num_members,
		.value = xcalloc(num_members, schema->num_values * sizeof(uint64_t)),
	};
}

static bool has_peaks(const struct statsfile_schema *schema)
{
	unsigned int i;

	for (i = 0; i < schema->num_desc; i++) {
		if (statsfile_type(&schema->desc[i]) == KVM_STATS_TYPE_PEAK)
			return true;
	}
	return false;
}

static void add_values(const struct statsfile_schema *schema, uint64_t *sums,
		       const uint64_t *values)
{
	const struct statsfile_desc *desc;
	unsigned int i;

	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		for (i = desc->first; i < desc->first + desc->size; i++)
			combine_value(desc, &sums[i], values[i]);
	}
}

/* Adds the time in the current state, so that a scrape sees a page fault while it lasts. */
static int read_vcpu(const struct collector *collector, const struct vm *vm, size_t index,
		     const struct running *running, uint64_t *values, struct statsfile_error *error)
{
	int ret = vm_read_vcpu(vm, index, values, error);

	if (!ret && running)
		running_complete(running, values, collector->now_ns);
	return ret;
}

/*
 * KVM may move time from one state to another. A counter must not go back: it keeps its value
 * until the statistic has caught up.
 */
static void hold_times(struct exported_vm *exported, const struct running *running,
		       struct scrape_group *group)
{
	size_t i, state, old = exported->num_members;
	uint64_t *value, *held;

	if (old < group->num_members) {
		exported->times = xreallocarray(exported->times, group->num_members,
						RUNNING_STATES * sizeof(*exported->times));
		memset(exported->times + old * RUNNING_STATES, 0,
		       (group->num_members - old) * RUNNING_STATES * sizeof(*exported->times));
		exported->num_members = group->num_members;
	}
	for (i = 0; i < group->num_members; i++) {
		for (state = 0; state < RUNNING_STATES; state++) {
			if (!running->time[state])
				continue;
			value = &group->value[i * group->num_values + running->time[state]->first];
			held = &exported->times[i * RUNNING_STATES + state];
			if (*value < *held)
				*value = *held;
			*held = *value;
		}
	}
}

static int collect_sum(struct collector *collector, const struct vm *vm,
		       const struct running *running, struct scrape_group *group,
		       struct statsfile_error *error)
{
	const struct statsfile_schema *schema = vm_vcpu_schema(vm);
	bool in_place = statsfile_has_windows(&vm->file) && !running && !has_peaks(schema);
	size_t i;
	int ret = 0;

	if (collector->num_now < schema->num_values) {
		collector->now = xreallocarray(collector->now, schema->num_values,
					       sizeof(*collector->now));
		collector->num_now = schema->num_values;
	}
	for (i = 0; !ret && i < vm->num_vcpus; i++) {
		if (in_place) {
			ret = statsfile_add_vcpu(&vm->file, i, group->value, error);
			continue;
		}
		ret = read_vcpu(collector, vm, i, running, collector->now, error);
		if (!ret)
			add_values(schema, group->value, collector->now);
	}
	return ret;
}

static int collect_each(struct collector *collector, const struct vm *vm,
			const struct running *running, struct scrape_group *group,
			struct statsfile_error *error)
{
	size_t i;
	int ret = 0;

	group->vcpu = xcalloc(vm->num_vcpus, sizeof(*group->vcpu));
	for (i = 0; !ret && i < vm->num_vcpus; i++) {
		group->vcpu[i] = vm->vcpu[i].number;
		ret = read_vcpu(collector, vm, i, running, group->value + i * group->num_values,
				error);
	}
	return ret;
}

static int collect_vcpus(struct collector *collector, struct exported_vm *exported,
			 struct scrape_vm *scrape, struct statsfile_error *error)
{
	bool each = collector->options.per_vcpu;
	struct scrape_group *group = &scrape->group[SCOPE_VCPU];
	const struct running *running = NULL;
	const struct vm *vm = exported->vm;
	int ret;

	if (!vm->num_vcpus)
		return 0;
	init_group(collector, group, SCOPE_VCPU, vm_vcpu_schema(vm), each ? vm->num_vcpus : 1);
	if (!scrape->is_off[ACCOUNTING_TIME] &&
	    collector->metrics.schema[group->schema].running.state)
		running = &collector->metrics.schema[group->schema].running;
	ret = (each ? collect_each : collect_sum)(collector, vm, running, group, error);
	statsfile_release_vcpus(&vm->file);
	if (!ret && running)
		hold_times(exported, running, group);
	return ret;
}

static int collect_vm(struct collector *collector, struct exported_vm *exported,
		      struct scrape_vm *scrape, struct statsfile_error *error)
{
	struct scrape_group *group = &scrape->group[SCOPE_VM];
	struct statsfile_schema *schema = exported->vm->file.schema;
	int ret;

	init_group(collector, group, SCOPE_VM, schema, 1);
	ret = statsfile_read(&exported->vm->file, group->value, error);
	if (ret)
		return ret;
	scrape->is_off[ACCOUNTING_TIME] =
		accounting_is_off(statsfile_find(schema, "time_accounting"), group->value);
	scrape->is_off[ACCOUNTING_READY] =
		accounting_is_off(statsfile_find(schema, "ready_accounting"), group->value);
	return collect_vcpus(collector, exported, scrape, error);
}

static void clear_values(struct scrape_vm *vm)
{
	struct scrape_group *group;

	for (group = vm->group; group < vm->group + NUM_SCOPES; group++) {
		free(group->value);
		free(group->vcpu);
		*group = (struct scrape_group) {};
	}
}

static uint64_t grown(uint64_t last, uint64_t now)
{
	return now > last ? now - last : 0;
}

static void add_times(struct proc_times *sum, const struct proc_times *last,
		      const struct proc_times *now)
{
	sum->guest_ns += grown(last->guest_ns, now->guest_ns);
	sum->kernel_ns += grown(last->kernel_ns, now->kernel_ns);
	sum->user_ns += grown(last->user_ns, now->user_ns);
	sum->ready_ns += grown(last->ready_ns, now->ready_ns);
}

/* Keeps the times of threads that have ended: a counter must not go back. */
static void read_threads(struct collector *collector, struct exported_vm *exported)
{
	static const struct proc_times none;
	const struct proc_thread *thread, *last;
	struct proc_threads now;

	exported->has_threads = vm_is_alone(collector->inventory, exported->vm) &&
				!inventory_read_threads(collector->inventory,
							exported->vm->process, &now);
	if (!exported->has_threads)
		return;
	exported->threads.has_ready = now.count > 0;
	for (thread = now.thread; thread < now.thread + now.count; thread++) {
		last = proc_find_thread(&exported->last, thread->tid);
		add_times(&exported->threads, last ? &last->times : &none, &thread->times);
		exported->threads.has_ready &= thread->times.has_ready;
	}
	free(exported->last.thread);
	exported->last = now;
}

/* Prefer the time that KVM measures: it is exact, and reading it costs nothing. */
static bool has_own_times(const struct vm *vm)
{
	const struct statsfile_desc *desc = statsfile_find(vm->file.schema, "time_accounting");
	struct statsfile_error error;
	uint64_t value;

	return desc && !statsfile_read_some(&vm->file, desc->first, 1, &value, &error) && value;
}

/* Reads VM after VM for at most THREADS_NS; the next scrape continues there. */
static void read_all_threads(struct collector *collector)
{
	uint64_t end_ns = monotonic_ns() + THREADS_NS;
	struct exported_vm *exported;
	size_t i;

	for (i = 0; i < collector->num_vms && monotonic_ns() < end_ns; i++) {
		exported = &collector->vm[collector->next_threads++ % collector->num_vms];
		if (has_own_times(exported->vm))
			exported->has_threads = false;
		else
			read_threads(collector, exported);
	}
}

/* If a VM cannot be read, the scrape still has the others. */
static void add_vm(struct collector *collector, struct exported_vm *exported,
		   struct scrape_vm *scrape)
{
	const struct vm *vm = exported->vm;
	struct statsfile_error error;

	*scrape = (struct scrape_vm) {
		.labels = join_identity(make_label("vm", exported->name), vm,
					collector->options.label),
		.info = make_info(exported),
		.num_vcpus = vm_count_vcpus(vm),
		.has_threads = exported->has_threads,
		.threads = exported->threads,
	};
	if (!vm_has_statistics(vm))
		return;
	scrape->up = !collect_vm(collector, exported, scrape, &error);
	if (!scrape->up)
		clear_values(scrape);
}

int collect(struct collector *collector, struct scrape *scrape)
{
	struct inventory *inventory = collector->inventory;
	uint64_t start_ns = monotonic_ns();
	int ret;
	size_t i;

	collector->now_ns = time_source->now_ns();
	ret = look(collector);
	*scrape = (struct scrape) {
		.vm = xcalloc(collector->num_vms, sizeof(*scrape->vm)),
		.num_vms = collector->num_vms,
		.number = ++collector->num_scrapes,
		.num_denied = inventory->num_denied,
		.num_missing = inventory->num_missing,
		.num_unseen = inventory->num_unseen,
		.is_hidden = inventory->is_hidden,
		.is_namespace = inventory->is_namespace,
	};
	read_all_threads(collector);
	for (i = 0; i < collector->num_vms; i++) {
		inventory_update(inventory, inventory->vm[i]);
		add_vm(collector, &collector->vm[i], &scrape->vm[i]);
	}
	scrape->num_problems = inventory->num_forgotten + inventory->num_problems;
	scrape->duration_ns = monotonic_ns() - start_ns;
	return ret;
}

void scrape_free(struct scrape *scrape)
{
	size_t i;

	for (i = 0; i < scrape->num_vms; i++) {
		clear_values(&scrape->vm[i]);
		free(scrape->vm[i].labels);
		free(scrape->vm[i].info);
	}
	free(scrape->vm);
	*scrape = (struct scrape) {};
}
