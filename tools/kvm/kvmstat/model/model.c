// SPDX-License-Identifier: GPL-2.0
/*
 * The meaning of values, by type of the statistic.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "util/util.h"

bool is_histogram(const struct statsfile_desc *desc)
{
	return statsfile_type(desc) == KVM_STATS_TYPE_LINEAR_HIST ||
	       statsfile_type(desc) == KVM_STATS_TYPE_LOG_HIST;
}

bool is_array(const struct statsfile_desc *desc)
{
	return desc->size > 1 && !is_histogram(desc);
}

bool has_named_buckets(const struct statsfile_desc *desc)
{
	return is_histogram(desc) && desc->num_value_names;
}

bool has_parts(const struct statsfile_desc *desc)
{
	return is_array(desc) || has_named_buckets(desc);
}

bool is_counter(const struct statsfile_desc *desc)
{
	return statsfile_type(desc) == KVM_STATS_TYPE_CUMULATIVE || is_histogram(desc);
}

void combine_value(const struct statsfile_desc *desc, uint64_t *sum, uint64_t value)
{
	if (statsfile_type(desc) != KVM_STATS_TYPE_PEAK)
		*sum += value;
	else if (*sum < value)
		*sum = value;
}

uint64_t group_total(const struct statsfile_desc *desc, const uint64_t *array)
{
	uint64_t total = 0;
	unsigned int i;

	for (i = 0; i < desc->size; i++)
		combine_value(desc, &total, array[desc->first + i]);
	return total;
}

static bool is_scalar_instant(const struct statsfile_desc *desc)
{
	return desc->size == 1 && statsfile_type(desc) == KVM_STATS_TYPE_INSTANT;
}

bool is_enumeration(const struct statsfile_desc *desc)
{
	return is_scalar_instant(desc) && desc->num_value_names;
}

const char *enumerated_name(const struct statsfile_desc *desc, uint64_t value)
{
	return is_enumeration(desc) ? statsfile_value_name(desc, value) : NULL;
}

/* Descriptors of a point in time and of a duration are equal. Only the names differ. */
static bool is_moment(const struct statsfile_desc *desc)
{
	static const char end[] = "_since_ns";
	size_t length = strlen(desc->name);

	return is_scalar_instant(desc) && statsfile_unit(desc) == KVM_STATS_UNIT_SECONDS &&
	       length > strlen(end) && !strcmp(desc->name + length - strlen(end), end);
}

bool is_quantity(const struct statsfile_desc *desc)
{
	return !is_enumeration(desc) && !is_moment(desc);
}

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

static bool is_accounting(const struct statsfile_desc *desc)
{
	return statsfile_unit(desc) == KVM_STATS_UNIT_BOOLEAN;
}

bool is_time(const struct statsfile_desc *desc)
{
	return !is_accounting(desc) &&
	       (begins_with(desc->name, "time_") || !strcmp(desc->name, "state") ||
		!strcmp(desc->name, "state_since_ns") || !strcmp(desc->name, "exit_reason_ns") ||
		!strcmp(desc->name, "exit_hist"));
}

bool is_wait(const struct statsfile_desc *desc)
{
	return !is_accounting(desc) && begins_with(desc->name, "ready_");
}

bool group_shows(const struct group *group, const struct statsfile_desc *desc)
{
	if ((group->hides_times && is_time(desc)) || (group->hides_waits && is_wait(desc)))
		return false;
	return group->num_members <= 1 || is_quantity(desc);
}

bool accounting_is_off(const struct statsfile_desc *accounting, const uint64_t *vm_values)
{
	return accounting && !vm_values[accounting->first];
}

void running_find(struct running *running, const struct statsfile_schema *schema)
{
	const struct statsfile_value_name *name;
	char time[TEXT_NAME_SIZE];

	*running = (struct running) {
		.state = statsfile_find(schema, "state"),
		.since = statsfile_find(schema, "state_since_ns"),
	};
	if (!running->state || !running->since || !is_enumeration(running->state) ||
	    running->since->size != 1) {
		running->state = NULL;
		return;
	}
	name = running->state->value_names;
	for (; name < running->state->value_names + running->state->num_value_names; name++) {
		if (name->value >= RUNNING_STATES)
			continue;
		snprintf(time, sizeof(time), strcmp(name->name, "ready") ? "time_%s_ns" : "%s_ns",
			 name->name);
		running->time[name->value] = statsfile_find(schema, time);
	}
}

void running_complete(const struct running *running, uint64_t *values, uint64_t now_ns)
{
	uint64_t since_ns, state;

	if (!running->state)
		return;
	since_ns = values[running->since->first];
	state = values[running->state->first];
	/* It is 0 while the state changes: then there is nothing to add. */
	if (state >= RUNNING_STATES || !since_ns || since_ns >= now_ns || !running->time[state])
		return;
	values[running->time[state]->first] += now_ns - since_ns;
}

double rate_per_second(uint64_t delta, uint64_t elapsed_ns)
{
	return elapsed_ns ? (double)delta * NSEC_PER_SEC / elapsed_ns : 0;
}

static uint64_t *alloc_values(const struct statsfile_schema *schema)
{
	return xcalloc(schema->num_values, sizeof(uint64_t));
}

static void clear_values(const struct statsfile_schema *schema, uint64_t *values)
{
	memset(values, 0, schema->num_values * sizeof(*values));
}

static void group_init(struct group *group, struct statsfile_schema *schema)
{
	*group = (struct group) {
		.schema = statsfile_schema_get(schema),
		.value = alloc_values(schema),
		.delta = alloc_values(schema),
		.watched = alloc_values(schema),
		.now = alloc_values(schema),
		.step = alloc_values(schema),
	};
	running_find(&group->running, schema);
}

static void group_free(struct group *group)
{
	if (!group->schema)
		return;
	statsfile_schema_put(group->schema);
	free(group->value);
	free(group->delta);
	free(group->watched);
	free(group->now);
	free(group->step);
	*group = (struct group) {};
}

static void group_begin(struct group *group)
{
	if (!group->schema)
		return;
	group->num_members = 0;
	clear_values(group->schema, group->value);
	clear_values(group->schema, group->delta);
}

static uint64_t change(const struct statsfile_desc *desc, uint64_t now, uint64_t last)
{
	if (!is_counter(desc))
		return now != last;
	if (now >= last)
		return now - last;
	/*
	 * Only a reset (by debugfs) makes a counter smaller: then its whole value is new. But a
	 * time may also shrink: the last sample added the unfinished state, and KVM then moved that
	 * time to another state.
	 */
	return is_time(desc) || is_wait(desc) ? 0 : now;
}

/*
 * Adds the values of a member (group->now) to the sample, and copies them to *@last, which is NULL
 * if the last sample did not have this member.
 */
static void group_add(struct group *group, uint64_t **last, bool from_zero)
{
	const struct statsfile_schema *schema = group->schema;
	const uint64_t *now = group->now;
	const struct statsfile_desc *desc;
	unsigned int i, index;

	if (!*last) {
		*last = alloc_values(schema);
		if (!from_zero)
			memcpy(*last, now, schema->num_values * sizeof(*now));
	}
	group->num_members++;
	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		for (i = 0; i < desc->size; i++) {
			index = desc->first + i;
			combine_value(desc, &group->value[index], now[index]);
			group->step[index] = change(desc, now[index], (*last)[index]);
			group->delta[index] += group->step[index];
		}
	}
	memcpy(*last, now, schema->num_values * sizeof(*now));
}

static void group_end(struct group *group)
{
	unsigned int i;

	if (!group->schema)
		return;
	for (i = 0; i < group->schema->num_values; i++)
		group->watched[i] += group->delta[i];
}

void model_init(struct model *model, const struct vm *vm)
{
	*model = (struct model) { .vm = vm, };
	group_init(&model->group[SCOPE_VM], vm->file.schema);
}

void model_free(struct model *model)
{
	size_t i;

	for (i = 0; i < model->num_vcpus; i++)
		free(model->vcpu_last[i]);
	free(model->vcpu_last);
	free(model->vm_last);
	model_unfocus(model);
	for (i = 0; i < NUM_SCOPES; i++)
		group_free(&model->group[i]);
}

static void track_new_vcpus(struct model *model)
{
	const struct vm *vm = model->vm;

	if (model->num_vcpus == vm->num_vcpus)
		return;
	if (!model->group[SCOPE_VCPU].schema)
		group_init(&model->group[SCOPE_VCPU], vm_vcpu_schema(vm));
	model->vcpu_last = xreallocarray(model->vcpu_last, vm->num_vcpus,
					 sizeof(*model->vcpu_last));
	for (; model->num_vcpus < vm->num_vcpus; model->num_vcpus++)
		model->vcpu_last[model->num_vcpus] = NULL;
}

static int sample_vm(struct model *model, bool from_zero, struct statsfile_error *error)
{
	struct group *group = &model->group[SCOPE_VM];
	int ret;

	ret = statsfile_read(&model->vm->file, group->now, error);
	if (ret)
		return ret;
	group_add(group, &model->vm_last, from_zero);
	group->hides_times = accounting_is_off(statsfile_find(group->schema, "time_accounting"),
					       model->vm_last);
	group->hides_waits = accounting_is_off(statsfile_find(group->schema, "ready_accounting"),
					       model->vm_last);
	model->group[SCOPE_VCPU].hides_times = group->hides_times;
	model->group[SCOPE_VCPU].hides_waits = group->hides_waits;
	return 0;
}

void model_unfocus(struct model *model)
{
	group_free(&model->focus);
}

void model_focus(struct model *model, size_t index)
{
	struct statsfile_schema *schema = model->group[SCOPE_VCPU].schema;

	if (model->focus.schema && model->focus_index == index)
		return;
	model_unfocus(model);
	if (index >= model->num_vcpus || !model->vcpu_last[index])
		return;
	group_init(&model->focus, schema);
	model->focus.hides_times = model->group[SCOPE_VCPU].hides_times;
	model->focus.hides_waits = model->group[SCOPE_VCPU].hides_waits;
	model->focus_index = index;
	memcpy(model->focus.value, model->vcpu_last[index],
	       schema->num_values * sizeof(*model->focus.value));
}

const struct group *model_shown(const struct model *model, enum scope scope)
{
	static const struct group nothing;

	if (!model->focus.schema)
		return &model->group[scope];
	return scope == SCOPE_VCPU ? &model->focus : &nothing;
}

/* Copies the vCPU that was just read. */
static void sample_focus(struct group *focus, const struct group *vcpus)
{
	size_t size = vcpus->schema->num_values * sizeof(*vcpus->now);

	focus->num_members = 1;
	focus->hides_times = vcpus->hides_times;
	focus->hides_waits = vcpus->hides_waits;
	memcpy(focus->value, vcpus->now, size);
	memcpy(focus->delta, vcpus->step, size);
	group_end(focus);
}

static int sample_vcpus(struct model *model, bool from_zero, struct statsfile_error *error)
{
	struct group *group = &model->group[SCOPE_VCPU];
	size_t i;
	int ret;

	for (i = 0; i < model->num_vcpus; i++) {
		ret = vm_read_vcpu(model->vm, i, group->now, error);
		if (ret)
			return ret;
		if (!group->hides_times)
			running_complete(&group->running, group->now, model->last_ns);
		group_add(group, &model->vcpu_last[i], from_zero);
		if (model->focus.schema && i == model->focus_index)
			sample_focus(&model->focus, group);
		if (model->on_vcpu)
			model->on_vcpu(model, i, group->step);
	}
	return 0;
}

int model_sample(struct model *model, uint64_t now_ns, bool from_zero,
		 struct statsfile_error *error)
{
	int scope, ret;

	if (!model->vm_last)
		model->first_ns = now_ns;
	else
		model->elapsed_ns = now_ns - model->last_ns;
	model->last_ns = now_ns;

	track_new_vcpus(model);
	for (scope = 0; scope < NUM_SCOPES; scope++)
		group_begin(&model->group[scope]);
	ret = sample_vm(model, from_zero, error);
	if (!ret)
		ret = sample_vcpus(model, from_zero, error);
	if (ret)
		return ret;
	for (scope = 0; scope < NUM_SCOPES; scope++)
		group_end(&model->group[scope]);
	return 0;
}
