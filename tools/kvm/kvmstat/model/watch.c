// SPDX-License-Identifier: GPL-2.0
/*
 * Decides when a watched statistic has grown enough within a window, or is high enough.
 */
#include <stdlib.h>
#include <string.h>

#include "model/histogram.h"
#include "model/model.h"
#include "model/watch.h"
#include "util/quantity.h"
#include "util/util.h"

static enum quantity_kind kind_of(const struct statsfile_desc *desc)
{
	switch (statsfile_unit(desc)) {
	case KVM_STATS_UNIT_SECONDS:
		return QUANTITY_TIME;
	case KVM_STATS_UNIT_BYTES:
		return QUANTITY_BYTES;
	default:
		return QUANTITY_COUNT;
	}
}

/* Parses a value or the bound of a bucket into the file's numbers. */
static char *parse_value(const char *text, const struct statsfile_desc *desc, uint64_t *value)
{
	const struct quantity_scale scale = {
		.base = statsfile_base(desc) == KVM_STATS_BASE_POW2 ? 2 : 10,
		.exponent = desc->exponent,
	};
	const char *error = parse_quantity(text, kind_of(desc), &scale, value);

	return error ? xasprintf("'%s' %s", text, error) : NULL;
}

/* The bucket with the nearest lower bound: users know rounded bounds. */
static unsigned int nearest_bucket(const struct statsfile_desc *desc, uint64_t value)
{
	unsigned int bucket;
	uint64_t lower, upper;

	for (bucket = 0; bucket + 1U < desc->size; bucket++) {
		lower = bucket_lower(desc, bucket);
		upper = bucket_upper(desc, bucket);
		if (value < lower + (upper - lower + 1) / 2)
			break;
	}
	return bucket;
}

/* Whether the value is so far above the lower bound of the last bucket that no bucket fits. */
static bool is_beyond(const struct statsfile_desc *desc, uint64_t value)
{
	unsigned int last = desc->size - 1;
	uint64_t lower = bucket_lower(desc, last);

	return last && value > lower && value - lower > lower - bucket_lower(desc, last - 1);
}

/* Parses "8ms-", "1ms-8ms" or "-8ms". */
static char *find_buckets(const char *part, struct watch_target *target)
{
	const struct statsfile_desc *desc = target->desc;
	const char *dash = strchr(part, '-');
	unsigned int end = desc->size;
	uint64_t from = 0, to = 0;
	char *text, *error = NULL;

	if (!dash || !strcmp(part, "-"))
		return xasprintf("'%s' are not buckets of %s: write FROM-, FROM-TO or -TO", part,
				 desc->name);
	text = xasprintf("%.*s", (int)(dash - part), part);
	if (*text)
		error = parse_value(text, desc, &from);
	free(text);
	if (!error && dash[1])
		error = parse_value(dash + 1, desc, &to);
	if (error)
		return error;
	target->first = nearest_bucket(desc, from);
	if (dash[1])
		end = nearest_bucket(desc, to);
	if (is_beyond(desc, from) || is_beyond(desc, to) || end <= target->first)
		return xasprintf("%s has no buckets %s: kvmstat hist shows its buckets",
				 desc->name, part);
	target->count = end - target->first;
	return NULL;
}

static char *find_part(const char *part, struct watch_target *target)
{
	const struct statsfile_desc *desc = target->desc;
	uint64_t number;
	unsigned int i;

	if (!has_parts(desc) && !is_histogram(desc))
		return xasprintf("%s has no parts", desc->name);
	for (i = 0; i < desc->num_value_names; i++) {
		if (strcmp(desc->value_names[i].name, part))
			continue;
		target->first = desc->value_names[i].value;
		target->count = 1;
		return NULL;
	}
	if (!has_parts(desc))
		return find_buckets(part, target);
	if (parse_number(part, 0, desc->size - 1, &number))
		return xasprintf("%s has no part '%s': kvmstat show lists its parts",
				 desc->name, part);
	target->first = number;
	target->count = 1;
	return NULL;
}

/* The threshold of a histogram is a number of counted values. */
static char *find_threshold(const struct watch_rule *rule, struct watch_target *target)
{
	static const struct statsfile_desc count = {};
	char *error;

	error = parse_value(rule->value, is_histogram(target->desc) ? &count : target->desc,
			    &target->threshold);
	if (error)
		return error;
	if (!rule->or_equal && !++target->threshold)
		return xasprintf("'%s' is too large", rule->value);
	if (!target->threshold)
		return xasprintf("'>=' 0 is always true");
	return NULL;
}

/* @part: with its colon, or empty. */
static char *find_values(const struct watch_rule *rule, const char *part,
			 struct watch_target *target)
{
	const char *name = target->desc->name;

	if (!is_quantity(target->desc))
		return xasprintf("%s is not a quantity", name);
	if (target->scope == SCOPE_VM && rule->vcpu != EACH_VCPU)
		return xasprintf("%s is a statistic of the VM, not of vCPUs: omit -c", name);
	target->count = target->desc->size;
	return *part ? find_part(part + 1, target) : NULL;
}

char *watch_find(const struct watch_rule *rule, struct statsfile_schema *vm,
		 struct statsfile_schema *vcpu, struct watch_target *target)
{
	size_t length = strcspn(rule->name, ":");
	char *name = xasprintf("%.*s", (int)length, rule->name);
	char *error = NULL;

	*target = (struct watch_target) {
		.scope = SCOPE_VCPU,
		.desc = statsfile_find(vcpu, name),
	};
	if (!target->desc) {
		target->scope = SCOPE_VM;
		target->desc = statsfile_find(vm, name);
	}
	if (!target->desc && vcpu)
		error = xasprintf("there is no statistic '%s'", name);
	free(name);
	if (!target->desc)
		return error;
	error = find_values(rule, rule->name + length, target);
	if (!error)
		error = find_threshold(rule, target);
	if (error)
		target->desc = NULL;
	return error;
}

bool watch_is_level(const struct watch_target *target)
{
	return !is_counter(target->desc);
}

/* A sample may be late by this much: the scheduler decides. */
static uint64_t tolerance(uint64_t window_ns)
{
	return window_ns / (10 * WATCH_LOOKS);
}

void watched_begin(struct watched *watched, uint64_t now_ns, uint64_t value)
{
	watched->look[0] = (struct watch_look) { .time_ns = now_ns, .value = value, };
	watched->num_looks = 1;
}

/* Keeps samples that are at most a window old, or the last one. */
static void forget_looks(struct watched *watched, uint64_t window_ns, uint64_t now_ns)
{
	uint64_t oldest_ns = window_ns + tolerance(window_ns);
	unsigned int old = 0;

	/* Keep the last place free for this sample. */
	while (old + 1 < watched->num_looks &&
	       (watched->num_looks - old > WATCH_LOOKS ||
		now_ns - watched->look[old].time_ns > oldest_ns))
		old++;
	watched->num_looks -= old;
	memmove(watched->look, watched->look + old,
		watched->num_looks * sizeof(*watched->look));
}

static uint64_t divide_up(uint64_t number, uint64_t by)
{
	return number / by + !!(number % by);
}

/* Growth per window since the oldest sample: in at least one window it was that large. */
static uint64_t growth_of(const struct watched *watched, uint64_t window_ns,
			  const struct watch_look *now)
{
	uint64_t passed_ns = now->time_ns - watched->look[0].time_ns;
	uint64_t growth = now->value - watched->look[0].value;

	if (passed_ns <= window_ns + tolerance(window_ns))
		return growth;
	return divide_up(growth, divide_up(passed_ns, window_ns));
}

static bool look_at_counter(struct watched *watched, const struct watch_target *target,
			    uint64_t window_ns, const struct watch_look *now, uint64_t *growth)
{
	if (!watched->num_looks ||
	    now->value < watched->look[watched->num_looks - 1].value) {
		watched_begin(watched, now->time_ns, now->value);
		return false;
	}
	forget_looks(watched, window_ns, now->time_ns);
	*growth = growth_of(watched, window_ns, now);
	if (*growth >= target->threshold && now->time_ns >= watched->quiet_until_ns) {
		/* No growth counts in two events. */
		watched_begin(watched, now->time_ns, now->value);
		return true;
	}
	watched->look[watched->num_looks++] = *now;
	return false;
}

/* If the level is reached again within the window, it triggers after the window if it lasts. */
static bool look_at_level(struct watched *watched, const struct watch_target *target,
			  const struct watch_look *now, uint64_t *level)
{
	*level = now->value;
	if (now->value < target->threshold) {
		watched->reached = false;
		return false;
	}
	if (watched->reached || now->time_ns < watched->quiet_until_ns)
		return false;
	watched->reached = true;
	return true;
}

bool watched_look(struct watched *watched, const struct watch_target *target,
		  uint64_t window_ns, const struct watch_look *now, uint64_t *growth)
{
	bool happened;

	if (watch_is_level(target))
		happened = look_at_level(watched, target, now, growth);
	else
		happened = look_at_counter(watched, target, window_ns, now, growth);
	if (happened)
		watched->quiet_until_ns = now->time_ns + window_ns - tolerance(window_ns);
	return happened;
}
