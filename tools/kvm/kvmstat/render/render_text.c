// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of VMs, events and recordings as lines of text.
 */
#include <string.h>

#include "render/layout.h"
#include "render/render_text_vm.h"

/* Repeats the header after so many lines, so that one is always on the screen. */
#define HEADER_INTERVAL 20

/* A number that changes with the shown columns and the day. */
static unsigned int header_number(const struct table *table, const struct tm *tm)
{
	unsigned int number = tm->tm_yday + 1;
	size_t i;

	for (i = 0; i < table->num_columns; i++)
		number = number << 1 | !!table->column[i].width;
	return number;
}

#define DATE_SIZE 32

/* With a limited width the header has the date, otherwise each line has it. */
static void format_moment(char date[DATE_SIZE], char time[DATE_SIZE],
			  const struct output *output, const struct timespec *moment,
			  struct tm *tm)
{
	localtime_r(&moment->tv_sec, tm);
	strftime(date, DATE_SIZE, output->width ? "%Y-%m-%d" : "TIME", tm);
	strftime(time, DATE_SIZE, output->width ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", tm);
}

/* Prints a row; before it the header, if it is the first one, has changed, or is due again. */
static void print_line(struct output *output, const struct table *table, size_t row,
		       unsigned int header)
{
	if (header != output->header)
		output->num_shown = 0;
	output->header = header;
	if (output->num_shown++ % HEADER_INTERVAL == 0)
		table_print_header(table, output->file);
	table_print_row(table, row, output->file);
}

/* Prints the interval of the shares. */
static void render_length(struct output *output, const struct overviews *overviews)
{
	bool by_cpu = false, is_off = false;
	char length[FORMAT_SIZE];
	size_t i;

	for (i = 0; i < overviews->num_vms; i++) {
		by_cpu |= overviews->vm[i]->rates.shares.by_cpu &&
			  overviews->vm[i]->rates.shares.known[SHARE_GUEST];
		is_off |= overviews->vm[i]->accounting_is_off;
	}
	if (!overviews->elapsed_ns || !overviews->num_vms)
		return;
	format_length(length, overviews->elapsed_ns);
	render_text_title(output, "Rates and shares over the last %s s%s", length,
			  by_cpu ? ", ~ from /proc" : "");
	if (is_off)
		render_text_title(output, "For exact shares: " ACCOUNT_FOR_TIME);
}

static void render_overviews(struct output *output, const struct overviews *overviews)
{
	struct overview *overview = &output->overview;
	char date[DATE_SIZE], time[DATE_SIZE];
	unsigned int header;
	struct tm tm;
	size_t i;

	for (i = 0; i < overviews->num_vms; i++)
		overview_note(overview, overviews->vm[i], &overviews->vm[i]->rates);
	format_moment(date, time, output, &overviews->time, &tm);
	overview_begin(overview, false, overviews->sorted_by, "",
		       overviews->is_list ? NULL : date);
	for (i = 0; i < overviews->num_vms; i++)
		overview_add_vm(overview, overviews->vm[i], &overviews->vm[i]->rates, time);
	overview_fit(overview, output->width);
	header = header_number(&overview->table, &tm);
	for (i = 0; i < overviews->num_vms; i++)
		print_line(output, &overview->table, i, header);
	if (overviews->is_list)
		render_length(output, overviews);
	table_free(&overview->table);
}

/* The watched buckets or part: "from 8.4 ms on", "hlt"; "" for all of them. */
static void format_part(char *text, size_t size, const struct watch_target *target)
{
	const struct statsfile_desc *desc = target->desc;
	char lower[FORMAT_SIZE], upper[FORMAT_SIZE], number[BUCKET_SIZE];
	unsigned int end = target->first + target->count;

	*text = '\0';
	if (target->count == desc->size)
		return;
	if (has_parts(desc)) {
		snprintf(text, size, " %s", bucket_name(number, desc, target->first));
		return;
	}
	format_bound(lower, desc, bucket_lower(desc, target->first));
	format_bound(upper, desc, bucket_upper(desc, end - 1));
	if (end == desc->size)
		snprintf(text, size, " from %s on", lower);
	else
		snprintf(text, size, " from %s to %s", lower, upper);
}

/* Prints the bounds of the buckets. They often differ from the ones on the command line. */
static void render_begin_events(struct output *output, const struct watch_rule *rule,
				const struct watch_target *target)
{
	const char *more = rule->or_equal ? "at least" : "more than";
	char window[FORMAT_SIZE], part[128], whose[32] = "each vCPU";

	format_duration(window, rule->window_ns);
	format_part(part, sizeof(part), target);
	if (target->scope == SCOPE_VM)
		strcpy(whose, "the VM");
	else if (rule->vcpu != EACH_VCPU)
		snprintf(whose, sizeof(whose), "vCPU %d", rule->vcpu);
	if (watch_is_level(target))
		render_text_title(output, "%s%s of %s: %s %s, once in %s", target->desc->name,
				  part, whose, more, rule->value, window);
	else
		render_text_title(output, "%s%s of %s: %s %s within %s", target->desc->name, part,
				  whose, more, rule->value, window);
}

static void add_event(struct table *table, const char *time, const struct watch_event *event)
{
	char growth[FORMAT_SIZE], window[FORMAT_SIZE];

	format_value(growth, event->target->desc, event->growth);
	format_duration(window, event->rule->window_ns);
	table_add(table, "%s", time);
	table_add(table, "%d", event->vm->pid);
	if (event->vcpu == NO_VCPU)
		table_add(table, "-");
	else
		table_add(table, "%d", event->vcpu);
	table_add(table, "%s", event->ended ? "ended" : growth);
	table_add(table, "%s", event->ended ? "-" : window);
	table_add(table, "%s", event->vm->name);
}

static void render_event(struct output *output, const struct watch_event *event)
{
	char date[DATE_SIZE], time[DATE_SIZE];
	struct column columns[] = {
		{ .title = date, .least = 8, .left = true, },
		{ .title = "PID", .least = 7, .drop = 1, },
		{ .title = "VCPU", .least = 5, },
		{ .title = watch_is_level(event->target) ? "LEVEL" : "GROWTH", .least = 10, },
		{ .title = "PER", .least = 6, .drop = 8, },
		{ .title = "NAME", .left = true, .shortens = true, },
	};
	struct table table = { .column = columns, .num_columns = ARRAY_SIZE(columns), };
	unsigned int header;
	struct tm tm;

	format_moment(date, time, output, &event->time, &tm);
	add_event(&table, time, event);
	table_fit(&table, output->width);
	header = header_number(&table, &tm);
	print_line(output, &table, 0, header);
	table_free(&table);
}

/* With date and time zone. */
static void format_date(char *text, size_t size, uint64_t real_ns)
{
	time_t seconds = real_ns / NSEC_PER_SEC;
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(text, size, "%Y-%m-%d %H:%M:%S %z", &tm);
}

static void render_recording(struct output *output, const struct recording *recording)
{
	const struct recording_sample *first = recording->sample;
	const struct recording_sample *last = first + recording->num_samples - 1;
	const struct recording_host *host = &recording->host;
	char begin[64], end[64];
	FILE *out = output->file;

	format_date(begin, sizeof(begin), first->real_ns);
	format_date(end, sizeof(end), last->real_ns);
	fprintf(out, "host      %s, Linux %s, %s\n", host->name, host->release, host->machine);
	fprintf(out, "recorded  by kvmstat %s, every %g s", host->version,
		seconds(host->interval_ns));
	if (host->pid)
		fprintf(out, ", process %d only", host->pid);
	fprintf(out, "\nfrom      %s\nto        %s\nsamples   %zu in %.1f s\n", begin, end,
		recording->num_samples, seconds(last->monotonic_ns - first->monotonic_ns));
}

static void render_nothing(struct output *output)
{
	(void)output;
}

const struct renderer text_renderer = {
	.begin = render_nothing,
	.end = render_nothing,
	.overviews = render_overviews,
	.movement = render_text_movement,
	.group = render_text_group,
	.histogram = render_text_histogram,
	.begin_events = render_begin_events,
	.event = render_event,
	.recording = render_recording,
};

const struct renderer *render = &text_renderer;
