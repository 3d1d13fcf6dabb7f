// SPDX-License-Identifier: GPL-2.0
/*
 * Collects the values of all VMs. A host has ten thousand vCPUs and more: their values
 * are added up where they are mapped, VM by VM, and the pages are let go of again, or
 * else they would count as memory of this process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/scrape.h"
#include "util/util.h"

#define LOOK_INTERVAL_NS NSEC_PER_SEC

void collector_init(struct collector *collector, struct inventory *inventory,
		    const struct scrape_options *options)
{
	*collector = (struct collector) { .inventory = inventory, .options = *options, };
	metrics_init(&collector->metrics, options->only, options->max_buckets);
}

void collector_free(struct collector *collector)
{
	size_t i;

	for (i = 0; i < collector->num_vms; i++)
		free(collector->vm[i].name);
	free(collector->vm);
	free(collector->now);
	metrics_free(&collector->metrics);
}

/* The number behind @base, 1 if there is none, 0 of another name. */
static uint64_t number_of(const char *name, const char *base)
{
	size_t length = strlen(base);
	uint64_t number;

	if (strncmp(name, base, length))
		return 0;
	if (!name[length])
		return 1;
	if (name[length] != '#' || parse_number(name + length + 1, 2, UINT32_MAX, &number))
		return 0;
	return number;
}

/*
 * What tells VMs apart, and no more, so that a VM that is started again continues its
 * series. Of those with the same name at the same time the second has #2 behind it.
 */
static char *name_vm(const struct collector *collector, const char *base)
{
	bool *is_taken = xcalloc(collector->num_vms + 2, sizeof(*is_taken));
	uint64_t number;
	size_t i;

	for (i = 0; i < collector->num_vms; i++) {
		number = number_of(collector->vm[i].name, base);
		if (number <= collector->num_vms)
			is_taken[number] = true;
	}
	for (number = 1; is_taken[number]; number++)
		;
	free(is_taken);
	return number == 1 ? xasprintf("%s", base) :
	       xasprintf("%s#%llu", base, (unsigned long long)number);
}

static void forget_dead(struct collector *collector)
{
	size_t i, kept = 0;

	for (i = 0; i < collector->num_vms; i++) {
		if (collector->inventory->vm[i]->dead)
			free(collector->vm[i].name);
		else
			collector->vm[kept++] = collector->vm[i];
	}
	collector->num_vms = kept;
	inventory_forget_dead(collector->inventory);
}

static void name_new(struct collector *collector)
{
	const struct inventory *inventory = collector->inventory;
	const struct vm *vm;
	size_t i;

	collector->vm = xreallocarray(collector->vm, inventory->num_vms, sizeof(*collector->vm));
	for (i = collector->num_vms; i < inventory->num_vms; i++) {
		vm = inventory->vm[i];
		collector->vm[i] = (struct exported_vm) {
			.vm = vm,
			.name = name_vm(collector, vm->process->name),
		};
		collector->num_vms = i + 1;
	}
}

static int look(struct collector *collector, uint64_t now_ns)
{
	int ret;

	if (collector->looked && now_ns - collector->looked_ns < LOOK_INTERVAL_NS)
		return 0;
	ret = inventory_look(collector->inventory, NULL);
	collector->looked = true;
	collector->looked_ns = now_ns;
	/* Gone, all of them, before any of the new ones gets its name. */
	forget_dead(collector);
	name_new(collector);
	return ret;
}

void collector_events(struct collector *collector)
{
	inventory_see_events(collector->inventory, NULL);
	forget_dead(collector);
	name_new(collector);
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

/* The id alone is of no use: it is not unique. */
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

static int read_and_add(struct collector *collector, const struct vm *vm,
			const struct statsfile_schema *schema, uint64_t *sums,
			struct statsfile_error *error)
{
	size_t i;
	int ret;

	if (collector->num_now < schema->num_values) {
		collector->now = xreallocarray(collector->now, schema->num_values,
					       sizeof(*collector->now));
		collector->num_now = schema->num_values;
	}
	for (i = 0; i < vm->num_vcpus; i++) {
		ret = vm_read_vcpu(vm, i, collector->now, error);
		if (ret)
			return ret;
		add_values(schema, sums, collector->now);
	}
	return 0;
}

static int add_windows(const struct vm *vm, uint64_t *sums, struct statsfile_error *error)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < vm->num_vcpus; i++)
		ret = statsfile_add_vcpu(&vm->file, i, sums, error);
	return ret;
}

static int collect_sum(struct collector *collector, const struct vm *vm,
		       struct scrape_group *group, struct statsfile_error *error)
{
	struct statsfile_schema *schema = vm_vcpu_schema(vm);

	init_group(collector, group, SCOPE_VCPU, schema, 1);
	if (statsfile_has_windows(&vm->file) && !has_peaks(schema))
		return add_windows(vm, group->value, error);
	return read_and_add(collector, vm, schema, group->value, error);
}

static int collect_each(struct collector *collector, const struct vm *vm,
			struct scrape_group *group, struct statsfile_error *error)
{
	size_t i;
	int ret = 0;

	init_group(collector, group, SCOPE_VCPU, vm_vcpu_schema(vm), vm->num_vcpus);
	group->vcpu = xcalloc(vm->num_vcpus, sizeof(*group->vcpu));
	for (i = 0; !ret && i < vm->num_vcpus; i++) {
		group->vcpu[i] = vm->vcpu[i].number;
		ret = vm_read_vcpu(vm, i, group->value + i * group->num_values, error);
	}
	return ret;
}

static int collect_vcpus(struct collector *collector, const struct vm *vm,
			 struct scrape_group *group, struct statsfile_error *error)
{
	int ret;

	if (!vm->num_vcpus)
		return 0;
	if (collector->options.per_vcpu && !vm_has_sums(vm))
		ret = collect_each(collector, vm, group, error);
	else
		ret = collect_sum(collector, vm, group, error);
	statsfile_release_vcpus(&vm->file);
	return ret;
}

static int collect_vm(struct collector *collector, const struct vm *vm,
		      struct scrape_vm *scrape, struct statsfile_error *error)
{
	struct scrape_group *group = &scrape->group[SCOPE_VM];
	int ret;

	init_group(collector, group, SCOPE_VM, vm->file.schema, 1);
	ret = statsfile_read(&vm->file, group->value, error);
	if (!ret)
		ret = collect_vcpus(collector, vm, &scrape->group[SCOPE_VCPU], error);
	return ret;
}

static void free_group(struct scrape_group *group)
{
	free(group->value);
	free(group->vcpu);
	*group = (struct scrape_group) {};
}

static void clear_values(struct scrape_vm *vm)
{
	size_t scope;

	for (scope = 0; scope < NUM_SCOPES; scope++)
		free_group(&vm->group[scope]);
}

/* What cannot be read of one VM is no reason to have nothing of the others. */
static void add_vm(struct collector *collector, const struct exported_vm *exported,
		   struct scrape_vm *scrape)
{
	const struct vm *vm = exported->vm;
	struct statsfile_error error;

	*scrape = (struct scrape_vm) {
		.labels = join_identity(make_label("vm", exported->name), vm,
					collector->options.label),
		.info = make_info(exported),
		.num_vcpus = vm_count_vcpus(vm),
	};
	if (!vm_has_statistics(vm))
		return;
	scrape->up = !collect_vm(collector, vm, scrape, &error);
	if (!scrape->up)
		clear_values(scrape);
}

int collect(struct collector *collector, uint64_t now_ns, struct scrape *scrape)
{
	struct inventory *inventory = collector->inventory;
	int ret;
	size_t i;

	ret = look(collector, now_ns);
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
	for (i = 0; i < collector->num_vms; i++) {
		inventory_update(inventory, inventory->vm[i]);
		add_vm(collector, &collector->vm[i], &scrape->vm[i]);
	}
	scrape->num_problems = inventory->num_forgotten + inventory->num_problems;
	scrape->duration_ns = monotonic_ns() - now_ns;
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
