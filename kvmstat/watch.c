// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat watch NAME '>' VALUE [per WINDOW]: a line when a statistic of one vCPU, or of the VM,
 * grows by more than VALUE within a window, or when a level rises past VALUE.
 */
#include <stdlib.h>
#include <string.h>

#include "kvmstat.h"

#define LOOKS 10			/* samples in a window */
#define MIN_STEP (SEC / 100)		/* sampling more often would itself be a load */
#define MIN_WINDOW (SEC / 100)
#define MAX_WINDOW (10 * SEC)

static struct {
	char *name;
	const char *part, *value;	/* part: after the colon, or NULL */
	bool or_equal;
	uint64_t window_ns;
	uint64_t count;
	bool has_title;
} rule;

/* The rule for the schema of a VM. */
struct target {
	const struct desc *desc;
	bool of_vm;
	unsigned int first, count;	/* values of @desc, whose sum is watched */
	uint64_t threshold;
};

/* A vCPU, or the VM's own statistic. */
static struct watched {
	char *key;
	uint32_t id;
	struct look { uint64_t time_ns, value; } look[LOOKS + 1];	/* the oldest first */
	unsigned int num_looks;
	uint64_t quiet_until_ns;	/* at most one event in a window */
	bool reached;			/* the level */
} *watched;
static size_t num_watched;

static const struct unit { const char *name; double factor; } units[] = {
	{ "ns", 1e-9, }, { "us", 1e-6, }, { "ms", 1e-3, }, { "s", 1, }, {}, {},
	{ "KiB", 0x1p10, }, { "MiB", 0x1p20, }, { "GiB", 0x1p30, }, { "TiB", 0x1p40, }, { "B", 1, }, {},
};

/* Parses a number, for times and sizes with a unit. False if it is none. */
static bool parse_quantity(const char *text, const struct desc *desc, uint64_t *number)
{
	const struct unit *unit = desc->unit == SECONDS ? units : units + 6;
	char *end;
	double value = strtod(text, &end);

	if (*text < '0' || *text > '9')
		return false;
	if (desc->unit != SECONDS && desc->unit != BYTES)
		return parse_u64(text, number);
	if (desc->unit == BYTES && !*end)
		unit = &(const struct unit) { "", 1, };
	while (unit->name && strcmp(unit->name, end))
		unit++;
	value = value * (unit->name ? unit->factor : 0) / in_units(desc, 1);
	if (!unit->name || value >= 0x1p64)
		return false;
	*number = value + 0.5;
	return true;
}

/* The bucket with the nearest lower bound: users know rounded bounds. */
static unsigned int nearest_bucket(const struct desc *desc, uint64_t value)
{
	unsigned int i;

	for (i = 0; i + 1 < desc->size; i++) {
		if (value < bucket_from(desc, i) / 2 + bucket_from(desc, i + 1) / 2)
			break;
	}
	return i;
}

/* FROM-, FROM-TO or -TO */
static void find_buckets(struct target *target)
{
	const char *dash = strchr(rule.part, '-');
	const struct desc *desc = target->desc;
	uint64_t from = 0, to = 0;
	char *text;

	if (!dash || !strcmp(rule.part, "-"))
		die("'%s' are not buckets of %s: write FROM-, FROM-TO or -TO", rule.part, desc->name);
	text = xasprintf("%.*s", (int)(dash - rule.part), rule.part);
	if ((*text && !parse_quantity(text, desc, &from)) ||
	    (dash[1] && !parse_quantity(dash + 1, desc, &to)))
		die("'%s' are not bounds of %s, such as 8ms- or 100-200", rule.part, desc->name);
	free(text);
	target->first = nearest_bucket(desc, from);
	target->count = (dash[1] ? nearest_bucket(desc, to) : desc->size) - target->first;
	if (dash[1] && nearest_bucket(desc, to) <= target->first)
		die("%s has no buckets %s: kvmstat hist shows its buckets", desc->name, rule.part);
}

static void find_part(struct target *target)
{
	const struct desc *desc = target->desc;
	unsigned int count = is_hist(desc) || desc->size > 1 ? desc->size : 0;
	uint64_t i, number;

	for (i = 0; i < count && (!value_name(desc, i) || strcmp(value_name(desc, i), rule.part)); i++)
		;
	if (i == count && is_hist(desc) && !has_parts(desc)) {
		find_buckets(target);
		return;
	}
	if (i == count && (!has_parts(desc) || !parse_u64(rule.part, &number) || number >= desc->size))
		die("%s has no part '%s': kvmstat show lists its parts", desc->name, rule.part);
	target->first = i < count ? i : number;
	target->count = 1;
}

/* False if the VM has nothing to watch yet. A wrong rule ends the program. */
static bool find_target(const struct vm *vm, struct target *target)
{
	static const struct desc plain;
	const struct desc *desc;

	*target = (struct target) { .desc = find_desc(vm->vcpu_schema, rule.name), };
	if (!target->desc) {
		target->of_vm = true;
		target->desc = find_desc(vm->schema, rule.name);
	}
	desc = target->desc;
	if (!desc && vm->vcpu_schema && !rule.has_title)
		die("there is no statistic '%s'", rule.name);
	if (!desc)
		return false;
	if (desc->num_value_names && desc->size == 1 && !is_hist(desc))
		die("%s is not a quantity", rule.name);
	if (target->of_vm && options.vcpu >= 0)
		die("%s is a statistic of the VM, not of vCPUs: omit -c", rule.name);
	target->count = desc->size;
	if (rule.part)
		find_part(target);
	/* The threshold of a histogram is a number of counted values. */
	if (!parse_quantity(rule.value, is_hist(desc) ? &plain : desc, &target->threshold))
		die("'%s' is not a value of %s, such as %s", rule.value, rule.name,
		    is_hist(desc) || desc->unit != SECONDS ? "100" : "8ms");
	if (!rule.or_equal && !++target->threshold)
		die("'%s' is too large", rule.value);
	if (!target->threshold)
		die("'>=' 0 is always true");
	return true;
}

static struct watched *watched_of(const struct vm *vm, uint32_t id, bool *is_new)
{
	size_t i;

	*is_new = false;
	for (i = 0; i < num_watched; i++) {
		if (watched[i].id == id && !strcmp(watched[i].key, vm->key))
			return &watched[i];
	}
	*is_new = true;
	watched = xgrow(watched, num_watched, sizeof(*watched));
	watched[num_watched] = (struct watched) { .key = xasprintf("%s", vm->key), .id = id, };
	return &watched[num_watched++];
}

/* A sample may be late by this much. */
static uint64_t tolerance(void)
{
	return rule.window_ns / (10 * LOOKS);
}

static uint64_t divide_up(uint64_t number, uint64_t by)
{
	return number / by + !!(number % by);
}

static void restart(struct watched *of, const struct look *now)
{
	of->look[0] = *now;
	of->num_looks = 1;
}

/* Growth per window since the oldest sample: in at least one window it was that large. */
static bool has_grown(struct watched *of, const struct target *target, const struct look *now,
		      uint64_t *growth)
{
	uint64_t most_ns = rule.window_ns + tolerance(), passed_ns;
	unsigned int old = 0;

	if (!of->num_looks || now->value < of->look[of->num_looks - 1].value) {
		restart(of, now);
		return false;
	}
	while (old + 1 < of->num_looks && (of->num_looks - old > LOOKS ||
					   now->time_ns - of->look[old].time_ns > most_ns))
		old++;
	of->num_looks -= old;
	memmove(of->look, of->look + old, of->num_looks * sizeof(*of->look));
	passed_ns = now->time_ns - of->look[0].time_ns;
	*growth = now->value - of->look[0].value;
	if (passed_ns > most_ns)
		*growth = divide_up(*growth, divide_up(passed_ns, rule.window_ns));
	if (*growth >= target->threshold && now->time_ns >= of->quiet_until_ns) {
		restart(of, now);		/* no growth counts in two events */
		return true;
	}
	of->look[of->num_looks++] = *now;
	return false;
}

static bool has_risen(struct watched *of, const struct target *target, const struct look *now,
		      uint64_t *level)
{
	bool was_reached = of->reached;

	*level = now->value;
	if (now->value < target->threshold)
		return of->reached = false;
	if (was_reached || now->time_ns < of->quiet_until_ns)
		return false;
	return of->reached = true;
}

/* The event that the columns show. */
static struct {
	const struct target *target;
	const char *state;
	uint64_t growth;
} event;

enum { EVENT_STATE, EVENT_STATISTIC, EVENT_SCOPE, EVENT_GROWTH, EVENT_WINDOW, };

static struct cell event_cell(const struct row *row, int which)
{
	bool ended = row->vm->ended;

	switch (which) {
	case EVENT_STATE:
		return (struct cell) { .kind = TEXT, .text = ended ? "ended" : "running", };
	case EVENT_STATISTIC:
		return (struct cell) { .kind = TEXT, .text = rule.name, };
	case EVENT_SCOPE:
		return (struct cell) { .kind = TEXT, .text = event.target->of_vm ? "vm" : "vcpu", };
	case EVENT_GROWTH:
		return ended ? (struct cell) {} : (struct cell) {
			.kind = VALUE, .number = event.growth, .desc = event.target->desc, };
	default:
		return (struct cell) { .kind = TIME, .number = rule.window_ns / 1e9, };
	}
}

static const struct column event_columns[] = {
	{ "TIME", "time", time_cell, .left = true, },
	{ "PID", "pid", pid_cell, .drop = 2, },
	{ "STATE", "state", event_cell, EVENT_STATE, .left = true, .drop = 3, },
	{ "SCOPE", "scope", event_cell, EVENT_SCOPE, .data = true, },
	{ "VCPU", "vcpu", vcpu_cell, .drop = 0, },
	{ "STATISTIC", "statistic", event_cell, EVENT_STATISTIC, .data = true, },
	{ "GROWTH", "growth", event_cell, EVENT_GROWTH, .drop = 0, },
	{ "WINDOW", "window_s", event_cell, EVENT_WINDOW, .drop = 1, },
	{ "NAME", "name", name_cell, .left = true, .name = true, },
};

static void show_event(const struct host *host, const struct vm *vm, size_t line)
{
	static uint64_t shown;
	struct row row = { .host = host, .vm = vm, .line = line, };
	struct table table = {
		.type = "event", .column = event_columns, .num_columns = ARRAY_SIZE(event_columns),
		.row = &row, .num_rows = 1,
	};

	table_print(&table, !shown++);
	if (fflush(stdout))
		is_over = true;
}

static void watch_line(const struct host *host, const struct vm *vm, const struct target *target,
		       size_t line, bool is_first)
{
	const uint64_t *value = target->of_vm ? vm->own : line_values(vm, line);
	struct look now = { .time_ns = vm->mono_ns, };
	struct watched *of;
	unsigned int i;
	bool is_new;

	of = watched_of(vm, target->of_vm ? UINT32_MAX : vm->vcpu[line - 1].id, &is_new);
	for (i = 0; i < target->count; i++)
		now.value += value[target->desc->first + target->first + i];
	/* The series shows when a vCPU comes: it has counted from 0. */
	if (is_new && !is_first && !strcmp(vm->source, "series"))
		restart(of, &(struct look) { .time_ns = host->mono_ns - host->elapsed_ns, });
	if (!(is_counter(target->desc) ? has_grown : has_risen)(of, target, &now, &event.growth))
		return;
	of->quiet_until_ns = now.time_ns + rule.window_ns - tolerance();
	show_event(host, vm, target->of_vm ? 0 : line);
	if (++rule.count == options.count)
		is_over = true;
}

static void print_title(const struct target *target)
{
	char window[64], whose[32] = "each vCPU";

	rule.has_title = true;
	if (format != FORMAT_TEXT)
		return;
	format_time(window, rule.window_ns / 1e9);
	if (target->of_vm)
		strcpy(whose, "the VM");
	else if (options.vcpu >= 0)
		snprintf(whose, sizeof(whose), "vCPU %lld", (long long)options.vcpu);
	printf("%s%s%s of %s: %s %s within %s\n", rule.name, rule.part ? ":" : "", rule.part ?: "",
	       whose, rule.or_equal ? "at least" : "more than", rule.value, window);
	fflush(stdout);
}

static void watch_vm(const struct host *host, const struct vm *vm)
{
	static struct target target;
	bool is_first = vm->first_ns == host->mono_ns || vm->first_ns == vm->mono_ns;
	size_t line;

	if (!find_target(vm, &target))
		return;
	if (!rule.has_title)
		print_title(&target);
	event.target = &target;
	if (vm->ended && vm->ended_ns == host->mono_ns) {
		show_event(host, vm, 0);
		is_over |= num_chosen() == 1 && !options.wait;
	}
	if (vm->ended)
		return;
	if (target.of_vm && vm->own)
		watch_line(host, vm, &target, 0, is_first);
	for (line = 1; !target.of_vm && line <= vm->num_vcpus && !is_over; line++) {
		if (options.vcpu < 0 || vm->vcpu[line - 1].id == options.vcpu)
			watch_line(host, vm, &target, line, is_first);
	}
}

/* A length of time with a unit, or in seconds. */
static bool parse_window(const char *text)
{
	const struct desc ns = { .unit = SECONDS, .exponent = -9, };

	return (parse_quantity(text, &ns, &rule.window_ns) || parse_seconds(text, &rule.window_ns)) &&
	       rule.window_ns >= MIN_WINDOW && rule.window_ns <= MAX_WINDOW;
}

static void parse_rule(void)
{
	char **word = options.argument, *colon;
	int count = options.num_arguments;

	rule.window_ns = SEC;
	if (count < 2)
		die("watch: '>' VALUE is missing; write '>' with its quotes");
	if (strcmp(word[1], ">") && strcmp(word[1], ">="))
		die("'%s' is neither '>' nor '>='", word[1]);
	if (count < 3)
		die("watch: a value is missing after '%s'", word[1]);
	if (count > 3 && strcmp(word[3], "per"))
		die("watch: unexpected argument '%s'", word[3]);
	if (count == 4)
		die("watch: a window is missing after per");
	if (count > 5)
		die("watch: unexpected argument '%s'", word[5]);
	if (count == 5 && !parse_window(word[4]))
		die("'%s' is not a window of 10ms to 10s", word[4]);
	rule.name = xasprintf("%s", word[0]);
	colon = strchr(rule.name, ':');
	if (colon) {
		*colon = '\0';
		rule.part = colon + 1;
	}
	rule.value = word[2];
	rule.or_equal = word[1][1];
}

int watch(struct host *host, struct source *source)
{
	uint64_t step_ns;
	bool is_first = true;
	size_t i;

	parse_rule();
	step_ns = rule.window_ns / LOOKS > MIN_STEP ? rule.window_ns / LOOKS : MIN_STEP;
	while (!is_over && take_sample(host, source, is_first ? 0 : source->replayed ? 1 : step_ns)) {
		is_first = false;
		for (i = 0; i < host->count && !is_over; i++)
			watch_vm(host, &host->vm[i]);
	}
	return source->damaged;
}
